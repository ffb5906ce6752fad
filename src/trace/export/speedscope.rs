//! speedscope's JSON: one evented profile a thread, times in nanoseconds. Frames stand at the end, when all are known.

use super::{End, Logical, Named, Process, Sink, Span, Thread};
use crate::printable::escaped_json;
use rustc_hash::FxHashMap;
use serde_json::json;
use std::io::{self, Write};

pub struct Speedscope<'a> {
    out: Box<dyn Write + Send + 'a>,
    /// The frames, as JSON.
    frames: Vec<String>,
    by_label: FxHashMap<String, usize>,
    /// Of each method of the process, its frame.
    of_method: Vec<usize>,
    profiles: usize,
    title: String,
    /// A profile's head, until its first call comes: threads without calls get no profile.
    head: Option<String>,
    events: u64,
}

impl<'a> Speedscope<'a> {
    pub fn new(mut out: Box<dyn Write + Send + 'a>) -> io::Result<Speedscope<'a>> {
        out.write_all(
            b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"weave\",\"profiles\":[",
        )?;
        Ok(Speedscope {
            out,
            frames: Vec::new(),
            by_label: FxHashMap::default(),
            of_method: Vec::new(),
            profiles: 0,
            title: String::new(),
            head: None,
            events: 0,
        })
    }

    fn frame(&mut self, method: &Named) {
        let next = self.frames.len();
        let frame = *self.by_label.entry(method.label.clone()).or_insert(next);
        if frame == next {
            let mut text = json!({"name": method.label});
            if let Some(symbol) = method.symbol() {
                if !symbol.file.is_empty() {
                    text["file"] = json!(&*symbol.file);
                }
                if symbol.line > 0 {
                    text["line"] = json!(symbol.line);
                }
            }
            self.frames.push(escaped_json(text.to_string()));
        }
        self.of_method.push(frame);
    }

    fn event(&mut self, ty: char, method: usize, at: u64) -> io::Result<()> {
        if let Some(head) = self.head.take() {
            let separator = if self.profiles > 0 { ",\n" } else { "\n" };
            self.profiles += 1;
            write!(
                self.out,
                "{separator}{head}\"startValue\":{at},\"events\":["
            )?;
            self.events = 0;
        }
        let separator = if self.events > 0 { "," } else { "" };
        self.events += 1;
        let frame = self.of_method[method];
        write!(
            self.out,
            "{separator}{{\"type\":\"{ty}\",\"frame\":{frame},\"at\":{at}}}"
        )
    }
}

impl Sink for Speedscope<'_> {
    fn process(&mut self, process: &Process, methods: &[Named]) -> io::Result<()> {
        self.of_method.clear();
        for method in methods {
            self.frame(method);
        }
        self.title = process.trace.name().to_owned();
        Ok(())
    }

    fn unnamed(&mut self, method: &Named) -> io::Result<()> {
        self.frame(method);
        Ok(())
    }

    fn thread(&mut self, process: &Process, thread: &Thread) -> io::Result<()> {
        let name = json!(format!(
            "{} ({}, {})",
            thread.name, thread.number, process.pid
        ));
        self.head = Some(format!(
            "{{\"type\":\"evented\",\"name\":{name},\"unit\":\"nanoseconds\","
        ));
        Ok(())
    }

    fn open(&mut self, span: &Span, _: &Named) -> io::Result<()> {
        self.event('O', span.method, span.start)
    }

    fn close(&mut self, span: &Span, end: &End, _: &Named) -> io::Result<()> {
        self.event('C', span.method, end.time)
    }

    fn end_thread(&mut self, last: u64) -> io::Result<()> {
        match self.head.take() {
            Some(_) => Ok(()),
            None => write!(self.out, "],\"endValue\":{last}}}"),
        }
    }

    /// speedscope has no async calls: their pieces stand in their threads.
    fn logical(&mut self, _: &Logical, _: &Named) -> io::Result<()> {
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        let (title, frames) = (json!(self.title), self.frames.join(",\n"));
        write!(
            self.out,
            "\n],\"name\":{title},\"shared\":{{\"frames\":[\n{frames}\n]}}}}\n"
        )?;
        self.out.flush()
    }
}
