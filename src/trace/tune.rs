//! Which methods are not worth recording, and how many records remain without them.

use super::analysis::{Analysis, Process, ThreadStats};
use super::methods::Method;
use super::summary::Stats;
use std::cmp::Reverse;

/// Bytes of an enter, exit or error record.
const RECORD: u64 = 8;

/// What a pair of hooks costs where neither the user nor the trace says it, in nanoseconds: between what the hook libraries
/// need on the JVM and on .NET, clock readings included (docs/runtime-java.md, docs/runtime-dotnet.md, "Cost").
const USUAL_PAIR: u64 = 56;

/// A method must have ended so often for its median to say what a pair costs: compiled code, not its start.
const OFTEN: u64 = 10_000;

/// What a trace can say of the cost of a pair, in nanoseconds: clocks of coarse steps say nothing of a single call.
const PAIRS: std::ops::RangeInclusive<u64> = 20..=5_000;

/// A method is noise if its own time is below so many pairs a call.
const PAIRS_BELOW: u64 = 3;

/// With all that it calls, it may take so many times its limit: on average, and in 99 of 100 calls.
const WITH_CALLEES: u64 = 10;

/// Without a target, a method is left out from this share of all records on: one in so many.
const LEAST_SHARE: u64 = 1_000;

/// What the user wants.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes {
    /// What a pair of hooks costs, in nanoseconds.
    pub pair: Option<u64>,
    /// Own time of a call, in nanoseconds, below which a method is noise.
    pub below: Option<u64>,
    /// Most overhead that may be left, in percent.
    pub overhead: Option<f64>,
    /// Most records a second that may be left.
    pub rate: Option<f64>,
    /// What the program itself has left out (`auto`), and nothing else.
    pub from_auto: bool,
}

/// Where the cost of a pair is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairFrom {
    User,
    Trace,
    Usual,
}

/// Why a method stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// No rule can name it.
    Unnamed,
    /// Exceptions left it.
    Errors,
    /// It runs in pieces.
    Logical,
    /// Its own time is worth its records.
    Own,
    /// What it calls takes long.
    Callees,
    /// One call in a hundred takes long.
    Tail,
    /// The target holds with it.
    Enough,
    /// It has few records.
    Few,
    /// The program itself has recorded it, or summed it up.
    Auto,
}

/// What of the program's time the overhead is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeFrom {
    /// What the processes' CPU samples say.
    Cpu,
    /// The time within woven calls, of all threads.
    Calls,
}

/// What is recorded, with or without some methods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    pub records: u64,
    pub bytes: u64,
    /// The hooks' own cost, in nanoseconds.
    pub cost: u64,
    /// The same in percent of the program's time without hooks.
    pub overhead: f64,
    /// Records a second.
    pub rate: f64,
}

/// The result.
#[derive(Debug)]
pub struct Tuning {
    /// What a pair of hooks costs, in nanoseconds.
    pub pair: u64,
    pub pair_from: PairFrom,
    pub below: u64,
    /// The program's time without hooks, in nanoseconds.
    pub time: u64,
    pub time_from: TimeFrom,
    pub before: Load,
    pub after: Load,
    /// The rows to leave out, most records first.
    pub out: Vec<usize>,
    /// The rows that stay, most records first, and why.
    pub kept: Vec<(usize, Why)>,
    /// Whether the target holds, if there is one.
    pub reached: bool,
}

/// Enter, exit and error records of a method.
pub fn records(stats: &Stats) -> u64 {
    // Calls for which others stand have none.
    let (scaled, logical) = (&stats.scaled, &stats.logical);
    let plain = stats
        .calls
        .saturating_sub(logical.calls)
        .saturating_sub(stats.aggregated)
        .saturating_sub(scaled.calls.saturating_sub(logical.scaled.calls));
    let open = stats.running.saturating_add(stats.cut);
    let ends = plain.saturating_sub(open.saturating_sub(scaled.open));
    plain
        .saturating_add(ends)
        .saturating_add(scaled.recorded.saturating_sub(logical.scaled.recorded))
        .saturating_add(scaled.ended)
        .saturating_add(logical.recorded.saturating_mul(2))
}

/// Mean own time of a call.
pub fn mean(stats: &Stats) -> u64 {
    stats.own / stats.calls.max(1)
}

/// Own time of an undisturbed call. Half of the calls take no longer than their median, callees included, so a few that
/// were preempted do not matter.
pub fn usual(stats: &Stats) -> u64 {
    least(mean(stats), stats)
}

fn least(mean: u64, stats: &Stats) -> u64 {
    stats.quantile(0.5).map_or(mean, |median| mean.min(median))
}

/// Bytes and cost of so many records.
pub fn weight(records: u64, pair: u64) -> (u64, u64) {
    let cost = u128::from(records) * u128::from(pair) / 2;
    let cost = u64::try_from(cost).unwrap_or(u64::MAX);
    (records.saturating_mul(RECORD), cost)
}

/// Chooses the methods to leave out. `sayable`: whether a rule can mean exactly this row; `labels` order rows that are alike.
pub fn tune(
    analysis: &Analysis,
    labels: &[String],
    sayable: &dyn Fn(usize) -> bool,
    wishes: Wishes,
) -> Tuning {
    let stats = &analysis.stats;
    let (pair, pair_from) = match (wishes.pair, pair_of(stats)) {
        (Some(pair), _) => (pair, PairFrom::User),
        (None, Some(pair)) => (pair, PairFrom::Trace),
        (None, None) => (USUAL_PAIR, PairFrom::Usual),
    };
    let below = (wishes.below).unwrap_or_else(|| pair.saturating_mul(PAIRS_BELOW));
    let records_before = (analysis.processes.iter()).fold(0u64, |n, p| n.saturating_add(p.records));
    let (_, cost) = weight(records_before, pair);
    let (with_hooks, time_from) = time_of(analysis);
    // A pair that is estimated too high must not leave nothing of the program, nor less.
    let least = (with_hooks / 100).max(1);
    let time = with_hooks.saturating_sub(cost).max(least);
    let span = span_of(analysis);
    let load = |records| {
        let (bytes, cost) = weight(records, pair);
        Load {
            records,
            bytes,
            cost,
            overhead: cost as f64 * 100.0 / time as f64,
            rate: match span {
                0 => 0.0,
                span => records as f64 * 1e9 / span as f64,
            },
        }
    };
    let before = load(records_before);
    let has_target = wishes.overhead.is_some() || wishes.rate.is_some();
    let holds = |load: Load| {
        wishes.overhead.is_none_or(|most| load.overhead <= most)
            && wishes.rate.is_none_or(|most| load.rate <= most)
    };
    let mut rows: Vec<usize> = (0..stats.len())
        .filter(|&i| stats[i].calls > stats[i].aggregated || is_left_out(&stats[i], wishes))
        .collect();
    rows.sort_by_key(|&i| (Reverse(records(&stats[i])), &labels[i]));
    let mut tuning = Tuning {
        pair,
        pair_from,
        below,
        time,
        time_from,
        before,
        after: before,
        out: Vec::new(),
        kept: Vec::new(),
        reached: false,
    };
    for i in rows {
        let is_named = matches!(analysis.methods.rows()[i], Method::Known(_)) && sayable(i);
        let own = records(&stats[i]);
        let why = match tells(&stats[i], below) {
            _ if !is_named => Some(Why::Unnamed),
            _ if wishes.from_auto => (!is_left_out(&stats[i], wishes)).then_some(Why::Auto),
            Some(why) => Some(why),
            None if has_target => holds(tuning.after).then_some(Why::Enough),
            None => (own < records_before.div_ceil(LEAST_SHARE)).then_some(Why::Few),
        };
        match why {
            Some(why) => tuning.kept.push((i, why)),
            None => {
                tuning.out.push(i);
                tuning.after = load(tuning.after.records.saturating_sub(own));
            }
        }
    }
    tuning.reached = holds(tuning.after);
    tuning
}

/// Whether the program itself has only counted a method, or left it out, and that is what is asked for.
fn is_left_out(stats: &Stats, wishes: Wishes) -> bool {
    wishes.from_auto && (stats.less.counted.is_some() || stats.less.nothing.is_some())
}

/// Why a method is worth its records; none if it is not.
fn tells(stats: &Stats, below: u64) -> Option<Why> {
    let with_callees = below.saturating_mul(WITH_CALLEES);
    let total = least(stats.total / stats.calls.max(1), stats);
    match () {
        () if stats.errors > 0 => Some(Why::Errors),
        () if stats.logical.calls > 0 => Some(Why::Logical),
        () if usual(stats) >= below => Some(Why::Own),
        () if total >= with_callees => Some(Why::Callees),
        () if stats.quantile(0.99).is_none_or(|p99| p99 >= with_callees) => Some(Why::Tail),
        () => None,
    }
}

/// What a pair costs, from the methods that are called most: a call that does nothing lasts from one clock reading to the
/// next, which is half of what its two hooks do.
fn pair_of(stats: &[Stats]) -> Option<u64> {
    let often = (stats.iter()).filter(|s| s.recorded() >= OFTEN && s.aggregated == 0);
    let shortest = often.filter_map(|s| s.quantile(0.5)).min()?;
    let pair = shortest.saturating_mul(2);
    PAIRS.contains(&pair).then_some(pair)
}

/// The program's time with its hooks. CPU samples are of the whole run: where records are missing, only calls tell. The first
/// sample comes after a while, so that of short runs they say little.
fn time_of(analysis: &Analysis) -> (u64, TimeFrom) {
    let cpu = |p: &Process| {
        let whole = p.lost == 0 && p.missing == 0 && p.header.overwritten == 0;
        let series = p.metrics.iter().find(|s| s.metric.name == CPU)?;
        let known = whole && series.points.len() >= SAMPLES;
        known.then_some((series.mean * (p.end as f64 / 1e9)) as u64)
    };
    let sum =
        (analysis.processes.iter()).try_fold(0u64, |sum, p| Some(sum.saturating_add(cpu(p)?)));
    match sum {
        Some(ns) if ns > 0 => (ns, TimeFrom::Cpu),
        _ => {
            let busy = analysis.threads.iter().map(|t| t.busy);
            (busy.fold(0, u64::saturating_add), TimeFrom::Calls)
        }
    }
}

/// Samples of a process that say how much CPU time it takes: some seconds of them.
const SAMPLES: usize = 5;

/// The metric of the processes' CPU time.
const CPU: &str = "process.cpu.time";

/// The time that the records take, all processes together. What is kept of more has its share of the time, wherever it lies: a
/// ring may hold a few old records of one thread and the last seconds of another.
fn span_of(analysis: &Analysis) -> u64 {
    let spans = analysis.processes.iter().enumerate().map(|(number, p)| {
        let of = |t: &&ThreadStats| t.process == number && t.tally.records > 0;
        let threads = || analysis.threads.iter().filter(of);
        let (first, last) = match p.lost {
            0 => (
                threads().map(|t| t.tally.first).min().unwrap_or(0),
                threads().map(|t| t.tally.last).max().unwrap_or(0),
            ),
            _ => (0, p.end),
        };
        let all = p.records.saturating_add(p.lost).max(1);
        let span = u128::from(last.saturating_sub(first)) * u128::from(p.records) / u128::from(all);
        u64::try_from(span).unwrap_or(u64::MAX)
    });
    spans.fold(0, u64::saturating_add)
}
