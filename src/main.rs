//! The `weave` command: parse, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    weave::pipeline::memory::keep_freed();
    weave::cli::main()
}
