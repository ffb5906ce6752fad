//! One method: its lines of registers, followed along every path.

use super::ACC_STATIC;
use super::frame::{EXTRA, Frame, HELD, INITIALISED, Line, PHASES, mark};
use super::hooks::{Hooks, Judge, phase};
use super::statics::{self, covering, fault};
use super::step::Step;
use super::types::{Type, Universe};
use crate::dex::format::class::{ClassDef, Members};
use crate::dex::format::code_item::Code;
use crate::dex::format::file::{File, MethodId, NO_INDEX, ProtoId};
use crate::dex::format::insn::{self, Insn};
use crate::dex::format::opcodes::{ENDS, op};
use crate::error::{Error, Kind, Result};

/// Registers of all lines of a method: more than real methods need by far.
const MAX_LINES: usize = 1 << 26;

/// Steps and registers merged in all methods of a file.
const FUEL: u64 = 20_000_000_000;

/// The method whose code is followed.
struct Method<'h> {
    class: u32,
    returns: u32,
    is_constructor: bool,
    judge: Option<Judge<'h>>,
}

/// Verifies the methods of a file one by one.
pub(super) struct Checker<'a> {
    pub file: &'a File<'a>,
    pub universe: Universe<'a>,
    /// Access flags of the methods that the file defines, by id; `NO_INDEX` for others.
    pub access: Vec<u32>,
    hooks: Hooks,
    frame: Frame,
    line: Line,
    fuel: u64,
}

impl<'a> Checker<'a> {
    /// Reads what all methods share.
    pub fn new(file: &'a File<'a>) -> Result<Checker<'a>> {
        let mut access = vec![NO_INDEX; file.methods.len()];
        for row in file.classes {
            let class = ClassDef::read(row);
            if class.data == 0 {
                continue;
            }
            let mut members = Members::read(file, class.data)?;
            while let Some(method) = members.next()? {
                if let Some(slot) = access.get_mut(method.id as usize) {
                    *slot = method.access;
                }
            }
        }
        Ok(Checker {
            file,
            universe: Universe::new(file)?,
            access,
            hooks: Hooks::of(file)?,
            frame: Frame::default(),
            line: Line::default(),
            fuel: FUEL,
        })
    }

    /// Verifies a method's code.
    pub fn check(&mut self, class: &ClassDef, id: u32, access: u32, code: &Code<'_>) -> Result<()> {
        let mut frame = std::mem::take(&mut self.frame);
        let outcome = self.check_in(&mut frame, class, id, access, code);
        self.frame = frame;
        outcome
    }

    fn check_in(
        &mut self,
        frame: &mut Frame,
        class: &ClassDef,
        id: u32,
        access: u32,
        code: &Code<'_>,
    ) -> Result<()> {
        let MethodId { proto, name, .. } = self.file.method(id)?;
        self.file.descriptor(class.ty)?;
        let is_static = access & ACC_STATIC != 0;
        let is_constructor = !is_static && self.file.string(name)? == b"<init>";
        statics::check(self.file, code, frame)?;
        if insn::units(code.insns) == 0 {
            return Err(Error::malformed(code.offset, "no instruction"));
        }
        self.catches(code, frame)?;
        self.enter(class, proto, is_static, is_constructor, code)?;

        frame.at.clear();
        frame.lines.clear();
        frame.work.clear();
        let ProtoId { returns, .. } = self.file.proto(proto)?;
        self.file.descriptor(returns)?;
        let hooks = std::mem::take(&mut self.hooks);
        let outcome = hooks.judge(code, is_constructor).and_then(|judge| {
            let of = Method {
                class: class.ty,
                returns,
                is_constructor,
                judge,
            };
            self.follow(frame, &of, code)
        });
        self.hooks = hooks;
        outcome
    }

    /// Follows all paths from the start.
    fn follow(&mut self, frame: &mut Frame, of: &Method<'_>, code: &Code<'_>) -> Result<()> {
        let registers = usize::from(code.registers);
        self.reach(frame, 0, code)?;
        while let Some(start) = frame.work.pop() {
            let at = frame.at[&start] as usize;
            let mut line = std::mem::take(&mut self.line);
            line.registers.clear();
            line.registers
                .extend_from_slice(&frame.lines[at..at + registers + EXTRA]);
            line.result = None;
            self.line = line;
            self.run(frame, start, of, code)?;
        }
        Ok(())
    }

    /// Runs from a target to where control goes elsewhere or meets the next target.
    fn run(
        &mut self,
        frame: &mut Frame,
        start: u32,
        of: &Method<'_>,
        code: &Code<'_>,
    ) -> Result<()> {
        let registers = usize::from(code.registers);
        let mut pc = start;
        // The list of handlers that has seen the line as it is.
        let mut shown = None;
        loop {
            let insn = insn::at(code.insns, pc)?;
            if insn.is_payload {
                return Err(fault(code, insn, "control runs into data"));
            }
            self.burn(1)?;
            let covering = covering(&frame.tries, insn);
            if let Some(t) = covering
                && shown != Some(t.list)
            {
                self.reach_handlers(frame, t.list, code)?;
                shown = Some(t.list);
            }
            let held = self.line.registers[registers];
            self.line.dirty = false;
            let step = Step {
                file: self.file,
                universe: &mut self.universe,
                access: &self.access,
                code,
                line: &mut self.line,
                caught: &frame.caught,
                class: of.class,
                returns: of.returns,
                is_constructor: of.is_constructor,
                judge: of.judge,
            };
            if let Err(what) = step.step(insn) {
                return Err(fault(code, insn, what));
            }
            if self.line.dirty {
                shown = None;
            }
            if let Some(t) = covering
                && of.judge.is_some_and(|judge| judge.throws_behind(insn))
            {
                self.reach_handlers(frame, t.list, code)?;
            }
            if let Some(t) = covering {
                self.check_monitors(t.list, insn, held, code)?;
            }
            let mut reached = Ok(());
            insn::targets(code.insns, insn, |target| {
                if reached.is_ok() {
                    reached = self.reach(frame, target, code);
                }
            })?;
            reached?;
            if insn.op().has(ENDS) {
                return Ok(());
            }
            pc = insn.end();
            match frame.marks.get(pc as usize) {
                None => return Err(fault(code, insn, "control falls off the end of the code")),
                Some(m) if m & mark::EXCEPTION != 0 => {
                    return Err(fault(code, insn, "control falls into a move-exception"));
                }
                Some(m) if m & mark::TARGET != 0 => return self.reach(frame, pc, code),
                _ => {}
            }
        }
    }

    /// Control may go to the handlers of a try.
    fn reach_handlers(&mut self, frame: &mut Frame, list: u16, code: &Code<'_>) -> Result<()> {
        let mut list = code.list(list)?;
        while let Some((_, handler)) = list.next_handler()? {
            self.reach(frame, handler, code)?;
        }
        Ok(())
    }

    /// Where an instruction throws while a monitor is held, its try must catch all. `held`: the monitors before it.
    fn check_monitors(&self, list: u16, insn: Insn, held: Type, code: &Code<'_>) -> Result<()> {
        // A `monitor-enter` that fails holds nothing yet.
        let first = insn.opcode == op::MONITOR_ENTER && held == Type(0);
        let now = self.line.registers[usize::from(code.registers)];
        let throwable = Some(self.universe.throwable);
        if now != Type(0) && !first && !code.list(list)?.catches_all(throwable)? {
            let what = "throws while a monitor is held, in a try that does not catch all";
            return Err(fault(code, insn, what));
        }
        Ok(())
    }

    fn burn(&mut self, fuel: usize) -> Result<()> {
        match self.fuel.checked_sub(fuel as u64) {
            Some(left) => {
                self.fuel = left;
                Ok(())
            }
            None => Err(Error::new(Kind::Unsupported, "too large to be verified")),
        }
    }

    /// Control comes to a target with the line as it is.
    fn reach(&mut self, frame: &mut Frame, pc: u32, code: &Code<'_>) -> Result<()> {
        let width = usize::from(code.registers) + EXTRA;
        self.burn(width)?;
        let Some(&at) = frame.at.get(&pc) else {
            if frame.lines.len() + width > MAX_LINES {
                return Err(Error::new(Kind::Unsupported, "too large to be verified"));
            }
            frame.at.insert(pc, frame.lines.len() as u32);
            frame.lines.extend_from_slice(&self.line.registers);
            frame.work.push(pc);
            return Ok(());
        };
        let known = &mut frame.lines[at as usize..at as usize + width];
        if known == &self.line.registers[..] {
            return Ok(());
        }
        let mut changed = false;
        let (registers, extra) = known.split_at_mut(width - EXTRA);
        for (mine, theirs) in registers.iter_mut().zip(&self.line.registers) {
            let merged = self.universe.merge(*mine, *theirs);
            changed |= merged != *mine;
            *mine = merged;
        }
        let theirs = &self.line.registers[width - EXTRA..];
        let (mine, held) = (extra[EXTRA - HELD], theirs[EXTRA - HELD]);
        if mine != held {
            let what = format!(
                "control comes to {pc} with {} and with {} monitors held",
                mine.0, held.0
            );
            return Err(Error::malformed(code.offset, what));
        }
        let at = EXTRA - PHASES;
        let phases = Type(extra[at].0 | theirs[at].0);
        changed |= phases != extra[at];
        extra[at] = phases;
        let at = EXTRA - INITIALISED;
        if extra[at].0 > theirs[at].0 {
            extra[at] = theirs[at];
            changed = true;
        }
        if changed {
            frame.work.push(pc);
        }
        Ok(())
    }

    /// The line at the start: the arguments in the last registers.
    fn enter(
        &mut self,
        class: &ClassDef,
        proto: u32,
        is_static: bool,
        is_constructor: bool,
        code: &Code<'_>,
    ) -> Result<()> {
        let ProtoId { parameters, .. } = self.file.proto(proto)?;
        let line = &mut self.line.registers;
        line.clear();
        line.resize(code.locals() as usize, Type::UNDEFINED);
        // The constructor of the root calls no other.
        let is_root = class.superclass == NO_INDEX;
        if !is_static {
            line.push(match is_constructor && !is_root {
                true => Type::UNINITIALIZED_THIS,
                false => Type::reference(class.ty),
            });
        }
        for row in self.file.type_list(parameters)? {
            let ty = u32::from(u16::from_le_bytes(*row));
            self.file.descriptor(ty)?;
            let value = self.universe.value(ty);
            line.push(value);
            line.extend(value.high());
        }
        if line.len() != usize::from(code.registers) {
            let what = format!(
                "{} words of arguments come in, {} are declared",
                line.len() - code.locals() as usize,
                code.ins
            );
            return Err(Error::malformed(code.offset, what));
        }
        line.push(Type(0));
        line.push(Type(phase::BEFORE));
        line.push(Type(u32::from(!is_constructor || is_root)));
        Ok(())
    }

    /// Collects what the handlers catch.
    fn catches(&mut self, code: &Code<'_>, frame: &mut Frame) -> Result<()> {
        frame.caught.clear();
        for t in 0..frame.lists.len() {
            let mut list = code.list(frame.lists[t])?;
            while let Some((ty, pc)) = list.next_handler()? {
                let caught = match ty {
                    None => self.universe.throwable,
                    Some(ty) => {
                        self.file.descriptor(ty)?;
                        let value = Type::reference(ty);
                        if !self.universe.assignable(value, self.universe.throwable) {
                            let what = format!("a handler for {}", self.universe.name(ty));
                            return Err(Error::malformed(code.offset, what));
                        }
                        ty
                    }
                };
                let caught = Type::reference(caught);
                let all = match frame.caught.get(&pc) {
                    Some(&known) => self.universe.merge(known, caught),
                    None => caught,
                };
                frame.caught.insert(pc, all);
            }
        }
        Ok(())
    }
}
