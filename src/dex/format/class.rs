//! Class definitions and their members (`class_def_item`, `class_data_item`).

use crate::bytes::{Cursor, u32_at};
use crate::dex::format::file::{File, NO_INDEX};
use crate::error::{Error, Result};

/// `access_flags` that the weaver asks for.
pub(crate) mod flag {
    pub const PUBLIC: u32 = 0x1;
    pub const PRIVATE: u32 = 0x2;
    pub const PROTECTED: u32 = 0x4;
    pub const STATIC: u32 = 0x8;
    pub const FINAL: u32 = 0x10;
    /// Of a method that is native: the others have instructions for it.
    pub const SYNCHRONIZED: u32 = 0x20;
    pub const BRIDGE: u32 = 0x40;
    /// Of a method.
    pub const VARARGS: u32 = 0x80;
    pub const NATIVE: u32 = 0x100;
    pub const INTERFACE: u32 = 0x200;
    pub const ABSTRACT: u32 = 0x400;
    pub const STRICT: u32 = 0x800;
    pub const SYNTHETIC: u32 = 0x1000;
    pub const CONSTRUCTOR: u32 = 0x1_0000;
    pub const DECLARED_SYNCHRONIZED: u32 = 0x2_0000;
}

/// A `class_def_item`.
#[derive(Clone, Copy)]
pub(crate) struct ClassDef {
    pub ty: u32,
    pub access: u32,
    /// The superclass, or `NO_INDEX`.
    pub superclass: u32,
    /// The interfaces' `type_list`, or 0.
    pub interfaces: u32,
    /// The source file's name, or `NO_INDEX`.
    pub source_file: u32,
    /// Its `annotations_directory_item`, or 0.
    pub annotations: u32,
    /// Its `class_data_item`, or 0.
    pub data: u32,
    /// Its static values' `encoded_array_item`, or 0.
    pub static_values: u32,
}

impl ClassDef {
    pub fn read(row: &[u8; 32]) -> ClassDef {
        ClassDef {
            ty: u32_at(row, 0),
            access: u32_at(row, 4),
            superclass: u32_at(row, 8),
            interfaces: u32_at(row, 12),
            source_file: u32_at(row, 16),
            annotations: u32_at(row, 20),
            data: u32_at(row, 24),
            static_values: u32_at(row, 28),
        }
    }

    /// The source file's name in modified UTF-8, or nothing.
    pub fn file<'a>(&self, file: &File<'a>) -> Result<&'a [u8]> {
        match self.source_file {
            NO_INDEX => Ok(b""),
            index => file.string(index),
        }
    }
}

/// An `encoded_method`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Method {
    /// Index into the method ids.
    pub id: u32,
    pub access: u32,
    /// Its `code_item`, or 0.
    pub code: u32,
}

/// A `class_data_item` under way: fields are passed over, methods come out one by one.
pub(crate) struct Members<'a> {
    cursor: Cursor<'a>,
    /// Offset of the item.
    pub start: usize,
    /// The counts as they are written, and the fields: what no change of method ids touches.
    pub head: std::ops::Range<usize>,
    pub direct: u32,
    pub virtuals: u32,
    read: u32,
    last: u32,
}

impl<'a> Members<'a> {
    /// Reads up to the methods. The item must exist (offset not 0).
    pub fn read(file: &File<'a>, at: u32) -> Result<Members<'a>> {
        let start = at as usize;
        let mut cursor = Cursor::at(file.bytes, start);
        let (statics, instances) = (cursor.uleb32()?, cursor.uleb32()?);
        let (direct, virtuals) = (cursor.uleb32()?, cursor.uleb32()?);
        // A member takes two bytes at least.
        let members =
            u64::from(statics) + u64::from(instances) + u64::from(direct) + u64::from(virtuals);
        if members > cursor.remaining() as u64 / 2 {
            return Err(Error::malformed(
                start,
                format!("{members} members exceed the file"),
            ));
        }
        for _ in 0..u64::from(statics) + u64::from(instances) {
            cursor.uleb32()?;
            cursor.uleb32()?;
        }
        Ok(Members {
            start,
            head: start..cursor.position(),
            cursor,
            direct,
            virtuals,
            read: 0,
            last: 0,
        })
    }

    /// The next method, direct ones first.
    pub fn next(&mut self) -> Result<Option<Method>> {
        if self.read == self.direct + self.virtuals {
            return Ok(None);
        }
        if self.read == self.direct {
            self.last = 0;
        }
        self.read += 1;
        let at = self.cursor.position();
        let delta = self.cursor.uleb32()?;
        let Some(id) = self.last.checked_add(delta) else {
            return Err(Error::malformed(at, "a method's index exceeds 32 bits"));
        };
        self.last = id;
        Ok(Some(Method {
            id,
            access: self.cursor.uleb32()?,
            code: self.cursor.uleb32()?,
        }))
    }

    /// Bytes read so far.
    pub fn len(&self) -> usize {
        self.cursor.position() - self.start
    }
}

/// Shows the fields that a `class_data_item` declares: index and access flags.
pub(crate) fn fields_of(file: &File<'_>, at: u32, mut each: impl FnMut(u32, u32)) -> Result<()> {
    let mut cursor = Cursor::at(file.bytes, at as usize);
    let (statics, instances) = (cursor.uleb32()?, cursor.uleb32()?);
    for _ in 0..2 {
        cursor.uleb32()?;
    }
    for count in [statics, instances] {
        let mut index = 0u32;
        for _ in 0..count {
            index = index.saturating_add(cursor.uleb32()?);
            each(index, cursor.uleb32()?);
        }
    }
    Ok(())
}

/// What a file's items of one kind may take together: more than the file means that they overlap, which
/// no dex file does, and which could cost time and memory out of proportion.
pub(crate) struct Budget {
    what: &'static str,
    left: usize,
}

impl Budget {
    pub fn new(file: &File<'_>, what: &'static str) -> Budget {
        Budget {
            what,
            left: file.bytes.len(),
        }
    }

    #[inline]
    pub fn spend(&mut self, at: usize, bytes: usize) -> Result<()> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Error::malformed(at, format!("{} overlap", self.what))),
        }
    }
}
