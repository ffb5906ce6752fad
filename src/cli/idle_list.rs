//! `--idle-list`: which aspects a weave used, of rules that several projects share. A build joins the lists of all.

use crate::aspect::pointcut::Matcher;
use crate::cli::{rules, show};
use crate::error::Result;
use crate::pipeline::{Access, Outcome, Output};
use crate::printable::printable;
use std::fmt::Write as _;
use std::path::Path;

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
        let (file, said) = (file.display().to_string(), printable(&said));
        let _ = writeln!(
            text,
            "{state}\t{}\t{}\t{}\t{said}",
            printable(&file),
            place.line,
            place.column
        );
    }
    Output::put(path, text.as_bytes(), Access::Usual)
}
