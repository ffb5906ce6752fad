//! `--idle-list`: which aspects a weave used, of rules that several projects share. A build joins the lists of all.

use crate::aspect::pointcut::Matcher;
use crate::cli::{rules, show};
use crate::error::Result;
use crate::pipeline::{Access, Outcome, Output};
use crate::printable::printable;
use std::fmt::Write as _;
use std::path::Path;

/// How Windows begins a path that it has resolved, which tools do not know as a file's.
const VERBATIM: &str = r"\\?\";

/// Writes a line for each aspect of a rules file outside the folder, separated by tabs: `used` or `idle`, the file, the
/// line, the column, and what is to be said if it is idle everywhere.
pub fn write(path: &Path, folder: &Path, matcher: &Matcher, outcome: &Outcome) -> Result<()> {
    let mut text = String::new();
    for (name, place) in matcher.placed() {
        if rules::is_pack(&place.file) || rules::is_below(folder, &place.file) {
            continue;
        }
        let file = rules::identity(Path::new(&place.file));
        let idle = (outcome.idle.iter()).find(|idle| idle.aspect == name && idle.place == *place);
        let (state, said) = match idle {
            Some(idle) => ("idle", show::idle(idle)),
            None => ("used", String::new()),
        };
        let file = file.display().to_string();
        let file = printable(file.strip_prefix(VERBATIM).unwrap_or(&file));
        let (line, column, said) = (place.line, place.column, printable(&said));
        let _ = writeln!(text, "{state}\t{file}\t{line}\t{column}\t{said}");
    }
    Output::put(path, text.as_bytes(), Access::Usual)
}
