//! CLI metadata (ECMA-335 II.22 to II.24) and portable PDBs, which have the same form: the root, its
//! streams, tables and heaps. Read in place, on demand.

pub mod additions;
pub mod blob_set;
pub mod definitions;
pub mod field_map;
pub mod flags;
pub mod generic_map;
pub mod heaps;
pub mod pieces;
pub mod root;
pub mod schema;
pub mod signature;
pub mod tables;
pub mod types;
pub mod writer;

use crate::error::{Error, Result};
use heaps::{Blobs, Guids, Strings};
use root::Root;
use std::sync::OnceLock;
use tables::Tables;
use types::Types;

/// Metadata whose structure was read and checked.
pub struct Metadata<'a> {
    /// All of it, from the root's signature on.
    pub bytes: &'a [u8],
    /// The root: version and streams.
    pub root: Root<'a>,
    /// `#~` or `#-`.
    pub tables: Tables<'a>,
    /// `#Strings`.
    pub strings: Strings<'a>,
    /// `#Blob`.
    pub blobs: Blobs<'a>,
    /// `#GUID`.
    pub guids: Guids<'a>,
    /// `#Pdb`, in a portable PDB.
    pub pdb: Option<root::PdbStream<'a>>,
    /// Read when first asked for.
    types: OnceLock<Types>,
}

impl<'a> Metadata<'a> {
    /// Reads metadata, or a portable PDB; offsets in errors count from its first byte.
    pub fn parse(bytes: &'a [u8]) -> Result<Metadata<'a>> {
        let root = Root::parse(bytes)?;
        let pdb = match root.stream(b"#Pdb") {
            Some(stream) => {
                Some(root::PdbStream::parse(stream.data).map_err(|e| e.offset_by(stream.offset))?)
            }
            None => None,
        };
        let stream = root
            .tables()
            .map(|number| root.streams[number])
            .ok_or_else(|| Error::malformed(0, "metadata without tables"))?;
        let external = pdb.as_ref().map_or(&[0; 64], |pdb| &pdb.rows);
        // A minimal delta (`#JTD`) has wide indices everywhere.
        let wide = root.is_under_edit() && root.stream(b"#JTD").is_some();
        let tables =
            Tables::parse(stream.data, external, wide).map_err(|e| e.offset_by(stream.offset))?;
        let heap = |name: &[u8]| {
            root.stream(name)
                .map_or((0, &[][..]), |s| (s.offset, s.data))
        };
        Ok(Metadata {
            bytes,
            tables,
            strings: Strings::new(heap(b"#Strings")),
            blobs: Blobs::new(heap(b"#Blob")),
            guids: Guids::new(heap(b"#GUID")),
            pdb,
            root,
            types: OnceLock::new(),
        })
    }
}
