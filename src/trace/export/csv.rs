//! Comma-separated values (RFC 4180): a row a call, columns as in `parquet`.

use super::table::{self, Context, Names, Row};
use super::{End, Logical, Named, Process, Sink, Span, Thread, Unrecorded};
use crate::printable::{escaped_json, printable_lines};
use crate::trace::call::Described;
use std::borrow::Cow;
use std::io::{self, Write};

/// The columns, in order.
pub const COLUMNS: [&str; 29] = [
    "trace",
    "command",
    "pid",
    "thread",
    "thread_name",
    "kind",
    "id",
    "parent",
    "depth",
    "logical",
    "type",
    "method",
    "descriptor",
    "artifact",
    "source",
    "line",
    "start_ns",
    "start_unix_ns",
    "duration_ns",
    "self_ns",
    "outcome",
    "exception_type",
    "exception_message",
    "values",
    "calls",
    "errors",
    "min_ns",
    "max_ns",
    "weight",
];

pub struct Csv<'a> {
    out: csv::Writer<Box<dyn Write + Send + 'a>>,
    context: Context,
}

impl<'a> Csv<'a> {
    pub fn new(out: Box<dyn Write + Send + 'a>) -> io::Result<Csv<'a>> {
        let mut out = csv::Writer::from_writer(out);
        out.write_record(COLUMNS)?;
        Ok(Csv {
            out,
            context: Context::default(),
        })
    }

    fn row(&mut self, row: &Row, method: &Named) -> io::Result<()> {
        let number = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
        let c = &self.context;
        let Names {
            type_name,
            name,
            descriptor,
            artifact,
            source,
            line,
        } = table::names(method);
        let Described {
            type_name: exception,
            message,
        } = row.exception.unwrap_or_default();
        let [trace, command, thread_name] =
            [&c.trace, &c.command, &c.thread_name].map(|text| harmless(text));
        let [
            type_name,
            name,
            descriptor,
            artifact,
            source,
            exception,
            message,
        ] = [
            type_name, &name, descriptor, artifact, source, exception, message,
        ]
        .map(harmless);
        self.out.write_record([
            &*trace,
            &command,
            &c.pid.to_string(),
            &number(c.thread.map(u64::from)),
            &thread_name,
            row.kind,
            &number(row.span.map(|s| s.id)),
            &number(row.parent),
            &number(row.span.map(|s| u64::from(s.depth))),
            &number(row.logical),
            &type_name,
            &name,
            &descriptor,
            &artifact,
            &source,
            &number((line > 0).then_some(u64::from(line))),
            &row.start.to_string(),
            &c.origin.saturating_add(row.start).to_string(),
            &number(row.duration),
            &number(row.own),
            row.outcome,
            &exception,
            &message,
            &row.values().map(escaped_json).unwrap_or_default(),
            &number(row.calls),
            &number(row.errors),
            &number(row.min),
            &number(row.max),
            &number(row.weight),
        ])?;
        Ok(())
    }
}

/// Text that steers no terminal and that no spreadsheet takes for a formula: an apostrophe goes in front of what could begin one.
fn harmless(text: &str) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => Cow::Owned(format!("'{}", printable_lines(text))),
        false => printable_lines(text),
    }
}

impl Sink for Csv<'_> {
    fn process(&mut self, process: &Process, _: &[Named]) -> io::Result<()> {
        self.context.process(process);
        Ok(())
    }

    fn thread(&mut self, _: &Process, thread: &Thread) -> io::Result<()> {
        self.context.thread(thread);
        Ok(())
    }

    fn open(&mut self, _: &Span, _: &Named) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self, span: &Span, end: &End, method: &Named) -> io::Result<()> {
        self.row(&table::call(span, end), method)
    }

    fn logical(&mut self, logical: &Logical, method: &Named) -> io::Result<()> {
        self.context.no_thread();
        self.row(&table::logical(logical), method)
    }

    fn unrecorded(&mut self, unrecorded: &Unrecorded, method: &Named) -> io::Result<()> {
        self.context.no_thread();
        self.row(&table::unrecorded(unrecorded), method)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.flush()
    }
}
