//! What makes a zip file an apk: its members, its signatures, and how Android wants it aligned.
//!
//! - [`sign`] signs an apk anew (JAR signing, APK Signature Schemes v2 and v3);
//! - [`profile`] renumbers a baseline profile for dex files that changed.

mod block;
mod manifest;
pub mod profile;
pub mod sign;
mod v1;

use super::jar;
use super::zip::Archive;

/// The manifest, in Android's binary XML; no zip file is an apk without.
pub const MANIFEST: &str = "AndroidManifest.xml";

/// The baseline profile, and its metadata: in an apk, and in a bundle, from which they get there.
pub const PROFILES: [&str; 4] = [
    "assets/dexopt/baseline.prof",
    "assets/dexopt/baseline.profm",
    "BUNDLE-METADATA/com.android.tools.build.profiles/baseline.prof",
    "BUNDLE-METADATA/com.android.tools.build.profiles/baseline.profm",
];

/// What the page size of a device may be: since Android 15 up to 16 KiB. What is aligned to it is aligned to the 4 KiB
/// of all others, too.
const PAGE: usize = 16_384;

/// What `zipalign` aligns every other stored member to.
const WORD: usize = 4;

/// The alignment that Android wants of a stored member's data.
pub fn alignment(name: &[u8]) -> usize {
    if name.starts_with(b"lib/") && name.ends_with(b".so") {
        PAGE
    } else {
        WORD
    }
}

/// Which of an apk's dex files a member is, counted from 1: `classes.dex`, `classes2.dex`, ...; Android's class loader
/// looks for no other names.
pub fn dex_number(name: &str) -> Option<u32> {
    let number = name.strip_prefix("classes")?.strip_suffix(".dex")?;
    match number {
        "" => Some(1),
        _ if !number.starts_with(|c: char| ('1'..='9').contains(&c)) => None,
        _ => number.parse().ok().filter(|&n| n > 1),
    }
}

/// The name of an apk's `n`th dex file.
pub fn dex_name(n: u32) -> String {
    match n {
        1 => "classes.dex".to_owned(),
        n => format!("classes{n}.dex"),
    }
}

/// The number of a dex file to be added. Android loads dex files up to the first number that is missing: what is added
/// must not lie behind a gap, nor may it close one before files that are not loaded.
pub fn free_dex_number<'n>(names: impl Iterator<Item = &'n str>) -> u32 {
    let mut numbers: Vec<u32> = names.filter_map(dex_number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let contiguous = (1..).zip(&numbers).take_while(|(i, n)| i == *n).count();
    contiguous as u32 + 1
}

/// Whether a member is there for a signature of the apk: those of a jar, and the digest of the certificate of a source
/// stamp, which is a signature of the apk's contents by the shop that it came from.
pub fn is_signature_file(name: &str) -> bool {
    jar::is_signature_file(name) || name == "stamp-cert-sha256"
}

/// Whether there is an APK Signing Block before the directory: one of the signature schemes from v2 on.
pub fn has_signing_block(archive: &Archive<'_>) -> bool {
    block::find(&archive.bytes()[..archive.directory_offset()]).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dex_files_are_numbered_as_the_class_loader_counts() {
        for n in [1, 2, 10, 4_000_000_000] {
            assert_eq!(dex_number(&dex_name(n)), Some(n));
        }
        for name in [
            "classes0.dex",
            "classes1.dex",
            "classes02.dex",
            "classes.dex.dex",
            "classes-2.dex",
            "classes+2.dex",
            "classes4294967296.dex",
            "a/classes.dex",
            "Classes.dex",
        ] {
            assert_eq!(dex_number(name), None, "{name}");
        }
        let free = |names: &[&str]| free_dex_number(names.iter().copied());
        assert_eq!(free(&[]), 1);
        assert_eq!(free(&["classes2.dex", "classes.dex", "a.dex"]), 3);
        assert_eq!(free(&["classes.dex", "classes3.dex"]), 2);
        assert_eq!(free(&["classes.dex", "classes.dex"]), 2);
    }

    #[test]
    fn native_libraries_are_mapped_by_pages() {
        assert_eq!(alignment(b"lib/arm64-v8a/liba.so"), 16_384);
        assert_eq!(alignment(b"assets/lib/liba.so"), 4);
        assert_eq!(alignment(b"resources.arsc"), 4);
    }
}
