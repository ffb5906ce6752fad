//! Comparisons of made-up runs: noise comes from a generator with a seed, so that each run of the tests is the same.

use super::*;
use crate::trace::testing::{Chunk, TraceBuilder, sampled_symbols, shop_symbols};

const MS: f64 = 1e6;

/// SplitMix64.
struct Noise(u64);

impl Noise {
    /// Uniform from 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64
    }

    /// A duration up to 2 percent longer; one in twenty up to 30 percent, as on a busy machine.
    fn busy(&mut self, ns: f64) -> u64 {
        let most = if self.next() < 0.05 { 0.3 } else { 0.02 };
        (ns * (1.0 + self.next() * most)) as u64
    }
}

/// A run of a program: `main` calls `place`, `take` and `fib`, which take these milliseconds.
fn run(noise: &mut Noise, times: [f64; 3]) -> Trace {
    let mut chunk = Chunk::records(1, 0, 0).enter(0, 1);
    for _ in 0..40 {
        for (id, ms) in (2..).zip(times) {
            chunk = chunk.enter(noise.busy(MS) / 100, id);
            chunk = chunk.exit(noise.busy(ms * MS), id);
        }
    }
    let trace = TraceBuilder::new("java shop", 1, 0)
        .symbols(&shop_symbols(), 65_504, &[])
        .push(chunk.exit(1_000, 1));
    Trace::from_bytes("a.wtrace", trace.bytes()).unwrap()
}

fn runs(noise: &mut Noise, n: usize, times: [f64; 3], tree: bool) -> Side {
    let options = Options {
        tree,
        ..Options::default()
    };
    let mut runs = Runs::new(options);
    for _ in 0..n {
        runs.add(&run(noise, times));
        runs.end_run();
    }
    runs.finish(&[])
}

fn compared(seed: u64, n: usize, before: [f64; 3], after: [f64; 3]) -> Comparison {
    let mut noise = Noise(seed);
    let before = runs(&mut noise, n, before, false);
    let after = runs(&mut noise, n, after, false);
    compare(&before, &after, Judgement::default(), &|_| true)
}

fn that_differ(of: &Comparison) -> Vec<&str> {
    let rows = of.rows.iter().filter(|row| of.differs(row));
    rows.map(|row| row.label.as_str()).collect()
}

const TIMES: [f64; 3] = [5.0, 2.0, 9.0];

#[test]
fn equal_programs_do_not_differ() {
    // At a level of 0.01, one of a hundred may.
    let wrong = (0..40).filter(|&seed| !that_differ(&compared(seed, 10, TIMES, TIMES)).is_empty());
    let wrong = wrong.count();
    assert!(wrong <= 1, "{wrong} of 40");
    let of = compared(1, 10, TIMES, TIMES);
    assert_eq!((of.tests, of.power, of.runs), (11, Power::Enough, (10, 10)));
}

#[test]
fn the_method_that_is_five_percent_slower_is_named() {
    for seed in 0..10 {
        let of = compared(seed, 10, TIMES, [5.0, 2.1, 9.0]);
        assert_eq!(that_differ(&of), ["com.acme.Stock.take(int)"], "{seed}");
        let of = compared(seed, 10, [5.0, 2.1, 9.0], TIMES);
        assert_eq!(that_differ(&of), ["com.acme.Stock.take(int)"], "{seed}");
    }
}

/// A run on a machine that others use: all of it takes `slow` times as long, and now and then a call waits for its turn.
fn busy_run(noise: &mut Noise, times: [f64; 3], slow: f64, start: u64) -> Trace {
    let mut chunk = Chunk::records(1, 0, 0).enter(0, 1);
    for _ in 0..20 {
        for (id, ms) in (2..).zip(times) {
            let waits = if noise.next() < 0.03 {
                noise.next() * 40.0
            } else {
                0.0
            };
            let took = ms * slow * (1.0 + noise.next() * 0.04) + waits;
            chunk = chunk.enter(1_000, id).exit((took * MS) as u64, id);
        }
    }
    let trace = TraceBuilder::new("java shop", 1, 0)
        .later(start)
        .symbols(&shop_symbols(), 65_504, &[])
        .push(chunk.exit(1_000, 1));
    Trace::from_bytes("a.wtrace", trace.bytes()).unwrap()
}

/// Runs that follow each other on such a machine; `times` says how long the methods of each take.
fn busy_runs(noise: &mut Noise, n: u64, times: impl Fn(u64) -> [f64; 3]) -> Vec<Trace> {
    let mut slow = 1.3f64;
    let runs = (0..n).map(|i| {
        slow = (slow + (noise.next() - 0.5) * 0.1).clamp(1.0, 1.8);
        busy_run(noise, times(i), slow, (i + 1) * 1_000_000_000)
    });
    runs.collect()
}

fn side_of<'a>(traces: impl Iterator<Item = &'a Trace>) -> Side {
    let mut runs = Runs::new(Options::default());
    for trace in traces {
        runs.add(trace);
        runs.end_run();
    }
    runs.finish(&[])
}

#[test]
fn five_percent_of_each_call_show_on_a_busy_machine() {
    let (mut named, mut by_sums, mut others) = (0, 0, 0);
    for seed in 0..20 {
        let mut noise = Noise(seed);
        let take = |i: u64| if i % 4 == 1 || i % 4 == 2 { 2.1 } else { 2.0 };
        let traces = busy_runs(&mut noise, 40, |i| [5.0, take(i), 9.0]);
        let of_side = |slower: bool| {
            let is = move |i: usize| i % 4 == 1 || i % 4 == 2;
            side_of(
                (traces.iter().enumerate())
                    .filter(move |(i, _)| is(*i) == slower)
                    .map(|(_, t)| t),
            )
        };
        let (before, after) = (of_side(false), of_side(true));
        let of = compare(&before, &after, Judgement::default(), &|_| true);
        assert_eq!((of.runs, of.design.pairs.len()), ((20, 20), 20));
        for row in of.rows.iter().filter(|row| of.differs(row)) {
            match row.label.as_str() {
                "com.acme.Stock.take(int)" => {
                    named += 1;
                    by_sums += u32::from(of.differing(row).any(|t| t.test.name == "self"));
                    assert!(of.differing(row).all(|t| t.more));
                }
                _ => others += 1,
            }
        }
    }
    assert_eq!((named, others), (20, 0));
    assert!(
        by_sums < 10,
        "{by_sums}: the noise is too small to show anything"
    );
}

#[test]
fn equal_runs_split_at_random_do_not_differ_on_a_busy_machine() {
    // At a level of 0.01, one of a hundred may.
    let mut wrong = [0, 0];
    for seed in 100..102 {
        let mut noise = Noise(seed);
        let traces = busy_runs(&mut noise, 40, |_| TIMES);
        for _ in 0..10 {
            let mut order: Vec<(u64, usize)> = (0..traces.len())
                .map(|i| ((noise.next() * 1e15) as u64, i))
                .collect();
            order.sort_unstable();
            let side = |part: &[(u64, usize)]| side_of(part.iter().map(|(_, i)| &traces[*i]));
            let (before, after) = (side(&order[..20]), side(&order[20..]));
            let of = compare(&before, &after, Judgement::default(), &|_| true);
            assert_eq!(of.power, Power::Enough);
            let rows = of.rows.iter().chain([&of.all]);
            let least = rows.filter_map(Row::p).fold(1.0, f64::min);
            for (wrong, level) in wrong.iter_mut().zip([0.01, 0.001]) {
                *wrong += u32::from(least <= level);
            }
        }
    }
    assert!(wrong[0] <= 1 && wrong[1] == 0, "{wrong:?} of 20 splits");
}

#[test]
fn too_few_runs_say_so_and_one_is_not_tested() {
    let of = compared(1, 5, TIMES, [5.0, 20.0, 9.0]);
    assert_eq!(of.power, Power::TooFew(7));
    assert!(that_differ(&of).is_empty());
    let of = compared(1, 1, TIMES, [5.0, 20.0, 9.0]);
    assert_eq!((of.tests, of.power), (0, Power::Untested));
    assert!(of.rows.iter().all(|row| row.p().is_none()));
}

#[test]
fn runs_are_summed_up_by_their_median() {
    let mut side = Runs::new(Options::default());
    for ms in [1, 100, 3] {
        for _ in 0..2 {
            let chunk = Chunk::records(1, 0, 0).enter(0, 4).exit(ms * 1_000_000, 4);
            let trace = TraceBuilder::new("", 1, 0)
                .symbols(&shop_symbols(), 65_504, &[])
                .push(chunk);
            side.add(&Trace::from_bytes("a.wtrace", trace.bytes()).unwrap());
        }
        side.end_run();
    }
    let side = side.finish(&[]);
    let of = compare(&side, &side, Judgement::default(), &|_| true);
    let fib = of.rows[0].before.as_ref().unwrap();
    let expected = Sums {
        calls: 2,
        seen: 2,
        own: 6_000_000,
        total: 6_000_000,
        errors: 0,
        spread: Spread::default(),
    };
    let typical = Sums {
        spread: Spread::default(),
        ..fib.typical
    };
    assert_eq!(typical, expected);
    assert_eq!(fib.typical.spread.own_p50, 3_000_000);
    assert_eq!((fib.p50, fib.max), (Some(3_000_000), 100_000_000));
    assert_eq!(of.all.before.as_ref().unwrap().typical, expected);
    assert_eq!(median([4, 1].into_iter()), 2);
}

#[test]
fn what_is_new_and_what_is_gone_both_have_their_place_in_the_tree() {
    let side = |calls: &[(u32, u64)], runs: usize| {
        let options = Options {
            tree: true,
            ..Options::default()
        };
        let mut side = Runs::new(options);
        for _ in 0..runs {
            let mut chunk = Chunk::records(1, 0, 0).enter(0, 1);
            for &(id, ms) in calls {
                chunk = chunk.enter(0, id).exit(ms * 1_000_000, id);
            }
            let trace = TraceBuilder::new("", 1, 0)
                .symbols(&shop_symbols(), 65_504, &[])
                .push(chunk.exit(1_000_000, 1));
            side.add(&Trace::from_bytes("a.wtrace", trace.bytes()).unwrap());
            side.end_run();
        }
        side.finish(&[])
    };
    let (before, after) = (side(&[(2, 5), (3, 7)], 1), side(&[(3, 4), (4, 2)], 3));
    let of = compare(&before, &after, Judgement::default(), &|_| true);
    let both = of.tree(&before, &after);
    let found: Vec<_> = (both.tree.nodes().iter().zip(&both.costs))
        .map(|(n, [b, a])| {
            let label = of.rows[n.method as usize].label.as_str();
            let ms = [n.total, b.total, a.total].map(|ns| ns / 1_000_000);
            (label.split('(').next().unwrap(), ms, b.calls, a.calls)
        })
        .collect();
    assert_eq!(
        found,
        [
            ("com.acme.Main.main", [15, 13, 7], 1, 1),
            ("com.acme.Orders.place", [5, 5, 0], 1, 0),
            ("com.acme.Stock.take", [7, 7, 4], 1, 1),
            ("com.acme.Maths.fib", [2, 0, 2], 0, 1),
        ]
    );
}

/// A run of which one of so many calls of `place` is recorded, of so many; each takes these milliseconds.
fn sampled_run(noise: &mut Noise, ms: f64, calls: u64, one_of: u64) -> Trace {
    let mut chunk = Chunk::records(1, 0, 0);
    for _ in 0..calls / one_of {
        let recorded = match one_of {
            1 => chunk,
            n => chunk.sampled(2, n),
        };
        chunk = recorded.enter(10, 2).exit(noise.busy(ms * MS), 2);
    }
    let trace = TraceBuilder::new("java shop", 1, 0)
        .symbols(&sampled_symbols(), 65_504, &[])
        .push(chunk);
    Trace::from_bytes("a.wtrace", trace.bytes()).unwrap()
}

fn sampled_runs(noise: &mut Noise, ms: f64, calls: u64, one_of: u64) -> Side {
    let mut runs = Runs::new(Options::default());
    for _ in 0..10 {
        runs.add(&sampled_run(noise, ms, calls, one_of));
        runs.end_run();
    }
    runs.finish(&[])
}

#[test]
fn sampled_runs_are_compared_scaled_and_tested_by_what_was_recorded() {
    let mut noise = Noise(5);
    let mut of = |calls: u64, [before, after]: [u64; 2]| {
        let before = sampled_runs(&mut noise, 5.0, calls, before);
        let after = sampled_runs(&mut noise, 6.0, calls, after);
        compare(&before, &after, Judgement::default(), &|_| true)
    };
    let tests =
        |of: &Comparison| -> Vec<&str> { of.rows[0].tests.iter().map(|t| t.test.name).collect() };
    // 40 of 400 calls are recorded: enough to tell how they spread.
    let many = of(400, [10, 10]);
    let place = &many.rows[0];
    let [before, after] = place.sums();
    assert_eq!((before.calls, before.seen), (400, 40));
    assert!(before.own > 400 * 5_000_000 && after.own > 400 * 6_000_000);
    assert_eq!(place.before.as_ref().unwrap().estimated_from, Some(400));
    assert_eq!(tests(&many), ["self", "p50", "p10"]);
    assert!(many.differs(place) && many.differs(&many.all));
    // One of as many says nothing of that, though it stands for all.
    let few = of(400, [400, 400]);
    assert_eq!(few.rows[0].sums()[0].calls, 400);
    assert_eq!(tests(&few), ["self"]);
    // Where one side is sampled, the runs are of two kinds.
    let uneven = of(400, [1, 10]);
    assert!(!uneven.rows[0].is_alike() && !uneven.all.is_alike());
    assert_eq!((tests(&uneven).len(), uneven.all.tests.len()), (0, 0));
    assert!(!uneven.differs(&uneven.rows[0]));
}
