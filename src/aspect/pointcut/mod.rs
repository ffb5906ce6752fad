//! Compiled rules: from an artifact, over its types, to the advice of one method.
//!
//! Each step asks the rules that the step before has left: [`Matcher`] for a program,
//! [`ArtifactMatcher`] for one of its files, [`TypeMatcher`] for a type in it.

mod prefilter;
mod restored;

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::joinpoint::{Kinds, Method, Type};
use crate::aspect::pattern::name::Name;
use crate::aspect::pattern::{Hits, NameSet};
use crate::aspect::rules::Rules;
use crate::aspect::rules::model::{Aspect, KindFit, Selector};
use crate::dotnet_names::{self, Shown};
use crate::error::Place;
use crate::mapping::{self, Mapping};
use prefilter::Prefilter;
use restored::Restored;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What the rules say of one method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No rule means it.
    Unmatched,
    /// A rule means it, but it is left out for this reason.
    Skip(Reason),
    /// Weave it with this advice (all matching aspects together).
    Weave(Advice),
}

/// Known supertypes of types, by name, for `extends`: the input's own and those of `--reference`.
#[derive(Debug, Default)]
pub struct Hierarchy {
    /// Type name to the names it extends and implements directly.
    pub supertypes: FxHashMap<Box<str>, Box<[Box<str>]>>,
}

/// An aspect that has put a hook nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The aspect's name.
    pub aspect: String,
    /// Where it stands.
    pub place: Place,
    /// Why the methods that it matched were left out; none if it matched no method at all.
    pub reasons: Vec<Reason>,
}

/// All rules, compiled.
pub struct Matcher {
    aspects: Vec<Aspect>,
    /// What came of the aspects so far.
    outcomes: Outcomes,
    /// For artifacts in which every rule can match, which most are: made once.
    prefilter: Arc<Prefilter>,
    /// The original names, which rules are about, of an obfuscated program.
    mapping: Option<Mapping>,
}

/// For each aspect, what came of it so far: bits of [`WOVEN`] and of reasons.
pub struct Outcomes(Vec<AtomicU32>);

/// The bit for "some method is woven"; the bits below are [`REASONS`] by position.
const WOVEN: u32 = 1 << 31;

/// The reasons for which a pointcut leaves a method out.
const REASONS: [Reason; 5] = [
    Reason::NoBody,
    Reason::Kind,
    Reason::Trivial,
    Reason::Small,
    Reason::Excluded,
];

/// The hook library's own package, which is never woven: JVM and dex, .NET.
const RUNTIME: [&[u8]; 2] = [b"weave.runtime.", b"Weave.Runtime."];

/// One table of a rule, on the way from artifact to method.
#[derive(Clone, Copy)]
struct Clause<'a> {
    aspect: usize,
    exclude: bool,
    selector: &'a Selector,
    /// What the type's annotations are to it.
    on_type: Hits,
}

/// The rules that can match in one artifact.
pub struct ArtifactMatcher<'a> {
    matcher: &'a Matcher,
    outcomes: &'a Outcomes,
    hierarchy: &'a Hierarchy,
    /// By aspect; in each, `match` first.
    clauses: Vec<Clause<'a>>,
    prefilter: Arc<Prefilter>,
    /// Some rule names methods.
    names_methods: bool,
}

/// The rules that can match in one type.
pub struct TypeMatcher<'a> {
    matcher: &'a Matcher,
    outcomes: &'a Outcomes,
    prefilter: &'a Prefilter,
    clauses: Vec<Clause<'a>>,
    /// The type in the mapping.
    class: Option<mapping::Class<'a>>,
    /// The type's name, where debuggers show its methods otherwise.
    name: Option<String>,
}

impl Matcher {
    /// Compiles rules.
    pub fn new(rules: Rules) -> Matcher {
        let selectors = rules.aspects.iter().flat_map(|aspect| &aspect.matches);
        Matcher {
            prefilter: Arc::new(Prefilter::new(selectors)),
            outcomes: Outcomes::new(rules.aspects.len()),
            aspects: rules.aspects,
            mapping: None,
        }
    }

    /// The same for an obfuscated program: rules are about the names that it had before.
    #[must_use]
    pub fn with_mapping(self, mapping: Mapping) -> Matcher {
        Matcher {
            mapping: Some(mapping),
            ..self
        }
    }

    /// Whether some rule asks for supertypes, so that a [`Hierarchy`] is worth building.
    pub fn needs_hierarchy(&self) -> bool {
        self.aspects
            .iter()
            .flat_map(|aspect| aspect.matches.iter().chain(&aspect.excludes))
            .any(|selector| selector.extends.is_some())
    }

    /// The rules left for an artifact of this name (file name) and version, if known.
    pub fn for_artifact<'a>(
        &'a self,
        name: &str,
        version: Option<&str>,
        hierarchy: &'a Hierarchy,
    ) -> ArtifactMatcher<'a> {
        let mut clauses: Vec<Clause<'a>> = Vec::new();
        for (number, aspect) in self.aspects.iter().enumerate() {
            let mut add = |selectors: &'a [Selector], exclude| {
                clauses.extend(
                    selectors
                        .iter()
                        .filter(|s| fits_artifact(s, name, version))
                        .map(|selector| Clause {
                            aspect: number,
                            exclude,
                            selector,
                            on_type: Hits::default(),
                        }),
                );
            };
            add(&aspect.matches, false);
            add(&aspect.excludes, true);
        }
        drop_lone_excludes(&mut clauses);
        let selectors = clauses
            .iter()
            .filter(|clause| !clause.exclude)
            .map(|clause| clause.selector);
        let all: usize = self.aspects.iter().map(|aspect| aspect.matches.len()).sum();
        let prefilter = if selectors.clone().count() == all {
            Arc::clone(&self.prefilter)
        } else {
            Arc::new(Prefilter::new(selectors))
        };
        ArtifactMatcher {
            names_methods: clauses.iter().any(|c| c.selector.method.is_some()),
            matcher: self,
            outcomes: &self.outcomes,
            hierarchy,
            clauses,
            prefilter,
        }
    }

    /// The aspects that have put a hook nowhere so far, and why, in the order of the rules.
    pub fn idle(&self) -> Vec<Idle> {
        self.aspects
            .iter()
            .zip(&self.outcomes.0)
            .map(|(aspect, outcome)| (aspect, outcome.load(Ordering::Relaxed)))
            .filter(|(_, outcome)| outcome & WOVEN == 0)
            .map(|(aspect, outcome)| Idle {
                aspect: aspect.name.clone(),
                place: aspect.place.clone(),
                reasons: REASONS
                    .into_iter()
                    .enumerate()
                    .filter(|(bit, _)| outcome >> bit & 1 == 1)
                    .map(|(_, reason)| reason)
                    .collect(),
            })
            .collect()
    }

    /// Outcomes of one artifact, which [`ArtifactMatcher::noting_in`] fills.
    pub fn outcomes_apart(&self) -> Outcomes {
        Outcomes::new(self.aspects.len())
    }

    /// The results of each aspect so far, as opaque bits; starts anew.
    pub fn take_outcomes(&self) -> Vec<u32> {
        self.outcomes.take()
    }

    /// Adds what [`Outcomes::take`] gave for the same rules.
    pub fn add_outcomes(&self, outcomes: &[u32]) {
        for (aspect, bits) in self.outcomes.0.iter().zip(outcomes) {
            aspect.fetch_or(*bits, Ordering::Relaxed);
        }
    }
}

impl Outcomes {
    fn new(aspects: usize) -> Outcomes {
        Outcomes((0..aspects).map(|_| AtomicU32::new(0)).collect())
    }

    /// The results so far, as opaque bits; starts anew.
    pub fn take(&self) -> Vec<u32> {
        (self.0.iter())
            .map(|outcome| outcome.swap(0, Ordering::Relaxed))
            .collect()
    }

    /// Notes what came of an aspect. Threads share the word: it is written once for each outcome,
    /// not once for each method.
    fn note(&self, aspect: usize, bit: u32) {
        let outcome = &self.0[aspect];
        if outcome.load(Ordering::Relaxed) & bit == 0 {
            outcome.fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn has_woven(&self, aspect: usize) -> bool {
        self.0[aspect].load(Ordering::Relaxed) & WOVEN != 0
    }
}

/// An `exclude` matters only where a `match` of the same aspect, which stands before it, is left.
fn drop_lone_excludes(clauses: &mut Vec<Clause<'_>>) {
    let mut matched = None;
    clauses.retain(|clause| {
        if !clause.exclude {
            matched = Some(clause.aspect);
        }
        matched == Some(clause.aspect)
    });
}

fn fits_artifact(selector: &Selector, name: &str, version: Option<&str>) -> bool {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let fits_name = |names: &NameSet| {
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let mut hits = Hits::default();
        for spelling in [file, stem, without_version(stem)] {
            names.count_flat(&mut hits, spelling);
        }
        names.decide(hits)
    };
    selector.artifact.as_ref().is_none_or(fits_name)
        && selector
            .version
            .as_ref()
            .is_none_or(|range| version.is_some_and(|version| range.has(version)))
}

/// `guava-31.1-jre` without what Maven appends: from the first dash before a digit on.
fn without_version(stem: &str) -> &str {
    let dash = stem
        .as_bytes()
        .windows(2)
        .position(|pair| pair[0] == b'-' && pair[1].is_ascii_digit());
    &stem[..dash.unwrap_or(stem.len())]
}

impl<'a> ArtifactMatcher<'a> {
    /// The same, which notes what comes of the aspects in `outcomes`.
    #[must_use]
    pub fn noting_in(self, outcomes: &'a Outcomes) -> Self {
        ArtifactMatcher { outcomes, ..self }
    }

    /// Whether any rule is left.
    pub fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }

    /// Prefilter on a class's path in a jar (`BOOT-INF/classes/com/acme/A.class`):
    /// `false` means that no rule can match the class that such a path can hold.
    pub fn path_may_match(&self, path: &str) -> bool {
        !self.is_empty() && (self.is_obfuscated() || self.prefilter.path_may_match(path))
    }

    /// Prefilter on raw bytes: `false` means that a literal which every rule needs is absent.
    pub fn bytes_may_match(&self, bytes: &[u8]) -> bool {
        !self.is_empty() && (self.is_obfuscated() || self.prefilter.bytes_may_match(bytes))
    }

    /// Whether methods are found by their descriptors, too.
    pub fn asks_descriptors(&self) -> bool {
        self.is_obfuscated()
    }

    /// Whether methods are found by their names.
    pub fn asks_names(&self) -> bool {
        self.is_obfuscated() || self.names_methods
    }

    /// Whether what rules name is not what stands in the program.
    fn is_obfuscated(&self) -> bool {
        self.matcher.mapping.is_some()
    }

    /// The rules left for a type.
    pub fn for_type(&'a self, ty: &Type<'_>) -> Option<TypeMatcher<'a>> {
        let class = (self.matcher.mapping.as_ref()).and_then(|mapping| mapping.class(ty.name));
        let original = class.as_ref().map_or(ty.name, |class| class.name());
        let clauses = Name::with(original, |name| self.for_named_type(ty, name));
        (!clauses.is_empty()).then(|| TypeMatcher {
            matcher: self.matcher,
            outcomes: self.outcomes,
            prefilter: &self.prefilter,
            clauses,
            class,
            name: self.names_methods.then(|| original.to_owned()),
        })
    }

    /// Calls with a name, or with what it was before the program was obfuscated.
    fn with_original<R>(&self, name: &str, f: impl FnOnce(Name<'_>) -> R) -> R {
        match &self.matcher.mapping {
            Some(mapping) => Name::with(&mapping.type_name(name), f),
            None => Name::with(name, f),
        }
    }

    fn for_named_type(&self, ty: &Type<'_>, name: Name<'_>) -> Vec<Clause<'a>> {
        let shown = dotnet_names::shown_type(ty.name);
        let may_match = self.prefilter.type_may_match(name)
            || (shown.as_ref()).is_some_and(|shown| {
                Name::with(shown, |shown| self.prefilter.type_may_match(shown))
            });
        if !may_match || RUNTIME.iter().any(|own| name.whole.starts_with(own)) {
            return Vec::new();
        }
        let mut left: Vec<Clause<'a>> = Vec::new();
        let mut supertypes = None;
        for clause in &self.clauses {
            if clause.exclude && left.last().map(|last| last.aspect) != Some(clause.aspect) {
                continue;
            }
            let selector = clause.selector;
            let has_name = |names: &NameSet| match &shown {
                None => names.has(name),
                Some(shown) => {
                    let mut hits = Hits::default();
                    names.count(&mut hits, name);
                    Name::with(shown, |shown| names.count(&mut hits, shown));
                    names.decide(hits)
                }
            };
            let fits = selector.ty.as_ref().is_none_or(has_name)
                && selector
                    .type_access
                    .is_none_or(|accepted| accepted.has(ty.access))
                && selector.extends.as_ref().is_none_or(|names| {
                    let supertypes = supertypes.get_or_insert_with(|| self.supertypes(ty));
                    let mut hits = Hits::default();
                    for supertype in supertypes.iter() {
                        self.with_original(supertype, |name| names.count(&mut hits, name));
                    }
                    names.decide(hits)
                });
            if !fits {
                continue;
            }
            left.push(*clause);
        }
        if left
            .iter()
            .any(|clause| clause.selector.annotation.is_some())
        {
            ty.details.annotations(&mut |name| {
                self.with_original(name, |name| {
                    for clause in &mut left {
                        if let Some(names) = &clause.selector.annotation {
                            names.count(&mut clause.on_type, name);
                        }
                    }
                });
            });
        }
        left
    }

    /// All proper supertypes that are known.
    fn supertypes(&self, ty: &Type<'_>) -> FxHashSet<Box<str>> {
        let mut seen: FxHashSet<Box<str>> = FxHashSet::default();
        let mut open: Vec<Box<str>> = Vec::new();
        ty.details.supertypes(&mut |name| open.push(name.into()));
        while let Some(name) = open.pop() {
            if let Some(direct) = self.hierarchy.supertypes.get(&name)
                && !seen.contains(&name)
            {
                open.extend(direct.iter().filter(|next| !seen.contains(*next)).cloned());
            }
            seen.insert(name);
        }
        seen
    }
}

impl TypeMatcher<'_> {
    /// What the rules say of a method of the type.
    pub fn method(&self, method: &Method<'_>) -> Verdict {
        let Some(mapping) = &self.matcher.mapping else {
            return self.original(method);
        };
        let class = self.class.as_ref();
        let original = class.and_then(|class| class.method(method.name, method.descriptor));
        self.original(&Method {
            name: original.map_or(method.name, |original| original.name),
            details: &Restored {
                details: method.details,
                mapping,
            },
            ..*method
        })
    }

    /// What the rules say of a method that has the names that they are about.
    fn original(&self, method: &Method<'_>) -> Verdict {
        if !self.prefilter.method_may_match(method.name) {
            return Verdict::Unmatched;
        }
        let shown = self.name.as_deref();
        let shown = shown.and_then(|ty| dotnet_names::shown(ty, method.name));
        let mut advice = Advice::default();
        let mut skipped = None;
        for clauses in self.clauses.chunk_by(|a, b| a.aspect == b.aspect) {
            let number = clauses[0].aspect;
            let aspect = &self.matcher.aspects[number];
            if advice.has(aspect.advice) && self.outcomes.has_woven(number) {
                continue;
            }
            match decide(clauses, method, shown.as_ref()) {
                None => {}
                Some(Ok(())) => {
                    self.outcomes.note(number, WOVEN);
                    advice = advice.with(aspect.advice);
                }
                Some(Err(reason)) => {
                    let bit = REASONS.iter().position(|&r| r == reason);
                    self.outcomes.note(number, bit.map_or(0, |bit| 1 << bit));
                    skipped.get_or_insert(reason);
                }
            }
        }
        match skipped {
            _ if advice != Advice::default() => Verdict::Weave(advice),
            Some(reason) => Verdict::Skip(reason),
            None => Verdict::Unmatched,
        }
    }
}

/// What one aspect says of a method: nothing, to weave it, or why not.
fn decide(
    clauses: &[Clause<'_>],
    method: &Method<'_>,
    shown: Option<&Shown<'_>>,
) -> Option<Result<(), Reason>> {
    let excludes = clauses.partition_point(|clause| !clause.exclude);
    let mut skipped = None;
    for clause in &clauses[..excludes] {
        match select(clause, method, shown) {
            None => {}
            Some(Err(reason)) => {
                skipped.get_or_insert(reason);
            }
            Some(Ok(())) => {
                let excluded = clauses[excludes..]
                    .iter()
                    .any(|clause| is_excluded(clause, method, shown));
                return Some(if excluded {
                    Err(Reason::Excluded)
                } else {
                    Ok(())
                });
            }
        }
    }
    skipped.map(Err)
}

/// What one table of `match` says.
fn select(
    clause: &Clause<'_>,
    method: &Method<'_>,
    shown: Option<&Shown<'_>>,
) -> Option<Result<(), Reason>> {
    let selector = clause.selector;
    if !fits_name_and_access(selector, method, shown) {
        return None;
    }
    let kinds = selector.kind.unwrap_or_default();
    let fit = kinds.fit(method.kinds);
    if fit == KindFit::No || !fits_details(clause, method) {
        return None;
    }
    let names_accessor =
        kinds.include.intersects(Kinds::ACCESSOR) && method.kinds.intersects(Kinds::ACCESSOR);
    Some(match selector.min_size {
        _ if !method.has_body => Err(Reason::NoBody),
        _ if fit == KindFit::Unnamed => Err(Reason::Kind),
        Some(least) if method.size < least => Err(Reason::Small),
        None if method.trivial && !names_accessor => Err(Reason::Trivial),
        _ => Ok(()),
    })
}

/// Whether one table of `exclude` holds.
fn is_excluded(clause: &Clause<'_>, method: &Method<'_>, shown: Option<&Shown<'_>>) -> bool {
    let selector = clause.selector;
    fits_name_and_access(selector, method, shown)
        && selector.kind.is_none_or(|kinds| kinds.has(method.kinds))
        && selector.min_size.is_none_or(|least| method.size >= least)
        && fits_details(clause, method)
}

fn fits_name_and_access(
    selector: &Selector,
    method: &Method<'_>,
    shown: Option<&Shown<'_>>,
) -> bool {
    let has_name = |names: &NameSet| match shown {
        None => names.has_flat(method.name),
        Some(shown) => {
            let mut hits = Hits::default();
            for name in [method.name, &shown.method, shown.own_name()] {
                names.count_flat(&mut hits, name);
            }
            names.decide(hits)
        }
    };
    selector.method.as_ref().is_none_or(has_name)
        && selector
            .access
            .is_none_or(|accepted| accepted.has(method.access))
}

/// The selectors that need decoding.
fn fits_details(clause: &Clause<'_>, method: &Method<'_>) -> bool {
    let selector = clause.selector;
    if let Some(params) = &selector.params {
        let mut state = params.start();
        method
            .details
            .parameters(&mut |ty| params.next(&mut state, ty));
        if !params.is_match(state) {
            return false;
        }
    }
    if let Some(names) = &selector.returns {
        let mut hits = Hits::default();
        method
            .details
            .returns(&mut |ty| Name::with(ty, |ty| names.count(&mut hits, ty)));
        if !names.decide(hits) {
            return false;
        }
    }
    if let Some(names) = &selector.annotation {
        let mut hits = clause.on_type;
        method
            .details
            .annotations(&mut |name| Name::with(name, |name| names.count(&mut hits, name)));
        if !names.decide(hits) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests;
