//! What a body does that hooks must know of: where it moves, returns and throws.

use super::{Job, Scratch};
use crate::aspect::advice::{Advice, Reason};
use crate::dex::branches::{self, Branch, Goal};
use crate::dex::constructor;
use crate::dex::insn;
use crate::dex::monitors;
use crate::dex::opcodes::{ADJACENT, BRANCH, OPS, RETURN, SWITCH, THROW, op};
use crate::dex::registers;
use crate::error::{Error, Result};

/// What a walk over the code tells besides the lists in [`Scratch`].
#[derive(Clone, Copy, Default)]
pub(super) struct Walked {
    pub straddles: bool,
    pub locks: bool,
    /// The last instruction is a return.
    pub ends_in_return: bool,
}

/// Where hooks begin, and what comes behind.
pub(super) struct Covered {
    /// In a constructor, the places behind `super()`.
    pub entries: Option<Vec<u32>>,
    /// Nothing behind the enter hook can throw.
    pub calm: bool,
}

impl Job<'_, '_> {
    /// Collects what moves, returns and throws.
    pub(super) fn walk(&self, scratch: &mut Scratch) -> Result<Walked> {
        let Scratch {
            branches,
            switches,
            data,
            payloads,
            jumbos,
            returns,
            throwing,
            ..
        } = scratch;
        branches.clear();
        switches.clear();
        data.clear();
        payloads.clear();
        jumbos.clear();
        returns.clear();
        throwing.clear();
        let insns = self.code.insns;
        let locals = self.code.locals();
        let widened = self.map.strings.last().is_some_and(|&new| new > 0xffff);
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
                let new = self.map.strings.get(insn.index() as usize);
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

    /// Finds what our handler has to protect, which is nothing where nothing can throw.
    pub(super) fn cover(
        &self,
        walked: Walked,
        scratch: &mut Scratch,
    ) -> Result<Result<Covered, Reason>> {
        scratch.cover.clear();
        let mut entries = None;
        let mut ranges = vec![];
        if self.shape.is_constructor && self.advice != Advice::default() {
            match constructor::analyse(self.code, &scratch.tries)? {
                Ok(found) => {
                    entries = Some(found.behind);
                    ranges = found.ranges;
                }
                Err(reason) => return Ok(Err(reason)),
            }
        }
        let mut calm = scratch.throwing.is_empty();
        let protects = Advice::EXCEPTION.with(Advice::SECTION);
        if self.advice.only(protects) == Advice::default() || calm {
            return Ok(Ok(Covered { entries, calm }));
        }
        if walked.locks {
            if entries.is_none() {
                ranges.push((0, self.units));
            }
            match monitors::analyse(self.code, &scratch.tries)? {
                Ok(held) => scratch.cover.instructions(&held, &ranges, self.units),
                Err(reason) => return Ok(Err(reason)),
            }
        } else if entries.is_some() {
            let all = ranges.iter().map(|&(start, end)| (start, end, 0));
            scratch.cover.ranges.extend(all);
        } else {
            scratch.cover.ranges.push((0, self.units, 0));
        }
        let Scratch {
            cover, throwing, ..
        } = scratch;
        let within = |pc: &u32| {
            let i = cover.ranges.partition_point(|r| r.1 <= *pc);
            cover.ranges.get(i).is_some_and(|r| r.0 <= *pc)
        };
        let covered = throwing.iter().copied().filter(within);
        let shape = self.shape;
        calm = shape
            .own
            .are_all(self.code, covered, shape.is_static, shape.is_constructor)?;
        if calm {
            cover.clear();
        }
        Ok(Ok(Covered { entries, calm }))
    }
}
