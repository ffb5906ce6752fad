//! Where results are written to: artifacts, and the symbols map beside them.

use crate::container::apk::sign::sign;
use crate::container::stage::Staged;
use crate::container::zip::Archive;
use crate::error::Result;
use crate::signing::identity::Identity;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where an artifact is written to: a staged file, or nowhere when only planning.
pub(crate) enum Target {
    /// A file that [`Staged::commit`] puts in its place.
    File(Staged),
    /// Nothing is written.
    Nowhere,
}

impl Target {
    /// Appends bytes.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Target::File(staged) => staged.put(bytes),
            Target::Nowhere => Ok(()),
        }
    }

    pub(crate) fn commit(self) -> Result<()> {
        self.into_staged().map_or(Ok(()), Staged::commit)
    }

    /// The staged file, if anything is written.
    pub(crate) fn into_staged(self) -> Option<Staged> {
        match self {
            Target::File(staged) => Some(staged),
            Target::Nowhere => None,
        }
    }

    /// The same, signed anew, for the same output; it must be an archive. What is signed must be read as a whole, so
    /// that this is a second pass over a temporary file.
    pub(crate) fn sign(self, identity: &Identity, input: &Path, output: &Path) -> Result<Target> {
        let Target::File(mut unsigned) = self else {
            return Ok(Target::Nowhere);
        };
        let bytes = unsigned.written()?;
        let archive = Archive::open(&bytes)?;
        let signed = Staged::create(output, Some(input))?;
        sign(&archive, identity, signed)
            .map(Target::File)
            .map_err(|e| e.in_artifact(output.display().to_string()))
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

/// Stages the map of a job on `input`: at `path`, else beside the output. Also returns where it goes. Who may not read the input
/// may not read its map.
pub(crate) fn stage_map(
    map: &[u8],
    path: Option<&Path>,
    input: &Path,
    output: &Path,
) -> Result<(Staged, PathBuf)> {
    match path {
        Some(path) => Ok((Staged::whole(path, map, Some(input))?, path.to_owned())),
        None => {
            let path = beside(output);
            Ok((Staged::own(&path, map, Some(input))?, path))
        }
    }
}

/// `<output>.wsym`; for a folder beside it, however it is written (`out/`, `.`).
pub(crate) fn beside(output: &Path) -> PathBuf {
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
