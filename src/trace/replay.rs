//! Replays a thread: its records, in order, paired into calls ("Pairing" of the format).

use super::file::{Thread, Trace};
use super::format::{CallKind, Escape, LOGICAL_FIRST, Record};
use super::logical::Piece;
use super::methods::{MethodIx, Methods};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Most calls open at once in a thread. The deepest stacks of real programs are far below; a
/// damaged trace could open one with every record.
const MAX_DEPTH: usize = 1 << 20;

/// A call that is open.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The method.
    pub method: MethodIx,
    /// The id that the trace has for it.
    pub id: u32,
    /// For the call tree: its node, once it is known.
    pub node: Option<u32>,
    /// When it was entered.
    pub start: u64,
    /// Time spent in calls that it made and that count.
    pub inner: u64,
    /// Which logical call it is a piece of, if it is one.
    pub piece: Option<Piece>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// By returning.
    Exit,
    /// By an exception.
    Error,
    /// Its own record is lost: closed by the end of a call around it.
    Lost,
    /// Not at all: it was running when the trace ended.
    Running,
}

/// A call that is over, or a piece of a logical call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The method.
    pub method: MethodIx,
    /// When it was entered.
    pub start: u64,
    /// Nanoseconds from enter to end.
    pub total: u64,
    /// Of these, not in calls that it made.
    pub own: u64,
    /// No other call of the method is open around it.
    pub outermost: bool,
    /// How it ended.
    pub outcome: Outcome,
    /// Which logical call it is a piece of, if it is one.
    pub piece: Option<Piece>,
}

/// Takes what a replay finds.
pub trait Visitor {
    /// A call ends; it is the last of `stack`, the calls around it are before it.
    fn call(&mut self, call: &Call, stack: &mut [Frame]);

    /// A logical call begins, and does not run yet.
    fn begin(&mut self, method: MethodIx, call: u64, time: u64);

    /// A logical call is over, in its last piece or apart from its pieces.
    fn complete(&mut self, method: MethodIx, call: u64, time: u64, outcome: Outcome);

    /// An exception left a method; `details` are there when it is a new one. `caller` is the
    /// call that goes on, if one is open.
    fn error(&mut self, method: MethodIx, details: Option<(&str, &str)>, caller: Option<MethodIx>);
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
}

impl Tally {
    #[inline]
    fn record(&mut self, time: u64) {
        if self.records == 0 {
            self.first = time;
        }
        self.records += 1;
        self.last = time;
    }
}

/// Whether an exit ends this call: the nearest of the method, or, of a logical call, its piece.
#[inline]
fn ends(frame: &Frame, method: MethodIx, logical: Option<(u32, u64)>) -> bool {
    frame.method == method
        && logical.is_none_or(|(_, call)| frame.piece.is_some_and(|p| p.call == call))
}

fn borrowed<'a>(details: &'a Option<(Cow<'_, str>, Cow<'_, str>)>) -> Option<(&'a str, &'a str)> {
    details.as_ref().map(|(t, m)| (&**t, &**m))
}

/// Replays threads; keeps what can be used again from one to the next.
#[derive(Default)]
pub struct Replay {
    stack: Vec<Frame>,
    /// Open calls of each method.
    active: Vec<u32>,
    /// Rows of the ids of the trace at hand.
    rows: FxHashMap<u32, MethodIx>,
    min: u64,
}

impl Replay {
    /// A replay that leaves out calls shorter than `min` nanoseconds, as if they had not been
    /// woven: their time counts as their caller's own.
    pub fn new(min: u64) -> Replay {
        Replay {
            min,
            ..Replay::default()
        }
    }

    /// Forgets the ids of the trace before.
    pub fn next_trace(&mut self) {
        self.rows.clear();
    }

    /// Replays one thread.
    pub fn thread(
        &mut self,
        trace: &Trace,
        thread: &Thread,
        methods: &mut Methods,
        visitor: &mut impl Visitor,
    ) -> Tally {
        let mut tally = Tally::default();
        let mut details: Option<(Cow<'_, str>, Cow<'_, str>)> = None;
        // What a LOGICAL escape said of the next record.
        let mut logical: Option<(u32, u64)> = None;
        let mut over = 0u64;
        // Whether records are missing behind the last one.
        let mut silent = false;
        for segment in trace.segments(thread) {
            let mut records = trace.decode(segment);
            while let Some(record) = records.next() {
                let (kind, time, id) = match record {
                    Record::Call { kind, time, id } => (kind, time, id),
                    Record::Escape(Escape::Exception { type_name, message }) => {
                        details = Some((type_name, message));
                        continue;
                    }
                    Record::Escape(Escape::Lost(n)) => {
                        tally.lost = tally.lost.saturating_add(n);
                        silent |= n > 0;
                        continue;
                    }
                    Record::Escape(Escape::Logical { flags, call }) => {
                        logical = Some((flags, call));
                        continue;
                    }
                    Record::Escape(Escape::Begin { id, call, time }) => {
                        tally.record(time);
                        silent = false;
                        visitor.begin(self.row(id, trace, methods), call, time);
                        continue;
                    }
                    Record::Escape(Escape::Complete {
                        id,
                        call,
                        time,
                        failed,
                    }) => {
                        tally.record(time);
                        silent = false;
                        let method = self.row(id, trace, methods);
                        if failed {
                            visitor.complete(method, call, time, Outcome::Error);
                            visitor.error(method, borrowed(&details.take()), None);
                        } else {
                            visitor.complete(method, call, time, Outcome::Exit);
                        }
                        continue;
                    }
                    Record::Escape(_) => continue,
                };
                tally.record(time);
                silent = false;
                let logical = logical.take();
                // Most exits are of the innermost call, whose row needs no looking up.
                let method = match self.stack.last() {
                    Some(top) if kind != CallKind::Enter && top.id == id => top.method,
                    _ => self.row(id, trace, methods),
                };
                if kind == CallKind::Enter {
                    if self.stack.len() < MAX_DEPTH && over == 0 {
                        let piece = logical.map(|(flags, call)| Piece {
                            call,
                            first: flags & LOGICAL_FIRST != 0,
                        });
                        self.push(method, id, time, piece);
                    } else {
                        over += 1;
                        tally.too_deep += 1;
                    }
                    continue;
                }
                let outcome = if kind == CallKind::Exit {
                    Outcome::Exit
                } else {
                    Outcome::Error
                };
                if over > 0 {
                    over -= 1;
                } else if !self.is_open(method, logical) {
                    tally.unopened += 1;
                } else {
                    // Calls above the one that ends have lost their exits.
                    while let Some(top) = self.stack.last()
                        && !ends(top, method, logical)
                    {
                        tally.unclosed += 1;
                        self.pop(time, Outcome::Lost, visitor);
                    }
                    self.pop(time, outcome, visitor);
                }
                if let Some((_, call)) = logical {
                    visitor.complete(method, call, time, outcome);
                }
                if kind == CallKind::Error {
                    let caller = self.stack.last().map(|f| f.method);
                    visitor.error(method, borrowed(&details.take()), caller);
                }
            }
        }
        // What dropped records would have ended is not known to have run on.
        let end = if silent { tally.last } else { trace.end() };
        while !self.stack.is_empty() {
            self.pop(end, Outcome::Running, visitor);
        }
        tally
    }

    /// Whether a call is open that an exit of this method ends.
    #[inline]
    fn is_open(&self, method: MethodIx, logical: Option<(u32, u64)>) -> bool {
        self.active[method as usize] > 0
            && (logical.is_none() || self.stack.iter().rev().any(|f| ends(f, method, logical)))
    }

    #[inline]
    fn row(&mut self, id: u32, trace: &Trace, methods: &mut Methods) -> MethodIx {
        if let Some(&row) = self.rows.get(&id) {
            return row;
        }
        let row = methods.resolve(id, trace.symbols());
        // Ids beyond the bound on unknown ones are not remembered either.
        if !matches!(methods.rows()[row as usize], super::methods::Method::Others) {
            self.rows.insert(id, row);
        }
        if self.active.len() <= row as usize {
            self.active.resize(row as usize + 1, 0);
        }
        row
    }

    #[inline]
    fn push(&mut self, method: MethodIx, id: u32, start: u64, piece: Option<Piece>) {
        self.active[method as usize] += 1;
        self.stack.push(Frame {
            method,
            id,
            node: None,
            start,
            inner: 0,
            piece,
        });
    }

    #[inline]
    fn pop(&mut self, time: u64, outcome: Outcome, visitor: &mut impl Visitor) {
        let Some(&frame) = self.stack.last() else {
            return;
        };
        let active = &mut self.active[frame.method as usize];
        *active -= 1;
        let total = time.saturating_sub(frame.start);
        // How long a logical call takes its pieces do not tell: they are always kept.
        if total >= self.min || frame.piece.is_some() {
            let call = Call {
                method: frame.method,
                start: frame.start,
                total,
                own: total.saturating_sub(frame.inner),
                outermost: *active == 0,
                outcome,
                piece: frame.piece,
            };
            visitor.call(&call, &mut self.stack);
            if let [.., caller, _] = self.stack.as_mut_slice() {
                caller.inner = caller.inner.saturating_add(total);
            }
        }
        self.stack.pop();
    }
}
