//! What a method gets: advice, or a reason why none.

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
    /// The hook library runs on its class: a hook in it would call itself.
    Foundation,
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
            Reason::Foundation => "foundation",
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
            Reason::Foundation => "the hooks run on this class themselves",
            Reason::CodeTooLarge => "the code would exceed the format's limit",
            Reason::PoolFull => "the constant pool is full",
            Reason::NoSuperCall => "the constructor never calls another constructor",
            Reason::NothingToProtect => "no instruction to put a hook at",
            Reason::Unsupported => "its code has a shape that cannot be woven soundly",
            Reason::NewerVersion => "a class file version newer than this weaver knows",
        })
    }
}
