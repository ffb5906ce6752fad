//! The new file. Everything that stays keeps its address: sections, resources, data of fields, bodies of
//! methods that were not woven. New metadata and bodies go where nothing is any more (see
//! [`crate::cil::occupied`]), and what finds no room there into a section behind the last.
//!
//! Offsets in the file may change, where the headers grow or a section's unused end is cut off; the debug
//! directory, which alone has such offsets, is patched.

use crate::cil::identity::Identity;
use crate::cil::image::{CliHeader, DebugEntry, Image, cli_flag};
use crate::cil::metadata::additions::{Additions, FieldMap};
use crate::cil::metadata::rebuild::{Rebuilt, rebuild};
use crate::cil::metadata::schema::{column, table};
use crate::cil::occupied::{self, DROPPED, Occupied};
use crate::cil::output::{Bodies, Framing, NewBody, Output, Patch};
use crate::cil::pdb::{self, Pdb};
use crate::cil::pe::directory;
use crate::cil::pieces::{Piece, Pieces};
use crate::cil::readytorun::{self, Native};
use crate::cil::renumber;
use crate::cil::sections::{self, Sections, put};
use crate::cil::space::Space;
use crate::cil::strongname::{StrongNameKey, public_key_token};
use crate::cil::warning::Warning;
use crate::error::{Error, Kind, Result};
use std::sync::Arc;

/// Name of the manifest resource with the map from ids to names.
pub const SYMBOLS_RESOURCE: &str = "Weave.Symbols";

/// Largest image in memory: addresses are 32 bits, and the highest are the system's.
const MAX_IMAGE: u64 = 1 << 31;

/// Alignment of resources (CoreCLR and Roslyn use 8).
const RESOURCE_ALIGNMENT: u32 = 8;

/// What a weave made of an image.
pub(super) struct Edits<'e, 'a> {
    /// The metadata with what was added.
    pub metadata: Remade<'a>,
    /// For the bodies that are not written yet. Those that are have the new numbers of fields.
    pub framing: Framing,
    /// New bodies, in parts.
    pub parts: Vec<Bodies>,
    /// What stays of the image beside the new bodies.
    pub rest: Rest,
    /// The debugging information, if there is any, and what changes in it.
    pub pdb: Option<(Pdb<'e>, pdb::Edits)>,
}

/// What stays of an image beside new bodies, and what has no use any more.
pub(super) struct Rest {
    occupied: Occupied,
    /// Where fields move: addresses in bodies that stay, and new tokens.
    tokens: Vec<(u32, u32)>,
}

impl Rest {
    /// Reads what stays.
    pub fn read(
        image: &Image<'_>,
        parts: &[&[NewBody]],
        fields: &FieldMap,
        symbols: bool,
    ) -> Result<Rest> {
        let occupied = occupied::find(image, parts, symbols)?;
        let tokens = renumber::old_bodies(image, &occupied.bodies, fields)?;
        Ok(Rest { occupied, tokens })
    }
}

/// New metadata, but for the addresses of bodies.
pub(super) struct Remade<'a> {
    metadata: Rebuilt<'a>,
    /// Rows of each table.
    rows: [u32; 64],
    /// Where the symbols begin among the resources, if there are any.
    symbols: Option<u32>,
}

impl<'a> Remade<'a> {
    /// Makes it of the additions, of symbols' resource and of the key's public half.
    pub fn new(
        image: &Image<'a>,
        mut additions: Additions,
        fields: &FieldMap,
        symbols: bool,
        key: Option<&StrongNameKey>,
    ) -> Result<Remade<'a>> {
        let symbols = match symbols {
            true => Some(add_resource(image, &mut additions)?),
            false => None,
        };
        let key_blob = own_key(image, key).map(|key| additions.blob(key.public_key()));
        let rows = additions.counts();
        let mut metadata = rebuild(&image.metadata, additions, fields)?;
        if let Some(blob) = key_blob {
            metadata.set_public_key(blob);
        }
        Ok(Remade {
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

/// A debug directory entry that changes.
pub struct DebugEdit {
    /// Its number in the directory.
    pub number: usize,
    /// Its new data.
    pub data: Vec<u8>,
    /// Its new time stamp, if that changes.
    pub stamp: Option<u32>,
}

/// A new file.
pub struct Written<'a> {
    /// The file.
    pub image: Output<'a>,
    /// The portable PDB that goes beside it, if one was given.
    pub pdb: Option<Vec<u8>>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

fn too_large() -> Error {
    Error::new(Kind::NotDone, "the image would exceed two gigabytes")
}

/// Where what is new goes in memory.
struct Places {
    metadata: u32,
    resources: Option<u32>,
    signature: u32,
    /// The debug directory entries that change, by their number among the edits.
    debug: Vec<(usize, u32)>,
}

/// Lays out the new image, with symbols if its metadata has them.
pub(super) fn write<'a>(
    image: &Image<'a>,
    edits: Edits<'_, 'a>,
    symbols: Option<Arc<Vec<u8>>>,
    key: Option<&'a StrongNameKey>,
) -> Result<Written<'a>> {
    let key = own_key(image, key);
    let Remade {
        mut metadata, rows, ..
    } = edits.metadata;
    let resources = match edits.metadata.symbols.zip(symbols) {
        Some((at, symbols)) => Some(resources(image, at, symbols)?),
        None => None,
    };
    let fields = &edits.framing.fields;
    let (pdb, debug_edits) = match edits.pdb {
        Some((pdb, changes)) => {
            let sealed = pdb::seal(image, &pdb, changes, &rows, &|field| fields.row(field))?;
            (Some(sealed.bytes), sealed.debug)
        }
        None => (None, pdb::unlink(image)),
    };
    let mut parts = edits.parts;

    let Rest {
        occupied, tokens, ..
    } = edits.rest;
    let (_, _, end) = sections::bounds(image)?;
    let sizes = [
        metadata.pieces.len() as u32,
        resources.as_ref().map_or(0, |r| r.len() as u32),
    ];
    let size = metadata.pieces.len()
        + resources.as_ref().map_or(0, Pieces::len)
        + (parts.iter().flat_map(|part| &part.list))
            .map(|body| body.len as usize)
            .sum::<usize>()
        + debug_edits.iter().map(|d| d.data.len()).sum::<usize>();
    // Padding of each piece, and sections' ends.
    let count: usize = parts.iter().map(|part| part.list.len()).sum();
    let size = size as u64 + 16 * count as u64 + (1 << 25);
    if end + size > MAX_IMAGE {
        return Err(too_large());
    }
    let mut space = Space::new(occupied.holes.clone(), occupied.closed.clone(), end as u32);
    let places = Places {
        metadata: space.large(sizes[0], 8),
        resources: (resources.as_ref()).map(|_| space.large(sizes[1], RESOURCE_ALIGNMENT)),
        signature: signature_place(image, key, &mut space),
        debug: debug_places(image, &debug_edits, &mut space),
    };
    for body in parts.iter_mut().flat_map(|part| &mut part.list) {
        body.at = space.small(body.len, 4);
    }
    let bodies = parts.iter().flat_map(|part| &part.list);
    metadata.set_rvas(bodies.map(|body| (body.method, body.at)));

    let sections = Sections::new(image, &space)?;
    let moved = (tokens.into_iter())
        .filter_map(|(rva, value)| Some(Patch::new(sections.offset_of(rva)?, value)));
    let mut patches: Vec<Patch> = moved.collect();
    // From addresses to offsets.
    // Sections may say more than they hold.
    let fits = |at: usize, len: usize| at.saturating_add(len) <= sections.len();
    let mut has_room = true;
    for part in &mut parts {
        for body in &mut part.list {
            body.at = sections.at(body.at)? as u32;
            has_room &= fits(body.at as usize, body.len as usize);
        }
        part.list.sort_by_key(|body| body.at);
    }
    let mut headers = sections.put_headers(image);
    let mut pieces = Vec::new();
    for (at, bytes) in sections.overlay(image) {
        pieces.push((at, Piece::Borrowed(bytes)));
    }
    let metadata_at = sections.at(places.metadata)?;
    for (at, piece) in metadata.pieces.into_iter() {
        pieces.push((metadata_at + at, piece));
    }
    if let (Some(resources), Some(rva)) = (resources, places.resources) {
        let start = sections.at(rva)?;
        for (at, piece) in resources.into_iter() {
            pieces.push((start + at, piece));
        }
    }

    let mut warnings = Vec::new();
    let cli = sections.at(image.pe.directory(directory::CLI_HEADER).rva)?;
    let mut flags = image.cli.flags;
    put_cli_header(&places, sizes, cli, &mut patches);
    put_debug_directory(image, &sections, &places, &debug_edits, &mut patches)?;
    for ((_, rva), edit) in places.debug.iter().zip(debug_edits) {
        pieces.push((sections.at(*rva)?, Piece::Owned(edit.data)));
    }
    if image.native == Native::ReadyToRun {
        flags = flags & !cli_flag::IL_LIBRARY | cli_flag::IL_ONLY;
        for word in [0, 4] {
            patches.push(Patch::new(cli + CliHeader::NATIVE + word, 0));
        }
        drop_native(image, &mut headers);
        warnings.push(Warning::ReadyToRunDropped);
    }
    if let Some(at) = image.pe.directory_offset(directory::CERTIFICATE) {
        if !image.pe.directory(directory::CERTIFICATE).is_empty() {
            warnings.push(Warning::AuthenticodeRemoved);
        }
        headers[at..at + 8].fill(0);
    }
    let signature = match key {
        Some(key) => {
            let start = sections.at(places.signature)?;
            let size = key.signature_size();
            for (word, value) in [(0, places.signature), (4, size as u32)] {
                patches.push(Patch::new(cli + CliHeader::STRONG_NAME + word, value));
            }
            flags |= cli_flag::STRONG_NAME_SIGNED;
            warnings.extend(changed_key(image, key));
            pieces.push((start, Piece::Owned(vec![0; size])));
            Some((start..start + size, key))
        }
        None => {
            // A public or delayed signature is all zeros, and nothing that could be wrong.
            if !image.cli.strong_name.is_empty()
                && let Ok((_, old)) = image.pe.slice(image.cli.strong_name)
                && old.iter().any(|&byte| byte != 0)
            {
                let start = sections.at(image.cli.strong_name.rva)?;
                pieces.push((start, Piece::Owned(vec![0; old.len()])));
                flags &= !cli_flag::STRONG_NAME_SIGNED;
                warnings.push(Warning::StrongNameRemoved);
            }
            None
        }
    };
    patches.push(Patch::new(cli + CliHeader::FLAGS, flags));
    patches.sort_by_key(|patch| patch.at);
    if image.assembly_name().is_none() {
        warnings.push(Warning::Netmodule);
    }
    let identity = Identity {
        headers: sections.headers(),
        stamp: image.pe.coff + 4,
        checksum: Some(image.pe.checksum_offset()).filter(|&at| image.bytes[at..at + 4] != [0; 4]),
        mvid: metadata.mvid.map(|mvid| metadata_at + mvid),
        signature,
    };
    put(&mut headers, identity.stamp, 0);
    put(&mut headers, image.pe.checksum_offset(), 0);
    pieces.push((0, Piece::Owned(headers)));
    if !has_room
        || !pieces.iter().all(|(at, piece)| fits(*at, piece.len()))
        || !patches.iter().all(|p| fits(p.at as usize, 4))
    {
        let why = "the sections hold less than they say: what is new has no room";
        return Err(Error::malformed(image.pe.coff, why));
    }
    Ok(Written {
        image: Output {
            input: image.bytes,
            len: sections.len(),
            kept: sections.kept([&occupied.holes, &occupied.closed]),
            pieces,
            parts,
            framing: edits.framing,
            patches,
            identity,
        },
        pdb,
        warnings,
    })
}

/// Places for the debug data that changes: where the old lies, if the new is no longer.
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
    if let Some(rva) = places.resources {
        put(CliHeader::RESOURCES, rva);
        put(CliHeader::RESOURCES + 4, resources);
    }
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

/// Makes headers of an image of IL alone of those of a ReadyToRun image, as illink does.
fn drop_native(image: &Image<'_>, headers: &mut [u8]) {
    let pe = &image.pe;
    for number in DROPPED {
        if let Some(at) = pe.directory_offset(number) {
            headers[at..at + 8].fill(0);
        }
    }
    put(headers, pe.optional + 16, 0);
    let machine = readytorun::plain_machine(pe.machine());
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

/// Whether a key is another than the assembly had.
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
#[path = "write_tests.rs"]
mod tests;
