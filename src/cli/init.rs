//! `weave init`: a starter rules file.

use crate::aspect::rules::{DOTNET_STARTER, STARTER};
use crate::cli::rules::FILE_NAME;
use crate::cli::{DONE, print};
use crate::error::{Error, Result};
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

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
    let folder = args.file.parent().filter(|f| !f.as_os_str().is_empty());
    let text = match is_dotnet(folder.unwrap_or(Path::new("."))) {
        true => DOTNET_STARTER,
        false => STARTER,
    };
    if args.file.as_os_str() == "-" {
        print(text)?;
        return Ok(DONE);
    }
    let created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&args.file);
    let mut file = created.map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => Error::usage(format!(
            "{} is there already: remove it first, or name another file",
            args.file.display()
        )),
        _ => Error::io("create", &args.file, e),
    })?;
    file.write_all(text.as_bytes())
        .map_err(|e| Error::io("write", &args.file, e))?;
    eprintln!("wrote {}", args.file.display());
    Ok(DONE)
}

/// Whether a folder is that of a .NET project or solution.
fn is_dotnet(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let extension = Path::new(&name).extension().unwrap_or_default();
        name == "Directory.Build.props"
            || ["csproj", "fsproj", "vbproj", "sln", "slnx"]
                .map(OsStr::new)
                .contains(&extension)
    })
}
