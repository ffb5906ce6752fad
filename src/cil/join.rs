//! Woven parts put together: what they ask of tables gets its tokens, in their order, so that the file is the same
//! whoever wove which part. State machines, which need rows of several tables, are woven here.

use crate::aspect::advice::Reason;
use crate::aspect::woven::WovenType;
use crate::cil::image::Image;
use crate::cil::lower::{self, Shape};
use crate::cil::metadata::additions::{Additions, FieldMap};
use crate::cil::metadata::schema::table;
use crate::cil::metadata::signature;
use crate::cil::metadata::tables::token_row;
use crate::cil::output::NewBody;
use crate::cil::pdb::{self, Pdb};
use crate::cil::renumber::{self, TokenPlaces};
use crate::cil::rewrite;
use crate::cil::signatures::Signatures;
use crate::cil::state_machine;
use crate::cil::strongname::StrongNameKey;
use crate::cil::warning::Warning;
use crate::cil::weave::{Part, PlannedMachine, Scratch, Weaver};
use crate::cil::write::{self, Edits, Remade, Rest, Written};
use crate::error::Result;
use std::sync::Arc;

/// A woven assembly, not written yet.
pub struct Woven<'i, 'a> {
    image: &'i Image<'a>,
    /// What tables get, until the metadata is made.
    additions: Option<Additions>,
    metadata: Option<Remade<'a>>,
    /// The debugging information, and what changes in it.
    pdb: Option<(Pdb<'i>, pdb::Edits)>,
    source: &'i pdb::Source<'i>,
    /// The new bodies, and what is still to change in them.
    parts: Vec<(Vec<u8>, Option<Tokens>)>,
    bodies: Vec<NewBody>,
    fields: FieldMap,
    /// What stays beside them.
    rest: Option<Rest>,
    tail_calls: u32,
    /// The types with planned methods that have state machines, ascending.
    pub types: Vec<WovenType>,
}

impl<'a> Woven<'_, 'a> {
    /// Whether anything was woven; if not, the input is the output.
    pub fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// What is to be done before the file can be laid out, with symbols or without and with this key. What is not asked for
    /// here happens with [`Woven::write`].
    pub fn steps<'w>(&'w mut self, symbols: bool, key: Option<&'w StrongNameKey>) -> Steps<'w, 'a> {
        let fields = &self.fields;
        let mut of_image = Vec::with_capacity(2);
        if self.rest.is_none() {
            of_image.push(Step(Work::Rest {
                image: self.image,
                bodies: &self.bodies,
                fields,
                symbols,
                rest: &mut self.rest,
            }));
        }
        if self.additions.is_some() {
            of_image.push(Step(Work::Metadata {
                image: self.image,
                additions: &mut self.additions,
                fields,
                symbols,
                key,
                metadata: &mut self.metadata,
            }));
        }
        let of_parts = self.parts.iter_mut().filter_map(|(part, tokens)| {
            let tokens = tokens.take()?;
            Some(Step(Work::Tokens(part, tokens, fields)))
        });
        Steps {
            of_image,
            of_parts: of_parts.collect(),
        }
    }

    /// Lays out the new file. `symbols` becomes the manifest resource [`write::SYMBOLS_RESOURCE`]; with
    /// a key the strong name is signed anew.
    pub fn write(
        mut self,
        symbols: Option<Arc<Vec<u8>>>,
        key: Option<&'a StrongNameKey>,
    ) -> Result<Written<'a>> {
        let Steps { of_image, of_parts } = self.steps(symbols.is_some(), key);
        for step in of_image.into_iter().chain(of_parts) {
            step.run()?;
        }
        let edits = Edits {
            metadata: self.metadata.expect("a step has made it"),
            fields: self.fields,
            rest: self.rest.expect("a step has read it"),
            parts: self.parts.into_iter().map(|(part, _)| part).collect(),
            bodies: self.bodies,
            pdb: self.pdb,
        };
        let mut written = write::write(self.image, edits, symbols, key)?;
        if self.source.is_embedded() {
            written.pdb = None;
        }
        written.warnings.extend(self.source.warning());
        if self.tail_calls > 0 {
            written.warnings.push(Warning::TailCalls(self.tail_calls));
        }
        Ok(written)
    }
}

/// What changes in the bodies of a part.
enum Tokens {
    /// Signatures of locals have these tokens now, and fields may have others.
    Noted(Locals, TokenPlaces),
    /// Fields may, wherever they are named.
    Fields,
}

/// What the signatures of a part have become.
struct Locals {
    /// Rows of the image's own signatures, which stay.
    rows: u32,
    /// The tokens of those that the part added.
    tokens: Vec<u32>,
}

impl Locals {
    fn row(&self, row: u32) -> u32 {
        match row.checked_sub(self.rows) {
            Some(number @ 1..) => token_row(self.tokens[number as usize - 1]),
            _ => row,
        }
    }
}

/// The steps on the way to the new file, each to be run on any thread.
pub struct Steps<'w, 'a> {
    /// Those that read most of the image. One by one they take the least memory.
    pub of_image: Vec<Step<'w, 'a>>,
    /// Those that touch a part each.
    pub of_parts: Vec<Step<'w, 'a>>,
}

/// A step on the way to the new file.
pub struct Step<'w, 'a>(Work<'w, 'a>);

enum Work<'w, 'a> {
    /// Makes the new metadata.
    Metadata {
        image: &'w Image<'a>,
        additions: &'w mut Option<Additions>,
        fields: &'w FieldMap,
        symbols: bool,
        key: Option<&'w StrongNameKey>,
        metadata: &'w mut Option<Remade<'a>>,
    },
    /// Gives the bodies of a part their final tokens.
    Tokens(&'w mut [u8], Tokens, &'w FieldMap),
    /// Reads what stays beside the bodies.
    Rest {
        image: &'w Image<'a>,
        bodies: &'w [NewBody],
        fields: &'w FieldMap,
        symbols: bool,
        rest: &'w mut Option<Rest>,
    },
}

impl Step<'_, '_> {
    /// Does it.
    pub fn run(self) -> Result<()> {
        match self.0 {
            Work::Metadata {
                image,
                additions,
                fields,
                symbols,
                key,
                metadata,
            } => {
                let additions = additions.take().expect("it is asked for once");
                *metadata = Some(Remade::new(image, additions, fields, symbols, key)?);
                Ok(())
            }
            Work::Tokens(part, Tokens::Noted(locals, places), fields) => {
                renumber::new_bodies(part, &places, |row| locals.row(row), fields);
                Ok(())
            }
            Work::Tokens(part, Tokens::Fields, fields) => {
                if !fields.is_empty() {
                    let places = TokenPlaces::of_fields(part)?;
                    renumber::new_bodies(part, &places, |row| row, fields);
                }
                Ok(())
            }
            Work::Rest {
                image,
                bodies,
                fields,
                symbols,
                rest,
            } => {
                *rest = Some(Rest::read(image, bodies, fields, symbols)?);
                Ok(())
            }
        }
    }
}

impl rewrite::Signatures for Additions {
    fn stand_alone_sig(&mut self, blob: &[u8]) -> Result<u32> {
        Additions::stand_alone_sig(self, blob)
    }
}

/// What has been put together so far.
pub(super) struct Joiner<'j, 'w, 'i, 'a> {
    weaver: &'j Weaver<'w, 'i, 'a>,
    additions: Additions,
    edits: pdb::Edits,
    parts: Vec<(Vec<u8>, Option<Tokens>)>,
    /// Bodies of the parts.
    bodies: Vec<NewBody>,
    /// Those of state machines.
    of_machines: Vec<NewBody>,
    types: Vec<WovenType>,
    tail_calls: u32,
    /// Whether a method's code was read from its first to its last instruction.
    read: Vec<bool>,
    /// The number of the part with the machines' bodies, which is the last.
    machines: u32,
    /// Whether fields can be renumbered; asked when the first machine is to get one.
    renumbers: Option<bool>,
}

impl<'j, 'w, 'i, 'a> Joiner<'j, 'w, 'i, 'a> {
    /// Nothing yet of so many parts, in which these methods (`MethodDef` rows) have new bodies.
    pub(super) fn new(
        weaver: &'j Weaver<'w, 'i, 'a>,
        woven: impl Iterator<Item = u32>,
        parts: usize,
    ) -> Self {
        let tables = &weaver.image.metadata.tables;
        let mut read = vec![false; tables.rows(table::METHOD_DEF) as usize + 1];
        for method in woven {
            read[method as usize] = true;
        }
        Joiner {
            weaver,
            additions: weaver.additions.clone(),
            edits: pdb::Edits::default(),
            parts: Vec::with_capacity(parts + 1),
            bodies: Vec::with_capacity(weaver.planned.len()),
            of_machines: Vec::new(),
            types: Vec::new(),
            tail_calls: 0,
            read,
            machines: parts as u32,
            renumbers: None,
        }
    }

    /// Adds the next part. `scratch` keeps the machines' bodies until the end.
    pub(super) fn add(&mut self, mut part: Part, scratch: &mut Scratch) -> Result<()> {
        let mut tokens = Vec::with_capacity(part.signatures.count());
        for planned in &part.machines {
            self.add_signatures(&part.signatures, planned.signatures, &mut tokens)?;
            self.add_machine(planned, scratch)?;
        }
        let all = part.signatures.count();
        self.add_signatures(&part.signatures, all, &mut tokens)?;

        for body in &mut part.bodies {
            body.part = self.parts.len() as u32;
        }
        let locals = Locals {
            rows: self.rows(),
            tokens,
        };
        self.edits.append(part.pdb, |row| locals.row(row));
        let tokens = Tokens::Noted(locals, part.tokens);
        self.parts.push((part.bytes, Some(tokens)));
        self.tail_calls += part.tail_calls;
        self.bodies.append(&mut part.bodies);
        Ok(())
    }

    /// Rows of the image's own signatures.
    fn rows(&self) -> u32 {
        let tables = &self.weaver.image.metadata.tables;
        tables.rows(table::STAND_ALONE_SIG)
    }

    /// Gives the signatures of a part tokens, up to a number.
    fn add_signatures(
        &mut self,
        signatures: &Signatures,
        end: usize,
        tokens: &mut Vec<u32>,
    ) -> Result<()> {
        for blob in signatures.blobs(tokens.len()..end) {
            tokens.push(self.additions.stand_alone_sig(blob)?);
        }
        Ok(())
    }

    fn add_machine(&mut self, planned: &PlannedMachine, scratch: &mut Scratch) -> Result<()> {
        let (weaver, method) = (self.weaver, planned.machine.kickoff);
        let number = weaver.planned[planned.planned].ty;
        let mut ty = match self.types.pop_if(|ty| ty.ty == number) {
            Some(ty) => ty,
            None => {
                let mut name = String::new();
                let types = weaver.image.types();
                types.put_name(weaver.image, number + 1, &mut name)?;
                WovenType::new(number, &name, "", 1)
            }
        };
        let outcome = self.weave_machine(planned, &mut ty, scratch);
        let outcome = outcome.map_err(|e| {
            let label = weaver.image.method_label(method);
            e.in_method(format!("{}.{label}", ty.name()))
        })?;
        if let Err(reason) = outcome {
            ty.left.push(weaver.left(planned.planned, method, reason));
        }
        self.types.push(ty);
        Ok(())
    }

    /// Weaves the logical call of an async method or iterator into its state machine.
    fn weave_machine(
        &mut self,
        planned: &PlannedMachine,
        ty: &mut WovenType,
        scratch: &mut Scratch,
    ) -> Result<Result<(), Reason>> {
        let (weaver, image) = (self.weaver, self.weaver.image);
        let machine = planned.machine;
        let kickoff = match weaver.open(machine.kickoff)? {
            Ok(opened) => opened,
            Err(reason) => return Ok(Err(reason)),
        };
        if machine.ty == 0 || !self.additions.takes_fields() {
            return Ok(Err(Reason::StateMachine));
        }
        let tokens: &lower::Tokens = match &weaver.tokens {
            Ok(tokens) => tokens,
            Err(reason) => return Ok(Err(*reason)),
        };
        let id = weaver.planned[planned.planned].id;
        let mut logical = state_machine::Weaver::new(image, machine, id, tokens);
        let parts = state_machine::Weaver::parts(image, machine);
        if !parts.iter().any(|p| p.is_needed()) {
            return Ok(Err(Reason::StateMachine));
        }
        for part in parts.iter().filter(|p| p.is_needed()) {
            match weaver.open(part.method)? {
                Ok(opened) if logical.knows(&opened.body, opened.result) => {}
                Ok(_) => return Ok(Err(Reason::StateMachine)),
                Err(reason) => return Ok(Err(reason)),
            }
        }
        // A machine gets a field, which gives others new numbers.
        if !self.renumbers(image) {
            return Ok(Err(Reason::StateMachine));
        }
        // The needed part is the first: where it fails, no other has a new body yet.
        debug_assert!(parts[0].is_needed() && !parts[1..].iter().any(|p| p.is_needed()));
        logical.add_field(&mut self.additions)?;
        let mut named = None;
        for part in &parts {
            let opened = match weaver.open(part.method)? {
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
            let start = scratch.next_body();
            let outcome = logical.weave(
                part,
                &opened.body,
                &shape,
                &mut self.additions,
                &mut scratch.rewrite,
                &mut scratch.bodies,
            )?;
            match outcome {
                Ok(rewritten) => {
                    let mut body = scratch.body(&opened, start);
                    body.part = self.machines;
                    self.of_machines.push(body);
                    let place = planned.planned;
                    let edits = &mut self.edits;
                    let lines = weaver.move_lines(place, &opened, &rewritten, scratch, edits);
                    named.get_or_insert(lines);
                }
                Err(reason) if part.is_needed() => {
                    self.additions.remove_last_field();
                    return Ok(Err(reason));
                }
                // Without it, the call begins when it first runs, or ends unseen.
                Err(_) => {}
            }
        }
        let Some((document, line)) = named else {
            return Ok(Err(Reason::StateMachine));
        };
        if ty.file().is_empty() {
            weaver.set_file(ty, document);
        }
        ty.add(id, line, &kickoff.name, |text| {
            signature::put_descriptor(image, kickoff.signature, text);
        });
        Ok(Ok(()))
    }

    fn renumbers(&mut self, image: &Image<'_>) -> bool {
        let read = &self.read;
        *(self.renumbers)
            .get_or_insert_with(|| renumber::is_possible(image, |method| read[method as usize]))
    }

    /// All that was put together.
    pub(super) fn finish(mut self, scratch: &mut Scratch) -> Result<Woven<'i, 'a>> {
        let machines = std::mem::take(&mut scratch.bodies);
        self.parts.push((machines, Some(Tokens::Fields)));
        merge(&mut self.bodies, self.of_machines);
        let edits = self.edits;
        Ok(Woven {
            image: self.weaver.image,
            fields: self.additions.field_map(&self.weaver.image.metadata)?,
            rest: None,
            additions: Some(self.additions),
            metadata: None,
            pdb: self.weaver.source.pdb().map(|pdb| (pdb, edits)),
            source: self.weaver.source,
            parts: self.parts,
            bodies: self.bodies,
            tail_calls: self.tail_calls,
            types: self.types,
        })
    }
}

/// Puts the machines' bodies among the others, so that all ascend by method.
fn merge(bodies: &mut Vec<NewBody>, mut machines: Vec<NewBody>) {
    // They are in order already, but where `MethodPtr` gives another one.
    bodies.sort_unstable_by_key(|body| body.method);
    machines.sort_unstable_by_key(|body| body.method);
    let mut end = bodies.len();
    bodies.extend_from_slice(&machines);
    for to in (0..bodies.len()).rev() {
        let Some(machine) = machines.last() else {
            break;
        };
        match bodies[..end].last() {
            Some(body) if body.method > machine.method => {
                bodies[to] = *body;
                end -= 1;
            }
            _ => {
                bodies[to] = *machine;
                machines.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_ascend_by_method_whatever_order_tables_have() {
        let bodies = |methods: &[u32]| -> Vec<NewBody> {
            let body = |&method| NewBody {
                method,
                part: 0,
                start: 0,
                len: 0,
                old_len: 0,
                at: 0,
            };
            methods.iter().map(body).collect()
        };
        for (of_parts, of_machines) in [
            (&[1, 3, 4, 9][..], &[7, 2, 12][..]),
            (&[9, 1, 4, 3], &[2, 7, 12]),
            (&[], &[2, 1]),
            (&[3, 2], &[]),
        ] {
            let mut all = bodies(of_parts);
            merge(&mut all, bodies(of_machines));
            let mut sorted = [of_parts, of_machines].concat();
            sorted.sort_unstable();
            let methods: Vec<u32> = all.iter().map(|body| body.method).collect();
            assert_eq!(methods, sorted);
        }
    }
}
