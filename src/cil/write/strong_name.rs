//! Strong names (ECMA-335 II.6.2.1.3): a signature over the image, made anew with a key file.
//!
//! The digest is SHA-1 over the headers, without their padding, with the checksum and the certificate
//! table's entry as zeros, and over all sections without the signature; the signature is RSA with PKCS #1
//! v1.5 padding, least significant byte first.

use crate::cil::pe::{Pe, SECTION_HEADER, directory};
use crate::error::Result;
use crate::signing::strong_name::StrongNameKey;
use sha1::{Digest, Sha1};
use std::ops::Range;

/// The signature of an image that is finished but for it: of the bytes that its headers and all of it take; it is to lie at
/// `place`.
pub(crate) fn sign(
    key: &StrongNameKey,
    lengths: [usize; 2],
    read: Read<'_>,
    place: Range<usize>,
) -> Result<Vec<u8>> {
    let mut sha = Sha1::new();
    signed_bytes(lengths, read, place, &mut |bytes| sha.update(bytes))?;
    Ok(key.sign(&sha.finalize().into()))
}

/// Gives an image's bytes from an offset on.
pub(crate) type Read<'r> = &'r dyn Fn(usize, &mut [u8]);

/// Bytes that are read at once.
const WINDOW: usize = 64 << 10;

/// Hands on what is signed of an image whose headers take this many bytes at most, and all of it `len`.
fn signed_bytes(
    [headers, len]: [usize; 2],
    read: Read<'_>,
    signature: Range<usize>,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<()> {
    let mut header = vec![0; headers];
    read(0, &mut header);
    let pe = Pe::parse(&header)?;
    let end = pe.section_headers + pe.sections.len() * SECTION_HEADER;
    let certificate = pe.directory_offset(directory::CERTIFICATE);
    let checksum = pe.checksum_offset();
    let sections = pe.sections;
    header[checksum..checksum + 4].fill(0);
    if let Some(at) = certificate {
        header[at..at + 8].fill(0);
    }
    sink(&header[..end]);
    let mut window = vec![0; WINDOW];
    for section in &sections {
        let start = (section.raw as usize).min(len);
        let end = (start + section.raw_size as usize).min(len);
        let [from, to] = [signature.start, signature.end].map(|at| at.clamp(start, end));
        for part in [start..from, to..end] {
            let mut at = part.start;
            while at < part.end {
                let window = &mut window[..WINDOW.min(part.end - at)];
                read(at, window);
                sink(window);
                at += window.len();
            }
        }
    }
    Ok(())
}

/// Whether a key file's owner signed an image: what the tests check signatures with.
#[cfg(test)]
pub(crate) fn verify(image: &[u8], place: Range<usize>, public_key: &[u8]) -> bool {
    use ring::signature::{
        RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY as SHA1, RsaPublicKeyComponents,
    };
    let number = |bytes: &[u8]| -> Vec<u8> {
        let digits = bytes.iter().rev().copied();
        digits.skip_while(|&byte| byte == 0).collect()
    };
    let key = RsaPublicKeyComponents {
        n: number(&public_key[32..]),
        e: number(&public_key[28..32]),
    };
    let mut signature = image[place.clone()].to_vec();
    signature.reverse();
    let read = |at: usize, window: &mut [u8]| window.copy_from_slice(&image[at..at + window.len()]);
    let mut signed = Vec::new();
    let all = [512, image.len()];
    signed_bytes(all, &read, place, &mut |bytes| {
        signed.extend_from_slice(bytes)
    })
    .unwrap();
    key.verify(&SHA1, &signed, &signature).is_ok()
}
