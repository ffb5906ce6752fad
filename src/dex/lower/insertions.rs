//! What goes into a method at its points.

use crate::dex::analysis::caught::Caught;
use crate::dex::analysis::guards::Stretch;
use crate::edit::{ByPc, Layout};

/// What goes into a method.
#[derive(Debug, Default)]
pub struct Insertions {
    /// By the instructions in front of which it goes.
    pub at: ByPc<Insertion>,
    /// How many registers the frame has more.
    pub registers: u32,
    /// How many words a call takes at most.
    pub outs: u32,
}

/// What goes in front of an instruction.
#[derive(Debug, Default)]
pub struct Insertion {
    /// What the point above has behind it: branches to the instruction do not run it.
    pub behind: Vec<u8>,
    /// What runs however the instruction is reached.
    pub before: Vec<u8>,
    /// Where what `behind` throws goes.
    pub behind_caught: Caught,
    /// Where what `before` throws goes.
    pub caught: Caught,
    /// It takes the place of the instruction.
    pub replaces: bool,
}

impl Insertions {
    /// What of a stretch its handlers are for, with what belongs to its instructions.
    pub(super) fn protected(&self, stretch: &Stretch, layout: &Layout) -> Vec<(u32, u32)> {
        let (start, end) = (stretch.start, stretch.end);
        let (mut ranges, mut open) = (Vec::new(), layout.target(start));
        let mut close = layout.start(end);
        for (pc, one) in self.at.from(start).take_while(|(pc, _)| *pc <= end) {
            let [from, to, insn] = [layout.start(pc), layout.target(pc), layout.insn(pc)];
            match one.behind_caught {
                Caught::Below if pc == start => open = from,
                Caught::Here if pc == end => close = to,
                Caught::Nowhere if start < pc && pc < end => {
                    ranges.push((open, from));
                    open = to;
                }
                _ => {}
            }
            if one.caught == Caught::Nowhere && pc < end {
                ranges.push((open, to));
                open = insn;
            }
        }
        ranges.push((open, close));
        ranges.retain(|range| range.0 < range.1);
        ranges
    }
}
