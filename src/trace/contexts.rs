//! Spans of requests: which calls of a thread are some, below which its calls run, and what rules make of them ("Spans" of the
//! format).

use super::format::SpanContext;
use super::values::{Data, Value, widened};
use crate::spans::{Condition, Scalar, SpanRule, Template};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Most spans that are open at once; a damaged trace could begin one with every record.
const MAX_OPEN: usize = 1 << 20;
/// Values that others give to one span.
const MAX_GIVEN: usize = 128;
/// Spans that have values before they begin.
const MAX_EARLY: usize = 1 << 12;

/// A span that is open in a thread, or that of another thread below which it runs.
pub struct Anchor {
    /// How many calls are around what it is about.
    pub depth: usize,
    /// A call of the thread is this span.
    is_call: bool,
    pub span: SpanContext,
    /// Spans below it were shown.
    pub has_children: bool,
}

/// What the open calls of a thread run in, the outermost first.
#[derive(Default)]
pub struct Contexts {
    anchors: Vec<Anchor>,
    /// Values that others give to a call without an id of its own (.NET), by its depth.
    given: Vec<(usize, Value)>,
}

impl Contexts {
    /// The call that begins at this depth is a span.
    pub fn begin(&mut self, span: SpanContext, depth: usize) {
        self.anchors
            .retain(|anchor| anchor.depth < depth || !anchor.is_call);
        self.anchors.push(Anchor {
            depth,
            is_call: true,
            span,
            has_children: false,
        });
    }

    /// What begins from here on, at this depth, runs below a span of another thread, or below none.
    pub fn hand(&mut self, span: Option<SpanContext>, depth: usize) {
        let current = |anchors: &[Anchor]| anchors.last().map(|anchor| anchor.span.span);
        let next = span.map(|span| span.span);
        if next == current(&self.anchors) {
            return; // said again, where a segment begins
        }
        self.anchors
            .retain(|anchor| anchor.is_call || anchor.depth < depth);
        if let Some(span) = span.filter(|_| next != current(&self.anchors)) {
            self.anchors.push(Anchor {
                depth,
                is_call: false,
                span,
                has_children: false,
            });
        }
    }

    /// The call at this depth has ended. Calls `each` with the spans that end with it.
    pub fn end(&mut self, depth: usize, mut each: impl FnMut(SpanContext)) {
        let ends = |anchor: &mut Anchor| match anchor.is_call {
            true => anchor.depth >= depth,
            false => anchor.depth > depth,
        };
        while let Some(anchor) = self.anchors.pop_if(ends) {
            if anchor.is_call {
                each(anchor.span);
            }
        }
        while self.given.pop_if(|(at, _)| *at >= depth).is_some() {}
    }

    /// Gives a value to the call at this depth. The first of a name stays.
    pub fn give(&mut self, depth: usize, value: Value) {
        let is_known = |(at, known): &(usize, Value)| *at == depth && known.name == value.name;
        if self.given.len() < MAX_GIVEN && !self.given.iter().any(is_known) {
            let at = self.given.partition_point(|(at, _)| *at <= depth);
            self.given.insert(at, (depth, value));
        }
    }

    /// The values of the call at this depth, which ends, with those that others gave to it.
    pub fn values(&mut self, depth: usize, mut own: Vec<Value>) -> Vec<Value> {
        while let Some((_, value)) = self.given.pop_if(|(at, _)| *at >= depth) {
            if own.iter().all(|known| known.name != value.name) {
                own.push(value);
            }
        }
        own
    }

    /// The span that the call at this depth is.
    pub fn call(&self, depth: usize) -> Option<&Anchor> {
        self.find(|anchor| anchor.is_call && anchor.depth == depth)
    }

    /// The innermost span that the call at this depth is, or runs below.
    pub fn around(&self, depth: usize) -> Option<&Anchor> {
        self.find(|anchor| anchor.depth <= depth)
    }

    /// The innermost span of another thread that it runs below.
    pub fn handed(&self, depth: usize) -> Option<&Anchor> {
        self.find(|anchor| !anchor.is_call && anchor.depth <= depth)
    }

    fn find(&self, is: impl Fn(&Anchor) -> bool) -> Option<&Anchor> {
        self.anchors.iter().rev().find(|anchor| is(anchor))
    }

    /// The span in which the thread runs now.
    pub fn current(&self) -> Option<SpanContext> {
        self.anchors.last().map(|anchor| anchor.span)
    }

    /// A span was shown that is the call at this depth, below the one around it.
    pub fn note_child(&mut self, depth: usize) {
        let mut around = self.anchors.iter_mut().rev();
        if let Some(anchor) = around.find(|anchor| !(anchor.is_call && anchor.depth >= depth)) {
            anchor.has_children = true;
        }
    }
}

/// A span that is open in some thread.
struct Open {
    /// The entry span of its context.
    entry: u64,
    /// Values that others give to it, where it is one.
    given: Vec<Value>,
}

/// The spans of all threads that are open, by their ids.
#[derive(Default)]
pub struct OpenSpans {
    all: FxHashMap<u64, Open>,
    /// Values for spans that have not begun: threads are read in turns, and another one may give a value before.
    early: FxHashMap<u64, Vec<Value>>,
    /// The spans of these, the oldest first.
    early_spans: VecDeque<u64>,
    /// Those that are logical calls, by their numbers.
    logical: FxHashMap<u64, SpanContext>,
}

impl OpenSpans {
    /// A logical call begins that is a span: it is open until that is over.
    pub fn begin_logical(&mut self, call: u64, span: SpanContext, is_entry: bool) {
        if self.logical.len() < MAX_OPEN {
            self.logical.insert(call, span);
            self.begin(span, is_entry);
        }
    }

    /// A span that is open goes on as a logical call.
    pub fn goes_on(&mut self, call: u64, span: SpanContext) {
        if self.logical.len() < MAX_OPEN {
            self.logical.insert(call, span);
        }
    }

    /// The span that a logical call is.
    pub fn logical(&self, call: u64) -> Option<SpanContext> {
        self.logical.get(&call).copied()
    }

    /// A logical call is over.
    pub fn end_logical(&mut self, call: u64) {
        if let Some(span) = self.logical.remove(&call) {
            self.end(span.span);
        }
    }

    /// A call ends with which these spans do, in the thread; those of the logical call go on.
    pub fn end_of_call(&mut self, span: u64, logical: Option<u64>) {
        let whole = logical.and_then(|call| self.logical(call));
        if whole.is_none_or(|whole| whole.span != span) {
            self.end(span);
        }
    }

    /// A span begins.
    pub fn begin(&mut self, span: SpanContext, is_entry: bool) {
        if self.all.len() >= MAX_OPEN {
            return;
        }
        let entry = match self.all.get(&span.parent) {
            Some(around) if !is_entry => around.entry,
            _ => span.span,
        };
        let given = Vec::new();
        self.all.insert(span.span, Open { entry, given });
        for value in self.early.remove(&span.span).unwrap_or_default() {
            self.give(Some(span), value);
        }
    }

    /// The entry span of the context that this one is of.
    pub fn entry(&self, span: u64) -> Option<u64> {
        self.all.get(&span).map(|open| open.entry)
    }

    /// Gives a value to the entry span of a context. The first of a name stays.
    pub fn give(&mut self, current: Option<SpanContext>, value: Value) {
        let entry = current.and_then(|span| self.entry(span.span));
        if let (Some(span), None) = (current, entry) {
            return self.wait(span.span, value);
        }
        if let Some(open) = entry.and_then(|id| self.all.get_mut(&id))
            && open.given.len() < MAX_GIVEN
            && open.given.iter().all(|known| known.name != value.name)
        {
            open.given.push(value);
        }
    }

    /// Gives a value to the entry span of what a thread does. `entry`: how deep the innermost call lies that is one by its rule; where the
    /// thread runs in no span, it has no id, and is that.
    pub fn give_in(&mut self, contexts: &mut Contexts, entry: Option<usize>, value: Value) {
        match (entry, contexts.current()) {
            (Some(depth), None) => contexts.give(depth, value),
            (_, current) => self.give(current, value),
        }
    }

    /// A value for a span that may still begin.
    fn wait(&mut self, span: u64, value: Value) {
        let values = self.early.entry(span).or_default();
        if values.is_empty() {
            self.early_spans.push_back(span);
        }
        if values.len() < MAX_GIVEN {
            values.push(value);
        }
        if self.early_spans.len() > MAX_EARLY
            && let Some(oldest) = self.early_spans.pop_front()
        {
            self.early.remove(&oldest);
        }
    }

    /// The values of a span that ends, with those that others gave to it.
    pub fn values(&mut self, span: u64, mut own: Vec<Value>) -> Vec<Value> {
        let given = self.all.get_mut(&span).map(|open| &mut open.given);
        for value in given.into_iter().flat_map(std::mem::take) {
            if own.iter().all(|known| known.name != value.name) {
                own.push(value);
            }
        }
        own
    }

    pub fn end(&mut self, span: u64) {
        self.all.remove(&span);
    }
}

/// The value of this name, for a rule.
fn scalar<'v>(values: &'v [Value], name: &str) -> Option<Scalar<'v>> {
    let value = values.iter().find(|value| *value.name == *name)?;
    Some(match &value.data {
        Data::Null | Data::Missing(_) | Data::Char(_) => Scalar::Null,
        Data::Boolean(yes) => Scalar::Boolean(*yes),
        Data::Integer(n) => Scalar::Number(*n as f64),
        Data::Unsigned(n) => Scalar::Number(*n as f64),
        Data::Double(n) => Scalar::Number(*n),
        Data::Float(n) => Scalar::Number(widened(*n)),
        Data::Text(text) | Data::Object(text) => Scalar::Text(text),
    })
}

/// The name that a rule gives to a span with these values; none where it gives none.
pub fn name(rule: &SpanRule, values: &[Value]) -> Option<String> {
    if rule.name.is_empty() {
        return None;
    }
    let template = Template::parse(&rule.name).ok()?;
    let name = template.fill(|name| scalar(values, name));
    Some(name).filter(|name| !name.is_empty())
}

/// What a rule asks; none where it asks nothing.
fn condition(text: &str) -> Option<Condition<'_>> {
    match text {
        "" => None,
        text => Condition::parse(text).ok(),
    }
}

/// Why a span with these values has failed, if its rule says so: the value that tells it.
pub fn failure(rule: &SpanRule, values: &[Value]) -> Option<String> {
    let error = condition(&rule.error)?;
    let value = scalar(values, error.name);
    error.holds(value).then(|| match value {
        Some(Scalar::Number(n)) => n.to_string(),
        Some(Scalar::Text(text)) => text.to_owned(),
        _ => "_OTHER".to_owned(),
    })
}

/// Whether a call lies in another of the same word, of which the outermost alone is a span. `around`: the rules of the calls around it.
pub fn is_within<'r>(rule: &SpanRule, mut around: impl Iterator<Item = &'r SpanRule>) -> bool {
    !rule.once.is_empty() && around.any(|outer| outer.once == rule.once)
}

/// Whether a call with these values is a span at all.
pub fn is_span(rule: &SpanRule, values: &[Value]) -> bool {
    let when = condition(&rule.when);
    when.is_none_or(|when| when.holds(scalar(values, when.name)))
}
