//! Sections of Android's own trace: the methods that begin and end them, and their names.

use crate::aspect::section::{end_of_type, section_name};
use crate::bytes::{modified_utf8, mutf8};
use crate::dex::format::code_item::{self, Code};
use crate::dex::format::file::{File, MethodId};
use crate::dex::format::insn;
use crate::dex::format::opcodes::op;
use crate::dex::ids::Wanted;
use crate::error::Result;

const TRACE: &[u8] = b"Landroid/os/Trace;";

/// `android.os.Trace.beginSection(String)`.
pub(crate) const BEGIN: Wanted<'static> = Wanted {
    class: TRACE,
    name: b"beginSection",
    parameters: &[b"Ljava/lang/String;"],
    returns: b"V",
};

/// `android.os.Trace.endSection()`.
pub(crate) const END: Wanted<'static> = Wanted {
    class: TRACE,
    name: b"endSection",
    parameters: &[],
    returns: b"V",
};

/// Names sections, type by type.
#[derive(Default)]
pub(crate) struct Names {
    /// The type under way, and of its name what sections can have.
    ty: Option<(u32, String)>,
}

impl Names {
    /// The name of a method's section, in modified UTF-8.
    pub fn of(&mut self, file: &File<'_>, method: u32) -> Result<Vec<u8>> {
        let MethodId { class, name, .. } = file.method(method)?;
        let ty = match &mut self.ty {
            Some((last, ty)) if *last == class => ty,
            ty => {
                let whole = file.type_name(class)?;
                &mut ty.insert((class, end_of_type(&whole).to_owned())).1
            }
        };
        Ok(modified_utf8(&section_name(ty, &mutf8(file.string(name)?))))
    }
}

/// Whether code names this section and begins one: `begin` is the method's old index, `is_name` knows the string's.
pub(crate) fn begins(code: &Code<'_>, begin: u32, is_name: impl Fn(u32) -> bool) -> Result<bool> {
    let (mut named, mut begins) = (false, false);
    for insn in insn::each(code.insns) {
        let insn = insn.map_err(|e| e.offset_by(code.offset + code_item::HEADER))?;
        match insn.opcode {
            op::CONST_STRING | op::CONST_STRING_JUMBO => named |= is_name(insn.index()),
            op::INVOKE_STATIC | op::INVOKE_STATIC_RANGE => begins |= insn.index() == begin,
            _ => {}
        }
    }
    Ok(named && begins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dex::testing::Body;

    #[test]
    fn a_section_is_known_by_its_name() {
        // const-string v0, 7; invoke-static {v0} 3; return-void
        let bytes = Body::new(1, 0, &[0x001a, 7, 0x1071, 3, 0, 0x000e]).bytes();
        let code = Code::read(&bytes, 0).unwrap();
        let begins = |begin, name| begins(&code, begin, |s| s == name).unwrap();
        assert!(begins(3, 7));
        assert!(!begins(3, 8) && !begins(4, 7));
    }
}
