//! What goes into a method at its points.

use crate::dex::analysis::caught::Caught;
use crate::dex::analysis::guards::Stretch;
use crate::edit::Layout;

/// What goes into a method.
#[derive(Debug, Default)]
pub struct Insertions {
    /// By the instructions in front of which it goes, ascending.
    pub at: Vec<Insertion>,
    /// How many registers the frame has more.
    pub registers: u32,
    /// How many words a call takes at most.
    pub outs: u32,
}

/// What goes in front of an instruction.
#[derive(Debug, Default)]
pub struct Insertion {
    pub pc: u32,
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
    pub fn find(&mut self, pc: u32) -> &mut Insertion {
        let place = self.at.partition_point(|one| one.pc < pc);
        if self.at.get(place).is_none_or(|one| one.pc != pc) {
            let new = Insertion {
                pc,
                ..Insertion::default()
            };
            self.at.insert(place, new);
        }
        &mut self.at[place]
    }

    pub fn get(&self, pc: u32) -> Option<&Insertion> {
        let place = self.at.binary_search_by_key(&pc, |one| one.pc).ok()?;
        Some(&self.at[place])
    }
}

impl Insertions {
    /// What of a stretch its handlers are for, with what belongs to its instructions.
    pub(super) fn protected(&self, stretch: &Stretch, layout: &Layout) -> Vec<(u32, u32)> {
        let (start, end) = (stretch.start, stretch.end);
        let (mut ranges, mut open) = (Vec::new(), layout.target(start));
        let mut close = layout.start(end);
        let first = self.at.partition_point(|one| one.pc < start);
        for one in self.at[first..].iter().take_while(|one| one.pc <= end) {
            let [from, to, insn] = [
                layout.start(one.pc),
                layout.target(one.pc),
                layout.insn(one.pc),
            ];
            match one.behind_caught {
                Caught::Below if one.pc == start => open = from,
                Caught::Here if one.pc == end => close = to,
                Caught::Nowhere if start < one.pc && one.pc < end => {
                    ranges.push((open, from));
                    open = to;
                }
                _ => {}
            }
            if one.caught == Caught::Nowhere && one.pc < end {
                ranges.push((open, to));
                open = insn;
            }
        }
        ranges.push((open, close));
        ranges.retain(|range| range.0 < range.1);
        ranges
    }
}
