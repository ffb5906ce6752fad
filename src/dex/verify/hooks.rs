//! Whether a woven method's hooks pair: on every path enter once, then exit or exception once, before it returns.
//!
//! One hook can stand for two: `leave` for exit and exception, `leaf` for enter and exit.
//!
//! Followed is what may have happened, as a set of phases. Judged are methods with one enter hook, and constructors,
//! which have one behind each `super()`: what compilers inline brings hooks of its own.

use crate::dex::code_item::Code;
use crate::dex::file::File;
use crate::dex::ids;
use crate::dex::insn::{self, Insn};
use crate::dex::opcodes::op;
use crate::dex::write::HOOKS;
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

/// The hooks' numbers among the file's methods.
#[derive(Default)]
pub(super) struct Hooks {
    methods: Vec<(u32, Hook)>,
}

impl Hooks {
    /// Finds them.
    pub fn of(file: &File<'_>) -> Result<Hooks> {
        let mut methods = Vec::new();
        if let Some(class) = ids::find_type(file, HOOKS)? {
            for id in ids::methods_of(file, class) {
                let (_, _, name) = file.method(id)?;
                let hook = match file.string(name)? {
                    b"enter" => Hook::Enter,
                    b"exit" => Hook::Exit,
                    b"error" => Hook::Error,
                    b"leave" => Hook::Leave,
                    b"leaf" => Hook::Leaf,
                    _ => continue,
                };
                methods.push((id, hook));
            }
        }
        Ok(Hooks { methods })
    }

    fn called(&self, insn: Insn) -> Option<Hook> {
        let is_call = matches!(insn.opcode, op::INVOKE_STATIC | op::INVOKE_STATIC_RANGE);
        let known = self.methods.iter().find(|m| is_call && m.0 == insn.index());
        known.map(|m| m.1)
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
            Hook::Leaf if phases != phase::BEFORE => Err("a whole call is told of beside another"),
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
