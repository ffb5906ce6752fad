//! Whether a woven method's hooks pair: on every path enter once, then exit or exception once, before it returns.
//!
//! One hook can stand for two: `leave` for exit and exception, `leaf` for enter and exit.
//!
//! Followed is what may have happened, as a set of phases. Judged are methods with one enter hook, and constructors,
//! which have one behind each `super()`: what compilers inline brings hooks of its own.
//!
//! Hooks are those of the library, and those of the classes that a dex has beside it for ids of 16 bits.

use crate::dex::format::code_item::Code;
use crate::dex::format::file::{File, MethodId};
use crate::dex::format::insn::{self, Insn};
use crate::dex::format::opcodes::op;
use crate::dex::hooks::near;
use crate::error::Result;

/// Where a path can be, as a set.
pub(super) mod phase {
    /// The enter hook was not called.
    pub const BEFORE: u32 = 1;
    /// It was, and none of the others.
    pub const WITHIN: u32 = 2;
    /// One of the others was, too.
    pub const BEHIND: u32 = 4;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hook {
    Enter,
    Exit,
    Error,
    /// Either, by what is passed; an exception is thrown again.
    Leave,
    /// The first two in one.
    Leaf,
}

/// The methods of the file that are hooks.
#[derive(Default)]
pub(super) struct Hooks {
    /// The index of the first.
    first: u32,
    /// What that one is and those behind it are.
    methods: Vec<Option<Hook>>,
}

impl Hooks {
    /// Finds them.
    pub fn of(file: &File<'_>) -> Result<Hooks> {
        let known = near::known(file)?.unwrap_or_default();
        let mut hooks = Hooks {
            first: known.start,
            methods: Vec::with_capacity(known.len()),
        };
        for id in known {
            let MethodId { name, .. } = file.method(id)?;
            hooks.methods.push(match file.string(name)? {
                b"enter" => Some(Hook::Enter),
                b"exit" => Some(Hook::Exit),
                b"error" => Some(Hook::Error),
                b"leave" => Some(Hook::Leave),
                b"leaf" => Some(Hook::Leaf),
                _ => None,
            });
        }
        Ok(hooks)
    }

    fn called(&self, insn: Insn) -> Option<Hook> {
        let is_call = matches!(insn.opcode, op::INVOKE_STATIC | op::INVOKE_STATIC_RANGE);
        let number = insn.index().checked_sub(self.first).filter(|_| is_call)?;
        self.methods.get(number as usize).copied().flatten()
    }

    /// How a method is judged, if it is.
    pub fn judge(&self, code: &Code<'_>, is_constructor: bool) -> Result<Option<Judge<'_>>> {
        let mut judge = Judge {
            hooks: self,
            exits: false,
        };
        if self.methods.is_empty() {
            return Ok(None);
        }
        let mut enters = 0;
        for insn in insn::each(code.insns) {
            let insn = insn?;
            if !insn.is_payload {
                match self.called(insn) {
                    Some(Hook::Enter | Hook::Leaf) => enters += 1,
                    Some(Hook::Exit | Hook::Leave) => judge.exits = true,
                    Some(Hook::Error) | None => {}
                }
            }
        }
        Ok((enters == 1 || enters > 1 && is_constructor).then_some(judge))
    }
}

/// Follows the hooks of one method.
#[derive(Clone, Copy)]
pub(super) struct Judge<'h> {
    hooks: &'h Hooks,
    /// Some exit hook is called.
    exits: bool,
}

impl Judge<'_> {
    /// The phases behind a call, if it is one of a hook.
    pub fn call(&self, insn: Insn, phases: u32) -> Result<u32, &'static str> {
        let Some(hook) = self.hooks.called(insn) else {
            return Ok(phases);
        };
        match hook {
            Hook::Enter if phases & phase::WITHIN != 0 => Err("the enter hook is called again"),
            Hook::Enter => Ok(phase::WITHIN),
            Hook::Leaf if phases != phase::BEFORE => {
                Err("the leaf hook is called beside another hook")
            }
            Hook::Leaf => Ok(phase::BEHIND),
            _ if phases & phase::BEFORE != 0 => Err("the hook is called before the enter hook"),
            _ if phases & phase::BEHIND != 0 => Err("an exit or exception hook is called again"),
            Hook::Exit | Hook::Error | Hook::Leave => Ok(phase::BEHIND),
        }
    }

    /// Whether a call throws once it did its work.
    pub fn throws_behind(&self, insn: Insn) -> bool {
        self.hooks.called(insn) == Some(Hook::Leave)
    }

    /// Whether the method may return.
    pub fn returned(&self, phases: u32) -> Result<(), &'static str> {
        match self.exits && phases & phase::WITHIN != 0 {
            true => Err("returns without the exit hook"),
            false => Ok(()),
        }
    }
}
