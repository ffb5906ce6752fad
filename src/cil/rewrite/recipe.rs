//! How to rewrite a body, and where its parts are afterwards.

use crate::cil::il::insn::op;
use crate::edit::ByPc;
use crate::error::Result;

/// A few instructions whose branches stay in it.
#[derive(Clone, Copy, Debug)]
pub struct Snippet {
    pub(super) bytes: [u8; Self::MOST],
    pub(super) len: u8,
}

impl Default for Snippet {
    fn default() -> Self {
        Snippet {
            bytes: [0; Self::MOST],
            len: 0,
        }
    }
}

impl Snippet {
    /// Most bytes of one.
    const MOST: usize = 96;
    /// Bytes of a hook's call.
    pub const HOOK: u32 = 10;
    /// Most bytes of the call in front of a hook that says what is left out of texts.
    pub const HELD: u32 = 60;

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

    /// Appends an opcode of two bytes that names a local.
    pub fn local(self, opcode: u16, index: u32) -> Snippet {
        let [prefix, second] = opcode.to_be_bytes();
        let mut s = self.op(u16::from(prefix)).op(u16::from(second));
        for byte in (index as u16).to_le_bytes() {
            s = s.op(u16::from(byte));
        }
        s
    }

    /// Appends `ldc.i4 id; call hook`, in one piece since every method has three.
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

    /// Appends another one, if there is room for it.
    pub fn then(mut self, other: Snippet) -> Option<Snippet> {
        let at = self.len as usize;
        let bytes = self.bytes.get_mut(at..at + other.len as usize)?;
        bytes.copy_from_slice(&other.bytes[..other.len as usize]);
        self.len += other.len;
        Some(self)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len as usize]
    }

    pub fn len(&self) -> u32 {
        u32::from(self.len)
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// What runs when the method returns.
#[derive(Clone, Copy, Debug)]
pub enum Exit {
    /// Always the same, or nothing.
    Always(Snippet),
    /// The same with the method's result on the stack, which it takes. Always with handlers.
    OfResult(Snippet),
}

/// Code around single instructions, whose branches stay in it.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// By the instructions in front of which it goes.
    pub at: ByPc<Point>,
    /// How much deeper the stack becomes.
    pub max_stack: u32,
}

/// What goes in front of an instruction.
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// What the instruction above has behind it: branches to this one do not run it.
    pub behind: Vec<u8>,
    /// What runs however the instruction is reached, in front of [`Recipe::before`].
    pub ahead: Vec<u8>,
    /// The same behind that.
    pub before: Vec<u8>,
}

/// How to rewrite a body.
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
    /// What goes around single instructions besides, of hooks of one's own.
    pub points: Option<&'r Points>,
    /// The return type as in the method's signature, modifiers included.
    pub result: &'r [u8],
    /// The signature of the body's locals; empty where it has none.
    pub locals: &'r [u8],
    /// The types of further locals behind them, which snippets name, and how many they are.
    pub extra: (&'r [u8], u32),
}

/// Code of hooks of one's own, outside of the recipe's, and code that records values, right in front of the recipe's: each
/// on an empty stack, without branches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own<'o> {
    /// Where the method begins, if the woven part does not begin there.
    pub first: &'o [u8],
    /// In front of [`Recipe::enter`].
    pub enter: &'o [u8],
    /// In front of [`Recipe::exit`], and behind it.
    pub exit: (&'o [u8], &'o [u8]),
    /// In front of [`Recipe::error`], which must not be empty then, and behind it.
    pub error: (&'o [u8], &'o [u8]),
    /// The exception is caught: `error` ends by rethrowing it or leaving, and `ends`, behind the handler, is the target
    /// of that leave.
    pub catches: bool,
    pub ends: &'o [u8],
    /// The depth of the stack that it needs.
    pub max_stack: u32,
    /// The locals of result and exception, which it may name, lie behind [`Recipe::extra`], whatever needs them.
    pub keeps: bool,
}

impl Own<'_> {
    pub(super) fn exit_len(&self) -> u32 {
        (self.exit.0.len() + self.exit.1.len()) as u32
    }

    pub fn error_len(&self) -> u32 {
        (self.error.0.len() + self.error.1.len()) as u32
    }
}

/// Makes signatures for locals.
pub trait Signatures {
    /// The token of a `StandAloneSig` row with this blob.
    fn stand_alone_sig(&mut self, blob: &[u8]) -> Result<u32>;
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
