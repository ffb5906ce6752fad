//! Hooks of one's own in an ordinary method: their calls as code, and what must live through the body for them.

use crate::aspect::advice::Reason;
use crate::aspect::bind::call::{Bound, Call, Convert, Dest, Operand, Proceed, Role, Source};
use crate::aspect::bind::schedule::{Otherwise, Schedule, Step, Test, Var};
use crate::aspect::bind::ty::{Prim, Ty};
use crate::cil::il::insn::{self, op};
use crate::cil::metadata::heaps::{compressed, put_compressed};
use crate::cil::metadata::signature::{MethodSignature, Reader, element, kind};
use crate::cil::rewrite;
use crate::cil::weave::code::Code;
use crate::cil::weave::import::{Imports, zeroed};
use std::sync::Arc;

/// Facts of a method beside its hooks.
pub(crate) struct Method<'m> {
    pub code: &'m [u8],
    /// Where its woven part begins.
    pub start: u32,
    /// Its signature, and that of its locals; empty where it has none.
    pub signature: &'m [u8],
    pub locals: &'m [u8],
    /// The type of its `this`, as signatures spell it.
    pub this: Option<&'m [u8]>,
    pub id: u32,
    pub line: u32,
    /// It is a constructor whose woven part begins before it has called another one.
    pub is_raw: bool,
    /// Its locals, the new ones too, are null or zero where it begins.
    pub is_zeroed: bool,
    /// What runs its body.
    pub runs: &'m [Run],
    /// What lies on the stack where it returns, if that is not what its signature says.
    pub result: Option<&'m [u8]>,
    /// How many locals there are behind its own that these hooks do not use.
    pub more_locals: u32,
    pub ends: Ends,
}

/// Where the hooks at the end of a method stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// In it.
    Here,
    /// In its state machine: what they read goes into an array, which a local has.
    Elsewhere(Times),
    /// It is a method of the state machine, and a field (its token, 0 for none) has that array.
    InMachine(u32, Piece),
}

/// How often hooks at the end run for a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// It ends but once.
    Any,
    /// Its object may be enumerated again: the array's last element says that they have run, or why they wait.
    Once,
}

/// A method of a state machine in which hooks at the end stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    /// `MoveNext` of an async method, in front of the calls by which it ends.
    Completes,
    /// The same of an async iterator.
    Stops,
    /// `MoveNext` of an iterator, at its end where it says that there is no more.
    Moves,
    /// `Dispose` of an iterator, at its end.
    Disposes,
}

impl Piece {
    fn is_once(self) -> bool {
        self != Piece::Completes
    }
}

impl Ends {
    /// Whether hooks are at the end of the method itself, behind its handler.
    fn at_end(self) -> bool {
        matches!(
            self,
            Ends::Here | Ends::InMachine(_, Piece::Moves | Piece::Disposes)
        )
    }
}

/// How an object that runs a body is made.
pub(crate) struct Run {
    pub proceed: Arc<Proceed>,
    pub target: Target,
    /// The method that it calls.
    pub method: u32,
    /// The constructor of the delegate.
    pub constructor: u32,
}

/// What a delegate has as its target.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    None,
    This,
    /// What a local has.
    Local(u32),
}

/// Code and locals of one method's own hooks; reusable.
#[derive(Default)]
pub(crate) struct Own {
    first: Code,
    enter: Code,
    /// What records values at the end, and hooks there.
    exit: [Code; 2],
    error: [Code; 2],
    /// What is left to where an exception ends.
    ends: Code,
    catches: bool,
    /// The types of new locals, and how many they are.
    locals: Vec<u8>,
    count: u32,
    max_stack: u32,
    /// The local of the array that hooks elsewhere read.
    packed: Option<u32>,
}

impl Own {
    /// Makes the code of a method's hooks.
    pub fn make(
        &mut self,
        imports: &Imports,
        bound: &Bound,
        method: &Method<'_>,
    ) -> Result<(), Reason> {
        self.first.clear();
        self.enter.clear();
        self.ends.clear();
        self.catches = bound.catches() && method.ends.at_end();
        self.packed = None;
        (self.exit.iter_mut().chain(&mut self.error)).for_each(Code::clear);
        self.locals.clear();
        (self.count, self.max_stack) = (0, 0);
        let made = Lowering::new(self, imports, bound, method).and_then(Lowering::run);
        made.ok_or(Reason::Unsupported)
    }

    /// The types of further locals, and how many they are.
    pub fn extra(&self) -> (&[u8], u32) {
        (&self.locals, self.count)
    }

    /// The local of the array that hooks elsewhere read, if they read something.
    pub fn packed(&self) -> Option<u32> {
        self.packed
    }

    pub fn code(&self) -> rewrite::Own<'_> {
        rewrite::Own {
            first: self.first.as_bytes(),
            enter: self.enter.as_bytes(),
            exit: (self.exit[0].as_bytes(), self.exit[1].as_bytes()),
            error: (self.error[0].as_bytes(), self.error[1].as_bytes()),
            catches: self.catches,
            ends: self.ends.as_bytes(),
            max_stack: self.max_stack,
            keeps: true,
        }
    }
}

/// Where code goes.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Where the method begins, if its woven part does not begin there.
    First,
    Enter,
    /// In front of the pair's hook, or behind it.
    Exit(usize),
    Error(usize),
    /// Behind the handler.
    Ends,
}

struct Lowering<'l> {
    own: &'l mut Own,
    imports: &'l Imports,
    bound: &'l Bound,
    method: &'l Method<'l>,
    /// The parameters' types, without `this`.
    parameters: Vec<&'l [u8]>,
    has_result: bool,
    /// The arguments, `this` included, that the body may overwrite.
    overwritten: Vec<bool>,
    /// The local that keeps an argument.
    kept: Vec<Option<u32>>,
    /// The local of the first state, and that of the start time.
    states: u32,
    time: u32,
    /// The locals of zeros, in the order in which the calls have them, and how many are used.
    zeros: Vec<u32>,
    used: usize,
    /// What the operands at hand point to is there: the call is left out where it is not.
    is_there: bool,
    /// How many locals there are so far; behind all of them come result and exception.
    locals: u32,
    place: Place,
    depth: u32,
    /// Where exceptions end in the handler: the instruction that leaves it, and the place that it leaves to.
    leaves: Vec<(u32, u32)>,
    /// No exception comes to the end of the handler.
    has_ended: bool,
    /// The exception that the method threw, where hooks may put another one in its place.
    thrown: Option<u32>,
    /// The type of the struct whose `this` the local keeps: a reference to it is gone once the runtime has suspended the method.
    copied: Option<u32>,
    /// What hooks elsewhere read, by its places in the array.
    slots: Vec<(Source, Ty)>,
}

/// What the hooks at the end of a method read that is known at its start, and the types.
pub(crate) fn slots(bound: &Bound) -> Vec<(Source, Ty)> {
    fn add(bound: &Bound, operand: &Operand, slots: &mut Vec<(Source, Ty)>) {
        let ty = match &operand.source {
            Source::Args(operands) => {
                operands.iter().for_each(|one| add(bound, one, slots));
                return;
            }
            Source::This | Source::Arg(_) => operand.from.clone(),
            Source::State(number) => match bound.keep.states.get(usize::from(*number)) {
                Some(ty) => ty.clone(),
                None => return,
            },
            Source::Duration => Ty::Prim(Prim::I64),
            _ => return,
        };
        if slots.iter().all(|(known, _)| *known != operand.source) {
            slots.push((operand.source.clone(), ty));
        }
    }
    let mut slots = Vec::new();
    // A chain gives its state where it is read.
    let made = |operand: &Operand| match operand.source {
        Source::State(number) => {
            (bound.exit.iter().chain(&bound.exception)).any(|call| call.dest == Dest::State(number))
        }
        _ => false,
    };
    for call in bound.exit.iter().chain(&bound.exception) {
        let operands = call.operands.iter().filter(|operand| !made(operand));
        operands.for_each(|operand| add(bound, operand, &mut slots));
    }
    slots
}

impl<'l> Lowering<'l> {
    fn new(
        own: &'l mut Own,
        imports: &'l Imports,
        bound: &'l Bound,
        method: &'l Method<'l>,
    ) -> Option<Lowering<'l>> {
        let parsed = MethodSignature::parse(method.signature).ok()?;
        let mut reader = Reader::new(parsed.parameters);
        let parameters = (0..parsed.count).map(|_| reader.skip_type().ok());
        let parameters: Vec<&[u8]> = parameters.collect::<Option<_>>()?;
        let locals = match method.locals {
            [] => 0,
            [kind::LOCALS, rest @ ..] => compressed(rest)?.0,
            _ => return None,
        };
        let arguments = parameters.len() + usize::from(method.this.is_some());
        let locals = locals + method.more_locals;
        let slots = match method.ends {
            Ends::Here => Vec::new(),
            _ => slots(bound),
        };
        Some(Lowering {
            own,
            imports,
            bound,
            method,
            parameters,
            has_result: match method.result {
                Some(result) => result != [element::VOID],
                None => !parsed.is_void(),
            },
            overwritten: overwritten(method.code, arguments)?,
            kept: vec![None; arguments],
            states: locals,
            time: 0,
            zeros: Vec::new(),
            used: 0,
            is_there: false,
            locals,
            place: Place::Enter,
            depth: 0,
            leaves: Vec::new(),
            has_ended: false,
            thrown: None,
            copied: None,
            slots,
        })
    }

    /// Makes all of it; `None` where something is not known.
    fn run(mut self) -> Option<()> {
        let bound = self.bound;
        let schedule = Schedule::of(bound)?;
        let ends = self.method.ends;
        let parts: Vec<(Place, &[Step<'_>])> = [
            (Place::Enter, &schedule.start),
            (Place::Exit(0), &schedule.exit[0]),
            (Place::Exit(1), &schedule.exit[1]),
            (Place::Error(0), &schedule.exception[0]),
            (Place::Error(1), &schedule.exception[1]),
        ]
        .into_iter()
        .filter(|(place, _)| match ends {
            Ends::Here => true,
            Ends::Elsewhere(_) => *place == Place::Enter,
            Ends::InMachine(..) => *place != Place::Enter,
        })
        .map(|(place, steps)| (place, &**steps))
        .collect();
        let takes_this = |call: &Call| call.reads(|source| *source == Source::This);
        if self.method.is_raw && bound.enter.iter().any(takes_this) {
            return None;
        }
        for ty in &bound.keep.states {
            self.add_local_of(ty)?;
        }
        if bound.keep.duration && !matches!(ends, Ends::InMachine(..)) {
            self.time = self.add_local(&[element::I8]);
        }
        for (place, steps) in &parts {
            self.reserve_steps(steps, self.method.start > 0 || *place != Place::Enter)?;
        }
        let is_here = ends.at_end();
        if is_here && (bound.exception.iter()).any(|call| call.dest == Dest::Throw) {
            let thrown = self.add_local(&[element::OBJECT]);
            self.thrown = Some(thrown);
            self.place = Place::Error(0);
            self.load_exception();
            self.stores(thrown);
        }
        for (place, steps) in parts {
            self.place = place;
            let over = match ends {
                Ends::InMachine(field, piece) if piece.is_once() && !steps.is_empty() => {
                    self.once(field, piece)?
                }
                _ => Vec::new(),
            };
            self.steps(steps)?;
            over.into_iter().for_each(|branch| self.code().land(branch));
        }
        if is_here && bound.catches() {
            self.place = Place::Error(1);
            self.ends_handler();
        }
        if let Ends::Elsewhere(times) = ends {
            self.place = Place::Enter;
            self.pack(times)?;
        }
        Some(())
    }

    fn steps(&mut self, steps: &[Step<'_>]) -> Option<()> {
        let result = self.locals;
        for step in steps {
            match step {
                Step::Save => self.save(),
                Step::Time => {
                    self.nanoseconds()?;
                    self.stores(self.time);
                }
                Step::ZeroState(..) if self.method.is_zeroed => {}
                Step::ZeroState(n, ty) => self.zero_local(self.states + u32::from(*n), ty)?,
                Step::ZeroResult(_) if !self.has_result => {}
                Step::ZeroResult(ty) => self.zero_local(result, ty)?,
                // Locals have them all the time.
                Step::Hold(_) | Step::Resume(_) => {}
                Step::Call(call) => self.call(call)?,
                Step::Drop(call) if call.hook.result == Ty::Void => {}
                Step::Drop(_) => {
                    self.code().op(op::POP);
                    self.pops(1);
                }
                Step::Store(call, var) => {
                    self.give(call)?;
                    self.store(*var)?;
                }
                // It stays there.
                Step::Give(call) if call.hook.result == Ty::Void => {}
                Step::Give(call) => {
                    self.give(call)?;
                    self.pops(1);
                }
                Step::If(test, call, then) => {
                    self.give(call)?;
                    self.test(*test, call, then)?;
                }
                Step::Return => {
                    if self.has_result {
                        self.pushes(1);
                        self.code().load_local(result);
                        self.pops(1);
                    }
                    self.code().op(op::RET);
                }
            }
        }
        Some(())
    }

    /// Locals keep arguments, from where the method begins.
    fn save(&mut self) {
        if self.method.start > 0 {
            self.place = Place::First;
        }
        for argument in 0..self.kept.len() {
            if let Some(local) = self.kept[argument] {
                self.pushes(1);
                self.code().load_argument(argument as u32);
                if let (0, Some(ty)) = (argument, self.copied) {
                    self.code().op_u32(op::LDOBJ, ty);
                }
                self.stores(local);
            }
        }
        self.place = Place::Enter;
    }

    fn test(&mut self, test: Test, call: &Call, then: &[Step<'_>]) -> Option<()> {
        let result = self.locals;
        let otherwise = match test {
            Test::Ended(otherwise) => otherwise,
            Test::NotNull | Test::True => {
                if test == Test::NotNull {
                    self.stores(result);
                    self.pushes(1);
                    self.code().load_local(result);
                }
                let over = self.code().branch(op::BRFALSE);
                self.pops(1);
                self.steps(then)?;
                self.code().land(over);
                return Some(());
            }
        };
        self.has_ended = otherwise == Otherwise::Never;
        // The adapter says whether it gave the local of the result something.
        let over = takes_result(call).then(|| self.code().branch(op::BRFALSE));
        match over {
            Some(_) => self.pops(1),
            None => self.stores(result),
        }
        let leave = self.code().branch(op::LEAVE);
        if let Some(over) = over {
            self.code().land(over);
        }
        let place = std::mem::replace(&mut self.place, Place::Ends);
        let to = self.code().len();
        self.leaves.push((leave, to));
        self.steps(then)?;
        self.place = place;
        Some(())
    }

    fn store(&mut self, var: Var) -> Option<()> {
        match var {
            Var::State(number) => self.stores(self.states + u32::from(number)),
            Var::Arg(n) => {
                let argument = self.argument(&Source::Arg(n))?;
                self.code().store_argument(argument as u32);
                self.pops(1);
                if let Some(kept) = self.kept[argument] {
                    self.pushes(1);
                    self.code().load_argument(argument as u32);
                    self.stores(kept);
                }
            }
            Var::Result => self.stores(self.locals),
            Var::Exception => self.stores(self.locals + u32::from(self.has_result)),
        }
        Some(())
    }

    /// Branches past the hooks at the end of an iterator's call: where there is another element, and where they have run. The array's
    /// last element is the array itself from then on; in `Dispose` they wait, too, where `MoveNext` is about to say why it fails.
    fn once(&mut self, field: u32, piece: Piece) -> Option<Vec<u32>> {
        // Values are recorded in front of the pair's hook, which one branch cannot surround.
        if !matches!(self.place, Place::Exit(1) | Place::Error(1)) || field == 0 {
            return None;
        }
        let mut over = Vec::new();
        let last = self.slots.len() as i32;
        let result = self.locals;
        self.pushes(3);
        if piece == Piece::Moves && self.place == Place::Exit(1) {
            self.code().load_local(result);
            over.push(self.code().branch(op::BRTRUE));
        }
        let load = |code: &mut Code| {
            code.load_argument(0);
            code.op_u32(op::LDFLD, field);
        };
        let code = self.code();
        load(code);
        over.push(code.branch(op::BRFALSE));
        load(code);
        code.int(last);
        code.op(op::LDELEM_REF);
        if piece == Piece::Disposes {
            over.push(code.branch(op::BRTRUE));
        } else {
            load(code);
            over.push(code.branch(op::BEQ));
        }
        load(code);
        code.int(last);
        load(code);
        code.op(op::STELEM_REF);
        self.pops(3);
        Some(over)
    }

    /// What hooks elsewhere read goes into an array of objects.
    fn pack(&mut self, times: Times) -> Option<()> {
        let slots = std::mem::take(&mut self.slots);
        let len = slots.len() + usize::from(times == Times::Once);
        if len == 0 {
            return Some(());
        }
        let (imports, object) = (self.imports, self.imports.object);
        let packed = self.add_local(&[element::SZARRAY, element::OBJECT]);
        self.own.packed = Some(packed);
        self.pushes(1);
        self.code().int(len as i32);
        self.code().op_u32(op::NEWARR, object);
        for (place, (source, ty)) in slots.iter().enumerate() {
            self.pushes(3);
            self.code().op(op::DUP);
            self.code().int(place as i32);
            match source {
                Source::State(number) => {
                    let local = self.states + u32::from(*number);
                    self.code().load_local(local);
                }
                Source::Duration => {
                    let time = self.time;
                    self.code().load_local(time);
                }
                source => {
                    let argument = self.argument(source)? as u32;
                    self.code().load_argument(argument);
                }
            }
            let how = match ty {
                Ty::ByRef(_) => Convert::LoadBox,
                ty if ty.is_reference() => Convert::Same,
                _ => Convert::Box,
            };
            convert(imports, ty, how, self.code())?;
            self.code().op(op::STELEM_REF);
            self.pops(3);
        }
        self.stores(packed);
        (object != 0).then_some(())
    }

    /// What lies in the array that the machine keeps, as the hook takes it.
    fn unpack(&mut self, slot: usize, field: u32, operand: &Operand) -> Option<()> {
        let imports = self.imports;
        let is_time = operand.source == Source::Duration;
        if is_time {
            self.nanoseconds()?;
        }
        self.pushes(2);
        self.code().load_argument(0);
        self.code().op_u32(op::LDFLD, field);
        self.code().int(slot as i32);
        self.code().op(op::LDELEM_REF);
        self.pops(1);
        match (&operand.from, operand.convert) {
            (Ty::ByRef(inner), Convert::Same) => {
                let token = imports.type_token(inner)?;
                self.code().op_u32(op::UNBOX, token);
            }
            (Ty::ByRef(inner), Convert::Load) => {
                let token = imports.type_token(inner)?;
                self.code().op_u32(op::UNBOX_ANY, token);
            }
            (_, Convert::Box | Convert::LoadBox) if !is_time => {}
            (from, how) => {
                let token = imports.type_token(from)?;
                self.code().op_u32(op::UNBOX_ANY, token);
                if is_time {
                    self.code().op(op::SUB);
                    self.pops(1);
                }
                convert(imports, from, how, self.code())?;
            }
        }
        (field != 0).then_some(())
    }

    /// The end of a handler that catches: the exception goes on, with its stack trace if it is the same.
    fn ends_handler(&mut self) {
        if !self.has_ended {
            if let Some(thrown) = self.thrown {
                self.load_exception();
                self.pushes(1);
                self.code().load_local(thrown);
                let same = self.code().branch(op::BEQ);
                self.pops(2);
                self.load_exception();
                self.code().op(op::THROW);
                self.pops(1);
                self.code().land(same);
            }
            self.code().op(op::RETHROW);
        }
        let end = self.code().len();
        for (leave, to) in std::mem::take(&mut self.leaves) {
            self.code().lead(leave, end + to);
        }
    }

    fn load_exception(&mut self) {
        self.pushes(1);
        let exception = self.locals + u32::from(self.has_result);
        self.code().load_local(exception);
    }

    /// A local becomes null or zero.
    fn zero_local(&mut self, local: u32, ty: &Ty) -> Option<()> {
        match zeroed(ty) {
            Some(of) => {
                let token = self.imports.type_token(of)?;
                self.pushes(1);
                self.code().load_local_address(local);
                self.code().op_u32(op::INITOBJ, token);
                self.pops(1);
            }
            None => {
                self.zero(ty)?;
                self.stores(local);
            }
        }
        Some(())
    }

    fn add_local(&mut self, ty: &[u8]) -> u32 {
        self.own.locals.extend_from_slice(ty);
        self.own.count += 1;
        self.locals += 1;
        self.locals - 1
    }

    fn add_local_of(&mut self, ty: &Ty) -> Option<u32> {
        let mut bytes = Vec::new();
        self.imports.put_type(ty, &mut bytes)?;
        Some(self.add_local(&bytes))
    }

    /// Gives the operands of calls the locals that they need; `is_late`: the body may have run.
    fn reserve_steps(&mut self, steps: &[Step<'_>], is_late: bool) -> Option<()> {
        for step in steps {
            match step {
                Step::Call(call) => {
                    self.is_there = reads_reference(call).is_some();
                    for operand in &call.operands {
                        self.reserve(operand, is_late)?;
                    }
                    self.is_there = false;
                }
                Step::If(_, _, then) => self.reserve_steps(then, true)?,
                _ => {}
            }
        }
        Some(())
    }

    /// Gives an operand the locals that it needs; `is_late`: it is read when the body may have run.
    fn reserve(&mut self, operand: &Operand, is_late: bool) -> Option<()> {
        match &operand.source {
            Source::Args(operands) => {
                for operand in operands {
                    self.reserve(operand, is_late)?;
                }
            }
            Source::This | Source::Arg(_) if self.method.ends == Ends::Here => {
                let argument = self.argument(&operand.source)?;
                if let (true, Some([element::BYREF, this @ ..]), Ty::ByRef(ty), Source::This) = (
                    is_late && self.method.result.is_some(),
                    self.method.this,
                    &operand.from,
                    &operand.source,
                ) {
                    if self.copied.is_none() {
                        self.copied = Some(self.imports.type_token(ty)?);
                        self.kept[0] = Some(self.add_local(this));
                    }
                } else if is_late && self.overwritten[argument] && self.kept[argument].is_none() {
                    let this = self.method.this;
                    let ty = match this {
                        Some(this) if argument == 0 => this,
                        _ => self.parameters[argument - usize::from(this.is_some())],
                    };
                    self.kept[argument] = Some(self.add_local(ty));
                }
            }
            Source::Zero => self.reserve_zero(&operand.to)?,
            _ => {}
        }
        let is_packed = matches!(self.method.ends, Ends::InMachine(..))
            && self.slots.iter().any(|slot| slot.0 == operand.source);
        match &operand.from {
            Ty::ByRef(inner)
                if operand.convert == Convert::Load && !self.is_there && !is_packed =>
            {
                self.reserve_zero(inner)
            }
            _ => Some(()),
        }
    }

    fn reserve_zero(&mut self, ty: &Ty) -> Option<()> {
        if let Some(ty) = zeroed(ty) {
            let local = self.add_local_of(ty)?;
            self.zeros.push(local);
        }
        Some(())
    }

    /// The number of an argument.
    fn argument(&self, source: &Source) -> Option<usize> {
        let this = usize::from(self.method.this.is_some());
        let argument = match source {
            Source::Arg(number) => usize::from(*number) + this,
            _ if this == 1 => 0,
            _ => return None,
        };
        (argument < self.kept.len()).then_some(argument)
    }

    fn code(&mut self) -> &mut Code {
        match self.place {
            Place::First => &mut self.own.first,
            Place::Enter => &mut self.own.enter,
            Place::Exit(side) => &mut self.own.exit[side],
            Place::Error(side) => &mut self.own.error[side],
            Place::Ends => &mut self.own.ends,
        }
    }

    /// Notes that the next instructions push so many values.
    fn pushes(&mut self, count: u32) {
        self.depth += count;
        self.own.max_stack = self.own.max_stack.max(self.depth);
    }

    fn pops(&mut self, count: u32) {
        self.depth -= count;
    }

    fn stores(&mut self, local: u32) {
        self.code().store_local(local);
        self.pops(1);
    }

    fn nanoseconds(&mut self) -> Option<()> {
        let method = self.imports.guard.nanoseconds;
        self.pushes(1);
        self.code().op_u32(op::CALL, method);
        (method != 0).then_some(())
    }

    /// A call, whose result stays on the stack.
    fn call(&mut self, call: &Call) -> Option<()> {
        let method = self.imports.method(call)?;
        let points = takes_result(call);
        let left_out = match reads_reference(call) {
            Some(operand) => Some(self.if_null(operand)?),
            None => None,
        };
        self.is_there = left_out.is_some();
        for operand in &call.operands[..call.operands.len() - usize::from(points)] {
            self.operand(operand)?;
        }
        self.is_there = false;
        if points {
            let result = self.locals;
            self.pushes(1);
            self.code().load_local_address(result);
        }
        self.code().op_u32(op::CALL, method);
        self.pops(call.operands.len() as u32);
        if let Some(left_out) = left_out {
            self.code().land(left_out);
        }
        self.pushes(u32::from(call.hook.result != Ty::Void));
        Some(())
    }

    /// Converts a call's result and stores it at its destination.
    fn give(&mut self, call: &Call) -> Option<()> {
        let imports = self.imports;
        match (call.conversion(), &call.given) {
            (Convert::Cast, Some((_, to))) => {
                let token = imports.type_token(to)?;
                self.code().op_u32(op::UNBOX_ANY, token);
                Some(())
            }
            (how, Some(_)) => convert(imports, &call.gives(), how, self.code()),
            (_, None) => Some(()),
        }
    }

    fn operand(&mut self, operand: &Operand) -> Option<()> {
        let imports = self.imports;
        let ty = match operand.convert {
            Convert::Same => &operand.to,
            _ => &operand.from,
        };
        if let Ends::InMachine(field, _) = self.method.ends
            && let Some(slot) = self.slots.iter().position(|slot| slot.0 == operand.source)
        {
            return self.unpack(slot, field, operand);
        }
        match &operand.source {
            Source::Args(operands) => return self.array(operands),
            Source::Zero => return self.zero(&operand.to),
            Source::Duration => {
                self.nanoseconds()?;
                self.pushes(1);
                let time = self.time;
                self.code().load_local(time);
                self.code().op(op::SUB);
                self.pops(1);
                return self.convert(operand);
            }
            _ => {}
        }
        self.pushes(1);
        let (id, line) = (self.method.id as i32, self.method.line as i32);
        let result = self.locals;
        let exception = result + u32::from(self.has_result);
        match &operand.source {
            Source::This | Source::Arg(_) => {
                let argument = self.argument(&operand.source)?;
                let is_copied = self.copied.is_some() && operand.source == Source::This;
                match self.kept[argument] {
                    Some(local) if is_copied => self.code().load_local_address(local),
                    Some(local) => self.code().load_local(local),
                    None => self.code().load_argument(argument as u32),
                }
            }
            Source::Result if !self.has_result => return None,
            Source::Result => self.code().load_local(result),
            Source::Exception => self.code().load_local(exception),
            Source::State(number) => {
                let local = self.states + u32::from(*number);
                self.code().load_local(local);
            }
            Source::Id => number(self.code(), ty, id.into()),
            Source::Line => number(self.code(), ty, line.into()),
            Source::Text(text) => {
                let text = imports.text(text)?;
                self.code().op_u32(op::LDSTR, text);
            }
            Source::Int(value) => number(self.code(), ty, (*value).into()),
            Source::Long(value) => number(self.code(), ty, *value),
            Source::Double(value) => match ty {
                Ty::Prim(Prim::F32) => self.code().float(*value as f32),
                _ => self.code().double(*value),
            },
            Source::Proceed(proceed) => {
                let run = self
                    .method
                    .runs
                    .iter()
                    .find(|run| run.proceed == *proceed)?;
                let &Run {
                    target,
                    method,
                    constructor,
                    ..
                } = run;
                match target {
                    Target::None => self.code().op(op::LDNULL),
                    Target::This => self.code().load_argument(0),
                    Target::Local(local) => self.code().load_local(local),
                }
                self.pushes(1);
                self.code().op_u32(op::LDFTN, method);
                self.code().op_u32(op::NEWOBJ, constructor);
                self.pops(1);
            }
            Source::Args(_) | Source::Zero | Source::Duration => unreachable!("they returned"),
        }
        self.convert(operand)
    }

    /// A new array of objects.
    fn array(&mut self, operands: &[Operand]) -> Option<()> {
        let object = self.imports.object;
        self.pushes(1);
        self.code().int(operands.len() as i32);
        self.code().op_u32(op::NEWARR, object);
        for (place, operand) in operands.iter().enumerate() {
            self.pushes(2);
            self.code().op(op::DUP);
            self.code().int(place as i32);
            self.operand(operand)?;
            self.code().op(op::STELEM_REF);
            self.pops(3);
        }
        (object != 0).then_some(())
    }

    /// Null, or zero of a type.
    fn zero(&mut self, ty: &Ty) -> Option<()> {
        self.pushes(1);
        if let Some(of) = zeroed(ty) {
            let local = *self.zeros.get(self.used)?;
            self.used += 1;
            self.code().load_local_address(local);
            let token = self.imports.type_token(of)?;
            self.code().op_u32(op::INITOBJ, token);
            match ty {
                Ty::ByRef(_) => self.code().load_local_address(local),
                _ => self.code().load_local(local),
            }
            return Some(());
        }
        match ty {
            Ty::Prim(_) => number(self.code(), ty, 0),
            Ty::Pointer(_) => {
                self.code().int(0);
                self.code().op(op::CONV_U);
            }
            Ty::Void | Ty::Opaque(_) => return None,
            _ => self.code().op(op::LDNULL),
        }
        Some(())
    }

    /// A branch that is taken where a reference is null (`Unsafe.NullRef`).
    fn if_null(&mut self, operand: &Operand) -> Option<u32> {
        let reference = Operand {
            convert: Convert::Same,
            to: operand.from.clone(),
            ..operand.clone()
        };
        self.operand(&reference)?;
        let branch = self.code().branch(op::BRFALSE);
        self.pops(1);
        Some(branch)
    }

    /// Makes of the value on the stack what the hook takes.
    fn convert(&mut self, operand: &Operand) -> Option<()> {
        let imports = self.imports;
        let mut over = None;
        if let (Convert::Load | Convert::LoadBox, Ty::ByRef(inner), false) =
            (operand.convert, &operand.from, self.is_there)
        {
            // What a null reference points to is null, or zero.
            self.pushes(1);
            self.code().op(op::DUP);
            let there = self.code().branch(op::BRTRUE);
            self.code().op(op::POP);
            self.pops(2);
            match operand.convert {
                Convert::Load => self.zero(inner)?,
                _ => {
                    self.pushes(1);
                    self.code().op(op::LDNULL);
                }
            }
            over = Some(self.code().branch(op::BR));
            self.code().land(there);
        }
        convert(imports, &operand.from, operand.convert, self.code())?;
        if let Some(over) = over {
            self.code().land(over);
        }
        Some(())
    }
}

/// The call's adapter gets the address of the local of the result, and says whether it gave that something.
fn takes_result(call: &Call) -> bool {
    call.change().is_some_and(|change| change.throws)
}

/// What a call records, if it lies behind a reference.
fn reads_reference(call: &Call) -> Option<&Operand> {
    let value = call.operands.first().filter(|_| call.role == Role::Value);
    value.filter(|value| matches!(value.convert, Convert::Load | Convert::LoadBox))
}

/// Makes of a value on the stack what is asked for.
pub(crate) fn convert(
    imports: &Imports,
    from: &Ty,
    convert: Convert,
    code: &mut Code,
) -> Option<()> {
    match convert {
        Convert::Same => {}
        Convert::Cast => return None,
        Convert::Widen(from, to) => widen(code, from, to),
        Convert::Box => {
            let token = imports.type_token(from)?;
            code.op_u32(op::BOX, token);
        }
        Convert::Load | Convert::LoadBox => {
            let Ty::ByRef(inner) = from else {
                return None;
            };
            match load(inner) {
                Some(opcode) => code.op(opcode),
                None => {
                    let token = imports.type_token(inner)?;
                    code.op_u32(op::LDOBJ, token);
                }
            }
            if convert == Convert::LoadBox && !inner.is_reference() {
                let token = imports.type_token(inner)?;
                code.op_u32(op::BOX, token);
            }
        }
    }
    Some(())
}

/// The signature of locals of these types, and how many they are.
pub(crate) fn signature_of_locals((types, count): &(Vec<u8>, u32)) -> Vec<u8> {
    if *count == 0 {
        return Vec::new();
    }
    let mut blob = vec![kind::LOCALS];
    put_compressed(&mut blob, *count);
    blob.extend_from_slice(types);
    blob
}

/// The arguments that code stores to or takes the address of; `None` where the code cannot be read.
fn overwritten(code: &[u8], arguments: usize) -> Option<Vec<bool>> {
    let mut overwritten = vec![false; arguments];
    let mut pc = 0;
    while (pc as usize) < code.len() {
        let insn = insn::at(code, pc).ok()?;
        let operand = &code[..insn.end() as usize];
        let argument = match insn.opcode {
            op::STARG_S | op::LDARGA_S => operand.last().map(|&number| number.into()),
            op::STARG | op::LDARGA => operand
                .last_chunk()
                .map(|number| u16::from_le_bytes(*number)),
            _ => None,
        };
        if let Some(argument) = argument {
            *overwritten.get_mut(usize::from(argument))? = true;
        }
        pc = insn.end();
    }
    Some(overwritten)
}

/// A number as a constant of a type.
fn number(code: &mut Code, ty: &Ty, value: i64) {
    match ty {
        Ty::Prim(Prim::I64 | Prim::U64) => code.long(value),
        Ty::Prim(Prim::F32) => code.float(value as f32),
        Ty::Prim(Prim::F64) => code.double(value as f64),
        Ty::Prim(Prim::Isize | Prim::Usize) => {
            code.int(value as i32);
            code.op(op::CONV_I);
        }
        _ => match i32::try_from(value) {
            Ok(value) => code.int(value),
            Err(_) => code.long(value),
        },
    }
}

/// The instruction that loads what a managed pointer points to, where it needs no token.
fn load(ty: &Ty) -> Option<u16> {
    Some(match ty {
        Ty::Prim(prim) => match prim {
            Prim::Bool | Prim::U8 => op::LDIND_U1,
            Prim::I8 => op::LDIND_I1,
            Prim::Char | Prim::U16 => op::LDIND_U2,
            Prim::I16 => op::LDIND_I2,
            Prim::I32 => op::LDIND_I4,
            Prim::U32 => op::LDIND_U4,
            Prim::I64 | Prim::U64 => op::LDIND_I8,
            Prim::F32 => op::LDIND_R4,
            Prim::F64 => op::LDIND_R8,
            Prim::Isize | Prim::Usize => op::LDIND_I,
        },
        Ty::Pointer(_) => op::LDIND_I,
        ty if ty.is_reference() => op::LDIND_REF,
        _ => return None,
    })
}

/// Widens a number. Those below 32 bits are 32 bits on the stack.
fn widen(code: &mut Code, from: Prim, to: Prim) {
    let is_signed = matches!(
        from,
        Prim::I8 | Prim::I16 | Prim::I32 | Prim::I64 | Prim::Isize
    );
    // Smaller ones are not negative as 32 bits.
    let is_large_unsigned = matches!(from, Prim::U32 | Prim::U64 | Prim::Usize);
    match to {
        Prim::I64 | Prim::U64 if is_signed => code.op(op::CONV_I8),
        Prim::I64 | Prim::U64 => code.op(op::CONV_U8),
        Prim::Isize | Prim::Usize if is_signed => code.op(op::CONV_I),
        Prim::Isize | Prim::Usize => code.op(op::CONV_U),
        Prim::F32 | Prim::F64 => {
            if is_large_unsigned {
                code.op(op::CONV_R_UN);
            }
            code.op(match to {
                Prim::F32 => op::CONV_R4,
                _ => op::CONV_R8,
            });
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
