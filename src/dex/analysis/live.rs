//! The registers whose values code still needs.

use crate::dex::analysis::flow;
use crate::dex::format::code_item::{Code, Try};
use crate::dex::format::insn::{self, Insn};
use crate::dex::format::opcodes::{ENDS, Format, THROW};
use crate::error::Result;
use std::ops::Range;

/// How many registers a set can hold.
const MOST: u32 = 256;

/// Passes over the code; real code takes as many as loops are nested.
const MOST_PASSES: u32 = 64;

/// A set of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers([u64; MOST as usize / 64]);

impl Registers {
    pub fn add(&mut self, registers: Range<u32>) {
        for register in registers.start..registers.end.min(MOST) {
            self.0[register as usize / 64] |= 1 << (register % 64);
        }
    }

    fn remove(&mut self, registers: Range<u32>) {
        for register in registers.start..registers.end.min(MOST) {
            self.0[register as usize / 64] &= !(1 << (register % 64));
        }
    }

    fn join(&mut self, other: Registers) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word |= other;
        }
    }

    pub fn is_empty(self) -> bool {
        self == Registers::default()
    }

    pub fn meets(self, other: Registers) -> bool {
        self.0.iter().zip(other.0).any(|(a, b)| a & b != 0)
    }
}

/// Shows the registers that an instruction reads.
fn read(code: &[u8], insn: Insn, mut each: impl FnMut(Range<u32>)) {
    let op = insn.op();
    if matches!(
        op.format,
        Format::F35c | Format::F45cc | Format::F3rc | Format::F4rcc
    ) {
        insn::arguments(code, insn).for_each(|r| each(r..r + 1));
        return;
    }
    let is_read_too = op.registers.ends_with('+');
    for (register, kind) in [insn.a, insn.b, insn.c]
        .into_iter()
        .zip(op.registers.bytes())
    {
        let words = 1 + u32::from(matches!(kind.to_ascii_lowercase(), b'w' | b'j' | b'd'));
        if kind.is_ascii_lowercase() || kind.is_ascii_uppercase() && is_read_too {
            each(register..register + words);
        }
    }
}

/// For each instruction, in order, the registers whose values are needed from there on. None: nobody knows.
pub fn analyse(code: &Code<'_>, tries: &[Try]) -> Result<Option<Vec<(u32, Registers)>>> {
    if u32::from(code.registers) > MOST {
        return Ok(None);
    }
    let insns = insn::each(code.insns).collect::<Result<Vec<Insn>>>()?;
    let place = |pc: u32| insns.binary_search_by_key(&pc, |insn| insn.pc).ok();
    // Where each goes beside the next, and where its exceptions go.
    let mut ways: Vec<Vec<usize>> = Vec::with_capacity(insns.len());
    let mut caught: Vec<Vec<usize>> = Vec::new();
    for t in tries {
        let (mut list, mut handlers) = (code.list(t.list)?, Vec::new());
        while let Some((_, pc)) = list.next_handler()? {
            handlers.extend(place(pc));
        }
        caught.push(handlers);
    }
    for &insn in &insns {
        let mut targets = Vec::new();
        if !insn.is_payload {
            insn::targets(code.insns, insn, |pc| targets.extend(place(pc)))?;
        }
        ways.push(targets);
    }
    let mut live = vec![Registers::default(); insns.len()];
    for _ in 0..MOST_PASSES {
        let mut is_done = true;
        for (n, &insn) in insns.iter().enumerate().rev() {
            if insn.is_payload {
                continue;
            }
            let mut set = Registers::default();
            if !insn.op().has(ENDS) {
                set.join(live.get(n + 1).copied().unwrap_or_default());
            }
            for &to in &ways[n] {
                set.join(live[to]);
            }
            set.remove(insn.written());
            read(code.insns, insn, |registers| set.add(registers));
            // What throws has written nothing yet.
            if insn.op().has(THROW)
                && let Some(t) = flow::place_of(tries, insn.pc)
            {
                for &to in &caught[t] {
                    set.join(live[to]);
                }
            }
            is_done &= set == live[n];
            live[n] = set;
        }
        if is_done {
            let each = insns.iter().zip(live).map(|(insn, live)| (insn.pc, live));
            return Ok(Some(each.collect()));
        }
    }
    Ok(None)
}
