//! Advisory locks on a trace: its process holds one byte far beyond the file's end as long as it
//! lives, its consumer the next ("Locks" of the format). A kill frees them.

use std::fs::File;
#[cfg(unix)]
use std::fs::TryLockError;
use std::path::Path;

/// The byte that the process holds.
const WRITER: i64 = 1 << 62;
/// The byte that the consumer holds.
const CONSUMER: i64 = WRITER + 1;
/// The byte that who switches the process holds.
const CONTROLLER: i64 = WRITER + 2;

/// Whether the process that writes the trace holds its lock.
pub fn has_writer(file: &File) -> bool {
    imp::is_locked(file, WRITER)
}

/// Takes the consumer's lock, until the file is closed; false if another has it. Where there are no
/// such locks there is nothing in the way.
pub fn take_consumer(file: &File) -> bool {
    imp::take(file, CONSUMER)
}

/// Takes the lock of who switches the process, until the file is closed; false if another has it. Where there are no such
/// locks there is nothing in the way.
pub fn take_controller(file: &File) -> bool {
    imp::take(file, CONTROLLER)
}

/// Gives the consumer's lock back. Closing the file is not enough: a program that another thread starts has a copy of
/// it for a moment.
pub fn free_consumer(file: &File) {
    imp::free(file, CONSUMER);
}

/// Gives the writer's lock back, as [`free_consumer`] does.
#[cfg(test)]
pub(super) fn free_writer(file: &File) {
    imp::free(file, WRITER);
}

/// Takes the lock of the process that writes the trace: for tests that play its part.
#[cfg(test)]
pub fn take_writer(file: &File) -> bool {
    imp::take(file, WRITER)
}

/// A file that a collector writes or packs: no other touches it as long as this lives. Where there are no such locks
/// there is nothing in the way.
pub struct Held(File);

impl Held {
    /// Holds the file of that path; `None` if another has it, or another file has got its name meanwhile.
    pub fn take(file: File, path: &Path) -> Option<Held> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                return None;
            }
            let held = Held(file);
            let (there, own) = (path.symlink_metadata().ok()?, held.0.metadata().ok()?);
            ((there.dev(), there.ino()) == (own.dev(), own.ino())).then_some(held)
        }
        #[cfg(not(unix))]
        {
            let _ = path;
            Some(Held(file))
        }
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.0
    }
}

#[cfg(unix)]
impl Drop for Held {
    fn drop(&mut self) {
        // Closing is not enough, as with the consumer's lock.
        let _ = self.0.unlock();
    }
}

#[cfg(all(unix, target_pointer_width = "64"))]
mod imp {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    // Locks of the open file where they exist; else they are the process's, which is as good as long as
    // it opens a trace once.
    #[cfg(target_os = "linux")]
    const COMMANDS: (libc::c_int, libc::c_int) = (libc::F_OFD_SETLK, libc::F_OFD_GETLK);
    #[cfg(not(target_os = "linux"))]
    const COMMANDS: (libc::c_int, libc::c_int) = (libc::F_SETLK, libc::F_GETLK);

    fn byte(at: i64) -> libc::flock {
        // SAFETY: a lock is plain numbers, and zero is one of their values.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_WRLCK as _;
        lock.l_whence = libc::SEEK_SET as _;
        lock.l_start = at;
        lock.l_len = 1;
        lock
    }

    pub(super) fn is_locked(file: &File, at: i64) -> bool {
        let mut lock = byte(at);
        // SAFETY: the descriptor is open, and the lock lives until the call is over.
        let done = unsafe { libc::fcntl(file.as_raw_fd(), COMMANDS.1, &mut lock) };
        done == 0 && lock.l_type != libc::F_UNLCK as libc::c_short
    }

    fn set(file: &File, lock: &libc::flock) -> libc::c_int {
        // SAFETY: as above.
        unsafe { libc::fcntl(file.as_raw_fd(), COMMANDS.0, lock) }
    }

    pub(super) fn free(file: &File, at: i64) {
        let mut lock = byte(at);
        lock.l_type = libc::F_UNLCK as _;
        set(file, &lock);
    }

    pub(super) fn take(file: &File, at: i64) -> bool {
        let done = set(file, &byte(at));
        let held = [libc::EAGAIN, libc::EACCES];
        done == 0 || !held.contains(&std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
    }
}

#[cfg(not(all(unix, target_pointer_width = "64")))]
mod imp {
    use std::fs::File;

    pub(super) fn is_locked(_: &File, _: i64) -> bool {
        false
    }

    pub(super) fn take(_: &File, _: i64) -> bool {
        true
    }

    pub(super) fn free(_: &File, _: i64) {}
}
