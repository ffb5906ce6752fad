//! The monitors that are held at each instruction.
//!
//! ART's verifier demands that every path into a handler holds the same monitors, so code that can throw while it holds
//! one needs a handler of its own.

use crate::aspect::advice::Reason;
use crate::aspect::attempt::Attempt;
use crate::dex::analysis::flow::{self, State};
use crate::dex::format::code_item::{Code, Try};
use crate::dex::format::insn::Insn;
use crate::dex::format::opcodes::{THROW, op};

/// A set of monitors that are held; equal numbers mean equal sets. 0 is none.
pub type Held = u32;

#[derive(Clone, PartialEq)]
struct Stack(Held);

impl State for Stack {
    fn merge(&mut self, other: &Stack) -> Option<bool> {
        (self.0 == other.0).then_some(false)
    }
}

/// The monitors that each throwing instruction holds, in order of pc, without unreachable ones. As for ART,
/// `monitor-exit` throws nothing.
pub fn analyse(code: &Code<'_>, tries: &[Try]) -> Attempt<Vec<(u32, Held)>> {
    let throws = |insn: Insn| insn.op().has(THROW) && insn.opcode != op::MONITOR_EXIT;
    held(code, tries, throws)
}

/// The same of each instruction: what is held in front of it.
pub fn everywhere(code: &Code<'_>, tries: &[Try]) -> Attempt<Vec<(u32, Held)>> {
    held(code, tries, |_| true)
}

fn held(
    code: &Code<'_>,
    tries: &[Try],
    is_wanted: impl Fn(Insn) -> bool,
) -> Attempt<Vec<(u32, Held)>> {
    // A stack is the stack under its top, and the register that was locked. Stack 0 is empty.
    let mut stacks: Vec<(Held, u32)> = vec![(0, 0)];
    let mut held = Vec::new();
    flow::follow(code, tries, Stack(0), |stack, insn| {
        if is_wanted(insn) {
            held.push((insn.pc, stack.0));
        }
        match insn.opcode {
            op::MONITOR_EXIT => {
                stack.0 = stacks[stack.0 as usize].0;
                return Ok(false);
            }
            op::MONITOR_ENTER => {
                let top = (stack.0, insn.a);
                let known = stacks[1..].iter().position(|s| *s == top);
                stack.0 = known.map_or(stacks.len(), |i| i + 1) as u32;
                if known.is_none() {
                    stacks.push(top);
                }
            }
            _ => {}
        }
        match stacks.len() {
            0..=MAX_STACKS => Ok(true),
            _ => Err(Reason::Unsupported.into()),
        }
    })?;
    held.sort_unstable();
    held.dedup();
    Ok(held)
}

/// Different sets of monitors that one method may hold; each that needs one gets a handler.
const MAX_STACKS: usize = 256;
