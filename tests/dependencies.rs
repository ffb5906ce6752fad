//! Holds what `deny.toml` says of the crates that Weave is built from: licences, bans, doubles. `cargo deny check` reads the
//! same file, and knows advisories, too; it takes minutes to install.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

fn read(name: &str) -> toml::Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(path).unwrap().parse().unwrap()
}

/// A list in `deny.toml`: its texts, or what its tables say of a key.
fn listed(rules: &toml::Table, section: &str, list: &str, key: &str) -> BTreeSet<String> {
    let text = |value: &toml::Value| match value {
        toml::Value::Table(entry) => {
            assert!(entry["reason"].as_str().is_some_and(|r| !r.is_empty()));
            entry[key].as_str().unwrap().to_owned()
        }
        text => text.as_str().unwrap().to_owned(),
    };
    let list = rules[section][list].as_array().unwrap();
    list.iter().map(text).collect()
}

#[test]
fn crates_are_there_once_and_none_is_banned() {
    let rules = read("deny.toml");
    let banned = listed(&rules, "bans", "deny", "crate");
    let skipped = listed(&rules, "bans", "skip", "crate");
    let lock = read("Cargo.lock");
    let mut versions = BTreeMap::<&str, BTreeSet<&str>>::new();
    for package in lock["package"].as_array().unwrap() {
        let [name, version] = ["name", "version"].map(|key| package[key].as_str().unwrap());
        assert!(!banned.contains(name), "{name} is banned by deny.toml");
        versions.entry(name).or_default().insert(version);
    }
    let mut doubles = BTreeSet::new();
    for (name, versions) in versions.iter().filter(|(_, v)| v.len() > 1) {
        let all = versions.iter().map(|version| format!("{name}@{version}"));
        let old: Vec<String> = all.clone().filter(|one| skipped.contains(one)).collect();
        assert!(
            old.len() + 1 >= versions.len(),
            "{:?} are doubles, and deny.toml gives no reason",
            all.collect::<Vec<_>>()
        );
        doubles.extend(old);
    }
    assert_eq!(doubles, skipped, "what deny.toml skips is a double");
}

#[test]
fn licences_are_among_those_allowed() {
    let allowed = listed(&read("deny.toml"), "licenses", "allow", "");
    let output = Command::new(std::env::var_os("CARGO").unwrap())
        .args(["metadata", "--locked", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100);
    for package in packages {
        let (name, licence) = (&package["name"], &package["license"]);
        let licence = licence
            .as_str()
            .unwrap_or_else(|| panic!("{name} names no licence"));
        let licence = spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX).unwrap();
        assert!(
            licence.evaluate(|one| one.addition.is_none()
                && one.license.id().is_some_and(|id| allowed.contains(id.name))),
            "{name} is under {licence}, which deny.toml does not allow"
        );
    }
}

/// A tag can be moved, a commit cannot.
#[test]
fn workflows_name_actions_by_their_commits() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows");
    let mut seen = 0;
    for workflow in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(workflow.unwrap().path()).unwrap();
        for line in text.lines() {
            let Some((_, action)) = line.split_once("uses: ") else {
                continue;
            };
            let commit = action.split_once('@').map(|(_, at)| at.split(' ').next());
            let is_commit = commit.flatten().is_some_and(|commit| {
                commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit())
            });
            assert!(is_commit, "{line}");
            seen += 1;
        }
    }
    assert!(seen > 0);
}
