//! Writes maps.

use super::layout::*;
use super::model::{Symbol, Symbols};
use crate::bytes::{Names, put_uleb32};
use crate::spans::SpanRule;
use crate::switches::{Sampling, Switch, Switches};
use libdeflater::{CompressionLvl, Compressor};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Payload bytes after which a block can be packed: the work is then spread over the job instead of
/// waiting at its end.
const BLOCK: usize = 256 << 10;

thread_local! {
    /// What packs this thread's blocks, and room for one: tables and room are made once, not for each block.
    static PACKER: RefCell<(Compressor, Vec<u8>)> = RefCell::new((
        Compressor::new(CompressionLvl::new(1).expect("valid level")),
        Vec::new(),
    ));
}

/// Packs the payload of a block.
pub fn pack(payload: &[u8]) -> Vec<u8> {
    PACKER.with_borrow_mut(|(deflate, room)| {
        let bound = deflate.deflate_compress_bound(payload.len());
        if room.len() < bound {
            room.resize(bound, 0);
        }
        let n = deflate
            .deflate_compress(payload, room)
            .expect("the bound holds");
        let mut block = Vec::with_capacity(BLOCK_HEADER + n);
        block.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        block.extend_from_slice(&libdeflater::crc32(payload).to_le_bytes());
        block.extend_from_slice(&(n as u32).to_le_bytes());
        block.extend_from_slice(&room[..n]);
        block
    })
}

/// The payload of a block as a deflate stream that packs nothing: a hook library reads it without unpacking.
pub(super) fn store(payload: &[u8]) -> Vec<u8> {
    let segments = payload.chunks(usize::from(u16::MAX));
    let mut stream = Vec::with_capacity(payload.len() + 5 * segments.len());
    let last = segments.len() - 1;
    for (number, segment) in segments.enumerate() {
        let length = segment.len() as u16;
        stream.push(u8::from(number == last));
        stream.extend_from_slice(&length.to_le_bytes());
        stream.extend_from_slice(&(!length).to_le_bytes());
        stream.extend_from_slice(segment);
    }
    let mut block = Vec::with_capacity(BLOCK_HEADER + stream.len());
    block.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    block.extend_from_slice(&libdeflater::crc32(payload).to_le_bytes());
    block.extend_from_slice(&(stream.len() as u32).to_le_bytes());
    block.extend_from_slice(&stream);
    block
}

/// Writes a map: artifacts, in them types, in them methods, each in the order they are given.
#[derive(Default)]
pub struct Writer {
    /// Packed blocks, one or several in each.
    pub(super) blocks: Vec<Vec<u8>>,
    pub(super) block_count: u32,
    /// The payloads of full blocks that are not packed yet.
    waiting: Vec<Vec<u8>>,
    /// The payload of the block under way.
    pub(super) payload: Vec<u8>,
    /// What the next numbers in this block count from.
    last: Last,
    count: u32,
    /// The version that its entries ask for.
    version: Version,
    /// The methods that can be switched, by the aspects that switch them.
    switched: BTreeMap<Switches, Vec<u32>>,
}

/// A map's version: the lowest that its entries ask for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u16);

impl Default for Version {
    fn default() -> Version {
        Version(VERSION)
    }
}

impl Writer {
    /// Takes room for about so many bytes of names.
    pub fn reserve(&mut self, bytes: usize) {
        self.payload.reserve(bytes.min(BLOCK));
    }

    /// The types that follow come from this artifact.
    pub fn artifact(&mut self, name: &str) {
        self.payload.push(TAG_ARTIFACT);
        self.str(name);
    }

    /// The methods that follow belong to this type.
    pub fn ty(&mut self, name: &str, file: &str) {
        self.payload.push(TAG_TYPE);
        self.str(name);
        self.str(file);
    }

    /// What the numbered descriptors that follow can refer to, in place of all names that were given before.
    pub fn names(&mut self, names: &Names) {
        let mut tag = TAG_NAMES;
        let mut left = names.iter().peekable();
        while tag == TAG_NAMES || left.peek().is_some() {
            let mut room = BLOCK;
            let fitting = left.clone().take_while(|name| {
                let fits = room > 0;
                room = room.saturating_sub(name.len() + 1);
                fits
            });
            let count = fitting.count();
            self.payload.push(tag);
            put_uleb32(&mut self.payload, count as u32);
            for name in left.by_ref().take(count) {
                self.str(name);
            }
            self.end_block_if_full();
            tag = TAG_MORE_NAMES;
        }
    }

    /// A method of the last type.
    pub fn method(&mut self, id: u32, name: &str, descriptor: &str, line: u32) {
        self.payload.push(TAG_METHOD);
        put_uleb32(&mut self.payload, id.wrapping_sub(self.last.id));
        self.last.id = id;
        self.str(name);
        self.str(descriptor);
        put_uleb32(&mut self.payload, line);
        self.count += 1;
        self.end_block_if_full();
    }

    /// What numbered methods are called that name this number.
    pub fn numbered_name(&mut self, number: u32, name: &str) {
        self.payload.push(TAG_NUMBERED_NAME);
        put_uleb32(&mut self.payload, number.wrapping_sub(self.last.name));
        self.last.name = number;
        self.str(name);
        self.end_block_if_full();
    }

    /// The descriptor of numbered methods that name this number; it may refer to the last names.
    pub fn numbered_descriptor(&mut self, number: u32, descriptor: &str) {
        self.payload.push(TAG_NUMBERED_DESCRIPTOR);
        let step = number.wrapping_sub(self.last.descriptor);
        put_uleb32(&mut self.payload, step);
        self.last.descriptor = number;
        self.str(descriptor);
        self.end_block_if_full();
    }

    /// Methods of the last type, whose ids follow one another from the first on. Of each the number of its name and of its
    /// descriptor, which were given before, and its first line or 0.
    pub fn numbered_methods(
        &mut self,
        first: u32,
        mut methods: impl ExactSizeIterator<Item = [u32; 3]>,
    ) {
        let mut id = first;
        while methods.len() > 0 {
            let count = methods.len().min(MAX_ROW) as u32;
            self.payload.push(TAG_NUMBERED_METHODS);
            put_uleb32(&mut self.payload, id.wrapping_sub(self.last.id));
            put_uleb32(&mut self.payload, count);
            for number in methods.by_ref().take(count as usize).flatten() {
                put_uleb32(&mut self.payload, number);
            }
            id = id.wrapping_add(count);
            self.last.id = id.wrapping_sub(1);
            self.count += count;
            self.end_block_if_full();
        }
    }

    /// The names of the values that a method records, in the order of their numbers.
    pub fn values(&mut self, id: u32, names: &[impl AsRef<str>]) {
        self.needs(VERSION_WITH_VALUES);
        self.payload.push(TAG_VALUES);
        put_uleb32(&mut self.payload, id);
        put_uleb32(&mut self.payload, names.len() as u32);
        for name in names {
            self.str(name.as_ref());
        }
        self.end_block_if_full();
    }

    /// Calls of this method, whose entry was given before, begin a trace.
    pub fn root(&mut self, id: u32) {
        self.needs(VERSION_WITH_ROOTS);
        self.payload.push(TAG_ROOT);
        put_uleb32(&mut self.payload, id);
        self.end_block_if_full();
    }

    /// Calls of this method, whose entry was given before, are spans.
    pub fn span(&mut self, id: u32, rule: &SpanRule) {
        self.needs(VERSION_WITH_SPANS);
        self.payload.push(TAG_SPAN);
        put_uleb32(&mut self.payload, id);
        put_uleb32(&mut self.payload, rule.kind.number());
        for text in [&rule.name, &rule.once, &rule.error, &rule.when, &rule.scope] {
            self.str(text);
        }
        self.end_block_if_full();
    }

    /// These aspects switch a method.
    pub fn switched(&mut self, id: u32, by: &Switches) {
        match self.switched.get_mut(by) {
            Some(ids) => ids.push(id),
            None => drop(self.switched.insert(Arc::clone(by), vec![id])),
        }
    }

    /// Blocks of their own, of which each says all that it refers to.
    fn write_switched(&mut self) {
        let switched = std::mem::take(&mut self.switched);
        if switched.is_empty() {
            return;
        }
        self.pack();
        self.needs(VERSION_WITH_SWITCHES);
        let mut aspects: Vec<&Arc<Switch>> = switched.keys().flat_map(|by| by.iter()).collect();
        aspects.sort_unstable();
        aspects.dedup();
        let mut head = vec![TAG_ASPECTS];
        put_uleb32(&mut head, aspects.len() as u32);
        for aspect in &aspects {
            let level = aspect.level as u32;
            let decides = match (aspect.auto, aspect.sample) {
                (Some(slower), _) => Some((AUTO, slower)),
                (None, Some(Sampling::OneOf(calls))) => Some((SAMPLED, calls)),
                (None, Some(Sampling::Second(calls))) => Some((SAMPLED_SECOND, calls)),
                (None, None) => None,
            };
            let within = aspect.auto.and(aspect.overhead);
            let flags = decides.map_or(0, |(flags, _)| flags) | within.map_or(0, |_| OVERHEAD);
            put_uleb32(&mut head, level | flags);
            if let Some((_, number)) = decides {
                put_uleb32(&mut head, number);
            }
            if let Some(part) = within {
                put_uleb32(&mut head, part);
                self.needs(VERSION_WITH_OVERHEAD);
            }
            put_uleb32(&mut head, aspect.name.len() as u32);
            head.extend_from_slice(aspect.name.as_bytes());
        }
        let mut ids: Vec<(u32, &Switches)> = switched
            .iter()
            .flat_map(|(by, ids)| ids.iter().map(move |&id| (id, by)))
            .collect();
        ids.sort_unstable();
        ids.dedup_by_key(|(id, _)| *id);
        let (mut payload, mut last) = (head.clone(), 0u32);
        for row in ids.chunk_by(|a, b| a.1 == b.1 && a.0.checked_add(1) == Some(b.0)) {
            let (first, by) = row[0];
            payload.push(TAG_SWITCHED);
            put_uleb32(&mut payload, first.wrapping_sub(last));
            put_uleb32(&mut payload, row.len() as u32);
            put_uleb32(&mut payload, by.len() as u32);
            for switch in by.iter() {
                let number = aspects.binary_search(&switch).expect("it is one of them");
                put_uleb32(&mut payload, number as u32);
            }
            last = row[row.len() - 1].0;
            if payload.len() >= head.len() + BLOCK {
                self.blocks.push(store(&payload));
                self.block_count += 1;
                (payload, last) = (head.clone(), 0);
            }
        }
        self.blocks.push(store(&payload));
        self.block_count += 1;
    }

    pub(super) fn needs(&mut self, version: u16) {
        self.version = self.version.max(Version(version));
    }

    fn end_block_if_full(&mut self) {
        if self.payload.len() >= BLOCK {
            self.end_block();
        }
    }

    /// Ends the block under way, which then waits for being packed.
    pub fn end_block(&mut self) {
        if !self.payload.is_empty() {
            let mut payload = std::mem::take(&mut self.payload);
            payload.shrink_to_fit();
            self.waiting.push(payload);
            self.last = Last::default();
        }
    }

    /// How many blocks are full and not packed yet.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Packs the blocks that are full. `map` calls [`pack`] with each of them, on whichever thread, and
    /// gives the results in their order.
    pub fn pack_waiting(&mut self, map: impl FnOnce(Vec<Vec<u8>>) -> Vec<Vec<u8>>) {
        let mut packed = map(std::mem::take(&mut self.waiting));
        self.block_count += packed.len() as u32;
        self.blocks.append(&mut packed);
    }

    /// Packs all there is, and keeps the memory of the block under way.
    pub fn pack(&mut self) {
        self.pack_waiting(|blocks| blocks.iter().map(|block| pack(block)).collect());
        if !self.payload.is_empty() {
            self.blocks.push(pack(&self.payload));
            self.block_count += 1;
            self.payload.clear();
            self.last = Last::default();
        }
    }

    /// Packs all there is, if that is at least so many bytes.
    pub fn pack_from(&mut self, bytes: usize) {
        if self.payload.len() >= bytes {
            self.pack();
        }
    }

    fn str(&mut self, s: &str) {
        put_uleb32(&mut self.payload, s.len() as u32);
        self.payload.extend_from_slice(s.as_bytes());
    }

    /// A finished map ([`is_map`]), after what this writer holds.
    pub fn append_map(&mut self, map: &[u8]) {
        self.pack();
        let (header, blocks) = map.split_at(HEADER);
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four"));
        self.count = self.count.saturating_add(word(8));
        self.block_count = self.block_count.saturating_add(word(12));
        self.needs(u16::from_le_bytes([header[4], header[5]]));
        self.blocks.push(blocks.to_vec());
    }

    /// Everything that another writer holds, after what this one holds.
    pub fn append(&mut self, other: &mut Writer) {
        self.pack();
        other.pack();
        self.blocks.append(&mut other.blocks);
        self.block_count += other.block_count;
        self.count += other.count;
        self.needs(other.version.0);
        for (by, mut ids) in std::mem::take(&mut other.switched) {
            self.switched.entry(by).or_default().append(&mut ids);
        }
    }

    /// All of `symbols`, sorted, so that the same map gives the same bytes.
    pub fn symbols(&mut self, symbols: &Symbols) {
        let mut all: Vec<(u32, &Symbol)> = symbols.iter().collect();
        all.sort_unstable_by(|(a_id, a), (b_id, b)| {
            let (x, y) = (&a.method, &b.method);
            (&a.artifact, &a.type_name, &a.file, x, &a.descriptor, a_id).cmp(&(
                &b.artifact,
                &b.type_name,
                &b.file,
                y,
                &b.descriptor,
                b_id,
            ))
        });
        let mut last: Option<&Symbol> = None;
        for (id, symbol) in all {
            let same_artifact = last.is_some_and(|l| l.artifact == symbol.artifact);
            if !same_artifact {
                self.artifact(&symbol.artifact);
            }
            let same_type =
                last.is_some_and(|l| (&l.type_name, &l.file) == (&symbol.type_name, &symbol.file));
            if !same_artifact || !same_type {
                self.ty(&symbol.type_name, &symbol.file);
            }
            self.method(id, &symbol.method, &symbol.descriptor, symbol.line);
            let values = symbols.values(id);
            if !values.is_empty() {
                self.values(id, values);
            }
            if symbol.root {
                self.root(id);
            }
            if let Some(rule) = symbols.span(id) {
                self.span(id, rule);
            }
            if let Some(by) = symbols.switched(id) {
                self.switched(id, by);
            }
            last = Some(symbol);
        }
    }

    /// Whether no method was written.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The finished map: header, then the blocks.
    pub fn finish(mut self) -> Vec<u8> {
        self.pack();
        self.write_switched();
        let blocks: usize = self.blocks.iter().map(Vec::len).sum();
        let mut out = Vec::with_capacity(HEADER + blocks);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.version.0.to_le_bytes());
        out.extend_from_slice(&0u16.to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&self.block_count.to_le_bytes());
        for block in &self.blocks {
            out.extend_from_slice(block);
        }
        out
    }
}
