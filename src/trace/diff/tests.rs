//! Comparisons of made-up runs: noise comes from a generator with a seed, so that each run of the tests is the same.

use super::*;
use crate::trace::testing::{Chunk, TraceBuilder, shop_symbols};

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
    assert_eq!((of.tests, of.power, of.runs), (5, Power::Enough, (10, 10)));
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

#[test]
fn too_few_runs_say_so_and_one_is_not_tested() {
    let of = compared(1, 5, TIMES, [5.0, 20.0, 9.0]);
    assert_eq!(of.power, Power::TooFew(7));
    assert!(that_differ(&of).is_empty());
    let of = compared(1, 1, TIMES, [5.0, 20.0, 9.0]);
    assert_eq!((of.tests, of.power), (0, Power::Untested));
    assert!(of.rows.iter().all(|row| row.p.is_none()));
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
        own: 6_000_000,
        total: 6_000_000,
        errors: 0,
    };
    assert_eq!(fib.typical, expected);
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
