//! The result of a job, for the command line and for programs.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::bind::call::ShownCall;
use crate::aspect::pointcut::Idle;
use crate::symbols::Symbols;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The result of a job.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Methods that got hooks.
    pub methods: u64,
    /// Calls that were redirected.
    #[serde(default)]
    pub calls: u64,
    /// Hooks at points of other kinds.
    pub points: u64,
    /// Classes that were changed.
    pub classes: u64,
    /// Artifacts (class files, jars, nested jars) that hold woven classes.
    pub artifacts: u64,
    /// Jars, apks and assemblies, woven or unchanged, that were taken from the cache.
    #[serde(skip)]
    pub cached: u64,
    /// How many methods matched a rule and were left unwoven, by reason.
    pub left: BTreeMap<Reason, u64>,
    /// The methods left that `--strict` makes a failure, one by one.
    pub failures: Vec<Left>,
    /// Class by class what is woven and what is not; only when the job explains.
    #[serde(skip)]
    pub explained: Vec<ClassPlan>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
    /// The names of all aspects, in the order of the rules.
    #[serde(skip)]
    pub aspects: Vec<String>,
    /// Aspects that put a hook nowhere, and why.
    #[serde(skip)]
    pub idle: Vec<Idle>,
    /// Nothing was written, because the job is strict and not everything could be woven.
    #[serde(skip)]
    pub refused: bool,
    /// Where the result is, if anything was written.
    #[serde(skip)]
    pub output: Option<PathBuf>,
    /// Where the symbols map is, if there is one.
    #[serde(skip)]
    pub symbols: Option<PathBuf>,
}

/// A method that matched a rule and was left unwoven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The methods woven.
    pub woven: Vec<WovenMethod>,
    /// The calls that are redirected.
    pub calls: Vec<RedirectedCall>,
    /// The methods that some rule matches and that are left.
    pub left: Vec<LeftMethod>,
}

/// A method that a job weaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WovenMethod {
    /// Name and descriptor.
    pub method: String,
    /// The id that its hooks are called with.
    pub id: u32,
    /// When hooks run.
    pub advice: Advice,
    /// The aspects that take it: places in [`Outcome::aspects`].
    pub aspects: Vec<u32>,
    /// Its outermost calls begin traces.
    pub root: bool,
    /// Its own hooks, in the order in which they run.
    pub hooks: Vec<ShownCall>,
}

/// What a method calls instead of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectedCall {
    /// Name and descriptor of the method that calls.
    pub method: String,
    /// What it does to that: `calls`.
    pub does: &'static str,
    /// What it called: `java.io.File.delete()`.
    pub callee: String,
    /// In how many places.
    pub times: u64,
    /// It is a point of another kind than a call.
    pub at_point: bool,
    /// How it is recorded, if it is.
    pub recorded: Option<RecordedCall>,
    /// The hooks that are called instead or as well.
    pub hooks: Vec<ShownCall>,
}

/// How a call is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedCall {
    /// The id that the trace has.
    pub id: u32,
    /// When hooks run.
    pub advice: Advice,
}

/// A method that a job leaves as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftMethod {
    /// Name and descriptor.
    pub method: String,
    /// Why.
    pub reason: Reason,
    /// The aspects that match it: places in [`Outcome::aspects`].
    pub aspects: Vec<u32>,
}

/// What a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WarningKind {
    /// A member that says it is a class or jar cannot be read; it was copied.
    Unreadable,
    /// A signature no longer fits and was removed.
    SignatureRemoved,
    /// A baseline profile does not fit its dex files, and was left out.
    ProfileDropped,
    /// Code calls the hook library, or own hooks, which it will not see where they lie.
    LibraryMissing,
    /// Native code made ahead of time no longer fits and was dropped.
    NativeCodeDropped,
    /// Debugging information that cannot be kept was left out.
    DebuggingDropped,
    /// Something in a folder is neither woven nor copied.
    NotCopied,
    /// A link led out of the input folder, and was followed.
    LinkFollowed,
    /// Tail calls became ordinary calls.
    TailCallsDropped,
    /// Something in a folder holds code that is not woven.
    NotWoven,
    /// An id stands for two methods of artifacts that were woven apart.
    IdsCollide,
    /// A result could not be put into the cache.
    NotCached,
    /// The compiler or MSBuild loads an assembly, so it was left unwoven.
    BuildTool,
    /// No aspect takes a method of an artifact whose rules serve others, too.
    NothingTaken,
    /// Nothing says whether structs of other assemblies are ref structs, so values of them are left out.
    StructsUnknown,
    /// A word with `?` in a rule fits no method.
    InVain,
    /// A library of hooks has no strong name, and an assembly that calls it has one.
    LibraryUnsigned,
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
            WarningKind::LinkFollowed => "link-followed",
            WarningKind::TailCallsDropped => "tail-calls-dropped",
            WarningKind::NotWoven => "not-woven",
            WarningKind::IdsCollide => "ids-collide",
            WarningKind::NotCached => "not-cached",
            WarningKind::BuildTool => "build-tool",
            WarningKind::NothingTaken => "nothing-taken",
            WarningKind::StructsUnknown => "structs-unknown",
            WarningKind::InVain => "in-vain",
            WarningKind::LibraryUnsigned => "library-unsigned",
        }
    }

    /// Whether `--strict` makes it a failure.
    pub const fn is_failure(self) -> bool {
        matches!(self, WarningKind::Unreadable | WarningKind::NotCopied)
    }
}

/// Something that the user should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What it is about.
    pub kind: WarningKind,
    /// The message, place included.
    pub text: String,
}

impl Outcome {
    /// Whether anything was woven.
    pub fn changed(&self) -> bool {
        self.methods > 0 || self.calls > 0 || self.points > 0
    }

    /// Whether `--strict` makes this a failure.
    pub fn fails_strict(&self) -> bool {
        !self.failures.is_empty() || self.warnings.iter().any(|w| w.kind.is_failure())
    }

    /// Ids that maps of earlier weaves give to two methods each.
    pub(crate) fn warn_of_collisions(&mut self, earlier: &Symbols) {
        for collision in earlier.collisions() {
            let text = format!(
                "the id {:#010x} stands for {} and for {}, which were woven apart: traces show one for the other; weave both from their unwoven files in one folder, or one with --known-symbols and the other's map",
                collision.id,
                collision.kept.full_name(),
                collision.other.full_name()
            );
            self.warn(WarningKind::IdsCollide, text);
        }
    }

    /// Adds the result of one more artifact.
    pub(crate) fn add(&mut self, other: Outcome) {
        self.methods += other.methods;
        self.calls += other.calls;
        self.points += other.points;
        self.classes += other.classes;
        self.artifacts += other.artifacts;
        self.cached += other.cached;
        for (reason, n) in other.left {
            *self.left.entry(reason).or_default() += n;
        }
        self.failures.extend(other.failures);
        self.explained.extend(other.explained);
        self.warnings.extend(other.warnings);
    }

    pub(crate) fn warn(&mut self, kind: WarningKind, text: impl Into<String>) {
        self.warnings.push(Warning {
            kind,
            text: text.into(),
        });
    }
}
