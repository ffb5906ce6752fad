//! `weave runtime`: the hook library as a file.

use crate::cli::{DONE, note};
use crate::error::Result;
use crate::pipeline::{self, RUNTIME_JAR_NAME};
use std::path::PathBuf;

/// Write the hook library as a file, for programs woven with --no-runtime
///
/// The jar goes on the class path, or on the module path, of the woven program; for Android it is a dex file, for .NET an assembly.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  weave --no-runtime app.jar woven.jar && weave runtime
  java -cp woven.jar:weave-runtime.jar com.acme.Main
  weave runtime weave-runtime.dex            for Android, as a further dex file of the app
  weave runtime Weave.Runtime.dll            for .NET, beside the woven assemblies
  weave runtime --framework net8.0 Weave.Runtime.dll   the one that native and trimmed programs need")]
pub struct RuntimeArgs {
    /// Where to write it (.dex for Android, .dll for .NET, else a jar); an older one is replaced
    #[arg(value_name = "FILE", default_value = RUNTIME_JAR_NAME)]
    file: PathBuf,

    /// The target framework of a .NET assembly
    #[arg(long, value_name = "TFM", default_value = "netstandard2.0")]
    framework: Framework,
}

/// The frameworks that there is an assembly for.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Framework {
    /// All of .NET, .NET Framework and Mono
    #[value(name = "netstandard2.0")]
    Standard,
    /// .NET 8 and newer: it can be trimmed, and records the activities that libraries make themselves
    #[value(name = "net8.0")]
    Net,
}

/// Runs the subcommand.
pub fn run(args: &RuntimeArgs) -> Result<u8> {
    pipeline::write_runtime(&args.file, args.framework == Framework::Net)?;
    note(&format!("wrote {}", args.file.display()));
    Ok(DONE)
}
