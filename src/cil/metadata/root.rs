//! The metadata root (ECMA-335 II.24.2.1) and its stream headers; the `#Pdb` stream of portable PDBs.

use crate::bytes::Cursor;
use crate::cil::metadata::Metadata;
use crate::error::{Error, Result};
use std::ops::Range;

/// First bytes of the root: `BSJB`.
pub const SIGNATURE: u32 = 0x424a_5342;

/// Longest version string (II.24.2.1).
const MAX_VERSION: usize = 255 + 1;

/// Most streams that are read. Real files have five or six.
const MAX_STREAMS: usize = 64;

#[derive(Clone, Copy, Debug)]
pub struct Stream<'a> {
    /// Its name, without the padding.
    pub name: &'a [u8],
    /// Where it begins, from the root's first byte.
    pub offset: usize,
    pub data: &'a [u8],
}

pub struct Root<'a> {
    /// The version string with its padding, as it stands.
    pub version: &'a [u8],
    /// Flags: reserved, 0.
    pub flags: u16,
    /// The streams, in order of their headers.
    pub streams: Vec<Stream<'a>>,
}

impl<'a> Root<'a> {
    pub fn parse(bytes: &'a [u8]) -> Result<Root<'a>> {
        let mut cursor = Cursor::new(bytes);
        if cursor.le_u32()? != SIGNATURE {
            return Err(Error::malformed(0, "no metadata signature"));
        }
        cursor.take(8)?;
        let length = cursor.le_u32()? as usize;
        if length > MAX_VERSION {
            return Err(Error::malformed(12, format!("version of {length} bytes")));
        }
        let version = cursor.take(length)?;
        // Readers count the padding in or not: the length is a multiple of four.
        cursor.take(length.wrapping_neg() & 3)?;
        let flags = cursor.le_u16()?;
        let count = usize::from(cursor.le_u16()?);
        if count > MAX_STREAMS {
            let what = format!("{count} metadata streams");
            return Err(Error::malformed(cursor.position() - 2, what));
        }
        let mut streams = Vec::with_capacity(count);
        for _ in 0..count {
            let at = cursor.position();
            let offset = cursor.le_u32()? as usize;
            let size = cursor.le_u32()? as usize;
            let start = cursor.position();
            while cursor.u8()? != 0 {
                if cursor.position() - start > 32 {
                    return Err(Error::malformed(start, "name of a stream without an end"));
                }
            }
            let name = &bytes[start..cursor.position() - 1];
            cursor.take((start.wrapping_sub(cursor.position())) & 3)?;
            let data = offset
                .checked_add(size)
                .and_then(|end| bytes.get(offset..end))
                .ok_or_else(|| {
                    let name = String::from_utf8_lossy(name);
                    Error::malformed(at, format!("stream {name} lies outside of the metadata"))
                })?;
            streams.push(Stream { name, offset, data });
        }
        Ok(Root {
            version,
            flags,
            streams,
        })
    }

    /// Whether runtimes treat this as metadata under edit: its tables are `#-`, or there is a `#Schema`.
    pub fn is_under_edit(&self) -> bool {
        let mut names = self.streams.iter().map(|s| s.name);
        let tables = names.clone().find(|name| matches!(*name, b"#~" | b"#-"));
        tables == Some(b"#-") || names.any(|name| name == b"#Schema")
    }

    /// The number of the stream with a name. As in CoreCLR: the last of several; in metadata under edit the first,
    /// whatever its case.
    pub fn position(&self, name: &[u8]) -> Option<usize> {
        let mut names = self.streams.iter().map(|s| s.name);
        match self.is_under_edit() {
            true => names.position(|n| n.eq_ignore_ascii_case(name)),
            false => names.rposition(|n| n == name),
        }
    }

    /// The number of the stream with the tables.
    pub fn tables(&self) -> Option<usize> {
        self.position(b"#~").or_else(|| self.position(b"#-"))
    }

    pub fn stream(&self, name: &[u8]) -> Option<Stream<'a>> {
        self.position(name).map(|number| self.streams[number])
    }
}

/// The headers of new streams (II.24.2.2).
pub struct Headers {
    /// Where the next one lies in the root.
    next: usize,
}

impl Headers {
    /// Bytes of a header: offset, size, and the padded name.
    fn size(name: &[u8]) -> usize {
        8 + (name.len() + 1).next_multiple_of(4)
    }

    /// Appends a root for streams of these names; [`Headers::set`] completes their headers.
    pub fn put<'n>(
        metadata: &Metadata<'_>,
        names: impl ExactSizeIterator<Item = &'n [u8]>,
        out: &mut Vec<u8>,
    ) -> Headers {
        // Signature, version numbers, the version's length and text.
        let version = 16 + metadata.root.version.len().next_multiple_of(4);
        out.extend_from_slice(&metadata.bytes[..version]);
        out.extend_from_slice(&metadata.root.flags.to_le_bytes());
        out.extend_from_slice(&(names.len() as u16).to_le_bytes());
        let next = out.len();
        for name in names {
            let end = out.len() + Headers::size(name);
            out.extend_from_slice(&[0; 8]);
            out.extend_from_slice(name);
            out.resize(end, 0);
        }
        Headers { next }
    }

    /// Completes the next stream's header.
    pub fn set(&mut self, name: &[u8], place: Range<usize>, root: &mut [u8]) {
        let header = &mut root[self.next..];
        header[..4].copy_from_slice(&(place.start as u32).to_le_bytes());
        header[4..8].copy_from_slice(&(place.len() as u32).to_le_bytes());
        self.next += Headers::size(name);
    }
}

/// The `#Pdb` stream (Portable PDB v1.0).
pub struct PdbStream<'a> {
    /// GUID and stamp.
    pub id: &'a [u8; 20],
    /// The program's entry point, or 0.
    pub entry_point: u32,
    /// Rows of the assembly's tables, which set widths of indices here.
    pub rows: [u32; 64],
}

impl<'a> PdbStream<'a> {
    pub(super) fn parse(data: &'a [u8]) -> Result<PdbStream<'a>> {
        let mut cursor = Cursor::new(data);
        let id = cursor.take(20)?.try_into().expect("twenty bytes");
        let entry_point = cursor.le_u32()?;
        let referenced = cursor.le_u64()?;
        let mut rows = [0; 64];
        for (table, rows) in rows.iter_mut().enumerate() {
            if referenced >> table & 1 == 1 {
                *rows = cursor.le_u32()?;
            }
        }
        Ok(PdbStream {
            id,
            entry_point,
            rows,
        })
    }
}

#[cfg(test)]
mod tests;
