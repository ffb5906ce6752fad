//! The resolved job, and running it.

use crate::aspect::pointcut::{Hierarchy, Matcher};
use crate::container::input::Input;
use crate::container::stage::Staged;
use crate::container::zip::Archive;
use crate::error::{Error, Kind, Result};
use crate::pipeline::archive::{Spot, weave_archive};
use crate::pipeline::commit::{parent, remove_stale, same_file};
use crate::pipeline::discover::Format;
use crate::pipeline::folder::weave_folder;
use crate::pipeline::hierarchy;
use crate::pipeline::ids::{KnownIds, MethodId};
use crate::pipeline::jar_rules::Library;
use crate::pipeline::ledger::Ledger;
use crate::pipeline::outcome::Outcome;
use crate::pipeline::process::{Context, weave_class, with_worker};
use crate::symbols::Symbols;
use std::cell::Cell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What to do, with every default resolved.
pub struct Job {
    /// A class file, a jar or other zip file, or a folder.
    pub input: PathBuf,
    /// Where the result goes; `None` only plans.
    pub output: Option<PathBuf>,
    /// The rules, compiled.
    pub matcher: Matcher,
    /// Put the hook library into the output.
    pub runtime: bool,
    /// Write nothing if not everything that is meant can be woven.
    pub strict: bool,
    /// Jars and folders with base types outside the input, for rules with `extends`.
    pub references: Vec<PathBuf>,
    /// Where the symbols map goes; else `<output>.wsym`.
    pub symbols: Option<PathBuf>,
    /// Maps of earlier weaves, whose ids are kept apart and kept the same.
    pub known_symbols: Vec<PathBuf>,
    /// Number of threads; else one a core.
    pub threads: Option<usize>,
    /// Collect class by class what is woven and what is not.
    pub explain: bool,
    /// How ids are made: [`method_id`](crate::aspect::plan::method_id), but for tests that need collisions.
    pub method_id: MethodId,
}

/// Is told of progress: bytes of input done, and all bytes.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// Progress over the input's bytes.
pub(crate) struct Meter<'a> {
    tell: Progress<'a>,
    base: Cell<u64>,
    total: u64,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(tell: Progress<'a>, total: u64) -> Meter<'a> {
        Meter {
            tell,
            base: Cell::new(0),
            total,
        }
    }

    /// That many bytes of the artifact under way are done.
    pub(crate) fn within(&self, bytes: u64) {
        (self.tell)((self.base.get() + bytes).min(self.total), self.total);
    }

    /// An artifact of that many bytes is done.
    pub(crate) fn artifact(&self, bytes: u64) {
        self.base.set(self.base.get() + bytes);
        self.within(0);
    }
}

/// Where an artifact is written to: a staged file, or nowhere when only planning.
pub(crate) enum Target {
    /// A file that [`Staged::commit`] puts in its place.
    File(Staged),
    /// Nothing is written.
    Nowhere,
}

impl Target {
    pub(crate) fn commit(self) -> Result<()> {
        match self {
            Target::File(staged) => staged.commit(),
            Target::Nowhere => Ok(()),
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::File(staged) => staged.write(bytes),
            Target::Nowhere => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::File(staged) => staged.flush(),
            Target::Nowhere => Ok(()),
        }
    }
}

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
    let known = KnownIds::new(job.method_id, read_maps(&job.known_symbols)?);
    let hierarchy = match job.matcher.needs_hierarchy() {
        true => hierarchy::build(&job.input, &job.references)?,
        false => Hierarchy::default(),
    };
    let id_of = |ty: &str, name: &str, descriptor: &str| known.preferred(ty, name, descriptor);
    let cx = Context {
        matcher: &job.matcher,
        hierarchy: &hierarchy,
        id_of: &id_of,
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

/// Refuses what could only go wrong.
fn check_paths(job: &Job, is_folder: bool) -> Result<()> {
    let Some(output) = &job.output else {
        return Ok(());
    };
    let dir = parent(output);
    if !dir.is_dir() {
        let (dir, output) = (dir.display(), output.display());
        return Err(Error::usage(format!(
            "there is no folder {dir} for {output}: make it first"
        )));
    }
    match (is_folder, output.metadata()) {
        (false, Ok(there)) if there.is_dir() => Err(Error::usage(format!(
            "{} is a folder, and the input is a file: name the output file, such as {}",
            output.display(),
            output
                .join(job.input.file_name().unwrap_or_default())
                .display()
        ))),
        (true, Ok(there)) if !there.is_dir() => Err(Error::usage(format!(
            "{} is a file, and the input is a folder: name an output folder",
            output.display()
        ))),
        _ => Ok(()),
    }
}

fn read_maps(paths: &[PathBuf]) -> Result<Symbols> {
    let mut symbols = Symbols::default();
    for path in paths {
        let bytes = std::fs::read(path).map_err(|e| Error::io("read", path, e))?;
        let added = symbols.add(&bytes);
        added.map_err(|e| e.in_artifact(path.display().to_string()))?;
    }
    Ok(symbols)
}

/// The name of a file or folder in messages, symbols and rules.
pub(crate) fn artifact_name(path: &Path) -> String {
    match path.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        // `.` or `..`: the folder's real name.
        None => path
            .canonicalize()
            .ok()
            .and_then(|real| Some(real.file_name()?.to_string_lossy().into_owned()))
            .unwrap_or_else(|| path.display().to_string()),
    }
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

fn write_all(target: &mut impl Write, bytes: &[u8], path: &Path) -> Result<()> {
    target
        .write_all(bytes)
        .map_err(|e| Error::io("write", path, e))
}

/// Weaves a class that is a file of its own.
fn weave_loose(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    name: &str,
    bytes: &[u8],
) -> Result<Option<Vec<u8>>> {
    let matcher = cx.matcher.for_artifact(name, None, cx.hierarchy);
    let weave = |moved: &[(u32, u32)]| {
        with_worker(|w| weave_class(cx, &matcher, bytes, &mut w.scratch, moved))
            .map_err(|e| e.in_artifact(name))
    };
    let Some(mut touched) = weave(&[])? else {
        return Ok(None);
    };
    let moved = ledger.claim_ids(&touched);
    if !moved.is_empty()
        && let Some(again) = weave(&moved)?
    {
        touched = again;
    }
    ledger.record(name, &touched);
    let bytes = touched.bytes.take();
    ledger.outcome.artifacts += u64::from(bytes.is_some());
    Ok(bytes)
}

/// Writes the job's map beside the output or where the job says.
pub(crate) fn write_map(ledger: &mut Ledger<'_>, job: &Job, output: &Path) -> Result<()> {
    let Some(map) = ledger.end_job() else {
        return Ok(());
    };
    let path = job.symbols.clone().unwrap_or_else(|| beside(output));
    let mut staged = Staged::create(&path, None)?;
    write_all(&mut staged, &map, &path)?;
    staged.commit()?;
    ledger.outcome.symbols = Some(path);
    Ok(())
}

/// `<output>.wsym`; for a folder beside it, however it is written (`out/`, `.`).
fn beside(output: &Path) -> PathBuf {
    let named = match output.file_name() {
        Some(_) => output.components().collect(),
        None => output.canonicalize().unwrap_or_else(|_| output.to_owned()),
    };
    let mut name = OsString::from(named);
    name.push(".wsym");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_lies_beside_the_output() {
        assert_eq!(beside(Path::new("out/a.jar")), Path::new("out/a.jar.wsym"));
        assert_eq!(beside(Path::new("out/")), Path::new("out.wsym"));
    }
}
