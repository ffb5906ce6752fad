//! Sections of Android's own trace in an aar's classes.

use crate::jdk::jdk;
use crate::support::{PRINTED, World, member, ran};
use crate::tree::root;
use std::collections::BTreeMap;

const SECTIONS: &str =
    "version = 1\n[[aspect]]\nmatch = { type = \"com.acme.*\" }\nhooks = \"android-trace\"\n";
const LIBRARY: &str = "libs/weave-runtime.jar";

/// A world with `lib.aar`, whose `classes.jar` holds the program, and rules.
fn with_aar() -> World {
    let world = World::new();
    world.tool("jar", &["cf", "classes.jar", "-C", "classes", "."]);
    world.write("AndroidManifest.xml", "<manifest/>");
    world.tool(
        "jar",
        &["cfM", "lib.aar", "AndroidManifest.xml", "classes.jar"],
    );
    world.write("sections.toml", SECTIONS);
    world
}

/// Runs the program of an aar with a stand-in for Android's class, and says how often each section was begun.
fn sections(world: &World, aar: &str) -> BTreeMap<String, u32> {
    let trace = root().join("tests/harness/android/os/Trace.java");
    world.tool("javac", &["-d", "android", trace.to_str().unwrap()]);
    let archive = world.read(aar);
    world.write("woven.jar", member(&archive, "classes.jar"));
    let mut path = vec![world.at("woven.jar"), world.at("android")];
    if world.names(aar).iter().any(|name| name == LIBRARY) {
        world.write("library.jar", member(&archive, LIBRARY));
        path.push(world.at("library.jar"));
    }
    let output = jdk("java")
        .arg("-Xverify:all")
        .arg("-cp")
        .arg(std::env::join_paths(path).unwrap())
        .arg("com.acme.Main")
        .env("SECTIONS", world.at("sections.txt"))
        .env("WEAVE_TRACE", world.at("run.wtrace"))
        .output()
        .unwrap();
    let ran = ran(output);
    assert_eq!((ran.status, &*ran.out), (0, PRINTED), "{}", ran.err);
    let told = String::from_utf8(world.read("sections.txt")).unwrap();
    let of = |line: &str| {
        let (count, name) = line.split_once(' ').unwrap();
        (name.to_owned(), count.parse().unwrap())
    };
    told.lines().map(of).collect()
}

/// What the program must show: trivial methods, `Fib`'s and `Main`'s constructors, are left.
fn expected() -> BTreeMap<String, u32> {
    [
        ("com.acme.Main.main", 1),
        ("com.acme.Main.fail", 3),
        ("com.acme.Fib.of", 41),
        ("open", 0),
    ]
    .map(|(name, count)| (name.to_owned(), count))
    .into()
}

#[test]
fn an_aar_has_sections_on_every_path() {
    let world = with_aar();
    world.wove(&["--strict", "--rules", "sections.toml", "lib.aar", "out.aar"]);
    assert_eq!(sections(&world, "out.aar"), expected());
    // Nothing calls the hook library.
    assert!(!world.names("out.aar").iter().any(|name| name == LIBRARY));
    assert!(!world.at("run.wtrace").exists());
    world.wove(&["verify", "out.aar"]);
    world.wove(&["--rules", "sections.toml", "out.aar", "again.aar"]);
    assert_eq!(world.read("out.aar"), world.read("again.aar"));
}

#[test]
fn sections_lie_within_the_hooks_of_others() {
    let world = with_aar();
    let rules = ["--rules", "sections.toml", "--rules", "pack:default"];
    world.wove(&[&rules[..], &["lib.aar", "out.aar"]].concat());
    assert_eq!(sections(&world, "out.aar"), expected());
    world.assert_traced();
}

#[test]
fn a_jar_has_no_sections() {
    let world = World::with_jar();
    world.write("sections.toml", SECTIONS);
    world.wove(&["--rules", "sections.toml", "app.jar", "out.jar"]);
    assert_eq!(world.read("app.jar"), world.read("out.jar"));
    let plan = world
        .wove(&["plan", "--details", "--rules", "sections.toml", "app.jar"])
        .out;
    assert!(plan.contains("exist only on Android"), "{plan}");
}
