//! The CLI header (ECMA-335 II.25.3.3).

use crate::bytes::Cursor;
use crate::cil::pe::{Directory, Pe, directory};
use crate::error::{Error, Kind, Result};

/// Flags of the CLI header (II.25.3.3.1).
pub mod cli_flag {
    pub const IL_ONLY: u32 = 1;
    /// The file was made ready to run, or was NGEN's input.
    pub const IL_LIBRARY: u32 = 4;
    pub const STRONG_NAME_SIGNED: u32 = 8;
    pub const NATIVE_ENTRY_POINT: u32 = 0x10;
}

#[derive(Clone, Copy, Debug)]
pub struct CliHeader {
    /// Bits of [`cli_flag`].
    pub flags: u32,
    pub metadata: Directory,
    pub resources: Directory,
    /// The strong name's signature.
    pub strong_name: Directory,
    /// Tables of methods that native code calls.
    pub vtable_fixups: Directory,
    /// The header of native code made ahead of time.
    pub native: Directory,
}

impl CliHeader {
    /// Offset of the metadata's directory in the header; the others follow as the format says.
    pub const METADATA: usize = 8;
    pub const FLAGS: usize = 16;
    pub const RESOURCES: usize = 24;
    pub const STRONG_NAME: usize = 32;
    pub const NATIVE: usize = 64;

    pub(crate) fn parse(pe: &Pe<'_>) -> Result<CliHeader> {
        let place = pe.directory(directory::CLI_HEADER);
        if place.is_empty() {
            return Err(Error::new(
                Kind::Malformed,
                "no CLI header: not a .NET file",
            ));
        }
        let (offset, rest) = pe.at_rva(place.rva)?;
        let in_file = |e: Error| e.offset_by(offset);
        let mut cursor = Cursor::new(rest);
        cursor.take(8).map_err(in_file)?;
        let mut word = || cursor.le_u32().map_err(in_file);
        let mut both = || {
            Ok(Directory {
                rva: word()?,
                size: word()?,
            })
        };
        let metadata = both()?;
        let Directory {
            rva: flags,
            size: _entry_point,
        } = both()?;
        let resources = both()?;
        let strong_name = both()?;
        let _code_manager = both()?;
        let vtable_fixups = both()?;
        let _export_jumps = both()?;
        let native = both()?;
        Ok(CliHeader {
            flags,
            metadata,
            resources,
            strong_name,
            vtable_fixups,
            native,
        })
    }
}
