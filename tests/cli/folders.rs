//! Folders: class paths, build outputs, unpacked applications.

use crate::support::{PRINTED, World};
use std::fs;
use std::time::{Duration, SystemTime};

#[test]
fn a_class_path_folder_runs_and_is_traced() {
    let world = World::new();
    fs::create_dir_all(world.at("in/lib")).unwrap();
    world.tool(
        "jar",
        &[
            "cf",
            "in/lib/fib.jar",
            "-C",
            "classes",
            "com/acme/Fib.class",
        ],
    );
    world.write("mf", "Class-Path: lib/fib.jar\nMain-Class: com.acme.Main\n");
    world.tool(
        "jar",
        &[
            "cfm",
            "in/app.jar",
            "mf",
            "-C",
            "classes",
            "com/acme/Main.class",
        ],
    );
    world.write("in/conf/app.properties", "a=b");
    let ran = world.wove(&["in", "out"]);
    insta::assert_snapshot!(ran.err, @"wove 3 methods of 2 classes in 2 artifacts -> out");
    assert_eq!(
        world.files("out"),
        [
            "app.jar",
            "conf/app.properties",
            "lib/fib.jar",
            "weave-runtime.jar"
        ]
    );
    assert_eq!(world.tool("java", &["-jar", "out/app.jar"]).out, PRINTED);
    world.assert_traced();
    // A woven jar reaches the library from where it lies.
    let manifest =
        String::from_utf8(world.member("out/lib/fib.jar", "META-INF/MANIFEST.MF")).unwrap();
    assert!(
        manifest.contains("Class-Path: ../weave-runtime.jar"),
        "{manifest}"
    );
    assert_eq!(world.symbols("out.wsym").len(), 3);
    // And again: everything is woven already.
    world.wove(&["out", "again"]);
    for name in world.files("out") {
        assert!(
            world.read(&format!("out/{name}")) == world.read(&format!("again/{name}")),
            "{name}"
        );
    }
}

#[test]
fn loose_classes_get_the_library_in_their_class_root() {
    let world = World::new();
    fs::create_dir_all(world.at("build")).unwrap();
    fs::rename(world.at("classes"), world.at("build/main")).unwrap();
    world.wove(&["build", "out"]);
    assert!(world.at("out/main/weave/runtime/Hooks.class").exists());
    assert_eq!(world.carried("out/main", ""), world.read("out.wsym"));
    let ran = world.tool("java", &["-cp", "out/main", "com.acme.Main"]);
    assert_eq!(ran.out, PRINTED);
    world.assert_traced();
}

#[test]
fn a_folder_is_woven_in_place() {
    let world = World::new();
    world.write("classes/notes.txt", "mine");
    world.wove(&["classes", "classes"]);
    assert_eq!(world.read("classes/notes.txt"), b"mine");
    let ran = world.tool("java", &["-cp", "classes", "com.acme.Main"]);
    assert_eq!(ran.out, PRINTED);
    world.assert_traced();
    // Once more does nothing.
    let before = world.read("classes/com/acme/Main.class");
    world.wove(&["classes", "classes"]);
    assert_eq!(world.read("classes/com/acme/Main.class"), before);
}

#[test]
fn files_of_the_target_that_are_not_written_stay() {
    let world = World::new();
    world.write("out/mine.txt", "mine");
    world.write("out/com/acme/Main.class", "old");
    world.wove(&["classes", "out"]);
    assert_eq!(world.read("out/mine.txt"), b"mine");
    let ran = world.tool("java", &["-cp", "out", "com.acme.Main"]);
    assert_eq!(ran.out, PRINTED);
    assert!(!fs::read_dir(world.path()).unwrap().any(|e| {
        e.unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with(".weave-")
    }));
}

#[test]
fn files_that_come_out_the_same_are_left_untouched() {
    let world = World::new();
    world.write("classes/notes.txt", "mine");
    world.write(
        "rules.toml",
        "version = 1\n[[aspect]]\nmatch = { type = \"com.acme.Fib\", method = \"*\" }\n",
    );
    world.wove(&["--rules", "rules.toml", "classes", "out"]);
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let names = world.files("out");
    for name in &names {
        let file = fs::File::options()
            .write(true)
            .open(world.at("out").join(name))
            .unwrap();
        file.set_modified(old).unwrap();
    }
    let rewritten = || -> Vec<String> {
        let mut files = world.files("out");
        files.retain(|name| {
            let metadata = world.at("out").join(name).metadata().unwrap();
            metadata.modified().unwrap() != old
        });
        files
    };
    world.wove(&["--rules", "rules.toml", "classes", "out"]);
    assert!(
        !rewritten()
            .iter()
            .any(|name| name.starts_with("com/acme/") || name == "notes.txt"),
        "{:?}",
        rewritten()
    );

    // Of the same length, and of another one.
    world.write("out/notes.txt", "Mine");
    world.write("out/com/acme/Fib.class", "old");
    world.wove(&["--rules", "rules.toml", "classes", "out"]);
    let now = rewritten();
    assert!(
        now.contains(&"notes.txt".to_owned()) && now.contains(&"com/acme/Fib.class".to_owned())
    );
    assert!(!now.contains(&"com/acme/Main.class".to_owned()));
    world.wove(&["--rules", "rules.toml", "classes", "fresh"]);
    assert_eq!(world.files("out"), names);
    for name in names {
        assert_eq!(
            world.read(&format!("out/{name}")),
            world.read(&format!("fresh/{name}")),
            "{name}"
        );
    }
}

#[test]
fn an_output_inside_the_input_is_refused() {
    let world = World::new();
    let ran = world.weave(&["classes", "classes/woven"]);
    assert_eq!(ran.status, 2);
    insta::assert_snapshot!(ran.err, @"error: the output folder classes/woven lies inside the input folder: the next run would weave it again; choose one outside");
    assert!(!world.at("classes/woven").exists());
}

#[cfg(unix)]
#[test]
fn links_out_of_the_folder_are_not_followed_and_said_so() {
    let world = World::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "x").unwrap();
    std::os::unix::fs::symlink(outside.path(), world.at("classes/link")).unwrap();
    let ran = world.wove(&["classes", "out"]);
    assert!(
        ran.err.contains("a link to a folder; not copied"),
        "{}",
        ran.err
    );
    assert!(!world.at("out/link").exists());
}

#[test]
fn jars_that_stay_as_they_are_are_copied_or_left_in_place() {
    let world = World::new();
    fs::create_dir(world.at("in")).unwrap();
    for name in ["Fib", "Main"] {
        let (jar, class) = (format!("in/{name}.jar"), format!("com/acme/{name}.class"));
        world.tool("jar", &["cf", &jar, "-C", "classes", &class]);
    }
    world.write(
        "weave.toml",
        "version = 1\n[[aspect]]\nmatch = { type = \"**.Fib\" }\n",
    );
    let main = world.read("in/Main.jar");
    world.write("out/Main.jar", "older");
    world.wove(&["in", "out"]);
    assert_eq!(world.read("out/Main.jar"), main);
    world.wove(&["in", "in"]);
    assert_eq!(world.read("in/Main.jar"), main);
    assert_eq!(world.read("in/Fib.jar"), world.read("out/Fib.jar"));
    let ran = world.tool(
        "java",
        &["-cp", "out/Main.jar:out/Fib.jar", "com.acme.Main"],
    );
    assert_eq!(ran.out, PRINTED);
    world.assert_traced();
}

/// A jar of one class whose manifest has these lines.
fn jar(world: &World, name: &str, class: &str, manifest: &str) {
    world.write("mf", manifest);
    fs::create_dir_all(world.at(name).parent().unwrap()).unwrap();
    let class = format!("com/acme/{class}.class");
    world.tool("jar", &["cfm", name, "mf", "-C", "classes", &class]);
}

fn manifest(world: &World, jar: &str) -> String {
    let text = String::from_utf8(world.member(jar, "META-INF/MANIFEST.MF")).unwrap();
    text.replace("\r\n ", "").replace("\r\n", "\n")
}

/// Frameworks do not look at `Class-Path`; tests/harness/loaders.py runs two.
#[test]
fn bundles_import_the_hook_library() {
    let world = World::new();
    let bundle = "Bundle-ManifestVersion: 2\nBundle-SymbolicName: acme\n";
    jar(&world, "in/main.jar", "Main", bundle);
    jar(
        &world,
        "in/fib.jar",
        "Fib",
        &format!("{bundle}Fragment-Host: acme.main\n"),
    );
    world.wove(&["in", "out"]);
    let import = "\nDynamicImport-Package: weave.runtime\n";
    assert!(manifest(&world, "out/main.jar").contains(import));
    let fragment = manifest(&world, "out/fib.jar");
    assert!(
        fragment.contains("\nImport-Package: weave.runtime;resolution:=optional\n"),
        "{fragment}"
    );
    // The library is a bundle, too, and knows the names of the whole folder.
    let library = manifest(&world, "out/weave-runtime.jar");
    assert!(
        library.contains("\nBundle-SymbolicName: weave.runtime\n"),
        "{library}"
    );
    assert!(
        library.contains("\nExport-Package: weave.runtime;version="),
        "{library}"
    );
    let map = world.member("out/weave-runtime.jar", "META-INF/weave/symbols");
    assert!(map == world.read("out.wsym"));
    assert_eq!(world.symbols("out.wsym").len(), 3);
    // Woven again in place, with rules that leave nothing new, the library still knows all.
    world.wove(&["out", "out"]);
    assert!(map == world.member("out/weave-runtime.jar", "META-INF/weave/symbols"));

    // Alone, a bundle has the package; where it says which of its parts are searched, that part is one.
    jar(
        &world,
        "alone.jar",
        "Main",
        &format!("{bundle}Bundle-ClassPath: lib/a.jar\n"),
    );
    world.wove(&["alone.jar", "alone.jar"]);
    let alone = manifest(&world, "alone.jar");
    assert!(
        alone.contains("\nBundle-ClassPath: lib/a.jar,.\n"),
        "{alone}"
    );
    jar(&world, "none.jar", "Main", bundle);
    world.wove(&["none.jar", "none.jar", "--no-runtime"]);
    assert!(manifest(&world, "none.jar").contains(import));
}

/// A jar that comes later, in two steps: the library has the names of both.
#[test]
fn the_library_of_a_folder_knows_what_was_woven_before() {
    let world = World::new();
    jar(&world, "lib/fib.jar", "Fib", "");
    world.wove(&["lib", "lib"]);
    jar(
        &world,
        "lib/main.jar",
        "Main",
        "Main-Class: com.acme.Main\nClass-Path: fib.jar\n",
    );
    world.wove(&["lib", "lib"]);
    let map = world.member("lib/weave-runtime.jar", "META-INF/weave/symbols");
    world.write("map", &map);
    assert_eq!(world.symbols("map").len(), 3);
    assert_eq!(world.tool("java", &["-jar", "lib/main.jar"]).out, PRINTED);
    world.assert_traced();
}

/// What scans a folder for plug-ins takes each jar there for one.
#[test]
fn a_folder_of_plugins_gets_no_jar_that_looks_like_one() {
    let world = World::new();
    jar(
        &world,
        "plugins/a.jar",
        "Main",
        "Plugin-Id: a\nMain-Class: com.acme.Main\nClass-Path: lib/fib.jar\n",
    );
    jar(&world, "plugins/lib/fib.jar", "Fib", "");
    world.wove(&["plugins", "out"]);
    assert_eq!(
        world.files("out"),
        [".weave/weave-runtime.jar", "a.jar", "lib/fib.jar"]
    );
    assert_eq!(world.tool("java", &["-jar", "out/a.jar"]).out, PRINTED);
    world.assert_traced();
    world.wove(&["out", "again"]);
    assert!(world.read("out/a.jar") == world.read("again/a.jar"));
    // Where plug-ins lie deeper, the library beside their folder is none of them.
    fs::create_dir(world.at("app")).unwrap();
    fs::rename(world.at("plugins"), world.at("app/plugins")).unwrap();
    world.wove(&["app", "app"]);
    assert!(world.at("app/weave-runtime.jar").exists());
}

/// Two modules as folders: `acme.main` calls `acme.fib`.
fn exploded(world: &World, main: &str, fib: &str) {
    world.write(
        "f/module-info.java",
        "module acme.fib { exports com.acme.fib; }",
    );
    let source = crate::support::FIB.replace("package com.acme", "package com.acme.fib");
    world.write("f/Fib.java", source);
    world.write(
        "m/module-info.java",
        "module acme.main { requires acme.fib; }",
    );
    let source = crate::support::MAIN.replace("Fib.of", "com.acme.fib.Fib.of");
    world.write("m/Main.java", source);
    world.tool(
        "javac",
        &["-g", "-d", fib, "f/module-info.java", "f/Fib.java"],
    );
    world.tool(
        "javac",
        &[
            "-g",
            "-p",
            fib,
            "-d",
            main,
            "m/module-info.java",
            "m/Main.java",
        ],
    );
}

fn run_modules(world: &World, path: &str) {
    let ran = world.tool("java", &["-p", path, "-m", "acme.main/com.acme.Main"]);
    assert_eq!(ran.out, PRINTED);
    let report = world.wove(&["report", "run.wtrace", "--json"]).out;
    assert!(
        report.contains("com.acme.fib.Fib.of") && report.contains("com.acme.Main.fail"),
        "{report}"
    );
    fs::remove_file(world.at("run.wtrace")).unwrap();
}

#[test]
fn of_several_exploded_modules_none_has_the_library_for_itself() {
    let world = World::new();
    exploded(&world, "mods/acme.main", "mods/acme.fib");
    world.wove(&["mods", "out"]);
    run_modules(&world, "out");
    assert!(world.at("out/weave-runtime.jar").exists());
    // In place, and again.
    world.wove(&["mods", "mods"]);
    world.wove(&["mods", "mods"]);
    run_modules(&world, "mods");
    // Deeper, beside what is no module; and one of them as a jar.
    world.write("deep/notes/a.txt", "a");
    exploded(&world, "deep/x/main", "deep/x/fib");
    world.wove(&["deep", "deep-out"]);
    run_modules(&world, "deep-out/x");
    exploded(&world, "mixed/main", "fib");
    world.tool("jar", &["cf", "mixed/fib.jar", "-C", "fib", "."]);
    world.wove(&["mixed", "mixed-out"]);
    run_modules(&world, "mixed-out");
    // One alone has the package itself.
    world.wove(&["fib", "fib-out"]);
    assert!(world.at("fib-out/weave/runtime/Hooks.class").exists());
}

/// A build's output: no folder holds all modules, so that the library is told to go onto the module path.
#[test]
fn modules_that_lie_apart_are_told_where_the_library_is() {
    let world = World::new();
    exploded(&world, "in/m/classes", "in/f/classes");
    let ran = world.wove(&["in", "out"]);
    assert!(
        ran.err
            .contains("put out/weave-runtime.jar on the module path"),
        "{}",
        ran.err
    );
    run_modules(&world, "out/m/classes:out/f/classes:out/weave-runtime.jar");
}

/// Hooks with a type, a lambda, a resource and a state of their own.
const TIMES: &str = r#"
package acme.times;

import java.io.InputStream;
import java.util.function.Function;

public final class Times {
    public static final class Call {
        final String text;
        Call(String text) { this.text = text; }
    }

    private static int calls;

    public static Call begin(String method) {
        Function<String, Call> made = Call::new;
        return made.apply(++calls + " " + method);
    }

    public static void end(Call call) throws Exception {
        try (InputStream word = Times.class.getResourceAsStream("word.txt")) {
            System.out.println((char) word.read() + " " + call.text + " " + Class.forName("acme.times.Times").getModule().getName());
        }
    }

    public static int round(java.util.function.IntSupplier proceed) {
        return proceed.getAsInt();
    }
}
"#;

/// What two modules with these hooks print: each has a copy.
const TIMED: &str = "< 1 of acme.fib\nfib 13\n< 3 fail acme.main\n< 2 fail acme.main\n< 1 fail acme.main\ncaught deep at line 16\n";

/// Builds weave modules one by one. No two modules of a layer may have one package.
#[test]
fn modules_that_are_woven_one_by_one_bring_own_hooks_along() {
    let world = World::new();
    exploded(&world, "m/classes", "f/classes");
    world.write("src/Times.java", TIMES);
    world.tool("javac", &["-d", "hooks", "src/Times.java"]);
    world.write("hooks/acme/times/word.txt", "<");
    world.write(
        "weave.toml",
        r#"version = 1
[[library]]
path = "hooks"
[[aspect]]
name = "times"
match = { type = "com.acme.**", method = ["of", "fail"] }
enter = "acme.times.Times.begin(method)"
exit = "acme.times.Times.end(state)"
exception = "acme.times.Times.end(state)"
[[aspect]]
name = "round"
match = { type = "com.acme.**", method = "of" }
around = "acme.times.Times.round(proceed)"
"#,
    );
    world.wove(&["runtime", "library.jar"]);
    let run = |path: &str| {
        let path = format!("{path}:library.jar");
        let ran = world.tool("java", &["-p", &path, "-m", "acme.main/com.acme.Main"]);
        assert!(ran.out.ends_with(TIMED), "{}\n{}", ran.out, ran.err);
        assert_eq!(ran.err, "");
    };
    for module in ["m", "f"] {
        world.wove(&[
            &format!("{module}/classes"),
            &format!("{module}/out"),
            "--no-runtime",
        ]);
        let (jar, woven) = (format!("{module}.jar"), format!("{module}-out.jar"));
        world.tool(
            "jar",
            &["cf", &jar, "-C", &format!("{module}/classes"), "."],
        );
        world.wove(&[&jar, &woven, "--no-runtime"]);
    }
    run("m/out:f/out");
    run("m-out.jar:f-out.jar");
    assert!(
        world
            .names("f-out.jar")
            .contains(&"weave/own/acme/fib/acme/times/word.txt".to_owned())
    );
    // In one folder they are woven alike.
    exploded(&world, "all/m", "all/f");
    world.wove(&["all", "all-out", "--no-runtime"]);
    run("all-out/m:all-out/f");
    let class = "weave/own/acme/fib/acme/times/Times.class";
    assert_eq!(
        world.read(&format!("all-out/f/{class}")),
        world.read(&format!("f/out/{class}"))
    );
    // Of a library that no module sees, the build tells.
    let rules = String::from_utf8(world.read("weave.toml")).unwrap();
    let there = rules.replace("path = \"hooks\"", "path = \"hooks\"\nembed = false");
    world.write("there.toml", there);
    let args = [
        "f/classes",
        "there",
        "--no-runtime",
        "--rules",
        "there.toml",
    ];
    let told = world.wove(&args).err;
    assert!(
        told.contains("the module acme.fib does not see the hooks of"),
        "{told}"
    );
    world.write(
        "hooks/META-INF/MANIFEST.MF",
        "Manifest-Version: 1.0\nAutomatic-Module-Name: acme.times\n",
    );
    let told = world.wove(&args).err;
    assert!(!told.contains("does not see"), "{told}");
    // On a class path the names are the library's.
    fs::remove_file(world.at("f/classes/module-info.class")).unwrap();
    world.wove(&["f/classes", "plain", "--no-runtime"]);
    assert_eq!(
        world.read("plain/acme/times/Times.class"),
        world.read("hooks/acme/times/Times.class")
    );
}

/// Names that other systems would not take come out as they went in.
#[cfg(unix)]
#[test]
fn odd_file_names_come_out_as_they_went_in() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let class = world.read("classes/com/acme/Fib.class");
    let names: [&[u8]; 6] = [
        b"a\\b.txt",
        b"c:d.txt",
        b"C:\\x",
        b"caf\xe9 \xff.txt",
        "\u{fffd}FF.txt".as_bytes(),
        b"f\xfcr/com/acme/Fib.class",
    ];
    for name in names {
        let path = world.at("in").join(OsStr::from_bytes(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(
            path,
            if name.ends_with(b".class") {
                &class[..]
            } else {
                name
            },
        )
        .unwrap();
    }
    fs::rename(world.at("classes"), world.at("in/cl\\asses")).unwrap();
    world.wove(&["in", "out"]);
    for name in names {
        let out = fs::read(world.at("out").join(OsStr::from_bytes(name))).unwrap();
        assert!(if name.ends_with(b".class") {
            out != class
        } else {
            out == name
        });
    }
    let hooks = world
        .at("out")
        .join(OsStr::from_bytes(b"f\xfcr/weave/runtime/Hooks.class"));
    assert!(hooks.exists());
    let ran = world.tool("java", &["-cp", "out/cl\\asses", "com.acme.Main"]);
    assert_eq!(ran.out, PRINTED);
    world.assert_traced();
    world.wove(&["in", "in"]);
    assert_eq!(
        fs::read_dir(world.at("in")).unwrap().count(),
        fs::read_dir(world.at("out")).unwrap().count()
    );
}
