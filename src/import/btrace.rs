//! Scripts of btrace: Java with `@OnMethod(clazz = "..", method = "..")` at each probe.

use super::draft::{Draft, Point, Table, What};
use super::{Lines, Sink};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

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
    let imports = imports(&code);
    let class = class_name(&code);
    let mut found = false;
    // What a `@Sampled` says, and where it ends.
    let mut sampled = None;
    let mut at = 0;
    while let Some(next) = next_annotation(&code, at) {
        at = next;
        let name = word(&code[at..]);
        let line = lines.at(at);
        let begin = at - 1;
        at += name.len();
        if name == "Sampled" {
            let (arguments, after) = script.enclosed(&code[at..]).unwrap_or(("", &code[at..]));
            at = code.len() - after.len();
            sampled = Some((arguments, at));
        } else if OTHERS.contains(&name) {
            sink.lost(line, format!("@{name} is not about methods"));
        } else if name == "OnMethod" {
            found = true;
            let rest = code[at..].trim_start();
            let arguments = script.enclosed(rest);
            let (arguments, after) = arguments.unwrap_or(("", rest));
            // What is inside of the arguments is no probe of its own.
            at = code.len() - after.len();
            let mut handler = script.handler(after);
            // It may stand in front of `@OnMethod` as well.
            let before = sampled.filter(|&(_, end)| code[end..begin].trim().is_empty());
            handler.sampled = handler.sampled.or(before.map(|(arguments, _)| arguments));
            probe(arguments, (&handler, &class), &imports, line, sink);
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

/// Most annotations of a method, most bytes of its modifiers, type and name, and of its parameters.
const MAX_ANNOTATIONS: usize = 16;
const MAX_HEADER: usize = 1 << 10;
const MAX_PARAMS: usize = 1 << 14;

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

/// The types that a script imports one by one: simple and full names.
fn imports(code: &str) -> BTreeMap<&str, &str> {
    let names = code.lines().filter_map(|line| {
        let name = line.trim().strip_prefix("import ")?.trim();
        let name = name.strip_suffix(';')?.trim();
        let (_, simple) = name.rsplit_once('.')?;
        (!name.starts_with("static ") && simple != "*").then_some((simple, name))
    });
    names.collect()
}

/// The full name of the script's class.
fn class_name(code: &str) -> String {
    let behind = |keyword: &str| {
        let mut rest = code.split_whitespace().skip_while(|word| *word != keyword);
        rest.nth(1).map(qualified).unwrap_or_default()
    };
    match (behind("package"), behind("class")) {
        ("", name) => name.to_owned(),
        (package, name) => format!("{package}.{name}"),
    }
}

/// The method that an annotation stands before.
struct Handler<'a> {
    name: &'a str,
    /// The parameters that have no annotation: types, as the script writes them, and names.
    params: Vec<(String, String)>,
    /// The parameter for what the method returns.
    returned: Option<(String, String)>,
    /// The names of those for the object, and for that of the method that is called.
    this: Option<String>,
    target: Option<String>,
    /// It takes how long the method ran.
    is_timed: bool,
    /// What `@Sampled` says.
    sampled: Option<&'a str>,
    /// All parameters in their order.
    all: Vec<Param>,
}

struct Param {
    annotation: Option<String>,
    /// As the script writes it.
    ty: String,
    name: String,
}

/// What follows the annotations that a text begins with, and their names and arguments. `enclosed` gives what is inside of the
/// parenthesis that a text begins with, and what follows it.
fn behind_annotations<'t>(
    text: &'t str,
    enclosed: impl Fn(&'t str) -> Option<(&'t str, &'t str)>,
) -> (&'t str, Vec<(&'t str, &'t str)>) {
    let mut names = Vec::new();
    let mut rest = text.trim_start();
    while let Some(annotation) = rest
        .strip_prefix('@')
        .filter(|_| names.len() < MAX_ANNOTATIONS)
    {
        let name = qualified(annotation);
        let mut arguments = "";
        rest = annotation[name.len()..].trim_start();
        if let Some((inside, after)) = enclosed(rest) {
            arguments = inside;
            rest = after.trim_start();
        }
        names.push((name.rsplit('.').next().unwrap_or(name), arguments));
    }
    (rest, names)
}

/// What is inside of the parenthesis that a parameter's annotation begins with, and what follows it.
fn parenthesised(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('(')?;
    let end = outside(inside, ')')[0].len();
    (end < inside.len()).then(|| (&inside[..end], &inside[end + 1..]))
}

fn qualified(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
    &text[..end.unwrap_or(text.len())]
}

/// The text without what is in angle brackets.
fn without_type_arguments(text: &str) -> String {
    let mut depth = 0usize;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}

/// What a separator parts, outside parentheses and texts.
fn outside(text: &str, separator: char) -> Vec<&str> {
    let mut all = Vec::new();
    let (mut start, mut at, mut depth) = (0, 0, 0usize);
    while at < text.len() {
        match text.as_bytes()[at] {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth = depth.saturating_sub(1),
            b'"' | b'\'' => {
                at += literal(&text[at..]);
                continue;
            }
            byte if depth == 0 && char::from(byte) == separator => {
                all.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    all.push(&text[start..]);
    all
}

/// The type and the name of a parameter's declaration, `final String[] names` or `int count[]`.
fn declaration(declared: &str) -> Option<(String, String)> {
    let text = declared.replace("...", "[] ").replace('[', " [");
    let words = text.split_whitespace().filter(|word| *word != "final");
    let (brackets, names): (Vec<&str>, Vec<&str>) =
        words.partition(|word| word.starts_with('[') || *word == "]");
    let [ty, name] = names[..] else {
        return None;
    };
    let dimensions = brackets.concat().matches('[').count();
    Some((format!("{ty}{}", "[]".repeat(dimensions)), name.to_owned()))
}

/// A type as a rule writes it: imported ones with their package, `AnyType` as any.
fn pattern_of(ty: &str, imports: &BTreeMap<&str, &str>) -> String {
    let (name, dimensions) = ty.split_at(ty.find('[').unwrap_or(ty.len()));
    if dimensions.is_empty() && is_any(name) {
        return "*".to_owned();
    }
    let (outer, inner) = name.split_at(name.find('.').unwrap_or(name.len()));
    let named = match imports.get(outer) {
        Some(full) => format!("{full}{inner}"),
        // A nested type of one in the same package, or in a package that is imported as a whole.
        None if outer.starts_with(char::is_uppercase) && !inner.is_empty() => format!("**.{name}"),
        None => name.to_owned(),
    };
    named + dimensions
}

/// Whether a handler takes values of any type by this one.
fn is_any(ty: &str) -> bool {
    let simple = ty.rsplit('.').next().unwrap_or(ty);
    simple == "AnyType" || simple == "Object"
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

    /// The method that an annotation stands before.
    fn handler(&self, text: &'a str) -> Handler<'a> {
        let (rest, annotations) = behind_annotations(text, |rest| self.enclosed(rest));
        let sampled = annotations.iter().find(|(name, _)| *name == "Sampled");
        let header = &rest[..rest.floor_char_boundary(MAX_HEADER)];
        let end = header.find(['(', ';', '{', '}']).unwrap_or(header.len());
        let mut handler = Handler {
            name: header[..end].split_whitespace().last().unwrap_or_default(),
            params: vec![],
            returned: None,
            this: None,
            target: None,
            is_timed: false,
            sampled: sampled.map(|(_, arguments)| *arguments),
            all: vec![],
        };
        let params = self.enclosed(&rest[end..]).map_or("", |(params, _)| params);
        let params = &params[..params.floor_char_boundary(MAX_PARAMS)];
        for param in outside(&without_type_arguments(params), ',') {
            let (declared, annotations) = behind_annotations(param, parenthesised);
            let Some((ty, name)) = declaration(declared) else {
                continue;
            };
            if annotations.is_empty() {
                handler.params.push((ty.clone(), name.clone()));
            }
            let annotation = annotations.first().map(|(name, _)| (*name).to_owned());
            handler.all.push(Param {
                annotation,
                ty: ty.clone(),
                name: name.clone(),
            });
            for (annotation, _) in annotations {
                match annotation {
                    "Return" => handler.returned = Some((ty.clone(), name.clone())),
                    "Self" => handler.this = Some(name.clone()),
                    "TargetInstance" => handler.target = Some(name.clone()),
                    "Duration" => handler.is_timed = true,
                    _ => {}
                }
            }
        }
        handler
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

/// Where a handler runs.
enum Location {
    /// In the method, with this advice.
    Method(&'static str),
    /// At calls that the method makes: patterns of their type and method, and whether it runs behind them.
    Call {
        ty: Option<String>,
        method: Option<String>,
        is_after: bool,
    },
    /// At another point inside of the method: its kind as a rule names it, what the script says of it, and whether it runs behind it.
    Point {
        kind: &'static str,
        ty: Option<String>,
        field: Option<String>,
        line: i32,
        is_after: bool,
    },
}

/// What btrace writes in place of a line's number.
const EVERY_LINE: i32 = -1;

/// btrace's kinds of points, and those of rules.
const POINTS: [(&str, &str); 8] = [
    ("FIELD_GET", "field-get"),
    ("FIELD_SET", "field-set"),
    ("NEW", "new"),
    ("THROW", "throw"),
    ("CATCH", "catch"),
    ("LINE", "line"),
    ("SYNC_ENTRY", "monitor-enter"),
    ("SYNC_EXIT", "monitor-exit"),
];

/// What `@Location(..)` says.
fn location(text: &str) -> Option<Location> {
    let inside = text.strip_prefix("@Location")?.trim_start();
    let inside = inside.strip_prefix('(')?.strip_suffix(')')?;
    let mut kind = "ENTRY";
    let (mut ty, mut method, mut is_after) = (None, None, false);
    let (mut field, mut line) = (None, 0);
    let named = arguments(inside);
    if named.is_empty() {
        kind = last_word(inside);
    }
    for (key, value) in named {
        match key {
            "value" => kind = last_word(value),
            "where" => is_after = last_word(value) == "AFTER",
            "clazz" => ty = Some(content(value)?),
            "method" => method = Some(content(value)?),
            "field" => field = Some(content(value)?),
            "line" => line = value.parse().ok()?,
            _ => return None,
        }
    }
    if let Some((_, kind)) = POINTS.iter().find(|(name, _)| *name == kind) {
        let is_said = match *kind {
            "field-get" | "field-set" => method.is_none(),
            "new" => method.is_none() && field.is_none(),
            "line" => line > 0 || line == EVERY_LINE,
            _ => ty.is_none() && method.is_none() && field.is_none(),
        };
        let point = Location::Point {
            kind,
            ty,
            field,
            line,
            is_after,
        };
        return is_said.then_some(point);
    }
    if field.is_some() || line != 0 {
        return None;
    }
    Some(match (kind, &ty, &method) {
        ("ENTRY", None, None) => Location::Method("enter"),
        ("RETURN", None, None) => Location::Method("exit"),
        ("ERROR", None, None) => Location::Method("exception"),
        ("CALL", ..) => Location::Call {
            ty,
            method,
            is_after,
        },
        _ => return None,
    })
}

/// `RETURN` of `Kind.RETURN`.
fn last_word(text: &str) -> &str {
    word(text.rsplit('.').next().unwrap_or(text).trim())
}

fn probe(
    text: &str,
    (handler, script): (&Handler<'_>, &str),
    imports: &BTreeMap<&str, &str>,
    line: u32,
    sink: &mut Sink,
) {
    let sample = handler.sampled.map(sampled);
    if let Some(Err(why)) = sample {
        sink.told(line, format!("`@Sampled` is left out: {why}"));
    }
    let mut sample = sample.and_then(Result::ok).flatten();
    let Some(mut asked) = Asked::of(text, line, sink) else {
        return;
    };
    let Some(table) = asked.matches(handler, imports, line, sink) else {
        return;
    };
    let mut draft = Draft {
        name: handler.name.to_owned(),
        line,
        matches: vec![table],
        record: handler.values(&asked.place),
        ..Draft::default()
    };
    let place = asked.place;
    // A value of the start belongs to the record of the start, and a duration to both.
    if let Location::Method(advice) = place {
        let is_split = advice != "enter" && (handler.is_timed || takes_start(&draft));
        if let Some(level) = asked.level.take() {
            draft.level = Some(level);
            if level == "debug" {
                sink.told(line, "it is off until `weave control --level debug`");
            }
        }
        draft.sample = sample.take();
        match is_split || draft.level.is_some() || draft.sample.is_some() {
            true => sink.told(line, "calls are recorded from their beginning to their end"),
            false => draft.advice = vec![advice],
        }
    } else if let Err(why) = at_point(place, (handler, script), imports, (&mut draft, sink)) {
        sink.lost(line, why);
        return;
    }
    if asked.level.is_some() {
        let text = "`enableAt` is left out: hooks at points and recorded calls have no level";
        sink.told(line, text);
    }
    if sample.is_some() {
        let text = "`@Sampled` is left out: hooks at points and recorded calls are not sampled";
        sink.told(line, text);
    }
    sink.drafts.push(draft);
}

/// What `@OnMethod` asks for.
struct Asked {
    class: String,
    method: Option<String>,
    signature: Option<String>,
    place: Location,
    level: Option<&'static str>,
}

impl Asked {
    /// `None`: no rule can say it, and the sink knows why.
    fn of(text: &str, line: u32, sink: &mut Sink) -> Option<Asked> {
        let mut class = None;
        let mut method = None;
        let mut signature = None;
        let mut place = Location::Method("enter");
        let mut level = None;
        for (key, value) in arguments(text) {
            match key {
                "location" => match location(value) {
                    Some(found) => place = found,
                    None => {
                        sink.lost(line, format!("`{value}`: hooks run at the beginning and the end of a method, where it throws, and at calls, fields, new objects, exceptions, lines and locks"));
                        return None;
                    }
                },
                "clazz" | "method" | "type" => {
                    let Some(value) = content(value) else {
                        sink.lost(line, format!("`{key} = {value}` is not a plain text"));
                        return None;
                    };
                    match key {
                        "clazz" => class = Some(value),
                        "method" => method = Some(value),
                        _ => signature = Some(value),
                    }
                }
                "enableAt" => level = Some(level_of(value)),
                "exactTypeMatch" => sink.told(line, "`exactTypeMatch` is left out"),
                _ => sink.lost(line, format!("`{key}` cannot be said")),
            }
        }
        let Some(class) = class else {
            sink.lost(line, "@OnMethod without `clazz`");
            return None;
        };
        Some(Asked {
            class,
            method,
            signature,
            place,
            level,
        })
    }

    /// The methods that a rule has to match. `None`: none can say it, and the sink knows why.
    fn matches(
        &self,
        handler: &Handler<'_>,
        imports: &BTreeMap<&str, &str>,
        line: u32,
        sink: &mut Sink,
    ) -> Option<Table> {
        let (type_key, type_pattern) = match self.class.strip_prefix('+') {
            Some(base) => pattern("extends", base),
            None => pattern("type", &self.class),
        };
        let mut table = Table::of(type_key, type_pattern);
        // btrace finds a line in any method of the class, whatever the script says.
        let is_line = matches!(self.place, Location::Point { kind: "line", .. });
        let method = self.method.as_ref();
        if let Some(method) = method.filter(|method| !method.is_empty() && !is_line) {
            let name = if method == "#" { handler.name } else { method };
            let (key, name) = pattern("method", name);
            if table.has(key) {
                sink.lost(line, "annotations of a type and of a method at once");
                return None;
            }
            table = table.with(key, name);
        }
        if table.has("annotation") {
            let text = "`annotation` is that of the method or of its type: the rule may take more";
            sink.told(line, text);
        }
        let signature = self.signature.as_ref().filter(|s| !s.trim().is_empty());
        if let Some(signature) = signature {
            let parts = signature
                .split_once('(')
                .and_then(|(returns, rest)| Some((returns.trim(), rest.trim().strip_suffix(')')?)));
            let Some((returns, params)) = parts else {
                sink.lost(line, format!("`type = \"{signature}\"` is no signature"));
                return None;
            };
            if !returns.is_empty() {
                table = table.with("returns", returns);
            }
            return Some(table.with("params", params.trim()));
        }
        Some(match self.place {
            Location::Method(advice @ ("enter" | "exit")) => {
                handler.matches(advice == "exit", imports, table)
            }
            // Where it throws, the handler's parameter is the exception; at a call, they are that one's.
            _ => table,
        })
    }
}

/// A hook at a call or at another point inside of the methods; the error is why there can be none.
fn at_point(
    place: Location,
    (handler, script): (&Handler<'_>, &str),
    imports: &BTreeMap<&str, &str>,
    (draft, sink): (&mut Draft, &mut Sink),
) -> Result<(), String> {
    let line = draft.line;
    match place {
        Location::Method(_) => {}
        Location::Call { ty, method, .. } => {
            let call = called(ty.as_deref(), method.as_deref(), handler, imports)
                .ok_or("calls are named by type and method, and not by annotations or subtypes")?;
            if handler.this.is_some() {
                sink.told(line, "at a call, the object that makes it is left out");
            }
            draft.at = Some(Point::call(call));
        }
        Location::Point {
            kind,
            ty,
            field,
            line: number,
            is_after,
        } => {
            let (ty, field) = (ty.as_deref(), field.as_deref());
            let point = pointed(kind, ty, field, number, handler, imports)?;
            let operands = handler.called_at(kind, is_after)?;
            let key = if is_after { "after" } else { "before" };
            let call = format!("{script}.{}({operands})", handler.name);
            sink.told(line, format!("`{script}` is called as a hook: weave looks for it in the input, and in the files of `[[library]]`"));
            draft.at = Some(point);
            draft.hooks = vec![(key, call)];
        }
    }
    Ok(())
}

/// What `@Sampled` says as a rule does, if it samples at all. Its mean is one of so many calls, or so many nanoseconds from one to the next.
fn sampled(text: &str) -> Result<Option<String>, &'static str> {
    let (mut kind, mut mean) = ("Const", 10u64);
    for (key, value) in arguments(text) {
        match key {
            "kind" => kind = last_word(value),
            "mean" => mean = value.parse().map_err(|_| "its mean is no number")?,
            _ => {}
        }
    }
    match (kind, mean) {
        ("None", _) => Ok(None),
        ("Const", 1..) => Ok(Some(format!("1/{mean}"))),
        ("Adaptive", 60..=1_000_000_000) => Ok(Some(format!("{}/s", 1_000_000_000 / mean))),
        ("Adaptive", _) => {
            Err("one a second is the least that a rule can say, and every call the most")
        }
        _ => Err("a rule cannot say it"),
    }
}

/// The level of an aspect whose handler runs where btrace's level, which is 0 at first, is as `@Level(">=1")` says.
fn level_of(value: &str) -> &'static str {
    let said: String = value
        .chars()
        .filter(|c| "<>=-0123456789".contains(*c))
        .collect();
    let number = said.trim_start_matches(['<', '>', '=']);
    let at: i64 = number.parse().unwrap_or(0);
    let is_on = match &said[..said.len() - number.len()] {
        "" | ">=" => 0 >= at,
        ">" => 0 > at,
        "<=" => 0 <= at,
        "<" => 0 < at,
        _ => 0 == at,
    };
    if is_on { "info" } else { "debug" }
}

/// A point of a location, as a rule names it.
fn pointed(
    kind: &'static str,
    ty: Option<&str>,
    field: Option<&str>,
    line: i32,
    handler: &Handler<'_>,
    imports: &BTreeMap<&str, &str>,
) -> Result<Point, String> {
    let what = match kind {
        "field-get" | "field-set" | "new" => {
            let mut table = Table::default();
            for (key, text) in [("type", ty), ("name", field)] {
                let Some(text) = text.filter(|text| *text != "/.*/") else {
                    continue;
                };
                let (key, pattern) = pattern(key, text);
                if key == "annotation" || text.starts_with('+') {
                    return Err(
                        "points are named by types and fields, and not by annotations or subtypes"
                            .to_owned(),
                    );
                }
                table = table.with(key, pattern);
            }
            What::Table(match table.0.is_empty() {
                true => Table::of("type", "**"),
                false => table,
            })
        }
        "line" => u32::try_from(line).map_or(What::Any, What::Line),
        "throw" | "catch" => {
            let is_it = |param: &&Param| {
                matches!(param.annotation.as_deref(), None | Some("TargetInstance"))
            };
            let taken = handler.all.iter().find(is_it);
            match (taken.map(|param| pattern_of(&param.ty, imports)), kind) {
                (Some(ty), _) if !matches!(&*ty, "*" | "Throwable" | "java.lang.Throwable") => {
                    What::Type(match ty.contains('.') {
                        true => ty,
                        false => format!("java.lang.{ty}"),
                    })
                }
                (_, "throw") => What::Type("java.lang.Throwable".to_owned()),
                _ => What::Type("**".to_owned()),
            }
        }
        _ => What::Any,
    };
    Ok(Point { kind, what })
}

/// The calls of a location, as a rule names them.
fn called(
    ty: Option<&str>,
    method: Option<&str>,
    handler: &Handler<'_>,
    imports: &BTreeMap<&str, &str>,
) -> Option<Table> {
    let mut call = Table::default();
    for (key, text) in [
        ("type", ty.unwrap_or("/.*/")),
        ("method", method.unwrap_or("/.*/")),
    ] {
        let (key, pattern) = match text.starts_with('+') {
            true => return None,
            false => pattern(key, text),
        };
        if key == "annotation" {
            return None;
        }
        if pattern != "re:.*" {
            call = call.with(key, pattern);
        }
    }
    if call.0.is_empty() {
        call = Table::of("type", "**");
    }
    Some(match handler.declared(imports) {
        Some(params) => call.with_list("params", params),
        None => call,
    })
}

impl Handler<'_> {
    /// The methods whose results and parameters are those that it declares.
    fn matches(&self, at_exit: bool, imports: &BTreeMap<&str, &str>, table: Table) -> Table {
        let mut table = table;
        let returned = (self.returned.as_ref()).map(|(ty, _)| pattern_of(ty, imports));
        if let Some(returns) = returned.filter(|ty| ty != "*" && at_exit) {
            let returns = match returns.as_str() {
                "Void" | "java.lang.Void" => "void".to_owned(),
                _ => returns,
            };
            table = table.with("returns", returns);
        }
        match self.declared(imports) {
            Some(params) => table.with_list("params", params),
            None => table,
        }
    }

    /// The operands with which it is called at a point.
    fn called_at(&self, kind: &str, is_after: bool) -> Result<String, String> {
        let mut operands = Vec::new();
        for Param {
            annotation,
            ty,
            name,
        } in &self.all
        {
            let operand = match (annotation.as_deref(), kind) {
                (Some("Self"), _) => "this?",
                (Some("ProbeClassName"), kind) if kind != "new" => "type",
                (Some("ProbeMethodName"), kind) if kind != "new" => "method",
                (Some("TargetMethodOrField"), "field-get" | "field-set") => "field",
                (Some("TargetInstance"), "field-get" | "field-set") => "target?",
                (None | Some("TargetInstance"), "throw" | "catch") => "exception",
                (None | Some("TargetInstance"), "monitor-enter" | "monitor-exit") => "target",
                (Some("Return"), "field-get") if is_after => "value",
                (Some("Return"), "new") if is_after => "result",
                (None, "field-set") => "value",
                (None, "new") if ty == "String" => "type",
                (None, "line") if ty == "int" => "line",
                _ => return Err(format!("`{kind}` has no value for `{name}`")),
            };
            operands.push(operand);
        }
        Ok(operands.join(", "))
    }

    /// The name of the array of all arguments, if it takes that.
    fn all_arguments(&self) -> Option<&str> {
        let all = |(ty, _): &&(String, String)| ty.ends_with("AnyType[]");
        self.params.iter().find(all).map(|(_, name)| &**name)
    }

    /// The patterns of the parameters, if the handler's choose among overloads.
    fn declared(&self, imports: &BTreeMap<&str, &str>) -> Option<Vec<String>> {
        let params = self.params.iter().map(|(ty, _)| pattern_of(ty, imports));
        (!self.params.is_empty() && self.all_arguments().is_none()).then(|| params.collect())
    }

    /// What it takes, as values that a rule records.
    fn values(&self, place: &Location) -> Vec<String> {
        let mut all = Vec::new();
        let mut value = |name: &str, word: &str| all.push(format!("{name} = {word}"));
        let is_end = match place {
            Location::Method(advice) => *advice == "exit",
            Location::Call { is_after, .. } => *is_after,
            // Points are not recorded.
            Location::Point { .. } => return Vec::new(),
        };
        match (place, &self.this, &self.target) {
            (Location::Method(_), Some(name), _) => value(name, "this?"),
            (Location::Call { .. }, _, Some(name)) => value(name, "target?"),
            _ => {}
        }
        match place {
            // The one parameter without an annotation is what is thrown.
            Location::Method("exception") => {
                if let [(_, name)] = &self.params[..] {
                    value(name, "exception");
                }
            }
            _ => match self.all_arguments() {
                Some(name) => value(name, "args"),
                None => {
                    for (index, (_, name)) in self.params.iter().enumerate() {
                        value(name, &format!("arg({index})"));
                    }
                }
            },
        }
        if let Some((_, name)) = self.returned.as_ref().filter(|_| is_end) {
            value(name, "result?");
        }
        all
    }
}

/// It records values that a call begins with.
fn takes_start(draft: &Draft) -> bool {
    let is_of_end =
        |value: &String| value.ends_with(" = result?") || value.ends_with(" = exception");
    !draft.record.iter().all(is_of_end)
}
