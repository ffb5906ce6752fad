//! One request, whole: its spans and the calls recorded below them, over threads and processes, as a tree.

use super::call::{Call, Described, Frame, Outcome, Thrown};
use super::contexts::{self, Contexts, OpenSpans};
use super::file::{SegmentPlace, Trace};
use super::format::SpanContext;
use super::methods::{Method, MethodIx, Methods};
use super::replay::{Replay, Run, Visitor};
use super::values::Value;
use crate::error::{Error, Kind, Result};
use crate::mapping::Mapping;
use crate::printable::printable;
use crate::spans::SpanRule;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Calls that are kept; further ones are counted.
const MAX_ITEMS: usize = 1 << 18;
/// Traces of requests that are named where digits fit several.
const NAMED: usize = 5;
/// How far the way from a call to the outermost is followed; damaged traces have circles.
const MAX_WAY: usize = 1 << 16;

/// Which request is asked for: the first digits of a trace id, or all 32.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    digits: String,
}

impl Asked {
    /// Reads digits, as logs and other tools write them.
    ///
    /// # Errors
    /// Where it is no part of a trace id.
    pub fn parse(text: &str) -> std::result::Result<Asked, String> {
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        match (1..=32).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            true => Ok(Asked {
                digits: digits.to_ascii_lowercase(),
            }),
            false => Err("expected a trace id, or its first digits: 4bf92f35".to_owned()),
        }
    }

    fn fits(&self, trace: u128) -> bool {
        format!("{trace:032x}").starts_with(&self.digits)
    }

    /// The trace id that fits, among the spans of these traces.
    ///
    /// # Errors
    /// Where none fits, or several do.
    pub fn find(&self, traces: &[Trace]) -> Result<u128> {
        let mut found: FxHashSet<u128> = FxHashSet::default();
        for trace in traces {
            trace.each_span(|_, span| {
                if self.fits(span.trace) {
                    found.insert(span.trace);
                }
            });
        }
        let mut found: Vec<u128> = found.into_iter().collect();
        found.sort_unstable();
        match &*found {
            [one] => Ok(*one),
            [] => Err(Error::new(
                Kind::NotDone,
                format!(
                    "no recorded span is of a trace {}: `--requests` shows the ids of some",
                    self.digits
                ),
            )),
            several => {
                let some = several.iter().take(NAMED).map(|id| format!("{id:032x}"));
                let some = some.collect::<Vec<_>>().join(", ");
                let more = several.len().saturating_sub(NAMED);
                let more = match more {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let all = format!("{} fits several traces: {some}{more}", self.digits);
                Err(Error::usage(all))
            }
        }
    }
}

/// A span, or a call below one.
#[derive(Clone, Debug)]
pub struct Item {
    /// The item around it, which comes before it.
    pub parent: Option<usize>,
    /// How many are around it.
    pub depth: usize,
    /// Its trace's number, and its thread there.
    pub process: usize,
    pub thread: u32,
    /// The name of the span, or that of the method.
    pub name: String,
    pub method: String,
    /// What kind of span it is, if it is one.
    pub kind: Option<crate::spans::Kind>,
    pub span: Option<SpanContext>,
    /// When it began, in nanoseconds since 1970.
    pub start: u64,
    pub total: u64,
    /// Outside of calls that its thread made in it.
    pub own: u64,
    /// How many pieces it ran in, where it is a logical call.
    pub pieces: u64,
    pub outcome: Outcome,
    /// Why it failed: type and message of the exception, or the value that says so.
    pub failure: Option<Described>,
    pub values: Vec<Value>,
}

/// A request.
#[derive(Debug, Default)]
pub struct Request {
    pub trace: u128,
    /// The outermost first, each followed by the items below it, in the order of time.
    pub items: Vec<Item>,
    /// Further calls, which are not kept.
    pub left_out: u64,
}

/// Above which item one lies.
#[derive(Clone, Copy)]
enum Above {
    Nothing,
    Item(usize),
    Span(u64),
}

/// Finds the request with this trace id in some traces.
pub struct Finder<'m> {
    trace: u128,
    /// Calls that are shorter and no spans are left out, in nanoseconds.
    min: u64,
    mappings: &'m [Mapping],
    items: Vec<Item>,
    above: Vec<Above>,
    /// The items of spans.
    by_span: FxHashMap<u64, usize>,
    /// Spans that are no items, and what is around them.
    hidden: FxHashMap<u64, u64>,
    left_out: u64,
}

impl<'m> Finder<'m> {
    pub fn new(trace: u128, min: u64, mappings: &'m [Mapping]) -> Finder<'m> {
        Finder {
            trace,
            min,
            mappings,
            items: Vec::new(),
            above: Vec::new(),
            by_span: FxHashMap::default(),
            hidden: FxHashMap::default(),
            left_out: 0,
        }
    }

    /// Adds what a trace has of it.
    pub fn add(&mut self, process: usize, trace: &Trace) {
        let mut is_of_it = false;
        trace.each_span(|_, span| is_of_it |= span.trace == self.trace);
        if !is_of_it {
            return;
        }
        let (mut replay, mut methods) = (Replay::new(0), Methods::default());
        replay.next_trace(true);
        let mut visitor = Seen {
            rules: FxHashMap::default(),
            names: FxHashMap::default(),
            process,
            origin: trace.header().origin,
            thread: 0,
            lanes: FxHashMap::default(),
            open_spans: OpenSpans::default(),
            logical: FxHashMap::default(),
            values: Vec::new(),
            into: self,
        };
        for (id, _) in trace.symbols().iter() {
            if let Some(rule) = trace.symbols().span(id) {
                let row = methods.resolve(id, trace.symbols());
                visitor.rules.insert(row, Arc::clone(rule));
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
        let mut threads: Vec<u32> = runs.keys().copied().collect();
        threads.sort_unstable();
        for number in threads {
            let Some(run) = runs.get_mut(&number) else {
                continue;
            };
            visitor.thread = number;
            replay.turn_to(run);
            replay.end_at(trace.end(), &mut visitor);
            replay.turn_to(run);
        }
        visitor.name_methods(&methods);
    }

    /// The item that one lies in.
    fn parent(&self, above: Above) -> Option<usize> {
        let mut span = match above {
            Above::Nothing => return None,
            Above::Item(item) => return Some(item),
            Above::Span(span) => span,
        };
        for _ in 0..MAX_WAY {
            if let Some(item) = self.by_span.get(&span) {
                return Some(*item);
            }
            span = *self.hidden.get(&span)?;
        }
        None
    }

    /// All that was found, as a tree.
    pub fn finish(self) -> Request {
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); self.items.len()];
        let mut outermost = Vec::new();
        for at in 0..self.items.len() {
            match self.parent(self.above[at]).filter(|&parent| parent != at) {
                Some(parent) => below[parent].push(at),
                None => outermost.push(at),
            }
        }
        let order = |all: &mut Vec<usize>| {
            all.sort_by_key(|&at| {
                (
                    std::cmp::Reverse(self.items[at].start),
                    std::cmp::Reverse(at),
                )
            });
        };
        below.iter_mut().for_each(order);
        order(&mut outermost);
        let mut request = Request {
            trace: self.trace,
            items: Vec::new(),
            left_out: self.left_out,
        };
        // What lies in a circle is reached from nowhere, and left out.
        let mut next: Vec<(usize, Option<usize>)> =
            outermost.into_iter().map(|at| (at, None)).collect();
        while let Some((at, parent)) = next.pop() {
            let number = request.items.len();
            let depth = parent.map_or(0, |p: usize| request.items[p].depth + 1);
            next.extend(below[at].iter().map(|&child| (child, Some(number))));
            request.items.push(Item {
                parent,
                depth,
                ..self.items[at].clone()
            });
        }
        request
    }
}

/// A thread's part of it.
#[derive(Default)]
struct Lane {
    contexts: Contexts,
    /// Items whose call around them, in this thread, has not ended: how deep they are.
    pending: Vec<(usize, usize)>,
    /// The item that ended last, and the exception on its way.
    last: Option<(MethodIx, usize)>,
    exception: Option<Described>,
}

/// What a replay has seen of one trace.
struct Seen<'f, 'm> {
    into: &'f mut Finder<'m>,
    rules: FxHashMap<MethodIx, Arc<SpanRule>>,
    /// The items of each method, which get their names in the end.
    names: FxHashMap<MethodIx, Vec<usize>>,
    process: usize,
    origin: u64,
    thread: u32,
    lanes: FxHashMap<u32, Lane>,
    open_spans: OpenSpans,
    /// The items of logical calls.
    logical: FxHashMap<u64, usize>,
    values: Vec<Value>,
}

impl Seen<'_, '_> {
    /// Whether calls of a method begin what a process does for another.
    fn is_entry(&self, method: MethodIx) -> bool {
        (self.rules.get(&method)).is_some_and(|rule| rule.kind.is_entry())
    }

    fn lane(&mut self) -> &mut Lane {
        self.lanes.entry(self.thread).or_default()
    }

    fn name_methods(self, methods: &Methods) {
        for (method, items) in self.names {
            let row = methods.rows()[method as usize].restored(self.into.mappings);
            let name = printable(&row.name());
            for item in items {
                let item = &mut self.into.items[item];
                item.method.clone_from(&name);
                if item.name.is_empty() {
                    item.name.clone_from(&name);
                }
            }
        }
    }

    /// Below what the call at this depth is, and whether that is a call of its own thread, which has not ended. None where it is not of
    /// the request.
    fn above(&self, depth: usize) -> Option<(Above, bool)> {
        let contexts = &self.lanes.get(&self.thread)?.contexts;
        let around = contexts.around(depth)?.span;
        if around.trace != self.into.trace {
            return None;
        }
        let own = contexts.call(depth).map(|anchor| anchor.span);
        let parent = own.map_or(around.span, |own| own.parent);
        if parent == 0 {
            return Some((Above::Nothing, false));
        }
        let outer = depth
            .checked_sub(1)
            .and_then(|outer| contexts.around(outer));
        let is_here = outer.is_some_and(|outer| outer.span.span == parent);
        Some((Above::Span(parent), is_here))
    }

    /// Whether a call is a span by its rule, and so has its name and kind.
    fn ruled(&self, call: &Call, around: &[Frame], values: &[Value]) -> Option<Arc<SpanRule>> {
        let rule = self.rules.get(&call.method)?;
        let mut outer = (around.iter()).filter_map(|frame| Some(&**self.rules.get(&frame.method)?));
        let is_span = !contexts::is_within(rule, &mut outer) && contexts::is_span(rule, values);
        is_span.then(|| Arc::clone(rule))
    }

    /// The item of a call that has ended. `own`: the span that it is.
    fn item(
        &mut self,
        call: &Call,
        own: Option<SpanContext>,
        rule: Option<&SpanRule>,
        values: Vec<Value>,
    ) -> Option<usize> {
        let items = &mut self.into.items;
        if let Some(piece) = call.piece
            && let Some(&known) = self.logical.get(&piece.call)
        {
            let (item, start) = (&mut items[known], self.origin.saturating_add(call.start));
            let end = (start.saturating_add(call.total)).max(item.start.saturating_add(item.total));
            item.start = item.start.min(start);
            item.total = end - item.start;
            item.own = item.own.saturating_add(call.own);
            item.pieces += 1;
            item.values.extend(values);
            item.span = item.span.or(own);
            return Some(known);
        }
        if items.len() >= MAX_ITEMS {
            self.into.left_out += 1;
            return None;
        }
        let number = items.len();
        let name = rule.and_then(|rule| contexts::name(rule, &values));
        let told = rule.and_then(|rule| contexts::failure(rule, &values));
        items.push(Item {
            parent: None,
            depth: 0,
            process: self.process,
            thread: self.thread,
            name: name.map_or_else(String::new, |name| printable(&name)),
            method: String::new(),
            kind: rule.map(|rule| rule.kind),
            span: own,
            start: self.origin.saturating_add(call.start),
            total: call.total,
            own: call.own,
            pieces: u64::from(call.piece.is_some()),
            outcome: call.outcome,
            failure: told.map(said),
            values,
        });
        self.into.above.push(Above::Nothing);
        self.names.entry(call.method).or_default().push(number);
        if let Some(piece) = call.piece {
            self.logical.insert(piece.call, number);
        }
        Some(number)
    }

    /// A call of the request has ended.
    fn ended(&mut self, call: &Call, around: &[Frame], values: Vec<Value>) {
        let depth = around.len();
        let Some((above, is_here)) = self.above(depth) else {
            let pending = &mut self.lane().pending;
            while pending.pop_if(|(at, _)| *at > depth).is_some() {}
            return;
        };
        let own = self.lane().contexts.call(depth).map(|anchor| anchor.span);
        let values = match own {
            Some(own) => self.open_spans.values(own.span, values),
            None => self.lane().contexts.values(depth, values),
        };
        let rule = self.ruled(call, around, &values);
        let item = match rule.is_some() || call.piece.is_some() || call.total >= self.into.min {
            true => self.item(call, own, rule.as_deref(), values),
            false => None,
        };
        match (own, item) {
            (Some(own), Some(item)) => {
                self.into.by_span.insert(own.span, item);
            }
            (Some(own), None) => {
                self.into.hidden.insert(own.span, own.parent);
            }
            (None, _) => {}
        }
        let lane = self.lanes.entry(self.thread).or_default();
        lane.last = item.map(|item| (call.method, item));
        let first = lane.pending.partition_point(|(at, _)| *at <= depth);
        let Some(item) = item else {
            // What is below it is now below what is around it.
            lane.pending[first..]
                .iter_mut()
                .for_each(|(at, _)| *at = depth);
            return;
        };
        for (_, below) in lane.pending.drain(first..) {
            self.into.above[below] = Above::Item(item);
        }
        // Later pieces do not say what is around the whole call.
        if call.piece.is_none_or(|piece| piece.first) {
            self.into.above[item] = above;
            if is_here {
                lane.pending.push((depth, item));
            }
        }
    }
}

impl Visitor for Seen<'_, '_> {
    fn wants_values(&self) -> bool {
        true
    }

    fn values(&mut self, values: Vec<Value>) {
        self.values = values;
    }

    fn span(&mut self, method: MethodIx, span: SpanContext, depth: usize) {
        let is_entry = self.is_entry(method);
        self.lane().contexts.begin(span, depth);
        self.open_spans.begin(span, is_entry);
    }

    fn context(&mut self, span: Option<SpanContext>, depth: usize) {
        self.lane().contexts.hand(span, depth);
    }

    fn entry_value(&mut self, value: Value, stack: &[Frame]) {
        let entry = stack.iter().rposition(|frame| self.is_entry(frame.method));
        let lane = self.lanes.entry(self.thread).or_default();
        self.open_spans.give_in(&mut lane.contexts, entry, value);
    }

    fn call(&mut self, call: &Call, stack: &mut [Frame]) -> bool {
        let values = std::mem::take(&mut self.values);
        let Some((_, around)) = stack.split_last() else {
            return true;
        };
        self.ended(call, around, values);
        let open = &mut self.open_spans;
        let lane = self.lanes.entry(self.thread).or_default();
        lane.contexts.end(around.len(), |span| open.end(span.span));
        true
    }

    fn begin(&mut self, _: MethodIx, _: u64, _: u64, _: u32, _: &[Frame]) {}

    fn complete(&mut self, method: MethodIx, call: u64, time: u64, outcome: Outcome, _: u32) {
        let Some(&known) = self.logical.get(&call) else {
            return;
        };
        let item = &mut self.into.items[known];
        let end = self.origin.saturating_add(time);
        item.total = item.total.max(end.saturating_sub(item.start));
        item.outcome = outcome;
        if let Some(rule) = self.rules.get(&method) {
            if let Some(name) = contexts::name(rule, &item.values) {
                item.name = printable(&name);
            }
            let told = contexts::failure(rule, &item.values);
            item.failure = told.map(said);
        }
    }

    fn error(&mut self, method: MethodIx, thrown: &Thrown<'_>) {
        let of_logical = thrown
            .call
            .and_then(|call| self.logical.get(&call).copied());
        let lane = self.lanes.entry(self.thread).or_default();
        if let Some(details) = thrown.details {
            lane.exception = Some(details.owned());
        }
        let last = lane.last.filter(|(of, _)| *of == method);
        if let Some(item) = of_logical.or(last.map(|(_, item)| item)) {
            self.into.items[item].failure.clone_from(&lane.exception);
        }
    }

    fn unhandled(&mut self, _: Option<Described<&str>>) {}

    fn method(&mut self, _: MethodIx, _: &Method) {}
}

/// A failure of which a rule says why.
fn said(why: String) -> Described {
    Described {
        type_name: why,
        message: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing;

    fn found(min: u64) -> Request {
        let trace = Trace::from_bytes("t.wtrace", testing::requests().bytes()).unwrap();
        let traces = [trace];
        let id = Asked::parse("0000-0000").unwrap().find(&traces).unwrap();
        assert_eq!(id, 0xaaaa);
        let mut finder = Finder::new(id, min, &[]);
        finder.add(0, &traces[0]);
        finder.finish()
    }

    fn lines(request: &Request) -> Vec<String> {
        let line = |item: &Item| {
            let span = item.kind.map_or("", |kind| kind.word());
            format!(
                "{}{} {span} {}",
                " ".repeat(item.depth),
                item.name,
                item.thread
            )
        };
        request.items.iter().map(line).collect()
    }

    #[test]
    fn a_request_is_one_tree_over_threads() {
        let request = found(0);
        let expected = [
            "GET /orders/{id} server 1",
            " web.Server.handle  1",
            "  SELECT 1 client 1",
            "   db.Driver.query  1",
            "  db.Driver.query  1",
            " SELECT 2 client 2",
            " web.Server.handle  2",
            "  SELECT 3 client 2",
        ];
        assert_eq!(lines(&request), expected);
        let entry = &request.items[0];
        assert_eq!(entry.failure, Some(said("503".to_owned())));
        assert_eq!((entry.total, entry.own), (2_040, 1_010));
        assert!(
            entry
                .values
                .iter()
                .any(|value| &*value.name == "http.route")
        );
    }

    #[test]
    fn what_is_short_goes_and_its_spans_stay() {
        let expected = [
            "GET /orders/{id} server 1",
            " SELECT 1 client 1",
            " SELECT 2 client 2",
            " SELECT 3 client 2",
        ];
        assert_eq!(lines(&found(10_000)), expected);
    }

    #[test]
    fn digits_that_fit_nothing_say_so() {
        let trace = Trace::from_bytes("t.wtrace", testing::requests().bytes()).unwrap();
        let told = Asked::parse("4bf9").unwrap().find(&[trace]).unwrap_err();
        assert!(told.to_string().contains("4bf9"), "{told}");
        assert!(Asked::parse("xyz").is_err() && Asked::parse("").is_err());
    }
}
