//! The trace format's numbers are the same wherever they are written down: in the reader (Rust), in both hook libraries
//! (Java, C#) and in the tests' own reader (Python).

use std::collections::HashMap;
use std::fs;

#[path = "support/tree.rs"]
mod tree;

/// The names of each number: Rust, Java, C#, Python; empty where a side has no need of it.
const SAME: &[[&str; 4]] = &[
    ["MAGIC", "Format.FILE_MAGIC", "Format.FileMagic", ""],
    ["VERSION", "Format.VERSION", "Format.Version", ""],
    ["CHUNK", "Format.CHUNK", "Format.Chunk", "CHUNK"],
    ["CHUNK_MAGIC", "Format.CHUNK_MAGIC", "Format.ChunkMagic", ""],
    [
        "CHUNK_RECORDS",
        "Format.RECORDS",
        "Format.Records",
        "RECORDS",
    ],
    [
        "CHUNK_SYMBOLS",
        "Format.SYMBOLS",
        "Format.Symbols",
        "SYMBOLS",
    ],
    ["CHUNK_COUNTS", "Format.COUNTS", "Format.Counts", "COUNTS"],
    [
        "CHUNK_AGGREGATES",
        "Format.AGGREGATES",
        "Format.Aggregates",
        "AGGREGATES",
    ],
    [
        "CHUNK_CONTROL",
        "Format.CONTROL",
        "Format.Control",
        "CONTROL",
    ],
    [
        "ESCAPE_AGGREGATED",
        "Format.AGGREGATED",
        "Format.Aggregated",
        "AGGREGATED",
    ],
    ["ESCAPE_SLOW", "Format.SLOW", "Format.Slow", "SLOW"],
    [
        "ESCAPE_SAMPLED",
        "Format.SAMPLED",
        "Format.Sampled",
        "SAMPLED",
    ],
    ["BUCKETS", "Sum.BUCKETS", "Sum.Buckets", "BUCKETS"],
    ["HEAD", "Aggregates.HEAD", "Aggregates.Head", "SUM_HEAD"],
    ["HEADER_FIXED", "Header.TEXT", "Header.TextAt", ""],
    ["HEADER_TEXT", "Header.TEXT_LIMIT", "Header.TextLimit", ""],
    ["", "Format.FREE_MAGIC", "Format.FreeMagic", ""],
    ["", "Format.ENTER", "Format.Enter", "ENTER"],
    ["", "Format.EXIT", "Format.Exit", "EXIT"],
    ["", "Format.ERROR", "Format.ErrorRecord", "ERROR"],
    ["", "Format.GAP_BITS", "Format.GapBits", ""],
    ["", "Header.FLAGS", "Header.FlagsAt", ""],
    ["", "Header.LOST", "Header.LostAt", ""],
    ["", "Header.OVERWRITTEN", "Header.OverwrittenAt", ""],
    ["", "Header.FAILURES", "Header.FailuresAt", ""],
    ["", "Header.END", "Header.EndAt", ""],
    ["CONTROL_AT", "Header.CONTROLLED", "Header.ControlledAt", ""],
    ["MOST", "RequestFile.MOST", "RequestFile.Most", ""],
    ["ESCAPE_TIME", "Format.TIME", "Format.Time", "TIME"],
    [
        "ESCAPE_SEGMENT",
        "Format.SEGMENT",
        "Format.Segment",
        "SEGMENT",
    ],
    ["ESCAPE_THREAD", "Format.THREAD", "Format.Thread", "THREAD"],
    [
        "ESCAPE_EXCEPTION",
        "Format.EXCEPTION",
        "Format.Exception",
        "EXCEPTION",
    ],
    ["ESCAPE_LOST", "Format.LOST", "Format.Lost", "LOST"],
    ["ESCAPE_END", "Format.END", "Format.End", ""],
    ["ESCAPE_UNHANDLED", "", "Format.Unhandled", "UNHANDLED"],
    ["ESCAPE_SAMPLE", "Format.SAMPLE", "Format.Sample", "SAMPLE"],
    ["THREAD_OWN", "Format.OWN", "Format.Own", "OWN"],
    ["ESCAPE_SPAN", "Format.SPAN", "Format.Span", "SPAN"],
    [
        "ESCAPE_CONTEXT",
        "Format.CONTEXT",
        "Format.Context",
        "CONTEXT",
    ],
    ["ESCAPE_LOGICAL", "", "Format.Logical", "LOGICAL"],
    ["ESCAPE_BEGIN", "", "Format.Begin", "BEGIN"],
    [
        "ESCAPE_COMPLETE",
        "Format.COMPLETE",
        "Format.Complete",
        "COMPLETE",
    ],
    ["ESCAPE_STAYS", "Format.STAYS", "", "STAYS"],
    ["ESCAPE_VALUE", "Format.VALUE", "Format.Value", "VALUE"],
    ["ESCAPE_CPU", "Format.CPU", "Format.Cpu", "CPU"],
    ["", "Format.STRING", "Format.Text", ""],
    ["", "Format.OTHER", "Format.Other", ""],
    ["", "Format.NOTE", "Format.Note", ""],
    ["LOGICAL_FIRST", "", "Format.First", "FIRST"],
    ["", "", "Format.Last", "LAST"],
    ["FLAG_ORDERLY", "Header.ENDED", "Header.Ended", ""],
    ["", "Header.SYMBOLS", "Header.AllSymbols", ""],
];

/// A number as the four languages write it, or the bytes of a text, least significant first.
fn number(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches(['L', 'U']);
    if let Some(bytes) = text.strip_prefix("*b\"") {
        let bytes = bytes
            .strip_suffix('"')?
            .replace("\\r", "\r")
            .replace("\\n", "\n");
        return Some(
            bytes
                .bytes()
                .rev()
                .fold(0, |all, byte| all << 8 | u64::from(byte)),
        );
    }
    let digits = text.replace('_', "");
    match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// The numbers that a source file gives names.
fn constants(file: &str, prefix: &str, all: &mut HashMap<String, u64>) {
    let text = fs::read_to_string(tree::root().join(file)).unwrap();
    for line in text.lines() {
        let Some((names, values)) = line.split_once(" = ") else {
            continue;
        };
        let names = names.split(": ").next().unwrap().split(", ");
        let values = values.split(';').next().unwrap().split(", ");
        for (name, value) in names.zip(values) {
            let name = name.split_whitespace().last().unwrap();
            if let Some(value) = number(value) {
                all.insert(format!("{prefix}{name}"), value);
            }
        }
    }
}

#[test]
fn numbers_are_the_same_in_every_language() {
    let [mut rust, mut java, mut cs, mut python] = [(); 4].map(|()| HashMap::new());
    constants("src/trace/format.rs", "", &mut rust);
    constants("src/trace/aggregates.rs", "", &mut rust);
    constants("src/trace/control.rs", "", &mut rust);
    for file in ["Format", "Header", "Sum", "Aggregates", "RequestFile"] {
        let prefix = format!("{file}.");
        let path = format!("runtime/java/src/weave/runtime/{file}.java");
        constants(&path, &prefix, &mut java);
        let path = format!("runtime/dotnet/src/{file}.cs");
        constants(&path, &prefix, &mut cs);
    }
    constants("tests/harness/check_trace.py", "", &mut python);
    for names in SAME {
        let values = names.iter().zip([&rust, &java, &cs, &python]);
        let values: Vec<u64> = (values.filter(|(name, _)| !name.is_empty()))
            .map(|(name, all)| *all.get(*name).unwrap_or_else(|| panic!("no number {name}")))
            .collect();
        assert!(values.len() > 1);
        assert!(
            values.iter().all(|v| *v == values[0]),
            "{names:?}: {values:?}"
        );
    }
    for name in rust.keys().filter(|name| name.starts_with("ESCAPE_")) {
        assert!(
            SAME.iter().any(|names| names[0] == name),
            "{name} is compared with nothing"
        );
    }
}
