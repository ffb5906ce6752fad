//! Bodies of which only the frame is new: most methods return in one place, at their end. Nothing moves in such code, but
//! that it begins later, and what goes around it is the same for all. So it is not written until the file is: until then
//! a [`Frame`] says all there is to say.

use super::code::{Code, SHORT, Short, put_handlers, put_load, put_snippet, put_store};
use super::job::Slots;
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
    /// Most bytes of code: the body is made anew for each window of the file that it lies in.
    pub const MOST: usize = 16 << 10;

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

    /// Makes the body, given the method's code. There is room for just as much; it must come to lie at a multiple of four.
    pub fn put(&self, code: &[u8], hooks: &Hooks, out: &mut [u8]) {
        let slots = self.slots;
        let hook = |token| Snippet::default().hook(self.id, token);
        let (header, rest) = out.split_at_mut(FAT_HEADER);
        header.copy_from_slice(&body::fat_header(
            self.code_len() as usize,
            self.max_stack,
            self.init_locals,
            slots.signature,
            true,
        ));
        let (enter, rest) = rest.split_at_mut(Snippet::HOOK as usize);
        enter.copy_from_slice(hook(hooks.enter).bytes());
        let (own, rest) = rest.split_at_mut(self.old_len as usize - 1);
        own.copy_from_slice(&code[..self.old_len as usize - 1]);
        let mut tail = Short::new();
        if self.has_result {
            put_store(&mut tail, slots.result);
        }
        // 28 bytes at most.
        let over = self.handlers_end() - self.own_end();
        tail.put([op::LEAVE_S as u8, over as u8], SHORT as usize);
        put_handlers(slots, hooks.exception, hook(hooks.error), &mut tail);
        put_snippet(&mut tail, hook(hooks.exit));
        if self.has_result {
            put_load(&mut tail, slots.result);
        }
        tail.put([op::RET as u8], 1);
        let clauses = self.clauses();
        let (gap, section) = rest.split_at_mut(rest.len() - body::clauses_len(&clauses));
        let (new, padding) = gap.split_at_mut(tail.bytes().len());
        new.copy_from_slice(tail.bytes());
        padding.fill(0);
        body::write_clauses(section, &clauses);
    }

    fn clauses(&self) -> [Clause; 2] {
        self.slots
            .clauses(Snippet::HOOK, self.own_end(), Snippet::HOOK)
    }
}
