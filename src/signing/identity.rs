//! Who signs: a private key and its certificates, as `keytool`, `openssl` and Android's tools keep them.

use super::der::{CONTEXT_0, Reader, Tag, element};
use super::jks;
use crate::error::{Error, Kind, Result};
use crate::signing::rsa::RsaKey;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use p12_keystore::{KeyStore, KeyStoreEntry, Pkcs12ImportPolicy};
use p256::ecdsa::signature::Signer as _;
use p256::pkcs8::DecodePrivateKey as _;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use sha1::{Digest as _, Sha1};

/// A private key with its certificates, the key's own first.
pub struct Identity {
    key: PrivateKey,
    certificates: Vec<Vec<u8>>,
    /// The `SubjectPublicKeyInfo` of the first certificate (RFC 5280, 4.1).
    public_key: Vec<u8>,
    /// `issuer` and `serialNumber` of the first certificate, as `IssuerAndSerialNumber` has them (RFC 5652, 10.2.4).
    issuer_and_serial: Vec<u8>,
}

/// Both sign deterministically: PKCS #1 v1.5 as it is, ECDSA by RFC 6979.
enum PrivateKey {
    Rsa {
        key: Box<RsaKeyPair>,
        /// The same key, for what `ring` does not sign.
        pkcs8: Vec<u8>,
    },
    P256(p256::ecdsa::SigningKey),
}

/// The kind of a key, which decides how signatures are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// RSA, signing with PKCS #1 v1.5 padding.
    Rsa,
    /// ECDSA over the curve P-256.
    P256,
}

#[cold]
fn wrong(message: impl Into<String>) -> Error {
    Error::new(Kind::Usage, message)
}

impl Identity {
    /// From a private key in PKCS #8 (PEM or DER, with a password if it is encrypted) and its certificates (PEM with
    /// one or more, or DER).
    pub fn from_key(key: &[u8], password: Option<&str>, certificates: &[u8]) -> Result<Identity> {
        let chain = match pem(certificates, "CERTIFICATE")? {
            chain if chain.is_empty() => vec![certificates.to_vec()],
            chain => chain,
        };
        for label in ["RSA PRIVATE KEY", "EC PRIVATE KEY"] {
            if !pem(key, label)?.is_empty() {
                return Err(wrong(format!(
                    "the key is a PEM \"{label}\", not PKCS #8: `openssl pkcs8 -topk8 -nocrypt -in KEY -out KEY8` makes it one"
                )));
            }
        }
        let encrypted = pem(key, "ENCRYPTED PRIVATE KEY")?.into_iter().next();
        let plain = pem(key, "PRIVATE KEY")?.into_iter().next();
        let der = encrypted.or(plain).unwrap_or_else(|| key.to_vec());
        match pkcs8::EncryptedPrivateKeyInfoRef::try_from(&der[..]) {
            Ok(encrypted) => {
                let password = password
                    .ok_or_else(|| wrong("the key is encrypted: its password is needed"))?;
                let der = encrypted.decrypt(password).map_err(|e| {
                    wrong(format!(
                        "the key cannot be decrypted (is the password right?): {e}"
                    ))
                })?;
                Identity::new(der.as_bytes(), chain)
            }
            Err(_) => Identity::new(&der, chain),
        }
    }

    /// From a key store: PKCS #12, as `keytool` has made them since Java 9, or JKS. `alias` names the key if there are
    /// several; `key_password` is the key's own if it has one.
    pub fn from_keystore(
        store: &[u8],
        password: &str,
        key_password: Option<&str>,
        alias: Option<&str>,
    ) -> Result<Identity> {
        if store.starts_with(&jks::MAGIC) {
            let keys = jks::private_keys(store, password)?;
            let keys = keys.into_iter().map(|key| (key.alias.clone(), key));
            let entry = choose(keys.collect(), alias)?;
            let key = entry.key(key_password.unwrap_or(password)).ok_or_else(|| {
                wrong("the key has a password of its own, or another: say it by --key-pass")
            })?;
            let certificates = entry.certificates.iter().map(|c| c.to_vec()).collect();
            return Identity::new(&key, certificates);
        }
        let store =
            KeyStore::from_pkcs12(store, password, Pkcs12ImportPolicy::Strict).map_err(|e| {
                wrong(format!(
                    "the key store cannot be read (is the password right?): {e}"
                ))
            })?;
        let keys = (store.entries()).filter_map(|(name, entry)| match entry {
            KeyStoreEntry::PrivateKeyChain(chain) => Some((name.clone(), chain)),
            _ => None,
        });
        let chain = choose(keys.collect(), alias)?;
        let certificates = chain.certs().iter().map(|c| c.as_der().to_vec()).collect();
        Identity::new(chain.key().as_der(), certificates)
    }

    fn new(key: &[u8], certificates: Vec<Vec<u8>>) -> Result<Identity> {
        let first = certificates
            .first()
            .ok_or_else(|| wrong("the key has no certificate"))?;
        let parts =
            certificate(first).ok_or_else(|| wrong("the certificate is no X.509 in PEM or DER"))?;
        let (key, own) = PrivateKey::read(key)?;
        if parts.key != own {
            return Err(wrong("the certificate is not that of the key"));
        }
        Ok(Identity {
            key,
            public_key: parts.info.to_vec(),
            issuer_and_serial: element(Tag::Sequence, &[parts.issuer, parts.serial]),
            certificates,
        })
    }

    pub fn kind(&self) -> KeyKind {
        match self.key {
            PrivateKey::Rsa { .. } => KeyKind::Rsa,
            PrivateKey::P256(_) => KeyKind::P256,
        }
    }

    /// Signs SHA-256 of a message; the same message gives the same signature.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        match &self.key {
            PrivateKey::Rsa { key, .. } => {
                let mut signature = vec![0; key.public().modulus_len()];
                // Its random numbers are for blinding and do not show.
                key.sign(
                    &RSA_PKCS1_SHA256,
                    &SystemRandom::new(),
                    message,
                    &mut signature,
                )
                .map_err(|_| Error::new(Kind::NotDone, "the key does not sign"))?;
                Ok(signature)
            }
            PrivateKey::P256(key) => {
                let signature: p256::ecdsa::Signature = key.sign(message);
                Ok(signature.to_der().as_bytes().to_vec())
            }
        }
    }

    /// Signs SHA-1 of a message by RSA, which is all that Android before 4.3 knows; by another key as [`Self::sign`] does.
    pub(crate) fn sign_sha1(&self, message: &[u8]) -> Result<Vec<u8>> {
        let PrivateKey::Rsa { pkcs8, .. } = &self.key else {
            return self.sign(message);
        };
        let key =
            rsa_key(pkcs8).ok_or_else(|| Error::new(Kind::NotDone, "the key does not sign"))??;
        Ok(key.sign_sha1(&Sha1::digest(message).into()))
    }

    pub(crate) fn certificates(&self) -> &[Vec<u8>] {
        &self.certificates
    }

    pub(crate) fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    pub(crate) fn issuer_and_serial(&self) -> &[u8] {
        &self.issuer_and_serial
    }
}

impl PrivateKey {
    /// The key, and its public key as a certificate has it.
    fn read(pkcs8: &[u8]) -> Result<(PrivateKey, Vec<u8>)> {
        let rsa = match RsaKeyPair::from_pkcs8(pkcs8) {
            Ok(key) => {
                let public = key.public().as_ref().to_vec();
                let (key, pkcs8) = (Box::new(key), pkcs8.to_vec());
                return Ok((PrivateKey::Rsa { key, pkcs8 }, public));
            }
            Err(e) => e,
        };
        match p256::ecdsa::SigningKey::from_pkcs8_der(pkcs8) {
            Ok(key) => {
                let public = key.verifying_key().to_sec1_point(false).as_bytes().to_vec();
                Ok((PrivateKey::P256(key), public))
            }
            Err(_) => Err(wrong(format!(
                "the private key cannot sign here: it must be RSA of 2048 to 4096 bits or ECDSA over P-256, in PKCS #8 ({rsa})"
            ))),
        }
    }
}

/// The numbers of an RSA key in PKCS #8 (RFC 5958, 2; RFC 8017, A.1.2).
fn rsa_key(pkcs8: &[u8]) -> Option<Result<RsaKey>> {
    let mut info = Reader::new(pkcs8)?.enter(Tag::Sequence)?;
    let (_version, _algorithm) = (info.next()?, info.next()?);
    let mut key = info.enter(Tag::OctetString)?.enter(Tag::Sequence)?;
    let _version = key.next()?;
    let [modulus, public, private] = [(); 3].map(|()| key.expect(Tag::Integer));
    Some(RsaKey::new(
        modulus?.contents,
        public?.contents,
        private?.contents,
    ))
}

/// The key of this name, or the only one.
fn choose<K>(mut keys: Vec<(String, K)>, alias: Option<&str>) -> Result<K> {
    keys.sort_by(|(a, _), (b, _)| a.cmp(b));
    let names: Vec<&str> = keys.iter().map(|(name, _)| name.as_str()).collect();
    let names = names.join(", ");
    let at = match alias {
        _ if keys.is_empty() => return Err(wrong("the key store holds no private key")),
        None if keys.len() == 1 => 0,
        None => {
            return Err(wrong(format!(
                "the key store holds several keys: name one of {names}"
            )));
        }
        // As for `keytool`, case is no matter.
        Some(alias) => keys
            .iter()
            .position(|(name, _)| name.eq_ignore_ascii_case(alias))
            .ok_or_else(|| {
                wrong(format!(
                    "the key store has no key `{alias}`; it has {names}"
                ))
            })?,
    };
    Ok(keys.swap_remove(at).1)
}

/// What is needed of a certificate (RFC 5280, 4.1).
struct Certificate<'a> {
    serial: &'a [u8],
    issuer: &'a [u8],
    info: &'a [u8],
    /// The bits of the public key.
    key: &'a [u8],
}

fn certificate(der: &[u8]) -> Option<Certificate<'_>> {
    let mut tbs = Reader::new(der)?
        .enter(Tag::Sequence)?
        .enter(Tag::Sequence)?;
    let mut serial = tbs.next()?;
    if serial.tag == CONTEXT_0 {
        serial = tbs.next()?; // that was the version
    }
    let _algorithm = tbs.next()?;
    let issuer = tbs.expect(Tag::Sequence)?;
    let _validity = tbs.next()?;
    let _subject = tbs.next()?;
    let info = tbs.expect(Tag::Sequence)?;
    let mut parts = Reader::new(info.contents)?;
    let _algorithm = parts.next()?;
    let bits = parts.expect(Tag::BitString)?.contents;
    Some(Certificate {
        serial: (serial.tag == Tag::Integer).then_some(serial.raw)?,
        issuer: issuer.raw,
        info: info.raw,
        key: bits.strip_prefix(&[0])?,
    })
}

/// The blocks of a PEM file that have this label (RFC 7468).
fn pem(bytes: &[u8], label: &str) -> Result<Vec<Vec<u8>>> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Ok(Vec::new());
    };
    let (begin, end) = (
        format!("-----BEGIN {label}-----"),
        format!("-----END {label}-----"),
    );
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(&begin) {
        let bad = || wrong(format!("a PEM block \"{label}\" is broken"));
        let (body, after) = after.split_once(&end).ok_or_else(bad)?;
        let digits: String = body.split_ascii_whitespace().collect();
        blocks.push(BASE64_STANDARD.decode(digits).map_err(|_| bad())?);
        rest = after;
    }
    Ok(blocks)
}
