//! Zip files: reading through the central directory, writing by splicing.

use crate::error::Result;
use std::io::Write;

/// How a member's data is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// As it is (0).
    Stored,
    /// Deflate (8).
    Deflated,
    /// Another method, which can be copied but not read.
    Other(u16),
}

/// Reusable state for inflating and deflating; one a thread.
pub struct Codec {}

/// A zip file, its directory read and checked.
pub struct Archive<'a> {
    members: Vec<Member<'a>>,
}

/// A member of a zip file.
pub struct Member<'a> {
    name: &'a str,
}

/// New data for a member, packed and ready to write; made on any thread.
pub struct Packed {
    /// How it is packed.
    pub method: Method,
    /// CRC-32 of the unpacked data.
    pub crc32: u32,
    /// Length of the unpacked data.
    pub size: u64,
    /// The packed data.
    pub data: Vec<u8>,
}

/// Writes an archive like a given one, member by member in the order of [`Archive::members`].
pub struct Splicer<'a, W: Write> {
    _archive: &'a Archive<'a>,
    _sink: W,
}

impl Codec {
    /// Fresh state.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Codec {
        todo!()
    }
}

impl<'a> Archive<'a> {
    /// Whether the bytes look like a zip file (a local header or an end record).
    pub fn is_zip(_bytes: &[u8]) -> bool {
        todo!()
    }
    /// Reads and checks the directory.
    pub fn open(_bytes: &'a [u8]) -> Result<Archive<'a>> {
        todo!()
    }
    /// The members in the order in which their data lies in the file.
    pub fn members(&self) -> &[Member<'a>] {
        &self.members
    }
}

impl<'a> Member<'a> {
    /// The name, with `/` between folders; a folder's own entry ends in `/`.
    pub fn name(&self) -> &str {
        self.name
    }
    /// Length of the unpacked data as the directory says.
    pub fn size(&self) -> u64 {
        todo!()
    }
    /// How the data is packed.
    pub fn method(&self) -> Method {
        todo!()
    }
    /// The unpacked data where it needs no unpacking (stored), checked against its CRC-32.
    pub fn stored(&self) -> Option<Result<&'a [u8]>> {
        todo!()
    }
    /// Unpacks into `out` (replacing what it holds) and checks length and CRC-32; refuses sizes above `limit`.
    pub fn read(&self, _codec: &mut Codec, _limit: u64, _out: &mut Vec<u8>) -> Result<()> {
        todo!()
    }
}

impl Packed {
    /// Packs data.
    pub fn new(_method: Method, _data: &[u8], _codec: &mut Codec) -> Packed {
        todo!()
    }
}

impl<'a, W: Write> Splicer<'a, W> {
    /// Starts writing.
    pub fn new(_archive: &'a Archive<'a>, _sink: W) -> Splicer<'a, W> {
        todo!()
    }
    /// Copies the next member untouched.
    pub fn keep(&mut self) -> std::io::Result<()> {
        todo!()
    }
    /// Writes the next member with other data, all else as it was.
    pub fn replace(&mut self, _data: &Packed) -> std::io::Result<()> {
        todo!()
    }
    /// Leaves the next member out.
    pub fn drop(&mut self) -> std::io::Result<()> {
        todo!()
    }
    /// Adds a new member before the next one.
    pub fn add(&mut self, _name: &str, _data: &Packed) -> std::io::Result<()> {
        todo!()
    }
    /// Writes the directory; all members must have been kept, replaced or dropped.
    pub fn finish(self) -> std::io::Result<W> {
        todo!()
    }
}
