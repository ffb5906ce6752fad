//! The records of a zip file: layouts, and how one is copied with some fields changed.

use crate::bytes::{put_le_u32, u16_at, u32_at, u64_at};
use std::io;

/// Local file header (APPNOTE 4.3.7): signature and length without name and extra field.
pub const LOCAL: &[u8; 4] = b"PK\x03\x04";
pub const LOCAL_LEN: usize = 30;
/// Data descriptor (4.3.9); the signature is optional.
pub const DESCRIPTOR: &[u8; 4] = b"PK\x07\x08";
/// Central directory header (4.3.12).
pub const CENTRAL: &[u8; 4] = b"PK\x01\x02";
pub const CENTRAL_LEN: usize = 46;
/// Zip64 end of central directory record (4.3.14).
pub const END64: &[u8; 4] = b"PK\x06\x06";
pub const END64_LEN: usize = 56;
/// Zip64 end of central directory locator (4.3.15).
pub const LOCATOR: &[u8; 4] = b"PK\x06\x07";
pub const LOCATOR_LEN: usize = 20;
/// End of central directory record (4.3.16).
pub const END: &[u8; 4] = b"PK\x05\x06";
pub const END_LEN: usize = 22;

/// General purpose flags (4.4.4).
pub const FLAG_ENCRYPTED: u16 = 1 << 0;
pub const FLAG_DESCRIPTOR: u16 = 1 << 3;
pub const FLAG_UTF8: u16 = 1 << 11;
/// What describes the old data of a replaced member: encryption (0, 6, 13), the options of the
/// compressor (1, 2), and the descriptor (3), which `ZipInputStream` refuses on stored members.
const FLAGS_OF_DATA: u16 = FLAG_ENCRYPTED | 1 << 1 | 1 << 2 | FLAG_DESCRIPTOR | 1 << 6 | 1 << 13;

/// Zip64 extended information (4.5.3).
pub const EXTRA_ZIP64: u16 = 0x0001;

/// What a 32-bit field holds when its value is in the zip64 extra field.
pub const IN_ZIP64: u32 = u32::MAX;
/// Versions needed to extract (4.4.3.2).
const VERSION_STORED: u16 = 10;
const VERSION_DEFLATED: u16 = 20;
const VERSION_ZIP64: u16 = 45;

/// 1980-01-01, the earliest date of MS-DOS; the time beside it is 0.
const DOS_EPOCH: u16 = 1 << 5 | 1;

fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// A 32-bit field: the value, or the mark that it is in the zip64 extra field.
fn low(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(IN_ZIP64)
}

/// Whether a value does not go into a 32-bit field.
fn needs64(value: u64) -> bool {
    value >= u64::from(IN_ZIP64)
}

/// The 16-bit length of something that grew.
fn len16(what: &str, len: usize) -> io::Result<u16> {
    u16::try_from(len).map_err(|_| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{what} of {len} bytes exceeds the 65,535 of a zip file"),
        )
    })
}

/// The fields of an extra field (4.5.1); what is left that makes no field comes last, without id.
#[derive(Clone)]
pub struct Fields<'a>(pub &'a [u8]);

pub struct Field<'a> {
    pub id: Option<u16>,
    /// With the four bytes of id and length.
    pub raw: &'a [u8],
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        let bytes = self.0;
        if bytes.is_empty() {
            return None;
        }
        if bytes.len() >= 4 {
            let end = 4 + usize::from(u16_at(bytes, 2));
            if end <= bytes.len() {
                self.0 = &bytes[end..];
                return Some(Field {
                    id: Some(u16_at(bytes, 0)),
                    raw: &bytes[..end],
                });
            }
        }
        self.0 = &[];
        Some(Field {
            id: None,
            raw: bytes,
        })
    }
}

/// What describes the data of a member that is replaced or added.
#[derive(Clone, Copy)]
pub struct Entry {
    pub method: u16,
    pub crc32: u32,
    pub packed: u64,
    pub size: u64,
}

impl Entry {
    fn zip64(&self) -> bool {
        needs64(self.packed) || needs64(self.size)
    }

    fn version(&self) -> u16 {
        match self.method {
            _ if self.zip64() => VERSION_ZIP64,
            0 => VERSION_STORED,
            _ => VERSION_DEFLATED,
        }
    }

    /// Fields that lie the same way in both headers: flags, method, time, date, CRC-32, sizes.
    fn put(&self, header: &mut [u8], flags_at: usize) {
        let flags = u16_at(header, flags_at) & !FLAGS_OF_DATA;
        put_u16(header, flags_at, flags);
        put_u16(header, flags_at + 2, self.method);
        put_le_u32(header, flags_at + 8, self.crc32);
        put_le_u32(header, flags_at + 12, low(self.packed));
        put_le_u32(header, flags_at + 16, low(self.size));
    }
}

fn raise_version(header: &mut [u8], at: usize, version: u16) {
    // The low byte is the version; the high byte is a host system that some writers put here.
    if u16_at(header, at) & 0xff < version {
        put_u16(header, at, version);
    }
}

/// The local header of a member with other data: name, times and extra fields as they were.
pub fn local_replaced(raw: &[u8], entry: &Entry) -> io::Result<Vec<u8>> {
    let name_end = LOCAL_LEN + usize::from(u16_at(raw, 26));
    let mut header = raw[..name_end].to_vec();
    raise_version(&mut header, 4, entry.version());
    entry.put(&mut header, 6);
    if entry.zip64() {
        // In a local header both sizes go there together (4.5.3).
        put_le_u32(&mut header, 18, IN_ZIP64);
        put_le_u32(&mut header, 22, IN_ZIP64);
        header.extend(zip64_field(&[entry.size, entry.packed], &[]));
    }
    for field in Fields(&raw[name_end..]) {
        if field.id != Some(EXTRA_ZIP64) {
            header.extend_from_slice(field.raw);
        }
    }
    seal_local(&mut header, name_end)?;
    Ok(header)
}

/// The local header of a new member.
pub fn local_new(name: &str, entry: &Entry) -> io::Result<Vec<u8>> {
    let mut header = vec![0; LOCAL_LEN];
    header[..4].copy_from_slice(LOCAL);
    put_u16(&mut header, 4, entry.version());
    put_u16(&mut header, 12, DOS_EPOCH);
    entry.put(&mut header, 6);
    put_u16(&mut header, 6, name_flags(name));
    put_u16(&mut header, 26, len16("a member name", name.len())?);
    header.extend_from_slice(name.as_bytes());
    let name_end = header.len();
    if entry.zip64() {
        put_le_u32(&mut header, 18, IN_ZIP64);
        put_le_u32(&mut header, 22, IN_ZIP64);
        header.extend(zip64_field(&[entry.size, entry.packed], &[]));
    }
    seal_local(&mut header, name_end)?;
    Ok(header)
}

/// Sets the length of the extra field, which is all that follows the name.
pub fn seal_local(header: &mut [u8], name_end: usize) -> io::Result<()> {
    let len = len16("an extra field", header.len() - name_end)?;
    put_u16(header, 28, len);
    Ok(())
}

/// The directory record of a new member.
pub fn central_new(name: &str, entry: &Entry, offset: u64) -> io::Result<Vec<u8>> {
    let mut record = vec![0; CENTRAL_LEN];
    record[..4].copy_from_slice(CENTRAL);
    put_u16(&mut record, 4, VERSION_DEFLATED);
    put_u16(&mut record, 6, entry.version());
    put_u16(&mut record, 8, name_flags(name));
    put_u16(&mut record, 14, DOS_EPOCH);
    put_u16(&mut record, 28, len16("a member name", name.len())?);
    record.extend_from_slice(name.as_bytes());
    let mut out = Vec::new();
    central(&mut out, &record, offset, Some(entry))?;
    Ok(out)
}

/// The UTF-8 flag only where it says something, as `jar` does.
fn name_flags(name: &str) -> u16 {
    if name.is_ascii() { 0 } else { FLAG_UTF8 }
}

fn zip64_field(values: &[u64], rest: &[u8]) -> Vec<u8> {
    let mut field = Vec::with_capacity(4 + 8 * values.len() + rest.len());
    field.extend(EXTRA_ZIP64.to_le_bytes());
    field.extend(((8 * values.len() + rest.len()) as u16).to_le_bytes());
    for value in values {
        field.extend(value.to_le_bytes());
    }
    field.extend_from_slice(rest);
    field
}

/// Appends a directory record with another offset and, where given, other data.
///
/// Values that are in the zip64 extra field of a kept member stay there, so that nothing but the
/// value changes; a zip64 field appears where a value needs it.
pub fn central(
    out: &mut Vec<u8>,
    raw: &[u8],
    offset: u64,
    entry: Option<&Entry>,
) -> io::Result<()> {
    let name_end = CENTRAL_LEN + usize::from(u16_at(raw, 28));
    let extra_end = name_end + usize::from(u16_at(raw, 30));
    let (extra, comment) = (&raw[name_end..extra_end], &raw[extra_end..]);

    // The old values, as far as they are in the zip64 field, in their fixed order.
    let mut old = Fields(extra)
        .find(|f| f.id == Some(EXTRA_ZIP64))
        .map_or(&[][..], |f| &f.raw[4..]);
    let mut take = |at: usize| -> Option<u64> {
        if u32_at(raw, at) != IN_ZIP64 || old.len() < 8 {
            return None;
        }
        let value = u64_at(old, 0);
        old = &old[8..];
        Some(value)
    };
    let (old_size, old_packed, old_offset) = (take(24), take(20), take(42));
    // What follows is the disk number, or what the writer had put there without need.
    let rest = match entry {
        Some(_) if u16_at(raw, 34) == u16::MAX => &old[..old.len().min(4)],
        Some(_) => &[],
        None => old,
    };

    let mut values = Vec::with_capacity(3);
    match entry {
        Some(e) => values.extend([e.size, e.packed].into_iter().filter(|&v| needs64(v))),
        None => values.extend(old_size.into_iter().chain(old_packed)),
    }
    let offset64 = needs64(offset) || (old_offset.is_some() && entry.is_none());
    if offset64 {
        values.push(offset);
    }

    let start = out.len();
    out.extend_from_slice(&raw[..name_end]);
    let had_field = Fields(extra).any(|f| f.id == Some(EXTRA_ZIP64));
    let field = if values.is_empty() && rest.is_empty() {
        Vec::new()
    } else {
        zip64_field(&values, rest)
    };
    if !had_field {
        out.extend_from_slice(&field);
    }
    let mut placed = false;
    for f in Fields(extra) {
        if f.id != Some(EXTRA_ZIP64) {
            out.extend_from_slice(f.raw);
        } else if !placed {
            placed = true;
            out.extend_from_slice(&field);
        }
    }
    let extra_len = len16("an extra field", out.len() - start - name_end)?;
    out.extend_from_slice(comment);

    let record = &mut out[start..];
    put_u16(record, 30, extra_len);
    put_le_u32(record, 42, if offset64 { IN_ZIP64 } else { low(offset) });
    if let Some(entry) = entry {
        raise_version(record, 6, entry.version());
        entry.put(record, 8);
    }
    if needs64(offset) {
        raise_version(record, 6, VERSION_ZIP64);
    }
    Ok(())
}

/// The end of a directory: what its end records must say.
pub struct End {
    /// Members.
    pub count: u64,
    /// Where the directory begins, as its offsets are counted.
    pub offset: u64,
    /// Its length.
    pub len: u64,
    /// Where the zip64 record begins, as offsets are counted.
    pub record_offset: u64,
}

/// Appends the end records: like the given ones (a zip64 record with its extensible data, an end
/// record with its comment and what follows), a zip64 record where a value needs it.
pub fn end(out: &mut Vec<u8>, raw64: Option<&[u8]>, raw: &[u8], end: &End) {
    let sentinel64 = end.count >= u64::from(u16::MAX) || needs64(end.offset) || needs64(end.len);
    if raw64.is_some() || sentinel64 {
        let start = out.len();
        match raw64 {
            Some(raw64) => out.extend_from_slice(raw64),
            None => {
                out.resize(start + END64_LEN, 0);
                let record = &mut out[start..];
                record[..4].copy_from_slice(END64);
                put_u64(record, 4, (END64_LEN - 12) as u64);
                put_u16(record, 12, VERSION_ZIP64);
                put_u16(record, 14, VERSION_ZIP64);
            }
        }
        let record = &mut out[start..];
        put_u64(record, 24, end.count);
        put_u64(record, 32, end.count);
        put_u64(record, 40, end.len);
        put_u64(record, 48, end.offset);
        let start = out.len();
        out.resize(start + LOCATOR_LEN, 0);
        let locator = &mut out[start..];
        locator[..4].copy_from_slice(LOCATOR);
        put_u64(locator, 8, end.record_offset);
        put_le_u32(locator, 16, 1);
    }
    let start = out.len();
    out.extend_from_slice(raw);
    let record = &mut out[start..];
    // A field that pointed to the zip64 record goes on doing so.
    let stays = |mark: bool| mark && raw64.is_some();
    let count = if stays(u16_at(raw, 10) == u16::MAX) {
        u16::MAX
    } else {
        u16::try_from(end.count).unwrap_or(u16::MAX)
    };
    put_u16(record, 8, count);
    put_u16(record, 10, count);
    for (at, value) in [(12, end.len), (16, end.offset)] {
        if !stays(u32_at(raw, at) == IN_ZIP64) {
            put_le_u32(record, at, low(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BIG: u64 = 5 << 30;

    fn entry(size: u64, packed: u64) -> Entry {
        Entry {
            method: 8,
            crc32: 0x1234_5678,
            packed,
            size,
        }
    }

    #[test]
    fn records_of_big_members_and_offsets_read_back() {
        for (size, packed, offset) in [
            (1, 2, 3),
            (BIG, 2, 3),
            (BIG, BIG, 3),
            (BIG, BIG + 1, BIG + 2),
            (1, 2, BIG),
            (1, 2, u64::from(u32::MAX)),
        ] {
            let entry = entry(size, packed);
            let record = central_new("a", &entry, offset).unwrap();
            let mut values = Fields(&record[CENTRAL_LEN + 1..])
                .map(|f| &f.raw[4..])
                .next()
                .unwrap_or_default();
            let mut value = |at| match u32_at(&record, at) {
                IN_ZIP64 => {
                    let value = u64_at(values, 0);
                    values = &values[8..];
                    value
                }
                value => u64::from(value),
            };
            assert_eq!((value(24), value(20), value(42)), (size, packed, offset));
            assert!(values.is_empty());
            let big = size >= BIG || offset > 3;
            assert_eq!(u16_at(&record, 6), if big { 45 } else { 20 });

            // Moved to where no zip64 is needed, a kept record keeps its form; a replaced one
            // loses the field.
            let mut moved = Vec::new();
            central(&mut moved, &record, 7, None).unwrap();
            assert_eq!(moved.len(), record.len());
            let mut replaced = Vec::new();
            central(&mut replaced, &record, 7, Some(&self::entry(1, 1))).unwrap();
            assert_eq!(replaced.len(), CENTRAL_LEN + 1);
        }
    }

    #[test]
    fn a_local_header_of_a_big_member_holds_both_sizes() {
        let header = local_new("é", &entry(BIG, 7)).unwrap();
        assert_eq!(u16_at(&header, 6), FLAG_UTF8);
        assert_eq!(u16_at(&header, 28), 20);
        assert_eq!(u64_at(&header, LOCAL_LEN + 2 + 4), BIG);
        assert_eq!(u64_at(&header, LOCAL_LEN + 2 + 12), 7);
        let small = local_replaced(&header, &entry(3, 3)).unwrap();
        assert_eq!(small.len(), LOCAL_LEN + 2);
        assert_eq!(u32_at(&small, 22), 3);
    }

    #[test]
    fn end_records_grow_to_zip64() {
        let mut plain = vec![0; END_LEN];
        plain[..4].copy_from_slice(END);
        for (count, offset, is64) in [(65_534, 1, false), (65_535, 1, true), (1, BIG, true)] {
            let mut out = Vec::new();
            let what = End {
                count,
                offset,
                len: 46,
                record_offset: offset + 46,
            };
            end(&mut out, None, &plain, &what);
            let expected = if is64 { END64_LEN + LOCATOR_LEN } else { 0 };
            assert_eq!(out.len(), expected + END_LEN);
            if is64 {
                assert_eq!(u64_at(&out, 32), count);
                assert_eq!(u64_at(&out, 48), offset);
                assert_eq!(u64_at(&out, END64_LEN + 8), offset + 46);
            }
        }
    }

    #[test]
    fn names_and_extra_fields_that_are_too_long_are_refused() {
        assert!(local_new(&"n".repeat(65_536), &entry(1, 1)).is_err());
        assert!(central_new(&"n".repeat(65_536), &entry(1, 1), 0).is_err());
    }
}
