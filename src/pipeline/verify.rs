//! Verifying a whole artifact: every class in it, and the data of every member.

use crate::container::folder;
use crate::container::input::Input;
use crate::container::zip::{Archive, Member, Method};
use crate::error::{Error, Kind, Result};
use crate::jvm;
use crate::pipeline::archive::MAX_DEPTH;
use crate::pipeline::discover::{Format, is_archive_name};
use crate::pipeline::job::artifact_name;
use crate::pipeline::process::with_worker;
use rayon::prelude::*;
use std::path::Path;

/// Largest member that is unpacked to check it.
const MAX_MEMBER: u64 = 1 << 30;

/// What verification found.
#[derive(Debug, Default)]
pub struct Verified {
    /// Classes looked at.
    pub classes: u64,
    /// Their methods.
    pub methods: u64,
    /// What does not hold, each with its place.
    pub failures: Vec<Error>,
    /// Classes that the second reader refuses although the first finds nothing wrong, with its reason.
    pub unjudged: Vec<String>,
}

impl Verified {
    fn add(&mut self, other: Verified) {
        self.classes += other.classes;
        self.methods += other.methods;
        self.failures.extend(other.failures);
        self.unjudged.extend(other.unjudged);
    }
}

/// Verifies a class file, an archive or a folder.
pub fn verify(path: &Path) -> Result<Verified> {
    let name = artifact_name(path);
    if !path.is_dir() {
        let input = Input::open(path)?;
        return match Format::of(&input) {
            Format::Class => Ok(class(&input, &name)),
            Format::Zip => {
                let archive = Archive::open(&input).map_err(|e| e.in_artifact(&*name))?;
                Ok(members(&archive, &name, 0))
            }
            Format::Other => {
                let what = "neither a class file, nor a jar or other zip file, nor a folder";
                Err(Error::new(Kind::Malformed, what).in_artifact(name))
            }
        };
    }
    let mut verified = Verified::default();
    for file in folder::list(path)?.files {
        let input = Input::open(&file.path)?;
        let label = format!("{name}/{}", file.name);
        match Format::of(&input) {
            Format::Class => verified.add(class(&input, &label)),
            Format::Zip => match Archive::open(&input) {
                Ok(archive) => verified.add(members(&archive, &label, 0)),
                Err(e) => verified.failures.push(e.in_artifact(label)),
            },
            Format::Other => {}
        }
    }
    Ok(verified)
}

fn class(bytes: &[u8], label: &str) -> Verified {
    let verdict = jvm::verify::verify(bytes);
    let place = |e: Error| e.in_artifact(label);
    Verified {
        classes: 1,
        methods: verdict.methods,
        failures: verdict.failures.into_iter().map(place).collect(),
        unjudged: (verdict.unjudged.into_iter())
            .map(|why| format!("{label}: {why}"))
            .collect(),
    }
}

fn members(archive: &Archive<'_>, label: &str, depth: usize) -> Verified {
    let of_each: Vec<Verified> = archive
        .members()
        .par_iter()
        .map(|m| member(m, label, depth))
        .collect();
    let mut verified = Verified::default();
    of_each.into_iter().for_each(|v| verified.add(v));
    verified
}

fn member(member: &Member<'_>, label: &str, depth: usize) -> Verified {
    let path = format!("{label}!/{}", member.name());
    let failed = |e: Error| Verified {
        failures: vec![e.in_artifact(&*path)],
        ..Verified::default()
    };
    let unpack = |f: &dyn Fn(&[u8]) -> Verified| {
        with_worker(
            |w| match member.read(&mut w.codec, MAX_MEMBER, &mut w.bytes) {
                Ok(()) => f(&w.bytes),
                Err(e) => failed(e),
            },
        )
    };
    if matches!(member.method(), Method::Other(_)) || member.is_encrypted() {
        let what = "encrypted, or packed with a method other than deflate: not verified";
        return failed(Error::new(Kind::Unsupported, what));
    }
    if member.name().ends_with(".class") {
        return unpack(&|bytes| class(bytes, &path));
    }
    if !is_archive_name(member.name()) {
        return unpack(&|_| Verified::default());
    }
    // Its members are verified on all threads, which no thread may wait for with its buffers in use.
    let mut bytes = Vec::new();
    if let Err(e) = with_worker(|w| member.read(&mut w.codec, MAX_MEMBER, &mut bytes)) {
        return failed(e);
    }
    if !Archive::is_zip(&bytes) {
        return Verified::default();
    }
    match Archive::open(&bytes) {
        Ok(inner) if depth + 1 < MAX_DEPTH => members(&inner, &path, depth + 1),
        Ok(_) => failed(Error::new(
            Kind::Unsupported,
            format!("archives nest deeper than {MAX_DEPTH} levels"),
        )),
        Err(e) => failed(e),
    }
}
