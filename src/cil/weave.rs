//! From a plan to a woven assembly: the planned methods' new bodies, and what they need in tables.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::plan::{Plan, Planned, Skipped};
use crate::cil::hooks;
use crate::cil::image::{Image, impl_flag, method_flag};
use crate::cil::insn::op;
use crate::cil::lower::{self, Calls, Shape, Tokens};
use crate::cil::metadata::additions::Additions;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature::{self, MethodSignature, Reader, element, kind};
use crate::cil::metadata::tables::{Row, decode, token, token_row, token_table};
use crate::cil::rewrite::{self, Signatures};
use crate::cil::scan::{Types, has_il};
use crate::cil::strongname::StrongNameKey;
use crate::cil::write::{self, Edits, Written};
use crate::error::Result;
use std::ops::Range;

/// Reusable buffers for [`weave`]; one a thread.
#[derive(Default)]
pub struct Scratch {
    rewrite: rewrite::Scratch,
    /// The new bodies, each at a multiple of four.
    bodies: Vec<u8>,
}

/// A woven assembly, not written yet. All its names are in one string: of 40,000 methods none
/// should cost an allocation.
pub struct Woven<'i, 'a, 's> {
    image: &'i Image<'a>,
    scratch: &'s mut Scratch,
    additions: Additions,
    /// The methods with new bodies, and where those are.
    bodies: Vec<(u32, Range<usize>)>,
    text: String,
    types: Vec<TypeEntry>,
    methods: Vec<MethodEntry>,
    /// Planned methods that were left as they were.
    pub left: Vec<Skipped>,
}

struct TypeEntry {
    name: Range<usize>,
    file: Range<usize>,
    methods: Range<usize>,
}

struct MethodEntry {
    id: u32,
    line: u32,
    start: usize,
    name: u32,
    descriptor: u32,
}

/// A type with woven methods.
pub struct WovenType<'w> {
    /// Full name: `Namespace.Outer+Nested`.
    pub name: &'w str,
    /// Source file, or empty.
    pub file: &'w str,
    methods: &'w [MethodEntry],
    text: &'w str,
}

/// A method that got hooks.
pub struct WovenMethod<'w> {
    /// The id that its hooks are called with.
    pub id: u32,
    /// Its name.
    pub name: &'w str,
    /// Its signature, readable.
    pub descriptor: &'w str,
    /// First source line, or 0.
    pub line: u32,
}

impl<'w> WovenType<'w> {
    /// The methods that got hooks.
    pub fn methods(&self) -> impl ExactSizeIterator<Item = WovenMethod<'w>> + use<'w> {
        let text = self.text;
        self.methods.iter().map(move |m| {
            let end = m.start + m.name as usize;
            WovenMethod {
                id: m.id,
                name: &text[m.start..end],
                descriptor: &text[end..end + m.descriptor as usize],
                line: m.line,
            }
        })
    }
}

impl Woven<'_, '_, '_> {
    /// Whether anything was woven; if not, the input is the output.
    pub fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// The types with woven methods.
    pub fn types(&self) -> impl ExactSizeIterator<Item = WovenType<'_>> {
        self.types.iter().map(|ty| WovenType {
            name: &self.text[ty.name.clone()],
            file: &self.text[ty.file.clone()],
            methods: &self.methods[ty.methods.clone()],
            text: &self.text,
        })
    }

    /// Writes the new file. `symbols` becomes the manifest resource [`write::SYMBOLS_RESOURCE`]; with
    /// a key the strong name is signed anew.
    pub fn write(self, symbols: Option<&[u8]>, key: Option<&StrongNameKey>) -> Result<Written> {
        let edits = Edits {
            additions: self.additions,
            bodies: &mut self.scratch.bodies,
            methods: &self.bodies,
            debug: Vec::new(),
        };
        write::write(self.image, edits, symbols, key)
    }
}

impl Signatures for Additions {
    fn stand_alone_sig(&mut self, blob: &[u8]) -> Result<u32> {
        Additions::stand_alone_sig(self, blob)
    }
}

/// Weaves the planned methods.
pub fn weave<'i, 'a, 's>(
    image: &'i Image<'a>,
    plan: &Plan,
    scratch: &'s mut Scratch,
) -> Result<Woven<'i, 'a, 's>> {
    scratch.bodies.clear();
    let mut woven = Woven {
        image,
        scratch,
        additions: Additions::new(&image.metadata),
        bodies: Vec::with_capacity(plan.methods.len()),
        text: String::with_capacity(plan.methods.len() * 48),
        types: Vec::new(),
        methods: Vec::with_capacity(plan.methods.len()),
        left: Vec::new(),
    };
    let advice = plan
        .methods
        .iter()
        .fold(Advice::default(), |all, p| all.with(p.advice));
    let tokens = match image.refusal() {
        Some(reason) => Err(reason),
        None => hooks::add(image, advice, false, &mut woven.additions)?,
    };
    let tokens = match tokens {
        Ok(tokens) => tokens,
        Err(reason) => {
            for planned in &plan.methods {
                let method = method_of(image, planned)?;
                woven.leave(planned, method, reason);
            }
            return Ok(woven);
        }
    };
    let types = Types::read(image)?;
    for of_type in plan.methods.chunk_by(|a, b| a.ty == b.ty) {
        woven.weave_type(of_type, &types, &tokens)?;
    }
    woven.bodies.sort_unstable_by_key(|(method, _)| *method);
    Ok(woven)
}

/// The `MethodDef` row of a planned method.
fn method_of(image: &Image<'_>, planned: &Planned) -> Result<u32> {
    let positions = image.method_positions(planned.ty + 1)?;
    image.method_at(positions.start + planned.index)
}

impl Woven<'_, '_, '_> {
    fn leave(&mut self, planned: &Planned, method: u32, reason: Reason) {
        self.left.push(Skipped {
            ty: planned.ty,
            index: planned.index,
            method: self.image.method_label(method),
            reason,
        });
    }

    fn weave_type(&mut self, planned: &[Planned], types: &Types, tokens: &Tokens) -> Result<()> {
        let ty = planned[0].ty + 1;
        let start = self.text.len();
        let mut name = String::new();
        types.put_name(self.image, ty, &mut name)?;
        self.text.push_str(&name);
        let first = self.methods.len();
        let this = This::of(self.image, ty)?;
        for planned in planned {
            let method = method_of(self.image, planned)?;
            let outcome = self
                .weave_method(planned, method, &this, tokens)
                .map_err(|e| {
                    let label = self.image.method_label(method);
                    e.in_method(format!("{name}.{label}"))
                })?;
            if let Err(reason) = outcome {
                self.leave(planned, method, reason);
            }
        }
        if self.methods.len() > first {
            self.types.push(TypeEntry {
                name: start..start + name.len(),
                file: 0..0,
                methods: first..self.methods.len(),
            });
        }
        Ok(())
    }

    fn weave_method(
        &mut self,
        planned: &Planned,
        method: u32,
        this: &This<'_, '_>,
        tokens: &Tokens,
    ) -> Result<Result<(), Reason>> {
        use column::method_def::{FLAGS, IMPL_FLAGS, NAME, RVA, SIGNATURE};
        let metadata = &self.image.metadata;
        let row = metadata.tables.row(table::METHOD_DEF, method)?;
        if !has_il(&row) {
            return Ok(Err(Reason::NoBody));
        }
        if row.get(IMPL_FLAGS) & impl_flag::ASYNC != 0 {
            return Ok(Err(Reason::RuntimeAsync));
        }
        let Ok((_, body)) = self.image.body(row.get(RVA)) else {
            return Ok(Err(Reason::UnreadableBody));
        };
        let name = metadata.strings.text(row.get(NAME))?;
        let signature = MethodSignature::parse(metadata.blobs.get(row.get(SIGNATURE))?)?;
        let locals = match body.locals {
            0 => &[][..],
            locals => {
                let row = metadata.tables.row(token_table(locals), token_row(locals));
                match row.and_then(|row| metadata.blobs.get(row.get(0))) {
                    Ok(blob) if token_table(locals) == table::STAND_ALONE_SIG => blob,
                    _ => return Ok(Err(Reason::UnreadableBody)),
                }
            }
        };
        let is_constructor =
            name == ".ctor" && row.get(FLAGS) & method_flag::STATIC == 0 && !this.is_value_type;
        let shape = Shape {
            result: signature.returns,
            locals,
            constructor: is_constructor.then_some(this as &dyn Calls),
            hooks: &[],
        };
        let Scratch { rewrite, bodies } = &mut *self.scratch;
        bodies.resize(bodies.len().next_multiple_of(4), 0);
        let start = bodies.len();
        let outcome = lower::lower(
            &body,
            &shape,
            planned,
            tokens,
            &mut self.additions,
            rewrite,
            bodies,
        )?;
        if let Err(reason) = outcome {
            return Ok(Err(reason));
        }
        self.bodies.push((method, start..bodies.len()));
        let start = self.text.len();
        self.text.push_str(&name);
        let name = self.text.len() - start;
        signature::put_descriptor(self.image, row.get(SIGNATURE), &mut self.text);
        self.methods.push(MethodEntry {
            id: planned.id,
            line: 0,
            start,
            name: name as u32,
            descriptor: (self.text.len() - start - name) as u32,
        });
        Ok(Ok(()))
    }
}

/// A type, as its constructors need to know it.
struct This<'i, 'a> {
    image: &'i Image<'a>,
    /// Its token, and its base type's: of a generic one that of its definition.
    token: u32,
    base: u32,
    is_value_type: bool,
}

impl<'i, 'a> This<'i, 'a> {
    fn of(image: &'i Image<'a>, ty: u32) -> Result<This<'i, 'a>> {
        let row = image.metadata.tables.row(table::TYPE_DEF, ty)?;
        let extends = row.get(column::type_def::EXTENDS);
        let base = decode(&coded::TYPE_DEF_OR_REF, extends)?;
        let base = definition(image, base).unwrap_or(base);
        Ok(This {
            image,
            token: token(table::TYPE_DEF, ty),
            base,
            is_value_type: image.is_type_named(base, b"System", b"ValueType")
                || image.is_type_named(base, b"System", b"Enum"),
        })
    }
}

/// The type that a `TypeSpec` instantiates; others are themselves.
fn definition(image: &Image<'_>, ty: u32) -> Option<u32> {
    if token_table(ty) != table::TYPE_SPEC {
        return Some(ty);
    }
    let row = image
        .metadata
        .tables
        .row(table::TYPE_SPEC, token_row(ty))
        .ok()?;
    let blob = image
        .metadata
        .blobs
        .get(row.get(column::type_spec::SIGNATURE))
        .ok()?;
    match *blob {
        [
            element::GENERICINST,
            element::CLASS | element::VALUETYPE,
            ref rest @ ..,
        ]
        | [element::CLASS | element::VALUETYPE, ref rest @ ..] => {
            decode(&coded::TYPE_DEF_OR_REF, Reader::new(rest).number().ok()?).ok()
        }
        _ => None,
    }
}

impl Calls for This<'_, '_> {
    fn initialises_this(&self, token: u32) -> bool {
        let metadata = &self.image.metadata;
        let Ok(row) = metadata.tables.row(token_table(token), token_row(token)) else {
            return false;
        };
        let is_constructor = |row: Row<'_>, column| {
            metadata
                .strings
                .get(row.get(column))
                .is_ok_and(|name| name == b".ctor")
        };
        let owner = match token_table(token) {
            table::METHOD_DEF if is_constructor(row, column::method_def::NAME) => self
                .image
                .owner_of_method(token_row(token))
                .map(|ty| crate::cil::metadata::tables::token(table::TYPE_DEF, ty)),
            table::MEMBER_REF if is_constructor(row, column::member_ref::NAME) => decode(
                &coded::MEMBER_REF_PARENT,
                row.get(column::member_ref::CLASS),
            )
            .ok(),
            _ => None,
        };
        let Some(owner) = owner.and_then(|owner| definition(self.image, owner)) else {
            return false;
        };
        owner == self.token || owner == self.base || self.is_same_reference(owner)
    }

    fn stack_effect(&self, opcode: u16, token: u32) -> Option<(u32, u32)> {
        let tables = &self.image.metadata.tables;
        let mut token = token;
        if token_table(token) == table::METHOD_SPEC {
            let row = tables.row(table::METHOD_SPEC, token_row(token)).ok()?;
            let method = row.get(column::method_spec::METHOD);
            token = decode(&coded::METHOD_DEF_OR_REF, method).ok()?;
        }
        let row = tables.row(token_table(token), token_row(token)).ok()?;
        let blob = match token_table(token) {
            table::METHOD_DEF => row.get(column::method_def::SIGNATURE),
            table::MEMBER_REF => row.get(column::member_ref::SIGNATURE),
            table::STAND_ALONE_SIG => row.get(column::stand_alone_sig::SIGNATURE),
            _ => return None,
        };
        let signature = MethodSignature::parse(self.image.metadata.blobs.get(blob).ok()?).ok()?;
        // An explicit `this` is among the parameters.
        let this =
            u32::from(signature.flags & (kind::HAS_THIS | kind::EXPLICIT_THIS) == kind::HAS_THIS);
        let left = u32::from(!signature.is_void());
        Some(match opcode {
            op::NEWOBJ => (signature.count, 1),
            op::CALLI => (signature.count + this + 1, left),
            _ => (signature.count + this, left),
        })
    }
}

impl This<'_, '_> {
    /// Whether a `TypeRef` is another row for the base type.
    fn is_same_reference(&self, ty: u32) -> bool {
        use column::type_ref::{NAME, NAMESPACE};
        if token_table(ty) != table::TYPE_REF || token_table(self.base) != table::TYPE_REF {
            return false;
        }
        let row = |ty| {
            self.image
                .metadata
                .tables
                .row(table::TYPE_REF, token_row(ty))
        };
        let (Ok(a), Ok(b)) = (row(ty), row(self.base)) else {
            return false;
        };
        let same = |column| {
            let strings = &self.image.metadata.strings;
            match (strings.get(a.get(column)), strings.get(b.get(column))) {
                (Ok(a), Ok(b)) => a == b,
                _ => false,
            }
        };
        same(NAME) && same(NAMESPACE)
    }
}
