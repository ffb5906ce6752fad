//! `weave inputs`: which files rules are made of, for build tools.

use crate::cli::{DONE, print, rules};
use crate::error::Result;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// List the files that a weave depends on besides its input: rules files, the files that they include, and libraries of own hooks
#[derive(clap::Args)]
#[command(after_help = "Examples:
  weave inputs --rules weave.toml          a file a line
  weave inputs --rules weave.toml --json   for build tools")]
pub struct InputsArgs {
    /// Rules file, or a ready-made pack as pack:NAME; may be repeated [default: weave.toml in the current folder]
    #[arg(long, value_name = "FILE")]
    rules: Vec<String>,

    /// As one JSON object: rules and libraries
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Inputs {
    rules: Vec<PathBuf>,
    libraries: Vec<PathBuf>,
}

/// Runs the subcommand.
pub fn run(args: &InputsArgs) -> Result<u8> {
    let resolved = rules::resolve(&args.rules, Path::new(""))?;
    let inputs = Inputs {
        rules: resolved.files,
        libraries: resolved.libraries,
    };
    let mut text = String::new();
    if args.json {
        text = serde_json::to_string(&inputs).expect("paths of rules are UTF-8") + "\n";
    } else {
        for path in inputs.rules.iter().chain(&inputs.libraries) {
            text += &format!("{}\n", path.display());
        }
    }
    print(&text)?;
    Ok(DONE)
}
