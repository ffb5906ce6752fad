//! Plans hooks at points inside methods: calls, fields, exceptions, lines, locks.

use super::{Current, MethodPlace, Own, Plan, Planner, Redirected};
use crate::aspect::advice::Reason;
use crate::aspect::bind::binder::{AtPoint, CALLER, Subject, is_enumerated};
use crate::aspect::bind::misfit::Misfit;
use crate::aspect::bind::site::{Redirect, Replacement, Where, is_platform};
use crate::aspect::bind::ty::{Language, Target, Ty};
use crate::aspect::bind::visible::{Named, Visible};
use crate::aspect::joinpoint::{CallSite, Callee, Callers, Kinds, LineStart, Method};
use crate::aspect::point::{Point, PointKind, PointKinds, PointSite};
use crate::aspect::pointcut::{Hierarchy, TypeMatcher};
use crate::aspect::rules::hook::Word;
use crate::aspect::rules::model::{At, Meets, OwnHooks, Texts};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

/// What calls share that go to one redirect.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Called {
    callee: Callee,
    /// The aspects that mean the call.
    aspects: Vec<u32>,
    /// The method that makes the call, where a hook asks for it.
    caller: Option<String>,
    /// The line of the call, where a hook asks for it.
    line: Option<u32>,
}

/// What points share that have the same redirects.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct PlannedPoint {
    point: Point,
    /// The aspect that means it.
    aspect: u32,
    /// The type of the method's object.
    this: Option<Ty>,
    /// The method, where a hook asks for it.
    caller: Option<String>,
}

/// An aspect of points that takes a method.
#[derive(Clone, Copy)]
struct PointAspect<'m> {
    meets: Meets<'m>,
    at: &'m At,
}

/// Why a point has no hooks.
struct LeftPoint {
    reason: Reason,
    /// A rule asked for just this one.
    asked: bool,
}

/// The method whose points are planned, and where the plan goes.
struct Site<'p> {
    own: &'p Own<'p>,
    matcher: &'p TypeMatcher<'p>,
    /// The name of its type.
    ty: &'p str,
    name: &'p str,
    place: MethodPlace,
    plan: &'p mut Plan,
    misfits: &'p mut Vec<Misfit>,
    left: Vec<LeftPoint>,
}

impl Site<'_> {
    /// The method as rules spell it.
    fn holder(&self) -> String {
        format!("{}.{}", self.ty.replace('/', "."), self.name)
    }

    /// Takes over what was bound, if it fits: its places in the plan.
    fn take_over(&mut self, bound: Bound, meant: &[Meets<'_>]) -> Option<Range<u32>> {
        let bound = bound.and_then(|all| match self.own.binder.target {
            Target::Dex => all.into_iter().map(|one| as_it_is(one, meant)).collect(),
            Target::Jvm | Target::DotNet => Ok(all),
        });
        match bound {
            Ok(all) => {
                let first = self.plan.redirects.len() as u32;
                self.plan.redirects.extend(all.into_iter().map(Arc::new));
                Some(first..self.plan.redirects.len() as u32)
            }
            Err(wrong) => {
                self.misfits.extend(wrong);
                None
            }
        }
    }

    /// A point gets no hooks of an aspect.
    fn leave(&mut self, aspect: u32, reason: Reason) {
        self.left.push(LeftPoint {
            reason,
            asked: false,
        });
        self.plan.matched.note_left(aspect, reason);
    }
}

type Bound = Result<Vec<Redirect>, Vec<Misfit>>;

impl<'a> Planner<'a> {
    /// Plans the points of a method that aspects of points take.
    pub(super) fn at_points(&mut self, index: u32, method: &Method<'_>) {
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

    /// The aspects of points of some kinds that take a method.
    fn aspects_at(
        &self,
        method: &Method<'_>,
        takes: impl Fn(PointKind) -> bool,
    ) -> Vec<PointAspect<'a>> {
        let rules = self.matcher.matcher();
        let mut all = Vec::new();
        let Some(Current { matcher, .. }) = &self.current else {
            return all;
        };
        matcher.each_aspect(method, &mut |aspect, said| {
            if said.is_ok()
                && let Some(meets) = rules.own_hooks(aspect)
                && let Some(at) = meets.hooks.at.as_deref().filter(|at| takes(at.kind))
            {
                all.push(PointAspect { meets, at });
            }
        });
        all
    }

    /// Plans the calls of a method that aspects of calls take. Gives one that takes contexts there.
    fn calls(&mut self, index: u32, method: &Method<'_>) -> Option<u32> {
        if !method.details.may_call(self.matcher) {
            return None;
        }
        let aspects = self.aspects_at(method, |kind| kind == PointKind::Call);
        if aspects.is_empty() {
            return None;
        }
        let texts = self.matcher.matcher().texts();
        let lines = match aspects.iter().any(|aspect| asks_for_line(&aspect.meets)) {
            true => method.details.lines(),
            false => Vec::new(),
        };
        let rules = self.matcher;
        let (site, planned) = self.site(index, method)?;
        let is_iterator = site.own.binder.target == Target::DotNet
            && method.kinds.intersects(Kinds::ASYNC)
            && (method.details.signature())
                .is_none_or(|signature| is_enumerated(&signature.result));
        let mut calls = Calls {
            site,
            aspects,
            is_iterator,
            texts,
            lines,
            redirects: planned.calls,
            takes: None,
        };
        method.details.calls(rules, &mut |call| calls.plan(call));
        let (takes, left) = (calls.takes, calls.site.left);
        self.note_left(index, method, left);
        takes
    }

    /// Plans the points beside calls.
    fn points(&mut self, index: u32, method: &Method<'_>, kinds: PointKinds) {
        let takes = |kind: PointKind| kind != PointKind::Call && kinds.has(kind);
        let aspects = self.aspects_at(method, takes);
        if aspects.is_empty() {
            return;
        }
        let Some((mut site, planned)) = self.site(index, method) else {
            return;
        };
        let language = site.own.binder.target.language();
        let refused = refused(&aspects, language, &site.holder());
        if !refused.is_empty() {
            site.misfits.extend(refused);
            return;
        }
        let Some(signature) = method.details.signature() else {
            return;
        };
        let mut wanted = PointKinds::default();
        aspects.iter().for_each(|aspect| wanted.add(aspect.at.kind));
        if wanted.has(PointKind::Line) && !method.details.has_lines() {
            site.left.push(LeftPoint {
                reason: Reason::NoLines,
                asked: false,
            });
            let lines = aspects
                .iter()
                .filter(|aspect| aspect.at.kind == PointKind::Line);
            lines.for_each(|aspect| {
                site.plan
                    .matched
                    .note_left(aspect.meets.aspect, Reason::NoLines)
            });
        }
        // Static methods of an assembly cannot speak of a generic type's own parameters.
        let object = Ty::class("System.Object");
        let this = match (&signature.this, language) {
            (Some(Ty::Named(named)), Language::CSharp) if !named.args.is_empty() => Some(&object),
            (this, _) => this.as_ref(),
        };
        let lacks_this = this.and_then(|_| method.details.lacks_this());
        let mut points = Points {
            site,
            aspects,
            this: this.filter(|_| lacks_this.is_none()),
            is_by_ref: matches!(this, Some(Ty::ByRef(_))),
            lacks_this,
            points: planned.points,
        };
        method
            .details
            .points(wanted, &mut |point| points.plan(point));
        let left = points.site.left;
        self.note_left(index, method, left);
    }

    /// A method whose points are planned, and what is planned for others already. `None` where no hooks are bound.
    fn site<'p>(&'p mut self, index: u32, method: &'p Method<'_>) -> Option<(Site<'p>, Known<'p>)> {
        let matcher = &self.current.as_ref()?.matcher;
        let site = Site {
            own: self.own.as_ref()?,
            matcher,
            ty: &self.name,
            name: method.name,
            place: MethodPlace {
                ty: self.plan.types - 1,
                index,
            },
            plan: &mut self.plan,
            misfits: &mut self.misfits,
            left: Vec::new(),
        };
        let known = Known {
            calls: &mut self.redirects,
            points: &mut self.points,
        };
        Some((site, known))
    }

    /// Notes the points of a method that get no hooks.
    fn note_left(&mut self, index: u32, method: &Method<'_>, left: Vec<LeftPoint>) {
        for LeftPoint { reason, asked } in left {
            self.note_skipped(self.plan.types - 1, index, method, reason, asked);
        }
    }
}

/// What is called instead of calls and at points, as far as it is planned: their places in the plan.
struct Known<'p> {
    calls: &'p mut FxHashMap<Called, Option<u32>>,
    points: &'p mut FxHashMap<PlannedPoint, Option<Range<u32>>>,
}

/// The calls of a method.
struct Calls<'p> {
    site: Site<'p>,
    aspects: Vec<PointAspect<'p>>,
    /// It is an iterator of .NET, which runs in the context of who enumerates it.
    is_iterator: bool,
    texts: &'p [Texts],
    /// The lines of the code, where a hook asks for them.
    lines: Vec<LineStart>,
    redirects: &'p mut FxHashMap<Called, Option<u32>>,
    /// An aspect that takes contexts from such a call.
    takes: Option<u32>,
}

impl Calls<'_> {
    fn plan(&mut self, call: &CallSite<'_>) {
        let (matcher, own) = (self.site.matcher, self.site.own);
        let means = |at: &At| matcher.means_call(at, call, own.binder.hierarchy);
        let aspects = self.aspects.iter().filter(|aspect| means(aspect.at));
        let (meant, exact): (Vec<Meets<'_>>, Vec<bool>) = aspects
            .map(|aspect| (aspect.meets, aspect.at.is_exact()))
            .unzip();
        if meant.is_empty() {
            return;
        }
        let takes = |meets: &&Meets<'_>| self.is_iterator && meets.hooks.taken().is_some();
        if let Some(meets) = meant.iter().find(takes) {
            return self.site.leave(meets.aspect, Reason::TakesInIterator);
        }
        let is_replaced = meant.iter().any(|meets| meets.hooks.replace.is_some());
        match callee(call, self.site.ty, own, is_replaced) {
            Err(reason) => {
                // A method that calls what it overrides is itself no such call.
                let asked = exact.contains(&true) && reason != Reason::CallOfSuper;
                self.site.left.push(LeftPoint { reason, asked });
                for meets in meant {
                    self.site.plan.matched.note_left(meets.aspect, reason);
                }
            }
            Ok(callee) => {
                let Some(redirect) = self.redirect(call, callee, &meant) else {
                    return;
                };
                let MethodPlace { ty, index } = self.site.place;
                self.site.plan.calls.push(Redirected {
                    ty,
                    index,
                    inner: 0,
                    at: call.at,
                    redirect,
                });
                for meets in meant {
                    self.site.plan.matched.note_woven(meets.aspect);
                    if meets.hooks.taken().is_some() {
                        self.takes.get_or_insert(meets.aspect);
                    }
                }
            }
        }
    }

    /// What is called instead. All calls of one method share it, unless a hook takes the caller or the line.
    fn redirect(
        &mut self,
        call: &CallSite<'_>,
        callee: Callee,
        meant: &[Meets<'_>],
    ) -> Option<u32> {
        let caller = meant.iter().any(|meets| asks_for_caller(meets.hooks));
        let key = Called {
            callee,
            aspects: meant.iter().map(|meets| meets.aspect).collect(),
            caller: caller.then(|| self.site.holder()),
            line: meant
                .iter()
                .any(asks_for_line)
                .then(|| LineStart::line_at(&self.lines, call.at)),
        };
        if let Some(&known) = self.redirects.get(&key) {
            return known;
        }
        let own = self.site.own;
        let signature = key.callee.signature();
        let subject = Subject {
            is_call: true,
            caller: key.caller.as_deref(),
            line: key.line.unwrap_or_default(),
            texts: self.texts,
            ..Subject::new(call.ty, call.method, &signature, own.home)
        };
        let described = call.details.described();
        let descriptor = described.as_deref().unwrap_or(call.descriptor);
        let bound = (own.binder).bind_call(meant, &subject, descriptor, &key.callee);
        let places = self
            .site
            .take_over(bound.map(|redirect| vec![redirect]), meant);
        let redirect = places.map(|places| places.start);
        self.redirects.insert(key, redirect);
        redirect
    }
}

/// The points of a method beside its calls.
struct Points<'p> {
    site: Site<'p>,
    aspects: Vec<PointAspect<'p>>,
    /// The type of the method's object, if hooks can have it; else why not.
    this: Option<&'p Ty>,
    lacks_this: Option<&'static str>,
    /// The object is a struct.
    is_by_ref: bool,
    points: &'p mut FxHashMap<PlannedPoint, Option<Range<u32>>>,
}

impl Points<'_> {
    fn plan(&mut self, found: &PointSite<'_>) {
        let matcher = self.site.matcher;
        let aspects = self.aspects.iter();
        let meant: Vec<_> = aspects
            .filter(|aspect| matcher.means_point(aspect.at, found))
            .copied()
            .collect();
        let mut before = Vec::new();
        let mut behind = Vec::new();
        let mut is_replaced = false;
        let MethodPlace { ty, index } = self.site.place;
        for aspect in meant {
            let places = self.redirects(found, aspect, &mut is_replaced);
            for redirect in places.into_iter().flatten() {
                let call = Redirected {
                    ty,
                    index,
                    inner: found.details.inner(),
                    at: found.at,
                    redirect,
                };
                let placed = &self.site.plan.redirects[redirect as usize].placed();
                match placed.map(|placed| placed.when) {
                    Some(Where::After) => behind.push(call),
                    _ => before.push(call),
                }
                self.site.plan.matched.note_woven(aspect.meets.aspect);
            }
        }
        // Aspects nest.
        behind.reverse();
        self.site.plan.calls.append(&mut before);
        self.site.plan.calls.append(&mut behind);
    }

    /// What the point gives an aspect's hooks, if it can give all that they ask for.
    fn point(&self, found: &PointSite<'_>, hooks: &OwnHooks) -> Result<Point, Reason> {
        let binder = &self.site.own.binder;
        let point = found.details.point(hooks.replace.is_some())?;
        let takes_struct = self.is_by_ref && asks_for(hooks, &Word::This);
        let gives_struct = binder.target.language() == Language::CSharp
            && asks_for(hooks, &Word::Result)
            && may_be_struct(&point, binder.hierarchy);
        match takes_struct || gives_struct {
            true => Err(Reason::PointOfStruct),
            false => Ok(point),
        }
    }

    /// What is called there for an aspect.
    fn redirects(
        &mut self,
        found: &PointSite<'_>,
        PointAspect { meets, at }: PointAspect<'_>,
        is_replaced: &mut bool,
    ) -> Option<Range<u32>> {
        let own = self.site.own;
        let Meets { aspect, hooks, .. } = meets;
        let point = match self.point(found, hooks) {
            Ok(point) => point,
            Err(reason) => {
                self.site.leave(aspect, reason);
                return None;
            }
        };
        let thrown = at.thrown.as_ref().map(|thrown| own.binder.thrown(thrown));
        let test = thrown.as_ref().and_then(|thrown| thrown.as_ref().ok());
        let holder = self.site.holder();
        let shown = format!("{} in {holder}", at.kind.word());
        let caller = asks_for_caller(hooks).then_some(holder);
        let at = AtPoint {
            point: &point,
            when: Where::Before,
            passed: &[],
            this: self.this,
            lacks_this: self.lacks_this,
            thrown: test.and_then(Option::as_ref),
            caller: caller.as_deref(),
            shown: &shown,
        };
        if let Some(reason) = at.lacks(hooks) {
            self.site.leave(aspect, reason);
            return None;
        }
        if let Some(Err(wrong)) = &thrown {
            let wrong = own.binder.unknown_thrown(meets, &at, wrong);
            self.site.misfits.push(wrong);
            return None;
        }
        if hooks.replace.is_some() && std::mem::replace(is_replaced, true) {
            let wrong = own.binder.replaced_twice(meets, &at);
            self.site.misfits.push(wrong);
            return None;
        }
        let key = PlannedPoint {
            point: point.clone(),
            aspect,
            this: self.this.cloned(),
            caller: caller.clone(),
        };
        if let Some(known) = self.points.get(&key) {
            return known.clone();
        }
        let bound = (own.binder).bind_point(meets, &at, own.home);
        let places = self.site.take_over(bound, &[meets]);
        self.points.insert(key, places.clone());
        places
    }
}

/// The aspects whose points a language does not have.
fn refused(aspects: &[PointAspect<'_>], language: Language, holder: &str) -> Vec<Misfit> {
    let is_refused = |kind: PointKind| match kind {
        PointKind::MonitorEnter | PointKind::MonitorExit => language == Language::CSharp,
        _ => false,
    };
    let aspects = aspects.iter().filter(|aspect| is_refused(aspect.at.kind));
    let misfits = aspects.map(|aspect| Misfit {
        source: Arc::clone(&aspect.meets.hooks.source),
        span: aspect.at.span.clone(),
        title: "a lock in .NET is a call".into(),
        what: "of".into(),
        method: holder.to_owned(),
        help: Some(
            "`at = { call = { type = \"System.Threading.Monitor\", method = \"Enter\" } }`".into(),
        ),
    });
    misfits.collect()
}

/// Whether some hook takes the caller's name.
fn asks_for_caller(hooks: &OwnHooks) -> bool {
    asks_for(hooks, &Word::Named(CALLER.to_owned()))
}

fn asks_for_line(Meets { hooks, .. }: &Meets<'_>) -> bool {
    asks_for(hooks, &Word::Line)
}

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
    let written =
        (meant.iter()).find_map(|meets| Some((meets.hooks.replace.as_ref()?, meets.hooks)));
    match (written, redirect.replace().is_some_and(converts)) {
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
    own: &Own<'_>,
    is_replaced: bool,
) -> Result<Callee, Reason> {
    let visible = Visible {
        catalog: own.binder.catalog,
        hierarchy: own.binder.hierarchy,
    };
    let named = Named {
        owner: site.ty,
        name: site.method,
        descriptor: site.descriptor,
        how: site.how?,
    };
    if own.binder.target.language() == Language::CSharp {
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
