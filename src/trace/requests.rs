//! Requests: the entry spans of traces by their names, and where their time goes, on whatever threads.

use super::call::{Call, Described, Frame, Outcome, Thrown};
use super::contexts::{self, Contexts, OpenSpans};
use super::file::{SegmentPlace, Trace};
use super::format::SpanContext;
use super::methods::{Method, MethodIx, Methods};
use super::replay::{Replay, Run, Visitor};
use super::values::Value;
use crate::printable::printable;
use crate::spans::SpanRule;
use rustc_hash::FxHashMap;
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names that requests get rows of their own for; further ones share one.
const MAX_ROWS: usize = 10_000;
/// The name of that row.
const OTHERS: &str = "(others)";
/// Requests that are open at once.
const MAX_OPEN: usize = 1 << 20;
/// Spans of a trace whose requests are known, and how deep spans lie in each other.
const MAX_SPANS: usize = 1 << 23;
const MAX_WAY: usize = 1 << 16;
/// Different texts that are counted in one request, and how much of each is compared.
const MAX_TEXTS: usize = 256;
const LONGEST_TEXT: usize = 1_000;
/// The report names a text that so many spans of one request have: one statement could often replace them all.
const MANY: u32 = 5;

/// The requests of some traces.
#[derive(Debug, Default)]
pub struct Requests {
    /// By name.
    pub rows: BTreeMap<String, Row>,
    /// Nanoseconds that the traces take together.
    pub wall: u64,
    /// The attribute that they are told apart by; none for their names.
    by: Option<String>,
}

/// Requests of one name.
#[derive(Debug, Default)]
pub struct Row {
    /// Those that have failed.
    pub errors: u64,
    /// How long each took, in nanoseconds, ascending.
    pub durations: Vec<u64>,
    /// Spans below them, by what they are.
    pub below: BTreeMap<Arc<str>, Below>,
    /// What some request asks for again and again.
    pub repeated: Option<Repeated>,
    /// The one that took longest, of those with a trace id: how long, and the id.
    pub slowest: Option<(u64, u128)>,
}

/// How a call has ended.
#[derive(Clone, Copy)]
struct Ended {
    /// Nanoseconds.
    took: u64,
    failed: bool,
}

/// The end of a logical call.
struct Over {
    time: u64,
    failed: bool,
    values: Vec<Value>,
}

/// Spans below requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Below {
    pub calls: u64,
    pub errors: u64,
    /// Nanoseconds of all of them; those that run at one time count each.
    pub total: u64,
}

/// The most spans of one text in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    pub text: Arc<str>,
    pub times: u32,
}

impl Below {
    fn add(&mut self, duration: u64, failed: bool) {
        self.calls += 1;
        self.errors += u64::from(failed);
        self.total = self.total.saturating_add(duration);
    }
}

impl Row {
    /// Its numbers as JSON.
    pub fn json(&self) -> Map<String, serde_json::Value> {
        let all = [
            ("requests", json!(self.durations.len())),
            ("errors", json!(self.errors)),
            ("total_ns", json!(self.total())),
            ("p50_ns", json!(self.quantile(0.5))),
            ("p90_ns", json!(self.quantile(0.9))),
            ("p99_ns", json!(self.quantile(0.99))),
            ("max_ns", json!(self.quantile(1.0))),
        ];
        all.map(|(key, value)| (key.to_owned(), value))
            .into_iter()
            .collect()
    }

    /// The duration at this share of all, by rank.
    pub fn quantile(&self, share: f64) -> u64 {
        let rank = (share * self.durations.len() as f64).ceil() as usize;
        let at = rank.clamp(1, self.durations.len().max(1)) - 1;
        self.durations.get(at).copied().unwrap_or_default()
    }

    /// Nanoseconds of all of them.
    pub fn total(&self) -> u64 {
        self.durations
            .iter()
            .fold(0, |sum, ns| sum.saturating_add(*ns))
    }

    fn add(&mut self, duration: u64, failed: bool, open: Open) {
        self.durations.push(duration);
        self.errors += u64::from(failed);
        for (what, more) in open.below {
            let sum = self.below.entry(what).or_default();
            sum.calls += more.calls;
            sum.errors += more.errors;
            sum.total = sum.total.saturating_add(more.total);
        }
        let most = open
            .texts
            .into_iter()
            .max_by(|a, b| (a.1, &b.0).cmp(&(b.1, &a.0)));
        if let Some((text, times)) = most.filter(|&(_, times)| times >= MANY)
            && self
                .repeated
                .as_ref()
                .is_none_or(|known| known.times < times)
        {
            self.repeated = Some(Repeated { text, times });
        }
    }
}

/// The name of the row of requests that have no such attribute.
const WITHOUT: &str = "(none)";

impl Requests {
    /// Requests that are told apart by a value of their entry spans; by their names where none is said.
    pub fn by(attribute: Option<&str>) -> Requests {
        Requests {
            by: attribute.map(str::to_owned),
            ..Requests::default()
        }
    }

    /// Adds those of a trace.
    pub fn add(&mut self, trace: &Trace) {
        self.wall = self.wall.saturating_add(trace.end());
        let symbols = trace.symbols();
        let is_one = |id, root| root || symbols.span(id).is_some_and(|rule| rule.kind.is_entry());
        if !(symbols.iter()).any(|(id, symbol)| is_one(id, symbol.root)) {
            return; // nothing in it is a request
        }
        let mut visitor = Seen {
            into: self,
            rules: Vec::new(),
            thread: 0,
            contexts: FxHashMap::default(),
            open_spans: OpenSpans::default(),
            entries: entries(trace),
            open: FxHashMap::default(),
            traces: FxHashMap::default(),
            ended: FxHashMap::default(),
            logical: FxHashMap::default(),
            over: FxHashMap::default(),
            values: Vec::new(),
        };
        let (mut replay, mut methods) = (Replay::new(0), Methods::default());
        replay.next_trace(true);
        for (id, symbol) in trace.symbols().iter() {
            let row = methods.resolve(id, trace.symbols()) as usize;
            let rule = trace.symbols().span(id);
            if rule.is_some() || symbol.root {
                visitor.rules.resize(visitor.rules.len().max(row + 1), None);
                let known = Known {
                    rule: rule.cloned(),
                    label: printable(&methods.rows()[row].name()).into(),
                };
                visitor.rules[row] = Some(Arc::new(known));
            }
        }
        let mut runs: FxHashMap<u32, Run> = FxHashMap::default();
        for SegmentPlace { thread, at, .. } in trace.in_order() {
            let thread = &trace.threads()[thread];
            let segment = trace.segments(thread)[at];
            let run = runs.entry(thread.number).or_default();
            visitor.thread = thread.number;
            replay.turn_to(run);
            replay.segment(trace, &segment, &mut methods, &mut visitor);
            replay.turn_to(run);
        }
    }

    /// Nothing more comes.
    pub fn finish(&mut self) {
        for row in self.rows.values_mut() {
            row.durations.sort_unstable();
        }
    }
}

/// The entry span of each span of a trace. Threads are read in turns, and what runs below a request may be read behind its end.
fn entries(trace: &Trace) -> FxHashMap<u64, u64> {
    // Of each span its parent, or itself where it is an entry.
    let mut around: FxHashMap<u64, u64> = FxHashMap::default();
    trace.each_span(|id, span| {
        if around.len() < MAX_SPANS {
            let rule = trace.symbols().span(id);
            let is_entry = rule.is_none_or(|rule| rule.kind.is_entry());
            let parent = if is_entry { span.span } else { span.parent };
            around.insert(span.span, parent);
        }
    });
    let all: Vec<u64> = around.keys().copied().collect();
    for span in all {
        // The way up, to what has no parent here; damaged traces have circles.
        let (mut way, mut at) = (Vec::new(), span);
        while let Some(&parent) = around.get(&at)
            && parent != at
            && around.contains_key(&parent)
            && way.len() < MAX_WAY
        {
            way.push(at);
            at = parent;
        }
        around.insert(at, at);
        for below in way {
            around.insert(below, at);
        }
    }
    around
}

/// A method whose calls are spans, or begin a trace.
struct Known {
    rule: Option<Arc<SpanRule>>,
    label: Arc<str>,
}

impl Known {
    fn is_entry(&self) -> bool {
        self.rule.as_ref().is_none_or(|rule| rule.kind.is_entry())
    }

    /// What it is to the request around it.
    fn what(&self) -> Arc<str> {
        match self.rule.as_deref() {
            Some(rule) if !rule.once.is_empty() => printable(&rule.once).into(),
            Some(rule) => rule.kind.word().into(),
            None => Arc::clone(&self.label),
        }
    }
}

/// A request that is open: by its span's id, or, without one, by thread and depth, or by the number of a logical call.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Span(u64),
    Call(u32, usize),
    Logical(u64),
}

/// What was seen below an open request.
#[derive(Default)]
struct Open {
    below: BTreeMap<Arc<str>, Below>,
    texts: FxHashMap<Arc<str>, u32>,
}

/// What a replay has seen.
struct Seen<'r> {
    into: &'r mut Requests,
    /// By row.
    rules: Vec<Option<Arc<Known>>>,
    thread: u32,
    contexts: FxHashMap<u32, Contexts>,
    open_spans: OpenSpans,
    /// The entry span of each span.
    entries: FxHashMap<u64, u64>,
    open: FxHashMap<Key, Open>,
    /// The trace ids of entry spans that are open.
    traces: FxHashMap<u64, u128>,
    /// The names of requests that have ended.
    ended: FxHashMap<u64, Arc<str>>,
    /// Spans that run in pieces: when they began, and their values.
    logical: FxHashMap<u64, (u64, Vec<Value>)>,
    /// Calls whose end was read before their first piece: when they ended, whether they failed, and their values.
    over: FxHashMap<u64, Over>,
    values: Vec<Value>,
}

impl Seen<'_> {
    fn known(&self, method: MethodIx) -> Option<&Arc<Known>> {
        self.rules.get(method as usize)?.as_ref()
    }

    /// Whether calls of a method begin what a process does for another.
    fn is_entry(&self, method: MethodIx) -> bool {
        self.known(method).is_some_and(|known| known.is_entry())
    }

    /// The request in which the call at this depth is, the call itself apart.
    fn request(&self, around: &[Frame], own: Option<SpanContext>) -> Option<Key> {
        let contexts = self.contexts.get(&self.thread);
        let current = match own {
            Some(own) => Some(own.span),
            None => contexts.and_then(|all| Some(all.around(around.len())?.span.span)),
        };
        if let Some(&entry) = current.and_then(|span| self.entries.get(&span)) {
            return Some(Key::Span(entry));
        }
        let mut frames = around.iter().enumerate().rev();
        let entry = frames.find(|(_, frame)| {
            let known = self.known(frame.method);
            known.is_some_and(|known| known.is_entry())
        });
        entry.map(|(depth, frame)| match frame.piece {
            Some(piece) => Key::Logical(piece.call),
            None => Key::Call(self.thread, depth),
        })
    }

    /// The row of requests of this name.
    fn row(&mut self, name: String) -> &mut Row {
        let name = match self.into.rows.len() < MAX_ROWS || self.into.rows.contains_key(&name) {
            true => name,
            false => OTHERS.to_owned(),
        };
        self.into.rows.entry(name).or_default()
    }

    fn entry_ends(
        &mut self,
        known: &Known,
        Ended { took, failed }: Ended,
        values: &[Value],
        key: Key,
    ) {
        let open = self.open.remove(&key).unwrap_or_default();
        let rule = known.rule.as_deref();
        let failure = rule.and_then(|rule| contexts::failure(rule, values));
        let name = match &self.into.by {
            None => rule.and_then(|rule| contexts::name(rule, values)),
            Some(by) => {
                let value = values.iter().find(|value| *value.name == **by);
                Some(value.map_or_else(|| WITHOUT.to_owned(), |value| value.text().into_owned()))
            }
        };
        let name = name.map_or_else(|| known.label.to_string(), |name| printable(&name));
        let failed = failed || failure.is_some();
        if let Key::Span(entry) = key
            && self.ended.len() < MAX_SPANS
        {
            self.ended.insert(entry, name.as_str().into());
        }
        let trace = match key {
            Key::Span(entry) => self.traces.remove(&entry),
            _ => None,
        };
        let row = self.row(name);
        row.add(took, failed, open);
        if let Some(trace) = trace.filter(|_| row.slowest.is_none_or(|(most, _)| most < took)) {
            row.slowest = Some((took, trace));
        }
    }

    /// A call that runs in pieces is over. Another thread's records, its first piece's among them, may be read later.
    fn logical_ends(&mut self, method: MethodIx, call: u64, over: Over) {
        let Some(known) = self.known(method).cloned() else {
            return;
        };
        let Some((start, mut values)) = self.logical.remove(&call) else {
            if self.over.len() < MAX_OPEN {
                self.over.insert(call, over);
            }
            return;
        };
        values.extend(over.values);
        let own = self.open_spans.logical(call);
        let values = match own {
            Some(own) => self.open_spans.values(own.span, values),
            None => values,
        };
        let ended = Ended {
            took: over.time.saturating_sub(start),
            failed: over.failed,
        };
        let entry = own.and_then(|own| self.entries.get(&own.span).copied());
        match (own, entry) {
            (Some(own), Some(entry)) if entry != own.span => {
                self.span_ends(&known, ended, &values, Key::Span(entry));
            }
            (Some(own), _) => self.entry_ends(&known, ended, &values, Key::Span(own.span)),
            (None, _) => self.entry_ends(&known, ended, &values, Key::Logical(call)),
        }
        self.open_spans.end_logical(call);
    }

    fn span_ends(
        &mut self,
        known: &Known,
        Ended { took, failed }: Ended,
        values: &[Value],
        key: Key,
    ) {
        if self.open.len() >= MAX_OPEN && !self.open.contains_key(&key) {
            return;
        }
        let Some(rule) = known.rule.as_deref() else {
            return;
        };
        let failed = failed || contexts::failure(rule, values).is_some();
        let what = known.what();
        if let Key::Span(entry) = key
            && let Some(name) = self.ended.get(&entry)
        {
            let name = name.to_string();
            let below = &mut self.row(name).below;
            below.entry(what).or_default().add(took, failed);
            return;
        }
        let open = self.open.entry(key).or_default();
        let sum = open.below.entry(what).or_default();
        sum.add(took, failed);
        let query = values.iter().find(|value| &*value.name == "db.query.text");
        let text = match query {
            Some(query) => Some(query.text().into_owned()),
            None => contexts::name(rule, values),
        };
        if let Some(text) = text {
            let text: Arc<str> = text.chars().take(LONGEST_TEXT).collect::<String>().into();
            if open.texts.len() < MAX_TEXTS || open.texts.contains_key(&text) {
                *open.texts.entry(text).or_default() += 1;
            }
        }
    }
}

impl Visitor for Seen<'_> {
    fn wants_values(&self) -> bool {
        true
    }

    fn values(&mut self, values: Vec<Value>) {
        self.values = values;
    }

    fn span(&mut self, method: MethodIx, span: SpanContext, depth: usize) {
        let is_entry = self.is_entry(method);
        let contexts = self.contexts.entry(self.thread).or_default();
        contexts.begin(span, depth);
        if is_entry && self.traces.len() < MAX_OPEN {
            self.traces.insert(span.span, span.trace);
        }
        self.open_spans.begin(span, is_entry);
    }

    fn logical_span(&mut self, method: MethodIx, call: u64, span: SpanContext) {
        let is_entry = self.is_entry(method);
        self.open_spans.begin_logical(call, span, is_entry);
    }

    fn context(&mut self, span: Option<SpanContext>, depth: usize) {
        let contexts = self.contexts.entry(self.thread).or_default();
        contexts.hand(span, depth);
    }

    fn entry_value(&mut self, value: Value, stack: &[Frame]) {
        let entry = stack.iter().rposition(|frame| self.is_entry(frame.method));
        let contexts = self.contexts.entry(self.thread).or_default();
        self.open_spans.give_in(contexts, entry, value);
    }

    fn call(&mut self, call: &Call, stack: &mut [Frame]) -> bool {
        let values = std::mem::take(&mut self.values);
        let (depth, around) = match stack.split_last() {
            Some((_, around)) => (around.len(), around),
            None => return true,
        };
        let contexts = self.contexts.get(&self.thread);
        let own = contexts.and_then(|all| Some(all.call(depth)?.span));
        if let (Some(piece), Some(own)) = (call.piece, own) {
            self.open_spans.goes_on(piece.call, own);
        }
        let is_whole = matches!(call.outcome, Outcome::Exit | Outcome::Error);
        if let (Some(piece), Some(known)) = (call.piece, self.known(call.method))
            && (known.is_entry() || self.open_spans.logical(piece.call).is_some())
            && (self.logical.len() < MAX_OPEN || self.logical.contains_key(&piece.call))
        {
            let (start, all) = self
                .logical
                .entry(piece.call)
                .or_insert((call.start, vec![]));
            *start = (*start).min(call.start);
            if all.len() < MAX_TEXTS {
                let contexts = self.contexts.get_mut(&self.thread);
                let values = values.clone();
                all.extend(match contexts {
                    Some(contexts) => contexts.values(depth, values),
                    None => values,
                });
            }
        }
        if let Some(known) = self.known(call.method).cloned()
            && is_whole
            && call.piece.is_none()
        {
            let values = match own {
                Some(own) => self.open_spans.values(own.span, values),
                None => match self.contexts.get_mut(&self.thread) {
                    Some(contexts) => contexts.values(depth, values),
                    None => values,
                },
            };
            let is_span = known.rule.as_ref().is_none_or(|rule| {
                let mut rules =
                    (around.iter()).filter_map(|frame| self.known(frame.method)?.rule.as_deref());
                !contexts::is_within(rule, &mut rules) && contexts::is_span(rule, &values)
            });
            let request = self.request(around, own);
            let ended = Ended {
                took: call.total,
                failed: call.outcome == Outcome::Error,
            };
            match own {
                _ if !is_span => {}
                Some(own) if request == Some(Key::Span(own.span)) => {
                    self.entry_ends(&known, ended, &values, Key::Span(own.span));
                }
                None if known.is_entry() && request.is_none() => {
                    self.entry_ends(&known, ended, &values, Key::Call(self.thread, depth));
                }
                _ => {
                    if let Some(request) = request {
                        self.span_ends(&known, ended, &values, request);
                    }
                }
            }
        }
        let (contexts, open) = (self.contexts.get_mut(&self.thread), &mut self.open_spans);
        if let Some(contexts) = contexts {
            let piece = call.piece.map(|piece| piece.call);
            contexts.end(depth, |span| open.end_of_call(span.span, piece));
        }
        if let Some(piece) = call.piece.filter(|piece| piece.first)
            && let Some(over) = self.over.remove(&piece.call)
        {
            self.logical_ends(call.method, piece.call, over);
        }
        true
    }

    fn begin(&mut self, method: MethodIx, call: u64, time: u64, _: u32, _: &[Frame]) {
        let is_span = self.open_spans.logical(call).is_some();
        if is_span && self.known(method).is_some() && self.logical.len() < MAX_OPEN {
            self.logical.insert(call, (time, Vec::new()));
        }
    }

    fn complete(&mut self, method: MethodIx, call: u64, time: u64, outcome: Outcome, _: u32) {
        let over = Over {
            time,
            failed: outcome == Outcome::Error,
            values: std::mem::take(&mut self.values),
        };
        self.logical_ends(method, call, over);
    }

    fn error(&mut self, _: MethodIx, _: &Thrown<'_>) {}

    fn unhandled(&mut self, _: Option<Described<&str>>) {}

    fn method(&mut self, _: MethodIx, _: &Method) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing;

    #[test]
    fn spans_of_all_threads_are_their_requests() {
        let trace = Trace::from_bytes("t.wtrace", testing::requests().bytes()).unwrap();
        let mut requests = Requests::default();
        requests.add(&trace);
        requests.add(&trace);
        requests.finish();
        assert_eq!(requests.wall, 2 * trace.end());
        let [(name, row)] = &*requests.rows.iter().collect::<Vec<_>>() else {
            panic!("{requests:?}");
        };
        assert_eq!((&***name, row.errors), ("GET /orders/{id}", 2));
        // From the begin of its call to the end.
        assert_eq!(
            (row.durations.len(), row.quantile(0.5), row.total()),
            (2, 2_040, 4_080)
        );
        // Three a request: what its rule says is none, and the driver's within the pool's, are not among them.
        let below: Vec<_> = row
            .below
            .iter()
            .map(|(what, sum)| (&**what, sum.calls))
            .collect();
        assert_eq!(below, [("db", 6)]);
        assert_eq!(row.repeated, None);
        assert_eq!(row.slowest, Some((2_040, 0xaaaa)));
    }

    #[test]
    fn requests_are_told_apart_by_any_value_of_theirs() {
        let trace = Trace::from_bytes("t.wtrace", testing::requests().bytes()).unwrap();
        for (by, name) in [
            ("http.route", "/orders/{id}"),
            ("http.response.status_code", "503"),
            ("other", "(none)"),
        ] {
            let mut requests = Requests::by(Some(by));
            requests.add(&trace);
            let names: Vec<&str> = requests.rows.keys().map(|name| &**name).collect();
            assert_eq!(names, [name], "{by}");
        }
    }
    #[test]
    fn a_span_that_goes_on_ends_where_it_is_completed() {
        // Records of the other thread come behind those of the begin, or before.
        for first in [0, 201] {
            let bytes = testing::staying(first).bytes();
            let trace = Trace::from_bytes("t.wtrace", bytes).unwrap();
            let mut requests = Requests::default();
            requests.add(&trace);
            requests.finish();
            let rows: Vec<_> = (requests.rows.iter())
                .map(|(name, row)| (&**name, row.durations[0], row.errors, row.below.len()))
                .collect();
            let second = first + 200;
            assert_eq!(
                rows,
                [
                    ("GET /orders", 700 - first, 0, 1),
                    ("PUT", 900 - second, 1, 0)
                ],
                "{first}"
            );
        }
    }
}
