//! Hooks of one's own: what they take has a register wherever they are called, and their results live through the body.
//!
//! ```text
//!     move.. vK, vA                                arguments that the body overwrites
//!     <operands>; invoke-static A.begin; move-result vS
//!     ...                                          the pair's enter hook, the body, the pair's exit hook
//!     <operands>; invoke-static A.end; return vR
//!     move-exception vE; ..; <operands>; invoke-static A.failed; throw vE
//! ```
//!
//! Small frames get a block of registers between locals and arguments ([`Scheme::Block`]). Others grow by the block and by
//! the arguments once more: those come in at the end and stay there as they were, and the start of the body copies them to
//! where its code has them.
//!
//! ```text
//!     locals | block | arguments                   small: all below 16
//!     locals | arguments | block | arguments as they came in
//! ```
//!
//! A hook that changes an argument writes to where it is kept and to where the body has it. One that says what the method returns
//! writes to the block, and the exit hooks and the return follow at once:
//!
//! ```text
//!     invoke-static A.get; move-result vG; if-eqz vG, L; <exit hooks>; return vG; L:
//!     move-exception vE; ..; invoke-static A.fallback; move-result vG; <exit hooks>; return vG
//! ```
//!
//! A block holds some registers to work in, and what is kept: each of one type all along, so verifiers have nothing to
//! merge.

use super::lowering::{GoesOn, Lowering, Scratch, Sequences};
use super::own_frame::{Body, Names, Own, OwnFrame, OwnNeeds, Prepared, Saved, Unbox};
use super::registers::{self, LAST_NIBBLE, Scheme, Width, width, words};
use super::sequences::Ends;
use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::Attempt;
use crate::aspect::bind::call::{Bound, Call, Convert, Dest, Operand, Proceed, Source};
use crate::aspect::bind::schedule::{Otherwise, Schedule, Step, Test, Var};
use crate::aspect::bind::ty::{Prim, Ty};
use crate::dex::format::code_item;
use crate::dex::format::insn;
use crate::dex::format::opcodes::op;
use crate::error::Result;
use std::cell::Cell;

/// The registers that the operands of a call take.
fn words_of(call: &Call) -> u32 {
    call.operands.iter().map(|operand| words(&operand.to)).sum()
}

fn is_small(ty: &Ty) -> bool {
    matches!(ty, Ty::Prim(Prim::Bool | Prim::Char | Prim::I8 | Prim::I16))
}

/// Whether an operand is passed in the register that has its value. For verifiers a result narrower than an int may be
/// any int, so it is narrowed first.
fn is_direct(operand: &Operand) -> bool {
    let has_register = match operand.source {
        Source::This
        | Source::Arg(_)
        | Source::Exception
        | Source::State(_)
        | Source::Proceed(_) => true,
        Source::Result => !is_small(&operand.to),
        _ => false,
    };
    let is_same = match operand.convert {
        Convert::Same => true,
        Convert::Widen(_, to) => matches!(to, Prim::I16 | Prim::I32),
        _ => false,
    };
    has_register && is_same
}

/// Where hooks are called, and what is free there.
struct Site {
    /// Four registers that four bits name.
    temps: Option<u32>,
    /// They were used.
    used: Cell<bool>,
    /// A register that eight bits name.
    one: u32,
    /// The returned value.
    result: Option<u32>,
    exception: Option<u32>,
    /// The call's place among those at the start.
    call: Option<usize>,
}

/// An argument, or `this`.
struct Argument {
    width: Width,
    /// Its register in the old code.
    at: u32,
    /// The code overwrites it, or verifiers take it for another type than at the start.
    is_lost: bool,
}

/// Registers that are handed out one by one.
struct Block(u32);

impl Block {
    fn take(&mut self, words: u32) -> u32 {
        let at = self.0;
        self.0 += words;
        at
    }
}

/// From how many registers on the body's own serve as those that four bits name.
const MANY: u32 = 13;
/// Registers that work takes for what is as wide as an array, its index and an element.
const TEMPS: u32 = 4;

impl<'s> Lowering<'s, '_> {
    /// The registers for own hooks.
    pub(super) fn own_frame(&self, own: Own<'s>, needs: &OwnNeeds) -> Attempt<OwnFrame<'s>> {
        let arguments = self.arguments()?;
        match self.small_frame(own, needs, &arguments) {
            Some(frame) => Ok(frame),
            None => self.grown_frame(own, needs, &arguments),
        }
    }

    /// `this`, if there is one, and the arguments.
    fn arguments(&self) -> Attempt<Vec<Argument>> {
        let mut arguments = Vec::new();
        let mut at = self.code.locals();
        let this = (!self.method.is_static).then_some(b'L');
        let parameters = self.method.shorty.get(1..).unwrap_or(&[]);
        for letter in this.iter().chain(parameters) {
            let width = Width::of(*letter);
            arguments.push(Argument {
                width,
                at,
                is_lost: false,
            });
            at += width.words();
        }
        if at != u32::from(self.code.registers) {
            return Err(Reason::Unsupported.into());
        }
        for insn in insn::each(self.code.insns) {
            let insn = insn?;
            let written = match insn.opcode {
                // The value stays, but not its type.
                op::CHECK_CAST => insn.a..insn.a + 1,
                // Where returns share their hooks, the others move what they return there.
                op::RETURN | op::RETURN_OBJECT => insn.a..insn.a + 1,
                op::RETURN_WIDE => insn.a..insn.a + 2,
                _ => insn.written(),
            };
            if written.end <= self.code.locals() || written.is_empty() {
                continue;
            }
            for argument in &mut arguments {
                let end = argument.at + argument.width.words();
                argument.is_lost |= argument.at < written.end && written.start < end;
            }
        }
        Ok(arguments)
    }

    /// Which arguments hooks read where the body may have overwritten them; `this` counts as one.
    fn read_late(&self, own: Own<'_>, count: usize) -> Vec<bool> {
        let before = usize::from(!self.method.is_static);
        // Constructors run code in front of the enter hooks.
        let enter = match self.method.is_constructor {
            true => &own.bound.enter[..],
            false => &[],
        };
        let is_read = |place: usize| {
            let wanted = |source: &Source| match (source, place.checked_sub(before)) {
                (Source::This, None) => true,
                (Source::Arg(a), Some(n)) => usize::from(*a) == n,
                _ => false,
            };
            let mut late = (enter.iter().chain(&own.bound.exit)).chain(&own.bound.exception);
            late.any(|call| call.reads(wanted))
        };
        (0..count).map(is_read).collect()
    }

    fn calls_pair(&self) -> bool {
        self.advice.only(Advice::ALL.with(Advice::SECTION)) != Advice::default()
    }

    /// A frame whose registers all fit four bits, if there is room.
    fn small_frame(
        &self,
        own: Own<'s>,
        needs: &OwnNeeds,
        arguments: &[Argument],
    ) -> Option<OwnFrame<'s>> {
        let locals = self.code.locals();
        let mut block = Block(locals);
        // Only arrays, and what is computed before it is converted.
        let needs_temps = |operand: &Operand| match (&operand.source, operand.convert) {
            (Source::Args(_), _) | (Source::Duration, Convert::Widen(..)) => true,
            (_, Convert::Box) => !is_direct(&unboxed(operand)),
            _ => false,
        };
        let temps = calls(own.bound).any(|call| call.operands.iter().any(needs_temps));
        let temps = temps.then(|| block.take(2));
        let work = (calls(own.bound).map(|call| match words_of(call) {
            0..=5 => {
                let computed = call.operands.iter().filter(|o| !is_direct(o));
                computed.map(|operand| words(&operand.to)).sum()
            }
            many => many,
        }))
        .max()
        .unwrap_or(0)
        .max(u32::from(self.calls_pair()));
        let work = block.take(work);
        let states = states(own.bound, &mut block);
        let start = own.bound.keep.duration.then(|| block.take(2));
        let given = given(own.bound, &mut block);
        let raw = raw(own.bound, &mut block);
        let exception = match locals {
            0 if needs.errs => block.take(1),
            _ => 0,
        };
        let late = self.read_late(own, arguments.len());
        let mut saved = Vec::new();
        for (argument, _) in arguments
            .iter()
            .zip(late)
            .filter(|(a, late)| a.is_lost && *late)
        {
            saved.push(Saved {
                width: argument.width,
                to: block.take(argument.width.words()),
                from: argument.at,
            });
        }
        let by = block.0 - locals;
        let registers = u32::from(self.code.registers) + by;
        if registers > LAST_NIBBLE + 1 || needs.straddles {
            return None;
        }
        let mut homes: Vec<u32> = Vec::with_capacity(arguments.len());
        let mut bodies = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let saved = saved.iter().find(|saved| saved.from == argument.at);
            let body = argument.at + by;
            homes.push(saved.map_or(body, |saved| saved.to));
            bodies.push(match saved {
                _ if argument.is_lost && self.method.is_constructor => Body::Unknown,
                Some(_) => Body::At(body),
                None => Body::Follows,
            });
        }
        for saved in &mut saved {
            saved.from += by;
        }
        let this = match self.method.is_static {
            true => 0,
            false => {
                bodies.remove(0);
                homes.remove(0)
            }
        };
        Some(OwnFrame {
            own,
            schedule: Schedule::of(own.bound)?,
            scheme: Scheme::Block { first: locals, by },
            registers: registers as u16,
            outs: self.own_outs(own.bound),
            grows: false,
            temps,
            work,
            this,
            args: homes,
            bodies,
            states,
            start,
            given,
            raw,
            result: self.width(),
            exception,
            prepared: Vec::new(),
            saved,
            proceeds: Vec::new(),
        })
    }

    /// A frame with the arguments at its end as they came in.
    fn grown_frame(
        &self,
        own: Own<'s>,
        needs: &OwnNeeds,
        arguments: &[Argument],
    ) -> Attempt<OwnFrame<'s>> {
        let old = u32::from(self.code.registers);
        let mut block = Block(old);
        let temps = (old < MANY).then(|| block.take(TEMPS));
        let exception = match old {
            0 if needs.errs => block.take(1),
            MANY.. => TEMPS,
            _ => 0,
        };
        // What is wide before it is boxed takes one more.
        let work = calls(own.bound).map(words_of).max().unwrap_or(0) + 1;
        let work = block.take(work);
        let states = states(own.bound, &mut block);
        let start = own.bound.keep.duration.then(|| block.take(2));
        let given = given(own.bound, &mut block);
        let raw = raw(own.bound, &mut block);
        // Eight bits must name what is returned.
        if given.is_some_and(|given| given >= 0xff) {
            return Err(Reason::Unsupported.into());
        }
        let mut prepared = Vec::new();
        if self.method.is_constructor && temps.is_none() {
            // Behind the call of the other constructor the body's registers are in use.
            for (c, call) in own.bound.enter.iter().enumerate() {
                for (o, operand) in call.operands.iter().enumerate() {
                    let is_made = match (&operand.source, operand.convert) {
                        (Source::Args(_), _) => true,
                        (Source::Arg(_), Convert::Widen(..)) => !is_direct(operand),
                        _ => false,
                    };
                    if is_made {
                        prepared.push(Prepared {
                            call: c,
                            operand: o,
                            register: block.take(words(&operand.to)),
                        });
                    }
                }
            }
        }
        let is_arg = |call: &Call| matches!(call.dest, Dest::Arg(_));
        if !prepared.is_empty() && own.bound.enter.iter().any(is_arg) {
            return Err(Reason::Unsupported.into());
        }
        let top = block.0;
        let registers = top + u32::from(self.code.ins);
        let by = top - self.code.locals();
        let mut homes: Vec<u32> = arguments.iter().map(|argument| argument.at + by).collect();
        let body = |argument: &Argument| match self.method.is_constructor {
            false => Body::Follows,
            true if argument.is_lost => Body::Unknown,
            true => Body::At(argument.at),
        };
        let mut bodies: Vec<Body> = arguments.iter().map(body).collect();
        let this = match self.method.is_static {
            true => 0,
            false => {
                bodies.remove(0);
                homes.remove(0)
            }
        };
        Ok(OwnFrame {
            own,
            schedule: Schedule::of(own.bound).ok_or(Reason::Unsupported)?,
            scheme: Scheme::Dead,
            registers: u16::try_from(registers).map_err(|_| Reason::Unsupported)?,
            outs: self.own_outs(own.bound),
            grows: true,
            temps,
            work,
            this,
            args: homes,
            bodies,
            states,
            start,
            given,
            raw,
            result: self.width(),
            exception,
            prepared,
            saved: arguments
                .iter()
                .map(|argument| Saved {
                    width: argument.width,
                    to: argument.at,
                    from: argument.at + by,
                })
                .collect(),
            proceeds: Vec::new(),
        })
    }

    fn own_outs(&self, bound: &Bound) -> u16 {
        let most = calls(bound).map(words_of).max().unwrap_or(0);
        // The pair's hooks take two words at most, and so do those that make boxes.
        most.max(2) as u16
    }

    /// Writes the code of the hooks at the start, and the handlers.
    pub(super) fn build_own(
        &self,
        frame: &OwnFrame<'_>,
        ends: Ends<'_>,
        scratch: &mut Scratch,
    ) -> Attempt<()> {
        let Sequences {
            prologue,
            enter,
            handler,
            outer,
            begin,
            goes_on,
            ..
        } = &mut scratch.sequences;
        if frame.own.bound.may_end() && scratch.protected.handlers.iter().any(|held| *held != 0) {
            // A method returns with no monitor held.
            return Err(Reason::Unsupported.into());
        }
        let section = self.advice.has(Advice::SECTION);
        let error_hook = ends.errs && self.advice.has(Advice::EXCEPTION);
        let moves = |out: &mut Vec<u8>| {
            for saved in &frame.saved {
                registers::put_move(out, saved.width, saved.to, saved.from);
            }
        };
        let many = frame.grows && frame.temps.is_none();
        if self.method.is_constructor || !frame.grows {
            let site = frame.site(many.then_some(0));
            frame.prepare(&site, prologue)?;
            site.forget(many, prologue);
            moves(prologue);
        }
        // The arguments are not yet where the body has them.
        let is_free = many && !self.method.is_constructor;
        let mut site = frame.site(is_free.then_some(0));
        site.call = Some(0);
        frame.put(&frame.schedule.start, &mut site, &mut Vec::new(), enter)?;
        site.call = None;
        if self.advice.has(Advice::ENTER) {
            let id = site.eight(site.one, 1)?;
            registers::put_const(enter, id, self.id);
            registers::put_invoke_static(enter, self.hooks.enter as u16, &[id]);
        }
        site.forget(is_free, enter);
        if frame.grows && !self.method.is_constructor {
            moves(enter);
        }
        if section {
            let entered = insn::units(enter);
            let name = frame.site(None).eight(frame.work, 1)?;
            registers::put_const_string(enter, name, self.method.section);
            registers::put_invoke_static(enter, self.hooks.begin as u16, &[name]);
            if ends.errs {
                *begin = insn::units(enter) - entered;
            }
        }
        if ends.errs {
            self.put_own_handler(frame, section, error_hook, handler, &mut goes_on.handler)?;
            if section {
                self.put_own_handler(frame, false, error_hook, outer, &mut goes_on.outer)?;
            }
        }
        Ok(())
    }

    /// Appends a handler, with the end of the section or without.
    fn put_own_handler(
        &self,
        frame: &OwnFrame<'_>,
        ends_section: bool,
        error_hook: bool,
        out: &mut Vec<u8>,
        goes_on: &mut Vec<GoesOn>,
    ) -> Attempt<()> {
        let exception = frame.exception;
        let many = frame.grows && frame.temps.is_none();
        let mut site = frame.site(many.then_some(0));
        site.exception = Some(exception);
        registers::put_one(out, op::MOVE_EXCEPTION, exception);
        if ends_section {
            registers::put_invoke_static(out, self.hooks.end as u16, &[]);
        }
        let [values, hooks] = &frame.schedule.exception;
        frame.put(values, &mut site, goes_on, out)?;
        if error_hook {
            let id = if many { exception + 1 } else { site.one };
            registers::put_const(out, id, self.id);
            registers::put_invoke_static(out, self.hooks.error as u16, &[exception, id]);
        }
        if !frame.put(hooks, &mut site, goes_on, out)? {
            registers::put_one(out, op::THROW, exception);
        }
        Ok(())
    }

    /// Appends the exit hooks of a return. Gives how many code units the pair's take, which lie in front.
    pub(super) fn put_own_exit(
        &self,
        frame: &OwnFrame<'_>,
        returned: u32,
        width: Option<Width>,
        out: &mut Vec<u8>,
    ) -> Attempt<u32> {
        let start = insn::units(out);
        let many = frame.grows && frame.temps.is_none();
        let taken = returned..returned + width.map_or(0, Width::words);
        let is_free = |from: &u32| !(*from..*from + TEMPS).any(|r| taken.contains(&r));
        let temps = [0, TEMPS, 2 * TEMPS].into_iter().find(is_free);
        let mut site = frame.site(temps.filter(|_| many));
        site.result = width.map(|_| returned);
        if self.advice.has(Advice::SECTION) {
            registers::put_invoke_static(out, self.hooks.end as u16, &[]);
        }
        let [values, hooks] = &frame.schedule.exit;
        frame.put(values, &mut site, &mut Vec::new(), out)?;
        if self.advice.has(Advice::EXIT) {
            let id = site.eight(site.one, 1)?;
            registers::put_const(out, id, self.id);
            registers::put_invoke_static(out, self.hooks.exit as u16, &[id]);
        }
        let pair = insn::units(out) - start;
        frame.put(hooks, &mut site, &mut Vec::new(), out)?;
        Ok(pair)
    }

    /// Whether own hooks are called in code already.
    pub(super) fn calls_own(&self, own: Own<'_>) -> Result<bool> {
        let called: Vec<u32> = (calls(own.bound).filter(|call| call.adapter.is_some()))
            .filter_map(|call| own.names.called(call))
            .collect();
        for insn in insn::each(self.code.insns) {
            let insn = insn?;
            if matches!(insn.opcode, op::INVOKE_STATIC | op::INVOKE_STATIC_RANGE) {
                let new = self.remap.methods.get(insn.index() as usize);
                if new.is_some_and(|new| called.contains(new)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// A method that calls a hook instead of its body.
pub(crate) struct InPlace<'s> {
    pub names: &'s Names,
    /// Widths of `this`, if the method has it or takes it, and of the parameters.
    pub arguments: &'s [Width],
    pub has_this: bool,
    pub result: &'s Ty,
    pub id: u32,
    /// The first source line, or 0.
    pub line: u32,
    /// The objects that run the body.
    pub proceeds: &'s [(&'s Proceed, Made)],
}

/// A class whose objects run a body: new indices of its type and its constructor.
#[derive(Clone, Copy)]
pub(crate) struct Made {
    pub ty: u32,
    pub constructor: u32,
}

impl InPlace<'_> {
    /// Appends the code item. Frames: registers to work in, what is returned, objects, operands, the last object, arguments.
    pub fn put(&self, call: &Call, out: &mut Vec<u8>) -> Attempt<()> {
        let bound = Bound::default();
        let mut block = Block(0);
        let temps = block.take(TEMPS);
        let given = block.take(2);
        let raw = block.take(2);
        let count = self.proceeds.len();
        let others: Vec<u32> = (1..count).map(|_| block.take(1)).collect();
        let work = block.take(words_of(call) + 1);
        let new = block.take(1);
        // The last one stays where it is made.
        let homes: Vec<u32> = others.into_iter().chain([new]).take(count).collect();
        let ins: u32 = self.arguments.iter().map(|width| width.words()).sum();
        let mut places = Vec::with_capacity(self.arguments.len());
        for width in self.arguments {
            places.push(block.take(width.words()));
        }
        let this = match self.has_this {
            true => places.remove(0),
            false => 0,
        };
        let frame = OwnFrame {
            own: Own {
                bound: &bound,
                names: self.names,
                line: self.line,
                id: self.id,
            },
            schedule: Schedule::of(&bound).ok_or(Reason::Unsupported)?,
            scheme: Scheme::Dead,
            registers: block.0 as u16,
            outs: words_of(call).max(ins + 1).max(2) as u16,
            grows: true,
            temps: Some(temps),
            work,
            this,
            args: places,
            bodies: Vec::new(),
            states: Vec::new(),
            start: None,
            given: Some(given),
            raw: Some(raw),
            result: None,
            exception: 0,
            prepared: Vec::new(),
            saved: Vec::new(),
            proceeds: (self.proceeds.iter().zip(&homes))
                .map(|((proceed, _), home)| (*proceed, *home))
                .collect(),
        };
        let site = frame.site(None);
        let mut code = Vec::new();
        for ((proceed, made), home) in self.proceeds.iter().zip(homes) {
            let kept = match proceed.takes_arguments {
                true => u32::from(self.has_this),
                false => ins,
            };
            let object = site.eight(new, 1)?;
            registers::put_indexed(&mut code, op::NEW_INSTANCE, object, made.ty);
            put_move_to(&mut code, Width::Object, new, object);
            // The arguments follow it.
            let passed: Vec<u32> = (new..=new + kept).collect();
            let constructor = made.constructor as u16;
            registers::put_invoke(&mut code, op::INVOKE_DIRECT, constructor, &passed);
            put_move_to(&mut code, Width::Object, home, new);
        }
        frame.put_call(call, &site, &mut code)?;
        match &call.given {
            None => {}
            Some((Convert::Cast, to)) => {
                registers::put_one(&mut code, op::MOVE_RESULT_OBJECT, given);
                put_cast(self.names, to, given, &mut code)?;
            }
            Some(_) => frame.put_given(call, given, &site, &mut code)?,
        }
        registers::put_one(&mut code, registers::return_of(self.result), given);
        let counts = [frame.registers, ins as u16, frame.outs, 0];
        code_item::put_header(out, counts, insn::units(&code));
        out.extend_from_slice(&code);
        Ok(())
    }
}

/// Appends what makes of the object in a register, which eight bits must name, one of a type, or the value that it holds.
pub(crate) fn put_cast(names: &Names, to: &Ty, register: u32, out: &mut Vec<u8>) -> Attempt<()> {
    let Ty::Prim(prim) = to else {
        let ty = names.types.get(to).ok_or(Reason::Unsupported)?;
        registers::put_indexed(out, op::CHECK_CAST, register, *ty);
        return Ok(());
    };
    let Unbox { ty, method } = names.unbox_of(*prim).ok_or(Reason::Unsupported)?;
    registers::put_indexed(out, op::CHECK_CAST, register, ty);
    registers::put_invoke(out, op::INVOKE_VIRTUAL, method as u16, &[register]);
    let opcode = match width(to) {
        Width::Wide => op::MOVE_RESULT_WIDE,
        _ => op::MOVE_RESULT,
    };
    registers::put_one(out, opcode, register);
    Ok(())
}

/// All calls of a method's own hooks.
pub(crate) fn calls(bound: &Bound) -> impl Iterator<Item = &Call> {
    (bound.enter.iter().chain(&bound.exit)).chain(&bound.exception)
}

fn states(bound: &Bound, block: &mut Block) -> Vec<u32> {
    let states = bound.keep.states.iter();
    states.map(|ty| block.take(words(ty))).collect()
}

/// Two registers for the result that hooks give to the method.
fn given(bound: &Bound, block: &mut Block) -> Option<u32> {
    (bound.may_skip() || bound.may_end()).then(|| block.take(2))
}

/// Two registers for results of hooks before they are converted.
fn raw(bound: &Bound, block: &mut Block) -> Option<u32> {
    let converts = calls(bound).any(|call| call.conversion() != Convert::Same);
    converts.then(|| block.take(2))
}

/// An operand that is boxed, before it is.
fn unboxed(operand: &Operand) -> Operand {
    Operand {
        convert: Convert::Same,
        to: operand.from.clone(),
        ..operand.clone()
    }
}

impl Site {
    /// That register, if eight bits name it, or one for the time being.
    fn eight(&self, register: u32, words: u32) -> Attempt<u32> {
        match register + words - 1 {
            0..=0xff => Ok(register),
            _ => self.temp(0),
        }
    }

    /// The same, with another returned value.
    fn with_result(&self, result: Option<u32>) -> Site {
        Site {
            used: Cell::new(self.used.get()),
            result,
            exception: None,
            call: None,
            ..*self
        }
    }

    /// One of the registers that four bits name.
    fn temp(&self, number: u32) -> Attempt<u32> {
        self.used.set(true);
        let temps = self.temps.ok_or(Reason::Unsupported)?;
        Ok(temps + number)
    }

    /// Has verifiers forget what the body's registers held, which they would merge with what comes.
    fn forget(&self, is_body: bool, out: &mut Vec<u8>) {
        if let Some(temps) = self.temps.filter(|_| is_body && self.used.get()) {
            (temps..temps + TEMPS).for_each(|r| registers::put_const(out, r, 0));
        }
    }
}

impl OwnFrame<'_> {
    /// A place for calls; `temps` are registers of the body that are free.
    fn site(&self, temps: Option<u32>) -> Site {
        Site {
            temps: temps.or(self.temps),
            used: Cell::new(false),
            one: temps
                .or(self.temps.filter(|_| self.grows))
                .unwrap_or(self.work),
            result: None,
            exception: None,
            call: None,
        }
    }

    /// The register of an operand's value, if it has one.
    fn register(&self, source: &Source, site: &Site) -> Option<u32> {
        match source {
            Source::This => Some(self.this),
            Source::Arg(n) => self.args.get(usize::from(*n)).copied(),
            Source::Result => site.result,
            Source::Exception => site.exception,
            Source::State(n) => self.states.get(usize::from(*n)).copied(),
            Source::Proceed(proceed) => {
                let made = self.proceeds.iter().find(|(known, _)| *known == &**proceed);
                made.map(|(_, register)| *register)
            }
            _ => None,
        }
    }

    /// Makes the operands that are made at the start of the code.
    fn prepare(&self, site: &Site, out: &mut Vec<u8>) -> Attempt<()> {
        for made in &self.prepared {
            let operand = &self.own.bound.enter[made.call].operands[made.operand];
            self.put_operand(operand, made.register, site, out)?;
        }
        Ok(())
    }

    /// Appends steps. Gives whether an exception never comes to their end.
    fn put(
        &self,
        steps: &[Step<'_>],
        site: &mut Site,
        goes_on: &mut Vec<GoesOn>,
        out: &mut Vec<u8>,
    ) -> Attempt<bool> {
        for step in steps {
            match step {
                // The frame has registers for what is kept, and for the result and the exception.
                Step::Save | Step::Hold(_) | Step::Resume(_) | Step::Drop(_) => {}
                Step::Time => {
                    let start = self.start.ok_or(Reason::Unsupported)?;
                    self.put_time(start, site, out)?;
                }
                Step::ZeroState(n, ty) => self.put_zero(ty, self.state(*n)?, site, out)?,
                Step::ZeroResult(_) => {
                    let given = self.given.ok_or(Reason::Unsupported)?;
                    match self.result {
                        None => {}
                        Some(Width::Wide) => registers::put_const_wide(out, given, 0),
                        Some(_) => registers::put_const(out, given, 0),
                    }
                }
                Step::Call(call) => {
                    self.put_call(call, site, out)?;
                    site.call = site.call.map(|n| n + 1);
                }
                Step::Store(call, var) => self.put_store(call, *var, site, out)?,
                // Of a hook around a body, which has a method of its own.
                Step::Give(_) => return Err(Reason::Unsupported.into()),
                Step::If(Test::Ended(otherwise), call, then) => {
                    let called = self.put_ended(call, then, site, out)?;
                    if *otherwise != Otherwise::GoesOn {
                        return Ok(true);
                    }
                    // The adapter throws the exception where it does not end.
                    goes_on.push(GoesOn {
                        called,
                        at: insn::units(out),
                    });
                    registers::put_one(out, op::MOVE_EXCEPTION, self.exception);
                }
                Step::If(_, call, then) => self.put_skip(call, then, site, out)?,
                Step::Return => {
                    let opcode = match self.result {
                        None => op::RETURN_VOID,
                        Some(Width::Single) => op::RETURN,
                        Some(Width::Wide) => op::RETURN_WIDE,
                        Some(Width::Object) => op::RETURN_OBJECT,
                    };
                    let given = match self.result {
                        None => 0,
                        Some(_) => self.given.ok_or(Reason::Unsupported)?,
                    };
                    registers::put_one(out, opcode, given);
                }
            }
        }
        Ok(false)
    }

    fn state(&self, n: u16) -> Attempt<u32> {
        let state = self.states.get(usize::from(n));
        Ok(*state.ok_or(Reason::Unsupported)?)
    }

    /// Appends what makes of a call's result the value of a variable.
    fn put_store(&self, call: &Call, var: Var, site: &Site, out: &mut Vec<u8>) -> Attempt<()> {
        let to = match var {
            Var::State(n) => Some(self.state(n)?),
            Var::Arg(n) => self.args.get(usize::from(n)).copied(),
            Var::Result => site.result,
            Var::Exception => site.exception,
        };
        let to = to.ok_or(Reason::Unsupported)?;
        self.put_given(call, to, site, out)?;
        let Var::Arg(n) = var else {
            return Ok(());
        };
        match self.bodies.get(usize::from(n)) {
            Some(Body::Follows) => Ok(()),
            Some(Body::At(at)) => {
                let (_, ty) = call.given.as_ref().ok_or(Reason::Unsupported)?;
                registers::put_move(out, width(ty), *at, to);
                Ok(())
            }
            Some(Body::Unknown) | None => Err(Reason::Unsupported.into()),
        }
    }

    /// Appends what puts the value that a hook gave into a register.
    fn put_given(&self, call: &Call, to: u32, site: &Site, out: &mut Vec<u8>) -> Attempt<()> {
        let convert = call.conversion();
        let (Some((_, ty)), false) = (&call.given, convert == Convert::Same) else {
            return self.put_result(call.result(), to, site, out);
        };
        let raw = self.raw.ok_or(Reason::Unsupported)?;
        let from = call.gives();
        self.put_result(&from, raw, site, out)?;
        let operand = Operand {
            source: Source::Result,
            from,
            convert,
            to: ty.clone(),
        };
        let given = site.with_result(Some(raw));
        self.put_operand(&operand, to, &given, out)?;
        site.used.set(given.used.get());
        Ok(())
    }

    /// Appends what lets a call decide whether the body runs.
    fn put_skip(
        &self,
        call: &Call,
        then: &[Step<'_>],
        site: &Site,
        out: &mut Vec<u8>,
    ) -> Attempt<()> {
        let given = self.given.ok_or(Reason::Unsupported)?;
        self.put_result(call.result(), given, site, out)?;
        let mut skipped = Vec::new();
        self.put_last(then, given, site, &mut skipped)?;
        let behind = u16::try_from(2 + insn::units(&skipped)).ok();
        let behind = behind.filter(|behind| *behind < 0x8000);
        registers::put_if(out, op::IF_EQZ, given, behind.ok_or(Reason::CodeTooLarge)?);
        out.extend_from_slice(&skipped);
        Ok(())
    }

    /// Appends what follows a call that ends an exception. Gives where the call itself is.
    fn put_ended(
        &self,
        call: &Call,
        then: &[Step<'_>],
        site: &Site,
        out: &mut Vec<u8>,
    ) -> Attempt<(u32, u32)> {
        /// Code units of a call.
        const CALL: u32 = 3;
        let given = self.given.ok_or(Reason::Unsupported)?;
        let behind = insn::units(out);
        self.put_given(call, given, site, out)?;
        self.put_last(then, given, site, out)?;
        Ok((behind - CALL, behind))
    }

    /// Appends the last steps of a method that returns what is in a register.
    fn put_last(
        &self,
        steps: &[Step<'_>],
        given: u32,
        site: &Site,
        out: &mut Vec<u8>,
    ) -> Attempt<()> {
        let mut ended = site.with_result(self.result.map(|_| given));
        self.put(steps, &mut ended, &mut Vec::new(), out)?;
        site.used.set(ended.used.get());
        Ok(())
    }

    fn put_call(&self, call: &Call, site: &Site, out: &mut Vec<u8>) -> Attempt<()> {
        let method = self.own.names.called(call).ok_or(Reason::Unsupported)?;
        // Where each operand is, as far as it is anywhere.
        let mut places = Vec::with_capacity(call.operands.len());
        for (i, operand) in call.operands.iter().enumerate() {
            let is_it = |made: &&Prepared| Some(made.call) == site.call && made.operand == i;
            let prepared = self.prepared.iter().find(is_it);
            places.push(match prepared {
                Some(prepared) => Some(prepared.register),
                None if is_direct(operand) => {
                    let register = self.register(&operand.source, site);
                    Some(register.ok_or(Reason::Unsupported)?)
                }
                None => None,
            });
        }
        let spread = |places: &[Option<u32>]| {
            let mut next = self.work;
            let mut all = Vec::new();
            for (operand, place) in call.operands.iter().zip(places) {
                let words = words(&operand.to);
                let first = place.unwrap_or(next);
                next += if place.is_none() { words } else { 0 };
                all.extend(first..first + words);
            }
            all
        };
        let mut passed = spread(&places);
        let is_range = || passed.windows(2).all(|w| w[0] + 1 == w[1]);
        let fits = registers::can_be_listed(&passed) || is_range();
        if !fits {
            passed = spread(&vec![None; places.len()]);
        }
        let mut to = self.work;
        for (operand, place) in call.operands.iter().zip(&places) {
            match place {
                Some(_) if fits => continue,
                Some(from) => registers::put_move(out, width(&operand.to), to, *from),
                None => self.put_operand(operand, to, site, out)?,
            }
            to += words(&operand.to);
        }
        registers::put_invoke_static(out, method as u16, &passed);
        Ok(())
    }

    /// Appends null, or zero of a type.
    fn put_zero(&self, ty: &Ty, to: u32, site: &Site, out: &mut Vec<u8>) -> Attempt<()> {
        let prim = match ty {
            Ty::Prim(prim) => *prim,
            _ => Prim::I32,
        };
        self.put_number(Number::Int(0), prim, to, site, out)
    }

    /// Appends the move of a call's result.
    fn put_result(&self, ty: &Ty, to: u32, site: &Site, out: &mut Vec<u8>) -> Attempt<()> {
        let at = site.eight(to, words(ty))?;
        if let Some(opcode) = registers::move_result(ty) {
            registers::put_one(out, opcode, at);
        }
        put_move_to(out, width(ty), to, at);
        Ok(())
    }

    fn put_time(&self, to: u32, site: &Site, out: &mut Vec<u8>) -> Attempt<()> {
        registers::put_invoke_static(out, self.own.names.nano_time as u16, &[]);
        self.put_result(&Ty::Prim(Prim::I64), to, site, out)
    }

    /// Appends what puts an operand into a register.
    fn put_operand(
        &self,
        operand: &Operand,
        to: u32,
        site: &Site,
        out: &mut Vec<u8>,
    ) -> Attempt<()> {
        match (&operand.source, operand.convert) {
            (Source::Args(elements), Convert::Same) => self.put_array(elements, to, site, out),
            (_, Convert::Same) => self.put_value(operand, &operand.to, to, site, out),
            (_, Convert::Widen(_, wide)) => self.put_widened(operand, wide, to, site, out),
            (_, Convert::Box) => self.put_boxed(operand, to, site, out),
            (_, Convert::Load | Convert::LoadBox | Convert::Cast) => {
                Err(Reason::Unsupported.into())
            }
        }
    }

    /// Appends a new array with these elements.
    fn put_array(
        &self,
        elements: &[Operand],
        to: u32,
        site: &Site,
        out: &mut Vec<u8>,
    ) -> Attempt<()> {
        let (index, element) = (site.temp(0)?, site.temp(1)?);
        let array = if to <= LAST_NIBBLE { to } else { site.temp(2)? };
        registers::put_const(out, index, elements.len() as u32);
        registers::put_new_array(out, array, index, self.own.names.objects);
        for (i, operand) in elements.iter().enumerate() {
            let direct = match operand.source {
                // The array is made of nulls.
                Source::Zero => continue,
                _ if is_direct(operand) => self.register(&operand.source, site),
                _ => None,
            };
            let value = match direct {
                Some(register @ 0..=0xff) => register,
                Some(register) => {
                    registers::put_move(out, Width::Object, element, register);
                    element
                }
                None if operand.convert == Convert::Box => {
                    let register = self.register(&operand.source, site);
                    self.put_box(
                        operand,
                        register.ok_or(Reason::Unsupported)?,
                        element,
                        site,
                        out,
                    )?;
                    element
                }
                None => return Err(Reason::Unsupported.into()),
            };
            registers::put_const(out, index, i as u32);
            registers::put_three(out, op::APUT_OBJECT, value, array, index);
        }
        put_move_to(out, Width::Object, to, array);
        Ok(())
    }

    /// Appends what makes an object of a primitive value in a register.
    fn put_box(
        &self,
        operand: &Operand,
        value: u32,
        to: u32,
        site: &Site,
        out: &mut Vec<u8>,
    ) -> Attempt<()> {
        let Ty::Prim(prim) = operand.from else {
            return Err(Reason::Unsupported.into());
        };
        let method = self.own.names.box_of(prim).ok_or(Reason::Unsupported)?;
        let passed: Vec<u32> = (value..value + words(&operand.from)).collect();
        registers::put_invoke_static(out, method as u16, &passed);
        self.put_result(&operand.to, to, site, out)
    }

    fn put_boxed(&self, operand: &Operand, to: u32, site: &Site, out: &mut Vec<u8>) -> Attempt<()> {
        let plain = unboxed(operand);
        let value = match is_direct(&plain) {
            true => (self.register(&operand.source, site)).ok_or(Reason::Unsupported)?,
            false => {
                // Where operands are computed there is room for a pair, except in small frames.
                let at = if site.temps.is_some() {
                    site.temp(0)?
                } else {
                    to
                };
                self.put_value(&plain, &operand.from, at, site, out)?;
                at
            }
        };
        self.put_box(operand, value, to, site, out)
    }

    /// Appends what widens a primitive value.
    fn put_widened(
        &self,
        operand: &Operand,
        wide: Prim,
        to: u32,
        site: &Site,
        out: &mut Vec<u8>,
    ) -> Attempt<()> {
        let Ty::Prim(from) = operand.from else {
            return Err(Reason::Unsupported.into());
        };
        let whole = match operand.source {
            Source::Id => Some(self.own.id as i32),
            Source::Line => Some(self.own.line as i32),
            Source::Int(value) => Some(value),
            _ => None,
        };
        if let Some(value) = whole {
            return self.put_number(Number::Int(value.into()), wide, to, site, out);
        }
        let from_words = words(&operand.from);
        let to_words = words(&Ty::Prim(wide));
        let Some(opcode) = widening(from, wide) else {
            // What is less than an int, and a returned one.
            let register = (self.register(&operand.source, site)).ok_or(Reason::Unsupported)?;
            return self.put_narrowed(wide, register, to, site, out);
        };
        let value = match self.register(&operand.source, site) {
            Some(register) => register,
            None => {
                let at = site.temp(0)?;
                self.put_value(&unboxed(operand), &operand.from, at, site, out)?;
                at
            }
        };
        let fits = |register: u32, words: u32| register + words - 1 <= LAST_NIBBLE;
        let value = match fits(value, from_words) {
            true => value,
            false => {
                let at = site.temp(0)?;
                registers::put_move(out, width(&operand.from), at, value);
                at
            }
        };
        let at = if fits(to, to_words) {
            to
        } else {
            site.temp(2)?
        };
        registers::put_two(out, opcode, at, value);
        put_move_to(out, width(&Ty::Prim(wide)), to, at);
        Ok(())
    }

    /// Appends what makes of any int one that verifiers take for a smaller type.
    fn put_narrowed(
        &self,
        prim: Prim,
        from: u32,
        to: u32,
        site: &Site,
        out: &mut Vec<u8>,
    ) -> Attempt<()> {
        let opcode = match prim {
            Prim::I8 => op::INT_TO_BYTE,
            Prim::Char => op::INT_TO_CHAR,
            Prim::I16 => op::INT_TO_SHORT,
            Prim::Bool => {
                let tested = match from {
                    0..=0xff => from,
                    _ => {
                        let at = site.temp(1)?;
                        registers::put_move(out, Width::Single, at, from);
                        at
                    }
                };
                let at = site.eight(to, 1)?;
                registers::put_const(out, at, 1);
                let mut zero = Vec::new();
                registers::put_const(&mut zero, at, 0);
                let behind = 2 + insn::units(&zero) as u16;
                registers::put_if(out, op::IF_NEZ, tested, behind);
                out.extend_from_slice(&zero);
                put_move_to(out, Width::Single, to, at);
                return Ok(());
            }
            _ => {
                registers::put_move(out, Width::Single, to, from);
                return Ok(());
            }
        };
        if to <= LAST_NIBBLE && from <= LAST_NIBBLE {
            registers::put_two(out, opcode, to, from);
            return Ok(());
        }
        let at = site.temp(0)?;
        registers::put_move(out, Width::Single, at, from);
        registers::put_two(out, opcode, at, at);
        registers::put_move(out, Width::Single, to, at);
        Ok(())
    }

    /// Appends what puts a value as it is into a register; `ty` is its type.
    fn put_value(
        &self,
        operand: &Operand,
        ty: &Ty,
        to: u32,
        site: &Site,
        out: &mut Vec<u8>,
    ) -> Attempt<()> {
        let number = match &operand.source {
            Source::Id => Number::Int(i64::from(self.own.id as i32)),
            Source::Line => Number::Int(self.own.line.into()),
            Source::Int(value) => Number::Int((*value).into()),
            Source::Long(value) => Number::Int(*value),
            Source::Double(value) => Number::Double(*value),
            Source::Zero => Number::Int(0),
            Source::Text(text) => {
                let string = self.own.names.texts.get(text).ok_or(Reason::Unsupported)?;
                let at = site.eight(to, 1)?;
                registers::put_const_string(out, at, *string);
                put_move_to(out, Width::Object, to, at);
                return Ok(());
            }
            Source::Duration => return self.put_duration(to, site, out),
            Source::Args(_) => return Err(Reason::Unsupported.into()),
            source => {
                let register = self.register(source, site).ok_or(Reason::Unsupported)?;
                return match ty {
                    Ty::Prim(prim) if matches!(source, Source::Result) && is_small(ty) => {
                        self.put_narrowed(*prim, register, to, site, out)
                    }
                    _ => {
                        registers::put_move(out, width(ty), to, register);
                        Ok(())
                    }
                };
            }
        };
        let prim = match ty {
            Ty::Prim(prim) => *prim,
            // Null.
            _ => Prim::I32,
        };
        self.put_number(number, prim, to, site, out)
    }

    fn put_duration(&self, to: u32, site: &Site, out: &mut Vec<u8>) -> Attempt<()> {
        let start = self.start.ok_or(Reason::Unsupported)?;
        let at = site.eight(to, 2)?;
        self.put_time(at, site, out)?;
        let start = match start + 1 {
            0..=0xff => start,
            _ => {
                let low = site.temp(2)?;
                registers::put_move(out, Width::Wide, low, start);
                low
            }
        };
        registers::put_three(out, op::SUB_LONG, at, at, start);
        put_move_to(out, Width::Wide, to, at);
        Ok(())
    }

    /// Appends what puts a number of a type into a register.
    fn put_number(
        &self,
        number: Number,
        prim: Prim,
        to: u32,
        site: &Site,
        out: &mut Vec<u8>,
    ) -> Attempt<()> {
        let width = width(&Ty::Prim(prim));
        let at = site.eight(to, width.words())?;
        match prim {
            Prim::I64 => registers::put_const_wide(out, at, number.int() as u64),
            Prim::F64 => registers::put_const_wide(out, at, number.double().to_bits()),
            Prim::F32 => registers::put_const(out, at, (number.double() as f32).to_bits()),
            _ => registers::put_const(out, at, number.int() as u32),
        }
        put_move_to(out, width, to, at);
        Ok(())
    }
}

/// The instruction that widens a primitive value (JLS 5.1.2); none from one that is less than an int to an int.
pub(crate) fn widening(from: Prim, to: Prim) -> Option<u8> {
    match (from, to) {
        (Prim::I64, Prim::F32) => Some(op::LONG_TO_FLOAT),
        (Prim::I64, Prim::F64) => Some(op::LONG_TO_DOUBLE),
        (Prim::F32, Prim::F64) => Some(op::FLOAT_TO_DOUBLE),
        (_, Prim::I64) => Some(op::INT_TO_LONG),
        (_, Prim::F32) => Some(op::INT_TO_FLOAT),
        (_, Prim::F64) => Some(op::INT_TO_DOUBLE),
        _ => None,
    }
}

/// A number that takes the type that is asked for.
#[derive(Clone, Copy)]
enum Number {
    Int(i64),
    Double(f64),
}

impl Number {
    fn int(self) -> i64 {
        match self {
            Number::Int(value) => value,
            Number::Double(value) => value as i64,
        }
    }

    fn double(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Double(value) => value,
        }
    }
}

/// Appends a move, unless the value is there.
fn put_move_to(out: &mut Vec<u8>, width: Width, to: u32, from: u32) {
    if to != from {
        registers::put_move(out, width, to, from);
    }
}
