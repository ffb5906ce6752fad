//! Any bytes as a trace: an error or a report, never a panic, a hang or memory out of proportion.
//!
//! The input is a header's remainder and, as 4 KB pieces, the beginnings of chunks: whole chunks
//! would spend the fuzzer's time on zeros.

use weave::internals::trace::diff::{Judgement, Runs, compare};
use weave::internals::trace::export::{Format, Selection, Weight, otlp, processes, walk};
use weave::internals::trace::format::{CHUNK, MAGIC, VERSION};
use weave::internals::trace::page::{self, Calls};
use weave::internals::trace::query::Query;
use weave::internals::trace::values::{json, shown};
use weave::internals::trace::{Analysis, Analyzer, Options, Trace, flame};

pub fn run(data: &[u8]) {
    let _ = Trace::from_bytes("raw", data.to_vec());
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&0u16.to_le_bytes());
    bytes.extend_from_slice(&(CHUNK as u32).to_le_bytes());
    let (header, chunks) = data.split_at(data.len().min(128));
    bytes.extend_from_slice(header);
    bytes.resize(CHUNK, 0);
    for chunk in chunks.chunks(4096) {
        let start = bytes.len();
        bytes.extend_from_slice(chunk);
        if chunk.len() == 4096 {
            bytes.resize(start + CHUNK, 0);
        }
    }
    let Ok(trace) = Trace::from_bytes("fuzz", bytes) else {
        return;
    };
    export(&trace);
    show(&trace);
    diff(&trace);
    ask(&trace);
    let mut analyzer = Analyzer::new(Options {
        tree: true,
        ..Options::default()
    });
    analyzer.add(&trace);
    let analysis = analyzer.finish();
    let labels = analysis.methods.labels();
    let mut out = std::io::sink();
    flame::draw(
        &mut out,
        flame::Form::Svg,
        "",
        &analysis.tree,
        &labels,
        &|_| true,
    )
    .unwrap();
}

/// Single calls, and sums by a value, of which few rows are kept.
fn ask(trace: &Trace) {
    let find = |query: Query| {
        let mut analyzer = Analyzer::new(Options {
            query,
            ..Options::default()
        });
        analyzer.add(trace);
        analyzer.finish()
    };
    let calls = |a: &Analysis, by_value: bool| -> u64 {
        let rows = a.methods.rows().iter().zip(&a.stats);
        let rows = rows.filter(|(method, _)| method.of_value().is_some() == by_value);
        rows.map(|(_, stats)| stats.calls).sum()
    };
    let listed = find(Query {
        calls: Some(7),
        ..Query::default()
    });
    assert_eq!(listed.calls.len() as u64, listed.fitting.min(7));
    for call in &listed.calls {
        let _ = (shown(&call.values), json(&call.values));
    }
    let by = find(Query {
        by: Some("value 0".to_owned()),
        conditions: vec!["value 0=*".parse().unwrap()],
        ..Query::default()
    });
    assert_eq!(calls(&by, true), calls(&by, false));
    assert!(calls(&by, true) <= listed.fitting);
}

/// Every format takes what the trace yields.
fn export(trace: &Trace) {
    let selection = Selection {
        min: 3,
        depth: Some(100),
        ..Selection::default()
    };
    for format in [
        Format::Perfetto,
        Format::Chrome,
        Format::Speedscope,
        Format::Folded(Weight::Own),
        Format::Csv,
        Format::Parquet,
    ] {
        let mut sink = format
            .sink(Box::new(std::io::sink()), |task| task())
            .unwrap();
        for process in processes(std::slice::from_ref(trace)) {
            walk(&process, &[], &selection, &mut *sink, 1, &mut |_| {}).unwrap();
        }
        sink.finish().unwrap();
    }
    let options = otlp::Options {
        selection,
        spans: true,
        metrics: true,
        events: true,
        logs: true,
        root_kind: otlp::Kind::Server,
        resource: Vec::new(),
    };
    let mut session = otlp::session(trace.header(), options, Vec::new());
    assert!(session.whole(trace, &mut |_| true, &mut |_| {}));
}

/// So does the page, of which few calls are kept.
fn show(trace: &Trace) {
    let mut calls = Calls::new(100, trace.end());
    for process in processes(std::slice::from_ref(trace)) {
        walk(
            &process,
            &[],
            &Selection::default(),
            &mut calls,
            1,
            &mut |_| {},
        )
        .unwrap();
    }
    calls.finish();
    page::write(&mut std::io::sink(), "", &serde_json::json!({}), &calls).unwrap();
}

/// A trace compares with itself.
fn diff(trace: &Trace) {
    let side = || {
        let mut runs = Runs::new(Options {
            tree: true,
            ..Options::default()
        });
        runs.add(trace);
        runs.end_run();
        runs.add(trace);
        runs.end_run();
        runs.finish(&[])
    };
    let (before, after) = (side(), side());
    let of = compare(&before, &after, Judgement::default(), &|_| true);
    assert!(of.rows.iter().all(|row| !of.differs(row)));
    assert_eq!(
        of.tree(&before, &after).tree.nodes().len(),
        before.analysis.tree.nodes().len()
    );
}
