//! Two sides compared, each of one or several runs: before and after a change.
//!
//! ```text
//! traces of a run -> Side (an analysis of all runs, and each run's sums) -> compare -> rows by method name
//! ```

pub mod significance;
mod tree;

#[cfg(test)]
mod tests;

pub use tree::{Costs, DiffTree};

use super::analysis::{Analysis, Analyzer, Options};
use super::file::Trace;
use super::methods::{self, Method, MethodIx};
use super::summary::Stats;
use crate::mapping::Mapping;
use rustc_hash::FxHashMap;

/// What the calls of a method in one run add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Calls, those included that were only counted.
    pub calls: u64,
    /// Time in the method itself.
    pub own: u64,
    /// Time from enter to end; of recursive calls the outermost counts.
    pub total: u64,
    /// Calls left by an exception.
    pub errors: u64,
}

impl Sums {
    fn of(stats: &Stats) -> Sums {
        Sums {
            calls: stats.all_calls(),
            own: stats.own,
            total: stats.total,
            errors: stats.errors,
        }
    }

    fn since(self, before: Sums) -> Sums {
        Sums {
            calls: self.calls.saturating_sub(before.calls),
            own: self.own.saturating_sub(before.own),
            total: self.total.saturating_sub(before.total),
            errors: self.errors.saturating_sub(before.errors),
        }
    }
}

/// Sums up the runs of a side.
pub struct Runs {
    analyzer: Analyzer,
    sums: Vec<[Vec<Sums>; 2]>,
    /// At the end of the run before: methods, and rows by value.
    last: [Vec<Sums>; 2],
}

/// A side: all its runs in one, and the sums of each.
pub struct Side {
    /// All runs.
    pub analysis: Analysis,
    /// Per run, per row of the analysis.
    sums: Vec<Vec<Sums>>,
    /// So many rows are of methods; those behind them are by value.
    methods: usize,
}

impl Runs {
    /// A side without runs.
    pub fn new(options: Options) -> Runs {
        Runs {
            analyzer: Analyzer::new(options),
            sums: Vec::new(),
            last: Default::default(),
        }
    }

    /// Adds a trace to the run at hand.
    pub fn add(&mut self, trace: &Trace) {
        self.analyzer.add(trace);
    }

    /// The run at hand is complete.
    pub fn end_run(&mut self) {
        let now = [self.analyzer.stats(), self.analyzer.stats_by_value()];
        let now = now.map(|stats| stats.iter().map(Sums::of).collect::<Vec<_>>());
        let run = [0, 1].map(|kind| {
            self.last[kind].resize(now[kind].len(), Sums::default());
            let run = now[kind].iter().zip(&self.last[kind]);
            run.map(|(now, last)| now.since(*last)).collect()
        });
        self.sums.push(run);
        self.last = now;
    }

    /// The side.
    pub fn finish(self, mappings: &[Mapping]) -> Side {
        let mut analysis = self.analyzer.finish();
        for mapping in mappings {
            analysis.restore_names(mapping);
        }
        let methods = (analysis.methods.rows().iter())
            .take_while(|method| method.of_value().is_none())
            .count();
        let sums = self.sums.into_iter().map(|[mut run, by_value]| {
            run.resize(methods, Sums::default());
            run.extend(by_value);
            run
        });
        Side {
            sums: sums.collect(),
            analysis,
            methods,
        }
    }
}

/// How differences are judged.
#[derive(Clone, Copy, Debug)]
pub struct Judgement {
    /// How probable it may be that two equal sides show a difference in any method.
    pub level: f64,
    /// Methods are tested whose share of all time is at least this, in percent.
    pub min_percent: f64,
}

impl Default for Judgement {
    fn default() -> Judgement {
        Judgement {
            level: 0.01,
            min_percent: 0.1,
        }
    }
}

/// What a method did on one side. The sums are those of a run: of several runs the median.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// The medians.
    pub typical: Sums,
    /// Quantiles over the calls of all runs: `None` if no call ended.
    pub p50: Option<u64>,
    /// See `p50`.
    pub p90: Option<u64>,
    /// See `p50`.
    pub p99: Option<u64>,
    /// The longest call of all runs.
    pub max: u64,
    /// All calls were only counted: of times and errors nothing is known.
    pub counted: bool,
    /// Each run.
    pub runs: Vec<Sums>,
}

/// A method on both sides.
#[derive(Clone, Debug)]
pub struct Row {
    /// The method.
    pub method: Method,
    /// What to show for it.
    pub label: String,
    /// Before; `None` if it was not called.
    pub before: Option<Numbers>,
    /// After; `None` if it was not called.
    pub after: Option<Numbers>,
    /// The corrected p of the self times, if they were tested.
    pub p: Option<f64>,
}

/// Whether the runs can tell of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// Each side has one run, or one side has: nothing was tested.
    Untested,
    /// Too few runs for the level and the number of methods; so many a side would do.
    TooFew(usize),
    /// Enough.
    Enough,
}

/// Two sides, compared.
pub struct Comparison {
    /// The methods that were called on a side.
    pub rows: Vec<Row>,
    /// All methods together; its total is its self time.
    pub all: Row,
    /// Runs before and after.
    pub runs: (usize, usize),
    /// How many methods were tested, all together included.
    pub tests: usize,
    /// What the runs are worth.
    pub power: Power,
    /// As asked for.
    pub judgement: Judgement,
    /// Row of each method of the analysis before, and of that after.
    rows_of: [Vec<MethodIx>; 2],
}

impl Numbers {
    /// A sum that is not known of calls that were only counted.
    pub fn known(&self, of: impl Fn(&Sums) -> u64) -> Option<u64> {
        (!self.counted).then(|| of(&self.typical))
    }
}

impl Row {
    fn sums(&self) -> [Sums; 2] {
        [&self.before, &self.after].map(|side| side.as_ref().map_or(Sums::default(), |n| n.typical))
    }

    /// Whether the times of both sides are known, so that they can be compared.
    pub fn is_timed(&self) -> bool {
        let sides = [&self.before, &self.after].into_iter().flatten();
        !sides.into_iter().any(|side| side.counted)
    }

    /// How much more self time a run has after than before, in nanoseconds; 0 where that is not known.
    pub fn change(&self) -> i128 {
        if !self.is_timed() {
            return 0;
        }
        let [before, after] = self.sums();
        i128::from(after.own) - i128::from(before.own)
    }
}

impl Comparison {
    /// Whether a row's self time differs at the level.
    pub fn differs(&self, row: &Row) -> bool {
        row.p.is_some_and(|p| p <= self.judgement.level)
    }

    /// A row's share of all self time in percent, of the side where it is larger.
    pub fn share(&self, row: &Row, time: impl Fn(&Sums) -> u64) -> f64 {
        let shares = row.sums().into_iter().zip(self.all.sums());
        let shares = shares.map(|(one, all)| match all.own {
            0 => 0.0,
            own => time(&one) as f64 * 100.0 / own as f64,
        });
        shares.fold(0.0, f64::max)
    }

    /// The call trees of both sides as one.
    pub fn tree(&self, before: &Side, after: &Side) -> DiffTree {
        DiffTree::new(
            [&before.analysis.tree, &after.analysis.tree],
            &self.rows_of,
            [self.runs.0, self.runs.1],
        )
    }

    /// What to show for each row.
    pub fn labels(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.label.clone()).collect()
    }
}

/// A row's name, so that rows of the two sides meet.
fn key(method: &Method) -> String {
    match method {
        Method::Known(s) => format!("{}\n{}\n{}", s.type_name, s.method, s.descriptor),
        Method::OfValue(of) => format!("{}\n{}\n{:?}", key(&of.method), of.shown, of.json),
        _ => method.name(),
    }
}

/// The middle value, or the mean of the two in the middle.
fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    match values.len() {
        0 => 0,
        n if n % 2 == 1 => values[n / 2],
        n => values[n / 2 - 1].midpoint(values[n / 2]),
    }
}

fn typical(runs: &[Sums]) -> Sums {
    let of = |field: fn(&Sums) -> u64| median(runs.iter().map(field));
    Sums {
        calls: of(|s| s.calls),
        own: of(|s| s.own),
        total: of(|s| s.total),
        errors: of(|s| s.errors),
    }
}

fn own(side: &Option<Numbers>, runs: usize) -> Vec<u64> {
    match side {
        Some(numbers) => numbers.runs.iter().map(|r| r.own).collect(),
        None => vec![0; runs],
    }
}

impl Side {
    /// Runs of the side.
    pub fn runs(&self) -> usize {
        self.sums.len()
    }

    /// What a method did; `None` if it was not called.
    fn numbers(&self, row: usize) -> Option<Numbers> {
        let stats = &self.analysis.stats[row];
        if stats.all_calls() == 0 {
            return None;
        }
        let runs: Vec<Sums> = (self.sums.iter())
            .map(|run| run.get(row).copied().unwrap_or_default())
            .collect();
        Some(Numbers {
            typical: typical(&runs),
            p50: stats.quantile(0.5),
            p90: stats.quantile(0.9),
            p99: stats.quantile(0.99),
            max: stats.max,
            counted: stats.is_counted(),
            runs,
        })
    }

    fn all(&self) -> Numbers {
        let sum = |run: &Vec<Sums>| {
            let mut all = Sums::default();
            for method in &run[..self.methods] {
                all.calls = all.calls.saturating_add(method.calls);
                all.own = all.own.saturating_add(method.own);
                all.errors = all.errors.saturating_add(method.errors);
            }
            all.total = all.own;
            all
        };
        let runs: Vec<Sums> = self.sums.iter().map(sum).collect();
        Numbers {
            typical: typical(&runs),
            runs,
            ..Numbers::default()
        }
    }
}

/// Compares two sides; `wanted` says by name and label which methods count.
pub fn compare(
    before: &Side,
    after: &Side,
    judgement: Judgement,
    wanted: &dyn Fn(&Method) -> bool,
) -> Comparison {
    let mut by_key: FxHashMap<String, usize> = FxHashMap::default();
    let mut all_methods: Vec<Method> = Vec::new();
    let mut numbers: Vec<[Option<Numbers>; 2]> = Vec::new();
    let rows_of = [before, after].map(|side| {
        let first_of_side = numbers.len();
        let rows = side.analysis.methods.rows().iter();
        let rows = rows.map(|method| {
            let next = all_methods.len();
            let row = *by_key.entry(key(method)).or_insert(next);
            if row == next {
                all_methods.push(method.clone());
            }
            row as MethodIx
        });
        let rows: Vec<MethodIx> = rows.collect();
        numbers.resize(all_methods.len().max(first_of_side), [None, None]);
        rows
    });
    for (at, side) in [before, after].into_iter().enumerate() {
        for (row, &joined) in rows_of[at].iter().enumerate() {
            // Two methods that a mapping gives one name: the one with more self time stands for both.
            let found = side.numbers(row);
            let slot = &mut numbers[joined as usize][at];
            let weight = |n: &Option<Numbers>| n.as_ref().map_or(0, |n| n.typical.own);
            if slot.is_none() || weight(&found) > weight(slot) {
                *slot = found;
            }
        }
    }
    let labels = methods::labels(&all_methods);
    let mut rows: Vec<Row> = (all_methods.into_iter().zip(labels).zip(numbers))
        .map(|((method, label), [before, after])| Row {
            method,
            label,
            before,
            after,
            p: None,
        })
        .collect();
    let mut all = Row {
        method: Method::Others,
        label: "all methods".to_owned(),
        before: Some(before.all()),
        after: Some(after.all()),
        p: None,
    };
    let runs = (before.runs(), after.runs());
    let (tests, power) = test(&mut rows, &mut all, runs, judgement, wanted);
    Comparison {
        rows,
        all,
        runs,
        tests,
        power,
        judgement,
        rows_of,
    }
}

/// Tests the self times of methods that matter, and of all together.
fn test(
    rows: &mut [Row],
    all: &mut Row,
    (before, after): (usize, usize),
    judgement: Judgement,
    wanted: &dyn Fn(&Method) -> bool,
) -> (usize, Power) {
    if before < 2 || after < 2 {
        return (0, Power::Untested);
    }
    // Chosen by both sides' sum, which does not say which side a run is of: the choice favours no difference.
    let pooled = |row: &Row| {
        let values = [own(&row.before, before), own(&row.after, after)];
        values.iter().flatten().map(|&v| v as f64).sum::<f64>()
    };
    let least = pooled(all) * judgement.min_percent / 100.0;
    let mut tested: Vec<&mut Row> = (rows.iter_mut())
        .filter(|row| {
            row.is_timed() && wanted(&row.method) && pooled(row) > 0.0 && pooled(row) >= least
        })
        .collect();
    tested.push(all);
    let mut p: Vec<f64> = (tested.iter())
        .map(|row| significance::mann_whitney(&own(&row.before, before), &own(&row.after, after)))
        .collect();
    significance::holm(&mut p);
    let tests = p.len();
    for (row, p) in tested.into_iter().zip(p) {
        row.p = Some(p);
    }
    let reachable = significance::least_p(before, after) * tests as f64 <= judgement.level;
    let power = match reachable {
        true => Power::Enough,
        false => Power::TooFew(significance::runs_needed(tests, judgement.level)),
    };
    (tests, power)
}
