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
use super::summary::{Spread, Stats};
use crate::mapping::Mapping;
use rustc_hash::FxHashMap;
use significance::Design;

/// What the calls of a method in one run add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Calls, those included that were only counted.
    pub calls: u64,
    /// Of these, those for which no recorded call stands.
    pub seen: u64,
    /// Time in the method itself.
    pub own: u64,
    /// Time from enter to end; of recursive calls the outermost counts.
    pub total: u64,
    /// Calls left by an exception.
    pub errors: u64,
    /// How the calls spread.
    pub spread: Spread,
}

impl Sums {
    fn of(stats: &Stats) -> Sums {
        Sums {
            calls: stats.all_calls(),
            seen: stats.scaled.recorded_of(stats.all_calls()),
            own: stats.own,
            total: stats.total,
            errors: stats.errors,
            spread: Spread::default(),
        }
    }

    fn since(self, before: Sums) -> Sums {
        Sums {
            calls: self.calls.saturating_sub(before.calls),
            seen: self.seen.saturating_sub(before.seen),
            own: self.own.saturating_sub(before.own),
            total: self.total.saturating_sub(before.total),
            errors: self.errors.saturating_sub(before.errors),
            spread: Spread::default(),
        }
    }
}

/// Sums up the runs of a side.
pub struct Runs {
    analyzer: Analyzer,
    sums: Vec<[Vec<Sums>; 2]>,
    /// At the end of the run before: methods, and rows by value.
    last: [Vec<Sums>; 2],
    starts: Vec<u64>,
    /// When the run at hand began.
    start: Option<u64>,
}

/// A side: all its runs in one, and the sums of each.
pub struct Side {
    /// All runs.
    pub analysis: Analysis,
    /// Per run, per row of the analysis.
    sums: Vec<Vec<Sums>>,
    /// So many rows are of methods; those behind them are by value.
    methods: usize,
    /// When each run began.
    starts: Vec<u64>,
}

impl Runs {
    /// A side without runs.
    pub fn new(options: Options) -> Runs {
        Runs {
            analyzer: Analyzer::new(options).in_runs(),
            sums: Vec::new(),
            last: Default::default(),
            starts: Vec::new(),
            start: None,
        }
    }

    /// Adds a trace to the run at hand.
    pub fn add(&mut self, trace: &Trace) {
        self.analyzer.add(trace);
        let start = trace.header().origin;
        self.start = Some(self.start.map_or(start, |first| first.min(start)));
    }

    /// The run at hand is complete.
    pub fn end_run(&mut self) {
        let now = [self.analyzer.stats(), self.analyzer.stats_by_value()];
        let now = now.map(|stats| stats.iter().map(Sums::of).collect::<Vec<_>>());
        let spreads = self.analyzer.end_run();
        let run = [0, 1].map(|kind| {
            self.last[kind].resize(now[kind].len(), Sums::default());
            let run = now[kind].iter().zip(&self.last[kind]).zip(&spreads[kind]);
            run.map(|((now, last), &spread)| Sums {
                spread,
                ..now.since(*last)
            })
            .collect()
        });
        self.starts.push(self.start.take().unwrap_or(0));
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
            starts: self.starts,
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
    /// Some calls were summed up by their process: how their own times spread is not known.
    pub aggregated: bool,
    /// Calls of all runs that were recorded, if sums and quantiles are estimates from those.
    pub estimated_from: Option<u64>,
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
    /// What was tested of its runs.
    pub tests: Vec<Tested>,
}

/// What a method's runs are tested by. The sum of a run has all that a busy machine did to it; the quantiles of its calls'
/// own times have not, and show what happened to each call.
pub const TESTS: [Test; 3] = [
    Test {
        name: "self",
        of: |s| s.own,
        calls: 0,
    },
    Test {
        name: "p50",
        of: |s| s.spread.own_p50,
        calls: 2,
    },
    Test {
        name: "p10",
        of: |s| s.spread.own_p10,
        calls: 10,
    },
];

/// One number of a run that is tested.
#[derive(Debug)]
pub struct Test {
    /// What to show for it.
    pub name: &'static str,
    of: fn(&Sums) -> u64,
    /// Calls a run from which on it says more than the others.
    calls: u64,
}

/// What a test said of a method.
#[derive(Clone, Copy, Debug)]
pub struct Tested {
    /// The test.
    pub test: &'static Test,
    /// Its corrected p.
    pub p: f64,
    /// Whether there is more of it after.
    pub more: bool,
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
    /// How many tests were made.
    pub tests: usize,
    /// What the runs are worth.
    pub power: Power,
    /// As asked for.
    pub judgement: Judgement,
    /// What order the runs came in.
    pub design: Design,
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

    /// Whether runs of the two sides can be told apart by nothing but a change: not where calls are sampled on one of them,
    /// where numbers are of another kind.
    pub fn is_alike(&self) -> bool {
        let sampled = |side: &Option<Numbers>| side.as_ref().map(|n| n.estimated_from.is_some());
        match (sampled(&self.before), sampled(&self.after)) {
            (Some(before), Some(after)) => before == after,
            _ => true,
        }
    }

    /// Whether the own times of single calls are known on both sides.
    fn has_single_calls(&self) -> bool {
        let sides = [&self.before, &self.after].into_iter().flatten();
        !sides.into_iter().any(|side| side.aggregated)
    }

    /// How much more self time a run has after than before, in nanoseconds; 0 where that is not known.
    pub fn change(&self) -> i128 {
        if !self.is_timed() {
            return 0;
        }
        let [before, after] = self.sums();
        i128::from(after.own) - i128::from(before.own)
    }

    /// The smallest corrected p, if anything was tested.
    pub fn p(&self) -> Option<f64> {
        self.tests.iter().map(|t| t.p).reduce(f64::min)
    }

    /// A number of each run, before and after.
    fn values(&self, of: impl Fn(&Sums) -> u64, design: &Design) -> [Vec<u64>; 2] {
        let sides = [(&self.before, design.before), (&self.after, design.after)];
        sides.map(|(side, runs)| match side {
            Some(numbers) => numbers.runs.iter().map(&of).collect(),
            None => vec![0; runs],
        })
    }
}

impl Comparison {
    /// Whether a row's self time differs at the level.
    pub fn differs(&self, row: &Row) -> bool {
        self.differing(row).next().is_some()
    }

    /// The tests that say so.
    pub fn differing<'a>(&self, row: &'a Row) -> impl Iterator<Item = &'a Tested> + use<'a> {
        let level = self.judgement.level;
        row.tests.iter().filter(move |t| t.p <= level)
    }

    /// Tests a number of the runs of these rows, as a family of its own: each one's corrected p; `None` if the runs are too
    /// few for it.
    pub fn test(&self, rows: &[&Row], of: impl Fn(&Sums) -> u64) -> Option<Vec<f64>> {
        let values = rows.iter().map(|row| row.values(&of, &self.design));
        let family = Family::new(values.collect(), &self.design, self.judgement.level);
        (family.power == Power::Enough).then_some(family.p)
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
        seen: of(|s| s.seen),
        own: of(|s| s.own),
        total: of(|s| s.total),
        errors: of(|s| s.errors),
        spread: Spread {
            p50: of(|s| s.spread.p50),
            p90: of(|s| s.spread.p90),
            p99: of(|s| s.spread.p99),
            max: of(|s| s.spread.max),
            own_p10: of(|s| s.spread.own_p10),
            own_p50: of(|s| s.spread.own_p50),
        },
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
            aggregated: stats.aggregated > 0,
            estimated_from: stats.estimated_from(),
            runs,
        })
    }

    fn all(&self) -> Numbers {
        let sum = |run: &Vec<Sums>| {
            let mut all = Sums::default();
            for method in &run[..self.methods] {
                all.calls = all.calls.saturating_add(method.calls);
                all.seen = all.seen.saturating_add(method.seen);
                all.own = all.own.saturating_add(method.own);
                all.errors = all.errors.saturating_add(method.errors);
            }
            all.total = all.own;
            all
        };
        let runs: Vec<Sums> = self.sums.iter().map(sum).collect();
        let stats = || self.analysis.stats[..self.methods].iter();
        let estimates = stats().any(|s| s.scaled.is_any());
        let recorded = stats().fold(0u64, |sum, s| sum.saturating_add(s.recorded()));
        Numbers {
            typical: typical(&runs),
            estimated_from: estimates.then_some(recorded),
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
            tests: Vec::new(),
        })
        .collect();
    let mut all = Row {
        method: Method::Others,
        label: "all methods".to_owned(),
        before: Some(before.all()),
        after: Some(after.all()),
        tests: Vec::new(),
    };
    let runs = (before.runs(), after.runs());
    let design = Design::new(&before.starts, &after.starts);
    let (tests, power) = test(&mut rows, &mut all, &design, judgement, wanted);
    Comparison {
        rows,
        all,
        runs,
        tests,
        power,
        judgement,
        design,
        rows_of,
    }
}

/// Tests the self times of methods that matter, and of all together.
fn test(
    rows: &mut [Row],
    all: &mut Row,
    design: &Design,
    judgement: Judgement,
    wanted: &dyn Fn(&Method) -> bool,
) -> (usize, Power) {
    // Chosen by both sides' sum, which does not say which side a run is of: the choice favours no difference.
    let pooled = |row: &Row, of: fn(&Sums) -> u64| {
        let values = row.values(of, design);
        values.iter().flatten().map(|&v| v as f64).sum::<f64>()
    };
    let least = pooled(all, |s| s.own) * judgement.min_percent / 100.0;
    let runs = (design.before + design.after) as f64;
    let (mut tested, mut values) = (Vec::new(), Vec::new());
    for (i, row) in rows.iter().enumerate() {
        let own = pooled(row, |s| s.own);
        if !row.is_timed() || !row.is_alike() || !wanted(&row.method) || own == 0.0 || own < least {
            continue;
        }
        // How calls spread is known of those that were recorded, however many they stand for.
        let calls = pooled(row, |s| s.seen);
        let single = row.has_single_calls();
        let fits = |t: &&Test| (single || t.calls == 0) && calls >= t.calls as f64 * runs;
        for test in TESTS.iter().filter(fits) {
            values.push(row.values(test.of, design));
            tested.push((Some(i), test));
        }
    }
    if all.is_alike() {
        values.push(all.values(TESTS[0].of, design));
        tested.push((None, &TESTS[0]));
    }
    let family = Family::new(values, design, judgement.level);
    if family.power == Power::Untested {
        return (0, Power::Untested);
    }
    for ((row, test), p) in tested.into_iter().zip(family.p) {
        let row = match row {
            Some(i) => &mut rows[i],
            None => &mut *all,
        };
        let [before, after] = row.sums().map(|s| (test.of)(&s));
        row.tests.push(Tested {
            test,
            p,
            more: after > before,
        });
    }
    (family.tests, family.power)
}

/// Tests of which the probability that any is wrong is bounded together.
struct Family {
    /// Corrected.
    p: Vec<f64>,
    /// How many were made.
    tests: usize,
    power: Power,
}

impl Family {
    fn new(values: Vec<[Vec<u64>; 2]>, design: &Design, level: f64) -> Family {
        // What is the same in all runs cannot differ; which these are, the order of the runs does not decide.
        let varies = |[before, after]: &[Vec<u64>; 2]| {
            let mut all = before.iter().chain(after);
            let first = all.next();
            all.any(|v| Some(v) != first)
        };
        let tests = values.iter().filter(|v| varies(v)).count();
        let mut p = vec![1.0; values.len()];
        if design.before < 2 || design.after < 2 {
            let power = Power::Untested;
            return Family { p, tests: 0, power };
        }
        let design = design.for_tests(tests, level);
        let of = |at: usize| design.p(&values[at][0], &values[at][1]);
        let tested: Vec<usize> = (0..values.len()).filter(|&i| varies(&values[i])).collect();
        let mut found: Vec<f64> = tested.iter().map(|&i| of(i)).collect();
        significance::holm(&mut found);
        for (at, corrected) in tested.into_iter().zip(found) {
            p[at] = corrected;
        }
        let power = match design.least_p() * tests as f64 <= level {
            true => Power::Enough,
            false => Power::TooFew(significance::runs_needed(tests, level)),
        };
        Family { p, tests, power }
    }
}
