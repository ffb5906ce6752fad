//! Whether what a call throws can go to the handlers that lie around it.
//!
//! A handler may need a register, and verifiers ask what it holds wherever code throws to it. Compilers leave tries open where nothing
//! throws, so a register may hold anything there. A call may throw where something near it does already with the same registers, as
//! far as the handlers need them.

use crate::aspect::advice::Reason;
use crate::aspect::attempt::{Attempt, settle};
use crate::dex::analysis::flow;
use crate::dex::analysis::live::{self, Registers};
use crate::dex::analysis::monitors::{self, Held};
use crate::dex::format::code_item::{Code, Try};
use crate::dex::format::insn::{self, Insn};
use crate::dex::format::opcodes::{BRANCH, ENDS, SWITCH, THROW, op};
use crate::error::Result;
use std::cell::{Cell, OnceCell};

/// Most looks at instructions for the points of a method; where there are more, nothing more fits.
const FUEL: usize = 50_000_000;

/// Where what a call throws goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caught {
    /// To the handlers of the instruction in front of it; of a call that belongs to one behind it, to those of that.
    #[default]
    Here,
    /// To the handlers of the instruction behind it.
    Below,
    /// Out of the method.
    Nowhere,
}

/// A try as far as its handlers are concerned.
struct Within {
    /// Nothing outside of it leads into it but to its start.
    has_one_entry: bool,
    /// What is written in it.
    written: Registers,
    /// The monitors that all hold which throw in it, if they hold the same.
    held: Option<Held>,
}

/// The tries of a body.
pub struct Handlers<'a> {
    code: Code<'a>,
    tries: Vec<Try>,
    insns: Vec<Insn>,
    live: OnceCell<Option<Vec<(u32, Registers)>>>,
    held: OnceCell<std::result::Result<Vec<(u32, Held)>, Reason>>,
    leaders: OnceCell<Vec<(u32, u32)>>,
    /// How many instructions may still be looked at.
    fuel: Cell<usize>,
}

fn throws(insn: Insn) -> bool {
    // As for ART, a monitor that is given up throws nothing.
    insn.op().has(THROW) && insn.opcode != op::MONITOR_EXIT
}

fn is_lock(insn: Insn) -> bool {
    matches!(insn.opcode, op::MONITOR_ENTER | op::MONITOR_EXIT)
}

impl<'a> Handlers<'a> {
    pub fn new(code: Code<'a>) -> Result<Self> {
        Ok(Handlers {
            code,
            tries: code.tries().collect::<Result<_>>()?,
            insns: insn::each(code.insns).collect::<Result<_>>()?,
            live: OnceCell::new(),
            held: OnceCell::new(),
            leaders: OnceCell::new(),
            fuel: Cell::new(FUEL),
        })
    }

    /// For a call in front of an instruction, however that is reached.
    pub fn before(&self, pc: u32) -> Attempt<Caught> {
        let place = self.place(pc);
        // It throws where that does.
        if place.is_some_and(|place| throws(self.insns[place])) {
            return Ok(Caught::Here);
        }
        let Some((within, place)) = self.tried(pc).zip(place) else {
            return self.outside(pc);
        };
        let fits = self.fits_below(within, place)?
            || place > 0 && !self.is_led_to(pc)? && self.fits_above(within, place - 1)?
            || self.fits_all(within, pc)?
            || self.fits_unwritten(within, place)?;
        match fits {
            true => Ok(Caught::Here),
            false => self.outside(pc),
        }
    }

    /// For a call behind an instruction, where control goes on.
    pub fn behind(&self, insn: Insn) -> Attempt<Caught> {
        let next = insn.end();
        let is_lock = is_lock(insn);
        // What is locked is given up by the handlers that come then.
        let within = self.tried(if is_lock { next } else { insn.pc });
        let Some((within, place)) = within.zip(self.place(insn.pc)) else {
            return match throws(insn) && !is_lock {
                true => Ok(Caught::Nowhere),
                false => self.outside(next),
            };
        };
        let fits = !is_lock && self.fits_above(within, place)?
            || self.fits_below(within, place + 1)?
            || self.fits_all(within, next)?
            || self.fits_unwritten(within, place + 1)?;
        match (fits, is_lock) {
            (true, false) => Ok(Caught::Here),
            (true, true) => Ok(Caught::Below),
            (false, _) => self.outside(next),
        }
    }

    /// For a call that no handler is for, in front of an instruction.
    fn outside(&self, pc: u32) -> Attempt<Caught> {
        match self.held(pc)? {
            0 => Ok(Caught::Nowhere),
            _ => Err(Reason::HeldLock.into()),
        }
    }

    /// Whether an instruction and those in front of it must not be parted: a call and its result; `instance-of` and the branch
    /// behind it, by which verifiers know what the register holds, also the one that it was moved from.
    pub fn is_one(&self, insn: Insn) -> bool {
        let Some(place) = self.place(insn.pc).filter(|place| *place > 0) else {
            return false;
        };
        let last = self.insns[place - 1].opcode;
        match insn.opcode {
            op::MOVE_RESULT..=op::MOVE_RESULT_OBJECT => true,
            op::IF_EQZ | op::IF_NEZ => last == op::INSTANCE_OF,
            op::INSTANCE_OF => (op::MOVE_OBJECT..=op::MOVE_OBJECT_16).contains(&last),
            _ => false,
        }
    }

    fn allows(&self, looks: usize) -> bool {
        let left = self.fuel.get().checked_sub(looks);
        self.fuel.set(left.unwrap_or(0));
        left.is_some()
    }

    fn place(&self, pc: u32) -> Option<usize> {
        self.insns.binary_search_by_key(&pc, |insn| insn.pc).ok()
    }

    fn insns_of(&self, within: Try) -> &[Insn] {
        let place = |pc: u32| self.insns.partition_point(|insn| insn.pc < pc);
        &self.insns[place(within.start)..place(within.end)]
    }

    fn tried(&self, pc: u32) -> Option<Try> {
        flow::find(&self.tries, pc)
    }

    /// The monitors that are held in front of an instruction.
    fn held(&self, pc: u32) -> Attempt<Held> {
        let known = match self.held.get() {
            Some(known) => known,
            None => {
                let has_locks = self.insns.iter().any(|insn| is_lock(*insn));
                let found = match has_locks {
                    true => settle(monitors::everywhere(&self.code, &self.tries))?,
                    false => Ok(vec![]),
                };
                self.held.get_or_init(|| found)
            }
        };
        let known = known.as_ref().map_err(|reason| *reason)?;
        let place = known.binary_search_by_key(&pc, |held| held.0);
        Ok(place.map_or(0, |place| known[place].1))
    }

    /// Where branches and handlers lead to, and where from.
    fn leaders(&self) -> Result<&[(u32, u32)]> {
        if let Some(known) = self.leaders.get() {
            return Ok(known);
        }
        let mut leaders = Vec::new();
        for &insn in self.insns.iter().filter(|insn| !insn.is_payload) {
            insn::targets(self.code.insns, insn, |to| leaders.push((to, insn.pc)))?;
        }
        for t in &self.tries {
            let mut list = self.code.list(t.list)?;
            while let Some((_, pc)) = list.next_handler()? {
                leaders.push((pc, u32::MAX));
            }
        }
        leaders.sort_unstable();
        leaders.dedup();
        Ok(self.leaders.get_or_init(|| leaders))
    }

    fn is_led_to(&self, pc: u32) -> Result<bool> {
        let leaders = self.leaders()?;
        let place = leaders.partition_point(|one| one.0 < pc);
        Ok(leaders.get(place).is_some_and(|one| one.0 == pc))
    }

    /// Whether no handler of a try needs one of these registers.
    fn spares(&self, within: Try, written: Registers) -> Result<bool> {
        if written.is_empty() {
            return Ok(true);
        }
        let mut list = self.code.list(within.list)?;
        while let Some((_, pc)) = list.next_handler()? {
            if !self.spares_of(pc, written)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a handler needs none of these registers.
    fn spares_of(&self, handler: u32, written: Registers) -> Result<bool> {
        let live = match self.live.get() {
            Some(live) => live,
            None => {
                let found = live::analyse(&self.code, &self.tries)?;
                self.live.get_or_init(|| found)
            }
        };
        Ok(live.as_ref().is_some_and(|live| {
            let place = live.binary_search_by_key(&handler, |one| one.0);
            place.is_ok_and(|place| !live[place].1.meets(written))
        }))
    }

    /// Whether something throws that surely comes next.
    fn fits_below(&self, within: Try, place: usize) -> Result<bool> {
        let mut written = Registers::default();
        let insns = self.insns[place.min(self.insns.len())..].iter();
        for &insn in insns.take_while(|insn| insn.pc < within.end) {
            if !self.allows(1) {
                break;
            }
            let op = insn.op();
            if throws(insn) {
                return Ok(within.start <= insn.pc && self.spares(within, written)?);
            }
            if insn.is_payload || is_lock(insn) || op.flags & (BRANCH | SWITCH | ENDS) != 0 {
                break;
            }
            written.add(insn.written());
        }
        Ok(false)
    }

    /// Whether something threw, up to this instruction, with nothing in between.
    fn fits_above(&self, within: Try, place: usize) -> Result<bool> {
        let mut written = Registers::default();
        let insns = self.insns[..=place].iter().rev();
        for &insn in insns.take_while(|insn| within.start <= insn.pc) {
            if insn.is_payload || is_lock(insn) || insn.op().has(ENDS) || !self.allows(1) {
                break;
            }
            written.add(insn.written());
            if throws(insn) {
                return Ok(insn.pc < within.end && self.spares(within, written)?);
            }
            if self.is_led_to(insn.pc)? {
                break;
            }
        }
        Ok(false)
    }

    /// Whether all in a try throw alike, with the monitors that are held here.
    fn fits_all(&self, within: Try, pc: u32) -> Attempt<bool> {
        if !self.allows(self.insns.len() + self.tries.len()) {
            return Ok(false);
        }
        let all = self.within(within)?;
        Ok(all.has_one_entry
            && all.held == Some(self.held(pc)?)
            && self.spares(within, all.written)?)
    }

    /// Whether what the handlers need is the same everywhere: arguments that nothing writes, and what is written once and read here.
    fn fits_unwritten(&self, within: Try, place: usize) -> Attempt<bool> {
        let Some(&here) = self.insns.get(place) else {
            return Ok(false);
        };
        let mut list = self.code.list(within.list)?;
        while list.next_handler()?.is_some() {
            if !self.allows(self.insns.len() + self.tries.len()) {
                return Ok(false);
            }
        }
        let [mut read, mut written, mut again, mut differs] = [Registers::default(); 4];
        live::read(self.code.insns, here, |registers| read.add(registers));
        for &insn in self.insns.iter().filter(|insn| !insn.is_payload) {
            let mut one = Registers::default();
            one.add(insn.written());
            // Verifiers know more of a register then.
            match insn.opcode {
                op::CHECK_CAST => one.add(insn.a..insn.a + 1),
                op::INSTANCE_OF => return Ok(false),
                _ => {}
            }
            again.join(one.common(written));
            written.join(one);
        }
        for register in 0..u32::from(self.code.registers) {
            let is_same = match register < self.code.locals() {
                // What is read here has been written.
                true => read.has(register) && !again.has(register),
                false => !written.has(register),
            };
            if !is_same {
                differs.add(register..register + 1);
            }
        }
        let held = self.held(self.insns[place].pc)?;
        let mut list = self.code.list(within.list)?;
        while let Some((_, handler)) = list.next_handler()? {
            if !self.is_reached_with(handler, held)? || !self.spares_of(handler, differs)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether something that throws leads to a handler, and all of that holds these monitors.
    fn is_reached_with(&self, handler: u32, held: Held) -> Attempt<bool> {
        let mut is_reached = false;
        for &t in &self.tries {
            let (mut list, mut leads) = (self.code.list(t.list)?, false);
            while let Some((_, pc)) = list.next_handler()? {
                leads |= pc == handler;
            }
            if !leads {
                continue;
            }
            for insn in self.insns_of(t).iter().filter(|insn| throws(**insn)) {
                if self.held(insn.pc)? != held {
                    return Ok(false);
                }
                is_reached = true;
            }
        }
        Ok(is_reached)
    }

    fn within(&self, within: Try) -> Attempt<Within> {
        let is_in = |pc: u32| (within.start..within.end).contains(&pc);
        let leads_in = |&(to, from): &(u32, u32)| is_in(to) && !is_in(from) && to != within.start;
        let mut all = Within {
            has_one_entry: !self.leaders()?.iter().any(leads_in),
            written: Registers::default(),
            held: None,
        };
        let mut helds = Vec::new();
        for &insn in self.insns_of(within) {
            all.written.add(insn.written());
            if throws(insn) {
                helds.push(self.held(insn.pc)?);
            }
        }
        helds.dedup();
        if let [one] = helds[..] {
            all.held = Some(one);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dex::testing::Body;

    /// Where what a call throws goes that stands behind the instruction at this pc.
    fn behind(body: &Body, pc: u32) -> std::result::Result<Caught, Reason> {
        let bytes = body.bytes();
        let code = Code::read(&bytes, 0).unwrap();
        let insn = insn::at(code.insns, pc).unwrap();
        settle(Handlers::new(code).unwrap().behind(insn)).unwrap()
    }

    fn before(body: &Body, pc: u32) -> std::result::Result<Caught, Reason> {
        let bytes = body.bytes();
        let code = Code::read(&bytes, 0).unwrap();
        settle(Handlers::new(code).unwrap().before(pc)).unwrap()
    }

    /// sget-object v1, 0; goto +1; return-object v1; move-exception v0; return-object `returned`: all but the handler in a try.
    fn gets(returned: u16) -> Body {
        Body::new(
            2,
            1,
            &[0x0162, 0, 0x0128, 0x0111, 0x000d, 0x0011 | returned << 8],
        )
        .try_at(0, 3, &[(Some(1), 4)])
    }

    #[test]
    fn a_handler_that_needs_what_was_there_does_not_get_what_comes_later() {
        assert_eq!(behind(&gets(0), 0), Ok(Caught::Here));
        assert_eq!(behind(&gets(1), 0), Ok(Caught::Nowhere));
    }

    #[test]
    fn where_something_throws_with_the_new_value_the_handler_knows_it() {
        // sget-object v1, 0; invoke-static {}; return-object v1; move-exception v0; return-object v1
        let body = Body::new(2, 1, &[0x0162, 0, 0x0071, 0, 0, 0x0111, 0x000d, 0x0111]).try_at(
            0,
            5,
            &[(None, 6)],
        );
        assert_eq!(behind(&body, 0), Ok(Caught::Here));
    }

    #[test]
    fn a_lock_is_given_up_by_the_try_behind_it_or_the_call_has_no_place() {
        // monitor-enter v1; invoke-static {}; monitor-exit v1; return-void; move-exception v0; monitor-exit v1; throw v0
        let code = [0x011d, 0x0071, 0, 0, 0x011e, 0x000e, 0x000d, 0x011e, 0x0027];
        let bare = Body::new(2, 1, &code);
        assert_eq!(behind(&bare, 0), Err(Reason::HeldLock));
        assert_eq!(before(&bare, 4), Err(Reason::HeldLock));
        assert_eq!(behind(&bare, 4), Ok(Caught::Nowhere));
        let kept = Body::new(2, 1, &code).try_at(1, 5, &[(None, 6)]);
        assert_eq!(behind(&kept, 0), Ok(Caught::Below));
        assert_eq!(before(&kept, 4), Ok(Caught::Here));
        // It is given up then.
        assert_eq!(behind(&kept, 4), Ok(Caught::Nowhere));
    }

    #[test]
    fn a_lock_that_is_nowhere_else_in_its_register_is_given_up_wherever_it_is() {
        // monitor-enter v1; monitor-enter v2; monitor-exit v2; monitor-exit v1; return-void, the second and the last in a try each:
        // move-exception v0; monitor-exit v1; throw v0
        let code = [
            0x011d, 0x021d, 0x021e, 0x011e, 0x000e, 0x000d, 0x011e, 0x0027,
        ];
        let two = |code: &[u16]| {
            Body::new(3, 2, code)
                .try_at(1, 2, &[(None, 5)])
                .try_at(3, 4, &[(None, 5)])
        };
        assert_eq!(before(&two(&code), 3), Ok(Caught::Here));
        assert_eq!(behind(&two(&code), 2), Ok(Caught::Below));
        // Something else is in it later.
        let code = [&code[..4], &[0x0112], &code[4..]].concat();
        let other = Body::new(3, 2, &code)
            .try_at(1, 2, &[(None, 6)])
            .try_at(3, 4, &[(None, 6)]);
        assert_eq!(before(&other, 3), Err(Reason::HeldLock));
    }

    #[test]
    fn what_verifiers_see_as_one_is_not_parted() {
        // move-object v0, v1; instance-of v0, v0; if-eqz v0, +2; invoke-static {}; move-result v0; if-eqz v0, +2; return-void
        let code = [
            0x1007, 0x0020, 3, 0x0038, 2, 0x0071, 0, 0, 0x000a, 0x0038, 2, 0x000e,
        ];
        let bytes = Body::new(2, 1, &code).bytes();
        let code = Code::read(&bytes, 0).unwrap();
        let handlers = Handlers::new(code).unwrap();
        let all = insn::each(code.insns).map(Result::unwrap);
        let parted: Vec<u32> = all
            .filter(|insn| handlers.is_one(*insn))
            .map(|insn| insn.pc)
            .collect();
        assert_eq!(parted, [1, 3, 8]);
    }

    #[test]
    fn behind_a_join_all_of_the_try_counts() {
        // if-eqz v2, +5; invoke-static {}; monitor-exit v1 in a try; the lock is taken in front of it
        let code = [
            0x011d, 0x0238, 5, 0x0071, 0, 0, 0x011e, 0x000e, 0x000d, 0x011e, 0x0027,
        ];
        let kept = Body::new(3, 2, &code).try_at(1, 7, &[(None, 8)]);
        assert_eq!(before(&kept, 6), Ok(Caught::Here));
        // The same, but the register that the handler gives up is set anew in one way.
        let code = [
            0x011d, 0x0238, 6, 0x0071, 0, 0, 0x0112, 0x000e, 0x000d, 0x011e, 0x0027,
        ];
        let other = Body::new(3, 2, &code).try_at(1, 8, &[(None, 8)]);
        assert_eq!(before(&other, 7), Err(Reason::HeldLock));
    }
}
