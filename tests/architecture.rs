//! Holds the dependency rule of `docs/DESIGN.md`: who may use whom, and who owns threads.

use std::fs;
use std::path::{Path, PathBuf};

/// Each part of the crate and the parts that it may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("printable", &[]),
    ("error", &["printable"]),
    ("bytes", &["error"]),
    ("signing", &["bytes", "error"]),
    ("dotnet_names", &[]),
    ("spans", &[]),
    ("switches", &[]),
    (
        "symbols",
        &["bytes", "dotnet_names", "error", "spans", "switches"],
    ),
    ("in_order", &["error"]),
    ("mapping", &["error"]),
    ("edit", &["bytes", "error"]),
    (
        "aspect",
        &[
            "bytes",
            "dotnet_names",
            "error",
            "mapping",
            "printable",
            "spans",
            "switches",
        ],
    ),
    ("import", &["aspect", "error"]),
    ("container", &["bytes", "error", "signing"]),
    ("jvm", &["aspect", "bytes", "edit", "error"]),
    (
        "cil",
        &["aspect", "bytes", "edit", "error", "in_order", "signing"],
    ),
    ("dex", &["aspect", "bytes", "edit", "error"]),
    (
        "trace",
        &[
            "bytes",
            "dotnet_names",
            "error",
            "mapping",
            "printable",
            "spans",
            "switches",
            "symbols",
        ],
    ),
    (
        "pipeline",
        &[
            "aspect",
            "bytes",
            "cil",
            "container",
            "dex",
            "error",
            "in_order",
            "jvm",
            "printable",
            "signing",
            "spans",
            "switches",
            "symbols",
        ],
    ),
    (
        "cli",
        &[
            "aspect",
            "bytes",
            "dotnet_names",
            "error",
            "import",
            "mapping",
            "pipeline",
            "printable",
            "spans",
            "switches",
            "symbols",
            "trace",
        ],
    ),
];

fn sources(dir: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|e| e == "rs") {
            all.push(path);
        }
    }
}

/// The source files, each with the part that it belongs to and its code without comments.
fn parts() -> Vec<(PathBuf, String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let relative = file.strip_prefix(&src).unwrap().to_owned();
            let first = relative.components().next().unwrap().as_os_str();
            let part = first.to_str().unwrap().trim_end_matches(".rs").to_owned();
            let code = fs::read_to_string(&file)
                .unwrap()
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .collect::<Vec<_>>()
                .join("\n");
            (relative, part, code)
        })
        .collect()
}

/// The parts that some code names after `crate::`, also in `crate::{a, b}`.
fn used(code: &str) -> Vec<String> {
    named_behind(code, "crate::")
}

/// The names that follow a path's beginning, also in braces.
fn named_behind(code: &str, path: &str) -> Vec<String> {
    let mut used = Vec::new();
    for (at, _) in code.match_indices(path) {
        let rest = &code[at + path.len()..];
        let name = |s: &str| {
            s.trim_start()
                .chars()
                .take_while(|c| c.is_ascii_lowercase() || *c == '_')
                .collect::<String>()
        };
        match rest.strip_prefix('{') {
            Some(list) => {
                let mut depth = 0;
                let mut start = 0;
                for (i, c) in list.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => {
                            used.push(name(&list[start..i]));
                            break;
                        }
                        '}' => depth -= 1,
                        ',' if depth == 0 => {
                            used.push(name(&list[start..i]));
                            start = i + 1;
                        }
                        _ => {}
                    }
                }
            }
            None => used.push(name(rest)),
        }
    }
    used.retain(|u| !u.is_empty());
    used
}

#[test]
fn dependencies_point_one_way() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (file, part, code) in parts() {
        // The crate's face and what is outside of it.
        if matches!(&*part, "lib" | "internals" | "main") {
            continue;
        }
        let Some((_, may_use)) = MAY_USE.iter().find(|(name, _)| *name == part) else {
            wrong.push(format!(
                "{}: part {part} is not in the design",
                file.display()
            ));
            continue;
        };
        for other in used(&code) {
            seen += 1;
            // Names that are no part are this crate's macros and re-exports, which lib.rs has none of.
            if other != part && !may_use.contains(&other.as_str()) {
                wrong.push(format!("{}: {part} uses {other}", file.display()));
            }
        }
    }
    assert!(seen > 100, "the reader of `crate::` paths sees {seen}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_pipeline_owns_threads() {
    for (file, part, code) in parts() {
        let code = code.split("#[cfg(test)]").next().unwrap();
        let threads = code.contains("rayon::") || code.contains("thread::spawn");
        assert!(
            !threads || part == "pipeline",
            "{} uses threads",
            file.display()
        );
    }
}

#[test]
fn paths_are_found_in_every_form() {
    let code = "use crate::error::Result; use crate::{bytes, symbols::{A, B}, jvm}; fn f() { crate::edit::x() }";
    let mut found = used(code);
    found.sort();
    assert_eq!(found, ["bytes", "edit", "error", "jvm", "symbols"]);
}

/// Parts of the crate whose modules stand in an order: each uses only those before it.
const ORDERS: &[(&str, &[&str])] = &[
    (
        "cil",
        &[
            "warning",
            "pe",
            "il",
            "cli_header",
            "metadata",
            "native",
            "image",
            "refusal",
            "machines",
            "scan",
            "symbols",
            "rewrite",
            "pdb",
            "weave",
            "run",
            "write",
            "assembly",
            "verify",
        ],
    ),
    (
        "pipeline",
        &[
            "outcome",
            "format",
            "native",
            "limits",
            "worker",
            "publish",
            "library",
            "own",
            "ledger",
            "cache",
            "job",
            "context",
            "formats",
            "hierarchy",
            "reaches",
            "inputs",
            "maps",
            "verify",
            "run",
        ],
    ),
    (
        "dex",
        &[
            "format", "analysis", "sites", "points", "scan", "calls", "serial", "ids", "lower",
            "hooks", "bodies", "place", "write", "weave", "around", "redirect", "verify",
        ],
    ),
    (
        "jvm",
        &[
            "foundation",
            "insn",
            "pool",
            "signature",
            "emit",
            "class",
            "attributes",
            "calls",
            "hidden",
            "serial",
            "stack",
            "module_info",
            "relocate",
            "references",
            "sites",
            "simulation",
            "frames",
            "constructor",
            "points",
            "kotlin",
            "scan",
            "place",
            "made",
            "hook_body",
            "runner",
            "parameters",
            "types",
            "nulls",
            "stores",
            "android_trace",
            "lower",
            "redirect",
            "around",
            "write",
            "instead",
            "verify",
        ],
    ),
    (
        "container",
        &[
            "input",
            "place",
            "stage",
            "zip",
            "jar",
            "apk",
            "deps_json",
            "folder",
        ],
    ),
    (
        "trace",
        &[
            "format",
            "lock",
            "regular",
            "notes",
            "pattern",
            "units",
            "control",
            "aggregates",
            "values",
            "contexts",
            "window",
            "metrics",
            "file",
            "consumer",
            "collect",
            "methods",
            "call",
            "idle",
            "roots",
            "counted",
            "tail",
            "logical",
            "estimate",
            "replay",
            "requests",
            "request",
            "tree",
            "exceptions",
            "export",
            "flame",
            "live",
            "summary",
            "page",
            "query",
            "analysis",
            "diff",
            "tune",
        ],
    ),
    (
        "cli",
        &[
            "collect",
            "completions",
            "depfile",
            "full_screen",
            "rules",
            "inputs",
            "runtime",
            "schema",
            "show",
            "sign",
            "terminal",
            "traces",
            "columns",
            "control",
            "import",
            "init",
            "inputs",
            "messages",
            "idle_list",
            "program",
            "otlp",
            "verify",
            "diff",
            "export",
            "top",
            "tune",
            "weave",
            "plan",
            "report",
        ],
    ),
    (
        "import",
        &[
            "draft", "xml", "btrace", "datadog", "methods", "pointcut", "aspectj", "yaml",
        ],
    ),
    ("signing", &["der", "rsa", "jks", "strong_name", "identity"]),
];

/// Parts whose files must not use each other in circles, and whose modules stand in no order.
const UNORDERED: &[&str] = &["aspect", "edit", "symbols"];

/// The files of a part but for tests: the module of each, from the part's name on, and its code.
fn modules(backend: &str) -> Vec<(String, String)> {
    let is_test = |file: &Path| {
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let of_tests = file
            .parent()
            .is_some_and(|folder| folder.ends_with("tests"));
        matches!(stem, "tests" | "testing") || of_tests || file.ends_with("lower/simulation.rs")
    };
    let modules = parts()
        .into_iter()
        .filter(|(file, part, _)| part == backend && !is_test(file));
    let modules = modules.map(|(file, _, code)| {
        let file = file.with_extension("");
        let names: Vec<&str> = file.iter().map(|name| name.to_str().unwrap()).collect();
        let module = names.join("::").trim_end_matches("::mod").to_owned();
        let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap();
        (module, code.to_owned())
    });
    modules.collect()
}

/// The paths that some code begins with: one, or those in its braces.
fn paths(code: &str) -> Vec<String> {
    let of = |code: &str| -> String {
        let in_path = |c: &char| c.is_ascii_lowercase() || matches!(c, '_' | ':');
        code.trim_start().chars().take_while(in_path).collect()
    };
    let front = of(code);
    let Some(list) = code[front.len()..].strip_prefix('{') else {
        return vec![front];
    };
    let mut depth = 0;
    let end = list.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth < 0
    });
    let items = list[..end.unwrap_or(list.len())].split([',', '{']);
    items.map(|item| format!("{front}{}", of(item))).collect()
}

/// The modules among `all` that some code of `module` names.
fn modules_used(module: &str, code: &str, all: &[(String, String)]) -> Vec<String> {
    let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
    let backend = module.split("::").next().unwrap();
    let code = code
        .replace(&format!("crate::{backend}::"), &format!("@{backend}::"))
        .replace("super::", &format!("@{parent}::"));
    let mut used = Vec::new();
    for (at, _) in code.match_indices('@') {
        for mut path in paths(&code[at + 1..]) {
            // The longest part of the path that is a file.
            while !path.is_empty() && !all.iter().any(|(other, _)| *other == path) {
                path = path
                    .rsplit_once("::")
                    .map_or("", |(front, _)| front)
                    .to_owned();
            }
            if !path.is_empty() && path != module && path != backend {
                used.push(path);
            }
        }
    }
    used.sort();
    used.dedup();
    used
}

#[test]
fn modules_of_parts_stand_in_order() {
    for (backend, order) in ORDERS {
        let all = modules(backend);
        let part = |module: &str| module.split("::").nth(1).map(str::to_owned);
        let place = |part: &str| order.iter().position(|name| *name == part);
        let mut seen = 0;
        let mut wrong = Vec::new();
        for (module, code) in &all {
            let Some(own) = part(module) else { continue };
            for other in modules_used(module, code, &all) {
                seen += 1;
                let other = part(&other).unwrap();
                if other != own && place(&other).is_none_or(|other| Some(other) >= place(&own)) {
                    wrong.push(format!("{module} uses {other}"));
                }
            }
        }
        assert!(seen > 0, "the reader of paths sees {seen} in {backend}");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn files_of_parts_do_not_use_each_other_in_circles() {
    let ordered = ORDERS.iter().map(|(part, _)| part);
    for backend in ordered.chain(UNORDERED) {
        let all = modules(backend);
        // A folder's own file stands for what it shows of the others.
        let is_file = |module: &String| {
            !all.iter()
                .any(|(m, _)| m.starts_with(&format!("{module}::")))
        };
        let used: Vec<(&String, Vec<String>)> = (all.iter())
            .filter(|(module, _)| is_file(module))
            .map(|(module, code)| (module, modules_used(module, code, &all)))
            .collect();
        let mut left = used;
        loop {
            let names: Vec<&String> = left.iter().map(|(module, _)| *module).collect();
            let before = left.len();
            // What uses none of those that are left is in no circle.
            left.retain(|(_, used)| used.iter().any(|other| names.contains(&other)));
            if left.len() == before {
                break;
            }
        }
        assert!(left.is_empty(), "circles among {left:#?}");
    }
}
