//! The code section and the debug info section of the new file, made chunk by chunk.

mod chunk;
pub(crate) mod debug_info;
pub(crate) mod inputs;
pub(crate) mod pc_lines;

use crate::aspect::advice::Reason;
use crate::bytes::u32_at;
use crate::dex::bodies::chunk::{Chunk, Origin, PlacedItem, overlap};
use crate::dex::bodies::inputs::{Inputs, Outcome, Run, too_much_debug_info};
use crate::dex::format::class::Budget;
use crate::dex::format::code_item;
use crate::dex::format::file::NO_INDEX;
use crate::error::{Error, Result};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

/// The new code and debug info sections, before they get their offsets.
#[derive(Default)]
pub(crate) struct Bodies {
    /// The chunks of the code section; unused ones keep their memory.
    chunks: Vec<Mutex<Chunk>>,
    /// Where each chunk in use begins in the code section.
    starts: Vec<usize>,
    /// Code items behind the chunks, and where they begin in the code section.
    added: Vec<u8>,
    added_start: usize,
    pub code_size: usize,
    pub debug: Vec<u8>,
    pub debug_count: u32,
    /// Debug info by where it lies in `debug`.
    pub items: Vec<PlacedItem>,
    /// Where the code of each method lies, in the order of the class data; `NO_INDEX` without code.
    pub methods: Vec<u32>,
    /// Where debug info lies in `debug`.
    debug_known: FxHashMap<Origin, u32>,
    order: Vec<u32>,
}

impl Bodies {
    /// Builds both sections, with code items in their old order.
    pub fn build(
        &mut self,
        inputs: &Inputs<'_, '_>,
        outcomes: &mut [Outcome],
        run: Run<'_>,
    ) -> Result<()> {
        let members = inputs.members;
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend((0..members.len() as u32).filter(|&m| members[m as usize].code != 0));
        order.sort_unstable_by_key(|&m| (members[m as usize].code, m));
        let ranges = split(inputs, &order)?;
        if self.chunks.len() < ranges.len() {
            self.chunks.resize_with(ranges.len(), Mutex::default);
        }
        let failed: Vec<Mutex<Option<Error>>> = ranges.iter().map(|_| Mutex::default()).collect();
        run(ranges.len(), &|i| {
            let mut chunk = self.chunks[i].lock().expect("no task panics");
            if let Err(e) = chunk.build(inputs, &order[ranges[i].clone()]) {
                *failed[i].lock().expect("no task panics") = Some(e);
            }
        });
        // Which method exceeds the limit depends on the threads, so the error names none.
        if inputs.limits.debug_info.load(Ordering::Relaxed) == 0 {
            return Err(too_much_debug_info(inputs.file));
        }
        for failed in failed {
            if let Some(e) = failed.into_inner().expect("no task panics") {
                return Err(e);
            }
        }
        self.join(inputs, &order, &ranges, outcomes)?;
        self.order = order;
        for outcome in outcomes {
            if members[outcome.member as usize].code == 0 {
                outcome.left = Some(Reason::NoBody);
            }
        }
        Ok(())
    }

    /// Puts the chunks behind one another.
    fn join(
        &mut self,
        inputs: &Inputs<'_, '_>,
        order: &[u32],
        ranges: &[Range<usize>],
        outcomes: &mut [Outcome],
    ) -> Result<()> {
        self.starts.clear();
        self.added.clear();
        self.code_size = 0;
        self.debug.clear();
        self.debug_count = 0;
        self.items.clear();
        self.methods.clear();
        self.methods.resize(inputs.members.len(), NO_INDEX);
        self.debug_known.clear();
        let (mut items, mut debug) = (0, 0);
        for chunk in &mut self.chunks[..ranges.len()] {
            let chunk = chunk.get_mut().expect("no task panics");
            items += chunk.items.len();
            debug += chunk.debug.len();
        }
        self.items.reserve(items);
        self.debug.reserve(debug);
        let mut last_end = 0;
        let mut numbers = Vec::new();
        for (chunk, range) in self.chunks.iter_mut().zip(ranges) {
            let chunk = chunk.get_mut().expect("no task panics");
            let methods = &order[range.clone()];
            if chunk.old.start < last_end {
                let id = inputs.members[methods[0] as usize].id;
                return Err(overlap(chunk.old.start).in_method(inputs.file.method_label(id)));
            }
            last_end = chunk.old.end;
            let start = self.code_size.next_multiple_of(4);
            self.starts.push(start);
            self.code_size = start + chunk.code.len();

            numbers.clear();
            let ends = chunk.debug_items.iter().skip(1).map(|next| next.start);
            for (item, end) in
                (chunk.debug_items.iter()).zip(ends.chain([chunk.debug.len() as u32]))
            {
                let bytes = &chunk.debug[item.start as usize..end as usize];
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
            let moved = chunk.items.iter().map(|item| PlacedItem {
                place: start as u32 + item.place,
                debug: *numbers.get(item.debug as usize).unwrap_or(&NO_INDEX),
            });
            self.items.extend(moved);
            for (&m, place) in methods.iter().zip(&chunk.places) {
                self.methods[m as usize] = start as u32 + place;
            }
            for settled in &chunk.outcomes {
                let outcome = &mut outcomes[settled.planned as usize];
                (outcome.left, outcome.line) = (settled.left, settled.line);
            }
        }
        Ok(())
    }

    /// Adds a code item behind those of the chunks, with its debug info if it has any; gives its place in the code section.
    pub fn add(&mut self, code: &[u8], debug: &[u8]) -> u32 {
        if self.added.is_empty() {
            self.added_start = self.code_size.next_multiple_of(4);
        }
        (self.added).resize(self.added.len().next_multiple_of(4), 0);
        let place = (self.added_start + self.added.len()) as u32;
        self.added.extend_from_slice(code);
        self.code_size = self.added_start + self.added.len();
        let debug = match debug {
            [] => NO_INDEX,
            debug => {
                self.debug.extend_from_slice(debug);
                self.debug_count += 1;
                (self.debug.len() - debug.len()) as u32
            }
        };
        self.items.push(PlacedItem { place, debug });
        place
    }

    /// Appends the code section; `debug` is where the debug info section lies.
    pub fn put_code(&mut self, debug: u32, out: &mut Vec<u8>) {
        let section = out.len();
        for (chunk, start) in self.chunks.iter_mut().zip(&self.starts) {
            out.resize(section + start, 0);
            out.extend_from_slice(&chunk.get_mut().expect("no task panics").code);
        }
        if !self.added.is_empty() {
            out.resize(section + self.added_start, 0);
            out.extend_from_slice(&self.added);
        }
        for item in self.items.iter().filter(|item| item.debug != NO_INDEX) {
            let at = section + item.place as usize + code_item::DEBUG_INFO;
            out[at..at + 4].copy_from_slice(&(debug + item.debug).to_le_bytes());
        }
    }
}

/// Splits methods, in order of their code, into chunks; those that share a code item stay together.
fn split(inputs: &Inputs<'_, '_>, order: &[u32]) -> Result<Vec<Range<usize>>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    // The copies that woven methods with a shared item may take.
    let mut shared = Budget::new(
        inputs.file,
        "so many methods share code that the woven ones",
    );
    let mut first = 0;
    let mut last = NO_INDEX;
    for (i, &m) in order.iter().enumerate() {
        let member = inputs.members[m as usize];
        let at = member.code as usize;
        if member.code == last {
            ranges.last_mut().expect("of the one in front").end = i + 1;
            let units = inputs
                .file
                .bytes
                .get(at + code_item::INSNS_SIZE..at + code_item::HEADER);
            let units = units.map_or(0, |units| u32_at(units, 0) as usize);
            let spent = shared.spend(at, units.saturating_mul(2));
            spent.map_err(|e| e.in_method(inputs.file.method_label(member.id)))?;
            continue;
        }
        last = member.code;
        match ranges.last_mut() {
            Some(range) if at - first < inputs.limits.chunk => range.end = i + 1,
            _ => {
                first = at;
                ranges.push(i..i + 1);
            }
        }
    }
    Ok(ranges)
}
