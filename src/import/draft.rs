//! A rule while it is put together, and how it is written.

use crate::aspect::rules::Rules;
use std::collections::{BTreeMap, BTreeSet};

/// What follows a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// One pattern.
    One(String),
    /// Any of several, or all elements of a parameter list.
    List(Vec<String>),
}

/// One table of `match` or `exclude`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table(pub Vec<(&'static str, Value)>);

impl Table {
    /// A table with one key.
    pub fn of(key: &'static str, pattern: impl Into<String>) -> Table {
        Table(vec![(key, Value::One(pattern.into()))])
    }

    /// Adds a key.
    pub fn with(mut self, key: &'static str, pattern: impl Into<String>) -> Table {
        self.0.push((key, Value::One(pattern.into())));
        self
    }

    /// Adds a key with a list.
    pub fn with_list(mut self, key: &'static str, patterns: Vec<String>) -> Table {
        self.0.push((key, Value::List(patterns)));
        self
    }

    /// What follows a key, if it is there.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let mut entries = self.0.iter();
        entries.find_map(|(own, value)| (*own == key).then_some(value))
    }

    /// Whether it has a key.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    fn render(&self) -> String {
        let entries: Vec<_> = self
            .0
            .iter()
            .map(|(key, value)| format!("{key} = {}", value.render()))
            .collect();
        format!("{{ {} }}", entries.join(", "))
    }
}

impl Value {
    fn render(&self) -> String {
        match self {
            Value::One(text) => quoted(text),
            Value::List(all) => list(all),
        }
    }
}

/// What a rule is about in the methods that match: a key of `at`, and what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    pub kind: &'static str,
    pub what: What,
}

/// What follows the key of a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The members that it names.
    Table(Table),
    /// A type.
    Type(String),
    Line(u32),
    /// There is nothing to choose.
    Any,
}

impl Point {
    /// Calls of the methods of a table.
    pub fn call(table: Table) -> Point {
        Point {
            kind: "call",
            what: What::Table(table),
        }
    }

    /// Whether it is about calls, which can be recorded; others have hooks alone.
    pub fn is_call(&self) -> bool {
        self.kind == "call"
    }

    fn render(&self) -> String {
        let what = match &self.what {
            What::Table(table) => table.render(),
            What::Type(pattern) => quoted(pattern),
            What::Line(line) => line.to_string(),
            What::Any => "true".to_owned(),
        };
        format!("{{ {} = {what} }}", self.kind)
    }
}

/// A rule.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// Its name; another one if it is taken.
    pub name: String,
    /// The line that it comes from.
    pub line: u32,
    /// Any of these must hold. None take every method.
    pub matches: Vec<Table>,
    /// None of these may.
    pub excludes: Vec<Table>,
    /// The points that it is about, in the methods that match.
    pub at: Option<Point>,
    /// When calls are recorded; always if nothing is said.
    pub advice: Vec<&'static str>,
    /// Calls are recorded whole, and can be switched.
    pub level: Option<&'static str>,
    /// Which of the outermost calls are recorded.
    pub sample: Option<String>,
    /// Values that are recorded.
    pub record: Vec<String>,
    /// Hooks of one's own, by their keys.
    pub hooks: Vec<(&'static str, String)>,
}

impl Draft {
    /// Lets a rule that only records calls record their arguments and results, too, as far as methods have them.
    pub fn record_values(&mut self) {
        if !self.record.is_empty() || !self.hooks.is_empty() {
            return;
        }
        let runs = |advice| self.advice.is_empty() || self.advice.contains(&advice);
        if runs("enter") {
            self.record.push("args?".to_owned());
        }
        if runs("exit") {
            self.record.push("result?".to_owned());
        }
    }

    /// The rule as TOML, or why it is none.
    pub fn written(&self) -> Result<String, String> {
        let written = self.render();
        match Rules::parse("", &format!("version = 1\n{written}")) {
            Ok(_) => Ok(written),
            Err(e) => Err(e.message().lines().next().unwrap_or_default().to_owned()),
        }
    }

    /// The rule as TOML.
    pub fn render(&self) -> String {
        let mut out = format!(
            "\n# Line {}\n[[aspect]]\nname = {}\n",
            self.line,
            quoted(&self.name)
        );
        if let Some(point) = &self.at {
            out.push_str(&format!("at = {}\n", point.render()));
        }
        match (&self.matches[..], &self.at) {
            ([], None) => tables(&mut out, "match", &[Table::of("type", "**")]),
            ([], Some(_)) => {}
            (matches, _) => tables(&mut out, "match", matches),
        }
        if !self.excludes.is_empty() {
            tables(&mut out, "exclude", &self.excludes);
        }
        if let Some(level) = self.level {
            out.push_str(&format!("level = {}\n", quoted(level)));
        }
        if let Some(sample) = &self.sample {
            out.push_str(&format!("sample = {}\n", quoted(sample)));
        }
        // Calls are recorded only where the rule says so.
        let says_nothing = self.record.is_empty() && self.hooks.is_empty();
        if !self.advice.is_empty() {
            out.push_str(&format!("advice = {}\n", list(&self.advice)));
        } else if self.at.is_some() && says_nothing {
            out.push_str(&format!(
                "advice = {}\n",
                list(&["enter", "exit", "exception"])
            ));
        }
        for (key, call) in &self.hooks {
            out.push_str(&format!("{key} = {}\n", quoted(call)));
        }
        if !self.record.is_empty() {
            out.push_str(&format!("record = {}\n", list(&self.record)));
        }
        out
    }
}

/// Why a table is no rule's.
pub fn unreadable(table: &Table) -> Option<String> {
    let draft = Draft {
        name: "one".to_owned(),
        matches: vec![table.clone()],
        ..Draft::default()
    };
    draft.written().err()
}

fn tables(out: &mut String, key: &str, tables: &[Table]) {
    match tables {
        [one] => out.push_str(&format!("{key} = {}\n", one.render())),
        several => {
            out.push_str(&format!("{key} = [\n"));
            for table in several {
                out.push_str(&format!("    {},\n", table.render()));
            }
            out.push_str("]\n");
        }
    }
}

/// A TOML array of strings.
fn list(all: &[impl AsRef<str>]) -> String {
    let all: Vec<_> = all.iter().map(|text| quoted(text.as_ref())).collect();
    format!("[{}]", all.join(", "))
}

/// A TOML string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Gives each rule a name of its own.
pub fn name_apart(drafts: &mut [Draft]) {
    let mut taken = BTreeSet::new();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for draft in drafts {
        if draft.name.trim().is_empty() {
            draft.name = format!("line {}", draft.line);
        }
        let mut name = draft.name.clone();
        while !taken.insert(name.clone()) {
            let number = numbers.entry(draft.name.clone()).or_insert(1);
            *number += 1;
            name = format!("{} {number}", draft.name);
        }
        draft.name = name;
    }
}
