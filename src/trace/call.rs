//! Calls, as a replay finds them.

use super::methods::MethodIx;
use std::sync::Arc;

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
    /// Nanoseconds from enter to end, of these only what lies in the part of the trace that is looked at.
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
}

/// An exception that leaves a method.
#[derive(Clone, Copy, Debug, Default)]
pub struct Thrown<'a> {
    /// Its type and message, if it is another one than the last of the thread.
    pub details: Option<(&'a str, &'a str)>,
    /// It is that last one, but was caught in between: the program threw the object again.
    pub again: bool,
    /// The method of the thread that goes on, if a call is open.
    pub caller: Option<MethodIx>,
    /// The logical call that it ends.
    pub call: Option<u64>,
    /// It is not in the part of the trace that is looked at.
    pub outside: bool,
}

/// Type and message.
pub type Described = Arc<(String, String)>;
