//! The attributes of Code that hold pcs (JVMS 4.7.12-14, 4.7.20), moved.

use crate::bytes::Cursor;
use crate::edit::Layout;
use crate::error::{Error, Result};
use crate::jvm::class::{Class, Code, attributes};
use crate::jvm::pool::Known;
use crate::jvm::signature;

/// Appends a LineNumberTable; returns the line of its first entry. `early` are the pcs whose lines begin with the
/// insertion there, so that a debugger that steps out of `super()` does not stop at its line again.
pub fn put_lines(out: &mut Vec<u8>, data: &[u8], layout: &Layout, early: &[u32]) -> Result<u16> {
    let mut cursor = Cursor::new(data);
    let count = cursor.be_u16()?;
    out.extend_from_slice(&count.to_be_bytes());
    let mut first = (u16::MAX, 0);
    for _ in 0..count {
        let pc = cursor.be_u16()?;
        let line = cursor.be_u16()?;
        if pc < first.0 || first.1 == 0 {
            first = (pc, line);
        }
        let new = if early.contains(&u32::from(pc)) {
            layout.start(u32::from(pc))
        } else {
            layout.target(u32::from(pc))
        };
        out.extend_from_slice(&(new as u16).to_be_bytes());
        out.extend_from_slice(&line.to_be_bytes());
    }
    end(&cursor)?;
    Ok(first.1)
}

/// A method's frames; empty where it has none.
pub fn stack_map<'a>(class: &Class<'a>, code: &Code<'a>) -> Result<&'a [u8]> {
    let mut found: &[u8] = &[];
    attributes(class.bytes, code.attributes, |a| {
        if class.pool.which(a.name) == Some(Known::StackMapTable) {
            found = a.data;
        }
        Ok(())
    })?;
    Ok(found)
}

/// The line of a method's first instruction that has one, or 0.
pub fn first_line(class: &Class<'_>, code: &Code<'_>) -> Result<u16> {
    let mut line = 0;
    attributes(class.bytes, code.attributes, |a| {
        if line == 0 && class.pool.which(a.name) == Some(Known::LineNumberTable) {
            line = put_lines(&mut Vec::new(), a.data, &Layout::default(), &[])
                .map_err(|e| e.offset_by(a.offset()))?;
        }
        Ok(())
    })?;
    Ok(line)
}

/// Appends a LocalVariableTable or LocalVariableTypeTable: entries of start, length, name, type, slot.
pub fn put_variables(out: &mut Vec<u8>, data: &[u8], layout: &Layout) -> Result<()> {
    let mut cursor = Cursor::new(data);
    let count = cursor.be_u16()?;
    out.extend_from_slice(&count.to_be_bytes());
    for _ in 0..count {
        let (start, len) = moved_range(cursor.be_u16()?, cursor.be_u16()?, layout);
        out.extend_from_slice(&start.to_be_bytes());
        out.extend_from_slice(&len.to_be_bytes());
        out.extend_from_slice(cursor.take(6)?);
    }
    end(&cursor)
}

/// A variable's range: a parameter lives from the method's start, hooks included.
fn moved_range(start: u16, len: u16, layout: &Layout) -> (u16, u16) {
    let end = layout.start(u32::from(start) + u32::from(len));
    let new = if start == 0 {
        0
    } else {
        layout.target(u32::from(start))
    };
    (new as u16, end.saturating_sub(new).min(65_535) as u16)
}

/// Appends Runtime(In)VisibleTypeAnnotations of a Code attribute. Targets that name an entry of
/// the exception table stay valid, since the weaver's own entries come last; or `places` says where an entry is now.
pub fn put_type_annotations(
    out: &mut Vec<u8>,
    data: &[u8],
    layout: &Layout,
    places: Option<&[u16]>,
) -> Result<()> {
    let base = out.len();
    out.extend_from_slice(data);
    let mut put = |at: usize, value: u16| {
        out[base + at..base + at + 2].copy_from_slice(&value.to_be_bytes());
    };
    let mut cursor = Cursor::new(data);
    for _ in 0..cursor.be_u16()? {
        let target = cursor.u8()?;
        match target {
            // localvar, resource variable: table of ranges
            0x40 | 0x41 => {
                for _ in 0..cursor.be_u16()? {
                    let at = cursor.position();
                    let (start, len) = moved_range(cursor.be_u16()?, cursor.be_u16()?, layout);
                    put(at, start);
                    put(at + 2, len);
                    cursor.be_u16()?;
                }
            }
            // exception parameter: index into the exception table
            0x42 => {
                let at = cursor.position();
                let entry = usize::from(cursor.be_u16()?);
                if let Some(&place) = places.and_then(|places| places.get(entry)) {
                    put(at, place);
                }
            }
            // instanceof, new, method references: pc; casts and type arguments: pc and a number
            0x43..=0x4b => {
                let at = cursor.position();
                let pc = cursor.be_u16()?;
                put(at, layout.insn(u32::from(pc)) as u16);
                if target >= 0x47 {
                    cursor.u8()?;
                }
            }
            other => {
                return Err(Error::malformed(
                    cursor.position() - 1,
                    format!("type annotation in code with target {other:#04x}"),
                ));
            }
        }
        let path = cursor.u8()?;
        cursor.take(2 * usize::from(path))?;
        cursor.be_u16()?;
        signature::skip_element_pairs(&mut cursor)?;
    }
    end(&cursor)
}

fn end(cursor: &Cursor<'_>) -> Result<()> {
    match cursor.remaining() {
        0 => Ok(()),
        n => Err(Error::malformed(
            cursor.position(),
            format!("{n} bytes too many in the attribute"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Place;

    #[test]
    fn variables_and_lines_follow_their_instructions() {
        let mut layout = Layout::default();
        layout.insert(0, Place::Prologue, 6);
        layout.insert(8, Place::Before, 5);
        layout.solve(|_, _| 0);
        let mut out = vec![];
        // a parameter over all 9 bytes, a variable from 4 to 8
        let data = [
            0, 2, 0, 0, 0, 9, 1, 1, 1, 1, 0, 0, 0, 4, 0, 4, 2, 2, 2, 2, 0, 1,
        ];
        put_variables(&mut out, &data, &layout).unwrap();
        assert_eq!(
            out,
            [
                0, 2, 0, 0, 0, 20, 1, 1, 1, 1, 0, 0, 0, 10, 0, 4, 2, 2, 2, 2, 0, 1
            ]
        );
        let lines = [0, 2, 0, 0, 0, 7, 0, 8, 0, 9];
        let mut out = vec![];
        assert_eq!(put_lines(&mut out, &lines, &layout, &[0]).unwrap(), 7);
        assert_eq!(out, [0, 2, 0, 0, 0, 7, 0, 14, 0, 9]);
        let mut out = vec![];
        put_lines(&mut out, &lines, &layout, &[]).unwrap();
        assert_eq!(out[2..4], [0, 6]);
    }

    #[test]
    fn type_annotations_keep_catch_indices_and_move_pcs() {
        let mut layout = Layout::default();
        layout.insert(0, Place::Prologue, 6);
        layout.solve(|_, _| 0);
        // `new` at pc 3; a cast at pc 5, argument 1; catch of entry 2; each of type 9 without pairs
        let data = [
            0, 3, 0x44, 0, 3, 0, 0, 9, 0, 0, 0x47, 0, 5, 1, 0, 0, 9, 0, 0, 0x42, 0, 2, 0, 0, 9, 0,
            0,
        ];
        let mut out = vec![];
        put_type_annotations(&mut out, &data, &layout, None).unwrap();
        assert_eq!(out[4], 9);
        assert_eq!(out[12], 11);
        assert_eq!(out[21], 2);
        assert!(put_type_annotations(&mut out, &data[..20], &layout, None).is_err());
        let mut split = vec![];
        put_type_annotations(&mut split, &data, &layout, Some(&[0, 3, 5])).unwrap();
        assert_eq!(split[21], 5);
    }
}
