//! Bodies that cannot throw although they use fields: those of their own `this`.
//!
//! `iget` and `iput` throw where there is no object, and where the field is not found, is a static one, or is none of
//! one's own. `this` is an object, and what the class of the method itself declares is found and is its own. A final field
//! may be written by constructors alone.

use crate::dex::class::{ClassDef, instance_fields};
use crate::dex::code_item::Code;
use crate::dex::file::{File, NO_INDEX, u16_at};
use crate::dex::insn;
use crate::dex::opcodes::op;
use crate::error::Result;

/// `ACC_FINAL`.
const ACC_FINAL: u32 = 0x10;

/// Set beside the class of a field that is final.
const FINAL: u32 = 1 << 31;

/// For each field index, the type that declares it as an instance field; `NO_INDEX` for others.
#[derive(Default)]
pub(super) struct Fields(Vec<u32>);

impl Fields {
    pub fn read(file: &File<'_>) -> Result<Fields> {
        let mut fields = vec![NO_INDEX; file.fields.len()];
        for row in file.classes {
            let class = ClassDef::read(row);
            if class.data == 0 {
                continue;
            }
            instance_fields(file, class.data, |index, access| {
                let row = file.fields.get(index as usize);
                if row.is_some_and(|row| u32::from(u16_at(row, 0)) == class.ty) {
                    let is_final = access & ACC_FINAL != 0;
                    fields[index as usize] = class.ty | if is_final { FINAL } else { 0 };
                }
            })?;
        }
        Ok(Fields(fields))
    }

    /// Those of one class.
    pub fn of(&self, class: u32) -> OwnFields<'_> {
        OwnFields {
            fields: &self.0,
            class,
        }
    }
}

/// The fields of a method's own class.
#[derive(Clone, Copy, Debug)]
pub struct OwnFields<'f> {
    fields: &'f [u32],
    class: u32,
}

impl OwnFields<'_> {
    /// No fields at all.
    pub const NONE: OwnFields<'static> = OwnFields {
        fields: &[],
        class: NO_INDEX,
    };

    /// One field, by its index 0.
    #[cfg(test)]
    pub(super) const FIRST: OwnFields<'static> = OwnFields {
        fields: &[7],
        class: 7,
    };

    /// Whether there are such instructions, and all that they do is use fields of `this`. The method is no static one.
    pub(super) fn are_all(
        self,
        code: &Code<'_>,
        instructions: impl Iterator<Item = u32>,
        is_constructor: bool,
    ) -> Result<bool> {
        let this = code.locals();
        let mut any = false;
        for pc in instructions {
            // Most bodies do something else first.
            let opcode = insn::unit(code.insns, pc) as u8;
            if !(op::IGET..=op::IPUT_SHORT).contains(&opcode) {
                return Ok(false);
            }
            any = true;
            let insn = insn::at(code.insns, pc)?;
            let reads = opcode < op::IPUT;
            let field = self.fields.get(insn.index() as usize);
            let own = field.is_some_and(|&class| {
                class == self.class || class == self.class | FINAL && (reads || is_constructor)
            });
            if insn.b != this || !own {
                return Ok(false);
            }
        }
        if !any {
            return Ok(false);
        }
        // Something else may have come into the register.
        for insn in insn::each(code.insns) {
            let insn = insn?;
            if let Some(kind @ b'A'..=b'Z') = insn.op().registers.bytes().next() {
                let last = insn.a + u32::from(matches!(kind, b'W' | b'J' | b'D'));
                if (insn.a..=last).contains(&this) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dex::testing::Body;

    /// Field 0 is type 5's, field 1 is a final one of it, field 2 is type 6's.
    const FIELDS: [u32; 4] = [5, 5 | FINAL, 6, NO_INDEX];

    fn are_all(units: &[u16], throwing: &[u32], is_constructor: bool) -> bool {
        let fields = Fields(FIELDS.to_vec());
        // v1 is `this`.
        let bytes = Body::new(3, 2, units).bytes();
        let code = Code::read(&bytes, 0).unwrap();
        let own = fields.of(5);
        own.are_all(&code, throwing.iter().copied(), is_constructor)
            .unwrap()
    }

    #[test]
    fn only_own_fields_of_this_are_safe() {
        let ours = |units: &[u16]| are_all(units, &[0], false);
        // iget v0, v1; iput-object v0, v1; iget-wide v0, v1: which overwrites `this`
        assert!(ours(&[0x1052, 0, 0x000f]));
        assert!(ours(&[0x105b, 0, 0x000e]));
        assert!(!ours(&[0x1053, 0, 0x000e]));
        // of another object, class, of none, and no field at all: array-length
        assert!(!ours(&[0x2052, 0, 0x000f]));
        assert!(!ours(&[0x1052, 2, 0x000f]));
        assert!(!ours(&[0x1052, 3, 0x000f]));
        assert!(!ours(&[0x1052, 4, 0x000f]));
        assert!(!ours(&[0x1021, 0x000f]));
        // What is final is written by constructors only.
        assert!(ours(&[0x1052, 1, 0x000f]));
        assert!(!ours(&[0x1059, 1, 0x000e]));
        assert!(are_all(&[0x1059, 1, 0x000e], &[0], true));
        // move-object v1, v2; iget v0, v1
        assert!(!are_all(&[0x2107, 0x1052, 0, 0x000f], &[1], false));
        // One of two is another object's.
        assert!(!are_all(&[0x1052, 0, 0x2052, 0, 0x000f], &[0, 2], false));
    }

    #[test]
    fn fields_are_found_with_their_classes() {
        let dex = crate::dex::Dex::parse(include_bytes!("../../tests/dex/everything.dex")).unwrap();
        let file = &dex.files[0];
        let fields = Fields::read(file).unwrap();
        let mut instances = 0;
        for (row, owner) in file.fields.iter().zip(&fields.0) {
            if *owner != NO_INDEX {
                assert_eq!(owner & !FINAL, u32::from(u16_at(row, 0)));
                instances += 1;
            }
        }
        assert!(instances > 0 && instances < fields.0.len());
    }
}
