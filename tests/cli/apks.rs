//! Where the hook library goes for dex files: apks, jars of dex files, and archives that are neither.

use crate::support::{DEX, World};
use crate::tree::root;
use weave::internals::container::apk::{has_signing_block, is_signature_file};
use weave::internals::container::zip::{Archive, Codec, Method, Packed, Splicer};

/// Where an empty compiled manifest begins (`RES_XML_TYPE`).
const MANIFEST: &[u8] = &[3, 0, 8, 0, 8, 0, 0, 0];

pub fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut splicer = Splicer::create(Vec::new());
    let mut codec = Codec::new();
    for (name, data) in members {
        let packed = Packed::new(Method::Deflated, data, &mut codec);
        splicer.add(name, &packed).unwrap();
    }
    splicer.finish().unwrap()
}

/// A world with one archive, and what is said when it is woven to `out.zip`.
fn woven(members: &[(&str, &[u8])], options: &[&str]) -> (World, String) {
    let world = World::new();
    world.write("in.zip", archive(members));
    let args = [&["--rules", "pack:all", "in.zip", "out.zip"], options].concat();
    let ran = world.wove(&args);
    (world, ran.err)
}

/// The names of an archive's dex files.
fn dexes(archive: &[u8]) -> Vec<String> {
    let archive = Archive::open(archive).unwrap();
    let names = archive.members().iter().map(|m| m.name().to_owned());
    names.filter(|name| name.ends_with(".dex")).collect()
}

fn key(name: &str) -> String {
    root().join("tests/keys").join(name).display().to_string()
}

#[test]
fn an_app_within_another_brings_its_own_library() {
    let inner = archive(&[("classes.dex", DEX)]);
    for outer in [
        // An apk with code, or without.
        &[
            ("AndroidManifest.xml", MANIFEST),
            ("classes.dex", DEX),
            ("assets/server.jar", &inner),
        ][..],
        &[
            ("AndroidManifest.xml", MANIFEST),
            ("assets/server.jar", &inner),
        ],
        // A program for the JVM that brings what it starts on a device.
        &[
            ("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\n\n"),
            ("server.jar", &inner),
        ],
    ] {
        let (world, _) = woven(outer, &[]);
        let member = outer.last().unwrap().0;
        let inner = world.member("out.zip", member);
        assert_eq!(dexes(&inner), ["classes.dex", "classes2.dex"], "{member}");
    }
    let outer = [("classes.dex", DEX), ("assets/server.jar", &inner[..])];
    let (world, _) = woven(&outer, &["--no-runtime"]);
    let inner = world.member("out.zip", "assets/server.jar");
    assert_eq!(dexes(&inner), ["classes.dex"]);
}

#[test]
fn an_apk_within_another_is_signed_by_the_same_key() {
    let signed = archive(&[
        ("AndroidManifest.xml", MANIFEST),
        ("classes.dex", DEX),
        ("META-INF/CERT.SF", b"old"),
        ("META-INF/CERT.RSA", b"old"),
    ]);
    let jar = archive(&[
        ("classes.dex", DEX),
        ("META-INF/OLD.SF", b"old"),
        ("META-INF/OLD.RSA", b"old"),
    ]);
    let members = [
        ("AndroidManifest.xml", MANIFEST),
        ("classes.dex", DEX),
        ("assets/app.apk", &signed[..]),
        ("assets/server.jar", &jar[..]),
    ];
    let (rsa, certificate) = (key("rsa.pem"), key("rsa-cert.pem"));
    let (world, said) = woven(&members, &["--key", &rsa, "--cert", &certificate]);
    let inner = world.member("out.zip", "assets/app.apk");
    let inner = Archive::open(&inner).unwrap();
    assert!(has_signing_block(&inner));
    let files = inner
        .members()
        .iter()
        .filter(|m| is_signature_file(m.name()));
    assert_eq!(files.count(), 2);
    // A jar's is nobody's business: it goes with a word.
    let jar = world.member("out.zip", "assets/server.jar");
    assert!(
        !Archive::open(&jar)
            .unwrap()
            .members()
            .iter()
            .any(|m| is_signature_file(m.name()))
    );
    assert!(
        said.contains("server.jar: its signature no longer fits"),
        "{said}"
    );
    assert!(!said.contains("app.apk: its signature"), "{said}");
}

#[test]
fn dex_files_beside_class_files_get_the_library_as_dex() {
    let world = World::with_jar();
    let members = [
        ("META-INF/MANIFEST.MF", &b"Manifest-Version: 1.0\n\n"[..]),
        ("classes.dex", DEX),
        (
            "com/acme/Fib.class",
            &world.read("classes/com/acme/Fib.class"),
        ),
    ];
    let (world, said) = woven(&members, &[]);
    assert_eq!(
        dexes(&world.read("out.zip")),
        ["classes.dex", "classes2.dex"]
    );
    assert!(
        world
            .names("out.zip")
            .iter()
            .any(|n| n == "weave/runtime/Hooks.class")
    );
    assert!(!said.contains("warning"), "{said}");
}

#[test]
fn dex_files_that_no_class_loader_looks_for_are_told() {
    for members in [
        &[("assets/plugin.dex", DEX)][..],
        &[
            ("AndroidManifest.xml", MANIFEST),
            ("assets/plugin.dex", DEX),
        ],
        &[("BundleConfig.pb", b""), ("feature/dex/classes.dex", DEX)],
    ] {
        let (world, said) = woven(members, &[]);
        assert_eq!(dexes(&world.read("out.zip")).len(), 1);
        assert!(said.contains("weave runtime"), "{said}");
        let (_, said) = woven(members, &["--no-runtime"]);
        assert!(!said.contains("weave runtime"), "{said}");
    }
}

#[test]
fn a_wrong_checksum_is_told_and_mended() {
    let mut dex = DEX.to_vec();
    dex[8] ^= 1;
    let world = World::new();
    world.write("in.zip", archive(&[("classes.dex", &dex)]));
    let ran = world.weave(&["verify", "in.zip"]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(
        ran.out.contains("in.zip!/classes.dex: the checksum is"),
        "{}",
        ran.out
    );
    world.wove(&["--rules", "pack:all", "in.zip", "out.zip"]);
    world.wove(&["verify", "out.zip"]);
}
