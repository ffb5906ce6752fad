//! `weave init`: a starter rules file.

use crate::aspect::rules::STARTER;
use crate::cli::rules::FILE_NAME;
use crate::cli::{DONE, note, print};
use crate::error::Result;
use crate::pipeline::{Access, Output};
use std::path::PathBuf;

/// Write a starter rules file to change to your needs
///
/// `weave` finds a file named weave.toml beside the input or in the current folder by itself.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  weave init                  writes weave.toml
  weave init - | less         only shows it")]
pub struct InitArgs {
    /// Where to write it; - is standard output. An existing file is never overwritten
    #[arg(value_name = "FILE", default_value = FILE_NAME)]
    file: PathBuf,
}

/// Runs the subcommand.
pub fn run(args: &InitArgs) -> Result<u8> {
    if args.file.as_os_str() == "-" {
        print(STARTER)?;
        return Ok(DONE);
    }
    Output::put(&args.file, STARTER.as_bytes(), Access::New)?;
    note(&format!("wrote {}", args.file.display()));
    Ok(DONE)
}
