//! Any number of traces, summed up in one.

use super::call::{Call, Described, Frame, Outcome, Piece, Scaled, Thrown};
use super::control;
use super::counted::{self, Counted};
use super::exceptions::{Exception, Exceptions, UnderWay};
use super::file::{SegmentPlace, Thread, Trace};
use super::format::{FLAG_ORDERLY, Header};
use super::idle::Excludes;
use super::logical::{Caller, LogicalCall, LogicalCalls, On};
use super::methods::{Method, MethodIx, Methods};
use super::metrics::{self, Reading, Series};
use super::notes::Notes;
use super::pattern;
use super::query::{Asked, Found, Listed, Query};
use super::replay::{Replay, Run, Sampled, Tally, Visitor};
use super::roots::Roots;
use super::summary::{Spread, Stats};
use super::tree::Tree;
use super::units::{count, counted, duration};
use super::values::Value;
use super::window::{Part, Window};
use crate::mapping::Mapping;
use crate::printable::printable;
use crate::switches::{Sampling, Switch};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What to sum up.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Calls shorter than this many nanoseconds are left out; their time is their caller's own, but
    /// that of logical calls.
    pub min: u64,
    /// Only threads of this number, or whose name fits this pattern.
    pub thread: Option<String>,
    /// Whether the call tree is wanted.
    pub tree: bool,
    /// What is asked of single calls.
    pub query: Query,
    /// Only this part of each trace.
    pub window: Window,
    /// If there are any, only what runs in and below them.
    pub roots: Roots,
    /// Methods whose time does not count.
    pub excludes: Excludes,
}

impl Options {
    /// Whether no call of a trace is left out.
    fn looks_at_all(&self) -> bool {
        self.min == 0
            && self.thread.is_none()
            && self.query.conditions.is_empty()
            && !self.window.is_bounded()
            && self.roots.is_empty()
    }
}

/// A trace that was summed up.
#[derive(Clone, Debug)]
pub struct Process {
    pub file: String,
    pub header: Header,
    /// When it ended, in nanoseconds since its origin.
    pub end: u64,
    /// The selected part of it, if that is not the whole.
    pub part: Option<Part>,
    pub threads: u64,
    /// Enter, exit and error records in it, and begins and ends of logical calls.
    pub records: u64,
    /// Records known to be lost.
    pub lost: u64,
    /// Segments that are missing.
    pub missing: u64,
    /// What it used, a series a metric.
    pub metrics: Vec<Series>,
    /// Some of the artifacts that it has symbols of, by their names.
    pub artifacts: Vec<String>,
    /// What was skipped or is missing.
    pub notes: Notes,
}

impl Process {
    /// Whether it ended in an orderly way.
    pub fn orderly(&self) -> bool {
        self.header.flags & FLAG_ORDERLY != 0
    }

    /// How long the selected part of it is.
    pub fn looked_at(&self) -> u64 {
        let part = self.part.unwrap_or(Part::WHOLE);
        part.until.min(self.end).saturating_sub(part.from)
    }
}

/// What a thread did.
#[derive(Clone, Debug)]
pub struct ThreadStats {
    /// Its trace, as a place in [`Analysis::processes`].
    pub process: usize,
    pub number: u32,
    /// Its name, or empty.
    pub name: String,
    /// [`THREAD_VIRTUAL`](super::format::THREAD_VIRTUAL) and others.
    pub flags: u32,
    /// Calls that count; a logical call counts where its first piece ran.
    pub calls: u64,
    /// Further pieces of logical calls.
    pub resumed: u64,
    /// Time within woven calls.
    pub busy: u64,
    /// The share of calls that stand for others: what they add is an estimate.
    pub scaled: Scaled,
    /// CPU time that it used, as far as samples tell.
    pub cpu: Option<u64>,
    /// Segments that are missing.
    pub missing: u64,
    /// What was counted on the way.
    pub tally: Tally,
}

/// The sum of all traces.
pub struct Analysis {
    /// The traces.
    pub processes: Vec<Process>,
    /// What the rows stand for.
    pub methods: Methods,
    /// Each row's numbers; a row without calls was left out.
    pub stats: Vec<Stats>,
    /// The selected threads, by trace and number.
    pub threads: Vec<ThreadStats>,
    /// The exceptions, the most frequent first.
    pub exceptions: Vec<Exception>,
    /// Exceptions thrown beyond those.
    pub further_exceptions: u64,
    /// The call tree; empty unless asked for.
    pub tree: Tree,
    /// The calls that were asked for, the slowest first.
    pub calls: Vec<Listed>,
    /// Calls of which those are the slowest.
    pub fitting: u64,
    /// Own time of calls that do not count because their values do not fit.
    pub left_out_own: u64,
    /// Names of values that calls had, if more was asked of them.
    pub value_names: BTreeSet<Arc<str>>,
}

impl Analysis {
    /// Calls that exceptions left of which nothing is known, since the process has summed up the calls.
    pub fn aggregated_errors(&self) -> u64 {
        let errors = self.stats.iter().map(|stats| stats.aggregated_errors);
        errors.fold(0, u64::saturating_add)
    }
}

/// Sums up one trace after the other.
pub struct Analyzer {
    options: Options,
    replay: Replay,
    methods: Methods,
    sums: Sums,
    processes: Vec<Process>,
    threads: Vec<ThreadStats>,
    counts: Counted,
    /// Sums so far of each process, by number, origin and when it began to sum up: parts of a trace may come apart.
    aggregates: counted::Summed,
}

/// What a replay adds to.
struct Sums {
    stats: Vec<Stats>,
    in_runs: bool,
    tree: Option<Tree>,
    exceptions: Exceptions,
    logical: LogicalCalls,
    /// What is asked of single calls, and the values of the next.
    asked: Option<Box<Asked>>,
    values: Vec<Value>,
    /// What is looked at.
    part: Part,
    has_roots: bool,
    /// What ended the process at hand.
    unhandled: Vec<String>,
    /// Of the thread at hand.
    thread: ThreadSums,
}

/// What is summed up of a thread by itself.
#[derive(Clone, Copy, Default)]
struct ThreadSums {
    number: u32,
    /// It is selected; else it is read only for logical calls that also ran on selected threads.
    wanted: bool,
    calls: u64,
    resumed: u64,
    busy: u64,
    scaled: Scaled,
}

/// A thread that waits for its turn.
#[derive(Default)]
struct Waiting {
    run: Run,
    exception: UnderWay,
    sums: ThreadSums,
}

impl Visitor for Sums {
    fn method(&mut self, row: MethodIx, method: &Method) {
        if let Some(asked) = &mut self.asked {
            asked.method(row, method);
        }
    }

    fn wants_values(&self) -> bool {
        self.asked.is_some()
    }

    fn values(&mut self, values: Vec<Value>) {
        self.values = values;
    }

    fn slow(&mut self, method: MethodIx, start: u64, took: u64, failed: bool) {
        self.stats_of(method);
        let wanted = self.thread.wanted && !self.has_roots;
        if wanted
            && self.part.has(start, start.saturating_add(took))
            && let Some(asked) = &mut self.asked
        {
            asked.slow(method, self.thread.number, (start, took), failed);
        }
    }

    #[inline(always)]
    fn call(&mut self, call: &Call, stack: &mut [Frame]) -> bool {
        let wanted = self.is_wanted(stack);
        if let Some(piece) = call.piece {
            if !self.piece(piece, call, stack, wanted) {
                return true;
            }
        } else {
            if !wanted {
                self.values.clear();
                return true;
            }
            self.thread.calls = self.thread.calls.saturating_add(call.weight.into());
            self.thread.scaled.add(call);
            if self.asked.is_none() || self.counts(call) {
                self.plain(call);
            }
        }
        let stack = match self.has_roots {
            true => {
                let root = stack.last().map_or(0, |f| f.root as usize);
                &mut stack[root.saturating_sub(1)..]
            }
            false => stack,
        };
        if stack.len() == 1 {
            self.thread.busy = self.thread.busy.saturating_add(call.scaled(call.total));
        }
        if let Some(tree) = &mut self.tree {
            tree.add(call, stack);
        }
        true
    }

    fn begin(&mut self, method: MethodIx, call: u64, time: u64, weight: u32, stack: &[Frame]) {
        let (caller, wanted) = (caller_of(stack), self.is_wanted(stack));
        let on = self.thread.on(wanted);
        self.logical.begin(method, call, time, caller, weight, on);
        if let Some(caller) = caller {
            self.exceptions.adopt(call, caller);
        }
    }

    fn complete(&mut self, method: MethodIx, call: u64, time: u64, outcome: Outcome, weight: u32) {
        // With roots its begin and its pieces tell.
        let on = self.thread.on(self.thread.wanted && !self.has_roots);
        self.logical
            .complete(method, call, time, outcome, weight, on);
    }

    fn error(&mut self, method: MethodIx, thrown: &Thrown<'_>) {
        if self.thread.wanted {
            let awaits = thrown.call.and_then(|call| self.logical.caller(call));
            self.exceptions.error(method, thrown, awaits);
        }
        if let Some(asked) = &mut self.asked
            && let Some(exception) = asked.error(method, self.thread.number, thrown)
            && let Some(call) = thrown.call
        {
            self.logical.exception(call, exception);
        }
    }

    fn unhandled(&mut self, details: Option<Described<&str>>) {
        if let (Some(asked), Some(details)) = (&mut self.asked, details) {
            asked.thrown(self.thread.number, details);
        }
        self.unhandled.push(match details {
            Some(Described {
                type_name,
                message: "",
            }) => format!(": {type_name}"),
            Some(Described { type_name, message }) => format!(": {type_name}: {message}"),
            // What was thrown is no exception to the library.
            None => String::new(),
        });
    }
}

/// What the process used in a part of its trace.
fn within(trace: &Trace, part: Part) -> Vec<Reading> {
    let readings = trace.readings().iter();
    (readings.filter(|r| part.from <= r.time && r.time < part.until))
        .copied()
        .collect()
}

/// The names of artifacts in a trace's symbols, the first few.
fn artifacts(trace: &Trace) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for (_, symbol) in trace.symbols().iter() {
        let name = &*symbol.artifact;
        if names.last() != Some(&name) && !name.is_empty() {
            names.push(name);
        }
        if names.len() > 1_000 {
            names.sort_unstable();
            names.dedup();
        }
    }
    names.sort_unstable();
    names.dedup();
    names.truncate(ARTIFACTS);
    names.into_iter().map(str::to_owned).collect()
}

/// How far up a piece of a logical call is looked for.
const NEAR: usize = 64;

/// Who awaits what a call begins: the nearest logical call around it, since ordinary methods hand on what they begin.
fn caller_of(stack: &[Frame]) -> Option<Caller> {
    let near = &stack[stack.len().saturating_sub(NEAR)..];
    let piece = near.iter().rev().find(|frame| frame.piece.is_some());
    piece.or(stack.last()).map(|frame| Caller {
        method: frame.method,
        call: frame.piece.map(|p| p.call),
    })
}

fn add_logical(
    stats: &mut Vec<Stats>,
    asked: &mut Option<Box<Asked>>,
    in_runs: bool,
    mut call: LogicalCall,
) {
    if let Some(asked) = asked
        && !asked.logical(&mut call)
    {
        return;
    }
    let row = call.method as usize;
    if stats.len() <= row {
        stats.resize_with(row + 1, || Stats::new(in_runs));
    }
    stats[row].add_logical(&call);
}

impl ThreadSums {
    fn on(&self, wanted: bool) -> On {
        On {
            thread: self.number,
            wanted,
        }
    }
}

impl Sums {
    /// Whether the last call of a stack is selected.
    #[inline]
    fn is_wanted(&self, stack: &[Frame]) -> bool {
        self.thread.wanted && (!self.has_roots || stack.last().is_some_and(|f| f.root > 0))
    }

    /// A piece of a logical call ends. Returns whether it is selected.
    #[inline(never)]
    fn piece(&mut self, piece: Piece, call: &Call, stack: &[Frame], wanted: bool) -> bool {
        let caller = match stack {
            [around @ .., _] if piece.first => caller_of(around),
            _ => None,
        };
        self.logical
            .piece(piece, call, caller, self.thread.on(wanted), self.part);
        if !self.values.is_empty() {
            let values = std::mem::take(&mut self.values);
            self.logical.values(piece.call, values);
        }
        if let Some(caller) = caller {
            self.exceptions.adopt(piece.call, caller);
        }
        let end = call.start.saturating_add(call.took);
        if !wanted || !self.part.has(call.start, end) {
            return false;
        }
        let calls = match piece.first {
            true => &mut self.thread.calls,
            false => &mut self.thread.resumed,
        };
        *calls = calls.saturating_add(call.weight.into());
        if piece.first {
            self.thread.scaled.add_logical(call.weight);
        }
        true
    }

    #[inline(always)]
    fn plain(&mut self, call: &Call) {
        self.stats_of(call.method).add(call);
    }

    #[inline]
    fn stats_of(&mut self, row: MethodIx) -> &mut Stats {
        let row = row as usize;
        if self.stats.len() <= row {
            (self.stats).resize_with(row + 1, || Stats::new(self.in_runs));
        }
        &mut self.stats[row]
    }

    /// Whether a call counts, of which more is asked.
    #[inline(never)]
    fn counts(&mut self, call: &Call) -> bool {
        let values = std::mem::take(&mut self.values);
        let asked = self.asked.as_mut();
        asked.is_none_or(|asked| asked.call(call, self.thread.number, values))
    }

    /// Nothing of logical calls from before this time will come.
    fn settle(&mut self, time: u64, min: u64) {
        let Sums {
            logical,
            stats,
            asked,
            in_runs,
            part,
            ..
        } = self;
        logical.settle(time, min, *part, &mut |call| {
            add_logical(stats, asked, *in_runs, call)
        });
    }

    /// Nothing of logical calls will come any more.
    fn finish_logical(&mut self, min: u64) -> u64 {
        let Sums {
            logical,
            stats,
            asked,
            in_runs,
            part,
            ..
        } = self;
        logical.finish(min, *part, &mut |call| {
            add_logical(stats, asked, *in_runs, call)
        })
    }
}

/// Says what of a trace could not be taken as it is.
fn note_losses(sum: &Tally, left_out: u64, notes: &mut Notes) {
    for (n, noun, what) in [
        (sum.unopened, "exit", "without an enter, skipped"),
        (
            sum.unclosed,
            "call",
            "without an exit, closed with the call around",
        ),
        (sum.too_deep, "call", "too deep, left out"),
        (
            sum.overtaken,
            "segment",
            "overwritten by the process while the report read the trace",
        ),
        (
            left_out,
            "record",
            "of too many logical calls at once, left out",
        ),
    ] {
        if n > 0 {
            notes.add_loss(|| format!("{} {what}", counted(n, noun)));
        }
    }
}

/// What to say of methods of which only some calls are recorded.
fn estimates<'s>(
    sampled: impl Iterator<Item = &'s Sampled>,
    switches: &[(Arc<Switch>, u64)],
) -> Vec<String> {
    let mut by_share: BTreeMap<Option<Sampling>, (u64, u64)> = BTreeMap::new();
    for (switch, _) in switches {
        if switch.sample.is_some() {
            by_share.entry(switch.sample).or_default();
        }
    }
    for one in sampled {
        let (methods, calls) = by_share.entry(one.how).or_default();
        if one.is_estimate {
            *methods += 1;
        }
        *calls = calls.saturating_add(one.calls);
    }
    // Calls that stand for themselves alone are no estimate.
    by_share.retain(|how, (methods, calls)| *methods > 0 || how.is_some() && *calls == 0);
    let told = by_share.into_iter().map(|(how, (methods, calls))| {
        let (are, their) = match methods {
            1 => ("is", "its"),
            _ => ("are", "their"),
        };
        let share = match how {
            Some(Sampling::OneOf(n)) => format!(", 1 of {} outermost calls", count(n.into())),
            Some(Sampling::Second(n)) => {
                format!(", at most {} a second", counted(n.into(), "outermost call"))
            }
            None => String::new(),
        };
        if methods == 0 {
            let of = switches.iter().filter(|(switch, _)| switch.sample == how);
            let methods = of.fold(0_u64, |sum, (_, methods)| sum.saturating_add(*methods));
            return format!(
                "{} of the program {} sampled{share}, and none of their calls was recorded; there may have been some",
                counted(methods, "method"),
                if methods == 1 { "is" } else { "are" },
            );
        }
        format!(
            "{} {are} sampled{share}: {their} numbers are estimates from {}",
            counted(methods, "method"),
            counted(calls, "recorded call"),
        )
    });
    told.collect()
}

/// Methods that were left out, which a note names.
const NAMED_LEFT_OUT: usize = 10;

/// How many artifacts' names tell traces apart.
const ARTIFACTS: usize = 3;

impl Analysis {
    /// Methods that no symbols map names, and their calls.
    pub fn unnamed(&self) -> (u64, u64) {
        let calls = (self.methods.rows().iter().zip(&self.stats))
            .filter(|(method, stats)| {
                method.symbol().is_none() && method.of_value().is_none() && stats.all_calls() > 0
            })
            .map(|(_, stats)| stats.all_calls());
        calls.fold((0, 0), |(n, sum), calls| (n + 1, sum + calls))
    }

    /// Gives methods and exceptions of obfuscated programs the names that they had before.
    pub fn restore_names(&mut self, mapping: &Mapping) {
        self.methods.restore_names(mapping);
        for exception in &mut self.exceptions {
            if let Some(original) = mapping.class_name(&exception.type_name) {
                original.clone_into(&mut exception.type_name);
            }
        }
    }
}

impl Analyzer {
    /// An analysis without traces.
    pub fn new(options: Options) -> Analyzer {
        Analyzer {
            replay: Replay::new(options.min)
                .with_roots(&options.roots)
                .without(&options.excludes),
            methods: Methods::default(),
            sums: Sums {
                stats: Vec::new(),
                in_runs: false,
                tree: options.tree.then(Tree::default),
                exceptions: Exceptions::default(),
                logical: LogicalCalls::default(),
                asked: Asked::new(&options.query),
                values: Vec::new(),
                part: Part::WHOLE,
                has_roots: !options.roots.is_empty(),
                unhandled: Vec::new(),
                thread: ThreadSums::default(),
            },
            processes: Vec::new(),
            threads: Vec::new(),
            counts: Counted::default(),
            aggregates: counted::Summed::default(),
            options,
        }
    }

    /// The analysis, in which [`Analyzer::end_run`] tells how the calls of a run spread.
    pub fn in_runs(mut self) -> Analyzer {
        self.sums.in_runs = true;
        if let Some(asked) = &mut self.sums.asked {
            asked.in_runs();
        }
        self
    }

    /// How the calls of the run at hand spread: of each row, and of each row by value.
    pub fn end_run(&mut self) -> [Vec<Spread>; 2] {
        let by_value = (self.sums.asked.as_mut()).map_or(&mut [][..], |asked| asked.stats_mut());
        [&mut self.sums.stats[..], by_value]
            .map(|stats| stats.iter_mut().map(Stats::end_run).collect())
    }

    pub fn add(&mut self, trace: &Trace) {
        let first = self.threads.len();
        if let Some(asked) = &mut self.sums.asked {
            asked.trace(self.processes.len());
        }
        let (origin, end) = (trace.header().origin, trace.end());
        self.sums.part = self.options.window.of(origin, end);
        if trace.has_logical_calls() {
            self.in_turns(trace);
        } else {
            self.one_by_one(trace);
        }
        self.sums.exceptions.end_trace();
        let mut notes = trace.notes().clone();
        for what in self.sums.unhandled.drain(..) {
            notes.add(|| format!("ended by an exception that nobody handled{what}"));
        }
        if !trace.cpu().is_empty() {
            let used = metrics::cpu_times(trace.cpu(), self.sums.part);
            for thread in &mut self.threads[first..] {
                thread.cpu = used.get(&thread.number).copied();
            }
        }
        let mut sum = Tally::default();
        for ThreadStats { tally, .. } in &self.threads[first..] {
            sum.lost = sum.lost.saturating_add(tally.lost);
            sum.unopened += tally.unopened;
            sum.unclosed += tally.unclosed;
            sum.too_deep += tally.too_deep;
            sum.overtaken += tally.overtaken;
        }
        let left_out = self.sums.finish_logical(self.options.min);
        let part = self.sums.part;
        note_losses(&sum, left_out, &mut notes);
        self.note_rest(trace, &mut notes);
        let missing = trace.threads().iter().map(|t| t.missing);
        self.processes.push(Process {
            file: trace.name().to_owned(),
            header: trace.header().clone(),
            end,
            part: (self.options.window.is_bounded()).then_some(part),
            threads: trace.threads().len() as u64,
            records: trace.records(),
            lost: trace.header().lost.max(sum.lost),
            metrics: metrics::series(&within(trace, part)),
            artifacts: artifacts(trace),
            missing: missing.fold(sum.overtaken, u64::saturating_add),
            notes,
        });
    }

    /// Takes what a trace has besides its records, and says what of it changes how its times are to be read.
    fn note_rest(&mut self, trace: &Trace, notes: &mut Notes) {
        if !trace.counts().calls.is_empty() {
            match self.options.looks_at_all() {
                true => self.counts(trace),
                false => {
                    notes.add(|| counted::left_out(trace.counts().calls.len() as u64, "counted"))
                }
            }
        }
        if !trace.aggregates().sums.is_empty() {
            match self.options.looks_at_all() {
                true => self.aggregates(trace),
                false => notes
                    .add(|| counted::left_out(trace.aggregates().sums.len() as u64, "summed up")),
            }
        }
        if !trace.changes().is_empty() {
            let switches = trace.symbols().switches();
            for what in control::told(trace.changes(), switches.iter().map(|(s, _)| &**s)) {
                notes.add(|| what);
            }
            if let Some(what) = self.lessen(trace) {
                notes.add(|| what);
            }
        }
        let switches = match trace.symbols().has_sampled() {
            true => trace.symbols().switches(),
            false => Vec::new(),
        };
        for what in estimates(self.replay.sampled().map(|(_, one)| one), &switches) {
            notes.add(|| what);
        }
        if self.options.looks_at_all() {
            for (id, one) in self.replay.sampled().filter(|(_, one)| one.is_estimate) {
                let row = self.methods.resolve(id, trace.symbols());
                self.sums.stats_of(row).estimate.absorb(one.estimate);
            }
        }
        for collision in trace.symbols().collisions() {
            if self.replay.saw(collision.id) {
                notes.add(|| {
                    let (shown, other) = (collision.kept.full_name(), collision.other.full_name());
                    format!(
                        "calls of {other} may be shown as {shown}: both have the id {:#010x}, since they were woven apart \
                         (weave them as one folder, or the one with --known-symbols and the map of the other)",
                        collision.id
                    )
                });
            }
        }
    }

    /// Notes which methods the program itself did not record any more; says which it left out altogether.
    fn lessen(&mut self, trace: &Trace) -> Option<String> {
        let mut left_out = BTreeMap::new();
        for change in trace.changes() {
            let control::What::Decided(less, methods) = &change.what else {
                continue;
            };
            for &id in methods {
                let row = self.methods.resolve(id, trace.symbols());
                self.sums.stats_of(row).less.note(*less, change.time);
                if *less == control::Less::Nothing {
                    left_out.entry((change.time, row)).or_insert(());
                }
            }
        }
        let rows = self.methods.rows();
        let named: Vec<String> = (left_out.keys().take(NAMED_LEFT_OUT))
            .map(|&(time, row)| {
                let name = match rows[row as usize].symbol() {
                    Some(symbol) => printable(&symbol.full_name()),
                    None => "a method without a name".to_owned(),
                };
                format!("{name} from {} on", duration(time))
            })
            .collect();
        let more = match left_out.len().saturating_sub(NAMED_LEFT_OUT) {
            0 => String::new(),
            n => format!(", and {} more", count(n as u64)),
        };
        (!named.is_empty()).then(|| {
            format!(
                "left out, so that their calls are more than those shown (+): {}{more}",
                named.join(", ")
            )
        })
    }

    /// Adds the calls that were only counted.
    fn counts(&mut self, trace: &Trace) {
        for (id, new) in self.counts.news(trace) {
            let stats = self
                .sums
                .stats_of(self.methods.resolve(id, trace.symbols()));
            stats.counted = stats.counted.saturating_add(new);
        }
    }

    /// Adds the calls that the process has summed up.
    fn aggregates(&mut self, trace: &Trace) {
        for (id, new) in self.aggregates.news(trace) {
            let stats = self
                .sums
                .stats_of(self.methods.resolve(id, trace.symbols()));
            stats.add_aggregate(&new);
        }
    }

    fn one_by_one(&mut self, trace: &Trace) {
        self.replay.next_trace(false);
        self.replay.look_at(self.sums.part);
        for thread in trace.threads() {
            if !self.wants(trace, thread) {
                continue;
            }
            self.sums.thread = ThreadSums {
                number: thread.number,
                wanted: true,
                ..ThreadSums::default()
            };
            for segment in trace.segments(thread) {
                self.replay
                    .segment(trace, segment, &mut self.methods, &mut self.sums);
            }
            let stats = self.end_of(trace, thread);
            self.threads.push(stats);
        }
    }

    /// All threads, a segment at a time in the order of time: logical calls go from one to another.
    fn in_turns(&mut self, trace: &Trace) {
        self.replay.next_trace(true);
        self.replay.look_at(self.sums.part);
        let threads = trace.threads();
        let mut waiting: Vec<Option<Box<Waiting>>> = Vec::new();
        waiting.resize_with(threads.len(), || None);
        let mut ended: Vec<Option<ThreadStats>> = vec![None; threads.len()];
        for SegmentPlace {
            start,
            thread: number,
            at,
        } in trace.in_order()
        {
            let (thread, segments) = (&threads[number], trace.segments(&threads[number]));
            self.sums.settle(start, self.options.min);
            let mut turn = waiting[number].take().unwrap_or_else(|| {
                let mut turn = Box::<Waiting>::default();
                turn.sums.number = thread.number;
                turn.sums.wanted = self.wants(trace, thread);
                turn
            });
            self.turn_to(&mut turn);
            self.replay
                .segment(trace, &segments[at], &mut self.methods, &mut self.sums);
            if at + 1 == segments.len() {
                let stats = self.end_of(trace, thread);
                ended[number] = self.sums.thread.wanted.then_some(stats);
            }
            self.turn_to(&mut turn);
            if at + 1 < segments.len() {
                waiting[number] = Some(turn);
            }
        }
        self.threads.extend(ended.into_iter().flatten());
    }

    fn turn_to(&mut self, other: &mut Waiting) {
        self.replay.turn_to(&mut other.run);
        self.sums.exceptions.turn_to(&mut other.exception);
        std::mem::swap(&mut self.sums.thread, &mut other.sums);
    }

    /// The thread at hand is through.
    fn end_of(&mut self, trace: &Trace, thread: &Thread) -> ThreadStats {
        let tally = self.replay.end(trace, &mut self.sums);
        self.sums.exceptions.end_thread();
        let named = trace.thread_name(thread.number);
        let sums = self.sums.thread;
        ThreadStats {
            process: self.processes.len(),
            number: thread.number,
            name: named.map_or_else(String::new, |n| n.name.clone()),
            flags: named.map_or(0, |n| n.flags),
            calls: sums.calls,
            resumed: sums.resumed,
            busy: sums.busy,
            scaled: sums.scaled,
            cpu: None,
            missing: thread.missing,
            tally,
        }
    }

    fn wants(&self, trace: &Trace, thread: &Thread) -> bool {
        match &self.options.thread {
            None => true,
            Some(wanted) => match wanted.parse::<u32>() {
                Ok(wanted) => thread.number == wanted,
                Err(_) => {
                    let named = trace.thread_name(thread.number);
                    pattern::matches(wanted, named.map_or("", |n| &n.name))
                }
            },
        }
    }

    /// Each row's numbers so far.
    pub fn stats(&self) -> &[Stats] {
        &self.sums.stats
    }

    /// The numbers of the rows by value so far, which come behind those of all methods.
    pub fn stats_by_value(&self) -> &[Stats] {
        self.sums.asked.as_ref().map_or(&[], |asked| asked.stats())
    }

    /// The sum.
    pub fn finish(mut self) -> Analysis {
        let rows = self.methods.rows().len();
        self.sums.stats.resize_with(rows, Stats::default);
        let found = match self.sums.asked.take() {
            Some(asked) => asked.finish(&self.methods),
            None => Found::default(),
        };
        let (by_value, stats): (Vec<_>, Vec<_>) = found.rows.into_iter().unzip();
        self.methods.add_rows(by_value.into_iter());
        self.sums.stats.extend(stats);
        self.sums.stats.iter_mut().for_each(Stats::settle);
        let (exceptions, further_exceptions) = self.sums.exceptions.finish();
        Analysis {
            processes: self.processes,
            methods: self.methods,
            stats: self.sums.stats,
            threads: self.threads,
            exceptions,
            further_exceptions,
            tree: self.sums.tree.unwrap_or_default(),
            calls: found.calls,
            fitting: found.fitting,
            left_out_own: found.left_out,
            value_names: found.names,
        }
    }
}
