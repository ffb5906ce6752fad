//! One `[[aspect]]`: its keys, what excludes what among them, and the aspect that they make.

use super::super::model::{Aspect, Mode, OwnHook, OwnHooks, Selector};
use super::spans::Spans;
use super::{ASPECT_KEYS, ASPECT_SYNONYMS, Parser, SELECTOR_KEYS, SLOWER_THAN, Value};
use crate::aspect::advice::Advice;
use crate::aspect::point::PointKind;
use crate::error::Place;
use crate::spans::SpanRule;
use crate::switches::{Level, Sampling};
use std::ops::Range;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// What the keys of an aspect say, each by itself.
struct Keys<'a, 't> {
    table: &'a DeTable<'t>,
    /// Where the aspect stands.
    span: Range<usize>,
    name: String,
    name_span: Range<usize>,
    matches: Vec<Selector>,
    excludes: Vec<Selector>,
    advice: Advice,
    hooks: Advice,
    mode: Advice,
    is_auto: bool,
    slower: u32,
    overhead: Option<u32>,
    level: Option<Level>,
    sample: Option<Sampling>,
    own: OwnHooks,
    before: Vec<OwnHook>,
    after: Vec<OwnHook>,
    /// Where `root` stands, if it is true.
    root: Option<Range<usize>>,
    completion: bool,
    /// The rule of spans, and where its key stands.
    spans: Option<(Spans, Range<usize>)>,
}

impl<'a, 't> Keys<'a, 't> {
    fn new(table: &'a DeTable<'t>, span: Range<usize>, number: usize) -> Self {
        Keys {
            table,
            name: format!("aspect {number}"),
            name_span: span.clone(),
            span,
            matches: Vec::new(),
            excludes: Vec::new(),
            advice: Advice::ALL,
            hooks: Advice::ALL,
            mode: Advice::ALL,
            is_auto: false,
            slower: SLOWER_THAN,
            overhead: None,
            level: None,
            sample: None,
            own: OwnHooks::default(),
            before: Vec::new(),
            after: Vec::new(),
            root: None,
            completion: true,
            spans: None,
        }
    }

    fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    fn has_any(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.has(key))
    }

    fn span_of(&self, key: &str) -> Option<Range<usize>> {
        self.table.get_key_value(key).map(|(key, _)| key.span())
    }

    /// Whether the aspect is about points inside methods.
    fn is_at(&self) -> bool {
        self.has("at")
    }

    /// The kind of these points.
    fn kind(&self) -> PointKind {
        self.own.at.as_ref().map_or(PointKind::Call, |at| at.kind)
    }

    /// Whether the aspect is about points that are no calls.
    fn is_at_point(&self) -> bool {
        self.is_at() && self.kind() != PointKind::Call
    }

    /// When hooks of the library run, if any does.
    fn when(&self) -> Advice {
        match (self.mode, self.hooks) {
            (Advice::ALL, Advice::SECTION) => self.hooks,
            (Advice::ALL, _) => self.advice,
            (mode, _) => mode,
        }
    }

    /// What is recorded of calls where they stand.
    fn recorded_at_calls(&self) -> Advice {
        let records = self.has_any(&["advice", "mode"]) || !self.own.record.is_empty();
        match records || self.spans.is_some() {
            true => self.when().only(Advice::ALL),
            false => Advice::default(),
        }
    }

    /// The advice of whole methods.
    fn of_methods(&self) -> Advice {
        let when = match self.spans.is_some() {
            true => self.when().with(Advice::ROOT),
            false => self.when(),
        };
        if self.own.is_empty() && !self.own.holds() {
            return when;
        }
        // An aspect with hooks of its own records the calls only if it says so, or records values.
        let records = self.has_any(&["advice", "hooks", "mode"]) || !self.own.record.is_empty();
        let has_others = self.own.has_hooks() || !self.own.entry.is_empty();
        match records || self.spans.is_some() || !has_others {
            true => when.with(Advice::OWN),
            false => Advice::OWN,
        }
    }

    /// The key by which calls are switched.
    fn switch(&self) -> Option<&'static str> {
        match self.is_auto {
            true => Some("mode"),
            false => ["sample", "level"].into_iter().find(|key| self.has(key)),
        }
    }
}

/// Where a key that is refused is shown.
enum Shown {
    Key,
    Value,
    Aspect,
}

/// A key that others exclude.
struct Exclusion {
    keys: &'static [&'static str],
    shown: Shown,
    /// Whether the aspect excludes the key. The last is its advice.
    is_excluded: fn(&Keys<'_, '_>, &str, Advice) -> bool,
    /// In the texts `{key}` is the key, and `{kind}` the kind of points.
    title: &'static str,
    label: &'static str,
    /// Empty if there is none.
    help: &'static str,
}

/// What excludes what.
const EXCLUSIONS: [Exclusion; 28] = [
    Exclusion {
        keys: &["advice"],
        shown: Shown::Value,
        is_excluded: |keys, _, _| keys.hooks == Advice::SECTION && keys.advice != Advice::ALL,
        title: "a section of Android's trace has a beginning and an end",
        label: "expected all three",
        help: "leave `advice` out where `hooks` is \"android-trace\"",
    },
    Exclusion {
        keys: &["mode"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| keys.hooks == Advice::SECTION,
        title: "`mode` does not apply to Android's trace",
        label: "leave out `mode`, or `hooks`",
        help: "",
    },
    Exclusion {
        keys: &["advice"],
        shown: Shown::Value,
        is_excluded: |keys, _, _| keys.mode == Advice::COUNT && keys.advice != Advice::ALL,
        title: "a counted call has one hook, where it begins",
        label: "it cannot be chosen",
        help: "leave `advice` out where `mode` is \"count\"",
    },
    Exclusion {
        keys: &["advice"],
        shown: Shown::Value,
        is_excluded: |keys, _, _| keys.mode == Advice::AGGREGATE && keys.advice != Advice::ALL,
        title: "a call that is summed up has a beginning and an end",
        label: "it cannot be chosen",
        help: "leave `advice` out where `mode` is \"aggregate\"",
    },
    Exclusion {
        keys: &["record"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| keys.mode == Advice::COUNT,
        title: "values belong to calls that are recorded",
        label: "the aspect counts them only: `mode`",
        help: "leave out `record`, or `mode`",
    },
    Exclusion {
        keys: &["record"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| keys.mode == Advice::AGGREGATE,
        title: "values belong to calls that are recorded",
        label: "the aspect sums them up only: `mode`",
        help: "leave out `record`, or `mode`",
    },
    Exclusion {
        keys: &["slower-than", "overhead"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| !keys.is_auto,
        title: "`{key}` needs `mode = \"auto\"`",
        label: "the aspect has another `mode`",
        help: "`mode = \"auto\"`",
    },
    Exclusion {
        keys: &["sample"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| keys.is_auto || keys.mode != Advice::ALL,
        title: "`sample` is only for recorded calls",
        label: "the aspect has another `mode`",
        help: "leave out `sample`, or `mode`: counts and sums cover all calls, and cost less than records",
    },
    Exclusion {
        keys: &["limit"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| !keys.has_any(&["record", "entry"]),
        title: "`limit` is about values",
        label: "the aspect records none: `record`",
        help: "",
    },
    Exclusion {
        keys: &["record"],
        shown: Shown::Aspect,
        is_excluded: |keys, _, _| !keys.own.record.is_empty() && keys.when().has(Advice::SECTION),
        title: "Android's trace takes no values",
        label: "leave out `record`, or `hooks`",
        help: "",
    },
    Exclusion {
        keys: &["hooks", "enter", "exit", "exception", "around"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| keys.is_at(),
        title: "`{key}` is about whole methods",
        label: "the aspect is about calls in them: `at`",
        help: "at calls there are `before`, `after`, `replace`, `advice` and `record`",
    },
    Exclusion {
        keys: &[
            "advice",
            "record",
            "mode",
            "mask",
            "messages",
            "limit",
            "root",
            "completion",
        ],
        shown: Shown::Key,
        is_excluded: |keys, _, _| keys.is_at_point(),
        title: "`{key}` is about calls",
        label: "the aspect is about points of another kind: `{kind}`",
        help: "there are `before`, `after` and `replace`",
    },
    Exclusion {
        keys: &["after"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| keys.is_at_point() && !keys.kind().has_after(),
        title: "a hook cannot run after a point of `{kind}`",
        label: "leave it out",
        help: "",
    },
    Exclusion {
        keys: &["replace"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| keys.is_at_point() && !keys.kind().has_replace(),
        title: "a hook cannot replace a point of `{kind}`",
        label: "leave it out",
        help: "",
    },
    Exclusion {
        keys: &["before", "after"],
        shown: Shown::Key,
        is_excluded: |keys, key, _| {
            keys.is_at() && keys.has("replace") && (key == "before" || !keys.has("before"))
        },
        title: "`replace` excludes `before` and `after`",
        label: "leave it out, or `replace`",
        help: "put them into another aspect",
    },
    Exclusion {
        keys: &["guard"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| replaces(keys) && keys.kind() == PointKind::Call,
        title: "a replaced call has no guard: what the hook throws is what the call throws",
        label: "leave it out",
        help: "",
    },
    Exclusion {
        keys: &["guard"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| replaces(keys) && keys.kind() != PointKind::Call,
        title: "a replacement has no guard: what the hook throws reaches the program",
        label: "leave it out",
        help: "",
    },
    Exclusion {
        keys: &["mode"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| keys.is_at() && (keys.is_auto || keys.mode != Advice::ALL),
        title: "recorded calls (`at`) cannot be counted",
        label: "leave out `mode`",
        help: "",
    },
    Exclusion {
        keys: &["level"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| keys.is_at(),
        title: "recorded calls (`at`) cannot be switched",
        label: "leave out `level`",
        help: "an aspect that matches the called method can have a level",
    },
    Exclusion {
        keys: &["sample"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| keys.is_at(),
        title: "recorded calls (`at`) cannot be sampled",
        label: "leave out `sample`",
        help: "an aspect that matches the called method can sample its calls",
    },
    Exclusion {
        keys: &["completion"],
        shown: Shown::Key,
        is_excluded: |keys, _, advice| keys.is_at() && advice == Advice::default(),
        title: "`completion` is about calls that are recorded",
        label: "the aspect records none: `advice` or `record`",
        help: "",
    },
    Exclusion {
        keys: &["completion"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| !keys.is_at() && keys.spans.is_none(),
        title: "`completion` is about spans, and about recorded calls (`at`)",
        label: "the aspect has neither `span` nor `at`",
        help: "leave it out: async methods always end when they are complete",
    },
    Exclusion {
        keys: &["before", "after", "replace"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| !keys.is_at(),
        title: "`{key}` is about points inside methods",
        label: "the aspect names none: `at`",
        help: "`at = { call = { type = \"java.io.File\", method = \"delete\" } }`; hooks of whole methods are `enter` and `exit`",
    },
    Exclusion {
        keys: &["guard"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| {
            let own = &keys.own;
            let mut guarded = own.enter.iter().chain(&own.exit).chain(&own.exception);
            !keys.is_at() && own.around.is_some() && guarded.next().is_none()
        },
        title: "`around` has no guard: what the hook throws is what the method throws",
        label: "leave it out",
        help: "",
    },
    Exclusion {
        keys: &["guard"],
        shown: Shown::Key,
        is_excluded: |keys, _, _| !keys.is_at() && keys.own.is_empty(),
        title: "`guard` is about own hooks",
        label: "the aspect has none: `enter`, `exit` or `exception`",
        help: "",
    },
    Exclusion {
        keys: &["mask", "messages"],
        shown: Shown::Key,
        is_excluded: |keys, _, advice| !advice.has(Advice::EXCEPTION) && !keys.has("record"),
        title: "`{key}` is about calls that are recorded",
        label: "the aspect records neither values nor exceptions",
        help: "settings for the whole trace belong in the table `[trace]`",
    },
    Exclusion {
        keys: &["mode", "sample", "level"],
        shown: Shown::Key,
        is_excluded: |keys, key, advice| {
            switches_part(keys, key, advice) && advice.only(Advice::LIBRARY) == Advice::default()
        },
        title: "`{key}` is about what goes into the trace",
        label: "this aspect records nothing: leave it out",
        help: "",
    },
    Exclusion {
        keys: &["mode", "sample", "level"],
        shown: Shown::Key,
        is_excluded: |keys, key, advice| {
            switches_part(keys, key, advice) && advice.only(Advice::LIBRARY) != Advice::default()
        },
        title: "a call that is switched is recorded whole or not at all",
        label: "leave out `{key}`, or `advice`",
        help: "",
    },
];

/// Whether points are replaced, and nothing else.
fn replaces(keys: &Keys<'_, '_>) -> bool {
    keys.is_at() && keys.has("replace") && !keys.has_any(&["before", "after"])
}

/// Whether this key switches calls of methods that are not recorded whole.
fn switches_part(keys: &Keys<'_, '_>, key: &str, advice: Advice) -> bool {
    !keys.is_at() && keys.switch() == Some(key) && !advice.is_whole()
}

impl<'t> Parser<'t> {
    /// An aspect, and where its name stands.
    pub(super) fn aspect(
        &mut self,
        span: Range<usize>,
        table: &DeTable<'t>,
        number: usize,
    ) -> (Aspect, Range<usize>) {
        let mut keys = self.keys(span, table, number);
        if let Some((mut spans, key)) = keys.spans.take() {
            self.check_span(&mut spans, (keys.when(), &keys.own), key.clone(), table);
            keys.spans = Some((spans, key));
        }
        self.check_queued(&keys.own, keys.spans.is_some());
        keys.own.completion = keys.completion;
        let mut advice = match keys.is_at() {
            true => keys.recorded_at_calls(),
            false => keys.of_methods(),
        };
        if let Some(span) = keys.root.clone() {
            advice = self.rooted(advice, span);
        }
        if keys.is_at() && keys.spans.is_some() {
            advice = advice.with(Advice::ROOT);
        }
        self.check_keys(&keys, advice);
        let frame = self.frame(&keys.own);
        if let Some(at) = &mut keys.own.at {
            at.frame = frame;
        }
        let name_span = keys.name_span.clone();
        let aspect = match keys.is_at() {
            true => aspect_at(keys, advice),
            false => aspect_of_methods(keys, advice),
        };
        (aspect, name_span)
    }

    /// The keys of an aspect.
    fn keys<'a>(
        &mut self,
        span: Range<usize>,
        table: &'a DeTable<'t>,
        number: usize,
    ) -> Keys<'a, 't> {
        let mut keys = Keys::new(table, span, number);
        for (key, value) in table {
            let own = &mut keys.own;
            match &**key.get_ref() {
                "name" => {
                    if let Some(name) = self.aspect_name(value) {
                        (keys.name, keys.name_span) = (name, value.span());
                    }
                }
                "match" => keys.matches = self.selectors("match", value),
                "exclude" => keys.excludes = self.selectors("exclude", value),
                "mode" => match self.mode(value) {
                    Some(Mode::Is(mode)) => keys.mode = mode,
                    Some(Mode::Auto) => keys.is_auto = true,
                    None => {}
                },
                "level" => keys.level = self.level(value),
                "slower-than" => keys.slower = self.slower_than(value).unwrap_or(keys.slower),
                "overhead" => keys.overhead = self.overhead(value),
                "sample" => keys.sample = self.sample(value),
                "advice" => keys.advice = self.advice(value),
                "hooks" => keys.hooks = self.hooks(value).unwrap_or(keys.hooks),
                "enter" => own.enter = self.calls("enter", value),
                "exit" => own.exit = self.calls("exit", value),
                "exception" => own.exception = self.calls("exception", value),
                "around" => own.around = self.one_call("around", value),
                "at" => own.at = self.at(value).map(Box::new),
                "before" => keys.before = self.calls("before", value),
                "after" => keys.after = self.calls("after", value),
                "replace" => own.replace = self.one_call("replace", value),
                "record" => own.record = self.records("record", value),
                "entry" => own.entry = self.records("entry", value),
                "span" => keys.spans = self.span(value).map(|spans| (spans, key.span())),
                "context" => own.context = self.context(value).map(Box::new),
                "mask" => own.mask = self.mask(value),
                "messages" => self.truth("messages", value, &mut own.messages),
                "limit" => own.limit = self.limit(value).unwrap_or(own.limit),
                "guard" => self.truth("guard", value, &mut own.guard),
                "completion" => self.truth("completion", value, &mut keys.completion),
                "root" => {
                    let mut is_root = false;
                    self.truth("root", value, &mut is_root);
                    keys.root = is_root.then(|| key.span());
                }
                other if SELECTOR_KEYS.contains(&other) => self.report_help(
                    key.span(),
                    format!("`{other}` belongs into `match` or `exclude`"),
                    "a selector",
                    format!("move it into a table: `match = {{ {other} = .. }}`"),
                ),
                other => self.unknown_key(
                    key.span(),
                    other,
                    "an aspect",
                    &ASPECT_KEYS,
                    &ASPECT_SYNONYMS,
                ),
            }
        }
        keys
    }

    fn aspect_name(&mut self, value: &Value<'t>) -> Option<String> {
        let DeValue::String(name) = value.get_ref() else {
            self.wrong_type(value, "`name`", "a string");
            return None;
        };
        if name.trim().is_empty() || name.contains(char::is_control) {
            self.report(
                value.span(),
                "the name is empty or not printable",
                "expected a name for reports",
            );
            return None;
        }
        Some(name.to_string())
    }

    fn truth(&mut self, key: &str, value: &Value<'t>, to: &mut bool) {
        match value.get_ref() {
            DeValue::Boolean(yes) => *to = *yes,
            _ => self.wrong_type(value, &format!("`{key}`"), "true or false"),
        }
    }

    /// Reports keys that exclude each other, and what is missing.
    fn check_keys(&mut self, keys: &Keys<'_, 't>, advice: Advice) {
        let kind = keys.kind().word();
        for exclusion in &EXCLUSIONS {
            for key in exclusion.keys {
                let Some((at, value)) = keys.table.get_key_value(*key) else {
                    continue;
                };
                if !(exclusion.is_excluded)(keys, key, advice) {
                    continue;
                }
                let span = match exclusion.shown {
                    Shown::Key => at.span(),
                    Shown::Value => value.span(),
                    Shown::Aspect => keys.span.clone(),
                };
                let filled = |text: &str| text.replace("{key}", key).replace("{kind}", kind);
                let (title, label) = (filled(exclusion.title), filled(exclusion.label));
                match exclusion.help {
                    "" => self.report(span, title, label),
                    help => self.report_help(span, title, label, help),
                }
            }
        }
        if keys.is_at() {
            return self.check_does_something(keys);
        }
        if let Some(handed) = keys.own.handed() {
            self.report_help(
                handed.span.clone(),
                "`handover` is about calls",
                "the aspect names none: `at`",
                "`at = { call = { extends = \"java.util.concurrent.Executor\", method = \"execute\" } }`",
            );
        }
        if !keys.has("match") {
            self.report_help(
                keys.name_span.clone(),
                format!("the aspect `{}` has no `match`", keys.name),
                "expected what it matches",
                "`match = { type = \"**\" }` matches every method of every type",
            );
        }
    }

    /// Reports an aspect of points at which nothing is to be done.
    fn check_does_something(&mut self, keys: &Keys<'_, 't>) {
        const RECORDS: [&str; 6] = ["advice", "record", "mode", "span", "context", "entry"];
        let (Some(at), kind) = (keys.span_of("at"), keys.kind()) else {
            return;
        };
        if keys.has_any(&RECORDS) || keys.has_any(&["before", "after", "replace"]) {
            return;
        }
        let title = match kind {
            PointKind::Call => "nothing is to be done at these calls",
            _ => "nothing is to be done at these points",
        };
        let label = match kind {
            PointKind::Call => {
                "expected `before`, `after`, `replace`, `advice`, `record`, `span` or `context` beside it"
            }
            _ if kind.has_replace() => "expected `before`, `after` or `replace` beside it",
            _ if kind.has_after() => "expected `before` or `after` beside it",
            _ => "expected `before` beside it",
        };
        self.report(at, title, label);
    }

    /// The same where calls begin a trace: that is where a call does.
    fn rooted(&mut self, advice: Advice, span: Range<usize>) -> Advice {
        if advice.has(Advice::ENTER) {
            return advice.with(Advice::ROOT);
        }
        self.report(
            span,
            "`root` is about calls in the trace",
            "the aspect records none: `advice` with `enter`",
        );
        advice
    }
}

/// An aspect of points inside methods.
fn aspect_at(keys: Keys<'_, '_>, recorded: Advice) -> Aspect {
    let mut matches = match keys.has("match") {
        true => keys.matches,
        false => vec![Selector::default()],
    };
    let mut excludes = keys.excludes;
    let selectors = matches.iter_mut().chain(&mut excludes);
    selectors.for_each(|selector| selector.inside = true);
    let mut own = keys.own;
    // They take the places of those of whole methods.
    (own.enter, own.exit) = (keys.before, keys.after);
    if let Some(at) = &mut own.at {
        at.advice = recorded;
        at.completion = keys.completion;
        at.traced = rule_of(keys.spans);
    }
    Aspect {
        name: keys.name,
        matches,
        excludes,
        advice: Advice::CALLS,
        level: keys.level,
        auto: keys.is_auto.then_some(keys.slower),
        overhead: keys.overhead,
        sample: keys.sample,
        span: None,
        start: keys.span.start,
        place: Place::default(),
        own: Some(Arc::new(own)),
    }
}

/// An aspect of whole methods.
fn aspect_of_methods(keys: Keys<'_, '_>, advice: Advice) -> Aspect {
    let (mut matches, own) = (keys.matches, keys.own);
    let has_own = !own.is_empty() || own.holds();
    if keys.spans.is_some() || has_own && own.decides() {
        (matches.iter_mut()).for_each(|selector| selector.takes_trivial = true);
    }
    Aspect {
        name: keys.name,
        matches,
        excludes: keys.excludes,
        advice,
        level: keys.level,
        auto: keys.is_auto.then_some(keys.slower),
        overhead: keys.overhead,
        sample: keys.sample,
        span: rule_of(keys.spans),
        start: keys.span.start,
        place: Place::default(),
        own: has_own.then(|| Arc::new(own)),
    }
}

fn rule_of(spans: Option<(Spans, Range<usize>)>) -> Option<Arc<SpanRule>> {
    spans.map(|(spans, _)| Arc::new(spans.rule))
}
