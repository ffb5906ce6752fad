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
use std::cell::OnceCell;

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
            || self.fits_all(within, pc)?;
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
            || self.fits_all(within, next)?;
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

    fn place(&self, pc: u32) -> Option<usize> {
        self.insns.binary_search_by_key(&pc, |insn| insn.pc).ok()
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
        let live = match self.live.get() {
            Some(live) => live,
            None => {
                let found = live::analyse(&self.code, &self.tries)?;
                self.live.get_or_init(|| found)
            }
        };
        let Some(live) = live else {
            return Ok(false);
        };
        let mut list = self.code.list(within.list)?;
        while let Some((_, pc)) = list.next_handler()? {
            let needed = live.binary_search_by_key(&pc, |one| one.0);
            if needed.is_ok_and(|place| live[place].1.meets(written)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether something throws that surely comes next.
    fn fits_below(&self, within: Try, place: usize) -> Result<bool> {
        let mut written = Registers::default();
        let insns = self.insns[place.min(self.insns.len())..].iter();
        for &insn in insns.take_while(|insn| insn.pc < within.end) {
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
            if insn.is_payload || is_lock(insn) || insn.op().has(ENDS) {
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
        let all = self.within(within)?;
        Ok(all.has_one_entry
            && all.held == Some(self.held(pc)?)
            && self.spares(within, all.written)?)
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
        for &insn in self.insns.iter().filter(|insn| is_in(insn.pc)) {
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
