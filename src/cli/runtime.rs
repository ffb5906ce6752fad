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
  weave runtime Weave.Runtime.dll            for .NET, beside the woven assemblies")]
pub struct RuntimeArgs {
    /// Where to write it (.dex for Android, .dll for .NET, else a jar); an older one is replaced
    #[arg(value_name = "FILE", default_value = RUNTIME_JAR_NAME)]
    file: PathBuf,
}

/// Runs the subcommand.
pub fn run(args: &RuntimeArgs) -> Result<u8> {
    pipeline::write_runtime(&args.file)?;
    note(&format!("wrote {}", args.file.display()));
    Ok(DONE)
}
