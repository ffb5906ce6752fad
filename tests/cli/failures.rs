//! Wrong use and wrong input: the exit status, the message, and a target that is left unchanged.

use crate::apks::archive;
use crate::support::{PRINTED, World};
use crate::zipgen::{self, Entry, Spec};

#[test]
fn exit_statuses_and_messages() {
    let world = World::with_jar();
    world.write("out.jar", "old");
    world.write("text.jar", "hello");
    // Messages name offsets: nothing in these two may depend on the JDK.
    world.write("short.class", b"\xca\xfe\xba\xbe\0\0\0\x34\0\x05\x01\0");
    world.write("cut.jar", &world.read("app.jar")[..800]);
    world.write("bad.toml", "version = 1\n[[aspect]]\nmach = {}\n");
    let mut all = String::new();
    for args in [
        &["none.jar", "out.jar"][..],
        &["text.jar", "out.jar"],
        &["short.class", "out.jar"],
        &["cut.jar", "out.jar"],
        &["app.jar", "classes"],
        &["classes", "app.jar"],
        &["app.jar", "out.jar", "--rules", "none.toml"],
        &["app.jar", "out.jar", "--rules", "pack:defualt"],
        &["app.jar", "out.jar", "--rules", "bad.toml"],
        &["app.jar", "out.jar", "--known-symbols", "text.jar"],
        &["app.jar", "text.jar/out.jar"],
    ] {
        let ran = world.weave(args);
        all += &format!("{} {}: {}", ran.status, args.join(" "), ran.err);
        assert_eq!(world.read("out.jar"), b"old", "{args:?}");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_class_that_cannot_be_read_is_copied_and_told() {
    let world = World::with_jar();
    world.write("Junk.class", b"\xca\xfe\xba\xbe\0\0\0\x34\0\x05\x01\0");
    world.tool("jar", &["uf", "app.jar", "Junk.class"]);
    let ran = world.wove(&["app.jar", "out.jar"]);
    insta::assert_snapshot!(ran.err, @r"
    warning: app.jar!/Junk.class: constant pool is cut off (at byte 0xa); copied as it is
    wove 3 methods of 2 classes in 1 artifact -> out.jar
    ");
    assert_eq!(
        world.member("out.jar", "Junk.class"),
        world.read("Junk.class")
    );

    world.write("strict.jar", "old");
    let ran = world.weave(&["app.jar", "strict.jar", "--strict"]);
    assert_eq!(ran.status, 1);
    insta::assert_snapshot!(ran.err, @r"
    warning: app.jar!/Junk.class: constant pool is cut off (at byte 0xa); copied as it is
    error: not everything could be woven (--strict): nothing was written
    ");
    assert_eq!(world.read("strict.jar"), b"old");
    assert!(!world.at("strict.jar.wsym").exists());
}

#[test]
fn a_damaged_member_fails_the_job_with_its_place() {
    let world = World::with_jar();
    let mut jar = world.read("app.jar");
    let at = {
        let archive = weave::internals::container::zip::Archive::open(&jar).unwrap();
        archive.find("com/acme/Main.class").unwrap().data_offset()
    };
    jar[at + 20] ^= 0x55;
    world.write("damaged.jar", &jar);
    let ran = world.weave(&["damaged.jar", "out.jar"]);
    assert_eq!(ran.status, 3);
    assert!(
        ran.err
            .starts_with("error: damaged.jar!/com/acme/Main.class: "),
        "{}",
        ran.err
    );
    assert!(!world.at("out.jar").exists());
}

#[test]
fn a_broken_nested_jar_is_copied_and_told() {
    let world = World::with_jar();
    let jar = world.read("app.jar");
    world.write("cut.jar", &jar[..jar.len() - 30]);
    world.tool("jar", &["uf0", "app.jar", "cut.jar"]);
    let ran = world.wove(&["app.jar", "out.jar"]);
    assert!(
        ran.err.starts_with("warning: app.jar!/cut.jar: "),
        "{}",
        ran.err
    );
    assert_eq!(world.member("out.jar", "cut.jar"), world.read("cut.jar"));
}

#[test]
fn a_jar_of_jars_of_jars_is_unpacked_in_proportion_to_its_size() {
    let of = |entries| {
        zipgen::write(&Spec {
            entries,
            ..Spec::default()
        })
    };
    let many = |entry: fn(&str, &[u8]) -> Entry, jar: &[u8]| {
        let names = (0..100).map(|n| format!("{n}.jar"));
        of(names.map(|name| entry(&name, jar)).collect())
    };
    let zeros = of(vec![Entry::stored("zeros", &[0; 16_000])]);
    // 320 MB in all.
    let bomb = many(Entry::deflated, &many(Entry::stored, &zeros));
    assert!(bomb.len() < 2_000_000, "{}", bomb.len());
    let world = World::new();
    world.write("bomb.jar", &bomb);
    world.write(
        "weave.toml",
        "version = 1\n[[aspect]]\nmatch = { extends = 'a.B' }\n",
    );
    let ran = world.weave(&["bomb.jar", "out.jar"]);
    assert!(
        ran.err.contains("bomb.jar!/") && ran.err.contains("unpack to more than 32 times its size"),
        "{}",
        ran.err
    );
    assert_eq!(world.read("out.jar"), bomb);
    let verified = world.weave(&["verify", "bomb.jar"]);
    let told = format!("{}{}", verified.out, verified.err);
    assert!(
        verified.status != 0 && told.contains("unpack to more than 32 times its size"),
        "{told}"
    );
}

#[test]
fn names_in_messages_steer_no_terminal() {
    let name = "a\x1b[2J\n\u{202e}b\u{7}.jar";
    let world = World::new();
    world.write("in.zip", archive(&[(name, b"PK\x03\x04 and no more")]));
    for args in [
        &["in.zip", "out.zip"][..],
        &["plan", "in.zip", "--details"],
        &["verify", "in.zip"],
    ] {
        let ran = world.weave(args);
        let shown = format!("{}{}", ran.out, ran.err);
        assert!(shown.contains(r"a\u{1b}[2J\n\u{202e}b\u{7}.jar"), "{shown}");
        assert!(!shown.contains(['\x1b', '\u{202e}', '\u{7}']), "{shown:?}");
    }
}

/// Changes a member's two headers: the local one, and the one in the directory.
fn patch(mut zip: Vec<u8>, name: &str, change: impl Fn(&mut [u8], &mut [u8])) -> Vec<u8> {
    let local = {
        let archive = weave::internals::container::zip::Archive::open(&zip).unwrap();
        archive.find(name).unwrap().offset()
    };
    let central = memchr::memmem::rfind(&zip, name.as_bytes()).unwrap() - 46;
    let (head, directory) = zip.split_at_mut(central);
    change(&mut head[local..], directory);
    zip
}

/// Zip files that no loader would take, each by what is wrong with it.
fn odd_zips(world: &World) -> Vec<(&'static str, Vec<u8>)> {
    const MANIFEST: &str = "META-INF/MANIFEST.MF";
    const MAP: &str = "META-INF/weave/symbols";
    let class = world.read("classes/com/acme/Fib.class");
    let text = b"Manifest-Version: 1.0\r\n\r\n".as_slice();
    let jar = |more: &str, bytes: &[u8]| {
        archive(&[
            (MANIFEST, text),
            ("com/acme/Fib.class", &class),
            (more, bytes),
        ])
    };
    let plain = || jar("notes.txt", b"notes");
    let method = |local: &mut [u8], central: &mut [u8]| (local[8], central[10]) = (9, 9);
    let encrypted = |local: &mut [u8], central: &mut [u8]| (local[6], central[8]) = (1, 1);
    let crc = |_: &mut [u8], central: &mut [u8]| central[16] ^= 1;
    let size = |_: &mut [u8], central: &mut [u8]| central[27] = 0x7f;
    let nested = archive(&[("in.jar", &patch(plain(), MANIFEST, crc))]);
    vec![
        ("cut.zip", plain()[..200].to_vec()),
        (
            "class-method.jar",
            patch(plain(), "com/acme/Fib.class", method),
        ),
        (
            "class-encrypted.jar",
            patch(plain(), "com/acme/Fib.class", encrypted),
        ),
        ("class-crc.jar", patch(plain(), "com/acme/Fib.class", crc)),
        ("class-size.jar", patch(plain(), "com/acme/Fib.class", size)),
        ("manifest-method.jar", patch(plain(), MANIFEST, method)),
        (
            "manifest-encrypted.jar",
            patch(plain(), MANIFEST, encrypted),
        ),
        ("manifest-crc.jar", patch(plain(), MANIFEST, crc)),
        ("manifest-size.jar", patch(plain(), MANIFEST, size)),
        ("map.jar", jar(MAP, b"no map")),
        ("map-crc.jar", patch(jar(MAP, b"no map"), MAP, crc)),
        (
            "ear.ear",
            patch(
                jar("META-INF/application.xml", b"<application/>"),
                "META-INF/application.xml",
                crc,
            ),
        ),
        ("nested.zip", nested),
        (
            "nested-method.zip",
            patch(archive(&[("in.jar", &plain())]), "in.jar", method),
        ),
        (
            "nested-crc.zip",
            patch(archive(&[("in.jar", &plain())]), "in.jar", crc),
        ),
    ]
}

#[test]
fn odd_zips_inside_a_jar_are_data() {
    let world = World::with_jar();
    for (name, bytes) in odd_zips(&world) {
        world.write(name, bytes);
        let jar = format!("{name}.out.jar");
        std::fs::copy(world.at("app.jar"), world.at("in.jar")).unwrap();
        world.tool("jar", &["uf", "in.jar", name]);
        let ran = world.wove(&["in.jar", &jar]);
        assert!(
            ran.err.starts_with(&format!("warning: in.jar!/{name}")),
            "{name}: {}",
            ran.err
        );
        assert!(ran.err.contains("copied as it is"), "{}", ran.err);
        let whole = world.member(&jar, name) == world.read(name);
        // One class that cannot be read is one class that is copied: the others are woven.
        let by_member = name.starts_with("class-");
        assert!(whole || by_member, "{name}: {}", ran.err);
        assert_eq!(world.tool("java", &["-jar", &jar]).out, PRINTED);
        world.assert_traced();
        let strict = world.weave(&["in.jar", "strict.jar", "--strict"]);
        assert_eq!(strict.status, 1, "{name}: {}", strict.err);
        assert!(!world.at("strict.jar").exists());
        // The same in a folder, which was named, and not what is in it.
        std::fs::create_dir_all(world.at("in/data")).unwrap();
        std::fs::copy(world.at("app.jar"), world.at("in/app.jar")).unwrap();
        std::fs::copy(world.at(name), world.at("in/data").join(name)).unwrap();
    }
    let ran = world.wove(&["in", "out"]);
    for name in world.files("in") {
        let told = ran.err.contains(&format!("warning: in/{name}"));
        assert!(
            told || name == "app.jar" || ran.err.contains("more (-v"),
            "{name}: {}",
            ran.err
        );
    }
    assert_eq!(
        world.read("out/data/manifest-crc.jar"),
        world.read("in/data/manifest-crc.jar")
    );
    assert_eq!(world.tool("java", &["-jar", "out/app.jar"]).out, PRINTED);
    world.assert_traced();
}

/// A nested jar for a zip of jars: its own descriptor is asked about the hook library.
#[test]
fn a_module_descriptor_that_cannot_be_read_is_data() {
    let world = World::new();
    let class = world.read("classes/com/acme/Fib.class");
    let descriptor = b"\xca\xfe\xba\xbe\0\0\0\x35\0\x05\x01\0".as_slice();
    let jar = archive(&[
        ("module-info.class", descriptor),
        ("com/acme/Fib.class", &class),
    ]);
    world.write("in.zip", archive(&[("lib/a.jar", &jar)]));
    let ran = world.wove(&["in.zip", "out.zip"]);
    assert!(
        ran.err
            .starts_with("warning: in.zip!/lib/a.jar!/module-info.class: "),
        "{}",
        ran.err
    );
    let woven = world.member("out.zip", "lib/a.jar");
    assert_eq!(
        crate::support::member(&woven, "module-info.class"),
        descriptor
    );
    // As a folder of classes.
    world.write("build/module-info.class", descriptor);
    world.write("build/com/acme/Fib.class", &class);
    world.write("build/META-INF/weave/symbols", b"no map");
    let ran = world.wove(&["build", "out"]);
    assert!(
        ran.err.contains("warning: build!/module-info.class: "),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("warning: build!/META-INF/weave/symbols: "),
        "{}",
        ran.err
    );
    assert_eq!(world.read("out/module-info.class"), descriptor);
    world.write("map", world.carried("out", ""));
    assert_eq!(world.symbols("map").len(), 1);
}
