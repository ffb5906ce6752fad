//! One method body written anew around a [`Recipe`]: what goes in front, before returns and calls, and
//! into handlers around it all.
//!
//! ```text
//!     enter                                  in front of the protected part
//!     .try { .try {
//!         ...                                the method's own code
//!         [stloc r]; leave END               instead of each ret
//!     } filter {
//!         isinst System.Exception; stloc e; ldc.i4.0; endfilter
//!     } { throw } } fault {
//!         ldloc e; error; endfault
//!     }
//! END: exit; [ldloc r]; ret
//! ```
//!
//! A filter that always declines and a fault, rather than a catch that throws again: the exception passes as
//! if nothing were there. Its stack trace stays whole (on Mono, `rethrow` loses the frames
//! below), filters further up run before anything is unwound, what nobody handles ends the process where
//! it was thrown, and it costs a tenth of what catching and throwing again does.
//!
//! Without handlers, `exit` goes in front of each `ret`. Code that cannot throw gets none: before
//! .NET 10 no JIT inlines a method that has one. Hooks swallow their own failures, so the exit hook
//! may lie outside the range. Our clauses are the outermost, so they are the last ones (II.25.4.6).

mod code;
mod frame;
mod job;

pub use frame::{Frame, Hooks};

use crate::aspect::advice::Reason;
use crate::cil::body::{Body, Clause};
use crate::cil::insn::{self, Form, Insn, op, quick};
use crate::cil::metadata::schema::table;
use crate::cil::metadata::tables::token_table;
use crate::edit::Layout;
use crate::error::Result;

/// A few instructions without branches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snippet {
    bytes: [u8; 20],
    len: u8,
}

impl Snippet {
    /// Bytes of a hook's call.
    pub const HOOK: u32 = 10;

    /// Appends an opcode of one byte.
    pub fn op(mut self, opcode: u16) -> Snippet {
        self.bytes[self.len as usize] = opcode as u8;
        self.len += 1;
        self
    }

    /// Appends an opcode of one byte and its 32-bit operand.
    pub fn op_u32(self, opcode: u16, operand: u32) -> Snippet {
        let mut s = self.op(opcode);
        let at = s.len as usize;
        s.bytes[at..at + 4].copy_from_slice(&operand.to_le_bytes());
        s.len += 4;
        s
    }

    /// `ldc.i4 id; call hook`. At once: each method has three, and appending by parts waits for memory.
    #[inline]
    pub fn hook(mut self, id: u32, hook: u32) -> Snippet {
        let [a, b, c, d] = id.to_le_bytes();
        let [e, f, g, h] = hook.to_le_bytes();
        let code = [op::LDC_I4 as u8, a, b, c, d, op::CALL as u8, e, f, g, h];
        let at = self.len as usize;
        self.bytes[at..at + code.len()].copy_from_slice(&code);
        self.len += code.len() as u8;
        self
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len as usize]
    }

    fn len(&self) -> u32 {
        u32::from(self.len)
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// What runs when the method returns.
#[derive(Clone, Copy, Debug)]
pub enum Exit {
    /// The same always; may be empty.
    Always(Snippet),
    /// One or the other, by the method's result, a boolean. Always with handlers.
    ByResult {
        /// When it returns true.
        yes: Snippet,
        /// When it returns false.
        no: Snippet,
    },
}

/// What to do with a body.
#[derive(Clone, Copy, Debug)]
pub struct Recipe<'r> {
    /// Where the woven part begins: 0, or behind a constructor's call of another constructor.
    pub start: u32,
    /// In front of the woven part.
    pub enter: Snippet,
    /// At its end.
    pub exit: Exit,
    /// When an exception leaves it, with the exception on the stack; empty for no handlers.
    pub error: Snippet,
    /// Token of `System.Exception`.
    pub exception: u32,
    /// In front of single instructions, ascending by pc.
    pub before: &'r [(u32, Snippet)],
    /// The return type as in the method's signature, modifiers included.
    pub result: &'r [u8],
    /// The signature of the body's locals; empty where it has none.
    pub locals: &'r [u8],
}

/// Makes signatures for locals.
pub trait Signatures {
    /// The token of a `StandAloneSig` row with this blob.
    fn stand_alone_sig(&mut self, blob: &[u8]) -> Result<u32>;
}

/// A branch of the old code.
#[derive(Clone, Copy, Debug)]
struct Branch {
    insn: Insn,
    target: u32,
    widened: bool,
}

/// A `ret` that becomes a `leave`.
#[derive(Clone, Copy, Debug)]
struct Return {
    pc: u32,
    far: bool,
}

/// Reusable memory, and what [`Scratch::walk`] found in the code.
#[derive(Default)]
pub struct Scratch {
    layout: Layout,
    branches: Vec<Branch>,
    switches: Vec<Insn>,
    returns: Vec<Return>,
    /// The `tail.` prefixes.
    tails: Vec<u32>,
    /// The `jmp`s are this many.
    jumps: u32,
    /// The last instruction that can throw.
    last_unsafe: Option<u32>,
    /// The instructions that name rows of `Field`, and where their tokens lie; behind the first `named`, anything.
    fields: Vec<(u32, u32)>,
    named: usize,
    clauses: Vec<Clause>,
    signature: Vec<u8>,
}

/// A body written anew.
#[derive(Clone, Copy, Debug)]
pub struct Rewritten {
    /// Where its header begins in the output.
    pub start: usize,
    /// Where its code begins in the output.
    pub code_start: usize,
    /// The old pc from which on it is woven: [`Recipe::start`].
    pub woven_from: u32,
    /// The token of its locals' signature, or 0.
    pub locals: u32,
    /// Bytes of its code.
    pub code_len: u32,
    /// Where the method's own code ends in the new code, and handlers or the common way out begin.
    pub own_end: u32,
    /// A tail call became an ordinary one.
    pub drops_tail_call: bool,
}

/// No pc.
const NONE: u32 = u32::MAX;

impl Scratch {
    /// The map from the old code to the new one, after [`Scratch::rewrite`].
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Where in the old code the tokens of fields lie, after [`Scratch::walk`].
    pub fn old_fields(&self) -> impl Iterator<Item = u32> + '_ {
        self.fields[..self.named].iter().map(|&(_, at)| at)
    }

    /// Where in the output the tokens of fields lie that the old code named, after [`Scratch::rewrite`].
    pub fn fields(&self, new: &Rewritten) -> impl Iterator<Item = usize> + '_ {
        let start = new.code_start;
        let place = move |&(pc, at)| start + (self.layout.insn(pc) + (at - pc)) as usize;
        self.fields[..self.named].iter().map(place)
    }

    /// Reads the code; `each` is shown every instruction that has a token, and where its prefixes begin.
    pub fn walk(&mut self, body: &Body<'_>, mut each: impl FnMut(Insn, u32)) -> Result<()> {
        self.branches.clear();
        self.switches.clear();
        self.returns.clear();
        self.tails.clear();
        self.named = 0;
        self.clauses.clear();
        self.jumps = 0;
        self.last_unsafe = None;
        let code = body.code;
        let mut pc = 0;
        let mut prefixes = None;
        // A token takes five bytes with its opcode.
        let mut fields = 0;
        if self.fields.len() < code.len() / 5 + 1 {
            self.fields.resize(code.len() / 5 + 1, (0, 0));
        }
        // What throws and what names a field is hard to foresee: without branches it need not be.
        let mut last_unsafe = NONE;
        while let Some(&first) = code.get(pc as usize) {
            let known = insn::quick(first);
            // Most are passed over by their length. Half are one byte long, but to foresee which goes wrong too often.
            let end = pc + u32::from(known & quick::LENGTH);
            if known != 0 && end as usize <= code.len() {
                let throws = known & (quick::UNSAFE | quick::TOKEN) != 0;
                last_unsafe = if throws { pc } else { last_unsafe };
                if known & quick::TOKEN != 0 {
                    let insn = Insn {
                        pc,
                        len: end - pc,
                        opcode: u16::from(first),
                        form: Form::Token,
                    };
                    self.fields[fields] = (pc, end - 4);
                    fields += usize::from(code[end as usize - 1] == table::FIELD);
                    self.jumps += u32::from(insn.opcode == op::JMP);
                    each(insn, prefixes.unwrap_or(pc));
                }
                prefixes = None;
                pc = end;
                continue;
            }
            let insn = insn::at(code, pc)?;
            if matches!(insn.form, Form::Token | Form::TokenPrefix)
                && token_table(insn.token(code)) == table::FIELD
            {
                self.fields[fields] = (pc, insn.end() - 4);
                fields += 1;
            }
            match insn.form {
                Form::Safe => {}
                Form::Plain => last_unsafe = pc,
                Form::Token => {
                    last_unsafe = pc;
                    each(insn, prefixes.unwrap_or(pc));
                }
                Form::ShortBranch | Form::Branch => {
                    let target = insn::branch_target(code, insn)?;
                    if target <= pc {
                        // A loop may be stopped from outside: it counts as throwing.
                        last_unsafe = pc;
                    }
                    self.branches.push(Branch {
                        insn,
                        target,
                        widened: false,
                    });
                }
                Form::Switch => {
                    let mut back = false;
                    insn::switch_targets(code, insn, |target| back |= target <= pc)?;
                    if back {
                        last_unsafe = pc;
                    }
                    self.switches.push(insn);
                }
                Form::Return => self.returns.push(Return { pc, far: false }),
                Form::Prefix | Form::TokenPrefix => {
                    if insn.opcode == op::TAIL {
                        self.tails.push(pc);
                    }
                    if insn.form == Form::TokenPrefix {
                        each(insn, prefixes.unwrap_or(pc));
                    }
                    prefixes.get_or_insert(pc);
                    pc = insn.end();
                    continue;
                }
                Form::Invalid => unreachable!("insn::at refuses them"),
            }
            prefixes = None;
            pc = insn.end();
        }
        self.named = fields;
        self.last_unsafe = (last_unsafe != NONE).then_some(last_unsafe);
        for clause in body.clauses() {
            self.clauses.push(clause?);
        }
        Ok(())
    }

    /// Whether no branch and no clause crosses `pc`, so that what begins there can become a block of
    /// its own. Branches to it may come from above.
    pub fn divides(&self, code: &[u8], pc: u32) -> bool {
        let crosses = |from: u32, to: u32| if from < pc { to > pc } else { to < pc };
        if self.branches.iter().any(|b| crosses(b.insn.pc, b.target)) {
            return false;
        }
        let mut crossing = false;
        for switch in &self.switches {
            let from = switch.pc;
            let read = insn::switch_targets(code, *switch, |to| crossing |= crosses(from, to));
            crossing |= read.is_err();
        }
        !crossing
            && self.clauses.iter().all(|c| {
                let (first, last) = (
                    c.try_start.min(c.handler_start),
                    c.try_end.max(c.handler_end),
                );
                last <= pc || first >= pc
            })
    }

    /// Where the first clause's code begins.
    pub fn first_clause(&self) -> Option<u32> {
        self.clauses
            .iter()
            .map(|c| c.try_start.min(c.handler_start))
            .min()
    }

    /// The targets of the branches before `pc`, switches left out, in order.
    pub fn branches_before(&self, pc: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.branches
            .iter()
            .map(|b| (b.insn.pc, b.target))
            .take_while(move |(from, _)| *from < pc)
    }

    /// Whether a `switch` lies before `pc`.
    pub fn switch_before(&self, pc: u32) -> bool {
        self.switches.first().is_some_and(|s| s.pc < pc)
    }

    /// The new body for the code that [`Scratch::walk`] has read as a frame around it, if it is no more than that: then
    /// nothing is written yet. The recipe's hooks are all three, called with this id. With `maps`, [`Scratch::layout`]
    /// maps old pcs afterwards.
    pub fn frame(
        &mut self,
        body: &Body<'_>,
        recipe: &Recipe<'_>,
        (id, maps): (u32, bool),
        signatures: &mut dyn Signatures,
    ) -> Result<Option<Frame>> {
        job::Job::new(self, body, recipe).frame(id, maps, self, signatures)
    }

    /// Appends the new body for the code that [`Scratch::walk`] has read, or says why there can be none;
    /// then `out` is as it was. Positions in `out` and addresses are the same modulo four.
    pub fn rewrite(
        &mut self,
        body: &Body<'_>,
        recipe: &Recipe<'_>,
        signatures: &mut dyn Signatures,
        out: &mut Vec<u8>,
    ) -> Result<Result<Rewritten, Reason>> {
        let mark = out.len();
        let outcome = job::Job::new(self, body, recipe).run(self, signatures, out);
        if !matches!(outcome, Ok(Ok(_))) {
            out.truncate(mark);
        }
        outcome
    }
}
