//! What is around methods, read before anything is woven: the supertypes of all types of the input and its references, for rules
//! with `extends`, and the types whose methods rules call as hooks.

use crate::aspect::bind::binder::{HANDOVER, QUEUED, SPANS, SWITCHED, VALUES};
use crate::aspect::bind::catalog::{
    Collect, Collector, Counts, Declared, HookType, MemberType, Supertypes, spellings,
};
use crate::aspect::bind::functional::Interface;
use crate::aspect::pointcut::{Hierarchy, Matcher};
use crate::aspect::rules::Rules;
use crate::aspect::structs::Structs;
use crate::cil;
use crate::container::folder;
use crate::container::input::Input;
use crate::container::zip::{Archive, Method};
use crate::dex;
use crate::error::{Error, Finding, Result};
use crate::jvm::{self, Class};
use crate::pipeline::format::{Format, is_archive_name};
use crate::pipeline::library::embedded::{self, is_of_runtime};
use crate::pipeline::limits::{MAX_CLASS, MAX_DEPTH, MAX_MEMBER, room_for_nested};
use crate::pipeline::own::{Catalogs, Code};
use crate::pipeline::worker::with_worker;
use crate::printable::printable;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What was found in a file.
#[derive(Default)]
struct Found {
    supertypes: Vec<Supertypes>,
    /// Structs of .NET, and whether they are ref structs.
    structs: Vec<(Box<str>, bool)>,
    /// Types of .NET that only subtypes of others see.
    hidden: Vec<Box<str>>,
    defined_hidden: Vec<Box<str>>,
    /// Types whose methods rules call as hooks.
    hooks: Vec<Named<HookType>>,
    declared: Vec<Named<Declared>>,
    /// What chains can ask for.
    members: Vec<Named<MemberType>>,
    interfaces: Vec<Named<Interface>>,
    /// Methods that `mode = "auto"` takes, a list a class or file.
    taken: Vec<Taken>,
}

/// Methods that `mode = "auto"` takes, by their keys.
struct Taken {
    code: Code,
    keys: Vec<u64>,
}

/// What was found of a type.
struct Named<T> {
    code: Code,
    name: Box<str>,
    found: T,
}

impl<T> Named<T> {
    fn all(code: Code, types: Vec<(Box<str>, T)>) -> Vec<Named<T>> {
        let types = types.into_iter();
        types
            .map(|(name, found)| Named { code, name, found })
            .collect()
    }
}

impl Found {
    fn add(&mut self, other: Found) {
        self.supertypes.extend(other.supertypes);
        self.structs.extend(other.structs);
        self.hidden.extend(other.hidden);
        self.defined_hidden.extend(other.defined_hidden);
        self.hooks.extend(other.hooks);
        self.declared.extend(other.declared);
        self.members.extend(other.members);
        self.interfaces.extend(other.interfaces);
        self.taken.extend(other.taken);
    }

    fn collected(code: Code, collector: Collector<'_>) -> Found {
        let keys = collector.bodies;
        Found {
            taken: (!keys.is_empty())
                .then_some(Taken { code, keys })
                .into_iter()
                .collect(),
            declared: Named::all(code, collector.declared),
            members: Named::all(code, collector.members),
            interfaces: Named::all(code, collector.interfaces),
            supertypes: collector.supertypes,
            structs: collector.structs,
            hidden: collector.hidden,
            defined_hidden: collector.defined_hidden,
            hooks: Named::all(code, collector.types),
        }
    }
}

/// What is looked for: the types that rules call, as artifacts may spell them.
struct Wanted<'m> {
    types: FxHashSet<String>,
    /// What all types declare, for rules about calls (JVM, dex).
    all: bool,
    /// The links of chains.
    members: FxHashSet<String>,
    /// Interfaces, which `proceed` may be an object of.
    interfaces: bool,
    /// Whether `mode = "auto"` takes a method.
    counts: Option<Counts<'m>>,
}

impl Wanted<'_> {
    fn collector(&self, code: Code) -> Collector<'_> {
        Collector::new(Collect {
            types: &self.types,
            // An assembly says itself who sees what it calls.
            declared: self.all && code != Code::Assembly,
            members: &self.members,
            interfaces: self.interfaces,
            counts: self.counts,
        })
    }
}

/// What is looked for in the input, the libraries and the references.
fn wanted(matcher: &Matcher) -> Wanted<'_> {
    let own = matcher.hook_types();
    let values = VALUES
        .into_iter()
        .filter(|_| matcher.calls_values() || matcher.asks_for_first());
    let switched = SWITCHED.into_iter().filter(|_| matcher.has_switches());
    let has_spans = matcher.has_spans() || matcher.sends();
    let spans = SPANS.into_iter().filter(|_| has_spans);
    let handover = HANDOVER.into_iter().filter(|_| matcher.hands_over());
    let queued = QUEUED.into_iter().filter(|_| matcher.has_queues());
    let handover = handover.chain(queued);
    let library = values.chain(switched).chain(spans).chain(handover);
    Wanted {
        types: (own.chain(library)).flat_map(spellings).collect(),
        all: matcher.has_points(),
        members: matcher.members().collect(),
        interfaces: matcher.has_around(),
        counts: None,
    }
}

impl Found {
    /// Adds what was found; of two types of one name the first counts.
    fn join(
        self,
        hierarchy: &mut Hierarchy,
        catalogs: &mut Catalogs,
        structs: &mut Structs,
        is_library: bool,
    ) {
        for (name, by_ref_like) in self.structs {
            structs.add(name, by_ref_like);
        }
        self.hidden.into_iter().for_each(|name| structs.hide(name));
        hierarchy.defined_hidden.extend(self.defined_hidden);
        for (name, supertypes) in self.supertypes {
            if is_library {
                catalogs.add_library_type(&name);
            }
            hierarchy.supertypes.entry(name).or_insert(supertypes);
        }
        for ty in self.hooks {
            catalogs.add(ty.code, ty.name, ty.found);
        }
        for ty in self.declared {
            catalogs.declare(ty.code, ty.name, ty.found);
        }
        for ty in self.members {
            catalogs.add_members(ty.code, ty.name, ty.found);
        }
        for taken in self.taken {
            catalogs.add_bodies(taken.code, taken.keys);
        }
        for ty in self.interfaces {
            catalogs.add_interface(ty.code, ty.name, ty.found);
        }
    }
}

/// Reads the input, then the references; of two types of one name the first counts. Hooks are looked for in the libraries
/// before that.
pub(crate) fn build(
    matcher: &Matcher,
    input: &Path,
    references: &[PathBuf],
) -> Result<(Hierarchy, Catalogs)> {
    let mut hierarchy = Hierarchy::default();
    let mut catalogs = Catalogs::default();
    let takes = |ty: &str, method: &str, kinds| matcher.takes(ty, method, kinds);
    let mut wanted = wanted(matcher);
    let mut structs = Structs::default();
    let mut add = |found: Found, is_library: bool| {
        found.join(&mut hierarchy, &mut catalogs, &mut structs, is_library);
    };
    if wanted.types.iter().any(|name| is_of_runtime(name)) {
        for library in [embedded::JAR, embedded::DEX, embedded::DLL] {
            add(of_bytes(library, &wanted), false);
        }
    }
    for library in matcher.libraries() {
        if !library.path.exists() {
            let place = &library.place;
            let what = format!(
                "{}:{}:{}: the library {}: there is no such file or folder",
                printable(&place.file),
                place.line,
                place.column,
                library.path.display()
            );
            return Err(Error::usage(what).with_findings(vec![Finding {
                place: library.place.clone(),
                message: "there is no such file or folder".into(),
            }]));
        }
        add(of_path(&library.path, &wanted)?, true);
    }
    for (i, path) in std::iter::once(input)
        .chain(references.iter().map(PathBuf::as_path))
        .enumerate()
    {
        if i > 0 && !path.exists() {
            let what = format!(
                "--reference {}: there is no such file or folder",
                path.display()
            );
            return Err(Error::usage(what));
        }
        // Nobody weaves the references here.
        wanted.counts = match i == 0 && matcher.leaves_any_short() {
            true => Some(&takes),
            false => None,
        };
        add(of_path(path, &wanted)?, false);
    }
    if matcher.takes_values() && !input.is_dir() {
        add_structs_beside(input, &mut structs)?;
    }
    for (written, methods) in matcher.value_types() {
        catalogs.note_values(written, &methods);
    }
    for said in matcher
        .said_types()
        .iter()
        .filter(|said| !said.extends.is_empty())
    {
        hierarchy.say(said);
    }
    hierarchy.structs = Arc::new(structs);
    if !wanted.members.is_empty() {
        let platform = Rules::platform_types();
        for said in matcher.said_types().iter().chain(&platform) {
            catalogs.say(said);
        }
    }
    Ok((hierarchy, catalogs))
}

/// The structs of the assemblies beside an assembly that it refers to, and of those that they refer to.
fn add_structs_beside(input: &Path, structs: &mut Structs) -> Result<()> {
    let mut next = vec![input.to_owned()];
    let mut seen: FxHashSet<PathBuf> = FxHashSet::default();
    let none = FxHashSet::default();
    while let Some(path) = next.pop() {
        let file = Input::open(&path)?;
        if Format::of(&file) != Format::Pe {
            continue;
        }
        let Ok(image) = cil::Image::parse(&file) else {
            continue;
        };
        let mut collector = Collector::new(Collect {
            types: &none,
            declared: false,
            members: &none,
            interfaces: false,
            counts: None,
        });
        if path != *input && cil::scan(&image, &mut collector).is_ok() {
            for (name, by_ref_like) in collector.structs {
                structs.add(name, by_ref_like);
            }
            collector
                .hidden
                .into_iter()
                .for_each(|name| structs.hide(name));
        }
        for name in image
            .references()
            .filter(|name| !name.contains(['/', '\\']))
        {
            let beside = path.with_file_name(format!("{name}.dll"));
            if beside != *input && seen.insert(beside.clone()) && beside.is_file() {
                next.push(beside);
            }
        }
    }
    Ok(())
}

fn of_path(path: &Path, wanted: &Wanted<'_>) -> Result<Found> {
    if !path.is_dir() {
        return of_file(path, wanted);
    }
    let files = folder::list(path)?.files;
    let found: Vec<_> = (files.par_iter())
        .map(|file| of_file(&file.path, wanted))
        .collect();
    let mut all = Found::default();
    for found in found {
        all.add(found?);
    }
    Ok(all)
}

fn of_file(path: &Path, wanted: &Wanted<'_>) -> Result<Found> {
    Ok(of_bytes(&Input::open(path)?, wanted))
}

/// A file that cannot be read has no types here. If it is the input, weaving it reports the error.
fn of_bytes(bytes: &[u8], wanted: &Wanted<'_>) -> Found {
    match Format::of(bytes) {
        Format::Class => of_class(bytes, wanted).unwrap_or_default(),
        Format::Zip => Archive::open(bytes).map_or_else(
            |_| Found::default(),
            |a| of_archive(&a, 0, &mut room_for_nested(bytes.len()), wanted),
        ),
        Format::Pe => of_assembly(bytes, wanted).unwrap_or_default(),
        Format::Dex => of_dex(bytes, wanted).unwrap_or_default(),
        Format::Other => Found::default(),
    }
}

fn of_assembly(bytes: &[u8], wanted: &Wanted<'_>) -> Result<Found> {
    let image = cil::Image::parse(bytes)?;
    let mut collector = wanted.collector(Code::Assembly);
    cil::scan(&image, &mut collector)?;
    if image.refusal().is_some() {
        collector.bodies.clear(); // none of it is woven
    }
    Ok(Found::collected(Code::Assembly, collector))
}

/// A class that cannot be read has no supertypes here. Weaving it reports the error.
fn of_class(bytes: &[u8], wanted: &Wanted<'_>) -> Option<Found> {
    let class = Class::parse(bytes).ok()?;
    if class.is_module() {
        return None;
    }
    let mut collector = wanted.collector(Code::Class);
    jvm::scan(&class, &mut collector).ok()?;
    Some(Found::collected(Code::Class, collector))
}

fn of_dex(bytes: &[u8], wanted: &Wanted<'_>) -> Result<Found> {
    let mut collector = wanted.collector(Code::Dex);
    dex::scan(&dex::Dex::parse(bytes)?, &mut collector)?;
    Ok(Found::collected(Code::Dex, collector))
}

/// `room`: how many bytes the archives in it may still unpack to. Weaving reports those that do not fit.
fn of_archive(archive: &Archive<'_>, depth: usize, room: &mut u64, wanted: &Wanted<'_>) -> Found {
    let members = archive.members();
    let classes: Vec<Found> = members
        .par_iter()
        .filter(|m| m.name().ends_with(".class") && !matches!(m.method(), Method::Other(_)))
        .filter_map(|member| {
            with_worker(|w| {
                member.read(&mut w.codec, MAX_CLASS, &mut w.bytes).ok()?;
                of_class(&w.bytes, wanted)
            })
        })
        .collect();
    let mut all = Found::default();
    classes.into_iter().for_each(|found| all.add(found));
    for member in members.iter().filter(|m| m.name().ends_with(".dex")) {
        let mut bytes = Vec::new();
        let read = with_worker(|w| member.read(&mut w.codec, MAX_MEMBER, &mut bytes));
        if read.is_ok() {
            all.add(of_dex(&bytes, wanted).unwrap_or_default());
        }
    }
    if depth + 1 < MAX_DEPTH {
        for member in members.iter().filter(|m| is_archive_name(m.name())) {
            if member.size() > *room {
                continue;
            }
            *room -= member.size();
            let mut bytes = Vec::new();
            let read = with_worker(|w| member.read(&mut w.codec, MAX_MEMBER, &mut bytes));
            if read.is_ok()
                && Archive::is_zip(&bytes)
                && let Ok(inner) = Archive::open(&bytes)
            {
                all.add(of_archive(&inner, depth + 1, room, wanted));
            }
        }
    }
    all
}
