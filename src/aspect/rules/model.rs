//! What a rules file says, checked and with its patterns compiled.

use super::hook::{Changes, HookCall, HookOperand, Recorded, Word};
use super::mask::Mask;
use crate::aspect::advice::Advice;
use crate::aspect::joinpoint::{Access, Kinds};
use crate::aspect::pattern::NameSet;
use crate::aspect::pattern::name::Name;
use crate::aspect::pattern::params::Params;
use crate::aspect::pattern::version::VersionSet;
use crate::aspect::point::PointKind;
use crate::error::Place;
use crate::spans::SpanRule;
use crate::switches::{Level, Sampling};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// One `[[aspect]]`: advice, and the pointcut that says where.
#[derive(Clone, Debug)]
pub struct Aspect {
    /// Its name, given or `aspect 2`.
    pub name: String,
    /// Any of these must select a method.
    pub matches: Vec<Selector>,
    /// None of these may.
    pub excludes: Vec<Selector>,
    /// When hooks run, and which.
    pub advice: Advice,
    /// Its level, if the rule says one.
    pub level: Option<Level>,
    /// The program itself decides how much it records ([`crate::switches::Switch::auto`]).
    pub auto: Option<u32>,
    /// The part of the program's CPU that this may take ([`crate::switches::Switch::overhead`]).
    pub overhead: Option<u32>,
    /// Which of its outermost calls are recorded.
    pub sample: Option<Sampling>,
    /// Its calls are spans.
    pub span: Option<Arc<SpanRule>>,
    /// Where in its file it begins, in bytes.
    pub start: usize,
    /// The same as a line.
    pub place: Place,
    /// Its own hooks.
    pub own: Option<Arc<OwnHooks>>,
}

/// The hook library's class that hears activities (.NET).
pub(super) const LISTENER: &str = "Weave.Runtime.Activities";

impl Aspect {
    /// It asks for activities (`[[spans]]`).
    pub fn listens(&self) -> bool {
        let own = self.own.iter();
        own.flat_map(|own| &own.enter)
            .any(|hook| hook.call.ty == LISTENER)
    }

    /// It is for some versions of what it matches alone: others of its name may be for the rest.
    pub fn is_of_versions(&self) -> bool {
        let bounded =
            |selector: &Selector| selector.version.is_some() || selector.platform.is_some();
        !self.matches.is_empty() && self.matches.iter().all(bounded)
    }

    /// It is about calls in methods.
    pub fn is_about_calls(&self) -> bool {
        let at = self.own.as_ref().and_then(|own| own.at.as_ref());
        at.is_some_and(|at| at.kind == PointKind::Call)
    }

    /// It leaves short methods to their callers ([`crate::aspect::short`]): nothing asks for them.
    pub fn leaves_short(&self) -> bool {
        let asks = |selector: &Selector| {
            selector.min_size.is_some() || !selector.method.as_ref().is_none_or(NameSet::is_all)
        };
        self.auto.is_some()
            && self.own.is_none()
            && self.span.is_none()
            && !self.advice.has(Advice::ROOT)
            && !self.matches.iter().any(asks)
    }

    /// It takes methods of this name and of these kinds of a type, as far as names tell.
    pub fn takes(&self, ty: Name<'_>, method: &str, kinds: Kinds) -> bool {
        let named = |selector: &Selector| {
            selector.ty.as_ref().is_none_or(|names| names.has(ty))
                && (selector.method.as_ref()).is_none_or(|names| names.has_flat(method))
                && selector.kind.is_none_or(|set| set.has(kinds))
        };
        let asks_more = |selector: &Selector| {
            selector.artifact.is_some()
                || selector.version.is_some()
                || selector.platform.is_some()
                || selector.type_access.is_some()
                || selector.extends.is_some()
                || selector.params.is_some()
                || selector.returns.is_some()
                || selector.annotation.is_some()
                || selector.access.is_some()
        };
        (self.matches.iter()).any(|selector| named(selector) && !asks_more(selector))
            && !self.excludes.iter().any(named)
    }

    /// The level from which on its methods are on, if they can be switched.
    pub fn on_from(&self) -> Option<Level> {
        self.is_switchable().then(|| self.level.unwrap_or_default())
    }

    /// Whether its methods can be switched while the program runs.
    pub fn is_switchable(&self) -> bool {
        let said = self.level.is_some() || self.auto.is_some() || self.sample.is_some();
        let said = said || self.span.is_some();
        self.advice.is_whole() && said
    }
}

/// Other rules that belong to a file, as `include` names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Include {
    /// `pack:NAME`, or the path of a file from the folder of the file that names it.
    pub name: String,
    /// Where it stands in the file.
    pub span: Range<usize>,
}

/// One `[[library]]`: where hooks of one's own are.
#[derive(Clone, Debug)]
pub struct Library {
    /// A jar, a folder of classes, an assembly or a dex file. [`Rules::parse`](super::Rules::parse) leaves it as it is
    /// written: from the folder of the rules file.
    pub path: PathBuf,
    /// It goes into the output; else it is there already when the program runs.
    pub embed: bool,
    /// Where the path stands in the file.
    pub span: Range<usize>,
    /// The same as a line.
    pub place: Place,
}

/// One `[[type]]`: what rules say of a type that may be in no artifact that is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaidType {
    /// With dots between packages.
    pub name: Box<str>,
    /// Its supertypes, by their names.
    pub extends: Vec<Box<str>>,
    pub is_interface: bool,
    /// A struct or enum (.NET).
    pub is_struct: bool,
    /// The assembly that others find it in (.NET), as a display name.
    pub assembly: Box<str>,
    pub members: Vec<SaidMember>,
}

/// A public method without parameters of such a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaidMember {
    /// A property's is `get_Name`.
    pub method: Box<str>,
    /// The type of what it gives, as it is written.
    pub result: Box<str>,
}

/// A method that a rule of an aspect calls.
pub struct Called<'a> {
    pub call: &'a HookCall,
    /// Its result is a value in the trace (`record`).
    pub is_value: bool,
}

impl Called<'_> {
    fn value(call: &HookCall) -> Called<'_> {
        Called {
            call,
            is_value: true,
        }
    }
}

/// An aspect that meets a method with hooks of its own.
#[derive(Clone, Copy)]
pub struct Meets<'a> {
    pub aspect: u32,
    pub name: &'a str,
    pub hooks: &'a OwnHooks,
}

impl<'a> Meets<'a> {
    /// Calls of the hook library, which belong to no aspect.
    pub fn none(hooks: &'a OwnHooks) -> Meets<'a> {
        Meets {
            aspect: 0,
            name: "",
            hooks,
        }
    }
}

/// The own hooks of an aspect, in the order of the file.
#[derive(Clone, Debug)]
pub struct OwnHooks {
    pub enter: Vec<OwnHook>,
    pub exit: Vec<OwnHook>,
    pub exception: Vec<OwnHook>,
    /// What is called in place of the body, which it may run (`proceed`).
    pub around: Option<OwnHook>,
    /// The calls that `enter`, `exit` and `replace` are about, instead of the methods that match: there they are called
    /// `before` and `after`.
    pub at: Option<Box<At>>,
    /// What is called in place of such a call.
    pub replace: Option<OwnHook>,
    /// The values that are recorded in the trace.
    pub record: Vec<OwnRecord>,
    /// Those of the entry span of the request in which the method runs.
    pub entry: Vec<OwnRecord>,
    /// How the context of a request goes on.
    pub context: Option<Box<Context>>,
    /// A call that gives a task or a stage ends when that is complete.
    pub completion: bool,
    /// The longest text of them that is kept, in UTF-16 units.
    pub limit: u16,
    /// What of their texts is not kept, nor of messages and thread names.
    pub mask: Option<Mask>,
    /// Exceptions that leave the methods have messages in the trace.
    pub messages: bool,
    /// What they throw does not reach the program.
    pub guard: bool,
    /// The file that they stand in.
    pub source: Arc<Source>,
}

/// `context`: how the context of a request goes on.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Arguments of a call that run later, in the caller's context.
    pub handover: Option<Handed>,
    /// What gives a header of the request that came in, by the free word `name`.
    pub extract: Option<OwnRecord>,
    /// What sends a header with a request, in this order, by the free words of [`Inject`].
    pub inject: Vec<Inject>,
    /// The object that keeps an open span behind the method's end.
    pub keep: Option<OwnRecord>,
    /// Whether it does, when the method ends.
    pub goes_on: Option<OwnRecord>,
    /// The object with which the current context goes from here on.
    pub give: Option<OwnRecord>,
    /// The object in whose context it goes on here.
    pub take: Option<OwnRecord>,
    /// What comes in or is taken is a link of the span, and not its parent.
    pub link: Option<Range<usize>>,
}

/// What sends a header.
#[derive(Clone, Debug)]
pub enum Inject {
    /// A static method.
    Call(OwnHook),
    /// A method of an object: `arg(1).setHeader(name, value)`.
    Chain(OwnRecord),
}

impl Inject {
    /// The free word for a header's name.
    pub const NAME: &'static str = "name";
    /// That for what it says.
    pub const VALUE: &'static str = "value";
    /// That for what it says in UTF-8.
    pub const BYTES: &'static str = "bytes";

    /// Whether it takes this free word.
    pub fn takes(&self, word: &str) -> bool {
        match self {
            Inject::Call(hook) => hook.call.operands.iter().any(|o| o.is_free(word)),
            Inject::Chain(value) => value.value.has_argument(word),
        }
    }

    /// Where it stands in the file.
    pub fn place(&self) -> &Range<usize> {
        match self {
            Inject::Call(hook) => &hook.name,
            Inject::Chain(value) => &value.span,
        }
    }
}

impl Context {
    fn sent_by_calls(&self) -> impl Iterator<Item = &OwnHook> {
        self.inject.iter().filter_map(|inject| match inject {
            Inject::Call(hook) => Some(hook),
            Inject::Chain(_) => None,
        })
    }

    /// What is asked for by chains.
    fn chains(&self) -> impl Iterator<Item = &OwnRecord> {
        let sent = self.inject.iter().filter_map(|inject| match inject {
            Inject::Chain(value) => Some(value),
            Inject::Call(_) => None,
        });
        let kept = self.keep.iter().chain(&self.goes_on);
        let kept = kept.chain(&self.give).chain(&self.take);
        self.extract.iter().chain(sent).chain(kept)
    }
}

/// Arguments that are handed over.
#[derive(Clone, Debug, PartialEq)]
pub struct Handed {
    /// By number, and whether methods may have none there that can be.
    pub args: Vec<(u16, bool)>,
    /// All that can be.
    pub all: bool,
    /// Where it stands in the file.
    pub span: Range<usize>,
}

/// How much of a text is kept that a rule sets no limit for, in UTF-16 units.
pub const DEFAULT_LIMIT: u16 = 128;

/// The most that a rule may ask for: the hook libraries write a text in one piece.
pub const MAX_LIMIT: u16 = 1024;

impl OwnHooks {
    /// There is neither a hook nor a value.
    pub fn is_empty(&self) -> bool {
        !self.has_hooks()
            && self.record.is_empty()
            && self.entry.is_empty()
            && self.context.is_none()
            && self.completion
    }

    /// Values are recorded.
    pub fn has_values(&self) -> bool {
        !(self.record.is_empty() && self.entry.is_empty())
    }

    /// The arguments that are handed over.
    pub fn handed(&self) -> Option<&Handed> {
        self.context.as_ref()?.handover.as_ref()
    }

    /// The object that keeps a span.
    pub fn kept(&self) -> Option<&OwnRecord> {
        self.context.as_ref()?.keep.as_ref()
    }

    /// The object with which the current context goes from here on.
    pub fn given(&self) -> Option<&OwnRecord> {
        self.context.as_ref()?.give.as_ref()
    }

    /// The object in whose context it goes on here.
    pub fn taken(&self) -> Option<&OwnRecord> {
        self.context.as_ref()?.take.as_ref()
    }

    /// Contexts come in, or are taken, as links.
    pub fn links(&self) -> bool {
        (self.context.as_ref()).is_some_and(|context| context.link.is_some())
    }

    /// The current context is sent with a request.
    pub fn sends(&self) -> bool {
        (self.context.as_ref()).is_some_and(|context| !context.inject.is_empty())
    }

    /// Something of texts is left out.
    pub fn holds(&self) -> bool {
        self.mask.is_some() || !self.messages
    }

    /// There is a hook, which is more than a value in the trace.
    pub fn has_hooks(&self) -> bool {
        !(self.enter.is_empty()
            && self.exit.is_empty()
            && self.exception.is_empty()
            && self.around.is_none()
            && self.replace.is_none()
            && self.handed().is_none()
            && self.kept().is_none()
            && self.given().is_none()
            && self.taken().is_none()
            && !self.sends())
    }

    /// Whether a hook changes what a method does, refuses it or takes its place: leaving a method out is a hole.
    pub fn decides(&self) -> bool {
        let mut hooks = self.enter.iter().chain(&self.exit).chain(&self.exception);
        self.around.is_some()
            || hooks.any(|hook| !self.guard || hook.call.changes != Changes::Nothing)
    }

    /// All that is called, those of values included.
    pub fn calls(&self) -> impl Iterator<Item = &HookCall> {
        self.calls_and_values().map(|called| called.call)
    }

    /// All that is called.
    pub fn calls_and_values(&self) -> impl Iterator<Item = Called<'_>> {
        let hooks = self.enter.iter().chain(&self.exit).chain(&self.exception);
        let hooks = hooks.chain(&self.around).chain(&self.replace);
        let hooks = hooks.chain(self.context.iter().flat_map(|c| c.sent_by_calls()));
        let extracts = self.context.iter().flat_map(|c| c.chains());
        let values = self.record.iter().chain(&self.entry).chain(extracts);
        let values = values.filter_map(|record| match &record.value {
            Recorded::Call(call) => Some(Called::value(call)),
            _ => None,
        });
        let inner = self.operands().filter_map(|operand| match &operand.word {
            Word::Call(call) => Some(Called::value(call)),
            _ => None,
        });
        hooks
            .map(|hook| Called {
                call: &hook.call,
                is_value: false,
            })
            .chain(values)
            .chain(inner)
    }

    /// The names of parameters that methods may lack, each once: `sql?`.
    pub fn optional_names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let hooks = self.enter.iter().chain(&self.exit).chain(&self.exception);
        let places = hooks.filter_map(|hook| match &hook.call.changes {
            Changes::Value(place) => Some(place),
            _ => None,
        });
        for operand in self.operands().chain(places) {
            if let (Word::Named(name), true) = (&operand.word, operand.optional)
                && !names.contains(&&**name)
            {
                names.push(name);
            }
        }
        names
    }

    /// The operands of all calls, and the values, with what they are made of.
    pub fn operands(&self) -> impl Iterator<Item = &HookOperand> {
        let hooks = self.enter.iter().chain(&self.exit).chain(&self.exception);
        let hooks = hooks.chain(&self.around).chain(&self.replace);
        let hooks = hooks.chain(self.context.iter().flat_map(|c| c.sent_by_calls()));
        let extracts = self.context.iter().flat_map(|c| c.chains());
        let records = self.record.iter().chain(&self.entry).chain(extracts);
        (hooks.flat_map(|hook| &hook.call.operands))
            .chain(records.flat_map(|record| record.value.operands()))
            .flat_map(HookOperand::parts)
    }
}

impl Default for OwnHooks {
    fn default() -> OwnHooks {
        OwnHooks {
            enter: Vec::new(),
            exit: Vec::new(),
            exception: Vec::new(),
            around: None,
            at: None,
            replace: None,
            record: Vec::new(),
            entry: Vec::new(),
            context: None,
            completion: true,
            limit: DEFAULT_LIMIT,
            mask: None,
            messages: true,
            guard: true,
            source: Arc::default(),
        }
    }
}

/// `[trace]`: what of texts is left out, whichever method they are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texts {
    /// What is masked in all of them.
    pub mask: Option<Mask>,
    /// Exceptions have messages in the trace.
    pub messages: bool,
    /// Threads have their names there.
    pub thread_names: bool,
    /// The command line is there.
    pub command_line: bool,
}

impl Texts {
    /// Nothing is left out.
    pub fn is_empty(&self) -> bool {
        self.mask.is_none() && self.messages && self.thread_names && self.command_line
    }
}

impl Default for Texts {
    fn default() -> Texts {
        Texts {
            mask: None,
            messages: true,
            thread_names: true,
            command_line: true,
        }
    }
}

/// `at`: points inside the methods that match.
#[derive(Clone, Debug)]
pub struct At {
    pub kind: PointKind,
    /// The type that a call or a field's access names, that is made, or that a handler catches.
    pub ty: Option<NameSet>,
    /// The type that a call names is this one, or below it.
    pub extends: Option<NameSet>,
    /// The method that is called, or the field.
    pub name: Option<NameSet>,
    pub params: Option<Params>,
    /// What is thrown: a type, by its full name.
    pub thrown: Option<Thrown>,
    /// A source line; 0 for any.
    pub line: u32,
    /// Where it stands in the file.
    pub span: Range<usize>,
    /// What of these calls is recorded in the trace, under the name of the method that is called; nothing, if no rule says so.
    pub advice: Advice,
    /// A recorded call that gives a task or future ends when that is complete.
    pub completion: bool,
    /// These calls are spans.
    pub traced: Option<Arc<SpanRule>>,
    /// The hooks of the methods that make these calls, where contexts are taken: these are over with them.
    pub frame: Option<Box<Frame>>,
}

/// The hooks of a method that takes contexts from calls, as each hook library spells them.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The JVM and dex.
    pub java: OwnHooks,
    /// .NET.
    pub dotnet: OwnHooks,
}

impl At {
    /// Whether the rule names the calls that it means, by type and method.
    pub fn is_exact(&self) -> bool {
        let is_exact = |names: &Option<NameSet>| names.as_ref().is_some_and(NameSet::is_exact);
        self.kind == PointKind::Call
            && (is_exact(&self.ty) || is_exact(&self.extends))
            && is_exact(&self.name)
    }
}

/// `throw`: an exception of this type, or of one below it, is thrown.
#[derive(Clone, Debug)]
pub struct Thrown {
    /// With dots between packages.
    pub name: Box<str>,
    /// Where it stands in the file.
    pub span: Range<usize>,
}

/// A call of a hook, and where in the file its parts stand.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnHook {
    pub call: HookCall,
    /// Type and method.
    pub name: Range<usize>,
    pub operands: Vec<Range<usize>>,
    /// What it changes.
    pub changes: Range<usize>,
}

/// A value that is recorded, and where in the file its parts stand.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnRecord {
    /// As the rule writes it: `arg(0)`.
    pub name: Arc<str>,
    pub value: Recorded,
    /// All of it.
    pub span: Range<usize>,
    /// The operands of a call; else the one operand.
    pub operands: Vec<Range<usize>>,
}

/// A rules file, for messages that come later than its reading.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Source {
    pub name: String,
    pub text: String,
}

/// One table of `match` or `exclude`: every key that is given must hold.
#[derive(Clone, Debug, Default)]
pub struct Selector {
    /// It is about what lies in methods: it takes those that are trivial or of special kinds as well.
    pub inside: bool,
    /// Its hooks decide what a method does: one that is trivial is none to leave out.
    pub takes_trivial: bool,
    /// `artifact`: the file name, with or without extension and version.
    pub artifact: Option<NameSet>,
    /// `version` of the artifact.
    pub version: Option<VersionSet>,
    /// `platform`: version of the runtime that the type is compiled for.
    pub platform: Option<VersionSet>,
    /// `type` that declares the method.
    pub ty: Option<NameSet>,
    /// `type-access`: visibility of that type.
    pub type_access: Option<AccessSet>,
    /// `extends`: some proper supertype.
    pub extends: Option<NameSet>,
    /// `method`: the simple name.
    pub method: Option<NameSet>,
    /// `params`: the whole list of parameter types.
    pub params: Option<Params>,
    /// `returns`: the return type.
    pub returns: Option<NameSet>,
    /// `annotation` on the method or its type.
    pub annotation: Option<NameSet>,
    /// `access`: the method's visibility.
    pub access: Option<AccessSet>,
    /// `kind` of method.
    pub kind: Option<KindSet>,
    /// `min-size`: least bytes of code.
    pub min_size: Option<u32>,
}

/// The words for [`Access`].
pub const ACCESS_WORDS: [(&str, Access); 5] = [
    ("public", Access::Public),
    ("protected", Access::Protected),
    ("package", Access::Package),
    ("internal", Access::Package),
    ("private", Access::Private),
];

/// The words for [`Kinds`].
pub const KIND_WORDS: [(&str, Kinds); 8] = [
    ("method", Kinds::METHOD),
    ("constructor", Kinds::CONSTRUCTOR),
    ("static-init", Kinds::STATIC_INIT),
    ("accessor", Kinds::ACCESSOR),
    ("bridge", Kinds::BRIDGE),
    ("synthetic", Kinds::SYNTHETIC),
    ("lambda", Kinds::LAMBDA),
    ("async", Kinds::ASYNC),
];

/// The words for [`Advice`].
pub const ADVICE_WORDS: [(&str, Advice); 3] = [
    ("enter", Advice::ENTER),
    ("exit", Advice::EXIT),
    ("exception", Advice::EXCEPTION),
];

/// The words for what is called (`hooks`): the hook library, or Android's own trace.
pub const HOOKS_WORDS: [(&str, Advice); 2] =
    [("weave", Advice::ALL), ("android-trace", Advice::SECTION)];

/// The words for how much of a call is kept (`mode`).
pub const MODE_WORDS: [(&str, Mode); 4] = [
    ("record", Mode::Is(Advice::ALL)),
    ("aggregate", Mode::Is(Advice::AGGREGATE)),
    ("count", Mode::Is(Advice::COUNT)),
    ("auto", Mode::Auto),
];

/// What a mode says: which hooks, or that the program itself decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Is(Advice),
    Auto,
}

/// The kinds that only a rule which names them takes.
pub const UNLESS_NAMED: Kinds = Kinds::BRIDGE
    .with(Kinds::SYNTHETIC)
    .with(Kinds::STATIC_INIT)
    .with(Kinds::LAMBDA);

/// Accepted visibilities, and visibilities (`!`) that are not.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccessSet {
    include: u8,
    exclude: u8,
}

impl AccessSet {
    pub fn add(&mut self, access: Access, exclude: bool) {
        let list = if exclude {
            &mut self.exclude
        } else {
            &mut self.include
        };
        *list |= 1 << access as u8;
    }

    /// Whether a visibility is in the set.
    pub fn has(self, access: Access) -> bool {
        let bit = 1 << access as u8;
        (self.include == 0 || self.include & bit != 0) && self.exclude & bit == 0
    }
}

/// Accepted kinds, and kinds (`!`) that are not.
#[derive(Clone, Copy, Debug, Default)]
pub struct KindSet {
    /// Named kinds; empty where only exclusions are.
    pub include: Kinds,
    /// Kinds that may not be.
    pub exclude: Kinds,
}

/// What a [`KindSet`], or its absence, says of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindFit {
    /// It is of a kind that is meant.
    Yes,
    /// It is of a kind that must be named and is not.
    Unnamed,
    /// It is of another kind than those named.
    No,
}

impl KindSet {
    /// Whether kinds are in the set, taken by its words alone (`exclude`).
    pub fn has(self, kinds: Kinds) -> bool {
        (self.include == Kinds::default() || self.include.intersects(kinds))
            && !self.exclude.intersects(kinds)
    }

    /// Whether a method is meant (`match`). A bridge is a method too, but whoever says
    /// `kind = "method"` does not mean bridges: kinds that must be named decide alone.
    pub fn fit(self, kinds: Kinds) -> KindFit {
        if self.exclude.intersects(kinds) {
            return KindFit::No;
        }
        let special = Kinds(kinds.0 & UNLESS_NAMED.0);
        if special != Kinds::default() {
            if self.include.intersects(special) {
                KindFit::Yes
            } else {
                KindFit::Unnamed
            }
        } else if self.has(kinds) {
            KindFit::Yes
        } else {
            KindFit::No
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_kinds_are_taken_only_when_named() {
        let bridge = Kinds::METHOD.with(Kinds::BRIDGE).with(Kinds::SYNTHETIC);
        let lambda = Kinds::SYNTHETIC.with(Kinds::LAMBDA);
        let added = Kinds::of_java("<init>", "(LA;LB;)V", false, true);
        let named = |include| KindSet {
            include,
            ..KindSet::default()
        };
        let not = |exclude| KindSet {
            exclude,
            ..KindSet::default()
        };
        assert_eq!(KindSet::default().fit(Kinds::METHOD), KindFit::Yes);
        assert_eq!(KindSet::default().fit(bridge), KindFit::Unnamed);
        assert_eq!(named(Kinds::METHOD).fit(bridge), KindFit::Unnamed);
        assert_eq!(named(Kinds::SYNTHETIC).fit(bridge), KindFit::Yes);
        assert_eq!(named(Kinds::SYNTHETIC).fit(added), KindFit::Yes);
        assert_eq!(named(Kinds::CONSTRUCTOR).fit(added), KindFit::Unnamed);
        assert_eq!(not(Kinds::CONSTRUCTOR).fit(added), KindFit::No);
        assert!(named(Kinds::CONSTRUCTOR).has(added));
        assert_eq!(named(Kinds::LAMBDA).fit(lambda), KindFit::Yes);
        assert_eq!(named(Kinds::LAMBDA).fit(Kinds::METHOD), KindFit::No);
        assert_eq!(not(Kinds::CONSTRUCTOR).fit(Kinds::CONSTRUCTOR), KindFit::No);
        assert_eq!(not(Kinds::CONSTRUCTOR).fit(lambda), KindFit::Unnamed);
        assert_eq!(not(Kinds::CONSTRUCTOR).fit(Kinds::METHOD), KindFit::Yes);
        assert_eq!(
            named(Kinds::METHOD).fit(Kinds::METHOD.with(Kinds::ASYNC)),
            KindFit::Yes
        );
    }

    #[test]
    fn access_words_and_exclusions() {
        let mut set = AccessSet::default();
        set.add(Access::Private, true);
        assert!(set.has(Access::Public) && !set.has(Access::Private));
        set.add(Access::Protected, false);
        assert!(!set.has(Access::Public) && set.has(Access::Protected));
    }
}
