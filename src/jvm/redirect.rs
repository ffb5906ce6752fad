//! Classes whose one method is called in the place of another: it calls that, or a hook, with hooks around.
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
use crate::aspect::plan::{Plan, Planned};
use crate::bytes::modified_utf8;
use crate::error::{Error, Kind as ErrorKind, Result};
use crate::jvm::adapter::{class_file, put_attribute};
use crate::jvm::class::Class;
use crate::jvm::emit::{self, Kind, Snippet};
use crate::jvm::insn::op;
use crate::jvm::lower;
use crate::jvm::pool::{Additions, tag};
use crate::jvm::write::{Scratch, weave};

/// The class that a redirected call needs, if it needs one: its name and its bytes.
pub fn redirect_class(redirect: &Redirect) -> Result<Option<(&str, Vec<u8>)>> {
    let Some(name) = redirect.class.as_deref() else {
        return Ok(None);
    };
    let failed = |reason: Reason| {
        let what = format!("{name} cannot be made: {reason}");
        Error::new(ErrorKind::Unsupported, what)
    };
    let plain = settle(plain(name, redirect))?.map_err(failed)?;
    let Some(bound) = &redirect.bound else {
        return Ok(Some((name, plain)));
    };
    let mut plan = Plan::new(vec![Planned {
        ty: 0,
        index: 0,
        id: 0,
        advice: Advice::OWN,
        bound: Some(0),
    }]);
    plan.bound.push(bound.clone());
    let woven = weave(&Class::parse(&plain)?, &plan, &mut Scratch::default())?;
    match (woven.bytes, woven.ty.left.first()) {
        (Some(bytes), _) => Ok(Some((name, bytes))),
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
