//! What is shown as lines: the header, the methods, the threads, the exceptions.

use super::text::{Columns, cut_end, cut_method};
use super::{Sort, View};
use crate::error::Error;
use crate::trace::exceptions::Path;
use crate::trace::format::{THREAD_DAEMON, THREAD_VIRTUAL};
use crate::trace::pattern;
use crate::trace::units::{count, counted, date, duration, percent, printable};
use std::cmp::Reverse;
use std::io::{self, Write};

/// Traces of which the header tells; the rest are counted.
const PROCESSES: usize = 20;

impl View<'_> {
    /// What ran, for how long, and what is missing.
    pub(super) fn header(&self, out: &mut dyn Write, failed: &[Error]) -> io::Result<()> {
        let processes = &self.analysis.processes;
        for p in processes.iter().take(PROCESSES) {
            let command = match p.header.command.trim() {
                "" => "(command not recorded)".to_owned(),
                command => printable(command),
            };
            match self.width {
                Some(width) => writeln!(out, "{}", cut_end(&command, width))?,
                None => writeln!(out, "{command}")?,
            }
            let mut facts = vec![
                format!("pid {}", p.header.pid),
                date(p.header.origin),
                duration(p.end),
                counted(p.threads, "thread"),
                counted(p.records, "record"),
            ];
            if !p.orderly() {
                facts.push("no orderly end (killed, or still running)".to_owned());
            }
            if p.lost == 0 && p.missing == 0 && p.header.overwritten == 0 {
                facts.push("nothing lost".to_owned());
            }
            writeln!(out, "  {}", facts.join(" · "))?;
            if p.lost > 0 {
                let why = [
                    "the ring overwrote the oldest",
                    "no room was left",
                    "no room was left",
                ]
                .get(p.header.policy as usize)
                .unwrap_or(&"for want of room");
                writeln!(out, "  LOST: {} ({why})", counted(p.lost, "record"))?;
            }
            if p.missing > 0 || p.header.overwritten > 0 {
                writeln!(
                    out,
                    "  LOST: {} overwritten, {} missing",
                    counted(p.header.overwritten, "chunk"),
                    counted(p.missing, "segment"),
                )?;
            }
            if p.header.failures > 0 {
                let failures = counted(p.header.failures, "failure");
                writeln!(out, "  note: {failures} in the hooks, swallowed")?;
            }
            for note in p.notes.lines() {
                writeln!(out, "  note: {}", printable(&note))?;
            }
        }
        if processes.len() > PROCESSES {
            writeln!(out, "and {} more traces", processes.len() - PROCESSES)?;
        }
        for e in failed {
            writeln!(out, "not read: {}", printable(&e.to_string()))?;
        }
        Ok(())
    }

    /// The rows of the table: methods that were called and are wanted, sorted.
    pub(super) fn rows(&self) -> Vec<usize> {
        let stats = &self.analysis.stats;
        let mut rows: Vec<usize> = (0..stats.len())
            .filter(|&i| stats[i].calls > 0 && self.wanted[i])
            .collect();
        let key = |i: usize| {
            let s = &stats[i];
            match self.args.sort {
                Sort::Own => s.own,
                Sort::Total => s.total,
                Sort::Calls => s.calls,
                Sort::P99 => s.quantile(0.99).unwrap_or(0),
                Sort::Max => s.max,
                Sort::Errors => s.errors,
                Sort::Name => 0,
            }
        };
        rows.sort_by_cached_key(|&i| (Reverse(key(i)), self.labels[i].clone()));
        rows
    }

    pub(super) fn table(&self, out: &mut dyn Write) -> io::Result<()> {
        let stats = &self.analysis.stats;
        let rows = self.rows();
        if rows.is_empty() {
            return match &self.args.filter {
                Some(p) if !stats.is_empty() => writeln!(
                    out,
                    "\nno method of the calls looked at fits --filter {}",
                    printable(p)
                ),
                _ => writeln!(out, "\nno calls to show"),
            };
        }
        let busy = (stats.iter()).fold(0u64, |sum, s| sum.saturating_add(s.own));
        let errors = rows.iter().any(|&i| stats[i].errors > 0);
        let running = rows.iter().any(|&i| stats[i].running > 0);
        let logical = rows.iter().any(|&i| stats[i].logical.calls > 0);
        let open = rows.iter().any(|&i| stats[i].logical.open > 0);
        let mut heads = vec!["self", "self%", "total"];
        heads.extend(
            logical
                .then_some(["active", "waiting"])
                .into_iter()
                .flatten(),
        );
        heads.extend(["calls", "min", "p50", "p90", "p99", "max"]);
        heads.extend(errors.then_some("errors"));
        heads.extend(running.then_some("running"));
        heads.extend(open.then_some("open"));
        let mut columns = Columns::new(heads);
        let known = |ns: Option<u64>| ns.map_or("-".to_owned(), duration);
        let shown = self.limit(rows.len());
        for &i in &rows[..shown] {
            let s = &stats[i];
            let mut cells = vec![duration(s.own), percent(s.own, busy), duration(s.total)];
            if logical {
                let times = [s.logical.active, s.logical.waiting];
                cells.extend(times.map(|ns| known((s.logical.calls > 0).then_some(ns))));
            }
            cells.extend([
                count(s.calls),
                known(s.min),
                known(s.quantile(0.5)),
                known(s.quantile(0.9)),
                known(s.quantile(0.99)),
                duration(s.max),
            ]);
            cells.extend(errors.then(|| count(s.errors)));
            cells.extend(running.then(|| count(s.running)));
            cells.extend(open.then(|| count(s.logical.open)));
            columns.row(cells, self.labels[i].clone());
        }
        writeln!(out)?;
        columns.write(out, "method", self.width, cut_method)?;
        rest(out, rows.len() - shown, "method")
    }

    pub(super) fn threads(&self, out: &mut dyn Write) -> io::Result<()> {
        let analysis = &self.analysis;
        let many = analysis.processes.len() > 1;
        let lost = analysis
            .threads
            .iter()
            .any(|t| t.tally.lost + t.missing > 0);
        let mut heads = vec!["thread", "kind", "busy", "calls", "records", "from", "to"];
        if many {
            heads.insert(0, "pid");
        }
        if lost {
            heads.extend(["lost", "gaps"]);
        }
        let mut columns = Columns::new(heads);
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
                duration(t.busy),
                count(t.calls),
                count(t.tally.records),
                duration(t.tally.first),
                duration(t.tally.last),
            ];
            if many {
                cells.insert(0, analysis.processes[t.process].header.pid.to_string());
            }
            if lost {
                cells.extend([count(t.tally.lost), count(t.missing)]);
            }
            let name = match t.name.as_str() {
                "" => "(no name)".to_owned(),
                name => printable(name),
            };
            columns.row(cells, name);
        }
        writeln!(out)?;
        columns.write(out, "name", self.width, cut_end)?;
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
        if wanted.is_empty() {
            writeln!(out, "No exceptions left a woven method.")?;
        }
        let shown = self.limit(wanted.len());
        let all: u64 = wanted.iter().map(|e| e.count).sum();
        let digits = count(all).len();
        for e in &wanted[..shown] {
            let mut text = printable(&e.type_name);
            if !e.message.is_empty() {
                text = format!("{text}: {}", printable(&e.message));
            }
            if let Some(width) = self.width {
                text = cut_end(&text, width.saturating_sub(digits + 3).max(24));
            }
            writeln!(out, "{:>digits$} × {text}", count(e.count))?;
            for (path, n) in &e.paths {
                let indent = " ".repeat(digits + 3);
                let label = |i: u32| self.labels[i as usize].as_str();
                let times = if e.paths.len() > 1 {
                    format!("  ({} ×)", count(*n))
                } else {
                    String::new()
                };
                writeln!(out, "{indent}thrown in  {}{times}", label(path.thrown))?;
                if path.left != path.thrown {
                    writeln!(out, "{indent}  up to    {}", label(path.left))?;
                }
                match path.caught {
                    Some(by) => writeln!(out, "{indent}  caught   in or below {}", label(by))?,
                    None => writeln!(out, "{indent}  caught   by no woven method")?,
                }
            }
        }
        rest(out, wanted.len() - shown, "exception")?;
        if analysis.further_exceptions > 0 {
            let n = counted(analysis.further_exceptions, "throw");
            writeln!(out, "{n} of still other exceptions are not listed")?;
        }
        Ok(())
    }

    /// Whether a method of an exception's way fits `--filter`.
    pub(super) fn touches(&self, path: &Path) -> bool {
        self.wanted[path.thrown as usize] || self.wanted[path.left as usize]
    }
}

/// Says how many rows `--limit` left out.
fn rest(out: &mut dyn Write, hidden: usize, noun: &str) -> io::Result<()> {
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
