//! Calls that are redirected: what is called instead.

use super::call::{Bound, Call, Convert, ShownCall};
use super::ty::Ty;
use crate::aspect::advice::Advice;
use crate::aspect::joinpoint::Callee;
use std::sync::Arc;

/// What is called instead: a static method that takes the target, where there is one, and the arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Redirect {
    pub callee: Callee,
    /// The class that has it as the method `call` (JVM, dex). Its name follows from all that is in it. None: the hook itself is
    /// called.
    pub class: Option<Arc<str>>,
    /// What it calls in place of the callee.
    pub replace: Option<Replacement>,
    /// The hooks around that, for the static method: its first argument is the target.
    pub bound: Option<Arc<Bound>>,
    /// What of the call goes into the trace.
    pub recorded: Option<RecordedCall>,
    /// The recorded call ends when the task or future that it gives is complete.
    pub follows: bool,
}

/// The assemblies (.NET) by whose names programs find tasks. One from elsewhere is another type.
pub const TASK_ASSEMBLIES: [&str; 5] = [
    "System.Runtime",
    "System.Threading.Tasks",
    "System.Private.CoreLib",
    "mscorlib",
    "netstandard",
];

/// A call that is recorded: the static method has the hooks of the pair, and in the trace the name of what was called.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCall {
    /// The pair, and whether a trace begins here.
    pub advice: Advice,
    /// The type that the call names, the method and its descriptor, as symbols spell them.
    pub name: [Box<str>; 3],
}

/// A hook in the place of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Replacement {
    pub call: Call,
    /// How its result becomes the callee's.
    pub convert: Convert,
    /// The type of its result.
    pub result: Ty,
}

impl Redirect {
    /// When hooks run in the static method; none, if it has none.
    pub fn advice(&self) -> Advice {
        let own = match self.bound {
            Some(_) => Advice::OWN,
            None => Advice::default(),
        };
        let pair = (self.recorded.as_ref()).map_or(own, |recorded| recorded.advice.with(own));
        pair.without(Advice::ROOT)
    }

    /// All that symbols say of a recorded call: what is said by the same text has the same id.
    pub fn identity(&self) -> Option<String> {
        let recorded = self.recorded.as_ref()?;
        let values = self.bound.as_ref().map(|bound| &bound.values);
        Some(format!(
            "{recorded:?} {:?}{}",
            values.map_or(&[][..], |v| &**v),
            match self.follows {
                true => " follows",
                false => "",
            }
        ))
    }

    /// All that is called, adapters apart.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        let bound = self.bound.iter();
        let bound = bound.flat_map(|bound| bound.all());
        bound.chain(self.replace.iter().map(|replace| &replace.call))
    }

    /// For people and programs.
    pub fn shown(&self) -> Vec<ShownCall> {
        let has_target = self.callee.has_target();
        let bound = self.bound.as_ref().map_or(vec![], |bound| bound.shown());
        let mut all: Vec<ShownCall> = (bound.into_iter())
            .map(|call| ShownCall {
                when: match call.when {
                    "enter" => "before",
                    "exit" => "after",
                    when => when,
                },
                ..call
            })
            .collect();
        all.extend((self.replace.iter()).map(|replace| replace.call.shown("replace")));
        for operand in all.iter_mut().flat_map(|call| &mut call.operands) {
            *operand = at_call(operand, has_target);
        }
        all
    }
}

/// An argument of the static method as one of the call: the first is its target.
fn at_call(operand: &str, has_target: bool) -> String {
    let number = |rest: &str| -> Option<(u32, usize)> {
        let end = rest.find(')')?;
        Some((rest[..end].parse().ok()?, end + 1))
    };
    match operand
        .strip_prefix("arg(")
        .and_then(|rest| Some((number(rest)?, rest)))
    {
        Some(((0, end), rest)) if has_target => format!("target{}", &rest[end..]),
        Some(((n, end), rest)) if has_target => format!("arg({}){}", n - 1, &rest[end..]),
        _ => operand.to_owned(),
    }
}
