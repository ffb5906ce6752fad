//! Input files as bytes: mapped, not read.

use crate::error::{Error, Result};
use memmap2::Mmap;
use std::fs::File;
use std::ops::Deref;
use std::path::Path;

/// The bytes of a file.
pub struct Input(Option<Mmap>);

impl Input {
    /// Maps a file; an empty file, which no system maps, is no bytes.
    pub fn open(path: &Path) -> Result<Input> {
        let failed = |e| Error::io("read", path, e);
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(Error::usage(format!("{} is a folder", path.display())));
        }
        if metadata.is_file() && metadata.len() == 0 {
            return Ok(Input(None));
        }
        // SAFETY: a mapping is sound as long as nobody changes the file under it. This process
        // never writes to an input: outputs are new files renamed over their target (`stage`),
        // which leaves the mapped inode alone. Another process could truncate it, which ends this
        // one with SIGBUS, or write to it, which shows as malformed input; that is what every
        // linker and build tool that maps its input accepts.
        let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
        Ok(Input(Some(map)))
    }
}

impl Deref for Input {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl AsRef<[u8]> for Input {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn files_are_mapped_and_empty_ones_are_empty() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, b"bytes").unwrap();
        let input = Input::open(&path).unwrap();
        assert_eq!(&*input, b"bytes");
        std::fs::write(&path, b"").unwrap();
        let empty = Input::open(&path).unwrap();
        assert_eq!(&*empty, b"");
    }

    #[test]
    fn what_cannot_be_read_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let kind = |path: &Path| Input::open(path).err().map(|e| e.kind());
        assert_eq!(kind(&dir.path().join("none")), Some(Kind::Io));
        assert_eq!(kind(dir.path()), Some(Kind::Usage));
    }
}
