//! Follows a trace while its process writes it: as its consumer, which gives chunks back ("Consumers" of the format), or
//! as an onlooker, which changes nothing.
//!
//! ```text
//! look (all chunks: which segments have grown, and where they end) -> read (what the look before saw) -> look ...
//! ```
//!
//! The file itself is the buffer: for unread data only its position is kept. A segment is read after its thread's
//! previous segment. A thread writes one segment after the other, so the end of one is known as soon as a look has seen
//! the next; a segment that the whole next look has not found does not exist.

use super::consumer::{self, TraceFile, Writer, read_at, write_at};
use super::file::{Aggregates, Counts, NAME, ThreadName, copy_whole, cut, is_packed};
use super::format::{
    CHUNK, CHUNK_AGGREGATES, CHUNK_COUNTS, CHUNK_HEADER, CHUNK_MAGIC, CHUNK_RECORDS, CHUNK_SYMBOLS,
    COLLECTED_AT, CONSUMER_AT, ChunkHeader, Decoder, ESCAPE_END, Escape, FLAG_ORDERLY, FREE_MAGIC,
    HEADER_USED, Header, POLICY_RING, Record,
};
use super::lock;
use super::metrics::{Reading, readings};
use super::regular;
use crate::error::{Error, Kind, Result};
use crate::symbols::Symbols;
use memmap2::Mmap;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// Bytes that one turn looks at or reads: a consumer's heartbeat must not wait for long.
const TURN: usize = if cfg!(test) { 1 << 10 } else { 4 << 20 };

/// How long a file may be there without a header.
const BEGINS: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 3_000 });

/// Takes what is read.
pub trait Reader {
    /// More ids have names.
    fn symbols(&mut self, symbols: &Symbols);

    /// Further records of a thread, and its name, if it was recorded.
    fn records(
        &mut self,
        thread: u32,
        name: Option<&ThreadName>,
        symbols: &Symbols,
        records: Decoder<'_>,
    );

    /// Further samples of what the process uses.
    fn readings(&mut self, _readings: &[Reading]) {}

    /// How often methods were called that are only counted, where that has changed.
    fn counts(&mut self, _counts: &Counts, _symbols: &Symbols) {}

    /// What methods add up to that the process sums up, where that has changed.
    fn aggregates(&mut self, _aggregates: &Aggregates, _symbols: &Symbols) {}

    /// Records of a thread are missing here: that many segments.
    fn missing(&mut self, _thread: u32, _segments: u64) {}

    /// Whether it holds enough: a turn then ends before its time.
    fn is_full(&self) -> bool {
        false
    }
}

/// How a trace is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Full chunks are given back, so that recording can continue past the size limit. Under `ring` there are no
    /// consumers.
    Consumer,
    /// The file is only read.
    Onlooker,
}

/// What a turn came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// There is more to do at once.
    pub more: bool,
    /// Something was read, or has grown.
    pub news: bool,
}

/// A trace that is followed.
pub struct Tail {
    path: PathBuf,
    file: File,
    map: Option<Mmap>,
    consumes: bool,
    header: Header,
    chunks: Vec<Seen>,
    lanes: FxHashMap<u32, Lane>,
    names: FxHashMap<u32, ThreadName>,
    maps: BTreeMap<u32, Map>,
    symbols: Symbols,
    has_new_symbols: bool,
    counts: Counts,
    has_new_counts: bool,
    aggregates: Aggregates,
    has_new_aggregates: bool,
    /// Number of the look under way, from 1.
    look: u64,
    /// The next chunk to look at; none while what was seen is read.
    next: Option<usize>,
    /// Threads that have something to be read, by the time of it.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// Chunks that are to be given back.
    given: Vec<u32>,
    grown: bool,
    writer: Writer,
    /// The process has ended: the look under way is the last.
    is_last: bool,
    is_done: bool,
    copy: Vec<u8>,
    /// When the look before began, and the one under way.
    begun: [Option<SystemTime>; 2],
    last_time: u64,
    /// Samples that the reader has not got yet.
    readings: Vec<Reading>,
    records: u64,
    overtaken: u64,
}

/// What is known of a chunk.
#[derive(Clone, Copy, Default)]
struct Seen {
    serial: u64,
    /// Byte up to which its words are known, and the clock there.
    at: usize,
    time: u64,
    /// The segment that is written to: thread and number.
    open: Option<(u32, u32)>,
    /// Its writer is through with it, or it is damaged.
    full: bool,
    damaged: bool,
    /// Segments of it that are not read to their end.
    unread: u32,
}

/// A place among words, and the clock there.
#[derive(Clone, Copy, Default)]
struct Place {
    at: usize,
    time: u64,
}

/// A segment that is not read to its end.
struct Segment {
    number: u32,
    chunk: u32,
    serial: u64,
    /// Up to here it was read.
    read: Place,
    /// Up to here the look before this one saw it, without what belongs to the next record.
    seen: Place,
    /// The same of the look at hand, and with all that was there.
    cut: Place,
    end: Place,
    /// The look that found it.
    found: u64,
    /// Nothing will be added.
    closed: bool,
}

#[derive(Default)]
struct Lane {
    segments: VecDeque<Segment>,
    /// Number of the segment to be read next.
    next: u32,
}

/// Parts of a symbols map on their way.
#[derive(Default)]
struct Map {
    whole: u64,
    parts: BTreeMap<u32, Vec<u8>>,
    done: bool,
}

impl Tail {
    /// Begins to follow a trace.
    ///
    /// # Errors
    /// Where it is none, or a part that was collected, or is collected by another process.
    pub fn open(path: &Path, role: Role) -> Result<Tail> {
        let failed = |e| Error::io("open", path, e);
        let refused = |what: &str| Error::new(Kind::NotDone, format!("{}: {what}", path.display()));
        if is_packed(path) {
            return Err(refused("a packed trace cannot be followed"));
        }
        let wants = role == Role::Consumer;
        let file = regular::open_as(path, OpenOptions::new().read(true).write(wants));
        let file = file.map_err(failed)?;
        let mut head = vec![0; HEADER_USED];
        let mut read = read_at(&file, &mut head, 0).map_err(failed)?;
        // Its process has made the file, and begins it only now.
        let begun = Instant::now();
        while head[..8] == [0; 8] && begun.elapsed() < BEGINS {
            std::thread::sleep(BEGINS / 100);
            read = read_at(&file, &mut head, 0).map_err(failed)?;
        }
        let header =
            Header::read(&head[..read]).map_err(|e| e.in_artifact(path.display().to_string()))?;
        if header.part != 0 {
            return Err(refused("this was collected; it cannot be followed"));
        }
        let consumes = wants && header.policy != POLICY_RING;
        if consumes {
            consumer::take(&file, path, &header)?;
        }
        let tail = Tail {
            writer: Writer::of(&file),
            path: path.to_owned(),
            file,
            map: None,
            consumes,
            header,
            chunks: Vec::new(),
            lanes: FxHashMap::default(),
            names: FxHashMap::default(),
            maps: BTreeMap::new(),
            symbols: Symbols::default(),
            has_new_symbols: false,
            counts: Counts::default(),
            has_new_counts: false,
            aggregates: Aggregates::default(),
            has_new_aggregates: false,
            look: 0,
            next: None,
            queue: BinaryHeap::new(),
            given: Vec::new(),
            grown: false,
            is_last: false,
            is_done: false,
            copy: Vec::new(),
            begun: [None; 2],
            last_time: 0,
            readings: Vec::new(),
            records: 0,
            overtaken: 0,
        };
        if consumes {
            tail.put(CONSUMER_AT, u64::from(std::process::id()))?;
        }
        Ok(tail)
    }

    /// Chunk 0, as it was lately.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Whether chunks are given back.
    pub fn consumes(&self) -> bool {
        self.consumes
    }

    /// Adds a map for ids that the trace itself does not explain.
    ///
    /// # Errors
    /// Where it is no symbols map.
    pub fn add_symbols(&mut self, map: &[u8]) -> Result<()> {
        self.has_new_symbols = true;
        self.symbols.add(map)
    }

    /// The time of the last record that was seen, or of the orderly end.
    pub fn end(&self) -> u64 {
        self.header.end.max(self.last_time)
    }

    /// What has been read is what there was at this time at least: it is read a look after it was seen.
    pub fn as_of(&self) -> Option<SystemTime> {
        self.begun[0]
    }

    /// Records that were seen.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Looks at the whole file that were begun. What was there at first is read in the third.
    pub fn looks(&self) -> u64 {
        self.look
    }

    /// Segments that its process has overwritten before they were read.
    pub fn overtaken(&self) -> u64 {
        self.overtaken
    }

    /// Whether the process has ended, and all is read.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Whether a process still holds the trace's lock.
    pub fn is_written(&self) -> bool {
        lock::has_writer(&self.file)
    }

    /// One step, short enough for a heartbeat between two.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn turn(&mut self, reader: &mut impl Reader) -> Result<Turn> {
        if self.is_done {
            return Ok(Turn::default());
        }
        self.beat()?;
        let mut budget = TURN;
        if self.next.is_none() && self.queue.is_empty() {
            self.begin_look()?;
        }
        if self.next.is_some() {
            self.look(&mut budget);
            if self.next.is_some() {
                return Ok(Turn {
                    more: true,
                    news: self.grown,
                });
            }
            self.end_look(reader);
            reader.readings(&std::mem::take(&mut self.readings));
        }
        while budget > 0
            && !reader.is_full()
            && let Some(Reverse((_, thread))) = self.queue.pop()
        {
            budget = budget.saturating_sub(self.read(thread, reader).max(64));
        }
        self.give_back()?;
        let more = !self.queue.is_empty();
        self.is_done = self.is_last && !more;
        if self.is_done {
            self.give_back_rest()?;
        }
        Ok(Turn {
            more,
            news: self.grown || more,
        })
    }

    /// Gives the trace up: another may follow it.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn close(self) -> Result<()> {
        match self.consumes {
            true => self.put(CONSUMER_AT, 0),
            false => Ok(()),
        }
    }

    fn put(&self, at: usize, value: u64) -> Result<()> {
        consumer::put(TraceFile::of(&self.file, &self.path), at, value)
    }

    fn beat(&mut self) -> Result<()> {
        match self.consumes {
            true => consumer::beat(TraceFile::of(&self.file, &self.path), &mut self.header),
            false => Ok(()),
        }
    }

    /// Whether the trace is whole: its process has said so, or is gone.
    fn is_whole(&mut self) -> bool {
        self.header.flags & FLAG_ORDERLY != 0
            || (self.writer).is_gone(TraceFile::of(&self.file, &self.path), &self.header)
    }

    fn begin_look(&mut self) -> Result<()> {
        let trace = TraceFile::of(&self.file, &self.path);
        consumer::refresh(trace, &mut self.header, self.consumes)?;
        // Asked before the look, so that it sees all that was written.
        self.is_last = self.is_whole();
        let len = self
            .file
            .metadata()
            .map_err(|e| Error::io("read", &self.path, e))?
            .len();
        if self.map.as_ref().is_none_or(|map| map.len() as u64 != len) {
            self.map = None;
            if len > 0 {
                // SAFETY: as in `file`: the map is only read, and what is read is checked where it is used.
                let map = unsafe { Mmap::map(&self.file) };
                self.map = Some(map.map_err(|e| Error::io("map", &self.path, e))?);
            }
        }
        let count = len.div_ceil(CHUNK as u64) as usize;
        self.chunks.resize(count, Seen::default());
        self.begun = [self.begun[1], Some(SystemTime::now())];
        self.look += 1;
        self.next = Some(1);
        self.grown = false;
        Ok(())
    }

    fn look(&mut self, budget: &mut usize) {
        let Some(map) = self.map.take() else {
            self.next = None;
            return;
        };
        while let Some(number) = self.next {
            let Some(chunk) = map.get(number * CHUNK..).filter(|rest| !rest.is_empty()) else {
                self.next = None;
                break;
            };
            if *budget == 0 {
                break;
            }
            let looked_at = self.chunk(number, &chunk[..chunk.len().min(CHUNK)]);
            *budget = budget.saturating_sub(looked_at.max(16));
            self.next = Some(number + 1);
        }
        self.map = Some(map);
    }

    /// Looks at a chunk; returns how many bytes are new.
    fn chunk(&mut self, number: usize, chunk: &[u8]) -> usize {
        let Some(mut seen) = self.chunks.get(number).copied() else {
            return 0;
        };
        if !chunk.starts_with(&CHUNK_MAGIC) {
            return 0;
        }
        let Ok(header) = ChunkHeader::read(chunk) else {
            return 0;
        };
        if seen.at == 0 || seen.serial != header.serial {
            seen = Seen {
                serial: header.serial,
                at: CHUNK_HEADER,
                time: header.start,
                ..Seen::default()
            };
            self.grown = true;
            match header.kind {
                CHUNK_RECORDS => {
                    seen.open = Some((header.owner, header.number));
                    // Where a chunk is shared from its start it may have no owner.
                    if header.owner != 0 {
                        self.begin(number, &mut seen);
                    }
                }
                kind => {
                    seen.full = true;
                    if kind == CHUNK_SYMBOLS {
                        self.symbols_chunk(&header, &chunk[CHUNK_HEADER..]);
                    }
                }
            }
        }
        // These stay, and their numbers grow in their places.
        let data = &chunk[CHUNK_HEADER..];
        let (stays, has_grown) = match header.kind {
            CHUNK_COUNTS => (true, self.counts.update(&header, data)),
            CHUNK_AGGREGATES => (true, self.aggregates.update(&header, data)),
            _ => (false, false),
        };
        if has_grown {
            self.has_new_counts |= header.kind == CHUNK_COUNTS;
            self.has_new_aggregates |= header.kind == CHUNK_AGGREGATES;
            self.grown = true;
            self.writer.wrote();
        }
        let new = match seen.full || seen.damaged {
            true if stays => chunk.len(),
            true => 0,
            false => self.walk(number, chunk, &mut seen),
        };
        if header.kind == CHUNK_RECORDS && seen.full && seen.unread == 0 {
            self.give(number as u32, &seen);
        }
        self.chunks[number] = seen;
        new
    }

    /// Begins a segment where a chunk's words are known up to.
    fn begin(&mut self, chunk: usize, seen: &mut Seen) {
        let Some((thread, number)) = seen.open else {
            return;
        };
        let place = Place {
            at: seen.at,
            time: seen.time,
        };
        let segment = Segment {
            number,
            chunk: chunk as u32,
            serial: seen.serial,
            read: place,
            seen: place,
            cut: place,
            end: place,
            found: self.look,
            closed: false,
        };
        let lane = self.lanes.entry(thread).or_default();
        let at = lane.segments.partition_point(|s| s.number <= number);
        lane.segments.insert(at, segment);
        seen.unread += 1;
    }

    /// Tells the open segment of a chunk how far it goes.
    fn grow(&mut self, chunk: usize, seen: &Seen, cut: Place, end: Place, closed: bool) {
        let Some((thread, number)) = seen.open else {
            return;
        };
        let lane = self.lanes.entry(thread).or_default();
        let at = lane.segments.partition_point(|s| s.number < number);
        let mut same = lane
            .segments
            .range_mut(at..)
            .take_while(|s| s.number == number);
        if let Some(segment) = same.find(|s| s.chunk == chunk as u32 && s.serial == seen.serial) {
            (segment.cut, segment.end, segment.closed) = (cut, end, closed);
        }
    }

    /// Goes over the words that a chunk has got since the last look.
    fn walk(&mut self, number: usize, chunk: &[u8], seen: &mut Seen) -> usize {
        let begun = seen.at;
        if chunk
            .get(begun..begun + 8)
            .is_none_or(|word| word == [0; 8])
            && !self.is_last
        {
            return 0;
        }
        let mut copy = std::mem::take(&mut self.copy);
        let rest = chunk.get(begun..).unwrap_or_default();
        if copy_whole(chunk, rest, &mut copy) == Some(seen.serial) {
            self.words(number, &copy, seen);
        }
        self.copy = copy;
        seen.at - begun
    }

    fn words(&mut self, number: usize, words: &[u8], seen: &mut Seen) {
        let begun = seen.at;
        let mut decoder = Decoder::new(words, seen.time);
        // What was cut off the look before is seen again from its begin.
        let mut cut = Place {
            at: seen.at,
            time: seen.time,
        };
        let mut count = 0u64;
        loop {
            let record = decoder.next();
            let here = Place {
                at: begun + decoder.position(),
                time: decoder.time(),
            };
            match &record {
                Some(Record::Escape(Escape::Segment { thread, number: n })) => {
                    let before = Place {
                        at: begun + decoder.last(),
                        time: cut.time,
                    };
                    self.end_segment(number, seen, before, count);
                    seen.open = u32::try_from(*n).ok().map(|n| (*thread, n));
                    (seen.at, seen.time, count) = (here.at, here.time, 0);
                    self.begin(number, seen);
                    cut = here;
                }
                // These belong to the record that follows.
                Some(Record::Escape(
                    Escape::Exception { .. }
                    | Escape::Logical { .. }
                    | Escape::Stays { .. }
                    | Escape::Sampled { .. }
                    | Escape::Span { .. },
                )) => {}
                // A count that ends the data still grows.
                Some(Record::Escape(Escape::Lost(_))) => {}
                Some(record) => {
                    match record {
                        Record::Call { time, .. }
                        | Record::Escape(
                            Escape::Begin { time, .. } | Escape::Complete { time, .. },
                        ) => {
                            self.last_time = self.last_time.max(*time);
                            count += 1;
                            self.records += 1;
                        }
                        Record::Escape(Escape::Thread {
                            thread,
                            flags,
                            name,
                        }) => {
                            let (name, flags) = (cut_name(name), *flags);
                            self.names.insert(*thread, ThreadName { name, flags });
                        }
                        Record::Escape(Escape::Sample { time, values }) => {
                            self.last_time = self.last_time.max(*time);
                            self.readings.extend(readings(*time, values));
                        }
                        Record::Escape(_) => {}
                    }
                    cut = here;
                }
                None => {
                    let word = words.get(decoder.position()..decoder.position() + 8);
                    let word = word.map_or(0, |w| {
                        u64::from_le_bytes(w.try_into().expect("eight bytes"))
                    });
                    seen.full = word & 3 == 0 && (word >> 2 & 0x3f) as u8 == ESCAPE_END;
                    seen.damaged = decoder.damaged();
                    if seen.full || seen.damaged || self.is_last {
                        self.end_segment(number, seen, here, count);
                        (seen.at, seen.time) = (here.at, here.time);
                    } else {
                        self.owned(number, seen, count);
                        self.grow(number, seen, cut, here, false);
                        // Only up to the cut: what lies behind it is gone over again.
                        (seen.at, seen.time) = (cut.at, cut.time);
                    }
                    break;
                }
            }
        }
        if seen.at > begun || seen.full {
            self.grown = true;
            self.writer.wrote();
        }
    }

    /// The segment that a chunk begins with is no thread's until there is a record in it.
    fn owned(&mut self, number: usize, seen: &mut Seen, count: u64) {
        if count > 0 && seen.unread == 0 && matches!(seen.open, Some((0, _))) {
            self.begin(number, seen);
        }
    }

    fn end_segment(&mut self, number: usize, seen: &mut Seen, end: Place, count: u64) {
        self.owned(number, seen, count);
        self.grow(number, seen, end, end, true);
        seen.open = None;
    }

    fn symbols_chunk(&mut self, header: &ChunkHeader, data: &[u8]) {
        let used = (header.start as u32 as usize).min(data.len());
        let map = self.maps.entry(header.owner).or_default();
        if map.done {
            return;
        }
        map.whole = header.start >> 32;
        map.parts
            .entry(header.number)
            .or_insert_with(|| data[..used].to_vec());
        let in_order = (0..)
            .zip(&map.parts)
            .take_while(|(want, (part, _))| want == *part);
        let have: u64 = in_order.map(|(_, (_, bytes))| bytes.len() as u64).sum();
        if have == map.whole {
            let bytes: Vec<u8> = std::mem::take(&mut map.parts)
                .into_values()
                .flatten()
                .collect();
            map.done = true;
            // One that is damaged names nothing, as in a trace that is read at rest.
            self.has_new_symbols |= self.symbols.add(&bytes).is_ok();
        }
    }

    /// A look is over: what it found is put in the order of time.
    fn end_look(&mut self, reader: &mut impl Reader) {
        if std::mem::take(&mut self.has_new_symbols) {
            reader.symbols(&self.symbols);
        }
        if std::mem::take(&mut self.has_new_counts) {
            reader.counts(&self.counts, &self.symbols);
        }
        if std::mem::take(&mut self.has_new_aggregates) {
            reader.aggregates(&self.aggregates, &self.symbols);
        }
        self.queue.clear();
        for (&thread, lane) in &self.lanes {
            if let Some(first) = lane.segments.front() {
                self.queue.push(Reverse((first.read.time, thread)));
            }
        }
    }

    /// Reads the next of a thread's segments, as far as it may be; returns how many bytes.
    fn read(&mut self, thread: u32, reader: &mut impl Reader) -> usize {
        let (look, last) = (self.look, self.is_last);
        let Some(lane) = self.lanes.get_mut(&thread) else {
            return 0;
        };
        let next_is_there = lane.segments.get(1).is_some_and(|s| s.found < look);
        let Some(segment) = lane.segments.front_mut() else {
            return 0;
        };
        if segment.number > lane.next {
            // The look after the one that found it has found none before it.
            if !last && segment.found + 1 >= look {
                return 0;
            }
            reader.missing(thread, u64::from(segment.number - lane.next));
            lane.next = segment.number;
        }
        if segment.found >= look && !last {
            segment.seen = segment.cut;
            return 0;
        }
        // A number that was there already is not read twice.
        let again = segment.number < lane.next;
        let over = segment.closed || next_is_there || last || again;
        let to = match over {
            true => segment.end,
            false => std::mem::replace(&mut segment.seen, segment.cut),
        };
        let from = segment.read;
        let bytes = to.at.saturating_sub(from.at);
        if bytes > 0 && !again {
            let chunk = segment.chunk as usize * CHUNK;
            let words = (self.map.as_ref()).and_then(|m| {
                let chunk = &m[chunk.min(m.len())..m.len().min(chunk + CHUNK)];
                Some((chunk, chunk.get(from.at..to.at)?))
            });
            let whole = words.and_then(|(chunk, words)| copy_whole(chunk, words, &mut self.copy));
            if whole == Some(segment.serial) {
                let records = Decoder::new(&self.copy, from.time);
                reader.records(thread, self.names.get(&thread), &self.symbols, records);
            } else {
                self.overtaken += 1;
                reader.missing(thread, 1);
            }
            segment.read = to;
        }
        if over {
            let (number, serial) = (segment.chunk, segment.serial);
            lane.next = lane.next.max(segment.number.saturating_add(1));
            lane.segments.pop_front();
            if let Some(next) = lane.segments.front() {
                self.queue
                    .push(Reverse((next.read.time.max(from.time), thread)));
            }
            let seen = self
                .chunks
                .get_mut(number as usize)
                .filter(|s| s.serial == serial);
            if let Some(seen) = seen {
                seen.unread = seen.unread.saturating_sub(1);
                if seen.full && seen.unread == 0 {
                    let seen = *seen;
                    self.give(number, &seen);
                }
            }
        }
        bytes
    }

    fn give(&mut self, number: u32, seen: &Seen) {
        if self.consumes && !seen.damaged {
            self.given.push(number);
        }
    }

    fn give_back(&mut self) -> Result<()> {
        if self.given.is_empty() {
            return Ok(());
        }
        for number in std::mem::take(&mut self.given) {
            write_at(&self.file, &FREE_MAGIC, u64::from(number) * CHUNK as u64)
                .map_err(|e| Error::io("write to", &self.path, e))?;
            self.chunks[number as usize] = Seen::default();
            self.header.collected += 1;
        }
        self.put(COLLECTED_AT, self.header.collected)
    }

    /// The process has ended: what was read of chunks that are not full is given back, too.
    fn give_back_rest(&mut self) -> Result<()> {
        for number in 1..self.chunks.len() {
            let seen = self.chunks[number];
            if seen.at > CHUNK_HEADER && !seen.full && seen.unread == 0 {
                self.give(number as u32, &seen);
            }
        }
        self.give_back()
    }
}

fn cut_name(name: &str) -> String {
    cut(name, NAME).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::{TraceBuilder, shop, shop_symbols};
    use proptest::prelude::*;

    /// Words of a chunk's data after which its writer takes another.
    const ROOM: usize = 24;

    /// Plays the part of a process whose threads share some chunks.
    struct Process {
        path: PathBuf,
        file: File,
        chunks: u64,
        serial: u64,
        now: u64,
        slots: Vec<Slot>,
        /// Of each thread: the next segment, and what it wrote: kind and time.
        threads: Vec<(u32, Vec<(u64, u64)>)>,
        /// The slot that each thread used last.
        last: [usize; 4],
    }

    #[derive(Clone, Copy, Default)]
    struct Slot {
        chunk: u64,
        at: usize,
        clock: u64,
        owner: usize,
    }

    impl Process {
        fn start(dir: &Path, policy: u32) -> Process {
            let path = dir.join("t.wtrace");
            let mut bytes = TraceBuilder::new("shop", 1, 0)
                .killed()
                .symbols(&shop_symbols(), 40, &[])
                .bytes();
            bytes[32..36].copy_from_slice(&policy.to_le_bytes());
            std::fs::write(&path, &bytes).unwrap();
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .open(&path)
                .unwrap();
            assert!(lock::take_writer(&file));
            Process {
                path,
                file,
                chunks: (bytes.len() / CHUNK) as u64,
                serial: 100,
                now: 1_000,
                slots: vec![Slot::default(); 3],
                threads: vec![(0, Vec::new()); 4],
                last: [usize::MAX; 4],
            }
        }

        fn put(&self, chunk: u64, at: usize, word: u64) {
            write_at(
                &self.file,
                &word.to_le_bytes(),
                chunk * CHUNK as u64 + at as u64,
            )
            .unwrap();
        }

        /// A chunk that was given back, or a new one.
        fn take(&mut self, reuse: bool) -> u64 {
            let mut head = [0; 4];
            for number in 1..self.chunks {
                read_at(&self.file, &mut head, number * CHUNK as u64).unwrap();
                if head == FREE_MAGIC && reuse {
                    return number;
                }
            }
            self.chunks += 1;
            self.chunks - 1
        }

        fn segment(&mut self, thread: usize) -> u64 {
            self.threads[thread].0 += 1;
            u64::from(self.threads[thread].0 - 1)
        }

        /// A thread writes a record to a slot.
        fn record(&mut self, thread: usize, slot: usize, kind: u64) {
            self.now += 3;
            let mut s = self.slots[slot];
            if s.chunk != 0 && s.at > CHUNK_HEADER + ROOM * 8 {
                self.put(s.chunk, s.at, u64::from(ESCAPE_END) << 2);
                s.chunk = 0;
            }
            if s.chunk == 0 {
                s = Slot {
                    chunk: self.take(true),
                    at: CHUNK_HEADER,
                    clock: self.now,
                    owner: thread,
                };
                let mut chunk = vec![0; CHUNK];
                self.serial += 1;
                chunk[4..8].copy_from_slice(&CHUNK_RECORDS.to_le_bytes());
                chunk[8..16].copy_from_slice(&self.serial.to_le_bytes());
                chunk[16..20].copy_from_slice(&(thread as u32 + 1).to_le_bytes());
                chunk[20..24].copy_from_slice(&(self.segment(thread) as u32).to_le_bytes());
                chunk[24..32].copy_from_slice(&self.now.to_le_bytes());
                chunk[..4].copy_from_slice(&CHUNK_MAGIC);
                write_at(&self.file, &chunk, s.chunk * CHUNK as u64).unwrap();
            } else if s.owner != thread {
                let segment = self.segment(thread);
                self.put(s.chunk, s.at + 8, segment);
                self.put(s.chunk, s.at + 16, self.now);
                self.put(s.chunk, s.at, (thread as u64 + 1) << 32 | 2 << 8 | 2 << 2);
                (s.at, s.clock, s.owner) = (s.at + 24, self.now, thread);
            } else if self.last[thread] != slot {
                // A thread that was elsewhere meanwhile begins a segment all the same.
                let segment = self.segment(thread);
                self.put(s.chunk, s.at + 8, segment);
                self.put(s.chunk, s.at + 16, self.now);
                self.put(s.chunk, s.at, (thread as u64 + 1) << 32 | 2 << 8 | 2 << 2);
                (s.at, s.clock) = (s.at + 24, self.now);
            }
            if kind == 3 {
                // Details of an exception, which belong to the record behind them.
                self.put(s.chunk, s.at + 8, 1 << 32 | 1);
                self.put(s.chunk, s.at + 16, 0x6d54);
                self.put(s.chunk, s.at, 2 << 8 | 4 << 2);
                s.at += 24;
            }
            self.put(s.chunk, s.at, 1 << 32 | (self.now - s.clock) << 2 | kind);
            self.threads[thread].1.push((kind, self.now));
            (s.at, s.clock) = (s.at + 8, self.now);
            self.slots[slot] = s;
            self.last[thread] = slot;
        }
    }

    /// Keeps what it is given.
    #[derive(Default)]
    struct Kept {
        records: BTreeMap<u32, Vec<(u64, u64)>>,
        detailed: usize,
        missing: u64,
        named: bool,
        asked: std::cell::Cell<u32>,
    }

    impl Reader for Kept {
        /// Every third time that it is asked: turns that end early lose nothing.
        fn is_full(&self) -> bool {
            self.asked.set(self.asked.get() + 1);
            self.asked.get().is_multiple_of(3)
        }

        fn symbols(&mut self, symbols: &Symbols) {
            self.named |= symbols.get(1).is_some();
        }

        fn records(
            &mut self,
            thread: u32,
            _: Option<&ThreadName>,
            _: &Symbols,
            mut records: Decoder<'_>,
        ) {
            let mut described = false;
            while let Some(record) = records.next() {
                match record {
                    Record::Call { kind, time, .. } => {
                        let kind = match kind {
                            crate::trace::format::CallKind::Enter => 1,
                            crate::trace::format::CallKind::Exit => 2,
                            crate::trace::format::CallKind::Error => 3,
                        };
                        self.detailed += usize::from(kind == 3 && described);
                        self.records.entry(thread).or_default().push((kind, time));
                    }
                    Record::Escape(Escape::Exception { .. }) => described = true,
                    Record::Escape(_) => {}
                }
            }
        }

        fn missing(&mut self, _: u32, segments: u64) {
            self.missing += segments;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 64 }))]

        /// Whenever it looks, each record comes once and in its thread's order, under any policy.
        #[test]
        fn each_record_comes_once(
            steps in proptest::collection::vec((0usize..4, 0usize..3, 0u64..4, 0u8..3), 1..300),
            policy in 0u32..3,
            consumer: bool,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let mut process = Process::start(dir.path(), policy);
            let role = if consumer { Role::Consumer } else { Role::Onlooker };
            let mut tail = Tail::open(&process.path, role).unwrap();
            prop_assert_eq!(tail.consumes(), consumer && policy != 0);
            let mut kept = Kept::default();
            for (thread, slot, kind, turns) in steps {
                process.record(thread, slot, kind.max(1));
                for _ in 0..turns {
                    tail.turn(&mut kept).unwrap();
                }
            }
            let written: BTreeMap<u32, Vec<(u64, u64)>> = (1..).zip(process.threads.iter().map(|t| t.1.clone()))
                .filter(|(_, records)| !records.is_empty())
                .collect();
            drop(process);
            while !tail.is_done() {
                tail.turn(&mut kept).unwrap();
            }
            let errors = written.values().flatten().filter(|(kind, _)| *kind == 3).count();
            prop_assert_eq!(&kept.records, &written);
            prop_assert_eq!((kept.detailed, kept.missing, kept.named), (errors, 0, true));
            prop_assert_eq!(tail.records(), written.values().map(|r| r.len() as u64).sum::<u64>());
            // What a consumer has read is not there for the next.
            let path = dir.path().join("t.wtrace");
            tail.close().unwrap();
            let left = crate::trace::Trace::open(&path).unwrap().records();
            prop_assert_eq!(left == 0, consumer && policy != 0);
        }

        /// Damage in any place is no trap.
        #[test]
        fn hostile_traces_are_no_trap(places in proptest::collection::vec((0usize..600_000, any::<u8>()), 1..40), cut in 0usize..600_000) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("t.wtrace");
            let mut bytes = shop().bytes();
            let len = bytes.len();
            for (at, byte) in places {
                bytes[100 + at % (len - 100)] = byte;
            }
            bytes.truncate(cut.max(HEADER_USED));
            std::fs::write(&path, bytes).unwrap();
            // Damage may look like a trace that cannot be followed.
            let Ok(mut tail) = Tail::open(&path, Role::Consumer) else { return Ok(()) };
            let mut kept = Kept::default();
            while !tail.is_done() && tail.turn(&mut kept).is_ok() {}
        }
    }

    #[test]
    fn a_trace_that_begins_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let process = Process::start(dir.path(), 2);
        process.put(0, 0, 0);
        let Err(e) = Tail::open(&process.path, Role::Onlooker) else {
            panic!("it has not begun");
        };
        assert!(e.to_string().contains("not a trace"));
        let path = process.path.clone();
        let begins = std::thread::scope(|threads| {
            threads.spawn(|| {
                std::thread::sleep(BEGINS / 50);
                process.put(0, 0, u64::from_le_bytes(*b"WTRACE\r\n"));
            });
            // However late the other thread is.
            std::iter::repeat_with(|| Tail::open(&path, Role::Onlooker))
                .take(1_000)
                .any(|t| t.is_ok())
        });
        assert!(begins);
    }

    #[test]
    fn what_is_read_is_of_the_look_before() {
        let dir = tempfile::tempdir().unwrap();
        let process = Process::start(dir.path(), 2);
        let mut tail = Tail::open(&process.path, Role::Onlooker).unwrap();
        let mut kept = Kept::default();
        let mut times = vec![SystemTime::now()];
        for look in 1..=3 {
            while tail.looks() < look || tail.next.is_some() {
                tail.turn(&mut kept).unwrap();
            }
            times.push(SystemTime::now());
        }
        let as_of = tail.as_of().unwrap();
        assert!(times[1] <= as_of && as_of <= times[2]);
    }

    #[test]
    fn what_cannot_be_followed_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let process = Process::start(dir.path(), 2);
        let first = Tail::open(&process.path, Role::Consumer).unwrap();
        let told = |path: &Path| match Tail::open(path, Role::Consumer) {
            Ok(_) => panic!("{} is followed", path.display()),
            Err(e) => e.to_string(),
        };
        assert!(told(&process.path).contains("collects it already"));
        assert!(Tail::open(&process.path, Role::Onlooker).is_ok());
        first.close().unwrap();
        assert!(told(&dir.path().join("x.wtrace.zst")).contains("packed"));
        std::fs::write(dir.path().join("y.wtrace"), "no").unwrap();
        assert!(told(&dir.path().join("y.wtrace")).contains("not a trace"));
    }
}
