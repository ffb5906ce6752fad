//! The instruction set (ECMA-335 III, VI.C.2): lengths, operands, stack effects, a walk over code.

use crate::bytes::u32_at;
use crate::edit::straight;
use crate::error::{Error, Result};

/// Opcodes that the weaver names; two-byte ones with their `FE` in front.
pub mod op {
    pub const NOP: u16 = 0x00;
    pub const LDARG_0: u16 = 0x02;
    pub const LDLOC_0: u16 = 0x06;
    pub const STLOC_0: u16 = 0x0a;
    pub const LDARG_S: u16 = 0x0e;
    pub const LDARGA_S: u16 = 0x0f;
    pub const STARG_S: u16 = 0x10;
    pub const LDLOC_S: u16 = 0x11;
    pub const LDLOCA_S: u16 = 0x12;
    pub const STLOC_S: u16 = 0x13;
    pub const LDNULL: u16 = 0x14;
    pub const LDC_I4_0: u16 = 0x16;
    pub const LDC_I4_1: u16 = 0x17;
    pub const LDC_I4_2: u16 = 0x18;
    pub const LDC_I4_S: u16 = 0x1f;
    pub const LDC_I4: u16 = 0x20;
    pub const LDC_I8: u16 = 0x21;
    pub const LDC_R4: u16 = 0x22;
    pub const LDC_R8: u16 = 0x23;
    pub const DUP: u16 = 0x25;
    pub const POP: u16 = 0x26;
    pub const JMP: u16 = 0x27;
    pub const CALL: u16 = 0x28;
    pub const CALLI: u16 = 0x29;
    pub const RET: u16 = 0x2a;
    pub const BR_S: u16 = 0x2b;
    pub const BEQ_S: u16 = 0x2e;
    pub const BNE_UN_S: u16 = 0x33;
    pub const BRTRUE_S: u16 = 0x2d;
    pub const BR: u16 = 0x38;
    pub const BRFALSE: u16 = 0x39;
    pub const BRTRUE: u16 = 0x3a;
    pub const BEQ: u16 = 0x3b;
    pub const LDIND_I1: u16 = 0x46;
    pub const LDIND_U1: u16 = 0x47;
    pub const LDIND_I2: u16 = 0x48;
    pub const LDIND_U2: u16 = 0x49;
    pub const LDIND_I4: u16 = 0x4a;
    pub const LDIND_U4: u16 = 0x4b;
    pub const LDIND_I8: u16 = 0x4c;
    pub const LDIND_I: u16 = 0x4d;
    pub const LDIND_R4: u16 = 0x4e;
    pub const LDIND_R8: u16 = 0x4f;
    pub const LDIND_REF: u16 = 0x50;
    pub const STIND_REF: u16 = 0x51;
    pub const SUB: u16 = 0x59;
    pub const REM: u16 = 0x5d;
    pub const CONV_I8: u16 = 0x6a;
    pub const CONV_R4: u16 = 0x6b;
    pub const CONV_R8: u16 = 0x6c;
    pub const CONV_U8: u16 = 0x6e;
    pub const CALLVIRT: u16 = 0x6f;
    pub const LDOBJ: u16 = 0x71;
    pub const LDSTR: u16 = 0x72;
    pub const NEWOBJ: u16 = 0x73;
    pub const CASTCLASS: u16 = 0x74;
    pub const ISINST: u16 = 0x75;
    pub const CONV_R_UN: u16 = 0x76;
    pub const UNBOX: u16 = 0x79;
    pub const THROW: u16 = 0x7a;
    pub const LDFLD: u16 = 0x7b;
    pub const LDFLDA: u16 = 0x7c;
    pub const STFLD: u16 = 0x7d;
    pub const LDSFLD: u16 = 0x7e;
    pub const LDSFLDA: u16 = 0x7f;
    pub const STSFLD: u16 = 0x80;
    pub const STOBJ: u16 = 0x81;
    pub const BOX: u16 = 0x8c;
    pub const LDLEN: u16 = 0x8e;
    pub const CONV_I4: u16 = 0x69;
    pub const NEWARR: u16 = 0x8d;
    pub const LDELEMA: u16 = 0x8f;
    pub const LDELEM_REF: u16 = 0x9a;
    pub const STELEM_REF: u16 = 0xa2;
    pub const LDELEM: u16 = 0xa3;
    pub const UNBOX_ANY: u16 = 0xa5;
    pub const CONV_I: u16 = 0xd3;
    pub const ENDFINALLY: u16 = 0xdc;
    pub const LEAVE: u16 = 0xdd;
    pub const LEAVE_S: u16 = 0xde;
    pub const CONV_U: u16 = 0xe0;
    pub const LDFTN: u16 = 0xfe06;
    pub const LDVIRTFTN: u16 = 0xfe07;
    pub const LDARG: u16 = 0xfe09;
    pub const LDARGA: u16 = 0xfe0a;
    pub const STARG: u16 = 0xfe0b;
    pub const LDLOC: u16 = 0xfe0c;
    pub const LDLOCA: u16 = 0xfe0d;
    pub const STLOC: u16 = 0xfe0e;
    pub const LOCALLOC: u16 = 0xfe0f;
    pub const CPBLK: u16 = 0xfe17;
    pub const INITBLK: u16 = 0xfe18;
    pub const ENDFILTER: u16 = 0xfe11;
    pub const TAIL: u16 = 0xfe14;
    pub const INITOBJ: u16 = 0xfe15;
    pub const RETHROW: u16 = 0xfe1a;
}

/// What a walk over code must look at; everything else is passed by its length alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Form {
    /// Nothing of interest, and it cannot throw.
    Safe,
    /// Nothing of interest.
    Plain,
    /// A metadata token is the operand.
    Token,
    /// A branch with an 8-bit offset.
    ShortBranch,
    /// A branch with a 32-bit offset.
    Branch,
    /// `switch`.
    Switch,
    /// `ret`.
    Return,
    /// A prefix of the next instruction, without operand or with one that is no token.
    Prefix,
    /// `constrained.`: a prefix with a token.
    TokenPrefix,
    /// Not an instruction.
    Invalid,
}

/// What an opcode is: its form, the bytes of its operand, and what it does to the stack.
#[derive(Clone, Copy)]
struct Spec {
    form: Form,
    operand: u8,
    /// Values taken; [`VARIES`] where the operand decides.
    pops: u8,
    pushes: u8,
}

/// The stack effect depends on the operand's signature.
pub const VARIES: u8 = 0xff;

const INVALID: Spec = Spec {
    form: Form::Invalid,
    operand: 0,
    pops: 0,
    pushes: 0,
};

const fn spec(form: Form, operand: u8, pops: u8, pushes: u8) -> Spec {
    Spec {
        form,
        operand,
        pops,
        pushes,
    }
}

static ONE_BYTE: [Spec; 256] = {
    use Form::*;
    let mut t = [INVALID; 256];
    let mut i = 0;
    while i < 256 {
        t[i] = match i {
            0x00 => spec(Safe, 0, 0, 0),                   // nop
            0x01 => spec(Plain, 0, 0, 0),                  // break
            0x02..=0x09 => spec(Safe, 0, 0, 1),            // ldarg.0-3, ldloc.0-3
            0x0a..=0x0d => spec(Safe, 0, 1, 0),            // stloc.0-3
            0x0e | 0x0f => spec(Safe, 1, 0, 1),            // ldarg.s, ldarga.s
            0x10 => spec(Safe, 1, 1, 0),                   // starg.s
            0x11 | 0x12 => spec(Safe, 1, 0, 1),            // ldloc.s, ldloca.s
            0x13 => spec(Safe, 1, 1, 0),                   // stloc.s
            0x14..=0x1e => spec(Safe, 0, 0, 1),            // ldnull, ldc.i4.m1 to ldc.i4.8
            0x1f => spec(Safe, 1, 0, 1),                   // ldc.i4.s
            0x20 | 0x22 => spec(Safe, 4, 0, 1),            // ldc.i4, ldc.r4
            0x21 | 0x23 => spec(Safe, 8, 0, 1),            // ldc.i8, ldc.r8
            0x25 => spec(Safe, 0, 1, 2),                   // dup
            0x26 => spec(Safe, 0, 1, 0),                   // pop
            0x27 => spec(Token, 4, 0, 0),                  // jmp
            0x28 | 0x29 => spec(Token, 4, VARIES, VARIES), // call, calli
            0x2a => spec(Return, 0, VARIES, 0),            // ret
            0x2b => spec(ShortBranch, 1, 0, 0),            // br.s
            0x2c | 0x2d => spec(ShortBranch, 1, 1, 0),     // brfalse.s, brtrue.s
            0x2e..=0x37 => spec(ShortBranch, 1, 2, 0),     // beq.s to blt.un.s
            0x38 => spec(Branch, 4, 0, 0),                 // br
            0x39 | 0x3a => spec(Branch, 4, 1, 0),          // brfalse, brtrue
            0x3b..=0x44 => spec(Branch, 4, 2, 0),          // beq to blt.un
            0x45 => spec(Switch, 4, 1, 0),                 // switch
            0x46..=0x50 => spec(Plain, 0, 1, 1),           // ldind.*
            0x51..=0x57 => spec(Plain, 0, 2, 0),           // stind.*
            0x58..=0x5a => spec(Safe, 0, 2, 1),            // add, sub, mul
            0x5b..=0x5e => spec(Plain, 0, 2, 1),           // div, div.un, rem, rem.un
            0x5f..=0x64 => spec(Safe, 0, 2, 1),            // and to shr.un
            0x65..=0x6e => spec(Safe, 0, 1, 1),            // neg, not, conv.i1 to conv.u8
            0x6f => spec(Token, 4, VARIES, VARIES),        // callvirt
            0x70 => spec(Token, 4, 2, 0),                  // cpobj
            0x71 => spec(Token, 4, 1, 1),                  // ldobj
            0x72 => spec(Token, 4, 0, 1),                  // ldstr
            0x73 => spec(Token, 4, VARIES, 1),             // newobj
            0x74 | 0x75 => spec(Token, 4, 1, 1),           // castclass, isinst
            0x76 => spec(Safe, 0, 1, 1),                   // conv.r.un
            0x79 => spec(Token, 4, 1, 1),                  // unbox
            0x7a => spec(Plain, 0, 1, 0),                  // throw
            0x7b | 0x7c => spec(Token, 4, 1, 1),           // ldfld, ldflda
            0x7d => spec(Token, 4, 2, 0),                  // stfld
            0x7e | 0x7f => spec(Token, 4, 0, 1),           // ldsfld, ldsflda
            0x80 => spec(Token, 4, 1, 0),                  // stsfld
            0x81 => spec(Token, 4, 2, 0),                  // stobj
            0x82..=0x8b => spec(Plain, 0, 1, 1),           // conv.ovf.*.un
            0x8c | 0x8d => spec(Token, 4, 1, 1),           // box, newarr
            0x8e => spec(Plain, 0, 1, 1),                  // ldlen
            0x8f => spec(Token, 4, 2, 1),                  // ldelema
            0x90..=0x9a => spec(Plain, 0, 2, 1),           // ldelem.*
            0x9b..=0xa2 => spec(Plain, 0, 3, 0),           // stelem.*
            0xa3 => spec(Token, 4, 2, 1),                  // ldelem
            0xa4 => spec(Token, 4, 3, 0),                  // stelem
            0xa5 => spec(Token, 4, 1, 1),                  // unbox.any
            0xb3..=0xba => spec(Plain, 0, 1, 1),           // conv.ovf.*
            0xc2 => spec(Token, 4, 1, 1),                  // refanyval
            0xc3 => spec(Plain, 0, 1, 1),                  // ckfinite
            0xc6 => spec(Token, 4, 1, 1),                  // mkrefany
            0xd0 => spec(Token, 4, 0, 1),                  // ldtoken
            0xd1..=0xd3 => spec(Safe, 0, 1, 1),            // conv.u2, conv.u1, conv.i
            0xd4 | 0xd5 => spec(Plain, 0, 1, 1),           // conv.ovf.i, conv.ovf.u
            0xd6..=0xdb => spec(Plain, 0, 2, 1),           // add.ovf to sub.ovf.un
            0xdc => spec(Plain, 0, 0, 0),                  // endfinally, endfault
            0xdd => spec(Branch, 4, 0, 0),                 // leave
            0xde => spec(ShortBranch, 1, 0, 0),            // leave.s
            0xdf => spec(Plain, 0, 2, 0),                  // stind.i
            0xe0 => spec(Safe, 0, 1, 1),                   // conv.u
            _ => INVALID,
        };
        i += 1;
    }
    t
};

/// The instructions behind `FE`.
static TWO_BYTES: [Spec; 31] = {
    use Form::*;
    let mut t = [INVALID; 31];
    let mut i = 0;
    while i < 31 {
        t[i] = match i {
            0x00 => spec(Plain, 0, 0, 1),         // arglist
            0x01..=0x05 => spec(Safe, 0, 2, 1),   // ceq to clt.un
            0x06 => spec(Token, 4, 0, 1),         // ldftn
            0x07 => spec(Token, 4, 1, 1),         // ldvirtftn
            0x09 | 0x0a => spec(Safe, 2, 0, 1),   // ldarg, ldarga
            0x0b => spec(Safe, 2, 1, 0),          // starg
            0x0c | 0x0d => spec(Safe, 2, 0, 1),   // ldloc, ldloca
            0x0e => spec(Safe, 2, 1, 0),          // stloc
            0x0f => spec(Plain, 0, 1, 1),         // localloc
            0x11 => spec(Plain, 0, 1, 0),         // endfilter
            0x12 => spec(Prefix, 1, 0, 0),        // unaligned.
            0x13 | 0x14 => spec(Prefix, 0, 0, 0), // volatile., tail.
            0x15 => spec(Token, 4, 1, 0),         // initobj
            0x16 => spec(TokenPrefix, 4, 0, 0),   // constrained.
            0x17 | 0x18 => spec(Plain, 0, 3, 0),  // cpblk, initblk
            0x19 => spec(Prefix, 1, 0, 0),        // no.
            0x1a => spec(Plain, 0, 0, 0),         // rethrow
            0x1c => spec(Token, 4, 0, 1),         // sizeof
            0x1d => spec(Plain, 0, 1, 1),         // refanytype
            0x1e => spec(Prefix, 0, 0, 0),        // readonly.
            _ => INVALID,
        };
        i += 1;
    }
    t
};

/// What a walk needs of the instructions that are most of any code: their lengths, and flags. 0 where there is
/// more to it.
static QUICK: [u8; 256] = {
    let mut t = [0; 256];
    let mut i = 0;
    while i < 256 {
        let Spec { form, operand, .. } = ONE_BYTE[i];
        t[i] = match form {
            Form::Safe => 1 + operand,
            Form::Plain => (1 + operand) | quick::UNSAFE,
            Form::Token => (1 + operand) | quick::TOKEN,
            _ => 0,
        };
        i += 1;
    }
    t
};

/// Flags of [`quick`].
pub mod quick {
    pub const LENGTH: u8 = 0x0f;
    /// It can throw.
    pub const UNSAFE: u8 = 0x40;
    /// It can throw, and its operand is a token.
    pub const TOKEN: u8 = 0x80;
}

/// The length of an instruction by its first byte, with flags of [`quick`](mod@quick); 0 if [`at`] must read it. The
/// instruction may run past the end of the code.
#[inline]
pub fn quick(first: u8) -> u8 {
    QUICK[first as usize]
}

/// One instruction in place. A prefix is an instruction of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insn {
    /// Where it begins.
    pub pc: u32,
    /// Bytes that it takes.
    pub len: u32,
    /// Its opcode; two-byte ones as `FExx`.
    pub opcode: u16,
    /// What must be looked at.
    pub form: Form,
}

impl Insn {
    /// Where the next instruction begins.
    #[inline]
    pub fn end(&self) -> u32 {
        self.pc + self.len
    }

    /// The token operand; the form must be one with a token.
    #[inline]
    pub fn token(&self, code: &[u8]) -> u32 {
        u32_at(code, self.end() as usize - 4)
    }

    /// Values that it takes from the stack; [`VARIES`] where a signature decides.
    pub fn pops(&self) -> u8 {
        self.spec().pops
    }

    /// Values that it leaves on the stack; [`VARIES`] where a signature decides.
    pub fn pushes(&self) -> u8 {
        self.spec().pushes
    }

    fn spec(&self) -> &'static Spec {
        match self.opcode {
            one @ 0..=0xff => &ONE_BYTE[one as usize],
            two => &TWO_BYTES[(two & 0xff) as usize],
        }
    }

    /// Whether control never goes on to the instruction behind.
    pub fn ends_flow(&self) -> bool {
        matches!(
            self.opcode,
            op::RET
                | op::BR
                | op::BR_S
                | op::THROW
                | op::RETHROW
                | op::LEAVE
                | op::LEAVE_S
                | op::ENDFINALLY
                | op::ENDFILTER
                | op::JMP
        )
    }
}

/// Reads the instruction at `pc`, which must lie inside the code.
#[inline]
pub fn at(code: &[u8], pc: u32) -> Result<Insn> {
    let at = pc as usize;
    let first = code[at];
    let (opcode, spec, opcode_len) = if first == 0xfe {
        let second = code.get(at + 1).copied().unwrap_or(0xff);
        let spec = TWO_BYTES.get(second as usize).unwrap_or(&INVALID);
        (0xfe00 | u16::from(second), spec, 2)
    } else {
        (u16::from(first), &ONE_BYTE[first as usize], 1)
    };
    let mut len = opcode_len + u64::from(spec.operand);
    match spec.form {
        Form::Invalid => return Err(invalid(at, opcode)),
        Form::Switch if at + 5 <= code.len() => {
            len += 4 * u64::from(u32_at(code, at + 1));
        }
        _ => {}
    }
    if at as u64 + len > code.len() as u64 {
        return Err(Error::malformed(
            at,
            "instruction runs past the end of the code",
        ));
    }
    Ok(Insn {
        pc,
        len: len as u32,
        opcode,
        form: spec.form,
    })
}

#[cold]
fn invalid(at: usize, opcode: u16) -> Error {
    Error::malformed(at, format!("{opcode:#04x} is not an instruction"))
}

/// The target of a branch or `leave`, which lies inside the code.
#[inline]
pub fn branch_target(code: &[u8], insn: Insn) -> Result<u32> {
    let delta = if insn.form == Form::ShortBranch {
        i32::from(code[insn.pc as usize + 1] as i8)
    } else {
        u32_at(code, insn.pc as usize + 1) as i32
    };
    checked_target(code, insn, delta)
}

/// Calls `each` with every target of a `switch`.
pub fn switch_targets(code: &[u8], insn: Insn, mut each: impl FnMut(u32)) -> Result<()> {
    let table = &code[insn.pc as usize + 5..insn.end() as usize];
    for entry in table.chunks_exact(4) {
        each(checked_target(code, insn, u32_at(entry, 0) as i32)?);
    }
    Ok(())
}

/// Whether code is straight-line: no call but those that may be there, by their tokens, no array, no block of memory, no
/// backward branch. False for code that cannot be read.
pub fn is_straight_line(code: &[u8], may_call: impl Fn(u32) -> bool) -> bool {
    straight::is_straight_line(code.len(), |pc| {
        let insn = at(code, pc).ok()?;
        let is_call = matches!(insn.opcode, op::CALL | op::CALLVIRT | op::NEWOBJ);
        let mut back = is_call && !may_call(insn.token(code))
            || matches!(
                insn.opcode,
                op::CALLI | op::JMP | op::NEWARR | op::LOCALLOC | op::CPBLK | op::INITBLK
            );
        match insn.form {
            Form::ShortBranch | Form::Branch => back |= branch_target(code, insn).ok()? <= pc,
            Form::Switch => switch_targets(code, insn, |target| back |= target <= pc).ok()?,
            _ => {}
        }
        (!back).then_some(insn.end())
    })
}

#[inline]
fn checked_target(code: &[u8], insn: Insn, delta: i32) -> Result<u32> {
    let target = i64::from(insn.end()) + i64::from(delta);
    if (0..code.len() as i64).contains(&target) {
        Ok(target as u32)
    } else {
        Err(Error::malformed(
            insn.pc as usize,
            "branch target lies outside the code",
        ))
    }
}

/// The long form of a short branch (III.1.7.2): `br.s` to `blt.un.s`, and `leave.s`.
pub fn long_form(opcode: u16) -> u16 {
    if opcode == op::LEAVE_S {
        op::LEAVE
    } else {
        opcode + (op::BR - op::BR_S)
    }
}

/// Where the token of the next instruction lies that has one, from `pc` on, which moves behind it. `None` at the
/// end of the code.
#[inline]
pub fn next_token(code: &[u8], pc: &mut u32) -> Result<Option<usize>> {
    let mut start = *pc as usize;
    while let Some(&first) = code.get(start) {
        let known = quick(first);
        let end = start + usize::from(known & quick::LENGTH);
        if known == 0 || end > code.len() {
            let insn = at(code, start as u32)?;
            start = insn.end() as usize;
            if matches!(insn.form, Form::Token | Form::TokenPrefix) {
                *pc = start as u32;
                return Ok(Some(start - 4));
            }
        } else {
            start = end;
            if known & quick::TOKEN != 0 {
                *pc = end as u32;
                return Ok(Some(end - 4));
            }
        }
    }
    *pc = start as u32;
    Ok(None)
}

/// A metadata token in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenAt {
    /// Where its four bytes begin in the code.
    pub offset: usize,
    /// Table in the upper byte, row below.
    pub token: u32,
}

/// The metadata tokens in code, in order. Ends with an error where the code cannot be read.
pub fn tokens(code: &[u8]) -> impl Iterator<Item = Result<TokenAt>> + '_ {
    let mut pc = 0u32;
    std::iter::from_fn(move || {
        let found = next_token(code, &mut pc);
        if found.is_err() {
            pc = code.len() as u32;
        }
        let found = found.transpose()?;
        Some(found.map(|offset| TokenAt {
            offset,
            token: u32_at(code, offset),
        }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn straight_line_code_calls_nothing_and_never_goes_back() {
        // ldarg.0; brtrue.s +1; nop; ldarg.0; ret
        assert!(is_straight_line(&[0x02, 0x2d, 1, 0x00, 0x02, 0x2a], |_| {
            false
        }));
        for code in [
            &[0x02, 0x2d, 0xfd, 0x02, 0x2a][..],
            &[0x28, 1, 0, 0, 6, 0x2a],
            &[0x02, 0x8d, 1, 0, 0, 1, 0x2a],
            &[0x02, 0xfe, 0x0f, 0x2a],
            &[0x02, 0x2d],
            &[],
        ] {
            assert!(!is_straight_line(code, |_| false), "{code:?}");
        }
    }

    #[test]
    fn operands_have_their_sizes() {
        let len = |code: &[u8]| at(code, 0).unwrap().len as usize;
        for code in [
            &[0x00][..],                                 // nop
            &[0x0e, 1],                                  // ldarg.s
            &[0x1f, 0xff],                               // ldc.i4.s
            &[0x20, 1, 2, 3, 4],                         // ldc.i4
            &[0x21, 0, 0, 0, 0, 0, 0, 0, 0],             // ldc.i8
            &[0x22, 0, 0, 0, 0],                         // ldc.r4
            &[0x23, 0, 0, 0, 0, 0, 0, 0, 0],             // ldc.r8
            &[0x28, 1, 0, 0, 6],                         // call
            &[0x2b, 0],                                  // br.s
            &[0x38, 0, 0, 0, 0],                         // br
            &[0x45, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0], // switch
            &[0xdd, 0, 0, 0, 0],                         // leave
            &[0xfe, 0x09, 0, 1],                         // ldarg
            &[0xfe, 0x12, 1],                            // unaligned.
            &[0xfe, 0x14],                               // tail.
            &[0xfe, 0x16, 1, 0, 0, 2],                   // constrained.
            &[0xfe, 0x1a],                               // rethrow
        ] {
            assert_eq!(len(code), code.len(), "{code:02x?}");
            // One byte less is an error, not a panic.
            if code.len() > 1 {
                assert!(at(&code[..code.len() - 1], 0).is_err(), "{code:02x?}");
            }
        }
    }

    #[test]
    fn what_is_quickly_known_is_what_is_read() {
        for first in 0..=0xff {
            let code = [first, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            let known = quick(first);
            match at(&code, 0) {
                Ok(insn) if known != 0 => {
                    assert_eq!(u32::from(known & quick::LENGTH), insn.len);
                    let form = match known & !quick::LENGTH {
                        0 => Form::Safe,
                        quick::UNSAFE => Form::Plain,
                        _ => Form::Token,
                    };
                    assert_eq!(form, insn.form);
                }
                Ok(insn) => {
                    assert!(!matches!(insn.form, Form::Safe | Form::Plain) || first == 0xfe)
                }
                Err(_) => assert_eq!(known, 0),
            }
        }
    }

    #[test]
    fn the_set_has_219_instructions() {
        let valid = |t: &[Spec]| t.iter().filter(|s| s.form != Form::Invalid).count();
        // The 218 of System.Reflection.Emit.OpCodes, and `no.` (III.2.2).
        assert_eq!(valid(&ONE_BYTE), 191);
        assert_eq!(valid(&TWO_BYTES), 28);
    }

    #[test]
    fn what_is_no_instruction_is_named() {
        let e = at(&[0x00, 0x24], 1).unwrap_err();
        insta::assert_snapshot!(e, @"0x24 is not an instruction (at byte 0x1)");
        let e = at(&[0xfe, 0x08], 0).unwrap_err();
        insta::assert_snapshot!(e, @"0xfe08 is not an instruction (at byte 0x0)");
        let e = at(&[0xfe], 0).unwrap_err();
        insta::assert_snapshot!(e, @"0xfeff is not an instruction (at byte 0x0)");
        let huge = at(&[0x45, 0xff, 0xff, 0xff, 0xff], 0).unwrap_err();
        insta::assert_snapshot!(huge, @"instruction runs past the end of the code (at byte 0x0)");
    }

    #[test]
    fn targets_count_from_the_next_instruction_and_stay_inside() {
        let code = [0x2b, 0xfe, 0x38, 0, 0, 0, 0, 0x2a];
        let target = |pc| branch_target(&code, at(&code, pc).unwrap());
        assert_eq!(target(0).unwrap(), 0);
        assert_eq!(target(2).unwrap(), 7);
        let out = [0x2b, 0x01, 0x2a];
        insta::assert_snapshot!(
            branch_target(&out, at(&out, 0).unwrap()).unwrap_err(),
            @"branch target lies outside the code (at byte 0x0)"
        );
    }

    #[test]
    fn every_short_branch_has_a_long_form_with_the_same_effect() {
        for short in 0..0x100u16 {
            if ONE_BYTE[short as usize].form != Form::ShortBranch {
                continue;
            }
            let (a, b) = (
                ONE_BYTE[short as usize],
                ONE_BYTE[long_form(short) as usize],
            );
            assert_eq!(b.form, Form::Branch);
            assert_eq!((a.pops, a.pushes), (b.pops, b.pushes));
        }
    }

    #[test]
    fn tokens_are_found_behind_every_operand_size() {
        let code = [
            0x20, 0x28, 0x28, 0x28, 0x28, // ldc.i4, full of `call`
            0xfe, 0x16, 1, 0, 0, 0x1b, // constrained.
            0x6f, 2, 0, 0, 0x0a, // callvirt
            0x7b, 3, 0, 0, 0x04, // ldfld
            0x2a,
        ];
        let found: Vec<_> = tokens(&code)
            .map(|t| t.map(|t| (t.offset, t.token)).unwrap())
            .collect();
        assert_eq!(
            found,
            [(7, 0x1b00_0001), (12, 0x0a00_0002), (17, 0x0400_0003)]
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(code: Vec<u8>) {
            let _ = tokens(&code).count();
            let mut pc = 0;
            while (pc as usize) < code.len() {
                let Ok(insn) = at(&code, pc) else { break };
                match insn.form {
                    Form::ShortBranch | Form::Branch => { let _ = branch_target(&code, insn); }
                    Form::Switch => { let _ = switch_targets(&code, insn, |_| {}); }
                    _ => {}
                }
                pc = insn.end();
            }
        }
    }
}
