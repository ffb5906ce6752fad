//! The resolved job: what to do, where, and where progress is reported.

use crate::aspect::pointcut::{Hierarchy, Matcher};
use crate::container::stage::Staged;
use crate::container::zip::Effort;
use crate::error::{Error, Result};
use crate::pipeline::cache::{self, Cache};
use crate::pipeline::ledger::ids::IdBase;
use crate::pipeline::outcome::Outcome;
use crate::pipeline::publish::paths::parent;
use crate::pipeline::publish::target::stage_map;
use crate::signing::identity::Identity;
use crate::signing::strong_name::StrongNameKey;
use crate::symbols::Symbols;
use std::cell::Cell;
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
    /// What the cache must know of supertypes: nothing where no rule asks.
    pub(crate) fn types(&self, hierarchy: &Hierarchy) -> Vec<u8> {
        match self.cache.is_some() && self.matcher.needs_hierarchy() {
            true => cache::types(hierarchy),
            false => vec![],
        }
    }

    /// Stages the map of all that was woven, if anything was.
    pub(crate) fn stage_map(
        &self,
        outcome: &mut Outcome,
        map: Option<&Vec<u8>>,
    ) -> Result<Option<Staged>> {
        let (Some(map), Some(output)) = (map, &self.output) else {
            return Ok(None);
        };
        let (staged, path) = stage_map(map, self.symbols.as_deref(), output)?;
        outcome.symbols = Some(path);
        Ok(Some(staged))
    }
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
