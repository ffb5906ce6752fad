//! Bodies that cannot throw although they use fields: those of their own `this`, or, in a static method, the static ones
//! of their own class.
//!
//! `iget` and `iput` throw where there is no object, and where the field is not found, is a static one, or is none of
//! one's own. `this` is an object, and what the class of the method itself declares is found and is its own. A final field
//! may be written by constructors alone.
//!
//! `sget` and `sput` throw, beside that, where the class cannot be initialised. Nobody calls its static methods before
//! it is, but what initialises it. Objects it may have given away before that failed.

use crate::bytes::u16_at;
use crate::dex::format::class::{ClassDef, fields_of, flag};
use crate::dex::format::code_item::Code;
use crate::dex::format::file::{File, NO_INDEX};
use crate::dex::format::insn;
use crate::dex::format::opcodes::op;
use crate::error::Result;

/// `ACC_FINAL`.
const ACC_FINAL: u32 = 0x10;

/// Set beside the class of a field that is final.
const FINAL: u32 = 1 << 31;
/// Set beside the class of a field that is static.
const STATIC: u32 = 1 << 30;

/// For each field index, the type of this file that declares it; `NO_INDEX` for others.
#[derive(Default)]
pub(crate) struct Fields(Vec<u32>);

impl Fields {
    pub fn read(file: &File<'_>) -> Result<Fields> {
        let mut fields = vec![NO_INDEX; file.fields.len()];
        for row in file.classes {
            let class = ClassDef::read(row);
            if class.data == 0 {
                continue;
            }
            fields_of(file, class.data, |index, access| {
                let row = file.fields.get(index as usize);
                if row.is_some_and(|row| u32::from(u16_at(row, 0)) == class.ty) {
                    let bit = |held: bool, bit: u32| if held { bit } else { 0 };
                    fields[index as usize] = class.ty
                        | bit(access & ACC_FINAL != 0, FINAL)
                        | bit(access & flag::STATIC != 0, STATIC);
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

/// How many instructions use fields of `this`, and how many static ones: the last is `iput-short`, `sput-short`.
const USES: u8 = op::IPUT_SHORT - op::IGET + 1;

impl OwnFields<'_> {
    /// No fields at all.
    #[cfg(test)]
    pub const NONE: OwnFields<'static> = OwnFields {
        fields: &[],
        class: NO_INDEX,
    };

    /// One field, by its index 0.
    #[cfg(test)]
    pub(crate) const FIRST: OwnFields<'static> = OwnFields {
        fields: &[7],
        class: 7,
    };

    /// Whether all that these instructions do is use fields of `this`, or, in a static method, static ones.
    pub(crate) fn are_all(
        self,
        code: &Code<'_>,
        instructions: impl Iterator<Item = u32>,
        is_static: bool,
        is_constructor: bool,
    ) -> Result<bool> {
        let this = code.locals();
        let (first, firsts_put, kind) = match is_static {
            true => (op::SGET, op::SPUT, STATIC),
            false => (op::IGET, op::IPUT, 0),
        };
        let mut any = false;
        for pc in instructions {
            // Most bodies do something else first.
            let opcode = insn::unit(code.insns, pc) as u8;
            if !(first..first + USES).contains(&opcode) {
                return Ok(false);
            }
            let insn = insn::at(code.insns, pc)?;
            any = true;
            let reads = opcode < firsts_put;
            let field = self.fields.get(insn.index() as usize);
            let own = field.is_some_and(|&class| {
                let may = if reads || is_constructor {
                    class & !FINAL
                } else {
                    class
                };
                may == self.class | kind
            });
            if !own || !is_static && insn.b != this {
                return Ok(false);
            }
        }
        if is_static || !any {
            return Ok(true);
        }
        // Something else may have come into the register.
        Ok(!insn::writes(code.insns, this)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dex::testing::Body;

    /// Field 0 is type 5's, field 1 is a final one of it, field 2 is type 6's; 4 to 6 are the same, but static.
    const FIELDS: [u32; 7] = [
        5,
        5 | FINAL,
        6,
        NO_INDEX,
        5 | STATIC,
        5 | STATIC | FINAL,
        6 | STATIC,
    ];

    fn are_all(units: &[u16], throwing: &[u32], is_constructor: bool) -> bool {
        all(units, throwing, false, is_constructor)
    }

    fn all(units: &[u16], throwing: &[u32], is_static: bool, is_constructor: bool) -> bool {
        let fields = Fields(FIELDS.to_vec());
        // v1 is `this`.
        let bytes = Body::new(3, 2, units).bytes();
        let code = Code::read(&bytes, 0).unwrap();
        let own = fields.of(5);
        own.are_all(&code, throwing.iter().copied(), is_static, is_constructor)
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
        assert!(!ours(&[0x1052, 7, 0x000f]));
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
    fn static_methods_use_their_own_static_fields() {
        let ours = |units: &[u16]| all(units, &[0], true, false);
        // sget v0; sput-object v0; sput-short v0, and over what is `this` elsewhere
        assert!(ours(&[0x0060, 4, 0x000f]));
        assert!(ours(&[0x0069, 4, 0x000e]));
        assert!(ours(&[0x006d, 4, 0x000e]));
        assert!(ours(&[0x0160, 4, 0x000f]));
        // A final one is only read; of another class, not static, of none, and no such instruction
        assert!(ours(&[0x0060, 5, 0x000f]));
        assert!(!ours(&[0x0067, 5, 0x000e]));
        assert!(!ours(&[0x0060, 6, 0x000f]));
        assert!(!ours(&[0x0060, 0, 0x000f]));
        assert!(!ours(&[0x0060, 3, 0x000f]));
        assert!(!ours(&[0x0060, 7, 0x000f]));
        assert!(!ours(&[0x1052, 0, 0x000f]));
        assert!(!ours(&[0x106e, 4, 0x0000, 0x000e]));
        // The object of an instance method can outlive the failure of its class.
        assert!(!all(&[0x0060, 4, 0x000f], &[0], false, false));
    }

    #[test]
    fn fields_are_found_with_their_classes() {
        let dex =
            crate::dex::Dex::parse(include_bytes!("../../../tests/dex/everything.dex")).unwrap();
        let file = &dex.files[0];
        let fields = Fields::read(file).unwrap();
        let (mut instances, mut statics) = (0, 0);
        for (row, owner) in file.fields.iter().zip(&fields.0) {
            if *owner != NO_INDEX {
                assert_eq!(owner & 0xffff, u32::from(u16_at(row, 0)));
                instances += usize::from(owner & STATIC == 0);
                statics += usize::from(owner & STATIC != 0);
            }
        }
        assert!(instances > 0 && statics > 0);
        assert!(instances + statics < fields.0.len());
    }
}
