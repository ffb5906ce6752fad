//! The calls that a method makes.

use crate::aspect::advice::Reason;
use crate::aspect::bind::ty::Ty;
use crate::aspect::callees::{CallRules, Callees};
use crate::aspect::joinpoint::Callee;
use crate::aspect::joinpoint::{CallDetails, CallHow, CallSite, EachCall, EachName};
use crate::bytes::{mutf8, u16_at};
use crate::dex::format::code_item::Code;
use crate::dex::format::file::{File, MethodId, ProtoId};
use crate::dex::format::insn;
use crate::dex::format::opcodes::op;
use crate::error::Result;

/// What invokes a super method; `invoke-super` and its range.
const INVOKE_SUPER: [u8; 2] = [0x6f, 0x75];

/// The method that a call names.
struct Named<'n, 'f, 'a> {
    file: &'f File<'a>,
    owner: &'n str,
    name: &'n str,
    proto: u32,
    how: CallHow,
    show: &'n dyn Fn(&str, EachName<'_>) -> bool,
}

impl Named<'_, '_, '_> {
    fn ty(&self, index: u32) -> Option<Ty> {
        let descriptor = mutf8(self.file.descriptor(index).ok()?);
        let (ty, rest) = Ty::of_descriptor(&descriptor)?;
        rest.is_empty().then_some(ty)
    }
}

impl CallDetails for Named<'_, '_, '_> {
    fn parameters(&self, each: EachName<'_>) {
        let list = self.file.proto(self.proto);
        let list = list.and_then(|proto| self.file.type_list(proto.parameters));
        for row in list.unwrap_or_default() {
            let descriptor = self.file.descriptor(u16_at(row, 0).into());
            if !descriptor.is_ok_and(|descriptor| (self.show)(&mutf8(descriptor), each)) {
                break;
            }
        }
    }

    fn callee(&self) -> Option<Callee> {
        /// The target comes in front of the arguments, in at most so many words.
        const MOST: usize = 254;
        let ProtoId {
            returns,
            parameters: list,
            ..
        } = self.file.proto(self.proto).ok()?;
        let list = self.file.type_list(list).ok()?;
        let parameters = list.iter().map(|row| self.ty(u16_at(row, 0).into()));
        let fits = list.len() <= MOST && !self.owner.starts_with('[');
        Some(Callee {
            owner: Ty::class(self.owner),
            owner_is_interface: self.how == CallHow::Interface,
            name: self.name.into(),
            how: self.how,
            parameters: parameters.collect::<Option<_>>()?,
            result: self.ty(returns)?,
            reference: 0,
        })
        .filter(|_| fits)
    }
}

/// Asks rules about each method that a file names. `allows` says whether so many bytes more may be looked at.
pub(super) fn called(
    file: &File<'_>,
    allows: &dyn Fn(usize) -> bool,
    rules: &dyn CallRules,
) -> Callees {
    let (mut descriptor, mut allowed) = (String::new(), true);
    let mut may_mean = |method: u32| -> Result<bool> {
        // What is shared out of proportion is not even read.
        if !allowed {
            return Ok(false);
        }
        let MethodId {
            class: owner,
            proto,
            name,
        } = file.method(method)?;
        let name = file.string(name)?;
        allowed = allows(name.len());
        // Constructors are no methods.
        if !allowed || name.starts_with(b"<") || !rules.may_be_named(&mutf8(name)) {
            return Ok(false);
        }
        let owner = file.type_name(owner)?;
        descriptor.clear();
        file.proto_descriptor(proto, &mut descriptor)?;
        allowed = allows(owner.len() + descriptor.len());
        Ok(allowed && rules.may_mean(&owner, &mutf8(name), &descriptor))
    };
    Callees::ask(file.methods.len(), |method| {
        may_mean(method as u32).unwrap_or_default()
    })
}

/// Shows the calls of code that are of these methods, in its order. `allows` says whether so many bytes more may be looked at, `show` shows a parameter's type.
pub(super) fn each_call(
    file: &File<'_>,
    called: &Callees,
    code: &Code<'_>,
    allows: &dyn Fn(usize) -> bool,
    show: &dyn Fn(&str, EachName<'_>) -> bool,
    each: EachCall<'_>,
) -> Result<()> {
    let mut descriptor = String::new();
    if !allows(code.insns.len()) {
        return Ok(());
    }
    for insn in insn::each(code.insns) {
        let insn = insn?;
        let how = match insn.opcode {
            _ if insn.is_payload => continue,
            op::INVOKE_VIRTUAL | op::INVOKE_VIRTUAL_RANGE => Ok(CallHow::Virtual),
            op::INVOKE_INTERFACE | op::INVOKE_INTERFACE_RANGE => Ok(CallHow::Interface),
            op::INVOKE_STATIC | op::INVOKE_STATIC_RANGE => Ok(CallHow::Static),
            op::INVOKE_DIRECT | op::INVOKE_DIRECT_RANGE => Err(Reason::CallOfSuper),
            other if INVOKE_SUPER.contains(&other) => Err(Reason::CallOfSuper),
            _ => continue,
        };
        if !called.has(insn.index() as usize) {
            continue;
        }
        let MethodId {
            class: owner,
            proto,
            name,
        } = file.method(insn.index())?;
        let name = file.string(name)?;
        let (owner, name) = (file.type_name(owner)?, mutf8(name));
        descriptor.clear();
        file.proto_descriptor(proto, &mut descriptor)?;
        if !allows(owner.len() + name.len() + descriptor.len()) {
            return Ok(());
        }
        each(&CallSite {
            at: insn.pc,
            ty: &owner,
            method: &name,
            descriptor: &descriptor,
            how,
            details: &Named {
                file,
                owner: &owner,
                name: &name,
                proto,
                how: how.unwrap_or(CallHow::Exact),
                show,
            },
        });
    }
    Ok(())
}
