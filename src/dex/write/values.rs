//! Encoded values and annotations (`encoded_value`, `encoded_annotation`): passed over, or written with
//! new indices.
//!
//! New indices keep the order of the old ones, so that what is sorted by index stays sorted.

use crate::bytes::{Cursor, put_uleb32};
use crate::dex::format::remap::Remap;
use crate::dex::format::remap::new_index;
use crate::error::{Error, Result};

/// How deep arrays and annotations may lie in one another.
const DEPTH: u32 = 64;

/// `value_type` of an encoded value.
mod value {
    pub const BYTE: u8 = 0x00;
    pub const SHORT: u8 = 0x02;
    pub const CHAR: u8 = 0x03;
    pub const INT: u8 = 0x04;
    pub const LONG: u8 = 0x06;
    pub const FLOAT: u8 = 0x10;
    pub const DOUBLE: u8 = 0x11;
    pub const METHOD_TYPE: u8 = 0x15;
    pub const METHOD_HANDLE: u8 = 0x16;
    pub const STRING: u8 = 0x17;
    pub const TYPE: u8 = 0x18;
    pub const FIELD: u8 = 0x19;
    pub const METHOD: u8 = 0x1a;
    pub const ENUM: u8 = 0x1b;
    pub const ARRAY: u8 = 0x1c;
    pub const ANNOTATION: u8 = 0x1d;
    pub const NULL: u8 = 0x1e;
    pub const BOOLEAN: u8 = 0x1f;
}

/// Writes values with new indices. What needs none is copied in runs.
struct Rewriter<'a, 'r, 'o> {
    cursor: Cursor<'a>,
    bytes: &'a [u8],
    /// Everything before it has been written.
    copied: usize,
    remap: &'r Remap,
    out: &'o mut Vec<u8>,
}

/// Writes the `encoded_array` at an offset with new indices; returns where it ends.
pub(crate) fn array(bytes: &[u8], at: usize, remap: &Remap, out: &mut Vec<u8>) -> Result<usize> {
    let mut rewriter = Rewriter::new(bytes, at, remap, out);
    rewriter.array(DEPTH)?;
    Ok(rewriter.finish())
}

/// Writes the `encoded_array` of a class's static fields with one field more, a `long`: the array at an offset with new indices, or one
/// without values at 0. `before` has the descriptors of the fields in front. Returns how many bytes the array took.
///
/// Fields behind an array's end are zero (`class_def_item`: `static_values_off`).
pub(crate) fn array_with(
    bytes: &[u8],
    at: u32,
    remap: &Remap,
    (before, number): (&[&[u8]], i64),
    out: &mut Vec<u8>,
) -> Result<usize> {
    let mut cursor = Cursor::at(bytes, at as usize);
    let count = match at {
        0 => 0,
        _ => cursor.uleb32()? as usize,
    };
    let had = count.min(before.len());
    put_uleb32(out, (count.max(before.len()) as u32).saturating_add(1));
    let mut rewriter = Rewriter::new(bytes, cursor.position(), remap, out);
    for _ in 0..had {
        rewriter.value(DEPTH)?;
    }
    rewriter.copy_to(rewriter.cursor.position());
    for descriptor in &before[had..] {
        rewriter.out.extend_from_slice(zero(descriptor));
    }
    rewriter.out.push(7 << 5 | value::LONG);
    rewriter.out.extend_from_slice(&number.to_le_bytes());
    for _ in had..count {
        rewriter.value(DEPTH)?;
    }
    Ok(rewriter.finish() - at as usize)
}

/// The zero of a field's type, as an `encoded_value`.
fn zero(descriptor: &[u8]) -> &'static [u8] {
    match descriptor.first() {
        Some(b'Z') => &[value::BOOLEAN],
        Some(b'B') => &[value::BYTE, 0],
        Some(b'S') => &[value::SHORT, 0],
        Some(b'C') => &[value::CHAR, 0],
        Some(b'I') => &[value::INT, 0],
        Some(b'J') => &[value::LONG, 0],
        Some(b'F') => &[value::FLOAT, 0],
        Some(b'D') => &[value::DOUBLE, 0],
        _ => &[value::NULL],
    }
}

/// Writes the `annotation_item` at an offset with new indices; returns where it ends.
pub(crate) fn annotation(
    bytes: &[u8],
    at: usize,
    remap: &Remap,
    out: &mut Vec<u8>,
) -> Result<usize> {
    let mut rewriter = Rewriter::new(bytes, at, remap, out);
    rewriter.cursor.u8()?;
    rewriter.annotation(DEPTH)?;
    Ok(rewriter.finish())
}

impl<'a, 'r, 'o> Rewriter<'a, 'r, 'o> {
    fn new(
        bytes: &'a [u8],
        at: usize,
        remap: &'r Remap,
        out: &'o mut Vec<u8>,
    ) -> Rewriter<'a, 'r, 'o> {
        Rewriter {
            cursor: Cursor::at(bytes, at),
            bytes,
            copied: at,
            remap,
            out,
        }
    }

    /// Writes what was read since `copied`, up to `end`.
    fn copy_to(&mut self, end: usize) {
        self.out.extend_from_slice(&self.bytes[self.copied..end]);
        self.copied = self.cursor.position();
    }

    fn finish(mut self) -> usize {
        let end = self.cursor.position();
        self.copy_to(end);
        end
    }

    fn index(&mut self, table: &[u32]) -> Result<()> {
        let at = self.cursor.position();
        let old = self.cursor.uleb32()?;
        let new = new_index(table, old, at)?;
        if new != old {
            self.copy_to(at);
            put_uleb32(self.out, new);
        }
        Ok(())
    }

    fn annotation(&mut self, depth: u32) -> Result<()> {
        let remap = self.remap;
        self.index(&remap.types)?;
        for _ in 0..self.cursor.uleb32()? {
            self.index(&remap.strings)?;
            self.value(depth)?;
        }
        Ok(())
    }

    fn array(&mut self, depth: u32) -> Result<()> {
        for _ in 0..self.cursor.uleb32()? {
            self.value(depth)?;
        }
        Ok(())
    }

    fn value(&mut self, depth: u32) -> Result<()> {
        let at = self.cursor.position();
        let head = self.cursor.u8()?;
        let (arg, kind) = (usize::from(head >> 5), head & 0x1f);
        let remap = self.remap;
        let (most, table) = match kind {
            value::BYTE => (0, None),
            value::SHORT | value::CHAR => (1, None),
            value::INT | value::FLOAT | value::METHOD_HANDLE => (3, None),
            value::LONG | value::DOUBLE => (7, None),
            value::METHOD_TYPE => (3, Some(&remap.protos)),
            value::STRING => (3, Some(&remap.strings)),
            value::TYPE => (3, Some(&remap.types)),
            value::FIELD | value::ENUM => (3, Some(&remap.fields)),
            value::METHOD => (3, Some(&remap.methods)),
            value::NULL | value::BOOLEAN => return Ok(()),
            value::ARRAY | value::ANNOTATION => {
                let Some(depth) = depth.checked_sub(1) else {
                    return Err(Error::malformed(at, "values lie too deep in one another"));
                };
                return match kind {
                    value::ARRAY => self.array(depth),
                    _ => self.annotation(depth),
                };
            }
            _ => {
                return Err(Error::malformed(
                    at,
                    format!("a value of unknown type {kind:#04x}"),
                ));
            }
        };
        if arg > most {
            return Err(Error::malformed(
                at,
                format!("a value of type {kind:#04x} in {} bytes", arg + 1),
            ));
        }
        let bytes = self.cursor.take(arg + 1)?;
        if let Some(table) = table {
            let mut wide = [0; 4];
            wide[..=arg].copy_from_slice(bytes);
            let old = u32::from_le_bytes(wide);
            let new = new_index(table, old, at)?;
            if new != old {
                self.copy_to(at);
                let len = (4 - new.leading_zeros() as usize / 8).max(1);
                self.out.push((len as u8 - 1) << 5 | kind);
                self.out.extend_from_slice(&new.to_le_bytes()[..len]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The array with a `long` behind fields of these types: its values in hexadecimal digits, and what it took of the old one.
    fn with(old: &[u8], before: &[&[u8]]) -> (String, usize) {
        let remap = Remap::identity([0; 5]);
        let bytes = [&[0xff], old].concat();
        let at = u32::from(!old.is_empty());
        let mut out = Vec::new();
        let took = array_with(&bytes, at, &remap, (before, -2), &mut out).unwrap();
        let digits: Vec<String> = out.iter().map(|b| format!("{b:02x}")).collect();
        (digits.join(" "), took)
    }

    #[test]
    fn a_field_more_gets_its_place_among_values() {
        const NUMBER: &str = "e6 fe ff ff ff ff ff ff ff";
        assert_eq!(with(&[], &[]), (format!("01 {NUMBER}"), 0));
        // An int 7 and `true`, with the new field in front, between, behind, and behind what the array lacks.
        let old = [2, value::INT, 7, 1 << 5 | value::BOOLEAN];
        let all: [&[u8]; 5] = [b"I", b"Z", b"J", b"Ljava/lang/String;", b"Z"];
        let expected = [
            (0, format!("03 {NUMBER} 04 07 3f")),
            (1, format!("03 04 07 {NUMBER} 3f")),
            (2, format!("03 04 07 3f {NUMBER}")),
            (5, format!("06 04 07 3f 06 00 1e 1f {NUMBER}")),
        ];
        for (before, text) in expected {
            assert_eq!(with(&old, &all[..before]), (text, old.len()));
        }
    }
}
