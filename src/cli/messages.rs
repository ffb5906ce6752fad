//! Warnings and errors for people, and for the tools that run this program.

use crate::cli::show;
use crate::error::{Error, Kind, Place};
use crate::pipeline::{Outcome, Warning, WarningKind};
use crate::printable::printable;
use rustc_hash::FxHashMap;
use std::fmt::Write as _;

/// How warnings and errors are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum MessageFormat {
    /// For people, with the lines of the rules file
    #[default]
    Human,
    /// A JSON object a line: severity, code, message, and file, line and column where there are any
    Json,
    /// As MSBuild and its IDEs read it: weave.toml(12,9): error WV0003: ..
    Msbuild,
}

/// A rules file is wrong.
const RULES: &str = "WV0003";
/// `--strict`: nothing was written.
const REFUSED: &str = "WV0008";
/// An aspect matches nothing.
const IDLE: &str = "WV0120";
/// A method that matches a rule is left as it was.
const LEFT: &str = "WV0121";

/// What one line says.
struct Message<'a> {
    severity: &'static str,
    code: &'static str,
    place: Option<&'a Place>,
    aspect: Option<&'a str>,
    text: String,
}

impl Message<'_> {
    fn write(&self, format: MessageFormat) -> String {
        // Each is one line, whatever a name of the input has in it.
        let text = printable(&self.text);
        // Packs are no files.
        let place = self.place.filter(|place| !place.file.starts_with("pack:"));
        let mut out = String::new();
        if format == MessageFormat::Json {
            let mut value = serde_json::json!({ "severity": self.severity, "code": self.code });
            if let Some(Place { file, line, column }) = place {
                value["file"] = file.as_str().into();
                value["line"] = (*line).into();
                value["column"] = (*column).into();
            }
            if let Some(aspect) = self.aspect {
                value["aspect"] = aspect.into();
            }
            value["message"] = text.into();
            let _ = writeln!(out, "{value}");
            return out;
        }
        let _ = match place {
            Some(Place { file, line, column }) => {
                write!(out, "{}({line},{column})", printable(file))
            }
            None => write!(out, "weave"),
        };
        let (severity, code) = (self.severity, self.code);
        let separator = if place.is_some() { ":" } else { " :" };
        let _ = writeln!(out, "{separator} {severity} {code}: {text}");
        out
    }
}

fn code_of_error(kind: Kind) -> &'static str {
    match kind {
        Kind::Usage => "WV0001",
        Kind::Malformed => "WV0004",
        Kind::Unsupported => "WV0005",
        Kind::Io => "WV0006",
        Kind::NotDone => "WV0007",
    }
}

fn code_of_warning(kind: WarningKind) -> &'static str {
    match kind {
        WarningKind::Unreadable => "WV0101",
        WarningKind::SignatureRemoved => "WV0102",
        WarningKind::ProfileDropped => "WV0103",
        WarningKind::LibraryMissing => "WV0104",
        WarningKind::NativeCodeDropped => "WV0105",
        WarningKind::DebuggingDropped => "WV0106",
        WarningKind::NotCopied => "WV0107",
        WarningKind::TailCallsDropped => "WV0108",
        WarningKind::NotWoven => "WV0109",
        WarningKind::NotCached => "WV0110",
        WarningKind::IdsCollide => "WV0111",
        WarningKind::BuildTool => "WV0112",
        WarningKind::NothingTaken => "WV0113",
        WarningKind::LinkFollowed => "WV0115",
        WarningKind::StructsUnknown => "WV0114",
        WarningKind::InVain => "WV0116",
        WarningKind::LibraryUnsigned => "WV0117",
    }
}

/// An error, as it goes to standard error.
pub fn error(e: &Error, format: MessageFormat) -> String {
    if format == MessageFormat::Human {
        return format!("error: {e}\n");
    }
    let message = |code, place, text| Message {
        severity: "error",
        code,
        place,
        aspect: None,
        text,
    };
    if e.findings().is_empty() {
        return message(code_of_error(e.kind()), None, e.to_string()).write(format);
    }
    (e.findings().iter())
        .map(|f| message(RULES, Some(&f.place), f.message.clone()).write(format))
        .collect()
}

/// How many artifacts are named where one warning is about many.
const NAMED: usize = 3;

/// Warnings in their order; what is said of several artifacts is said once.
fn gathered(warnings: &[Warning]) -> Vec<(WarningKind, String)> {
    let mut groups: Vec<(WarningKind, &str, Vec<&str>)> = vec![];
    let mut places: FxHashMap<(&str, &str), usize> = FxHashMap::default();
    for warning in warnings {
        let (artifact, what) = (warning.text.split_once(": ")).unwrap_or(("", &warning.text));
        let place = *places
            .entry((warning.kind.code(), what))
            .or_insert_with(|| {
                groups.push((warning.kind, what, vec![]));
                groups.len() - 1
            });
        groups[place].2.push(artifact);
    }
    let mut out = vec![];
    for (kind, what, artifacts) in groups {
        let named = artifacts.len().min(NAMED);
        let first = artifacts[..named].join(", ");
        let more = match artifacts.len() - named {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        out.push(match first.is_empty() {
            true => (kind, what.to_owned()),
            false => (kind, format!("{first}{more}: {what}")),
        });
    }
    out
}

/// All warnings of a job for tools, and why nothing was written.
pub fn warnings(outcome: &Outcome, format: MessageFormat) -> String {
    let mut out = String::new();
    let mut tell = |severity, code, place, aspect, text| {
        out += &Message {
            severity,
            code,
            place,
            aspect,
            text,
        }
        .write(format);
    };
    let texts = match format {
        MessageFormat::Msbuild => gathered(&outcome.warnings),
        MessageFormat::Human | MessageFormat::Json => (outcome.warnings.iter())
            .map(|w| (w.kind, w.text.clone()))
            .collect(),
    };
    for (kind, text) in texts {
        // It is as it should be; a build that makes errors of warnings must not fail for it.
        let severity = match kind {
            WarningKind::BuildTool | WarningKind::NothingTaken => "message",
            _ => "warning",
        };
        tell(severity, code_of_warning(kind), None, None, text);
    }
    for left in &outcome.failures {
        tell("warning", LEFT, None, None, show::left(left));
    }
    for idle in &outcome.idle {
        let aspect = Some(idle.aspect.as_str());
        tell("warning", IDLE, Some(&idle.place), aspect, show::idle(idle));
    }
    if outcome.refused {
        let text = "not everything could be woven (--strict): nothing was written".to_owned();
        tell("error", REFUSED, None, None, text);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{MessageFormat, warnings};
    use crate::pipeline::{Outcome, WarningKind};

    #[test]
    fn what_is_said_of_many_is_said_once() {
        let mut outcome = Outcome::default();
        for name in ["a.dll", "b.dll", "c.dll", "d.dll", "e.dll"] {
            outcome.warn(
                WarningKind::SignatureRemoved,
                format!("{name}: its strong name goes"),
            );
        }
        outcome.warn(WarningKind::DebuggingDropped, "a.dll: no PDB");
        outcome.warn(WarningKind::BuildTool, "f.dll is left");
        let text = warnings(&outcome, MessageFormat::Msbuild);
        let expected = "weave : warning WV0102: a.dll, b.dll, c.dll and 2 more: its strong name goes\n\
                        weave : warning WV0106: a.dll: no PDB\nweave : message WV0112: f.dll is left\n";
        assert_eq!(text, expected);
        assert_eq!(warnings(&outcome, MessageFormat::Json).lines().count(), 7);
    }
}
