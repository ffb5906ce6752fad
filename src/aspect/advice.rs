//! What a method gets: advice, or a reason why none.

use std::fmt;

/// When hooks run; a set of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Advice(pub u16);

impl Advice {
    /// At the start of the body.
    pub const ENTER: Advice = Advice(1);
    /// Before each return.
    pub const EXIT: Advice = Advice(2);
    /// When an exception leaves the body.
    pub const EXCEPTION: Advice = Advice(4);
    /// All three: the default.
    pub const ALL: Advice = Advice(7);
    /// A section of Android's own trace (`android.os.Trace`) from the start of the body to its end, by a return or by
    /// an exception. Beside the hooks of the others, or without.
    pub const SECTION: Advice = Advice(8);
    /// Hooks of one's own, whenever they run.
    pub const OWN: Advice = Advice(16);
    /// The call is counted: one hook at the start of the body, in place of all three.
    pub const COUNT: Advice = Advice(32);
    /// Calls are summed up in the process: hooks as all three, but others.
    pub const AGGREGATE: Advice = Advice(256);
    /// All that calls the hook library, values and guards aside.
    pub const LIBRARY: Advice = Advice::ALL.with(Advice::COUNT).with(Advice::AGGREGATE);

    /// Hooks of one's own at calls that the method makes, which has none itself.
    pub const CALLS: Advice = Advice(128);

    /// What calls the hook library can be switched while the program runs. For people: of woven methods, [`Advice::OWN`] says it.
    pub const SWITCHED: Advice = Advice(512);

    /// Calls of the method begin a trace of their own. It goes into the symbols map and no further.
    pub const ROOT: Advice = Advice(64);

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Advice) -> Advice {
        Advice(self.0 | other.0)
    }

    /// What is in this set and not in the other.
    #[must_use]
    pub const fn without(self, other: Advice) -> Advice {
        Advice(self.0 & !other.0)
    }

    /// What is in this set and in the other.
    #[must_use]
    pub const fn only(self, other: Advice) -> Advice {
        Advice(self.0 & other.0)
    }

    /// The advice of several aspects for one method: recording wins over aggregating, aggregating over counting.
    #[must_use]
    pub const fn settled(self) -> Advice {
        match (self.only(Advice::ALL).0, self.has(Advice::AGGREGATE)) {
            (0, false) => self,
            (0, true) => self.without(Advice::COUNT),
            _ => self.without(Advice::COUNT.with(Advice::AGGREGATE)),
        }
    }

    /// Whether the trace has of each call that it was, and, unless it is only counted, how it ended.
    pub const fn is_whole(self) -> bool {
        matches!(
            self.only(Advice::LIBRARY),
            Advice::ALL | Advice::AGGREGATE | Advice::COUNT
        )
    }

    /// The advice of a method that can be switched, from what its hooks say ([`crate::switches::says`]).
    pub const fn of_switched(says: i32) -> Advice {
        let mode = match says & 3 {
            1 => Advice::AGGREGATE,
            2 => Advice::COUNT,
            _ => Advice::ALL,
        };
        mode.with(Advice::SWITCHED)
    }

    /// The same with the recorded pair in place of one that sums up: where their hooks go is one.
    #[must_use]
    pub const fn as_pair(self) -> Advice {
        match self.has(Advice::AGGREGATE) {
            true => self.without(Advice::AGGREGATE).with(Advice::ALL),
            false => self,
        }
    }

    /// Whether all of `other` is in this set.
    pub const fn has(self, other: Advice) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Why a method that a rule could have meant is not woven.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum Reason {
    /// Abstract or native: nothing to put hooks into.
    NoBody,
    /// An empty body or a trivial accessor, and the rule does not name them.
    Trivial,
    /// Fewer bytes of code than the rule's `min-size`.
    Small,
    /// Short, under `mode = "auto"`: its time is its caller's, and what it calls is recorded or quick.
    Short,
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
    /// A template whose code an agent copies into other classes (Byte Buddy's advice).
    Template,
    /// A function that compilers copy into its callers (Kotlin: `inline`).
    Inlined,
    /// No instruction of it can be reached or protected.
    NothingToProtect,
    /// Its code has a shape that cannot be woven soundly.
    Unsupported,
    /// Its only hooks are those of Android's trace, which its format has none of.
    OnlyAndroid,
    /// A class file version newer than this weaver knows.
    NewerVersion,
    /// It ends by jumping to another method (.NET: `jmp`, ECMA-335 III.3.37).
    JumpsAway,
    /// Runtime-async: suspended by the runtime, without a state machine (.NET: ImplFlags 0x2000).
    RuntimeAsync,
    /// Its state machine has a shape that is not known.
    StateMachine,
    /// Part of the state machine of an async method or iterator, which is woven as one call.
    InStateMachine,
    /// The assembly holds native code that the program needs (C++/CLI).
    MixedMode,
    /// The image holds several assemblies' native code, and no IL.
    CompositeImage,
    /// The core library, which the hook library depends on.
    CoreLibrary,
    /// The compiler or MSBuild loads the assembly, where the hook library is not.
    BuildTool,
    /// The method's body cannot be read: obfuscators keep some encrypted.
    UnreadableBody,
    /// Nothing in the assembly says where `System.Exception` is.
    NoCoreReference,
    /// A call that a rule means: of a super or private method, which only the class itself can make.
    CallOfSuper,
    /// A call of that very method of an object (.NET): of a base type's, or of a struct's.
    CallOfExact,
    /// A call of a generic method, or of a method of a generic type (.NET).
    CallOfGeneric,
    /// A call at which an iterator would take a context: it would go on in who enumerates (.NET).
    TakesInIterator,
    /// A call of what is not public, so that nobody else can make it.
    CallOfHidden,
    /// A call of what may be protected: nothing says what is above the class that makes it, or above the type that has it.
    CallOfUnknown,
    /// A call of a method that looks at who calls it.
    CallerSensitive,
    /// A point where an object is not initialised yet that hooks take.
    Uninitialised,
    /// A final field is set, which nobody else can.
    SetOfFinal,
    /// A point of a struct, or of a type of another assembly, which may be one (.NET).
    PointOfStruct,
    /// No debugging information says where source lines are (.NET).
    NoLines,
    /// A point with a value of a type parameter (.NET).
    PointOfGeneric,
    /// A value of a type that only another type sees (.NET).
    PointOfHidden,
    /// A field whose address is taken (.NET).
    AddressOfField,
    /// The assembly has no name for the exception that a hook is about (.NET).
    ExceptionUnnamed,
    /// An object is made in another way than `new; dup; arguments; <init>`.
    MadeApart,
    /// A lock is held where no handler would give it up (dex).
    HeldLock,
    /// Rules call hooks of its type, or ask it for values: woven, it would call itself.
    HookType,
    /// The loader of its class does not see what the hooks are in.
    LibraryUnseen,
    /// Its class's number for serialization would change, and cannot be written down.
    SerialNumber,
    /// The program may define the class hidden from its own bytes: there its name means another class.
    DefinedHidden,
}

impl Reason {
    /// One word for programs (`--json`).
    pub const fn code(self) -> &'static str {
        match self {
            Reason::NoBody => "no-body",
            Reason::Trivial => "trivial",
            Reason::Small => "small",
            Reason::Short => "short",
            Reason::Kind => "kind",
            Reason::Excluded => "excluded",
            Reason::AlreadyWoven => "already-woven",
            Reason::Runtime => "runtime",
            Reason::Foundation => "foundation",
            Reason::CodeTooLarge => "code-too-large",
            Reason::PoolFull => "pool-full",
            Reason::NoSuperCall => "no-super-call",
            Reason::Template => "template",
            Reason::Inlined => "inlined",
            Reason::NothingToProtect => "nothing-to-protect",
            Reason::Unsupported => "unsupported",
            Reason::OnlyAndroid => "only-android",
            Reason::NewerVersion => "newer-version",
            Reason::JumpsAway => "jumps-away",
            Reason::RuntimeAsync => "runtime-async",
            Reason::StateMachine => "state-machine",
            Reason::InStateMachine => "in-state-machine",
            Reason::MixedMode => "mixed-mode",
            Reason::CompositeImage => "composite-image",
            Reason::CoreLibrary => "core-library",
            Reason::BuildTool => "build-tool",
            Reason::UnreadableBody => "unreadable-body",
            Reason::NoCoreReference => "no-core-reference",
            Reason::CallOfSuper => "call-of-super",
            Reason::CallOfExact => "call-of-exact",
            Reason::CallOfGeneric => "call-of-generic",
            Reason::TakesInIterator => "takes-in-iterator",
            Reason::CallOfHidden => "call-of-hidden",
            Reason::CallOfUnknown => "call-of-unknown",
            Reason::CallerSensitive => "caller-sensitive",
            Reason::Uninitialised => "uninitialised",
            Reason::SetOfFinal => "set-of-final",
            Reason::MadeApart => "made-apart",
            Reason::HeldLock => "held-lock",
            Reason::HookType => "hook-type",
            Reason::LibraryUnseen => "library-unseen",
            Reason::SerialNumber => "serial-number",
            Reason::DefinedHidden => "defined-hidden",
            Reason::ExceptionUnnamed => "exception-unnamed",
            Reason::PointOfStruct => "point-of-struct",
            Reason::NoLines => "no-lines",
            Reason::PointOfGeneric => "point-of-generic",
            Reason::PointOfHidden => "point-of-hidden",
            Reason::AddressOfField => "address-of-field",
        }
    }

    /// Whether it is about a call in the method, or another point, and not about the method itself.
    pub const fn is_of_part(self) -> bool {
        matches!(
            self,
            Reason::CallOfSuper
                | Reason::CallOfExact
                | Reason::CallOfGeneric
                | Reason::TakesInIterator
                | Reason::CallOfHidden
                | Reason::CallOfUnknown
                | Reason::CallerSensitive
                | Reason::Uninitialised
                | Reason::SetOfFinal
                | Reason::PointOfStruct
                | Reason::NoLines
                | Reason::PointOfGeneric
                | Reason::PointOfHidden
                | Reason::AddressOfField
                | Reason::ExceptionUnnamed
                | Reason::MadeApart
                | Reason::HeldLock
        )
    }

    /// Whether the method was asked for but could not be woven, so that `--strict` fails.
    pub const fn is_failure(self) -> bool {
        matches!(
            self,
            Reason::CodeTooLarge
                | Reason::PoolFull
                | Reason::Unsupported
                | Reason::NewerVersion
                | Reason::JumpsAway
                | Reason::RuntimeAsync
                | Reason::StateMachine
                | Reason::MixedMode
                | Reason::CompositeImage
                | Reason::UnreadableBody
                | Reason::NoCoreReference
                | Reason::LibraryUnseen
                | Reason::SerialNumber
                | Reason::DefinedHidden
                | Reason::CallOfUnknown
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::NoBody => "abstract or native: there is no body",
            Reason::Trivial => "empty or a trivial accessor (name it with min-size = 0)",
            Reason::Small => "smaller than min-size",
            Reason::Short => "short, so auto leaves it to its callers (min-size = 0 takes it)",
            Reason::Kind => "of a kind that no rule names",
            Reason::Excluded => "excluded by the rule",
            Reason::AlreadyWoven => "woven already",
            Reason::Runtime => "part of the hook library",
            Reason::Foundation => "the hook library itself uses this class",
            Reason::CodeTooLarge => "the code would exceed the format's limit",
            Reason::PoolFull => "no room for the hooks in the constant pool or the tables of ids",
            Reason::NoSuperCall => "the constructor never calls another constructor",
            Reason::Template => "a template: an agent copies its code into other classes",
            Reason::Inlined => {
                "an inline function of Kotlin: the compiler copies it into its callers"
            }
            Reason::NothingToProtect => "no instruction to put a hook at",
            Reason::Unsupported => "its code has a shape that cannot be woven soundly",
            Reason::LibraryUnseen => {
                "the hooks are in the application, which the loader of this class does not see"
            }
            Reason::SerialNumber => {
                "synchronized, of a class whose field serialVersionUID is not `static final long`: its default number would change"
            }
            Reason::DefinedHidden => {
                "the program may define its class as a hidden class (defineHiddenClass); there the class's name means another class"
            }
            Reason::HookType => "rules use its type for hooks, so it is not woven",
            Reason::OnlyAndroid => "its hooks (android-trace) exist only on Android",
            Reason::NewerVersion => "a class file version newer than this weaver knows",
            Reason::JumpsAway => "it ends by jumping to another method",
            Reason::RuntimeAsync => "the runtime suspends it, without a state machine",
            Reason::StateMachine => {
                "its state machine has an unknown shape, or cannot be given a field"
            }
            Reason::InStateMachine => "part of a state machine, which belongs to its method",
            Reason::MixedMode => "the assembly mixes IL with native code (C++/CLI)",
            Reason::CompositeImage => {
                "a composite image holds native code only; weave its assemblies"
            }
            Reason::BuildTool => {
                "the compiler or MSBuild loads the assembly (analyzer, source generator, task)"
            }
            Reason::CoreLibrary => "the core library, which the hook library depends on",
            Reason::UnreadableBody => "its body cannot be read (encrypted by an obfuscator?)",
            Reason::NoCoreReference => "the assembly refers to no core library",
            Reason::CallOfSuper => "a call of a super or private method is left unchanged",
            Reason::CallOfExact => "a call of a base type's or a struct's method is left unchanged",
            Reason::CallOfGeneric => {
                "a call of a generic method or of a generic type's method is left unchanged"
            }
            Reason::TakesInIterator => {
                "an iterator runs in the context of its consumer, so a call in it cannot take one: the call is left unchanged"
            }
            Reason::CallOfHidden => "a call of a member that is not public is left unchanged",
            Reason::CallOfUnknown => {
                "a call is left unchanged: a superclass is unknown, so the method may be protected (name its library with --reference)"
            }
            Reason::CallerSensitive => "a call of a method that looks at its caller is left unchanged",
            Reason::Uninitialised => {
                "a point where the object is not initialised yet is left unchanged"
            }
            Reason::SetOfFinal => "only its own class may set a final field",
            Reason::PointOfStruct => {
                "a point is left unchanged: its value is a struct, or may be one, that cannot be identified or passed"
            }
            Reason::NoLines => "there is no portable PDB that says where its lines are",
            Reason::PointOfGeneric => {
                "a point is left unchanged: its value's type depends on a type parameter"
            }
            Reason::PointOfHidden => {
                "a point is left unchanged: its value's type is a private nested type"
            }
            Reason::AddressOfField => "a field whose address is taken is left unchanged",
            Reason::ExceptionUnnamed => {
                "a throw is left unchanged: its assembly does not reference the exception's type"
            }
            Reason::MadeApart => {
                "an object is left unchanged: it is created across a branch, or never used"
            }
            Reason::HeldLock => {
                "a point is left unchanged: no handler would release the lock that is held there"
            }
        })
    }
}
