//! The `weave` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    weave::main()
}
