//! Cheap answers to "can any rule match in here?", before anything is decoded. They may say yes
//! where the answer is no, never the other way round.

use crate::aspect::pattern::NameSet;
use crate::aspect::pattern::name::Name;
use crate::aspect::rules::model::Selector;
use regex_automata::meta;
use regex_syntax::hir::Hir;

/// Most texts that one pass looks for; with more of them hardly an artifact holds none.
const MAX_NEEDLES: usize = 256;

#[derive(Default)]
pub(super) struct Prefilter {
    /// Sets for a class's path; `None` where some rule can match in any path.
    paths: Option<Vec<NameSet>>,
    /// An artifact that a rule matches in has a match of each.
    needles: Vec<meta::Regex>,
}

impl Prefilter {
    pub(super) fn new<'a>(selectors: impl Iterator<Item = &'a Selector> + Clone) -> Prefilter {
        let names: [fn(&Selector) -> Option<&NameSet>; 3] = [
            |s| s.ty.as_ref(),
            |s| s.method.as_ref(),
            |s| s.annotation.as_ref(),
        ];
        Prefilter {
            paths: selectors
                .clone()
                .map(|s| s.ty.as_ref()?.in_path())
                .collect(),
            needles: names
                .iter()
                .filter_map(|names| any_of(selectors.clone().map(|s| names(s)?.needles())))
                .collect(),
        }
    }

    pub(super) fn path_may_match(&self, path: &str) -> bool {
        let Some(sets) = &self.paths else { return true };
        // A folder in front of the package may have any name; one that looks like type arguments,
        // or was not text, would be cut up otherwise than the class's own name is.
        let Some(class) = path
            .strip_suffix(".class")
            .filter(|class| !class.contains(['<', '`', '\u{fffd}']))
        else {
            return true;
        };
        Name::with(class, |class| sets.iter().any(|set| set.has(class)))
    }

    pub(super) fn bytes_may_match(&self, bytes: &[u8]) -> bool {
        self.needles.iter().all(|needles| needles.is_match(bytes))
    }
}

/// One search for all needles of all rules; none where a rule needs no text.
fn any_of<'a>(needles: impl Iterator<Item = Option<Vec<&'a [u8]>>>) -> Option<meta::Regex> {
    let mut all = needles.collect::<Option<Vec<_>>>()?.concat();
    all.sort_unstable();
    all.dedup();
    if all.is_empty() || all.len() > MAX_NEEDLES {
        return None;
    }
    let any = Hir::alternation(all.into_iter().map(Hir::literal).collect());
    meta::Builder::new().build_from_hir(&any).ok()
}
