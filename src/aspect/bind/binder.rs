//! From a call as it is written to the method that it calls, with an operand for each of its parameters.

mod around;
mod change;
mod fit;
mod later;
mod operand;
mod point;
mod queued;
mod record;
mod spans;

pub use point::AtPoint;

use super::call::{
    Adapter, Around, Bound, Call, Change, Convert, Dest, Hook, Keep, Operand, Role, Source,
};
use super::catalog::{Catalog, HookMethod, HookType};
use super::convert::{Fit, Inferred, Misfit as Why, convert, instantiate, is_object};
use super::hold;
use super::misfit::Misfit;
use super::site::{
    Instead, Passed, Placed, RecordedCall, Redirect, Replacement, TASK_ASSEMBLIES, place_of,
};
use super::ty::{Language, Prim, Signature, Target, Ty};
use crate::aspect::advice::Advice;
use crate::aspect::joinpoint::{Callee, MethodNames};
use crate::aspect::pointcut::Hierarchy;
use crate::aspect::rules::hook::{Changes, HookCall, HookOperand, Recorded, Word};
use crate::aspect::rules::mask::Mask;
use crate::aspect::rules::model::{Inject, Meets, OwnHook, OwnHooks, OwnRecord, Texts};
use crate::aspect::rules::nearest_name;
use crate::spans::SpanRule;
use crate::switches::DECIDED;
use record::Wanted;
use sha2::{Digest, Sha256};
use spans::SpanOf;
use std::ops::Range;
use std::sync::Arc;

/// The artifact that hooks are bound for, and where its adapters go.
#[derive(Clone, Copy)]
pub struct Home<'a> {
    /// The file name of the artifact.
    pub artifact: &'a str,
    /// The prefix of adapters' class names, with the package (JVM, dex).
    pub adapters: &'a str,
}

/// What hooks are bound for: a method that rules match.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The type that declares it, in its format's spelling.
    pub ty: &'a str,
    pub name: &'a str,
    pub signature: &'a Signature,
    /// It may end long after it returned (async methods, iterators, coroutines).
    pub is_async: bool,
    pub home: Home<'a>,
    /// Why its body cannot become a method of its own, if so.
    pub keeps_body: Option<&'static str>,
    /// It is called. Hooks lie in a static method in its place, which takes the target and the arguments.
    pub is_call: bool,
    /// The method that makes the call, where a hook asks for it.
    pub caller: Option<&'a str>,
    /// The line of the call, where a hook asks for it; 0 where nothing says it.
    pub line: u32,
    /// It is a point of a method.
    pub at: Option<&'a AtPoint<'a>>,
    /// It can be switched: what its rules say, in place of the plain pair ([`SWITCHED`]).
    pub switched: Option<i32>,
    /// Its calls are spans, whose hooks take the place of the pair ([`SPANS`]).
    pub span: Option<&'a SpanRule>,
    /// It is recorded, and this is left out of all texts of the trace.
    pub texts: &'a [Texts],
}

impl<'a> Subject<'a> {
    /// A method alone: nothing that a rule adds.
    pub fn new(
        ty: &'a str,
        name: &'a str,
        signature: &'a Signature,
        home: Home<'a>,
    ) -> Subject<'a> {
        Subject {
            ty,
            name,
            signature,
            is_async: false,
            home,
            keeps_body: None,
            is_call: false,
            caller: None,
            line: 0,
            at: None,
            switched: None,
            span: None,
            texts: &[],
        }
    }
}

/// Binds calls; knows hooks, and which type is a subtype of which.
#[derive(Clone, Copy)]
pub struct Binder<'a> {
    pub catalog: &'a Catalog,
    pub hierarchy: &'a Hierarchy,
    pub target: Target,
    /// Whether what a hook calls may be woven.
    pub may_reach: &'a (dyn Fn(&Hook) -> bool + Sync),
}

/// An aspect that masks texts of the trace.
struct Holding<'a> {
    aspect: Meets<'a>,
    /// A value that is recorded at the start passes its mask to the hook library.
    told: bool,
}

/// When a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Enter,
    Around,
    Exit,
    Exception,
}

impl When {
    const fn word(self) -> &'static str {
        match self {
            When::Enter => "enter",
            When::Around => "around",
            When::Exit => "exit",
            When::Exception => "exception",
        }
    }
}

/// What enter hooks of an aspect return for its other hooks, and its place in [`Keep::states`] once one asks for it.
struct State {
    ty: Ty,
    /// The call that returns it, among those at the start.
    call: usize,
    kept: Option<u16>,
}

/// One aspect's calls for one method, on the way.
pub(super) struct Binding<'b> {
    pub binder: &'b Binder<'b>,
    pub subject: &'b Subject<'b>,
    pub aspect: Meets<'b>,
    when: When,
    state: Option<State>,
    /// Some enter hook does not fit: whether there is a state is not known.
    enter_failed: bool,
    /// The chains of the call at hand, which come in front of it.
    pub chains: Vec<Call>,
    /// The recorded call ends when the task that it gives is complete.
    follows: bool,
    /// The value at hand is recorded: what of it is known at the start is read there, by these calls.
    pub(super) early: Option<Early>,
    /// What links of the chain at hand take beside constants: where these objects are kept. Where one is null, the chain ends.
    pub(super) taken: Vec<KeptAt>,
    /// Its last link is called for what it does.
    pub(super) sends: bool,
}

/// The result of an earlier call of the hook, kept in a state of the method.
#[derive(Clone)]
pub(super) struct KeptAt {
    /// Its place in [`Keep::states`].
    pub place: u16,
    pub ty: Ty,
}

/// What of a value that is known at the end is read at the start.
#[derive(Default)]
pub(super) struct Early {
    chains: Vec<Call>,
    /// By where it stands in the file: the value may be read at both ends.
    known: Vec<(Range<usize>, Meant)>,
    /// Inside of `end(..)` nothing is.
    pub(super) is_over: bool,
}

/// Of a state whose place in [`Keep::states`] is not known yet.
const UNPLACED: u16 = u16::MAX;

/// A value that an operand may be.
#[derive(Clone)]
pub(super) struct Value {
    pub source: Source,
    pub ty: Ty,
}

/// What an operand means for a method.
#[derive(Clone)]
pub(super) enum Meant {
    Value(Value),
    /// A constant, which takes the type that is asked for.
    Constant(Word),
    /// Null or zero of any type.
    Nothing,
    /// What runs the body, as the type that is asked for.
    Proceed,
    /// A value of which the rule says `?`, and which may be no object: then it is null.
    Optional(Value),
    /// All arguments; those that cannot be objects are null, where the rule says `?`.
    Args {
        optional: bool,
    },
}

impl Binder<'_> {
    /// The hooks of a method that several aspects mean, in the order of the rules.
    pub fn bind(&self, aspects: &[Meets<'_>], subject: &Subject<'_>) -> Result<Bound, Vec<Misfit>> {
        self.bind_in(aspects, subject, false)
    }

    /// The same; `follows`: what is recorded ends when the task that it gives is complete.
    fn bind_in(
        &self,
        aspects: &[Meets<'_>],
        subject: &Subject<'_>,
        follows: bool,
    ) -> Result<Bound, Vec<Misfit>> {
        let follows = follows || self.ends_with_task(subject) && all_complete(aspects);
        let mut wrong = Vec::new();
        let mut records = Records::default();
        let mut layer = Layer::default();
        // What lies outside of each `around`, and its hook.
        let mut outer: Vec<(Layer, Call)> = Vec::new();
        // The aspects that leave something out of texts.
        let mut holding = Vec::new();
        let last_around = (aspects.iter()).rposition(|meets| meets.hooks.around.is_some());
        let is_later = subject.is_async && self.target.language() == Language::CSharp;
        let awaited = is_later.then(|| awaited(subject.signature));
        // As its hooks at the end see it.
        let completed = &Subject {
            signature: awaited.as_ref().unwrap_or(subject.signature),
            ..*subject
        };
        for (n, &aspect) in aspects.iter().enumerate() {
            let own = aspect.hooks;
            let mut binding = Binding::new(self, subject, aspect, follows);
            let is_outside = last_around.is_some_and(|last| n <= last);
            if subject.is_async
                && let Some(misfit) = binding.ends_later(is_outside)
            {
                wrong.push(misfit);
                continue;
            }
            Binding::new(self, completed, aspect, follows).hooks(&mut layer, &mut wrong);
            if let Some(written) = &own.around {
                match binding.around(written) {
                    Ok(Some(call)) => outer.push((std::mem::take(&mut layer), call)),
                    Ok(None) => {}
                    Err(misfit) => wrong.push(misfit),
                }
            }
            // Values are recorded with the pair: inside of all.
            let first = match last_around {
                Some(last) if n < last => continue,
                Some(last) if n == last => 0,
                _ => n,
            };
            for &aspect in &aspects[first..=n] {
                let values = records.enter.values.len();
                let keep = &mut layer.keep;
                let misfits =
                    self.records_of(aspect, subject, completed, follows, &mut records, keep);
                wrong.extend(misfits);
                if aspect.hooks.holds() {
                    holding.push(Holding {
                        aspect,
                        told: records.enter.values.len() > values,
                    });
                }
            }
        }
        wrong.extend(self.hold(&holding, subject, &mut records).err());
        let logical = match self.switch(aspects, subject, follows, &mut records, &mut layer.keep) {
            Ok(logical) => logical,
            Err(misfit) => {
                wrong.push(misfit);
                None
            }
        };
        if subject.span.is_none() {
            let none = OwnHooks::default();
            let mut binding = Binding::new(self, subject, Meets::none(&none), follows);
            let sent = binding.injected(aspects, &mut records, &mut layer.keep);
            wrong.extend(sent.err());
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let mut bound = layer.bound(records);
        bound.logical = logical;
        bound.later = is_later;
        for (layer, call) in outer.into_iter().rev() {
            let inner = (!bound.is_empty()).then(|| Arc::new(bound.clone()));
            let values = bound.values;
            bound = Bound {
                around: Some(Box::new(Around { call, inner })),
                values,
                ..layer.bound(Records::default())
            };
        }
        Ok(bound)
    }
}

impl Binder<'_> {
    /// Adds the values that an aspect records; `completed` is the method as its hooks at the end see it. Returns what does not fit.
    fn records_of<'b>(
        &'b self,
        aspect: Meets<'b>,
        subject: &'b Subject<'b>,
        completed: &'b Subject<'b>,
        follows: bool,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Vec<Misfit> {
        let mut wrong = Vec::new();
        let mut binding = Binding::new(self, subject, aspect, follows);
        let own = aspect.hooks;
        let records_of = own.record.iter().map(|record| Wanted {
            record,
            of_entry: false,
        });
        let entries = own.entry.iter().map(|record| Wanted {
            record,
            of_entry: true,
        });
        for wanted in records_of.chain(entries) {
            let is_late = subject.is_async && binding.is_late(wanted.record);
            if is_late && !binding.begins_at_once() {
                continue; // the rule says `?`
            }
            if subject.switched.is_some() {
                records.state(keep);
            }
            let mut at_end = Binding::new(self, completed, aspect, follows);
            let binding = if is_late { &mut at_end } else { &mut binding };
            wrong.extend(binding.record(wanted, records, keep).err());
        }
        wrong
    }

    /// The calls of a method that can be switched or is a span; what the hooks of a logical call say of its switches.
    fn switch(
        &self,
        aspects: &[Meets<'_>],
        subject: &Subject<'_>,
        follows: bool,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<Option<i32>, Misfit> {
        let Some(says) = subject.switched else {
            return Ok(None);
        };
        let none = OwnHooks::default();
        let mut binding = Binding::new(self, subject, Meets::none(&none), follows);
        if subject.is_async && self.target.language() == Language::CSharp {
            let all = [&records.enter, &records.exit, &records.exception];
            let has_values = all.iter().any(|recording| !recording.values.is_empty());
            let decided = subject.span.is_some() || has_values;
            let says = if decided { says | DECIDED } else { says };
            match (subject.span, decided) {
                (Some(rule), _) => {
                    binding.begun("Pass", says, SpanOf { rule, aspects }, records, keep)?
                }
                (None, true) => binding.decided(says, records, keep)?,
                (None, false) => {}
            }
            return Ok(Some(says));
        }
        match subject.span {
            Some(rule) => binding.spans(says, SpanOf { rule, aspects }, records, keep)?,
            None => binding.switched(says, records, keep)?,
        }
        Ok(None)
    }

    /// The calls that tell the hook library what is left out of texts, in front of all that is recorded. A value that is recorded at
    /// the start brings its mask itself: it needs no such call, unless the program's own code runs before it.
    fn hold(
        &self,
        aspects: &[Holding<'_>],
        subject: &Subject<'_>,
        records: &mut Records,
    ) -> Result<(), Misfit> {
        let none = OwnHooks::default();
        for texts in subject.texts {
            let mut how = hold::EVERYWHERE * i32::from(texts.mask.is_some());
            for (is_written, flag) in [
                (texts.messages, hold::NO_MESSAGES),
                (texts.thread_names, hold::NO_THREAD_NAMES),
                (texts.command_line, hold::NO_COMMAND_LINE),
            ] {
                how |= if is_written { 0 } else { flag };
            }
            let mut binding = Binding::new(self, subject, Meets::none(&none), false);
            binding.hold(texts.mask.as_ref(), how, records)?;
        }
        for &Holding { aspect, told } in aspects {
            let own = aspect.hooks;
            let is_told = told && records.enter.made.is_empty();
            let mask = own.mask.as_ref().filter(|_| !is_told);
            let how = if own.messages { 0 } else { hold::SILENT };
            if mask.is_some() || how != 0 {
                Binding::new(self, subject, aspect, false).hold(mask, how, records)?;
            }
        }
        Ok(())
    }
}

/// Hooks of a method, or of what an `around` runs.
#[derive(Default)]
struct Layer {
    enter: Vec<Call>,
    exit: Vec<Call>,
    exception: Vec<Call>,
    keep: Keep,
}

impl Layer {
    /// With the calls that record values.
    fn bound(self, records: Records) -> Bound {
        let Layer {
            mut enter,
            mut exit,
            mut exception,
            mut keep,
        } = self;
        let mut recorded = records.enter.calls();
        let (at_exit, at_exception) = (records.exit.calls(), records.exception.calls());
        enter.append(&mut recorded);
        exit.splice(0..0, at_exit);
        exception.splice(0..0, at_exception);
        let at_end = || exit.iter().chain(&exception);
        let mut args = Vec::new();
        for call in at_end() {
            for operand in &call.operands {
                operand.each_source(&mut |source| match source {
                    Source::Arg(n) => args.push(*n),
                    Source::This => keep.this = true,
                    Source::Duration => keep.duration = true,
                    _ => {}
                });
            }
        }
        args.sort_unstable();
        args.dedup();
        keep.args = args.into();
        Bound {
            enter: enter.into(),
            exit: exit.into(),
            exception: exception.into(),
            values: records.names.into(),
            keep,
            around: None,
            logical: None,
            later: false,
        }
    }
}

impl Binder<'_> {
    /// What is called instead of a method that several aspects mean. `subject` is that method, `descriptor` is as symbols spell
    /// it.
    pub fn bind_call(
        &self,
        aspects: &[Meets<'_>],
        subject: &Subject<'_>,
        descriptor: &str,
        callee: &Callee,
    ) -> Result<Redirect, Vec<Misfit>> {
        let replacing = (aspects.iter()).filter(|meets| meets.hooks.replace.is_some());
        // What replaces a call may record it as well.
        let has_more = |own: &OwnHooks| own.replace.is_none() || !own.record.is_empty();
        let around: Vec<Meets<'_>> = (aspects.iter().copied())
            .filter(|meets| has_more(meets.hooks))
            .collect();
        let advice = (aspects.iter()).filter_map(|meets| Some(meets.hooks.at.as_ref()?.advice));
        let advice = advice.fold(Advice::default(), Advice::with);
        let span = (aspects.iter()).find_map(|meets| meets.hooks.at.as_ref()?.traced.clone());
        let hooked = span.as_deref();
        let subject = &Subject {
            texts: match advice == Advice::default() {
                true => &[],
                false => subject.texts,
            },
            span: hooked,
            switched: hooked.map(|_| 0).or(subject.switched),
            ..*subject
        };
        let follows = advice.has(Advice::ENTER)
            && advice.has(Advice::EXIT)
            && advice.has(Advice::EXCEPTION)
            && self.is_followed(&subject.signature.result)
            && (aspects.iter())
                .filter_map(|meets| meets.hooks.at.as_ref())
                .all(|at| at.completion || at.advice == Advice::default());
        let bound = match around.is_empty() && subject.texts.is_empty() && hooked.is_none() {
            true => None,
            false => Some(Arc::new(self.bind_in(&around, subject, follows)?)),
        };
        let mut replace = None;
        for &aspect in replacing {
            let mut binding = Binding::new(self, subject, aspect, follows);
            if replace.is_some() {
                return Err(vec![binding.replaces_too()]);
            }
            replace = Some(binding.replacement(callee).map_err(|misfit| vec![misfit])?);
        }
        let recorded = (advice != Advice::default()).then(|| RecordedCall {
            advice: match hooked {
                Some(_) => advice.without(Advice::ALL),
                None => advice,
            },
            callee: MethodNames {
                ty: subject.ty.into(),
                name: subject.name.into(),
                descriptor: descriptor.into(),
            },
            span: span
                .as_ref()
                .map(|rule| rule.of_method(subject.ty, subject.name)),
            // A span has hooks of its own, which end it.
            follows: follows && hooked.is_none(),
        });
        let is_plain = bound.is_none() && recorded.is_none();
        let instead = match replace {
            Some(hook) if is_plain && hook.takes_over(callee) => Instead::Hook(hook),
            replace => {
                let parts = Parts {
                    replace: replace.as_ref(),
                    bound: bound.as_ref(),
                    recorded: recorded.as_ref(),
                };
                Instead::Method {
                    class: redirect_class(subject.home.adapters, callee, parts, None),
                    replace,
                    bound,
                    recorded,
                }
            }
        };
        Ok(Redirect {
            target: self.target,
            callee: callee.clone(),
            instead,
        })
    }

    /// Whether the calls of a method are spans that end with the tasks they give.
    fn ends_with_task(&self, subject: &Subject<'_>) -> bool {
        let is_span = subject.span.is_some() && subject.switched.is_some();
        is_span && !subject.is_async && self.is_followed(&subject.signature.result)
    }

    /// Whether a call that gives this may be over later than it returns, and can be followed.
    fn is_followed(&self, result: &Ty) -> bool {
        let Ty::Named(named) = result else {
            return false;
        };
        let assembly = named.scope.split(',').next().unwrap_or_default();
        self.target.language() == Language::CSharp
            && ["System.Threading.Tasks.Task", TASK_OF].contains(&&*named.name)
            && TASK_ASSEMBLIES.contains(&assembly)
    }
}

/// At a call: the method that makes it.
pub const CALLER: &str = "caller";

/// A task that has a result (.NET).
const TASK_OF: &str = "System.Threading.Tasks.Task`1";

impl Replacement {
    /// Whether the hook can be called as it is: it takes what the call has on the stack, and returns what the call does.
    pub fn takes_over(&self, callee: &Callee) -> bool {
        let Call { hook, operands, .. } = &self.call;
        let in_order = |(n, operand): (usize, &Operand)| {
            operand.source == Source::Arg(n as u16) && operand.convert == Convert::Same
        };
        operands.len() == callee.taken().len()
            && operands.iter().enumerate().all(in_order)
            && hook.result == callee.result
            && hook.generics == 0
            && !hook.owner_is_interface
    }
}

/// The calls that record a method's values.
#[derive(Default)]
struct Records {
    enter: Recording,
    exit: Recording,
    exception: Recording,
    names: Vec<Arc<str>>,
    /// Where it is kept what is decided of a call that can be switched.
    state: Option<u16>,
}

impl Records {
    /// What is decided of the call, as an operand.
    fn state(&mut self, keep: &mut Keep) -> Meant {
        Meant::Value(Value {
            source: Source::State(self.state_place(keep)),
            ty: INT,
        })
    }

    /// The place of that state.
    fn state_place(&mut self, keep: &mut Keep) -> u16 {
        *self.state.get_or_insert_with(|| keep.state(INT))
    }
}

const INT: Ty = Ty::Prim(Prim::I32);

/// Those of one moment.
#[derive(Default)]
struct Recording {
    /// What is left out of texts.
    held: Vec<Call>,
    /// What gives values. All of it runs before anything is recorded: it may call woven code, whose calls have values of their own.
    made: Vec<Call>,
    /// What decides about a call that can be switched.
    decides: Option<Call>,
    values: Vec<Call>,
    /// What begins or ends such a call.
    switched: Option<Call>,
    /// What sends the context of the span that has begun with a request.
    sent: Vec<Call>,
}

impl Recording {
    fn calls(self) -> Vec<Call> {
        let mut all: Vec<Call> = Vec::new();
        let groups = [
            (Role::Hold, self.held),
            (Role::Part, self.made),
            (Role::Switch, self.decides.into_iter().collect()),
            (Role::Value, self.values),
            (Role::Switch, self.switched.into_iter().collect()),
            (Role::Inject, self.sent),
        ];
        for (role, calls) in groups {
            all.extend(calls.into_iter().map(|call| match call.role {
                Role::Hook => Call { role, ..call },
                _ => call,
            }));
        }
        all
    }
}

/// The hook library's class that records values.
pub const VALUES: [&str; 2] = ["weave.runtime.Values", "Weave.Runtime.Values"];

/// The hook library's class that begins and ends calls of methods that can be switched.
pub const SWITCHED: [&str; 2] = ["weave.runtime.Switched", "Weave.Runtime.Switched"];

/// The hook library's class that begins and ends calls that are spans.
pub const SPANS: [&str; 2] = ["weave.runtime.Spans", "Weave.Runtime.Spans"];

/// The hook library's classes that hand contexts over (JVM, dex): to what runs later, and to what a parallel stream calls.
pub const HANDOVER: [&str; 2] = ["weave.runtime.Handover", "weave.runtime.Streams"];

/// The hook library's class of contexts that go with objects.
pub const QUEUED: [&str; 2] = ["weave.runtime.Queued", "Weave.Runtime.Queued"];

/// What completes a call that has returned (JVM, dex).
const STAGES: [&str; 2] = [
    "java/util/concurrent/CompletableFuture",
    "java/util/concurrent/CompletionStage",
];

/// The types of what it hands over.
const HANDED: [&str; 10] = [
    "java/lang/Runnable",
    "java/util/Collection",
    "java/util/TimerTask",
    "java/util/concurrent/Callable",
    "java/util/concurrent/ForkJoinTask",
    "java/util/function/BiConsumer",
    "java/util/function/BiFunction",
    "java/util/function/Consumer",
    "java/util/function/Function",
    "java/util/function/Supplier",
];

/// Streams, which may be parallel; and what their functions' types begin and end with.
const STREAMS: [&str; 4] = [
    "java/util/stream/DoubleStream",
    "java/util/stream/IntStream",
    "java/util/stream/LongStream",
    "java/util/stream/Stream",
];
const FUNCTIONS: &str = "java/util/function/";
/// Functions that give a stream nothing of its elements, or that streams do not take.
const NO_STREAMED: [&str; 2] = ["Supplier", "Obj"];

/// Whether a stream calls functions of this type for its elements.
fn is_streamed_function(name: &str) -> bool {
    let name = name.strip_prefix(FUNCTIONS);
    name.is_some_and(|name| !NO_STREAMED.iter().any(|odd| name.starts_with(odd)))
}

/// How many headers the hook library asks for and sends at most: as many as all of its propagators have.
const HEADERS: i64 = 10;

/// What a free word stands for.
fn replace(operands: &mut [HookOperand], free: &str, word: &Word) {
    for operand in operands {
        if matches!(&operand.word, Word::Named(name) if name == free) {
            operand.word = word.clone();
        }
    }
}

/// Whether no aspect lets calls end at their return that give a task or a stage.
fn all_complete(aspects: &[Meets<'_>]) -> bool {
    aspects.iter().all(|meets| meets.hooks.completion)
}

/// A word that no rule has written.
fn operand(word: Word, place: &Range<usize>) -> HookOperand {
    HookOperand {
        word,
        optional: false,
        members: Vec::new(),
        place: place.clone(),
    }
}

/// What is asked for, as an operand of a hook.
fn operand_of(value: &OwnRecord) -> HookOperand {
    match &value.value {
        Recorded::Operand(operand) => operand.clone(),
        Recorded::Text(text) => operand(Word::TextOf(Box::new(text.clone())), &value.span),
        Recorded::Call(call) => operand(Word::Call(Box::new(call.clone())), &value.span),
    }
}

/// The method's id, as an operand.
fn id() -> Meant {
    Meant::Value(Value {
        source: Source::Id,
        ty: INT,
    })
}

impl<'b> Binding<'b> {
    fn new(
        binder: &'b Binder<'b>,
        subject: &'b Subject<'b>,
        aspect: Meets<'b>,
        follows: bool,
    ) -> Binding<'b> {
        Binding {
            binder,
            subject,
            aspect,
            when: When::Enter,
            state: None,
            enter_failed: false,
            chains: Vec::new(),
            follows,
            early: None,
            taken: Vec::new(),
            sends: false,
        }
    }

    /// The aspect's hooks at the start and at the end.
    fn hooks(&mut self, layer: &mut Layer, wrong: &mut Vec<Misfit>) {
        let own = self.aspect.hooks;
        let (handed, resumed) = (self.handed(), self.resumed());
        let queued = match self.queued() {
            Ok(queued) => queued,
            Err(misfit) => return wrong.push(misfit),
        };
        // The exit hooks of the aspects around.
        let exits = layer.exit.len() as u16;
        let mut calls = |hooks: &[OwnHook], when, into: &mut Vec<Call>, keep: &mut Keep| {
            self.when = when;
            for hook in hooks {
                match self.hook(hook, exits, keep) {
                    Ok(None) => {}
                    Ok(Some(call)) => {
                        into.append(&mut self.chains);
                        let is_plain = hook.call.changes == Changes::Nothing;
                        if when == When::Enter && is_plain && call.hook.result != Ty::Void {
                            self.state = Some(State {
                                ty: instantiate(&call.hook.result, &call.generics),
                                call: into.len(),
                                kept: None,
                            });
                        }
                        into.push(call);
                    }
                    Err(misfit) => {
                        self.enter_failed |= when == When::Enter;
                        wrong.push(misfit);
                    }
                }
            }
        };
        let Layer {
            enter,
            exit,
            exception,
            keep,
        } = layer;
        let first = enter.len();
        calls(&own.enter, When::Enter, enter, keep);
        calls(&handed, When::Enter, enter, keep);
        calls(&resumed.enter, When::Enter, enter, keep);
        calls(&queued.enter, When::Enter, enter, keep);
        let (mut at_exit, mut at_exception) = (Vec::new(), Vec::new());
        calls(&own.exit, When::Exit, &mut at_exit, keep);
        calls(&resumed.exit, When::Exit, &mut at_exit, keep);
        calls(&queued.exit, When::Exit, &mut at_exit, keep);
        calls(&own.exception, When::Exception, &mut at_exception, keep);
        calls(&resumed.exception, When::Exception, &mut at_exception, keep);
        calls(&queued.exception, When::Exception, &mut at_exception, keep);
        if let Some(State {
            call,
            kept: Some(kept),
            ..
        }) = self.state
        {
            enter[call].dest = Dest::State(kept);
        }
        // Where the body is left out, the aspect's own exit hooks run as well.
        for call in &mut enter[first..] {
            if let Dest::ReturnUnlessNull { exits } | Dest::SkipWhen { exits } = &mut call.dest {
                *exits += at_exit.len() as u16;
            }
        }
        // Aspects nest: the first one's hooks come last at the end.
        exit.splice(0..0, at_exit);
        exception.splice(0..0, at_exception);
    }

    /// The hooks of a method that is no span itself, and goes on in one that an object keeps.
    fn resumed(&self) -> OwnHooks {
        let (own, mut hooks) = (self.aspect.hooks, OwnHooks::default());
        let is_span = self.subject.span.is_some();
        let Some(kept) = own.kept().filter(|_| !is_span) else {
            return hooks;
        };
        if self.binder.target.language() != Language::Java {
            return hooks; // contexts flow by themselves
        }
        let word = |word: Word| operand(word, &kept.span);
        let value = operand_of;
        let hook = |method: &str, operands: Vec<HookOperand>| {
            let count = operands.len();
            let mut hook = self.of_library([HANDOVER[0]; 2], method, &kept.span, count);
            hook.call.operands = operands;
            hook
        };
        let goes_on = own.context.as_ref().and_then(|c| c.goes_on.as_ref());
        let goes_on = goes_on.map_or_else(|| word(Word::Bool(false)), value);
        hooks.enter = vec![hook("resume", vec![value(kept)])];
        hooks.exit = vec![hook("suspend", vec![word(Word::State), goes_on])];
        hooks.exception = vec![hook(
            "failed",
            vec![word(Word::Exception), word(Word::State)],
        )];
        hooks
    }

    /// The hooks that hand arguments over.
    fn handed(&self) -> Vec<OwnHook> {
        let Some(handed) = self.aspect.hooks.handed() else {
            return Vec::new();
        };
        if self.binder.target.language() != Language::Java {
            return Vec::new(); // contexts flow by themselves
        }
        let parameters = &self.subject.signature.parameters;
        let this = self.subject.signature.this.as_ref();
        let is_streamed = this
            .and_then(|ty| ty.name())
            .is_some_and(|name| STREAMS.contains(&name));
        let can_be = |n: &u16| {
            let parameter = parameters.get(usize::from(*n));
            let name = parameter.and_then(|parameter| parameter.ty.name());
            name.is_some_and(|name| match is_streamed {
                true => is_streamed_function(name),
                false => HANDED.contains(&name),
            })
        };
        let named = handed
            .args
            .iter()
            .filter(|(n, optional)| !optional || can_be(n));
        let named = named.map(|(n, _)| *n);
        let is_named = |n: &u16| handed.args.iter().any(|(named, _)| named == n);
        let all = (0..parameters.len() as u16).filter(|n| handed.all && !is_named(n) && can_be(n));
        let word = |word: Word| HookOperand {
            word,
            optional: false,
            members: Vec::new(),
            place: 0..0,
        };
        let [task, stream] = HANDOVER;
        let hook = |n: u16| {
            let (class, first) = match is_streamed {
                true => (stream, Some(word(Word::Target))),
                false => (task, None),
            };
            let operands: Vec<HookOperand> =
                first.into_iter().chain([word(Word::Arg(n))]).collect();
            let mut hook = self.of_library([class; 2], "of", &handed.span, operands.len());
            hook.call.operands = operands;
            hook.call.changes = Changes::Value(word(Word::Arg(n)));
            hook.changes = handed.span.clone();
            hook
        };
        named.chain(all).map(hook).collect()
    }

    pub(super) fn complains(
        &self,
        span: Range<usize>,
        title: String,
        what: impl Into<String>,
        help: Option<String>,
    ) -> Misfit {
        Misfit {
            source: Arc::clone(&self.aspect.hooks.source),
            span,
            title,
            what: what.into(),
            method: self.shown_method(),
            help,
        }
    }

    /// The call without an adapter.
    fn plain_call(&mut self, written: &OwnHook, keep: &mut Keep) -> Result<Call, Misfit> {
        let mut meant = Vec::new();
        let mut places = Vec::new();
        for (operand, place) in written.call.operands.iter().zip(&written.operands) {
            if operand.word == Word::EachArg {
                for n in 0..self.subject.signature.parameters.len() {
                    meant.push(match self.argument(n as u16, operand, place)? {
                        Meant::Value(value) if operand.optional && is_no_object(&value.ty) => {
                            Meant::Optional(value)
                        }
                        meant => meant,
                    });
                    places.push(place.clone());
                }
                continue;
            }
            meant.push(match self.value(operand, place, keep)? {
                Meant::Value(value) if operand.optional && is_no_object(&value.ty) => {
                    Meant::Optional(value)
                }
                meant => meant,
            });
            places.push(place.clone());
        }
        if places.len() == written.operands.len() {
            return self.call_with(written, &meant, keep);
        }
        let written = OwnHook {
            operands: places,
            ..written.clone()
        };
        self.call_with(&written, &meant, keep)
    }

    /// What is called instead of the subject.
    fn replacement(&mut self, callee: &Callee) -> Result<Replacement, Misfit> {
        let own = self.aspect.hooks;
        let written = own.replace.as_ref().expect("the caller has looked");
        if let Some(place) = asked_for(written) {
            return Err(self.complains(
                place,
                "`replace` does not take chains yet".into(),
                "of",
                Some("read the value in the hook".into()),
            ));
        }
        let call = self.plain_call(written, &mut Keep::default())?;
        let result = instantiate(&call.hook.result, &call.generics);
        let how = match (&callee.result, &result) {
            (Ty::Void, _) => Ok(Convert::Same),
            (_, Ty::Void) => Err(Why::Other),
            (to, from) => convert(self.binder.hierarchy, from, to, &mut vec![]).map(|(_, how)| how),
        };
        match how {
            Ok(convert) => Ok(Replacement {
                call,
                convert,
                result,
            }),
            Err(why) => Err(self.gives_wrong(written, &result, &callee.result, why)),
        }
    }

    /// A hook's result is not what is asked for.
    fn gives_wrong(&self, written: &OwnHook, result: &Ty, wanted: &Ty, why: Why) -> Misfit {
        let returns = match result {
            Ty::Void => "nothing".to_owned(),
            ty => article(&self.shown_type(ty)),
        };
        let wanted = article(&self.shown_type(wanted));
        let help = match why {
            Why::Unknown => {
                "name the jar or assembly that has the type with --reference".to_owned()
            }
            _ => format!("let it return {wanted}"),
        };
        self.complains(
            written.name.clone(),
            format!(
                "`{}.{}` returns {returns}",
                written.call.ty, written.call.method
            ),
            format!("where {wanted} is expected, of"),
            Some(help),
        )
    }

    /// Another aspect replaces the call already.
    fn replaces_too(&self) -> Misfit {
        let written = self.aspect.hooks.replace.as_ref();
        self.complains(
            written.map_or(0..0, |written| written.name.clone()),
            "two aspects replace the same call".into(),
            "of",
            Some("narrow `at` or `match` of one of them".into()),
        )
    }

    fn call(&mut self, written: &OwnHook, keep: &mut Keep) -> Result<Call, Misfit> {
        let mut call = self.plain_call(written, keep)?;
        // What hands over throws nothing, and reaches nothing that is woven.
        let is_library = [HANDOVER, QUEUED].concat().contains(&&*written.call.ty);
        let guard = self.aspect.hooks.guard && !is_library;
        let recursion = !is_library && (self.binder.may_reach)(&call.hook);
        call.adapter = (guard || recursion).then(|| Adapter {
            class: adapter_class(
                self.subject.home.adapters,
                &call.hook,
                guard,
                recursion,
                &None,
            ),
            guard,
            recursion,
            change: None,
        });
        Ok(call)
    }

    /// A call of the hook library that no rule has written.
    pub(super) fn of_library(
        &self,
        class: [&str; 2],
        method: &str,
        span: &Range<usize>,
        operands: usize,
    ) -> OwnHook {
        let [java, dotnet] = class;
        let library = match self.binder.target.language() {
            Language::Java => java,
            Language::CSharp => dotnet,
        };
        OwnHook {
            call: HookCall {
                ty: library.to_owned(),
                method: method.to_owned(),
                name: 0..0,
                operands: Vec::new(),
                changes: Changes::Nothing,
            },
            name: span.clone(),
            operands: vec![span.clone(); operands],
            changes: 0..0,
        }
    }

    /// A call whose result is kept for another one, and that result.
    pub(super) fn kept_call(
        &mut self,
        written: &OwnHook,
        place: &Range<usize>,
        keep: &mut Keep,
    ) -> Result<(Call, Meant), Misfit> {
        let mut call = self.call(written, keep)?;
        let ty = instantiate(&call.hook.result, &call.generics);
        if ty == Ty::Void {
            let title = format!("`{}` returns nothing", call.hook.name);
            return Err(self.complains(place.clone(), title, "for", None));
        }
        let place = keep.state(ty.clone());
        call.dest = Dest::State(place);
        let source = Source::State(place);
        Ok((call, Meant::Value(Value { source, ty })))
    }

    /// The call of the overload that fits best, without an adapter.
    pub(super) fn call_with(
        &mut self,
        written: &OwnHook,
        meant: &[Meant],
        keep: &mut Keep,
    ) -> Result<Call, Misfit> {
        let call = &written.call;
        let (ty, methods) = self.overloads(written)?;
        let mut best: Vec<Candidate<'_>> = Vec::new();
        let mut first_wrong = None;
        for method in &methods {
            match self.candidate(method, meant) {
                Ok(candidate) => best.push(candidate),
                Err(wrong) => first_wrong = first_wrong.or(Some(wrong)),
            }
        }
        if best.is_empty() {
            // As Java has it, only where none takes them as they are (JLS 15.12.2.4).
            let spread = methods
                .iter()
                .filter_map(|m| self.candidate_of_more(m, meant));
            best.extend(spread);
        }
        let fits =
            |c: &Candidate<'_>| -> Vec<Fit> { c.operands.iter().map(|(fit, _)| *fit).collect() };
        let is_better = |a: &Candidate<'_>, b: &Candidate<'_>| {
            let (fa, fb) = (fits(a), fits(b));
            match fa.iter().zip(&fb).all(|(a, b)| a <= b) && fa != fb {
                true => true,
                // Equally near: the one whose parameters the other's take (JLS 15.12.2.5).
                false => fa == fb && self.is_more_specific(a.method, b.method),
            }
        };
        let winner = best
            .iter()
            .position(|a| best.iter().all(|b| std::ptr::eq(a, b) || is_better(a, b)));
        let chosen = match (winner, &*best) {
            (Some(winner), _) => best.swap_remove(winner),
            (None, []) => return Err(self.nothing_fits(written, &methods, meant, first_wrong)),
            (None, several) => {
                let all: Vec<String> = several.iter().map(|c| self.shown_call(c.method)).collect();
                return Err(self.complains(
                    written.name.clone(),
                    format!("several `{}.{}` fit equally well", call.ty, call.method),
                    "for",
                    Some(format!("there are {}", all.join(", "))),
                ));
            }
        };
        let hook = Arc::new(Hook {
            owner: ty.ty.clone(),
            owner_is_interface: ty.is_interface,
            name: chosen.method.name.clone(),
            parameters: (chosen.method.signature.parameters.iter())
                .map(|p| p.ty.clone())
                .collect(),
            result: chosen.method.signature.result.clone(),
            generics: chosen.method.signature.generics,
            links: Box::default(),
        });
        let operands: Box<[Operand]> = chosen
            .operands
            .into_iter()
            .map(|(_, operand)| operand)
            .collect();
        if let Some(state) = &mut self.state
            && operands
                .iter()
                .any(|o| matches!(o.source, Source::State(UNPLACED)))
            && state.kept.is_none()
        {
            state.kept = Some(keep.state(state.ty.clone()));
        }
        let kept = self.state.as_ref().and_then(|state| state.kept);
        let operands = (operands.into_iter())
            .map(|operand| match operand.source {
                Source::State(UNPLACED) => Operand {
                    source: Source::State(kept.unwrap_or_default()),
                    ..operand
                },
                _ => operand,
            })
            .collect();
        Ok(Call {
            role: Role::Hook,
            adapter: None,
            hook,
            generics: chosen.generics.into(),
            operands,
            dest: Dest::Drop,
            given: None,
        })
    }

    pub(super) fn string(&self) -> Ty {
        self.platform("java/lang/String", "System.String")
    }

    pub(super) fn object(&self) -> Ty {
        self.platform("java/lang/Object", "System.Object")
    }

    fn throwable(&self) -> Ty {
        self.platform("java/lang/Throwable", "System.Exception")
    }

    fn platform(&self, java: &str, dotnet: &str) -> Ty {
        Ty::class(match self.binder.target.language() {
            Language::Java => java,
            Language::CSharp => dotnet,
        })
    }

    /// Whether nothing is known of a struct.
    fn is_missing(&self, ty: &Ty) -> bool {
        let structs = &self.binder.hierarchy.structs;
        matches!(ty, Ty::Named(named) if structs.is_missing(&named.name))
    }

    pub(super) fn shown_type(&self, ty: &Ty) -> String {
        ty.shown(self.binder.target.language())
    }

    fn shown_parameters(&self, signature: &Signature) -> String {
        let parameters = signature.parameters.iter();
        let types: Vec<String> = parameters.map(|p| self.shown_type(&p.ty)).collect();
        format!("({})", types.join(", "))
    }

    fn shown_call(&self, method: &HookMethod) -> String {
        format!(
            "{}{}",
            method.name,
            self.shown_parameters(&method.signature)
        )
    }

    fn shown_method(&self) -> String {
        let subject = self.subject;
        if let Some(at) = subject.at {
            return at.shown.to_owned();
        }
        let parameters = self.shown_parameters(subject.signature);
        format!("{}.{}{parameters}", dotted(subject.ty), subject.name)
    }

    /// An operand's type, for messages.
    fn shown(&self, meant: &Meant) -> String {
        match meant {
            Meant::Value(value) | Meant::Optional(value) => self.shown_type(&value.ty),
            Meant::Constant(Word::Int(_)) => "int".into(),
            Meant::Constant(Word::Double(_)) => "double".into(),
            Meant::Constant(Word::Bool(_)) => Prim::Bool.word(self.binder.target.language()).into(),
            Meant::Constant(_) => self.shown_type(&self.string()),
            Meant::Nothing => "null".into(),
            Meant::Proceed => "proceed".into(),
            Meant::Args { .. } => format!("{}[]", self.shown_type(&self.object())),
        }
    }
}

impl Operand {
    /// Shows its source, or those of its elements.
    pub fn each_source(&self, each: &mut dyn FnMut(&Source)) {
        match &self.source {
            Source::Args(elements) => elements.iter().for_each(|e| e.each_source(each)),
            source => each(source),
        }
    }
}

/// The class of an adapter: named by the hook's method, and by a hash over all that is in it.
pub(super) fn adapter_class(
    prefix: &str,
    hook: &Hook,
    guard: bool,
    recursion: bool,
    change: &Option<Change>,
) -> Arc<str> {
    let mut hash = Sha256::new();
    hash.update(format!(
        "{:?} {} {:?} {:?} {guard} {recursion}",
        hook.owner, hook.name, hook.parameters, hook.result
    ));
    if !hook.links.is_empty() {
        hash.update(format!("{:?}", hook.links));
    }
    if let Some(change) = change {
        hash.update(format!(" {change:?}"));
    }
    let digest = hash.finalize();
    let name: String = hook
        .name
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .collect();
    format!(
        "{prefix}{name}_{:02x}{:02x}{:02x}{:02x}",
        digest[0], digest[1], digest[2], digest[3]
    )
    .into()
}

/// What is in a method that is called instead.
#[derive(Default)]
struct Parts<'a> {
    replace: Option<&'a Replacement>,
    bound: Option<&'a Arc<Bound>>,
    recorded: Option<&'a RecordedCall>,
}

/// The class of the method that is called instead: named by the callee, and by a hash over all that is in it.
fn redirect_class(
    prefix: &str,
    callee: &Callee,
    parts: Parts<'_>,
    placed: Option<&Placed>,
) -> Arc<str> {
    let Parts {
        replace,
        bound,
        recorded,
    } = parts;
    /// Names of methods may be of any length.
    const LONGEST: usize = 40;
    let mut hash = Sha256::new();
    hash.update(format!("{callee:?} {replace:?} {}", listed(bound)));
    if let Some(recorded) = recorded {
        hash.update(format!("{recorded:?}"));
    }
    if recorded.is_some_and(|recorded| recorded.follows) {
        hash.update("follows");
    }
    if let Some(placed) = placed {
        hash.update(format!("{placed:?}"));
    }
    let digest = hash.finalize();
    let name = callee.name.chars().filter(char::is_ascii_alphanumeric);
    let name: String = name.take(LONGEST).collect();
    let digits: String = digest[..8].iter().map(|b| format!("{b:02x}")).collect();
    let what = match placed {
        None => "call",
        Some(_) => "at",
    };
    format!("{prefix}{what}_{name}_{digits}").into()
}

/// All that is bound at a call. Nothing lies around a body there, and names stay what they were before that could be.
fn listed(bound: Option<&Arc<Bound>>) -> String {
    let Some(bound) = bound else {
        return "None".to_owned();
    };
    let Bound {
        enter,
        exit,
        exception,
        values,
        keep,
        around: _,
        logical: _,
        later: _,
    } = &**bound;
    let records = format!(
        "Counts {{ enter: {}, exit: {}, exception: {} }}",
        bound.enters().behind.len(),
        bound.exits().front.len(),
        bound.exceptions().front.len()
    );
    format!(
        "Some(Bound {{ enter: {enter:?}, exit: {exit:?}, exception: {exception:?}, records: {records}, values: {values:?}, keep: {keep:?} }})"
    )
}

/// Where a hook takes something that calls of its own give: a chain, or what a static method returns.
fn asked_for(written: &OwnHook) -> Option<Range<usize>> {
    let mut operands = written.call.operands.iter().zip(&written.operands);
    operands.find_map(|(operand, place)| match operand.members.first() {
        Some(member) => Some(member.place.clone()),
        None => (!operand.word.inner().is_empty() || matches!(operand.word, Word::Call(_)))
            .then(|| place.clone()),
    })
}

/// The signature of an async method as its author wrote it: with what its task gives as the result.
fn awaited(signature: &Signature) -> Signature {
    let result = match &signature.result {
        ty if is_enumerated(ty) => Ty::Void,
        Ty::Named(task) if task.args.len() == 1 => task.args[0].clone(),
        _ => Ty::Void,
    };
    Signature {
        result,
        ..signature.clone()
    }
}

/// Whether a method that gives this, and may end later, is an iterator or async iterator.
pub fn is_enumerated(ty: &Ty) -> bool {
    matches!(ty, Ty::Named(named) if named.name.starts_with("System.Collections."))
}

/// A noun with its article.
pub(super) fn article(noun: &str) -> String {
    let an = noun.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']);
    format!("{} `{noun}`", if an { "an" } else { "a" })
}

/// A type's name with dots between packages.
pub(super) fn dotted(ty: &str) -> String {
    ty.replace('/', ".")
}

/// An overload that takes the operands.
struct Candidate<'c> {
    method: &'c HookMethod,
    operands: Vec<(Fit, Operand)>,
    generics: Vec<Ty>,
}

/// Why an overload does not take the operands.
#[derive(Clone, Copy)]
struct Unfitting {
    /// The operand that does not fit; `None`: all together do not.
    at: Option<usize>,
    why: Why,
}

impl Unfitting {
    const ALL: Unfitting = Unfitting {
        at: None,
        why: Why::Other,
    };
}

/// Whether a value of a type cannot become an object.
fn is_no_object(ty: &Ty) -> bool {
    match ty {
        Ty::ByRef(inner) => is_no_object(inner),
        Ty::Pointer(_) | Ty::Opaque(_) => true,
        Ty::Named(named) => named.by_ref_like,
        _ => false,
    }
}

/// Makes a call at the start, and keeps what it gives.
fn kept_result(mut call: Call, made: &mut Vec<Call>, keep: &mut Keep) -> Meant {
    let ty = call.hook.result.clone();
    let state = keep.state(ty.clone());
    call.dest = Dest::State(state);
    made.push(call);
    Meant::Value(Value {
        source: Source::State(state),
        ty,
    })
}

/// A value.
fn given(source: Source, ty: Ty) -> Result<Meant, Misfit> {
    Ok(Meant::Value(Value { source, ty }))
}
