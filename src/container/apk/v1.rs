//! JAR signing, which Android calls v1: digests of all members in the manifest, digests of the manifest in a signature
//! file, and a signature over that (JAR File Specification, "Signed JAR File"; RFC 5652).

use crate::container::jar::{self, Manifest};
use crate::error::Result;
use crate::signing::der::{CONTEXT_0, Tag, element};
use crate::signing::identity::{Identity, KeyKind};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha1::Sha1;
use sha2::{Digest, Sha256};

pub const SIGNATURE_FILE: &str = "META-INF/CERT.SF";

/// The file with the signature over it; its extension is the kind of key.
pub fn block_name(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::Rsa => "META-INF/CERT.RSA",
        KeyKind::P256 => "META-INF/CERT.EC",
    }
}

/// 1.2.840.113549.1.7.2, `id-signedData`.
const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 2];
/// 1.2.840.113549.1.7.1, `id-data`.
const DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 1];
/// 1.3.14.3.2.26, `id-sha1`.
const SHA1: &[u8] = &[0x2b, 14, 3, 2, 26];
/// 2.16.840.1.101.3.4.2.1, `id-sha256`.
const SHA256: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1];
/// 1.2.840.113549.1.1.1, `rsaEncryption`.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
/// 1.2.840.10045.4.3.2, `ecdsa-with-SHA256`.
const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];

/// What members, manifest and signature file are digested by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// For Android before 4.3 (API level 18), which knows no other in signatures by RSA.
    Sha1,
    /// For all else.
    Sha256,
}

impl Hash {
    /// What an apk for this API level and later ones is signed by.
    pub fn of(min_sdk: Option<u32>, kind: KeyKind) -> Hash {
        match kind {
            KeyKind::Rsa if min_sdk.is_some_and(|level| level < 18) => Hash::Sha1,
            // What knows ECDSA knows SHA-256.
            _ => Hash::Sha256,
        }
    }

    /// The name of a digest's attribute, but for what follows it.
    fn attribute(self) -> &'static str {
        match self {
            Hash::Sha1 => "SHA1-Digest",
            Hash::Sha256 => "SHA-256-Digest",
        }
    }

    fn digest(self, bytes: &[u8]) -> String {
        match self {
            Hash::Sha1 => BASE64_STANDARD.encode(<Sha1 as sha1::Digest>::digest(bytes)),
            Hash::Sha256 => BASE64_STANDARD.encode(Sha256::digest(bytes)),
        }
    }
}

/// Manifest and signature file, while members are digested one by one.
pub struct Digests {
    hash: Hash,
    manifest: Vec<u8>,
    main_len: usize,
    /// The sections of the signature file.
    sections: Vec<u8>,
}

fn attribute(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend(jar::wrapped(name, value, "\r\n"));
}

impl Digests {
    /// Keeps the main attributes of a manifest that was there.
    pub fn new(before: Option<&[u8]>, hash: Hash) -> Digests {
        let mut manifest = match before {
            Some(before) => Manifest::parse(before).main_section(),
            None => Vec::new(),
        };
        if manifest.is_empty() {
            attribute(&mut manifest, "Manifest-Version", "1.0");
            attribute(&mut manifest, "Created-By", "1.0 (weave)");
        }
        manifest.extend_from_slice(b"\r\n");
        Digests {
            hash,
            main_len: manifest.len(),
            manifest,
            sections: Vec::new(),
        }
    }

    /// Adds a member.
    pub fn member(&mut self, name: &str, data: &[u8]) {
        let (hash, start) = (self.hash, self.manifest.len());
        attribute(&mut self.manifest, "Name", name);
        attribute(&mut self.manifest, hash.attribute(), &hash.digest(data));
        self.manifest.extend_from_slice(b"\r\n");
        attribute(&mut self.sections, "Name", name);
        let section = hash.digest(&self.manifest[start..]);
        attribute(&mut self.sections, hash.attribute(), &section);
        self.sections.extend_from_slice(b"\r\n");
    }

    /// The manifest, and the signature file; for an apk this says that there are signatures by v2 and v3, so that they
    /// cannot be stripped.
    pub fn finish(self, apk: bool) -> (Vec<u8>, Vec<u8>) {
        let mut file = Vec::with_capacity(self.sections.len() + 256);
        attribute(&mut file, "Signature-Version", "1.0");
        attribute(&mut file, "Created-By", "1.0 (weave)");
        let name = format!("{}-Manifest", self.hash.attribute());
        attribute(&mut file, &name, &self.hash.digest(&self.manifest));
        if apk {
            attribute(&mut file, "X-Android-APK-Signed", "2, 3");
        } else {
            // Android does not read it, and some of its versions stumble over it.
            let main = self.hash.digest(&self.manifest[..self.main_len]);
            attribute(&mut file, &format!("{name}-Main-Attributes"), &main);
        }
        file.extend_from_slice(b"\r\n");
        file.extend(self.sections);
        (self.manifest, file)
    }
}

/// The signature over the signature file: CMS `SignedData` without signed attributes, in which a time would be.
pub fn signature(identity: &Identity, hash: Hash, file: &[u8]) -> Result<Vec<u8>> {
    let oid = |oid: &[u8]| element(Tag::ObjectIdentifier, &[oid]);
    let null = element(Tag::Null, &[]);
    let (digest, signature) = match hash {
        Hash::Sha1 => (SHA1, identity.sign_sha1(file)?),
        Hash::Sha256 => (SHA256, identity.sign(file)?),
    };
    let digest = element(Tag::Sequence, &[&oid(digest), &null]);
    let algorithm = match identity.kind() {
        KeyKind::Rsa => element(Tag::Sequence, &[&oid(RSA), &null]),
        KeyKind::P256 => element(Tag::Sequence, &[&oid(ECDSA_SHA256)]),
    };
    let version = element(Tag::Integer, &[&[1]]);
    let signature = element(Tag::OctetString, &[&signature]);
    let signer = element(
        Tag::Sequence,
        &[
            &version,
            identity.issuer_and_serial(),
            &digest,
            &algorithm,
            &signature,
        ],
    );
    let certificates: Vec<&[u8]> = identity.certificates().iter().map(Vec::as_slice).collect();
    let data = element(
        Tag::Sequence,
        &[
            &version,
            &element(Tag::Set, &[&digest]),
            &element(Tag::Sequence, &[&oid(DATA)]),
            &element(CONTEXT_0, &certificates),
            &element(Tag::Set, &[&signer]),
        ],
    );
    Ok(element(
        Tag::Sequence,
        &[&oid(SIGNED_DATA), &element(CONTEXT_0, &[&data])],
    ))
}
