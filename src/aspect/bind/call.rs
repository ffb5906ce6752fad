//! Bound hook calls: what backends turn into code. They know types and operands, and no bytecode.

use super::ty::{Language, Prim, Ty};
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
    /// How many of the calls record values: the last ones at enter, the first ones at the end.
    pub records: Counts,
    /// The names of the values, by their numbers.
    pub values: Box<[Arc<str>]>,
    pub keep: Keep,
}

/// How many calls there are of each sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub enter: usize,
    pub exit: usize,
    pub exception: usize,
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
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub hook: Arc<Hook>,
    /// The hook's type arguments (.NET).
    pub generics: Box<[Ty]>,
    /// One for each parameter of the hook.
    pub operands: Box<[Operand]>,
    pub dest: Dest,
    /// By which method the hook is called, so that what it throws does not reach the program. None: it is called itself.
    pub adapter: Option<Adapter>,
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
    /// It is no method, but a chain from its one parameter on: the adapter asks for one after the other, up to the first null.
    pub links: Box<[Link]>,
}

/// A link of a chain: a public method of an object that takes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// The type that declares it.
    pub owner: Ty,
    /// The owner is an interface (JVM, dex).
    pub owner_is_interface: bool,
    pub name: Box<str>,
    pub result: Ty,
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
    /// Null, or zero of whatever type is asked for.
    Zero,
}

/// How a value becomes what the hook takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// What becomes of a hook's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dest {
    /// Nothing.
    Drop,
    /// It is kept: the place in [`Keep::states`].
    State(u16),
}

/// A bound call, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownCall {
    /// `enter`, `exit`, `exception` or `record`.
    pub when: &'static str,
    /// The hook with the types of its parameters: `acme.Sql.begin(Object, String)`; of a value its name.
    pub hook: String,
    /// What each parameter gets: `this`, `arg(0) boxed`.
    pub operands: Vec<String>,
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

    /// All calls, by when they run.
    pub fn all(&self) -> impl Iterator<Item = &Call> {
        (self.enter.iter().chain(&self.exit)).chain(&self.exception)
    }

    /// The calls at exit in front of the pair's hook, and those behind it.
    pub fn exits(&self) -> (&[Call], &[Call]) {
        self.exit.split_at(self.records.exit)
    }

    /// The same at exception.
    pub fn exceptions(&self) -> (&[Call], &[Call]) {
        self.exception.split_at(self.records.exception)
    }

    /// All calls, in the order in which they run.
    pub fn shown(&self) -> Vec<ShownCall> {
        let of = |when, calls: &[Call]| -> Vec<ShownCall> {
            let mut chains = Vec::new();
            let mut all = Vec::new();
            for call in calls {
                match call.dest {
                    Dest::State(n) if call.is_chain() => chains.push((n, call.made())),
                    _ => all.push(call.shown_with(when, &chains)),
                }
            }
            all
        };
        let enters = self.enter.split_at(self.enter.len() - self.records.enter);
        let mut all = of("enter", enters.0);
        all.extend(of("exit", self.exits().1));
        all.extend(of("exception", self.exceptions().1));
        let mut made = Vec::new();
        let values = enters.1.iter().chain(self.exits().0);
        for call in values.chain(self.exceptions().0) {
            match call.dest {
                Dest::State(n) => made.push((n, call.made())),
                Dest::Drop => all.push(call.shown_record(&self.values, &made)),
            }
        }
        all
    }
}

impl Call {
    /// A call of the hook library that records a value; `made`: what other calls give, by their states.
    fn shown_record(&self, names: &[Arc<str>], made: &[(u16, String)]) -> ShownCall {
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
            guard: true,
            recursion: false,
        }
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

    /// What gives a value: `arg(0).uri().getHost()`, `acme.Session.user(Object)`.
    fn made(&self) -> String {
        match self.operands.first() {
            Some(head) if self.is_chain() => format!("{}.{}", head.source, self.hook.name),
            _ => self.shown("").hook,
        }
    }

    pub fn shown(&self, when: &'static str) -> ShownCall {
        self.shown_with(when, &[])
    }

    fn shown_with(&self, when: &'static str, made: &[(u16, String)]) -> ShownCall {
        let language = self.language();
        let types: Vec<String> = (self.operands.iter())
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
            operands: (self.operands.iter())
                .map(|operand| operand.shown_with(made, language))
                .collect(),
            guard: adapter(|adapter| adapter.guard),
            recursion: adapter(|adapter| adapter.recursion),
        }
    }
}

impl fmt::Display for ShownCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.when, self.hook)?;
        if !self.operands.is_empty() {
            write!(f, " gets {}", self.operands.join(", "))?;
        }
        Ok(())
    }
}

impl Operand {
    /// The source, and what becomes of it; `made`: what other calls give, by their states.
    fn shown_with(&self, made: &[(u16, String)], language: Language) -> String {
        let given = match self.source {
            Source::State(n) => made.iter().find(|(known, _)| *known == n),
            _ => None,
        };
        let source = given.map_or_else(|| self.source.to_string(), |(_, given)| given.clone());
        match self.convert {
            Convert::Same => source,
            Convert::Widen(from, _) => format!("{source} from {}", from.word(language)),
            Convert::Box => format!("{source} boxed"),
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
            Source::Zero => f.write_str("nothing"),
        }
    }
}
