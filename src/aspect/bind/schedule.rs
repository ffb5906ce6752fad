//! When the bound calls of a method run and what surrounds them: decided once, lowered by each backend.
//!
//! A [`Schedule`] has the steps of three places: where the method starts, where it returns, and the handler of what it throws.
//! Steps name variables ([`Var`], and the [`super::call::Source`]s of operands). A backend gives these a place, a local or a
//! register, and turns each step into instructions.
//!
//! Between some steps a value is *at hand*: on a stack, or in the register where a call leaves its result. Where a method
//! returns that is its result, and in the handler the exception.

use super::call::{Bound, Call, Dest, Source};
use super::ty::Ty;

/// When the own hooks of a method run.
#[derive(Debug, PartialEq)]
pub struct Schedule<'b> {
    /// In front of the pair's enter hook.
    pub start: Steps<'b>,
    /// At a return: in front of the pair's exit hook, and behind it. The method returns behind the last step.
    pub exit: [Steps<'b>; 2],
    /// The same in the handler. The exception goes on behind the last step, unless it has ended.
    pub exception: [Steps<'b>; 2],
}

pub type Steps<'b> = Vec<Step<'b>>;

/// One of the things that a backend lowers.
#[derive(Debug, PartialEq)]
pub enum Step<'b> {
    /// `this` and the arguments are kept: those that hooks at the end read, and that the body may overwrite.
    Save,
    /// The time at the start is now.
    Time,
    /// A state becomes null or zero.
    ZeroState(u16, &'b Ty),
    /// Null or zero of this type is at hand, as the method's result.
    ZeroResult(&'b Ty),
    /// What is at hand goes to its variable.
    Hold(Var),
    /// The variable's value is at hand again.
    Resume(Var),
    /// The operands are loaded, and the hook or its adapter is called. What it gives is at hand.
    Call(&'b Call),
    /// What the call gave is not wanted.
    Drop(&'b Call),
    /// What the call gave becomes what is asked for, and the value of a variable.
    Store(&'b Call, Var),
    /// What the call gave becomes the method's result, and stays at hand.
    Give(&'b Call),
    /// The call decides: these steps are the method's last, or the next ones follow.
    If(Test, &'b Call, Steps<'b>),
    /// The method returns its result.
    Return,
}

/// A variable that steps set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Var {
    Arg(u16),
    State(u16),
    /// What the method returns.
    Result,
    /// What leaves the method.
    Exception,
}

/// What decides that a method returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// The call gave something: that is the result, in its variable.
    NotNull,
    /// The call gave true.
    True,
    /// The call ended the exception: what it gave is the result, at hand.
    Ended(Otherwise),
}

/// What becomes of an exception that a hook did not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Otherwise {
    /// There is no such way: without an adapter, what the hook throws leaves the method.
    Never,
    /// It leaves the method: no hook comes behind this one.
    Leaves,
    /// It is at hand for the next step.
    GoesOn,
}

impl<'b> Schedule<'b> {
    /// The schedule of a method's own hooks; `None` where a call stands at a place where it means nothing.
    pub fn of(bound: &'b Bound) -> Option<Schedule<'b>> {
        let (exits, exceptions) = (bound.exits(), bound.exceptions());
        Some(Schedule {
            start: start(bound)?,
            exit: [exit(exits.front)?, exit(exits.behind)?],
            exception: [
                exception(exceptions.front, bound)?,
                exception(exceptions.behind, bound)?,
            ],
        })
    }
}

fn start(bound: &Bound) -> Option<Steps<'_>> {
    let mut steps = vec![Step::Save];
    if bound.keep.duration {
        steps.push(Step::Time);
    }
    if bound.may_skip() {
        // Exit hooks may run before the hooks that give their states.
        let states = (0..).zip(&bound.keep.states);
        steps.extend(states.map(|(n, ty)| Step::ZeroState(n, ty)));
    }
    for call in &bound.enter {
        steps.push(Step::Call(call));
        steps.push(match call.dest {
            Dest::Drop => Step::Drop(call),
            Dest::State(n) => Step::Store(call, Var::State(n)),
            Dest::Arg(n) => Step::Store(call, Var::Arg(n)),
            Dest::Returned => Step::Give(call),
            Dest::ReturnUnlessNull { exits } => {
                let steps = returns(bound, exits, Some(Step::Resume(Var::Result)))?;
                Step::If(Test::NotNull, call, steps)
            }
            Dest::SkipWhen { exits } => {
                let (_, result) = call.given.as_ref()?;
                let steps = returns(bound, exits, Some(Step::ZeroResult(result)))?;
                Step::If(Test::True, call, steps)
            }
            Dest::Result | Dest::Throw | Dest::Ends { .. } => return None,
        });
    }
    Some(steps)
}

/// A return with so many of the last exit hooks, behind a step that has the result at hand.
fn returns<'b>(bound: &'b Bound, exits: u16, first: Option<Step<'b>>) -> Option<Steps<'b>> {
    let mut steps: Steps<'_> = first.into_iter().collect();
    steps.append(&mut exit(bound.last_exits(exits))?);
    steps.push(Step::Return);
    Some(steps)
}

fn exit(calls: &[Call]) -> Option<Steps<'_>> {
    let is_held =
        |call: &Call| call.dest == Dest::Result || call.reads(|source| *source == Source::Result);
    let held = calls.iter().any(is_held);
    let mut steps = Vec::new();
    if held {
        steps.push(Step::Hold(Var::Result));
    }
    for call in calls {
        steps.push(Step::Call(call));
        steps.push(match call.dest {
            Dest::Drop => Step::Drop(call),
            Dest::State(n) => Step::Store(call, Var::State(n)),
            Dest::Result => Step::Store(call, Var::Result),
            _ => return None,
        });
    }
    if held {
        steps.push(Step::Resume(Var::Result));
    }
    Some(steps)
}

fn exception<'b>(calls: &'b [Call], bound: &'b Bound) -> Option<Steps<'b>> {
    let mut steps = Vec::new();
    if calls.is_empty() {
        return Some(steps);
    }
    steps.push(Step::Hold(Var::Exception));
    for (n, call) in calls.iter().enumerate() {
        steps.push(Step::Call(call));
        let Dest::Ends { exits } = call.dest else {
            steps.push(match call.dest {
                Dest::Drop => Step::Drop(call),
                Dest::State(n) => Step::Store(call, Var::State(n)),
                Dest::Throw => Step::Store(call, Var::Exception),
                _ => return None,
            });
            continue;
        };
        let otherwise = match call.adapter {
            None => Otherwise::Never,
            Some(_) if n + 1 == calls.len() => Otherwise::Leaves,
            Some(_) => Otherwise::GoesOn,
        };
        let then = returns(bound, exits, None)?;
        steps.push(Step::If(Test::Ended(otherwise), call, then));
        if otherwise != Otherwise::GoesOn {
            return Some(steps);
        }
        steps.push(Step::Hold(Var::Exception));
    }
    steps.push(Step::Resume(Var::Exception));
    Some(steps)
}

#[cfg(test)]
mod tests;
