//! Logical calls: methods that run in pieces, on any threads ("Logical calls" of the format).
//!
//! Threads are replayed one after the other, so the pieces of a call come in any order: what is
//! known of each call is kept until the trace is through, some 60 bytes a call.

use super::methods::MethodIx;
use super::replay::{Call, Outcome};
use super::summary::Stats;
use rustc_hash::FxHashMap;

/// Which logical call a frame is a piece of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The call's number.
    pub call: u64,
    /// The first piece of the call.
    pub first: bool,
}

/// A logical call that is over, or as far as the trace tells of it.
#[derive(Clone, Copy, Debug)]
pub struct LogicalCall {
    /// Nanoseconds from begin to end.
    pub total: u64,
    /// Of these, on threads.
    pub active: u64,
    /// Of these, not in calls that it made.
    pub own: u64,
    /// Times that it was resumed, the first included.
    pub pieces: u64,
    /// It was seen to begin: how long it took is known if it has ended.
    pub begun: bool,
    /// How it ended; `None` if it did not, and was not running when the trace ended.
    pub outcome: Option<Outcome>,
}

/// What is known of a call.
struct State {
    method: MethodIx,
    /// It was seen to begin, so that `begin` is right.
    begun: bool,
    /// A record of it is on a thread that is looked at.
    wanted: bool,
    outcome: Option<Outcome>,
    begin: u64,
    /// The end, or the last that is known of it.
    last: u64,
    active: u64,
    own: u64,
    pieces: u64,
}

/// All logical calls of a trace.
#[derive(Default)]
pub struct LogicalCalls {
    calls: FxHashMap<u64, State>,
}

impl LogicalCalls {
    /// A call begins, and does not run yet.
    pub fn begin(&mut self, method: MethodIx, call: u64, time: u64, wanted: bool) {
        self.state(method, call, time, wanted).begun = true;
    }

    /// A call is over: its last piece ended, or it ended between two pieces.
    pub fn complete(
        &mut self,
        method: MethodIx,
        call: u64,
        time: u64,
        outcome: Outcome,
        wanted: bool,
    ) {
        let state = self.state(method, call, time, wanted);
        if matches!(state.outcome, None | Some(Outcome::Running)) {
            state.outcome = Some(outcome);
        }
    }

    /// A piece of a call is over.
    pub fn piece(&mut self, piece: Piece, call: &Call, wanted: bool) {
        let state = self.state(call.method, piece.call, call.start, wanted);
        state.begun |= piece.first;
        state.active = state.active.saturating_add(call.total);
        state.own = state.own.saturating_add(call.own);
        state.pieces += 1;
        state.last = state.last.max(call.start.saturating_add(call.total));
        if call.outcome == Outcome::Running {
            state.outcome.get_or_insert(Outcome::Running);
        }
    }

    fn state(&mut self, method: MethodIx, call: u64, time: u64, wanted: bool) -> &mut State {
        let state = self.calls.entry(call).or_insert(State {
            method,
            begun: false,
            wanted: false,
            outcome: None,
            begin: time,
            last: time,
            active: 0,
            own: 0,
            pieces: 0,
        });
        state.wanted |= wanted;
        state.begin = state.begin.min(time);
        state.last = state.last.max(time);
        state
    }

    /// Adds the calls of at least `min` nanoseconds to their methods' numbers, and forgets all.
    pub fn finish(&mut self, min: u64, stats: &mut Vec<Stats>) {
        for state in std::mem::take(&mut self.calls).into_values() {
            let total = state.last - state.begin;
            if !state.wanted || total < min {
                continue;
            }
            let row = state.method as usize;
            if stats.len() <= row {
                stats.resize_with(row + 1, Stats::default);
            }
            stats[row].add_logical(&LogicalCall {
                total,
                // Pieces do not overlap in a sound trace.
                active: state.active.min(total),
                own: state.own,
                pieces: state.pieces,
                begun: state.begun,
                outcome: state.outcome,
            });
        }
    }
}
