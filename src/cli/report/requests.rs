//! `--requests`: the entry spans by their names.

use super::{LIMIT, ReportArgs};
use crate::cli::columns::{Cell, Columns};
use crate::cli::terminal::Screen;
use crate::printable::printable;
use crate::trace::pattern;
use crate::trace::requests::{Requests, Row};
use crate::trace::units::{count, duration};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Digits of a trace id that tell it from all others of some traces.
const DIGITS: usize = 12;

/// The rows that are shown, those whose requests take most time first.
fn shown<'r>(args: &ReportArgs, requests: &'r Requests) -> Vec<(&'r str, &'r Row)> {
    let fits = |name: &str| (args.filter.as_ref()).is_none_or(|p| pattern::matches(p, name));
    let rows = requests.rows.iter().filter(|(name, _)| fits(name));
    let mut rows: Vec<(&str, &Row)> = rows.map(|(name, row)| (&**name, row)).collect();
    rows.sort_by_key(|(name, row)| (std::cmp::Reverse(row.total()), *name));
    let default = if args.json { 0 } else { LIMIT };
    match args.limit.unwrap_or(default) {
        0 => {}
        n => rows.truncate(n),
    }
    rows
}

/// Spans below requests in words: `db 45%, 2.0 each`.
fn below(row: &Row) -> String {
    let (all, requests) = (row.total().max(1) as f64, row.durations.len().max(1) as f64);
    let mut parts: Vec<_> = row.below.iter().collect();
    parts.sort_by_key(|(what, sum)| (std::cmp::Reverse(sum.total), (*what).clone()));
    let words = parts.into_iter().map(|(what, sum)| {
        let share = sum.total as f64 * 100.0 / all;
        let each = sum.calls as f64 / requests;
        format!("{what} {share:.0}%, {each:.1} each")
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Writes the table.
pub(super) fn write(
    args: &ReportArgs,
    requests: &Requests,
    out: &mut dyn Write,
    screen: Screen,
) -> io::Result<()> {
    let rows = shown(args, requests);
    writeln!(out)?;
    if rows.is_empty() {
        return writeln!(
            out,
            "no requests: rules say which calls are requests (`span = \"server\"`, `root = true`)"
        );
    }
    let has_ids = rows.iter().any(|(_, row)| row.slowest.is_some());
    let mut heads = vec!["requests", "errors", "rate", "p50", "p90", "p99", "max"];
    heads.extend(has_ids.then_some("slowest"));
    let mut columns = Columns::new(heads).spare(&["max", "p90", "rate", "slowest"]);
    let seconds = requests.wall.max(1) as f64 / 1e9;
    for (name, row) in &rows {
        let calls = row.durations.len() as u64;
        let mut cells = vec![
            count(calls),
            count(row.errors),
            format!("{:.1}/s", calls as f64 / seconds),
        ];
        cells.extend([0.5, 0.9, 0.99, 1.0].map(|share| duration(row.quantile(share))));
        // What `--request` takes.
        let slowest = row.slowest.map(|(_, trace)| format!("{trace:032x}"));
        let digits = slowest.map_or_else(String::new, |id| id[..DIGITS].to_owned());
        cells.extend(has_ids.then_some(digits));
        let name = match below(row) {
            parts if parts.is_empty() => (*name).to_owned(),
            parts => format!("{name}  ({parts})"),
        };
        columns.row(cells.into_iter().map(Cell::from).collect(), name);
    }
    let cut = |text: &str, room: usize| text.chars().take(room).collect();
    columns.write(out, args.by.as_deref().unwrap_or("request"), screen, cut)?;
    for (name, row) in &rows {
        if let Some(repeated) = &row.repeated {
            writeln!(
                out,
                "{name} sends the same text {} times in one request: {}",
                repeated.times,
                printable(&repeated.text)
            )?;
        }
    }
    Ok(())
}

/// The same for programs.
pub(super) fn to_json(args: &ReportArgs, requests: &Requests) -> Value {
    rows_json(shown(args, requests).into_iter())
}

/// Rows that the page shows: those that take most time.
const ON_PAGE: usize = 1_000;

/// The same for the page.
pub(super) fn all_json(requests: &Requests) -> Value {
    let rows = requests.rows.iter().map(|(name, row)| (&**name, row));
    let mut rows: Vec<(&str, &Row)> = rows.collect();
    rows.sort_by_key(|(name, row)| (std::cmp::Reverse(row.total()), *name));
    rows_json(rows.into_iter().take(ON_PAGE))
}

fn rows_json<'r>(rows: impl Iterator<Item = (&'r str, &'r Row)>) -> Value {
    let rows = rows.map(|(name, row)| {
        let below = row.below.iter().map(|(what, sum)| {
            json!({ "what": &**what, "calls": sum.calls, "errors": sum.errors, "total_ns": sum.total })
        });
        let repeated = (row.repeated.as_ref())
            .map(|repeated| json!({ "text": &*repeated.text, "times": repeated.times }));
        let more = [
            ("below", below.collect()),
            ("repeated", json!(repeated)),
            ("slowest", json!(row.slowest.map(|(_, trace)| format!("{trace:032x}")))),
        ];
        let mut all = Map::new();
        all.insert("name".to_owned(), json!(name));
        all.extend(row.json());
        all.extend(more.map(|(key, value)| (key.to_owned(), value)));
        Value::Object(all)
    });
    Value::Array(rows.collect())
}
