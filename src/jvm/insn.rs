//! The instruction set (JVMS 6.5): lengths, stack effects, and a walk over code.

use crate::edit::straight;
use crate::error::{Error, Result};
use std::ops::Range;

/// Opcodes that the weaver names.
pub mod op {
    pub const NOP: u8 = 0;
    pub const ACONST_NULL: u8 = 1;
    pub const ICONST_0: u8 = 3;
    pub const LCONST_0: u8 = 9;
    pub const FCONST_0: u8 = 11;
    pub const DCONST_0: u8 = 14;
    pub const BIPUSH: u8 = 16;
    pub const SIPUSH: u8 = 17;
    pub const LDC: u8 = 18;
    pub const LDC_W: u8 = 19;
    pub const LDC2_W: u8 = 20;
    pub const ILOAD: u8 = 21;
    pub const ALOAD: u8 = 25;
    pub const ILOAD_0: u8 = 26;
    pub const ALOAD_0: u8 = 42;
    pub const ALOAD_3: u8 = 45;
    pub const AALOAD: u8 = 50;
    pub const ISTORE: u8 = 54;
    pub const ASTORE: u8 = 58;
    pub const ISTORE_0: u8 = 59;
    pub const AASTORE: u8 = 83;
    pub const BASTORE: u8 = 84;
    pub const POP: u8 = 87;
    pub const POP2: u8 = 88;
    pub const DUP: u8 = 89;
    pub const DUP_X1: u8 = 90;
    pub const DUP_X2: u8 = 91;
    pub const DUP2: u8 = 92;
    pub const DUP2_X1: u8 = 93;
    pub const DUP2_X2: u8 = 94;
    pub const SWAP: u8 = 95;
    pub const LSUB: u8 = 101;
    pub const IINC: u8 = 132;
    pub const I2L: u8 = 133;
    pub const I2F: u8 = 134;
    pub const I2D: u8 = 135;
    pub const L2F: u8 = 137;
    pub const L2D: u8 = 138;
    pub const F2D: u8 = 141;
    pub const IFEQ: u8 = 153;
    pub const IF_ACMPNE: u8 = 166;
    pub const GOTO: u8 = 167;
    pub const JSR: u8 = 168;
    pub const RET: u8 = 169;
    pub const TABLESWITCH: u8 = 170;
    pub const LOOKUPSWITCH: u8 = 171;
    pub const IRETURN: u8 = 172;
    pub const ARETURN: u8 = 176;
    pub const RETURN: u8 = 177;
    pub const GETSTATIC: u8 = 178;
    pub const PUTSTATIC: u8 = 179;
    pub const GETFIELD: u8 = 180;
    pub const PUTFIELD: u8 = 181;
    pub const INVOKEVIRTUAL: u8 = 182;
    pub const INVOKESPECIAL: u8 = 183;
    pub const INVOKESTATIC: u8 = 184;
    pub const INVOKEINTERFACE: u8 = 185;
    pub const INVOKEDYNAMIC: u8 = 186;
    pub const NEW: u8 = 187;
    pub const NEWARRAY: u8 = 188;
    pub const ANEWARRAY: u8 = 189;
    pub const ATHROW: u8 = 191;
    pub const ARRAYLENGTH: u8 = 190;
    pub const CHECKCAST: u8 = 192;
    pub const INSTANCEOF: u8 = 193;
    pub const MONITORENTER: u8 = 194;
    pub const MONITOREXIT: u8 = 195;
    pub const WIDE: u8 = 196;
    pub const MULTIANEWARRAY: u8 = 197;
    pub const IFNULL: u8 = 198;
    pub const IFNONNULL: u8 = 199;
    pub const GOTO_W: u8 = 200;
    pub const JSR_W: u8 = 201;
}

/// Kinds of instructions for a walk over code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Form {
    /// Nothing of interest.
    Plain,
    /// A branch with a 16-bit offset: `if*`, `goto`, `jsr`.
    Branch,
    /// A branch with a 32-bit offset: `goto_w`, `jsr_w`.
    WideBranch,
    /// `tableswitch` or `lookupswitch`.
    Switch,
    Return,
    /// A store into the local variable of the operand.
    Store,
    /// A store into a local variable that the opcode names.
    StoreN,
    /// The `wide` prefix.
    Wide,
    /// No instruction.
    Invalid,
}

/// Lengths in bytes; 0 where the length varies or there is no such instruction.
static LENGTH: [u8; 256] = {
    let mut t = [0u8; 256];
    let mut i = 0;
    while i <= 201 {
        t[i] = match i {
            16 | 18 | 21..=25 | 54..=58 | 169 | 188 => 2,
            17 | 19 | 20 | 132 | 153..=168 | 178..=184 | 187 | 189 | 192 | 193 | 198 | 199 => 3,
            197 => 4,
            185 | 186 | 200 | 201 => 5,
            170 | 171 | 196 => 0,
            _ => 1,
        };
        i += 1;
    }
    t
};

static FORM: [Form; 256] = {
    let mut t = [Form::Invalid; 256];
    let mut i = 0;
    while i <= 201 {
        t[i] = match i {
            153..=168 | 198 | 199 => Form::Branch,
            200 | 201 => Form::WideBranch,
            170 | 171 => Form::Switch,
            172..=177 => Form::Return,
            54..=58 => Form::Store,
            59..=78 => Form::StoreN,
            196 => Form::Wide,
            _ => Form::Plain,
        };
        i += 1;
    }
    t
};

/// One instruction in place.
#[derive(Clone, Copy, Debug)]
pub struct Insn {
    pub pc: u32,
    pub len: u32,
    pub opcode: u8,
    /// What must be looked at.
    pub form: Form,
}

/// Reads the instruction at `pc`, which must lie inside the code.
#[inline]
pub fn at(code: &[u8], pc: u32) -> Result<Insn> {
    let opcode = code[pc as usize];
    let form = FORM[opcode as usize];
    let len = match LENGTH[opcode as usize] {
        0 => varying_length(code, pc as usize, opcode)?,
        n => u32::from(n),
    };
    if pc as usize + len as usize > code.len() {
        return Err(Error::malformed(
            pc as usize,
            "instruction runs past the end of the code",
        ));
    }
    Ok(Insn {
        pc,
        len,
        opcode,
        form,
    })
}

#[cold]
fn varying_length(code: &[u8], pc: usize, opcode: u8) -> Result<u32> {
    let truncated = || Error::malformed(pc, "instruction runs past the end of the code");
    let word = |at: usize| -> Result<i32> { read_i32(code, at).ok_or_else(truncated) };
    match opcode {
        op::WIDE => match code.get(pc + 1) {
            Some(132) => Ok(6),
            Some(21..=25 | 54..=58 | 169) => Ok(4),
            _ => Err(Error::malformed(
                pc,
                "wide before an instruction that has no wide form",
            )),
        },
        op::TABLESWITCH => {
            let base = (pc + 4) & !3;
            let (low, high) = (i64::from(word(base + 4)?), i64::from(word(base + 8)?));
            let n = high - low + 1;
            if n < 0 || n > code.len() as i64 {
                return Err(Error::malformed(
                    pc,
                    format!("tableswitch from {low} to {high}"),
                ));
            }
            Ok((base - pc) as u32 + 12 + 4 * n as u32)
        }
        op::LOOKUPSWITCH => {
            let base = (pc + 4) & !3;
            let n = word(base + 4)?;
            if n < 0 || n as usize > code.len() {
                return Err(Error::malformed(pc, format!("lookupswitch of {n} pairs")));
            }
            Ok((base - pc) as u32 + 8 + 8 * n as u32)
        }
        _ => Err(Error::malformed(
            pc,
            format!("{opcode:#04x} is not an instruction"),
        )),
    }
}

/// A local variable that an instruction reads or writes.
#[derive(Clone, Copy)]
pub struct Local {
    /// 0 to 4: int, long, float, double, reference.
    pub kind: u8,
    pub slot: u32,
}

impl Local {
    /// One of the instructions that have the slot in the opcode, by its number among those.
    fn short(n: u8) -> Local {
        Local {
            kind: n / 4,
            slot: u32::from(n % 4),
        }
    }

    fn of(kind: u8, slot: impl Into<u32>) -> Local {
        let slot = slot.into();
        Local { kind, slot }
    }
}

/// The local variable that a store writes.
pub fn store(code: &[u8], insn: Insn) -> Option<Local> {
    let at = insn.pc as usize;
    match insn.form {
        Form::Store => Some(Local::of(insn.opcode - op::ISTORE, code[at + 1])),
        Form::StoreN => Some(Local::short(insn.opcode - op::ISTORE_0)),
        Form::Wide => match code[at + 1] {
            opcode @ op::ISTORE..=op::ASTORE => {
                let slot = u16::from_be_bytes([code[at + 2], code[at + 3]]);
                Some(Local::of(opcode - op::ISTORE, slot))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The local variable that a load without `wide` reads.
pub fn load(code: &[u8], insn: Insn) -> Option<Local> {
    match insn.opcode {
        op::ILOAD..=op::ALOAD => {
            let slot = code[insn.pc as usize + 1];
            Some(Local::of(insn.opcode - op::ILOAD, slot))
        }
        op::ILOAD_0..=op::ALOAD_3 => Some(Local::short(insn.opcode - op::ILOAD_0)),
        _ => None,
    }
}

/// The local variables that an instruction writes.
pub fn written(code: &[u8], insn: Insn) -> Option<Range<u32>> {
    let at = insn.pc as usize;
    match (insn.opcode, code.get(at + 1)) {
        (op::IINC, Some(&slot)) => Some(u32::from(slot)..u32::from(slot) + 1),
        (op::WIDE, Some(&op::IINC)) => {
            let slot = u32::from(u16::from_be_bytes([code[at + 2], code[at + 3]]));
            Some(slot..slot + 1)
        }
        _ => store(code, insn).map(|local| {
            let words = 1 + u32::from(local.kind % 2 == 1);
            local.slot..local.slot + words
        }),
    }
}

/// A big-endian 32-bit number, if it lies inside.
pub fn read_i32(code: &[u8], at: usize) -> Option<i32> {
    let bytes = code.get(at..at.checked_add(4)?)?;
    Some(i32::from_be_bytes(bytes.try_into().expect("four bytes")))
}

/// The target of a branch instruction.
pub fn branch_target(code: &[u8], insn: Insn) -> Result<u32> {
    let at = insn.pc as usize + 1;
    let offset = match insn.form {
        Form::Branch => i32::from(i16::from_be_bytes([code[at], code[at + 1]])),
        _ => read_i32(code, at).expect("the walk checked the length"),
    };
    resolve(code, insn.pc, offset)
}

/// The pc that lies `offset` from an instruction.
fn resolve(code: &[u8], pc: u32, offset: i32) -> Result<u32> {
    let target = i64::from(pc) + i64::from(offset);
    if (0..code.len() as i64).contains(&target) {
        Ok(target as u32)
    } else {
        Err(Error::malformed(
            pc as usize,
            format!("branch to {target}, outside the code"),
        ))
    }
}

/// Where a switch's offsets lie.
struct SwitchFields {
    /// The 4-aligned base, which has the default one.
    base: usize,
    /// The first of its table.
    first: usize,
    /// From one to the next.
    stride: usize,
}

fn switch_fields(code: &[u8], insn: Insn) -> SwitchFields {
    let base = (insn.pc as usize + 4) & !3;
    let end = (insn.pc + insn.len) as usize;
    let (first, stride) = match code[insn.pc as usize] {
        op::TABLESWITCH => (base + 12, 4),
        _ => ((base + 12).min(end), 8),
    };
    SwitchFields {
        base,
        first,
        stride,
    }
}

/// The targets of a switch, the default one first.
pub fn switch_targets(code: &[u8], insn: Insn, mut each: impl FnMut(u32)) -> Result<()> {
    let SwitchFields {
        base,
        first,
        stride,
    } = switch_fields(code, insn);
    let offset = |at| read_i32(code, at).expect("the walk checked the length");
    each(resolve(code, insn.pc, offset(base))?);
    for at in (first..(insn.pc + insn.len) as usize).step_by(stride) {
        each(resolve(code, insn.pc, offset(at))?);
    }
    Ok(())
}

/// Whether code is straight-line: no call but those that may be there, no array, no monitor, no backward branch. False for
/// code that cannot be read.
pub fn is_straight_line(code: &[u8], may_call: impl Fn(Insn) -> bool) -> bool {
    straight::is_straight_line(code.len(), |pc| {
        let insn = at(code, pc).ok()?;
        let is_call = matches!(insn.opcode, op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC);
        let mut back = is_call && !may_call(insn)
            || matches!(
                insn.opcode,
                op::NEWARRAY
                    | op::ANEWARRAY
                    | op::MULTIANEWARRAY
                    | op::MONITORENTER
                    | op::MONITOREXIT
                    | op::JSR
                    | op::JSR_W
                    | op::RET
            );
        match insn.form {
            Form::Branch | Form::WideBranch => back |= branch_target(code, insn).ok()? <= pc,
            Form::Switch => switch_targets(code, insn, |target| back |= target <= pc).ok()?,
            Form::Wide => back = code.get(pc as usize + 1) == Some(&op::RET),
            Form::Invalid => return None,
            _ => {}
        }
        (!back).then_some(pc + insn.len)
    })
}

/// How much larger a switch becomes when it moves: its padding (0 to 3 bytes) changes.
pub fn switch_growth(pc: u32, new_pc: u32) -> i32 {
    let padding = |pc: u32| (3 - pc % 4) as i32;
    padding(new_pc) - padding(pc)
}

/// Appends a switch as it is at `new_pc`, its targets mapped.
pub fn put_switch(
    out: &mut Vec<u8>,
    code: &[u8],
    insn: Insn,
    new_pc: u32,
    map: impl Fn(u32) -> u32,
) {
    let SwitchFields {
        base,
        first,
        stride,
    } = switch_fields(code, insn);
    let end = (insn.pc + insn.len) as usize;
    let offset_at = |at: usize| {
        let old = read_i32(code, at).expect("the walk checked the length");
        let target = map((insn.pc as i32 + old) as u32);
        (target as i32 - new_pc as i32).to_be_bytes()
    };
    out.push(insn.opcode);
    out.extend_from_slice(&[0; 3][..(3 - new_pc % 4) as usize]);
    out.extend_from_slice(&offset_at(base));
    // Between the default offset and the first of the table: low and high, or the number of pairs
    // and the first key.
    let mut copied = base + 4;
    for at in (first..end).step_by(stride) {
        out.extend_from_slice(&code[copied..at]);
        out.extend_from_slice(&offset_at(at));
        copied = at + 4;
    }
    out.extend_from_slice(&code[copied..end]);
}

/// Words that an instruction takes from the stack and puts there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackEffect {
    pub pops: u8,
    pub pushes: u8,
}

/// What an instruction does to the stack, where the opcode alone decides.
pub fn stack_effect(opcode: u8) -> Option<StackEffect> {
    let (pops, pushes) = match opcode {
        0 | 132 | 167 | 169 | 177 | 200 => (0, 0),
        1..=8 | 11..=13 | 16..=19 | 21 | 23 | 25..=29 | 34..=37 | 42..=45 | 168 | 187 | 201 => {
            (0, 1)
        }
        9 | 10 | 14 | 15 | 20 | 22 | 24 | 30..=33 | 38..=41 => (0, 2),
        46 | 48 | 50..=53 => (2, 1),
        47 | 49 => (2, 2),
        54 | 56 | 58..=62 | 67..=70 | 75..=78 | 87 => (1, 0),
        55 | 57 | 63..=66 | 71..=74 | 88 => (2, 0),
        79 | 81 | 83..=86 => (3, 0),
        80 | 82 => (4, 0),
        // add, sub, mul, div, rem: int, long, float, double in turn
        96..=115 => {
            if opcode.is_multiple_of(2) {
                (2, 1)
            } else {
                (4, 2)
            }
        }
        116 | 118 => (1, 1),
        117 | 119 => (2, 2),
        120 | 122 | 124 | 126 | 128 | 130 => (2, 1),
        121 | 123 | 125 => (3, 2),
        127 | 129 | 131 => (4, 2),
        133 | 135 | 140 | 141 => (1, 2),
        134 | 139 | 145..=147 => (1, 1),
        136 | 137 | 142 | 144 => (2, 1),
        138 | 143 => (2, 2),
        148 | 151 | 152 => (4, 1),
        149 | 150 => (2, 1),
        153..=158 | 170 | 171 | 172 | 174 | 176 | 191 | 194 | 195 | 198 | 199 => (1, 0),
        159..=166 | 173 | 175 => (2, 0),
        188 | 189 | 190 | 192 | 193 => (1, 1),
        _ => return None,
    };
    Some(StackEffect { pops, pushes })
}

/// The opcode of the instruction in front of the one at `pc`; `None` where no instruction begins at
/// `pc`, or it is the first.
pub fn opcode_above(code: &[u8], pc: u32) -> Result<Option<u8>> {
    let mut above = None;
    let mut next = 0;
    while next < pc {
        let insn = at(code, next)?;
        above = Some(insn.opcode);
        next += insn.len;
    }
    Ok(above.filter(|_| next == pc))
}

/// Whether control never falls through to the next instruction.
pub fn ends_flow(opcode: u8) -> bool {
    matches!(
        opcode,
        op::GOTO | op::GOTO_W | op::RET | op::TABLESWITCH..=op::RETURN | op::ATHROW
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_keeps_its_targets_when_its_padding_changes() {
        // nop; lookupswitch { 5: +26, default: +27 }, from pc 1 to pc 3
        let mut code = vec![0, op::LOOKUPSWITCH, 0, 0];
        for word in [27i32, 1, 5, 26] {
            code.extend_from_slice(&word.to_be_bytes());
        }
        code.resize(40, 0);
        let insn = at(&code, 1).unwrap();
        assert_eq!(insn.len, 19);
        let mut targets = vec![];
        switch_targets(&code, insn, |t| targets.push(t)).unwrap();
        assert_eq!(targets, [28, 27]);
        assert_eq!(switch_growth(1, 3), -2);
        let mut out = vec![0; 3];
        put_switch(&mut out, &code, insn, 3, |t| t + 10);
        out.resize(60, 0);
        let moved = at(&out, 3).unwrap();
        assert_eq!(moved.len, 17);
        let mut targets = vec![];
        switch_targets(&out, moved, |t| targets.push(t)).unwrap();
        assert_eq!(targets, [38, 37]);
    }

    #[test]
    fn straight_line_code_calls_nothing_and_never_goes_back() {
        // iload_0; ifle +5; iinc 0 by 1; iload_0; ireturn
        let code = [26, 158, 0, 6, 132, 0, 1, 26, 172];
        assert!(is_straight_line(&code, |_| false));
        for (place, byte) in [(1, 0xbc), (3, 0xff), (0, op::MONITORENTER), (0, 0xfe)] {
            let mut other = code;
            other[place] = byte;
            if place == 3 {
                other[2] = 0xff; // back to the first instruction
            }
            assert!(!is_straight_line(&other, |_| false), "{other:?}");
        }
        assert!(!is_straight_line(
            &[op::INVOKESTATIC, 0, 1, op::RETURN],
            |_| false
        ));
        assert!(!is_straight_line(&[op::WIDE, op::RET, 0, 1], |_| false));
        assert!(!is_straight_line(&[op::SIPUSH], |_| false), "cut off");
        assert!(!is_straight_line(&[], |_| false));
    }

    #[test]
    fn hostile_code_is_refused_with_its_pc() {
        for (code, message) in [
            (
                &[op::GOTO, 0][..],
                "instruction runs past the end of the code (at byte 0x0)",
            ),
            (&[0xcb], "0xcb is not an instruction (at byte 0x0)"),
            (
                &[op::WIDE, 0],
                "wide before an instruction that has no wide form (at byte 0x0)",
            ),
            (
                &[op::WIDE],
                "wide before an instruction that has no wide form (at byte 0x0)",
            ),
            (
                &[
                    op::TABLESWITCH,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0x80,
                    0,
                    0,
                    0,
                    0x7f,
                    0xff,
                    0xff,
                    0xff,
                ],
                "tableswitch from -2147483648 to 2147483647 (at byte 0x0)",
            ),
            (
                &[
                    op::LOOKUPSWITCH,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0xff,
                    0xff,
                    0xff,
                    0xff,
                ],
                "lookupswitch of -1 pairs (at byte 0x0)",
            ),
        ] {
            assert_eq!(at(code, 0).unwrap_err().to_string(), message);
        }
    }
}
