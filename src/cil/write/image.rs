//! The new file. Everything that stays keeps its address: sections, resources, data of fields, bodies of
//! methods that were not woven. New metadata and bodies go into free ranges (see [`crate::cil::write::free_ranges`]); the
//! rest goes into a section behind the last.
//!
//! Offsets in the file may change, where the headers grow or a section's unused end is cut off; the debug
//! directory, which alone has such offsets, is patched.

use crate::bytes::put_le_u32;
use crate::cil::cli_header::{CliHeader, cli_flag};
use crate::cil::image::{DebugEntry, Image, SYMBOLS_RESOURCE};
use crate::cil::metadata::additions::Additions;
use crate::cil::metadata::field_map::FieldMap;
use crate::cil::metadata::pieces::{Piece, Pieces};
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::writer::{PlacedBody, Rebuilt, rebuild};
use crate::cil::native::{self, Native};
use crate::cil::pdb::{self, DebugEdit, Pdb};
use crate::cil::pe::directory;
use crate::cil::warning::Warning;
use crate::cil::weave::bodies::{Bodies, Framing, NewBody};
use crate::cil::weave::sites::OldBodies;
use crate::cil::weave::tokens;
use crate::cil::write::allocator::Space;
use crate::cil::write::free_ranges::{self, DROPPED, Occupied};
use crate::cil::write::identity::Identity;
use crate::cil::write::output::{Output, Patch};
use crate::cil::write::sections::{self, Sections};
use crate::error::{Error, Kind, Result};
use crate::signing::strong_name::{StrongNameKey, public_key_token};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Largest image in memory: addresses are 32 bits, and the highest are the system's.
const MAX_IMAGE: u64 = 1 << 31;

/// Alignment of resources (CoreCLR and Roslyn use 8).
const RESOURCE_ALIGNMENT: u32 = 8;

/// The result of a weave, before it is laid out.
pub(crate) struct Edits<'e, 'a> {
    /// The metadata with its additions.
    pub metadata: Metadata<'a>,
    /// For the bodies that are written with the file. The others name fields by their new rows.
    pub framing: Framing,
    pub parts: Vec<Bodies>,
    /// What stays of the image beside the new bodies.
    pub rest: Rest,
    /// The debugging information, if there is any, and its changes.
    pub pdb: Option<(Pdb<'e>, pdb::Edits)>,
}

impl Edits<'_, '_> {
    /// Whether no body is new or changes.
    pub fn is_empty(&self) -> bool {
        self.rest.bodies.is_empty() && self.parts.iter().all(|part| part.list.is_empty())
    }
}

/// The parts of an image that stay, and its free ranges.
pub(crate) struct Rest {
    occupied: Occupied,
    /// Those bodies among them whose calls are redirected, by their addresses.
    bodies: BTreeMap<u32, Vec<u8>>,
    /// New tokens of fields in bodies that stay: address and token.
    tokens: Vec<(u32, u32)>,
}

impl Rest {
    /// Finds them.
    pub fn read(
        image: &Image<'_>,
        old: OldBodies<'_, '_>,
        parts: &[&[NewBody]],
        fields: &FieldMap,
    ) -> Result<Rest> {
        let occupied = free_ranges::find(image, parts)?;
        let tokens = tokens::old_bodies(&old, &occupied.bodies, fields)?;
        Ok(Rest {
            bodies: old.into_changed(&occupied.bodies),
            occupied,
            tokens,
        })
    }
}

/// New metadata, but for the addresses of bodies.
pub(crate) struct Metadata<'a> {
    metadata: Rebuilt<'a>,
    /// Rows of each table.
    rows: [u32; 64],
    /// Where the symbols begin among the resources.
    symbols: u32,
}

impl<'a> Metadata<'a> {
    /// Makes it from the additions, the symbols' resource and the public key.
    pub fn new(
        image: &Image<'a>,
        mut additions: Additions,
        fields: &FieldMap,
        key: Option<&StrongNameKey>,
    ) -> Result<Metadata<'a>> {
        let symbols = add_resource(image, &mut additions)?;
        let key_blob = own_key(image, key).map(|key| additions.blob(key.public_key()));
        let rows = additions.counts();
        let mut metadata = rebuild(&image.metadata, additions, fields)?;
        if let Some(blob) = key_blob {
            metadata.set_public_key(blob);
        }
        Ok(Metadata {
            metadata,
            rows,
            symbols,
        })
    }
}

/// A netmodule has no name to sign.
fn own_key<'k>(image: &Image<'_>, key: Option<&'k StrongNameKey>) -> Option<&'k StrongNameKey> {
    key.filter(|_| image.assembly_name().is_some())
}

pub struct Written<'a> {
    pub image: Output<'a>,
    /// The portable PDB that goes beside it, if one was given.
    pub pdb: Option<Vec<u8>>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

fn too_large() -> Error {
    Error::new(Kind::NotDone, "the image would exceed two gigabytes")
}

/// Addresses of the new parts.
struct Places {
    metadata: u32,
    resources: u32,
    signature: u32,
    /// The debug directory entries that change, by their number among the edits.
    debug: Vec<(usize, u32)>,
}

/// Lays out the new image.
pub(crate) fn write<'a>(
    image: &Image<'a>,
    edits: Edits<'_, 'a>,
    symbols: Arc<Vec<u8>>,
    key: Option<&'a StrongNameKey>,
) -> Result<Written<'a>> {
    let key = own_key(image, key);
    let Metadata {
        mut metadata,
        rows,
        symbols: symbols_at,
    } = edits.metadata;
    let resources = resources(image, symbols_at, symbols)?;
    let fields = &edits.framing.fields;
    let (pdb, debug_edits) = match edits.pdb {
        Some((pdb, changes)) => {
            let moved = (fields, &metadata.generics);
            let sealed = pdb::seal(image, &pdb, changes, &rows, moved)?;
            (Some(sealed.bytes), sealed.debug)
        }
        None => (None, pdb::unlink(image)),
    };
    let mut parts = edits.parts;
    let Rest {
        occupied,
        bodies: changed,
        tokens,
    } = edits.rest;

    let sizes = [metadata.pieces.len(), resources.len()];
    let (places, space) = place(image, &occupied, sizes, &mut parts, &debug_edits, key)?;
    let bodies = parts.iter().flat_map(|part| &part.list);
    metadata.set_bodies(bodies.map(|body| PlacedBody {
        method: body.method,
        rva: body.at,
        apart: body.apart,
        unmarked: body.unmarked,
        unsuspended: body.unsuspended,
    }));

    let sections = Sections::new(image, &space)?;
    let mut draft = Draft::new(image, &sections)?;
    for (rva, body) in changed {
        draft.put(rva, body)?;
    }
    for (rva, value) in tokens {
        draft.patch_at(sections.offset_of(rva), value);
    }
    let bodies_fit = to_offsets(&mut parts, &sections)?;
    let mvid = metadata.mvid;
    let metadata_at = draft.put_pieces(places.metadata, metadata.pieces)?;
    draft.put_pieces(places.resources, resources)?;
    put_cli_header(
        &places,
        sizes.map(|size| size as u32),
        draft.cli,
        &mut draft.patches,
    );
    put_debug_directory(image, &sections, &places, &debug_edits, &mut draft.patches)?;
    for ((_, rva), edit) in places.debug.iter().zip(debug_edits) {
        draft.put(*rva, edit.data)?;
    }
    if image.native == Native::ReadyToRun {
        draft.drop_native();
    }
    draft.drop_certificate();
    let signature = draft.sign(places.signature, key)?;
    if image.assembly_name().is_none() {
        draft.warnings.push(Warning::Netmodule);
    }
    let identity = Identity {
        headers: sections.headers(),
        stamp: image.pe.coff + 4,
        checksum: Some(image.pe.checksum_offset()).filter(|&at| image.bytes[at..at + 4] != [0; 4]),
        mvid: mvid.map(|mvid| metadata_at + mvid),
        signature,
    };
    let draft = draft.finish(identity.stamp);
    if !bodies_fit || !draft.fits() {
        let why = "the sections hold less than they say: what is new has no room";
        return Err(Error::malformed(image.pe.coff, why));
    }
    Ok(Written {
        image: Output {
            input: image.bytes,
            len: sections.len(),
            kept: sections.kept([&occupied.holes, &occupied.closed]),
            pieces: draft.pieces,
            parts,
            framing: edits.framing,
            patches: draft.patches,
            identity,
        },
        pdb,
        warnings: draft.warnings,
    })
}

/// Finds the addresses of the new parts and bodies; `sizes` are those of metadata and resources.
fn place(
    image: &Image<'_>,
    occupied: &Occupied,
    sizes: [usize; 2],
    parts: &mut [Bodies],
    debug: &[DebugEdit],
    key: Option<&StrongNameKey>,
) -> Result<(Places, Space)> {
    let end = sections::bounds(image)?.end;
    check_size(end, sizes[0] + sizes[1], parts, debug)?;
    let mut space = Space::new(occupied.holes.clone(), occupied.closed.clone(), end as u32);
    let places = Places {
        metadata: space.large(sizes[0] as u32, 8),
        resources: space.large(sizes[1] as u32, RESOURCE_ALIGNMENT),
        signature: signature_place(image, key, &mut space),
        debug: debug_places(image, debug, &mut space),
    };
    for body in parts.iter_mut().flat_map(|part| &mut part.list) {
        body.at = space.small(body.len, 4);
    }
    Ok((places, space))
}

/// Refuses an image that would be too large, so that addresses do not overflow: `end` is the old one's size, `large` that of
/// new metadata and resources.
fn check_size(end: u64, large: usize, parts: &[Bodies], debug: &[DebugEdit]) -> Result<()> {
    /// Sections' ends.
    const ENDS: u64 = 1 << 25;
    /// Padding of a body.
    const PADDING: u64 = 16;
    let bodies = || parts.iter().flat_map(|part| &part.list);
    let code: usize = bodies().map(|body| body.len as usize).sum();
    let debug: usize = debug.iter().map(|d| d.data.len()).sum();
    let size = (large + code + debug) as u64 + PADDING * bodies().count() as u64 + ENDS;
    match end + size > MAX_IMAGE {
        true => Err(too_large()),
        false => Ok(()),
    }
}

/// Turns the addresses of bodies into offsets; returns whether all lie in the file: sections may claim more than they
/// hold.
fn to_offsets(parts: &mut [Bodies], sections: &Sections) -> Result<bool> {
    let mut fit = true;
    for part in parts {
        for body in &mut part.list {
            body.at = sections.at(body.at)? as u32;
            fit &= fits(sections, body.at as usize, body.len as usize);
        }
        part.list.sort_by_key(|body| body.at);
    }
    Ok(fit)
}

fn fits(sections: &Sections, at: usize, len: usize) -> bool {
    at.saturating_add(len) <= sections.len()
}

/// The new file without bodies, while its pieces get their places.
struct Draft<'d, 'a> {
    image: &'d Image<'a>,
    sections: &'d Sections,
    headers: Vec<u8>,
    pieces: Vec<(usize, Piece<'a>)>,
    patches: Vec<Patch>,
    warnings: Vec<Warning>,
    /// Offset of the CLI header.
    cli: usize,
    flags: u32,
}

impl<'d, 'a> Draft<'d, 'a> {
    fn new(image: &'d Image<'a>, sections: &'d Sections) -> Result<Self> {
        let overlay = sections.overlay(image);
        Ok(Draft {
            image,
            sections,
            headers: sections.put_headers(image),
            pieces: overlay
                .map(|(at, bytes)| (at, Piece::Borrowed(bytes)))
                .collect(),
            patches: Vec::new(),
            warnings: Vec::new(),
            cli: sections.at(image.pe.directory(directory::CLI_HEADER).rva)?,
            flags: image.cli.flags,
        })
    }

    /// Changes four bytes at an offset, if there is one.
    fn patch_at(&mut self, at: Option<usize>, value: u32) {
        self.patches.extend(at.map(|at| Patch::new(at, value)));
    }

    /// Puts bytes at an address; returns their offset.
    fn put(&mut self, rva: u32, bytes: Vec<u8>) -> Result<usize> {
        let at = self.sections.at(rva)?;
        self.pieces.push((at, Piece::Owned(bytes)));
        Ok(at)
    }

    /// The same for pieces that follow one another.
    fn put_pieces(&mut self, rva: u32, pieces: Pieces<'a>) -> Result<usize> {
        let start = self.sections.at(rva)?;
        let pieces = pieces.into_iter().map(|(at, piece)| (start + at, piece));
        self.pieces.extend(pieces);
        Ok(start)
    }

    /// Turns a ReadyToRun image into an IL image, as illink does.
    fn drop_native(&mut self) {
        self.flags = self.flags & !cli_flag::IL_LIBRARY | cli_flag::IL_ONLY;
        for word in [0, 4] {
            self.patch_at(Some(self.cli + CliHeader::NATIVE + word), 0);
        }
        drop_native(self.image, &mut self.headers);
        self.warnings.push(Warning::ReadyToRunDropped);
    }

    fn drop_certificate(&mut self) {
        let pe = &self.image.pe;
        if let Some(at) = pe.directory_offset(directory::CERTIFICATE) {
            if !pe.directory(directory::CERTIFICATE).is_empty() {
                self.warnings.push(Warning::AuthenticodeRemoved);
            }
            self.headers[at..at + 8].fill(0);
        }
    }

    /// Makes room for the strong name's signature at an address, or drops the one that is there.
    fn sign<'k>(
        &mut self,
        rva: u32,
        key: Option<&'k StrongNameKey>,
    ) -> Result<Option<(Range<usize>, &'k StrongNameKey)>> {
        match key {
            Some(key) => Ok(Some(self.make_room_to_sign(rva, key)?)),
            None => {
                self.drop_signature()?;
                Ok(None)
            }
        }
    }

    /// Puts zeros where the strong name's signature goes, at an address.
    fn make_room_to_sign<'k>(
        &mut self,
        rva: u32,
        key: &'k StrongNameKey,
    ) -> Result<(Range<usize>, &'k StrongNameKey)> {
        let size = key.signature_size();
        for (word, value) in [(0, rva), (4, size as u32)] {
            self.patch_at(Some(self.cli + CliHeader::STRONG_NAME + word), value);
        }
        self.flags |= cli_flag::STRONG_NAME_SIGNED;
        self.warnings.extend(changed_key(self.image, key));
        let start = self.put(rva, vec![0; size])?;
        Ok((start..start + size, key))
    }

    /// Removes the strong name's signature. A public or delayed one is all zeros, which cannot be wrong.
    fn drop_signature(&mut self) -> Result<()> {
        let place = self.image.cli.strong_name;
        if !place.is_empty()
            && let Ok((_, old)) = self.image.pe.slice(place)
            && old.iter().any(|&byte| byte != 0)
        {
            self.put(place.rva, vec![0; old.len()])?;
            self.flags &= !cli_flag::STRONG_NAME_SIGNED;
            self.warnings.push(Warning::StrongNameRemoved);
        }
        Ok(())
    }

    /// Puts the headers, with zeros for the identity.
    fn finish(mut self, stamp: usize) -> Self {
        self.patch_at(Some(self.cli + CliHeader::FLAGS), self.flags);
        self.patches.sort_by_key(|patch| patch.at);
        let mut headers = std::mem::take(&mut self.headers);
        put_le_u32(&mut headers, stamp, 0);
        put_le_u32(&mut headers, self.image.pe.checksum_offset(), 0);
        self.pieces.push((0, Piece::Owned(headers)));
        self
    }

    /// Whether all lies in the file.
    fn fits(&self) -> bool {
        let mut pieces = self.pieces.iter();
        pieces.all(|(at, piece)| fits(self.sections, *at, piece.len()))
            && (self.patches.iter()).all(|p| fits(self.sections, p.at as usize, 4))
    }
}

/// Places for changed debug data: that of the old data, if the new one fits.
fn debug_places(image: &Image<'_>, edits: &[DebugEdit], space: &mut Space) -> Vec<(usize, u32)> {
    let entries: Vec<DebugEntry> = image.debug_entries().collect();
    let edits = edits.iter().map(|edit| {
        let entry = entries[edit.number];
        let fits = edit.data.len() <= entry.size as usize && entry.rva != 0;
        let rva = match fits {
            true => entry.rva,
            false => space.large(edit.data.len() as u32, 4),
        };
        (edit.number, rva)
    });
    edits.collect()
}

/// The CLI header's directories of metadata and resources.
fn put_cli_header(
    places: &Places,
    [metadata, resources]: [u32; 2],
    cli: usize,
    patches: &mut Vec<Patch>,
) {
    let mut put = |at, value| patches.push(Patch::new(cli + at, value));
    put(CliHeader::METADATA, places.metadata);
    put(CliHeader::METADATA + 4, metadata);
    put(CliHeader::RESOURCES, places.resources);
    put(CliHeader::RESOURCES + 4, resources);
}

/// The debug directory: changed entries, and all entries' offsets in the file.
fn put_debug_directory(
    image: &Image<'_>,
    sections: &Sections,
    places: &Places,
    edits: &[DebugEdit],
    patches: &mut Vec<Patch>,
) -> Result<()> {
    let directory = image.pe.directory(directory::DEBUG);
    for (number, entry) in image.debug_entries().enumerate() {
        let header = sections.at(directory.rva)? + number * DebugEntry::SIZE;
        let mut put = |at, value| patches.push(Patch::new(header + at, value));
        let mut rva = entry.rva;
        let mut changed = places.debug.iter().zip(edits);
        if let Some(((_, moved), edit)) = changed.find(|((n, _), _)| *n == number) {
            rva = *moved;
            put(16, edit.data.len() as u32);
            put(20, rva);
            if let Some(stamp) = edit.stamp {
                put(4, stamp);
            }
        }
        let raw = match rva {
            0 => sections.moved(image, entry.raw),
            rva => sections.offset_of(rva).map(|at| at as u32),
        };
        if let Some(raw) = raw {
            put(24, raw);
        }
    }
    Ok(())
}

/// Turns the headers of a ReadyToRun image into those of an IL image, as illink does.
fn drop_native(image: &Image<'_>, headers: &mut [u8]) {
    let pe = &image.pe;
    for number in DROPPED {
        if let Some(at) = pe.directory_offset(number) {
            headers[at..at + 8].fill(0);
        }
    }
    put_le_u32(headers, pe.optional + 16, 0);
    let machine = native::plain_machine(pe.machine());
    headers[pe.coff..pe.coff + 2].copy_from_slice(&machine.to_le_bytes());
}

/// Adds the resource of the symbols, which lies behind the others; returns its offset among them.
fn add_resource(image: &Image<'_>, additions: &mut Additions) -> Result<u32> {
    /// Visible outside of the assembly (II.23.1.9).
    const PUBLIC: u32 = 1;
    let others = match image.cli.resources.is_empty() {
        true => 0,
        false => image.pe.slice(image.cli.resources)?.1.len(),
    };
    let offset = others.next_multiple_of(RESOURCE_ALIGNMENT as usize);
    let offset = u32::try_from(offset).map_err(|_| too_large())?;
    let name = additions.string(SYMBOLS_RESOURCE);
    additions.row(table::MANIFEST_RESOURCE, &[offset, PUBLIC, name, 0])?;
    Ok(offset)
}

/// The managed resources with the symbols behind them (II.24.2.7), at `offset`.
fn resources<'a>(image: &Image<'a>, offset: u32, symbols: Arc<Vec<u8>>) -> Result<Pieces<'a>> {
    let mut all = Pieces::default();
    if !image.cli.resources.is_empty() {
        all.push(Piece::Borrowed(image.pe.slice(image.cli.resources)?.1));
        all.align(RESOURCE_ALIGNMENT as usize);
    }
    debug_assert_eq!(all.len(), offset as usize);
    let length = u32::try_from(symbols.len()).map_err(|_| too_large())?;
    all.push(Piece::Owned(length.to_le_bytes().to_vec()));
    all.push(Piece::Shared(symbols));
    Ok(all)
}

/// The address of the strong name's signature; that of another size gets a new place.
fn signature_place(image: &Image<'_>, key: Option<&StrongNameKey>, space: &mut Space) -> u32 {
    let old = image.cli.strong_name;
    match key {
        Some(key) if key.signature_size() != old.size as usize || old.is_empty() => {
            space.large(key.signature_size() as u32, 4)
        }
        _ => old.rva,
    }
}

/// Whether the key is not the assembly's old one.
fn changed_key(image: &Image<'_>, key: &StrongNameKey) -> Option<Warning> {
    let row = image.metadata.tables.row(table::ASSEMBLY, 1).ok()?;
    let blob = row.get(column::assembly::PUBLIC_KEY);
    let old = image.metadata.blobs.get(blob).ok()?;
    let hex = |key: &[u8]| -> String {
        let token = public_key_token(key);
        token.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    (old != key.public_key()).then(|| Warning::PublicKeyChanged {
        old: if old.is_empty() {
            String::new()
        } else {
            hex(old)
        },
        new: hex(key.public_key()),
    })
}

#[cfg(test)]
mod tests;
