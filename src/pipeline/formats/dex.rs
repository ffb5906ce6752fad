//! Dex files: those of an apk, or one alone.

use crate::aspect::advice::Advice;
use crate::aspect::joinpoint::{Method, MethodNames, Type, Visitor};
use crate::aspect::plan::{Plan, Planned};
use crate::aspect::pointcut::ArtifactMatcher;
use crate::aspect::serial::may_have_default_number;
use crate::aspect::woven::WovenType;
use crate::dex;
use crate::error::{Error, Result};
use crate::pipeline::context::{Context, Platform};
use crate::pipeline::formats::plan::{ADAPTERS, Scanned, plan};
use crate::pipeline::ledger::Ledger;
use crate::pipeline::ledger::touched::{Touched, complete, touched_calls};
use crate::pipeline::own::{Code, Needs};
use rayon::prelude::*;
use std::sync::Arc;

/// The class with the hooks.
const HOOKS: &str = "weave/runtime/Hooks";

/// A dex file to weave.
pub(crate) struct Source<'f> {
    /// Its member in an archive or folder; a file that the user named has none.
    pub(crate) member: Option<&'f str>,
    pub(crate) bytes: &'f [u8],
}

/// A dex file that some rule matches.
struct PlannedDex<'f> {
    dex: dex::Dex<'f>,
    plan: Plan,
}

/// The result for a dex file.
pub(crate) struct WovenDex {
    /// The new file, if anything was woven.
    pub(crate) bytes: Option<Vec<u8>>,
    /// It calls the hook library: sections of Android's trace alone do not.
    needs_library: bool,
    /// What its own hooks need.
    needs: Needs,
    /// The results of its types, ascending.
    types: Vec<Touched>,
}

/// Why nothing came of a dex file.
enum Failed {
    /// It cannot be read. In an archive or folder it stays as it is.
    Parse(Error),
    Weave(Error),
}

/// Weaves dex files of one artifact on all threads and records them in their order. `None` for one that stays as it is.
pub(crate) fn weave_dexes(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    matcher: &ArtifactMatcher<'_>,
    artifact: &str,
    sources: &[Source<'_>],
) -> Result<Vec<Option<WovenDex>>> {
    let place = |source: &Source<'_>, e: Error| match source.member {
        None => e.in_artifact(artifact),
        Some(member) => e.in_member(member).in_artifact(artifact),
    };
    let planned: Vec<_> = (sources.par_iter())
        .map(|source| PlannedDex::plan(cx, matcher, source.bytes))
        .collect();
    // Ids are claimed in the job's order, before anything is woven with them.
    let mut claimed = Vec::with_capacity(sources.len());
    for (source, planned) in sources.iter().zip(planned) {
        claimed.push(match planned {
            Ok(Some(mut dex)) => {
                dex.claim(cx, ledger).map_err(|e| place(source, e))?;
                Some(dex)
            }
            Ok(None) => None,
            Err(Failed::Parse(e)) if source.member.is_some() => {
                ledger.unreadable(&place(source, e));
                None
            }
            Err(Failed::Parse(e) | Failed::Weave(e)) => return Err(place(source, e)),
        });
    }
    let woven: Vec<_> = (claimed.into_par_iter())
        .map(|dex| dex.map_or(Ok(None), |dex| dex.weave(cx)))
        .collect();
    let mut recorded = Vec::with_capacity(sources.len());
    for (source, woven) in sources.iter().zip(woven) {
        let woven = woven.map_err(|e| place(source, e))?;
        let types = woven.iter().flat_map(|woven| &woven.types);
        types.for_each(|ty| ledger.record(artifact, ty));
        recorded.push(woven);
    }
    Ok(recorded)
}

impl<'f> PlannedDex<'f> {
    /// Plans a dex file. `None`: no rule has anything to say about it.
    fn plan(
        cx: &Context<'_>,
        matcher: &ArtifactMatcher<'_>,
        bytes: &'f [u8],
    ) -> std::result::Result<Option<PlannedDex<'f>>, Failed> {
        let dex = dex::Dex::parse(bytes).map_err(Failed::Parse)?;
        if !matcher.bytes_may_match(bytes) {
            return Ok(None);
        }
        let scan = |visitor: &mut dyn Visitor| dex::scan(&dex, visitor);
        let scanned = Scanned {
            adapters: ADAPTERS,
            platform: Platform::Android,
            code: Code::Dex,
            first: 0,
        };
        let plan = plan(cx, matcher, &|_, _| 0, scanned, scan);
        let mut plan = plan.map_err(Failed::Weave)?;
        if !plan.methods.is_empty() {
            // All ids of a file lie behind one base, in the order of its methods.
            let base = (cx.id_base)(&dex.fingerprint(), 0);
            let first = dex::first_numbers(&dex).map_err(Failed::Weave)?;
            for planned in &mut plan.methods {
                planned.id = base + first[planned.ty as usize] + planned.index;
            }
        }
        not_numbered(cx, &dex, &mut plan).map_err(Failed::Weave)?;
        let is_touched = !plan.is_empty() || !plan.matched.is_empty();
        Ok(is_touched.then_some(PlannedDex { dex, plan }))
    }

    /// Gives its methods ids that no other method has. Where one is taken, all move.
    fn claim(&mut self, cx: &Context<'_>, ledger: &mut Ledger<'_>) -> Result<()> {
        let fingerprint = self.dex.fingerprint();
        let base_of = |attempt| (cx.id_base)(&fingerprint, attempt);
        let dex = &self.dex;
        ledger.claim_behind(&mut self.plan, base_of, |planned| describe(dex, planned))
    }

    /// Weaves it. `None`: no rule matches it.
    fn weave(self, cx: &Context<'_>) -> Result<Option<WovenDex>> {
        let PlannedDex { dex, mut plan } = self;
        if plan.is_empty() {
            return Ok(None);
        }
        let run = |count: usize, task: &(dyn Fn(usize) + Sync)| {
            (0..count).into_par_iter().with_max_len(1).for_each(task);
        };
        let mut scratch = dex::Scratch::default();
        let types_before = plan.types();
        let callers = Callers::of(&dex, &plan)?;
        let redirected = redirect(&dex, &mut plan, &callers, &mut scratch, &run)?;
        let with_calls = redirected.as_deref().map(dex::Dex::parse).transpose()?;
        let woven = dex::weave(
            with_calls.as_ref().unwrap_or(&dex),
            &plan,
            &mut scratch,
            &run,
        )?;
        let bytes = woven.bytes.or(redirected);
        // Methods that are called instead have no names in the trace.
        let types = woven.types.into_iter().filter(|ty| ty.ty < types_before);
        let mut types: Vec<_> = types.map(|ty| Touched::new(ty, vec![])).collect();
        let calls = |p: &Planned| p.advice.only(Advice::LIBRARY) != Advice::default();
        let needs = Needs::of(&plan);
        let needs_library =
            bytes.is_some() && (plan.methods.iter().any(calls) || needs.calls_library());
        let values = plan.values();
        let (roots, switched) = (plan.root_ids(), plan.switched_ids());
        for ty in &mut types {
            ty.note_values(&values);
            ty.note_roots(&roots);
            ty.note_switched(&switched);
        }
        if bytes.is_some() {
            callers.add_calls(&mut types, &plan)?;
        }
        complete(&mut types, plan, cx.explain);
        Ok(Some(WovenDex {
            bytes,
            needs_library,
            needs,
            types,
        }))
    }
}

/// Notes the types whose number for serialization cannot change with their bodies.
fn not_numbered(cx: &Context<'_>, dex: &dex::Dex<'_>, plan: &mut Plan) -> Result<()> {
    if !plan.has_around() {
        return Ok(());
    }
    for of_type in plan.methods.chunk_by(|a, b| a.ty == b.ty) {
        let ty = of_type[0].ty;
        if !may_have_default_number(cx.hierarchy, &dex.type_name(ty)?) {
            plan.not_numbered.insert(ty);
        }
    }
    Ok(())
}

/// The file with the planned calls redirected, if any can be; else they leave the plan. Methods that are called instead, and
/// have hooks, join the plan.
fn redirect(
    dex: &dex::Dex<'_>,
    plan: &mut Plan,
    names: &Callers,
    scratch: &mut dex::Scratch,
    run: dex::Run<'_>,
) -> Result<Option<Vec<u8>>> {
    if plan.calls.is_empty() {
        return Ok(None);
    }
    let made = dex::redirect(dex, plan, scratch, run)?;
    plan.leave_calls(&made.left, |ty, index| Ok(names.find(ty, index)?.into()))?;
    // Methods that are not recorded need ids as well.
    let mut next = plan
        .methods
        .last()
        .map_or(1, |last| last.id.wrapping_add(1));
    for (place, (redirect, ty)) in plan.redirects.iter().zip(made.types).enumerate() {
        let advice = redirect.advice();
        if let Some(ty) = ty
            && advice != Advice::default()
        {
            let mut id = plan.call_id(place as u32);
            if id == 0 {
                id = next;
                next = next.wrapping_add(1);
            }
            let bound = redirect.bound().map(|bound| {
                plan.bound.push(Arc::clone(bound));
                plan.bound.len() as u32 - 1
            });
            plan.methods.push(Planned {
                ty,
                index: 0,
                id,
                advice,
                bound,
            });
        }
    }
    Ok(made.bytes)
}

/// The names of the methods whose calls are planned.
struct Callers {
    /// Each method once, as if it were planned.
    methods: Vec<Planned>,
    names: Vec<MethodNames>,
}

impl Callers {
    fn of(dex: &dex::Dex<'_>, plan: &Plan) -> Result<Callers> {
        let mut methods: Vec<Planned> = (plan.calls.iter())
            .map(|call| Planned {
                ty: call.ty,
                index: call.index,
                id: 0,
                advice: Advice::CALLS,
                bound: None,
            })
            .collect();
        methods.dedup();
        let names = match methods.is_empty() {
            true => vec![],
            false => describe(dex, &methods)?,
        };
        Ok(Callers { methods, names })
    }

    fn find(&self, ty: u32, index: u32) -> Result<MethodNames> {
        let place = (self.methods).binary_search_by_key(&(ty, index), |p| (p.ty, p.index));
        let names = place.ok().and_then(|place| self.names.get(place));
        (names.cloned())
            .ok_or_else(|| Error::usage("a call is planned in no method of the dex file"))
    }

    /// Adds the redirected calls to the results of the types.
    fn add_calls(&self, types: &mut Vec<Touched>, plan: &Plan) -> Result<()> {
        for calls in plan.calls.chunk_by(|a, b| a.ty == b.ty) {
            let ty = calls[0].ty;
            let describe = |index| Ok(self.find(ty, index)?.into());
            let place = types.binary_search_by_key(&ty, |ty| ty.woven.ty);
            let place = match place {
                Ok(place) => place,
                Err(place) => {
                    let name = self.find(ty, calls[0].index)?.ty;
                    let woven = WovenType::new(ty, &name, "", 0);
                    types.insert(place, Touched::new(woven, vec![]));
                    place
                }
            };
            types[place].calls = touched_calls(calls, plan, describe)?;
        }
        Ok(())
    }
}

/// The names of each planned method, in their order.
fn describe(dex: &dex::Dex<'_>, planned: &[Planned]) -> Result<Vec<MethodNames>> {
    struct Names<'p> {
        planned: &'p [Planned],
        types: u32,
        ty: String,
        names: Vec<MethodNames>,
    }
    impl Visitor for Names<'_> {
        fn enter_type(&mut self, ty: &Type<'_>) -> bool {
            self.types += 1;
            ty.name.clone_into(&mut self.ty);
            (self.planned.get(self.names.len())).is_some_and(|p| p.ty + 1 == self.types)
        }
        fn method(&mut self, index: u32, method: &Method<'_>) {
            let next = self.planned.get(self.names.len());
            if next.is_some_and(|p| p.ty + 1 == self.types && p.index == index) {
                self.names.push(MethodNames {
                    ty: self.ty.clone(),
                    name: method.name.to_owned(),
                    descriptor: method.descriptor.to_owned(),
                });
            }
        }
    }
    let mut names = Names {
        planned,
        types: 0,
        ty: String::new(),
        names: Vec::with_capacity(planned.len()),
    };
    dex::scan(dex, &mut names)?;
    Ok(names.names)
}

/// What is known of the hook library among dex files that are loaded together.
#[derive(Default)]
pub(crate) struct DexLibrary {
    /// A dex file holds it.
    is_there: bool,
    /// A woven dex file calls it.
    is_needed: bool,
    /// What own hooks of woven dex files need.
    pub(crate) needs: Needs,
}

impl DexLibrary {
    pub(crate) fn look_into<'f>(&mut self, mut files: impl Iterator<Item = &'f [u8]>) {
        self.is_there |= files.any(has_library);
    }

    pub(crate) fn look_into_woven(&mut self, woven: &[Option<WovenDex>]) {
        for dex in woven.iter().flatten() {
            self.is_needed |= dex.needs_library;
            self.needs.add(dex.needs.clone());
        }
    }

    pub(crate) fn is_missing(&self) -> bool {
        self.is_needed && !self.is_there
    }
}

/// Whether a dex file holds the hook library.
fn has_library(bytes: &[u8]) -> bool {
    struct Finder(bool);
    impl Visitor for Finder {
        fn enter_type(&mut self, ty: &Type<'_>) -> bool {
            self.0 |= ty.name == HOOKS;
            false
        }
        fn method(&mut self, _: u32, _: &Method<'_>) {}
    }
    // Woven dex files name it, too, and those that were never woven do not.
    let mut finder = Finder(false);
    memchr::memmem::find(bytes, HOOKS.as_bytes()).is_some()
        && dex::Dex::parse(bytes).is_ok_and(|dex| dex::scan(&dex, &mut finder).is_ok())
        && finder.0
}
