//! Debug info: lines and local variables at new addresses, in new registers (dex "debug_info_item").

use crate::bytes::{Cursor, put_uleb32};
use crate::dex::format::code_item::{put_sleb32, sleb32};
use crate::dex::format::remap::{Remap, new_index};
use crate::dex::lower::Moves;
use crate::error::{Error, Result};
use std::ops::Range;

/// Opcodes of the state machine, and what its special opcodes step by.
pub(crate) mod dbg {
    pub const END_SEQUENCE: u8 = 0;
    pub const ADVANCE_PC: u8 = 1;
    pub const ADVANCE_LINE: u8 = 2;
    /// The first opcode that makes an entry of the line table.
    pub const SPECIAL: u8 = 10;
    /// The smallest step of lines that such an opcode makes...
    pub const LINE_BASE: i32 = -4;
    /// ...and how many there are.
    pub const LINE_RANGE: u32 = 15;
}

/// An operand of an opcode.
#[derive(Clone, Copy)]
enum Operand {
    /// `uleb128`.
    Address,
    /// `sleb128`.
    Lines,
    /// `uleb128`.
    Register,
    /// `uleb128p1`: an index with one added, or 0 for none.
    String,
    /// As above.
    Type,
}

/// The operands of the opcodes below [`dbg::SPECIAL`].
const OPERANDS: [&[Operand]; dbg::SPECIAL as usize] = {
    use Operand::{Address, Lines, Register, String, Type};
    [
        &[],
        &[Address],
        &[Lines],
        &[Register, String, Type],
        &[Register, String, Type, String],
        &[Register],
        &[Register],
        &[],
        &[],
        &[String],
    ]
};

/// What was read on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebugInfo {
    /// The first line, or 0.
    pub line: u32,
    /// Bytes of the old item that were read.
    pub len: usize,
}

/// Appends the `debug_info_item` at an offset with new indices, all else as it is; `first` is one more parameter in front of
/// the others, its name's index with one added or 0 for none. Returns the bytes of the old item.
pub(crate) fn copy(
    bytes: &[u8],
    at: usize,
    remap: &Remap,
    first: Option<u32>,
    out: &mut Vec<u8>,
) -> Result<usize> {
    let mut cursor = Cursor::at(bytes, at);
    let mut copied = at;
    if let Some(first) = first {
        put_uleb32(out, cursor.uleb32()?);
        put_uleb32(out, cursor.uleb32()?.saturating_add(1));
        put_uleb32(out, first);
        copied = cursor.position();
        cursor = Cursor::at(bytes, at);
    }
    let mut index = |cursor: &mut Cursor<'_>, table: &[u32]| -> Result<()> {
        let at = cursor.position();
        let old = cursor.uleb32()?;
        if let Some(old_index) = old.checked_sub(1) {
            let new = new_index(table, old_index, at)?;
            if new != old_index {
                out.extend_from_slice(&bytes[copied..at]);
                put_uleb32(out, new + 1);
                copied = cursor.position();
            }
        }
        Ok(())
    };
    cursor.uleb32()?;
    for _ in 0..cursor.uleb32()? {
        index(&mut cursor, &remap.strings)?;
    }
    loop {
        let opcode = cursor.u8()?;
        if opcode == dbg::END_SEQUENCE {
            break;
        }
        for operand in OPERANDS.get(usize::from(opcode)).copied().unwrap_or(&[]) {
            match operand {
                Operand::Address | Operand::Register => {
                    cursor.uleb32()?;
                }
                // Signed or not, a LEB128 number ends where it ends.
                Operand::Lines => while cursor.u8()? & 0x80 != 0 {},
                Operand::String => index(&mut cursor, &remap.strings)?,
                Operand::Type => index(&mut cursor, &remap.types)?,
            }
        }
    }
    out.extend_from_slice(&bytes[copied..cursor.position()]);
    Ok(cursor.position() - at)
}

/// Appends the `debug_info_item` at an offset with new addresses, registers and indices. Compilers share items between
/// methods of different lengths, so entries behind the end of the code are left out. `first`: see [`copy`].
pub fn rewrite(
    file: &[u8],
    at: usize,
    moves: Moves<'_>,
    remap: &Remap,
    first: Option<u32>,
    out: &mut Vec<u8>,
) -> Result<DebugInfo> {
    let cursor = Cursor::at(file, at);
    let mut rewriter = Rewriter {
        cursor,
        moves,
        remap,
        unmoved: 0..0,
        by: 0,
        old: 0,
        new: 0,
        pending: false,
        out,
    };
    let line = rewriter.item(first)?;
    Ok(DebugInfo {
        line,
        len: rewriter.cursor.position() - at,
    })
}

/// The first line of the `debug_info_item` at an offset, or 0.
pub(crate) fn first_line(file: &[u8], at: usize) -> Result<u32> {
    let mut cursor = Cursor::at(file, at);
    let mut line = cursor.uleb32()?;
    let start = line;
    for _ in 0..cursor.uleb32()? {
        cursor.uleb32()?;
    }
    loop {
        match cursor.u8()? {
            opcode @ dbg::SPECIAL.. => {
                let adjusted = u32::from(opcode - dbg::SPECIAL);
                let step = dbg::LINE_BASE + (adjusted % dbg::LINE_RANGE) as i32;
                return Ok(line.wrapping_add_signed(step));
            }
            dbg::ADVANCE_LINE => line = line.wrapping_add_signed(sleb32(&mut cursor)?),
            dbg::END_SEQUENCE => return Ok(start),
            opcode => {
                for _ in OPERANDS[usize::from(opcode)] {
                    cursor.uleb32()?;
                }
            }
        }
    }
}

/// The lines of a `debug_info_item`: where each begins.
pub(crate) fn lines(mut cursor: Cursor<'_>) -> Result<Vec<(u32, u32)>> {
    let mut line = cursor.uleb32()?;
    for _ in 0..cursor.uleb32()? {
        cursor.uleb32()?;
    }
    let (mut pc, mut lines) = (0u32, vec![]);
    loop {
        match cursor.u8()? {
            opcode @ dbg::SPECIAL.. => {
                let adjusted = u32::from(opcode - dbg::SPECIAL);
                let step = dbg::LINE_BASE + (adjusted % dbg::LINE_RANGE) as i32;
                line = line.wrapping_add_signed(step);
                pc = pc.saturating_add(adjusted / dbg::LINE_RANGE);
                lines.push((pc, line));
            }
            dbg::ADVANCE_PC => pc = pc.saturating_add(cursor.uleb32()?),
            dbg::ADVANCE_LINE => line = line.wrapping_add_signed(sleb32(&mut cursor)?),
            dbg::END_SEQUENCE => return Ok(lines),
            opcode => {
                for _ in OPERANDS[usize::from(opcode)] {
                    cursor.uleb32()?;
                }
            }
        }
    }
}

/// Moves one `debug_info_item`.
struct Rewriter<'a, 'r> {
    cursor: Cursor<'a>,
    moves: Moves<'r>,
    remap: &'r Remap,
    /// Old pcs that all moved as far...
    unmoved: Range<u32>,
    /// ...which is this.
    by: i32,
    /// The address in the old code, and in the new code as far as it is written.
    old: u32,
    new: u32,
    /// An `advance_pc` was read that is not written yet.
    pending: bool,
    out: &'r mut Vec<u8>,
}

impl Rewriter<'_, '_> {
    /// Moves the whole item; returns its first line.
    fn item(&mut self, parameter: Option<u32>) -> Result<u32> {
        let start = self.number()?;
        let parameters = self.cursor.uleb32()?;
        let more = u32::from(parameter.is_some());
        put_uleb32(self.out, parameters.saturating_add(more));
        if let Some(name) = parameter {
            put_uleb32(self.out, name);
        }
        for _ in 0..parameters {
            self.index(&self.remap.strings)?;
        }
        let mut line = start;
        let mut first = None;
        loop {
            match self.cursor.u8()? {
                opcode @ dbg::SPECIAL.. => {
                    let adjusted = u32::from(opcode - dbg::SPECIAL);
                    let step = dbg::LINE_BASE + (adjusted % dbg::LINE_RANGE) as i32;
                    line = line.wrapping_add_signed(step);
                    first.get_or_insert(line);
                    self.old = self.old.saturating_add(adjusted / dbg::LINE_RANGE);
                    if self.moves.is_beyond(self.old) {
                        self.out.push(dbg::END_SEQUENCE);
                        break;
                    }
                    self.special(opcode, adjusted / dbg::LINE_RANGE)?;
                }
                dbg::ADVANCE_PC => {
                    self.old = self.old.saturating_add(self.cursor.uleb32()?);
                    self.pending = true;
                }
                opcode @ dbg::ADVANCE_LINE => {
                    let step = sleb32(&mut self.cursor)?;
                    line = line.wrapping_add_signed(step);
                    self.out.push(opcode);
                    put_sleb32(self.out, step);
                }
                dbg::END_SEQUENCE => {
                    self.out.push(dbg::END_SEQUENCE);
                    break;
                }
                opcode => self.at_address(opcode)?,
            }
        }
        Ok(first.unwrap_or(start))
    }

    /// Copies a number.
    fn number(&mut self) -> Result<u32> {
        let number = self.cursor.uleb32()?;
        put_uleb32(self.out, number);
        Ok(number)
    }

    fn index(&mut self, table: &[u32]) -> Result<()> {
        let at = self.cursor.position();
        let new = match self.cursor.uleb32()?.checked_sub(1) {
            None => 0,
            Some(old) => new_index(table, old, at)? + 1,
        };
        put_uleb32(self.out, new);
        Ok(())
    }

    #[inline]
    fn address(&mut self) -> u32 {
        if !self.unmoved.contains(&self.old) {
            (self.unmoved, self.by) = self.moves.calm(self.old);
            if !self.unmoved.contains(&self.old) {
                return self.moves.pc(self.old);
            }
        }
        self.old.wrapping_add_signed(self.by)
    }

    /// Writes a special opcode, whose old address was `advance` behind the one before.
    #[inline]
    fn special(&mut self, opcode: u8, advance: u32) -> Result<()> {
        let to = self.address();
        let distance = to.saturating_sub(self.new);
        self.new = to;
        if distance == advance && !self.pending {
            self.out.push(opcode);
            return Ok(());
        }
        // Hooks only lengthen code, so this is an address that exceeds 32 bits.
        let Some(more) = distance.checked_sub(advance) else {
            let at = self.cursor.position() - 1;
            return Err(Error::malformed(at, "addresses overflow"));
        };
        let single = more.saturating_mul(dbg::LINE_RANGE);
        match u8::try_from(single.saturating_add(u32::from(opcode))) {
            Ok(single) if !self.pending => self.out.push(single),
            _ => {
                self.out.push(dbg::ADVANCE_PC);
                put_uleb32(self.out, more);
                self.out.push(opcode);
            }
        }
        self.pending = false;
        Ok(())
    }

    /// Writes an opcode that says something of the address.
    fn at_address(&mut self, opcode: u8) -> Result<()> {
        let to = self.address();
        if to > self.new {
            self.out.push(dbg::ADVANCE_PC);
            put_uleb32(self.out, to - self.new);
            self.new = to;
            self.pending = false;
        }
        self.out.push(opcode);
        for operand in OPERANDS[usize::from(opcode)] {
            match operand {
                Operand::Register => {
                    let new = self.moves.register(self.cursor.uleb32()?);
                    put_uleb32(self.out, new);
                }
                Operand::String => self.index(&self.remap.strings)?,
                Operand::Type => self.index(&self.remap.types)?,
                Operand::Address | Operand::Lines => unreachable!("read by `item`"),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::dex::lower::registers::Scheme;
    use crate::edit::{Layout, Place};
    use proptest::prelude::*;

    fn map() -> Remap {
        Remap {
            strings: vec![0, 200],
            types: vec![3],
            ..Remap::default()
        }
    }

    const ITEM: &[u8] = &[
        10,
        1,
        2, // line 10, one parameter with the name 1
        7,
        0x0e, // prologue_end; line 10 at 0
        3,
        1,
        1,
        1,                 // start_local v1, string 0, type 0
        0x0e + 15 * 2 + 1, // line 11 at 2
        1,
        100,
        0x0e, // line 11 at 102
        5,
        1, // end_local v1
        0,
    ];

    /// Lines by address.
    pub fn lines(item: &[u8]) -> Vec<(u32, u32)> {
        let mut cursor = Cursor::new(item);
        let mut line = cursor.uleb32().unwrap();
        for _ in 0..cursor.uleb32().unwrap() {
            cursor.uleb32().unwrap();
        }
        let (mut pc, mut lines) = (0, vec![]);
        loop {
            match cursor.u8().unwrap() {
                0 => return lines,
                1 => pc += cursor.uleb32().unwrap(),
                2 => line = line.wrapping_add_signed(sleb32(&mut cursor).unwrap()),
                op @ 3..=4 => {
                    for _ in 0..op {
                        cursor.uleb32().unwrap();
                    }
                }
                5 | 6 | 9 => {
                    cursor.uleb32().unwrap();
                }
                7 | 8 => {}
                op => {
                    let op = u32::from(op) - 10;
                    line = (line + op % 15) - 4;
                    pc += op / 15;
                    lines.push((pc, line));
                }
            }
        }
    }

    #[test]
    fn what_does_not_move_gets_new_indexes_only() {
        let mut out = vec![];
        let info = rewrite(ITEM, 0, Moves::none(), &map(), None, &mut out).unwrap();
        assert_eq!((info.line, info.len), (10, ITEM.len()));
        assert_eq!(first_line(ITEM, 0).unwrap(), 10);
        let mut expected = ITEM.to_vec();
        expected[8] = 4;
        expected.splice(2..3, [0xc9, 1]);
        assert_eq!(out, expected);
    }

    #[test]
    fn addresses_and_registers_move() {
        let mut layout = Layout::default();
        layout.insert(0, Place::Prologue, 6);
        layout.insert(50, Place::Before, 30);
        layout.solve(|_, _| 0);
        let moves = Moves::new(
            &layout,
            Scheme::Live {
                id: 1,
                spare: false,
            },
            60,
        );
        let mut out = vec![];
        rewrite(ITEM, 0, moves, &map(), None, &mut out).unwrap();
        // What lies beyond the code is left out.
        assert_eq!(lines(&out), [(0, 10), (8, 11)]);
        let local = out.iter().position(|b| *b == 3).unwrap();
        assert_eq!(out[local + 1], 2);

        let moves = Moves::new(
            &layout,
            Scheme::Live {
                id: 1,
                spare: false,
            },
            103,
        );
        out.clear();
        rewrite(ITEM, 0, moves, &map(), None, &mut out).unwrap();
        assert_eq!(lines(&out), [(0, 10), (8, 11), (138, 11)]);
        assert_eq!(out[out.len() - 3..], [5, 2, 0]);
    }

    #[test]
    fn a_step_that_no_opcode_makes_takes_two() {
        let mut layout = Layout::default();
        layout.insert(1, Place::Before, 40);
        layout.solve(|_, _| 0);
        let moves = Moves::new(&layout, Scheme::Dead, 9);
        let item = [1, 0, 0x0e, 0x0e + 15 * 2, 0];
        let mut out = vec![];
        rewrite(&item, 0, moves, &map(), None, &mut out).unwrap();
        assert_eq!(out, [1, 0, 0x0e, 1, 40, 0x0e + 30, 0]);
    }

    #[test]
    fn an_index_beyond_its_table_is_told() {
        let e = rewrite(&[1, 1, 9], 0, Moves::none(), &map(), None, &mut vec![]).unwrap_err();
        insta::assert_snapshot!(e, @"index 8 of a table of 2 (at byte 0x2)");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let mut layout = Layout::default();
            layout.insert(3, Place::Before, 40);
            layout.solve(|_, _| 0);
            let moves = Moves::new(&layout, Scheme::Live { id: 1, spare: false }, 9);
            let mut out = vec![];
            let _ = rewrite(&bytes, 0, moves, &map(), None, &mut out);
            prop_assert!(out.len() <= 8 * bytes.len() + 16);
        }
    }
}
