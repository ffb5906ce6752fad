//! `weave export`: traces in the formats of other tools; `weave completions` and `weave man`.

use crate::support::{STEPS, World};

/// A world whose program ran, with its trace in run.wtrace.
pub fn traced() -> World {
    let world = World::with_jar();
    world.wove(&["app.jar", "out.jar"]);
    world.tool("java", &["-jar", "out.jar"]);
    world
}

#[test]
fn calls_come_out_as_the_report_counts_them() {
    let world = traced();
    let report = world.wove(&["report", "run.wtrace", "--json"]).out;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let methods = report["methods"].as_array().unwrap();
    let calls: u64 = methods.iter().map(|m| m["calls"].as_u64().unwrap()).sum();
    let ran = world.wove(&["export", "run.wtrace", "--to", "csv"]);
    assert_eq!(ran.out.lines().count() as u64, calls + 1);
    assert_eq!(ran.err, format!("{calls} calls exported\n"));
    let ran = world.wove(&[
        "export",
        "run.wtrace",
        "--to",
        "folded",
        "--weight",
        "calls",
    ]);
    let sum: u64 = (ran.out.lines())
        .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(sum, calls);
    world.wove(&[
        "export",
        "run.wtrace",
        "--to",
        "parquet",
        "-o",
        "calls.parquet",
        "-q",
    ]);
    assert!(world.read("calls.parquet").starts_with(b"PAR1"));
}

#[test]
fn rules_say_where_traces_begin() {
    let world = World::with_jar();
    let everything = "version = 1\n[[aspect]]\nname = \"all\"\nmatch = { type = \"**\" }\n";
    world.write("weave.toml", everything);
    world.wove(&["app.jar", "plain.jar"]);
    let root = "[[aspect]]\nname = \"requests\"\nmatch = { method = \"fail\" }\nroot = true\n";
    world.write("weave.toml", format!("{everything}{root}"));
    world.wove(&["app.jar", "out.jar"]);
    let version = |map: &str| world.read(map)[4];
    assert_eq!((version("plain.jar.wsym"), version("out.jar.wsym")), (1, 3));
    for member in world.names("plain.jar") {
        if member.ends_with(".class") {
            assert_eq!(
                world.member("plain.jar", &member),
                world.member("out.jar", &member),
                "{member}"
            );
        }
    }
    world.tool("java", &["-jar", "out.jar"]);
    let shown = |command: &[&str], more: &[&str]| {
        world.wove(&[command, &["run.wtrace"], more].concat()).out
    };
    let pattern = ["--root", "com.acme.Main.fail"];
    for command in [
        &["report", "--tree"][..],
        &["report", "--json"],
        &["export", "--to", "csv"],
    ] {
        let by_rules = shown(command, &["--rule-roots"]);
        assert_eq!(by_rules, shown(command, &pattern), "{command:?}");
        assert_ne!(by_rules, shown(command, &[]));
    }
    let calls = shown(&["export", "--to", "csv"], &["--rule-roots"]);
    assert!(calls.lines().count() > 1);
    assert!(
        (calls.lines().skip(1)).all(|line| line.contains("com.acme.Main,fail,")),
        "{calls}"
    );
}

#[test]
fn a_failed_export_leaves_the_file_that_was_there() {
    let world = traced();
    world.write("calls.json", "mine");
    world.write("broken.wtrace", "PK");
    let ran = world.weave(&[
        "export",
        "broken.wtrace",
        "--to",
        "chrome",
        "-o",
        "calls.json",
    ]);
    assert_eq!(ran.status, 3);
    assert_eq!(world.read("calls.json"), b"mine");
    let before = world.files(".").len();
    let ran = world.weave(&[
        "export",
        "run.wtrace",
        "--to",
        "chrome",
        "-o",
        "no/such/calls.json",
    ]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert_eq!(world.files(".").len(), before);
}

#[test]
fn a_selection_that_nothing_fits_says_so() {
    let world = traced();
    let ran = world.wove(&[
        "export",
        "run.wtrace",
        "--to",
        "folded",
        "--filter",
        "nobody",
    ]);
    assert_eq!(ran.out, "");
    insta::assert_snapshot!(ran.err, @r"
    0 calls exported
    warning: nothing fits the selection
    ");
}

#[test]
fn shells_and_manual_readers_get_what_they_take() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = world.wove(&["completions", shell]);
        assert!(ran.out.contains("export"), "{shell}: {}", ran.out);
    }
    world.wove(&["man", "pages"]);
    let page = String::from_utf8(world.read("pages/weave-export.1")).unwrap();
    assert!(page.contains("Write what traces recorded"), "{page}");
}

#[test]
fn a_trace_differs_from_itself_in_nothing_and_a_broken_limit_is_the_exit_status() {
    let world = traced();
    let ran = world.wove(&["diff", "run.wtrace", "run.wtrace", "--fail-on", "self>+0%"]);
    assert!(ran.out.contains("no limit is broken"), "{}", ran.out);
    world.write("more/again.wtrace", world.read("run.wtrace"));
    world.write("more/same/a.wtrace", world.read("run.wtrace"));
    world.write("more/same/b.wtrace", world.read("run.wtrace"));
    let limit = ["diff", "run.wtrace", "more/same", "--fail-on", "calls>+0"];
    assert_eq!(world.weave(&limit).status, 0, "two runs of as many calls");
    let ran = world.weave(&["diff", "run.wtrace", "more", "--fail-on", "calls>+0"]);
    assert_eq!(ran.status, 1, "one run of two processes, one of one");
    assert!(
        ran.out.contains("LIMIT calls>+0: all methods: "),
        "{}",
        ran.out
    );
    let ran = world.weave(&["diff", "run.wtrace", "run.wtrace", "--fail-on", "speed>+1%"]);
    assert_eq!(ran.status, 2);
    assert_eq!(world.weave(&["diff", "run.wtrace"]).status, 2);
}

#[test]
fn a_page_is_its_owners_alone() {
    let world = traced();
    let ran = world.wove(&["report", "run.wtrace", "--html", "page.html"]);
    assert!(
        ran.out.ends_with("Page written to page.html\n"),
        "{}",
        ran.out
    );
    assert!(world.read("page.html").starts_with(b"<!doctype html>"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = world
            .at("page.html")
            .metadata()
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let ran = world.weave(&["report", "run.wtrace", "--compare", "run.wtrace"]);
    assert_eq!(ran.status, 2, "--compare is of the page");
}

#[test]
fn a_woven_artifact_names_ids_as_its_map_does() {
    let world = traced();
    world.write("lib/out.jar", world.read("out.jar"));
    world.tool("jar", &["cf", "all.war", "lib"]);
    world.write("a.dll", STEPS);
    world.wove(&["a.dll", "b.dll"]);
    for map in ["out.jar.wsym", "out.jar", "all.war", "b.dll"] {
        world.wove(&["report", "run.wtrace", "--symbols", map]);
        world.wove(&["export", "run.wtrace", "--to", "csv", "--symbols", map]);
        world.wove(&["diff", "run.wtrace", "run.wtrace", "--symbols", map]);
    }
    for other in ["app.jar", "a.dll", "classes/com/acme/Fib.class"] {
        let ran = world.weave(&["report", "run.wtrace", "--symbols", other]);
        assert_eq!(ran.status, 3, "{}", ran.err);
        assert!(ran.err.contains("carries no symbols map"), "{}", ran.err);
    }
}
