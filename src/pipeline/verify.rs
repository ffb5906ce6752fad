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
use crate::pipeline::limits::{MAX_DEPTH, MAX_MEMBER};
use crate::pipeline::native::not_woven;
use crate::pipeline::worker::with_worker;
use rayon::prelude::*;
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
}

impl Verified {
    fn add(&mut self, other: Verified) {
        self.classes += other.classes;
        self.methods += other.methods;
        self.failures.extend(other.failures);
        self.unjudged.extend(other.unjudged);
    }
}

/// Verifies a class file, an assembly, a dex file, an archive or a folder.
pub fn verify(path: &Path) -> Result<Verified> {
    let name = artifact_name(path);
    if !path.is_dir() {
        let input = Input::open(path)?;
        if Format::of(&input) == Format::Zip {
            let archive = Archive::open(&input).map_err(|e| e.in_artifact(&*name))?;
            return Ok(members(&archive, &name, 0));
        }
        return file(&input, &name).ok_or_else(|| not_woven(&input).in_artifact(name));
    }
    let files = folder::list(path)?.files;
    let of_each: Vec<Result<Verified>> = (files.par_iter())
        .map(|entry| {
            let input = Input::open(&entry.path)?;
            let label = format!("{name}/{}", entry.name);
            if Format::of(&input) != Format::Zip {
                return Ok(file(&input, &label).unwrap_or_default());
            }
            Ok(match Archive::open(&input) {
                Ok(archive) => members(&archive, &label, 0),
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
fn file(bytes: &[u8], label: &str) -> Option<Verified> {
    let mut verdict = match Format::of(bytes) {
        Format::Class => jvm::verify::verify(bytes),
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
    })
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
    if [".class", ".dex", ".dll"]
        .iter()
        .any(|s| member.name().ends_with(s))
    {
        return unpack(&|bytes| file(bytes, &path).unwrap_or_default());
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
