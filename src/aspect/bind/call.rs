//! Bound hook calls: what backends turn into code. They know types and operands, and no bytecode.

use super::functional::Function;
use super::hold;
use super::ty::{Language, Prim, Ty};
use crate::switches;
use std::fmt;
use std::sync::Arc;

/// The own hooks of a method, in the order in which they run: at enter as in the rules, at exit and exception in
/// reverse. All of them lie outside of the recorded pair (at enter in front of it, then behind it), except for those that
/// record values, which come right in front of its hooks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bound {
    pub enter: Box<[Call]>,
    pub exit: Box<[Call]>,
    pub exception: Box<[Call]>,
    /// The names of the values, by their numbers.
    pub values: Box<[Arc<str>]>,
    pub keep: Keep,
    /// What is called in place of all that lies inside of these hooks.
    pub around: Option<Box<Around>>,
    /// The method runs in pieces and can be switched: what its logical calls say to the hook library where they begin.
    pub logical: Option<i32>,
    /// The method goes on after it has returned (an async method of .NET): its hooks at exit and exception stand where it completes.
    pub later: bool,
}

/// A hook instead of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Around {
    pub call: Call,
    /// The hooks of the body, which [`Source::Proceed`] runs with it; the recorded pair is there.
    pub inner: Option<Arc<Bound>>,
}

/// An object that runs a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proceed {
    /// The functional interface or delegate that it is of.
    pub ty: Ty,
    pub function: Function,
    /// It takes the method's arguments; else it keeps those that the method was called with.
    pub takes_arguments: bool,
}

impl Proceed {
    /// With the type arguments of a generic hook in place.
    pub fn instantiate(&self, generics: &[Ty]) -> Proceed {
        let of = |ty: &Ty| super::ty::instantiate(ty, generics);
        Proceed {
            ty: of(&self.ty),
            function: Function {
                name: self.function.name.clone(),
                parameters: self.function.parameters.iter().map(of).collect(),
                result: of(&self.function.result),
            },
            takes_arguments: self.takes_arguments,
        }
    }
}

/// What must live through the body, for hooks at its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keep {
    /// The arguments that hooks at the end read, ascending: as they were at the start.
    pub args: Box<[u16]>,
    /// Hooks at the end read `this`.
    pub this: bool,
    /// What enter hooks return for others: [`Source::State`] and [`Dest::State`] count these.
    pub states: Box<[Ty]>,
    /// The time at the start, in nanoseconds.
    pub duration: bool,
}

impl Keep {
    /// A place for one more state.
    pub fn state(&mut self, ty: Ty) -> u16 {
        let mut states = std::mem::take(&mut self.states).into_vec();
        states.push(ty);
        self.states = states.into();
        self.states.len() as u16 - 1
    }
}

/// A call of a static method.
#[derive(Clone, PartialEq)]
pub struct Call {
    pub role: Role,
    pub hook: Arc<Hook>,
    /// The hook's type arguments (.NET).
    pub generics: Box<[Ty]>,
    /// One for each parameter of the hook, and one more where the adapter takes what was there before ([`Adapter::change`]).
    pub operands: Box<[Operand]>,
    pub dest: Dest,
    /// How the result becomes what `dest` asks for, and the type of what changes: of the value, or of the method's result. Where there
    /// is an adapter that gives it, it does so.
    pub given: Option<(Convert, Ty)>,
    /// By which method the hook is called, so that what it throws does not reach the program. None: it is called itself.
    pub adapter: Option<Adapter>,
}

/// What a call is for. All but hooks lie inside of them, next to the recorded pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A hook of one's own, or what gives one of its operands.
    Hook,
    /// It tells the hook library what is left out of texts.
    Hold,
    /// It gives what a value is made of.
    Part,
    /// It records a value.
    Value,
    /// It decides about a call that can be switched, or begins or ends one, in place of the plain pair.
    Switch,
    /// It sends the context of a span with a request.
    Inject,
}

/// Names of classes are hashes over this; a role follows from the rest.
impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("hook", &self.hook)
            .field("generics", &self.generics)
            .field("operands", &self.operands)
            .field("dest", &self.dest)
            .field("given", &self.given)
            .field("adapter", &self.adapter)
            .finish()
    }
}

/// A static method that is called as a hook.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hook {
    /// The type that declares it, with its scope.
    pub owner: Ty,
    /// The owner is an interface (JVM, dex).
    pub owner_is_interface: bool,
    pub name: Box<str>,
    /// Its parameters and result as declared; its own type parameters are [`Ty::Param`].
    pub parameters: Box<[Ty]>,
    pub result: Ty,
    /// How many type parameters it has (.NET).
    pub generics: u16,
    /// It is no method, but a chain from its one parameter on: the adapter goes from one to the next, up to the first null.
    pub links: Box<[Link]>,
}

/// A link of a chain.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Link {
    /// The type that declares it; of a cast that type.
    pub owner: Ty,
    /// The owner is an interface (JVM, dex).
    pub owner_is_interface: bool,
    pub name: Box<str>,
    pub kind: LinkKind,
    /// Its type alone sees it (.NET): a method of that type asks for it.
    pub is_private: bool,
    pub result: Ty,
    /// What a generic type's member takes and gives, as that declares it (.NET).
    pub declared: Option<(Box<[Ty]>, Ty)>,
}

/// What a link does with an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// It calls a method, with these constants.
    Method(Box<[Constant]>),
    /// It reads a field.
    Field,
    /// It reads how long an array is.
    Length,
    /// It takes the object as another type; null, where it is of none such.
    Cast,
    /// It makes an object of a primitive value or a struct.
    Box,
}

/// What a link's method takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Constant {
    pub value: ConstantValue,
    /// It becomes an object.
    pub boxed: Option<Prim>,
    /// The method's parameter.
    pub to: Ty,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ConstantValue {
    Int(i32),
    Long(i64),
    /// The bits of a number.
    Double(u64),
    Text(Arc<str>),
    Null,
    /// No constant, but an object that the adapter takes behind the chain's own: which of them. Where it is null, the chain ends.
    Taken(u16),
    /// The address of a place for what the method gives by `out`, which is what the link gives (.NET).
    Out,
}

impl LinkKind {
    /// What its method gives by `out`.
    pub fn out(&self) -> Option<&Ty> {
        let LinkKind::Method(arguments) = self else {
            return None;
        };
        arguments.iter().find_map(|argument| match &argument.to {
            Ty::ByRef(given) if argument.value == ConstantValue::Out => Some(&**given),
            _ => None,
        })
    }
}

/// As rules write it.
impl fmt::Display for ConstantValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConstantValue::Int(n) => write!(f, "{n}"),
            ConstantValue::Long(n) => write!(f, "{n}"),
            ConstantValue::Double(bits) => write!(f, "{}", f64::from_bits(*bits)),
            ConstantValue::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            ConstantValue::Null => f.write_str("null"),
            // A header's, as rules call them.
            ConstantValue::Taken(0) => f.write_str("name"),
            ConstantValue::Taken(_) => f.write_str("value"),
            ConstantValue::Out => f.write_str("out"),
        }
    }
}

impl Constant {
    /// A constant operand.
    pub fn of(operand: &Operand) -> Option<Constant> {
        let value = match &operand.source {
            Source::Int(n) => ConstantValue::Int(*n),
            Source::Long(n) => ConstantValue::Long(*n),
            Source::Double(n) => ConstantValue::Double(n.to_bits()),
            Source::Text(text) => ConstantValue::Text(Arc::clone(text)),
            Source::Zero => ConstantValue::Null,
            _ => return None,
        };
        let boxed = match (operand.convert, &operand.from) {
            (Convert::Same, _) => None,
            (Convert::Box, Ty::Prim(prim)) => Some(*prim),
            _ => return None,
        };
        Some(Constant {
            value,
            boxed,
            to: operand.to.clone(),
        })
    }

    /// What is pushed, before it becomes an object.
    pub fn pushed(&self) -> Ty {
        self.boxed.map_or_else(|| self.to.clone(), Ty::Prim)
    }
}

impl Link {
    /// The constants that its method takes.
    pub fn arguments(&self) -> &[Constant] {
        match &self.kind {
            LinkKind::Method(arguments) => arguments,
            _ => &[],
        }
    }

    /// Which of the adapter's further arguments its method takes.
    pub fn taken(&self) -> impl Iterator<Item = usize> {
        self.arguments()
            .iter()
            .filter_map(|argument| match argument.value {
                ConstantValue::Taken(n) => Some(usize::from(n)),
                _ => None,
            })
    }

    /// The types of its method's parameters, as its type declares them.
    pub fn parameters(&self) -> Vec<Ty> {
        if let Some((parameters, _)) = &self.declared {
            return parameters.to_vec();
        }
        self.arguments()
            .iter()
            .map(|argument| argument.to.clone())
            .collect()
    }

    /// What it gives, as its type declares it.
    pub fn gives(&self) -> &Ty {
        self.declared
            .as_ref()
            .map_or(&self.result, |(_, gives)| gives)
    }

    /// The link with other types in place of its own.
    pub fn over(&self, of: &mut dyn FnMut(&Ty) -> Ty) -> Link {
        let kind = match &self.kind {
            LinkKind::Method(all) => {
                let constant = |constant: &Constant| Constant {
                    to: of(&constant.to),
                    ..constant.clone()
                };
                LinkKind::Method(all.iter().map(constant).collect())
            }
            other => other.clone(),
        };
        Link {
            owner: of(&self.owner),
            kind,
            result: of(&self.result),
            ..self.clone()
        }
    }
}

/// Names of adapters follow from it: of a method that takes nothing it stays what it was before there were others.
impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Link");
        shown
            .field("owner", &self.owner)
            .field("owner_is_interface", &self.owner_is_interface)
            .field("name", &self.name);
        if self.kind != LinkKind::Method(Box::default()) {
            shown.field("kind", &self.kind);
        }
        if self.is_private {
            shown.field("is_private", &true);
        }
        if let Some(declared) = &self.declared {
            shown.field("declared", declared);
        }
        shown.field("result", &self.result).finish()
    }
}

/// A static method of the same parameters and result that calls the hook, and returns null or zero where it does not come to that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Adapter {
    /// The class that has it as the method `call` (JVM, dex): `weave/hooks/begin_1f2e3d4c`. Its name follows from all
    /// that is in it.
    pub class: Arc<str>,
    /// It catches what the hook throws, and reports that to the hook library (`Guard.failed(exception, "acme.Sql.begin")`).
    pub guard: bool,
    /// What the hook calls may be woven: while a hook of a thread runs, the adapter calls no other
    /// (`Guard.begin()` gives its flag).
    pub recursion: bool,
    /// It gives what the hook changes.
    pub change: Option<Change>,
}

/// What an adapter gives for a hook that changes a value: it takes the one that was there before as its last argument, and falls back on
/// that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// How the hook's result becomes the adapter's, and that type.
    pub convert: Convert,
    pub to: Ty,
    /// The type of what was there before.
    pub old: Ty,
    /// That is an exception, which goes on: it is thrown.
    pub throws: bool,
}

/// An operand: a value, how it becomes what the hook takes, and that type.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    pub source: Source,
    /// The type of the source's value.
    pub from: Ty,
    pub convert: Convert,
    /// The type of the hook's parameter; its type parameters are replaced by [`Call::generics`].
    pub to: Ty,
}

/// Where an operand's value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// The method's object, as it was at the start.
    This,
    /// The n-th argument, from 0, without `this`, as it was at the start.
    Arg(u16),
    /// All arguments in a new array of objects: an operand each.
    Args(Box<[Operand]>),
    /// What the method returns.
    Result,
    /// What leaves the method.
    Exception,
    /// What an enter hook returned: the place in [`Keep::states`].
    State(u16),
    /// Nanoseconds since the start of the method.
    Duration,
    /// The method's id.
    Id,
    /// The method's first source line, or 0.
    Line,
    /// A text.
    Text(Arc<str>),
    Int(i32),
    Long(i64),
    Double(f64),
    /// What runs the body.
    Proceed(Arc<Proceed>),
    /// Null, or zero of whatever type is asked for.
    Zero,
}

/// How a value becomes what the hook takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Convert {
    /// It is one already (identity, a reference to a supertype, type parameters that are inferred).
    Same,
    /// From one primitive type to a wider one (JLS 5.1.2; ECMA-334 10.2.3).
    Widen(Prim, Prim),
    /// Into an object: a primitive type, a struct, a type parameter (.NET).
    Box,
    /// What a managed pointer points to (.NET).
    Load,
    /// The same, into an object (.NET).
    LoadBox,
    /// From an object to what it must be, or to the value that it holds: what a hook around a body returns.
    Cast,
}

/// What becomes of a hook's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dest {
    /// Nothing.
    Drop,
    /// It is kept: the place in [`Keep::states`].
    State(u16),
    /// At enter: the n-th argument gets it.
    Arg(u16),
    /// At exit: the method returns it.
    Result,
    /// In place of the body: the method returns it.
    Returned,
    /// At exception: it leaves the method instead.
    Throw,
    /// At exception: that ends here, and the method returns it. So many of the last exit hooks come first: those of the aspects around.
    Ends { exits: u16 },
    /// At enter: unless it is null, the method returns it, and its body does not run. So many of the last exit hooks do: those of the
    /// aspect and of the ones around it.
    ReturnUnlessNull { exits: u16 },
    /// At enter: if it is true, the method returns null or zero, and its body does not run; exit hooks as above.
    SkipWhen { exits: u16 },
}

/// A bound call, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownCall {
    /// `enter`, `around`, `exit`, `exception`, `record` or `texts`.
    pub when: &'static str,
    /// The hook with the types of its parameters: `acme.Sql.begin(Object, String)`; of a value its name.
    pub hook: String,
    /// What each parameter gets: `this`, `arg(0) boxed`.
    pub operands: Vec<String>,
    /// What it changes: `arg(0)`, `result`, `throw`, `return`, `skip`.
    pub changes: Option<String>,
    /// What it throws does not reach the program.
    pub guard: bool,
    /// It is not called while another hook of the thread runs.
    pub recursion: bool,
}

impl Bound {
    /// Which states live through the body: what is kept for the next call is gone before.
    pub fn lasting(&self) -> Vec<bool> {
        let mut lasting = vec![false; self.keep.states.len()];
        for call in &self.enter {
            if let Dest::State(n) = call.dest
                && let Some(lasts) = lasting.get_mut(usize::from(n))
            {
                *lasts = true;
            }
        }
        let mut read = vec![false; lasting.len()];
        for operand in self
            .exit
            .iter()
            .chain(&self.exception)
            .flat_map(|call| &call.operands)
        {
            operand.each_source(&mut |source| {
                if let Source::State(n) = source
                    && let Some(read) = read.get_mut(usize::from(*n))
                {
                    *read = true;
                }
            });
        }
        lasting
            .iter()
            .zip(read)
            .map(|(set, read)| *set && read)
            .collect()
    }

    /// All calls, by when they run; those of the body, where it is a method of its own, come last.
    pub fn all(&self) -> Box<dyn Iterator<Item = &Call> + '_> {
        let own = (self.enter.iter().chain(&self.exit)).chain(&self.exception);
        let Some(around) = &self.around else {
            return Box::new(own);
        };
        let inner = around.inner.iter().flat_map(|inner| inner.all());
        Box::new(own.chain([&around.call]).chain(inner))
    }

    /// Whether a hook of this name replaces the body.
    pub fn runs_around(&self, method: &str) -> bool {
        let mut around = self.layers().filter_map(|layer| layer.around.as_ref());
        around.any(|around| *around.call.hook.name == *method)
    }

    /// It, and what lies inside of each `around`.
    pub fn layers(&self) -> impl Iterator<Item = &Bound> + Clone {
        fn inner<'b>(bound: &&'b Bound) -> Option<&'b Bound> {
            bound.around.as_ref()?.inner.as_deref()
        }
        std::iter::successors(Some(self), inner)
    }

    /// There is a hook at the start or at the end, or a value that is recorded there.
    pub fn has_own_hooks(&self) -> bool {
        !(self.enter.is_empty() && self.exit.is_empty() && self.exception.is_empty())
    }

    /// What decides about calls of a method that can be switched: what the rules say, as the hook library takes it.
    pub fn switched(&self) -> Option<i32> {
        if self.logical.is_some() {
            return self.logical;
        }
        let decides =
            |call: &&Call| call.role == Role::Switch && matches!(call.dest, Dest::State(_));
        match self.all().find(decides)?.operands.first()?.source {
            Source::Int(says) => Some(says),
            _ => None,
        }
    }

    /// It can be switched, and is off until somebody switches it on.
    pub fn starts_off(&self) -> bool {
        self.switched().is_some_and(switches::starts_off)
    }

    /// Hooks at the end stand elsewhere: where the method completes, after it has returned.
    pub fn ends_elsewhere(&self) -> bool {
        self.later && !(self.exit.is_empty() && self.exception.is_empty())
    }

    /// There is no hook.
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// The calls at exit.
    pub fn exits(&self) -> Beside<'_> {
        Beside::hooks_behind(&self.exit)
    }

    /// The calls at exception.
    pub fn exceptions(&self) -> Beside<'_> {
        Beside::hooks_behind(&self.exception)
    }

    /// The calls at enter: hooks in front.
    pub fn enters(&self) -> Beside<'_> {
        let hooks = self.enter.iter().rposition(|call| call.role == Role::Hook);
        Beside::split(&self.enter, hooks.map_or(0, |last| last + 1))
    }

    /// The exit hooks that run where a hook has left the body out, or ended an exception: so many of the last ones.
    pub fn last_exits(&self, count: u16) -> &[Call] {
        let hooks = self.exits().behind;
        &hooks[hooks.len().saturating_sub(count.into())..]
    }

    /// Whether a hook may leave the body out.
    pub fn may_skip(&self) -> bool {
        let skips = |call: &Call| {
            matches!(
                call.dest,
                Dest::ReturnUnlessNull { .. } | Dest::SkipWhen { .. }
            )
        };
        self.enter.iter().any(skips)
    }

    /// Whether a hook may put another exception instead of one, or end it.
    pub fn catches(&self) -> bool {
        let catches = |call: &Call| matches!(call.dest, Dest::Throw | Dest::Ends { .. });
        self.exception.iter().any(catches)
    }

    /// Whether a hook may end an exception.
    pub fn may_end(&self) -> bool {
        (self.exception.iter()).any(|call| matches!(call.dest, Dest::Ends { .. }))
    }

    /// All calls, in the order in which they run.
    pub fn shown(&self) -> Vec<ShownCall> {
        let of = |when, calls: &[Call]| -> Vec<ShownCall> {
            let mut parts = Vec::new();
            let mut all = Vec::new();
            for (n, call) in calls.iter().enumerate() {
                let is_read = |state| calls[n + 1..].iter().any(|call| call.reads_state(state));
                match call.dest {
                    Dest::State(state) if is_read(state) => {
                        let text = call.made(&parts);
                        parts.push(Shown { state, text });
                    }
                    _ => all.push(call.shown_with(when, &parts)),
                }
            }
            all
        };
        let enters = self.enters();
        let mut all = of("enter", enters.front);
        if let Some(around) = &self.around {
            all.push(around.call.shown("around"));
            all.extend(around.inner.iter().flat_map(|inner| inner.shown()));
        }
        all.extend(of("exit", self.exits().behind));
        all.extend(of("exception", self.exceptions().behind));
        let mut made: Vec<Shown> = Vec::new();
        let values = enters.behind.iter().chain(self.exits().front);
        for call in values.chain(self.exceptions().front) {
            match (call.role, call.dest) {
                (Role::Switch, _) => {}
                (Role::Hold, _) => all.extend(call.shown_hold()),
                (_, Dest::State(state)) => {
                    let text = call.made(&made);
                    made.push(Shown { state, text });
                }
                (Role::Inject, _) => {
                    // Once for all headers that may be sent.
                    let shown = call.shown_with("inject", &made);
                    let is_known =
                        |known: &ShownCall| known.when == "inject" && known.hook == shown.hook;
                    if !all.iter().any(is_known) {
                        all.push(shown);
                    }
                }
                _ => all.push(call.shown_record(&self.values, &made)),
            }
        }
        all
    }
}

/// The calls in front of the pair's hook, and those behind it.
pub struct Beside<'a> {
    pub front: &'a [Call],
    pub behind: &'a [Call],
}

impl<'a> Beside<'a> {
    fn split(calls: &'a [Call], at: usize) -> Beside<'a> {
        let (front, behind) = calls.split_at(at);
        Beside { front, behind }
    }

    fn hooks_behind(calls: &'a [Call]) -> Beside<'a> {
        let hooks = calls.iter().position(|call| call.role == Role::Hook);
        Beside::split(calls, hooks.unwrap_or(calls.len()))
    }
}

/// The result of a call, as `weave plan` shows it.
struct Shown {
    /// Where it is kept.
    state: u16,
    text: String,
}

impl Call {
    /// A call of the hook library that records a value; `made`: what other calls give.
    fn shown_record(&self, names: &[Arc<str>], made: &[Shown]) -> ShownCall {
        let number = match self.operands.get(1).map(|place| &place.source) {
            Some(Source::Int(place)) => (place >> 16) as usize,
            _ => usize::MAX,
        };
        let value = self.operands.first();
        let shown = value.map(|value| value.shown_with(made, self.language()));
        ShownCall {
            when: "record",
            hook: names.get(number).map_or("?", |name| name).to_owned(),
            operands: shown.into_iter().collect(),
            changes: None,
            guard: true,
            recursion: false,
        }
    }

    /// A call that tells the hook library what is left out of texts; none of one that holds for all of the trace.
    fn shown_hold(&self) -> Option<ShownCall> {
        let is_masked = matches!(self.operands.first()?.source, Source::Text(_));
        let how = match self.operands.get(1)?.source {
            Source::Int(how) => how,
            _ => 0,
        };
        let is_silent = how & hold::SILENT != 0;
        let is_of_aspect = how & !hold::SILENT == 0;
        let what = match (is_masked, is_silent) {
            (true, true) => "masked, no messages",
            (true, false) => "masked",
            _ => "no messages",
        };
        is_of_aspect.then(|| ShownCall {
            when: "texts",
            hook: what.to_owned(),
            operands: Vec::new(),
            changes: None,
            guard: true,
            recursion: false,
        })
    }

    /// The hook's type parameters are what the call says.
    pub fn gives(&self) -> Ty {
        super::ty::instantiate(&self.hook.result, &self.generics)
    }

    /// The parameters of what is called: the hook or its adapter.
    pub fn parameters(&self) -> impl Iterator<Item = &Ty> {
        let old = self.change().map(|change| &change.old);
        self.hook.parameters.iter().chain(old)
    }

    /// The result of what is called, as declared.
    pub fn result(&self) -> &Ty {
        self.change().map_or(&self.hook.result, |change| &change.to)
    }

    /// What remains to be done with that, for `dest`.
    pub fn conversion(&self) -> Convert {
        match (&self.given, self.change()) {
            (Some((convert, _)), None) => *convert,
            _ => Convert::Same,
        }
    }

    /// What its adapter does beside calling the hook.
    pub fn change(&self) -> Option<&Change> {
        self.adapter.as_ref()?.change.as_ref()
    }

    fn language(&self) -> Language {
        match &self.hook.owner {
            Ty::Named(owner) if !owner.scope.is_empty() => Language::CSharp,
            _ => Language::Java,
        }
    }

    fn is_chain(&self) -> bool {
        !self.hook.links.is_empty()
    }

    /// A call that gives the first of two values that is not null.
    fn is_first(&self) -> bool {
        let method = (self.hook.owner.name(), &*self.hook.name);
        matches!(
            method,
            (Some("weave/runtime/Values"), "first") | (Some("Weave.Runtime.Values"), "First")
        )
    }

    /// Whether some operand is read from such a source.
    pub fn reads(&self, wanted: impl Fn(&Source) -> bool) -> bool {
        let mut reads = false;
        for operand in &self.operands {
            operand.each_source(&mut |source| reads |= wanted(source));
        }
        reads
    }

    /// It takes what another call has kept.
    fn reads_state(&self, state: u16) -> bool {
        self.reads(|source| *source == Source::State(state))
    }

    /// What gives a value: `arg(0).uri().getHost()`, `acme.Session.user(Object)`; `made`: what calls in front of it give.
    fn made(&self, made: &[Shown]) -> String {
        let shown = |operand: &Operand| operand.source_with(made);
        match &*self.operands {
            [head] if self.is_chain() => format!("{}.{}", shown(head), self.hook.name),
            [one, more] if self.is_first() => format!("first({}, {})", shown(one), shown(more)),
            _ => self.shown("").hook,
        }
    }

    pub fn shown(&self, when: &'static str) -> ShownCall {
        self.shown_with(when, &[])
    }

    fn shown_with(&self, when: &'static str, made: &[Shown]) -> ShownCall {
        let language = self.language();
        let operands = &self.operands[..self.hook.parameters.len().min(self.operands.len())];
        let types: Vec<String> = (operands.iter())
            .map(|operand| operand.to.shown(language))
            .collect();
        let adapter = |is: fn(&Adapter) -> bool| self.adapter.as_ref().is_some_and(is);
        ShownCall {
            when,
            hook: format!(
                "{}.{}({})",
                self.hook.owner.shown(language),
                self.hook.name,
                types.join(", ")
            ),
            operands: (operands.iter())
                .map(|operand| operand.shown_with(made, language))
                .collect(),
            changes: match self.dest {
                Dest::Drop | Dest::State(_) | Dest::Returned => None,
                Dest::Arg(n) => Some(format!("arg({n})")),
                Dest::Result | Dest::Ends { .. } => Some("result".to_owned()),
                Dest::Throw => Some("throw".to_owned()),
                Dest::ReturnUnlessNull { .. } => Some("return".to_owned()),
                Dest::SkipWhen { .. } => Some("skip".to_owned()),
            },
            guard: adapter(|adapter| adapter.guard),
            recursion: adapter(|adapter| adapter.recursion),
        }
    }
}

impl fmt::Display for ShownCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.when)?;
        match self.changes.as_deref() {
            None => f.write_str(&self.hook)?,
            Some("throw") => write!(f, "throw {}", self.hook)?,
            Some("return") => write!(f, "return {} unless null", self.hook)?,
            Some("skip") => write!(f, "skip when {}", self.hook)?,
            Some(place) => write!(f, "{place} = {}", self.hook)?,
        }
        if !self.operands.is_empty() {
            write!(f, " gets {}", self.operands.join(", "))?;
        }
        Ok(())
    }
}

impl Operand {
    fn source_with(&self, made: &[Shown]) -> String {
        let given = match self.source {
            Source::State(n) => made.iter().find(|given| given.state == n),
            _ => None,
        };
        given.map_or_else(|| self.source.to_string(), |given| given.text.clone())
    }

    /// The source and its conversion. `made`: what other calls give.
    fn shown_with(&self, made: &[Shown], language: Language) -> String {
        let source = self.source_with(made);
        match self.convert {
            Convert::Same => source,
            Convert::Widen(from, _) => format!("{source} from {}", from.word(language)),
            Convert::Box => format!("{source} boxed"),
            Convert::Cast => format!("{source} cast"),
            Convert::Load => format!("{source} loaded"),
            Convert::LoadBox => format!("{source} loaded and boxed"),
        }
    }
}

/// As rules write it.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::This => f.write_str("this"),
            Source::Arg(n) => write!(f, "arg({n})"),
            Source::Args(_) => f.write_str("args"),
            Source::Result => f.write_str("result"),
            Source::Exception => f.write_str("exception"),
            Source::State(_) => f.write_str("state"),
            Source::Duration => f.write_str("duration"),
            Source::Id => f.write_str("id"),
            Source::Line => f.write_str("line"),
            Source::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Source::Int(n) => write!(f, "{n}"),
            Source::Long(n) => write!(f, "{n}"),
            Source::Double(n) => write!(f, "{n}"),
            Source::Proceed(_) => f.write_str("proceed"),
            Source::Zero => f.write_str("nothing"),
        }
    }
}
