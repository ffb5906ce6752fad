//! The code section and the debug info section of the new file: bodies that stay, renumbered.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::plan::Planned;
use crate::bytes::{Cursor, put_uleb32};
use crate::dex::class::{Budget, flag};
use crate::dex::code_item::{self, Code};
use crate::dex::debug_info;
use crate::dex::file::{File, NO_INDEX};
use crate::dex::ids::new_index;
use crate::dex::insn::{self, Remapped};
use crate::dex::lower::{self, Hooks, Shape};
use crate::dex::opcodes::op;
use crate::dex::remap::Remap;
use crate::dex::sections;
use crate::dex::write::Outcome;
use crate::error::{Error, Kind, Result};
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::hash_map::Entry;
use std::hash::Hasher;
use std::ops::Range;

/// The new code and debug info sections, as far as they do not depend on where they come to lie.
#[derive(Default)]
pub(super) struct Bodies {
    pub code: Vec<u8>,
    pub debug: Vec<u8>,
    /// Items of the debug info section.
    pub debug_count: u32,
    /// Where each code item lies, and its debug info in `debug` or `NO_INDEX`.
    pub items: Vec<(u32, u32)>,
    /// Where the code of each method lies, in the order of the class data; `NO_INDEX` without code.
    pub methods: Vec<u32>,
    /// New places of debug info that is renumbered only.
    debug_moved: FxHashMap<u32, u32>,
    /// Where debug info lies that was rewritten, by its hash.
    debug_known: FxHashMap<u64, u32>,
    lower: lower::Scratch,
    order: Vec<u32>,
}

/// What [`Bodies`] are built from.
pub(super) struct Job<'j, 'a> {
    pub file: &'j File<'a>,
    pub remap: &'j Remap,
    pub members: &'j [Member],
    pub planned: &'j [Planned],
    /// New indices of the hooks.
    pub hooks: Hooks,
    /// New indices of the names of planned methods' sections; `NO_INDEX`, or beyond the end, for none.
    pub sections: &'j [u32],
    /// Old index of the string `<init>`, where the file has it.
    pub init: Option<u32>,
    /// Old index of `java/lang/Throwable`, where the file names it.
    pub throwable: Option<u32>,
    /// Old indices of the hooks, where the file names them already.
    pub known: Option<Range<u32>>,
    /// Old index of the method that begins a section, where the file names it already.
    pub begin: Option<u32>,
}

impl Job<'_, '_> {
    fn section(&self, member: &Member) -> u32 {
        let section = self.sections.get(member.planned as usize);
        section.copied().unwrap_or(NO_INDEX)
    }
}

/// A method that a class defines, in the order of the class data.
#[derive(Clone, Copy)]
pub(super) struct Member {
    /// Index into the method ids.
    pub id: u32,
    pub access: u32,
    /// Offset of its `code_item`, or 0.
    pub code: u32,
    /// Its number in the plan, or `NO_INDEX`.
    pub planned: u32,
}

impl Bodies {
    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        self.code.clear();
        self.debug.clear();
        self.debug_count = 0;
        self.items.clear();
        self.methods.clear();
        self.debug_moved.clear();
        self.debug_known.clear();
    }

    /// Builds both sections, code items in the order in which they lay.
    pub fn build(&mut self, job: &Job<'_, '_>, outcomes: &mut [Outcome]) -> Result<()> {
        self.clear();
        let members = job.members;
        self.methods.resize(members.len(), NO_INDEX);
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend((0..members.len() as u32).filter(|&m| members[m as usize].code != 0));
        order.sort_unstable_by_key(|&m| (members[m as usize].code, m));
        let mut last_end = 0;
        let mut last = NO_INDEX;
        // Where the item under way was copied to: methods may share one.
        let mut copied = None;
        // What woven methods that share an item may take beyond it.
        let mut shared = Budget::new(job.file, "so many methods share code that the woven ones");
        for &m in &order {
            let member = members[m as usize];
            let at = member.code as usize;
            let located = |e: Error| e.in_method(job.file.method_label(member.id));
            let code = Code::read(job.file.bytes, at).map_err(located)?;
            if last == member.code {
                shared.spend(at, code.insns.len()).map_err(located)?;
            } else {
                if at < last_end {
                    return Err(located(Error::malformed(at, "code items overlap")));
                }
                last_end = at + code.size().map_err(located)?;
                last = member.code;
                copied = None;
            }
            if let Some(outcome) = outcomes.get_mut(member.planned as usize) {
                let place = self.weave(job, &member, &code, outcome).map_err(located)?;
                if let Some(place) = place {
                    self.methods[m as usize] = place;
                    continue;
                }
            }
            let place = match copied {
                Some(place) => place,
                None => self.copy(job, &member, &code).map_err(located)?,
            };
            copied = Some(place);
            self.methods[m as usize] = place;
        }
        self.order = order;
        for outcome in outcomes {
            if members[outcome.member as usize].code == 0 {
                outcome.left = Some(Reason::NoBody);
            }
        }
        Ok(())
    }

    /// Weaves a method's code; nothing where it is left as it was.
    fn weave(
        &mut self,
        job: &Job<'_, '_>,
        member: &Member,
        code: &Code<'_>,
        outcome: &mut Outcome,
    ) -> Result<Option<u32>> {
        if let Some(hooks) = &job.known
            && calls(code, hooks)?
        {
            outcome.left = Some(Reason::AlreadyWoven);
            return Ok(None);
        }
        let planned = &job.planned[member.planned as usize];
        if let Some(begin) = job.begin
            && planned.advice.has(Advice::SECTION)
        {
            let section = job.section(member);
            let strings = &job.remap.strings;
            let is_name = |old: u32| strings.get(old as usize) == Some(&section);
            if sections::begins(code, begin, is_name)? {
                outcome.left = Some(Reason::AlreadyWoven);
                return Ok(None);
            }
        }
        Ok(match self.lower(job, member, code, planned)? {
            Ok((place, line)) => {
                outcome.line = line;
                Some(place)
            }
            Err(reason) => {
                outcome.left = Some(reason);
                None
            }
        })
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
        let (_, proto, name) = file.method(member.id)?;
        let shape = Shape {
            shorty: file.string(file.proto(proto)?.0)?,
            is_static: member.access & flag::STATIC != 0,
            is_constructor: job.init == Some(name),
            throwable: job.throwable,
            section: job.section(member),
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
        if code.debug_info != 0 {
            let start = self.debug.len();
            let at = code.debug_info as usize;
            let moves = scratch.moves();
            line = debug_info::rewrite(file.bytes, at, moves, job.remap, &mut self.debug)?.line;
            debug = self.unique_debug_info(start);
        }
        self.items.push((place as u32, debug));
        Ok(Ok((place as u32, line)))
    }

    /// The place of the debug info that was just appended; it goes again if there is one like it. Compilers
    /// share debug info between methods; where they were woven alike, they share it still.
    fn unique_debug_info(&mut self, start: usize) -> u32 {
        let (known, new) = self.debug.split_at(start);
        let mut hasher = FxHasher::default();
        hasher.write(new);
        match self.debug_known.entry(hasher.finish()) {
            Entry::Occupied(entry) => {
                let place = *entry.get() as usize;
                // What reads the same up to its end is the same: debug info tells its own end.
                if known[place..].starts_with(new) {
                    self.debug.truncate(start);
                    return place as u32;
                }
            }
            Entry::Vacant(entry) => {
                entry.insert(start as u32);
            }
        }
        self.debug_count += 1;
        start as u32
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
                Some(&place) => place,
                None => {
                    let place = self.debug.len() as u32;
                    let bytes = job.file.bytes;
                    copy_debug_info(bytes, old as usize, job.remap, &mut self.debug)?;
                    self.debug_count += 1;
                    self.debug_moved.insert(old, place);
                    place
                }
            },
        };
        self.items.push((place as u32, debug));
        Ok(place as u32)
    }

    /// Writes into all code items where their debug info lies.
    pub fn set_debug_info(&mut self, section: u32) {
        for &(item, debug) in &self.items {
            let at = item as usize + 8;
            let offset = match debug {
                NO_INDEX => 0,
                debug => section + debug,
            };
            self.code[at..at + 4].copy_from_slice(&offset.to_le_bytes());
        }
    }
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

/// Opcodes of the debug info's state machine (`debug_info_item`).
mod dbg {
    pub const END_SEQUENCE: u8 = 0;
    pub const ADVANCE_PC: u8 = 1;
    pub const ADVANCE_LINE: u8 = 2;
    pub const START_LOCAL: u8 = 3;
    pub const START_LOCAL_EXTENDED: u8 = 4;
    pub const END_LOCAL: u8 = 5;
    pub const RESTART_LOCAL: u8 = 6;
    pub const SET_FILE: u8 = 9;
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
