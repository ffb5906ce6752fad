//! Compiled rules: from an artifact, over its types, to the advice of one method.
//!
//! Each step asks the rules that the step before has left: [`Matcher`] for a program,
//! [`ArtifactMatcher`] for one of its files, [`TypeMatcher`] for a type in it.

mod prefilter;
mod restored;

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::callees::CallRules;
use crate::aspect::joinpoint::{CallSite, Kinds, Method, Type};
use crate::aspect::pattern::name::Name;
use crate::aspect::pattern::{Hits, NameSet};
use crate::aspect::platform;
use crate::aspect::point::{PointKind, PointKinds, PointSite};
use crate::aspect::rules::Rules;
use crate::aspect::rules::hook::{Changes, HookOperand, MemberKind, Word};
use crate::aspect::rules::model::{
    Aspect, At, Called, KindFit, Library, Meets, OwnHook, OwnHooks, SaidType, Selector, Texts,
};
use crate::aspect::rules::nearest_name;
use crate::aspect::structs::Structs;
use crate::dotnet_names::{self, Shown};
use crate::error::Place;
use crate::mapping::{self, Mapping};
use crate::spans::SpanRule;
use crate::switches::Switch;
use prefilter::Prefilter;
use restored::Restored;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
    /// The types of which only rules say what is above them: there may be more.
    said: FxHashSet<Box<str>>,
    /// The structs of .NET.
    pub structs: Arc<Structs>,
    /// The classes that the program may define hidden from their own bytes (JVM), among other names.
    pub defined_hidden: BTreeSet<Box<str>>,
    /// For each `extends` that was asked about (matcher and place of the selector), how a type and those above it stand to it.
    hits: Mutex<FxHashMap<(u64, usize), Arc<TypeHits>>>,
    /// What was likely meant by wrong names: each method that a rule takes asks for the same.
    meant: Mutex<FxHashMap<Box<str>, Option<String>>>,
}

/// How types, each with all those above it, stand to a set of names. Types without a hit are not in it.
type TypeHits = FxHashMap<Box<str>, Hits>;

impl Hierarchy {
    /// Of these types and their supertypes.
    pub fn of(supertypes: FxHashMap<Box<str>, Box<[Box<str>]>>) -> Hierarchy {
        Hierarchy {
            supertypes,
            ..Hierarchy::default()
        }
    }

    /// What is directly above a type, the superclass or base type first: as the program has it, else as the platform does.
    pub fn above(&self, name: &str) -> Option<&[Box<str>]> {
        match self.supertypes.get(name) {
            Some(known) => Some(known),
            None => platform::find(name).map(|ty| &*ty.above),
        }
    }

    /// The type of the program that was most likely meant by a name with dots: one of that simple name, else of a name like it.
    pub fn nearest(&self, wrong: &str) -> Option<String> {
        let mut meant = self.meant.lock().unwrap_or_else(PoisonError::into_inner);
        let found = meant.entry(wrong.into());
        found.or_insert_with(|| self.find_nearest(wrong)).clone()
    }

    fn find_nearest(&self, wrong: &str) -> Option<String> {
        let dotted = |name: &str| name.replace(['/', '$', '+'], ".");
        let simple = |name: &str| name.rsplit('.').next().map(str::to_owned);
        let mut all: Vec<String> = self.supertypes.keys().map(|name| dotted(name)).collect();
        all.sort_unstable();
        let mut same = all.iter().filter(|name| simple(name) == simple(wrong));
        if let (Some(one), None) = (same.next(), same.next()) {
            return Some(one.clone());
        }
        let all: Vec<&str> = all.iter().map(|name| &**name).collect();
        nearest_name(wrong, &all).map(str::to_owned)
    }

    /// Adds what rules say of a type: what it is below, beside what is known of it.
    pub fn say(&mut self, said: &SaidType) {
        let spellings: [fn(&str) -> Box<str>; 2] =
            [|name| name.replace('.', "/").into(), |name| name.into()];
        for spell in spellings {
            let name = spell(&said.name);
            let known = self.above(&name).map(<[Box<str>]>::to_vec);
            if known.is_none() {
                self.said.insert(name.clone());
            }
            let mut above = known.unwrap_or_default();
            above.extend(said.extends.iter().map(|name| spell(name)));
            self.supertypes.insert(name, above.into());
        }
    }

    /// Whether rules alone say what is above a type.
    pub fn is_said(&self, name: &str) -> bool {
        self.said.contains(name)
    }

    /// A type and those above it, as far as they are known.
    pub fn all_above<'t>(&'t self, ty: &'t str) -> Vec<&'t str> {
        let mut all = vec![ty];
        let mut seen = FxHashSet::default();
        let mut at = 0;
        while at < all.len() {
            for above in self.above(all[at]).into_iter().flatten() {
                if seen.insert(&**above) {
                    all.push(above);
                }
            }
            at += 1;
        }
        all
    }

    /// The types of the platform above those of the program.
    fn of_platform(&self) -> FxHashMap<&str, &[Box<str>]> {
        let mut all: FxHashMap<&str, &[Box<str>]> = FxHashMap::default();
        let mut open: Vec<&str> = (self.supertypes.values())
            .flat_map(|above| above.iter().map(|name| &**name))
            .collect();
        while let Some(name) = open.pop() {
            if self.supertypes.contains_key(name) || all.contains_key(name) {
                continue;
            }
            if let Some(known) = platform::find(name) {
                all.insert(name, &known.above);
                open.extend(known.above.iter().map(|name| &**name));
            }
        }
        all
    }

    /// Counts every type once and hands its hits down to its subtypes: linear, however deep they are, and safe from cycles.
    fn hits(&self, count: impl Fn(&str, &mut Hits)) -> TypeHits {
        let mut below: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
        let mut all: FxHashMap<&str, Hits> = FxHashMap::default();
        let own = (self.supertypes.iter()).map(|(name, above)| (&**name, &**above));
        for (name, supertypes) in own.chain(self.of_platform()) {
            all.entry(name).or_default();
            for above in supertypes {
                all.entry(above).or_default();
                below.entry(above).or_default().push(name);
            }
        }
        let mut open: Vec<&str> = Vec::new();
        for (name, hits) in &mut all {
            count(name, hits);
            if *hits != Hits::default() {
                open.push(name);
            }
        }
        while let Some(name) = open.pop() {
            let hits = all[name];
            for &sub in below.get(name).into_iter().flatten() {
                if all.get_mut(sub).is_some_and(|of_sub| of_sub.join(hits)) {
                    open.push(sub);
                }
            }
        }
        all.retain(|_, hits| *hits != Hits::default());
        all.into_iter()
            .map(|(name, hits)| (name.into(), hits))
            .collect()
    }
}

/// An aspect that has put a hook nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The aspect's name.
    pub aspect: String,
    /// Where it stands.
    pub place: Place,
    /// It is about calls.
    pub calls: bool,
    /// It is about points of another kind.
    pub points: bool,
    /// Why the methods that it matched were left out; none if it matched no method at all.
    pub reasons: Vec<Reason>,
}

/// All rules, compiled.
pub struct Matcher {
    aspects: Vec<Aspect>,
    libraries: Vec<Library>,
    types: Vec<SaidType>,
    /// Which matcher of this process it is.
    number: u64,
    /// What is left out of all texts of the trace.
    texts: Vec<Texts>,
    /// For artifacts in which every rule can match, which most are: made once.
    prefilter: Arc<Prefilter>,
    /// The original names, which rules are about, of an obfuscated program.
    mapping: Option<Mapping>,
}

/// What each aspect matched in what was planned, by the aspect's number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matched(Vec<Came>);

/// What an aspect matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Came {
    /// Bits of [`WOVEN`], [`AROUND`] and of reasons.
    bits: u32,
    /// Which of [`OwnHooks::optional_names`] some method has: a bit each.
    names: u64,
}

/// The bit for "some method is woven"; the lowest bits are [`REASONS`] by position.
const WOVEN: u32 = 1 << 31;

/// The bit for "some method has the hook instead of its body".
const AROUND: u32 = 1 << 30;

/// The reasons for which a pointcut leaves a method out.
const REASONS: [Reason; 22] = [
    Reason::NoBody,
    Reason::Kind,
    Reason::Trivial,
    Reason::Small,
    Reason::Excluded,
    Reason::CallOfSuper,
    Reason::CallOfExact,
    Reason::CallOfGeneric,
    Reason::TakesInIterator,
    Reason::CallOfHidden,
    Reason::CallOfUnknown,
    Reason::CallerSensitive,
    Reason::Unsupported,
    Reason::Uninitialised,
    Reason::SetOfFinal,
    Reason::MadeApart,
    Reason::PointOfStruct,
    Reason::AddressOfField,
    Reason::HeldLock,
    Reason::PointOfGeneric,
    Reason::NoLines,
    Reason::HookType,
];

/// The packages of the hook library and of adapters, which are never woven: JVM and dex, .NET.
const RUNTIME: [&[u8]; 3] = [b"weave.runtime.", b"weave.hooks.", b"Weave.Runtime."];

/// What the simple name of a class begins with that weaving makes beside the class that calls it (JVM).
pub const GENERATED: &str = "weave$hooks$";

/// Whether weaving made a class, by its internal name.
pub fn is_generated(name: &str) -> bool {
    let simple = name.rfind('/').map_or(0, |slash| slash + 1);
    name[simple..].starts_with(GENERATED)
}

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
    hierarchy: &'a Hierarchy,
    /// By aspect; in each, `match` first.
    clauses: Vec<Clause<'a>>,
    prefilter: Arc<Prefilter>,
    /// The calls that aspects of calls mean.
    calls: Vec<&'a At>,
    /// Some rule names methods.
    names_methods: bool,
    /// The artifact's file name.
    artifact: String,
}

/// The rules that can match in one type.
pub struct TypeMatcher<'a> {
    matcher: &'a Matcher,
    prefilter: &'a Prefilter,
    clauses: Vec<Clause<'a>>,
    /// The type in the mapping.
    class: Option<mapping::Class<'a>>,
    /// The type's name, where debuggers show its methods otherwise.
    name: Option<String>,
}

/// Matchers made so far.
static MATCHERS: AtomicU64 = AtomicU64::new(0);

impl Matcher {
    /// Compiles rules.
    pub fn new(rules: Rules) -> Matcher {
        let selectors = rules.aspects.iter().flat_map(|aspect| &aspect.matches);
        Matcher {
            prefilter: Arc::new(Prefilter::new(selectors)),
            aspects: rules.aspects,
            libraries: rules.libraries,
            types: rules.types,
            texts: rules.texts,
            number: MATCHERS.fetch_add(1, Ordering::Relaxed),
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
            || self.binds_hooks()
    }

    /// Whether methods get hooks that must be looked for: those of one's own, or those that can be switched.
    pub fn binds_hooks(&self) -> bool {
        self.has_own_hooks() || self.has_switches() || !self.texts.is_empty()
    }

    /// What is left out of all texts of the trace.
    pub fn texts(&self) -> &[Texts] {
        &self.texts
    }

    /// Whether some aspect has hooks of its own.
    pub fn has_own_hooks(&self) -> bool {
        self.aspects.iter().any(|aspect| aspect.own.is_some())
    }

    /// An aspect that has hooks of its own.
    pub fn own_hooks(&self, aspect: u32) -> Option<Meets<'_>> {
        let Aspect { name, own, .. } = &self.aspects[aspect as usize];
        let hooks = own.as_deref()?;
        Some(Meets {
            aspect,
            name,
            hooks,
        })
    }

    /// The types whose methods rules call as hooks, as they are written.
    pub fn hook_types(&self) -> impl Iterator<Item = &str> {
        let own = self
            .aspects
            .iter()
            .filter_map(|aspect| aspect.own.as_deref());
        own.flat_map(|own| own.calls().map(|call| &*call.ty))
    }

    /// The types that rules ask for values and call no hooks of, as they are written, and the methods that they call.
    pub fn value_types(&self) -> Vec<(&str, Vec<&str>)> {
        let own = (self.aspects.iter()).filter_map(|aspect| aspect.own.as_deref());
        let (mut all, mut hooks): (Vec<(&str, Vec<&str>)>, Vec<&str>) = Default::default();
        for own in own {
            for Called { call, is_value } in own.calls_and_values() {
                match (is_value, all.iter_mut().find(|(ty, _)| *ty == call.ty)) {
                    (false, _) => hooks.push(&call.ty),
                    (true, Some((_, methods))) => methods.push(&call.method),
                    (true, None) => all.push((&call.ty, vec![&call.method])),
                }
            }
        }
        all.retain(|(ty, _)| !hooks.contains(ty));
        all
    }

    /// Whether some aspect has hooks of its own at methods, which leave out those that are trivial.
    pub fn has_observers(&self) -> bool {
        let mut own = (self.aspects.iter()).filter_map(|aspect| aspect.own.as_deref());
        own.any(|own| own.at.is_none() && own.has_hooks() && !own.decides())
    }

    /// The names of all links of chains; a property's is that of its getter, and its own, which may be a field's.
    pub fn members(&self) -> impl Iterator<Item = String> {
        let own = (self.aspects.iter()).filter_map(|aspect| aspect.own.as_deref());
        let operands = own.flat_map(|own| own.operands());
        operands.flat_map(|operand| {
            let mut names = Vec::new();
            for member in &operand.members {
                if member.kind != MemberKind::Cast {
                    names.push(member.method());
                }
                if member.kind == MemberKind::Property {
                    names.push(member.name.clone());
                }
            }
            if let Word::TextOf(_) = operand.word {
                names.extend(["toString", "ToString"].map(str::to_owned));
            }
            names
        })
    }

    /// Whether rules ask for the first of several values.
    pub fn asks_for_first(&self) -> bool {
        let own = (self.aspects.iter()).filter_map(|aspect| aspect.own.as_deref());
        let mut operands = own.flat_map(|own| own.operands());
        operands.any(|operand| matches!(operand.word, Word::First(_)))
    }

    /// What rules say of types.
    pub fn said_types(&self) -> &[SaidType] {
        &self.types
    }

    /// Whether some aspect has hooks at calls or other points.
    pub fn has_points(&self) -> bool {
        self.kinds_of_points() != PointKinds::default()
    }

    /// At what kinds of points aspects have hooks.
    pub fn kinds_of_points(&self) -> PointKinds {
        let mut kinds = PointKinds::default();
        let own = (self.aspects.iter()).filter_map(|aspect| aspect.own.as_deref());
        let at = own.filter_map(|own| own.at.as_deref());
        at.for_each(|at| kinds.add(at.kind));
        kinds
    }

    /// Whether some aspect has `around`.
    pub fn has_around(&self) -> bool {
        let mut own = (self.aspects.iter()).filter_map(|aspect| aspect.own.as_deref());
        own.any(|own| own.around.is_some())
    }

    /// Whether some aspect records values, or something is left out of texts.
    pub fn calls_values(&self) -> bool {
        let mut own = (self.aspects.iter()).filter_map(|aspect| aspect.own.as_deref());
        !self.texts.is_empty() || own.any(|own| own.has_values() || own.holds())
    }

    /// Whether calls of some aspect are spans.
    pub fn has_spans(&self) -> bool {
        self.aspects.iter().any(|aspect| {
            let at = aspect.own.as_ref().and_then(|own| own.at.as_ref());
            aspect.span.is_some() || at.is_some_and(|at| at.traced.is_some())
        })
    }

    /// Whether some aspect sends contexts with requests.
    pub fn sends(&self) -> bool {
        let mut own = (self.aspects.iter()).filter_map(|aspect| aspect.own.as_deref());
        own.any(OwnHooks::sends)
    }

    /// Whether some aspect hands contexts over, or goes on in one that an object keeps.
    pub fn hands_over(&self) -> bool {
        let mut own = (self.aspects.iter()).filter_map(|aspect| aspect.own.as_deref());
        own.any(|own| own.handed().is_some() || own.kept().is_some())
    }

    /// Whether some aspect lets contexts go with objects, or has links.
    pub fn has_queues(&self) -> bool {
        let mut own = (self.aspects.iter()).filter_map(|aspect| aspect.own.as_deref());
        own.any(|own| own.given().is_some() || own.taken().is_some() || own.links())
    }

    /// Whether some aspect records values.
    pub fn records_values(&self) -> bool {
        let mut own = self
            .aspects
            .iter()
            .filter_map(|aspect| aspect.own.as_deref());
        own.any(OwnHooks::has_values)
    }

    /// Whether some hook, or what is recorded, takes or gives values of the program's types.
    pub fn takes_values(&self) -> bool {
        let is_value = |operand: &HookOperand| {
            use Word::{Arg, Args, EachArg, Named, Proceed, Result, Target, This};
            matches!(
                operand.word,
                Arg(_) | Args | EachArg | Named(_) | Proceed | Result | Target | This
            )
        };
        let mut own = (self.aspects.iter()).filter_map(|aspect| aspect.own.as_deref());
        own.any(|own| {
            let mut hooks = (own.enter.iter().chain(&own.exit).chain(&own.exception))
                .chain(own.around.iter().chain(&own.replace));
            !own.record.is_empty()
                || hooks.any(|OwnHook { call, .. }| {
                    let mut operands = call.operands.iter().flat_map(HookOperand::parts);
                    call.changes != Changes::Nothing || operands.any(is_value)
                })
        })
    }

    /// Where hooks are.
    pub fn libraries(&self) -> &[Library] {
        &self.libraries
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
        let aspects = clauses.chunk_by(|a, b| a.aspect == b.aspect);
        let at = aspects.filter_map(|clauses| {
            let own = self.aspects[clauses[0].aspect].own.as_deref();
            own.and_then(|own| own.at.as_deref())
        });
        let calls = at.filter(|at| at.kind == PointKind::Call).collect();
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
            artifact: name.rsplit(['/', '\\']).next().unwrap_or(name).to_owned(),
            names_methods: clauses.iter().any(|c| c.selector.method.is_some()),
            matcher: self,
            hierarchy,
            calls,
            clauses,
            prefilter,
        }
    }

    /// Whether an aspect of calls means calls of a method, but for its parameters.
    fn means_callee(
        &self,
        at: &At,
        ty: &str,
        method: &str,
        descriptor: &str,
        hierarchy: &Hierarchy,
    ) -> bool {
        let class = (self.mapping.as_ref()).and_then(|mapping| mapping.class(ty));
        let original = class
            .as_ref()
            .and_then(|class| class.method(method, descriptor));
        let method = original.map_or(method, |original| original.name);
        if !at.name.as_ref().is_none_or(|names| names.has_flat(method)) {
            return false;
        }
        let shown = class.as_ref().map_or(ty, |class| class.name());
        (at.ty.as_ref()).is_none_or(|names| Name::with(shown, |name| names.has(name)))
            && (at.extends.as_ref()).is_none_or(|names| self.is_below(ty, names, hierarchy))
    }

    /// Whether a type, with those above it, is in a set.
    fn is_below(&self, ty: &str, names: &NameSet, hierarchy: &Hierarchy) -> bool {
        let mut hits = Hits::default();
        for name in hierarchy.all_above(ty) {
            match &self.mapping {
                Some(mapping) => {
                    let original = mapping.type_name(name);
                    Name::with(&original, |name| names.count(&mut hits, name));
                }
                None => Name::with(name, |name| names.count(&mut hits, name)),
            }
        }
        names.decide(hits)
    }

    /// The names of the aspects, in the order of the rules.
    pub fn aspects(&self) -> Vec<String> {
        let names = self.aspects.iter().map(|aspect| aspect.name.clone());
        names.collect()
    }

    /// The aspects' names, and where they stand, in the order of the rules.
    pub fn placed(&self) -> impl Iterator<Item = (&str, &Place)> {
        (self.aspects.iter()).map(|aspect| (aspect.name.as_str(), &aspect.place))
    }

    /// Whether some aspect can be switched.
    pub fn has_switches(&self) -> bool {
        self.aspects.iter().any(Aspect::is_switchable)
    }

    /// The aspects as switches, by their numbers; empty where none is one.
    pub fn switches(&self) -> Vec<Option<Arc<Switch>>> {
        if !self.has_switches() {
            return Vec::new();
        }
        let switches = self.aspects.iter().map(|aspect| {
            aspect.is_switchable().then(|| {
                Arc::new(Switch {
                    name: aspect.name.as_str().into(),
                    level: aspect.level.unwrap_or_default(),
                    auto: aspect.auto,
                    overhead: aspect.overhead,
                    sample: aspect.sample,
                })
            })
        });
        switches.collect()
    }

    /// The aspects that ask for activities.
    pub fn listening(&self) -> impl Iterator<Item = &Aspect> {
        self.aspects.iter().filter(|aspect| aspect.listens())
    }

    /// Whether an aspect leaves short methods to their callers.
    pub fn leaves_short(&self, aspect: u32) -> bool {
        (self.aspects.get(aspect as usize)).is_some_and(Aspect::leaves_short)
    }

    /// Whether some aspect does.
    pub fn leaves_any_short(&self) -> bool {
        self.aspects.iter().any(Aspect::leaves_short)
    }

    /// Whether such an aspect takes methods of this name and of these kinds of a type, as far as names tell.
    pub fn takes(&self, ty: &str, method: &str, kinds: Kinds) -> bool {
        let class = (self.mapping.as_ref()).and_then(|mapping| mapping.class(ty));
        let ty = class.as_ref().map_or(ty, |class| class.name());
        let mut leave_short = self.aspects.iter().filter(|aspect| aspect.leaves_short());
        Name::with(ty, |ty| {
            leave_short.any(|aspect| aspect.takes(ty, method, kinds))
        })
    }

    /// What an aspect says of the calls that are spans.
    pub fn span(&self, aspect: u32) -> Option<&Arc<SpanRule>> {
        self.aspects.get(aspect as usize)?.span.as_ref()
    }

    /// The aspects that have put a hook nowhere, and why, in the order of the rules.
    pub fn idle(&self, matched: &Matched) -> Vec<Idle> {
        (self.aspects.iter().enumerate())
            .filter(|&(number, aspect)| {
                !matched.has_woven(number) && !self.has_woven_for_others(aspect, matched)
            })
            .map(|(number, aspect)| {
                let bits = matched.0.get(number).map_or(0, |came| came.bits);
                let noted = |&(bit, _): &(usize, Reason)| bits >> bit & 1 == 1;
                Idle {
                    aspect: aspect.name.clone(),
                    calls: aspect.is_about_calls(),
                    points: aspect.advice == Advice::CALLS && !aspect.is_about_calls(),
                    place: aspect.place.clone(),
                    reasons: (REASONS.into_iter().enumerate())
                        .filter(noted)
                        .map(|(_, reason)| reason)
                        .collect(),
                }
            })
            .collect()
    }

    /// Whether the rule that an aspect is for some versions has put a hook somewhere for other versions.
    fn has_woven_for_others(&self, aspect: &Aspect, matched: &Matched) -> bool {
        aspect.is_of_versions()
            && self.aspects.iter().enumerate().any(|(number, other)| {
                other.name == aspect.name
                    && other.place.file == aspect.place.file
                    && matched.has_woven(number)
            })
    }

    /// What aspects that have put hooks somewhere say in vain: `?` lets it pass.
    pub fn vain(&self, matched: &Matched) -> Vec<String> {
        /// So many names have a bit.
        const NAMES: usize = u64::BITS as usize;
        let mut all = Vec::new();
        for (aspect, came) in self.aspects.iter().zip(&matched.0) {
            let Some(own) = aspect.own.as_deref().filter(|_| came.bits & WOVEN != 0) else {
                continue;
            };
            if own.around.is_some() && came.bits & AROUND == 0 {
                all.push(format!(
                    "aspect `{}`: `proceed?` skips every method that it matches, so its `around` has no effect",
                    aspect.name
                ));
            }
            for (n, name) in own.optional_names().into_iter().enumerate().take(NAMES) {
                if came.names >> n & 1 == 0 {
                    all.push(format!(
                        "aspect `{}`: no method that it takes has a parameter `{name}`, so `{name}?` is always null",
                        aspect.name
                    ));
                }
            }
        }
        all
    }
}

impl Matched {
    /// No aspect matched anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what the same aspects matched elsewhere.
    pub fn add(&mut self, other: &Matched) {
        for (aspect, came) in other.0.iter().enumerate() {
            let own = self.of(aspect);
            own.bits |= came.bits;
            own.names |= came.names;
        }
    }

    /// Notes that an aspect has put a hook somewhere.
    pub fn note_woven(&mut self, aspect: u32) {
        self.note(aspect as usize, WOVEN);
    }

    /// Notes that an aspect's hook has replaced a body.
    pub fn note_around(&mut self, aspect: u32) {
        self.note(aspect as usize, AROUND);
    }

    /// Notes that a method has a parameter of that one of [`OwnHooks::optional_names`].
    pub fn note_name(&mut self, aspect: u32, name: usize) {
        self.of(aspect as usize).names |= 1_u64.checked_shl(name as u32).unwrap_or_default();
    }

    /// Notes that an aspect has left something out.
    pub fn note_left(&mut self, aspect: u32, reason: Reason) {
        let bit = REASONS.iter().position(|&r| r == reason);
        self.note(aspect as usize, bit.map_or(0, |bit| 1 << bit));
    }

    fn note(&mut self, aspect: usize, bits: u32) {
        self.of(aspect).bits |= bits;
    }

    fn of(&mut self, aspect: usize) -> &mut Came {
        if self.0.len() <= aspect {
            self.0.resize(aspect + 1, Came::default());
        }
        &mut self.0[aspect]
    }

    fn has_woven(&self, aspect: usize) -> bool {
        self.0
            .get(aspect)
            .is_some_and(|came| came.bits & WOVEN != 0)
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
    /// The artifact's file name.
    pub fn artifact(&self) -> &str {
        &self.artifact
    }

    /// All rules.
    pub fn matcher(&self) -> &'a Matcher {
        self.matcher
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
        if !may_match
            || RUNTIME.iter().any(|own| name.whole.starts_with(own))
            || is_generated(ty.name)
        {
            return Vec::new();
        }
        let mut left: Vec<Clause<'a>> = Vec::new();
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
                    let known = self.known_hits(selector, names);
                    let mut hits = Hits::default();
                    ty.details.supertypes(&mut |supertype| {
                        self.with_original(supertype, |name| names.count(&mut hits, name));
                        hits.join(known.get(supertype).copied().unwrap_or_default());
                    });
                    names.decide(hits)
                })
                && selector.platform.as_ref().is_none_or(|range| {
                    let platform = ty.details.platform();
                    platform.is_some_and(|platform| range.has(&platform))
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

    /// How the known types stand to the `extends` of a selector; found once for all artifacts.
    fn known_hits(&self, selector: &Selector, names: &NameSet) -> Arc<TypeHits> {
        let key = (self.matcher.number, std::ptr::from_ref(selector).addr());
        let all = &self.hierarchy.hits;
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        let hits = all.entry(key).or_insert_with(|| {
            let count = |supertype: &str, hits: &mut Hits| {
                self.with_original(supertype, |name| names.count(hits, name));
            };
            Arc::new(self.hierarchy.hits(count))
        });
        Arc::clone(hits)
    }
}

impl CallRules for ArtifactMatcher<'_> {
    fn may_be_named(&self, name: &str) -> bool {
        let has_name = |at: &&At| at.name.as_ref().is_none_or(|names| names.has_flat(name));
        self.is_obfuscated() || self.calls.iter().any(has_name)
    }

    fn may_mean(&self, ty: &str, name: &str, descriptor: &str) -> bool {
        let matcher = self.matcher;
        let means = |at: &&At| matcher.means_callee(at, ty, name, descriptor, self.hierarchy);
        self.calls.iter().any(means)
    }
}

impl TypeMatcher<'_> {
    /// What the rules say of a method of the type. Adds to `matched` what each aspect matched.
    pub fn method(&self, method: &Method<'_>, matched: &mut Matched) -> Verdict {
        self.with_original(method, |method| self.original(method, matched))
    }

    /// Calls `each` for every aspect that matches a method, with its number and its advice, or why it leaves the method out.
    pub fn each_aspect(
        &self,
        method: &Method<'_>,
        each: &mut dyn FnMut(u32, std::result::Result<Advice, Reason>),
    ) {
        self.with_original(method, |method| {
            let shown = self.shown(method);
            for clauses in self.clauses.chunk_by(|a, b| a.aspect == b.aspect) {
                let number = clauses[0].aspect;
                if let Some(said) = decide(clauses, method, shown.as_ref()) {
                    let advice = self.matcher.aspects[number].advice;
                    each(number as u32, said.map(|()| advice));
                }
            }
        });
    }

    /// Whether an aspect of calls means a call.
    pub fn means_call(&self, at: &At, site: &CallSite<'_>, hierarchy: &Hierarchy) -> bool {
        let (ty, method) = (site.ty, site.method);
        (self.matcher).means_callee(at, ty, method, site.descriptor, hierarchy)
            && self.has_params(at, |each| site.details.parameters(each))
    }

    /// Whether an aspect of points means one.
    pub fn means_point(&self, at: &At, site: &PointSite<'_>) -> bool {
        if at.kind != site.kind || (at.line != 0 && at.line != site.line) {
            return false;
        }
        let mapping = self.matcher.mapping.as_ref();
        let class = mapping.and_then(|mapping| mapping.class(site.ty));
        let ty = class.as_ref().map_or(site.ty, |class| class.name());
        if !(at.ty.as_ref()).is_none_or(|names| Name::with(ty, |name| names.has(name)))
            || !(at.name.as_ref()).is_none_or(|names| names.has_flat(site.name))
        {
            return false;
        }
        self.has_params(at, |each| site.details.parameters(each))
    }

    /// Whether the parameters that are shown are those that an aspect names, if it names any.
    fn has_params(&self, at: &At, show: impl FnOnce(&mut dyn FnMut(&str))) -> bool {
        at.params.as_ref().is_none_or(|params| {
            let mut state = params.start();
            show(&mut |ty| match &self.matcher.mapping {
                Some(mapping) => params.next(&mut state, &mapping.type_name(ty)),
                None => params.next(&mut state, ty),
            });
            params.is_match(state)
        })
    }

    /// Calls with a method, or with what it was before the program was obfuscated.
    fn with_original<R>(&self, method: &Method<'_>, f: impl FnOnce(&Method<'_>) -> R) -> R {
        let Some(mapping) = &self.matcher.mapping else {
            return f(method);
        };
        let class = self.class.as_ref();
        let original = class.and_then(|class| class.method(method.name, method.descriptor));
        let details = Restored {
            details: method.details,
            mapping,
        };
        f(&Method {
            name: original.map_or(method.name, |original| original.name),
            details: &details,
            ..*method
        })
    }

    /// What debuggers of .NET show of a method whose name a compiler made up.
    fn shown<'m>(&'m self, method: &Method<'m>) -> Option<Shown<'m>> {
        dotnet_names::shown(self.name.as_deref()?, method.name)
    }

    /// What the rules say of a method that has the names that they are about.
    fn original(&self, method: &Method<'_>, matched: &mut Matched) -> Verdict {
        if !self.prefilter.method_may_match(method.name) {
            return Verdict::Unmatched;
        }
        let shown = self.shown(method);
        let mut advice = Advice::default();
        let mut skipped = None;
        for clauses in self.clauses.chunk_by(|a, b| a.aspect == b.aspect) {
            let number = clauses[0].aspect;
            let aspect = &self.matcher.aspects[number];
            if advice.has(aspect.advice) && matched.has_woven(number) {
                continue;
            }
            match decide(clauses, method, shown.as_ref()) {
                None => {}
                Some(Ok(())) => {
                    // Whether there is such a call is not known yet.
                    if aspect.advice != Advice::CALLS {
                        matched.note(number, WOVEN);
                    }
                    advice = advice.with(aspect.advice);
                }
                Some(Err(reason)) => {
                    let bit = REASONS.iter().position(|&r| r == reason);
                    matched.note(number, bit.map_or(0, |bit| 1 << bit));
                    skipped.get_or_insert(reason);
                }
            }
        }
        match skipped {
            _ if advice != Advice::default() => Verdict::Weave(advice.settled()),
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
    if selector.inside {
        let fits = method.has_body && kinds.has(method.kinds) && fits_details(clause, method);
        return fits.then_some(match selector.min_size {
            Some(least) if method.size < least => Err(Reason::Small),
            _ => Ok(()),
        });
    }
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
        None if method.trivial && !names_accessor && !selector.takes_trivial => {
            Err(Reason::Trivial)
        }
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
