//! Sections of Android's own trace: the methods that begin and end them, and their names.

use crate::aspect::bind::layers::BODY;
use crate::aspect::section::{end_of_type, section_name};
use crate::bytes::modified_utf8;
use crate::error::Result;
use crate::jvm::class::{Class, MethodInfo};
use crate::jvm::insn::{self, op};
use crate::jvm::pool::{MemberRef, tag};

/// The class, in internal form.
pub(super) const TRACE: &str = "android/os/Trace";
/// Name and descriptor of `beginSection`.
pub(super) const BEGIN: (&str, &str) = ("beginSection", "(Ljava/lang/String;)V");
/// Name and descriptor of `endSection`.
pub(super) const END: (&str, &str) = ("endSection", "()V");

/// The name of a method's section, in modified UTF-8.
pub(super) fn name(class: &Class<'_>, method: &MethodInfo) -> Result<Vec<u8>> {
    let (ty, name) = (class.name(), class.pool.text(method.name)?);
    let name = name.strip_prefix(BODY).unwrap_or(&name);
    Ok(modified_utf8(&section_name(end_of_type(&ty), name)))
}

/// Whether code names this section and begins one.
pub(super) fn begins(class: &Class<'_>, code: &[u8], section: &[u8]) -> Result<bool> {
    let pool = &class.pool;
    let is_name = |index| {
        pool.tag(index) == Some(tag::STRING) && pool.string(index).is_ok_and(|text| text == section)
    };
    let begins = |index| {
        pool.tag(index) == Some(tag::METHODREF)
            && pool.member(index).is_ok_and(
                |MemberRef {
                     owner,
                     name,
                     descriptor,
                 }| {
                    (name, descriptor) == (BEGIN.0.as_bytes(), BEGIN.1.as_bytes())
                        && pool.class_name(owner).ok() == Some(TRACE.as_bytes())
                },
            )
    };
    let (mut is_named, mut is_begun, mut pc) = (false, false, 0);
    while pc < code.len() as u32 {
        let insn = insn::at(code, pc)?;
        let operands = &code[pc as usize + 1..(pc + insn.len) as usize];
        match (insn.opcode, operands) {
            (op::LDC, &[low]) => is_named |= is_name(u16::from(low)),
            (op::LDC_W, &[high, low]) => is_named |= is_name(u16::from_be_bytes([high, low])),
            (op::INVOKESTATIC, &[high, low]) => is_begun |= begins(u16::from_be_bytes([high, low])),
            _ => {}
        }
        pc += insn.len;
    }
    Ok(is_named && is_begun)
}
