//! `--request`: one request as a tree.

use super::View;
use crate::cli::columns::{Cell, Columns};
use crate::cli::terminal::Screen;
use crate::printable::printable;
use crate::trace::call::Outcome;
use crate::trace::request::{Item, Request};
use crate::trace::units::{count, counted, duration};
use crate::trace::values;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Rows of the text, unless `--limit` says otherwise.
const ROWS: usize = 500;

/// The lines that lead to each item, and on to what is below it.
fn branches(request: &Request) -> Vec<(String, String)> {
    let items = &request.items;
    let mut last = vec![false; items.len()];
    let mut is_known: BTreeSet<Option<usize>> = BTreeSet::new();
    for (at, item) in items.iter().enumerate().rev() {
        last[at] = is_known.insert(item.parent);
    }
    let mut all: Vec<(String, String)> = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        all.push(match item.parent {
            None => Default::default(),
            Some(parent) => {
                let before = &all[parent].1;
                match last[at] {
                    true => (format!("{before}└─ "), format!("{before}   ")),
                    false => (format!("{before}├─ "), format!("{before}│  ")),
                }
            }
        });
    }
    all
}

impl View<'_> {
    fn process_of(&self, item: &Item) -> String {
        let process = self.analysis.processes.get(item.process);
        process.map_or_else(String::new, |process| printable(&process.header.command))
    }
}

/// What an item is, but for its values: name, kind, how it ended, and its thread where that is another than around it.
fn what(view: &View<'_>, request: &Request, item: &Item) -> String {
    let mut text = item.name.clone();
    if let Some(kind) = item.kind {
        text.push_str(&format!("  {}", kind.word()));
    }
    if item.pieces > 1 {
        text.push_str(&format!("  in {} pieces", count(item.pieces)));
    }
    match item.outcome {
        Outcome::Running => text.push_str("  (still running)"),
        Outcome::Lost => text.push_str("  (its end is missing)"),
        Outcome::Exit | Outcome::Error => {}
    }
    match &item.failure {
        Some(failure) if failure.message.is_empty() => {
            text.push_str(&format!("  failed: {}", printable(&failure.type_name)));
        }
        Some(failure) => {
            text.push_str(&format!(
                "  failed: {}: {}",
                printable(&failure.type_name),
                printable(&failure.message)
            ));
        }
        None if item.outcome == Outcome::Error => text.push_str("  failed"),
        None => {}
    }
    let around = item.parent.map(|parent| &request.items[parent]);
    if around.is_none_or(|around| around.process != item.process)
        && view.analysis.processes.len() > 1
    {
        text.push_str(&format!("  in {}", view.process_of(item)));
    }
    let place = |item: &Item| (item.process, item.thread);
    if around.is_none_or(|around| place(around) != place(item)) {
        text.push_str(&format!(
            "  on {}",
            match view.thread_of(item.process, item.thread) {
                "" => format!("thread {}", item.thread),
                name => printable(name),
            }
        ));
    }
    text
}

/// Writes the tree.
pub(super) fn write(view: &View<'_>, request: &Request, out: &mut dyn Write) -> io::Result<()> {
    let items = &request.items;
    let begin = items.iter().map(|item| item.start).min().unwrap_or(0);
    let end = items
        .iter()
        .map(|item| item.start.saturating_add(item.total))
        .max();
    let spans = items.iter().filter(|item| item.kind.is_some()).count();
    let threads: BTreeSet<_> = items
        .iter()
        .map(|item| (item.process, item.thread))
        .collect();
    let processes: BTreeSet<_> = items.iter().map(|item| item.process).collect();
    writeln!(
        out,
        "\ntrace {:032x}: {}, {} and {} on {} of {}\n",
        request.trace,
        duration(end.unwrap_or(begin) - begin),
        counted(spans as u64, "span"),
        counted((items.len() - spans) as u64, "call"),
        counted(threads.len() as u64, "thread"),
        match processes.len() {
            1 => "one process".to_owned(),
            n => format!("{n} processes"),
        }
    )?;
    let rows = match view.args.limit.unwrap_or(ROWS) {
        0 => items.len(),
        n => n.min(items.len()),
    };
    let branches = branches(request);
    let mut columns = Columns::new(vec!["at", "time", "own"]);
    for (at, item) in items.iter().enumerate().take(rows) {
        let cells = [item.start - begin, item.total, item.own];
        let text = format!("{}{}", branches[at].0, what(view, request, item));
        columns.row(cells.map(|ns| Cell::from(duration(ns))).into(), text);
        let is_link = |value: &&values::Value| value.link().is_some();
        let (links, told): (Vec<_>, Vec<_>) = item.values.iter().partition(is_link);
        let told: Vec<values::Value> = told.into_iter().cloned().collect();
        let links = links.into_iter().filter_map(values::Value::link);
        let links = links.map(|link| {
            let (span, trace) = (link.span, link.trace);
            format!("linked to span {span:016x} of trace {trace:032x}")
        });
        let told = (!told.is_empty()).then(|| values::shown(&told));
        for told in told.into_iter().chain(links) {
            let has_more = items
                .get(at + 1)
                .is_some_and(|next| next.parent == Some(at));
            let below = if has_more { "│  " } else { "   " };
            let text = format!("{}{below}{told}", branches[at].1);
            columns.row((0..3).map(|_| Cell::from(String::new())).collect(), text);
        }
    }
    // Nothing of a request is cut.
    let screen = Screen {
        width: None,
        ..view.screen
    };
    columns.write(out, "span or call", screen, |text, _| text.to_owned())?;
    let more = (items.len() - rows) as u64 + request.left_out;
    if more > 0 {
        let more = counted(more, "row");
        writeln!(
            out,
            "{more} more: --limit shows all, --min leaves out short calls"
        )?;
    }
    Ok(())
}

/// The same for programs.
pub(super) fn to_json(view: &View<'_>, request: &Request) -> Value {
    let begin = request
        .items
        .iter()
        .map(|item| item.start)
        .min()
        .unwrap_or(0);
    let rows = request.items.iter().map(|item| {
        let id = |id: u64| Some(id).filter(|id| *id != 0).map(|id| format!("{id:016x}"));
        json!({
            "parent": item.parent,
            "name": item.name,
            "method": item.method,
            "kind": item.kind.map(|kind| kind.word()),
            "span_id": item.span.and_then(|span| id(span.span)),
            "parent_span_id": item.span.and_then(|span| id(span.parent)),
            "process": item.process,
            "thread": item.thread,
            "thread_name": view.thread_of(item.process, item.thread),
            "start_ns": item.start - begin,
            "start_unix_ns": item.start,
            "duration_ns": item.total,
            "own_ns": item.own,
            "pieces": item.pieces,
            "outcome": match item.outcome {
                Outcome::Exit => "exit",
                Outcome::Error => "error",
                Outcome::Running => "running",
                Outcome::Lost => "lost",
            },
            "failure": item.failure.as_ref().map(|failure| json!({ "type": failure.type_name, "message": failure.message })),
            "values": values::json(&item.values),
        })
    });
    json!({
        "trace_id": format!("{:032x}", request.trace),
        "items": rows.collect::<Vec<_>>(),
        "left_out": request.left_out,
    })
}
