//! Method bodies (ECMA-335 II.25.4): tiny and fat headers, small and fat exception handling sections.

use crate::bytes::Cursor;
use crate::error::{Error, Result};

/// Header flags (II.25.4.4).
mod flag {
    pub const FORMAT: u8 = 3;
    pub const TINY: u8 = 2;
    pub const FAT: u8 = 3;
    pub const MORE_SECTIONS: u8 = 8;
    pub const INIT_LOCALS: u8 = 0x10;
}

/// Kinds of data sections (II.25.4.5).
mod section {
    pub const KIND: u8 = 0x3f;
    pub const EH_TABLE: u8 = 1;
    pub const FAT: u8 = 0x40;
    pub const MORE: u8 = 0x80;
}

/// Bytes of a fat header: three 32-bit words.
pub const FAT_HEADER: usize = 12;
/// Bytes of a clause in a small and in a fat section (II.25.4.6).
const SMALL_CLAUSE: usize = 12;
const FAT_CLAUSE: usize = 24;
/// Most clauses of a small section: its size is one byte.
const MAX_SMALL_CLAUSES: usize = (255 - 4) / SMALL_CLAUSE;
/// Most clauses of a fat section: its size has 24 bits.
pub const MAX_CLAUSES: usize = ((1 << 24) - 1 - 4) / FAT_CLAUSE;

/// What a clause does (II.25.4.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClauseKind {
    /// Catches objects of a class.
    Catch,
    /// Asks a filter.
    Filter,
    /// Runs however the block is left.
    Finally,
    /// Runs when an exception leaves the block.
    Fault,
}

/// An exception handling clause. Ends are exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clause {
    pub kind: ClauseKind,
    pub try_start: u32,
    pub try_end: u32,
    pub handler_start: u32,
    pub handler_end: u32,
    /// The class token of a catch, the pc of a filter; else what the file has there.
    pub class_or_filter: u32,
}

/// A method's body, borrowed from the image.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    /// Whether the header is a tiny one: no locals, no clauses.
    pub tiny: bool,
    /// The evaluation stack's largest depth.
    pub max_stack: u16,
    /// Whether locals (and `localloc`'s memory) start as zeros.
    pub init_locals: bool,
    /// The token of the locals' signature, or 0.
    pub locals: u32,
    pub code: &'a [u8],
    pub code_offset: usize,
    /// Bytes of the whole body, sections included.
    pub len: usize,
    /// The first section's first byte up to the body's end; empty without sections.
    sections: &'a [u8],
    sections_offset: usize,
}

impl<'a> Body<'a> {
    /// Reads the body at the start of `bytes`, which may go on behind it. `rva` is its address, since
    /// sections are aligned by address.
    pub fn parse(bytes: &'a [u8], rva: u32) -> Result<Body<'a>> {
        let mut cursor = Cursor::new(bytes);
        let first = cursor.u8()?;
        match first & flag::FORMAT {
            flag::TINY => {
                let len = usize::from(first >> 2);
                let code = cursor.take(len)?;
                Ok(Body {
                    tiny: true,
                    max_stack: 8,
                    init_locals: false,
                    locals: 0,
                    code,
                    code_offset: 1,
                    len: 1 + len,
                    sections: &[],
                    sections_offset: 0,
                })
            }
            flag::FAT => Body::parse_fat(bytes, rva),
            _ => Err(Error::malformed(
                0,
                format!("{first:#04x} begins neither a tiny nor a fat method body"),
            )),
        }
    }

    fn parse_fat(bytes: &'a [u8], rva: u32) -> Result<Body<'a>> {
        let mut cursor = Cursor::new(bytes);
        let flags = cursor.u8()?;
        let words = cursor.u8()? >> 4;
        let max_stack = cursor.le_u16()?;
        let code_size = cursor.le_u32()? as usize;
        let locals = cursor.le_u32()?;
        // Only three words are defined; a longer header would be one of a later edition.
        if usize::from(words) * 4 != FAT_HEADER {
            return Err(Error::malformed(
                1,
                format!("a fat header of {words} words, 3 expected"),
            ));
        }
        let code = cursor.take(code_size)?;
        let mut body = Body {
            tiny: false,
            max_stack,
            init_locals: flags & flag::INIT_LOCALS != 0,
            locals,
            code,
            code_offset: FAT_HEADER,
            len: FAT_HEADER + code_size,
            sections: &[],
            sections_offset: 0,
        };
        if flags & flag::MORE_SECTIONS != 0 {
            let misaligned = (rva as usize + body.len) % 4;
            let start = body.len + (4 - misaligned) % 4;
            let end = sections_end(bytes, start)?;
            body.sections = &bytes[start..end];
            body.sections_offset = start;
            body.len = end;
        }
        Ok(body)
    }

    /// The clauses of all sections, in order; errors count from the body's start.
    pub fn clauses(&self) -> impl Iterator<Item = Result<Clause>> + 'a {
        let base = self.sections_offset;
        let code_len = self.code.len() as u32;
        sections(self.sections).flat_map(move |s| {
            let size = if s.fat { FAT_CLAUSE } else { SMALL_CLAUSE };
            s.clauses
                .chunks_exact(size)
                .enumerate()
                .map(move |(i, bytes)| {
                    clause(bytes, code_len).map_err(|e| e.offset_by(base + s.offset + i * size))
                })
        })
    }

    /// Whether some section is not about exceptions (II.25.4.5 knows no other): it may hold pcs.
    pub fn has_unknown_sections(&self) -> bool {
        sections(self.sections).any(|s| s.kind != section::EH_TABLE)
    }
}

/// A data section: `clauses` begin `offset` bytes into the sections.
#[derive(Clone, Copy)]
struct Section<'a> {
    kind: u8,
    fat: bool,
    more: bool,
    offset: usize,
    clauses: &'a [u8],
}

/// The section at `at`; its clauses are cut to a whole number, since some writers leave the
/// header's four bytes out of the size.
fn section_at(bytes: &[u8], at: usize) -> Result<Section<'_>> {
    let mut cursor = Cursor::at(bytes, at);
    let kind = cursor.u8()?;
    let size = cursor.take(3)?;
    let fat = kind & section::FAT != 0;
    let (size, clause) = if fat {
        (
            u32::from_le_bytes([size[0], size[1], size[2], 0]) as usize,
            FAT_CLAUSE,
        )
    } else {
        (usize::from(size[0]), SMALL_CLAUSE)
    };
    let known = kind & section::KIND == section::EH_TABLE;
    let payload = if known {
        size / clause * clause
    } else {
        size.saturating_sub(4)
    };
    Ok(Section {
        kind: kind & section::KIND,
        fat,
        more: kind & section::MORE != 0,
        offset: at + 4,
        clauses: cursor.take(payload)?,
    })
}

/// Where the sections that begin at `start` end. `start` and the addresses behind it are aligned alike.
fn sections_end(bytes: &[u8], start: usize) -> Result<usize> {
    let mut at = start;
    loop {
        let section = section_at(bytes, at)?;
        let end = section.offset + section.clauses.len();
        if !section.more {
            return Ok(end);
        }
        at = start + (end - start).next_multiple_of(4);
    }
}

fn sections(bytes: &[u8]) -> impl Iterator<Item = Section<'_>> {
    let mut at = (!bytes.is_empty()).then_some(0);
    std::iter::from_fn(move || {
        // `parse` has walked these sections already.
        let section = section_at(bytes, at?).ok()?;
        at = section
            .more
            .then(|| (section.offset + section.clauses.len()).next_multiple_of(4));
        Some(section)
    })
    .filter(|s| s.kind == section::EH_TABLE || !s.clauses.is_empty())
}

fn clause(bytes: &[u8], code_len: u32) -> Result<Clause> {
    let mut c = Cursor::new(bytes);
    let (flags, try_start, try_len, handler_start, handler_len) = if bytes.len() == FAT_CLAUSE {
        (
            c.le_u32()?,
            c.le_u32()?,
            c.le_u32()?,
            c.le_u32()?,
            c.le_u32()?,
        )
    } else {
        (
            u32::from(c.le_u16()?),
            u32::from(c.le_u16()?),
            u32::from(c.u8()?),
            u32::from(c.le_u16()?),
            u32::from(c.u8()?),
        )
    };
    let class_or_filter = c.le_u32()?;
    let kind = match flags {
        0 => ClauseKind::Catch,
        1 => ClauseKind::Filter,
        2 => ClauseKind::Finally,
        4 => ClauseKind::Fault,
        _ => {
            return Err(Error::malformed(
                0,
                format!("{flags:#x} is no kind of exception clause"),
            ));
        }
    };
    let end = |start: u32, len: u32| {
        start
            .checked_add(len)
            .filter(|end| *end <= code_len)
            .ok_or_else(|| Error::malformed(0, "exception clause reaches beyond the code"))
    };
    let clause = Clause {
        kind,
        try_start,
        try_end: end(try_start, try_len)?,
        handler_start,
        handler_end: end(handler_start, handler_len)?,
        class_or_filter,
    };
    if kind == ClauseKind::Filter && class_or_filter >= code_len {
        return Err(Error::malformed(0, "filter lies outside the code"));
    }
    Ok(clause)
}

/// Whether a body may have a tiny header.
pub fn fits_tiny(code_len: usize, max_stack: u16, locals: u32, clauses: usize) -> bool {
    code_len < 64 && max_stack <= 8 && locals == 0 && clauses == 0
}

/// Appends a tiny header.
pub fn put_tiny_header(out: &mut Vec<u8>, code_len: usize) {
    out.push((code_len as u8) << 2 | flag::TINY);
}

/// Appends a fat header; its place must be a multiple of four.
pub fn put_fat_header(
    out: &mut Vec<u8>,
    code_len: usize,
    max_stack: u16,
    init_locals: bool,
    locals: u32,
    has_clauses: bool,
) {
    let header = fat_header(code_len, max_stack, init_locals, locals, has_clauses);
    out.extend_from_slice(&header);
}

/// A fat header.
pub fn fat_header(
    code_len: usize,
    max_stack: u16,
    init_locals: bool,
    locals: u32,
    has_clauses: bool,
) -> [u8; FAT_HEADER] {
    let mut flags = flag::FAT;
    if init_locals {
        flags |= flag::INIT_LOCALS;
    }
    if has_clauses {
        flags |= flag::MORE_SECTIONS;
    }
    let mut header = [0; FAT_HEADER];
    header[..2].copy_from_slice(&[flags, 0x30]);
    header[2..4].copy_from_slice(&max_stack.to_le_bytes());
    header[4..8].copy_from_slice(&(code_len as u32).to_le_bytes());
    header[LOCALS..].copy_from_slice(&locals.to_le_bytes());
    header
}

/// Where in a fat header the token of the locals' signature lies (II.25.4.3).
pub const LOCALS: usize = 8;

/// Whether clauses fit into a small section.
fn are_small(clauses: &[Clause]) -> bool {
    clauses.len() <= MAX_SMALL_CLAUSES
        && clauses.iter().all(|c| {
            c.try_start <= 0xffff
                && c.handler_start <= 0xffff
                && c.try_end - c.try_start <= 0xff
                && c.handler_end - c.handler_start <= 0xff
        })
}

/// Bytes of what [`put_clauses`] appends.
pub fn clauses_len(clauses: &[Clause]) -> usize {
    let size = match are_small(clauses) {
        true => SMALL_CLAUSE,
        false => FAT_CLAUSE,
    };
    4 + clauses.len() * size
}

/// Appends one section with all clauses, at most [`MAX_CLAUSES`]; its place must be a multiple of four.
pub fn put_clauses(out: &mut Vec<u8>, clauses: &[Clause]) {
    let start = out.len();
    out.resize(start + clauses_len(clauses), 0);
    write_clauses(&mut out[start..], clauses);
}

/// The same in place: there is room for [`clauses_len`] bytes.
pub fn write_clauses(out: &mut [u8], clauses: &[Clause]) {
    let small = are_small(clauses);
    let (header, out) = out.split_at_mut(4);
    let [low, mid, high, _] = (clauses_len(clauses) as u32).to_le_bytes();
    header.copy_from_slice(&match small {
        true => [section::EH_TABLE, low, 0, 0],
        false => [section::EH_TABLE | section::FAT, low, mid, high],
    });
    let size = if small { SMALL_CLAUSE } else { FAT_CLAUSE };
    for (c, out) in clauses.iter().zip(out.chunks_exact_mut(size)) {
        let kind: u8 = match c.kind {
            ClauseKind::Catch => 0,
            ClauseKind::Filter => 1,
            ClauseKind::Finally => 2,
            ClauseKind::Fault => 4,
        };
        let (try_len, handler_len) = (c.try_end - c.try_start, c.handler_end - c.handler_start);
        let last = c.class_or_filter.to_le_bytes();
        if small {
            let [a, b, ..] = c.try_start.to_le_bytes();
            let [d, e, ..] = c.handler_start.to_le_bytes();
            out[..8].copy_from_slice(&[kind, 0, a, b, try_len as u8, d, e, handler_len as u8]);
            out[8..].copy_from_slice(&last);
        } else {
            let words = [
                u32::from(kind),
                c.try_start,
                try_len,
                c.handler_start,
                handler_len,
            ];
            for (word, out) in words.iter().zip(out.chunks_exact_mut(4)) {
                out.copy_from_slice(&word.to_le_bytes());
            }
            out[20..].copy_from_slice(&last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clause_of(kind: ClauseKind, pcs: [u32; 4], class_or_filter: u32) -> Clause {
        let [try_start, try_end, handler_start, handler_end] = pcs;
        Clause {
            kind,
            try_start,
            try_end,
            handler_start,
            handler_end,
            class_or_filter,
        }
    }

    fn put(code: &[u8], clauses: &[Clause]) -> Vec<u8> {
        let mut out = vec![];
        put_fat_header(
            &mut out,
            code.len(),
            3,
            true,
            0x1100_0001,
            !clauses.is_empty(),
        );
        out.extend_from_slice(code);
        if !clauses.is_empty() {
            out.resize(out.len().next_multiple_of(4), 0);
            put_clauses(&mut out, clauses);
        }
        out
    }

    #[test]
    fn tiny_bodies_end_where_their_header_says() {
        let body = Body::parse(&[0x0a, 0x17, 0x2a, 0xff], 1).unwrap();
        assert!(body.tiny);
        assert_eq!(
            (body.code, body.len, body.max_stack),
            (&[0x17, 0x2a][..], 3, 8)
        );
        assert_eq!(body.clauses().count(), 0);
    }

    #[test]
    fn clauses_read_back_small_and_fat() {
        let near = clause_of(ClauseKind::Catch, [0, 2, 2, 5], 0x0100_0003);
        let far = clause_of(ClauseKind::Filter, [1, 300, 301, 302], 290);
        for clauses in [vec![near], vec![near, far], vec![near; 20], vec![near; 21]] {
            let bytes = put(&[0; 303], &clauses);
            let body = Body::parse(&bytes, 0x2000).unwrap();
            let back: Vec<_> = body.clauses().map(Result::unwrap).collect();
            assert_eq!(back, clauses);
            assert_eq!(
                (body.len, body.locals, body.init_locals),
                (bytes.len(), 0x1100_0001, true)
            );
        }
        let header = |clauses: &[Clause]| put(&[0; 304], clauses)[12 + 304];
        assert_eq!(header(&vec![near; 20]), 0x01);
        assert_eq!(header(&vec![near; 21]), 0x41);
    }

    #[test]
    fn several_sections_are_one_list_and_sizes_may_leave_the_header_out() {
        let one = clause_of(ClauseKind::Finally, [0, 1, 1, 2], 0);
        let mut bytes = put(&[0; 4], &[one]);
        bytes[16] |= 0x80;
        bytes[17] = 12; // as some writers have it
        put_clauses(&mut bytes, &[one, one]);
        let body = Body::parse(&bytes, 0).unwrap();
        assert_eq!(body.clauses().count(), 3);
        assert_eq!(body.len, bytes.len());
        assert!(!body.has_unknown_sections());
        bytes[16] = 0x82;
        assert!(Body::parse(&bytes, 0).unwrap().has_unknown_sections());
    }

    #[test]
    fn sections_are_aligned_by_address() {
        let one = clause_of(ClauseKind::Fault, [0, 1, 1, 2], 0);
        let mut bytes = vec![];
        put_fat_header(&mut bytes, 3, 1, false, 0, true);
        bytes.extend_from_slice(&[0, 0, 0x2a]);
        bytes.extend_from_slice(&[0, 0, 0]); // three bytes from 2 mod 4 + 15 to 0 mod 4
        put_clauses(&mut bytes, &[one]);
        let body = Body::parse(&bytes, 0x2052 - 0x50).unwrap();
        assert_eq!(body.clauses().next().unwrap().unwrap(), one);
    }

    #[test]
    fn lies_are_named() {
        let e = |bytes: &[u8]| Body::parse(bytes, 0).map(|_| ()).unwrap_err();
        insta::assert_snapshot!(e(&[]), @"1 bytes wanted, 0 left (at byte 0x0)");
        insta::assert_snapshot!(e(&[0x01]), @"0x01 begins neither a tiny nor a fat method body (at byte 0x0)");
        insta::assert_snapshot!(e(&[0xfe, 0]), @"63 bytes wanted, 1 left (at byte 0x1)");
        let mut huge = put(&[0x2a], &[]);
        huge[4..8].copy_from_slice(&[0xff; 4]);
        insta::assert_snapshot!(e(&huge), @"4294967295 bytes wanted, 1 left (at byte 0xc)");
        let mut beyond = put(&[0; 4], &[clause_of(ClauseKind::Catch, [0, 1, 1, 2], 0)]);
        beyond[24] = 9;
        let clause = Body::parse(&beyond, 0).unwrap().clauses().next().unwrap();
        insta::assert_snapshot!(clause.unwrap_err(), @"exception clause reaches beyond the code (at byte 0x14)");
        beyond[20] = 3;
        let clause = Body::parse(&beyond, 0).unwrap().clauses().next().unwrap();
        insta::assert_snapshot!(clause.unwrap_err(), @"0x3 is no kind of exception clause (at byte 0x14)");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, rva: u32, fat: bool) {
            let mut bytes = bytes;
            if fat && bytes.len() > 12 {
                bytes[0] = 0x0b;
                bytes[1] = 0x30;
                bytes[5..8].fill(0);
            }
            if let Ok(body) = Body::parse(&bytes, rva) {
                prop_assert!(body.len <= bytes.len());
                prop_assert!(body.clauses().count() <= bytes.len());
            }
        }
    }
}
