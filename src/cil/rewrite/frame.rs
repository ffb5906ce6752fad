//! Bodies of which only the frame is new: most methods return in one place, at their end. Their code moves as a whole,
//! and all frames look alike. So a [`Frame`] stands for such a body until the file is written, and saves its memory.

use super::emit::{SHORT, Slots, put_handlers, put_load, put_store};
use super::recipe::{Rewritten, Snippet};
use crate::cil::il::body::{self, Clause, FAT_HEADER};
use crate::cil::il::insn::op;

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

/// The frame around the code of a method with all three hooks, whose only `ret` is its last instruction.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub(super) id: u32,
    /// Bytes of its code, of which all but the `ret` stay.
    pub(super) old_len: u32,
    pub(super) slots: Slots,
    pub(super) has_result: bool,
    pub(super) max_stack: u16,
    pub(super) init_locals: bool,
}

impl Frame {
    /// Most bytes of code: each window of the file that holds a piece of the body makes the whole body.
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

    /// The same as [`super::Scratch::rewrite`] returns, for a body at the start of its output.
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

    /// Writes the body into `out`, which is as long as it and lies at a multiple of four, given the method's code.
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
        let mut tail = Vec::with_capacity(rest.len());
        if self.has_result {
            put_store(&mut tail, slots.result);
        }
        // 28 bytes at most.
        let over = self.handlers_end() - self.own_end();
        tail.extend_from_slice(&[op::LEAVE_S as u8, over as u8]);
        put_handlers(
            slots,
            hooks.exception,
            hook(hooks.error),
            (&[], &[]),
            &mut tail,
        );
        tail.extend_from_slice(hook(hooks.exit).bytes());
        if self.has_result {
            put_load(&mut tail, slots.result);
        }
        tail.push(op::RET as u8);
        let clauses = self.clauses();
        let (gap, section) = rest.split_at_mut(rest.len() - body::clauses_len(&clauses));
        let (new, padding) = gap.split_at_mut(tail.len());
        new.copy_from_slice(&tail);
        padding.fill(0);
        body::write_clauses(section, &clauses);
    }

    fn clauses(&self) -> [Clause; 2] {
        self.slots
            .clauses(Snippet::HOOK, self.own_end(), Snippet::HOOK)
    }
}
