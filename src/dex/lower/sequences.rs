//! The instructions of the hooks: in front of the body, at its returns, behind it.

use super::leave::Leave;
use super::lowering::{Found, Lowering, Scratch, Sequences};
use super::own_frame::OwnFrame;
use crate::aspect::advice::Advice;
use crate::aspect::attempt::Attempt;
use crate::dex::format::insn::{self, Insn};
use crate::dex::format::opcodes::op;
use crate::dex::lower::branches::{Branch, Goal};
use crate::dex::lower::registers::{self, Scheme, Width};

/// The hooks at a method's ends.
#[derive(Clone, Copy)]
pub(super) struct Ends<'o> {
    /// There is a hook at the returns.
    pub exits: bool,
    /// There is a handler.
    pub errs: bool,
    /// The width of the returned value.
    pub width: Option<Width>,
    /// The pc of the last return, if it stays in place.
    pub in_place: Option<u32>,
    /// Each return has a hook of its own.
    pub apart: bool,
    /// One call on both ways.
    pub leave: Option<Leave>,
    /// The registers of own hooks, where there are any.
    pub own: Option<&'o OwnFrame<'o>>,
}

/// The register of the return to which the others go, in the new frame.
pub(super) fn main_return(scheme: Scheme, in_place: Option<u32>, returns: &[Insn]) -> u32 {
    let main = match in_place {
        Some(_) => returns.last(),
        None => returns.first(),
    };
    scheme.renumbered(main.expect("something returns").a)
}

impl Lowering<'_, '_> {
    /// Writes the code of the hooks.
    pub(super) fn build_hooks(
        &self,
        scheme: Scheme,
        ends: Ends<'_>,
        scratch: &mut Scratch,
    ) -> Attempt<()> {
        scratch.sequences.clear();
        if let Some(own) = ends.own {
            self.build_own(own, ends, scratch)?;
            return match ends.exits {
                true => self.build_exits(scheme, ends, scratch),
                false => Ok(()),
            };
        }
        let Sequences {
            prologue,
            enter,
            handler,
            outer,
            begin,
            ..
        } = &mut scratch.sequences;
        let section = self.advice.has(Advice::SECTION);
        let error_hook = ends.errs && self.advice.has(Advice::EXCEPTION);
        let enter_hook = self.advice.has(Advice::ENTER);
        let uses_id = enter_hook || error_hook || ends.exits && self.advice.has(Advice::EXIT);
        self.put_enter(scheme, uses_id, prologue, enter);
        if !enter_hook {
            enter.clear();
        }
        if section {
            let entered = insn::units(enter);
            self.put_begin(scheme, uses_id, prologue, enter);
            if error_hook {
                *begin = insn::units(enter) - entered;
            }
        }
        if ends.errs && ends.leave.is_none() {
            self.put_handler(scheme, section, handler);
            if section && error_hook {
                self.put_handler(scheme, false, outer);
            }
        }
        match ends.exits {
            true => self.build_exits(scheme, ends, scratch),
            false => Ok(()),
        }
    }

    /// Appends the prologue and the enter hook.
    fn put_enter(&self, scheme: Scheme, uses_id: bool, prologue: &mut Vec<u8>, out: &mut Vec<u8>) {
        let register = match scheme {
            Scheme::Live { id, .. } => {
                if uses_id {
                    registers::put_const(prologue, id, self.id);
                }
                id
            }
            Scheme::Dead => {
                registers::put_const(out, 0, self.id);
                0
            }
            Scheme::Moved { free } => {
                self.put_arguments(1, prologue);
                if free <= 0xff {
                    registers::put_const(out, free, self.id);
                } else if self.advice.has(Advice::ENTER) {
                    // At most 255 words are arguments, so that the first register is a local.
                    registers::put_const(prologue, 0, self.id);
                    registers::put_move(prologue, Width::Single, free, 0);
                }
                free
            }
            Scheme::Block { .. } => unreachable!("own hooks have their own sequences"),
        };
        registers::put_invoke_static(out, self.hooks.enter as u16, &[register]);
    }

    /// Writes the exit hooks and the ways to them.
    fn build_exits(&self, scheme: Scheme, ends: Ends<'_>, scratch: &mut Scratch) -> Attempt<()> {
        let main = main_return(scheme, ends.in_place, &scratch.found.returns);
        let call = self.put_exit(scheme, ends, main, &mut scratch.sequences.exit)?;
        if ends.own.is_some() {
            scratch.sequences.protected_exit = call;
        }
        if ends.apart {
            self.put_exits_apart(scheme, ends, scratch)?;
        } else {
            self.put_ways(scheme, ends, main, call, scratch);
        }
        scratch.found.branches.sort_unstable_by_key(|b| b.pc);
        Ok(())
    }

    /// Appends the exit hook of a return. Gives where in it the handler goes, if it does; with own hooks, what the pair's
    /// take.
    fn put_exit(
        &self,
        scheme: Scheme,
        ends: Ends<'_>,
        returned: u32,
        out: &mut Vec<u8>,
    ) -> Attempt<u32> {
        if let Some(own) = ends.own {
            return self.put_own_exit(own, returned, ends.width, out);
        }
        let hooks = self.hooks;
        let start = insn::units(out);
        if self.advice.has(Advice::SECTION) {
            registers::put_invoke_static(out, hooks.end as u16, &[]);
        }
        if let Some(leave) = ends.leave {
            registers::put_const(out, leave.thrown, 0);
        }
        let call = insn::units(out) - start;
        let exit_hook = self.advice.has(Advice::EXIT);
        let id = match (scheme, ends.leave) {
            (Scheme::Live { id, .. }, _) => id,
            (_, Some(leave)) => {
                registers::put_const(out, leave.id, self.id);
                leave.id
            }
            _ if !exit_hook => 0,
            _ => {
                let taken = returned..returned + ends.width.map_or(0, Width::words);
                let free = (0..3)
                    .find(|r| !taken.contains(r))
                    .expect("two at most are taken");
                registers::put_const(out, free, self.id);
                free
            }
        };
        match ends.leave {
            Some(leave) => {
                registers::put_invoke_static(out, leave.hook as u16, &[leave.thrown, id]);
            }
            None if exit_hook => {
                registers::put_invoke_static(out, hooks.exit as u16, &[id]);
            }
            None => {}
        }
        Ok(call)
    }

    /// Gives each return but the one in place an exit hook behind the code.
    fn put_exits_apart(
        &self,
        scheme: Scheme,
        ends: Ends<'_>,
        scratch: &mut Scratch,
    ) -> Attempt<()> {
        let Sequences { tails, apart, .. } = &mut scratch.sequences;
        let Found {
            returns, branches, ..
        } = &mut scratch.found;
        for insn in returns.iter().filter(|r| Some(r.pc) != ends.in_place) {
            let at = insn::units(tails);
            let register = scheme.renumbered(insn.a);
            self.put_exit(scheme, ends, register, tails)?;
            registers::put_one(tails, insn.opcode, register);
            apart.push((at, insn::units(tails)));
            branches.push(Branch::new(*insn, Goal::Tail(at)));
        }
        Ok(())
    }

    /// Has all returns go to the one exit hook, whose register is `main`, and the handler to its `call`.
    fn put_ways(
        &self,
        scheme: Scheme,
        ends: Ends<'_>,
        main: u32,
        call: u32,
        scratch: &mut Scratch,
    ) {
        let Ends {
            width,
            in_place,
            leave,
            ..
        } = ends;
        let Sequences {
            exit,
            tails,
            handler,
            ..
        } = &mut scratch.sequences;
        let Found {
            returns, branches, ..
        } = &mut scratch.found;
        let main_at = match in_place {
            Some(_) => -(insn::units(exit) as i32) - 1,
            None => {
                tails.extend_from_slice(exit);
                registers::put_one(tails, returns[0].opcode, main);
                if width.is_none() {
                    let at = insn::units(tails) - 1;
                    insn::set_unit(tails, at, u16::from(op::RETURN_VOID));
                }
                0
            }
        };
        // Registers other than the main one's are moved there on the way.
        let mut stubs: Vec<(u32, u32)> = Vec::new();
        for insn in returns.iter().filter(|r| Some(r.pc) != in_place) {
            let register = scheme.renumbered(insn.a);
            let goal = if register == main || width.is_none() {
                match in_place {
                    Some(pc) => Goal::Old(pc),
                    None => Goal::Tail(0),
                }
            } else {
                let known = stubs.iter().find(|s| s.0 == register).map(|s| s.1);
                Goal::Tail(known.unwrap_or_else(|| {
                    let at = insn::units(tails);
                    registers::put_move(tails, width.expect("checked"), main, register);
                    let distance = main_at - insn::units(tails) as i32;
                    registers::put_goto(tails, distance);
                    stubs.push((register, at));
                    at
                }))
            };
            branches.push(Branch::new(*insn, goal));
        }
        if let Some(leave) = leave {
            let handler_at = insn::units(tails) as i32;
            leave.put_handler(main_at + call as i32 - handler_at, handler);
        }
    }

    /// Appends the section's beginning, at the end of the enter hook.
    fn put_begin(&self, scheme: Scheme, uses_id: bool, prologue: &mut Vec<u8>, out: &mut Vec<u8>) {
        let register = match scheme {
            // The first local is dead at the start of the body, which is not where constructors begin.
            Scheme::Live { id, .. } if id == 0 || self.method.is_constructor => id,
            Scheme::Live { .. } | Scheme::Dead => 0,
            Scheme::Moved { free } => free,
            Scheme::Block { .. } => unreachable!("own hooks have their own sequences"),
        };
        if register <= 0xff {
            registers::put_const_string(out, register, self.method.section);
        } else {
            registers::put_const_string(prologue, 0, self.method.section);
            registers::put_move(prologue, Width::Object, register, 0);
        }
        registers::put_invoke_static(out, self.hooks.begin as u16, &[register]);
        match scheme {
            Scheme::Live { id, .. } if id == register => {
                if uses_id {
                    registers::put_const(out, id, self.id);
                }
            }
            // Else verifiers would merge the name with the local's later values, and load classes for that.
            Scheme::Live { .. } | Scheme::Dead => registers::put_const(out, register, 0),
            Scheme::Moved { .. } | Scheme::Block { .. } => {}
        }
    }

    /// Appends a handler, with the end of the section or without.
    fn put_handler(&self, scheme: Scheme, ends_section: bool, out: &mut Vec<u8>) {
        let error_hook = self.advice.has(Advice::EXCEPTION);
        let (exception, id) = match scheme {
            Scheme::Live { id, .. } if error_hook => (u32::from(id == 0), id),
            _ => (0, 1),
        };
        registers::put_one(out, op::MOVE_EXCEPTION, exception);
        if ends_section {
            registers::put_invoke_static(out, self.hooks.end as u16, &[]);
        }
        if error_hook {
            // Where the section begins, the name can be in the id's register.
            let outer = !ends_section && self.advice.has(Advice::SECTION);
            if outer || !matches!(scheme, Scheme::Live { .. }) {
                registers::put_const(out, id, self.id);
            }
            registers::put_invoke_static(out, self.hooks.error as u16, &[exception, id]);
        }
        registers::put_one(out, op::THROW, exception);
    }

    /// Appends the moves of the arguments to where they were before the frame grew by so many registers.
    pub(super) fn put_arguments(&self, by: u32, out: &mut Vec<u8>) {
        let mut to = self.code.locals();
        let this = (!self.method.is_static).then_some(b'L');
        let parameters = self.method.shorty.get(1..).unwrap_or(&[]);
        for letter in this.iter().chain(parameters) {
            let width = Width::of(*letter);
            if to + width.words() > u32::from(self.code.registers) {
                break;
            }
            registers::put_move(out, width, to, to + by);
            to += width.words();
        }
    }
}
