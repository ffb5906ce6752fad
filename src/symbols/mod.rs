//! The symbols map: what each id in a trace stands for.
//!
//! A map travels inside every woven artifact (`META-INF/weave/`), beside the output
//! (`<output>.wsym`), and is copied as it is into each trace by the hook library.
//! `docs/trace-format.md` describes the bytes.

mod parameters;

use crate::bytes::{Cursor, Names, put_uleb32};
use crate::dotnet_names::{self, Shown};
use crate::error::{Error, Kind, Result};
use crate::spans::{self, SpanRule};
use crate::switches::{self, Level, MOST_OVERHEAD, MOST_SAMPLED, Sampling, Switch, Switches};
use libdeflater::{CompressionLvl, Compressor};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::fmt::Write as _;
use std::sync::Arc;

/// First bytes of a symbols map.
pub const MAGIC: [u8; 4] = *b"WSYM";
/// Version of the layout.
pub const VERSION: u16 = 1;
/// Version of a map that names values: readers of version 1 do not know [`TAG_VALUES`].
const VERSION_WITH_VALUES: u16 = 2;
/// Version of a map that says where traces begin: earlier readers do not know [`TAG_ROOT`].
const VERSION_WITH_ROOTS: u16 = 3;
/// Version of a map that says what can be switched: earlier readers do not know [`TAG_ASPECTS`].
const VERSION_WITH_SWITCHES: u16 = 4;
/// Version of a map that says what is a span: earlier readers do not know [`TAG_SPAN`].
const VERSION_WITH_SPANS: u16 = 5;
/// Version of a map that says what a program may pay: earlier readers do not know [`OVERHEAD`].
const VERSION_WITH_OVERHEAD: u16 = 6;
/// Where artifacts that are not packed into others carry their map (an apk, the library's jar). In a jar or folder of classes
/// this member only names the map ([`Carried`]); earlier versions left the map itself there.
pub const MEMBER: &str = "META-INF/weave/symbols";
/// How the names of maps end that lie beside that member.
const MAP_SUFFIX: &str = ".wsym";

/// How a jar or folder of classes carries its map. Each map has a name of its own, since artifacts are packed into one jar, where
/// of two members of one name only one stays.
pub struct Carried {
    /// Where the map goes.
    pub member: String,
    /// What [`MEMBER`] says then: class loaders find a resource by its name alone.
    pub marker: Vec<u8>,
}

impl Carried {
    /// The name follows from the artifact's first class, which no other artifact of a program has.
    pub fn of(first_class: &str) -> Carried {
        let mut name = String::new();
        for byte in &Sha256::digest(first_class)[..8] {
            let _ = write!(name, "{byte:02x}");
        }
        name += MAP_SUFFIX;
        Carried {
            member: MEMBER.replace("symbols", &name),
            marker: format!("{name}\n").into_bytes(),
        }
    }
}

/// Whether a member may be a map, or say where one is: `root` is what is in front of `META-INF/`.
pub fn is_carried(member: &str, root: &str) -> bool {
    let Some(member) = member.strip_prefix(root) else {
        return false;
    };
    let folder = MEMBER.strip_suffix("symbols").unwrap_or_default();
    let name = member.strip_prefix(folder);
    member == MEMBER || name.is_some_and(|n| n.ends_with(MAP_SUFFIX) && !n.contains('/'))
}

/// The same for whatever is in front of `META-INF/`.
pub fn is_carried_anywhere(path: &str) -> bool {
    let root = path.rfind("META-INF/").map(|at| &path[..at]);
    root.is_some_and(|root| is_carried(path, root))
}

/// Whether bytes are what [`MEMBER`] says beside a map.
pub fn is_marker(bytes: &[u8]) -> bool {
    let name = bytes.strip_suffix(b"\n").unwrap_or_default();
    name.ends_with(MAP_SUFFIX.as_bytes()) && name.len() == 16 + MAP_SUFFIX.len()
}

/// Magic, version, a reserved word, counts of methods and of blocks.
const HEADER: usize = 16;

/// Length, CRC-32 and packed length in front of each block.
const BLOCK_HEADER: usize = 12;

/// Most bytes that a block may inflate to, whatever its header says: a block ends with the method that
/// fills it, and names are at most 65,535 bytes long.
const MAX_BLOCK: usize = 4 << 20;

const TAG_ARTIFACT: u8 = 1;
const TAG_TYPE: u8 = 2;
const TAG_METHOD: u8 = 3;
const TAG_NAMES: u8 = 4;
const TAG_NUMBERED_METHODS: u8 = 5;
const TAG_MORE_NAMES: u8 = 6;
const TAG_NUMBERED_NAME: u8 = 7;
const TAG_NUMBERED_DESCRIPTOR: u8 = 8;
const TAG_VALUES: u8 = 9;
const TAG_ROOT: u8 = 10;
const TAG_ASPECTS: u8 = 11;
const TAG_SWITCHED: u8 = 12;
const TAG_SPAN: u8 = 13;
/// Beside an aspect's level: the program itself decides about it, and a time follows.
const AUTO: u32 = 1 << 4;
/// Beside that: the part of the program's CPU that this may take follows, in thousandths.
const OVERHEAD: u32 = 1 << 7;
const AUTO_WITHIN: u32 = AUTO | OVERHEAD;
/// Its calls are sampled, and a number follows: one of so many, or so many a second.
const SAMPLED: u32 = 1 << 5;
const SECOND: u32 = 1 << 6;
const SAMPLED_SECOND: u32 = SAMPLED | SECOND;

/// Most values that a method records.
const MAX_VALUES: usize = 1 << 16;

/// Most bytes of names at one time.
const MAX_NAMES: usize = 64 << 20;

/// What a numbered text takes beside its bytes, about.
const NUMBERED: usize = 32;

/// Most methods of one entry: a block ends behind the one that fills it.
const MAX_ROW: usize = 1 << 14;

/// Longest descriptor that refers to names, and most bytes of all at one time; those beyond are `?`.
const MAX_DESCRIPTOR: usize = 1 << 17;
const MAX_DESCRIPTORS: usize = 64 << 20;

/// Whether bytes begin as a map does; what follows is looked at by [`Symbols::add`].
pub fn is_map(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER && bytes.starts_with(&MAGIC)
}

/// What an id stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The artifact that the method was woven in, by its path inside the input (`BOOT-INF/lib/core.jar`).
    pub artifact: Arc<str>,
    /// The type's name in the format's own spelling (`com/acme/Outer$Inner`).
    pub type_name: Arc<str>,
    /// The method's name.
    pub method: Arc<str>,
    /// Parameters and return type as the format writes them.
    pub descriptor: Arc<str>,
    /// Source file name, or empty.
    pub file: Arc<str>,
    /// First source line of the body, or 0.
    pub line: u32,
    /// A rule says that its calls begin a trace.
    pub root: bool,
}

impl Symbol {
    /// Whether this is the same method as another, wherever it lies. A descriptor may be missing from a large map (`?`).
    fn is_same_method(&self, other: &Symbol) -> bool {
        let same = |a: &str, b: &str| a == b || a == "?" || b == "?";
        (&self.type_name, &self.method) == (&other.type_name, &other.method)
            && same(&self.descriptor, &other.descriptor)
    }

    /// The method with its parameters and, if it is known, its artifact: `com.acme.A.run(int) in lib/a.jar`.
    pub fn full_name(&self) -> String {
        let name = self.name() + &self.parameters() + &self.place();
        match &*self.artifact {
            "" => name,
            artifact => format!("{name} in {artifact}"),
        }
    }

    /// Type and method as people write them, `com.acme.Outer$Inner.run`, or as debuggers show what a compiler named. A
    /// lambda without a line has a number in its place.
    pub fn name(&self) -> String {
        let Some(shown) = dotnet_names::shown(&self.type_name, &self.method) else {
            return self.compilers_name();
        };
        let method = match self.place().is_empty() {
            true => shown.numbered(),
            false => shown.method,
        };
        format!("{}.{method}", shown.type_name)
    }

    /// Type and method as the program has them.
    pub fn compilers_name(&self) -> String {
        format!("{}.{}", self.type_name.replace('/', "."), self.method)
    }

    /// Where a method stands that has no name of its own: ` (Program.cs:27)`; else empty.
    pub fn place(&self) -> String {
        let shown = dotnet_names::shown(&self.type_name, &self.method);
        let Some(shown) = shown.filter(Shown::is_anonymous) else {
            return String::new();
        };
        let file = self.file.rsplit(['/', '\\']).next().unwrap_or_default();
        match (file, self.line.max(shown.line)) {
            ("", _) | (_, 0) => String::new(),
            (file, line) => format!(" ({file}:{line})"),
        }
    }

    /// Parameter types by their simple names: `(int, String[])`.
    pub fn parameters(&self) -> String {
        parameters::simple(&self.descriptor)
    }
}

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
fn store(payload: &[u8]) -> Vec<u8> {
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
    blocks: Vec<Vec<u8>>,
    block_count: u32,
    /// The payloads of full blocks that are not packed yet.
    waiting: Vec<Vec<u8>>,
    /// The payload of the block under way.
    payload: Vec<u8>,
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

/// The last numbers in a block, or 0.
#[derive(Default)]
struct Last {
    /// A method's id.
    id: u32,
    name: u32,
    descriptor: u32,
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

    fn needs(&mut self, version: u16) {
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

/// The artifact, type and source file that the next method of a map belongs to. Shared between its
/// methods: a short map could otherwise repeat a long name with each.
#[derive(Default)]
struct Place {
    artifact: Arc<str>,
    ty: Arc<str>,
    file: Arc<str>,
    names: Names,
    /// The names and the whole descriptors of numbered methods.
    numbered: Numbered,
    /// What the numbers of aspects stand for.
    aspects: Vec<Arc<Switch>>,
    /// About how much memory they take.
    aspects_size: usize,
    /// Methods whose ids follow one another, and the aspects that switch them.
    switched: Vec<Switched>,
    /// The ids of its methods.
    ids: Vec<u32>,
}

/// The ids from one to another, and what switches those methods.
type Switched = (u32, u32, Switches);

/// Texts by their numbers. Methods share them: a short map could otherwise become as much text as one likes.
#[derive(Default)]
struct Numbered {
    names: FxHashMap<u32, Arc<str>>,
    descriptors: FxHashMap<u32, Arc<str>>,
    /// Bytes that the names take, about.
    names_size: usize,
    /// Bytes of the descriptors.
    descriptors_size: usize,
}

impl Numbered {
    fn add_name(&mut self, number: u32, name: &str) -> std::result::Result<(), &'static str> {
        self.names_size += name.len() + NUMBERED;
        if self.names_size > MAX_NAMES {
            return Err("too many names in a symbols map");
        }
        self.names.insert(number, name.into());
        Ok(())
    }

    fn add_descriptor(
        &mut self,
        number: u32,
        whole: &str,
    ) -> std::result::Result<(), &'static str> {
        let whole = match self.descriptors_size + whole.len() > MAX_DESCRIPTORS {
            true => "?",
            false => whole,
        };
        // Without its text, each takes memory still.
        self.descriptors_size += whole.len() + NUMBERED;
        if self.descriptors_size > 2 * MAX_DESCRIPTORS {
            return Err("too many descriptors in a symbols map");
        }
        self.descriptors.insert(number, whole.into());
        Ok(())
    }

    /// The name and the descriptor of those numbers.
    fn method(
        &self,
        name: u32,
        descriptor: u32,
    ) -> std::result::Result<(Arc<str>, Arc<str>), &'static str> {
        match (self.names.get(&name), self.descriptors.get(&descriptor)) {
            (Some(name), Some(descriptor)) => Ok((name.clone(), descriptor.clone())),
            _ => Err("method in a symbols map refers to a name that is not there"),
        }
    }
}

/// Maps ids to what they stand for, over any number of maps.
#[derive(Debug, Default)]
pub struct Symbols {
    by_id: FxHashMap<u32, Symbol>,
    /// The names of the values that methods record.
    values: FxHashMap<u32, Arc<[Arc<str>]>>,
    /// About how much memory those take.
    values_size: usize,
    has_roots: bool,
    /// What rules say of the methods whose calls are spans.
    spans: FxHashMap<u32, Arc<SpanRule>>,
    /// What switches the methods that can be switched.
    switched: FxHashMap<u32, Switches>,
    has_sampled: bool,
    collisions: Vec<Collision>,
}

/// An id that stands for two methods: their artifacts were woven apart, and neither weave knew of the other.
#[derive(Clone, Debug)]
pub struct Collision {
    pub id: u32,
    /// What [`Symbols::get`] says that it is.
    pub kept: Symbol,
    /// What another map says.
    pub other: Symbol,
}

/// Most collisions that are kept: a torn map could make any number.
const MAX_COLLISIONS: usize = 1000;

impl Symbols {
    /// Reads one map and adds it; where an id is known already, the first one stays.
    pub fn add(&mut self, bytes: &[u8]) -> Result<()> {
        let mut header = Cursor::new(bytes);
        if header.take(4)? != MAGIC {
            return Err(Error::malformed(0, "not a symbols map"));
        }
        let version = header.le_u16()?;
        if !(VERSION..=VERSION_WITH_OVERHEAD).contains(&version) {
            return Err(Error::new(
                Kind::Unsupported,
                format!(
                    "symbols map of version {version}; this weave reads {VERSION} to {VERSION_WITH_OVERHEAD}"
                ),
            ));
        }
        header.le_u16()?;
        let _methods = header.le_u32()?;
        let blocks = header.le_u32()?;
        let mut place = Place::default();
        let mut inflate = libdeflater::Decompressor::new();
        let mut payload = Vec::new();
        for _ in 0..blocks {
            let at = header.position();
            let raw_len = header.le_u32()? as usize;
            let crc = header.le_u32()?;
            let deflated_len = header.le_u32()? as usize;
            let deflated = header.take(deflated_len)?;
            if raw_len > MAX_BLOCK {
                return Err(Error::malformed(
                    at,
                    "symbols map claims an impossible size",
                ));
            }
            payload.resize(raw_len, 0);
            let inflated = inflate
                .deflate_decompress(deflated, &mut payload)
                .map_err(|e| Error::malformed(at, format!("symbols map does not inflate: {e}")))?;
            if inflated != raw_len || libdeflater::crc32(&payload) != crc {
                return Err(Error::malformed(at, "symbols map is damaged (CRC-32)"));
            }
            self.read_block(&payload, &mut place)?;
        }
        self.switch(place);
        Ok(())
    }

    fn read_block(&mut self, payload: &[u8], place: &mut Place) -> Result<()> {
        fn text<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str> {
            let at = cursor.position();
            let len = cursor.uleb32()? as usize;
            std::str::from_utf8(cursor.take(len)?)
                .map_err(|_| Error::malformed(at, "name in a symbols map is not UTF-8"))
        }
        let mut cursor = Cursor::new(payload);
        let mut last = Last::default();
        let mut expanded = String::new();
        while cursor.remaining() > 0 {
            let at = cursor.position();
            match cursor.u8()? {
                TAG_ARTIFACT => place.artifact = text(&mut cursor)?.into(),
                TAG_TYPE => {
                    place.ty = text(&mut cursor)?.into();
                    place.file = text(&mut cursor)?.into();
                }
                tag @ (TAG_NAMES | TAG_MORE_NAMES) => {
                    if tag == TAG_NAMES {
                        place.names.clear();
                        place.numbered = Numbered::default();
                    }
                    if place.names.size() + payload.len() > MAX_NAMES {
                        return Err(Error::malformed(at, "too many names in a symbols map"));
                    }
                    for _ in 0..cursor.uleb32()? {
                        let name = text(&mut cursor)?;
                        (place.names).add(|names| {
                            names.push_str(name);
                            Ok::<_, Error>(())
                        })?;
                    }
                }
                TAG_METHOD => {
                    last.id = last.id.wrapping_add(cursor.uleb32()?);
                    let method = text(&mut cursor)?.into();
                    let descriptor = text(&mut cursor)?.into();
                    let line = cursor.uleb32()?;
                    self.add_method(last.id, place, method, descriptor, line);
                }
                TAG_NUMBERED_NAME => {
                    last.name = last.name.wrapping_add(cursor.uleb32()?);
                    let name = text(&mut cursor)?;
                    (place.numbered)
                        .add_name(last.name, name)
                        .map_err(|what| Error::malformed(at, what))?;
                }
                TAG_NUMBERED_DESCRIPTOR => {
                    last.descriptor = last.descriptor.wrapping_add(cursor.uleb32()?);
                    let descriptor = text(&mut cursor)?;
                    expanded.clear();
                    (place.names)
                        .expand(descriptor, MAX_DESCRIPTOR, &mut expanded)
                        .ok_or("descriptor in a symbols map is too long, or refers to a name that is not there")
                        .and_then(|()| place.numbered.add_descriptor(last.descriptor, &expanded))
                        .map_err(|what| Error::malformed(at, what))?;
                }
                TAG_NUMBERED_METHODS => {
                    let first = last.id.wrapping_add(cursor.uleb32()?);
                    let count = cursor.uleb32()?;
                    for number in 0..count {
                        let at = cursor.position();
                        let (method, descriptor) = (place.numbered)
                            .method(cursor.uleb32()?, cursor.uleb32()?)
                            .map_err(|what| Error::malformed(at, what))?;
                        let line = cursor.uleb32()?;
                        last.id = first.wrapping_add(number);
                        self.add_method(last.id, place, method, descriptor, line);
                    }
                }
                TAG_VALUES => {
                    let id = cursor.uleb32()?;
                    let mut names = Vec::new();
                    for _ in 0..cursor.uleb32()? {
                        let name = text(&mut cursor)?;
                        self.values_size += name.len() + NUMBERED;
                        if names.len() > MAX_VALUES || self.values_size > MAX_NAMES {
                            return Err(Error::malformed(at, "too many values in a symbols map"));
                        }
                        names.push(name.into());
                    }
                    self.name_values(id, names.into());
                }
                TAG_ROOT => {
                    let id = cursor.uleb32()?;
                    if let Some(symbol) = self.by_id.get_mut(&id) {
                        symbol.root = true;
                        self.has_roots = true;
                    }
                }
                TAG_SPAN => {
                    let id = cursor.uleb32()?;
                    let kind = spans::Kind::of(cursor.uleb32()?).ok_or_else(|| {
                        Error::malformed(at, "unknown kind of spans in a symbols map")
                    })?;
                    let mut texts: [Box<str>; 5] = Default::default();
                    for one in &mut texts {
                        *one = text(&mut cursor)?.into();
                        self.values_size += one.len() + NUMBERED;
                    }
                    if self.values_size > MAX_NAMES {
                        return Err(Error::malformed(at, "too many spans in a symbols map"));
                    }
                    let [name, once, error, when, scope] = texts;
                    let rule = SpanRule {
                        kind,
                        name,
                        once,
                        error,
                        when,
                        scope,
                    };
                    self.spans.entry(id).or_insert_with(|| Arc::new(rule));
                }
                TAG_ASPECTS => {
                    place.aspects.clear();
                    for _ in 0..cursor.uleb32()? {
                        let said = cursor.uleb32()?;
                        let level = Level::of(said & 15).ok_or_else(|| {
                            Error::malformed(at, "unknown level in a symbols map")
                        })?;
                        let (mut auto, mut overhead, mut sample) = (None, None, None);
                        match said & !15 {
                            0 => {}
                            AUTO => auto = Some(cursor.uleb32()?),
                            AUTO_WITHIN => {
                                auto = Some(cursor.uleb32()?);
                                let part = cursor.uleb32()?;
                                if !(1..=MOST_OVERHEAD).contains(&part) {
                                    return Err(Error::malformed(
                                        at,
                                        "a symbols map lets a program pay an impossible part of its CPU",
                                    ));
                                }
                                overhead = Some(part);
                            }
                            flags @ (SAMPLED | SAMPLED_SECOND) => {
                                let calls = cursor.uleb32()?;
                                if !(1..=MOST_SAMPLED).contains(&calls) {
                                    return Err(Error::malformed(
                                        at,
                                        "a symbols map samples an impossible number of calls",
                                    ));
                                }
                                sample = Some(match flags {
                                    SAMPLED => Sampling::OneOf(calls),
                                    _ => Sampling::Second(calls),
                                });
                            }
                            _ => {
                                return Err(Error::malformed(
                                    at,
                                    "unknown flags of an aspect in a symbols map",
                                ));
                            }
                        }
                        let name = text(&mut cursor)?;
                        place.aspects_size += name.len() + NUMBERED;
                        if place.aspects_size > MAX_NAMES {
                            return Err(Error::malformed(at, "too many aspects in a symbols map"));
                        }
                        let name = name.into();
                        place.aspects.push(Arc::new(Switch {
                            name,
                            level,
                            auto,
                            overhead,
                            sample,
                        }));
                    }
                }
                TAG_SWITCHED => {
                    let first = last.id.wrapping_add(cursor.uleb32()?);
                    last.id = first.saturating_add(cursor.uleb32()?.saturating_sub(1));
                    let mut by = Vec::new();
                    for _ in 0..cursor.uleb32()? {
                        let switch = (place.aspects).get(cursor.uleb32()? as usize);
                        by.push(Arc::clone(switch.ok_or_else(|| {
                            Error::malformed(
                                at,
                                "a symbols map refers to an aspect that is not there",
                            )
                        })?));
                    }
                    let by = match place.switched.last() {
                        Some((_, _, same)) if **same == *by => Arc::clone(same),
                        _ => by.into(),
                    };
                    place.switched.push((first, last.id, by));
                }
                tag => {
                    return Err(Error::malformed(
                        at,
                        format!("unknown tag {tag} in a symbols map"),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Notes what switches the methods of a map. By its methods, not by what it says of ids: that may be any number.
    fn switch(&mut self, mut place: Place) {
        place.switched.sort_by_key(|(first, ..)| *first);
        for id in place.ids {
            let behind = place.switched.partition_point(|(first, ..)| *first <= id);
            if let Some((_, last, by)) = behind.checked_sub(1).map(|at| &place.switched[at])
                && *last >= id
            {
                self.has_sampled |= switches::sample(by).is_some();
                self.switched.entry(id).or_insert_with(|| Arc::clone(by));
            }
        }
    }

    /// Adds a method of a place, if its id is not known yet.
    fn add_method(
        &mut self,
        id: u32,
        place: &mut Place,
        method: Arc<str>,
        descriptor: Arc<str>,
        line: u32,
    ) {
        let symbol = Symbol {
            artifact: place.artifact.clone(),
            type_name: place.ty.clone(),
            method,
            descriptor,
            file: place.file.clone(),
            line,
            root: false,
        };
        place.ids.push(id);
        self.insert(id, symbol);
    }

    /// What the values of a method are called. Who says it again says more: the names that were there stay where they are.
    fn name_values(&mut self, id: u32, names: Arc<[Arc<str>]>) {
        let known = self.values.entry(id).or_insert_with(|| Arc::clone(&names));
        if names.len() > known.len() {
            *known = names;
        }
    }

    /// Adds all of another map; ids that are known already keep their names.
    pub fn merge(&mut self, other: Symbols) {
        self.has_roots |= other.has_roots;
        self.has_sampled |= other.has_sampled;
        for (id, symbol) in other.by_id {
            self.insert(id, symbol);
        }
        for (id, names) in other.values {
            self.name_values(id, names);
        }
        for (id, rule) in other.spans {
            self.spans.entry(id).or_insert(rule);
        }
        for (id, by) in other.switched {
            self.switched.entry(id).or_insert(by);
        }
        let room = MAX_COLLISIONS.saturating_sub(self.collisions.len());
        self.collisions
            .extend(other.collisions.into_iter().take(room));
    }

    /// Adds a method, if its id is not known yet.
    fn insert(&mut self, id: u32, symbol: Symbol) {
        match self.by_id.entry(id) {
            Entry::Vacant(entry) => drop(entry.insert(symbol)),
            Entry::Occupied(mut entry) => {
                let kept = entry.get_mut();
                kept.root |= symbol.root;
                if !kept.is_same_method(&symbol) && self.collisions.len() < MAX_COLLISIONS {
                    self.collisions.push(Collision {
                        id,
                        kept: kept.clone(),
                        other: symbol,
                    });
                }
            }
        }
    }

    /// The ids that stand for two methods, by id: of these, records show one name and may mean the other.
    pub fn collisions(&self) -> Vec<&Collision> {
        let mut collisions: Vec<&Collision> = self.collisions.iter().collect();
        collisions.sort_by_key(|c| c.id);
        // A map that is read twice says it twice.
        collisions.dedup_by(|a, b| a.id == b.id && a.other.is_same_method(&b.other));
        collisions
    }

    /// What an id stands for.
    pub fn get(&self, id: u32) -> Option<&Symbol> {
        self.by_id.get(&id)
    }

    /// The names of the values that a method records, in the order of their numbers.
    pub fn values(&self, id: u32) -> &[Arc<str>] {
        self.values.get(&id).map_or(&[], |names| names)
    }

    /// Whether a rule says of some method that its calls begin a trace.
    pub fn has_roots(&self) -> bool {
        self.has_roots
    }

    /// What a rule says of a method whose calls are spans.
    pub fn span(&self, id: u32) -> Option<&Arc<SpanRule>> {
        self.spans.get(&id)
    }

    /// Whether calls of some method are spans.
    pub fn has_spans(&self) -> bool {
        !self.spans.is_empty()
    }

    /// The aspects that switch a method; `None` if it cannot be switched.
    pub fn switched(&self, id: u32) -> Option<&Switches> {
        self.switched.get(&id)
    }

    /// Whether some method's calls are sampled.
    pub fn has_sampled(&self) -> bool {
        self.has_sampled
    }

    /// All aspects that switch methods, each with how many, by their names.
    pub fn switches(&self) -> Vec<(Arc<Switch>, u64)> {
        let mut all: BTreeMap<&Arc<Switch>, u64> = BTreeMap::new();
        for switch in self.switched.values().flat_map(|by| by.iter()) {
            *all.entry(switch).or_default() += 1;
        }
        let all = all.into_iter();
        all.map(|(switch, methods)| (Arc::clone(switch), methods))
            .collect()
    }

    /// A name to show for an id: the method's full name, or the bare id.
    pub fn name(&self, id: u32) -> String {
        match self.get(id) {
            Some(symbol) => symbol.name(),
            None => {
                let mut s = String::new();
                let _ = write!(s, "[{id:#010x}]");
                s
            }
        }
    }

    /// Number of ids known.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether no id is known.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Whether most methods are of the JVM or of dex, and not of .NET; `None` without any.
    pub fn are_of_jvm(&self) -> Option<bool> {
        let known = self
            .by_id
            .values()
            .filter_map(|symbol| parameters::of_jvm(&symbol.descriptor));
        let (jvm, all) = known.fold((0usize, 0usize), |(jvm, all), of| {
            (jvm + usize::from(of), all + 1)
        });
        (all > 0).then_some(2 * jvm >= all)
    }

    /// All ids with their symbols, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Symbol)> {
        self.by_id.iter().map(|(&id, symbol)| (id, symbol))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Vec<u8> {
        let mut w = Writer::default();
        w.artifact("app.jar");
        w.ty("com/acme/Outer$Inner", "Outer.java");
        w.method(7, "run", "([[ILjava/lang/String;Z)V", 12);
        w.method(9, "<init>", "()V", 0);
        w.finish()
    }

    #[test]
    fn written_maps_read_back() {
        let mut symbols = Symbols::default();
        symbols.add(&sample()).unwrap();
        let run = symbols.get(7).unwrap();
        assert_eq!(run.name(), "com.acme.Outer$Inner.run");
        assert_eq!(run.parameters(), "(int[][], String, boolean)");
        assert_eq!(
            (&*run.artifact, &*run.file, run.line),
            ("app.jar", "Outer.java", 12)
        );
        assert_eq!(symbols.get(9).unwrap().parameters(), "()");
        assert_eq!(symbols.name(1), "[0x00000001]");
        assert_eq!(symbols.len(), 2);
    }

    #[test]
    fn values_have_names() {
        let mut one = Writer::default();
        one.artifact("app.jar");
        one.ty("com/acme/Db", "Db.java");
        one.values(7, &["arg(0)", "result"]);
        one.method(7, "query", "(Ljava/lang/String;)I", 12);
        let mut whole = Writer::default();
        whole.append(&mut one);
        let mut carrying = Writer::default();
        carrying.append_map(&whole.finish());
        let map = carrying.finish();
        assert_eq!(map[4], 2, "a reader of version 1 refuses the map");
        let mut symbols = Symbols::default();
        symbols.add(&map).unwrap();
        let mut again = Writer::default();
        again.symbols(&symbols);
        let mut merged = Symbols::default();
        let mut copy = Symbols::default();
        copy.add(&again.finish()).unwrap();
        merged.merge(copy);
        let names: Vec<&str> = merged.values(7).iter().map(|name| &**name).collect();
        assert_eq!(names, ["arg(0)", "result"]);
        assert!(merged.values(8).is_empty());
        assert_eq!(sample()[4], 1, "without values nothing changes");
    }

    #[test]
    fn roots_are_told_and_kept() {
        let mut one = Writer::default();
        one.ty("com/acme/Db", "Db.java");
        one.method(7, "query", "()I", 12);
        one.method(8, "close", "()V", 14);
        one.root(7);
        let mut carrying = Writer::default();
        carrying.append(&mut one);
        let mut whole = Writer::default();
        whole.append_map(&carrying.finish());
        let map = whole.finish();
        assert_eq!(map[4], 3, "readers of earlier versions refuse the map");
        let mut symbols = Symbols::default();
        symbols.add(&map).unwrap();
        let mut again = Writer::default();
        again.symbols(&symbols);
        let (mut copy, mut merged) = (Symbols::default(), Symbols::default());
        copy.add(&again.finish()).unwrap();
        merged.add(&sample()).unwrap();
        assert!(!merged.has_roots());
        merged.merge(copy);
        assert!(merged.has_roots());
        let is_root = |id| merged.get(id).unwrap().root;
        assert_eq!((is_root(8), is_root(9)), (false, false));
        assert!(symbols.get(7).unwrap().root);
        // Of a method that no map names.
        let mut stray = Writer::default();
        stray.root(5);
        let mut symbols = Symbols::default();
        symbols.add(&stray.finish()).unwrap();
        assert!(!symbols.has_roots());
    }

    #[test]
    fn what_switches_methods_is_told_and_kept() {
        let switch = |name: &str, level, auto, sample| {
            Arc::new(Switch {
                name: name.into(),
                level,
                auto,
                overhead: None,
                sample,
            })
        };
        let sql = switch("sql", Level::Info, None, Some(Sampling::OneOf(100)));
        let noise = switch("noise", Level::Debug, Some(1_000), None);
        let web = switch("web", Level::Info, None, Some(Sampling::Second(10)));
        let (one, both): (Switches, Switches) = (
            [Arc::clone(&sql)].into(),
            [Arc::clone(&noise), Arc::clone(&sql), Arc::clone(&web)].into(),
        );
        let map = |first: u32| {
            let mut w = Writer::default();
            w.artifact("app.jar");
            w.ty("com/acme/Db", "Db.java");
            for id in first..first + 4 {
                w.method(id, "query", "()I", 12);
            }
            w.switched(first + 1, &one);
            w.switched(first, &one);
            w.switched(first + 3, &both);
            w
        };
        let mut whole = map(7);
        whole.append(&mut map(100));
        whole.append_map(&map(200).finish());
        let bytes = whole.finish();
        assert_eq!(bytes[4], 4, "readers of earlier versions refuse the map");
        let mut symbols = Symbols::default();
        symbols.add(&bytes).unwrap();
        let mut again = Writer::default();
        again.symbols(&symbols);
        let mut merged = Symbols::default();
        merged.add(&again.finish()).unwrap();
        let mut copy = Symbols::default();
        copy.merge(merged);
        for symbols in [&symbols, &copy] {
            for first in [7u32, 100, 200] {
                let by = |id| symbols.switched(first + id).map(|by| &**by);
                assert_eq!([by(0), by(1)], [Some(&*one), Some(&*one)]);
                assert_eq!([by(2), by(3)], [None, Some(&*both)]);
            }
            let all = symbols.switches();
            let expected = [(&noise, 3), (&sql, 9), (&web, 3)];
            assert_eq!(all, expected.map(|(switch, n)| (Arc::clone(switch), n)));
        }
        assert_eq!(sample()[4], 1, "without switches nothing changes");
    }

    #[test]
    fn what_a_program_may_pay_is_told_and_kept() {
        let by: Switches = [Arc::new(Switch {
            name: "all".into(),
            level: Level::Info,
            auto: Some(1_000),
            overhead: Some(50),
            sample: None,
        })]
        .into();
        let mut map = Writer::default();
        map.method(1, "f", "()V", 1);
        map.switched(1, &by);
        let bytes = map.finish();
        assert_eq!(bytes[4], 6, "readers of earlier versions refuse the map");
        let mut symbols = Symbols::default();
        symbols.add(&bytes).unwrap();
        assert_eq!(symbols.switched(1).map(|by| by[0].overhead), Some(Some(50)));
        for part in [0, MOST_OVERHEAD + 1] {
            let mut payload = vec![TAG_ASPECTS, 1];
            for number in [AUTO_WITHIN, 1_000, part, 0] {
                put_uleb32(&mut payload, number);
            }
            let mut map = Writer::default();
            map.needs(VERSION_WITH_OVERHEAD);
            map.blocks.push(store(&payload));
            map.block_count += 1;
            let refused = Symbols::default().add(&map.finish()).unwrap_err();
            assert!(refused.to_string().contains("impossible part"), "{refused}");
        }
    }

    #[test]
    fn an_aspect_that_says_what_cannot_be_is_refused() {
        for (flags, number, said) in [
            (3, 1, "unknown level"),
            (SAMPLED | AUTO, 1, "unknown flags"),
            (SECOND, 1, "unknown flags"),
            (OVERHEAD, 1, "unknown flags"),
            (OVERHEAD | SAMPLED, 1, "unknown flags"),
            (OVERHEAD << 1, 1, "unknown flags"),
            (SAMPLED, 0, "an impossible number of calls"),
            (SAMPLED_SECOND, 1 << 24, "an impossible number of calls"),
        ] {
            let mut payload = vec![TAG_ASPECTS, 1];
            put_uleb32(&mut payload, flags);
            put_uleb32(&mut payload, number);
            payload.extend([1, b'x']);
            let mut w = Writer::default();
            w.blocks.push(store(&payload));
            w.block_count += 1;
            w.needs(VERSION_WITH_SWITCHES);
            let error = Symbols::default().add(&w.finish()).unwrap_err();
            assert!(error.to_string().contains(said), "{flags}: {error}");
        }
    }

    #[test]
    fn a_row_of_all_ids_switches_the_methods_that_there_are() {
        let mut payload = vec![TAG_ASPECTS, 1, 2, 1, b'x'];
        for _ in 0..100_000 {
            payload.extend([TAG_SWITCHED, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0]);
        }
        let mut w = Writer::default();
        w.method(7, "run", "()V", 0);
        w.pack();
        w.blocks.push(store(&payload));
        w.block_count += 1;
        w.needs(VERSION_WITH_SWITCHES);
        let mut symbols = Symbols::default();
        symbols.add(&w.finish()).unwrap();
        assert_eq!(symbols.switched(7).unwrap()[0].level, Level::Debug);
        assert!(symbols.switched(8).is_none());
    }

    #[test]
    fn hostile_lists_of_values_take_no_memory_out_of_proportion() {
        let mut map = Writer::default();
        map.values(7, &vec![""; MAX_VALUES + 2]);
        let error = Symbols::default().add(&map.finish()).unwrap_err();
        assert!(error.to_string().contains("too many values"), "{error}");
    }

    #[test]
    fn ids_that_stand_for_two_methods_are_seen() {
        let map = |artifact: &str, ty: &str| {
            let mut w = Writer::default();
            w.artifact(artifact);
            w.ty(ty, "");
            w.method(7, "run", "(I)V", 12);
            w.finish()
        };
        let mut symbols = Symbols::default();
        symbols.add(&map("a.jar", "com/acme/A")).unwrap();
        // The same method in another jar is no other method.
        symbols.add(&map("b.jar", "com/acme/A")).unwrap();
        assert!(symbols.collisions().is_empty());
        symbols.add(&map("b.jar", "com/acme/B")).unwrap();
        symbols.add(&map("b.jar", "com/acme/B")).unwrap();
        let mut merged = Symbols::default();
        merged.add(&map("a.jar", "com/acme/A")).unwrap();
        merged.merge(symbols);
        let [one] = merged.collisions()[..] else {
            panic!("a collision is reported once");
        };
        assert_eq!(one.id, 7);
        assert_eq!(one.kept.full_name(), "com.acme.A.run(int) in a.jar");
        assert_eq!(one.other.full_name(), "com.acme.B.run(int) in b.jar");
    }

    #[test]
    fn names_may_take_several_blocks() {
        let mut names = Names::default();
        for number in 0..40_000 {
            let put = |text: &mut String| write!(text, "Acme.Orders.Type{number}");
            names.add(put).unwrap();
        }
        let last = names.iter().len() as u32 - 1;
        let mut w = Writer::default();
        w.names(&names);
        w.numbered_name(0, "Make");
        for (id, number) in [(1, 0), (2, last / 2), (3, last)] {
            let mut descriptor = "()".to_owned();
            Names::refer(number, &mut descriptor);
            w.numbered_descriptor(number, &descriptor);
            w.numbered_methods(id, [[0, number, 0]].into_iter());
        }
        let map = w.finish();
        let blocks = u32::from_le_bytes(map[12..16].try_into().unwrap());
        assert!(blocks > 3, "{blocks}");
        let mut symbols = Symbols::default();
        symbols.add(&map).unwrap();
        let descriptor = |id| symbols.get(id).unwrap().descriptor.to_string();
        assert_eq!(descriptor(1), "()Acme.Orders.Type0");
        assert_eq!(descriptor(2), format!("()Acme.Orders.Type{}", last / 2));
        assert_eq!(descriptor(3), format!("()Acme.Orders.Type{last}"));
    }

    #[test]
    fn names_out_of_proportion_are_refused() {
        // A few kilobytes with millions of names.
        let many = 4_000_000u32;
        let mut w = Writer::default();
        for _ in 0..8 {
            w.payload.push(TAG_MORE_NAMES);
            put_uleb32(&mut w.payload, many);
            w.payload.resize(w.payload.len() + many as usize, 0);
            w.pack();
        }
        let map = w.finish();
        assert!(map.len() < 100_000, "{}", map.len());
        let e = Symbols::default().add(&map).unwrap_err();
        assert!(e.to_string().contains("too many names"), "{e}");
    }

    #[test]
    fn descriptors_refer_to_the_last_names() {
        let names = |list: &[&str]| {
            let mut names = Names::default();
            for name in list {
                let put = |text: &mut String| {
                    text.push_str(name);
                    Ok::<_, ()>(())
                };
                names.add(put).unwrap();
            }
            names
        };
        let text = |parts: [&str; 2], number| {
            let mut text = parts[0].to_owned();
            Names::refer(number, &mut text);
            text + parts[1]
        };
        let mut w = Writer::default();
        w.artifact("app.dll");
        w.ty("Acme.Orders", "Orders.cs");
        w.names(&names(&["System.Int32", "Acme.Order"]));
        w.numbered_name(70, "Count");
        w.numbered_name(900, "Place");
        w.numbered_descriptor(8, &text(["(", ", !0)System.Void"], 1));
        w.numbered_descriptor(300, &text(["()", ""], 0));
        w.numbered_methods(11, [[900, 8, 5], [70, 300, 0]].into_iter());
        w.method(3, "Odd", &text(["()", ""], 0), 1);
        w.pack();
        // What refers may lie in another block than what it refers to.
        w.numbered_methods(4, [[900, 8, 1]].into_iter());
        w.names(&names(&["System.String"]));
        w.numbered_name(900, "ToString");
        w.numbered_descriptor(300, &text(["()", ""], 0));
        w.numbered_methods(5, [[900, 300, 1]].into_iter());
        let read = |w: Writer| {
            let mut symbols = Symbols::default();
            symbols.add(&w.finish()).map(|()| symbols)
        };
        let symbols = read(w).unwrap();
        let told = |id| {
            let symbol = symbols.get(id).unwrap();
            format!("{}{} {}", symbol.method, symbol.descriptor, symbol.line)
        };
        assert_eq!(symbols.len(), 5);
        assert_eq!(told(11), "Place(Acme.Order, !0)System.Void 5");
        assert_eq!(told(12), "Count()System.Int32 0");
        assert_eq!(told(3), "Odd()\u{1}@ 1");
        assert_eq!(told(4), "Place(Acme.Order, !0)System.Void 1");
        assert_eq!(told(5), "ToString()System.String 1");

        let refused = |put: &dyn Fn(&mut Writer)| {
            let mut w = Writer::default();
            w.numbered_name(2, "b");
            w.names(&names(&["A"]));
            w.numbered_name(1, "a");
            w.numbered_descriptor(1, "()");
            put(&mut w);
            read(w).unwrap_err().to_string()
        };
        let e = refused(&|w| w.numbered_descriptor(2, &text(["()", ""], 1)));
        assert!(e.contains("refers to a name that is not there"), "{e}");
        // Names are those behind the last names.
        for numbers in [[2, 1, 0], [1, 2, 0]] {
            let e = refused(&|w| w.numbered_methods(1, [numbers].into_iter()));
            assert!(e.contains("refers to a name that is not there"), "{e}");
        }
    }

    #[test]
    fn texts_that_methods_share_are_there_once_and_within_bounds() {
        let read = |w: Writer| {
            let mut symbols = Symbols::default();
            symbols.add(&w.finish()).map(|()| symbols)
        };
        let mut names = Names::default();
        let long = "n".repeat(100_000);
        let put = |text: &mut String| {
            text.push_str(&long);
            Ok::<_, ()>(())
        };
        names.add(put).unwrap();
        let mut w = Writer::default();
        w.names(&names);
        w.numbered_name(0, "m");
        for number in 0..1000 {
            let mut descriptor = number.to_string();
            Names::refer(0, &mut descriptor);
            w.numbered_descriptor(number, &descriptor);
        }
        // More than an entry takes.
        let methods = (0..40_000).map(|id| [0, id % 1000, 0]);
        w.numbered_methods(7, methods.collect::<Vec<_>>().into_iter());
        let symbols = read(w).unwrap();
        assert_eq!(symbols.len(), 40_000);
        let descriptor = |id: u32| &symbols.get(7 + id).unwrap().descriptor;
        assert_eq!(descriptor(1).len(), long.len() + 1);
        assert!(Arc::ptr_eq(descriptor(1), descriptor(39_001)));
        assert_eq!(&**descriptor(999), "?");
        let method = |id: u32| &symbols.get(7 + id).unwrap().method;
        assert!(Arc::ptr_eq(method(1), method(39_001)));

        // Short in a map, and many.
        let many = |count, put: fn(&mut Writer, u32)| {
            let mut w = Writer::default();
            for number in 0..count {
                put(&mut w, number);
            }
            read(w).unwrap_err().to_string()
        };
        let e = many(2_200_000, |w, number| w.numbered_name(number, ""));
        assert!(e.contains("too many names"), "{e}");
        let e = many(4_400_000, |w, number| w.numbered_descriptor(number, ""));
        assert!(e.contains("too many descriptors"), "{e}");
    }

    #[test]
    fn maps_join_and_sort() {
        let mut earlier = Symbols::default();
        earlier.add(&sample()).unwrap();
        let mut fresh = Writer::default();
        fresh.artifact("b.jar");
        fresh.ty("B", "");
        fresh.method(1, "b", "()V", 3);
        let mut all = Writer::default();
        all.append(&mut fresh);
        all.symbols(&earlier);
        let mut read = Symbols::default();
        read.add(&all.finish()).unwrap();
        assert_eq!(read.len(), 3);
        assert_eq!(&*read.get(1).unwrap().artifact, "b.jar");
        assert_eq!(read.get(7), earlier.get(7));
        assert_eq!(read.get(9), earlier.get(9));
    }

    #[test]
    fn blocks_share_the_type_they_were_cut_in() {
        let mut w = Writer::default();
        w.artifact("large.jar");
        w.ty("T", "T.java");
        let name = "m".repeat(60_000);
        for id in 1..=40 {
            w.method(id, &name, "()V", id);
        }
        assert!(w.waiting() > 1);
        let mut more = Writer::default();
        more.artifact("b.jar");
        more.ty("U", "");
        more.method(99, "n", "()V", 0);
        w.append(&mut more);
        let all = w.finish();
        let mut again = Writer::default();
        again.append_map(&all);
        assert_eq!(again.finish(), all);
        let mut symbols = Symbols::default();
        symbols.add(&all).unwrap();
        assert_eq!(symbols.len(), 41);
        assert!((1..=40).all(|id| &*symbols.get(id).unwrap().type_name == "T"));
        assert_eq!(symbols.get(99).unwrap().name(), "U.n");
    }

    #[test]
    fn a_lying_size_is_refused_before_it_is_allocated() {
        let mut bytes = sample();
        bytes[16..20].copy_from_slice(&(MAX_BLOCK as u32 + 1).to_le_bytes());
        let e = Symbols::default().add(&bytes).unwrap_err();
        assert_eq!(
            e.to_string(),
            "symbols map claims an impossible size (at byte 0x10)"
        );
    }

    proptest! {
        #[test]
        fn damaged_maps_give_errors(at in 0usize..80, value: u8) {
            let mut bytes = sample();
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = Symbols::default().add(&bytes);
            let _ = Symbols::default().add(&bytes[..at]);
        }

        #[test]
        fn any_payload_gives_a_result(payload: Vec<u8>) {
            let _ = Symbols::default().read_block(&payload, &mut Place::default());
        }
    }
}
