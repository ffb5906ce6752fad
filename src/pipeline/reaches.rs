//! Whether woven code sees what it calls where that lies: in the artifact as it is laid out, as far as its paths tell.

use crate::aspect::pointcut::is_generated;
use crate::error::{Error, Kind};
use crate::jvm::Class;
use crate::pipeline::library::embedded::{HOOKS_CLASS, JAR_NAME, is_of_runtime};
use crate::pipeline::library::layout::last_exploded;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The class of the hook library that adapters call.
const GUARD: &str = "weave/runtime/Guard";

/// A class, where it lies, and what of that which weaving adds it needs.
#[derive(Debug)]
pub(super) struct Place {
    name: Box<str>,
    /// Its path from the outermost artifact on.
    path: Box<str>,
    needs: Vec<Box<str>>,
}

/// A class by its path; all that it names, if it is one of these. `None`: it cannot be read.
pub(super) fn place(bytes: &[u8], path: &str, whole: &FxHashSet<Box<str>>) -> Option<Place> {
    let class = Class::parse(bytes).ok()?;
    let name = class.name();
    let named = match is_of_runtime(&name) {
        true => Vec::new(),
        false => class.named_classes().ok()?,
    };
    let is_adapter = is_generated(&name) && named.iter().any(|named| named == GUARD);
    let all = is_adapter || whole.contains(&*name);
    let is_needed = |named: &Cow<'_, str>| {
        all && !named.starts_with("java/") || is_generated(named) || is_of_runtime(named)
    };
    let needs = named.iter().filter(|named| is_needed(named));
    Some(Place {
        needs: needs.map(|named| (&**named).into()).collect(),
        name: (&*name).into(),
        path: path.into(),
    })
}

/// The classes of one's own hooks: what adapters call.
pub(super) fn hooks(places: &[Place]) -> FxHashSet<Box<str>> {
    let generated = places.iter().filter(|place| is_generated(&place.name));
    let called = generated.flat_map(|place| &place.needs);
    let own = called.filter(|name| !is_generated(name) && !is_of_runtime(name));
    own.cloned().collect()
}

/// The loader of what has this path, by the application that it is part of; empty for what surrounds it.
fn loader(path: &str) -> &str {
    last_exploded(path).unwrap_or_default()
}

/// What does not see what it needs. `shares_libraries`: all in the folder see the jars at its top (an ear).
pub(super) fn unseen(places: &[Place], shares_libraries: bool) -> Vec<Error> {
    let mut index: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
    for place in places {
        index.entry(&place.name).or_default().push(&place.path);
    }
    // Where the library lies in no part of it, it lies elsewhere.
    let has_library = index.contains_key(HOOKS_CLASS.trim_end_matches(".class"));
    let sees = |from: &str, path: &str| {
        let (from, other) = (loader(from), loader(path));
        // A library jar in a folder is named by the manifests of jars that one loader reads.
        let before = path.split_once(&format!("{JAR_NAME}!/"));
        let is_apart = before.is_some_and(|(before, _)| !before.contains("!/"));
        from.starts_with(other) && (from == other || !is_apart || shares_libraries)
    };
    let mut told = BTreeSet::new();
    for place in places {
        for needed in &place.needs {
            let why = match index.get(&**needed) {
                Some(paths) if paths.iter().any(|path| sees(&place.path, path)) => continue,
                Some(_) => "lies where it does not look",
                None if is_generated(needed) => "is missing",
                None if is_of_runtime(needed) && has_library => {
                    "the hook library here does not have"
                }
                None => continue,
            };
            told.insert((&*place.path, &*place.name, &**needed, why));
        }
    }
    let told = told.into_iter().map(|(path, name, needed, why)| {
        Error::new(
            Kind::Malformed,
            format!("{name} needs {needed}, which {why}"),
        )
        .in_artifact(path)
    });
    told.collect()
}
