//! Joins woven parts: gives their signatures tokens, in the order of the parts, so that the file does not depend on the
//! threads. State machines, which need rows of several tables, are woven here.

use crate::aspect::advice::Reason;
use crate::aspect::attempt::{Attempt, Unwoven, settle};
use crate::aspect::woven::WovenType;
use crate::cil::machines::{Machine, Sort};
use crate::cil::metadata::additions::Additions;
use crate::cil::metadata::field_map::FieldMap;
use crate::cil::metadata::schema::table;
use crate::cil::metadata::tables::{token, token_row};
use crate::cil::pdb::{self, FirstLine, Pdb};
use crate::cil::rewrite::{self, Hooks, Snippet};
use crate::cil::weave::bodies::{Bodies, Framed, Framing};
use crate::cil::weave::ordinary;
use crate::cil::weave::own::Own;
use crate::cil::weave::part::{Part, PlannedMachine, Scratch, Weaver, has_pair};
use crate::cil::weave::runtime_async::{self, OwnHooks};
use crate::cil::weave::state_machine::{self, Gets, MachineMethod};
use crate::cil::weave::tokens::{self, TokenPlaces};
use crate::error::{Error, Kind, Result};
use rustc_hash::FxHashSet;

/// All parts, joined.
pub struct Joined<'i> {
    /// New rows, strings and blobs.
    pub(crate) additions: Additions,
    /// For the bodies that are written with the file.
    pub(crate) framing: Framing,
    /// The new bodies.
    pub(crate) parts: Vec<JoinedPart>,
    /// The debugging information and its changes.
    pub(crate) pdb: Option<(Pdb<'i>, pdb::Edits)>,
    /// Methods whose tail calls became ordinary calls.
    pub(crate) tail_calls: u32,
}

/// The new bodies of a part, and the tokens that change in them.
pub(crate) struct JoinedPart {
    pub(crate) bodies: Bodies,
    tokens: Tokens,
}

impl JoinedPart {
    /// The bodies with their final tokens.
    pub(crate) fn with_final_tokens(mut self, fields: &FieldMap) -> Result<Bodies> {
        let bytes = &mut self.bodies.bytes;
        match &self.tokens {
            Tokens::Noted(locals, places) => {
                tokens::new_bodies(bytes, places, |row| locals.row(row), fields);
                for Framed { frame, .. } in &mut self.bodies.frames {
                    let row = locals.row(token_row(frame.locals()));
                    frame.set_locals(token(table::STAND_ALONE_SIG, row));
                }
            }
            Tokens::Fields if fields.is_empty() => {}
            Tokens::Fields => {
                let places = TokenPlaces::of_fields(bytes)?;
                tokens::new_bodies(bytes, &places, |row| row, fields);
            }
        }
        Ok(self.bodies)
    }
}

/// The tokens that change in the bodies of a part.
enum Tokens {
    /// Signatures of locals get these tokens, and fields may get others.
    Noted(Locals, TokenPlaces),
    /// Fields may get other tokens.
    Fields,
}

/// The rows of a part's signatures.
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

impl rewrite::Signatures for Additions {
    fn stand_alone_sig(&mut self, blob: &[u8]) -> Result<u32> {
        Additions::stand_alone_sig(self, blob)
    }
}

/// Joins woven parts.
pub struct Joiner<'j, 'i, 'a> {
    weaver: &'j Weaver<'i, 'a>,
    additions: Additions,
    edits: pdb::Edits,
    parts: Vec<JoinedPart>,
    /// Methods that are left unwoven.
    left: Vec<u32>,
    tail_calls: u32,
    /// Methods with state machines, not yet woven.
    machines: Vec<PlannedMachine>,
    /// Methods with points in state machines: places in the plan and rows.
    pointed: Vec<(usize, u32)>,
    /// The methods of machines that have their points.
    with_points: FxHashSet<u32>,
    types: Vec<WovenType>,
    /// What methods that the runtime suspends ask of what they await.
    awaited: runtime_async::Members,
    /// Whether fields can get new rows; found when the first machine needs a field.
    moves_fields: Option<bool>,
}

impl<'j, 'i, 'a> Joiner<'j, 'i, 'a> {
    /// Nothing yet.
    pub(crate) fn new(weaver: &'j Weaver<'i, 'a>) -> Self {
        let mut additions = weaver.additions.clone();
        // In many programs every second method has locals of its own.
        additions.reserve_signatures(weaver.planned.len() / 2);
        Joiner {
            weaver,
            additions,
            edits: pdb::Edits::default(),
            parts: Vec::new(),
            left: Vec::new(),
            tail_calls: 0,
            machines: Vec::new(),
            pointed: Vec::new(),
            with_points: FxHashSet::default(),
            types: Vec::new(),
            awaited: runtime_async::Members::default(),
            moves_fields: None,
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
        self.parts.push(JoinedPart {
            bodies: part.bodies,
            tokens,
        });
        self.left.append(&mut part.left);
        self.tail_calls += part.tail_calls;
        self.machines.append(&mut part.machines);
        self.pointed.append(&mut part.pointed);
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
                let types = weaver.image.metadata.types();
                types.put_name(&weaver.image.metadata, number + 1, &mut name)?;
                WovenType::new(number, &name, "", 1)
            }
        };
        match self.weave_machine(&planned, &mut ty, scratch) {
            Ok(()) => {}
            Err(Unwoven::Left(reason)) => {
                ty.left.push(weaver.left(planned.planned, method, reason));
                if planned.machine.sort == Sort::ByRuntime {
                    settle(weaver.keep_body(method, scratch))?.map_err(|_| {
                        weaver.failed(
                            Error::new(Kind::NotDone, "a body that cannot be moved"),
                            &ty,
                            method,
                        )
                    })?;
                }
            }
            Err(Unwoven::Failed(e)) => return Err(weaver.failed(e, &ty, method)),
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
    ) -> Attempt<()> {
        if planned.machine.sort == Sort::ByRuntime {
            return self.weave_by_runtime(planned, ty, scratch);
        }
        if !has_pair(&self.weaver.planned[planned.planned]) {
            return self.weave_completion(planned, scratch);
        }
        let (weaver, image) = (self.weaver, self.weaver.image);
        let machine = planned.machine;
        let kickoff = weaver.open(machine.kickoff)?;
        if machine.ty == 0 || !self.additions.takes_fields() {
            return Err(Reason::StateMachine.into());
        }
        let tokens: &ordinary::Tokens = match &weaver.tokens {
            Ok(tokens) => tokens,
            Err(reason) => return Err((*reason).into()),
        };
        let id = weaver.planned[planned.planned].id;
        let says = weaver.logical(planned.planned);
        let held = match machine.sort {
            Sort::Async => None, // its kick-off does
            _ => weaver.held(planned.planned),
        };
        let (held, told) = (held.unwrap_or_default(), (id, says));
        let mut logical = state_machine::Weaver::new(image, machine, (told, held), tokens);
        let methods = self.methods(&logical, machine)?;
        // A machine gets a field, which gives other fields new rows.
        if !self.moves_fields() {
            return Err(Reason::StateMachine.into());
        }
        // The needed part is the first: where it fails, no other has a new body yet.
        debug_assert!(methods[0].is_needed() && !methods[1..].iter().any(|p| p.is_needed()));
        logical.add_field(&mut self.additions)?;
        let mut named = None;
        // Its own hooks were woven into it.
        let is_woven =
            machine.sort != Sort::Async && weaver.begins_apart(planned.planned, machine.sort);
        for part in &methods {
            if is_woven && part.method == machine.kickoff {
                continue;
            }
            let opened = match weaver.open(part.method) {
                Err(Unwoven::Left(_)) if !part.is_needed() => continue,
                opened => opened?,
            };
            let shape = opened.info();
            let inner = weaver.around_ends(&opened, planned.planned, machine.kickoff)?;
            let own = inner.as_ref().and_then(|inner| inner.own.as_ref());
            let around = inner.as_ref().map(|inner| &inner.around);
            let start = scratch.next_body();
            let outcome = logical.weave(
                part,
                &opened.body,
                Gets {
                    shape: &shape,
                    around,
                    own: own.map(Own::code),
                },
                &mut self.additions,
                &mut scratch.rewrite,
                &mut scratch.bodies.bytes,
            );
            match outcome {
                Ok(rewritten) => {
                    scratch.add_body(opened.method, opened.body.len as u32, start);
                    self.with_points.insert(opened.method);
                    let place = planned.planned;
                    let edits = &mut self.edits;
                    let lines = weaver.move_lines(place, &opened, &rewritten, scratch, edits);
                    named.get_or_insert(lines);
                }
                // Without this part the call begins when it first runs, or ends unseen.
                Err(Unwoven::Left(_)) if !part.is_needed() => {}
                Err(unwoven) => {
                    self.additions.remove_last_field();
                    return Err(unwoven);
                }
            }
        }
        let Some(FirstLine { document, line }) = named else {
            return Err(Reason::StateMachine.into());
        };
        if ty.file().is_empty() {
            weaver.set_file(ty, document);
        }
        weaver.record(ty, id, line, &kickoff, &mut scratch.descriptors)?;
        for method in weaver.completing(machine.kickoff) {
            if !self.with_points.contains(&method) {
                self.weave_ending(method, planned, scratch)?;
            }
        }
        Ok(())
    }

    /// Weaves the hooks where an async method completes or an enumeration ends, whose calls are not recorded.
    fn weave_completion(&mut self, planned: &PlannedMachine, scratch: &mut Scratch) -> Attempt<()> {
        for method in self.weaver.completing(planned.machine.kickoff) {
            self.weave_ending(method, planned, scratch)?;
        }
        Ok(())
    }

    /// Weaves a method of a machine that has hooks where the call ends, or is needed for them.
    fn weave_ending(
        &mut self,
        method: u32,
        planned: &PlannedMachine,
        scratch: &mut Scratch,
    ) -> Attempt<()> {
        let weaver = self.weaver;
        let opened = weaver.open(method)?;
        let inner = weaver.around_ends(&opened, planned.planned, planned.machine.kickoff)?;
        let inner = inner.ok_or(Reason::StateMachine)?;
        let start = scratch.next_body();
        let (around, own) = (&inner.around, inner.own.as_ref().map(Own::code));
        let additions = &mut self.additions;
        let rewritten = weaver.weave_inner(&opened, around, own, additions, scratch)?;
        scratch.add_body(opened.method, opened.body.len as u32, start);
        self.with_points.insert(opened.method);
        weaver.move_lines(
            planned.planned,
            &opened,
            &rewritten,
            scratch,
            &mut self.edits,
        );
        Ok(())
    }

    /// Weaves the logical call of a method that the runtime suspends into that method.
    fn weave_by_runtime(
        &mut self,
        planned: &PlannedMachine,
        ty: &mut WovenType,
        scratch: &mut Scratch,
    ) -> Attempt<()> {
        let weaver = self.weaver;
        let opened = weaver.open_any(planned.machine.kickoff)?;
        let tokens: &ordinary::Tokens = match &weaver.tokens {
            Ok(tokens) => tokens,
            Err(reason) => return Err((*reason).into()),
        };
        let shape = opened.info();
        let id = weaver.planned[planned.planned].id;
        let calls_more = weaver.begins_apart(planned.planned, Sort::ByRuntime);
        let logical = runtime_async::Weaver {
            image: weaver.image,
            tokens,
            id,
            says: weaver.logical(planned.planned),
            held: match calls_more {
                true => Snippet::default(),
                false => weaver.held(planned.planned).unwrap_or_default(),
            },
            has_pair: has_pair(&weaver.planned[planned.planned]),
        };
        let start = scratch.next_body();
        let Scratch {
            rewrite,
            own,
            bodies,
            ..
        } = &mut *scratch;
        let this = weaver.this_type(planned.planned)?;
        let hooks = match weaver.of_body(&weaver.planned[planned.planned]) {
            Some(bound) if calls_more => Some(OwnHooks {
                own,
                imports: weaver.imports(),
                bound,
                method: weaver.as_own(&opened, planned.planned, &this)?,
            }),
            _ => None,
        };
        let rewritten = logical.weave(
            &opened.body,
            (&shape, hooks),
            (&mut self.additions, &mut self.awaited),
            rewrite,
            &mut bodies.bytes,
        )?;
        let to = weaver.method_of_body(opened.method);
        scratch.add_body(to, opened.old_len(to), start);
        let edits = &mut self.edits;
        let FirstLine { document, line } =
            weaver.move_lines(planned.planned, &opened, &rewritten, scratch, edits);
        if ty.file().is_empty() {
            weaver.set_file(ty, document);
        }
        weaver.record(ty, id, line, &opened, &mut scratch.descriptors)?;
        Ok(())
    }

    /// Weaves the points that a method (its place in the plan) has in its state machine, where its logical call is not woven with them.
    fn add_points(&mut self, place: usize, scratch: &mut Scratch) -> Result<()> {
        let weaver = self.weaver;
        let calls = weaver.points(&weaver.planned[place]).in_machine;
        for calls in calls.chunk_by(|a, b| a.inner == b.inner) {
            let inner = calls[0].inner;
            if self.with_points.contains(&inner) {
                continue;
            }
            match self.weave_points(place, inner, scratch) {
                Ok(()) => {}
                Err(Unwoven::Left(reason)) => {
                    let left = weaver.left(place, inner, reason);
                    let found = self.types.binary_search_by_key(&left.ty, |ty| ty.ty);
                    let at = found.unwrap_or_else(|at| at);
                    if found.is_err() {
                        let name = weaver.image.type_name(left.ty)?;
                        let ty = WovenType::new(left.ty, &name, "", 1);
                        self.types.insert(at, ty);
                    }
                    self.types[at].left.push(left);
                }
                Err(Unwoven::Failed(e)) => {
                    let label = weaver.image.metadata.method_label(inner);
                    return Err(e.in_method(label));
                }
            }
        }
        Ok(())
    }

    fn weave_points(&mut self, place: usize, inner: u32, scratch: &mut Scratch) -> Attempt<()> {
        let weaver = self.weaver;
        let opened = weaver.open(inner)?;
        let Some(around) = weaver.around_inner(&opened, place)? else {
            return Ok(());
        };
        let start = scratch.next_body();
        let rewritten = weaver.weave_inner(&opened, &around, None, &mut self.additions, scratch)?;
        scratch.add_body(opened.method, opened.body.len as u32, start);
        weaver.move_lines(place, &opened, &rewritten, scratch, &mut self.edits);
        Ok(())
    }

    /// The methods of a machine to weave; fails where one that is needed is not there or looks strange.
    fn methods(
        &self,
        logical: &state_machine::Weaver<'_, '_>,
        machine: Machine,
    ) -> Attempt<Vec<MachineMethod>> {
        let methods = state_machine::Weaver::methods(self.weaver.image, machine);
        let mut known = false;
        for part in methods.iter().filter(|p| p.is_needed()) {
            let opened = self.weaver.open(part.method)?;
            known = logical.knows(&opened.body, opened.result);
            if !known {
                break;
            }
        }
        match known {
            true => Ok(methods),
            false => Err(Reason::StateMachine.into()),
        }
    }

    fn moves_fields(&mut self) -> bool {
        *self.moves_fields.get_or_insert_with(|| {
            let kickoffs = self.machines.iter().map(|m| m.machine.kickoff);
            let pointed = self.pointed.iter().map(|(_, method)| *method);
            let left = self.left.iter().copied().chain(kickoffs).chain(pointed);
            self.weaver.names_readable_fields() && tokens::is_possible(self.weaver.image, left)
        })
    }

    /// Weaves the state machines, once all parts are joined. Also returns the outcomes of their types, ascending.
    pub fn finish(mut self, scratch: &mut Scratch) -> Result<(Joined<'i>, Vec<WovenType>)> {
        scratch.begin_bodies(0);
        scratch.descriptors.begin();
        for number in 0..self.machines.len() {
            self.add_machine(number, scratch)?;
        }
        for (place, _) in std::mem::take(&mut self.pointed) {
            self.add_points(place, scratch)?;
        }
        let is_woven = |part: &JoinedPart| !part.bodies.list.is_empty();
        let redirects = !self.weaver.redirects.is_empty();
        if self.parts.iter().any(is_woven) || !scratch.bodies.list.is_empty() || redirects {
            for adapter in &self.weaver.adapters {
                scratch.add_new_body(adapter.method, &adapter.body);
            }
        }
        self.parts.push(JoinedPart {
            bodies: scratch.take_bodies(),
            tokens: Tokens::Fields,
        });
        self.additions.close_signatures();
        let (weaver, edits) = (self.weaver, self.edits);
        let tokens = weaver.tokens.as_ref();
        let joined = Joined {
            framing: Framing {
                hooks: tokens.map_or(Hooks::default(), ordinary::Tokens::hooks),
                fields: self.additions.field_map(&weaver.image.metadata)?,
            },
            additions: self.additions,
            parts: self.parts,
            pdb: weaver.source.pdb().map(|pdb| (pdb, edits)),
            tail_calls: self.tail_calls,
        };
        Ok((joined, self.types))
    }
}
