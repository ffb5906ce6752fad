//! Where a constructor's `this` becomes initialised: behind the `invoke-direct` of another `<init>` on it.
//!
//! No other method may be called on an uninitialised `this`, so the call is known by its receiver alone.

use crate::aspect::advice::Reason;
use crate::aspect::attempt::Attempt;
use crate::dex::analysis::flow::{self, State};
use crate::dex::format::code_item::{Code, Try};
use crate::dex::format::insn::{self, Insn};
use crate::dex::format::opcodes::{BRANCH, ENDS, RETURN, SWITCH, THROW, op};
use crate::error::Result;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Initialisation {
    /// The pcs right behind each call that initialises `this`, ascending.
    pub behind: Vec<u32>,
    /// The ranges `start..end` of pcs where `this` is initialised.
    pub ranges: Vec<(u32, u32)>,
}

/// `this` is not initialised here, on some path.
const BEFORE: u8 = 1;
/// `this` is initialised here, on some path.
const AFTER: u8 = 2;

/// Most copies of `this`; compilers make one or two.
const MAX_COPIES: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
struct This {
    /// The registers that hold the uninitialised `this`.
    copies: Vec<u32>,
    phase: u8,
}

impl State for This {
    fn merge(&mut self, other: &This) -> Option<bool> {
        let (copies, phase) = (self.copies.len(), self.phase);
        self.copies.retain(|r| other.copies.contains(r));
        self.phase |= other.phase;
        Some(self.copies.len() != copies || self.phase != phase)
    }
}

impl This {
    /// Follows an instruction; returns whether it initialises `this`.
    fn step(&mut self, insns: &[u8], insn: Insn) -> bool {
        if matches!(insn.opcode, op::INVOKE_DIRECT | op::INVOKE_DIRECT_RANGE) {
            let receiver = insn::arguments(insns, insn).next();
            if receiver.is_some_and(|r| self.copies.contains(&r)) {
                self.copies.clear();
                self.phase = AFTER;
                return true;
            }
        } else if let Some(kind @ b'A'..=b'Z') = insn.op().registers.bytes().next() {
            let copied = matches!(insn.opcode, op::MOVE_OBJECT..=op::MOVE_OBJECT_16)
                && self.copies.contains(&insn.b);
            let last = insn.a + u32::from(matches!(kind, b'W' | b'J' | b'D'));
            self.copies.retain(|r| !(insn.a..=last).contains(r));
            if copied {
                self.copies.push(insn.a);
            }
        }
        false
    }
}

/// Finds where `this` is initialised, or says why the constructor cannot be woven.
pub fn analyse(code: &Code<'_>, tries: &[Try]) -> Attempt<Initialisation> {
    let entry = This {
        copies: vec![code.locals()],
        phase: BEFORE,
    };
    if let Some(found) = straight(code, tries, entry.clone())? {
        return Ok(found);
    }
    let units = insn::units(code.insns);
    let mut phases = vec![0u8; units as usize];
    let mut behind = Vec::new();
    flow::follow(code, tries, entry, |this, insn| {
        phases[insn.pc as usize] |= this.phase;
        if this.step(code.insns, insn) {
            behind.push(insn.end());
        }
        let follows = this.copies.len() <= MAX_COPIES;
        follows.then_some(true).ok_or(Reason::Unsupported.into())
    })?;
    behind.sort_unstable();
    behind.dedup();
    if behind.is_empty() {
        return Err(Reason::NoSuperCall.into());
    }
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let mut open = None;
    for insn in insn::each(code.insns) {
        let insn = insn?;
        let op = insn.op();
        match phases[insn.pc as usize] {
            // Never reached, or data: joins its neighbours.
            0 => {}
            AFTER => {
                open.get_or_insert(insn.pc);
            }
            phase => {
                // The method may end here, and nobody knows whether it was entered.
                if phase == BEFORE | AFTER && (op.has(THROW) || op.has(RETURN)) {
                    return Err(Reason::Unsupported.into());
                }
                ranges.extend(open.take().map(|start| (start, insn.pc)));
            }
        }
    }
    ranges.extend(open.map(|start| (start, units)));
    Ok(Initialisation { behind, ranges })
}

/// The usual case: the call comes before anything branches or is protected.
fn straight(code: &Code<'_>, tries: &[Try], mut this: This) -> Result<Option<Initialisation>> {
    let first_try = tries.first().map_or(u32::MAX, |t| t.start);
    for insn in insn::each(code.insns) {
        let insn = insn?;
        let op = insn.op();
        if insn.is_payload
            || op.has(BRANCH)
            || op.has(SWITCH)
            || op.has(ENDS)
            || insn.end() > first_try
        {
            break;
        }
        if this.step(code.insns, insn) {
            return Ok(Some(Initialisation {
                behind: vec![insn.end()],
                ranges: vec![(insn.end(), insn::units(code.insns))],
            }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aspect::attempt::settle;
    use crate::dex::testing::Body;

    fn analyse(body: &Body) -> Result<Initialisation, Reason> {
        let bytes = body.bytes();
        let code = Code::read(&bytes, 0).unwrap();
        let tries: Vec<Try> = code.tries().map(Result::unwrap).collect();
        settle(super::analyse(&code, &tries)).unwrap()
    }

    #[test]
    fn the_call_is_known_by_its_receiver() {
        // v1 is this: new-instance v0; invoke-direct {v0}; invoke-direct {v1, v0}; return-void
        let found = analyse(&Body::new(
            2,
            1,
            &[0x0022, 0, 0x1070, 1, 0, 0x2070, 2, 0x0001, 0x000e],
        ));
        assert_eq!(
            found.unwrap(),
            Initialisation {
                behind: vec![8],
                ranges: vec![(8, 9)]
            }
        );
    }

    #[test]
    fn copies_of_this_are_followed_and_lost_when_overwritten() {
        // move-object v0, v1; const/4 v1, 0; invoke-direct {v1}; invoke-direct {v0}; return-void
        let found = analyse(&Body::new(
            2,
            1,
            &[0x1007, 0x0112, 0x1070, 1, 1, 0x1070, 1, 0, 0x000e],
        ));
        assert_eq!(found.unwrap().behind, [8]);
    }

    #[test]
    fn each_branch_may_have_its_call() {
        // if-eqz v2, +6; invoke-direct {v1}; return-void; invoke-direct {v1}; return-void
        let found = analyse(&Body::new(
            3,
            2,
            &[0x0238, 6, 0x1070, 1, 1, 0x000e, 0x1070, 1, 1, 0x000e],
        ));
        let found = found.unwrap();
        assert_eq!(found.behind, [5, 9]);
        assert_eq!(found.ranges, [(5, 6), (9, 10)]);
    }

    #[test]
    fn a_throw_before_the_call_is_left_alone() {
        // if-eqz v2, +3; throw v2; invoke-direct {v1}; return-void
        let found = analyse(&Body::new(3, 2, &[0x0238, 3, 0x0227, 0x1070, 1, 1, 0x000e]));
        assert_eq!(found.unwrap().ranges, [(6, 7)]);
    }

    #[test]
    fn no_call_and_a_handler_around_the_call_are_told() {
        let object = Body::new(1, 1, &[0x000e]);
        assert_eq!(analyse(&object), Err(Reason::NoSuperCall));
        // invoke-direct {v0}; invoke-static {}; return-void; move-exception v0; throw v0
        let around = Body::new(1, 1, &[0x1070, 1, 0, 0x0071, 1, 0, 0x000e, 0x000d, 0x0027]).try_at(
            0,
            6,
            &[(None, 7)],
        );
        assert_eq!(analyse(&around), Err(Reason::Unsupported));
    }
}
