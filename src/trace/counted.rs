//! Calls that the process has counted or summed up itself: what each trace adds where several are of one process.

use super::aggregates::Aggregate;
use super::file::Trace;
use super::units::counted;
use rustc_hash::FxHashMap;

/// A process that counts or sums up: parts of a trace may come apart.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Process {
    pid: u64,
    origin: u64,
    /// When it began to.
    begun: u64,
}

impl Process {
    fn of(trace: &Trace, begun: u64) -> Process {
        let header = trace.header();
        Process {
            pid: header.pid,
            origin: header.origin,
            begun,
        }
    }
}

/// The counts of all traces so far.
#[derive(Debug, Default)]
pub struct Counted {
    processes: FxHashMap<Process, FxHashMap<u32, u64>>,
}

/// The sums of all traces so far.
#[derive(Debug, Default)]
pub struct Summed {
    processes: FxHashMap<Process, FxHashMap<u32, Aggregate>>,
}

impl Summed {
    /// What each method adds up to beyond what traces before this one tell, by id.
    pub fn news(&mut self, trace: &Trace) -> Vec<(u32, Aggregate)> {
        let aggregates = trace.aggregates();
        let process = Process::of(trace, aggregates.begun);
        let known = self.processes.entry(process).or_default();
        let mut sums: Vec<(&u32, &Aggregate)> = aggregates.sums.iter().collect();
        sums.sort_unstable_by_key(|(id, _)| **id);
        let news = sums
            .into_iter()
            .map(|(&id, sum)| (id, known.entry(id).or_default().grow(sum)));
        news.filter(|(_, new)| !new.is_nothing()).collect()
    }
}

impl Counted {
    /// How often each method was called beyond what traces before this one tell, by id.
    pub fn news(&mut self, trace: &Trace) -> Vec<(u32, u64)> {
        let counts = trace.counts();
        let process = Process::of(trace, counts.begun);
        let known = self.processes.entry(process).or_default();
        let mut news: Vec<(u32, u64)> = counts.calls.iter().map(|(&id, &n)| (id, n)).collect();
        news.sort_unstable();
        for (id, calls) in &mut news {
            let before = known.entry(*id).or_default();
            let all = (*calls).max(*before);
            *calls = all - std::mem::replace(before, all);
        }
        news
    }
}

/// Methods of a trace of which there are no single calls.
pub fn unrecorded(trace: &Trace) -> u64 {
    (trace.counts().calls.len() + trace.aggregates().sums.len()) as u64
}

/// The note about methods that are not recorded but `how`, if only a part of a process is selected.
pub fn left_out(methods: u64, how: &str) -> String {
    let methods = counted(methods, "method");
    format!("{methods} {how}, not recorded, left out: their numbers exist only for whole processes")
}
