//! `--idle-list`: which aspects a weave used. A build joins the lists of its weaves: those of rules that several projects share
//! over a solution, and those of a project's own rules over its code and its packages.

use crate::aspect::pointcut::Matcher;
use crate::cli::{rules, show};
use crate::error::Result;
use crate::pipeline::{Access, Outcome, Output};
use crate::printable::printable;
use std::fmt::Write as _;
use std::path::Path;

/// How Windows begins a path that it has resolved, which tools do not know as a file's.
const VERBATIM: &str = r"\\?\";

/// Writes a line for each aspect of a rules file, separated by tabs: a state, the file, the line, the column, and the
/// warning for one that is idle everywhere. The state is `used` or `idle` for a file outside the folder. In the folder it is
/// `own` for an aspect that was used, with the file as warnings name it.
pub fn write(path: &Path, folder: &Path, matcher: &Matcher, outcome: &Outcome) -> Result<()> {
    let mut text = String::new();
    for (name, place) in matcher.placed() {
        if rules::is_pack(&place.file) {
            continue;
        }
        let idle = (outcome.idle.iter()).find(|idle| idle.aspect == name && idle.place == *place);
        if rules::is_below(folder, &place.file) {
            if idle.is_none() {
                let (file, line, column) = (printable(&place.file), place.line, place.column);
                let _ = writeln!(text, "own\t{file}\t{line}\t{column}\t");
            }
            continue;
        }
        let file = rules::identity(Path::new(&place.file));
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
