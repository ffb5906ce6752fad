//! Redirected calls: each is replaced by a call of another method. This makes the calls and the classes of these
//! methods.
//!
//! A call is replaced in place: `invokestatic` takes the same words from the stack, and the extra bytes of an
//! `invokeinterface` become `nop`. So nothing in the method moves. The method that is called instead calls the original
//! one, or a hook, with hooks around it:
//!
//! ```text
//!     [hooks]; target; arguments; invokevirtual callee; [hooks]; xreturn
//! ```
//!
//! The method is first made without its hooks, and then woven like any other.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::{Attempt, settle};
use crate::aspect::bind::made::{self as instead, Made, Step};
use crate::aspect::bind::site::{Goal, Placed, Redirect, Where};
use crate::aspect::bind::ty::Ty;
use crate::aspect::joinpoint::CallHow;
use crate::aspect::plan::{Plan, Planned, Redirected};
use crate::aspect::point::PointKind;
use crate::bytes::modified_utf8;
use crate::error::{Error, Kind as ErrorKind, Result};
use crate::jvm::class::Class;
use crate::jvm::emit::{self, Snippet};
use crate::jvm::foundation;
use crate::jvm::insn::op;
use crate::jvm::lower;
use crate::jvm::made::{self, code_of};
use crate::jvm::pool::{Additions, tag};
use crate::jvm::write::{NEWEST_MAJOR, Scratch, weave};
use crate::jvm::{nulls, place, points, references, scan};
use rustc_hash::FxHashMap;

/// Most constants that a redirected call adds: those of a method, its class's two, and those that make a function of it.
const MAX_ADDITIONS: u16 = 8;

/// A class with redirected calls.
pub struct WithRedirects {
    pub bytes: Vec<u8>,
    /// The calls that stay as they are, and why.
    pub left: Vec<(Redirected, Reason)>,
}

/// Redirects the planned calls of a class, and puts calls at its points; no bytes where none can be.
pub fn redirect(class: &Class<'_>, plan: &Plan) -> Result<WithRedirects> {
    let reason = match () {
        () if class.major > NEWEST_MAJOR => Some(Reason::NewerVersion),
        () if foundation::is_foundation(class.name().as_bytes()) => Some(Reason::Foundation),
        () => None,
    };
    if let Some(reason) = reason {
        return Ok(WithRedirects {
            bytes: Vec::new(),
            left: plan.calls.iter().map(|&call| (call, reason)).collect(),
        });
    }
    let mut whole: FxHashMap<u32, Reason> = FxHashMap::default();
    // A method that cannot get what it should at its points gets nothing there. Each time there are fewer, so this ends.
    loop {
        let mut out = WithRedirects {
            bytes: Vec::new(),
            left: Vec::new(),
        };
        let kept = kept(class, plan, &whole, &mut out.left)?;
        if kept.is_empty() {
            return Ok(out);
        }
        let bytes = in_place(class, plan, kept, &mut out.left)?;
        let (bytes, failed) = match changes_code(plan, &bytes.1) {
            true => around_points(class, &bytes.0, plan, &bytes.1)?,
            false => (bytes.0, vec![]),
        };
        if failed.is_empty() {
            out.bytes = bytes;
            return Ok(out);
        }
        whole.extend(failed);
    }
}

fn placed<'p>(plan: &'p Plan, call: &Redirected) -> Option<&'p Placed> {
    plan.redirects[call.redirect as usize].placed()
}

/// Whether some of these put something around a point.
fn kept_points(plan: &Plan, calls: &[Redirected]) -> bool {
    calls.iter().any(|call| placed(plan, call).is_some())
}

/// Whether code goes in front of some of these or behind them.
fn changes_code(plan: &Plan, calls: &[Redirected]) -> bool {
    let fails = |call: &Redirected| nulls::may_fail(&plan.redirects[call.redirect as usize]);
    kept_points(plan, calls) || calls.iter().any(fails)
}

/// The calls that can be put where they are planned; the others are noted.
fn kept(
    class: &Class<'_>,
    plan: &Plan,
    whole: &FxHashMap<u32, Reason>,
    left: &mut Vec<(Redirected, Reason)>,
) -> Result<Vec<Redirected>> {
    let mut kept = Vec::new();
    let copied = scan::Copied::of(class);
    for calls in plan.calls.chunk_by(|a, b| a.index == b.index) {
        let method = &class.methods[calls[0].index as usize];
        let Some(code) = class.code(method)? else {
            continue;
        };
        let stays = copied.refuses(class, method);
        if let Some(reason @ Reason::Inlined) = stays {
            left.extend(calls.iter().map(|call| (*call, reason)));
            continue;
        }
        if !kept_points(plan, calls) {
            kept.extend_from_slice(calls);
            continue;
        }
        let at = place::Method::new(class, method, code)?;
        for call in calls {
            let reason = match (placed(plan, call), whole.get(&call.index)) {
                (None, _) => None,
                (Some(_), Some(reason)) => Some(*reason),
                (Some(placed), None) => match stays {
                    Some(reason) => Some(reason),
                    None => at.refuses(*call, placed)?,
                },
            };
            match reason {
                Some(reason) => left.push((*call, reason)),
                None => kept.push(*call),
            }
        }
    }
    Ok(kept)
}

/// The class with what takes a call's place or a point's, and the calls for which there was room.
fn in_place(
    class: &Class<'_>,
    plan: &Plan,
    calls: Vec<Redirected>,
    left: &mut Vec<(Redirected, Reason)>,
) -> Result<(Vec<u8>, Vec<Redirected>)> {
    let mut additions = Additions::default();
    additions.reset(&class.pool);
    let mut rest = class.bytes[class.pool.end()..].to_vec();
    let mut kept = Vec::with_capacity(calls.len());
    let mut references = references::Added::default();
    // The new objects of the method at hand.
    let mut made: Option<(u32, Vec<points::New>)> = None;
    for call in calls {
        let method = &class.methods[call.index as usize];
        let Some(code) = class.code(method)? else {
            continue;
        };
        if additions.room() < MAX_ADDITIONS {
            left.push((call, Reason::PoolFull));
            continue;
        }
        let redirect = &plan.redirects[call.redirect as usize];
        let at = code.offset + call.at as usize - class.pool.end();
        if rest[at] == op::INVOKEDYNAMIC && redirect.placed().is_none() {
            let called = called(class, redirect, &mut additions);
            let dynamic = u16::from_be_bytes([rest[at + 1], rest[at + 2]]);
            match references.put(class, dynamic, called, &mut additions)? {
                Some(dynamic) => {
                    rest[at + 1..at + 3].copy_from_slice(&dynamic.to_be_bytes());
                    kept.push(call);
                }
                None => left.push((call, Reason::PoolFull)),
            }
            continue;
        }
        kept.push(call);
        match placed(plan, &call) {
            Some(placed) if placed.when != Where::Replace => continue,
            Some(placed) if placed.point.kind == PointKind::New => {
                if made.as_ref().is_none_or(|(index, _)| *index != call.index) {
                    made = Some((call.index, points::new_objects(class, &code)?));
                }
                let made = made.as_ref().map_or(&[][..], |(_, made)| made);
                let Ok(place) = made.binary_search_by_key(&call.at, |made| made.called) else {
                    continue;
                };
                // `new` and `dup`
                let at = code.offset + made[place].made as usize - class.pool.end();
                rest[at..at + 4].fill(op::NOP);
            }
            _ => {}
        }
        let called = called(class, redirect, &mut additions);
        let at = code.offset + call.at as usize - class.pool.end();
        let len = match rest[at] {
            op::INVOKEINTERFACE => 5,
            _ => 3,
        };
        rest[at] = op::INVOKESTATIC;
        rest[at + 1..at + 3].copy_from_slice(&called.to_be_bytes());
        rest[at + 3..at + len].fill(op::NOP);
    }
    references.finish(class, &mut rest);
    let mut bytes = Vec::new();
    if !kept.is_empty() {
        put_class(class, &additions, &rest, &mut bytes);
    }
    Ok((bytes, kept))
}

/// The class file with these additions to its pool, and this from its access flags on.
fn put_class(class: &Class<'_>, additions: &Additions, rest: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&class.bytes[..8]);
    out.extend_from_slice(&additions.count().to_be_bytes());
    out.extend_from_slice(&class.bytes[10..class.pool.end()]);
    out.extend_from_slice(additions.bytes());
    out.extend_from_slice(rest);
}

/// Methods that cannot have what they should at their points, and why.
type Failed = Vec<(u32, Reason)>;

/// The class with what lies in front of points and behind them, and the methods that cannot have it. `original` has the calls as
/// they were.
fn around_points(
    original: &Class<'_>,
    bytes: &[u8],
    plan: &Plan,
    calls: &[Redirected],
) -> Result<(Vec<u8>, Failed)> {
    let class = Class::parse(bytes)?;
    let class = &class;
    let mut additions = Additions::default();
    additions.reset(&class.pool);
    let mut scratch = lower::Scratch::default();
    let (mut tail, mut failed) = (Vec::new(), Vec::new());
    let mut copied = class.pool.end();
    let copied_elsewhere = scan::Copied::of(original);
    for calls in calls.chunk_by(|a, b| a.index == b.index) {
        let index = calls[0].index;
        let method = &class.methods[index as usize];
        let (Some(code), Some(range)) = (class.code(method)?, &method.code) else {
            continue;
        };
        let all: Vec<(Redirected, &Redirect)> = (calls.iter())
            .map(|call| (*call, &*plan.redirects[call.redirect as usize]))
            .collect();
        let calls: Vec<(Redirected, &Redirect)> = (all.iter())
            .filter(|(_, redirect)| redirect.placed().is_some())
            .copied()
            .collect();
        let most = place::constants_needed(&calls) + usize::from(lower::MAX_ADDITIONS);
        if usize::from(additions.room()) < most {
            if !calls.is_empty() {
                failed.push((index, Reason::PoolFull));
            }
            continue;
        }
        let at = place::Method::new(class, method, code)?;
        // Where there is no room for looks for null, a call of null fails in another place than before.
        for looks in [copied_elsewhere.refuses(original, method).is_none(), false] {
            let (mark, len) = (additions.mark(), tail.len());
            let mut insertions = at.insertions(&calls, &mut additions, |redirect, additions| {
                place::called(class, redirect, additions)
            })?;
            if looks {
                let was = original.code(&original.methods[index as usize])?;
                let was = was.map_or(&[][..], |was| was.insns);
                nulls::put(
                    class,
                    method,
                    (&code, was),
                    &all,
                    &mut additions,
                    &mut insertions,
                )?;
            }
            if insertions.at.is_empty() {
                break;
            }
            let planned = Planned::bare(0, index);
            let mut constants = lower::Constants::default();
            if !insertions.joins.is_empty() {
                constants.stack_map_table = additions.shared_utf8(b"StackMapTable");
            }
            let wanted = lower::Wanted {
                planned: &planned,
                bound: None,
                constants,
                points: Some(&insertions),
            };
            tail.extend_from_slice(&class.bytes[copied..range.start]);
            let (own, out) = (&mut additions, &mut tail);
            let lowered = lower::lower(class, method, &wanted, own, &mut scratch, out);
            match settle(lowered).map_err(|e| e.in_method(class.method_label(method)))? {
                Ok(_) => {
                    copied = range.end;
                    break;
                }
                Err(reason) => {
                    tail.truncate(len);
                    additions.rollback(mark);
                    if !looks && !calls.is_empty() {
                        failed.push((index, reason));
                    }
                }
            }
        }
    }
    tail.extend_from_slice(&class.bytes[copied..]);
    let mut out = Vec::new();
    put_class(class, &additions, &tail, &mut out);
    Ok((out, failed))
}

/// The constant of the method that is called instead.
fn called(class: &Class<'_>, redirect: &Redirect, additions: &mut Additions) -> u16 {
    let (owner, name, descriptor) = match redirect.goal() {
        Goal::Hook(replace) => {
            let hook = &replace.call.hook;
            (
                emit::class_name(&hook.owner),
                &*hook.name,
                emit::descriptor(&hook.parameters, &hook.result),
            )
        }
        Goal::Class(class) => (
            modified_utf8(class),
            "call",
            emit::descriptor(&redirect.callee.taken(), &redirect.callee.result),
        ),
    };
    let owner = additions.class(&class.pool, &owner);
    additions.shared_method(tag::METHODREF, owner, &modified_utf8(name), &descriptor)
}

/// The class that a redirected call needs, where the hook itself is not called; `id` is its id in the trace, if it is recorded.
pub fn redirect_class(redirect: &Redirect, id: u32) -> Result<Vec<u8>> {
    let name = redirect.class().map_or("", |class| &**class);
    let failed = |reason: Reason| {
        let what = format!("{name} cannot be made: {reason}");
        Error::new(ErrorKind::Unsupported, what)
    };
    let plain = settle(plain(name, redirect))?.map_err(failed)?;
    let advice = redirect.advice();
    if advice == Advice::default() {
        return Ok(plain);
    }
    let mut plan = Plan::new(vec![Planned {
        ty: 0,
        index: 0,
        id,
        advice,
        bound: redirect.bound().map(|_| 0),
    }]);
    plan.bound.extend(redirect.bound().cloned());
    let woven = weave(&Class::parse(&plain)?, &plan, &mut Scratch::default())?;
    match (woven.bytes, woven.ty.left.first()) {
        (Some(bytes), _) => Ok(bytes),
        (None, left) => Err(failed(left.map_or(Reason::Unsupported, |left| left.reason))),
    }
}

/// The class without hooks.
fn plain(name: &str, redirect: &Redirect) -> Attempt<Vec<u8>> {
    let callee = &redirect.callee;
    let Some(replace) = redirect.replace() else {
        return match (&redirect.placed(), callee.how) {
            (None, CallHow::Exact) => Err(Reason::CallOfSuper.into()),
            _ => Ok(made::redirected(name, &instead::redirected(redirect))),
        };
    };
    // Operands are loaded as in a woven method: one of the same parameters stands for it.
    let stub = Made {
        takes: callee.taken(),
        gives: &callee.result,
        steps: vec![Step::Zero(&callee.result), Step::Return],
    };
    let stub = made::redirected(name, &stub);
    let stub = Class::parse(&stub)?;
    let mut additions = Additions::default();
    additions.reset(&stub.pool);
    let mut out = Snippet::default();
    let max_locals = lower::put_replacement(&stub, replace, &mut additions, &mut out)?;
    if callee.result == Ty::Void {
        out.pop(emit::words(&replace.result));
    }
    out.xreturn(&callee.result);
    Ok(with_code(&stub, (&out, max_locals), &additions))
}

/// The class with other code in its one method.
fn with_code(class: &Class<'_>, code: (&Snippet, u16), additions: &Additions) -> Vec<u8> {
    let attribute = class.methods[0].code.clone().unwrap_or_default();
    let mut out = class.bytes[..8].to_vec();
    out.extend_from_slice(&additions.count().to_be_bytes());
    out.extend_from_slice(&class.bytes[10..class.pool.end()]);
    out.extend_from_slice(additions.bytes());
    // Up to the attribute's name.
    out.extend_from_slice(&class.bytes[class.pool.end()..attribute.start + 2]);
    let body = code_of(code, &[], &[]);
    out.extend_from_slice(&(body.len() as u32).to_be_bytes());
    out.extend_from_slice(&body);
    out.extend_from_slice(&class.bytes[attribute.end..]);
    out
}
