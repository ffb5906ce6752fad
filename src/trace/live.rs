//! What a running process does: counts of its methods, how fast they grow, and the calls that are open now.

use super::aggregates::Aggregate;
use super::call::{Call, Described, Frame, Outcome, Thrown};
use super::file::{self, ThreadName};
use super::format::Decoder;
use super::methods::{MethodIx, Methods};
use super::replay::{Replay, Run, Visitor};
use super::tail::Reader;
use super::window::Part;
use crate::printable::printable;
use crate::symbols::Symbols;
use rustc_hash::FxHashMap;

/// Threads that are kept though nothing of them is open.
const IDLE: usize = 10_000;

/// Counts, as they are or as they grow in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Calls that ended.
    pub calls: u64,
    /// Of these, those for which others stand: an estimate.
    pub unseen: u64,
    /// Further calls that were only counted.
    pub counted: u64,
    /// Calls that an exception left.
    pub errors: u64,
    /// Nanoseconds from enter to end; of recursive calls the outermost counts.
    pub total: u64,
    /// Nanoseconds not in calls that it made.
    pub own: u64,
}

impl Counts {
    fn since(&self, before: &Counts) -> Counts {
        Counts {
            calls: self.calls - before.calls,
            unseen: self.unseen - before.unseen,
            counted: self.counted - before.counted,
            errors: self.errors - before.errors,
            total: self.total - before.total,
            own: self.own - before.own,
        }
    }

    /// Calls, those included that were only counted.
    pub fn all_calls(&self) -> u64 {
        self.calls.saturating_add(self.counted)
    }

    /// Adds those of another method, thread or process.
    pub fn add(&mut self, other: &Counts) {
        self.calls = self.calls.saturating_add(other.calls);
        self.unseen = self.unseen.saturating_add(other.unseen);
        self.counted = self.counted.saturating_add(other.counted);
        self.errors = self.errors.saturating_add(other.errors);
        self.total = self.total.saturating_add(other.total);
        self.own = self.own.saturating_add(other.own);
    }
}

/// A method in a view.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodRow {
    /// Name and parameters.
    pub name: String,
    /// Since the view was set to zero.
    pub sum: Counts,
    /// In the last interval.
    pub recent: Counts,
    /// Longest call.
    pub longest: u64,
    /// Threads in it now, as the innermost call.
    pub now: u32,
}

impl MethodRow {
    /// Whether all its calls were only counted: nothing is known of their times and ends.
    pub fn is_counted(&self) -> bool {
        self.sum.calls == 0 && self.sum.counted > 0 && self.now == 0
    }
}

/// A thread in a view.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadRow {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Since the view was set to zero.
    pub sum: Counts,
    /// In the last interval.
    pub recent: Counts,
    /// The calls that are open, the outermost first: method, and when it began.
    pub stack: Vec<(MethodIx, u64)>,
}

/// Follows a process.
pub struct Live {
    replay: Replay,
    methods: Methods,
    labels: Vec<String>,
    runs: FxHashMap<u32, Run>,
    sums: Sums,
    interval: u64,
    missing: u64,
    last: u64,
    /// Calls that were only counted, by id.
    counted: FxHashMap<u32, u64>,
    /// Calls that the process has summed up, by id.
    summed: FxHashMap<u32, Aggregate>,
}

#[derive(Default)]
struct Sums {
    methods: Vec<Growing>,
    longest: Vec<u64>,
    threads: FxHashMap<u32, Thread>,
    thread: Growing,
    /// What of the trace counts, if that is not all.
    part: Option<Part>,
}

#[derive(Clone, Copy, Default)]
struct Growing {
    now: Counts,
    /// At the last tick, and how much it had grown by then.
    ticked: Counts,
    recent: Counts,
    /// When the view was set to zero.
    zero: Counts,
}

impl Growing {
    fn tick(&mut self) {
        self.recent = self.now.since(&self.ticked);
        self.ticked = self.now;
    }

    fn sum(&self) -> Counts {
        self.now.since(&self.zero)
    }
}

#[derive(Clone, Default)]
struct Thread {
    name: String,
    named: bool,
    counts: Growing,
}

impl Default for Live {
    fn default() -> Live {
        let mut replay = Replay::new(0);
        replay.next_trace(true);
        Live {
            replay,
            methods: Methods::default(),
            labels: Vec::new(),
            runs: FxHashMap::default(),
            sums: Sums::default(),
            interval: 0,
            missing: 0,
            last: 0,
            counted: FxHashMap::default(),
            summed: FxHashMap::default(),
        }
    }
}

impl Live {
    /// Only this part of the trace counts.
    pub fn look_at(&mut self, part: Part) {
        self.replay.look_at(part);
        self.sums.part = Some(part);
    }

    /// An interval of so many nanoseconds is over.
    pub fn tick(&mut self, interval: u64) {
        self.interval = interval;
        self.sums.methods.iter_mut().for_each(Growing::tick);
        self.sums
            .threads
            .values_mut()
            .for_each(|thread| thread.counts.tick());
        // Those of which nothing is open are forgotten when they are many: virtual threads.
        if self.sums.threads.len() > IDLE {
            let runs = &self.runs;
            self.sums
                .threads
                .retain(|number, _| runs.contains_key(number));
        }
    }

    /// Counts from now on.
    pub fn zero(&mut self) {
        self.sums.longest.fill(0);
        for counts in &mut self.sums.methods {
            counts.zero = counts.now;
        }
        for thread in self.sums.threads.values_mut() {
            thread.counts.zero = thread.counts.now;
        }
    }

    /// Nanoseconds of the last interval.
    pub fn interval(&self) -> u64 {
        self.interval
    }

    /// Segments that were not there: overwritten, or taken by another consumer.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Time of the last record that was read.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// All methods that were called or are open.
    pub fn methods(&self) -> Vec<MethodRow> {
        let mut now: FxHashMap<MethodIx, u32> = FxHashMap::default();
        for top in self.runs.values().filter_map(|run| run.stack().last()) {
            *now.entry(top.method).or_default() += 1;
        }
        let rows = self
            .sums
            .methods
            .iter()
            .enumerate()
            .map(|(row, counts)| MethodRow {
                name: self.name(row as MethodIx),
                sum: counts.sum(),
                recent: counts.recent,
                longest: self.sums.longest[row],
                now: now.get(&(row as MethodIx)).copied().unwrap_or(0),
            });
        rows.filter(|row| row.sum.all_calls() > 0 || row.now > 0)
            .collect()
    }

    /// All threads, by number.
    pub fn threads(&self) -> Vec<ThreadRow> {
        let rows = self.sums.threads.iter().map(|(&number, thread)| ThreadRow {
            number,
            name: thread.name.clone(),
            sum: thread.counts.sum(),
            recent: thread.counts.recent,
            stack: (self.runs.get(&number).map_or(&[][..], Run::stack).iter())
                .map(|frame| (frame.method, frame.start))
                .collect(),
        });
        let mut rows: Vec<ThreadRow> = rows.collect();
        rows.sort_unstable_by_key(|row| row.number);
        rows
    }

    /// The sum of all methods' recent counts, and threads with open calls.
    pub fn recent(&self) -> (Counts, usize) {
        let mut sum = Counts::default();
        self.sums
            .methods
            .iter()
            .for_each(|counts| sum.add(&counts.recent));
        let open = self.runs.values().filter(|run| !run.stack().is_empty());
        (sum, open.count())
    }

    /// What a method is called.
    pub fn name(&self, method: MethodIx) -> String {
        match self.labels.get(method as usize) {
            Some(label) => label.clone(),
            None => self.methods.rows()[method as usize].name(),
        }
    }

    fn with(&mut self, thread: u32, act: impl FnOnce(&mut Replay, &mut Methods, &mut Sums)) {
        let mut run = self.runs.remove(&thread).unwrap_or_default();
        let known = self.sums.threads.entry(thread).or_default();
        self.sums.thread = known.counts;
        self.replay.turn_to(&mut run);
        act(&mut self.replay, &mut self.methods, &mut self.sums);
        self.last = self.last.max(self.replay.last());
        self.replay.turn_to(&mut run);
        if let Some(known) = self.sums.threads.get_mut(&thread) {
            known.counts = self.sums.thread;
        }
        let rows = self.methods.rows().len();
        self.sums.methods.resize(rows, Growing::default());
        self.sums.longest.resize(rows, 0);
        if self.replay.keeps(&run) {
            self.runs.insert(thread, run);
        }
    }
}

impl Reader for Live {
    fn symbols(&mut self, symbols: &Symbols) {
        for (id, _) in symbols.iter() {
            self.methods.resolve(id, symbols);
        }
        self.labels = self.methods.labels();
        self.replay.forget_names();
        for run in self.runs.values_mut() {
            self.replay.rename(run, symbols, &mut self.methods);
        }
    }

    fn records(
        &mut self,
        thread: u32,
        name: Option<&ThreadName>,
        symbols: &Symbols,
        records: Decoder<'_>,
    ) {
        self.with(thread, |replay, methods, sums| {
            replay.records(records, symbols, methods, sums);
        });
        if let Some(known) = self.sums.threads.get_mut(&thread).filter(|t| !t.named) {
            known.named = name.is_some();
            known.name = match name.filter(|name| !name.name.is_empty()) {
                Some(name) => printable(&name.name),
                None => format!("thread {thread}"),
            };
        }
    }

    fn counts(&mut self, counts: &file::Counts, symbols: &Symbols) {
        if self.sums.part.is_some() {
            return; // of a part of a process it is not known
        }
        for (&id, &all) in &counts.calls {
            let before = self.counted.entry(id).or_default();
            let new = all.saturating_sub(std::mem::replace(before, all));
            let counted = Counts {
                counted: new,
                ..Counts::default()
            };
            let row = self.methods.resolve(id, symbols);
            self.sums.row(row).now.add(&counted);
        }
    }

    fn aggregates(&mut self, aggregates: &file::Aggregates, symbols: &Symbols) {
        if self.sums.part.is_some() {
            return; // of a part of a process they are not known
        }
        for (&id, sum) in &aggregates.sums {
            let before = self.summed.entry(id).or_default();
            let (known, new) = (before.max, before.grow(sum));
            let row = self.methods.resolve(id, symbols);
            self.sums.row(row).now.add(&Counts {
                calls: new.durations.calls(),
                unseen: 0,
                counted: 0,
                errors: new.errors,
                total: new.total,
                own: new.own,
            });
            // For calls not longer than an earlier one, only the bucket says how long they were.
            let longest = match new.max > known {
                true => new.max,
                false => new
                    .durations
                    .iter()
                    .map(|(ns, _)| ns.min(known))
                    .last()
                    .unwrap_or(0),
            };
            let all = &mut self.sums.longest[row as usize];
            *all = longest.max(*all);
        }
    }

    fn missing(&mut self, thread: u32, segments: u64) {
        self.missing = self.missing.saturating_add(segments);
        self.replay.misses(&mut self.runs, thread);
    }
}

impl Sums {
    fn row(&mut self, method: MethodIx) -> &mut Growing {
        let row = method as usize;
        if self.methods.len() <= row {
            self.methods.resize(row + 1, Growing::default());
            self.longest.resize(row + 1, 0);
        }
        &mut self.methods[row]
    }

    fn add(&mut self, method: MethodIx, counts: &Counts) {
        self.row(method).now.add(counts);
        self.thread.now.add(counts);
    }
}

impl Visitor for Sums {
    fn call(&mut self, call: &Call, _: &mut [Frame]) -> bool {
        // Logical calls count when they are complete.
        let calls = match call.piece {
            None => u64::from(call.weight),
            Some(_) => 0,
        };
        let counts = Counts {
            calls,
            unseen: calls.saturating_sub(1),
            counted: 0,
            errors: calls * u64::from(call.outcome == Outcome::Error),
            total: match call.outermost {
                true => call.scaled(call.total),
                false => 0,
            },
            own: call.scaled(call.own),
        };
        self.add(call.method, &counts);
        let longest = &mut self.longest[call.method as usize];
        *longest = call.total.max(*longest);
        true
    }

    fn begin(&mut self, _: MethodIx, _: u64, _: u64, _: u32, _: &[Frame]) {}

    fn complete(&mut self, method: MethodIx, _: u64, time: u64, outcome: Outcome, weight: u32) {
        if self.part.is_some_and(|part| !part.has_end(time)) {
            return;
        }
        let calls = u64::from(weight);
        self.add(
            method,
            &Counts {
                calls,
                unseen: calls.saturating_sub(1),
                errors: calls * u64::from(outcome == Outcome::Error),
                ..Counts::default()
            },
        );
    }

    fn error(&mut self, _: MethodIx, _: &Thrown<'_>) {}

    fn unhandled(&mut self, _: Option<Described<&str>>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::consumer::write_at;
    use crate::trace::format::{CHUNK, CHUNK_HEADER};
    use crate::trace::lock;
    use crate::trace::tail::{Role, Tail};
    use crate::trace::testing::{Chunk, TraceBuilder, shop_symbols};
    use std::fs::OpenOptions;

    #[test]
    fn counts_that_grow_in_their_places_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.wtrace");
        let trace = TraceBuilder::new("shop", 1, 0)
            .killed()
            .symbols(&shop_symbols(), 65_504, &[])
            .push(Chunk::counts(0, 7, &[(3, 5)]))
            .bytes();
        std::fs::write(&path, &trace).unwrap();
        let file = (OpenOptions::new().read(true).write(true).open(&path)).unwrap();
        assert!(lock::take_writer(&file));
        let mut tail = Tail::open(&path, Role::Onlooker).unwrap();
        let mut live = Live::default();
        let mut look = |tail: &mut Tail| {
            let looks = tail.looks() + 2;
            while tail.looks() < looks {
                tail.turn(&mut live).unwrap();
            }
            live.tick(1_000_000_000);
            let counts = |row: &MethodRow| (row.sum.counted, row.recent.counted);
            live.methods().iter().map(counts).collect::<Vec<_>>()
        };
        assert_eq!(look(&mut tail), [(5, 5)]);
        let at = trace.len() - CHUNK + CHUNK_HEADER;
        write_at(
            &file,
            &[3, 12, 4, 8].map(u64::to_le_bytes).concat(),
            at as u64,
        )
        .unwrap();
        assert_eq!(look(&mut tail), [(12, 7), (8, 8)]);
        assert_eq!(look(&mut tail), [(12, 0), (8, 0)]);
    }

    #[test]
    fn sums_that_grow_in_their_places_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.wtrace");
        let trace = |calls: u64, errors: u64| {
            let sums =
                Chunk::new(4, 0, 0, 7).aggregate(3, 21, [calls + 1, calls, errors], [90, 60]);
            TraceBuilder::new("shop", 1, 0)
                .killed()
                .symbols(&shop_symbols(), 65_504, &[])
                .push(sums)
                .bytes()
        };
        std::fs::write(&path, trace(5, 1)).unwrap();
        let file = (OpenOptions::new().read(true).write(true).open(&path)).unwrap();
        assert!(lock::take_writer(&file));
        let mut tail = Tail::open(&path, Role::Onlooker).unwrap();
        let mut live = Live::default();
        let look = |tail: &mut Tail, live: &mut Live| {
            let looks = tail.looks() + 2;
            while tail.looks() < looks {
                tail.turn(live).unwrap();
            }
            live.tick(1_000_000_000);
            let row = live.methods().remove(0);
            let Counts {
                calls,
                errors,
                total,
                own,
                ..
            } = row.sum;
            assert!(!row.is_counted());
            [calls, errors, total, own, row.longest, row.recent.calls]
        };
        assert_eq!(look(&mut tail, &mut live), [5, 1, 450, 300, 90, 5]);
        write_at(&file, &trace(8, 1), 0).unwrap();
        assert_eq!(look(&mut tail, &mut live), [8, 1, 720, 480, 90, 3]);
        live.zero();
        write_at(&file, &trace(9, 2), 0).unwrap();
        // A bucket's middle: calls of 80 to 95 nanoseconds.
        assert_eq!(look(&mut tail, &mut live), [1, 1, 90, 60, 87, 1]);
    }

    #[test]
    fn a_segment_that_is_missing_is_told_and_nobodys_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.wtrace");
        let followed = |number| {
            let bytes = TraceBuilder::new("shop", 1, 2_000)
                .symbols(&shop_symbols(), 65_504, &[])
                .push(Chunk::records(1, 0, 100).enter(0, 1).enter(20, 2))
                .push(Chunk::records(1, number, 1_000).exit(0, 2).exit(50, 1))
                .bytes();
            std::fs::write(&path, bytes).unwrap();
            let mut tail = Tail::open(&path, Role::Onlooker).unwrap();
            let mut live = Live::default();
            while !tail.is_done() {
                tail.turn(&mut live).unwrap();
            }
            let own: Vec<u64> = (live.methods().iter()).map(|row| row.sum.own).collect();
            (live.missing(), own)
        };
        assert_eq!(followed(1), (0, vec![70, 880]));
        assert_eq!(followed(3), (2, vec![70, 0]));
    }
}
