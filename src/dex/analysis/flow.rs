//! Data flow along every path through a body, exceptions included.

use crate::aspect::advice::Reason;
use crate::aspect::attempt::Attempt;
use crate::dex::format::code_item::{Code, Try};
use crate::dex::format::insn::{self, Insn};
use crate::dex::format::opcodes::{ENDS, THROW};
use crate::error::Error;
use rustc_hash::FxHashMap;

/// The state at one place of the code.
pub trait State: Clone + PartialEq {
    /// Keeps what holds on both paths. Returns whether that is less than before, or `None` where the paths contradict each
    /// other.
    fn merge(&mut self, other: &Self) -> Option<bool>;
}

/// Most steps and merges of a body; real ones take some thousand.
const FUEL: u32 = 20_000_000;

struct Run<S> {
    states: FxHashMap<u32, S>,
    work: Vec<u32>,
    fuel: u32,
}

impl<S: State> Run<S> {
    fn reach(&mut self, pc: u32, state: &S) -> Option<()> {
        self.fuel = self.fuel.checked_sub(1)?;
        match self.states.get_mut(&pc) {
            Some(known) => {
                if known.merge(state)? {
                    self.work.push(pc);
                }
            }
            None => {
                self.states.insert(pc, state.clone());
                self.work.push(pc);
            }
        }
        Some(())
    }
}

/// Follows a body from its start. `step` turns the state in front of an instruction into the one behind it, maybe several
/// times, and returns whether to follow the instruction's exceptions.
pub fn follow<S: State>(
    code: &Code<'_>,
    tries: &[Try],
    entry: S,
    mut step: impl FnMut(&mut S, Insn) -> Attempt<bool>,
) -> Attempt<()> {
    let insns = code.insns;
    let mut leaders = vec![false; insn::units(insns) as usize];
    for insn in insn::each(insns) {
        insn::targets(insns, insn?, |t| leaders[t as usize] = true)?;
    }
    for t in tries {
        let mut list = code.list(t.list)?;
        while let Some((_, pc)) = list.next_handler()? {
            let Some(leader) = leaders.get_mut(pc as usize) else {
                let what = format!("a handler at {pc}, outside the code");
                return Err(Error::malformed(code.offset, what).into());
            };
            *leader = true;
        }
    }
    let mut run = Run {
        states: FxHashMap::default(),
        work: Vec::new(),
        fuel: FUEL,
    };
    run.reach(0, &entry);
    while let Some(mut pc) = run.work.pop() {
        let mut state = run.states[&pc].clone();
        let mut shown: Option<(u16, S)> = None;
        loop {
            let insn = insn::at(insns, pc)?;
            if insn.is_payload {
                let what = "control runs into data";
                return Err(Error::malformed(pc as usize * 2, what).into());
            }
            let Some(fuel) = run.fuel.checked_sub(1) else {
                return Err(Reason::CodeTooLarge.into());
            };
            run.fuel = fuel;
            let covering = match insn.op().has(THROW) {
                true => find(tries, pc),
                false => None,
            };
            let before = covering.map(|t| (t.list, state.clone()));
            let follows = step(&mut state, insn)?;
            let mut fits = Some(());
            if follows && before.is_some() && before != shown {
                if let Some((at, before)) = &before {
                    let mut list = code.list(*at)?;
                    while let Some((_, handler)) = list.next_handler()? {
                        fits = fits.and_then(|()| run.reach(handler, before));
                    }
                }
                shown = before;
            }
            insn::targets(insns, insn, |target| {
                fits = fits.and_then(|()| run.reach(target, &state));
            })?;
            let ends = insn.op().has(ENDS);
            pc = insn.end();
            if !ends && pc >= insn::units(insns) {
                let what = "control falls off the end of the code";
                return Err(Error::malformed(insn.pc as usize * 2, what).into());
            }
            let joins = !ends && leaders[pc as usize];
            if joins {
                fits = fits.and_then(|()| run.reach(pc, &state));
            }
            if fits.is_none() {
                return Err(Reason::Unsupported.into());
            }
            if ends || joins {
                break;
            }
        }
    }
    Ok(())
}

/// The try that covers a pc.
pub fn find(tries: &[Try], pc: u32) -> Option<Try> {
    place_of(tries, pc).map(|i| tries[i])
}

/// Its place among them.
pub fn place_of(tries: &[Try], pc: u32) -> Option<usize> {
    let i = tries.partition_point(|t| t.end <= pc);
    tries.get(i).is_some_and(|t| t.start <= pc).then_some(i)
}
