//! Where an output goes, and which paths are one file.

use crate::error::{Error, Result};
use std::collections::HashMap;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::path::{Component, Path, PathBuf};

/// Most symbolic links that are followed one after the other, as on Linux.
const LINKS: usize = 40;

/// Where an output goes.
pub enum Place {
    /// A regular file, with the permissions of the one that is there: it is replaced as a whole. No symbolic link leads on
    /// from the path.
    File(PathBuf, Option<Permissions>),
    /// A device or a pipe: it is written to, never replaced.
    Stream(PathBuf),
    /// A descriptor of this process (`/dev/stdout`, `/dev/fd/63`): it is written to where it stands.
    Descriptor(i32),
}

impl Place {
    /// Where an output of this path goes. A symbolic link is followed, also one to a file that is not there yet.
    pub fn of(target: &Path) -> Result<Place> {
        let failed = |e| Error::io("create", target, e);
        let path = match follow(target).map_err(failed)? {
            Followed::Path(path) => path,
            Followed::Descriptor(number) => return Ok(Place::Descriptor(number)),
        };
        if cfg!(windows) && path.as_os_str().eq_ignore_ascii_case("nul") {
            return Ok(Place::Stream(path));
        }
        match path.metadata() {
            Ok(there) if there.is_file() => Ok(Place::File(path, Some(there.permissions()))),
            Ok(there) if there.is_dir() => Err(Error::usage(format!(
                "{} is a folder: it cannot be replaced by the output",
                target.display()
            ))),
            Ok(_) => Ok(Place::Stream(path)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Place::File(path, None)),
            Err(e) => Err(failed(e)),
        }
    }

    /// Where a file goes whose name weave chose: an existing file is replaced, also a symbolic link or a pipe, since
    /// somebody else may have put it there.
    pub fn own(target: &Path) -> Result<Place> {
        match target.symlink_metadata() {
            Ok(there) if there.is_dir() => Err(Error::usage(format!(
                "{} is a folder: it cannot be replaced by the output",
                target.display()
            ))),
            Ok(there) => Ok(Place::File(
                target.to_owned(),
                there.is_file().then(|| there.permissions()),
            )),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Ok(Place::File(target.to_owned(), None))
            }
            Err(e) => Err(Error::io("create", target, e)),
        }
    }

    /// Opens what is written to as it is.
    pub fn open(&self) -> io::Result<File> {
        match self {
            Place::File(path, _) | Place::Stream(path) => File::options().write(true).open(path),
            Place::Descriptor(number) => duplicate(*number),
        }
    }
}

/// Whether an output of this path is written to as it is. Nothing can lie beside such an output.
pub fn is_stream(target: &Path) -> bool {
    matches!(
        Place::of(target),
        Ok(Place::Stream(_) | Place::Descriptor(_))
    )
}

enum Followed {
    Path(PathBuf),
    Descriptor(i32),
}

/// Follows symbolic links at the end of a path.
fn follow(path: &Path) -> io::Result<Followed> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        // Such a link names a descriptor, not a path that could be replaced.
        if let Some(number) = descriptor(&path) {
            return Ok(Followed::Descriptor(number));
        }
        match path.read_link() {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(Followed::Path(path)),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// The number of a descriptor of this process, if the path names one.
#[cfg(unix)]
fn descriptor(path: &Path) -> Option<i32> {
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let folder = path.parent()?;
    let own = format!("/proc/{}", std::process::id());
    let is_ours = folder == Path::new("/dev/fd")
        || (folder.ends_with("fd")
            && folder
                .canonicalize()
                .is_ok_and(|folder| folder.starts_with(own)));
    is_ours.then_some(number)
}

#[cfg(not(unix))]
fn descriptor(_: &Path) -> Option<i32> {
    None
}

#[cfg(unix)]
fn duplicate(number: i32) -> io::Result<File> {
    use std::os::fd::FromRawFd;
    // SAFETY: the call takes any number, and refuses one that is no open descriptor.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, and nobody else's.
    Ok(unsafe { File::from_raw_fd(copy) })
}

#[cfg(not(unix))]
fn duplicate(_: i32) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Where a path leads, also if its last parts do not exist yet.
pub fn resolve(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let plain = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (plain.parent(), plain.components().next_back()) {
        (Some(dir), Some(Component::ParentDir)) => {
            let mut dir = resolve(dir);
            dir.pop();
            dir
        }
        (Some(dir), Some(name)) => resolve(dir).join(name),
        _ => plain,
    }
}

/// What two paths have in common that are one file or folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Identity {
    /// Device and inode: also hard links are one file.
    #[cfg(unix)]
    Inode(u64, u64),
    Path(PathBuf),
}

/// `None`: a device or a pipe, which several outputs may go to.
fn identity(path: &Path) -> Option<Identity> {
    let known = |metadata: &Metadata| {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let regular = metadata.is_file() || metadata.is_dir();
            regular.then(|| Identity::Inode(metadata.dev(), metadata.ino()))
        }
        #[cfg(not(unix))]
        {
            let _ = metadata;
            path.canonicalize().ok().map(Identity::Path)
        }
    };
    match follow(path).ok()? {
        Followed::Descriptor(number) => {
            let file = duplicate(number).ok()?;
            known(&file.metadata().ok()?)
        }
        Followed::Path(path) => match path.metadata() {
            Ok(metadata) => known(&metadata),
            Err(_) => Some(Identity::Path(resolve(&path))),
        },
    }
}

/// Whether two paths are one file or folder, also by a hard link.
pub fn is_one(a: &Path, b: &Path) -> bool {
    identity(a).is_some_and(|a| identity(b) == Some(a))
}

/// Whether two paths are one file or folder, hard links apart.
pub fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// The files of a job: no output may be another of them.
#[derive(Default)]
pub struct Files(Vec<Named>);

/// A file of a job.
pub struct Named {
    pub what: &'static str,
    pub path: PathBuf,
    pub is_output: bool,
}

impl Files {
    /// A file that the job reads.
    pub fn read(&mut self, what: &'static str, path: impl Into<PathBuf>) {
        let path = path.into();
        self.0.push(Named {
            what,
            path,
            is_output: false,
        });
    }

    /// A file that the job writes.
    pub fn write(&mut self, what: &'static str, path: impl Into<PathBuf>) {
        let path = path.into();
        self.0.push(Named {
            what,
            path,
            is_output: true,
        });
    }

    pub fn all(&self) -> &[Named] {
        &self.0
    }

    /// Refuses an output that is another file of the job, by either name.
    pub fn check(&self) -> Result<()> {
        if !self.0.iter().any(|file| file.is_output) {
            return Ok(());
        }
        let mut seen: HashMap<Identity, &Named> = HashMap::new();
        // Files that are read first: they may be one, and the message names them first.
        let (read, written): (Vec<&Named>, Vec<&Named>) =
            self.0.iter().partition(|file| !file.is_output);
        for file in read.into_iter().chain(written) {
            let Some(identity) = identity(&file.path) else {
                continue;
            };
            match seen.get(&identity) {
                Some(other) if file.is_output => return Err(one_file(other, file)),
                Some(_) => {}
                None => {
                    seen.insert(identity, file);
                }
            }
        }
        Ok(())
    }
}

fn one_file(a: &Named, b: &Named) -> Error {
    Error::usage(format!(
        "{} {} and {} {} are one file: name another for the output",
        a.what,
        a.path.display(),
        b.what,
        b.path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn paths_lead_somewhere_before_they_are_there() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        for (path, to) in [("a", "a"), ("a/b/c", "a/b/c"), ("a/./b/../c/", "a/c")] {
            assert_eq!(resolve(&dir.path().join(path)), real.join(to), "{path}");
        }
    }

    #[test]
    fn an_output_is_no_other_file_of_the_job() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("a"), "").unwrap();
        fs::write(at("b"), "").unwrap();
        let check = |read: &[&str], written: &[&str]| {
            let mut files = Files::default();
            read.iter().for_each(|name| files.read("input", at(name)));
            (written.iter()).for_each(|name| files.write("output", at(name)));
            files.check().map_err(|e| e.message().to_owned())
        };
        assert_eq!(check(&["a", "a"], &["b", "new"]), Ok(()));
        let refused = check(&["a"], &["new", "./a"]).unwrap_err();
        assert!(refused.starts_with("input ") && refused.contains("./a are one file"));
        assert!(check(&[], &["new/x", "new/./y/../x"]).is_err());
        #[cfg(unix)]
        {
            fs::hard_link(at("a"), at("hard")).unwrap();
            std::os::unix::fs::symlink("a", at("soft")).unwrap();
            std::os::unix::fs::symlink("new", at("dangling")).unwrap();
            assert!(check(&["a"], &["hard"]).is_err());
            assert!(check(&["a"], &["soft"]).is_err());
            assert!(check(&[], &["new", "dangling"]).is_err());
            let mut files = Files::default();
            files.write("one", "/dev/null");
            files.write("other", "/dev/null");
            assert!(files.check().is_ok());
        }
    }
}
