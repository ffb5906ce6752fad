//! Classes whose objects run bodies.
//!
//! ```text
//!     final synthetic class Client$weave$proceed_1f2e3d4c implements Supplier {
//!         private final synthetic Client a0; int a1;
//!         Client$weave$proceed_1f2e3d4c(Client a0, int a1) { .. }
//!         public Object get() { return Client.weave$body$send$1f2e3d4c(a0, a1); }
//!     }
//! ```
//!
//! Each is in the package of the class that has the body.

use crate::aspect::advice::Reason;
use crate::aspect::attempt::Attempt;
use crate::aspect::bind::call::Proceed;
use crate::aspect::bind::ty::{Prim, Ty};
use crate::bytes::modified_utf8;
use crate::dex::format::class::flag;
use crate::dex::format::code_item;
use crate::dex::format::insn;
use crate::dex::format::opcodes::op;
use crate::dex::hooks::own::{Method, Needs, descriptor};
use crate::dex::ids::{NewClass, PlacedField, PlacedMethod};
use crate::dex::lower::own::put_cast;
use crate::dex::lower::own_frame::Names;
use crate::dex::lower::registers::{self, LAST_NIBBLE, Width, width, words};

/// What such a class runs, and which of its values it keeps.
pub(crate) struct Runner<'r> {
    pub proceed: &'r Proceed,
    /// Its descriptor.
    pub class: Vec<u8>,
    /// What the body takes: its object, if it has one, and the arguments.
    pub takes: &'r [Ty],
    pub has_this: bool,
    pub result: &'r Ty,
}

/// New indices of what the class names.
pub(crate) struct Found<'f> {
    pub ty: u32,
    pub constructor: u32,
    pub run: u32,
    pub body: u32,
    /// The constructor of its superclass.
    pub above: u32,
    pub fields: &'f [u32],
    pub names: &'f Names,
}

/// The constructor that any class of ours calls.
pub(crate) fn of_object() -> Method {
    Method {
        class: b"Ljava/lang/Object;".to_vec(),
        name: b"<init>".to_vec(),
        parameters: Vec::new(),
        returns: b"V".to_vec(),
    }
}

/// How many locals these have before what they pass on: a value, and their own object.
const VALUE: u32 = 0;
const SELF: u32 = 2;
const LOCALS: u32 = 3;

fn words_of(types: &[Ty]) -> u32 {
    types.iter().map(words).sum()
}

impl Runner<'_> {
    /// What its objects keep.
    pub fn kept(&self) -> &[Ty] {
        match self.proceed.takes_arguments {
            true => &self.takes[..usize::from(self.has_this)],
            false => self.takes,
        }
    }

    /// Its methods: the constructor, and what runs the body.
    pub fn methods(&self) -> [Method; 2] {
        let function = &self.proceed.function;
        [
            Method {
                class: self.class.clone(),
                name: b"<init>".to_vec(),
                parameters: self.kept().iter().map(descriptor).collect(),
                returns: b"V".to_vec(),
            },
            Method {
                class: self.class.clone(),
                name: modified_utf8(&function.name),
                parameters: function.parameters.iter().map(descriptor).collect(),
                returns: descriptor(&function.result),
            },
        ]
    }

    /// Adds what its code names.
    pub fn need(&self, needs: &mut Needs) {
        needs.casts(&Ty::class("java/lang/Object"));
        needs.casts(&self.proceed.ty);
        if let Some(prim) = self.boxes() {
            needs.boxes(prim);
        }
        for (to, from) in self.converted() {
            if to != from {
                needs.casts(to);
            }
        }
    }

    /// What it is called with: what the body takes, and as what it comes.
    fn converted(&self) -> impl Iterator<Item = (&Ty, &Ty)> {
        let own = &self.takes[usize::from(self.has_this)..];
        own.iter().zip(&self.proceed.function.parameters)
    }

    /// What the body gives is made a box of.
    fn boxes(&self) -> Option<Prim> {
        match self.result {
            Ty::Prim(prim) if self.proceed.function.result.is_reference() => Some(*prim),
            _ => None,
        }
    }

    /// The class.
    pub fn class(&self, found: &Found<'_>) -> Attempt<NewClass> {
        let mut code = Vec::new();
        self.put_constructor(found, &mut code);
        code_item::align(&mut code, 0);
        let run = code.len() as u32;
        self.put_run(found, &mut code)?;
        let type_of = |ty: &Ty| {
            found
                .names
                .types
                .get(ty)
                .copied()
                .ok_or(Reason::Unsupported)
        };
        let own = flag::PRIVATE | flag::FINAL | flag::SYNTHETIC;
        let fields = found.fields.iter();
        let mut fields: Vec<PlacedField> =
            fields.map(|&id| PlacedField { id, access: own }).collect();
        fields.sort_unstable_by_key(|field| field.id);
        Ok(NewClass {
            ty: found.ty,
            access: flag::FINAL | flag::SYNTHETIC,
            superclass: type_of(&Ty::class("java/lang/Object"))?,
            interfaces: vec![type_of(&self.proceed.ty)?],
            fields,
            methods: vec![PlacedMethod {
                id: found.constructor,
                access: flag::CONSTRUCTOR | flag::SYNTHETIC,
                code: 0,
            }],
            virtuals: vec![PlacedMethod {
                id: found.run,
                access: flag::PUBLIC | flag::FINAL,
                code: run,
            }],
            code,
        })
    }

    /// Appends the constructor's code item, which keeps what it gets.
    fn put_constructor(&self, found: &Found<'_>, out: &mut Vec<u8>) {
        let kept = self.kept();
        let ins = 1 + words_of(kept);
        let mut code = Vec::new();
        let this = LOCALS;
        registers::put_invoke(&mut code, op::INVOKE_DIRECT, found.above as u16, &[this]);
        let mut at = this + 1;
        for (ty, &field) in kept.iter().zip(found.fields) {
            let width = width(ty);
            let value = match at + width.words() - 1 {
                0..=LAST_NIBBLE => at,
                _ => {
                    registers::put_move(&mut code, width, VALUE, at);
                    VALUE
                }
            };
            registers::put_field(
                &mut code,
                registers::of_field(op::IPUT, ty),
                value,
                this,
                field,
            );
            at += width.words();
        }
        registers::put_one(&mut code, op::RETURN_VOID, 0);
        put_item([LOCALS + ins, ins, 1], &code, out);
    }

    /// Appends the code item of the interface's method, which runs the body.
    fn put_run(&self, found: &Found<'_>, out: &mut Vec<u8>) -> Attempt<()> {
        let function = &self.proceed.function;
        let passed = words_of(self.takes);
        let (this, mut code) = (LOCALS + passed, Vec::new());
        let ins = 1 + words_of(&function.parameters);
        let own = match this {
            0..=LAST_NIBBLE => this,
            _ => {
                registers::put_move(&mut code, Width::Object, SELF, this);
                SELF
            }
        };
        let mut to = LOCALS;
        for (ty, &field) in self.kept().iter().zip(found.fields) {
            let width = width(ty);
            let value = match to + width.words() - 1 {
                0..=LAST_NIBBLE => to,
                _ => VALUE,
            };
            registers::put_field(
                &mut code,
                registers::of_field(op::IGET, ty),
                value,
                own,
                field,
            );
            if value != to {
                registers::put_move(&mut code, width, to, value);
            }
            to += width.words();
        }
        if self.proceed.takes_arguments {
            let mut from = this + 1;
            for (ty, taken) in self.converted() {
                if ty == taken {
                    registers::put_move(&mut code, width(ty), to, from);
                } else {
                    registers::put_move(&mut code, Width::Object, VALUE, from);
                    put_cast(found.names, ty, VALUE, &mut code)?;
                    registers::put_move(&mut code, width(ty), to, VALUE);
                }
                to += width(ty).words();
                from += width(taken).words();
            }
        }
        let all: Vec<u32> = (LOCALS..LOCALS + passed).collect();
        registers::put_invoke_static(&mut code, found.body as u16, &all);
        if let Some(opcode) = registers::move_result(self.result) {
            registers::put_one(&mut code, opcode, VALUE);
        }
        if let Some(prim) = self.boxes() {
            let make = found.names.box_of(prim).ok_or(Reason::Unsupported)?;
            let value: Vec<u32> = (VALUE..VALUE + width(self.result).words()).collect();
            registers::put_invoke_static(&mut code, make as u16, &value);
            registers::put_one(&mut code, op::MOVE_RESULT_OBJECT, VALUE);
        }
        if *self.result == Ty::Void && function.result != Ty::Void {
            registers::put_const(&mut code, VALUE, 0);
        }
        registers::put_one(&mut code, registers::return_of(&function.result), VALUE);
        put_item([this + ins, ins, passed.max(2)], &code, out);
        Ok(())
    }
}

/// Appends a code item without handlers: registers, ins and outs.
fn put_item([registers, ins, outs]: [u32; 3], code: &[u8], out: &mut Vec<u8>) {
    let counts = [registers as u16, ins as u16, outs as u16, 0];
    code_item::put_header(out, counts, insn::units(code));
    out.extend_from_slice(code);
}
