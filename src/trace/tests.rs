//! Whole traces: order, pairing, what is torn, damaged or hostile.

use super::format::{CHUNK, THREAD_DAEMON, THREAD_OWN};
use super::query::Query;
use super::summary::Stats;
use super::testing::{Chunk, TraceBuilder, shop, shop_symbols, valued, valued_symbols};
use super::*;
use proptest::prelude::*;

mod sampled;

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

/// The calls of a trace with their values, in the order in which they began.
fn calls_with_values(chunks: impl IntoIterator<Item = Chunk>) -> Vec<String> {
    let start = TraceBuilder::new("", 1, 1_000).symbols(&valued_symbols(), 65_504, &[]);
    let bytes = chunks.into_iter().fold(start, TraceBuilder::push).bytes();
    let mut calls = ask(
        &Trace::from_bytes("t", bytes).unwrap(),
        Query {
            calls: Some(1_000),
            ..Query::default()
        },
    );
    calls.calls.sort_by_key(|call| (call.thread, call.start));
    let shown = (calls.calls.iter()).map(|call| {
        let name = calls.methods.rows()[call.method as usize].name();
        let name = name.rsplit('.').next().unwrap_or_default();
        format!("{name} {}", values::shown(&call.values))
            .trim_end()
            .to_owned()
    });
    shown.collect()
}

fn ask(trace: &Trace, query: Query) -> Analysis {
    let mut analyzer = Analyzer::new(Options {
        query,
        ..Options::default()
    });
    analyzer.add(trace);
    analyzer.finish()
}

/// What holds of values, whatever the trace.
fn check_values(trace: &Trace) {
    let by = |name: &str, conditions: &[&str]| {
        let conditions = conditions.iter().map(|c| c.parse().unwrap()).collect();
        let by = Some(name.to_owned());
        ask(
            trace,
            Query {
                conditions,
                by,
                ..Query::default()
            },
        )
    };
    let count = |a: &Analysis, by_value: bool| -> u64 {
        let rows = a.methods.rows().iter().zip(&a.stats);
        let rows = rows.filter(|(m, _)| m.of_value().is_some() == by_value);
        rows.map(|(_, s)| s.calls).sum()
    };
    let plain = ask(trace, Query::default());
    for name in ["item", "result", "value 0"] {
        let a = by(name, &[]);
        assert_eq!(count(&a, false), count(&plain, false));
        assert!(count(&a, true) <= count(&a, false));
        // All that have the value: no more and no fewer.
        let with = by(name, &[&format!("{name}=*")]);
        assert_eq!(count(&with, false), count(&a, true));
        assert_eq!(count(&with, true), count(&a, true));
    }
    let a = ask(
        trace,
        Query {
            calls: Some(3),
            ..Query::default()
        },
    );
    // And calls of sums that are told by themselves.
    assert!(a.fitting >= plain.stats.iter().map(Stats::recorded).sum());
    assert_eq!(a.calls.len() as u64, a.fitting.min(3));
    assert!(
        a.calls
            .is_sorted_by_key(|call| std::cmp::Reverse(call.total))
    );
    let longest = plain.stats.iter().map(|s| s.max).max().unwrap_or(0);
    assert!(a.calls.first().is_none_or(|call| call.total >= longest));
}

#[test]
fn values_find_their_calls() {
    // A nested call of the same method, records of others between a value and its record, a number that comes twice.
    let calls = calls_with_values([Chunk::records(1, 0, 0)
        .text_value(3, 0, false, "first")
        .text_value(3, 0, false, "outer")
        .enter(1, 4)
        .exit(1, 4)
        .enter(1, 3)
        .text_value(3, 0, false, "inner")
        .enter(1, 3)
        .value(3, 1, true, 2, 1)
        .exit(1, 3)
        .value(3, 1, true, 1, 0)
        .enter(1, 4)
        .exit(1, 4)
        .error(1, 3)
        .enter(1, 3)
        .exit(1, 3)]);
    assert_eq!(
        calls,
        [
            "fib",
            "take item=\"outer\" result=null",
            "take item=\"inner\" result=1",
            "fib",
            "take"
        ]
    );
}

#[test]
fn values_go_on_in_the_next_segment_and_belong_to_nothing_where_one_is_missing() {
    let value = |segment| Chunk::records(1, segment, 10).text_value(3, 0, false, "tea");
    let call = |segment| Chunk::records(1, segment, 20).enter(1, 3).exit(1, 3);
    assert_eq!(
        calls_with_values([value(0), call(1)]),
        ["take item=\"tea\""]
    );
    assert_eq!(calls_with_values([value(0), call(2)]), ["take"]);
    assert_eq!(
        calls_with_values([value(0).lost(1).enter(1, 3).exit(1, 3)]),
        ["take"]
    );
    // Of a call whose end is lost, and of one that runs on, what is known of their start.
    let open = Chunk::records(1, 0, 0)
        .text_value(2, 0, false, "SELECT")
        .enter(1, 2)
        .text_value(3, 0, false, "tea")
        .enter(1, 3);
    assert_eq!(
        calls_with_values([open]),
        ["place arg(1)=\"SELECT\"", "take item=\"tea\""]
    );
    let lost = Chunk::records(1, 0, 0)
        .enter(1, 2)
        .text_value(3, 0, false, "tea")
        .enter(1, 3)
        .value(3, 1, true, 2, 4)
        .value(2, 0, true, 2, 5)
        .exit(1, 2)
        .exit(1, 3);
    assert_eq!(
        calls_with_values([lost]),
        ["place arg(1)=5", "take item=\"tea\""]
    );
}

#[test]
fn a_logical_call_has_the_values_of_its_pieces() {
    let calls = calls_with_values([
        Chunk::records(1, 0, 0)
            .enter(0, 1)
            .text_value(3, 0, false, "tea")
            .resume(1, 3, 10, true)
            .exit(1, 3)
            .exit(1, 1),
        Chunk::records(2, 0, 100)
            .resume(0, 3, 10, false)
            .value(3, 1, true, 2, 4)
            .end(5, 3, 10),
    ]);
    assert_eq!(calls, ["main", "take item=\"tea\" result=4"]);
}

#[test]
fn rows_by_value_are_bounded() {
    let mut chunk = Chunk::records(1, 0, 0);
    for n in 0..150 {
        chunk = chunk.value(3, 0, false, 2, n).enter(1, 3).exit(1, 3);
        chunk = chunk.value(3, 0, false, 2, n % 7).enter(1, 3).exit(1, 3);
    }
    let start = TraceBuilder::new("", 1, 1_000).symbols(&valued_symbols(), 65_504, &[]);
    let trace = Trace::from_bytes("t", start.push(chunk).bytes()).unwrap();
    let by = Some("item".to_owned());
    let a = ask(
        &trace,
        Query {
            by,
            ..Query::default()
        },
    );
    let rows: Vec<_> = (a.methods.labels().into_iter().zip(&a.stats))
        .map(|(label, s)| (label, s.calls))
        .collect();
    assert_eq!(
        rows.len(),
        1 + 100 + 1,
        "the method, its values, and the others"
    );
    assert_eq!(rows[0].1, 300);
    assert_eq!(rows[1], ("com.acme.Stock.take(int)  0".to_owned(), 23));
    assert_eq!(
        rows[101],
        ("com.acme.Stock.take(int)  others".to_owned(), 50)
    );
    check_values(&trace);
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
    // Where the recording went on, the end is the process's own; whose time it is nobody knows.
    let a = trace([Chunk::records(1, 0, 100)
        .enter(0, 1)
        .lost(7)
        .enter(20, 2)
        .exit(30, 2)]);
    assert_eq!(rows(&a)[0], row("Main.main", 1, 900, 0));
}

#[test]
fn what_is_lost_is_nobodys_time() {
    // The exit of 3 is in the second segment, which is missing, and so is much else.
    let chunks = |number| {
        [
            Chunk::records(1, 0, 100)
                .enter(0, 1)
                .enter(20, 2)
                .enter(10, 3),
            Chunk::records(1, number, 600)
                .enter(0, 4)
                .exit(10, 4)
                .exit(40, 2)
                .exit(50, 1),
        ]
    };
    let a = trace(chunks(2));
    let found = |name: &str| rows(&a).into_iter().find(|row| row.0 == name).unwrap();
    // 3 ran up to 130 at least; who ran from there to 600 nobody knows, nor who called 4.
    assert_eq!(found("Stock.take"), row("Stock.take", 1, 0, 0));
    assert_eq!(found("Orders.place"), row("Orders.place", 1, 530, 10));
    assert_eq!(found("Main.main"), row("Main.main", 1, 600, 70));
    assert_eq!(a.stats.iter().map(|s| s.cut).sum::<u64>(), 1);
    // Where no segment is missing, the time is that of the call that was open.
    let a = trace(chunks(1));
    assert!(rows(&a).contains(&row("Stock.take", 1, 520, 510)));
}

#[test]
fn what_is_lost_is_not_the_time_of_callers_of_short_calls() {
    let bytes = TraceBuilder::new("", 1, 1_000)
        .symbols(&shop_symbols(), 65_504, &[])
        .push(
            Chunk::records(1, 0, 100)
                .enter(0, 1)
                .enter(20, 2)
                .enter(10, 3)
                .exit(5, 3)
                .enter(5, 4),
        )
        .push(Chunk::records(1, 2, 600).exit(40, 2).exit(50, 1))
        .bytes();
    let own = |min| {
        let mut analyzer = Analyzer::new(Options {
            min,
            ..Options::default()
        });
        analyzer.add(&Trace::from_bytes("t", bytes.clone()).unwrap());
        let a = analyzer.finish();
        a.stats.iter().map(|s| s.own).collect::<Vec<_>>()
    };
    assert_eq!(own(0), [70, 15, 5, 0]);
    // `take` is short, and was over; `fib` was open where the records end.
    assert_eq!(own(100), [70, 20, 0, 0]);
    assert_eq!(own(550), [90, 0, 0, 0]);
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
fn an_exception_that_ends_the_process_ends_what_it_left() {
    let a = trace([
        Chunk::records(1, 0, 100)
            .enter(0, 1)
            .enter(20, 2)
            .exception("E", "the end")
            .unhandled(150)
            // Some hosts unwind afterwards.
            .error(5, 2)
            .error(5, 1),
        // Another thread goes on until the process is gone.
        Chunk::records(2, 0, 100)
            .enter(0, 3)
            .enter(90, 2)
            .exit(5, 2),
    ]);
    assert_eq!(
        rows(&a)[..2],
        [row("Main.main", 1, 50, 20), row("Orders.place", 2, 35, 35)]
    );
    let errors: Vec<_> = a.stats.iter().map(|s| (s.errors, s.running)).collect();
    assert_eq!(errors, [(1, 0), (1, 0), (0, 1)]);
    assert_eq!(a.exceptions.len(), 1);
    let notes = a.processes[0].notes.lines();
    assert_eq!(
        notes,
        ["ended by an exception that nobody handled: E: the end"]
    );
    // Where the exception was known before, its details are behind its first error record.
    let a = trace([Chunk::records(1, 0, 0)
        .enter(0, 1)
        .exception("E", "")
        .error(9, 1)
        .exception("E", "")
        .unhandled(20)]);
    assert_eq!(a.stats[0].errors, 1);
    assert_eq!(
        a.processes[0].notes.lines(),
        ["ended by an exception that nobody handled: E"]
    );
}

#[test]
fn gaps_in_segments_are_counted() {
    let a = trace([
        Chunk::records(1, 3, 0).enter(0, 1),
        Chunk::records(1, 5, 9).exit(0, 1),
    ]);
    assert_eq!(a.processes[0].missing, 4);
    assert_eq!(rows(&a), [row("Main.main", 1, 9, 0)]);
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
fn an_id_of_two_methods_is_said_with_both_names() {
    let bytes = TraceBuilder::new("shop", 1, 0)
        .symbols(&shop_symbols(), 1_000, &[])
        .push(Chunk::records(1, 0, 0).enter(0, 2).exit(5, 2))
        .bytes();
    let notes = |ids: &[u32]| {
        let mut trace = Trace::from_bytes("a.wtrace", bytes.clone()).unwrap();
        let mut other = crate::symbols::Writer::default();
        other.ty("com/other/Cart", "");
        for &id in ids {
            other.method(id, "add", "(I)V", 0);
        }
        trace.add_symbols(&other.finish()).unwrap();
        let mut analyzer = Analyzer::new(Options::default());
        analyzer.add(&trace);
        analyzer.finish().processes[0].notes.lines()
    };
    assert_eq!(notes(&[3]), [""; 0], "no record has that id");
    let said = notes(&[2, 3]).join("\n");
    insta::assert_snapshot!(said, @"calls of com.other.Cart.add(int) may be shown as com.acme.Orders.place(int, String) in shop.jar: both have the id 0x00000002, since they were woven apart (weave them as one folder, or the one with --known-symbols and the map of the other)");
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
    check_values(&trace);
    let mut analyzer = Analyzer::new(Options {
        tree: true,
        ..Options::default()
    });
    analyzer.add(&trace);
    let a = analyzer.finish();
    // Ordinary calls, and pieces of logical ones.
    let plain: u64 = a.stats.iter().map(|s| s.calls - s.logical.calls).sum();
    let pieces: u64 = a.stats.iter().map(|s| s.logical.pieces).sum();
    let nodes: u64 = (a.tree.nodes().iter()).map(|n| n.calls + n.resumed).sum();
    assert_eq!(plain + pieces, nodes + a.tree.folded());
    assert_eq!(
        plain + pieces,
        (a.threads.iter()).map(|t| t.calls + t.resumed).sum::<u64>()
    );
    for s in &a.stats {
        assert!(s.logical.active <= s.total || s.total == u64::MAX);
        assert!(s.logical.open <= s.logical.calls);
    }
    assert_eq!(
        trace.records(),
        a.threads.iter().map(|t| t.tally.records).sum::<u64>()
    );
    for s in &a.stats {
        let quantiles = [0.5, 0.9, 0.99].map(|q| s.quantile(q));
        assert!(quantiles.is_sorted() && s.min <= quantiles[0]);
    }
    let mut calls = page::Calls::new(10, trace.end());
    for process in export::processes(std::slice::from_ref(&trace)) {
        let all = export::Selection::default();
        export::walk(&process, &[], &all, &mut calls, 1, &mut |_| {}).unwrap();
    }
    calls.finish();
    assert!(calls.kept().calls <= 10);
    page::write(&mut std::io::sink(), "", &serde_json::json!({}), &calls).unwrap();
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

/// Calls, pieces, total, active, waiting, self, open, running, errors of a method.
fn logical(a: &Analysis, row: usize) -> [u64; 9] {
    let (s, l) = (&a.stats[row], a.stats[row].logical);
    [
        l.calls, l.pieces, s.total, l.active, l.waiting, s.own, l.open, s.running, s.errors,
    ]
}

#[test]
fn the_pieces_of_a_logical_call_are_one_call() {
    // Thread 2 comes first: pieces are found in any order.
    let a = trace([
        Chunk::records(1, 0, 0)
            .enter(0, 1)
            .resume(10, 2, 77, true)
            .enter(5, 3)
            .exit(5, 3)
            .exit(10, 2)
            .exit(20, 1)
            .resume(450, 2, 77, false)
            .end(30, 2, 77),
        Chunk::records(2, 0, 200)
            .resume(0, 2, 77, false)
            .exit(50, 2),
    ]);
    assert_eq!(rows(&a)[1], row("Orders.place", 1, 520, 95));
    assert_eq!(logical(&a, 1), [1, 3, 520, 100, 420, 95, 0, 0, 0]);
    assert_eq!(a.stats[1].quantile(0.5), Some(520));
    assert_eq!(rows(&a)[0], row("Main.main", 1, 50, 30));
    let tree: Vec<_> = (a.tree.nodes().iter())
        .map(|n| (n.parent, n.method, n.calls, n.resumed, n.total))
        .collect();
    assert_eq!(
        tree,
        [
            (None, 0, 1, 0, 50),
            (Some(0), 1, 1, 0, 20),
            (Some(1), 2, 1, 0, 5),
            (None, 1, 0, 2, 80),
        ]
    );
    let threads: Vec<_> = (a.threads.iter())
        .map(|t| (t.calls, t.resumed, t.busy))
        .collect();
    assert_eq!(threads, [(3, 1, 80), (0, 1, 50)]);
}

#[test]
fn pieces_nest_in_a_thread_also_of_the_same_method() {
    let a = trace([Chunk::records(1, 0, 0)
        .resume(0, 2, 1, true)
        .resume(10, 2, 2, true)
        .exit(10, 2)
        .exit(10, 2)
        .resume(100, 2, 2, false)
        .resume(10, 2, 1, false)
        .end(10, 2, 1)
        .end(10, 2, 2)]);
    // The first from 0 to 150, on threads 30 and 10; the second from 10 to 160, 10 and 30.
    assert_eq!(logical(&a, 0), [2, 4, 300, 80, 220, 60, 0, 0, 0]);
    assert!(a.processes[0].notes.lines().is_empty());
}

#[test]
fn a_call_may_begin_and_end_without_running() {
    let a = trace([Chunk::records(1, 0, 0)
        .begin(2, 1, 100)
        .enter(150, 1)
        .resume(50, 2, 1, true)
        .exit(10, 2)
        .exit(0, 1)
        .exception("java.io.IOException", "between")
        .complete(2, 1, 400, true)
        .begin(3, 2, 500)
        .complete(3, 2, 550, false)]);
    assert_eq!(logical(&a, 0), [1, 1, 300, 10, 290, 10, 0, 0, 1]);
    assert_eq!(logical(&a, 2), [1, 0, 50, 0, 50, 0, 0, 0, 0]);
    assert_eq!(a.processes[0].records, 8);
    assert_eq!(a.exceptions[0].message(), "between");
    assert_eq!(a.exceptions[0].paths[0].0.caught, None);
}

#[test]
fn what_is_abandoned_stays_open_and_lasts_to_the_last_that_is_known() {
    let a = trace([Chunk::records(1, 0, 0)
        .begin(2, 1, 100)
        .resume(200, 2, 1, true)
        .exit(50, 2)
        .begin(3, 2, 300)
        .resume(250, 4, 3, true)]);
    assert_eq!(logical(&a, 0), [1, 1, 150, 50, 100, 50, 1, 0, 0]);
    assert_eq!(a.stats[0].quantile(0.5), None);
    assert_eq!(logical(&a, 1), [1, 0, 0, 0, 0, 0, 1, 0, 0]);
    // What was running runs to the end of the trace.
    assert_eq!(logical(&a, 2), [1, 1, 500, 500, 0, 500, 0, 1, 0]);
}

#[test]
fn where_records_are_lost_a_logical_call_is_not_mistaken_for_another() {
    let a = trace([Chunk::records(1, 3, 0)
        .resume(0, 2, 8, true)
        .resume(10, 2, 9, true)
        .end(10, 2, 8)
        .end(10, 2, 7)
        .resume(100, 2, 6, false)
        .fail(10, 2, 6)]);
    // 8 ended and closed the piece of 9, which stays open; 7 and 6 began before.
    assert_eq!(logical(&a, 0), [4, 3, 40, 40, 0, 30, 1, 0, 1]);
    assert_eq!(
        a.stats[0].quantile(0.99),
        Some(20),
        "8 alone is known whole"
    );
    assert_eq!(a.stats[0].logical.pieces, 3);
    assert_eq!(
        a.processes[0].notes.lines(),
        [
            "1 exit without an enter, skipped",
            "1 call without an exit, closed with the call around"
        ]
    );
}

#[test]
fn threads_that_take_turns_do_not_mix_their_stacks_and_exceptions() {
    // Two threads, three segments each, one between those of the other.
    let part = |thread: u32, number: u32, start: u64| Chunk::records(thread, number, start);
    let a = trace([
        part(1, 0, 0).enter(0, 1).enter(0, 2).enter(0, 3),
        part(1, 1, 200).exception("A", "").error(0, 3),
        part(1, 2, 400).error(0, 2).exit(10, 1),
        part(2, 0, 100).resume(0, 4, 1, true).enter(0, 3),
        part(2, 1, 300).exception("B", "").error(0, 3),
        part(2, 2, 500).fail(0, 4, 1),
    ]);
    assert_eq!(
        rows(&a),
        [
            row("Main.main", 1, 410, 10),
            row("Orders.place", 1, 400, 200),
            row("Stock.take", 2, 400, 400),
            row("Maths.fib", 1, 400, 200),
        ]
    );
    let ways: Vec<_> = (a.exceptions.iter())
        .map(|e| (&*e.type_name, e.paths[0].0.left, e.paths[0].0.caught))
        .collect();
    assert_eq!(ways, [("A", 1, Some(0)), ("B", 3, None)]);
    assert!(a.processes[0].notes.lines().is_empty());
}

#[test]
fn of_one_thread_the_calls_are_whole_that_were_on_it() {
    let bytes = TraceBuilder::new("", 1, 1_000)
        .symbols(&shop_symbols(), 65_504, &[])
        .push(
            Chunk::records(1, 0, 0)
                .resume(0, 2, 1, true)
                .exit(10, 2)
                .resume(0, 2, 2, true)
                .exit(10, 2)
                .enter(0, 1)
                .exit(5, 1),
        )
        .push(
            Chunk::records(2, 0, 100)
                .resume(0, 2, 1, false)
                .exception("E", "")
                .fail(20, 2, 1),
        )
        .bytes();
    let only = |thread: &str, min: u64| {
        let mut analyzer = Analyzer::new(Options {
            thread: Some(thread.to_owned()),
            tree: true,
            min,
            ..Options::default()
        });
        analyzer.add(&Trace::from_bytes("t", bytes.clone()).unwrap());
        analyzer.finish()
    };
    let a = only("2", 0);
    assert_eq!(logical(&a, 0), [1, 2, 120, 30, 90, 30, 0, 0, 1]);
    assert_eq!((a.threads.len(), a.tree.total()), (1, 20));
    assert!(a.stats[1..].iter().all(|s| s.calls == 0));
    // The exception is thread 2's.
    let a = only("1", 0);
    assert_eq!(a.exceptions.len(), 0);
    assert_eq!(a.stats.iter().map(|s| s.calls).sum::<u64>(), 3);
    // How long a call took decides, not its pieces.
    assert_eq!(logical(&only("1", 100), 0)[..3], [1, 2, 120]);
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
        for mut bytes in [shop().bytes(), valued().bytes()] {
            let chunks = bytes.len() / CHUNK;
            for &(chunk, at, value) in &damage {
                bytes[chunk % chunks * CHUNK + at] = value;
            }
            check(bytes);
        }
    }

    #[test]
    fn any_words_never_panic(
        words in prop::collection::vec((0u64..1 << 12, 0u64..16), 0..600), thread in 0u32..3
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

#[test]
fn an_exception_object_that_is_thrown_again_counts_again() {
    // main calls place, which calls take; take throws the same object each time, place lets it pass.
    let mut chunk = Chunk::records(1, 0, 0).enter(0, 1);
    for i in 0..1_000 {
        chunk = chunk.enter(1, 2).enter(1, 3);
        if i == 0 {
            chunk = chunk.exception("E", "cached");
        }
        chunk = chunk.error(1, 3).error(1, 2);
    }
    // A caller that returns and one that comes later at its place.
    chunk = (chunk.enter(1, 2).enter(1, 3).error(1, 3).exit(1, 2))
        .enter(1, 2)
        .enter(1, 4)
        .exit(1, 4)
        .error(1, 2)
        .exit(1, 1);
    let a = trace([chunk]);
    let e = &a.exceptions[0];
    assert_eq!(
        (
            e.count,
            &*e.type_name,
            a.exceptions.len(),
            a.exceptions[1].count
        ),
        (1_001, "E", 2, 1)
    );
    assert_eq!(e.paths[0].1, 1_000);
    let errors: Vec<_> = a.stats.iter().map(|s| s.errors).collect();
    assert_eq!(errors, [0, 1_001, 1_001, 0], "main, place, take, fib");
}

#[test]
fn an_exception_is_caught_by_who_awaits() {
    // place awaits take, which fails on another thread; place catches the first, and lets the second pass.
    let a = trace([
        Chunk::records(1, 0, 0)
            .enter(0, 1)
            .resume(1, 2, 10, true)
            .resume(1, 3, 11, true)
            .exit(1, 3)
            .exit(1, 2)
            .exit(1, 1),
        Chunk::records(2, 0, 100)
            .resume(0, 3, 11, false)
            .exception("E", "first")
            .fail(5, 3, 11)
            .resume(5, 2, 10, false)
            .resume(1, 3, 12, true)
            .exit(1, 3)
            .exit(1, 2),
        Chunk::records(3, 0, 300)
            .resume(0, 3, 12, false)
            .exception("E", "second")
            .fail(5, 3, 12),
        Chunk::records(4, 0, 400)
            .resume(0, 2, 10, false)
            .exception("E", "second")
            .fail(5, 2, 10),
    ]);
    let name = |ix: u32| {
        a.methods.rows()[ix as usize]
            .name()
            .replace("com.acme.", "")
    };
    let [e] = &a.exceptions[..] else {
        panic!("one type in one place")
    };
    let messages = [("first".to_owned(), 1), ("second".to_owned(), 1)];
    assert_eq!((e.count, &e.messages[..]), (2, &messages[..]));
    let mut ways: Vec<_> = (e.paths.iter())
        .map(|(way, n)| (*n, name(way.thrown), name(way.left), way.caught.map(name)))
        .collect();
    ways.sort();
    let way = |left: &str, caught: &str| {
        let thrown = "Stock.take".to_owned();
        (1, thrown, left.to_owned(), Some(caught.to_owned()))
    };
    assert_eq!(
        ways,
        [
            way("Orders.place", "Main.main"),
            way("Stock.take", "Orders.place")
        ]
    );
}

/// Message, count, thrown in, left, caught by of each way.
fn ways(a: &Analysis) -> Vec<(&str, u64, u32, u32, Option<u32>)> {
    let all = a.exceptions.iter();
    all.flat_map(|e| e.paths.iter().map(|p| (e.message(), p)))
        .map(|(message, &(path, n))| (message, n, path.thrown, path.left, path.caught))
        .collect()
}

#[test]
fn an_exception_is_one_wherever_its_awaiters_began() {
    // Thread 2 has its records in one segment, which is read first: main begins place, which begins take, on thread 1.
    let began = |chunk: Chunk, call| {
        (chunk.resume(0, 1, call, true))
            .resume(1, 2, call + 1, true)
            .resume(1, 3, call + 2, true)
            .exit(1, 3)
            .exit(1, 2)
            .exit(1, 1)
    };
    let ended = |chunk: Chunk, call| {
        (chunk.resume(10, 3, call + 2, false))
            .exception("E", "late")
            .fail(5, 3, call + 2)
            .resume(1, 2, call + 1, false)
            .fail(5, 2, call + 1)
            .resume(1, 1, call, false)
            .end(1, 1, call)
    };
    let first = Chunk::records(2, 0, 0).enter(0, 4).exit(1, 4);
    let chunks = |order: bool| {
        let one = began(Chunk::records(1, 0, 10), 10);
        let two = ended(
            Chunk::records(2, 0, if order { 50 } else { 0 }).time(50),
            10,
        );
        trace([one, two])
    };
    let rows = |a: &Analysis| -> Vec<u32> {
        (["main", "place", "take"].iter())
            .map(|name| {
                let found = a
                    .methods
                    .rows()
                    .iter()
                    .position(|m| m.name().ends_with(name));
                found.unwrap() as u32
            })
            .collect()
    };
    for order in [true, false] {
        let a = chunks(order);
        let [main, place, take] = rows(&a)[..] else {
            panic!("three methods")
        };
        assert_eq!(ways(&a), [("late", 1, take, place, Some(main))], "{order}");
    }
    // Many of them, more than are waited with.
    let (mut one, mut two) = (Chunk::records(1, 0, 10), first.time(50));
    for call in 1..=100 {
        (one, two) = (began(one, call * 10), ended(two, call * 10));
    }
    let a = trace([one, two]);
    let thrown: u64 = a.exceptions.iter().map(|e| e.count).sum();
    assert_eq!(thrown, 100 + (100 - 32));
}

#[test]
fn what_an_ordinary_method_begins_is_awaited_by_the_logical_call_around_it() {
    // main, a logical call, calls place, which begins take and returns.
    let a = trace([
        Chunk::records(1, 0, 0)
            .resume(0, 1, 10, true)
            .enter(1, 2)
            .resume(1, 3, 11, true)
            .exit(1, 3)
            .exit(1, 2)
            .exit(1, 1),
        Chunk::records(2, 0, 100)
            .resume(0, 3, 11, false)
            .exception("E", "late")
            .fail(5, 3, 11)
            .resume(1, 1, 10, false)
            .fail(5, 1, 10),
    ]);
    assert_eq!(ways(&a), [("late", 1, 2, 0, None)]);
}

#[test]
fn numbers_of_threads_are_unsigned() {
    let a = trace([
        Chunk::records(u32::MAX, 0, 10)
            .thread(u32::MAX, 1, "last")
            .enter(0, 1)
            .exit(10, 1),
        Chunk::records(1 << 31, u32::MAX - 1, 10)
            .enter(0, 1)
            .segment(7, 0, 20)
            .enter(0, 2)
            .exit(1, 2),
        Chunk::records(1 << 31, u32::MAX, 30).exit(0, 1),
    ]);
    let threads: Vec<_> = a
        .threads
        .iter()
        .map(|t| (t.number, t.calls, t.busy))
        .collect();
    assert_eq!(threads, [(7, 1, 1), (1 << 31, 1, 20), (u32::MAX, 1, 10)]);
    assert!(a.processes[0].notes.lines().is_empty());
}

#[test]
fn a_ring_that_is_overwritten_while_it_is_read_yields_what_is_left() {
    use std::io::{Seek, SeekFrom, Write};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.wtrace");
    let bytes = (TraceBuilder::new("", 1, 0).killed())
        .symbols(&shop_symbols(), 65_504, &[])
        .push(Chunk::records(1, 0, 10).enter(0, 1).enter(1, 2))
        .push(Chunk::records(1, 1, 20).exit(5, 2).enter(1, 2))
        .push(Chunk::records(1, 2, 30).exit(5, 2).exit(1, 1))
        .bytes();
    std::fs::write(&path, &bytes).unwrap();
    let trace = Trace::open(&path).unwrap();
    // The process takes the first chunk for its newest records.
    let mut newest = Chunk::records(1, 3, 40);
    for _ in 0..20 {
        newest = newest.enter(1 << 20, 4);
    }
    let mut newest = newest.bytes();
    newest[8] = 99;
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(2 * CHUNK as u64)).unwrap();
    file.write_all(&newest).unwrap();
    let mut analyzer = Analyzer::new(Options::default());
    analyzer.add(&trace);
    let a = analyzer.finish();
    assert!(a.stats.iter().all(|s| s.own <= s.total), "{:?}", rows(&a));
    assert_eq!(a.processes[0].missing, 1);
    let notes = a.processes[0].notes.lines();
    assert!(
        notes
            .iter()
            .any(|n| n.starts_with("1 segment overwritten by the process")),
        "{notes:?}"
    );
}

#[test]
fn samples_of_the_process_are_no_thread_and_no_record() {
    let own = Chunk::records(9, 0, 0)
        .thread(9, THREAD_DAEMON | THREAD_OWN, "weave-process")
        .sample(1_000, &[(1, 5), (7, 3)])
        .sample(2_000, &[(1, 9), (7, 4), (200, 1)]);
    let calls = Chunk::records(1, 0, 0).enter(5, 7).exit(5, 7);
    let builder = TraceBuilder::new("shop", 1, 0).push(own).push(calls);
    let trace = Trace::from_bytes("a.wtrace", builder.bytes()).unwrap();
    assert_eq!((trace.records(), trace.threads().len()), (2, 1));
    let readings: Vec<_> = (trace.readings().iter())
        .map(|r| (r.time, r.metric, r.value))
        .collect();
    assert_eq!(
        readings,
        [
            (1_000, 1, 5),
            (1_000, 7, 3),
            (2_000, 1, 9),
            (2_000, 7, 4),
            (2_000, 200, 1)
        ]
    );
    assert_eq!(trace.notes().lines(), [""; 0]);
    assert_eq!(trace.end(), 2_000);
}

#[test]
fn too_many_samples_are_left_out_and_said() {
    let mut builder = TraceBuilder::new("shop", 1, 0);
    let values: Vec<(u8, u64)> = (0..2_000).map(|n| (1, n)).collect();
    builder = builder.push(Chunk::records(9, 0, 0).sample(1, &values));
    let trace = Trace::from_bytes("a.wtrace", builder.bytes()).unwrap();
    assert_eq!(trace.readings().len(), 1 << 10);
    assert_eq!(
        trace.notes().lines(),
        ["976 readings of the process left out: too many"]
    );
}

fn looked_at(bytes: &[u8], window: Window, roots: &[&str]) -> Analysis {
    let roots: Vec<String> = roots.iter().map(|&r| r.to_owned()).collect();
    let mut analyzer = Analyzer::new(Options {
        tree: true,
        window,
        roots: Roots::new(&roots, Default::default()),
        ..Options::default()
    });
    analyzer.add(&Trace::from_bytes("t", bytes.to_vec()).unwrap());
    analyzer.finish()
}

proptest! {
    #[test]
    fn windows_that_meet_make_the_whole_where_records_are_lost(
        records in prop::collection::vec((0u32..12, 0u64..100, 1u32..5), 0..200),
        cut in 1u64..20_000,
    ) {
        let mut chunk = Chunk::records(1, 0, 100);
        for (kind, delta, id) in records {
            chunk = match kind {
                0..5 => chunk.enter(delta, id),
                5..9 => chunk.exit(delta, id),
                9 => chunk.error(delta, id),
                10 => chunk.exception("a.E", "").error(delta, id),
                _ => chunk.lost(1),
            };
        }
        let last = Chunk::records(1, 2, 15_000).exit(5, 1).exit(5, 2);
        let bytes = TraceBuilder::new("", 1, 0)
            .symbols(&shop_symbols(), 65_504, &[])
            .push(chunk)
            .push(last)
            .bytes();
        let whole = looked_at(&bytes, Window::default(), &[]);
        let parts = [between(0, cut), between(cut, u64::MAX)].map(|w| looked_at(&bytes, w, &[]));
        let sum = |a: &Analysis, of: fn(&summary::Stats) -> u64| a.stats.iter().map(of).sum::<u64>();
        let all: [fn(&summary::Stats) -> u64; 3] = [|s| s.own, |s| s.total, |s| s.errors];
        for of in all {
            prop_assert_eq!(sum(&whole, of), parts.iter().map(|a| sum(a, of)).sum::<u64>());
        }
    }
}

fn between(from: u64, until: u64) -> Window {
    Window {
        from: Some(Moment::Since(from)),
        until: Some(Moment::Since(until)),
    }
}

#[test]
fn of_a_window_only_what_lies_in_it_counts() {
    let bytes = TraceBuilder::new("", 1, 1_000)
        .symbols(&shop_symbols(), 65_504, &[])
        .push(
            // main 100 to 900; place 200 to 400 and 500 to 800, take 600 to 700 by an exception.
            Chunk::records(1, 0, 100)
                .enter(0, 1)
                .enter(100, 2)
                .exit(200, 2)
                .enter(100, 2)
                .enter(100, 3)
                .exception("T", "")
                .error(100, 3)
                .exit(100, 2)
                .exit(100, 1),
        )
        .bytes();
    let a = looked_at(&bytes, between(300, 650), &[]);
    let expected = [
        row("Main.main", 1, 350, 100),
        row("Orders.place", 2, 250, 200),
        row("Stock.take", 1, 50, 50),
    ];
    assert_eq!(rows(&a), expected);
    // One place ended in the window, after 200 ns; what goes on runs.
    let place = &a.stats[1];
    assert_eq!((place.running, place.min, place.max), (1, Some(200), 200));
    assert_eq!((place.errors, a.exceptions.len()), (0, 0));
    assert_eq!(a.threads[0].busy, 350);
    assert_eq!(a.tree.total(), 350);
    let a = looked_at(&bytes, between(650, 5_000), &[]);
    assert_eq!((a.stats[2].errors, a.exceptions[0].count), (1, 1));
    assert_eq!(a.stats[1].calls, 1);
    let a = looked_at(&bytes, between(2_000, 5_000), &[]);
    assert!(a.stats.iter().all(|s| s.calls == 0) && a.tree.nodes().is_empty());
}

#[test]
fn below_a_root_depth_and_recursion_start_anew() {
    let bytes = TraceBuilder::new("", 1, 1_000)
        .symbols(&shop_symbols(), 65_504, &[])
        .push(
            // take calls main, which is the root, which calls take and itself; another take is below none.
            Chunk::records(1, 0, 0)
                .enter(0, 3)
                .enter(100, 1)
                .enter(100, 3)
                .exception("T", "")
                .error(100, 3)
                .enter(0, 1)
                .exit(50, 1)
                .exit(50, 1)
                .exception("U", "")
                .error(100, 3)
                .enter(100, 3)
                .exit(100, 3),
        )
        .bytes();
    let a = looked_at(&bytes, Window::default(), &["*Main.main*"]);
    let expected = [
        row("Stock.take", 1, 100, 100),
        row("Main.main", 2, 300, 200),
    ];
    assert_eq!(rows(&a), expected);
    let nodes: Vec<(u32, u64)> = (a.tree.nodes().iter())
        .map(|n| (n.depth, n.total))
        .collect();
    assert_eq!(nodes, [(0, 300), (1, 100), (1, 50)]);
    assert_eq!((a.threads[0].calls, a.threads[0].busy), (3, 300));
    let thrown: Vec<&str> = a.exceptions.iter().map(|e| &*e.type_name).collect();
    assert_eq!(thrown, ["T"]);
}

#[test]
fn logical_calls_are_cut_at_a_window_and_stay_below_their_root() {
    // main begins place on thread 1 at 110; place goes on in thread 2 from 300 to 400. A second place has no root.
    let bytes = TraceBuilder::new("", 1, 1_000)
        .symbols(&shop_symbols(), 65_504, &[])
        .push(
            Chunk::records(1, 0, 100)
                .enter(0, 1)
                .resume(10, 2, 77, true)
                .exit(40, 2)
                .exit(50, 1)
                .resume(10, 2, 78, true)
                .exit(10, 2),
        )
        .push(
            Chunk::records(2, 0, 300)
                .resume(0, 2, 77, false)
                .enter(10, 3)
                .exit(10, 3)
                .end(80, 2, 77)
                .resume(10, 2, 78, false)
                .end(10, 2, 78),
        )
        .bytes();
    let a = looked_at(&bytes, between(140, 350), &[]);
    let place = &a.stats[1];
    assert_eq!((place.calls, place.total), (2, 210 + 140));
    assert_eq!((place.logical.open, place.min), (2, None));
    let a = looked_at(&bytes, between(140, 405), &[]);
    assert_eq!((a.stats[1].min, a.stats[1].logical.open), (Some(290), 1));
    let a = looked_at(&bytes, Window::default(), &["Main.main"]);
    let place = &a.stats[1];
    assert_eq!(
        (place.calls, place.total, place.logical.pieces),
        (1, 290, 2)
    );
    let take = a
        .methods
        .rows()
        .iter()
        .position(|m| m.name().ends_with("take"));
    assert_eq!(a.stats[take.unwrap()].calls, 1);
}

proptest! {
    /// Windows that meet share out all times and all calls that ended.
    #[test]
    fn windows_that_meet_make_the_whole(cut in 0u64..120_000_000) {
        let bytes = shop().bytes();
        let whole = looked_at(&bytes, Window::default(), &[]);
        let parts = [between(0, cut), between(cut, u64::MAX)].map(|w| looked_at(&bytes, w, &[]));
        let sum = |a: &Analysis, of: fn(&summary::Stats) -> u64| a.stats.iter().map(of).sum::<u64>();
        for of in [
            (|s: &summary::Stats| s.own) as fn(&summary::Stats) -> u64,
            |s| s.total,
            |s| s.errors,
            |s| s.calls - s.running,
        ] {
            prop_assert_eq!(sum(&whole, of), parts.iter().map(|a| sum(a, of)).sum::<u64>());
        }
        let thrown = |a: &Analysis| a.exceptions.iter().map(|e| e.count).sum::<u64>();
        prop_assert_eq!(thrown(&whole), parts.iter().map(thrown).sum::<u64>());
        prop_assert_eq!(whole.tree.total(), parts.iter().map(|a| a.tree.total()).sum::<u64>());
    }
}
