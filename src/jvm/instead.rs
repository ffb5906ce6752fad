//! The classes of methods that are called instead of others. Such a method calls the original one, or a hook, with hooks
//! around it:
//!
//! ```text
//!     [hooks]; target; arguments; invokevirtual callee; [hooks]; xreturn
//! ```
//!
//! It is first made without its hooks, and then woven like any other.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::{Attempt, settle};
use crate::aspect::bind::made::{self as instead, Made, Step};
use crate::aspect::bind::site::Redirect;
use crate::aspect::bind::ty::Ty;
use crate::aspect::joinpoint::CallHow;
use crate::aspect::plan::{Plan, Planned};
use crate::error::{Error, Kind as ErrorKind, Result};
use crate::jvm::class::Class;
use crate::jvm::emit::{self, Snippet};
use crate::jvm::lower;
use crate::jvm::made::{self, code_of};
use crate::jvm::pool::Additions;
use crate::jvm::write::{Scratch, weave};

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
    Ok(with_code(&stub, &out, max_locals, &additions))
}

/// The class with other code in its one method.
fn with_code(class: &Class<'_>, out: &Snippet, max_locals: u16, additions: &Additions) -> Vec<u8> {
    let attribute = class.methods[0].code.clone().unwrap_or_default();
    let body = code_of(out, max_locals, &[], &[]);
    let mut out = class.bytes[..8].to_vec();
    out.extend_from_slice(&additions.count().to_be_bytes());
    out.extend_from_slice(&class.bytes[10..class.pool.end()]);
    out.extend_from_slice(additions.bytes());
    // Up to the attribute's name.
    out.extend_from_slice(&class.bytes[class.pool.end()..attribute.start + 2]);
    out.extend_from_slice(&(body.len() as u32).to_be_bytes());
    out.extend_from_slice(&body);
    out.extend_from_slice(&class.bytes[attribute.end..]);
    out
}
