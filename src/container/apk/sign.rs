//! Signing anew: the archive as it is, with all old signatures replaced by those of one key.
//!
//! An apk gets signatures by JAR signing (v1, for Android before 7), v2 (from 7 on) and v3 (from 9 on); any other
//! archive, such as a jar or an aab, by JAR signing. The same archive and key give the same bytes.

use super::block::{self, Digesting};
use super::{is_signature_file, manifest, v1};
use crate::container::jar::MANIFEST;
use crate::container::zip::{Archive, Codec, Member, Method, Packed, Splicer};
use crate::error::{Error, Kind, Result};
use crate::signing::identity::Identity;
use std::io::{self, Write};

/// Largest member that is unpacked to be digested.
const MAX_MEMBER: u64 = 1 << 30;

pub fn sign<W: Write>(archive: &Archive<'_>, identity: &Identity, sink: W) -> Result<W> {
    let mut codec = Codec::new();
    let (is_apk, hash) = match apk_manifest(archive, &mut codec)? {
        Some(manifest) => {
            let min_sdk = manifest::min_sdk(&manifest);
            (true, v1::Hash::of(min_sdk, identity.kind()))
        }
        None => (false, v1::Hash::Sha256),
    };
    let files = v1_files(archive, identity, hash, is_apk, &mut codec)?;
    let sink = Digesting::new(sink);
    let mut splicer = Splicer::new(archive, sink);
    if is_apk {
        splicer.align(super::alignment);
    }
    let written = splice(archive, &mut splicer, &files).and_then(|()| {
        if !is_apk {
            return splicer.finish();
        }
        splicer.finish_with_block(|sink, directory, end| {
            let digest = sink.digest(directory, end);
            block::signed(identity, &digest).map_err(io::Error::other)
        })
    });
    match written {
        Ok(sink) => Ok(sink.into_inner()),
        Err(e) => Err(Error::new(
            Kind::Io,
            format!("cannot write the signed file: {e}"),
        )),
    }
}

/// The members that a signature consists of.
struct Files {
    manifest: Packed,
    others: [(&'static str, Packed); 2],
}

/// The manifest, if this is an apk.
fn apk_manifest(archive: &Archive<'_>, codec: &mut Codec) -> Result<Option<Vec<u8>>> {
    let Some(member) = archive.find(super::MANIFEST) else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    member
        .read(codec, MAX_MEMBER, &mut bytes)
        .map_err(|e| e.in_member(member.name()))?;
    Ok(manifest::is_binary(&bytes).then_some(bytes))
}

fn is_manifest(member: &Member<'_>) -> bool {
    member.name().eq_ignore_ascii_case(MANIFEST)
}

fn v1_files(
    archive: &Archive<'_>,
    identity: &Identity,
    hash: v1::Hash,
    is_apk: bool,
    codec: &mut Codec,
) -> Result<Files> {
    let mut data = Vec::new();
    let mut read = |member: &Member<'_>, codec: &mut Codec| -> Result<Vec<u8>> {
        let mut bytes = std::mem::take(&mut data);
        let result = member.read(codec, MAX_MEMBER, &mut bytes);
        result
            .map_err(|e| e.in_member(member.name()))
            .map(|()| bytes)
    };
    let before = match archive.members().iter().find(|m| is_manifest(m)) {
        Some(member) => Some(read(member, codec)?),
        None => None,
    };
    let mut digests = v1::Digests::new(before.as_deref(), hash);
    for member in archive.members() {
        if !(member.is_folder() || is_manifest(member) || is_signature_file(member.name())) {
            digests.member(member.name(), &read(member, codec)?);
        }
    }
    let (manifest, file) = digests.finish(is_apk);
    let signature = v1::signature(identity, hash, &file)?;
    let mut pack = |bytes: &[u8]| Packed::new(Method::Deflated, bytes, codec);
    Ok(Files {
        manifest: pack(&manifest),
        others: [
            (v1::SIGNATURE_FILE, pack(&file)),
            (v1::block_name(identity.kind()), pack(&signature)),
        ],
    })
}

fn splice<W: Write>(
    archive: &Archive<'_>,
    splicer: &mut Splicer<'_, W>,
    files: &Files,
) -> io::Result<()> {
    let mut placed = archive.members().iter().any(is_manifest);
    if !placed {
        // First, where `JarInputStream` looks for it.
        splicer.add(MANIFEST, &files.manifest)?;
    }
    for member in archive.members() {
        if is_manifest(member) && placed {
            splicer.replace(&files.manifest)?;
            placed = false;
        } else if is_manifest(member) || is_signature_file(member.name()) {
            splicer.drop()?;
        } else {
            splicer.keep()?;
        }
    }
    for (name, packed) in &files.others {
        splicer.add(name, packed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::apk::manifest::tests::manifest;
    use crate::container::apk::{block, has_signing_block};
    use crate::signing::identity::KeyKind;
    use ring::signature::{
        ECDSA_P256_SHA256_ASN1, RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
        RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey, VerificationAlgorithm,
    };

    macro_rules! key {
        ($name:literal) => {
            include_bytes!(concat!("../../../tests/keys/", $name)).as_slice()
        };
    }

    fn rsa() -> Identity {
        Identity::from_key(key!("rsa.pem"), None, key!("rsa-cert.pem")).unwrap()
    }

    fn ec() -> Identity {
        Identity::from_key(key!("ec.pem"), None, key!("ec-cert.pem")).unwrap()
    }

    fn archive(members: &[(&str, Method, &[u8])]) -> Vec<u8> {
        let mut codec = Codec::new();
        let mut splicer = Splicer::create(Vec::new());
        for (name, method, data) in members {
            splicer
                .add(name, &Packed::new(*method, data, &mut codec))
                .unwrap();
        }
        splicer.finish().unwrap()
    }

    fn apk() -> Vec<u8> {
        apk_from(21)
    }

    /// An apk for this API level and later ones.
    fn apk_from(level: u32) -> Vec<u8> {
        let manifest = manifest(true, &[(0x10, level)]);
        archive(&[
            (
                "META-INF/MANIFEST.MF",
                Method::Deflated,
                b"Manifest-Version: 1.0\nBuilt-By: me\n\nName: a\nSHA1-Digest: x\n\n",
            ),
            ("META-INF/OLD.SF", Method::Deflated, b"old"),
            ("META-INF/OLD.RSA", Method::Deflated, b"old"),
            ("AndroidManifest.xml", Method::Deflated, &manifest),
            ("res/", Method::Stored, b""),
            ("lib/x86/liba.so", Method::Stored, &[7; 5000]),
            ("resources.arsc", Method::Stored, &[1; 2_000_001]),
            ("a", Method::Stored, b""),
        ])
    }

    /// What is in the length-prefixed value at the start, and what follows.
    fn sized(bytes: &[u8]) -> (&[u8], &[u8]) {
        let len = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        bytes[4..].split_at(len)
    }

    #[test]
    fn an_apk_gets_all_three_signatures_and_the_same_ones_each_time() {
        let bytes = apk();
        let algorithms: [(Identity, &dyn VerificationAlgorithm); 2] = [
            (rsa(), &RSA_PKCS1_2048_8192_SHA256),
            (ec(), &ECDSA_P256_SHA256_ASN1),
        ];
        for (identity, algorithm) in algorithms {
            let unsigned = Archive::open(&bytes).unwrap();
            let signed = sign(&unsigned, &identity, Vec::new()).unwrap();
            assert_eq!(sign(&unsigned, &identity, Vec::new()).unwrap(), signed);
            let read = Archive::open(&signed).unwrap();
            assert!(has_signing_block(&read) && !has_signing_block(&unsigned));
            let names: Vec<&str> = read.members().iter().map(Member::name).collect();
            let block_name = v1::block_name(identity.kind());
            assert_eq!(
                names,
                [
                    "META-INF/MANIFEST.MF",
                    "AndroidManifest.xml",
                    "res/",
                    "lib/x86/liba.so",
                    "resources.arsc",
                    "a",
                    "META-INF/CERT.SF",
                    block_name
                ]
            );
            assert_eq!(read.members()[3].data_offset() % 16_384, 0);
            assert_eq!(read.members()[4].data_offset() % 4, 0);

            // The digest that v2's signed data holds is that of the three sections.
            let range = block::find(&signed[..read.directory_offset()]).unwrap();
            assert_eq!(
                block::ids(&signed[range.clone()]),
                [0x7109_871a, 0xf053_68c0]
            );
            let mut digesting = Digesting::new(io::sink());
            digesting.write_all(&signed[..range.start]).unwrap();
            let end_at = signed.len() - 22;
            let mut end = signed[end_at..].to_vec();
            end[16..20].copy_from_slice(&(range.start as u32).to_le_bytes());
            let digest = digesting.digest(&signed[range.end..end_at], &end);
            let (signers, _) = sized(&signed[range.start + 20..]);
            let (signer, _) = sized(signers);
            let (data, rest) = sized(signer);
            let (digests, _) = sized(data);
            assert_eq!(digests[12..], digest);
            let (signatures, rest) = sized(rest);
            let (signature, _) = sized(&signatures[8..]);
            let (public_key, _) = sized(rest);
            assert_eq!(public_key, identity.public_key());
            // A public key ends with its bits; both kinds of keys have a fixed length here.
            let bits = match identity.kind() {
                KeyKind::Rsa => &public_key[public_key.len() - 270..],
                KeyKind::P256 => &public_key[public_key.len() - 65..],
            };
            UnparsedPublicKey::new(algorithm, bits)
                .verify(data, signature)
                .unwrap();
        }
    }

    #[test]
    fn what_runs_before_android_4_3_gets_digests_that_it_knows() {
        let text = |archive: &Archive<'_>, name: &str| {
            let mut bytes = Vec::new();
            let member = archive.find(name).unwrap();
            member.read(&mut Codec::new(), 1 << 20, &mut bytes).unwrap();
            bytes
        };
        let signed = |level, identity| {
            let bytes = apk_from(level);
            sign(&Archive::open(&bytes).unwrap(), &identity, Vec::new()).unwrap()
        };
        let bytes = signed(17, rsa());
        let old = Archive::open(&bytes).unwrap();
        let file = text(&old, v1::SIGNATURE_FILE);
        let told = String::from_utf8(file.clone()).unwrap();
        assert!(told.contains("\r\nSHA1-Digest-Manifest: ") && !told.contains("SHA-256"));
        assert!(told.contains("\r\nX-Android-APK-Signed: 2, 3\r\n"));
        let told = String::from_utf8(text(&old, MANIFEST)).unwrap();
        assert!(told.contains("\r\nSHA1-Digest: ") && !told.contains("SHA-256"));
        // The signature is the last of the block.
        let block = text(&old, v1::block_name(KeyKind::Rsa));
        let identity = rsa();
        let public_key = identity.public_key();
        UnparsedPublicKey::new(
            &RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
            &public_key[public_key.len() - 270..],
        )
        .verify(&file, &block[block.len() - 256..])
        .unwrap();

        for bytes in [signed(18, rsa()), signed(17, ec())] {
            let file = text(&Archive::open(&bytes).unwrap(), v1::SIGNATURE_FILE);
            let told = String::from_utf8(file).unwrap();
            assert!(told.contains("\r\nSHA-256-Digest-Manifest: ") && !told.contains("SHA1"));
        }
    }

    #[test]
    fn an_aar_is_no_apk() {
        let bytes = archive(&[
            ("AndroidManifest.xml", Method::Deflated, b"<manifest/>"),
            ("classes.jar", Method::Stored, b"jar"),
        ]);
        let signed = sign(&Archive::open(&bytes).unwrap(), &rsa(), Vec::new()).unwrap();
        assert!(!has_signing_block(&Archive::open(&signed).unwrap()));
    }

    #[test]
    fn a_jar_gets_jar_signing_only() {
        let bytes = archive(&[
            ("a/B.class", Method::Deflated, b"x"),
            ("s.so", Method::Stored, b"yy"),
        ]);
        let signed = sign(&Archive::open(&bytes).unwrap(), &rsa(), Vec::new()).unwrap();
        let read = Archive::open(&signed).unwrap();
        assert!(!has_signing_block(&read));
        let mut text = Vec::new();
        read.find(MANIFEST)
            .unwrap()
            .read(&mut Codec::new(), 1000, &mut text)
            .unwrap();
        insta::assert_snapshot!(String::from_utf8(text.clone()).unwrap(), @"
        Manifest-Version: 1.0
        Created-By: 1.0 (weave)

        Name: a/B.class
        SHA-256-Digest: LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE=

        Name: s.so
        SHA-256-Digest: 75DZwex2se3J7frywMBTWcEMzEmujs97f9Jc6cAuhqQ=
        ");
        read.find(v1::SIGNATURE_FILE)
            .unwrap()
            .read(&mut Codec::new(), 1000, &mut text)
            .unwrap();
        insta::assert_snapshot!(String::from_utf8(text).unwrap(), @"
        Signature-Version: 1.0
        Created-By: 1.0 (weave)
        SHA-256-Digest-Manifest: EzA2s+FmmV4siy8w9DYDjncX/lOdMmjP4D/Smv7H2PI=
        SHA-256-Digest-Manifest-Main-Attributes: vbzH1mVeYLW9w0qhas9VG5eBoVtwvZ/
         iy1vwdszg7pg=

        Name: a/B.class
        SHA-256-Digest: qquPutJ+nmJ5gnOQ7VUp7G7rbhBLBnOPSoEf43eUY2w=

        Name: s.so
        SHA-256-Digest: w9ptFTI44S6mGR7HVGlBsaoQH51j3Qg+yT4z1j4TdqM=
        ");
    }

    #[test]
    fn keys_and_stores_are_read_and_wrong_ones_told() {
        let public = |identity: &Identity| identity.public_key().to_vec();
        let encrypted = key!("rsa-encrypted.pem");
        let certificate = key!("rsa-cert.pem");
        let read = Identity::from_key(encrypted, Some("secret"), certificate).unwrap();
        assert_eq!(public(&read), public(&rsa()));
        let store = key!("store.p12");
        assert_eq!(
            Identity::from_keystore(store, "secret", None, Some("RELEASE"))
                .unwrap()
                .kind(),
            KeyKind::Rsa
        );
        assert_eq!(
            Identity::from_keystore(store, "secret", None, Some("ec"))
                .unwrap()
                .kind(),
            KeyKind::P256
        );

        let old = b"-----BEGIN RSA PRIVATE KEY-----\nAA==\n-----END RSA PRIVATE KEY-----";
        let wrong = [
            Identity::from_key(encrypted, None, certificate),
            Identity::from_key(encrypted, Some("wrong"), certificate),
            Identity::from_key(key!("ec.pem"), None, certificate),
            Identity::from_key(old, None, certificate),
            Identity::from_key(b"key", None, certificate),
            Identity::from_key(key!("rsa.pem"), None, b"certificate"),
            Identity::from_keystore(store, "secret", None, None),
            Identity::from_keystore(store, "secret", None, Some("debug")),
            Identity::from_keystore(store, "wrong", None, None),
        ];
        let messages: Vec<String> = wrong.map(|w| w.err().unwrap().to_string()).into();
        insta::assert_snapshot!(messages.join("\n"), @r#"
        the key is encrypted: its password is needed
        the key cannot be decrypted (is the password right?): PKCS#5 decryption failed
        the certificate is not that of the key
        the key is a PEM "RSA PRIVATE KEY", not PKCS #8: `openssl pkcs8 -topk8 -nocrypt -in KEY -out KEY8` makes it one
        the private key cannot sign here: it must be RSA of 2048 to 4096 bits or ECDSA over P-256, in PKCS #8 (InvalidEncoding)
        the certificate is no X.509 in PEM or DER
        the key store holds several keys: name one of ec, release
        the key store has no key `debug`; it has ec, release
        the key store cannot be read (is the password right?): MAC tag mismatch
        "#);
    }

    #[test]
    fn old_key_stores_are_read_and_wrong_ones_told() {
        let store = key!("store.jks");
        let of = |store: &[u8], password: &str, own: Option<&str>, alias: Option<&str>| {
            Identity::from_keystore(store, password, own, alias)
        };
        let release = of(store, "storesecret", Some("keysecret"), Some("RELEASE")).unwrap();
        let same = of(key!("store.p12"), "secret", None, Some("release")).unwrap();
        assert_eq!(release.certificates(), same.certificates());
        assert_eq!(release.sign(b"x").unwrap(), same.sign(b"x").unwrap());
        let ec = of(store, "storesecret", None, Some("ec")).unwrap();
        assert_eq!(ec.kind(), KeyKind::P256);

        let cut = &store[..store.len() - 21];
        let wrong = [
            of(store, "storesecret", None, Some("release")),
            of(store, "storesecret", None, None),
            of(store, "storesecret", None, Some("trusted")),
            of(store, "wrong", None, Some("ec")),
            of(cut, "storesecret", None, Some("ec")),
            of(&store[..4], "storesecret", None, Some("ec")),
        ];
        let messages: Vec<String> = wrong.map(|w| w.err().unwrap().to_string()).into();
        insta::assert_snapshot!(messages.join("\n"), @r"
        the key has a password of its own, or another: say it by --key-pass
        the key store holds several keys: name one of ec, release
        the key store has no key `trusted`; it has ec, release
        the key store cannot be read: its password is another, or it is damaged
        the key store cannot be read: its password is another, or it is damaged
        the key store cannot be read: its password is another, or it is damaged
        ");
    }
}
