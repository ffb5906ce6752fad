//! Jars of all kinds: woven ones run as before and are traced; what nothing matches stays as it is.

use crate::apks::archive;
use crate::support::{PRINTED, World, member};
use std::collections::BTreeMap;
use weave::internals::container::zip::{Archive, Method};

const NOTHING: &str =
    "version = 1\n[[aspect]]\nname = \"none\"\nmatch = { type = \"no.such.Type\" }\n";

#[test]
fn a_woven_jar_runs_as_before_and_is_traced() {
    let world = World::with_jar();
    let ran = world.wove(&["app.jar", "out.jar"]);
    insta::assert_snapshot!(ran.err, @"wove 3 methods of 2 classes in 1 artifact -> out.jar");
    assert_eq!(
        world.tool("java", &["-Xverify:all", "-jar", "out.jar"]).out,
        PRINTED
    );
    world.assert_traced();
    assert_eq!(world.carried("out.jar", ""), world.read("out.jar.wsym"));
}

#[test]
fn what_no_rule_matches_is_identical_and_said_so() {
    let world = World::with_jar();
    world.write("none.toml", NOTHING);
    let ran = world.wove(&["app.jar", "out.jar", "--rules", "none.toml"]);
    insta::assert_snapshot!(ran.err, @r"
    warning: aspect `none` matched no method
    nothing was woven: out.jar is a copy of app.jar
    ");
    assert_eq!(world.read("out.jar"), world.read("app.jar"));
    assert!(!world.at("out.jar.wsym").exists());
}

#[test]
fn a_woven_jar_is_not_woven_again() {
    let world = World::with_jar();
    world.wove(&["app.jar", "once.jar"]);
    let ran = world.wove(&["once.jar", "twice.jar", "--json"]);
    assert_eq!(world.read("once.jar"), world.read("twice.jar"));
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["left"]["already-woven"], 3);
}

#[test]
fn fast_packs_the_same_members_less_well() {
    let world = World::new();
    // One class that packs at the level for small members, one at that for large ones.
    for (name, methods) in [("Small", 40), ("Large", 900)] {
        let body: String = (0..methods)
            .map(|n| {
                let (a, b) = (n * 7919 % 1009, n * 104_729 % 997);
                format!(
                    "static String text{n}(int x) {{ return x > {a} ? \"text {b}\" + x : \"{a} {n}\" + (x * {b}); }}\n"
                )
            })
            .collect();
        let source = format!("{name}.java");
        world.write(&source, format!("class {name} {{\n{body}}}\n"));
        let args = ["-g", "--release", "8", "-Xlint:-options", "-d", "classes"];
        world.tool("javac", &[&args[..], &[&source]].concat());
    }
    world.tool("jar", &["cf", "app.jar", "-C", "classes", "."]);
    world.wove(&["app.jar", "thorough.jar"]);
    world.wove(&["app.jar", "fast.jar", "--fast"]);
    let (thorough, fast) = (world.read("thorough.jar"), world.read("fast.jar"));
    assert_eq!(world.names("fast.jar"), world.names("thorough.jar"));
    for name in world.names("fast.jar") {
        assert_eq!(member(&fast, &name), member(&thorough, &name), "{name}");
    }
    assert_eq!(world.read("fast.jar.wsym"), world.read("thorough.jar.wsym"));
    let packed = |bytes: &[u8], name: &str| {
        let archive = Archive::open(bytes).unwrap();
        let found = archive.members().iter().find(|m| m.name() == name);
        found.unwrap().packed().len()
    };
    for name in ["Small.class", "Large.class"] {
        assert!(packed(&fast, name) > packed(&thorough, name), "{name}");
    }
    assert!(fast.len() > thorough.len());
}

#[test]
fn weaving_in_two_steps_keeps_the_first_steps_symbols() {
    let world = World::with_jar();
    let rule = |ty: &str| {
        format!("version = 1\n[[aspect]]\nname = \"x\"\nmatch = {{ type = \"{ty}\" }}\n")
    };
    world.write("fib.toml", rule("com.acme.Fib"));
    world.write("main.toml", rule("com.acme.Main"));
    world.wove(&["app.jar", "a.jar", "--rules", "fib.toml"]);
    world.wove(&["a.jar", "b.jar", "--rules", "main.toml"]);
    let names: Vec<_> = world.names("b.jar");
    let count = |name: &str| names.iter().filter(|n| *n == name).count();
    assert_eq!(count("META-INF/weave/symbols"), 1);
    assert_eq!(names.iter().filter(|n| n.ends_with(".wsym")).count(), 1);
    assert_eq!(world.carried("b.jar", ""), world.read("b.jar.wsym"));
    assert_eq!(count("weave/runtime/Hooks.class"), 1);
    assert_eq!(world.symbols("a.jar.wsym").len(), 1);
    assert_eq!(world.symbols("b.jar.wsym").len(), 3);
    assert_eq!(world.tool("java", &["-jar", "b.jar"]).out, PRINTED);
    world.assert_traced();
}

#[test]
fn without_the_library_the_program_needs_it_on_its_class_path() {
    let world = World::with_jar();
    world.wove(&["app.jar", "out.jar", "--no-runtime"]);
    assert!(
        !world
            .names("out.jar")
            .iter()
            .any(|n| n.starts_with("weave/"))
    );
    world.wove(&["runtime"]);
    let ran = world.tool(
        "java",
        &["-cp", "out.jar:weave-runtime.jar", "com.acme.Main"],
    );
    assert_eq!(ran.out, PRINTED);
    world.assert_traced();
}

#[test]
fn a_single_class_is_woven() {
    let world = World::new();
    world.wove(&[
        "classes/com/acme/Fib.class",
        "classes/com/acme/Fib.class",
        "--symbols",
        "fib.wsym",
    ]);
    assert_eq!(world.symbols("fib.wsym").len(), 1);
    world.wove(&["runtime"]);
    let ran = world.tool(
        "java",
        &["-cp", "classes:weave-runtime.jar", "com.acme.Main"],
    );
    assert_eq!(ran.out, PRINTED);
    assert!(world.at("run.wtrace").exists());
}

/// Where a nested archive's data lies, and how it is packed.
fn packing(jar: &[u8], name: &str) -> (Method, usize) {
    let archive = Archive::open(jar).unwrap();
    let member = archive.find(name).unwrap();
    (member.method(), member.data_offset())
}

#[test]
fn nested_jars_are_woven_and_stay_packed_as_they_were() {
    let world = World::new();
    world.tool(
        "jar",
        &["cf", "lib.jar", "-C", "classes", "com/acme/Fib.class"],
    );
    world.tool(
        "jar",
        &[
            "cfe",
            "app.jar",
            "com.acme.Main",
            "-C",
            "classes",
            "com/acme/Main.class",
        ],
    );
    world.write("BOOT-INF/lib/odd.jar", "this is no jar");
    std::fs::copy(world.at("lib.jar"), world.at("BOOT-INF/lib/lib.jar")).unwrap();
    world.tool("jar", &["cf0", "deep.jar", "BOOT-INF/lib/lib.jar"]);
    std::fs::copy(world.at("deep.jar"), world.at("BOOT-INF/lib/deep.jar")).unwrap();
    world.tool(
        "jar",
        &[
            "uf0",
            "app.jar",
            "BOOT-INF/lib/lib.jar",
            "BOOT-INF/lib/odd.jar",
        ],
    );
    world.tool("jar", &["uf", "app.jar", "BOOT-INF/lib/deep.jar"]);

    world.wove(&["app.jar", "out.jar"]);
    let (before, after) = (world.read("app.jar"), world.read("out.jar"));
    for name in [
        "BOOT-INF/lib/lib.jar",
        "BOOT-INF/lib/odd.jar",
        "BOOT-INF/lib/deep.jar",
    ] {
        assert_eq!(packing(&before, name).0, packing(&after, name).0, "{name}");
    }
    assert_eq!(packing(&after, "BOOT-INF/lib/lib.jar").0, Method::Stored);
    assert_eq!(packing(&after, "BOOT-INF/lib/deep.jar").0, Method::Deflated);
    assert_eq!(member(&after, "BOOT-INF/lib/odd.jar"), b"this is no jar");
    let lib = member(&after, "BOOT-INF/lib/lib.jar");
    assert_ne!(
        member(&lib, "com/acme/Fib.class"),
        world.read("classes/com/acme/Fib.class")
    );
    let names: Vec<_> = Archive::open(&lib)
        .unwrap()
        .members()
        .iter()
        .map(|m| m.name().to_owned())
        .collect();
    assert!(
        !names.iter().any(|n| n.starts_with("weave/")),
        "the outer jar has it: {names:?}"
    );
    let artifacts: std::collections::BTreeSet<String> = world
        .symbols("out.jar.wsym")
        .iter()
        .map(|(_, s)| s.artifact.to_string())
        .collect();
    assert_eq!(
        artifacts.into_iter().collect::<Vec<_>>(),
        [
            "",
            "BOOT-INF/lib/deep.jar!/BOOT-INF/lib/lib.jar",
            "BOOT-INF/lib/lib.jar"
        ]
    );
    // The woven nested jar runs with the outer one's hook library.
    world.write("lib-out.jar", &lib);
    let ran = world.tool("java", &["-cp", "out.jar:lib-out.jar", "com.acme.Main"]);
    assert_eq!(ran.out, PRINTED);
    world.assert_traced();
}

#[test]
fn a_war_has_the_library_where_its_classes_see_it() {
    let world = World::new();
    world.tool(
        "jar",
        &["cf", "lib.jar", "-C", "classes", "com/acme/Fib.class"],
    );
    world.write("WEB-INF/web.xml", "<web-app/>");
    std::fs::create_dir_all(world.at("WEB-INF/lib")).unwrap();
    std::fs::rename(world.at("lib.jar"), world.at("WEB-INF/lib/lib.jar")).unwrap();
    world.tool("jar", &["cf", "app.war", "WEB-INF"]);
    world.wove(&["app.war", "out.war"]);
    let names = world.names("out.war");
    assert!(names.contains(&"WEB-INF/classes/weave/runtime/Hooks.class".to_owned()));
    let map = world.carried("out.war", "WEB-INF/classes/");
    assert_eq!(map, world.read("out.war.wsym"));
    assert!(!names.iter().any(|n| n.starts_with("weave/")));
}

#[test]
fn an_ear_has_the_library_in_its_library_directory() {
    let world = World::new();
    world.tool(
        "jar",
        &["cf", "ejb.jar", "-C", "classes", "com/acme/Fib.class"],
    );
    world.write(
        "META-INF/application.xml",
        "<application><library-directory>APP-INF/lib</library-directory></application>",
    );
    world.tool(
        "jar",
        &["cf", "app.ear", "META-INF/application.xml", "ejb.jar"],
    );
    world.wove(&["app.ear", "out.ear"]);
    let library = world.member("out.ear", "APP-INF/lib/weave-runtime.jar");
    assert_eq!(
        member(&library, "META-INF/weave/symbols"),
        world.read("out.ear.wsym")
    );
    assert!(!member(&library, "weave/runtime/Hooks.class").is_empty());
    // Woven again, with other rules: still one library, with both maps.
    world.wove(&["out.ear", "again.ear"]);
    assert_eq!(world.read("out.ear"), world.read("again.ear"));
}

#[test]
fn a_zip_of_jars_gets_one_library_that_all_jars_name() {
    let world = World::with_jar();
    std::fs::create_dir_all(world.at("dist/lib")).unwrap();
    std::fs::copy(world.at("app.jar"), world.at("dist/lib/app.jar")).unwrap();
    world.tool("jar", &["cfM", "dist.zip", "dist"]);
    world.wove(&["dist.zip", "out.zip"]);
    world.tool("jar", &["xf", "out.zip"]);
    assert_eq!(
        world.tool("java", &["-jar", "dist/lib/app.jar"]).out,
        PRINTED
    );
    world.assert_traced();
}

#[test]
fn a_signature_goes_when_the_jar_changes_and_stays_when_not() {
    let world = World::with_jar();
    let key = [
        "-genkeypair",
        "-keystore",
        "ks",
        "-storepass",
        "secret",
        "-alias",
        "me",
        "-keyalg",
        "EC",
        "-dname",
        "CN=me",
    ];
    world.tool("keytool", &key);
    world.tool(
        "jarsigner",
        &["-keystore", "ks", "-storepass", "secret", "app.jar", "me"],
    );
    world.write("none.toml", NOTHING);
    world.wove(&["app.jar", "same.jar", "--rules", "none.toml"]);
    assert!(
        world
            .tool("jarsigner", &["-verify", "same.jar"])
            .out
            .contains("jar verified")
    );

    let ran = world.wove(&["app.jar", "out.jar"]);
    insta::assert_snapshot!(ran.err, @r"
    warning: app.jar: its signature no longer fits and was removed; sign it again if it must be signed
    wove 3 methods of 2 classes in 1 artifact -> out.jar
    ");
    assert!(
        world
            .tool("jarsigner", &["-verify", "out.jar"])
            .out
            .contains("jar is unsigned")
    );
    let manifest = String::from_utf8(world.member("out.jar", "META-INF/MANIFEST.MF")).unwrap();
    assert!(!manifest.contains("Digest"), "{manifest}");
    assert!(manifest.contains("Main-Class: com.acme.Main"), "{manifest}");
    assert_eq!(world.tool("java", &["-jar", "out.jar"]).out, PRINTED);
}

/// A module with the program.
fn modular(world: &World) {
    world.write("module-info.java", "module com.acme { exports com.acme; }");
    world.tool(
        "javac",
        &[
            "-d",
            "classes",
            "module-info.java",
            "--patch-module",
            "com.acme=classes",
        ],
    );
    world.tool(
        "jar",
        &["cfe", "app.jar", "com.acme.Main", "-C", "classes", "."],
    );
}

#[test]
fn a_modular_jar_runs_on_the_module_path() {
    let world = World::new();
    modular(&world);
    world.wove(&["app.jar", "out.jar"]);
    let ran = world.tool("java", &["-p", "out.jar", "-m", "com.acme/com.acme.Main"]);
    assert_eq!(ran.out, PRINTED);
    world.assert_traced();
}

#[test]
fn a_folder_of_modular_jars_runs_on_the_module_path() {
    let world = World::new();
    modular(&world);
    std::fs::create_dir(world.at("mods")).unwrap();
    std::fs::rename(world.at("app.jar"), world.at("mods/app.jar")).unwrap();
    world.wove(&["mods", "out"]);
    assert_eq!(world.files("out"), ["app.jar", "weave-runtime.jar"]);
    let ran = world.tool("java", &["-p", "out", "-m", "com.acme/com.acme.Main"]);
    assert_eq!(ran.out, PRINTED);
    world.assert_traced();
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let world = World::with_jar();
    world.tool(
        "jar",
        &["uf0", "app.jar", "-C", "classes", "com/acme/Main.class"],
    );
    std::fs::create_dir_all(world.at("in/lib")).unwrap();
    for name in ["in/a.jar", "in/lib/b.jar", "in/lib/c.jar"] {
        std::fs::copy(world.at("app.jar"), world.at(name)).unwrap();
    }
    for jobs in ["1", "2", "8"] {
        world.wove(&["in", &format!("out{jobs}"), "--jobs", jobs]);
    }
    let files = world.files("out1");
    assert_eq!(
        files,
        ["a.jar", "lib/b.jar", "lib/c.jar", "weave-runtime.jar"]
    );
    for name in files {
        let one = world.read(&format!("out1/{name}"));
        assert!(one == world.read(&format!("out2/{name}")), "{name}");
        assert!(one == world.read(&format!("out8/{name}")), "{name}");
    }
    assert_eq!(world.read("out1.wsym"), world.read("out8.wsym"));
}

#[test]
fn base_types_of_a_reference_count_for_extends() {
    let world = World::new();
    let source =
        "public class Job extends lib.Base { public int work(int n) { return n * n + 1; } }";
    world.write(
        "lib/Base.java",
        "package lib; public class Base implements Marker {}",
    );
    world.write("lib/Marker.java", "package lib; public interface Marker {}");
    world.write("Job.java", source);
    let sources = ["lib/Base.java", "lib/Marker.java", "Job.java"];
    world.tool("javac", &[&["-d", "out"][..], &sources].concat());
    world.tool("jar", &["cf", "lib.jar", "-C", "out", "lib"]);
    world.tool("jar", &["cf", "job.jar", "-C", "out", "Job.class"]);
    let rules = "version = 1\n[[aspect]]\nname = \"jobs\"\nmatch = { extends = \"lib.Marker\" }\n";
    world.write("weave.toml", rules);
    let alone = world.wove(&["job.jar", "alone.jar"]);
    assert!(
        alone.err.contains("aspect `jobs` matched no method"),
        "{}",
        alone.err
    );
    let with = world.wove(&["job.jar", "with.jar", "--reference", "lib.jar"]);
    assert!(
        with.err.starts_with("wove 1 method of 1 class"),
        "{}",
        with.err
    );
}

#[test]
fn a_multi_release_jar_is_woven_in_every_version() {
    let world = World::with_jar();
    let newer = crate::support::FIB.replace("n < 2 ? n", "n <= 1 ? n");
    world.write("v11/Fib.java", newer);
    world.tool(
        "javac",
        &["--release", "11", "-d", "v11/classes", "v11/Fib.java"],
    );
    world.tool(
        "jar",
        &["uf", "app.jar", "--release", "11", "-C", "v11/classes", "."],
    );
    world.tool("jar", &["i", "app.jar"]);
    assert!(
        world
            .names("app.jar")
            .contains(&"META-INF/INDEX.LIST".to_owned())
    );
    world.wove(&["app.jar", "out.jar"]);
    let names = world.names("out.jar");
    assert!(
        !names.contains(&"META-INF/INDEX.LIST".to_owned()),
        "it does not know the hook library"
    );
    // Both versions of the method have an id of their own.
    let symbols = world.symbols("out.jar.wsym");
    let of = symbols.iter().filter(|(_, s)| &*s.method == "of");
    assert_eq!(of.count(), 2);
    assert_eq!(world.tool("java", &["-jar", "out.jar"]).out, PRINTED);
    world.assert_traced();
}

#[test]
fn folders_of_the_output_are_made() {
    let world = World::with_jar();
    world.wove(&[
        "app.jar",
        "new/deep/out.jar",
        "--symbols",
        "maps/of/app.wsym",
    ]);
    assert_eq!(world.symbols("maps/of/app.wsym").len(), 3);
    let ran = world.tool("java", &["-jar", "new/deep/out.jar"]);
    assert_eq!(ran.out, PRINTED);
    world.assert_traced();
    world.wove(&["classes", "other/deep/out"]);
    assert!(world.at("other/deep/out/com/acme/Fib.class").exists());
    world.wove(&["runtime", "another/weave-runtime.jar"]);
    assert!(world.at("another/weave-runtime.jar").exists());
    // Of those for .NET only the one for .NET 8 knows activities.
    world.wove(&["runtime", "Weave.Runtime.dll"]);
    world.wove(&["runtime", "--framework", "net8.0", "new/Weave.Runtime.dll"]);
    let [standard, newest] = ["Weave.Runtime.dll", "new/Weave.Runtime.dll"].map(|file| {
        let library = std::fs::read(world.at(file)).unwrap();
        let name = b"ActivityListener";
        library.windows(name.len()).any(|bytes| bytes == name)
    });
    assert!(!standard && newest);
    // Not inside the input, however it is written.
    for output in [
        "classes/new/out",
        "classes/./new/x/../out",
        "new/../classes/out",
    ] {
        let ran = world.weave(&["classes", output]);
        assert_eq!(ran.status, 2, "{output}: {}", ran.err);
        assert!(!world.at("classes/new").exists() && !world.at("classes/out").exists());
    }
}

/// What `jlink` makes runtimes of: the classes lie in a folder of their own.
#[test]
fn a_jmod_is_linked_into_a_runtime_that_is_traced() {
    let world = World::new();
    modular(&world);
    world.tool("jar", &["xf", "app.jar"]);
    world.write("conf/app.properties", "a=b");
    std::fs::create_dir(world.at("exploded")).unwrap();
    for name in ["module-info.class", "com"] {
        std::fs::rename(world.at(name), world.at(&format!("exploded/{name}"))).unwrap();
    }
    let create = [
        "create",
        "--class-path",
        "exploded",
        "--config",
        "conf",
        "mods/app.jmod",
    ];
    std::fs::create_dir(world.at("mods")).unwrap();
    world.tool("jmod", &create);
    world.wove(&["mods/app.jmod", "woven/app.jmod"]);
    let listed = world.tool("jmod", &["list", "woven/app.jmod"]).out;
    assert!(
        listed.contains("classes/weave/runtime/Hooks.class"),
        "{listed}"
    );
    assert!(
        listed.contains("classes/META-INF/weave/symbols"),
        "{listed}"
    );
    assert!(listed.contains("conf/app.properties"), "{listed}");
    let link = |path: &str, image: &str| {
        let args = ["-p", path, "--add-modules", "com.acme", "--output", image];
        world.tool("jlink", &args);
        let java = world.at(image).join("bin/java").display().to_string();
        let ran = world.tool(&java, &["-m", "com.acme/com.acme.Main"]);
        assert_eq!(ran.out, PRINTED);
        world.assert_traced();
    };
    link("woven", "image");
    // In a folder it reads the library's module, as jars do.
    world.wove(&["mods", "folder"]);
    assert_eq!(world.files("folder"), ["app.jmod", "weave-runtime.jar"]);
    link("folder", "image2");
    // A rule about packages finds the classes in there.
    world.write(
        "fib.toml",
        "version = 1\n[[aspect]]\nmatch = { type = \"com.acme.Fib\" }\n",
    );
    let ran = world.wove(&["mods/app.jmod", "fib.jmod", "--rules", "fib.toml"]);
    assert!(ran.err.starts_with("wove 1 method"), "{}", ran.err);
}

#[test]
fn jars_that_are_packed_into_one_keep_all_their_maps() {
    let world = World::new();
    let mut packed: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for name in ["Fib", "Main"] {
        let class = format!("com/acme/{name}.class");
        let bytes = world.read(&format!("classes/{class}"));
        world.write(&format!("{name}.jar"), archive(&[(&class, &bytes)]));
        let (from, to) = (format!("{name}.jar"), format!("{name}-out.jar"));
        world.wove(&[&from, &to]);
        for member in world.names(&format!("{name}-out.jar")) {
            let bytes = world.member(&format!("{name}-out.jar"), &member);
            packed.insert(member, bytes);
        }
    }
    let extra = "class Extra { int twice(int n) { int m = n; m += n; return m; } }";
    world.write("Extra.java", extra);
    world.tool("javac", &["-d", ".", "Extra.java"]);
    packed.insert("Extra.class".to_owned(), world.read("Extra.class"));
    let members: Vec<(&str, &[u8])> = packed.iter().map(|(n, b)| (&**n, &**b)).collect();
    world.write("fat.jar", archive(&members));
    world.tool("java", &["-cp", "fat.jar", "com.acme.Main"]);
    world.assert_traced();
    // Woven again, it has one map of all.
    world.wove(&["fat.jar", "again.jar"]);
    assert_eq!(world.carried("again.jar", ""), world.read("again.jar.wsym"));
    assert_eq!(world.symbols("again.jar.wsym").len(), 4);
    let names = world.names("again.jar");
    assert_eq!(names.iter().filter(|n| n.ends_with(".wsym")).count(), 1);
}

#[test]
fn classes_are_chosen_by_the_release_that_they_are_compiled_for() {
    let world = World::new();
    for (release, name) in [("8", "Old"), ("17", "New")] {
        let source = format!("{name}.java");
        let text = format!(
            "public class {name} {{ static int twice(int x) {{ int y = x; for (int i = 0; i < 3; i++) y += i; return y; }} }}"
        );
        world.write(&source, text);
        let options = [
            "-Xlint:-options",
            "--release",
            release,
            "-d",
            "both",
            &source,
        ];
        world.tool("javac", &options);
    }
    let woven = |range: &str| {
        let rules = format!(
            "version = 1\n[[aspect]]\nmatch = {{ type = '*', method = 'twice', platform = '{range}' }}\n"
        );
        world.write("platform.toml", rules);
        let _ = std::fs::remove_dir_all(world.at("out"));
        world.wove(&["--rules", "platform.toml", "both", "out"]);
        ["Old", "New"].map(|name| {
            world.read(&format!("out/{name}.class")) != world.read(&format!("both/{name}.class"))
        })
    };
    assert_eq!(woven(">=17"), [false, true]);
    assert_eq!(woven("<17"), [true, false]);
    assert_eq!(woven("8.*"), [true, false]);
}
