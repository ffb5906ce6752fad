//! The calls that a page shows: all of them, or the longest so many.
//!
//! A call is never shorter than those that it made. So a bound on durations leaves out whole subtrees, and each call
//! that is kept has its callers.

use crate::trace::export::{End, Logical, Named, Process, Sink, Span, Thread};
use crate::trace::file::cut;
use crate::trace::values::{self, Value};
use rustc_hash::FxHashMap;
use std::io;
use std::rc::Rc;

/// Intervals of the time for which a page shows how busy a thread was, where calls are left out.
const BUCKETS: usize = 1_024;
/// Threads for which it shows this.
const BUSY_THREADS: usize = 500;
/// Exceptions that a page names; calls left by further ones show none.
const EXCEPTIONS: usize = 10_000;

/// Bytes of values that a page shows, and of those of a call. Of more, those of the longest calls are shown.
pub(super) const VALUES: usize = if cfg!(test) { 1_000 } else { 16 << 20 };
const VALUES_OF_A_CALL: usize = 400;

/// A call that is not over.
const OPEN: u64 = u64::MAX;

/// What a call's flags say, beside how it ended.
const HAS_LOGICAL: u8 = 4;
const HAS_EXCEPTION: u8 = 8;
const HAS_VALUES: u8 = 16;
const HAS_WEIGHT: u8 = 32;

struct Call {
    start: u64,
    duration: u64,
    name: u32,
    depth: u32,
    /// How it ended, in the lowest two bits.
    outcome: u8,
    logical: Option<u32>,
    exception: Option<u32>,
    values: Option<u32>,
    /// How many calls it stands for, if not for itself alone.
    weight: Option<u32>,
}

/// The calls of a thread, in the order in which they began.
pub(super) struct Track {
    /// Its trace, as a place among those of the page.
    pub process: usize,
    /// Its number.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Time in calls, in each of the equal parts of the time.
    busy: Vec<u64>,
    calls: Vec<Call>,
}

struct Whole {
    process: usize,
    call: u64,
    name: u32,
    start: u64,
    duration: u64,
    outcome: u8,
    known: bool,
}

/// How many calls are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    pub calls: u64,
    /// Calls in all.
    pub of: u64,
    /// How long a call is at least that is kept.
    pub least: u64,
}

/// Takes what a page shows.
pub struct Calls {
    most: usize,
    /// Calls shorter than this are left out.
    least: u64,
    kept: usize,
    /// Calls in all.
    all: u64,
    end: u64,
    offset: u64,
    process: usize,
    pub(super) tracks: Vec<Track>,
    /// Calls of the last track that are open.
    open: Vec<usize>,
    names: Vec<String>,
    by_name: FxHashMap<String, u32>,
    /// Of each method of the process at hand, its name.
    of_method: Vec<u32>,
    logical: Vec<Whole>,
    by_logical: FxHashMap<u64, u32>,
    exceptions: Vec<(String, String)>,
    by_exception: FxHashMap<(String, String), u32>,
    values: Values,
    /// Of calls shorter than this, the values are left out.
    least_with_values: u64,
}

/// Values in one line; equal ones have one number.
#[derive(Default)]
struct Values {
    texts: Vec<Rc<str>>,
    numbers: FxHashMap<Rc<str>, u32>,
    bytes: usize,
}

impl Values {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.numbers.get(text) {
            return known;
        }
        let (text, new) = (Rc::<str>::from(text), self.texts.len() as u32);
        self.bytes += text.len();
        self.texts.push(Rc::clone(&text));
        self.numbers.insert(text, new);
        new
    }
}

fn outcome(name: &str) -> u8 {
    match name {
        "exit" => 0,
        "error" => 1,
        "running" => 2,
        _ => 3,
    }
}

impl Calls {
    /// Takes at most so many calls of traces that together last until `end`.
    pub fn new(most: usize, end: u64) -> Calls {
        Calls {
            most: most.max(1),
            least: 0,
            kept: 0,
            all: 0,
            end: end.max(1),
            offset: 0,
            process: 0,
            tracks: Vec::new(),
            open: Vec::new(),
            names: Vec::new(),
            by_name: FxHashMap::default(),
            of_method: Vec::new(),
            logical: Vec::new(),
            by_logical: FxHashMap::default(),
            exceptions: Vec::new(),
            by_exception: FxHashMap::default(),
            values: Values::default(),
            least_with_values: 0,
        }
    }

    /// Nothing follows: leaves out what is beyond the bounds.
    pub fn finish(&mut self) {
        if self.kept > self.most {
            self.shrink();
        }
        self.forget_values();
        self.tracks.retain_mut(|track| {
            track.calls.shrink_to_fit();
            !track.calls.is_empty()
        });
        // The longest logical calls, in the order in which they began.
        let mut order: Vec<usize> = (0..self.logical.len())
            .filter(|&i| self.logical[i].known)
            .collect();
        order.sort_by_key(|&i| std::cmp::Reverse(self.logical[i].duration));
        order.truncate(self.most / 4 + 1);
        order.sort_by_key(|&i| {
            (
                self.logical[i].start,
                self.logical[i].process,
                self.logical[i].call,
            )
        });
        let mut place = vec![None; self.logical.len()];
        for (new, &old) in (0u32..).zip(&order) {
            place[old] = Some(new);
        }
        for call in self.tracks.iter_mut().flat_map(|t| &mut t.calls) {
            call.logical = call.logical.and_then(|old| place[old as usize]);
        }
        let mut old: Vec<Option<Whole>> = std::mem::take(&mut self.logical)
            .into_iter()
            .map(Some)
            .collect();
        self.logical = order.into_iter().filter_map(|i| old[i].take()).collect();
    }

    /// Calls that the tracks have room for.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.tracks.iter().map(|t| t.calls.capacity()).sum()
    }

    /// The methods' names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Exceptions: type and message.
    pub fn exceptions(&self) -> &[(String, String)] {
        &self.exceptions
    }

    /// Values of calls, each call's in one line.
    pub(super) fn values(&self) -> &[Rc<str>] {
        &self.values.texts
    }

    pub fn kept(&self) -> Kept {
        Kept {
            calls: self.kept as u64,
            of: self.all,
            least: self.least,
        }
    }

    /// Logical calls.
    pub fn logical(&self) -> usize {
        self.logical.len()
    }

    /// The number of a name.
    pub fn name(&mut self, label: &str) -> u32 {
        if let Some(&name) = self.by_name.get(label) {
            return name;
        }
        let name = self.names.len() as u32;
        self.names.push(label.to_owned());
        self.by_name.insert(label.to_owned(), name);
        name
    }

    /// Finds the bound that leaves the longest calls, and drops the others.
    fn shrink(&mut self) {
        let mut durations: Vec<u64> = (self.tracks.iter())
            .flat_map(|t| &t.calls)
            .map(|c| c.duration)
            .collect();
        if durations.len() > self.most {
            let (_, &mut bound, _) = durations.select_nth_unstable_by(self.most, |a, b| b.cmp(a));
            self.least = self.least.max(bound.saturating_add(1));
        }
        let (least, last) = (self.least, self.tracks.len().wrapping_sub(1));
        self.kept = 0;
        for (number, track) in self.tracks.iter_mut().enumerate() {
            if number == last {
                let mut place = 0;
                let mut open = self.open.iter_mut().peekable();
                for (at, call) in track.calls.iter().enumerate() {
                    if let Some(slot) = open.next_if(|slot| **slot == at) {
                        *slot = place;
                    }
                    place += usize::from(call.duration >= least);
                }
            }
            track.calls.retain(|call| call.duration >= least);
            self.kept += track.calls.len();
            if number != last {
                track.calls.shrink_to_fit();
            }
        }
        let at_hand = self.tracks.pop();
        self.tracks.retain(|track| !track.calls.is_empty());
        self.tracks.extend(at_hand);
    }

    /// Forgets the values of calls that are left out, and where those of the others take too much room, those of the
    /// shorter half.
    fn forget_values(&mut self) {
        loop {
            let old = std::mem::take(&mut self.values);
            let mut durations = Vec::new();
            for call in self.tracks.iter_mut().flat_map(|t| &mut t.calls) {
                if call.duration < self.least_with_values {
                    call.values = None;
                } else if let Some(number) = call.values {
                    call.values = Some(self.values.number(&old.texts[number as usize]));
                    durations.push(call.duration);
                }
            }
            if self.values.bytes <= VALUES {
                return;
            }
            let middle = durations.len() / 2;
            let (_, &mut median, _) = durations.select_nth_unstable(middle);
            self.least_with_values = median.saturating_add(1);
        }
    }

    /// The number of what a call's values are, and of it as much as a page shows.
    fn number_of(&mut self, values: &[Value], duration: u64) -> Option<u32> {
        if values.is_empty() || duration < self.least_with_values {
            return None;
        }
        if self.values.bytes > 2 * VALUES {
            self.forget_values();
        }
        let line = values::shown(values);
        Some(match line.len() > VALUES_OF_A_CALL {
            true => (self.values).number(&format!("{}…", cut(&line, VALUES_OF_A_CALL))),
            false => self.values.number(&line),
        })
    }

    fn busy(&mut self, start: u64, duration: u64) {
        let Some(track) = self.tracks.last_mut().filter(|t| !t.busy.is_empty()) else {
            return;
        };
        let width = self.end.div_ceil(BUCKETS as u64).max(1);
        let end = start.saturating_add(duration);
        let (first, last) = (start / width, end / width);
        for bucket in first..=last.min(BUCKETS as u64 - 1) {
            let from = start.max(bucket * width);
            let until = end.min((bucket + 1).saturating_mul(width));
            let busy = &mut track.busy[bucket as usize];
            *busy = busy.saturating_add(until.saturating_sub(from));
        }
    }

    /// How busy a thread was in each part of the time, from 0 to 255; empty if all of its calls are there.
    pub(super) fn activity(&self, track: &Track) -> Vec<u8> {
        if self.kept as u64 == self.all {
            return Vec::new();
        }
        let width = self.end.div_ceil(BUCKETS as u64).max(1);
        let share = |&busy: &u64| match busy {
            0 => 0,
            busy => (busy.min(width) as f64 / width as f64 * 254.0) as u8 + 1,
        };
        track.busy.iter().map(share).collect()
    }

    /// The calls as columns of LEB128 numbers: what the page's script reads.
    pub(super) fn columns(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for track in &self.tracks {
            let calls = &track.calls;
            put(&mut out, calls.len() as u64);
            let mut last = 0;
            for call in calls {
                // In a damaged trace times may step back.
                put(&mut out, call.start.saturating_sub(last));
                last = last.max(call.start);
            }
            calls.iter().for_each(|c| put(&mut out, c.duration));
            calls.iter().for_each(|c| put(&mut out, u64::from(c.name)));
            calls.iter().for_each(|c| put(&mut out, u64::from(c.depth)));
            for call in calls {
                let logical = call.logical.map_or(0, |_| HAS_LOGICAL);
                let exception = call.exception.map_or(0, |_| HAS_EXCEPTION);
                let values = call.values.map_or(0, |_| HAS_VALUES);
                let weight = call.weight.map_or(0, |_| HAS_WEIGHT);
                out.push(call.outcome | logical | exception | values | weight);
            }
            for one in calls
                .iter()
                .flat_map(|c| [c.logical, c.exception, c.values, c.weight])
                .flatten()
            {
                put(&mut out, u64::from(one));
            }
        }
        let mut last = 0;
        for whole in &self.logical {
            put(&mut out, whole.start.saturating_sub(last));
            last = whole.start;
            put(&mut out, whole.duration);
            put(&mut out, u64::from(whole.name));
            put(&mut out, whole.process as u64);
            out.push(whole.outcome);
        }
        out
    }
}

/// Appends a number as unsigned LEB128.
fn put(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

impl Sink for Calls {
    fn process(&mut self, process: &Process, methods: &[Named]) -> io::Result<()> {
        (self.process, self.offset) = (process.number, process.offset);
        self.by_logical.clear();
        self.of_method = methods.iter().map(|m| self.name(&m.label)).collect();
        Ok(())
    }

    fn unnamed(&mut self, method: &Named) -> io::Result<()> {
        let name = self.name(&method.label);
        self.of_method.push(name);
        Ok(())
    }

    fn thread(&mut self, process: &Process, thread: &Thread) -> io::Result<()> {
        self.open.clear();
        let buckets = if self.tracks.len() < BUSY_THREADS {
            BUCKETS
        } else {
            0
        };
        self.tracks.push(Track {
            process: process.number,
            number: thread.number,
            name: thread.name.to_owned(),
            busy: vec![0; buckets],
            calls: Vec::new(),
        });
        Ok(())
    }

    fn open(&mut self, span: &Span, _: &Named) -> io::Result<()> {
        let logical = span.piece.map(|(call, _)| {
            let next = self.logical.len() as u32;
            let place = *self.by_logical.entry(call).or_insert(next);
            if place == next {
                self.logical.push(Whole {
                    process: self.process,
                    call,
                    name: 0,
                    start: 0,
                    duration: 0,
                    outcome: 0,
                    known: false,
                });
            }
            place
        });
        let Some(track) = self.tracks.last_mut() else {
            return Ok(());
        };
        self.open.push(track.calls.len());
        track.calls.push(Call {
            start: span.start.saturating_add(self.offset),
            duration: OPEN,
            name: self.of_method[span.method],
            depth: span.depth,
            outcome: 0,
            logical,
            exception: None,
            values: None,
            weight: Some(span.weight).filter(|&n| n > 1),
        });
        self.kept += 1;
        self.all += 1;
        if self.kept >= 2 * self.most + 1_024 {
            self.shrink();
        }
        Ok(())
    }

    fn close(&mut self, span: &Span, end: &End, _: &Named) -> io::Result<()> {
        let exception = end
            .exception
            .filter(|_| end.outcome == "error")
            .and_then(|told| {
                let key = (told.type_name.to_owned(), told.message.to_owned());
                if let Some(&known) = self.by_exception.get(&key) {
                    return Some(known);
                }
                let next = self.exceptions.len();
                if next >= EXCEPTIONS {
                    return None;
                }
                self.exceptions.push(key.clone());
                self.by_exception.insert(key, next as u32);
                Some(next as u32)
            });
        let start = span.start.saturating_add(self.offset);
        let duration = end.time.saturating_sub(span.start).min(OPEN - 1);
        if span.depth == 0 {
            self.busy(start, duration);
        }
        let values = match duration < self.least {
            true => None,
            false => self.number_of(end.values, duration),
        };
        let (Some(at), Some(track)) = (self.open.pop(), self.tracks.last_mut()) else {
            return Ok(());
        };
        if duration < self.least {
            // Those that it made were shorter still: it is the last.
            track.calls.truncate(at);
            self.kept -= 1;
            return Ok(());
        }
        let call = &mut track.calls[at];
        (call.duration, call.outcome) = (duration, outcome(end.outcome));
        (call.exception, call.values) = (exception, values);
        Ok(())
    }

    fn end_thread(&mut self, _: u64) -> io::Result<()> {
        self.tracks.pop_if(|track| track.calls.is_empty());
        if let Some(track) = self.tracks.last_mut() {
            track.calls.shrink_to_fit();
        }
        Ok(())
    }

    fn logical(&mut self, logical: &Logical, _: &Named) -> io::Result<()> {
        let next = self.logical.len() as u32;
        let place = *self.by_logical.entry(logical.call).or_insert(next);
        let whole = Whole {
            process: self.process,
            call: logical.call,
            name: self.of_method[logical.method],
            start: logical.start.saturating_add(self.offset),
            duration: logical.end.saturating_sub(logical.start),
            outcome: outcome(logical.outcome),
            known: true,
        };
        match self.logical.get_mut(place as usize) {
            Some(slot) => *slot = whole,
            None => self.logical.push(whole),
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}
