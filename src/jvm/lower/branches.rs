//! Branches of the new code: those that no longer reach become wide, or jump to an island.

use super::{Lowering, MAX_CODE, MAX_PARAMETER_CONSTANTS, Scratch};
use crate::aspect::advice::Reason;
use crate::aspect::attempt::Attempt;
use crate::edit::{Layout, Place};
use crate::error::Result;
use crate::jvm::frames::{self, FullFrame, HandlerFrame};
use crate::jvm::insn::{self, Form, Insn, op};
use crate::jvm::parameters::Parameter;
use crate::jvm::pool::Additions;

/// A branch of the old code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Branch {
    pub(super) insn: Insn,
    pub(super) target: u32,
    pub(super) reach: Reach,
}

/// How a branch gets to its target in the new code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// As it did.
    Same,
    /// `goto` and `jsr` became `goto_w` and `jsr_w`.
    Wide,
    /// `if` became its opposite around a `goto_w`; for code without frames.
    Inverted,
    /// `if` branches to an island nearby, `offset` bytes into the insertion at `at`.
    Island { at: u32, offset: u32 },
}

/// A `goto_w` in front of an instruction that has a frame, within reach of an `if` whose target is not. The frame of the
/// target fits it, too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Island {
    pub(super) at: u32,
    offset: u32,
    target: u32,
}

const GOTO_LEN: u32 = 3;
const GOTO_W_LEN: u32 = 5;

impl<'a> Lowering<'_, 'a> {
    /// Solves the layout, widening branches until all reach their targets.
    pub(super) fn fit(
        &self,
        entries: &[u32],
        parameters: &[Parameter<'a>],
        additions: &mut Additions,
        scratch: &mut Scratch,
    ) -> Attempt<()> {
        let len = self.code.insns.len() as u32;
        loop {
            scratch.layout.solve(insn::switch_growth);
            let new_len = scratch.layout.start(len);
            if new_len > MAX_CODE {
                return Err(Reason::CodeTooLarge.into());
            }
            if new_len <= i16::MAX as u32 {
                return Ok(());
            }
            let mut grown = false;
            for i in 0..scratch.branches.len() {
                let branch = scratch.branches[i];
                if !self.reaches(branch, &scratch.layout) {
                    grown = true;
                    scratch.branches[i].reach =
                        self.lengthen(branch, entries, parameters, additions, scratch)?;
                }
            }
            if !grown {
                return Ok(());
            }
        }
    }

    /// Makes room for the longer form of a branch.
    fn lengthen(
        &self,
        branch: Branch,
        entries: &[u32],
        parameters: &[Parameter<'a>],
        additions: &mut Additions,
        scratch: &mut Scratch,
    ) -> Attempt<Reach> {
        if matches!(branch.reach, Reach::Island { .. }) {
            // The island moved out of reach.
            return Err(Reason::CodeTooLarge.into());
        }
        if matches!(branch.insn.opcode, op::GOTO | op::JSR) {
            scratch.layout.grow(branch.insn.pc, 2);
            return Ok(Reach::Wide);
        }
        if !self.tables.has_stack_map {
            scratch.layout.grow(branch.insn.pc, 5);
            return Ok(Reach::Inverted);
        }
        if scratch.frames.is_empty() {
            scratch.frames = self.expand_frames(parameters, additions)?;
        }
        self.build_island(branch, entries, scratch)
    }

    fn reaches(&self, branch: Branch, layout: &Layout) -> bool {
        let from = layout.insn(branch.insn.pc) as i32;
        let to = match branch.reach {
            Reach::Same if branch.insn.form == Form::Branch => layout.target(branch.target),
            Reach::Island { at, offset } => layout.start(at) + offset,
            _ => return true,
        };
        i16::try_from(to as i32 - from).is_ok()
    }

    /// Spells out the method's frames.
    pub(super) fn expand_frames(
        &self,
        parameters: &[Parameter<'a>],
        additions: &mut Additions,
    ) -> Attempt<Vec<FullFrame>> {
        if additions.room() < MAX_PARAMETER_CONSTANTS {
            return Err(Reason::PoolFull.into());
        }
        let mut initial = self.listed(parameters, additions);
        if self.class.pool.utf8(self.method.name)? == b"<init>"
            && let Some(this) = initial.first_mut()
        {
            *this = (frames::item::UNINITIALIZED_THIS, 0);
        }
        let frames = frames::expand(self.tables.stack_map, initial)?;
        Ok(frames.ok_or(Reason::Unsupported)?)
    }

    /// Adds an island for a branch at the frame nearest to it. The branch's target must have a frame, too.
    fn build_island(
        &self,
        branch: Branch,
        entries: &[u32],
        scratch: &mut Scratch,
    ) -> Attempt<Reach> {
        let frames = &scratch.frames;
        (frames.binary_search_by_key(&branch.target, |f| f.pc)).map_err(|_| Reason::Unsupported)?;
        let at = frames
            .iter()
            .map(|f| f.pc)
            .filter(|pc| *pc != 0 && !entries.contains(pc) && self.edits.at.get(*pc).is_none())
            .min_by_key(|pc| pc.abs_diff(branch.insn.pc))
            .ok_or(Reason::Unsupported)?;
        let above = insn::opcode_above(self.code.insns, at)?.ok_or(Reason::Unsupported)?;
        let mut offset: u32 =
            scratch.islands.iter().filter(|i| i.at == at).count() as u32 * GOTO_W_LEN;
        if offset == 0 && !insn::ends_flow(above) {
            scratch.bypassed.push(at);
            scratch.layout.insert(at, Place::Prologue, GOTO_LEN);
        }
        if scratch.bypassed.contains(&at) {
            offset += GOTO_LEN;
        }
        scratch.layout.insert(at, Place::Prologue, GOTO_W_LEN);
        scratch.islands.push(Island {
            at,
            offset,
            target: branch.target,
        });
        Ok(Reach::Island { at, offset })
    }
}

/// Appends the longer form of the branch at `pc`, three bytes in the old code, without its offset.
pub(super) fn put_wide_branch(scratch: &Scratch, pc: u32, out: &mut Vec<u8>) {
    let i = (scratch.branches).binary_search_by_key(&pc, |b| b.insn.pc);
    let branch = scratch.branches[i.expect("only switches and branches are resized")];
    let far = match branch.insn.opcode {
        op::JSR => op::JSR_W,
        _ => op::GOTO_W,
    };
    if branch.reach == Reach::Inverted {
        out.extend_from_slice(&[inverted(branch.insn.opcode), 0, 8]);
    }
    out.extend_from_slice(&[far, 0, 0, 0, 0]);
}

/// Gives the branches of the new code their offsets.
pub(super) fn patch_branches(scratch: &Scratch, code: &mut [u8]) {
    let layout = &scratch.layout;
    for branch in &scratch.branches {
        let from = layout.insn(branch.insn.pc);
        let to = match branch.reach {
            Reach::Island { at, offset } => layout.start(at) + offset,
            _ => layout.target(branch.target),
        };
        let delta = to as i32 - from as i32;
        let from = from as usize;
        match branch.reach {
            Reach::Same if branch.insn.form == Form::WideBranch => put_i32(code, from + 1, delta),
            Reach::Same | Reach::Island { .. } => {
                code[from + 1..from + 3].copy_from_slice(&(delta as i16).to_be_bytes());
            }
            Reach::Wide => put_i32(code, from + 1, delta),
            Reach::Inverted => put_i32(code, from + 4, delta - 3),
        }
    }
}

/// Appends the islands in front of the instruction at `at`.
pub(super) fn put_islands(at: u32, len: u32, scratch: &Scratch, out: &mut Vec<u8>) {
    let layout = &scratch.layout;
    if scratch.bypassed.contains(&at) {
        out.push(op::GOTO);
        out.extend_from_slice(&(len as u16).to_be_bytes());
    }
    for island in scratch.islands.iter().filter(|i| i.at == at) {
        let from = layout.start(at) + island.offset;
        let delta = layout.target(island.target) as i32 - from as i32;
        out.push(op::GOTO_W);
        out.extend_from_slice(&delta.to_be_bytes());
    }
}

/// Appends the contents of a StackMapTable of the frames that are spelt out, with those of the islands. `compact`: frames whose
/// locals are those of the one before do not list them.
pub(super) fn put_spelt_frames(
    scratch: &Scratch,
    handlers: &[HandlerFrame],
    compact: bool,
    out: &mut Vec<u8>,
) -> Result<()> {
    let Scratch {
        layout,
        frames: own,
        islands,
        joins,
        ..
    } = scratch;
    let mut all: Vec<(u32, &FullFrame)> = own.iter().map(|f| (layout.target(f.pc), f)).collect();
    all.extend(joins.iter().map(|frame| (frame.pc, frame)));
    for island in islands {
        let i = own
            .binary_search_by_key(&island.target, |f| f.pc)
            .expect("build_island checked it");
        all.push((layout.start(island.at) + island.offset, &own[i]));
    }
    all.sort_by_key(|&(pc, _)| pc);
    frames::put_spelt(out, all.into_iter(), layout, handlers, compact)
}

fn put_i32(code: &mut [u8], at: usize, value: i32) {
    code[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// The opposite condition.
fn inverted(opcode: u8) -> u8 {
    match opcode {
        op::IFNULL => op::IFNONNULL,
        op::IFNONNULL => op::IFNULL,
        // ifeq, ifne; iflt, ifge; ...: odd opcodes and the even ones behind them
        opcode => {
            debug_assert!((op::IFEQ..=op::IF_ACMPNE).contains(&opcode));
            ((opcode + 1) ^ 1) - 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_has_an_opposite() {
        for (a, b) in [
            (153, 154),
            (155, 156),
            (157, 158),
            (159, 160),
            (161, 162),
            (163, 164),
            (165, 166),
            (198, 199),
        ] {
            assert_eq!(inverted(a), b);
            assert_eq!(inverted(b), a);
        }
    }
}
