//! Running a job: one file or a folder.

use crate::aspect::bind::reach::Reach;
use crate::aspect::pointcut::Hierarchy;
use crate::aspect::structs::MissingStruct;
use crate::container::folder;
use crate::container::stage::Staged;
use crate::container::zip::Archive;
use crate::error::{Error, Kind, Result};
use crate::pipeline::context::{Context, Platform};
use crate::pipeline::format::Format;
use crate::pipeline::hierarchy;
use crate::pipeline::inputs::file::weave_file;
use crate::pipeline::inputs::folder::weave_folder;
use crate::pipeline::job::{Job, Meter, Progress, artifact_name, check_paths, read_maps};
use crate::pipeline::ledger::Ledger;
use crate::pipeline::ledger::ids::KnownIds;
use crate::pipeline::library::embedded::is_of_runtime;
use crate::pipeline::outcome::{Outcome, WarningKind};
use crate::pipeline::own::{Catalogs, Embedded, Own, library_types};
use crate::pipeline::publish::staged_folder::remove_stale;
use crate::pipeline::reaches;
use crate::printable::printable;
use rustc_hash::FxHashMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// The files of an input: itself, or those of the folder that it is.
pub fn files_of(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let files = folder::list(path)?.files;
    Ok(files.into_iter().map(|file| file.path).collect())
}

pub fn run(job: &Job, progress: Progress<'_>) -> Result<Outcome> {
    let metadata = std::fs::metadata(&job.input).map_err(|e| Error::io("read", &job.input, e))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(job.threads.unwrap_or(0))
        .thread_name(|i| format!("weave-{i}"))
        .build()
        .map_err(|e| Error::new(Kind::NotDone, format!("cannot start threads: {e}")))?;
    pool.install(|| run_here(job, &metadata, progress))
}

fn run_here(job: &Job, metadata: &Metadata, progress: Progress<'_>) -> Result<Outcome> {
    check_paths(job, metadata.is_dir())?;
    let known = KnownIds::new(job.id_base, read_maps(&job.known_symbols)?);
    let (hierarchy, catalogs) = match job.matcher.needs_hierarchy() {
        true => hierarchy::build(&job.matcher, &job.input, &job.references)?,
        false => (Hierarchy::default(), Catalogs::default()),
    };
    let (mut embedded, mut there) = (Embedded::default(), Embedded::default());
    for library in job.matcher.libraries() {
        let into = if library.embed {
            &mut embedded
        } else {
            &mut there
        };
        into.add(&library.path)?;
    }
    let calls_runtime = job.matcher.hook_types().any(is_of_runtime);
    let mut types = match calls_runtime {
        true => library_types(&Embedded::runtime()?),
        false => FxHashMap::default(),
    };
    types.extend(library_types(&there));
    types.extend(library_types(&embedded));
    let own = job.matcher.binds_hooks().then(|| {
        let supertypes = hierarchy.supertypes.iter();
        let reach = Reach::new(&types, supertypes.map(|(ty, above)| (&**ty, &**above)));
        Own::new(catalogs, embedded, there, reach)
    });
    let cx = Context {
        matcher: &job.matcher,
        hierarchy: &hierarchy,
        id_base: job.id_base,
        classes_on: Platform::Java,
        explain: job.explain,
        dry: job.output.is_none(),
        runtime: job.runtime,
        own: own.as_ref(),
        effort: job.effort,
        identity: job.identity.as_ref(),
    };
    let mut ledger = Ledger::new(&known, job.explain, artifact_name(&job.input));
    ledger.outcome.warn_of_collisions(known.maps());
    if let Some(output) = &job.output {
        remove_stale(output);
    }
    if metadata.is_dir() {
        weave_folder(&cx, &mut ledger, job, progress)?;
    } else {
        let meter = Meter::new(progress, metadata.len());
        // All inputs are closed by now: Windows replaces no file that is mapped.
        let mut staged = weave_file(&cx, &mut ledger, &meter, job)?;
        cx.check_own()?;
        // The artifact comes last.
        if let (Some(output), Some(artifact), true) =
            (&job.output, staged.last_mut(), own.is_some())
        {
            check_archive(output, artifact)?;
        }
        for staged in staged {
            staged.commit()?;
        }
    }
    if let Some(cache) = &job.cache {
        cache.trim();
    }
    let mut outcome = ledger.outcome;
    if let Some(text) = unknown_structs(&hierarchy) {
        outcome.warn(WarningKind::StructsUnknown, text);
    }
    for text in job.matcher.vain(&ledger.matched) {
        outcome.warn(WarningKind::InVain, text);
    }
    outcome.aspects = job.matcher.aspects();
    outcome.idle = job.matcher.idle(&ledger.matched);
    outcome.output = job.output.clone().filter(|_| !outcome.refused);
    Ok(outcome)
}

/// Fails where an archive's own layout keeps woven code from what it calls.
fn check_archive(output: &Path, artifact: &mut Staged) -> Result<()> {
    let bytes = artifact.written()?;
    match Format::of(&bytes) {
        Format::Zip => {
            let archive = Archive::open(&bytes)?;
            reaches::check(&artifact_name(output), &reaches::Output::Archive(&archive))
        }
        _ => Ok(()),
    }
}

/// The note about structs that absent assemblies define.
fn unknown_structs(hierarchy: &Hierarchy) -> Option<String> {
    /// So many of them are named.
    const NAMED: usize = 3;
    let missing = hierarchy.structs.missing();
    let (first, more) = missing.split_at(missing.len().min(NAMED));
    let named = |one: &MissingStruct| {
        let assembly = one.assembly.split(',').next().unwrap_or_default();
        format!("{} of {}", printable(&one.name), printable(assembly))
    };
    let mut names = first.iter().map(named).collect::<Vec<_>>().join(", ");
    if !more.is_empty() {
        names.push_str(&format!(" and {} more", more.len()));
    }
    (!first.is_empty()).then(|| {
        format!(
            "nothing says whether these structs are ref structs, so values of them are left out: {names}; name their assemblies with --reference"
        )
    })
}
