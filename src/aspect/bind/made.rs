//! The methods that Weave makes: adapters of hooks and of chains, methods that are called instead of others, and those that look at an
//! exception first. Each is a list of steps, decided once and lowered by each backend.
//!
//! As in a [`super::schedule`], a value may be *at hand* between steps. A step that leaves the method goes on at a label, which comes later.

use super::call::{Adapter, Convert, Hook, Link, LinkKind};
use super::site::{Instead, Redirect};
use super::ty::{Prim, Ty};
use crate::aspect::joinpoint::Callee;

/// A static method.
#[derive(Debug, PartialEq)]
pub struct Made<'m> {
    pub takes: Vec<Ty>,
    pub gives: &'m Ty,
    pub steps: Vec<Step<'m>>,
}

/// One of the things that a backend lowers.
#[derive(Clone, Debug, PartialEq)]
pub enum Step<'m> {
    /// The flag against recursion is asked for and kept. Where a hook of the thread runs already there is none; else it goes on at
    /// [`Label::Free`].
    Begin,
    /// The flag is cleared.
    End,
    /// What may throw begins here, and ends at `Tried`.
    Try,
    Tried,
    /// The method goes on here with what was thrown between these two, in `Begin`, or in `Tell`: whichever came last.
    Catch(Caught),
    /// What was caught goes to the hook library, as thrown by the hook of this name.
    Tell(String),
    /// Where that fails, the method does these steps, which also follow `Tell`.
    Untold(Vec<Step<'m>>),
    /// An argument is at hand.
    Load(usize),
    /// Null or zero is at hand; nothing for void.
    Zero(&'m Ty),
    /// Another method is called with as many of the first arguments as it takes. What it gives is at hand.
    Pass(Called<'m>),
    /// What is at hand becomes another value.
    Widen(Prim, Prim),
    Box(&'m Ty),
    Cast(&'m Ty),
    /// What is at hand becomes the object of a chain; at first that is the first argument.
    Hold,
    /// Unless that holds, it goes on at [`Label::Out`].
    Unless(Test<'m>),
    /// The object's link is at hand.
    Ask(&'m Link),
    Label(Label),
    /// What is at hand is returned, or thrown.
    Return,
    Throw,
}

/// A place that steps lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// No hook of the thread runs.
    Free,
    /// The method has nothing more to do.
    Out,
}

/// What a handler is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// What a hook throws.
    All,
    /// What a call of the hook library throws: it may fail itself, at the end of the stack or of memory.
    Failure,
}

/// A test of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test<'m> {
    NotNull,
    /// It is of this type.
    Is(&'m Ty),
    /// An argument is not null.
    HasArgument(usize),
}

/// What a method calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Called<'m> {
    Hook(&'m Hook),
    Callee(&'m Callee),
    /// The method `call` of the class of a redirect, which takes the first argument as what it was found to be.
    Tested(&'m Redirect, &'m Ty),
}

/// What messages call a hook: `acme.Sql.begin`.
pub fn told(hook: &Hook) -> String {
    let owner = match &hook.owner {
        // An assembly names the scope, and nested types behind a `+`.
        Ty::Named(owner) if owner.scope.is_empty() => owner.name.replace('/', "."),
        Ty::Named(owner) => owner.name.replace('+', "."),
        _ => String::new(),
    };
    format!("{owner}.{}", hook.name)
}

/// The adapter of a hook (JVM, dex).
pub fn adapter<'m>(hook: &'m Hook, adapter: &'m Adapter) -> Made<'m> {
    let change = adapter.change.as_ref();
    let falls_back = [
        match change {
            None => Step::Zero(&hook.result),
            Some(_) => Step::Load(hook.parameters.len()),
        },
        match change.is_some_and(|change| change.throws) {
            true => Step::Throw,
            false => Step::Return,
        },
    ];
    let end = || adapter.recursion.then_some(Step::End);
    let over = || end().into_iter().chain(falls_back.clone());
    let mut steps = Vec::new();
    if adapter.recursion {
        steps.push(Step::Begin);
        steps.extend(falls_back.clone());
        if adapter.guard {
            steps.push(Step::Catch(Caught::Failure));
            steps.extend(falls_back.clone());
        }
        steps.push(Step::Label(Label::Free));
    }
    steps.push(Step::Try);
    match hook.links.is_empty() {
        true => steps.push(Step::Pass(Called::Hook(hook))),
        false => steps.extend(chain(hook)),
    }
    match change.map(|change| (change.convert, &change.to, &hook.result)) {
        Some((Convert::Widen(from, to), ..)) => steps.extend([Step::Tried, Step::Widen(from, to)]),
        Some((Convert::Box, _, from)) => steps.extend([Step::Tried, Step::Box(from)]),
        // It can fail as the hook can.
        Some((Convert::Cast, to, _)) => steps.extend([Step::Cast(to), Step::Tried]),
        _ => steps.push(Step::Tried),
    }
    steps.extend(end());
    steps.push(Step::Return);
    if steps.iter().any(|step| matches!(step, Step::Unless(_))) {
        steps.push(Step::Label(Label::Out));
        steps.extend(over());
    }
    if adapter.guard {
        steps.extend([Step::Catch(Caught::All), Step::Tell(told(hook))]);
        steps.extend(over());
        steps.push(Step::Untold(over().collect()));
    } else if adapter.recursion {
        steps.extend([Step::Catch(Caught::All), Step::End, Step::Throw]);
    }
    Made {
        takes: (hook.parameters.iter().cloned())
            .chain(change.map(|change| change.old.clone()))
            .collect(),
        gives: change.map_or(&hook.result, |change| &change.to),
        steps,
    }
}

/// The links of a chain, from the first argument on: each with a look whether it can be asked.
pub fn chain(hook: &Hook) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut from = &hook.parameters[0];
    for (place, link) in hook.links.iter().enumerate() {
        let before = std::mem::replace(&mut from, &link.result);
        if link.kind == LinkKind::Box {
            steps.extend((place == 0).then_some(Step::Load(0)));
            steps.push(Step::Box(&link.owner));
            continue;
        }
        steps.extend((place > 0).then_some(Step::Hold));
        match link.kind {
            LinkKind::Cast => steps.push(Step::Unless(Test::Is(&link.owner))),
            _ if before.is_reference() => steps.push(Step::Unless(Test::NotNull)),
            _ => {}
        }
        let taken = link.taken().map(|n| Test::HasArgument(n + 1));
        steps.extend(taken.map(Step::Unless));
        steps.push(Step::Ask(link));
    }
    steps
}

/// The method of a redirect's class, without the hooks around it. At points only hooks do something, unless one takes its place.
pub fn redirected(redirect: &Redirect) -> Made<'_> {
    let called = match (&redirect.instead, redirect.replace()) {
        (Instead::HooksAt { .. }, _) => None,
        (_, Some(replace)) => Some(Called::Hook(&replace.call.hook)),
        (_, None) => Some(Called::Callee(&redirect.callee)),
    };
    let steps = called.map(Step::Pass).into_iter();
    Made {
        takes: redirect.callee.taken(),
        gives: &redirect.callee.result,
        steps: steps.chain([Step::Return]).collect(),
    }
}

/// What looks whether an exception is what the hook of a redirect is about.
pub struct Looks<'m> {
    /// The class that has it as the method `call`.
    pub class: String,
    pub ty: &'m Ty,
    pub made: Made<'m>,
}

/// None, if its hook is about all that are thrown or caught there.
pub fn looks(redirect: &Redirect) -> Option<Looks<'_>> {
    let placed = redirect.placed()?;
    let ty = placed.test.as_ref()?;
    let mut takes = redirect.callee.taken();
    *takes.first_mut()? = placed.point.takes.first()?.clone();
    Some(Looks {
        class: format!("{}_if", redirect.class()?),
        ty,
        made: Made {
            takes,
            gives: &Ty::Void,
            steps: vec![
                Step::Unless(Test::Is(ty)),
                Step::Pass(Called::Tested(redirect, ty)),
                Step::Label(Label::Out),
                Step::Return,
            ],
        },
    })
}

#[cfg(test)]
mod tests;
