//! Enter and exit hook in one call, at the start of bodies too short for a time to be measured.
//!
//! ```text
//!     const v0, id; invoke-static {v0} leaf        at the start (constructors: behind super())
//!     ...                                          the method's own code, as it is
//! ```
//!
//! Such a body neither calls nor throws nor loops, and is so short that reading the clock twice takes longer.

use super::lowering::{Lowering, Scratch};
use crate::aspect::advice::Advice;
use crate::dex::format::insn;
use crate::dex::lower::branches::Branch;
use crate::error::Result;

/// Code units of the longest body: a dozen instructions.
const LONGEST: u32 = 24;

impl<'j, 'a> Lowering<'j, 'a> {
    /// The one hook in place of all, if the body is a leaf. `calm`: nothing behind the enter hook can throw.
    pub(super) fn leaf(&self, calm: bool, scratch: &Scratch) -> Result<Option<Lowering<'j, 'a>>> {
        let Some(enter) = self.hooks.leaf else {
            return Ok(None);
        };
        let whole = self.advice == Advice::ALL && !scratch.found.returns.is_empty();
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
        let mut loops = scratch.found.branches.iter().any(Branch::goes_back);
        for &switch in &scratch.found.switches {
            insn::switch_targets(self.code.insns, switch, |to| loops |= to <= switch.pc)?;
        }
        Ok(loops)
    }
}
