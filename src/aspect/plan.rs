//! The plan: which methods of one artifact get which advice and which id, and why others do not.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::bind::binder::{AtPoint, Binder, CALLER, Meets, Subject};
use crate::aspect::bind::call::{Bound, Convert};
use crate::aspect::bind::catalog::Leaves;
use crate::aspect::bind::misfit::Misfit;
use crate::aspect::bind::site::{Redirect, Replacement, Where, is_platform};
use crate::aspect::bind::ty::{Language, Target, Ty};
use crate::aspect::bind::visible::{Named, Visible};
use crate::aspect::joinpoint::{CallSite, Kinds, Method, Type, Visitor};
use crate::aspect::joinpoint::{Callee, Callers};
use crate::aspect::point::{Point, PointKind, PointKinds};
use crate::aspect::pointcut::{ArtifactMatcher, Hierarchy, Matched, TypeMatcher, Verdict};
use crate::aspect::rules::hook::Word;
use crate::aspect::rules::model::{At, OwnHooks};
use crate::error::Result as CrateResult;
use crate::spans::SpanRule;
use crate::switches::{Switch, Switches, says};
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

    /// When hooks run of a layer of its hooks: the pair lies with the body, in the innermost one.
    pub fn advice_of(&self, layer: Option<&Bound>) -> Advice {
        let own = match layer {
            Some(layer) if layer.has_own_hooks() => Advice::OWN,
            _ => Advice::default(),
        };
        match layer.is_some_and(|layer| layer.around.is_some()) {
            true => own,
            false => self.advice.without(Advice::OWN).with(own),
        }
    }
}

/// A method that some rule looked at and that is left as it was.
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

/// A method whose calls begin a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its type and index, as in [`Planned`].
    pub place: (u32, u32),
    /// They are spans, of which a rule says this.
    pub span: Option<Arc<SpanRule>>,
}

/// The id of such a method, and what a rule says of its spans.
pub type RootId = (u32, Option<Arc<SpanRule>>);

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
    /// The methods that can be switched, by type and index, and by which aspects.
    pub switched: Vec<((u32, u32), Switches)>,
    /// The calls that are redirected, ascending.
    pub calls: Vec<Redirected>,
    /// What is called instead, each once.
    pub redirects: Vec<Arc<Redirect>>,
    /// The id of each of them that is recorded, else 0. Empty until ids are claimed.
    pub call_ids: Vec<u32>,
    /// Java's serialization asks for no number of the class: see [`serial`](crate::aspect::serial). The JVM plans one class at a time.
    pub has_no_serial_number: bool,
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
        let ids = ids.filter_map(|root| Some((self.id(root.place)?, root.span.clone())));
        let mut ids: Vec<RootId> = ids.collect();
        ids.sort_unstable();
        ids
    }

    /// The ids of the methods that can be switched, ascending, and by which aspects.
    pub fn switched_ids(&self) -> Vec<(u32, Switches)> {
        let ids = (self.switched.iter())
            .filter_map(|(place, switches)| Some((self.id(*place)?, Arc::clone(switches))));
        let mut ids: Vec<(u32, Switches)> = ids.collect();
        ids.sort_unstable_by_key(|(id, _)| *id);
        ids
    }

    /// The id of a planned method, by type and index.
    fn id(&self, place: (u32, u32)) -> Option<u32> {
        let found = (self.methods).binary_search_by_key(&place, |m| (m.ty, m.index));
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

    /// Leaves planned methods as they are; `name` gives name and descriptor of a method by the numbers of its type and its own.
    pub fn leave_methods(
        &mut self,
        reason: Reason,
        leaves: impl Fn(&Plan, &Planned) -> bool,
        name: impl Fn(u32, u32) -> CrateResult<String>,
    ) -> CrateResult<()> {
        let methods = std::mem::take(&mut self.methods);
        let (left, kept): (Vec<_>, Vec<_>) = (methods.into_iter()).partition(|m| leaves(self, m));
        self.methods = kept;
        for planned in left {
            self.skipped.push(Skipped {
                ty: planned.ty,
                index: planned.index,
                method: name(planned.ty, planned.index)?,
                reason,
                asked: false,
            });
        }
        Ok(())
    }

    /// Leaves planned calls as they are; `name` gives name and descriptor of a method by the numbers of its type and its own.
    pub fn leave_calls(
        &mut self,
        left: &[(Redirected, Reason)],
        name: impl Fn(u32, u32) -> CrateResult<String>,
    ) -> CrateResult<()> {
        let stay: FxHashSet<Redirected> = left.iter().map(|(call, _)| *call).collect();
        self.calls.retain(|call| !stay.contains(call));
        for (call, reason) in left {
            self.skipped.push(Skipped {
                ty: call.ty,
                index: call.index,
                method: name(call.ty, call.index)?,
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
    /// The file name of the artifact.
    pub artifact: &'a str,
    /// What names of adapters begin with, package and all (JVM, dex).
    pub adapters: &'a str,
}

/// What methods share that have the same hooks, see [`Planner::bind_alike`]. A span may end with what its method gives: it has the descriptor.
type Alike = (Option<i32>, bool, Option<(SpanRule, String)>);

/// Makes a [`Plan`] while a backend's scan walks an artifact.
pub struct Planner<'a> {
    matcher: &'a ArtifactMatcher<'a>,
    base_of: BaseOf<'a>,
    explain: bool,
    /// The hooks that there are for the format.
    hooks: Advice,
    /// The type under way, and the base of its ids.
    current: Option<(u32, TypeMatcher<'a>)>,
    /// What of it is not woven, since rules call it.
    leaves: Leaves<'a>,
    /// Its name, when explaining or binding.
    name: String,
    /// An aspect that takes contexts from calls of the method under way.
    takes: Option<u32>,
    /// What binds own hooks.
    own: Option<Own<'a>>,
    /// What is called instead of methods that aspects mean; none where something does not fit.
    redirects: FxHashMap<Called, Option<u32>>,
    /// What is called at points that an aspect means, for methods whose objects are of a type; none where something does not fit.
    points: FxHashMap<PlannedPoint, Option<Range<u32>>>,
    /// The aspects as switches, by their numbers; none where there is nothing to switch.
    switches: Vec<Option<Arc<Switch>>>,
    /// Those that take a method together.
    together: FxHashMap<Vec<u32>, Switches>,
    /// The hooks of methods that have no others, by what they say if they are switched, whether they end later than they return, and
    /// what their spans are.
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
        (advice, switched): (Advice, Option<i32>),
        span: Option<&SpanRule>,
    ) -> Option<Option<u32>> {
        let (Some(own), Some((_, matcher))) = (&self.own, &self.current) else {
            return None;
        };
        let mut meets = Vec::new();
        matcher.each_aspect(method, &mut |aspect, said| {
            if said.is_ok()
                && let Some((name, hooks)) = self.matcher.matcher().own_hooks(aspect)
                && hooks.at.is_none()
            {
                meets.push((aspect, name, hooks));
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
            ..Subject::new(
                (&self.name, method.name),
                &signature,
                (own.artifact, own.adapters),
            )
        };
        let bound = own.binder.bind(&meets, &subject);
        for &(aspect, _, hooks) in &meets {
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
            Ok(bound) if bound.is_empty() && meets.iter().any(|(.., own)| own.around.is_some()) => {
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
    /// The hooks of a method that takes contexts from calls: they are over with it.
    fn frame(&self, method: &Method<'_>) -> Option<Meets<'a>> {
        let language = self.own.as_ref()?.binder.target.language();
        let aspect = self
            .takes
            .filter(|_| language == Language::Java && !method.kinds.intersects(Kinds::ASYNC))?;
        let (name, hooks) = self.matcher.matcher().own_hooks(aspect)?;
        Some((aspect, name, hooks.at.as_ref()?.frame.as_deref()?))
    }
}

impl Planner<'_> {
    /// Plans the points of a method that aspects of points take.
    fn at_points(&mut self, index: u32, method: &Method<'_>) {
        let kinds = self.matcher.matcher().kinds_of_points();
        let first = self.plan.calls.len();
        if kinds.has(PointKind::Call) {
            self.takes = self.calls(index, method);
        }
        if kinds.has_points() {
            self.points(index, method, kinds);
        }
        self.plan.calls[first..].sort_by_key(|call| (call.inner, call.at));
    }

    /// Plans the calls of a method that aspects of calls take. Gives one that takes contexts there.
    fn calls(&mut self, index: u32, method: &Method<'_>) -> Option<u32> {
        let (Some(own), Some((_, matcher))) = (&self.own, &self.current) else {
            return None;
        };
        let mut takes = None;
        let mut meets: Vec<(Meets<'_>, &At)> = Vec::new();
        matcher.each_aspect(method, &mut |aspect, said| {
            if said.is_ok()
                && let Some((name, hooks)) = self.matcher.matcher().own_hooks(aspect)
                && let Some(at) = hooks.at.as_ref().filter(|at| at.kind == PointKind::Call)
            {
                meets.push(((aspect, name, hooks), at));
            }
        });
        let visible = Visible {
            catalog: own.binder.catalog,
            hierarchy: own.binder.hierarchy,
        };
        let ty = self.plan.types - 1;
        let mut left = Vec::new();
        let (plan, redirects, misfits) = (&mut self.plan, &mut self.redirects, &mut self.misfits);
        let asks_line = |(.., own): &Meets<'_>| asks_for(own, &Word::Line);
        let lines = match meets.iter().any(|(meets, _)| asks_line(meets)) {
            true => method.details.lines(),
            false => Vec::new(),
        };
        method.details.calls(&mut |site| {
            let mut is_exact = false;
            let mut meant: Vec<Meets<'_>> = Vec::new();
            let means = |at: &At| matcher.means_call(at, site, own.binder.hierarchy);
            for (meets, at) in meets.iter().filter(|(_, at)| means(at)) {
                is_exact |= at.is_exact();
                meant.push(*meets);
            }
            if meant.is_empty() {
                return;
            }
            let is_replaced = meant.iter().any(|(.., own)| own.replace.is_some());
            let language = own.binder.target.language();
            match callee(site, &self.name, language, &visible, is_replaced) {
                Err(reason) => {
                    // A method that calls what it overrides is itself no such call.
                    left.push((reason, is_exact && reason != Reason::CallOfSuper));
                    for (aspect, ..) in meant {
                        plan.matched.note_left(aspect, reason);
                    }
                }
                Ok(callee) => {
                    let aspects: Vec<u32> = meant.iter().map(|(aspect, ..)| *aspect).collect();
                    let asks =
                        |(.., own): &Meets<'_>| asks_for(own, &Word::Named(CALLER.to_owned()));
                    // All calls of one method share a redirect, unless a hook takes the caller or the line.
                    let caller = meant
                        .iter()
                        .any(asks)
                        .then(|| format!("{}.{}", self.name.replace('/', "."), method.name));
                    let line = meant.iter().any(asks_line).then(|| {
                        let next = lines.partition_point(|(at, _)| *at <= site.at);
                        next.checked_sub(1).map_or(0, |place| lines[place].1)
                    });
                    let key = (callee, aspects, (caller, line));
                    let redirect = match redirects.get(&key) {
                        Some(&known) => known,
                        None => {
                            let signature = key.0.signature();
                            let subject = Subject {
                                is_call: true,
                                caller: key.2.0.as_deref(),
                                line: line.unwrap_or_default(),
                                texts: self.matcher.matcher().texts(),
                                ..Subject::new(
                                    (site.ty, site.method),
                                    &signature,
                                    (own.artifact, own.adapters),
                                )
                            };
                            let described = site.details.described();
                            let bound = own.binder.bind_call(
                                &meant,
                                &subject,
                                described.as_deref().unwrap_or(site.descriptor),
                                &key.0,
                            );
                            let bound = bound.and_then(|redirect| match own.binder.target {
                                Target::Dex => as_it_is(redirect, &meant),
                                Target::Jvm | Target::DotNet => Ok(redirect),
                            });
                            let place = match bound {
                                Ok(redirect) => {
                                    plan.redirects.push(Arc::new(redirect));
                                    Some(plan.redirects.len() as u32 - 1)
                                }
                                Err(wrong) => {
                                    misfits.extend(wrong);
                                    None
                                }
                            };
                            redirects.insert(key, place);
                            place
                        }
                    };
                    if let Some(redirect) = redirect {
                        plan.calls.push(Redirected {
                            ty,
                            index,
                            inner: 0,
                            at: site.at,
                            redirect,
                        });
                        for (aspect, _, own) in meant {
                            plan.matched.note_woven(aspect);
                            if own.taken().is_some() {
                                takes.get_or_insert(aspect);
                            }
                        }
                    }
                }
            }
        });
        for (reason, asked) in left {
            self.note_skipped(ty, index, method, reason, asked);
        }
        takes
    }

    /// Plans the points beside calls.
    fn points(&mut self, index: u32, method: &Method<'_>, kinds: PointKinds) {
        let (Some(own), Some((_, matcher))) = (&self.own, &self.current) else {
            return;
        };
        let mut meets: Vec<(Meets<'_>, &At)> = Vec::new();
        let mut wanted = PointKinds::default();
        matcher.each_aspect(method, &mut |aspect, said| {
            if said.is_ok()
                && let Some((name, hooks)) = self.matcher.matcher().own_hooks(aspect)
                && let Some(at) = hooks.at.as_ref().filter(|at| at.kind != PointKind::Call)
                && kinds.has(at.kind)
            {
                wanted.add(at.kind);
                meets.push(((aspect, name, hooks), at));
            }
        });
        if meets.is_empty() {
            return;
        }
        let language = own.binder.target.language();
        let refused = |kind: PointKind| match (kind, language) {
            (PointKind::MonitorEnter | PointKind::MonitorExit, Language::CSharp) => Some((
                "a lock in .NET is a call".to_owned(),
                "`at = { call = { type = \"System.Threading.Monitor\", method = \"Enter\" } }`",
            )),
            _ => None,
        };
        if meets.iter().any(|(_, at)| refused(at.kind).is_some()) {
            for ((_, _, hooks), at) in meets {
                let Some((title, help)) = refused(at.kind) else {
                    continue;
                };
                self.misfits.push(Misfit {
                    source: Arc::clone(&hooks.source),
                    span: at.span.clone(),
                    title,
                    what: "of".into(),
                    method: format!("{}.{}", self.name.replace('/', "."), method.name),
                    help: Some(help.into()),
                });
            }
            return;
        }
        let Some(signature) = method.details.signature() else {
            return;
        };
        let mut left = Vec::new();
        if wanted.has(PointKind::Line) && !method.details.has_lines() {
            left.push(Reason::NoLines);
            for ((aspect, ..), _) in meets.iter().filter(|(_, at)| at.kind == PointKind::Line) {
                self.plan.matched.note_left(*aspect, Reason::NoLines);
            }
        }
        // Static methods of an assembly cannot speak of a generic type's own parameters.
        let object = Ty::class("System.Object");
        let this = match (&signature.this, language) {
            (Some(Ty::Named(named)), Language::CSharp) if !named.args.is_empty() => Some(&object),
            (this, _) => this.as_ref(),
        };
        let is_by_ref = matches!(this, Some(Ty::ByRef(_)));
        let lacks_this = this.and_then(|_| method.details.lacks_this());
        let this = this.filter(|_| lacks_this.is_none());
        let ty = self.plan.types - 1;
        let (plan, points, misfits) = (&mut self.plan, &mut self.points, &mut self.misfits);
        let type_name = &self.name;
        method.details.points(wanted, &mut |site| {
            let meant = meets.iter().filter(|(_, at)| matcher.means_point(at, site));
            let mut before = Vec::new();
            let mut behind = Vec::new();
            let mut replaced = false;
            for &(meets, at) in meant {
                let (aspect, _, hooks) = meets;
                let point = match site.details.point(hooks.replace.is_some()) {
                    Ok(_) if is_by_ref && asks_for(hooks, &Word::This) => {
                        Err(Reason::PointOfStruct)
                    }
                    Ok(point)
                        if language == Language::CSharp
                            && asks_for(hooks, &Word::Result)
                            && may_be_struct(&point, own.binder.hierarchy) =>
                    {
                        Err(Reason::PointOfStruct)
                    }
                    point => point,
                };
                let point = match point {
                    Ok(point) => point,
                    Err(reason) => {
                        left.push(reason);
                        plan.matched.note_left(aspect, reason);
                        continue;
                    }
                };
                let thrown = at.thrown.as_ref().map(|thrown| own.binder.thrown(thrown));
                let holder = format!("{}.{}", type_name.replace('/', "."), method.name);
                let shown = format!("{} in {holder}", at.kind.word());
                let asks = asks_for(hooks, &Word::Named(CALLER.to_owned()));
                let caller = asks.then_some(holder);
                let at = AtPoint {
                    point: &point,
                    when: Where::Before,
                    passed: &[],
                    this,
                    lacks_this,
                    thrown: thrown
                        .as_ref()
                        .and_then(|thrown| thrown.as_ref().ok())
                        .and_then(Option::as_ref),
                    caller: caller.as_deref(),
                    shown: &shown,
                };
                if let Some(reason) = at.lacks(hooks) {
                    left.push(reason);
                    plan.matched.note_left(aspect, reason);
                    continue;
                }
                if let Some(Err(wrong)) = &thrown {
                    misfits.push(own.binder.unknown_thrown(meets, &at, wrong));
                    continue;
                }
                if hooks.replace.is_some() && std::mem::replace(&mut replaced, true) {
                    misfits.push(own.binder.replaced_twice(meets, &at));
                    continue;
                }
                let key = (point.clone(), aspect, this.cloned(), caller.clone());
                let places = points.entry(key).or_insert_with(|| {
                    let bound = own
                        .binder
                        .bind_point(meets, &at, (own.artifact, own.adapters));
                    let bound = bound.and_then(|all| {
                        let as_it_is = |redirect| match own.binder.target {
                            Target::Dex => as_it_is(redirect, &[meets]),
                            Target::Jvm | Target::DotNet => Ok(redirect),
                        };
                        all.into_iter().map(as_it_is).collect::<Result<Vec<_>, _>>()
                    });
                    match bound {
                        Ok(all) => {
                            let first = plan.redirects.len() as u32;
                            plan.redirects.extend(all.into_iter().map(Arc::new));
                            Some(first..plan.redirects.len() as u32)
                        }
                        Err(wrong) => {
                            misfits.extend(wrong);
                            None
                        }
                    }
                });
                for redirect in places.iter().flat_map(Range::clone) {
                    let call = Redirected {
                        ty,
                        index,
                        inner: site.details.inner(),
                        at: site.at,
                        redirect,
                    };
                    match plan.redirects[redirect as usize]
                        .placed
                        .as_ref()
                        .map(|p| p.when)
                    {
                        Some(Where::After) => behind.push(call),
                        _ => before.push(call),
                    }
                    plan.matched.note_woven(aspect);
                }
            }
            // Aspects nest.
            behind.reverse();
            plan.calls.append(&mut before);
            plan.calls.append(&mut behind);
        });
        for reason in left {
            self.note_skipped(ty, index, method, reason, false);
        }
    }

    /// What the first aspect says that makes spans of a method's calls.
    fn span(&self, method: &Method<'_>) -> Option<Arc<SpanRule>> {
        let (_, matcher) = self.current.as_ref()?;
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
        let (false, Some((_, matcher))) = (self.switches.is_empty(), &self.current) else {
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
            return self.bind(method, (advice, Some(says)), span).flatten();
        }
        self.bind_alike(method, (advice, Some(says)), span)
    }

    /// Binds the hooks of a method whose calls are spans.
    fn bind_span(
        &mut self,
        method: &Method<'_>,
        advice: Advice,
        (switches, span): (Option<&Switches>, &SpanRule),
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
        (advice, switched): (Advice, Option<i32>),
        span: Option<&SpanRule>,
    ) -> Option<u32> {
        let is_async = method.kinds.intersects(Kinds::ASYNC);
        let of_span = span.map(|span| (span.clone(), method.descriptor.to_string()));
        let like = (switched, is_async, of_span);
        if let Some(&known) = self.alike.get(&like) {
            return Some(known);
        }
        let place = self.bind(method, (advice, switched), span).flatten()?;
        self.alike.insert(like, place);
        Some(place)
    }

    /// Leaves a method of a type that rules call.
    fn leave_called(&mut self, ty: u32, index: u32, method: &Method<'_>) {
        let Some((_, matcher)) = &self.current else {
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

    /// Whether an aspect with hooks of its own leaves a method out that is too small for a trace.
    fn leaves_of_own(&self, method: &Method<'_>, reason: Reason) -> bool {
        let all = self.matcher.matcher();
        let (true, Some((_, matcher))) = (
            matches!(reason, Reason::Trivial | Reason::Small) && all.has_observers(),
            &self.current,
        ) else {
            return false;
        };
        let mut leaves = false;
        matcher.each_aspect(method, &mut |aspect, said| {
            let own = all.own_hooks(aspect);
            leaves |= said == Err(reason) && own.is_some_and(|(_, own)| own.has_hooks());
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
    let hooks = meets.iter().flat_map(|(.., own)| {
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

/// A method that is called, the aspects that mean the call, and who makes it, where one of them asks for that.
type Called = (Callee, Vec<u32>, (Option<String>, Option<u32>));

/// A point, the aspect that means it, the type of the method's object, and the method, where a hook asks for it.
type PlannedPoint = (Point, u32, Option<Ty>, Option<String>);

/// Whether some hook takes this.
fn asks_for(hooks: &OwnHooks, word: &Word) -> bool {
    hooks.operands().any(|operand| operand.word == *word)
}

/// Whether a new object is of a type of another assembly that may be a struct which no object holds (.NET).
fn may_be_struct(point: &Point, hierarchy: &Hierarchy) -> bool {
    let (PointKind::New, Ty::Named(owner)) = (point.kind, &point.owner) else {
        return false;
    };
    if point.result == point.owner {
        return false;
    }
    // What the input and references say: the platform's own structs are made and held like classes.
    match hierarchy.supertypes.get(&owner.name) {
        Some(supertypes) => supertypes.iter().any(|ty| **ty == *"System.ValueType"),
        None => !is_platform(&owner.scope),
    }
}

/// In dex files nothing converts what a hook instead of a call takes and returns.
fn as_it_is(redirect: Redirect, meant: &[Meets<'_>]) -> Result<Redirect, Vec<Misfit>> {
    let converts = |replace: &Replacement| !replace.takes_over(&redirect.callee);
    let written = (meant.iter()).find_map(|(_, _, own)| Some((own.replace.as_ref()?, own)));
    match (written, redirect.replace.as_ref().is_some_and(converts)) {
        (Some((written, own)), true) => Err(vec![Misfit {
            source: Arc::clone(&own.source),
            span: written.name.clone(),
            title: "in dex files a hook instead of a call must take and return just what that does"
                .into(),
            what: "of".into(),
            method: redirect.callee.shown(redirect.target.language()),
            help: Some("`target, args..` are the operands; or use `before` and `after`".into()),
        }]),
        _ => Ok(redirect),
    }
}

/// What a call calls, if others can call it as well, or it is replaced.
fn callee(
    site: &CallSite<'_>,
    caller: &str,
    language: Language,
    visible: &Visible<'_>,
    is_replaced: bool,
) -> Result<Callee, Reason> {
    let named = Named {
        owner: site.ty,
        name: site.method,
        descriptor: site.descriptor,
        how: site.how?,
    };
    if language == Language::CSharp {
        let callee = site.details.callee().ok_or(Reason::Unsupported)?;
        return match site.details.callers() {
            Callers::Some if !is_replaced => Err(Reason::CallOfHidden),
            Callers::Below(bases) if !is_replaced => {
                let bases = bases.iter().map(|base| &**base);
                let said = visible.is_public_outside(site.ty, site.method, bases);
                said.map(|()| callee)
            }
            _ => Ok(callee),
        };
    }
    if visible.is_caller_sensitive(named) {
        return Err(Reason::CallerSensitive);
    }
    // Nobody else makes a call that is replaced.
    if !is_replaced {
        visible.is_public(caller, named)?;
    }
    site.details.callee().ok_or(Reason::CallOfHidden)
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
        self.current = self
            .matcher
            .for_type(ty)
            .map(|matcher| ((self.base_of)(number, ty.name), matcher));
        if (self.explain || self.own.is_some()) && self.current.is_some() {
            ty.name.clone_into(&mut self.name);
        }
        self.current.is_some()
    }

    fn method(&mut self, index: u32, method: &Method<'_>) {
        let Some((base, matcher)) = &self.current else {
            return;
        };
        let (ty, base) = (self.plan.types - 1, *base);
        let is_left = match self.leaves {
            Leaves::Methods(methods) => methods.iter().any(|left| **left == *method.name),
            leaves => leaves == Leaves::All,
        };
        if is_left {
            return self.leave_called(ty, index, method);
        }
        let mut has_calls = false;
        self.takes = None;
        let verdict = matcher.method(method, &mut self.plan.matched);
        let mut span = None;
        if matches!(verdict, Verdict::Weave(advice) if advice.has(Advice::ROOT)) {
            span = self.span(method);
            self.plan.roots.push(Root {
                place: (ty, index),
                span: span.clone(),
            });
        }
        let verdict = match verdict {
            Verdict::Weave(advice) if advice.has(Advice::CALLS) => {
                self.at_points(index, method);
                has_calls = true;
                let advice = match self.frame(method) {
                    Some(_) => advice.with(Advice::OWN),
                    None => advice,
                };
                match advice.without(Advice::CALLS) {
                    Advice(0) => Verdict::Unmatched,
                    advice => Verdict::Weave(advice),
                }
            }
            verdict => verdict,
        };
        let verdict = match verdict {
            Verdict::Weave(advice) => match advice.only(self.hooks) {
                Advice(0) => Verdict::Skip(Reason::OnlyAndroid),
                advice => Verdict::Weave(advice),
            },
            verdict => verdict,
        };
        let switches = match verdict {
            Verdict::Weave(advice) => self.switches(method, advice),
            _ => None,
        };
        let span = span.filter(|_| self.is_span_hooked(method, verdict));
        let (verdict, bound) = match (verdict, &switches) {
            (Verdict::Weave(advice), switches) if let Some(span) = &span => {
                let of_span = (switches.as_ref(), &**span);
                let Some(place) = self.bind_span(method, advice, of_span) else {
                    return; // the job fails for it
                };
                if let Some(switches) = switches {
                    let switches = Arc::clone(switches);
                    self.plan.switched.push(((ty, index), switches));
                }
                let rest = advice.without(Advice::LIBRARY).with(Advice::OWN);
                let advice = match self.plan.bound[place as usize].logical {
                    Some(_) => rest.with(Advice::ALL), // its pieces have their hooks
                    None => rest,
                };
                (Verdict::Weave(advice), Some(place))
            }
            (Verdict::Weave(advice), Some(switches)) => {
                let Some(place) = self.bind_switched(method, advice, switches) else {
                    return; // the job fails for it
                };
                self.plan.switched.push(((ty, index), Arc::clone(switches)));
                let rest = advice.without(Advice::LIBRARY);
                let advice = match self.plan.bound[place as usize].logical {
                    // Its pieces have their hooks.
                    Some(_) if self.plan.bound[place as usize].has_own_hooks() => {
                        rest.with(Advice::ALL).with(Advice::OWN)
                    }
                    Some(_) => rest.with(Advice::ALL),
                    None => rest.with(Advice::OWN),
                };
                (Verdict::Weave(advice), Some(place))
            }
            (Verdict::Weave(advice), None) if advice.has(Advice::OWN) => {
                match self.bind(method, (advice, None), None) {
                    Some(Some(place)) => (verdict, Some(place)),
                    // Its aspects pass over it, but for what they record.
                    Some(None) => match advice.without(Advice::OWN) {
                        Advice(0) => (Verdict::Unmatched, None),
                        advice => (Verdict::Weave(advice), None),
                    },
                    None => return, // the job fails for it
                }
            }
            (Verdict::Weave(advice), None) if self.tells_texts(advice) => {
                let Some(place) = self.bind_alike(method, (advice, None), None) else {
                    return; // the job fails for it
                };
                (Verdict::Weave(advice.with(Advice::OWN)), Some(place))
            }
            (verdict, _) => (verdict, None),
        };
        let Some((_, matcher)) = &self.current else {
            return;
        };
        if self.explain && (has_calls || verdict != Verdict::Unmatched) {
            let (mut taken, mut left) = (Vec::new(), Vec::new());
            matcher.each_aspect(method, &mut |aspect, said| match said {
                Ok(advice) if advice.only(self.hooks) != Advice::default() => taken.push(aspect),
                _ => left.push(aspect),
            });
            let aspects = if taken.is_empty() { left } else { taken };
            self.plan.meant.push(Meant { ty, index, aspects });
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
                artifact: "app.jar",
                adapters: "weave/hooks/",
            };
            let mut planner = Planner::new(&artifact, &base_of, false).with_own(own);
            show(&mut planner, &["work", "noise", "part", "plain", "other"]);
            assert!(planner.misfits.is_empty());
            let plan = planner.plan;
            let switched: FxHashMap<u32, Switches> = plan.switched_ids().into_iter().collect();
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
                switched(0, "all error, noise debug, too often info")
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
                details: &Nothing,
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
