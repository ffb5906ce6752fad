//! One door for every output: never onto another file of the job, devices and pipes are written to, links followed.

use crate::exports::traced;
use crate::support::{GENERIC, STEPS, STEPS_PDB, World, weave_command};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// Status 2, both names said, and every file as it was.
fn refused(world: &World, args: &[&str], names: [&str; 2]) {
    let all = |world: &World| -> Vec<(String, Vec<u8>)> {
        let files = world.files(".").into_iter();
        files
            .map(|name| (name.clone(), world.read(&name)))
            .collect()
    };
    let before = all(world);
    let ran = world.weave(args);
    assert_eq!(ran.status, 2, "{args:?}: {}{}", ran.out, ran.err);
    for name in names {
        assert!(ran.err.contains(name), "{args:?} names {name}: {}", ran.err);
    }
    assert!(before == all(world), "{args:?} changed a file");
}

#[test]
fn an_export_never_takes_the_place_of_what_it_is_made_of() {
    let world = traced();
    world.write("map.txt", "com.acme.Fib -> a:\n");
    world.wove(&["app.jar", "other.jar"]);
    for format in ["perfetto", "csv", "parquet"] {
        let args = ["export", "run.wtrace", "--to", format, "-o", "./run.wtrace"];
        refused(&world, &args, ["run.wtrace", "-o"]);
    }
    fs::create_dir(world.at("traces")).unwrap();
    fs::copy(world.at("run.wtrace"), world.at("traces/a.wtrace")).unwrap();
    let args = ["export", "traces", "--to", "csv", "-o", "traces/a.wtrace"];
    refused(&world, &args, ["traces/a.wtrace", "-o"]);
    let args = [
        "export",
        "run.wtrace",
        "--to",
        "csv",
        "--mapping",
        "map.txt",
        "-o",
        "map.txt",
    ];
    refused(&world, &args, ["map.txt", "-o"]);
    let args = [
        "export",
        "run.wtrace",
        "--to",
        "csv",
        "--symbols",
        "other.jar.wsym",
        "-o",
        "other.jar.wsym",
    ];
    refused(&world, &args, ["other.jar.wsym", "-o"]);
}

#[test]
fn a_report_never_takes_the_place_of_what_it_is_made_of() {
    let world = traced();
    let name = |to: &str| {
        fs::copy(world.at("run.wtrace"), world.at(to)).unwrap();
    };
    name("a.html");
    name("a.svg");
    refused(
        &world,
        &["report", "a.html", "--html", "a.html"],
        ["a.html", "--html"],
    );
    refused(
        &world,
        &["report", "a.svg", "--flame", "a.svg"],
        ["a.svg", "--flame"],
    );
    let args = [
        "report",
        "run.wtrace",
        "--compare",
        "a.html",
        "--html",
        "a.html",
    ];
    refused(&world, &args, ["a.html", "--html"]);
    let args = [
        "report",
        "run.wtrace",
        "--flame",
        "x.html",
        "--html",
        "./x.html",
    ];
    refused(&world, &args, ["--flame", "--html"]);
    let args = ["diff", "run.wtrace", "a.svg", "--flame", "a.svg"];
    refused(&world, &args, ["a.svg", "--flame"]);
    let args = ["tune", "run.wtrace", "--write", "./run.wtrace"];
    refused(&world, &args, ["run.wtrace", "--write"]);
}

#[test]
fn side_outputs_never_take_the_place_of_another_file_of_the_job() {
    let world = World::with_jar();
    let rules = "version = 1\n[[aspect]]\nname = \"all\"\nmatch = { type = \"*\" }\n";
    world.write("weave.toml", rules);
    world.write("map.txt", "com.acme.Fib -> a:\n");
    world.write("lib.jar", world.read("app.jar"));
    world.write("list", "lib.jar\n");
    world.write("password", "secret\n");
    world.wove(&["app.jar", "known.jar", "--rules", "pack:default"]);
    let job = |more: &[&'static str]| {
        let mut args = vec!["app.jar", "out.jar", "--rules", "pack:default"];
        args.extend(more);
        args
    };
    let check = |more: &[&'static str], names| refused(&world, &job(more), names);
    check(&["--depfile", "app.jar"], ["app.jar", "dependency file"]);
    check(&["--depfile", "out.jar"], ["out.jar", "dependency file"]);
    check(
        &["--depfile", "out.jar.wsym"],
        ["symbols map", "dependency file"],
    );
    check(&["--symbols", "app.jar"], ["app.jar", "symbols map"]);
    check(&["--symbols", "./out.jar"], ["./out.jar", "symbols map"]);
    check(
        &["--symbols", "x", "--depfile", "x"],
        ["symbols map", "dependency file"],
    );
    check(
        &["--rules", "weave.toml", "--symbols", "weave.toml"],
        ["weave.toml", "symbols map"],
    );
    check(
        &["--mapping", "map.txt", "--depfile", "map.txt"],
        ["the mapping map.txt", "dependency file"],
    );
    check(
        &["--reference", "lib.jar", "--symbols", "lib.jar"],
        ["the reference lib.jar", "symbols map"],
    );
    check(
        &["--reference", "@list", "--symbols", "list"],
        ["list", "symbols map"],
    );
    check(
        &["--reference", "@list", "--symbols", "lib.jar"],
        ["lib.jar", "symbols map"],
    );
    check(
        &[
            "--known-symbols",
            "known.jar.wsym",
            "--depfile",
            "known.jar.wsym",
        ],
        ["known.jar.wsym", "dependency file"],
    );
    // The product itself.
    refused(
        &world,
        &["app.jar", "lib.jar", "--reference", "lib.jar"],
        ["the reference lib.jar", "the output"],
    );
    refused(
        &world,
        &["app.jar", "weave.toml"],
        ["the rules file", "the output weave.toml"],
    );
    // Without being named, the rules beside the input are read.
    refused(
        &world,
        &["app.jar", "out.jar", "--depfile", "weave.toml"],
        ["the rules file", "dependency file"],
    );
    // In place, and a map that takes the place of the one that it follows from.
    world.wove(&[
        "known.jar",
        "known.jar",
        "--rules",
        "weave.toml",
        "--known-symbols",
        "known.jar.wsym",
    ]);
    refused(
        &world,
        &[
            "app.jar",
            "app.jar",
            "--rules",
            "pack:default",
            "--symbols",
            "app.jar",
        ],
        ["the input app.jar", "symbols map"],
    );
}

#[test]
fn keys_are_never_overwritten() {
    let world = World::with_jar();
    world.tool(
        "keytool",
        &[
            "-genkeypair",
            "-keystore",
            "ks.p12",
            "-storepass",
            "secret",
            "-alias",
            "a",
            "-keyalg",
            "EC",
            "-groupname",
            "secp256r1",
            "-dname",
            "CN=a",
        ],
    );
    world.write("password", "secret\n");
    let job = |option, file| {
        [
            "app.jar",
            "out.jar",
            "--ks",
            "ks.p12",
            "--ks-pass",
            "file:password",
            option,
            file,
        ]
    };
    refused(
        &world,
        &job("--symbols", "ks.p12"),
        ["the key store ks.p12", "symbols map"],
    );
    refused(
        &world,
        &job("--depfile", "password"),
        ["the password file", "dependency file"],
    );
    world.wove(&job("--depfile", "out.d"));
}

#[test]
fn what_lies_beside_an_assembly_is_an_output_too() {
    let world = World::new();
    world.write("a.dll", STEPS);
    world.write("a.pdb", STEPS_PDB);
    world.write("g.dll", GENERIC);
    let check = |more: [&'static str; 2], names| {
        refused(&world, &[&["a.dll", "b.dll"], &more[..]].concat(), names);
    };
    check(["--symbols", "a.pdb"], ["a.pdb", "symbols map"]);
    check(["--symbols", "b.pdb"], ["b.pdb", "symbols map"]);
    check(
        ["--depfile", "Weave.Runtime.dll"],
        ["Weave.Runtime.dll", "dependency file"],
    );
    refused(
        &world,
        &["a.dll", "a.dll", "--depfile", "a.pdb"],
        ["a.pdb", "dependency file"],
    );
    world.wove(&["a.dll", "a.dll", "--depfile", "a.d"]);
    world.wove(&["g.dll", "g.dll"]);
}

#[test]
fn what_a_folder_holds_is_never_a_side_output() {
    let world = World::with_jar();
    world.write("in/app.jar", world.read("app.jar"));
    world.write("in/notes.txt", "mine");
    world.write("out/notes.txt", "com.acme.Fib -> a:\n");
    let job = |more: [&'static str; 2]| [&["in", "out"], &more[..]].concat();
    refused(
        &world,
        &job(["--symbols", "in/notes.txt"]),
        ["in/notes.txt", "symbols map"],
    );
    refused(
        &world,
        &job(["--depfile", "in/app.jar"]),
        ["in/app.jar", "dependency file"],
    );
    refused(
        &world,
        &job(["--symbols", "out/app.jar"]),
        ["out/app.jar", "symbols map"],
    );
    refused(
        &world,
        &job(["--depfile", "out/weave-runtime.jar"]),
        ["weave-runtime.jar", "dependency file"],
    );
    refused(
        &world,
        &job(["--mapping", "out/notes.txt"]),
        ["out/notes.txt", "the mapping"],
    );
    // What an earlier run wrote there may be replaced.
    for _ in 0..2 {
        world.wove(&[
            "in",
            "in",
            "--symbols",
            "in/all.wsym",
            "--depfile",
            "in/deps.d",
        ]);
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_hard_links_are_one_file() {
    use std::os::unix::fs::symlink;
    let world = traced();
    let is_link = |name: &str| world.at(name).is_symlink();
    symlink("real.csv", world.at("link.csv")).unwrap();
    symlink("link.csv", world.at("link2.csv")).unwrap();
    for round in 0..2 {
        world.wove(&["export", "run.wtrace", "--to", "csv", "-o", "link2.csv"]);
        assert!(is_link("link.csv") && is_link("link2.csv"), "round {round}");
        assert!(world.read("real.csv").starts_with(b"trace,"));
    }
    symlink("page.html", world.at("link.html")).unwrap();
    world.wove(&["report", "run.wtrace", "--html", "link.html"]);
    assert!(is_link("link.html") && !world.read("page.html").is_empty());
    symlink("real.d", world.at("link.d")).unwrap();
    symlink("real.jar", world.at("link.jar")).unwrap();
    symlink("real.wsym", world.at("link.wsym")).unwrap();
    world.wove(&[
        "app.jar",
        "link.jar",
        "--depfile",
        "link.d",
        "--symbols",
        "link.wsym",
    ]);
    assert!(is_link("link.d") && is_link("link.jar") && is_link("link.wsym"));
    assert!(world.read("real.d").starts_with(b"link.jar:"));
    assert_eq!(world.read("real.jar"), world.read("out.jar"));
    symlink("new.toml", world.at("link.toml")).unwrap();
    world.wove(&["init", "link.toml"]);
    assert!(is_link("link.toml") && !world.read("new.toml").is_empty());
    refused(
        &world,
        &["init", "link.toml"],
        ["link.toml", "is there already"],
    );

    symlink("run.wtrace", world.at("soft")).unwrap();
    fs::hard_link(world.at("run.wtrace"), world.at("hard")).unwrap();
    for name in ["soft", "hard"] {
        let args = ["export", "run.wtrace", "--to", "csv", "-o", name];
        refused(&world, &args, ["run.wtrace", name]);
    }
    // Replacing one name of a file leaves the other.
    fs::hard_link(world.at("app.jar"), world.at("other.jar")).unwrap();
    let before = world.read("app.jar");
    world.wove(&["app.jar", "other.jar"]);
    assert_eq!(world.read("app.jar"), before);
    assert_eq!(world.read("other.jar"), world.read("out.jar"));
}

/// A pipe in the file system, and what comes out of it.
#[cfg(unix)]
fn through_pipe(world: &World, name: &str, args: &[&str]) -> Vec<u8> {
    use std::os::unix::fs::FileTypeExt;
    let made = Command::new("mkfifo").arg(world.at(name)).status();
    assert!(made.unwrap().success());
    let path = world.at(name);
    let reader = std::thread::spawn(move || fs::read(path).unwrap());
    world.wove(args);
    let kind = world.at(name).symlink_metadata().unwrap().file_type();
    assert!(kind.is_fifo(), "{args:?} replaced the pipe");
    reader.join().unwrap()
}

#[cfg(unix)]
#[test]
fn pipes_are_written_to() {
    let world = traced();
    let export = |format: &'static str, name: &'static str| {
        through_pipe(
            &world,
            name,
            &["export", "run.wtrace", "--to", format, "-o", name],
        )
    };
    let csv = world.wove(&["export", "run.wtrace", "--to", "csv"]).out;
    assert_eq!(export("csv", "p1"), csv.as_bytes());
    assert!(export("parquet", "p2").ends_with(b"PAR1"));
    let page = through_pipe(&world, "p3", &["report", "run.wtrace", "--html", "p3"]);
    assert!(page.starts_with(b"<!"));
    let woven = through_pipe(&world, "p4", &["app.jar", "p4"]);
    assert_eq!(woven, world.read("out.jar"));
    assert!(!world.at("p4.wsym").exists(), "nothing lies beside a pipe");
    let deps = through_pipe(&world, "p5", &["app.jar", "x.jar", "--depfile", "p5"]);
    assert!(deps.starts_with(b"x.jar:"));
    let map = through_pipe(&world, "p6", &["app.jar", "x.jar", "--symbols", "p6"]);
    assert_eq!(map, world.read("out.jar.wsym"));
    let rules = through_pipe(&world, "p7", &["init", "p7"]);
    assert_eq!(rules, world.wove(&["init", "-"]).out.as_bytes());
    let library = through_pipe(&world, "p8", &["runtime", "p8"]);
    assert!(library.starts_with(b"PK"));
}

/// A device of the world's own where that can be made: one that was replaced would be missed by the whole machine.
#[cfg(target_os = "linux")]
fn device(world: &World, name: &str, number: &str) {
    let made = Command::new("mknod")
        .arg(world.at(name))
        .args(["c", "1", number])
        .output();
    let opened = fs::File::options().write(true).open(world.at(name));
    if !made.unwrap().status.success() || opened.is_err() {
        let _ = fs::remove_file(world.at(name));
        std::os::unix::fs::symlink(format!("/dev/{name}"), world.at(name)).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_to() {
    let world = traced();
    device(&world, "null", "3");
    device(&world, "full", "7");
    world.wove(&["export", "run.wtrace", "--to", "csv", "-o", "null"]);
    world.wove(&["report", "run.wtrace", "--html", "null"]);
    world.wove(&["app.jar", "null", "--depfile", "null", "--symbols", "null"]);
    world.wove(&["schema", "null"]);
    world.wove(&["init", "null"]);
    assert!(!fs::metadata(world.at("null")).unwrap().is_file());
    let ran = world.weave(&["export", "run.wtrace", "--to", "csv", "-o", "full"]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(ran.err.contains("No space left"), "{}", ran.err);

    std::os::unix::fs::symlink("/proc/self/fd/1", world.at("out")).unwrap();
    let csv = world
        .wove(&["export", "run.wtrace", "--to", "csv", "-q"])
        .out;
    for name in ["out", "/proc/self/fd/1"] {
        let args = ["export", "run.wtrace", "--to", "csv", "-q", "-o", name];
        assert_eq!(world.wove(&args).out, csv, "{name}");
        // A file behind standard output is written on, as a shell's `>>` means.
        world.write("log", "before\n");
        let log = fs::File::options()
            .append(true)
            .open(world.at("log"))
            .unwrap();
        let status = weave_command(world.path()).args(args).stdout(log).status();
        assert!(status.unwrap().success());
        assert_eq!(
            world.read("log"),
            format!("before\n{csv}").as_bytes(),
            "{name}"
        );
    }
}

/// Runs `weave` with a reader of its standard output that goes after a line, or at once.
fn cut_short(world: &World, args: &[&str], lines: usize) {
    let mut child = weave_command(world.path())
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::with_capacity(1, child.stdout.take().unwrap());
    for _ in 0..lines {
        out.read_line(&mut String::new()).unwrap();
    }
    drop(out);
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0), "{args:?}: {said}");
    assert!(
        !said.contains("error") && !said.contains("panic"),
        "{args:?}: {said}"
    );
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let world = traced();
    world.write(
        "aop.xml",
        "<aspectj><weaver options=\"-verbose\"/></aspectj>",
    );
    let formats = [
        "perfetto",
        "chrome",
        "speedscope",
        "folded",
        "csv",
        "parquet",
    ];
    let mut all: Vec<Vec<&str>> = formats
        .iter()
        .map(|format| vec!["export", "run.wtrace", "--to", format])
        .collect();
    for view in ["--tree", "--threads", "--process", "--exceptions", "--json"] {
        all.push(vec!["report", "run.wtrace", view]);
    }
    for format in ["text", "markdown", "json"] {
        all.push(vec!["diff", "run.wtrace", "run.wtrace", "--format", format]);
    }
    for plain in [
        "report run.wtrace",
        "plan app.jar --details",
        "plan app.jar --json",
        "verify out.jar",
        "verify out.jar --json",
        "schema",
        "schema /proc/self/fd/1",
        "init -",
        "completions bash",
        "app.jar x.jar --json",
        "export run.wtrace --to csv -o /proc/self/fd/1",
        "--help",
        "--version",
    ] {
        if cfg!(target_os = "linux") || !plain.contains("/proc/") {
            all.push(plain.split(' ').collect());
        }
    }
    for args in all {
        cut_short(&world, &args, 0);
    }
    // More than any buffer holds: the end is seen in the middle.
    for format in formats {
        let lines = usize::from(!matches!(format, "perfetto" | "parquet"));
        let many = ["run.wtrace"; 60];
        cut_short(
            &world,
            &[&["export", "--to", format], &many[..]].concat(),
            lines,
        );
    }
    cut_short(&world, &["schema"], 1);
}

#[cfg(unix)]
#[test]
fn a_closed_standard_error_is_no_failure() {
    let world = World::with_jar();
    for args in [
        "app.jar out.jar -v",
        "runtime lib.jar",
        "init new.toml",
        "import list rules.toml",
    ] {
        world.write("list", "com.acme.Fib[of]\n");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = weave_command(world.path())
            .args(args.split(' '))
            .stderr(writer)
            .status();
        assert_eq!(status.unwrap().code(), Some(0), "{args}");
    }
}

#[test]
fn a_collector_packs_and_deletes_only_what_collectors_wrote() {
    let world = traced();
    for name in [
        "notes.0001.wtrace",
        "notes.0002.wtrace",
        "notes.0003.wtrace",
    ] {
        world.write(&format!("collected/{name}"), "mine");
    }
    let args = [
        "collect",
        "run.wtrace",
        "-o",
        "collected",
        "--compress",
        "--keep",
        "1",
        "--max-size",
        "1",
    ];
    world.wove(&args);
    let files = world.files("collected");
    let mine = [
        "notes.0001.wtrace",
        "notes.0002.wtrace",
        "notes.0003.wtrace",
    ];
    assert!(
        files
            .iter()
            .filter(|name| name.starts_with("notes"))
            .eq(&mine),
        "{files:?}"
    );
    assert_eq!(world.read("collected/notes.0001.wtrace"), b"mine");
}
