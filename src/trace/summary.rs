//! What all calls of a method add up to.

use super::replay::{Call, Outcome};
use hdrhistogram::Histogram;

/// Durations kept one by one before a histogram takes over: exact for methods that are called
/// rarely, and a histogram (up to 25 KB) is never larger than the records that call for it.
const EXACT: usize = 1_024;

/// Longest duration that a histogram tells apart: thirteen days.
const LONGEST: u64 = 1 << 50;

/// What all calls of one method add up to.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Calls, running ones included.
    pub calls: u64,
    /// Time from enter to end; of recursive calls the outermost counts.
    pub total: u64,
    /// Time not spent in woven calls that it made.
    pub own: u64,
    /// Shortest call that ended.
    pub min: Option<u64>,
    /// Longest call; of one that is running, the time so far.
    pub max: u64,
    /// Calls left by an exception.
    pub errors: u64,
    /// Calls that were running at the end of the trace.
    pub running: u64,
    durations: Durations,
}

impl Stats {
    /// Adds a call.
    #[inline]
    pub fn add(&mut self, call: &Call) {
        self.calls += 1;
        self.own = self.own.saturating_add(call.own);
        if call.outermost {
            self.total = self.total.saturating_add(call.total);
        }
        match call.outcome {
            Outcome::Exit => {}
            Outcome::Error => self.errors += 1,
            // How long it took is not known: in the sums, not in the spread.
            Outcome::Lost => return,
            Outcome::Running => {
                self.running += 1;
                self.max = self.max.max(call.total);
                return;
            }
        }
        self.min = Some(self.min.map_or(call.total, |min| min.min(call.total)));
        self.max = self.max.max(call.total);
        self.durations.add(call.total);
    }

    /// The duration that this share (0 to 1) of the calls that ended did not exceed: exact for
    /// methods of few calls, else within one percent.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        Some(self.durations.quantile(share)?.clamp(self.min?, self.max))
    }
}

#[derive(Clone, Debug)]
enum Durations {
    Exact(Vec<u64>),
    // 32-bit counters: a count that overflows them would take a trace of 64 GB.
    Spread(Box<Histogram<u32>>),
}

impl Default for Durations {
    fn default() -> Durations {
        Durations::Exact(Vec::new())
    }
}

impl Durations {
    #[inline]
    fn add(&mut self, ns: u64) {
        match self {
            Durations::Spread(histogram) => record(histogram, ns),
            Durations::Exact(all) if all.len() < EXACT => all.push(ns),
            Durations::Exact(all) => {
                let mut histogram =
                    Histogram::new(2).expect("two digits are within the crate's limits");
                for &ns in all.iter() {
                    record(&mut histogram, ns);
                }
                record(&mut histogram, ns);
                *self = Durations::Spread(Box::new(histogram));
            }
        }
    }

    fn quantile(&self, share: f64) -> Option<u64> {
        match self {
            Durations::Exact(all) if all.is_empty() => None,
            Durations::Exact(all) => {
                let rank = (share * all.len() as f64).ceil() as usize;
                let mut all = all.clone();
                let at = rank.clamp(1, all.len()) - 1;
                Some(*all.select_nth_unstable(at).1)
            }
            Durations::Spread(histogram) => Some(histogram.value_at_quantile(share)),
        }
    }
}

#[inline]
fn record(histogram: &mut Histogram<u32>, ns: u64) {
    // Cannot fail: the histogram grows by itself, and the value is far below its limit.
    let _ = histogram.record(ns.min(LONGEST));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(durations: impl IntoIterator<Item = u64>) -> Stats {
        let mut stats = Stats::default();
        for total in durations {
            stats.add(&Call {
                method: 0,
                total,
                own: total,
                outermost: true,
                outcome: Outcome::Exit,
            });
        }
        stats
    }

    #[test]
    fn few_calls_are_exact() {
        let s = stats((1..=100).rev().map(|n| n * 1_000));
        let at = |share| s.quantile(share).unwrap();
        assert_eq!((at(0.5), at(0.9), at(0.99)), (50_000, 90_000, 99_000));
        assert_eq!((s.min, s.max, s.total), (Some(1_000), 100_000, 5_050_000));
        assert_eq!(stats([]).quantile(0.5), None);
        assert_eq!(stats([7]).quantile(0.99), Some(7));
    }

    #[test]
    fn many_calls_are_within_a_percent() {
        let s = stats((1..=100_000).map(|n| n * 1_000));
        for (share, exact) in [(0.5, 50e6), (0.9, 90e6), (0.99, 99e6)] {
            let value = s.quantile(share).unwrap() as f64;
            assert!((value - exact).abs() / exact < 0.01, "{share}: {value}");
        }
        assert!(stats([u64::MAX; EXACT + 5]).quantile(0.5).is_some());
    }
}
