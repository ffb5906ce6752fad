//! A redirected call on null fails as before: in the method that makes it, with the JDK's text that says what is null.
//!
//! ```text
//!     [arguments to variables]; dup; ifnonnull L; dup; [arguments]; invokevirtual callee; [pop]
//!     L: [arguments]; invokestatic call
//! ```
//!
//! The JVM computes that text (JEP 358) from the instruction that fails and the stack there, so the original call must
//! fail.

use crate::aspect::bind::site::{Instead, Redirect};
use crate::aspect::joinpoint::CallHow;
use crate::aspect::plan::Redirected;
use crate::error::Result;
use crate::jvm::attributes::stack_map;
use crate::jvm::class::{Class, Code, MethodInfo};
use crate::jvm::emit::{self, Kind, Snippet};
use crate::jvm::frames::FullFrame;
use crate::jvm::insn::op;
use crate::jvm::place::{Edits, Join};
use crate::jvm::pool::Additions;
use crate::jvm::simulation::Value;
use crate::jvm::types::{self, Known};

/// Whether a redirected call has an object that may be null, which the original call would fail for.
pub fn may_fail(redirect: &Redirect) -> bool {
    matches!(redirect.instead, Instead::Method { replace: None, .. })
        && matches!(redirect.callee.how, CallHow::Virtual | CallHow::Interface)
}

/// A call whose object is tested for null.
struct Site<'s> {
    at: u32,
    /// The constant of the method that was called.
    callee: u16,
    redirect: &'s Redirect,
}

/// Puts tests for null before these redirected calls; none where the types for a frame are unknown.
pub fn put<'a>(
    class: &Class<'a>,
    method: &MethodInfo,
    code: &Code<'a>,
    calls: &[(Redirected, &Redirect)],
    additions: &mut Additions,
    edits: &mut Edits,
) -> Result<()> {
    let sites: Vec<Site<'_>> = (calls.iter())
        // A reference is looked at where it is made.
        .filter(|(call, redirect)| {
            may_fail(redirect) && code.insns[call.at as usize] != op::INVOKEDYNAMIC
        })
        .map(|(call, redirect)| {
            let at = call.at as usize;
            Site {
                at: call.at,
                callee: u16::from_be_bytes([code.insns[at + 1], code.insns[at + 2]]),
                redirect,
            }
        })
        .collect();
    if sites.is_empty() {
        return Ok(());
    }
    if class.major < 50 {
        for site in &sites {
            let _ = look(site, code.max_locals, edits);
        }
        return Ok(());
    }
    let mut replaced: Vec<u32> = edits.instead.iter().map(|one| one.at).collect();
    replaced.sort_unstable();
    let made = |word: &Known<'_>| match word {
        Known::Object(Value::New(at)) => replaced.binary_search(at).is_ok(),
        _ => false,
    };
    types::walk(class, method, code, stack_map(class, code)?, |pc, known| {
        let Ok(place) = sites.binary_search_by_key(&pc, |site| site.at) else {
            return;
        };
        let site = &sites[place];
        let words = parameters(site.redirect).map(|kind| kind.words() as usize);
        let words: usize = words.sum();
        // An object that a hook makes instead is not there yet.
        let stack: Vec<Known<'_>> = (known.stack.iter().copied())
            .filter(|word| !made(word))
            .collect();
        let Some(target) = stack.len().checked_sub(words + 1) else {
            return;
        };
        if matches!(stack[target], Known::This(_)) {
            return;
        }
        let all = known.locals.len() + stack.len();
        if usize::from(additions.room()) < types::constants_needed(all) {
            return;
        }
        let (stack, arguments) = stack.split_at(target + 1);
        if arguments.contains(&Known::Nothing) {
            return;
        }
        let locals = [&known.locals[..], arguments].concat();
        let mark = additions.mark();
        let stack = types::listed(stack, true, class, additions);
        let locals = types::listed(&locals, false, class, additions);
        match (stack, locals) {
            (Some(stack), Some(mut locals)) => {
                while locals.last().is_some_and(|last| last.0 == 0) {
                    locals.pop();
                }
                if let Some(offset) = look(site, code.max_locals, edits) {
                    let frame = FullFrame {
                        pc: 0,
                        locals,
                        stack,
                    };
                    let at = site.at;
                    edits.joins.push(Join { at, offset, frame });
                }
            }
            _ => additions.rollback(mark),
        }
    })
}

fn parameters(redirect: &Redirect) -> impl DoubleEndedIterator<Item = Kind> + '_ {
    redirect.callee.parameters.iter().filter_map(Kind::of)
}

/// The code in front of one call; where its two ways meet. `base`: variables from here on are free.
fn look(site: &Site<'_>, base: u16, edits: &mut Edits) -> Option<u32> {
    let callee = &site.redirect.callee;
    let mut slot = base;
    let mut arguments = Vec::new();
    for kind in parameters(site.redirect) {
        arguments.push((kind, slot));
        slot = slot.checked_add(kind.words() as u16)?;
    }
    let mut out = Snippet::default();
    for &(kind, slot) in arguments.iter().rev() {
        out.store(kind, slot);
    }
    let load = |out: &mut Snippet| {
        arguments
            .iter()
            .for_each(|&(kind, slot)| out.load(kind, slot))
    };
    out.op(op::DUP, 1, 2);
    let jump = out.jump(op::IFNONNULL, 1);
    out.op(op::DUP, 1, 2);
    load(&mut out);
    let (taken, given) = (u32::from(slot - base) + 1, emit::words(&callee.result));
    match callee.how {
        CallHow::Interface => out.interface(site.callee, taken as u8, given),
        _ => out.indexed(op::INVOKEVIRTUAL, site.callee, taken, given),
    }
    out.pop(given);
    out.land(jump)?;
    let met = out.len();
    load(&mut out);
    for &(kind, slot) in &arguments {
        if kind == Kind::REFERENCE {
            out.forget(slot);
        }
    }
    let before = &mut edits.at.entry(site.at).before;
    let offset = before.len() + met;
    before.append(&out);
    edits.locals = edits.locals.max(slot - base);
    Some(offset)
}
