//! What people see, over traces made for the purpose.

use super::*;
use crate::trace::testing::{
    Chunk, TraceBuilder, requests, sampled, shop, shop_symbols, valued_symbols,
};
use clap::Parser;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    diff: DiffArgs,
}

/// A run in which `place` calls `take`, which takes so many microseconds, so often; then `fib` or a constructor.
fn run(take: u64, calls: u64, fails: bool, last: u32) -> Vec<u8> {
    let mut chunk = Chunk::records(1, 0, 0).enter(0, 2);
    for _ in 0..calls {
        chunk = chunk.enter(1_000, 3).exit(take * 1_000, 3);
    }
    chunk = chunk.enter(1_000, last);
    chunk = match fails {
        true => chunk
            .exception("java.io.IOException", "full")
            .error(50_000, last),
        false => chunk.exit(50_000, last),
    };
    TraceBuilder::new("java -jar shop.jar", 1, 0)
        .symbols(&shop_symbols(), 65_504, &[])
        .push(chunk.exit(2_000, 2))
        .bytes()
}

/// Compares the traces of two folders; `DIR` in an argument is the folder around both.
fn compared(sides: [&[Vec<u8>]; 2], args: &[&str]) -> (String, Result<u8>, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    for (name, side) in ["before", "after"].into_iter().zip(sides) {
        std::fs::create_dir(dir.path().join(name)).unwrap();
        for (number, bytes) in side.iter().enumerate() {
            std::fs::write(
                dir.path().join(name).join(format!("{number}.wtrace")),
                bytes,
            )
            .unwrap();
        }
    }
    let path = dir.path().display().to_string();
    let args = ["diff", "DIR/before", "DIR/after"].iter().chain(args);
    let args = args.map(|arg| arg.replace("DIR", &path));
    let args = Cli::try_parse_from(args).unwrap().diff;
    let mut out = Vec::new();
    let result = diff(&args, &mut out, Screen::default());
    let text = String::from_utf8(out).unwrap().replace(&path, "DIR");
    (text, result, dir)
}

fn shown(sides: [&[Vec<u8>]; 2], args: &[&str]) -> (String, u8) {
    let (text, result, _) = compared(sides, args);
    (text, result.unwrap())
}

fn side(take: u64, runs: u64) -> Vec<Vec<u8>> {
    (0..runs).map(|i| run(take + i, 4, false, 4)).collect()
}

#[test]
fn one_run_a_side() {
    let sides: [&[_]; 2] = [&[run(100, 4, false, 4)], &[run(110, 5, true, 5)]];
    insta::assert_snapshot!(shown(sides, &["--fail-on", "calls>+0", "--fail-on", "self>+1%"]).0);
    insta::assert_snapshot!(shown(sides, &["--format", "markdown", "--limit", "2"]).0);
}

/// `take` is recorded before and counted after: its time is its caller's now, which is no change of its own.
#[test]
fn what_is_counted_has_no_change() {
    let counted = |pid: u64, calls: u64| {
        let chunk = Chunk::records(1, 0, 0).enter(0, 2).exit(400_000, 2);
        TraceBuilder::new("java -jar shop.jar", pid, 0)
            .symbols(&shop_symbols(), 65_504, &[])
            .push(chunk)
            .push(Chunk::counts(0, 5, &[(3, calls)]))
            .bytes()
    };
    let sides: [&[_]; 2] = [&[run(100, 4, false, 4)], &[counted(2, 9)]];
    let (text, status) = shown(sides, &["--fail-on", "calls>+0", "--fail-on", "self>+1%"]);
    assert_eq!(status, 1);
    insta::assert_snapshot!(text);
    let json = shown(sides, &["--format", "json"]).0;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let methods = json["methods"].as_array().unwrap();
    let take = methods.iter().find(|m| m["method"] == "take").unwrap();
    assert_eq!(
        (&take["after"]["calls"], &take["before"]["calls"]),
        (&9.into(), &4.into())
    );
    assert!(take["before"]["self_ns"].is_u64());
    assert!(take["after"]["self_ns"].is_null() && take["after"]["max_ns"].is_null());
    assert!(take["self_change_ns"].is_null() && take["self_change_percent"].is_null());
    // Several runs: it is not among what is tested.
    let before: Vec<_> = (0..4).map(|i| run(100 + i, 4, false, 4)).collect();
    let after: Vec<_> = (2..6).map(|pid| counted(pid, 4)).collect();
    let json = shown([&before, &after], &["--format", "json"]).0;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let methods = json["methods"].as_array().unwrap();
    let take = methods.iter().find(|m| m["method"] == "take").unwrap();
    assert!(take["p"].is_null() && take["after"]["runs"][3]["calls"] == 4);
}

/// `take` is recorded before and summed up after: sums are compared, single calls are not.
#[test]
fn what_is_summed_up_is_compared_by_its_sums() {
    let summed = |pid: u64, take: u64| {
        let chunk = Chunk::records(1, 0, 0)
            .enter(0, 2)
            .escape(10, 0, &[12 * take])
            .exit(4_000_000, 2);
        TraceBuilder::new("java -jar shop.jar", pid, 0)
            .symbols(&shop_symbols(), 65_504, &[])
            .push(chunk)
            .push(Chunk::new(4, 0, 0, 5).aggregate(3, 66, [12, 12, 0], [take, take]))
            .bytes()
    };
    let before: Vec<_> = (0..8).map(|i| run(100 + i, 12, false, 4)).collect();
    let after: Vec<_> = (0..8).map(|i| summed(i, 200_000 + i)).collect();
    let json = shown([&before, &after], &["--format", "json"]).0;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let methods = json["methods"].as_array().unwrap();
    let take = methods.iter().find(|m| m["method"] == "take").unwrap();
    assert_eq!(take["differs"], true, "{take}");
    assert!(take["before"]["self_p50_ns"].is_u64());
    assert!(take["after"]["self_p50_ns"].is_null());
    let near = take["after"]["p50_ns"].as_u64().unwrap();
    assert!((175_000..225_000).contains(&near), "{near}");
    let tests = take["tests"].as_object().map(|tests| tests.len());
    assert_eq!(tests, Some(1), "{take}");
}

#[test]
fn several_runs_a_side() {
    let (before, after) = (side(100, 10), side(150, 10));
    let (text, status) = shown([&before, &after], &["--fail-on", "self>+10%"]);
    assert_eq!(status, 1);
    insta::assert_snapshot!(text);
    insta::assert_snapshot!(shown([&before, &after], &["--format", "markdown"]).0);
}

#[test]
fn json() {
    let sides: [&[_]; 2] = [&side(100, 2), &[run(110, 5, true, 5)]];
    let (text, status) = shown(sides, &["--format", "json", "--fail-on", "errors>+0"]);
    assert_eq!(status, 1);
    insta::assert_snapshot!(text);
}

#[test]
fn a_limit_goes_by_what_the_runs_tell() {
    let slower = |runs| [side(100, runs), side(120, runs)];
    for (runs, noisy, status) in [(1, 0, 1), (3, 0, 1), (10, 0, 1), (10, 60, 0)] {
        let [before, mut after] = slower(runs);
        if noisy > 0 {
            // The median is higher, but half of the runs are as fast as before.
            for (i, bytes) in (0u64..).zip(after.iter_mut().take(5)) {
                *bytes = run(101 + 2 * i, 4, false, 4);
            }
        }
        let limit = ["--fail-on", "self>+5%"];
        let (text, found) = shown([&before, &after], &limit);
        assert_eq!(found, status, "{runs} {noisy}\n{text}");
        assert_eq!(text.contains("no limit is broken"), status == 0, "{text}");
    }
    let [before, after] = slower(1);
    for (limit, status) in [
        ("self>+50%", 0),
        ("self>+50us", 1),
        ("self>+100us", 0),
        ("p99>+19%", 1),
        ("max>+21%", 0),
        ("total>+1%", 1),
        ("calls>+0", 0),
        ("errors>+0%", 0),
    ] {
        let (text, found) = shown([&before, &after], &["--fail-on", limit]);
        assert_eq!(found, status, "{limit}\n{text}");
    }
    // A method that takes next to nothing does not matter; one that is filtered out neither.
    for args in [&["--min-percent", "101"][..], &["--filter", "fib"]] {
        let args = [&["--fail-on", "self>+5%"], args].concat();
        assert_eq!(
            shown([&before, &after], &args).1,
            u8::from(args.len() == 2),
            "{args:?}"
        );
    }
}

#[test]
fn a_limit_fails_only_on_what_its_own_test_finds() {
    // The p99 of each run is another, on both sides alike; the calls in the middle are longer after.
    let side = |take: u64, far: u64| -> Vec<Vec<u8>> {
        let run = |i: u64| {
            let mut chunk = Chunk::records(1, 0, 0).enter(0, 2);
            for n in 0..20 {
                let took = if n == 0 {
                    far * (5 + i * 7 % 10)
                } else {
                    take + (n + i) % 5
                };
                chunk = chunk.enter(1_000, 3).exit(took * 1_000, 3);
            }
            TraceBuilder::new("java -jar shop.jar", 1, 0)
                .symbols(&shop_symbols(), 65_504, &[])
                .push(chunk.exit(2_000, 2))
                .bytes()
        };
        (0..10).map(run).collect()
    };
    let (before, after) = (side(1_000, 5_000), side(1_060, 5_500));
    let failed = |limit: &str| {
        let (text, status) = shown([&before, &after], &["--fail-on", limit]);
        assert_eq!(status == 1, text.contains("LIMIT"), "{text}");
        let broken = text.lines().filter(|l| l.starts_with("LIMIT"));
        broken
            .map(|l| l.split(": ").nth(1).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let take = "com.acme.Stock.take(int)";
    assert_eq!(failed("p50>+3%"), [take]);
    assert!(failed("p50>+7%").is_empty());
    // The numbers alone are beyond this one.
    let (text, _) = shown([&before, &after], &["--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let of = |side: &str| {
        let rows = json["methods"].as_array().unwrap();
        rows.iter().find(|m| m["label"] == take).unwrap()[side]["p99_ns"]
            .as_f64()
            .unwrap()
    };
    assert!(of("after") > of("before") * 1.05);
    assert!(failed("p99>+5%").is_empty());
}

#[test]
fn the_window_is_named() {
    let sides: [&[_]; 2] = [&[run(100, 4, false, 4)], &[run(110, 4, false, 4)]];
    let args = ["--from", "100us", "--until", "-10us"];
    let line = "only from 100 µs until 10.0 µs before the end of each trace";
    let (text, _) = shown(sides, &args);
    assert_eq!(text.lines().nth(2), Some(line), "{text}");
    let (text, _) = shown(sides, &[&args[..], &["--format", "markdown"]].concat());
    assert!(text.contains(line), "{text}");
    assert!(!shown(sides, &[]).0.contains("only from"));
}

#[test]
fn runs_are_files_and_folders() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, shop().bytes()).unwrap();
        path
    };
    let alone = put("alone.wtrace");
    for name in [
        "all/1/a.wtrace",
        "all/1/b.wtrace",
        "all/2/a.wtrace",
        "all/c.wtrace",
    ] {
        put(name);
    }
    std::fs::create_dir(dir.path().join("all/empty")).unwrap();
    let found = runs(&[alone, dir.path().join("all")]).unwrap();
    let counts: Vec<usize> = found.iter().map(Vec::len).collect();
    assert_eq!(counts, [2, 1, 1, 1]);
    let e = runs(&[dir.path().join("all/empty")]).unwrap_err();
    assert_eq!(e.exit_status(), 2);
}

#[test]
fn a_differential_flame_graph() {
    let sides: [&[_]; 2] = [&[run(100, 4, false, 4)], &[run(110, 4, false, 5)]];
    let (_, result, dir) = compared(sides, &["--flame", "DIR/diff.svg"]);
    result.unwrap();
    let flame = std::fs::read_to_string(dir.path().join("diff.svg")).unwrap();
    let hint = |name: &str| {
        let at = flame.find(&format!("<title>com.acme.{name}(")).unwrap();
        flame[at..]
            .split("</title>")
            .next()
            .unwrap()
            .split('\n')
            .nth(1)
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        hint("Stock.take"),
        "total 400 µs → 440 µs, self 400 µs → 440 µs, calls 4"
    );
    assert_eq!(
        hint("Maths.fib"),
        "total 50.0 µs → 0 ns, self 50.0 µs → 0 ns, calls 1 → 0"
    );
    assert!(
        flame.contains("fill=\"hsl(4,85%,93%)\"") && flame.contains("fill=\"hsl(214,85%,60%)\"")
    );
    let (_, result, _) = compared(sides, &["--flame", "DIR/diff.png"]);
    assert_eq!(result.unwrap_err().exit_status(), 2);
}

#[test]
fn wrong_use_is_told() {
    let sides: [&[_]; 2] = [&[shop().bytes()], &[shop().bytes()]];
    for args in [
        &["--level", "0"],
        &["--level", "NaN"],
        &["--min-percent", "NaN"],
    ] {
        assert_eq!(
            compared(sides, args).1.unwrap_err().exit_status(),
            2,
            "{args:?}"
        );
    }
    assert_eq!(compared([&[], &[]], &[]).1.unwrap_err().exit_status(), 2);
    let parse = |args: &[&str]| Cli::try_parse_from([&["diff"], args].concat());
    assert!(parse(&["a"]).is_err());
    assert!(parse(&["a", "b", "--fail-on", "self>10"]).is_err());
    let args = parse(&["--before", "a", "b", "--after", "c"]).unwrap().diff;
    assert_eq!((args.more_before.len(), args.more_after.len()), (2, 1));
    let e = diff(
        &parse(&["--before", "a"]).unwrap().diff,
        &mut Vec::new(),
        Screen::default(),
    );
    assert_eq!(e.unwrap_err().exit_status(), 2);
}

#[test]
fn names_cannot_steer_what_shows_them() {
    let mut w = crate::symbols::Writer::default();
    w.ty("x/<b>|`@all", "");
    w.method(1, "a\x1b[31m", "()V", 0);
    let trace = TraceBuilder::new("", 1, 0)
        .symbols(&w.finish(), 4_000, &[])
        .push(Chunk::records(1, 0, 0).enter(0, 1).exit(9, 1))
        .bytes();
    let sides: [&[_]; 2] = [std::slice::from_ref(&trace); 2];
    assert!(!shown(sides, &[]).0.contains('\x1b'));
    let (text, _) = shown(sides, &["--format", "markdown"]);
    assert!(text.contains("| x.&lt;b&gt;\\|\\`\\@all.a"), "{text}");
}

#[test]
fn rows_by_value() {
    let run = |tea: u64, milk: bool| {
        let chunk = Chunk::records(1, 0, 0).enter(0, 2);
        let chunk = chunk
            .text_value(3, 0, false, "tea")
            .enter(0, 3)
            .exit(tea, 3);
        let chunk = match milk {
            true => chunk
                .text_value(3, 0, false, "milk")
                .enter(0, 3)
                .exit(1_000, 3),
            false => chunk.enter(0, 3).exit(500, 3),
        };
        TraceBuilder::new("java -jar shop.jar", 1, 0)
            .symbols(&valued_symbols(), 65_504, &[])
            .push(chunk.exit(2_000, 2))
            .bytes()
    };
    let sides: [&[_]; 2] = [
        &[run(10_000, false), run(12_000, false)],
        &[run(15_000, true), run(15_000, false)],
    ];
    insta::assert_snapshot!(shown(sides, &["--by", "item"]).0);
    let (text, _) = shown(
        sides,
        &["--by", "item", "--where", "item=tea", "--format", "json"],
    );
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let rows = json["methods"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{text}");
    assert_eq!(
        (&rows[0]["label"], &rows[0]["value"]),
        (&"com.acme.Stock.take(int)".into(), &"tea".into())
    );
    assert_eq!(rows[0]["before"]["self_ns"], 11_000);
    assert_eq!(
        json["all"]["before"]["self_ns"], 11_000,
        "only calls that fit count"
    );
}

#[test]
fn estimates_are_marked_and_a_side_that_is_not_sampled_is_told() {
    let (text, _) = shown([&[sampled().bytes()], &[sampled().bytes()]], &[]);
    assert!(text.contains("~200  ~8.00 µs"), "{text}");
    assert!(
        text.contains("note: DIR/after/0.wtrace: 2 methods are sampled"),
        "{text}"
    );
    assert!(!text.contains("on one side only"), "{text}");
    let (text, _) = shown([&[shop().bytes()], &[sampled().bytes()]], &[]);
    assert!(text.contains("4 → ~200"), "{text}");
    assert!(
        text.contains("note: calls are sampled on one side only"),
        "{text}"
    );
    let (json, _) = shown(
        [&[sampled().bytes()], &[sampled().bytes()]],
        &["--format", "json"],
    );
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let methods = json["methods"].as_array().unwrap();
    let place = "com.acme.Orders.place(int, String)";
    let place = methods.iter().find(|m| m["label"] == place).unwrap();
    assert_eq!(place["after"]["estimated_from"], 2);
    assert_eq!(
        (&place["after"]["calls"], &place["differs"]),
        (&200.into(), &false.into())
    );
}

#[test]
fn requests_are_compared_by_name() {
    let traced = || vec![requests().bytes(), requests().bytes()];
    let (text, _) = shown([&traced(), &traced()[..1]], &[]);
    let rows: Vec<&str> = text
        .lines()
        .skip_while(|l| !l.starts_with("requests"))
        .collect();
    let words = |row: &str| row.split_whitespace().collect::<Vec<_>>().join(" ");
    let rows: Vec<String> = rows.into_iter().map(words).collect();
    assert_eq!(
        rows,
        [
            "requests failed p50 p90 p99 request",
            // One a run, and as long on both sides.
            "1 100.0% 2.04 µs 2.04 µs 2.04 µs GET /orders/{id}",
        ]
    );
    let (text, _) = shown([&traced(), &side(100, 1)], &["--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let [row] = &**json["requests"].as_array().unwrap() else {
        panic!("{json}");
    };
    assert_eq!(
        (&row["name"], &row["after"]),
        (&"GET /orders/{id}".into(), &().into())
    );
    assert_eq!(
        (&row["before"]["requests"], &row["before"]["errors"]),
        (&2.into(), &2.into())
    );
    let (text, _) = shown([&side(100, 1), &traced()], &["--format", "markdown"]);
    assert!(
        text.contains("| request | requests |") && text.contains("| GET /orders/{id} | - → 1 |"),
        "{text}"
    );
    // Of a part of the calls nothing is known of requests.
    let (text, _) = shown([&traced(), &traced()], &["--min", "1ms"]);
    assert!(!text.contains("GET /orders"), "{text}");
}
