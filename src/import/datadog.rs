//! Datadog's `integrations.json` of .NET, which OpenTelemetry and Elastic had, too: methods by assembly, version and signature.

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

/// The number that stands for any.
const ANY: u32 = 65535;

pub fn read(text: &str, sink: &mut Sink) -> Result<(), Wrong> {
    let whole = Whole {
        text,
        lines: Lines::of(text),
    };
    let all: Vec<&RawValue> = whole.parse(text)?;
    for item in all {
        let integration: Integration = whole.parse(item.get())?;
        let line = whole.place(item.get());
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
                sink.told(
                    line,
                    "`caller` is left out: the hook runs in the method, whoever calls it",
                );
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
    if !sink.drafts.is_empty() {
        sink.told(
            1,
            "the code of the wrappers stays behind: hooks record when methods begin and end",
        );
    }
    Ok(())
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
