//! The files of a folder.

use crate::container::folder::Entry;
use crate::error::{Error, Result};
use crate::pipeline::format::{Format, HEAD};
use crate::pipeline::native::Native;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A file of the folder.
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    /// It may be native code.
    pub(crate) native: bool,
    pub(crate) size: u64,
}

pub(crate) fn look(entry: Entry) -> Result<Found> {
    let failed = |e| Error::io("read", &entry.path, e);
    let file = File::open(&entry.path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let mut head = Vec::with_capacity(HEAD);
    file.take(HEAD as u64)
        .read_to_end(&mut head)
        .map_err(failed)?;
    Ok(Found {
        format: Format::of(&head),
        native: Native::may_be(&head),
        name: entry.name,
        path: entry.path,
        size,
    })
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|e| Error::io("read", path, e))
}
