//! The effect of an instruction on locals and stack, word by word (JVMS 4.10.1.9).
//!
//! [`step`] follows one instruction. The caller chooses what a [`Word`] knows: `bool` knows `uninitializedThis`, [`Value`]
//! the class of an object.

use crate::error::Result;
use crate::jvm::class::{Class, Code};
use crate::jvm::insn::{self, Insn, op};
use crate::jvm::pool::{MemberRef, tag};
use crate::jvm::signature::{each_parameter, method_words, return_type, type_words};

/// Knowledge of a word; the default is none.
pub trait Word<'a>: Copy + Default + PartialEq {
    /// Whether it is `uninitializedThis`.
    fn is_this(self) -> bool;
    /// The value of an instruction.
    fn of(_value: Value<'a>) -> Self {
        Self::default()
    }
    /// What is known of the object, if anything.
    fn value(self) -> Value<'a> {
        Value::Other
    }
}

impl Word<'_> for bool {
    fn is_this(self) -> bool {
        self
    }
}

/// An object, as far as the code shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Value<'a> {
    /// A primitive value or half of one, or an object of which nothing is known.
    #[default]
    Other,
    /// `null`.
    Null,
    /// `uninitializedThis`.
    This,
    /// What `new` made at this pc, until its constructor is called.
    New(u32),
    /// An instance.
    Object(Type<'a>),
}

impl<'a> Word<'a> for Value<'a> {
    fn is_this(self) -> bool {
        self == Value::This
    }
    fn of(value: Value<'a>) -> Self {
        value
    }
    fn value(self) -> Value<'a> {
        self
    }
}

/// A reference type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type<'a> {
    /// Dimensions of an array; 0 for a class.
    pub dimensions: usize,
    /// The elements are primitive.
    pub primitive: bool,
    /// Internal name of the class, or the letter of the primitive type.
    pub name: &'a [u8],
}

impl<'a> Type<'a> {
    /// By the name that a `Class` constant has: an internal name, or an array's descriptor.
    pub fn named(name: &'a [u8]) -> Type<'a> {
        match name.first() {
            Some(b'[') => Type::of(name).unwrap_or(Type::class(name)),
            _ => Type::class(name),
        }
    }

    fn class(name: &'a [u8]) -> Type<'a> {
        Type {
            dimensions: 0,
            primitive: false,
            name,
        }
    }

    /// By a field descriptor, which more may follow; `None` for a primitive type.
    pub fn of(descriptor: &'a [u8]) -> Option<Type<'a>> {
        let dimensions = descriptor.iter().take_while(|&&b| b == b'[').count();
        let element = &descriptor[dimensions..];
        match element.first()? {
            b'L' => {
                let end = element.iter().position(|&b| b == b';')?;
                Some(Type {
                    dimensions,
                    primitive: false,
                    name: &element[1..end],
                })
            }
            _ if dimensions == 0 => None,
            _ => Some(Type {
                dimensions,
                primitive: true,
                name: &element[..1],
            }),
        }
    }

    /// Of an array of these.
    fn array(self) -> Type<'a> {
        Type {
            dimensions: self.dimensions + 1,
            ..self
        }
    }

    fn component(self) -> Value<'a> {
        match self.dimensions {
            0 => Value::Other,
            1 if self.primitive => Value::Other,
            n => Value::Object(Type {
                dimensions: n - 1,
                ..self
            }),
        }
    }

    /// Whether every verifier takes one of these for one of `wanted` without loading a class.
    pub fn is_surely(self, wanted: Type<'_>) -> bool {
        let object = !wanted.primitive && wanted.name == b"java/lang/Object";
        self == wanted
            || object && wanted.dimensions == 0
            || object
                && (self.dimensions > wanted.dimensions
                    || self.dimensions == wanted.dimensions && !self.primitive)
    }
}

fn value_of(descriptor: &[u8]) -> Value<'_> {
    Type::of(descriptor).map_or(Value::Other, Value::Object)
}

/// The locals and the stack.
#[derive(Clone, PartialEq)]
pub struct State<W> {
    /// The local variables.
    pub locals: Vec<W>,
    /// The operand stack.
    pub stack: Vec<W>,
}

impl<W: Copy + Default + PartialEq> State<W> {
    /// Keeps what holds in both; `None` where the stacks differ in depth, else whether it changed.
    pub fn merge(&mut self, other: &State<W>) -> Option<bool> {
        if self.stack.len() != other.stack.len() {
            return None;
        }
        let before = self.clone();
        for (mine, theirs) in self.locals.iter_mut().zip(&other.locals) {
            keep_common(mine, *theirs);
        }
        for (mine, theirs) in self.stack.iter_mut().zip(&other.stack) {
            keep_common(mine, *theirs);
        }
        Some(*self != before)
    }

    fn pop(&mut self, words: usize) -> Option<()> {
        let left = self.stack.len().checked_sub(words)?;
        self.stack.truncate(left);
        Some(())
    }

    fn push(&mut self, words: usize) {
        self.stack.resize(self.stack.len() + words, W::default());
    }

    /// Takes the top `n` words and puts a copy of them below the `under` words beneath.
    fn dup(&mut self, n: usize, under: usize) -> Option<()> {
        let top = self.stack.len().checked_sub(n)?;
        let at = top.checked_sub(under)?;
        for i in 0..n {
            let word = self.stack[top + 2 * i];
            self.stack.insert(at + i, word);
        }
        Some(())
    }

    fn load(&mut self, slot: usize) -> Option<()> {
        let word = *self.locals.get(slot)?;
        self.stack.push(word);
        Some(())
    }

    /// A store of a kind of [`insn::store`].
    fn store(&mut self, kind: u8, slot: usize) -> Option<()> {
        if kind == 4 {
            *self.locals.get_mut(slot)? = self.stack.pop()?;
            return Some(());
        }
        let words = if kind % 2 == 1 { 2 } else { 1 };
        self.pop(words)?;
        self.locals.get_mut(slot..slot + words)?.fill(W::default());
        Some(())
    }

    /// Puts another word wherever this one is.
    pub fn replace(&mut self, old: W, new: W) {
        for word in self.stack.iter_mut().chain(&mut self.locals) {
            if *word == old {
                *word = new;
            }
        }
    }
}

impl<'a, W: Word<'a>> State<W> {
    /// Pops words, one value or several; returns the lowest.
    fn pop_value(&mut self, words: usize) -> Option<Value<'a>> {
        let left = self.stack.len().checked_sub(words)?;
        let value = self
            .stack
            .get(left)
            .map_or(Value::Other, |word| word.value());
        self.stack.truncate(left);
        Some(value)
    }

    /// Pushes a value of a field descriptor.
    fn push_of(&mut self, descriptor: &'a [u8], words: usize) {
        match words {
            1 => self.stack.push(W::of(value_of(descriptor))),
            n => self.push(n),
        }
    }
}

/// Keeps what is known of both.
pub fn keep_common<W: Default + PartialEq>(mine: &mut W, theirs: W) {
    if *mine != theirs {
        *mine = W::default();
    }
}

/// The effect of an instruction on the flow.
pub enum Step {
    /// Control goes on behind it.
    Next,
    /// It initialises `this`.
    Initialises,
}

/// Follows one instruction; `None` where the stack or the locals do not allow it. Shows `uses` each object that the
/// instruction takes, with its required type.
pub fn step<'a, W: Word<'a>>(
    class: &Class<'a>,
    code: &Code<'a>,
    insn: Insn,
    state: &mut State<W>,
    uses: &mut impl FnMut(Value<'a>, Type<'a>),
) -> Result<Option<Step>> {
    if let Some(local) = insn::store(code.insns, insn) {
        return Ok(state
            .store(local.kind, local.slot as usize)
            .map(|()| Step::Next));
    }
    let pc = insn.pc as usize;
    let byte = |i: usize| code.insns[pc + i];
    let index = || u16::from_be_bytes([byte(1), byte(2)]);
    let done = match insn.opcode {
        op::ACONST_NULL => {
            state.stack.push(W::of(Value::Null));
            Some(())
        }
        op::LDC => {
            push_constant(class, u16::from(byte(1)), state);
            Some(())
        }
        op::LDC_W => {
            push_constant(class, index(), state);
            Some(())
        }
        op::ALOAD => state.load(usize::from(byte(1))),
        op::ALOAD_0..=op::ALOAD_3 => state.load(usize::from(insn.opcode - op::ALOAD_0)),
        op::AALOAD => state.pop_value(2).map(|array| {
            state.stack.push(W::of(match array {
                Value::Object(ty) => ty.component(),
                Value::Null => Value::Null,
                _ => Value::Other,
            }));
        }),
        op::WIDE => match byte(1) {
            op::ALOAD => state.load(usize::from(u16::from_be_bytes([byte(2), byte(3)]))),
            opcode => {
                let effect = insn::stack_effect(opcode).unwrap_or_default();
                state.push(usize::from(effect.pushes));
                Some(())
            }
        },
        op::DUP => state.dup(1, 0),
        op::DUP_X1 => state.dup(1, 1),
        op::DUP_X2 => state.dup(1, 2),
        op::DUP2 => state.dup(2, 0),
        op::DUP2_X1 => state.dup(2, 1),
        op::DUP2_X2 => state.dup(2, 2),
        op::SWAP => match state.stack.len() {
            n @ 2.. => {
                state.stack.swap(n - 1, n - 2);
                Some(())
            }
            _ => None,
        },
        op::GETSTATIC..=op::PUTFIELD => {
            let MemberRef {
                owner, descriptor, ..
            } = class.pool.member(index())?;
            field(class, insn.opcode, owner, descriptor, state, uses)
        }
        op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC => {
            return invoke(class, insn.opcode, index(), state, uses);
        }
        op::NEW => {
            state.stack.push(W::of(Value::New(insn.pc)));
            Some(())
        }
        op::NEWARRAY => state
            .pop(1)
            .map(|()| state.stack.push(W::of(primitive_array(byte(1))))),
        op::ANEWARRAY | op::CHECKCAST => state.pop(1).map(|()| {
            let named = class.pool.class_name(index()).map(Type::named);
            let value = match named {
                Ok(ty) if insn.opcode == op::ANEWARRAY => Value::Object(ty.array()),
                Ok(ty) => Value::Object(ty),
                Err(_) => Value::Other,
            };
            state.stack.push(W::of(value));
        }),
        op::MULTIANEWARRAY => state.pop(usize::from(byte(3))).map(|()| {
            let named = class.pool.class_name(index()).map(Type::named);
            state
                .stack
                .push(W::of(named.map_or(Value::Other, Value::Object)));
        }),
        opcode => insn::stack_effect(opcode).and_then(|effect| {
            state
                .pop(usize::from(effect.pops))
                .map(|()| state.push(usize::from(effect.pushes)))
        }),
    };
    Ok(done.map(|()| Step::Next))
}

/// An array of the primitive type that `newarray` names (JVMS 6.5, table newarray-A).
fn primitive_array<'a>(code: u8) -> Value<'a> {
    let name = b"ZCFDBSIJ".get(usize::from(code).wrapping_sub(4)..);
    let array = name.and_then(|n| n.get(..1)).map(|name| Type {
        dimensions: 1,
        primitive: true,
        name,
    });
    array.map_or(Value::Other, Value::Object)
}

/// Pushes what `ldc` or `ldc_w` loads: one word.
fn push_constant<'a, W: Word<'a>>(class: &Class<'a>, index: u16, state: &mut State<W>) {
    let name: Option<&[u8]> = match class.pool.tag(index) {
        Some(tag::STRING) => Some(b"java/lang/String"),
        Some(tag::CLASS) => Some(b"java/lang/Class"),
        Some(tag::METHOD_TYPE) => Some(b"java/lang/invoke/MethodType"),
        Some(tag::METHOD_HANDLE) => Some(b"java/lang/invoke/MethodHandle"),
        _ => None,
    };
    let value = match class.pool.tag(index) {
        Some(tag::DYNAMIC) => class
            .pool
            .member(index)
            .map_or(Value::Other, |m| value_of(m.descriptor)),
        _ => name.map_or(Value::Other, |name| Value::Object(Type::named(name))),
    };
    state.stack.push(W::of(value));
}

/// The four instructions that read and write fields.
fn field<'a, W: Word<'a>>(
    class: &Class<'a>,
    opcode: u8,
    owner: u16,
    descriptor: &'a [u8],
    state: &mut State<W>,
    uses: &mut impl FnMut(Value<'a>, Type<'a>),
) -> Option<()> {
    let words = type_words(descriptor) as usize;
    if matches!(opcode, op::PUTSTATIC | op::PUTFIELD) {
        let value = state.pop_value(words)?;
        if let Some(ty) = Type::of(descriptor) {
            uses(value, ty);
        }
    }
    if matches!(opcode, op::GETFIELD | op::PUTFIELD) {
        // A field of the class itself may be set before super() (JVMS 4.10.1.9).
        let object = state.pop_value(1)?;
        if let Ok(name) = class.pool.class_name(owner) {
            uses(object, Type::named(name));
        }
    }
    if matches!(opcode, op::GETSTATIC | op::GETFIELD) {
        state.push_of(descriptor, words);
    }
    Some(())
}

/// The five instructions that call methods.
fn invoke<'a, W: Word<'a>>(
    class: &Class<'a>,
    opcode: u8,
    index: u16,
    state: &mut State<W>,
    uses: &mut impl FnMut(Value<'a>, Type<'a>),
) -> Result<Option<Step>> {
    let MemberRef {
        owner,
        name,
        descriptor,
    } = class.pool.member(index)?;
    let Some((arguments, returns)) = method_words(descriptor) else {
        return Ok(None);
    };
    let Some(first) = state.stack.len().checked_sub(arguments as usize) else {
        return Ok(None);
    };
    let mut at = first;
    each_parameter(descriptor, |parameter| {
        if let Some(ty) = Type::of(parameter) {
            uses(state.stack[at].value(), ty);
        }
        at += type_words(parameter) as usize;
    });
    state.stack.truncate(first);
    if !matches!(opcode, op::INVOKESTATIC | op::INVOKEDYNAMIC) {
        let Some(receiver) = state.stack.pop() else {
            return Ok(None);
        };
        let ty = Type::named(class.pool.class_name(owner)?);
        if opcode == op::INVOKESPECIAL && name == b"<init>" {
            if receiver.is_this() {
                return Ok(Some(Step::Initialises));
            }
            if let Value::New(_) = receiver.value() {
                state.replace(receiver, W::of(Value::Object(ty)));
            }
        } else {
            uses(receiver.value(), ty);
        }
    }
    state.push_of(return_type(descriptor), returns as usize);
    Ok(Some(Step::Next))
}
