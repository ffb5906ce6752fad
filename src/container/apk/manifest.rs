//! The manifest of an apk: the oldest Android that it is for (`frameworks/base`, `ResourceTypes.h`).

use crate::bytes::Cursor;
use crate::error::Result;

/// `RES_XML_TYPE`, with the length of its header: what every compiled manifest begins with.
const XML: [u8; 4] = [3, 0, 8, 0];
/// `RES_STRING_POOL_TYPE`.
const STRINGS: u16 = 0x0001;
/// `RES_XML_RESOURCE_MAP_TYPE`: for the first strings, which attributes of Android's they name.
const RESOURCE_IDS: u16 = 0x0180;
/// `RES_XML_START_ELEMENT_TYPE`.
const START_ELEMENT: u16 = 0x0102;
/// `android.R.attr.minSdkVersion`.
const MIN_SDK_VERSION: u32 = 0x0101_020c;
/// `TYPE_STRING`.
const STRING: u8 = 0x03;
/// `TYPE_INT_DEC` and `TYPE_INT_HEX`.
const INTEGER: [u8; 2] = [0x10, 0x11];
/// `UTF8_FLAG` of a string pool.
const UTF8: u32 = 0x100;

/// Whether this is a manifest in Android's binary XML, as apks have it. An aar's is text, an aab's a protobuf.
pub(super) fn is_binary(manifest: &[u8]) -> bool {
    manifest.starts_with(&XML)
}

/// The lowest API level that can install the apk, 1 by default; `None` for a resource or a damaged manifest.
pub(super) fn min_sdk(manifest: &[u8]) -> Option<u32> {
    // `uses-sdk` may be there more than once; as `apksigner` does, the highest counts.
    let mut highest = Some(1);
    let mut see = |level: Option<u32>| {
        highest = highest.zip(level).map(|(a, b)| a.max(b));
    };
    each_level(manifest, &mut see).ok()?;
    highest
}

/// Shows the level of each `uses-sdk`.
fn each_level(manifest: &[u8], see: &mut impl FnMut(Option<u32>)) -> Result<()> {
    let mut at = XML.len() + 4;
    let (mut strings, mut ids): (&[u8], &[u8]) = (&[], &[]);
    while at < manifest.len() {
        let mut chunk = Cursor::at(manifest, at);
        let (kind, header, size) = (chunk.le_u16()?, chunk.le_u16()?, chunk.le_u32()?);
        // A chunk of no length would be read for ever.
        let size = (size as usize).max(8);
        let chunk = Cursor::at(manifest, at).take(size)?;
        match kind {
            STRINGS => strings = chunk,
            RESOURCE_IDS => ids = chunk.get(usize::from(header)..).unwrap_or(&[]),
            START_ELEMENT => {
                let element = Cursor::at(chunk, usize::from(header)).take(16)?;
                let mut fields = Cursor::at(element, 4);
                if is_uses_sdk(strings, fields.le_u32()?)? {
                    let (first, length) = (fields.le_u16()?, fields.le_u16()?);
                    let first = usize::from(header) + usize::from(first);
                    let count = fields.le_u16()?;
                    let mut level = Some(1);
                    for i in 0..usize::from(count) {
                        let from = first + i * usize::from(length);
                        let mut attribute = Cursor::at(chunk, from + 4);
                        let name = attribute.le_u32()? as usize;
                        let id = ids.get(name.saturating_mul(4)..).unwrap_or(&[]);
                        if id.starts_with(&MIN_SDK_VERSION.to_le_bytes()) {
                            let kind = Cursor::at(chunk, from + 15).u8()?;
                            let value = Cursor::at(chunk, from + 16).le_u32()?;
                            level = match kind {
                                STRING => code_name(strings, value)?,
                                kind => INTEGER.contains(&kind).then_some(value),
                            };
                        }
                    }
                    see(level);
                }
            }
            _ => {}
        }
        at += size;
    }
    Ok(())
}

/// What lies at a string of the pool, its length in front.
fn string(pool: &[u8], index: u32) -> Result<Cursor<'_>> {
    let header = Cursor::at(pool, 2).le_u16()?;
    let start = Cursor::at(pool, 20).le_u32()?;
    let row = usize::from(header).saturating_add((index as usize).saturating_mul(4));
    let offset = Cursor::at(pool, row).le_u32()?;
    let at = (start as usize).saturating_add(offset as usize);
    Ok(Cursor::at(pool, at))
}

/// Whether a string of the pool is `uses-sdk`.
fn is_uses_sdk(pool: &[u8], index: u32) -> Result<bool> {
    // Lengths below 128 are one byte in UTF-8, in characters and in bytes, and one unit in UTF-16.
    let name: &[u8] = match Cursor::at(pool, 16).le_u32()? & UTF8 {
        0 => b"\x08\0u\0s\0e\0s\0-\0s\0d\0k\0",
        _ => b"\x08\x08uses-sdk",
    };
    Ok(string(pool, index)?
        .take(name.len())
        .is_ok_and(|s| s == name))
}

/// The level of a code name, which apks for a preview of Android have: the names follow the alphabet. Exact enough to
/// choose digests.
fn code_name(pool: &[u8], index: u32) -> Result<Option<u32>> {
    let mut name = string(pool, index)?;
    name.take(2)?;
    Ok(match name.u8()? {
        // Jelly Bean has levels 16 to 18, and a preview of it was one of level 15.
        b'A'..=b'J' => Some(15),
        b'K'..=b'Z' => Some(19),
        _ => None,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn chunk(kind: u16, header: &[u32], body: &[u8]) -> Vec<u8> {
        let head = 8 + 4 * header.len();
        let mut bytes = Vec::new();
        bytes.extend(kind.to_le_bytes());
        bytes.extend((head as u16).to_le_bytes());
        bytes.extend(((head + body.len()) as u32).to_le_bytes());
        bytes.extend(header.iter().flat_map(|h| h.to_le_bytes()));
        bytes.extend(body);
        bytes
    }

    /// A manifest with `uses-sdk` elements whose attribute is of a type and has a value.
    pub(in super::super) fn manifest(utf8: bool, levels: &[(u8, u32)]) -> Vec<u8> {
        let names = ["minSdkVersion", "uses-sdk", "IceCreamSandwich", "KitKat"];
        let (mut offsets, mut data) = (vec![], vec![]);
        for name in names {
            offsets.extend((data.len() as u32).to_le_bytes());
            if utf8 {
                data.extend([name.len() as u8; 2]);
                data.extend(name.bytes());
                data.push(0);
            } else {
                data.extend((name.len() as u16).to_le_bytes());
                data.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
                data.extend([0; 2]);
            }
        }
        data.resize(data.len().next_multiple_of(4), 0);
        let flags = if utf8 { UTF8 } else { 0 };
        let pool = [&offsets[..], &data].concat();
        let mut chunks = chunk(STRINGS, &[4, 0, flags, 28 + 16, 0], &pool);
        chunks.extend(chunk(RESOURCE_IDS, &[], &MIN_SDK_VERSION.to_le_bytes()));
        for (kind, value) in levels {
            let mut element = vec![];
            for word in [u32::MAX, 1] {
                element.extend(word.to_le_bytes());
            }
            for half in [20u16, 20, 1, 0, 0, 0] {
                element.extend(half.to_le_bytes());
            }
            for word in [u32::MAX, 0, u32::MAX] {
                element.extend(word.to_le_bytes());
            }
            element.extend([8, 0, 0, *kind]);
            element.extend(value.to_le_bytes());
            chunks.extend(chunk(START_ELEMENT, &[1, u32::MAX], &element));
        }
        chunk(0x0003, &[], &chunks)
    }

    #[test]
    fn the_oldest_android_is_told() {
        for utf8 in [true, false] {
            let of = |levels: &[(u8, u32)]| min_sdk(&manifest(utf8, levels));
            assert_eq!(of(&[(0x10, 21)]), Some(21));
            assert_eq!(of(&[(0x11, 9), (0x10, 17)]), Some(17));
            assert_eq!(of(&[]), Some(1));
            // A resource; code names, and what is none.
            assert_eq!(of(&[(0x01, 0x7f01_0000)]), None);
            assert_eq!(of(&[(0x10, 30), (0x01, 0x7f01_0000)]), None);
            assert_eq!(of(&[(0x03, 2)]), Some(15));
            assert_eq!(of(&[(0x03, 3)]), Some(19));
            assert_eq!(of(&[(0x03, 0)]), None);
        }
        let good = manifest(true, &[(0x10, 9)]);
        assert!(is_binary(&good) && !is_binary(b"<manifest"));
        for len in 0..good.len() {
            min_sdk(&good[..len]);
            let mut bad = good.clone();
            for by in [0x01, 0x80, 0xff] {
                bad[len] ^= by;
                min_sdk(&bad);
            }
        }
    }
}
