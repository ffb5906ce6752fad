//! The plan: which methods of one artifact get which advice and which id, and why others do not.

use crate::aspect::joinpoint::{Method, Type, Visitor};
use crate::aspect::pointcut::{ArtifactMatcher, TypeMatcher, Verdict};
use sha2::{Digest, Sha256};
use std::fmt;

/// When hooks run; a set of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Advice(pub u8);

impl Advice {
    /// At the start of the body.
    pub const ENTER: Advice = Advice(1);
    /// Before each return.
    pub const EXIT: Advice = Advice(2);
    /// When an exception leaves the body.
    pub const EXCEPTION: Advice = Advice(4);
    /// All three: the default.
    pub const ALL: Advice = Advice(7);

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Advice) -> Advice {
        Advice(self.0 | other.0)
    }

    /// Whether all of `other` is in this set.
    pub const fn has(self, other: Advice) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A method to weave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The method's number in its type or artifact, as the backend counts.
    pub index: u32,
    /// The id that the hooks are called with; never 0.
    pub id: u32,
    /// When hooks run.
    pub advice: Advice,
}

/// Why a method that a rule could have meant is not woven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Abstract or native: nothing to put hooks into.
    NoBody,
    /// An empty body or a trivial accessor, and the rule does not name them.
    Trivial,
    /// Fewer bytes of code than the rule's `min-size`.
    Small,
    /// Of a kind (bridge, synthetic, static initialiser, lambda) that the rule does not name.
    Kind,
    /// The rule's `exclude` names it.
    Excluded,
    /// It has hooks already.
    AlreadyWoven,
    /// It belongs to the hook library.
    Runtime,
    /// The code would exceed the format's limit (JVM: 65,535 bytes, JVMS 4.7.3).
    CodeTooLarge,
    /// The constant pool or an index table is full (JVM: 65,535 entries, JVMS 4.1).
    PoolFull,
    /// A constructor that never calls another constructor.
    NoSuperCall,
    /// No instruction of it can be reached or protected.
    NothingToProtect,
    /// Its code has a shape that cannot be woven soundly.
    Unsupported,
    /// A class file version newer than this weaver knows.
    NewerVersion,
}

impl Reason {
    /// One word for programs (`--json`).
    pub const fn code(self) -> &'static str {
        match self {
            Reason::NoBody => "no-body",
            Reason::Trivial => "trivial",
            Reason::Small => "small",
            Reason::Kind => "kind",
            Reason::Excluded => "excluded",
            Reason::AlreadyWoven => "already-woven",
            Reason::Runtime => "runtime",
            Reason::CodeTooLarge => "code-too-large",
            Reason::PoolFull => "pool-full",
            Reason::NoSuperCall => "no-super-call",
            Reason::NothingToProtect => "nothing-to-protect",
            Reason::Unsupported => "unsupported",
            Reason::NewerVersion => "newer-version",
        }
    }

    /// Whether the method was asked for but could not be woven, so that `--strict` fails.
    pub const fn is_failure(self) -> bool {
        matches!(
            self,
            Reason::CodeTooLarge | Reason::PoolFull | Reason::Unsupported | Reason::NewerVersion
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::NoBody => "abstract or native: there is no body",
            Reason::Trivial => "empty or a trivial accessor (name it with min-size = 0)",
            Reason::Small => "smaller than min-size",
            Reason::Kind => "of a kind that no rule names",
            Reason::Excluded => "excluded by the rule",
            Reason::AlreadyWoven => "woven already",
            Reason::Runtime => "part of the hook library",
            Reason::CodeTooLarge => "the code would exceed the format's limit",
            Reason::PoolFull => "the constant pool is full",
            Reason::NoSuperCall => "the constructor never calls another constructor",
            Reason::NothingToProtect => "no instruction to put a hook at",
            Reason::Unsupported => "its code has a shape that cannot be woven soundly",
            Reason::NewerVersion => "a class file version newer than this weaver knows",
        })
    }
}

/// A method that some rule looked at and that is left as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The method's number, as the backend counts.
    pub index: u32,
    /// Name and descriptor.
    pub method: String,
    /// Why.
    pub reason: Reason,
}

/// What to weave in one type or artifact, ascending by index.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The methods to weave.
    pub methods: Vec<Planned>,
    /// What rules matched but defaults or excludes left out; only when asked to explain.
    pub skipped: Vec<Skipped>,
}

/// Gives the base of a type's ids from its name.
pub type BaseOf<'a> = &'a (dyn Fn(&str) -> u32 + Sync);

/// The highest base: the ids of a type's methods follow its base and must not wrap around.
const MAX_BASE: u32 = u32::MAX - (1 << 24);

/// The base of a type's ids: the first four bytes of SHA-256 over its full name. `attempt` > 0 gives
/// the next candidate where some id is taken. A method's id is the base plus the method's index in its
/// type, so a type costs one hash, and ids that differ in one byte pack well, in the code as in the
/// map. Never 0, which stands for "no method".
pub fn id_base(type_name: &str, attempt: u32) -> u32 {
    for round in 0u32.. {
        let mut hash = Sha256::new();
        hash.update(type_name);
        if attempt > 0 || round > 0 {
            hash.update(attempt.to_le_bytes());
            hash.update(round.to_le_bytes());
        }
        let digest = hash.finalize();
        let base = u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]);
        if (1..=MAX_BASE).contains(&base) {
            return base;
        }
    }
    unreachable!("2^32 rounds, each of which hits with 99.6 %")
}

/// Makes a [`Plan`] while a backend's scan walks an artifact.
pub struct Planner<'a> {
    matcher: &'a ArtifactMatcher<'a>,
    base_of: BaseOf<'a>,
    explain: bool,
    /// The type under way, and the base of its ids.
    current: Option<(u32, TypeMatcher<'a>)>,
    /// What came of it.
    pub plan: Plan,
}

impl<'a> Planner<'a> {
    /// A planner for one artifact; `explain` collects what is skipped, too.
    pub fn new(
        matcher: &'a ArtifactMatcher<'a>,
        base_of: BaseOf<'a>,
        explain: bool,
    ) -> Planner<'a> {
        Planner {
            matcher,
            base_of,
            explain,
            current: None,
            plan: Plan::default(),
        }
    }
}

impl Visitor for Planner<'_> {
    fn enter_type(&mut self, ty: &Type<'_>) -> bool {
        self.current = self
            .matcher
            .for_type(ty)
            .map(|matcher| ((self.base_of)(ty.name), matcher));
        self.current.is_some()
    }

    fn method(&mut self, index: u32, method: &Method<'_>) {
        let Some((base, matcher)) = &self.current else {
            return;
        };
        match matcher.method(method) {
            Verdict::Unmatched => {}
            Verdict::Skip(reason) => {
                if self.explain {
                    self.plan.skipped.push(Skipped {
                        index,
                        method: format!("{}{}", method.name, method.descriptor),
                        reason,
                    });
                }
            }
            Verdict::Weave(advice) => self.plan.methods.push(Planned {
                index,
                id: base.wrapping_add(index),
                advice,
            }),
        }
    }
}
