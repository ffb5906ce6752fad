//! What is shown as lines: the header, the methods, the threads, the exceptions.

use super::{Sort, View};
use crate::cli::columns::{Cell, Columns, cut_end, cut_labelled, cut_method, cut_middle};
use crate::cli::terminal::{BAD, DIM, HOT};
use crate::error::Error;
use crate::printable::printable;
use crate::trace::analysis::Process;
use crate::trace::exceptions::Path;
use crate::trace::format::{POLICY_BLOCK, POLICY_DROP, POLICY_RING, THREAD_DAEMON, THREAD_VIRTUAL};
use crate::trace::methods::split_label;
use crate::trace::pattern;
use crate::trace::summary::Stats;
use crate::trace::units::{
    about, count, counted, date, date_and_ms, duration, moment, percent, share,
};
use crate::trace::window::{Part, local};
use rustc_hash::FxHashSet;
use std::cmp::Reverse;
use std::io::{self, Write};

/// Share of all self time from which a method stands out.
const HOT_PERCENT: f64 = 10.0;

/// Messages of an exception that are shown.
const MESSAGES: usize = 10;

/// Methods whose time does not count that the header names.
const EXCLUDED: usize = 5;

/// Traces that the header names; the rest are counted.
const PROCESSES: usize = 20;

impl View<'_> {
    /// What ran, for how long, and what is missing.
    pub(super) fn header(&self, out: &mut dyn Write, failed: &[Error]) -> io::Result<()> {
        let processes = &self.analysis.processes;
        for (number, p) in processes.iter().enumerate().take(PROCESSES) {
            self.header_of(out, number + 1, p)?;
        }
        if processes.len() > PROCESSES {
            writeln!(out, "and {} more traces", processes.len() - PROCESSES)?;
        }
        if let Some(excluded) = self.excluded() {
            let named: Vec<&str> = excluded.iter().take(EXCLUDED).map(|l| l.as_ref()).collect();
            let further = match excluded.len().saturating_sub(EXCLUDED) {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            match named.is_empty() {
                true => writeln!(out, "  note: no method that was called is excluded")?,
                false => writeln!(
                    out,
                    "  note: the time in {} does not count: {}{further}",
                    counted(excluded.len() as u64, "method"),
                    named.join(", "),
                )?,
            }
        }
        let (methods, calls) = self.analysis.unnamed();
        if methods > 0 {
            writeln!(
                out,
                "  note: {} ({}) without a name; --symbols FILE names them, with the map of their artifact \
                 (its .wsym, or the one in its META-INF/weave)",
                counted(methods, "method"),
                counted(calls, "call"),
            )?;
        }
        for e in failed {
            writeln!(out, "not read: {}", printable(&e.to_string()))?;
        }
        Ok(())
    }

    /// One trace.
    fn header_of(&self, out: &mut dyn Write, number: usize, p: &Process) -> io::Result<()> {
        let command = match p.header.command.trim() {
            "" => "(command not recorded)".to_owned(),
            command => printable(command),
        };
        match self.screen.width {
            Some(width) => writeln!(out, "{}", cut_end(&command, width))?,
            None => writeln!(out, "{command}")?,
        }
        writeln!(out, "  {}", self.facts(number, p).join(" · "))?;
        if let Some(part) = p.part {
            writeln!(out, "  {}", window(part, p.end))?;
        }
        self.losses(out, p)?;
        if p.header.failures > 0 {
            let failures = counted(p.header.failures, "failure");
            writeln!(out, "  note: {failures} in the hooks, swallowed")?;
        }
        for note in p.notes.lines() {
            writeln!(out, "  note: {}", printable(&note))?;
        }
        Ok(())
    }

    fn facts(&self, number: usize, p: &Process) -> Vec<String> {
        let twins = self.has_twin(p);
        let mut facts = vec![
            format!("pid {}", p.header.pid),
            match twins {
                true => date_and_ms(p.header.origin),
                false => date(p.header.origin),
            },
        ];
        facts.extend(local(p.header.origin).map(|time| format!("here {time}")));
        facts.extend([
            duration(p.end),
            counted(p.threads, "thread"),
            counted(p.records, "record"),
        ]);
        if twins {
            facts.insert(0, format!("trace {number}"));
            let file = p.file.rsplit(['/', '\\']).next().unwrap_or(&p.file);
            facts.push(printable(file));
            facts.extend(p.artifacts.iter().map(|name| printable(name)));
        }
        if !p.orderly() {
            facts.push("no orderly end (killed, or still running)".to_owned());
        }
        if p.lost == 0 && p.missing == 0 && p.header.overwritten == 0 && !p.notes.loss() {
            facts.push("nothing lost".to_owned());
        }
        facts
    }

    /// What of a trace is missing, and why.
    fn losses(&self, out: &mut dyn Write, p: &Process) -> io::Result<()> {
        let short = p.header.stack_short.min(p.lost);
        let failed = p.header.hook_failed.min(p.lost - short);
        let rest = p.lost - short - failed;
        // Earlier libraries did not say which records the ring overwrote.
        let overwrote = match p.header.ring_overwrote {
            0 if p.header.overwritten > 0 && p.header.policy == POLICY_RING => rest,
            n => n.min(rest),
        };
        let for_room = match p.header.policy {
            POLICY_RING | POLICY_DROP | POLICY_BLOCK => "no room was left",
            _ => "for want of room",
        };
        for (n, why) in [
            (overwrote, "the ring overwrote the oldest"),
            (rest - overwrote, for_room),
            (short, "the stack was short"),
            (failed, "their hook failed"),
        ] {
            if n > 0 {
                self.lost(out, &format!("{} ({why})", counted(n, "record")))?;
            }
        }
        if p.missing > 0 || p.header.overwritten > 0 {
            let segments = format!("{} missing", counted(p.missing, "segment"));
            let what = match p.header.overwritten {
                0 => segments,
                n => format!("{} overwritten, {segments}", counted(n, "chunk")),
            };
            self.lost(out, &what)?;
        }
        Ok(())
    }

    /// A line of what is missing.
    fn lost(&self, out: &mut dyn Write, what: &str) -> io::Result<()> {
        match self.screen.colour {
            true => writeln!(out, "  {BAD}LOST: {what}{BAD:#}"),
            false => writeln!(out, "  LOST: {what}"),
        }
    }

    /// Whether a process has several traces: of several class loaders, or started again under its number.
    fn has_twin(&self, p: &Process) -> bool {
        let of = |p: &Process| (p.header.pid, p.header.command.clone());
        let processes = &self.analysis.processes;
        processes.iter().filter(|&other| of(other) == of(p)).count() > 1
    }

    /// The rows of the table: methods that were called and are wanted, sorted.
    pub(super) fn rows(&self) -> Vec<usize> {
        let stats = &self.analysis.stats;
        let by = self.args.by.is_some();
        let methods = self.analysis.methods.rows();
        let mut rows: Vec<usize> = (0..stats.len())
            .filter(|&i| stats[i].all_calls() >= self.args.min_calls.max(1) && self.wanted[i])
            .filter(|&i| methods[i].of_value().is_some() == by)
            .collect();
        let key = |i: usize| {
            let s = &stats[i];
            match self.args.sort {
                Sort::Name => 0,
                Sort::Calls => s.all_calls(),
                // Behind those with times.
                _ if s.is_counted() => s.counted,
                Sort::Own => s.own,
                Sort::Total => s.total,
                Sort::P99 => s.quantile(0.99).unwrap_or(0),
                Sort::Max => s.max,
                Sort::Errors => s.errors,
            }
        };
        let apart = !matches!(self.args.sort, Sort::Name | Sort::Calls);
        rows.sort_by_cached_key(|&i| {
            let behind = apart && stats[i].is_counted();
            (behind, Reverse(key(i)), self.labels[i].clone())
        });
        rows
    }

    pub(super) fn table(&self, out: &mut dyn Write) -> io::Result<()> {
        let stats = &self.analysis.stats;
        let rows = self.rows();
        if rows.is_empty() {
            return self.no_rows(out);
        }
        let methods = self.analysis.methods.rows();
        let busy = (stats.iter().zip(methods))
            .filter(|(_, method)| method.of_value().is_none())
            .fold(self.analysis.left_out_own, |sum, (s, _)| {
                sum.saturating_add(s.own)
            });
        let whole = (self.analysis.threads.iter()).fold(0u64, |sum, t| sum.saturating_add(t.busy));
        let aggregated = rows.iter().any(|&i| stats[i].aggregated > 0);
        // Calls that are summed up are of no thread.
        let whole = if aggregated { whole.max(busy) } else { whole };
        let columns_of = Shown::of(rows.iter().map(|&i| &stats[i]));
        let mut columns = Columns::new(columns_of.heads()).spare(&[
            "min", "p90", "total%", "p50", "active", "running", "open", "p99", "self%",
        ]);
        let shown = self.limit(rows.len());
        for &i in &rows[..shown] {
            let cells = columns_of.cells(&stats[i], busy, whole);
            columns.row(cells, self.labels[i].clone());
        }
        writeln!(out)?;
        let Some(name) = &self.args.by else {
            columns.write(out, "method", self.screen, cut_method)?;
            return rest(out, rows.len() - shown, "method");
        };
        let name = printable(name);
        columns.write(out, &format!("method  {name}"), self.screen, cut_labelled)?;
        rest(out, rows.len() - shown, "row")?;
        self.without_value(out, &name)
    }

    /// Says why there is no table.
    fn no_rows(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.args.by.is_some() || !self.args.conditions.is_empty() {
            match &self.args.by {
                Some(name) => {
                    writeln!(out, "\nno selected call has a value `{}`", printable(name))?
                }
                None => writeln!(out, "\nno selected call fits --where")?,
            }
            return self.known_values(out);
        }
        match &self.args.filter {
            Some(p) if !self.analysis.stats.is_empty() => writeln!(
                out,
                "\nno method of the selected calls fits --filter {}",
                printable(p)
            ),
            _ if self.args.min_calls > 1 => writeln!(
                out,
                "\nno method was called {} times",
                count(self.args.min_calls)
            ),
            _ => writeln!(out, "\nno calls to show"),
        }
    }

    /// Says how many methods `--by` leaves out.
    fn without_value(&self, out: &mut dyn Write, name: &str) -> io::Result<()> {
        let methods = self.analysis.methods.rows();
        let with: FxHashSet<&str> = (methods.iter().zip(&self.labels))
            .filter(|(method, _)| method.of_value().is_some())
            .map(|(_, label)| split_label(label).0)
            .collect();
        let without = (0..methods.len()).filter(|&i| {
            self.analysis.stats[i].calls > 0
                && self.wanted[i]
                && methods[i].of_value().is_none()
                && !with.contains(&*self.labels[i])
        });
        match without.count() as u64 {
            0 => Ok(()),
            1 => writeln!(out, "1 method has no value `{name}` and is left out"),
            n => writeln!(
                out,
                "{} methods have no value `{name}` and are left out",
                count(n)
            ),
        }
    }

    pub(super) fn threads(&self, out: &mut dyn Write) -> io::Result<()> {
        let analysis = &self.analysis;
        let many = analysis.processes.len() > 1;
        let lost = analysis
            .threads
            .iter()
            .any(|t| t.tally.lost + t.missing > 0);
        let mut heads = vec![
            "thread", "kind", "busy", "busy%", "calls", "records", "from", "to",
        ];
        let twins = analysis.processes.iter().any(|p| self.has_twin(p));
        let cpu = analysis.threads.iter().any(|t| t.cpu.is_some());
        if cpu {
            heads.insert(4, "cpu");
        }
        if many {
            heads.insert(0, "pid");
        }
        if twins {
            heads.insert(0, "trace");
        }
        if lost {
            heads.extend(["lost", "gaps"]);
        }
        let mut columns =
            Columns::new(heads).spare(&["from", "to", "records", "kind", "busy%", "calls"]);
        let shown = self.limit(analysis.threads.len());
        for t in &analysis.threads[..shown] {
            let kind = match (t.flags & THREAD_VIRTUAL, t.flags & THREAD_DAEMON) {
                (0, 0) => "platform",
                (0, _) => "daemon",
                _ => "virtual",
            };
            let mut cells = vec![
                t.number.to_string(),
                kind.to_owned(),
                about(duration(t.busy), t.scaled.is_any()),
                percent(t.busy, analysis.processes[t.process].looked_at()),
                about(count(t.calls), t.scaled.is_any()),
                count(t.tally.records),
                duration(t.tally.first),
                duration(t.tally.last),
            ];
            if cpu {
                cells.insert(4, t.cpu.map_or("-".to_owned(), duration));
            }
            if many {
                cells.insert(0, analysis.processes[t.process].header.pid.to_string());
            }
            if twins {
                cells.insert(0, (t.process + 1).to_string());
            }
            if lost {
                cells.extend([count(t.tally.lost), count(t.missing)]);
            }
            let name = match t.name.as_str() {
                "" => "(no name)".to_owned(),
                name => printable(name),
            };
            columns.row(cells.into_iter().map(Cell::from).collect(), name);
        }
        writeln!(out)?;
        columns.write(out, "name", self.screen, cut_middle)?;
        rest(out, analysis.threads.len() - shown, "thread")
    }

    pub(super) fn exceptions(&self, out: &mut dyn Write) -> io::Result<()> {
        let analysis = &self.analysis;
        writeln!(out)?;
        let wanted: Vec<_> = (analysis.exceptions.iter())
            .filter(|e| {
                self.args.filter.as_ref().is_none_or(|p| {
                    pattern::matches(p, &e.type_name)
                        || e.paths.iter().any(|(path, _)| self.touches(path))
                })
            })
            .collect();
        let aggregated = analysis.aggregated_errors();
        if wanted.is_empty() {
            let none = match (&self.args.filter, aggregated) {
                (Some(_), _) if !analysis.exceptions.is_empty() => "No exception fits the filter.",
                (_, 0) => "No exceptions left a woven method.",
                _ => "No exception was recorded.",
            };
            writeln!(out, "{none}")?;
        }
        if aggregated > 0 {
            let calls = counted(aggregated, "summed-up call");
            writeln!(
                out,
                "{calls} ended by an exception; sums do not keep which one."
            )?;
        }
        let shown = self.limit(wanted.len());
        let all: u64 = wanted.iter().map(|e| e.count).sum();
        if all > 0 {
            let kinds = counted(wanted.len() as u64, "kind");
            writeln!(
                out,
                "{} of {kinds}, by type and place:",
                counted(all, "throw")
            )?;
        }
        let digits = count(all).len();
        let indent = " ".repeat(digits + 3);
        let width = |used: usize| self.screen.width.map(|w| w.saturating_sub(used).max(24));
        let fitting = |i: u32, used: usize| {
            let label = &self.labels[i as usize];
            width(digits + 3 + used).map_or(label.clone(), |room| cut_method(label, room))
        };
        let words = |text: &str, used: usize| {
            let text = printable(text);
            width(digits + 3 + used).map_or(text.clone(), |room| cut_middle(&text, room))
        };
        for e in &wanted[..shown] {
            let one = match &e.messages[..] {
                [(message, _)] if e.further_messages == 0 && !message.is_empty() => {
                    format!("{}: {message}", e.type_name)
                }
                _ => e.type_name.clone(),
            };
            writeln!(out, "{:>digits$} × {}", count(e.count), words(&one, 0))?;
            writeln!(out, "{indent}thrown in  {}", fitting(e.thrown, 11))?;
            for (path, n) in &e.paths {
                let times = match e.paths.len() > 1 {
                    true => format!("  ({} ×)", count(*n)),
                    false => String::new(),
                };
                let room = 11 + times.chars().count();
                if path.left != path.thrown {
                    writeln!(out, "{indent}  up to    {}", fitting(path.left, 11))?;
                }
                match path.caught {
                    Some(by) => {
                        let by = fitting(by, room + 12);
                        writeln!(out, "{indent}  caught   in or below {by}{times}")?;
                    }
                    None => writeln!(out, "{indent}  caught   by no woven method{times}")?,
                }
            }
            if e.messages.len() > 1 || e.further_messages > 0 {
                for (message, n) in e.messages.iter().take(MESSAGES) {
                    let times = format!("{:>digits$} × ", count(*n));
                    let room = times.chars().count() + 2;
                    let message = match &**message {
                        "" => "(no message)".to_owned(),
                        text => words(text, room),
                    };
                    writeln!(out, "{indent}  {times}{message}")?;
                }
                let further = e.messages.iter().skip(MESSAGES).map(|m| m.1).sum::<u64>();
                let further = further + e.further_messages;
                if further > 0 {
                    let throws = counted(further, "throw");
                    writeln!(out, "{indent}  {throws} with other messages")?;
                }
            }
        }
        rest(out, wanted.len() - shown, "kind")?;
        if analysis.further_exceptions > 0 {
            let n = counted(analysis.further_exceptions, "throw");
            writeln!(out, "{n} of other exceptions are not listed")?;
        }
        Ok(())
    }

    /// Whether a method of an exception's way fits `--filter`.
    pub(super) fn touches(&self, path: &Path) -> bool {
        self.wanted[path.thrown as usize] || self.wanted[path.left as usize]
    }
}

/// Says what of a trace is looked at.
fn window(part: Part, end: u64) -> String {
    let until = part.until.min(end);
    let shown = |time| moment(time, until.saturating_sub(part.from));
    match part.from < until || (part.from == 0 && end == 0) {
        true => format!(
            "only from {} to {} ({})",
            shown(part.from),
            shown(until),
            duration(until - part.from)
        ),
        false => format!(
            "only from {} on: the trace ends at {}",
            duration(part.from),
            duration(end)
        ),
    }
}

/// Says how many rows `--limit` left out.
pub(super) fn rest(out: &mut dyn Write, hidden: usize, noun: &str) -> io::Result<()> {
    if hidden > 0 {
        let plural = if hidden == 1 { "" } else { "s" };
        let hidden = count(hidden as u64);
        writeln!(
            out,
            "and {hidden} more {noun}{plural} (--limit 0 shows all)"
        )?;
    }
    Ok(())
}

/// The columns that some row asks for.
struct Shown {
    aggregated: bool,
    errors: bool,
    running: bool,
    logical: bool,
    open: bool,
    counted: bool,
    cut: bool,
}

impl Shown {
    fn of<'s>(rows: impl Iterator<Item = &'s Stats> + Clone) -> Shown {
        let any = |asks: fn(&Stats) -> bool| rows.clone().any(asks);
        Shown {
            aggregated: any(|s| s.aggregated > 0),
            errors: any(|s| s.errors > 0),
            running: any(|s| s.running > 0),
            logical: any(|s| s.logical.calls > 0),
            open: any(|s| s.logical.open > 0),
            counted: any(|s| s.counted > 0),
            cut: any(|s| s.cut > 0),
        }
    }

    fn heads(&self) -> Vec<&'static str> {
        let mut heads = vec!["self", "self%", "total", "total%"];
        let times = self.logical.then_some(["active", "waiting"]);
        heads.extend(times.into_iter().flatten());
        heads.push("calls");
        heads.extend(self.counted.then_some("counted"));
        heads.extend(self.aggregated.then_some("summed up"));
        heads.extend(["min", "p50", "p90", "p99", "max"]);
        heads.extend(self.errors.then_some("errors"));
        heads.extend(self.running.then_some("running"));
        heads.extend(self.cut.then_some("cut"));
        heads.extend(self.open.then_some("open"));
        heads
    }

    /// A row; its shares are those of `busy` and `whole` nanoseconds.
    fn cells(&self, s: &Stats, busy: u64, whole: u64) -> Vec<Cell> {
        let known = |ns: Option<u64>| ns.map_or("-".to_owned(), duration);
        let quantile = |s: &Stats, share: f64| match s.quantile(share) {
            Some(ns) => about(duration(ns), s.aggregated > 0 || s.scaled.is_any()),
            None => known(None),
        };
        let hot = share(s.own, busy) >= HOT_PERCENT;
        let timed = |text: String| match s.is_counted() {
            true => "-".to_owned(),
            false => text,
        };
        let scaled = |text: String| timed(about(text, s.scaled.is_any()));
        let some = |n: u64| timed(about(count(n), n > 0 && s.scaled.is_any()));
        let own = timed(percent(s.own, busy));
        let mut cells: Vec<Cell> = vec![
            scaled(duration(s.own)).into(),
            if hot {
                Cell::styled(own, HOT)
            } else {
                own.into()
            },
            scaled(duration(s.total)).into(),
            timed(percent(s.total.saturating_sub(s.logical.waiting), whole)).into(),
        ];
        if self.logical {
            let times = [s.logical.active, s.logical.waiting];
            cells.extend(times.map(|ns| known((s.logical.calls > 0).then_some(ns)).into()));
        }
        let more = s.less.nothing.map_or("", |_| "+");
        cells.push(format!("{}{more}", about(count(s.all_calls()), s.scaled.is_any())).into());
        cells.extend(self.counted.then(|| count(s.counted).into()));
        cells.extend(self.aggregated.then(|| count(s.aggregated).into()));
        cells.extend([
            known(s.min).into(),
            quantile(s, 0.5).into(),
            quantile(s, 0.9).into(),
            quantile(s, 0.99).into(),
            timed(duration(s.max)).into(),
        ]);
        let style = if s.errors > 0 { BAD } else { DIM };
        cells.extend(self.errors.then(|| Cell::styled(some(s.errors), style)));
        cells.extend(self.running.then(|| some(s.running).into()));
        cells.extend(self.cut.then(|| some(s.cut).into()));
        cells.extend(self.open.then(|| timed(count(s.logical.open)).into()));
        cells
    }
}
