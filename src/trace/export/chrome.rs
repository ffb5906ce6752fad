//! Chrome's JSON ("Trace Event Format"): complete events, nestable async events for logical calls, flows between their
//! pieces. Times are microseconds with three decimals.

use super::{End, Logical, Named, Process, Sink, Span, Thread};
use crate::printable::{escaped_json, printable};
use crate::trace::call::Described;
use crate::trace::metrics::Series;
use crate::trace::values;
use serde_json::{Value, json};
use std::io::{self, Write};

pub struct Chrome<'a> {
    out: Box<dyn Write + Send + 'a>,
    any: bool,
    pid: u64,
    tid: u32,
    offset: u64,
    /// Of each method, `"name":…,"cat":…`.
    heads: Vec<String>,
}

fn head(method: &Named) -> String {
    let cat = match &*method.type_name {
        "" => "unknown",
        name => name,
    };
    format!(
        "\"name\":{},\"cat\":{}",
        json!(method.label),
        json!(printable(cat))
    )
}

impl<'a> Chrome<'a> {
    pub fn new(mut out: Box<dyn Write + Send + 'a>) -> io::Result<Chrome<'a>> {
        out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        Ok(Chrome {
            out,
            any: false,
            pid: 0,
            tid: 0,
            offset: 0,
            heads: Vec::new(),
        })
    }

    fn next(&mut self) -> io::Result<()> {
        let separator: &[u8] = if self.any { b",\n" } else { b"\n" };
        self.any = true;
        self.out.write_all(separator)
    }

    fn metadata(&mut self, what: &str, args: Value) -> io::Result<()> {
        self.next()?;
        let (pid, tid) = (self.pid, self.tid);
        write!(
            self.out,
            "{{\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{pid},\"tid\":{tid},\"args\":{args}}}"
        )
    }

    /// An event without arguments and of no duration; `kind` is its phase and what else it has.
    fn instant(&mut self, method: usize, kind: &str, time: u64, end: &str) -> io::Result<()> {
        self.next()?;
        let (pid, tid) = (self.pid, self.tid);
        let ts = Micros(self.offset + time);
        let head = &self.heads[method];
        write!(
            self.out,
            "{{{kind},{head},\"pid\":{pid},\"tid\":{tid},\"ts\":{ts}{end}}}"
        )
    }
}

/// Nanoseconds as microseconds.
struct Micros(u64);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

impl Sink for Chrome<'_> {
    fn process(&mut self, process: &Process, methods: &[Named]) -> io::Result<()> {
        (self.pid, self.tid, self.offset) = (process.pid, 0, process.offset);
        self.heads = methods.iter().map(head).collect();
        let header = process.trace.header();
        let (name, pid) = (&header.command, header.pid);
        self.metadata("process_name", json!({"name": printable(name)}))?;
        let trace = printable(process.trace.name());
        self.metadata(
            "process_labels",
            json!({"labels": format!("pid {pid}, {trace}")}),
        )
    }

    fn unnamed(&mut self, method: &Named) -> io::Result<()> {
        self.heads.push(head(method));
        Ok(())
    }

    /// Counter events.
    fn metrics(&mut self, metrics: &[Series]) -> io::Result<()> {
        for series in metrics {
            let name = json!(series.metric.shown());
            for &(time, value) in &series.points {
                self.next()?;
                let (pid, ts) = (self.pid, Micros(self.offset + time));
                write!(
                    self.out,
                    "{{\"ph\":\"C\",\"name\":{name},\"pid\":{pid},\"ts\":{ts},\"args\":{{\"value\":{value}}}}}"
                )?;
            }
        }
        Ok(())
    }

    fn thread(&mut self, _: &Process, thread: &Thread) -> io::Result<()> {
        self.tid = thread.number;
        self.metadata("thread_name", json!({"name": thread.name}))?;
        self.metadata("thread_sort_index", json!({"sort_index": thread.number}))
    }

    fn open(&mut self, span: &Span, _: &Named) -> io::Result<()> {
        let Some((call, first)) = span.piece else {
            return Ok(());
        };
        // A flow's start, or a step of it.
        let phase = if first { "s" } else { "t" };
        let kind = format!("\"ph\":\"{phase}\",\"id\":\"{:#x}-{call:#x}\"", self.pid);
        self.instant(span.method, &kind, span.start, ",\"bp\":\"e\"")
    }

    fn close(&mut self, span: &Span, end: &End, _: &Named) -> io::Result<()> {
        self.next()?;
        let (pid, tid) = (self.pid, self.tid);
        let ts = Micros(self.offset + span.start);
        let dur = Micros(end.time - span.start);
        let head = &self.heads[span.method];
        write!(
            self.out,
            "{{\"ph\":\"X\",{head},\"pid\":{pid},\"tid\":{tid},\"ts\":{ts},\"dur\":{dur}"
        )?;
        let mut args = serde_json::Map::new();
        if end.outcome != "exit" {
            args.insert("outcome".to_owned(), json!(end.outcome));
        }
        if let Some(Described { type_name, message }) = end.exception {
            args.insert("exception.type".to_owned(), json!(printable(type_name)));
            args.insert("exception.message".to_owned(), json!(message));
        }
        if let Some((call, _)) = span.piece {
            args.insert("logical call".to_owned(), json!(call));
        }
        if !end.values.is_empty() {
            args.insert("values".to_owned(), values::json(end.values).into());
        }
        if !args.is_empty() {
            let args = escaped_json(Value::Object(args).to_string());
            write!(self.out, ",\"args\":{args}")?;
        }
        self.out.write_all(b"}")
    }

    fn logical(&mut self, logical: &Logical, _: &Named) -> io::Result<()> {
        self.tid = 0;
        let id = format!("{:#x}-{:#x}", self.pid, logical.call);
        let mut args = serde_json::Map::new();
        args.insert("outcome".to_owned(), json!(logical.outcome));
        if !logical.values.is_empty() {
            args.insert("values".to_owned(), values::json(&logical.values).into());
        }
        let args = escaped_json(Value::Object(args).to_string());
        let args = format!(",\"args\":{args}");
        let kind = |phase| format!("\"ph\":\"{phase}\",\"id\":\"{id}\"");
        self.instant(logical.method, &kind('b'), logical.start, "")?;
        self.instant(logical.method, &kind('e'), logical.end, &args)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()
    }
}
