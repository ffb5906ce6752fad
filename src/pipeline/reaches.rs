//! Whether woven code sees what it calls where that lies: in the artifact as it is laid out, as far as its paths tell.

use crate::aspect::pointcut::is_generated;
use crate::container::input::Input;
use crate::container::zip::{Archive, Member, Method};
use crate::error::{Error, Kind, Result};
use crate::jvm::Class;
use crate::pipeline::format::{Format, is_archive_name};
use crate::pipeline::library::embedded::{HOOKS_CLASS, JAR_NAME, is_of_runtime};
use crate::pipeline::library::layout::{exploded, last_exploded};
use crate::pipeline::limits::{MAX_CLASS, MAX_DEPTH, MAX_MEMBER, room_for_nested};
use crate::pipeline::worker::with_worker;
use memchr::memmem;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;

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
                Some(_) => "is not visible to its class loader",
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

/// What all that weaving adds has in its names, and all that calls it.
const MARK: &[u8] = b"weave";

/// Most of what does not fit that a message names.
const NAMED: usize = 5;

/// Classes of which all is asked for that they name.
type Whole = FxHashSet<Box<str>>;

/// What an artifact is called in messages, and the names that its whole input has.
#[derive(Clone, Copy)]
pub(super) struct Within<'w> {
    pub(super) label: &'w str,
    pub(super) whole: &'w Whole,
}

/// An output on its way.
pub(crate) enum Output<'o> {
    Archive(&'o Archive<'o>),
    /// The files of a folder: their names there, and where they lie now.
    Folder(Vec<(String, PathBuf)>),
}

/// Fails where woven code of an output would not find what it calls. `name` is the output's. One with a single loader is not read.
pub(crate) fn check(name: &str, output: &Output<'_>) -> Result<()> {
    if !has_loaders(output) {
        return Ok(());
    }
    let mut places = look(name, output, &Whole::default())?;
    let own = hooks(&places);
    if !own.is_empty() {
        places = look(name, output, &own)?;
    }
    let is_ear = matches!(output, Output::Folder(files) if files.iter().any(|(name, _)| name == "META-INF/application.xml"));
    let unseen = unseen(&places, is_ear);
    if unseen.is_empty() {
        return Ok(());
    }
    let mut told: Vec<String> = unseen.iter().take(NAMED).map(Error::to_string).collect();
    if unseen.len() > NAMED {
        told.push(format!("and {} more", unseen.len() - NAMED));
    }
    let what = format!(
        "woven code would not find these classes, so nothing is written: {}",
        told.join("; ")
    );
    Err(Error::new(Kind::NotDone, what))
}

/// Whether its classes may have several loaders.
fn has_loaders(output: &Output<'_>) -> bool {
    let has = |name: &str| is_archive_name(name) || exploded(name).is_some();
    match output {
        Output::Archive(archive) => archive.members().iter().any(|m| has(m.name())),
        Output::Folder(files) => files.iter().any(|(name, _)| has(name)),
    }
}

fn look(name: &str, output: &Output<'_>, whole: &Whole) -> Result<Vec<Place>> {
    let files = match output {
        Output::Archive(archive) => return Ok(of_archive(archive, name, whole)),
        Output::Folder(files) => files,
    };
    let of_each: Vec<Result<Vec<Place>>> = (files.par_iter())
        .map(|(file, path)| {
            if !file.ends_with(".class") && !is_archive_name(file) {
                return Ok(Vec::new());
            }
            let (input, label) = (Input::open(path)?, format!("{name}/{file}"));
            Ok(match Format::of(&input) {
                Format::Class => marked(&input, &label, whole).into_iter().collect(),
                Format::Zip => match Archive::open(&input) {
                    Ok(archive) => of_archive(&archive, &label, whole),
                    Err(_) => Vec::new(),
                },
                _ => Vec::new(),
            })
        })
        .collect();
    let mut all = Vec::new();
    for of_one in of_each {
        all.extend(of_one?);
    }
    Ok(all)
}

/// Like [`place`]; what weaving did not touch needs nothing.
fn marked(bytes: &[u8], path: &str, whole: &Whole) -> Option<Place> {
    if !whole.is_empty() || memmem::find(bytes, MARK).is_some() {
        return place(bytes, path, whole);
    }
    Some(Place {
        name: Class::parse(bytes).ok()?.name().into(),
        path: path.into(),
        needs: Vec::new(),
    })
}

fn of_archive(archive: &Archive<'_>, label: &str, whole: &Whole) -> Vec<Place> {
    let mut room = room_for_nested(archive.bytes().len());
    of_members(archive, Within { label, whole }, 0, &mut room)
}

/// `room`: how many bytes the archives in it may still unpack to. What cannot be read holds no class that a loader finds.
fn of_members(
    archive: &Archive<'_>,
    Within { label, whole }: Within<'_>,
    depth: usize,
    room: &mut u64,
) -> Vec<Place> {
    let path = |member: &Member<'_>| format!("{label}!/{}", member.name());
    let classes = |member: &Member<'_>| {
        let is_class = member.name().ends_with(".class");
        if !is_class || matches!(member.method(), Method::Other(_)) {
            return None;
        }
        with_worker(|w| {
            member.read(&mut w.codec, MAX_CLASS, &mut w.bytes).ok()?;
            marked(&w.bytes, &path(member), whole)
        })
    };
    let members = archive.members();
    let mut all: Vec<Place> = members.par_iter().filter_map(classes).collect();
    for member in members.iter().filter(|m| is_archive_name(m.name())) {
        if depth + 1 >= MAX_DEPTH || member.size() > *room {
            continue;
        }
        *room -= member.size();
        // Its members are read on all threads, which no thread may wait for with its buffers in use.
        let mut bytes = Vec::new();
        let read = with_worker(|w| member.read(&mut w.codec, MAX_MEMBER, &mut bytes));
        if read.is_ok()
            && Archive::is_zip(&bytes)
            && let Ok(inner) = Archive::open(&bytes)
        {
            let label = &path(member);
            all.extend(of_members(&inner, Within { label, whole }, depth + 1, room));
        }
    }
    all
}
