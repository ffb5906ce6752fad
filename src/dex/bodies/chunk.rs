//! A chunk of the code section: bodies that lie one behind the other, woven or renumbered, and their debug info. It
//! depends on no other chunk, so several can be made at once.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::{Attempt, Unwoven, settle};
use crate::aspect::bind::call::Source;
use crate::aspect::plan::Planned;
use crate::dex::bodies::debug_info;
use crate::dex::bodies::inputs::{Inputs, Member};
use crate::dex::bodies::pc_lines::PcLines;
use crate::dex::format::class::flag;
use crate::dex::format::code_item::{self, Code};
use crate::dex::format::file::{MethodId, NO_INDEX, ProtoId};
use crate::dex::format::insn::{self, Remapped};
use crate::dex::format::opcodes::op;
use crate::dex::hooks::android_trace;
use crate::dex::lower::own;
use crate::dex::lower::own_frame::Own;
use crate::dex::lower::{self, MethodInfo};
use crate::error::{Error, Kind, Result};
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::hash_map::Entry;
use std::hash::Hasher;
use std::ops::Range;

/// The new code of a chunk. Places count from its start.
#[derive(Default)]
pub(crate) struct Chunk {
    pub code: Vec<u8>,
    pub debug: Vec<u8>,
    /// The items in `debug`, each once, in order.
    pub debug_items: Vec<DebugItem>,
    /// Debug info by its number in `debug_items`.
    pub items: Vec<PlacedItem>,
    /// Where the code of each method lies, in the order in which the methods were given.
    pub places: Vec<u32>,
    pub outcomes: Vec<Settled>,
    /// Where the old code begins and ends.
    pub old: Range<usize>,
    /// Numbers of debug info that is renumbered only, by its old place.
    debug_moved: FxHashMap<u32, u32>,
    /// Numbers of debug info that was rewritten, by its hash.
    debug_known: FxHashMap<u64, u32>,
    lower: lower::Scratch,
}

/// A code item.
#[derive(Clone, Copy)]
pub(crate) struct PlacedItem {
    /// Where it lies.
    pub place: u32,
    /// Its debug info, or `NO_INDEX`.
    pub debug: u32,
}

/// The outcome of a planned method.
pub(crate) struct Settled {
    /// The number in the plan.
    pub planned: u32,
    pub left: Option<Reason>,
    /// The first source line.
    pub line: u32,
}

/// A method's code.
#[derive(Clone, Copy)]
struct Lowered {
    place: u32,
    /// The first source line.
    line: u32,
}

/// A `debug_info_item` of a [`Chunk`].
#[derive(Clone, Copy)]
pub(crate) struct DebugItem {
    /// Where it begins in the chunk's debug info.
    pub start: u32,
    pub origin: Origin,
}

/// Decides whether two debug info items are equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// Renumbered only, from this old place.
    Moved(u32),
    /// Rewritten; its hash.
    Rewritten(u64),
}

/// More than most methods grow by.
const HOOKED: usize = 48;

impl Chunk {
    /// Forgets everything; keeps the memory.
    fn clear(&mut self) {
        self.code.clear();
        self.debug.clear();
        self.debug_items.clear();
        self.items.clear();
        self.places.clear();
        self.outcomes.clear();
        self.debug_moved.clear();
        self.debug_known.clear();
    }

    /// Makes the code of some methods, which come in the order of their old code.
    pub fn build(&mut self, inputs: &Inputs<'_, '_>, methods: &[u32]) -> Result<()> {
        self.clear();
        self.old = 0..0;
        if let [first, .., last] = methods {
            let code = |m: u32| inputs.members[m as usize].code as usize;
            // Growing bit by bit would move everything, some times over.
            self.code
                .reserve(code(*last) - code(*first) + HOOKED * methods.len());
        }
        // Where the item under way was copied to: methods may share one.
        let mut copied = None;
        let mut last = NO_INDEX;
        for &m in methods {
            let member = inputs.members[m as usize];
            let at = member.code as usize;
            let located = |e: Error| e.in_method(inputs.file.method_label(member.id));
            let code = Code::read(inputs.file.bytes, at).map_err(located)?;
            if last != member.code {
                if at < self.old.end {
                    return Err(located(overlap(at)));
                }
                if last == NO_INDEX {
                    self.old.start = at;
                }
                self.old.end = at + code.size().map_err(located)?;
                last = member.code;
                copied = None;
            }
            if let Some(planned) = inputs.planned.get(member.planned as usize) {
                let woven = settle(self.weave(inputs, &member, &code, planned)).map_err(located)?;
                self.outcomes.push(Settled {
                    planned: member.planned,
                    left: woven.err(),
                    line: woven.map_or(0, |lowered| lowered.line),
                });
                if let Ok(lowered) = woven {
                    self.places.push(lowered.place);
                    continue;
                }
            }
            let place = match copied {
                Some((place, takes_this)) if takes_this == member.takes_this => place,
                _ => self.copy(inputs, &member, &code).map_err(located)?,
            };
            copied = Some((place, member.takes_this));
            self.places.push(place);
        }
        Ok(())
    }

    /// Weaves a method's code, or says why it is left unwoven.
    fn weave(
        &mut self,
        inputs: &Inputs<'_, '_>,
        member: &Member,
        code: &Code<'_>,
        planned: &Planned,
    ) -> Attempt<Lowered> {
        if let Some(hooks) = &inputs.present.hooks
            && calls(code, hooks)?
        {
            return Err(Reason::AlreadyWoven.into());
        }
        if let Some(begin) = inputs.present.begin
            && planned.advice.has(Advice::SECTION)
        {
            let section = inputs.section(member);
            let strings = &inputs.remap.strings;
            let is_name = |old: u32| strings.get(old as usize) == Some(&section);
            if android_trace::begins(code, begin, is_name)? {
                return Err(Reason::AlreadyWoven.into());
            }
        }
        self.lower(inputs, member, code, planned)
    }

    /// The own hooks of a planned method.
    fn own<'j>(
        &self,
        inputs: &Inputs<'j, '_>,
        code: &Code<'_>,
        planned: &Planned,
    ) -> Result<Option<Own<'j>>> {
        let Some(bound) = inputs.plan.and_then(|plan| plan.bound(planned)) else {
            return Ok(None);
        };
        let mut asks = false;
        for operand in own::calls(bound).flat_map(|call| &call.operands) {
            operand.each_source(&mut |source| asks |= *source == Source::Line);
        }
        let (bytes, at) = (inputs.file.bytes, code.debug_info as usize);
        let has_lines =
            asks && at != 0 && PcLines::read(bytes, at, insn::units(code.insns))?.is_none();
        Ok(Some(Own {
            bound,
            names: inputs.own,
            line: match has_lines {
                true => debug_info::first_line(bytes, at)?,
                false => 0,
            },
            id: planned.id,
        }))
    }

    /// Lowers a code item and moves its debug info.
    fn lower(
        &mut self,
        inputs: &Inputs<'_, '_>,
        member: &Member,
        code: &Code<'_>,
        planned: &Planned,
    ) -> Attempt<Lowered> {
        let (file, facts) = (inputs.file, &inputs.facts);
        let MethodId { class, proto, name } = file.method(member.id)?;
        let ProtoId {
            shorty, returns, ..
        } = file.proto(proto)?;
        let method = MethodInfo {
            shorty: file.string(shorty)?,
            is_static: member.access & flag::STATIC != 0,
            is_constructor: facts.init == Some(name),
            throwable: facts.throwable,
            returns_apart: facts.arrays.lose(returns),
            section: inputs.section(member),
            own: facts.fields.of(class),
            hooks: self.own(inputs, code, planned)?,
            points: inputs.points.get(member.planned as usize),
        };
        let place = self.begin();
        let (scratch, hooks) = (&mut self.lower, inputs.hooks);
        lower::lower(
            code,
            method,
            planned,
            hooks,
            inputs.remap,
            scratch,
            &mut self.code,
        )?;
        let (mut debug, mut line) = (NO_INDEX, 0);
        let start = self.debug.len();
        let at = code.debug_info as usize;
        let moves = scratch.moves();
        let pcs = match at {
            0 => Some(PcLines {
                parameters: method.shorty.len().saturating_sub(1) as u32,
                first: 0,
            }),
            at => PcLines::read(file.bytes, at, insn::units(code.insns))?,
        };
        let this = inputs.this_of(member);
        match pcs {
            Some(pcs) => PcLines {
                parameters: pcs.parameters + u32::from(member.takes_this),
                ..pcs
            }
            .put(scratch.throwing(), moves, &mut self.debug),
            None => {
                let read = debug_info::rewrite(
                    file.bytes,
                    at,
                    moves,
                    inputs.remap,
                    this,
                    &mut self.debug,
                )?;
                line = read.line;
                inputs.spend_debug_info(read.len)?;
            }
        }
        if self.debug.len() > start {
            debug = self.unique_debug_info(start);
        }
        let place = place as u32;
        self.items.push(PlacedItem { place, debug });
        Ok(Lowered { place, line })
    }

    /// The number of the debug info that was just appended, or of an equal one, which replaces it: compilers share debug
    /// info between methods.
    fn unique_debug_info(&mut self, start: usize) -> u32 {
        let (known, new) = self.debug.split_at(start);
        let mut hasher = FxHasher::default();
        hasher.write(new);
        let hash = hasher.finish();
        let number = self.debug_items.len() as u32;
        match self.debug_known.entry(hash) {
            Entry::Occupied(entry) => {
                let like = *entry.get();
                let place = self.debug_items[like as usize].start as usize;
                // Debug info marks its own end, so an equal front is an equal item.
                if known[place..].starts_with(new) {
                    self.debug.truncate(start);
                    return like;
                }
            }
            Entry::Vacant(entry) => {
                entry.insert(number);
            }
        }
        self.debug_items.push(DebugItem {
            start: start as u32,
            origin: Origin::Rewritten(hash),
        });
        number
    }

    /// Where the next code item begins.
    fn begin(&mut self) -> usize {
        let place = self.code.len().next_multiple_of(4);
        self.code.resize(place, 0);
        place
    }

    /// Copies a code item and its debug info; returns its place.
    fn copy(&mut self, inputs: &Inputs<'_, '_>, member: &Member, code: &Code<'_>) -> Result<u32> {
        let place = self.begin();
        let buffers = (&mut self.lower.tries_out, &mut self.lower.list_starts);
        let copied = code_item::copy(code, inputs.remap, buffers.0, buffers.1, &mut self.code)?;
        if copied == Remapped::NeedsJumbo {
            let nothing = Planned {
                ty: 0,
                index: 0,
                id: 0,
                advice: Advice::default(),
                bound: None,
            };
            return match self.lower(inputs, member, code, &nothing) {
                Ok(lowered) => Ok(lowered.place),
                Err(Unwoven::Failed(e)) => Err(e),
                Err(Unwoven::Left(reason)) => {
                    let what = format!("strings cannot be renumbered: {reason}");
                    Err(Error::new(Kind::NotDone, what))
                }
            };
        }
        let debug = match code.debug_info {
            0 => NO_INDEX,
            old if member.takes_this => {
                let (bytes, start) = (inputs.file.bytes, self.debug.len());
                let at = old as usize;
                // Lines that are pcs have no names beside them.
                let this = match PcLines::read(bytes, at, insn::units(code.insns))? {
                    None => inputs.this_of(member),
                    Some(_) => Some(0),
                };
                let len = debug_info::copy(bytes, at, inputs.remap, this, &mut self.debug)?;
                inputs.spend_debug_info(len)?;
                self.unique_debug_info(start)
            }
            old => match self.debug_moved.get(&old) {
                Some(&number) => number,
                None => {
                    let number = self.debug_items.len() as u32;
                    self.debug_items.push(DebugItem {
                        start: self.debug.len() as u32,
                        origin: Origin::Moved(old),
                    });
                    let bytes = inputs.file.bytes;
                    let remap = inputs.remap;
                    debug_info::copy(bytes, old as usize, remap, None, &mut self.debug)?;
                    self.debug_moved.insert(old, number);
                    number
                }
            },
        };
        let place = place as u32;
        self.items.push(PlacedItem { place, debug });
        Ok(place)
    }
}

/// The error for a code item that begins in another one.
#[cold]
pub(crate) fn overlap(at: usize) -> Error {
    Error::malformed(at, "code items overlap")
}

/// Whether some instruction calls one of these methods.
fn calls(code: &Code<'_>, methods: &Range<u32>) -> Result<bool> {
    for insn in insn::each(code.insns) {
        let insn = insn.map_err(|e| e.offset_by(code.offset + code_item::HEADER))?;
        if matches!(insn.opcode, op::INVOKE_STATIC | op::INVOKE_STATIC_RANGE)
            && methods.contains(&insn.index())
        {
            return Ok(true);
        }
    }
    Ok(false)
}
