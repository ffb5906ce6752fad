//! The new file. Everything that stays keeps its address: sections, resources, data of fields, bodies of
//! methods that were not woven. New metadata and bodies go where nothing is any more (see
//! [`crate::cil::occupied`]), and what finds no room there into a section behind the last.
//!
//! Offsets in the file may change, where the headers grow or a section's unused end is cut off; the debug
//! directory, which alone has such offsets, is patched.

use crate::cil::body::Body;
use crate::cil::image::{CliHeader, DebugEntry, Image, cli_flag};
use crate::cil::insn;
use crate::cil::metadata::additions::{Additions, FieldMap};
use crate::cil::metadata::rebuild::rebuild;
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::tables::{token, token_row, token_table};
use crate::cil::occupied::{self, DROPPED};
use crate::cil::pdb::{self, Pdb};
use crate::cil::pe::{SECTION_HEADER, directory};
use crate::cil::readytorun::{self, Native};
use crate::cil::space::Space;
use crate::cil::strongname::{StrongNameKey, public_key_token};
use crate::error::{Error, Kind, Result};
use sha2::{Digest, Sha256};
use std::fmt;
use std::ops::Range;

/// Name of the manifest resource with the map from ids to names.
pub const SYMBOLS_RESOURCE: &str = "Weave.Symbols";

/// Name of the new section.
const SECTION_NAME: [u8; 8] = *b".weave\0\0";

/// The new section: initialised data, readable. IL is data.
const SECTION_FLAGS: u32 = 0x4000_0040;

/// `IMAGE_SCN_CNT_CODE` and `IMAGE_SCN_CNT_INITIALIZED_DATA`.
const HOLDS_CODE: u32 = 0x20;
const HOLDS_DATA: u32 = 0x40;

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

/// What the user should know of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The strong name's signature was removed; the key's token stays part of the name.
    StrongNameRemoved,
    /// The assembly was signed with another key than before.
    PublicKeyChanged {
        /// The token of the old key, or empty.
        old: String,
        /// The token of the new one.
        new: String,
    },
    /// The Authenticode signature was removed.
    AuthenticodeRemoved,
    /// Native code was dropped: the assembly is compiled when it runs.
    ReadyToRunDropped,
    /// The file is part of an assembly whose manifest has a hash of it.
    Netmodule,
    /// The PDB is a Windows PDB: nothing of it is kept.
    WindowsPdb,
    /// The debugging information is Mono's own: nothing of it is kept.
    MonoSymbols,
    /// The PDB beside the image belongs to another build: nothing of it is kept.
    OtherPdb,
    /// The PDB cannot be read: nothing of it is kept.
    UnreadablePdb(String),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::StrongNameRemoved => f.write_str(
                "the strong name's signature no longer fits and was removed: .NET Framework checks it, .NET does not (sign anew with --key)",
            ),
            Warning::PublicKeyChanged { old, new } if old.is_empty() => write!(
                f,
                "the assembly has a strong name now, with the public key token {new}: references to it without that, and InternalsVisibleTo without its key, do not fit any more",
            ),
            Warning::PublicKeyChanged { old, new } => write!(
                f,
                "the public key token is {new} and no longer {old}: references to the assembly and InternalsVisibleTo with the old key do not fit any more",
            ),
            Warning::AuthenticodeRemoved => {
                f.write_str("the Authenticode signature no longer fits and was removed")
            }
            Warning::ReadyToRunDropped => f.write_str(
                "the native code made ahead of time (ReadyToRun) was dropped: methods are compiled when they are first called",
            ),
            Warning::WindowsPdb => f.write_str(
                "the Windows PDB was left out, and stack traces have no lines: build with portable debugging information (DebugType portable or embedded)",
            ),
            Warning::MonoSymbols => f.write_str(
                "Mono's own debugging information (.mdb) was left out, and stack traces have no lines: build with a portable PDB",
            ),
            Warning::OtherPdb => f.write_str(
                "the PDB is of another build of the assembly and was left out: stack traces have no lines",
            ),
            Warning::UnreadablePdb(what) => write!(
                f,
                "the PDB cannot be read and was left out, and stack traces have no lines: {what}",
            ),
            Warning::Netmodule => f.write_str(
                "a netmodule: the hash of it in its assembly's manifest no longer fits",
            ),
        }
    }
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

/// A section of the output.
struct Part {
    name: [u8; 8],
    flags: u32,
    rva: u32,
    virtual_size: u32,
    /// The bytes of the input that it has.
    source: Range<usize>,
    raw: u32,
    raw_size: u32,
}

impl Part {
    fn offset_of(&self, rva: u32) -> Option<usize> {
        let within = rva.checked_sub(self.rva)?;
        (within < self.raw_size).then_some((self.raw + within) as usize)
    }
}

/// The offset in the output of an address.
fn offset_of(parts: &[Part], rva: u32) -> Option<usize> {
    parts.iter().find_map(|part| part.offset_of(rva))
}

fn too_large() -> Error {
    Error::new(Kind::NotDone, "the image would exceed two gigabytes")
}

/// Puts four bytes at an offset.
fn put(out: &mut [u8], at: usize, value: u32) {
    out[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Writes the image.
pub(super) fn write(
    image: &Image<'_>,
    mut edits: Edits<'_>,
    symbols: Option<&[u8]>,
    key: Option<&StrongNameKey>,
) -> Result<Written> {
    let mut warnings = Vec::new();
    let pe = &image.pe;
    let align = |value: u64, to: u32| value.next_multiple_of(u64::from(to.max(1)));
    let section_alignment = pe.section_alignment().max(4);
    let file_alignment = pe.file_alignment().max(4);
    if section_alignment > 1 << 24 || file_alignment > 1 << 24 {
        let what = format!("sections aligned to {section_alignment:#x} and {file_alignment:#x}");
        return Err(Error::malformed(pe.optional + 32, what));
    }
    let image_end = pe.sections.iter().map(|s| s.end()).max().unwrap_or(0);
    let image_end = align(image_end, section_alignment);
    if image_end > MAX_IMAGE {
        return Err(Error::malformed(
            pe.section_headers,
            "a section reaches beyond two gigabytes",
        ));
    }

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

    let moved: Vec<u32> = edits.methods.iter().map(|(method, _)| *method).collect();
    let occupied = occupied::find(image, &moved, resources.is_some())?;
    let mut space = Space::new(occupied.holes.clone(), image_end as u32);
    let metadata_size = u32::try_from(metadata.bytes.len()).map_err(|_| too_large())?;
    let new_bytes = metadata.bytes.len() as u64
        + resources.as_ref().map_or(0, |r| r.len() as u64)
        + edits.bodies.len() as u64
        + debug_edits.iter().map(|d| d.data.len() as u64).sum::<u64>()
        + 16 * edits.methods.len() as u64
        + 65_536;
    if image_end + new_bytes > MAX_IMAGE {
        return Err(too_large());
    }
    let metadata_rva = space.large(metadata_size, 8);
    let resources_rva = resources
        .as_ref()
        .map(|r| space.large(r.len() as u32, RESOURCE_ALIGNMENT));
    let signature = signature_place(image, key, &mut space);
    let entries: Vec<DebugEntry> = image.debug_entries().collect();
    let debug: Vec<(DebugEntry, u32, &DebugEdit)> = debug_edits
        .iter()
        .filter_map(|edit| {
            let entry = *entries.get(edit.number)?;
            let rva = match edit.data.len() <= entry.size as usize && entry.rva != 0 {
                true => entry.rva,
                false => space.large(edit.data.len() as u32, 4),
            };
            Some((entry, rva, edit))
        })
        .collect();
    if !fields.is_empty() {
        patch_new_bodies(edits.bodies, edits.methods, &fields)?;
    }
    let mut places = Vec::with_capacity(edits.methods.len());
    for (method, body) in edits.methods {
        let rva = space.small(body.len() as u32, 4);
        metadata.set_rva(*method, rva);
        places.push(rva);
    }

    // Headers and sections.
    let mut parts = parts(image, &space);
    let added = space.section();
    if !added.is_empty() {
        parts.push(Part {
            name: SECTION_NAME,
            flags: SECTION_FLAGS,
            rva: added.start,
            virtual_size: added.end - added.start,
            source: 0..0,
            raw: 0,
            raw_size: align(u64::from(added.end - added.start), file_alignment) as u32,
        });
    }
    let headers_end = pe.section_headers + parts.len() * SECTION_HEADER;
    let first_raw = pe
        .sections
        .iter()
        .filter(|s| s.raw_size > 0)
        .map(|s| s.raw as usize)
        .min()
        .unwrap_or(pe.size_of_headers() as usize);
    let old_headers = (pe.size_of_headers() as usize)
        .min(first_raw)
        .min(image.bytes.len());
    let headers = align(headers_end.max(old_headers) as u64, file_alignment) as usize;
    let first_rva = parts.iter().map(|p| p.rva).min().unwrap_or(0) as usize;
    if headers > first_rva {
        return Err(Error::new(
            Kind::Unsupported,
            "the headers have no room for another section",
        ));
    }
    let mut end = headers as u64;
    for part in &mut parts {
        part.raw = if part.raw_size == 0 { 0 } else { end as u32 };
        end += align(u64::from(part.raw_size), file_alignment);
    }
    let overlay = overlay(image);
    let total = end as usize + overlay.iter().map(|r| r.len()).sum::<usize>();
    let mut out = Vec::with_capacity(total);
    out.extend_from_slice(&image.bytes[..old_headers]);
    out.resize(headers, 0);
    for part in &parts {
        if part.raw_size == 0 {
            continue;
        }
        out.extend_from_slice(&image.bytes[part.source.clone()]);
        out.resize(
            (part.raw + part.raw_size).next_multiple_of(file_alignment) as usize,
            0,
        );
    }
    let overlay_start = out.len();
    for range in &overlay {
        out.extend_from_slice(&image.bytes[range.clone()]);
    }

    // What was in the holes must not linger, then what is new.
    let at = |rva: u32| {
        offset_of(&parts, rva).ok_or_else(|| {
            Error::new(
                Kind::Malformed,
                format!("address {rva:#x} lies in no section"),
            )
        })
    };
    for hole in &occupied.holes {
        if let Some(start) = offset_of(&parts, hole.start) {
            let end = (start + (hole.end - hole.start) as usize).min(out.len());
            out[start..end].fill(0);
        }
    }
    if !fields.is_empty() {
        patch_old_bodies(image, &occupied.bodies, &parts, &fields, &mut out)?;
    }
    let mut place = |rva: u32, bytes: &[u8]| -> Result<usize> {
        let start = at(rva)?;
        out[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(start)
    };
    let metadata_at = place(metadata_rva, &metadata.bytes)?;
    if let (Some(bytes), Some(rva)) = (&resources, resources_rva) {
        place(rva, bytes)?;
    }
    for (rva, (_, body)) in places.iter().zip(edits.methods) {
        place(*rva, &edits.bodies[body.clone()])?;
    }
    for (_, rva, edit) in &debug {
        place(*rva, &edit.data)?;
    }

    // The CLI header.
    let cli = at(pe.directory(directory::CLI_HEADER).rva)?;
    put(&mut out, cli + CliHeader::METADATA, metadata_rva);
    put(&mut out, cli + CliHeader::METADATA + 4, metadata_size);
    if let (Some(bytes), Some(rva)) = (&resources, resources_rva) {
        put(&mut out, cli + CliHeader::RESOURCES, rva);
        put(&mut out, cli + CliHeader::RESOURCES + 4, bytes.len() as u32);
    }
    let mut flags = image.cli.flags;
    let drops_native = image.native == Native::ReadyToRun;
    if drops_native {
        flags = flags & !cli_flag::IL_LIBRARY | cli_flag::IL_ONLY;
        out[cli + CliHeader::NATIVE..][..8].fill(0);
        warnings.push(Warning::ReadyToRunDropped);
    }
    let signature_at = match key {
        Some(key) => {
            flags |= cli_flag::STRONG_NAME_SIGNED;
            let start = at(signature)?;
            put(&mut out, cli + CliHeader::STRONG_NAME, signature);
            put(
                &mut out,
                cli + CliHeader::STRONG_NAME + 4,
                key.signature_size() as u32,
            );
            Some(start..start + key.signature_size())
        }
        None => {
            if let Some(start) = offset_of(&parts, image.cli.strong_name.rva)
                && image
                    .pe
                    .slice(image.cli.strong_name)
                    .is_ok_and(|(_, bytes)| bytes.iter().any(|&b| b != 0))
            {
                // A public or delayed signature is all zeros and was never good for anything.
                out[start..start + image.cli.strong_name.size as usize].fill(0);
                flags &= !cli_flag::STRONG_NAME_SIGNED;
                warnings.push(Warning::StrongNameRemoved);
            }
            None
        }
    };
    put(&mut out, cli + CliHeader::FLAGS, flags);
    warnings.extend(key.and_then(|key| changed_key(image, key)));

    // The debug directory.
    for (number, entry) in entries.iter().enumerate() {
        let header = at(pe.directory(directory::DEBUG).rva)? + number * DebugEntry::SIZE;
        let edit = debug.iter().find(|(e, ..)| e.offset == entry.offset);
        let rva = edit.map_or(entry.rva, |(_, rva, _)| *rva);
        let raw = match rva {
            0 => moved_raw(image, &parts, &overlay, overlay_start, entry.raw),
            rva => offset_of(&parts, rva).map(|at| at as u32),
        };
        if let Some((_, rva, edit)) = edit {
            put(&mut out, header + 16, edit.data.len() as u32);
            put(&mut out, header + 20, *rva);
            if let Some(stamp) = edit.stamp {
                put(&mut out, header + 4, stamp);
            }
        }
        if let Some(raw) = raw {
            put(&mut out, header + 24, raw);
        }
    }

    // PE headers.
    if drops_native {
        for number in DROPPED {
            if let Some(at) = pe.directory_offset(number) {
                out[at..at + 8].fill(0);
            }
        }
        put(&mut out, pe.optional + 16, 0);
        let machine = readytorun::plain_machine(pe.machine());
        out[pe.coff..pe.coff + 2].copy_from_slice(&machine.to_le_bytes());
    }
    let certificate = pe.directory(directory::CERTIFICATE);
    if let Some(at) = pe.directory_offset(directory::CERTIFICATE) {
        out[at..at + 8].fill(0);
        if !certificate.is_empty() {
            warnings.push(Warning::AuthenticodeRemoved);
        }
    }
    put_headers(image, &parts, headers, section_alignment, &mut out);
    if image.assembly_name().is_none() {
        warnings.push(Warning::Netmodule);
    }

    // Identity: of the content, so that the same content has the same.
    let mvid = metadata.mvid.map(|mvid| metadata_at + mvid);
    let stamp_at = pe.coff + 4;
    let checksum_at = pe.checksum_offset();
    let had_checksum = image.bytes[checksum_at..checksum_at + 4] != [0; 4];
    put(&mut out, checksum_at, 0);
    put(&mut out, stamp_at, 0);
    if let Some(mvid) = mvid {
        out[mvid..mvid + 16].fill(0);
    }
    if let Some(range) = &signature_at {
        out[range.clone()].fill(0);
    }
    let hash = Sha256::digest(&out);
    if let Some(mvid) = mvid {
        let guid = &mut out[mvid..mvid + 16];
        guid.copy_from_slice(&hash[..16]);
        // A random GUID by its form (RFC 9562, version 4).
        guid[7] = guid[7] & 0x0f | 0x40;
        guid[8] = guid[8] & 0x3f | 0x80;
    }
    let stamp = u32::from_le_bytes(hash[16..20].try_into().expect("four bytes"));
    // No time: the highest bit tells, as compilers have it that make the same file each time.
    put(&mut out, stamp_at, stamp | 0x8000_0000);
    if let (Some(range), Some(key)) = (signature_at, key) {
        key.sign(&mut out, range)?;
    }
    if had_checksum {
        let sum = checksum(&out);
        put(&mut out, checksum_at, sum);
    }
    Ok(Written {
        image: out,
        pdb,
        warnings,
    })
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

/// The input's sections; one that ends with a hole loses that in the file, and keeps it in memory.
fn parts(image: &Image<'_>, space: &Space) -> Vec<Part> {
    let file_alignment = image.pe.file_alignment().max(4);
    let sections = image.pe.sections.iter().map(|section| {
        let start = (section.raw as usize).min(image.bytes.len());
        let end = (start + section.raw_size as usize).min(image.bytes.len());
        let mut size = (end - start) as u32;
        let in_memory = match section.virtual_size {
            0 => size,
            virtual_size => virtual_size.min(size),
        };
        let last = section.rva.saturating_add(in_memory);
        let hole = space.left().iter().find(|hole| {
            hole.start < hole.end
                && hole.start >= section.rva
                && hole.end >= last
                && hole.start < last
        });
        if let Some(hole) = hole {
            let cut = (hole.start - section.rva).next_multiple_of(file_alignment);
            size = size.min(cut);
        }
        Part {
            name: section.name,
            flags: section.flags,
            rva: section.rva,
            virtual_size: section.virtual_size,
            source: start..start + size as usize,
            raw: 0,
            raw_size: size.next_multiple_of(file_alignment),
        }
    });
    sections.collect()
}

/// What the file has behind its sections, without the certificates.
fn overlay(image: &Image<'_>) -> Vec<Range<usize>> {
    let len = image.bytes.len();
    let ends = image
        .pe
        .sections
        .iter()
        .map(|s| s.raw as usize + s.raw_size as usize);
    let start = ends.max().unwrap_or(len).min(len);
    let certificate = image.pe.directory(directory::CERTIFICATE);
    if certificate.is_empty() {
        return vec![start..len];
    }
    let from = (certificate.rva as usize).clamp(start, len);
    let to = (from + certificate.size as usize).clamp(from, len);
    vec![start..from, to..len]
}

/// The offset in the output of something at an offset of the input that has no address.
fn moved_raw(
    image: &Image<'_>,
    parts: &[Part],
    overlay: &[Range<usize>],
    overlay_start: usize,
    raw: u32,
) -> Option<u32> {
    let raw = raw as usize;
    let mut before = overlay_start;
    for range in overlay {
        if range.contains(&raw) {
            return u32::try_from(before + raw - range.start).ok();
        }
        before += range.len();
    }
    let section = image
        .pe
        .sections
        .iter()
        .position(|s| (s.raw as usize..s.raw as usize + s.raw_size as usize).contains(&raw))?;
    let within = raw - image.pe.sections[section].raw as usize;
    Some(parts[section].raw + within as u32)
}

/// Section headers, and what the optional header tells of sections.
fn put_headers(
    image: &Image<'_>,
    parts: &[Part],
    headers: usize,
    section_alignment: u32,
    out: &mut [u8],
) {
    let pe = &image.pe;
    out[pe.coff + 2..pe.coff + 4].copy_from_slice(&(parts.len() as u16).to_le_bytes());
    // The symbol table of object files, which images have no use for.
    put(out, pe.coff + 8, 0);
    put(out, pe.coff + 12, 0);
    let mut at = pe.section_headers;
    let mut end = 0;
    let (mut code, mut data) = (0u32, 0u32);
    for part in parts {
        out[at..at + 8].copy_from_slice(&part.name);
        let raw = if part.raw_size == 0 { 0 } else { part.raw };
        for (i, word) in [
            part.virtual_size,
            part.rva,
            part.raw_size,
            raw,
            0,
            0,
            0,
            part.flags,
        ]
        .into_iter()
        .enumerate()
        {
            put(out, at + 8 + 4 * i, word);
        }
        at += SECTION_HEADER;
        end = end.max(u64::from(part.rva) + u64::from(part.virtual_size.max(part.raw_size)));
        if part.flags & HOLDS_CODE != 0 {
            code = code.saturating_add(part.raw_size);
        }
        if part.flags & HOLDS_DATA != 0 {
            data = data.saturating_add(part.raw_size);
        }
    }
    put(out, pe.optional + 4, code);
    put(out, pe.optional + 8, data);
    let image_size = end.next_multiple_of(u64::from(section_alignment));
    put(out, pe.optional + 56, image_size as u32);
    put(out, pe.optional + 60, headers as u32);
}

/// Renumbers the fields that woven bodies name.
fn patch_new_bodies(
    bodies: &mut [u8],
    methods: &[(u32, Range<usize>)],
    fields: &FieldMap,
) -> Result<()> {
    for (_, range) in methods {
        let start = range.start;
        let body = Body::parse(&bodies[range.clone()], start as u32)?;
        let code = start + body.code_offset..start + body.code_offset + body.code.len();
        patch_fields(&mut bodies[code], fields)?;
    }
    Ok(())
}

/// Renumbers the fields that the bodies name which stay where they were.
fn patch_old_bodies(
    image: &Image<'_>,
    bodies: &[u32],
    parts: &[Part],
    fields: &FieldMap,
    out: &mut [u8],
) -> Result<()> {
    for &rva in bodies {
        let (_, body) = image.body(rva)?;
        if let Some(start) = offset_of(parts, rva) {
            let code = start + body.code_offset..start + body.code_offset + body.code.len();
            patch_fields(&mut out[code], fields)?;
        }
    }
    Ok(())
}

fn patch_fields(code: &mut [u8], fields: &FieldMap) -> Result<()> {
    let mut pc = 0;
    while (pc as usize) < code.len() {
        let found = insn::at(code, pc)?;
        pc = found.end();
        if matches!(found.form, insn::Form::Token | insn::Form::TokenPrefix) {
            let old = found.token(code);
            if token_table(old) == table::FIELD {
                put(
                    code,
                    pc as usize - 4,
                    token(table::FIELD, fields.row(token_row(old))),
                );
            }
        }
    }
    Ok(())
}

/// The checksum of a PE file whose own is zero: the sum of its 16-bit words, carries added, and its size.
fn checksum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(4);
    let mut rest = [0; 4];
    rest[..words.remainder().len()].copy_from_slice(words.remainder());
    let mut sum = u64::from(u32::from_le_bytes(rest));
    for word in words {
        sum += u64::from(u32::from_le_bytes(word.try_into().expect("four bytes")));
    }
    // 2^16 is 1 in this sum, so words of any width add up to the same.
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (sum as u32).wrapping_add(bytes.len() as u32)
}
