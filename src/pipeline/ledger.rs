//! What is recorded in the job's order, by one thread at a time: ids, symbols, counts.

use crate::error::Error;
use crate::pipeline::ids::{KnownIds, TakenIds};
use crate::pipeline::outcome::{ClassPlan, Left, Outcome, WarningKind};
use crate::pipeline::process::Touched;
use crate::symbols::{Symbols, Writer};

/// The books of a job.
pub(crate) struct Ledger<'j> {
    pub(crate) known: &'j KnownIds,
    pub(crate) taken: TakenIds,
    pub(crate) outcome: Outcome,
    explain: bool,
    /// Symbols of the unit (artifact that carries its own map) under way.
    unit: Writer,
    /// The artifact that the last symbol of the unit was in.
    last_artifact: String,
    /// Symbols of all finished units.
    merged: Writer,
    /// The finished map of the last unit, which is the job's if there is no other.
    last_map: Vec<u8>,
    units: usize,
}

/// A unit that was interrupted by one inside it.
pub(crate) struct Interrupted {
    unit: Writer,
}

impl<'j> Ledger<'j> {
    pub(crate) fn new(known: &'j KnownIds, explain: bool) -> Ledger<'j> {
        Ledger {
            known,
            taken: TakenIds::default(),
            outcome: Outcome::default(),
            explain,
            unit: Writer::default(),
            last_artifact: String::new(),
            merged: Writer::default(),
            last_map: Vec::new(),
            units: 0,
        }
    }

    /// Takes the ids of a woven class. Not empty: some were taken, and the class must be
    /// woven again with these pairs (id it had, id to have).
    pub(crate) fn claim_ids(&mut self, touched: &Touched) -> Vec<(u32, u32)> {
        let woven = &touched.woven;
        let mut moved = Vec::new();
        let mut any = false;
        for (i, method) in woven.methods.iter().enumerate() {
            let id = self.taken.claim(
                self.known,
                &woven.type_name,
                &method.name,
                &method.descriptor,
                method.id,
            );
            if id != method.id && !any {
                any = true;
                moved.extend(woven.methods[..i].iter().map(|m| (m.id, m.id)));
            }
            if any {
                moved.push((method.id, id));
            }
        }
        moved
    }

    /// Records a class whose ids are final.
    pub(crate) fn record(&mut self, artifact: &str, touched: &Touched) {
        let woven = &touched.woven;
        if !woven.methods.is_empty() {
            if self.last_artifact != artifact {
                artifact.clone_into(&mut self.last_artifact);
                self.unit.artifact(artifact);
            }
            self.unit.ty(&woven.type_name, &woven.file);
            for m in &woven.methods {
                self.unit.method(m.id, &m.name, &m.descriptor, m.line);
            }
            self.outcome.classes += 1;
            self.outcome.methods += woven.methods.len() as u64;
        }
        for left in woven.left.iter().chain(&touched.skipped) {
            *self.outcome.left.entry(left.reason).or_default() += 1;
            if left.reason.is_failure() {
                self.outcome.failures.push(Left {
                    artifact: artifact.to_owned(),
                    type_name: woven.type_name.clone(),
                    method: left.method.clone(),
                    reason: left.reason,
                });
            }
        }
        if self.explain {
            self.outcome.explained.push(ClassPlan {
                artifact: artifact.to_owned(),
                type_name: woven.type_name.clone(),
                woven: woven
                    .methods
                    .iter()
                    .zip(&touched.advice)
                    .map(|(m, advice)| (format!("{}{}", m.name, m.descriptor), m.id, *advice))
                    .collect(),
                left: woven
                    .left
                    .iter()
                    .chain(&touched.skipped)
                    .map(|s| (s.method.clone(), s.reason))
                    .collect(),
            });
        }
    }

    /// Records a member that could not be read and is copied as it is.
    pub(crate) fn unreadable(&mut self, error: &Error) {
        self.outcome
            .warn(WarningKind::Unreadable, format!("{error}; copied as it is"));
    }

    /// A new unit begins inside the one under way.
    pub(crate) fn begin_inner_unit(&mut self) -> Interrupted {
        self.last_artifact.clear();
        Interrupted {
            unit: std::mem::take(&mut self.unit),
        }
    }

    /// The inner unit has ended: back to the outer one.
    pub(crate) fn resume(&mut self, interrupted: Interrupted) {
        self.last_artifact.clear();
        self.unit = interrupted.unit;
    }

    /// Ends a unit: its map, with what an earlier weave of it knew, or `None` if it has no symbols.
    pub(crate) fn end_unit(&mut self, earlier: Option<&Symbols>) -> Option<Vec<u8>> {
        self.last_artifact.clear();
        let mut unit = std::mem::take(&mut self.unit);
        if let Some(earlier) = earlier {
            unit.symbols(earlier);
        }
        if unit.is_empty() {
            return None;
        }
        self.merged.append(&unit);
        self.units += 1;
        self.last_map = unit.finish();
        Some(self.last_map.clone())
    }

    /// The map of the whole job, or `None` if nothing was woven.
    pub(crate) fn end_job(&mut self) -> Option<Vec<u8>> {
        match self.units {
            0 => None,
            1 => Some(std::mem::take(&mut self.last_map)),
            _ => Some(std::mem::take(&mut self.merged).finish()),
        }
    }
}
