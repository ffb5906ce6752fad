//! The resolved job: what to do, where, and where progress is reported.

use crate::aspect::pointcut::{Hierarchy, Matcher};
use crate::container::place::{Files, Named, is_one, is_stream, resolve};
use crate::container::stage::Staged;
use crate::container::zip::Effort;
use crate::error::{Error, Result};
use crate::pipeline::cache::{self, Cache};
use crate::pipeline::ledger::ids::IdBase;
use crate::pipeline::library::embedded;
use crate::pipeline::outcome::Outcome;
use crate::pipeline::own::Own;
use crate::pipeline::publish::paths::parent;
use crate::pipeline::publish::target::{beside, stage_map};
use crate::signing::identity::Identity;
use crate::signing::strong_name::StrongNameKey;
use crate::symbols::Symbols;
use std::cell::Cell;
use std::fs::File;
use std::io::Read;
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
    /// How well changed members of jars and apks are packed.
    pub effort: Effort,
    /// Write nothing if not everything that is meant can be woven.
    pub strict: bool,
    /// Jars and folders with base types outside the input, for rules with `extends`.
    pub references: Vec<PathBuf>,
    /// Where the symbols map goes; else `<output>.wsym`.
    pub symbols: Option<PathBuf>,
    /// Maps of earlier weaves: their ids are given to no other methods; a class that has not changed
    /// keeps its ids.
    pub known_symbols: Vec<PathBuf>,
    /// Sign an output that changed with this key.
    pub identity: Option<Identity>,
    /// Where results of earlier weaves are taken from, and go.
    pub cache: Option<Cache>,
    /// Number of threads; else one a core.
    pub threads: Option<usize>,
    /// Collect class by class what is woven and what is not.
    pub explain: bool,
    /// Sign woven assemblies anew with this key.
    pub key: Option<StrongNameKey>,
    /// How ids are made: [`id_base`](crate::aspect::plan::id_base), but for tests that need collisions.
    pub id_base: IdBase,
}

impl Job {
    /// What the cache must know of supertypes and own hooks: nothing where no rule asks.
    pub(crate) fn types(&self, hierarchy: &Hierarchy, own: Option<&Own<'_>>) -> Vec<u8> {
        match self.cache.is_some() && self.matcher.needs_hierarchy() {
            true => cache::types(hierarchy, own),
            false => vec![],
        }
    }

    /// Stages the map of all that was woven, if anything was. None lies beside a device or a pipe.
    pub(crate) fn stage_map(
        &self,
        outcome: &mut Outcome,
        map: Option<&Vec<u8>>,
    ) -> Result<Option<Staged>> {
        let (Some(map), Some(output)) = (map, &self.output) else {
            return Ok(None);
        };
        if self.symbols.is_none() && is_stream(output) {
            return Ok(None);
        }
        let (staged, path) = stage_map(map, self.symbols.as_deref(), &self.input, output)?;
        outcome.symbols = Some(path);
        Ok(Some(staged))
    }
}

/// What a job's files are called in messages.
const INPUT: &str = "the input";
const OUTPUT: &str = "the output";

impl Job {
    /// Refuses a job of which an output is another of its files, before anything is written. `files`: those that only the
    /// caller knows. The output may be the input.
    pub fn check_files(&self, mut files: Files) -> Result<()> {
        let Some(output) = &self.output else {
            return Ok(());
        };
        let in_place = is_one(&self.input, output);
        let map = self.symbols.clone();
        let map = map.or_else(|| (!is_stream(output)).then(|| beside(output)));
        for reference in &self.references {
            files.read("the reference", reference);
        }
        for known in &self.known_symbols {
            // A map may be the successor of one that is known.
            if !map.as_ref().is_some_and(|map| is_one(known, map)) {
                files.read("the known map", known);
            }
        }
        if let Some(map) = map {
            files.write("the symbols map", map);
        }
        if self.input.is_dir() {
            files.check()?;
            return self.check_folders(&files, output, in_place);
        }
        files.read(INPUT, &self.input);
        if !in_place {
            files.write(OUTPUT, output);
        }
        if starts_with(&self.input, b"MZ") && !is_stream(output) {
            files.read("the input's symbols", self.input.with_extension("pdb"));
            let library = parent(output).join(embedded::DLL_NAME);
            if !in_place && !is_one(&self.input, &library) {
                files.write("the output's symbols", output.with_extension("pdb"));
                files.write("the hook library", library);
            }
        }
        files.check()
    }

    /// The same for what lies in the folders of the input and the output.
    fn check_folders(&self, files: &Files, output: &Path, in_place: bool) -> Result<()> {
        let (from, to) = (resolve(&self.input), resolve(output));
        let label = format!("{}:", output.display());
        for Named {
            what,
            path,
            is_output,
        } in files.all()
        {
            let real = resolve(path);
            // What an earlier run of this job wrote may be replaced.
            let is_own = || starts_with(path, b"WSYM") || starts_with(path, label.as_bytes());
            if *is_output && real.starts_with(&from) && real.is_file() && !is_own() {
                return Err(Error::usage(format!(
                    "{what} {} is a file of the input {}: name another for the output",
                    path.display(),
                    self.input.display()
                )));
            }
            let Ok(name) = real.strip_prefix(&to) else {
                continue;
            };
            let is_library = [embedded::JAR_NAME, embedded::DLL_NAME]
                .iter()
                .any(|library| name.ends_with(library));
            if !in_place && (from.join(name).is_file() || *is_output && is_library) {
                return Err(Error::usage(format!(
                    "{what} {} and {} of the output {} are one file: name another for the output",
                    path.display(),
                    name.display(),
                    output.display()
                )));
            }
        }
        Ok(())
    }
}

fn starts_with(path: &Path, bytes: &[u8]) -> bool {
    let mut start = Vec::new();
    let file = File::open(path).map(|file| file.take(bytes.len() as u64));
    file.and_then(|mut file| file.read_to_end(&mut start))
        .is_ok_and(|_| start == bytes)
}

/// Gets progress: bytes of input done, and all bytes.
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

/// Refuses what could only go wrong.
pub(crate) fn check_paths(job: &Job, is_folder: bool) -> Result<()> {
    let Some(output) = &job.output else {
        return Ok(());
    };
    if is_folder && job.identity.is_some() {
        return Err(Error::usage(
            "a folder is not signed as a whole: weave the files that are to be signed one by one",
        ));
    }
    // A folder that is not there is made, but not where a file is.
    let dir = parent(output);
    let above = dir.ancestors().find(|dir| dir.exists());
    if let Some(file) = above.filter(|above| !above.is_dir()) {
        return Err(Error::usage(format!(
            "{} is a file, and the output {} would lie in it",
            file.display(),
            output.display()
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

/// Reads the maps of earlier weaves.
pub(crate) fn read_maps(paths: &[PathBuf]) -> Result<Symbols> {
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
