//! Datadog's lists for .NET: methods by assembly, version and signature. `integrations.json`, which OpenTelemetry and Elastic had,
//! too, has tables of integrations; `supported_calltargets.g.json` of today's releases has one table a method.

use super::draft::{self, Draft, Table};
use super::{Lines, Sink, Wrong};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Integration<'a> {
    #[serde(default)]
    name: String,
    #[serde(borrow, default)]
    method_replacements: Vec<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Replacement {
    caller: BTreeMap<String, serde_json::Value>,
    target: Target,
    wrapper: Wrapper,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Wrapper {
    action: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Target {
    assembly: String,
    r#type: String,
    method: String,
    signature_types: Option<Vec<String>>,
    minimum_major: u32,
    minimum_minor: u32,
    minimum_patch: u32,
    maximum_major: Option<u32>,
    maximum_minor: Option<u32>,
    maximum_patch: Option<u32>,
}

/// A method of `supported_calltargets.g.json`.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct CallTarget {
    integration_name: String,
    assembly_name: String,
    target_type_name: Option<String>,
    target_method_name: String,
    target_return_type: Option<String>,
    target_parameter_types: Option<Vec<String>>,
    minimum_version: Version,
    maximum_version: Option<Version>,
    integration_kind: u32,
    instrumentation_category: Option<u32>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Version {
    #[serde(rename = "Item1")]
    major: u32,
    #[serde(rename = "Item2")]
    minor: u32,
    #[serde(rename = "Item3")]
    patch: u32,
}

/// Kinds of a call target: the type itself, types that derive from it, types that implement it.
const KIND_ITSELF: u32 = 0;
const KIND_DERIVED: u32 = 1;
const KIND_INTERFACE: u32 = 2;

/// The category of call targets that make spans; the others are for security.
const TRACING: u32 = 1;

/// The number that stands for any.
const ANY: u32 = 65535;

pub fn read(text: &str, sink: &mut Sink) -> Result<(), Wrong> {
    let whole = Whole {
        text,
        lines: Lines::of(text),
    };
    let all: Vec<&RawValue> = whole.parse(text)?;
    let mut call_targets = CallTargets::default();
    for item in all {
        let line = whole.place(item.get());
        let target: Result<CallTarget, _> = serde_json::from_str(item.get());
        if let Ok(target) = target
            && target.target_type_name.is_some()
        {
            call_targets.add(target, line, sink);
            continue;
        }
        let integration: Integration = whole.parse(item.get())?;
        let mut draft = Draft {
            name: integration.name,
            line,
            ..Draft::default()
        };
        let mut starts = Draft {
            name: format!("{} (start)", draft.name),
            advice: vec!["enter"],
            ..draft.clone()
        };
        for raw in integration.method_replacements {
            let line = whole.place(raw.get());
            let replacement: Replacement = whole.parse(raw.get())?;
            let Some(table) = table(&replacement.target, line, sink) else {
                continue;
            };
            if !replacement.caller.is_empty() {
                let Target { r#type, method, .. } = &replacement.target;
                let text = format!(
                    "`caller` of `{type}.{method}`: the hook runs in the method, whoever calls it"
                );
                sink.lost(line, text);
            }
            if let Some(why) = draft::unreadable(&table) {
                let target = &replacement.target;
                let text = format!("`{}.{}` is no rule: {why}", target.r#type, target.method);
                sink.lost(line, text);
                continue;
            }
            let to = match replacement.wrapper.action.as_str() {
                "InsertFirst" => &mut starts.matches,
                _ => &mut draft.matches,
            };
            if to.last() != Some(&table) {
                to.push(table);
            }
        }
        for draft in [draft, starts] {
            if !draft.matches.is_empty() {
                sink.drafts.push(draft);
            }
        }
    }
    call_targets.finish(sink);
    if !sink.drafts.is_empty() {
        sink.told(
            1,
            "the wrappers' code is not imported: calls are recorded, with --values also arguments and results",
        );
    }
    Ok(())
}

/// The rules of call targets: one for each integration, and one for its targets that serve security only.
#[derive(Default)]
struct CallTargets {
    drafts: Vec<Draft>,
    /// The place of a draft by the integration's name and whether it makes spans.
    places: BTreeMap<(String, bool), usize>,
    /// How many targets are base types.
    bases: usize,
    /// How many are there again.
    again: usize,
}

impl CallTargets {
    fn add(&mut self, target: CallTarget, line: u32, sink: &mut Sink) {
        let kind = target.integration_kind;
        let name = target.integration_name;
        let category = target.instrumentation_category;
        let traces = category.is_none_or(|category| category & TRACING != 0);
        let mut types = vec![target.target_return_type.unwrap_or_else(|| "_".to_owned())];
        types.extend(target.target_parameter_types.iter().flatten().cloned());
        let most = target.maximum_version;
        let target = Target {
            assembly: target.assembly_name,
            r#type: target.target_type_name.unwrap_or_default(),
            method: target.target_method_name,
            signature_types: target.target_parameter_types.map(|_| types),
            minimum_major: target.minimum_version.major,
            minimum_minor: target.minimum_version.minor,
            minimum_patch: target.minimum_version.patch,
            maximum_major: most.as_ref().map(|most| most.major),
            maximum_minor: most.as_ref().map(|most| most.minor),
            maximum_patch: most.as_ref().map(|most| most.patch),
        };
        let of = format!("`{}.{}`", target.r#type, target.method);
        let Some(mut table) = table(&target, line, sink) else {
            return;
        };
        match kind {
            KIND_ITSELF => {}
            KIND_DERIVED | KIND_INTERFACE => {
                self.bases += 1;
                table = of_subtypes(table);
            }
            other => {
                sink.lost(line, format!("{of}: the kind {other} is not known"));
                return;
            }
        }
        if let Some(why) = draft::unreadable(&table) {
            sink.lost(line, format!("{of} is no rule: {why}"));
            return;
        }
        let title = match traces {
            true => name.clone(),
            false => format!("{name} (security)"),
        };
        let place = *self.places.entry((name, traces)).or_insert_with(|| {
            self.drafts.push(Draft {
                name: title,
                line,
                ..Draft::default()
            });
            self.drafts.len() - 1
        });
        let matches = &mut self.drafts[place].matches;
        match matches.contains(&table) {
            true => self.again += 1,
            false => matches.push(table),
        }
    }

    fn finish(self, sink: &mut Sink) {
        if self.bases > 0 {
            let text = format!(
                "{} of the methods are those of subtypes, in whatever assembly: assembly and versions, which are the base type's, are left out",
                self.bases
            );
            sink.told(1, text);
        }
        if self.again > 0 {
            sink.told(1, format!("{} of the methods are there twice", self.again));
        }
        if self.places.keys().any(|(_, traces)| !traces) {
            sink.told(1, "what is for security alone is a rule of its own");
        }
        sink.drafts.extend(self.drafts);
    }
}

/// The table of a type's method for the types that derive from it or implement it.
fn of_subtypes(table: Table) -> Table {
    let entries = table.0.into_iter();
    let kept = entries.filter(|(key, _)| !["artifact", "version"].contains(key));
    let renamed = kept.map(|(key, value)| match key {
        "type" => ("extends", value),
        key => (key, value),
    });
    Table(renamed.collect())
}

/// The text, of which parts are read by themselves.
struct Whole<'a> {
    text: &'a str,
    lines: Lines,
}

impl Whole<'_> {
    fn parse<'a, T: Deserialize<'a>>(&self, part: &'a str) -> Result<T, Wrong> {
        serde_json::from_str(part).map_err(|e| {
            let line = u32::try_from(e.line()).unwrap_or(u32::MAX).max(1);
            let told = e.to_string();
            Wrong {
                line: (self.place(part) - 1).saturating_add(line),
                what: told.split(" at line ").next().unwrap_or(&told).to_owned(),
            }
        })
    }

    /// The line on which a part of the text begins.
    fn place(&self, part: &str) -> u32 {
        let offset = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        self.lines.at(offset)
    }
}

fn table(target: &Target, line: u32, sink: &mut Sink) -> Option<Table> {
    if target.r#type.is_empty() || target.method.is_empty() {
        sink.lost(line, "a target without type or method");
        return None;
    }
    let mut table = Table::default();
    if !target.assembly.is_empty() {
        table = table.with("artifact", &target.assembly);
    }
    if let Some(range) = range(target) {
        table = table.with("version", range);
    }
    table = table
        .with("type", &target.r#type)
        .with("method", &target.method);
    if let Some([returns, params @ ..]) = target.signature_types.as_deref() {
        let returns = type_name(returns);
        if returns != "*" {
            table = table.with("returns", returns);
        }
        table = table.with_list("params", params.iter().map(|p| type_name(p)).collect());
    }
    Some(table)
}

/// The range of versions; none if all are meant.
fn range(target: &Target) -> Option<String> {
    let mut bounds = Vec::new();
    let least = [
        target.minimum_major,
        target.minimum_minor,
        target.minimum_patch,
    ];
    if least != [0, 0, 0] {
        bounds.push(format!(">={}", least.map(|n| n.to_string()).join(".")));
    }
    let most = [
        target.maximum_major,
        target.maximum_minor,
        target.maximum_patch,
    ]
    .map(|n| n.unwrap_or(ANY));
    bounds.extend(match most {
        [major, ..] if major >= ANY => None,
        [major, minor, _] if minor >= ANY => Some(format!("<{}", major + 1)),
        [major, minor, patch] if patch >= ANY => Some(format!("<{major}.{}", minor + 1)),
        all => Some(format!("<={}", all.map(|n| n.to_string()).join("."))),
    });
    (!bounds.is_empty()).then(|| bounds.join(", "))
}

/// A type as signatures write it: `_` and type parameters stand for any, type arguments may be in brackets, and a number of
/// parameters is left out before them.
pub fn type_name(name: &str) -> String {
    let name = &with_angles(name.trim());
    if is_any(name) {
        return "*".to_owned();
    }
    let mut out = String::new();
    let mut rest = name.as_str();
    while let Some(c) = rest.chars().next() {
        let begins = out.is_empty() || out.ends_with(['<', ',', ' ']);
        let word = rest.find(['<', '>', ',', '[', '&']).unwrap_or(rest.len());
        if begins && is_any(rest[..word].trim()) {
            out.push_str("**");
            rest = &rest[word..];
        } else if c == '`' {
            let digits = rest[1..].find(|c: char| !c.is_ascii_digit());
            let end = digits.map_or(rest.len(), |n| n + 1);
            if rest[end..].starts_with(['<', '[']) {
                rest = &rest[end..];
            } else {
                out.push_str(&rest[..end]);
                rest = &rest[end..];
            }
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Whether a name stands for any type: `_`, `!!0`, `T`, `TKey`.
fn is_any(name: &str) -> bool {
    let parameter = |rest: &str| {
        let plain = rest.chars().all(char::is_alphanumeric);
        plain && !rest.starts_with(|c: char| !c.is_uppercase())
    };
    name == "_" || name.starts_with('!') || name.strip_prefix('T').is_some_and(parameter)
}

/// `List[A]` as `List<A>`; the brackets of arrays stay.
fn with_angles(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut array = Vec::new();
    for (at, c) in name.char_indices() {
        out.push(match c {
            '[' => {
                let inner = name[at + 1..].trim_start_matches([',', ' ']);
                array.push(inner.starts_with(']'));
                if array.last() == Some(&true) {
                    '['
                } else {
                    '<'
                }
            }
            ']' if array.pop() == Some(false) => '>',
            c => c,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_signatures_become_patterns() {
        for (from, to) in [
            ("System.String", "System.String"),
            ("_", "*"),
            ("!!0", "*"),
            (
                "System.Threading.Tasks.Task`1<System.Int32>",
                "System.Threading.Tasks.Task<System.Int32>",
            ),
            ("A.Task`1<_>", "A.Task<**>"),
            ("A.Map`2<_,!0>", "A.Map<**,**>"),
            ("A.List`1", "A.List`1"),
            ("System.Byte[]", "System.Byte[]"),
            ("System.Byte[,][]", "System.Byte[,][]"),
            ("A.Map`2[A.List`1[!0],B[]]", "A.Map<A.List<**>,B[]>"),
            ("T", "*"),
            ("A.Task`1<TResult>", "A.Task<**>"),
            ("Task", "Task"),
        ] {
            assert_eq!(type_name(from), to);
        }
    }
}
