//! Rules files: what to weave, as people write it. `docs/rules.md` is the reference.

mod diagnostics;
pub mod hook;
pub mod mask;
pub mod model;
mod parse;
mod words;

pub(crate) use diagnostics::Diagnostic;
pub(crate) use words::{nearest, nearest_name};

use crate::error::{Error, Result};
use model::{Aspect, Include, Library, SaidType, Source, Texts};
use parse::Parsed;
use std::sync::Arc;

/// The text that `weave init` writes.
pub const STARTER: &str = include_str!("../../../rules/starter.toml");

/// The same for .NET.
pub const STARTER_DOTNET: &str = include_str!("../../../rules/starter-dotnet.toml");

/// The JSON schema of rules files.
pub const SCHEMA: &str = include_str!("../../../rules/schema.json");

/// In front of a pack's name where a file's is expected: `--rules pack:all`.
pub const PACK_PREFIX: &str = "pack:";

/// The ready-made rules of `/rules`: name and text.
pub const PACKS: [(&str, &str); 15] = [
    ("default", include_str!("../../../rules/default.toml")),
    ("all", include_str!("../../../rules/all.toml")),
    ("public-api", include_str!("../../../rules/public-api.toml")),
    ("kotlin", include_str!("../../../rules/kotlin.toml")),
    ("context", include_str!("../../../rules/context.toml")),
    (
        "requests-jvm",
        include_str!("../../../rules/requests-jvm.toml"),
    ),
    ("logs-jvm", include_str!("../../../rules/logs-jvm.toml")),
    (
        "requests-net",
        include_str!("../../../rules/requests-net.toml"),
    ),
    ("redis-net", include_str!("../../../rules/redis-net.toml")),
    ("kafka-net", include_str!("../../../rules/kafka-net.toml")),
    ("logs-net", include_str!("../../../rules/logs-net.toml")),
    ("jdbc", include_str!("../../../rules/jdbc.toml")),
    ("adonet", include_str!("../../../rules/adonet.toml")),
    ("httpclient", include_str!("../../../rules/httpclient.toml")),
    ("http-net", include_str!("../../../rules/http-net.toml")),
];

/// Types of the platforms that chains go through, in the words of rules.
const PLATFORM: &str = include_str!("../../../rules/platform.toml");

/// One rules file, or several together. None match nothing.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Other rules that they name; whoever reads files adds them.
    pub includes: Vec<Include>,
    /// The aspects, in the order in which they are written.
    pub aspects: Vec<Aspect>,
    /// Where their own hooks are.
    pub libraries: Vec<Library>,
    /// What they say of types.
    pub types: Vec<SaidType>,
    /// What they leave out of all texts, each file that says something of it.
    pub texts: Vec<Texts>,
}

impl Rules {
    /// Parses a rules file; `source` names it in messages.
    pub fn parse(source: &str, text: &str) -> Result<Rules> {
        Rules::parse_coloured(source, text, false)
    }

    /// Parses a rules file; an error's text has colours if `colour` says so. The text holds every
    /// error of the file, each with line, column and caret; its first line reads on after
    /// `error: `.
    pub fn parse_coloured(source: &str, text: &str, colour: bool) -> Result<Rules> {
        match parse::parse(text) {
            Ok(Parsed {
                includes,
                mut aspects,
                mut libraries,
                types,
                texts,
            }) => {
                let file = Arc::new(Source {
                    name: source.to_owned(),
                    text: text.to_owned(),
                });
                for aspect in &mut aspects {
                    of_pack(aspect, source);
                    aspect.place = diagnostics::place(source, text, aspect.start);
                    if let Some(own) = &mut aspect.own {
                        let own = Arc::make_mut(own);
                        own.source = Arc::clone(&file);
                        if let Some(frame) = own.at.as_mut().and_then(|at| at.frame.as_mut()) {
                            frame.java.source = Arc::clone(&file);
                            frame.dotnet.source = Arc::clone(&file);
                        }
                    }
                }
                for library in &mut libraries {
                    library.place = diagnostics::place(source, text, library.span.start);
                }
                Ok(Rules {
                    includes,
                    aspects,
                    libraries,
                    types,
                    texts: texts.into_iter().collect(),
                })
            }
            Err(mut wrong) => {
                let message = diagnostics::render(source, text, &mut wrong, colour);
                let findings = diagnostics::findings(source, text, &wrong);
                Err(Error::usage(message).with_findings(findings))
            }
        }
    }

    /// An error about what a file includes, with the place where it says so.
    pub(crate) fn wrong_include(
        (source, text): (&str, &str),
        include: &Include,
        title: String,
        label: &str,
        colour: bool,
    ) -> Error {
        let mut wrong = [Diagnostic::new(include.span.clone(), title, label)];
        let message = diagnostics::render(source, text, &mut wrong, colour);
        Error::usage(message).with_findings(diagnostics::findings(source, text, &wrong))
    }

    /// An error about calls of hooks, found when they were bound: each with its place in the file that it stands in.
    pub(crate) fn error(source: &Source, mut wrong: Vec<Diagnostic>, colour: bool) -> Error {
        let Source { name, text } = source;
        let message = diagnostics::render(name, text, &mut wrong, colour);
        Error::usage(message).with_findings(diagnostics::findings(name, text, &wrong))
    }

    /// The built-in pack: every method that is not trivial.
    pub fn default_pack() -> Rules {
        Rules::pack("default").expect("a test parses every pack")
    }

    /// An embedded pack by its name, without `pack:`.
    pub fn pack(name: &str) -> Result<Rules> {
        let text = Rules::pack_text(name)?;
        Rules::parse(&format!("{PACK_PREFIX}{name}"), text)
    }

    /// The text of an embedded pack.
    pub fn pack_text(name: &str) -> Result<&'static str> {
        let Some((_, text)) = PACKS.iter().find(|(known, _)| *known == name) else {
            let known = PACKS.map(|(name, _)| name);
            let mut message = format!("no rules pack is named `{name}`");
            match words::nearest(name, &known, &[]) {
                Some(near) => message.push_str(&format!("; did you mean `{near}`?")),
                None => message.push_str(&format!("; there are {}", known.join(", "))),
            }
            return Err(Error::usage(message));
        };
        Ok(text)
    }

    /// What a pack is for: the first sentence of the comment at its head.
    pub fn about_pack(text: &str) -> String {
        let head = text.lines().map_while(|line| line.strip_prefix('#'));
        let words: Vec<&str> = head.flat_map(str::split_whitespace).collect();
        let all = words.join(" ");
        let end = all.find(". ").unwrap_or(all.len());
        all[..end].trim_end_matches('.').to_owned()
    }

    /// What is known of the platforms' types.
    pub fn platform_types() -> Vec<SaidType> {
        let parsed = parse::types_alone(PLATFORM);
        parsed.expect("a test parses it")
    }

    /// Adds the aspects of another file, whose includes were added before.
    pub fn extend(&mut self, other: Rules) {
        self.aspects.extend(other.aspects);
        self.libraries.extend(other.libraries);
        self.types.extend(other.types);
        for texts in other.texts {
            if !self.texts.contains(&texts) {
                self.texts.push(texts);
            }
        }
    }
}

#[cfg(test)]
mod tests;

/// Spans of a pack have its name as their scope.
fn of_pack(aspect: &mut Aspect, source: &str) {
    if !source.starts_with(PACK_PREFIX) {
        return;
    }
    let at = aspect.own.as_mut().filter(|own| own.at.is_some());
    let at = at.and_then(|own| Arc::make_mut(own).at.as_mut());
    let of_calls = at.and_then(|at| at.traced.as_mut());
    for rule in aspect.span.iter_mut().chain(of_calls) {
        Arc::make_mut(rule).scope = source.into();
    }
}
