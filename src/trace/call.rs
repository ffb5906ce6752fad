//! Calls, as a replay finds them.

use super::methods::MethodIx;

/// Which logical call a frame is a piece of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The call's number.
    pub call: u64,
    /// The first piece of the call.
    pub first: bool,
}

/// A call that is open.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
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
    /// How many calls deep the root around it lies, itself included; 0 without one.
    pub root: u32,
    /// How many calls it stands for.
    pub weight: u32,
    /// How many the sampled call stands for that has decided about it, which may be itself; 0 without one.
    pub taken: u32,
}

/// The calls of a stack from the last one's root on: none if that has no root.
#[inline]
pub fn from_root(stack: &[Frame]) -> &[Frame] {
    match stack.last().map_or(0, |f| f.root as usize) {
        0 => &[],
        root => &stack[root - 1..],
    }
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
    pub method: MethodIx,
    /// When it was entered.
    pub start: u64,
    /// Nanoseconds from enter to end, as far as they lie in the selected part of the trace.
    pub total: u64,
    /// Nanoseconds from enter to end, or to the end of that part.
    pub took: u64,
    /// Of the total, not in calls that it made.
    pub own: u64,
    /// No other call of the method is open around it.
    pub outermost: bool,
    /// How it ended.
    pub outcome: Outcome,
    /// Which logical call it is a piece of, if it is one.
    pub piece: Option<Piece>,
    /// How many calls it stands for: more than one where its method is sampled. Its times are its own.
    pub weight: u32,
}

impl Call {
    /// A number of this call, for all calls that it stands for.
    #[inline]
    pub fn scaled(&self, number: u64) -> u64 {
        number.saturating_mul(u64::from(self.weight))
    }
}

/// Recorded calls that stand for others too, which sampling has left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scaled {
    /// Those that were recorded.
    pub recorded: u64,
    /// Those that they stand for, themselves included.
    pub calls: u64,
    /// Of the recorded ones, those whose end was, too.
    pub ended: u64,
    /// Those that the others stand for.
    pub open: u64,
}

impl Scaled {
    /// Adds a logical call, if it stands for others. Its records are its pieces', however it ended.
    pub fn add_logical(&mut self, weight: u32) {
        if weight > 1 {
            self.recorded += 1;
            self.calls = self.calls.saturating_add(weight.into());
        }
    }

    /// Adds a call, if it stands for others.
    #[inline]
    pub fn add(&mut self, call: &Call) {
        if call.weight > 1 {
            let weight = u64::from(call.weight);
            self.recorded += 1;
            self.calls = self.calls.saturating_add(weight);
            match call.outcome {
                Outcome::Exit | Outcome::Error => self.ended += 1,
                Outcome::Lost | Outcome::Running => self.open = self.open.saturating_add(weight),
            }
        }
    }

    /// Whether there are any.
    pub fn is_any(&self) -> bool {
        self.recorded > 0
    }

    /// Of so many calls, these among them, those that were recorded.
    pub fn recorded_of(&self, calls: u64) -> u64 {
        calls.saturating_sub(self.calls - self.recorded)
    }

    /// The same where there are any: so many calls are an estimate from those.
    pub fn estimated_from(&self, calls: u64) -> Option<u64> {
        self.is_any().then(|| self.recorded_of(calls))
    }
}

/// An exception that leaves a method.
#[derive(Clone, Copy, Debug, Default)]
pub struct Thrown<'a> {
    /// What it is, if it is another one than the last of the thread.
    pub details: Option<Described<&'a str>>,
    /// It is that last one, but was caught in between: the program threw the object again.
    pub again: bool,
    /// The method of the thread that goes on, if a call is open.
    pub caller: Option<MethodIx>,
    /// The logical call that it ends.
    pub call: Option<u64>,
    /// It is outside the selected part of the trace.
    pub outside: bool,
}

/// What an exception says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Described<T = String> {
    pub type_name: T,
    pub message: T,
}

impl Described<&str> {
    pub fn owned(self) -> Described {
        Described {
            type_name: self.type_name.to_owned(),
            message: self.message.to_owned(),
        }
    }
}

impl<T: std::ops::Deref<Target = str>> Described<T> {
    pub fn as_deref(&self) -> Described<&str> {
        Described {
            type_name: &self.type_name,
            message: &self.message,
        }
    }
}

/// A logical call by its number, and for how many calls it stands.
#[derive(Clone, Copy)]
pub(crate) struct Weighted {
    pub(crate) call: u64,
    pub(crate) weight: u32,
}

impl Piece {
    /// The call that it is a piece of, which stands for so many.
    pub(crate) fn weighted(&self, weight: u32) -> Weighted {
        Weighted {
            call: self.call,
            weight,
        }
    }
}
