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
//! behind the enter hook, `invoke-static {} endSection` in front of the others. The calls outside of the section, its own
//! beginning and the exit hook, have a handler that only calls the exception hook.
//!
//! Hooks of one's own see values, and have frames of their own ([`own`]). They lie outside of these.
//!
//! Where no register can hold the id throughout (see [`Scheme`]), each hook loads it. A return becomes a `goto`, which is
//! as long, so most branches keep their distance.
//!
//! The handler comes behind the method's own. It protects the code that can throw behind the enter hook, unless a handler
//! of the method catches all there. It also protects the exit hook, whose call can exhaust the stack; the method's own
//! handlers do not. Code that cannot throw gets no handler.

pub(crate) mod branches;
pub(crate) mod insertions;
mod leaf;
mod leave;
mod lowering;
pub(crate) mod moves;
pub(crate) mod own;
pub(crate) mod own_frame;
mod points;
pub(crate) mod registers;
mod sequences;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
mod tries;
mod walk;

pub(crate) use lowering::{Hooks, MethodInfo, Scratch};
pub(crate) use moves::Moves;

use self::branches::Stop;
use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::Attempt;
use crate::aspect::plan::Planned;
use crate::dex::format::code_item::{self, Code, HEADER};
use crate::dex::format::insn::{self, Remapped};
use crate::dex::format::opcodes::op;
use crate::dex::format::remap::Remap;
use crate::edit::Place;
use crate::error::Result;
use leave::{Leave, Ways};
use lowering::{Found, Lowering, Protected, Sequences};
use own_frame::{OwnFrame, OwnNeeds};
use registers::{Needs, Scheme, Width};
use sequences::{Ends, main_return};
use walk::Walked;

/// Appends the code item of a method with its hooks and new indices, or says why it cannot be woven; then `out` is as it
/// was. The caller fills in `debug_info_off`. Without advice the item gets new indices only, and wider `const-string`s
/// where they need them. [`Scratch::moves`] says where things went.
pub fn lower(
    code: &Code<'_>,
    method: MethodInfo<'_>,
    planned: &Planned,
    hooks: Hooks,
    remap: &Remap,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Attempt<()> {
    let mut advice = planned.advice;
    let mut hooks = hooks;
    if advice.has(Advice::COUNT) {
        // The hook lies where the one at the start of recorded calls does.
        advice = advice.without(Advice::COUNT).with(Advice::ENTER);
        hooks.enter = hooks.count;
    }
    if advice.has(Advice::AGGREGATE) {
        advice = advice.as_pair();
        hooks.enter = hooks.start;
        hooks.exit = hooks.stop;
        hooks.error = hooks.failed;
        hooks.leave = hooks.finish;
        hooks.leaf = hooks.moment;
    }
    let lowering = Lowering {
        code,
        method,
        advice,
        id: planned.id.wrapping_sub(hooks.base),
        hooks,
        remap,
        units: insn::units(code.insns),
    };
    let mark = out.len();
    let outcome = lowering.run(scratch, out);
    if outcome.is_err() {
        out.truncate(mark);
    }
    outcome.map_err(|unwoven| {
        unwoven.map_error(|e| match e.offset() {
            // Instructions count from the start of the code.
            Some(at) if at < code.insns.len() as u64 => e.offset_by(code.offset + HEADER),
            _ => e,
        })
    })
}

/// Which hooks a body gets, and where.
#[derive(Clone, Copy)]
struct Places {
    enters: bool,
    /// There is a hook at the returns.
    exits: bool,
    /// Where the last return is, if it stays there.
    in_place: Option<u32>,
    /// Each return has a hook of its own.
    apart: bool,
}

impl Places {
    /// Where the method's own tries end: the hook of the last return lies outside them.
    fn end(self, units: u32) -> u32 {
        self.in_place.unwrap_or(units)
    }
}

/// The calls of hooks that a body gets. Exit and exception take the id in a register; the end of a section needs none.
#[derive(Clone, Copy)]
struct Calls {
    /// At the start, the beginning of a section included.
    enters: bool,
    exits: bool,
    errs: bool,
}

/// The new frame, and the hooks that fit it.
struct Frame<'o> {
    scheme: Scheme,
    registers: u16,
    outs: u16,
    ends: Ends<'o>,
}

impl Lowering<'_, '_> {
    fn run(&self, scratch: &mut Scratch, out: &mut Vec<u8>) -> Attempt<()> {
        let code = self.code;
        scratch.tries.clear();
        for t in code.tries() {
            scratch.tries.push(t?);
        }
        if !scratch.tries.is_empty() {
            code_item::list_starts(code, &mut scratch.list_starts)?;
        }
        if let Some(own) = self.method.hooks {
            if own::calls(own.bound).any(|call| own.names.called(call).is_none()) {
                return Err(Reason::PoolFull.into());
            }
            if self.calls_own(own)? {
                return Err(Reason::AlreadyWoven.into());
            }
        }
        let walked = self.walk(scratch)?;
        if let Some(points) = self.method.points {
            scratch.protected.cover.clear();
            return self.build_points(points, walked, scratch, out);
        }
        let covered = self.cover(walked, scratch)?;
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
    ) -> Attempt<()> {
        let places = self.places(walked, scratch);
        let errs = self.protect(places, scratch)?;
        let own = match self.method.hooks {
            Some(own) => Some(self.own_frame(
                own,
                &OwnNeeds {
                    straddles: walked.straddles,
                    errs,
                },
            )?),
            None => None,
        };
        let frame = match &own {
            Some(own) => self.around(own, places, errs, scratch),
            None => self.frame(walked, places, errs, scratch)?,
        };
        self.build_hooks(frame.scheme, frame.ends, scratch)?;
        if self.method.is_constructor && walked.locks {
            // Monitors may be held there, which the handler would not know.
            scratch.sequences.begin = 0;
        }
        self.place(entries, places, scratch);

        let start = out.len();
        let sizes = [
            frame.registers,
            self.code.ins,
            self.code.outs.max(frame.outs),
            0,
        ];
        code_item::put_header(out, sizes, 0);
        self.put_code(frame.scheme, places.in_place, scratch, out)?;
        self.put_behind(start, scratch, out)?;
        self.put_tries(start, entries, frame.ends, scratch, out)
    }

    /// Which hooks the body gets, and where.
    fn places(&self, walked: Walked, scratch: &Scratch) -> Places {
        let section = self.advice.has(Advice::SECTION);
        let returns = &scratch.found.returns;
        let own = self.method.hooks;
        let exits = section
            || self.advice.has(Advice::EXIT)
            || own.is_some_and(|own| !own.bound.exit.is_empty());
        let exits = exits && !returns.is_empty();
        Places {
            enters: section || self.advice.has(Advice::ENTER) || own.is_some(),
            exits,
            in_place: (exits && walked.ends_in_return).then(|| self.units - 1),
            apart: exits && self.method.returns_apart && returns.len() > 1,
        }
    }

    /// Finds what our handlers protect, and whether there are any.
    fn protect(&self, places: Places, scratch: &mut Scratch) -> Attempt<bool> {
        let Protected {
            cover,
            stretches,
            handlers,
            ..
        } = &mut scratch.protected;
        let throwing = &scratch.found.throwing;
        let throwable = self.method.throwable;
        let end = places.end(self.units);
        cover.stretches(
            self.code,
            &scratch.tries,
            throwing,
            throwable,
            end,
            stretches,
        )?;
        handlers.clear();
        for stretch in stretches.iter() {
            handlers.extend(stretch.ours.filter(|held| !handlers.contains(held)));
            if handlers.len() > MAX_HANDLERS {
                return Err(Reason::Unsupported.into());
            }
        }
        let errs = !handlers.is_empty();
        if errs && places.exits && !handlers.contains(&0) {
            handlers.push(0);
        }
        Ok(errs)
    }

    /// The frame that own hooks asked for.
    fn around<'o>(
        &self,
        own: &'o OwnFrame<'_>,
        places: Places,
        errs: bool,
        scratch: &mut Scratch,
    ) -> Frame<'o> {
        scratch.lowered = Some((own.scheme, self.units));
        Frame {
            scheme: own.scheme,
            registers: own.registers,
            outs: own.outs,
            ends: Ends {
                exits: places.exits,
                errs,
                width: self.width(),
                in_place: places.in_place,
                apart: places.apart,
                leave: None,
                own: Some(own),
            },
        }
    }

    /// Chooses the registers of the hooks, and how they report the method's end.
    fn frame(
        &self,
        walked: Walked,
        places: Places,
        errs: bool,
        scratch: &mut Scratch,
    ) -> Attempt<Frame<'static>> {
        let Places { enters, exits, .. } = places;
        let calls = Calls {
            enters,
            exits: exits && self.advice.has(Advice::EXIT),
            errs: errs && self.advice.has(Advice::EXCEPTION),
        };
        let width = self.width();
        let main = match exits {
            true => main_return(Scheme::Dead, places.in_place, &scratch.found.returns),
            false => 0,
        };
        let scheme = match enters || exits || errs {
            true => registers::choose(self.needs(walked, exits.then_some(main), calls)),
            false => Scheme::Dead,
        };
        scratch.lowered = Some((scheme, self.units));
        let registers = self.registers(scheme, calls)?;
        let section = self.advice.has(Advice::SECTION);
        let leave = match self.hooks.leave {
            Some(hook) if calls.exits && calls.errs && !section && !places.apart => {
                Leave::choose(&Ways {
                    hook,
                    scheme,
                    registers: registers.into(),
                    main: scheme.renumbered(main),
                    width,
                    is_this: !self.method.is_static
                        && main == self.code.locals()
                        && !insn::writes(self.code.insns, main)?,
                    end: places.end(self.units),
                    stretches: &scratch.protected.stretches,
                    handlers: &scratch.protected.handlers,
                })
            }
            _ => None,
        };
        Ok(Frame {
            scheme,
            registers,
            outs: match (calls.errs, enters || calls.exits) {
                (true, _) => 2,
                (_, true) => 1,
                _ => 0,
            },
            ends: Ends {
                exits,
                errs,
                width,
                in_place: places.in_place,
                apart: places.apart,
                leave,
                own: None,
            },
        })
    }

    /// What the hooks need of the registers. `main`: what the main return returns, if there is a hook.
    fn needs(&self, walked: Walked, main: Option<u32>, calls: Calls) -> Needs {
        let code = self.code;
        let words = self.width().map_or(0, Width::words);
        let taken = main.map_or(0..0, |main| main..main.saturating_add(words));
        Needs {
            registers: u32::from(code.registers),
            locals: code.locals(),
            straddles: walked.straddles,
            enter: calls.enters,
            constructor: self.method.is_constructor,
            exit: calls.exits.then_some(words),
            error: calls.errs,
            spare: calls.errs
                && !self.method.is_static
                && (0..code.locals()).all(|local| taken.contains(&local)),
        }
    }

    /// How many registers the new frame has.
    fn registers(&self, scheme: Scheme, calls: Calls) -> Attempt<u16> {
        let own = u32::from(self.code.registers);
        let registers = match scheme {
            Scheme::Dead | Scheme::Block { .. } => own,
            // The exception needs a register beside the id.
            Scheme::Live { spare, .. } => {
                let beside = if calls.errs { 2 } else { 1 };
                // Without arguments the frame may end where it will.
                let returned = match self.code.ins == 0 && calls.exits && calls.errs {
                    true => self.width().map_or(0, Width::words),
                    false => 0,
                };
                (own + 1 + u32::from(spare)).max(beside + returned)
            }
            // One register that no instruction but a move reaches cannot hold the id and the name in turn.
            Scheme::Moved { free: 0x100.. }
                if self.advice.has(Advice::SECTION) && self.advice.has(Advice::ENTER) =>
            {
                return Err(Reason::Unsupported.into());
            }
            Scheme::Moved { free } => free + 1,
        };
        Ok(u16::try_from(registers).map_err(|_| Reason::Unsupported)?)
    }

    /// Appends what comes behind the old code, and sets all distances.
    fn put_behind(&self, start: usize, scratch: &mut Scratch, out: &mut Vec<u8>) -> Attempt<()> {
        let sequences = &scratch.sequences;
        out.extend_from_slice(&sequences.tails);
        for _ in &scratch.protected.handlers {
            out.extend_from_slice(&sequences.handler);
        }
        out.extend_from_slice(&sequences.outer);
        let (body, old, layout) = (start + HEADER, self.code.insns, &scratch.layout);
        let Found {
            branches,
            switches,
            data,
            payloads,
            ..
        } = &mut scratch.found;
        branches::patch(&mut out[body..], layout, branches, self.units);
        branches::patch_data(&mut out[body..], old, layout, data)?;
        if !branches::put_switches(out, body, old, layout, switches, payloads)? {
            return Err(Reason::CodeTooLarge.into());
        }
        code_item::set_units(out, start);
        Ok(())
    }

    fn put_tries(
        &self,
        start: usize,
        entries: &[u32],
        ends: Ends<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Attempt<()> {
        let tails = scratch.layout.start(self.units);
        let handler = tails + insn::units(&scratch.sequences.tails);
        let exits = &mut scratch.protected.exits;
        exits.clear();
        if ends.exits && ends.leave.is_none() {
            let others = &scratch.sequences.apart;
            exits.extend(ends.in_place.map(|pc| (scratch.layout.start(pc), tails)));
            exits.extend((ends.in_place.is_none() && !ends.apart).then_some((tails, handler)));
            exits.extend(others.iter().map(|at| (tails + at.0, tails + at.1)));
        }
        self.build_tries(entries, handler, scratch)?;
        let count = scratch.tries_out.count().ok_or(Reason::Unsupported)?;
        let at = start + code_item::TRIES_SIZE;
        out[at..at + 2].copy_from_slice(&count.to_le_bytes());
        if count > 0 {
            code_item::align(out, start);
            if !scratch.tries_out.put(out) {
                return Err(Reason::CodeTooLarge.into());
            }
        }
        Ok(())
    }

    /// How a returned value is moved; `None` for none.
    fn width(&self) -> Option<Width> {
        match self.method.shorty.first() {
            None | Some(b'V') => None,
            Some(&letter) => Some(Width::of(letter)),
        }
    }

    /// Lays the new code out.
    fn place(&self, entries: &[u32], places: Places, scratch: &mut Scratch) {
        let Sequences {
            prologue,
            enter,
            exit,
            ..
        } = &scratch.sequences;
        let Found {
            branches,
            payloads,
            jumbos,
            ..
        } = &mut scratch.found;
        let fixed = std::iter::once(Stop::insert(0, Place::Prologue, insn::units(prologue)))
            .chain(
                entries
                    .iter()
                    .filter(|_| places.enters)
                    .map(|&pc| Stop::insert(pc, Place::Prologue, insn::units(enter))),
            )
            .chain((places.in_place).map(|pc| Stop::insert(pc, Place::Before, insn::units(exit))))
            .filter(|stop| stop.len > 0);
        let (layout, stops) = (&mut scratch.layout, &mut scratch.stops);
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
            let point = (self.method.points).and_then(|points| points.at.get(change.pc));
            if change.prologue > 0 {
                if change.pc == 0 {
                    out.extend_from_slice(&scratch.sequences.prologue);
                }
                if let Some(point) = point {
                    out.extend_from_slice(&point.behind);
                } else if insn::units(&out[body..]) < scratch.layout.target(change.pc) {
                    out.extend_from_slice(&scratch.sequences.enter);
                }
            }
            if change.before > 0 {
                if in_place == Some(change.pc) {
                    out.extend_from_slice(&scratch.sequences.exit);
                } else if let Some(point) = point {
                    out.extend_from_slice(&point.before);
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
                    let new = self.remap.strings[insn.index() as usize];
                    let first = u16::from(op::CONST_STRING_JUMBO) | register << 8;
                    out.extend_from_slice(&first.to_le_bytes());
                    out.extend_from_slice(&new.to_le_bytes());
                } else {
                    let at = out.len();
                    self.put_chunk(scheme, change.pc, copied, out)?;
                    let i = scratch
                        .found
                        .branches
                        .binary_search_by_key(&change.pc, |b| b.pc);
                    let grown = i.map_or(0, |i| scratch.found.branches[i].growth as usize);
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
                let remapped = insn::remap_one(chunk, pc, self.remap)
                    .map_err(|e| e.offset_by(from as usize * 2))?;
                debug_assert_eq!(remapped, Remapped::Done);
                if let Some(shift) = scheme.shift() {
                    registers::renumber(chunk, pc, shift);
                }
            }
            pc += len;
        }
        Ok(())
    }
}

/// Different sets of monitors that code holds where nothing else catches all: a handler each.
const MAX_HANDLERS: usize = 16;
