//! Hooks that do not fit the methods that rules match, as messages.

use crate::aspect::rules::model::Source;
use crate::aspect::rules::{Diagnostic, Rules};
use crate::error::Error;
use crate::printable::printable;
use std::ops::Range;
use std::sync::Arc;

/// A hook that does not fit a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The rules file.
    pub source: Arc<Source>,
    /// What of it is wrong, in bytes.
    pub span: Range<usize>,
    /// What is wrong.
    pub title: String,
    /// What the method has to do with it; the method follows.
    pub what: String,
    pub method: String,
    /// What to do.
    pub help: Option<String>,
}

/// One error for all, with each place of the rules once, the first method that it concerns, and how many there are more.
pub fn error(misfits: &[Misfit], colour: bool) -> Option<Error> {
    let first = misfits.first()?;
    let source = &first.source;
    let mut groups: Vec<(&Misfit, usize)> = Vec::new();
    // Rules of several files: those of the first that is wrong.
    for misfit in misfits.iter().filter(|m| m.source == *source) {
        let same = |known: &Misfit| known.span == misfit.span && known.title == misfit.title;
        match groups.iter().position(|(known, _)| same(known)) {
            Some(group) => groups[group].1 += 1,
            None if groups.len() < MAX_GROUPS => groups.push((misfit, 1)),
            None => {}
        }
    }
    let diagnostics = groups.into_iter().map(|(misfit, count)| {
        let more = match count - 1 {
            0 => String::new(),
            1 => ", and 1 method more".to_owned(),
            n => format!(", and {n} methods more"),
        };
        let label = format!("{} {}{more}", misfit.what, printable(&misfit.method));
        let diagnostic = Diagnostic::new(misfit.span.clone(), printable(&misfit.title), label);
        match &misfit.help {
            Some(help) => diagnostic.help(printable(help)),
            None => diagnostic,
        }
    });
    Some(Rules::error(source, diagnostics.collect(), colour))
}

/// Most different errors that are kept.
const MAX_GROUPS: usize = 25;
