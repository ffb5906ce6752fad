//! Debug info: lines and local variables at new addresses, in new registers (dex "debug_info_item").

use crate::bytes::{Cursor, put_uleb32};
use crate::dex::code_item::{put_sleb32, sleb32};
use crate::dex::lower::Moves;
use crate::dex::remap::Remap;
use crate::error::{Error, Result};
use std::ops::Range;

/// Opcodes of the state machine, and what its special opcodes step by.
pub(super) mod dbg {
    #![allow(missing_docs, reason = "the names are the specification's")]
    pub const END_SEQUENCE: u8 = 0;
    pub const ADVANCE_PC: u8 = 1;
    pub const ADVANCE_LINE: u8 = 2;
    pub const START_LOCAL: u8 = 3;
    pub const START_LOCAL_EXTENDED: u8 = 4;
    pub const END_LOCAL: u8 = 5;
    pub const RESTART_LOCAL: u8 = 6;
    pub const PROLOGUE_END: u8 = 7;
    pub const EPILOGUE_BEGIN: u8 = 8;
    pub const SET_FILE: u8 = 9;
    /// The first opcode that makes an entry of the line table.
    pub const SPECIAL: u8 = 10;
    /// The smallest step of lines that such an opcode makes...
    pub const LINE_BASE: i32 = -4;
    /// ...and how many there are.
    pub const LINE_RANGE: u32 = 15;
}

/// What was read on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebugInfo {
    /// The first line, or 0.
    pub line: u32,
    /// Bytes of the old item that were read.
    pub len: usize,
}

/// Where addresses went that come in ascending order.
struct Addresses<'m> {
    moves: Moves<'m>,
    /// Old pcs that all moved as far...
    calm: Range<u32>,
    /// ...which is this.
    by: i32,
}

impl Addresses<'_> {
    #[inline]
    fn pc(&mut self, old: u32) -> u32 {
        if !self.calm.contains(&old) {
            (self.calm, self.by) = self.moves.calm(old);
            if !self.calm.contains(&old) {
                return self.moves.pc(old);
            }
        }
        old.wrapping_add_signed(self.by)
    }
}

/// Reads the `debug_info_item` at an offset of the file and appends it as it must be now. Indexes that the
/// tables do not have are an error. Compilers share items between methods of different lengths: what is about addresses
/// beyond the code is left out.
pub fn rewrite(
    file: &[u8],
    at: usize,
    moves: Moves<'_>,
    map: &Remap,
    out: &mut Vec<u8>,
) -> Result<DebugInfo> {
    let mut cursor = Cursor::at(file, at);
    let index = |cursor: &mut Cursor<'_>, table: &[u32], out: &mut Vec<u8>| {
        let place = cursor.position();
        // Indexes are written with one added; 0 is none.
        let new = match cursor.uleb32()? {
            0 => 0,
            old => match table.get(old as usize - 1) {
                Some(new) => new + 1,
                None => {
                    let what = format!("index {} of a table of {}", old - 1, table.len());
                    return Err(Error::malformed(place, what));
                }
            },
        };
        put_uleb32(out, new);
        Ok(())
    };
    let start = cursor.uleb32()?;
    put_uleb32(out, start);
    let parameters = cursor.uleb32()?;
    put_uleb32(out, parameters);
    for _ in 0..parameters {
        index(&mut cursor, &map.strings, out)?;
    }
    let mut line = start;
    let mut first = None;
    let mut addresses = Addresses {
        moves,
        calm: 0..0,
        by: 0,
    };
    let (mut old, mut new) = (0u32, 0u32);
    // The address has advanced, but that is not written yet.
    let mut pending = false;
    loop {
        let opcode = cursor.u8()?;
        if opcode >= dbg::SPECIAL {
            let adjusted = u32::from(opcode - dbg::SPECIAL);
            let step = dbg::LINE_BASE + (adjusted % dbg::LINE_RANGE) as i32;
            line = line.wrapping_add_signed(step);
            first.get_or_insert(line);
            let advance = adjusted / dbg::LINE_RANGE;
            old = old.saturating_add(advance);
            if moves.is_beyond(old) {
                out.push(dbg::END_SEQUENCE);
                break;
            }
            let to = addresses.pc(old);
            let distance = to.saturating_sub(new);
            new = to;
            if distance == advance && !pending {
                out.push(opcode);
                continue;
            }
            if distance < advance {
                // Never by our own moves, which only lengthen.
                return Err(Error::malformed(
                    cursor.position() - 1,
                    "addresses overflow",
                ));
            }
            let single = (distance - advance)
                .saturating_mul(dbg::LINE_RANGE)
                .saturating_add(u32::from(opcode));
            match u8::try_from(single) {
                Ok(single) if !pending => out.push(single),
                _ => {
                    out.push(dbg::ADVANCE_PC);
                    put_uleb32(out, distance - advance);
                    out.push(opcode);
                }
            }
            pending = false;
            continue;
        }
        if opcode == dbg::ADVANCE_PC {
            old = old.saturating_add(cursor.uleb32()?);
            pending = true;
            continue;
        }
        if opcode == dbg::ADVANCE_LINE {
            let step = sleb32(&mut cursor)?;
            line = line.wrapping_add_signed(step);
            out.push(opcode);
            put_sleb32(out, step);
            continue;
        }
        let to = addresses.pc(old);
        if opcode != dbg::END_SEQUENCE && to > new {
            out.push(dbg::ADVANCE_PC);
            put_uleb32(out, to - new);
            new = to;
            pending = false;
        }
        out.push(opcode);
        match opcode {
            dbg::END_SEQUENCE => break,
            dbg::START_LOCAL | dbg::START_LOCAL_EXTENDED => {
                put_uleb32(out, moves.register(cursor.uleb32()?));
                index(&mut cursor, &map.strings, out)?;
                index(&mut cursor, &map.types, out)?;
                if opcode == dbg::START_LOCAL_EXTENDED {
                    index(&mut cursor, &map.strings, out)?;
                }
            }
            dbg::END_LOCAL | dbg::RESTART_LOCAL => {
                put_uleb32(out, moves.register(cursor.uleb32()?));
            }
            dbg::SET_FILE => index(&mut cursor, &map.strings, out)?,
            dbg::PROLOGUE_END | dbg::EPILOGUE_BEGIN => {}
            _ => unreachable!("all opcodes below SPECIAL are known"),
        }
    }
    Ok(DebugInfo {
        line: first.unwrap_or(start),
        len: cursor.position() - at,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::dex::registers::Scheme;
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
        let info = rewrite(ITEM, 0, Moves::none(), &map(), &mut out).unwrap();
        assert_eq!((info.line, info.len), (10, ITEM.len()));
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
        rewrite(ITEM, 0, moves, &map(), &mut out).unwrap();
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
        rewrite(ITEM, 0, moves, &map(), &mut out).unwrap();
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
        rewrite(&item, 0, moves, &map(), &mut out).unwrap();
        assert_eq!(out, [1, 0, 0x0e, 1, 40, 0x0e + 30, 0]);
    }

    #[test]
    fn an_index_beyond_its_table_is_told() {
        let e = rewrite(&[1, 1, 9], 0, Moves::none(), &map(), &mut vec![]).unwrap_err();
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
            let _ = rewrite(&bytes, 0, moves, &map(), &mut out);
            prop_assert!(out.len() <= 8 * bytes.len() + 16);
        }
    }
}
