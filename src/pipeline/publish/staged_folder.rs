//! Putting results in their place: a folder staged beside its target, and what killed jobs left.

use crate::container::folder::join;
use crate::container::input::is_mapped;
use crate::container::place::resolve;
use crate::container::stage::{PREFIX, SUFFIX};
use crate::error::{Error, Kind, Result};
use crate::pipeline::publish::paths::parent;
use rustc_hash::FxHashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// A temporary file that is older than this belongs to a job that was killed.
const STALE: Duration = Duration::from_secs(60 * 60);

/// Longer files are written without a look at those that are there.
const MAX_COMPARED: u64 = 16 << 20;

/// Whether a file name is one that this program gives to temporary files.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_suffix(SUFFIX))
        .is_some_and(|random| {
            random.len() == 6 && random.bytes().all(|b| b.is_ascii_alphanumeric())
        })
}

/// Removes what killed jobs left where `output` will be. A failure does no harm.
pub(crate) fn remove_stale(output: &Path) {
    let Ok(entries) = fs::read_dir(parent(output)) else {
        return;
    };
    let now = SystemTime::now();
    for entry in entries.flatten() {
        if !entry.file_name().to_str().is_some_and(is_temporary) {
            continue;
        }
        // Not through links: those are not ours.
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        let age = metadata
            .modified()
            .ok()
            .and_then(|m| now.duration_since(m).ok());
        if age.is_none_or(|age| age < STALE) {
            continue;
        }
        let _ = if metadata.is_dir() {
            fs::remove_dir_all(entry.path())
        } else {
            fs::remove_file(entry.path())
        };
    }
}

/// A folder of results, staged beside its target: nothing of the target changes before
/// [`StagedFolder::commit`].
pub(crate) struct StagedFolder {
    temporary: TempDir,
    target: PathBuf,
    /// The folder whose permissions this one gets, and its folders those of that one's.
    like: PathBuf,
    names: Vec<String>,
    /// Folders that were made for them.
    made: FxHashSet<PathBuf>,
}

impl StagedFolder {
    pub(crate) fn create(target: &Path, like: &Path) -> Result<StagedFolder> {
        let target = resolve(target);
        let dir = parent(&target);
        fs::create_dir_all(&dir).map_err(|e| Error::io("create", &dir, e))?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        // Without this the folder, which may become the target, is for its owner alone.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode_like(
            like,
        )));
        let temporary = builder
            .tempdir_in(dir)
            .map_err(|e| Error::io("create", &target, e))?;
        Ok(StagedFolder {
            temporary,
            target,
            like: like.to_owned(),
            names: Vec::new(),
            made: FxHashSet::default(),
        })
    }

    /// Announces a file and makes the folders that it lies in; the file itself is the caller's to write.
    pub(crate) fn file(&mut self, name: &str) -> Result<PathBuf> {
        let path = join(self.temporary.path(), name)?;
        let dir = parent(&path);
        if !self.made.contains(&dir) {
            make_like(self.temporary.path(), &dir, &self.like)
                .map_err(|e| Error::io("create", &dir, e))?;
            self.made.insert(dir);
        }
        self.names.push(name.to_owned());
        Ok(path)
    }

    /// The announced files: their names, and where they lie now.
    pub(crate) fn announced(&self) -> Vec<(String, PathBuf)> {
        let place = |name: &String| {
            let staged = self.temporary.path().join(name);
            let there = || self.target.join(name);
            let path = if staged.exists() { staged } else { there() };
            (name.clone(), path)
        };
        self.names.iter().map(place).collect()
    }

    /// Whether the target has these bytes where an announced file goes. Such a file need not be written: it stays, with its time,
    /// so that what follows in a build sees what changed. To read one takes a fraction of the time that a new one does.
    pub(crate) fn has<B: AsRef<[u8]>>(
        &self,
        announced: &Path,
        len: u64,
        bytes: impl FnOnce() -> io::Result<B>,
    ) -> bool {
        let Ok(name) = announced.strip_prefix(self.temporary.path()) else {
            return false;
        };
        let there = self.target.join(name);
        len <= MAX_COMPARED
            && there
                .symlink_metadata()
                .is_ok_and(|m| m.is_file() && m.len() == len)
            && matches!((fs::read(&there), bytes()), (Ok(a), Ok(b)) if a == b.as_ref())
    }

    /// Puts the files in their places: the folder as a whole where there is none yet, else one by one.
    /// Files of the target that the job does not write stay as they are, announced ones, too.
    pub(crate) fn commit(mut self) -> Result<()> {
        if !self.target.exists() {
            // Files were left as they are in a folder that is gone by now.
            let staged =
                |name: &String| join(self.temporary.path(), name).is_ok_and(|path| path.exists());
            if !self.names.iter().all(staged) {
                let what = format!(
                    "{} is gone: it was removed during the weave",
                    self.target.display()
                );
                return Err(Error::new(Kind::NotDone, what));
            }
            let from = self.temporary.keep();
            return fs::rename(&from, &self.target).map_err(|e| {
                let _ = fs::remove_dir_all(&from);
                Error::io("create", &self.target, e)
            });
        }
        self.names.sort_unstable();
        let mut moves = Vec::with_capacity(self.names.len());
        for name in &self.names {
            let (from, to) = (
                join(self.temporary.path(), name)?,
                join(&self.target, name)?,
            );
            if !from.exists() {
                continue;
            }
            // A link is replaced, and what it leads to stays: that may be an input's file.
            let there = to.symlink_metadata().map(|m| m.file_type());
            if there.is_ok_and(|there| !there.is_file() && !there.is_symlink()) || to.is_dir() {
                let what = format!(
                    "{} is not a regular file: it cannot be replaced by one",
                    to.display()
                );
                return Err(Error::new(Kind::NotDone, what));
            }
            let dir = parent(&to);
            make_like(&self.target, &dir, &self.like).map_err(|e| Error::io("create", &dir, e))?;
            moves.push((from, to));
        }
        for (from, to) in moves {
            debug_assert!(!is_mapped(&to), "{to:?} is replaced while mapped");
            fs::rename(&from, &to).map_err(|e| Error::io("write", &to, e))?;
        }
        Ok(())
    }
}

/// The mode that a new folder asks for, where `like` is one of the input, or would be; the umask takes from it. The owner can always work
/// in it.
#[cfg(unix)]
fn mode_like(like: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    let nearest = like.ancestors().find_map(|dir| dir.metadata().ok());
    let mode = nearest.map_or(0o777, |dir| dir.permissions().mode() & 0o777);
    mode | 0o700
}

/// Makes `dir` and the folders between it and `root` that are not there, each like the one of the same name below `like`.
fn make_like(root: &Path, dir: &Path, like: &Path) -> io::Result<()> {
    let Ok(below) = dir.strip_prefix(root) else {
        return fs::create_dir_all(dir);
    };
    let (mut path, mut like) = (root.to_owned(), like.to_owned());
    for name in below {
        path.push(name);
        like.push(name);
        #[cfg_attr(not(unix), allow(unused_mut))]
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode_like(&like));
        match builder.create(&path) {
            Err(e) if !path.is_dir() => return Err(e),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_clearly_ours_and_old_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - STALE - Duration::from_secs(5);
        let file = |name: &str, time: Option<SystemTime>| {
            let path = dir.path().join(name);
            let file = fs::File::create(&path).unwrap();
            if let Some(time) = time {
                file.set_modified(time).unwrap();
            }
            path
        };
        let stale = file(".weave-aB3dE9.tmp", Some(old));
        let fresh = file(".weave-aB3dE8.tmp", None);
        let others = [
            file(".weave-notes.tmp.bak", Some(old)),
            file(".weave-toolong1.tmp", Some(old)),
            file("weave-aB3dE9.tmp", Some(old)),
        ];
        remove_stale(&dir.path().join("out.jar"));
        assert!(!stale.exists());
        assert!(fresh.exists());
        assert!(others.iter().all(|o| o.exists()));
    }

    #[test]
    fn a_folder_appears_at_once_or_file_by_file() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out");
        let mut staged = StagedFolder::create(&target, dir.path()).unwrap();
        fs::write(staged.file("a/b").unwrap(), "1").unwrap();
        assert!(!target.exists());
        staged.commit().unwrap();
        assert_eq!(fs::read(target.join("a/b")).unwrap(), b"1");

        fs::write(target.join("mine"), "x").unwrap();
        let mut staged = StagedFolder::create(&target, dir.path()).unwrap();
        fs::write(staged.file("a/b").unwrap(), "2").unwrap();
        fs::write(staged.file("c").unwrap(), "3").unwrap();
        assert_eq!(fs::read(target.join("a/b")).unwrap(), b"1");
        staged.commit().unwrap();
        assert_eq!(fs::read(target.join("a/b")).unwrap(), b"2");
        assert_eq!(fs::read(target.join("c")).unwrap(), b"3");
        assert_eq!(fs::read(target.join("mine")).unwrap(), b"x");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);

        fs::create_dir(target.join("d")).unwrap();
        let mut staged = StagedFolder::create(&target, dir.path()).unwrap();
        fs::write(staged.file("c").unwrap(), "4").unwrap();
        fs::write(staged.file("d").unwrap(), "4").unwrap();
        assert!(staged.commit().is_err());
        assert_eq!(fs::read(target.join("c")).unwrap(), b"3");
    }

    #[cfg(unix)]
    #[test]
    fn folders_are_no_wider_than_those_of_the_input() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let input = dir.path().join("in");
        fs::create_dir_all(input.join("open/secret")).unwrap();
        for (name, mode) in [("open/secret", 0o500), ("open", 0o755), ("", 0o750)] {
            fs::set_permissions(input.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let target = dir.path().join("out");
        for _ in 0..2 {
            let mut staged = StagedFolder::create(&target, &input).unwrap();
            fs::write(staged.file("open/secret/deep/a").unwrap(), "1").unwrap();
            staged.commit().unwrap();
            assert_eq!(mode(&target) & !0o750, 0);
            assert_eq!(mode(&target.join("open")) & !0o755, 0);
            // The owner writes into what cannot be written to in the input.
            assert_eq!(mode(&target.join("open/secret")), 0o700);
            assert_eq!(mode(&target.join("open/secret/deep")), 0o700);
            fs::remove_dir_all(target.join("open")).unwrap();
        }
    }
}
