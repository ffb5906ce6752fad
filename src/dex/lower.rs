//! From advice to instructions: one code item with hooks.
//!
//! ```text
//!     const vI, id; invoke-static {vI} enter       at the start (constructors: behind super())
//!     ...                                          the method's own code
//!     invoke-static {vI} exit; return vR           the last return, or one at the end; the others go there
//!     move-exception vE; invoke-static {vE, vI} error; throw vE
//! ```
//!
//! Where it is shorter, exit and exception hook are one call ([`Leave`]).
//!
//! A section of Android's own trace lies within the hooks: `const-string vS, name; invoke-static {vS} beginSection`
//! behind the enter hook, `invoke-static {} endSection` in front of the others. What fails outside of the section, its
//! own beginning or the exit hook, has a handler that only tells the exception hook.
//!
//! Where the frame has no place for a register that holds the id (see [`Scheme`]), each hook loads
//! it anew. A return becomes a `goto`, which is as long, so that most bodies keep their shape and
//! every branch its distance.
//!
//! The handler protects, behind the method's own handlers, all that can throw once the enter hook
//! has run and that no handler of the method catches anyway; and the exit hook, which no handler of the
//! method may see: hooks swallow their failures, but the call can find the stack exhausted.
//! Code that cannot throw gets no handler.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::plan::Planned;
use crate::dex::branches::{self, Branch, Goal};
use crate::dex::code_item::{self, Code, HEADER, NO_CATCH_ALL, Try, TryWriter};
use crate::dex::constructor;
use crate::dex::guards::{Cover, Stretch};
use crate::dex::insn::{self, Insn, Remapped};
use crate::dex::monitors::{self, Held};
use crate::dex::opcodes::{ADJACENT, BRANCH, OPS, RETURN, SWITCH, THROW, op};
use crate::dex::own_fields::OwnFields;
use crate::dex::registers::{self, Needs, Scheme, Width};
use crate::dex::remap::Remap;
use crate::edit::{Layout, Place};
use crate::error::{Error, Result};
use leave::{Leave, Ways};
use std::ops::Range;

/// What the code item does not tell of its method.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'s> {
    /// The letters of the return type and of the parameters.
    pub shorty: &'s [u8],
    /// There is no `this`.
    pub is_static: bool,
    /// It is an `<init>`.
    pub is_constructor: bool,
    /// Old index of the type `java/lang/Throwable`, if the file names it: who catches it catches all.
    pub throwable: Option<u32>,
    /// New index of the string that names its section in Android's trace, where it gets one.
    pub section: u32,
    /// The fields of its class.
    pub own: OwnFields<'s>,
}

/// New indexes of the hooks' method ids.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hooks {
    /// `enter(I)V`.
    pub enter: u32,
    /// `exit(I)V`.
    pub exit: u32,
    /// `error(Ljava/lang/Throwable;I)V`.
    pub error: u32,
    /// `android.os.Trace.beginSection(Ljava/lang/String;)V`.
    pub begin: u32,
    /// `android.os.Trace.endSection()V`.
    pub end: u32,
    /// `leave(Ljava/lang/Throwable;I)V`: `exit` for null, else `error`, and throws it again. The others do without it.
    pub leave: Option<u32>,
}

/// What came of a code item. Where things went is in [`Scratch::moves`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lowered {
    /// Bytes that the item has grown by, without alignment.
    pub growth: i64,
}

/// Where pcs and registers of the code item went that was lowered last.
#[derive(Clone, Copy)]
pub struct Moves<'s> {
    layout: Option<&'s Layout>,
    scheme: Scheme,
    /// Length of the old code.
    units: u32,
}

impl<'s> Moves<'s> {
    /// Nothing moved.
    pub fn none() -> Moves<'s> {
        Moves {
            layout: None,
            scheme: Scheme::Dead,
            units: 0,
        }
    }

    pub(super) fn new(layout: &'s Layout, scheme: Scheme, units: u32) -> Moves<'s> {
        Moves {
            layout: Some(layout),
            scheme,
            units,
        }
    }

    /// Where what belongs to an old pc begins now. What lies beyond the code moves with its
    /// last instruction.
    pub fn pc(&self, old: u32) -> u32 {
        let Some(layout) = self.layout else {
            return old;
        };
        let within = old.min(self.units.saturating_sub(1));
        layout.start(within).saturating_add(old - within)
    }

    /// Whether a pc lies behind the old code.
    pub(super) fn is_beyond(&self, old: u32) -> bool {
        self.layout.is_some() && old >= self.units
    }

    /// The pcs at or behind `old` that all move as far, and how far that is.
    pub(super) fn calm(&self, old: u32) -> (Range<u32>, i32) {
        match self.layout {
            None => (0..u32::MAX, 0),
            Some(layout) => {
                let (pcs, by) = layout.calm(old);
                (pcs.start..pcs.end.min(self.units), by)
            }
        }
    }

    /// The new number of a register.
    pub fn register(&self, old: u32) -> u32 {
        self.scheme.renumbered(old)
    }
}

/// Reusable memory; one a thread.
#[derive(Default)]
pub struct Scratch {
    /// The new tries, also for [`code_item::copy`].
    pub tries_out: TryWriter,
    /// List offsets, also for [`code_item::copy`].
    pub list_starts: Vec<u16>,
    layout: Layout,
    /// How the last code item was lowered, and its length.
    lowered: Option<(Scheme, u32)>,
    tries: Vec<Try>,
    branches: Vec<Branch>,
    switches: Vec<Insn>,
    data: Vec<Insn>,
    payloads: Vec<branches::Payload>,
    jumbos: Vec<u32>,
    returns: Vec<Insn>,
    throwing: Vec<u32>,
    cover: Cover,
    stretches: Vec<Stretch>,
    /// For each of our handlers, the monitors held.
    handlers: Vec<Held>,
    /// Code to be inserted: at pc 0, as enter hook, as exit hook, behind the code, as handler.
    prologue: Vec<u8>,
    enter: Vec<u8>,
    exit: Vec<u8>,
    tails: Vec<u8>,
    handler: Vec<u8>,
    /// The handler of what lies outside of the section.
    outer: Vec<u8>,
    /// Code units at the end of the enter hook that begin the section, where they are protected.
    begin: u32,
    stops: branches::Stops,
}

impl Scratch {
    /// Where things went in the code item that was lowered last.
    pub fn moves(&self) -> Moves<'_> {
        match self.lowered {
            Some((scheme, units)) => Moves::new(&self.layout, scheme, units),
            None => Moves::none(),
        }
    }

    /// The old pcs of all instructions that can throw in the code item that was lowered last.
    pub(super) fn throwing(&self) -> &[u32] {
        &self.throwing
    }
}

/// What a walk over the code tells besides the lists in [`Scratch`].
#[derive(Clone, Copy, Default)]
struct Walked {
    straddles: bool,
    locks: bool,
    /// The last instruction is a return.
    ends_in_return: bool,
}

/// How a method's hooks end it.
#[derive(Clone, Copy)]
struct Ends {
    /// There is a hook at the returns.
    exits: bool,
    /// There is a handler.
    errs: bool,
    /// How wide what is returned is.
    width: Option<Width>,
    /// Where the last return is, if it stays there.
    in_place: Option<u32>,
    /// One call on both ways.
    leave: Option<Leave>,
}

/// The register of the return to which the others go, in the new frame.
fn main_return(scheme: Scheme, in_place: Option<u32>, returns: &[Insn]) -> u32 {
    let main = match in_place {
        Some(_) => returns.last(),
        None => returns.first(),
    };
    scheme.renumbered(main.expect("something returns").a)
}

struct Job<'j, 'a> {
    code: &'j Code<'a>,
    shape: Shape<'j>,
    advice: Advice,
    id: u32,
    hooks: Hooks,
    map: &'j Remap,
    units: u32,
}

/// Appends the code item of a method with its hooks, or says why it cannot be woven; then `out` is as it
/// was. All indexes are renumbered. `debug_info_off` (at byte 8) is left 0 for the caller to fill in.
/// Without advice it only renumbers, and widens `const-string` where it must.
pub fn lower(
    code: &Code<'_>,
    shape: Shape<'_>,
    planned: &Planned,
    hooks: Hooks,
    map: &Remap,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<Result<Lowered, Reason>> {
    let job = Job {
        code,
        shape,
        advice: planned.advice,
        id: planned.id,
        hooks,
        map,
        units: insn::units(code.insns),
    };
    let mark = out.len();
    let outcome = job.run(scratch, out).map_err(|e| match e.offset() {
        // Instructions count from the start of the code.
        Some(at) if at < code.insns.len() as u64 => e.offset_by(code.offset + HEADER),
        _ => e,
    });
    if !matches!(outcome, Ok(Ok(_))) {
        out.truncate(mark);
    }
    outcome
}

impl Job<'_, '_> {
    fn run(&self, scratch: &mut Scratch, out: &mut Vec<u8>) -> Result<Result<Lowered, Reason>> {
        let code = self.code;
        scratch.tries.clear();
        for t in code.tries() {
            scratch.tries.push(t?);
        }
        if !scratch.tries.is_empty() {
            code_item::list_starts(code, &mut scratch.list_starts)?;
        }
        let walked = self.walk(scratch)?;
        let entries = match self.cover(walked, scratch)? {
            Ok(entries) => entries,
            Err(reason) => return Ok(Err(reason)),
        };
        let entries: &[u32] = entries.as_deref().unwrap_or(&[0]);

        let section = self.advice.has(Advice::SECTION);
        let enters = section || self.advice.has(Advice::ENTER);
        let exits = (section || self.advice.has(Advice::EXIT)) && !scratch.returns.is_empty();
        let in_place = (exits && walked.ends_in_return).then(|| self.units - 1);
        // The hook of the last return lies outside the method's own tries.
        let end = in_place.unwrap_or(self.units);
        let Scratch {
            cover,
            stretches,
            tries,
            throwing,
            handlers,
            ..
        } = scratch;
        cover.stretches(code, tries, throwing, self.shape.throwable, end, stretches)?;
        handlers.clear();
        for stretch in stretches.iter() {
            handlers.extend(stretch.ours.filter(|held| !handlers.contains(held)));
            if handlers.len() > MAX_HANDLERS {
                return Ok(Err(Reason::Unsupported));
            }
        }
        let errs = !handlers.is_empty();
        if errs && exits && !handlers.contains(&0) {
            handlers.push(0);
        }

        let width = self.width();
        // Those that need the id in a register; the end of a section needs none.
        let exit_hook = exits && self.advice.has(Advice::EXIT);
        let error_hook = errs && self.advice.has(Advice::EXCEPTION);
        let needs = Needs {
            registers: u32::from(code.registers),
            locals: code.locals(),
            straddles: walked.straddles,
            enter: enters,
            constructor: self.shape.is_constructor,
            exit: exit_hook.then_some(width.map_or(0, Width::words)),
            error: error_hook,
        };
        let scheme = match enters || exits || errs {
            true => registers::choose(needs),
            false => Scheme::Dead,
        };
        scratch.lowered = Some((scheme, self.units));
        let outs = match (error_hook, enters || exit_hook) {
            (true, _) => 2,
            (_, true) => 1,
            _ => 0,
        };
        let registers = match scheme {
            Scheme::Dead => u32::from(code.registers),
            // The exception needs a register beside the id.
            Scheme::Live { .. } => {
                let beside = if error_hook { 2 } else { 1 };
                // Without arguments the frame may end where it will.
                let returned = match code.ins == 0 && exit_hook && error_hook {
                    true => width.map_or(0, Width::words),
                    false => 0,
                };
                (u32::from(code.registers) + 1).max(beside + returned)
            }
            // One register that no instruction but a move reaches cannot hold the id and the name in turn.
            Scheme::Moved { free: 0x100.. } if section && self.advice.has(Advice::ENTER) => {
                return Ok(Err(Reason::Unsupported));
            }
            Scheme::Moved { free } => free + 1,
        };
        let Ok(registers) = u16::try_from(registers) else {
            return Ok(Err(Reason::Unsupported));
        };

        let leave = (self
            .hooks
            .leave
            .filter(|_| exit_hook && error_hook && !section))
        .and_then(|hook| {
            Leave::choose(&Ways {
                hook,
                scheme,
                registers: registers.into(),
                main: main_return(scheme, in_place, &scratch.returns),
                width,
                end,
                stretches: &scratch.stretches,
                handlers: &scratch.handlers,
            })
        });
        let ends = Ends {
            exits,
            errs,
            width,
            in_place,
            leave,
        };
        self.build_hooks(scheme, ends, scratch);
        if self.shape.is_constructor && walked.locks {
            // Monitors may be held there, which the handler would not know.
            scratch.begin = 0;
        }
        self.place(entries, in_place, enters, scratch);

        let start = out.len();
        code_item::put_header(out, [registers, code.ins, code.outs.max(outs), 0], 0);
        self.put_code(scheme, in_place, scratch, out)?;
        let tails = scratch.layout.start(self.units);
        let handler = tails + insn::units(&scratch.tails);
        out.extend_from_slice(&scratch.tails);
        for _ in &scratch.handlers {
            out.extend_from_slice(&scratch.handler);
        }
        out.extend_from_slice(&scratch.outer);
        let body = start + HEADER;
        let Scratch {
            layout,
            branches,
            switches,
            data,
            payloads,
            ..
        } = scratch;
        branches::patch(&mut out[body..], layout, branches, self.units);
        branches::patch_data(&mut out[body..], code.insns, layout, data)?;
        if !branches::put_switches(out, body, code.insns, layout, switches, payloads)? {
            return Ok(Err(Reason::CodeTooLarge));
        }
        let units = ((out.len() - body) / 2) as u32;
        out[start + 12..start + 16].copy_from_slice(&units.to_le_bytes());

        let tail = (exits && leave.is_none()).then(|| match in_place {
            Some(pc) => (scratch.layout.start(pc), tails),
            None => (tails, handler),
        });
        self.build_tries(entries, tail, handler, scratch)?;
        let Some(count) = scratch.tries_out.count() else {
            return Ok(Err(Reason::Unsupported));
        };
        out[start + 6..start + 8].copy_from_slice(&count.to_le_bytes());
        if count > 0 {
            code_item::align(out, start);
            if !scratch.tries_out.put(out) {
                return Ok(Err(Reason::CodeTooLarge));
            }
        }
        let growth = (out.len() - start) as i64 - code.size()? as i64;
        Ok(Ok(Lowered { growth }))
    }

    /// How a returned value is moved; `None` for none.
    fn width(&self) -> Option<Width> {
        match self.shape.shorty.first() {
            None | Some(b'V') => None,
            Some(&letter) => Some(Width::of(letter)),
        }
    }

    /// Collects what moves, returns and throws.
    fn walk(&self, scratch: &mut Scratch) -> Result<Walked> {
        let Scratch {
            branches,
            switches,
            data,
            payloads,
            jumbos,
            returns,
            throwing,
            ..
        } = scratch;
        branches.clear();
        switches.clear();
        data.clear();
        payloads.clear();
        jumbos.clear();
        returns.clear();
        throwing.clear();
        let insns = self.code.insns;
        let locals = self.code.locals();
        let widened = self.map.strings.last().is_some_and(|&new| new > 0xffff);
        let mut walked = Walked::default();
        let mut pc = 0;
        while pc < self.units {
            let (len, is_payload) = insn::length(insns, pc)?;
            let opcode = insn::unit(insns, pc) as u8;
            let op = &OPS[usize::from(opcode)];
            let at = pc;
            pc += len;
            if is_payload {
                payloads.push(branches::Payload::at(at));
                walked.ends_in_return = false;
                continue;
            }
            walked.ends_in_return = op.has(RETURN);
            if op.flags == 0 {
                continue;
            }
            if op.has(THROW) {
                throwing.push(at);
                walked.locks |= matches!(opcode, op::MONITOR_ENTER | op::MONITOR_EXIT);
                let is_string = opcode == op::CONST_STRING && widened;
                if op.flags == THROW && opcode != op::FILL_ARRAY_DATA && !is_string {
                    continue;
                }
            }
            let insn = insn::at(insns, at)?;
            if op.has(BRANCH) {
                branches.push(Branch::new(insn, Goal::Old(insn.target(insns)?)));
            } else if op.has(RETURN) {
                returns.push(insn);
            } else if op.has(SWITCH) {
                switches.push(insn);
            } else if opcode == op::FILL_ARRAY_DATA {
                data.push(insn);
            } else if opcode == op::CONST_STRING {
                let new = self.map.strings.get(insn.index() as usize);
                if new.is_some_and(|&new| new > 0xffff) {
                    jumbos.push(at);
                }
            }
            if op.has(ADJACENT) && !walked.straddles {
                walked.straddles = registers::straddles(insn, locals);
            }
        }
        for insn in switches.iter().chain(data.iter()) {
            let at = insn.target(insns)?;
            if payloads.binary_search_by_key(&at, |p| p.pc).is_err() {
                return Err(Error::malformed(
                    insn.pc as usize * 2,
                    format!("no payload at {at} for {}", insn.op().name),
                ));
            }
        }
        Ok(walked)
    }

    /// Finds what our handler has to protect; in a constructor, also the places behind `super()`.
    fn cover(
        &self,
        walked: Walked,
        scratch: &mut Scratch,
    ) -> Result<Result<Option<Vec<u32>>, Reason>> {
        scratch.cover.clear();
        let mut entries = None;
        let mut ranges = vec![];
        if self.shape.is_constructor && self.advice != Advice::default() {
            match constructor::analyse(self.code, &scratch.tries)? {
                Ok(found) => {
                    entries = Some(found.behind);
                    ranges = found.ranges;
                }
                Err(reason) => return Ok(Err(reason)),
            }
        }
        let protects = Advice::EXCEPTION.with(Advice::SECTION);
        if self.advice.only(protects) == Advice::default() || scratch.throwing.is_empty() {
            return Ok(Ok(entries));
        }
        if walked.locks {
            if entries.is_none() {
                ranges.push((0, self.units));
            }
            match monitors::analyse(self.code, &scratch.tries)? {
                Ok(held) => scratch.cover.instructions(&held, &ranges, self.units),
                Err(reason) => return Ok(Err(reason)),
            }
        } else if entries.is_some() {
            let all = ranges.iter().map(|&(start, end)| (start, end, 0));
            scratch.cover.ranges.extend(all);
        } else {
            scratch.cover.ranges.push((0, self.units, 0));
        }
        if !self.shape.is_static {
            let Scratch {
                cover, throwing, ..
            } = scratch;
            let within = |pc: &u32| {
                let i = cover.ranges.partition_point(|r| r.1 <= *pc);
                cover.ranges.get(i).is_some_and(|r| r.0 <= *pc)
            };
            let covered = throwing.iter().copied().filter(within);
            let is_constructor = self.shape.is_constructor;
            if (self.shape.own).are_all(self.code, covered, is_constructor)? {
                cover.clear();
            }
        }
        Ok(Ok(entries))
    }

    /// Writes the code of the hooks.
    fn build_hooks(&self, scheme: Scheme, ends: Ends, scratch: &mut Scratch) {
        let Ends {
            exits,
            errs,
            width,
            in_place,
            leave,
        } = ends;
        let Scratch {
            prologue,
            enter,
            exit,
            tails,
            handler,
            outer,
            begin,
            returns,
            branches,
            ..
        } = scratch;
        for code in [&mut *prologue, enter, exit, tails, handler, outer] {
            code.clear();
        }
        let hooks = self.hooks;
        let section = self.advice.has(Advice::SECTION);
        let exit_hook = exits && self.advice.has(Advice::EXIT);
        let error_hook = errs && self.advice.has(Advice::EXCEPTION);
        let enter_hook = self.advice.has(Advice::ENTER);
        let uses_id = enter_hook || exit_hook || error_hook;
        match scheme {
            Scheme::Live { id } => {
                if uses_id {
                    registers::put_const(prologue, id, self.id);
                }
                registers::put_invoke_static(enter, hooks.enter as u16, &[id]);
            }
            Scheme::Dead => {
                registers::put_const(enter, 0, self.id);
                registers::put_invoke_static(enter, hooks.enter as u16, &[0]);
            }
            Scheme::Moved { free } => {
                self.put_arguments(prologue);
                if free <= 0xff {
                    registers::put_const(enter, free, self.id);
                } else if enter_hook {
                    // At most 255 words are arguments, so that the first register is a local.
                    registers::put_const(prologue, 0, self.id);
                    registers::put_move(prologue, Width::Single, free, 0);
                }
                registers::put_invoke_static(enter, hooks.enter as u16, &[free]);
            }
        }
        if !enter_hook {
            enter.clear();
        }
        *begin = 0;
        if section {
            let entered = insn::units(enter);
            self.put_begin(scheme, uses_id, prologue, enter);
            if error_hook {
                *begin = insn::units(enter) - entered;
            }
        }
        if errs && leave.is_none() {
            self.put_handler(scheme, section, handler);
            if section && error_hook {
                self.put_handler(scheme, false, outer);
            }
        }
        if !exits {
            return;
        }

        let returned = |insn: Insn| scheme.renumbered(insn.a);
        let last = returns.last().copied().filter(|_| in_place.is_some());
        let main = main_return(scheme, in_place, returns);
        if section {
            registers::put_invoke_static(exit, hooks.end as u16, &[]);
        }
        if let Some(leave) = leave {
            registers::put_const(exit, leave.thrown, 0);
        }
        // Where the handler goes, within the exit hook.
        let call = insn::units(exit);
        let id = match (scheme, leave) {
            (Scheme::Live { id }, _) => id,
            (_, Some(leave)) => {
                registers::put_const(exit, leave.id, self.id);
                leave.id
            }
            _ if !exit_hook => 0,
            _ => {
                let taken = main..main + width.map_or(0, Width::words);
                let free = (0..3)
                    .find(|r| !taken.contains(r))
                    .expect("two at most are taken");
                registers::put_const(exit, free, self.id);
                free
            }
        };
        match leave {
            Some(leave) => {
                registers::put_invoke_static(exit, leave.hook as u16, &[leave.thrown, id]);
            }
            None if exit_hook => {
                registers::put_invoke_static(exit, hooks.exit as u16, &[id]);
            }
            None => {}
        }
        let exit_units = insn::units(exit);
        let main_at = match last {
            Some(_) => -(exit_units as i32) - 1,
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
            let register = returned(*insn);
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
        branches.sort_unstable_by_key(|b| b.pc);
        if let Some(leave) = leave {
            let handler_at = insn::units(tails) as i32;
            leave.put_handler(main_at + call as i32 - handler_at, handler);
        }
    }

    /// Appends what begins the section, at the end of the enter hook.
    fn put_begin(&self, scheme: Scheme, uses_id: bool, prologue: &mut Vec<u8>, out: &mut Vec<u8>) {
        let register = match scheme {
            // The first local is dead at the start of the body, which is not where constructors begin.
            Scheme::Live { id } if id == 0 || self.shape.is_constructor => id,
            Scheme::Live { .. } | Scheme::Dead => 0,
            Scheme::Moved { free } => free,
        };
        if register <= 0xff {
            registers::put_const_string(out, register, self.shape.section);
        } else {
            registers::put_const_string(prologue, 0, self.shape.section);
            registers::put_move(prologue, Width::Object, register, 0);
        }
        registers::put_invoke_static(out, self.hooks.begin as u16, &[register]);
        match scheme {
            Scheme::Live { id } if id == register => {
                if uses_id {
                    registers::put_const(out, id, self.id);
                }
            }
            // Verifiers would merge the name with what the local holds later, and load classes for that.
            Scheme::Live { .. } | Scheme::Dead => registers::put_const(out, register, 0),
            Scheme::Moved { .. } => {}
        }
    }

    /// Appends a handler, with the end of the section or without.
    fn put_handler(&self, scheme: Scheme, ends_section: bool, out: &mut Vec<u8>) {
        let error_hook = self.advice.has(Advice::EXCEPTION);
        let (exception, id) = match scheme {
            Scheme::Live { id } if error_hook => (u32::from(id == 0), id),
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

    /// Appends the moves of the arguments to where they were before the frame grew by one.
    fn put_arguments(&self, out: &mut Vec<u8>) {
        let mut to = self.code.locals();
        let this = (!self.shape.is_static).then_some(b'L');
        let parameters = self.shape.shorty.get(1..).unwrap_or(&[]);
        for letter in this.iter().chain(parameters) {
            let width = Width::of(*letter);
            if to + width.words() > u32::from(self.code.registers) {
                break;
            }
            registers::put_move(out, width, to, to + 1);
            to += width.words();
        }
    }

    /// Lays the new code out.
    fn place(&self, entries: &[u32], in_place: Option<u32>, enters: bool, scratch: &mut Scratch) {
        let Scratch {
            layout,
            branches,
            payloads,
            jumbos,
            prologue,
            enter,
            exit,
            stops,
            ..
        } = scratch;
        let fixed = std::iter::once((0, Place::Prologue, insn::units(prologue)))
            .chain(
                entries
                    .iter()
                    .filter(|_| enters)
                    .map(|&pc| (pc, Place::Prologue, insn::units(enter))),
            )
            .chain(in_place.map(|pc| (pc, Place::Before, insn::units(exit))))
            .filter(|s| s.2 > 0);
        branches::solve(layout, stops, fixed, jumbos, branches, payloads, self.units);
    }

    /// Appends the new code, up to what comes behind it; branches are as they were.
    fn put_code(
        &self,
        scheme: Scheme,
        in_place: Option<u32>,
        scratch: &Scratch,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let old = self.code.insns;
        let body = out.len();
        let mut copied = 0u32;
        for change in scratch.layout.changes() {
            self.put_chunk(scheme, copied, change.pc, out)?;
            copied = change.pc;
            if change.prologue > 0 {
                if change.pc == 0 {
                    out.extend_from_slice(&scratch.prologue);
                }
                if insn::units(&out[body..]) < scratch.layout.target(change.pc) {
                    out.extend_from_slice(&scratch.enter);
                }
            }
            if change.before > 0 {
                if in_place == Some(change.pc) {
                    out.extend_from_slice(&scratch.exit);
                } else {
                    // Alignment of a payload.
                    out.resize(out.len() + 2 * change.before as usize, 0);
                }
            }
            debug_assert_eq!(
                insn::units(&out[body..]),
                scratch.layout.insn(change.pc),
                "at {}",
                change.pc
            );
            if change.resized {
                let insn = insn::at(old, change.pc)?;
                copied = insn.end();
                if insn.opcode == op::CONST_STRING {
                    let register = scheme.renumbered(insn.a) as u16;
                    let new = self.map.strings[insn.index() as usize];
                    let first = u16::from(op::CONST_STRING_JUMBO) | register << 8;
                    out.extend_from_slice(&first.to_le_bytes());
                    out.extend_from_slice(&new.to_le_bytes());
                } else {
                    let at = out.len();
                    self.put_chunk(scheme, change.pc, copied, out)?;
                    let i = scratch.branches.binary_search_by_key(&change.pc, |b| b.pc);
                    let grown = i.map_or(0, |i| scratch.branches[i].growth as usize);
                    out.resize(at + 2 * (insn.len as usize + grown), 0);
                }
            }
        }
        self.put_chunk(scheme, copied, self.units, out)
    }

    /// Appends instructions with new indexes and registers.
    fn put_chunk(&self, scheme: Scheme, from: u32, to: u32, out: &mut Vec<u8>) -> Result<()> {
        let at = out.len();
        out.extend_from_slice(&self.code.insns[from as usize * 2..to as usize * 2]);
        let chunk = &mut out[at..];
        let mut pc = 0;
        while pc < to - from {
            let (len, is_payload) = insn::length(chunk, pc)?;
            if !is_payload {
                let remapped = insn::remap_one(chunk, pc, self.map)
                    .map_err(|e| e.offset_by(from as usize * 2))?;
                debug_assert_eq!(remapped, Remapped::Done);
                if let Scheme::Live { id } = scheme {
                    registers::renumber(chunk, pc, id);
                }
            }
            pc += len;
        }
        Ok(())
    }

    /// Collects the new tries. `tail` is where the exit hook lies, `handler` where our first handler is.
    fn build_tries(
        &self,
        entries: &[u32],
        tail: Option<(u32, u32)>,
        handler: u32,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch {
            layout,
            stretches,
            handlers,
            tries_out,
            handler: code,
            outer,
            begin,
            exit,
            ..
        } = scratch;
        let outside = (
            code_item::NO_LIST,
            handler + handlers.len() as u32 * insn::units(code),
        );
        // Where sections begin: in front of what is protected, or between.
        let mut begins = entries
            .iter()
            .map(|&pc| layout.target(pc))
            .filter(|_| *begin > 0)
            .map(|end| (end - *begin, end))
            .peekable();
        let target = |held: Option<Held>| match held {
            None => NO_CATCH_ALL,
            Some(held) => {
                let i = handlers.iter().position(|h| *h == held);
                handler + i.expect("all were collected") as u32 * insn::units(code)
            }
        };
        tries_out.clear();
        let mut open: Option<((u32, u32), (u32, u32))> = None;
        let mut add = |range: (u32, u32), handlers: (u32, u32)| {
            match &mut open {
                Some((last, same)) if last.1 == range.0 && *same == handlers => last.1 = range.1,
                _ => {
                    if let Some((range, handlers)) = open.replace((range, handlers)) {
                        let pc = |old| layout.target(old);
                        return tries_out.add(range, self.code, handlers, self.map, pc);
                    }
                }
            }
            Ok(())
        };
        for s in stretches.iter() {
            let range = (layout.insn(s.start), layout.start(s.end));
            if range.0 < range.1 {
                while let Some(begin) = begins.next_if(|b| b.1 <= range.0) {
                    add(begin, outside)?;
                }
                while begins.next_if(|b| b.1 <= range.1).is_some() {}
                add(range, (s.list, target(s.ours)))?;
            }
        }
        for begin in begins {
            add(begin, outside)?;
        }
        if let Some((start, end)) = tail.filter(|_| !handlers.is_empty()) {
            let inside = (code_item::NO_LIST, target(Some(0)));
            if self.advice.has(Advice::SECTION) {
                let (ended, _) = insn::length(exit, 0)?;
                add((start, start + ended), inside)?;
                if !outer.is_empty() && self.advice.has(Advice::EXIT) {
                    add((start + ended, end), outside)?;
                }
            } else {
                add((start, end), inside)?;
            }
        }
        if let Some((range, handlers)) = open {
            let pc = |old| layout.target(old);
            tries_out.add(range, self.code, handlers, self.map, pc)?;
        }
        Ok(())
    }
}

/// Different sets of monitors that code holds where nothing else catches all: a handler each.
const MAX_HANDLERS: usize = 16;

mod leave;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
