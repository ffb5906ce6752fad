//! The code section and the debug info section of the new file, made part by part.

use crate::aspect::advice::Reason;
use crate::aspect::plan::Planned;
use crate::dex::class::Budget;
use crate::dex::code_item;
use crate::dex::file::{File, NO_INDEX, u32_at};
use crate::dex::lower::Hooks;
use crate::dex::own_fields::Fields;
use crate::dex::part::{Origin, Part, overlap};
use crate::dex::remap::Remap;
use crate::dex::write::{Outcome, Run};
use crate::error::{Error, Result};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The new code and debug info sections, as far as they do not depend on where they come to lie.
#[derive(Default)]
pub(super) struct Bodies {
    /// The code section, in stretches; those beyond the ones in use keep their memory.
    parts: Vec<Mutex<Part>>,
    /// Where each part in use begins in the code section.
    starts: Vec<usize>,
    /// Bytes of the code section.
    pub code_size: usize,
    pub debug: Vec<u8>,
    /// Items of the debug info section.
    pub debug_count: u32,
    /// Where each code item lies, and its debug info in `debug` or `NO_INDEX`.
    pub items: Vec<(u32, u32)>,
    /// Where the code of each method lies, in the order of the class data; `NO_INDEX` without code.
    pub methods: Vec<u32>,
    /// Where debug info lies in `debug`.
    debug_known: FxHashMap<Origin, u32>,
    order: Vec<u32>,
}

/// What [`Bodies`] are built from.
pub(super) struct Job<'j, 'a> {
    pub file: &'j File<'a>,
    pub remap: &'j Remap,
    pub members: &'j [Member],
    pub planned: &'j [Planned],
    /// Who declares which field.
    pub fields: Fields,
    /// New indices of the hooks.
    pub hooks: Hooks,
    /// What the hooks add to the ids that they get.
    pub base: u32,
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
    /// Bytes of old code from which on a part ends. What is written does not depend on it.
    pub part: usize,
    /// Bytes of debug info that may still be read for woven methods, which may share it.
    pub debug_info: AtomicUsize,
}

/// How many times a file's size the debug info of woven methods may be; of real files it is a tenth.
pub(super) const DEBUG_INFO: usize = 4;

impl Job<'_, '_> {
    pub fn section(&self, member: &Member) -> u32 {
        let section = self.sections.get(member.planned as usize);
        section.copied().unwrap_or(NO_INDEX)
    }

    /// Accounts for debug info that was read; an error where it is out of proportion.
    pub fn spend_debug_info(&self, bytes: usize) -> Result<()> {
        // None left says that it was not enough.
        let spend = |left: usize| left.checked_sub(bytes).filter(|left| *left > 0);
        let spent = (self.debug_info).fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend);
        match spent {
            Ok(_) => Ok(()),
            Err(_) => {
                self.debug_info.store(0, Ordering::Relaxed);
                Err(too_much_debug_info(self.file))
            }
        }
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

/// Bytes of old code from which on a part usually ends: some parts a core for a large file, some milliseconds each.
pub(super) const PART: usize = 128 << 10;

impl Bodies {
    /// Builds both sections, code items in the order in which they lay.
    pub fn build(
        &mut self,
        job: &Job<'_, '_>,
        outcomes: &mut [Outcome],
        run: Run<'_>,
    ) -> Result<()> {
        let members = job.members;
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend((0..members.len() as u32).filter(|&m| members[m as usize].code != 0));
        order.sort_unstable_by_key(|&m| (members[m as usize].code, m));
        let ranges = split(job, &order)?;
        if self.parts.len() < ranges.len() {
            self.parts.resize_with(ranges.len(), Mutex::default);
        }
        let failed: Vec<Mutex<Option<Error>>> = ranges.iter().map(|_| Mutex::default()).collect();
        run(ranges.len(), &|i| {
            let mut part = self.parts[i].lock().expect("no part panics");
            if let Err(e) = part.build(job, &order[ranges[i].clone()]) {
                *failed[i].lock().expect("no part panics") = Some(e);
            }
        });
        // Which method came last depends on the threads.
        if job.debug_info.load(Ordering::Relaxed) == 0 {
            return Err(too_much_debug_info(job.file));
        }
        for failed in failed {
            if let Some(e) = failed.into_inner().expect("no part panics") {
                return Err(e);
            }
        }
        self.join(job, &order, &ranges, outcomes)?;
        self.order = order;
        for outcome in outcomes {
            if members[outcome.member as usize].code == 0 {
                outcome.left = Some(Reason::NoBody);
            }
        }
        Ok(())
    }

    /// Puts the parts behind one another.
    fn join(
        &mut self,
        job: &Job<'_, '_>,
        order: &[u32],
        ranges: &[Range<usize>],
        outcomes: &mut [Outcome],
    ) -> Result<()> {
        self.starts.clear();
        self.code_size = 0;
        self.debug.clear();
        self.debug_count = 0;
        self.items.clear();
        self.methods.clear();
        self.methods.resize(job.members.len(), NO_INDEX);
        self.debug_known.clear();
        let (mut items, mut debug) = (0, 0);
        for part in &mut self.parts[..ranges.len()] {
            let part = part.get_mut().expect("no part panics");
            items += part.items.len();
            debug += part.debug.len();
        }
        self.items.reserve(items);
        self.debug.reserve(debug);
        let mut last_end = 0;
        let mut numbers = Vec::new();
        for (part, range) in self.parts.iter_mut().zip(ranges) {
            let part = part.get_mut().expect("no part panics");
            let methods = &order[range.clone()];
            if part.old.start < last_end {
                let id = job.members[methods[0] as usize].id;
                return Err(overlap(part.old.start).in_method(job.file.method_label(id)));
            }
            last_end = part.old.end;
            let start = self.code_size.next_multiple_of(4);
            self.starts.push(start);
            self.code_size = start + part.code.len();

            numbers.clear();
            let ends = part.debug_items.iter().skip(1).map(|next| next.start);
            for (item, end) in (part.debug_items.iter()).zip(ends.chain([part.debug.len() as u32]))
            {
                let bytes = &part.debug[item.start as usize..end as usize];
                let place = self.debug.len() as u32;
                let place = match self.debug_known.entry(item.origin) {
                    Entry::Occupied(known)
                        if self.debug[*known.get() as usize..].starts_with(bytes) =>
                    {
                        *known.get()
                    }
                    entry => {
                        entry.or_insert(place);
                        self.debug.extend_from_slice(bytes);
                        self.debug_count += 1;
                        place
                    }
                };
                numbers.push(place);
            }
            let moved = part.items.iter().map(|&(item, debug)| {
                let debug = numbers.get(debug as usize).copied();
                (start as u32 + item, debug.unwrap_or(NO_INDEX))
            });
            self.items.extend(moved);
            for (&m, place) in methods.iter().zip(&part.places) {
                self.methods[m as usize] = start as u32 + place;
            }
            for &(planned, left, line) in &part.outcomes {
                let outcome = &mut outcomes[planned as usize];
                (outcome.left, outcome.line) = (left, line);
            }
        }
        Ok(())
    }

    /// Appends the code section; `debug` is where the debug info section lies.
    pub fn put_code(&mut self, debug: u32, out: &mut Vec<u8>) {
        let section = out.len();
        for (part, start) in self.parts.iter_mut().zip(&self.starts) {
            out.resize(section + start, 0);
            out.extend_from_slice(&part.get_mut().expect("no part panics").code);
        }
        for &(item, info) in self.items.iter().filter(|item| item.1 != NO_INDEX) {
            let at = section + item as usize + code_item::DEBUG_INFO;
            out[at..at + 4].copy_from_slice(&(debug + info).to_le_bytes());
        }
    }
}

#[cold]
fn too_much_debug_info(file: &File<'_>) -> Error {
    Error::malformed(file.start, "methods share debug info out of proportion")
}

/// Splits methods, in order of their code, into parts; those that share a code item stay together.
fn split(job: &Job<'_, '_>, order: &[u32]) -> Result<Vec<Range<usize>>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    // What woven methods that share an item may take beyond it.
    let mut shared = Budget::new(job.file, "so many methods share code that the woven ones");
    let mut first = 0;
    let mut last = NO_INDEX;
    for (i, &m) in order.iter().enumerate() {
        let member = job.members[m as usize];
        let at = member.code as usize;
        if member.code == last {
            ranges.last_mut().expect("of the one in front").end = i + 1;
            let units = job.file.bytes.get(at + 12..at + 16);
            let units = units.map_or(0, |units| u32_at(units, 0) as usize);
            let spent = shared.spend(at, units.saturating_mul(2));
            spent.map_err(|e| e.in_method(job.file.method_label(member.id)))?;
            continue;
        }
        last = member.code;
        match ranges.last_mut() {
            Some(range) if at - first < job.part => range.end = i + 1,
            _ => {
                first = at;
                ranges.push(i..i + 1);
            }
        }
    }
    Ok(ranges)
}
