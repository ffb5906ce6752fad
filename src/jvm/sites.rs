//! The calls that a method makes.

use crate::aspect::advice::Reason;
use crate::aspect::bind::ty::Ty;
use crate::aspect::callees::{CallRules, Callees};
use crate::aspect::joinpoint::Callee;
use crate::aspect::joinpoint::{CallDetails, CallHow, CallSite, EachCall, EachName};
use crate::aspect::pointcut::is_generated;
use crate::bytes::{modified_utf8, mutf8};
use crate::error::Result;
use crate::jvm::class::{Class, MethodInfo};
use crate::jvm::insn::{self, Insn, op};
use crate::jvm::pool::{MemberRef, tag};
use crate::jvm::references;
use crate::jvm::signature;

/// Longest descriptor of a method instead of another (JVMS 4.4.7).
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

/// Asks rules about each method that a class names, by the constants.
pub(super) fn called(class: &Class<'_>, rules: &dyn CallRules) -> Callees {
    let pool = &class.pool;
    let may_mean = |index: u16| -> Result<bool> {
        let MemberRef {
            owner,
            name,
            descriptor,
        } = pool.member(index)?;
        // Constructors are no methods.
        let name_is_meant = !name.starts_with(b"<") && rules.may_be_named(&mutf8(name));
        Ok(name_is_meant && {
            let owner = mutf8(pool.class_name(owner)?);
            rules.may_mean(&owner, &mutf8(name), &mutf8(descriptor))
        })
    };
    Callees::ask(usize::from(pool.count()), |index| {
        let index = index as u16;
        let is_method = matches!(
            pool.tag(index),
            Some(tag::METHODREF | tag::INTERFACE_METHODREF)
        );
        is_method && may_mean(index).unwrap_or_default()
    })
}

/// Shows the calls of a method that are of these, in the code's order.
pub(super) fn each_call(
    class: &Class<'_>,
    called: &Callees,
    method: &MethodInfo,
    each: EachCall<'_>,
) -> Result<()> {
    let Some(code) = class.code(method)? else {
        return Ok(());
    };
    let (mut pc, mut looked) = (0, 0);
    while (pc as usize) < code.insns.len() {
        let insn = insn::at(code.insns, pc).map_err(|e| e.offset_by(code.offset))?;
        if let Some(end) = end_of_look(class, code.insns, insn) {
            looked = end;
        }
        if pc < looked {
            pc += insn.len;
            continue;
        }
        let how = match insn.opcode {
            op::INVOKEVIRTUAL => Some(Ok(CallHow::Virtual)),
            op::INVOKEINTERFACE => Some(Ok(CallHow::Interface)),
            op::INVOKESTATIC => Some(Ok(CallHow::Static)),
            op::INVOKESPECIAL => Some(Err(Reason::CallOfSuper)),
            _ => None,
        };
        let at = pc as usize;
        let constant = || u16::from_be_bytes([code.insns[at + 1], code.insns[at + 2]]);
        let call = match (how, insn.opcode) {
            (Some(how), _) => Some((how, constant())),
            (None, op::INVOKEDYNAMIC) => {
                let reference = references::reference(class, constant())?;
                reference.map(|reference| (Ok(reference.how), reference.member))
            }
            _ => None,
        };
        if let Some((how, index)) = call.filter(|(_, index)| called.has(usize::from(*index))) {
            let MemberRef {
                owner,
                name,
                descriptor,
            } = class.pool.member(index)?;
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
        pc += insn.len;
    }
    Ok(())
}

/// Where a look for null ends that weaving put in front of a redirected call: the call in it is redirected already.
fn end_of_look(class: &Class<'_>, insns: &[u8], insn: Insn) -> Option<u32> {
    let pc = insn.pc as usize;
    let is_look = insn.opcode == op::IFNONNULL
        && insns.get(pc + 3) == Some(&op::DUP)
        && pc
            .checked_sub(1)
            .is_some_and(|above| insns[above] == op::DUP);
    if !is_look {
        return None;
    }
    let end = insn::branch_target(insns, insn).ok()?;
    if end <= insn.pc {
        return None;
    }
    let mut pc = end;
    loop {
        let insn = insn::at(insns, pc).ok()?;
        match insn.opcode {
            // Loads and stores of variables, and the null that some are given.
            op::ACONST_NULL | 21..=45 | 54..=78 | op::WIDE => pc += insn.len,
            op::INVOKESTATIC => break,
            _ => return None,
        }
    }
    let at = pc as usize;
    let index = u16::from_be_bytes([insns[at + 1], insns[at + 2]]);
    let MemberRef { owner, .. } = class.pool.member(index).ok()?;
    let owner = class.pool.class_name(owner).ok()?;
    is_generated(&mutf8(owner)).then_some(end)
}
