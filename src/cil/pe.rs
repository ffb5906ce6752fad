//! Portable Executable files (ECMA-335 II.25; Microsoft PE/COFF specification): where headers,
//! sections and data directories lie. Nothing is copied; the writer patches fields by their offsets.

use crate::bytes::{Cursor, u16_at, u32_at};
use crate::error::{Error, Result};

/// Numbers of data directories (PE/COFF, "Optional Header Data Directories").
pub mod directory {
    pub const EXPORT: usize = 0;
    pub const IMPORT: usize = 1;
    pub const RESOURCE: usize = 2;
    pub const EXCEPTION: usize = 3;
    pub const CERTIFICATE: usize = 4;
    pub const BASE_RELOCATION: usize = 5;
    pub const DEBUG: usize = 6;
    pub const TLS: usize = 9;
    pub const LOAD_CONFIG: usize = 10;
    pub const IAT: usize = 12;
    pub const DELAY_IMPORT: usize = 13;
    pub const CLI_HEADER: usize = 14;
}

/// Characteristics of sections.
pub mod section_flag {
    pub const CODE: u32 = 0x20;
    pub const INITIALIZED_DATA: u32 = 0x40;
    pub const DISCARDABLE: u32 = 0x0200_0000;
    pub const READ: u32 = 0x4000_0000;
    pub const WRITE: u32 = 0x8000_0000;
}

/// Size of a section header.
pub const SECTION_HEADER: usize = 40;

/// A range of the loaded image: relative virtual address and size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    pub rva: u32,
    pub size: u32,
}

impl Directory {
    /// Whether the directory is absent.
    pub fn is_empty(&self) -> bool {
        self.rva == 0 || self.size == 0
    }
}

/// A section's header, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name, padded with zeros.
    pub name: [u8; 8],
    pub virtual_size: u32,
    pub rva: u32,
    pub raw_size: u32,
    pub raw: u32,
    pub flags: u32,
}

impl Section {
    /// The first address behind the section in memory.
    pub fn end(&self) -> u64 {
        u64::from(self.rva) + u64::from(self.virtual_size.max(self.raw_size))
    }
}

/// A PE file whose headers were read.
pub struct Pe<'a> {
    pub(crate) bytes: &'a [u8],
    /// Offset of the COFF header, behind `PE\0\0`.
    pub(crate) coff: usize,
    pub(crate) optional: usize,
    directories: usize,
    directory_count: usize,
    pub(crate) section_headers: usize,
    pub(crate) sections: Vec<Section>,
}

impl<'a> Pe<'a> {
    pub fn parse(bytes: &'a [u8]) -> Result<Pe<'a>> {
        let mut cursor = Cursor::new(bytes);
        if cursor.take(2)? != b"MZ" {
            return Err(Error::malformed(0, "not a PE file"));
        }
        let signature = Cursor::at(bytes, 0x3c).le_u32()? as usize;
        let mut cursor = Cursor::at(bytes, signature);
        if cursor.take(4)? != b"PE\0\0" {
            return Err(Error::malformed(signature, "no PE signature"));
        }
        let coff = cursor.position();
        let _machine = cursor.le_u16()?;
        let section_count = usize::from(cursor.le_u16()?);
        cursor.take(12)?;
        let optional_size = usize::from(cursor.le_u16()?);
        let _characteristics = cursor.le_u16()?;
        let optional = cursor.position();
        let header = cursor.take(optional_size)?;
        let is_plus = match Cursor::at(bytes, optional).le_u16()? {
            0x10b => false,
            0x20b => true,
            magic => {
                let what = format!("optional header of kind {magic:#x}");
                return Err(Error::malformed(optional, what));
            }
        };
        let fixed = if is_plus { 112 } else { 96 };
        if header.len() < fixed {
            return Err(Error::malformed(optional, "optional header cut short"));
        }
        let claimed = Cursor::at(header, fixed - 4).le_u32()? as usize;
        let section_headers = cursor.position();
        let mut sections =
            Vec::with_capacity(section_count.min(cursor.remaining() / SECTION_HEADER));
        for _ in 0..section_count {
            let name = cursor.take(8)?.try_into().expect("eight bytes");
            let virtual_size = cursor.le_u32()?;
            let rva = cursor.le_u32()?;
            let raw_size = cursor.le_u32()?;
            let raw = cursor.le_u32()?;
            cursor.take(12)?;
            let flags = cursor.le_u32()?;
            sections.push(Section {
                name,
                virtual_size,
                rva,
                raw_size,
                raw,
                flags,
            });
        }
        Ok(Pe {
            bytes,
            coff,
            optional,
            directories: optional + fixed,
            directory_count: claimed.min((header.len() - fixed) / 8),
            section_headers,
            sections,
        })
    }

    pub fn machine(&self) -> u16 {
        u16_at(self.bytes, self.coff)
    }

    /// Address of the native entry point, or 0.
    pub fn entry_point(&self) -> u32 {
        u32_at(self.bytes, self.optional + 16)
    }

    /// Multiple of which sections begin in memory.
    pub fn section_alignment(&self) -> u32 {
        u32_at(self.bytes, self.optional + 32)
    }

    /// Multiple of which sections begin in the file.
    pub fn file_alignment(&self) -> u32 {
        u32_at(self.bytes, self.optional + 36)
    }

    /// Bytes of all headers, rounded up.
    pub fn size_of_headers(&self) -> u32 {
        u32_at(self.bytes, self.optional + 60)
    }

    pub fn checksum_offset(&self) -> usize {
        self.optional + 64
    }

    /// Offset of a data directory's entry, if the file has one of this number.
    pub fn directory_offset(&self, number: usize) -> Option<usize> {
        (number < self.directory_count).then(|| self.directories + 8 * number)
    }

    /// A data directory; empty where there is none.
    pub fn directory(&self, number: usize) -> Directory {
        self.directory_offset(number)
            .map_or(Directory::default(), |at| Directory {
                rva: u32_at(self.bytes, at),
                size: u32_at(self.bytes, at + 4),
            })
    }

    /// The file's offset of an address, and the end of what the file holds from there on without a
    /// break.
    #[inline]
    pub fn locate(&self, rva: u32) -> Option<(usize, usize)> {
        for section in &self.sections {
            let Some(within) = rva.checked_sub(section.rva) else {
                continue;
            };
            if within < section.raw_size {
                let start = section.raw as usize + within as usize;
                let end = section.raw as usize + section.raw_size as usize;
                let end = end.min(self.bytes.len());
                return (start < end).then_some((start, end));
            }
        }
        // Headers are mapped as they are.
        let end = (self.size_of_headers() as usize).min(self.bytes.len());
        ((rva as usize) < end).then_some((rva as usize, end))
    }

    /// The file's bytes from an address to where its section ends.
    pub fn at_rva(&self, rva: u32) -> Result<(usize, &'a [u8])> {
        match self.locate(rva) {
            Some((start, end)) => Ok((start, &self.bytes[start..end])),
            None => Err(Error::new(
                crate::error::Kind::Malformed,
                format!("address {rva:#x} lies in no section"),
            )),
        }
    }

    /// The offset and bytes of a directory.
    pub fn slice(&self, directory: Directory) -> Result<(usize, &'a [u8])> {
        let (start, bytes) = self.at_rva(directory.rva)?;
        match bytes.get(..directory.size as usize) {
            Some(bytes) => Ok((start, bytes)),
            None => Err(Error::malformed(
                start,
                format!(
                    "{} bytes wanted, the section has {} left",
                    directory.size,
                    bytes.len()
                ),
            )),
        }
    }
}
