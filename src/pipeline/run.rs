//! Running a job: one file or a folder.

use crate::aspect::pointcut::Hierarchy;
use crate::container::input::Input;
use crate::container::stage::Staged;
use crate::container::zip::Archive;
use crate::error::{Error, Kind, Result};
use crate::pipeline::archive::{Spot, weave_archive};
use crate::pipeline::commit::{remove_stale, same_file};
use crate::pipeline::discover::Format;
use crate::pipeline::folder::weave_folder;
use crate::pipeline::hierarchy;
use crate::pipeline::ids::KnownIds;
use crate::pipeline::jar_rules::Library;
use crate::pipeline::job::{Job, Meter, Progress, artifact_name, check_paths, read_maps};
use crate::pipeline::ledger::Ledger;
use crate::pipeline::outcome::Outcome;
use crate::pipeline::output::{Target, write_all, write_map};
use crate::pipeline::process::{Context, weave_class, with_worker};

/// Runs a job.
pub fn run(job: &Job, progress: Progress<'_>) -> Result<Outcome> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(job.threads.unwrap_or(0))
        .thread_name(|i| format!("weave-{i}"))
        .build()
        .map_err(|e| Error::new(Kind::NotDone, format!("cannot start threads: {e}")))?;
    pool.install(|| run_here(job, progress))
}

fn run_here(job: &Job, progress: Progress<'_>) -> Result<Outcome> {
    let metadata = std::fs::metadata(&job.input).map_err(|e| Error::io("read", &job.input, e))?;
    check_paths(job, metadata.is_dir())?;
    let known = KnownIds::new(job.id_base, read_maps(&job.known_symbols)?);
    let hierarchy = match job.matcher.needs_hierarchy() {
        true => hierarchy::build(&job.input, &job.references)?,
        false => Hierarchy::default(),
    };
    let cx = Context {
        matcher: &job.matcher,
        hierarchy: &hierarchy,
        id_base: job.id_base,
        explain: job.explain,
        dry: job.output.is_none(),
        runtime: job.runtime,
    };
    let mut ledger = Ledger::new(&known, job.explain);
    if let Some(output) = &job.output {
        remove_stale(output);
    }
    if metadata.is_dir() {
        weave_folder(&cx, &mut ledger, job, progress)?;
    } else {
        let meter = Meter::new(progress, metadata.len());
        weave_file(&cx, &mut ledger, &meter, job)?;
    }
    let mut outcome = ledger.outcome;
    outcome.idle = job.matcher.idle();
    outcome.output = job.output.clone().filter(|_| !outcome.refused);
    Ok(outcome)
}

/// Weaves an input that is one file.
fn weave_file(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    meter: &Meter<'_>,
    job: &Job,
) -> Result<()> {
    let input = Input::open(&job.input)?;
    let name = artifact_name(&job.input);
    let mut open = || match &job.output {
        Some(output) => Staged::create(output, Some(&job.input)).map(Target::File),
        None => Ok(Target::Nowhere),
    };
    let woven = match Format::of(&input) {
        Format::Class => weave_loose(cx, ledger, &name, &input)?
            .map(|bytes| -> Result<Target> {
                let mut target = open()?;
                write_all(&mut target, &bytes, &job.input)?;
                ledger.end_unit(None);
                Ok(target)
            })
            .transpose()?,
        Format::Zip => {
            let archive = Archive::open(&input).map_err(|e| e.in_artifact(&*name))?;
            let spot = Spot {
                label: &name,
                library: if cx.runtime {
                    Library::Embed
                } else {
                    Library::Absent
                },
                is_unit: true,
                depth: 0,
            };
            weave_archive::<Target>(cx, ledger, meter, &spot, &archive, &mut open)?
        }
        Format::Other => {
            let what = "neither a class file, nor a jar or other zip file, nor a folder";
            return Err(Error::new(Kind::Malformed, what).in_artifact(name));
        }
    };
    let Some(output) = &job.output else {
        return Ok(());
    };
    if ledger.refuses(job.strict) {
        return Ok(());
    }
    match woven {
        Some(target) => {
            write_map(ledger, job, output)?;
            target.commit()?;
        }
        None if same_file(&job.input, output) => {}
        None => {
            let mut target = open()?;
            write_all(&mut target, &input, output)?;
            target.commit()?;
        }
    }
    Ok(())
}

/// Weaves a class that is a file of its own.
fn weave_loose(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    name: &str,
    bytes: &[u8],
) -> Result<Option<Vec<u8>>> {
    let matcher = cx.matcher.for_artifact(name, None, cx.hierarchy);
    let weave = |attempt: u32| {
        with_worker(|w| weave_class(cx, &matcher, bytes, &mut w.scratch, attempt))
            .map_err(|e| e.in_artifact(name))
    };
    let Some(mut touched) = weave(0)? else {
        return Ok(None);
    };
    let attempt = ledger.claim_ids(&touched.ty);
    if attempt > 0
        && let Some(again) = weave(attempt)?
    {
        touched = again;
    }
    ledger.record(name, &touched.ty);
    let bytes = touched.bytes;
    ledger.outcome.artifacts += u64::from(bytes.is_some());
    Ok(bytes)
}
