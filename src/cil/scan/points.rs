//! The points of a method, calls apart: fields, new objects, exceptions that are thrown and caught.

use crate::aspect::advice::Reason;
use crate::aspect::bind::ty::{Language, Ty};
use crate::aspect::joinpoint::LineStart;
use crate::aspect::point::{EachPoint, Point, PointDetails, PointKind, PointKinds, PointSite};
use crate::cil::il::body::{Body, ClauseKind};
use crate::cil::il::insn::{self, Form, Insn, op};
use crate::cil::image::Image;
use crate::cil::machines::Machines;
use crate::cil::metadata::flags::has_il;
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::signature::{self, MethodSignature, kind};
use crate::cil::metadata::tables::{token_row, token_table};
use crate::cil::scan::Lines;
use crate::cil::scan::below::{Below, Stack};
use crate::cil::scan::machine::{self, Made};
use crate::cil::scan::types::Accessed;
use crate::cil::scan::{sites, types};
use crate::error::Result;
use std::sync::Arc;

const EXCEPTION: &str = "System.Exception";

/// A point: what its token means, and the instruction.
struct Found<'f, 'i, 'a> {
    image: &'i Image<'a>,
    stack: &'f Stack<'i, 'a>,
    kind: PointKind,
    opcode: u16,
    at: u32,
    /// Of a line.
    line: u32,
    /// The instruction in front of it.
    before: Option<Insn>,
    /// Of the field or the constructor.
    token: u32,
    /// A type, a token.
    owner: u32,
    signature: u32,
    name: &'f str,
    /// A replacement cannot set the field; what the address of a field is taken for may set it; the object is a delegate.
    is_special: bool,
    /// The method whose code has it, if it is a state machine's (a `MethodDef` row), else 0.
    inner: u32,
}

impl Found<'_, '_, '_> {
    /// The type that it names, of which other methods can speak.
    fn accessed(&self) -> std::result::Result<Accessed, Reason> {
        let image = self.image;
        // A generic type's own definition means no instance.
        if token_table(self.owner) == table::TYPE_DEF && types::is_generic(image, self.owner) {
            return Err(Reason::PointOfGeneric);
        }
        let accessed = types::accessed(image, self.stack.method(), self.owner);
        let accessed = accessed.map_err(|_| Reason::Unsupported)?;
        match accessed.ty {
            Ty::Named(_) => Ok(accessed),
            _ => Err(Reason::Unsupported),
        }
    }

    /// The object or struct whose field it is, as it lies on the stack.
    fn target(&self, owner: &Accessed) -> Ty {
        let below = || self.stack.below(self.at, self.before);
        let reads = self.opcode == op::LDFLD;
        let unknown = || Ty::Opaque(owner.ty.shown(Language::CSharp).into());
        let pointer = || Ty::ByRef(Arc::new(owner.ty.clone()));
        match owner.is_value {
            Some(false) => owner.ty.clone(),
            Some(true) if types::may_be_ref_struct(self.image, &owner.ty) => unknown(),
            // What is set lies behind it, or what is there has an address.
            Some(true) if !reads => pointer(),
            Some(true) => match below() {
                Some(Below::Pointer) => pointer(),
                Some(Below::Value) => owner.ty.clone(),
                _ => unknown(),
            },
            None => match below() {
                Some(Below::Object) if self.opcode != op::STFLD => owner.ty.clone(),
                _ => unknown(),
            },
        }
    }

    fn field(&self, replaced: bool) -> std::result::Result<Point, Reason> {
        let image = self.image;
        let is_static = matches!(self.opcode, op::LDSFLD | op::STSFLD | op::LDSFLDA);
        let is_address = matches!(self.opcode, op::LDFLDA | op::LDSFLDA);
        if is_address && (replaced || self.is_special) {
            return Err(Reason::AddressOfField);
        }
        let is_set = self.kind == PointKind::FieldSet;
        if is_set && replaced && (self.is_special || self.is_own_final()) {
            return Err(Reason::SetOfFinal);
        }
        let owner = self.accessed()?;
        let blob = image.metadata.blobs.get(self.signature);
        let ty = blob.and_then(|blob| types::field(image, &owner, blob));
        let ty = match ty.map_err(|_| Reason::Unsupported)? {
            Ty::Void => return Err(Reason::Unsupported),
            // A ref struct may hold one.
            ty if !is_static
                && owner.is_value != Some(false)
                && types::may_be_ref_struct(image, &owner.ty)
                && types::may_be_ref_struct(image, &ty) =>
            {
                Ty::Opaque(ty.shown(Language::CSharp).into())
            }
            ty => ty,
        };
        let target = (!is_static).then(|| self.target(&owner));
        let value = is_set.then(|| ty.clone());
        Ok(Point {
            kind: self.kind,
            owner: owner.ty,
            name: self.name.into(),
            takes: target.into_iter().chain(value).collect(),
            has_target: !is_static,
            result: if is_set { Ty::Void } else { ty },
            is_tested: false,
            reference: self.token,
        })
    }

    /// Whether it is a field of a generic type of the assembly that is set but once.
    fn is_own_final(&self) -> bool {
        let metadata = &self.image.metadata;
        let definition = signature::definition(metadata, self.owner).unwrap_or_default();
        if token_table(definition) != table::TYPE_DEF || definition == self.owner {
            return false;
        }
        let fields = metadata.fields_of(token_row(definition));
        let mut rows = fields.filter_map(|field| metadata.tables.row(table::FIELD, field).ok());
        let named = rows
            .find(|row| (metadata.strings).is(row.get(column::field::NAME), self.name.as_bytes()));
        named.is_some_and(|row| sites::is_init_only(&row))
    }

    fn new_object(&self, replaced: bool) -> std::result::Result<Point, Reason> {
        if self.is_special {
            return Err(Reason::MadeApart);
        }
        let owner = self.accessed()?;
        let blob = self.image.metadata.blobs.get(self.signature);
        let takes = blob.and_then(|blob| types::constructor(self.image, &owner, blob));
        let takes = takes.map_err(|_| Reason::Unsupported)?;
        if owner.ty.name().is_some_and(types::is_ref_struct) {
            return Err(Reason::PointOfStruct);
        }
        let result = match owner.is_value {
            // Nothing says whether a type of another assembly is a struct. As an object it is either.
            None if !replaced => Ty::class("System.Object"),
            Some(true) if types::may_be_ref_struct(self.image, &owner.ty) => {
                Ty::Opaque(owner.ty.shown(Language::CSharp).into())
            }
            _ => owner.ty.clone(),
        };
        Ok(Point {
            kind: self.kind,
            owner: owner.ty,
            name: ".ctor".into(),
            takes: takes.into(),
            has_target: false,
            result,
            is_tested: false,
            reference: self.token,
        })
    }

    fn source_line(&self) -> Point {
        Point {
            kind: self.kind,
            owner: Ty::class("System.Object"),
            name: "".into(),
            takes: [].into(),
            has_target: false,
            result: Ty::Void,
            is_tested: false,
            // Names of methods are hashes over this.
            reference: 1,
        }
    }

    /// Whether it names a plain type.
    fn is_plain_type(&self) -> bool {
        matches!(token_table(self.owner), table::TYPE_DEF | table::TYPE_REF)
            && !types::is_generic(self.image, self.owner)
    }

    fn exception(&self) -> std::result::Result<Point, Reason> {
        if self.kind == PointKind::Catch && !self.is_plain_type() {
            return Err(Reason::PointOfGeneric);
        }
        let owner = match self.kind {
            PointKind::Catch => types::named(self.image, self.owner),
            _ => Ok(Ty::class(EXCEPTION)),
        };
        let owner = owner.map_err(|_| Reason::Unsupported)?;
        // What is no exception comes wrapped in one.
        let takes = match owner.name() {
            Some("System.Object" | EXCEPTION) => Ty::class(EXCEPTION),
            _ => owner.clone(),
        };
        Ok(Point {
            kind: self.kind,
            owner,
            name: "".into(),
            takes: [takes].into(),
            has_target: false,
            result: Ty::Void,
            is_tested: false,
            reference: self.owner.max(1),
        })
    }
}

impl PointDetails for Found<'_, '_, '_> {
    fn inner(&self) -> u32 {
        self.inner
    }

    fn parameters(&self, each: &mut dyn FnMut(&str)) {
        signature::parameters(&self.image.metadata, 0, self.signature, each);
    }

    fn point(&self, replaced: bool) -> std::result::Result<Point, Reason> {
        match self.kind {
            PointKind::FieldGet | PointKind::FieldSet => self.field(replaced),
            PointKind::New => self.new_object(replaced),
            PointKind::Line => Ok(self.source_line()),
            _ => self.exception(),
        }
    }
}

/// Whether the address of a field that was taken in front of this instruction is taken to read it: to ask the value for something, by a
/// method without arguments or a field. Compilers read fields of structs so.
fn is_read(image: &Image<'_>, code: &[u8], mut pc: u32) -> Result<bool> {
    while (pc as usize) < code.len() {
        let insn = insn::at(code, pc)?;
        match insn.opcode {
            _ if matches!(insn.form, Form::Prefix | Form::TokenPrefix) => pc = insn.end(),
            op::LDFLD => return Ok(true),
            op::CALL | op::CALLVIRT => {
                let resolved = sites::resolve(image, insn.token(code))?;
                let blob = image.metadata.blobs.get(resolved.signature)?;
                let called = MethodSignature::parse(blob)?;
                return Ok(called.flags & kind::HAS_THIS != 0 && called.count == 0);
            }
            _ => return Ok(false),
        }
    }
    Ok(false)
}

/// Shows the points of a method (a `MethodDef` row), in the code's order behind those of handlers, as far as its body can be read. Those
/// of a state machine are its method's.
pub(super) fn each_point(
    image: &Image<'_>,
    machines: &Machines,
    lines: Option<&dyn Lines>,
    method: u32,
    kinds: PointKinds,
    each: EachPoint<'_>,
) -> Result<()> {
    let owner = image.metadata.owner_of_method(method);
    if owner.is_some_and(|ty| machines.has_type(ty)) {
        return Ok(());
    }
    match machines.of(method).filter(|machine| machine.ty != 0) {
        None => points_of(image, lines, method, None, kinds, each),
        Some(machine) => {
            for method in machine::source_methods(image, machine) {
                let made = Made {
                    image,
                    ty: machine.ty,
                };
                points_of(image, lines, method, Some(made), kinds, each)?;
            }
            Ok(())
        }
    }
}

/// Shows the points of the code of a method, which may be a state machine's.
fn points_of(
    image: &Image<'_>,
    lines: Option<&dyn Lines>,
    method: u32,
    made: Option<Made<'_, '_>>,
    kinds: PointKinds,
    each: EachPoint<'_>,
) -> Result<()> {
    let row = image.metadata.tables.row(table::METHOD_DEF, method)?;
    if !has_il(&row) {
        return Ok(());
    }
    let (_, body) = image.body(row.get(column::method_def::RVA))?;
    let stack = Stack::new(image, method, body);
    let mut walk = Walk {
        image,
        stack: &stack,
        body,
        made,
        inner: made.map_or(0, |_| method),
        kinds,
        type_name: String::new(),
        each,
    };
    if kinds.has(PointKind::Catch) {
        walk.handlers()?;
    }
    walk.instructions(match lines {
        Some(lines) if kinds.has(PointKind::Line) => lines.lines(method),
        _ => Vec::new(),
    })
}

/// A walk over a body for its points.
struct Walk<'w, 'i, 'a> {
    image: &'i Image<'a>,
    stack: &'w Stack<'i, 'a>,
    body: Body<'a>,
    /// The state machine whose code it is.
    made: Option<Made<'w, 'w>>,
    /// [`Found::inner`].
    inner: u32,
    kinds: PointKinds,
    /// Room for a type's name.
    type_name: String,
    each: EachPoint<'w>,
}

impl<'w, 'i, 'a> Walk<'w, 'i, 'a> {
    fn found(&self, kind: PointKind, opcode: u16) -> Found<'w, 'i, 'a> {
        Found {
            image: self.image,
            stack: self.stack,
            kind,
            opcode,
            at: 0,
            line: 0,
            before: None,
            token: 0,
            owner: 0,
            signature: 0,
            name: "",
            is_special: false,
            inner: self.inner,
        }
    }

    fn show(&mut self, at: u32, found: &Found<'_, '_, '_>) {
        self.type_name.clear();
        if found.owner != 0 {
            let metadata = &self.image.metadata;
            let definition = signature::definition(metadata, found.owner);
            let named = definition.unwrap_or(found.owner);
            signature::put_type_name(metadata, 0, named, &mut self.type_name);
        }
        (self.each)(&PointSite {
            at,
            kind: found.kind,
            ty: &self.type_name,
            name: found.name,
            line: found.line,
            details: found,
        });
    }

    fn handlers(&mut self) -> Result<()> {
        let body = self.body;
        let told = self.made.map(|made| made.told(body.code)).transpose()?;
        for clause in body.clauses() {
            let clause = clause?;
            let is_made = match (&self.made, &told) {
                (Some(made), Some(told)) => made.has_handler(body.code, &clause, told)?,
                _ => false,
            };
            if clause.kind == ClauseKind::Catch && !is_made {
                let found = Found {
                    owner: clause.class_or_filter,
                    ..self.found(PointKind::Catch, 0)
                };
                self.show(clause.handler_start, &found);
            }
        }
        Ok(())
    }

    /// Shows the points that are instructions, and lines.
    fn instructions(&mut self, mut lines: Vec<LineStart>) -> Result<()> {
        let code = self.body.code;
        let (mut pc, mut prefixes, mut last) = (0, None, None::<Insn>);
        // Control is in the line already.
        lines.dedup_by_key(|start| start.line);
        let mut lines = lines.into_iter().peekable();
        // How many instructions ago a type was asked for.
        let mut asked = u32::MAX;
        while (pc as usize) < code.len() {
            let insn = insn::at(code, pc)?;
            // A line begins with an instruction.
            while lines.next_if(|start| start.at < pc).is_some() {}
            if let Some(LineStart { at, line }) = lines.next_if(|start| start.at == pc)
                && prefixes.is_none()
            {
                let found = Found {
                    line,
                    ..self.found(PointKind::Line, insn.opcode)
                };
                self.show(at, &found);
            }
            pc = insn.end();
            if matches!(insn.form, Form::Prefix | Form::TokenPrefix) {
                _ = prefixes.get_or_insert(insn.pc);
                continue;
            }
            let at = prefixes.take().unwrap_or(insn.pc);
            let before = last.replace(insn);
            asked = match insn.opcode {
                op::ISINST => 0,
                _ => asked.saturating_add(1),
            };
            let kind = match insn.opcode {
                op::LDFLD | op::LDSFLD | op::LDFLDA | op::LDSFLDA => PointKind::FieldGet,
                op::STFLD | op::STSFLD => PointKind::FieldSet,
                op::NEWOBJ => PointKind::New,
                op::THROW => PointKind::Throw,
                _ => continue,
            };
            if !self.kinds.has(kind) {
                continue;
            }
            let found = Found {
                at,
                before,
                ..self.found(kind, insn.opcode)
            };
            match kind {
                PointKind::Throw => {
                    let made = self.made.filter(|_| asked < 6);
                    let is_made = made.map(|made| made.throws_on(code, pc)).transpose()?;
                    if is_made != Some(true) {
                        self.show(at, &found);
                    }
                }
                PointKind::New => self.new_object(found, insn)?,
                _ => self.field(found, insn)?,
            }
        }
        Ok(())
    }

    fn new_object(&mut self, found: Found<'_, '_, '_>, insn: Insn) -> Result<()> {
        let token = insn.token(self.body.code);
        let resolved = sites::resolve(self.image, token)?;
        if self.made.is_some_and(|made| made.owns(resolved.owner)) {
            return Ok(());
        }
        let is_pointer = |insn: Insn| matches!(insn.opcode, op::LDFTN | op::LDVIRTFTN);
        let new = Found {
            token,
            owner: resolved.owner,
            signature: resolved.signature,
            is_special: found.before.is_some_and(is_pointer),
            ..found
        };
        self.show(found.at, &new);
        Ok(())
    }

    fn field(&mut self, found: Found<'_, '_, '_>, insn: Insn) -> Result<()> {
        let code = self.body.code;
        let token = insn.token(code);
        let field = sites::field(self.image, token)?;
        if self.made.is_some_and(|made| made.owns(field.owner)) {
            return Ok(());
        }
        let name = self.image.metadata.strings.text(field.name)?;
        let access = Found {
            token,
            owner: field.owner,
            signature: field.signature,
            name: &name,
            is_special: match insn.opcode {
                op::LDFLDA | op::LDSFLDA => !is_read(self.image, code, insn.end())?,
                _ => field.is_init_only,
            },
            ..found
        };
        self.show(found.at, &access);
        Ok(())
    }
}
