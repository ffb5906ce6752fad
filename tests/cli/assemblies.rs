//! .NET assemblies and dex files: what lies beside them and in folders.

use crate::support::World;
use std::fs;

const STEPS: &[u8] = include_bytes!("../dotnet/fixtures/steps-debug.dll");
const STEPS_PDB: &[u8] = include_bytes!("../dotnet/fixtures/steps-debug.pdb");
const DEX: &[u8] = include_bytes!("../dex/everything.dex");

const DEPS: &str = r#"{
  "runtimeTarget": { "name": ".NETCoreApp,Version=v8.0" },
  "targets": { ".NETCoreApp,Version=v8.0": { "steps/1.0.0": { "runtime": { "steps.dll": {} } } } },
  "libraries": { "steps/1.0.0": { "type": "project", "serviceable": false, "sha512": "" } }
}
"#;

fn world(files: &[(&str, &[u8])]) -> World {
    let world = World::new();
    for (name, bytes) in files {
        world.write(name, bytes);
    }
    world
}

#[test]
fn an_assembly_comes_with_its_pdb_and_the_hook_library() {
    let world = world(&[("steps.dll", STEPS), ("steps.pdb", STEPS_PDB)]);
    fs::create_dir(world.at("out")).unwrap();
    let ran = world.wove(&["steps.dll", "out/steps.dll"]);
    assert!(ran.err.starts_with("wove "), "{}", ran.err);
    let files = [
        "Weave.Runtime.dll",
        "steps.dll",
        "steps.dll.wsym",
        "steps.pdb",
    ];
    assert_eq!(world.files("out"), files);
    assert!(world.read("out/steps.pdb") != STEPS_PDB);
    assert_eq!(world.wove(&["verify", "out/steps.dll"]).status, 0);
    let symbols = world.symbols("out/steps.dll.wsym");
    assert!(
        symbols
            .iter()
            .all(|(_, s)| s.line > 0 && s.file.ends_with(".cs"))
    );

    // The input's PDB is not the output's to replace.
    let clash = world.weave(&["steps.dll", "steps.exe"]);
    assert_eq!(clash.status, 2, "{}", clash.err);
    assert!(world.read("steps.pdb") == STEPS_PDB && !world.at("steps.exe").exists());

    // In place, and again: what is woven already stays.
    let woven = world.read("out/steps.dll");
    let again = world.wove(&["out/steps.dll", "out/steps.dll"]);
    assert!(again.err.contains("already woven"), "{}", again.err);
    assert!(world.read("out/steps.dll") == woven);
}

/// The file that a woven image has its symbols looked for in.
fn asked_for(image: &[u8]) -> String {
    let image = weave::cil::Image::parse(image).unwrap();
    image.pdb_name().unwrap()
}

#[test]
fn an_assembly_asks_for_the_pdb_that_is_written() {
    let world = world(&[("in/steps.dll", STEPS), ("in/steps.pdb", STEPS_PDB)]);
    let asked = asked_for(STEPS);
    // Renamed: the runtime looks for the name in the image, Mono for the image's own.
    fs::create_dir(world.at("out")).unwrap();
    world.wove(&["in/steps.dll", "out/other-longer-name.exe"]);
    let renamed = world.read("out/other-longer-name.exe");
    assert_eq!(asked_for(&renamed), "other-longer-name.pdb");
    let guid = weave::cil::Image::parse(&renamed).unwrap().pdb_guid();
    let pdb = world.read("out/other-longer-name.pdb");
    let pdb = weave::cil::pdb::Pdb::parse(&pdb).unwrap();
    assert_eq!(&pdb.id()[..16], guid.unwrap());
    assert_eq!(
        world.wove(&["verify", "out/other-longer-name.exe"]).status,
        0
    );

    // An assembly that was renamed before: its symbols lie where it asks for them.
    world.write("renamed/late.dll", STEPS);
    world.write(&format!("renamed/{asked}"), STEPS_PDB);
    fs::create_dir(world.at("one")).unwrap();
    world.wove(&["renamed/late.dll", "one/late.dll"]);
    assert_eq!(asked_for(&world.read("one/late.dll")), "late.pdb");
    assert!(world.at("one/late.pdb").exists());
    world.wove(&["renamed", "all"]);
    assert_eq!(asked_for(&world.read("all/late.dll")), asked);
    assert!(world.read(&format!("all/{asked}")) != STEPS_PDB);
    world.wove(&["renamed/late.dll", "renamed/late.dll"]);
    assert_eq!(asked_for(&world.read("renamed/late.dll")), asked);
    assert!(world.read(&format!("renamed/{asked}")) != STEPS_PDB);
    assert!(!world.at("renamed/late.pdb").exists());
}

#[test]
fn a_published_application_stays_one() {
    let world = world(&[
        ("app/steps.dll", STEPS),
        ("app/steps.pdb", STEPS_PDB),
        ("app/steps.deps.json", DEPS.as_bytes()),
        ("app/plugins/one/steps.dll", STEPS),
        ("app/native.so", b"\x7fELF"),
        ("app/native.dll", b"MZ not an assembly"),
    ]);
    world.wove(&["app", "out"]);
    let files = [
        "Weave.Runtime.dll",
        "native.dll",
        "native.so",
        "plugins/one/steps.dll",
        "steps.deps.json",
        "steps.dll",
        "steps.pdb",
    ];
    assert_eq!(world.files("out"), files);
    let deps = String::from_utf8(world.read("out/steps.deps.json")).unwrap();
    assert!(deps.contains("Weave.Runtime.dll"), "{deps}");
    assert!(world.read("out/native.dll") == b"MZ not an assembly");
    // The same assembly twice: ids of its own each time.
    let (one, other) = (
        world.read("out/steps.dll"),
        world.read("out/plugins/one/steps.dll"),
    );
    assert!(one != other);
    let plan = world.wove(&["plan", "app/steps.dll", "--json"]).out;
    let methods = plan.matches("\"id\"").count();
    assert!(methods > 0, "{plan}");
    assert_eq!(world.symbols("out.wsym").len(), 2 * methods);

    // Any number of threads gives the same bytes, and a second weave changes nothing.
    world.wove(&["app", "single", "--jobs", "1"]);
    world.wove(&["out", "again"]);
    for name in world.files("out") {
        let bytes = world.read(&format!("out/{name}"));
        assert!(bytes == world.read(&format!("single/{name}")), "{name}");
        assert!(bytes == world.read(&format!("again/{name}")), "{name}");
    }
}

#[test]
fn rules_choose_assemblies_by_name_and_version() {
    let world = world(&[("in/steps.dll", STEPS)]);
    world.write(
        "none.toml",
        "version = 1\n[[aspect]]\nname = 'a'\nmatch = { artifact = 'other', type = '**' }\n",
    );
    world.wove(&["--rules", "none.toml", "in", "out"]);
    assert_eq!(world.files("out"), ["steps.dll"]);
    assert!(world.read("out/steps.dll") == STEPS);
    world.write(
        "some.toml",
        "version = 1\n[[aspect]]\nname = 'a'\nmatch = { artifact = 'steps', version = '<1', type = '**' }\n",
    );
    let ran = world.wove(&["--rules", "some.toml", "in", "all"]);
    assert!(ran.err.starts_with("wove "), "{}", ran.err);
}

#[test]
fn what_is_no_assembly_is_told() {
    let world = world(&[("native.dll", b"MZ"), ("torn.dll", &STEPS[..600])]);
    for (input, status) in [("native.dll", 3), ("torn.dll", 3)] {
        let ran = world.weave(&[input, "out.dll"]);
        assert_eq!(ran.status, status, "{}", ran.err);
        assert!(ran.err.contains(input), "{}", ran.err);
        assert!(!world.at("out.dll").exists());
    }
}

#[test]
fn dex_files_alone_and_in_folders() {
    let world = world(&[("in/classes.dex", DEX), ("in/AndroidManifest.xml", b"")]);
    world.wove(&["--rules", "pack:all", "in/classes.dex", "woven.dex"]);
    assert_eq!(world.wove(&["verify", "woven.dex"]).status, 0);
    world.wove(&["--rules", "pack:all", "in", "out"]);
    let files = [
        "AndroidManifest.xml",
        "META-INF/weave/symbols",
        "classes.dex",
        "classes2.dex",
    ];
    assert_eq!(world.files("out"), files);
    assert_eq!(world.wove(&["verify", "out"]).status, 0);
    assert!(world.read("out/classes.dex") == world.read("woven.dex"));
}
