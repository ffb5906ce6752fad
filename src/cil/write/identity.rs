//! The identity of a file: MVID, time stamp, checksum, signature. All follow from the hashes of the file's windows, which
//! are made in any order. MVID and time stamp protect nothing, so the hash is a fast one (XXH3, 128 bits).

use crate::cil::write::strong_name::{self, Read};
use crate::error::Result;
use crate::signing::strong_name::StrongNameKey;
use std::ops::Range;
use xxhash_rust::xxh3::{xxh3_128, xxh3_128_with_seed};

/// Where it goes in a file that has zeros there.
pub(crate) struct Identity<'a> {
    /// Bytes of all headers.
    pub headers: usize,
    /// Offset of the time stamp.
    pub stamp: usize,
    /// Offset of the checksum, if the input had one.
    pub checksum: Option<usize>,
    /// Offset of the MVID.
    pub mvid: Option<usize>,
    /// Where to sign, and with what.
    pub signature: Option<(Range<usize>, &'a StrongNameKey)>,
}

/// Bytes of a window, which fit a core's cache. Another size makes other identities.
pub(crate) const WINDOW: usize = 64 << 10;

/// Seed of the time stamp's hash.
const STAMP: u64 = 1;

/// Bytes to change in a file at an offset.
pub type Change = (usize, Vec<u8>);

/// The contribution of one window to the identity.
pub struct WindowDigest {
    hash: u128,
    /// Of its words, if the file has a checksum.
    sum: u64,
}

impl Identity<'_> {
    /// Of a window, which begins at a multiple of [`WINDOW`].
    pub(crate) fn digest(&self, window: &[u8]) -> WindowDigest {
        WindowDigest {
            hash: xxh3_128(window),
            sum: self.checksum.map_or(0, |_| sum_of_words(window)),
        }
    }

    /// What all windows, in their order, say of a file of so many bytes, which `fill` gives.
    pub(crate) fn seal(
        &self,
        len: usize,
        fill: Read<'_>,
        windows: &[WindowDigest],
    ) -> Result<Vec<Change>> {
        let hashes: Vec<u8> = (windows.iter())
            .flat_map(|window| window.hash.to_le_bytes())
            .collect();
        let mut changes: Vec<Change> = Vec::with_capacity(4);
        if let Some(at) = self.mvid {
            let mut guid = xxh3_128(&hashes).to_le_bytes().to_vec();
            // A random GUID by its form (RFC 9562, version 4).
            guid[7] = guid[7] & 0x0f | 0x40;
            guid[8] = guid[8] & 0x3f | 0x80;
            changes.push((at, guid));
        }
        // The highest bit says that this is no time, as in the output of deterministic compilers.
        let number = xxh3_128_with_seed(&hashes, STAMP) as u32 | 0x8000_0000;
        changes.push((self.stamp, number.to_le_bytes().to_vec()));
        if let Some((place, key)) = &self.signature {
            let read = |at: usize, window: &mut [u8]| {
                fill(at, window);
                for (start, bytes) in &changes {
                    overlay(window, at, *start, bytes);
                }
            };
            let signature = strong_name::sign(key, [self.headers, len], &read, place.clone())?;
            changes.push((place.start, signature));
        }
        if let Some(at) = self.checksum {
            // The windows have zeros where these go.
            let changed = changes.iter().map(|(at, bytes)| sum_at(*at, bytes));
            let sum = windows.iter().map(|w| w.sum).chain(changed).sum();
            changes.push((at, checksum(sum, len).to_le_bytes().to_vec()));
        }
        Ok(changes)
    }
}

/// The sum of the 32-bit words of bytes at a multiple of four: carries added, 2^16 is 1 in a file's checksum, so that
/// words of any width add up to the same.
fn sum_of_words(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(4);
    let rest = sum_at(0, words.remainder());
    let word = |word: &[u8]| u64::from(u32::from_le_bytes(word.try_into().expect("four bytes")));
    words.map(word).sum::<u64>() + rest
}

/// The same of a few bytes at any offset.
fn sum_at(at: usize, bytes: &[u8]) -> u64 {
    let byte = |(i, &byte): (usize, &u8)| u64::from(byte) << (8 * ((at + i) & 3));
    bytes.iter().enumerate().map(byte).sum()
}

/// The checksum of a PE file whose own is zero: the sum of its 16-bit words, carries added, and its size.
fn checksum(mut sum: u64, len: usize) -> u32 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (sum as u32).wrapping_add(len as u32)
}

/// Puts bytes that begin at `start` into the window that begins at `at`, as far as they lie in it.
#[inline]
pub(crate) fn overlay(window: &mut [u8], at: usize, start: usize, bytes: &[u8]) {
    let from = start.max(at);
    let to = (start + bytes.len()).min(at + window.len());
    if from < to {
        window[from - at..to - at].copy_from_slice(&bytes[from - start..to - start]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_sums_of_words() {
        let checksum = |bytes: &[u8]| {
            let whole = |cut: usize| {
                let (front, back) = bytes.split_at(cut);
                checksum(sum_of_words(front) + sum_at(cut, back), bytes.len())
            };
            let sums: Vec<u32> = (0..=bytes.len()).map(whole).collect();
            assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
            sums[0]
        };
        assert_eq!(checksum(&[]), 0);
        assert_eq!(checksum(&[1, 0, 2, 0]), 3 + 4);
        assert_eq!(checksum(&[0xff, 0xff, 2, 0]), 2 + 4);
        assert_eq!(checksum(&[1, 0, 2, 0, 3]), 6 + 5);
        assert_eq!(checksum(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), 7705 + 10);
    }
}
