//! `weave packs`: the ready-made rules.

use crate::aspect::rules::{PACK_PREFIX, PACKS, Rules};
use crate::cli::{DONE, print};
use crate::error::Result;

/// List the ready-made rules, or print those of one
#[derive(clap::Args)]
#[command(after_help = "Examples:
  weave packs                            all packs, a line each
  weave packs jdbc > sql.toml            one as a file, to change it
  weave --rules pack:jdbc in.jar out.jar weave with one
  include = [\"pack:jdbc\"]                in weave.toml: add one to your rules")]
pub struct PacksArgs {
    /// The pack to print, with or without `pack:`
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// Runs the subcommand.
pub fn run(args: &PacksArgs) -> Result<u8> {
    let Some(name) = &args.name else {
        let width = PACKS.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let lines = PACKS.iter().map(|(name, text)| {
            let about = Rules::about_pack(text);
            format!("{PACK_PREFIX}{name:width$}  {about}\n")
        });
        print(&lines.collect::<String>())?;
        return Ok(DONE);
    };
    print(Rules::pack_text(
        name.strip_prefix(PACK_PREFIX).unwrap_or(name),
    )?)?;
    Ok(DONE)
}
