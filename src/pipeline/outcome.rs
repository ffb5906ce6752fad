//! What came of a job, for the command line and for programs.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::pointcut::Idle;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What came of a job.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Methods that got hooks.
    pub methods: u64,
    /// Classes that were changed.
    pub classes: u64,
    /// Artifacts (class files, jars, nested jars) that hold woven classes.
    pub artifacts: u64,
    /// How many methods were meant but left as they were, by reason.
    pub left: BTreeMap<Reason, u64>,
    /// The methods left that `--strict` makes a failure, one by one.
    pub failures: Vec<Left>,
    /// Class by class what is woven and what is not; only when the job explains.
    pub explained: Vec<ClassPlan>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
    /// Aspects that put a hook nowhere, and why.
    pub idle: Vec<Idle>,
    /// Nothing was written, because the job is strict and not everything could be woven.
    pub refused: bool,
    /// Where the result is, if anything was written.
    pub output: Option<PathBuf>,
    /// Where the symbols map is, if there is one.
    pub symbols: Option<PathBuf>,
}

/// A method that a rule means and that was left as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The artifact (`app.jar!/lib/core.jar`).
    pub artifact: String,
    /// The type in its format's spelling.
    pub type_name: String,
    /// Name and descriptor.
    pub method: String,
    /// Why.
    pub reason: Reason,
}

/// What a job does with one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassPlan {
    /// The artifact (`app.jar!/lib/core.jar`).
    pub artifact: String,
    /// The type in its format's spelling.
    pub type_name: String,
    /// Name and descriptor of each method woven, with its id and advice.
    pub woven: Vec<(String, u32, Advice)>,
    /// Name and descriptor of each method left, with the reason.
    pub left: Vec<(String, Reason)>,
}

/// What a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningKind {
    /// A member that says it is a class or jar cannot be read; it was copied.
    Unreadable,
    /// A signature no longer fits and was removed.
    SignatureRemoved,
    /// A baseline profile does not fit its dex files, and was left out.
    ProfileDropped,
    /// Dex files call the hook library, and lie where it cannot be laid beside them.
    LibraryMissing,
    /// Native code made ahead of time no longer fits and was dropped.
    NativeCodeDropped,
    /// Debugging information that cannot be kept was left out.
    DebuggingDropped,
    /// Something in a folder is neither woven nor copied.
    NotCopied,
    /// Tail calls became ordinary calls.
    TailCallsDropped,
    /// Something in a folder holds code that is not woven.
    NotWoven,
}

impl WarningKind {
    /// One word for programs.
    pub const fn code(self) -> &'static str {
        match self {
            WarningKind::Unreadable => "unreadable",
            WarningKind::SignatureRemoved => "signature-removed",
            WarningKind::ProfileDropped => "profile-dropped",
            WarningKind::LibraryMissing => "library-missing",
            WarningKind::NativeCodeDropped => "native-code-dropped",
            WarningKind::DebuggingDropped => "debugging-dropped",
            WarningKind::NotCopied => "not-copied",
            WarningKind::TailCallsDropped => "tail-calls-dropped",
            WarningKind::NotWoven => "not-woven",
        }
    }

    /// Whether `--strict` makes it a failure.
    pub const fn is_failure(self) -> bool {
        matches!(self, WarningKind::Unreadable | WarningKind::NotCopied)
    }
}

/// Something that the user should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What it is about.
    pub kind: WarningKind,
    /// The message, place included.
    pub text: String,
}

impl Outcome {
    /// Whether anything was woven.
    pub fn changed(&self) -> bool {
        self.methods > 0
    }

    /// Whether `--strict` makes this a failure.
    pub fn fails_strict(&self) -> bool {
        !self.failures.is_empty() || self.warnings.iter().any(|w| w.kind.is_failure())
    }

    pub(crate) fn warn(&mut self, kind: WarningKind, text: impl Into<String>) {
        self.warnings.push(Warning {
            kind,
            text: text.into(),
        });
    }
}
