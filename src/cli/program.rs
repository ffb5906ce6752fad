//! A program that `weave` starts in its own place: it gets the signals and gives the exit status.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Command;

/// The statuses of shells, `env` and `timeout` where there is no such program, and where it cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;

/// A program that was started. It has this process's standard streams.
pub struct Program {
    process: sys::Process,
    status: Option<u8>,
}

impl Program {
    /// Starts a program, with further variables in its environment.
    ///
    /// # Errors
    /// What the system says where it cannot be started.
    pub fn start(command: &[OsString], environment: &[(&str, OsString)]) -> io::Result<Program> {
        let Some((name, arguments)) = command.split_first() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        // A signal that comes before the program is there waits for it.
        sys::listen()?;
        let mut command = Command::new(name);
        command
            .args(arguments)
            .envs(environment.iter().map(|(name, value)| (name, value)));
        Ok(Program {
            process: sys::Process::new(command.spawn()?),
            status: None,
        })
    }

    /// The exit status of what could not be started.
    pub fn status_of_failure(e: &io::Error) -> u8 {
        match e.kind() {
            io::ErrorKind::NotFound => NOT_FOUND,
            _ => NOT_RUN,
        }
    }

    /// Passes on the signals that have come since the last call, and says how the program has ended, if it has: its status, or 128 and
    /// the signal.
    pub fn look(&mut self) -> Option<u8> {
        if self.status.is_none() {
            self.process.pass_on();
            self.status = self.process.ended();
            if self.status.is_some() {
                sys::forget();
            }
        }
        self.status
    }

    /// Whether somebody has asked to stop since the program has ended.
    pub fn is_asked_to_stop(&self) -> bool {
        self.status.is_some() && sys::is_asked()
    }
}

/// A text for `WEAVE_TRACE`: traces in a folder, each under its process's number. None where the folder's name is no text.
pub fn traces_in(folder: &Path) -> Option<OsString> {
    // A percent sign of the folder's own is written twice.
    let folder = folder.to_str()?.replace('%', "%%");
    let separator = std::path::MAIN_SEPARATOR;
    Some(format!("{folder}{separator}%p.wtrace").into())
}

#[cfg(unix)]
mod sys {
    use libc::{c_int, c_void, siginfo_t};
    use std::io;
    use std::mem::{MaybeUninit, zeroed};
    use std::process::Child;
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Signals that have come, by number from 1: all, and those that the program has not got yet.
    static HEARD: AtomicU64 = AtomicU64::new(0);
    static TO_PASS: AtomicU64 = AtomicU64::new(0);

    /// Whether the terminal sent a signal: the program, which is of the same group, got it as well.
    fn is_of_terminal(info: &siginfo_t) -> bool {
        #[cfg(target_os = "linux")]
        return info.si_code == libc::SI_KERNEL;
        #[cfg(not(target_os = "linux"))]
        // SAFETY: a plain number of a signal's description.
        return unsafe { info.si_pid() } == 0;
    }

    extern "C" fn hear(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
        let bit = 1u64 << (signal - 1);
        HEARD.fetch_or(bit, Ordering::Relaxed);
        // SAFETY: the system describes the signal there, or passes nothing.
        if !unsafe { info.as_ref() }.is_some_and(is_of_terminal) {
            TO_PASS.fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn signals() -> impl Iterator<Item = c_int> {
        let named = [
            libc::SIGHUP,
            libc::SIGINT,
            libc::SIGQUIT,
            libc::SIGUSR1,
            libc::SIGUSR2,
            libc::SIGTERM,
            libc::SIGCONT,
        ];
        #[cfg(target_os = "linux")]
        let of_real_time = libc::SIGRTMIN()..=libc::SIGRTMAX().min(64);
        #[cfg(not(target_os = "linux"))]
        let of_real_time = std::iter::empty();
        named.into_iter().chain(of_real_time)
    }

    /// From now on signals are heard, but those that this process was told to ignore.
    pub fn listen() -> io::Result<()> {
        // Where children are not to be waited for, nothing tells how one has ended.
        // SAFETY: no code of this process is set as a handler.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        for signal in signals() {
            // SAFETY: both are plain data; the handler only changes atomics.
            unsafe {
                let mut before: libc::sigaction = zeroed();
                if libc::sigaction(signal, null_mut(), &raw mut before) != 0 {
                    return Err(io::Error::last_os_error());
                }
                if before.sa_sigaction == libc::SIG_IGN {
                    continue;
                }
                let mut action: libc::sigaction = zeroed();
                action.sa_sigaction = hear as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                if libc::sigaction(signal, &raw const action, null_mut()) != 0 {
                    return Err(io::Error::last_os_error());
                }
            }
        }
        Ok(())
    }

    pub fn forget() {
        HEARD.store(0, Ordering::Relaxed);
    }

    pub fn is_asked() -> bool {
        let asks = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];
        let heard = HEARD.load(Ordering::Relaxed);
        asks.iter().any(|signal| heard & 1 << (signal - 1) != 0)
    }

    pub struct Process(libc::pid_t);

    impl Process {
        pub fn new(child: Child) -> Process {
            // It is waited for below, with all others: by its number alone.
            Process(child.id() as libc::pid_t)
        }

        pub fn pass_on(&self) {
            let mut some = TO_PASS.swap(0, Ordering::Relaxed);
            while some != 0 {
                let signal = some.trailing_zeros() as c_int + 1;
                some &= some - 1;
                // SAFETY: the program was not waited for, so the number is still its own.
                unsafe { libc::kill(self.0, signal) };
            }
        }

        /// How it has ended. Whatever else has ended is waited for as well: as a container's first process this one is the parent of
        /// all whose own has gone.
        pub fn ended(&self) -> Option<u8> {
            loop {
                let mut status = MaybeUninit::new(0);
                // SAFETY: the status is written there.
                let pid = unsafe { libc::waitpid(-1, status.as_mut_ptr(), libc::WNOHANG) };
                if pid <= 0 {
                    return None;
                }
                // SAFETY: it had a value from the begin.
                let status = unsafe { status.assume_init() };
                if pid == self.0 {
                    return Some(match libc::WIFSIGNALED(status) {
                        true => 128 + libc::WTERMSIG(status) as u8,
                        false => libc::WEXITSTATUS(status) as u8,
                    });
                }
            }
        }
    }
}

#[cfg(not(unix))]
mod sys {
    use std::io;
    use std::process::Child;
    use std::sync::atomic::{AtomicBool, Ordering};

    static HEARD: AtomicBool = AtomicBool::new(false);

    /// The console sends its events to the program as well; this process outlives them.
    pub fn listen() -> io::Result<()> {
        ctrlc::set_handler(|| HEARD.store(true, Ordering::Relaxed)).map_err(io::Error::other)
    }

    pub fn forget() {
        HEARD.store(false, Ordering::Relaxed);
    }

    pub fn is_asked() -> bool {
        HEARD.load(Ordering::Relaxed)
    }

    pub struct Process(Child);

    impl Process {
        pub fn new(child: Child) -> Process {
            Process(child)
        }

        pub fn pass_on(&self) {}

        pub fn ended(&mut self) -> Option<u8> {
            let status = self.0.try_wait().ok().flatten()?;
            Some(status.code().map_or(1, |code| match u8::try_from(code) {
                Ok(code) => code,
                Err(_) => 1,
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folders_percent_signs_are_its_own() {
        let pattern = traces_in(Path::new("/a%p")).unwrap();
        let pattern = pattern.to_str().unwrap().replace('\\', "/");
        assert_eq!(pattern, "/a%%p/%p.wtrace");
    }
}
