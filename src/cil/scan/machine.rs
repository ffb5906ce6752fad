//! What the author of an async method or iterator wrote, in the methods of its state machine, and what the compiler added to it.

use crate::cil::il::body::{Clause, ClauseKind};
use crate::cil::il::insn::{self, op};
use crate::cil::image::Image;
use crate::cil::machines::{Machine, methods};
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::signature;
use crate::cil::metadata::tables::{token, token_row, token_table};
use crate::cil::scan::{sites, types};
use crate::error::Result;

/// The fields that learn of the machine's end, in C# and Visual Basic and as Mono's compiler names them.
const BUILDERS: [&str; 4] = [
    "<>t__builder",
    "<>v__promiseOfValueOrEnd",
    "$Builder",
    "$builder",
];
/// Those that keep the method's `this`.
const THIS: [&[u8]; 3] = [b"<>4__this", b"$VB$Me", b"$this"];

/// The methods of a machine that have code of its author: `MoveNext`, and the `finally` blocks of iterators.
pub(super) fn source_methods(image: &Image<'_>, machine: Machine) -> Vec<u32> {
    let all = methods(image, machine.ty).filter(|(_, name)| {
        let simple = name.rsplit(|&b| b == b'.').next();
        simple == Some(b"MoveNext") || name.starts_with(b"<>m__Finally")
    });
    all.map(|(method, _)| method).collect()
}

/// A token by which the methods of a machine (a `TypeDef` row) name the field that keeps the `this` of its method, if they can.
pub(crate) fn field_of_this(image: &Image<'_>, machine: u32) -> Option<u32> {
    let metadata = &image.metadata;
    let name_of = |table, row: u32| {
        let column = match table {
            table::FIELD => column::field::NAME,
            _ => column::member_ref::NAME,
        };
        let row = metadata.tables.row(table, row).ok()?;
        metadata.strings.get(row.get(column)).ok()
    };
    let is_it = |named: u32| {
        let name = name_of(token_table(named), token_row(named));
        name.is_some_and(|name| THIS.contains(&name))
    };
    if !types::is_generic(image, token(table::TYPE_DEF, machine)) {
        let fields = metadata.fields_of(machine);
        let mut all = fields.map(|field| token(table::FIELD, field));
        return all.find(|field| is_it(*field));
    }
    // Of a generic one it is a reference, which its code has where it needs it.
    let (method, _) = methods(image, machine).find(|(_, name)| *name == b"MoveNext")?;
    let row = metadata.tables.row(table::METHOD_DEF, method).ok()?;
    let (_, body) = image.body(row.get(column::method_def::RVA)).ok()?;
    let made = Made { image, ty: machine };
    let mut pc = 0;
    while (pc as usize) < body.code.len() {
        let insn = insn::at(body.code, pc).ok()?;
        pc = insn.end();
        if insn.opcode == op::LDFLD {
            let named = insn.token(body.code);
            let is_own = sites::field(image, named).is_ok_and(|field| made.owns(field.owner));
            if is_own && is_it(named) {
                return Some(named);
            }
        }
    }
    None
}

/// A state machine whose code is searched for points.
#[derive(Clone, Copy)]
pub(super) struct Made<'i, 'a> {
    pub image: &'i Image<'a>,
    /// Its `TypeDef` row.
    pub ty: u32,
}

impl Made<'_, '_> {
    /// Whether a type (a token) is the machine: no field of it is the author's.
    pub fn owns(&self, ty: u32) -> bool {
        let definition = signature::definition(&self.image.metadata, ty);
        definition == Some(token(table::TYPE_DEF, self.ty))
    }

    /// Where code reaches for what learns of the machine's end, ascending.
    pub fn told(&self, code: &[u8]) -> Result<Vec<u32>> {
        let mut told = Vec::new();
        let mut pc = 0;
        while (pc as usize) < code.len() {
            let insn = insn::at(code, pc)?;
            if matches!(insn.opcode, op::LDFLD | op::LDFLDA) {
                let field = sites::field(self.image, insn.token(code))?;
                let name = self.image.metadata.strings.text(field.name)?;
                if BUILDERS.contains(&&*name) && self.owns(field.owner) {
                    told.push(pc);
                }
            }
            pc = insn.end();
        }
        Ok(told)
    }

    /// Whether the compiler made a handler: the one that puts the exception into the task, or one for all exceptions
    /// that keeps them for a `finally` that awaits. In source, C#'s `catch` without a type cannot name the exception,
    /// and drops it.
    pub fn has_handler(&self, code: &[u8], clause: &Clause, told: &[u32]) -> Result<bool> {
        if clause.kind != ClauseKind::Catch {
            return Ok(false);
        }
        let first = told.partition_point(|&pc| pc < clause.handler_start);
        if told.get(first).is_some_and(|&pc| pc < clause.handler_end) {
            return Ok(true);
        }
        if types::named(self.image, clause.class_or_filter)?.name() != Some("System.Object") {
            return Ok(false);
        }
        let mut pc = clause.handler_start;
        while (pc as usize) < code.len() && insn::at(code, pc)?.opcode == op::NOP {
            pc += 1;
        }
        Ok(insn::at(code, pc)?.opcode != op::POP)
    }

    /// Whether the code after a `throw` shows that it ends a `finally` that awaits: there objects that are no
    /// exceptions are thrown directly, exceptions by `ExceptionDispatchInfo.Capture(..).Throw()`.
    pub fn throws_on(&self, code: &[u8], mut pc: u32) -> Result<bool> {
        while (pc as usize) < code.len() {
            let insn = insn::at(code, pc)?;
            pc = insn.end();
            match insn.opcode {
                op::NOP | op::LDLOC_S | op::LDLOC | op::LDLOC_0..op::STLOC_0 => {}
                op::CALL => {
                    let called = sites::resolve(self.image, insn.token(code))?;
                    let mut owner = String::new();
                    signature::put_type_name(&self.image.metadata, 0, called.owner, &mut owner);
                    return Ok(owner == "System.Runtime.ExceptionServices.ExceptionDispatchInfo");
                }
                _ => return Ok(false),
            }
        }
        Ok(false)
    }
}
