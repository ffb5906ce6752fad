//! From replayed calls to spans, counts and log records.
//!
//! A call that is long enough lies in calls that are at least as long. So whether a call is exported, and as whose child,
//! is known from the stack at its end alone.

use super::measures::Measures;
use super::proto::{
    Event, Gauge, Histogram, HistogramPoint, KeyValue, Link, LogRecord, Metric, NumberPoint,
    Resource, Span, Status, Sum, Value, attribute, number, text,
};
use super::{
    BATCH, Batch, METHODS, Options, logs_request, metrics_request, seconds, spans_request,
};
use crate::mapping::Mapping;
use crate::printable::printable;
use crate::spans::SpanRule;
use crate::switches::{self, Sampling};
use crate::symbols::Symbols;
use crate::trace::aggregates::Aggregate;
use crate::trace::call::{Call, Described, Frame, Outcome, Piece, Thrown, Weighted, from_root};
use crate::trace::contexts::{self, Anchor, Contexts, OpenSpans};
use crate::trace::exceptions;
use crate::trace::export::Selection;
use crate::trace::export::walk::{named, wants, wants_thread};
use crate::trace::file::{Aggregates, Counts, SegmentPlace, ThreadName, Trace};
use crate::trace::format::{Decoder, Header, SPAN_REMOTE, SpanContext};
use crate::trace::methods::{Method, MethodIx, Methods};
use crate::trace::metrics::{Reading, Unit, metric_of};
use crate::trace::replay::{Replay, Run, Visitor};
use crate::trace::tail::Reader;
use crate::trace::values::{self, Data};
use prost::Message;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Logical calls that are kept at once.
const MAX_LOGICAL: usize = 1 << 20;
/// Logical calls that have ended and are still known: pieces of them may come late.
const ENDED: usize = 1 << 12;
/// Spans after which a session wants to be drained.
const FULL: usize = 4 * BATCH;
/// Upper bounds of the histograms' buckets, in nanoseconds: 1, 2.5 and 5 of each power of ten, from 1 µs to 100 s.
const BOUNDS: [u64; 25] = bounds();
/// `Span.SpanKind` and `Status.StatusCode`.
const KIND_INTERNAL: i32 = 1;
const STATUS_ERROR: i32 = 2;
/// `SpanFlags`: it is known whether the parent is of another process, and that it is.
const FLAG_HAS_REMOTE: u32 = 1 << 8;
const FLAG_REMOTE: u32 = 1 << 9;
/// `AggregationTemporality`: counted from the trace's start.
const CUMULATIVE: i32 = 2;
/// `SeverityNumber`.
const SEVERITY_ERROR: i32 = 17;

const fn bounds() -> [u64; 25] {
    let mut all = [0; 25];
    let (mut i, mut unit) = (0, 1_000);
    while i < 24 {
        all[i] = unit;
        all[i + 1] = unit * 5 / 2;
        all[i + 2] = unit * 5;
        unit *= 10;
        i += 3;
    }
    all[24] = unit;
    all
}

/// A process whose calls are exported.
pub struct Session {
    replay: Replay,
    methods: Methods,
    mappings: Vec<Mapping>,
    /// Threads with calls that are open.
    runs: FxHashMap<u32, Run>,
    spans: Spans,
    resource: Resource,
    /// When metrics were sent last, so that no point is sent again.
    measured: u64,
    /// Samples of what the process uses that were not sent yet.
    readings: Vec<Reading>,
    /// Calls that were only counted, by id.
    counted: FxHashMap<u32, u64>,
    /// Calls that the process has summed up, by id.
    summed: FxHashMap<u32, Aggregate>,
    has_new_counts: bool,
}

/// Counts of a method.
#[derive(Clone, Default)]
struct Count {
    calls: u64,
    /// Further calls that were only counted.
    counted: u64,
    errors: u64,
    sum: u64,
    min: u64,
    max: u64,
    buckets: Option<Box<[u64; BOUNDS.len() + 1]>>,
}

impl Count {
    /// Adds a call of this duration, which stands for so many.
    fn add(&mut self, duration: u64, failed: bool, calls: u64) {
        self.min = match self.calls {
            0 => duration,
            _ => self.min.min(duration),
        };
        self.max = self.max.max(duration);
        self.calls = self.calls.saturating_add(calls);
        if failed {
            self.errors = self.errors.saturating_add(calls);
        }
        self.sum = self.sum.saturating_add(duration.saturating_mul(calls));
        // A bucket holds what is at most its bound.
        let bucket = BOUNDS.partition_point(|&bound| bound < duration);
        let bucket = &mut self.buckets.get_or_insert_with(Box::default)[bucket];
        *bucket = bucket.saturating_add(calls);
    }

    /// Adds calls that the process has summed up. Each is about as long as the middle of its bucket.
    fn add_aggregate(&mut self, sum: &Aggregate) {
        let mut buckets = Box::new([0; BOUNDS.len() + 1]);
        for (ns, calls) in sum.durations.iter() {
            buckets[BOUNDS.partition_point(|&bound| bound < ns)] += calls;
        }
        self.merge(&Count {
            calls: sum.durations.calls(),
            counted: 0,
            errors: sum.errors,
            sum: sum.total,
            min: sum.min.unwrap_or(0),
            max: sum.max,
            buckets: Some(buckets),
        });
    }

    fn merge(&mut self, other: &Count) {
        self.counted = self.counted.saturating_add(other.counted);
        if other.calls == 0 {
            return;
        }
        self.min = match self.calls {
            0 => other.min,
            _ => self.min.min(other.min),
        };
        self.max = self.max.max(other.max);
        self.calls = self.calls.saturating_add(other.calls);
        self.errors = self.errors.saturating_add(other.errors);
        self.sum = self.sum.saturating_add(other.sum);
        let buckets = self.buckets.get_or_insert_with(Box::default);
        for (sum, more) in buckets
            .iter_mut()
            .zip(other.buckets.iter().flat_map(|b| b.iter()))
        {
            *sum = sum.saturating_add(*more);
        }
    }
}

/// What is known of a method.
struct Known {
    wanted: bool,
    is_root: bool,
    /// Type and method, as it is, and fit to be shown.
    full_name: String,
    name: String,
    /// What its spans say of it, encoded.
    attributes: Vec<u8>,
    count: Count,
    /// Its calls are spans.
    rule: Option<Arc<SpanRule>>,
    /// What its spans are from: the pack of its rule, or nothing.
    scope: Arc<str>,
}

type SpanId = [u8; 8];
type TraceId = [u8; 16];

/// A logical call.
struct Logical {
    method: MethodIx,
    start: u64,
    last: u64,
    trace: TraceId,
    /// The logical call whose trace it is of.
    root: Option<u64>,
    parent: Option<SpanId>,
    /// The logical call that began it.
    above: Option<u64>,
    /// How many calls lead to it, itself included: of those that --filter takes.
    level: usize,
    /// It was seen to begin.
    begun: bool,
    /// It is exported: it is a root, or began below one, or there are none.
    below: bool,
    over: bool,
    failed: bool,
    /// How many calls it stands for.
    weight: u32,
    values: Vec<values::Value>,
    /// A piece of it was read.
    seen: bool,
    /// Its end was read before its first piece, which has the values that describe it.
    late: Option<Late>,
}

/// The end of a logical call.
struct Late {
    time: u64,
    how: Outcome,
    exception: Option<Described>,
}

/// Where a logical call began.
struct Origin {
    start: u64,
    trace: TraceId,
    root: Option<u64>,
    parent: Option<SpanId>,
    above: Option<u64>,
    level: usize,
    below: bool,
}

/// What belongs to one thread.
#[derive(Default)]
struct Lane {
    number: u32,
    name: String,
    named: bool,
    /// What its spans say of it, encoded.
    attributes: Arc<[u8]>,
    wanted: bool,
    /// The exception on its way, and whether a span has it as an event.
    exception: Option<Described>,
    is_told: bool,
    /// Logical calls that calls of the stack have begun: how deep the call is, and which.
    begun: Vec<(usize, u64)>,
    /// The contexts of its open calls, the outermost first.
    contexts: Contexts,
    /// How many of its open calls are outside the selection.
    base: usize,
    /// The span that ended last, and how many before it had its id: calls too short for the clock.
    last: (SpanId, u64),
}

impl Lane {
    /// The span of a call, by the call's index among the selected ones.
    fn call_at(&self, at: usize) -> Option<&Anchor> {
        self.contexts.call(self.base + at)
    }

    /// The innermost span that such a call is, or runs below.
    fn around(&self, at: usize) -> Option<&Anchor> {
        self.contexts.around(self.base + at)
    }
}

/// A call that has ended, with what is around it.
struct Ended<'a> {
    call: &'a Call,
    frame: &'a Frame,
    /// The selected calls, this one last; empty if it is not selected.
    stack: &'a [Frame],
    /// The same without this one.
    around: &'a [Frame],
    time: u64,
    /// The context that the library made for it.
    own: Option<SpanContext>,
}

/// The span of a call that has just ended.
struct Pending {
    span: Span,
    method: MethodIx,
    /// What is said of its thread, encoded; nothing of a logical call.
    thread: Arc<[u8]>,
    /// The logical call whose first piece has not come.
    held: Option<u64>,
    /// It is sent; else it is only measured.
    is_sent: bool,
    /// It has ended, and so counts.
    is_measured: bool,
}

/// What a rule may record of an exception: an attribute of its event.
const STACK_TRACE: &str = "exception.stacktrace";

/// A span that waits to be sent, and the scope that it is of.
pub(super) struct Ready {
    /// Encoded: a span as its parts takes many times the memory.
    pub span: Vec<u8>,
    pub scope: Arc<str>,
}

struct Spans {
    options: Options,
    /// What tells this process from others.
    identity: u64,
    origin: u64,
    /// By row; none where no call of it has ended yet.
    known: Vec<Option<Known>>,
    lane: Lane,
    lanes: FxHashMap<u32, Lane>,
    /// By id, methods of which one of so many calls is recorded.
    one_of: FxHashMap<u32, u32>,
    logical: FxHashMap<u64, Logical>,
    /// Where logical calls began, if the trace was read for that before.
    origins: FxHashMap<u64, Origin>,
    is_learning: bool,
    ended: VecDeque<u64>,
    /// Spans of the call that ended last: an exception may still come.
    pending: Vec<Pending>,
    /// Of the call that ends next.
    values: Vec<values::Value>,
    /// Values that logical calls have.
    logical_values: usize,
    /// Spans that are open.
    open: OpenSpans,
    /// Logical calls of rules' spans whose first piece was read before, and has their values.
    begun_by_piece: FxHashSet<u64>,
    /// Logical calls that are spans with ids of their own.
    logical_spans: FxHashMap<u64, SpanContext>,
    /// Spans of logical calls that have ended before their first piece came: when they began is not known yet.
    held: FxHashMap<u64, Pending>,
    spans: Vec<Ready>,
    measures: Measures,
    /// Rules say what some spans are.
    has_rules: bool,
    logs: Vec<LogRecord>,
    exported: u64,
}

impl Session {
    pub(super) fn new(
        header: &Header,
        options: Options,
        mappings: Vec<Mapping>,
        resource: Resource,
    ) -> Session {
        let mut replay = Replay::new(0).with_roots(&options.selection.roots);
        replay.next_trace(true);
        let identity = [header.origin.to_le_bytes(), header.pid.to_le_bytes()].concat();
        Session {
            replay,
            methods: Methods::default(),
            mappings,
            runs: FxHashMap::default(),
            spans: Spans {
                options,
                identity: xxh3_64(&identity),
                origin: header.origin,
                known: Vec::new(),
                lane: Lane::default(),
                lanes: FxHashMap::default(),
                one_of: FxHashMap::default(),
                logical: FxHashMap::default(),
                origins: FxHashMap::default(),
                is_learning: false,
                ended: VecDeque::new(),
                pending: Vec::new(),
                values: Vec::new(),
                logical_values: 0,
                open: OpenSpans::default(),
                begun_by_piece: FxHashSet::default(),
                logical_spans: FxHashMap::default(),
                held: FxHashMap::default(),
                spans: Vec::new(),
                measures: Measures::default(),
                has_rules: false,
                logs: Vec::new(),
                exported: 0,
            },
            resource,
            measured: 0,
            readings: Vec::new(),
            counted: FxHashMap::default(),
            summed: FxHashMap::default(),
            has_new_counts: false,
        }
    }

    /// Reads a whole trace; `emit` takes what is to be sent, and says whether to go on.
    pub fn whole(
        &mut self,
        trace: &Trace,
        emit: &mut dyn FnMut(Batch) -> bool,
        progress: &mut dyn FnMut(f64),
    ) -> bool {
        Reader::symbols(self, trace.symbols());
        self.readings.extend_from_slice(trace.readings());
        Reader::counts(self, trace.counts(), trace.symbols());
        Reader::aggregates(self, trace.aggregates(), trace.symbols());
        let order = trace.in_order();
        if trace.has_logical_calls() {
            self.learn(trace, &order);
        }
        for (done, &SegmentPlace { thread, at, .. }) in order.iter().enumerate() {
            self.segment(trace, thread, at);
            if done % 64 == 0 {
                progress(done as f64 / order.len() as f64);
            }
            if !self.drain(BATCH, emit) {
                return false;
            }
        }
        self.finish(trace.end(), emit)
    }

    fn segment(&mut self, trace: &Trace, thread: usize, at: usize) {
        let thread = &trace.threads()[thread];
        let segment = trace.segments(thread)[at];
        let name = trace.thread_name(thread.number);
        self.with(thread.number, name, |replay, methods, spans| {
            replay.segment(trace, &segment, methods, spans);
        });
    }

    /// Reads a whole trace for where logical calls began: pieces of a call may lie in segments that are read before that of
    /// its begin.
    fn learn(&mut self, trace: &Trace, order: &[SegmentPlace]) {
        self.spans.is_learning = true;
        for &SegmentPlace { thread, at, .. } in order {
            self.segment(trace, thread, at);
        }
        self.end_threads(trace.end());
        self.spans.is_learning = false;
        self.spans.lanes.clear();
        self.spans.open = OpenSpans::default();
        let origins = self.spans.logical.drain().map(|(call, logical)| {
            let Logical {
                start,
                trace,
                root,
                parent,
                above,
                level,
                below,
                ..
            } = logical;
            let origin = Origin {
                start,
                trace,
                root,
                parent,
                above,
                level,
                below,
            };
            (call, origin)
        });
        self.spans.origins = origins.collect();
        self.spans.find_roots();
    }

    /// Ends what is open.
    fn end_threads(&mut self, end: u64) {
        let mut threads: Vec<u32> = self.runs.keys().copied().collect();
        threads.sort_unstable();
        for thread in threads {
            self.with(thread, None, |replay, _, spans| {
                replay.end_at(end, spans);
            });
        }
    }

    /// Sends what is ready, if it is at least so much; false if nobody takes more.
    pub fn drain(&mut self, least: usize, emit: &mut dyn FnMut(Batch) -> bool) -> bool {
        while self.spans.spans.len() >= least.max(1) {
            let rest = self
                .spans
                .spans
                .split_off(self.spans.spans.len().min(BATCH));
            let some = std::mem::replace(&mut self.spans.spans, rest);
            if !emit(spans_request(&self.resource, some)) {
                return false;
            }
        }
        while self.spans.logs.len() >= least.max(1) {
            let rest = self.spans.logs.split_off(self.spans.logs.len().min(BATCH));
            let some = std::mem::replace(&mut self.spans.logs, rest);
            if !emit(logs_request(&self.resource, some)) {
                return false;
            }
        }
        true
    }

    /// Spans that were made.
    pub fn exported(&self) -> u64 {
        self.spans.exported
    }

    /// Nothing more comes: ends what is open, and sends the rest.
    pub fn finish(&mut self, end: u64, emit: &mut dyn FnMut(Batch) -> bool) -> bool {
        self.end_threads(end);
        self.spans.finish(end);
        self.drain(1, emit) && self.measure(end, emit)
    }

    /// Sends the metrics as they are at this time.
    pub fn measure(&mut self, time: u64, emit: &mut dyn FnMut(Batch) -> bool) -> bool {
        let readings = std::mem::take(&mut self.readings);
        let Options { metrics, .. } = self.spans.options;
        if !metrics {
            return true;
        }
        for some in readings.chunks(METHODS) {
            let metrics = metrics_of_process(some, self.spans.origin);
            let points = some.len() as u64;
            if !metrics.is_empty() && !emit(metrics_request(&self.resource, metrics, points)) {
                return false;
            }
        }
        if time <= self.measured && !self.has_new_counts {
            return true;
        }
        // Of a process that only counts no record tells that time goes on.
        let time = time.max(self.measured + 1);
        (self.measured, self.has_new_counts) = (time, false);
        let origin = self.spans.origin;
        let at = origin.saturating_add(time);
        // Methods that differ in their parameters alone have one name, and so one point.
        let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
        for known in self.spans.known.iter().flatten() {
            if known.count.calls > 0 || known.count.counted > 0 {
                counts
                    .entry(&known.full_name)
                    .or_default()
                    .merge(&known.count);
            }
        }
        let (requests, points) = self.spans.measures.metrics(origin, at);
        if points > 0 && !emit(metrics_request(&self.resource, requests, points)) {
            return false;
        }
        let counts: Vec<(&str, Count)> = counts.into_iter().collect();
        counts.chunks(METHODS).all(|some| {
            let (metrics, points) = metrics_of(some, origin, at);
            emit(metrics_request(&self.resource, metrics, points))
        })
    }

    /// Turns to a thread, whose open calls are kept from one time to the next.
    fn with(
        &mut self,
        thread: u32,
        name: Option<&ThreadName>,
        act: impl FnOnce(&mut Replay, &mut Methods, &mut Spans),
    ) {
        let mut run = self.runs.remove(&thread).unwrap_or_default();
        self.spans.turn_to(thread, name);
        self.replay.turn_to(&mut run);
        act(&mut self.replay, &mut self.methods, &mut self.spans);
        self.replay.turn_to(&mut run);
        self.spans.flush(None);
        let lane = std::mem::take(&mut self.spans.lane);
        if self.replay.keeps(&run) {
            self.runs.insert(thread, run);
            self.spans.lanes.insert(thread, lane);
        }
    }
}

impl Reader for Session {
    /// Spans that were not drained take memory beside the sender's buffer.
    fn is_full(&self) -> bool {
        self.spans.spans.len().max(self.spans.logs.len()) >= FULL
    }

    fn symbols(&mut self, symbols: &Symbols) {
        let selection = &mut self.spans.options.selection;
        if symbols.has_roots() && selection.roots.is_empty() {
            // Rules say where traces begin, and nobody said otherwise.
            selection.roots = std::mem::take(&mut selection.roots).with_rules(true);
            self.replay.set_roots(&selection.roots);
        }
        super::know_platform(&mut self.resource, symbols, &self.spans.options.resource);
        for (id, _) in symbols.iter() {
            self.methods.resolve(id, symbols);
            let how = symbols.switched(id).and_then(|by| switches::sample(by));
            if let Some(Sampling::OneOf(n)) = how {
                self.spans.one_of.insert(id, n);
            }
        }
        for mapping in &self.mappings {
            self.methods.restore_names(mapping);
        }
        for (row, label) in self.methods.labels().into_iter().enumerate() {
            self.spans
                .know(row, self.methods.rows()[row].clone(), label);
        }
        for (id, _) in symbols.iter() {
            if let Some(rule) = symbols.span(id) {
                let row = self.methods.resolve(id, symbols);
                let known = self.spans.reach(row, Some(id));
                known.rule = Some(Arc::clone(rule));
                known.scope = (*rule.scope).into();
                self.spans.has_rules = true;
            }
        }
        self.replay.forget_names();
        for run in self.runs.values_mut() {
            self.replay.rename(run, symbols, &mut self.methods);
        }
    }

    fn counts(&mut self, counts: &Counts, symbols: &Symbols) {
        if !self.spans.options.selection.is_of_whole_processes() {
            return;
        }
        self.has_new_counts |= !counts.calls.is_empty();
        for (&id, &all) in &counts.calls {
            let before = self.counted.entry(id).or_default();
            let new = all.saturating_sub(std::mem::replace(before, all));
            let row = self.methods.resolve(id, symbols);
            let known = self.spans.reach(row, Some(id));
            if known.wanted {
                known.count.counted = known.count.counted.saturating_add(new);
            }
        }
    }

    fn aggregates(&mut self, aggregates: &Aggregates, symbols: &Symbols) {
        if !self.spans.options.selection.is_of_whole_processes() {
            return;
        }
        self.has_new_counts |= !aggregates.sums.is_empty();
        for (&id, sum) in &aggregates.sums {
            let new = self.summed.entry(id).or_default().grow(sum);
            let row = self.methods.resolve(id, symbols);
            let known = self.spans.reach(row, Some(id));
            if known.wanted {
                known.count.add_aggregate(&new);
            }
        }
    }

    fn readings(&mut self, readings: &[Reading]) {
        self.readings.extend_from_slice(readings);
    }

    fn records(
        &mut self,
        thread: u32,
        name: Option<&ThreadName>,
        symbols: &Symbols,
        records: Decoder<'_>,
    ) {
        self.with(thread, name, |replay, methods, spans| {
            replay.records(records, symbols, methods, spans);
        });
    }

    fn missing(&mut self, thread: u32, _: u64) {
        self.replay.misses(&mut self.runs, thread);
    }
}

/// What the process used: a metric that grows is a sum. Any other is a gauge, but for those of the conventions, which have sums
/// that may fall.
fn metrics_of_process(readings: &[Reading], origin: u64) -> Vec<Metric> {
    let mut all: BTreeMap<u8, Metric> = BTreeMap::new();
    for reading in readings {
        let Some(metric) = metric_of(reading.metric) else {
            continue;
        };
        let is_time = metric.unit == Unit::Nanoseconds;
        let of_conventions = metric.name.starts_with("process.");
        let is_sum = metric.grows || of_conventions;
        let point = NumberPoint {
            start_time_unix_nano: origin,
            time_unix_nano: origin.saturating_add(reading.time),
            as_double: is_time.then(|| seconds(reading.value)),
            as_int: (!is_time).then_some(reading.value as i64),
            attributes: Vec::new(),
        };
        let entry = all.entry(metric.number).or_insert_with(|| Metric {
            name: match of_conventions {
                true => metric.name.to_owned(),
                false => format!("weave.{}", metric.name),
            },
            description: metric.label.to_owned(),
            unit: match metric.unit {
                Unit::Bytes => "By",
                Unit::Nanoseconds => "s",
                Unit::Count if metric.name == "process.thread.count" => "{thread}",
                Unit::Count => "1",
            }
            .to_owned(),
            gauge: (!is_sum).then(Gauge::default),
            sum: is_sum.then(|| Sum {
                data_points: Vec::new(),
                aggregation_temporality: CUMULATIVE,
                is_monotonic: metric.grows,
            }),
            histogram: None,
        });
        if let Some(gauge) = &mut entry.gauge {
            gauge.data_points.push(point);
        } else if let Some(sum) = &mut entry.sum {
            sum.data_points.push(point);
        }
    }
    all.into_values().collect()
}

fn metrics_of(methods: &[(&str, Count)], origin: u64, time: u64) -> (Vec<Metric>, u64) {
    let of_method = |name: &str| vec![text("code.function.name", name)];
    let point = |name: &str, value: u64| NumberPoint {
        start_time_unix_nano: origin,
        time_unix_nano: time,
        as_double: None,
        as_int: Some(value as i64),
        attributes: of_method(name),
    };
    let timed = || methods.iter().filter(|(_, count)| count.calls > 0);
    let points = |of: &dyn Fn(&Count) -> Option<u64>| -> Vec<NumberPoint> {
        let of_each = methods.iter().map(|(name, count)| (name, of(count)));
        of_each
            .filter_map(|(name, value)| Some(point(name, value?)))
            .collect()
    };
    let sum = |name: &str, description: &str, unit: &str, data_points: Vec<NumberPoint>| Metric {
        name: name.to_owned(),
        description: description.to_owned(),
        unit: unit.to_owned(),
        gauge: None,
        sum: Some(Sum {
            data_points,
            aggregation_temporality: CUMULATIVE,
            is_monotonic: true,
        }),
        histogram: None,
    };
    let histogram = timed().map(|(name, count)| HistogramPoint {
        start_time_unix_nano: origin,
        time_unix_nano: time,
        count: count.calls,
        sum: Some(seconds(count.sum)),
        bucket_counts: count.buckets.as_ref().map_or_else(Vec::new, |b| b.to_vec()),
        explicit_bounds: BOUNDS.map(seconds).to_vec(),
        attributes: of_method(name),
        min: Some(seconds(count.min)),
        max: Some(seconds(count.max)),
    });
    let calls = points(&|c| Some(c.calls.saturating_add(c.counted)));
    // Nothing is known of the ends of calls that were only counted.
    let errors = points(&|c| (c.calls > 0).then_some(c.errors));
    let items = calls.len() + errors.len() + timed().count();
    let metrics = vec![
        sum(
            "weave.calls",
            "Calls that ended, or were counted",
            "{call}",
            calls,
        ),
        sum(
            "weave.errors",
            "Calls that an exception left",
            "{call}",
            errors,
        ),
        Metric {
            name: "weave.call.duration".to_owned(),
            description: "How long calls took".to_owned(),
            unit: "s".to_owned(),
            gauge: None,
            sum: None,
            histogram: Some(Histogram {
                data_points: histogram.collect(),
                aggregation_temporality: CUMULATIVE,
            }),
        },
    ];
    let metrics = metrics.into_iter().filter(Metric::has_points).collect();
    (metrics, items as u64)
}

impl Spans {
    fn turn_to(&mut self, thread: u32, name: Option<&ThreadName>) {
        let lane = self.lanes.remove(&thread);
        self.lane = lane.unwrap_or_else(|| {
            let name = format!("thread {thread}");
            Lane {
                number: thread,
                attributes: of_thread(thread, &name),
                name,
                wanted: wants_thread(&self.options.selection, thread, ""),
                ..Lane::default()
            }
        });
        if let Some(name) = name.filter(|name| !self.lane.named && !name.name.is_empty()) {
            self.lane.name = printable(&name.name);
            self.lane.named = true;
            self.lane.attributes = of_thread(thread, &self.lane.name);
            self.lane.wanted = wants_thread(&self.options.selection, thread, &name.name);
        }
    }

    /// Takes what a row stands for, if that is not known.
    fn know(&mut self, row: usize, method: Method, label: String) {
        if self.known.len() <= row {
            self.known.resize_with(row + 1, || None);
        }
        if self.known[row].is_some() {
            return;
        }
        let full_name = method.name();
        let named = named(method, label);
        let mut attributes = vec![text("code.function.name", full_name.as_str())];
        if let Some(symbol) = named.symbol() {
            if !symbol.file.is_empty() {
                attributes.push(text("code.file.path", &*symbol.file));
            }
            if symbol.line > 0 {
                attributes.push(number("code.line.number", u64::from(symbol.line)));
            }
        }
        self.known[row] = Some(Known {
            wanted: wants(&self.options.selection, &named),
            is_root: self.options.selection.roots.takes(&named.method),
            name: printable(&full_name),
            full_name,
            attributes: encoded(attributes),
            count: Count::default(),
            rule: None,
            scope: "".into(),
        });
    }

    /// Ids that no map names come up while records are read.
    fn reach(&mut self, row: MethodIx, id: Option<u32>) -> &mut Known {
        let row = row as usize;
        if self.known.get(row).is_none_or(Option::is_none) {
            let method = id.map_or(Method::Others, Method::Unknown);
            let label = method.name();
            self.know(row, method, label);
        }
        self.known[row].as_mut().expect("it was made known")
    }

    fn is_wanted(&self, frame: &Frame) -> bool {
        match self.known.get(frame.method as usize) {
            Some(Some(known)) => known.wanted,
            _ => {
                let method = Method::Unknown(frame.id);
                let label = method.name();
                wants(&self.options.selection, &named(method, label))
            }
        }
    }

    /// The key of a thing, from which its id is hashed.
    fn key(&self, kind: u64, a: u64, b: u64, c: u64) -> [u8; 40] {
        let mut key = [0; 40];
        for (to, part) in key.chunks_mut(8).zip([self.identity, kind, a, b, c]) {
            to.copy_from_slice(&part.to_le_bytes());
        }
        key
    }

    /// The id of the span of the call with this index in the stack of selected calls.
    fn span_id(&self, stack: &[Frame], at: usize) -> SpanId {
        let frame = &stack[at];
        match (self.lane.call_at(at), frame.piece) {
            (Some(anchor), _) => anchor.span.span.to_be_bytes(),
            (None, Some(piece)) => self.logical_id(piece.call),
            (None, None) => self.hashed_id(frame, at),
        }
    }

    fn hashed_id(&self, frame: &Frame, depth: usize) -> SpanId {
        let place = u64::from(self.lane.number) << 32 | depth as u64;
        let id = xxh3_64(&self.key(1, place, frame.start, u64::from(frame.id)));
        id.max(1).to_be_bytes()
    }

    fn new_span_id(&mut self, frame: &Frame, depth: usize) -> SpanId {
        let id = self.hashed_id(frame, depth);
        if self.lane.last.0 != id {
            self.lane.last = (id, 0);
            return id;
        }
        self.lane.last.1 += 1;
        xxh3_64(&self.key(5, u64::from_be_bytes(id), self.lane.last.1, 0))
            .max(1)
            .to_be_bytes()
    }

    fn logical_id(&self, call: u64) -> SpanId {
        if let Some(own) = self.logical_spans.get(&call) {
            return own.span.to_be_bytes();
        }
        xxh3_64(&self.key(2, call, 0, 0)).max(1).to_be_bytes()
    }

    /// The trace that a stack is of: its outermost call's, or that of the logical call whose piece this is.
    fn trace_id(&self, stack: &[Frame]) -> TraceId {
        let Some(outermost) = stack.first() else {
            return [0; 16];
        };
        if let Some(anchor) = self.lane.around(stack.len() - 1) {
            return anchor.span.trace.to_be_bytes();
        }
        match outermost.piece {
            Some(piece) => self.logical_trace(piece.call),
            None => {
                let thread = u64::from(self.lane.number);
                let key = self.key(3, thread, outermost.start, u64::from(outermost.id));
                xxh3_128(&key).max(1).to_be_bytes()
            }
        }
    }

    fn logical_trace(&self, call: u64) -> TraceId {
        if let Some(own) = self.logical_spans.get(&call) {
            return own.trace.to_be_bytes();
        }
        match (self.origins.get(&call), self.logical.get(&call)) {
            (Some(origin), _) => origin.trace,
            (None, Some(logical)) => logical.trace,
            (None, None) => xxh3_128(&self.key(4, call, 0, 0)).max(1).to_be_bytes(),
        }
    }

    /// What OpenTelemetry's consistent probability sampling says of the last call of a stack. Only where the decision was about
    /// its whole trace, of which then all or nothing is there, and by a share: so any random number of the traces that are taken
    /// can be this one's.
    fn trace_state(&self, stack: &[Frame], trace: &[u8]) -> String {
        let (Some(outermost), Some(frame)) = (stack.first(), stack.last()) else {
            return String::new();
        };
        let decided = (self.one_of.get(&outermost.id)).filter(|_| outermost.piece.is_none());
        match decided {
            Some(&n) if n > 1 && outermost.taken == n => {
                let random = xxh3_64(trace) >> 8;
                probability(frame.weight, n, random)
            }
            _ => String::new(),
        }
    }

    /// A logical call that began in a piece of another is of that one's trace.
    fn find_roots(&mut self) {
        let mut calls: Vec<u64> = self.origins.keys().copied().collect();
        calls.sort_unstable();
        for call in calls {
            // The way to one whose trace is known; damaged traces have circles.
            let (mut way, mut at) = (Vec::new(), call);
            while let Some(origin) = self.origins.get_mut(&at)
                && let Some(root) = origin.root.take()
            {
                way.push(at);
                at = root;
            }
            let trace = self.logical_trace(at);
            for call in way {
                if let Some(origin) = self.origins.get_mut(&call) {
                    origin.trace = trace;
                }
            }
        }
    }

    /// The parent of what lies so deep in a stack: the call at `nearest`, or a span of another thread where that lies nearer.
    fn parent(&self, stack: &[Frame], depth: usize, nearest: Option<usize>) -> Option<SpanId> {
        let context = self.lane.contexts.handed(self.lane.base + depth);
        match (context, nearest) {
            (Some(context), None) => Some(context.span.span.to_be_bytes()),
            (Some(context), Some(at))
                if self.lane.base + at < context.depth || self.is_apart(&stack[at], context) =>
            {
                Some(context.span.span.to_be_bytes())
            }
            (_, at) => at.map(|at| self.span_id(stack, at)),
        }
    }

    /// Whether a piece runs in the context of another trace than its logical call is of.
    fn is_apart(&self, frame: &Frame, context: &Anchor) -> bool {
        let trace = context.span.trace.to_be_bytes();
        frame
            .piece
            .is_some_and(|piece| self.logical_trace(piece.call) != trace)
    }

    /// The logical call that is the parent, where a piece of it is the nearest call of a stack.
    fn above(
        &self,
        stack: &[Frame],
        nearest: Option<usize>,
        parent: Option<SpanId>,
    ) -> Option<u64> {
        let call = stack[nearest?].piece?.call;
        (parent == Some(self.logical_id(call))).then_some(call)
    }

    fn rule(&self, method: MethodIx) -> Option<&Arc<SpanRule>> {
        let known = self.known.get(method as usize)?.as_ref()?;
        known.rule.as_ref()
    }

    /// The nearest call of a stack that would be exported if it were long enough: how deep it is. `surely`: that is exported
    /// however short it is.
    fn nearest(&self, stack: &[Frame], surely: bool) -> Option<usize> {
        let most = self.options.selection.depth.unwrap_or(u32::MAX) as usize;
        let (mut nearest, mut level) = (None, 0);
        for (at, frame) in stack.iter().enumerate() {
            level = self.level_after(level, frame);
            let stays = || {
                let is_root = at == 0 && self.is_root(frame.method);
                !surely || is_root || self.rule(frame.method).is_some()
            };
            if level <= most && self.is_wanted(frame) && stays() {
                nearest = Some(at);
            }
        }
        nearest
    }

    /// How many calls lead to the last of a stack, itself included, of those that --filter takes. A piece lies as deep as its call.
    fn level(&self, stack: &[Frame]) -> usize {
        (stack.iter()).fold(0, |level, frame| self.level_after(level, frame))
    }

    /// The same of a call in one that lies so deep.
    fn level_after(&self, level: usize, frame: &Frame) -> usize {
        // One that begins here is known when its first piece ends.
        let call = frame.piece.map(|piece| piece.call);
        let known = call.and_then(|call| match self.origins.get(&call) {
            Some(origin) => Some(origin.level),
            None => Some(self.logical.get(&call)?.level),
        });
        known.unwrap_or_else(|| level + usize::from(self.is_wanted(frame)))
    }

    /// Whether `--depth` takes what lies so deep.
    fn is_deep(&self, level: usize) -> bool {
        (self.options.selection.depth).is_some_and(|most| level > most as usize)
    }

    /// The span that a logical call is below: of the logical calls around it the nearest that is long enough.
    fn parent_of_logical(&self, logical: &Logical) -> Option<SpanId> {
        let mut at = logical;
        for _ in 0..=ENDED {
            let Some(above) = at.above else {
                return at.parent;
            };
            let Some(outer) = self.logical.get(&above).filter(|outer| outer.over) else {
                // It runs on, longer than what it has begun.
                return Some(self.logical_id(above));
            };
            let stays = self.rule(outer.method).is_some() || self.is_root(outer.method);
            if self.is_long(outer.start, outer.last, stays) {
                return Some(self.logical_id(above));
            }
            at = outer;
        }
        None
    }

    /// Whether the last call of a stack is exported, when it ends at `time`.
    fn fits(&self, stack: &[Frame], time: u64, depth: Option<u32>) -> bool {
        let Some(frame) = stack.last() else {
            return false;
        };
        let rule = self.rule(frame.method);
        let around = stack[..stack.len() - 1].iter();
        let mut around = around.filter_map(|frame| self.rule(frame.method).map(|rule| &**rule));
        if rule.is_some_and(|rule| contexts::is_within(rule, &mut around)) {
            return false;
        }
        let is_root = rule.is_some() || stack.len() == 1 && self.is_root(frame.method);
        self.in_window(frame.start, time)
            && self.is_long(frame.start, time, is_root)
            && self.is_wanted(frame)
            && depth.is_none_or(|most| self.level(stack) <= most as usize)
    }

    fn has_roots(&self) -> bool {
        !self.options.selection.roots.is_empty()
    }

    fn is_root(&self, method: MethodIx) -> bool {
        let known = self.known.get(method as usize);
        known.is_some_and(|known| known.as_ref().is_some_and(|known| known.is_root))
    }

    /// The selected part of a stack: with roots, from the root on.
    fn looked_at<'a>(&mut self, stack: &'a [Frame]) -> &'a [Frame] {
        let some = match self.has_roots() {
            true => from_root(stack),
            false => stack,
        };
        self.lane.base = stack.len() - some.len();
        some
    }

    /// A root is a span however short it is.
    fn is_long(&self, start: u64, end: u64, is_root: bool) -> bool {
        is_root || end.saturating_sub(start) >= self.options.selection.min
    }

    fn in_window(&self, start: u64, end: u64) -> bool {
        let Selection { from, until, .. } = self.options.selection;
        from.is_none_or(|from| end > from) && until.is_none_or(|until| start < until)
    }

    /// A logical call is seen for the first time: what of the thread began it is below.
    fn begin_logical(
        &mut self,
        method: MethodIx,
        Weighted { call, weight }: Weighted,
        time: u64,
        stack: &[Frame],
        begun: bool,
    ) {
        if let Some(known) = self.logical.get_mut(&call) {
            known.weight = known.weight.max(weight);
            return;
        }
        if self.logical.len() >= MAX_LOGICAL {
            return;
        }
        if let Some(origin) = self.origins.get(&call) {
            let logical = Logical {
                method,
                start: origin.start,
                last: time,
                trace: origin.trace,
                root: None,
                parent: origin.parent,
                above: origin.above,
                level: origin.level,
                begun: begun || !self.begun_by_piece.contains(&call),
                below: origin.below,
                over: false,
                failed: false,
                weight,
                values: Vec::new(),
                seen: false,
                late: None,
            };
            self.logical.insert(call, logical);
            return;
        }
        let is_root = self.is_root(method);
        let below = !self.has_roots() || !stack.is_empty();
        let own = self.logical_spans.get(&call).copied();
        let trace = match (own, stack) {
            (None, [_, ..]) => self.trace_id(stack),
            _ => self.logical_trace(call),
        };
        let nearest = self.nearest(stack, false).filter(|_| self.lane.wanted);
        let mut parent = self.parent(stack, stack.len(), nearest);
        let mut above = self.above(stack, nearest, parent);
        // Its caller is its parent where that is of the trace; what else is around it here is by chance.
        if let Some(own) = own {
            let outer = nearest.and_then(|at| self.lane.around(at));
            if own.parent == 0 || outer.is_none_or(|outer| outer.span.trace != own.trace) {
                (parent, above) = (parent_of(own), None);
            }
        }
        if let Some(depth) = nearest.filter(|_| above.is_none()) {
            let at = self.lane.begun.partition_point(|(d, _)| *d <= depth);
            self.lane.begun.insert(at, (depth, call));
        }
        let known = self.known.get(method as usize).and_then(Option::as_ref);
        let is_level = usize::from(known.is_some_and(|known| known.wanted));
        let logical = Logical {
            method,
            start: time,
            last: time,
            trace,
            root: (stack.first().and_then(|f| f.piece).map(|p| p.call)).filter(|_| own.is_none()),
            parent,
            above,
            level: self.level(stack) + is_level,
            begun,
            below: below || is_root,
            over: false,
            failed: false,
            weight,
            values: Vec::new(),
            seen: false,
            late: None,
        };
        self.logical.insert(call, logical);
    }

    /// A call goes on as a logical one, which is this span.
    fn goes_on(&mut self, call: u64, own: Option<SpanContext>) {
        if let Some(own) = own.filter(|_| self.logical_spans.len() < 2 * MAX_LOGICAL) {
            self.logical_spans.insert(call, own);
            self.open.goes_on(call, own);
        }
    }

    /// A call ends. If it is not exported, the logical calls that it began become children of the call around it.
    fn hand_up(&mut self, stack: &[Frame], exported: bool) {
        let depth = stack.len() - 1;
        while let Some(&(at, call)) = self.lane.begun.last()
            && at >= depth
        {
            self.lane.begun.pop();
            if exported && at == depth {
                continue;
            }
            let around = self.nearest(&stack[..depth], false);
            let parent = self.parent(stack, depth, around);
            let above = self.above(stack, around, parent);
            if let Some(logical) = self.logical.get_mut(&call).filter(|l| !l.over) {
                (logical.parent, logical.above) = (parent, above);
                if let Some(depth) = around.filter(|_| above.is_none()) {
                    let at = self.lane.begun.partition_point(|(d, _)| *d <= depth);
                    self.lane.begun.insert(at, (depth, call));
                }
            }
        }
    }

    fn span(&mut self, method: MethodIx, start: u64, end: u64, how: Outcome) -> Span {
        let known = self.reach(method, None);
        let (name, mut attributes) = (known.name.clone(), Vec::new());
        let status = match how {
            Outcome::Error => Some(Status {
                message: String::new(),
                code: STATUS_ERROR,
            }),
            _ => None,
        };
        match how {
            Outcome::Running => attributes.push(text("weave.outcome", "running")),
            Outcome::Lost => attributes.push(text("weave.outcome", "lost")),
            Outcome::Exit | Outcome::Error => {}
        }
        Span {
            name,
            kind: KIND_INTERNAL,
            start_time_unix_nano: self.origin.saturating_add(start),
            end_time_unix_nano: self.origin.saturating_add(end),
            attributes,
            status,
            ..Span::default()
        }
    }

    /// Whether calls of a method begin what a process does for another.
    fn is_entry(&self, method: MethodIx) -> bool {
        self.rule(method).is_some_and(|rule| rule.kind.is_entry())
    }

    /// Makes of a span what its rule says, if there is one.
    fn say(&self, span: &mut Span, method: MethodIx, values: &[values::Value]) {
        let Some(rule) = self.rule(method) else {
            return;
        };
        span.kind = rule.kind.number() as i32;
        if let Some(name) = contexts::name(rule, values) {
            span.name = printable(&name);
        }
        if let Some(why) = contexts::failure(rule, values)
            && span.status.is_none()
        {
            span.attributes.push(text("error.type", why));
            span.status = Some(Status {
                message: String::new(),
                code: STATUS_ERROR,
            });
        }
    }

    /// The same; false if it is none after all. What spans were exported below it keep their parent.
    fn ruled(
        &self,
        span: &mut Span,
        method: MethodIx,
        values: &[values::Value],
        at: usize,
    ) -> bool {
        let rule = self.rule(method);
        let is_span = rule.is_none_or(|rule| contexts::is_span(rule, values));
        let own = self.lane.call_at(at);
        if !is_span && !own.is_some_and(|own| own.has_children) {
            return false;
        }
        self.say(span, method, values);
        true
    }

    /// A call has ended: the last of the stack.
    fn ended_call(&mut self, call: &Call, stack: &[Frame]) -> bool {
        self.flush(None);
        let values = std::mem::take(&mut self.values);
        let Some(frame) = stack.last() else {
            return true;
        };
        let stack = self.looked_at(stack);
        let around = stack.split_last().map_or(stack, |(_, around)| around);
        let ended = Ended {
            call,
            frame,
            stack,
            around,
            time: call.start.saturating_add(call.total),
            own: self.lane.call_at(around.len()).map(|anchor| anchor.span),
        };
        self.reach(call.method, Some(frame.id));
        if self.is_learning {
            self.learn_ended(&ended);
            return true;
        }
        if let Some(piece) = call.piece {
            self.ended_piece(&ended, piece, &values);
        }
        if self.lane.wanted && !stack.is_empty() {
            self.ended_span(&ended, values);
        }
        true
    }

    /// The first pass: which spans are of which logical calls, and what a call without a span hands to the one around it.
    fn learn_ended(&mut self, ended: &Ended<'_>) {
        let call = ended.call;
        if let Some(piece) = call.piece.filter(|piece| piece.first) {
            let which = piece.weighted(call.weight);
            self.goes_on(piece.call, ended.own);
            self.begin_logical(call.method, which, call.start, ended.around, true);
            if self.rule(call.method).is_some() && self.begun_by_piece.len() < MAX_LOGICAL {
                self.begun_by_piece.insert(piece.call);
            }
        }
        if self.lane.wanted && !self.lane.begun.is_empty() && !ended.stack.is_empty() {
            let depth = self.options.selection.depth;
            let stays = call.piece.is_some() || self.fits(ended.stack, ended.time, depth);
            self.hand_up(ended.stack, stays);
        }
    }

    /// A piece of a logical call has ended. Adds its values and times to the logical call, and sends that if it has ended before.
    fn ended_piece(&mut self, ended: &Ended<'_>, piece: Piece, values: &[values::Value]) {
        let call = ended.call;
        // Who resumes it has not begun it.
        let began = if piece.first { ended.around } else { &[] };
        let which = piece.weighted(call.weight);
        self.goes_on(piece.call, ended.own);
        self.begin_logical(call.method, which, call.start, began, piece.first);
        let mut late = None;
        if let Some(logical) = self.logical.get_mut(&piece.call) {
            logical.below |= !ended.stack.is_empty();
            logical.last = logical.last.max(ended.time);
            logical.start = logical.start.min(call.start);
            logical.seen = true;
            let size = values::size(values);
            if !logical.over && self.logical_values + size <= values::MAX_LOGICAL {
                self.logical_values += size;
                logical.values.extend_from_slice(values);
            }
            // Another thread may resume a call before the record that suspends it is written.
            if piece.first && !std::mem::replace(&mut logical.begun, true) && logical.over {
                late = Some((logical.start, logical.last - logical.start, logical.failed));
            }
        }
        let known = self.reach(call.method, Some(ended.frame.id));
        if let Some((start, duration, failed)) = late {
            if known.wanted {
                known.count.add(duration, failed, call.weight.into());
            }
            self.complete_held(piece.call, call.method, values);
            self.release(piece.call, Some(start));
        }
        let end = self.logical.get_mut(&piece.call);
        if let Some(end) = end.and_then(|logical| logical.late.take()) {
            self.end_logical(piece.call, end.time, end.how);
            let exception = end.exception.as_ref();
            self.flush(exception.map(Described::as_deref));
        }
    }

    /// A selected call ended: makes its span, if it is one. A piece is none: the logical call is the span.
    fn ended_span(&mut self, ended: &Ended<'_>, values: Vec<values::Value>) {
        let (call, depth) = (ended.call, ended.around.len());
        let is_part = call.piece.is_some();
        let exported = !is_part && self.fits(ended.stack, ended.time, self.options.selection.depth);
        // However deep it lies.
        let is_measured = self.options.metrics
            && self.rule(call.method).is_some()
            && matches!(call.outcome, Outcome::Exit | Outcome::Error)
            && (exported || !is_part && self.fits(ended.stack, ended.time, None));
        if !self.lane.begun.is_empty() {
            self.hand_up(ended.stack, exported || is_part);
        }
        let known = self.reach(call.method, Some(ended.frame.id));
        if known.wanted && !is_part && call.outcome != Outcome::Running {
            let failed = call.outcome == Outcome::Error;
            known.count.add(call.total, failed, call.weight.into());
        }
        if !exported && !is_measured {
            return;
        }
        let values = match ended.own {
            Some(own) => self.open.values(own.span, values),
            None => self.lane.contexts.values(self.lane.base + depth, values),
        };
        let Some(span) = self.span_of(ended, &values) else {
            return;
        };
        if exported {
            self.lane.contexts.note_child(self.lane.base + depth);
        }
        self.pending.push(Pending {
            span,
            method: call.method,
            thread: Arc::clone(&self.lane.attributes),
            held: None,
            is_sent: exported,
            is_measured,
        });
    }

    /// The span of a call with all but its exception; none where its rule says so.
    fn span_of(&mut self, ended: &Ended<'_>, values: &[values::Value]) -> Option<Span> {
        let Ended { call, around, .. } = *ended;
        let mut span = self.span(call.method, call.start, ended.time, call.outcome);
        span.trace_id = self.trace_id(ended.stack).to_vec();
        let is_short = !self.is_long(call.start, ended.time, false);
        let nearest = self.nearest(around, is_short);
        let mut parent = self.parent(ended.stack, around.len(), nearest);
        span.span_id = match ended.own {
            Some(own) => {
                let outer = nearest.and_then(|at| self.lane.around(at));
                let is_of_trace = outer.is_some_and(|outer| outer.span.trace == own.trace);
                if own.parent == 0 || !is_of_trace {
                    parent = (own.parent != 0).then(|| own.parent.to_be_bytes());
                }
                span.flags = flags_of(own);
                own.span.to_be_bytes().to_vec()
            }
            None => self.new_span_id(ended.frame, around.len()).to_vec(),
        };
        if around.is_empty() && self.is_root(call.method) {
            span.kind = self.options.root_kind.number() as i32;
        }
        span.attributes.reserve(values.len() + 2);
        span.attributes.push(number("weave.self_time_ns", call.own));
        if call.weight > 1 {
            span.attributes
                .push(number("weave.weight", call.weight.into()));
        }
        span.trace_state = self.trace_state(ended.stack, &span.trace_id);
        tell(&mut span, values);
        span.parent_span_id = parent.map_or_else(Vec::new, |id| id.to_vec());
        self.ruled(&mut span, call.method, values, around.len())
            .then_some(span)
    }

    /// The spans of the call that ended last are complete; `exception` is what it ended with.
    fn flush(&mut self, exception: Option<Described<&str>>) {
        let Options { events, logs, .. } = self.options;
        // The exception is an event of the logical call, not of its last piece.
        let teller = self.pending.iter().rposition(|p| p.span.status.is_some());
        for (at, mut pending) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            let span = &mut pending.span;
            // What the library did not see is no exception that could be described.
            let seen = |told: &Described<&str>| told.type_name != exceptions::UNKNOWN;
            let says_type = span.attributes.iter().any(|a| a.key == "error.type");
            if let Some(Described { type_name, message }) =
                exception.filter(|told| span.status.is_some() && seen(told))
            {
                let mut described = vec![
                    text("exception.type", type_name),
                    text("exception.message", message),
                ];
                // Where the rule takes it, it is of the exception, and not of the call.
                let stack = span.attributes.iter().position(|a| a.key == STACK_TRACE);
                described.extend(stack.map(|at| span.attributes.remove(at)));
                if !says_type {
                    span.attributes.push(text("error.type", type_name));
                }
                if let Some(status) = &mut span.status {
                    message.clone_into(&mut status.message);
                }
                // Once, where it was thrown, or where it comes to the first span.
                let is_new = Some(at) == teller && !std::mem::replace(&mut self.lane.is_told, true)
                    || stack.is_some();
                if logs && is_new {
                    self.logs.push(LogRecord {
                        time_unix_nano: span.end_time_unix_nano,
                        observed_time_unix_nano: span.end_time_unix_nano,
                        severity_number: SEVERITY_ERROR,
                        severity_text: "ERROR".to_owned(),
                        attributes: described.clone(),
                        trace_id: span.trace_id.clone(),
                        span_id: span.span_id.clone(),
                        event_name: "exception".to_owned(),
                    });
                }
                if events && is_new {
                    span.events.push(Event {
                        time_unix_nano: span.end_time_unix_nano,
                        name: "exception".to_owned(),
                        attributes: described,
                    });
                }
            } else if span.status.is_some() && !says_type {
                span.attributes.push(text("error.type", "_OTHER"));
            }
            match pending.held {
                Some(call) => {
                    self.held.insert(call, pending);
                }
                None => self.push(pending),
            }
        }
    }

    fn push(&mut self, pending: Pending) {
        let known = self.known.get(pending.method as usize);
        let known = known.and_then(Option::as_ref);
        if let Some(rule) = known.and_then(|known| known.rule.as_ref())
            && pending.is_measured
        {
            self.measures.add(rule.kind, &pending.span);
        }
        if !pending.is_sent {
            return;
        }
        self.exported += 1;
        if self.options.spans {
            let scope = known.map_or_else(|| "".into(), |known| Arc::clone(&known.scope));
            let of_method = known.map_or(&[][..], |known| &known.attributes);
            // A message may stand behind another one, whose fields it adds to.
            let mut span = pending.span.encode_to_vec();
            span.reserve_exact(of_method.len() + pending.thread.len());
            span.extend_from_slice(of_method);
            span.extend_from_slice(&pending.thread);
            self.spans.push(Ready { span, scope });
        }
    }

    /// The first piece of a logical call was read after its end: its values are known now.
    fn complete_held(&mut self, call: u64, method: MethodIx, values: &[values::Value]) {
        let Some(mut held) = self.held.remove(&call) else {
            return;
        };
        let span = &mut held.span;
        let own = self.logical_spans.get(&call).copied();
        if let Some(own) = own.filter(|own| span.span_id != own.span.to_be_bytes()) {
            span.trace_id = own.trace.to_be_bytes().to_vec();
            span.span_id = own.span.to_be_bytes().to_vec();
            span.parent_span_id = parent_of(own).map_or_else(Vec::new, |id| id.to_vec());
            span.flags = flags_of(own);
        }
        let values = match own {
            Some(own) => self.open.values(own.span, values.to_vec()),
            None => values.to_vec(),
        };
        tell(span, &values);
        self.say(span, method, &values);
        self.held.insert(call, held);
    }

    /// When a logical call began is known now, or never will be.
    fn release(&mut self, call: u64, start: Option<u64>) {
        self.open.end_logical(call);
        if let Some(mut held) = self.held.remove(&call) {
            if let Some(start) = start {
                held.span.start_time_unix_nano = self.origin.saturating_add(start);
            }
            self.push(held);
        }
    }

    fn end_logical(&mut self, call: u64, time: u64, how: Outcome) {
        let Some(logical) = self.logical.get_mut(&call).filter(|l| !l.over) else {
            return;
        };
        logical.over = true;
        logical.failed = how == Outcome::Error;
        logical.last = logical.last.max(time);
        let (method, start, end) = (logical.method, logical.start, logical.last);
        let (trace, begun, level) = (logical.trace, logical.begun, logical.level);
        let weight = u64::from(logical.weight);
        let values = std::mem::take(&mut logical.values);
        self.logical_values -= values::size(&values);
        let below = logical.below;
        let parent = (self.logical.get(&call)).and_then(|known| self.parent_of_logical(known));
        self.ended.push_back(call);
        if self.ended.len() > ENDED
            && let Some(oldest) = self.ended.pop_front()
        {
            self.logical.remove(&oldest);
            self.logical_spans.remove(&oldest);
            self.release(oldest, None);
        }
        let is_span = self.rule(method).is_some();
        let known = self.reach(method, None);
        if !known.wanted || !below {
            return;
        }
        let is_root = known.is_root && parent.is_none();
        if begun && how != Outcome::Running {
            known.count.add(end - start, how == Outcome::Error, weight);
        }
        if self.in_window(start, end) && self.is_long(start, end, is_root || is_span) {
            let mut span = self.span(method, start, end, how);
            if is_root {
                span.kind = self.options.root_kind.number() as i32;
            }
            span.trace_id = trace.to_vec();
            span.span_id = self.logical_id(call).to_vec();
            let own = self.logical_spans.get(&call).copied();
            let parent = parent.or_else(|| own.and_then(parent_of));
            span.parent_span_id = parent.map_or_else(Vec::new, |id| id.to_vec());
            let values = match own {
                Some(own) => self.open.values(own.span, values),
                None => values,
            };
            if let Some(own) = own {
                span.flags = flags_of(own);
            }
            span.attributes.push(number("weave.logical_call", call));
            if weight > 1 {
                span.attributes.push(number("weave.weight", weight));
            }
            tell(&mut span, &values);
            self.say(&mut span, method, &values);
            let held = (!begun && how != Outcome::Running).then_some(call);
            let is_measured = self.options.metrics && how != Outcome::Running;
            self.pending.push(Pending {
                span,
                method,
                thread: Arc::default(),
                held,
                is_sent: !self.is_deep(level),
                is_measured,
            });
        }
        // Of one that is held others may still say what they know.
        let is_held = !begun && how != Outcome::Running;
        if !is_held {
            self.open.end_logical(call);
        }
    }

    /// Logical calls that have not ended.
    fn finish(&mut self, end: u64) {
        let mut open: Vec<u64> = (self.logical.iter())
            .filter(|(_, logical)| !logical.over)
            .map(|(&call, _)| call)
            .collect();
        open.sort_unstable();
        for call in open {
            let Some(logical) = self.logical.get_mut(&call) else {
                continue;
            };
            match logical.late.take() {
                Some(late) if logical.seen || self.logical_spans.contains_key(&call) => {
                    self.end_logical(call, late.time, late.how);
                }
                // Nothing of it but its end is there.
                Some(_) => logical.over = true,
                None => self.end_logical(call, end, Outcome::Running),
            }
        }
        self.flush(None);
        let mut held: Vec<u64> = self.held.keys().copied().collect();
        held.sort_unstable();
        for call in held {
            self.release(call, None);
        }
    }
}

/// The trace state of a span that stands for so many, in a trace of which one of `n` is there. `random` has 56 bits.
fn probability(weight: u32, n: u32, random: u64) -> String {
    const ALL: u64 = 1 << 56;
    // A trace is taken where its random number is not below the threshold.
    let threshold = |calls: u32| ALL - ALL / u64::from(calls);
    let least = threshold(n);
    let taken = (u128::from(ALL - least) * u128::from(random)) >> 56;
    let random = least + taken as u64;
    let of_span = format!("{:014x}", threshold(weight));
    let of_span = match of_span.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    format!("ot=th:{of_span};rv:{random:014x}")
}

/// The id of a span's parent.
fn parent_of(span: SpanContext) -> Option<SpanId> {
    (span.parent != 0).then(|| span.parent.to_be_bytes())
}

/// The flags of a span that OTLP has.
fn flags_of(span: SpanContext) -> u32 {
    let remote = match span.flags & SPAN_REMOTE {
        0 => 0,
        _ => FLAG_REMOTE,
    };
    (span.flags & 0xff) as u32 | FLAG_HAS_REMOTE | remote
}

/// Attributes of a span as its message has them, made once for many spans.
fn encoded(attributes: Vec<KeyValue>) -> Vec<u8> {
    let span = Span {
        attributes,
        ..Span::default()
    };
    span.encode_to_vec()
}

fn of_thread(thread: u32, name: &str) -> Arc<[u8]> {
    let attributes = vec![
        number("thread.id", thread.into()),
        text("thread.name", name),
    ];
    encoded(attributes).into()
}

/// Says of a span what was recorded of it.
fn tell(span: &mut Span, values: &[values::Value]) {
    span.attributes.extend(values.iter().filter_map(value));
    // A part of it is none.
    let state = |value: &&values::Value| value.is_trace_state() && !value.cut && !value.masked;
    if let Some(state) = values.iter().find(state) {
        span.trace_state = state.text().into_owned();
    }
    let links = values.iter().filter_map(values::Value::link);
    span.links.extend(links.map(|link| Link {
        trace_id: link.trace.to_be_bytes().into(),
        span_id: link.span.to_be_bytes().into(),
        trace_state: link.state.to_owned(),
        flags: link.flags.into(),
    }));
}

/// A value as an attribute: numbers that OTLP does not have become text. A name with dots is one of the conventions,
/// which have no attribute for a missing value.
fn value(value: &values::Value) -> Option<KeyValue> {
    let is_of_conventions = value.name.contains('.') && !value.name.contains(['(', ' ']);
    let is_missing = matches!(value.data, Data::Null | Data::Missing(_));
    if value.name.is_empty() || value.is_trace_state() || value.is_link() {
        return None; // the span's own name, or no attribute
    }
    let key = match is_of_conventions {
        true if is_missing => return None,
        true => value.name.to_string(),
        false => format!("weave.value.{}", value.name),
    };
    let typed = match value.data {
        Data::Boolean(b) => Value::Boolean(b),
        Data::Integer(n) => Value::Number(n),
        Data::Unsigned(n) if n <= i64::MAX as u64 => Value::Number(n as i64),
        Data::Double(n) => Value::Double(n),
        Data::Float(n) => Value::Double(values::widened(n)),
        _ => Value::Text(value.text().into_owned()),
    };
    Some(attribute(&key, typed))
}

impl Visitor for Spans {
    fn wants_values(&self) -> bool {
        !self.is_learning && (self.options.spans || self.options.metrics && self.has_rules)
    }

    fn values(&mut self, values: Vec<values::Value>) {
        self.values = values;
    }

    fn span(&mut self, method: MethodIx, span: SpanContext, depth: usize) {
        self.lane.contexts.begin(span, depth);
        self.open.begin(span, self.is_entry(method));
    }

    fn logical_span(&mut self, method: MethodIx, call: u64, span: SpanContext) {
        if self.logical_spans.len() < 2 * MAX_LOGICAL {
            self.logical_spans.insert(call, span);
            let is_entry = self.is_entry(method);
            self.open.begin_logical(call, span, is_entry);
        }
    }

    fn context(&mut self, span: Option<SpanContext>, depth: usize) {
        self.lane.contexts.hand(span, depth);
    }

    fn entry_value(&mut self, value: values::Value, stack: &[Frame]) {
        let entry = stack.iter().rposition(|frame| self.is_entry(frame.method));
        self.open.give_in(&mut self.lane.contexts, entry, value);
    }

    fn call(&mut self, call: &Call, stack: &mut [Frame]) -> bool {
        let counts = self.ended_call(call, stack);
        let (lane, open) = (&mut self.lane, &mut self.open);
        let depth = stack.len().saturating_sub(1);
        let piece = call.piece.map(|piece| piece.call);
        lane.contexts
            .end(depth, |span| open.end_of_call(span.span, piece));
        counts
    }

    fn begin(&mut self, method: MethodIx, call: u64, time: u64, weight: u32, stack: &[Frame]) {
        let stack = self.looked_at(stack);
        self.begin_logical(method, Weighted { call, weight }, time, stack, true);
    }

    fn complete(&mut self, method: MethodIx, call: u64, time: u64, outcome: Outcome, weight: u32) {
        if self.is_learning {
            return;
        }
        let values = std::mem::take(&mut self.values);
        if self.rule(method).is_some() && !self.logical.contains_key(&call) {
            self.begin_logical(method, Weighted { call, weight }, time, &[], false);
        }
        if let Some(known) = self.logical.get_mut(&call) {
            known.weight = known.weight.max(weight);
            let size = values::size(&values);
            if !known.over && self.logical_values + size <= values::MAX_LOGICAL {
                self.logical_values += size;
                known.values.extend(values);
            }
            let is_span = self.logical_spans.contains_key(&call);
            if !known.seen && (is_span || !known.begun) && !known.over {
                let exception = None;
                known.late = Some(Late {
                    time,
                    how: outcome,
                    exception,
                });
                return;
            }
        }
        // Where a piece of it ended last, that waits for its exception as well.
        if self.pending.first().is_none_or(|p| p.method != method) {
            self.flush(None);
        }
        self.end_logical(call, time, outcome);
    }

    fn error(&mut self, method: MethodIx, thrown: &Thrown<'_>) {
        if self.is_learning {
            return;
        }
        if let Some(details) = thrown.details {
            self.lane.exception = Some(details.owned());
        }
        if thrown.details.is_some() || thrown.again {
            self.lane.is_told = false;
        }
        if let Some(call) = thrown.call
            && let Some(late) = self
                .logical
                .get_mut(&call)
                .and_then(|logical| logical.late.as_mut())
        {
            late.exception = self.lane.exception.take();
        }
        if self.pending.iter().any(|p| p.method == method) {
            let exception = self.lane.exception.take();
            self.flush(exception.as_ref().map(Described::as_deref));
            self.lane.exception = exception;
        }
    }

    fn unhandled(&mut self, details: Option<Described<&str>>) {
        if let Some(details) = details {
            self.lane.exception = Some(details.owned());
            self.lane.is_told = false;
        }
    }
}
