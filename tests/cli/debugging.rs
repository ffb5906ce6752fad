//! Debuggers and stack traces show the same as before weaving.

use crate::support::{World, tool};
use std::fs;
use std::path::PathBuf;

const TRACES: &str = r#"
import java.util.function.*;

public class Traces {
    final int n;

    Traces(int n) {
        this(n, "x");
        if (n == 3) {
            throw new IllegalStateException("in a constructor");
        }
    }

    Traces(int n, String s) {
        this.n = n / (n - 4);
    }

    static int loop(int i) {
        do {
            i--;
            if (i == 2) {
                Object o = null;
                o.hashCode();
            }
        } while (i > 0);
        return i;
    }

    static synchronized int nested(int i) {
        try {
            switch (i) {
                case 0: return loop(5);
                case 1: return loop(1);
                default: return new Traces(i).n;
            }
        } finally {
            if (i == 5)
                throw new RuntimeException(
                    "on the way out");
        }
    }

    public static void main(String[] args) {
        IntUnaryOperator f = i ->
            nested(i);
        for (int i = 0; i < 6; i++) {
            try {
                System.out.println(f.applyAsInt(i));
            } catch (RuntimeException e) {
                System.out.println(e);
                for (StackTraceElement at : e.getStackTrace())
                    System.out.println("  " + at);
            }
        }
    }
}
"#;

/// The program in `in`, and woven in `out`.
fn woven() -> (World, PathBuf) {
    let world = World::new();
    let dir = world.at("traces");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("Traces.java"), TRACES).unwrap();
    tool(&dir, "javac", &["-g", "-d", "in", "Traces.java"]);
    world.wove(&["traces/in", "traces/out", "--rules", "pack:all"]);
    (world, dir)
}

#[test]
fn stack_traces_have_the_same_lines() {
    let (_world, dir) = woven();
    let printed = |classes| tool(&dir, "java", &["-Xverify:all", "-cp", classes, "Traces"]).out;
    let expected = printed("in");
    assert!(
        expected.contains("Traces.loop(Traces.java:23)"),
        "{expected}"
    );
    assert_eq!(printed("out"), expected);
}

#[test]
fn every_variable_and_line_is_still_there() {
    let (_world, dir) = woven();
    // The tables of `javap -l` without the pcs: methods, lines, and the slots, names and types of variables. Newer
    // JDKs print them with `-c` only.
    let tables = |classes| -> Vec<String> {
        let mut variables = false;
        tool(&dir, "javap", &["-c", "-l", "-p", "-cp", classes, "Traces"])
            .out
            .lines()
            .filter_map(|line| {
                match line.split_whitespace().collect::<Vec<_>>()[..] {
                    ["LocalVariableTable:"] => variables = true,
                    [start, _length, slot, name, ty] if variables => {
                        return (start != "Start").then(|| format!("{slot} {name} {ty}"));
                    }
                    ["line", line, _pc] => return Some(format!("line {line}")),
                    _ => variables = false,
                }
                // Members stand two columns in, all else further.
                let member = line.strip_prefix("  ")?;
                let member = member.strip_suffix(';')?;
                (!member.starts_with(' ')).then(|| member.to_owned())
            })
            .collect()
    };
    let expected = tables("in");
    for part in ["static int loop(int)", "line 23:", "0 this LTraces;"] {
        assert!(
            expected.contains(&part.to_owned()),
            "{part} in {expected:?}"
        );
    }
    assert_eq!(tables("out"), expected);
}
