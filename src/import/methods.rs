//! Lists of methods, `my.Type[one,two];my.Other[three]`, as OpenTelemetry's and Datadog's agents for Java have them.

use super::draft::{Draft, Table};
use super::{Lines, Sink};

/// The settings that hold such a list.
const SETTINGS: [&str; 3] = [
    "otel.instrumentation.methods.include",
    "dd.trace.methods",
    "trace.methods",
];

/// Reads a list by itself, or settings (a `.properties` file, variables, options of a command line) that have one.
pub fn read(text: &str, sink: &mut Sink) {
    let lines = Lines::of(text);
    let mut found = false;
    let mut rest = text;
    while !rest.is_empty() {
        let (line, after) = logical_line(rest);
        let number = lines.at(text.len() - rest.len());
        rest = after;
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        match setting(line) {
            Some((key, value)) if SETTINGS.contains(&key.as_str()) => {
                found = true;
                list(value, number, sink);
            }
            Some((key, _)) => {
                if key.starts_with("otel.instrumentation.") || key.starts_with("dd.trace.") {
                    sink.lost(number, format!("`{key}` names no methods"));
                }
            }
            None => {
                found = true;
                list(line, number, sink);
            }
        }
    }
    if !found {
        sink.lost(
            1,
            format!("there is no list of methods: {}", SETTINGS.join(", ")),
        );
    }
}

/// A line with those that continue it, and what follows.
fn logical_line(text: &str) -> (String, &str) {
    let mut line = String::new();
    let mut rest = text;
    loop {
        let (first, after) = rest.split_once('\n').unwrap_or((rest, ""));
        rest = after;
        let first = first.trim_end_matches('\r');
        match first.strip_suffix('\\') {
            Some(begun) => {
                line.push_str(begun);
                rest = rest.trim_start_matches([' ', '\t']);
            }
            None => {
                line.push_str(first);
                return (line, rest);
            }
        }
        if rest.is_empty() {
            return (line, rest);
        }
    }
}

/// A setting's name as properties write it, and its value.
fn setting(line: &str) -> Option<(String, &str)> {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let line = line.trim_start_matches(['-', '"', '\'']);
    let line = line.strip_prefix('D').unwrap_or(line);
    let (key, value) = line.split_once('=').or_else(|| line.split_once(':'))?;
    let key = key.trim();
    let plain = key
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if !plain || key.contains('[') {
        return None;
    }
    let key = match key.contains('.') {
        true => key.to_owned(),
        false => key.to_ascii_lowercase().replace('_', "."),
    };
    Some((key, value.trim().trim_matches(['"', '\''])))
}

fn list(text: &str, line: u32, sink: &mut Sink) {
    for entry in text.split(';').map(str::trim).filter(|e| !e.is_empty()) {
        let parts = entry
            .split_once('[')
            .and_then(|(ty, rest)| Some((ty.trim(), rest.strip_suffix(']')?)));
        let Some((ty, methods)) = parts.filter(|(ty, _)| !ty.is_empty()) else {
            sink.lost(
                line,
                format!("`{entry}` is not of the form my.Type[method,method]"),
            );
            continue;
        };
        let methods: Vec<String> = methods
            .split(',')
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect();
        add(ty, methods, line, sink);
    }
}

/// A rule for methods of a type.
pub fn add(ty: &str, methods: Vec<String>, line: u32, sink: &mut Sink) {
    let table = Table::of("type", ty);
    let table = match &methods[..] {
        [] => {
            sink.lost(line, format!("`{ty}` names no method"));
            return;
        }
        [one] => table.with("method", one),
        _ => table.with_list("method", methods),
    };
    sink.drafts.push(Draft {
        name: ty.to_owned(),
        line,
        matches: vec![table],
        ..Draft::default()
    });
}
