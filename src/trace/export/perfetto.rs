//! Perfetto's protobuf (`perfetto.protos.Trace`): a track a thread and a logical call, slices, names interned, flows
//! between the pieces of a logical call, exceptions as debug annotations.
//!
//! Field numbers are those of Perfetto's `trace_packet.proto`, `track_event.proto`, `track_descriptor.proto` and
//! `interned_data.proto`.

use super::{End, Logical, Named, Process, Sink, Span, Thread};
use crate::trace::call::Described;
use crate::trace::metrics::{Series, Unit};
use crate::trace::values::{self, Data, Value};
use prost::Message;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use xxhash_rust::xxh3::xxh3_64;

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    #[prost(message, optional, tag = "6")]
    clock_snapshot: Option<ClockSnapshot>,
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    interned_data: Option<InternedData>,
    #[prost(uint32, tag = "13")]
    sequence_flags: u32,
    #[prost(message, optional, tag = "59")]
    trace_packet_defaults: Option<TracePacketDefaults>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct TracePacketDefaults {
    #[prost(uint32, tag = "58")]
    timestamp_clock_id: u32,
}

/// What several clocks show at one moment.
#[derive(Clone, PartialEq, Message)]
struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    clocks: Vec<Clock>,
    #[prost(uint32, tag = "2")]
    primary_trace_clock: u32,
}

#[derive(Clone, PartialEq, Message)]
struct Clock {
    #[prost(uint32, tag = "1")]
    clock_id: u32,
    #[prost(uint64, optional, tag = "2")]
    timestamp: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    category_iids: Vec<u64>,
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    #[prost(uint32, tag = "9")]
    r#type: u32,
    #[prost(uint64, optional, tag = "10")]
    name_iid: Option<u64>,
    #[prost(uint64, tag = "11")]
    track_uuid: u64,
    #[prost(double, optional, tag = "44")]
    double_counter_value: Option<f64>,
    #[prost(uint64, optional, tag = "34")]
    source_location_iid: Option<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    flow_ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct DebugAnnotation {
    #[prost(uint64, tag = "1")]
    name_iid: u64,
    #[prost(bool, optional, tag = "2")]
    bool_value: Option<bool>,
    #[prost(uint64, optional, tag = "3")]
    uint_value: Option<u64>,
    #[prost(int64, optional, tag = "4")]
    int_value: Option<i64>,
    #[prost(double, optional, tag = "5")]
    double_value: Option<f64>,
    #[prost(string, optional, tag = "6")]
    string_value: Option<String>,
    /// In place of `name_iid`.
    #[prost(string, optional, tag = "10")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct InternedData {
    #[prost(message, repeated, tag = "1")]
    event_categories: Vec<InternedName>,
    #[prost(message, repeated, tag = "2")]
    event_names: Vec<InternedName>,
    #[prost(message, repeated, tag = "3")]
    debug_annotation_names: Vec<InternedName>,
    #[prost(message, repeated, tag = "4")]
    source_locations: Vec<SourceLocation>,
}

/// `EventCategory`, `EventName` and `DebugAnnotationName`, which look the same.
#[derive(Clone, PartialEq, Message)]
struct InternedName {
    #[prost(uint64, tag = "1")]
    iid: u64,
    #[prost(string, tag = "2")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct SourceLocation {
    #[prost(uint64, tag = "1")]
    iid: u64,
    #[prost(string, tag = "2")]
    file_name: String,
    #[prost(string, tag = "3")]
    function_name: String,
    #[prost(uint32, tag = "4")]
    line_number: u32,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    uuid: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, optional, tag = "3")]
    process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    counter: Option<CounterDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct CounterDescriptor {
    #[prost(uint32, tag = "3")]
    unit: u32,
}

#[derive(Clone, PartialEq, Message)]
struct ProcessDescriptor {
    #[prost(int32, tag = "1")]
    pid: i32,
    #[prost(string, repeated, tag = "2")]
    cmdline: Vec<String>,
    #[prost(string, tag = "6")]
    process_name: String,
}

#[derive(Clone, PartialEq, Message)]
struct ThreadDescriptor {
    #[prost(int32, tag = "1")]
    pid: i32,
    #[prost(int64, tag = "2")]
    tid: i64,
    #[prost(string, tag = "5")]
    thread_name: String,
}

/// `TrackEvent.Type`.
const TYPE_SLICE_BEGIN: u32 = 1;
const TYPE_SLICE_END: u32 = 2;
const TYPE_COUNTER: u32 = 4;
/// `CounterDescriptor.Unit`.
const UNIT_TIME_NS: u32 = 1;
const UNIT_COUNT: u32 = 2;
const UNIT_SIZE_BYTES: u32 = 3;
/// `TracePacket.SequenceFlags`.
const SEQ_INCREMENTAL_STATE_CLEARED: u32 = 1;
const SEQ_NEEDS_INCREMENTAL_STATE: u32 = 2;
/// `BuiltinClock`: nanoseconds since 1970. Traces know no other clock of the machine.
const CLOCK_REALTIME: u32 = 1;
/// Numbers of clocks of one's own that all sequences know begin here. They are to be hashes of a name.
const FIRST_CLOCK: u32 = 128;
/// `Trace.packet`, length-delimited.
const PACKET: u8 = 1 << 3 | 2;

/// The interned names of debug annotations, from 1.
const ANNOTATIONS: [&str; 4] = [
    "exception.type",
    "exception.message",
    "outcome",
    "logical call",
];
const EXCEPTION_TYPE: u64 = 1;
const EXCEPTION_MESSAGE: u64 = 2;
const OUTCOME: u64 = 3;
const LOGICAL_CALL: u64 = 4;

/// A packet whose event has neither annotations nor flows, which nearly all packets are. It holds what `TracePacket`
/// would encode, in the same order, without a message for each event on the way.
struct Short {
    bytes: [u8; Short::MOST],
    len: usize,
}

impl Short {
    /// Six numbers of at most ten bytes with their tags, and what is one byte. Lengths below 128 are one byte, too.
    const MOST: usize = 96;

    fn byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    fn varint(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.byte(n as u8 | 0x80);
            n >>= 7;
        }
        self.byte(n as u8);
    }

    /// A field that is a number.
    fn number(&mut self, tag: u32, n: u64) {
        self.varint(u64::from(tag) << 3);
        self.varint(n);
    }

    /// The length of what follows, which `close` fills in.
    fn open(&mut self, tag: u32) -> usize {
        self.varint(u64::from(tag) << 3 | 2);
        self.byte(0);
        self.len
    }

    fn close(&mut self, start: usize) {
        self.bytes[start - 1] = (self.len - start) as u8;
    }

    /// An event with a name, or without one where it ends a slice.
    fn new(time: u64, sequence: u32, track: u64, name: Option<Name>) -> Short {
        let mut short = Short {
            bytes: [0; Short::MOST],
            len: 0,
        };
        let packet = short.open(1);
        short.number(8, time);
        short.number(10, u64::from(sequence));
        let event = short.open(11);
        match name {
            None => {
                short.number(9, u64::from(TYPE_SLICE_END));
                short.number(11, track);
            }
            Some(Name { iid, known }) => {
                if known {
                    short.number(3, iid);
                }
                short.number(9, u64::from(TYPE_SLICE_BEGIN));
                short.number(10, iid);
                short.number(11, track);
                if known {
                    short.number(34, iid);
                }
            }
        }
        short.close(event);
        short.number(13, u64::from(SEQ_NEEDS_INCREMENTAL_STATE));
        short.close(packet);
        short
    }
}

/// What a slice is called.
#[derive(Clone, Copy)]
struct Name {
    iid: u64,
    /// It has a category and a source location, too.
    known: bool,
}

pub struct Perfetto<'a> {
    out: Box<dyn Write + Send + 'a>,
    buffer: Vec<u8>,
    /// The sequence at hand: one a thread, and one for the logical calls of a process.
    sequence: u32,
    /// No packet of the sequence was written yet.
    fresh: bool,
    /// The clock of all events: nanoseconds since the first trace's origin. None before the first trace.
    clock: Option<u32>,
    offset: u64,
    pid: i32,
    /// Uuids of tracks: they are given in order.
    last_track: u64,
    process_track: u64,
    track: u64,
    /// Of each method: the sequence that its name was interned in last.
    interned: Vec<u32>,
    /// Added to the numbers of logical calls, so that those of several processes differ.
    flows: u64,
    /// The sequence at hand is that of the process' logical calls.
    at_logical: bool,
    /// Logical calls that have begun and not ended.
    open: BinaryHeap<Reverse<OpenLogical>>,
}

/// A logical call that has begun: when it will end, on which track, how.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct OpenLogical {
    end: u64,
    track: u64,
    how: &'static str,
}

impl<'a> Perfetto<'a> {
    pub fn new(out: Box<dyn Write + Send + 'a>) -> Perfetto<'a> {
        Perfetto {
            out,
            buffer: Vec::new(),
            sequence: 0,
            fresh: true,
            clock: None,
            offset: 0,
            pid: 0,
            last_track: 0,
            process_track: 0,
            track: 0,
            interned: Vec::new(),
            flows: 0,
            at_logical: false,
            open: BinaryHeap::new(),
        }
    }

    /// Ends the logical calls that end by this time, in order.
    fn end_logical(&mut self, time: u64) -> io::Result<()> {
        while let Some(&Reverse(OpenLogical { end, track, how })) = self.open.peek()
            && end <= time
        {
            self.open.pop();
            self.end(end, track, outcome(how))?;
        }
        Ok(())
    }

    fn next_sequence(&mut self) {
        self.sequence += 1;
        self.fresh = true;
    }

    fn next_track(&mut self) -> u64 {
        self.last_track += 1;
        self.last_track
    }

    fn packet(&mut self, mut packet: TracePacket) -> io::Result<()> {
        packet.trusted_packet_sequence_id = self.sequence;
        packet.sequence_flags = SEQ_NEEDS_INCREMENTAL_STATE;
        if std::mem::take(&mut self.fresh) {
            packet.sequence_flags |= SEQ_INCREMENTAL_STATE_CLEARED;
            let names = (1..).zip(ANNOTATIONS).map(|(iid, name)| InternedName {
                iid,
                name: name.to_owned(),
            });
            let interned = packet.interned_data.get_or_insert_default();
            interned.debug_annotation_names = names.collect();
            packet.trace_packet_defaults = self
                .clock
                .map(|timestamp_clock_id| TracePacketDefaults { timestamp_clock_id });
        }
        self.write(&packet)
    }

    fn write(&mut self, packet: &TracePacket) -> io::Result<()> {
        self.buffer.clear();
        self.buffer.push(PACKET);
        packet
            .encode_length_delimited(&mut self.buffer)
            .map_err(io::Error::other)?;
        self.out.write_all(&self.buffer)
    }

    /// Says what the clock of all events is, by what the wall clock showed at its zero: so a viewer can lay the events over those of
    /// the system, which tell the wall clock, too.
    fn clock(&mut self, origin: u64) -> io::Result<()> {
        let name = [b"weave", &origin.to_le_bytes()[..]].concat();
        let id = FIRST_CLOCK + (xxh3_64(&name) as u32 >> 1);
        self.clock = Some(id);
        let at = |clock_id, timestamp| Clock {
            clock_id,
            timestamp: Some(timestamp),
        };
        self.next_sequence();
        self.write(&TracePacket {
            clock_snapshot: Some(ClockSnapshot {
                clocks: vec![at(id, 0), at(CLOCK_REALTIME, origin)],
                primary_trace_clock: CLOCK_REALTIME,
            }),
            trusted_packet_sequence_id: self.sequence,
            ..TracePacket::default()
        })
    }

    /// Writes an event that has nothing but its time, its track and maybe a name. The sequence has begun.
    fn short(&mut self, time: u64, track: u64, name: Option<Name>) -> io::Result<()> {
        let short = Short::new(self.offset + time, self.sequence, track, name);
        self.out.write_all(&short.bytes[..short.len])
    }

    fn descriptor(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        self.packet(TracePacket {
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        })
    }

    /// What the sequence has to learn of a method before an event names it.
    fn intern(&mut self, number: usize, method: &Named) -> Option<InternedData> {
        if self.interned.len() <= number {
            self.interned.resize(number + 1, 0);
        }
        if std::mem::replace(&mut self.interned[number], self.sequence) == self.sequence {
            return None;
        }
        let iid = number as u64 + 1;
        let name = InternedName {
            iid,
            name: method.label.clone(),
        };
        let mut data = InternedData {
            event_names: vec![name],
            ..InternedData::default()
        };
        if let Some(symbol) = method.symbol() {
            data.event_categories.push(InternedName {
                iid,
                name: method.type_name.clone(),
            });
            data.source_locations.push(SourceLocation {
                iid,
                file_name: symbol.file.to_string(),
                function_name: symbol.name(),
                line_number: symbol.line,
            });
        }
        Some(data)
    }

    fn begin(
        &mut self,
        time: u64,
        track: u64,
        (number, method): (usize, &Named),
        flow: Option<u64>,
        annotations: Vec<DebugAnnotation>,
    ) -> io::Result<()> {
        let interned_data = self.intern(number, method);
        let iid = number as u64 + 1;
        let known = method.symbol().is_some();
        if !self.fresh && interned_data.is_none() && flow.is_none() && annotations.is_empty() {
            return self.short(time, track, Some(Name { iid, known }));
        }
        self.packet(TracePacket {
            timestamp: Some(self.offset + time),
            track_event: Some(TrackEvent {
                category_iids: known.then_some(iid).into_iter().collect(),
                debug_annotations: annotations,
                r#type: TYPE_SLICE_BEGIN,
                name_iid: Some(iid),
                track_uuid: track,
                source_location_iid: known.then_some(iid),
                flow_ids: flow.into_iter().collect(),
                ..TrackEvent::default()
            }),
            interned_data,
            ..TracePacket::default()
        })
    }

    fn end(&mut self, time: u64, track: u64, annotations: Vec<DebugAnnotation>) -> io::Result<()> {
        if !self.fresh && annotations.is_empty() {
            return self.short(time, track, None);
        }
        self.packet(TracePacket {
            timestamp: Some(self.offset + time),
            track_event: Some(TrackEvent {
                debug_annotations: annotations,
                r#type: TYPE_SLICE_END,
                track_uuid: track,
                ..TrackEvent::default()
            }),
            ..TracePacket::default()
        })
    }

    /// Flow ids are global in a file.
    fn flow(&self, call: u64) -> u64 {
        self.flows.wrapping_add(call)
    }
}

fn text(name_iid: u64, value: &str) -> DebugAnnotation {
    DebugAnnotation {
        name_iid,
        string_value: Some(value.to_owned()),
        ..DebugAnnotation::default()
    }
}

fn number(name_iid: u64, value: u64) -> DebugAnnotation {
    DebugAnnotation {
        name_iid,
        uint_value: Some(value),
        ..DebugAnnotation::default()
    }
}

/// A value; its name is written out, since it comes from the trace.
fn value(value: &Value) -> DebugAnnotation {
    let mut annotation = DebugAnnotation {
        name: Some(value.name.to_string()),
        ..DebugAnnotation::default()
    };
    match value.data {
        Data::Boolean(b) => annotation.bool_value = Some(b),
        Data::Integer(n) => annotation.int_value = Some(n),
        Data::Unsigned(n) => annotation.uint_value = Some(n),
        Data::Double(n) => annotation.double_value = Some(n),
        Data::Float(n) => annotation.double_value = Some(values::widened(n)),
        _ => annotation.string_value = Some(value.text().into_owned()),
    }
    annotation
}

fn outcome(outcome: &str) -> Vec<DebugAnnotation> {
    match outcome {
        "exit" => Vec::new(),
        other => vec![text(OUTCOME, other)],
    }
}

impl Sink for Perfetto<'_> {
    fn process(&mut self, process: &Process, _: &[Named]) -> io::Result<()> {
        self.end_logical(u64::MAX)?;
        self.at_logical = false;
        self.offset = process.offset;
        self.pid = process.pid as i32;
        self.flows = (process.number as u64) << 48;
        self.interned.clear();
        if self.clock.is_none() {
            self.clock(process.trace.header().origin.saturating_sub(self.offset))?;
        }
        self.next_sequence();
        self.process_track = self.next_track();
        let command = &process.trace.header().command;
        self.descriptor(TrackDescriptor {
            uuid: self.process_track,
            process: Some(ProcessDescriptor {
                pid: self.pid,
                cmdline: vec![command.clone()],
                process_name: command.clone(),
            }),
            ..TrackDescriptor::default()
        })
    }

    /// A counter track a metric, each a sequence, whose times never step back.
    fn metrics(&mut self, metrics: &[Series]) -> io::Result<()> {
        for series in metrics {
            self.next_sequence();
            let track = self.next_track();
            let unit = match series.metric.unit {
                Unit::Bytes => UNIT_SIZE_BYTES,
                Unit::Nanoseconds => UNIT_TIME_NS,
                Unit::Count => UNIT_COUNT,
            };
            self.descriptor(TrackDescriptor {
                uuid: track,
                parent_uuid: Some(self.process_track),
                name: series.metric.shown(),
                counter: Some(CounterDescriptor { unit }),
                ..TrackDescriptor::default()
            })?;
            for &(time, value) in &series.points {
                self.packet(TracePacket {
                    timestamp: Some(self.offset + time),
                    track_event: Some(TrackEvent {
                        r#type: TYPE_COUNTER,
                        track_uuid: track,
                        double_counter_value: Some(value),
                        ..TrackEvent::default()
                    }),
                    ..TracePacket::default()
                })?;
            }
        }
        Ok(())
    }

    fn thread(&mut self, _: &Process, thread: &Thread) -> io::Result<()> {
        self.next_sequence();
        self.track = self.next_track();
        self.descriptor(TrackDescriptor {
            uuid: self.track,
            parent_uuid: Some(self.process_track),
            thread: Some(ThreadDescriptor {
                pid: self.pid,
                tid: i64::from(thread.number),
                thread_name: thread.name.to_owned(),
            }),
            ..TrackDescriptor::default()
        })
    }

    fn open(&mut self, span: &Span, method: &Named) -> io::Result<()> {
        let call = span.piece.map(|(call, _)| call);
        let annotations = call.map(|call| number(LOGICAL_CALL, call));
        let flow = call.map(|call| self.flow(call));
        self.begin(
            span.start,
            self.track,
            (span.method, method),
            flow,
            annotations.into_iter().collect(),
        )
    }

    fn close(&mut self, _: &Span, end: &End, _: &Named) -> io::Result<()> {
        let mut annotations = outcome(end.outcome);
        if let Some(Described { type_name, message }) = end.exception {
            annotations.push(text(EXCEPTION_TYPE, type_name));
            annotations.push(text(EXCEPTION_MESSAGE, message));
        }
        annotations.extend(end.values.iter().map(value));
        self.end(end.time, self.track, annotations)
    }

    /// Each logical call has a track of its own, since they overlap. All are one sequence, in the order of time.
    fn logical(&mut self, logical: &Logical, method: &Named) -> io::Result<()> {
        if !std::mem::replace(&mut self.at_logical, true) {
            self.next_sequence();
        }
        self.end_logical(logical.start)?;
        let track = self.next_track();
        self.descriptor(TrackDescriptor {
            uuid: track,
            parent_uuid: Some(self.process_track),
            name: "logical calls".to_owned(),
            ..TrackDescriptor::default()
        })?;
        let mut annotations = vec![number(LOGICAL_CALL, logical.call)];
        annotations.extend(logical.values.iter().map(value));
        let method = (logical.method, method);
        self.begin(logical.start, track, method, None, annotations)?;
        self.open.push(Reverse(OpenLogical {
            end: logical.end,
            track,
            how: logical.outcome,
        }));
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.end_logical(u64::MAX)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Trace;
    use crate::trace::export::{Selection, processes, walk};
    use crate::trace::testing::shop;

    #[derive(Clone, PartialEq, Message)]
    struct Packets {
        #[prost(message, repeated, tag = "1")]
        packet: Vec<TracePacket>,
    }

    #[test]
    fn all_times_are_of_one_clock_whose_zero_is_known_as_wall_clock_time() {
        const LATER: u64 = 5_000;
        let mut second = shop().bytes();
        let origin = u64::from_le_bytes(second[16..24].try_into().unwrap());
        second[16..24].copy_from_slice(&(origin + LATER).to_le_bytes());
        let traces = [shop().bytes(), second].map(|b| Trace::from_bytes("a", b).unwrap());
        let mut out = Vec::new();
        let mut sink: Box<Perfetto> = Box::new(Perfetto::new(Box::new(&mut out)));
        for process in processes(&traces) {
            let all = Selection::default();
            walk(&process, &[], &all, &mut *sink, 1, &mut |_| {}).unwrap();
        }
        sink.finish().unwrap();

        let packets = Packets::decode(&*out).unwrap().packet;
        let snapshot = packets[0].clock_snapshot.clone().unwrap();
        let told = |i: usize| (snapshot.clocks[i].clock_id, snapshot.clocks[i].timestamp);
        assert_eq!(
            (told(0).1, told(1)),
            (Some(0), (CLOCK_REALTIME, Some(origin)))
        );
        assert_eq!(snapshot.primary_trace_clock, CLOCK_REALTIME);
        let (mut known, mut first) = (std::collections::BTreeSet::new(), Vec::new());
        for packet in &packets[1..] {
            let sequence = packet.trusted_packet_sequence_id;
            if let Some(defaults) = &packet.trace_packet_defaults {
                assert_eq!(defaults.timestamp_clock_id, told(0).0);
                known.insert(sequence);
            }
            assert!(
                known.contains(&sequence),
                "sequence {sequence} has no clock"
            );
            if packet
                .track_descriptor
                .as_ref()
                .is_some_and(|d| d.process.is_some())
            {
                first.push(u64::MAX);
            }
            if let (Some(time), Some(first)) = (packet.timestamp, first.last_mut()) {
                *first = time.min(*first);
            }
        }
        // `main` begins after a millisecond.
        assert_eq!(first, [1_000_000, 1_000_000 + LATER]);
    }

    /// What a short packet replaces.
    fn long(time: u64, sequence: u32, track: u64, name: Option<Name>) -> Vec<u8> {
        let known = name.filter(|n| n.known).map(|n| n.iid);
        let packet = TracePacket {
            timestamp: Some(time),
            trusted_packet_sequence_id: sequence,
            track_event: Some(TrackEvent {
                category_iids: known.into_iter().collect(),
                r#type: match name {
                    Some(_) => TYPE_SLICE_BEGIN,
                    None => TYPE_SLICE_END,
                },
                name_iid: name.map(|n| n.iid),
                track_uuid: track,
                source_location_iid: known,
                ..TrackEvent::default()
            }),
            sequence_flags: SEQ_NEEDS_INCREMENTAL_STATE,
            ..TracePacket::default()
        };
        let mut bytes = vec![PACKET];
        packet.encode_length_delimited(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn short_packets_are_what_the_messages_encode() {
        let numbers = [1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX];
        for time in numbers.into_iter().chain([0]) {
            for iid in numbers {
                for sequence in [1, 128, u32::MAX] {
                    let track = numbers[(iid % 7) as usize];
                    for name in [None, Some(true), Some(false)] {
                        let name = name.map(|known| Name { iid, known });
                        let short = Short::new(time, sequence, track, name);
                        let long = long(time, sequence, track, name);
                        assert_eq!(short.bytes[..short.len], long);
                    }
                }
            }
        }
    }
}
