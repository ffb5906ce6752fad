//! The `weave` command: parse, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    keep_freed_memory();
    weave::cli::main()
}

/// What one part of a job frees, the next one takes: glibc would give much of it back to the system in between, and
/// get it again page by page, which took a tenth of the page faults of a weave.
fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// The highest that glibc takes (`DEFAULT_MMAP_THRESHOLD_MAX`).
        const MAPPED_BY_THEMSELVES: i32 = 32 << 20;
        // SAFETY: no other thread runs yet; a value that is refused changes nothing.
        unsafe {
            libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BY_THEMSELVES);
        }
    }
}
