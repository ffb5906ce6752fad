//! The used and free ranges of an image, by address, once its metadata and some of its bodies are rewritten.

use crate::bytes::Cursor;
use crate::cil::image::Image;
use crate::cil::metadata::flags::has_il;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature::{Reader, element, without_modifiers};
use crate::cil::metadata::tables::{decode, token_row, token_table};
use crate::cil::native::Native;
use crate::cil::pe::{Directory, Section, directory, section_flag};
use crate::cil::weave::bodies::NewBody;
use crate::cil::write::allocator::{merge, subtract};
use crate::error::Result;
use std::ops::Range;

/// The entry point's stub: `jmp [address]` and what may stand in front of it.
const STUB: u32 = 16;

/// Padding between bodies, which begin at multiples of four.
const PADDING: u32 = 3;

/// Free ranges, and the bodies that stay.
pub(crate) struct Occupied {
    /// Unused ranges that may be used again, sorted and merged.
    pub holes: Vec<Range<u32>>,
    /// Unused ranges in writable or discardable sections, where CoreCLR accepts no metadata.
    pub closed: Vec<Range<u32>>,
    /// The bodies that stay: their addresses, ascending, each once.
    pub bodies: Vec<u32>,
}

/// Finds what nothing uses once the methods of `parts` have new bodies, and the old metadata and the
/// resources have moved.
pub(crate) fn find(image: &Image<'_>, parts: &[&[NewBody]]) -> Result<Occupied> {
    let range = |d: Directory| match d.is_empty() {
        true => 0..0,
        false => d.rva..d.rva.saturating_add(d.size),
    };
    let mut used = Vec::new();
    let mut unused = vec![range(image.cli.metadata), range(image.cli.resources)];
    let drops_native = image.native == Native::ReadyToRun;
    if drops_native {
        unused.extend(image.pe.sections.iter().map(|s| {
            let size = match s.virtual_size {
                0 => s.raw_size,
                size => size.min(s.raw_size),
            };
            s.rva..s.rva.saturating_add(size)
        }));
    }
    for number in 0..16 {
        let dropped = match number {
            // An offset in the file, not an address.
            directory::CERTIFICATE => true,
            _ => drops_native && DROPPED.contains(&number),
        };
        let place = image.pe.directory(number);
        if !dropped && !place.is_empty() {
            used.push(range(place));
        }
    }
    for place in [image.cli.strong_name, image.cli.vtable_fixups] {
        used.push(range(place));
    }
    if !drops_native {
        let entry = image.pe.entry_point();
        used.push(entry..entry.saturating_add(STUB));
        // Nobody knows what native code refers to.
        used.push(range(image.cli.native));
    }
    native_resources(image, &mut used);
    for entry in image.debug_entries() {
        used.push(entry.rva..entry.rva.saturating_add(entry.size));
    }
    mapped_fields(image, &mut used)?;
    let bodies = bodies(image, parts, &mut used, &mut unused);
    let used = merge(used, 0);
    let holes = subtract(&merge(unused, PADDING), &used);
    // What lies in no section's bytes is no room, whatever a section says that it has.
    let len = u32::try_from(image.bytes.len()).unwrap_or(u32::MAX);
    let mut sections: Vec<_> = image.pe.sections.iter().collect();
    sections.sort_unstable_by_key(|s| s.rva);
    let bounds = |open: bool| -> Vec<Range<u32>> {
        let fitting = sections
            .iter()
            .filter(|s| (s.flags & (section_flag::WRITE | section_flag::DISCARDABLE) == 0) == open);
        let held = |s: &Section| s.raw_size.min(len.saturating_sub(s.raw));
        fitting
            .map(|s| s.rva..s.rva.saturating_add(held(s)))
            .collect()
    };
    Ok(Occupied {
        closed: clip(&holes, &bounds(false)),
        holes: clip(&holes, &bounds(true)),
        bodies,
    })
}

/// The parts of `ranges` that lie inside of one of `bounds`; both sorted.
fn clip(ranges: &[Range<u32>], bounds: &[Range<u32>]) -> Vec<Range<u32>> {
    let mut clipped = Vec::with_capacity(ranges.len());
    for bound in bounds {
        let first = ranges.partition_point(|r| r.end <= bound.start);
        for r in ranges[first..].iter().take_while(|r| r.start < bound.end) {
            clipped.push(r.start.max(bound.start)..r.end.min(bound.end));
        }
    }
    clipped
}

/// Data directories that only native code needs.
pub(crate) const DROPPED: [usize; 8] = [
    directory::EXPORT,
    directory::IMPORT,
    directory::EXCEPTION,
    directory::BASE_RELOCATION,
    directory::TLS,
    directory::LOAD_CONFIG,
    directory::IAT,
    directory::DELAY_IMPORT,
];

/// Sorts bodies into used and unused ones.
fn bodies(
    image: &Image<'_>,
    parts: &[&[NewBody]],
    used: &mut Vec<Range<u32>>,
    unused: &mut Vec<Range<u32>>,
) -> Vec<u32> {
    let methods = image.metadata.tables.iter(table::METHOD_DEF);
    // Bytes of the bodies that leave, none of which is empty.
    let mut leaving = vec![0; methods.len()];
    for body in parts.iter().copied().flatten() {
        // New methods have no old body.
        if let Some(leaving) = leaving.get_mut(body.method as usize - 1) {
            *leaving = body.old_len;
        }
    }
    let mut stay = Vec::new();
    for (row, leaving) in methods.zip(leaving) {
        let rva = row.get(column::method_def::RVA);
        if rva == 0 {
            continue;
        }
        if leaving > 0 {
            add(unused, rva..rva.saturating_add(leaving), PADDING);
            continue;
        }
        match image.body(rva) {
            Ok((_, body)) if has_il(&row) => {
                stay.push(rva);
                add(used, rva..rva.saturating_add(body.len as u32), 0);
            }
            // Something that cannot be read: its first bytes at least are not free.
            _ => used.push(rva..rva.saturating_add(64)),
        }
    }
    stay.sort_unstable();
    stay.dedup();
    stay
}

/// Adds a range; most follow the last one closely and extend it.
fn add(ranges: &mut Vec<Range<u32>>, range: Range<u32>, gap: u32) {
    match ranges.last_mut() {
        Some(last) if (last.start..=last.end.saturating_add(gap)).contains(&range.start) => {
            last.end = last.end.max(range.end);
        }
        _ => ranges.push(range),
    }
}

/// Most Win32 resources that are followed.
const MAX_RESOURCES: usize = 100_000;

/// The data of Win32 resources, which may lie outside of their directory (PE/COFF, "The .rsrc
/// Section").
fn native_resources(image: &Image<'_>, used: &mut Vec<Range<u32>>) {
    let place = image.pe.directory(directory::RESOURCE);
    if place.is_empty() {
        return;
    }
    let Ok((_, tree)) = image.pe.at_rva(place.rva) else {
        return;
    };
    let word = |at: usize| Cursor::at(tree, at).le_u32();
    // Offsets of directories in the tree, with their depths: type, name, language.
    let mut open = vec![(0, 0)];
    let mut seen = 0;
    while let Some((at, depth)) = open.pop() {
        let (Ok(names), Ok(_)) = (word(at + 12), word(at)) else {
            continue;
        };
        let count = (names & 0xffff) + (names >> 16);
        for i in 0..count as usize {
            seen += 1;
            let Ok(child) = word(at + 16 + 8 * i + 4) else {
                break;
            };
            let offset = (child & 0x7fff_ffff) as usize;
            if seen > MAX_RESOURCES {
                return;
            }
            if child >> 31 == 0 {
                if let (Ok(rva), Ok(size)) = (word(offset), word(offset + 4)) {
                    used.push(rva..rva.saturating_add(size));
                }
                used.push(
                    place.rva.saturating_add(offset as u32)
                        ..place.rva.saturating_add(offset as u32 + 16),
                );
            } else if depth < 3 {
                open.push((offset, depth + 1));
            }
        }
    }
}

/// The data of fields with an address (II.22.18).
fn mapped_fields(image: &Image<'_>, used: &mut Vec<Range<u32>>) -> Result<()> {
    use column::field_rva::{FIELD, RVA};
    for row in image.metadata.tables.iter(table::FIELD_RVA) {
        let rva = row.get(RVA);
        let end = match field_size(image, row.get(FIELD)) {
            Some(size) => rva.saturating_add(size),
            // To the end of its section.
            None => image
                .pe
                .sections
                .iter()
                .find(|s| s.rva <= rva && rva - s.rva < s.raw_size)
                .map_or(rva, |s| s.rva.saturating_add(s.raw_size)),
        };
        used.push(rva..end);
    }
    Ok(())
}

/// Bytes of a field with an address; `None` for an unknown type.
fn field_size(image: &Image<'_>, field: u32) -> Option<u32> {
    use column::class_layout::{CLASS_SIZE, PARENT};
    let tables = &image.metadata.tables;
    let row = tables.row(table::FIELD, field).ok()?;
    let signature = image
        .metadata
        .blobs
        .get(row.get(column::field::SIGNATURE))
        .ok()?;
    let ty = without_modifiers(signature.get(1..)?);
    match *ty.first()? {
        // boolean to double (II.23.1.16).
        element @ 2..=13 => Some([1, 2, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8][usize::from(element) - 2]),
        element::VALUETYPE => {
            let coded = Reader::new(&ty[1..]).number().ok()?;
            let token = decode(&coded::TYPE_DEF_OR_REF, coded).ok()?;
            if token_table(token) != table::TYPE_DEF {
                return None;
            }
            let layout = tables
                .with_key(table::CLASS_LAYOUT, PARENT, token_row(token))
                .next();
            layout
                .map(|(_, row)| row.get(CLASS_SIZE))
                .filter(|&size| size > 0)
        }
        _ => None,
    }
}
