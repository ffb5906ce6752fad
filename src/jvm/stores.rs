//! Whether a method's stores into its parameters keep their types.
//!
//! Only the virtual machine knows whether an object of another class fits. Such a store counts as sound if the method
//! passes the same class for the declared one elsewhere, so that the verifier loads no further class.

use crate::error::Result;
use crate::jvm::class::{Class, Code};
use crate::jvm::frames::{self, FullFrame, item};
use crate::jvm::insn::{self, Form, Insn, Local, op};
use crate::jvm::parameters::Parameter;
use crate::jvm::signature::return_type;
use crate::jvm::simulation::{State, Step, Type, Value, step};
use rustc_hash::FxHashSet;

/// Most words of locals over all frames.
const MAX_WORDS: usize = 4 << 20;

/// Whether every store into a parameter fits its type, without loading classes. The method's frames list the parameters
/// ([`crate::jvm::parameters::frames_keep`]).
pub fn stores_keep<'a>(
    class: &Class<'a>,
    code: &Code<'a>,
    descriptor: &'a [u8],
    stack_map: &[u8],
    parameters: &[Parameter<'a>],
    is_constructor: bool,
) -> Result<bool> {
    let slots = slots(parameters);
    if slots.len() > usize::from(code.max_locals) {
        return Ok(false);
    }
    let Some(types) = FrameTypes::new(class, parameters) else {
        return Ok(false);
    };
    let Some(frames) = types.frames(stack_map, is_constructor)? else {
        return Ok(false);
    };
    let words = usize::from(code.max_locals) + usize::from(code.max_stack);
    if frames.len() * words > MAX_WORDS {
        return Ok(false);
    }
    let start = start(code, &slots, is_constructor);
    let this = parameters.first().filter(|_| is_constructor);
    let mut simulation = Simulation {
        class,
        code,
        types,
        frames: &frames,
        slots: &slots,
        this: this.and_then(|p| p.ty),
        returned: Type::of(return_type(descriptor)),
        needed: FxHashSet::default(),
        checked: FxHashSet::default(),
    };
    Ok(simulation.run(start)? && simulation.needed.is_subset(&simulation.checked))
}

/// The parameter that begins at each slot.
fn slots<'p, 'a>(parameters: &'p [Parameter<'a>]) -> Vec<Option<&'p Parameter<'a>>> {
    let mut slots = Vec::new();
    for parameter in parameters {
        slots.push(Some(parameter));
        slots.resize(slots.len() + parameter.words() - 1, None);
    }
    slots
}

/// The state at the method's start.
fn start<'a>(
    code: &Code<'a>,
    slots: &[Option<&Parameter<'a>>],
    is_constructor: bool,
) -> State<Value<'a>> {
    let mut locals = vec![Value::Other; usize::from(code.max_locals)];
    for (local, parameter) in locals.iter_mut().zip(slots) {
        *local = parameter.map_or(Value::Other, Parameter::value);
    }
    if is_constructor {
        locals[0] = Value::This;
    }
    State {
        locals,
        stack: Vec::new(),
    }
}

/// A class, and the class that it must be assignable to.
type Assignment<'a> = (Type<'a>, Type<'a>);

/// Follows the method's code in its order, from frame to frame, as a verifier does. Its steps answer `false` where they
/// cannot say that the stores are sound.
struct Simulation<'p, 'a> {
    class: &'p Class<'a>,
    code: &'p Code<'a>,
    types: FrameTypes<'p, 'a>,
    frames: &'p [FullFrame],
    /// The parameter that begins at each slot.
    slots: &'p [Option<&'p Parameter<'a>>],
    /// The type of `this` in a constructor.
    this: Option<Type<'a>>,
    returned: Option<Type<'a>>,
    /// From stores into parameters.
    needed: FxHashSet<Assignment<'a>>,
    /// The verifier's own checks.
    checked: FxHashSet<Assignment<'a>>,
}

impl<'a> Simulation<'_, 'a> {
    fn run(&mut self, start: State<Value<'a>>) -> Result<bool> {
        let mut state = Some(start);
        let mut at_frame = self.frames.iter().peekable();
        let mut pc = 0;
        while (pc as usize) < self.code.insns.len() {
            let insn = insn::at(self.code.insns, pc)?;
            if let Some(frame) = at_frame.next_if(|f| f.pc == pc) {
                let listed = self.types.state(frame, self.code);
                if let (Some(before), Some(listed)) = (&state, &listed) {
                    meet(before, listed, &mut self.checked);
                }
                state = listed;
            }
            // Without a frame, the locals of code behind a jump are unknown.
            let Some(now) = &mut state else {
                return Ok(false);
            };
            if !(self.store(insn, now) && self.step(insn, now)? && self.branch(insn, now)?) {
                return Ok(false);
            }
            if insn::ends_flow(insn.opcode) {
                state = None;
            }
            pc += insn.len;
        }
        Ok(true)
    }

    /// Notes what a store into a parameter needs.
    fn store(&mut self, insn: Insn, now: &State<Value<'a>>) -> bool {
        let Some(Local { kind, slot }) = insn::store(self.code.insns, insn) else {
            return true;
        };
        match self.slots.get(slot as usize) {
            Some(Some(p)) if p.tag == STORED[usize::from(kind)] => match (p.ty, now.stack.last()) {
                (None, _) | (_, Some(Value::Null)) => true,
                (Some(wanted), Some(Value::Object(ty))) => {
                    if !ty.is_surely(wanted) {
                        self.needed.insert((*ty, wanted));
                    }
                    true
                }
                _ => false,
            },
            // Neither half may lie in a parameter.
            Some(_) => false,
            None => true,
        }
    }

    /// Follows one instruction, and notes the verifier's checks of what it takes.
    fn step(&mut self, insn: Insn, now: &mut State<Value<'a>>) -> Result<bool> {
        let mut uses = |value: Value<'a>, wanted: Type<'a>| {
            if let Value::Object(ty) = value
                && ty != wanted
            {
                self.checked.insert((ty, wanted));
            }
        };
        if insn.opcode == op::ARETURN
            && let (Some(value), Some(wanted)) = (now.stack.last(), self.returned)
        {
            uses(*value, wanted);
        }
        match (
            step(self.class, self.code, insn, now, &mut uses)?,
            self.this,
        ) {
            (Some(Step::Next), _) => {}
            (Some(Step::Initialises), Some(this)) => now.replace(Value::This, Value::Object(this)),
            _ => return Ok(false),
        }
        Ok(now.stack.len() <= usize::from(self.code.max_stack))
    }

    /// Notes the verifier's checks at a branch's target. Switches add nothing: javac makes no store in front of their
    /// targets.
    fn branch(&mut self, insn: Insn, now: &State<Value<'a>>) -> Result<bool> {
        if !matches!(insn.form, Form::Branch | Form::WideBranch) {
            return Ok(true);
        }
        if matches!(insn.opcode, op::JSR | op::JSR_W) {
            return Ok(false);
        }
        let target = insn::branch_target(self.code.insns, insn)?;
        if let Ok(i) = self.frames.binary_search_by_key(&target, |f| f.pc)
            && let Some(listed) = self.types.state(&self.frames[i], self.code)
        {
            meet(now, &listed, &mut self.checked);
        }
        Ok(true)
    }
}

/// The verification types that the kinds of stores store.
const STORED: [u8; 5] = [
    item::INTEGER,
    item::LONG,
    item::FLOAT,
    item::DOUBLE,
    item::OBJECT,
];

/// Records what the verifier checks where control meets a frame.
fn meet<'a>(
    from: &State<Value<'a>>,
    frame: &State<Value<'a>>,
    checked: &mut FxHashSet<Assignment<'a>>,
) {
    for (have, wanted) in from.locals.iter().zip(&frame.locals) {
        if let (Value::Object(have), Value::Object(wanted)) = (have, wanted)
            && have != wanted
        {
            checked.insert((*have, *wanted));
        }
    }
}

/// Frames as states. The parameters' types have indices behind the pool's, which may not have them.
struct FrameTypes<'p, 'a> {
    class: &'p Class<'a>,
    parameters: &'p [Parameter<'a>],
}

impl<'p, 'a> FrameTypes<'p, 'a> {
    fn new(class: &'p Class<'a>, parameters: &'p [Parameter<'a>]) -> Option<FrameTypes<'p, 'a>> {
        (usize::from(class.pool.count()) + parameters.len() <= 65_535)
            .then_some(FrameTypes { class, parameters })
    }

    fn frames(&self, stack_map: &[u8], is_constructor: bool) -> Result<Option<Vec<FullFrame>>> {
        if stack_map.is_empty() {
            return Ok(Some(vec![]));
        }
        let mut initial: Vec<_> = (self.class.pool.count()..)
            .zip(self.parameters)
            .map(|(index, p)| match p.ty {
                Some(_) => (p.tag, index),
                None => (p.tag, 0),
            })
            .collect();
        if is_constructor {
            initial[0] = (item::UNINITIALIZED_THIS, 0);
        }
        frames::expand(stack_map, initial)
    }

    fn words(&self, list: &[frames::VerificationType], out: &mut Vec<Value<'a>>) -> Option<()> {
        for &(tag, operand) in list {
            out.push(match tag {
                item::NULL => Value::Null,
                item::UNINITIALIZED_THIS => Value::This,
                item::UNINITIALIZED => Value::New(u32::from(operand)),
                item::OBJECT => match operand.checked_sub(self.class.pool.count()) {
                    Some(i) => self.parameters.get(usize::from(i))?.value(),
                    None => Value::Object(Type::named(self.class.pool.class_name(operand).ok()?)),
                },
                _ => Value::Other,
            });
            if matches!(tag, item::LONG | item::DOUBLE) {
                out.push(Value::Other);
            }
        }
        Some(())
    }

    /// `None` for nonsense.
    fn state(&self, frame: &FullFrame, code: &Code<'_>) -> Option<State<Value<'a>>> {
        let (mut locals, mut stack) = (Vec::new(), Vec::new());
        self.words(&frame.locals, &mut locals)?;
        self.words(&frame.stack, &mut stack)?;
        let room = usize::from(code.max_locals);
        if locals.len() > room {
            return None;
        }
        locals.resize(room, Value::Other);
        Some(State { locals, stack })
    }
}
