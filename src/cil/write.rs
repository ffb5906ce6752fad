//! The new file. Everything that stays keeps its address: sections, resources, data of fields, bodies of
//! methods that were not woven. New metadata and bodies go where nothing is any more (see
//! [`crate::cil::occupied`]), and what finds no room there into a section behind the last.
//!
//! Offsets in the file may change, where the headers grow or a section's unused end is cut off; the debug
//! directory, which alone has such offsets, is patched.

use crate::cil::identity;
use crate::cil::image::{CliHeader, DebugEntry, Image, cli_flag};
use crate::cil::metadata::additions::Additions;
use crate::cil::metadata::rebuild::rebuild;
use crate::cil::metadata::schema::{column, table};
use crate::cil::occupied::{self, DROPPED};
use crate::cil::pdb::{self, Pdb};
use crate::cil::pe::directory;
use crate::cil::readytorun::{self, Native};
use crate::cil::renumber;
use crate::cil::sections::{self, Sections, put};
use crate::cil::space::Space;
use crate::cil::strongname::{StrongNameKey, public_key_token};
use crate::cil::warning::Warning;
use crate::error::{Error, Kind, Result};
use std::ops::Range;

/// Name of the manifest resource with the map from ids to names.
pub const SYMBOLS_RESOURCE: &str = "Weave.Symbols";

/// Largest image in memory: addresses are 32 bits, and the highest are the system's.
const MAX_IMAGE: u64 = 1 << 31;

/// Alignment of resources (CoreCLR and Roslyn use 8).
const RESOURCE_ALIGNMENT: u32 = 8;

/// What a weave made of an image.
pub(super) struct Edits<'e> {
    /// Rows, strings, blobs and fields.
    pub additions: Additions,
    /// New bodies, one after the other; each begins at a multiple of four.
    pub bodies: &'e mut Vec<u8>,
    /// The methods that have new bodies (`MethodDef` rows, ascending), and where those are.
    pub methods: &'e [(u32, Range<usize>)],
    /// The debugging information, if there is any, and what changes in it.
    pub pdb: Option<(Pdb<'e>, pdb::Edits)>,
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

/// A written file.
pub struct Written {
    /// Its bytes.
    pub image: Vec<u8>,
    /// The portable PDB that goes beside it, if one was given.
    pub pdb: Option<Vec<u8>>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

fn too_large() -> Error {
    Error::new(Kind::NotDone, "the image would exceed two gigabytes")
}

/// Where what is new goes in memory.
struct Places<'e> {
    metadata: u32,
    resources: Option<u32>,
    signature: u32,
    /// Of each woven method's body.
    bodies: Vec<u32>,
    /// The debug directory entries that change.
    debug: Vec<(usize, u32, &'e DebugEdit)>,
}

/// Writes the image.
pub(super) fn write(
    image: &Image<'_>,
    mut edits: Edits<'_>,
    symbols: Option<&[u8]>,
    key: Option<&StrongNameKey>,
) -> Result<Written> {
    // A netmodule has no name to sign.
    let key = key.filter(|_| image.assembly_name().is_some());
    // The symbols go behind the other resources, which must lie in one piece.
    let resources = match symbols {
        Some(symbols) => Some(resources(image, &mut edits.additions, symbols)?),
        None => None,
    };
    let key_blob = key.map(|key| edits.additions.blob(key.public_key()));
    let fields = edits.additions.field_map(&image.metadata)?;
    let mut metadata = rebuild(&image.metadata, &edits.additions, &fields)?;
    let (pdb, debug_edits) = match edits.pdb {
        Some((pdb, changes)) => {
            let rows = edits.additions.counts();
            let sealed = pdb::seal(image, &pdb, changes, &rows, &|field| fields.row(field))?;
            (Some(sealed.bytes), sealed.debug)
        }
        None => (None, pdb::unlink(image)),
    };
    if let Some(blob) = key_blob {
        metadata.set_public_key(blob);
    }
    if !fields.is_empty() {
        renumber::new_bodies(edits.bodies, edits.methods, &fields)?;
    }

    let moved: Vec<u32> = edits.methods.iter().map(|(method, _)| *method).collect();
    let occupied = occupied::find(image, &moved, resources.is_some())?;
    let (_, _, end) = sections::bounds(image)?;
    let size = metadata.bytes.len()
        + resources.as_ref().map_or(0, Vec::len)
        + edits.bodies.len()
        + debug_edits.iter().map(|d| d.data.len()).sum::<usize>();
    // Padding of each piece, and sections' ends.
    let size = size as u64 + 16 * edits.methods.len() as u64 + (1 << 25);
    if end + size > MAX_IMAGE {
        return Err(too_large());
    }
    let mut space = Space::new(occupied.holes.clone(), occupied.closed.clone(), end as u32);
    let places = Places {
        metadata: space.large(metadata.bytes.len() as u32, 8),
        resources: resources
            .as_ref()
            .map(|r| space.large(r.len() as u32, RESOURCE_ALIGNMENT)),
        signature: signature_place(image, key, &mut space),
        debug: debug_places(image, &debug_edits, &mut space),
        bodies: edits
            .methods
            .iter()
            .map(|(_, body)| space.small(body.len() as u32, 4))
            .collect(),
    };
    for ((method, _), rva) in edits.methods.iter().zip(&places.bodies) {
        metadata.set_rva(*method, *rva);
    }

    let sections = Sections::new(image, &space)?;
    let mut out = sections.copy(image, [&occupied.holes, &occupied.closed]);
    if !fields.is_empty() {
        renumber::old_bodies(image, &occupied.bodies, &sections, &fields, &mut out)?;
    }
    let mut place = |rva: u32, bytes: &[u8]| -> Result<()> {
        let start = sections.at(rva)?;
        out[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    };
    place(places.metadata, &metadata.bytes)?;
    if let (Some(bytes), Some(rva)) = (&resources, places.resources) {
        place(rva, bytes)?;
    }
    for (rva, (_, body)) in places.bodies.iter().zip(edits.methods) {
        place(*rva, &edits.bodies[body.clone()])?;
    }
    for (_, rva, edit) in &places.debug {
        place(*rva, &edit.data)?;
    }

    let mut warnings = Vec::new();
    let sizes = [
        metadata.bytes.len() as u32,
        resources.as_ref().map_or(0, |r| r.len() as u32),
    ];
    let cli = sections.at(image.pe.directory(directory::CLI_HEADER).rva)?;
    put_cli_header(&places, sizes, cli, &mut out);
    put_debug_directory(image, &sections, &places, &mut out)?;
    sections.put_headers(image, &mut out);
    if image.native == Native::ReadyToRun {
        drop_native(image, cli, &mut out);
        warnings.push(Warning::ReadyToRunDropped);
    }
    if let Some(at) = image.pe.directory_offset(directory::CERTIFICATE) {
        if !image.pe.directory(directory::CERTIFICATE).is_empty() {
            warnings.push(Warning::AuthenticodeRemoved);
        }
        out[at..at + 8].fill(0);
    }
    let flags = cli + CliHeader::FLAGS;
    let signature = match key {
        Some(key) => {
            let start = sections.at(places.signature)?;
            put(&mut out, cli + CliHeader::STRONG_NAME, places.signature);
            let size = key.signature_size();
            put(&mut out, cli + CliHeader::STRONG_NAME + 4, size as u32);
            out[flags] |= cli_flag::STRONG_NAME_SIGNED as u8;
            warnings.extend(changed_key(image, key));
            Some((start..start + size, key))
        }
        None => {
            // A public or delayed signature is all zeros, and nothing that could be wrong.
            if !image.cli.strong_name.is_empty()
                && let Ok((_, old)) = image.pe.slice(image.cli.strong_name)
                && old.iter().any(|&byte| byte != 0)
            {
                let start = sections.at(image.cli.strong_name.rva)?;
                out[start..start + old.len()].fill(0);
                out[flags] &= !(cli_flag::STRONG_NAME_SIGNED as u8);
                warnings.push(Warning::StrongNameRemoved);
            }
            None
        }
    };
    if image.assembly_name().is_none() {
        warnings.push(Warning::Netmodule);
    }
    let mvid = match metadata.mvid {
        Some(mvid) => Some(sections.at(places.metadata)? + mvid),
        None => None,
    };
    identity::set(image, mvid, signature, &mut out)?;
    Ok(Written {
        image: out,
        pdb,
        warnings,
    })
}

/// Places for the debug data that changes: where the old lies, if the new is no longer.
fn debug_places<'e>(
    image: &Image<'_>,
    edits: &'e [DebugEdit],
    space: &mut Space,
) -> Vec<(usize, u32, &'e DebugEdit)> {
    let entries: Vec<DebugEntry> = image.debug_entries().collect();
    let edits = edits.iter().filter_map(|edit| {
        let entry = entries.get(edit.number)?;
        let fits = edit.data.len() <= entry.size as usize && entry.rva != 0;
        let rva = match fits {
            true => entry.rva,
            false => space.large(edit.data.len() as u32, 4),
        };
        Some((edit.number, rva, edit))
    });
    edits.collect()
}

/// The CLI header's directories of metadata and resources.
fn put_cli_header(
    places: &Places<'_>,
    [metadata, resources]: [u32; 2],
    cli: usize,
    out: &mut [u8],
) {
    put(out, cli + CliHeader::METADATA, places.metadata);
    put(out, cli + CliHeader::METADATA + 4, metadata);
    if let Some(rva) = places.resources {
        put(out, cli + CliHeader::RESOURCES, rva);
        put(out, cli + CliHeader::RESOURCES + 4, resources);
    }
}

/// The debug directory: changed entries, and all entries' offsets in the file.
fn put_debug_directory(
    image: &Image<'_>,
    sections: &Sections,
    places: &Places<'_>,
    out: &mut [u8],
) -> Result<()> {
    let directory = image.pe.directory(directory::DEBUG);
    for (number, entry) in image.debug_entries().enumerate() {
        let header = sections.at(directory.rva)? + number * DebugEntry::SIZE;
        let mut rva = entry.rva;
        if let Some((_, moved, edit)) = places.debug.iter().find(|(n, ..)| *n == number) {
            rva = *moved;
            put(out, header + 16, edit.data.len() as u32);
            put(out, header + 20, rva);
            if let Some(stamp) = edit.stamp {
                put(out, header + 4, stamp);
            }
        }
        let raw = match rva {
            0 => sections.moved(image, entry.raw),
            rva => sections.offset_of(rva).map(|at| at as u32),
        };
        if let Some(raw) = raw {
            put(out, header + 24, raw);
        }
    }
    Ok(())
}

/// Makes an image of IL alone of a ReadyToRun image, as illink does.
fn drop_native(image: &Image<'_>, cli: usize, out: &mut [u8]) {
    let pe = &image.pe;
    for number in DROPPED {
        if let Some(at) = pe.directory_offset(number) {
            out[at..at + 8].fill(0);
        }
    }
    put(out, pe.optional + 16, 0);
    let machine = readytorun::plain_machine(pe.machine());
    out[pe.coff..pe.coff + 2].copy_from_slice(&machine.to_le_bytes());
    let flags = image.cli.flags & !cli_flag::IL_LIBRARY | cli_flag::IL_ONLY;
    put(out, cli + CliHeader::FLAGS, flags);
    out[cli + CliHeader::NATIVE..][..8].fill(0);
}

/// The managed resources with the symbols behind them (II.24.2.7).
fn resources(image: &Image<'_>, additions: &mut Additions, symbols: &[u8]) -> Result<Vec<u8>> {
    /// Visible outside of the assembly (II.23.1.9).
    const PUBLIC: u32 = 1;
    let old = match image.cli.resources.is_empty() {
        true => &[][..],
        false => image.pe.slice(image.cli.resources)?.1,
    };
    let length = u32::try_from(symbols.len()).map_err(|_| too_large())?;
    let mut all = Vec::with_capacity(old.len() + symbols.len() + 16);
    all.extend_from_slice(old);
    all.resize(all.len().next_multiple_of(RESOURCE_ALIGNMENT as usize), 0);
    let offset = u32::try_from(all.len()).map_err(|_| too_large())?;
    let name = additions.string(SYMBOLS_RESOURCE);
    additions.row(table::MANIFEST_RESOURCE, &[offset, PUBLIC, name, 0])?;
    all.extend_from_slice(&length.to_le_bytes());
    all.extend_from_slice(symbols);
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
