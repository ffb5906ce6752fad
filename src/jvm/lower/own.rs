//! Own hooks: where they find the values that they take, and their calls.
//!
//! ```text
//!     [load argument; store saved]..  [invokestatic nanoTime; lstore time]  operands; invokestatic; [store state]    at the start
//!     [store result]; operands; invokestatic; [pop]; [load result]                                 before each return
//!     astore exception; operands; invokestatic; [pop]; aload exception; athrow                      in the handler
//! ```
//!
//! Hooks that change something:
//!
//! ```text
//!     operands; invokestatic; store argument                                                       at the start
//!     operands; invokestatic; store r; load r; ifnull L; load r; exit hooks; xreturn; L:           `return .. unless null`
//!     operands; invokestatic; ifeq L; zero; exit hooks; xreturn; L:                                `skip when ..`
//!     operands; invokestatic; store result                                                         before each return
//!     astore exception; operands; invokestatic; exit hooks; xreturn; H: astore exception; ..       `result = ..` in the handler
//! ```
//!
//! `L` has a frame of what the method begins with and what is kept. `H` catches the exception from the adapter, which throws it on if
//! the hook fails.
//!
//! All variables lie behind the method's own. Those that live through the body (saved arguments, the time, states) come
//! first, and frames list them; what holds a result or an exception lives within a snippet alone.

use crate::aspect::advice::Reason;
use crate::aspect::attempt::Attempt;
use crate::aspect::bind::call::{Bound, Call, Convert, Operand, Proceed, Source};
use crate::aspect::bind::schedule::{Otherwise, Schedule, Step, Test, Var};
use crate::aspect::bind::ty::{Language, Prim, Ty};
use crate::bytes::modified_utf8;
use crate::error::Result;
use crate::jvm::class::Class;
use crate::jvm::constructor::Initialisation;
use crate::jvm::emit::{self, Kind, Snippet};
use crate::jvm::frames::{FullFrame, VerificationType, item, verification_type};
use crate::jvm::insn::{self, op};
use crate::jvm::parameters::Parameter;
use crate::jvm::pool::{Additions, tag};

/// Most words of locals that are listed in all frames of a method.
const MAX_LISTED: usize = 4 << 20;

/// What is known of a method with own hooks.
pub(super) struct Facts<'f, 'a> {
    pub class: &'f Class<'a>,
    pub bound: &'f Bound,
    pub is_static: bool,
    pub max_locals: u16,
    pub insns: &'f [u8],
    /// A constructor's.
    pub initialisation: Option<&'f Initialisation>,
    /// `this`, where there is one, and the parameters.
    pub parameters: &'f [Parameter<'a>],
    /// All frames list the parameters with their types.
    pub frames_keep: bool,
    /// The first letter of the result's descriptor.
    pub result: u8,
}

/// `this` or an argument.
#[derive(Clone, Copy)]
struct Value {
    kind: Kind,
    /// Its own variable.
    slot: u16,
    /// The body stores into that, in a constructor behind the call of another one.
    overwritten: bool,
    /// A constructor does in front of that call.
    overwritten_early: bool,
    /// A variable that keeps what it was at the start.
    saved: Option<u16>,
    /// It is saved at the very start, in front of a constructor's call of another one.
    is_early: bool,
}

/// A method's own hooks, and the variables that they use.
pub(super) struct Own<'f> {
    bound: &'f Bound,
    pub schedule: Schedule<'f>,
    is_static: bool,
    is_constructor: bool,
    values: Vec<Value>,
    states: Vec<(Kind, u16)>,
    time: Option<u16>,
    result: Option<Kind>,
    /// Of the result or the exception.
    last: u16,
    /// The types of what frames list behind the method's own variables.
    pub kept: Vec<VerificationType>,
    /// How many of them are set at the very start of a constructor; the others are behind its call of another one.
    pub early: usize,
    /// The first variable that is not the method's own.
    first: u16,
    /// One more than the last variable.
    pub max_locals: u16,
}

/// A class with its name, two names, a pair, the reference.
const METHOD: usize = 6;

/// Constants for the object of `proceed`: the call with name and descriptor, two types and a handle, each with its
/// parts, the method that makes the object, and the method of the handle.
const PROCEED: usize = 4 + 2 * 2 + 1 + (METHOD + 1) + METHOD;

/// How many constants a call adds at most.
pub(super) fn of_call(call: &Call) -> usize {
    fn operand(one: &Operand) -> usize {
        let own = match &one.source {
            Source::Args(all) => 2 + all.len() + all.iter().map(operand).sum::<usize>(),
            Source::Proceed(_) => PROCEED,
            _ => 2,
        };
        own + usize::from(one.convert == Convert::Box) * METHOD
    }
    let cast = 2 * METHOD;
    cast + METHOD + call.operands.iter().map(operand).sum::<usize>()
}

/// How many constants the calls of a method's own hooks add at most.
pub(super) fn constants_needed(bound: &Bound) -> usize {
    let calls = [&bound.enter, &bound.exit, &bound.exception];
    let calls: usize = (calls.into_iter().flatten()).map(of_call).sum();
    calls + METHOD + 2 * bound.keep.states.len() + usize::from(super::MAX_PARAMETER_CONSTANTS)
}

/// Whether what the call throws reaches the program.
pub(super) fn may_throw(call: &Call) -> bool {
    !call.adapter.as_ref().is_some_and(|adapter| adapter.guard)
}

impl<'f> Own<'f> {
    /// Gives everything its variable.
    pub fn new(facts: &Facts<'f, '_>, additions: &mut Additions) -> Attempt<Own<'f>> {
        let bound = facts.bound;
        let mut own = Own {
            bound,
            schedule: Schedule::of(bound).ok_or(Reason::Unsupported)?,
            is_static: facts.is_static,
            is_constructor: facts.initialisation.is_some(),
            values: values(facts)?,
            states: Vec::new(),
            time: None,
            result: Kind::of_letter(facts.result),
            last: 0,
            kept: Vec::new(),
            early: 0,
            first: facts.max_locals,
            max_locals: facts.max_locals,
        };
        own.save(facts, additions)?;
        if bound.keep.duration {
            own.time = Some(own.variable(Kind::LONG)?);
            own.kept.push((item::LONG, 0));
        }
        let lasting = bound.lasting();
        for ty in &bound.keep.states {
            own.states
                .push((Kind::of(ty).ok_or(Reason::Unsupported)?, 0));
        }
        // No frame lists those that a snippet sets for itself.
        for lasts in [true, false] {
            for (n, ty) in bound.keep.states.iter().enumerate() {
                if lasting[n] == lasts {
                    own.states[n].1 = own.variable(own.states[n].0)?;
                    if lasts {
                        own.kept.push(verification_type(ty, facts.class, additions));
                    }
                }
            }
        }
        own.last = own.max_locals;
        let words = match (bound.exit.is_empty(), bound.exception.is_empty()) {
            _ if bound.may_skip() || bound.may_end() => own.result.map_or(1, Kind::words),
            (true, true) => 0,
            (true, false) => 1,
            _ => own.result.map_or(1, Kind::words),
        };
        own.max_locals = grown(own.max_locals, words)?;
        Ok(own)
    }

    fn variable(&mut self, kind: Kind) -> Attempt<u16> {
        let slot = self.max_locals;
        self.max_locals = grown(slot, kind.words())?;
        Ok(slot)
    }

    /// Chooses what is saved: what the body overwrites, or what its frames do not list.
    fn save(&mut self, facts: &Facts<'_, '_>, additions: &mut Additions) -> Attempt<()> {
        let bound = self.bound;
        let first_argument = usize::from(!facts.is_static);
        let mut at_end = vec![false; self.values.len()];
        if bound.keep.this && !facts.is_static {
            at_end[0] = true;
        }
        for &n in &bound.keep.args {
            let argument = at_end.get_mut(first_argument + usize::from(n));
            *argument.ok_or(Reason::Unsupported)? = true;
        }
        let at_start = |n: usize| {
            let wanted = |source: &Source| match (source, n.checked_sub(first_argument)) {
                (Source::This, None) => true,
                (Source::Arg(a), Some(n)) => usize::from(*a) == n,
                _ => false,
            };
            bound.enter.iter().any(|call| call.reads(wanted))
        };
        let listed = |value: &Value| facts.frames_keep && !value.overwritten_early;
        let mut late = Vec::new();
        for (n, at_end) in at_end.into_iter().enumerate() {
            let value = self.values[n];
            let is_object = n < first_argument;
            if self.is_constructor && !listed(&value) && (at_end || at_start(n)) {
                // An object cannot be saved before it is initialised.
                if is_object
                    && (value.overwritten_early
                        || !facts.initialisation.is_some_and(|i| i.straight))
                {
                    return Err(Reason::Unsupported.into());
                }
                if !is_object {
                    self.values[n].saved = Some(self.variable(value.kind)?);
                    self.values[n].is_early = true;
                    self.kept
                        .push(parameter_type(&facts.parameters[n], facts.class, additions));
                    continue;
                }
            }
            if at_end && (!listed(&value) || value.overwritten) {
                late.push(n);
            }
        }
        self.early = self.kept.len();
        for n in late {
            self.values[n].saved = Some(self.variable(self.values[n].kind)?);
            self.kept
                .push(parameter_type(&facts.parameters[n], facts.class, additions));
        }
        Ok(())
    }

    /// Whether a parameter, `this` first, keeps its type and value to the end of the body.
    pub fn is_untouched(&self, n: usize) -> bool {
        !self.values[n].overwritten && !self.values[n].overwritten_early
    }

    /// Whether hooks come behind the pair's exit hook.
    pub fn has_exit(&self) -> bool {
        !self.bound.exits().behind.is_empty()
    }

    /// What an exit hook throws reaches the program.
    pub fn exit_may_throw(&self) -> bool {
        self.bound.exits().behind.iter().any(may_throw)
    }

    /// What an enter hook throws reaches the program.
    pub fn enter_may_throw(&self) -> bool {
        self.bound.enter.iter().any(may_throw)
    }

    /// Lists what is kept behind a frame's own locals, so much as lives there; `None` where that is nonsense.
    pub fn list(&self, locals: &mut Vec<VerificationType>, live: usize) -> Option<()> {
        if live == 0 {
            return Some(());
        }
        let wide = |&&(tag, _): &&VerificationType| matches!(tag, item::LONG | item::DOUBLE);
        let words = locals.len() + locals.iter().filter(wide).count();
        let missing = usize::from(self.first).checked_sub(words)?;
        locals.resize(locals.len() + missing, (item::TOP, 0));
        locals.extend_from_slice(&self.kept[..live]);
        Some(())
    }

    /// The same for all frames of a method.
    pub fn list_all(
        &self,
        frames: &mut [FullFrame],
        initialisation: Option<&Initialisation>,
    ) -> Attempt<()> {
        if frames.len() * (usize::from(self.first) + self.kept.len()) > MAX_LISTED {
            return Err(Reason::Unsupported.into());
        }
        for frame in frames {
            let live = match initialisation {
                Some(i) if !i.is_initialised(frame.pc) => self.early,
                _ => self.kept.len(),
            };
            self.list(&mut frame.locals, live)
                .ok_or(Reason::Unsupported)?;
        }
        Ok(())
    }

    /// Saves what a constructor overwrites in front of its call of another one.
    pub fn put_early(&self, out: &mut Snippet) {
        self.put_saves(true, out);
    }

    fn put_saves(&self, early: bool, out: &mut Snippet) {
        for value in &self.values {
            if let Some(saved) = value.saved
                && value.is_early == early
            {
                out.load(value.kind, value.slot);
                out.store(value.kind, saved);
            }
        }
    }

    /// Appends steps; `at_start`: the body has not run yet.
    pub fn put(&self, steps: &[Step<'_>], at_start: bool, put: &mut Put<'_, '_>) -> Attempt<Ways> {
        let mut ways = Ways::default();
        for step in steps {
            match step {
                Step::Save => self.put_saves(false, put.out),
                Step::Time => {
                    put.nano_time();
                    let time = self.time.ok_or(Reason::Unsupported)?;
                    put.out.store(Kind::LONG, time);
                }
                Step::ZeroState(n, _) => {
                    let (kind, slot) = self.state(*n)?;
                    put.out.zero_of(kind);
                    put.out.store(kind, slot);
                }
                Step::ZeroResult(_) => {
                    if let Some(kind) = self.result {
                        put.out.zero_of(kind);
                    }
                }
                Step::Hold(var) => {
                    if let Some(kind) = self.kind_of(*var) {
                        put.out.store(kind, self.last);
                    }
                }
                Step::Resume(var) => {
                    if let Some(kind) = self.kind_of(*var) {
                        put.out.load(kind, self.last);
                    }
                }
                Step::Call(call) => self.put_call(call, at_start, put)?,
                Step::Drop(call) => put.out.pop(emit::words(&call.hook.result)),
                Step::Store(call, var) => {
                    put.give(call);
                    self.store(*var, put)?;
                }
                // Of a hook around a body, which has a method of its own.
                Step::Give(_) => return Err(Reason::Unsupported.into()),
                Step::If(test, call, then) => self.put_if((*test, call), then, &mut ways, put)?,
                Step::Return => match self.result {
                    Some(kind) => put.out.op(kind.xreturn(), kind.words(), 0),
                    None => put.out.op(op::RETURN, 0, 0),
                },
            }
        }
        Ok(ways)
    }

    fn put_if(
        &self,
        (test, call): (Test, &Call),
        then: &[Step<'_>],
        ways: &mut Ways,
        put: &mut Put<'_, '_>,
    ) -> Attempt<()> {
        let decides = match test {
            Test::NotNull => {
                put.out.store(Kind::REFERENCE, self.last);
                put.out.load(Kind::REFERENCE, self.last);
                op::IFNULL
            }
            Test::True => op::IFEQ,
            Test::Ended(otherwise) => {
                let called = put.out.len() - CALL_LEN;
                let behind = put.out.len();
                put.give(call);
                self.put(then, false, put)?;
                if otherwise == Otherwise::GoesOn {
                    ways.goes_on.push([called, behind, put.out.len()]);
                    put.out.restart(1);
                } else {
                    ways.ends = true;
                }
                return Ok(());
            }
        };
        let jump = put.out.jump(decides, 1);
        self.put(then, false, put)?;
        put.out.land(jump).ok_or(Reason::CodeTooLarge)?;
        ways.joins.push(put.out.len());
        Ok(())
    }

    /// How the result or an exception is loaded and stored.
    fn kind_of(&self, var: Var) -> Option<Kind> {
        match var {
            Var::Result => self.result,
            _ => Some(Kind::REFERENCE),
        }
    }

    fn state(&self, n: u16) -> Attempt<(Kind, u16)> {
        let state = self.states.get(usize::from(n));
        Ok(*state.ok_or(Reason::Unsupported)?)
    }

    fn store(&self, var: Var, put: &mut Put<'_, '_>) -> Attempt<()> {
        match var {
            Var::Arg(n) => {
                let n = usize::from(n) + usize::from(!self.is_static);
                let value = self.values.get(n).ok_or(Reason::Unsupported)?;
                // Its variable may be another one's by now.
                if value.overwritten_early {
                    return Err(Reason::Unsupported.into());
                }
                put.out.store(value.kind, value.slot);
                if let Some(saved) = value.saved {
                    put.out.load(value.kind, value.slot);
                    put.out.store(value.kind, saved);
                }
            }
            Var::State(n) => {
                let (kind, slot) = self.state(n)?;
                put.out.store(kind, slot);
            }
            Var::Result | Var::Exception => {
                let kind = self.kind_of(var).ok_or(Reason::Unsupported)?;
                put.out.store(kind, self.last);
            }
        }
        Ok(())
    }

    /// The call, whose result stays on the stack.
    pub fn put_call(&self, call: &Call, at_start: bool, put: &mut Put<'_, '_>) -> Attempt<()> {
        let hook = &*call.hook;
        for operand in &call.operands {
            self.operand(operand, at_start, put)?;
        }
        let (owner, name, tag) = match &call.adapter {
            Some(adapter) => (modified_utf8(&adapter.class), "call", tag::METHODREF),
            None if hook.owner_is_interface => {
                // JVMS 4.9.1: older classes cannot.
                if put.class.major < 52 {
                    return Err(Reason::Unsupported.into());
                }
                (
                    emit::class_name(&hook.owner),
                    &*hook.name,
                    tag::INTERFACE_METHODREF,
                )
            }
            None => (emit::class_name(&hook.owner), &*hook.name, tag::METHODREF),
        };
        let parameters: Vec<Ty> = call.parameters().cloned().collect();
        let descriptor = emit::descriptor(&parameters, call.result());
        let owner = put.additions.class(&put.class.pool, &owner);
        let method = (put.additions).shared_method(tag, owner, &modified_utf8(name), &descriptor);
        let taken = parameters.iter().map(emit::words).sum();
        put.out.call(method, taken, emit::words(call.result()));
        Ok(())
    }

    fn operand(&self, operand: &Operand, at_start: bool, put: &mut Put<'_, '_>) -> Attempt<()> {
        let Operand {
            source,
            from,
            convert,
            to,
        } = operand;
        match source {
            Source::This | Source::Arg(_) => {
                let n = match source {
                    Source::Arg(n) => usize::from(*n) + usize::from(!self.is_static),
                    _ => 0,
                };
                let value = self.values.get(n).ok_or(Reason::Unsupported)?;
                let saved = value.saved.filter(|_| !at_start || value.is_early);
                put.out.load(value.kind, saved.unwrap_or(value.slot));
            }
            Source::Args(all) => {
                put.out.int(all.len() as i32, put.additions);
                let object = put.additions.class(&put.class.pool, b"java/lang/Object");
                put.out.indexed(op::ANEWARRAY, object, 1, 1);
                for (i, element) in all.iter().enumerate() {
                    put.out.op(op::DUP, 1, 2);
                    put.out.int(i as i32, put.additions);
                    self.operand(element, at_start, put)?;
                    put.out.op(op::AASTORE, 3, 0);
                }
            }
            Source::Result => put
                .out
                .load(self.result.ok_or(Reason::Unsupported)?, self.last),
            Source::Exception => put.out.load(Kind::REFERENCE, self.last),
            Source::State(n) => {
                let (kind, slot) = self.state(*n)?;
                put.out.load(kind, slot);
            }
            Source::Duration => {
                put.nano_time();
                put.out
                    .load(Kind::LONG, self.time.ok_or(Reason::Unsupported)?);
                put.out.op(op::LSUB, 4, 2);
            }
            Source::Id => put.out.int(put.id as i32, put.additions),
            Source::Line => put.out.int(i32::from(put.line), put.additions),
            Source::Text(text) => {
                put.out.string(text, put.additions);
            }
            Source::Int(_) | Source::Long(_) | Source::Double(_) => {
                return put.number(operand);
            }
            Source::Proceed(proceed) => {
                self.proceed(proceed, put)?;
            }
            Source::Zero => {
                put.out.zero(to);
                return Ok(());
            }
        }
        put.convert(from, *convert);
        Ok(())
    }
}

impl Own<'_> {
    /// An object that runs the body.
    fn proceed(&self, proceed: &Proceed, put: &mut Put<'_, '_>) -> Attempt<()> {
        let made = put.proceeds.iter().find(|(known, _)| known == proceed);
        let &(_, maker) = made.ok_or(Reason::Unsupported)?;
        let kept = self.kept(proceed);
        if let Maker::Runner { class, number, .. } = maker {
            put.out.indexed(op::NEW, class, 0, 1);
            put.out.op(op::DUP, 1, 2);
            put.out.int(number.into(), put.additions);
        }
        for value in kept {
            put.out.load(value.kind, value.slot);
        }
        let words: u32 = kept.iter().map(|value| value.kind.words()).sum();
        match maker {
            Maker::Lambda(constant) => put.out.dynamic(constant, words, 1),
            Maker::Runner { constructor, .. } => {
                (put.out).indexed(op::INVOKESPECIAL, constructor, 2 + words, 0);
            }
            Maker::Copy(_) => return Err(Reason::Unsupported.into()),
        }
        Ok(())
    }

    /// What runs the body with what it does not take itself.
    fn kept(&self, proceed: &Proceed) -> &[Value] {
        let object = usize::from(!self.is_static);
        match proceed.takes_arguments {
            true => &self.values[..object],
            false => &self.values[..],
        }
    }

    /// The call of a copy of a hook, which takes what its `proceed` would keep.
    fn put_copy(
        &self,
        call: &Call,
        (proceed, method): (&Proceed, u16),
        put: &mut Put<'_, '_>,
    ) -> Attempt<()> {
        let mut words = 0;
        for value in self.kept(proceed) {
            put.out.load(value.kind, value.slot);
            words += value.kind.words();
        }
        for (operand, parameter) in call.operands.iter().zip(call.parameters()) {
            if !matches!(operand.source, Source::Proceed(_)) {
                self.operand(operand, true, put)?;
                words += emit::words(parameter);
            }
        }
        put.out.call(method, words, emit::words(call.result()));
        Ok(())
    }

    /// The call of a hook in place of the body, and the return of its result, which is the method's, of this type.
    pub fn put_around(&self, call: &Call, result: &Ty, put: &mut Put<'_, '_>) -> Attempt<()> {
        match put.proceeds {
            [(proceed, Maker::Copy(method))] => self.put_copy(call, (proceed, *method), put)?,
            _ => self.put_call(call, true, put)?,
        }
        match &call.given {
            None => put.out.pop(emit::words(&call.hook.result)),
            Some((Convert::Cast, to)) => put.cast(to),
            Some((convert, _)) => put.convert(&call.gives(), *convert),
        }
        put.out.xreturn(result);
        Ok(())
    }
}

/// Bytes of a call.
const CALL_LEN: u32 = 3;

/// Where steps branch to.
#[derive(Default)]
pub(super) struct Ways {
    /// Where hooks that leave the body out go on.
    pub joins: Vec<u32>,
    /// An exception never comes to the end of the steps.
    pub ends: bool,
    /// The call that ends it (from, to), and where the exception goes on if that throws it: the handler begins there.
    pub goes_on: Vec<[u32; 3]>,
}

/// Where instructions go, and what they are made of.
pub(super) struct Put<'p, 'a> {
    pub class: &'p Class<'a>,
    pub additions: &'p mut Additions,
    pub out: &'p mut Snippet,
    pub id: u32,
    /// The method's first source line, or 0.
    pub line: u16,
    /// What `proceed` is, and what makes it.
    pub proceeds: &'p [(Proceed, Maker)],
}

/// What makes an object that runs a body, by its constants; or the hook's copy, which runs it itself.
#[derive(Clone, Copy)]
pub enum Maker {
    /// An `invokedynamic`.
    Lambda(u16),
    /// A constructor of a runner, for the body with this number.
    Runner {
        class: u16,
        constructor: u16,
        number: u16,
    },
    /// The method that the class has instead of the hook.
    Copy(u16),
}

impl Put<'_, '_> {
    fn nano_time(&mut self) {
        let system = self.additions.class(&self.class.pool, b"java/lang/System");
        let method = self
            .additions
            .shared_method(tag::METHODREF, system, b"nanoTime", b"()J");
        self.out.call(method, 0, 2);
    }

    /// A number of the type that it comes to.
    fn number(&mut self, operand: &Operand) -> Attempt<()> {
        let wanted = match (operand.convert, &operand.from, &operand.to) {
            (Convert::Widen(_, to), ..) => to,
            (Convert::Box, Ty::Prim(from), _) => *from,
            (_, _, Ty::Prim(to)) => *to,
            _ => return Err(Reason::Unsupported.into()),
        };
        let (int, double) = match operand.source {
            Source::Int(n) => (i64::from(n), f64::from(n)),
            Source::Long(n) => (n, n as f64),
            Source::Double(d) => (d as i64, d),
            _ => unreachable!("the caller has a number"),
        };
        match wanted {
            Prim::I64 | Prim::U64 => self.out.long(int, self.additions),
            Prim::F32 => {
                // Not by way of a double, which would round twice.
                let float = match operand.source {
                    Source::Double(d) => d as f32,
                    _ => int as f32,
                };
                self.out.float(float, self.additions);
            }
            Prim::F64 => self.out.double(double, self.additions),
            _ => self.out.int(int as i32, self.additions),
        }
        if operand.convert == Convert::Box {
            self.convert(&operand.from, Convert::Box);
        }
        Ok(())
    }

    /// From an object to a type, or out of it.
    fn cast(&mut self, to: &Ty) {
        let class = match to {
            Ty::Prim(prim) => emit::box_class(*prim).as_bytes().into(),
            to => emit::class_name(to),
        };
        let class = self.additions.class(&self.class.pool, &class);
        self.out.indexed(op::CHECKCAST, class, 1, 1);
        if let Ty::Prim(prim) = to {
            let name = [prim.word(Language::Java), "Value"].concat();
            let descriptor = emit::descriptor(&[], to);
            let method =
                (self.additions).shared_method(tag::METHODREF, class, name.as_bytes(), &descriptor);
            self.out
                .indexed(op::INVOKEVIRTUAL, method, 1, emit::words(to));
        }
    }

    /// Converts a hook's result and stores it at its destination.
    fn give(&mut self, call: &Call) {
        match (call.conversion(), &call.given) {
            (Convert::Cast, Some((_, to))) => self.cast(to),
            (convert, _) => self.convert(&call.gives(), convert),
        }
    }

    pub fn convert(&mut self, from: &Ty, convert: Convert) {
        match (convert, from) {
            (Convert::Widen(from, to), _) => self.out.widen(from, to),
            (Convert::Box, Ty::Prim(prim)) => {
                let name = emit::box_class(*prim);
                let descriptor = emit::descriptor(std::slice::from_ref(from), &Ty::class(name));
                let class = self.additions.class(&self.class.pool, name.as_bytes());
                let method =
                    (self.additions).shared_method(tag::METHODREF, class, b"valueOf", &descriptor);
                self.out.call(method, emit::words(from), 1);
            }
            _ => {}
        }
    }
}

fn grown(slots: u16, words: u32) -> Attempt<u16> {
    u16::try_from(u32::from(slots) + words).map_err(|_| Reason::Unsupported.into())
}

fn values(facts: &Facts<'_, '_>) -> Result<Vec<Value>> {
    let mut slot = 0u16;
    let mut values: Vec<Value> = (facts.parameters.iter())
        .map(|parameter| {
            let kind = kind(parameter.tag);
            let own = slot;
            slot = slot.saturating_add(kind.words() as u16);
            Value {
                kind,
                slot: own,
                overwritten: false,
                overwritten_early: false,
                saved: None,
                is_early: false,
            }
        })
        .collect();
    let mut pc = 0;
    while (pc as usize) < facts.insns.len() {
        let insn = insn::at(facts.insns, pc)?;
        if let Some(written) = insn::written(facts.insns, insn)
            && written.start < u32::from(slot)
        {
            let is_early = facts.initialisation.is_some_and(|i| !i.is_initialised(pc));
            for value in &mut values {
                let own = u32::from(value.slot);
                if own < written.end && written.start < own + value.kind.words() {
                    value.overwritten |= !is_early;
                    value.overwritten_early |= is_early;
                }
            }
        }
        pc += insn.len;
    }
    Ok(values)
}

/// By a tag of a verification type.
fn kind(tag: u8) -> Kind {
    let letter = match tag {
        item::LONG => b'J',
        item::FLOAT => b'F',
        item::DOUBLE => b'D',
        item::OBJECT => b'L',
        _ => b'I',
    };
    Kind::of_letter(letter).expect("not void")
}

/// A parameter as a verification type.
pub(super) fn parameter_type(
    parameter: &Parameter<'_>,
    class: &Class<'_>,
    additions: &mut Additions,
) -> VerificationType {
    match parameter.ty {
        Some(_) => (parameter.tag, additions.class(&class.pool, parameter.name)),
        None => (parameter.tag, 0),
    }
}
