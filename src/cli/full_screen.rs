//! The whole terminal for a view, and the terminal as it was, whatever ends the program: the view itself, a panic, a
//! signal, a trace that is cut off while it is mapped.

use crate::error::{Error, Kind, Result};
use ratatui::DefaultTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
    #[cfg(target_os = "linux")]
    cut_off::remember();
    // This has a panic restore the terminal, too.
    let mut terminal = ratatui::try_init().map_err(|e| {
        let _ = ratatui::try_restore();
        failed(&e)
    })?;
    let result = view(&mut terminal, &stop);
    // A terminal that is gone (SIGHUP) cannot be restored, and need not be.
    let restored = ratatui::try_restore();
    if result.is_ok() && !stop.load(Ordering::Relaxed) {
        restored.map_err(|e| failed(&e))?;
    }
    result
}

/// For the end within a signal handler, where only few calls are allowed.
#[cfg(target_os = "linux")]
mod cut_off {
    use std::sync::OnceLock;

    /// The terminal's settings before the view.
    static BEFORE: OnceLock<libc::termios> = OnceLock::new();

    pub(super) fn remember() {
        // SAFETY: settings are plain numbers, and zero is one of their values; the call fills them in or fails.
        let settings = unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            (libc::tcgetattr(libc::STDIN_FILENO, &mut settings) == 0).then_some(settings)
        };
        if let Some(settings) = settings
            && BEFORE.set(settings).is_ok()
        {
            crate::pipeline::before_truncation_ends(restore);
        }
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
