//! What goes in front of points inside a body and behind them.
//!
//! The frame grows at its end, and the arguments are moved down to where they were. So no instruction names another register, and
//! the registers at the end are free.

use super::branches::{self, Stop};
use super::insertions::Insertions;
use super::lowering::{Lowering, Scratch};
use super::registers::Scheme;
use super::sequences::Ends;
use super::walk::Walked;
use crate::aspect::attempt::Attempt;
use crate::dex::format::code_item::{self, HEADER};
use crate::dex::format::insn;
use crate::dex::format::opcodes::op;
use crate::edit::Place;

impl Lowering<'_, '_> {
    /// Appends the code item with what goes around its points, and no other hooks.
    pub(super) fn build_points(
        &self,
        points: &Insertions,
        walked: Walked,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Attempt<()> {
        let places = self.places(walked, scratch);
        self.protect(places, scratch)?;
        scratch.sequences.clear();
        if points.registers > 0 {
            self.put_arguments(points.registers, &mut scratch.sequences.prologue);
        }
        let prologue = insn::units(&scratch.sequences.prologue);
        let around = points.at.iter().flat_map(|(pc, one)| {
            [
                Stop::insert(pc, Place::Prologue, insn::units(&one.behind)),
                Stop::insert(pc, Place::Before, insn::units(&one.before)),
            ]
        });
        let fixed = std::iter::once(Stop::insert(0, Place::Prologue, prologue))
            .chain(around)
            .filter(|stop| stop.len > 0);
        let found = &mut scratch.found;
        branches::solve(
            &mut scratch.layout,
            &mut scratch.stops,
            fixed,
            &found.jumbos,
            &mut found.branches,
            &mut found.payloads,
            self.units,
        );
        scratch.lowered = Some((Scheme::Dead, self.units));
        let start = out.len();
        let sizes = [
            self.code.registers + points.registers as u16,
            self.code.ins,
            self.code.outs.max(points.outs as u16),
            0,
        ];
        code_item::put_header(out, sizes, 0);
        self.put_code(Scheme::Dead, None, scratch, out)?;
        for (pc, _) in points.at.iter().filter(|(_, one)| one.replaces) {
            let insn = insn::at(self.code.insns, pc)?;
            let at = start + HEADER + 2 * scratch.layout.insn(pc) as usize;
            out[at..at + 2 * insn.len as usize].fill(op::NOP);
        }
        self.put_behind(start, scratch, out)?;
        let ends = Ends {
            exits: false,
            errs: false,
            width: None,
            in_place: None,
            apart: false,
            leave: None,
            own: None,
        };
        self.put_tries(start, &[], ends, scratch, out)
    }
}
