//! Which calls a page shows, and that its blocks hold them.

use super::*;
use crate::trace::Trace;
use crate::trace::export::{Selection, processes, walk};
use crate::trace::testing::{
    Chunk, TraceBuilder, sampled, shop, shop_symbols, valued, valued_symbols,
};
use libdeflater::Decompressor;

fn calls(traces: &[Trace], most: usize) -> Calls {
    let end = traces.iter().map(Trace::end).max().unwrap();
    let mut calls = Calls::new(most, end);
    for process in &processes(traces) {
        walk(
            process,
            &[],
            &Selection::default(),
            &mut calls,
            1,
            &mut |_| {},
        )
        .unwrap();
    }
    calls.finish();
    calls
}

/// The columns of the first track: start, duration, name, depth, flags.
fn first_track(calls: &Calls) -> Vec<[u64; 5]> {
    let bytes = calls.columns();
    let mut at = 0;
    let mut number = || {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = bytes[at];
            at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    };
    let n = number() as usize;
    let mut rows = vec![[0; 5]; n];
    for column in 0..5 {
        rows.iter_mut().for_each(|row| row[column] = number());
    }
    let mut last = 0;
    for row in &mut rows {
        row[0] += last;
        last = row[0];
    }
    rows
}

/// A thread with calls of all lengths in one another: `place` of 1000 + i calls `take` of i nanoseconds.
fn ladder(n: u64) -> Trace {
    let mut chunk = Chunk::records(1, 0, 0).enter(0, 1);
    for i in 0..n {
        chunk = chunk.enter(10, 2).enter(500, 3).exit(i, 3).exit(500, 2);
    }
    let trace = TraceBuilder::new("", 1, 0)
        .symbols(&shop_symbols(), 65_504, &[])
        .push(chunk.exit(10, 1));
    Trace::from_bytes("a.wtrace", trace.bytes()).unwrap()
}

#[test]
fn all_calls_are_there_where_they_fit() {
    let traces = [Trace::from_bytes("a.wtrace", shop().bytes()).unwrap()];
    let calls = calls(&traces, 1_000);
    assert_eq!(kept(&calls), (15, 15, 0));
    assert_eq!(calls.tracks.len(), 3);
    let name = |name: u64| calls.names()[name as usize].split('(').next().unwrap();
    let rows: Vec<_> = (first_track(&calls).iter().take(6))
        .map(|&[start, duration, of, depth, flags]| (start, duration, name(of), depth, flags))
        .collect();
    let (main, place) = ("com.acme.Main.main", "com.acme.Orders.place");
    assert_eq!(
        rows,
        [
            (1_000_000, 119_000_000, main, 0, 2),
            (2_000_000, 6_002_000, place, 1, 0),
            (2_000_500, 1_500, "com.acme.Orders$Order.<init>", 2, 0),
            (4_002_000, 3_000_000, "com.acme.Stock.take", 2, 0),
            (9_002_000, 60_010, place, 1, 1 | 8),
            (9_002_010, 40_000, "com.acme.Stock.take", 2, 1 | 8),
        ]
    );
    assert!(calls.activity(&calls.tracks[0]).is_empty());
}

fn kept(calls: &Calls) -> (u64, u64, u64) {
    let kept = calls.kept();
    (kept.calls, kept.of, kept.least)
}

#[test]
fn of_many_calls_the_longest_stay_with_their_callers() {
    // Enough that the bound is found several times on the way.
    let traces = [ladder(1_900)];
    let calls = calls(&traces, 100);
    let (kept, all, least) = kept(&calls);
    assert_eq!(all, 1 + 2 * 1_900);
    let rows = first_track(&calls);
    assert_eq!((kept, rows.len()), (100, 100));
    assert_eq!(least, 1_000 + 1_900 - 99);
    assert!(rows.iter().all(|row| row[1] >= least));
    assert_eq!(
        (rows[0][3], rows.iter().filter(|row| row[3] == 1).count()),
        (0, 99)
    );
    let starts: Vec<u64> = rows.iter().map(|row| row[0]).collect();
    assert!(starts.is_sorted());
    let busy = calls.activity(&calls.tracks[0]);
    assert!(
        busy[..1_000].iter().all(|&b| b > 250),
        "main runs all the time"
    );
}

#[test]
fn threads_keep_no_more_room_than_their_calls_take() {
    // Each thread has more calls than the page takes; those of the last are the longest.
    let mut trace = TraceBuilder::new("", 1, 0).symbols(&shop_symbols(), 65_504, &[]);
    for thread in 1..=40u32 {
        let mut chunk = Chunk::records(thread, 0, 0);
        for _ in 0..2_000 {
            chunk = chunk.enter(10, 2).exit(u64::from(thread), 2);
        }
        trace = trace.push(chunk);
    }
    let traces = [Trace::from_bytes("a.wtrace", trace.bytes()).unwrap()];
    let all = calls(&traces, 200_000);
    assert_eq!((all.tracks.len(), all.room()), (40, 80_000));
    let longest = calls(&traces, 2_000);
    assert_eq!((longest.tracks.len(), longest.kept().calls), (1, 2_000));
    assert_eq!(longest.room(), 2_000);
}

#[test]
fn equal_calls_leave_together() {
    let mut chunk = Chunk::records(1, 0, 0);
    for _ in 0..3_000 {
        chunk = chunk.enter(10, 2).exit(10, 2);
    }
    let trace = TraceBuilder::new("", 1, 0).push(chunk.enter(5, 1).exit(50, 1));
    let traces = [Trace::from_bytes("a.wtrace", trace.bytes()).unwrap()];
    assert_eq!(kept(&calls(&traces, 10)), (1, 3_001, 11));
}

#[test]
fn logical_calls_keep_their_pieces() {
    let chunk = Chunk::records(1, 0, 0)
        .resume(5, 2, 77, true)
        .exit(10, 2)
        .resume(50, 2, 77, false)
        .end(10, 2, 77)
        .resume(5, 3, 78, true)
        .exit(1, 3);
    let trace = TraceBuilder::new("", 1, 0)
        .symbols(&shop_symbols(), 65_504, &[])
        .push(chunk);
    let traces = [Trace::from_bytes("a.wtrace", trace.bytes()).unwrap()];
    let calls = calls(&traces, 1_000);
    assert_eq!(calls.logical(), 2);
    let flags: Vec<u64> = first_track(&calls).iter().map(|row| row[4]).collect();
    assert_eq!(flags, [4, 4, 4]);
    // Behind the pieces' numbers: start, duration, name, trace and outcome of both.
    let name = |part: &str| calls.names().iter().position(|n| n.contains(part)).unwrap() as u8;
    let (place, take) = (name("Orders.place"), name("Stock.take"));
    let end = [0, 0, 1, 5, 70, place, 0, 0, 75, 1, take, 0, 2];
    let bytes = calls.columns();
    assert!(bytes.ends_with(&end), "{bytes:?}");
}

#[test]
fn a_page_is_one_file_that_no_name_breaks_out_of() {
    let mut w = crate::symbols::Writer::default();
    w.ty("x/T", "");
    w.method(1, "</script><script>alert(1)//{{calls}}", "()V", 0);
    let trace = TraceBuilder::new("</title>{{meta}}", 1, 10)
        .symbols(&w.finish(), 4_000, &[])
        .push(Chunk::records(1, 0, 0).enter(0, 1).exit(9, 1));
    let traces = [Trace::from_bytes("a.wtrace", trace.bytes()).unwrap()];
    let calls = calls(&traces, 10);
    let mut out = Vec::new();
    write(&mut out, "</title>{{meta}}", &json!({}), &calls).unwrap();
    let page = String::from_utf8(out).unwrap();
    assert_eq!(page.matches("</script>").count(), 3);
    assert!(page.contains("<title>&lt;/title&gt;{{meta}} · weave</title>"));
    assert!(!page.contains("alert(1)") && !page.contains("http://") && !page.contains("https://"));
    let meta = meta(&page);
    assert_eq!(
        meta["names"][0],
        "x.T.</script><script>alert(1)//{{calls}}()"
    );
    assert_eq!(meta["timeline"]["tracks"][0]["name"], "thread 1");
}

/// What a page's script finds beside the calls.
fn meta(page: &str) -> Value {
    let block = page.split("id=\"meta\">").nth(1).unwrap();
    let packed = STANDARD.decode(block.split('<').next().unwrap()).unwrap();
    let mut bytes = vec![0; 10_000];
    let size = Decompressor::new()
        .deflate_decompress(&packed, &mut bytes)
        .unwrap();
    serde_json::from_slice(&bytes[..size]).unwrap()
}

/// The labels of the nodes that a page's tree has.
fn tree_of(trace: &Trace) -> (Vec<String>, u64) {
    let mut analyzer = crate::trace::Analyzer::new(crate::trace::Options {
        tree: true,
        ..Default::default()
    });
    analyzer.add(trace);
    let a = analyzer.finish();
    let mut calls = Calls::new(10, trace.end());
    let visible = vec![true; a.tree.nodes().len()];
    let value = tree(&a.tree, &visible, &mut calls, &a.methods.labels(), &[]);
    let names = value["name"].as_array().unwrap().iter();
    let names = names.map(|name| calls.names()[name.as_u64().unwrap() as usize].clone());
    let names: Vec<String> = names.collect();
    let parents = value["parent"].as_array().unwrap().iter();
    for (i, parent) in parents.enumerate() {
        assert!(parent.as_i64().unwrap() < i as i64);
    }
    (names, value["left_out"].as_u64().unwrap())
}

#[test]
fn what_fails_is_in_the_tree_however_long_others_wait() {
    // A pool waits for an hour; a request fails in no time.
    let waits = Chunk::records(1, 0, 0)
        .enter(0, 4)
        .time(3_600_000_000_000)
        .exit(0, 4);
    let fails = (Chunk::records(2, 0, 0).enter(0, 1).enter(1, 2).enter(1, 3))
        .exception("E", "")
        .error(5, 3)
        .error(1, 2)
        .exit(1, 1);
    let builder = TraceBuilder::new("", 1, 0).symbols(&shop_symbols(), 65_504, &[]);
    let trace = Trace::from_bytes("t", builder.push(waits).push(fails).bytes()).unwrap();
    let (names, left_out) = tree_of(&trace);
    assert_eq!((names.len(), left_out), (4, 0));
    // Of too many paths: a hundred that take long, one that fails.
    let mut chunk = Chunk::records(1, 0, 0);
    for id in 100..200 {
        chunk = chunk
            .enter(1, 4)
            .enter(1, id)
            .enter(1, 5)
            .exit(1_000, 5)
            .exit(1, id)
            .exit(1, 4);
    }
    chunk = chunk
        .enter(1, 6)
        .enter(1, 5)
        .exception("E", "")
        .error(1, 5)
        .exit(1, 6);
    let builder = TraceBuilder::new("", 1, 0).symbols(&shop_symbols(), 65_504, &[]);
    let trace = Trace::from_bytes("t", builder.push(chunk).bytes()).unwrap();
    let (names, left_out) = tree_of(&trace);
    assert!(
        names.len() <= MAX_NODES + 2 && left_out > 100,
        "{}",
        names.len()
    );
    assert!(
        names.iter().any(|name| name.contains("compareTo")),
        "{names:?}"
    );
}

#[test]
fn calls_have_their_values() {
    let traces = [Trace::from_bytes("a.wtrace", valued().bytes()).unwrap()];
    let calls = calls(&traces, 1_000);
    let values: Vec<&str> = calls.values().iter().map(|text| &**text).collect();
    assert_eq!(values.len(), 8);
    assert!(
        values.contains(&"item=\"milk\\n=1+1\" result=(toString threw)"),
        "{values:?}"
    );
    let with = first_track(&calls)
        .iter()
        .filter(|row| row[4] & 16 != 0)
        .count();
    assert_eq!(with, 8);
    let page = |calls: &Calls| {
        let mut page = Vec::new();
        write(&mut page, "", &json!({}), calls).unwrap();
        meta(&String::from_utf8(page).unwrap())
    };
    assert_eq!(page(&calls)["values"].as_array().unwrap().len(), 8);
    let traces = [Trace::from_bytes("a.wtrace", shop().bytes()).unwrap()];
    assert!(
        page(&self::calls(&traces, 1_000)).get("values").is_none(),
        "nothing more where there are none"
    );
}

#[test]
fn of_too_many_values_those_of_the_longest_calls_are_kept() {
    let chunk = (0..400).fold(Chunk::records(1, 0, 0), |chunk, i| {
        let text = format!("{i:03} {}", "x".repeat(26));
        chunk.text_value(3, 0, false, &text).enter(10, 3).exit(i, 3)
    });
    let trace = TraceBuilder::new("", 1, 0)
        .symbols(&valued_symbols(), 65_504, &[])
        .push(chunk);
    let calls = self::calls(
        &[Trace::from_bytes("a.wtrace", trace.bytes()).unwrap()],
        1_000,
    );
    let bytes: usize = calls.values().iter().map(|text| text.len()).sum();
    assert!(
        (calls::VALUES / 4..=calls::VALUES).contains(&bytes),
        "{bytes}"
    );
    let rows = first_track(&calls);
    assert_eq!(rows.len(), 400);
    let shortest = rows
        .iter()
        .filter(|row| row[4] & 16 != 0)
        .map(|row| row[1])
        .min()
        .unwrap();
    let longer = rows.iter().filter(|row| row[1] >= shortest);
    assert!(longer.clone().all(|row| row[4] & 16 != 0));
    assert_eq!(longer.count(), calls.values().len());
}

#[test]
fn calls_say_what_they_stand_for_and_trees_what_is_an_estimate() {
    let traces = [Trace::from_bytes("a.wtrace", sampled().bytes()).unwrap()];
    let mut of_page = calls(&traces, 1_000);
    let flags: Vec<u64> = first_track(&of_page).iter().map(|row| row[4]).collect();
    let weight = u64::from(32u8);
    let failed = weight | 1 | 8;
    assert_eq!(flags, [0, weight, weight, 0, failed, weight, weight]);
    // Behind the flags, of each call that has them: weights, an exception's number in front of one.
    let bytes = of_page.columns();
    assert!(bytes.ends_with(&[100, 100, 0, 100, 7, 7]), "{bytes:?}");
    let mut analyzer = crate::trace::Analyzer::new(crate::trace::Options {
        tree: true,
        ..Default::default()
    });
    analyzer.add(&traces[0]);
    let analysis = analyzer.finish();
    let labels = analysis.methods.labels();
    let all = vec![true; analysis.tree.nodes().len()];
    let shown = tree(&analysis.tree, &all, &mut of_page, &labels, &[]);
    assert_eq!(shown["calls"], json!([1, 200, 100, 1, 7, 7]));
    assert_eq!(shown["estimated_from"], json!([0, 2, 1, 0, 1, 1]));
}
