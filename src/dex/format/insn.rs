//! Instructions: decoding, sizes, registers, branches and payloads (dex "Dalvik executable
//! instruction formats" and "Dalvik bytecode format").
//!
//! Code is a slice of little-endian bytes; a pc counts its 16-bit code units. Offsets in errors
//! count bytes from the start of the code.

use crate::dex::format::opcodes::{BRANCH, Format, Index, OPS, Op, op};
use crate::dex::format::remap::Remap;
use crate::error::{Error, Result};
use std::ops::Range;

/// Identifies the payload of a `packed-switch`; code unit at its start.
pub const PACKED_SWITCH_PAYLOAD: u16 = 0x0100;
/// Identifies the payload of a `sparse-switch`.
pub const SPARSE_SWITCH_PAYLOAD: u16 = 0x0200;
/// Identifies the payload of a `fill-array-data`.
pub const FILL_ARRAY_DATA_PAYLOAD: u16 = 0x0300;

/// A decoded instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Insn {
    /// Where it lies, in code units.
    pub pc: u32,
    /// Its length in code units.
    pub len: u32,
    /// Its opcode: `nop` for payloads.
    pub opcode: u8,
    /// Data that a `switch` or a `fill-array-data` points to; never executed.
    pub is_payload: bool,
    /// The first register, or how many arguments there are.
    pub a: u32,
    /// The second register.
    pub b: u32,
    /// The third register, or the first of a range of arguments.
    pub c: u32,
    /// The index, the literal (as the instruction means it), or the distance of a branch.
    pub value: i64,
}

impl Insn {
    /// The registers that it writes.
    pub fn written(&self) -> Range<u32> {
        match self.op().registers.bytes().next() {
            Some(kind @ b'A'..=b'Z') => {
                self.a..self.a + 1 + u32::from(matches!(kind, b'W' | b'J' | b'D'))
            }
            _ => 0..0,
        }
    }

    /// What is known of the opcode.
    #[inline]
    pub fn op(&self) -> &'static Op {
        &OPS[self.opcode as usize]
    }

    /// The pc behind it.
    #[inline]
    pub fn end(&self) -> u32 {
        self.pc + self.len
    }

    /// The index into some table.
    pub fn index(&self) -> u32 {
        self.value as u32
    }

    /// Where a branch goes, or where a payload lies.
    pub fn target(&self, code: &[u8]) -> Result<u32> {
        target(code, self.pc, self.value)
    }
}

fn target(code: &[u8], from: u32, distance: i64) -> Result<u32> {
    let target = i64::from(from) + distance;
    match u32::try_from(target) {
        Ok(pc) if pc < units(code) => Ok(pc),
        _ => Err(malformed(
            from,
            format!("branch to {target}, outside the code"),
        )),
    }
}

#[cold]
fn malformed(pc: u32, what: impl Into<String>) -> Error {
    Error::malformed(pc as usize * 2, what)
}

/// Length of code in code units.
#[inline]
pub fn units(code: &[u8]) -> u32 {
    (code.len() / 2) as u32
}

/// The code unit at `pc`, which must lie within the code.
#[inline]
pub fn unit(code: &[u8], pc: u32) -> u16 {
    let at = pc as usize * 2;
    u16::from_le_bytes([code[at], code[at + 1]])
}

/// Overwrites the code unit at `pc`.
#[inline]
pub fn set_unit(code: &mut [u8], pc: u32, value: u16) {
    let at = pc as usize * 2;
    code[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

/// The two code units at `pc`, which must lie within the code.
pub fn wide(code: &[u8], pc: u32) -> u32 {
    u32::from(unit(code, pc)) | u32::from(unit(code, pc + 1)) << 16
}

/// Overwrites the two code units at `pc`.
pub fn set_wide(code: &mut [u8], pc: u32, value: u32) {
    let at = pc as usize * 2;
    code[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// The length of the instruction at `pc`, and whether it is a payload. Both ends lie in the code.
#[inline]
pub fn length(code: &[u8], pc: u32) -> Result<(u32, bool)> {
    let all = units(code);
    if pc >= all {
        return Err(malformed(pc, "the code ends here"));
    }
    let first = unit(code, pc);
    let units = u32::from(OPS[(first & 0xff) as usize].units);
    let is_payload = first & 0xff == 0 && first != 0;
    if is_payload || units == 0 || units > all - pc {
        return unusual_length(code, pc, first);
    }
    Ok((units, false))
}

/// The length of a payload, or what is wrong with an instruction.
#[cold]
fn unusual_length(code: &[u8], pc: u32, first: u16) -> Result<(u32, bool)> {
    if first & 0xff == 0 && first != 0 {
        let len = payload_length(code, pc, first)?;
        if len <= u64::from(units(code) - pc) {
            return Ok((len as u32, true));
        }
    } else if OPS[(first & 0xff) as usize].units == 0 {
        let what = format!("{:#04x} is not an instruction", first & 0xff);
        return Err(malformed(pc, what));
    }
    Err(malformed(pc, "instruction exceeds the code"))
}

fn payload_length(code: &[u8], pc: u32, ident: u16) -> Result<u64> {
    let all = units(code);
    if pc + 1 >= all {
        return Err(malformed(pc, "payload exceeds the code"));
    }
    let size = u64::from(unit(code, pc + 1));
    Ok(match ident {
        PACKED_SWITCH_PAYLOAD => size * 2 + 4,
        SPARSE_SWITCH_PAYLOAD => size * 4 + 2,
        FILL_ARRAY_DATA_PAYLOAD => {
            if pc + 3 >= all {
                return Err(malformed(pc, "payload exceeds the code"));
            }
            (size * u64::from(wide(code, pc + 2))).div_ceil(2) + 4
        }
        _ => return Err(malformed(pc, format!("{ident:#06x} is not an instruction"))),
    })
}

/// Decodes the instruction at `pc`; all of it lies in the code.
#[inline]
pub fn at(code: &[u8], pc: u32) -> Result<Insn> {
    let (len, is_payload) = length(code, pc)?;
    let first = unit(code, pc);
    let mut insn = Insn {
        pc,
        len,
        opcode: first as u8,
        is_payload,
        ..Insn::default()
    };
    if is_payload {
        return Ok(insn);
    }
    let high = u32::from(first >> 8);
    let nibbles = (high & 15, high >> 4);
    let word = |n: u32| u32::from(unit(code, pc + n));
    let short = |n: u32| i64::from(unit(code, pc + n) as i16);
    let int = |n: u32| i64::from(wide(code, pc + n) as i32);
    match insn.op().format {
        Format::F10x => {}
        Format::F12x => (insn.a, insn.b) = nibbles,
        Format::F11n => {
            insn.a = nibbles.0;
            insn.value = i64::from(first as i16 >> 12);
        }
        Format::F11x => insn.a = high,
        Format::F10t => insn.value = i64::from(high as u8 as i8),
        Format::F20t => insn.value = short(1),
        Format::F30t => insn.value = int(1),
        Format::F22x => (insn.a, insn.b) = (high, word(1)),
        Format::F32x => (insn.a, insn.b) = (word(1), word(2)),
        Format::F21t | Format::F21s => (insn.a, insn.value) = (high, short(1)),
        Format::F21h => {
            let shift = if insn.opcode == op::CONST_HIGH16 {
                16
            } else {
                48
            };
            (insn.a, insn.value) = (high, short(1) << shift);
        }
        Format::F21c => (insn.a, insn.value) = (high, i64::from(word(1))),
        Format::F23x => (insn.a, insn.b, insn.c) = (high, word(1) & 0xff, word(1) >> 8),
        Format::F22b => {
            (insn.a, insn.b) = (high, word(1) & 0xff);
            insn.value = i64::from((word(1) >> 8) as u8 as i8);
        }
        Format::F22t | Format::F22s => {
            (insn.a, insn.b) = nibbles;
            insn.value = short(1);
        }
        Format::F22c => {
            (insn.a, insn.b) = nibbles;
            insn.value = i64::from(word(1));
        }
        Format::F31i | Format::F31t => (insn.a, insn.value) = (high, int(1)),
        Format::F31c => (insn.a, insn.value) = (high, i64::from(wide(code, pc + 1))),
        Format::F35c | Format::F45cc => {
            (insn.a, insn.value) = (high >> 4, i64::from(word(1)));
            if insn.a > 5 {
                return Err(malformed(
                    pc,
                    format!("{} arguments in a list of five", insn.a),
                ));
            }
        }
        Format::F3rc | Format::F4rcc => {
            (insn.a, insn.c, insn.value) = (high, word(2), i64::from(word(1)));
        }
        Format::F51l => {
            insn.a = high;
            insn.value = i64::from(wide(code, pc + 1)) | i64::from(wide(code, pc + 3)) << 32;
        }
    }
    Ok(insn)
}

/// All instructions from pc 0 on, payloads included.
pub fn each(code: &[u8]) -> impl Iterator<Item = Result<Insn>> + '_ {
    let mut pc = 0;
    std::iter::from_fn(move || {
        if pc >= units(code) {
            return None;
        }
        let insn = at(code, pc);
        pc = insn.as_ref().map_or(u32::MAX, Insn::end);
        Some(insn)
    })
}

/// Whether some instruction writes a register.
pub fn writes(code: &[u8], register: u32) -> Result<bool> {
    for insn in each(code) {
        if insn?.written().contains(&register) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The arguments of an invocation or of a `filled-new-array`, register by register.
pub fn arguments(code: &[u8], insn: Insn) -> impl ExactSizeIterator<Item = u32> {
    let is_list = matches!(insn.op().format, Format::F35c | Format::F45cc);
    let (list, fifth) = if is_list {
        let first = u32::from(unit(code, insn.pc));
        (u32::from(unit(code, insn.pc + 2)), first >> 8 & 15)
    } else {
        (0, 0)
    };
    (0..insn.a as usize).map(move |i| match i {
        i if !is_list => insn.c + i as u32,
        4 => fifth,
        i => list >> (4 * i) & 15,
    })
}

/// A `packed-switch` or `sparse-switch` payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchPayload {
    /// Where the payload lies.
    pub pc: u32,
    /// How many cases.
    pub size: u32,
    /// Where the targets begin, relative to the code; 32 bits each, relative to the switch.
    pub targets: u32,
}

pub fn switch_payload(code: &[u8], switch: Insn) -> Result<SwitchPayload> {
    let pc = switch.target(code)?;
    let (ident, header, keys) = match switch.opcode {
        op::PACKED_SWITCH => (PACKED_SWITCH_PAYLOAD, 4, 0),
        _ => (SPARSE_SWITCH_PAYLOAD, 2, 2),
    };
    if unit(code, pc) != ident {
        return Err(malformed(
            switch.pc,
            format!("no payload at {pc} for the switch"),
        ));
    }
    length(code, pc)?;
    let size = u32::from(unit(code, pc + 1));
    Ok(SwitchPayload {
        pc,
        size,
        targets: pc + header + keys * size,
    })
}

/// Shows the targets of a switch, which may come more than once.
pub fn switch_targets(code: &[u8], switch: Insn, mut each: impl FnMut(u32)) -> Result<()> {
    let payload = switch_payload(code, switch)?;
    for i in 0..payload.size {
        let distance = wide(code, payload.targets + 2 * i) as i32;
        each(target(code, switch.pc, i64::from(distance))?);
    }
    Ok(())
}

/// Shows where an instruction branches to: the target of `goto` and `if`, the cases of a switch.
pub fn targets(code: &[u8], insn: Insn, mut each: impl FnMut(u32)) -> Result<()> {
    if insn.op().has(BRANCH) {
        each(insn.target(code)?);
    } else if matches!(insn.opcode, op::PACKED_SWITCH | op::SPARSE_SWITCH) {
        switch_targets(code, insn, each)?;
    }
    Ok(())
}

/// Whether code is straight-line: no call but those that may be there, by the numbers of their methods, no array, no
/// monitor, no backward branch. False for code that cannot be read.
pub fn is_straight_line(code: &[u8], may_call: impl Fn(u32) -> bool) -> bool {
    let mut all = each(code).peekable();
    let is_empty = all.peek().is_none();
    !is_empty
        && all.all(|insn| {
            let Ok(insn) = insn else {
                return false;
            };
            if insn.is_payload {
                return true;
            }
            let is_call = matches!(insn.opcode, 0x6e..=0x72 | 0x74..=0x78);
            // Monitors, arrays, calls by method handles and call sites.
            let mut back = is_call && !may_call(insn.index())
                || matches!(insn.opcode, 0x1d | 0x1e | 0x23..=0x26 | 0xfa..=0xfd);
            let walked = targets(code, insn, |target| back |= target <= insn.pc);
            walked.is_ok() && !back
        })
}

/// What [`remap`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remapped {
    /// All indexes are new.
    Done,
    /// Some `const-string` must become `const-string/jumbo`, which is longer: the code is
    /// half done and must be lowered from the original.
    NeedsJumbo,
}

/// Renumbers the indexes of some code in place. Its size does not change.
pub fn remap(code: &mut [u8], map: &Remap) -> Result<Remapped> {
    let mut pc = 0;
    let mut outcome = Remapped::Done;
    while pc < units(code) {
        let (len, is_payload) = length(code, pc)?;
        if !is_payload && remap_one(code, pc, map)? == Remapped::NeedsJumbo {
            outcome = Remapped::NeedsJumbo;
        }
        pc += len;
    }
    Ok(outcome)
}

/// Renumbers the index of the instruction at `pc`, whose length was checked.
#[inline]
pub fn remap_one(code: &mut [u8], pc: u32, map: &Remap) -> Result<Remapped> {
    let op = &OPS[(unit(code, pc) & 0xff) as usize];
    let table = match op.index {
        Index::None | Index::CallSite | Index::MethodHandle => return Ok(Remapped::Done),
        Index::String => &map.strings,
        Index::Type => &map.types,
        Index::Proto => &map.protos,
        Index::Field => &map.fields,
        Index::Method => &map.methods,
    };
    if op.format == Format::F31c {
        let new = lookup(table, wide(code, pc + 1), pc, op)?;
        set_wide(code, pc + 1, new);
        return Ok(Remapped::Done);
    }
    let new = lookup(table, u32::from(unit(code, pc + 1)), pc, op)?;
    match u16::try_from(new) {
        Ok(new) => set_unit(code, pc + 1, new),
        Err(_) if op.index == Index::String => return Ok(Remapped::NeedsJumbo),
        Err(_) => {
            let what = format!("{}: index {new} exceeds 16 bits", op.name);
            return Err(malformed(pc, what));
        }
    }
    if matches!(op.format, Format::F45cc | Format::F4rcc) {
        let new = lookup(&map.protos, u32::from(unit(code, pc + 3)), pc, op)?;
        let new = u16::try_from(new)
            .map_err(|_| malformed(pc, format!("{}: proto {new} exceeds 16 bits", op.name)))?;
        set_unit(code, pc + 3, new);
    }
    Ok(Remapped::Done)
}

#[inline]
fn lookup(table: &[u32], old: u32, pc: u32, op: &Op) -> Result<u32> {
    table.get(old as usize).copied().ok_or_else(|| {
        malformed(
            pc,
            format!("{}: index {old} of a table of {}", op.name, table.len()),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Code units as bytes.
    pub fn code(units: &[u16]) -> Vec<u8> {
        units.iter().flat_map(|u| u.to_le_bytes()).collect()
    }

    #[test]
    fn straight_line_code_calls_nothing_and_never_goes_back() {
        // if-eqz v0, +3; nop; return v0
        assert!(is_straight_line(
            &code(&[0x0038, 3, 0x0000, 0x000f]),
            |_| false
        ));
        for units in [
            &[0x0000, 0x0038, 0xffff, 0x000f][..],
            &[0x0071, 0, 0, 0x000e],
            &[0x001d, 0x000e],
            &[0x0123, 0, 0x000e],
            &[0x0038],
            &[],
        ] {
            assert!(!is_straight_line(&code(units), |_| false), "{units:x?}");
        }
    }

    #[test]
    fn every_format_is_decoded() {
        let decoded = |units: &[u16]| {
            let insn = at(&code(units), 0).unwrap();
            assert_eq!(insn.len as usize, units.len());
            (insn.op().name, insn.a, insn.b, insn.c, insn.value)
        };
        assert_eq!(decoded(&[0x0000]), ("nop", 0, 0, 0, 0));
        assert_eq!(decoded(&[0x2101]), ("move", 1, 2, 0, 0));
        assert_eq!(decoded(&[0xf312]), ("const/4", 3, 0, 0, -1));
        assert_eq!(decoded(&[0x100f]), ("return", 16, 0, 0, 0));
        assert_eq!(decoded(&[0xfe28]), ("goto", 0, 0, 0, -2));
        assert_eq!(decoded(&[0x0029, 0xfffe]), ("goto/16", 0, 0, 0, -2));
        assert_eq!(decoded(&[0x002a, 0, 1]), ("goto/32", 0, 0, 0, 65536));
        assert_eq!(
            decoded(&[0x2002, 0x1234]),
            ("move/from16", 0x20, 0x1234, 0, 0)
        );
        assert_eq!(decoded(&[0x0003, 300, 400]), ("move/16", 300, 400, 0, 0));
        assert_eq!(decoded(&[0x0138, 0xffff]), ("if-eqz", 1, 0, 0, -1));
        assert_eq!(decoded(&[0x0113, 0x8000]), ("const/16", 1, 0, 0, -32768));
        assert_eq!(
            decoded(&[0x0115, 0x8000]),
            ("const/high16", 1, 0, 0, i64::from(i32::MIN))
        );
        assert_eq!(
            decoded(&[0x0119, 0x4000]),
            ("const-wide/high16", 1, 0, 0, 0x4000 << 48)
        );
        assert_eq!(decoded(&[0x011a, 7]), ("const-string", 1, 0, 0, 7));
        assert_eq!(decoded(&[0x0190, 0x0302]), ("add-int", 1, 2, 3, 0));
        assert_eq!(decoded(&[0x01d8, 0xff02]), ("add-int/lit8", 1, 2, 0, -1));
        assert_eq!(decoded(&[0x2132, 0xffff]), ("if-eq", 1, 2, 0, -1));
        assert_eq!(decoded(&[0x21d0, 5]), ("add-int/lit16", 1, 2, 0, 5));
        assert_eq!(decoded(&[0x2152, 5]), ("iget", 1, 2, 0, 5));
        assert_eq!(decoded(&[0x0114, 1, 0x8000]).4, i64::from(i32::MIN) + 1);
        assert_eq!(decoded(&[0x011b, 1, 1]).4, 65537);
        assert_eq!(decoded(&[0x0118, 1, 0, 0, 0x8000]).4, i64::MIN + 1);
        assert_eq!(
            decoded(&[0x0377, 9, 300]),
            ("invoke-static/range", 3, 0, 300, 9)
        );
    }

    #[test]
    fn arguments_come_as_list_and_as_range() {
        let list = code(&[0x5571, 9, 0x4321]);
        let insn = at(&list, 0).unwrap();
        assert_eq!(arguments(&list, insn).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        let range = code(&[0x0377, 9, 300]);
        let insn = at(&range, 0).unwrap();
        assert_eq!(arguments(&range, insn).collect::<Vec<_>>(), [300, 301, 302]);
    }

    #[test]
    fn payloads_are_measured_and_switches_read() {
        // packed-switch v0, +4; nop; payload: 2 cases, first key 5, targets +3 and 0
        let packed = code(&[0x002b, 4, 0, 0, 0x0100, 2, 5, 0, 3, 0, 0, 0]);
        let insns: Vec<_> = each(&packed).map(|i| i.unwrap().len).collect();
        assert_eq!(insns, [3, 1, 8]);
        let mut seen = vec![];
        targets(&packed, at(&packed, 0).unwrap(), |t| seen.push(t)).unwrap();
        assert_eq!(seen, [3, 0]);
        let sparse = code(&[0x002c, 4, 0, 0, 0x0200, 1, 7, 0, 3, 0]);
        let mut seen = vec![];
        targets(&sparse, at(&sparse, 0).unwrap(), |t| seen.push(t)).unwrap();
        assert_eq!(seen, [3]);
        // five bytes
        assert_eq!(
            length(&code(&[0x0300, 1, 5, 0, 1, 2, 3]), 0).unwrap(),
            (7, true)
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let message = |units: &[u16]| {
            let code = code(units);
            let mut errors = each(&code).filter_map(Result::err);
            errors.next().unwrap().to_string()
        };
        insta::assert_snapshot!(message(&[0, 0x00e3]), @"0xe3 is not an instruction (at byte 0x2)");
        insta::assert_snapshot!(message(&[0x0014, 0]), @"instruction exceeds the code (at byte 0x0)");
        insta::assert_snapshot!(message(&[0x0300, 8, 0xffff, 0xffff]), @"instruction exceeds the code (at byte 0x0)");
        insta::assert_snapshot!(message(&[0x0400, 0]), @"0x0400 is not an instruction (at byte 0x0)");
        insta::assert_snapshot!(message(&[0x6071, 0, 0]), @"6 arguments in a list of five (at byte 0x0)");
    }

    fn shifted() -> Remap {
        Remap {
            strings: vec![1, 0x1_0000],
            types: vec![1, 2],
            protos: vec![3, 4],
            fields: vec![5, 6],
            methods: vec![7, 8],
        }
    }

    #[test]
    fn indexes_are_renumbered_in_place() {
        let mut insns = code(&[
            0x001a, 0, // const-string
            0x001c, 1, // const-class
            0x0052, 1, // iget
            0x00fa, 0, 0, 1, // invoke-polymorphic
            0x00fc, 9, 0, // invoke-custom
            0x00ff, 0, // const-method-type
            0x001b, 1, 0, // const-string/jumbo
            0x0300, 2, 1, 0, 0x001a, // a payload that looks like code
        ]);
        assert_eq!(remap(&mut insns, &shifted()).unwrap(), Remapped::Done);
        assert_eq!(
            insns,
            code(&[
                0x001a, 1, 0x001c, 2, 0x0052, 6, 0x00fa, 7, 0, 4, 0x00fc, 9, 0, 0x00ff, 3, 0x001b,
                0, 1, 0x0300, 2, 1, 0, 0x001a,
            ])
        );
        let mut far = code(&[0x001a, 1]);
        assert_eq!(remap(&mut far, &shifted()).unwrap(), Remapped::NeedsJumbo);
        let e = remap(&mut code(&[0, 0x001a, 2]), &shifted()).unwrap_err();
        insta::assert_snapshot!(e, @"const-string: index 2 of a table of 2 (at byte 0x2)");
    }

    proptest! {
        #[test]
        fn no_code_panics(mut bytes: Vec<u8>) {
            bytes.truncate(bytes.len() & !1);
            for insn in each(&bytes) {
                let Ok(insn) = insn else { break };
                prop_assert!(insn.len > 0 && insn.end() <= units(&bytes));
                if !insn.is_payload {
                    let _ = targets(&bytes, insn, |_| ());
                    if matches!(insn.op().format, Format::F35c | Format::F3rc) {
                        let _ = arguments(&bytes, insn).count();
                    }
                }
            }
            let _ = remap(&mut bytes, &shifted());
        }
    }
}
