//! From a replay's calls to a sink's: selects, numbers, finds parents, own times and exceptions.

use super::{End, Logical, Named, Process, Selection, Sink, Span, Thread, Unrecorded};
use crate::dotnet_names;
use crate::mapping::Mapping;
use crate::printable::printable;
use crate::trace::call::{Call, Described, Frame, Outcome, Thrown, Weighted};
use crate::trace::control;
use crate::trace::counted;
use crate::trace::file::Trace;
use crate::trace::methods::{Method, MethodIx, Methods};
use crate::trace::metrics::{self, Reading};
use crate::trace::pattern;
use crate::trace::replay::{Replay, Visitor};
use crate::trace::values::{self, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::io;

/// Logical calls that are kept at once, some 60 bytes each.
const MAX_LOGICAL: usize = if cfg!(test) { 1 << 10 } else { 1 << 21 };

/// What was exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls, pieces of logical calls included.
    pub calls: u64,
    /// Logical calls.
    pub logical: u64,
    /// Logical calls beyond what is kept at once, whose pieces alone were exported.
    pub logical_left_out: u64,
    /// Methods of which there are no single calls.
    pub unrecorded: u64,
    /// Such methods that were left out: only a part of the process was selected.
    pub unrecorded_left_out: u64,
    /// Methods whose calls the process left out from a moment on.
    pub left_out: u64,
}

/// Writes the selected calls of a trace. `progress` gets the share of the trace's segments that are done, 0 to 1.
///
/// # Errors
/// What the sink cannot write.
pub fn walk(
    process: &Process,
    mappings: &[Mapping],
    selection: &Selection,
    sink: &mut dyn Sink,
    first_id: u64,
    progress: &mut dyn FnMut(f64),
) -> io::Result<Counts> {
    let trace = process.trace;
    let mut methods = Methods::default();
    for (id, _) in trace.symbols().iter() {
        methods.resolve(id, trace.symbols());
    }
    for mapping in mappings {
        methods.restore_names(mapping);
    }
    let names: Vec<Named> = (methods.rows().iter().zip(methods.labels()))
        .map(|(method, label)| named(method.clone(), label))
        .collect();
    sink.process(process, &names)?;
    let within = |time| {
        selection.from.is_none_or(|from| time >= from)
            && selection.until.is_none_or(|until| time < until)
    };
    let readings: Vec<Reading> = (trace.readings().iter())
        .filter(|r| within(r.time))
        .copied()
        .collect();
    sink.metrics(&metrics::series(&readings))?;
    let mut walk = Walk {
        wanted: names.iter().map(|n| wants(selection, n)).collect(),
        names,
        selection,
        sink,
        open: Vec::new(),
        pending: None,
        exception: None,
        next: first_id,
        last: 0,
        logical: FxHashMap::default(),
        begun: Vec::new(),
        values: Vec::new(),
        logical_values: 0,
        counts: Counts::default(),
        is_learning: false,
        failed: None,
    };
    let mut replay = Replay::new(selection.min).with_roots(&selection.roots);
    replay.next_trace(false);
    if !selection.roots.is_empty() && trace.has_logical_calls() {
        walk.is_learning = true;
        replay.learn(trace, &mut methods, &mut walk);
        walk.is_learning = false;
    }
    let all: usize = trace
        .threads()
        .iter()
        .map(|t| trace.segments(t).len())
        .sum();
    let mut done = 0;
    for thread in trace.threads() {
        let segments = trace.segments(thread);
        done += segments.len();
        let recorded = trace.thread_name(thread.number).map_or("", |n| &*n.name);
        if !wants_thread(selection, thread.number, recorded) {
            continue;
        }
        let name = match printable(recorded) {
            name if name.is_empty() => format!("thread {}", thread.number),
            name => name,
        };
        let thread = Thread {
            number: thread.number,
            name: &name,
        };
        walk.sink.thread(process, &thread)?;
        walk.last = 0;
        for (at, segment) in segments.iter().enumerate() {
            replay.segment(trace, segment, &mut methods, &mut walk);
            if let Some(failure) = walk.failed.take() {
                return Err(failure);
            }
            if at % 64 == 0 {
                progress((done - segments.len() + at) as f64 / all as f64);
            }
        }
        replay.end(trace, &mut walk);
        walk.end_thread();
        if let Some(failure) = walk.failed.take() {
            return Err(failure);
        }
    }
    walk.end_process(&replay)?;
    walk.unrecorded(process, &mut methods)?;
    Ok(walk.counts)
}

pub(super) fn named(method: Method, label: String) -> Named {
    let type_name = match method.symbol() {
        Some(symbol) => match dotnet_names::shown_type(&symbol.type_name) {
            Some(shown) => shown.into_owned(),
            None => symbol.type_name.replace('/', "."),
        },
        None => String::new(),
    };
    Named {
        label,
        type_name,
        method,
    }
}

pub(super) fn wants(selection: &Selection, named: &Named) -> bool {
    match &selection.filter {
        None => true,
        Some(p) => pattern::matches(p, &named.label) || pattern::matches(p, &named.method.name()),
    }
}

pub(super) fn wants_thread(selection: &Selection, number: u32, name: &str) -> bool {
    match &selection.thread {
        None => true,
        Some(wanted) => match wanted.parse::<u32>() {
            Ok(wanted) => number == wanted,
            Err(_) => pattern::matches(wanted, name),
        },
    }
}

/// What [`Frame::node`] says of a frame here: it is exported.
const OPENED: u32 = 1;
/// It is left out.
const LEFT_OUT: u32 = 0;

/// A call that is over. Its exception comes after it.
struct Closed {
    span: Span,
    row: MethodIx,
    time: u64,
    own: u64,
    outcome: Outcome,
    values: Vec<Value>,
}

struct Walk<'a> {
    names: Vec<Named>,
    wanted: Vec<bool>,
    selection: &'a Selection,
    sink: &'a mut dyn Sink,
    /// Exported calls that are open.
    open: Vec<Span>,
    pending: Option<Closed>,
    /// The exception on its way through this thread.
    exception: Option<Described>,
    next: u64,
    last: u64,
    logical: FxHashMap<u64, Logical>,
    /// Logical calls that the thread has begun in no exported call that has ended, and when.
    begun: Vec<(u64, u64)>,
    /// Of the call that ends next.
    values: Vec<Value>,
    /// Values that logical calls have.
    logical_values: usize,
    counts: Counts,
    /// Nothing is written yet.
    is_learning: bool,
    failed: Option<io::Error>,
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Exit => "exit",
        Outcome::Error => "error",
        Outcome::Lost => "lost",
        Outcome::Running => "running",
    }
}

impl Walk<'_> {
    fn note(&mut self, result: io::Result<()>) {
        if let Err(e) = result {
            self.failed.get_or_insert(e);
        }
    }

    /// Writes the call that ended last.
    fn flush(&mut self, with_exception: bool) {
        let Some(closed) = self.pending.take() else {
            return;
        };
        let end = End {
            time: closed.time,
            own: closed.own,
            outcome: outcome(closed.outcome),
            exception: (self.exception.as_ref().filter(|_| with_exception))
                .map(Described::as_deref),
            values: &closed.values,
        };
        self.last = self.last.max(closed.time);
        let named = &self.names[closed.span.method];
        let result = self.sink.close(&closed.span, &end, named);
        self.note(result);
    }

    /// Opens the frames of `stack` that are not yet, and fit the selection.
    fn open(&mut self, stack: &mut [Frame]) {
        let known = (stack.iter().rposition(|f| f.node.is_some())).map_or(0, |at| at + 1);
        for frame in &mut stack[known..] {
            let method = frame.method as usize;
            let depth = self.open.len() as u32;
            let fits = self.wanted[method]
                && (self.selection.roots.is_empty() || frame.root > 0)
                && self.selection.depth.is_none_or(|most| depth < most)
                && self.selection.until.is_none_or(|until| frame.start < until);
            frame.node = Some(if fits { OPENED } else { LEFT_OUT });
            if !fits {
                continue;
            }
            let span = Span {
                id: self.next,
                parent: self.open.last().map(|span| span.id),
                depth,
                start: frame.start,
                method,
                piece: frame.piece.map(|p| (p.call, p.first)),
                weight: frame.weight,
            };
            self.next += 1;
            self.counts.calls += 1;
            self.open.push(span);
            let result = self.sink.open(&span, &self.names[method]);
            self.note(result);
        }
    }

    fn logical(
        &mut self,
        method: usize,
        Weighted { call, weight }: Weighted,
        time: u64,
    ) -> Option<&mut Logical> {
        if self.logical.len() >= MAX_LOGICAL && !self.logical.contains_key(&call) {
            self.counts.logical_left_out += 1;
            return None;
        }
        let known = self.logical.entry(call).or_insert(Logical {
            call,
            parent: None,
            method,
            start: time,
            end: time,
            outcome: outcome(Outcome::Running),
            values: Vec::new(),
            weight,
        });
        known.weight = known.weight.max(weight);
        known.start = known.start.min(time);
        known.end = known.end.max(time);
        Some(known)
    }

    fn is_parent(&mut self, call: u64, span: u64) {
        if let Some(logical) = self.logical.get_mut(&call) {
            logical.parent.get_or_insert(span);
        }
    }

    fn end_thread(&mut self) {
        self.flush(false);
        self.open.clear();
        self.begun.clear();
        self.exception = None;
        let result = self.sink.end_thread(self.last);
        self.note(result);
    }

    fn unrecorded(&mut self, process: &Process, methods: &mut Methods) -> io::Result<()> {
        let Selection { min, depth, .. } = *self.selection;
        let mut left = Vec::new();
        for (since, id) in left_out(process.trace) {
            let row = methods.resolve(id, process.trace.symbols());
            self.method(row, &methods.rows()[row as usize]);
            if self.wanted[row as usize] {
                left.push((since, row as usize));
            }
        }
        self.counts.left_out = left.len() as u64;
        if !self.selection.is_of_whole_processes() || min > 0 || depth.is_some() {
            self.counts.unrecorded_left_out = counted::unrecorded(process.trace);
            return Ok(());
        }
        let trace = process.trace;
        let (counts, sums) = (trace.counts().begun, trace.aggregates().begun);
        let counted = (process.counted.iter()).map(|&(id, calls)| (id, counts, calls, None));
        let summed = (process.summed.iter()).map(|(id, sum)| (*id, sums, sum.calls, Some(sum)));
        for (id, since, calls, sum) in counted.chain(summed) {
            let row = methods.resolve(id, trace.symbols());
            self.method(row, &methods.rows()[row as usize]);
            let method = row as usize;
            if self.wanted[method] && (calls > 0 || sum.is_some()) {
                self.counts.unrecorded += 1;
                let unrecorded = Unrecorded {
                    method,
                    since,
                    is_left_out: false,
                    calls,
                    sum,
                };
                self.sink.unrecorded(&unrecorded, &self.names[method])?;
            }
        }
        for (since, method) in left {
            let unrecorded = Unrecorded {
                method,
                since,
                is_left_out: true,
                calls: 0,
                sum: None,
            };
            self.sink.unrecorded(&unrecorded, &self.names[method])?;
        }
        match self.failed.take() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    fn end_process(&mut self, replay: &Replay) -> io::Result<()> {
        let mut all: Vec<Logical> = std::mem::take(&mut self.logical).into_values().collect();
        all.sort_unstable_by_key(|l| (l.start, l.call));
        let Selection {
            from, until, min, ..
        } = *self.selection;
        for logical in &all {
            let fits = self.wanted[logical.method]
                && replay.takes(logical.call)
                && logical.end - logical.start >= min
                && from.is_none_or(|from| logical.end > from)
                && until.is_none_or(|until| logical.start < until);
            if fits {
                self.counts.logical += 1;
                self.sink.logical(logical, &self.names[logical.method])?;
            }
        }
        Ok(())
    }
}

impl Visitor for Walk<'_> {
    /// Rows of ids that no symbols map names come up while records are read.
    fn method(&mut self, row: MethodIx, method: &Method) {
        if row as usize == self.names.len() {
            let named = named(method.clone(), method.name());
            self.wanted.push(wants(self.selection, &named));
            let result = self.sink.unnamed(&named);
            self.names.push(named);
            self.note(result);
        }
    }

    fn wants_values(&self) -> bool {
        true
    }

    fn values(&mut self, values: Vec<Value>) {
        self.values = values;
    }

    fn call(&mut self, call: &Call, stack: &mut [Frame]) -> bool {
        if self.is_learning {
            return true;
        }
        self.flush(false);
        let values = std::mem::take(&mut self.values);
        let Some(frame) = stack.last().copied() else {
            return false;
        };
        let method = call.method as usize;
        let time = call.start.saturating_add(call.total);
        if let Some(piece) = call.piece {
            let which = piece.weighted(call.weight);
            self.logical(method, which, call.start);
            let size = values::size(&values);
            let room = self.logical_values + size <= values::MAX_LOGICAL;
            if let Some(logical) = self.logical(method, which, time)
                && room
            {
                logical.values.extend_from_slice(&values);
                self.logical_values += size;
            }
        }
        if frame.node.is_none() {
            let late = self.selection.from.is_none_or(|from| time > from);
            if self.wanted[method] && late {
                self.open(stack);
            }
        }
        let is_open = stack.last().and_then(|f| f.node) == Some(OPENED);
        let span = if is_open { self.open.pop() } else { None };
        let Some(span) = span else {
            return false;
        };
        while let Some((_, begun)) = self.begun.pop_if(|&mut (time, _)| time >= span.start) {
            self.is_parent(begun, span.id);
        }
        if let (Some((call, true)), Some(parent)) = (span.piece, span.parent) {
            self.is_parent(call, parent);
        }
        self.pending = Some(Closed {
            span,
            row: call.method,
            time,
            own: call.own,
            outcome: call.outcome,
            values,
        });
        true
    }

    fn begin(&mut self, method: MethodIx, call: u64, time: u64, weight: u32, stack: &[Frame]) {
        if self.is_learning {
            return;
        }
        let method = method as usize;
        let is_kept = self
            .logical(method, Weighted { call, weight }, time)
            .is_some();
        if is_kept && !stack.is_empty() && self.begun.len() < MAX_LOGICAL {
            self.begun.push((time, call));
        }
    }

    fn complete(&mut self, method: MethodIx, call: u64, time: u64, how: Outcome, weight: u32) {
        if self.is_learning {
            return;
        }
        let method = method as usize;
        if let Some(logical) = self.logical(method, Weighted { call, weight }, time) {
            logical.outcome = outcome(how);
        }
    }

    fn error(&mut self, method: MethodIx, thrown: &Thrown<'_>) {
        if self.is_learning {
            return;
        }
        if let Some(details) = thrown.details {
            self.exception = Some(details.owned());
        }
        if let Some(closed) = &self.pending
            && closed.outcome == Outcome::Error
            && closed.row == method
        {
            self.flush(true);
        }
    }

    fn unhandled(&mut self, details: Option<Described<&str>>) {
        if let Some(details) = details {
            self.exception = Some(details.owned());
        }
    }
}

/// The processes of traces: numbers, process ids that differ, and how far their origins lie apart.
pub fn processes(traces: &[Trace]) -> Vec<Process<'_>> {
    let first = traces.iter().map(|t| t.header().origin).min().unwrap_or(0);
    let mut taken = Vec::new();
    let mut counted = counted::Counted::default();
    let mut summed = counted::Summed::default();
    traces
        .iter()
        .enumerate()
        .map(|(number, trace)| {
            let mut pid = trace.header().pid;
            while taken.contains(&pid) {
                pid = pid.wrapping_add(1 << 22);
            }
            taken.push(pid);
            Process {
                trace,
                number,
                pid,
                offset: trace.header().origin - first,
                counted: counted.news(trace),
                summed: summed.news(trace),
            }
        })
        .collect()
}

/// From which moment on the process left out which methods; where it took that back and decided so again, from the first.
fn left_out(trace: &Trace) -> Vec<(u64, u32)> {
    let mut left: Vec<(u64, u32)> = Vec::new();
    let mut seen = FxHashSet::default();
    for change in trace.changes() {
        if let control::What::Decided(control::Less::Nothing, ids) = &change.what {
            let new = ids.iter().filter(|&&id| seen.insert(id));
            left.extend(new.map(|&id| (change.time, id)));
        }
    }
    left
}
