//! A portable PDB, read in place.

use super::debug_directory::code_view_guid;
use super::points::Points;
use crate::aspect::joinpoint::LineStart;
use crate::cil::image::Image;
use crate::cil::metadata::Metadata;
use crate::cil::metadata::heaps::compressed;
use crate::cil::metadata::schema::{column, table};
use crate::cil::scan::Lines;
use crate::error::{Error, Result};

/// What sort of debugging information a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A portable PDB, which is moved with the code.
    Portable,
    /// A Windows PDB (a multi-stream file).
    Windows,
    /// Mono's own (`.mdb`).
    Mono,
    /// Something else.
    Unknown,
}

impl Format {
    /// Tells by the first bytes.
    pub fn of(bytes: &[u8]) -> Format {
        if bytes.starts_with(b"BSJB") {
            Format::Portable
        } else if bytes.starts_with(b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0") {
            Format::Windows
        } else if bytes.starts_with(&0x45e8_2623_fd7f_a614_u64.to_le_bytes()) {
            Format::Mono
        } else {
            Format::Unknown
        }
    }
}

/// A portable PDB whose structure was read and checked.
pub struct Pdb<'a> {
    pub(super) metadata: Metadata<'a>,
    /// The name of its file, if it is written to one of its own.
    pub(super) file_name: Option<&'a str>,
}

/// The first line of a method; nothing but zeros where nothing says it.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstLine {
    /// A row.
    pub document: u32,
    pub line: u32,
}

impl Lines for Pdb<'_> {
    fn lines(&self, method: u32) -> Vec<LineStart> {
        Pdb::lines(self, method)
    }
}

impl<'a> Pdb<'a> {
    /// Reads a file's structure.
    pub fn parse(bytes: &'a [u8]) -> Result<Pdb<'a>> {
        let metadata = Metadata::parse(bytes)?;
        if metadata.pdb.is_none() {
            return Err(Error::malformed(0, "metadata without a #Pdb stream"));
        }
        Ok(Pdb {
            metadata,
            file_name: None,
        })
    }

    /// GUID and stamp, which the image has, too.
    pub fn id(&self) -> &'a [u8; 20] {
        self.metadata.pdb.as_ref().expect("parse checked it").id
    }

    /// Whether this is the information about an image: whether the image says this PDB's id.
    pub fn is_of(&self, image: &Image<'_>) -> bool {
        code_view_guid(image).is_none_or(|guid| guid == &self.id()[..16])
    }

    /// A method's sequence points (a `MethodDef` row), and its document's row, or 0.
    pub(super) fn points(&self, method: u32) -> Result<Option<(Points<'a>, u32)>> {
        use column::method_debug_information::{DOCUMENT, SEQUENCE_POINTS};
        let tables = &self.metadata.tables;
        if method > tables.rows(table::METHOD_DEBUG_INFORMATION) {
            return Ok(None);
        }
        let row = tables.row(table::METHOD_DEBUG_INFORMATION, method)?;
        let (document, blob) = (row.get(DOCUMENT), row.get(SEQUENCE_POINTS));
        if blob == 0 {
            return Ok(None);
        }
        let points = Points::parse(self.metadata.blobs.get(blob)?, document != 0)?;
        Ok(Some((points, document)))
    }

    /// The first line of a method that is named.
    pub fn first_line(&self, method: u32) -> Option<FirstLine> {
        let (points, document) = self.points(method).ok()??;
        let (other, line) = points.first_line().ok()??;
        let document = other.unwrap_or(document);
        Some(FirstLine { document, line })
    }

    /// Where a method's lines begin, ascending.
    pub fn lines(&self, method: u32) -> Vec<LineStart> {
        match self.points(method) {
            Ok(Some((points, _))) => points.lines(),
            _ => Vec::new(),
        }
    }

    /// Where a method's points lie, with what they say of lines, as it stands.
    #[cfg(test)]
    pub(crate) fn places(&self, method: u32) -> Vec<(u32, Vec<u8>)> {
        use super::points::Record;
        let Ok(Some((points, _))) = self.points(method) else {
            return vec![];
        };
        points
            .records()
            .filter_map(|record| match record.unwrap() {
                Record::Point { pc, span, .. } => Some((pc, span.to_vec())),
                Record::Document(_) => None,
            })
            .collect()
    }

    /// Appends a document's name; what cannot be read has none.
    pub fn put_document_name(&self, document: u32, out: &mut String) {
        if let Some(name) = self.document_name(document) {
            out.push_str(&name);
        }
    }

    /// A document's name: parts and what stands between them (Portable PDB v1.0, "Document Name Blob").
    fn document_name(&self, document: u32) -> Option<String> {
        let blobs = &self.metadata.blobs;
        let row = self.metadata.tables.row(table::DOCUMENT, document).ok()?;
        let blob = blobs.get(row.get(column::document::NAME)).ok()?;
        let (separator, mut parts) = blob.split_first()?;
        let mut name = Vec::new();
        let mut first = true;
        while let Some((part, size)) = compressed(parts) {
            parts = &parts[size..];
            if !first && *separator != 0 {
                name.push(*separator);
            }
            first = false;
            name.extend_from_slice(blobs.get(part).ok()?);
            // A name made of parts of itself would have no end.
            if name.len() > 1 << 16 {
                return None;
            }
        }
        Some(String::from_utf8_lossy(&name).into_owned())
    }
}
