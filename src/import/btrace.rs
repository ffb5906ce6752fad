//! Scripts of btrace: Java with `@OnMethod(clazz = "..", method = "..")` at each probe.

use super::draft::{Draft, Table};
use super::{Lines, Sink};
use rustc_hash::FxHashMap;

/// Annotations of probes that are not about methods.
const OTHERS: [&str; 7] = [
    "OnTimer",
    "OnEvent",
    "OnExit",
    "OnError",
    "OnLowMemory",
    "OnProbe",
    "PeriodicExport",
];

pub fn read(text: &str, sink: &mut Sink) {
    let code = without_comments(text);
    let script = Script {
        code: &code,
        closings: closings(&code),
    };
    let lines = Lines::of(text);
    let mut found = false;
    let mut at = 0;
    while let Some(next) = next_annotation(&code, at) {
        at = next;
        let name = word(&code[at..]);
        let line = lines.at(at);
        at += name.len();
        if name == "Sampled" {
            sink.told(line, "`@Sampled` is left out: every call is recorded");
        } else if OTHERS.contains(&name) {
            sink.lost(line, format!("@{name} is not about methods"));
        } else if name == "OnMethod" {
            found = true;
            let rest = code[at..].trim_start();
            let arguments = script.enclosed(rest);
            let (arguments, after) = arguments.unwrap_or(("", rest));
            // What is inside of the arguments is no probe of its own.
            at = code.len() - after.len();
            probe(arguments, script.handler(after), line, sink);
        }
    }
    if !found {
        sink.lost(1, "there is no @OnMethod");
    }
}

/// The text with comments blanked out, so that places stay.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            let end = match c {
                '"' | '\'' => literal(rest),
                c => c.len_utf8(),
            };
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        };
        let blank = rest[..end]
            .bytes()
            .map(|b| if b == b'\n' { '\n' } else { ' ' });
        out.extend(blank);
        rest = &rest[end..];
    }
    out
}

/// How long the text or character at the start is, with its quotes.
fn literal(text: &str) -> usize {
    let quote = text.as_bytes()[0];
    let mut escaped = false;
    for (i, &byte) in text.as_bytes().iter().enumerate().skip(1) {
        match byte {
            b'\n' => return i,
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            byte if byte == quote => return i + 1,
            _ => {}
        }
    }
    text.len()
}

/// Where the name of the next annotation begins, outside texts.
fn next_annotation(code: &str, from: usize) -> Option<usize> {
    let mut at = from;
    while at < code.len() {
        match code.as_bytes()[at] {
            b'@' => return Some(at + 1),
            b'"' | b'\'' => at += literal(&code[at..]),
            _ => at += 1,
        }
    }
    None
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// Most annotations of a method, and most bytes of its modifiers, type and name.
const MAX_ANNOTATIONS: usize = 16;
const MAX_HEADER: usize = 1 << 10;

/// Where each parenthesis closes, by the place behind it: in one pass, however they nest.
fn closings(code: &str) -> FxHashMap<usize, usize> {
    let mut closings = FxHashMap::default();
    let mut open = Vec::new();
    let mut at = 0;
    while at < code.len() {
        match code.as_bytes()[at] {
            b'(' => open.push(at + 1),
            b')' => closings.extend(open.pop().map(|from| (from, at))),
            b'"' | b'\'' => {
                at += literal(&code[at..]);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    closings
}

/// A script without comments.
struct Script<'a> {
    code: &'a str,
    closings: FxHashMap<usize, usize>,
}

impl<'a> Script<'a> {
    /// What is inside the parenthesis that the rest of the script begins with, and what follows it.
    fn enclosed(&self, rest: &str) -> Option<(&'a str, &'a str)> {
        let from = self.code.len() - rest.strip_prefix('(')?.len();
        let close = *self.closings.get(&from)?;
        Some((&self.code[from..close], &self.code[close + 1..]))
    }

    /// The name of the method that an annotation stands before.
    fn handler(&self, text: &'a str) -> &'a str {
        let mut rest = text.trim_start();
        for _ in 0..MAX_ANNOTATIONS {
            let Some(annotation) = rest.strip_prefix('@') else {
                break;
            };
            rest = annotation[word(annotation).len()..].trim_start();
            if let Some((_, after)) = self.enclosed(rest) {
                rest = after.trim_start();
            }
        }
        let rest = &rest[..rest.floor_char_boundary(MAX_HEADER)];
        let end = rest.find(['(', ';', '{', '}']).unwrap_or(rest.len());
        rest[..end].split_whitespace().last().unwrap_or_default()
    }
}

/// The arguments of an annotation: names and what follows `=`.
fn arguments(text: &str) -> Vec<(&str, &str)> {
    let mut all = Vec::new();
    let (mut start, mut at, mut depth) = (0, 0, 0);
    while at <= text.len() {
        match text.as_bytes().get(at) {
            Some(b'(' | b'{') => depth += 1,
            Some(b')' | b'}') => depth -= 1,
            Some(b'"' | b'\'') => {
                at += literal(&text[at..]);
                continue;
            }
            Some(b',') | None if depth == 0 || at == text.len() => {
                if let Some((key, value)) = text[start..at].split_once('=') {
                    all.push((key.trim(), value.trim()));
                }
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    all
}

/// A text literal's content.
fn content(value: &str) -> Option<String> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return None,
            '\\' => match chars.next()? {
                c @ ('\\' | '"' | '\'') => out.push(c),
                _ => return None,
            },
            c => out.push(c),
        }
    }
    Some(out)
}

/// A name, a regular expression between slashes, or an annotation, as a key and its pattern.
fn pattern(key: &'static str, text: &str) -> (&'static str, String) {
    if let Some(regex) = text.strip_prefix('/').and_then(|t| t.strip_suffix('/')) {
        return (key, format!("re:{regex}"));
    }
    match text.strip_prefix('@') {
        Some(name) => match name.strip_prefix('/').and_then(|t| t.strip_suffix('/')) {
            Some(regex) => ("annotation", format!("re:{regex}")),
            None => ("annotation", name.to_owned()),
        },
        None => (key, text.to_owned()),
    }
}

fn probe(text: &str, handler: &str, line: u32, sink: &mut Sink) {
    let mut class = None;
    let mut method = handler.to_owned();
    let mut signature = None;
    let mut advice = vec!["enter"];
    for (key, value) in arguments(text) {
        match key {
            "location" => match location(value) {
                Some(found) => advice = vec![found],
                None => {
                    sink.lost(line, format!("`{value}`: hooks run at the beginning and the end of a method, and where it throws"));
                    return;
                }
            },
            "clazz" | "method" | "type" => {
                let Some(value) = content(value) else {
                    sink.lost(line, format!("`{key} = {value}` is not a plain text"));
                    return;
                };
                match key {
                    "clazz" => class = Some(value),
                    "method" => method = value,
                    _ => signature = Some(value),
                }
            }
            "enableAt" | "exactTypeMatch" => sink.told(line, format!("`{key}` is left out")),
            _ => sink.lost(line, format!("`{key}` cannot be said")),
        }
    }
    let Some(class) = class else {
        sink.lost(line, "@OnMethod without `clazz`");
        return;
    };
    let (type_key, type_pattern) = match class.strip_prefix('+') {
        Some(base) => pattern("extends", base),
        None => pattern("type", &class),
    };
    let mut table = Table::of(type_key, type_pattern);
    let (key, name) = pattern("method", &method);
    if table.has(key) {
        sink.lost(line, "annotations of a type and of a method at once");
        return;
    }
    table = table.with(key, name);
    if table.has("annotation") {
        sink.told(
            line,
            "`annotation` is that of the method or of its type: the rule may take more",
        );
    }
    if let Some(signature) = signature.filter(|s| !s.trim().is_empty()) {
        let parts = signature
            .split_once('(')
            .and_then(|(returns, rest)| Some((returns.trim(), rest.trim().strip_suffix(')')?)));
        let Some((returns, params)) = parts else {
            sink.lost(line, format!("`type = \"{signature}\"` is no signature"));
            return;
        };
        if !returns.is_empty() {
            table = table.with("returns", returns);
        }
        table = table.with("params", params.trim());
    }
    sink.drafts.push(Draft {
        name: handler.to_owned(),
        line,
        matches: vec![table],
        advice,
        ..Draft::default()
    });
}

/// The advice that runs there.
fn location(text: &str) -> Option<&'static str> {
    let kind = text
        .rsplit_once("Kind.")
        .map_or("ENTRY", |(_, kind)| word(kind));
    let plain = text.strip_prefix("@Location").is_some() && !text.contains("clazz");
    match kind {
        "ENTRY" if plain => Some("enter"),
        "RETURN" if plain => Some("exit"),
        "ERROR" if plain => Some("exception"),
        _ => None,
    }
}
