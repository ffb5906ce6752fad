//! What all calls of a method add up to.

use super::aggregates::{Aggregate, Buckets};
use super::call::{Call, Outcome, Scaled};
use super::control::Less;
use super::estimate::Estimate;
use super::logical::LogicalCall;
use hdrhistogram::Histogram;

/// Durations kept one by one before a histogram takes over: exact for methods that are called
/// rarely, and a histogram (up to 25 KB) is never larger than the records that call for it.
const EXACT: usize = 1_024;

/// Durations that a histogram takes at once.
const BATCH: usize = 256;

/// Longest duration that a histogram tells apart: thirteen days.
const LONGEST: u64 = 1 << 50;

/// What all calls of one method add up to.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Calls, running ones included.
    pub calls: u64,
    /// Those of the calls that the process has summed up itself: how long each took is known within an eighth.
    pub aggregated: u64,
    /// Further calls that were only counted: nothing is known of their times and ends.
    pub counted: u64,
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
    /// Those of them that the process has summed up: of their exceptions nothing is known.
    pub aggregated_errors: u64,
    /// Calls that were running at the end of the trace.
    pub running: u64,
    /// Calls whose end is not in the trace: known up to where records are missing, or up to the end of the call around.
    pub cut: u64,
    /// The share of logical calls in these numbers.
    pub logical: Logical,
    /// The share of calls that stand for others: what they add is an estimate.
    pub scaled: Scaled,
    /// How sure that estimate is.
    pub estimate: Estimate,
    /// What the program itself has left of its calls, and from when on.
    pub less: Lessened,
    durations: Durations,
    in_runs: Option<Box<InRuns>>,
}

/// Times of the run at hand and of earlier ones, from which [`Stats::end_run`] takes how the calls of one run spread.
#[derive(Clone, Debug, Default)]
struct InRuns {
    /// Own times of the calls of the run at hand.
    own: Durations,
    /// Durations of the calls of earlier runs.
    earlier: Durations,
}

/// How the calls of one run spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// Quantiles of how long calls took; 0 if none ended.
    pub p50: u64,
    /// See `p50`.
    pub p90: u64,
    /// See `p50`.
    pub p99: u64,
    /// See `p50`.
    pub max: u64,
    /// Quantiles of the calls' own times.
    pub own_p10: u64,
    /// See `own_p10`.
    pub own_p50: u64,
}

/// From when on the program itself did not record a method's calls any more (`mode = "auto"`): the first moment of all processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lessened {
    /// They are counted: their times are not in the numbers.
    pub counted: Option<u64>,
    /// Nothing of them is in the numbers.
    pub nothing: Option<u64>,
}

impl Lessened {
    /// A decision of a moment.
    pub fn note(&mut self, less: Less, time: u64) {
        let from = match less {
            Less::Summed => return,
            Less::Counted => &mut self.counted,
            Less::Nothing => &mut self.nothing,
        };
        *from = Some(from.map_or(time, |from| from.min(time)));
    }
}

/// What the logical calls of a method add up to, apart from what they share with ordinary ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Logical {
    pub calls: u64,
    /// Times that they were resumed, the first included.
    pub pieces: u64,
    /// Time on threads, calls that they made included.
    pub active: u64,
    /// Time from begin to end that was not on threads.
    pub waiting: u64,
    /// Calls that neither ended nor ran when the trace ended: abandoned, or still waiting.
    pub open: u64,
    /// The share of calls that stand for others.
    pub scaled: Scaled,
    /// Pieces of which there are records.
    pub recorded: u64,
}

impl Stats {
    /// Calls with records: neither counted nor aggregated nor estimated from a weight.
    pub fn recorded(&self) -> u64 {
        self.scaled
            .recorded_of(self.calls.saturating_sub(self.aggregated))
    }

    /// Of how many recorded calls its numbers are an estimate, if they are one.
    pub fn estimated_from(&self) -> Option<u64> {
        self.scaled.is_any().then(|| self.recorded())
    }

    /// Calls, those included that were only counted.
    pub fn all_calls(&self) -> u64 {
        self.calls.saturating_add(self.counted)
    }

    /// Whether there are calls, and none of which more than that is known.
    pub fn is_counted(&self) -> bool {
        self.calls == 0 && self.counted > 0
    }

    /// Numbers that tell the runs apart, if that is asked for.
    pub fn new(in_runs: bool) -> Stats {
        Stats {
            in_runs: in_runs.then(Box::default),
            ..Stats::default()
        }
    }

    #[inline(always)]
    pub fn add(&mut self, call: &Call) {
        if call.weight != 1 {
            return self.add_scaled(call);
        }
        self.calls += 1;
        self.own = self.own.saturating_add(call.own);
        if call.outermost {
            self.total = self.total.saturating_add(call.total);
        }
        self.over(call.took, call.own, call.outcome, 1);
    }

    /// Adds a call that stands for others.
    #[inline(never)]
    fn add_scaled(&mut self, call: &Call) {
        self.scaled.add(call);
        self.calls = self.calls.saturating_add(call.weight.into());
        self.own = self.own.saturating_add(call.scaled(call.own));
        if call.outermost {
            self.total = self.total.saturating_add(call.scaled(call.total));
        }
        self.over(call.took, call.own, call.outcome, call.weight.into());
    }

    pub fn add_logical(&mut self, call: &LogicalCall) {
        let calls = u64::from(call.weight);
        let add = |sum: &mut u64, n: u64| *sum = sum.saturating_add(n.saturating_mul(calls));
        add(&mut self.calls, 1);
        add(&mut self.own, call.own);
        add(&mut self.total, call.total);
        self.scaled.add_logical(call.weight);
        let logical = &mut self.logical;
        logical.scaled.add_logical(call.weight);
        logical.recorded = logical.recorded.saturating_add(call.pieces);
        add(&mut logical.calls, 1);
        add(&mut logical.pieces, call.pieces);
        add(&mut logical.active, call.active);
        add(&mut logical.waiting, call.total.saturating_sub(call.active));
        match call.outcome {
            Some(Outcome::Error) if !call.begun => add(&mut self.errors, 1),
            Some(Outcome::Exit) if !call.begun => {}
            Some(outcome) => self.over(call.took, call.own, outcome, calls),
            None => add(&mut logical.open, 1),
        }
    }

    /// Adds calls that the process has summed up.
    pub fn add_aggregate(&mut self, sum: &Aggregate) {
        self.calls = self.calls.saturating_add(sum.calls);
        self.aggregated = self.aggregated.saturating_add(sum.calls);
        self.errors = self.errors.saturating_add(sum.errors);
        self.aggregated_errors = self.aggregated_errors.saturating_add(sum.errors);
        self.running = self.running.saturating_add(sum.running());
        self.total = self.total.saturating_add(sum.total);
        self.own = self.own.saturating_add(sum.own);
        if let Some(min) = sum.min {
            self.min = Some(self.min.map_or(min, |known| known.min(min)));
            self.max = self.max.max(sum.max);
            self.durations
                .summed
                .get_or_insert_default()
                .add(&sum.durations);
        }
    }

    #[inline(always)]
    fn over(&mut self, total: u64, own: u64, outcome: Outcome, calls: u64) {
        match outcome {
            Outcome::Exit => {}
            Outcome::Error => self.errors = self.errors.saturating_add(calls),
            // How long it took is not known: in the sums, not in the spread.
            Outcome::Lost => {
                self.cut = self.cut.saturating_add(calls);
                return;
            }
            Outcome::Running => {
                self.running = self.running.saturating_add(calls);
                self.max = self.max.max(total);
                return;
            }
        }
        self.min = Some(self.min.map_or(total, |min| min.min(total)));
        self.max = self.max.max(total);
        self.durations.add_for(total, calls);
        if let Some(runs) = &mut self.in_runs {
            runs.own.add_for(own, calls);
        }
    }

    /// The run at hand is complete: how its calls spread.
    pub fn end_run(&mut self) -> Spread {
        let Some(runs) = &mut self.in_runs else {
            return Spread::default();
        };
        let (calls, own) = (
            std::mem::take(&mut self.durations),
            std::mem::take(&mut runs.own),
        );
        let of = |all: &Durations, share| all.quantile(share).unwrap_or(0);
        let spread = Spread {
            p50: of(&calls, 0.5),
            p90: of(&calls, 0.9),
            p99: of(&calls, 0.99),
            max: of(&calls, 1.0),
            own_p10: of(&own, 0.1),
            own_p50: of(&own, 0.5),
        };
        runs.earlier.absorb(calls);
        spread
    }

    /// All calls are in: makes [`Stats::quantile`] cheap.
    pub fn settle(&mut self) {
        if let Some(runs) = self.in_runs.take() {
            let last = std::mem::replace(&mut self.durations, runs.earlier);
            self.durations.absorb(last);
        }
        if self.durations.spread.is_some() {
            self.durations.flush();
        }
    }

    /// The duration that this share (0 to 1) of the calls that ended did not exceed: exact for
    /// methods of few calls, else within one percent; an eighth of those that the process has summed up. A call that stands for
    /// others counts as often.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        Some(self.durations.quantile(share)?.clamp(self.min?, self.max))
    }
}

#[derive(Clone, Debug, Default)]
struct Durations {
    /// Exact, or not yet in the histogram.
    pending: Vec<u64>,
    // 32-bit counters: a count that overflows them would take a trace of 64 GB.
    spread: Option<Box<Histogram<u32>>>,
    /// Those that the process has summed up.
    summed: Option<Box<Buckets>>,
    /// Those of calls that stand for others.
    scaled: Option<Box<ScaledDurations>>,
}

/// Durations, each with how many calls took about as long: as [`Durations`], first exact, then in a histogram.
#[derive(Clone, Debug, Default)]
struct ScaledDurations {
    pending: Vec<(u64, u64)>,
    spread: Option<Histogram<u64>>,
}

impl ScaledDurations {
    fn add(&mut self, ns: u64, calls: u64) {
        let room = if self.spread.is_some() { BATCH } else { EXACT };
        if self.pending.len() >= room {
            self.flush();
        }
        self.pending.push((ns, calls));
    }

    #[cold]
    fn flush(&mut self) {
        let histogram = self.spread.get_or_insert_with(|| {
            Histogram::new(2).expect("two digits are within the crate's limits")
        });
        for (ns, calls) in self.pending.drain(..) {
            // Cannot fail, as above.
            let _ = histogram.record_n(ns.min(LONGEST), calls);
        }
        self.pending.shrink_to(BATCH);
    }

    fn absorb(&mut self, other: ScaledDurations) {
        for (ns, calls) in other.pending {
            self.add(ns, calls);
        }
        match (&mut self.spread, other.spread) {
            (Some(spread), Some(more)) => {
                let _ = spread.add(more);
            }
            (spread @ None, Some(more)) => *spread = Some(more),
            (_, None) => {}
        }
    }

    fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let spread = self.spread.iter().flat_map(Histogram::iter_recorded);
        let spread = spread.map(|v| (v.value_iterated_to(), v.count_at_value()));
        self.pending.iter().copied().chain(spread)
    }
}

impl Durations {
    /// A duration of a call that stands for so many.
    #[inline(always)]
    fn add_for(&mut self, ns: u64, calls: u64) {
        match calls {
            1 => self.add(ns),
            _ => self.scaled.get_or_insert_default().add(ns, calls),
        }
    }

    /// In batches: a histogram is touched by a cache miss or two for each value alone (measured:
    /// two thirds of the time of a report), but stays in the cache for many.
    #[inline]
    fn add(&mut self, ns: u64) {
        let room = if self.spread.is_some() { BATCH } else { EXACT };
        if self.pending.len() >= room {
            self.flush();
        }
        self.pending.push(ns);
    }

    #[cold]
    fn flush(&mut self) {
        let histogram = self.spread.get_or_insert_with(|| {
            Box::new(Histogram::new(2).expect("two digits are within the crate's limits"))
        });
        for ns in self.pending.drain(..) {
            // Cannot fail: the histogram grows by itself, and the value is far below its limit.
            let _ = histogram.record(ns.min(LONGEST));
        }
        self.pending.shrink_to(BATCH);
    }

    fn absorb(&mut self, other: Durations) {
        for ns in other.pending {
            self.add(ns);
        }
        match (&mut self.spread, other.spread) {
            (Some(spread), Some(more)) => {
                // Cannot fail: both have the same precision, and this one grows by itself.
                let _ = spread.add(*more);
            }
            (spread @ None, Some(more)) => *spread = Some(more),
            (_, None) => {}
        }
        if let Some(summed) = other.summed {
            self.summed.get_or_insert_default().add(&summed);
        }
        if let Some(scaled) = other.scaled {
            self.scaled.get_or_insert_default().absorb(*scaled);
        }
    }

    /// The same, of which some are summed up or stand for others.
    fn quantile_of_all(&self, share: f64) -> Option<u64> {
        let one_by_one = self.pending.iter().map(|&ns| (ns, 1));
        let spread = self.spread.iter().flat_map(|h| {
            h.iter_recorded()
                .map(|v| (v.value_iterated_to(), v.count_at_value().into()))
        });
        let summed = self.summed.iter().flat_map(|summed| summed.iter());
        let scaled = self.scaled.iter().flat_map(|scaled| scaled.iter());
        let mut all: Vec<(u64, u64)> = one_by_one
            .chain(spread)
            .chain(summed)
            .chain(scaled)
            .collect();
        all.sort_unstable();
        let calls = all.iter().fold(0u64, |sum, (_, n)| sum.saturating_add(*n));
        let mut rank = ((share * calls as f64).ceil() as u64).clamp(1, calls.max(1));
        let at = all.iter().find(|(_, n)| {
            let found = rank <= *n;
            rank = rank.saturating_sub(*n);
            found
        });
        at.or(all.last()).map(|&(ns, _)| ns)
    }

    fn quantile(&self, share: f64) -> Option<u64> {
        if self.summed.is_some() || self.scaled.is_some() {
            return self.quantile_of_all(share);
        }
        if let Some(histogram) = &self.spread {
            if self.pending.is_empty() {
                return Some(histogram.value_at_quantile(share));
            }
            let mut settled = self.clone();
            settled.flush();
            return settled.quantile(share);
        }
        if self.pending.is_empty() {
            return None;
        }
        let rank = (share * self.pending.len() as f64).ceil() as usize;
        let mut all = self.pending.clone();
        let at = rank.clamp(1, all.len()) - 1;
        Some(*all.select_nth_unstable(at).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(durations: impl IntoIterator<Item = u64>) -> Stats {
        let mut stats = Stats::default();
        for total in durations {
            stats.add(&Call {
                method: 0,
                start: 0,
                total,
                took: total,
                own: total,
                outermost: true,
                outcome: Outcome::Exit,
                piece: None,
                weight: 1,
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
    fn runs_are_told_apart_and_add_up() {
        for calls in [10, 3_000] {
            let mut runs = Stats::new(true);
            let mut at = 0;
            let spreads = [1, 5].map(|part| {
                for n in 1..=calls * part {
                    at += 1;
                    let total = n * 1_000;
                    runs.add(&Call {
                        method: 0,
                        start: at,
                        total,
                        took: total,
                        own: total / 2,
                        outermost: true,
                        outcome: Outcome::Exit,
                        piece: None,
                        weight: 1,
                    });
                }
                runs.end_run()
            });
            runs.settle();
            let whole = stats((1..=calls).chain(1..=calls * 5).map(|n| n * 1_000));
            assert_eq!(runs.quantile(0.5), whole.quantile(0.5));
            let near = |ns: u64, exact: u64| ns.abs_diff(exact) * 100 <= exact;
            for (spread, calls) in spreads.iter().zip([calls, calls * 5]) {
                assert!(near(spread.p50, calls * 500), "{spread:?}");
                assert!(near(spread.max, calls * 1_000), "{spread:?}");
                assert!(near(spread.own_p50, calls * 250), "{spread:?}");
                assert!(near(spread.own_p10, calls * 50), "{spread:?}");
            }
        }
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
