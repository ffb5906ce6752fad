//! The calls that a method makes, and other calls in their places.
//!
//! A call is redirected where it stands: `invokestatic` takes the same words from the stack, and what an `invokeinterface` is
//! longer becomes `nop`. So nothing in the method moves.

use crate::aspect::advice::Reason;
use crate::aspect::bind::site::{Callee, Redirect};
use crate::aspect::bind::ty::Ty;
use crate::aspect::joinpoint::{CallDetails, CallHow, CallSite, EachCall, EachName};
use crate::aspect::plan::{Plan, Redirected};
use crate::bytes::{modified_utf8, mutf8};
use crate::error::Result;
use crate::jvm::class::{Class, MethodInfo};
use crate::jvm::emit;
use crate::jvm::foundation;
use crate::jvm::insn::{self, op};
use crate::jvm::pool::{Additions, tag};
use crate::jvm::signature;
use crate::jvm::write::NEWEST_MAJOR;

/// Most constants that a redirected call adds: those of a method, and its class's two.
const MAX_ADDITIONS: u16 = 6;

/// Longest descriptor of a method in the place of another (JVMS 4.4.7).
const MAX_DESCRIPTOR: usize = 65_535;

/// The method that a call names.
struct Named<'s> {
    owner: &'s str,
    owner_is_interface: bool,
    name: &'s str,
    descriptor: &'s str,
    how: CallHow,
}

impl CallDetails for Named<'_> {
    fn parameters(&self, each: EachName<'_>) {
        signature::parameters(self.descriptor, each);
    }

    fn callee(&self) -> Option<Callee> {
        let mut rest = self.descriptor.strip_prefix('(')?;
        let mut parameters = Vec::new();
        while !rest.starts_with(')') {
            let (ty, behind) = Ty::of_descriptor(rest)?;
            if ty == Ty::Void {
                return None;
            }
            parameters.push(ty);
            rest = behind;
        }
        let (result, "") = Ty::of_descriptor(&rest[1..])? else {
            return None;
        };
        // The target comes in front of the arguments.
        let longest = modified_utf8(self.owner).len() + modified_utf8(self.descriptor).len() + 2;
        (longest <= MAX_DESCRIPTOR && !self.owner.starts_with('[')).then(|| Callee {
            owner: Ty::class(self.owner),
            owner_is_interface: self.owner_is_interface,
            name: self.name.into(),
            how: self.how,
            parameters: parameters.into(),
            result,
            reference: 0,
        })
    }
}

/// Shows the calls of a method, in the code's order.
pub(super) fn each_call(class: &Class<'_>, method: &MethodInfo, each: EachCall<'_>) -> Result<()> {
    let Some(code) = class.code(method)? else {
        return Ok(());
    };
    let mut pc = 0;
    while (pc as usize) < code.insns.len() {
        let insn = insn::at(code.insns, pc).map_err(|e| e.offset_by(code.offset))?;
        let how = match insn.opcode {
            op::INVOKEVIRTUAL => Some(Ok(CallHow::Virtual)),
            op::INVOKEINTERFACE => Some(Ok(CallHow::Interface)),
            op::INVOKESTATIC => Some(Ok(CallHow::Static)),
            op::INVOKESPECIAL => Some(Err(Reason::CallOfSuper)),
            _ => None,
        };
        if let Some(how) = how {
            let at = pc as usize;
            let index = u16::from_be_bytes([code.insns[at + 1], code.insns[at + 2]]);
            let (owner, name, descriptor) = class.pool.member(index)?;
            // Constructors are no methods.
            if !name.starts_with(b"<") {
                let owner = mutf8(class.pool.class_name(owner)?);
                let (name, descriptor) = (mutf8(name), mutf8(descriptor));
                each(&CallSite {
                    at: pc,
                    ty: &owner,
                    method: &name,
                    descriptor: &descriptor,
                    how,
                    details: &Named {
                        owner: &owner,
                        owner_is_interface: class.pool.tag(index) == Some(tag::INTERFACE_METHODREF),
                        name: &name,
                        descriptor: &descriptor,
                        how: how.unwrap_or(CallHow::Exact),
                    },
                });
            }
        }
        pc += insn.len;
    }
    Ok(())
}

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
