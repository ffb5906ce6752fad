//! What a folder's job writes.

use crate::container::stage::Staged;
use crate::error::{Error, Result};
use crate::pipeline::inputs::folder::found::Found;
use crate::pipeline::publish::staged_folder::StagedFolder;
use crate::pipeline::publish::target::Target;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The output folder on its way; nowhere when only planning.
pub(crate) struct Staging {
    folder: Option<StagedFolder>,
    /// The input folder.
    input: PathBuf,
    /// Names that are staged, or that the output must not have.
    written: FxHashSet<String>,
}

/// An output file.
pub(crate) struct OutputFile<'f, B> {
    pub(crate) path: PathBuf,
    /// The input's file, whose permissions it gets.
    pub(crate) like: &'f Found,
    pub(crate) bytes: B,
}

impl Staging {
    pub(crate) fn create(input: &Path, output: Option<&Path>) -> Result<Staging> {
        let folder = output.map(|output| StagedFolder::create(output, input));
        Ok(Staging {
            folder: folder.transpose()?,
            input: input.to_owned(),
            written: FxHashSet::default(),
        })
    }

    /// Nothing is written.
    pub(crate) fn is_dry(&self) -> bool {
        self.folder.is_none()
    }

    /// Whether the job writes this file, or leaves it out.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.written.contains(name)
    }

    /// Announces an output file; an empty path when only planning.
    pub(crate) fn file(&mut self, name: &str) -> Result<PathBuf> {
        self.written.insert(name.to_owned());
        match &mut self.folder {
            Some(folder) => folder.file(name),
            None => Ok(PathBuf::new()),
        }
    }

    /// The file is not copied.
    pub(crate) fn leave_out(&mut self, name: &str) {
        self.written.insert(name.to_owned());
    }

    /// Opens an output file like the input's.
    pub(crate) fn open(&mut self, found: &Found) -> Result<Target> {
        let path = self.file(&found.name)?;
        match self.is_dry() {
            true => Ok(Target::Nowhere),
            false => Staged::create(&path, Some(&found.path)).map(Target::File),
        }
    }

    /// Adds a file that the input does not have, or has otherwise.
    pub(crate) fn add(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.file(name)?;
        match self.is_dry() {
            true => Ok(()),
            false => Staged::whole(&path, bytes, Some(&self.input))?.commit(),
        }
    }

    /// Writes files like the input's on all threads.
    pub(crate) fn write_all<B>(&self, files: &[OutputFile<'_, B>]) -> Result<()>
    where
        B: AsRef<[u8]> + Sync,
    {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let write = |file: &OutputFile<'_, B>| {
            let bytes = file.bytes.as_ref();
            if folder.has(&file.path, bytes.len() as u64, || Ok(bytes)) {
                return Ok(());
            }
            Staged::whole(&file.path, bytes, Some(&file.like.path))?.commit()
        };
        let written: Vec<Result<()>> = files.par_iter().map(write).collect();
        written.into_iter().collect()
    }

    /// Copies the files that nothing was written for.
    pub(crate) fn copy_rest(&mut self, all: &[Found]) -> Result<()> {
        let Some(folder) = &mut self.folder else {
            return Ok(());
        };
        let mut copies = Vec::new();
        for found in all.iter().filter(|f| !self.written.contains(&f.name)) {
            copies.push((found, folder.file(&found.name)?));
        }
        let folder = &*folder;
        let copy = |(found, to): &(&Found, PathBuf)| {
            if folder.has(to, found.size, || fs::read(&found.path)) {
                return Ok(());
            }
            match fs::copy(&found.path, to) {
                Ok(_) => Ok(()),
                Err(e) => Err(Error::io("copy", &found.path, e)),
            }
        };
        let copied: Vec<Result<()>> = copies.par_iter().map(copy).collect();
        copied.into_iter().collect()
    }

    /// The files that the output will have, as far as they are of this job: their names, and where they lie now.
    pub(crate) fn output_files(&self, all: &[Found]) -> Vec<(String, PathBuf)> {
        let Some(folder) = &self.folder else {
            return Vec::new();
        };
        let announced = folder.announced();
        let known: FxHashSet<&str> = announced.iter().map(|(name, _)| &**name).collect();
        // In place the others stay.
        let others = all
            .iter()
            .filter(|found| !known.contains(&*found.name) && !self.written.contains(&found.name));
        let others = others.map(|found| (found.name.clone(), found.path.clone()));
        let others: Vec<_> = others.collect();
        announced.into_iter().chain(others).collect()
    }

    /// Puts everything in its place.
    pub(crate) fn commit(self) -> Result<()> {
        self.folder.map_or(Ok(()), StagedFolder::commit)
    }
}
