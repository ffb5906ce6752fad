//! From advice to instructions: one method's body with hooks; see [`crate::cil::rewrite`] for the shape.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::plan::Planned;
use crate::cil::il::body::Body;
use crate::cil::il::insn::op;
use crate::cil::rewrite::{Exit, Hooks, Recipe, Scratch, Snippet};
use crate::cil::weave::constructor::{self, Calls};

/// Tokens of the hooks, as `MemberRef`s; 0 for those that no advice of the plan needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tokens {
    /// `void Enter(int32)`
    pub enter: u32,
    /// `void Exit(int32)`
    pub exit: u32,
    /// `void Error(System.Exception, int32)`
    pub error: u32,
    /// `void Count(int32)`
    pub count: u32,
    /// `void Start(int32)`
    pub start: u32,
    /// `void Stop(int32)`
    pub stop: u32,
    /// `void Failed(System.Exception, int32)`
    pub failed: u32,
    /// `void Begin(ref int64, int32)`
    pub begin: u32,
    /// `void Resume(ref int64, int32)`
    pub resume: u32,
    /// `void Suspend(ref int64, int32)`
    pub suspend: u32,
    /// `void Moved(bool, ref int64, int32)`
    pub moved: u32,
    /// `void End(ref int64, int32)`
    pub end: u32,
    /// `void Fail(System.Exception, ref int64, int32)`
    pub fail: u32,
    /// `void Await(bool, ref int64, int32)`
    pub await_: u32,
    /// `void Awaited(ref int64, int32)`
    pub awaited: u32,
    /// `void Follow(System.Threading.Tasks.Task, ref int64, int32)`
    pub follow: u32,
    /// `void Switched.Begin(ref int64, int32, int32)`
    pub begin_switched: u32,
    /// `void Switched.Resume(ref int64, int32, int32)`
    pub resume_switched: u32,
    /// The class `System.Exception`.
    pub exception: u32,
}

impl Tokens {
    /// Those of a method: its pair is that which records, or that which sums up.
    fn of(&self, advice: Advice) -> Tokens {
        match advice.has(Advice::AGGREGATE) {
            true => Tokens {
                enter: self.start,
                exit: self.stop,
                error: self.failed,
                ..*self
            },
            false => *self,
        }
    }

    /// A logical call of the method `id` begins, behind what gives its number's address. One that can be switched says what
    /// the rules do.
    pub fn begin(&self, call: Snippet, id: u32, says: Option<i32>) -> Snippet {
        match says {
            Some(says) => said(call, says).hook(id, self.begin_switched),
            None => call.hook(id, self.begin),
        }
    }

    /// The same, where it runs.
    pub fn resume(&self, call: Snippet, id: u32, says: Option<i32>) -> Snippet {
        match says {
            Some(says) => said(call, says).hook(id, self.resume_switched),
            None => call.hook(id, self.resume),
        }
    }

    /// Those of ordinary methods.
    pub fn hooks(&self) -> Hooks {
        Hooks {
            enter: self.enter,
            exit: self.exit,
            error: self.error,
            exception: self.exception,
        }
    }
}

/// What the rules say, behind a call's number.
fn said(call: Snippet, says: i32) -> Snippet {
    call.op_u32(op::LDC_I4, says.cast_unsigned())
}

/// Facts of a method from outside its body.
#[derive(Clone, Copy)]
pub struct MethodInfo<'a> {
    /// The return type as in the method's signature, modifiers included.
    pub result: &'a [u8],
    /// The signature of the body's locals; empty where it has none.
    pub locals: &'a [u8],
    /// For instance constructors of reference types.
    pub constructor: Option<&'a dyn Calls>,
}

/// Reads a method's code and makes its recipe, or says why it cannot be woven.
pub fn recipe<'r>(
    body: &Body<'_>,
    shape: &MethodInfo<'r>,
    planned: &Planned,
    tokens: &Tokens,
    scratch: &mut Scratch,
) -> Result<Recipe<'r>, Reason> {
    let mut initialised = None;
    // The F# compiler calls constructors by `callvirt`. It matters where hooks look at `this`.
    let or_virtual = planned.bound.is_some();
    let walked = scratch.walk(body, |insn, _| {
        let is_call = insn.opcode == op::CALL || or_virtual && insn.opcode == op::CALLVIRT;
        if let Some(calls) = shape.constructor
            && is_call
            && calls.initialises_this(insn.token(body.code))
        {
            initialised = Some(insn.end());
        }
    });
    if walked.is_err() {
        return Err(Reason::UnreadableBody);
    }
    let start = match (shape.constructor, initialised) {
        (Some(calls), Some(behind))
            if constructor::can_start(body.code, behind, calls, scratch) =>
        {
            behind
        }
        // No call of another constructor, or one that is no place to begin at: all of it, which
        // the CLI allows, since its hooks do not look at `this`.
        _ => 0,
    };
    let tokens = tokens.of(planned.advice);
    let has = |advice| planned.advice.as_pair().has(advice);
    let hook = |advice, token| {
        if has(advice) {
            Snippet::default().hook(planned.id, token)
        } else {
            Snippet::default()
        }
    };
    Ok(Recipe {
        start,
        enter: match has(Advice::COUNT) {
            true => hook(Advice::COUNT, tokens.count),
            false => hook(Advice::ENTER, tokens.enter),
        },
        exit: Exit::Always(hook(Advice::EXIT, tokens.exit)),
        error: hook(Advice::EXCEPTION, tokens.error),
        exception: tokens.exception,
        before: &[],
        points: None,
        result: shape.result,
        locals: shape.locals,
        extra: (&[], 0),
    })
}

#[cfg(test)]
mod tests;
