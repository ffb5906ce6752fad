//! The lines of a `debug_info_item`.

use crate::aspect::joinpoint::LineStart;
use crate::bytes::Cursor;
use crate::dex::format::code_item::{Code, sleb32};
use crate::dex::format::insn;
use crate::error::Result;

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

/// How many numbers follow the opcodes below [`dbg::SPECIAL`].
const NUMBERS: [u8; dbg::SPECIAL as usize] = [0, 1, 1, 3, 4, 1, 1, 0, 0, 1];

/// Most parameters that a method takes.
const MOST_PARAMETERS: u32 = 255;

/// The most bytes that are read for a method, and for each of its code units: many methods can share one item.
const MOST_BYTES: usize = 1 << 16;
const MOST_BYTES_OF_UNIT: usize = 64;

/// The source lines of a body, ascending by where each begins; none where they are pcs, as R8 writes them.
pub fn lines(file: &[u8], code: &Code<'_>) -> Result<Vec<LineStart>> {
    let at = code.debug_info as usize;
    let units = insn::units(code.insns);
    let mut lines = Vec::new();
    if at == 0 {
        return Ok(lines);
    }
    let mut cursor = Cursor::at(file, at);
    let mut line = cursor.uleb32()?;
    let parameters = cursor.uleb32()?;
    for _ in 0..parameters.min(MOST_PARAMETERS + 1) {
        cursor.uleb32()?;
    }
    let end = at + MOST_BYTES_OF_UNIT * units as usize + MOST_BYTES;
    let mut pc = 0u32;
    // Compilers share items between methods of different lengths.
    while parameters <= MOST_PARAMETERS && pc < units && cursor.position() < end {
        match cursor.u8()? {
            opcode @ dbg::SPECIAL.. => {
                let adjusted = u32::from(opcode - dbg::SPECIAL);
                let step = dbg::LINE_BASE + (adjusted % dbg::LINE_RANGE) as i32;
                line = line.wrapping_add_signed(step);
                pc = pc.saturating_add(adjusted / dbg::LINE_RANGE);
                if pc < units {
                    lines.push(LineStart { at: pc, line });
                }
            }
            dbg::ADVANCE_PC => pc = pc.saturating_add(cursor.uleb32()?),
            dbg::ADVANCE_LINE => line = line.wrapping_add_signed(sleb32(&mut cursor)?),
            dbg::END_SEQUENCE => break,
            opcode => {
                for _ in 0..NUMBERS[usize::from(opcode)] {
                    cursor.uleb32()?;
                }
            }
        }
    }
    let first = lines.first().map_or(0, |first| first.line);
    let are_pcs = (0..units)
        .zip(&lines)
        .all(|(pc, start)| start.at == pc && start.line == first.wrapping_add(pc));
    if are_pcs && lines.len() == units as usize && units > 1 {
        lines.clear();
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::put_uleb32;
    use crate::dex::testing::Body;

    /// The lines of a body of six code units whose debug info begins with line 7.
    fn lines_of(units: usize, items: &[u8]) -> Vec<(u32, u32)> {
        let mut bytes = Body::new(1, 0, &vec![0x000e; units]).bytes();
        let at = bytes.len();
        bytes[8..12].copy_from_slice(&(at as u32).to_le_bytes());
        put_uleb32(&mut bytes, 7);
        put_uleb32(&mut bytes, 1);
        put_uleb32(&mut bytes, 0);
        bytes.extend_from_slice(items);
        let lines = lines(&bytes, &Code::read(&bytes, 0).unwrap()).unwrap();
        lines.iter().map(|start| (start.at, start.line)).collect()
    }

    #[test]
    fn each_line_is_where_it_begins() {
        // 7 at 0; a local; two further, -3; at 9, behind the code, 8.
        let found = lines_of(6, &[0x0e, 3, 0, 1, 1, 1, 2, 2, 0x7d, 0x0e, 1, 7, 0x12, 0]);
        assert_eq!(found, [(0, 7), (2, 4)]);
        assert_eq!(lines_of(6, &[0]), []);
    }

    #[test]
    fn lines_that_are_pcs_are_none() {
        let step = dbg::SPECIAL + 4 + 1 + 15;
        assert_eq!(lines_of(3, &[0x0e, step, step, 0]), []);
        assert_eq!(
            lines_of(4, &[0x0e, step, step, 0]),
            [(0, 7), (1, 8), (2, 9)]
        );
    }

    #[test]
    fn damaged_debug_info_is_an_error_or_no_lines() {
        let mut bytes = Body::new(1, 0, &[0x000e]).bytes();
        let at = bytes.len() as u32;
        bytes[8..12].copy_from_slice(&at.to_le_bytes());
        bytes.push(7);
        assert!(lines(&bytes, &Code::read(&bytes, 0).unwrap()).is_err());
    }
}
