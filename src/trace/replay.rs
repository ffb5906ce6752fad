//! Replays threads: the records of each, in order, paired into calls ("Pairing" of the format).

use super::call::{Call, Described, Frame, Outcome, Piece, Thrown};
use super::estimate::Estimate;
use super::file::{Segment, SegmentPlace, Trace};
use super::format::{
    CallKind, Decoder, Escape, LOGICAL_FIRST, Record, SPAN_BEGUN, SpanContext, VALUE_OF_ENTRY,
};
use super::idle::Excludes;
use super::methods::{Method, MethodIx, Methods};
use super::roots::Roots;
use super::values::{Kept, Value};
use super::window::Part;
use crate::switches::{self, MOST_SAMPLED, Sampling};
use crate::symbols::Symbols;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;

/// Most calls open at once in a thread. The deepest stacks of real programs are far below; a
/// damaged trace could open one with every record.
const MAX_DEPTH: usize = 1 << 20;

/// The same where threads are replayed in turns: each turn costs as much as calls are open.
const MAX_DEPTH_IN_TURNS: usize = 1 << 16;

/// Most logical calls of a trace that are known to have begun below a root.
const MAX_BELOW: usize = 1 << 22;

/// Ids whose rows are found without hashing: 8 KiB, which stay in a core's first cache.
const RECENT: usize = 1 << 10;

/// In place of the row, where there is no id yet.
const NO_ROW: MethodIx = MethodIx::MAX;

/// Takes what a replay finds.
pub trait Visitor {
    /// A method comes up for the first time; its row may be new.
    fn method(&mut self, _row: MethodIx, _method: &Method) {}

    /// Whether it wants the values of calls.
    fn wants_values(&self) -> bool {
        false
    }

    /// The values of the call that ends next, if it has any.
    fn values(&mut self, _values: Vec<Value>) {}

    /// A call ends; it is the last of `stack`, the calls around it are before it. Returns whether it counts: else its own
    /// time is its caller's.
    fn call(&mut self, call: &Call, stack: &mut [Frame]) -> bool;

    /// A logical call begins, and does not run yet; `stack` are the calls of the thread that begins it. It stands for so many.
    fn begin(&mut self, method: MethodIx, call: u64, time: u64, weight: u32, stack: &[Frame]);

    /// The next call is a span, `depth` calls deep.
    fn span(&mut self, _method: MethodIx, _span: SpanContext, _depth: usize) {}

    /// The logical call of this number, which begins next, is a span.
    fn logical_span(&mut self, _method: MethodIx, _call: u64, _span: SpanContext) {}

    /// What begins in the thread from here on, `depth` calls deep, runs below this span, or below none.
    fn context(&mut self, _span: Option<SpanContext>, _depth: usize) {}

    /// A value of the entry span of the thread's context; `stack` are its open calls.
    fn entry_value(&mut self, _value: Value, _stack: &[Frame]) {}

    /// A call that the process has summed up, told by itself.
    fn slow(&mut self, _method: MethodIx, _start: u64, _took: u64, _failed: bool) {}

    /// A logical call is over, in its last piece or apart from its pieces. It stands for so many.
    fn complete(&mut self, method: MethodIx, call: u64, time: u64, outcome: Outcome, weight: u32);

    /// An exception left a method.
    fn error(&mut self, method: MethodIx, thrown: &Thrown<'_>);

    /// An unhandled exception ends the process; the calls that it left have ended.
    fn unhandled(&mut self, details: Option<Described<&str>>);
}

/// What a replay counts about its thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Enter, exit and error records, and begins and ends of logical calls.
    pub records: u64,
    /// Time of the first record.
    pub first: u64,
    /// Time of the last record.
    pub last: u64,
    /// Records that LOST escapes count.
    pub lost: u64,
    /// Exits whose enter is lost.
    pub unopened: u64,
    /// Calls whose exit is lost.
    pub unclosed: u64,
    /// Calls left out because too many were open.
    pub too_deep: u64,
    /// Segments that its process has overwritten while the trace was read.
    pub overtaken: u64,
}

/// In the number of a tree that is a logical call's: the numbers of the others lie below.
const OF_CALL: u64 = 1 << 63;

/// What a replay finds of a method that is sampled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sampled {
    /// Which of its calls are recorded, where symbols tell.
    pub how: Option<Sampling>,
    /// Its recorded calls.
    pub calls: u64,
    /// One of them stands for others.
    pub is_estimate: bool,
    /// For how many they stand, tree by tree.
    pub estimate: Estimate,
}

/// Whether an exit ends this call: the nearest of the method, or, of a logical call, its piece.
#[inline]
fn ends(frame: &Frame, method: MethodIx, logical: Option<Logical>) -> bool {
    frame.method == method
        && logical.is_none_or(|logical| frame.piece.is_some_and(|p| p.call == logical.call))
}

/// What EXCEPTION and LOGICAL escapes said of the next record.
#[derive(Default)]
struct Next<'r> {
    details: Option<Described<Cow<'r, str>>>,
    logical: Option<Logical>,
    /// The call that ends goes on as this logical one.
    stays: Option<u64>,
    /// What a SPAN escape said.
    span: Option<NextSpan>,
}

/// What a LOGICAL escape said.
#[derive(Clone, Copy)]
struct Logical {
    flags: u32,
    call: u64,
}

/// A call that begins next is this span.
struct NextSpan {
    /// How many records were before.
    behind: u64,
    method: MethodIx,
    span: SpanContext,
}

impl NextSpan {
    fn behind(behind: u64, method: MethodIx, span: SpanContext) -> NextSpan {
        NextSpan {
            behind,
            method,
            span,
        }
    }
}

impl Next<'_> {
    /// The span that the call is which begins behind so many records.
    fn span(&mut self, records: u64) -> Option<NextSpan> {
        self.span.take().filter(|next| next.behind == records)
    }
}

/// A call up to the first place where records are missing.
#[derive(Clone, Copy)]
struct Cut {
    time: u64,
    own: u64,
}

/// How far a thread has come.
#[derive(Default)]
pub struct Run {
    stack: Vec<Frame>,
    /// Open calls beyond those on the stack.
    over: u64,
    /// Records are missing behind the last one.
    silent: bool,
    /// Of the outermost calls, those that were open where records are missing: what is known of each until then.
    cuts: Vec<Cut>,
    /// The number of the segment that comes next, if none is missing.
    next_segment: u32,
    /// Calls that were open below the one that an exception left last: it is on its way as long as they are.
    way: usize,
    /// An exception ended the process here; the host may unwind what has ended already.
    unwinds: bool,
    /// Values of its calls, once there are any.
    values: Option<Box<Kept>>,
    /// What a SAMPLED escape said of the next enter record, or of the begin or end of a logical call: its method, and how many
    /// calls it stands for.
    taken: Option<(u32, u32)>,
    /// The sampled tree that is open, or was open last.
    tree: u64,
    /// Records are missing somewhere before.
    has_gap: bool,
    /// Of each open call, the time in it that does not count; empty where all does.
    idle: Vec<u64>,
    /// How many of the open calls are of methods whose time does not count.
    idling: u32,
    /// It runs below a span of another thread.
    in_context: bool,
    tally: Tally,
}

impl Run {
    /// The calls that are open, the outermost first.
    pub fn stack(&self) -> &[Frame] {
        &self.stack
    }

    /// Whether the last call of the stack has none of its method around it from its root on.
    #[inline]
    fn is_outermost_below_root(&self) -> bool {
        let Some((top, around)) = self.stack.split_last().filter(|(top, _)| top.root > 1) else {
            return false;
        };
        let around = around.get(top.root as usize - 1..).unwrap_or(&[]);
        around.iter().all(|frame| frame.method != top.method)
    }

    /// Records of the thread are missing here.
    pub fn miss(&mut self) {
        (self.silent, self.has_gap) = (true, true);
        self.taken = None;
        self.miss_values();
    }

    /// Whether there is what belongs to a call that is still to come.
    fn is_waiting(&self) -> bool {
        let values = self.values.as_ref();
        self.taken.is_some() || self.in_context || values.is_some_and(|values| values.is_waiting())
    }

    fn miss_values(&mut self) {
        if let Some(values) = &mut self.values {
            values.miss();
        }
    }

    #[inline]
    fn record(&mut self, time: u64, part: Part) {
        if self.silent {
            self.cut(time, part);
        }
        if self.tally.records == 0 {
            self.tally.first = time;
        }
        self.tally.records += 1;
        self.tally.last = time;
        self.silent = false;
    }

    /// Records are missing up to this time: the time is no call's own, and open calls may have ended meanwhile.
    #[cold]
    fn cut(&mut self, until: u64, part: Part) {
        let (from, until) = (part.clip(self.tally.last), part.clip(until));
        for at in self.cuts.len()..self.stack.len() {
            let frame = &self.stack[at];
            let end = self.stack.get(at + 1).map_or(from, |inner| inner.start);
            let whole = part.clip(end).saturating_sub(part.clip(frame.start));
            let own = whole.saturating_sub(frame.inner);
            self.cuts.push(Cut {
                time: self.tally.last,
                own,
            });
        }
        if let Some(top) = self.stack.last_mut() {
            let gap = until.saturating_sub(from.max(part.clip(top.start)));
            top.inner = top.inner.saturating_add(gap);
        }
    }
}

/// Replays threads, one after the other or in turns.
pub struct Replay {
    /// The thread at hand.
    run: Run,
    /// Its open calls of each method.
    active: Vec<u32>,
    /// Rows of the ids of the trace at hand.
    rows: FxHashMap<u32, MethodIx>,
    /// Of these, ids that came up lately and their rows, by the low bits of the id.
    recent: Box<[(u32, MethodIx); RECENT]>,
    /// Room for records of a trace that is being written.
    copy: Vec<u8>,
    min: u64,
    max_depth: usize,
    part: Part,
    roots: Roots,
    /// Of each row, whether a call of it is a root.
    is_root: Vec<bool>,
    excludes: Excludes,
    /// Of each row, whether its time does not count.
    is_excluded: Vec<bool>,
    /// Logical calls of the trace that began below a root.
    below: FxHashSet<u64>,
    /// Calls of the trace at hand may stand for others.
    samples: bool,
    /// Its sampled methods, by id.
    sampled: FxHashMap<u32, Sampled>,
    /// So many sampled trees of threads have begun.
    trees: u64,
}

impl Replay {
    /// A replay that leaves out calls shorter than `min` nanoseconds, as if they had not been
    /// woven: their time counts as their caller's own.
    pub fn new(min: u64) -> Replay {
        Replay {
            run: Run::default(),
            active: Vec::new(),
            rows: FxHashMap::default(),
            recent: Box::new([(0, NO_ROW); RECENT]),
            copy: Vec::new(),
            min,
            max_depth: MAX_DEPTH,
            part: Part::WHOLE,
            roots: Roots::default(),
            is_root: Vec::new(),
            excludes: Excludes::default(),
            is_excluded: Vec::new(),
            below: FxHashSet::default(),
            samples: false,
            sampled: FxHashMap::default(),
            trees: 0,
        }
    }

    /// Calls of these methods are roots.
    pub fn with_roots(mut self, roots: &Roots) -> Replay {
        self.set_roots(roots);
        self
    }

    /// Calls of these methods are roots from now on.
    pub fn set_roots(&mut self, roots: &Roots) {
        self.roots = roots.clone();
    }

    /// The time of calls of these methods does not count.
    pub fn without(mut self, excludes: &Excludes) -> Replay {
        self.excludes = excludes.clone();
        self
    }

    /// Only this part of the current trace is selected.
    pub fn look_at(&mut self, part: Part) {
        self.part = part;
    }

    /// Forgets the ids of the trace before. Whether threads take turns in this one: see
    /// [`Replay::turn_to`].
    pub fn next_trace(&mut self, in_turns: bool) {
        self.forget_names();
        self.below.clear();
        self.sampled.clear();
        self.samples = false;
        self.part = Part::WHOLE;
        self.max_depth = if in_turns {
            MAX_DEPTH_IN_TURNS
        } else {
            MAX_DEPTH
        };
    }

    /// Goes on with another thread; `run` is then how far the one at hand has come.
    pub fn turn_to(&mut self, run: &mut Run) {
        for frame in &self.run.stack {
            self.active[frame.method as usize] -= 1;
        }
        std::mem::swap(&mut self.run, run);
        for frame in &self.run.stack {
            self.active[frame.method as usize] += 1;
        }
    }

    /// Time of the last record of the thread at hand.
    pub fn last(&self) -> u64 {
        self.run.tally.last
    }

    /// There are new names: ids are looked up again. No thread may be at hand.
    pub fn forget_names(&mut self) {
        self.rows.clear();
        self.recent.fill((0, NO_ROW));
    }

    /// Gives the open calls of a thread that is not at hand the names that are known now.
    pub fn rename(&mut self, run: &mut Run, symbols: &Symbols, methods: &mut Methods) {
        for frame in &mut run.stack {
            frame.method = match self.rows.get(&frame.id) {
                Some(&row) => row,
                None => self.resolve(frame.id, symbols, methods),
            };
            // What a piece stands for it says itself.
            if frame.taken > 0 && frame.piece.is_none() && self.sampled.contains_key(&frame.id) {
                frame.weight = frame.taken;
            }
        }
    }

    /// The sampled methods of the trace at hand that were called, each with its id.
    pub fn sampled(&self) -> impl Iterator<Item = (u32, &Sampled)> {
        self.sampled.iter().map(|(&id, one)| (id, one))
    }

    /// Whether what is known of a thread that is not at hand has to be kept.
    pub fn keeps(&self, run: &Run) -> bool {
        !run.stack.is_empty() || run.is_waiting() || self.samples && run.has_gap
    }

    /// Records of a thread that is not at hand are missing; `runs` are the threads of which something is kept.
    pub fn misses(&self, runs: &mut FxHashMap<u32, Run>, thread: u32) {
        if self.samples {
            runs.entry(thread).or_default();
        }
        if let Some(run) = runs.get_mut(&thread) {
            run.miss();
        }
    }

    /// The thread at hand is through.
    pub fn end(&mut self, trace: &Trace, visitor: &mut impl Visitor) -> Tally {
        self.end_at(trace.end(), visitor)
    }

    /// The same; the trace ended at this time.
    pub fn end_at(&mut self, end: u64, visitor: &mut impl Visitor) -> Tally {
        // What dropped records would have ended is not known to have run on.
        let end = match self.run.silent {
            true => self.run.tally.last,
            false => end,
        };
        while !self.run.stack.is_empty() {
            self.pop::<false>(end, Outcome::Running, visitor);
        }
        (self.run.over, self.run.silent, self.run.unwinds) = (0, false, false);
        (self.run.way, self.run.next_segment) = (0, 0);
        (self.run.taken, self.run.has_gap) = (None, false);
        self.run.in_context = false;
        self.run.values = None;
        std::mem::take(&mut self.run.tally)
    }

    /// Replays the next segment of the thread at hand.
    pub fn segment(
        &mut self,
        trace: &Trace,
        segment: &Segment,
        methods: &mut Methods,
        visitor: &mut impl Visitor,
    ) {
        let mut copy = std::mem::take(&mut self.copy);
        if segment.number() != self.run.next_segment {
            self.run.miss();
        }
        self.run.next_segment = segment.number().wrapping_add(1);
        match trace.decode(segment, &mut copy) {
            Some(records) => self.records(records, trace.symbols(), methods, visitor),
            None => {
                self.run.tally.overtaken += 1;
                self.run.miss();
            }
        }
        self.copy = copy;
    }

    /// Replays records of the thread at hand.
    pub fn records(
        &mut self,
        records: Decoder<'_>,
        symbols: &Symbols,
        methods: &mut Methods,
        visitor: &mut impl Visitor,
    ) {
        self.samples |= symbols.has_sampled();
        let all = self.part == Part::WHOLE
            && self.roots.is_empty()
            && self.excludes.is_empty()
            && !self.samples
            && !visitor.wants_values();
        let mut rest = Some((records, Next::default()));
        if all && let Some((records, next)) = rest.take() {
            rest = self.records_of::<true>(records, next, symbols, methods, visitor);
        }
        if let Some((records, next)) = rest {
            self.records_of::<false>(records, next, symbols, methods, visitor);
        }
    }

    /// `ALL`: the whole trace is selected, no values are wanted, and each call has weight 1. Most reports are such, and
    /// take a quarter less time. At the first sampled call the other version takes over.
    fn records_of<'r, const ALL: bool>(
        &mut self,
        mut records: Decoder<'r>,
        mut next: Next<'r>,
        symbols: &Symbols,
        methods: &mut Methods,
        visitor: &mut impl Visitor,
    ) -> Option<(Decoder<'r>, Next<'r>)> {
        let part = if ALL { Part::WHOLE } else { self.part };
        while let Some(record) = records.next() {
            match record {
                Record::Call { kind, time, id } => {
                    self.run.record(time, part);
                    let logical = next.logical.take();
                    // Most exits are of the innermost call, whose row needs no looking up.
                    let method = match self.run.stack.last() {
                        Some(top) if kind != CallKind::Enter && top.id == id => top.method,
                        _ => self.row(id, symbols, methods, visitor),
                    };
                    if !ALL
                        && let Some(values) = &mut self.run.values
                        && kind != CallKind::Enter
                    {
                        values.exit(id);
                    }
                    match kind {
                        CallKind::Enter => self.enter::<ALL>(method, id, time, logical),
                        CallKind::Exit => {
                            self.leave::<ALL>(
                                (method, id),
                                time,
                                Outcome::Exit,
                                logical,
                                &mut next,
                                visitor,
                            );
                        }
                        CallKind::Error => {
                            self.leave::<ALL>(
                                (method, id),
                                time,
                                Outcome::Error,
                                logical,
                                &mut next,
                                visitor,
                            );
                        }
                    }
                }
                Record::Escape(escape) => {
                    self.escape(escape, &mut next, symbols, methods, visitor);
                    if ALL && self.samples {
                        return Some((records, next));
                    }
                }
            }
        }
        None
    }

    #[inline(never)]
    fn escape<'r>(
        &mut self,
        escape: Escape<'r>,
        next: &mut Next<'r>,
        symbols: &Symbols,
        methods: &mut Methods,
        visitor: &mut impl Visitor,
    ) {
        match escape {
            Escape::Exception { type_name, message } => {
                next.details = Some(Described { type_name, message });
            }
            Escape::Lost(n) => self.lost(n),
            // Behind a gap the innermost call may be another.
            Escape::Aggregated(ns) if !self.run.silent => {
                if let Some(top) = self.run.stack.last_mut().filter(|_| self.run.over == 0) {
                    top.inner = top.inner.saturating_add(ns);
                }
            }
            Escape::Slow {
                id,
                start,
                took,
                failed,
            } => {
                let method = self.row(id, symbols, methods, visitor);
                visitor.slow(method, start, took, failed);
            }
            // It belongs to no call of its method.
            Escape::Value { id, value }
                if value.flags & VALUE_OF_ENTRY != 0 && visitor.wants_values() =>
            {
                let value = Value::new(&value, symbols.values(id));
                visitor.entry_value(value, &self.run.stack);
            }
            Escape::Span { id, span } => {
                let method = self.row(id, symbols, methods, visitor);
                next.span = Some(NextSpan::behind(self.run.tally.records, method, span));
                if self.run.over == 0 && span.flags & SPAN_BEGUN == 0 {
                    visitor.span(method, span, self.run.stack.len());
                }
            }
            Escape::Context(span) => self.context(span, visitor),
            Escape::Value { id, value } if visitor.wants_values() => {
                let kept = self.run.values.get_or_insert_default();
                kept.wait(id, &value, symbols.values(id));
            }
            Escape::Sampled { id, weight } => {
                // What no library writes is taken for the nearest that one does.
                let weight = weight.clamp(1, MOST_SAMPLED.into()) as u32;
                self.samples = true;
                self.run.taken = Some((id, weight));
            }
            Escape::Logical { flags, call } => {
                next.logical = Some(Logical { flags, call });
                self.begins_span(next, call, visitor);
            }
            Escape::Stays { call } => next.stays = Some(call),
            Escape::Begin { id, call, time } => {
                self.begins_span(next, call, visitor);
                self.run.record(time, self.part);
                let method = self.row(id, symbols, methods, visitor);
                if self.run.stack.last().is_some_and(|f| f.root > 0) {
                    self.is_below(call);
                }
                let weight = self.taken(id).unwrap_or(1);
                visitor.begin(method, call, time, weight, &self.run.stack);
            }
            Escape::Complete {
                id,
                call,
                time,
                failed,
            } => {
                self.run.record(time, self.part);
                let method = self.row(id, symbols, methods, visitor);
                let weight = self.taken(id).unwrap_or(1);
                if let Some(values) = self.run.values.as_mut().map(|kept| kept.complete(id))
                    && !values.is_empty()
                {
                    visitor.values(values);
                }
                if failed {
                    visitor.complete(method, call, time, Outcome::Error, weight);
                    let details = next.details.take();
                    let details = details.as_ref().map(Described::as_deref);
                    visitor.error(method, &self.thrown_of(call, time, details));
                } else {
                    visitor.complete(method, call, time, Outcome::Exit, weight);
                }
            }
            Escape::Unhandled { time } => {
                let details = next.details.take();
                self.unhandled(time, details.as_ref().map(Described::as_deref), visitor);
            }
            _ => {}
        }
    }

    /// The logical call that begins or goes on next is a span, if a record said so.
    fn begins_span(&mut self, next: &mut Next<'_>, call: u64, visitor: &mut impl Visitor) {
        if let Some(NextSpan { method, span, .. }) = next.span(self.run.tally.records) {
            visitor.logical_span(method, call, span);
        }
    }

    /// So many records are missing here.
    fn lost(&mut self, records: u64) {
        self.run.tally.lost = self.run.tally.lost.saturating_add(records);
        if records > 0 {
            self.run.miss();
        }
    }

    /// The context that a thread goes on in: none where the span has no id.
    fn context(&mut self, span: SpanContext, visitor: &mut impl Visitor) {
        let span = Some(span).filter(|span| span.span != 0);
        // Said again within the thread's own span, it ends with that.
        let is_within = self.run.stack.last().is_some_and(|frame| frame.root > 0);
        self.run.in_context = span.is_some() && !is_within;
        if self.run.over == 0 {
            visitor.context(span, self.run.stack.len());
        }
    }

    /// What a logical call failed with.
    fn thrown_of<'d>(
        &mut self,
        call: u64,
        time: u64,
        details: Option<Described<&'d str>>,
    ) -> Thrown<'d> {
        Thrown {
            details,
            call: Some(call),
            outside: !self.part.has_end(time) || !self.takes(call),
            ..Thrown::default()
        }
    }

    #[inline(always)]
    fn enter<const ALL: bool>(
        &mut self,
        method: MethodIx,
        id: u32,
        time: u64,
        logical: Option<Logical>,
    ) {
        let fits = self.run.stack.len() < self.max_depth && self.run.over == 0;
        if !ALL && let Some(values) = &mut self.run.values {
            values.enter(id, fits.then_some(self.run.stack.len()));
        }
        if fits {
            let piece = logical.map(|Logical { flags, call }| Piece {
                call,
                first: flags & LOGICAL_FIRST != 0,
            });
            self.push::<ALL>(method, id, time, piece);
        } else {
            self.run.taken = None;
            self.run.over += 1;
            self.run.tally.too_deep += 1;
        }
    }

    /// What a SAMPLED escape right in front of this record said, if it is of the method.
    fn taken(&mut self, id: u32) -> Option<u32> {
        let (of, weight) = self.run.taken.take()?;
        (of == id).then_some(weight)
    }

    /// How many calls the one stands for that begins, and how many the sampled one around it does.
    #[inline(never)]
    fn weigh(&mut self, id: u32, piece: Option<Piece>) -> (u32, u32) {
        let around = self.run.stack.last().map_or(0, |frame| frame.taken);
        let taken = self.taken(id);
        if taken.is_some() {
            self.trees += u64::from(piece.is_none());
            self.run.tree = piece.map_or(self.trees, |piece| piece.call | OF_CALL);
            if self.rows.contains_key(&id) {
                self.sampled.entry(id).or_default();
            }
        }
        let missing = self.missing(id);
        let known = self.sampled.get_mut(&id);
        let (weight, taken) = match (taken, around) {
            (Some(weight), _) => (weight, weight),
            // Of a call that was taken each piece says so.
            (None, _) if piece.is_some() => (1, around),
            (None, 1..) if known.is_some() => (around, around),
            (None, 0) => (missing, 0),
            _ => (1, around),
        };
        if let Some(known) = known {
            if piece.is_none_or(|piece| piece.first) {
                known.calls += 1;
                known.estimate.add(self.run.tree, weight);
            }
            known.is_estimate |= weight > 1;
        }
        (weight, taken)
    }

    /// How many calls one of a method stands for whose begin may be among what is missing.
    fn missing(&self, id: u32) -> u32 {
        match self.sampled.get(&id).and_then(|known| known.how) {
            Some(Sampling::OneOf(calls)) if self.run.has_gap => calls,
            _ => 1,
        }
    }

    /// An exit or error record.
    #[inline]
    fn leave<const ALL: bool>(
        &mut self,
        (method, id): (MethodIx, u32),
        time: u64,
        outcome: Outcome,
        logical: Option<Logical>,
        next: &mut Next<'_>,
        visitor: &mut impl Visitor,
    ) {
        let is_error = outcome == Outcome::Error;
        let stays = next.stays.take();
        let mut weight = 1;
        if !ALL {
            self.run.taken = None;
            weight = match logical {
                Some(_) => self.missing(id),
                None => 1,
            };
        }
        let (mut popped, mut is_looked_at) = (false, ALL || self.roots.is_empty());
        if self.run.over > 0 {
            self.run.over -= 1;
        } else if !self.is_open(method, logical) {
            if is_error && self.run.unwinds {
                return;
            }
            self.run.tally.unopened += 1;
        } else {
            // Calls above the one that ends have lost their exits.
            while let Some(top) = self.run.stack.last()
                && !ends(top, method, logical)
            {
                self.run.tally.unclosed += 1;
                self.pop::<ALL>(time, Outcome::Lost, visitor);
            }
            is_looked_at = ALL || self.is_looked_at();
            weight = self.run.stack.last().map_or(weight, |top| top.weight);
            if let (Some(call), Some(top)) = (stays, self.run.stack.last_mut()) {
                top.piece.get_or_insert(Piece { call, first: true });
                let is_below = top.root > 0;
                if is_below {
                    self.is_below(call);
                }
            }
            self.pop::<ALL>(time, outcome, visitor);
            popped = true;
        }
        if let Some(Logical { call, .. }) = logical {
            visitor.complete(method, call, time, outcome, weight);
        }
        let open = self.run.stack.len();
        if is_error {
            let details = next.details.take();
            let thrown = Thrown {
                details: details.as_ref().map(Described::as_deref),
                again: popped && details.is_none() && open >= self.run.way,
                caller: self.run.stack.last().map(|f| f.method),
                call: logical.map(|logical| logical.call),
                outside: !is_looked_at || !self.part.has_end(time),
            };
            visitor.error(method, &thrown);
            self.run.way = open;
        } else if open < self.run.way {
            self.run.way = 0;
        }
    }

    /// Ends all calls of the thread at hand by an exception.
    fn unhandled(
        &mut self,
        time: u64,
        mut details: Option<Described<&str>>,
        visitor: &mut impl Visitor,
    ) {
        self.run.tally.last = self.run.tally.last.max(time);
        (self.run.over, self.run.silent, self.run.unwinds) = (0, false, true);
        self.run.miss_values();
        visitor.unhandled(details);
        while let Some(&frame) = self.run.stack.last() {
            let (method, weight) = (frame.method, frame.weight);
            let is_looked_at = self.is_looked_at();
            self.pop::<false>(time, Outcome::Error, visitor);
            if let Some(piece) = frame.piece {
                visitor.complete(method, piece.call, time, Outcome::Error, weight);
            }
            let caller = self.run.stack.last().map(|f| f.method);
            let thrown = Thrown {
                details: details.take(),
                caller,
                outside: !is_looked_at || !self.part.has_end(time),
                ..Thrown::default()
            };
            visitor.error(method, &thrown);
        }
    }

    /// Whether a call is open that an exit of this method ends.
    #[inline]
    fn is_open(&self, method: MethodIx, logical: Option<Logical>) -> bool {
        self.active[method as usize] > 0
            && (logical.is_none()
                || self
                    .run
                    .stack
                    .iter()
                    .rev()
                    .any(|f| ends(f, method, logical)))
    }

    /// Which root a call begins that has none around it.
    #[cold]
    fn root(&self, method: MethodIx, piece: Option<Piece>) -> u32 {
        let is_below = piece.is_some_and(|p| self.below.contains(&p.call));
        match is_below || self.run.in_context || self.is_root[method as usize] {
            true => self.run.stack.len() as u32 + 1,
            false => 0,
        }
    }

    /// Whether the last call of the stack is below a root, if there are such.
    #[inline]
    fn is_looked_at(&self) -> bool {
        self.roots.is_empty() || self.run.stack.last().is_some_and(|f| f.root > 0)
    }

    /// Whether a logical call began in or below a root, or all are selected.
    pub fn takes(&self, call: u64) -> bool {
        self.roots.is_empty() || self.below.contains(&call)
    }

    /// Reads a trace for the logical calls that begin below roots: pieces of a call may lie in threads that are replayed before
    /// that of its begin.
    pub fn learn(&mut self, trace: &Trace, methods: &mut Methods, visitor: &mut impl Visitor) {
        let most = std::mem::replace(&mut self.max_depth, MAX_DEPTH_IN_TURNS);
        let mut runs: Vec<Run> = Vec::new();
        runs.resize_with(trace.threads().len(), Run::default);
        for SegmentPlace {
            thread: number, at, ..
        } in trace.in_order()
        {
            let thread = &trace.threads()[number];
            self.turn_to(&mut runs[number]);
            self.segment(trace, &trace.segments(thread)[at], methods, visitor);
            self.turn_to(&mut runs[number]);
        }
        self.max_depth = most;
    }

    fn is_below(&mut self, call: u64) {
        if self.below.len() < MAX_BELOW {
            self.below.insert(call);
        }
    }

    /// Whether the trace at hand has a record of this id.
    pub fn saw(&self, id: u32) -> bool {
        self.rows.contains_key(&id)
    }

    #[inline]
    fn row(
        &mut self,
        id: u32,
        symbols: &Symbols,
        methods: &mut Methods,
        visitor: &mut impl Visitor,
    ) -> MethodIx {
        match self.recent[id as usize % RECENT] {
            (known, row) if known == id && row != NO_ROW => row,
            _ => self.look_up(id, symbols, methods, visitor),
        }
    }

    #[inline(never)]
    fn look_up(
        &mut self,
        id: u32,
        symbols: &Symbols,
        methods: &mut Methods,
        visitor: &mut impl Visitor,
    ) -> MethodIx {
        if let Some(&row) = self.rows.get(&id) {
            self.recent[id as usize % RECENT] = (id, row);
            return row;
        }
        let row = self.resolve(id, symbols, methods);
        visitor.method(row, &methods.rows()[row as usize]);
        row
    }

    fn resolve(&mut self, id: u32, symbols: &Symbols, methods: &mut Methods) -> MethodIx {
        let row = methods.resolve(id, symbols);
        // Ids beyond the bound on unknown ones are not remembered either.
        if !matches!(methods.rows()[row as usize], Method::Others) {
            self.rows.insert(id, row);
        }
        if self.active.len() <= row as usize {
            self.active.resize(row as usize + 1, 0);
            self.is_root.resize(row as usize + 1, false);
            self.is_excluded.resize(row as usize + 1, false);
        }
        if !self.excludes.is_empty() {
            let method = &methods.rows()[row as usize];
            self.is_excluded[row as usize] = self.excludes.takes(method);
        }
        if !self.roots.is_empty() {
            self.is_root[row as usize] = self.roots.takes(&methods.rows()[row as usize]);
        }
        if symbols.has_sampled() {
            let how = symbols.switched(id).and_then(|by| switches::sample(by));
            if how.is_some() {
                self.sampled.entry(id).or_default().how = how;
            }
        }
        row
    }

    #[inline]
    fn push<const ALL: bool>(
        &mut self,
        method: MethodIx,
        id: u32,
        start: u64,
        piece: Option<Piece>,
    ) {
        let (weight, taken) = match self.samples {
            true if !ALL => self.weigh(id, piece),
            _ => (1, 0),
        };
        self.active[method as usize] += 1;
        let root = match self.run.stack.last() {
            _ if ALL || self.roots.is_empty() => 0,
            Some(around) if around.root > 0 => around.root,
            _ => self.root(method, piece),
        };
        if !ALL && !self.excludes.is_empty() {
            self.run.idle.push(0);
            self.run.idling += u32::from(self.is_excluded[method as usize]);
        }
        if let Some(piece) = piece.filter(|p| p.first && root > 0) {
            self.is_below(piece.call);
        }
        self.run.stack.push(Frame {
            method,
            id,
            node: None,
            start,
            inner: 0,
            piece,
            root,
            weight,
            taken,
        });
    }

    #[inline]
    fn pop<const ALL: bool>(&mut self, time: u64, outcome: Outcome, visitor: &mut impl Visitor) {
        let Some(&frame) = self.run.stack.last() else {
            return;
        };
        let active = &mut self.active[frame.method as usize];
        *active -= 1;
        let part = if ALL { Part::WHOLE } else { self.part };
        let (start, mut end) = (part.clip(frame.start), time);
        let whole = part.clip(time).saturating_sub(start);
        let mut total = whole;
        let mut own = total.saturating_sub(frame.inner);
        let cut = match self.run.cuts.len() == self.run.stack.len() {
            true => self.run.cuts.pop(),
            false => None,
        };
        if let Some(cut) = cut {
            // Without a record of its end, it is known up to the gap.
            match outcome {
                Outcome::Lost => {
                    end = cut.time;
                    total = part.clip(end).saturating_sub(start);
                    own = cut.own;
                }
                Outcome::Running => own = own.min(cut.own),
                Outcome::Exit | Outcome::Error => {}
            }
        }
        if !ALL && let Some(idle) = self.run.idle.pop() {
            let (is_idle, within) = (self.is_excluded[frame.method as usize], self.run.idling > 0);
            self.run.idling -= u32::from(is_idle);
            if let Some(around) = self.run.idle.last_mut() {
                *around = around.saturating_add(if is_idle { whole } else { idle });
            }
            // What an excluded call calls does not count either.
            total = if within {
                0
            } else {
                total.saturating_sub(idle)
            };
            own = if within { 0 } else { own };
        }
        let call = Call {
            method: frame.method,
            start: frame.start,
            total,
            took: end.min(part.until).saturating_sub(frame.start),
            own,
            outermost: *active == 0 || (!ALL && self.run.is_outermost_below_root()),
            // What ends later runs at the end of the part.
            outcome: match outcome {
                Outcome::Exit | Outcome::Error | Outcome::Lost if end > part.until => {
                    Outcome::Running
                }
                outcome => outcome,
            },
            piece: frame.piece,
            weight: frame.weight,
        };
        // How long a logical call takes its pieces do not tell: they are always kept.
        let long = (call.took >= self.min && part.has(frame.start, end)) || frame.piece.is_some();
        if !ALL && let Some(kept) = &mut self.run.values {
            let ended = matches!(outcome, Outcome::Exit | Outcome::Error);
            let values = kept.leave(self.run.stack.len() - 1, ended);
            if long && !values.is_empty() {
                visitor.values(values);
            }
        }
        let counts = long && visitor.call(&call, &mut self.run.stack);
        if let [.., caller, _] = self.run.stack.as_mut_slice() {
            // Of a call that does not count, what is lost is not the caller's either.
            let others = if counts {
                whole
            } else {
                whole.saturating_sub(own)
            };
            caller.inner = caller.inner.saturating_add(others);
        }
        if let (false, Some(cut), Some(around)) = (counts, cut, self.run.cuts.last_mut()) {
            around.own = around.own.saturating_add(cut.own);
        }
        self.run.stack.pop();
    }
}
