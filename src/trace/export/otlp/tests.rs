//! What becomes of calls, and of requests.

use super::proto::{MetricsRequest, Span, TraceRequest, Value};
use super::*;
use crate::spans::SpanRule;
use crate::symbols;
use crate::trace::Roots;
use crate::trace::Trace;
use crate::trace::testing::{
    Chunk, TraceBuilder, requests, sampled, sampled_symbols, shop, shop_symbols, shop_with_samples,
    staying, valued, valued_symbols,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn all() -> Options {
    Options {
        selection: Selection::default(),
        spans: true,
        metrics: true,
        events: true,
        logs: true,
        root_kind: Kind::default(),
        resource: Vec::new(),
    }
}

fn sent(trace: &Trace, options: Options) -> Vec<Batch> {
    let mut batches = Vec::new();
    let mut session = session(trace.header(), options, Vec::new());
    let emit = &mut |batch| {
        batches.push(batch);
        true
    };
    assert!(session.whole(trace, emit, &mut |_| {}));
    batches
}

fn spans(batches: &[Batch]) -> Vec<Span> {
    let batches = batches.iter().filter(|b| b.signal == Signal::Traces);
    let requests = batches.map(|b| TraceRequest::decode(&*b.body).unwrap());
    let groups = requests.flat_map(|r| r.resource_spans);
    groups
        .flat_map(|g| g.scope_spans)
        .flat_map(|s| s.spans)
        .map(|span| Span::decode(&*span).unwrap())
        .collect()
}

fn value(attributes: &[KeyValue], key: &str) -> Option<Value> {
    let found = attributes.iter().find(|a| a.key == key)?;
    found.value.as_ref()?.value.clone()
}

fn trace(builder: TraceBuilder) -> Trace {
    Trace::from_bytes("t.wtrace", builder.bytes()).unwrap()
}

#[test]
fn calls_become_spans_in_their_callers() {
    let trace = trace(shop());
    let spans = spans(&sent(&trace, all()));
    let by_id: BTreeMap<&[u8], &Span> = spans.iter().map(|s| (&*s.span_id, s)).collect();
    assert_eq!((by_id.len(), spans.len()), (15, 15));
    let fails: Vec<&Span> = spans.iter().filter(|s| s.status.is_some()).collect();
    assert_eq!(fails.len(), 4);
    for span in &fails {
        assert_eq!(span.status.as_ref().unwrap().code, 2);
        let ty = value(&span.attributes, "error.type");
        for event in &span.events {
            assert_eq!(value(&event.attributes, "exception.type"), ty);
        }
    }
    // Once each, where they were thrown.
    let told: Vec<&str> = (fails.iter())
        .flat_map(|s| s.events.iter().map(move |e| (s, e)))
        .inspect(|(_, event)| assert_eq!(event.name, "exception"))
        .map(|(span, _)| &*span.name)
        .collect();
    assert_eq!(told, ["com.acme.Stock.take"; 2]);
    let resource = resource(trace.header(), &[]);
    let id = value(&resource.attributes, "service.instance.id");
    let Some(Value::Text(id)) = id else {
        panic!("{resource:?}")
    };
    assert_eq!(
        (id.len(), &id[14..15]),
        (36, "5"),
        "a UUID of version 5: {id}"
    );
    for span in spans.iter().filter(|s| !s.parent_span_id.is_empty()) {
        let parent = by_id[&*span.parent_span_id];
        assert_eq!(parent.trace_id, span.trace_id);
        assert!(parent.start_time_unix_nano <= span.start_time_unix_nano);
        assert!(parent.end_time_unix_nano >= span.end_time_unix_nano);
    }
    let fib = spans
        .iter()
        .find(|s| s.name == "com.acme.Maths.fib")
        .unwrap();
    let text = |text: &str| Some(Value::Text(text.to_owned()));
    assert_eq!(
        value(&fib.attributes, "code.function.name"),
        text("com.acme.Maths.fib")
    );
    assert_eq!(value(&fib.attributes, "code.file.path"), text("Maths.java"));
    assert_eq!(
        value(&fib.attributes, "code.line.number"),
        Some(Value::Number(40))
    );
    assert_eq!(value(&fib.attributes, "thread.name"), text("main"));
    // A thread's outermost calls begin traces of their own.
    let roots = spans.iter().filter(|s| s.parent_span_id.is_empty());
    let mut traces: Vec<&[u8]> = roots.map(|s| &*s.trace_id).collect();
    traces.sort_unstable();
    traces.dedup();
    assert_eq!(traces.len(), 3);
}

#[test]
fn the_language_is_that_of_what_was_woven() {
    let told = |command: &str, descriptor: &str, named: &[(&str, &str)]| {
        let mut map = crate::symbols::Writer::default();
        map.ty("Acme.Main", "");
        map.method(1, "Main", descriptor, 0);
        let builder = TraceBuilder::new(command, 1, 0).symbols(&map.finish(), 1_000, &[]);
        let trace = trace(builder.push(Chunk::records(1, 0, 0).enter(0, 1).exit(10, 1)));
        let mut options = all();
        let named = named
            .iter()
            .map(|(key, value)| (key.to_string(), value.to_string()));
        options.resource = named.collect();
        let batches = sent(&trace, options);
        let request = TraceRequest::decode(&*batches[0].body).unwrap();
        let resource = request.resource_spans[0].resource.clone().unwrap();
        match value(&resource.attributes, "telemetry.sdk.language") {
            Some(Value::Text(language)) => language,
            other => panic!("{other:?}"),
        }
    };
    let (jvm, dotnet) = ("([Ljava/lang/String;)V", "(System.String[])System.Void");
    assert_eq!(told("com.acme.Main --port 80", jvm, &[]), "java");
    assert_eq!(told("/opt/shop/shop", dotnet, &[]), "dotnet");
    let named = [("telemetry.sdk.language", "kotlin")];
    assert_eq!(told("com.acme.Main", jvm, &named), "kotlin");
}

#[test]
fn roots_are_traces_of_their_own() {
    // Two requests in a worker's loop (main): place is the root, calls itself, and take throws through both. fib is beside them.
    let request = |chunk: Chunk| {
        chunk
            .enter(10, 2)
            .enter(10, 2)
            .enter(10, 3)
            .exception("T", "why")
            .error(10, 3)
            .error(10, 2)
            .error(10, 2)
    };
    let chunk = Chunk::records(1, 0, 0).enter(0, 1).enter(10, 4).exit(10, 4);
    let trace = trace(
        TraceBuilder::new("shop", 1, 0)
            .symbols(&shop_symbols(), 1_000, &[])
            .push(request(request(chunk)).exit(10, 1)),
    );
    let mut options = all();
    options.selection.roots = Roots::new(&["*.Orders.place".to_owned()], Arc::default());
    let batches = sent(&trace, options.clone());
    let all_spans = spans(&batches);
    let traces: BTreeSet<&[u8]> = all_spans.iter().map(|s| &*s.trace_id).collect();
    assert_eq!((traces.len(), all_spans.len()), (2, 6));
    let roots: Vec<&Span> = (all_spans.iter())
        .filter(|s| s.parent_span_id.is_empty())
        .collect();
    assert!(
        roots
            .iter()
            .all(|s| s.name.ends_with("place") && s.kind == 2)
    );
    assert_eq!(roots.len(), 2);
    for span in &all_spans {
        assert_eq!(span.status.as_ref().unwrap().code, 2);
        let thrown_here = span.name.ends_with("take");
        assert_eq!(span.events.len(), usize::from(thrown_here), "{span:?}");
        assert_eq!(span.kind == 2, span.parent_span_id.is_empty());
    }
    let request = MetricsRequest::decode(&*batches.last().unwrap().body).unwrap();
    let calls = &request.resource_metrics[0].scope_metrics[0].metrics[0];
    let points = &calls.sum.as_ref().unwrap().data_points;
    assert_eq!(points.iter().map(|p| p.as_int.unwrap()).sum::<i64>(), 6);
    // The root is a span however short it is, and depth counts from it.
    options.selection.min = 1_000_000;
    assert_eq!(spans(&sent(&trace, options.clone())).len(), 2);
    (options.selection.min, options.selection.depth) = (0, Some(2));
    options.root_kind = Kind::Consumer;
    let two = spans(&sent(&trace, options));
    assert_eq!(two.len(), 4);
    // What threw is no span: the exception is on the first that it comes to.
    let events: Vec<usize> = two.iter().map(|s| s.events.len()).collect();
    assert_eq!(events, [1, 0, 1, 0]);
    assert_eq!(two.iter().filter(|s| s.kind == 5).count(), 2);
}

#[test]
fn roots_of_rules_hold_unless_others_are_named() {
    let traced = |root: Option<u32>| {
        let mut map = crate::symbols::Writer::default();
        map.append_map(&shop_symbols());
        if let Some(id) = root {
            map.root(id);
        }
        let chunk = Chunk::records(1, 0, 0)
            .enter(0, 1)
            .enter(10, 2)
            .enter(10, 3);
        let chunk = chunk.exit(10, 3).exit(10, 2).enter(10, 2).exit(10, 2);
        let builder = TraceBuilder::new("shop", 1, 0).symbols(&map.finish(), 1_000, &[]);
        trace(builder.push(chunk.exit(10, 1)))
    };
    let named = |name: &str| {
        let mut options = all();
        options.selection.roots = Roots::new(&[name.to_owned()], Arc::default());
        options
    };
    let told = |root, options| format!("{:?}", spans(&sent(&traced(root), options)));
    assert_eq!(told(Some(2), all()), told(None, named("*.place")));
    assert_eq!(told(Some(2), named("*.take")), told(None, named("*.take")));
    assert_ne!(told(Some(2), all()), told(None, all()));
}

#[test]
fn a_logical_call_may_be_a_root_and_what_it_begins_is_of_its_trace() {
    // place is a root in the loop of main, and begins take, which goes on in thread 2; so does a take without a root.
    let trace = trace(
        TraceBuilder::new("shop", 1, 0)
            .symbols(&shop_symbols(), 1_000, &[])
            .push(
                Chunk::records(1, 0, 100)
                    .enter(0, 1)
                    .resume(10, 2, 77, true)
                    .resume(10, 3, 78, true)
                    .exit(10, 3)
                    .exit(10, 2)
                    .resume(10, 3, 79, true)
                    .exit(10, 3)
                    .exit(50, 1),
            )
            .push(
                Chunk::records(2, 0, 90)
                    .enter(0, 4)
                    .exit(5, 4)
                    .resume(200, 3, 78, false)
                    .enter(5, 4)
                    .exit(5, 4)
                    .end(30, 3, 78)
                    .resume(1, 3, 79, false)
                    .end(10, 3, 79)
                    .resume(1, 2, 77, false)
                    .end(30, 2, 77),
            ),
    );
    let mut options = all();
    options.selection.roots = Roots::new(&["*.place".to_owned()], Arc::default());
    let spans = spans(&sent(&trace, options));
    let traces: BTreeSet<&[u8]> = spans.iter().map(|s| &*s.trace_id).collect();
    assert_eq!(traces.len(), 1, "{spans:#?}");
    let roots: Vec<&Span> = (spans.iter())
        .filter(|s| s.parent_span_id.is_empty())
        .collect();
    assert_eq!((roots.len(), roots[0].kind), (1, 2), "{roots:#?}");
    assert!(roots[0].name.ends_with("place"));
    // Two wholes, and fib below take.
    assert_eq!(spans.len(), 2 + 1);
    let find = |name: &str| spans.iter().find(|s| s.name.ends_with(name)).unwrap();
    assert_eq!(find("fib").parent_span_id, find("take").span_id);
    assert_eq!(find("take").parent_span_id, roots[0].span_id);
}

#[test]
fn logical_calls_are_of_the_trace_that_began_them_whichever_thread_is_read_first() {
    // Thread 2 is read first; main is a call of thread 1, and begins place, which begins take.
    let trace = trace(
        TraceBuilder::new("shop", 1, 0)
            .symbols(&shop_symbols(), 1_000, &[])
            .push(
                Chunk::records(1, 0, 100)
                    .enter(0, 1)
                    .resume(10, 2, 77, true)
                    .resume(10, 3, 78, true)
                    .exit(10, 3)
                    .exit(10, 2)
                    .exit(50, 1),
            )
            .push(
                Chunk::records(2, 0, 90)
                    .enter(0, 4)
                    .exit(5, 4)
                    .resume(200, 3, 78, false)
                    .enter(5, 4)
                    .exit(5, 4)
                    .end(30, 3, 78)
                    .resume(1, 2, 77, false)
                    .end(30, 2, 77),
            ),
    );
    let spans = spans(&sent(&trace, all()));
    let whole = |name: &str| {
        let of = |s: &&Span| s.name == name && value(&s.attributes, "thread.id").is_none();
        spans.iter().find(of).unwrap()
    };
    let main = spans.iter().find(|s| s.name.ends_with("main")).unwrap();
    let (place, take) = (whole("com.acme.Orders.place"), whole("com.acme.Stock.take"));
    assert_eq!(place.parent_span_id, main.span_id);
    let parent = spans.iter().find(|s| s.span_id == take.parent_span_id);
    assert_eq!(parent.unwrap().name, place.name);
    let others: Vec<&Span> = (spans.iter())
        .filter(|s| s.trace_id != main.trace_id)
        .collect();
    assert_eq!(others.len(), 1, "the first call of thread 2: {others:#?}");
    let origin = trace.header().origin;
    assert_eq!(place.start_time_unix_nano, origin + 110);
}

#[test]
fn what_is_short_or_deep_is_no_span_and_counts_all_the_same() {
    let trace = trace(shop());
    let mut options = all();
    options.selection.min = 1_000_000;
    options.selection.depth = Some(2);
    let batches = sent(&trace, options);
    let spans = spans(&batches);
    let durations = spans
        .iter()
        .map(|s| s.end_time_unix_nano - s.start_time_unix_nano);
    assert!(durations.min().unwrap() >= 1_000_000);
    let parents = |span: &Span| spans.iter().find(|s| s.span_id == span.parent_span_id);
    assert!(
        spans
            .iter()
            .all(|s| s.parent_span_id.is_empty() || parents(s).unwrap().parent_span_id.is_empty())
    );
    let metrics = batches
        .iter()
        .find(|b| b.signal == Signal::Metrics)
        .unwrap();
    let request = MetricsRequest::decode(&*metrics.body).unwrap();
    let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
    let sum = |at: usize| -> i64 {
        let points = &metrics[at].sum.as_ref().unwrap().data_points;
        points.iter().map(|p| p.as_int.unwrap()).sum()
    };
    // `main` was running when the trace ended.
    assert_eq!((&*metrics[0].name, sum(0)), ("weave.calls", 14));
    assert_eq!((&*metrics[1].name, sum(1)), ("weave.errors", 4));
    // Two methods differ in their parameters alone.
    let points = &metrics[0].sum.as_ref().unwrap().data_points;
    let mut names: Vec<&[KeyValue]> = points.iter().map(|p| &*p.attributes).collect();
    names.dedup();
    assert_eq!((names.len(), points.len()), (5, 5));
    for point in &metrics[2].histogram.as_ref().unwrap().data_points {
        assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
        assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
        assert!(point.explicit_bounds.is_sorted());
    }
}

/// The metrics of a program that records `take` in part and counts it and `fib`.
fn metrics_of_counting(options: Options) -> Vec<Metric> {
    metrics_of(
        shop().push(Chunk::counts(0, 77, &[(3, 5), (4, 1_000_000), (99, 7)])),
        options,
    )
}

fn metrics_of(builder: TraceBuilder, options: Options) -> Vec<Metric> {
    let batches = sent(&trace(builder), options);
    let batches = batches.iter().filter(|b| b.signal == Signal::Metrics);
    let mut metrics = Vec::new();
    for batch in batches {
        let request = MetricsRequest::decode(&*batch.body).unwrap();
        let of_batch = &request.resource_metrics[0].scope_metrics[0].metrics;
        let points = |m: &Metric| match (&m.sum, &m.histogram) {
            (Some(sum), _) => sum.data_points.len(),
            (_, Some(histogram)) => histogram.data_points.len(),
            _ => 0,
        };
        let points: usize = of_batch.iter().map(points).sum();
        assert_eq!(points as u64, batch.items);
        metrics.extend_from_slice(of_batch);
    }
    metrics
}

#[test]
fn calls_that_are_summed_up_are_in_all_metrics_of_calls() {
    let sums = Chunk::new(4, 0, 0, 7).aggregate(98, 80, [7, 6, 2], [3_000_000, 60]);
    let metrics = metrics_of(shop().push(sums), all());
    let summed = Some(Value::Text("[0x00000062]".to_owned()));
    let number = |name: &str| {
        let metric = metrics.iter().find(|m| m.name == name).unwrap();
        let points = &metric.sum.as_ref().unwrap().data_points;
        let point = points
            .iter()
            .find(|p| value(&p.attributes, "code.function.name") == summed);
        point.unwrap().as_int
    };
    assert_eq!(number("weave.calls"), Some(6));
    assert_eq!(number("weave.errors"), Some(2));
    let durations = metrics
        .iter()
        .find(|m| m.name == "weave.call.duration")
        .unwrap();
    let points = &durations.histogram.as_ref().unwrap().data_points;
    let point = points
        .iter()
        .find(|p| value(&p.attributes, "code.function.name") == summed);
    let point = point.unwrap();
    assert_eq!((point.count, point.max), (6, Some(0.003)));
    assert!((point.sum.unwrap() - 0.018).abs() < 1e-9);
    // Bucket 80 of the trace is of 2.1 to 2.6 ms.
    let at = point
        .explicit_bounds
        .iter()
        .position(|&bound| bound >= 0.002_2)
        .unwrap();
    assert_eq!(point.bucket_counts[at], 6);
    assert_eq!(point.bucket_counts.iter().sum::<u64>(), 6);
}

#[test]
fn calls_that_were_only_counted_are_calls_without_errors_and_durations() {
    let of = |metrics: &[Metric], name: &str, method: &str| {
        let metric = metrics.iter().find(|m| m.name == name)?;
        let sum = metric.sum.as_ref()?;
        assert!(sum.is_monotonic && sum.aggregation_temporality == 2);
        let of_method = |p: &&proto::NumberPoint| {
            value(&p.attributes, "code.function.name") == Some(Value::Text(method.to_owned()))
        };
        sum.data_points.iter().find(of_method)?.as_int
    };
    let all_calls = metrics_of_counting(all());
    let calls = |method| of(&all_calls, "weave.calls", method);
    assert_eq!(calls("com.acme.Stock.take"), Some(3 + 5));
    assert_eq!(calls("com.acme.Maths.fib"), Some(4 + 1_000_000));
    assert_eq!(calls("[0x00000063]"), Some(7));
    assert_eq!(of(&all_calls, "weave.errors", "[0x00000063]"), None);
    assert_eq!(
        of(&all_calls, "weave.errors", "com.acme.Stock.take"),
        Some(2)
    );
    let mut options = all();
    options.selection.filter = Some("0x00000063".to_owned());
    let metrics = metrics_of_counting(options);
    let names: Vec<&str> = metrics.iter().map(|m| &*m.name).collect();
    assert_eq!(names, ["weave.calls"], "nothing of errors and durations");
    // Of a thread, a window or what roots call it is not known.
    let mut options = all();
    options.selection.thread = Some("main".to_owned());
    let metrics = metrics_of_counting(options);
    assert_eq!(of(&metrics, "weave.calls", "[0x00000063]"), None);
}

#[test]
fn samples_of_the_process_are_gauges_and_sums() {
    let heap = Chunk::records(98, 0, 0).sample(1_000_000_000, &[(3, 5)]);
    let batches = sent(&trace(shop_with_samples().push(heap)), all());
    let metrics: Vec<Metric> = (batches.iter())
        .filter(|b| b.signal == Signal::Metrics)
        .flat_map(|b| {
            let request = MetricsRequest::decode(&*b.body).unwrap();
            request.resource_metrics[0].scope_metrics[0].metrics.clone()
        })
        .collect();
    let of = |name: &str| metrics.iter().find(|m| m.name == name).unwrap();
    let cpu = of("process.cpu.time");
    assert_eq!((&*cpu.unit, cpu.gauge.is_none()), ("s", true));
    let sum = cpu.sum.as_ref().unwrap();
    let values: Vec<f64> = (sum.data_points.iter())
        .map(|p| p.as_double.unwrap())
        .collect();
    assert!(sum.is_monotonic);
    assert_eq!(values, [0.85, 1.7, 2.55]);
    let threads = of("process.thread.count");
    let sum = threads.sum.as_ref().unwrap();
    assert_eq!((&*threads.unit, sum.is_monotonic), ("{thread}", false));
    let points = &sum.data_points;
    let values: Vec<i64> = points.iter().map(|p| p.as_int.unwrap()).collect();
    assert_eq!(
        (
            values,
            points[0].start_time_unix_nano < points[0].time_unix_nano
        ),
        (vec![11, 12, 13], true)
    );
    assert_eq!(of("weave.heap.allocated").unit, "By");
    assert!(of("weave.heap.used").gauge.is_some());
}

#[test]
fn a_logical_call_is_one_span_whatever_pieces_it_ran_in() {
    const MS: u64 = 1_000_000;
    let trace = trace(
        TraceBuilder::new("shop", 1, 50 * MS)
            .symbols(&shop_symbols(), 65_000, &[])
            .push(
                Chunk::records(1, 0, MS)
                    .enter(0, 1)
                    .resume(MS, 2, 7, true)
                    .exit(MS, 2)
                    .exit(MS, 1),
            )
            .push(
                Chunk::records(2, 0, 10 * MS)
                    .resume(0, 2, 7, false)
                    .exception("java.io.IOException", "full")
                    .fail(2 * MS, 2, 7),
            ),
    );
    let spans = spans(&sent(&trace, all()));
    let [main, whole] = &*spans else {
        panic!("one logical call, and what began it: {spans:?}")
    };
    assert_eq!(
        (&*main.name, &*whole.name),
        ("com.acme.Main.main", "com.acme.Orders.place")
    );
    assert_eq!(
        whole.end_time_unix_nano - whole.start_time_unix_nano,
        10 * MS
    );
    assert_eq!(
        (&whole.trace_id, &whole.parent_span_id),
        (&main.trace_id, &main.span_id)
    );
    assert_eq!(whole.events.len(), 1);
}

#[test]
fn a_piece_may_be_resumed_before_the_first_is_suspended() {
    let ended = |second: Chunk| {
        let trace = trace(
            TraceBuilder::new("shop", 1, 1_000)
                .symbols(&shop_symbols(), 65_000, &[])
                .push(Chunk::records(1, 0, 100).resume(0, 2, 7, true))
                .push(second)
                .push(Chunk::records(1, 1, 300).exit(0, 2)),
        );
        let batches = sent(&trace, all());
        let metrics = batches
            .iter()
            .find(|b| b.signal == Signal::Metrics)
            .unwrap();
        let request = MetricsRequest::decode(&*metrics.body).unwrap();
        let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
        let point = &metrics[0].sum.as_ref().unwrap().data_points[0];
        assert_eq!(point.as_int, Some(1));
        let spans = spans(&batches);
        // It began with the piece that comes last here.
        let begun = trace.header().origin + 100;
        assert_eq!(spans[0].start_time_unix_nano, begun);
        spans.len()
    };
    let last = Chunk::records(2, 0, 200)
        .resume(0, 2, 7, false)
        .end(50, 2, 7);
    assert_eq!(ended(last), 1);
    let more = Chunk::records(2, 0, 200).resume(0, 2, 7, false).exit(50, 2);
    assert_eq!(ended(more.complete(2, 7, 260, false)), 1);
}

#[test]
fn a_caller_that_is_no_span_hands_up_what_it_began() {
    const MS: u64 = 1_000_000;
    // `place` is short, and begins what takes long.
    let trace = trace(
        TraceBuilder::new("shop", 1, 50 * MS)
            .symbols(&shop_symbols(), 65_000, &[])
            .push(
                Chunk::records(1, 0, MS)
                    .enter(0, 1)
                    .enter(10, 2)
                    .begin(3, 9, MS + 20)
                    .exit(20, 2)
                    .exit(20 * MS, 1),
            )
            .push(Chunk::records(2, 0, 10 * MS).complete(3, 9, 12 * MS, false)),
    );
    let mut options = all();
    options.selection.min = MS;
    let spans = spans(&sent(&trace, options));
    let names: Vec<&str> = spans.iter().map(|s| &*s.name).collect();
    assert_eq!(names, ["com.acme.Main.main", "com.acme.Stock.take"]);
    assert_eq!(spans[1].parent_span_id, spans[0].span_id);
    assert_eq!(spans[1].trace_id, spans[0].trace_id);
}

#[test]
fn ids_are_the_same_each_time_and_differ_for_calls_too_short_for_the_clock() {
    let mut chunk = Chunk::records(1, 0, 5);
    for _ in 0..100 {
        chunk = chunk.enter(0, 3).exit(0, 3);
    }
    let trace = trace(TraceBuilder::new("shop", 1, 50).push(chunk));
    let ids = |batches: &[Batch]| -> Vec<Vec<u8>> {
        spans(batches).into_iter().map(|s| s.span_id).collect()
    };
    let first = sent(&trace, all());
    assert_eq!(first, sent(&trace, all()));
    let mut ids = ids(&first);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 100);
}

#[test]
fn spans_have_the_values_of_their_calls() {
    let spans = spans(&sent(&trace(valued()), all()));
    let takes: Vec<&Span> = spans
        .iter()
        .filter(|s| s.name == "com.acme.Stock.take")
        .collect();
    let of = |name| {
        let values = takes.iter().map(|span| value(&span.attributes, name));
        values.collect::<Vec<_>>()
    };
    let text = |text: &str| Some(Value::Text(text.to_owned()));
    assert_eq!(
        of("weave.value.item"),
        [
            text("tea"),
            text("coffee"),
            text("tea"),
            text("milk\n=1+1"),
            None
        ]
    );
    let number = |n| Some(Value::Number(n));
    assert_eq!(
        of("weave.value.result"),
        [
            number(10),
            number(20),
            number(30),
            text("toString threw"),
            None
        ]
    );
    // The chunk ends between a value and its call, and no other call is open.
    let next = Chunk::records(1, 1, 9).enter(0, 3).exit(5, 3);
    let builder = TraceBuilder::new("shop", 1, 50)
        .symbols(&valued_symbols(), 65_504, &[])
        .push(Chunk::records(1, 0, 5).text_value(3, 0, false, "tea"))
        .push(next);
    let over = self::spans(&sent(&trace(builder), all()));
    assert_eq!(value(&over[0].attributes, "weave.value.item"), text("tea"));
    // A logical call has those of its pieces.
    let chunk = Chunk::records(1, 0, 5)
        .text_value(3, 0, false, "tea")
        .resume(0, 3, 7, true)
        .exit(5, 3)
        .resume(5, 3, 7, false)
        .value(3, 1, true, 6, 1)
        .end(5, 3, 7);
    let builder = TraceBuilder::new("shop", 1, 50).symbols(&valued_symbols(), 65_504, &[]);
    let spans = self::spans(&sent(&trace(builder.push(chunk)), all()));
    let whole = spans
        .iter()
        .find(|s| s.end_time_unix_nano - s.start_time_unix_nano == 15)
        .unwrap();
    assert_eq!(value(&whole.attributes, "weave.value.item"), text("tea"));
    assert_eq!(
        value(&whole.attributes, "weave.value.result"),
        Some(Value::Boolean(true))
    );
}

#[test]
fn ids_without_names_keep_their_ids() {
    let chunk = Chunk::records(1, 0, 5)
        .enter(0, 8)
        .enter(1, 9)
        .exit(1, 9)
        .exit(1, 8);
    let trace = trace(TraceBuilder::new("shop", 1, 50).push(chunk));
    let spans = spans(&sent(&trace, all()));
    let names: Vec<&str> = spans.iter().map(|s| &*s.name).collect();
    assert_eq!(names, ["[0x00000009]", "[0x00000008]"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 128 }))]

    /// Damage in any place is no trap.
    #[test]
    fn hostile_traces_are_no_trap(places in proptest::collection::vec((0usize..1 << 20, any::<u8>()), 1..60)) {
        for mut bytes in [shop().bytes(), valued().bytes()] {
            let len = bytes.len();
            for &(at, byte) in &places {
                bytes[84 + at % (len - 84)] = byte;
            }
            if let Ok(trace) = Trace::from_bytes("t", bytes) {
                sent(&trace, all());
            }
        }
    }
}

/// Plays the part of a Collector, on this thread: answers each request with what is next.
struct Fake {
    listener: TcpListener,
    streams: Vec<(TcpStream, Vec<u8>)>,
    answers: Vec<&'static str>,
    seen: Vec<String>,
}

impl Fake {
    fn new(answers: &[&'static str]) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let answers = answers.iter().rev().copied().collect();
        Fake {
            listener,
            streams: Vec::new(),
            answers,
            seen: Vec::new(),
        }
    }

    fn config(&self, queue: u64) -> Config {
        let endpoint = format!("http://{}", self.listener.local_addr().unwrap());
        let headers = [("x-key".to_owned(), "secret".to_owned())];
        Config::new(
            Some(&endpoint),
            Some(Protocol::Http),
            &headers,
            queue,
            &|_| None,
        )
        .unwrap()
    }

    fn step(&mut self) {
        if let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true).unwrap();
            self.streams.push((stream, Vec::new()));
        }
        for (stream, bytes) in &mut self.streams {
            let mut some = [0; 4096];
            while let Ok(n) = stream.read(&mut some)
                && n > 0
            {
                bytes.extend_from_slice(&some[..n]);
            }
            let Some(head) = bytes.windows(4).position(|w| w == b"\r\n\r\n") else {
                continue;
            };
            let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
            let len = text
                .lines()
                .find_map(|l| l.strip_prefix("content-length: "));
            let len: usize = len.unwrap().parse().unwrap();
            if bytes.len() < head + 4 + len {
                continue;
            }
            bytes.drain(..head + 4 + len);
            self.seen.push(text);
            if let Some(answer) = self.answers.pop() {
                stream.write_all(answer.as_bytes()).unwrap();
            }
        }
    }

    /// Until nothing waits any more.
    fn serve(&mut self, sender: &Sender) {
        let begun = Instant::now();
        while !sender.is_idle() {
            self.step();
            sender.run(Duration::from_millis(1));
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{:?}",
                sender.news()
            );
        }
    }
}

fn batch(items: u64) -> Batch {
    Batch {
        signal: Signal::Traces,
        items,
        body: vec![b'x'; 100],
    }
}

const FINE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

#[test]
fn what_the_collector_cannot_take_now_is_sent_again() {
    let mut fake = Fake::new(&[
        FINE,
        "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nretry-after: 0\r\n\r\n",
        "HTTP/1.1 429 Slow\r\ncontent-length: 0\r\n\r\n",
        FINE,
        "HTTP/1.1 400 Bad\r\ncontent-length: 0\r\n\r\n",
    ]);
    let sender = Sender::new(fake.config(1 << 20)).unwrap();
    for items in [1, 2, 4] {
        sender.push(batch(items));
    }
    fake.serve(&sender);
    let news = sender.news();
    let sent = sender.stop();
    let expected = Sent {
        requests: 3,
        spans: 3,
        rejected: 4,
        retries: 2,
        ..Sent::default()
    };
    assert_eq!(sent, expected);
    assert_eq!(fake.seen.len(), 5);
    assert!(
        fake.seen
            .iter()
            .all(|r| r.starts_with("post /v1/traces http/1.1") && r.contains("x-key: secret"))
    );
    assert!(
        news[0].contains("503 Service Unavailable; trying again"),
        "{news:?}"
    );
    assert!(
        news[1].contains("reached again") && news[2].contains("refused 4 spans: 400"),
        "{news:?}"
    );
}

#[test]
fn a_partial_success_is_told() {
    // partial_success { rejected: 3, error_message: "no" }
    let mut fake =
        Fake::new(&["HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n\x0a\x06\x08\x03\x12\x02no"]);
    let sender = Sender::new(fake.config(1 << 20)).unwrap();
    sender.push(batch(10));
    fake.serve(&sender);
    assert!(sender.news()[0].contains("rejected 3 of 10 spans: no"));
    let sent = sender.stop();
    assert_eq!((sent.spans, sent.rejected), (7, 3));
}

#[test]
fn the_queue_is_bounded_and_what_finds_no_room_is_counted() {
    let fake = Fake::new(&[]);
    let sender = Sender::new(fake.config(250)).unwrap();
    for items in [1, 2, 4, 8] {
        sender.push(batch(items));
    }
    sender.run(Duration::from_millis(5));
    assert!(!sender.has_room(&batch(1)));
    let sent = sender.stop();
    assert_eq!((sent.dropped, sent.unsent), (12, 3));
}

#[test]
fn an_endpoint_without_a_scheme_says_why_it_meets_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let endpoint = listener.local_addr().unwrap().to_string();
    let config = Config::new(Some(&endpoint), Some(Protocol::Grpc), &[], 1 << 20, &|_| {
        None
    });
    let sender = Sender::new(config.unwrap()).unwrap();
    sender.push(batch(1));
    let begun = Instant::now();
    let news = loop {
        if let Ok((mut stream, _)) = listener.accept() {
            // A server without TLS.
            stream.write_all(b"\0\0\x12\x04\0\0\0\0\0").unwrap();
        }
        sender.run(Duration::from_millis(5));
        let news = sender.news();
        if !news.is_empty() {
            break news;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it says nothing");
    };
    assert!(
        news[0].contains("names no scheme") && news[0].contains(&format!("http://{endpoint}")),
        "{news:?}"
    );
}

#[test]
fn the_environment_names_what_the_arguments_do_not() {
    let config = |pairs: &'static [(&str, &str)]| {
        let get = move |name: &str| -> Option<String> {
            let found = pairs.iter().find(|(key, _)| *key == name)?;
            Some(found.1.to_owned())
        };
        Config::new(None, None, &[], 1, &get)
    };
    let uri = |config: &Config, signal| config.target(signal).uri();
    let none = config(&[]).unwrap();
    assert_eq!(
        uri(&none, Signal::Traces),
        "http://localhost:4318/v1/traces"
    );
    let some = config(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1/base/"),
        ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://b:2/mine"),
    ]);
    let some = some.unwrap();
    assert_eq!(uri(&some, Signal::Traces), "http://a:1/base/v1/traces");
    assert_eq!(uri(&some, Signal::Metrics), "http://b:2/mine");
    let grpc = config(&[
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "c:3"),
        ("OTEL_EXPORTER_OTLP_INSECURE", "true"),
    ]);
    let at = uri(&grpc.unwrap(), Signal::Logs);
    assert_eq!(
        at,
        "http://c:3/opentelemetry.proto.collector.logs.v1.LogsService/Export"
    );
    for wrong in [
        &[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")][..],
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", "nonsense")],
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://a")],
        &[("OTEL_EXPORTER_OTLP_HEADERS", "no value")],
        &[("OTEL_EXPORTER_OTLP_HEADERS", "a=b%0Ac")],
        &[("OTEL_EXPORTER_OTLP_COMPRESSION", "zip")],
        &[("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")],
    ] {
        assert!(config(wrong).is_err(), "{wrong:?}");
    }
    assert_eq!(
        pairs("a=b%20c, d = e").unwrap(),
        [("a", "b c"), ("d", "e")].map(|(k, v)| (k.into(), v.into()))
    );
}

#[test]
fn metrics_count_sampled_calls_for_all_that_they_stand_for() {
    let metrics = metrics_of(sampled(), all());
    let place = Some(Value::Text("com.acme.Orders.place".to_owned()));
    let of = |name: &str| metrics.iter().find(|m| m.name == name).unwrap();
    let number = |name: &str| {
        let points = &of(name).sum.as_ref().unwrap().data_points;
        let point = points
            .iter()
            .find(|p| value(&p.attributes, "code.function.name") == place);
        point.unwrap().as_int
    };
    assert_eq!(
        (number("weave.calls"), number("weave.errors")),
        (Some(200), Some(100))
    );
    let points = &of("weave.call.duration")
        .histogram
        .as_ref()
        .unwrap()
        .data_points;
    let point = points
        .iter()
        .find(|p| value(&p.attributes, "code.function.name") == place);
    let point = point.unwrap();
    assert_eq!((point.count, point.bucket_counts[0]), (200, 200));
    assert!((point.sum.unwrap() - 8e-6).abs() < 1e-12);
}

/// A number of 56 bits in hexadecimal digits, of which zeros at the end may be missing.
fn digits(text: &str) -> u64 {
    u64::from_str_radix(&format!("{text:0<14}"), 16).unwrap()
}

#[test]
fn spans_say_what_they_stand_for_as_opentelemetry_does() {
    let trace = trace(sampled());
    let of = spans(&sent(&trace, all()));
    let weights: BTreeMap<&str, Option<Value>> = (of.iter())
        .map(|span| (&*span.name, value(&span.attributes, "weave.weight")))
        .collect();
    assert_eq!(weights["com.acme.Orders.place"], Some(Value::Number(100)));
    assert_eq!(weights["com.acme.Maths.fib"], Some(Value::Number(7)));
    assert_eq!(weights["com.acme.Main.main"], None);
    // All are in the trace of a call that is always recorded: no random number of that decided.
    assert!(of.iter().all(|span| span.trace_state.is_empty()));

    let mut chunk = Chunk::records(1, 0, 0);
    for _ in 0..200 {
        chunk = chunk.sampled(2, 100).enter(1, 2).enter(1, 3).exit(1, 3);
        chunk = chunk.enter(1, 1).exit(1, 1).exit(1, 2);
    }
    // Ten a second is no share; what no rule knows neither.
    let chunk = chunk
        .sampled(4, 7)
        .enter(1, 4)
        .exit(1, 4)
        .sampled(1, 3)
        .enter(1, 1)
        .exit(1, 1);
    let traces = TraceBuilder::new("", 1, 9_000).symbols(&sampled_symbols(), 65_504, &[]);
    let of = spans(&sent(&self::trace(traces.push(chunk)), all()));
    let (with, without): (Vec<_>, Vec<_>) = of.iter().partition(|s| !s.trace_state.is_empty());
    assert_eq!((with.len(), without.len()), (600, 2));
    let mut random_of: BTreeMap<&[u8], u64> = BTreeMap::new();
    for span in with {
        let state = span.trace_state.strip_prefix("ot=th:").unwrap();
        let (threshold, random) = state.split_once(";rv:").unwrap();
        assert_eq!(random.len(), 14);
        assert!(threshold == "0" || !threshold.ends_with('0'));
        let (threshold, random) = (digits(threshold), digits(random));
        assert!(random >= threshold, "it was taken");
        // All spans of a trace have one number.
        assert_eq!(*random_of.entry(&span.trace_id).or_insert(random), random);
        let all = (1u64 << 56) as f64;
        let stands_for = all / (all - threshold as f64);
        let expected = if span.name.ends_with("main") {
            1.0
        } else {
            100.0
        };
        assert!((stands_for - expected).abs() < 1e-6, "{stands_for}");
    }
    assert_eq!(random_of.len(), 200);
    // Who samples further takes half of the traces at twice the threshold's rest.
    let all = 1u64 << 56;
    let half = random_of
        .values()
        .filter(|&&random| random >= all - all / 200);
    let half = half.count();
    assert!((60..140).contains(&half), "{half}");
}

#[test]
fn rules_say_what_spans_are_and_contexts_whose_they_are() {
    let mut options = all();
    options.selection.min = 1_000;
    let spans = spans(&sent(&trace(requests()), options));
    let by_id = |id: &[u8]| spans.iter().find(|s| s.span_id == id);
    let mut shown: Vec<String> = (spans.iter())
        .map(|span| {
            let parent = by_id(&span.parent_span_id).map(|s| &*s.name);
            let of_others = match &*span.parent_span_id {
                [] => "none".to_owned(),
                id => format!("{:x}", u64::from_be_bytes(id.try_into().unwrap())),
            };
            let error = value(&span.attributes, "error.type");
            let error = error.map_or_else(String::new, |e| format!(" failed {e:?}"));
            assert_eq!(span.trace_id, 0xaaaa_u128.to_be_bytes());
            assert_eq!(span.status.is_some(), !error.is_empty());
            format!(
                "{} {} flags {:x} in {}{error}",
                span.kind,
                span.name,
                span.flags,
                parent.unwrap_or(&of_others)
            )
        })
        .collect();
    shown.sort_unstable();
    assert_eq!(
        shown,
        [
            "1 web.Server.handle flags 0 in GET /orders/{id}",
            "1 web.Server.handle flags 0 in GET /orders/{id}",
            "2 GET /orders/{id} flags 303 in 7 failed Text(\"503\")",
            // Shorter than what may be around it: below what is there in any case.
            "3 SELECT 1 flags 103 in GET /orders/{id}",
            "3 SELECT 2 flags 103 in GET /orders/{id}",
            "3 SELECT 3 flags 103 in web.Server.handle",
        ]
    );
    let server = spans.iter().find(|s| s.kind == 2).unwrap();
    let text = |text: &str| Some(Value::Text(text.to_owned()));
    assert_eq!(server.span_id, 11u64.to_be_bytes());
    assert_eq!(
        value(&server.attributes, "http.route"),
        text("/orders/{id}")
    );
    let status = value(&server.attributes, "http.response.status_code");
    assert_eq!(status, Some(Value::Number(503)));
    let select = spans.iter().find(|s| s.name == "SELECT 3").unwrap();
    assert_eq!(
        value(&select.attributes, "weave.value.sql"),
        text("SELECT 3")
    );
}

#[test]
fn a_span_has_the_trace_state_that_came_in_and_its_exception_a_stack_trace() {
    const STATE: u16 = u16::MAX;
    let mut w = symbols::Writer::default();
    w.artifact("shop.jar");
    w.ty("web.Server", "Server.java");
    w.method(1, "service", "()V", 1);
    w.values(1, &["exception.stacktrace"]);
    w.span(
        1,
        &SpanRule {
            kind: Kind::Server,
            name: "".into(),
            once: "".into(),
            error: "".into(),
            when: "".into(),
            scope: "".into(),
        },
    );
    let stack = "java.io.IOException: gone\n\tat web.Server.service(Server.java:1)";
    let of_end_and_cut = 8 | (4 | 1) << 8;
    const LINK: u16 = u16::MAX - 1;
    let first = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let chunk = Chunk::records(1, 0, 0)
        .text_value(1, LINK, false, &format!("{first};vendor=1"))
        .text_value(
            1,
            LINK,
            false,
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203332-00",
        )
        .text_value(
            1,
            LINK,
            false,
            "00-00000000000000000000000000000000-b7ad6b7169203332-00",
        )
        .text_value(1, STATE, false, "rojo=00f067aa0ba902b7,ot=th:c")
        .span(1, 0xaaaa, 11, 7, 0x103)
        .enter(10, 1)
        .text_value(1, 0, true, stack)
        .exception("java.io.IOException", "gone")
        .error(10, 1)
        // Cut it is no state.
        .value_of_text(1, STATE, of_end_and_cut & !(4 << 8), "rojo=00f0")
        .value_of_text(1, LINK, of_end_and_cut & !(4 << 8), first)
        .span(1, 0xaaaa, 12, 7, 0x103)
        .enter(10, 1)
        .exit(10, 1);
    let builder = TraceBuilder::new("shop", 1, 50)
        .symbols(&w.finish(), 65_504, &[])
        .push(chunk);
    let spans = spans(&sent(&trace(builder), all()));
    let of = |id: u64| {
        spans
            .iter()
            .find(|s| s.span_id == id.to_be_bytes())
            .unwrap()
    };
    let (failed, other) = (of(11), of(12));
    assert_eq!(failed.trace_state, "rojo=00f067aa0ba902b7,ot=th:c");
    assert_eq!(other.trace_state, "");
    let links = |span: &Span| -> Vec<(String, u64, String, u32)> {
        let hex = |id: &[u8]| id.iter().map(|b| format!("{b:02x}")).collect();
        let id = |id: &[u8]| u64::from_be_bytes(id.try_into().unwrap());
        let all = span.links.iter();
        all.map(|l| {
            (
                hex(&l.trace_id),
                id(&l.span_id),
                l.trace_state.clone(),
                l.flags,
            )
        })
        .collect()
    };
    let trace = "0af7651916cd43dd8448eb211c80319c";
    assert_eq!(
        links(failed),
        [
            (
                trace.to_owned(),
                0xb7ad_6b71_6920_3331,
                "vendor=1".to_owned(),
                1
            ),
            (trace.to_owned(), 0xb7ad_6b71_6920_3332, String::new(), 0),
        ]
    );
    assert!(links(other).is_empty(), "a part of a link is none");
    let text = |text: &str| Some(Value::Text(text.to_owned()));
    assert_eq!(failed.events.len(), 1);
    let told = |key| value(&failed.events[0].attributes, key);
    assert_eq!(told("exception.type"), text("java.io.IOException"));
    assert_eq!(told("exception.stacktrace"), text(stack));
    for span in [failed, other] {
        let none = |key: &str| {
            !["tracestate", "stacktrace", "link"]
                .iter()
                .any(|odd| key.contains(odd))
        };
        assert!(span.attributes.iter().all(|a| none(&a.key)), "{span:?}");
    }
}

#[test]
fn a_span_that_goes_on_behind_its_method_is_one() {
    // Its end is read behind its begin, or before.
    for first in [0, 201] {
        let spans = spans(&sent(&trace(staying(first)), all()));
        let of = |name: &str| {
            let mut found = spans.iter().filter(|span| span.name == name);
            let span = found.next().unwrap_or_else(|| panic!("{name}: {spans:?}"));
            assert!(found.next().is_none(), "{name} comes once");
            span
        };
        assert_eq!(spans.len(), 3, "{first}");
        let (get, put, query) = (of("GET /orders"), of("PUT"), of("web.Server.query"));
        let took = |span: &Span| span.end_time_unix_nano - span.start_time_unix_nano;
        assert_eq!((took(get), took(put)), (700 - first, 700 - first));
        assert_eq!((get.kind, &*get.span_id), (2, &11u64.to_be_bytes()[..]));
        assert_eq!(get.trace_id, 0xaaaau128.to_be_bytes());
        assert_eq!(
            (&*get.parent_span_id, get.flags),
            (&7u64.to_be_bytes()[..], 0x303)
        );
        assert_eq!(
            value(&get.attributes, "http.response.status_code"),
            Some(Value::Number(201))
        );
        assert!(get.status.is_none() && put.parent_span_id.is_empty());
        assert_eq!(put.status.as_ref().map(|s| &*s.message), Some("gone"));
        assert_eq!(
            value(&put.attributes, "error.type"),
            Some(Value::Text("java.io.IOException".to_owned()))
        );
        assert_eq!(
            (&query.parent_span_id, &query.trace_id),
            (&get.span_id, &get.trace_id)
        );
    }
}

#[test]
fn spans_are_of_the_pack_that_their_rule_is_from() {
    let batches = sent(&trace(requests()), all());
    let batches = batches.iter().filter(|b| b.signal == Signal::Traces);
    let requests = batches.map(|b| TraceRequest::decode(&*b.body).unwrap());
    let groups = requests.flat_map(|r| r.resource_spans);
    let mut by_scope: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for group in groups.flat_map(|g| g.scope_spans) {
        let spans = group.spans.iter();
        let names = spans.map(|span| Span::decode(&**span).unwrap().name);
        let scope = group.scope.unwrap();
        assert_eq!(scope.version, env!("CARGO_PKG_VERSION"));
        by_scope.entry(scope.name).or_default().extend(names);
    }
    assert_eq!(by_scope.keys().collect::<Vec<_>>(), ["weave", "weave.web"]);
    assert!(by_scope["weave.web"].contains("GET /orders/{id}"));
    assert!(by_scope["weave"].contains("web.Server.handle"));
}

/// The name of each metric that is a histogram, with the attributes and count of its points.
fn histograms(options: Options) -> BTreeMap<String, Vec<(Vec<KeyValue>, u64)>> {
    let metrics = metrics_of(requests(), options).into_iter();
    let histograms = metrics.filter_map(|metric| Some((metric.name, metric.histogram?)));
    let points = histograms.map(|(name, histogram)| {
        let points = histogram.data_points.into_iter();
        (name, points.map(|p| (p.attributes, p.count)).collect())
    });
    points.collect()
}

#[test]
fn requests_are_measured_as_the_conventions_have_them() {
    let mut few = all();
    few.spans = false;
    for options in [all(), few] {
        let all = histograms(options);
        let [(attributes, count)] = &*all["http.server.request.duration"] else {
            panic!("{all:?}");
        };
        assert_eq!(*count, 1);
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        assert_eq!(value(attributes, "http.route"), text("/orders/{id}"));
        assert_eq!(value(attributes, "error.type"), text("503"));
        assert!(!all.contains_key("db.client.operation.duration"), "{all:?}");
    }
    let mut none = all();
    none.metrics = false;
    assert!(histograms(none).is_empty());
}

/// The spans without a parent, and how many name one that was not sent.
fn outermost(spans: &[Span]) -> (Vec<&Span>, usize) {
    let ids: BTreeSet<&[u8]> = spans.iter().map(|s| &*s.span_id).collect();
    let (outermost, below): (Vec<&Span>, Vec<&Span>) =
        (spans.iter()).partition(|s| s.parent_span_id.is_empty());
    let lost = below.iter().filter(|s| !ids.contains(&*s.parent_span_id));
    (outermost, lost.count())
}

#[test]
fn what_a_short_piece_begins_is_below_the_logical_call() {
    const MS: u64 = 1_000_000;
    // A piece of 7 begins 8, in a piece that is short; one of 8 begins 9, though 8 is short as a whole.
    let trace = trace(
        TraceBuilder::new("shop", 1, 50 * MS)
            .symbols(&shop_symbols(), 65_000, &[])
            .push(Chunk::records(1, 0, MS).resume(0, 2, 7, true).exit(10, 2))
            .push(
                Chunk::records(2, 0, 10 * MS)
                    .resume(0, 2, 7, false)
                    .resume(10, 3, 8, true)
                    .resume(10, 4, 9, true)
                    .exit(10, 4)
                    .end(10, 3, 8)
                    .exit(10, 2)
                    .complete(4, 9, 20 * MS, false)
                    .complete(2, 7, 25 * MS, false),
            ),
    );
    let mut options = all();
    options.selection.min = MS;
    let spans = spans(&sent(&trace, options));
    let (outermost, lost) = outermost(&spans);
    assert_eq!((spans.len(), outermost.len(), lost), (2, 1, 0), "{spans:?}");
    let below = spans.iter().find(|s| !s.parent_span_id.is_empty()).unwrap();
    assert_eq!(below.parent_span_id, outermost[0].span_id);
    assert_eq!(below.trace_id, outermost[0].trace_id);
}

#[test]
fn depth_holds_for_logical_calls_and_what_they_go_on_with() {
    const MS: u64 = 1_000_000;
    let nested = |chunk: Chunk, call| chunk.resume(10, 2, call, true);
    let chunk = (1..=6).fold(Chunk::records(1, 0, MS), nested);
    let chunk = (1..=6).fold(chunk, |chunk, _| chunk.exit(10, 2));
    // The fifth goes on, with a call of its own.
    let later = Chunk::records(2, 0, 10 * MS)
        .resume(0, 2, 5, false)
        .enter(10, 3)
        .exit(MS, 3)
        .end(10, 2, 5);
    let trace = trace(
        TraceBuilder::new("shop", 1, 50 * MS)
            .symbols(&shop_symbols(), 65_000, &[])
            .push(chunk)
            .push(later),
    );
    for (depth, whole, others) in [(2, 2, 0), (4, 4, 0), (5, 5, 0), (9, 6, 1)] {
        let mut options = all();
        options.selection.depth = Some(depth);
        let spans = spans(&sent(&trace, options));
        let is_whole = |span: &&Span| value(&span.attributes, "thread.id").is_none();
        let (outermost, lost) = outermost(&spans);
        assert_eq!((outermost.len(), lost), (1, 0), "depth {depth}");
        let found = spans.iter().filter(is_whole).count();
        assert_eq!(
            (found, spans.len() - found),
            (whole, others),
            "depth {depth}"
        );
    }
}
