//! OpenTelemetry's settings in YAML: the methods that they name, of .NET and of Java. Of YAML, the part that such files use.

use super::datadog::type_name;
use super::draft::{Draft, Table};
use super::{Sink, Wrong, methods};

/// A value and the line where it begins.
struct Node {
    line: u32,
    value: Value,
}

enum Value {
    Map(Vec<(String, Node)>),
    List(Vec<Node>),
    Text(String),
    /// A text over several lines, and where in it which of them begins.
    Folded(String, Vec<(usize, u32)>),
    /// What no method is named by: tables in braces, references.
    Other,
}

impl Node {
    fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(entries) => entries
                .iter()
                .find(|(own, _)| own == key)
                .map(|(_, node)| node),
            _ => None,
        }
    }

    fn path(&self, keys: &[&str]) -> Option<&Node> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) | Value::Folded(text, _) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// The line of a place in its text.
    fn line_of(&self, at: usize) -> u32 {
        let lines = match &self.value {
            Value::Folded(_, lines) => &lines[..],
            _ => &[],
        };
        let before = lines.partition_point(|(start, _)| *start <= at);
        before.checked_sub(1).map_or(self.line, |n| lines[n].1)
    }

    fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }
}

/// Whether a line is that under which instrumentation is set.
pub fn is_instrumentation(line: &str) -> bool {
    ["instrumentation/development:", "no_code/development:"]
        .iter()
        .any(|key| line.trim_end().starts_with(key))
}

pub fn read(text: &str, sink: &mut Sink) -> Result<(), Wrong> {
    let document = parse(text)?;
    let under = |keys: &[&str]| document.path(keys);
    let mut found = false;
    for keys in [
        &["instrumentation/development", "dotnet", "no_code"][..],
        &["no_code/development"],
    ] {
        if let Some(targets) = under(keys).and_then(|node| node.get("targets")) {
            found = true;
            if !matches!(targets.value, Value::List(_)) {
                sink.lost(targets.line, "`targets` is no list");
            }
            for target in targets.items() {
                dotnet(target, sink);
            }
        }
    }
    let java = under(&["instrumentation/development", "java", "methods", "include"]);
    if let Some(include) = java {
        found = true;
        match (&include.value, include.text()) {
            (_, Some(list)) => methods::list(list, |at| include.line_of(at), sink),
            (Value::List(items), _) => items.iter().for_each(|item| class(item, sink)),
            _ => sink.lost(include.line, "`include` is neither a list nor a text"),
        }
    }
    if !found {
        sink.lost(
            1,
            "there is neither `dotnet: no_code: targets` nor `java: methods: include` under \
             `instrumentation/development`",
        );
    }
    Ok(())
}

/// One target of .NET.
fn dotnet(item: &Node, sink: &mut Sink) {
    let Some(target) = item.get("target") else {
        sink.lost(item.line, "an entry without `target`");
        return;
    };
    let text = |keys: &[&str]| target.path(keys).and_then(Node::text);
    let (Some(ty), Some(method)) = (text(&["type"]), text(&["method"])) else {
        sink.lost(target.line, "a target without `type` or `method`");
        return;
    };
    let mut table = Table::default();
    if let Some(assembly) = text(&["assembly", "name"]) {
        table = table.with("artifact", assembly);
    }
    table = table.with("type", ty).with("method", method);
    if let Some(returns) = text(&["signature", "return_type"]) {
        let returns = type_name(returns);
        if returns != "*" {
            table = table.with("returns", returns);
        }
    }
    if let Some(signature) = target.get("signature") {
        let params = signature
            .get("parameter_types")
            .map_or(&[][..], Node::items);
        let params = params.iter().filter_map(Node::text).map(type_name);
        table = table.with_list("params", params.collect());
    }
    let name = item.path(&["span", "name"]).and_then(Node::text);
    if let Some(span) = item.get("span") {
        sink.told(
            span.line,
            "`span` is left out: a trace has the method's own name, and neither kind nor attributes",
        );
    }
    sink.drafts.push(Draft {
        name: name.map_or_else(|| format!("{ty}.{method}"), str::to_owned),
        line: item.line,
        matches: vec![table],
        ..Draft::default()
    });
}

/// One class of Java.
fn class(item: &Node, sink: &mut Sink) {
    let Some(ty) = item.get("class").and_then(Node::text) else {
        sink.lost(item.line, "an entry without `class`");
        return;
    };
    let named = item.get("methods").map_or(&[][..], Node::items);
    let mut names = Vec::new();
    for method in named {
        match method.text().or_else(|| method.get("name")?.text()) {
            Some(name) => names.push(name.to_owned()),
            None => sink.lost(method.line, "a method without `name`"),
        }
    }
    methods::add(ty, names, item.line, sink);
}

/// Deepest nesting.
const MAX_DEPTH: usize = 64;

struct Line<'a> {
    number: u32,
    indent: usize,
    text: &'a str,
}

fn parse(text: &str) -> Result<Node, Wrong> {
    let mut lines = Vec::new();
    for (i, raw) in text.lines().enumerate() {
        let number = u32::try_from(i + 1).unwrap_or(u32::MAX);
        let content = without_comment(raw).trim_end();
        let indent = content.len() - content.trim_start_matches(' ').len();
        let text = &content[indent..];
        if text.starts_with('\t') {
            return Err(wrong(number, "a tab where spaces should be"));
        }
        if lines.is_empty() && (text == "---" || text.starts_with('%')) {
            continue;
        }
        if !text.is_empty() {
            lines.push(Line {
                number,
                indent,
                text,
            });
        }
    }
    let mut at = 0;
    let indent = lines.first().map_or(0, |line| line.indent);
    let node = block(&mut lines, &mut at, indent, 0)?;
    match lines.get(at) {
        Some(line) => Err(wrong(
            line.number,
            "this line is not indented like those before",
        )),
        None => Ok(node),
    }
}

fn wrong(line: u32, what: &str) -> Wrong {
    Wrong {
        line,
        what: what.to_owned(),
    }
}

/// A comment begins at the start or behind a space, outside quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (i, c) in line.char_indices() {
        match quote {
            Some(open) if open == c => quote = None,
            Some(_) => {}
            None if c == '#' && before.is_whitespace() => return &line[..i],
            None if (c == '"' || c == '\'') && !before.is_alphanumeric() => quote = Some(c),
            None => {}
        }
        before = c;
    }
    line
}

/// The lines from `at` on that have this indentation.
fn block<'a>(
    lines: &mut Vec<Line<'a>>,
    at: &mut usize,
    indent: usize,
    depth: usize,
) -> Result<Node, Wrong> {
    let line = lines.get(*at).map_or(1, |line| line.number);
    if depth > MAX_DEPTH {
        return Err(wrong(line, "nested too deeply"));
    }
    let mut entries = Vec::new();
    let mut items = Vec::new();
    while let Some(current) = lines.get(*at).filter(|line| line.indent == indent) {
        let (number, text) = (current.number, current.text);
        if text == "-" || text.starts_with("- ") {
            let inner = text[1..].trim_start();
            if inner.is_empty() {
                *at += 1;
                items.push(nested(lines, at, indent + 1, number, depth)?);
            } else if key_of(inner).is_some() || inner.starts_with("- ") {
                // What follows the dash is the first line of a block of its own.
                let place = indent + text.len() - inner.len();
                lines[*at] = Line {
                    number,
                    indent: place,
                    text: inner,
                };
                items.push(block(lines, at, place, depth + 1)?);
            } else if inner.starts_with(['|', '>']) {
                *at += 1;
                items.push(folded(lines, at, indent, number));
            } else {
                *at += 1;
                items.push(value(inner, number)?);
            }
        } else if let Some((key, rest)) = key_of(text) {
            *at += 1;
            let node = match rest {
                "" => {
                    // A list may be as far left as its key.
                    let same = lines
                        .get(*at)
                        .is_some_and(|l| l.indent == indent && l.text.starts_with('-'));
                    let least = if same { indent } else { indent + 1 };
                    nested(lines, at, least, number, depth)?
                }
                // A text over several lines.
                rest if rest.starts_with(['|', '>']) => folded(lines, at, indent, number),
                rest => value(rest, number)?,
            };
            entries.push((key, node));
        } else if entries.is_empty() && items.is_empty() {
            *at += 1;
            return value(text, number);
        } else {
            return Err(wrong(number, "neither a key nor an element of a list"));
        }
        if !entries.is_empty() && !items.is_empty() {
            // A list as far left as the key before it has ended with the next key.
            return Err(wrong(number, "a list and keys side by side"));
        }
        if !items.is_empty() {
            let next = lines.get(*at);
            if next.is_some_and(|l| l.indent == indent && !l.text.starts_with('-')) {
                break;
            }
        }
    }
    let value = match items.is_empty() {
        true => Value::Map(entries),
        false => Value::List(items),
    };
    Ok(Node { line, value })
}

/// The text of the lines from `at` on that are indented further. They are joined by spaces, since no name has a line's end.
fn folded(lines: &[Line<'_>], at: &mut usize, indent: usize, number: u32) -> Node {
    let mut text = String::new();
    let mut starts = Vec::new();
    while let Some(line) = lines.get(*at).filter(|line| line.indent > indent) {
        if !text.is_empty() {
            text.push(' ');
        }
        starts.push((text.len(), line.number));
        text.push_str(line.text);
        *at += 1;
    }
    Node {
        line: number,
        value: Value::Folded(text, starts),
    }
}

/// What is below a key or dash that has nothing behind it.
fn nested(
    lines: &mut Vec<Line<'_>>,
    at: &mut usize,
    least: usize,
    number: u32,
    depth: usize,
) -> Result<Node, Wrong> {
    match lines.get(*at).map(|line| line.indent) {
        Some(indent) if indent >= least => block(lines, at, indent, depth + 1),
        _ => Ok(Node {
            line: number,
            value: Value::Text(String::new()),
        }),
    }
}

/// The key that a line begins with, and what is behind it.
fn key_of(text: &str) -> Option<(String, &str)> {
    if let Some(quote) = text.chars().next().filter(|c| "\"'".contains(*c)) {
        let end = text[1..].find(quote)?;
        let rest = text[end + 2..].strip_prefix(':')?;
        return Some((text[1..=end].to_owned(), rest.trim_start()));
    }
    let (key, rest) = match text.strip_suffix(':') {
        Some(key) if !key.contains(": ") => (key, ""),
        _ => text.split_once(": ")?,
    };
    Some((key.to_owned(), rest.trim()))
}

/// What commas part, outside quotes, brackets and braces.
fn elements(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let (mut quote, mut depth, mut start) = (None, 0usize, 0);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                all.push(text[start..at].trim());
                start = at + 1;
            }
            (None, _) => {}
        }
    }
    all.push(text[start..].trim());
    all
}

/// A value in the line of its key.
fn value(text: &str, line: u32) -> Result<Node, Wrong> {
    let node = |value| Ok(Node { line, value });
    if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        let items = elements(inner).into_iter().filter(|t| !t.is_empty());
        let items = items.map(|item| match item.starts_with('[') {
            true => node(Value::Other),
            false => value(item, line),
        });
        return node(Value::List(items.collect::<Result<_, _>>()?));
    }
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inner = text[1..].strip_suffix(quote).filter(|t| !t.contains(quote));
            match inner.filter(|t| quote == '\'' || !t.contains('\\')) {
                Some(inner) => node(Value::Text(inner.to_owned())),
                None => node(Value::Other),
            }
        }
        Some('[') => Err(wrong(
            line,
            "a list over several lines: write an element a line",
        )),
        Some('{') if !text.ends_with('}') => Err(wrong(
            line,
            "a table over several lines: write a key a line",
        )),
        Some('{' | '|' | '>' | '&' | '*' | '!' | '@' | '`') => node(Value::Other),
        _ => node(Value::Text(text.to_owned())),
    }
}
