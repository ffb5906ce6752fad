//! From advice to instructions: one code item with hooks.
//!
//! ```text
//!     const vI, id; invoke-static {vI} enter       at the start (constructors: behind super())
//!     ...                                          the method's own code
//!     invoke-static {vI} exit; return vR           the last return, or one at the end; the others go there
//!     move-exception vE; invoke-static {vE, vI} error; throw vE
//! ```
//!
//! Where it is shorter, exit and exception hook are one call ([`Leave`]); where no time can be measured, one call at the
//! start is all ([`leaf`]).
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
use crate::dex::branches::{self, Branch};
use crate::dex::code_item::{self, Code, HEADER, Try, TryWriter};
use crate::dex::guards::{Cover, Stretch};
use crate::dex::insn::{self, Insn, Remapped};
use crate::dex::monitors::Held;
use crate::dex::opcodes::op;
use crate::dex::own_fields::OwnFields;
use crate::dex::registers::{self, Needs, Scheme, Width};
use crate::dex::remap::Remap;
use crate::edit::{Layout, Place};
use crate::error::Result;
use leave::{Leave, Ways};
use sequences::{Ends, main_return};
use std::ops::Range;
use walk::Walked;

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
    /// `leaf(I)V`: `enter` and `exit`. The others do without it.
    pub leaf: Option<u32>,
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

#[derive(Clone, Copy)]
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
        let covered = match self.cover(walked, scratch)? {
            Ok(covered) => covered,
            Err(reason) => return Ok(Err(reason)),
        };
        let entries: &[u32] = covered.entries.as_deref().unwrap_or(&[0]);
        match self.leaf(covered.calm, scratch)? {
            Some(leaf) => leaf.build(walked, entries, scratch, out),
            None => self.build(walked, entries, scratch, out),
        }
    }

    /// Appends the new code item.
    fn build(
        &self,
        walked: Walked,
        entries: &[u32],
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<Result<Lowered, Reason>> {
        let code = self.code;
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
        let words = width.map_or(0, Width::words);
        let main = match exits {
            true => main_return(Scheme::Dead, in_place, &scratch.returns),
            false => 0,
        };
        let taken = match exits {
            true => main..main.saturating_add(words),
            false => 0..0,
        };
        let needs = Needs {
            registers: u32::from(code.registers),
            locals: code.locals(),
            straddles: walked.straddles,
            enter: enters,
            constructor: self.shape.is_constructor,
            exit: exit_hook.then_some(words),
            error: error_hook,
            spare: error_hook
                && !self.shape.is_static
                && (0..code.locals()).all(|local| taken.contains(&local)),
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
            Scheme::Live { spare, .. } => {
                let beside = if error_hook { 2 } else { 1 };
                // Without arguments the frame may end where it will.
                let returned = match code.ins == 0 && exit_hook && error_hook {
                    true => words,
                    false => 0,
                };
                (u32::from(code.registers) + 1 + u32::from(spare)).max(beside + returned)
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

        let leave = match self.hooks.leave {
            Some(hook) if exit_hook && error_hook && !section => Leave::choose(&Ways {
                hook,
                scheme,
                registers: registers.into(),
                main: scheme.renumbered(main),
                width,
                is_this: !self.shape.is_static
                    && main == code.locals()
                    && !insn::writes(code.insns, main)?,
                end,
                stretches: &scratch.stretches,
                handlers: &scratch.handlers,
            }),
            _ => None,
        };
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
                if let Scheme::Live { id, spare } = scheme {
                    registers::renumber(chunk, pc, id);
                    if spare {
                        registers::renumber(chunk, pc, id);
                    }
                }
            }
            pc += len;
        }
        Ok(())
    }
}

/// Different sets of monitors that code holds where nothing else catches all: a handler each.
const MAX_HANDLERS: usize = 16;

mod leaf;
mod leave;
mod sequences;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
mod tries;
mod walk;
