//! Makes rules from settings of other tools. It reports, by line, what no rule can say.

mod aspectj;
mod btrace;
mod datadog;
mod draft;
mod methods;
mod pointcut;
mod xml;
mod yaml;

use crate::error::{Error, Kind, Result};
use draft::Draft;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Datadog's `integrations.json` of .NET.
    Datadog,
    /// AspectJ's `aop.xml`.
    Aspectj,
    /// A script of btrace: Java with annotations.
    Btrace,
    /// A list of methods, `Type[method,method];..`, or settings that have one.
    Methods,
    /// OpenTelemetry's settings in YAML.
    OtelYaml,
}

impl Source {
    /// What a text looks like.
    pub fn of(text: &str) -> Source {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if text.starts_with(['[', '{']) {
            Source::Datadog
        } else if text.starts_with('<') {
            Source::Aspectj
        } else if text.contains("@OnMethod") || text.contains("@BTrace") {
            Source::Btrace
        } else if text.lines().any(yaml::is_instrumentation) {
            Source::OtelYaml
        } else {
            Source::Methods
        }
    }
}

/// Something that a rule says otherwise than its source, or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The line that it is about, from 1.
    pub line: u32,
    /// What.
    pub text: String,
    /// Whether something is missing from the rules.
    pub lost: bool,
}

/// The rules that a file became.
#[derive(Debug)]
pub struct Imported {
    /// A rules file.
    pub text: String,
    /// How many rules it has.
    pub rules: usize,
    /// What is to be known of it, by line.
    pub notes: Vec<Note>,
}

/// Drafts and notes while a source is read.
#[derive(Default)]
struct Sink {
    drafts: Vec<Draft>,
    notes: Vec<Note>,
}

impl Sink {
    /// Something is said otherwise.
    fn told(&mut self, line: u32, text: impl Into<String>) {
        self.note(line, text.into(), false);
    }

    /// Something cannot be said.
    fn lost(&mut self, line: u32, text: impl Into<String>) {
        self.note(line, text.into(), true);
    }

    fn note(&mut self, line: u32, text: String, lost: bool) {
        // A note is one line, also where the expression that it quotes has several.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.notes.push(Note { line, text, lost });
    }
}

/// Most bytes of a file that is read.
const MAX_BYTES: usize = 8 << 20;

/// Makes rules of a text; `name` is the file's. `with_values`: of calls without values of their own, rules record arguments and results.
pub fn import(name: &str, text: &str, source: Source, with_values: bool) -> Result<Imported> {
    if text.len() > MAX_BYTES {
        return Err(Error::new(Kind::Malformed, "larger than 8 MiB").in_artifact(name));
    }
    let text = text.trim_start_matches('\u{feff}');
    let mut sink = Sink::default();
    let read = match source {
        Source::Datadog => datadog::read(text, &mut sink),
        Source::Aspectj => aspectj::read(text, &mut sink),
        Source::Btrace => {
            btrace::read(text, &mut sink);
            Ok(())
        }
        Source::Methods => {
            methods::read(text, &mut sink);
            Ok(())
        }
        Source::OtelYaml => yaml::read(text, &mut sink),
    };
    read.map_err(|wrong| {
        let what = format!("line {}: {}", wrong.line, wrong.what);
        Error::new(Kind::Malformed, what).in_artifact(name)
    })?;
    if with_values {
        sink.drafts.iter_mut().for_each(Draft::record_values);
    }
    Ok(finish(name, sink))
}

/// What is not as its format says, and where.
#[derive(Debug)]
struct Wrong {
    line: u32,
    what: String,
}

fn finish(name: &str, mut sink: Sink) -> Imported {
    draft::name_apart(&mut sink.drafts);
    let mut text = format!("# Imported from {}.\nversion = 1\n", one_line(name));
    let mut rules = 0;
    for draft in &sink.drafts {
        match draft.written() {
            Ok(written) => {
                text.push_str(&written);
                rules += 1;
            }
            Err(why) => {
                let text = format!("`{}` is no rule: {why}", draft.name);
                sink.notes.push(Note {
                    line: draft.line,
                    text,
                    lost: true,
                });
            }
        }
    }
    if rules == 0 && sink.notes.iter().all(|note| !note.lost) {
        sink.lost(1, "the file names no method");
    }
    sink.notes.sort_by_key(|note| note.line);
    sink.notes.dedup();
    Imported {
        text,
        rules,
        notes: sink.notes,
    }
}

fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(memchr::memchr_iter(b'\n', text.as_bytes()).collect())
    }

    /// The line of a place, from 1.
    fn at(&self, offset: usize) -> u32 {
        let before = self.0.partition_point(|&end| end < offset);
        u32::try_from(before + 1).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests;
