//! The key of strong names (ECMA-335 II.6.2.1.3): RSA with SHA-1, least significant byte first.

use crate::bytes::Cursor;
use crate::error::{Error, Kind, Result};
use crate::signing::rsa::RsaKey;
use sha1::{Digest, Sha1};

/// `CALG_RSA_SIGN` and `CALG_SHA1` of the Windows cryptography API.
const RSA_SIGN: u32 = 0x2400;
const SHA1: u32 = 0x8004;

/// A private key, as `sn -k` writes it.
pub struct StrongNameKey {
    private: RsaKey,
    public: Vec<u8>,
}

impl StrongNameKey {
    /// Reads a key file: a `PRIVATEKEYBLOB` (`07 02 00 00`, algorithm, `RSA2`).
    pub fn parse(bytes: &[u8]) -> Result<StrongNameKey> {
        let mut cursor = Cursor::new(bytes);
        let wrong = |what: &str| Error::new(Kind::Malformed, what);
        if cursor.take(4)? != [7, 2, 0, 0] {
            // 06 begins a public key; the form in assemblies has twelve bytes in front of it.
            return Err(wrong(
                "not a strong-name key pair, which begins with 07 02 00 00",
            ));
        }
        cursor.take(4)?;
        if cursor.take(4)? != b"RSA2" {
            return Err(wrong("the key is no RSA key pair"));
        }
        let bits = cursor.le_u32()? as usize;
        if !bits.is_multiple_of(16) || !(384..=16_384).contains(&bits) {
            return Err(wrong("an RSA key of an impossible size"));
        }
        let exponent = cursor.le_u32()?;
        let modulus = cursor.take(bits / 8)?;
        // Both primes, both exponents of the Chinese remainder theorem, the coefficient.
        cursor.take(bits / 16 * 5)?;
        let secret = cursor.take(bits / 8)?;
        let number =
            |little_endian: &[u8]| -> Vec<u8> { little_endian.iter().rev().copied().collect() };
        let private = RsaKey::new(&number(modulus), &exponent.to_be_bytes(), &number(secret))?;
        if private.signature_len() != modulus.len() {
            return Err(wrong("an RSA key with a shorter modulus than it says"));
        }
        let mut public = Vec::with_capacity(32 + modulus.len());
        for word in [RSA_SIGN, SHA1, 20 + modulus.len() as u32] {
            public.extend_from_slice(&word.to_le_bytes());
        }
        public.extend_from_slice(&[6, 2, 0, 0]);
        public.extend_from_slice(&RSA_SIGN.to_le_bytes());
        public.extend_from_slice(b"RSA1");
        public.extend_from_slice(&bytes[12..16]);
        public.extend_from_slice(&bytes[16..20]);
        public.extend_from_slice(modulus);
        Ok(StrongNameKey { private, public })
    }

    /// The public key as the `Assembly` table has it.
    pub fn public_key(&self) -> &[u8] {
        &self.public
    }

    /// Bytes of a signature.
    pub fn signature_size(&self) -> usize {
        self.public.len() - 32
    }

    /// The signature over a SHA-1 digest.
    pub fn sign(&self, digest: &[u8; 20]) -> Vec<u8> {
        let mut signature = self.private.sign_sha1(digest);
        signature.reverse();
        signature
    }
}

/// The token of a public key: the last eight bytes of its SHA-1, backwards.
pub fn public_key_token(key: &[u8]) -> [u8; 8] {
    let digest = Sha1::digest(key);
    std::array::from_fn(|i| digest[19 - i])
}
