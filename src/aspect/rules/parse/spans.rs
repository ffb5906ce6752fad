//! What rules say of spans and of the context of requests: `span`, `context`, `entry`.

use super::super::hook::{self, Recorded, Word};
use super::super::model::{
    Aspect, Context, Frame, Handed, Inject, LISTENER, OwnHook, OwnHooks, OwnRecord,
};
use super::{Parser, Text, Value};
use crate::aspect::advice::Advice;
use crate::spans::{Condition, KIND_WORDS, Kind, OF_METHOD, SpanRule, Template};
use std::ops::Range;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

pub(in super::super) const SPAN_KEYS: [&str; 5] = ["kind", "name", "once", "error", "when"];
const SPAN_SYNONYMS: [(&str, &str); 4] = [
    ("type", "kind"),
    ("title", "name"),
    ("group", "once"),
    ("if", "when"),
];
pub(in super::super) const CONTEXT_KEYS: [&str; 8] = [
    "extract", "inject", "handover", "keep", "while", "give", "take", "link",
];
const CONTEXT_SYNONYMS: [(&str, &str); 3] = [
    ("hand", "handover"),
    ("hand-over", "handover"),
    ("links", "link"),
];

pub(in super::super) const SOURCE_KEYS: [&str; 2] = ["source", "not"];

/// The aspect by which a program hears these sources: its entry point asks for them first of all.
fn listening(sources: &[String], start: usize) -> Option<Aspect> {
    let sources = sources.join(",");
    let text = format!(
        r#"version = 1
        [[aspect]]
        name = "spans of {sources}"
        match = {{ method = ["Main", "<Main>", "<Main>$"], returns = ["void", "System.Void", "int", "System.Int32"], kind = ["method", "synthetic"] }}
        enter = "{LISTENER}.Listen('{sources}')"
        "#
    );
    let mut aspect = super::parse(&text).ok()?.aspects.pop()?;
    aspect.start = start;
    Some(aspect)
}

/// The hook library's class of contexts that go with objects: what begins in a method that takes some, and what ends it (JVM and dex, .NET).
const OPEN: [&str; 2] = ["weave.runtime.Queued.open()", "Weave.Runtime.Queued.Open()"];
const DONE: [&str; 2] = [
    "weave.runtime.Queued.done(state)",
    "Weave.Runtime.Queued.Done(state)",
];

/// The free words of `extract` and `inject`.
const NAME: &str = Inject::NAME;
const INJECTED: [&str; 3] = [NAME, Inject::VALUE, Inject::BYTES];

/// A rule of spans on the way, and the names of values in it with where they stand.
#[derive(Default)]
pub(super) struct Spans {
    pub rule: SpanRule,
    names: Vec<(String, Range<usize>)>,
}

impl<'t> Parser<'t> {
    /// `span = "client"`, or a table.
    pub(super) fn span(&mut self, value: &Value<'t>) -> Option<Spans> {
        let mut spans = Spans::default();
        match value.get_ref() {
            DeValue::String(_) => spans.rule.kind = self.span_kind(value)?,
            DeValue::Table(table) => self.span_table(&mut spans, table, value.span()),
            _ => {
                self.wrong_type(value, "`span`", "a kind of spans, or a table");
                return None;
            }
        }
        Some(spans)
    }

    /// `[[spans]]`: sources of activities (.NET), which the program hears from where it begins.
    pub(super) fn library_spans(&mut self, value: &Value<'t>) -> Vec<Aspect> {
        let DeValue::Array(array) = value.get_ref() else {
            self.report_help(
                value.span(),
                "`spans` is a list",
                "expected `[[spans]]`",
                "write two brackets: `[[spans]]`",
            );
            return Vec::new();
        };
        let mut aspects = Vec::new();
        for item in array.iter() {
            let DeValue::Table(table) = item.get_ref() else {
                self.wrong_type(item, "spans of libraries", "a table");
                continue;
            };
            let mut sources = Vec::new();
            for (key, value) in table {
                match &**key.get_ref() {
                    "source" => sources.extend(self.sources(value)),
                    "not" => {
                        let not = self.sources(value).into_iter();
                        sources.extend(not.map(|name| format!("!{name}")));
                    }
                    other => {
                        self.unknown_key(key.span(), other, "`spans`", &SOURCE_KEYS, &[]);
                    }
                }
            }
            if !table.contains_key("source") {
                self.report_help(
                    item.span(),
                    "the spans have no `source`",
                    "expected the names of activities' sources",
                    "`source = [\"Npgsql\", \"System.Net.Http\"]`",
                );
            }
            if self.wrong.is_empty() {
                aspects.extend(listening(&sources, item.span().start));
            }
        }
        aspects
    }

    /// Names of sources: a text or a list.
    fn sources(&mut self, value: &Value<'t>) -> Vec<String> {
        let one = std::slice::from_ref(value);
        let all: Vec<&Value<'t>> = match value.get_ref() {
            DeValue::Array(array) => array.iter().collect(),
            _ => one.iter().collect(),
        };
        let mut names = Vec::new();
        for value in all {
            let DeValue::String(name) = value.get_ref() else {
                self.wrong_type(value, "a source", "the name of a source");
                continue;
            };
            let stem = name.strip_suffix('*').unwrap_or(name);
            let is_odd = |c: char| c.is_control() || matches!(c, '*' | '!' | ',' | '\'' | '"');
            if name.is_empty() || stem.contains(is_odd) {
                self.report_help(
                    value.span(),
                    "this is no name of a source",
                    "expected a name, or the beginning of names and `*`",
                    "`\"Npgsql\"`, `\"RabbitMQ.Client.*\"`",
                );
                continue;
            }
            names.push(name.to_string());
        }
        names
    }

    fn span_table(&mut self, spans: &mut Spans, table: &DeTable<'t>, span: Range<usize>) {
        for (key, value) in table {
            let name = &**key.get_ref();
            if !SPAN_KEYS.contains(&name) {
                self.unknown_key(key.span(), name, "`span`", &SPAN_KEYS, &SPAN_SYNONYMS);
                continue;
            }
            let DeValue::String(text) = value.get_ref() else {
                self.wrong_type(value, &format!("`{name}`"), "a string");
                continue;
            };
            if text.trim().is_empty() || text.contains(char::is_control) {
                let title = format!("`{name}` is empty or not printable");
                self.report(value.span(), title, "expected a text");
                continue;
            }
            let text = &**text;
            let rule = &mut spans.rule;
            let names: Result<Vec<&str>, &str> = match name {
                "kind" => {
                    rule.kind = self.span_kind(value).unwrap_or_default();
                    continue;
                }
                "name" => {
                    rule.name = text.into();
                    Template::parse(text).map(|template| template.names().collect())
                }
                "once" => {
                    rule.once = text.into();
                    continue;
                }
                "error" => {
                    rule.error = text.into();
                    Condition::parse(text).map(|condition| vec![condition.name])
                }
                _ => {
                    rule.when = text.into();
                    Condition::parse(text).map(|condition| vec![condition.name])
                }
            };
            match names {
                Ok(names) => {
                    let place = |name: &str| {
                        let at = text.find(name).unwrap_or_default();
                        let whole = Text {
                            span: value.span(),
                            value: text,
                        };
                        self.inside(&whole, &(at..at + name.len()))
                    };
                    let places: Vec<_> = names.iter().map(|n| place(n)).collect();
                    let names = names.into_iter().map(str::to_owned);
                    spans.names.extend(names.zip(places));
                }
                Err(expected) => {
                    let example = match name {
                        "name" => "`name = \"{http.request.method} {http.route}\"`",
                        _ => "`error = \"http.response.status_code >= 500\"`",
                    };
                    let title = format!("`{name}` cannot be read");
                    self.report_help(value.span(), title, expected, example);
                }
            }
        }
        if !table.contains_key("kind") {
            self.report_help(
                span,
                "the span has no `kind`",
                "expected one of the kinds",
                "`kind = \"server\"`, `client`, `producer`, `consumer` or `internal`",
            );
        }
    }

    fn span_kind(&mut self, value: &Value<'t>) -> Option<Kind> {
        const WORDS: [&str; 5] = ["internal", "server", "client", "producer", "consumer"];
        debug_assert!(WORDS.iter().zip(KIND_WORDS).all(|(a, (b, _))| *a == b));
        let DeValue::String(word) = value.get_ref() else {
            self.wrong_type(value, "`kind`", "a kind of spans");
            return None;
        };
        let kind = Kind::named(word);
        if kind.is_none() {
            self.unknown(value.span(), "kind of spans", "", word, &WORDS, &[]);
        }
        kind
    }

    /// What does not go with `span`, once all of the aspect is read.
    pub(super) fn check_span(
        &mut self,
        spans: &mut Spans,
        (when, own): (Advice, &OwnHooks),
        key: Range<usize>,
        table: &DeTable<'t>,
    ) {
        let is_known = |name: &str| {
            // Another aspect's `entry` may give values of dotted names.
            name.contains('.') || own.record.iter().any(|record| *record.name == *name)
        };
        for (name, place) in &spans.names {
            if OF_METHOD.contains(&name.as_str()) && !is_known(name) {
                spans.rule.mark(name);
            } else if !is_known(name) {
                self.report_help(
                    place.clone(),
                    format!("the aspect records no value `{name}`"),
                    "expected the name of a value",
                    format!("`record = [\"{name} = arg(0)\"]`"),
                );
            }
        }
        for other in ["mode", "sample"] {
            if let Some((key, value)) = table.get_key_value(other)
                && !matches!(value.get_ref(), DeValue::String(word) if **word == *"record")
            {
                self.report(
                    key.span(),
                    format!("a span is recorded whole: `{other}` does not go with `span`"),
                    format!("leave out `{other}`, or `span`"),
                );
            }
        }
        let is_half = when.only(Advice::ALL) != Advice::ALL;
        if (is_half || when.has(Advice::SECTION)) && !table.contains_key("mode") {
            self.report(
                key,
                "a span has a beginning and an end",
                "leave out `advice` and `hooks`, or `span`",
            );
        }
    }

    /// `context = { handover = "arg(0)" }`
    pub(super) fn context(&mut self, value: &Value<'t>) -> Option<Context> {
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong_type(value, "`context`", "a table");
            return None;
        };
        let mut context = Context::default();
        for (key, value) in table {
            match &**key.get_ref() {
                "extract" => context.extract = self.extract(value),
                "inject" => context.inject = self.inject(value),
                "handover" => context.handover = self.handed(value),
                "keep" => context.keep = self.asked("keep", value),
                "while" => context.goes_on = self.asked("while", value),
                "give" => context.give = self.asked("give", value),
                "take" => context.take = self.asked("take", value),
                "link" => match value.get_ref() {
                    DeValue::Boolean(yes) => context.link = yes.then(|| key.span()),
                    _ => self.wrong_type(value, "`link`", "true or false"),
                },
                name => {
                    let (known, synonyms) = (&CONTEXT_KEYS, &CONTEXT_SYNONYMS);
                    self.unknown_key(key.span(), name, "`context`", known, synonyms);
                }
            }
        }
        if table.iter().next().is_none() {
            self.report(
                value.span(),
                "`context` is empty",
                "expected `extract`, `inject`, `handover`, `keep`, `give` or `take`",
            );
        }
        if let (Some(goes_on), None) = (&context.goes_on, &context.keep) {
            self.report_help(
                goes_on.span.clone(),
                "nothing says which object keeps the span",
                "`while` goes with `keep`",
                "`keep = \"arg(0)\"`",
            );
        }
        if let Some(extract) = &context.extract
            && !(extract.value.operands().iter().any(|o| o.is_free(NAME))
                || extract.value.has_argument(NAME))
        {
            self.report_help(
                extract.span.clone(),
                "nothing says which header is read",
                "expected the word `name`",
                "`extract = \"acme.Carrier.header(arg(0), name)\"`",
            );
        }
        let all = &context.inject;
        let has_value = (all.iter()).any(|i| i.takes(Inject::VALUE) || i.takes(Inject::BYTES));
        let nameless = all.iter().find(|inject| !inject.takes(NAME));
        if let Some(inject) = nameless.or_else(|| all.last().filter(|_| !has_value)) {
            self.report_help(
                inject.place().clone(),
                "nothing says which header is sent",
                "expected the words `name` and `value`, or `name` and `bytes`",
                "`inject = \"acme.Carrier.send(arg(0), name, value)\"`",
            );
        }
        Some(context)
    }

    /// What of `give`, `take` and `link` does not go with the rest, once all of the aspect is read.
    pub(super) fn check_queued(&mut self, own: &OwnHooks, is_span: bool) {
        let Some(context) = &own.context else {
            return;
        };
        let is_call = own.at.is_some();
        if let Some(link) = &context.link {
            let (what, help) = match (&context.extract, &context.take) {
                (None, None) => (
                    "the link has no source",
                    "`extract = \"arg(0).getHeader(name)\"`, or `take = \"arg(0)\"`",
                ),
                (None, Some(_)) if is_call => (
                    "a context that is taken at a call cannot be a link",
                    "use `take` in a rule for a method (`match`)",
                ),
                _ if !is_span => (
                    "only a span can have links, and the aspect has none",
                    "`span = \"consumer\"`",
                ),
                _ => ("", ""),
            };
            if !what.is_empty() {
                self.report_help(link.clone(), what, "`link` means nothing here", help);
            }
        }
        let Some(take) = &context.take else {
            return;
        };
        if !is_call && context.extract.is_some() && context.link.is_none() {
            self.report_help(
                take.span.clone(),
                "a span has one parent",
                "`extract` names it already",
                "with `link = true` both are links",
            );
        }
        let has_own = !own.enter.is_empty() || own.around.is_some() || context.keep.is_some();
        if !is_call && !is_span && has_own {
            self.report(
                take.span.clone(),
                "an aspect that takes a context has no other hooks around the method",
                "put them into another aspect",
            );
        }
    }

    /// The hooks of methods that take contexts from calls.
    pub(super) fn frame(&self, own: &OwnHooks) -> Option<Box<Frame>> {
        let place = own.taken()?.span.clone();
        let hook = |text: &str| {
            let call = hook::parse_hook(text).ok()?;
            Some(OwnHook {
                name: place.clone(),
                operands: vec![place.clone(); call.operands.len()],
                changes: place.clone(),
                call,
            })
        };
        let hooks = |open: &str, done: &str| OwnHooks {
            enter: hook(open).into_iter().collect(),
            exit: hook(done).into_iter().collect(),
            exception: hook(done).into_iter().collect(),
            guard: false,
            source: Arc::clone(&own.source),
            ..OwnHooks::default()
        };
        Some(Box::new(Frame {
            java: hooks(OPEN[0], DONE[0]),
            dotnet: hooks(OPEN[1], DONE[1]),
        }))
    }

    fn extract(&mut self, value: &Value<'t>) -> Option<OwnRecord> {
        let texts = self.strings("extract", value);
        let text = texts.first()?;
        match hook::parse_free(text.value, &[NAME]) {
            Ok(value) => Some(self.chained(text, value)),
            Err(e) => {
                self.bad_pattern("extract", text, e);
                None
            }
        }
    }

    /// A value that is asked for, by its key.
    fn asked(&mut self, key: &str, value: &Value<'t>) -> Option<OwnRecord> {
        let texts = self.strings(key, value);
        let text = texts.first()?;
        match hook::parse_free(text.value, &[]) {
            Ok(value) => Some(self.chained(text, value)),
            Err(e) => {
                self.bad_pattern(key, text, e);
                None
            }
        }
    }

    fn inject(&mut self, value: &Value<'t>) -> Vec<Inject> {
        let texts = self.strings("inject", value);
        texts
            .iter()
            .filter_map(|text| self.injected(text))
            .collect()
    }

    fn injected(&mut self, text: &Text<'_>) -> Option<Inject> {
        // `this.add(name, value)`, or that of a parameter.
        let is_value = |ty: &str| !ty.contains('.') && ty.starts_with(char::is_lowercase);
        let e = match hook::parse_hook(text.value) {
            Ok(call) if is_value(&call.ty) => hook::wrong(
                call.name,
                "this is no static method",
                "`arg(1).setHeader(name, value)`",
            ),
            Ok(mut call) => {
                let operands = self.operands(text, &mut call.operands);
                return Some(Inject::Call(OwnHook {
                    name: self.inside(text, &call.name),
                    operands,
                    changes: self.inside(text, &call.changes.place()),
                    call,
                }));
            }
            Err(e) => e,
        };
        match hook::parse_free(text.value, &INJECTED) {
            Ok(Recorded::Operand(operand))
                if operand.members.last().is_some_and(|m| m.is_method()) =>
            {
                Some(Inject::Chain(
                    self.chained(text, Recorded::Operand(operand)),
                ))
            }
            _ => {
                self.bad_pattern("inject", text, e);
                None
            }
        }
    }

    fn chained(&mut self, text: &Text<'_>, mut value: Recorded) -> OwnRecord {
        let operands = self.operands(text, value.operands_mut());
        OwnRecord {
            name: text.value.into(),
            value,
            span: self.inside(text, &(0..text.value.len())),
            operands,
        }
    }

    fn handed(&mut self, value: &Value<'t>) -> Option<Handed> {
        let mut handed = Handed {
            args: Vec::new(),
            all: false,
            span: value.span(),
        };
        for text in self.strings("handover", value) {
            let operand = hook::parse_operand(text.value);
            match operand.map(|operand| (operand.word, operand.optional)) {
                Ok((Word::Arg(n), optional)) => handed.args.push((n, optional)),
                Ok((Word::Args, _)) => handed.all = true,
                Ok(_) => self.report_help(
                    text.span.clone(),
                    "this is not handed over",
                    "expected arguments",
                    "`arg(0)`, a list of them, or `args` for all that can be",
                ),
                Err(e) => self.bad_pattern("handover", &text, e),
            }
        }
        (handed.all || !handed.args.is_empty()).then_some(handed)
    }
}
