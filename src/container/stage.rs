//! Writing a file so that its target is the old file or the new one, whatever happens.

use crate::container::input::{Input, is_mapped};
use crate::error::{Error, Result};
use std::fs::{File, Metadata, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What temporary files and folders are named: this, random characters, [`SUFFIX`].
pub const PREFIX: &str = ".weave-";
/// The end of their names.
pub const SUFFIX: &str = ".tmp";

/// Most bytes that the system is given at once: records are small and many, runs of kept members long. For more it takes
/// larger pieces of memory, which a virtual machine may have to get from its host first: writing then took ten times as
/// long.
const BUFFER: usize = 64 << 10;

/// A file being written beside its target; [`Staged::commit`] renames it over the target, a drop
/// removes it.
///
/// In-place work is safe: a rename gives the name to another inode; readers keep the old one. Windows refuses it while the
/// target is mapped, so the caller unmaps it first. There is no `fsync`: a killed process leaves the old or the new file;
/// after a power failure that is up to the file system, as with the output of any compiler.
pub struct Staged {
    file: BufWriter<NamedTempFile>,
    target: PathBuf,
    permissions: Option<Permissions>,
}

impl Staged {
    /// Starts a file for `target`, whose folder is made if it is not there. It gets the permissions of the target that is there, else those
    /// of `like`, else the usual ones of a new file. A symbolic link is written through, not
    /// replaced; what is neither file nor absent (a folder, a device) is refused.
    pub fn create(target: &Path, like: Option<&Path>) -> Result<Staged> {
        let failed = |e| Error::io("create", target, e);
        let (target, existing) = match target.canonicalize() {
            Ok(real) => {
                let metadata = real.metadata().map_err(failed)?;
                if !metadata.is_file() {
                    return Err(Error::usage(format!(
                        "{} is not a regular file: it cannot be replaced by the output",
                        target.display()
                    )));
                }
                (real, Some(metadata))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => (target.to_owned(), None),
            Err(e) => return Err(failed(e)),
        };
        let dir = match target.parent() {
            Some(dir) if !dir.as_os_str().is_empty() => dir,
            _ => Path::new("."),
        };
        if existing.is_none() {
            std::fs::create_dir_all(dir).map_err(failed)?;
        }
        let permissions = existing
            .or_else(|| like.and_then(|like| like.metadata().ok()))
            .map(|metadata: Metadata| metadata.permissions());
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        // Without this a temporary file is for its owner alone; the umask still applies.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(dir).map_err(failed)?;
        Ok(Staged {
            file: BufWriter::with_capacity(BUFFER, file),
            target,
            permissions,
        })
    }

    /// A file with these bytes, complete but for its [`commit`](Staged::commit).
    pub fn whole(target: &Path, bytes: &[u8], like: Option<&Path>) -> Result<Staged> {
        let mut staged = Staged::create(target, like)?;
        staged.put(bytes)?;
        Ok(staged)
    }

    /// Appends bytes.
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.write_all(bytes);
        written.map_err(|e| Error::io("write", &self.target, e))
    }

    /// What was written so far, mapped; nothing may be written while it is used.
    pub fn written(&mut self) -> Result<Input> {
        let failed = |e| Error::io("write", &self.target, e);
        self.file.flush().map_err(failed)?;
        Input::open(self.file.get_ref().path())
    }

    /// Reserves room for a file of this length, where the file system can: a full disk fails at once, and writing costs a
    /// third less.
    pub fn reserve(&self, len: u64) -> Result<()> {
        match allocate(self.file.get_ref().as_file(), len) {
            Err(e) if e.kind() == io::ErrorKind::StorageFull => {
                Err(Error::io("write", &self.target, e))
            }
            _ => Ok(()),
        }
    }

    /// Writes bytes at an offset, on any thread. A file is written so, or else from its first byte to its last.
    pub fn write_at(&self, at: u64, bytes: &[u8]) -> Result<()> {
        debug_assert!(self.file.buffer().is_empty(), "written in order");
        let file = self.file.get_ref().as_file();
        for (piece, bytes) in (0..).zip(bytes.chunks(BUFFER)) {
            let at = at + piece * BUFFER as u64;
            write_all_at(file, at, bytes).map_err(|e| Error::io("write", &self.target, e))?;
        }
        Ok(())
    }

    /// Makes what was written the target.
    pub fn commit(self) -> Result<()> {
        let target = self.target;
        let failed = |e| Error::io("write", &target, e);
        let file = self.file.into_inner().map_err(|e| failed(e.into_error()))?;
        if let Some(mut permissions) = self.permissions {
            make_writable(&mut permissions);
            // A file system without permissions is no reason to fail.
            let _ = file.as_file().set_permissions(permissions);
        }
        debug_assert!(!is_mapped(&target), "{target:?} is replaced while mapped");
        file.persist(&target).map_err(|e| failed(e.error))?;
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn allocate(file: &File, len: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    fallocate(file, FallocateFlags::empty(), 0, len).map_err(io::Error::from)
}

#[cfg(not(target_os = "linux"))]
fn allocate(_: &File, _: u64) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn write_all_at(file: &File, at: u64, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
fn write_all_at(file: &File, mut at: u64, mut bytes: &[u8]) -> io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !bytes.is_empty() {
        match file.seek_write(bytes, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => (at, bytes) = (at + n as u64, &bytes[n..]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// An output made from a read-only input (a package cache) must not be read-only for its owner:
/// the next build could not replace it on systems where that matters.
fn make_writable(permissions: &mut Permissions) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Also drops set-user-ID, set-group-ID and sticky: those are not for new contents.
        permissions.set_mode((permissions.mode() | 0o200) & 0o777);
    }
    #[cfg(not(unix))]
    #[allow(clippy::permissions_set_readonly_false)]
    permissions.set_readonly(false);
}

impl Write for Staged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(&bytes[..bytes.len().min(BUFFER)])
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut pieces = bytes.chunks(BUFFER);
        pieces.try_for_each(|piece| self.file.write_all(piece))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use std::fs;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let name = |e: io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<_> = entries.map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn long_runs_come_out_as_they_went_in() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.dll");
        let bytes: Vec<u8> = (0..3 * BUFFER + 5).map(|n| (n / 7) as u8).collect();
        let written = |write: &dyn Fn(&mut Staged)| {
            let mut staged = Staged::create(&target, None).unwrap();
            write(&mut staged);
            staged.commit().unwrap();
            fs::read(&target).unwrap()
        };
        for len in [0, 1, BUFFER - 1, BUFFER, BUFFER + 1, bytes.len()] {
            let (head, tail) = bytes.split_at(len);
            let in_order = written(&|staged| {
                staged.write_all(head).unwrap();
                staged.write_all(tail).unwrap();
            });
            assert!(in_order == bytes);
            let at_offsets = written(&|staged| {
                staged.reserve(bytes.len() as u64).unwrap();
                staged.write_at(len as u64, tail).unwrap();
                staged.write_at(0, head).unwrap();
            });
            assert!(at_offsets == bytes);
        }
    }

    #[test]
    fn the_target_changes_at_commit_and_only_then() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.jar");
        fs::write(&target, "old").unwrap();
        let open = File::open(&target).unwrap();

        let mut staged = Staged::create(&target, None).unwrap();
        staged.write_all(b"new").unwrap();
        staged.flush().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"old");
        drop(staged);
        assert_eq!(names(dir.path()), ["a.jar"]);

        let mut staged = Staged::create(&target, None).unwrap();
        staged.write_all(b"new").unwrap();
        staged.commit().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(io::read_to_string(&open).unwrap(), "old");
        assert_eq!(names(dir.path()), ["a.jar"]);
    }

    #[test]
    fn what_lies_where_is_written_in_any_order() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.dll");
        let staged = Staged::create(&target, None).unwrap();
        staged.write_at(10, b", end").unwrap();
        staged.write_at(0, b"head, body").unwrap();
        staged.write_at(6, b"B").unwrap();
        staged.commit().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"head, Body, end");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_come_from_the_target_or_the_input() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (input, target) = (dir.path().join("in"), dir.path().join("out"));
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
        fs::write(&input, "").unwrap();
        fs::set_permissions(&input, Permissions::from_mode(0o4555)).unwrap();
        Staged::create(&target, Some(&input))
            .unwrap()
            .commit()
            .unwrap();
        assert_eq!(mode(&target), 0o755);
        fs::set_permissions(&target, Permissions::from_mode(0o640)).unwrap();
        Staged::create(&target, Some(&input))
            .unwrap()
            .commit()
            .unwrap();
        assert_eq!(mode(&target), 0o640);

        // Without either: as any new file.
        let (plain, new) = (dir.path().join("plain"), dir.path().join("new"));
        fs::write(&plain, "").unwrap();
        Staged::create(&new, None).unwrap().commit().unwrap();
        assert_eq!(mode(&new), mode(&plain));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_written_through_and_folders_and_devices_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        let mut staged = Staged::create(&link, None).unwrap();
        staged.write_all(b"new").unwrap();
        staged.commit().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");

        let kind = |path: &Path| Staged::create(path, None).err().map(|e| e.kind());
        assert_eq!(kind(dir.path()), Some(Kind::Usage));
        assert_eq!(kind(Path::new("/dev/null")), Some(Kind::Usage));
        assert_eq!(kind(&real.join("file")), Some(Kind::Io));
        assert_eq!(kind(&dir.path().join("a/new/file")), None);
    }
}
