//! Whether a method's parameters keep their types to its end, so that the handler's frame can list them.
//!
//! Verifiers accept a frame without locals. But tools that instrument woven classes later, such as Byte Buddy, expect the
//! parameters in every full frame, with their declared types. They are listed where that is sound: all frames list them,
//! and no store changes their types. Only the virtual machine knows whether an object of another class fits; such a store
//! counts as sound if the method passes the same class for the declared one elsewhere, so that the verifier loads no
//! further class.

use crate::bytes::Cursor;
use crate::error::Result;
use crate::jvm::class::{Class, Code};
use crate::jvm::frames::{self, FullFrame, item};
use crate::jvm::insn::{self, Form, op};
use crate::jvm::signature::each_parameter;
use crate::jvm::simulation::{State, Step, Type, Value, step};
use rustc_hash::FxHashSet;

/// A parameter, or `this`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Tag of its verification type (JVMS 4.7.4).
    pub tag: u8,
    /// Its type, if it is an object.
    pub ty: Option<Type<'a>>,
    /// The name of its class: an internal name, or an array's descriptor.
    pub name: &'a [u8],
}

impl<'a> Parameter<'a> {
    fn of(descriptor: &'a [u8]) -> Parameter<'a> {
        let (tag, name): (u8, &[u8]) = match descriptor[0] {
            b'J' => (item::LONG, b""),
            b'D' => (item::DOUBLE, b""),
            b'F' => (item::FLOAT, b""),
            b'[' => (item::OBJECT, descriptor),
            b'L' => (item::OBJECT, &descriptor[1..descriptor.len() - 1]),
            _ => (item::INTEGER, b""),
        };
        Parameter {
            tag,
            ty: Type::of(descriptor),
            name,
        }
    }

    fn words(&self) -> usize {
        1 + usize::from(matches!(self.tag, item::LONG | item::DOUBLE))
    }

    fn value(&self) -> Value<'a> {
        self.ty.map_or(Value::Other, Value::Object)
    }
}

/// The parameters of a method, an initialised `this` first.
pub fn parameters<'a>(
    class: &Class<'a>,
    descriptor: &'a [u8],
    is_static: bool,
) -> Result<Vec<Parameter<'a>>> {
    let mut all = Vec::new();
    if !is_static {
        let name = class.pool.class_name(class.this_class())?;
        all.push(Parameter {
            tag: item::OBJECT,
            ty: Some(Type::named(name)),
            name,
        });
    }
    each_parameter(descriptor, |d| all.push(Parameter::of(d)));
    Ok(all)
}

/// The locals of a method's last frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// How many there are behind the parameters.
    pub more: usize,
    /// `this` is initialised.
    pub initialised: bool,
}

/// Reads the locals of the last frame of a StackMapTable; `None` where some frame does not list the parameters with their
/// types. `uninitializedThis` may stand for `this`.
pub fn frames_keep(
    class: &Class<'_>,
    stack_map: &[u8],
    parameters: &[Parameter<'_>],
    is_constructor: bool,
) -> Result<Option<Kept>> {
    let mut count = Some(parameters.len());
    let mut initialised = !is_constructor;
    let listed = |locals: &[u8]| -> Result<(usize, bool, bool)> {
        let mut cursor = Cursor::new(locals);
        let n = usize::from(cursor.be_u16()?);
        let mut same = n >= parameters.len();
        let mut initialised = true;
        for (i, parameter) in parameters.iter().enumerate().take(n) {
            let tag = cursor.u8()?;
            if tag == item::UNINITIALIZED_THIS && i == 0 && is_constructor {
                initialised = false;
                continue;
            }
            same &= tag == parameter.tag;
            if tag == item::OBJECT {
                same = same && class.pool.class_name(cursor.be_u16()?)? == parameter.name;
            } else if tag == item::UNINITIALIZED {
                cursor.be_u16()?;
            }
            if !same {
                break;
            }
        }
        Ok((n, same, initialised))
    };
    if !stack_map.is_empty() {
        frames::locals_changes(stack_map, |shape| {
            let Some(n) = count else { return Ok(()) };
            count = match shape {
                frames::LocalsChange::Locals {
                    list,
                    uninitialised_this,
                } => {
                    let (n, same, this) = listed(list)?;
                    initialised = this && !uninitialised_this;
                    same.then_some(n)
                }
                frames::LocalsChange::Fewer(by) => {
                    n.checked_sub(by).filter(|&n| n >= parameters.len())
                }
                frames::LocalsChange::More(by) => Some(n + by),
                frames::LocalsChange::Same => Some(n),
            };
            Ok(())
        })?;
    }
    let more = count.and_then(|n| n.checked_sub(parameters.len()));
    Ok(more.map(|more| Kept { more, initialised }))
}

/// Most words of locals over all frames.
const MAX_WORDS: usize = 4 << 20;

/// Whether every store into a parameter fits its type, without loading classes. The method's frames list the parameters
/// ([`frames_keep`]).
pub fn stores_keep<'a>(
    class: &Class<'a>,
    code: &Code<'a>,
    descriptor: &'a [u8],
    stack_map: &[u8],
    parameters: &[Parameter<'a>],
    is_constructor: bool,
) -> Result<bool> {
    let mut start = State {
        locals: vec![Value::Other; usize::from(code.max_locals)],
        stack: Vec::new(),
    };
    // The parameter that begins at a slot.
    let mut slots: Vec<Option<&Parameter<'_>>> = Vec::new();
    for parameter in parameters {
        slots.push(Some(parameter));
        slots.resize(slots.len() + parameter.words() - 1, None);
    }
    if slots.len() > start.locals.len() {
        return Ok(false);
    }
    for (local, parameter) in start.locals.iter_mut().zip(&slots) {
        *local = parameter.map_or(Value::Other, Parameter::value);
    }
    if is_constructor {
        start.locals[0] = Value::This;
    }
    let Some(types) = FrameTypes::new(class, parameters) else {
        return Ok(false);
    };
    let this = parameters.first().filter(|_| is_constructor).map(|p| p.ty);
    let Some(frames) = types.frames(stack_map, is_constructor)? else {
        return Ok(false);
    };
    if frames.len() * (start.locals.len() + usize::from(code.max_stack)) > MAX_WORDS {
        return Ok(false);
    }

    let returns = descriptor
        .iter()
        .rposition(|&b| b == b')')
        .map_or(0, |i| i + 1);
    let returned = Type::of(&descriptor[returns..]);
    // Pairs of a class and the class it must be assignable to: from stores, and from the verifier's own checks.
    let mut needed = FxHashSet::default();
    let mut checked = FxHashSet::default();
    let mut state = Some(start);
    let mut at_frame = frames.iter().peekable();
    let mut pc = 0;
    while (pc as usize) < code.insns.len() {
        let insn = insn::at(code.insns, pc)?;
        if let Some(frame) = at_frame.next_if(|f| f.pc == pc) {
            let listed = types.state(frame, code);
            if let (Some(before), Some(listed)) = (&state, &listed) {
                meet(before, listed, &mut checked);
            }
            state = listed;
        }
        let Some(now) = &mut state else {
            return Ok(false);
        };
        let stored = match insn.form {
            Form::Store => Some((insn.opcode - 54, u32::from(code.insns[pc as usize + 1]))),
            Form::StoreN => Some(((insn.opcode - 59) / 4, u32::from((insn.opcode - 59) % 4))),
            Form::Wide => match code.insns[pc as usize + 1] {
                opcode @ 54..=58 => {
                    let slot = &code.insns[pc as usize + 2..][..2];
                    Some((
                        opcode - 54,
                        u32::from(u16::from_be_bytes([slot[0], slot[1]])),
                    ))
                }
                _ => None,
            },
            _ => None,
        };
        if let Some((kind, slot)) = stored {
            let slot = slot as usize;
            // int, long, float, double, object
            let tag = [
                item::INTEGER,
                item::LONG,
                item::FLOAT,
                item::DOUBLE,
                item::OBJECT,
            ][usize::from(kind)];
            let words = 1 + usize::from(kind == 1 || kind == 3);
            match slots.get(slot) {
                Some(Some(p)) if p.tag == tag => {
                    if let Some(wanted) = p.ty {
                        match now.stack.last() {
                            Some(Value::Null) => {}
                            Some(Value::Object(ty)) if ty.is_surely(wanted) => {}
                            Some(Value::Object(ty)) => {
                                needed.insert((*ty, wanted));
                            }
                            _ => return Ok(false),
                        }
                    }
                }
                Some(_) => return Ok(false),
                // Neither half may lie in a parameter.
                None => debug_assert!(slot + words > slots.len()),
            }
        }
        let mut uses = |value: Value<'a>, wanted: Type<'a>| {
            if let Value::Object(ty) = value
                && ty != wanted
            {
                checked.insert((ty, wanted));
            }
        };
        if insn.opcode == op::ARETURN
            && let (Some(value), Some(wanted)) = (now.stack.last(), returned)
        {
            uses(*value, wanted);
        }
        match step(class, code, insn, now, &mut uses)? {
            None => return Ok(false),
            Some(Step::Initialises) => {
                let Some(Some(this)) = this else {
                    return Ok(false);
                };
                for word in now.stack.iter_mut().chain(&mut now.locals) {
                    if *word == Value::This {
                        *word = Value::Object(this);
                    }
                }
            }
            Some(Step::Next) => {}
        }
        if now.stack.len() > usize::from(code.max_stack) {
            return Ok(false);
        }
        let mut leads_to = |target: u32| {
            if let Ok(i) = frames.binary_search_by_key(&target, |f| f.pc)
                && let Some(listed) = types.state(&frames[i], code)
            {
                meet(now, &listed, &mut checked);
            }
        };
        match insn.form {
            Form::Branch | Form::WideBranch if matches!(insn.opcode, op::JSR | op::JSR_W) => {
                return Ok(false);
            }
            // Switches add nothing: javac makes no store in front of their targets.
            Form::Branch | Form::WideBranch => leads_to(insn::branch_target(code.insns, insn)?),
            _ => {}
        }
        if insn::ends_flow(insn.opcode) {
            state = None;
        }
        pc += insn.len;
        // Without a frame, the locals of code behind a jump are unknown.
        if state.is_none()
            && (pc as usize) < code.insns.len()
            && at_frame.peek().is_none_or(|f| f.pc != pc)
        {
            return Ok(false);
        }
    }
    Ok(needed.is_subset(&checked))
}

/// Records what the verifier checks where control meets a frame.
fn meet<'a>(
    from: &State<Value<'a>>,
    frame: &State<Value<'a>>,
    checked: &mut FxHashSet<(Type<'a>, Type<'a>)>,
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
