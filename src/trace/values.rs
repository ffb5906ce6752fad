//! Values of calls ("Values" of the format): what they are, and how they find their calls.

use super::format::{RawData, RawValue, VALUE_CUT, VALUE_MASKED, VALUE_OF_END};
use super::pattern;
use crate::error::{Error, Result};
use crate::printable::printable;
use rustc_hash::FxHashMap;
use serde_json::{Map, Number, json};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::str::FromStr;
use std::sync::Arc;

/// Most values of a thread that wait for their records. Each comes right before its own in a sound trace.
const MAX_PENDING: usize = 1 << 12;
/// About how many bytes all values of a thread take at once.
const MAX_BYTES: usize = if cfg!(test) { 1 << 16 } else { 8 << 20 };

/// About how many bytes the values of logical calls take that are kept at once.
pub(super) const MAX_LOGICAL: usize = MAX_BYTES;

/// About how much memory values take.
pub(super) fn size(values: &[Value]) -> usize {
    values.iter().map(Value::size).sum()
}

/// The number of a value that is no rule's: the `tracestate` of a span.
const TRACE_STATE: u16 = u16::MAX;
/// The same: a link of the span. It may have several.
const LINK: u16 = u16::MAX - 1;
/// Most links of a span.
const MAX_LINKS: usize = 128;
/// A `traceparent`: version, trace, span and flags.
const TRACEPARENT: usize = 55;

/// Another span that a span refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link<'v> {
    pub trace: u128,
    pub span: u64,
    pub flags: u8,
    pub state: &'v str,
}

impl<'v> Link<'v> {
    /// Reads `00-<trace>-<span>-<flags>`, with `;` and a `tracestate` behind it or not.
    fn parse(text: &'v str) -> Option<Link<'v>> {
        let (ids, state) = match text.split_once(';') {
            Some((ids, state)) => (ids, state),
            None => (text, ""),
        };
        let is_id = |id: &str| id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let mut parts = ids.strip_prefix("00-")?.split('-');
        let mut next = || parts.next().filter(|part| is_id(part));
        let (trace, span, flags) = (next()?, next()?, next()?);
        let link = Link {
            trace: u128::from_str_radix(trace, 16).ok()?,
            span: u64::from_str_radix(span, 16).ok()?,
            flags: u8::from_str_radix(flags, 16).ok()?,
            state,
        };
        (ids.len() == TRACEPARENT && link.trace != 0 && link.span != 0).then_some(link)
    }
}

/// A value of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// As the rule wrote it: `arg(0)`, `sql`, `result`.
    pub name: Arc<str>,
    /// Its place in the method's list.
    number: u16,
    /// The text was longer than the limit, and is cut.
    pub cut: bool,
    /// Parts of it are masked.
    pub masked: bool,
    pub data: Data,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    Null,
    Integer(i64),
    Unsigned(u64),
    Double(f64),
    Float(f32),
    Boolean(bool),
    /// A character, or half of one.
    Char(u16),
    /// A string.
    Text(String),
    /// Text that stands for an object.
    Object(String),
    /// There is none, for this reason.
    Missing(String),
}

impl Value {
    pub(super) fn new(raw: &RawValue<'_>, names: &[Arc<str>]) -> Value {
        let number = usize::from(raw.number);
        let cut = raw.flags & VALUE_CUT != 0;
        let text = |units: &[u8]| {
            let mut text = decoded(units);
            if cut {
                text.push('…');
            }
            text
        };
        Value {
            name: match names.get(number) {
                Some(name) => Arc::clone(name),
                None if raw.number == TRACE_STATE => "tracestate".into(),
                None if raw.number == LINK => "link".into(),
                None => format!("value {number}").into(),
            },
            number: raw.number,
            cut,
            masked: raw.flags & VALUE_MASKED != 0,
            data: match raw.data {
                RawData::Null => Data::Null,
                RawData::Integer(n) => Data::Integer(n),
                RawData::Unsigned(n) => Data::Unsigned(n),
                RawData::Double(n) => Data::Double(n),
                RawData::Float(n) => Data::Float(n),
                RawData::Boolean(b) => Data::Boolean(b),
                RawData::Char(unit) => Data::Char(unit),
                RawData::Text(units) => Data::Text(text(units)),
                RawData::Object(units) => Data::Object(text(units)),
                RawData::Missing(units) => Data::Missing(text(units)),
            },
        }
    }

    /// About how much memory it takes.
    fn size(&self) -> usize {
        let text = match &self.data {
            Data::Text(text) | Data::Object(text) | Data::Missing(text) => text.len(),
            _ => 0,
        };
        size_of::<Value>() + text
    }

    /// Whether it is the `tracestate` of a span, and of no rule.
    pub fn is_trace_state(&self) -> bool {
        self.number == TRACE_STATE && &*self.name == "tracestate"
    }

    /// The link of a span that it is, and of no rule. A part of one is none.
    pub fn link(&self) -> Option<Link<'_>> {
        match &self.data {
            Data::Text(text) if self.is_link() && !self.cut && !self.masked => Link::parse(text),
            _ => None,
        }
    }

    /// Whether it is a link of a span, sound or not.
    pub fn is_link(&self) -> bool {
        self.number == LINK && &*self.name == "link"
    }

    /// The value as text: what `--where` looks at.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.data {
            Data::Null => "null".into(),
            Data::Integer(n) => n.to_string().into(),
            Data::Unsigned(n) => n.to_string().into(),
            Data::Double(n) => format!("{n:?}").into(),
            Data::Float(n) => format!("{n:?}").into(),
            Data::Boolean(b) => b.to_string().into(),
            Data::Char(unit) => character(*unit).to_string().into(),
            Data::Text(text) | Data::Object(text) | Data::Missing(text) => text.as_str().into(),
        }
    }

    /// The value in one line, fit for a terminal: `"SELECT 1"`, `12`, `'x'`, `acme.Order@1f2e`, `(toString threw)`.
    pub fn shown(&self) -> String {
        let text = printable(&self.text());
        match &self.data {
            Data::Text(_) => format!("\"{text}\""),
            Data::Char(_) => format!("'{text}'"),
            Data::Missing(_) => format!("({text})"),
            _ => text,
        }
    }

    /// The value as JSON: what JSON has no number for is text.
    pub fn json(&self) -> serde_json::Value {
        let double = |n: f64| Number::from_f64(n).map(serde_json::Value::Number);
        match &self.data {
            Data::Null => serde_json::Value::Null,
            Data::Integer(n) => json!(n),
            Data::Unsigned(n) => json!(n),
            Data::Double(n) => double(*n).unwrap_or_else(|| json!(self.text())),
            Data::Float(n) => double(widened(*n)).unwrap_or_else(|| json!(self.text())),
            Data::Boolean(b) => json!(b),
            Data::Missing(why) => json!({ "missing": why }),
            Data::Char(_) | Data::Text(_) | Data::Object(_) => json!(self.text()),
        }
    }

    /// Whether what it says is text, of which a part may be looked for.
    fn is_text(&self) -> bool {
        matches!(
            self.data,
            Data::Text(_) | Data::Object(_) | Data::Missing(_)
        )
    }
}

/// A text of UTF-16 units.
fn decoded(units: &[u8]) -> String {
    let units = units.as_chunks::<2>().0;
    // Most are of ASCII alone.
    if units.iter().all(|[low, high]| low.is_ascii() && *high == 0) {
        let bytes: Vec<u8> = units.iter().map(|[low, _]| *low).collect();
        return String::from_utf8(bytes).expect("it is ASCII");
    }
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    let all = char::decode_utf16(units);
    all.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// The double with the shortest text of a float: 0.1 for 0.1.
pub(super) fn widened(n: f32) -> f64 {
    format!("{n:?}").parse().unwrap_or_else(|_| n.into())
}

fn character(unit: u16) -> char {
    char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Values as one JSON object, in their order.
pub fn json(values: &[Value]) -> Map<String, serde_json::Value> {
    let named = values.iter().filter(|v| !v.is_link());
    let mut all: Map<_, _> = named.map(|v| (v.name.to_string(), v.json())).collect();
    let links = values.iter().filter(|v| v.is_link()).map(Value::json);
    let links: Vec<serde_json::Value> = links.collect();
    if !links.is_empty() {
        all.insert("links".to_owned(), links.into());
    }
    all
}

/// Values in one line: `sql="SELECT 1" result=12`.
pub fn shown(values: &[Value]) -> String {
    let mut line = String::new();
    for value in values {
        if !line.is_empty() {
            line.push(' ');
        }
        let _ = write!(line, "{}={}", printable(&value.name), value.shown());
    }
    line
}

/// What `--where` asks of a call: a value of this name fits a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    name: String,
    pattern: String,
}

impl FromStr for Condition {
    type Err = Error;

    /// `NAME=PATTERN`. Names of values have no `=` in them.
    fn from_str(text: &str) -> Result<Condition> {
        match text.split_once('=') {
            Some((name, pattern)) if !name.trim().is_empty() => Ok(Condition {
                name: name.trim().to_owned(),
                pattern: pattern.to_owned(),
            }),
            _ => Err(Error::usage(
                "it takes the name of a value and a pattern: arg(0)=*orders*",
            )),
        }
    }
}

impl Condition {
    /// Whether a call with these values fulfils it. A number is compared as a whole: `12` does not fit 112.
    pub fn holds(&self, values: &[Value]) -> bool {
        let mut named = values.iter().filter(|v| *v.name == *self.name);
        named.any(
            |value| match value.is_text() || self.pattern.contains(['*', '?']) {
                true => pattern::matches(&self.pattern, &value.text()),
                false => *self.pattern == *value.text(),
            },
        )
    }
}

/// The values of a thread on their way: those whose record is still to come, and those of calls that are open.
#[derive(Default)]
pub(super) struct Kept {
    /// By method, and whether they are of the end.
    pending: FxHashMap<(u32, bool), Vec<Value>>,
    waiting: usize,
    /// By depth of the call; each call once, the innermost last.
    open: Vec<(usize, Vec<Value>)>,
    /// Of the call that ends now.
    ending: Vec<Value>,
    /// About how much memory all of them take.
    bytes: usize,
}

impl Kept {
    /// A value that belongs to a record which is still to come.
    pub fn wait(&mut self, id: u32, raw: &RawValue<'_>, names: &[Arc<str>]) {
        let value = Value::new(raw, names);
        if self.waiting >= MAX_PENDING || self.bytes + value.size() > MAX_BYTES {
            return;
        }
        self.bytes += value.size();
        self.waiting += 1;
        let of_end = raw.flags & VALUE_OF_END != 0;
        self.pending.entry((id, of_end)).or_default().push(value);
    }

    fn take(&mut self, id: u32, of_end: bool) -> Vec<Value> {
        if self.waiting == 0 {
            return Vec::new();
        }
        let values = self.pending.remove(&(id, of_end)).unwrap_or_default();
        self.waiting -= values.len();
        values
    }

    fn forget(&mut self, values: &[Value]) {
        self.bytes -= size(values);
    }

    /// Whether any wait.
    pub fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Records are missing here: what waits belongs to nothing.
    pub fn miss(&mut self) {
        for values in std::mem::take(&mut self.pending).into_values() {
            self.forget(&values);
        }
        let stale = std::mem::take(&mut self.ending);
        self.forget(&stale);
        self.waiting = 0;
    }

    /// A call of the method begins, at this depth; `None` if it is left out.
    pub fn enter(&mut self, id: u32, depth: Option<usize>) {
        let values = self.take(id, false);
        match depth {
            Some(depth) if !values.is_empty() => self.open.push((depth, values)),
            _ => self.forget(&values),
        }
    }

    /// A record ends a call of the method: the next that [`Kept::leave`] is asked for with its values.
    pub fn exit(&mut self, id: u32) {
        let stale = std::mem::take(&mut self.ending);
        self.forget(&stale);
        self.ending = self.take(id, true);
    }

    /// A logical call of the method ends, and none of its pieces: its values of the end.
    pub fn complete(&mut self, id: u32) -> Vec<Value> {
        let values = self.take(id, true);
        self.forget(&values);
        one_of_each(values)
    }

    /// The values of the innermost call, which is at this depth and ends; `ended` by its own record.
    pub fn leave(&mut self, depth: usize, ended: bool) -> Vec<Value> {
        let mut values = match self.open.pop_if(|(at, _)| *at >= depth) {
            Some((_, values)) => values,
            None => Vec::new(),
        };
        if ended {
            values.append(&mut self.ending);
        }
        self.forget(&values);
        one_of_each(values)
    }
}

/// In the order of their numbers; of several of one number the last.
fn one_of_each(mut values: Vec<Value>) -> Vec<Value> {
    if values
        .windows(2)
        .all(|pair| pair[0].number < pair[1].number)
    {
        return values;
    }
    // Of links each counts, as often as there may be some.
    let is_link = |value: &mut Value| value.is_link();
    let links: Vec<Value> = values.extract_if(.., is_link).take(MAX_LINKS).collect();
    values.retain(|value| !value.is_link());
    values.reverse();
    values.sort_by_key(|value| value.number);
    values.dedup_by_key(|value| value.number);
    let at = values.partition_point(|value| value.number < LINK);
    values.splice(at..at, links);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(number: u16, data: RawData<'_>) -> Value {
        let raw = RawValue {
            number,
            flags: 0,
            data,
        };
        Value::new(&raw, &["arg(0)".into(), "result".into()])
    }

    #[test]
    fn values_are_shown_as_what_they_are() {
        let lone = [0x41, 0, 0x00, 0xd8, 0x0a, 0];
        let of = |data| {
            let value = value(0, data);
            (value.shown(), value.json().to_string())
        };
        for (data, shown, json) in [
            (RawData::Null, "null", "null"),
            (RawData::Integer(-3), "-3", "-3"),
            (
                RawData::Unsigned(u64::MAX),
                "18446744073709551615",
                "18446744073709551615",
            ),
            (RawData::Double(0.5), "0.5", "0.5"),
            (RawData::Double(f64::NAN), "NaN", "\"NaN\""),
            (RawData::Float(0.1), "0.1", "0.1"),
            (RawData::Float(f32::INFINITY), "inf", "\"inf\""),
            (RawData::Boolean(true), "true", "true"),
            (RawData::Char(0xd800), "'\u{fffd}'", "\"\u{fffd}\""),
            (RawData::Text(&lone), "\"A\u{fffd}\\n\"", "\"A\u{fffd}\\n\""),
            (RawData::Object(&lone[..2]), "A", "\"A\""),
            (RawData::Missing(&lone[..2]), "(A)", "{\"missing\":\"A\"}"),
        ] {
            assert_eq!(of(data), (shown.to_owned(), json.to_owned()));
        }
        assert_eq!(&*value(7, RawData::Null).name, "value 7");
    }

    #[test]
    fn conditions_take_patterns_for_text_and_whole_numbers() {
        let text: Vec<u8> = "SELECT * FROM orders"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let values = [
            value(0, RawData::Text(&text)),
            value(1, RawData::Integer(112)),
        ];
        for (condition, holds) in [
            ("arg(0)=orders", true),
            ("arg(0)=*orders", true),
            ("arg(0)=orders*", false),
            ("result=112", true),
            ("result=12", false),
            ("result=*12", true),
            ("result=1?2", true),
            ("arg(1)=*", false),
        ] {
            let parsed: Condition = condition.parse().unwrap();
            assert_eq!(parsed.holds(&values), holds, "{condition}");
        }
        for wrong in ["arg(0)", "=x", " =x"] {
            assert!(wrong.parse::<Condition>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_waits_is_bounded_and_forgotten() {
        let mut kept = Kept::default();
        let text = vec![0x41; 1_000];
        let raw = RawValue {
            number: 0,
            flags: 0,
            data: RawData::Text(&text),
        };
        for id in 0..10_000 {
            kept.wait(id, &raw, &[]);
        }
        assert!(kept.bytes <= MAX_BYTES);
        for id in 0..10_000 {
            kept.enter(id, Some(id as usize));
        }
        assert_eq!(kept.waiting, 0);
        for depth in (0..10_000).rev() {
            kept.leave(depth, true);
        }
        assert_eq!((kept.bytes, kept.open.len()), (0, 0));
        kept.wait(1, &raw, &[]);
        kept.miss();
        assert_eq!((kept.bytes, kept.waiting), (0, 0));
    }
}
