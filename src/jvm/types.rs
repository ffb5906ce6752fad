//! The types that a verifier knows at an instruction (JVMS 4.10.1): those of the frame above, followed from there. Between frames
//! nothing merges, so no class is asked about.

use crate::error::Result;
use crate::jvm::class::{Class, Code, MethodInfo, flag};
use crate::jvm::frames::{self, FullFrame, VerificationType, item};
use crate::jvm::insn::{self, Insn, Local, op};
use crate::jvm::parameters::{Parameter, parameters};
use crate::jvm::points::overwrites_this;
use crate::jvm::pool::{Additions, MemberRef, tag};
use crate::jvm::signature::return_type;
use crate::jvm::simulation::{State, Step, Type, Value, Word, step};

/// A parameter by its number, in place of the class constant that it may lack.
const PARAMETER: u8 = 0xff;

/// A word of a variable or of the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Known<'a> {
    #[default]
    Nothing,
    Int,
    Float,
    Long,
    Double,
    /// The second word of a long or double.
    Second,
    Object(Value<'a>),
    /// The object of the method, which is never null.
    This(Type<'a>),
}

impl<'a> Word<'a> for Known<'a> {
    fn is_this(self) -> bool {
        self == Known::Object(Value::This)
    }

    fn of(value: Value<'a>) -> Self {
        match value {
            Value::Other => Known::Nothing,
            value => Known::Object(value),
        }
    }

    fn value(self) -> Value<'a> {
        match self {
            Known::Object(value) => value,
            Known::This(ty) => Value::Object(ty),
            _ => Value::Other,
        }
    }
}

impl<'a> Known<'a> {
    /// The words of a value by the letter of its descriptor, if it is primitive.
    fn primitive(letter: u8) -> &'static [Known<'static>] {
        match letter {
            b'J' => &[Known::Long, Known::Second],
            b'D' => &[Known::Double, Known::Second],
            b'F' => &[Known::Float],
            b'I' | b'Z' | b'B' | b'C' | b'S' => &[Known::Int],
            _ => &[],
        }
    }

    fn of_parameter(parameter: &Parameter<'a>) -> Vec<Known<'a>> {
        match parameter.tag {
            item::OBJECT => vec![Known::of(parameter.value())],
            item::LONG => vec![Known::Long, Known::Second],
            item::DOUBLE => vec![Known::Double, Known::Second],
            item::FLOAT => vec![Known::Float],
            _ => vec![Known::Int],
        }
    }
}

/// A method whose types are followed.
struct Walk<'w, 'a> {
    class: &'w Class<'a>,
    code: &'w Code<'a>,
    parameters: Vec<Parameter<'a>>,
    /// The class itself, where no instruction takes its object out of the first variable.
    keeps_this: Option<Type<'a>>,
}

/// Shows `each` what is known in front of every instruction; none where that cannot be followed, or no control gets there.
pub fn walk<'a>(
    class: &Class<'a>,
    method: &MethodInfo,
    code: &Code<'a>,
    stack_map: &'a [u8],
    mut each: impl FnMut(u32, &State<Known<'a>>),
) -> Result<()> {
    let is_static = method.access & flag::STATIC != 0;
    let descriptor = class.pool.utf8(method.descriptor)?;
    let this = Type::named(class.pool.class_name(class.this_class())?);
    let walk = Walk {
        class,
        code,
        parameters: parameters(class, descriptor, is_static)?,
        keeps_this: (!is_static && !overwrites_this(method, code)?).then_some(this),
    };
    let is_constructor = class.pool.utf8(method.name)? == b"<init>";
    let initial: Vec<VerificationType> = (walk.parameters.iter().enumerate())
        .map(|(n, parameter)| match parameter.tag {
            item::OBJECT if n == 0 && is_constructor => (item::UNINITIALIZED_THIS, 0),
            item::OBJECT => (PARAMETER, n as u16),
            tag => (tag, 0),
        })
        .collect();
    let first = FullFrame {
        pc: 0,
        locals: initial.clone(),
        stack: Vec::new(),
    };
    let spelt = match stack_map.is_empty() {
        true => Some(Vec::new()),
        false => frames::expand(stack_map, initial)?,
    };
    let Some(spelt) = spelt else { return Ok(()) };
    let mut spelt = spelt.iter().peekable();
    let mut state = Some(walk.state(&first)?);
    let mut pc = 0;
    while (pc as usize) < code.insns.len() {
        if let Some(frame) = spelt.next_if(|frame| frame.pc == pc) {
            state = Some(walk.state(frame)?);
        }
        let insn = insn::at(code.insns, pc)?;
        if let Some(known) = &mut state {
            each(pc, known);
            if !walk.follow(insn, known, this)? {
                state = None;
            }
        }
        if insn::ends_flow(insn.opcode) {
            state = None;
        }
        pc += insn.len;
    }
    Ok(())
}

impl<'a> Walk<'_, 'a> {
    fn state(&self, frame: &FullFrame) -> Result<State<Known<'a>>> {
        let mut locals = self.words(&frame.locals)?;
        locals.resize(usize::from(self.code.max_locals), Known::Nothing);
        if let (Some(this), Some(first)) = (self.keeps_this, locals.first_mut())
            && *first == Known::Object(Value::Object(this))
        {
            *first = Known::This(this);
        }
        let stack = self.words(&frame.stack)?;
        Ok(State { locals, stack })
    }

    fn words(&self, types: &[VerificationType]) -> Result<Vec<Known<'a>>> {
        let mut words = Vec::new();
        for &(tag, operand) in types {
            match tag {
                PARAMETER => words.extend(Known::of_parameter(&self.parameters[operand as usize])),
                item::INTEGER => words.push(Known::Int),
                item::FLOAT => words.push(Known::Float),
                item::LONG => words.extend([Known::Long, Known::Second]),
                item::DOUBLE => words.extend([Known::Double, Known::Second]),
                item::NULL => words.push(Known::Object(Value::Null)),
                item::UNINITIALIZED_THIS => words.push(Known::Object(Value::This)),
                item::UNINITIALIZED => words.push(Known::Object(Value::New(operand.into()))),
                item::OBJECT => {
                    let ty = Type::named(self.class.pool.class_name(operand)?);
                    words.push(Known::Object(Value::Object(ty)));
                }
                _ => words.push(Known::Nothing),
            }
        }
        Ok(words)
    }

    /// Follows an instruction; whether it could be.
    fn follow(&self, insn: Insn, state: &mut State<Known<'a>>, this: Type<'a>) -> Result<bool> {
        let Some(flow) = step(self.class, self.code, insn, state, &mut |_, _| {})? else {
            return Ok(false);
        };
        if let Step::Initialises = flow {
            let initialised = match self.keeps_this {
                Some(this) => Known::This(this),
                None => Known::Object(Value::Object(this)),
            };
            state.replace(Known::Object(Value::This), initialised);
        }
        if let Some(Local { kind, slot }) = insn::store(self.code.insns, insn) {
            if let Some(letter) = b"IJFD".get(usize::from(kind)) {
                let words = Known::primitive(*letter);
                let slot = slot as usize;
                state.locals[slot..slot + words.len()].copy_from_slice(words);
            }
            return Ok(true);
        }
        let words = Known::primitive(self.pushed(insn)?);
        let from = state.stack.len().checked_sub(words.len());
        if let Some(from) = from {
            state.stack[from..].copy_from_slice(words);
        }
        Ok(from.is_some())
    }

    /// The letter of the primitive type that an instruction pushes; another one, if it pushes none.
    fn pushed(&self, insn: Insn) -> Result<u8> {
        const NONE: u8 = b'V';
        let at = insn.pc as usize;
        let byte = |i: usize| self.code.insns[at + i];
        let index = || u16::from_be_bytes([byte(1), byte(2)]);
        let constant = |index: u16| {
            Ok(match self.class.pool.tag(index) {
                Some(tag::INTEGER) => b'I',
                Some(tag::FLOAT) => b'F',
                Some(tag::LONG) => b'J',
                Some(tag::DOUBLE) => b'D',
                Some(tag::DYNAMIC) => self.class.pool.member(index)?.descriptor[0],
                _ => NONE,
            })
        };
        // In the order of opcodes (JVMS 7).
        let by_four = |from: u8, opcode: u8| b"IJFD"[usize::from((opcode - from) / 4 % 4)];
        let opcode = match insn.opcode {
            op::WIDE => byte(1),
            opcode => opcode,
        };
        Ok(match opcode {
            2..=8 | 16 | 17 => b'I',
            9 | 10 => b'J',
            11..=13 => b'F',
            14 | 15 => b'D',
            op::LDC => constant(byte(1).into())?,
            op::LDC_W | op::LDC2_W => constant(index())?,
            // loads of variables, then of arrays
            21..=24 => b"IJFD"[usize::from(opcode - 21)],
            26..=41 => by_four(26, opcode),
            46..=49 => b"IJFD"[usize::from(opcode - 46)],
            51..=53 => b'I',
            // add to neg; shifts and bits
            96..=119 => b"IJFD"[usize::from((opcode - 96) % 4)],
            120..=131 => b"IJ"[usize::from(opcode % 2)],
            // i2l to d2f; i2b to i2s; comparisons
            133..=144 => b"JFDIFDIJDIJF"[usize::from(opcode - 133)],
            145..=152 => b'I',
            op::GETSTATIC | op::GETFIELD => {
                let MemberRef { descriptor, .. } = self.class.pool.member(index())?;
                descriptor.first().copied().unwrap_or(NONE)
            }
            op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC => {
                let MemberRef { descriptor, .. } = self.class.pool.member(index())?;
                return_type(descriptor).first().copied().unwrap_or(NONE)
            }
            // arraylength, instanceof
            190 | op::INSTANCEOF => b'I',
            _ => NONE,
        })
    }
}

/// How many constants a list of words needs at most.
pub fn constants_needed(words: usize) -> usize {
    2 * words
}

/// Words as a frame lists them. What is not known is `top`; on a stack (`whole`) nothing may be: then there is no such list.
pub fn listed(
    words: &[Known<'_>],
    whole: bool,
    class: &Class<'_>,
    additions: &mut Additions,
) -> Option<Vec<VerificationType>> {
    let mut list = Vec::new();
    let mut at = 0;
    while let Some(&word) = words.get(at) {
        let has_second = words.get(at + 1) == Some(&Known::Second);
        let ty = match word {
            Known::Int => (item::INTEGER, 0),
            Known::Float => (item::FLOAT, 0),
            Known::Long if has_second => (item::LONG, 0),
            Known::Double if has_second => (item::DOUBLE, 0),
            Known::Object(Value::Null) => (item::NULL, 0),
            Known::Object(Value::This) => (item::UNINITIALIZED_THIS, 0),
            Known::Object(Value::New(pc)) => (item::UNINITIALIZED, pc as u16),
            Known::Object(Value::Object(ty)) | Known::This(ty) => {
                (item::OBJECT, additions.class(&class.pool, &name(ty)))
            }
            Known::Object(Value::Other)
            | Known::Nothing
            | Known::Second
            | Known::Long
            | Known::Double => {
                if whole {
                    return None;
                }
                (item::TOP, 0)
            }
        };
        at += match ty.0 {
            item::LONG | item::DOUBLE => 2,
            _ => 1,
        };
        list.push(ty);
    }
    Some(list)
}

/// What a `Class` constant calls a type.
fn name(ty: Type<'_>) -> Vec<u8> {
    let mut name = vec![b'['; ty.dimensions];
    match ty.dimensions > 0 && !ty.primitive {
        true => {
            name.push(b'L');
            name.extend_from_slice(ty.name);
            name.push(b';');
        }
        false => name.extend_from_slice(ty.name),
    }
    name
}
