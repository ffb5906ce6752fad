//! Opens a zip, reads all members, and splices it: all kept must be the same bytes; with some
//! replaced it must open again and say the same about the others.

use weave::internals::container::jar::{Manifest, is_signature_file};
use weave::internals::container::zip::{Archive, Codec, Method, Packed, Splicer};

const LIMIT: u64 = 1 << 16;

pub fn run(bytes: &[u8]) {
    let _ = Archive::is_zip(bytes);
    let Ok(archive) = Archive::open(bytes) else {
        return;
    };
    let (mut codec, mut out) = (Codec::with_level(1), Vec::new());
    for member in archive.members() {
        if member.read(&mut codec, LIMIT, &mut out).is_ok() {
            assert_eq!(out.len() as u64, member.size());
            let mut manifest = Manifest::parse(&out);
            assert_eq!(manifest.to_bytes(), out);
            manifest.add_class_path("a.jar");
            manifest.remove_digests();
        }
        let _ = is_signature_file(member.name());
    }

    let mut splicer = Splicer::new(&archive, Vec::new());
    for _ in archive.members() {
        splicer.keep().unwrap();
    }
    assert!(splicer.finish().unwrap() == bytes);

    let new = [Method::Stored, Method::Deflated].map(|m| Packed::new(m, b"new data", &mut codec));
    let mut splicer = Splicer::new(&archive, Vec::new());
    let mut kept = Vec::new();
    for (i, member) in archive.members().iter().enumerate() {
        // What is done depends on the member, so that mutations reach every mix.
        let done = match (i + member.raw_name().len()) % 5 {
            0 | 1 => {
                kept.push(Some(member));
                splicer.keep()
            }
            2 => {
                kept.push(None);
                splicer.replace(&new[i % 2])
            }
            3 => splicer.drop(),
            _ => {
                kept.push(None);
                kept.push(Some(member));
                splicer
                    .add("new", &new[i % 2])
                    .and_then(|()| splicer.keep())
            }
        };
        // An extra field can be full.
        if done.is_err() {
            return;
        }
    }
    let Ok(spliced) = splicer.finish() else {
        return;
    };
    let again = Archive::open(&spliced).unwrap();
    assert_eq!(again.members().len(), kept.len());
    for (member, kept) in again.members().iter().zip(kept) {
        match kept {
            Some(old) => {
                assert_eq!(member.raw_name(), old.raw_name());
                assert_eq!(member.packed(), old.packed());
                assert_eq!(member.size(), old.size());
                assert_eq!(member.crc32(), old.crc32());
            }
            None => {
                member.read(&mut codec, LIMIT, &mut out).unwrap();
                assert_eq!(out, b"new data");
            }
        }
    }
}
