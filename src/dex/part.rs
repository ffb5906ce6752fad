//! A stretch of the code section: the bodies of the methods whose code lies there, woven or renumbered, and their
//! debug info. It depends on nothing outside of the stretch, so several can be made at once.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::plan::Planned;
use crate::bytes::{Cursor, put_uleb32};
use crate::dex::bodies::{Job, Member};
use crate::dex::class::flag;
use crate::dex::code_item::{self, Code};
use crate::dex::debug_info::{self, dbg};
use crate::dex::file::NO_INDEX;
use crate::dex::ids::new_index;
use crate::dex::insn::{self, Remapped};
use crate::dex::lower::{self, Shape};
use crate::dex::opcodes::op;
use crate::dex::pc_lines::PcLines;
use crate::dex::remap::Remap;
use crate::dex::sections;
use crate::error::{Error, Kind, Result};
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::hash_map::Entry;
use std::hash::Hasher;
use std::ops::Range;

/// The new code of a stretch. Places count from its start.
#[derive(Default)]
pub(super) struct Part {
    pub code: Vec<u8>,
    pub debug: Vec<u8>,
    /// The items in `debug`, each once, in order.
    pub debug_items: Vec<DebugItem>,
    /// Where each code item lies, and the number of its debug info in `debug_items` or `NO_INDEX`.
    pub items: Vec<(u32, u32)>,
    /// Where the code of each method lies, in the order in which the methods were given.
    pub places: Vec<u32>,
    /// What came of planned methods: the number in the plan, why it was left, the first source line.
    pub outcomes: Vec<(u32, Option<Reason>, u32)>,
    /// Where the old code begins and ends.
    pub old: Range<usize>,
    /// Numbers of debug info that is renumbered only, by its old place.
    debug_moved: FxHashMap<u32, u32>,
    /// Numbers of debug info that was rewritten, by its hash.
    debug_known: FxHashMap<u64, u32>,
    lower: lower::Scratch,
}

/// A `debug_info_item` of a [`Part`].
#[derive(Clone, Copy)]
pub(super) struct DebugItem {
    /// Where it begins in the part's debug info.
    pub start: u32,
    pub origin: Origin,
}

/// What tells whether two debug info items are the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// Renumbered only, from this old place.
    Moved(u32),
    /// Rewritten; its hash.
    Rewritten(u64),
}

/// More than most methods grow by.
const HOOKED: usize = 48;

impl Part {
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
    pub fn build(&mut self, job: &Job<'_, '_>, methods: &[u32]) -> Result<()> {
        self.clear();
        self.old = 0..0;
        if let [first, .., last] = methods {
            let code = |m: u32| job.members[m as usize].code as usize;
            // Growing bit by bit would move everything, some times over.
            self.code
                .reserve(code(*last) - code(*first) + HOOKED * methods.len());
        }
        // Where the item under way was copied to: methods may share one.
        let mut copied = None;
        let mut last = NO_INDEX;
        for &m in methods {
            let member = job.members[m as usize];
            let at = member.code as usize;
            let located = |e: Error| e.in_method(job.file.method_label(member.id));
            let code = Code::read(job.file.bytes, at).map_err(located)?;
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
            if let Some(planned) = job.planned.get(member.planned as usize) {
                let woven = self.weave(job, &member, &code, planned).map_err(located)?;
                let (left, line) = match woven {
                    Ok((_, line)) => (None, line),
                    Err(reason) => (Some(reason), 0),
                };
                self.outcomes.push((member.planned, left, line));
                if let Ok((place, _)) = woven {
                    self.places.push(place);
                    continue;
                }
            }
            let place = match copied {
                Some(place) => place,
                None => self.copy(job, &member, &code).map_err(located)?,
            };
            copied = Some(place);
            self.places.push(place);
        }
        Ok(())
    }

    /// Weaves a method's code: its place and its first line, or why it is left as it was.
    fn weave(
        &mut self,
        job: &Job<'_, '_>,
        member: &Member,
        code: &Code<'_>,
        planned: &Planned,
    ) -> Result<Result<(u32, u32), Reason>> {
        if let Some(hooks) = &job.known
            && calls(code, hooks)?
        {
            return Ok(Err(Reason::AlreadyWoven));
        }
        if let Some(begin) = job.begin
            && planned.advice.has(Advice::SECTION)
        {
            let section = job.section(member);
            let strings = &job.remap.strings;
            let is_name = |old: u32| strings.get(old as usize) == Some(&section);
            if sections::begins(code, begin, is_name)? {
                return Ok(Err(Reason::AlreadyWoven));
            }
        }
        self.lower(job, member, code, planned)
    }

    /// Lowers a code item and moves its debug info; returns its place and its first line.
    fn lower(
        &mut self,
        job: &Job<'_, '_>,
        member: &Member,
        code: &Code<'_>,
        planned: &Planned,
    ) -> Result<Result<(u32, u32), Reason>> {
        let file = job.file;
        let (class, proto, name) = file.method(member.id)?;
        let shape = Shape {
            shorty: file.string(file.proto(proto)?.0)?,
            is_static: member.access & flag::STATIC != 0,
            is_constructor: job.init == Some(name),
            throwable: job.throwable,
            section: job.section(member),
            own: job.fields.of(class),
        };
        let planned = &Planned {
            id: planned.id.wrapping_sub(job.base),
            ..*planned
        };
        let place = self.begin();
        let scratch = &mut self.lower;
        let lowered = lower::lower(
            code,
            shape,
            planned,
            job.hooks,
            job.remap,
            scratch,
            &mut self.code,
        )?;
        if let Err(reason) = lowered {
            return Ok(Err(reason));
        }
        let (mut debug, mut line) = (NO_INDEX, 0);
        let start = self.debug.len();
        let at = code.debug_info as usize;
        let moves = scratch.moves();
        let pcs = match at {
            0 => Some(PcLines {
                parameters: shape.shorty.len().saturating_sub(1) as u32,
                first: 0,
            }),
            at => PcLines::read(file.bytes, at, insn::units(code.insns))?,
        };
        match pcs {
            Some(pcs) => pcs.put(scratch.throwing(), moves, &mut self.debug),
            None => {
                let told = debug_info::rewrite(file.bytes, at, moves, job.remap, &mut self.debug)?;
                line = told.line;
                job.spend_debug_info(told.len)?;
            }
        }
        if self.debug.len() > start {
            debug = self.unique_debug_info(start);
        }
        self.items.push((place as u32, debug));
        Ok(Ok((place as u32, line)))
    }

    /// The number of the debug info that was just appended; it goes again if there is one like it. Compilers
    /// share debug info between methods; where they were woven alike, they share it still.
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
                // What reads the same up to its end is the same: debug info tells its own end.
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
    fn copy(&mut self, job: &Job<'_, '_>, member: &Member, code: &Code<'_>) -> Result<u32> {
        let place = self.begin();
        let buffers = (&mut self.lower.tries_out, &mut self.lower.list_starts);
        let copied = code_item::copy(code, job.remap, buffers.0, buffers.1, &mut self.code)?;
        if copied == Remapped::NeedsJumbo {
            let nothing = Planned {
                ty: 0,
                index: 0,
                id: 0,
                advice: Advice::default(),
            };
            let lowered = self.lower(job, member, code, &nothing)?;
            return lowered.map(|(place, _)| place).map_err(|reason| {
                let what = format!("strings cannot be renumbered: {reason}");
                Error::new(Kind::NotDone, what)
            });
        }
        let debug = match code.debug_info {
            0 => NO_INDEX,
            old => match self.debug_moved.get(&old) {
                Some(&number) => number,
                None => {
                    let number = self.debug_items.len() as u32;
                    self.debug_items.push(DebugItem {
                        start: self.debug.len() as u32,
                        origin: Origin::Moved(old),
                    });
                    let bytes = job.file.bytes;
                    copy_debug_info(bytes, old as usize, job.remap, &mut self.debug)?;
                    self.debug_moved.insert(old, number);
                    number
                }
            },
        };
        self.items.push((place as u32, debug));
        Ok(place as u32)
    }
}

/// The error for a code item that begins in another one.
#[cold]
pub(super) fn overlap(at: usize) -> Error {
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

/// Appends the `debug_info_item` at an offset with new indices; returns where the old one ends.
pub(super) fn copy_debug_info(
    bytes: &[u8],
    at: usize,
    remap: &Remap,
    out: &mut Vec<u8>,
) -> Result<usize> {
    let mut cursor = Cursor::at(bytes, at);
    let mut copied = at;
    // `uleb128p1`: 0 stands for no index.
    let mut index = |cursor: &mut Cursor<'_>, table: &[u32]| -> Result<()> {
        let at = cursor.position();
        let old = cursor.uleb32()?;
        if let Some(old_index) = old.checked_sub(1) {
            let new = new_index(table, old_index, at)?;
            if new != old_index {
                out.extend_from_slice(&bytes[copied..at]);
                put_uleb32(out, new + 1);
                copied = cursor.position();
            }
        }
        Ok(())
    };
    cursor.uleb32()?;
    for _ in 0..cursor.uleb32()? {
        index(&mut cursor, &remap.strings)?;
    }
    loop {
        match cursor.u8()? {
            dbg::END_SEQUENCE => break,
            dbg::ADVANCE_PC | dbg::END_LOCAL | dbg::RESTART_LOCAL => {
                cursor.uleb32()?;
            }
            // Signed or not, a LEB128 number ends where it ends.
            dbg::ADVANCE_LINE => while cursor.u8()? & 0x80 != 0 {},
            op @ (dbg::START_LOCAL | dbg::START_LOCAL_EXTENDED) => {
                cursor.uleb32()?;
                index(&mut cursor, &remap.strings)?;
                index(&mut cursor, &remap.types)?;
                if op == dbg::START_LOCAL_EXTENDED {
                    index(&mut cursor, &remap.strings)?;
                }
            }
            dbg::SET_FILE => index(&mut cursor, &remap.strings)?,
            _ => {}
        }
    }
    let end = cursor.position();
    out.extend_from_slice(&bytes[copied..end]);
    Ok(end)
}
