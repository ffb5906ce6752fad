//! Any number of traces, summed up in one.

use super::exceptions::{Exception, Exceptions};
use super::file::Trace;
use super::format::{FLAG_ORDERLY, Header};
use super::logical::LogicalCalls;
use super::methods::{MethodIx, Methods};
use super::notes::Notes;
use super::pattern;
use super::replay::{Call, Frame, Outcome, Replay, Tally, Visitor};
use super::summary::Stats;
use super::tree::Tree;
use super::units::counted;
use crate::mapping::Mapping;

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
}

/// A trace that was summed up.
#[derive(Clone, Debug)]
pub struct Process {
    /// The file.
    pub file: String,
    /// Its header.
    pub header: Header,
    /// When it ended, in nanoseconds since its origin.
    pub end: u64,
    /// Threads in it.
    pub threads: u64,
    /// Enter, exit and error records in it, and begins and ends of logical calls.
    pub records: u64,
    /// Records known to be lost.
    pub lost: u64,
    /// Segments that are missing.
    pub missing: u64,
    /// What was skipped or is missing.
    pub notes: Notes,
}

impl Process {
    /// Whether it ended in an orderly way.
    pub fn orderly(&self) -> bool {
        self.header.flags & FLAG_ORDERLY != 0
    }
}

/// What a thread did.
#[derive(Clone, Debug)]
pub struct ThreadStats {
    /// Its trace, as a place in [`Analysis::processes`].
    pub process: usize,
    /// Its number.
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
    /// The threads that were looked at, by trace and number.
    pub threads: Vec<ThreadStats>,
    /// The exceptions, the most frequent first.
    pub exceptions: Vec<Exception>,
    /// Exceptions thrown beyond those.
    pub further_exceptions: u64,
    /// The call tree; empty unless asked for.
    pub tree: Tree,
}

/// Sums up one trace after the other.
pub struct Analyzer {
    options: Options,
    replay: Replay,
    methods: Methods,
    sums: Sums,
    processes: Vec<Process>,
    threads: Vec<ThreadStats>,
}

/// What a replay adds to.
struct Sums {
    stats: Vec<Stats>,
    tree: Option<Tree>,
    exceptions: Exceptions,
    logical: LogicalCalls,
    /// The thread at hand is looked at; else only for the logical calls that were on others too.
    wanted: bool,
    calls: u64,
    resumed: u64,
    busy: u64,
}

impl Visitor for Sums {
    #[inline]
    fn call(&mut self, call: &Call, stack: &mut [Frame]) {
        if let Some(piece) = call.piece {
            self.logical.piece(piece, call, self.wanted);
            if !self.wanted {
                return;
            }
            if piece.first {
                self.calls += 1;
            } else {
                self.resumed += 1;
            }
        } else {
            if !self.wanted {
                return;
            }
            self.plain(call);
        }
        if stack.len() == 1 {
            self.busy = self.busy.saturating_add(call.total);
        }
        if let Some(tree) = &mut self.tree {
            tree.add(call, stack);
        }
    }

    fn begin(&mut self, method: MethodIx, call: u64, time: u64) {
        self.logical.begin(method, call, time, self.wanted);
    }

    fn complete(&mut self, method: MethodIx, call: u64, time: u64, outcome: Outcome) {
        self.logical
            .complete(method, call, time, outcome, self.wanted);
    }

    fn error(&mut self, method: MethodIx, details: Option<(&str, &str)>, caller: Option<MethodIx>) {
        if self.wanted {
            self.exceptions.error(method, details, caller);
        }
    }
}

impl Sums {
    #[inline]
    fn plain(&mut self, call: &Call) {
        let row = call.method as usize;
        if self.stats.len() <= row {
            self.stats.resize_with(row + 1, Stats::default);
        }
        self.stats[row].add(call);
        self.calls += 1;
    }
}

impl Analysis {
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
            replay: Replay::new(options.min),
            methods: Methods::default(),
            sums: Sums {
                stats: Vec::new(),
                tree: options.tree.then(Tree::default),
                exceptions: Exceptions::default(),
                logical: LogicalCalls::default(),
                wanted: true,
                calls: 0,
                resumed: 0,
                busy: 0,
            },
            processes: Vec::new(),
            threads: Vec::new(),
            options,
        }
    }

    /// Adds a trace.
    pub fn add(&mut self, trace: &Trace) {
        self.replay.next_trace();
        let mut notes = trace.notes().clone();
        let (mut lost, mut missing) = (0u64, 0u64);
        let mut sum = Tally::default();
        for thread in trace.threads() {
            missing = missing.saturating_add(thread.missing);
            let named = trace.thread_name(thread.number);
            let name = named.map_or("", |n| n.name.as_str());
            self.sums.wanted = self.wants(thread.number, name);
            if !self.sums.wanted && !trace.has_logical_calls() {
                continue;
            }
            (self.sums.calls, self.sums.resumed, self.sums.busy) = (0, 0, 0);
            let tally = self
                .replay
                .thread(trace, thread, &mut self.methods, &mut self.sums);
            if !self.sums.wanted {
                continue;
            }
            self.sums.exceptions.settle();
            lost = lost.saturating_add(tally.lost);
            sum.unopened += tally.unopened;
            sum.unclosed += tally.unclosed;
            sum.too_deep += tally.too_deep;
            self.threads.push(ThreadStats {
                process: self.processes.len(),
                number: thread.number,
                name: name.to_owned(),
                flags: named.map_or(0, |n| n.flags),
                calls: self.sums.calls,
                resumed: self.sums.resumed,
                busy: self.sums.busy,
                missing: thread.missing,
                tally,
            });
        }
        let Sums { logical, stats, .. } = &mut self.sums;
        logical.finish(self.options.min, stats);
        for (n, noun, what) in [
            (sum.unopened, "exit", "without an enter, skipped"),
            (
                sum.unclosed,
                "call",
                "without an exit, closed with the call around",
            ),
            (sum.too_deep, "call", "too deep, left out"),
        ] {
            if n > 0 {
                notes.add(|| format!("{} {what}", counted(n, noun)));
            }
        }
        self.processes.push(Process {
            file: trace.name().to_owned(),
            header: trace.header().clone(),
            end: trace.end(),
            threads: trace.threads().len() as u64,
            records: trace.records(),
            lost: trace.header().lost.max(lost),
            missing,
            notes,
        });
    }

    fn wants(&self, number: u32, name: &str) -> bool {
        match &self.options.thread {
            None => true,
            Some(wanted) => match wanted.parse::<u32>() {
                Ok(wanted) => number == wanted,
                Err(_) => pattern::matches(wanted, name),
            },
        }
    }

    /// The sum.
    pub fn finish(mut self) -> Analysis {
        let rows = self.methods.rows().len();
        self.sums.stats.resize_with(rows, Stats::default);
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
        }
    }
}
