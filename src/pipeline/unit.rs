//! An artifact of many types, an assembly or a dex file, which is planned and woven as a whole.

use crate::aspect::joinpoint::Visitor;
use crate::aspect::plan::{BaseOf, Plan, Planner, Skipped};
use crate::aspect::pointcut::ArtifactMatcher;
use crate::aspect::woven::WovenType;
use crate::error::{Error, Result};
use crate::pipeline::ledger::Ledger;
use crate::pipeline::process::{Context, Platform, Touched};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// A woven artifact whose ids are not claimed yet.
pub(crate) struct Unit<W> {
    /// What the backend made of it.
    pub(crate) woven: W,
    /// The types that rules have something to say about, by number.
    types: Vec<(u32, Touched)>,
}

/// Parses artifacts on all threads: what was read, and why the others were not.
pub(crate) fn parse_all<'s, S: Sync, P: Send>(
    sources: &'s [S],
    parse: impl Fn(&'s S) -> Result<P> + Sync,
) -> (Vec<Option<P>>, Vec<Option<Error>>) {
    let parsed = sources.par_iter().map(|source| match parse(source) {
        Ok(parsed) => (Some(parsed), None),
        Err(e) => (None, Some(e)),
    });
    parsed.unzip()
}

/// Scans an artifact, or the part of it that begins with the type `first`, and decides what to weave. `base_of` gives the
/// ids.
pub(crate) fn plan(
    cx: &Context<'_>,
    matcher: &ArtifactMatcher<'_>,
    base_of: BaseOf<'_>,
    (platform, first): (Platform, u32),
    scan: impl FnOnce(&mut dyn Visitor) -> Result<()>,
) -> Result<Plan> {
    let mut planner = Planner::new(matcher, base_of, cx.explain).starting_at(first);
    if platform == Platform::Android {
        planner = planner.on_android();
    }
    scan(&mut planner)?;
    Ok(planner.plan)
}

impl<W> Unit<W> {
    /// Joins what was woven with what the plan left out.
    pub(crate) fn new(cx: &Context<'_>, woven: W, types: Vec<WovenType>, plan: Plan) -> Self {
        let mut skipped: FxHashMap<u32, Vec<Skipped>> = FxHashMap::default();
        for method in plan.skipped {
            skipped.entry(method.ty).or_default().push(method);
        }
        let mut touched: Vec<(u32, Touched)> = Vec::with_capacity(types.len());
        for ty in types {
            let number = ty.ty;
            let mut entry = Touched::new(ty, skipped.remove(&number).unwrap_or_default());
            if cx.explain {
                let start = plan.methods.partition_point(|m| m.ty < number);
                let end = plan.methods.partition_point(|m| m.ty <= number);
                entry.explain(&plan.methods[start..end]);
            }
            touched.push((number, entry));
        }
        for (number, name) in plan.skipped_types {
            if let Some(left) = skipped.remove(&number) {
                let unwoven = WovenType::new(number, &name, "", 0);
                touched.push((number, Touched::new(unwoven, left)));
            }
        }
        touched.sort_by_key(|(number, _)| *number);
        Unit {
            woven,
            types: touched,
        }
    }

    /// Claims the ids of all types together, and records them. Where some were taken, `again` weaves with those of another
    /// attempt. `base_of` gives the base of an attempt's ids.
    pub(crate) fn settle(
        self,
        ledger: &mut Ledger<'_>,
        artifact: &str,
        base_of: impl Fn(u32) -> u32,
        again: impl FnOnce(u32) -> Result<Unit<W>>,
    ) -> Result<W> {
        let types = || self.types.iter().map(|(_, touched)| touched);
        let unit = match ledger.claim_all(types, base_of) {
            0 => self,
            attempt => again(attempt)?,
        };
        for (_, ty) in &unit.types {
            ledger.record(artifact, ty);
        }
        Ok(unit.woven)
    }
}
