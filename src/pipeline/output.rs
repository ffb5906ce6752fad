//! Where results are written to: artifacts, and the symbols map beside them.

use crate::container::apk::identity::Identity;
use crate::container::apk::sign::sign;
use crate::container::stage::Staged;
use crate::container::zip::Archive;
use crate::error::{Error, Result};
use crate::pipeline::job::Job;
use crate::pipeline::ledger::Ledger;
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
    pub(crate) fn commit(self) -> Result<()> {
        match self {
            Target::File(staged) => staged.commit(),
            Target::Nowhere => Ok(()),
        }
    }
}

impl Target {
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

/// Writes all of an artifact.
pub(crate) fn write_all(target: &mut impl Write, bytes: &[u8], path: &Path) -> Result<()> {
    target
        .write_all(bytes)
        .map_err(|e| Error::io("write", path, e))
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
