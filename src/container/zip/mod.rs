//! Zip files: reading through the central directory, writing by splicing.
//!
//! [`Archive::open`] reads and checks the directory over borrowed bytes (a mapped file, or the
//! bytes of a nested jar). A [`Splicer`] then writes an archive like it: members that are kept are
//! copied verbatim, in runs; an archive whose members are all kept comes out byte for byte.
//!
//! Section numbers are those of PKWARE's APPNOTE.TXT 6.3.10.

mod align;
mod codec;
mod read;
pub(super) mod record;
mod splice;

pub use codec::{Codec, DEFLATE_LEVEL, Effort, Packed};
pub use read::{Archive, Member};
pub use splice::Splicer;

#[cfg(test)]
#[path = "../../../tests/support/zipgen.rs"]
mod zipgen;

#[cfg(test)]
mod tests;

/// How a member's data is packed (APPNOTE 4.4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// As it is (0).
    Stored,
    /// Deflate (8).
    Deflated,
    /// Another method, which can be copied but not read.
    Other(u16),
}

impl Method {
    fn from_id(id: u16) -> Method {
        match id {
            0 => Method::Stored,
            8 => Method::Deflated,
            other => Method::Other(other),
        }
    }

    fn id(self) -> u16 {
        match self {
            Method::Stored => 0,
            Method::Deflated => 8,
            Method::Other(id) => id,
        }
    }
}
