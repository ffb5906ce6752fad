//! Baseline profiles: which classes and methods Android compiles when an app is installed.
//!
//! A profile (`baseline.prof`) names methods and types by their numbers in a dex file, and the dex file by its
//! checksum. Hooks bring new names, so that numbers shift; with the new ones the profile goes on to hold. Layouts are
//! those of ART's `ProfileCompilationInfo`: version 010 (Android 9, what builds put into apks), and 015 (Android 12).
//! The metadata beside it (`baseline.profm`, versions 001 and 002) numbers class definitions, which stay; 002 also
//! says how many types there are.

use crate::bytes::Cursor;
use crate::error::{Error, Kind, Result};
use libdeflater::{CompressionLvl, Compressor, Decompressor};

const PROFILE: &[u8; 4] = b"pro\0";
const METADATA: &[u8; 4] = b"prm\0";

/// Largest body that is unpacked; real ones have some 100 KB.
const MAX_BODY: usize = 64 << 20;

/// The method is hot: it is listed, and has no bit in the bitmap.
const FLAG_HOT: u16 = 1;
/// Rows of the bitmap in version 010: used at start, used after it.
const ROWS_010: usize = 2;

/// In place of a number of dex files: there are too many types, or some are unknown.
const MEGAMORPHIC: u8 = 7;
const MISSING_TYPES: u8 = 6;

/// Sections of version 015.
const SECTION_DEX_FILES: u32 = 0;
const SECTION_CLASSES: u32 = 2;
const SECTION_METHODS: u32 = 3;

/// How a dex file of the apk changed.
pub struct Change<'a> {
    /// The member's name: `classes2.dex`.
    pub name: &'a str,
    /// CRC-32 of the new dex file.
    pub checksum: u32,
    /// New numbers of its types, by the old ones.
    pub types: &'a [u32],
    /// How many types it has now.
    pub type_count: u32,
    /// New numbers of its methods, by the old ones.
    pub methods: &'a [u32],
    /// How many methods it has now.
    pub method_count: u32,
}

/// A profile, or its metadata, for dex files that changed. Those that are not named are as they were.
pub fn renumber(bytes: &[u8], changes: &[Change<'_>]) -> Result<Vec<u8>> {
    let (magic, version) = match bytes {
        [a, b, c, d, e, f, g, h, ..] => ([*a, *b, *c, *d], [*e, *f, *g, *h]),
        _ => return Err(Error::malformed(0, "the profile has no header")),
    };
    match (&magic, &version) {
        (PROFILE, b"010\0") => packed(bytes, 1, |body, n| body_010(body, n, changes)),
        (PROFILE, b"015\0") => sections_015(bytes, changes),
        (METADATA, b"001\0") => Ok(bytes.to_vec()),
        (METADATA, b"002\0") => packed(bytes, 2, |body, n| metadata_002(body, n, changes)),
        _ => {
            let version = String::from_utf8_lossy(&bytes[..8])
                .escape_default()
                .to_string();
            let what = format!("a profile of the unknown kind \"{version}\"");
            Err(Error::new(Kind::Unsupported, what))
        }
    }
}

/// A dex file in a profile, and how it changed.
struct Dex<'c> {
    change: Option<&'c Change<'c>>,
    old_types: Option<u32>,
    old_methods: u32,
}

impl Dex<'_> {
    fn ty(&self, old: u32) -> Option<u32> {
        match (self.change, self.old_types) {
            (None, _) => Some(old),
            // Behind the types come types of other dex files (ExtraDescriptors).
            (Some(change), Some(count)) if old >= count => {
                (old - count).checked_add(change.type_count)
            }
            (Some(change), _) => change.types.get(old as usize).copied(),
        }
    }

    fn method(&self, old: u32) -> Option<u32> {
        match self.change {
            None => Some(old),
            Some(change) => change.methods.get(old as usize).copied(),
        }
    }

    fn methods(&self) -> u32 {
        self.change.map_or(self.old_methods, |c| c.method_count)
    }
}

/// The change of the dex file that a key names: `classes2.dex`, `base.apk!classes2.dex` (`:` in old ones), or
/// `base.apk`, which is its `classes.dex`.
fn find<'c>(key: &[u8], changes: &'c [Change<'c>]) -> Option<&'c Change<'c>> {
    let key = std::str::from_utf8(key).ok()?;
    let name = key.rsplit(['!', ':']).next().unwrap_or(key);
    let name = if name.ends_with(".dex") {
        name
    } else {
        "classes.dex"
    };
    changes.iter().find(|change| change.name == name)
}

#[cold]
fn wrong(at: usize, what: &str) -> Error {
    Error::malformed(at, format!("the profile {what}"))
}

fn unpack(data: &[u8], size: usize, at: usize) -> Result<Vec<u8>> {
    if size > MAX_BODY || size > data.len().saturating_mul(1032) {
        return Err(wrong(at, "claims an implausible size"));
    }
    let mut body = vec![0; size];
    match Decompressor::new().zlib_decompress(data, &mut body) {
        Ok(n) if n == size => Ok(body),
        _ => Err(wrong(at, "does not inflate to the size it claims")),
    }
}

fn pack(body: &[u8]) -> Vec<u8> {
    let level = CompressionLvl::new(9).expect("valid level");
    let mut compressor = Compressor::new(level);
    let mut out = vec![0; compressor.zlib_compress_bound(body.len())];
    let n = compressor
        .zlib_compress(body, &mut out)
        .expect("the bound holds");
    out.truncate(n);
    out
}

/// A number of dex files (of so many bytes), sizes, and a packed body.
fn packed(
    bytes: &[u8],
    width: usize,
    change: impl FnOnce(&[u8], usize) -> Result<Vec<u8>>,
) -> Result<Vec<u8>> {
    let mut header = Cursor::new(&bytes[8..]);
    let count = match width {
        1 => usize::from(header.u8().map_err(|e| e.offset_by(8))?),
        _ => usize::from(header.le_u16().map_err(|e| e.offset_by(8))?),
    };
    let size = header.le_u32().map_err(|e| e.offset_by(8))? as usize;
    let len = header.le_u32().map_err(|e| e.offset_by(8))? as usize;
    let start = 8 + width + 8;
    if bytes.len() - start != len {
        return Err(wrong(start, "has another length than it claims"));
    }
    let body = change(&unpack(&bytes[start..], size, start)?, count)?;
    let data = pack(&body);
    let mut out = bytes[..8 + width].to_vec();
    out.extend((body.len() as u32).to_le_bytes());
    out.extend((data.len() as u32).to_le_bytes());
    out.extend(data);
    Ok(out)
}

fn body_010(body: &[u8], count: usize, changes: &[Change<'_>]) -> Result<Vec<u8>> {
    let mut at = Cursor::new(body);
    let mut out = Vec::with_capacity(body.len() + 64);
    let mut dexes = Vec::with_capacity(count);
    let mut shapes = Vec::with_capacity(count);
    for _ in 0..count {
        let (key_len, classes) = (at.le_u16()?, at.le_u16()?);
        let (region, checksum, methods) = (at.le_u32()?, at.le_u32()?, at.le_u32()?);
        let key = at.take(usize::from(key_len))?;
        let dex = Dex {
            change: find(key, changes),
            old_types: None,
            old_methods: methods,
        };
        out.extend(key_len.to_le_bytes());
        out.extend(classes.to_le_bytes());
        // Renumbering changes no length but that of the bitmap.
        out.extend(region.to_le_bytes());
        out.extend(dex.change.map_or(checksum, |c| c.checksum).to_le_bytes());
        out.extend(dex.methods().to_le_bytes());
        out.extend_from_slice(key);
        dexes.push(dex);
        shapes.push((region as usize, usize::from(classes)));
    }
    for (dex, (region, classes)) in dexes.iter().zip(shapes) {
        let end = at
            .position()
            .checked_add(region)
            .filter(|&end| end <= body.len());
        let end = end.ok_or_else(|| wrong(at.position(), "claims more hot methods than it has"))?;
        hot_methods(&mut at, end, dex, &mut out, |at, out, kinds| {
            for _ in 0..kinds {
                let number = at.u8()?;
                let types = at.u8()?;
                out.extend([number, types]);
                for _ in 0..types {
                    let old = u32::from(at.le_u16()?);
                    let new = dexes.get(usize::from(number)).and_then(|dex| dex.ty(old));
                    put_u16(out, new, at.position())?;
                }
            }
            Ok(())
        })?;
        types(&mut at, classes, dex, &mut out)?;
        bitmap(&mut at, ROWS_010, dex, &mut out)?;
    }
    if at.position() != body.len() {
        return Err(wrong(at.position(), "goes on behind its end"));
    }
    Ok(out)
}

fn put_u16(out: &mut Vec<u8>, value: Option<u32>, at: usize) -> Result<()> {
    let value = value.and_then(|v| u16::try_from(v).ok());
    let value =
        value.ok_or_else(|| wrong(at, "is not that of the dex files: a number is out of range"))?;
    out.extend(value.to_le_bytes());
    Ok(())
}

/// Numbers that are written as differences.
struct Deltas {
    old: u32,
    new: u32,
}

impl Deltas {
    const START: Deltas = Deltas { old: 0, new: 0 };

    /// The next difference under new numbers; order stays, since new names lie between old ones.
    fn next(&mut self, delta: u16, new: impl Fn(u32) -> Option<u32>) -> Option<u32> {
        self.old = self.old.checked_add(u32::from(delta))?;
        let number = new(self.old)?;
        let delta = number.checked_sub(self.new)?;
        self.new = number;
        Some(delta)
    }
}

/// Hot methods up to an end, each with its inline caches, whose types `caches` copies.
fn hot_methods(
    at: &mut Cursor<'_>,
    end: usize,
    dex: &Dex<'_>,
    out: &mut Vec<u8>,
    caches: impl Fn(&mut Cursor<'_>, &mut Vec<u8>, u8) -> Result<()>,
) -> Result<()> {
    let mut deltas = Deltas::START;
    while at.position() < end {
        let delta = deltas.next(at.le_u16()?, |old| dex.method(old));
        put_u16(out, delta, at.position())?;
        let count = at.le_u16()?;
        out.extend(count.to_le_bytes());
        for _ in 0..count {
            out.extend(at.le_u16()?.to_le_bytes()); // the dex pc
            let kinds = at.u8()?;
            out.push(kinds);
            if kinds != MEGAMORPHIC && kinds != MISSING_TYPES {
                caches(at, out, kinds)?;
            }
        }
    }
    match at.position() == end {
        true => Ok(()),
        false => Err(wrong(end, "has a hot method that is cut off")),
    }
}

fn types(at: &mut Cursor<'_>, count: usize, dex: &Dex<'_>, out: &mut Vec<u8>) -> Result<()> {
    let mut deltas = Deltas::START;
    for _ in 0..count {
        let delta = deltas.next(at.le_u16()?, |old| dex.ty(old));
        put_u16(out, delta, at.position())?;
    }
    Ok(())
}

/// Rows of one bit a method, one behind the other, in whole bytes all together.
fn bitmap(at: &mut Cursor<'_>, rows: usize, dex: &Dex<'_>, out: &mut Vec<u8>) -> Result<()> {
    let (old_count, new_count) = (dex.old_methods as usize, dex.methods() as usize);
    // Dex files number methods in 16 bits.
    if old_count > 1 << 16 || new_count > 1 << 16 {
        return Err(wrong(
            at.position(),
            "claims more methods than a dex file can have",
        ));
    }
    let old = at.take((rows * old_count).div_ceil(8))?;
    let start = out.len();
    out.resize(start + (rows * new_count).div_ceil(8), 0);
    for row in 0..rows {
        for method in 0..old_count {
            let bit = row * old_count + method;
            if old[bit / 8] >> (bit % 8) & 1 == 1 {
                let new = dex
                    .method(method as u32)
                    .filter(|&new| (new as usize) < new_count);
                let new =
                    new.ok_or_else(|| wrong(at.position(), "is not that of the dex files"))?;
                let bit = row * new_count + new as usize;
                out[start + bit / 8] |= 1 << (bit % 8);
            }
        }
    }
    Ok(())
}

fn metadata_002(body: &[u8], count: usize, changes: &[Change<'_>]) -> Result<Vec<u8>> {
    let mut out = body.to_vec();
    let mut at = Cursor::new(body);
    for _ in 0..count {
        at.le_u16()?; // the dex file's number
        let key_len = usize::from(at.le_u16()?);
        let change = find(at.take(key_len)?, changes);
        let place = at.position();
        at.le_u32()?;
        if let Some(change) = change {
            out[place..place + 4].copy_from_slice(&change.type_count.to_le_bytes());
        }
        let classes = usize::from(at.le_u16()?);
        at.take(2 * classes)?;
    }
    Ok(out)
}

/// Version 015: a table of sections, each packed or not.
fn sections_015(bytes: &[u8], changes: &[Change<'_>]) -> Result<Vec<u8>> {
    const ENTRY: usize = 16;
    let mut table = Cursor::new(bytes);
    table.take(8)?;
    let count = table.le_u32()? as usize;
    if count > 16 {
        return Err(wrong(8, "claims too many sections"));
    }
    let mut sections = Vec::with_capacity(count);
    for _ in 0..count {
        let entry = table.position();
        let (kind, offset) = (table.le_u32()?, table.le_u32()? as usize);
        let (len, size) = (table.le_u32()? as usize, table.le_u32()? as usize);
        let data = offset
            .checked_add(len)
            .and_then(|end| bytes.get(offset..end));
        let data = data.ok_or_else(|| wrong(entry, "has a section outside the file"))?;
        let body = match size {
            0 => data.to_vec(),
            _ => unpack(data, size, offset)?,
        };
        sections.push((kind, size > 0, body));
    }
    let mut dexes = Vec::new();
    if let Some((_, _, body)) = sections.iter_mut().find(|s| s.0 == SECTION_DEX_FILES) {
        (dexes, *body) = dex_files_015(body, changes)?;
    }
    for (kind, _, body) in &mut sections {
        match *kind {
            SECTION_CLASSES => *body = classes_015(body, &dexes)?,
            SECTION_METHODS => *body = methods_015(body, &dexes)?,
            _ => {}
        }
    }
    let mut out = bytes[..12].to_vec();
    let mut contents = Vec::new();
    for (kind, is_packed, body) in &sections {
        let data = if *is_packed { pack(body) } else { body.clone() };
        let offset = 12 + ENTRY * count + contents.len();
        let size = if *is_packed { body.len() } else { 0 };
        for value in [*kind, offset as u32, data.len() as u32, size as u32] {
            out.extend(value.to_le_bytes());
        }
        contents.extend(data);
    }
    out.extend(contents);
    Ok(out)
}

fn dex_files_015<'c>(body: &[u8], changes: &'c [Change<'c>]) -> Result<(Vec<Dex<'c>>, Vec<u8>)> {
    let mut at = Cursor::new(body);
    let mut out = body.to_vec();
    let count = usize::from(at.le_u16()?);
    let mut dexes = Vec::new();
    for _ in 0..count {
        let place = at.position();
        let (_checksum, types, methods) = (at.le_u32()?, at.le_u32()?, at.le_u32()?);
        let key_len = usize::from(at.le_u16()?);
        let change = find(at.take(key_len)?, changes);
        if let Some(c) = change {
            for (i, value) in [c.checksum, c.type_count, c.method_count]
                .into_iter()
                .enumerate()
            {
                out[place + 4 * i..place + 4 * i + 4].copy_from_slice(&value.to_le_bytes());
            }
        }
        dexes.push(Dex {
            change,
            old_types: Some(types),
            old_methods: methods,
        });
    }
    Ok((dexes, out))
}

/// The dex file of the number at the cursor.
fn dex_at<'d, 'c>(
    at: &mut Cursor<'_>,
    dexes: &'d [Dex<'c>],
    out: &mut Vec<u8>,
) -> Result<&'d Dex<'c>> {
    let place = at.position();
    let number = at.le_u16()?;
    out.extend(number.to_le_bytes());
    let dex = dexes.get(usize::from(number));
    dex.ok_or_else(|| wrong(place, "names a dex file that it does not list"))
}

fn classes_015(body: &[u8], dexes: &[Dex<'_>]) -> Result<Vec<u8>> {
    let mut at = Cursor::new(body);
    let mut out = Vec::with_capacity(body.len());
    while at.position() < body.len() {
        let dex = dex_at(&mut at, dexes, &mut out)?;
        let count = at.le_u16()?;
        out.extend(count.to_le_bytes());
        types(&mut at, usize::from(count), dex, &mut out)?;
    }
    Ok(out)
}

fn methods_015(body: &[u8], dexes: &[Dex<'_>]) -> Result<Vec<u8>> {
    let mut at = Cursor::new(body);
    let mut out = Vec::with_capacity(body.len() + 64);
    while at.position() < body.len() {
        let dex = dex_at(&mut at, dexes, &mut out)?;
        let len = at.le_u32()? as usize;
        let place = out.len();
        out.extend([0; 4]);
        let end = at
            .position()
            .checked_add(len)
            .filter(|&end| end <= body.len());
        let end = end.ok_or_else(|| wrong(at.position(), "claims more methods than it has"))?;
        let flags = at.le_u16()?;
        out.extend(flags.to_le_bytes());
        bitmap(
            &mut at,
            (flags & !FLAG_HOT).count_ones() as usize,
            dex,
            &mut out,
        )?;
        hot_methods(&mut at, end, dex, &mut out, |at, out, count| {
            types(at, usize::from(count), dex, out)
        })?;
        let len = (out.len() - place - 4) as u32;
        out[place..place + 4].copy_from_slice(&len.to_le_bytes());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes from numbers: `(value, width)`.
    fn le(parts: &[(u32, usize)]) -> Vec<u8> {
        let bytes = parts
            .iter()
            .map(|(v, width)| v.to_le_bytes()[..*width].to_vec());
        bytes.collect::<Vec<_>>().concat()
    }

    fn profile_010(body: &[u8]) -> Vec<u8> {
        let data = pack(body);
        let sizes = le(&[(2, 1), (body.len() as u32, 4), (data.len() as u32, 4)]);
        [b"pro\x00010\0".as_slice(), &sizes, &data].concat()
    }

    fn body_of(profile: &[u8], width: usize) -> Vec<u8> {
        let size = u32::from_le_bytes(profile[8 + width..12 + width].try_into().unwrap());
        unpack(&profile[16 + width..], size as usize, 0).unwrap()
    }

    /// `classes.dex` had 5 methods and 3 types; one of each came in at 2 and at 1.
    const METHODS: [u32; 5] = [0, 1, 3, 4, 5];
    const TYPES: [u32; 3] = [0, 2, 3];

    fn change() -> Change<'static> {
        Change {
            name: "classes.dex",
            checksum: 0xc0ff_ee00,
            types: &TYPES,
            type_count: 4,
            methods: &METHODS,
            method_count: 6,
        }
    }

    fn line(checksum: u32, methods: u32, region: u32, key: &str) -> Vec<u8> {
        let numbers = le(&[
            (key.len() as u32, 2),
            (2, 2),
            (region, 4),
            (checksum, 4),
            (methods, 4),
        ]);
        [&numbers, key.as_bytes()].concat()
    }

    fn body(
        checksum: u32,
        methods: u32,
        hot: [u32; 2],
        types: [u32; 2],
        of_cache: u32,
        bits: &[u8],
    ) -> Vec<u8> {
        let region = |methods: [u32; 2]| {
            [
                // One with three inline caches: of types in both dex files, and of two kinds without.
                le(&[
                    (methods[0], 2),
                    (3, 2),
                    (7, 2),
                    (2, 1),
                    (0, 1),
                    (1, 1),
                    (of_cache, 2),
                ]),
                le(&[(1, 1), (1, 1), (2, 2), (9, 2), (7, 1), (11, 2), (6, 1)]),
                le(&[(methods[1] - methods[0], 2), (0, 2)]),
            ]
            .concat()
        };
        let len = region(hot).len() as u32;
        [
            line(checksum, methods, len, "base.apk"),
            line(5, 3, 0, "base.apk!classes2.dex"),
            region(hot),
            le(&[(types[0], 2), (types[1] - types[0], 2)]),
            bits.to_vec(),
            le(&[(0, 2), (1, 2)]),
            vec![0b10_0101],
        ]
        .concat()
    }

    #[test]
    fn version_010_gets_new_numbers() {
        // Start: methods 1 and 4; afterwards: 2. Behind: 1, 5 of six; and 3.
        let old = body(1, 5, [1, 3], [1, 2], 2, &[0b1001_0010, 0]);
        let new = body(0xc0ff_ee00, 6, [1, 4], [2, 3], 3, &[0b0010_0010, 0b10]);
        let renumbered = renumber(&profile_010(&old), &[change()]).unwrap();
        assert_eq!(body_of(&renumbered, 1), new);
        let same = renumber(&profile_010(&old), &[]).unwrap();
        assert_eq!(body_of(&same, 1), old);
    }

    fn profile_015(dex: &[(u32, usize)], classes: &[u8], methods: &[u8]) -> Vec<u8> {
        let dexes = [le(&[(1, 2)]), le(dex), b"base.apk".to_vec()].concat();
        let (classes_data, methods_data) = (pack(classes), pack(methods));
        let mut out = [b"pro\x00015\0".to_vec(), le(&[(3, 4)])].concat();
        let mut offset = 12 + 48;
        for (kind, data, size) in [
            (0, &dexes, 0),
            (2, &classes_data, classes.len()),
            (3, &methods_data, methods.len()),
        ] {
            out.extend(le(&[
                (kind, 4),
                (offset, 4),
                (data.len() as u32, 4),
                (size as u32, 4),
            ]));
            offset += data.len() as u32;
        }
        [out, dexes, classes_data, methods_data].concat()
    }

    #[test]
    fn version_015_gets_new_numbers() {
        // The last type is the first of those of other dex files. Of the bitmap there is one row.
        let methods = |len: u32, bits: u32, hot: u32, types: [u32; 2]| {
            [
                le(&[(0, 2), (len, 4), (3, 2), (bits, 1)]),
                le(&[
                    (hot, 2),
                    (1, 2),
                    (6, 2),
                    (2, 1),
                    (types[0], 2),
                    (types[1], 2),
                ]),
            ]
            .concat()
        };
        let len = 2 + 1 + 4 + 3 + 4;
        let old = profile_015(
            &[(1, 4), (3, 4), (5, 4), (8, 2)],
            &le(&[(0, 2), (3, 2), (0, 2), (1, 2), (2, 2)]),
            &methods(len, 0b1_0110, 2, [1, 1]),
        );
        let new = profile_015(
            &[(0xc0ff_ee00, 4), (4, 4), (6, 4), (8, 2)],
            &le(&[(0, 2), (3, 2), (0, 2), (2, 2), (2, 2)]),
            &methods(len, 0b10_1010, 3, [2, 1]),
        );
        assert_eq!(renumber(&old, &[change()]).unwrap(), new);
        assert_eq!(renumber(&old, &[]).unwrap(), old);
    }

    #[test]
    fn metadata_tells_how_many_types_there_are() {
        let profile = |types: u32| {
            let body = [
                le(&[(0, 2), (11, 2)]),
                b"classes.dex".to_vec(),
                le(&[(types, 4), (1, 2), (2, 2)]),
                le(&[(1, 2), (12, 2)]),
                b"classes2.dex".to_vec(),
                le(&[(9, 4), (0, 2)]),
            ]
            .concat();
            let data = pack(&body);
            let sizes = le(&[(2, 2), (body.len() as u32, 4), (data.len() as u32, 4)]);
            [b"prm\x00002\0".as_slice(), &sizes, &data].concat()
        };
        assert_eq!(renumber(&profile(3), &[change()]).unwrap(), profile(4));
        let old = b"prm\x00001\0anything";
        assert_eq!(renumber(old, &[change()]).unwrap(), old);
    }

    #[test]
    fn what_does_not_fit_the_dex_files_is_told() {
        let failed = |profile: &[u8]| renumber(profile, &[change()]).unwrap_err().to_string();
        let of_other = body(1, 5, [1, 9], [1, 2], 2, &[0, 0]);
        let more = [body(1, 5, [1, 3], [1, 2], 2, &[0, 0]), vec![0]].concat();
        let cut = &profile_010(&more)[..40];
        let messages = [
            failed(b"pro"),
            failed(b"pro\x00099\0"),
            failed(&profile_010(&of_other)),
            failed(&profile_010(&more)),
            failed(cut),
        ];
        insta::assert_snapshot!(messages.join("\n"), @r#"
        the profile has no header (at byte 0x0)
        a profile of the unknown kind "pro\u{0}099\u{0}"
        the profile is not that of the dex files: a number is out of range (at byte 0x54)
        the profile goes on behind its end (at byte 0x61)
        the profile has another length than it claims (at byte 0x11)
        "#);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(body in proptest::collection::vec(any::<u8>(), 0..60), kind in 0..4usize) {
            let sizes = |width| le(&[(1, width), (body.len() as u32, 4), (pack(&body).len() as u32, 4)]);
            let profile = match kind {
                0 => [b"pro\x00010\0".to_vec(), sizes(1), pack(&body)].concat(),
                1 => [b"prm\x00002\0".to_vec(), sizes(2), pack(&body)].concat(),
                2 => profile_015(&[(1, 4), (3, 4), (5, 4), (8, 2)], &body, &body),
                _ => [b"pro\x00015\0".to_vec(), body].concat(),
            };
            let _ = renumber(&profile, &[change()]);
        }
    }
}
