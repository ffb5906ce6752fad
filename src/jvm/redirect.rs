//! Calls of other methods in the places of calls, and the classes that these methods are in.
//!
//! A call is redirected where it stands: `invokestatic` takes the same words from the stack, and what an `invokeinterface` is
//! longer becomes `nop`. So nothing in the method moves. The method that is called instead calls the other, or a hook, with hooks
//! around:
//!
//! ```text
//!     [hooks]; target; arguments; invokevirtual callee; [hooks]; xreturn
//! ```
//!
//! The method without its hooks is made first, and woven like any other then.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::{Attempt, settle};
use crate::aspect::bind::site::Redirect;
use crate::aspect::bind::ty::Ty;
use crate::aspect::joinpoint::CallHow;
use crate::aspect::plan::{Plan, Planned, Redirected};
use crate::bytes::modified_utf8;
use crate::error::{Error, Kind as ErrorKind, Result};
use crate::jvm::adapter::{class_file, put_attribute};
use crate::jvm::class::Class;
use crate::jvm::emit::{self, Kind, Snippet};
use crate::jvm::foundation;
use crate::jvm::insn::op;
use crate::jvm::lower;
use crate::jvm::pool::{Additions, tag};
use crate::jvm::write::{NEWEST_MAJOR, Scratch, weave};

/// Most constants that a redirected call adds: those of a method, and its class's two.
const MAX_ADDITIONS: u16 = 6;

/// A class with redirected calls.
pub struct WithRedirects {
    pub bytes: Vec<u8>,
    /// The calls that stay as they are, and why.
    pub left: Vec<(Redirected, Reason)>,
}

/// Redirects the planned calls of a class; `None` where none can be.
pub fn redirect(class: &Class<'_>, plan: &Plan) -> Result<WithRedirects> {
    let mut out = WithRedirects {
        bytes: Vec::new(),
        left: Vec::new(),
    };
    let reason = match () {
        () if class.major > NEWEST_MAJOR => Some(Reason::NewerVersion),
        () if foundation::is_foundation(class.name().as_bytes()) => Some(Reason::Foundation),
        () => None,
    };
    if let Some(reason) = reason {
        out.left = plan.calls.iter().map(|&call| (call, reason)).collect();
        return Ok(out);
    }
    let mut additions = Additions::default();
    additions.reset(&class.pool);
    let mut rest = class.bytes[class.pool.end()..].to_vec();
    for &call in &plan.calls {
        let method = &class.methods[call.index as usize];
        let Some(code) = class.code(method)? else {
            continue;
        };
        if additions.room() < MAX_ADDITIONS {
            out.left.push((call, Reason::PoolFull));
            continue;
        }
        let redirect = &plan.redirects[call.redirect as usize];
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
    if out.left.len() < plan.calls.len() {
        let pool = &class.bytes[10..class.pool.end()];
        out.bytes.extend_from_slice(&class.bytes[..8]);
        out.bytes
            .extend_from_slice(&additions.count().to_be_bytes());
        out.bytes.extend_from_slice(pool);
        out.bytes.extend_from_slice(additions.bytes());
        out.bytes.extend_from_slice(&rest);
    }
    Ok(out)
}

/// The constant of the method that is called instead.
fn called(class: &Class<'_>, redirect: &Redirect, additions: &mut Additions) -> u16 {
    let (owner, name, descriptor) = match (&redirect.class, &redirect.replace) {
        (None, Some(replace)) => {
            let hook = &replace.call.hook;
            (
                emit::class_name(&hook.owner),
                &*hook.name,
                emit::descriptor(&hook.parameters, &hook.result),
            )
        }
        (class, _) => (
            modified_utf8(class.as_deref().unwrap_or_default()),
            "call",
            emit::descriptor(&redirect.callee.taken(), &redirect.callee.result),
        ),
    };
    let owner = additions.class(&class.pool, &owner);
    additions.shared_method(tag::METHODREF, owner, &modified_utf8(name), &descriptor)
}

/// The class that a redirected call needs, where the hook itself is not called; `id` is its id in the trace, if it is recorded.
pub fn redirect_class(redirect: &Redirect, id: u32) -> Result<Vec<u8>> {
    let name = redirect.class.as_deref().unwrap_or_default();
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
        bound: redirect.bound.as_ref().map(|_| 0),
    }]);
    plan.bound.extend(redirect.bound.clone());
    let woven = weave(&Class::parse(&plain)?, &plan, &mut Scratch::default())?;
    match (woven.bytes, woven.ty.left.first()) {
        (Some(bytes), _) => Ok(bytes),
        (None, left) => Err(failed(left.map_or(Reason::Unsupported, |left| left.reason))),
    }
}

/// The class without hooks.
fn plain(name: &str, redirect: &Redirect) -> Attempt<Vec<u8>> {
    let callee = &redirect.callee;
    let taken = callee.taken();
    let words: u32 = taken.iter().map(emit::words).sum();
    let mut additions = Additions::fresh();
    let mut out = Snippet::default();
    if let Some(replace) = &redirect.replace {
        // Operands are loaded as in a woven method: one of the same parameters stands for it.
        out.zero(&callee.result);
        out.xreturn(&callee.result);
        let stub = class(name, redirect, (&out, words as u16), additions);
        let stub = Class::parse(&stub)?;
        let mut additions = Additions::default();
        additions.reset(&stub.pool);
        out.clear();
        let max_locals = lower::put_replacement(&stub, replace, &mut additions, &mut out)?;
        if callee.result == Ty::Void {
            out.pop(emit::words(&replace.result));
        }
        out.xreturn(&callee.result);
        return Ok(with_code(&stub, (&out, max_locals), &additions));
    }
    let mut slot = 0;
    for kind in taken.iter().filter_map(Kind::of) {
        out.load(kind, slot);
        slot += kind.words() as u16;
    }
    let tag = match callee.owner_is_interface {
        true => tag::INTERFACE_METHODREF,
        false => tag::METHODREF,
    };
    let owner = additions.shared_utf8(&emit::class_name(&callee.owner));
    let owner = additions.shared(tag::CLASS, &owner.to_be_bytes());
    let descriptor = emit::descriptor(&callee.parameters, &callee.result);
    let called = additions.shared_method(tag, owner, &modified_utf8(&callee.name), &descriptor);
    let given = emit::words(&callee.result);
    match callee.how {
        CallHow::Static => out.call(called, words, given),
        CallHow::Virtual => out.indexed(op::INVOKEVIRTUAL, called, words, given),
        CallHow::Interface => out.interface(called, words as u8, given),
        CallHow::Exact => return Err(Reason::CallOfSuper.into()),
    }
    out.xreturn(&callee.result);
    Ok(class(name, redirect, (&out, words as u16), additions))
}

/// A class with the method, of this code and so many local variables.
fn class(
    name: &str,
    redirect: &Redirect,
    (out, max_locals): (&Snippet, u16),
    mut additions: Additions,
) -> Vec<u8> {
    let mut of_class = |name: &[u8]| {
        let name = additions.shared_utf8(name);
        additions.shared(tag::CLASS, &name.to_be_bytes())
    };
    let classes = [
        of_class(&modified_utf8(name)),
        of_class(b"java/lang/Object"),
    ];
    let descriptor = emit::descriptor(&redirect.callee.taken(), &redirect.callee.result);
    let method = [b"call", &*descriptor].map(|text| additions.shared_utf8(text));
    let mut attribute = Vec::new();
    let code = additions.shared_utf8(b"Code");
    put_attribute(&mut attribute, code, &code_of(out, max_locals));
    class_file(classes, method, &attribute, &additions)
}

/// What a Code attribute without handlers and attributes holds.
fn code_of(out: &Snippet, max_locals: u16) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend_from_slice(&(out.deepest() as u16).to_be_bytes());
    body.extend_from_slice(&max_locals.to_be_bytes());
    body.extend_from_slice(&out.len().to_be_bytes());
    body.extend_from_slice(out.bytes());
    body.extend_from_slice(&[0; 4]);
    body
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
    let body = code_of(code.0, code.1);
    out.extend_from_slice(&(body.len() as u32).to_be_bytes());
    out.extend_from_slice(&body);
    out.extend_from_slice(&class.bytes[attribute.end..]);
    out
}
