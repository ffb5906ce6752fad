//! Key stores in JKS, which `keytool` made until Java 8 and many release keys are still kept in: private keys and their
//! certificates. What protects a key is Sun's own: SHA-1 of password and salt, over and over, combined by exclusive or.

use super::der::{Reader, Tag};
use crate::bytes::{Cursor, mutf8};
use crate::error::{Error, Kind, Result};
use sha1::{Digest, Sha1};

/// The first four bytes.
pub const MAGIC: [u8; 4] = [0xfe, 0xed, 0xfe, 0xed];

/// A private key that is still protected.
pub struct Entry<'a> {
    /// Its name.
    pub alias: String,
    /// Salt, the key combined with what follows from it, and a check of both.
    protected: &'a [u8],
    /// Its certificates, the key's own first (X.509, DER).
    pub certificates: Vec<&'a [u8]>,
}

/// The length of SHA-1, and so of salts and checks.
const LEN: usize = 20;

/// What the store's own check is made of besides password and contents.
const SALT: &[u8] = b"Mighty Aphrodite";

/// The algorithm of protected keys: 1.3.6.1.4.1.42.2.17.1.1.
const PROTECTION: &[u8] = &[0x2b, 6, 1, 4, 1, 0x2a, 2, 0x11, 1, 1];

/// A password as the digests take it: UTF-16, big-endian.
fn utf16(password: &str) -> Vec<u8> {
    password.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

/// The private keys of a store. What it holds is checked against its password.
pub fn private_keys<'a>(store: &'a [u8], password: &str) -> Result<Vec<Entry<'a>>> {
    let broken = |at, what: &str| Error::malformed(at, format!("the key store {what}"));
    let contents = store.len().saturating_sub(LEN);
    let (contents, check) = store.split_at(contents);
    let sum = Sha1::new()
        .chain_update(utf16(password))
        .chain_update(SALT)
        .chain_update(contents);
    if sum.finalize()[..] != *check {
        let why = "the key store cannot be read: its password is another, or it is damaged";
        return Err(Error::new(Kind::Usage, why));
    }
    let mut cursor = Cursor::at(contents, MAGIC.len());
    let version = cursor.be_u32()?;
    if !matches!(version, 1 | 2) {
        return Err(broken(MAGIC.len(), &format!("has the version {version}")));
    }
    let certificate = |cursor: &mut Cursor<'a>| -> Result<&'a [u8]> {
        if version == 2 {
            text(cursor)?;
        }
        let len = cursor.be_u32()?;
        cursor.take(len as usize)
    };
    let mut keys = Vec::new();
    for _ in 0..cursor.be_u32()? {
        let at = cursor.position();
        let tag = cursor.be_u32()?;
        let alias = mutf8(text(&mut cursor)?).into_owned();
        let _created = cursor.take(8)?;
        match tag {
            1 => {
                let len = cursor.be_u32()?;
                let start = cursor.position();
                let protected = protected(cursor.take(len as usize)?).ok_or_else(|| {
                    broken(start, "holds a key that is protected in a way not known")
                })?;
                let mut certificates = Vec::new();
                for _ in 0..cursor.be_u32()? {
                    certificates.push(certificate(&mut cursor)?);
                }
                keys.push(Entry {
                    alias,
                    protected,
                    certificates,
                });
            }
            2 => {
                certificate(&mut cursor)?;
            }
            _ => return Err(broken(at, &format!("holds an entry of kind {tag}"))),
        }
    }
    Ok(keys)
}

/// A text: its length in two bytes, then modified UTF-8.
fn text<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8]> {
    let len = cursor.be_u16()?;
    cursor.take(usize::from(len))
}

/// The contents of an `EncryptedPrivateKeyInfo` (RFC 5958, 3) of this format's own algorithm.
fn protected(info: &[u8]) -> Option<&[u8]> {
    let mut parts = Reader::new(info)?.enter(Tag::Sequence)?;
    let mut algorithm = parts.enter(Tag::Sequence)?;
    let data = parts.expect(Tag::OctetString)?.contents;
    (algorithm.expect(Tag::ObjectIdentifier)?.contents == PROTECTION && data.len() >= 2 * LEN)
        .then_some(data)
}

impl Entry<'_> {
    /// The key in PKCS #8; `None` where the password is not the key's.
    pub fn key(&self, password: &str) -> Option<Vec<u8>> {
        let password = utf16(password);
        let digest = |data: &[u8]| {
            Sha1::new()
                .chain_update(&password)
                .chain_update(data)
                .finalize()
        };
        let (salt, rest) = self.protected.split_at(LEN);
        let (hidden, check) = rest.split_at(rest.len() - LEN);
        let mut key = Vec::with_capacity(hidden.len());
        let mut pad = digest(salt);
        for block in hidden.chunks(LEN) {
            key.extend(block.iter().zip(pad).map(|(a, b)| a ^ b));
            pad = digest(&pad);
        }
        (digest(&key)[..] == *check).then_some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STORE: &[u8] = include_bytes!("../../tests/keys/store.jks");

    /// What a store of these contents ends with.
    fn sealed(mut contents: Vec<u8>) -> Vec<u8> {
        let sum = Sha1::new()
            .chain_update(utf16("p"))
            .chain_update(SALT)
            .chain_update(&contents);
        contents.extend(sum.finalize());
        contents
    }

    proptest! {
        #[test]
        fn no_bytes_panic(cut in 0..STORE.len(), at in 0..STORE.len(), byte: u8) {
            let mut contents = STORE[..STORE.len() - LEN].to_vec();
            if let Some(old) = contents.get_mut(at) {
                *old = byte;
            }
            contents.truncate(cut);
            if let Ok(keys) = private_keys(&sealed(contents), "p") {
                prop_assert!(keys.iter().all(|key| key.key("p").is_none()));
            }
        }
    }
}
