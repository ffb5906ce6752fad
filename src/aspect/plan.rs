//! The plan: which methods of one artifact get which advice and which id, and why others do not.

mod points;

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::bind::binder::{Binder, Home, Subject};
use crate::aspect::bind::call::{Bound, Convert};
use crate::aspect::bind::catalog::Leaves;
use crate::aspect::bind::misfit::Misfit;
use crate::aspect::bind::site::Redirect;
use crate::aspect::bind::ty::{Language, Target};
use crate::aspect::joinpoint::{Described, Kinds, Method, Type, Visitor};
use crate::aspect::pointcut::{ArtifactMatcher, Matched, TypeMatcher, Verdict};
use crate::aspect::rules::model::Meets;
use crate::aspect::short;
use crate::error::Result as CrateResult;
use crate::spans::SpanRule;
use crate::switches::{Switch, Switches, auto, says};
use rustc_hash::{FxHashMap, FxHashSet};
use sha2::{Digest, Sha256};
use std::ops::Range;
use std::sync::Arc;

/// A method to weave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The number of its type, in the order in which the scan shows types, from 0.
    pub ty: u32,
    /// The method's number in its type, as the format orders them.
    pub index: u32,
    /// The id that the hooks are called with; never 0.
    pub id: u32,
    /// When hooks run.
    pub advice: Advice,
    /// Its own hooks, if it has any: the place in [`Plan::bound`].
    pub bound: Option<u32>,
}

impl Planned {
    /// A method without hooks of its own, which has points.
    pub fn bare(ty: u32, index: u32) -> Planned {
        Planned {
            ty,
            index,
            id: 0,
            advice: Advice::default(),
            bound: None,
        }
    }

    pub fn place(&self) -> MethodPlace {
        MethodPlace {
            ty: self.ty,
            index: self.index,
        }
    }
}

/// A method that some rule matches and that is left unwoven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The number of its type, in the order in which the scan shows types, from 0.
    pub ty: u32,
    /// The method's number in its type, as the format orders them.
    pub index: u32,
    /// Name and descriptor.
    pub method: String,
    /// Why.
    pub reason: Reason,
    /// A rule names just this call: it does not do what it says.
    pub asked: bool,
}

impl Skipped {
    /// Whether `--strict` fails for it.
    pub fn is_failure(&self) -> bool {
        self.asked || self.reason.is_failure()
    }
}

/// A call that is redirected, or a point at which something is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Redirected {
    /// The type and the method that make it, numbered as in [`Planned`].
    pub ty: u32,
    pub index: u32,
    /// The number of the method whose code has it, if that is another one: see [`PointDetails::inner`].
    ///
    /// [`PointDetails::inner`]: crate::aspect::point::PointDetails::inner
    pub inner: u32,
    /// Where it stands in the code, as the format counts.
    pub at: u32,
    /// What is called instead: the place in [`Plan::redirects`].
    pub redirect: u32,
}

/// A planned call that is not redirected, and why.
#[derive(Clone, Copy, Debug)]
pub struct LeftCall {
    pub call: Redirected,
    pub reason: Reason,
}

impl LeftCall {
    /// These calls, all for one reason.
    pub fn all<I>(calls: I, reason: Reason) -> impl Iterator<Item = LeftCall>
    where
        I: IntoIterator<Item = Redirected>,
    {
        calls.into_iter().map(move |call| LeftCall { call, reason })
    }
}

/// The aspects that mean a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meant {
    /// The number of its type, in the order in which the scan shows types, from 0.
    pub ty: u32,
    /// The method's number in its type, as the format orders them.
    pub index: u32,
    /// Those that take it; if none does, those that match it and leave it out. By number, in the order of the rules.
    pub aspects: Vec<u32>,
}

/// Where a method stands: its type and index, as in [`Planned`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MethodPlace {
    pub ty: u32,
    pub index: u32,
}

/// A method whose calls begin a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    pub place: MethodPlace,
    /// They are spans, of which a rule says this.
    pub span: Option<Arc<SpanRule>>,
}

/// The id of such a method, and what a rule says of its spans.
#[derive(Clone)]
pub struct RootId {
    pub id: u32,
    pub span: Option<Arc<SpanRule>>,
}

/// A method that can be switched, and by which aspects.
#[derive(Clone, Debug)]
pub struct Switched {
    place: MethodPlace,
    switches: Switches,
}

/// The id of such a method.
#[derive(Clone)]
pub struct SwitchedId {
    pub id: u32,
    pub switches: Switches,
}

/// What to weave in one artifact, ascending by type and index.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The methods to weave.
    pub methods: Vec<Planned>,
    /// What rules matched but defaults or excludes left out; only when asked to explain.
    pub skipped: Vec<Skipped>,
    /// The types that [`Plan::skipped`] is about: number and name.
    pub skipped_types: Vec<(u32, String)>,
    /// What each aspect matched.
    pub matched: Matched,
    /// The aspects of these methods; only when asked to explain.
    pub meant: Vec<Meant>,
    /// The own hooks of methods; methods that have the same share them.
    pub bound: Vec<Arc<Bound>>,
    /// The methods whose calls begin a trace.
    pub roots: Vec<Root>,
    /// The methods that can be switched.
    pub switched: Vec<Switched>,
    /// The calls that are redirected, ascending.
    pub calls: Vec<Redirected>,
    /// What is called instead, each once.
    pub redirects: Vec<Arc<Redirect>>,
    /// The id of each of them that is recorded, else 0. Empty until ids are claimed.
    pub call_ids: Vec<u32>,
    /// The types of which Java's serialization asks for no number that follows from what they declare: see
    /// [`serial`](crate::aspect::serial).
    pub not_numbered: FxHashSet<u32>,
    /// The number of the type that the scan shows next.
    types: u32,
}

impl Plan {
    /// Whether a method has a hook instead of its body.
    pub fn has_around(&self) -> bool {
        self.bound.iter().any(|bound| bound.around.is_some())
    }

    /// A plan for these methods, ascending by type and index.
    pub fn new(methods: Vec<Planned>) -> Plan {
        Plan {
            methods,
            ..Plan::default()
        }
    }

    /// Whether no rule has anything to say about the artifact.
    pub fn is_empty(&self) -> bool {
        self.methods.is_empty() && self.skipped.is_empty() && self.calls.is_empty()
    }

    /// The own hooks of the methods that are planned, each once.
    pub fn bound_here(&self) -> impl Iterator<Item = &Arc<Bound>> {
        let used: FxHashSet<u32> = self.methods.iter().filter_map(|m| m.bound).collect();
        let all = self.bound.iter().enumerate();
        all.filter_map(move |(place, bound)| used.contains(&(place as u32)).then_some(bound))
    }

    /// What planned calls are redirected to, each once, with its place.
    pub fn redirects_here(&self) -> impl Iterator<Item = (u32, &Arc<Redirect>)> {
        let used: FxHashSet<u32> = self.calls.iter().map(|call| call.redirect).collect();
        let all = (0..).zip(&self.redirects);
        all.filter(move |(place, _)| used.contains(place))
    }

    /// The own hooks of a method that is planned.
    pub fn bound(&self, planned: &Planned) -> Option<&Bound> {
        planned.bound.map(|place| &*self.bound[place as usize])
    }

    /// The methods that record values, by their ids.
    pub fn values(&self) -> FxHashMap<u32, Arc<Bound>> {
        let bound = |planned: &Planned| Some((planned.id, &self.bound[planned.bound? as usize]));
        let own = self.methods.iter().filter_map(bound);
        own.filter(|(_, bound)| !bound.values.is_empty())
            .map(|(id, bound)| (id, Arc::clone(bound)))
            .collect()
    }

    /// The ids of the methods whose calls begin a trace, ascending.
    pub fn root_ids(&self) -> Vec<RootId> {
        let ids = self.roots.iter();
        let ids = ids.filter_map(|root| {
            Some(RootId {
                id: self.id(root.place)?,
                span: root.span.clone(),
            })
        });
        let mut ids: Vec<RootId> = ids.collect();
        ids.sort_unstable_by_key(|root| root.id);
        ids
    }

    /// The ids of the methods that can be switched, ascending, and by which aspects.
    pub fn switched_ids(&self) -> Vec<SwitchedId> {
        let ids = self.switched.iter().filter_map(|switched| {
            Some(SwitchedId {
                id: self.id(switched.place)?,
                switches: Arc::clone(&switched.switches),
            })
        });
        let mut ids: Vec<SwitchedId> = ids.collect();
        ids.sort_unstable_by_key(|switched| switched.id);
        ids
    }

    /// The id of a planned method.
    fn id(&self, place: MethodPlace) -> Option<u32> {
        let found = (self.methods).binary_search_by_key(&place, Planned::place);
        found.ok().map(|at| self.methods[at].id)
    }

    /// The id of what is called instead: 0 if it is not recorded.
    pub fn call_id(&self, redirect: u32) -> u32 {
        let id = self.call_ids.get(redirect as usize);
        id.copied().unwrap_or_default()
    }

    /// How many types the scan has shown.
    pub fn types(&self) -> u32 {
        self.types
    }

    /// Leaves planned methods as they are; `describe` names a method by the numbers of its type and its own.
    pub fn leave_methods(
        &mut self,
        reason: Reason,
        leaves: impl Fn(&Plan, &Planned) -> bool,
        describe: impl Fn(u32, u32) -> CrateResult<Described>,
    ) -> CrateResult<()> {
        let methods = std::mem::take(&mut self.methods);
        let (left, kept): (Vec<_>, Vec<_>) = (methods.into_iter()).partition(|m| leaves(self, m));
        self.methods = kept;
        for planned in left {
            self.skipped.push(Skipped {
                ty: planned.ty,
                index: planned.index,
                method: describe(planned.ty, planned.index)?.to_string(),
                reason,
                asked: false,
            });
        }
        Ok(())
    }

    /// Leaves planned calls as they are; `describe` names a method by the numbers of its type and its own.
    pub fn leave_calls(
        &mut self,
        left: &[LeftCall],
        describe: impl Fn(u32, u32) -> CrateResult<Described>,
    ) -> CrateResult<()> {
        let stay: FxHashSet<Redirected> = left.iter().map(|left| left.call).collect();
        self.calls.retain(|call| !stay.contains(call));
        for LeftCall { call, reason } in left {
            self.skipped.push(Skipped {
                ty: call.ty,
                index: call.index,
                method: describe(call.ty, call.index)?.to_string(),
                reason: *reason,
                asked: false,
            });
        }
        Ok(())
    }

    /// Adds the plan of the types behind these.
    pub fn append(&mut self, mut next: Plan) {
        let before = self.bound.len() as u32;
        for planned in &mut next.methods {
            planned.bound = planned.bound.map(|place| before + place);
        }
        let before = self.redirects.len() as u32;
        for call in &mut next.calls {
            call.redirect += before;
        }
        self.calls.append(&mut next.calls);
        self.redirects.append(&mut next.redirects);
        self.bound.append(&mut next.bound);
        self.methods.append(&mut next.methods);
        self.skipped.append(&mut next.skipped);
        self.skipped_types.append(&mut next.skipped_types);
        self.matched.add(&next.matched);
        self.meant.append(&mut next.meant);
        self.roots.append(&mut next.roots);
        self.switched.append(&mut next.switched);
        self.types = next.types;
    }
}

/// Gives the base of a type's ids from its number (see [`Planned::ty`]) and its name.
pub type BaseOf<'a> = &'a (dyn Fn(u32, &str) -> u32 + Sync);

/// The highest base: the ids of a type's methods follow its base and must not wrap around.
const MAX_BASE: u32 = u32::MAX - (1 << 24);

/// The base of a type's ids: the first four bytes of SHA-256 over its full name. `attempt` > 0 gives
/// the next candidate where some id is taken. A method's id is the base plus the method's index in its
/// type, so a type costs one hash, and ids that differ in one byte pack well, in the code as in the
/// map. Never 0, which stands for "no method". The methods of a dex file share one base, made of the
/// file's fingerprint.
pub fn id_base(name: &str, attempt: u32) -> u32 {
    for round in 0u32.. {
        let mut hash = Sha256::new();
        hash.update(name);
        if attempt > 0 || round > 0 {
            hash.update(attempt.to_le_bytes());
            hash.update(round.to_le_bytes());
        }
        let digest = hash.finalize();
        let base = u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]);
        if (1..=MAX_BASE).contains(&base) {
            return base;
        }
    }
    unreachable!("2^32 rounds, each of which hits with 99.6 %")
}

/// What own hooks are bound with.
pub struct Own<'a> {
    pub binder: Binder<'a>,
    pub home: Home<'a>,
}

/// What methods share that have the same hooks, see [`Planner::bind_alike`].
#[derive(PartialEq, Eq, Hash)]
struct Alike {
    /// What the hooks say, if the methods are switched.
    switched: Option<i32>,
    /// They may end later than they return.
    is_async: bool,
    span: Option<SpanRule>,
    /// Of a span, which may end with what its method gives.
    descriptor: Option<String>,
}

/// The type under way.
struct Current<'a> {
    /// The base of its ids.
    base: u32,
    matcher: TypeMatcher<'a>,
}

/// The verdict about a method, once its hooks are bound.
struct Settled {
    verdict: Verdict,
    /// The place of its hooks in the plan.
    bound: Option<u32>,
}

impl Settled {
    fn without_hooks(verdict: Verdict) -> Settled {
        Settled {
            verdict,
            bound: None,
        }
    }

    fn hooked(advice: Advice, bound: u32) -> Settled {
        Settled {
            verdict: Verdict::Weave(advice),
            bound: Some(bound),
        }
    }
}

/// Makes a [`Plan`] while a backend's scan walks an artifact.
pub struct Planner<'a> {
    matcher: &'a ArtifactMatcher<'a>,
    base_of: BaseOf<'a>,
    explain: bool,
    /// The hooks that there are for the format.
    hooks: Advice,
    current: Option<Current<'a>>,
    /// What of it is not woven, since rules call it.
    leaves: Leaves<'a>,
    /// Its name, when explaining or binding.
    name: String,
    /// An aspect that takes contexts from calls of the method under way.
    takes: Option<u32>,
    /// What binds own hooks.
    own: Option<Own<'a>>,
    /// What is called instead of methods that aspects mean; none where something does not fit.
    redirects: FxHashMap<points::Called, Option<u32>>,
    /// What is called at points that an aspect means, for methods whose objects are of a type; none where something does not fit.
    points: FxHashMap<points::PlannedPoint, Option<Range<u32>>>,
    /// The aspects as switches, by their numbers; none where there is nothing to switch.
    switches: Vec<Option<Arc<Switch>>>,
    /// Those that take a method together.
    together: FxHashMap<Vec<u32>, Switches>,
    /// The hooks of methods that have no others.
    alike: FxHashMap<Alike, u32>,
    /// Own hooks that do not fit.
    pub misfits: Vec<Misfit>,
    /// The plan so far.
    pub plan: Plan,
}

impl<'a> Planner<'a> {
    /// A planner for one artifact; `explain` collects what is skipped, too.
    pub fn new(
        matcher: &'a ArtifactMatcher<'a>,
        base_of: BaseOf<'a>,
        explain: bool,
    ) -> Planner<'a> {
        Planner {
            matcher,
            base_of,
            explain,
            hooks: Advice::LIBRARY,
            current: None,
            leaves: Leaves::Nothing,
            name: String::new(),
            takes: None,
            own: None,
            redirects: FxHashMap::default(),
            points: FxHashMap::default(),
            switches: matcher.matcher().switches(),
            together: FxHashMap::default(),
            alike: FxHashMap::default(),
            misfits: Vec::new(),
            plan: Plan::default(),
        }
    }

    /// The same with own hooks, which are left out otherwise.
    #[must_use]
    pub fn with_own(self, own: Own<'a>) -> Planner<'a> {
        Planner {
            hooks: self.hooks.with(Advice::OWN),
            own: Some(own),
            ..self
        }
    }

    /// The same for a part of the types, which begins with this one.
    #[must_use]
    pub fn starting_at(mut self, ty: u32) -> Planner<'a> {
        self.plan.types = ty;
        self
    }

    /// The same for dex files, which run where Android's own trace is.
    #[must_use]
    pub fn on_android(self) -> Planner<'a> {
        Planner {
            hooks: self.hooks.with(Advice::SECTION),
            ..self
        }
    }
}

impl Planner<'_> {
    /// Binds the own hooks of a method: their place in the plan, if it has any after all; none where some do not fit. `switched`: what the
    /// hooks say of a call that can be switched, in place of the plain ones.
    fn bind(
        &mut self,
        method: &Method<'_>,
        advice: Advice,
        switched: Option<i32>,
        span: Option<&SpanRule>,
    ) -> Option<Option<u32>> {
        let (Some(own), Some(Current { matcher, .. })) = (&self.own, &self.current) else {
            return None;
        };
        let mut meets = Vec::new();
        matcher.each_aspect(method, &mut |aspect, said| {
            if said.is_ok()
                && let Some(own) = self.matcher.matcher().own_hooks(aspect)
                && own.hooks.at.is_none()
            {
                meets.push(own);
            }
        });
        meets.extend(self.frame(method));
        let signature = method.details.signature()?;
        let subject = Subject {
            is_async: method.kinds.intersects(Kinds::ASYNC),
            keeps_body: method.details.keeps_body(),
            switched,
            span,
            texts: match advice.only(Advice::LIBRARY) {
                Advice(0) => &[],
                _ => self.matcher.matcher().texts(),
            },
            ..Subject::new(&self.name, method.name, &signature, own.home)
        };
        let bound = own.binder.bind(&meets, &subject);
        for &Meets { aspect, hooks, .. } in &meets {
            for (n, name) in hooks.optional_names().into_iter().enumerate() {
                let mut parameters = signature.parameters.iter();
                if parameters.any(|p| p.name.as_deref() == Some(name)) {
                    self.plan.matched.note_name(aspect, n);
                }
            }
            if let (Some(around), Ok(bound)) = (&hooks.around, &bound)
                && bound.runs_around(&around.call.method)
            {
                self.plan.matched.note_around(aspect);
            }
        }
        let bound = match (own.binder.target, bound) {
            (Target::Dex, Ok(bound)) => without_casts(bound, &meets, &subject),
            (_, bound) => bound,
        };
        match bound {
            Ok(bound)
                if bound.is_empty() && meets.iter().any(|meets| meets.hooks.around.is_some()) =>
            {
                Some(None)
            }
            Ok(bound) => {
                self.plan.bound.push(Arc::new(bound));
                Some(Some(self.plan.bound.len() as u32 - 1))
            }
            Err(misfits) => {
                self.misfits.extend(misfits);
                None
            }
        }
    }
}

impl<'a> Planner<'a> {
    /// The hooks of a method that takes contexts from calls: they are over with it. What an async method takes is over with its flow.
    fn frame(&self, method: &Method<'_>) -> Option<Meets<'a>> {
        let language = self.own.as_ref()?.binder.target.language();
        let aspect = (self.takes).filter(|_| !method.kinds.intersects(Kinds::ASYNC))?;
        let meets = self.matcher.matcher().own_hooks(aspect)?;
        let frame = meets.hooks.at.as_ref()?.frame.as_deref()?;
        let hooks = match language {
            Language::Java => &frame.java,
            Language::CSharp => &frame.dotnet,
        };
        Some(Meets { hooks, ..meets })
    }
}

impl Planner<'_> {
    /// What the first aspect says that makes spans of a method's calls.
    fn span(&self, method: &Method<'_>) -> Option<Arc<SpanRule>> {
        let matcher = &self.current.as_ref()?.matcher;
        let mut span = None;
        matcher.each_aspect(method, &mut |aspect, said| {
            if said.is_ok() && span.is_none() {
                let rule = self.matcher.matcher().span(aspect);
                span = rule.map(|rule| rule.of_method(&self.name, method.name));
            }
        });
        span
    }

    /// The aspects that switch a method; none where it stays as it is, whatever is switched.
    fn switches(&mut self, method: &Method<'_>, advice: Advice) -> Option<Switches> {
        let (false, Some(Current { matcher, .. })) = (self.switches.is_empty(), &self.current)
        else {
            return None;
        };
        let (mut aspects, mut stays) = (Vec::new(), false);
        matcher.each_aspect(method, &mut |aspect, said| {
            let Ok(advice) = said else {
                return;
            };
            match self.switches[aspect as usize] {
                Some(_) => aspects.push(aspect),
                // What no switch is about is as it is.
                None => stays |= advice.only(Advice::LIBRARY) != Advice::default(),
            }
        });
        if aspects.is_empty() {
            return None;
        }
        if stays || !advice.is_whole() {
            return None;
        }
        Some(match self.together.get(&aspects) {
            Some(known) => Arc::clone(known),
            None => {
                let all = aspects
                    .iter()
                    .filter_map(|&a| self.switches[a as usize].clone());
                let mut all: Vec<Arc<Switch>> = all.collect();
                all.sort_unstable();
                let all: Switches = all.into();
                self.together.insert(aspects, Arc::clone(&all));
                all
            }
        })
    }

    /// Binds the hooks of a method that can be switched, with its own: their place in the plan.
    fn bind_switched(
        &mut self,
        method: &Method<'_>,
        advice: Advice,
        switches: &Switches,
    ) -> Option<u32> {
        let mode = match advice.only(Advice::LIBRARY) {
            Advice::AGGREGATE => 1,
            Advice::COUNT => 2,
            // It can never be slow: where the program decides, it is not timed.
            _ if auto(switches).is_some()
                && !advice.has(Advice::OWN)
                && method.details.is_bounded(&|_| false) =>
            {
                2
            }
            _ => 0,
        };
        self.bind_said(method, advice, says(mode, switches), None)
    }

    /// Binds the hooks of a method that says so much to the hook library, with its own: their place in the plan.
    fn bind_said(
        &mut self,
        method: &Method<'_>,
        advice: Advice,
        says: i32,
        span: Option<&SpanRule>,
    ) -> Option<u32> {
        if advice.has(Advice::OWN) {
            return self.bind(method, advice, Some(says), span).flatten();
        }
        self.bind_alike(method, advice, Some(says), span)
    }

    /// Binds the hooks of a method whose calls are spans.
    fn bind_span(
        &mut self,
        method: &Method<'_>,
        advice: Advice,
        switches: Option<&Switches>,
        span: &SpanRule,
    ) -> Option<u32> {
        // What no switch is about is on at any level.
        let says = switches.map_or(0, |switches| says(0, switches));
        self.bind_said(method, advice, says, Some(span))
    }

    /// Whether hooks of their own begin and end a method's spans.
    fn is_span_hooked(&self, method: &Method<'_>, verdict: Verdict) -> bool {
        let is_async = method.kinds.intersects(Kinds::ASYNC);
        let own = self.own.as_ref();
        own.is_some_and(|own| own.binder.target.language() == Language::CSharp || !is_async)
            && matches!(verdict, Verdict::Weave(advice) if advice.has(Advice::ALL))
    }

    /// Binds the hooks of a method that has none of its own: their place in the plan.
    fn bind_alike(
        &mut self,
        method: &Method<'_>,
        advice: Advice,
        switched: Option<i32>,
        span: Option<&SpanRule>,
    ) -> Option<u32> {
        let is_async = method.kinds.intersects(Kinds::ASYNC);
        let like = Alike {
            switched,
            is_async,
            span: span.cloned(),
            descriptor: span.map(|_| method.descriptor.to_owned()),
        };
        if let Some(&known) = self.alike.get(&like) {
            return Some(known);
        }
        let place = self.bind(method, advice, switched, span).flatten()?;
        self.alike.insert(like, place);
        Some(place)
    }

    /// Leaves a method of a type that rules call.
    fn leave_called(&mut self, ty: u32, index: u32, method: &Method<'_>) {
        let Some(Current { matcher, .. }) = &self.current else {
            return;
        };
        let (mut is_meant, matched) = (false, &mut self.plan.matched);
        matcher.each_aspect(method, &mut |aspect, said| {
            if said.is_ok_and(|advice| advice != Advice::CALLS) {
                is_meant = true;
                matched.note_left(aspect, Reason::HookType);
            }
        });
        if is_meant {
            self.note_skipped(ty, index, method, Reason::HookType, false);
        }
    }

    /// Whether a method is short, and its aspects leave it to its callers ([`crate::aspect::short`]).
    fn leaves_short(&self, method: &Method<'_>, advice: Advice) -> bool {
        let (Some(own), Some(Current { matcher, .. })) = (&self.own, &self.current) else {
            return false;
        };
        if method.size > short::most_code(own.binder.target)
            || method.kinds.intersects(Kinds::ASYNC)
            || advice.without(Advice::LIBRARY) != Advice::default()
        {
            return false;
        }
        let (mut leaves, mut is_told) = (true, false);
        matcher.each_aspect(method, &mut |aspect, said| {
            leaves &= said.is_err() || self.matcher.matcher().leaves_short(aspect);
        });
        (method.details).annotations(&mut |name| is_told |= short::is_told_by(name));
        let language = own.binder.target.language();
        let bodies = &own.binder.catalog.bodies;
        leaves && !is_told && (method.details).is_bounded(&|called| bodies.knows(called, language))
    }

    /// Whether an aspect with hooks of its own leaves a method out that is too small for a trace.
    fn leaves_of_own(&self, method: &Method<'_>, reason: Reason) -> bool {
        let all = self.matcher.matcher();
        let (true, Some(Current { matcher, .. })) = (
            matches!(reason, Reason::Trivial | Reason::Small) && all.has_observers(),
            &self.current,
        ) else {
            return false;
        };
        let mut leaves = false;
        matcher.each_aspect(method, &mut |aspect, said| {
            let own = all.own_hooks(aspect);
            leaves |= said == Err(reason) && own.is_some_and(|own| own.hooks.has_hooks());
        });
        leaves
    }

    /// Whether a method without hooks of its own tells what is left out of all texts.
    fn tells_texts(&self, advice: Advice) -> bool {
        self.own.is_some()
            && advice.only(Advice::LIBRARY) != Advice::default()
            && !self.matcher.matcher().texts().is_empty()
    }

    /// Notes what is left, when explaining.
    fn skip(&mut self, ty: u32, index: u32, method: &Method<'_>, reason: Reason) {
        if self.explain {
            self.note_skipped(ty, index, method, reason, false);
        }
    }

    /// Notes what is left, for the summary.
    fn note_skipped(
        &mut self,
        ty: u32,
        index: u32,
        method: &Method<'_>,
        reason: Reason,
        asked: bool,
    ) {
        if self.plan.skipped_types.last().is_none_or(|(t, _)| *t != ty) {
            self.plan.skipped_types.push((ty, self.name.clone()));
        }
        self.plan.skipped.push(Skipped {
            ty,
            index,
            method: format!("{}{}", method.name, method.descriptor),
            reason,
            asked,
        });
    }
}

/// In dex files nothing casts what a hook gives for a value.
fn without_casts(
    bound: Bound,
    meets: &[Meets<'_>],
    subject: &Subject<'_>,
) -> Result<Bound, Vec<Misfit>> {
    let changes = |layer: &Bound| {
        let mut calls = (layer.enter.iter().chain(&layer.exit)).chain(&layer.exception);
        let cast = calls.find(|call| matches!(call.given, Some((Convert::Cast, _))));
        cast.map(|call| call.hook.name.clone())
    };
    let Some(name) = bound.layers().find_map(changes) else {
        return Ok(bound);
    };
    let hooks = meets.iter().flat_map(|meets| {
        let own = meets.hooks;
        let hooks = (own.enter.iter().chain(&own.exit)).chain(&own.exception);
        hooks.map(move |hook| (own, hook))
    });
    let wrong = hooks.filter(|(_, hook)| *hook.call.method == *name);
    Err(wrong
        .map(|(own, hook)| Misfit {
            source: Arc::clone(&own.source),
            span: hook.name.clone(),
            title: format!("`{}.{name}` returns an `Object`", hook.call.ty),
            what: "which dex files do not cast yet, for".into(),
            method: format!("{}.{}", subject.ty.replace('/', "."), subject.name),
            help: Some("let it return the type of the value".into()),
        })
        .take(1)
        .collect())
}

impl Planner<'_> {
    /// What the rules say of the method itself: its points are planned, and what the format has no hooks for is left out.
    fn of_method_itself(&mut self, index: u32, method: &Method<'_>, verdict: Verdict) -> Verdict {
        let Verdict::Weave(mut advice) = verdict else {
            return verdict;
        };
        if advice.has(Advice::CALLS) {
            self.at_points(index, method);
            if self.frame(method).is_some() {
                advice = advice.with(Advice::OWN);
            }
            advice = advice.without(Advice::CALLS);
            if advice == Advice(0) {
                return Verdict::Unmatched;
            }
        }
        match advice.only(self.hooks) {
            Advice(0) => Verdict::Skip(Reason::OnlyAndroid),
            advice => Verdict::Weave(advice),
        }
    }

    /// Binds the hooks of a method. `None`: they do not fit, and the job fails.
    fn bound(
        &mut self,
        place: MethodPlace,
        method: &Method<'_>,
        verdict: Verdict,
        switches: Option<Switches>,
        span: Option<&SpanRule>,
    ) -> Option<Settled> {
        let Verdict::Weave(advice) = verdict else {
            return Some(Settled::without_hooks(verdict));
        };
        if span.is_some() || switches.is_some() {
            let bound = match (&span, &switches) {
                (Some(span), switches) => {
                    self.bind_span(method, advice, switches.as_ref(), span)?
                }
                (None, Some(switches)) => self.bind_switched(method, advice, switches)?,
                (None, None) => unreachable!("one of them is there"),
            };
            self.plan
                .switched
                .extend(switches.map(|switches| Switched { place, switches }));
            let rest = advice.without(Advice::LIBRARY);
            let own = &self.plan.bound[bound as usize];
            let advice = match own.logical {
                // Its pieces have their hooks.
                Some(_) if span.is_some() || own.has_own_hooks() => {
                    rest.with(Advice::ALL).with(Advice::OWN)
                }
                Some(_) => rest.with(Advice::ALL),
                None => rest.with(Advice::OWN),
            };
            return Some(Settled::hooked(advice, bound));
        }
        if advice.has(Advice::OWN) {
            return Some(match self.bind(method, advice, None, None)? {
                Some(bound) => Settled::hooked(advice, bound),
                // Its aspects pass over it, but for what they record.
                None => match advice.without(Advice::OWN) {
                    Advice(0) => Settled::without_hooks(Verdict::Unmatched),
                    advice => Settled::without_hooks(Verdict::Weave(advice)),
                },
            });
        }
        if self.tells_texts(advice) {
            let bound = self.bind_alike(method, advice, None, None)?;
            return Some(Settled::hooked(advice.with(Advice::OWN), bound));
        }
        Some(Settled::without_hooks(verdict))
    }

    /// Notes which aspects match a method, where the caller collects that.
    fn note_meant(&mut self, place: MethodPlace, method: &Method<'_>) {
        let Some(Current { matcher, .. }) = &self.current else {
            return;
        };
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        matcher.each_aspect(method, &mut |aspect, said| match said {
            Ok(advice) if advice.only(self.hooks) != Advice::default() => taken.push(aspect),
            _ => left.push(aspect),
        });
        let aspects = if taken.is_empty() { left } else { taken };
        let MethodPlace { ty, index } = place;
        self.plan.meant.push(Meant { ty, index, aspects });
    }
}

impl Visitor for Planner<'_> {
    fn wants_descriptors(&self) -> bool {
        self.explain || self.matcher.asks_descriptors()
    }

    fn wants_names(&self) -> bool {
        self.explain || self.own.is_some() || self.matcher.asks_names()
    }

    fn enter_type(&mut self, ty: &Type<'_>) -> bool {
        let number = self.plan.types;
        self.plan.types += 1;
        let catalog = self.own.as_ref().map(|own| own.binder.catalog);
        self.leaves = catalog.map_or(Leaves::Nothing, |catalog| catalog.leaves(ty.name));
        if self.leaves == Leaves::Library {
            self.current = None;
            return false;
        }
        self.current = self.matcher.for_type(ty).map(|matcher| Current {
            base: (self.base_of)(number, ty.name),
            matcher,
        });
        if (self.explain || self.own.is_some()) && self.current.is_some() {
            ty.name.clone_into(&mut self.name);
        }
        self.current.is_some()
    }

    fn method(&mut self, index: u32, method: &Method<'_>) {
        let Some(Current { base, matcher }) = &self.current else {
            return;
        };
        let (ty, base) = (self.plan.types - 1, *base);
        let place = MethodPlace { ty, index };
        let is_left = match self.leaves {
            Leaves::Methods(methods) => methods.iter().any(|left| **left == *method.name),
            leaves => leaves == Leaves::All,
        };
        if is_left {
            return self.leave_called(ty, index, method);
        }
        self.takes = None;
        let verdict = matcher.method(method, &mut self.plan.matched);
        let mut span = None;
        if matches!(verdict, Verdict::Weave(advice) if advice.has(Advice::ROOT)) {
            span = self.span(method);
            self.plan.roots.push(Root {
                place,
                span: span.clone(),
            });
        }
        let has_calls = matches!(verdict, Verdict::Weave(advice) if advice.has(Advice::CALLS));
        let verdict = self.of_method_itself(index, method, verdict);
        let switches = match verdict {
            Verdict::Weave(advice) => self.switches(method, advice),
            _ => None,
        };
        let verdict = match verdict {
            Verdict::Weave(advice) if switches.is_some() && self.leaves_short(method, advice) => {
                Verdict::Skip(Reason::Short)
            }
            _ => verdict,
        };
        let span = span.filter(|_| self.is_span_hooked(method, verdict));
        let settled = self.bound(place, method, verdict, switches, span.as_deref());
        let Some(Settled { verdict, bound }) = settled else {
            return; // the job fails for it
        };
        if self.explain && (has_calls || verdict != Verdict::Unmatched) {
            self.note_meant(place, method);
        }
        match verdict {
            Verdict::Unmatched => {}
            Verdict::Skip(reason) if self.leaves_of_own(method, reason) => {
                self.note_skipped(ty, index, method, reason, false);
            }
            Verdict::Skip(reason) => self.skip(ty, index, method, reason),
            Verdict::Weave(advice) => self.plan.methods.push(Planned {
                ty,
                index,
                id: base.wrapping_add(index),
                advice,
                bound,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aspect::bind::catalog::{Catalog, HookMethod, HookType};
    use crate::aspect::bind::ty::{Parameter, Prim, Signature, Ty};
    use crate::aspect::joinpoint::{Access, EachName, Kinds, MethodDetails, Owner, TypeDetails};
    use crate::aspect::pointcut::{Hierarchy, Matcher};
    use crate::aspect::rules::Rules;

    struct Nothing;

    impl TypeDetails for Nothing {
        fn annotations(&self, _: EachName<'_>) {}
        fn supertypes(&self, _: EachName<'_>) {}
        fn owner(&self) -> Option<Owner> {
            None
        }
    }

    /// Of straight-line code.
    struct Line;

    impl MethodDetails for Line {
        fn annotations(&self, _: EachName<'_>) {}
        fn parameters(&self, _: EachName<'_>) {}
        fn returns(&self, _: EachName<'_>) {}
        fn signature(&self) -> Option<Signature> {
            Nothing.signature()
        }
        fn is_bounded(&self, _: short::Knows<'_>) -> bool {
            true
        }
    }

    impl MethodDetails for Nothing {
        fn annotations(&self, _: EachName<'_>) {}
        fn parameters(&self, _: EachName<'_>) {}
        fn returns(&self, _: EachName<'_>) {}
        fn signature(&self) -> Option<Signature> {
            Some(Signature {
                this: None,
                parameters: Box::default(),
                result: Ty::Void,
                generics: 0,
                variadic: false,
            })
        }
    }

    #[test]
    fn what_is_recorded_is_neither_counted_nor_summed_up() {
        let text = "version = 1
[[aspect]]
match = { type = \"A\" }
mode = \"count\"
[[aspect]]
match = { method = \"recorded\" }
advice = \"exception\"
[[aspect]]
match = { method = \"section\" }
hooks = \"android-trace\"
[[aspect]]
match = { method = [\"recorded\", \"summed\"] }
mode = \"aggregate\"
";
        let matcher = Matcher::new(Rules::parse("test", text).unwrap());
        let hierarchy = Hierarchy::default();
        let artifact = matcher.for_artifact("app.apk", None, &hierarchy);
        let base_of = |_: u32, _: &str| 10;
        let mut planner = Planner::new(&artifact, &base_of, true).on_android();
        show(&mut planner, &["counted", "recorded", "section", "summed"]);
        let advice: Vec<_> = planner.plan.methods.iter().map(|m| m.advice).collect();
        let beside = Advice::COUNT.with(Advice::SECTION);
        let all = [Advice::COUNT, Advice::EXCEPTION, beside, Advice::AGGREGATE];
        assert_eq!(advice, all);
    }

    #[test]
    fn a_method_is_switched_by_all_that_take_it() {
        let rules = |level: &str| {
            format!(
                "version = 1
[[aspect]]
name = \"all\"
match = {{ type = \"A\", method = \"!plain\" }}
{level}
[[aspect]]
name = \"noise\"
match = {{ method = [\"noise\", \"part\", \"other\"] }}
mode = \"count\"
level = \"debug\"
[[aspect]]
name = \"starts\"
match = {{ method = [\"part\", \"plain\"] }}
advice = \"enter\"
[[aspect]]
name = \"too often\"
match = {{ method = \"other\" }}
mode = \"auto\"
slower-than = \"2ms\"
"
            )
        };
        let parameter = || Parameter {
            ty: Ty::Prim(Prim::I32),
            name: None,
            out: false,
        };
        let method = |name: &str, parameters: Vec<Parameter>, result| HookMethod {
            name: name.into(),
            is_public: true,
            signature: Signature {
                this: None,
                parameters: parameters.into(),
                result,
                generics: 0,
                variadic: false,
            },
        };
        let thrown = Parameter {
            ty: Ty::class("java/lang/Throwable"),
            ..parameter()
        };
        let both = || vec![parameter(), parameter()];
        let mut catalog = Catalog::default();
        let ty = HookType {
            of_objects: Vec::new(),
            ty: Ty::class("weave/runtime/Switched"),
            is_interface: false,
            is_public: true,
            methods: vec![
                method("enter", both(), Ty::Prim(Prim::I32)),
                method("exit", both(), Ty::Void),
                method("error", vec![thrown, parameter(), parameter()], Ty::Void),
            ],
        };
        catalog.add("weave/runtime/Switched".into(), ty);
        let planned = |text: &str| {
            let matcher = Matcher::new(Rules::parse("test", text).unwrap());
            let hierarchy = Hierarchy::default();
            let artifact = matcher.for_artifact("app.jar", None, &hierarchy);
            let base_of = |_: u32, _: &str| 10;
            let binder = Binder {
                catalog: &catalog,
                hierarchy: &hierarchy,
                target: Target::Jvm,
                may_reach: &|_| false,
            };
            let own = Own {
                binder,
                home: Home {
                    artifact: "app.jar",
                    adapters: "weave/hooks/",
                },
            };
            let mut planner = Planner::new(&artifact, &base_of, false).with_own(own);
            show(
                &mut planner,
                &["work", "noise", "part", "plain", "other", "line"],
            );
            assert!(planner.misfits.is_empty());
            let plan = planner.plan;
            let switched = plan.switched_ids().into_iter();
            let switched: FxHashMap<u32, Switches> =
                switched.map(|one| (one.id, one.switches)).collect();
            let shown = |m: &Planned| {
                let by = switched.get(&m.id).map(|by| {
                    let by = by.iter().map(|s| format!("{} {}", s.name, s.level));
                    by.collect::<Vec<_>>().join(", ")
                });
                (m.advice, plan.bound(m).and_then(Bound::switched), by)
            };
            plan.methods.iter().map(shown).collect::<Vec<_>>()
        };
        let stays = |advice| (advice, None, None);
        let switched = |says, by: &str| (Advice::OWN, Some(says), Some(by.to_owned()));
        // What no switch takes stays, and what begins without an end.
        assert_eq!(
            planned(&rules("")),
            [
                stays(Advice::ALL),
                stays(Advice::ALL),
                stays(Advice::ALL),
                stays(Advice::ENTER),
                stays(Advice::ALL),
                stays(Advice::ALL)
            ]
        );
        assert_eq!(
            planned(&rules("level = \"error\"\nmode = \"auto\"")),
            [
                switched(0x3_e804, "all error"),
                switched(0, "all error, noise debug"),
                stays(Advice::ALL),
                stays(Advice::ENTER),
                switched(0, "all error, noise debug, too often info"),
                // Straight-line code is counted.
                switched(0x3_e806, "all error")
            ]
        );
        assert_eq!(
            planned(&rules("exclude = { method = \"other\" }\nlevel = \"info\""))[4],
            switched(0x10, "noise debug, too often info")
        );
        // Calls of those that another aspect counts, or lets the program decide about, are not sampled.
        let sampled = planned(&rules("level = \"debug\"\nsample = \"1/100\""));
        assert_eq!(sampled[0], switched(0x6428, "all debug"));
        assert_eq!(sampled[1], switched(0x20, "all debug, noise debug"));
    }

    /// Shows a planner the type `A` with these methods.
    fn show(planner: &mut Planner<'_>, methods: &[&str]) {
        planner.enter_type(&Type {
            name: "A",
            access: Access::Public,
            details: &Nothing,
        });
        for (index, name) in methods.iter().enumerate() {
            let method = Method {
                name,
                descriptor: "()V",
                access: Access::Public,
                kinds: Kinds::METHOD,
                has_body: true,
                size: 20,
                trivial: false,
                details: if *name == "line" { &Line } else { &Nothing },
            };
            planner.method(index as u32, &method);
        }
    }

    #[test]
    fn sections_are_planned_where_android_is() {
        let text = "version = 1
[[aspect]]
match = { type = \"A\" }
hooks = \"android-trace\"
[[aspect]]
match = { method = \"both\" }
advice = \"enter\"
";
        let matcher = Matcher::new(Rules::parse("test", text).unwrap());
        let hierarchy = Hierarchy::default();
        let artifact = matcher.for_artifact("app.apk", None, &hierarchy);
        let plan = |android: bool| {
            let base_of = |_: u32, _: &str| 10;
            let planner = Planner::new(&artifact, &base_of, true);
            let mut planner = if android {
                planner.on_android()
            } else {
                planner
            };
            show(&mut planner, &["section", "both"]);
            let woven: Vec<_> = planner
                .plan
                .methods
                .iter()
                .map(|m| (m.id, m.advice))
                .collect();
            let left: Vec<_> = planner
                .plan
                .skipped
                .iter()
                .map(|s| (s.index, s.reason))
                .collect();
            (woven, left)
        };
        let both = Advice::SECTION.with(Advice::ENTER);
        assert_eq!(
            plan(true),
            (vec![(10, Advice::SECTION), (11, both)], vec![])
        );
        assert_eq!(
            plan(false),
            (vec![(11, Advice::ENTER)], vec![(0, Reason::OnlyAndroid)])
        );
    }
}
