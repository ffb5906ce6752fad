//! Reading and writing raw bytes: a bounds-checked cursor, LEB128, modified UTF-8, names that texts share, sets of
//! numbers.
//!
//! Offsets in errors count from the start of the slice that the cursor was made over.

mod names;
mod numbers;

use crate::error::{Error, Result};
pub use names::Names;
pub use numbers::{Numbers, Ranked};
use std::borrow::Cow;

/// Puts four bytes at an offset.
#[inline]
pub fn put_le_u32(out: &mut [u8], at: usize, value: u32) {
    out[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// The little-endian number at an offset, which must lie inside.
#[inline]
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// As above.
#[inline]
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// As above.
#[inline]
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// A bounds-checked cursor over borrowed bytes; `be` and `le` name the byte order.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    data: &'a [u8],
    pos: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the first byte.
    pub fn new(data: &'a [u8]) -> Cursor<'a> {
        Cursor { data, pos: 0 }
    }

    /// A cursor at `pos`, which may lie beyond the end: the next read then fails.
    pub fn at(data: &'a [u8], pos: usize) -> Cursor<'a> {
        Cursor { data, pos }
    }

    /// Where the next read begins.
    pub fn position(&self) -> usize {
        self.pos
    }

    /// Bytes left.
    pub fn remaining(&self) -> usize {
        self.data.len().saturating_sub(self.pos)
    }

    /// The next `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        match self
            .pos
            .checked_add(n)
            .and_then(|end| self.data.get(self.pos..end))
        {
            Some(bytes) => {
                self.pos += n;
                Ok(bytes)
            }
            None => Err(self.truncated(n)),
        }
    }

    #[cold]
    fn truncated(&self, wanted: usize) -> Error {
        Error::malformed(
            self.pos,
            format!("{wanted} bytes wanted, {} left", self.remaining()),
        )
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.take(N)?;
        Ok(bytes.try_into().expect("take returns what was asked for"))
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// A big-endian 16-bit number.
    #[inline]
    pub fn be_u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// A big-endian 32-bit number.
    #[inline]
    pub fn be_u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// A little-endian 16-bit number.
    #[inline]
    pub fn le_u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// A little-endian 32-bit number.
    #[inline]
    pub fn le_u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A little-endian 64-bit number.
    #[inline]
    pub fn le_u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// An unsigned LEB128 number of at most 32 bits.
    #[inline]
    pub fn uleb32(&mut self) -> Result<u32> {
        // Most take one byte.
        match self.data.get(self.pos) {
            Some(&byte) if byte < 0x80 => {
                self.pos += 1;
                Ok(u32::from(byte))
            }
            _ => self.long_uleb32(),
        }
    }

    fn long_uleb32(&mut self) -> Result<u32> {
        let start = self.pos;
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value)
                    .map_err(|_| Error::malformed(start, "LEB128 number exceeds 32 bits"));
            }
        }
        Err(Error::malformed(start, "LEB128 number exceeds five bytes"))
    }
}

/// Appends an unsigned LEB128 number.
pub fn put_uleb32(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Decodes modified UTF-8 (JVMS 4.4.7, also the dex format's MUTF-8): NUL as `C0 80`, characters
/// above U+FFFF as two three-byte surrogates. What is plain UTF-8, too, is borrowed. What is not valid
/// becomes U+FFFD: names in artifacts are for matching and showing, never written back from here.
pub fn mutf8(bytes: &[u8]) -> Cow<'_, str> {
    // What is valid UTF-8 means the same here: the two differ in forms that UTF-8 forbids.
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut units = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let continuation = |k: usize| match bytes.get(i + k) {
            Some(&b) if b & 0xc0 == 0x80 => Some(u16::from(b & 0x3f)),
            _ => None,
        };
        let a = bytes[i];
        let (unit, len) = match a {
            0x00..=0x7f => (Some(u16::from(a)), 1),
            0xc0..=0xdf => (continuation(1).map(|b| u16::from(a & 0x1f) << 6 | b), 2),
            0xe0..=0xef => (
                continuation(1)
                    .zip(continuation(2))
                    .map(|(b, c)| u16::from(a & 0x0f) << 12 | b << 6 | c),
                3,
            ),
            _ => (None, 1),
        };
        match unit {
            Some(unit) => {
                units.push(unit);
                i += len;
            }
            None => {
                units.push(0xfffd);
                i += 1;
            }
        }
    }
    Cow::Owned(String::from_utf16_lossy(&units))
}

/// Encodes modified UTF-8, as [`mutf8`] decodes it: NUL takes two bytes, what lies beyond 16 bits is two surrogates of three bytes each.
pub fn modified_utf8(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for unit in text.encode_utf16() {
        match unit {
            1..0x80 => out.push(unit as u8),
            0 | 0x80..0x800 => out.extend([0xc0 | (unit >> 6) as u8, 0x80 | unit as u8 & 0x3f]),
            _ => out.extend([
                0xe0 | (unit >> 12) as u8,
                0x80 | (unit >> 6) as u8 & 0x3f,
                0x80 | unit as u8 & 0x3f,
            ]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_as_they_were() {
        for text in ["", "a.B.<init>", "a\0b", "é√𝄞"] {
            assert_eq!(mutf8(&modified_utf8(text)), text);
        }
        assert_eq!(modified_utf8("\0é√"), b"\xc0\x80\xc3\xa9\xe2\x88\x9a");
        assert_eq!(modified_utf8("𝄞"), b"\xed\xa0\xb4\xed\xb4\x9e");
    }
    use proptest::prelude::*;

    #[test]
    fn reading_past_the_end_names_the_offset() {
        let mut cursor = Cursor::new(&[1, 2, 3]);
        assert_eq!(cursor.be_u16().unwrap(), 0x0102);
        let e = cursor.be_u32().unwrap_err();
        assert_eq!(e.to_string(), "4 bytes wanted, 1 left (at byte 0x2)");
        assert!(Cursor::at(&[], usize::MAX).take(2).is_err());
    }

    #[test]
    fn modified_utf8_has_two_byte_nul_and_surrogate_pairs() {
        assert_eq!(mutf8(b"plain"), "plain");
        assert_eq!(mutf8(&[b'a', 0xc0, 0x80, b'b']), "a\0b");
        assert_eq!(mutf8(&[0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]), "\u{1f600}");
        assert_eq!(mutf8(&[b'x', 0xff, 0xe2]), "x\u{fffd}\u{fffd}");
    }

    proptest! {
        #[test]
        fn leb128_reads_back(value: u32) {
            let mut out = Vec::new();
            put_uleb32(&mut out, value);
            prop_assert_eq!(Cursor::new(&out).uleb32().unwrap(), value);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = mutf8(&bytes);
            let _ = Cursor::new(&bytes).uleb32();
        }
    }
}
