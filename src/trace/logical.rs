//! Logical calls: methods that run in pieces, on any threads ("Logical calls" of the format).
//!
//! The threads of a trace with logical calls are replayed in turns, segment by segment in the order
//! of time. So the pieces of a call come nearly in order, and a call is forgotten soon after its
//! end: only those that are open are kept, some 80 bytes each.

use super::call::{Call, Described, Outcome, Piece, Weighted};
use super::methods::MethodIx;
use super::values::{self, Value};
use super::window::Part;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Most calls that are kept at once. The calls of real programs are far fewer; a damaged trace
/// could begin one with every record.
const MAX_CALLS: usize = if cfg!(test) { 1 << 12 } else { 1 << 21 };

/// A logical call that is over, or as much of it as the trace has.
#[derive(Clone, Debug)]
pub struct LogicalCall {
    pub method: MethodIx,
    /// The thread of its first record.
    pub thread: u32,
    /// When it began, or the time of its first record.
    pub begin: u64,
    /// Nanoseconds from begin to end, as far as they lie in the selected part of the trace.
    pub total: u64,
    /// Nanoseconds from begin to end, or to the end of that part.
    pub took: u64,
    /// Of these, on threads.
    pub active: u64,
    /// Of these, not in calls that it made.
    pub own: u64,
    /// Times that it was resumed, the first included.
    pub pieces: u64,
    /// How many calls it stands for. Its times are its own.
    pub weight: u32,
    /// It was seen to begin: how long it took is known if it has ended.
    pub begun: bool,
    /// How it ended; `None` if it did not, and was not running when the trace ended.
    pub outcome: Option<Outcome>,
    /// What it ended with, if that was asked for.
    pub exception: Option<Arc<Described>>,
    /// Those of all its pieces, if they were asked for.
    pub values: Vec<Value>,
}

/// On which thread a record of a logical call is.
#[derive(Clone, Copy)]
pub struct On {
    pub thread: u32,
    /// The thread is selected.
    pub wanted: bool,
}

/// Who began a logical call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub method: MethodIx,
    /// The logical call that it is itself a piece of: it is what awaits the other's end.
    pub call: Option<u64>,
}

/// What is known of a call.
struct State {
    method: MethodIx,
    /// It was seen to begin, so that `begin` is right.
    begun: bool,
    caller: Option<Caller>,
    /// A record of it is on a selected thread, below a root if there are roots.
    wanted: bool,
    /// How many calls it stands for: what any record of it says, since a begin may be missing.
    weight: u32,
    outcome: Option<Outcome>,
    begin: u64,
    /// The end, or the last that is known of it.
    last: u64,
    active: u64,
    own: u64,
    pieces: u64,
    thread: u32,
    exception: Option<Arc<Described>>,
    values: Vec<Value>,
}

/// The logical calls of a trace that are under way.
#[derive(Default)]
pub struct LogicalCalls {
    calls: FxHashMap<u64, State>,
    /// Those that have ended, with when: pieces of them may still come.
    ended: BinaryHeap<Reverse<(u64, u64)>>,
    left_out: u64,
    /// About how much memory values take.
    values: usize,
}

impl LogicalCalls {
    /// A call begins, and does not run yet.
    pub fn begin(
        &mut self,
        method: MethodIx,
        call: u64,
        time: u64,
        caller: Option<Caller>,
        weight: u32,
        on: On,
    ) {
        if let Some(state) = self.state(method, Weighted { call, weight }, time, on) {
            state.begun = true;
            state.caller = caller;
        }
    }

    /// Who began a call, if that was seen.
    pub fn caller(&self, call: u64) -> Option<Caller> {
        self.calls.get(&call)?.caller
    }

    /// A call is over: its last piece ended, or it ended between two pieces.
    pub fn complete(
        &mut self,
        method: MethodIx,
        call: u64,
        time: u64,
        outcome: Outcome,
        weight: u32,
        on: On,
    ) {
        let Some(state) = self.state(method, Weighted { call, weight }, time, on) else {
            return;
        };
        if matches!(state.outcome, None | Some(Outcome::Running)) {
            state.outcome = Some(outcome);
            self.ended.push(Reverse((time, call)));
        }
    }

    /// A piece of a call is over.
    pub fn piece(&mut self, piece: Piece, call: &Call, caller: Option<Caller>, on: On, part: Part) {
        let inside = part.has(call.start, call.start.saturating_add(call.took));
        let which = piece.weighted(call.weight);
        let Some(state) = self.state(call.method, which, call.start, on) else {
            return;
        };
        if piece.first && !state.begun {
            state.caller = caller;
        }
        state.begun |= piece.first;
        state.active = state.active.saturating_add(call.total);
        state.own = state.own.saturating_add(call.own);
        state.pieces += u64::from(inside);
        state.last = state.last.max(call.start.saturating_add(call.took));
        if call.outcome == Outcome::Running {
            state.outcome.get_or_insert(Outcome::Running);
        }
    }

    /// Values that belong to a call.
    pub fn values(&mut self, call: u64, values: Vec<Value>) {
        if let Some(state) = self.calls.get_mut(&call)
            && self.values + values::size(&values) <= values::MAX_LOGICAL
        {
            self.values += values::size(&values);
            state.values.extend(values);
        }
    }

    /// What a call has ended with.
    pub fn exception(&mut self, call: u64, exception: Arc<Described>) {
        if let Some(state) = self.calls.get_mut(&call) {
            state.exception.get_or_insert(exception);
        }
    }

    fn state(
        &mut self,
        method: MethodIx,
        Weighted { call, weight }: Weighted,
        time: u64,
        on: On,
    ) -> Option<&mut State> {
        if self.calls.len() >= MAX_CALLS && !self.calls.contains_key(&call) {
            self.left_out += 1;
            return None;
        }
        let state = self.calls.entry(call).or_insert(State {
            method,
            begun: false,
            caller: None,
            wanted: false,
            weight,
            outcome: None,
            begin: time,
            last: time,
            active: 0,
            own: 0,
            pieces: 0,
            thread: on.thread,
            exception: None,
            values: Vec::new(),
        });
        state.wanted |= on.wanted;
        state.weight = state.weight.max(weight);
        state.begin = state.begin.min(time);
        state.last = state.last.max(time);
        Some(state)
    }

    /// Nothing from before this time will come: hands out the calls that ended by then, if of at least
    /// `min` nanoseconds, and forgets them.
    pub fn settle(&mut self, time: u64, min: u64, part: Part, over: &mut dyn FnMut(LogicalCall)) {
        while let Some(&Reverse((end, call))) = self.ended.peek()
            && end < time
        {
            self.ended.pop();
            if let Some(state) = self.calls.remove(&call) {
                self.values -= values::size(&state.values);
                hand_out(state, min, part, over);
            }
        }
    }

    /// Nothing will come any more: does the same with all calls. Returns how many records were
    /// left out because too many calls were open.
    pub fn finish(&mut self, min: u64, part: Part, over: &mut dyn FnMut(LogicalCall)) -> u64 {
        self.ended.clear();
        self.values = 0;
        for state in std::mem::take(&mut self.calls).into_values() {
            hand_out(state, min, part, over);
        }
        std::mem::take(&mut self.left_out)
    }
}

fn hand_out(state: State, min: u64, part: Part, over: &mut dyn FnMut(LogicalCall)) {
    let total = part.clip(state.last) - part.clip(state.begin);
    let took = state.last.min(part.until).saturating_sub(state.begin);
    if !state.wanted || took < min || !part.has(state.begin, state.last) {
        return;
    }
    over(LogicalCall {
        method: state.method,
        thread: state.thread,
        begin: state.begin,
        total,
        took,
        // Pieces do not overlap in a sound trace.
        active: state.active.min(total),
        own: state.own,
        pieces: state.pieces,
        weight: state.weight,
        begun: state.begun,
        // What ends later runs, or waits, at the end of the part.
        outcome: state.outcome.filter(|_| state.last <= part.until),
        exception: state.exception,
        values: state.values,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::summary::Stats;

    const ON: On = On {
        thread: 1,
        wanted: true,
    };

    fn piece(call: u64, first: bool, start: u64, total: u64) -> (Piece, Call) {
        let call = Piece { call, first };
        let over = Call {
            method: 0,
            start,
            total,
            took: total,
            own: total,
            outermost: true,
            outcome: Outcome::Exit,
            piece: Some(call),
            weight: 1,
        };
        (call, over)
    }

    #[test]
    fn a_call_is_forgotten_when_nothing_of_it_can_come() {
        let (mut calls, mut stats) = (LogicalCalls::default(), Stats::default());
        for call in 1..=10 {
            let (p, over) = piece(call, true, call * 100, 10);
            calls.piece(p, &over, None, ON, Part::WHOLE);
            calls.complete(0, call, call * 100 + 50, Outcome::Exit, 1, ON);
        }
        // A piece that comes late, from another thread.
        let (p, over) = piece(10, false, 1_020, 20);
        calls.piece(p, &over, None, ON, Part::WHOLE);
        calls.settle(950, 0, Part::WHOLE, &mut |call| stats.add_logical(&call));
        assert_eq!(calls.calls.len(), 2, "the last two ended at 950 and 1050");
        assert_eq!((stats.calls, stats.total), (8, 8 * 50));
        calls.settle(u64::MAX, 0, Part::WHOLE, &mut |call| {
            stats.add_logical(&call);
        });
        assert_eq!((calls.calls.len(), calls.ended.len()), (0, 0));
        let l = stats.logical;
        assert_eq!((l.calls, l.pieces, l.active, l.open), (10, 11, 120, 0));
        let left_out = calls.finish(0, Part::WHOLE, &mut |call| stats.add_logical(&call));
        assert_eq!(left_out, 0);
    }

    #[test]
    fn calls_that_are_open_at_once_are_bounded() {
        let (mut calls, mut stats) = (LogicalCalls::default(), Stats::default());
        for call in 0..MAX_CALLS as u64 + 10 {
            calls.begin(0, call, call, None, 1, ON);
        }
        calls.complete(0, 5, 100, Outcome::Exit, 1, ON);
        assert_eq!(calls.calls.len(), MAX_CALLS);
        let left_out = calls.finish(0, Part::WHOLE, &mut |call| stats.add_logical(&call));
        assert_eq!(left_out, 10);
        assert_eq!(stats.logical.open, MAX_CALLS as u64 - 1);
    }
}
