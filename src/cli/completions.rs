//! `weave completions` and `weave man`: what shells and manual readers take.

use super::{Cli, print};
use crate::error::{Error, Result};
use clap::CommandFactory;
use std::path::{Path, PathBuf};

/// Print a script that completes commands and options in a shell.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  weave completions bash > ~/.local/share/bash-completion/completions/weave
  weave completions zsh > ~/.zfunc/_weave
  weave completions fish > ~/.config/fish/completions/weave.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

/// Write the manual pages, one a command.
#[derive(clap::Args, Debug)]
pub struct ManArgs {
    /// The folder to write to
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Runs `weave completions`.
pub fn run(args: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "weave", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Runs `weave man`.
pub fn man(args: &ManArgs) -> Result<()> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |e| Error::io("write", &path, e)
    };
    std::fs::create_dir_all(&args.folder).map_err(io(&args.folder))?;
    // The page of each command is its help.
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, &args.folder).map_err(io(&args.folder))
}
