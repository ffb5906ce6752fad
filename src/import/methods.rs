//! Lists of methods, `my.Type[one,two];my.Other[three]`, and of annotations, `my.Traced;my.Timed`, as OpenTelemetry's and
//! Datadog's agents for Java have them.

use super::draft::{Draft, Table};
use super::{Lines, Sink};

/// What a list is of.
#[derive(Clone, Copy)]
enum Of {
    Methods,
    Annotations,
}

/// The settings that hold a list.
const SETTINGS: [(&str, Of); 6] = [
    ("otel.instrumentation.methods.include", Of::Methods),
    ("dd.trace.methods", Of::Methods),
    ("trace.methods", Of::Methods),
    (
        "otel.instrumentation.external-annotations.include",
        Of::Annotations,
    ),
    ("dd.trace.annotations", Of::Annotations),
    ("trace.annotations", Of::Annotations),
];

/// Reads a list by itself, or a file with settings that have one: `.properties`, variables, options of command lines, as
/// scripts and the files of containers have them.
pub fn read(text: &str, sink: &mut Sink) {
    let has_setting = text.lines().any(|line| setting(line).is_some());
    let lines = Lines::of(text);
    let mut found = false;
    let mut named: Option<Of> = None;
    let mut rest = text;
    while !rest.is_empty() {
        let begin = text.len() - rest.len();
        let (line, after) = LogicalLine::read(rest);
        rest = after;
        let number = |at: usize| lines.at(begin + line.raw(at));
        let trimmed = line.text.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', '!']) || trimmed.starts_with("//") {
            continue;
        }
        // What containers call a variable, and the value in the next line.
        let of_name = named.and_then(|of| Some((of, value_of(trimmed, "value")?)));
        named = value_of(trimmed.trim_start_matches("- "), "name").and_then(named_setting);
        if of_name.is_some() || setting(&line.text).is_some() {
            found = true;
            let mut from = 0;
            while let Some((of, value)) = match of_name {
                Some(_) if from == 0 => of_name,
                Some(_) => None,
                None => setting(&line.text[from..]),
            } {
                let at = value.as_ptr() as usize - line.text.as_ptr() as usize;
                match of {
                    Of::Methods => list(value, |inner| number(at + inner), sink),
                    Of::Annotations => annotations(value, number(at), sink),
                }
                from = at + value.len();
            }
        } else if let Some(key) = key(trimmed) {
            if key.starts_with("otel.instrumentation.") || key.starts_with("dd.trace.") {
                sink.lost(number(0), format!("`{key}` names no methods"));
            }
        } else if !has_setting && named.is_none() && !trimmed.starts_with("value:") {
            found = true;
            list(&line.text, number, sink);
        }
    }
    if !found {
        sink.lost(
            1,
            format!(
                "there is no list of methods or annotations: {}",
                SETTINGS.map(|(name, _)| name).join(", ")
            ),
        );
    }
}

/// A line with those that continue it.
struct LogicalLine {
    text: String,
    /// Where each further line begins in the text, and in what was read.
    joints: Vec<(usize, usize)>,
}

impl LogicalLine {
    /// The first of a text, and what follows it.
    fn read(text: &str) -> (LogicalLine, &str) {
        let mut line = LogicalLine {
            text: String::new(),
            joints: vec![],
        };
        let mut rest = text;
        loop {
            let (first, after) = rest.split_once('\n').unwrap_or((rest, ""));
            rest = after;
            let first = first.trim_end_matches('\r');
            let Some(begun) = first.strip_suffix('\\').filter(|_| !rest.is_empty()) else {
                line.text.push_str(first.trim_end_matches('\\'));
                return (line, rest);
            };
            line.text.push_str(begun);
            rest = rest.trim_start_matches([' ', '\t']);
            line.joints.push((line.text.len(), text.len() - rest.len()));
        }
    }

    /// Where a place of the text was read.
    fn raw(&self, at: usize) -> usize {
        let before = self.joints.iter().rev().find(|(own, _)| *own <= at);
        before.map_or(at, |(own, raw)| raw + at - own)
    }
}

/// A setting's name as a variable.
fn variable(name: &str) -> String {
    name.replace(['.', '-'], "_").to_ascii_uppercase()
}

/// The value behind the first setting with a list in a line.
fn setting(line: &str) -> Option<(Of, &str)> {
    let names = SETTINGS
        .iter()
        .flat_map(|(name, of)| [((*name).to_owned(), *of), (variable(name), *of)]);
    let values = names.filter_map(|(name, of)| Some((of, value_of(line, &name)?)));
    values.min_by_key(|(_, value)| value.as_ptr() as usize)
}

/// The list of the setting that a text names.
fn named_setting(text: &str) -> Option<Of> {
    let text = variable(text.trim_matches(['"', '\'']));
    let same = SETTINGS.iter().find(|(name, _)| variable(name) == text);
    same.map(|(_, of)| *of)
}

/// A rule for methods with any of several annotations.
fn annotations(text: &str, line: u32, sink: &mut Sink) {
    let mut names = Vec::new();
    let is_part = |c: char| c.is_alphanumeric() || "._$".contains(c);
    for entry in text.split(';').map(str::trim).filter(|e| !e.is_empty()) {
        let entry = entry.replace("\\$", "$");
        match entry.chars().all(is_part) {
            // What switches all of them off.
            true if entry == "none" => {}
            true => names.push(entry),
            false => sink.lost(line, format!("`{entry}` is no name of an annotation")),
        }
    }
    let table = match &names[..] {
        [] => return,
        [one] => Table::of("annotation", one),
        _ => Table::default().with_list("annotation", names),
    };
    sink.told(
        line,
        "`annotation` is that of the method or of its type: the rule may take more",
    );
    sink.drafts.push(Draft {
        name: "annotations".to_owned(),
        line,
        matches: vec![table],
        ..Draft::default()
    });
}

/// The value that a line gives to a name.
fn value_of<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (at, rest) = line.match_indices(name).find_map(|(at, _)| {
        let before = line[..at].strip_suffix("-D").unwrap_or(&line[..at]);
        let apart = !before.ends_with(|c: char| c.is_alphanumeric() || "._-".contains(c));
        let rest = line[at + name.len()..].trim_start();
        let rest = rest.strip_prefix(['=', ':'])?;
        apart.then_some((at, rest.trim_start()))
    })?;
    let before = line[..at].strip_suffix("-D");
    let quote = |text: &str| text.chars().next().filter(|c| "\"'".contains(*c));
    // Quotes around the value, around the option, or none.
    if let Some(quote) = quote(rest) {
        let inner = &rest[1..];
        return Some(&inner[..inner.find(quote).unwrap_or(inner.len())]);
    }
    let around = before.and_then(|before| before.chars().next_back());
    if let Some(quote) = around.filter(|c| "\"'".contains(*c)) {
        return Some(&rest[..rest.find(quote).unwrap_or(rest.len())]);
    }
    let end = match before {
        Some(_) => rest.find(|c: char| c.is_whitespace() || "\"'".contains(c)),
        None => rest.find(" #"),
    };
    Some(rest[..end.unwrap_or(rest.len())].trim_end())
}

/// The name that a line sets, as properties write it.
fn key(line: &str) -> Option<String> {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let line = line.trim_start_matches(['-', '"', '\'']);
    let line = line.strip_prefix('D').unwrap_or(line);
    let (key, _) = line.split_once('=').or_else(|| line.split_once(':'))?;
    let key = key.trim();
    let plain = key
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if !plain {
        return None;
    }
    Some(match key.contains('.') {
        true => key.to_owned(),
        false => key.to_ascii_lowercase().replace('_', "."),
    })
}

/// Reads a list; `line` answers the line of a place in it.
pub fn list(text: &str, line: impl Fn(usize) -> u32, sink: &mut Sink) {
    for entry in text.split(';').map(str::trim).filter(|e| !e.is_empty()) {
        let line = line(entry.as_ptr() as usize - text.as_ptr() as usize);
        // Shells and Kotlin escape the dollar of nested classes.
        let entry = &entry.replace("\\$", "$");
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
