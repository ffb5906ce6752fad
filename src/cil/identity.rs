//! What tells one file from another: MVID, time stamp, checksum, signature. All follow from the content, so
//! that the same content has the same.

use crate::cil::output::{Change, Output, overlay};
use crate::cil::strongname::StrongNameKey;
use crate::error::Result;
use sha2::{Digest as _, Sha256};
use std::ops::Range;

/// Where it goes in a file that has zeros there.
pub(super) struct Identity<'a> {
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

/// The hash of a file that is finished but for its identity.
pub struct Digest {
    sha: Sha256,
    sum: Option<Checksum>,
}

impl Digest {
    /// Adds the next bytes of the file.
    pub fn update(&mut self, bytes: &[u8]) {
        self.sha.update(bytes);
        if let Some(sum) = &mut self.sum {
            sum.update(bytes);
        }
    }
}

impl Identity<'_> {
    pub(super) fn digest(&self) -> Digest {
        Digest {
            sha: Sha256::new(),
            sum: self.checksum.map(|_| Checksum::default()),
        }
    }

    pub(super) fn seal(&self, output: &Output<'_>, digest: Digest) -> Result<Vec<Change>> {
        let hash = digest.sha.finalize();
        let mut changes: Vec<Change> = Vec::with_capacity(4);
        if let Some(at) = self.mvid {
            let mut guid = hash[..16].to_vec();
            // A random GUID by its form (RFC 9562, version 4).
            guid[7] = guid[7] & 0x0f | 0x40;
            guid[8] = guid[8] & 0x3f | 0x80;
            changes.push((at, guid));
        }
        // No time: the highest bit tells, as compilers have it that make the same file each time.
        let number = u32::from_le_bytes(hash[16..20].try_into().expect("four bytes")) | 0x8000_0000;
        changes.push((self.stamp, number.to_le_bytes().to_vec()));
        if let Some((place, key)) = &self.signature {
            let read = |at: usize, window: &mut [u8]| {
                output.fill(at, window);
                for (start, bytes) in &changes {
                    overlay(window, at, *start, bytes);
                }
            };
            let signature = key.sign([self.headers, output.len()], &read, place.clone())?;
            changes.push((place.start, signature));
        }
        if let (Some(at), Some(mut sum)) = (self.checksum, digest.sum) {
            for (at, bytes) in &changes {
                sum.change(*at, bytes);
            }
            changes.push((at, sum.finish(output.len()).to_le_bytes().to_vec()));
        }
        Ok(changes)
    }
}

/// The checksum of a PE file whose own is zero: the sum of its 16-bit words, carries added, and its
/// size.
#[derive(Default)]
struct Checksum {
    /// Of 32-bit words: 2^16 is 1 in this sum, so words of any width add up to the same.
    sum: u64,
    /// Bytes so far.
    len: usize,
}

impl Checksum {
    fn update(&mut self, mut bytes: &[u8]) {
        // To a multiple of four.
        let lead = (self.len.wrapping_neg() & 3).min(bytes.len());
        self.change(self.len, &bytes[..lead]);
        self.len += bytes.len();
        bytes = &bytes[lead..];
        let words = bytes.chunks_exact(4);
        let rest = words.remainder();
        for word in words {
            self.sum += u64::from(u32::from_le_bytes(word.try_into().expect("four bytes")));
        }
        self.change(self.len - rest.len(), rest);
    }

    /// Zeros at an offset become these bytes.
    fn change(&mut self, at: usize, bytes: &[u8]) {
        for (i, &byte) in bytes.iter().enumerate() {
            self.sum += u64::from(byte) << (8 * ((at + i) & 3));
        }
    }

    fn finish(mut self, len: usize) -> u32 {
        while self.sum > 0xffff {
            self.sum = (self.sum & 0xffff) + (self.sum >> 16);
        }
        (self.sum as u32).wrapping_add(len as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_sums_of_words() {
        let checksum = |bytes: &[u8]| {
            let whole = |cut: usize| {
                let mut sum = Checksum::default();
                sum.update(&bytes[..cut]);
                sum.update(&bytes[cut..]);
                sum.finish(bytes.len())
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
