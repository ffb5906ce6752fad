//! Requests of both sides, by their names.

use super::{Reading, runs};
use crate::cli::columns::{Cell, Columns};
use crate::cli::terminal::Screen;
use crate::cli::traces;
use crate::error::Result;
use crate::trace::pattern;
use crate::trace::requests::{Requests, Row};
use crate::trace::units::{count, duration};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;

/// The requests of a side, of all its runs together.
pub struct Side {
    runs: usize,
    requests: Requests,
}

/// Reads those of a side.
pub fn side(args: &[PathBuf], reading: &Reading<'_>) -> Result<Side> {
    let (mut requests, all) = (Requests::default(), runs(args)?);
    for run in &all {
        for parts in run {
            let mut trace = [traces::open(parts, run)?];
            traces::add_symbols(&mut trace, reading.symbols)?;
            requests.add(&trace[0]);
        }
    }
    requests.finish();
    let runs = all.len();
    Ok(Side { runs, requests })
}

/// Requests of one name on both sides.
struct Both<'s> {
    name: &'s str,
    sides: [Option<&'s Row>; 2],
}

/// The requests of two sides.
pub struct Compared {
    sides: [Side; 2],
}

/// How a number is found in a row, of so many runs, and shown.
type Shown = fn(&Row, usize) -> String;

/// What is compared: requests a run, the share that failed, and how long they took.
const COLUMNS: [(&str, Shown); 5] = [
    ("requests", |row, runs| {
        count((row.durations.len() / runs) as u64)
    }),
    ("failed", |row, _| {
        let all = row.durations.len().max(1) as f64;
        format!("{:.1}%", row.errors as f64 * 100.0 / all)
    }),
    ("p50", |row, _| duration(row.quantile(0.5))),
    ("p90", |row, _| duration(row.quantile(0.9))),
    ("p99", |row, _| duration(row.quantile(0.99))),
];

impl Compared {
    pub fn new(before: Side, after: Side) -> Compared {
        Compared {
            sides: [before, after],
        }
    }

    /// Those that take most time first.
    fn rows(&self, filter: Option<&str>) -> Vec<Both<'_>> {
        let sides = [0, 1].map(|side| &self.sides[side].requests.rows);
        let names: BTreeSet<&str> = sides
            .iter()
            .flat_map(|rows| rows.keys().map(|n| &**n))
            .collect();
        let fits = |name: &&str| filter.is_none_or(|filter| pattern::matches(filter, name));
        let both = names.into_iter().filter(fits).map(|name| Both {
            name,
            sides: sides.map(|rows| rows.get(name)),
        });
        let mut both: Vec<Both<'_>> = both.collect();
        let total = |of: &Both<'_>| of.sides.iter().flatten().map(|row| row.total()).max();
        both.sort_by_key(|of| Reverse(total(of)));
        both
    }

    /// A number of both sides; once where it looks the same.
    fn pair(&self, of: &Both<'_>, show: Shown) -> String {
        let [before, after] = [0, 1].map(|side| match of.sides[side] {
            Some(row) => show(row, self.sides[side].runs.max(1)),
            None => "-".to_owned(),
        });
        match before == after {
            true => after,
            false => format!("{before} → {after}"),
        }
    }

    /// Writes a table, if there are any.
    pub fn text(
        &self,
        filter: Option<&str>,
        limit: usize,
        out: &mut dyn Write,
        screen: Screen,
    ) -> io::Result<()> {
        let rows = self.rows(filter);
        if rows.is_empty() {
            return Ok(());
        }
        let mut columns = Columns::new(COLUMNS.map(|(name, _)| name).to_vec());
        for of in rows.iter().take(limit) {
            let cells = COLUMNS.map(|(_, show)| Cell::from(self.pair(of, show)));
            columns.row(cells.into(), of.name.to_owned());
        }
        writeln!(out)?;
        let cut = |text: &str, room: usize| text.chars().take(room).collect();
        columns.write(out, "request", screen, cut)?;
        match rows.len().saturating_sub(limit) {
            0 => Ok(()),
            hidden => writeln!(out, "and {hidden} more (--limit 0 shows all)"),
        }
    }

    /// The same as a table of Markdown.
    pub fn markdown(
        &self,
        filter: Option<&str>,
        limit: usize,
        out: &mut dyn Write,
        escape: fn(&str) -> String,
    ) -> io::Result<()> {
        let rows = self.rows(filter);
        if rows.is_empty() {
            return Ok(());
        }
        let heads = COLUMNS.map(|(name, _)| name).join(" | ");
        writeln!(
            out,
            "\n| request | {heads} |\n|---{}|",
            "|--:".repeat(COLUMNS.len())
        )?;
        for of in rows.iter().take(limit) {
            let cells = COLUMNS.map(|(_, show)| self.pair(of, show)).join(" | ");
            writeln!(out, "| {} | {cells} |", escape(of.name))?;
        }
        Ok(())
    }

    /// The same for programs.
    pub fn json(&self, filter: Option<&str>, limit: usize) -> Option<Value> {
        let rows = self.rows(filter);
        let rows = rows.iter().take(limit).map(|of| {
            let [before, after] = of.sides.map(|row| row.map(Row::json));
            json!({ "name": of.name, "before": before, "after": after })
        });
        let rows: Vec<Value> = rows.collect();
        (!rows.is_empty()).then(|| rows.into())
    }
}
