//! From TOML to [`Aspect`]s, with the place of everything that is wrong.

mod aspect;
pub(super) mod spans;

use super::diagnostics::Diagnostic;
use super::hook::{self, Changes, HookOperand, Word};
use super::mask::Mask;
use super::model::{
    ACCESS_WORDS, ADVICE_WORDS, AccessSet, Aspect, At, HOOKS_WORDS, Include, KIND_WORDS, KindSet,
    Library, MAX_LIMIT, MODE_WORDS, Mode, OwnHook, OwnRecord, SaidMember, SaidType, Selector,
    Texts, Thrown,
};
use super::words::nearest;
use crate::aspect::advice::Advice;
use crate::aspect::pattern::params::Params;
use crate::aspect::pattern::version::VersionSet;
use crate::aspect::pattern::{NameSet, Names, PatternError, check_no_position};
use crate::aspect::point::PointKind;
use crate::error::Place;
use crate::switches::{
    LEVEL_WORDS, Level, MOST_MICROSECONDS, MOST_OVERHEAD, MOST_SAMPLED, Sampling,
};
use std::ops::Range;
use std::path::PathBuf;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Version of the rules format.
const VERSION: u64 = 1;

/// Largest file that is read; rules are written by people.
const MAX_FILE: usize = 1 << 20;

pub(super) const FILE_KEYS: [&str; 7] = [
    "version", "include", "trace", "library", "type", "spans", "aspect",
];
pub(super) const TRACE_KEYS: [&str; 4] = ["mask", "messages", "thread-names", "command-line"];
pub(super) const LIBRARY_KEYS: [&str; 2] = ["path", "embed"];
pub(super) const TYPE_KEYS: [&str; 6] = [
    "name",
    "members",
    "extends",
    "interface",
    "struct",
    "assembly",
];
pub(super) const ASPECT_KEYS: [&str; 28] = [
    "name",
    "match",
    "exclude",
    "mode",
    "level",
    "slower-than",
    "overhead",
    "sample",
    "advice",
    "hooks",
    "enter",
    "exit",
    "exception",
    "around",
    "at",
    "before",
    "after",
    "replace",
    "guard",
    "record",
    "mask",
    "messages",
    "limit",
    "root",
    "completion",
    "span",
    "entry",
    "context",
];
pub(super) const AT_KEYS: [&str; 9] = [
    "call",
    "new",
    "field-get",
    "field-set",
    "throw",
    "catch",
    "line",
    "monitor-enter",
    "monitor-exit",
];
pub(super) const NEW_KEYS: [&str; 2] = ["type", "params"];
pub(super) const FIELD_KEYS: [&str; 2] = ["type", "name"];
pub(super) const CALL_KEYS: [&str; 4] = ["type", "extends", "method", "params"];
pub(super) const SELECTOR_KEYS: [&str; 13] = [
    "artifact",
    "version",
    "platform",
    "type",
    "type-access",
    "method",
    "params",
    "returns",
    "annotation",
    "extends",
    "access",
    "kind",
    "min-size",
];

/// What other tools call it.
const FILE_SYNONYMS: [(&str, &str); 6] = [
    ("includes", "include"),
    ("import", "include"),
    ("extends", "include"),
    ("rule", "aspect"),
    ("rules", "aspect"),
    ("pointcut", "aspect"),
];
const TRACE_SYNONYMS: [(&str, &str); 8] = [
    ("masks", "mask"),
    ("redact", "mask"),
    ("message", "messages"),
    ("exceptions", "messages"),
    ("threads", "thread-names"),
    ("thread", "thread-names"),
    ("command", "command-line"),
    ("arguments", "command-line"),
];
const LIBRARY_SYNONYMS: [(&str, &str); 3] = [("file", "path"), ("jar", "path"), ("dll", "path")];
const ASPECT_SYNONYMS: [(&str, &str); 17] = [
    ("pointcut", "match"),
    ("matches", "match"),
    ("include", "match"),
    ("where", "match"),
    ("ignore", "exclude"),
    ("except", "exclude"),
    ("skip", "exclude"),
    ("hook", "hooks"),
    ("id", "name"),
    ("when", "advice"),
    ("entry", "enter"),
    ("return", "exit"),
    ("error", "exception"),
    ("throw", "exception"),
    ("sampling", "sample"),
    ("sample-rate", "sample"),
    ("rate", "sample"),
];
const SELECTOR_SYNONYMS: [(&str, &str); 22] = [
    ("assembly", "artifact"),
    ("jar", "artifact"),
    ("module", "artifact"),
    ("framework", "platform"),
    ("target-framework", "platform"),
    ("class", "type"),
    ("package", "type"),
    ("namespace", "type"),
    ("interface", "extends"),
    ("implements", "extends"),
    ("inherits", "extends"),
    ("base", "extends"),
    ("name", "method"),
    ("function", "method"),
    ("args", "params"),
    ("arguments", "params"),
    ("parameters", "params"),
    ("result", "returns"),
    ("attribute", "annotation"),
    ("visibility", "access"),
    ("modifiers", "access"),
    ("size", "min-size"),
];
const ACCESS_SYNONYMS: [(&str, &str); 2] = [("default", "package"), ("package-private", "package")];
const KIND_SYNONYMS: [(&str, &str); 12] = [
    ("ctor", "constructor"),
    ("<init>", "constructor"),
    ("cctor", "static-init"),
    ("clinit", "static-init"),
    ("<clinit>", "static-init"),
    ("initializer", "static-init"),
    ("getter", "accessor"),
    ("setter", "accessor"),
    ("property", "accessor"),
    ("function", "method"),
    ("generated", "synthetic"),
    ("closure", "lambda"),
];
const HOOKS_SYNONYMS: [(&str, &str); 7] = [
    ("default", "weave"),
    ("android", "android-trace"),
    ("atrace", "android-trace"),
    ("systrace", "android-trace"),
    ("perfetto", "android-trace"),
    ("android.os.Trace", "android-trace"),
    ("trace", "android-trace"),
];
const MODE_SYNONYMS: [(&str, &str); 11] = [
    ("adaptive", "auto"),
    ("automatic", "auto"),
    ("full", "record"),
    ("trace", "record"),
    ("sum", "aggregate"),
    ("sums", "aggregate"),
    ("summary", "aggregate"),
    ("histogram", "aggregate"),
    ("counts", "count"),
    ("counter", "count"),
    ("calls", "count"),
];
/// What `slower-than` is where a rule does not say it, in microseconds.
const SLOWER_THAN: u32 = 1_000;

/// A time as people write it, in microseconds.
fn microseconds(text: &str) -> Option<u32> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let unit = match unit.trim() {
        "us" | "µs" | "μs" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        _ => return None,
    };
    let time = number.parse::<u32>().ok()?.checked_mul(unit)?;
    (1..=MOST_MICROSECONDS).contains(&time).then_some(time)
}

/// A part of the program's CPU as people write it, such as `5%` or `0.5%`, in thousandths.
fn thousandths(text: &str) -> Option<u32> {
    let number = text.trim().strip_suffix('%')?.trim_end();
    let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(tenth) || tenth.len() != 1 {
        return None;
    }
    let whole = whole.parse::<u32>().ok()?.checked_mul(10)?;
    let part = whole.checked_add(tenth.parse().ok()?)?;
    (1..=MOST_OVERHEAD).contains(&part).then_some(part)
}

/// `1/100` or `10/s`.
fn sampling(text: &str) -> Option<Sampling> {
    let (calls, of) = text.split_once('/')?;
    let number = |text: &str| {
        let text = text.trim();
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let number = digits.then(|| text.parse::<u32>().ok()).flatten()?;
        (1..=MOST_SAMPLED).contains(&number).then_some(number)
    };
    match of.trim() {
        "s" => number(calls).map(Sampling::Second),
        of => (number(calls)? == 1).then(|| number(of).map(Sampling::OneOf))?,
    }
}

const LEVEL_SYNONYMS: [(&str, &str); 7] = [
    ("warn", "error"),
    ("warning", "error"),
    ("normal", "info"),
    ("default", "info"),
    ("trace", "debug"),
    ("verbose", "debug"),
    ("fine", "debug"),
];
const ADVICE_SYNONYMS: [(&str, &str); 10] = [
    ("before", "enter"),
    ("entry", "enter"),
    ("after", "exit"),
    ("leave", "exit"),
    ("return", "exit"),
    ("error", "exception"),
    ("catch", "exception"),
    ("throw", "exception"),
    ("throws", "exception"),
    ("throwing", "exception"),
];

/// What a file says.
#[derive(Default)]
pub(super) struct Parsed {
    pub includes: Vec<Include>,
    pub aspects: Vec<Aspect>,
    pub libraries: Vec<Library>,
    pub types: Vec<SaidType>,
    pub texts: Option<Texts>,
}

/// Reads a file; where it is wrong, everything that is wrong with it.
pub(super) fn parse(text: &str) -> Result<Parsed, Vec<Diagnostic>> {
    if text.len() > MAX_FILE {
        return Err(vec![Diagnostic::new(
            0..0,
            format!("the file has {} bytes", text.len()),
            format!("at most {MAX_FILE} are read"),
        )]);
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        // What the recovery made of the rest would only lead to errors that are none.
        return Err(errors
            .into_iter()
            .map(|e| {
                let span = e.span().unwrap_or(0..0);
                Diagnostic::new(span, "this is not TOML", e.message())
            })
            .collect());
    }
    let mut parser = Parser {
        text,
        wrong: Vec::new(),
    };
    let parsed = parser.file(table.get_ref());
    if parser.wrong.is_empty() {
        Ok(parsed)
    } else {
        Err(parser.wrong)
    }
}

/// Reads a file that says nothing but what types have.
pub(super) fn types_alone(text: &str) -> Option<Vec<SaidType>> {
    let table = DeTable::parse(text).ok()?;
    let mut parser = Parser {
        text,
        wrong: Vec::new(),
    };
    let types = parser.types(table.get_ref().get("type")?);
    parser.wrong.is_empty().then_some(types)
}

struct Parser<'t> {
    text: &'t str,
    wrong: Vec<Diagnostic>,
}

type Value<'t> = Spanned<DeValue<'t>>;

/// A word from a list, with or without `!`.
struct Chosen<T> {
    word: T,
    exclude: bool,
}

/// A string value and where it stands.
struct Text<'v> {
    span: Range<usize>,
    value: &'v str,
}

impl<'t> Parser<'t> {
    fn report(&mut self, span: Range<usize>, title: impl Into<String>, label: impl Into<String>) {
        self.wrong.push(Diagnostic::new(span, title, label));
    }

    fn report_help(
        &mut self,
        span: Range<usize>,
        title: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.wrong
            .push(Diagnostic::new(span, title, label).help(help));
    }

    fn file(&mut self, table: &DeTable<'t>) -> Parsed {
        let mut parsed = Parsed::default();
        match table.get("version") {
            None => self.report_help(
                0..0,
                "the rules have no version",
                "expected `version = 1`",
                "put `version = 1` at the top of the file",
            ),
            Some(value) => {
                if !matches!(value.get_ref(), DeValue::Integer(n)
                    if u64::from_str_radix(n.as_str(), n.radix()) == Ok(VERSION))
                {
                    self.report(
                        value.span(),
                        "unknown version of the rules format",
                        format!("expected {VERSION}, the only one there is"),
                    );
                }
            }
        }
        for (key, value) in table {
            match &**key.get_ref() {
                "version" => {}
                "aspect" => parsed.aspects.append(&mut self.aspects(value)),
                "spans" => parsed.aspects.append(&mut self.library_spans(value)),
                "include" => parsed.includes = self.includes(value),
                "trace" => parsed.texts = self.texts(value),
                "library" => parsed.libraries = self.libraries(value),
                "type" => parsed.types = self.types(value),
                other => self.unknown_key(
                    key.span(),
                    other,
                    "a rules file",
                    &FILE_KEYS,
                    &FILE_SYNONYMS,
                ),
            }
        }
        let says = |key| table.contains_key(key);
        let says_nothing = !says("aspect") && !says("include") && !says("trace") && !says("spans");
        if says_nothing && self.wrong.is_empty() {
            self.report_help(
                self.text.len()..self.text.len(),
                "the file has no aspect",
                "expected an `[[aspect]]`",
                "`weave init` writes a file to start from",
            );
        }
        parsed
    }

    /// Other rules that belong to a file.
    fn includes(&mut self, value: &Value<'t>) -> Vec<Include> {
        let wanted = "a list of packs and files, `[\"pack:all\", \"../team.toml\"]`";
        let DeValue::Array(array) = value.get_ref() else {
            self.wrong_type(value, "`include`", wanted);
            return Vec::new();
        };
        let mut includes = Vec::new();
        for item in array.iter() {
            match item.get_ref() {
                DeValue::String(name) if !name.is_empty() => includes.push(Include {
                    name: name.to_string(),
                    span: item.span(),
                }),
                _ => self.wrong_type(item, "`include`", wanted),
            }
        }
        includes
    }

    /// What is left out of all texts of the trace.
    fn texts(&mut self, value: &Value<'t>) -> Option<Texts> {
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong_type(value, "`trace`", "a table");
            return None;
        };
        let mut texts = Texts::default();
        for (key, value) in table {
            let name = &**key.get_ref();
            let switch = match name {
                "mask" => {
                    texts.mask = self.mask(value);
                    continue;
                }
                "messages" => &mut texts.messages,
                "thread-names" => &mut texts.thread_names,
                "command-line" => &mut texts.command_line,
                other => {
                    self.unknown_key(key.span(), other, "`trace`", &TRACE_KEYS, &TRACE_SYNONYMS);
                    continue;
                }
            };
            match value.get_ref() {
                DeValue::Boolean(yes) => *switch = *yes,
                _ => self.wrong_type(value, &format!("`{name}`"), "true or false"),
            }
        }
        (!texts.is_empty()).then_some(texts)
    }

    fn libraries(&mut self, value: &Value<'t>) -> Vec<Library> {
        let mut libraries = Vec::new();
        let DeValue::Array(array) = value.get_ref() else {
            self.report_help(
                value.span(),
                "`library` is a list",
                format!("expected `[[library]]`, found a {}", kind_of(value)),
                "write two brackets: `[[library]]`",
            );
            return libraries;
        };
        for item in array.iter() {
            let DeValue::Table(table) = item.get_ref() else {
                self.wrong_type(item, "a library", "a table");
                continue;
            };
            let mut library = Library {
                path: PathBuf::new(),
                embed: true,
                span: item.span(),
                place: Place::default(),
            };
            for (key, value) in table {
                match (&**key.get_ref(), value.get_ref()) {
                    ("path", DeValue::String(path)) if !path.is_empty() => {
                        library.path = PathBuf::from(&**path);
                        library.span = value.span();
                    }
                    ("path", _) => self.wrong_type(value, "`path`", "the path of a file or folder"),
                    ("embed", DeValue::Boolean(embed)) => library.embed = *embed,
                    ("embed", _) => self.wrong_type(value, "`embed`", "true or false"),
                    (other, _) => self.unknown_key(
                        key.span(),
                        other,
                        "a library",
                        &LIBRARY_KEYS,
                        &LIBRARY_SYNONYMS,
                    ),
                }
            }
            if !table.contains_key("path") {
                self.report_help(
                    item.span(),
                    "the library has no `path`",
                    "expected a jar, a folder of classes, a dll or a dex file",
                    "`path = \"hooks.jar\"`, from the folder of the rules file",
                );
            }
            libraries.push(library);
        }
        libraries
    }

    /// Types that rules say something of.
    fn types(&mut self, value: &Value<'t>) -> Vec<SaidType> {
        let mut types = Vec::new();
        let DeValue::Array(array) = value.get_ref() else {
            self.report_help(
                value.span(),
                "`type` is a list",
                format!("expected `[[type]]`, found a {}", kind_of(value)),
                "write two brackets: `[[type]]`",
            );
            return types;
        };
        for item in array.iter() {
            let DeValue::Table(table) = item.get_ref() else {
                self.wrong_type(item, "a type", "a table");
                continue;
            };
            let mut ty = SaidType::default();
            for (key, value) in table {
                match (&**key.get_ref(), value.get_ref()) {
                    ("name", DeValue::String(name)) if !name.is_empty() => {
                        ty.name = (**name).into()
                    }
                    ("name", _) => self.wrong_type(value, "`name`", "the full name of a type"),
                    ("assembly", DeValue::String(name)) => ty.assembly = (**name).into(),
                    ("assembly", _) => self.wrong_type(value, "`assembly`", "a display name"),
                    ("interface", DeValue::Boolean(yes)) => ty.is_interface = *yes,
                    ("struct", DeValue::Boolean(yes)) => ty.is_struct = *yes,
                    ("interface" | "struct", _) => {
                        self.wrong_type(value, &format!("`{}`", key.get_ref()), "true or false");
                    }
                    ("extends", _) => {
                        let texts = self.strings("extends", value);
                        ty.extends = texts.iter().map(|text| text.value.into()).collect();
                    }
                    ("members", _) => ty.members = self.said_members(value),
                    (other, _) => self.unknown_key(key.span(), other, "a type", &TYPE_KEYS, &[]),
                }
            }
            if ty.name.is_empty() {
                self.report_help(
                    item.span(),
                    "the type has no `name`",
                    "expected its full name",
                    "`name = \"java.net.URI\"`",
                );
            }
            types.push(ty);
        }
        types
    }

    /// `java.net.URI uri()`, `System.Uri RequestUri`
    fn said_members(&mut self, value: &Value<'t>) -> Vec<SaidMember> {
        let mut members = Vec::new();
        for text in self.strings("members", value) {
            let is_name = |name: &str| {
                !name.is_empty()
                    && name
                        .chars()
                        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
            };
            let said =
                (text.value.trim().rsplit_once(char::is_whitespace)).and_then(|(ty, name)| {
                    let ty = ty.trim();
                    let member = match name.strip_suffix("()") {
                        Some(method) => (method, method.into()),
                        None => (name, format!("get_{name}")),
                    };
                    let is_right =
                        is_name(member.0) && !ty.is_empty() && !ty.contains(char::is_whitespace);
                    is_right.then(|| SaidMember {
                        method: member.1.into(),
                        result: ty.into(),
                    })
                });
            match said {
                Some(member) => members.push(member),
                None => self.report_help(
                    text.span.clone(),
                    "this is no member",
                    "expected a type and a name",
                    "`java.net.URI uri()`; of .NET also properties: `System.Uri RequestUri`",
                ),
            }
        }
        members
    }

    fn aspects(&mut self, value: &Value<'t>) -> Vec<Aspect> {
        let mut aspects: Vec<Aspect> = Vec::new();
        let mut names: Vec<Range<usize>> = Vec::new();
        let DeValue::Array(array) = value.get_ref() else {
            self.report_help(
                value.span(),
                "`aspect` is a list",
                format!("expected `[[aspect]]`, found a {}", kind_of(value)),
                "write two brackets: `[[aspect]]`",
            );
            return aspects;
        };
        for (i, item) in array.iter().enumerate() {
            let DeValue::Table(table) = item.get_ref() else {
                self.wrong_type(item, "an aspect", "a table");
                continue;
            };
            let (aspect, name) = self.aspect(item.span(), table, i + 1);
            let clash = |a: &Aspect| {
                a.name == aspect.name && !(a.is_of_versions() && aspect.is_of_versions())
            };
            if let Some(first) = aspects.iter().position(clash) {
                let mut e = Diagnostic::new(
                    name.clone(),
                    format!("two aspects have the name `{}`", aspect.name),
                    "expected another name",
                );
                e.related = Some((names[first].clone(), "the first one"));
                self.wrong.push(e);
            }
            names.push(name);
            aspects.push(aspect);
        }
        if array.iter().next().is_none() {
            self.report(value.span(), "the list is empty", "expected an aspect");
        }
        aspects
    }

    /// The points that `at` names.
    fn at(&mut self, value: &Value<'t>) -> Option<At> {
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong_type(value, "`at`", "a table");
            return None;
        };
        let mut at = None;
        for (key, value) in table {
            let name = &**key.get_ref();
            let Some(kind) = (PointKind::ALL.into_iter()).find(|kind| kind.word() == name) else {
                self.unknown_key(key.span(), name, "`at`", &AT_KEYS, &[]);
                continue;
            };
            if at.is_some() {
                self.report_help(
                    key.span(),
                    "`at` names two kinds of points",
                    "expected one",
                    "an aspect of its own can have the other",
                );
                continue;
            }
            at = Some(self.point(kind, value));
        }
        if table.iter().next().is_none() {
            self.report_help(
                value.span(),
                "`at` is empty",
                "expected a kind of points",
                format!("there are `{}`", AT_KEYS.join("`, `")),
            );
        }
        at
    }

    /// The points of one kind.
    fn point(&mut self, kind: PointKind, value: &Value<'t>) -> At {
        let mut at = At {
            kind,
            ty: None,
            extends: None,
            name: None,
            params: None,
            thrown: None,
            line: 0,
            span: value.span(),
            advice: Advice::default(),
            completion: true,
            traced: None,
            frame: None,
        };
        let word = kind.word();
        match (kind, value.get_ref()) {
            (
                PointKind::Call | PointKind::New | PointKind::FieldGet | PointKind::FieldSet,
                DeValue::Table(table),
            ) => self.members_at(&mut at, value.span(), table),
            (PointKind::Call, _) => {
                self.wrong_type(
                    value,
                    "`call`",
                    "a table of `type`, `extends`, `method`, `params`",
                );
            }
            (PointKind::New, _) => self.wrong_type(value, "`new`", "a table of `type`, `params`"),
            (PointKind::FieldGet | PointKind::FieldSet, _) => {
                self.wrong_type(value, &format!("`{word}`"), "a table of `type`, `name`");
            }
            (PointKind::Throw, DeValue::String(name)) => {
                at.thrown = self.thrown(name, value.span())
            }
            (PointKind::Throw, _) => self.wrong_type(value, "`throw`", "the full name of a type"),
            (PointKind::Catch, _) => at.ty = self.names(word, value, Names::Types),
            (PointKind::Line, DeValue::Integer(n)) => {
                match u32::from_str_radix(n.as_str(), n.radix()) {
                    Ok(line @ 1..) => at.line = line,
                    _ => self.report(value.span(), "there is no such line", "expected 1 or more"),
                }
            }
            (
                PointKind::Line | PointKind::MonitorEnter | PointKind::MonitorExit,
                DeValue::Boolean(true),
            ) => {}
            (PointKind::Line, _) => self.wrong_type(value, "`line`", "a number, or true"),
            (PointKind::MonitorEnter | PointKind::MonitorExit, _) => {
                self.wrong_type(value, &format!("`{word}`"), "true");
            }
        }
        at
    }

    /// What is thrown: woven code looks at each exception, so that it must know the type.
    fn thrown(&mut self, name: &str, span: Range<usize>) -> Option<Thrown> {
        let is_name = |c: char| !c.is_whitespace() && !"*!?,:()[]<>\"'".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            self.report_help(
                span,
                "`throw` is the full name of a type",
                "no pattern",
                "it takes the types below that, too: `java.lang.Throwable`, `System.Exception` are all",
            );
            return None;
        }
        Some(Thrown {
            name: name.into(),
            span,
        })
    }

    /// The methods, constructors or fields that `at` names.
    fn members_at(&mut self, at: &mut At, span: Range<usize>, table: &DeTable<'t>) {
        let keys: &[&str] = match at.kind {
            PointKind::Call => &CALL_KEYS,
            PointKind::New => &NEW_KEYS,
            _ => &FIELD_KEYS,
        };
        let word = at.kind.word();
        for (key, value) in table {
            let name = &**key.get_ref();
            match name {
                "type" => at.ty = self.names(name, value, Names::Types),
                "extends" if keys.contains(&name) => {
                    at.extends = self.names(name, value, Names::Types);
                }
                "method" | "name" if keys.contains(&name) => {
                    at.name = self.names(name, value, Names::Methods);
                }
                "params" if keys.contains(&name) => at.params = self.params(value),
                other => self.unknown_key(
                    key.span(),
                    other,
                    &format!("`{word}`"),
                    keys,
                    &SELECTOR_SYNONYMS,
                ),
            }
        }
        if at.ty.is_some() || at.extends.is_some() || at.name.is_some() {
            return;
        }
        let (title, label, help) = match at.kind {
            PointKind::Call => (
                "`call` names neither a type nor a method".to_owned(),
                "expected `type`, `method` or both",
                "`call = { type = \"java.io.File\", method = \"delete\" }`".to_owned(),
            ),
            PointKind::New => (
                "`new` names no type".to_owned(),
                "expected `type`",
                "`new = { type = \"acme.Order\" }`; `\"**\"` are all".to_owned(),
            ),
            _ => (
                format!("`{word}` names neither a type nor a field"),
                "expected `type`, `name` or both",
                format!("`{word} = {{ type = \"acme.Order\", name = \"state\" }}`"),
            ),
        };
        self.report_help(span, title, label, help);
    }

    fn one_call(&mut self, key: &str, value: &Value<'t>) -> Option<OwnHook> {
        if !matches!(value.get_ref(), DeValue::String(_)) {
            self.wrong_type(value, &format!("`{key}`"), "one call, a string");
            return None;
        }
        self.calls(key, value).pop()
    }

    /// The calls of hooks, each with where it stands.
    fn calls(&mut self, key: &str, value: &Value<'t>) -> Vec<OwnHook> {
        let mut calls = Vec::new();
        for text in self.strings(key, value) {
            match hook::parse_hook(text.value) {
                Ok(mut call) => {
                    let operands = self.operands(&text, &mut call.operands);
                    let hook = OwnHook {
                        name: self.inside(&text, &call.name),
                        operands,
                        changes: self.inside(&text, &call.changes.place()),
                        call,
                    };
                    self.check_change(key, &hook);
                    calls.push(hook);
                }
                Err(e) => self.bad_pattern(key, &text, e),
            }
        }
        let ends =
            |hook: &OwnHook| key == "exception" && matches!(hook.call.changes, Changes::Value(_));
        if let Some(after) = calls.iter().position(ends)
            && let Some(next) = calls.get(after + 1)
        {
            let place = next.name.clone();
            self.report_help(
                place,
                "the exception has ended here",
                "it never runs",
                "put the hook that takes the exception before `result = ..`",
            );
        }
        calls
    }

    /// Where operands stand in the file. What is inside of them gets its places there.
    fn operands(&self, text: &Text<'_>, operands: &mut [HookOperand]) -> Vec<Range<usize>> {
        let mut places = Vec::new();
        for operand in operands {
            places.push(self.inside(text, &operand.place));
            operand.each_place(&mut |place| *place = self.inside(text, place));
        }
        places
    }

    /// Whether a hook of that key can change what it says.
    fn check_change(&mut self, key: &str, hook: &OwnHook) {
        let (title, help) = match (&hook.call.changes, key) {
            (Changes::Nothing, _) => return,
            (_, "before" | "after" | "replace") => (
                "hooks at points change nothing yet",
                "`replace` can call the original with other arguments, and return something else",
            ),
            (_, "around") => (
                "what `around` returns is what the method returns",
                "`around = \"acme.Retry.run(proceed, 3)\"`",
            ),
            (Changes::Value(place), _) => match (&place.word, key) {
                (Word::Result, "exit" | "exception") => return,
                (Word::Result, _) => (
                    "`result` has no value at enter",
                    "`return acme.Cache.get(key) unless null` skips the body",
                ),
                (_, "enter") => return,
                _ => ("only `enter` can change an argument", "the body has run"),
            },
            (Changes::Throw(_), "exception") => return,
            (Changes::Throw(_), _) => (
                "only `exception` can replace an exception",
                "with `guard = false` a hook itself can throw",
            ),
            (_, "enter") => return,
            (Changes::Return(_), _) => (
                "only `enter` can skip the body",
                "`result = ..` changes what the method returns",
            ),
            (Changes::Skip(_), _) => ("only `enter` can skip the body", "the body has run"),
        };
        let label = format!("in `{key}`");
        self.report_help(hook.changes.clone(), title, label, help);
    }

    fn records(&mut self, key: &str, value: &Value<'t>) -> Vec<OwnRecord> {
        let mut records = Vec::new();
        for text in self.strings(key, value) {
            match hook::parse_recorded(text.value) {
                Ok((name, mut value)) => {
                    let operands = self.operands(&text, value.operands_mut());
                    let name = name.unwrap_or(text.value.trim());
                    records.push(OwnRecord {
                        name: name.strip_suffix('?').unwrap_or(name).into(),
                        value,
                        span: self.inside(&text, &(0..text.value.len())),
                        operands,
                    });
                }
                Err(e) => self.bad_pattern(key, &text, e),
            }
        }
        records
    }

    fn mask(&mut self, value: &Value<'t>) -> Option<Mask> {
        let texts = self.strings("mask", value);
        let mut all = Vec::new();
        for text in &texts {
            match Mask::new(&[text.value]) {
                Ok(_) => all.push(text.value),
                Err(e) => self.bad_pattern("mask", text, e),
            }
        }
        if all.is_empty() {
            return None;
        }
        match Mask::new(&all) {
            Ok(mask) => Some(mask),
            Err(e) => {
                self.report(value.span(), e.message, "all of them together");
                None
            }
        }
    }

    fn limit(&mut self, value: &Value<'t>) -> Option<u16> {
        let limit = match value.get_ref() {
            DeValue::Integer(number) => number.as_str().parse().ok(),
            _ => None,
        };
        let limit = limit.filter(|limit| (1..=MAX_LIMIT).contains(limit));
        if limit.is_none() {
            let expected = format!("a number from 1 to {MAX_LIMIT}, of UTF-16 units");
            self.wrong_type(value, "`limit`", &expected);
        }
        limit
    }

    fn selectors(&mut self, what: &str, value: &Value<'t>) -> Vec<Selector> {
        match value.get_ref() {
            DeValue::Table(table) => vec![self.selector(what, value.span(), table)],
            DeValue::Array(array) => {
                if array.iter().next().is_none() {
                    self.report(
                        value.span(),
                        format!("the list of `{what}` is empty"),
                        "expected a table of selectors",
                    );
                }
                let mut selectors = Vec::new();
                for item in array.iter() {
                    match item.get_ref() {
                        DeValue::Table(table) => {
                            selectors.push(self.selector(what, item.span(), table));
                        }
                        _ => self.wrong_type(item, &format!("`{what}`"), "a table of selectors"),
                    }
                }
                selectors
            }
            DeValue::String(text) => {
                let help = format!("write `{what} = {{ type = \"{text}\" }}`");
                self.wrong_type(value, &format!("`{what}`"), "a table or a list of tables");
                if let Some(last) = self.wrong.last_mut() {
                    last.help = Some(help);
                }
                Vec::new()
            }
            _ => {
                self.wrong_type(value, &format!("`{what}`"), "a table or a list of tables");
                Vec::new()
            }
        }
    }

    fn selector(&mut self, what: &str, span: Range<usize>, table: &DeTable<'t>) -> Selector {
        let mut s = Selector::default();
        if table.iter().next().is_none() {
            let help = if what == "match" {
                "`type = \"**\"` matches every type"
            } else {
                "leave `exclude` out to exclude nothing"
            };
            self.report_help(
                span,
                format!("`{what}` is empty"),
                "expected at least one selector",
                help,
            );
        }
        for (key, value) in table {
            let name = &**key.get_ref();
            match name {
                "artifact" => s.artifact = self.names(name, value, Names::Artifacts),
                "type" => s.ty = self.names(name, value, Names::Types),
                "extends" => s.extends = self.names(name, value, Names::Types),
                "method" => s.method = self.names(name, value, Names::Methods),
                "returns" => s.returns = self.names(name, value, Names::Types),
                "annotation" => s.annotation = self.names(name, value, Names::Annotations),
                "version" => s.version = Some(self.versions(name, value)),
                "platform" => s.platform = Some(self.versions(name, value)),
                "params" => s.params = self.params(value),
                "access" => s.access = Some(self.access(name, value)),
                "type-access" => s.type_access = Some(self.access(name, value)),
                "kind" => s.kind = Some(self.kinds(value)),
                "min-size" => s.min_size = self.min_size(value),
                other if ASPECT_KEYS.contains(&other) && other != "name" => self.report_help(
                    key.span(),
                    format!("`{other}` belongs to the aspect"),
                    "no selector",
                    format!("move it out of `{what}`, beside it"),
                ),
                other => self.unknown_key(
                    key.span(),
                    other,
                    &format!("`{what}`"),
                    &SELECTOR_KEYS,
                    &SELECTOR_SYNONYMS,
                ),
            }
        }
        s
    }

    fn names(&mut self, key: &str, value: &Value<'t>, names: Names) -> Option<NameSet> {
        let mut set = NameSet::default();
        for text in self.strings(key, value) {
            let checked = match key {
                "returns" => check_no_position(text.value),
                _ => Ok(()),
            };
            if let Err(e) = checked.and_then(|()| set.add(text.value, names)) {
                self.bad_pattern(key, &text, e);
            }
        }
        Some(set)
    }

    fn versions(&mut self, key: &str, value: &Value<'t>) -> VersionSet {
        let mut set = VersionSet::default();
        for text in self.strings(key, value) {
            if let Err(e) = set.add(text.value) {
                self.bad_pattern(key, &text, e);
            }
        }
        set
    }

    fn params(&mut self, value: &Value<'t>) -> Option<Params> {
        match value.get_ref() {
            DeValue::String(list) => match Params::parse(list) {
                Ok(params) => Some(params),
                Err(e) => {
                    let text = Text {
                        span: value.span(),
                        value: list,
                    };
                    self.bad_pattern("params", &text, e);
                    None
                }
            },
            // The empty list is a meaning of its own: no parameters.
            DeValue::Array(array) if array.iter().next().is_none() => Some(Params::default()),
            _ => {
                let mut params = Params::default();
                for text in self.strings("params", value) {
                    if let Err(e) = params.add(text.value) {
                        self.bad_pattern("params", &text, e);
                    }
                }
                Some(params)
            }
        }
    }

    fn access(&mut self, key: &str, value: &Value<'t>) -> AccessSet {
        let mut set = AccessSet::default();
        for Chosen { word, exclude } in
            self.words(key, value, "visibility", &ACCESS_WORDS, &ACCESS_SYNONYMS)
        {
            set.add(word, exclude);
        }
        set
    }

    fn kinds(&mut self, value: &Value<'t>) -> KindSet {
        let mut set = KindSet::default();
        for Chosen { word, exclude } in
            self.words("kind", value, "kind", &KIND_WORDS, &KIND_SYNONYMS)
        {
            let list = if exclude {
                &mut set.exclude
            } else {
                &mut set.include
            };
            *list = list.with(word);
        }
        set
    }

    fn advice(&mut self, value: &Value<'t>) -> Advice {
        let words: Vec<_> = self
            .strings("advice", value)
            .into_iter()
            .map(|text| {
                let advice =
                    self.word(&text, text.value, "advice", &ADVICE_WORDS, &ADVICE_SYNONYMS);
                if matches!(text.value, "all" | "around")
                    && let Some(last) = self.wrong.last_mut()
                {
                    last.help = Some("without `advice` all three run".into());
                }
                advice
            })
            .collect();
        words
            .into_iter()
            .flatten()
            .fold(Advice::default(), Advice::with)
    }

    fn slower_than(&mut self, value: &Value<'t>) -> Option<u32> {
        let time = match value.get_ref() {
            DeValue::String(word) => microseconds(word),
            _ => None,
        };
        if time.is_none() {
            let expected = "a time from 1us to 16s, such as \"250us\" or \"1ms\"";
            self.wrong_type(value, "`slower-than`", expected);
        }
        time
    }

    fn overhead(&mut self, value: &Value<'t>) -> Option<u32> {
        let part = match value.get_ref() {
            DeValue::String(word) => thousandths(word),
            _ => None,
        };
        if part.is_none() {
            let expected = "a part of the program's CPU from 0.1% to 100%, such as \"5%\"";
            self.wrong_type(value, "`overhead`", expected);
        }
        part
    }

    fn sample(&mut self, value: &Value<'t>) -> Option<Sampling> {
        let sample = match value.get_ref() {
            DeValue::String(word) => sampling(word),
            _ => None,
        };
        if sample.is_none() {
            let expected = format!(
                "one of so many calls, such as \"1/100\", or so many a second, such as \"10/s\", up to {MOST_SAMPLED}"
            );
            self.wrong_type(value, "`sample`", &expected);
        }
        sample
    }

    fn mode(&mut self, value: &Value<'t>) -> Option<Mode> {
        let DeValue::String(word) = value.get_ref() else {
            self.wrong_type(value, "`mode`", "a string");
            return None;
        };
        let text = Text {
            span: value.span(),
            value: word,
        };
        self.word(&text, word, "mode", &MODE_WORDS, &MODE_SYNONYMS)
    }

    fn level(&mut self, value: &Value<'t>) -> Option<Level> {
        let DeValue::String(word) = value.get_ref() else {
            self.wrong_type(value, "`level`", "a string");
            return None;
        };
        let text = Text {
            span: value.span(),
            value: word,
        };
        self.word(&text, word, "level", &LEVEL_WORDS, &LEVEL_SYNONYMS)
    }

    fn hooks(&mut self, value: &Value<'t>) -> Option<Advice> {
        let DeValue::String(word) = value.get_ref() else {
            self.wrong_type(value, "`hooks`", "a string");
            return None;
        };
        let text = Text {
            span: value.span(),
            value: word,
        };
        self.word(&text, word, "hooks", &HOOKS_WORDS, &HOOKS_SYNONYMS)
    }

    fn min_size(&mut self, value: &Value<'t>) -> Option<u32> {
        if let DeValue::Integer(n) = value.get_ref()
            && let Ok(size) = u32::from_str_radix(n.as_str(), n.radix())
        {
            return Some(size);
        }
        self.report_help(
            value.span(),
            "`min-size` is a number of bytes",
            format!("expected 0 to {}", u32::MAX),
            "`min-size = 0` takes even empty bodies",
        );
        None
    }

    /// Words with or without `!`, from a fixed list.
    fn words<T: Copy>(
        &mut self,
        key: &str,
        value: &Value<'t>,
        what: &str,
        words: &[(&'static str, T)],
        synonyms: &[(&str, &'static str)],
    ) -> Vec<Chosen<T>> {
        let mut out = Vec::new();
        for text in self.strings(key, value) {
            let (word, exclude) = match text.value.strip_prefix('!') {
                Some(word) => (word, true),
                None => (text.value, false),
            };
            if let Some(word) = self.word(&text, word, what, words, synonyms) {
                out.push(Chosen { word, exclude });
            }
        }
        out
    }

    fn word<T: Copy>(
        &mut self,
        text: &Text<'_>,
        word: &str,
        what: &str,
        words: &[(&'static str, T)],
        synonyms: &[(&str, &'static str)],
    ) -> Option<T> {
        if let Some((_, found)) = words.iter().find(|(right, _)| *right == word) {
            return Some(*found);
        }
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        self.unknown(text.span.clone(), what, "", word, &all, synonyms);
        None
    }

    /// A string, or a list of strings that is not empty.
    fn strings<'v>(&mut self, key: &str, value: &'v Value<'t>) -> Vec<Text<'v>> {
        let mut out = Vec::new();
        match value.get_ref() {
            DeValue::String(s) => out.push(Text {
                span: value.span(),
                value: s,
            }),
            DeValue::Array(array) => {
                for item in array.iter() {
                    match item.get_ref() {
                        DeValue::String(s) => out.push(Text {
                            span: item.span(),
                            value: s,
                        }),
                        _ => self.wrong_type(item, &format!("an element of `{key}`"), "a string"),
                    }
                }
                if array.iter().next().is_none() {
                    self.report_help(
                        value.span(),
                        format!("the list of `{key}` is empty"),
                        "expected at least one string",
                        format!("leave `{key}` out for no restriction"),
                    );
                }
            }
            _ => self.wrong_type(value, &format!("`{key}`"), "a string or a list of strings"),
        }
        out
    }

    fn bad_pattern(&mut self, key: &str, text: &Text<'_>, e: PatternError) {
        let span = self.inside(text, &e.span);
        let what = match key {
            "enter" | "exit" | "exception" | "around" | "before" | "after" | "replace" => "call",
            _ => "pattern",
        };
        let mut diagnostic = Diagnostic::new(span, format!("bad {what} in `{key}`"), e.message);
        diagnostic.help = e.help;
        self.wrong.push(diagnostic);
    }

    /// Where a part of a string's value stands in the file; the whole string where escapes
    /// or quotes make that unclear, or nothing of it can be pointed at.
    fn inside(&self, text: &Text<'_>, part: &Range<usize>) -> Range<usize> {
        let raw = &self.text[text.span.clone()];
        let plain = raw
            .strip_prefix(['"', '\''])
            .and_then(|raw| raw.strip_suffix(['"', '\'']))
            == Some(text.value);
        if plain && !part.is_empty() {
            let start = text.span.start + 1;
            start + part.start..start + part.end
        } else {
            text.span.clone()
        }
    }

    fn wrong_type(&mut self, value: &Value<'t>, what: &str, expected: &str) {
        self.report(
            value.span(),
            format!("{what} is {expected}"),
            format!("expected {expected}, found {}", article(kind_of(value))),
        );
    }

    fn unknown_key(
        &mut self,
        span: Range<usize>,
        key: &str,
        place: &str,
        keys: &[&'static str],
        synonyms: &[(&str, &'static str)],
    ) {
        self.unknown(span, "key", &format!(" in {place}"), key, keys, synonyms);
    }

    fn unknown(
        &mut self,
        span: Range<usize>,
        what: &str,
        place: &str,
        wrong: &str,
        right: &[&'static str],
        synonyms: &[(&str, &'static str)],
    ) {
        let label = match nearest(wrong, right, synonyms) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "expected one of the words below".to_owned(),
        };
        self.report_help(
            span,
            format!("unknown {what} `{}`{place}", short(wrong)),
            label,
            format!("expected {}", list(right)),
        );
    }
}

fn kind_of(value: &Value<'_>) -> &'static str {
    match value.get_ref() {
        DeValue::Array(_) => "list",
        other => other.type_str(),
    }
}

fn article(noun: &str) -> String {
    let an = noun.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {noun}", if an { "an" } else { "a" })
}

/// A word as a message shows it.
fn short(word: &str) -> String {
    const MAX: usize = 40;
    match word.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}...", &word[..end]),
        None => word.to_owned(),
    }
}

fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, front)) if !front.is_empty() => format!("{} or {last}", front.join(", ")),
        _ => quoted.concat(),
    }
}
