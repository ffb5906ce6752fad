//! Woven parts put together: what they ask of tables gets its tokens, in their order, so that the file is the same
//! whoever wove which part. State machines, which need rows of several tables, are woven here.

use crate::aspect::advice::Reason;
use crate::aspect::woven::WovenType;
use crate::cil::image::Image;
use crate::cil::lower::{self, Shape};
use crate::cil::metadata::additions::{Additions, FieldMap};
use crate::cil::metadata::schema::table;
use crate::cil::metadata::tables::{token, token_row};
use crate::cil::output::{Bodies, Framed, Framing, NewBody};
use crate::cil::pdb::{self, Pdb};
use crate::cil::renumber::{self, TokenPlaces};
use crate::cil::rewrite::{self, Hooks};
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
    parts: Vec<(Bodies, Option<Tokens>)>,
    fields: FieldMap,
    hooks: Hooks,
    /// What stays beside them.
    rest: Option<Rest>,
    tail_calls: u32,
    /// The types with planned methods that have state machines, ascending.
    pub types: Vec<WovenType>,
}

impl<'a> Woven<'_, 'a> {
    /// Whether anything was woven; if not, the input is the output.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|(part, _)| part.list.is_empty())
    }

    /// What is to be done before the file can be laid out, with symbols or without and with this key: each on any thread,
    /// best begun in this order. What is not asked for here happens with [`Woven::write`].
    pub fn steps<'w>(
        &'w mut self,
        symbols: bool,
        key: Option<&'w StrongNameKey>,
    ) -> Vec<Step<'w, 'a>> {
        let fields = &self.fields;
        let mut steps = Vec::with_capacity(2 + self.parts.len());
        if self.additions.is_some() {
            steps.push(Step(Work::Metadata {
                image: self.image,
                additions: &mut self.additions,
                fields,
                symbols,
                key,
                metadata: &mut self.metadata,
            }));
        }
        let mut lists = Vec::with_capacity(self.parts.len());
        let mut tokens = Vec::with_capacity(self.parts.len());
        for (part, noted) in &mut self.parts {
            lists.push(&part.list[..]);
            if let Some(noted) = noted.take() {
                tokens.push(Step(Work::Tokens {
                    bytes: &mut part.bytes,
                    frames: &mut part.frames,
                    noted,
                    fields,
                }));
            }
        }
        if self.rest.is_none() {
            steps.push(Step(Work::Rest {
                image: self.image,
                parts: lists,
                fields,
                symbols,
                rest: &mut self.rest,
            }));
        }
        steps.append(&mut tokens);
        steps
    }

    /// Lays out the new file. `symbols` becomes the manifest resource [`write::SYMBOLS_RESOURCE`]; with
    /// a key the strong name is signed anew.
    pub fn write(
        mut self,
        symbols: Option<Arc<Vec<u8>>>,
        key: Option<&'a StrongNameKey>,
    ) -> Result<Written<'a>> {
        for step in self.steps(symbols.is_some(), key) {
            step.run()?;
        }
        let edits = Edits {
            metadata: self.metadata.expect("a step has made it"),
            framing: Framing {
                hooks: self.hooks,
                fields: self.fields,
            },
            rest: self.rest.expect("a step has read it"),
            parts: self.parts.into_iter().map(|(part, _)| part).collect(),
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
    Tokens {
        bytes: &'w mut [u8],
        frames: &'w mut [Framed],
        noted: Tokens,
        fields: &'w FieldMap,
    },
    /// Reads what stays beside the bodies.
    Rest {
        image: &'w Image<'a>,
        parts: Vec<&'w [NewBody]>,
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
            Work::Tokens {
                bytes,
                frames,
                noted: Tokens::Noted(locals, places),
                fields,
            } => {
                renumber::new_bodies(bytes, &places, |row| locals.row(row), fields);
                for Framed { frame, .. } in frames {
                    let row = locals.row(token_row(frame.locals()));
                    frame.set_locals(token(table::STAND_ALONE_SIG, row));
                }
                Ok(())
            }
            Work::Tokens {
                bytes,
                noted: Tokens::Fields,
                fields,
                ..
            } => {
                if !fields.is_empty() {
                    let places = TokenPlaces::of_fields(bytes)?;
                    renumber::new_bodies(bytes, &places, |row| row, fields);
                }
                Ok(())
            }
            Work::Rest {
                image,
                parts,
                fields,
                symbols,
                rest,
            } => {
                *rest = Some(Rest::read(image, &parts, fields, symbols)?);
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

/// Puts woven parts together.
pub struct Joiner<'j, 'w, 'i, 'a> {
    weaver: &'j Weaver<'w, 'i, 'a>,
    additions: Additions,
    edits: pdb::Edits,
    parts: Vec<(Bodies, Option<Tokens>)>,
    /// Methods that stay as they were.
    left: Vec<u32>,
    tail_calls: u32,
    /// Those that are still to be woven.
    machines: Vec<PlannedMachine>,
    types: Vec<WovenType>,
    /// Whether fields can be renumbered; asked when the first machine is to get one.
    renumbers: Option<bool>,
}

impl<'j, 'w, 'i, 'a> Joiner<'j, 'w, 'i, 'a> {
    /// Nothing yet.
    pub(super) fn new(weaver: &'j Weaver<'w, 'i, 'a>) -> Self {
        let mut additions = weaver.additions.clone();
        // In many programs every second method has locals that no other has.
        additions.reserve_signatures(weaver.planned.len() / 2);
        Joiner {
            weaver,
            additions,
            edits: pdb::Edits::default(),
            parts: Vec::new(),
            left: Vec::new(),
            tail_calls: 0,
            machines: Vec::new(),
            types: Vec::new(),
            renumbers: None,
        }
    }

    /// Adds the next part.
    pub fn add(&mut self, mut part: Part) -> Result<()> {
        let blobs = part.signatures.blobs(0..part.signatures.count());
        let tokens = blobs.map(|blob| self.additions.stand_alone_sig(blob));
        let tables = &self.weaver.image.metadata.tables;
        let locals = Locals {
            rows: tables.rows(table::STAND_ALONE_SIG),
            tokens: tokens.collect::<Result<_>>()?,
        };
        self.edits.append(part.pdb, |row| locals.row(row));
        let tokens = Tokens::Noted(locals, part.tokens);
        self.parts.push((part.bodies, Some(tokens)));
        self.left.append(&mut part.left);
        self.tail_calls += part.tail_calls;
        self.machines.append(&mut part.machines);
        Ok(())
    }

    fn add_machine(&mut self, number: usize, scratch: &mut Scratch) -> Result<()> {
        let planned = self.machines[number];
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
        let outcome = self.weave_machine(&planned, &mut ty, scratch);
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
        if !self.renumbers() {
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
                &mut scratch.bodies.bytes,
            )?;
            match outcome {
                Ok(rewritten) => {
                    scratch.add_body(&opened, start);
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
        weaver.tell(ty, (id, line), &kickoff, &mut scratch.descriptors)?;
        Ok(Ok(()))
    }

    fn renumbers(&mut self) -> bool {
        *self.renumbers.get_or_insert_with(|| {
            let kickoffs = self.machines.iter().map(|m| m.machine.kickoff);
            let left = self.left.iter().copied().chain(kickoffs);
            self.weaver.names_readable_fields() && renumber::is_possible(self.weaver.image, left)
        })
    }

    /// Weaves the state machines: all parts are there. `scratch` is used meanwhile.
    pub fn finish(mut self, scratch: &mut Scratch) -> Result<Woven<'i, 'a>> {
        scratch.begin_bodies(0);
        scratch.descriptors.begin();
        for number in 0..self.machines.len() {
            self.add_machine(number, scratch)?;
        }
        self.parts
            .push((scratch.take_bodies(), Some(Tokens::Fields)));
        self.additions.close_signatures();
        let edits = self.edits;
        Ok(Woven {
            image: self.weaver.image,
            fields: self.additions.field_map(&self.weaver.image.metadata)?,
            hooks: (self.weaver.tokens.as_ref()).map_or(Hooks::default(), lower::Tokens::hooks),
            rest: None,
            additions: Some(self.additions),
            metadata: None,
            pdb: self.weaver.source.pdb().map(|pdb| (pdb, edits)),
            source: self.weaver.source,
            parts: self.parts,
            tail_calls: self.tail_calls,
            types: self.types,
        })
    }
}
