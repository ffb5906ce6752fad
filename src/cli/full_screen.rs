//! The whole terminal for a view, and the terminal as it was, whatever ends or stops the program: the view itself, a panic, a
//! signal, a trace that is cut off while it is mapped.

use crate::error::{Error, Kind, Result};
use ratatui::DefaultTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The program was stopped and goes on: nothing of the view is on the terminal any more.
static RESUMED: AtomicBool = AtomicBool::new(false);

/// Whether the view must be drawn anew, since the program was stopped; asked once for each time.
pub(super) fn was_stopped() -> bool {
    RESUMED.swap(false, Ordering::Relaxed)
}

/// What the terminal refused.
pub(super) fn failed(e: &dyn std::fmt::Display) -> Error {
    Error::new(Kind::Io, format!("terminal: {e}"))
}

/// Shows a view, which ends on a signal: SIGINT, SIGTERM or SIGHUP.
pub(super) fn show<T>(
    view: impl FnOnce(&mut DefaultTerminal, &AtomicBool) -> Result<T>,
) -> Result<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    ctrlc::set_handler(move || asked.store(true, Ordering::Relaxed))
        .map_err(|e| Error::new(Kind::Io, format!("cannot wait for signals: {e}")))?;
    #[cfg(unix)]
    signals::remember();
    // This has a panic restore the terminal, too.
    let mut terminal = ratatui::try_init().map_err(|e| {
        let _ = ratatui::try_restore();
        failed(&e)
    })?;
    #[cfg(unix)]
    signals::watch();
    let result = view(&mut terminal, &stop);
    // A terminal that is gone (SIGHUP) cannot be restored, and need not be.
    let restored = ratatui::try_restore();
    if result.is_ok() && !stop.load(Ordering::Relaxed) {
        restored.map_err(|e| failed(&e))?;
    }
    result
}

/// What happens within signal handlers, where only few calls are allowed.
#[cfg(unix)]
mod signals {
    use super::RESUMED;
    use std::sync::OnceLock;
    use std::sync::atomic::Ordering;

    /// The terminal's settings before the view, and in it.
    static BEFORE: OnceLock<libc::termios> = OnceLock::new();
    static WITHIN: OnceLock<libc::termios> = OnceLock::new();

    fn settings() -> Option<libc::termios> {
        // SAFETY: settings are plain numbers, and zero is one of their values; the call fills them in or fails.
        unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            (libc::tcgetattr(libc::STDIN_FILENO, &mut settings) == 0).then_some(settings)
        }
    }

    pub(super) fn remember() {
        if let Some(settings) = settings()
            && BEFORE.set(settings).is_ok()
        {
            #[cfg(target_os = "linux")]
            crate::pipeline::before_truncation_ends(restore);
        }
    }

    /// From now on SIGQUIT ends the program with the terminal restored, SIGTSTP stops it so, and SIGCONT brings the view back.
    pub(super) fn watch() {
        let Some(settings) = settings() else {
            return;
        };
        if WITHIN.set(settings).is_err() {
            return;
        }
        let handlers: [(libc::c_int, extern "C" fn(libc::c_int)); 3] = [
            (libc::SIGQUIT, quit),
            (libc::SIGTSTP, stop),
            (libc::SIGCONT, go_on),
        ];
        for (signal, handler) in handlers {
            // SAFETY: zero is a value of each field; the handlers make only calls that are async-signal-safe.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handler as libc::sighandler_t;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
    }

    extern "C" fn quit(signal: libc::c_int) {
        restore();
        // SAFETY: both calls are async-signal-safe (POSIX, 2.4.3). The signal comes when this handler returns.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }

    extern "C" fn stop(_: libc::c_int) {
        restore();
        // SAFETY: the call is async-signal-safe.
        unsafe { libc::raise(libc::SIGSTOP) };
    }

    extern "C" fn go_on(_: libc::c_int) {
        const TEXT: &[u8] = b"\x1b[?1049h\x1b[?25l";
        let Some(settings) = WITHIN.get() else {
            return;
        };
        // SAFETY: all calls are async-signal-safe (POSIX, 2.4.3); the text is static, and so are the settings. In the background the
        // terminal is somebody else's: SIGCONT comes again when it is ours.
        unsafe {
            if libc::tcgetpgrp(libc::STDIN_FILENO) != libc::getpgrp() {
                return;
            }
            libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, settings);
            libc::write(libc::STDOUT_FILENO, TEXT.as_ptr().cast(), TEXT.len());
        }
        RESUMED.store(true, Ordering::Relaxed);
    }

    /// Leaves the alternate screen, shows the cursor, and ends the raw mode.
    fn restore() {
        const TEXT: &[u8] = b"\x1b[?1049l\x1b[?25h";
        let Some(settings) = BEFORE.get() else {
            return;
        };
        // SAFETY: both calls are async-signal-safe (POSIX, 2.4.3); the text is static, and so are the settings.
        unsafe {
            libc::write(libc::STDOUT_FILENO, TEXT.as_ptr().cast(), TEXT.len());
            libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, settings);
        }
    }
}
