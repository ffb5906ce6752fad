//! The one error type: what went wrong, and where in the user's input.
//!
//! An error starts where the bytes are read (kind, message, byte offset) and gains its
//! method, member and artifact on the way up. Messages are lowercase fragments.

use crate::printable::printable;
use std::fmt;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What an error means for the user; decides the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The input is not what it says it is (exit status 3).
    Malformed,
    /// The input is fine, but newer or stranger than this version handles (exit status 3).
    Unsupported,
    /// Wrong use of the command line, or wrong rules (exit status 2).
    Usage,
    /// The operating system refused (exit status 1).
    Io,
    /// Something that was asked for could not be done (exit status 1).
    NotDone,
}

/// A line of a text file that something is wrong with, or said of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// One of several things that an error is about, for programs that show them one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where.
    pub place: Place,
    /// What is wrong, in one line.
    pub message: String,
}

/// An error with the place it came from. One word wide.
pub struct Error(Box<Inner>);

struct Inner {
    kind: Kind,
    message: String,
    artifact: Option<String>,
    member: Option<String>,
    method: Option<String>,
    offset: Option<u64>,
    findings: Vec<Finding>,
}

impl Error {
    /// An error without a place.
    #[cold]
    pub fn new(kind: Kind, message: impl Into<String>) -> Error {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
            artifact: None,
            member: None,
            method: None,
            offset: None,
            findings: Vec::new(),
        }))
    }

    /// Malformed input at a byte offset of the member.
    #[cold]
    pub fn malformed(offset: usize, message: impl Into<String>) -> Error {
        let mut e = Error::new(Kind::Malformed, message);
        e.0.offset = Some(offset as u64);
        e
    }

    /// Wrong use.
    #[cold]
    pub fn usage(message: impl Into<String>) -> Error {
        Error::new(Kind::Usage, message)
    }

    /// An operating-system error, with what was being done ("read", "create") to which path.
    #[cold]
    pub fn io(what: &str, path: &std::path::Path, source: std::io::Error) -> Error {
        Error::new(
            Kind::Io,
            format!("cannot {what} {}: {source}", path.display()),
        )
    }

    /// Adds details, one by one.
    #[must_use]
    pub fn with_findings(mut self, findings: Vec<Finding>) -> Error {
        self.0.findings = findings;
        self
    }

    /// The details, if the error is about lines of a text file.
    pub fn findings(&self) -> &[Finding] {
        &self.0.findings
    }

    /// What the error means.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The message without its place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Counts the offset from further out: what was read lies `base` bytes into its surroundings.
    #[must_use]
    pub fn offset_by(mut self, base: usize) -> Error {
        self.0.offset = self.0.offset.map(|offset| offset + base as u64);
        self
    }

    /// The byte offset within the member, if known.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The artifact, if known.
    pub fn artifact(&self) -> Option<&str> {
        self.0.artifact.as_deref()
    }

    /// The member, if known; an outer container's in front.
    pub fn member(&self) -> Option<&str> {
        self.0.member.as_deref()
    }

    /// The method, if known.
    pub fn method(&self) -> Option<&str> {
        self.0.method.as_deref()
    }

    /// Adds the method, unless one is known already.
    #[must_use]
    pub fn in_method(mut self, method: impl Into<String>) -> Error {
        self.0.method.get_or_insert_with(|| method.into());
        self
    }

    /// Adds the member of the container; an outer container's member goes in front (`a.jar!/b`).
    #[must_use]
    pub fn in_member(mut self, member: &str) -> Error {
        self.0.member = Some(match self.0.member.take() {
            Some(inner) => format!("{member}!/{inner}"),
            None => member.to_owned(),
        });
        self
    }

    /// Adds the artifact (the input file), unless one is known already.
    #[must_use]
    pub fn in_artifact(mut self, artifact: impl Into<String>) -> Error {
        self.0.artifact.get_or_insert_with(|| artifact.into());
        self
    }

    /// The exit status of the command for this error.
    pub fn exit_status(&self) -> u8 {
        match self.0.kind {
            Kind::Io | Kind::NotDone => 1,
            Kind::Usage => 2,
            Kind::Malformed | Kind::Unsupported => 3,
        }
    }
}

/// What verification found in one artifact or member.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Types looked at.
    pub types: u64,
    /// Their methods.
    pub methods: u64,
    /// What does not hold.
    pub failures: Vec<Error>,
    /// Why the second reader does not judge the bytes, if there is one and it does not: it refuses some valid ones.
    pub unjudged: Option<String>,
}

#[cfg(test)]
impl Verdict {
    pub fn assert_sound(&self) {
        assert!(self.failures.is_empty(), "{:?}", self.failures);
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let e = &*self.0;
        if let Some(artifact) = &e.artifact {
            f.write_str(&printable(artifact))?;
            f.write_str(if e.member.is_some() { "!/" } else { ": " })?;
        }
        if let Some(member) = &e.member {
            write!(f, "{}: ", printable(member))?;
        }
        if let Some(method) = &e.method {
            write!(f, "{}: ", printable(method))?;
        }
        // What is about lines of a text file shows them, each on a line of its own.
        match e.findings.is_empty() {
            true => f.write_str(&printable(&e.message))?,
            false => f.write_str(&e.message)?,
        }
        if let Some(offset) = e.offset {
            write!(f, " (at byte {offset:#x})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_nest_from_the_inside_out() {
        let e = Error::malformed(0x1f, "truncated attribute")
            .in_method("run()V")
            .in_member("com/acme/A.class")
            .in_member("BOOT-INF/lib/a.jar")
            .in_artifact("app.jar");
        assert_eq!(
            e.to_string(),
            "app.jar!/BOOT-INF/lib/a.jar!/com/acme/A.class: run()V: truncated attribute (at byte 0x1f)"
        );
        assert_eq!(e.exit_status(), 3);
        let e = Error::malformed(1, "type a\x1b[2J\nerror: none")
            .in_method("\u{202e}run()V")
            .in_member("a\nb.class");
        assert_eq!(
            e.to_string(),
            "a\\nb.class: \\u{202e}run()V: type a\\u{1b}[2J\\nerror: none (at byte 0x1)"
        );
    }
}
