//! A row a call: the columns that `csv` and `parquet` share.

use super::{End, Logical, Named, Process, Span, Thread, Unrecorded};
use crate::dotnet_names;
use crate::symbols::Symbol;
use crate::trace::call::Described;
use crate::trace::values::{self, Value};

/// A row: what was called, where, when, how it ended.
#[derive(Default)]
pub struct Row<'a> {
    /// `call`, `piece` (of a logical call), `logical` (a whole logical call, on no thread), `counted` or `aggregated` (a method).
    pub kind: &'a str,
    pub span: Option<&'a Span>,
    pub parent: Option<u64>,
    pub logical: Option<u64>,
    pub start: u64,
    pub duration: Option<u64>,
    pub own: Option<u64>,
    /// Empty where no end is known.
    pub outcome: &'a str,
    pub exception: Option<Described<&'a str>>,
    pub values: &'a [Value],
    /// How often the method was called, where there are no single calls of it.
    pub calls: Option<u64>,
    /// What is known of its ends then: errors, the shortest and the longest call.
    pub errors: Option<u64>,
    pub min: Option<u64>,
    pub max: Option<u64>,
    /// How many calls a recorded one stands for.
    pub weight: Option<u64>,
}

impl Row<'_> {
    /// The values as a JSON object.
    pub fn values(&self) -> Option<String> {
        let values = Some(self.values).filter(|values| !values.is_empty())?;
        serde_json::to_string(&values::json(values)).ok()
    }
}

/// What the rows at hand have in common.
#[derive(Default)]
pub struct Context {
    pub trace: String,
    pub command: String,
    pub pid: u64,
    /// Wall-clock time at the trace's origin, nanoseconds since 1970-01-01 UTC.
    pub origin: u64,
    pub thread: Option<u32>,
    pub thread_name: String,
}

impl Context {
    pub fn process(&mut self, process: &Process) {
        let header = process.trace.header();
        *self = Context {
            trace: process.trace.name().to_owned(),
            command: header.command.clone(),
            pid: header.pid,
            origin: header.origin,
            thread: None,
            thread_name: String::new(),
        };
    }

    pub fn thread(&mut self, thread: &Thread) {
        self.thread = Some(thread.number);
        thread.name.clone_into(&mut self.thread_name);
    }

    /// What follows runs on no thread by itself.
    pub fn no_thread(&mut self) {
        self.thread = None;
        self.thread_name.clear();
    }
}

pub fn call<'a>(span: &'a Span, end: &End<'a>) -> Row<'a> {
    Row {
        kind: if span.piece.is_some() {
            "piece"
        } else {
            "call"
        },
        span: Some(span),
        parent: span.parent,
        logical: span.piece.map(|(call, _)| call),
        start: span.start,
        duration: Some(end.time - span.start),
        own: Some(end.own),
        outcome: end.outcome,
        exception: end.exception,
        values: end.values,
        weight: Some(span.weight.into()),
        ..Row::default()
    }
}

pub fn logical(logical: &Logical) -> Row<'_> {
    Row {
        kind: "logical",
        span: None,
        parent: logical.parent,
        logical: Some(logical.call),
        start: logical.start,
        duration: Some(logical.end - logical.start),
        own: None,
        outcome: logical.outcome,
        exception: None,
        values: &logical.values,
        weight: Some(logical.weight.into()),
        ..Row::default()
    }
}

pub fn unrecorded(method: &Unrecorded) -> Row<'static> {
    let sum = method.sum;
    Row {
        kind: match sum {
            _ if method.is_left_out => "left-out",
            Some(_) => "aggregated",
            None => "counted",
        },
        start: method.since,
        duration: sum.map(|sum| sum.total),
        own: sum.map(|sum| sum.own),
        calls: (!method.is_left_out).then_some(method.calls),
        errors: sum.map(|sum| sum.errors),
        min: sum.and_then(|sum| sum.min),
        max: sum.and_then(|sum| sum.min.map(|_| sum.max)),
        ..Row::default()
    }
}

/// The method's name as people know it.
fn shown_method(symbol: &Symbol) -> String {
    let shown = dotnet_names::shown(&symbol.type_name, &symbol.method);
    shown.map_or_else(|| symbol.method.to_string(), |shown| shown.numbered())
}

/// What a row says of its method.
#[derive(Default)]
pub struct Names<'a> {
    pub type_name: &'a str,
    pub name: String,
    pub descriptor: &'a str,
    pub artifact: &'a str,
    pub source: &'a str,
    pub line: u32,
}

pub fn names(method: &Named) -> Names<'_> {
    match method.symbol() {
        Some(s) => Names {
            type_name: &method.type_name,
            name: shown_method(s),
            descriptor: &s.descriptor,
            artifact: &s.artifact,
            source: &s.file,
            line: s.line,
        },
        None => Names {
            name: method.label.clone(),
            ..Names::default()
        },
    }
}
