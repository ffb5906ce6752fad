//! A comparison for people: on a terminal, or as Markdown for a pull request.

use super::View;
use crate::cli::columns::{Cell, Columns, cut_labelled};
use crate::cli::terminal::{BAD, GOOD, HOT};
use crate::printable::printable;
use crate::trace::diff::{Comparison, Numbers, Power, Row, Side, Sums};
use crate::trace::units::{about, count, counted, duration};
use std::io::{self, Write};

/// What changed by less than this, in percent, has no colour where nothing was tested.
const SMALL_PERCENT: f64 = 1.0;

/// Before and after in one cell; once where they look the same. Estimates are marked.
fn pair<T>(row: &Row, of: impl Fn(&Numbers) -> Option<T>, show: impl Fn(T) -> String) -> String {
    let [before, after] = [&row.before, &row.after].map(|side| {
        let value = side
            .as_ref()
            .and_then(|n| Some((of(n)?, n.estimated_from.is_some())));
        value.map_or("-".to_owned(), |(value, is_estimate)| {
            about(show(value), is_estimate)
        })
    });
    match before == after {
        true => after,
        false => format!("{before} → {after}"),
    }
}

fn time(row: &Row, of: fn(&Sums) -> u64) -> String {
    pair(row, |n| n.known(of), duration)
}

/// A call's own time, typical of a run.
fn self_p50(numbers: &Numbers) -> Option<u64> {
    (numbers.p50.is_some() && !numbers.aggregated).then_some(numbers.typical.spread.own_p50)
}

fn change(row: &Row) -> String {
    if !row.is_timed() {
        return "-".to_owned();
    }
    let ns = row.change();
    let sign = if ns < 0 { '-' } else { '+' };
    format!(
        "{sign}{}",
        duration(u64::try_from(ns.unsigned_abs()).unwrap_or(u64::MAX))
    )
}

/// The change of self time in percent; `None` for what is new or gone.
fn share(row: &Row) -> Option<f64> {
    if !row.is_timed() {
        return None;
    }
    let (before, after) = (
        row.before.as_ref()?.typical.own,
        row.after.as_ref()?.typical.own,
    );
    match (before, after) {
        (0, 0) => Some(0.0),
        (0, _) => None,
        _ => Some((after as f64 / before as f64 - 1.0) * 100.0),
    }
}

fn percent(row: &Row) -> String {
    match (&row.before, &row.after, share(row)) {
        (None, _, _) => "new".to_owned(),
        (_, None, _) => "gone".to_owned(),
        _ if !row.is_timed() => "counted".to_owned(),
        (_, _, None) => "from 0".to_owned(),
        (_, _, Some(percent)) => format!("{percent:+.1}%"),
    }
}

fn p(row: &Row) -> String {
    match row.p() {
        None => "-".to_owned(),
        Some(p) => small(p),
    }
}

fn small(p: f64) -> String {
    match p {
        p if p < 0.0001 => "<0.0001".to_owned(),
        p => format!("{p:.4}"),
    }
}

/// Whether runs took turns, for the verdict.
fn turns(of: &Comparison) -> String {
    let pairs = of
        .design
        .for_tests(of.tests, of.judgement.level)
        .pairs
        .len();
    match pairs {
        0 => String::new(),
        _ => format!(", signed-rank test of {pairs} pairs that took turns"),
    }
}

impl View<'_> {
    /// What the runs say, in a line.
    fn verdict(&self) -> String {
        let of = &self.comparison;
        let level = of.judgement.level;
        match of.power {
            Power::Untested => {
                "no test of significance: it takes several runs a side (folders, or --before and --after)".to_owned()
            }
            Power::TooFew(needed) => format!(
                "too few runs to tell change from noise in {} at level {level}: {needed} a side can",
                counted(of.tests as u64, "number"),
            ),
            Power::Enough => {
                let differ = of.rows.iter().filter(|row| of.differs(row)).count();
                let what = match differ {
                    0 => "no method differs".to_owned(),
                    1 => "1 method differs".to_owned(),
                    n => format!("{n} methods differ"),
                };
                format!(
                    "{what} at level {level} (Mann-Whitney U test of the runs' self times{}, p corrected for {} by Holm)",
                    turns(of),
                    counted(of.tests as u64, "test"),
                )
            }
        }
    }

    fn side(&self, side: &Side) -> String {
        let processes = &side.analysis.processes;
        let name = |file: &str| printable(file.rsplit(['/', '\\']).next().unwrap_or(file));
        let mut names: Vec<String> = processes.iter().take(3).map(|p| name(&p.file)).collect();
        if processes.len() > 3 {
            names.push(format!("and {} more", processes.len() - 3));
        }
        let runs = counted(side.runs() as u64, "run");
        let sum: u64 = processes.iter().map(|p| p.records).sum();
        format!("{runs}, {}: {}", counted(sum, "record"), names.join(", "))
    }

    /// What makes the numbers doubtful.
    fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        for side in self.sides {
            for p in &side.analysis.processes {
                let file = printable(&p.file);
                if p.lost > 0 || p.missing > 0 || p.header.overwritten > 0 {
                    doubts.push(format!("{file}: records are lost, its numbers are too low"));
                }
                doubts
                    .extend((p.notes.lines().iter()).map(|n| format!("{file}: {}", printable(n))));
            }
        }
        if !self.comparison.all.is_alike() {
            doubts.push(
                "calls are sampled on one side only: those methods, and all together, are not tested, and their callers have as \
                 their own the time of calls that were not recorded"
                    .to_owned(),
            );
        }
        doubts
    }

    /// A line for each method that breaks a limit.
    fn broken(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for limit in self.limits {
            for b in limit.broken(&self.comparison, &self.wanted) {
                let (before, after) = (limit.show(b.before), limit.show(b.after));
                let sure = match b.p {
                    Some(p) => format!(", p {}", small(p)),
                    None => String::new(),
                };
                lines.push(format!(
                    "{limit}: {}: {before} → {after}{sure}",
                    b.row.label
                ));
            }
        }
        lines
    }

    fn last_column(&self) -> String {
        match self.by {
            Some(name) => format!("method  {}", printable(name)),
            None => "method".to_owned(),
        }
    }

    pub(super) fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let of = &self.comparison;
        writeln!(out, "before  {}", self.side(self.sides[0]))?;
        writeln!(out, "after   {}", self.side(self.sides[1]))?;
        if let Some(window) = &self.window {
            writeln!(out, "{window}")?;
        }
        for doubt in self.doubts() {
            writeln!(out, "  note: {doubt}")?;
        }
        writeln!(out, "{}\n", self.verdict())?;
        let errors = self.rows.iter().any(|&i| {
            let has = |side: &Option<Numbers>| side.as_ref().is_some_and(|n| n.typical.errors > 0);
            has(&of.rows[i].before) || has(&of.rows[i].after)
        });
        let mut heads = vec!["self", "change", "change%"];
        heads.extend(
            (of.tests > 0)
                .then_some(["p", "by", "self p50"])
                .into_iter()
                .flatten(),
        );
        heads.extend(["calls", "total", "p50", "p90", "p99"]);
        heads.extend(errors.then_some("errors"));
        let mut columns = Columns::new(heads);
        let rows = self.rows.iter().take(self.limit).map(|&i| &of.rows[i]);
        for row in std::iter::once(&of.all).chain(rows) {
            let style = match share(row) {
                _ if !row.is_timed() => None,
                _ if of.tests > 0 && !of.differs(row) => None,
                Some(percent) if percent.abs() < SMALL_PERCENT => None,
                _ if row.change() > 0 => Some(BAD),
                _ => Some(GOOD),
            };
            let styled = |text: String| match style {
                Some(style) => Cell::styled(text, style),
                None => text.into(),
            };
            let mut cells: Vec<Cell> = vec![
                time(row, |s| s.own).into(),
                styled(change(row)),
                styled(percent(row)),
            ];
            if of.tests > 0 {
                let by: Vec<&str> = of.differing(row).map(|t| t.test.name).collect();
                let star = if by.is_empty() { "" } else { " *" };
                cells.push(format!("{}{star}", p(row)).into());
                cells.push(by.join(" ").into());
                cells.push(pair(row, self_p50, duration).into());
            }
            cells.extend([
                pair(row, |n| Some(n.typical.calls), count).into(),
                time(row, |s| s.total).into(),
                pair(row, |n| n.p50, duration).into(),
                pair(row, |n| n.p90, duration).into(),
                pair(row, |n| n.p99, duration).into(),
            ]);
            let number = pair(row, |n| n.known(|s| s.errors), count);
            cells.extend(errors.then(|| number.into()));
            columns.row(cells, row.label.clone());
        }
        let last = self.last_column();
        columns.write(out, &last, self.screen, cut_labelled)?;
        let hidden = self.rows.len().saturating_sub(self.limit);
        if hidden > 0 {
            let noun = if self.by.is_some() { "row" } else { "method" };
            let hidden = counted(hidden as u64, noun);
            writeln!(out, "and {hidden} more (--limit 0 shows all)")?;
        }
        if let Some(requests) = &self.requests {
            requests.text(self.filter, self.limit, out, self.screen)?;
        }
        if !self.limits.is_empty() {
            writeln!(out)?;
        }
        let broken = self.broken();
        for line in &broken {
            match self.screen.colour {
                true => writeln!(out, "{HOT}LIMIT {line}{HOT:#}")?,
                false => writeln!(out, "LIMIT {line}")?,
            }
        }
        if broken.is_empty() && !self.limits.is_empty() {
            writeln!(out, "no limit is broken")?;
        }
        Ok(())
    }

    pub(super) fn markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let of = &self.comparison;
        writeln!(
            out,
            "**Self time of all methods: {} ({})**, {} before, {} after{}; {}.\n",
            time(&of.all, |s| s.own),
            percent(&of.all),
            counted(of.runs.0 as u64, "run"),
            counted(of.runs.1 as u64, "run"),
            (self.window.as_ref()).map_or(String::new(), |window| format!(", {}", escape(window))),
            self.verdict()
        )?;
        for line in self.broken() {
            writeln!(out, "- :x: limit {}", escape(&line))?;
        }
        for doubt in self.doubts() {
            writeln!(out, "- :warning: {}", escape(&doubt))?;
        }
        if !self.broken().is_empty() || !self.doubts().is_empty() {
            writeln!(out)?;
        }
        let tested = of.tests > 0;
        let head = |cells: &str| {
            if tested {
                cells.to_owned()
            } else {
                cells.replacen(" p |", "", 1)
            }
        };
        writeln!(
            out,
            "{}",
            head("| method | self | change | p | calls | total | p99 |")
        )?;
        let rule = if tested {
            "|---|--:|--:|--:|--:|--:|--:|"
        } else {
            "|---|--:|--:|--:|--:|--:|"
        };
        writeln!(out, "{rule}")?;
        for &i in self.rows.iter().take(self.limit) {
            let row = &of.rows[i];
            let p = if tested {
                format!(" {} |", p(row))
            } else {
                String::new()
            };
            let mark = if of.differs(row) { "**" } else { "" };
            writeln!(
                out,
                "| {mark}{}{mark} | {} | {} |{p} {} | {} | {} |",
                escape(&row.label),
                time(row, |s| s.own),
                percent(row),
                pair(row, |n| Some(n.typical.calls), count),
                time(row, |s| s.total),
                pair(row, |n| n.p99, duration),
            )?;
        }
        let hidden = self.rows.len().saturating_sub(self.limit);
        if hidden > 0 {
            writeln!(out, "\nand {} more", counted(hidden as u64, "method"))?;
        }
        if let Some(requests) = &self.requests {
            requests.markdown(self.filter, self.limit, out, escape)?;
        }
        Ok(())
    }
}

/// Text that Markdown shows as it is.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' | '@' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
