//! What people see, over traces made for the purpose.

use super::*;
use crate::trace::testing::{
    Chunk, TraceBuilder, requests, sampled, shop, shop_symbols, shop_with_samples, valued,
    valued_symbols,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Parser;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    report: ReportArgs,
}

/// Runs a report over traces in a folder of its own; paths are shown as `DIR`.
fn run(traces: &[(&str, Vec<u8>)], args: &str, width: Option<usize>) -> (String, Result<()>) {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in traces {
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    let path = dir.path().display().to_string();
    let args = args.replace("DIR", &path);
    // Options are split at their dashes: a folder's name may have spaces.
    let options = args.split_inclusive(" --").flat_map(|option| {
        let option = option.trim_end_matches(" --").trim_start_matches("--");
        let (name, value) = option.split_once(' ').unwrap_or((option, ""));
        [format!("--{name}"), value.to_owned()]
    });
    let words = ["report".to_owned(), path.clone()].into_iter();
    let line = words.chain(options.filter(|word| !matches!(&word[..], "" | "--")));
    let args = Cli::try_parse_from(line).unwrap().report;
    let mut out = Vec::new();
    let screen = Screen {
        width,
        colour: false,
    };
    let result = report(&args, &mut out, screen);
    let text = String::from_utf8(out).unwrap();
    (text.replace(&path, "DIR"), result)
}

fn shown(traces: &[(&str, Vec<u8>)], args: &str) -> String {
    let (text, result) = run(traces, args, None);
    result.unwrap();
    text
}

fn shop_shown(args: &str) -> String {
    shown(&[("shop.wtrace", shop().bytes())], args)
}

#[test]
fn the_table() {
    insta::assert_snapshot!(shop_shown(""));
}

#[test]
fn the_table_on_a_narrow_terminal() {
    let (text, result) = run(
        &[("a.wtrace", shop().bytes())],
        "--limit 3 --sort name",
        Some(110),
    );
    result.unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn tables_fit_the_terminal_and_no_figure_is_cut() {
    for (width, options) in [
        (100, ""),
        (80, ""),
        (72, ""),
        (80, "--threads"),
        (60, "--threads"),
    ] {
        let wide = shop_shown(options);
        let (text, result) = run(&[("a.wtrace", shop().bytes())], options, Some(width));
        result.unwrap();
        let table = text.split("\n\n").nth(1).unwrap();
        assert!(
            table.lines().all(|line| line.chars().count() <= width),
            "{text}"
        );
        let words: Vec<&str> = wide.split_whitespace().collect();
        for figure in table
            .lines()
            .skip(1)
            .flat_map(|line| line.split_whitespace())
        {
            let is_figure = figure.starts_with(|c: char| c.is_ascii_digit());
            assert!(!is_figure || words.contains(&figure), "{figure}: {text}");
        }
        assert!(
            width > 80 || table.contains("left out for want of room: "),
            "{text}"
        );
    }
}

/// The shop's trace with counts of a method that was recorded as well, and of two that were not and have no name.
fn counting() -> TraceBuilder {
    let first = [(3, 5), (98, 2)];
    shop()
        .push(Chunk::counts(0, 77, &first))
        .push(Chunk::counts(1, 78, &[(99, 1_000_000)]))
}

#[test]
fn counted_calls_have_no_times() {
    let traces = [("shop.wtrace", counting().bytes())];
    insta::assert_snapshot!(shown(&traces, ""));
    let by_calls = shown(&traces, "--sort calls --limit 1");
    assert!(by_calls.contains("1,000,000"), "{by_calls}");
    let rare = shown(&traces, "--min-calls 3");
    assert!(
        rare.contains("0x00000063") && !rare.contains("0x00000062"),
        "{rare}"
    );
    let json: serde_json::Value = serde_json::from_str(&shown(&traces, "--json")).unwrap();
    let methods = json["methods"].as_array().unwrap();
    let of = |label: &str| methods.iter().find(|m| m["label"] == label).unwrap();
    let both = of("com.acme.Stock.take(int)");
    assert_eq!((&both["calls"], &both["counted"]), (&8.into(), &5.into()));
    assert!(both["total_ns"].is_u64() && both["errors"] == 2);
    let alone = of("[0x00000063]");
    assert_eq!(
        (&alone["calls"], &alone["counted"]),
        (&1_000_000.into(), &1_000_000.into())
    );
    for unknown in [
        "self_ns", "total_ns", "min_ns", "p50_ns", "max_ns", "errors", "running", "cut",
    ] {
        assert!(alone[unknown].is_null(), "{unknown}");
    }
    assert!(of("com.acme.Maths.fib(int)").get("counted").is_none());
    // The same process twice has counted once, another one for itself.
    let other = counting().bytes();
    let mut third = other.clone();
    third[24] += 1;
    let all = [
        ("a.wtrace", other.clone()),
        ("b.wtrace", other),
        ("c.wtrace", third),
    ];
    assert!(shown(&all, "").contains("2,000,000"));
    // Of a part of a run it is not known.
    for part in [
        "--from 1ms",
        "--thread main",
        "--min 1us",
        "--root com.acme.Orders.place",
    ] {
        let text = shown(&traces, part);
        assert!(
            text.contains("3 methods counted, not recorded, left out"),
            "{text}"
        );
        assert!(!text.contains("1,000,000"), "{text}");
    }
}

/// A recorded call that made calls that were summed up, whose time its own time is without; and a method with calls of both kinds.
fn summing_up() -> TraceBuilder {
    let place = 500_000;
    shop()
        .push(
            Chunk::records(9, 0, 20_000_000)
                .thread(9, 0, "summing")
                .escape(10, 0, &[77])
                .enter(0, 2)
                .escape(10, 0, &[place])
                .enter(600_000, 3)
                .exit(1_000, 3)
                .escape(10, 0, &[place / 2])
                .exit(400_000, 2),
        )
        .push(
            Chunk::new(4, 0, 0, 78)
                .aggregate(3, 56, [3, 2, 1], [40_000, 30_000])
                .aggregate(98, 16, [1_000, 1_000, 0], [35, 35]),
        )
        .push(Chunk::new(4, 1, 0, 79).aggregate(98, 16, [5_000, 5_000, 7], [35, 35]))
}

#[test]
fn calls_that_are_summed_up_have_times() {
    let traces = [("shop.wtrace", summing_up().bytes())];
    insta::assert_snapshot!(shown(&traces, ""));
    let json: serde_json::Value = serde_json::from_str(&shown(&traces, "--json")).unwrap();
    let methods = json["methods"].as_array().unwrap();
    let of = |label: &str| methods.iter().find(|m| m["label"] == label).unwrap();
    let alone = of("[0x00000062]");
    for (field, value) in [
        ("calls", 5_000),
        ("aggregated", 5_000),
        ("errors", 7),
        ("self_ns", 175_000),
        ("total_ns", 175_000),
        ("min_ns", 35),
        ("p50_ns", 35),
        ("max_ns", 35),
        ("running", 0),
    ] {
        assert_eq!(alone[field], value, "{field}");
    }
    let both = of("com.acme.Stock.take(int)");
    assert_eq!(
        (&both["calls"], &both["aggregated"]),
        (&7.into(), &3.into())
    );
    assert_eq!(
        (&both["running"], &both["min_ns"]),
        (&1.into(), &1_000.into())
    );
    assert!(of("com.acme.Maths.fib(int)").get("aggregated").is_none());
    let recorded = of("com.acme.Orders.place(int, String)");
    let without: serde_json::Value =
        serde_json::from_str(&shown(&[("a.wtrace", shop().bytes())], "--json")).unwrap();
    let before = without["methods"].as_array().unwrap();
    let before = (before.iter()).find(|m| m["label"] == recorded["label"]);
    let more = recorded["self_ns"].as_u64().unwrap() - before.unwrap()["self_ns"].as_u64().unwrap();
    assert_eq!(more, 1_000_000 - 750_000);
    // The same process twice has its sums once, another one for itself.
    let other = summing_up().bytes();
    let mut third = other.clone();
    third[24] += 1;
    let all = [
        ("a.wtrace", other.clone()),
        ("b.wtrace", other),
        ("c.wtrace", third),
    ];
    let json: serde_json::Value = serde_json::from_str(&shown(&all, "--json")).unwrap();
    let methods = json["methods"].as_array().unwrap();
    let alone = methods.iter().find(|m| m["label"] == "[0x00000062]");
    assert_eq!(alone.unwrap()["calls"], 10_000);
    for part in ["--from 1ms", "--thread main", "--min 1us"] {
        let text = shown(&traces, part);
        assert!(
            text.contains("2 methods summed up, not recorded, left out"),
            "{text}"
        );
        assert!(!text.contains("5,000"), "{text}");
    }
}

/// A process that came to count a method, and then left it out, and that summed up calls which failed.
fn leaving_out() -> TraceBuilder {
    let mut chunk = Chunk::new(5, 0, 0, 80);
    for (what, time, id) in [(2, 600_000_000, 98), (4, 900_000_000, 98)] {
        chunk = chunk.word(what << 32 | 4).word(time).word(id);
    }
    let sums = Chunk::new(4, 0, 0, 78).aggregate(98, 16, [5_000, 5_000, 7], [35, 35]);
    TraceBuilder::new("java -jar shop.jar", 4711, 1_000_000_000)
        .push(sums)
        .push(chunk)
}

#[test]
fn what_auto_left_out_is_told() {
    let traces = [("shop.wtrace", leaving_out().bytes())];
    let text = shown(&traces, "");
    for told in [
        "calls are more than those shown (+): a method without a name from 900 ms on",
        "5,000+",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    let json: serde_json::Value = serde_json::from_str(&shown(&traces, "--json")).unwrap();
    let row = &json["methods"][0];
    let moments = [&row["counted_from_ns"], &row["left_out_from_ns"]];
    assert_eq!(moments, [600_000_000, 900_000_000], "{row}");
}

#[test]
fn where_summed_up_calls_failed_no_text_denies_it() {
    let told = shown(&[("shop.wtrace", leaving_out().bytes())], "--exceptions");
    assert!(told.contains("No exception was recorded."), "{told}");
    let failed = "7 summed-up calls ended by an exception";
    assert!(
        told.contains(failed) && !told.contains("left a woven method"),
        "{told}"
    );
}

#[test]
fn what_sampled_calls_come_to_is_marked() {
    let traces = [("shop.wtrace", sampled().bytes())];
    insta::assert_snapshot!(shown(&traces, ""));
    insta::assert_snapshot!(shown(&traces, "--tree"));
    insta::assert_snapshot!(shown(&traces, "--calls"));
    let threads = shown(&traces, "--threads");
    assert!(
        threads.contains("~20.0 µs  100.0%   ~316       14"),
        "{threads}"
    );
    let all = "--json --tree --calls";
    let json: serde_json::Value = serde_json::from_str(&shown(&traces, all)).unwrap();
    let of = |of: &str, label: &str, fields: &[&str]| -> Vec<serde_json::Value> {
        let all = json[of].as_array().unwrap();
        let found = all.iter().find(|one| one["label"] == label).unwrap();
        fields.iter().map(|&field| found[field].clone()).collect()
    };
    let place = "com.acme.Orders.place(int, String)";
    let sums = [
        "calls",
        "estimated_from",
        "errors",
        "self_ns",
        "total_ns",
        "p50_ns",
        "max_ns",
    ];
    assert_eq!(
        of("methods", place, &sums),
        [200, 2, 100, 5_000, 8_000, 30, 50]
    );
    let node = ["calls", "estimated_from", "errors", "self_ns", "total_ns"];
    assert_eq!(of("tree", place, &node), [200, 2, 100, 5_000, 8_000]);
    assert_eq!(of("calls", place, &["weight", "total_ns"]), [100, 50]);
    for (of, field) in [
        ("methods", "estimated_from"),
        ("tree", "estimated_from"),
        ("calls", "weight"),
    ] {
        let main = &json[of].as_array().unwrap()[0];
        assert_eq!(main["label"], "com.acme.Main.main(String[])");
        assert!(main.get(field).is_none(), "{main}");
    }
    assert_eq!(json["threads"][0]["estimated_from"], 7);
    // Nothing of this is there where each call stands for itself.
    let plain = shop_shown("--json --tree --calls");
    assert!(!plain.contains("estimated_from") && !plain.contains("weight"));
}

#[test]
fn rows_by_value_are_scaled() {
    let chunk = Chunk::records(1, 0, 0)
        .sampled(3, 10)
        .text_value(3, 0, false, "tea")
        .enter(1, 3)
        .exit(5, 3)
        .text_value(3, 0, false, "tea")
        .enter(1, 3)
        .exit(7, 3);
    let trace = TraceBuilder::new("", 1, 99)
        .symbols(&valued_symbols(), 65_504, &[])
        .push(chunk);
    let text = shown(&[("a.wtrace", trace.bytes())], "--by item --json");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let row = &json["methods"][0];
    let fields = ["value", "calls", "estimated_from", "total_ns"].map(|field| row[field].clone());
    assert_eq!(
        serde_json::json!(fields),
        serde_json::json!(["tea", 11, 2, 57])
    );
}

#[test]
fn a_flame_graph_marks_estimates() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f.svg");
    let traces = [("a.wtrace", sampled().bytes())];
    shown(&traces, &format!("--flame {}", path.display()));
    let svg = std::fs::read_to_string(path).unwrap();
    let place = "total ~8.00 µs (40.0%), self ~5.00 µs, ~200 calls (from 2 recorded), ~100 left by an exception";
    assert!(svg.contains(place), "{svg}");
    assert!(
        svg.contains("total 20.0 µs (100.0%), self 19.9 µs, 1 call<"),
        "{svg}"
    );
}

#[test]
fn the_tree() {
    insta::assert_snapshot!(shop_shown("--tree"));
    insta::assert_snapshot!(shop_shown("--tree --depth 2 --min-percent 8"));
}

#[test]
fn the_threads() {
    let traces = [("a.wtrace", shop().bytes()), ("b.wtrace", ring())];
    insta::assert_snapshot!(shown(&traces, "--threads"));
}

#[test]
fn cpu_time_stands_beside_time_in_calls() {
    let cpu = Chunk::records(9, 0, 0)
        .thread(9, 6, "weave-process")
        .cpu(1, 50_000_000, 7_000_000)
        .cpu(1, 110_000_000, 12_000_000)
        .cpu(2, 110_000_000, 300_000);
    let traces = [("a.wtrace", shop().push(cpu).bytes())];
    let table = shown(&traces, "--threads");
    let cells = |name: &str| -> Vec<String> {
        let lines: Vec<&str> = table.lines().collect();
        let line = lines.iter().rfind(|line| line.ends_with(name)).unwrap();
        line.split("  ")
            .map(|cell| cell.trim().to_owned())
            .filter(|cell| !cell.is_empty())
            .collect()
    };
    assert_eq!(cells("name")[4], "cpu", "{table}");
    assert_eq!(cells("main")[4], "12.0 ms", "{table}");
    assert_eq!(cells("worker-1")[4], "300 µs", "{table}");
    assert_eq!(cells("worker-2")[4], "-", "{table}");
    let cpu_of = |options: &str| -> Vec<serde_json::Value> {
        let json: serde_json::Value = serde_json::from_str(&shown(&traces, options)).unwrap();
        let threads = json["threads"].as_array().unwrap().iter();
        threads.map(|thread| thread["cpu_ns"].clone()).collect()
    };
    let known = [12_000_000.into(), 300_000.into(), serde_json::Value::Null];
    assert_eq!(cpu_of("--json"), known);
    // Of a part, what was used in it.
    assert_eq!(cpu_of("--json --from 60ms")[0], 5_000_000);
    assert!(!shop_shown("--threads").contains("cpu"));
}

#[test]
fn what_the_process_used() {
    let with = [("a.wtrace", shop_with_samples().bytes())];
    insta::assert_snapshot!(shown(&with, "--process"));
    assert!(shop_shown("--process").contains("No samples of the process"));
    let json: serde_json::Value = serde_json::from_str(&shown(&with, "--json")).unwrap();
    insta::assert_snapshot!(json["traces"][0]["metrics"][2]);
}

#[test]
fn the_exceptions() {
    insta::assert_snapshot!(shop_shown("--exceptions"));
}

#[test]
fn exceptions_are_counted_by_type_and_place() {
    let mut chunk = Chunk::records(1, 0, 0).enter(0, 1);
    for order in 0..300 {
        chunk = (chunk.enter(1, 2))
            .exception("a.NotFound", &format!("order {order} not found"))
            .error(1, 2);
    }
    chunk = (chunk.enter(1, 2))
        .exception("a.NotFound", "no shop")
        .error(1, 2);
    let builder = TraceBuilder::new("", 1, 0).symbols(&shop_symbols(), 65_504, &[]);
    let traces = [("a.wtrace", builder.push(chunk.exit(1, 1)).bytes())];
    let text = shown(&traces, "--exceptions");
    for line in [
        "301 throws of 1 kind, by type and place:",
        "301 × a.NotFound",
        "300 × order # not found",
        "  1 × no shop",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn json() {
    insta::assert_snapshot!(shop_shown("--json --tree --thread worker-*"));
}

/// A ring that has lost its oldest chunks, of a process that was killed.
fn ring() -> Vec<u8> {
    TraceBuilder::new("", 815, 0)
        .killed()
        .lost(16_000, 2)
        .symbols(&shop_symbols(), 40, &[1])
        .push(
            Chunk::records(1, 2, 900)
                .exit(100, 3)
                .lost(5)
                .enter(0, 1)
                .enter(10, 2)
                .exit(90, 1),
        )
        .raw(&[7; 65_536])
        .push(
            Chunk::records(1, 4, 5_000)
                .escape(20, 0, &[1])
                .enter(0, 2)
                .word(0xff_ffff << 8 | 1 << 2),
        )
        .raw(b"WCHK\x01\0\0\0")
        .bytes()
}

#[test]
fn what_is_missing_is_told() {
    insta::assert_snapshot!(shown(&[("a.wtrace", ring())], ""));
}

/// Two logical calls: one of three pieces on two threads, one that is abandoned.
fn awaits() -> Vec<u8> {
    const MS: u64 = 1_000_000;
    TraceBuilder::new("dotnet shop.dll", 99, 120 * MS)
        .symbols(&shop_symbols(), 65_504, &[])
        .push(
            Chunk::records(1, 0, 0)
                .thread(1, 0, "main")
                .enter(MS, 1)
                .resume(0, 2, 1, true)
                .enter(MS, 3)
                .exit(MS, 3)
                .exit(MS, 2)
                .resume(0, 4, 2, true)
                .exit(MS, 4)
                .exit(MS, 1),
        )
        .push(
            Chunk::records(2, 0, 50 * MS)
                .thread(2, 2, "pool")
                .resume(0, 2, 1, false)
                .exit(2 * MS, 2)
                .resume(40 * MS, 2, 1, false)
                .end(2 * MS, 2, 1),
        )
        .bytes()
}

#[test]
fn logical_calls() {
    let traces = [("a.wtrace", awaits())];
    insta::assert_snapshot!(shown(&traces, "--sort total"));
    insta::assert_snapshot!(shown(&traces, "--tree"));
    let report: serde_json::Value =
        serde_json::from_str(&shown(&traces, "--json --tree --sort total --limit 1")).unwrap();
    let logical = serde_json::json!(
        {"calls": 1, "pieces": 3, "active_ns": 7_000_000, "waiting_ns": 86_000_000, "open": 0}
    );
    assert_eq!(report["methods"][0]["logical"], logical);
    let node = report["tree"].as_array().unwrap().last().unwrap();
    assert_eq!((&node["calls"], &node["resumed"]), (&0.into(), &2.into()));
    assert_eq!(node["total_ns"], 4_000_000);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.svg");
    shown(&traces, &format!("--flame {}", file.display()));
    let flame = std::fs::read_to_string(file).unwrap();
    assert!(
        flame.contains("total 4.00 ms (44.4%), self 4.00 ms, 0 calls, resumed 2 times"),
        "{flame}"
    );
}

#[test]
fn extra_symbols_name_what_the_trace_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let map = dir.path().join("shop.wsym");
    std::fs::write(&map, shop_symbols()).unwrap();
    let text = shown(
        &[("a.wtrace", ring())],
        &format!("--symbols {}", map.display()),
    );
    assert!(
        text.contains("com.acme.Orders.place(int, String)"),
        "{text}"
    );
    std::fs::write(&map, b"WSYM").unwrap();
    let (_, result) = run(
        &[("a.wtrace", ring())],
        &format!("--symbols {}", map.display()),
        None,
    );
    assert!(
        result
            .unwrap_err()
            .to_string()
            .contains("shop.wsym: 2 bytes wanted")
    );
}

#[test]
fn short_calls_become_their_callers_own_time() {
    let text = shop_shown("--min 3ms --sort name --json");
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let rows: Vec<_> = (report["methods"].as_array().unwrap().iter())
        .map(|m| {
            (
                m["method"].as_str().unwrap(),
                m["calls"].as_u64(),
                m["self_ns"].as_u64(),
            )
        })
        .collect();
    // Of fib's calls those of 12, 10 and 5 ms count; the one of 2 ms is its caller's own.
    assert_eq!(
        rows,
        [
            ("main", Some(1), Some(100_998_000)),
            ("fib", Some(3), Some(12_000_000)),
            ("place", Some(3), Some(14_003_650)),
            ("take", Some(1), Some(3_000_000)),
        ]
    );
}

#[test]
fn filters_take_parts_and_globs() {
    let text = shop_shown("--filter *.place");
    assert!(
        text.contains("Orders.place") && !text.contains("Stock.take"),
        "{text}"
    );
    let text = shop_shown("--filter Stock --tree");
    assert!(
        text.contains("Stock.take") && !text.contains("fib"),
        "{text}"
    );
    let text = shop_shown("--thread 1");
    assert!(!text.contains("compareTo"), "{text}");
}

#[test]
fn the_same_method_of_two_processes_is_one_row() {
    let traces = [("a.wtrace", shop().bytes()), ("b.wtrace", shop().bytes())];
    let report: serde_json::Value = serde_json::from_str(&shown(&traces, "--json")).unwrap();
    let take = (report["methods"].as_array().unwrap().iter())
        .find(|m| m["method"] == "take")
        .unwrap();
    assert_eq!(take["calls"], 6);
    assert_eq!(report["threads"].as_array().unwrap().len(), 6);
}

#[test]
fn what_is_not_a_trace_is_told_apart() {
    let (_, result) = run(&[("a.wtrace", b"PK".to_vec())], "", None);
    let e = result.unwrap_err();
    assert!(
        e.to_string()
            .ends_with("a.wtrace: not a trace (no WTRACE at its start) (at byte 0x0)")
    );
    assert_eq!(e.exit_status(), 3);
    let (text, result) = run(
        &[("a.wtrace", Vec::new()), ("b.wtrace", shop().bytes())],
        "",
        None,
    );
    assert!(
        text.contains("not read: DIR/a.wtrace: not a trace"),
        "{text}"
    );
    assert!(text.contains("Maths.fib"), "{text}");
    let e = result.unwrap_err();
    assert_eq!(
        (e.to_string().as_str(), e.exit_status()),
        ("1 of 2 traces could not be read", 1)
    );
    assert_eq!(run(&[], "", None).1.unwrap_err().exit_status(), 2);
}

#[test]
fn names_cannot_steer_the_terminal_or_the_browser() {
    let mut w = crate::symbols::Writer::default();
    w.ty("x/<script>alert(1)</script>", "");
    w.method(1, "a\x1b[31m&\"'\u{1}", "()V", 0);
    let trace = TraceBuilder::new("</title><script>\x1b]0;x\x07", 1, 10)
        .symbols(&w.finish(), 4_000, &[])
        .push(
            Chunk::records(1, 0, 0)
                .thread(1, 0, "\x1b[2J")
                .enter(0, 1)
                .exception("\x1b", "]]>")
                .error(9, 1),
        )
        .bytes();
    let traces = [("a.wtrace", trace)];
    let text = shown(&traces, "--tree --threads --exceptions");
    assert!(!text.contains('\x1b'), "{text}");
    for form in ["svg", "html"] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(format!("flame.{form}"));
        shown(&traces, &format!("--flame {}", file.display()));
        let flame = std::fs::read_to_string(file).unwrap();
        assert_eq!(flame.matches("<script>").count(), 1, "only ours");
        assert!(flame.contains("&lt;script&gt;alert"));
        assert!(!flame.contains(['\x1b', '\u{1}']));
    }
}

#[test]
fn methods_called_rarely_can_be_left_out() {
    let text = shop_shown("--min-calls 4");
    assert!(
        text.contains("Maths.fib") && !text.contains("compareTo"),
        "{text}"
    );
    assert!(shop_shown("--min-calls 1000").contains("no method was called 1,000 times"));
}

#[test]
fn colours_stand_out_and_do_not_move_columns() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.wtrace"), shop().bytes()).unwrap();
    let args = Cli::try_parse_from(["report".into(), dir.path().join("a.wtrace")]);
    let args = args.unwrap().report;
    let shown = |colour| {
        let mut out = Vec::new();
        let screen = Screen {
            width: Some(120),
            colour,
        };
        report(&args, &mut out, screen).unwrap();
        String::from_utf8(out).unwrap()
    };
    let coloured = shown(true);
    assert!(coloured.contains("\x1b[33m"), "{coloured:?}");
    assert_eq!(
        anstream::adapter::strip_str(&coloured).to_string(),
        shown(false)
    );
}

#[test]
fn a_flame_graph_is_the_same_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let draw = |name: &str| {
        let file = dir.path().join(name);
        shop_shown(&format!("--flame {}", file.display()));
        std::fs::read_to_string(file).unwrap()
    };
    let flame = draw("a.svg");
    assert_eq!(flame, draw("b.svg"));
    let boxes: Vec<&str> = flame
        .lines()
        .filter(|l| l.starts_with("<g "))
        .take(3)
        .collect();
    insta::assert_snapshot!(boxes.join("\n"));
    let (_, result) = run(
        &[("a.wtrace", shop().bytes())],
        "--flame DIR/flame.png",
        None,
    );
    assert_eq!(result.unwrap_err().exit_status(), 2);
}

#[test]
fn losses_are_told_by_their_reasons() {
    for (overwritten, said, rest) in [
        (0, 0, ["LOST: 30 records (no room was left)"; 2]),
        (
            1,
            0,
            ["LOST: 30 records (the ring overwrote the oldest)"; 2],
        ),
        (
            1,
            25,
            [
                "LOST: 25 records (the ring overwrote the oldest)",
                "LOST: 5 records (no room was left)",
            ],
        ),
    ] {
        let mut bytes = TraceBuilder::new("a", 1, 100).lost(60, overwritten).bytes();
        bytes[8_200] = 20;
        bytes[8_208] = 10;
        bytes[8_256] = said;
        let text = shown(&[("a.wtrace", bytes)], "");
        for line in [
            rest[0],
            rest[1],
            "LOST: 20 records (the stack was short)",
            "LOST: 10 records (their hook failed)",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}

#[test]
fn what_the_library_tells_of_the_run_is_shown() {
    let mut bytes = shop().bytes();
    let told = "a.wtrace exists, so this run records to a-2.wtrace\n\u{1b}[31mred";
    bytes[4_096..4_100].copy_from_slice(&(told.len() as u32).to_le_bytes());
    bytes[4_100..4_100 + told.len()].copy_from_slice(told.as_bytes());
    let text = shown(&[("a.wtrace", bytes.clone())], "");
    assert!(
        text.contains("note: a.wtrace exists, so this run records to a-2.wtrace\n"),
        "{text}"
    );
    assert!(text.contains("note: \u{fffd}[31mred\n"), "{text}");
    assert!(text.contains("nothing lost"), "{text}");
    bytes[4_096..4_100].copy_from_slice(&u32::MAX.to_le_bytes());
    shown(&[("a.wtrace", bytes)], "");
}

#[test]
fn a_file_that_is_cut_off_has_lost_something() {
    let mut bytes = shop().bytes();
    assert!(shown(&[("a.wtrace", bytes.clone())], "").contains("nothing lost"));
    bytes.truncate(bytes.len() - 1_000);
    let text = shown(&[("a.wtrace", bytes)], "");
    assert!(text.contains("note: the file is cut off"), "{text}");
    assert!(!text.contains("nothing lost"), "{text}");
    assert!(!text.contains("the ring overwrote"), "{text}");
}

#[test]
fn traces_of_one_process_are_told_apart_and_later_runs_named() {
    let traces = [("a.wtrace", shop().bytes()), ("a-2.wtrace", shop().bytes())];
    let text = shown(&traces, "");
    assert!(text.contains(" · a.wtrace · shop.jar"), "{text}");
    assert!(text.contains(" · a-2.wtrace · shop.jar"), "{text}");
    assert!(
        text.contains("trace 2 · pid 4711 · 2026-11-21 14:01:53.000 UTC"),
        "{text}"
    );
    let text = shown(&traces, "--threads");
    assert!(
        text.lines().any(|l| l.starts_with("    2  4711       1")),
        "{text}"
    );
    let text = shown(&traces, "--tree");
    assert!(text.contains("trace 2 · pid 4711"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&shown(&traces, "--json")).unwrap();
    let told =
        |key: &str| [&json["traces"][0][key], &json["traces"][1][key]].map(|v| v.to_string());
    assert_eq!(told("artifacts"), ["[\"shop.jar\"]"; 2]);
    // In the order of their names.
    let files = told("file");
    assert!(files[0].ends_with("/a-2.wtrace\"") && files[1].ends_with("/a.wtrace\""));
    let dir = tempfile::tempdir().unwrap();
    let mut later = shop().bytes();
    later[16] += 1;
    std::fs::write(dir.path().join("a.wtrace"), shop().bytes()).unwrap();
    std::fs::write(dir.path().join("a-2.wtrace"), later).unwrap();
    let args = ["report".into(), dir.path().join("a.wtrace")];
    let mut out = Vec::new();
    let args = Cli::try_parse_from(args).unwrap().report;
    report(&args, &mut out, Screen::default()).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.contains("note: a later run wrote ") && text.contains("a-2.wtrace"),
        "{text}"
    );
}

fn valued_shown(args: &str) -> String {
    shown(&[("valued.wtrace", valued().bytes())], args)
}

#[test]
fn single_calls_and_their_values() {
    insta::assert_snapshot!(valued_shown("--calls"));
    insta::assert_snapshot!(shop_shown("--calls --limit 4"));
    let (text, result) = run(
        &[("valued.wtrace", valued().bytes())],
        "--calls --filter take --min 2ms",
        Some(72),
    );
    result.unwrap();
    assert!(
        text.lines().skip(3).all(|line| line.chars().count() <= 72),
        "{text}"
    );
    insta::assert_snapshot!(text);
}

#[test]
fn single_calls_that_fit() {
    let listed = |args: &str| {
        let json: serde_json::Value =
            serde_json::from_str(&valued_shown(&format!("--calls --json {args}"))).unwrap();
        let calls = json["calls"].as_array().unwrap();
        let calls = calls.iter().map(|call| call["values"].to_string());
        calls.collect::<Vec<_>>()
    };
    let tea = [
        r#"{"item":"tea","result":30}"#,
        r#"{"item":"tea","result":10}"#,
    ];
    assert_eq!(listed("--where item=tea"), tea);
    assert_eq!(listed("--where item=tea --where result=3?"), tea[..1]);
    assert_eq!(listed("--where result=1"), [""; 0]);
    assert_eq!(listed("--filter Stock --min 3ms"), tea[..1]);
    assert_eq!(listed("--filter Stock --limit 1"), tea[..1]);
    assert_eq!(listed("--where arg(1)=*coffee* --where item=*"), [""; 0]);
    let text = valued_shown("--calls --where nothing=*");
    assert!(
        text.ends_with("values of these names were seen: arg(1), item, result\n"),
        "{text}"
    );
    let text = shop_shown("--calls --where nothing=*");
    assert!(
        text.ends_with("no selected call has values: rules record them with `record`\n"),
        "{text}"
    );
}

#[test]
fn single_calls_as_json() {
    let json: serde_json::Value =
        serde_json::from_str(&valued_shown("--calls --json --filter take --limit 2")).unwrap();
    assert_eq!(json["unlisted_calls"], 3);
    insta::assert_snapshot!(serde_json::to_string_pretty(&json["calls"]).unwrap());
}

#[test]
fn logical_calls_are_listed_as_one() {
    let text = shown(&[("a.wtrace", awaits())], "--calls");
    insta::assert_snapshot!(text);
}

#[test]
fn a_row_for_each_value() {
    insta::assert_snapshot!(valued_shown("--by item"));
    insta::assert_snapshot!(valued_shown("--where item=tea"));
    let json: serde_json::Value =
        serde_json::from_str(&valued_shown("--by result --json --sort name")).unwrap();
    let rows = json["methods"].as_array().unwrap().iter();
    let rows: Vec<_> = rows
        .map(|row| (row["label"].as_str().unwrap(), row["value"].to_string()))
        .collect();
    let label = "com.acme.Stock.take(int)";
    let missing = r#"{"missing":"toString threw"}"#;
    assert_eq!(
        rows,
        [missing, "10", "20", "30"].map(|value| (label, value.to_owned()))
    );
    let text = valued_shown("--by nothing");
    assert!(
        text.contains("no selected call has a value `nothing`"),
        "{text}"
    );
}

#[test]
fn views_that_know_no_values_are_refused() {
    for args in [
        &["--calls", "--by", "sql"][..],
        &["--by", "sql", "--tree"],
        &["--where", "sql=*", "--tree"],
        &["--where", "sql"],
    ] {
        let line = ["report", "a.wtrace"].iter().chain(args);
        assert!(Cli::try_parse_from(line).is_err(), "{args:?}");
    }
}
#[test]
fn what_waits_does_not_count_if_it_is_not_to() {
    let mut map = crate::symbols::Writer::default();
    map.append_map(&shop_symbols());
    map.ty("java/util/concurrent/LinkedBlockingQueue", "");
    map.method(20, "take", "()Ljava/lang/Object;", 0);
    map.method(21, "dequeue", "()Ljava/lang/Object;", 0);
    // A worker waits 80 ms for an order, 10 of it in dequeue, and works 20.
    const MS: u64 = 1_000_000;
    let chunk = Chunk::records(1, 0, 0).enter(0, 1).enter(5 * MS, 20);
    let chunk = chunk.enter(70 * MS, 21).exit(10 * MS, 21).exit(0, 20);
    let chunk = chunk.enter(0, 2).exit(15 * MS, 2).exit(0, 1);
    let trace = TraceBuilder::new("shop", 1, 100 * MS)
        .symbols(&map.finish(), 65_504, &[])
        .push(chunk)
        .bytes();
    let numbers = |args: &str| {
        let text = shown(
            &[("a.wtrace", trace.clone())],
            &format!("--json --tree {args}"),
        );
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let of = |list: &str| {
            let rows = json[list].as_array().unwrap().iter();
            let row = |m: &serde_json::Value| {
                let ms = |field: &str| m[field].as_u64().unwrap() / MS;
                let label = m["label"].as_str().unwrap().split('(').next().unwrap();
                let name = label.rsplit('.').next().unwrap().to_owned();
                (
                    name,
                    [m["calls"].as_u64().unwrap(), ms("self_ns"), ms("total_ns")],
                )
            };
            let mut rows: Vec<_> = rows.map(row).collect();
            rows.sort();
            rows
        };
        (of("methods"), of("tree"), json["excluded"].clone())
    };
    let row = |name: &str, numbers| (name.to_owned(), numbers);
    let all = [
        row("dequeue", [1, 10, 10]),
        row("main", [1, 5, 100]),
        row("place", [1, 15, 15]),
        row("take", [1, 70, 80]),
    ];
    assert_eq!(numbers("").0, all);
    let working = [
        row("dequeue", [1, 0, 0]),
        row("main", [1, 5, 20]),
        row("place", [1, 15, 15]),
        row("take", [1, 0, 0]),
    ];
    for args in ["--without-idle", "--exclude Queue.take"] {
        let (methods, tree, excluded) = numbers(args);
        assert_eq!((&methods[..], &tree[..]), (&working[..], &working[..]));
        assert_eq!(excluded.as_array().unwrap().len(), 1, "{excluded}");
    }
    let text = shown(&[("a.wtrace", trace.clone())], "--without-idle --threads");
    assert!(
        text.contains(
            "the time in 1 method does not count: java.util.concurrent.LinkedBlockingQueue.take"
        ),
        "{text}"
    );
    assert!(text.contains("20.0 ms  20.0%"), "{text}");
    let text = shown(&[("a.wtrace", trace.clone())], "--without-idle");
    assert!(text.contains(" 75.0% "), "{text}");
    let text = shown(&[("a.wtrace", trace.clone())], "--exclude nothing.*");
    assert!(
        text.contains("no method that was called is excluded"),
        "{text}"
    );
}

#[test]
fn a_window_and_roots_are_told_and_count() {
    insta::assert_snapshot!(shop_shown("--from 5ms --until 12ms"));
    let text = shop_shown("--from 15:01:53.005 --until -108ms --threads");
    assert!(
        text.contains("  only from 5.00 ms to 12.00 ms (7.00 ms)\n"),
        "{text}"
    );
    let text = shop_shown("--from 10s");
    assert!(
        text.contains("only from 10.0 s on: the trace ends at 120 ms"),
        "{text}"
    );
    for args in ["--from 2s --until 1s", "--from -1s --until -2s"] {
        let (_, result) = run(&[("shop.wtrace", shop().bytes())], args, None);
        let said = result.unwrap_err().to_string();
        assert_eq!(said, "--until is not behind --from");
    }
    let text = shop_shown("--root *.place --tree");
    assert!(
        !text.contains("Main.main") && text.contains("Orders.place"),
        "{text}"
    );
}

#[test]
fn one_request_is_a_tree_with_its_values() {
    let traces = [("t.wtrace", requests().bytes())];
    let text = shown(&traces, "--request 0000-0000");
    let tree: Vec<&str> = text
        .lines()
        .skip_while(|l| !l.starts_with("trace "))
        .collect();
    assert_eq!(
        tree[0],
        "trace 0000000000000000000000000000aaaa: 2.14 µs, 4 spans and 4 calls on 2 threads of one process"
    );
    let column = tree[2].find("span or call").unwrap();
    let rows: Vec<String> = (tree[3..].iter())
        .map(|line| line.chars().skip(column).collect())
        .collect();
    assert_eq!(
        rows,
        [
            "GET /orders/{id}  server  failed: 503  on thread 1",
            "│  http.request.method=\"GET\" http.response.status_code=503 http.route=\"/orders/{id}\"",
            "├─ web.Server.handle",
            "│  ├─ SELECT 1  client",
            "│  │  │  sql=\"SELECT 1\"",
            "│  │  └─ db.Driver.query",
            "│  └─ db.Driver.query",
            "│        sql=\"ping\"",
            "├─ SELECT 2  client  on thread 2",
            "│     sql=\"SELECT 2\"",
            "└─ web.Server.handle  on thread 2",
            "   └─ SELECT 3  client",
            "         sql=\"SELECT 3\"",
        ]
    );
    // Its first digits are asked for, not its last.
    let wrong = run(&traces, "--request aaaa", None).1.unwrap_err();
    assert!(wrong.to_string().contains("aaaa"), "{wrong}");
    let json: serde_json::Value =
        serde_json::from_str(&shown(&traces, "--request 0 --json")).unwrap();
    let items = json["request"]["items"].as_array().unwrap();
    assert_eq!(items.len(), 8);
    assert_eq!(items[0]["span_id"], "000000000000000b");
    assert_eq!(items[0]["parent_span_id"], "0000000000000007");
    assert_eq!(items[2]["parent"], 1);
    assert_eq!(items[2]["values"]["sql"], "SELECT 1");
}

#[test]
fn requests_say_which_was_slowest_and_go_by_any_attribute() {
    let traces = [("t.wtrace", requests().bytes())];
    let text = shown(&traces, "--requests --by http.route");
    let row = text.lines().last().unwrap();
    assert!(
        row.contains("000000000000  /orders/{id}  (db 99%, 3.0 each)"),
        "{text}"
    );
    assert!(text.contains("slowest  http.route"), "{text}");
}

#[test]
fn the_page_has_the_requests() {
    let dir = tempfile::tempdir().unwrap();
    let shown = |name: &str, bytes: Vec<u8>| {
        let file = dir.path().join(format!("{name}.html"));
        let traces = [("t.wtrace", bytes)];
        run(&traces, &format!("--html {}", file.display()), None)
            .1
            .unwrap();
        let page = std::fs::read_to_string(file).unwrap();
        let (_, block) = page.split_once("id=\"meta\">").unwrap();
        let packed = STANDARD.decode(block.split_once('<').unwrap().0).unwrap();
        let mut meta = vec![0; 1 << 20];
        let len = libdeflater::Decompressor::new()
            .deflate_decompress(&packed, &mut meta)
            .unwrap();
        serde_json::from_slice::<serde_json::Value>(&meta[..len]).unwrap()
    };
    let with = shown("with", requests().bytes());
    let [row] = &**with["requests"].as_array().unwrap() else {
        panic!("{with}");
    };
    assert_eq!(
        (&row["name"], &row["requests"]),
        (&"GET /orders/{id}".into(), &1.into())
    );
    assert_eq!(row["below"][0]["what"], "db");
    let without = shown("without", shop().bytes());
    assert!(without.get("requests").is_none());
}
