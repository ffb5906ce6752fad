//! .NET assemblies and dex files: what lies beside them and in folders.

use crate::support::{DEX, FORWARD, GENERIC, PART, STEPS, STEPS_PDB, TAIL, WHOLE, World};
use std::fs;

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
    let verified = world.wove(&["verify", "out/steps.dll"]);
    assert_eq!(
        verified.out,
        "45 methods in 9 classes verified: all hold together\n"
    );
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
    let image = weave::internals::cil::Image::parse(image).unwrap();
    image.pdb_name().unwrap()
}

#[test]
fn maps_of_all_formats_say_where_traces_begin() {
    let world = world(&[("steps.dll", STEPS), ("classes.dex", DEX)]);
    let everything = "version = 1\n[[aspect]]\nmatch = { type = \"**\" }\n";
    for (file, woven) in [("steps.dll", "out.dll"), ("classes.dex", "out.dex")] {
        let map = format!("{woven}.wsym");
        for (rules, version) in [
            (everything.to_owned(), 1),
            (format!("{everything}root = true\n"), 3),
        ] {
            world.write("weave.toml", rules);
            world.wove(&[file, woven]);
            assert_eq!(world.read(&map)[4], version, "{file}");
            let symbols = world.symbols(&map);
            assert!(symbols.len() > 2 && symbols.iter().all(|(_, s)| s.root == (version == 3)));
        }
    }
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
    let guid = weave::internals::cil::Image::parse(&renamed)
        .unwrap()
        .pdb_guid();
    let pdb = world.read("out/other-longer-name.pdb");
    let pdb = weave::internals::cil::pdb::Pdb::parse(&pdb).unwrap();
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
fn monos_own_symbols_are_left_out() {
    let mdb = 0x45e8_2623_fd7f_a614_u64.to_le_bytes();
    let world = world(&[("in/steps.dll", STEPS), ("in/steps.dll.mdb", &mdb)]);
    let ran = world.wove(&["in", "out"]);
    assert!(ran.err.contains("(.mdb) was left out"), "{}", ran.err);
    assert_eq!(world.files("out"), ["Weave.Runtime.dll", "steps.dll"]);
    fs::create_dir(world.at("one")).unwrap();
    let ran = world.wove(&["in/steps.dll", "one/app.dll"]);
    assert!(ran.err.contains("(.mdb) was left out"), "{}", ran.err);
    assert!(!world.at("one/app.pdb").exists() && !world.at("one/app.dll.mdb").exists());
    // What stays as it is keeps them.
    world.write(
        "none.toml",
        "version = 1\n[[aspect]]\nmatch = { type = \"No\" }\n",
    );
    world.wove(&["--rules", "none.toml", "in/steps.dll", "one/same.dll"]);
    assert!(world.read("one/same.dll.mdb") == mdb);
}

#[test]
fn an_assembly_in_its_application_is_listed_with_the_library() {
    let world = world(&[
        ("app/steps.dll", STEPS),
        ("app/steps.deps.json", DEPS.as_bytes()),
        (
            "app/other.deps.json",
            DEPS.replace("steps.dll", "no.dll").as_bytes(),
        ),
        ("app/broken.deps.json", b"{"),
    ]);
    // Elsewhere nothing lists it.
    world.wove(&["app/steps.dll", "alone/steps.dll"]);
    assert_eq!(
        world.files("alone"),
        ["Weave.Runtime.dll", "steps.dll", "steps.dll.wsym"]
    );
    world.wove(&["app/steps.dll", "app/steps.dll"]);
    let list = |name: &str| String::from_utf8(world.read(name)).unwrap();
    assert!(list("app/steps.deps.json").contains("Weave.Runtime.dll"));
    assert!(!list("app/other.deps.json").contains("Weave.Runtime.dll"));
    assert_eq!(list("app/broken.deps.json"), "{");
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
fn an_assembly_knows_the_names_of_its_modules() {
    let world = world(&[("app/part.netmodule", PART), ("app/whole.exe", WHOLE)]);
    world.wove(&["--rules", "pack:all", "app", "out"]);
    let inside = |name: &str| {
        let bytes = world.read(name);
        let image = weave::internals::cil::Image::parse(&bytes).unwrap();
        let mut symbols = weave::internals::symbols::Symbols::default();
        symbols.add(image.symbols().unwrap()).unwrap();
        symbols
    };
    let (whole, part) = (inside("out/whole.exe"), inside("out/part.netmodule"));
    assert!(!part.is_empty() && part.iter().all(|(id, _)| whole.get(id).is_some()));
    assert_eq!(whole.len(), world.symbols("out.wsym").len());
}

#[test]
fn tail_calls_that_become_calls_are_told() {
    let world = world(&[("tail.dll", TAIL)]);
    let ran = world.wove(&["--rules", "pack:all", "tail.dll", "woven.dll"]);
    let told = "tail.dll: tail calls became ordinary calls in 1 method, ";
    assert!(ran.err.contains(told), "{}", ran.err);
    // Where nothing runs behind them they stay.
    world.write(
        "enter.toml",
        "version = 1\n[[aspect]]\nname = 'a'\nmatch = { type = '**' }\nadvice = ['enter']\n",
    );
    let ran = world.wove(&["--rules", "enter.toml", "tail.dll", "woven.dll"]);
    assert!(!ran.err.contains("tail calls"), "{}", ran.err);
}

/// A launcher of .NET, as far as it is told by: an executable with the marker, behind the place of what is inside.
fn launcher(start: &[u8], bundle: u64) -> Vec<u8> {
    const MARKER: [u8; 32] = [
        0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0,
        0x32, 0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3,
        0x6a, 0xae,
    ];
    [start, &bundle.to_le_bytes(), &MARKER, STEPS].concat()
}

#[test]
fn launchers_and_single_file_applications_are_told_what_they_are() {
    // A PE file without a CLI header: the entry of the directory zeroed.
    let mut native = STEPS.to_vec();
    let pe = u32::from_le_bytes(native[0x3c..0x40].try_into().unwrap()) as usize;
    native[pe + 24 + 96 + 14 * 8..][..8].fill(0);
    let world = world(&[
        ("app/bundle", &launcher(b"\x7fELF", 4096)),
        ("app/other.exe", &launcher(&native, 4096)),
        ("app/steps", &launcher(b"\x7fELF", 0)),
        ("app/lib.so", &launcher(b"\x7fELF", 4096)),
        ("app/native.exe", &native),
        ("app/steps.dll", STEPS),
    ]);
    let told = [
        ("app/bundle", "single-file application"),
        ("app/other.exe", "single-file application"),
        ("app/steps", "the assembly (.dll) beside it"),
        ("app/native.exe", "native code"),
        ("app/lib.so", "single-file application"),
    ];
    for (input, what) in told {
        for ran in [
            world.weave(&[input, "out.dll"]),
            world.weave(&["verify", input]),
        ] {
            assert_eq!(ran.status, 3, "{}", ran.err);
            assert!(ran.err.contains(what), "{input}: {}", ran.err);
        }
    }
    let ran = world.wove(&["app", "out"]);
    let warnings = ran.err.matches("single-file application").count();
    assert_eq!(warnings, 2, "{}", ran.err);
    assert!(world.read("out/bundle") == world.read("app/bundle"));
}

#[test]
fn webcil_is_told_by_name_once_a_folder() {
    let module = [&b"\0asm\x01\0\0\0\x0b\x10"[..], b"WbIL\0\0\0\0"].concat();
    let world = world(&[
        ("wwwroot/_framework/App.wasm", &module),
        ("wwwroot/_framework/Lib.wasm", &module),
        ("wwwroot/_framework/dotnet.native.wasm", b"\0asm\x01\0\0\0"),
        ("wwwroot/_framework/steps.dll", STEPS),
    ]);
    let ran = world.weave(&["wwwroot/_framework/App.wasm", "out.wasm"]);
    assert_eq!(ran.status, 3, "{}", ran.err);
    assert!(
        ran.err.contains("Webcil") && ran.err.contains("WasmEnableWebcil=false"),
        "{}",
        ran.err
    );
    let ran = world.wove(&["wwwroot", "out"]);
    assert_eq!(ran.err.matches("Webcil,").count(), 1, "{}", ran.err);
    assert!(ran.err.contains("App.wasm (and 1 more)"), "{}", ran.err);
    assert!(world.read("out/_framework/App.wasm") == module);
}

#[test]
fn assemblies_woven_earlier_keep_their_ids() {
    let world = world(&[("app/b/steps.dll", STEPS)]);
    world.wove(&["app", "app"]);
    let earlier = world.symbols("app.wsym");
    // The same types beside it, in front of it: without a look at what is there they would get the same ids.
    world.write("app/a/steps.dll", STEPS);
    world.wove(&["app", "app"]);
    let all = world.symbols("app.wsym");
    assert_eq!(all.len(), 2 * earlier.len());
    assert!(earlier.iter().all(|(id, _)| all.get(id).is_some()));
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

#[test]
fn type_parameters_have_the_names_that_their_author_gave_them() {
    let world = world(&[("generic.dll", GENERIC)]);
    world.write(
        "weave.toml",
        "version = 1\n[[aspect]]\nname = 'a'\nmatch = { params = ['T*[]'] }\n[[aspect]]\nname = 'b'\nmatch = { params = 'TItem, S' }\n",
    );
    let plan = world.wove(&["plan", "--details", "generic.dll"]);
    let taken: Vec<&str> = (plan.out.lines().map(str::trim))
        .filter(|line| line.starts_with('+'))
        .collect();
    assert_eq!(
        taken,
        [
            "+ Sort(T[])  by a",
            "+ Sort(TItem[])  by a",
            "+ Copy(TItem, S)  by b",
            "+ Sort(TItem[])  by a"
        ]
    );
    world.wove(&["generic.dll", "woven.dll"]);
    let symbols = world.symbols("woven.dll.wsym");
    let mut labels: Vec<String> = (symbols.iter())
        .map(|(_, s)| s.name() + &s.parameters())
        .collect();
    labels.sort();
    assert_eq!(
        labels,
        [
            "Acme.First`1.Sort(T[])",
            "Acme.Second`1+Inner.Sort(TItem[])",
            "Acme.Second`1.Copy(TItem, S)",
            "Acme.Second`1.Sort(TItem[])",
        ]
    );
}

#[test]
fn async_methods_that_are_counted_have_the_lines_of_their_source() {
    let rule = |more: &str| {
        format!(
            "version = 1\n[[aspect]]\nname = \"async\"\nmatch = {{ type = \"**\", kind = \"async\", min-size = 0 }}\n{more}"
        )
    };
    let world = world(&[
        ("steps.dll", STEPS),
        ("steps.pdb", STEPS_PDB),
        ("recorded.toml", rule("").as_bytes()),
        ("counted.toml", rule("mode = \"count\"\n").as_bytes()),
    ]);
    let lines = |how: &str| {
        let (rules, out) = (format!("{how}.toml"), format!("{how}.dll"));
        world.wove(&["--rules", &rules, "steps.dll", &out]);
        let mut lines: Vec<_> = world
            .symbols(&format!("{out}.wsym"))
            .iter()
            .map(|(id, symbol)| (id, symbol.line))
            .collect();
        lines.sort_unstable();
        lines
    };
    let recorded = lines("recorded");
    assert!(recorded.len() > 3 && recorded.iter().all(|(_, line)| *line > 0));
    assert_eq!(lines("counted"), recorded);
}

/// What cannot be written whole is not written in part.
#[test]
fn an_assembly_changes_with_its_pdb_or_not_at_all() {
    let world = world(&[("steps.dll", STEPS), ("steps.pdb", STEPS_PDB)]);
    // The library's place is taken by a folder.
    world.write("Weave.Runtime.dll/x", "mine");
    let ran = world.weave(&["steps.dll", "steps.dll"]);
    assert_eq!(ran.status, 2, "{}", ran.err);
    assert!(world.read("steps.dll") == STEPS && world.read("steps.pdb") == STEPS_PDB);
    let files = ["Weave.Runtime.dll/x", "steps.dll", "steps.pdb"];
    let left = world
        .files(".")
        .into_iter()
        .filter(|f| !f.starts_with("classes/"));
    assert_eq!(left.collect::<Vec<_>>(), files);
}

#[test]
fn a_library_of_hooks_without_a_strong_name_is_told_where_the_assembly_has_one() {
    let rules = "version = 1\n[[library]]\npath = \"tail.dll\"\n[[aspect]]\nmatch = { type = \"Base\", method = \"Sum\" }\nenter = \"T.One()\"\n";
    let world = world(&[
        ("forward.dll", FORWARD),
        ("tail.dll", TAIL),
        ("hooks.toml", rules.as_bytes()),
    ]);
    let key = concat!(env!("CARGO_MANIFEST_DIR"), "/runtime/dotnet/weave.snk");
    let how = ["--rules", "hooks.toml", "--message-format", "json"];
    let weave =
        |more: &[&str]| world.wove(&[&how[..], more, &["forward.dll", "out/f.dll"]].concat());
    let told = weave(&["--key", key]).err;
    let line = told.lines().find(|line| line.contains("WV0117"));
    let line = line.unwrap_or_else(|| panic!("{told}"));
    assert!(
        line.contains("and tail, the library of its hooks, has none"),
        "{line}"
    );
    assert!(!weave(&[]).err.contains("WV0117"));
    // The hook library itself has one.
    let plain = world.wove(&[
        "--message-format",
        "json",
        "--key",
        key,
        "forward.dll",
        "out/f.dll",
    ]);
    assert!(!plain.err.contains("WV0117"), "{}", plain.err);
}
