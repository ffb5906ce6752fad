//! Wrong use and wrong input: the exit status, the message, and a target that stays as it was.

use crate::support::World;

#[test]
fn exit_statuses_and_messages() {
    let world = World::with_jar();
    world.write("out.jar", "old");
    world.write("text.jar", "hello");
    world.write(
        "short.class",
        &world.read("classes/com/acme/Main.class")[..100],
    );
    let jar = world.read("app.jar");
    world.write("cut.jar", &jar[..jar.len() / 2]);
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
        &["app.jar", "no/such/folder/out.jar"],
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
        let archive = weave::container::zip::Archive::open(&jar).unwrap();
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
