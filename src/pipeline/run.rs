//! Running a job: one file or a folder.

use crate::aspect::pointcut::Hierarchy;
use crate::cil;
use crate::container::input::Input;
use crate::container::stage::Staged;
use crate::container::zip::Archive;
use crate::dex::Dex;
use crate::error::{Error, Kind, Result};
use crate::pipeline::archive::{Spot, weave_archive};
use crate::pipeline::assembly::{Source, stage_image, weave_assemblies};
use crate::pipeline::commit::{parent, remove_stale, same_file};
use crate::pipeline::dex;
use crate::pipeline::discover::Format;
use crate::pipeline::folder::weave_folder;
use crate::pipeline::hierarchy;
use crate::pipeline::ids::KnownIds;
use crate::pipeline::jar_rules::Library;
use crate::pipeline::job::{Job, Meter, Progress, artifact_name, check_paths, read_maps};
use crate::pipeline::ledger::Ledger;
use crate::pipeline::memory;
use crate::pipeline::native::Native;
use crate::pipeline::outcome::Outcome;
use crate::pipeline::output::{Target, write_all, write_map};
use crate::pipeline::process::{Context, Platform, weave_class, with_worker};
use crate::pipeline::runtime_library;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// What is told of a file that is no artifact.
const NOT_WOVEN: &str = "neither a class file, nor a .NET assembly, nor a dex file, nor a jar or other zip file, nor a folder";

/// Why a file that was asked for by name cannot be woven or verified.
pub(crate) fn not_woven(bytes: &[u8]) -> Error {
    let native = Native::of(bytes);
    match cil::Image::parse(bytes) {
        // Neither: it is no .NET file, or a torn one.
        Err(e)
            if native == Some(Native::Code)
                && bytes.starts_with(b"MZ")
                && !cil::is_native(bytes) =>
        {
            e
        }
        _ => Error::new(Kind::Malformed, native.map_or(NOT_WOVEN, Native::why)),
    }
}

/// Runs a job.
pub fn run(job: &Job, progress: Progress<'_>) -> Result<Outcome> {
    let metadata = std::fs::metadata(&job.input).map_err(|e| Error::io("read", &job.input, e))?;
    let room = room_for(&metadata, job.threads);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(job.threads.unwrap_or(0))
        .thread_name(|i| format!("weave-{i}"))
        .start_handler(move |_| memory::make_room(room))
        .build()
        .map_err(|e| Error::new(Kind::NotDone, format!("cannot start threads: {e}")))?;
    pool.install(|| run_here(job, &metadata, progress))
}

/// About how much memory one of so many threads (else one a core) takes: a weave takes as much as its input, and some to
/// begin with.
fn room_for(input: &Metadata, threads: Option<usize>) -> usize {
    /// For whatever the input is, and since threads do not share evenly.
    const SOME: u64 = 2 << 20;
    let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = threads.filter(|&n| n > 0).unwrap_or_else(cores);
    let room = match input.is_dir() {
        true => u64::MAX,
        false => (input.len() / threads as u64 + SOME).next_multiple_of(SOME),
    };
    room.min(memory::MOST_ROOM as u64) as usize
}

fn run_here(job: &Job, metadata: &Metadata, progress: Progress<'_>) -> Result<Outcome> {
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
        classes_on: Platform::Java,
        explain: job.explain,
        dry: job.output.is_none(),
        runtime: job.runtime,
        identity: job.identity.as_ref(),
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
    let format = Format::of(&input);
    if job.identity.is_some() && format != Format::Zip {
        return Err(
            Error::usage("only an apk, a jar or another archive can be signed").in_artifact(name),
        );
    }
    let woven = match format {
        Format::Class | Format::Dex => {
            let woven = match format {
                Format::Class => weave_loose(cx, ledger, &name, &input)?,
                _ => weave_loose_dex(cx, ledger, &name, &input)?,
            };
            let write = |bytes: Vec<u8>| -> Result<Target> {
                let mut target = open()?;
                write_all(&mut target, &bytes, &job.input)?;
                ledger.end_unit(None);
                Ok(target)
            };
            woven.map(write).transpose()?
        }
        Format::Pe if cil::is_assembly(&input) => {
            return weave_assembly(cx, ledger, job, &name, &input);
        }
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
        Format::Pe | Format::Other => return Err(not_woven(&input).in_artifact(name)),
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
            match &job.identity {
                Some(identity) => target.sign(identity, &job.input, output)?.commit()?,
                None => target.commit()?,
            }
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

/// Weaves a dex file that is a file of its own.
fn weave_loose_dex(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    name: &str,
    bytes: &[u8],
) -> Result<Option<Vec<u8>>> {
    // What is asked for by name must be what it says.
    Dex::parse(bytes).map_err(|e| e.in_artifact(name))?;
    let matcher = cx.matcher.for_artifact(name, None, cx.hierarchy);
    let source = dex::Source { member: "", bytes };
    let woven = dex::weave_dexes(cx, ledger, &matcher, name, &[source])?;
    let bytes = woven.into_iter().flatten().next();
    ledger.outcome.artifacts += u64::from(bytes.is_some());
    Ok(bytes)
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

/// Weaves a .NET assembly; the symbols file and the hook library lie beside it.
fn weave_assembly(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    job: &Job,
    name: &str,
    input: &Input,
) -> Result<()> {
    let image = cil::Image::parse(input).map_err(|e| e.in_artifact(name))?;
    let pdb_path = symbols_of(&job.input, &image);
    let symbols = match pdb_path.is_file() {
        true => Some(Input::open(&pdb_path)?),
        false => None,
    };
    let pdb_output = |output: &Path| match same_file(&job.input, output) {
        true => pdb_path.clone(),
        false if pdb_path == mono_symbols_of(&job.input) => mono_symbols_of(output),
        false => output.with_extension("pdb"),
    };
    let pdb_name = job.output.as_deref().map(pdb_output);
    let source = Source {
        label: name,
        name,
        file: input,
        pdb: symbols.as_deref(),
        pdb_name: pdb_name.and_then(|path| path.file_name()?.to_str().map(str::to_owned)),
    };
    let mut written = weave_assemblies(cx, ledger, job.key.as_ref(), &[source])?;
    let Some(output) = &job.output else {
        return Ok(());
    };
    if ledger.refuses(job.strict) {
        return Ok(());
    }
    let in_place = same_file(&job.input, output);
    let pdb_output = pdb_output(output);
    if !in_place && same_file(&pdb_path, &pdb_output) {
        return Err(Error::usage(format!(
            "{} would replace the input's: choose an output of another name or in another folder",
            pdb_output.display()
        )));
    }
    let Some(written) = written.pop().flatten() else {
        if in_place {
            return Ok(());
        }
        if let Some(pdb) = symbols {
            write_file(&pdb_output, &pdb, &pdb_path)?;
        }
        return write_file(output, input, &job.input);
    };
    // The assembly last: what it needs is there when it is.
    if let Some(pdb) = written.pdb {
        write_file(&pdb_output, &pdb, &pdb_path)?;
    }
    let (beside, staged) = rayon::join(
        || {
            if cx.runtime {
                let library = parent(output).join(runtime_library::DLL_NAME);
                let there = std::fs::read(&library);
                if !there.is_ok_and(|there| there == runtime_library::DLL) {
                    write_file(&library, runtime_library::DLL, &job.input)?;
                }
            }
            write_map(ledger, job, output)
        },
        || stage_image(&written.image, output, &job.input),
    );
    beside?;
    staged?.commit()
}

/// Where an assembly's symbols file lies, if there is one: beside it, of its name or of the one that it asks for, or Mono's.
fn symbols_of(assembly: &Path, image: &cil::Image<'_>) -> PathBuf {
    let same_name = assembly.with_extension("pdb");
    if same_name.is_file() {
        return same_name;
    }
    let asked_for = image.pdb_name().map(|name| assembly.with_file_name(name));
    let mono = mono_symbols_of(assembly);
    match asked_for {
        Some(path) if path.is_file() || !mono.is_file() => path,
        _ if mono.is_file() => mono,
        _ => same_name,
    }
}

/// Where Mono's own debugging information lies: `app.dll.mdb`.
fn mono_symbols_of(assembly: &Path) -> PathBuf {
    let mut name = assembly.as_os_str().to_owned();
    name.push(".mdb");
    name.into()
}

/// Writes a file whole, or leaves the one that is there.
fn write_file(path: &Path, bytes: &[u8], like: &Path) -> Result<()> {
    let mut staged = Staged::create(path, Some(like))?;
    write_all(&mut staged, bytes, path)?;
    staged.commit()
}
