//! Whole traces: order, pairing, what is torn, damaged or hostile.

use super::format::CHUNK;
use super::testing::{Chunk, TraceBuilder, shop, shop_symbols};
use super::*;
use proptest::prelude::*;

fn analyze(bytes: Vec<u8>) -> Analysis {
    let trace = Trace::from_bytes("t", bytes).unwrap();
    let mut analyzer = Analyzer::new(Options {
        tree: true,
        ..Options::default()
    });
    analyzer.add(&trace);
    analyzer.finish()
}

fn trace(chunks: impl IntoIterator<Item = Chunk>) -> Analysis {
    let start = TraceBuilder::new("", 1, 1_000).symbols(&shop_symbols(), 65_504, &[]);
    analyze(chunks.into_iter().fold(start, TraceBuilder::push).bytes())
}

/// Name, calls, total, self of each method in the order of first sight.
fn rows(a: &Analysis) -> Vec<(String, u64, u64, u64)> {
    (a.methods.rows().iter().zip(&a.stats))
        .map(|(m, s)| (m.name().replace("com.acme.", ""), s.calls, s.total, s.own))
        .collect()
}

fn row(name: &str, calls: u64, total: u64, own: u64) -> (String, u64, u64, u64) {
    (name.to_owned(), calls, total, own)
}

#[test]
fn segments_are_put_in_order_across_chunks() {
    let a = trace([
        Chunk::records(1, 2, 300).exit(0, 1),
        Chunk::records(2, 0, 0)
            .enter(5, 2)
            .segment(1, 1, 100)
            .enter(0, 3)
            .exit(50, 3),
        Chunk::records(1, 0, 10)
            .enter(0, 1)
            .segment(2, 1, 15)
            .exit(0, 2),
    ]);
    assert_eq!(
        rows(&a),
        [
            row("Main.main", 1, 290, 240),
            row("Stock.take", 1, 50, 50),
            row("Orders.place", 1, 10, 10)
        ]
    );
    assert!(a.processes[0].notes.lines().is_empty());
    assert_eq!(a.processes[0].records, 6);
}

#[test]
fn of_recursive_calls_the_outermost_counts() {
    let a = trace([Chunk::records(1, 0, 0)
        .enter(0, 4)
        .enter(10, 4)
        .enter(10, 3)
        .exit(30, 3)
        .exit(10, 4)
        .exit(10, 4)]);
    assert_eq!(
        rows(&a),
        [row("Maths.fib", 2, 70, 40), row("Stock.take", 1, 30, 30)]
    );
    assert_eq!(a.tree.total(), 70);
}

#[test]
fn an_exit_closes_the_calls_above_its_own() {
    let a = trace([Chunk::records(1, 0, 0)
        .enter(0, 1)
        .enter(10, 2)
        .enter(10, 3)
        .exit(30, 1)
        .exit(1, 2)]);
    assert_eq!(
        rows(&a),
        [
            row("Main.main", 1, 50, 10),
            row("Orders.place", 1, 40, 10),
            row("Stock.take", 1, 30, 30)
        ]
    );
    assert_eq!(a.stats[1].quantile(0.5), None, "its end is not known");
    assert_eq!(
        a.processes[0].notes.lines(),
        [
            "1 exit without an enter, skipped",
            "2 calls without an exit, closed with the call around"
        ]
    );
}

#[test]
fn what_is_open_where_records_were_dropped_runs_to_the_last_that_was_kept() {
    let a = trace([Chunk::records(1, 0, 100)
        .enter(0, 1)
        .enter(20, 2)
        .exit(30, 2)
        .lost(7)]);
    assert_eq!(
        rows(&a),
        [row("Main.main", 1, 50, 20), row("Orders.place", 1, 30, 30)]
    );
    // Where the recording went on, the end is the process's own.
    let a = trace([Chunk::records(1, 0, 100)
        .enter(0, 1)
        .lost(7)
        .enter(20, 2)
        .exit(30, 2)]);
    assert_eq!(rows(&a)[0], row("Main.main", 1, 900, 870));
}

#[test]
fn what_is_open_at_the_end_runs_to_the_end_of_the_process() {
    let a = trace([
        Chunk::records(1, 0, 100).enter(0, 1),
        Chunk::records(2, 0, 0).enter(0, 2).exit(400, 2),
    ]);
    assert_eq!(rows(&a)[0], row("Main.main", 1, 900, 900));
    assert_eq!(
        (a.stats[0].running, a.stats[0].min, a.stats[0].max),
        (1, None, 900)
    );
    // Without an orderly end the last record of any thread is the end.
    let killed = TraceBuilder::new("", 1, 0)
        .killed()
        .push(Chunk::records(1, 0, 100).enter(0, 1))
        .push(Chunk::records(2, 0, 0).enter(0, 2).exit(400, 2));
    assert_eq!(analyze(killed.bytes()).stats[0].total, 300);
}

#[test]
fn gaps_in_segments_are_counted() {
    let a = trace([
        Chunk::records(1, 3, 0).enter(0, 1),
        Chunk::records(1, 5, 9).exit(0, 1),
    ]);
    assert_eq!(a.processes[0].missing, 4);
    assert_eq!(rows(&a), [row("Main.main", 1, 9, 9)]);
}

#[test]
fn virtual_threads_share_chunks_that_no_thread_owns() {
    let a = trace([Chunk::records(0, 0, 0)
        .segment(7, 0, 10)
        .enter(0, 1)
        .segment(8, 0, 12)
        .enter(0, 2)
        .segment(7, 1, 15)
        .exit(0, 1)
        .segment(8, 1, 20)
        .exit(0, 2)]);
    let threads: Vec<_> = a
        .threads
        .iter()
        .map(|t| (t.number, t.calls, t.busy))
        .collect();
    assert_eq!(threads, [(7, 1, 5), (8, 1, 8)]);
}

#[test]
fn a_map_that_lacks_a_part_is_reported() {
    let map = shop_symbols();
    let bytes = TraceBuilder::new("", 1, 9)
        .symbols(&map, 40, &[1])
        .push(Chunk::records(1, 0, 0).enter(0, 1))
        .bytes();
    let notes = Trace::from_bytes("t", bytes).unwrap().notes().lines();
    assert_eq!(
        notes[0],
        format!(
            "symbols map 0 is incomplete: 40 of {} bytes in order",
            map.len()
        )
    );
}

#[test]
fn too_deep_a_stack_is_bounded() {
    // One chunk's worth of enters again and again, as a damaged file could have it.
    let chunk = (0..8_188)
        .fold(Chunk::records(1, 0, 0), |c, _| c.enter(1, 1))
        .bytes();
    let mut bytes = TraceBuilder::new("", 1, 0).bytes();
    for segment in 0..140u32 {
        let mut chunk = chunk.clone();
        chunk[20..24].copy_from_slice(&segment.to_le_bytes());
        bytes.extend_from_slice(&chunk);
    }
    let a = analyze(bytes);
    assert_eq!(a.threads[0].tally.too_deep, 140 * 8_188 - (1 << 20));
    assert_eq!(a.stats[0].running, 1 << 20);
}

/// The sums that must hold whatever the bytes are.
fn check(bytes: Vec<u8>) {
    let Ok(trace) = Trace::from_bytes("t", bytes) else {
        return;
    };
    let mut analyzer = Analyzer::new(Options {
        tree: true,
        ..Options::default()
    });
    analyzer.add(&trace);
    let a = analyzer.finish();
    let calls: u64 = a.stats.iter().map(|s| s.calls).sum();
    let nodes: u64 = a.tree.nodes().iter().map(|n| n.calls).sum();
    assert_eq!(calls, nodes + a.tree.folded());
    assert_eq!(calls, a.threads.iter().map(|t| t.calls).sum::<u64>());
    assert_eq!(
        trace.records(),
        a.threads.iter().map(|t| t.tally.records).sum::<u64>()
    );
    for s in &a.stats {
        let quantiles = [0.5, 0.9, 0.99].map(|q| s.quantile(q));
        assert!(quantiles.is_sorted() && s.min <= quantiles[0]);
    }
    let labels = a.methods.labels();
    flame::draw(
        &mut std::io::sink(),
        flame::Form::Svg,
        "",
        &a.tree,
        &labels,
        &|_| true,
    )
    .unwrap();
}

#[test]
fn every_truncation_yields_what_is_whole() {
    let bytes = shop().bytes();
    let chunks = bytes.len() / CHUNK;
    let mut records = u64::MAX;
    for chunk in (0..chunks).rev() {
        // The words in use lie at a chunk's start.
        for word in (0..64).rev() {
            let cut = bytes[..chunk * CHUNK + word * 8].to_vec();
            let Ok(trace) = Trace::from_bytes("t", cut.clone()) else {
                assert!(chunk == 0 && word < 11, "only a torn header is refused");
                continue;
            };
            assert!(trace.records() <= records);
            records = trace.records();
            check(cut);
        }
    }
    assert_eq!(records, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_traces_never_panic(
        damage in prop::collection::vec((0usize..16, 0usize..500, any::<u8>()), 1..8)
    ) {
        let mut bytes = shop().bytes();
        let chunks = bytes.len() / CHUNK;
        for (chunk, at, value) in damage {
            bytes[chunk % chunks * CHUNK + at] = value;
        }
        check(bytes);
    }

    #[test]
    fn any_words_never_panic(
        words in prop::collection::vec((0u64..1 << 14, 0u64..16), 0..600), thread in 0u32..3
    ) {
        // Low bits choose among calls and escapes, high ones make ids that repeat.
        let chunk = words.into_iter().fold(Chunk::records(thread, 0, 0), |c, (low, id)| {
            c.word(id << 32 | low)
        });
        check(TraceBuilder::new("", 1, 0).push(chunk).bytes());
    }

    #[test]
    fn any_bytes_after_a_header_never_panic(bytes: Vec<u8>) {
        let chunk = [&b"WCHK\x01\0\0\0"[..], &bytes].concat();
        check(TraceBuilder::new("", 1, 0).raw(&chunk).bytes());
        check(bytes);
    }
}
