//! RSA signatures over SHA-1 by PKCS #1 v1.5 (RFC 8017, 8.2.1), with keys of any size: strong names and what Android
//! before 4.3 reads are no others, and `ring`, which signs all else, refuses SHA-1 and keys under 2048 bits.

use crate::error::{Error, Kind, Result};
use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd};

/// The `DigestInfo` of SHA-1 in front of the digest (RFC 8017, 9.2).
const DIGEST_INFO: [u8; 15] = *b"\x30\x21\x30\x09\x06\x05\x2b\x0e\x03\x02\x1a\x05\x00\x04\x14";

/// Bits of the longest modulus: a signature by it takes seconds.
const LONGEST: usize = 16_384;

/// A private key.
pub struct RsaKey {
    modulus: BoxedMontyParams,
    public_exponent: BoxedUint,
    private_exponent: BoxedUint,
    /// Bytes of the modulus, and so of a signature.
    len: usize,
}

impl RsaKey {
    /// The key of these numbers, each with its most significant byte first.
    pub fn new(modulus: &[u8], public_exponent: &[u8], private_exponent: &[u8]) -> Result<RsaKey> {
        let wrong = || Error::new(Kind::Malformed, "the RSA key does not hold together");
        let [modulus, public_exponent, private_exponent] =
            [modulus, public_exponent, private_exponent].map(without_zeros);
        let len = modulus.len();
        let short = public_exponent.len().max(private_exponent.len()) <= len;
        if !short || len > LONGEST / 8 || len < DIGEST_INFO.len() + 20 + 11 {
            return Err(wrong());
        }
        let number = BoxedUint::from_be_slice_vartime;
        let odd = Option::<Odd<BoxedUint>>::from(number(modulus).to_odd()).ok_or_else(wrong)?;
        let key = RsaKey {
            modulus: BoxedMontyParams::new(odd),
            public_exponent: number(public_exponent),
            private_exponent: number(private_exponent),
            len,
        };
        let mut two = vec![0; len];
        two[len - 1] = 2;
        if key.power(
            &key.power(&two, &key.private_exponent),
            &key.public_exponent,
        ) != two
        {
            return Err(wrong());
        }
        Ok(key)
    }

    /// Bytes of a signature.
    pub fn signature_len(&self) -> usize {
        self.len
    }

    /// The signature of a message with this digest, most significant byte first.
    pub fn sign_sha1(&self, digest: &[u8; 20]) -> Vec<u8> {
        let mut encoded = vec![0xff; self.len];
        let ends = self.len - DIGEST_INFO.len() - digest.len();
        encoded[..2].copy_from_slice(&[0, 1]);
        encoded[ends - 1] = 0;
        encoded[ends..][..DIGEST_INFO.len()].copy_from_slice(&DIGEST_INFO);
        encoded[ends + DIGEST_INFO.len()..].copy_from_slice(digest);
        self.power(&encoded, &self.private_exponent)
    }

    /// A number, which is less than the modulus, to the power of another; in constant time.
    fn power(&self, number: &[u8], exponent: &BoxedUint) -> Vec<u8> {
        let precision = self.modulus.bits_precision();
        let number = BoxedUint::from_be_slice_truncated(number, precision);
        let power = BoxedMontyForm::new(number, &self.modulus).pow(exponent);
        let bytes = power.retrieve().to_be_bytes();
        bytes[bytes.len() - self.len..].to_vec()
    }
}

fn without_zeros(number: &[u8]) -> &[u8] {
    &number[number.iter().take_while(|&&byte| byte == 0).count()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A modulus of 512 bits, as old strong names have, with the two exponents.
    const SHORT: [&str; 3] = [MODULUS, "010001", PRIVATE];
    const MODULUS: &str = "ac6836ddcf76a24158e5aa61411e9238df10b7452db3d8dc2608898e517de0663477937e1530b33b53a5715f45d3a45c8d87be44b74acabc60256c07472fa929";
    const PRIVATE: &str = "99e87aba6ebf403fc7e556c175499e4d48ccfa5eb65aec0833a7c16c9c511be589b7eb14185dd80f936b5654ea93657add6942d21ca01b5dca2dd142f6357b11";
    /// What `openssl dgst -sha1 -sign` says of the text `weave`.
    const SIGNATURE: &str = "4b03d6e01bce6fc4b852111c18880f85dbe8b7e455b858309f60045a8a714496bdc9d15b9f712d2b53c17e97dbbb3056636bea49e7ed0db45ef276024f0cd9bf";

    fn bytes(hex: &str) -> Vec<u8> {
        let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(digit).collect()
    }

    #[test]
    fn short_keys_sign_as_openssl_does() {
        use sha1::{Digest, Sha1};
        let [n, e, d] = SHORT.map(bytes);
        let key = RsaKey::new(&n, &e, &d).unwrap();
        assert_eq!(
            key.sign_sha1(&Sha1::digest("weave").into()),
            bytes(SIGNATURE)
        );
    }

    #[test]
    fn numbers_that_are_no_key_are_an_error() {
        let [n, e, d] = SHORT.map(bytes);
        let even = [&n[..n.len() - 1], &[2]].concat();
        let long = [&[1; LONGEST / 8][..], &n].concat();
        for (n, e, d) in [
            (&even, &e, &d),
            (&n, &d, &d),
            (&n, &vec![], &d),
            (&vec![], &e, &d),
            (&vec![0; 64], &e, &d),
            (&vec![5], &vec![1], &vec![1]),
            (&long, &e, &d),
            (&n, &e, &long),
        ] {
            let error = RsaKey::new(n, e, d).err().unwrap().to_string();
            assert_eq!(error, "the RSA key does not hold together");
        }
    }
}
