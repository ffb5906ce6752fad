//! Enter and exit hook in one call, at the start of bodies too short for a time to be measured.
//!
//! ```text
//!     const v0, id; invoke-static {v0} leaf        at the start (constructors: behind super())
//!     ...                                          the method's own code, as it is
//! ```
//!
//! Such a body neither calls nor throws, so that nothing comes between the two hooks and there is but one way out; it
//! has no loop, and is short: reading the clock twice takes longer than all of it.

use super::{Job, Scratch};
use crate::aspect::advice::Advice;
use crate::dex::branches::Branch;
use crate::dex::insn;
use crate::error::Result;

/// Code units of the longest body, a dozen instructions. Nearly all bodies without calls and loops are shorter.
const LONGEST: u32 = 24;

impl<'j, 'a> Job<'j, 'a> {
    /// The one hook in place of all, for a body behind whose enter hook nothing can throw (`calm`), if it is a leaf.
    pub(super) fn leaf(&self, calm: bool, scratch: &Scratch) -> Result<Option<Job<'j, 'a>>> {
        let Some(enter) = self.hooks.leaf else {
            return Ok(None);
        };
        let whole = self.advice == Advice::ALL && !scratch.returns.is_empty();
        if !whole || !calm || self.units > LONGEST || self.loops(scratch)? {
            return Ok(None);
        }
        let mut job = *self;
        job.advice = Advice::ENTER;
        job.hooks.enter = enter;
        Ok(Some(job))
    }

    /// Whether some branch goes back.
    fn loops(&self, scratch: &Scratch) -> Result<bool> {
        let mut loops = scratch.branches.iter().any(Branch::goes_back);
        for &switch in &scratch.switches {
            insn::switch_targets(self.code.insns, switch, |to| loops |= to <= switch.pc)?;
        }
        Ok(loops)
    }
}
