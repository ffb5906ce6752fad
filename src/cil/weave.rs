//! From a plan to a woven assembly: the planned methods' new bodies, and what they need in tables.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::plan::{Plan, Planned, Skipped};
use crate::aspect::woven::WovenType;
use crate::cil::body::Body;
use crate::cil::calls::ConstructorCalls;
use crate::cil::hooks;
use crate::cil::image::{Image, impl_flag, method_flag};
use crate::cil::lower::{self, Calls, Shape, Tokens};
use crate::cil::machines::{Machine, Machines};
use crate::cil::metadata::additions::Additions;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature::{self, MethodSignature};
use crate::cil::metadata::tables::{decode, token_row, token_table};
use crate::cil::output::NewBody;
use crate::cil::pdb::{self, Pdb};
use crate::cil::renumber;
use crate::cil::rewrite::{self, Rewritten, Signatures};
use crate::cil::scan::{Types, has_il};
use crate::cil::state_machine::{Part, Weaver};
use crate::cil::strongname::StrongNameKey;
use crate::cil::write::{self, Edits, Written};
use crate::error::Result;
use std::borrow::Cow;
use std::sync::Arc;

/// Reusable buffers for [`weave`]; one a thread.
#[derive(Default)]
pub struct Scratch {
    rewrite: rewrite::Scratch,
    /// The new bodies, each at a multiple of four.
    bodies: Vec<u8>,
}

/// A woven assembly, not written yet.
pub struct Woven<'i, 'a, 's> {
    image: &'i Image<'a>,
    scratch: &'s mut Scratch,
    additions: Additions,
    /// The debugging information, and what changes in it.
    pdb: Option<(Pdb<'i>, pdb::Edits)>,
    source: &'i pdb::Source<'i>,
    machines: Machines,
    /// Whether fields can be renumbered; asked when the first machine is to get one.
    renumbers: Option<bool>,
    /// The methods with new bodies, and where those are.
    bodies: Vec<NewBody>,
    /// The types with planned methods.
    pub types: Vec<WovenType>,
    /// The first source file of the type under way, or 0.
    document: u32,
}

impl<'a> Woven<'_, 'a, '_> {
    /// Whether anything was woven; if not, the input is the output.
    pub fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// Writes the new file. `symbols` becomes the manifest resource [`write::SYMBOLS_RESOURCE`]; with
    /// a key the strong name is signed anew.
    pub fn write(
        self,
        symbols: Option<Arc<Vec<u8>>>,
        key: Option<&'a StrongNameKey>,
    ) -> Result<Written<'a>> {
        let edits = Edits {
            additions: self.additions,
            parts: vec![std::mem::take(&mut self.scratch.bodies)],
            bodies: self.bodies,
            pdb: self.pdb,
        };
        let mut written = write::write(self.image, edits, symbols, key)?;
        if self.source.is_embedded() {
            written.pdb = None;
        }
        written.warnings.extend(self.source.warning());
        Ok(written)
    }
}

impl Signatures for Additions {
    fn stand_alone_sig(&mut self, blob: &[u8]) -> Result<u32> {
        Additions::stand_alone_sig(self, blob)
    }
}

/// Weaves the planned methods; `source` is the image's debugging information.
pub fn weave<'i, 'a, 's>(
    image: &'i Image<'a>,
    source: &'i pdb::Source<'i>,
    plan: &Plan,
    scratch: &'s mut Scratch,
) -> Result<Woven<'i, 'a, 's>> {
    scratch.bodies.clear();
    let mut woven = Woven {
        image,
        scratch,
        additions: Additions::new(&image.metadata),
        pdb: source.pdb().map(|pdb| {
            let edits = pdb::Edits::new(&pdb);
            (pdb, edits)
        }),
        source,
        machines: Machines::default(),
        renumbers: None,
        bodies: Vec::with_capacity(plan.methods.len()),
        types: Vec::new(),
        document: 0,
    };
    let advice = plan
        .methods
        .iter()
        .fold(Advice::default(), |all, p| all.with(p.advice));
    let tokens = match image.refusal() {
        Some(reason) => Err(reason),
        None => {
            woven.machines = Machines::read(image);
            let logical = !woven.machines.is_empty();
            hooks::add(image, advice, logical, &mut woven.additions)?
        }
    };
    let types = Types::read(image)?;
    for of_type in plan.methods.chunk_by(|a, b| a.ty == b.ty) {
        woven.weave_type(of_type, &types, tokens.as_ref().map_err(|reason| *reason))?;
    }
    woven.bodies.sort_unstable_by_key(|body| body.method);
    Ok(woven)
}

/// The `MethodDef` row of a planned method.
fn method_of(image: &Image<'_>, planned: &Planned) -> Result<u32> {
    let positions = image.method_positions(planned.ty + 1)?;
    image.method_at(positions.start + planned.index)
}

impl<'a> Woven<'_, 'a, '_> {
    fn weave_type(
        &mut self,
        planned: &[Planned],
        types: &Types,
        tokens: std::result::Result<&Tokens, Reason>,
    ) -> Result<()> {
        let number = planned[0].ty;
        let mut name = String::new();
        types.put_name(self.image, number + 1, &mut name)?;
        let mut ty = WovenType::new(number, &name, "", planned.len());
        self.document = 0;
        let this = match is_value_type(self.image, number + 1)? {
            true => None,
            false => Some(ConstructorCalls::of(self.image, number + 1)),
        };
        let in_machine = self.machines.has_type(number + 1);
        for planned in planned {
            let method = method_of(self.image, planned)?;
            let outcome = match tokens {
                Ok(_) if in_machine => Ok(Err(Reason::InStateMachine)),
                Ok(tokens) => self.weave_method(planned, method, this.as_ref(), tokens, &mut ty),
                Err(reason) => Ok(Err(reason)),
            };
            let outcome = outcome.map_err(|e| {
                let label = self.image.method_label(method);
                e.in_method(format!("{name}.{label}"))
            })?;
            if let Err(reason) = outcome {
                ty.left.push(Skipped {
                    ty: planned.ty,
                    index: planned.index,
                    method: self.image.method_label(method),
                    reason,
                });
            }
        }
        if let (1.., Some((pdb, _))) = (self.document, &self.pdb) {
            ty.set_file(|text| pdb.put_document_name(self.document, text));
        }
        self.types.push(ty);
        Ok(())
    }

    /// A method's body and what of its tables weaving needs.
    fn open(&self, method: u32) -> Result<Result<Opened<'a>, Reason>> {
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
        Ok(Ok(Opened {
            method,
            flags: row.get(FLAGS),
            name: metadata.strings.text(row.get(NAME))?,
            signature: row.get(SIGNATURE),
            result: MethodSignature::parse(metadata.blobs.get(row.get(SIGNATURE))?)?.returns,
            locals,
            body,
        }))
    }

    fn weave_method(
        &mut self,
        planned: &Planned,
        method: u32,
        this: Option<&ConstructorCalls<'_, '_>>,
        tokens: &Tokens,
        ty: &mut WovenType,
    ) -> Result<Result<(), Reason>> {
        let opened = match self.open(method)? {
            Ok(opened) => opened,
            Err(reason) => return Ok(Err(reason)),
        };
        if let Some(machine) = self.machines.of(method) {
            return self.weave_machine(planned, &opened, machine, tokens, ty);
        }
        let is_constructor = opened.name == ".ctor" && opened.flags & method_flag::STATIC == 0;
        let shape = Shape {
            result: opened.result,
            locals: opened.locals,
            constructor: this.filter(|_| is_constructor).map(|c| c as &dyn Calls),
            hooks: &[],
        };
        let start = self.next_body();
        let outcome = lower::lower(
            &opened.body,
            &shape,
            planned,
            tokens,
            &mut self.additions,
            &mut self.scratch.rewrite,
            &mut self.scratch.bodies,
        )?;
        let rewritten = match outcome {
            Ok(rewritten) => rewritten,
            Err(reason) => return Ok(Err(reason)),
        };
        let line = self.add_body(&opened, start, &rewritten);
        self.add_entry(planned, &opened, line, ty);
        Ok(Ok(()))
    }

    /// Weaves the logical call of an async method or iterator into its state machine.
    fn weave_machine(
        &mut self,
        planned: &Planned,
        kickoff: &Opened<'a>,
        machine: Machine,
        tokens: &Tokens,
        ty: &mut WovenType,
    ) -> Result<Result<(), Reason>> {
        if machine.ty == 0 || !self.additions.takes_fields() {
            return Ok(Err(Reason::StateMachine));
        }
        let mut weaver = Weaver::new(self.image, machine, planned.id, tokens);
        let parts = Weaver::parts(self.image, machine);
        if !parts.iter().any(|p| p.is_needed()) {
            return Ok(Err(Reason::StateMachine));
        }
        for part in parts.iter().filter(|p| p.is_needed()) {
            match self.open(part.method)? {
                Ok(opened) if weaver.knows(&opened.body, opened.result) => {}
                Ok(_) => return Ok(Err(Reason::StateMachine)),
                Err(reason) => return Ok(Err(reason)),
            }
        }
        // A machine gets a field, which gives others new numbers.
        let image = self.image;
        if !*(self.renumbers).get_or_insert_with(|| renumber::is_possible(image)) {
            return Ok(Err(Reason::StateMachine));
        }
        // The needed part is the first: where it fails, no other has a new body yet.
        debug_assert!(parts[0].is_needed() && !parts[1..].iter().any(Part::is_needed));
        weaver.add_field(&mut self.additions)?;
        let mut line = None;
        for part in &parts {
            let opened = match self.open(part.method)? {
                Ok(opened) => opened,
                Err(reason) if part.is_needed() => return Ok(Err(reason)),
                Err(_) => continue,
            };
            let shape = Shape {
                result: opened.result,
                locals: opened.locals,
                constructor: None,
                hooks: &[],
            };
            let start = self.next_body();
            let outcome = weaver.weave(
                part,
                &opened.body,
                &shape,
                &mut self.additions,
                &mut self.scratch.rewrite,
                &mut self.scratch.bodies,
            )?;
            match outcome {
                Ok(rewritten) => {
                    let of_part = self.add_body(&opened, start, &rewritten);
                    line.get_or_insert(of_part);
                }
                Err(reason) if part.is_needed() => {
                    self.additions.remove_last_field();
                    return Ok(Err(reason));
                }
                // Without it, the call begins when it first runs, or ends unseen.
                Err(_) => {}
            }
        }
        match line {
            None => Ok(Err(Reason::StateMachine)),
            Some(line) => {
                self.add_entry(planned, kickoff, line, ty);
                Ok(Ok(()))
            }
        }
    }

    /// Where the next body begins.
    fn next_body(&mut self) -> usize {
        let bodies = &mut self.scratch.bodies;
        bodies.resize(bodies.len().next_multiple_of(4), 0);
        bodies.len()
    }

    /// Notes a new body from `start` on; returns the method's first line behind its document.
    fn add_body(&mut self, opened: &Opened<'_>, start: usize, new: &Rewritten) -> (u32, u32) {
        let method = opened.method;
        self.bodies.push(NewBody {
            method,
            part: 0,
            start: start as u32,
            len: (self.scratch.bodies.len() - start) as u32,
            at: 0,
        });
        let Some((pdb, edits)) = &mut self.pdb else {
            return (0, 0);
        };
        let old_len = opened.body.code.len() as u32;
        edits.method(pdb, method, self.scratch.rewrite.layout(), old_len, new);
        pdb.first_line(method).unwrap_or_default()
    }

    fn add_entry(
        &mut self,
        planned: &Planned,
        opened: &Opened<'_>,
        (document, line): (u32, u32),
        ty: &mut WovenType,
    ) {
        if self.document == 0 {
            self.document = document;
        }
        ty.add(planned.id, line, &opened.name, |text| {
            signature::put_descriptor(self.image, opened.signature, text);
        });
    }
}

/// A method to be woven.
struct Opened<'a> {
    /// The `MethodDef` row.
    method: u32,
    flags: u32,
    name: Cow<'a, str>,
    /// The signature, as the table has it.
    signature: u32,
    /// The return type.
    result: &'a [u8],
    locals: &'a [u8],
    body: Body<'a>,
}

/// Whether a type (a `TypeDef` row) is a value type, whose constructors call no other.
fn is_value_type(image: &Image<'_>, ty: u32) -> Result<bool> {
    let row = image.metadata.tables.row(table::TYPE_DEF, ty)?;
    let base = decode(&coded::TYPE_DEF_OR_REF, row.get(column::type_def::EXTENDS))?;
    Ok(image.is_type_named(base, b"System", b"ValueType")
        || image.is_type_named(base, b"System", b"Enum"))
}
