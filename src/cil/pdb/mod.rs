//! Portable PDBs (Portable PDB v1.0): the debugging information of woven methods, moved with their code.
//!
//! A debugger and a stack trace see the same lines as before: what goes in front of an instruction
//! belongs to its line, and handlers and the common way out to none.

mod points;
mod write;

pub use write::{Sealed, seal, unlink};

use crate::cil::image::Image;
use crate::cil::metadata::Metadata;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::tables::{Row, Tables, encode, token, token_row};
use crate::cil::rewrite::Rewritten;
use crate::cil::warning::Warning;
use crate::edit::Layout;
use crate::error::{Error, Kind, Result};
use points::Points;
use std::borrow::Cow;
use std::ops::Range;

/// Scopes of locals that became fields of a state machine:
/// 6DA9A61E-F8C7-4874-BE62-68BC5630DF71.
const HOISTED_SCOPES: [u8; 16] = [
    0x1e, 0xa6, 0xa9, 0x6d, 0xc7, 0xf8, 0x74, 0x48, 0xbe, 0x62, 0x68, 0xbc, 0x56, 0x30, 0xdf, 0x71,
];
/// Where an async method is suspended and goes on: 54FD2AC5-E925-401A-9C2A-F94F171072F8.
const ASYNC_STEPPING: [u8; 16] = [
    0xc5, 0x2a, 0xfd, 0x54, 0x25, 0xe9, 0x1a, 0x40, 0x9c, 0x2a, 0xf9, 0x4f, 0x17, 0x10, 0x72, 0xf8,
];

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
    metadata: Metadata<'a>,
    /// The name of the file that it is to be written to, if that is one of its own.
    file_name: Option<&'a str>,
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
        write::code_view_guid(image).is_none_or(|guid| guid == &self.id()[..16])
    }

    /// A method's sequence points (a `MethodDef` row), and its document's row, or 0.
    fn points(&self, method: u32) -> Result<Option<(Points<'a>, u32)>> {
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

    /// The first line of a method that is named, behind its document (a row).
    pub fn first_line(&self, method: u32) -> Option<(u32, u32)> {
        let (points, document) = self.points(method).ok()??;
        let (other, line) = points.first_line().ok()??;
        Some((other.unwrap_or(document), line))
    }

    /// Where a method's points lie, with what they say of lines, as it stands.
    #[cfg(test)]
    pub(super) fn places(&self, method: u32) -> Vec<(u32, Vec<u8>)> {
        let Ok(Some((points, _))) = self.points(method) else {
            return vec![];
        };
        points
            .records()
            .filter_map(|record| match record.unwrap() {
                points::Record::Point { pc, span, .. } => Some((pc, span.to_vec())),
                points::Record::Document(_) => None,
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
        use crate::cil::metadata::heaps::compressed;
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
            // A name that names itself over and over could be as long as one likes.
            if name.len() > 1 << 16 {
                return None;
            }
        }
        Some(String::from_utf8_lossy(&name).into_owned())
    }
}

impl Image<'_> {
    /// The GUID of the PDB that the image asks for.
    pub fn pdb_guid(&self) -> Option<[u8; 16]> {
        write::code_view_guid(self).and_then(|guid| guid.try_into().ok())
    }

    /// The file name of the PDB that the image asks for: what CoreCLR looks for beside it.
    pub fn pdb_name(&self) -> Option<String> {
        write::code_view_name(self)
    }
}

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
    let Some((_, data)) = write::entries(image).find(|(e, _)| e.kind == write::kind::EMBEDDED)
    else {
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

/// The rows of a table by a key, where the table does not say that it is sorted by it.
struct Index(Option<Vec<(u32, u32)>>);

impl Index {
    fn of(tables: &Tables<'_>, number: u8, column: usize) -> Index {
        if tables.is_sorted(number) {
            return Index(None);
        }
        let keys = tables.iter(number).map(|row| row.get(column));
        let mut rows: Vec<(u32, u32)> = keys.zip(1..).collect();
        rows.sort_unstable();
        Index(Some(rows))
    }

    /// Calls `each` with the rows that have this key.
    fn each(
        &self,
        tables: &Tables<'_>,
        (number, column): (u8, usize),
        key: u32,
        mut each: impl FnMut(u32, Row<'_>),
    ) {
        let Some(index) = &self.0 else {
            for (row, columns) in tables.with_key(number, column, key) {
                each(row, columns);
            }
            return;
        };
        let first = index.partition_point(|(k, _)| *k < key);
        for &(_, row) in index[first..].iter().take_while(|(k, _)| *k == key) {
            if let Ok(columns) = tables.row(number, row) {
                each(row, columns);
            }
        }
    }
}

/// Where a PDB tells what of methods.
pub struct Places {
    scopes_of: Index,
    information_of: Index,
}

impl Places {
    /// Looks where the tables are not sorted by method.
    pub fn of(pdb: &Pdb<'_>) -> Places {
        let tables = &pdb.metadata.tables;
        Places {
            scopes_of: Index::of(tables, table::LOCAL_SCOPE, column::local_scope::METHOD),
            information_of: Index::of(
                tables,
                table::CUSTOM_DEBUG_INFORMATION,
                column::custom_debug_information::PARENT,
            ),
        }
    }
}

/// A new blob.
struct NewBlob {
    /// When the method came that it is about; blobs are written in this order.
    order: u32,
    /// The row of the locals' signature, if the blob begins with one.
    locals: Option<u32>,
    /// The rest of it, in [`Edits::bytes`].
    rest: Range<usize>,
}

/// What changes in a PDB; [`seal`] writes it.
#[derive(Default)]
pub struct Edits {
    bytes: Vec<u8>,
    blobs: Vec<NewBlob>,
    /// Rows of `MethodDebugInformation` and their new points: numbers of blobs, if they can be read.
    points: Vec<(u32, Option<usize>)>,
    /// Rows of `LocalScope`, their new beginnings and lengths.
    scopes: Vec<(u32, u32, u32)>,
    /// Rows of `CustomDebugInformation` and their new values: numbers of blobs.
    information: Vec<(u32, usize)>,
}

/// A method's new code, as far as positions go.
struct Moved<'m> {
    layout: &'m Layout,
    old_len: u32,
    new: &'m Rewritten,
}

impl Moved<'_> {
    fn start(&self, pc: u32) -> u32 {
        self.layout.start(pc)
    }

    /// The new range of an old one; what was all of the method is all of it.
    fn range(&self, start: u32, len: u32) -> (u32, u32) {
        let end = start.saturating_add(len).min(self.old_len);
        let start = start.min(end);
        if start == 0 && end == self.old_len {
            return (0, self.new.code_len);
        }
        let new = self.start(start);
        (new, self.start(end) - new)
    }
}

impl Edits {
    /// Moves what the PDB says of a method (a `MethodDef` row) whose code of `old_len` bytes was written
    /// anew. `order` is the method's place among those that are woven. What cannot be read is left out:
    /// debugging information is no reason not to weave.
    pub fn method(
        &mut self,
        (pdb, places): (&Pdb<'_>, &Places),
        (order, method): (u32, u32),
        layout: &Layout,
        old_len: u32,
        new: &Rewritten,
    ) {
        let moved = Moved {
            layout,
            old_len,
            new,
        };
        if let Ok(Some((points, _))) = pdb.points(method) {
            let start = self.bytes.len();
            let place = |pc| (pc < old_len).then(|| moved.start(pc));
            let hidden = (new.own_end < new.code_len).then_some(new.own_end);
            let blob = match points::put_moved(&points, place, hidden, &mut self.bytes) {
                Ok(()) => Some(self.add_blob(order, Some(token_row(new.locals)), start)),
                Err(_) => {
                    self.bytes.truncate(start);
                    None
                }
            };
            self.points.push((method, blob));
        }
        self.move_scopes(pdb, places, method, &moved);
        self.move_information(pdb, places, (order, method), &moved);
    }

    /// Adds the changes of other methods; `locals` gives their signatures' final rows.
    pub fn append(&mut self, other: Edits, locals: impl Fn(u32) -> u32) {
        let (bytes, blobs) = (self.bytes.len(), self.blobs.len());
        self.bytes.extend_from_slice(&other.bytes);
        let moved = other.blobs.into_iter().map(|blob| NewBlob {
            order: blob.order,
            locals: blob.locals.map(&locals),
            rest: blob.rest.start + bytes..blob.rest.end + bytes,
        });
        self.blobs.extend(moved);
        let points = other.points.into_iter();
        self.points
            .extend(points.map(|(row, blob)| (row, blob.map(|blob| blob + blobs))));
        self.scopes.extend(other.scopes);
        let information = other.information.into_iter();
        self.information
            .extend(information.map(|(row, blob)| (row, blob + blobs)));
    }

    /// Notes what was appended to the bytes from `start` on as a blob; returns its number.
    fn add_blob(&mut self, order: u32, locals: Option<u32>, start: usize) -> usize {
        self.blobs.push(NewBlob {
            order,
            locals,
            rest: start..self.bytes.len(),
        });
        self.blobs.len() - 1
    }

    fn move_scopes(&mut self, pdb: &Pdb<'_>, places: &Places, method: u32, moved: &Moved<'_>) {
        use column::local_scope::{LENGTH, METHOD, START_OFFSET};
        let tables = &pdb.metadata.tables;
        let place = (table::LOCAL_SCOPE, METHOD);
        let scopes = &mut self.scopes;
        places.scopes_of.each(tables, place, method, |number, row| {
            let (start, len) = moved.range(row.get(START_OFFSET), row.get(LENGTH));
            scopes.push((number, start, len));
        });
    }

    fn move_information(
        &mut self,
        pdb: &Pdb<'_>,
        places: &Places,
        (order, method): (u32, u32),
        moved: &Moved<'_>,
    ) {
        use column::custom_debug_information::{KIND, PARENT, VALUE};
        let parent = encode(
            &coded::HAS_CUSTOM_DEBUG_INFORMATION,
            token(table::METHOD_DEF, method),
        );
        let key = parent.expect("methods have such information");
        let metadata = &pdb.metadata;
        let mut found = Vec::new();
        let place = (table::CUSTOM_DEBUG_INFORMATION, PARENT);
        places
            .information_of
            .each(&metadata.tables, place, key, |number, row| {
                let kind = match metadata.guids.get(row.get(KIND)) {
                    Ok(Some(&HOISTED_SCOPES)) => Information::HoistedScopes,
                    Ok(Some(&ASYNC_STEPPING)) => Information::AsyncStepping,
                    _ => return,
                };
                if let Ok(value) = metadata.blobs.get(row.get(VALUE)) {
                    found.push((number, kind, value));
                }
            });
        for (number, kind, value) in found {
            let start = self.bytes.len();
            match kind {
                Information::HoistedScopes => put_hoisted(value, moved, &mut self.bytes),
                Information::AsyncStepping => put_stepping(value, moved, &mut self.bytes),
            }
            let blob = self.add_blob(order, None, start);
            self.information.push((number, blob));
        }
    }
}

/// Custom debug information that holds positions.
#[derive(Clone, Copy)]
enum Information {
    HoistedScopes,
    AsyncStepping,
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"))
}

/// Pairs of a beginning and a length; slots without a local are 0 and 0.
fn put_hoisted(value: &[u8], moved: &Moved<'_>, out: &mut Vec<u8>) {
    for pair in value.chunks_exact(8) {
        let (start, len) = match (word(pair), word(&pair[4..])) {
            (start, 0) => (start, 0),
            (start, len) => moved.range(start, len),
        };
        out.extend_from_slice(&start.to_le_bytes());
        out.extend_from_slice(&len.to_le_bytes());
    }
}

/// One more than the position of the handler that catches what `async void` throws, or 0; then, for
/// each await, where it is suspended, where it goes on, and in which method.
fn put_stepping(value: &[u8], moved: &Moved<'_>, out: &mut Vec<u8>) {
    use crate::cil::metadata::heaps::compressed;
    let Some((handler, mut rest)) = value.split_at_checked(4) else {
        return;
    };
    let handler = match word(handler) {
        0 => 0,
        after => moved.start(after - 1) + 1,
    };
    out.extend_from_slice(&handler.to_le_bytes());
    while let Some((pair, behind)) = rest.split_at_checked(8) {
        let Some((_, size)) = compressed(behind) else {
            return;
        };
        for pc in [word(pair), word(&pair[4..])] {
            out.extend_from_slice(&moved.start(pc).to_le_bytes());
        }
        out.extend_from_slice(&behind[..size]);
        rest = &behind[size..];
    }
}
