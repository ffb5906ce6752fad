//! What the methods of a class call, for [`crate::aspect::bind::reach`].

use crate::aspect::bind::reach::{Effect, How, LibraryMethod, LibraryType, takes_inert};
use crate::bytes::{Cursor, mutf8};
use crate::error::{Error, Result};
use crate::jvm::class::{Class, MethodInfo, attributes, flag};
use crate::jvm::insn::{self, op};
use crate::jvm::pool::{MemberRef, tag};

/// A class as one of a library.
pub fn library_type(class: &Class<'_>) -> Result<LibraryType> {
    let mut supertypes: Vec<Box<str>> = Vec::new();
    class.supertypes(&mut |name| supertypes.push(name.into()));
    let mut methods = Vec::with_capacity(class.methods.len());
    for method in &class.methods {
        let mut calls = Vec::new();
        let has_body = calls_of(class, method, &mut |callee| {
            if !calls.contains(&callee) || calls.len() > MOST_COMPARED {
                calls.push(callee);
            }
        })?;
        methods.push(LibraryMethod {
            name: (&*class.pool.text(method.name)?).into(),
            descriptor: (&*class.pool.text(method.descriptor)?).into(),
            calls: has_body.then(|| calls.into()),
            is_abstract: method.access & flag::ABSTRACT != 0,
            is_final: (class.access | method.access) & flag::FINAL != 0
                || method.access & flag::PRIVATE != 0,
        });
    }
    Ok(LibraryType {
        supertypes: supertypes.into(),
        methods,
    })
}

/// Callees of one method that each further one is compared with.
const MOST_COMPARED: usize = 64;

/// Shows what a method calls, in the code's order. Whether it has a body.
fn calls_of(class: &Class<'_>, method: &MethodInfo, each: &mut dyn FnMut(Effect)) -> Result<bool> {
    let Some(code) = class.code(method)? else {
        return Ok(false);
    };
    let own = class.name();
    let mut pc = 0;
    while (pc as usize) < code.insns.len() {
        let insn = insn::at(code.insns, pc).map_err(|e| e.offset_by(code.offset))?;
        let at = pc as usize;
        let index = || u16::from_be_bytes([code.insns[at + 1], code.insns[at + 2]]);
        match insn.opcode {
            op::LDC if is_dynamic(class, u16::from(code.insns[at + 1])) => each(dynamic()),
            op::LDC_W | op::LDC2_W if is_dynamic(class, index()) => each(dynamic()),
            op::NEW | op::GETSTATIC | op::PUTSTATIC => {
                let owner = match insn.opcode {
                    op::NEW => index(),
                    _ => class.pool.member(index())?.owner,
                };
                let owner = mutf8(class.pool.class_name(owner)?);
                if owner != own {
                    each(Effect::Type((&*owner).into()));
                }
            }
            op::INVOKEDYNAMIC => {
                let is_inert = is_concatenation(class, index())?;
                if !is_inert {
                    each(dynamic());
                }
            }
            op::INVOKEVIRTUAL..=op::INVOKEINTERFACE => {
                let MemberRef {
                    owner,
                    name,
                    descriptor,
                } = class.pool.member(index())?;
                let owner = mutf8(class.pool.class_name(owner)?);
                let how = match insn.opcode {
                    op::INVOKEVIRTUAL => How::Virtual,
                    op::INVOKEINTERFACE => How::Interface,
                    _ => How::Exact,
                };
                if insn.opcode == op::INVOKESTATIC && owner != own {
                    each(Effect::Type((&*owner).into()));
                }
                each(Effect::Method {
                    owner: (&*owner).into(),
                    name: (&*mutf8(name)).into(),
                    descriptor: (&*mutf8(descriptor)).into(),
                    how,
                });
            }
            _ => {}
        }
        pc += insn.len;
    }
    Ok(true)
}

fn dynamic() -> Effect {
    Effect::Unknown("has an invokedynamic (a lambda, a method reference)".into())
}

fn is_dynamic(class: &Class<'_>, constant: u16) -> bool {
    class.pool.tag(constant) == Some(tag::DYNAMIC)
}

/// Whether an `invokedynamic` puts values together to a text, none of which runs code for that.
fn is_concatenation(class: &Class<'_>, index: u16) -> Result<bool> {
    let MemberRef {
        owner: bootstrap,
        descriptor,
        ..
    } = class.pool.member(index)?;
    if !takes_inert(&mutf8(descriptor)) {
        return Ok(false);
    }
    let mut found = false;
    attributes(class.bytes, class.attributes, |a| {
        if class.pool.utf8(a.name)? != b"BootstrapMethods" {
            return Ok(());
        }
        let mut cursor = Cursor::new(a.data);
        let count = cursor.be_u16()?;
        if bootstrap >= count {
            return Err(Error::malformed(
                a.offset(),
                "a bootstrap method that is not there",
            ));
        }
        for n in 0..count {
            let handle = cursor.be_u16()?;
            let arguments = cursor.be_u16()?;
            let mut is_plain = true;
            for _ in 0..arguments {
                is_plain &= class.pool.tag(cursor.be_u16()?) != Some(tag::DYNAMIC);
            }
            if n == bootstrap {
                let MemberRef { owner, name, .. } =
                    class.pool.member(class.pool.method_handle(handle)?)?;
                found = is_plain
                    && class.pool.class_name(owner)? == b"java/lang/invoke/StringConcatFactory"
                    && matches!(name, b"makeConcat" | b"makeConcatWithConstants");
            }
        }
        Ok(())
    })?;
    Ok(found)
}
