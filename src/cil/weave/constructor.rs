//! Where a constructor's own code begins: behind the call of another constructor, if the stack is empty
//! there and nothing crosses it, so that it can become the start of a protected block (III.1.7.5).

use crate::cil::il::insn::{self, Form, VARIES};
use crate::cil::rewrite::Scratch;

/// The meaning of a constructor's calls.
pub trait Calls {
    /// Whether a `call` of this token initialises `this`: a constructor of the method's own type or of
    /// its base type.
    fn initialises_this(&self, token: u32) -> bool;
    /// The values that a `call`, `calli`, `callvirt` or `newobj` takes (`this` and a function pointer
    /// included) and leaves; `None` where that is unknown.
    fn stack_effect(&self, opcode: u16, token: u32) -> Option<(u32, u32)>;
}

/// Whether the woven part of a constructor can begin at `start`.
pub fn can_start(code: &[u8], start: u32, calls: &dyn Calls, scratch: &Scratch) -> bool {
    (start as usize) < code.len()
        && scratch.divides(code, start)
        && stack_is_empty(code, start, calls, scratch)
}

/// Whether the stack is known to be empty at `stop`, walking from the code's start. Depths are those of
/// a one-pass verifier: behind an instruction that ends the flow, what a branch from above brought.
fn stack_is_empty(code: &[u8], stop: u32, calls: &dyn Calls, scratch: &Scratch) -> bool {
    if scratch.switch_before(stop) || scratch.first_clause().is_some_and(|pc| pc < stop) {
        return false;
    }
    // Depths at targets of forward branches. Argument lists rarely have more than one or two.
    let mut known = [(0u32, 0u32); 16];
    let mut count = 0;
    let mut targets = scratch.branches_before(stop);
    let mut pc = 0;
    let mut depth = Some(0u32);
    loop {
        for (target, there) in &known[..count] {
            if *target == pc && *depth.get_or_insert(*there) != *there {
                return false;
            }
        }
        if pc >= stop {
            return pc == stop && depth == Some(0);
        }
        // Code that only a backward branch reaches begins with an empty stack (III.1.7.5).
        let before = depth.unwrap_or(0);
        let Ok(insn) = insn::at(code, pc) else {
            return false;
        };
        let (pops, pushes) = match (insn.pops(), insn.pushes()) {
            (VARIES, 0) => (before, 0), // ret
            (VARIES, _) => match calls.stack_effect(insn.opcode, insn.token(code)) {
                Some(effect) => effect,
                None => return false,
            },
            (pops, pushes) => (u32::from(pops), u32::from(pushes)),
        };
        let Some(after) = before.checked_sub(pops).map(|d| d + pushes) else {
            return false;
        };
        if matches!(insn.form, Form::ShortBranch | Form::Branch)
            && let Some((_, target)) = targets.next()
            && target > pc
        {
            if count == known.len() {
                return false;
            }
            known[count] = (target, after);
            count += 1;
        }
        depth = (!insn.ends_flow()).then_some(after);
        pc = insn.end();
    }
}
