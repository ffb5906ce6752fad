//! Methods whose lines are pcs.
//!
//! Without debug info a stack trace has the pc in place of the line, from Android 8.0 (API level 26) on. R8 relies on that:
//! its `mapping.txt` maps pcs, and methods have no debug info, or, for older devices, many methods share one item with
//! line `n + k` at each pc `n`. Hooks move the pcs, so woven methods get debug info with the old pcs as lines, for
//! instructions that can throw; `retrace` works as before.

use crate::bytes::{Cursor, put_uleb32};
use crate::dex::format::code_item::put_sleb32;
use crate::dex::format::debug_lines::dbg;
use crate::dex::lower::Moves;
use crate::error::Result;

/// Lines that are pcs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PcLines {
    /// The number of parameters; none has a name.
    pub parameters: u32,
    /// The line at pc 0.
    pub first: u32,
}

impl PcLines {
    /// Reads the `debug_info_item` at an offset; nothing where its lines are more than pcs in a code of `units` code
    /// units.
    pub fn read(file: &[u8], at: usize, units: u32) -> Result<Option<PcLines>> {
        let mut cursor = Cursor::at(file, at);
        let start = cursor.uleb32()?;
        let parameters = cursor.uleb32()?;
        // No method takes more, and what is read here must be little.
        if parameters > 0xff {
            return Ok(None);
        }
        for _ in 0..parameters {
            if cursor.uleb32()? != 0 {
                return Ok(None);
            }
        }
        let step = |opcode: u8| {
            let adjusted = u32::from(opcode.wrapping_sub(dbg::SPECIAL));
            let line = dbg::LINE_BASE + (adjusted % dbg::LINE_RANGE) as i32;
            (adjusted / dbg::LINE_RANGE, line)
        };
        let opcode = cursor.u8()?;
        let first = match step(opcode) {
            (0, by) if opcode >= dbg::SPECIAL => start.checked_add_signed(by),
            _ => None,
        };
        let Some(first) = first else {
            return Ok(None);
        };
        for _ in 1..units {
            let opcode = cursor.u8()?;
            if opcode < dbg::SPECIAL || step(opcode) != (1, 1) {
                return Ok(None);
            }
        }
        Ok(Some(PcLines { parameters, first }))
    }

    /// Appends a `debug_info_item` for the instructions at these old pcs, which ascend; none for none.
    pub fn put(self, pcs: &[u32], moves: Moves<'_>, out: &mut Vec<u8>) {
        let line = |pc: u32| self.first.saturating_add(pc);
        let Some(&start) = pcs.first() else {
            return;
        };
        put_uleb32(out, line(start));
        put_uleb32(out, self.parameters);
        // No name is written as 0.
        out.resize(out.len() + self.parameters as usize, 0);
        let (mut last, mut address) = (line(start), 0);
        for &pc in pcs {
            let to = moves.pc(pc);
            put_step(line(pc) - last, to - address, out);
            (last, address) = (line(pc), to);
        }
        out.push(dbg::END_SEQUENCE);
    }
}

/// Appends an entry of the line table that lies so much behind the one before it.
fn put_step(mut line: u32, mut address: u32, out: &mut Vec<u8>) {
    const MOST: u32 = (dbg::LINE_BASE + dbg::LINE_RANGE as i32 - 1) as u32;
    if line > MOST {
        out.push(dbg::ADVANCE_LINE);
        put_sleb32(out, line as i32);
        line = 0;
    }
    let opcode = |line: u32, address: u32| {
        let adjusted = line + dbg::LINE_BASE.unsigned_abs() + dbg::LINE_RANGE * address;
        u8::try_from(adjusted + u32::from(dbg::SPECIAL)).ok()
    };
    // A step that no special opcode makes takes `advance_pc`.
    if address > u32::from(u8::MAX) || opcode(line, address).is_none() {
        out.push(dbg::ADVANCE_PC);
        put_uleb32(out, address);
        address = 0;
    }
    out.extend(opcode(line, address));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dex::bodies::debug_info::tests::lines;
    use crate::dex::lower::registers::Scheme;
    use crate::edit::{Layout, Place};

    /// Hooks of six code units at the start, and of 300 in front of pc 50.
    fn layout() -> Layout {
        let mut layout = Layout::default();
        layout.insert(0, Place::Prologue, 6);
        layout.insert(50, Place::Before, 300);
        layout.solve(|_, _| 0);
        layout
    }

    #[test]
    fn new_pcs_tell_the_old_ones() {
        let layout = layout();
        let moves = Moves::new(&layout, Scheme::Dead, 100);
        let lines_of = |first, pcs: &[u32]| {
            let mut out = vec![];
            let all = PcLines {
                parameters: 2,
                first,
            };
            all.put(pcs, moves, &mut out);
            lines(&out)
        };
        assert_eq!(
            lines_of(0, &[1, 4, 40, 60, 61]),
            [(7, 1), (10, 4), (46, 40), (366, 60), (367, 61)]
        );
        assert_eq!(lines_of(1, &[0, 60]), [(0, 1), (366, 61)]);
        let mut out = vec![];
        PcLines {
            parameters: 2,
            first: 0,
        }
        .put(&[], moves, &mut out);
        assert!(out.is_empty());
    }

    #[test]
    fn a_shared_item_of_pcs_is_known() {
        let step = dbg::SPECIAL + dbg::LINE_RANGE as u8 + 5;
        let flat = dbg::SPECIAL + 4;
        let shared = [&[1, 1, 0, flat][..], &[step; 9], &[0]].concat();
        let lines = Some(PcLines {
            parameters: 1,
            first: 1,
        });
        // It covers ten code units; longer code needs more.
        for (units, wanted) in [(3, lines), (10, lines), (11, None)] {
            assert_eq!(PcLines::read(&shared, 0, units).unwrap(), wanted);
        }
        for (place, byte) in [(2, 1), (3, 7), (3, step), (5, flat), (6, 0)] {
            let mut other = shared.clone();
            other[place] = byte;
            assert_eq!(PcLines::read(&other, 0, 10).unwrap(), None, "{place}");
        }
        assert!(PcLines::read(&shared[..6], 0, 10).is_err());
    }
}
