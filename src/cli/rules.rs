//! Which rules a job has: files and packs that are named, a `weave.toml` that is there, or the default pack.

use crate::aspect::pointcut::Matcher;
use crate::aspect::rules::{PACK_PREFIX, Rules};
use crate::error::{Error, Result};
use crate::mapping::Mapping;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// The rules file that is found without being named.
pub const FILE_NAME: &str = "weave.toml";

/// Reads the rules, and says where they come from.
pub fn resolve(named: &[String], input: &Path) -> Result<(Rules, String)> {
    if !named.is_empty() {
        let mut all = Rules::default();
        for name in named {
            all.extend(match name.strip_prefix(PACK_PREFIX) {
                Some(pack) => Rules::pack(pack)?,
                None => read(Path::new(name))?,
            });
        }
        return Ok((all, named.join(", ")));
    }
    let beside = input.parent().unwrap_or(Path::new("")).join(FILE_NAME);
    for path in [beside, PathBuf::from(FILE_NAME)] {
        if path.is_file() {
            return Ok((read(&path)?, path.display().to_string()));
        }
    }
    Ok((Rules::default_pack(), format!("{PACK_PREFIX}default")))
}

/// Compiles rules; those for an obfuscated program are about the names in its mapping.
pub fn matcher(rules: Rules, mapping: Option<&Path>) -> Result<Matcher> {
    let matcher = Matcher::new(rules);
    Ok(match mapping {
        Some(path) => matcher.with_mapping(read_mapping(path)?),
        None => matcher,
    })
}

/// Reads a `mapping.txt`.
pub fn read_mapping(path: &Path) -> Result<Mapping> {
    let bytes = std::fs::read(path).map_err(|e| Error::io("read", path, e))?;
    Mapping::parse(bytes).map_err(|e| e.in_artifact(path.display().to_string()))
}

fn read(path: &Path) -> Result<Rules> {
    let bytes = std::fs::read(path).map_err(|e| {
        // A rules file that is not there is wrong use, not the system's fault.
        Error::usage(Error::io("read rules from", path, e).message())
    })?;
    let text = String::from_utf8(bytes)
        .map_err(|e| Error::usage(format!("{} is not UTF-8: {e}", path.display())))?;
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Rules::parse_coloured(&path.display().to_string(), &text, colour)
}
