//! Verifying a whole artifact: every class, assembly and dex file in it, and the data of every member.

use crate::cil;
use crate::container::folder;
use crate::container::input::Input;
use crate::container::zip::{Archive, Member, Method};
use crate::dex;
use crate::error::{Error, Kind, Result};
use crate::jvm;
use crate::pipeline::format::{Format, is_archive_name};
use crate::pipeline::job::artifact_name;
use crate::pipeline::limits::{MAX_DEPTH, MAX_MEMBER, room_for_nested};
use crate::pipeline::native::not_woven;
use crate::pipeline::reaches::{self, Place, Within};
use crate::pipeline::worker::with_worker;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::path::Path;

/// What verification found.
#[derive(Debug, Default)]
pub struct Verified {
    /// Types looked at: classes of the JVM and of dex files, types of assemblies.
    pub classes: u64,
    /// Their methods.
    pub methods: u64,
    /// What does not hold, each with its place.
    pub failures: Vec<Error>,
    /// Classes that the second reader refuses although the first finds nothing wrong, with its reason.
    pub unjudged: Vec<String>,
    /// The classes of the JVM, where they lie.
    places: Vec<Place>,
}

/// Classes of which all is asked for that they name.
type Whole = FxHashSet<Box<str>>;

impl Verified {
    fn add(&mut self, other: Verified) {
        self.classes += other.classes;
        self.methods += other.methods;
        self.failures.extend(other.failures);
        self.unjudged.extend(other.unjudged);
        self.places.extend(other.places);
    }
}

/// Verifies a class file, an assembly, a dex file, an archive or a folder.
pub fn verify(path: &Path) -> Result<Verified> {
    let mut verified = look(path, &Whole::default())?;
    let hooks = reaches::hooks(&verified.places);
    if !hooks.is_empty() {
        // Which classes are hooks is known by their callers alone.
        verified.places = look(path, &hooks)?.places;
    }
    let is_ear = path.join("META-INF/application.xml").exists();
    let unseen = reaches::unseen(&verified.places, is_ear);
    verified.failures.extend(unseen);
    verified.places = Vec::new();
    Ok(verified)
}

fn look(path: &Path, whole: &Whole) -> Result<Verified> {
    let name = artifact_name(path);
    if !path.is_dir() {
        let input = Input::open(path)?;
        if Format::of(&input) == Format::Zip {
            let archive = Archive::open(&input).map_err(|e| e.in_artifact(&*name))?;
            return Ok(outermost(&archive, &name, whole));
        }
        let verified = file(&input, &name, whole);
        let verified = verified.ok_or_else(|| not_woven(&input).in_artifact(name))?;
        // What surrounds it is not known.
        return Ok(Verified {
            places: Vec::new(),
            ..verified
        });
    }
    let files = folder::list(path)?.files;
    let of_each: Vec<Result<Verified>> = (files.par_iter())
        .map(|entry| {
            let input = Input::open(&entry.path)?;
            let label = format!("{name}/{}", entry.name);
            if Format::of(&input) != Format::Zip {
                return Ok(file(&input, &label, whole).unwrap_or_default());
            }
            Ok(match Archive::open(&input) {
                Ok(archive) => outermost(&archive, &label, whole),
                Err(e) => Verified {
                    failures: vec![e.in_artifact(label)],
                    ..Verified::default()
                },
            })
        })
        .collect();
    let mut verified = Verified::default();
    for of_one in of_each {
        verified.add(of_one?);
    }
    Ok(verified)
}

/// Verifies what is no archive; `None` where there is nothing to verify.
fn file(bytes: &[u8], label: &str, whole: &Whole) -> Option<Verified> {
    let mut places = Vec::new();
    let mut verdict = match Format::of(bytes) {
        Format::Class => {
            places.extend(reaches::place(bytes, label, whole));
            jvm::verify::verify(bytes)
        }
        Format::Pe if cil::is_assembly(bytes) => cil::verify::verify(bytes),
        Format::Dex => dex::verify(bytes),
        Format::Pe | Format::Zip | Format::Other => return None,
    };
    if Format::of(bytes) == Format::Dex && verdict.failures.is_empty() {
        verdict.failures.extend(dex::checksums(bytes).err());
    }
    let place = |e: Error| e.in_artifact(label);
    Some(Verified {
        classes: verdict.types,
        methods: verdict.methods,
        failures: verdict.failures.into_iter().map(place).collect(),
        unjudged: (verdict.unjudged.into_iter())
            .map(|why| format!("{label}: {why}"))
            .collect(),
        places,
    })
}

fn outermost(archive: &Archive<'_>, label: &str, whole: &Whole) -> Verified {
    let mut room = room_for_nested(archive.bytes().len());
    members(archive, Within { label, whole }, 0, &mut room)
}

/// `room`: how many bytes the archives in it may still unpack to. They are taken one after the other, so that what
/// does not fit is the same with any number of threads.
fn members(
    archive: &Archive<'_>,
    Within { label, whole }: Within<'_>,
    depth: usize,
    room: &mut u64,
) -> Verified {
    let of_each: Vec<Option<Verified>> = archive
        .members()
        .par_iter()
        .map(|m| member(m, label, whole))
        .collect();
    let mut verified = Verified::default();
    for (member, found) in archive.members().iter().zip(of_each) {
        verified.add(found.unwrap_or_else(|| nested(member, Within { label, whole }, depth, room)));
    }
    verified
}

/// What is wrong with a member as a whole.
fn failed(member: &Member<'_>, label: &str, e: Error) -> Verified {
    Verified {
        failures: vec![e.in_artifact(format!("{label}!/{}", member.name()))],
        ..Verified::default()
    }
}

/// Verifies a member; `None` for what may be an archive.
fn member(member: &Member<'_>, label: &str, whole: &Whole) -> Option<Verified> {
    let path = format!("{label}!/{}", member.name());
    let unpack = |f: &dyn Fn(&[u8]) -> Verified| {
        Some(with_worker(|w| {
            match member.read(&mut w.codec, MAX_MEMBER, &mut w.bytes) {
                Ok(()) => f(&w.bytes),
                Err(e) => failed(member, label, e),
            }
        }))
    };
    if matches!(member.method(), Method::Other(_)) || member.is_encrypted() {
        let what = "encrypted, or packed with a method other than deflate: not verified";
        let e = Error::new(Kind::Unsupported, what);
        return Some(failed(member, label, e));
    }
    if [".class", ".dex", ".dll"]
        .iter()
        .any(|s| member.name().ends_with(s))
    {
        return unpack(&|bytes| file(bytes, &path, whole).unwrap_or_default());
    }
    if !is_archive_name(member.name()) {
        return unpack(&|_| Verified::default());
    }
    None
}

/// Verifies what may be an archive in an archive.
fn nested(
    member: &Member<'_>,
    Within { label, whole }: Within<'_>,
    depth: usize,
    room: &mut u64,
) -> Verified {
    if member.size() > *room {
        let what = "the archives nested in the file unpack to more than 32 times its size";
        return failed(member, label, Error::new(Kind::Unsupported, what));
    }
    *room -= member.size();
    // Its members are verified on all threads, which no thread may wait for with its buffers in use.
    let mut bytes = Vec::new();
    if let Err(e) = with_worker(|w| member.read(&mut w.codec, MAX_MEMBER, &mut bytes)) {
        return failed(member, label, e);
    }
    if !Archive::is_zip(&bytes) {
        return Verified::default();
    }
    match Archive::open(&bytes) {
        Ok(inner) if depth + 1 < MAX_DEPTH => {
            let path = format!("{label}!/{}", member.name());
            members(
                &inner,
                Within {
                    label: &path,
                    whole,
                },
                depth + 1,
                room,
            )
        }
        Ok(_) => {
            let what = format!("archives nest deeper than {MAX_DEPTH} levels");
            failed(member, label, Error::new(Kind::Unsupported, what))
        }
        Err(e) => failed(member, label, e),
    }
}
