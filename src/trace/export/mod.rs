//! Exports: the calls of traces, one by one, in the formats of other tools.
//!
//! ```text
//! Trace -> replay -> walk (selection, parents, own time, exceptions) -> Sink (one file a format)
//! ```
//!
//! `otlp` sends calls to a Collector instead, and has a way of its own.
//!
//! Threads are replayed one after the other. Memory grows with methods, with open calls and with logical calls,
//! never with calls.

mod chrome;
mod csv;
mod folded;
pub mod otlp;
mod parquet;
mod perfetto;
mod speedscope;
mod table;
mod walk;

#[cfg(test)]
mod tests;

pub use walk::{Counts, processes, walk};

use super::aggregates::Aggregate;
use super::file::Trace;
use super::methods::Method;
use super::metrics::Series;
use super::roots::Roots;
use super::values::Value;
use super::window::Window;
use crate::symbols::Symbol;
use crate::trace::call::Described;
use std::io::{self, Write};

/// The formats of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Perfetto's protobuf: a packet an event, names interned.
    Perfetto,
    /// Chrome's JSON ("Trace Event Format").
    Chrome,
    /// speedscope's JSON, one evented profile a thread.
    Speedscope,
    /// Collapsed stacks: a line a stack and a number.
    Folded(Weight),
    /// Comma-separated values, a row a call.
    Csv,
    /// Apache Parquet, a row a call.
    Parquet,
}

/// Work for any thread: exports own none.
pub type Task = Box<dyn FnOnce() + Send>;

/// What the number behind a collapsed stack counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Own time in nanoseconds.
    Own,
    Calls,
}

impl Format {
    /// How many calls the format's viewers take before they become slow or give up.
    pub fn comfortable(self) -> Option<u64> {
        match self {
            // Both viewers keep every slice in the memory of a browser.
            Format::Perfetto => Some(3_000_000),
            Format::Chrome => Some(1_000_000),
            Format::Speedscope => Some(500_000),
            Format::Folded(_) | Format::Csv | Format::Parquet => None,
        }
    }

    /// Whether it has methods of which there are no single calls.
    pub fn has_unrecorded(self) -> bool {
        matches!(self, Format::Csv | Format::Parquet)
    }

    /// A writer of this format. What can be done meanwhile it hands to `spawn`.
    ///
    /// # Errors
    /// What `out` refuses.
    pub fn sink<'a>(
        self,
        out: Box<dyn Write + Send + 'a>,
        spawn: fn(Task),
    ) -> io::Result<Box<dyn Sink + 'a>> {
        Ok(match self {
            Format::Perfetto => Box::new(perfetto::Perfetto::new(out)),
            Format::Chrome => Box::new(chrome::Chrome::new(out)?),
            Format::Speedscope => Box::new(speedscope::Speedscope::new(out)?),
            Format::Folded(weight) => Box::new(folded::Folded::new(out, weight)),
            Format::Csv => Box::new(csv::Csv::new(out)?),
            Format::Parquet => Box::new(parquet::Parquet::new(out, spawn)?),
        })
    }
}

/// Which calls are exported.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// If there are any, only roots and what runs below them.
    pub roots: Roots,
    /// Only calls that run after this time: nanoseconds since the trace's origin.
    pub from: Option<u64>,
    /// Only calls that began before this time.
    pub until: Option<u64>,
    /// Only calls of at least this many nanoseconds.
    pub min: u64,
    /// Only calls of at most this many levels; an outermost call has level 1.
    pub depth: Option<u32>,
    /// Only threads of this number, or whose name fits this pattern.
    pub thread: Option<String>,
    /// Only methods whose name fits this pattern; the time of others counts as their caller's own.
    pub filter: Option<String>,
}

impl Selection {
    /// Whether all calls of a process are looked at, whatever their methods.
    pub fn is_of_whole_processes(&self) -> bool {
        self.roots.is_empty()
            && self.from.is_none()
            && self.until.is_none()
            && self.thread.is_none()
    }

    /// The same, in a window of a trace of these times.
    pub fn within(&self, window: &Window, origin: u64, end: u64) -> Selection {
        let part = window.of(origin, end);
        Selection {
            from: window.from.map(|_| part.from),
            until: window.until.map(|_| part.until),
            ..self.clone()
        }
    }
}

/// The process that a trace is of.
pub struct Process<'a> {
    pub trace: &'a Trace,
    /// Number of the trace in this export, from 0.
    pub number: usize,
    /// Process id, or another number where two traces have the same.
    pub pid: u64,
    /// Nanoseconds from the first trace's origin to this one's.
    pub offset: u64,
    /// Calls of methods that are only counted, by id: those that no earlier trace of the same process has.
    pub counted: Vec<(u32, u64)>,
    /// The same of methods that are summed up.
    pub summed: Vec<(u32, Aggregate)>,
}

/// A thread of a process.
pub struct Thread<'a> {
    /// Its number in the trace.
    pub number: u32,
    /// Its name, or `thread N`.
    pub name: &'a str,
}

/// A method, as a trace's symbols name it.
pub struct Named {
    /// Name and parameters: `com.acme.Orders.place(int, String)`.
    pub label: String,
    /// The type's name with dots, or empty where nothing names the id.
    pub type_name: String,
    /// What names it.
    pub method: Method,
}

impl Named {
    /// The symbol, if there is one.
    pub fn symbol(&self) -> Option<&Symbol> {
        self.method.symbol()
    }
}

/// A call that began.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Its number in this export, from 1.
    pub id: u64,
    /// The exported call around it.
    pub parent: Option<u64>,
    /// Exported calls around it.
    pub depth: u32,
    /// When it began, in nanoseconds since the trace's origin.
    pub start: u64,
    /// Number of its method, below the length of the list that [`Sink::methods`] got.
    pub method: usize,
    /// The logical call that it is a piece of, and whether it is the first.
    pub piece: Option<(u64, bool)>,
    /// How many calls it stands for. Its times are its own.
    pub weight: u32,
}

/// How a call ended.
pub struct End<'a> {
    /// When, in nanoseconds since the trace's origin.
    pub time: u64,
    /// Nanoseconds not in exported calls that it made.
    pub own: u64,
    /// `exit`, `error`, `lost` (its own record is missing) or `running` (when the trace ended).
    pub outcome: &'static str,
    /// The exception that it ended with, as far as the trace describes it.
    pub exception: Option<Described<&'a str>>,
    /// The values that rules asked for.
    pub values: &'a [Value],
}

/// A logical call from its begin to its end.
pub struct Logical {
    /// Its number in the trace.
    pub call: u64,
    /// The exported call that began it.
    pub parent: Option<u64>,
    /// Number of its method.
    pub method: usize,
    /// When it began, in nanoseconds since the trace's origin.
    pub start: u64,
    /// When it ended, or the last that the trace has of it.
    pub end: u64,
    /// As [`End::outcome`].
    pub outcome: &'static str,
    /// Those of all its pieces.
    pub values: Vec<Value>,
    /// How many calls it stands for. Its times are its own.
    pub weight: u32,
}

/// A method of which there are no single calls: the process has counted them or summed them up, or left them out from a moment on.
pub struct Unrecorded<'a> {
    /// Number of the method.
    pub method: usize,
    /// When the process began with it, in nanoseconds since the trace's origin.
    pub since: u64,
    /// From that moment on nothing is known of its calls (`mode = "auto"`).
    pub is_left_out: bool,
    /// How often it was called.
    pub calls: u64,
    /// What the calls add up to, where they were not only counted.
    pub sum: Option<&'a Aggregate>,
}

/// Writes a format.
///
/// Calls come thread by thread. Within a thread times never step back: a call opens after all that ended before it began,
/// and closes after all that it made. `P` below is the process at hand.
pub trait Sink {
    /// The calls that follow are of this process; `methods` are all that it names.
    fn process(&mut self, process: &Process, methods: &[Named]) -> io::Result<()>;

    /// More methods came up, whose ids no symbols map names.
    fn unnamed(&mut self, _method: &Named) -> io::Result<()> {
        Ok(())
    }

    /// What the process used. Formats that know only calls leave it out.
    fn metrics(&mut self, _metrics: &[Series]) -> io::Result<()> {
        Ok(())
    }

    /// The calls that follow are of this thread.
    fn thread(&mut self, process: &Process, thread: &Thread) -> io::Result<()>;

    /// A call begins.
    fn open(&mut self, span: &Span, method: &Named) -> io::Result<()>;

    /// The call that was opened last, of those not closed yet, ends.
    fn close(&mut self, span: &Span, end: &End, method: &Named) -> io::Result<()>;

    /// The thread has no more calls; `last` is the time of the last that was written.
    fn end_thread(&mut self, _last: u64) -> io::Result<()> {
        Ok(())
    }

    /// A logical call of the process at hand; its pieces came before.
    fn logical(&mut self, logical: &Logical, method: &Named) -> io::Result<()>;

    /// A method of the process at hand that was counted or summed up. Formats that know only single calls leave it out.
    fn unrecorded(&mut self, _unrecorded: &Unrecorded, _method: &Named) -> io::Result<()> {
        Ok(())
    }

    /// Nothing follows.
    fn finish(self: Box<Self>) -> io::Result<()>;
}
