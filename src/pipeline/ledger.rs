//! What is recorded in the job's order, by one thread at a time: ids, symbols, counts.

use crate::error::Error;
use crate::pipeline::ids::{KnownIds, TakenIds};
use crate::pipeline::outcome::{ClassPlan, Left, Outcome, WarningKind};
use crate::pipeline::process::Touched;
use crate::pipeline::records::Records;
use crate::symbols::{self, Symbols, Writer};
use rayon::prelude::*;
use std::sync::Arc;

/// The books of a job.
pub(crate) struct Ledger<'j> {
    pub(crate) known: &'j KnownIds,
    pub(crate) taken: TakenIds,
    pub(crate) outcome: Outcome,
    explain: bool,
    /// Symbols of the unit (artifact that carries its own map) under way.
    unit: Writer,
    /// Classes of the unit call the hook library.
    pub(crate) needs_library: bool,
    /// The artifact that the last symbol of the unit was in.
    last_artifact: String,
    /// The map of the first finished unit, which is the job's as long as there is no other.
    only: Option<Arc<Vec<u8>>>,
    /// Symbols of all finished units, if there are several.
    merged: Writer,
    units: usize,
}

/// A unit that was interrupted by one inside it.
pub(crate) struct Interrupted {
    unit: Writer,
    needs_library: bool,
}

impl<'j> Ledger<'j> {
    pub(crate) fn new(known: &'j KnownIds, explain: bool) -> Ledger<'j> {
        Ledger {
            known,
            taken: TakenIds::default(),
            outcome: Outcome::default(),
            explain,
            unit: Writer::default(),
            needs_library: false,
            last_artifact: String::new(),
            only: None,
            merged: Writer::default(),
            units: 0,
        }
    }

    /// Takes the ids of a woven class. Not 0: some were taken already, and the class must be woven again
    /// with the ids of this attempt, which now are its own.
    pub(crate) fn claim_ids(&mut self, touched: &Touched) -> u32 {
        let methods = || {
            touched
                .woven
                .methods()
                .map(|m| (m.id, m.name, m.descriptor))
        };
        self.taken.claim(self.known, touched.woven.name(), methods)
    }

    /// Takes the ids of all types of a file, which lie behind one base. Not 0: some were taken already, and the file must
    /// be woven again with the ids of this attempt, which now are its own.
    pub(crate) fn claim_all<'t, T>(
        &mut self,
        types: impl Fn() -> T,
        base_of: impl Fn(u32) -> u32,
    ) -> u32
    where
        T: Iterator<Item = &'t Touched>,
    {
        self.taken.claim_behind(self.known, base_of, || {
            types().flat_map(|touched| {
                let ty = touched.woven.name();
                (touched.woven.methods()).map(move |m| (m.id, ty, m.name, m.descriptor))
            })
        })
    }

    /// Records a class whose ids are final.
    pub(crate) fn record(&mut self, artifact: &str, touched: &Touched) {
        if touched.woven.methods().len() > 0 {
            if self.last_artifact != artifact {
                artifact.clone_into(&mut self.last_artifact);
                self.unit.artifact(artifact);
            }
            self.unit.ty(touched.woven.name(), touched.woven.file());
            for m in touched.woven.methods() {
                self.unit.method(m.id, m.name, m.descriptor, m.line);
            }
            self.pack_symbols();
            self.outcome.classes += 1;
            self.outcome.methods += touched.woven.methods().len() as u64;
        }
        self.tell(artifact, touched);
    }

    /// Records the types of an artifact whose symbols are packed already, with its name.
    pub(crate) fn record_all(&mut self, artifact: &str, mut records: Records) {
        if records.methods > 0 {
            self.unit.append(&mut records.symbols);
            self.last_artifact.clear();
        }
        self.outcome.classes += records.classes.len() as u64;
        self.outcome.methods += records.methods;
        for touched in &records.touched {
            self.tell(artifact, touched);
        }
    }

    /// Notes what was left of a type and, when explaining, what was woven.
    fn tell(&mut self, artifact: &str, touched: &Touched) {
        for left in &touched.woven.left {
            *self.outcome.left.entry(left.reason).or_default() += 1;
            if left.reason.is_failure() {
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
                    .map(|(m, advice)| (format!("{}{}", m.name, m.descriptor), m.id, *advice))
                    .collect(),
                left: touched
                    .woven
                    .left
                    .iter()
                    .map(|s| (s.method.clone(), s.reason))
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

    /// Whether a strict job must not write what it has; notes it.
    pub(crate) fn refuses(&mut self, strict: bool) -> bool {
        self.outcome.refused = strict && self.outcome.fails_strict();
        self.outcome.refused
    }

    /// A new unit begins inside the one under way.
    pub(crate) fn begin_inner_unit(&mut self) -> Interrupted {
        self.last_artifact.clear();
        Interrupted {
            unit: std::mem::take(&mut self.unit),
            needs_library: std::mem::take(&mut self.needs_library),
        }
    }

    /// The inner unit has ended: back to the outer one.
    pub(crate) fn resume(&mut self, interrupted: Interrupted) {
        self.last_artifact.clear();
        self.unit = interrupted.unit;
        self.needs_library |= interrupted.needs_library;
    }

    /// Ends a unit: its map, with what an earlier weave of it knew, or `None` if it has no symbols.
    pub(crate) fn end_unit(&mut self, earlier: Option<&Symbols>) -> Option<Arc<Vec<u8>>> {
        self.last_artifact.clear();
        let mut unit = std::mem::take(&mut self.unit);
        if let Some(earlier) = earlier {
            unit.symbols(earlier);
        }
        if unit.is_empty() {
            return None;
        }
        let map = Arc::new(unit.finish());
        self.units += 1;
        if self.units == 1 {
            self.only = Some(Arc::clone(&map));
        } else {
            self.merge_only();
            self.merged.append_map(&map);
        }
        Some(map)
    }

    /// An artifact of an earlier weave stays as it is: what it is known to hold joins the job's map.
    pub(crate) fn keep_earlier(&mut self, earlier: &Symbols) {
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
