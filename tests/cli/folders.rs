//! Folders: class paths, build outputs, unpacked applications.

use crate::support::{PRINTED, World};
use std::fs;

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
    assert_eq!(
        world.read("out/main/META-INF/weave/symbols"),
        world.read("out.wsym")
    );
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
