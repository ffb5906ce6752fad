//! Registers for hooks: which are free where, and how the frame grows where none is.
//!
//! Arguments come in the last registers. [`Scheme::Live`] puts one register between locals and arguments, which holds the
//! id throughout; the arguments' registers become one higher, which is free while all fit four bits. A second one goes
//! there where `this` would else lose its register in the handler.
//! [`Scheme::Dead`] changes no register: at the start all locals are free, at a return all but the
//! returned value, in our handler all. [`Scheme::Moved`] adds a register at the end and moves the arguments
//! down to where they were.

use crate::aspect::bind::ty::{Prim, Ty};
use crate::dex::format::insn::{self, Insn, set_unit, unit};
use crate::dex::format::opcodes::{Format, OPS, op};
use std::ops::Range;

/// Where the hooks' registers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// The register `id` holds the id throughout; registers from there on become one or two higher.
    Live {
        id: u32,
        /// The one behind it is free, for the exception.
        spare: bool,
    },
    /// Registers that are dead where a hook is.
    Dead,
    /// The frame has one register more, `free`; the arguments are moved down at the start.
    Moved { free: u32 },
    /// For hooks that see values: registers from `first` on become `by` higher. What they make room for, and whether the
    /// arguments are moved down, the hooks know.
    Block { first: u32, by: u32 },
}

impl Scheme {
    /// The new number of a register of the old code.
    #[inline]
    pub fn renumbered(self, register: u32) -> u32 {
        match self.shift() {
            Some(Shift { first, by }) if register >= first => register.saturating_add(by),
            _ => register,
        }
    }

    /// Which registers of the old code become higher.
    #[inline]
    pub fn shift(self) -> Option<Shift> {
        match self {
            Scheme::Live { id, spare } => Some(Shift {
                first: id,
                by: 1 + u32::from(spare),
            }),
            Scheme::Block { first, by } => Some(Shift { first, by }),
            Scheme::Dead | Scheme::Moved { .. } => None,
        }
    }
}

/// The registers from the first on become higher.
#[derive(Clone, Copy)]
pub struct Shift {
    pub first: u32,
    pub by: u32,
}

/// The highest register that four bits name.
pub const LAST_NIBBLE: u32 = 15;

/// The facts that decide on the scheme.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// Registers of the frame.
    pub registers: u32,
    /// Registers that are no arguments.
    pub locals: u32,
    /// Some operand reaches over the border between locals and arguments.
    pub straddles: bool,
    /// There is a hook at the start of the body...
    pub enter: bool,
    /// ...which is behind the call of another constructor, where locals can be in use.
    pub constructor: bool,
    /// There are exit hooks, and returned values take this many registers.
    pub exit: Option<u32>,
    /// There is a handler.
    pub error: bool,
    /// It would overwrite `this`, on whose register the verifier of Android 5 and debuggers before Android 10 rely
    /// (`InternalOptions` of R8's sources).
    pub spare: bool,
}

/// Chooses the scheme that makes the code the smallest.
pub fn choose(needs: Needs) -> Scheme {
    let dead = !(needs.enter && (needs.constructor || needs.locals == 0))
        && needs.exit.is_none_or(|width| needs.registers > width)
        && (!needs.error || needs.registers >= 2 && !needs.spare);
    let hooks = u32::from(needs.enter) + u32::from(needs.exit.is_some()) + u32::from(needs.error);
    let live = !needs.straddles && needs.registers <= LAST_NIBBLE;
    if dead && (hooks <= 1 || !live) {
        Scheme::Dead
    } else if live {
        Scheme::Live {
            id: needs.locals,
            spare: needs.spare && needs.registers < LAST_NIBBLE,
        }
    } else {
        Scheme::Moved {
            free: needs.registers,
        }
    }
}

/// Whether an operand of an instruction lies on both sides of the register `border`, so that no
/// register can be put in between: a pair, or a range that is too long for a list.
pub fn straddles(insn: Insn, border: u32) -> bool {
    let op = insn.op();
    match op.format {
        Format::F3rc | Format::F4rcc => range_straddles(insn, border) && insn.a > 5,
        _ => [insn.a, insn.b, insn.c]
            .iter()
            .zip(op.registers.bytes())
            .any(|(r, kind)| {
                matches!(kind.to_ascii_lowercase(), b'w' | b'j' | b'd') && r + 1 == border
            }),
    }
}

fn range_straddles(insn: Insn, border: u32) -> bool {
    insn.c < border && insn.c + insn.a > border
}

/// Where an instruction names registers: the first four bits behind the opcode...
const A4: u8 = 1;
/// ...the next four...
const B4: u8 = 2;
/// ...or all eight;
const A8: u8 = 4;
/// the first byte of the second code unit...
const B8: u8 = 8;
/// ...and its second;
const C8: u8 = 16;
/// elsewhere: a list, a range, or numbers of 16 bits.
const ELSEWHERE: u8 = 32;

const fn fields(format: Format) -> u8 {
    match format {
        Format::F10x | Format::F10t | Format::F20t | Format::F30t => 0,
        Format::F12x | Format::F22t | Format::F22s | Format::F22c => A4 | B4,
        Format::F11n => A4,
        Format::F11x
        | Format::F21t
        | Format::F21s
        | Format::F21h
        | Format::F21c
        | Format::F31i
        | Format::F31t
        | Format::F31c
        | Format::F51l => A8,
        Format::F23x => A8 | B8 | C8,
        Format::F22b => A8 | B8,
        Format::F22x
        | Format::F32x
        | Format::F35c
        | Format::F45cc
        | Format::F3rc
        | Format::F4rcc => ELSEWHERE,
    }
}

/// Where each opcode names registers.
static FIELDS: [u8; 256] = {
    let mut all = [0; 256];
    let mut opcode = 0;
    while opcode < all.len() {
        all[opcode] = fields(OPS[opcode].format);
        opcode += 1;
    }
    all
};

/// Makes the registers from `first` on `by` higher in the instruction at `pc`, whose length was checked. All must fit.
#[inline]
pub fn renumber(code: &mut [u8], pc: u32, Shift { first, by }: Shift) {
    let word = unit(code, pc);
    let by = by as u16;
    let fields = FIELDS[usize::from(word & 0xff)];
    if fields == ELSEWHERE {
        return renumber_elsewhere(code, pc, first, by);
    }
    // Without a branch, which processors could not predict.
    let up = |register: u16, field: u8| {
        by * (u16::from(fields & field != 0) & u16::from(u32::from(register) >= first))
    };
    let a = up(word >> 8 & 15, A4) + up(word >> 8, A8);
    let b = up(word >> 12, B4);
    set_unit(code, pc, word.wrapping_add(a << 8).wrapping_add(b << 12));
    if fields & B8 != 0 {
        let bc = unit(code, pc + 1);
        let (b, c) = (up(bc & 0xff, B8), up(bc >> 8, C8));
        set_unit(code, pc + 1, bc.wrapping_add(b).wrapping_add(c << 8));
    }
}

fn renumber_elsewhere(code: &mut [u8], pc: u32, first: u32, by: u16) {
    let word = unit(code, pc);
    let up = |register: u16| register.wrapping_add(by * u16::from(u32::from(register) >= first));
    match OPS[usize::from(word & 0xff)].format {
        Format::F22x => {
            set_unit(code, pc, word & 0xff | up(word >> 8) << 8);
            let b = up(unit(code, pc + 1));
            set_unit(code, pc + 1, b);
        }
        Format::F32x => {
            for at in [pc + 1, pc + 2] {
                let r = up(unit(code, at));
                set_unit(code, at, r);
            }
        }
        Format::F35c | Format::F45cc => {
            let count = word >> 12;
            let list = unit(code, pc + 2);
            let mut new = list;
            for i in 0..4 {
                let register = list >> (4 * i) & 15;
                let up = by * (u16::from(u32::from(register) >= first) & u16::from(i < count));
                new = new.wrapping_add(up << (4 * i));
            }
            set_unit(code, pc + 2, new);
            if count == 5 {
                set_unit(code, pc, word & 0xf0ff | up(word >> 8 & 15) << 8);
            }
        }
        _ => {
            let (count, from) = (word >> 8, unit(code, pc + 2));
            let (last, border) = (u32::from(from) + u32::from(count), first);
            if count > 0 && u32::from(from) < border && last > border {
                let list: Vec<u32> = (from..from + count).map(|r| u32::from(up(r))).collect();
                set_list(code, pc, listed(word as u8), &list);
            } else if count > 0 {
                set_unit(code, pc + 2, up(from));
            }
        }
    }
}

/// The opcode that takes a list where this one takes a range.
fn listed(opcode: u8) -> u8 {
    match opcode {
        op::INVOKE_VIRTUAL_RANGE..=op::INVOKE_INTERFACE_RANGE => opcode - 6,
        _ => opcode - 1,
    }
}

/// Writes an opcode and its list of at most five registers below 16.
fn set_list(code: &mut [u8], pc: u32, opcode: u8, registers: &[u32]) {
    let nibble = |i: usize| registers.get(i).map_or(0, |r| *r as u16);
    let count = registers.len() as u16;
    set_unit(code, pc, u16::from(opcode) | count << 12 | nibble(4) << 8);
    let list = nibble(0) | nibble(1) << 4 | nibble(2) << 8 | nibble(3) << 12;
    set_unit(code, pc + 2, list);
}

fn put(out: &mut Vec<u8>, units: &[u16]) {
    for unit in units {
        out.extend_from_slice(&unit.to_le_bytes());
    }
}

/// Appends the smallest instruction that puts a number into a register, which eight bits must name.
pub fn put_const(out: &mut Vec<u8>, register: u32, value: u32) {
    let first = |opcode: u8| u16::from(opcode) | (register as u16) << 8;
    let signed = value as i32;
    if register <= LAST_NIBBLE && (-8..8).contains(&signed) {
        put(out, &[first(op::CONST_4) | (value as u16 & 15) << 12]);
    } else if i32::from(signed as i16) == signed {
        put(out, &[first(op::CONST_16), value as u16]);
    } else if value & 0xffff == 0 {
        put(out, &[first(op::CONST_HIGH16), (value >> 16) as u16]);
    } else {
        put(out, &[first(op::CONST), value as u16, (value >> 16) as u16]);
    }
}

/// Appends the instruction that puts a zero into a pair, which eight bits must name.
pub fn put_const_wide_0(out: &mut Vec<u8>, register: u32) {
    put(
        out,
        &[u16::from(op::CONST_WIDE_16) | (register as u16) << 8, 0],
    );
}

/// Appends the smallest instruction that puts a string into a register, which eight bits must name.
pub fn put_const_string(out: &mut Vec<u8>, register: u32, string: u32) {
    let first = |opcode: u8| u16::from(opcode) | (register as u16) << 8;
    let low = string as u16;
    if u32::from(low) == string {
        put(out, &[first(op::CONST_STRING), low]);
    } else {
        let high = (string >> 16) as u16;
        put(out, &[first(op::CONST_STRING_JUMBO), low, high]);
    }
}

/// Whether these registers can be a list of arguments; else they must be a range.
pub fn can_be_listed(registers: &[u32]) -> bool {
    registers.len() <= 5 && registers.iter().all(|r| *r <= LAST_NIBBLE)
}

/// Appends the call of a static method; registers that cannot be listed must be consecutive.
pub fn put_invoke_static(out: &mut Vec<u8>, method: u16, registers: &[u32]) {
    put_invoke(out, op::INVOKE_STATIC, method, registers);
}

/// The same with another opcode of those that list registers.
pub fn put_invoke(out: &mut Vec<u8>, opcode: u8, method: u16, registers: &[u32]) {
    let at = insn::units(out);
    if can_be_listed(registers) {
        put(out, &[0, method, 0]);
        set_list(out, at, opcode, registers);
    } else {
        debug_assert!(registers.windows(2).all(|w| w[0] + 1 == w[1]));
        let all = registers[0]..registers[0] + registers.len() as u32;
        put_invoke_range(out, opcode, method, all);
    }
}

/// The same for consecutive registers, whichever these are.
pub fn put_invoke_range(out: &mut Vec<u8>, opcode: u8, method: u16, registers: Range<u32>) {
    const RANGE: u8 = op::INVOKE_STATIC_RANGE - op::INVOKE_STATIC;
    let first = u16::from(opcode + RANGE) | (registers.len() as u16) << 8;
    put(out, &[first, method, registers.start as u16]);
}

/// Appends an instruction that names a register, which eight bits must name, and an index.
pub fn put_indexed(out: &mut Vec<u8>, opcode: u8, register: u32, index: u32) {
    put_one(out, opcode, register);
    put(out, &[index as u16]);
}

/// Appends one that moves a field's value; four bits must name both registers.
pub fn put_field(out: &mut Vec<u8>, opcode: u8, value: u32, object: u32, field: u32) {
    put_two(out, opcode, value, object);
    put(out, &[field as u16]);
}

/// Appends the addition of one number to another; four bits must name both registers.
pub fn put_add_int(out: &mut Vec<u8>, to: u32, other: u32) {
    let registers = (to as u16) << 8 | (other as u16) << 12;
    put(out, &[u16::from(op::ADD_INT_2ADDR) | registers]);
}

/// What a register holds, as far as moving it goes; the values are the plain opcodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Width {
    /// 32 bits that are no reference.
    Single = op::MOVE,
    /// A pair.
    Wide = op::MOVE_WIDE,
    /// A reference.
    Object = op::MOVE_OBJECT,
}

impl Width {
    /// By the first letter of a type's descriptor.
    pub fn of(descriptor: u8) -> Width {
        match descriptor {
            b'J' | b'D' => Width::Wide,
            b'L' | b'[' => Width::Object,
            _ => Width::Single,
        }
    }

    /// Registers that it takes.
    pub fn words(self) -> u32 {
        1 + u32::from(self == Width::Wide)
    }

    /// Its place among the three.
    fn place(self) -> u8 {
        match self {
            Width::Single => 0,
            Width::Wide => 1,
            Width::Object => 2,
        }
    }
}

/// How a value of a type is moved.
pub fn width(ty: &Ty) -> Width {
    match ty {
        Ty::Prim(Prim::I64 | Prim::F64) => Width::Wide,
        Ty::Prim(_) | Ty::Void => Width::Single,
        _ => Width::Object,
    }
}

/// The registers that a value of a type takes.
pub fn words(ty: &Ty) -> u32 {
    match ty {
        Ty::Void => 0,
        ty => width(ty).words(),
    }
}

/// Of a family of opcodes for single values, wide ones and objects, in this order, the one for a type; none for void.
fn of_family(single: u8, ty: &Ty) -> Option<u8> {
    (*ty != Ty::Void).then_some(single + width(ty).place())
}

/// The opcode that moves what a call gave; none for void.
pub fn move_result(ty: &Ty) -> Option<u8> {
    of_family(op::MOVE_RESULT, ty)
}

/// The opcode that returns a value of a type.
pub fn return_of(ty: &Ty) -> u8 {
    of_family(op::RETURN, ty).unwrap_or(op::RETURN_VOID)
}

/// Of the opcodes that read or write fields, from the first one on, the one for a type.
pub fn of_field(first: u8, ty: &Ty) -> u8 {
    first
        + match ty {
            Ty::Prim(Prim::Bool) => 3,
            Ty::Prim(Prim::I8) => 4,
            Ty::Prim(Prim::Char) => 5,
            Ty::Prim(Prim::I16) => 6,
            ty => width(ty).place(),
        }
}

/// Appends the smallest instruction that moves a register.
pub fn put_move(out: &mut Vec<u8>, width: Width, to: u32, from: u32) {
    let (opcode, a, b) = (width as u8 as u16, to as u16, from as u16);
    if a <= 15 && b <= 15 {
        put(out, &[opcode | a << 8 | b << 12]);
    } else if a <= 0xff {
        put(out, &[(opcode + 1) | a << 8, b]);
    } else {
        put(out, &[opcode + 2, a, b]);
    }
}

/// Appends the smallest instruction that puts a number of 64 bits into a pair, which eight bits must name.
pub fn put_const_wide(out: &mut Vec<u8>, register: u32, value: u64) {
    let first = |opcode: u8| u16::from(opcode) | (register as u16) << 8;
    let signed = value as i64;
    let word = |n: u32| (value >> (16 * n)) as u16;
    if i64::from(signed as i16) == signed {
        put(out, &[first(op::CONST_WIDE_16), word(0)]);
    } else if i64::from(signed as i32) == signed {
        put(out, &[first(op::CONST_WIDE_32), word(0), word(1)]);
    } else if value << 16 == 0 {
        put(out, &[first(op::CONST_WIDE_HIGH16), word(3)]);
    } else {
        put(
            out,
            &[first(op::CONST_WIDE), word(0), word(1), word(2), word(3)],
        );
    }
}

/// Appends an instruction that names two registers, for which four bits must do.
pub fn put_two(out: &mut Vec<u8>, opcode: u8, a: u32, b: u32) {
    put(
        out,
        &[u16::from(opcode) | (a as u16) << 8 | (b as u16) << 12],
    );
}

/// Appends an instruction that names three registers, for which eight bits must do.
pub fn put_three(out: &mut Vec<u8>, opcode: u8, a: u32, b: u32, c: u32) {
    put(
        out,
        &[
            u16::from(opcode) | (a as u16) << 8,
            b as u16 | (c as u16) << 8,
        ],
    );
}

/// Appends a `new-array`; four bits must name both registers.
pub fn put_new_array(out: &mut Vec<u8>, to: u32, size: u32, ty: u32) {
    put_two(out, op::NEW_ARRAY, to, size);
    put(out, &[ty as u16]);
}

/// Appends an `if` of one register, which eight bits must name.
pub fn put_if(out: &mut Vec<u8>, opcode: u8, register: u32, distance: u16) {
    put_one(out, opcode, register);
    put(out, &[distance]);
}

/// Appends a `goto` of the smallest form, for a target this many code units away.
pub fn put_goto(out: &mut Vec<u8>, distance: i32) {
    if let Ok(near) = i8::try_from(distance) {
        put(out, &[u16::from(op::GOTO) | u16::from(near as u8) << 8]);
    } else if let Ok(far) = i16::try_from(distance) {
        put(out, &[u16::from(op::GOTO_16), far as u16]);
    } else {
        let d = distance as u32;
        put(out, &[u16::from(op::GOTO_32), d as u16, (d >> 16) as u16]);
    }
}

/// Appends an instruction that names one register, which eight bits must name.
pub fn put_one(out: &mut Vec<u8>, opcode: u8, register: u32) {
    put(out, &[u16::from(opcode) | (register as u16) << 8]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dex::testing::code;

    #[test]
    fn the_cheapest_scheme_is_taken() {
        let all = Needs {
            registers: 4,
            locals: 2,
            enter: true,
            exit: Some(1),
            error: true,
            ..Needs::default()
        };
        assert_eq!(
            choose(all),
            Scheme::Live {
                id: 2,
                spare: false
            }
        );
        let only_enter = Needs {
            exit: None,
            error: false,
            ..all
        };
        assert_eq!(choose(only_enter), Scheme::Dead);
        assert_eq!(
            choose(Needs {
                constructor: true,
                ..only_enter
            }),
            Scheme::Live {
                id: 2,
                spare: false
            }
        );
        assert_eq!(
            choose(Needs {
                registers: 16,
                ..all
            }),
            Scheme::Dead
        );
        assert_eq!(
            choose(Needs {
                straddles: true,
                ..all
            }),
            Scheme::Dead
        );
        assert_eq!(
            choose(Needs {
                registers: 16,
                locals: 0,
                ..all
            }),
            Scheme::Moved { free: 16 }
        );
        assert_eq!(
            choose(Needs {
                registers: 20,
                constructor: true,
                ..all
            }),
            Scheme::Moved { free: 20 }
        );
        assert_eq!(
            choose(Needs {
                registers: 1,
                locals: 1,
                ..all
            }),
            Scheme::Live {
                id: 1,
                spare: false
            }
        );
    }

    #[test]
    fn registers_are_renumbered_in_every_format() {
        let renumbered = |units: &[u16]| {
            let mut bytes = code(units);
            renumber(&mut bytes, 0, Shift { first: 2, by: 1 });
            bytes
                .chunks_exact(2)
                .map(|u| u16::from_le_bytes([u[0], u[1]]))
                .collect::<Vec<_>>()
        };
        assert_eq!(renumbered(&[0x000e]), [0x000e]);
        assert_eq!(renumbered(&[0x2101]), [0x3101]);
        assert_eq!(renumbered(&[0x2212]), [0x2312]);
        assert_eq!(renumbered(&[0x020f]), [0x030f]);
        assert_eq!(renumbered(&[0x0202, 1]), [0x0302, 1]);
        assert_eq!(renumbered(&[0x0003, 1, 2]), [0x0003, 1, 3]);
        assert_eq!(renumbered(&[0x0138, 5]), [0x0138, 5]);
        assert_eq!(renumbered(&[0x0190, 0x0302]), [0x0190, 0x0403]);
        assert_eq!(renumbered(&[0x02d8, 0x0302]), [0x03d8, 0x0303]);
        assert_eq!(renumbered(&[0x2152, 5]), [0x3152, 5]);
        assert_eq!(renumbered(&[0x0214, 2, 2]), [0x0314, 2, 2]);
        assert_eq!(renumbered(&[0x3071, 9, 0x0210]), [0x3071, 9, 0x0310]);
        assert_eq!(renumbered(&[0x5371, 9, 0x2121]), [0x5471, 9, 0x3131]);
        // Unused places of a list stay 0.
        assert_eq!(renumbered(&[0x1071, 9, 0x0002]), [0x1071, 9, 0x0003]);
        assert_eq!(renumbered(&[0x0277, 9, 2]), [0x0277, 9, 3]);
        assert_eq!(renumbered(&[0x0277, 9, 0]), [0x0277, 9, 0]);
        // A range over the border becomes a list.
        assert_eq!(renumbered(&[0x0377, 9, 1]), [0x3071, 9, 0x0431]);
        assert_eq!(renumbered(&[0x0225, 9, 1]), [0x2024, 9, 0x0031]);
    }

    #[test]
    fn pairs_and_long_ranges_straddle() {
        let straddles = |units: &[u16]| straddles(insn::at(&code(units), 0).unwrap(), 2);
        assert!(straddles(&[0x1204])); // move-wide v2, v1
        assert!(!straddles(&[0x2004]));
        assert!(!straddles(&[0x1201]));
        assert!(straddles(&[0x039b, 0x0105])); // add-long v3, v5, v1
        assert!(!straddles(&[0x0577, 9, 1]));
        assert!(straddles(&[0x0677, 9, 1]));
        assert!(!straddles(&[0x0677, 9, 2]));
    }

    #[test]
    fn numbers_and_moves_take_the_smallest_form() {
        let const_of = |register, value| {
            let mut out = vec![];
            put_const(&mut out, register, value);
            let insn = insn::at(&out, 0).unwrap();
            assert_eq!((insn.a, insn.value as u32), (register, value));
            assert_eq!(insn.len as usize * 2, out.len());
            insn.op().name
        };
        assert_eq!(const_of(3, 7), "const/4");
        assert_eq!(const_of(15, u32::MAX), "const/4");
        assert_eq!(const_of(16, 7), "const/16");
        assert_eq!(const_of(0, 0x7fff), "const/16");
        assert_eq!(const_of(0, 0x8000_0000), "const/high16");
        assert_eq!(const_of(0, 0x1_8000), "const");
        let mut pair = vec![];
        put_const_wide_0(&mut pair, 255);
        let insn = insn::at(&pair, 0).unwrap();
        assert_eq!((insn.op().name, insn.a), ("const-wide/16", 255));
        assert_eq!((insn.value, pair.len()), (0, 4));
        let move_of = |to, from| {
            let mut out = vec![];
            put_move(&mut out, Width::Object, to, from);
            let insn = insn::at(&out, 0).unwrap();
            assert_eq!((insn.a, insn.b), (to, from));
            insn.op().name
        };
        assert_eq!(move_of(15, 15), "move-object");
        assert_eq!(move_of(255, 16), "move-object/from16");
        assert_eq!(move_of(256, 3), "move-object/16");
        let goto_of = |distance| {
            let mut out = vec![];
            put_goto(&mut out, distance);
            let insn = insn::at(&out, 0).unwrap();
            assert_eq!(insn.value, i64::from(distance));
            insn.op().name
        };
        assert_eq!(goto_of(-128), "goto");
        assert_eq!(goto_of(128), "goto/16");
        assert_eq!(goto_of(-32769), "goto/32");
    }
}
