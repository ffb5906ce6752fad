//! `weave completions` and `weave man`: what shells and manual readers take.

use super::{Cli, print};
use crate::error::{Error, Result};
use crate::pipeline::{Access, Output};
use clap::CommandFactory;
use std::path::PathBuf;

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
    let failed = |e| Error::io("write", &args.folder, e);
    let pages = tempfile::tempdir().map_err(failed)?;
    // The page of each command is its help.
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, pages.path()).map_err(failed)?;
    for page in std::fs::read_dir(pages.path()).map_err(failed)? {
        let page = page.map_err(failed)?;
        let text = std::fs::read(page.path()).map_err(failed)?;
        Output::put(&args.folder.join(page.file_name()), &text, Access::Usual)?;
    }
    Ok(())
}
