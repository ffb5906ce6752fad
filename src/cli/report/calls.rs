//! Single calls, the slowest first.

use super::View;
use super::table::rest;
use crate::cli::columns::{Cell, Columns, cut_labelled, cut_middle};
use crate::cli::terminal::{BAD, DIM};
use crate::printable::printable;
use crate::trace::call::{Described, Outcome};
use crate::trace::query::Listed;
use crate::trace::units::{count, duration};
use crate::trace::values;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Most calls that `--limit 0` lists.
pub(super) const MOST: usize = 100_000;

/// Longest name of a thread.
const THREAD: usize = 24;

#[derive(Serialize)]
pub(super) struct Call<'a> {
    trace: usize,
    thread: u32,
    thread_name: &'a str,
    label: &'a str,
    #[serde(rename = "type")]
    type_name: Option<&'a str>,
    method: Option<&'a str>,
    descriptor: Option<&'a str>,
    start_ns: u64,
    total_ns: u64,
    self_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    active_ns: Option<u64>,
    outcome: &'static str,
    exception_type: Option<&'a str>,
    exception_message: Option<&'a str>,
    values: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    masked: Vec<&'a str>,
    #[serde(skip_serializing_if = "is_one")]
    weight: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands it so
fn is_one(weight: &u32) -> bool {
    *weight == 1
}

fn outcome(call: &Listed) -> &'static str {
    match call.outcome {
        Some(Outcome::Exit) => "exit",
        Some(Outcome::Error) => "error",
        Some(Outcome::Lost) => "lost",
        Some(Outcome::Running) => "running",
        None => "open",
    }
}

impl View<'_> {
    /// The name of a trace's thread.
    pub(super) fn thread_of(&self, process: usize, thread: u32) -> &str {
        // Threads are in the order of traces and numbers.
        let threads = &self.analysis.threads;
        let at = threads.binary_search_by_key(&(process, thread), |t| (t.process, t.number));
        at.map_or("", |at| threads[at].name.as_str())
    }

    pub(super) fn calls(&self, out: &mut dyn Write) -> io::Result<()> {
        let calls = &self.analysis.calls;
        writeln!(out)?;
        if calls.is_empty() {
            return match self.args.conditions.is_empty() {
                true => writeln!(out, "no calls to show"),
                false => {
                    writeln!(out, "no call fits --where")?;
                    self.known_values(out)
                }
            };
        }
        let many = self.analysis.processes.len() > 1;
        let logical = calls.iter().any(|c| c.active.is_some());
        let mut heads = vec!["start", "total", "self"];
        heads.extend(logical.then_some("active"));
        heads.extend(many.then_some("trace"));
        let sampled = calls.iter().any(|c| c.weight > 1);
        heads.extend(sampled.then_some("stands for"));
        heads.extend(["thread", "ended"]);
        let mut columns =
            Columns::new(heads).spare(&["start", "active", "stands for", "self", "thread"]);
        let shown = self.limit(calls.len());
        for call in &calls[..shown] {
            let mut cells: Vec<Cell> = vec![
                duration(call.start).into(),
                duration(call.total).into(),
                call.own.map_or("?".to_owned(), duration).into(),
            ];
            let active = call.active.map_or("-".to_owned(), duration);
            cells.extend(logical.then(|| active.into()));
            cells.extend(many.then(|| (call.process + 1).to_string().into()));
            cells.extend(sampled.then(|| count(call.weight.into()).into()));
            let thread = match printable(self.thread_of(call.process, call.thread)) {
                name if name.is_empty() => call.thread.to_string(),
                name => cut_middle(&name, THREAD),
            };
            cells.push(thread.into());
            cells.push(match call.outcome {
                Some(Outcome::Exit) => Cell::styled("exit".to_owned(), DIM),
                Some(Outcome::Error) => Cell::styled("error".to_owned(), BAD),
                _ => outcome(call).to_owned().into(),
            });
            columns.row(cells, self.line(call));
        }
        columns.write(out, "call", self.screen, cut_labelled)?;
        let hidden = self.analysis.fitting - shown as u64;
        match shown < MOST {
            true => rest(out, hidden as usize, "call"),
            false if hidden > 0 => writeln!(out, "and {} more calls", count(hidden)),
            false => Ok(()),
        }
    }

    /// The method, the values, and what it ended with.
    fn line(&self, call: &Listed) -> String {
        let mut parts = vec![self.labels[call.method as usize].clone()];
        if !call.values.is_empty() {
            parts.push(values::shown(&call.values));
        }
        if let Some(exception) = &call.exception {
            let Described { type_name, message } = &**exception;
            parts.push(match message.is_empty() {
                true => printable(type_name),
                false => printable(&format!("{type_name}: {message}")),
            });
        }
        parts.join("  ")
    }

    /// Says what values there are.
    pub(super) fn known_values(&self, out: &mut dyn Write) -> io::Result<()> {
        let names = &self.analysis.value_names;
        match names.is_empty() {
            true => writeln!(
                out,
                "no selected call has values: rules record them with `record`"
            ),
            false => {
                let names: Vec<String> = names.iter().map(|name| printable(name)).collect();
                writeln!(out, "values of these names were seen: {}", names.join(", "))
            }
        }
    }

    pub(super) fn json_calls(&self) -> Vec<Call<'_>> {
        let calls = &self.analysis.calls;
        let shown = &calls[..self.limit(calls.len())];
        let calls = shown.iter().map(|call| {
            let symbol = self.analysis.methods.rows()[call.method as usize].symbol();
            let exception = call.exception.as_deref();
            let names = |which: fn(&values::Value) -> bool| -> Vec<&str> {
                let some = call.values.iter().filter(|value| which(value));
                some.map(|value| &*value.name).collect()
            };
            Call {
                trace: call.process,
                thread: call.thread,
                thread_name: self.thread_of(call.process, call.thread),
                label: &self.labels[call.method as usize],
                type_name: symbol.map(|s| &*s.type_name),
                method: symbol.map(|s| &*s.method),
                descriptor: symbol.map(|s| &*s.descriptor),
                start_ns: call.start,
                total_ns: call.total,
                self_ns: call.own,
                active_ns: call.active,
                outcome: outcome(call),
                exception_type: exception.map(|told| &*told.type_name),
                exception_message: exception.map(|told| &*told.message),
                values: values::json(&call.values),
                cut: names(|v| v.cut),
                masked: names(|v| v.masked),
                weight: call.weight,
            }
        });
        calls.collect()
    }
}
