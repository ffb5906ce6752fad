//! Sections of Android's own trace: the methods that begin and end them, and their names.

use crate::aspect::section::section_name;
use crate::bytes::mutf8;
use crate::dex::code_item::{self, Code};
use crate::dex::file::File;
use crate::dex::ids::Wanted;
use crate::dex::insn;
use crate::dex::opcodes::op;
use crate::error::Result;

const TRACE: &[u8] = b"Landroid/os/Trace;";

/// `android.os.Trace.beginSection(String)`.
pub(super) const BEGIN: Wanted<'static> = Wanted {
    class: TRACE,
    name: b"beginSection",
    parameters: &[b"Ljava/lang/String;"],
    returns: b"V",
};

/// `android.os.Trace.endSection()`.
pub(super) const END: Wanted<'static> = Wanted {
    class: TRACE,
    name: b"endSection",
    parameters: &[],
    returns: b"V",
};

/// Names sections, type by type.
#[derive(Default)]
pub(super) struct Names {
    /// The type under way, and of its name what sections can have.
    ty: Option<(u32, String)>,
}

impl Names {
    /// The name of a method's section, in modified UTF-8.
    pub fn of(&mut self, file: &File<'_>, method: u32) -> Result<Vec<u8>> {
        let (class, _, name) = file.method(method)?;
        let ty = match &mut self.ty {
            Some((last, ty)) if *last == class => ty,
            ty => {
                let whole = file.type_name(class)?;
                &mut ty.insert((class, end_of_type(&whole).to_owned())).1
            }
        };
        Ok(modified(&section_name(ty, &mutf8(file.string(name)?))))
    }
}

/// What a section's name can have of its type's, which may be long and have many methods: the last packages, or the front of
/// the type's own name.
fn end_of_type(name: &str) -> &str {
    let own = name.rfind('/').map_or(0, |at| at + 1);
    let mut from = name.len().saturating_sub(MAX_TYPE).min(own);
    let mut to = name.len().min(own + MAX_TYPE);
    while !name.is_char_boundary(from) {
        from -= 1;
    }
    while !name.is_char_boundary(to) {
        to += 1;
    }
    &name[from..to]
}

/// More bytes of a type's name than a section's can have.
const MAX_TYPE: usize = 1024;

/// Modified UTF-8: NUL takes two bytes, what lies beyond 16 bits is two surrogates of three bytes each.
fn modified(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for unit in text.encode_utf16() {
        match unit {
            1..0x80 => out.push(unit as u8),
            0 | 0x80..0x800 => out.extend([0xc0 | (unit >> 6) as u8, 0x80 | unit as u8 & 0x3f]),
            _ => out.extend([
                0xe0 | (unit >> 12) as u8,
                0x80 | (unit >> 6) as u8 & 0x3f,
                0x80 | unit as u8 & 0x3f,
            ]),
        }
    }
    out
}

/// Whether code names this section and begins one: `begin` is the method's old index, `is_name` knows the string's.
pub(super) fn begins(code: &Code<'_>, begin: u32, is_name: impl Fn(u32) -> bool) -> Result<bool> {
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
    fn names_are_read_back_as_they_were() {
        for text in ["", "a.B.<init>", "a\0b", "é√𝄞"] {
            assert_eq!(mutf8(&modified(text)), text);
        }
        assert_eq!(modified("\0é√"), b"\xc0\x80\xc3\xa9\xe2\x88\x9a");
        assert_eq!(modified("𝄞"), b"\xed\xa0\xb4\xed\xb4\x9e");
    }

    #[test]
    fn long_types_are_cut_where_it_makes_no_difference() {
        let long = "é".repeat(600);
        for ty in [
            "A".to_owned(),
            format!("a/{long}/b/C"),
            format!("{long}/{long}"),
            format!("{}C", "p/".repeat(2000)),
        ] {
            assert_eq!(section_name(end_of_type(&ty), "m"), section_name(&ty, "m"));
            assert!(end_of_type(&ty).len() <= 2 * MAX_TYPE);
        }
    }

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
