//! `weave schema`: the JSON schema of rules files, for editors.

use crate::aspect::rules::SCHEMA;
use crate::cli::{DONE, print};
use crate::error::Result;
use crate::pipeline::{Access, Output};
use std::path::PathBuf;

/// Write the JSON schema of rules files, by which editors complete and check weave.toml
///
/// An editor that knows TOML finds it by a line at the top of the rules file: #:schema weave.schema.json
#[derive(clap::Args)]
#[command(after_help = "Examples:
  weave schema weave.schema.json     beside the rules file
  weave schema                       prints it")]
pub struct SchemaArgs {
    /// Where to write it; - is standard output
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

/// Runs the subcommand.
pub fn run(args: &SchemaArgs) -> Result<u8> {
    if args.file.as_os_str() == "-" {
        print(SCHEMA)?;
        return Ok(DONE);
    }
    Output::put(&args.file, SCHEMA.as_bytes(), Access::Usual)?;
    Ok(DONE)
}
