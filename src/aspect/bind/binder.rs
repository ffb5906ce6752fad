//! From a call as it is written to the method that it calls, with an operand for each of its parameters.

mod around;
mod change;
mod point;
mod queued;

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
use crate::aspect::joinpoint::Callee;
use crate::aspect::pointcut::Hierarchy;
use crate::aspect::rules::hook::{Changes, HookCall, HookOperand, Recorded, Word};
use crate::aspect::rules::mask::Mask;
use crate::aspect::rules::model::{Inject, OwnHook, OwnHooks, OwnRecord, Texts};
use crate::aspect::rules::nearest_name;
use crate::spans::SpanRule;
use crate::switches::DECIDED;
use sha2::{Digest, Sha256};
use std::ops::Range;
use std::sync::Arc;

/// What hooks are bound for: a method that rules match.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The type that declares it, in its format's spelling.
    pub ty: &'a str,
    pub name: &'a str,
    pub signature: &'a Signature,
    /// It may end long after it returned (async methods, iterators, coroutines).
    pub is_async: bool,
    /// The file that it is in.
    pub artifact: &'a str,
    /// What names of adapters begin with, package and all (JVM, dex).
    pub adapters: &'a str,
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
    /// Nothing but a method's type and name, and the artifact with the beginning of adapters' names.
    pub fn new(
        (ty, name): (&'a str, &'a str),
        signature: &'a Signature,
        (artifact, adapters): (&'a str, &'a str),
    ) -> Subject<'a> {
        Subject {
            ty,
            name,
            signature,
            is_async: false,
            artifact,
            adapters,
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

/// An aspect that meets a method: its number, its name and its hooks.
pub type Meets<'a> = (u32, &'a str, &'a OwnHooks);

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
    /// What links of the chain at hand take beside constants: where these texts are kept. Where one is null, the chain ends.
    pub(super) taken: Vec<u16>,
    /// Its last link is called for what it does.
    pub(super) sends: bool,
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
        // The aspects that leave something out of texts, and whether a value at the start tells their masks.
        let mut holding = Vec::new();
        let last_around = (aspects.iter()).rposition(|(_, _, own)| own.around.is_some());
        let is_later = subject.is_async && self.target.language() == Language::CSharp;
        let awaited = is_later.then(|| awaited(subject.signature));
        // As its hooks at the end see it.
        let completed = &Subject {
            signature: awaited.as_ref().unwrap_or(subject.signature),
            ..*subject
        };
        for (n, &aspect) in aspects.iter().enumerate() {
            let own = aspect.2;
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
                let mut binding = Binding::new(self, subject, aspect, follows);
                let values = records.enter.values.len();
                let own = aspect.2;
                let records_of = own.record.iter().map(|record| (record, false));
                let entries = own.entry.iter().map(|record| (record, true));
                for (record, of_entry) in records_of.chain(entries) {
                    let is_late = subject.is_async && binding.is_late(record);
                    if is_late && !binding.begins_at_once() {
                        continue; // the rule says `?`
                    }
                    if subject.switched.is_some() {
                        records.state(&mut layer.keep);
                    }
                    let keep = &mut layer.keep;
                    let mut at_end = Binding::new(self, completed, aspect, follows);
                    let binding = if is_late { &mut at_end } else { &mut binding };
                    if let Err(misfit) = binding.record((record, of_entry), &mut records, keep) {
                        wrong.push(misfit);
                    }
                }
                if aspect.2.holds() {
                    holding.push((aspect, records.enter.values.len() > values));
                }
            }
        }
        wrong.extend(self.hold(&holding, subject, &mut records).err());
        let mut logical = None;
        if let Some(says) = subject.switched {
            let none = OwnHooks::default();
            let mut binding = Binding::new(self, subject, (0, "", &none), follows);
            let (records, keep) = (&mut records, &mut layer.keep);
            let bound = match subject.is_async && self.target.language() == Language::CSharp {
                true => {
                    let all = [&records.enter, &records.exit, &records.exception];
                    let has_values = all.iter().any(|recording| !recording.values.is_empty());
                    let decided = subject.span.is_some() || has_values;
                    let says = if decided { says | DECIDED } else { says };
                    logical = Some(says);
                    match (subject.span, decided) {
                        (Some(rule), _) => binding.passed(says, (rule, aspects), records, keep),
                        (None, true) => binding.decided(says, records, keep),
                        (None, false) => Ok(()),
                    }
                }
                false => match subject.span {
                    Some(rule) => binding.spans(says, (rule, aspects), records, keep),
                    None => binding.switched(says, records, keep),
                },
            };
            wrong.extend(bound.err());
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
    /// The calls that tell the hook library what is left out of texts, in front of all that is recorded. A value that is recorded at
    /// the start brings its mask itself: it needs no such call, unless the program's own code runs before it.
    fn hold(
        &self,
        aspects: &[(Meets<'_>, bool)],
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
            let mut binding = Binding::new(self, subject, (0, "", &none), false);
            binding.hold(texts.mask.as_ref(), how, records)?;
        }
        for &(aspect, is_told) in aspects {
            let own = aspect.2;
            let is_told = is_told && records.enter.made.is_empty();
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
        let replacing = aspects.iter().filter(|(_, _, own)| own.replace.is_some());
        // What replaces a call may record it as well.
        let has_more = |own: &OwnHooks| own.replace.is_none() || !own.record.is_empty();
        let around: Vec<Meets<'_>> = (aspects.iter().copied())
            .filter(|(_, _, own)| has_more(own))
            .collect();
        let advice = (aspects.iter()).filter_map(|(_, _, own)| Some(own.at.as_ref()?.advice));
        let advice = advice.fold(Advice::default(), Advice::with);
        let span = (aspects.iter()).find_map(|(_, _, own)| own.at.as_ref()?.traced.clone());
        // Of .NET the plain pair is the span's, and its context the platform's.
        let hooked = span
            .as_deref()
            .filter(|_| self.target.language() == Language::Java);
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
                .filter_map(|(_, _, own)| own.at.as_ref())
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
            name: [subject.ty, subject.name, descriptor].map(Box::from),
            span: span
                .as_ref()
                .map(|rule| rule.of_method(subject.ty, subject.name)),
            follows,
        });
        let is_plain = bound.is_none() && recorded.is_none();
        let instead = match replace {
            Some(hook) if is_plain && hook.takes_over(callee) => Instead::Hook(hook),
            replace => {
                let parts = (replace.as_ref(), bound.as_ref(), recorded.as_ref());
                Instead::Method {
                    class: redirect_class(subject.adapters, callee, parts, None),
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
        let place = *self.state.get_or_insert_with(|| keep.state(INT));
        Meant::Value(Value {
            source: Source::State(place),
            ty: INT,
        })
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
    aspects.iter().all(|(_, _, own)| own.completion)
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

/// An overload that takes the operands.
struct Candidate<'c> {
    method: &'c HookMethod,
    operands: Vec<(Fit, Operand)>,
    generics: Vec<Ty>,
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
        let own = self.aspect.2;
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
        let (own, mut hooks) = (self.aspect.2, OwnHooks::default());
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
        let Some(handed) = self.aspect.2.handed() else {
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
            source: Arc::clone(&self.aspect.2.source),
            span,
            title,
            what: what.into(),
            method: self.shown_method(),
            help,
        }
    }

    /// Whether a method that may end long after it has returned runs when it is called, at first: it is an async method of .NET.
    fn begins_at_once(&self) -> bool {
        self.binder.target.language() == Language::CSharp
            && !is_enumerated(&self.subject.signature.result)
    }

    /// Whether a value of such a method cannot be recorded.
    fn is_late(&self, record: &OwnRecord) -> bool {
        let operands = record.value.operands().iter();
        !self.begins_at_once()
            || operands
                .map(|operand| self.known_at(operand))
                .any(|moment| moment != Moment::Start)
    }

    /// What cannot be done in such a method. `is_outside`: a hook runs instead of its body, inside of the aspect's own hooks.
    fn ends_later(&self, is_outside: bool) -> Option<Misfit> {
        let begins_at_once = self.begins_at_once();
        let refused = match self.binder.target.language() {
            Language::Java => self.refuses_all(),
            Language::CSharp => self.refuses_some(is_outside),
        };
        if refused.is_some() {
            return refused;
        }
        let own = self.aspect.2;
        let is_asked_for = |record: &&OwnRecord| match &record.value {
            Recorded::Operand(operand) | Recorded::Text(operand) => !operand.optional,
            Recorded::Call(_) => true,
        };
        if begins_at_once {
            let records = own.record.iter().chain(&own.entry);
            let late = records
                .filter(|_| !own.guard)
                .find(|record| self.is_late(record))?;
            return Some(self.complains(
                late.span.clone(),
                "a value at the end of an async method has its guard".into(),
                "what it throws would reach nobody who awaits",
                Some("leave `guard = false` out".into()),
            ));
        }
        let mut late = (own.record.iter()).filter(|record| self.is_late(record));
        let place = &late.find(is_asked_for)?.span;
        let title = "values of iterators and suspend functions are not recorded yet";
        Some(self.left_out(place, title, "for"))
    }

    fn left_out(&self, place: &Range<usize>, title: &str, what: &str) -> Misfit {
        let help = "leave them out: `exclude = { kind = \"async\" }`";
        self.complains(place.clone(), title.into(), what, Some(help.into()))
    }

    /// `suspend` functions have no hooks.
    fn refuses_all(&self) -> Option<Misfit> {
        let own = self.aspect.2;
        let hooks = own.enter.iter().chain(&own.exit).chain(&own.exception);
        let around = own.around.iter().filter(|hook| !around::passes_over(hook));
        let hook = hooks.chain(around).next()?;
        Some(self.left_out(
            &hook.name,
            "own hooks of a method that ends after it has returned are not there yet",
            "for the suspend function",
        ))
    }

    /// What no async method or iterator of .NET can do.
    fn refuses_some(&self, is_outside: bool) -> Option<Misfit> {
        let own = self.aspect.2;
        let leaves_out =
            |hook: &&OwnHook| matches!(hook.call.changes, Changes::Return(_) | Changes::Skip(_));
        if let Some(hook) = own.enter.iter().find(leaves_out) {
            return Some(self.complains(
                hook.changes.clone(),
                "the body of an async method or iterator is left out by `around` alone".into(),
                "for",
                Some("a hook `around` that does not call `proceed`".into()),
            ));
        }
        let at_end = own.exit.iter().chain(&own.exception).next()?;
        if is_outside {
            return Some(self.complains(
                at_end.name.clone(),
                "a hook at the end of an async method or iterator does not lie outside of an `around`".into(),
                "for",
                Some("write the aspect behind that with `around`, or let that hook await the task".into()),
            ));
        }
        if !own.guard {
            return Some(self.complains(
                at_end.name.clone(),
                "a hook at the end of an async method or iterator has its guard".into(),
                "what it throws would reach nobody who awaits",
                Some("leave `guard = false` out".into()),
            ));
        }
        let ends = |hook: &&OwnHook| matches!(&hook.call.changes, Changes::Value(_));
        let hook = own.exception.iter().find(ends)?;
        Some(self.complains(
            hook.changes.clone(),
            "an exception of an async method or iterator does not end in a hook".into(),
            "for",
            Some("`throw ..` puts another one in its place; a hook `around` can await and catch it".into()),
        ))
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
        let own = self.aspect.2;
        let written = own.replace.as_ref().expect("the caller has looked");
        if let Some(place) = asked_for(written) {
            return Err(self.complains(
                place,
                "chains in a replacement are not there yet".into(),
                "of",
                Some("let the hook ask for it".into()),
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
        let written = self.aspect.2.replace.as_ref();
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
        let guard = self.aspect.2.guard && !is_library;
        let recursion = !is_library && (self.binder.may_reach)(&call.hook);
        call.adapter = (guard || recursion).then(|| Adapter {
            class: adapter_class(self.subject.adapters, &call.hook, guard, recursion, &None),
            guard,
            recursion,
            change: None,
        });
        Ok(call)
    }

    /// The call that records a value. It needs no adapter: the hook library throws nothing.
    fn record(
        &mut self,
        (record, of_entry): (&OwnRecord, bool),
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let operands = record.value.operands().iter();
        let moment = operands.fold(Moment::Start, |all, operand| {
            all.with(self.known_at(operand))
        });
        let moments: &[When] = match moment {
            Moment::Start => &[When::Enter],
            Moment::Exit => &[When::Exit],
            Moment::Exception => &[When::Exception],
            Moment::End => &[When::Exit, When::Exception],
            Moment::Never => {
                return Err(self.complains(
                    record.span.clone(),
                    "`result` and `exception` never have values together".into(),
                    "in",
                    Some("two values of two names are two records".into()),
                ));
            }
        };
        self.early = Some(Early::default());
        let named = records.names.len();
        for &when in moments {
            self.when = when;
            self.record_at((record, of_entry), named as i64, records, keep)?;
        }
        let early = self.early.take().unwrap_or_default();
        records.enter.made.extend(early.chains);
        Ok(())
    }

    /// The same for one of the moments at which it is recorded, as the value of that number.
    fn record_at(
        &mut self,
        (record, of_entry): (&OwnRecord, bool),
        number: i64,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let mut made = Vec::new();
        let kept = keep.states.len();
        let value = self.evaluated(record, &mut made, keep)?;
        if matches!(value, Meant::Nothing) {
            return Ok(());
        }
        let call = self.value_call((record, of_entry), value, number, records, keep);
        // Spans and pointers are no objects: a rule for many methods leaves them out.
        if call.is_err()
            && matches!(&record.value, Recorded::Operand(o) | Recorded::Text(o) if o.optional)
        {
            keep.states = keep.states[..kept].into();
            return Ok(());
        }
        let call = call?;
        if records.names.len() as i64 == number {
            records.names.push(Arc::clone(&record.name));
        }
        let recorded = match self.when {
            When::Enter | When::Around => &mut records.enter,
            When::Exit => &mut records.exit,
            When::Exception => &mut records.exception,
        };
        recorded.made.append(&mut made);
        recorded.values.push(call);
        Ok(())
    }

    /// The call of the hook library that writes a value.
    fn value_call(
        &mut self,
        (record, of_entry): (&OwnRecord, bool),
        value: Meant,
        number: i64,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<Call, Misfit> {
        let own = self.aspect.2;
        let end = i64::from(self.when != When::Enter);
        let is_later = self.follows && self.is_task_with_result(record);
        let method = match (&record.value, self.binder.target.language()) {
            (Recorded::Text(_), _) if is_later => "LaterText",
            _ if is_later => "Later",
            (Recorded::Text(_), Language::Java) => "text",
            (Recorded::Text(_), Language::CSharp) => "Text",
            (_, Language::Java) => "value",
            (_, Language::CSharp) => "Value",
        };
        let written = self.of_library(VALUES, method, &record.span, 6);
        // As the trace has it: the flags of the entry span and of the end, and the number.
        let place = Meant::Constant(Word::Int(
            number << 16 | i64::from(of_entry) << 11 | end << 10,
        ));
        let limit = Meant::Constant(Word::Int(own.limit.into()));
        let mask = match &own.mask {
            Some(mask) => Meant::Value(Value {
                source: Source::Text(Arc::clone(&mask.table)),
                ty: self.string(),
            }),
            None => Meant::Nothing,
        };
        let mut meant = vec![value, place, limit, mask, id()];
        if self.subject.switched.is_some() {
            meant.push(records.state(keep));
        }
        self.call_with(&written, &meant, keep)
            .map_err(|misfit| Misfit {
                title: match misfit.title.contains("cannot become") {
                    true => misfit.title,
                    false => format!("{} cannot be recorded", article(&self.shown(&meant[0]))),
                },
                help: None,
                ..misfit
            })
    }

    /// When a value is known, with all that it is made of.
    fn known_at(&self, operand: &HookOperand) -> Moment {
        let own = match &operand.word {
            Word::End(_) => Moment::End,
            word => match self.when_known(word) {
                When::Exit => Moment::Exit,
                When::Exception => Moment::Exception,
                When::Enter | When::Around => Moment::Start,
            },
        };
        let inner = operand.word.inner().iter();
        inner.fold(own, |all, inner| all.with(self.known_at(inner)))
    }

    /// Whether an operand is a part of a value that is recorded at the end, and is asked for at the start. What needs no calls is
    /// kept anyhow.
    pub(super) fn is_early_part(&self, operand: &HookOperand) -> bool {
        let asks = !operand.members.is_empty()
            || !operand.word.inner().is_empty()
            || matches!(operand.word, Word::Call(_));
        self.early.as_ref().is_some_and(|early| !early.is_over)
            && self.when != When::Enter
            && asks
            && self.known_at(operand) == Moment::Start
    }

    /// What such an operand is.
    pub(super) fn early(
        &mut self,
        operand: &HookOperand,
        place: &Range<usize>,
        boxed: bool,
        keep: &mut Keep,
    ) -> Result<Meant, Misfit> {
        let known = |early: &Early| {
            let mut known = early.known.iter();
            known
                .find(|(at, _)| at == place)
                .map(|(_, meant)| meant.clone())
        };
        if let Some(known) = self.early.as_ref().and_then(known) {
            return Ok(known);
        }
        let when = std::mem::replace(&mut self.when, When::Enter);
        let chains = std::mem::take(&mut self.chains);
        let meant = self.value_as(operand, place, boxed, keep);
        let made = std::mem::replace(&mut self.chains, chains);
        self.when = when;
        let meant = meant?;
        let early = self.early.get_or_insert_default();
        early.chains.extend(made);
        early.known.push((place.clone(), meant.clone()));
        Ok(meant)
    }

    /// A value, and the calls that make it.
    fn evaluated(
        &mut self,
        record: &OwnRecord,
        made: &mut Vec<Call>,
        keep: &mut Keep,
    ) -> Result<Meant, Misfit> {
        match &record.value {
            Recorded::Operand(operand) | Recorded::Text(operand) => {
                let value = match (&operand.word, &*operand.members) {
                    // The trace has values of any type.
                    (Word::First(all), []) => self.first(all, keep)?.0,
                    (Word::Null, _) => Meant::Value(Value {
                        source: Source::Zero,
                        ty: self.object(),
                    }),
                    _ => self.value(operand, &record.operands[0], keep)?,
                };
                made.append(&mut self.chains);
                Ok(value)
            }
            Recorded::Call(call) => {
                let written = OwnHook {
                    call: call.clone(),
                    name: record.span.clone(),
                    operands: record.operands.clone(),
                    changes: 0..0,
                };
                let (call, value) = self.kept_call(&written, &record.span, keep)?;
                made.append(&mut self.chains);
                made.push(call);
                Ok(value)
            }
        }
    }

    /// The call that tells the hook library what is left out of texts.
    fn hold(&mut self, mask: Option<&Mask>, how: i32, records: &mut Records) -> Result<(), Misfit> {
        let name = match self.binder.target.language() {
            Language::Java => "hold",
            Language::CSharp => "Hold",
        };
        let written = self.of_library(VALUES, name, &(0..0), 3);
        let mask = match mask {
            Some(mask) => Meant::Value(Value {
                source: Source::Text(Arc::clone(&mask.table)),
                ty: self.string(),
            }),
            None => Meant::Nothing,
        };
        let how = Meant::Constant(Word::Int(how.into()));
        let call = self.call_with(&written, &[mask, how, id()], &mut Keep::default())?;
        if !records.enter.held.contains(&call) {
            records.enter.held.push(call);
        }
        Ok(())
    }

    /// The calls around the values that a logical call begins with: they decide about it, in front of its first piece.
    fn decided(&mut self, says: i32, records: &mut Records, keep: &mut Keep) -> Result<(), Misfit> {
        let [decide, pass] =
            ["Decide", "Pass"].map(|name| self.of_library(SWITCHED, name, &(0..0), 2));
        let says = Meant::Constant(Word::Int(says.into()));
        let mut call = self.call_with(&decide, &[says, id()], keep)?;
        let of_call = [records.state(keep), id()];
        call.dest = Dest::State(records.state.unwrap_or_default());
        records.enter.decides = Some(call);
        records.enter.switched = Some(self.call_with(&pass, &of_call, keep)?);
        Ok(())
    }

    /// The calls that begin and end a call that can be switched, in place of the plain pair.
    fn switched(
        &mut self,
        says: i32,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let has_values = records.state.is_some();
        let names = match self.binder.target.language() {
            Language::Java => ["enter", "decide", "begin", "exit", "error"],
            Language::CSharp => ["Enter", "Decide", "Begin", "Exit", "Error"],
        };
        let [enter, decide, begin, exit, error] =
            names.map(|name| self.of_library(SWITCHED, name, &(0..0), 3));
        let says = Meant::Constant(Word::Int(says.into()));
        let first = if has_values { decide } else { enter };
        let mut call = self.call_with(&first, &[says, id()], keep)?;
        let of_call = [records.state(keep), id()];
        call.dest = Dest::State(records.state.unwrap_or_default());
        match has_values {
            true => {
                records.enter.decides = Some(call);
                records.enter.switched = Some(self.call_with(&begin, &of_call, keep)?);
            }
            false => records.enter.switched = Some(call),
        }
        records.exit.switched = Some(self.call_with(&exit, &of_call, keep)?);
        let thrown = Meant::Value(Value {
            source: Source::Exception,
            ty: self.throwable(),
        });
        let of_call = [thrown, records.state(keep), id()];
        records.exception.switched = Some(self.call_with(&error, &of_call, keep)?);
        Ok(())
    }

    /// The calls that begin and end a span, in place of the plain pair.
    fn spans(
        &mut self,
        says: i32,
        (rule, aspects): (&SpanRule, &[Meets<'_>]),
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let names = match self.binder.target.language() {
            Language::Java => ["begin", "exit", "error"],
            Language::CSharp => ["Begin", "Exit", "Error"],
        };
        let [begin, exit, error] = names.map(|name| self.of_library(SPANS, name, &(0..0), 4));
        self.span_begins(says, (rule, aspects), &begin, records, keep)?;
        let of_call = [records.state(keep), id()];
        records.exit.switched = Some(self.call_with(&exit, &of_call, keep)?);
        let thrown = Meant::Value(Value {
            source: Source::Exception,
            ty: self.throwable(),
        });
        let of_call = [thrown, records.state(keep), id()];
        records.exception.switched = Some(self.call_with(&error, &of_call, keep)?);
        self.injected(aspects, records, keep)?;
        self.span_gives(aspects, records, keep)
    }

    /// The calls around the values that a logical call begins with which is a span: its first piece begins it.
    fn passed(
        &mut self,
        says: i32,
        (rule, aspects): (&SpanRule, &[Meets<'_>]),
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let pass = self.of_library(SPANS, "Pass", &(0..0), 4);
        self.span_begins(says, (rule, aspects), &pass, records, keep)?;
        self.injected(aspects, records, keep)?;
        self.span_gives(aspects, records, keep)
    }

    /// The call that decides about a span, with the headers that came in, and that which begins it.
    fn span_begins(
        &mut self,
        says: i32,
        (rule, aspects): (&SpanRule, &[Meets<'_>]),
        begin: &OwnHook,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let came = self.extracted(aspects, records, keep)?;
        let came = self.span_takes(came, aspects, records, keep)?;
        let decide = match self.binder.target.language() {
            Language::Java => "decide",
            Language::CSharp => "Decide",
        };
        let decide = self.of_library(SPANS, decide, &(0..0), 4);
        let says = Meant::Constant(Word::Int(says.into()));
        let once = || match &*rule.once {
            "" => Meant::Nothing,
            word => Meant::Constant(Word::Text(word.to_owned())),
        };
        let kept = self.kept(aspects, records, keep)?;
        let mut incoming = vec![says, once(), came, id()];
        if let Some((kept, _)) = &kept {
            incoming.insert(3, kept.clone());
        }
        let mut call = self.call_with(&decide, &incoming, keep)?;
        let state = records.state(keep);
        call.dest = Dest::State(records.state.unwrap_or_default());
        records.enter.decides = Some(call);
        match kept {
            Some((kept, goes_on)) => self.leaves(kept, goes_on, records, keep)?,
            None if self.gives_stage() && all_complete(aspects) || self.follows => {
                let leave = match self.binder.target.language() {
                    Language::Java => "leave",
                    Language::CSharp => "Leave",
                };
                let leave = self.of_library(SPANS, leave, &(0..0), 3);
                let stage = Meant::Value(Value {
                    source: Source::Result,
                    ty: self.subject.signature.result.clone(),
                });
                let meant = [records.state(keep), stage, id()];
                let mut call = self.call_with(&leave, &meant, keep)?;
                call.dest = Dest::State(records.state.unwrap_or_default());
                records.exit.made.push(call);
            }
            None => {}
        }
        let kind = Meant::Constant(Word::Int(rule.kind.number().into()));
        let of_call = [state, kind, once(), id()];
        records.enter.switched = Some(self.call_with(begin, &of_call, keep)?);
        Ok(())
    }

    /// Whether a call gives a stage.
    fn gives_stage(&self) -> bool {
        let result = self.subject.signature.result.name();
        result.is_some_and(|name| STAGES.contains(&name))
    }

    /// The object that keeps the span, and the rule that says how long.
    fn kept<'a>(
        &mut self,
        aspects: &[Meets<'a>],
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<Option<(Meant, Meets<'a>)>, Misfit> {
        let found = (aspects.iter()).find_map(|&aspect| Some((aspect, aspect.2.kept()?)));
        let Some((aspect, kept)) = found else {
            return Ok(None);
        };
        let mut binding = Binding::new(self.binder, self.subject, aspect, false);
        let kept = binding.evaluated(kept, &mut records.enter.made, keep)?;
        Ok(Some((kept, aspect)))
    }

    /// What tells, in front of the values at the end, whether the span goes on.
    fn leaves(
        &mut self,
        kept: Meant,
        aspect: Meets<'_>,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let mut binding = Binding::new(self.binder, self.subject, aspect, false);
        binding.when = When::Exit;
        let context = aspect.2.context.as_ref();
        let goes_on = match context.and_then(|context| context.goes_on.as_ref()) {
            Some(goes_on) => binding.evaluated(goes_on, &mut records.exit.made, keep)?,
            None => Meant::Constant(Word::Bool(false)),
        };
        let leave = self.of_library([SPANS[0]; 2], "leave", &(0..0), 4);
        let meant = [records.state(keep), kept, goes_on, id()];
        let mut call = self.call_with(&leave, &meant, keep)?;
        call.dest = Dest::State(records.state.unwrap_or_default());
        records.exit.made.push(call);
        Ok(())
    }

    /// What came in with a request: the hook library says which headers it asks for, and gets each.
    fn extracted(
        &mut self,
        aspects: &[Meets<'_>],
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<Meant, Misfit> {
        let of = |own: &OwnHooks| own.context.as_ref()?.extract.clone();
        let found = aspects
            .iter()
            .find_map(|&aspect| Some((aspect, of(aspect.2)?)));
        let Some((aspect, extract)) = found else {
            return Ok(Meant::Nothing);
        };
        let is_chain = !matches!(extract.value, Recorded::Call(_));
        let [asks, came] = match (self.binder.target.language(), is_chain) {
            (Language::Java, true) => ["asks", "came"],
            // A static method cannot be left out: it is asked for the first once more.
            (Language::Java, false) => ["asksAgain", "came"],
            (Language::CSharp, true) => ["Asks", "Came"],
            (Language::CSharp, false) => ["AsksAgain", "Came"],
        };
        let place = extract.span.clone();
        let mut binding = Binding::new(self.binder, self.subject, aspect, false);
        let mut so_far = Meant::Nothing;
        for which in 0..HEADERS {
            let which = Meant::Constant(Word::Int(which));
            let asks = binding.of_library(SPANS, asks, &place, 1);
            let (call, name) = binding.kept_text(&asks, std::slice::from_ref(&which), keep)?;
            records.enter.made.push(call);
            let mut written = extract.clone();
            binding.taken = vec![name];
            for operand in written.value.operands_mut() {
                let word = Word::Kept(name);
                replace(std::slice::from_mut(operand), "name", &word);
                operand.each_argument(&mut |argument| {
                    replace(std::slice::from_mut(argument), "name", &word);
                });
            }
            let header = binding.evaluated(&written, &mut records.enter.made, keep)?;
            let came = binding.of_library(SPANS, came, &place, 3);
            let call = binding.call_with(&came, &[so_far, which, header], keep)?;
            so_far = kept_result(call, records, keep);
        }
        Ok(so_far)
    }

    /// A call of the hook library that gives a text, and where that is kept.
    fn kept_text(
        &mut self,
        written: &OwnHook,
        meant: &[Meant],
        keep: &mut Keep,
    ) -> Result<(Call, u16), Misfit> {
        let mut call = self.call_with(written, meant, keep)?;
        let place = keep.state(self.string());
        call.dest = Dest::State(place);
        Ok((call, place))
    }

    /// What sends the context with a request, once it is known: the hook library says which headers.
    fn injected(
        &mut self,
        aspects: &[Meets<'_>],
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let of = |own: &OwnHooks| own.context.as_ref()?.inject.clone();
        let all = aspects
            .iter()
            .filter_map(|&aspect| Some((aspect, of(aspect.2)?)));
        let [sends, header] = match self.binder.target.language() {
            Language::Java => ["sends", "header"],
            Language::CSharp => ["Sends", "Header"],
        };
        for (aspect, inject) in all.collect::<Vec<_>>() {
            let mut binding = Binding::new(self.binder, self.subject, aspect, false);
            for which in 0..HEADERS {
                let which = [Meant::Constant(Word::Int(which))];
                let mut places = [0; 2];
                for (place, method) in places.iter_mut().zip([sends, header]) {
                    let written = binding.of_library(SPANS, method, inject.place(), 1);
                    let (mut call, kept) = binding.kept_text(&written, &which, keep)?;
                    call.role = Role::Switch;
                    records.enter.sent.push(call);
                    *place = kept;
                }
                let [name, value] = places.map(Word::Kept);
                binding.taken = places.to_vec();
                let call = match inject.clone() {
                    Inject::Call(mut written) => {
                        let operands = &mut written.call.operands;
                        replace(operands, "name", &name);
                        replace(operands, "value", &value);
                        binding.hook(&written, 0, keep)?
                    }
                    Inject::Chain(mut written) => {
                        binding.sends = true;
                        for operand in written.value.operands_mut() {
                            operand.each_argument(&mut |argument| {
                                let argument = std::slice::from_mut(argument);
                                replace(argument, "name", &name);
                                replace(argument, "value", &value);
                            });
                        }
                        let mut made = Vec::new();
                        binding.evaluated(&written, &mut made, keep)?;
                        records.enter.sent.append(&mut made);
                        None
                    }
                };
                records.enter.sent.append(&mut binding.chains);
                records.enter.sent.extend(call);
            }
        }
        Ok(())
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

    /// Whether a value is what a task gives when it is complete.
    fn is_task_with_result(&self, record: &OwnRecord) -> bool {
        let (Recorded::Operand(operand) | Recorded::Text(operand)) = &record.value else {
            return false;
        };
        operand.word == Word::Result
            && operand.members.is_empty()
            && matches!(&self.subject.signature.result, Ty::Named(named) if &*named.name == TASK_OF)
    }

    /// When a word has a value that is recorded: as early as it can be.
    fn when_known(&self, word: &Word) -> When {
        let parameters = &self.subject.signature.parameters;
        let named = |name: &String| {
            let mut all = parameters.iter();
            all.find(|p| p.name.as_deref() == Some(name))
        };
        let parameter = match word {
            Word::Result => return When::Exit,
            Word::Exception => return When::Exception,
            Word::Arg(n) => parameters.get(usize::from(*n)),
            Word::Named(name) => named(name),
            _ => None,
        };
        match parameter.is_some_and(|parameter| parameter.out) {
            true => When::Exit,
            false => When::Enter,
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

    /// The type that a call names, and its methods of that name.
    fn overloads(&self, written: &OwnHook) -> Result<(&'b HookType, Vec<&'b HookMethod>), Misfit> {
        let call = &written.call;
        let whole = format!("{}.{}", call.ty, call.method);
        let Some(ty) = self.binder.catalog.find(&call.ty) else {
            return Err(self.complains(
                written.name.clone(),
                format!("no library has a type `{}`", call.ty),
                "for",
                Some(match self.binder.hierarchy.nearest(&call.ty) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "hooks are looked for in what `[[library]]` names, in the input and in --reference; android takes a dex file \
                     (`d8 --output .. hooks.jar`)".into(),
                }),
            ));
        };
        let named: Vec<&HookMethod> = ty
            .methods
            .iter()
            .filter(|m| *m.name == call.method)
            .collect();
        let public: Vec<&HookMethod> = named
            .iter()
            .copied()
            .filter(|m| m.is_public && ty.is_public)
            .collect();
        if !public.is_empty() {
            return Ok((ty, public));
        }
        let is_of_objects = ty.of_objects.iter().any(|name| **name == *call.method);
        let (title, help) = match named.is_empty() {
            true if is_of_objects => (
                format!("`{whole}` is an instance method"),
                "a hook is a static method".to_owned(),
            ),
            true => {
                let mut names: Vec<&str> = ty
                    .methods
                    .iter()
                    .filter(|m| m.is_public)
                    .map(|m| &*m.name)
                    .collect();
                names.sort_unstable();
                names.dedup();
                let near = nearest_name(&call.method, &names);
                let total = names.len();
                names.truncate(10);
                let more = if names.len() < total { ", .." } else { "" };
                let help = match near {
                    _ if names.is_empty() => {
                        format!("`{}` has no public static method", call.ty)
                    }
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are {}{more}", names.join(", ")),
                };
                (
                    format!("`{}` has no static method `{}`", call.ty, call.method),
                    help,
                )
            }
            false => (
                format!("`{whole}` is not public"),
                "make type and method public".to_owned(),
            ),
        };
        Err(self.complains(written.name.clone(), title, "for", Some(help)))
    }

    /// What an operand means for the method at hand.
    pub(super) fn meant(
        &self,
        operand: &HookOperand,
        place: &Range<usize>,
    ) -> Result<Meant, Misfit> {
        let signature = self.subject.signature;
        let nothing = |title: String, what: &str, help: Option<&str>| match operand.optional {
            true => Ok(Meant::Nothing),
            false => Err(self.complains(place.clone(), title, what, help.map(str::to_owned))),
        };
        let value = |source, ty| Ok(Meant::Value(Value { source, ty }));
        let text = |text: &str| value(Source::Text(text.into()), self.string());
        let is_call = self.subject.is_call;
        if let Some(at) = self.subject.at
            && let Some(meant) = self.meant_at(at, operand, place)
        {
            return meant;
        }
        match &operand.word {
            Word::This | Word::Id if is_call => {
                let word = match operand.word {
                    Word::This => "this",
                    _ => "id",
                };
                Err(self.complains(
                    place.clone(),
                    format!("`{word}` of the method that calls is not there yet at a call"),
                    "of",
                    Some(
                        "at a call there are `target`, `args`, `arg(n)`, `result`, `method`, `type`, `signature`, `caller`, `line`".into(),
                    ),
                ))
            }
            Word::Target if !is_call => Err(self.complains(
                place.clone(),
                "`target` is the object whose method is called".into(),
                "there is no call, but the method",
                Some("the method's own object is `this`; calls are named with `at`".into()),
            )),
            Word::Target => match &signature.this {
                Some(ty) => value(Source::Arg(0), ty.clone()),
                None => nothing(
                    "a static method has no `target`".into(),
                    "of the static",
                    Some("`target?` is null there"),
                ),
            },
            // It stands for several operands.
            Word::EachArg => Err(self.complains(
                place.clone(),
                "`args..` is no value".into(),
                "in",
                Some("`args` is an array of them".into()),
            )),
            Word::This => match &signature.this {
                Some(ty) => value(Source::This, ty.clone()),
                None => nothing(
                    "a static method has no `this`".into(),
                    "in the static",
                    Some("`this?` is null there"),
                ),
            },
            Word::Arg(n) => match signature.parameters.get(usize::from(*n)) {
                Some(_) => self.argument(*n, operand, place),
                None => nothing(
                    format!("there is no `arg({n})`"),
                    &format!("of {} in", counted(signature.parameters.len())),
                    Some("`?` behind it makes it null or zero there"),
                ),
            },
            Word::Named(name) if is_call && name == CALLER => {
                text(self.subject.caller.unwrap_or_default())
            }
            Word::Named(name) => {
                let mut parameters = signature.parameters.iter();
                match parameters.position(|p| p.name.as_deref() == Some(name)) {
                    Some(n) => self.argument(n as u16, operand, place),
                    None if signature.parameters.iter().all(|p| p.name.is_none())
                        && !signature.parameters.is_empty() =>
                    {
                        nothing(
                            format!("nothing names the parameter `{name}`"),
                            "in",
                            Some(
                                "compile with debug information (javac -g or -parameters), or write `arg(n)`",
                            ),
                        )
                    }
                    None => nothing(
                        format!("no parameter is named `{name}`"),
                        "in",
                        Some("`?` behind it makes it null or zero there"),
                    ),
                }
            }
            Word::Args => Ok(Meant::Args {
                optional: operand.optional,
            }),
            Word::Result => match (self.when, &signature.result) {
                (When::Exit, Ty::Void) => nothing(
                    "a method without a result has no `result`".into(),
                    "in",
                    Some("`result?` is null there"),
                ),
                (When::Exit, ty) => value(Source::Result, ty.clone()),
                _ => nothing(
                    format!("`result` has no value {}", self.moment()),
                    "in",
                    None,
                ),
            },
            Word::Exception => match self.when {
                When::Exception => value(Source::Exception, self.throwable()),
                _ => nothing(
                    format!("`exception` has no value {}", self.moment()),
                    "in",
                    None,
                ),
            },
            Word::Proceed if self.when == When::Around => Ok(Meant::Proceed),
            Word::Proceed => Err(self.complains(
                place.clone(),
                "`proceed` runs the body, for `around` alone".into(),
                "for",
                Some("`around = \"acme.Retry.run(proceed, 3)\"`".into()),
            )),
            Word::State if self.when == When::Around => nothing(
                "`state` has no value at around".into(),
                "for",
                Some("a hook around the body can keep what it needs in variables"),
            ),
            // The error about the enter hook says enough.
            Word::State if self.enter_failed => Ok(Meant::Nothing),
            Word::State => match (&self.state, self.when) {
                (Some(state), When::Exit | When::Exception) => {
                    value(Source::State(UNPLACED), state.ty.clone())
                }
                _ => nothing(
                    format!(
                        "`state` has no value: no `enter` of `{}` returns one",
                        self.aspect.1
                    ),
                    "for",
                    None,
                ),
            },
            Word::Duration => match self.when {
                When::Enter | When::Around => nothing(
                    format!("`duration` has no value {}", self.moment()),
                    "in",
                    None,
                ),
                _ => value(Source::Duration, Ty::Prim(Prim::I64)),
            },
            Word::Method => text(self.subject.name),
            Word::Type => text(&dotted(self.subject.ty)),
            Word::Signature => text(&self.shown_parameters(signature)),
            Word::Artifact => text(self.subject.artifact),
            Word::Line if is_call => {
                let line = self.subject.line.cast_signed();
                value(Source::Int(line), Ty::Prim(Prim::I32))
            }
            Word::Line => value(Source::Line, Ty::Prim(Prim::I32)),
            Word::Id => value(Source::Id, Ty::Prim(Prim::I32)),
            Word::Kept(place) => value(Source::State(*place), self.string()),
            Word::Null => Ok(Meant::Nothing),
            Word::Int(_) | Word::Double(_) | Word::Text(_) | Word::Bool(_) => {
                Ok(Meant::Constant(operand.word.clone()))
            }
            Word::End(_) => Err(self.complains(
                place.clone(),
                "`end(..)` is of values that are recorded".into(),
                "for",
                Some("a hook at `exit` reads values when the method ends".into()),
            )),
            Word::Call(_) | Word::First(_) | Word::TextOf(_) => {
                unreachable!("what is made of others is bound by `value`")
            }
        }
    }

    fn argument(
        &self,
        n: u16,
        operand: &HookOperand,
        place: &Range<usize>,
    ) -> Result<Meant, Misfit> {
        let parameter = &self.subject.signature.parameters[usize::from(n)];
        if parameter.out && self.when != When::Exit {
            return match operand.optional {
                true => Ok(Meant::Nothing),
                false => Err(self.complains(
                    place.clone(),
                    format!("`arg({n})` is `out`: it has no value yet"),
                    "in",
                    Some("read it at exit".into()),
                )),
            };
        }
        Ok(Meant::Value(Value {
            source: self.argument_source(n),
            ty: parameter.ty.clone(),
        }))
    }

    /// Behind the target, where the hooks lie in a method that takes that first.
    fn argument_source(&self, n: u16) -> Source {
        if let Some(at) = self.subject.at {
            return Source::Arg(place_of(at.passed, Passed::Stack(n)).unwrap_or_default());
        }
        let is_behind = self.subject.is_call && self.subject.signature.this.is_some();
        Source::Arg(n + u16::from(is_behind))
    }

    /// When the hook at hand runs.
    fn moment(&self) -> String {
        match (self.subject.is_call, self.when) {
            (true, When::Enter) => "in front of the call".into(),
            (true, _) => "behind the call".into(),
            (false, when) => format!("at {}", when.word()),
        }
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

    /// The operands for an overload; else the first that does not fit, and why.
    fn candidate<'c>(
        &self,
        method: &'c HookMethod,
        meant: &[Meant],
    ) -> Result<Candidate<'c>, (usize, Why)> {
        let parameters = &method.signature.parameters;
        if parameters.len() != meant.len() {
            return Err((usize::MAX, Why::Other));
        }
        let mut inferred = vec![None; usize::from(method.signature.generics)];
        let mut operands = Vec::new();
        for (i, (meant, parameter)) in meant.iter().zip(parameters).enumerate() {
            operands.push(
                self.operand(meant, &parameter.ty, &mut inferred)
                    .map_err(|why| (i, why))?,
            );
        }
        Self::with_generics(method, operands, inferred)
    }

    /// The same for one that takes any number of objects at its end (`Object...`, `params object[]`).
    fn candidate_of_more<'c>(
        &self,
        method: &'c HookMethod,
        meant: &[Meant],
    ) -> Option<Candidate<'c>> {
        let (last, first) = method.signature.parameters.split_last()?;
        let object = self.object();
        let is_open = method.signature.variadic && last.ty == Ty::Array(Arc::new(object.clone()));
        if !is_open || meant.len() < first.len() {
            return None;
        }
        let mut inferred = vec![None; usize::from(method.signature.generics)];
        let (plain, more) = meant.split_at(first.len());
        let mut operands = Vec::new();
        for (meant, parameter) in plain.iter().zip(first) {
            operands.push(self.operand(meant, &parameter.ty, &mut inferred).ok()?);
        }
        let mut elements = Vec::new();
        for meant in more {
            let (_, element) = self.operand(meant, &object, &mut inferred).ok()?;
            // Where a state is kept is found for operands alone.
            if matches!(element.source, Source::State(_) | Source::Args(_)) {
                return None;
            }
            elements.push(element);
        }
        let array = Operand {
            source: Source::Args(elements.into()),
            from: last.ty.clone(),
            convert: Convert::Same,
            to: last.ty.clone(),
        };
        operands.push((Fit::Boxing, array));
        Self::with_generics(method, operands, inferred).ok()
    }

    /// A candidate whose type arguments are inferred.
    fn with_generics<'c>(
        method: &'c HookMethod,
        mut operands: Vec<(Fit, Operand)>,
        inferred: Inferred,
    ) -> Result<Candidate<'c>, (usize, Why)> {
        let generics: Option<Vec<Ty>> = inferred.into_iter().collect();
        let generics = generics.ok_or((usize::MAX, Why::Other))?;
        for (_, operand) in &mut operands {
            operand.to = instantiate(&operand.to, &generics);
            if let Source::Proceed(proceed) = &mut operand.source
                && !generics.is_empty()
            {
                *proceed = Arc::new(proceed.instantiate(&generics));
            }
        }
        Ok(Candidate {
            method,
            operands,
            generics,
        })
    }

    fn operand(
        &self,
        meant: &Meant,
        to: &Ty,
        inferred: &mut Vec<Option<Ty>>,
    ) -> Result<(Fit, Operand), Why> {
        let operand = |source, from: &Ty, convert| Operand {
            source,
            from: from.clone(),
            convert,
            to: to.clone(),
        };
        match meant {
            Meant::Nothing => match to {
                Ty::ByRef(_) | Ty::Pointer(_) | Ty::Opaque(_) | Ty::Param { .. } => Err(Why::Other),
                _ => Ok((Fit::Identity, operand(Source::Zero, to, Convert::Same))),
            },
            Meant::Constant(word) => self.constant(word, to).ok_or(Why::Other),
            Meant::Proceed => {
                let (fit, proceed) = self.proceed(to, inferred)?;
                let source = Source::Proceed(Arc::new(proceed));
                Ok((fit, operand(source, to, Convert::Same)))
            }
            Meant::Value(value) => {
                let from = self.seen_as(value, to);
                let (fit, how) = convert(self.binder.hierarchy, from, to, inferred)?;
                Ok((fit, operand(value.source.clone(), &value.ty, how)))
            }
            Meant::Optional(value) => {
                let from = self.seen_as(value, to);
                let (fit, how) = match convert(self.binder.hierarchy, from, to, inferred) {
                    Ok(fits) => fits,
                    Err(_) => return self.nothing_for(to, inferred),
                };
                Ok((fit, operand(value.source.clone(), &value.ty, how)))
            }
            Meant::Args { optional } => {
                let object = self.object();
                let array = Ty::Array(Arc::new(object.clone()));
                let (fit, how) = convert(self.binder.hierarchy, &array, to, inferred)?;
                let mut elements = Vec::new();
                for (n, parameter) in self.subject.signature.parameters.iter().enumerate() {
                    let element = match parameter.out && self.when != When::Exit {
                        true => Meant::Nothing,
                        false => Meant::Value(Value {
                            source: self.argument_source(n as u16),
                            ty: parameter.ty.clone(),
                        }),
                    };
                    let element = match self.operand(&element, &object, inferred) {
                        Err(Why::NoObject) if *optional => {
                            self.operand(&Meant::Nothing, &object, inferred)
                        }
                        element => element,
                    };
                    elements.push(element?.1);
                }
                Ok((fit, operand(Source::Args(elements.into()), &array, how)))
            }
        }
    }

    /// Null, where an object or a type argument is asked for.
    fn nothing_for(&self, to: &Ty, inferred: &mut Inferred) -> Result<(Fit, Operand), Why> {
        if let Ty::Param {
            of_method: true,
            index,
        } = to
        {
            let slot = inferred.get_mut(usize::from(*index)).ok_or(Why::Other)?;
            slot.get_or_insert_with(|| self.object());
        } else if !to.is_reference() {
            return Err(Why::NoObject);
        }
        let operand = Operand {
            source: Source::Zero,
            from: to.clone(),
            convert: Convert::Same,
            to: to.clone(),
        };
        Ok((Fit::Boxing, operand))
    }

    /// A constant as what is asked for.
    pub(super) fn constant(&self, word: &Word, to: &Ty) -> Option<(Fit, Operand)> {
        let object = is_object(to);
        let (fit, source, from, how) = match (word, to) {
            (Word::Bool(value), Ty::Prim(Prim::Bool)) => (
                Fit::Identity,
                Source::Int((*value).into()),
                to.clone(),
                Convert::Same,
            ),
            (Word::Bool(value), _) if object => (
                Fit::Boxing,
                Source::Int((*value).into()),
                Ty::Prim(Prim::Bool),
                Convert::Box,
            ),
            (Word::Text(text), _) => {
                let (fit, how) =
                    convert(self.binder.hierarchy, &self.string(), to, &mut vec![]).ok()?;
                (fit, Source::Text((**text).into()), self.string(), how)
            }
            (Word::Int(value), Ty::Prim(prim)) => {
                let least = match i32::try_from(*value) {
                    Ok(_) => Prim::I32,
                    Err(_) => Prim::I64,
                };
                let fit = if *prim == least {
                    Fit::Identity
                } else {
                    Fit::Widening
                };
                (fit, integer(*value, *prim)?, to.clone(), Convert::Same)
            }
            (Word::Int(value), _) if object => match i32::try_from(*value) {
                Ok(value) => (
                    Fit::Boxing,
                    Source::Int(value),
                    Ty::Prim(Prim::I32),
                    Convert::Box,
                ),
                Err(_) => (
                    Fit::Boxing,
                    Source::Long(*value),
                    Ty::Prim(Prim::I64),
                    Convert::Box,
                ),
            },
            (Word::Double(value), Ty::Prim(Prim::F64)) => (
                Fit::Identity,
                Source::Double(*value),
                to.clone(),
                Convert::Same,
            ),
            (Word::Double(value), Ty::Prim(Prim::F32)) => (
                Fit::Widening,
                Source::Double(*value),
                to.clone(),
                Convert::Same,
            ),
            (Word::Double(value), _) if object => (
                Fit::Boxing,
                Source::Double(*value),
                Ty::Prim(Prim::F64),
                Convert::Box,
            ),
            _ => return None,
        };
        Some((
            fit,
            Operand {
                source,
                from,
                convert: how,
                to: to.clone(),
            },
        ))
    }

    /// Whether each parameter of the one fits that of the other.
    fn is_more_specific(&self, a: &HookMethod, b: &HookMethod) -> bool {
        let pairs = || a.signature.parameters.iter().zip(&b.signature.parameters);
        let fits = |from: &Ty, to: &Ty| {
            let mut inferred = vec![None; usize::from(b.signature.generics)];
            convert(self.binder.hierarchy, from, to, &mut inferred).is_ok()
        };
        pairs().all(|(a, b)| fits(&a.ty, &b.ty)) && pairs().any(|(a, b)| a.ty != b.ty)
    }

    /// No overload takes the operands.
    fn nothing_fits(
        &self,
        written: &OwnHook,
        methods: &[&HookMethod],
        meant: &[Meant],
        wrong: Option<(usize, Why)>,
    ) -> Misfit {
        let call = &written.call;
        let types: Vec<String> = meant.iter().map(|meant| self.shown(meant)).collect();
        let there: Vec<String> = methods.iter().map(|m| self.shown_call(m)).collect();
        let mut help = format!("there is {}", there.join(", "));
        let title = format!(
            "no `{}.{}` takes ({})",
            call.ty,
            call.method,
            types.join(", ")
        );
        let [method] = methods else {
            return self.complains(written.name.clone(), title, "for", Some(help));
        };
        let (at, why) = match wrong {
            Some((at, why)) if at < meant.len() => (at, why),
            _ => {
                return self.complains(written.name.clone(), title, "for", Some(help));
            }
        };
        let parameter = &method.signature.parameters[at].ty;
        let place = written.operands[at].clone();
        if matches!(meant[at], Meant::Proceed) {
            return self.no_proceed(place, parameter);
        }
        match why {
            Why::NoObject => {
                let title = match &meant[at] {
                    Meant::Args { .. } => "some argument cannot become an object".to_owned(),
                    _ => format!("{} cannot become an object", article(&types[at])),
                };
                let help = match &meant[at] {
                    Meant::Value(value) if self.is_missing(&value.ty) => {
                        "nothing says whether it is a ref struct: name its assembly with --reference".into()
                    }
                    _ => format!("take it as what it is: {help}"),
                };
                self.complains(place, title, "in", Some(help))
            }
            Why::Unknown => self.complains(
                place,
                format!(
                    "nothing says that {} is {}",
                    article(&types[at]),
                    article(&self.shown_type(parameter))
                ),
                format!("{} in", article(&types[at])),
                Some(match parameter {
                    Ty::Named(named) if !named.args.is_empty() => {
                        "what instances of generic types are is not followed: let the hook take an object, or a type parameter".into()
                    }
                    _ => "name the jar or assembly that has it with --reference".into(),
                }),
            ),
            Why::Other => {
                let fitting = self
                    .subject
                    .signature
                    .parameters
                    .iter()
                    .position(|p| p.ty == *parameter);
                if let Some(n) = fitting {
                    help.push_str(&format!(
                        "; `arg({n})` is {}",
                        article(&self.shown_type(parameter))
                    ));
                }
                self.complains(
                    place,
                    title,
                    format!("{} in", article(&types[at])),
                    Some(help),
                )
            }
        }
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

/// Whether a value of a type cannot become an object.
fn is_no_object(ty: &Ty) -> bool {
    match ty {
        Ty::ByRef(inner) => is_no_object(inner),
        Ty::Pointer(_) | Ty::Opaque(_) => true,
        Ty::Named(named) => named.by_ref_like,
        _ => false,
    }
}

/// An integer as a value of a primitive type, if it fits.
fn integer(value: i64, prim: Prim) -> Option<Source> {
    let range: (i128, i128) = match prim {
        Prim::I8 => (i8::MIN.into(), i8::MAX.into()),
        Prim::U8 => (0, u8::MAX.into()),
        Prim::I16 => (i16::MIN.into(), i16::MAX.into()),
        Prim::U16 => (0, u16::MAX.into()),
        Prim::I32 => (i32::MIN.into(), i32::MAX.into()),
        Prim::U32 => (0, u32::MAX.into()),
        Prim::I64 => (i64::MIN.into(), i64::MAX.into()),
        Prim::U64 => (0, u64::MAX.into()),
        Prim::F32 | Prim::F64 => return Some(Source::Double(value as f64)),
        Prim::Bool | Prim::Char | Prim::Isize | Prim::Usize => return None,
    };
    if !(range.0..=range.1).contains(&value.into()) {
        return None;
    }
    Some(match prim {
        Prim::I64 | Prim::U64 => Source::Long(value),
        // An unsigned one has the bits of a signed one.
        _ => Source::Int(value as i32),
    })
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

/// The class of the method that is called instead: named by the callee, and by a hash over all that is in it.
fn redirect_class(
    prefix: &str,
    callee: &Callee,
    (replace, bound, recorded): (
        Option<&Replacement>,
        Option<&Arc<Bound>>,
        Option<&RecordedCall>,
    ),
    placed: Option<&Placed>,
) -> Arc<str> {
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
        bound.enters().1.len(),
        bound.exits().0.len(),
        bound.exceptions().0.len()
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

/// When a value is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Start,
    Exit,
    Exception,
    /// Whichever way the call ends.
    End,
    /// A part of it at exit, another at exception.
    Never,
}

impl Moment {
    /// When both are known.
    fn with(self, other: Moment) -> Moment {
        use Moment::{End, Never, Start};
        match (self, other) {
            (Start, other) | (other, Start) => other,
            (a, b) if a == b => a,
            (End, other) | (other, End) => other,
            _ => Never,
        }
    }
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
fn is_enumerated(ty: &Ty) -> bool {
    matches!(ty, Ty::Named(named) if named.name.starts_with("System.Collections."))
}

/// How many arguments a method has, as a phrase.
fn counted(arguments: usize) -> String {
    match arguments {
        1 => "1 argument".to_owned(),
        n => format!("{n} arguments"),
    }
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

/// Makes a call at the start, and keeps what it gives.
fn kept_result(mut call: Call, records: &mut Records, keep: &mut Keep) -> Meant {
    let ty = call.hook.result.clone();
    let state = keep.state(ty.clone());
    call.dest = Dest::State(state);
    records.enter.made.push(call);
    Meant::Value(Value {
        source: Source::State(state),
        ty,
    })
}
