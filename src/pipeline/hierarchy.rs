//! Supertypes of all types of the input and its references, for rules with `extends`.

use crate::aspect::joinpoint::{self, Type, Visitor};
use crate::aspect::pointcut::Hierarchy;
use crate::cil;
use crate::container::folder;
use crate::container::input::Input;
use crate::container::zip::{Archive, Method};
use crate::dex;
use crate::error::{Error, Result};
use crate::jvm::Class;
use crate::pipeline::format::{Format, is_archive_name};
use crate::pipeline::limits::{MAX_CLASS, MAX_DEPTH, MAX_MEMBER, room_for_nested};
use crate::pipeline::worker::with_worker;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// A type's name and the names of its direct supertypes.
type Supertypes = (Box<str>, Box<[Box<str>]>);

/// Reads the input, then the references; of two types of one name the first counts.
pub(crate) fn build(input: &Path, references: &[PathBuf]) -> Result<Hierarchy> {
    let mut hierarchy = Hierarchy::default();
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
        for (name, supertypes) in of_path(path)? {
            hierarchy.supertypes.entry(name).or_insert(supertypes);
        }
    }
    Ok(hierarchy)
}

fn of_path(path: &Path) -> Result<Vec<Supertypes>> {
    if !path.is_dir() {
        return of_file(path);
    }
    let files = folder::list(path)?.files;
    let found: Vec<_> = files.par_iter().map(|file| of_file(&file.path)).collect();
    let mut types = Vec::new();
    for found in found {
        types.extend(found?);
    }
    Ok(types)
}

fn of_file(path: &Path) -> Result<Vec<Supertypes>> {
    let input = Input::open(path)?;
    Ok(match Format::of(&input) {
        Format::Class => of_class(&input).into_iter().collect(),
        // One that cannot be read has no supertypes here. If it is the input, weaving it reports the error.
        Format::Zip => Archive::open(&input).map_or_else(
            |_| Vec::new(),
            |a| of_archive(&a, 0, &mut room_for_nested(input.len())),
        ),
        Format::Pe => of_assembly(&input).unwrap_or_default(),
        Format::Dex => of_dex(&input).unwrap_or_default(),
        Format::Other => Vec::new(),
    })
}

/// Collects supertypes, and no methods.
#[derive(Default)]
struct Collector(Vec<Supertypes>);

impl Visitor for Collector {
    fn enter_type(&mut self, ty: &Type<'_>) -> bool {
        let mut supertypes = Vec::new();
        ty.details
            .supertypes(&mut |name| supertypes.push(name.into()));
        self.0.push((ty.name.into(), supertypes.into()));
        false
    }

    fn method(&mut self, _: u32, _: &joinpoint::Method<'_>) {}
}

fn of_assembly(bytes: &[u8]) -> Result<Vec<Supertypes>> {
    let mut collector = Collector::default();
    cil::scan(&cil::Image::parse(bytes)?, &mut collector)?;
    Ok(collector.0)
}

/// A class that cannot be read has no supertypes here. Weaving it reports the error.
fn of_class(bytes: &[u8]) -> Option<Supertypes> {
    let class = Class::parse(bytes).ok()?;
    if class.is_module() {
        return None;
    }
    let mut supertypes = Vec::new();
    class.supertypes(&mut |name| supertypes.push(name.into()));
    Some((class.name().into(), supertypes.into()))
}

fn of_dex(bytes: &[u8]) -> Result<Vec<Supertypes>> {
    let mut collector = Collector::default();
    dex::scan(&dex::Dex::parse(bytes)?, &mut collector)?;
    Ok(collector.0)
}

/// `room`: how many bytes the archives in it may still unpack to. Weaving reports those that do not fit.
fn of_archive(archive: &Archive<'_>, depth: usize, room: &mut u64) -> Vec<Supertypes> {
    let members = archive.members();
    let mut types: Vec<Supertypes> = members
        .par_iter()
        .filter(|m| m.name().ends_with(".class") && !matches!(m.method(), Method::Other(_)))
        .filter_map(|member| {
            with_worker(|w| {
                member.read(&mut w.codec, MAX_CLASS, &mut w.bytes).ok()?;
                of_class(&w.bytes)
            })
        })
        .collect();
    for member in members.iter().filter(|m| m.name().ends_with(".dex")) {
        let mut bytes = Vec::new();
        let read = with_worker(|w| member.read(&mut w.codec, MAX_MEMBER, &mut bytes));
        if read.is_ok() {
            types.extend(of_dex(&bytes).unwrap_or_default());
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
                types.extend(of_archive(&inner, depth + 1, room));
            }
        }
    }
    types
}
