//! Sampled calls: how many each stands for, and what sums make of that.

use super::*;
use crate::switches::MOST_SAMPLED;
use crate::trace::live::Live;
use crate::trace::tail::{Role, Tail};
use crate::trace::testing::{sampled, sampled_symbols};
use crate::trace::tune;

/// Calls, of those recorded, total, self, errors of each method that was called, by its name.
fn sums(a: &Analysis) -> Vec<(String, [u64; 5])> {
    let rows = a.methods.rows().iter().zip(&a.stats);
    let rows = rows.filter(|(method, s)| s.calls > 0 && method.of_value().is_none());
    rows.map(|(method, s)| {
        let name = method.name();
        let name = name.rsplit('.').next().unwrap_or_default().to_owned();
        (name, [s.calls, s.recorded(), s.total, s.own, s.errors])
    })
    .collect()
}

fn with_map(chunks: impl IntoIterator<Item = Chunk>) -> Analysis {
    let start = TraceBuilder::new("", 1, 1_000).symbols(&sampled_symbols(), 65_504, &[]);
    analyze(chunks.into_iter().fold(start, TraceBuilder::push).bytes())
}

/// How many calls each method has.
fn calls(chunks: impl IntoIterator<Item = Chunk>) -> Vec<(String, u64)> {
    let sums = sums(&with_map(chunks));
    sums.into_iter().map(|(name, [n, ..])| (name, n)).collect()
}

fn named<const N: usize>(all: [(&str, u64); N]) -> Vec<(String, u64)> {
    all.map(|(name, n)| (name.to_owned(), n)).into()
}

#[test]
fn calls_count_for_those_that_they_stand_for() {
    let a = analyze(sampled().bytes());
    let expected = [
        ("main", [1, 1, 20_000, 19_890, 0]),
        ("place", [200, 2, 8_000, 5_000, 100]),
        ("take", [100, 1, 2_000, 2_000, 0]),
        ("<init>", [1, 1, 10, 10, 0]),
        ("fib", [14, 2, 210, 210, 0]),
    ];
    let expected = expected.map(|(name, sums)| (name.to_owned(), sums));
    assert_eq!(sums(&a), expected);
    let estimated: Vec<_> = a.stats.iter().map(Stats::estimated_from).collect();
    assert_eq!(estimated, [None, Some(2), Some(1), None, Some(2)]);
    let place = &a.stats[1];
    let quantiles = [0.5, 0.51, 0.99].map(|share| place.quantile(share).unwrap());
    assert_eq!(
        (quantiles, place.min, place.max),
        ([30, 50, 50], Some(30), 50)
    );
    let thread = &a.threads[0];
    assert_eq!((thread.calls, thread.busy), (316, 20_000));
    assert_eq!((thread.tally.records, thread.scaled.recorded), (14, 5));
    assert_eq!(
        a.processes[0].notes.lines(),
        [
            "2 methods are sampled, 1 of 100 outermost calls: their numbers are estimates from 3 recorded calls",
            "1 method is sampled, at most 10 outermost calls a second: its numbers are estimates from 2 recorded calls",
        ]
    );
}

#[test]
fn the_tree_adds_up_where_its_calls_stand_for_others() {
    let a = analyze(sampled().bytes());
    let nodes: Vec<_> = (a.tree.nodes().iter())
        .map(|n| (n.method, n.calls, n.total, n.own, n.own_apart(), n.errors))
        .collect();
    assert_eq!(
        nodes,
        [
            (0, 1, 20_000, 19_890, 11_790, 0),
            (1, 200, 8_000, 5_000, 5_000, 100),
            (2, 100, 2_000, 2_000, 2_000, 0),
            (3, 1, 10, 10, 10, 0),
            (4, 7, 210, 140, 140, 0),
            (4, 7, 70, 70, 70, 0),
        ]
    );
    // But for the 99 calls that nobody recorded of a method that is not sampled, in orders that were not taken.
    let own: u64 = a.tree.nodes().iter().map(tree::Node::own_apart).sum();
    assert_eq!(own + 99 * 10, a.tree.total());
}

#[test]
fn many_calls_spread_as_those_that_they_stand_for() {
    let mut chunks = Vec::new();
    for part in 0..4u64 {
        let mut chunk = Chunk::records(1, part as u32, part << 20);
        for n in 1..=1_000 {
            let weight = if part == 0 { 4 } else { 1 };
            chunk = chunk.sampled(2, weight).enter(1, 2);
            chunk = chunk.exit((part * 1_000 + n) * 100, 2);
        }
        chunks.push(chunk);
    }
    let a = with_map(chunks);
    let stats = &a.stats[0];
    assert_eq!((stats.calls, stats.estimated_from()), (7_000, Some(4_000)));
    // Of 7,000 calls 4,000 are those of the first part.
    for (share, exact) in [(0.25, 43_750.0), (0.5, 87_500.0), (0.9, 330_000.0)] {
        let found = stats.quantile(share).unwrap() as f64;
        assert!((found - exact).abs() < exact / 90.0, "{share}: {found}");
    }
}

#[test]
fn who_decides_is_the_outermost_sampled_call() {
    // A call that is not sampled and lies between does not end a tree; what is outside of trees stands for itself.
    let order = |c: Chunk| (c.sampled(2, 100).enter(1, 2).enter(1, 1).enter(1, 3)).exit(1, 3);
    let chunk = order(Chunk::records(1, 0, 0)).exit(1, 1).exit(1, 2);
    let chunk = chunk.enter(1, 3).exit(1, 3).enter(1, 5).exit(1, 5);
    assert_eq!(
        calls([chunk]),
        named([("place", 100), ("main", 1), ("take", 101), ("<init>", 1)])
    );
    // Each of both has its own number, and another thread's tree is nobody else's.
    let chunk = (Chunk::records(1, 0, 0)
        .sampled(4, 9)
        .enter(1, 4)
        .enter(1, 2))
    .segment(2, 0, 5)
    .enter(1, 3)
    .exit(1, 3)
    .segment(1, 1, 9)
    .exit(1, 2)
    .exit(1, 4);
    assert_eq!(
        calls([chunk]),
        named([("fib", 9), ("place", 9), ("take", 1)])
    );
}

#[test]
fn a_call_whose_begin_is_lost_stands_for_as_many_as_its_rule_says() {
    let late = |number| {
        Chunk::records(1, number, 0)
            .enter(1, 3)
            .exit(1, 3)
            .exit(1, 2)
            .enter(1, 4)
            .exit(1, 4)
            .enter(1, 1)
            .exit(1, 1)
    };
    // Nothing is missing: all calls were recorded, by a request.
    assert_eq!(
        calls([late(0)]),
        named([("take", 1), ("fib", 1), ("main", 1)])
    );
    assert_eq!(
        calls([late(3)]),
        named([("take", 100), ("fib", 1), ("main", 1)])
    );
    let lost = Chunk::records(1, 0, 0).sampled(2, 100).lost(3);
    let lost = lost
        .enter(1, 3)
        .exit(1, 3)
        .sampled(3, 50)
        .enter(1, 3)
        .exit(1, 3);
    assert_eq!(calls([lost]), named([("take", 150)]));
}

#[test]
fn an_escape_and_its_call_may_lie_in_two_chunks() {
    let first = || Chunk::records(1, 0, 0).enter(1, 1).sampled(2, 40);
    let second = |number| {
        let chunk = Chunk::records(1, number, 100).enter(1, 2).exit(1, 2);
        chunk.enter(1, 2).exit(1, 2).exit(1, 1)
    };
    assert_eq!(
        calls([first(), second(1)]),
        named([("main", 1), ("place", 41)])
    );
    // What comes behind a segment that is missing is another call.
    assert_eq!(
        calls([first(), second(2)]),
        named([("main", 1), ("place", 200)])
    );
    let other = Chunk::records(2, 0, 50).enter(1, 2).exit(1, 2);
    assert_eq!(
        calls([first(), other, second(1)]),
        named([("main", 1), ("place", 42)])
    );
}

#[test]
fn escapes_that_make_no_sense_mean_the_nearest_that_does() {
    let one = |weight| {
        let chunk = Chunk::records(1, 0, 0).sampled(3, weight).enter(1, 3);
        sums(&with_map([chunk.time(1 << 63).exit(1, 3)]))
            .remove(0)
            .1
    };
    let took = 1 << 63;
    assert_eq!(one(0), [1, 1, took, took, 0]);
    let most = u64::from(MOST_SAMPLED);
    for weight in [most, most + 1, u64::MAX] {
        assert_eq!(one(weight), [most, 1, u64::MAX, u64::MAX, 0]);
    }
    // Without its call, or in front of another's, or of the end of one.
    let stray = |c: Chunk| c.sampled(3, 30);
    let chunk = stray(Chunk::records(1, 0, 0))
        .enter(1, 2)
        .enter(1, 3)
        .exit(1, 3);
    let chunk = stray(stray(chunk).exit(1, 2).enter(1, 3).exit(1, 3));
    assert_eq!(calls([chunk]), named([("place", 1), ("take", 2)]));
    // A logical call stands for what its piece says, and without that for itself.
    let chunk = stray(Chunk::records(1, 0, 0)).resume(1, 3, 5, true);
    assert_eq!(calls([chunk.end(1, 3, 5)]), named([("take", 30)]));
    let chunk = Chunk::records(1, 0, 0).resume(1, 3, 5, true);
    assert_eq!(calls([chunk.end(1, 3, 5)]), named([("take", 1)]));
}

#[test]
fn without_a_map_the_escape_alone_tells() {
    let chunk = Chunk::records(1, 0, 0).enter(1, 9);
    let chunk = chunk.exit(1, 9).sampled(7, 12).enter(1, 7).exit(4, 7);
    let a = analyze(TraceBuilder::new("", 1, 9).push(chunk).bytes());
    let found: Vec<_> = a.stats.iter().map(|s| (s.calls, s.total)).collect();
    assert_eq!(found, [(1, 1), (12, 48)]);
    assert_eq!(
        a.processes[0].notes.lines()[0],
        "1 method is sampled: its numbers are estimates from 1 recorded call"
    );
}

#[test]
fn sampled_and_summed_up_calls_add_up() {
    let sum = Chunk::new(4, 0, 0, 7).aggregate(3, 21, [50, 50, 2], [90, 60]);
    let a = with_map([
        Chunk::records(1, 0, 0)
            .sampled(3, 100)
            .enter(1, 3)
            .exit(40, 3),
        sum,
    ]);
    let expected = [150, 1, 50 * 90 + 100 * 40, 50 * 60 + 100 * 40, 2];
    assert_eq!(sums(&a), [("take".to_owned(), expected)]);
    let stats = &a.stats[0];
    let quantiles = [0.5, 0.9].map(|share| stats.quantile(share).unwrap());
    assert_eq!((stats.aggregated, quantiles), (50, [40, 87]));
}

#[test]
fn calls_in_a_part_of_the_time_and_of_the_calls_are_scaled_too() {
    let trace = Trace::from_bytes("t", sampled().bytes()).unwrap();
    let look = |options: Options| {
        let mut analyzer = Analyzer::new(options);
        analyzer.add(&trace);
        sums(&analyzer.finish())
    };
    let find = |all: &[(String, [u64; 5])], name: &str| {
        let found = all.iter().find(|(known, _)| known == name);
        found.map(|(_, [calls, _, total, own, _])| [*calls, *total, *own])
    };
    // The first order begins at 10, its first call at 15.
    let window = Window {
        until: Some(Moment::Since(25)),
        ..Window::default()
    };
    let part = look(Options {
        window,
        ..Options::default()
    });
    assert_eq!(find(&part, "place"), Some([100, 1_500, 500]));
    assert_eq!(find(&part, "take"), Some([100, 1_000, 1_000]));
    let roots = Roots::new(&["*.place".to_owned()], Default::default());
    let below = look(Options {
        roots,
        ..Options::default()
    });
    assert_eq!(find(&below, "place"), Some([200, 8_000, 5_000]));
    assert_eq!(find(&below, "main"), None);
    let long = look(Options {
        min: 25,
        ..Options::default()
    });
    assert_eq!(find(&long, "place"), Some([200, 8_000, 8_000]));
    assert_eq!(find(&long, "take"), None);
}

#[test]
fn single_calls_stay_what_they_are_and_say_what_they_stand_for() {
    let trace = Trace::from_bytes("t", sampled().bytes()).unwrap();
    let a = ask(
        &trace,
        Query {
            calls: Some(10),
            ..Query::default()
        },
    );
    let listed: Vec<_> = a.calls.iter().map(|c| (c.total, c.own, c.weight)).collect();
    let expected = [
        (20_000, 19_890, 1),
        (50, 20, 100),
        (30, 30, 100),
        (30, 20, 7),
        (20, 20, 100),
        (10, 10, 1),
        (10, 10, 7),
    ];
    assert_eq!(listed, expected.map(|(t, o, w)| (t, Some(o), w)));
    assert_eq!(a.fitting, 7);
}

#[test]
fn a_trace_that_is_followed_has_the_same_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.wtrace");
    for bytes in [
        sampled().bytes(),
        TraceBuilder::new("", 1, 1_000)
            .symbols(&sampled_symbols(), 65_504, &[])
            .push(
                Chunk::records(1, 0, 0)
                    .enter(1, 2)
                    .exit(1, 2)
                    .sampled(2, 40),
            )
            .push(Chunk::records(1, 1, 100).enter(1, 2).exit(1, 2))
            .push(Chunk::records(2, 4, 100).enter(1, 3).exit(1, 3))
            .push(Chunk::records(2, 5, 200).enter(1, 3).exit(1, 3))
            .bytes(),
    ] {
        std::fs::write(&path, &bytes).unwrap();
        let mut tail = Tail::open(&path, Role::Onlooker).unwrap();
        let mut live = Live::default();
        while !tail.is_done() {
            tail.turn(&mut live).unwrap();
        }
        let rows = live.methods();
        let mut followed: Vec<_> = (rows.iter())
            .map(|row| {
                let of = &row.sum;
                let name = row.name.split('(').next().unwrap_or_default();
                let name = name.rsplit('.').next().unwrap_or_default().to_owned();
                let seen = of.calls - of.unseen;
                (name, [of.calls, seen, of.total, of.own, of.errors])
            })
            .collect();
        followed.sort();
        let mut whole = sums(&analyze(bytes));
        whole.sort();
        assert_eq!(followed, whole);
    }
}

#[test]
fn records_cost_what_they_are_whatever_they_stand_for() {
    let a = analyze(sampled().bytes());
    let records: Vec<u64> = a.stats.iter().map(tune::records).collect();
    assert_eq!(records, [2, 4, 2, 2, 4]);
    let open = Chunk::records(1, 0, 0)
        .sampled(2, 100)
        .enter(1, 2)
        .enter(1, 3);
    let a = with_map([open.exit(1, 3).enter(1, 3)]);
    let records: Vec<u64> = a.stats.iter().map(tune::records).collect();
    assert_eq!((records, a.stats[1].running), (vec![1, 3], 100));
}
