//! What tells one file from another: MVID, time stamp, checksum, signature. All follow from the content, so
//! that the same content has the same.

use crate::cil::image::Image;
use crate::cil::sections::put;
use crate::cil::strongname::StrongNameKey;
use crate::error::Result;
use sha2::{Digest, Sha256};
use std::ops::Range;

/// Sets them all in a file that is finished but for them. `signature`: where to sign, and with what.
pub(super) fn set(
    image: &Image<'_>,
    mvid: Option<usize>,
    signature: Option<(Range<usize>, &StrongNameKey)>,
    out: &mut [u8],
) -> Result<()> {
    let stamp = image.pe.coff + 4;
    let checksum_at = image.pe.checksum_offset();
    let had_checksum = image.bytes[checksum_at..checksum_at + 4] != [0; 4];
    put(out, checksum_at, 0);
    put(out, stamp, 0);
    if let Some(mvid) = mvid {
        out[mvid..mvid + 16].fill(0);
    }
    if let Some((place, _)) = &signature {
        out[place.clone()].fill(0);
    }
    let hash = Sha256::digest(&*out);
    if let Some(mvid) = mvid {
        let guid = &mut out[mvid..mvid + 16];
        guid.copy_from_slice(&hash[..16]);
        // A random GUID by its form (RFC 9562, version 4).
        guid[7] = guid[7] & 0x0f | 0x40;
        guid[8] = guid[8] & 0x3f | 0x80;
    }
    // No time: the highest bit tells, as compilers have it that make the same file each time.
    let number = u32::from_le_bytes(hash[16..20].try_into().expect("four bytes"));
    put(out, stamp, number | 0x8000_0000);
    if let Some((place, key)) = signature {
        key.sign(out, place)?;
    }
    if had_checksum {
        let sum = checksum(out);
        put(out, checksum_at, sum);
    }
    Ok(())
}

/// The checksum of a PE file whose own is zero: the sum of its 16-bit words, carries added, and its
/// size.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_sums_of_words() {
        assert_eq!(checksum(&[]), 0);
        assert_eq!(checksum(&[1, 0, 2, 0]), 3 + 4);
        assert_eq!(checksum(&[0xff, 0xff, 2, 0]), 2 + 4);
        assert_eq!(checksum(&[1, 0, 2, 0, 3]), 6 + 5);
    }
}
