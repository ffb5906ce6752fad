//! Where an image's debugging information lies.

use super::debug_directory::{entries, kind};
use super::reader::{Format, Pdb};
use crate::cil::image::Image;
use crate::cil::warning::Warning;
use crate::error::{Error, Kind, Result};
use std::borrow::Cow;

/// An image's debugging information: inside it, beside it, or none that is of use.
#[derive(Default)]
pub struct Source<'p> {
    bytes: Cow<'p, [u8]>,
    embedded: bool,
    file_name: Option<String>,
    warning: Option<Warning>,
}

impl<'p> Source<'p> {
    /// Looks into the image first; `beside` is the file with its name and `.pdb` behind.
    pub fn of(image: &Image<'_>, beside: Option<&'p [u8]>) -> Source<'p> {
        let lost = |warning| Source {
            warning: Some(warning),
            ..Source::default()
        };
        let unreadable = |e: Error| lost(Warning::UnreadablePdb(e.to_string()));
        let (bytes, embedded) = match (embedded(image), beside) {
            (Err(e), _) => return unreadable(e),
            (Ok(Some(bytes)), _) => (Cow::Owned(bytes), true),
            (Ok(None), Some(bytes)) => (Cow::Borrowed(bytes), false),
            (Ok(None), None) => return Source::default(),
        };
        match (Format::of(&bytes), Pdb::parse(&bytes)) {
            (Format::Windows, _) => lost(Warning::WindowsPdb),
            (Format::Mono, _) => lost(Warning::MonoSymbols),
            (_, Err(e)) => unreadable(e),
            (_, Ok(pdb)) if !pdb.is_of(image) => lost(Warning::OtherPdb),
            (_, Ok(_)) => Source {
                bytes,
                embedded,
                file_name: None,
                warning: None,
            },
        }
    }

    /// The same, to be written to a file of this name, which the image then asks for.
    pub fn written_as(self, file_name: Option<&str>) -> Source<'p> {
        Source {
            file_name: file_name.filter(|_| !self.embedded).map(str::to_owned),
            ..self
        }
    }

    /// The PDB, if there is one of use.
    pub fn pdb(&self) -> Option<Pdb<'_>> {
        let pdb = Pdb::parse(&self.bytes).ok()?;
        Some(Pdb {
            file_name: self.file_name.as_deref(),
            ..pdb
        })
    }

    /// Whether it lies inside the image.
    pub fn is_embedded(&self) -> bool {
        self.embedded
    }

    /// What the user should know.
    pub fn warning(&self) -> Option<Warning> {
        self.warning.clone()
    }
}

/// The portable PDB that an image carries inside (debug directory, kind 17).
fn embedded(image: &Image<'_>) -> Result<Option<Vec<u8>>> {
    /// Most bytes that deflate makes of one.
    const MAX_RATIO: usize = 1032;
    let Some((_, data)) = entries(image).find(|(e, _)| e.kind == kind::EMBEDDED) else {
        return Ok(None);
    };
    let wrong = || Error::new(Kind::Malformed, "embedded PDB that cannot be unpacked");
    let [b'M', b'P', b'D', b'B', a, b, c, d, packed @ ..] = data else {
        return Err(wrong());
    };
    let size = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
    if size > packed.len().saturating_mul(MAX_RATIO) {
        return Err(wrong());
    }
    let mut bytes = vec![0; size];
    let unpacked = libdeflater::Decompressor::new().deflate_decompress(packed, &mut bytes);
    match unpacked {
        Ok(length) if length == size => Ok(Some(bytes)),
        _ => Err(wrong()),
    }
}
