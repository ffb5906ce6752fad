//! Heaps (ECMA-335 II.24.2.3 to II.24.2.5): strings, blobs, GUIDs.

use crate::error::{Error, Result};
use std::borrow::Cow;

/// `#Strings`: UTF-8, each ended by a zero byte.
#[derive(Clone, Copy)]
pub struct Strings<'a> {
    base: usize,
    data: &'a [u8],
}

impl<'a> Strings<'a> {
    pub(super) fn new((base, data): (usize, &'a [u8])) -> Strings<'a> {
        Strings { base, data }
    }

    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// The bytes of a string.
    #[inline]
    pub fn get(&self, index: u32) -> Result<&'a [u8]> {
        let rest = self.data.get(index as usize..).unwrap_or_default();
        match memchr::memchr(0, rest) {
            Some(end) => Ok(&rest[..end]),
            // Index 0 is the empty string, even of a heap that is not there.
            None if index == 0 => Ok(&[]),
            None => Err(self.wrong(index)),
        }
    }

    /// The first byte of a string, if it has one.
    #[inline]
    pub fn first(&self, index: u32) -> Option<u8> {
        let first = self.data.get(index as usize).copied();
        first.filter(|&byte| byte != 0)
    }

    #[cold]
    fn wrong(&self, index: u32) -> Error {
        let what = format!("string {index:#x} lies outside of its heap");
        Error::malformed(self.base, what)
    }

    /// Whether a string is this one; needs no search for its end.
    #[inline]
    pub fn is(&self, index: u32, text: &[u8]) -> bool {
        let rest = self.data.get(index as usize..).unwrap_or_default();
        match rest.split_at_checked(text.len()) {
            Some((bytes, [0, ..])) => bytes == text,
            _ => text.is_empty() && index == 0,
        }
    }

    /// A string; what is not UTF-8 becomes U+FFFD.
    #[inline]
    pub fn text(&self, index: u32) -> Result<Cow<'a, str>> {
        let bytes = self.get(index)?;
        // Nearly all are short and valid, and this check is faster.
        Ok(match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(bytes),
        })
    }
}

/// `#Blob`: byte strings behind their compressed lengths.
#[derive(Clone, Copy)]
pub struct Blobs<'a> {
    base: usize,
    data: &'a [u8],
}

impl<'a> Blobs<'a> {
    pub(super) fn new((base, data): (usize, &'a [u8])) -> Blobs<'a> {
        Blobs { base, data }
    }

    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    #[inline]
    pub fn get(&self, index: u32) -> Result<&'a [u8]> {
        if index == 0 {
            return Ok(&[]);
        }
        self.data
            .get(index as usize..)
            .and_then(|rest| {
                let (length, size) = compressed(rest)?;
                rest[size..].get(..length as usize)
            })
            .ok_or_else(|| self.wrong(index))
    }

    #[cold]
    fn wrong(&self, index: u32) -> Error {
        let what = format!("blob {index:#x} lies outside of its heap");
        Error::malformed(self.base, what)
    }
}

/// `#GUID`: sixteen bytes each, numbered from 1.
#[derive(Clone, Copy)]
pub struct Guids<'a> {
    base: usize,
    data: &'a [u8],
}

impl<'a> Guids<'a> {
    pub(super) fn new((base, data): (usize, &'a [u8])) -> Guids<'a> {
        Guids { base, data }
    }

    /// A GUID; 0 is none.
    pub fn get(&self, index: u32) -> Result<Option<&'a [u8; 16]>> {
        if index == 0 {
            return Ok(None);
        }
        let at = (index as usize - 1) * 16;
        match self.data.get(at..at + 16) {
            Some(guid) => Ok(Some(guid.try_into().expect("sixteen bytes"))),
            None => {
                let what = format!("GUID {index} lies outside of its heap");
                Err(Error::malformed(self.base, what))
            }
        }
    }
}

/// A compressed unsigned integer (II.23.2) and how many bytes it takes.
#[inline]
pub fn compressed(bytes: &[u8]) -> Option<(u32, usize)> {
    match *bytes {
        [a, ..] if a & 0x80 == 0 => Some((u32::from(a), 1)),
        [a, b, ..] if a & 0xc0 == 0x80 => Some((u32::from(a & 0x3f) << 8 | u32::from(b), 2)),
        [a, b, c, d, ..] if a & 0xe0 == 0xc0 => Some((u32::from_be_bytes([a & 0x1f, b, c, d]), 4)),
        _ => None,
    }
}

/// Appends a compressed unsigned integer below 2^29.
pub fn put_compressed(out: &mut Vec<u8>, value: u32) {
    match value {
        0..=0x7f => out.push(value as u8),
        0x80..=0x3fff => out.extend_from_slice(&(0x8000 | value as u16).to_be_bytes()),
        _ => out.extend_from_slice(&(0xc000_0000 | value).to_be_bytes()),
    }
}
