//! What a rule says of spans (`span = { .. }`): kind, name, and when one failed. The symbols map carries it from the weave to readers.

use std::sync::Arc;

/// OpenTelemetry's `Span.SpanKind`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Internal,
    #[default]
    Server,
    Client,
    Producer,
    Consumer,
}

/// The words for kinds, in their order.
pub const KIND_WORDS: [(&str, Kind); 5] = [
    ("internal", Kind::Internal),
    ("server", Kind::Server),
    ("client", Kind::Client),
    ("producer", Kind::Producer),
    ("consumer", Kind::Consumer),
];

impl Kind {
    /// The kind of a word.
    pub fn named(word: &str) -> Option<Kind> {
        let found = KIND_WORDS.iter().find(|(name, _)| *name == word);
        found.map(|(_, kind)| *kind)
    }

    pub fn word(self) -> &'static str {
        KIND_WORDS[self as usize].0
    }

    /// The number in OTLP, and in a symbols map.
    pub fn number(self) -> u32 {
        self as u32 + 1
    }

    /// The kind of such a number.
    pub fn of(number: u32) -> Option<Kind> {
        let found = KIND_WORDS.iter().find(|(_, kind)| kind.number() == number);
        found.map(|(_, kind)| *kind)
    }

    /// A span of this kind begins what a process does for another: it is the entry span of its context.
    pub fn is_entry(self) -> bool {
        matches!(self, Kind::Server | Kind::Consumer)
    }
}

/// The spans of an aspect. Texts are as the rule writes them; an empty one says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanRule {
    pub kind: Kind,
    /// A [`Template`].
    pub name: Box<str>,
    /// Inside a call of this word no other call of the same word is a span.
    pub once: Box<str>,
    /// A [`Condition`]: the span has failed.
    pub error: Box<str>,
    /// A [`Condition`]: else there is no span.
    pub when: Box<str>,
    /// The pack that the rule is from, if it is from one.
    pub scope: Box<str>,
}

/// What a name may say of the method whose calls are spans, in a template that is not of a method yet.
pub const OF_METHOD: [&str; 2] = ["class", "method"];
const MARK: char = '@';

impl SpanRule {
    /// Takes a name in the template for what a method says of itself.
    pub fn mark(&mut self, name: &str) {
        let of_method = format!("{{{MARK}{name}}}");
        let Ok(template) = Template::parse(&self.name) else {
            return;
        };
        let parts = template.0.iter().map(|part| match part {
            Part::Text(text) => (*text).to_owned(),
            Part::Value(value) if *value == name => of_method.clone(),
            Part::Value(value) => format!("{{{value}}}"),
        });
        self.name = parts.collect::<String>().into();
    }

    /// The rule for the calls of a method: its name says the type's, without package or namespace, and the method's.
    pub fn of_method(self: &Arc<Self>, ty: &str, method: &str) -> Arc<SpanRule> {
        if !self.name.contains(MARK) {
            return Arc::clone(self);
        }
        let class = ty.rsplit(['/', '.']).next().unwrap_or(ty);
        let mut rule = SpanRule::clone(self);
        for (word, text) in OF_METHOD.into_iter().zip([class, method]) {
            let text = text.replace(['{', '}'], "");
            rule.name = rule
                .name
                .replace(&format!("{{{MARK}{word}}}"), &text)
                .into();
        }
        Arc::new(rule)
    }
}

/// What a recorded value is, for conditions and names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<'v> {
    Null,
    Boolean(bool),
    Number(f64),
    Text(&'v str),
}

impl Scalar<'_> {
    fn is_true(self) -> bool {
        match self {
            Scalar::Null => false,
            Scalar::Boolean(yes) => yes,
            Scalar::Number(n) => n != 0.0,
            Scalar::Text(text) => !text.is_empty(),
        }
    }
}

/// A text with recorded values in braces: `"{http.request.method} {http.route}"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Template<'t>(Vec<Part<'t>>);

#[derive(Clone, Debug, PartialEq)]
enum Part<'t> {
    Text(&'t str),
    Value(&'t str),
}

impl<'t> Template<'t> {
    /// Reads a template; an error says what is wrong.
    pub fn parse(text: &'t str) -> Result<Template<'t>, &'static str> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(open);
            let Some(inside) = from.strip_prefix('{') else {
                return Err("`}` closes nothing");
            };
            let close = inside.find(['{', '}']);
            let close = close.filter(|&close| inside[close..].starts_with('}'));
            let close = close.ok_or("`{` is not closed")?;
            if !before.is_empty() {
                parts.push(Part::Text(before));
            }
            parts.push(Part::Value(inside[..close].trim()));
            rest = &inside[close + 1..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest));
        }
        Ok(Template(parts))
    }

    /// The names of values in it.
    pub fn names(&self) -> impl Iterator<Item = &'t str> {
        self.0.iter().filter_map(|part| match part {
            Part::Value(name) => Some(*name),
            Part::Text(_) => None,
        })
    }

    /// The text for these values. One that is missing falls out with the blank before it, or with what joins it to another (`{a}:{b}`).
    pub fn fill<'v>(&self, value: impl Fn(&str) -> Option<Scalar<'v>>) -> String {
        let (mut out, mut is_there, mut joint, mut fell) = (String::new(), false, "", false);
        for (n, part) in self.0.iter().enumerate() {
            let name = match part {
                Part::Text(text) => {
                    let next = self.0.get(n + 1);
                    let joins = n > 0 && next.is_some() && !text.contains(' ');
                    match joins {
                        true => joint = text,
                        false => out.push_str(text),
                    }
                    continue;
                }
                Part::Value(name) => name,
            };
            let shown = match value(name) {
                Some(Scalar::Text(text)) => text.to_owned(),
                Some(Scalar::Number(n)) => n.to_string(),
                Some(Scalar::Boolean(yes)) => yes.to_string(),
                Some(Scalar::Null) | None => String::new(),
            };
            let joint = std::mem::take(&mut joint);
            if shown.is_empty() {
                let has_blank = out.ends_with(' ');
                out.truncate(out.len() - usize::from(has_blank));
                fell = has_blank || fell && !joint.is_empty();
            } else {
                // The blank that fell out stands before what is joined, too.
                let before = match (joint, is_there) {
                    ("", _) => "",
                    (joint, true) => joint,
                    (_, false) if fell => " ",
                    _ => "",
                };
                out.push_str(before);
                out.push_str(&shown);
            }
            is_there = !shown.is_empty();
        }
        match out.trim() {
            trimmed if trimmed.len() == out.len() => out,
            trimmed => trimmed.to_owned(),
        }
    }
}

/// A condition on a recorded value: `http.response.status_code >= 500`, `!error`, `db.operation.name != 'hello'`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition<'t> {
    pub name: &'t str,
    test: Test<'t>,
}

#[derive(Clone, Debug, PartialEq)]
enum Test<'t> {
    /// The value is there, and neither null, false, 0 nor empty.
    Is,
    IsNot,
    Compare(Operator, Constant<'t>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    AtLeast,
    AtMost,
    Above,
    Below,
}

/// The words for operators: longer ones first.
const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    (">=", Operator::AtLeast),
    ("<=", Operator::AtMost),
    (">", Operator::Above),
    ("<", Operator::Below),
];

#[derive(Clone, Debug, PartialEq)]
enum Constant<'t> {
    Null,
    Boolean(bool),
    Number(f64),
    Text(&'t str),
}

impl<'t> Condition<'t> {
    /// Reads a condition; an error says what is expected.
    pub fn parse(text: &'t str) -> Result<Condition<'t>, &'static str> {
        let is_name = |name: &str| {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
            !name.is_empty() && name.chars().all(is_part)
        };
        let text = text.trim();
        let behind = |at: usize, word: &str| (text[..at].trim(), text[at + word.len()..].trim());
        let first = (OPERATORS.iter())
            .filter_map(|&(word, operator)| Some((text.find(word)?, word, operator)))
            .min_by_key(|&(at, word, _)| (at, std::cmp::Reverse(word.len())));
        let (name, test) = match first {
            Some((at, word, operator)) => {
                let (name, constant) = behind(at, word);
                (name, Test::Compare(operator, Constant::parse(constant)?))
            }
            None => match text.strip_prefix('!') {
                Some(name) => (name.trim(), Test::IsNot),
                None => (text, Test::Is),
            },
        };
        match is_name(name) {
            true => Ok(Condition { name, test }),
            false => Err("expected the name of a recorded value, an operator and a constant"),
        }
    }

    /// Whether it holds, where the value is this.
    pub fn holds(&self, value: Option<Scalar<'_>>) -> bool {
        let value = value.unwrap_or(Scalar::Null);
        match &self.test {
            Test::Is => value.is_true(),
            Test::IsNot => !value.is_true(),
            Test::Compare(operator, constant) => match (value, constant) {
                (Scalar::Number(n), Constant::Number(constant)) => {
                    operator.holds(n.partial_cmp(constant))
                }
                (Scalar::Text(text), Constant::Text(constant)) => {
                    operator.holds(Some(text.cmp(constant)))
                }
                (Scalar::Boolean(yes), Constant::Boolean(constant)) => {
                    operator.holds(Some(yes.cmp(constant)))
                }
                (Scalar::Null, Constant::Null) => operator.holds(Some(std::cmp::Ordering::Equal)),
                _ => *operator == Operator::NotEqual,
            },
        }
    }
}

impl Operator {
    fn holds(self, order: Option<std::cmp::Ordering>) -> bool {
        let Some(order) = order else {
            return self == Operator::NotEqual;
        };
        match self {
            Operator::Equal => order.is_eq(),
            Operator::NotEqual => order.is_ne(),
            Operator::AtLeast => order.is_ge(),
            Operator::AtMost => order.is_le(),
            Operator::Above => order.is_gt(),
            Operator::Below => order.is_lt(),
        }
    }
}

impl<'t> Constant<'t> {
    fn parse(text: &'t str) -> Result<Constant<'t>, &'static str> {
        let quoted = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\''));
        match (text, quoted) {
            (_, Some(inside)) if !inside.contains('\'') => Ok(Constant::Text(inside)),
            ("null", _) => Ok(Constant::Null),
            ("true" | "false", _) => Ok(Constant::Boolean(text == "true")),
            _ => match text.parse::<f64>() {
                Ok(n) if n.is_finite() => Ok(Constant::Number(n)),
                _ => Err("expected a number, a text in single quotes, true, false or null"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<'v>(name: &str) -> Option<Scalar<'v>> {
        Some(match name {
            "http.request.method" => Scalar::Text("GET"),
            "http.response.status_code" => Scalar::Number(503.0),
            "empty" => Scalar::Text(""),
            "nothing" => Scalar::Null,
            "yes" => Scalar::Boolean(true),
            _ => return None,
        })
    }

    #[test]
    fn a_name_is_filled_with_values() {
        let fill = |text| Template::parse(text).unwrap().fill(value);
        assert_eq!(fill("{http.request.method} {http.route}"), "GET");
        assert_eq!(fill("{http.route} {http.request.method}"), "GET");
        assert_eq!(
            fill("{ http.request.method }:{http.response.status_code}"),
            "GET:503"
        );
        assert_eq!(fill("send {empty} {nothing}"), "send");
        assert_eq!(fill("{http.request.method} {empty}:{nothing}"), "GET");
        assert_eq!(fill("{http.request.method} {empty}:{yes}"), "GET true");
        assert_eq!(fill("{http.request.method}:{empty} {yes}"), "GET true");
        assert_eq!(fill("plain"), "plain");
        assert_eq!(Template::parse("a}"), Err("`}` closes nothing"));
        for open in ["{a", "{a{b}}", "x {"] {
            assert_eq!(Template::parse(open), Err("`{` is not closed"), "{open}");
        }
    }

    #[test]
    fn a_name_says_the_class_and_the_method() {
        let mut rule = SpanRule {
            name: "{class}.{method} {kind}".into(),
            ..SpanRule::default()
        };
        rule.mark("class");
        let recorded = Arc::new(rule.clone()).of_method("shop/Work$Inner", "tick");
        assert_eq!(&*recorded.name, "Work$Inner.{method} {kind}");
        rule.mark("method");
        let named = Arc::new(rule).of_method("Shop.Work", "Tick");
        assert_eq!(&*named.name, "Work.Tick {kind}");
    }

    #[test]
    fn conditions_compare_a_value_with_a_constant() {
        let holds = |text: &str| {
            let condition = Condition::parse(text).unwrap();
            condition.holds(value(condition.name))
        };
        for yes in [
            "http.response.status_code >= 500",
            "http.response.status_code>502.5",
            "http.response.status_code != 200",
            "http.request.method == 'GET'",
            "http.request.method != 'hello'",
            "yes",
            "yes == true",
            "!missing",
            "!empty",
            "nothing == null",
            "missing == null",
            "missing != 'x'",
            "http.request.method < 'H'",
        ] {
            assert!(holds(yes), "{yes}");
        }
        for no in [
            "http.response.status_code < 500",
            "http.request.method == 'POST'",
            "http.request.method >= 3",
            "missing",
            "missing >= 500",
            "!yes",
            "nothing != null",
        ] {
            assert!(!holds(no), "{no}");
        }
        for wrong in [
            "",
            "!",
            "a ==",
            "a == b",
            "a b",
            "== 5",
            "a == 'it''s'",
            "a == NaN",
            "a => 5",
        ] {
            assert!(Condition::parse(wrong).is_err(), "{wrong}");
        }
    }
}
