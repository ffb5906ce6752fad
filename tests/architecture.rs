//! Holds the dependency rule of `docs/DESIGN.md`: who may use whom, and who owns threads.

use std::fs;
use std::path::{Path, PathBuf};

/// Each part of the crate and the parts that it may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("bytes", &["error"]),
    ("symbols", &["bytes", "error"]),
    ("mapping", &["error"]),
    ("edit", &["bytes", "error"]),
    ("aspect", &["bytes", "error", "mapping"]),
    ("container", &["bytes", "error"]),
    ("jvm", &["aspect", "bytes", "edit", "error"]),
    ("cil", &["aspect", "bytes", "edit", "error"]),
    ("dex", &["aspect", "bytes", "edit", "error"]),
    ("trace", &["bytes", "error", "mapping", "symbols"]),
    (
        "pipeline",
        &[
            "aspect",
            "bytes",
            "cil",
            "container",
            "dex",
            "error",
            "jvm",
            "symbols",
        ],
    ),
    (
        "cli",
        &[
            "aspect", "bytes", "error", "mapping", "pipeline", "symbols", "trace",
        ],
    ),
    ("main", &["cli"]),
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

/// The parts that some code names after `crate::` (or `weave::`, as main.rs does), also in `crate::{a, b}`.
fn used(code: &str) -> Vec<String> {
    let mut used = Vec::new();
    for (at, prefix) in code
        .match_indices("crate::")
        .chain(code.match_indices("weave::cli"))
    {
        let rest = &code[at + prefix.find("::").unwrap() + 2..];
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
        if part == "lib" {
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
