//! A walk over a body: its branches, returns and throwing instructions.

use super::lowering::{Found, Lowering, Scratch};
use crate::aspect::advice::Advice;
use crate::aspect::attempt::Attempt;
use crate::dex::analysis::constructor;
use crate::dex::analysis::monitors;
use crate::dex::format::insn;
use crate::dex::format::opcodes::{ADJACENT, BRANCH, OPS, RETURN, SWITCH, THROW, op};
use crate::dex::lower::branches::{self, Branch, Goal};
use crate::dex::lower::registers;
use crate::error::{Error, Result};

/// Facts of a body besides the lists in [`Found`].
#[derive(Clone, Copy, Default)]
pub(super) struct Walked {
    pub straddles: bool,
    pub locks: bool,
    /// The last instruction is a return.
    pub ends_in_return: bool,
}

/// Where hooks begin, and whether anything behind can throw.
pub(super) struct Covered {
    /// In a constructor, the places behind `super()`.
    pub entries: Option<Vec<u32>>,
    /// Nothing behind the enter hook can throw.
    pub calm: bool,
}

impl Lowering<'_, '_> {
    /// Collects branches, returns and throwing instructions.
    pub(super) fn walk(&self, scratch: &mut Scratch) -> Result<Walked> {
        scratch.found.clear();
        let Found {
            branches,
            switches,
            data,
            payloads,
            jumbos,
            returns,
            throwing,
        } = &mut scratch.found;
        let insns = self.code.insns;
        let locals = self.code.locals();
        let widened = self.remap.strings.last().is_some_and(|&new| new > 0xffff);
        let mut walked = Walked::default();
        let mut pc = 0;
        while pc < self.units {
            let (len, is_payload) = insn::length(insns, pc)?;
            let opcode = insn::unit(insns, pc) as u8;
            let op = &OPS[usize::from(opcode)];
            let at = pc;
            pc += len;
            if is_payload {
                payloads.push(branches::Payload::at(at));
                walked.ends_in_return = false;
                continue;
            }
            walked.ends_in_return = op.has(RETURN);
            if op.flags == 0 {
                continue;
            }
            if op.has(THROW) {
                throwing.push(at);
                walked.locks |= matches!(opcode, op::MONITOR_ENTER | op::MONITOR_EXIT);
                let is_string = opcode == op::CONST_STRING && widened;
                if op.flags == THROW && opcode != op::FILL_ARRAY_DATA && !is_string {
                    continue;
                }
            }
            let insn = insn::at(insns, at)?;
            if op.has(BRANCH) {
                branches.push(Branch::new(insn, Goal::Old(insn.target(insns)?)));
            } else if op.has(RETURN) {
                returns.push(insn);
            } else if op.has(SWITCH) {
                switches.push(insn);
            } else if opcode == op::FILL_ARRAY_DATA {
                data.push(insn);
            } else if opcode == op::CONST_STRING {
                let new = self.remap.strings.get(insn.index() as usize);
                if new.is_some_and(|&new| new > 0xffff) {
                    jumbos.push(at);
                }
            }
            if op.has(ADJACENT) && !walked.straddles {
                walked.straddles = registers::straddles(insn, locals);
            }
        }
        for insn in switches.iter().chain(data.iter()) {
            let at = insn.target(insns)?;
            if payloads.binary_search_by_key(&at, |p| p.pc).is_err() {
                return Err(Error::malformed(
                    insn.pc as usize * 2,
                    format!("no payload at {at} for {}", insn.op().name),
                ));
            }
        }
        Ok(walked)
    }

    /// Finds the code that our handlers protect; none if nothing can throw.
    pub(super) fn cover(&self, walked: Walked, scratch: &mut Scratch) -> Attempt<Covered> {
        scratch.protected.cover.clear();
        let mut entries = None;
        let mut ranges = vec![];
        if self.method.is_constructor && self.advice != Advice::default() {
            let found = constructor::analyse(self.code, &scratch.tries)?;
            entries = Some(found.behind);
            ranges = found.ranges;
        }
        let mut calm = scratch.found.throwing.is_empty();
        let protects = Advice::EXCEPTION.with(Advice::SECTION);
        let own = self
            .method
            .hooks
            .is_some_and(|own| !own.bound.exception.is_empty());
        if self.advice.only(protects) == Advice::default() && !own || calm {
            return Ok(Covered { entries, calm });
        }
        if walked.locks {
            if entries.is_none() {
                ranges.push((0, self.units));
            }
            let held = monitors::analyse(self.code, &scratch.tries)?;
            let cover = &mut scratch.protected.cover;
            cover.instructions(&held, &ranges, self.units);
        } else if entries.is_some() {
            let cover = &mut scratch.protected.cover;
            for &(start, end) in &ranges {
                cover.without_locks(start, end);
            }
        } else {
            scratch.protected.cover.without_locks(0, self.units);
        }
        let (cover, throwing) = (&mut scratch.protected.cover, &scratch.found.throwing);
        let within = |pc: &u32| {
            let i = cover.ranges.partition_point(|r| r.end <= *pc);
            cover.ranges.get(i).is_some_and(|r| r.start <= *pc)
        };
        let covered = throwing.iter().copied().filter(within);
        let method = self.method;
        calm = method
            .own
            .are_all(self.code, covered, method.is_static, method.is_constructor)?;
        if calm {
            cover.clear();
        }
        Ok(Covered { entries, calm })
    }
}
