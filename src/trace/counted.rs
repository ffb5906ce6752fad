//! Calls that were only counted: what each trace adds where several are of one process.

use super::file::Trace;
use super::units::counted;
use rustc_hash::FxHashMap;

/// The counts of all traces so far.
#[derive(Debug, Default)]
pub struct Counted {
    /// By process number, origin and when it began to count: parts of a trace may come apart.
    processes: FxHashMap<(u64, u64, u64), FxHashMap<u32, u64>>,
}

impl Counted {
    /// How often each method was called beyond what traces before this one tell, by id.
    pub fn news(&mut self, trace: &Trace) -> Vec<(u32, u64)> {
        let (header, counts) = (trace.header(), trace.counts());
        let process = (header.pid, header.origin, counts.begun);
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

/// What to say of methods whose counts do not count: of a part of a process they are not known.
pub fn left_out(methods: u64) -> String {
    let methods = counted(methods, "method");
    format!(
        "{methods} counted, not recorded, left out: of whole processes alone it is known how often"
    )
}
