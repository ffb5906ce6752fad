//! Takes chunks out of traces while they are written ("Consumers" of the format), and writes them
//! on as traces of their own: parts, rotated by size, packed, and bounded in number.
//!
//! ```text
//! Source (a trace, its lock, what is known of its chunks) --turn--> Part (a file that is always a valid trace)
//!                                                          full part --> Packer (a step each turn) --> .wtrace.zst
//! ```
//!
//! Several collectors may write to one folder: each holds the files that it writes or packs ([`Held`]), and packs and deletes
//! only parts of its own collection, which are known by their headers.
//!
//! A chunk is given back only after its copy is written. So a kill loses nothing: at most the copies of
//! one turn are there and not given back, which the next collector sees by their serial numbers.

use super::consumer::{self, TraceFile, Writer, read_at, write_at};
use super::file::{PACKED, is_packed, peek};
use super::format::{
    CHUNK, CHUNK_AGGREGATES, CHUNK_CONTROL, CHUNK_COUNTS, CHUNK_HEADER, CHUNK_MAGIC, CHUNK_RECORDS,
    CHUNK_SYMBOLS, COLLECTED_AT, CONSUMER_AT, ChunkHeader, ESCAPE_END, FREE_MAGIC, HEADER_USED,
    Header, IDENTITY_AT, MAGIC, NONCE_AT, PART_AT, POLICY_RING,
};
use super::lock::{self, Held};
use super::regular;
use crate::error::{Error, Result};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Ending of traces.
const ENDING: &str = ".wtrace";
/// Ending of parts that have no header yet.
const BEGUN: &str = ".begun";
/// Chunks of a source that are taken out in one turn: its heartbeat must not wait for long.
const TURN: usize = 64;
/// Bytes that are packed in one turn.
const PACK: usize = 4 << 20;
/// Offset, in a part's first chunk, of the collection that it is of: the folder whose traces were collected, or 0. Far behind
/// the fields that its process writes.
const COLLECTION_AT: usize = 16_384;
/// zstd's level: faster than programs record.
const LEVEL: i32 = 1;
/// How collected traces are kept.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Size after which a part is full.
    pub rotate: u64,
    /// Full parts are packed.
    pub compress: bool,
    /// Parts that are kept, of all traces of the collection together; 0 for all.
    pub keep: usize,
    /// Bytes that are kept; 0 for all.
    pub max_size: u64,
    /// Traces are deleted when their process has ended and all of it is collected.
    pub remove: bool,
}

/// What to tell the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// The trace.
    pub path: PathBuf,
    /// What happened.
    pub what: String,
}

/// Collects any number of traces into a folder.
pub struct Collector {
    out: PathBuf,
    options: Options,
    sources: Vec<Source>,
    /// Traces that need no second look.
    known: FxHashSet<PathBuf>,
    packers: VecDeque<Packer>,
    news: Vec<News>,
    /// Folders whose traces are collected, and the number that their parts have in common.
    watched: FxHashMap<PathBuf, u64>,
    /// Traces that are or were collected, by what their parts have in common.
    identities: FxHashSet<u64>,
    /// Parts that were looked into: what they are of.
    looked: FxHashMap<PathBuf, Option<Origin>>,
}

/// What a part is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Origin {
    identity: u64,
    number: u32,
    collection: u64,
}

impl Origin {
    /// Looks into a file. `None`: it is no part that a collector wrote.
    fn of(path: &Path) -> Option<Origin> {
        let header = peek(path).ok().filter(|header| header.part > 0)?;
        let mut head = Vec::new();
        let file = regular::open(path).ok()?;
        let mut from: Box<dyn Read> = match is_packed(path) {
            true => Box::new(zstd::stream::read::Decoder::new(file).ok()?),
            false => Box::new(file),
        };
        (from.by_ref().take(COLLECTION_AT as u64 + 8))
            .read_to_end(&mut head)
            .ok()?;
        let collection = (head.get(COLLECTION_AT..))
            .and_then(|bytes| bytes.try_into().ok())
            .map_or(0, u64::from_le_bytes);
        Some(Origin {
            identity: header.identity,
            number: header.part,
            collection,
        })
    }
}

/// What a turn came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Chunks taken out.
    pub chunks: usize,
    /// There was more to do than one turn may.
    pub more: bool,
}

impl Collector {
    /// A collector into a folder, which is made.
    pub fn new(out: &Path, options: Options) -> Result<Collector> {
        fs::create_dir_all(out).map_err(|e| Error::io("create", out, e))?;
        let collector = Collector {
            out: out.to_owned(),
            options,
            sources: Vec::new(),
            known: FxHashSet::default(),
            packers: VecDeque::new(),
            news: Vec::new(),
            watched: FxHashMap::default(),
            identities: FxHashSet::default(),
            looked: FxHashMap::default(),
        };
        collector.tidy()?;
        Ok(collector)
    }

    /// Removes parts without a header, which a collector left that was killed.
    fn tidy(&self) -> Result<()> {
        for entry in fs::read_dir(&self.out).map_err(|e| Error::io("read", &self.out, e))? {
            let path = entry.map_err(|e| Error::io("read", &self.out, e))?.path();
            let name = path.file_name().and_then(|n| n.to_str());
            if let Some(part) = name.and_then(|n| n.strip_suffix(BEGUN))
                && part.ends_with(ENDING)
                && part_number(Path::new(part)).is_some()
                && let Some(held) = hold(&path)
            {
                let mut head = [0; MAGIC.len()];
                let read = read_at(held.file(), &mut head, 0).unwrap_or(head.len());
                if read == 0 || head == MAGIC {
                    let _ = fs::remove_file(&path);
                }
            }
        }
        Ok(())
    }

    /// All traces of this folder are of one collection, also those that were collected before.
    pub fn watch(&mut self, folder: &Path) -> Result<()> {
        let real = folder.canonicalize();
        let real = real.map_err(|e| Error::io("read", folder, e))?;
        let number = xxhash_rust::xxh3::xxh3_64(real.as_os_str().as_encoded_bytes()).max(1);
        self.watched.insert(real, number);
        self.adopt()
    }

    /// Packs what a collector left of this collection that was killed: half a packed file goes, a whole part is packed.
    fn adopt(&mut self) -> Result<()> {
        if !self.options.compress {
            return Ok(());
        }
        for path in parts(&self.out)? {
            if !is_packed(&path)
                && self.is_own(&path)
                && let Some(held) = hold(&path)
            {
                let _ = fs::remove_file(packing(&path));
                self.packers.push_back(Packer::new(path, held));
            }
        }
        Ok(())
    }

    /// Whether a file is a part of this collection.
    fn is_own(&mut self, path: &Path) -> bool {
        let looked = match self.looked.get(path) {
            Some(looked) => *looked,
            None => {
                let origin = Origin::of(path);
                self.looked.insert(path.to_owned(), origin);
                origin
            }
        };
        looked.is_some_and(|origin| self.owns(origin))
    }

    fn owns(&self, origin: Origin) -> bool {
        self.identities.contains(&origin.identity)
            || self.watched.values().any(|&n| n == origin.collection)
    }

    /// Attaches to a trace. False if the file is no trace, or is a part that a collector wrote, or has not begun yet.
    pub fn attach(&mut self, path: &Path) -> Result<bool> {
        if self.known.contains(path) {
            return Ok(false);
        }
        let folder = path.parent().and_then(|folder| match folder {
            folder if folder == Path::new("") => Path::new(".").canonicalize().ok(),
            folder => folder.canonicalize().ok(),
        });
        let collection = folder.and_then(|folder| self.watched.get(&folder).copied());
        let Some(source) = Source::open(path, &self.out, collection.unwrap_or(0))? else {
            return Ok(false);
        };
        self.known.insert(path.to_owned());
        if self.identities.insert(source.identity) {
            self.adopt()?;
        }
        let how = match source.header.policy {
            POLICY_RING => {
                "ring: cannot be taken from while it is written; it is copied when its process has ended \
                 (WEAVE_TRACE_POLICY=block or drop is for collecting)"
            }
            1 => "drop",
            _ => "block",
        };
        self.tell(path, format!("pid {}, {how}", source.header.pid));
        self.sources.push(source);
        Ok(true)
    }

    /// Whether every trace that was attached has ended, and is collected.
    pub fn is_done(&self) -> bool {
        self.sources.is_empty()
    }

    /// What happened since the last time.
    pub fn news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    fn tell(&mut self, path: &Path, what: String) {
        let path = path.to_owned();
        self.news.push(News { path, what });
    }

    /// One step: takes out what is full, of each trace at most so much that none waits for long.
    pub fn turn(&mut self) -> Result<Turn> {
        let mut sum = Turn::default();
        let mut at = 0;
        while at < self.sources.len() {
            let source = &mut self.sources[at];
            let gone = source.is_gone();
            let turn = source.turn(&self.out, &self.options, gone, &mut self.packers)?;
            sum.chunks += turn.chunks;
            sum.more |= turn.more;
            if gone && !turn.more {
                let mut source = self.sources.swap_remove(at);
                source.finish(&self.out, &self.options, &mut self.packers)?;
                let (chunks, files) = (source.copied, source.files);
                let path = source.path.clone();
                let mut what = format!("ended: {chunks} chunks in {files} files");
                if self.options.remove {
                    match source.remove() {
                        Ok(()) => what += "; removed",
                        Err(e) => what += &format!("; not removed: {e}"),
                    }
                    self.known.remove(&path);
                }
                self.tell(&path, what);
            } else {
                at += 1;
            }
        }
        if let Some(packer) = self.packers.front_mut() {
            sum.more = true;
            if packer.step()? {
                self.packers.pop_front();
            }
        }
        self.bound()?;
        Ok(sum)
    }

    /// Ends: parts are closed and packed, and the traces given up for another consumer.
    pub fn stop(mut self) -> Result<()> {
        for source in &mut self.sources {
            source.finish(&self.out, &self.options, &mut self.packers)?;
        }
        self.sources.clear();
        for mut packer in std::mem::take(&mut self.packers) {
            while !packer.step()? {}
        }
        self.bound()
    }

    /// Deletes the oldest parts of the collection beyond the bounds, but none that is being written or packed.
    fn bound(&mut self) -> Result<()> {
        let Options { keep, max_size, .. } = self.options;
        if keep == 0 && max_size == 0 {
            return Ok(());
        }
        let busy: FxHashSet<PathBuf> = (self.sources.iter())
            .filter_map(|s| s.part.as_ref().map(|p| p.path.clone()))
            .chain(self.packers.iter().map(|p| p.from.clone()))
            .collect();
        let mut all = Vec::new();
        let mut size = 0;
        let there = parts(&self.out)?;
        if self.looked.len() > 2 * there.len() + 64 {
            // Most of them are gone.
            self.looked.clear();
        }
        for path in there {
            if !self.is_own(&path) {
                continue;
            }
            let Ok(meta) = path.metadata() else { continue };
            size += meta.len();
            all.push((meta.modified().ok(), path, meta.len()));
        }
        all.sort();
        let mut count = all.len();
        for (_, path, len) in &all {
            let over = keep > 0 && count > keep || max_size > 0 && size > max_size;
            if !over {
                break;
            }
            if busy.contains(path) {
                continue;
            }
            // It may be another file by now, or another collector's work.
            let Some(_held) = hold(path) else { continue };
            self.looked.remove(path);
            if !Origin::of(path).is_some_and(|origin| self.owns(origin)) {
                continue;
            }
            fs::remove_file(path).map_err(|e| Error::io("delete", path, e))?;
            count -= 1;
            size -= len;
        }
        Ok(())
    }
}

/// Holds a file that a collector wrote, unless another collector does.
fn hold(path: &Path) -> Option<Held> {
    let file = regular::open_own(path).ok()?;
    Held::take(file, path)
}

/// All parts in a folder, by their names: `NAME.0001.wtrace`, packed or not.
fn parts(out: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(out).map_err(|e| Error::io("read", out, e))? {
        let path = entry.map_err(|e| Error::io("read", out, e))?.path();
        if part_number(&path).is_some() && path.is_file() {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

/// The name of the trace and the number of a part, from its name.
fn part_number(path: &Path) -> Option<(&str, u32)> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_suffix(PACKED).unwrap_or(name);
    let (stem, number) = name.strip_suffix(ENDING)?.rsplit_once('.')?;
    if number.len() < 4 {
        return None;
    }
    Some((stem, number.parse().ok()?))
}

/// A trace's header, as one of its parts has it.
fn part_head(head: &[u8], number: u32, identity: u64) -> Vec<u8> {
    let mut head = head.to_vec();
    head[CONSUMER_AT..COLLECTED_AT].fill(0);
    // Who may read a part may not switch the process.
    head[NONCE_AT..HEADER_USED].fill(0);
    head[PART_AT..PART_AT + 8].copy_from_slice(&u64::from(number).to_le_bytes());
    head[IDENTITY_AT..IDENTITY_AT + 8].copy_from_slice(&identity.to_le_bytes());
    head
}

/// The name of a part until it has its header.
fn beginning(part: &Path) -> PathBuf {
    let mut name = part.as_os_str().to_owned();
    name.push(BEGUN);
    name.into()
}

/// The name of a file while it is packed.
fn packing(part: &Path) -> PathBuf {
    let mut name = part.as_os_str().to_owned();
    name.push(".zst.tmp");
    name.into()
}

/// A trace that is being collected.
struct Source {
    path: PathBuf,
    file: File,
    stem: String,
    header: Header,
    identity: u64,
    collection: u64,
    /// By the number of the chunk in the file.
    chunks: Vec<Known>,
    /// The chunks with symbols: each part begins with them.
    symbols: Vec<u32>,
    /// Those with counts and sums, which grow in their places: each part ends with them.
    counts: Vec<u32>,
    /// Serial numbers of chunks that a collector before this one has copied, but maybe not given back.
    seen: FxHashSet<u64>,
    part: Option<Part>,
    /// Parts of this trace so far, also of collectors before this one.
    last_part: u32,
    /// Number in the name of the last file.
    last_file: u32,
    copied: u64,
    files: u32,
    writer: Writer,
    buffer: Vec<u8>,
}

/// What is known of a chunk.
#[derive(Clone, Copy, Default)]
struct Known {
    serial: u64,
    /// Byte up to which its words are known.
    at: u32,
}

/// Where the words of a chunk end.
enum End {
    /// Its writer is through with it.
    Full,
    /// It is in use; the words end here.
    Open(usize),
}

/// Goes over the words of a chunk from a byte on.
fn walk(chunk: &[u8], mut at: usize) -> End {
    while let Some(word) = chunk.get(at..at + 8) {
        let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
        if word == 0 {
            break;
        }
        let step = match word & 3 {
            0 if (word >> 2 & 0x3f) as u8 == ESCAPE_END => return End::Full,
            0 => 8 + (word >> 8 & 0xff_ffff) as usize * 8,
            _ => 8,
        };
        // Damaged: it ends here for good.
        if at + step > chunk.len() {
            break;
        }
        at += step;
    }
    End::Open(at)
}

impl Drop for Source {
    fn drop(&mut self) {
        lock::free_consumer(&self.file);
    }
}

impl Source {
    fn open(path: &Path, out: &Path, collection: u64) -> Result<Option<Source>> {
        let failed = |e| Error::io("open", path, e);
        let file = regular::open_as(path, OpenOptions::new().read(true).write(true));
        let file = file.map_err(failed)?;
        let mut head = vec![0; HEADER_USED];
        let read = read_at(&file, &mut head, 0).map_err(failed)?;
        if read < HEADER_USED || !head.starts_with(&MAGIC) {
            return Ok(None);
        }
        let header = Header::read(&head).map_err(|e| e.in_artifact(path.display().to_string()))?;
        if header.part != 0 {
            return Ok(None);
        }
        consumer::take(&file, path, &header)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.strip_suffix(ENDING).unwrap_or(&name).to_owned();
        let mut key = Vec::new();
        key.extend_from_slice(&header.origin.to_le_bytes());
        key.extend_from_slice(&header.pid.to_le_bytes());
        key.extend_from_slice(stem.as_bytes());
        let identity = xxhash_rust::xxh3::xxh3_64(&key).max(1);
        let mut source = Source {
            path: path.to_owned(),
            writer: Writer::of(&file),
            file,
            stem,
            identity,
            collection,
            chunks: Vec::new(),
            symbols: Vec::new(),
            counts: Vec::new(),
            seen: FxHashSet::default(),
            part: None,
            last_part: 0,
            last_file: 0,
            copied: 0,
            files: 0,
            buffer: vec![0; CHUNK],
            header,
        };
        source.go_on(out)?;
        source.put(CONSUMER_AT, u64::from(std::process::id()))?;
        Ok(Some(source))
    }

    /// Finds the parts that a collector before this one wrote, and what is in the last.
    fn go_on(&mut self, out: &Path) -> Result<()> {
        let mut last: Option<(u32, PathBuf)> = None;
        for path in parts(out)? {
            let Some((stem, number)) = part_number(&path) else {
                continue;
            };
            if stem != self.stem {
                continue;
            }
            self.last_file = self.last_file.max(number);
            // One that cannot be read is not one to go on from.
            let Ok(header) = peek(&path) else { continue };
            if header.identity == self.identity && header.part > self.last_part {
                self.last_part = header.part;
                last = Some((number, path));
            }
        }
        let Some((_, path)) = last else { return Ok(()) };
        let failed = |e| Error::io("read", &path, e);
        let file = regular::open(&path).map_err(failed)?;
        let mut from: Box<dyn Read> = match is_packed(&path) {
            true => Box::new(zstd::stream::read::Decoder::new(file).map_err(failed)?),
            false => Box::new(file),
        };
        let mut chunk = vec![0; CHUNK];
        while from.read_exact(&mut chunk).is_ok() {
            if chunk.starts_with(&CHUNK_MAGIC)
                && let Ok(header) = ChunkHeader::read(&chunk)
                && header.kind == CHUNK_RECORDS
                && let End::Full = walk(&chunk, CHUNK_HEADER)
            {
                self.seen.insert(header.serial);
            }
        }
        Ok(())
    }

    fn put(&self, at: usize, value: u64) -> Result<()> {
        consumer::put(TraceFile::of(&self.file, &self.path), at, value)
    }

    /// Whether the process that writes the trace has ended.
    fn is_gone(&mut self) -> bool {
        self.writer
            .is_gone(TraceFile::of(&self.file, &self.path), &self.header)
    }

    /// Takes out what is full; of a process that has ended also what is not.
    fn turn(
        &mut self,
        out: &Path,
        options: &Options,
        gone: bool,
        packers: &mut VecDeque<Packer>,
    ) -> Result<Turn> {
        let failed = |e| Error::io("read", &self.path, e);
        consumer::beat(TraceFile::of(&self.file, &self.path), &mut self.header)?;
        let head = consumer::refresh(
            TraceFile::of(&self.file, &self.path),
            &mut self.header,
            true,
        )?;
        let mut turn = Turn::default();
        if self.header.policy == POLICY_RING && !gone {
            return Ok(turn);
        }
        let len = self.file.metadata().map_err(failed)?.len();
        let count = (len / CHUNK as u64) as usize + usize::from(gone && len % CHUNK as u64 > 0);
        self.chunks.resize(count, Known::default());
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut given = Vec::new();
        for number in 1..count {
            if given.len() >= TURN {
                turn.more = true;
                break;
            }
            if self.chunk(number as u32, gone, &mut buffer, out)? {
                given.push(number as u64);
            }
        }
        self.buffer = buffer;
        if let Some(part) = &mut self.part {
            part.head(&head, self.last_part, self.identity)?;
        }
        turn.chunks = given.len();
        for number in given {
            write_at(&self.file, &FREE_MAGIC, number * CHUNK as u64)
                .map_err(|e| Error::io("write to", &self.path, e))?;
            self.header.collected += 1;
        }
        if turn.chunks > 0 {
            self.writer.wrote();
            self.put(COLLECTED_AT, self.header.collected)?;
        }
        if self.part.as_ref().is_some_and(|p| p.len >= options.rotate) {
            self.close_part(options, packers)?;
        }
        Ok(turn)
    }

    /// Looks at a chunk and copies it if it is full. Returns whether the program may have it back.
    fn chunk(&mut self, number: u32, gone: bool, buffer: &mut [u8], out: &Path) -> Result<bool> {
        let failed = |e| Error::io("read", &self.path, e);
        let offset = u64::from(number) * CHUNK as u64;
        let head = &mut buffer[..16];
        if read_at(&self.file, head, offset).map_err(failed)? < 16
            || !head.starts_with(&CHUNK_MAGIC)
        {
            return Ok(false);
        }
        let kind = u32::from_le_bytes(head[4..8].try_into().expect("four bytes"));
        let serial = u64::from_le_bytes(head[8..16].try_into().expect("eight bytes"));
        let mut known = self.chunks[number as usize];
        if known.at == 0 || known.serial != serial {
            known = Known {
                serial,
                at: CHUNK_HEADER as u32,
            };
        } else if kind != CHUNK_RECORDS {
            return Ok(false);
        }
        self.chunks[number as usize] = known;
        if kind == CHUNK_SYMBOLS {
            self.symbols.push(number);
            self.writer.wrote();
            if self.part.is_some() {
                self.whole(number, buffer)?;
                self.copy(buffer)?;
            }
            return Ok(false);
        }
        if matches!(kind, CHUNK_COUNTS | CHUNK_AGGREGATES | CHUNK_CONTROL) {
            self.counts.push(number);
        }
        if kind != CHUNK_RECORDS {
            return Ok(false);
        }
        let at = known.at as usize;
        let rest = &mut buffer[at..];
        rest.fill(0);
        read_at(&self.file, rest, offset + at as u64).map_err(failed)?;
        let full = match walk(buffer, at) {
            End::Full => true,
            End::Open(to) => {
                if to != at {
                    self.writer.wrote();
                    self.chunks[number as usize].at = to as u32;
                }
                false
            }
        };
        if !full && !gone {
            return Ok(false);
        }
        // What lies before an END that was seen can be read now.
        self.whole(number, buffer)?;
        if matches!(walk(buffer, CHUNK_HEADER), End::Open(CHUNK_HEADER))
            || self.seen.remove(&serial)
        {
            return Ok(true);
        }
        self.open_part(out)?;
        self.copy(buffer)?;
        self.copied += 1;
        Ok(true)
    }

    fn whole(&self, number: u32, buffer: &mut [u8]) -> Result<()> {
        buffer.fill(0);
        read_at(&self.file, buffer, u64::from(number) * CHUNK as u64)
            .map_err(|e| Error::io("read", &self.path, e))?;
        Ok(())
    }

    fn copy(&mut self, chunk: &[u8]) -> Result<()> {
        self.part.as_mut().expect("a part is open").add(chunk)
    }

    /// Begins a part if none is open: with the header, and with the symbols so far.
    fn open_part(&mut self, out: &Path) -> Result<()> {
        if self.part.is_some() {
            return Ok(());
        }
        let mut part = loop {
            self.last_file += 1;
            let name = format!("{}.{:04}{ENDING}", self.stem, self.last_file);
            let path = out.join(&name);
            if out.join(name.clone() + PACKED).exists() {
                continue;
            }
            let mut chunk = vec![0; CHUNK];
            self.whole(0, &mut chunk)?;
            let head = part_head(&chunk[..HEADER_USED], self.last_part + 1, self.identity);
            let Some(part) = Part::create(path, &head, self.collection)? else {
                continue;
            };
            // Another collector may have packed one of this name meanwhile.
            if out.join(name + PACKED).exists() {
                part.discard();
                continue;
            }
            break part;
        };
        self.last_part += 1;
        self.files += 1;
        let mut chunk = vec![0; CHUNK];
        for &number in &self.symbols {
            self.whole(number, &mut chunk)?;
            part.add(&chunk)?;
        }
        self.part = Some(part);
        Ok(())
    }

    fn close_part(&mut self, options: &Options, packers: &mut VecDeque<Packer>) -> Result<()> {
        if self.part.is_some() && !self.counts.is_empty() {
            let mut chunk = vec![0; CHUNK];
            for i in 0..self.counts.len() {
                self.whole(self.counts[i], &mut chunk)?;
                self.copy(&chunk)?;
            }
        }
        if let Some(part) = self.part.take()
            && options.compress
        {
            packers.push_back(Packer::new(part.path, part.held));
        }
        Ok(())
    }

    /// Closes the part, and gives the trace up.
    fn finish(
        &mut self,
        out: &Path,
        options: &Options,
        packers: &mut VecDeque<Packer>,
    ) -> Result<()> {
        if !self.counts.is_empty() {
            self.open_part(out)?;
        }
        self.close_part(options, packers)?;
        self.put(CONSUMER_AT, 0)
    }

    fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// A file that is being written.
struct Part {
    path: PathBuf,
    held: Held,
    len: u64,
}

impl Part {
    /// None if there is a file of that name. It gets its name when it has its header: a kill leaves no part that is none.
    fn create(path: PathBuf, head: &[u8], collection: u64) -> Result<Option<Part>> {
        let begun = beginning(&path);
        let failed = |e| Error::io("create", &path, e);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let held = loop {
            match options.open(&begun) {
                Ok(file) => match Held::take(file, &begun) {
                    Some(held) => break held,
                    // A collector that tidies up was quicker.
                    None => continue,
                },
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(failed(e)),
            }
            match hold(&begun) {
                // Nobody's: of a collector that was killed.
                Some(_held) => fs::remove_file(&begun).map_err(failed)?,
                // Another collector begins the same part, or what lies there is no collector's.
                None if begun.symlink_metadata().is_ok() => return Ok(None),
                None => {}
            }
        };
        write_at(held.file(), head, 0).map_err(failed)?;
        write_at(held.file(), &collection.to_le_bytes(), COLLECTION_AT as u64).map_err(failed)?;
        let named = match fs::hard_link(&begun, &path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            // Not all file systems have links.
            Err(_) if path.exists() => Ok(false),
            Err(_) => fs::rename(&begun, &path).map(|()| true),
            Ok(()) => Ok(true),
        };
        let _ = fs::remove_file(&begun);
        Ok(named.map_err(failed)?.then_some(Part {
            path,
            held,
            len: CHUNK as u64,
        }))
    }

    /// Takes it away again.
    fn discard(self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Brings its header up to date.
    fn head(&mut self, head: &[u8], number: u32, identity: u64) -> Result<()> {
        let head = part_head(head, number, identity);
        write_at(self.held.file(), &head, 0).map_err(|e| Error::io("write", &self.path, e))
    }

    fn add(&mut self, chunk: &[u8]) -> Result<()> {
        let written = write_at(self.held.file(), chunk, self.len);
        if let Err(e) = written {
            // Half a chunk would be taken for damage.
            let _ = self.held.file().set_len(self.len);
            return Err(Error::io("write", &self.path, e));
        }
        self.len += CHUNK as u64;
        Ok(())
    }
}

/// Packs a part, a step at a time.
struct Packer {
    from: PathBuf,
    _held: Held,
    at: Option<(File, zstd::stream::write::Encoder<'static, File>)>,
}

impl Packer {
    fn new(from: PathBuf, held: Held) -> Packer {
        Packer {
            from,
            _held: held,
            at: None,
        }
    }

    /// Returns whether it is through: the packed file then takes the place of the part.
    fn step(&mut self) -> Result<bool> {
        let to = packing(&self.from);
        let done = self
            .packed(&to)
            .map_err(|e| Error::io("pack", &self.from, e));
        if done.is_err() {
            let _ = fs::remove_file(&to);
        }
        done
    }

    fn packed(&mut self, to: &Path) -> io::Result<bool> {
        let (from, encoder) = match &mut self.at {
            Some(at) => at,
            None => {
                let from = match File::open(&self.from) {
                    // Deleted by its owner.
                    Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(true),
                    other => other?,
                };
                // What lies there was left by a collector that was killed, or is nobody's: it is not written through.
                let _ = fs::remove_file(to);
                let mut options = OpenOptions::new();
                options.write(true).create_new(true);
                #[cfg(unix)]
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
                let encoder = zstd::stream::write::Encoder::new(options.open(to)?, LEVEL)?;
                self.at.insert((from, encoder))
            }
        };
        let mut some = vec![0; PACK];
        let n = from.read(&mut some)?;
        encoder.write_all(&some[..n])?;
        if n > 0 {
            return Ok(false);
        }
        let modified = from.metadata()?.modified()?;
        let (_, encoder) = self.at.take().expect("it was opened");
        let file = encoder.finish()?;
        // Parts are deleted in the order in which they were written.
        let _ = file.set_modified(modified);
        let mut name = self.from.as_os_str().to_owned();
        name.push(PACKED);
        let name = PathBuf::from(name);
        // One of this name is a copy that a kill left, or not this part's: then the part stays as it is.
        if name.exists() && Origin::of(&name) != Origin::of(&self.from) {
            fs::remove_file(to)?;
            return Ok(true);
        }
        fs::rename(to, name)?;
        fs::remove_file(&self.from)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::{Chunk, TraceBuilder, shop_symbols};
    use crate::trace::{Analyzer, Trace};
    use proptest::prelude::*;
    use std::time::Duration;

    const OPTIONS: Options = Options {
        rotate: 3 * CHUNK as u64,
        compress: false,
        keep: 0,
        max_size: 0,
        remove: false,
    };

    #[test]
    fn a_part_has_its_header_before_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.0001.wtrace");
        let begun = dir.path().join("t.0001.wtrace.begun");
        // What a collector left that was killed in between.
        fs::write(&begun, b"").unwrap();
        assert!(Part::create(path.clone(), b"WTRACE", 0).unwrap().is_some());
        assert!(fs::read(&path).unwrap().starts_with(b"WTRACE"));
        assert!(!begun.exists());
        assert!(Part::create(path.clone(), b"another", 0).unwrap().is_none());
        assert!(fs::read(&path).unwrap().starts_with(b"WTRACE"));
        fs::write(&begun, b"").unwrap();
        Collector::new(dir.path(), OPTIONS).unwrap();
        assert!(!begun.exists() && path.exists());
    }

    /// Plays the part of a process: one thread that records a call in each chunk.
    struct Process {
        path: PathBuf,
        file: File,
        serial: u64,
        segment: u32,
        /// Chunks with a segment that is not full, by number.
        open: Vec<u64>,
        chunks: u64,
        /// The chunk with counts.
        counts: Option<u64>,
        /// The chunk with sums, and its serial number.
        sums: Option<(u64, u64)>,
    }

    impl Drop for Process {
        fn drop(&mut self) {
            lock::free_writer(&self.file);
        }
    }

    impl Process {
        fn start(dir: &Path, policy: u32) -> Process {
            Process::named(dir, "t.wtrace", policy)
        }

        fn named(dir: &Path, name: &str, policy: u32) -> Process {
            let path = dir.join(name);
            let mut bytes = (TraceBuilder::new("shop", 1, 0).killed())
                .symbols(&shop_symbols(), 65_000, &[])
                .bytes();
            bytes[32..36].copy_from_slice(&policy.to_le_bytes());
            let chunks = (bytes.len() / CHUNK) as u64;
            fs::write(&path, bytes).unwrap();
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).open(&path).unwrap();
            assert!(lock::take_writer(&file));
            Process {
                path,
                file,
                serial: 100,
                segment: 0,
                open: Vec::new(),
                chunks,
                counts: None,
                sums: None,
            }
        }

        fn take(&mut self) -> u64 {
            let mut head = [0; 4];
            for number in 1..self.chunks {
                read_at(&self.file, &mut head, number * CHUNK as u64).unwrap();
                if head == FREE_MAGIC {
                    return number;
                }
            }
            self.chunks += 1;
            self.chunks - 1
        }

        /// Takes a chunk and enters a method in it.
        fn enter(&mut self) {
            let number = self.take();
            let chunk = Chunk::records(1, self.segment, u64::from(self.segment) * 100).enter(0, 1);
            let mut bytes = chunk.bytes();
            self.serial += 1;
            bytes[8..16].copy_from_slice(&self.serial.to_le_bytes());
            write_at(&self.file, &bytes, number * CHUNK as u64).unwrap();
            self.segment += 1;
            self.open.push(number);
        }

        /// Brings the count of a method up to date.
        fn count(&mut self, calls: u64) {
            if self.counts.is_none() {
                let number = self.take();
                let mut bytes = Chunk::counts(0, 7, &[(3, 0)]).bytes();
                self.serial += 1;
                bytes[8..16].copy_from_slice(&self.serial.to_le_bytes());
                write_at(&self.file, &bytes, number * CHUNK as u64).unwrap();
                self.counts = Some(number);
            }
            let at = self.counts.unwrap() * CHUNK as u64 + CHUNK_HEADER as u64 + 8;
            write_at(&self.file, &calls.to_le_bytes(), at).unwrap();
        }

        /// Brings the sums of a method up to date.
        fn sum(&mut self, calls: u64) {
            if self.sums.is_none() {
                self.serial += 1;
                self.sums = Some((self.take(), self.serial));
            }
            let (number, serial) = self.sums.unwrap();
            let sums = Chunk::new(4, 0, 0, 7).aggregate(3, 21, [calls, calls, 0], [90, 60]);
            let mut bytes = sums.bytes();
            bytes[8..16].copy_from_slice(&serial.to_le_bytes());
            write_at(&self.file, &bytes, number * CHUNK as u64).unwrap();
        }

        /// Leaves the method; the chunk is full.
        fn exit(&mut self) {
            if let Some(number) = self.open.pop() {
                let at = number * CHUNK as u64 + CHUNK_HEADER as u64 + 8;
                let exit = 1u64 << 32 | 50 << 2 | 2;
                write_at(
                    &self.file,
                    &[exit.to_le_bytes(), 24u64.to_le_bytes()].concat(),
                    at,
                )
                .unwrap();
            }
        }
    }

    fn all(out: &Path) -> Trace {
        let mut paths = parts(out).unwrap();
        paths.sort_by_key(|path| peek(path).unwrap().part);
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        Trace::open_parts(&paths).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 48 }))]

        /// Whatever happens in whatever order, each record is there once, and each file by itself is a trace.
        #[test]
        fn nothing_is_lost_and_nothing_is_twice(
            steps in proptest::collection::vec(0u8..12, 1..60),
            compress: bool,
            rotate in 1u64..8,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let out = dir.path().join("out");
            let options = Options { compress, rotate: rotate * CHUNK as u64, ..OPTIONS };
            let mut process = Process::start(dir.path(), 2);
            let attached = |path: &Path| {
                let mut collector = Collector::new(&out, options).unwrap();
                assert!(collector.attach(path).unwrap());
                collector
            };
            let mut collector = attached(&process.path);
            for step in steps {
                match step {
                    0..4 => process.enter(),
                    4..7 => process.exit(),
                    7..10 => {
                        collector.turn().unwrap();
                    }
                    10 => {
                        // Killed after it has copied, before it gave the chunk back.
                        let before: Vec<u64> = (1..process.chunks).collect();
                        let full = |n: &u64| {
                            let mut head = [0; 4];
                            read_at(&process.file, &mut head, n * CHUNK as u64).unwrap();
                            head == CHUNK_MAGIC && !process.open.contains(n)
                        };
                        let was: Vec<u64> = before.into_iter().filter(|n| full(n)).collect();
                        collector.turn().unwrap();
                        for n in was.iter().filter(|n| !full(n)) {
                            write_at(&process.file, &CHUNK_MAGIC, n * CHUNK as u64).unwrap();
                        }
                        drop(collector);
                        collector = attached(&process.path);
                    }
                    _ => {
                        collector.stop().unwrap();
                        collector = attached(&process.path);
                    }
                }
            }
            let open = process.open.len() as u64;
            let entered = u64::from(process.segment);
            drop(process);
            while !collector.is_done() {
                collector.turn().unwrap();
            }
            collector.stop().unwrap();
            if entered > 0 {
                let trace = all(&out);
                prop_assert_eq!(trace.records(), 2 * entered - open);
                prop_assert_eq!(trace.threads().iter().map(|t| t.missing).sum::<u64>(), 0);
                prop_assert_eq!(trace.threads().len(), 1);
                prop_assert!(trace.symbols().get(1).is_some());
                let mut analyzer = Analyzer::new(Default::default());
                analyzer.add(&trace);
                prop_assert!(analyzer.finish().processes[0].notes.lines().iter().all(|n| n.contains("exit")));
                for part in parts(&out).unwrap() {
                    prop_assert_eq!(is_packed(&part), compress);
                    let one = Trace::open(&part).unwrap();
                    prop_assert!(one.records() > 0 && one.symbols().get(1).is_some());
                }
            }
        }
    }

    #[test]
    fn a_ring_is_copied_when_its_process_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let mut process = Process::start(dir.path(), 0);
        let mut collector = Collector::new(&out, OPTIONS).unwrap();
        assert!(collector.attach(&process.path).unwrap());
        assert!(
            collector.news()[0]
                .what
                .contains("ring: cannot be taken from")
        );
        for _ in 0..5 {
            process.enter();
            process.exit();
        }
        assert_eq!(collector.turn().unwrap().chunks, 0);
        drop(process);
        assert_eq!(collector.turn().unwrap().chunks, 5);
        assert!(collector.is_done());
        assert_eq!(all(&out).records(), 10);
    }

    /// Each part has the counts and sums so far, so that the last has all: whichever parts are kept, packed or read together with the
    /// trace itself, none is lost and none is twice.
    #[test]
    fn counts_and_sums_are_those_of_the_last_part() {
        for (policy, compress, keep) in [(2, false, 0), (1, true, 2), (0, false, 0)] {
            let dir = tempfile::tempdir().unwrap();
            let out = dir.path().join("out");
            let options = Options {
                compress,
                keep,
                rotate: 1,
                ..OPTIONS
            };
            let mut process = Process::start(dir.path(), policy);
            let mut collector = Collector::new(&out, options).unwrap();
            assert!(collector.attach(&process.path).unwrap());
            for calls in 1..=5 {
                process.count(10 * calls);
                process.sum(20 * calls);
                process.enter();
                process.exit();
                collector.turn().unwrap();
                if calls == 3 {
                    collector.stop().unwrap();
                    collector = Collector::new(&out, options).unwrap();
                    assert!(collector.attach(&process.path).unwrap());
                }
            }
            // Nothing but a count comes behind what was collected.
            process.count(1_000);
            process.sum(2_000);
            let source = process.path.clone();
            drop(process);
            while !collector.is_done() {
                collector.turn().unwrap();
            }
            collector.stop().unwrap();
            let trace = all(&out);
            assert_eq!(trace.counts().calls.get(&3), Some(&1_000));
            let mut analyzer = Analyzer::new(Default::default());
            for part in parts(&out).unwrap() {
                analyzer.add(&Trace::open(&part).unwrap());
            }
            analyzer.add(&Trace::open(&source).unwrap());
            let counted = analyzer.stats().iter().map(|stats| stats.counted);
            assert_eq!(counted.sum::<u64>(), 1_000);
            let summed = analyzer.stats().iter().find(|stats| stats.aggregated > 0);
            let summed = summed.unwrap();
            assert_eq!((summed.aggregated, summed.own), (2_000, 120_000));
        }
    }

    /// A program that only counts leaves a part as well.
    #[test]
    fn counts_alone_are_collected() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let mut process = Process::start(dir.path(), 2);
        let mut collector = Collector::new(&out, OPTIONS).unwrap();
        assert!(collector.attach(&process.path).unwrap());
        process.count(3);
        drop(process);
        while !collector.is_done() {
            collector.turn().unwrap();
        }
        assert_eq!(all(&out).counts().calls.get(&3), Some(&3));
    }

    #[test]
    fn a_trace_has_one_consumer() {
        let dir = tempfile::tempdir().unwrap();
        let process = Process::start(dir.path(), 2);
        let mut one = Collector::new(&dir.path().join("one"), OPTIONS).unwrap();
        assert!(one.attach(&process.path).unwrap());
        let mut two = Collector::new(&dir.path().join("two"), OPTIONS).unwrap();
        let e = two.attach(&process.path).unwrap_err().to_string();
        let mine = format!("process {} collects it already", std::process::id());
        assert!(e.contains(&mine), "{e}");
        one.stop().unwrap();
        assert!(two.attach(&process.path).unwrap());
        // What a collector wrote is no trace to collect.
        assert!(!two.attach(&dir.path().join("t.wtrace")).unwrap());
    }

    #[test]
    fn the_oldest_parts_go() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let options = Options {
            keep: 2,
            rotate: 1,
            ..OPTIONS
        };
        let mut process = Process::start(dir.path(), 1);
        let mut collector = Collector::new(&out, options).unwrap();
        collector.attach(&process.path).unwrap();
        for _ in 0..5 {
            process.enter();
            process.exit();
            collector.turn().unwrap();
            std::thread::sleep(Duration::from_millis(5));
        }
        let names: Vec<_> = (parts(&out).unwrap().iter())
            .map(|p| p.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["t.0004.wtrace", "t.0005.wtrace"]);
        let trace = all(&out);
        assert_eq!(trace.records(), 4);
        assert_eq!(
            trace.notes().lines(),
            ["of the collected trace, parts 1 to 3 are not here"]
        );
    }

    fn names(out: &Path) -> Vec<String> {
        let entries = fs::read_dir(out).unwrap();
        let mut names: Vec<String> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// A call in a chunk of its own.
    fn call(process: &mut Process) {
        process.enter();
        process.exit();
    }

    #[cfg(unix)]
    #[test]
    fn two_collectors_in_a_folder_leave_each_other_alone() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let options = Options {
            compress: true,
            rotate: 1 << 30,
            keep: 1,
            ..OPTIONS
        };
        let mut processes = ["a.wtrace", "b.wtrace"].map(|n| Process::named(dir.path(), n, 2));
        let mut collectors = Vec::new();
        for process in &mut processes {
            let mut collector = Collector::new(&out, options).unwrap();
            assert!(collector.attach(&process.path).unwrap());
            call(process);
            collector.turn().unwrap();
            collectors.push(collector);
        }
        // Both go on in the parts that they had open when the other began, or bounded what is kept.
        for _ in 0..3 {
            for (process, collector) in processes.iter_mut().zip(&mut collectors) {
                call(process);
                collector.turn().unwrap();
            }
        }
        assert_eq!(names(&out), ["a.0001.wtrace", "b.0001.wtrace"]);
        drop(processes);
        for collector in collectors {
            collector.stop().unwrap();
        }
        assert_eq!(names(&out), ["a.0001.wtrace.zst", "b.0001.wtrace.zst"]);
        for part in parts(&out).unwrap() {
            assert_eq!(Trace::open(&part).unwrap().records(), 8, "{part:?}");
        }
    }

    #[test]
    fn two_traces_of_one_name_share_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let options = Options {
            compress: true,
            rotate: 1,
            ..OPTIONS
        };
        let mut both = Vec::new();
        for folder in ["x", "y"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
            let process = Process::start(&dir.path().join(folder), 2);
            // Another process.
            let pid = if folder == "x" { 71u64 } else { 72 };
            write_at(&process.file, &pid.to_le_bytes(), 24).unwrap();
            let mut collector = Collector::new(&out, options).unwrap();
            assert!(collector.attach(&process.path).unwrap());
            both.push((process, collector));
        }
        for _ in 0..4 {
            for (process, collector) in &mut both {
                call(process);
                collector.turn().unwrap();
            }
        }
        for (process, collector) in both {
            drop(process);
            collector.stop().unwrap();
        }
        let all = parts(&out).unwrap();
        assert_eq!(all.len(), 8, "{all:?}");
        let records = |path: &PathBuf| Trace::open(path).unwrap().records();
        assert_eq!(all.iter().map(records).sum::<u64>(), 16);
    }

    #[test]
    fn only_parts_of_the_collection_are_packed_and_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let (traces, out) = (dir.path().join("traces"), dir.path().join("out"));
        fs::create_dir(&traces).unwrap();
        let collected = |name: &str, watched: bool, options| {
            let mut process = Process::named(&traces, name, 2);
            let mut collector = Collector::new(&out, options).unwrap();
            if watched {
                collector.watch(&traces).unwrap();
            }
            assert!(collector.attach(&process.path).unwrap());
            for _ in 0..3 {
                call(&mut process);
                collector.turn().unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
            fs::remove_file(&process.path).unwrap();
            drop(process);
            collector.stop().unwrap();
        };
        let plain = Options {
            rotate: 1,
            ..OPTIONS
        };
        // Of another collection, of a user, of an earlier process of the folder, of a trace that is no part.
        collected("other.wtrace", false, plain);
        let others = [
            "notes.0001.wtrace",
            "notes.0002.wtrace.zst",
            "notes.0003.wtrace.begun",
            "whole.0001.wtrace",
        ];
        for name in others {
            fs::write(out.join(name), "mine").unwrap();
        }
        let whole = Process::named(&traces, "whole.wtrace", 2);
        fs::copy(&whole.path, out.join("whole.0001.wtrace")).unwrap();
        fs::remove_file(&whole.path).unwrap();
        collected("earlier.wtrace", true, plain);
        let before = names(&out);
        assert!(before.iter().any(|name| name == "earlier.0003.wtrace"));

        let bounded = Options {
            compress: true,
            keep: 2,
            ..plain
        };
        collected("now.wtrace", true, bounded);
        let mut expected = vec!["now.0002.wtrace.zst", "now.0003.wtrace.zst"];
        expected.extend(others);
        expected.extend([
            "other.0001.wtrace",
            "other.0002.wtrace",
            "other.0003.wtrace",
        ]);
        expected.sort_unstable();
        assert_eq!(names(&out), expected);
        assert_eq!(fs::read(out.join("notes.0001.wtrace")).unwrap(), b"mine");
    }

    #[test]
    fn hostile_traces_are_no_trap() {
        let dir = tempfile::tempdir().unwrap();
        let mut process = Process::start(dir.path(), 2);
        process.enter();
        let number = process.open[0];
        // An escape that claims more words than there are.
        write_at(
            &process.file,
            &(0xff_ffffu64 << 8 | 4).to_le_bytes(),
            number * CHUNK as u64 + 40,
        )
        .unwrap();
        let mut collector = Collector::new(&dir.path().join("out"), OPTIONS).unwrap();
        collector.attach(&process.path).unwrap();
        assert_eq!(collector.turn().unwrap().chunks, 0);
        // Cut off below what was there.
        process.file.set_len(CHUNK as u64 + 100).unwrap();
        collector.turn().unwrap();
        drop(process);
        while !collector.is_done() {
            collector.turn().unwrap();
        }
    }
}
