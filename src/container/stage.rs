//! Writing a file so that its target is the old file or the new one, whatever happens.

use crate::container::input::{Input, is_mapped};
use crate::container::place::Place;
use crate::error::{Error, Result};
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Seek, Write};
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
/// removes it. What is no regular file (a device, a pipe) is not replaced: the commit copies the file into it.
///
/// In-place work is safe: a rename gives the name to another inode; readers keep the old one. Windows refuses it while the
/// target is mapped, so the caller unmaps it first. There is no `fsync`: a killed process leaves the old or the new file;
/// after a power failure that is up to the file system, as with the output of any compiler.
pub struct Staged {
    file: BufWriter<NamedTempFile>,
    target: PathBuf,
    place: Place,
    access: Access,
    permissions: Option<Permissions>,
}

/// Whose a new file is, and whether it may take the place of another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// As any new file, or as the one that it replaces. Its folder is made if it is not there.
    Usual,
    /// Its owner's alone: what a trace is, and so what is made of it.
    Private,
    /// As any new file, and never over another.
    New,
}

impl Staged {
    /// Starts a file for `target`, whose folder is made if it is not there. It gets the permissions of the target that is there, else those
    /// of `like` (a file, or the folder that it comes of) as far as the umask lets it have them, else the usual ones of a new file.
    /// A symbolic link is written through, not replaced; a folder is refused.
    pub fn create(target: &Path, like: Option<&Path>) -> Result<Staged> {
        Staged::at(target, Place::of(target)?, like, Access::Usual)
    }

    /// The same for a file that is its owner's alone, in a folder that is there.
    pub fn private(target: &Path) -> Result<Staged> {
        Staged::at(target, Place::own(target)?, None, Access::Private)
    }

    fn at(target: &Path, place: Place, like: Option<&Path>, access: Access) -> Result<Staged> {
        let failed = |e| Error::io("create", target, e);
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        let Place::File(path, existing) = &place else {
            return Ok(Staged {
                file: BufWriter::with_capacity(BUFFER, builder.tempfile().map_err(failed)?),
                target: target.to_owned(),
                place,
                access,
                permissions: None,
            });
        };
        if existing.is_some() && access == Access::New {
            return Err(is_there(target));
        }
        let dir = match path.parent() {
            Some(dir) if !dir.as_os_str().is_empty() => dir,
            _ => Path::new("."),
        };
        if existing.is_none() && access == Access::Usual {
            std::fs::create_dir_all(dir).map_err(failed)?;
        }
        let permissions = match access {
            Access::Usual => existing.clone(),
            Access::Private | Access::New => None,
        };
        // Without this a temporary file is for its owner alone; the umask still applies. One that replaces another stays so until
        // it has that one's permissions.
        #[cfg(unix)]
        if access != Access::Private && permissions.is_none() {
            builder.permissions(new_file_like(like));
        }
        #[cfg(not(unix))]
        let _ = like;
        let file = builder.tempfile_in(dir).map_err(failed)?;
        Ok(Staged {
            file: BufWriter::with_capacity(BUFFER, file),
            target: target.to_owned(),
            place,
            access,
            permissions,
        })
    }

    /// A file with these bytes, complete but for its [`commit`](Staged::commit).
    pub fn whole(target: &Path, bytes: &[u8], like: Option<&Path>) -> Result<Staged> {
        let mut staged = Staged::create(target, like)?;
        staged.put(bytes)?;
        Ok(staged)
    }

    /// As [`Staged::whole`], for a name that nobody chose ([`Place::own`]).
    pub fn own(target: &Path, bytes: &[u8], like: Option<&Path>) -> Result<Staged> {
        let mut staged = Staged::at(target, Place::own(target)?, like, Access::Usual)?;
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
        let mut file = self.file.into_inner().map_err(|e| failed(e.into_error()))?;
        let Place::File(path, _) = &self.place else {
            file.as_file_mut().rewind().map_err(failed)?;
            let mut to = self.place.open().map_err(failed)?;
            io::copy(file.as_file_mut(), &mut to).map_err(failed)?;
            return Ok(());
        };
        if let Some(mut permissions) = self.permissions {
            make_writable(&mut permissions);
            // A file system without permissions is no reason to fail.
            let _ = file.as_file().set_permissions(permissions);
        }
        debug_assert!(!is_mapped(path), "{target:?} is replaced while mapped");
        let renamed = match self.access {
            Access::New => file.persist_noclobber(path),
            Access::Usual | Access::Private => file.persist(path),
        };
        match renamed.map_err(|e| e.error) {
            Ok(_) => Ok(()),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(is_there(&target)),
            Err(e) => Err(failed(e)),
        }
    }
}

fn is_there(target: &Path) -> Error {
    Error::usage(format!(
        "{} is there already: remove it first, or name another file",
        target.display()
    ))
}

/// An output that is written from its first byte to its last.
pub struct Output(To);

enum To {
    File(Box<Staged>),
    /// What cannot be replaced gets the bytes at once.
    Stream(Stream),
}

struct Stream {
    out: BufWriter<Box<dyn Write + Send>>,
    target: PathBuf,
    /// Nobody reads it any more.
    is_closed: bool,
}

impl Output {
    /// Starts an output; nothing changes before [`Output::commit`] but in a device or pipe.
    pub fn create(target: &Path, access: Access) -> Result<Output> {
        let place = Place::of(target)?;
        if let Place::File(..) = place {
            let staged = Staged::at(target, place, None, access)?;
            return Ok(Output(To::File(Box::new(staged))));
        }
        let file = (place.open()).map_err(|e| Error::io("create", target, e))?;
        Ok(Output::stream(target, Box::new(file)))
    }

    /// Standard output.
    pub fn standard() -> Output {
        Output::stream(Path::new("standard output"), Box::new(io::stdout()))
    }

    fn stream(target: &Path, out: Box<dyn Write + Send>) -> Output {
        Output(To::Stream(Stream {
            out: BufWriter::with_capacity(BUFFER, out),
            target: target.to_owned(),
            is_closed: false,
        }))
    }

    /// A whole output.
    pub fn put(target: &Path, bytes: &[u8], access: Access) -> Result<()> {
        let mut output = Output::create(target, access)?;
        match output.write_all(bytes) {
            Err(_) if output.is_closed() => Ok(()),
            Err(e) => Err(Error::io("write", target, e)),
            Ok(()) => output.commit(),
        }
    }

    /// Whether the reader is gone (`| head`). That is no failure; further output would have no reader.
    pub fn is_closed(&self) -> bool {
        matches!(&self.0, To::Stream(stream) if stream.is_closed)
    }

    /// Puts a file in its place.
    pub fn commit(mut self) -> Result<()> {
        let flushed = self.flush();
        let is_closed = self.is_closed();
        match self.0 {
            To::File(staged) => staged.commit(),
            To::Stream(_) if is_closed => Ok(()),
            To::Stream(stream) => flushed.map_err(|e| Error::io("write", &stream.target, e)),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.seen(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.seen(flushed)
    }
}

impl Stream {
    fn seen<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(e) = &result {
            self.is_closed |= e.kind() == io::ErrorKind::BrokenPipe;
        }
        result
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            To::File(staged) => staged.write(bytes),
            To::Stream(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            To::File(staged) => staged.flush(),
            To::Stream(stream) => stream.flush(),
        }
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

/// The permissions that a new file asks for; the umask takes from them.
#[cfg(unix)]
fn new_file_like(like: Option<&Path>) -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    let mode = match like.and_then(|like| like.metadata().ok()) {
        Some(like) if like.is_dir() => like.permissions().mode() & 0o666,
        Some(like) => like.permissions().mode(),
        None => 0o666,
    };
    let mut permissions = Permissions::from_mode(mode);
    make_writable(&mut permissions);
    permissions
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
    fn links_are_written_through_and_folders_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        let mut staged = Staged::create(&link, None).unwrap();
        staged.write_all(b"new").unwrap();
        staged.commit().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");

        // Also one to a file that is not there yet.
        let (new, dangling) = (dir.path().join("new"), dir.path().join("dangling"));
        std::os::unix::fs::symlink("new", &dangling).unwrap();
        let staged = Staged::whole(&dangling, b"first", None).unwrap();
        assert!(!new.exists());
        staged.commit().unwrap();
        assert!(dangling.is_symlink());
        assert_eq!(fs::read(&new).unwrap(), b"first");

        let kind = |path: &Path| Staged::create(path, None).err().map(|e| e.kind());
        assert_eq!(kind(dir.path()), Some(Kind::Usage));
        assert_eq!(kind(&real.join("file")), Some(Kind::Io));
        assert_eq!(kind(&dir.path().join("a/new/file")), None);
    }

    #[cfg(unix)]
    #[test]
    fn files_of_our_own_names_never_go_through_links() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("victim"), "mine").unwrap();
        std::os::unix::fs::symlink("victim", at("link")).unwrap();
        std::os::unix::fs::symlink("new", at("dangling")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status();
        assert!(made.unwrap().success());
        for name in ["link", "dangling", "pipe"] {
            Staged::own(&at(name), b"map", None)
                .unwrap()
                .commit()
                .unwrap();
            assert!(at(name).symlink_metadata().unwrap().is_file(), "{name}");
            assert_eq!(fs::read(at(name)).unwrap(), b"map");
        }
        assert_eq!(fs::read(at("victim")).unwrap(), b"mine");
        assert_eq!(names(dir.path()), ["dangling", "link", "pipe", "victim"]);
        let refused = Staged::own(dir.path(), b"", None).err().map(|e| e.kind());
        assert_eq!(refused, Some(Kind::Usage));
    }

    #[test]
    fn new_files_are_never_put_over_others() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("weave.toml");
        Output::put(&target, b"first", Access::New).unwrap();
        let late = dir.path().join("late.toml");
        let mut staged = Output::create(&late, Access::New).unwrap();
        staged.write_all(b"second").unwrap();
        fs::write(&late, "another's").unwrap();
        for refused in [
            Output::put(&target, b"second", Access::New),
            staged.commit(),
        ] {
            assert_eq!(refused.unwrap_err().kind(), Kind::Usage);
        }
        assert_eq!(fs::read(&target).unwrap(), b"first");
        assert_eq!(fs::read(&late).unwrap(), b"another's");
        assert_eq!(names(dir.path()), ["late.toml", "weave.toml"]);
    }
}
