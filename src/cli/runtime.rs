//! `weave runtime`: the hook library as a file.

use crate::cli::DONE;
use crate::container::stage::Staged;
use crate::error::{Error, Result};
use crate::pipeline::{RUNTIME_JAR, RUNTIME_JAR_NAME};
use std::io::Write;
use std::path::PathBuf;

/// Write the hook library as a file, for programs woven with --no-runtime
///
/// The jar goes on the class path, or on the module path, of the woven program.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  weave --no-runtime app.jar woven.jar && weave runtime
  java -cp woven.jar:weave-runtime.jar com.acme.Main")]
pub struct RuntimeArgs {
    /// Where to write it; an older one is replaced
    #[arg(value_name = "FILE", default_value = RUNTIME_JAR_NAME)]
    file: PathBuf,
}

/// Runs the subcommand.
pub fn run(args: &RuntimeArgs) -> Result<u8> {
    let mut staged = Staged::create(&args.file, None)?;
    staged
        .write_all(RUNTIME_JAR)
        .map_err(|e| Error::io("write", &args.file, e))?;
    staged.commit()?;
    eprintln!("wrote {}", args.file.display());
    Ok(DONE)
}
