//! The code section and the debug info section of the new file: bodies that stay, renumbered.

use crate::aspect::advice::Reason;
use crate::aspect::plan::Planned;
use crate::bytes::{Cursor, put_uleb32};
use crate::dex::class::Budget;
use crate::dex::code_item::{self, Code, TryWriter};
use crate::dex::file::{File, NO_INDEX};
use crate::dex::ids::new_index;
use crate::dex::insn;
use crate::dex::opcodes::op;
use crate::dex::remap::Remap;
use crate::dex::write::Outcome;
use crate::error::{Error, Result};
use rustc_hash::FxHashMap;
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
    tries: TryWriter,
    starts: Vec<u16>,
    order: Vec<u32>,
}

/// What [`Bodies`] are built from.
pub(super) struct Job<'j, 'a> {
    pub file: &'j File<'a>,
    pub remap: &'j Remap,
    pub members: &'j [Member],
    pub planned: &'j [Planned],
    /// New indices of the hooks.
    #[expect(dead_code, reason = "until code is lowered")]
    pub hooks: &'j [u32],
    /// Old indices of the hooks, where the file names them already.
    pub known: Option<Range<u32>>,
}

/// A method that a class defines, in the order of the class data.
#[derive(Clone, Copy)]
pub(super) struct Member {
    /// Index into the method ids.
    pub id: u32,
    #[expect(dead_code, reason = "until code is lowered")]
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
                None => self.copy(job, &code).map_err(located)?,
            };
            copied = Some(place);
            self.methods[m as usize] = place;
        }
        self.order = order;
        for (planned, outcome) in job.planned.iter().zip(outcomes) {
            if job.members[outcome.member as usize].code == 0 {
                outcome.left = Some(Reason::NoBody);
            }
            debug_assert!(planned.id != 0);
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
        let _ = (&mut *self, member);
        if let Some(hooks) = &job.known
            && calls(code, hooks)?
        {
            outcome.left = Some(Reason::AlreadyWoven);
            return Ok(None);
        }
        outcome.left = Some(Reason::Unsupported);
        Ok(None)
    }

    /// Where the next code item begins.
    fn begin(&mut self) -> usize {
        let place = self.code.len().next_multiple_of(4);
        self.code.resize(place, 0);
        place
    }

    /// Copies a code item and its debug info; returns its place.
    fn copy(&mut self, job: &Job<'_, '_>, code: &Code<'_>) -> Result<u32> {
        let place = self.begin();
        code_item::copy(
            code,
            job.remap,
            &mut self.tries,
            &mut self.starts,
            &mut self.code,
        )?;
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
