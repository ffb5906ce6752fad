//! What is recorded in the job's order, by one thread at a time: ids, symbols, counts.

pub(crate) mod ids;
pub(crate) mod records;
pub(crate) mod touched;

use crate::aspect::advice::Advice;
use crate::aspect::joinpoint::{Described, MethodNames};
use crate::aspect::plan::{Plan, Planned};
use crate::aspect::pointcut::Matched;
use crate::error::{Error, Result};
use crate::pipeline::ledger::ids::{Claim, Claimed, KnownIds, TakenIds};
use crate::pipeline::ledger::records::Records;
use crate::pipeline::ledger::touched::Touched;
use crate::pipeline::outcome::{
    ClassPlan, Left, LeftMethod, Outcome, RecordedCall, RedirectedCall, WarningKind, WovenMethod,
};
use crate::pipeline::own::Needs;
use crate::symbols::{self, Symbols, Writer};
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// The results of a job so far.
pub(crate) struct Ledger<'j> {
    pub(crate) known: &'j KnownIds,
    pub(crate) taken: TakenIds,
    pub(crate) outcome: Outcome,
    /// What each aspect matched.
    pub(crate) matched: Matched,
    explain: bool,
    /// What the input is called where it lies.
    input: String,
    /// Symbols of the unit (artifact that carries its own map) under way.
    unit: Writer,
    /// The recorded calls that have their symbols in it.
    unit_calls: FxHashSet<u32>,
    /// How many bytes the archives nested in the one at hand may still unpack to.
    pub(crate) room: u64,
    /// Classes of the unit call the hook library.
    pub(crate) needs_library: bool,
    /// What own hooks of the unit's classes need.
    pub(crate) needs: Needs,
    /// The artifact that the last symbol of the unit was in.
    last_artifact: Option<String>,
    /// The map of the first finished unit, which is the job's as long as there is no other.
    only: Option<Arc<Vec<u8>>>,
    /// Symbols of all finished units, if there are several.
    merged: Writer,
    units: usize,
    /// The maps of the units that ended, while an artifact is recorded for the cache.
    recorded: Option<Vec<Arc<Vec<u8>>>>,
}

/// The results of one artifact, which can be entered again without a weave.
pub(crate) struct Recorded {
    pub(crate) outcome: Outcome,
    pub(crate) matched: Matched,
    pub(crate) claims: Vec<Claim>,
    pub(crate) maps: Vec<Arc<Vec<u8>>>,
    pub(crate) needs_library: bool,
    pub(crate) needs: Needs,
}

/// What symbols call an artifact: its path inside the input, so that they are the same wherever the input lies. The input
/// itself has no name there.
fn inside<'a>(input: &str, artifact: &'a str) -> &'a str {
    let path = artifact.strip_prefix(input).unwrap_or(artifact);
    path.strip_prefix("!/")
        .or_else(|| path.strip_prefix('/'))
        .unwrap_or(path)
}

/// A unit that was interrupted by one inside it.
pub(crate) struct Interrupted {
    unit: Writer,
    unit_calls: FxHashSet<u32>,
    needs_library: bool,
    needs: Needs,
}

impl<'j> Ledger<'j> {
    pub(crate) fn new(known: &'j KnownIds, explain: bool, input: String) -> Ledger<'j> {
        Ledger {
            known,
            taken: TakenIds::default(),
            outcome: Outcome::default(),
            matched: Matched::default(),
            explain,
            input,
            unit: Writer::default(),
            unit_calls: FxHashSet::default(),
            room: 0,
            needs_library: false,
            needs: Needs::default(),
            last_artifact: None,
            only: None,
            merged: Writer::default(),
            units: 0,
            recorded: None,
        }
    }

    /// Begins to record the results of one artifact; returns those of the artifacts before it.
    pub(crate) fn start_recording(&mut self) -> (Outcome, Matched) {
        self.taken.start_journal();
        self.recorded = Some(vec![]);
        let outcome = std::mem::take(&mut self.outcome);
        (outcome, std::mem::take(&mut self.matched))
    }

    /// The results of the artifact. `None`: some of it cannot be entered again.
    pub(crate) fn stop_recording(&mut self, before: (Outcome, Matched)) -> Option<Recorded> {
        let outcome = std::mem::replace(&mut self.outcome, before.0);
        self.outcome.add(outcome.clone());
        let matched = std::mem::replace(&mut self.matched, before.1);
        self.matched.add(&matched);
        let claims = self.taken.take_journal();
        Some(Recorded {
            outcome,
            matched,
            claims,
            maps: self.recorded.take()?,
            needs_library: self.needs_library,
            needs: self.needs.clone(),
        })
    }

    /// Enters an artifact as it was recorded, if its ids are still free; else changes nothing.
    pub(crate) fn replay(&mut self, recorded: &Recorded) -> bool {
        if !self.taken.replay(&recorded.claims) {
            return false;
        }
        self.outcome.add(recorded.outcome.clone());
        self.outcome.cached += 1;
        self.matched.add(&recorded.matched);
        (recorded.maps.iter()).for_each(|map| self.add_unit(Arc::clone(map)));
        self.needs_library |= recorded.needs_library;
        self.needs.add(recorded.needs.clone());
        true
    }

    /// Gives the methods of a plan ids that no other method has, type by type. `name` gives a type's name, `describe` name
    /// and descriptor of a method, by their numbers: few claims ask for them.
    pub(crate) fn claim(
        &mut self,
        plan: &mut Plan,
        name: impl Fn(u32) -> Result<String>,
        describe: impl Fn(u32, u32) -> Result<Described>,
    ) -> Result<()> {
        self.matched.add(&plan.matched);
        for methods in plan.methods.chunk_by_mut(|a, b| a.ty == b.ty) {
            let ty = methods[0].ty;
            (self.taken).claim_planned(
                self.known,
                methods,
                || name(ty),
                |index| describe(ty, index),
            )?;
        }
        self.claim_calls(plan);
        Ok(())
    }

    /// Gives the recorded calls of a plan ids: one to all calls of a method that are recorded in the same way, wherever in the job.
    fn claim_calls(&mut self, plan: &mut Plan) {
        let ids = plan.redirects.iter().map(|redirect| {
            let (recorded, identity) = (redirect.recorded()?, redirect.identity()?);
            let callee = recorded.callee.as_deref();
            Some(self.taken.claim_call(self.known, &identity, callee))
        });
        plan.call_ids = ids.map(Option::unwrap_or_default).collect();
    }

    /// The same for methods whose ids lie behind one base, which `base_of` makes of an attempt's number. `describe` gives
    /// type, name and descriptor of each.
    pub(crate) fn claim_behind(
        &mut self,
        plan: &mut Plan,
        base_of: impl Fn(u32) -> u32,
        describe: impl FnOnce(&[Planned]) -> Result<Vec<MethodNames>>,
    ) -> Result<()> {
        self.matched.add(&plan.matched);
        let described = match self.known.is_empty() {
            true => vec![],
            false => describe(&plan.methods)?,
        };
        let described = described.iter().map(MethodNames::as_deref);
        let described = described.chain(std::iter::repeat(MethodNames::default()));
        let attempt = self.taken.claim_behind(self.known, &base_of, || {
            let methods = plan.methods.iter().zip(described.clone());
            methods.map(|(m, names)| Claimed { id: m.id, names })
        });
        if attempt > 0 {
            let shift = base_of(attempt).wrapping_sub(base_of(0));
            for method in &mut plan.methods {
                method.id = method.id.wrapping_add(shift);
            }
        }
        self.claim_calls(plan);
        Ok(())
    }

    /// Records the results of a class.
    pub(crate) fn record(&mut self, artifact: &str, touched: &Touched) {
        if touched.woven.methods().len() > 0 {
            self.names_in(inside(&self.input, artifact));
            self.unit.ty(touched.woven.name(), touched.woven.file());
            for m in touched.woven.methods() {
                self.unit.method(m.id, m.name, m.descriptor, m.line);
            }
            for (id, bound) in &touched.values {
                self.unit.values(*id, &bound.values);
            }
            for root in &touched.roots {
                records::add_root(&mut self.unit, root);
            }
            for switched in &touched.switched {
                self.unit.switched(switched.id, &switched.switches);
            }
            self.outcome.methods += touched.woven.methods().len() as u64;
        }
        for call in &touched.calls {
            if call.id != 0 && self.unit_calls.insert(call.id) {
                // What is called lies elsewhere.
                self.names_in("");
                records::add_call(&mut self.unit, call.id, &call.redirect);
            }
        }
        self.pack_symbols();
        if touched.woven.methods().len() > 0 || !touched.calls.is_empty() {
            self.outcome.classes += 1;
        }
        self.tell(artifact, touched);
    }

    /// The symbols that follow are of this artifact.
    fn names_in(&mut self, artifact: &str) {
        if self.last_artifact.as_deref() != Some(artifact) {
            self.last_artifact = Some(artifact.to_owned());
            self.unit.artifact(artifact);
        }
    }

    /// Records the types of an artifact whose symbols are packed already, with its name.
    pub(crate) fn record_all(&mut self, artifact: &str, mut records: Records) {
        if records.methods > 0 || records.records_calls {
            self.unit.append(&mut records.symbols);
            self.last_artifact = None;
        }
        self.outcome.classes += records.classes.len() as u64;
        self.outcome.methods += records.methods;
        self.outcome.calls += records.calls;
        self.outcome.points += records.points;
        for touched in &records.touched {
            self.tell(artifact, touched);
        }
    }

    /// Notes what was left of a type, the calls that are redirected and, when explaining, what was woven.
    fn tell(&mut self, artifact: &str, touched: &Touched) {
        for call in &touched.calls {
            match call.redirect.placed() {
                None => self.outcome.calls += call.times,
                Some(_) => self.outcome.points += call.times,
            }
        }
        for left in &touched.woven.left {
            *self.outcome.left.entry(left.reason).or_default() += 1;
            if left.is_failure() {
                self.outcome.failures.push(Left {
                    artifact: artifact.to_owned(),
                    type_name: touched.woven.name().to_owned(),
                    method: left.method.clone(),
                    reason: left.reason,
                });
            }
        }
        if self.explain {
            self.outcome.explained.push(ClassPlan {
                artifact: artifact.to_owned(),
                type_name: touched.woven.name().to_owned(),
                woven: touched
                    .woven
                    .methods()
                    .zip(&touched.advice)
                    .map(|(m, explained)| WovenMethod {
                        method: format!("{}{}", m.name, m.descriptor),
                        id: m.id,
                        advice: explained.advice,
                        aspects: explained.aspects.clone(),
                        root: explained.root,
                        hooks: explained.hooks.clone(),
                    })
                    .collect(),
                calls: (touched.calls.iter())
                    .map(|call| {
                        let site = call.redirect.shown_site();
                        RedirectedCall {
                            method: call.method.clone(),
                            does: site.does,
                            callee: site.what,
                            times: call.times,
                            at_point: call.redirect.placed().is_some(),
                            recorded: call.redirect.recorded().map(|recorded| RecordedCall {
                                id: call.id,
                                advice: recorded.advice.without(Advice::ROOT),
                            }),
                            hooks: call.redirect.shown(),
                        }
                    })
                    .collect(),
                left: touched
                    .woven
                    .left
                    .iter()
                    .zip(&touched.left_by)
                    .map(|(left, aspects)| LeftMethod {
                        method: left.method.clone(),
                        reason: left.reason,
                        aspects: aspects.clone(),
                    })
                    .collect(),
            });
        }
    }

    /// Packs the symbols that are ready to be, on all threads, once there is work for them: spread over the job, and
    /// before what waits takes memory worth speaking of.
    fn pack_symbols(&mut self) {
        if self.unit.waiting() >= 2 * rayon::current_num_threads() {
            let pack = |blocks: Vec<Vec<u8>>| {
                let packed = blocks.par_iter().map(|block| symbols::pack(block));
                packed.collect()
            };
            self.unit.pack_waiting(pack);
        }
    }

    /// Records a member that could not be read and is copied as it is.
    pub(crate) fn unreadable(&mut self, error: &Error) {
        self.outcome
            .warn(WarningKind::Unreadable, format!("{error}; copied as it is"));
    }

    /// Records a result that could not be put into the cache: the weave itself is done.
    pub(crate) fn not_cached(&mut self, artifact: &str, error: &Error) {
        let text = format!("the cache does not have what was woven of {artifact}: {error}");
        self.outcome.warn(WarningKind::NotCached, text);
    }

    /// Whether a strict job must not write what it has; notes it.
    pub(crate) fn refuses(&mut self, strict: bool) -> bool {
        self.outcome.refused = strict && self.outcome.fails_strict();
        self.outcome.refused
    }

    /// A new unit begins inside the one under way.
    pub(crate) fn begin_inner_unit(&mut self) -> Interrupted {
        self.last_artifact = None;
        Interrupted {
            unit: std::mem::take(&mut self.unit),
            unit_calls: std::mem::take(&mut self.unit_calls),
            needs_library: std::mem::take(&mut self.needs_library),
            needs: std::mem::take(&mut self.needs),
        }
    }

    /// The inner unit has ended: back to the outer one.
    pub(crate) fn resume(&mut self, interrupted: Interrupted) {
        self.last_artifact = None;
        self.unit = interrupted.unit;
        self.unit_calls = interrupted.unit_calls;
        self.needs_library |= interrupted.needs_library;
        self.needs.add(interrupted.needs);
    }

    /// Ends a unit: its map, with what an earlier weave of it knew, or `None` if it has no symbols.
    pub(crate) fn end_unit(&mut self, earlier: Option<&Symbols>) -> Option<Arc<Vec<u8>>> {
        self.last_artifact = None;
        let mut unit = std::mem::take(&mut self.unit);
        self.unit_calls.clear();
        if let Some(earlier) = earlier {
            unit.symbols(earlier);
        }
        if unit.is_empty() {
            return None;
        }
        let map = Arc::new(unit.finish());
        self.add_unit(Arc::clone(&map));
        Some(map)
    }

    /// Enters the map of a unit that ended.
    pub(crate) fn add_unit(&mut self, map: Arc<Vec<u8>>) {
        if let Some(recorded) = &mut self.recorded {
            recorded.push(Arc::clone(&map));
        }
        self.units += 1;
        if self.units == 1 {
            self.only = Some(map);
        } else {
            self.merge_only();
            self.merged.append_map(&map);
        }
    }

    /// An artifact of an earlier weave is kept: its symbols join the job's map.
    pub(crate) fn keep_earlier(&mut self, earlier: &Symbols) {
        self.recorded = None;
        let mut unit = Writer::default();
        unit.symbols(earlier);
        self.merge_only();
        self.merged.append(&mut unit);
        self.units += 1;
    }

    /// The first unit is no longer the only one.
    fn merge_only(&mut self) {
        if let Some(only) = self.only.take() {
            self.merged.append_map(&only);
        }
    }

    /// The map of the whole job, or `None` if nothing was woven.
    pub(crate) fn end_job(&mut self) -> Option<Arc<Vec<u8>>> {
        match (self.only.take(), self.units) {
            (Some(only), _) => Some(only),
            (None, 0) => None,
            (None, _) => Some(Arc::new(std::mem::take(&mut self.merged).finish())),
        }
    }
}
