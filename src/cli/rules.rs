//! Which rules a job has: files and packs that are named, a `weave.toml` that is there, or the default pack.

use crate::aspect::pointcut::Matcher;
use crate::aspect::rules::{PACK_PREFIX, Rules};
use crate::error::{Error, Result};
use crate::mapping::Mapping;
use crate::printable::printable;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// The rules file that is found without being named.
pub const FILE_NAME: &str = "weave.toml";

/// The rules of a job.
#[derive(Default)]
pub struct Resolved {
    /// The rules themselves.
    pub rules: Rules,
    /// Where they come from, for people.
    pub source: String,
    /// The files that they were read from.
    pub files: Vec<PathBuf>,
    /// The libraries that they name.
    pub libraries: Vec<PathBuf>,
    /// What they were parsed from; packs by name, since they are the program's.
    pub texts: Vec<String>,
}

/// Deepest chain of files that include each other.
const MAX_DEPTH: usize = 16;

impl Resolved {
    fn add_pack(&mut self, name: &str) -> Result<()> {
        let rules = Rules::pack(name)?;
        self.rules.extend(rules);
        self.texts.push(format!("{PACK_PREFIX}{name}"));
        Ok(())
    }

    fn add_file(&mut self, path: &Path) -> Result<()> {
        self.add_files(path, &mut Vec::new())
    }

    /// Adds a file behind what it includes; `within` are the files that include it, outermost first.
    fn add_files(&mut self, path: &Path, within: &mut Vec<PathBuf>) -> Result<()> {
        let (mut rules, text) = read(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let name = path.display().to_string();
        within.push(identity(path));
        for include in std::mem::take(&mut rules.includes) {
            let wrong = |title: String, label: &str| {
                Rules::wrong_include((&name, &text), &include, title, label, colour())
            };
            if let Some(pack) = include.name.strip_prefix(PACK_PREFIX) {
                if !self.texts.contains(&include.name) {
                    self.add_pack(pack)
                        .map_err(|e| wrong(e.message().to_owned(), "included here"))?;
                }
                continue;
            }
            let file = folder.join(&include.name);
            let known = identity(&file);
            if !file.is_file() {
                let title = format!(
                    "there is no file {}",
                    printable(&file.display().to_string())
                );
                return Err(wrong(title, "paths begin at the folder of this file"));
            }
            if within.contains(&known) {
                let title = "the file includes itself".to_owned();
                return Err(wrong(title, "this one, or a file that includes this one"));
            }
            if within.len() == MAX_DEPTH {
                let title = format!("more than {MAX_DEPTH} files include each other");
                return Err(wrong(title, "the next one"));
            }
            // What several files include counts once.
            if !self.files.iter().any(|there| identity(there) == known) {
                self.add_files(&file, within)?;
            }
        }
        within.pop();
        for library in &mut rules.libraries {
            library.path = folder.join(&library.path);
            self.libraries.push(library.path.clone());
        }
        self.rules.extend(rules);
        self.texts.push(text);
        self.files.push(path.to_owned());
        Ok(())
    }
}

/// The same for all paths of one file.
pub fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Whether rules come from a pack, which is no file.
pub fn is_pack(source: &str) -> bool {
    source.starts_with(PACK_PREFIX)
}

/// Whether a rules file lies in a folder, or in one below. A pack lies in none.
pub fn is_below(folder: &Path, source: &str) -> bool {
    !is_pack(source) && identity(Path::new(source)).starts_with(identity(folder))
}

/// Reads the rules, and says where they come from.
pub fn resolve(named: &[String], input: &Path) -> Result<Resolved> {
    let mut all = Resolved::default();
    if !named.is_empty() {
        for name in named {
            match name.strip_prefix(PACK_PREFIX) {
                Some(pack) => all.add_pack(pack)?,
                None => all.add_file(Path::new(name))?,
            }
        }
        all.source = named.join(", ");
        return Ok(all);
    }
    let beside = input.parent().unwrap_or(Path::new("")).join(FILE_NAME);
    for path in [beside, PathBuf::from(FILE_NAME)] {
        if path.is_file() {
            all.add_file(&path)?;
            all.source = path.display().to_string();
            return Ok(all);
        }
    }
    all.add_pack("default")?;
    all.source = format!("{PACK_PREFIX}default");
    Ok(all)
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
    let bytes = read_bytes(path)?;
    Mapping::parse(bytes).map_err(|e| e.in_artifact(path.display().to_string()))
}

/// Reads a file.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| Error::io("read", path, e))
}

/// The references that were named, with those that a list `@FILE` names, one a line: command lines have bounds.
pub fn listed(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::with_capacity(named.len());
    for path in named {
        let Some(list) = list(path) else {
            all.push(path.clone());
            continue;
        };
        let text = String::from_utf8(read_bytes(Path::new(list))?)
            .map_err(|e| Error::usage(format!("{list} is not UTF-8: {e}")))?;
        let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
        all.extend(lines.filter(|line| !line.is_empty()).map(PathBuf::from));
    }
    Ok(all)
}

/// The lists among the references that were named.
pub fn lists(named: &[PathBuf]) -> impl Iterator<Item = &str> {
    named.iter().filter_map(|path| list(path))
}

fn list(path: &Path) -> Option<&str> {
    path.to_str()?.strip_prefix('@')
}

fn read(path: &Path) -> Result<(Rules, String)> {
    let bytes = std::fs::read(path).map_err(|e| {
        // A rules file that is not there is wrong use, not the system's fault.
        Error::usage(Error::io("read rules from", path, e).message())
    })?;
    let text = String::from_utf8(bytes)
        .map_err(|e| Error::usage(format!("{} is not UTF-8: {e}", path.display())))?;
    let rules = Rules::parse_coloured(&path.display().to_string(), &text, colour())?;
    Ok((rules, text))
}

fn colour() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
