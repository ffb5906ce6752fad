//! Opens a trace: checks its header, indexes its chunks into threads and segments, puts its
//! symbols together.

use super::aggregates::{Aggregate, Entry};
use super::control::{self, Change};
use super::format::{
    CHUNK, CHUNK_AGGREGATES, CHUNK_CONTROL, CHUNK_COUNTS, CHUNK_HEADER, CHUNK_MAGIC, CHUNK_RECORDS,
    CHUNK_SYMBOLS, ChunkHeader, Decoder, Escape, FLAG_ORDERLY, FREE_MAGIC, HEADER_USED, Header,
    Record, SpanContext, THREAD_OWN,
};
use super::metrics::{CpuTime, MAX_READINGS, Reading, readings};
use super::notes::Notes;
use super::regular;
use super::units::counted;
use crate::error::{Error, Result};
use crate::symbols::Symbols;
use memmap2::Mmap;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{Ordering, fence};

/// Bytes of a thread's name that are kept.
pub(super) const NAME: usize = 200;

/// Ending of the names of packed traces.
pub const PACKED: &str = ".zst";
/// Longest that a packed trace is unpacked.
const UNPACKED: u64 = 64 << 30;

/// A trace, open for reading.
pub struct Trace {
    name: String,
    parts: Vec<Part>,
    /// Its process may still write it: what is read has to be compared.
    live: bool,
    /// Of a live trace, each chunk's serial number.
    serials: Vec<u64>,
    header: Header,
    symbols: Symbols,
    segments: Vec<Segment>,
    threads: Vec<Thread>,
    names: FxHashMap<u32, ThreadName>,
    readings: Vec<Reading>,
    cpu: Vec<CpuTime>,
    counts: Counts,
    aggregates: Aggregates,
    changes: Vec<Change>,
    records: u64,
    logical: bool,
    values: bool,
    last: u64,
    notes: Notes,
}

/// How often methods were called that are only counted, as far as the trace was brought up to date.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// When the process began to count; with process id and origin this identifies the counts.
    pub begun: u64,
    /// By id.
    pub calls: FxHashMap<u32, u64>,
}

impl Counts {
    /// Takes what a chunk says; whether that is news. Counts only grow: of several copies of a chunk the highest are the last.
    pub(super) fn update(&mut self, header: &ChunkHeader, data: &[u8]) -> bool {
        if header.owner == 0 {
            self.begun = header.start;
        }
        let mut news = false;
        for pair in data.as_chunks::<16>().0 {
            let word = |at: usize| u64::from_le_bytes(pair[at..at + 8].try_into().expect("a word"));
            let Ok(id) = u32::try_from(word(0)) else {
                continue;
            };
            if id == 0 {
                break;
            }
            let calls = self.calls.entry(id).or_default();
            news |= word(8) > *calls;
            *calls = word(8).max(*calls);
        }
        news
    }
}

/// What methods add up to that the process sums up itself, as far as the trace was brought up to date.
#[derive(Clone, Debug, Default)]
pub struct Aggregates {
    /// As [`Counts::begun`].
    pub begun: u64,
    /// By id.
    pub sums: FxHashMap<u32, Aggregate>,
}

impl Aggregates {
    /// Takes what a chunk says; whether that is news. Sums only grow. One that has outgrown its place has another.
    pub(super) fn update(&mut self, header: &ChunkHeader, data: &[u8]) -> bool {
        if header.owner == 0 {
            self.begun = header.start;
        }
        let mut news = false;
        let mut words = data.as_chunks::<8>().0;
        while let Some(Entry {
            id,
            sum,
            words: taken,
        }) = Aggregate::read(words)
        {
            news |= !self.sums.entry(id).or_default().grow(&sum).is_nothing();
            words = &words[taken..];
        }
        news
    }
}

/// One file of a trace. Chunks are numbered through all of them.
struct Part {
    first: u32,
    data: Data,
}

enum Data {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl std::ops::Deref for Data {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Data::Mapped(map) => map,
            Data::Owned(bytes) => bytes,
        }
    }
}

/// Records of one thread that lie together. Small: a trace of virtual threads has millions.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    thread: u32,
    number: u32,
    start: u64,
    chunk: u32,
    from: u16,
    words: u16,
}

impl Segment {
    /// Which one of its thread it is.
    pub fn number(&self) -> u32 {
        self.number
    }
}

/// A logical thread of a trace.
#[derive(Clone, Debug)]
pub struct Thread {
    pub number: u32,
    /// How many segment numbers are missing.
    pub missing: u64,
    first: usize,
    count: usize,
}

/// What a THREAD escape says.
#[derive(Clone, Debug, Default)]
pub struct ThreadName {
    /// The thread's name.
    pub name: String,
    /// [`THREAD_VIRTUAL`](super::format::THREAD_VIRTUAL) and others.
    pub flags: u32,
}

/// A symbols map on its way: its parts by number, each a chunk and how much of it.
#[derive(Default)]
struct Parts {
    whole: u64,
    parts: BTreeMap<u32, (u32, usize)>,
}

/// Where a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SegmentPlace {
    /// When it starts.
    pub start: u64,
    /// Its thread's place among [`threads`](Trace::threads).
    pub thread: usize,
    /// Its own among the thread's [`segments`](Trace::segments).
    pub at: usize,
}

impl Trace {
    /// Maps and indexes a file.
    pub fn open(path: &Path) -> Result<Trace> {
        Trace::open_parts(&[path])
    }

    /// Maps and indexes the parts of a collected trace, in their order.
    pub fn open_parts(paths: &[&Path]) -> Result<Trace> {
        let name = match paths {
            [one] => one.display().to_string(),
            [first, .., last] => format!("{} to {}", first.display(), last.display()),
            [] => return Err(Error::usage("no trace")),
        };
        let data = (paths.iter())
            .map(|path| map(path))
            .collect::<Result<Vec<_>>>()?;
        Trace::index(name, data)
    }

    /// Indexes a trace in memory.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Trace> {
        Trace::index(name.to_owned(), vec![Data::Owned(bytes)])
    }

    fn index(name: String, data: Vec<Data>) -> Result<Trace> {
        let headers = data.iter().map(|data| Header::read(data));
        let headers = headers.collect::<Result<Vec<_>>>();
        let mut headers = headers.map_err(|e| e.in_artifact(name.as_str()))?;
        let mut index = Index::default();
        index.missing_parts(&headers);
        // The last part was written last, and its header knows most.
        let header = headers.pop().expect("a trace has a file");
        let mut parts = Vec::new();
        let mut first = 0u32;
        for data in data {
            let chunks = data.len().div_ceil(CHUNK) as u32;
            parts.push(Part { first, data });
            first += chunks;
        }
        let live = header.flags & FLAG_ORDERLY == 0
            && header.part == 0
            && matches!(parts[0].data, Data::Mapped(_));
        let serials = index.parts(&parts, live);
        let symbols = index.symbols(&parts);
        if header.collected > 0 && header.part == 0 {
            index.notes.add_loss(|| {
                let chunks = counted(header.collected, "chunk");
                format!("{chunks} were collected: those of `weave collect` are in its folder, those of `weave export --follow` were sent")
            });
        }
        let mut segments = index.segments;
        // Equal numbers do not occur in a sound trace; then the order of the file decides.
        segments.sort_unstable_by_key(|s| (s.thread, s.number, s.chunk, s.from));
        let threads = threads(&segments, &mut index.notes);
        if header.part <= 1 {
            for note in &header.notes {
                index.notes.add(|| note.clone());
            }
        }
        let mut readings = index.readings;
        readings.sort_by_key(|r| r.time);
        if index.readings_left_out > 0 {
            let left_out = index.readings_left_out;
            index.notes.add(|| {
                let readings = counted(left_out, "reading");
                format!("{readings} of the process left out: too many")
            });
        }
        Ok(Trace {
            name,
            parts,
            live,
            serials,
            header,
            symbols,
            segments,
            threads,
            names: index.names,
            readings,
            cpu: index.cpu,
            counts: index.counts,
            aggregates: index.aggregates,
            changes: index.changes.into_values().flatten().collect(),
            records: index.records,
            logical: index.logical,
            values: index.values,
            last: index.last,
            notes: index.notes,
        })
    }

    /// The file's name, as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Chunk 0.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What the ids stand for.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Adds a map for ids that the trace itself does not explain.
    pub fn add_symbols(&mut self, map: &[u8]) -> Result<()> {
        self.symbols.add(map)
    }

    /// Enter, exit and error records in the file, and begins and ends of logical calls.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// What the process used, in the order of time.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// CPU time of threads, in no order.
    pub fn cpu(&self) -> &[CpuTime] {
        &self.cpu
    }

    /// The methods that were only counted.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The methods that the process has summed up itself.
    pub fn aggregates(&self) -> &Aggregates {
        &self.aggregates
    }

    /// What was switched while the program ran, in the order of time. The first is what it began with; none if nothing could
    /// be switched.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Whether there are logical calls.
    pub fn has_logical_calls(&self) -> bool {
        self.logical
    }

    /// Whether calls have values.
    pub fn has_values(&self) -> bool {
        self.values
    }

    /// When the trace ended: the orderly end, else the last record.
    pub fn end(&self) -> u64 {
        self.header.end.max(self.last)
    }

    /// What was skipped or is missing.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Adds a remark.
    pub fn note(&mut self, what: String) {
        self.notes.add(|| what);
    }

    /// All threads, by number.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// The name and kind of a thread, if it was recorded.
    pub fn thread_name(&self, number: u32) -> Option<&ThreadName> {
        self.names.get(&number)
    }

    /// A thread's segments in their order.
    pub fn segments(&self, thread: &Thread) -> &[Segment] {
        &self.segments[thread.first..thread.first + thread.count]
    }

    /// All segments in the order of time. Of a thread they keep their order whatever a damaged trace says.
    pub fn in_order(&self) -> Vec<SegmentPlace> {
        let mut order = Vec::with_capacity(self.segments.len());
        for (number, thread) in self.threads.iter().enumerate() {
            let mut start = 0;
            for (at, segment) in self.segments(thread).iter().enumerate() {
                start = segment.start.max(start);
                order.push(SegmentPlace {
                    start,
                    thread: number,
                    at,
                });
            }
        }
        order.sort_unstable();
        order
    }

    /// Calls `each` with every span that has an id, and with its method's number.
    pub fn each_span(&self, mut each: impl FnMut(u32, SpanContext)) {
        let mut copy = Vec::new();
        for thread in self.threads() {
            for segment in self.segments(thread) {
                let Some(mut records) = self.decode(segment, &mut copy) else {
                    continue;
                };
                loop {
                    records.skip_calls();
                    match records.next() {
                        Some(Record::Escape(Escape::Span { id, span })) => each(id, span),
                        Some(_) => {}
                        None => break,
                    }
                }
            }
        }
    }

    /// The records of a segment; none if its process has overwritten them by now. `copy` is room for them.
    #[inline]
    pub fn decode<'a>(&'a self, segment: &Segment, copy: &'a mut Vec<u8>) -> Option<Decoder<'a>> {
        let (chunk, from) = (self.chunk(segment.chunk), segment.from as usize * 8);
        let mut words = &chunk[from..from + segment.words as usize * 8];
        if self.live {
            let before = copy_whole(chunk, words, copy)?;
            if before != self.serials[segment.chunk as usize] {
                return None;
            }
            words = copy;
        }
        Some(Decoder::new(words, segment.start))
    }

    fn chunk(&self, number: u32) -> &[u8] {
        let part = self.parts.partition_point(|p| p.first <= number) - 1;
        let part = &self.parts[part];
        let from = (number - part.first) as usize * CHUNK;
        &part.data[from..part.data.len().min(from + CHUNK)]
    }
}

/// Maps a file, one that is packed after it was unpacked to a file without a name.
fn map(path: &Path) -> Result<Data> {
    let failed = |e| Error::io("read", path, e);
    let mut file = regular::open(path).map_err(failed)?;
    if is_packed(path) {
        file = unpack(file, UNPACKED).map_err(failed)?;
    }
    if file.metadata().map_err(failed)?.len() == 0 {
        return Ok(Data::Owned(Vec::new()));
    }
    // SAFETY: the map is only read. The process that records may write to the file at the
    // same time; every word is checked where it is used, never trusted from an earlier read.
    let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::io("map", path, e))?;
    Ok(Data::Mapped(map))
}

/// Whether a file is packed, by its name.
pub fn is_packed(path: &Path) -> bool {
    path.as_os_str()
        .as_encoded_bytes()
        .ends_with(PACKED.as_bytes())
}

/// Unpacks as much as there is: a file that is cut off yields what is whole.
fn unpack(file: File, most: u64) -> io::Result<File> {
    let mut from = zstd::stream::read::Decoder::new(file)?;
    let mut to = tempfile::tempfile()?;
    let mut buffer = vec![0; CHUNK];
    let mut written = 0;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(to),
            Ok(n) => {
                written += n as u64;
                if written > most {
                    let what = format!("it unpacks to more than {most} bytes");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
                to.write_all(&buffer[..n])?;
            }
            Err(_) if written > 0 => return Ok(to),
            Err(e) => return Err(e),
        }
    }
}

/// The header of a trace, packed or not.
pub fn peek(path: &Path) -> Result<Header> {
    let failed = |e| Error::io("read", path, e);
    let file = regular::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    if is_packed(path) {
        let from = zstd::stream::read::Decoder::new(file).map_err(failed)?;
        from.take(HEADER_USED as u64).read_to_end(&mut bytes)
    } else {
        file.take(HEADER_USED as u64).read_to_end(&mut bytes)
    }
    .map_err(failed)?;
    Header::read(&bytes).map_err(|e| e.in_artifact(path.display().to_string()))
}

fn serial(chunk: &[u8]) -> u64 {
    match chunk.get(8..16) {
        Some(bytes) => u64::from_le_bytes(bytes.try_into().expect("eight bytes")),
        None => 0,
    }
}

/// Copies words of a chunk that its process may overwrite at any time; returns the chunk's serial number
/// if the words are of one time. The process clears magic and serial number before the rest.
pub(super) fn copy_whole(chunk: &[u8], words: &[u8], copy: &mut Vec<u8>) -> Option<u64> {
    let head = |chunk: &[u8]| -> (u64, bool) {
        let chunk = std::hint::black_box(chunk);
        (serial(chunk), chunk.starts_with(&CHUNK_MAGIC))
    };
    // A chunk that has just been taken is whole the next time.
    for _ in 0..3 {
        let before = head(chunk);
        fence(Ordering::Acquire);
        copy.clear();
        copy.extend_from_slice(std::hint::black_box(words));
        fence(Ordering::Acquire);
        if head(chunk) == before {
            return Some(before.0);
        }
    }
    None
}

/// Chunks with a newer copy in a later part: a collector copies unfinished chunks when it sees no writer.
fn copied_again(parts: &[Part]) -> FxHashSet<u32> {
    let mut again = FxHashSet::default();
    if parts.len() < 2 {
        return again;
    }
    let mut seen = FxHashMap::default();
    for part in parts {
        for (number, chunk) in part.data.chunks(CHUNK).enumerate().skip(1) {
            let number = part.first + number as u32;
            match ChunkHeader::read(chunk) {
                Ok(header) if chunk.starts_with(&CHUNK_MAGIC) && header.serial != 0 => {
                    again.extend(seen.insert(header.serial, number));
                }
                _ => {}
            }
        }
    }
    again
}

/// Groups sorted segments by thread and counts the numbers that are missing.
fn threads(segments: &[Segment], notes: &mut Notes) -> Vec<Thread> {
    let mut threads = Vec::new();
    let mut first = 0;
    for group in segments.chunk_by(|a, b| a.thread == b.thread) {
        let number = group[0].thread;
        let mut missing = u64::from(group[0].number);
        for pair in group.windows(2) {
            match pair[1].number - pair[0].number {
                0 => notes.add(|| format!("thread {number} has segment {} twice", pair[0].number)),
                step => missing += u64::from(step) - 1,
            }
        }
        threads.push(Thread {
            number,
            missing,
            first,
            count: group.len(),
        });
        first += group.len();
    }
    threads
}

/// What the first pass over the chunks gathers.
#[derive(Default)]
struct Index {
    segments: Vec<Segment>,
    names: FxHashMap<u32, ThreadName>,
    maps: BTreeMap<u32, Parts>,
    readings: Vec<Reading>,
    cpu: Vec<CpuTime>,
    readings_left_out: u64,
    counts: Counts,
    aggregates: Aggregates,
    /// By the numbers of their chunks.
    changes: BTreeMap<u32, Vec<Change>>,
    records: u64,
    logical: bool,
    values: bool,
    last: u64,
    /// Skipped records by type.
    unknown: BTreeMap<u8, u64>,
    notes: Notes,
}

impl Index {
    /// Parts of a collected trace are numbered from 1 on.
    fn missing_parts(&mut self, headers: &[Header]) {
        let mut next = 1;
        for header in headers.iter().filter(|h| h.part > 0) {
            if header.part > next {
                let (from, to) = (next, header.part - 1);
                self.notes.add_loss(|| {
                    format!("of the collected trace, parts {from} to {to} are not here")
                });
            }
            next = header.part.saturating_add(1);
        }
    }

    /// Adds all chunks. Those of a `live` trace change meanwhile: returns the serial number that each had.
    fn parts(&mut self, parts: &[Part], live: bool) -> Vec<u64> {
        let again = copied_again(parts);
        let mut serials = Vec::new();
        let mut copy = Vec::new();
        for part in parts {
            for (number, chunk) in part.data.chunks(CHUNK).enumerate().skip(1) {
                let number = part.first + number as u32;
                if again.contains(&number) {
                    continue;
                }
                if !live {
                    self.chunk(number, chunk);
                    continue;
                }
                serials.resize(number as usize + 1, 0);
                if copy_whole(chunk, chunk, &mut copy).is_some() {
                    serials[number as usize] = serial(&copy);
                    self.chunk(number, &copy);
                }
            }
            if part.data.len() < CHUNK {
                (self.notes).add_loss(|| "the file is cut off in its header".to_owned());
            }
        }
        for (ty, count) in &self.unknown {
            self.notes.add_loss(|| {
                let records = counted(*count, "record");
                format!("{records} of type {ty} skipped: unknown to this version, or damaged")
            });
        }
        serials
    }

    fn chunk(&mut self, number: u32, chunk: &[u8]) {
        let offset = number as usize * CHUNK;
        let magic = &chunk[..chunk.len().min(4)];
        if magic.iter().all(|&b| b == 0) {
            // Reserved and never used, or taken in the very moment of the end.
            if chunk.iter().take(CHUNK_HEADER).any(|&b| b != 0) {
                self.notes
                    .add(|| format!("chunk at {offset:#x} was not finished: skipped"));
            }
            return;
        }
        if magic == FREE_MAGIC {
            return;
        }
        if magic != CHUNK_MAGIC {
            self.notes
                .add_loss(|| format!("chunk at {offset:#x} is not a chunk: skipped"));
            return;
        }
        let Ok(header) = ChunkHeader::read(chunk) else {
            self.notes.add_loss(|| {
                format!("the file is cut off in the header of the chunk at {offset:#x}")
            });
            return;
        };
        if chunk.len() < CHUNK {
            self.notes
                .add_loss(|| format!("the file is cut off in the chunk at {offset:#x}"));
        }
        match header.kind {
            CHUNK_RECORDS => self.records_chunk(number, &header, &chunk[CHUNK_HEADER..]),
            CHUNK_SYMBOLS => self.symbols_chunk(number, &header, chunk.len() - CHUNK_HEADER),
            CHUNK_COUNTS => {
                self.counts.update(&header, &chunk[CHUNK_HEADER..]);
            }
            CHUNK_AGGREGATES => {
                self.aggregates.update(&header, &chunk[CHUNK_HEADER..]);
            }
            CHUNK_CONTROL => {
                let all = Change::read(&chunk[CHUNK_HEADER..]);
                // Of several copies of a chunk the longest is the last, and of these the one with the most changes in its last entry.
                let known = self.changes.entry(header.owner).or_default();
                if control::extent(&all) > control::extent(known) {
                    *known = all;
                }
            }
            kind => self.notes.add_loss(|| {
                format!("chunk at {offset:#x} is of kind {kind}, unknown to this version: skipped")
            }),
        }
    }

    fn records_chunk(&mut self, chunk: u32, header: &ChunkHeader, data: &[u8]) {
        let mut decoder = Decoder::new(data, header.start);
        let (mut thread, mut number) = (header.owner, Some(header.number));
        let (mut from, mut start, mut before) = (0, header.start, self.records);
        loop {
            let record = decoder.next();
            match record {
                Some(Record::Call { .. }) => {
                    self.records += 1 + decoder.skip_calls();
                    self.last = self.last.max(decoder.time());
                    continue;
                }
                Some(Record::Escape(Escape::Segment { .. })) | None => {}
                Some(Record::Escape(escape)) => {
                    self.escape(escape);
                    continue;
                }
            }
            // A segment ends here. Where a chunk is shared from its start it may have no owner.
            let to = if record.is_some() {
                decoder.last()
            } else {
                decoder.position()
            };
            if number.is_none() {
                self.records = before;
            } else if let Some(number) = number
                && (self.records > before || thread != 0 && !self.is_own(thread))
            {
                self.segments.push(Segment {
                    thread,
                    number,
                    start,
                    chunk,
                    from: ((CHUNK_HEADER + from) / 8) as u16,
                    words: ((to - from) / 8) as u16,
                });
            }
            let Some(Record::Escape(Escape::Segment {
                thread: next,
                number: n,
            })) = record
            else {
                break;
            };
            (thread, number) = (next, u32::try_from(n).ok());
            (from, start, before) = (decoder.position(), decoder.time(), self.records);
            if number.is_none() {
                let at = chunk as usize * CHUNK + CHUNK_HEADER + decoder.last();
                self.notes
                    .add(|| format!("segment number {n} at {at:#x} is impossible: skipped"));
            }
        }
        if decoder.damaged() {
            let at = chunk as usize * CHUNK + CHUNK_HEADER + decoder.position();
            self.notes
                .add(|| format!("damaged record at {at:#x}: the rest of its chunk is skipped"));
        }
    }

    /// Adds a record that is no call and begins no segment.
    fn escape(&mut self, escape: Escape<'_>) {
        match escape {
            Escape::Begin { time, .. } | Escape::Complete { time, .. } => {
                self.records += 1;
                self.logical = true;
                self.last = self.last.max(time);
            }
            Escape::Logical { .. } | Escape::Stays { .. } => self.logical = true,
            Escape::Thread {
                thread,
                flags,
                name,
            } => {
                let name = cut(&name, NAME).to_owned();
                self.names.insert(thread, ThreadName { name, flags });
            }
            Escape::Sample { time, values } => self.sample(time, values),
            Escape::Cpu { thread, time, used } => match self.cpu.len() < MAX_READINGS {
                true => self.cpu.push(CpuTime { thread, time, used }),
                false => self.readings_left_out += 1,
            },
            Escape::Value { .. } => self.values = true,
            Escape::Unknown(ty) => *self.unknown.entry(ty).or_default() += 1,
            _ => {}
        }
    }

    /// Whether a thread is the hook library's own.
    fn is_own(&self, thread: u32) -> bool {
        (self.names.get(&thread)).is_some_and(|name| name.flags & THREAD_OWN != 0)
    }

    fn sample(&mut self, time: u64, values: &[u8]) {
        self.last = self.last.max(time);
        for reading in readings(time, values) {
            if self.readings.len() < MAX_READINGS {
                self.readings.push(reading);
            } else {
                self.readings_left_out += 1;
            }
        }
    }

    fn symbols_chunk(&mut self, chunk: u32, header: &ChunkHeader, room: usize) {
        let used = (header.start as u32 as usize).min(room);
        let map = self.maps.entry(header.owner).or_default();
        map.whole = header.start >> 32;
        map.parts.entry(header.number).or_insert((chunk, used));
    }

    /// Puts the maps together from their parts.
    fn symbols(&mut self, files: &[Part]) -> Symbols {
        let mut symbols = Symbols::default();
        for (number, map) in std::mem::take(&mut self.maps) {
            let mut bytes = Vec::new();
            for (want, (&part, &(chunk, len))) in (0..).zip(&map.parts) {
                if part != want {
                    break;
                }
                let file = &files[files.partition_point(|f| f.first <= chunk) - 1];
                let at = (chunk - file.first) as usize * CHUNK + CHUNK_HEADER;
                bytes.extend_from_slice(&file.data[at..at + len]);
            }
            if bytes.len() as u64 != map.whole {
                let (have, whole) = (bytes.len(), map.whole);
                self.notes.add(|| {
                    format!("symbols map {number} is incomplete: {have} of {whole} bytes in order")
                });
            } else if let Err(e) = symbols.add(&bytes) {
                self.notes
                    .add(|| format!("symbols map {number} is unusable: {e}"));
            }
        }
        symbols
    }
}

/// The first `max` bytes of a text, or a little less: whole characters.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}
