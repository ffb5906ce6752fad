//! The APK Signing Block, and the signature schemes v2 and v3 in it.
//!
//! Layouts are those of "APK Signature Scheme v2" and "v3" of the Android Open Source Project. Everything is
//! little-endian, and nearly everything is prefixed by its length in 32 bits.

use crate::bytes::u64_at;
use crate::error::Result;
use crate::signing::identity::{Identity, KeyKind};
use sha2::{Digest, Sha256};
use std::io::{self, Write};
use std::ops::Range;

/// Ends the block, behind its length.
const MAGIC: &[u8; 16] = b"APK Sig Block 42";
/// The ids of the schemes in the block.
const ID_V2: u32 = 0x7109_871a;
const ID_V3: u32 = 0xf053_68c0;
/// `RSASSA-PKCS1-v1_5` and `ECDSA`, both with SHA2-256, whose contents are digested in chunks of 1 MiB with SHA2-256.
const RSA_SHA256: u32 = 0x0103;
const ECDSA_SHA256: u32 = 0x0201;
/// An attribute of v2's signed data that says that there is a signature of a later scheme, so that it cannot be
/// stripped.
const STRIPPING_PROTECTION: u32 = 0xbeef_f00d;
/// The first version of Android that knows v3.
const ANDROID_P: u32 = 28;

const CHUNK: usize = 1 << 20;

/// Where the block lies in the bytes before the directory.
pub fn find(before: &[u8]) -> Option<Range<usize>> {
    let footer = before.len().checked_sub(24)?;
    if &before[footer + 8..] != MAGIC {
        return None;
    }
    // The length stands at both ends, and counts all but the first.
    let len = u64_at(before, footer);
    let start = before
        .len()
        .checked_sub(usize::try_from(len).ok()?.checked_add(8)?)?;
    (start + 8 <= footer && u64_at(before, start) == len && len <= u64::from(u32::MAX))
        .then_some(start..before.len())
}

/// A sink that digests what goes through it, as both schemes do.
pub struct Digesting<W> {
    sink: W,
    chunks: Chunks,
}

impl<W: Write> Digesting<W> {
    pub fn new(sink: W) -> Digesting<W> {
        Digesting {
            sink,
            chunks: Chunks::default(),
        }
    }

    pub fn into_inner(self) -> W {
        self.sink
    }

    /// The digest of what went through, of the directory, and of the end record as it would be without a block.
    pub fn digest(&mut self, directory: &[u8], end: &[u8]) -> [u8; 32] {
        let chunks = &mut self.chunks;
        chunks.end_section();
        for section in [directory, end] {
            chunks.update(section);
            chunks.end_section();
        }
        let mut all = Sha256::new();
        all.update([0x5a]);
        all.update((chunks.count).to_le_bytes());
        all.update(&chunks.digests);
        all.finalize().into()
    }
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.chunks.update(bytes);
        self.sink.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

/// Digests of chunks. A chunk's length goes before its bytes, so that the last chunk of a section must be held back.
#[derive(Default)]
struct Chunks {
    pending: Vec<u8>,
    digests: Vec<u8>,
    count: u32,
}

impl Chunks {
    fn update(&mut self, mut bytes: &[u8]) {
        if !self.pending.is_empty() {
            let room = (CHUNK - self.pending.len()).min(bytes.len());
            self.pending.extend_from_slice(&bytes[..room]);
            bytes = &bytes[room..];
            if self.pending.len() < CHUNK {
                return;
            }
            self.end_section();
        }
        let whole = bytes.chunks_exact(CHUNK);
        let rest = whole.remainder();
        whole.for_each(|chunk| self.add(chunk));
        self.pending.extend_from_slice(rest);
    }

    fn end_section(&mut self) {
        if !self.pending.is_empty() {
            let mut pending = std::mem::take(&mut self.pending);
            self.add(&pending);
            pending.clear();
            self.pending = pending;
        }
    }

    fn add(&mut self, chunk: &[u8]) {
        let mut digest = Sha256::new();
        digest.update([0xa5]);
        digest.update((chunk.len() as u32).to_le_bytes());
        digest.update(chunk);
        self.digests.extend_from_slice(&digest.finalize());
        self.count += 1;
    }
}

/// The block with a signature by v2 and one by v3 over contents with this digest.
pub fn signed(identity: &Identity, digest: &[u8; 32]) -> Result<Vec<u8>> {
    let algorithm = match identity.kind() {
        KeyKind::Rsa => RSA_SHA256,
        KeyKind::P256 => ECDSA_SHA256,
    };
    let algorithm = algorithm.to_le_bytes();
    let digests = sized(&[&sized(&[&algorithm, &sized(&[digest])])]);
    let certificates: Vec<Vec<u8>> = identity
        .certificates()
        .iter()
        .map(|c| sized(&[c]))
        .collect();
    let certificates: Vec<&[u8]> = certificates.iter().map(Vec::as_slice).collect();
    let certificates = sized(&certificates);
    let signatures = |data: &[u8]| -> Result<Vec<u8>> {
        let signature = sized(&[&identity.sign(data)?]);
        Ok(sized(&[&sized(&[&algorithm, &signature])]))
    };
    let public_key = sized(&[identity.public_key()]);

    let attribute = sized(&[&STRIPPING_PROTECTION.to_le_bytes(), &3u32.to_le_bytes()]);
    let data = [&*digests, &certificates, &sized(&[&attribute])].concat();
    let v2 = sized(&[&sized(&[
        &sized(&[&data]),
        &signatures(&data)?,
        &public_key,
    ])]);

    let versions = [ANDROID_P.to_le_bytes(), (i32::MAX as u32).to_le_bytes()].concat();
    let data = [&*digests, &certificates, &versions, &sized(&[])].concat();
    let v3 = sized(&[&sized(&[
        &sized(&[&data]),
        &versions,
        &signatures(&data)?,
        &public_key,
    ])]);

    let mut block = Vec::new();
    for (id, value) in [(ID_V2, v2), (ID_V3, v3)] {
        block.extend((value.len() as u64 + 4).to_le_bytes());
        block.extend(id.to_le_bytes());
        block.extend(value);
    }
    let len = (block.len() as u64 + 24).to_le_bytes();
    Ok([&len[..], &block, &len, MAGIC].concat())
}

/// Prefixed by the length, in 32 bits.
fn sized(parts: &[&[u8]]) -> Vec<u8> {
    let len: usize = parts.iter().map(|p| p.len()).sum();
    let mut out = Vec::with_capacity(len + 4);
    out.extend((len as u32).to_le_bytes());
    parts.iter().for_each(|p| out.extend_from_slice(p));
    out
}

/// The ids in a block, for messages and tests.
#[cfg(test)]
pub fn ids(block: &[u8]) -> Vec<u32> {
    let mut ids = Vec::new();
    let mut rest = &block[8..block.len() - 24];
    while rest.len() >= 12 {
        ids.push(u32::from_le_bytes(rest[8..12].try_into().unwrap()));
        rest = &rest[8 + u64_at(rest, 0) as usize..];
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_do_not_depend_on_how_bytes_come() {
        let data: Vec<u8> = (0..3 * CHUNK as u32 + 5).map(|i| (i % 251) as u8).collect();
        let digest = |pieces: &[usize]| {
            let mut sink = Digesting::new(Vec::new());
            let mut rest = &data[..];
            for &piece in pieces {
                sink.write_all(&rest[..piece]).unwrap();
                rest = &rest[piece..];
            }
            sink.write_all(rest).unwrap();
            let digest = sink.digest(b"directory", b"end");
            assert_eq!(sink.into_inner(), data);
            digest
        };
        let whole = digest(&[]);
        assert_eq!(digest(&[1, CHUNK, CHUNK - 1, 1]), whole);
        assert_eq!(digest(&[CHUNK, 0, CHUNK]), whole);
        assert_eq!(digest(&[5; 1000]), whole);
    }

    #[test]
    fn blocks_are_found_and_lies_are_not() {
        let block = |len: u64, inner: &[u8]| {
            [
                b"zip".as_slice(),
                &len.to_le_bytes(),
                inner,
                &len.to_le_bytes(),
                MAGIC,
            ]
            .concat()
        };
        assert_eq!(find(&block(24, b"")), Some(3..35));
        assert_eq!(find(&block(30, b"inside")), Some(3..41));
        for bytes in [
            block(23, b""),
            block(25, b""),
            block(u64::MAX, b""),
            block(u64::MAX - 7, b""),
            block(0, b""),
            MAGIC.to_vec(),
            Vec::new(),
        ] {
            assert_eq!(find(&bytes), None);
        }
    }
}
