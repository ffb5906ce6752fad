//! What build tools need: messages that they read, lists of what a result was made of, and a cache.

use crate::support::{GENERIC, PART, STEPS, STEPS_PDB, TAIL, WHOLE, World};
use crate::zipgen;
use std::collections::BTreeMap;
use std::fs;

const WRONG: &str = "version = 1\n\n[[aspect]]\nname = \"a\"\nmatch = { tipe = \"A\" }\n";
const IDLE: &str = "version = 1\n\n[[aspect]]\nname = \"fib\"\nmatch = { type = \"Fib\" }\n\n[[aspect]]\nname = \"nobody\"\nmatch = { type = \"Nobody\" }\n";

#[test]
fn wrong_rules_are_told_by_line_and_column() {
    let world = World::with_jar();
    world.write("weave.toml", WRONG);
    let ran = world.weave(&["app.jar", "out.jar", "--message-format", "msbuild"]);
    assert_eq!(ran.status, 2);
    let expected =
        "weave.toml(5,11): error WV0003: unknown key `tipe` in `match`: did you mean `type`?";
    assert!(ran.err.starts_with(expected), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1);
    let ran = world.weave(&["app.jar", "out.jar", "--message-format", "json"]);
    let json: serde_json::Value = serde_json::from_str(ran.err.trim()).unwrap();
    assert_eq!(json["code"], "WV0003");
    assert_eq!((&json["line"], &json["column"]), (&5.into(), &11.into()));
    assert_eq!(json["file"], "weave.toml");
}

#[test]
fn other_errors_and_warnings_have_codes() {
    let world = World::with_jar();
    let ran = world.weave(&["no.jar", "out.jar", "--message-format", "msbuild"]);
    assert_eq!(ran.status, 1);
    assert!(
        ran.err
            .starts_with("weave : error WV0006: cannot read no.jar"),
        "{}",
        ran.err
    );
    world.write("weave.toml", IDLE);
    let ran = world.wove(&["app.jar", "out.jar", "--message-format", "msbuild"]);
    insta::assert_snapshot!(ran.err, @"weave.toml(7,1): warning WV0120: aspect `nobody` matched no method");
}

#[test]
fn a_depfile_lists_what_the_output_was_made_of() {
    let world = World::with_jar();
    world.write(
        "my rules.toml",
        "version = 1\n[[aspect]]\nmatch = { type = \"Fib\" }\n",
    );
    let rules = ["--rules", "my rules.toml", "--reference", "classes"];
    world.wove(&[&["app.jar", "out.jar", "--depfile", "out.d"], &rules[..]].concat());
    let list = String::from_utf8(world.read("out.d")).unwrap();
    let expected = [
        "out.jar: \\",
        "  app.jar \\",
        "  classes/com/acme/Fib.class \\",
        "  classes/com/acme/Main.class \\",
        "  my\\ rules.toml",
    ];
    assert_eq!(list.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn the_schema_is_json_and_editors_find_it() {
    let world = World::new();
    world.wove(&["schema", "weave.schema.json"]);
    let schema: serde_json::Value =
        serde_json::from_slice(&world.read("weave.schema.json")).unwrap();
    assert_eq!(schema["title"], "Rules of weave");
    assert_eq!(
        world.wove(&["schema"]).out.as_bytes(),
        world.read("weave.schema.json")
    );
}

/// Five jars, of which two are the same, and loose classes of the same names: ids must be moved.
fn five_jars(world: &World) {
    for i in 0..4 {
        world.write("note.txt", format!("jar {i}"));
        let jar = format!("in/lib {i}.jar");
        fs::create_dir_all(world.at("in")).unwrap();
        let class = ["Fib", "Main"][i % 2].to_owned() + ".class";
        let class = format!("com/acme/{class}");
        world.tool("jar", &["cf", &jar, "note.txt", "-C", "classes", &class]);
    }
    fs::copy(world.at("in/lib 1.jar"), world.at("in/same.jar")).unwrap();
    fs::create_dir_all(world.at("in/com/acme")).unwrap();
    fs::copy(
        world.at("classes/com/acme/Fib.class"),
        world.at("in/com/acme/Fib.class"),
    )
    .unwrap();
}

fn contents(world: &World, dir: &str) -> BTreeMap<String, Vec<u8>> {
    let files = world.files(dir).into_iter();
    let mut all: BTreeMap<_, _> = files
        .map(|name| (name.clone(), world.read(&format!("{dir}/{name}"))))
        .collect();
    all.insert("the map".into(), world.read(&format!("{dir}.wsym")));
    all
}

fn entries(world: &World) -> Vec<String> {
    world
        .files("cache")
        .into_iter()
        .filter(|name| name.ends_with(".woven"))
        .collect()
}

#[test]
fn a_cached_folder_comes_out_as_a_woven_one() {
    let world = World::new();
    five_jars(&world);
    world.write("weave.toml", IDLE);
    let plain = world.wove(&["in", "plain"]);
    let expected = contents(&world, "plain");
    let told = |text: &str, dir: &str| text.replace(dir, "OUT");
    for run in ["first", "second"] {
        let ran = world.wove(&["in", run, "--cache", "cache"]);
        assert_eq!(told(&ran.err, run), told(&plain.err, "plain"), "{run}");
        assert!(contents(&world, run) == expected, "{run}");
    }
    assert_eq!(entries(&world).len(), 5, "each jar has an entry");

    // One changes: the others' entries stay of use, and one is new.
    world.tool(
        "jar",
        &["uf", "in/lib 2.jar", "-C", "classes", "com/acme/Main.class"],
    );
    world.wove(&["in", "plain2"]);
    world.wove(&["in", "third", "--cache", "cache"]);
    assert!(contents(&world, "third") == contents(&world, "plain2"));
    assert_eq!(entries(&world).len(), 6);

    // Other rules, other results.
    world.write(
        "weave.toml",
        "version = 1\n[[aspect]]\nmatch = { type = \"Main\" }\n",
    );
    world.wove(&["in", "plain3"]);
    world.wove(&["in", "fourth", "--cache", "cache"]);
    assert!(contents(&world, "fourth") == contents(&world, "plain3"));
}

/// A library whose one hook takes this.
fn own_hooks(world: &World, parameter: &str) {
    let log = format!(
        "package acme; public class Log {{ public static void to({parameter} value) {{ System.out.println(value); }} }}"
    );
    world.write("src/acme/Log.java", log);
    let options = ["--release", "8", "-Xlint:-options", "-d", "hooks"];
    world.tool("javac", &[&options[..], &["src/acme/Log.java"]].concat());
    world.tool("jar", &["cf", "hooks.jar", "-C", "hooks", "."]);
}

#[test]
fn own_hooks_and_values_from_the_cache() {
    let world = World::with_jar();
    five_jars(&world);
    own_hooks(&world, "int");
    let rules = r#"version = 1
[[library]]
path = "hooks.jar"
[[aspect]]
match = { type = "com.acme.*", method = ["fib", "fail"] }
enter = "acme.Log.to(arg(0))"
record = ["n = arg(0)"]
mask = ["secret=*"]
"#;
    world.write("weave.toml", rules);
    let runs = |args: &[&str], hits: &[u64]| {
        world.wove(&[args, &["plain"]].concat());
        for &hits in hits {
            assert_eq!(cached(&world, &[args, &["out"]].concat()), hits, "{args:?}");
            assert!(contents(&world, "out") == contents(&world, "plain"));
        }
        for out in ["plain", "out"] {
            fs::remove_dir_all(world.at(out)).unwrap();
        }
    };
    runs(&["in"], &[0, 5]);
    // Each jar carries what its hooks need.
    runs(&["in", "--no-runtime"], &[0, 5]);
    // Another library: other calls, another class beside them, and in the end the first one again.
    own_hooks(&world, "long");
    runs(&["in"], &[0, 5]);
    own_hooks(&world, "int");
    runs(&["in"], &[5]);
    // The same hooks that the program brings itself.
    world.write(
        "weave.toml",
        rules.replace(
            "path = \"hooks.jar\"",
            "path = \"hooks.jar\"\nembed = false",
        ),
    );
    runs(&["in"], &[0, 5]);

    // Hooks of the input itself: another jar with them changes the others.
    let here = rules.replace("[[library]]\npath = \"hooks.jar\"\n", "");
    world.write("weave.toml", here);
    for parameter in ["int", "long"] {
        own_hooks(&world, parameter);
        fs::copy(world.at("hooks.jar"), world.at("in/with hooks.jar")).unwrap();
        runs(&["in"], &[0, 6]);
    }

    // One jar, its hooks beside it in the jar.
    world.write("weave.toml", rules);
    world.wove(&["app.jar", "plain.jar"]);
    for hits in [0, 1] {
        assert_eq!(cached(&world, &["app.jar", "out.jar"]), hits);
        assert!(world.read("out.jar") == world.read("plain.jar"));
    }
}

#[test]
fn what_does_not_fit_is_not_kept() {
    let world = World::with_jar();
    five_jars(&world);
    own_hooks(&world, "java.util.List<String>");
    world.write(
        "weave.toml",
        "version = 1\n[[library]]\npath = \"hooks.jar\"\n[[aspect]]\nmatch = { method = \"fail\" }\nenter = \"acme.Log.to(arg(0))\"\n",
    );
    let told: Vec<String> = [(), ()]
        .map(|()| world.weave(&["in", "out", "--cache", "cache"]))
        .map(|ran| (assert_eq!(ran.status, 2), ran.err).1)
        .into();
    assert!(
        told[0].contains("no `acme.Log.to` takes (int)"),
        "{}",
        told[0]
    );
    assert_eq!(told[0], told[1]);
    assert!(!world.at("out").exists());
}

/// How many artifacts a job took from the cache.
fn cached(world: &World, args: &[&str]) -> u64 {
    let ran = world.wove(&[args, &["--json", "--cache", "cache"]].concat());
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    json["cached"].as_u64().unwrap()
}

/// Assemblies of which two are the same, one with symbols files that differ, and one has a netmodule.
fn assemblies() -> World {
    let world = World::new();
    for (name, bytes) in [
        ("in/a/steps.dll", STEPS),
        ("in/a/steps.pdb", STEPS_PDB),
        ("in/b/steps.dll", STEPS),
        ("in/generic.dll", GENERIC),
        ("in/part.netmodule", PART),
        ("in/tail.dll", TAIL),
        ("in/whole.exe", WHOLE),
    ] {
        world.write(name, bytes);
    }
    world
}

#[test]
fn cached_assemblies_come_out_as_woven_ones() {
    let world = assemblies();
    let plain = world.wove(&["in", "plain"]);
    let expected = contents(&world, "plain");
    assert!(expected.contains_key("a/steps.pdb"));
    let told = |text: &str, dir: &str| text.replace(dir, "OUT");
    for run in ["first", "second"] {
        let ran = world.wove(&["in", run, "--cache", "cache"]);
        assert_eq!(told(&ran.err, run), told(&plain.err, "plain"), "{run}");
        assert!(contents(&world, run) == expected, "{run}");
    }
    // What the map of an assembly with netmodules holds follows from these, too.
    assert_eq!(entries(&world).len(), 5);
    assert_eq!(cached(&world, &["in", "third"]), 5);

    // The second of two that are the same had to move its ids; now it is alone.
    fs::remove_dir_all(world.at("in/a")).unwrap();
    world.wove(&["in", "plain2"]);
    assert_eq!(cached(&world, &["in", "fourth"]), 3);
    assert!(contents(&world, "fourth") == contents(&world, "plain2"));
    assert_eq!(cached(&world, &["in", "fifth"]), 4);
    assert!(contents(&world, "fifth") == contents(&world, "plain2"));

    // A symbols file that appears, and one that fits no longer.
    for pdb in [STEPS_PDB, b"no symbols"] {
        world.write("in/b/steps.pdb", pdb);
        world.wove(&["in", "plain3"]);
        for hits in [3, 4] {
            assert_eq!(cached(&world, &["in", "sixth"]), hits);
            assert!(contents(&world, "sixth") == contents(&world, "plain3"));
        }
        for out in ["plain3", "sixth"] {
            fs::remove_dir_all(world.at(out)).unwrap();
        }
    }
}

#[test]
fn values_of_assemblies_from_the_cache() {
    let world = assemblies();
    world.write(
        "weave.toml",
        "version = 1\n[[aspect]]\nmatch = { method = \"*\" }\nrecord = [\"args\", \"result?\"]\nexclude = { kind = \"async\" }\n",
    );
    world.wove(&["in", "plain"]);
    for (out, hits) in [("first", 0), ("second", 5)] {
        assert_eq!(cached(&world, &["in", out]), hits);
        assert!(contents(&world, out) == contents(&world, "plain"), "{out}");
    }
}

#[test]
fn an_assembly_by_itself_is_cached_with_what_lies_beside_it() {
    let world = assemblies();
    world.wove(&["in/a/steps.dll", "plain/steps.dll"]);
    let files = [
        "Weave.Runtime.dll",
        "steps.dll",
        "steps.dll.wsym",
        "steps.pdb",
    ];
    for (out, hits) in [("first", 0), ("second", 1)] {
        let path = format!("{out}/steps.dll");
        assert_eq!(cached(&world, &["in/a/steps.dll", &path]), hits);
        for file in files {
            let same = world.read(&format!("{out}/{file}")) == world.read(&format!("plain/{file}"));
            assert!(same, "{out}/{file}");
        }
    }
    // Under another name its image asks for other symbols; by other rules nothing is woven, which is kept, too.
    assert_eq!(cached(&world, &["in/a/steps.dll", "other/late.dll"]), 0);
    world.write(
        "none.toml",
        "version = 1\n[[aspect]]\nmatch = { type = \"Nobody\" }\n",
    );
    for hits in [0, 1] {
        let none = ["in/a/steps.dll", "none/steps.dll", "--rules", "none.toml"];
        assert_eq!(cached(&world, &none), hits);
        assert!(world.read("none/steps.dll") == STEPS);
    }
    // Over itself, from the cache; what was woven then stays as it is.
    for hits in [1, 0, 1] {
        assert_eq!(cached(&world, &["in/a/steps.dll", "in/a/steps.dll"]), hits);
        assert!(world.read("in/a/steps.dll") == world.read("plain/steps.dll"));
        assert!(world.read("in/a/steps.pdb") == world.read("plain/steps.pdb"));
    }
}

#[test]
fn supertypes_elsewhere_are_part_of_what_a_result_follows_from() {
    let world = World::with_jar();
    world.write(
        "weave.toml",
        "version = 1\n[[aspect]]\nmatch = { extends = \"Base\" }\n",
    );
    let compile = |base: &str| {
        world.write("src/Base.java", "public class Base { }");
        world.write(
            "src/Middle.java",
            format!("public class Middle {base} {{ }}"),
        );
        let leaf =
            "public class Leaf extends Middle { int f(int a) { return a * a + hashCode(); } }";
        world.write("src/Leaf.java", leaf);
        let sources = [
            "-d",
            "cls",
            "src/Base.java",
            "src/Middle.java",
            "src/Leaf.java",
        ];
        world.tool("javac", &sources);
        fs::create_dir_all(world.at("in")).unwrap();
        world.tool(
            "jar",
            &[
                "--create",
                "--file=in/leaf.jar",
                "--date=2020-01-01T00:00:00Z",
                "-C",
                "cls",
                "Leaf.class",
            ],
        );
        world.tool(
            "jar",
            &[
                "cf",
                "in/rest.jar",
                "-C",
                "cls",
                "Base.class",
                "-C",
                "cls",
                "Middle.class",
            ],
        );
    };
    compile("");
    let ran = world.wove(&["in", "a", "--cache", "cache"]);
    assert!(ran.err.contains("nothing was woven"), "{}", ran.err);
    let leaf = world.read("in/leaf.jar");
    compile("extends Base");
    assert!(
        leaf == world.read("in/leaf.jar"),
        "only the other jar changed"
    );
    let ran = world.wove(&["in", "b", "--cache", "cache"]);
    assert!(ran.err.contains("wove 1 method of 1 class"), "{}", ran.err);
}

#[test]
fn damaged_entries_and_strange_files_do_no_harm() {
    let world = World::with_jar();
    world.wove(&["app.jar", "plain.jar"]);
    world.wove(&["app.jar", "a.jar", "--cache", "cache"]);
    let entry = format!("cache/{}", entries(&world)[0]);
    let whole = world.read(&entry);
    for damage in ["cut", "turned", "empty", "other"] {
        let bytes = match damage {
            "cut" => whole[..whole.len() - 7].to_vec(),
            "turned" => {
                let mut bytes = whole.clone();
                bytes[whole.len() / 2] ^= 1;
                bytes
            }
            "empty" => vec![],
            _ => b"something else".to_vec(),
        };
        world.write(&entry, bytes);
        world.wove(&["app.jar", "b.jar", "--cache", "cache"]);
        assert!(world.read("b.jar") == world.read("plain.jar"), "{damage}");
        assert!(world.read(&entry) == whole, "{damage}: written anew");
    }
}

/// A jar with one class, in a package of its own.
fn small_jar(world: &World, number: usize, note: &[u8]) {
    let class = world.read("classes/com/acme/Fib.class");
    let package = format!("com/j{number:03}/");
    let mut renamed = class.clone();
    for at in memchr::memmem::find_iter(&class, b"com/acme/") {
        renamed[at..at + package.len()].copy_from_slice(package.as_bytes());
    }
    let jar = zipgen::write(&zipgen::Spec {
        entries: vec![
            zipgen::Entry::deflated(&format!("{package}Fib.class"), &renamed),
            zipgen::Entry::stored("note", note),
        ],
        ..zipgen::Spec::default()
    });
    world.write(&format!("in/lib{number:03}.jar"), jar);
}

#[test]
fn one_of_300_jars_changes_and_one_is_woven() {
    let world = World::new();
    for number in 0..300 {
        small_jar(&world, number, b"as it was");
    }
    for (out, hits) in [("cold", 0), ("warm", 300)] {
        assert_eq!(cached(&world, &["in", out]), hits);
    }
    assert!(contents(&world, "cold") == contents(&world, "warm"));

    small_jar(&world, 150, b"changed");
    assert_eq!(cached(&world, &["in", "changed"]), 299);
    world.wove(&["in", "plain"]);
    assert!(contents(&world, "changed") == contents(&world, "plain"));
    assert_eq!(entries(&world).len(), 301);

    // Fewer, more, and another order: what is the same is not woven again.
    fs::remove_file(world.at("in/lib000.jar")).unwrap();
    small_jar(&world, 300, b"new");
    fs::rename(world.at("in/lib001.jar"), world.at("in/z.jar")).unwrap();
    assert_eq!(cached(&world, &["in", "moved"]), 298);
}

#[test]
fn a_job_that_is_killed_leaves_whole_entries() {
    let world = World::new();
    for number in 0..60 {
        small_jar(&world, number, b"note");
    }
    world.wove(&["in", "plain"]);
    let expected = contents(&world, "plain");
    // Files come and go meanwhile.
    let kept = || {
        let all = fs::read_dir(world.at("cache")).into_iter().flatten();
        let names = all.flatten().map(|entry| entry.file_name());
        names
            .filter(|name| name.to_string_lossy().ends_with(".woven"))
            .count()
    };
    for least in [1, 10, 40] {
        // One that is done before it is killed was not killed: another is.
        let was_killed = (0..500).any(|_| {
            let _ = fs::remove_dir_all(world.at("cache"));
            let mut command = crate::support::weave_command(world.path());
            command.args(["in", "killed", "--cache", "cache", "-q"]);
            let mut child = command.spawn().unwrap();
            while child.try_wait().unwrap().is_none() && kept() < least {
                std::thread::yield_now();
            }
            let _ = child.kill();
            !child.wait().unwrap().success() && kept() < 60
        });
        assert!(was_killed, "no job was killed with {least} entries");
        let kept = kept();
        assert!(kept >= least);
        assert_eq!(cached(&world, &["in", "whole"]), kept as u64);
        assert!(contents(&world, "whole") == expected);
    }
}

#[cfg(unix)]
#[test]
fn whatever_lies_where_an_entry_should_be_does_no_harm() {
    use std::os::unix::fs::symlink;
    let world = World::with_jar();
    world.wove(&["app.jar", "plain.jar"]);
    world.wove(&["app.jar", "a.jar", "--cache", "cache"]);
    let entry = world.at("cache").join(&entries(&world)[0]);
    let whole = fs::read(&entry).unwrap();
    world.write("mine", "not to be touched");
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    let mine = fs::File::options().write(true).open(world.at("mine"));
    mine.unwrap().set_modified(old).unwrap();
    fs::create_dir(world.at("folder")).unwrap();
    for what in ["folder", "file", "nothing", "itself", "to a folder"] {
        let _ = fs::remove_file(&entry).or_else(|_| fs::remove_dir_all(&entry));
        match what {
            "folder" => fs::create_dir_all(entry.join("in it")).unwrap(),
            "file" => symlink(world.at("mine"), &entry).unwrap(),
            "nothing" => symlink(world.at("nothing"), &entry).unwrap(),
            "itself" => symlink(&entry, &entry).unwrap(),
            _ => symlink(world.at("folder"), &entry).unwrap(),
        }
        for _ in 0..2 {
            world.wove(&["app.jar", "b.jar", "--cache", "cache"]);
            assert!(world.read("b.jar") == world.read("plain.jar"), "{what}");
        }
        assert_eq!(world.read("mine"), b"not to be touched", "{what}");
        let modified = fs::metadata(world.at("mine")).unwrap().modified();
        assert_eq!(modified.unwrap(), old, "{what}");
        assert!(!world.at("nothing").exists(), "{what}");
        assert!(world.files("folder").is_empty(), "{what}");
    }
    // A file takes the place of a link. A folder stays, and a warning says that the entry was not written.
    fs::remove_file(&entry).unwrap();
    world.wove(&["app.jar", "b.jar", "--cache", "cache"]);
    assert!(fs::read(&entry).unwrap() == whole);
    fs::remove_file(&entry).unwrap();
    fs::create_dir(&entry).unwrap();
    let ran = world.wove(&["app.jar", "b.jar", "--cache", "cache"]);
    assert!(ran.err.contains("the cache does not have"), "{}", ran.err);
}

#[test]
fn two_at_once_and_a_small_cache() {
    let world = World::new();
    five_jars(&world);
    world.wove(&["in", "plain"]);
    let expected = contents(&world, "plain");
    let start = |out: &str| {
        let mut command = crate::support::weave_command(world.path());
        command.args(["in", out, "--cache", "cache", "--cache-size", "0"]);
        command.spawn().unwrap()
    };
    let mut running: Vec<_> = ["o0", "o1", "o2", "o3"].map(start).into();
    for child in &mut running {
        assert!(child.wait().unwrap().success());
    }
    for out in ["o0", "o1", "o2", "o3"] {
        assert!(contents(&world, out) == expected, "{out}");
    }
    assert!(entries(&world).is_empty(), "nothing is within no room");
}

#[test]
fn references_may_be_listed_in_a_file() {
    let world = World::with_jar();
    world.write("src/Base.java", "public class Base { }");
    world.write(
        "src/Leaf.java",
        "public class Leaf extends Base { int f(int a) { return a * a + hashCode(); } }",
    );
    world.tool("javac", &["-d", "cls", "src/Base.java", "src/Leaf.java"]);
    fs::create_dir_all(world.at("far away")).unwrap();
    fs::rename(world.at("cls/Base.class"), world.at("far away/Base.class")).unwrap();
    let rule = "version = 1\n[[aspect]]\nmatch = { extends = \"Base\" }\n";
    world.write("weave.toml", rule);
    world.write("list.txt", "\u{feff}far away\n\nclasses\r\n");
    let ran = world.wove(&["cls", "out", "--reference", "@list.txt"]);
    assert!(ran.err.contains("wove 1 method of 1 class"), "{}", ran.err);
    let ran = world.wove(&["plan", "cls", "--summary", "--reference", "@list.txt"]);
    assert!(ran.out.contains("1 method of 1 class"), "{}", ran.out);
    world.write("list.txt", "nowhere\n");
    let ran = world.weave(&["cls", "out2", "--reference", "@list.txt"]);
    assert_eq!(ran.status, 2);
    insta::assert_snapshot!(ran.err, @"error: --reference nowhere: there is no such file or folder");
}

const AOP: &str = "<aspectj>
  <aspects>
    <concrete-aspect name=\"com.acme.Tracing\" extends=\"com.acme.AbstractTracing\">
      <pointcut name=\"all\" expression=\"execution(* com.acme..*(..)) &amp;&amp; !within(*..Main)\"/>
      <pointcut name=\"deep\" expression=\"cflow(all())\"/>
    </concrete-aspect>
  </aspects>
</aspectj>
";

#[test]
fn rules_of_another_tool_are_imported_and_what_is_left_out_is_told() {
    let world = World::with_jar();
    world.write("aop.xml", AOP);
    let ran = world.weave(&["import", "aop.xml", "weave.toml"]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    insta::assert_snapshot!(ran.err, @r"
    aop.xml:5: left out: `cflow(all())` cannot be said by a rule
    1 rule imported, 1 thing left out
    ");
    let ran = world.wove(&["app.jar", "out.jar"]);
    assert!(ran.err.contains("wove 1 method of 1 class"), "{}", ran.err);
    let again = world.weave(&["import", "aop.xml", "weave.toml"]);
    assert_eq!(again.status, 2);
    assert!(again.err.contains("is there already"), "{}", again.err);

    world.write("list", "com.acme.Fib[of]");
    let shown = world.wove(&["import", "list"]);
    assert!(shown.out.contains("method = \"of\""), "{}", shown.out);
    world.write(
        "Probes.java",
        "@BTrace class Probes { @OnTimer(5) void tick() {} }",
    );
    let none = world.weave(&["import", "Probes.java", "none.toml"]);
    assert_eq!(none.status, 1);
    assert!(none.err.contains("nothing is written"), "{}", none.err);
    assert!(!world.path().join("none.toml").exists());
    world.write("broken.json", "[{]");
    assert_eq!(world.weave(&["import", "broken.json"]).status, 3);
    assert_eq!(world.weave(&["import", "nowhere"]).status, 1);
}

/// Rules that name others: what they are made of is told, and what is wrong is shown where it stands.
#[test]
fn rules_include_packs_and_files() {
    let world = World::with_jar();
    let aspect = |ty: &str| format!("[[aspect]]\nmatch = {{ type = '{ty}', method = '*' }}\n");
    let rules =
        |include: &str, ty: &str| format!("version = 1\ninclude = {include}\n{}", aspect(ty));
    fs::create_dir_all(world.at("app/more")).unwrap();
    world.write(
        "team.toml",
        rules("[\"app/more/base.toml\"]", "com.acme.Fib"),
    );
    world.write(
        "app/more/base.toml",
        format!("version = 1\n{}", aspect("no.Body")),
    );
    world.write(
        "app/weave.toml",
        "version = 1\ninclude = [\"pack:jdbc\", \"../team.toml\", \"more/base.toml\"]\n",
    );
    world.wove(&["app.jar", "direct.jar", "--rules", "team.toml"]);
    world.wove(&[
        "app.jar",
        "out.jar",
        "--rules",
        "app/weave.toml",
        "--depfile",
        "out.d",
    ]);
    let files = [
        "app/../app/more/base.toml",
        "app/../team.toml",
        "app/weave.toml",
    ];
    let list = String::from_utf8(world.read("out.d")).unwrap();
    assert!(files.iter().all(|file| list.contains(file)), "{list}");
    let class = |jar: &str| {
        // Into the folder at hand, one jar over the other.
        world.tool("jar", &["xf", jar, "com/acme/Fib.class"]);
        world.read("com/acme/Fib.class")
    };
    assert_eq!(class("out.jar"), class("direct.jar"));
    let told = world
        .wove(&["inputs", "--rules", "app/weave.toml", "--json"])
        .out;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["rules"], serde_json::json!(files));
    assert_eq!(told["libraries"], serde_json::json!([]));
    let lines = world.wove(&["inputs", "--rules", "app/weave.toml"]).out;
    assert_eq!(lines.lines().collect::<Vec<_>>(), files);

    let wrong = |include: &str, told: &str| {
        world.write("wrong.toml", rules(include, "com.acme.*"));
        let ran = world.weave(&["app.jar", "out.jar", "--rules", "wrong.toml"]);
        assert_eq!(ran.status, 2, "{}", ran.err);
        assert!(ran.err.contains(told), "{include}: {}", ran.err);
        assert!(
            ran.err.contains("wrong.toml:2:12"),
            "{include}: {}",
            ran.err
        );
        assert!(ran.err.contains('^'), "{include}: {}", ran.err);
    };
    wrong("[\"nowhere.toml\"]", "there is no file nowhere.toml");
    wrong("[\"pack:jdbk\"]", "did you mean `jdbc`?");
    wrong("[\"wrong.toml\"]", "the file includes itself");
    let ran = {
        world.write("wrong.toml", rules("'team.toml'", "com.acme.*"));
        world.weave(&["app.jar", "out.jar", "--rules", "wrong.toml"])
    };
    assert!(
        ran.status == 2 && ran.err.contains("`include`"),
        "{}",
        ran.err
    );
    world.write(
        "app/more/base.toml",
        rules("[\"../../team.toml\"]", "no.Body"),
    );
    let ran = world.weave(&["app.jar", "out.jar", "--rules", "team.toml"]);
    assert!(
        ran.status == 2 && ran.err.contains("base.toml:2:12"),
        "{}",
        ran.err
    );
    for deep in 0..20 {
        let next = format!("[\"deep{}.toml\"]", deep + 1);
        world.write(&format!("deep{deep}.toml"), rules(&next, "no.Body"));
    }
    let ran = world.weave(&["app.jar", "out.jar", "--rules", "deep0.toml"]);
    assert!(
        ran.status == 2 && ran.err.contains("more than 16 files"),
        "{}",
        ran.err
    );
}

/// Packs, and rules files that lie elsewhere, serve other projects, too: most of their aspects mean some of those.
#[test]
fn idle_aspects_of_a_folder_are_told() {
    let world = World::with_jar();
    let aspect = |name: &str, matches: &str| {
        format!("[[aspect]]\nname = \"{name}\"\nmatch = {{ type = \"{matches}\" }}\n")
    };
    let head = "version = 1\ninclude = [\"pack:http-net\", \"../team.toml\"]\n";
    world.write(
        "team.toml",
        format!("version = 1\n{}", aspect("team", "elsewhere.*")),
    );
    let weave = |matches: &str, idle: &[&str]| {
        let own = head.to_owned() + &aspect("taken", matches) + &aspect("own", "nowhere.*");
        world.write("app/weave.toml", own);
        let rules = ["app.jar", "out.jar", "--rules", "app/weave.toml"];
        let format = ["--message-format", "msbuild"];
        let ran = world.wove(&[&rules, &format[..], idle].concat());
        (ran.err.lines().map(str::to_owned)).collect::<Vec<String>>()
    };
    assert_eq!(weave("com.acme.*", &[]).len(), 5);
    let own = "app/weave.toml(6,1): warning WV0120: aspect `own` matched no method";
    let outside = world.at("app").display().to_string();
    assert_eq!(
        weave("com.acme.*", &["--allow-idle-outside", &outside]),
        [own]
    );
    // Nothing is left to warn of, and nothing was taken: one message.
    let said = weave("not.there.*", &["--allow-idle-outside", "nowhere"]);
    assert_eq!(
        said,
        ["weave : message WV0113: app.jar: no rule matches a method of it"]
    );
}

/// `--idle-list` writes one list for each project, and a build that joins them warns once of an aspect that no project uses.
#[test]
fn a_list_says_which_shared_aspects_were_used() {
    let world = World::with_jar();
    world.write(
        "team.toml",
        "version = 1\n[[aspect]]\nname = \"taken\"\nmatch = { type = \"com.acme.*\" }\n\
         [[aspect]]\nname = \"idle\"\nmatch = { type = \"nowhere.*\" }\n",
    );
    let own = "version = 1\ninclude = [\"pack:http-net\", \"../team.toml\"]\n\
               [[aspect]]\nname = \"own\"\nmatch = { type = \"nowhere.*\" }\n";
    world.write("app/weave.toml", own);
    let outside = world.at("app").display().to_string();
    let rules = ["app.jar", "out.jar", "--rules", "app/weave.toml"];
    let list = ["--allow-idle-outside", &outside, "--idle-list", "list"];
    world.wove(&[&rules, &list[..]].concat());
    let team = world.at("team.toml").canonicalize().unwrap();
    let team = team.display();
    let expected =
        format!("used\t{team}\t2\t1\t\nidle\t{team}\t5\t1\taspect `idle` matched no method\n");
    assert_eq!(String::from_utf8(world.read("list")).unwrap(), expected);
    let used = own.replace("nowhere.*", "com.acme.*");
    world.write("app/weave.toml", &used);
    world.wove(&[&rules, &list[..]].concat());
    let own = "own\tapp/weave.toml\t3\t1\t\n";
    let read = String::from_utf8(world.read("list")).unwrap();
    assert_eq!(read.len(), expected.len() + own.len());
    assert!(read.contains(own), "{read}");
}
