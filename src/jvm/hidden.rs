//! Classes that a program defines hidden from their own bytes (`Lookup.defineHiddenClass`).
//!
//! In a hidden class its own name, in a descriptor, means another class: the one that its loader finds by that name.

use crate::aspect::joinpoint::EachName;
use crate::bytes::mutf8;
use crate::error::Result;
use crate::jvm::class::Class;
use crate::jvm::insn::{self, op};
use crate::jvm::pool::{MemberRef, tag};

const SUFFIX: &str = ".class";

/// Names of classes, and others, whose bytes a class that defines hidden classes may read: what its texts say, and its class literals.
pub fn defined(class: &Class<'_>, each: EachName<'_>) {
    if !defines(class) {
        return;
    }
    let pool = &class.pool;
    let own = class.name();
    let package = &own[..own.rfind('/').map_or(0, |slash| slash + 1)];
    for index in (1..pool.count()).filter(|&index| pool.tag(index) == Some(tag::STRING)) {
        let Ok(text) = pool.string(index).map(mutf8) else {
            continue;
        };
        let text = text.strip_suffix(SUFFIX).unwrap_or(&text);
        let name = text.trim_start_matches('/').replace('.', "/");
        each(&format!("{package}{name}"));
        each(&name);
    }
    for method in &class.methods {
        if let Ok(Some(code)) = class.code(method) {
            // Weaving reports what cannot be read.
            let _ = literals(class, code.insns, each);
        }
    }
}

fn defines(class: &Class<'_>) -> bool {
    let pool = &class.pool;
    let mut methods = (1..pool.count()).filter(|&index| pool.tag(index) == Some(tag::METHODREF));
    methods.any(|index| {
        let name = pool.member(index).map(|MemberRef { name, .. }| name);
        name.is_ok_and(|name| {
            name.starts_with(b"defineHiddenClass") || name == b"defineAnonymousClass"
        })
    })
}

fn literals(class: &Class<'_>, insns: &[u8], each: EachName<'_>) -> Result<()> {
    let mut pc = 0;
    while (pc as usize) < insns.len() {
        let insn = insn::at(insns, pc)?;
        let at = pc as usize;
        let index = match insn.opcode {
            op::LDC => Some(u16::from(insns[at + 1])),
            op::LDC_W => Some(u16::from_be_bytes([insns[at + 1], insns[at + 2]])),
            _ => None,
        };
        if let Some(name) = index.and_then(|index| class.pool.class_name(index).ok()) {
            each(&mutf8(name));
        }
        pc += insn.len;
    }
    Ok(())
}
