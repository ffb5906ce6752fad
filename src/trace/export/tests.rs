//! What a sink gets, and what the formats make of it.

use super::{Counts, Format, Selection, Weight, processes, walk};
use crate::trace::Trace;
use crate::trace::testing::{
    Chunk, TraceBuilder, sampled, shop, shop_symbols, shop_with_samples, valued,
};
use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use proptest::prelude::*;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// Bytes that a sink owns and the test reads.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn export(format: Format, selection: &Selection, traces: &[Trace]) -> (Vec<u8>, Counts) {
    let out = Shared::default();
    let mut sink = format.sink(Box::new(out.clone()), |task| task()).unwrap();
    let mut sum = Counts::default();
    for process in processes(traces) {
        let first = sum.calls + 1;
        let counts = walk(&process, &[], selection, &mut *sink, first, &mut |_| {}).unwrap();
        sum.calls += counts.calls;
        sum.logical += counts.logical;
        sum.unrecorded += counts.unrecorded;
        sum.unrecorded_left_out += counts.unrecorded_left_out;
        sum.left_out += counts.left_out;
    }
    sink.finish().unwrap();
    let bytes = out.0.lock().unwrap().clone();
    (bytes, sum)
}

/// The columns of a CSV that matter here: kind, id, parent, depth, method, start, duration, self, outcome, exception.
fn rows(selection: &Selection, traces: &[Trace]) -> Vec<String> {
    let (bytes, counts) = export(Format::Csv, selection, traces);
    let mut reader = csv::Reader::from_reader(&*bytes);
    let rows: Vec<String> = (reader.records())
        .map(|row| {
            let row = row.unwrap();
            [5, 6, 7, 8, 11, 16, 18, 19, 20, 21, 22]
                .map(|at| &row[at])
                .join(" ")
        })
        .collect();
    assert_eq!(
        rows.len() as u64,
        counts.calls + counts.logical + counts.unrecorded
    );
    rows
}

const ALL: [Format; 7] = [
    Format::Perfetto,
    Format::Chrome,
    Format::Speedscope,
    Format::Folded(Weight::Own),
    Format::Folded(Weight::Calls),
    Format::Csv,
    Format::Parquet,
];

fn open(bytes: Vec<u8>) -> [Trace; 1] {
    [Trace::from_bytes("a.wtrace", bytes).unwrap()]
}

fn shop_with(chunks: impl IntoIterator<Item = Chunk>) -> [Trace; 1] {
    let builder = TraceBuilder::new("shop", 1, 0).symbols(&shop_symbols(), 1_000, &[]);
    open(chunks.into_iter().fold(builder, TraceBuilder::push).bytes())
}

#[test]
fn each_call_is_a_row_with_its_parent_and_own_time() {
    insta::assert_snapshot!(rows(&Selection::default(), &open(shop().bytes())).join("\n"));
}

fn methods(selection: Selection, traces: &[Trace]) -> Vec<String> {
    (rows(&selection, traces).iter())
        .map(|row| row.split(' ').nth(4).unwrap().to_owned())
        .collect()
}

#[test]
fn what_a_filter_leaves_out_is_its_callers_own_time() {
    let selection = Selection {
        filter: Some("take".to_owned()),
        ..Selection::default()
    };
    insta::assert_snapshot!(rows(&selection, &open(shop().bytes())).join("\n"));
}

#[test]
fn what_is_lost_is_nobodys_time() {
    // Segment 1 is missing: who ran from 130 to 600 nobody knows.
    let traces = shop_with([
        Chunk::records(1, 0, 100)
            .enter(0, 1)
            .enter(20, 2)
            .enter(10, 3),
        Chunk::records(1, 2, 600).exit(40, 2).exit(50, 1),
    ]);
    let all = rows(&Selection::default(), &traces);
    assert_eq!(
        all,
        [
            "call 3 2 2 take 130 0 0 lost  ",
            "call 2 1 1 place 120 520 10 exit  ",
            "call 1  0 main 100 590 70 exit  ",
        ]
    );
    // A caller gets the own time of what is left out, not what is lost.
    let left_out = |selection| rows(&selection, &traces);
    let short = Selection {
        min: 550,
        ..Selection::default()
    };
    assert_eq!(left_out(short), ["call 1  0 main 100 590 80 exit  "]);
    let deep = Selection {
        depth: Some(2),
        ..Selection::default()
    };
    assert_eq!(left_out(deep), &all[1..]);
    let other = Selection {
        filter: Some("main".to_owned()),
        ..Selection::default()
    };
    assert_eq!(left_out(other), ["call 1  0 main 100 590 80 exit  "]);
}

#[test]
fn levels_beyond_the_depth_are_their_callers_own_time() {
    let selection = Selection {
        depth: Some(1),
        thread: Some("main".to_owned()),
        ..Selection::default()
    };
    let rows = rows(&selection, &open(shop().bytes()));
    assert_eq!(
        rows,
        ["call 1  0 main 1000000 119000000 119000000 running  "]
    );
}

#[test]
fn a_window_takes_what_runs_in_it() {
    let window = |from, until| Selection {
        from: Some(from),
        until: Some(until),
        thread: Some("main".to_owned()),
        ..Selection::default()
    };
    let traces = open(shop().bytes());
    // `place` runs from 2 to 8.002 ms and from 9.002 ms on.
    let first = methods(window(2_000_000, 2_100_000), &traces);
    assert_eq!(first, ["<init>", "place", "main"]);
    let between = methods(window(8_500_000, 8_600_000), &traces);
    assert_eq!(between, ["main"]);
}

#[test]
fn the_pieces_of_a_logical_call_follow_one_another() {
    let traces = shop_with([
        Chunk::records(1, 0, 100)
            .resume(0, 2, 77, true)
            .exit(10, 2)
            .enter(5, 3)
            .exit(5, 3),
        Chunk::records(2, 0, 200)
            .resume(0, 2, 77, false)
            .exception("java.io.IOException", "x")
            .fail(30, 2, 77),
    ]);
    insta::assert_snapshot!(rows(&Selection::default(), &traces).join("\n"));
}

#[test]
fn a_logical_call_has_the_call_that_began_it_as_its_parent() {
    // main begins 77 by its first piece, and 78 in a call that is too short to be exported.
    let traces = shop_with([
        Chunk::records(1, 0, 100)
            .enter(0, 1)
            .resume(10, 2, 77, true)
            .exit(10, 2)
            .enter(5, 4)
            .begin(3, 78, 126)
            .exit(2, 4)
            .exit(50, 1),
        Chunk::records(2, 0, 90)
            .enter(0, 4)
            .exit(5, 4)
            .resume(200, 2, 77, false)
            .end(30, 2, 77)
            .resume(1, 3, 78, true)
            .end(30, 3, 78),
    ]);
    let selection = Selection {
        min: 5,
        ..Selection::default()
    };
    let rows = rows(&selection, &traces);
    let row = |start: &str| rows.iter().find(|row| row.starts_with(start)).unwrap();
    assert!(row("call 1 ").contains(" main "), "{rows:#?}");
    assert!(row("logical  1  place ").contains(" exit"), "{rows:#?}");
    assert!(row("logical  1  take 126 ").contains(" exit"), "{rows:#?}");
}

#[test]
fn times_never_step_back_in_a_profile_and_calls_nest() {
    let (bytes, _) = export(
        Format::Speedscope,
        &Selection::default(),
        &open(shop().bytes()),
    );
    let file: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let profiles = file["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), 3);
    for profile in profiles {
        let (mut stack, mut last) = (Vec::new(), profile["startValue"].as_u64().unwrap());
        for event in profile["events"].as_array().unwrap() {
            let at = event["at"].as_u64().unwrap();
            assert!(at >= last);
            last = at;
            match event["type"].as_str().unwrap() {
                "O" => stack.push(event["frame"].clone()),
                _ => assert_eq!(stack.pop(), Some(event["frame"].clone())),
            }
        }
        assert!(stack.is_empty());
        assert_eq!(profile["endValue"].as_u64(), Some(last));
    }
}

#[test]
fn folded_stacks_add_up_to_the_own_times() {
    let traces = open(shop().bytes());
    let own: u64 = (rows(&Selection::default(), &traces).iter())
        .map(|row| row.split(' ').nth(7).unwrap().parse::<u64>().unwrap())
        .sum();
    let sum = |weight| -> u64 {
        let (bytes, _) = export(Format::Folded(weight), &Selection::default(), &traces);
        let text = String::from_utf8(bytes).unwrap();
        (text.lines())
            .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
            .sum()
    };
    assert_eq!(sum(Weight::Own), own);
    assert_eq!(
        sum(Weight::Calls),
        rows(&Selection::default(), &traces).len() as u64
    );
}

#[test]
fn no_cell_of_a_csv_is_a_formula() {
    for start in ["=", "+", "-", "@", "\t=", "\r="] {
        let message = format!("{start}cmd|' /C calc'!A0");
        let chunk = (Chunk::records(1, 0, 0).enter(0, 1))
            .exception(&message, &message)
            .error(5, 1);
        let (bytes, _) = export(Format::Csv, &Selection::default(), &shop_with([chunk]));
        let rows = csv_rows(&bytes);
        let cells: Vec<&String> = rows
            .iter()
            .flatten()
            .filter(|cell| cell.contains("cmd"))
            .collect();
        assert!(!cells.is_empty(), "{rows:?}");
        for cell in cells {
            assert!(cell.starts_with('\'') && cell.ends_with('0'), "{cell:?}");
        }
    }
}

#[test]
fn folded_stacks_end_where_the_tree_does() {
    let deep = |depth: u64| {
        let mut chunks = Vec::new();
        for part in 0..depth / 1_000 {
            let mut chunk = Chunk::records(1, part as u32, part * 1_000);
            for _ in 0..1_000 {
                chunk = chunk.enter(1, 2);
            }
            chunks.push(chunk);
        }
        export(
            Format::Folded(Weight::Own),
            &Selection::default(),
            &shop_with(chunks),
        )
        .0
    };
    let (some, more) = (deep(2_000), deep(20_000));
    let lines = |bytes: &[u8]| bytes.iter().filter(|&&b| b == b'\n').count();
    assert_eq!(lines(&some), 1_000);
    assert_eq!(lines(&more), 1_000);
    // Only the numbers are longer.
    assert!(more.len() < some.len() + 20 * 1_000);
    let of = |text: &str| -> u64 {
        text.lines()
            .map(|l| l.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
            .sum()
    };
    assert!(of(std::str::from_utf8(&more).unwrap()) >= 19_999);
}

#[test]
fn ids_without_a_name_stay_apart_however_they_nest() {
    let chunk = (Chunk::records(1, 0, 0).enter(0, 7).enter(1, 8).enter(1, 9))
        .begin(10, 1, 3)
        .exit(1, 9)
        .exit(1, 8)
        .exit(1, 7);
    let trace = TraceBuilder::new("", 1, 0).push(chunk);
    let traces = [Trace::from_bytes("a.wtrace", trace.bytes()).unwrap()];
    let (bytes, _) = export(
        Format::Folded(Weight::Calls),
        &Selection::default(),
        &traces,
    );
    let text = String::from_utf8(bytes).unwrap();
    for stack in ["[0x00000007] 1", "[0x00000007];[0x00000008];[0x00000009] 1"] {
        assert!(text.lines().any(|line| line.ends_with(stack)), "{text}");
    }
}

#[test]
fn two_traces_of_one_process_id_stay_apart() {
    let traces = [
        Trace::from_bytes("a.wtrace", shop().bytes()).unwrap(),
        Trace::from_bytes("b.wtrace", shop().bytes()).unwrap(),
    ];
    let (bytes, _) = export(Format::Chrome, &Selection::default(), &traces);
    let file: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let mut pids: Vec<u64> = (file["traceEvents"].as_array().unwrap().iter())
        .map(|event| event["pid"].as_u64().unwrap())
        .collect();
    pids.dedup();
    assert_eq!(pids, [4711, 4711 + (1 << 22)]);
}

#[test]
fn what_the_process_used_is_counters() {
    let trace = open(shop_with_samples().bytes());
    let (bytes, _) = export(Format::Chrome, &Selection::default(), &trace);
    let chrome: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let events = chrome["traceEvents"].as_array().unwrap();
    let counters: Vec<String> = (events.iter())
        .filter(|e| e["ph"] == "C" && e["name"] == "garbage collections per second")
        .map(|e| format!("{} {}", e["ts"], e["args"]["value"]))
        .collect();
    assert_eq!(counters, ["2000000.0 3", "3000000.0 5"]);
    // What a window leaves out has no part in rates either.
    let window = Selection {
        from: Some(1_500_000_000),
        ..Selection::default()
    };
    let (bytes, _) = export(Format::Chrome, &window, &trace);
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.matches("garbage collections per second").count(), 1);
    assert_eq!(text.matches("\"threads\"").count(), 2);
    let (with, _) = export(Format::Perfetto, &Selection::default(), &trace);
    let (without, _) = export(
        Format::Perfetto,
        &Selection::default(),
        &open(shop().bytes()),
    );
    assert!(with.len() > without.len() + 100);
}

#[test]
fn logical_calls_that_are_kept_are_bounded() {
    let mut chunk = Chunk::records(1, 0, 0);
    for call in 0..2_000 {
        chunk = chunk.begin(2, call + 1, call);
    }
    let (_, counts) = export(Format::Csv, &Selection::default(), &shop_with([chunk]));
    assert_eq!(counts.logical, 1 << 10);
}

/// The rows of a Parquet file as those of a CSV: nothing for nothing, and no time as a date, which is that in nanoseconds.
fn parquet_rows(bytes: Vec<u8>) -> Vec<Vec<String>> {
    let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        let text = |(_, field): (&String, &Field)| match field {
            Field::Null => String::new(),
            Field::Str(text) => text.clone(),
            other => other.to_string(),
        };
        let row = row.unwrap();
        let named = |wanted: &str| {
            let found = row.get_column_iter().find(|(name, _)| *name == wanted);
            found.unwrap().1
        };
        let (Field::TimestampMicros(micros), Field::Long(nanos)) =
            (named("start_time"), named("start_unix_ns"))
        else {
            panic!("{row:?}")
        };
        assert_eq!(*micros, nanos / 1000);
        let shown = row
            .get_column_iter()
            .filter(|(name, _)| *name != "start_time");
        shown.map(text).collect()
    });
    rows.collect()
}

fn csv_rows(bytes: &[u8]) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_reader(bytes);
    let rows = (reader.records()).map(|row| row.unwrap().iter().map(str::to_owned).collect());
    rows.collect()
}

#[test]
fn a_parquet_file_has_the_rows_of_the_csv() {
    // Two processes, threads, pieces, exceptions, ids without a name: more than a group of each.
    let pieces = [
        Chunk::records(1, 0, 100)
            .resume(0, 2, 77, true)
            .exit(10, 2)
            .enter(5, 3)
            .enter(5, 999)
            .exit(5, 999)
            .exit(5, 3),
        Chunk::records(2, 0, 200)
            .resume(0, 2, 77, false)
            .exception("java.io.IOException", "x")
            .fail(30, 2, 77),
    ];
    let [pieces] = shop_with(pieces);
    let traces = [
        Trace::from_bytes("b.wtrace", shop().bytes()).unwrap(),
        pieces,
        Trace::from_bytes("c.wtrace", valued().bytes()).unwrap(),
    ];
    let all = Selection::default();
    let rows = parquet_rows(export(Format::Parquet, &all, &traces).0);
    assert_eq!(rows, csv_rows(&export(Format::Csv, &all, &traces).0));
    let of = |column: usize| {
        rows.iter()
            .map(move |row| &*row[column])
            .collect::<Vec<_>>()
    };
    assert!(rows.len() > 8 && of(5).contains(&"logical") && of(11).contains(&"[0x000003e7]"));
    assert!(of(21).contains(&"java.io.IOException"));
    assert!(of(23).contains(&r#"{"item":"tea","result":10}"#));
    assert!(of(23).contains(&r#"{"item":"milk\n=1+1","result":{"missing":"toString threw"}}"#));
}

#[test]
fn methods_that_were_counted_are_rows_without_times() {
    let counting = || {
        shop()
            .push(Chunk::counts(0, 77, &[(3, 5), (98, 2)]))
            .push(Chunk::counts(1, 78, &[(99, 1_000_000)]))
            .bytes()
    };
    // The same process twice counted once.
    let traces = [
        Trace::from_bytes("a.wtrace", counting()).unwrap(),
        Trace::from_bytes("b.wtrace", counting()).unwrap(),
    ];
    let (bytes, counts) = export(Format::Csv, &Selection::default(), &traces);
    assert_eq!((counts.unrecorded, counts.unrecorded_left_out), (3, 0));
    let csv = csv_rows(&bytes);
    assert_eq!(
        csv,
        parquet_rows(export(Format::Parquet, &Selection::default(), &traces).0)
    );
    let counted: Vec<String> = (csv.iter().filter(|row| row[5] == "counted"))
        .map(|row| [3, 4, 11, 16, 18, 19, 20, 24].map(|at| &*row[at]).join(" "))
        .collect();
    let expected = [
        "  take 77    5",
        "  [0x00000062] 77    2",
        "  [0x00000063] 77    1000000",
    ];
    assert_eq!(counted, expected);
    assert!(
        csv.iter()
            .all(|row| (row[5] == "counted") != row[24].is_empty())
    );
    let filtered = Selection {
        filter: Some("0x00000063".to_owned()),
        ..Selection::default()
    };
    assert_eq!(export(Format::Csv, &filtered, &traces).1.unrecorded, 1);
    let some = Selection {
        min: 1_000,
        ..Selection::default()
    };
    let counts = export(Format::Parquet, &some, &traces).1;
    assert_eq!((counts.unrecorded, counts.unrecorded_left_out), (0, 6));
}

#[test]
fn methods_that_were_left_out_are_rows_of_their_moments() {
    // 98 was left out twice, and taken back between.
    let decisions = [(500, 3), (600, 98), (700, 98)];
    let chunk = Chunk::new(5, 0, 0, 0);
    let chunk = decisions.into_iter().fold(chunk, |chunk, (time, id)| {
        chunk.word(4 << 32 | 4).word(time).word(id)
    });
    let traces = [Trace::from_bytes("a.wtrace", shop().push(chunk).bytes()).unwrap()];
    let (bytes, counts) = export(Format::Csv, &Selection::default(), &traces);
    assert_eq!(counts.left_out, 2);
    let csv = csv_rows(&bytes);
    assert_eq!(
        csv,
        parquet_rows(export(Format::Parquet, &Selection::default(), &traces).0)
    );
    let left: Vec<String> = (csv.iter().filter(|row| row[5] == "left-out"))
        .map(|row| [3, 11, 16, 18, 24].map(|at| &*row[at]).join(" "))
        .collect();
    assert_eq!(left, [" take 500  ", " [0x00000062] 600  "]);
    let filtered = Selection {
        filter: Some("0x00000062".to_owned()),
        min: 1_000,
        ..Selection::default()
    };
    assert_eq!(export(Format::Csv, &filtered, &traces).1.left_out, 1);
}

#[test]
fn methods_that_were_summed_up_are_rows_of_their_sums() {
    let sums = |calls| {
        let sums = Chunk::new(4, 0, 0, 7)
            .aggregate(3, 21, [calls, calls, 1], [90, 60])
            .aggregate(98, 0, [2, 0, 0], [0, 0]);
        shop().push(sums).bytes()
    };
    // Of the same process: what the second has more than the first.
    let traces = [
        Trace::from_bytes("a.wtrace", sums(5)).unwrap(),
        Trace::from_bytes("b.wtrace", sums(8)).unwrap(),
    ];
    let (bytes, counts) = export(Format::Csv, &Selection::default(), &traces);
    assert_eq!((counts.unrecorded, counts.unrecorded_left_out), (3, 0));
    let csv = csv_rows(&bytes);
    assert_eq!(
        csv,
        parquet_rows(export(Format::Parquet, &Selection::default(), &traces).0)
    );
    let summed: Vec<String> = (csv.iter().filter(|row| row[5] == "aggregated"))
        .map(|row| {
            [3, 11, 16, 18, 19, 20, 24, 25, 26, 27]
                .map(|at| &*row[at])
                .join(" ")
        })
        .collect();
    let expected = [
        " take 7 450 300  5 1 90 90",
        " [0x00000062] 7 0 0  2 0  ",
        " take 7 270 180  3 0 90 90",
    ];
    assert_eq!(summed, expected);
    let counts = export(Format::Folded(Weight::Own), &Selection::default(), &traces).1;
    assert_eq!((counts.unrecorded, counts.unrecorded_left_out), (3, 0));
}

#[test]
fn calls_have_their_values_in_each_viewer() {
    let traces = open(valued().bytes());
    let (bytes, _) = export(Format::Chrome, &Selection::default(), &traces);
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let events = json["traceEvents"].as_array().unwrap().iter();
    let args: Vec<String> = (events
        .filter(|e| e["ph"] == "X" && e["name"] == "com.acme.Stock.take(int)"))
    .map(|e| e["args"].to_string())
    .collect();
    assert_eq!(
        args,
        [
            r#"{"values":{"item":"tea","result":10}}"#,
            r#"{"values":{"item":"coffee","result":20}}"#,
            r#"{"values":{"item":"tea","result":30}}"#,
            r#"{"outcome":"error","exception.type":"java.lang.IllegalStateException","exception.message":"out of stock: 7","values":{"item":"milk\n=1+1","result":{"missing":"toString threw"}}}"#,
            "null",
        ]
    );
    let (bytes, _) = export(Format::Perfetto, &Selection::default(), &traces);
    // A debug annotation: its name (field 10), then an integer (4), or a text (6) before it.
    let has = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(has(&bytes, b"\x20\x0a\x52\x06result"));
    assert!(has(&bytes, b"\x32\x03tea\x52\x04item"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_words_export_in_every_format(
        words in prop::collection::vec(any::<u64>().prop_map(|w| {
            // Few ids and small types, so that calls nest and escapes are known.
            w & 0x0000_0007_0000_00ff | (w >> 40 & 0x1b) << 2
        }), 0..200),
        from in prop::option::of(0u64..500),
        min in 0u64..20,
        depth in prop::option::of(1u32..4),
    ) {
        let chunk = words.into_iter().fold(Chunk::records(1, 0, 0), Chunk::word);
        let traces = shop_with([chunk]);
        let selection = Selection { from, min, depth, ..Selection::default() };
        let mut counts = Vec::new();
        let mut rows = Vec::new();
        for format in ALL {
            let (bytes, count) = export(format, &selection, &traces);
            counts.push(count.calls);
            match format {
                Format::Csv => rows.push(csv_rows(&bytes)),
                Format::Parquet => rows.push(parquet_rows(bytes)),
                _ => {}
            }
        }
        counts.dedup();
        prop_assert_eq!(counts.len(), 1);
        prop_assert_eq!(&rows[0], &rows[1]);
    }
}

#[test]
fn a_row_says_how_many_calls_it_stands_for() {
    let traces = [Trace::from_bytes("a.wtrace", sampled().bytes()).unwrap()];
    let (bytes, _) = export(Format::Csv, &Selection::default(), &traces);
    let mut reader = csv::Reader::from_reader(&*bytes);
    assert_eq!(&reader.headers().unwrap()[28], "weight");
    let mut rows: Vec<[String; 3]> = (reader.records())
        .map(|row| [11, 18, 28].map(|at| row.as_ref().unwrap()[at].to_owned()))
        .collect();
    let expected = [
        ["take", "20", "100"],
        ["<init>", "10", "1"],
        ["place", "50", "100"],
        ["place", "30", "100"],
        ["fib", "10", "7"],
        ["fib", "30", "7"],
        ["main", "20000", "1"],
    ];
    assert_eq!(rows, expected);
    let parquet = parquet_rows(export(Format::Parquet, &Selection::default(), &traces).0);
    let weights: Vec<&String> = parquet.iter().map(|row| row.last().unwrap()).collect();
    rows.iter_mut().for_each(|row| row[2] += " ");
    let of_csv: Vec<String> = rows.iter().map(|row| row[2].trim().to_owned()).collect();
    assert_eq!(weights, of_csv.iter().collect::<Vec<_>>());
    // What is no recorded call stands for none.
    let counting = shop().push(Chunk::counts(0, 77, &[(3, 5)]));
    let traces = [Trace::from_bytes("a.wtrace", counting.bytes()).unwrap()];
    let (bytes, _) = export(Format::Csv, &Selection::default(), &traces);
    let mut reader = csv::Reader::from_reader(&*bytes);
    for row in reader.records() {
        let row = row.unwrap();
        assert_eq!(&row[28], if &row[5] == "counted" { "" } else { "1" });
    }
}

#[test]
fn no_text_leaves_raw_what_steers_a_terminal() {
    let hostile = "\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\u{2066}";
    let calls = Chunk::records(1, 0, 0)
        .thread(1, 0, hostile)
        .text_value(1, 0, false, hostile)
        .enter(1, 1)
        .exception(hostile, hostile)
        .error(2, 1);
    let trace = TraceBuilder::new(hostile, 1, 0).push(calls);
    let traces = [Trace::from_bytes("a.wtrace", trace.bytes()).unwrap()];
    for format in [Format::Csv, Format::Chrome, Format::Speedscope] {
        let (bytes, _) = export(format, &Selection::default(), &traces);
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("202e"), "{text}");
        let raw = text
            .chars()
            .find(|c| hostile.contains(*c) && !c.is_ascii_graphic());
        assert_eq!(raw, None, "{text}");
    }
}

#[test]
fn collapsed_stacks_add_up_where_calls_stand_for_others() {
    let traces = [Trace::from_bytes("a.wtrace", sampled().bytes()).unwrap()];
    let of = |weight| {
        let (bytes, _) = export(Format::Folded(weight), &Selection::default(), &traces);
        let text = String::from_utf8(bytes).unwrap();
        let mut lines: Vec<(String, u64)> = (text.lines())
            .map(|line| {
                let (stack, number) = line.rsplit_once(' ').unwrap();
                let names = stack.split(';').map(|frame| {
                    let name = frame.split('(').next().unwrap_or_default();
                    name.rsplit('.').next().unwrap_or_default()
                });
                (names.collect::<Vec<_>>().join(";"), number.parse().unwrap())
            })
            .collect();
        lines.sort();
        lines
    };
    let named = |all: [(&str, u64); 6]| all.map(|(stack, n)| (stack.to_owned(), n));
    let times = [
        ("main", 11_790),
        ("main;fib", 140),
        ("main;fib;fib", 70),
        ("main;place", 5_000),
        ("main;place;<init>", 10),
        ("main;place;take", 2_000),
    ];
    assert_eq!(of(Weight::Own), named(times));
    let calls = [
        ("main", 1),
        ("main;fib", 7),
        ("main;fib;fib", 7),
        ("main;place", 200),
        ("main;place;<init>", 1),
        ("main;place;take", 100),
    ];
    assert_eq!(of(Weight::Calls), named(calls));
}
