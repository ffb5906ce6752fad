//! Input files as bytes: mapped, not read.

use crate::error::{Error, Result};
use memmap2::Mmap;
use std::fs::File;
use std::ops::Deref;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::OnceLock;
use std::sync::{Mutex, PoisonError};

pub struct Input {
    map: Option<Mmap>,
    _mapped: Mapped,
}

/// The paths that are mapped now. On Windows a mapped file cannot be replaced: builds with assertions see on any system that
/// no output takes the place of an input that is still mapped.
static MAPPED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The entry of one mapping.
struct Mapped(Option<PathBuf>);

impl Mapped {
    fn new(path: &Path) -> Mapped {
        let path = (cfg!(debug_assertions)).then(|| path.canonicalize().ok());
        let path = path.flatten();
        let mut mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
        mapped.extend(path.clone());
        Mapped(path)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let mut mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = mapped.iter().position(|p| p == path) {
                mapped.swap_remove(at);
            }
        }
    }
}

/// What is done before the process ends so.
#[cfg(target_os = "linux")]
static BEFORE_END: OnceLock<fn()> = OnceLock::new();

/// Has something done before [`tell_of_truncation`] ends the process: within a signal handler, so that it may only make
/// calls that are async-signal-safe.
#[cfg(target_os = "linux")]
pub fn before_truncation_ends(what: fn()) {
    let _ = BEFORE_END.set(what);
}

/// Ends the process with an error where another program cuts a file off while it is mapped here: else the system ends it with
/// SIGBUS and no word. For programs, before anything is mapped. Linux only; Windows does not let a mapped file be cut off.
pub fn tell_of_truncation() {
    #[cfg(target_os = "linux")]
    {
        extern "C" fn truncated(_: libc::c_int) {
            const TEXT: &[u8] = b"error: a file became shorter while it was read: run weave again when no other program writes to it\n";
            if let Some(before) = BEFORE_END.get() {
                before();
            }
            // SAFETY: both calls are async-signal-safe (POSIX, 2.4.3), and the text is static.
            unsafe {
                libc::write(libc::STDERR_FILENO, TEXT.as_ptr().cast(), TEXT.len());
                libc::_exit(1);
            }
        }
        // SAFETY: an all-zero `sigaction` is a valid one, and the handler returns to no code.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = truncated as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_ONSTACK;
            libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Whether this process has the file mapped; known in builds with assertions only.
pub fn is_mapped(path: &Path) -> bool {
    let mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
    !mapped.is_empty() && path.canonicalize().is_ok_and(|path| mapped.contains(&path))
}

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
            return Ok(Input {
                map: None,
                _mapped: Mapped(None),
            });
        }
        // SAFETY: a mapping is sound as long as nobody changes the file under it. This process
        // never writes to an input: outputs are new files renamed over their target (`stage`),
        // which leaves the mapped inode alone. Another process could truncate it, which ends this
        // one (`tell_of_truncation`), or write to it, which shows as malformed input.
        let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
        Ok(Input {
            map: Some(map),
            _mapped: Mapped::new(path),
        })
    }
}

impl Deref for Input {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
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
