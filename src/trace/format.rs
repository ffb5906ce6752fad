//! The bytes of a trace (`docs/trace-format.md`): header, chunk header, words.

use crate::bytes::Cursor;
use crate::error::{Error, Kind, Result};
use std::borrow::Cow;

/// First bytes of a trace ("Header").
pub const MAGIC: [u8; 8] = *b"WTRACE\r\n";
/// Version of the layout.
pub const VERSION: u16 = 1;
/// Size of every chunk, the header's too.
pub const CHUNK: usize = 65_536;
/// First bytes of a chunk in use ("Chunks").
pub const CHUNK_MAGIC: [u8; 4] = *b"WCHK";
/// First bytes of a chunk that a consumer has given back ("Consumers").
pub const FREE_MAGIC: [u8; 4] = *b"WFRE";
/// Size of a chunk's own header.
pub const CHUNK_HEADER: usize = 32;
/// Chunk kind: records.
pub const CHUNK_RECORDS: u32 = 1;
/// Chunk kind: a part of a symbols map.
pub const CHUNK_SYMBOLS: u32 = 2;
/// Chunk kind: counts of methods that are only counted ("Counts").
pub const CHUNK_COUNTS: u32 = 3;
/// Chunk kind: sums of methods that are summed up in the process ("Aggregates").
pub const CHUNK_AGGREGATES: u32 = 4;

/// Chunk kind: what was switched while the program ran ("Control").
pub const CHUNK_CONTROL: u32 = 5;

/// Bytes of a header's fixed fields.
const HEADER_FIXED: usize = 84;
/// Longest text in a header.
const HEADER_TEXT: usize = 4_000;

/// Offset of what the library has to tell of the run: a length and lines of text.
const HEADER_NOTES: usize = 4_096;

/// Offset of the fields behind the text.
const HEADER_MORE: usize = 8_192;
/// Offset of the consumer's process id.
pub const CONSUMER_AT: usize = 8_216;
/// Offset of the consumer's heartbeat.
pub const HEARTBEAT_AT: usize = 8_224;
/// Offset of the number of chunks that consumers took out.
pub const COLLECTED_AT: usize = 8_232;
/// Offset of the number of this part of a collected trace; 0 in a trace as its process wrote it.
pub const PART_AT: usize = 8_240;
/// Offset of what all parts of a collected trace have in common.
pub const IDENTITY_AT: usize = 8_248;
/// Offset of what the library says of being controlled ("Control").
pub const CONTROL_AT: usize = 8_264;
/// Offset of what only who can read the trace knows ("Control").
pub const NONCE_AT: usize = 8_272;
/// Bytes of a header that have a meaning.
pub const HEADER_USED: usize = 8_288;

/// Policy: the oldest chunks are overwritten.
pub const POLICY_RING: u32 = 0;
/// Policy: what finds no room is dropped.
pub const POLICY_DROP: u32 = 1;
/// Policy: threads wait for room.
pub const POLICY_BLOCK: u32 = 2;

/// Escape type: sets the clock.
pub const ESCAPE_TIME: u8 = 1;
/// Escape type: another thread's records follow.
pub const ESCAPE_SEGMENT: u8 = 2;
/// Escape type: names a thread.
pub const ESCAPE_THREAD: u8 = 3;
/// Escape type: details of an exception.
pub const ESCAPE_EXCEPTION: u8 = 4;
/// Escape type: records are missing here.
pub const ESCAPE_LOST: u8 = 5;
/// Escape type: the chunk is full; ends the data.
pub const ESCAPE_END: u8 = 6;
/// Escape type: an exception ends the process.
pub const ESCAPE_UNHANDLED: u8 = 7;
/// Escape type: what the process used at one time ("Samples").
pub const ESCAPE_SAMPLE: u8 = 8;
/// Escape type: a value of a call ("Values").
pub const ESCAPE_VALUE: u8 = 9;
/// Escape type: time of the innermost call that was spent in calls that are summed up.
pub const ESCAPE_AGGREGATED: u8 = 10;

/// Escape: CPU time of a thread.
pub const ESCAPE_CPU: u8 = 11;
/// Escape type: a call that is summed up, told by itself.
pub const ESCAPE_SLOW: u8 = 12;
/// Escape type: the next call is the outermost of a sampled tree.
pub const ESCAPE_SAMPLED: u8 = 13;

/// Escape type: the next call is a span ("Spans").
pub const ESCAPE_SPAN: u8 = 14;
/// Escape type: the thread runs in another context from here on.
pub const ESCAPE_CONTEXT: u8 = 15;

/// Escape type: the next call record is of a logical call ("Logical calls").
pub const ESCAPE_LOGICAL: u8 = 16;
/// Escape type: a logical call begins, and does not run yet.
pub const ESCAPE_BEGIN: u8 = 17;
/// Escape type: a logical call ends while it does not run.
pub const ESCAPE_COMPLETE: u8 = 18;
/// Escape: the call that the next exit record ends goes on as a logical call.
pub const ESCAPE_STAYS: u8 = 19;

/// LOGICAL flag: the piece that begins is the call's first.
pub const LOGICAL_FIRST: u32 = 1;

/// THREAD flag: a virtual thread.
pub const THREAD_VIRTUAL: u32 = 1;
/// THREAD flag: a daemon thread.
pub const THREAD_DAEMON: u32 = 2;
/// THREAD flag: the hook library's own, which has samples and no records.
pub const THREAD_OWN: u32 = 4;

/// VALUE flag: the text is cut.
pub const VALUE_CUT: u8 = 1;
/// VALUE flag: parts of it are masked.
pub const VALUE_MASKED: u8 = 2;
/// VALUE flag: it is of the end of the call.
pub const VALUE_OF_END: u8 = 4;
/// VALUE flag: it is of the entry span of the context, and of no call.
pub const VALUE_OF_ENTRY: u8 = 8;

/// SPAN and CONTEXT flag, beside those of W3C in the low byte: the parent is of another process.
pub const SPAN_REMOTE: u64 = 1 << 8;

/// SPAN flag: a BEGIN escape follows, and no call of the thread is the span.
pub const SPAN_BEGUN: u64 = 1 << 9;

/// Header flag: the process ended in an orderly way.
pub const FLAG_ORDERLY: u32 = 1;

/// Chunk 0.
#[derive(Clone, Debug, Default)]
pub struct Header {
    /// Wall-clock time at the origin, nanoseconds since 1970-01-01 UTC.
    pub origin: u64,
    /// Process id.
    pub pid: u64,
    /// What happens at the limit: 0 ring, 1 drop, 2 block.
    pub policy: u32,
    /// [`FLAG_ORDERLY`].
    pub flags: u32,
    /// Records lost.
    pub lost: u64,
    /// Chunks overwritten by the ring.
    pub overwritten: u64,
    /// Hook failures swallowed.
    pub failures: u64,
    /// Time of the orderly end, else 0.
    pub end: u64,
    /// The command line, if the host gives it.
    pub command: String,
    /// What the library has to tell of the run, and is nothing wrong.
    pub notes: Vec<String>,
    /// Of the records lost, those for which the stack was short.
    pub stack_short: u64,
    /// Of the records lost, those whose hook failed.
    pub hook_failed: u64,
    /// Of the records lost, those in chunks that the ring overwrote; 0 though chunks were: the library did not say it.
    pub ring_overwrote: u64,
    /// The consumer's process id, or 0.
    pub consumer: u64,
    /// What the consumer adds to while it lives.
    pub heartbeat: u64,
    /// Chunks that consumers took out.
    pub collected: u64,
    /// Number of this part of a collected trace, from 1; 0 in a trace as its process wrote it.
    pub part: u32,
    /// What all parts of a collected trace have in common.
    pub identity: u64,
    /// The library looks for requests of `weave control`.
    pub controlled: bool,
    /// The number of the last request that it has taken, from 1; 0 for none.
    pub request: u32,
    /// Bytes that nobody can guess; zero in what an older library wrote.
    pub nonce: [u8; 16],
}

/// The library's lines in chunk 0, as text for people.
fn notes(data: &[u8]) -> Vec<String> {
    let Some((length, rest)) = (data.get(HEADER_NOTES..)).and_then(|at| at.split_first_chunk())
    else {
        return Vec::new();
    };
    let length = (u32::from_le_bytes(*length) as usize).min(HEADER_TEXT);
    let text = String::from_utf8_lossy(&rest[..length.min(rest.len())]);
    let shown = |line: &str| line.replace(char::is_control, "\u{fffd}");
    text.lines().map(shown).collect()
}

impl Header {
    /// Reads chunk 0 again. Heartbeat and collected chunks are the consumer's own: they stay if `consumes`.
    pub fn refresh(&mut self, data: &[u8], consumes: bool) -> Result<()> {
        let header = Header::read(data)?;
        let before = std::mem::replace(self, header);
        if consumes {
            self.heartbeat = before.heartbeat;
            self.collected = self.collected.max(before.collected);
        }
        Ok(())
    }

    /// Reads and checks chunk 0.
    pub fn read(data: &[u8]) -> Result<Header> {
        if !data.starts_with(&MAGIC) {
            return Err(Error::malformed(0, "not a trace (no WTRACE at its start)"));
        }
        let mut c = Cursor::at(data, MAGIC.len());
        let version = c.le_u16()?;
        if version != VERSION {
            return Err(Error::new(
                Kind::Unsupported,
                format!("trace of version {version}; this weave reads {VERSION}"),
            ));
        }
        c.le_u16()?;
        let chunk = c.le_u32()?;
        if chunk as usize != CHUNK {
            return Err(Error::malformed(
                12,
                format!("chunk size {chunk}; version {VERSION} has {CHUNK}"),
            ));
        }
        let (origin, pid, policy, flags) = (c.le_u64()?, c.le_u64()?, c.le_u32()?, c.le_u32()?);
        let _limit = c.le_u64()?;
        let mut header = Header {
            origin,
            pid,
            policy,
            flags,
            lost: c.le_u64()?,
            overwritten: c.le_u64()?,
            failures: c.le_u64()?,
            end: c.le_u64()?,
            ..Header::default()
        };
        let len = (c.le_u32()? as usize).min(HEADER_TEXT);
        let text = &data[HEADER_FIXED..data.len().min(HEADER_FIXED + len)];
        header.command = String::from_utf8_lossy(text).into_owned();
        let more = |at: usize| match data.get(at..at + 8) {
            Some(bytes) => u64::from_le_bytes(bytes.try_into().expect("eight bytes")),
            None => 0,
        };
        header.notes = notes(data);
        header.stack_short = more(HEADER_MORE + 8);
        header.hook_failed = more(HEADER_MORE + 16);
        header.ring_overwrote = more(HEADER_MORE + 64);
        header.consumer = more(CONSUMER_AT);
        header.heartbeat = more(HEARTBEAT_AT);
        header.collected = more(COLLECTED_AT);
        header.part = more(PART_AT) as u32;
        header.identity = more(IDENTITY_AT);
        let control = more(CONTROL_AT);
        (header.controlled, header.request) = (control as u32 != 0, (control >> 32) as u32);
        let nonce = data.get(NONCE_AT..HEADER_USED);
        header.nonce = nonce.map_or([0; 16], |nonce| nonce.try_into().expect("16 bytes"));
        Ok(header)
    }
}

/// The header of a chunk after its magic.
#[derive(Clone, Copy, Debug)]
pub struct ChunkHeader {
    /// [`CHUNK_RECORDS`], [`CHUNK_SYMBOLS`], [`CHUNK_COUNTS`], [`CHUNK_AGGREGATES`] or [`CHUNK_CONTROL`].
    pub kind: u32,
    /// Order in which chunks were taken.
    pub serial: u64,
    /// Logical thread, number of the map, or number of the chunk among those of its kind.
    pub owner: u32,
    /// Segment, or part.
    pub number: u32,
    /// Time at which the clock starts or the counts or sums were begun, or the bytes used (low) and of the whole map (high).
    pub start: u64,
}

impl ChunkHeader {
    pub fn read(chunk: &[u8]) -> Result<ChunkHeader> {
        let mut c = Cursor::at(chunk, CHUNK_MAGIC.len());
        Ok(ChunkHeader {
            kind: c.le_u32()?,
            serial: c.le_u64()?,
            owner: c.le_u32()?,
            number: c.le_u32()?,
            start: c.le_u64()?,
        })
    }
}

/// What a call record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// The method was entered.
    Enter,
    /// The method returned.
    Exit,
    /// An exception left the method.
    Error,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Record<'a> {
    /// Enter, exit or error of a method.
    Call {
        /// Which of the three.
        kind: CallKind,
        /// When.
        time: u64,
        /// Method id.
        id: u32,
    },
    /// Everything else.
    Escape(Escape<'a>),
}

/// An escape record.
#[derive(Clone, Debug, PartialEq)]
pub enum Escape<'a> {
    /// The clock was set.
    Time,
    /// The records that follow belong to this thread.
    Segment {
        /// Logical thread.
        thread: u32,
        /// Number of the segment.
        number: u64,
    },
    /// Names a thread.
    Thread {
        /// Logical thread.
        thread: u32,
        /// [`THREAD_VIRTUAL`], [`THREAD_DAEMON`].
        flags: u32,
        name: Cow<'a, str>,
    },
    /// Details of the exception of the next error record.
    Exception {
        type_name: Cow<'a, str>,
        /// Its message, or empty.
        message: Cow<'a, str>,
    },
    /// That many records are missing here.
    Lost(u64),
    /// An unhandled exception ends the process, and with it the thread's calls.
    Unhandled {
        /// When.
        time: u64,
    },
    /// What the process used at one time.
    Sample {
        /// When.
        time: u64,
        /// Words: the metric's number in the low byte, the value in the others.
        values: &'a [u8],
    },
    /// CPU time that a thread has used so far.
    Cpu {
        /// Logical thread.
        thread: u32,
        /// When.
        time: u64,
        /// Nanoseconds.
        used: u64,
    },
    /// A value of the next call of a method, or of the end of the one at hand.
    Value {
        /// Method id.
        id: u32,
        value: RawValue<'a>,
    },
    /// Of the innermost open call, so many nanoseconds more were spent in calls that are summed up, apart from recorded ones below
    /// those.
    Aggregated(u64),
    /// A call that is in the sums of its method, told by itself: it took long, or failed.
    Slow {
        /// Method id.
        id: u32,
        start: u64,
        /// Nanoseconds.
        took: u64,
        failed: bool,
    },
    /// The next enter record is of an outermost sampled call.
    Sampled {
        /// Method id.
        id: u32,
        /// How many calls it stands for.
        weight: u64,
    },
    /// The next enter record is of a call that is a span.
    Span {
        /// Method id.
        id: u32,
        span: SpanContext,
    },
    /// The thread runs below this span from here on; below none, where its id is 0.
    Context(SpanContext),
    /// The next call record is of a logical call.
    Logical {
        /// [`LOGICAL_FIRST`] and others.
        flags: u32,
        /// Its number.
        call: u64,
    },
    /// A logical call begins, and does not run yet.
    Begin {
        /// Method id.
        id: u32,
        /// Its number.
        call: u64,
        /// When.
        time: u64,
    },
    /// The call that the next exit record ends was the first piece of a logical call, which goes on.
    Stays {
        /// Its number.
        call: u64,
    },
    /// A logical call ends while it does not run.
    Complete {
        /// Method id.
        id: u32,
        /// Its number.
        call: u64,
        /// When.
        time: u64,
        /// By an exception.
        failed: bool,
    },
    /// A type that this reader does not know, or a payload too short for its type.
    Unknown(u8),
}

/// A span, and so the context of what runs below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanContext {
    pub trace: u128,
    pub span: u64,
    /// 0: it begins a trace, or nothing is said of it.
    pub parent: u64,
    /// Those of W3C Trace Context in the low byte, and [`SPAN_REMOTE`].
    pub flags: u64,
}

/// A value as it lies in the trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawValue<'a> {
    /// Its number in the method's list.
    pub number: u16,
    /// [`VALUE_CUT`] and others.
    pub flags: u8,
    pub data: RawData<'a>,
}

/// What a value is. Texts are UTF-16 units, which may be lone surrogates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RawData<'a> {
    Null,
    Integer(i64),
    Unsigned(u64),
    Double(f64),
    Float(f32),
    Boolean(bool),
    Char(u16),
    Text(&'a [u8]),
    /// Text that stands for an object.
    Object(&'a [u8]),
    /// Why there is no value.
    Missing(&'a [u8]),
}

impl<'a> RawValue<'a> {
    /// `None` for a kind that this reader does not know, or a payload too short for its kind.
    fn read(payload: &'a [u8]) -> Option<RawValue<'a>> {
        let mut c = Cursor::new(payload);
        let head = c.le_u64().ok()?;
        let kind = head as u8;
        let data = match kind {
            1 => RawData::Null,
            2..=7 => {
                let word = c.le_u64().ok()?;
                match kind {
                    2 => RawData::Integer(word as i64),
                    3 => RawData::Unsigned(word),
                    4 => RawData::Double(f64::from_bits(word)),
                    5 => RawData::Float(f32::from_bits(word as u32)),
                    6 => RawData::Boolean(word != 0),
                    _ => RawData::Char(word as u16),
                }
            }
            8..=10 => {
                let units = (head >> 32) as usize;
                let text = c.take(units.checked_mul(2)?).ok()?;
                match kind {
                    8 => RawData::Text(text),
                    9 => RawData::Object(text),
                    _ => RawData::Missing(text),
                }
            }
            _ => return None,
        };
        Some(RawValue {
            number: (head >> 16) as u16,
            flags: (head >> 8) as u8,
            data,
        })
    }
}

/// Decodes the words of one chunk or segment.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    data: &'a [u8],
    at: usize,
    last: usize,
    time: u64,
    damaged: bool,
}

impl<'a> Decoder<'a> {
    /// A decoder over whole words, whose clock starts at `time`.
    pub fn new(data: &'a [u8], time: u64) -> Decoder<'a> {
        Decoder {
            data,
            at: 0,
            last: 0,
            time,
            damaged: false,
        }
    }

    /// The clock after the last record.
    pub fn time(&self) -> u64 {
        self.time
    }

    /// Byte offset of the record returned last.
    pub fn last(&self) -> usize {
        self.last
    }

    /// Byte offset after the record returned last.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Whether the records ended at a word that makes no sense, not at their end.
    pub fn damaged(&self) -> bool {
        self.damaged
    }

    #[inline]
    #[allow(clippy::should_implement_trait)] // the decoder is asked for its state between records
    pub fn next(&mut self) -> Option<Record<'a>> {
        let word = self.data.get(self.at..self.at + 8)?;
        let word = u64::from_le_bytes(word.try_into().ok()?);
        let kind = match word & 3 {
            0 => return self.escape(word),
            1 => CallKind::Enter,
            2 => CallKind::Exit,
            _ => CallKind::Error,
        };
        self.last = self.at;
        self.at += 8;
        self.time = self.time.saturating_add(u64::from(word as u32 >> 2));
        Some(Record::Call {
            kind,
            time: self.time,
            id: (word >> 32) as u32,
        })
    }

    /// Skips the call records that come next, and tells how many. Like [`Decoder::next`] for each, but nearly all of a
    /// trace is such records, and who only counts them needs nothing else of them.
    pub fn skip_calls(&mut self) -> u64 {
        let rest = self.data.get(self.at..).unwrap_or_default();
        let (mut calls, mut elapsed) = (0, 0u64);
        for word in rest.chunks_exact(8) {
            let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
            if word & 3 == 0 {
                break;
            }
            calls += 1;
            elapsed += u64::from(word as u32 >> 2);
        }
        if calls > 0 {
            self.at += calls * 8;
            self.last = self.at - 8;
            self.time = self.time.saturating_add(elapsed);
        }
        calls as u64
    }

    // Next to all records are calls, whose loop keeps its registers so.
    #[cold]
    #[inline(never)]
    fn escape(&mut self, word: u64) -> Option<Record<'a>> {
        if word == 0 {
            return None;
        }
        let ty = (word >> 2 & 0x3f) as u8;
        if ty == ESCAPE_END {
            return None;
        }
        let len = (word >> 8 & 0xff_ffff) as usize * 8;
        let argument = (word >> 32) as u32;
        let start = self.at + 8;
        let payload = match self.data.get(start..start + len) {
            Some(payload) if ty != 0 => payload,
            _ => {
                self.damaged = true;
                return None;
            }
        };
        self.last = self.at;
        self.at = start + len;
        Some(Record::Escape(
            self.known(ty, argument, payload)
                .unwrap_or(Escape::Unknown(ty)),
        ))
    }

    fn known(&mut self, ty: u8, argument: u32, payload: &'a [u8]) -> Option<Escape<'a>> {
        let mut c = Cursor::new(payload);
        Some(match ty {
            ESCAPE_TIME => {
                self.time = c.le_u64().ok()?;
                Escape::Time
            }
            ESCAPE_SEGMENT => {
                let number = c.le_u64().ok()?;
                self.time = c.le_u64().ok()?;
                Escape::Segment {
                    thread: argument,
                    number,
                }
            }
            ESCAPE_THREAD => thread(argument, c)?,
            ESCAPE_EXCEPTION => exception(c)?,
            ESCAPE_LOST => Escape::Lost(c.le_u64().ok()?),
            ESCAPE_UNHANDLED => {
                c.le_u64().ok()?;
                Escape::Unhandled {
                    time: c.le_u64().ok()?,
                }
            }
            ESCAPE_SAMPLE => Escape::Sample {
                time: c.le_u64().ok()?,
                values: &payload[8..],
            },
            ESCAPE_CPU => Escape::Cpu {
                thread: argument,
                time: c.le_u64().ok()?,
                used: c.le_u64().ok()?,
            },
            ESCAPE_VALUE => Escape::Value {
                id: argument,
                value: RawValue::read(payload)?,
            },
            ESCAPE_AGGREGATED => Escape::Aggregated(c.le_u64().ok()?),
            ESCAPE_SLOW => {
                let (start, took) = (c.le_u64().ok()?, c.le_u64().ok()?);
                Escape::Slow {
                    id: argument,
                    start,
                    took: took & i64::MAX as u64,
                    failed: took >> 63 != 0,
                }
            }
            ESCAPE_SAMPLED => Escape::Sampled {
                id: argument,
                weight: c.le_u64().ok()?,
            },
            ESCAPE_SPAN => Escape::Span {
                id: argument,
                span: SpanContext {
                    trace: trace_id(&mut c)?,
                    span: c.le_u64().ok()?,
                    parent: c.le_u64().ok()?,
                    flags: c.le_u64().ok()?,
                },
            },
            ESCAPE_CONTEXT => Escape::Context(SpanContext {
                trace: trace_id(&mut c)?,
                span: c.le_u64().ok()?,
                parent: 0,
                flags: c.le_u64().ok()?,
            }),
            ESCAPE_LOGICAL => Escape::Logical {
                flags: argument,
                call: c.le_u64().ok()?,
            },
            ESCAPE_BEGIN => Escape::Begin {
                id: argument,
                call: c.le_u64().ok()?,
                time: c.le_u64().ok()?,
            },
            ESCAPE_STAYS => Escape::Stays {
                call: c.le_u64().ok()?,
            },
            ESCAPE_COMPLETE => Escape::Complete {
                id: argument,
                call: c.le_u64().ok()?,
                time: c.le_u64().ok()?,
                failed: c.le_u64().ok()? != 0,
            },
            _ => return None,
        })
    }
}

/// The head of a thread's records.
fn thread<'a>(thread: u32, mut c: Cursor<'a>) -> Option<Escape<'a>> {
    let flags = c.le_u32().ok()?;
    let len = c.le_u32().ok()? as usize;
    let name = String::from_utf8_lossy(c.take(len).ok()?);
    Some(Escape::Thread {
        thread,
        flags,
        name,
    })
}

/// What an exception is: the lengths of both texts come first.
fn exception<'a>(mut c: Cursor<'a>) -> Option<Escape<'a>> {
    let type_len = c.le_u32().ok()? as usize;
    let message_len = c.le_u32().ok()? as usize;
    Some(Escape::Exception {
        type_name: String::from_utf8_lossy(c.take(type_len).ok()?),
        message: String::from_utf8_lossy(c.take(message_len).ok()?),
    })
}

/// The high half, then the low one.
fn trace_id(c: &mut Cursor<'_>) -> Option<u128> {
    let (high, low) = (c.le_u64().ok()?, c.le_u64().ok()?);
    Some(u128::from(high) << 64 | u128::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::Chunk;

    #[test]
    fn skipping_calls_is_decoding_them() {
        let chunk = Chunk::records(1, 0, 100)
            .enter(5, 7)
            .exit(9, 7)
            .time(1 << 40)
            .lost(3)
            .enter(5, 7)
            .error(1, 7)
            .bytes();
        // Whole chunks, and chunks that are cut off in a word.
        for len in [chunk.len(), CHUNK_HEADER + 61, CHUNK_HEADER + 12] {
            for start in [100, u64::MAX - 7] {
                let mut one = Decoder::new(&chunk[CHUNK_HEADER..len], start);
                let mut other = one.clone();
                loop {
                    let mut calls = 0;
                    let mut ahead = one.clone();
                    while let Some(Record::Call { .. }) = ahead.next() {
                        one.next();
                        ahead = one.clone();
                        calls += 1;
                    }
                    assert_eq!(other.skip_calls(), calls);
                    let state = |d: &Decoder| (d.at, d.last, d.time);
                    assert_eq!(state(&other), state(&one));
                    if one.next().is_none() {
                        break;
                    }
                    other.next();
                }
            }
        }
    }

    #[test]
    fn words_decode_in_order() {
        let chunk = Chunk::records(1, 0, 100)
            .enter(5, 7)
            .time(1 << 40)
            .exception("T", "message")
            .error(1, 7)
            .escape(63, 9, &[1, 2])
            .begin(7, 4, 2)
            .resume(1, 7, 4, true)
            .complete(7, 4, 3, true)
            .cpu(1, 5, 4)
            .lost(3)
            .bytes();
        let mut d = Decoder::new(&chunk[CHUNK_HEADER..], 100);
        let mut seen = Vec::new();
        while let Some(record) = d.next() {
            seen.push(record);
        }
        assert!(!d.damaged());
        assert_eq!(
            seen,
            [
                Record::Call {
                    kind: CallKind::Enter,
                    time: 105,
                    id: 7
                },
                Record::Escape(Escape::Time),
                Record::Escape(Escape::Exception {
                    type_name: "T".into(),
                    message: "message".into()
                }),
                Record::Call {
                    kind: CallKind::Error,
                    time: (1 << 40) + 1,
                    id: 7
                },
                Record::Escape(Escape::Unknown(63)),
                Record::Escape(Escape::Begin {
                    id: 7,
                    call: 4,
                    time: 2
                }),
                Record::Escape(Escape::Logical {
                    flags: LOGICAL_FIRST,
                    call: 4
                }),
                Record::Call {
                    kind: CallKind::Enter,
                    time: (1 << 40) + 2,
                    id: 7
                },
                Record::Escape(Escape::Complete {
                    id: 7,
                    call: 4,
                    time: 3,
                    failed: true
                }),
                Record::Escape(Escape::Cpu {
                    thread: 1,
                    time: 5,
                    used: 4
                }),
                Record::Escape(Escape::Lost(3)),
            ]
        );
    }

    #[test]
    fn values_decode_and_what_is_none_is_unknown() {
        let text = |head: u64| vec![head, 0x0064_0063_0062_0061, 0xd800];
        let (short, long) = (text(5 << 32 | 7 << 16 | 3 << 8 | 8), text(9 << 32 | 8));
        let mut chunk = Chunk::records(1, 0, 0)
            .value(3, 0, false, 2, u64::MAX)
            .value(3, 1, true, 5, u64::from(1.5f32.to_bits()))
            .escape(9, 3, &short);
        // A text longer than its payload or than any, a kind of the future and that is none, no data, nothing.
        for payload in [
            &long[..],
            &[u64::MAX << 32 | 8, 0],
            &[11, 0],
            &[0, 0],
            &[2],
            &[],
        ] {
            chunk = chunk.escape(9, 3, payload);
        }
        let bytes = chunk.bytes();
        let mut d = Decoder::new(&bytes[CHUNK_HEADER..], 0);
        let mut seen = Vec::new();
        while let Some(Record::Escape(escape)) = d.next() {
            seen.push(match escape {
                Escape::Value { id: 3, value } => Some(value),
                Escape::Unknown(ESCAPE_VALUE) => None,
                other => panic!("{other:?}"),
            });
        }
        assert!(!d.damaged());
        let value = |number, flags, data| {
            Some(RawValue {
                number,
                flags,
                data,
            })
        };
        let units = [0x61, 0, 0x62, 0, 0x63, 0, 0x64, 0, 0, 0xd8];
        assert_eq!(
            seen,
            [
                value(0, 0, RawData::Integer(-1)),
                value(1, VALUE_OF_END, RawData::Float(1.5)),
                value(7, VALUE_CUT | VALUE_MASKED, RawData::Text(&units)),
                None,
                None,
                None,
                None,
                None,
                None,
            ]
        );
    }

    #[test]
    fn an_end_ends_the_data() {
        let chunk = (Chunk::records(1, 0, 0).enter(5, 7))
            .escape(u64::from(ESCAPE_END), 0, &[])
            .exit(5, 7)
            .bytes();
        let mut d = Decoder::new(&chunk[CHUNK_HEADER..], 0);
        assert!(matches!(d.next(), Some(Record::Call { time: 5, .. })));
        assert_eq!((d.next(), d.next()), (None, None));
        assert!(!d.damaged());
        assert_eq!(d.position(), 8);
    }

    #[test]
    fn a_payload_beyond_the_data_ends_it() {
        let word = 1u64 << 2 | 2 << 8;
        let mut data = word.to_le_bytes().to_vec();
        data.extend_from_slice(&[1; 8]);
        let mut d = Decoder::new(&data, 0);
        assert_eq!(d.next(), None);
        assert!(d.damaged());
    }

    #[test]
    fn headers_are_checked() {
        let err = |data: &[u8]| Header::read(data).unwrap_err().to_string();
        assert_eq!(
            err(b"PK"),
            "not a trace (no WTRACE at its start) (at byte 0x0)"
        );
        assert_eq!(
            err(b"WTRACE\r\n\x02\x00"),
            "trace of version 2; this weave reads 1"
        );
        assert_eq!(
            err(b"WTRACE\r\n\x01\x00\x00\x00\x01\x00\x00\x00"),
            "chunk size 1; version 1 has 65536 (at byte 0xc)"
        );
        assert_eq!(
            err(b"WTRACE\r\n\x01\x00\x00\x00\x00\x00\x01\x00"),
            "8 bytes wanted, 0 left (at byte 0x10)"
        );
    }
}
