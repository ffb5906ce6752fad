//! The output's sections: the input's at their addresses, without large holes, and a new one.

use crate::bytes::put_le_u32;
use crate::cil::image::Image;
use crate::cil::pe::{SECTION_HEADER, directory, section_flag};
use crate::cil::write::allocator::{Space, merge, subtract};
use crate::error::{Error, Kind, Result};
use std::ops::Range;

const NAME: [u8; 8] = *b".weave\0\0";

/// The new section: initialised data, readable. IL is data.
const FLAGS: u32 = section_flag::READ | section_flag::INITIALIZED_DATA;

/// The smallest hole that divides a section, and so takes no room in the file.
const WORTH_DIVIDING: u32 = 1 << 14;

/// Most sections of an output (Windows takes 96).
const MAX_PARTS: usize = 90;

/// A range of the input that stays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    /// Where it lies in the output.
    pub at: u32,
    /// Where it lies in the input.
    pub from: u32,
    pub len: u32,
}

struct OutputSection {
    name: [u8; 8],
    flags: u32,
    rva: u32,
    virtual_size: u32,
    /// The bytes of the input that it has.
    source: Range<usize>,
    raw: u32,
    raw_size: u32,
}

impl OutputSection {
    fn offset_of(&self, rva: u32) -> Option<usize> {
        let within = rva.checked_sub(self.rva)?;
        (within < self.raw_size).then_some((self.raw + within) as usize)
    }
}

/// The sections of the output, and what lies around them.
pub(crate) struct Sections {
    sections: Vec<OutputSection>,
    /// Bytes of all headers.
    headers: usize,
    section_alignment: u32,
    /// What the input has behind its sections, and where that begins in the output.
    overlay: [Range<usize>; 2],
    overlay_start: usize,
}

/// What bounds an image's sections.
pub(crate) struct Bounds {
    section_alignment: u32,
    file_alignment: u32,
    /// The first address behind them.
    pub(crate) end: u64,
}

pub(crate) fn bounds(image: &Image<'_>) -> Result<Bounds> {
    /// Largest image in memory: the highest addresses are the system's.
    const MAX_IMAGE: u64 = 1 << 31;
    let pe = &image.pe;
    let (memory, file) = (pe.section_alignment(), pe.file_alignment());
    if !memory.is_power_of_two() || !file.is_power_of_two() || memory.max(file) > 1 << 24 {
        let what = format!("sections aligned to {memory:#x} and {file:#x}");
        return Err(Error::malformed(pe.optional + 32, what));
    }
    let end = pe.sections.iter().map(|s| s.end()).max().unwrap_or(0);
    let end = end.next_multiple_of(u64::from(memory));
    if end > MAX_IMAGE {
        let what = "a section reaches beyond two gigabytes";
        return Err(Error::malformed(pe.section_headers, what));
    }
    Ok(Bounds {
        section_alignment: memory.max(4),
        file_alignment: file.max(4),
        end,
    })
}

impl Sections {
    /// Lays out the file, once all places in memory are known.
    pub(crate) fn new(image: &Image<'_>, space: &Space) -> Result<Sections> {
        let Bounds {
            section_alignment,
            file_alignment,
            ..
        } = bounds(image)?;
        let pe = &image.pe;
        let mut sections = Vec::with_capacity(pe.sections.len() + 4);
        let left = space.left();
        for section in &pe.sections {
            divide(
                image,
                section,
                &left,
                section_alignment,
                file_alignment,
                &mut sections,
            );
        }
        let added = space.section();
        if !added.is_empty() {
            let size = added.end - added.start;
            sections.push(OutputSection {
                name: NAME,
                flags: FLAGS,
                rva: added.start,
                virtual_size: size,
                source: 0..0,
                raw: 0,
                raw_size: size.next_multiple_of(file_alignment),
            });
        }
        let wanted = pe.section_headers + sections.len() * SECTION_HEADER;
        let headers = wanted
            .max(old_headers(image))
            .next_multiple_of(file_alignment as usize);
        let first = sections.iter().map(|p| p.rva).min().unwrap_or(0);
        if headers > first as usize {
            return Err(Error::new(
                Kind::Unsupported,
                "the headers have no room for another section",
            ));
        }
        let mut end = headers;
        for part in sections.iter_mut().filter(|p| p.raw_size > 0) {
            part.raw = end as u32;
            end += part.raw_size as usize;
        }
        Ok(Sections {
            sections,
            headers,
            section_alignment,
            overlay: overlay(image),
            overlay_start: end,
        })
    }

    /// Bytes of the file.
    pub(crate) fn len(&self) -> usize {
        let overlay: usize = self.overlay.iter().map(|r| r.len()).sum();
        self.overlay_start + overlay
    }

    /// Bytes of all headers.
    pub(crate) fn headers(&self) -> usize {
        self.headers
    }

    /// The ranges of the input that sections keep: all but the holes.
    pub(crate) fn kept(&self, holes: [&[Range<u32>]; 2]) -> Vec<Kept> {
        let holes = merge(holes.concat(), 0);
        let mut kept = Vec::with_capacity(holes.len() + self.sections.len());
        for part in &self.sections {
            let all = part.rva..part.rva.saturating_add(part.source.len() as u32);
            let first = holes.partition_point(|hole| hole.end <= part.rva);
            for range in subtract(&[all], &holes[first..]) {
                let within = range.start - part.rva;
                kept.push(Kept {
                    at: part.raw + within,
                    from: part.source.start as u32 + within,
                    len: range.end - range.start,
                });
            }
        }
        kept
    }

    /// What the input has behind its sections, and where that goes.
    pub(crate) fn overlay<'a>(&self, image: &Image<'a>) -> impl Iterator<Item = (usize, &'a [u8])> {
        let mut at = self.overlay_start;
        self.overlay.clone().into_iter().map(move |range| {
            let start = at;
            at += range.len();
            (start, &image.bytes[range])
        })
    }

    /// The offset in the output of an address.
    pub(crate) fn offset_of(&self, rva: u32) -> Option<usize> {
        self.sections.iter().find_map(|part| part.offset_of(rva))
    }

    /// The same, for an address that must be there.
    pub(crate) fn at(&self, rva: u32) -> Result<usize> {
        self.offset_of(rva).ok_or_else(|| {
            let what = format!("address {rva:#x} lies in no section");
            Error::new(Kind::Malformed, what)
        })
    }

    /// The offset in the output of something at an offset of the input.
    pub(crate) fn moved(&self, image: &Image<'_>, raw: u32) -> Option<u32> {
        let mut before = self.overlay_start;
        for range in &self.overlay {
            if range.contains(&(raw as usize)) {
                return u32::try_from(before + raw as usize - range.start).ok();
            }
            before += range.len();
        }
        let mut sections = image.pe.sections.iter();
        let section = sections.find(|s| raw >= s.raw && raw - s.raw < s.raw_size)?;
        let rva = section.rva.checked_add(raw - section.raw)?;
        self.offset_of(rva).map(|at| at as u32)
    }

    /// The new headers: the input's, with new section headers, counts and sizes.
    pub(crate) fn put_headers(&self, image: &Image<'_>) -> Vec<u8> {
        let pe = &image.pe;
        let mut headers = image.bytes[..old_headers(image)].to_vec();
        headers.resize(self.headers, 0);
        let out = &mut headers[..];
        let count = (self.sections.len() as u16).to_le_bytes();
        out[pe.coff + 2..pe.coff + 4].copy_from_slice(&count);
        // Images have no use for the symbol table of object files.
        put_le_u32(out, pe.coff + 8, 0);
        put_le_u32(out, pe.coff + 12, 0);
        let mut at = pe.section_headers;
        let mut end = 0;
        let (mut code, mut data) = (0u32, 0u32);
        for part in &self.sections {
            out[at..at + 8].copy_from_slice(&part.name);
            let words = [
                part.virtual_size,
                part.rva,
                part.raw_size,
                part.raw,
                0,
                0,
                0,
            ];
            for (i, word) in words.into_iter().chain([part.flags]).enumerate() {
                put_le_u32(out, at + 8 + 4 * i, word);
            }
            at += SECTION_HEADER;
            let size = part.virtual_size.max(part.raw_size);
            end = end.max(u64::from(part.rva) + u64::from(size));
            if part.flags & section_flag::CODE != 0 {
                code = code.saturating_add(part.raw_size);
            }
            if part.flags & section_flag::INITIALIZED_DATA != 0 {
                data = data.saturating_add(part.raw_size);
            }
        }
        put_le_u32(out, pe.optional + 4, code);
        put_le_u32(out, pe.optional + 8, data);
        let image_size = end.next_multiple_of(u64::from(self.section_alignment));
        put_le_u32(out, pe.optional + 56, image_size as u32);
        put_le_u32(out, pe.optional + 60, self.headers as u32);
        headers
    }
}

/// Bytes of the input's headers.
fn old_headers(image: &Image<'_>) -> usize {
    let sections = image.pe.sections.iter();
    let first = sections.filter(|s| s.raw_size > 0).map(|s| s.raw).min();
    let size = image.pe.size_of_headers();
    let size = first.map_or(size, |first| first.min(size)) as usize;
    // Whatever the size says: these were read.
    let read = image.pe.section_headers + image.pe.sections.len() * SECTION_HEADER;
    size.max(read).min(image.bytes.len())
}

/// A section of the input, without large holes, each of which becomes the unused end in memory of a
/// section of its own, and without a hole at its end.
fn divide(
    image: &Image<'_>,
    section: &crate::cil::pe::Section,
    left: &[Range<u32>],
    section_alignment: u32,
    file_alignment: u32,
    sections: &mut Vec<OutputSection>,
) {
    let raw = (section.raw as usize).min(image.bytes.len());
    let size = (section.raw_size as usize).min(image.bytes.len() - raw) as u32;
    let in_memory = match section.virtual_size {
        0 => size,
        virtual_size => virtual_size.min(size),
    };
    let source = |from: u32, to: u32| {
        let at = |rva: u32| raw + (rva - section.rva) as usize;
        at(from)..at(to)
    };
    let mut start = section.rva;
    let mut end = section.rva + size;
    let last = section.rva + in_memory;
    let first = left.partition_point(|hole| hole.end <= start);
    for hole in left[first..].iter().take_while(|h| h.start < last) {
        if hole.end >= last {
            end = end.min(hole.start.next_multiple_of(file_alignment));
            break;
        }
        let from = hole
            .start
            .next_multiple_of(section_alignment.max(file_alignment));
        let to = hole.end / section_alignment * section_alignment;
        if to > from && to - from >= WORTH_DIVIDING && from > start && sections.len() < MAX_PARTS {
            sections.push(OutputSection {
                name: section.name,
                flags: section.flags,
                rva: start,
                virtual_size: to - start,
                source: source(start, from),
                raw: 0,
                raw_size: from - start,
            });
            start = to;
        }
    }
    let end = end.max(start);
    sections.push(OutputSection {
        name: section.name,
        flags: section.flags,
        rva: start,
        virtual_size: section.virtual_size.saturating_sub(start - section.rva),
        source: source(start, end),
        raw: 0,
        raw_size: (end - start).next_multiple_of(file_alignment),
    });
}

/// What the file has behind its sections, without the certificates.
fn overlay(image: &Image<'_>) -> [Range<usize>; 2] {
    let len = image.bytes.len();
    let sections = image.pe.sections.iter();
    let ends = sections.map(|s| s.raw as usize + s.raw_size as usize);
    let start = ends.max().unwrap_or(len).min(len);
    let certificate = image.pe.directory(directory::CERTIFICATE);
    if certificate.is_empty() {
        return [start..len, len..len];
    }
    let from = (certificate.rva as usize).clamp(start, len);
    let to = (from + certificate.size as usize).min(len);
    [start..from, to..len]
}
