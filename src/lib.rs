//! Weave: a build-time static weaver.
//!
//! `weave in out` reads compiled artifacts, applies aspect rules declared in TOML, and
//! inserts enter, exit and exception hooks into the bytecode. The flow is one way:
//!
//! ```text
//! bytes -> container -> format -> scan -> join points -> rules match -> plan
//!       -> lower -> edit/layout -> write -> container -> bytes
//! ```
//!
//! `docs/DESIGN.md` says what lives where and which way dependencies point.

mod aspect;
mod bytes;
mod cil;
mod cli;
mod container;
mod dex;
mod dotnet_names;
mod edit;
mod error;
mod import;
mod in_order;
#[doc(hidden)]
pub mod internals;
mod jvm;
mod mapping;
mod pipeline;
mod printable;
mod signing;
mod spans;
mod switches;
mod symbols;
mod trace;

use std::process::ExitCode;

/// The command, from the process's arguments to its exit status.
pub fn main() -> ExitCode {
    container::input::tell_of_truncation();
    cli::main()
}
