//! Cheap answers to "can any rule match in here?", before anything is decoded. They may say yes
//! where the answer is no, never the other way round.

use crate::aspect::pattern::NameSet;
use crate::aspect::pattern::name::Name;
use crate::aspect::rules::model::Selector;
use crate::dotnet_names;
use regex_automata::meta;
use regex_syntax::hir::Hir;

/// Most texts that one pass looks for; with more of them hardly anything holds none.
const MAX_TEXTS: usize = 256;

#[derive(Default)]
pub(super) struct Prefilter {
    /// Sets for a class's path; `None` where some rule can match in any path.
    paths: Option<Vec<NameSet>>,
    /// What the name of a type that a rule matches holds.
    types: AnyOf,
    /// What the name of a method that a rule matches holds.
    methods: AnyOf,
    /// An artifact that a rule matches in holds a text of each.
    needles: [AnyOf; 3],
}

impl Prefilter {
    pub(super) fn new<'a>(selectors: impl Iterator<Item = &'a Selector> + Clone) -> Prefilter {
        let names: [fn(&Selector) -> Option<&NameSet>; 3] = [
            |s| s.ty.as_ref(),
            |s| s.method.as_ref(),
            |s| s.annotation.as_ref(),
        ];
        let literals = |names: fn(&Selector) -> Option<&NameSet>| {
            AnyOf::new(selectors.clone().map(|s| names(s)?.literals()))
        };
        Prefilter {
            paths: selectors
                .clone()
                .map(|s| s.ty.as_ref()?.in_path())
                .collect(),
            types: literals(names[0]),
            methods: AnyOf::new((selectors.clone()).map(|s| written(names[1](s)?.literals()))),
            needles: [
                AnyOf::new(selectors.clone().map(|s| names[0](s)?.needles())),
                AnyOf::new((selectors.clone()).map(|s| written(names[1](s)?.needles()))),
                AnyOf::new(selectors.clone().map(|s| names[2](s)?.needles())),
            ],
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
        Name::with(class, |class| {
            self.type_may_match(class) && sets.iter().any(|set| set.has(class))
        })
    }

    pub(super) fn bytes_may_match(&self, bytes: &[u8]) -> bool {
        self.needles.iter().all(|texts| texts.is_in(bytes))
    }

    pub(super) fn type_may_match(&self, name: Name<'_>) -> bool {
        self.types.is_in(name.whole)
    }

    #[inline]
    pub(super) fn method_may_match(&self, name: &str) -> bool {
        self.methods.is_in(name.as_bytes())
    }
}

/// The texts of methods' names, if a program that has such a method holds one of them: of a name that debuggers show it
/// holds parts at most.
fn written(texts: Option<Vec<&[u8]>>) -> Option<Vec<&[u8]>> {
    let is_shown = |text: &&[u8]| {
        let is_constructor = matches!(*text, b".ctor" | b".cctor");
        text.contains(&b'.') && !is_constructor
            || memchr::memmem::find(dotnet_names::ANONYMOUS.as_bytes(), text).is_some()
    };
    texts.filter(|texts| !texts.iter().any(is_shown))
}

/// One search for the texts of all rules; where a rule needs no text, any place will do.
#[derive(Default)]
struct AnyOf(Option<meta::Regex>);

impl AnyOf {
    fn new<'a>(texts: impl Iterator<Item = Option<Vec<&'a [u8]>>>) -> AnyOf {
        let Some(texts) = texts.collect::<Option<Vec<_>>>() else {
            return AnyOf(None);
        };
        let mut texts = texts.concat();
        texts.sort_unstable();
        texts.dedup();
        if texts.is_empty() || texts.len() > MAX_TEXTS {
            return AnyOf(None);
        }
        let any = Hir::alternation(texts.into_iter().map(Hir::literal).collect());
        AnyOf(meta::Builder::new().build_from_hir(&any).ok())
    }

    #[inline]
    fn is_in(&self, bytes: &[u8]) -> bool {
        self.0.as_ref().is_none_or(|any| any.is_match(bytes))
    }
}
