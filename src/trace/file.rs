//! Opens a trace: checks its header, indexes its chunks into threads and segments, puts its
//! symbols together.

use super::format::{
    CHUNK, CHUNK_HEADER, CHUNK_MAGIC, CHUNK_RECORDS, CHUNK_SYMBOLS, ChunkHeader, Decoder, Escape,
    FLAG_SYMBOLS, Header, Record,
};
use super::notes::Notes;
use super::units::counted;
use crate::error::{Error, Result};
use crate::symbols::Symbols;
use memmap2::Mmap;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// Bytes of a thread's name that are kept.
const NAME: usize = 200;

/// A trace, open for reading.
pub struct Trace {
    name: String,
    data: Data,
    header: Header,
    symbols: Symbols,
    segments: Vec<Segment>,
    threads: Vec<Thread>,
    names: FxHashMap<u32, ThreadName>,
    records: u64,
    logical: bool,
    last: u64,
    notes: Notes,
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
    /// Its place in the order of its thread's segments.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// When it starts.
    pub fn start(&self) -> u64 {
        self.start
    }
}

/// A logical thread of a trace.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its number.
    pub number: u32,
    /// Segment numbers of which there is none.
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

/// A symbols map on its way: its parts by number, each a range of the file.
#[derive(Default)]
struct Parts {
    whole: u64,
    parts: BTreeMap<u32, (usize, usize)>,
}

impl Trace {
    /// Maps and indexes a file.
    pub fn open(path: &Path) -> Result<Trace> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|e| Error::io("read", path, e))?;
        let meta = file.metadata().map_err(|e| Error::io("read", path, e))?;
        let data = if meta.len() == 0 {
            Data::Owned(Vec::new())
        } else {
            // SAFETY: the map is only read. The process that records may write to the file at the
            // same time; every word is checked where it is used, never trusted from an earlier read.
            Data::Mapped(unsafe { Mmap::map(&file) }.map_err(|e| Error::io("map", path, e))?)
        };
        Trace::index(name, data)
    }

    /// Indexes a trace in memory.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Trace> {
        Trace::index(name.to_owned(), Data::Owned(bytes))
    }

    fn index(name: String, data: Data) -> Result<Trace> {
        let header = Header::read(&data).map_err(|e| e.in_artifact(name.as_str()))?;
        let mut index = Index::default();
        for (number, chunk) in data.chunks(CHUNK).enumerate().skip(1) {
            index.chunk(number as u32, chunk);
        }
        if data.len() < CHUNK {
            index
                .notes
                .add(|| "the file is cut off in its header".to_owned());
        }
        for (ty, count) in &index.unknown {
            index.notes.add(|| {
                let records = counted(*count, "record");
                format!("{records} of type {ty} skipped: unknown to this version, or damaged")
            });
        }
        let symbols = index.symbols(&data);
        let mut segments = index.segments;
        // Equal numbers do not occur in a sound trace; then the order of the file decides.
        segments.sort_unstable_by_key(|s| (s.thread, s.number, s.chunk, s.from));
        let threads = threads(&segments, &mut index.notes);
        if symbols.is_empty() && index.records > 0 {
            index
                .notes
                .add(|| "no symbols: methods are shown by their ids".to_owned());
        } else if header.flags & FLAG_SYMBOLS == 0 {
            index.notes.add(|| {
                "not all symbols had been copied: some methods may have no name".to_owned()
            });
        }
        Ok(Trace {
            name,
            data,
            header,
            symbols,
            segments,
            threads,
            names: index.names,
            records: index.records,
            logical: index.logical,
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

    /// Whether there are logical calls.
    pub fn has_logical_calls(&self) -> bool {
        self.logical
    }

    /// When the trace ended: the orderly end, else the last record.
    pub fn end(&self) -> u64 {
        self.header.end.max(self.last)
    }

    /// What was skipped or is missing.
    pub fn notes(&self) -> &Notes {
        &self.notes
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

    /// All segments, as places among [`threads`](Trace::threads) and among a thread's
    /// [`segments`](Trace::segments), in the order of time: each with when it starts. Of a thread they
    /// keep their order whatever a damaged trace says.
    pub fn in_order(&self) -> Vec<(u64, usize, usize)> {
        let mut order = Vec::with_capacity(self.segments.len());
        for (number, thread) in self.threads.iter().enumerate() {
            let mut start = 0;
            for (at, segment) in self.segments(thread).iter().enumerate() {
                start = segment.start.max(start);
                order.push((start, number, at));
            }
        }
        order.sort_unstable();
        order
    }

    /// The records of a segment.
    #[inline]
    pub fn decode(&self, segment: &Segment) -> Decoder<'_> {
        let from = segment.chunk as usize * CHUNK + segment.from as usize * 8;
        Decoder::new(
            &self.data[from..from + segment.words as usize * 8],
            segment.start,
        )
    }
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
    records: u64,
    logical: bool,
    last: u64,
    /// Skipped records by type.
    unknown: BTreeMap<u8, u64>,
    notes: Notes,
}

impl Index {
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
        if magic != CHUNK_MAGIC {
            self.notes
                .add(|| format!("chunk at {offset:#x} is not a chunk: skipped"));
            return;
        }
        let Ok(header) = ChunkHeader::read(chunk) else {
            self.notes
                .add(|| format!("the file is cut off in the header of the chunk at {offset:#x}"));
            return;
        };
        if chunk.len() < CHUNK {
            self.notes
                .add(|| format!("the file is cut off in the chunk at {offset:#x}"));
        }
        match header.kind {
            CHUNK_RECORDS => self.records_chunk(number, &header, &chunk[CHUNK_HEADER..]),
            CHUNK_SYMBOLS => self.symbols_chunk(offset, &header, chunk.len() - CHUNK_HEADER),
            kind => self.notes.add(|| {
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
                Some(Record::Call { time, .. }) => {
                    self.records += 1;
                    self.last = self.last.max(time);
                    continue;
                }
                Some(Record::Escape(
                    Escape::Begin { time, .. } | Escape::Complete { time, .. },
                )) => {
                    self.records += 1;
                    self.logical = true;
                    self.last = self.last.max(time);
                    continue;
                }
                Some(Record::Escape(Escape::Logical { .. })) => {
                    self.logical = true;
                    continue;
                }
                Some(Record::Escape(Escape::Segment { .. })) | None => {}
                Some(Record::Escape(Escape::Thread {
                    thread,
                    flags,
                    name,
                })) => {
                    let name = cut(&name, NAME).to_owned();
                    self.names.insert(thread, ThreadName { name, flags });
                    continue;
                }
                Some(Record::Escape(Escape::Unknown(ty))) => {
                    *self.unknown.entry(ty).or_default() += 1;
                    continue;
                }
                Some(Record::Escape(_)) => continue,
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
                && (thread != 0 || self.records > before)
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

    fn symbols_chunk(&mut self, offset: usize, header: &ChunkHeader, room: usize) {
        let used = (header.start as u32 as usize).min(room);
        let map = self.maps.entry(header.owner).or_default();
        map.whole = header.start >> 32;
        map.parts
            .entry(header.number)
            .or_insert((offset + CHUNK_HEADER, used));
    }

    /// Puts the maps together from their parts.
    fn symbols(&mut self, data: &[u8]) -> Symbols {
        let mut symbols = Symbols::default();
        for (number, map) in std::mem::take(&mut self.maps) {
            let mut bytes = Vec::new();
            for (want, (&part, &(at, len))) in (0..).zip(&map.parts) {
                if part != want {
                    break;
                }
                bytes.extend_from_slice(&data[at..at + len]);
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
