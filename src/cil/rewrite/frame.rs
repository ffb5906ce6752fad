//! Bodies of which only the frame is new: most methods return in one place, at their end. Nothing moves in such code, but
//! that it begins later, and what goes around it is the same for all. So it is not written until the file is: until then
//! a [`Frame`] says all there is to say.

use super::job::{SHORT, Slots, put_handlers, put_load, put_store};
use super::{Rewritten, Snippet};
use crate::cil::body::{self, Clause, FAT_HEADER};
use crate::cil::insn::op;

/// Tokens of the hooks that frames call, and of `System.Exception`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hooks {
    /// `void Enter(int32)`
    pub enter: u32,
    /// `void Exit(int32)`
    pub exit: u32,
    /// `void Error(System.Exception, int32)`
    pub error: u32,
    /// The class `System.Exception`.
    pub exception: u32,
}

/// What goes around the code of a method with all three hooks, whose only `ret` is its last instruction.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// What its hooks are called with.
    pub(super) id: u32,
    /// Bytes of its code, of which all but the `ret` stay.
    pub(super) old_len: u32,
    pub(super) slots: Slots,
    pub(super) has_result: bool,
    pub(super) max_stack: u16,
    pub(super) init_locals: bool,
}

impl Frame {
    /// Where the method's own code begins in the body.
    pub const CODE: usize = FAT_HEADER + Snippet::HOOK as usize;

    /// The token of the locals' signature.
    pub fn locals(&self) -> u32 {
        self.slots.signature
    }

    /// Gives the locals another token.
    pub fn set_locals(&mut self, token: u32) {
        self.slots.signature = token;
    }

    /// Where the method's own code ends in the new code, and handlers begin.
    fn own_end(&self) -> u32 {
        Snippet::HOOK + self.old_len - 1 + self.result_len() + SHORT
    }

    /// Where the handlers end, and the common way out begins.
    fn handlers_end(&self) -> u32 {
        self.own_end() + self.slots.filter_len() + self.slots.fault_len(Snippet::HOOK)
    }

    fn code_len(&self) -> u32 {
        self.handlers_end() + Snippet::HOOK + self.result_len() + 1
    }

    fn result_len(&self) -> u32 {
        self.slots.result_len(self.has_result)
    }

    /// Bytes of the body.
    pub fn size(&self) -> usize {
        let code = FAT_HEADER + self.code_len() as usize;
        code.next_multiple_of(4) + body::clauses_len(&self.clauses())
    }

    /// As [`super::Scratch::rewrite`] tells of a body that begins its output.
    pub fn rewritten(&self) -> Rewritten {
        Rewritten {
            start: 0,
            code_start: FAT_HEADER,
            woven_from: 0,
            locals: self.locals(),
            code_len: self.code_len(),
            own_end: self.own_end(),
            drops_tail_call: false,
        }
    }

    /// Appends the body, given the method's code; it must come to lie at a multiple of four.
    pub fn put(&self, code: &[u8], hooks: &Hooks, out: &mut Vec<u8>) {
        let start = out.len();
        let hook = |token| Snippet::default().hook(self.id, token);
        let (code_len, slots) = (self.code_len(), self.slots);
        body::put_fat_header(
            out,
            code_len as usize,
            self.max_stack,
            self.init_locals,
            slots.signature,
            true,
        );
        out.extend_from_slice(hook(hooks.enter).bytes());
        out.extend_from_slice(&code[..self.old_len as usize - 1]);
        if self.has_result {
            put_store(out, slots.result);
        }
        // 28 bytes at most.
        let over = self.handlers_end() - self.own_end();
        out.extend_from_slice(&[op::LEAVE_S as u8, over as u8]);
        put_handlers(slots, hooks.exception, hook(hooks.error), out);
        out.extend_from_slice(hook(hooks.exit).bytes());
        if self.has_result {
            put_load(out, slots.result);
        }
        out.push(op::RET as u8);
        debug_assert_eq!(out.len() - start, FAT_HEADER + code_len as usize);
        let end = start + (out.len() - start).next_multiple_of(4);
        out.resize(end, 0);
        body::put_clauses(out, &self.clauses());
    }

    fn clauses(&self) -> [Clause; 2] {
        self.slots
            .clauses(Snippet::HOOK, self.own_end(), Snippet::HOOK)
    }
}
