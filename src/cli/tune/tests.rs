//! What people see, over traces made for the purpose.

use super::*;
use crate::symbols;
use crate::trace::testing::{Chunk, TraceBuilder, sampled};
use clap::Parser;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    tune: TuneArgs,
}

/// Pairs that fit into a chunk, beside a call around them.
const FILL: u64 = 3_900;

const METHODS: [(u32, &str, &str); 7] = [
    (1, "main", "([Ljava/lang/String;)V"),
    (2, "tiny", "(I)I"),
    (3, "tiny", "(J)I"),
    (4, "small", "()V"),
    (5, "slow", "()V"),
    (6, "risky", "()V"),
    (7, "outer", "()V"),
];

fn map() -> Vec<u8> {
    let mut w = symbols::Writer::default();
    w.artifact("shop.jar");
    w.ty("com/acme/Shop", "Shop.java");
    for (id, name, descriptor) in METHODS {
        w.method(id, name, descriptor, id * 10);
    }
    w.finish()
}

/// Calls of `tiny` of 25 ns in three chunks, of `small` of 60 ns in one; some that fail, are slow, or call a slow one.
fn busy() -> Vec<u8> {
    let pairs = |id: u32, ns: u64, first: Chunk| {
        (0..FILL).fold(first, |chunk, _| chunk.enter(30, id).exit(ns, id))
    };
    let main = Chunk::records(1, 0, 0).thread(1, 0, "main").enter(0, 1);
    let mut trace = TraceBuilder::new("java -jar shop.jar", 4711, 10_000_000)
        .symbols(&map(), 60, &[])
        .push(pairs(2, 25, main));
    for segment in 1..3 {
        trace = trace.push(pairs(
            2,
            25,
            Chunk::records(1, segment, u64::from(segment) * 300_000),
        ));
    }
    trace = trace.push(pairs(4, 60, Chunk::records(1, 3, 900_000)));
    let mut last = Chunk::records(1, 4, 2_000_000);
    for _ in 0..500 {
        last = last.enter(10, 5).exit(2_000, 5).enter(10, 6).exit(25, 6);
        last = last.enter(10, 7).enter(10, 5).exit(3_000, 5).exit(10, 7);
    }
    last = last.enter(10, 6).error(25, 6).enter(10, 3).exit(20, 3);
    trace.push(last.exit(3_000_000, 1)).bytes()
}

/// The same, but that half of all records are lost.
fn half() -> Vec<u8> {
    let mut bytes = busy();
    let lost = 2 + 4 * FILL * 2 + 500 * 8 + 2 + 2;
    bytes[48..56].copy_from_slice(&lost.to_le_bytes());
    bytes
}

/// What is printed and what comes of it, with `weave.toml` in the folder where a text is given, and that file afterwards.
fn run_in(
    args: &str,
    width: Option<usize>,
    rules: Option<&str>,
) -> (String, Result<u8>, Option<String>) {
    run_on(&busy(), args, width, rules)
}

/// The same of another trace.
fn run_on(
    trace: &[u8],
    args: &str,
    width: Option<usize>,
    rules: Option<&str>,
) -> (String, Result<u8>, Option<String>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wtrace");
    std::fs::write(&path, trace).unwrap();
    std::fs::write(dir.path().join("mapping.txt"), MAPPING).unwrap();
    let file = dir.path().join("weave.toml");
    if let Some(rules) = rules {
        std::fs::write(&file, rules).unwrap();
    }
    let place = |word: &str| match word {
        "FILE" => file.display().to_string(),
        "MAPPING" => dir.path().join("mapping.txt").display().to_string(),
        word => word.to_owned(),
    };
    let line = ["tune".to_owned(), path.display().to_string()].into_iter();
    let args = Cli::try_parse_from(line.chain(args.split_whitespace().map(place))).unwrap();
    let mut out = Vec::new();
    let screen = Screen {
        width,
        colour: false,
    };
    let result = show(&args.tune, &mut out, screen);
    let text = String::from_utf8(out).unwrap();
    let shown = text.replace(&dir.path().display().to_string(), "DIR");
    (shown, result, std::fs::read_to_string(&file).ok())
}

fn json_of(args: &str) -> serde_json::Value {
    let (text, result, _) = run_in(&format!("--json {args}"), None, None);
    result.unwrap();
    serde_json::from_str(&text).unwrap()
}

fn names(list: &serde_json::Value) -> Vec<&str> {
    let all = list.as_array().unwrap().iter();
    all.map(|m| {
        m["label"]
            .as_str()
            .unwrap()
            .trim_start_matches("com.acme.Shop.")
    })
    .collect()
}

#[test]
fn the_tables() {
    let (text, result, file) = run_in("", None, None);
    assert_eq!((result.unwrap(), file), (DONE, None));
    insta::assert_snapshot!(text);
}

#[test]
fn of_sampled_methods_the_records_cost_that_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wtrace");
    std::fs::write(&path, sampled().bytes()).unwrap();
    let told = |option: &str| {
        let line = ["tune", option, "--limit", "0"].into_iter();
        let args = Cli::try_parse_from(line.chain(path.to_str())).unwrap();
        let mut out = Vec::new();
        show(&args.tune, &mut out, Screen::default()).unwrap();
        String::from_utf8(out).unwrap()
    };
    let json: serde_json::Value = serde_json::from_str(&told("--json")).unwrap();
    let left_out = json["methods"].as_array().unwrap();
    let take = left_out.iter().find(|m| m["method"] == "take").unwrap();
    let fields = ["records", "calls", "estimated_from"].map(|field| take[field].clone());
    assert_eq!(fields, [2, 100, 1]);
    assert_eq!(json["before"]["records"], 14);
    let text = told("--below=150ns");
    let line = text
        .lines()
        .find(|line| line.contains("Stock.take"))
        .unwrap();
    assert!(line.contains(" ~100 "), "{text}");
}

#[test]
fn the_tables_fit_the_terminal() {
    let (text, result, _) = run_in("--limit 1", Some(60), None);
    result.unwrap();
    let tables = text.split("\n\n").take(4);
    for line in tables.flat_map(str::lines) {
        assert!(line.chars().count() <= 60, "{text}");
    }
    assert!(text.contains("and 1 more method"), "{text}");
}

#[test]
fn what_is_left_is_counted() {
    let told = json_of("");
    assert_eq!(names(&told["methods"]), ["tiny(int)", "small()"]);
    let recorded = 2 + 3 * FILL * 2 + FILL * 2 + 500 * 8 + 2 + 2;
    assert_eq!(told["before"]["records"], recorded);
    assert_eq!(told["after"]["records"], recorded - 4 * FILL * 2);
    assert_eq!(told["after"]["bytes"], (recorded - 4 * FILL * 2) * 8);
    assert_eq!(told["pair_cost_ns"], 50);
    assert_eq!(told["pair_cost_from"], "traces");
    let why: Vec<_> = told["kept"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| &m["since"])
        .collect();
    assert_eq!(
        names(&told["kept"]),
        [
            "slow()",
            "risky()",
            "outer()",
            "main(String[])",
            "tiny(long)"
        ]
    );
    assert_eq!(
        why,
        [
            "own time",
            "exceptions",
            "what it calls",
            "own time",
            "few records"
        ]
    );
}

#[test]
fn a_target_leaves_out_no_more_than_it_takes() {
    // 25 % of the records are those of `small`; `tiny` has three times as many.
    let all = json_of("--pair-cost 40ns");
    let rate = all["before"]["records_per_second"].as_f64().unwrap();
    let told = json_of(&format!("--pair-cost 40ns --rate {}/s", rate * 0.5));
    assert_eq!(names(&told["methods"]), ["tiny(int)"]);
    assert_eq!(told["kept"][0]["since"], "the target holds");
    let told = json_of("--pair-cost 40ns --overhead 1000%");
    assert_eq!(names(&told["methods"]), [""; 0]);
    let overhead = all["after"]["overhead_percent"].as_f64().unwrap();
    let told = json_of(&format!("--pair-cost 40ns --overhead {}%", overhead * 1.01));
    assert_eq!(names(&told["methods"]), ["tiny(int)", "small()"]);
}

#[test]
fn what_the_program_left_out_itself_is_left_out() {
    // `risky` was only counted, though exceptions left it, and `slow` left out; `tiny` was only summed up.
    let decided = |how: u64, id: u64| [how << 32 | 4, 1_000, id];
    let words = [decided(2, 6), decided(4, 5), decided(1, 2)].concat();
    let chunk = words.into_iter().fold(Chunk::new(5, 0, 0, 0), Chunk::word);
    let trace = [busy(), chunk.bytes()].concat();
    let rules = "version = 1\n[[aspect]]\nmatch = { type = \"**\" }\n";
    let (_, result, file) = run_on(&trace, "--from-auto --write FILE", None, Some(rules));
    assert_eq!(result.unwrap(), DONE);
    let file = file.unwrap();
    assert!(file.contains("slow") && file.contains("risky"), "{file}");
    assert!(!file.contains("tiny") && !file.contains("small"), "{file}");
    // Where it decided nothing, nothing is.
    let (text, result, file) = run_in("--from-auto --write FILE", None, Some(rules));
    assert_eq!(result.unwrap(), DONE);
    assert!(text.contains("has left no method out itself"), "{text}");
    assert_eq!(file.as_deref(), Some(rules));
}

#[test]
fn a_target_out_of_reach_writes_nothing() {
    let rules = "version = 1\n[[aspect]]\nmatch = { type = \"**\" }\n";
    let (_, result, file) = run_in("--overhead 0.01% --write FILE", None, Some(rules));
    assert_eq!(result.unwrap(), NOT_DONE);
    assert_eq!(file.as_deref(), Some(rules));
    let (_, result, file) = run_in("--rate 1 --write FILE", None, None);
    assert_eq!((result.unwrap(), file), (NOT_DONE, None));
}

#[test]
fn what_is_lost_counts_in_the_rate() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wtrace");
    std::fs::write(&path, half()).unwrap();
    let line = ["tune", path.to_str().unwrap(), "--json"];
    let args = Cli::try_parse_from(line).unwrap().tune;
    let mut out = Vec::new();
    show(&args, &mut out, Screen::default()).unwrap();
    let told: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let records = told["before"]["records"].as_u64().unwrap();
    // The process ran for 10 ms.
    let rate = told["before"]["records_per_second"].as_f64().unwrap();
    assert!(
        (rate - records as f64 * 2.0 * 100.0).abs() < 1_000.0,
        "{rate}"
    );
    let args = Cli::try_parse_from(&line[..2]).unwrap().tune;
    let mut out = Vec::new();
    show(&args, &mut out, Screen::default()).unwrap();
    assert!(
        String::from_utf8(out)
            .unwrap()
            .contains("records are missing")
    );
}

#[test]
fn a_larger_limit_takes_more() {
    let told = json_of("--below 10us");
    assert_eq!(
        names(&told["methods"]),
        ["tiny(int)", "small()", "slow()", "outer()"]
    );
    let told = json_of("--below 0ns");
    assert_eq!(names(&told["methods"]), [""; 0]);
}

#[test]
fn a_file_that_is_not_there_is_made() {
    let (text, result, file) = run_in("--write FILE", None, None);
    assert_eq!(result.unwrap(), DONE);
    let file = file.unwrap();
    assert!(
        text.contains("weave.toml: pack:default, 2 methods left out of `default`"),
        "{text}"
    );
    assert!(
        file.contains(r#"{ type = "com.acme.Shop", method = "tiny", params = "int" },"#),
        "{file}"
    );
    assert!(!file.contains("long"), "{file}");
    let (text, _, again) = run_in("--write FILE", None, Some(&file));
    assert_eq!(again.unwrap(), file);
    assert!(text.contains("leaves all of them out already"), "{text}");
    let (text, result, file) = run_in("--below 0ns --write FILE", None, None);
    assert_eq!((result.unwrap(), file), (DONE, None));
    assert!(text.contains("weave.toml is not made"), "{text}");
}

#[test]
fn only_aspects_that_record_the_method_are_changed() {
    let rules = r#"version = 1
[[aspect]]
name = "shop"
match = { type = "com.acme.**" }
[[aspect]]
name = "tiny ones"
match = { method = "tiny" }
[[aspect]]
name = "elsewhere"
match = { type = "org.**" }
[[aspect]]
name = "systrace"
match = { type = "**" }
hooks = "android-trace"
[[aspect]]
name = "own"
match = { type = "com.acme.Shop", method = "small" }
enter = "acme.Log.begin()"
advice = "enter"
"#;
    let (text, result, file) = run_in("--write FILE", None, Some(rules));
    assert_eq!(result.unwrap(), DONE);
    let file = file.unwrap();
    let parts: Vec<&str> = file.split("[[aspect]]").skip(1).collect();
    let excluded: Vec<usize> = parts
        .iter()
        .map(|part| part.matches("params = ").count())
        .collect();
    assert_eq!(excluded, [2, 1, 0, 0, 0], "{file}");
    assert!(
        text.contains("2 methods left out of `shop`, `tiny ones`"),
        "{text}"
    );
    assert!(text.contains("`own` calls hooks of its own"), "{text}");

    let elsewhere = "version = 1\n[[aspect]]\nmatch = { type = \"org.**\" }\n";
    let (text, result, file) = run_in("--write FILE", None, Some(elsewhere));
    assert_eq!((result.unwrap(), file.as_deref()), (DONE, Some(elsewhere)));
    assert!(
        text.contains("no aspect of DIR/weave.toml could leave out 2 methods"),
        "{text}"
    );
}

/// What the program was before; `small` came from another class.
const MAPPING: &str = "org.acme.Till -> com.acme.Shop:
    int count(int) -> tiny
    void org.acme.Drawer.close() -> small
";

#[test]
fn methods_are_counted_instead() {
    let rules = "version = 1\n\n[[aspect]]\nname = \"all\"\nmatch = { type = \"com.acme.**\", kind = [\"method\", \"lambda\"] }\n";
    let (text, result, file) = run_in("--write FILE --count", None, Some(rules));
    result.unwrap();
    let file = file.unwrap();
    insta::assert_snapshot!(file);
    assert!(
        text.contains("2 methods counted instead, by `counted`."),
        "{text}"
    );
    // A second time changes nothing, and an entry that is gone comes back to its place.
    let (_, result, again) = run_in("--write FILE --count", None, Some(&file));
    result.unwrap();
    assert_eq!(again.as_deref(), Some(&*file));
    let (first, last) = file.split_at(file.find("mode =").unwrap() - 2);
    let without = first.rfind("\n    {").unwrap();
    let line = first[without..].find("},").unwrap() + without + 2;
    let shorter = format!("{}{}{last}", &first[..without], &first[line..]);
    assert_ne!(shorter, file);
    let (_, result, again) = run_in("--write FILE --count", None, Some(&shorter));
    result.unwrap();
    assert_eq!(again.as_deref(), Some(&*file));
    // Where no kind has to be named none is.
    let plain = rules.replace(", kind = [\"method\", \"lambda\"]", "");
    let (_, _, file) = run_in("--write FILE --count", None, Some(&plain));
    let file = file.unwrap();
    assert!(
        file.contains("min-size = 0 }") && !file.contains("kind"),
        "{file}"
    );
    // Another aspect of that name is not ours.
    let other = format!("{rules}\n[[aspect]]\nname = \"counted\"\nmatch = {{ type = \"B\" }}\n");
    let (_, result, after) = run_in("--write FILE --count", None, Some(&other));
    let message = result.unwrap_err().to_string();
    assert!(
        message.contains("the aspect `counted` has another `mode`"),
        "{message}"
    );
    assert_eq!(after, Some(other));
}

#[test]
fn methods_are_summed_up_instead() {
    let rules = "version = 1\n\n[[aspect]]\nname = \"all\"\nmatch = { type = \"com.acme.**\" }\n";
    let (text, result, file) = run_in("--write FILE --aggregate", None, Some(rules));
    result.unwrap();
    assert!(
        text.contains("2 methods summed up instead, by `aggregated`."),
        "{text}"
    );
    let file = file.unwrap();
    let (_, _, counting) = run_in("--write FILE --count", None, Some(rules));
    let same = counting.unwrap().replace("\"counted\"", "\"aggregated\"");
    assert_eq!(file, same.replace("\"count\"", "\"aggregate\""));
    let (_, result, again) = run_in("--write FILE --aggregate", None, Some(&file));
    result.unwrap();
    assert_eq!(again.as_deref(), Some(&*file));
}

/// What was on from a level stays so.
#[test]
fn levels_are_kept() {
    let aspect = |name: &str, method: &str, level: &str| {
        format!(
            "\n[[aspect]]\nname = \"{name}\"\nmatch = {{ type = \"com.acme.**\", method = \"{method}\" }}\n{level}"
        )
    };
    let debug = "level = \"debug\"\n";
    let rules = format!(
        "version = 1\n{}{}",
        aspect("all", "!tiny", ""),
        aspect("details", "tiny", debug)
    );
    let (text, result, file) = run_in("--write FILE --aggregate", None, Some(&rules));
    result.unwrap();
    assert!(
        text.contains("2 methods summed up instead, by `aggregated`, `aggregated-debug`."),
        "{text}"
    );
    let file = file.unwrap();
    let after = Rules::parse("weave.toml", &file).unwrap();
    let levels: Vec<_> = (after.aspects.iter().map(|a| (&*a.name, a.level))).collect();
    assert_eq!(
        levels[2..],
        [
            ("aggregated", None),
            ("aggregated-debug", Some(Level::Debug))
        ]
    );
    // A method that another aspect takes always is always on.
    let both = rules.replace("!tiny", "*");
    let (_, result, file) = run_in("--write FILE --count", None, Some(&both));
    result.unwrap();
    let file = file.unwrap();
    assert!(
        file.contains("\"counted\"") && !file.contains("counted-debug"),
        "{file}"
    );
    // One of our name with another level is not ours.
    let other = format!(
        "{rules}{}mode = \"count\"\n{debug}",
        aspect("counted", "x", "")
    );
    let (_, result, _) = run_in("--write FILE --count", None, Some(&other));
    let message = result.unwrap_err().to_string();
    assert!(
        message.contains("the aspect `counted` has another `level`"),
        "{message}"
    );
}

/// A few calls of a busy machine, which lost their processor in the middle, keep no method.
#[test]
fn a_call_that_was_disturbed_keeps_no_method() {
    let pairs = |count: u64, ns: u64, first: Chunk| {
        (0..count).fold(first, |chunk, _| chunk.enter(30, 2).exit(ns, 2))
    };
    let mut trace =
        TraceBuilder::new("java -jar shop.jar", 4711, 100_000_000).symbols(&map(), 60, &[]);
    for segment in 0..3 {
        let chunk = Chunk::records(1, segment, u64::from(segment) * 300_000);
        trace = trace.push(pairs(FILL, 25, chunk.thread(1, 0, "main")));
    }
    trace = trace.push(pairs(20, 4_000_000, Chunk::records(1, 3, 2_000_000)));
    let (text, _, _) = run_on(&trace.bytes(), "", None, None);
    let left = text.split("recorded").next().unwrap();
    assert!(left.contains("Shop.tiny(int)"), "{text}");
}

#[test]
fn rules_are_about_original_names() {
    let rules = "version = 1\n[[aspect]]\nmatch = { type = \"org.acme.*\" }\n";
    let args = "--mapping MAPPING --write FILE";
    let (text, result, file) = run_in(args, None, Some(rules));
    assert_eq!(result.unwrap(), DONE);
    assert!(text.contains("org.acme.Till.count(int)"), "{text}");
    assert!(text.contains("org.acme.Drawer.close()"), "{text}");
    // `weave --mapping` looks for a method in the class where it is now.
    let file = file.unwrap();
    for entry in [
        r#"{ type = "org.acme.Till", method = "count", params = "int" },"#,
        r#"{ type = "org.acme.Till", method = "close", params = "" },"#,
    ] {
        assert!(file.contains(entry), "{file}");
    }
}

#[test]
fn wrong_rules_are_told() {
    let (_, result, file) = run_in("--write FILE", None, Some("version = 2"));
    assert_eq!(result.unwrap_err().exit_status(), 2);
    assert_eq!(file.as_deref(), Some("version = 2"));
}

#[test]
fn targets_read_as_they_are_written() {
    assert_eq!(parse_percent("5%"), Ok(5.0));
    assert_eq!(parse_percent(" 0.5 "), Ok(0.5));
    assert!(parse_percent("-1%").is_err() && parse_percent("inf").is_err());
    assert_eq!(parse_rate("100k/s"), Ok(100_000.0));
    assert_eq!(parse_rate("2.5M/s"), Ok(2_500_000.0));
    assert_eq!(parse_rate("5000"), Ok(5_000.0));
    assert!(parse_rate("5x/s").is_err() && parse_rate("/s").is_err());
}
