//! Calls asked for one by one: the slowest, those whose values fit, and sums by a value.

use super::call::{Call, Described, Outcome, Thrown};
use super::logical::LogicalCall;
use super::methods::{Method, MethodIx, Methods, OfValue};
use super::summary::Stats;
use super::values::{Condition, Data, Value};
use rustc_hash::FxHashMap;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeSet, BinaryHeap};
use std::fmt;
use std::sync::Arc;

/// Rows that values get of their own, and about how many bytes of text they have; what lies beyond is one row a method.
const MAX_ROWS: usize = if cfg!(test) { 100 } else { 10_000 };
const MAX_TEXT: usize = 64 << 20;

/// Most names of values that a report lists where no call has the one that was asked for.
const MAX_NAMES: usize = 20;

/// What is asked of single calls.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Only calls whose values fit all of these count.
    pub conditions: Vec<Condition>,
    /// Sum up by the value of this name.
    pub by: Option<String>,
    /// List so many calls, the slowest.
    pub calls: Option<usize>,
    /// Of these methods; without it, of all.
    pub wants: Option<Wants>,
}

/// Which methods' calls are listed.
#[derive(Clone)]
pub struct Wants(pub Arc<dyn Fn(&Method) -> bool>);

impl fmt::Debug for Wants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wants")
    }
}

impl Query {
    fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.by.is_none() && self.calls.is_none()
    }
}

/// A call of the list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its trace, as a place in [`Analysis::processes`](super::Analysis::processes).
    pub process: usize,
    /// Its thread; of a logical call, that on which it began.
    pub thread: u32,
    pub method: MethodIx,
    /// When it was entered.
    pub start: u64,
    pub total: u64,
    /// Not known of a call that the process has summed up.
    pub own: Option<u64>,
    /// Of a logical call, the time on threads.
    pub active: Option<u64>,
    /// How it ended; `None` for a logical call that did not, and was not running when the trace ended.
    pub outcome: Option<Outcome>,
    /// What it ended with, as far as the trace says.
    pub exception: Option<Arc<Described>>,
    pub values: Vec<Value>,
    /// How many calls it stands for.
    pub weight: u32,
    /// Calls before it, so that equal ones keep their order.
    order: u64,
}

impl Listed {
    /// The slowest first.
    fn rank(&self) -> impl Ord + use<> {
        let place = (self.process, self.start, self.thread, self.order);
        (self.total, Reverse(place))
    }
}

impl PartialEq for Listed {
    fn eq(&self, other: &Listed) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Listed {}

impl PartialOrd for Listed {
    fn partial_cmp(&self, other: &Listed) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Listed {
    fn cmp(&self, other: &Listed) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// What values share that are summed up together.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    method: MethodIx,
    /// A number for texts, characters, objects, what is missing, all others.
    kind: u8,
    text: String,
}

/// Sums by a value.
#[derive(Default)]
struct By {
    rows: FxHashMap<Key, usize>,
    /// Of each method, the row of further values.
    others: FxHashMap<MethodIx, usize>,
    /// What the rows are of; without a value, all others.
    keys: Vec<(MethodIx, Option<Value>)>,
    stats: Vec<Stats>,
    in_runs: bool,
    text: usize,
}

impl By {
    fn row(&mut self, method: MethodIx, value: &Value) -> &mut Stats {
        let next = self.keys.len();
        let kind = match value.data {
            Data::Text(_) => 0,
            Data::Char(_) => 1,
            Data::Object(_) => 2,
            Data::Missing(_) => 3,
            _ => 4,
        };
        let key = Key {
            method,
            kind,
            text: value.text().into_owned(),
        };
        let row = match self.rows.get(&key) {
            Some(&row) => row,
            None if self.rows.len() < MAX_ROWS && self.text + key.text.len() <= MAX_TEXT => {
                self.text += key.text.len();
                self.rows.insert(key, next);
                self.keys.push((method, Some(value.clone())));
                next
            }
            None => *self.others.entry(method).or_insert_with(|| {
                self.keys.push((method, None));
                next
            }),
        };
        if self.stats.len() <= row {
            (self.stats).resize_with(row + 1, || Stats::new(self.in_runs));
        }
        &mut self.stats[row]
    }
}

/// What single calls were asked for, and what was found.
pub(super) struct Asked {
    query: Query,
    /// Per row: whether its calls are listed.
    wanted: Vec<bool>,
    by: By,
    list: BinaryHeap<Reverse<Listed>>,
    /// A call whose exception may still come.
    pending: Option<Listed>,
    /// Calls that could be listed.
    fitting: u64,
    /// Own time of calls that do not fit.
    left_out: u64,
    process: usize,
    /// Of each thread, the exception that left a call last.
    exceptions: FxHashMap<u32, Arc<Described>>,
    names: BTreeSet<Arc<str>>,
}

/// What was found.
#[derive(Default)]
pub(super) struct Found {
    pub calls: Vec<Listed>,
    pub fitting: u64,
    pub left_out: u64,
    pub names: BTreeSet<Arc<str>>,
    /// Rows to add, with their numbers.
    pub rows: Vec<(Method, Stats)>,
}

impl Asked {
    /// `None` if nothing is asked.
    pub fn new(query: &Query) -> Option<Box<Asked>> {
        (!query.is_empty()).then(|| {
            Box::new(Asked {
                query: query.clone(),
                wanted: Vec::new(),
                by: By::default(),
                list: BinaryHeap::new(),
                pending: None,
                fitting: 0,
                left_out: 0,
                process: 0,
                exceptions: FxHashMap::default(),
                names: BTreeSet::new(),
            })
        })
    }

    /// The calls that follow are of this trace.
    pub fn trace(&mut self, process: usize) {
        self.process = process;
        self.exceptions.clear();
        self.settle();
    }

    /// A method came up.
    pub fn method(&mut self, row: MethodIx, method: &Method) {
        let row = row as usize;
        if self.wanted.len() <= row {
            self.wanted.resize(row + 1, true);
        }
        if let Some(Wants(wants)) = &self.query.wants {
            self.wanted[row] = wants(method);
        }
    }

    /// A call is over; whether it counts.
    pub fn call(&mut self, call: &Call, thread: u32, values: Vec<Value>) -> bool {
        if !self.fits(call.scaled(call.own), &values) {
            return false;
        }
        if let Some(value) = self.value(&values) {
            self.by.row(call.method, value).add(call);
        }
        self.consider(Listed {
            process: self.process,
            thread,
            method: call.method,
            start: call.start,
            total: call.total,
            own: Some(call.own),
            active: None,
            outcome: Some(call.outcome),
            exception: None,
            values,
            weight: call.weight,
            order: self.fitting,
        });
        true
    }

    /// A single slow or failed call of an aggregated method.
    pub fn slow(&mut self, method: MethodIx, thread: u32, (start, took): (u64, u64), failed: bool) {
        if self.query.conditions.is_empty() {
            self.consider(Listed {
                process: self.process,
                thread,
                method,
                start,
                total: took,
                own: None,
                active: None,
                outcome: Some(match failed {
                    true => Outcome::Error,
                    false => Outcome::Exit,
                }),
                exception: None,
                values: Vec::new(),
                weight: 1,
                order: self.fitting,
            });
        }
    }

    /// A logical call is over, or as much of it as there is; whether it counts.
    pub fn logical(&mut self, call: &mut LogicalCall) -> bool {
        let values = std::mem::take(&mut call.values);
        let own = call.own.saturating_mul(call.weight.into());
        if !self.fits(own, &values) {
            return false;
        }
        if let Some(value) = self.value(&values) {
            self.by.row(call.method, value).add_logical(call);
        }
        self.consider(Listed {
            process: self.process,
            thread: call.thread,
            method: call.method,
            start: call.begin,
            total: call.total,
            own: Some(call.own),
            active: Some(call.active),
            outcome: call.outcome,
            exception: call.exception.take(),
            values,
            weight: call.weight,
            order: self.fitting,
        });
        true
    }

    fn fits(&mut self, own: u64, values: &[Value]) -> bool {
        for value in values {
            if self.names.len() < MAX_NAMES && !self.names.contains(&value.name) {
                self.names.insert(Arc::clone(&value.name));
            }
        }
        let fits = self.query.conditions.iter().all(|c| c.holds(values));
        if !fits {
            self.left_out = self.left_out.saturating_add(own);
        }
        fits
    }

    fn value<'v>(&self, values: &'v [Value]) -> Option<&'v Value> {
        let name = self.query.by.as_deref()?;
        values.iter().find(|value| &*value.name == name)
    }

    fn consider(&mut self, call: Listed) {
        self.settle();
        let Some(most) = self.query.calls else {
            return;
        };
        if self.wanted.get(call.method as usize) == Some(&false) {
            return;
        }
        self.fitting += 1;
        let slowest = self.list.peek().filter(|_| self.list.len() >= most);
        if slowest.is_none_or(|Reverse(least)| call > *least) {
            self.pending = Some(call);
        }
    }

    /// The call that waits for its exception has none.
    fn settle(&mut self) {
        if let Some(call) = self.pending.take() {
            self.list.push(Reverse(call));
            if self.query.calls.is_some_and(|most| self.list.len() > most) {
                self.list.pop();
            }
        }
    }

    /// An exception left a method: returns it where it ends a logical call.
    pub fn error(
        &mut self,
        method: MethodIx,
        thread: u32,
        thrown: &Thrown<'_>,
    ) -> Option<Arc<Described>> {
        self.query.calls?;
        if let Some(details) = thrown.details {
            self.thrown(thread, details);
        }
        let exception = self.exceptions.get(&thread).map(Arc::clone);
        if let Some(call) = &mut self.pending
            && call.outcome == Some(Outcome::Error)
            && (call.method, call.thread) == (method, thread)
            && call.active.is_none()
        {
            call.exception = exception.clone();
            self.settle();
        }
        exception
    }

    /// An exception that a thread threw.
    pub fn thrown(&mut self, thread: u32, details: Described<&str>) {
        if self.query.calls.is_some() {
            self.exceptions.insert(thread, Arc::new(details.owned()));
        }
    }

    /// The numbers of the rows by value, so far.
    pub fn stats(&self) -> &[Stats] {
        &self.by.stats
    }

    /// See [`Stats::end_run`].
    pub fn stats_mut(&mut self) -> &mut [Stats] {
        &mut self.by.stats
    }

    /// Its numbers tell runs apart.
    pub fn in_runs(&mut self) {
        self.by.in_runs = true;
    }

    pub fn finish(mut self, methods: &Methods) -> Found {
        self.settle();
        let calls = self.list.into_sorted_vec();
        let rows = (self.by.keys.into_iter().zip(self.by.stats)).map(|((method, value), stats)| {
            let of = methods.rows()[method as usize].clone();
            (Method::OfValue(Box::new(OfValue::new(of, value))), stats)
        });
        Found {
            calls: calls.into_iter().map(|Reverse(call)| call).collect(),
            fitting: self.fitting,
            left_out: self.left_out,
            names: self.names,
            rows: rows.collect(),
        }
    }
}
