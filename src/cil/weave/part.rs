//! A part of the plan: new bodies of ordinary methods, woven on any thread. They need nothing new in tables but signatures
//! of locals, which get their tokens when a [`Joiner`](crate::cil::weave::join::Joiner) joins the parts.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::{Attempt, Unwoven, settle};
use crate::aspect::bind::call::{Bound, Operand, Role, Source};
use crate::aspect::bind::site::{Passed, Redirect};
use crate::aspect::plan::{LeftCall, Planned, Redirected, Skipped};
use crate::aspect::woven::{NumberedMethod, WovenType};
use crate::cil::il::body::{self, Body};
use crate::cil::il::insn::op;
use crate::cil::image::Image;
use crate::cil::machines::{self, Machine, Machines, Sort};
use crate::cil::metadata::additions::Additions;
use crate::cil::metadata::blob_set::BlobSet;
use crate::cil::metadata::flags::has_il;
use crate::cil::metadata::flags::{impl_flag, method_flag};
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::signature::{Descriptors, MethodSignature};
use crate::cil::metadata::tables::{token, token_row, token_table};
use crate::cil::pdb::{self, FirstLine, Pdb};
use crate::cil::rewrite::{self, Frame, Rewritten, Signatures, Snippet};
use crate::cil::scan;
use crate::cil::symbols::{SymbolNames, SymbolNumbers};
use crate::cil::weave::adapters::{self, Adapter};
use crate::cil::weave::around::{self, Layer, Split, Splits};
use crate::cil::weave::bodies::{Bodies, Content, Framed, NewBody};
use crate::cil::weave::calls::ConstructorCalls;
use crate::cil::weave::completion::{self, Completion, Completions, Inner};
use crate::cil::weave::constructor::Calls;
use crate::cil::weave::import::{Importer, Imports};
use crate::cil::weave::methods::Methods;
use crate::cil::weave::ordinary::{self, MethodInfo, Tokens};
use crate::cil::weave::own::{self, Own};
use crate::cil::weave::points::{self, Around};
use crate::cil::weave::redirects::{self, Redirects, Token};
use crate::cil::weave::references::{self, Needs};
use crate::cil::weave::sites::{self, OldBodies, Read, Settled, Site};
use crate::cil::weave::tokens::{self, TokenPlaces};
use crate::error::{Error, Kind, Result};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The most bytes of code of a method that starts off and that the JIT may inline. From .NET 10 on the JIT inlines methods with
/// handlers, and takes seconds for a caller that inlines many of them: it did so with 80 bytes (docs/cost.md).
const MOST_INLINED: usize = 32;

/// Reusable buffers for weaving; one a thread.
#[derive(Default)]
pub struct Scratch {
    pub(crate) rewrite: rewrite::Scratch,
    pub(crate) own: Own,
    /// The new bodies of the part under way.
    pub(crate) bodies: Bodies,
    pub(crate) descriptors: Descriptors,
    /// A piece of the file.
    pub(crate) window: Vec<u8>,
}

/// What all threads read while they weave an image.
pub struct Weaver<'i, 'a> {
    pub(crate) image: &'i Image<'a>,
    /// The bodies, with their redirected calls.
    pub(crate) old: OldBodies<'i, 'a>,
    /// The methods to weave, and those that have points alone.
    pub(crate) planned: Vec<Planned>,
    /// The own hooks that methods have by their numbers.
    bound: Vec<Arc<Bound>>,
    pub(crate) source: &'i pdb::Source<'i>,
    pub(crate) pdb: Option<Pdb<'i>>,
    machines: Machines,
    /// See [`Weaver::names_readable_fields`].
    unplanned_readable: OnceLock<bool>,
    numbers: Option<SymbolNumbers>,
    /// The hooks, or why there are none.
    pub(crate) tokens: std::result::Result<Tokens, Reason>,
    /// What own hooks name, and the methods that they are called by.
    imports: Imports,
    pub(crate) adapters: Vec<Adapter>,
    /// What is called instead, and the points at which it is.
    all: Vec<Arc<Redirect>>,
    points: Vec<Redirected>,
    /// The calls and points that stay as they are, and why.
    pub(crate) left_calls: Vec<LeftCall>,
    /// The targets of redirected calls, by their numbers in the plan.
    pub(crate) redirects: Vec<Token>,
    /// The methods with `around` hooks.
    splits: Splits,
    /// The async methods that have hooks where they complete.
    completions: Completions,
    /// The rows that the hooks need.
    pub(crate) additions: Additions,
}

/// The points of a method at which something is called.
pub(crate) struct PointsOf<'w> {
    /// Those in its own code.
    own: &'w [Redirected],
    /// Those in its state machine.
    pub(crate) in_machine: &'w [Redirected],
}

/// The methods of some types, woven.
#[derive(Default)]
pub struct Part {
    pub(crate) bodies: Bodies,
    /// The signatures of locals, in the order of their first use.
    pub(crate) signatures: BlobSet,
    /// Where in the bytes tokens may change.
    pub(crate) tokens: TokenPlaces,
    pub(crate) pdb: pdb::Edits,
    pub(crate) machines: Vec<PlannedMachine>,
    /// The methods with points in state machines, which [`Joiner`](crate::cil::weave::join::Joiner) weaves, too: their places in the
    /// plan and their rows.
    pub(crate) pointed: Vec<(usize, u32)>,
    /// The other methods that are left unwoven: `MethodDef` rows.
    pub(crate) left: Vec<u32>,
    /// Methods whose tail calls became ordinary calls.
    pub(crate) tail_calls: u32,
}

/// What is woven of a method, which is a place in the plan and a `MethodDef` row.
#[derive(Clone, Copy)]
enum What {
    /// All of it.
    Method(PlannedRow),
    /// What runs where an async method or iterator is called. The rest is in its state machine.
    Kickoff(PlannedRow),
}

/// A planned method.
#[derive(Clone, Copy)]
struct PlannedRow {
    /// Its place in the plan.
    place: usize,
    /// Its row.
    method: u32,
}

/// What the methods of a type share.
#[derive(Clone, Copy)]
struct OfType<'t, 'i, 'a> {
    /// The type's row.
    row: u32,
    /// What its constructors call; none of a struct.
    constructors: Option<&'t ConstructorCalls<'i, 'a>>,
    tokens: &'t Tokens,
}

/// The hooks of a body.
#[derive(Clone, Copy)]
struct BodyHooks<'h> {
    planned: &'h Planned,
    bound: Option<&'h Bound>,
}

/// What own hooks are made for.
struct OwnAt<'o, 'm> {
    opened: &'o Opened<'m>,
    id: u32,
    /// Where the method begins.
    start: u32,
}

impl<'o, 'm> OwnAt<'o, 'm> {
    fn of(opened: &'o Opened<'m>, id: u32, start: u32) -> OwnAt<'o, 'm> {
        OwnAt { opened, id, start }
    }
}

/// A method with a state machine: [`Joiner`](crate::cil::weave::join::Joiner) weaves it.
#[derive(Clone, Copy)]
pub(crate) struct PlannedMachine {
    pub(crate) machine: Machine,
    /// Its place in the plan.
    pub(crate) planned: usize,
}

/// Gives the signatures of a part tokens behind the image's own; joining replaces them.
struct PartSignatures<'p> {
    signatures: &'p mut BlobSet,
    /// Rows of the image's `StandAloneSig`.
    rows: u32,
}

impl rewrite::Signatures for PartSignatures<'_> {
    fn stand_alone_sig(&mut self, blob: &[u8]) -> Result<u32> {
        let next = self.signatures.count();
        let row = self.rows + self.signatures.add(blob).unwrap_or(next) as u32 + 1;
        if row > 0xff_ffff {
            return Err(Error::new(Kind::NotDone, "too many signatures of locals"));
        }
        Ok(token(table::STAND_ALONE_SIG, row))
    }
}

/// An assembly that is woven.
#[derive(Clone, Copy)]
pub struct Assembly<'i, 'a> {
    pub image: &'i Image<'a>,
    /// Its debugging information.
    pub source: &'i pdb::Source<'i>,
}

impl<'i, 'a> Assembly<'i, 'a> {
    /// An image with its debugging information.
    pub fn of(image: &'i Image<'a>, source: &'i pdb::Source<'i>) -> Assembly<'i, 'a> {
        Assembly { image, source }
    }
}

impl<'i, 'a> Weaver<'i, 'a> {
    /// Prepares a weave: adds all rows that it needs but those of state machines, and redirects calls. With `numbers`,
    /// [`WovenType::numbered`] lists the methods, and [`Weaver::symbol_names`] has their names.
    pub fn new(
        assembly: Assembly<'i, 'a>,
        mut methods: Methods,
        machines: Machines,
        numbers: Option<SymbolNumbers>,
    ) -> Result<Weaver<'i, 'a>> {
        let Assembly { image, source } = assembly;
        if methods.calls.is_empty() {
            methods.redirects.clear();
        }
        let sites = sites::find(image, &machines, &methods)?;
        let points: Vec<Redirected> = sites.iter().filter_map(Site::point).collect();
        let redirects = Redirects {
            all: &methods.redirects,
            ids: &methods.call_ids,
            points: &points,
        };
        let mut additions = Additions::new(&image.metadata);
        let pdb = source.pdb();
        let lines = |method| {
            let first = pdb.as_ref().and_then(|pdb| pdb.first_line(method));
            first.map_or(0, |first| first.line)
        };
        let imported = import(
            (image, &machines),
            &methods,
            redirects,
            &lines,
            &mut additions,
        )?;
        let mut old = OldBodies::of(image);
        let Settled { points, left } = old.redirect(&sites, &imported.redirects)?;
        if !sites.is_empty() && left.len() == sites.len() {
            // Nothing was to be imported for them.
            methods.calls.clear();
            let weaver = Weaver::new(assembly, methods, machines, numbers)?;
            return Ok(Weaver {
                left_calls: left,
                ..weaver
            });
        }
        methods.add_pointed(&points);
        Ok(Weaver {
            image,
            old,
            planned: methods.planned,
            bound: methods.bound,
            imports: imported.imports,
            adapters: imported.adapters,
            redirects: imported.redirects,
            splits: imported.splits,
            completions: imported.completions,
            all: methods.redirects,
            points,
            left_calls: left,
            source,
            pdb,
            machines,
            unplanned_readable: OnceLock::new(),
            numbers,
            tokens: imported.tokens,
            additions,
        })
    }

    /// What the logical calls of a planned method say where they begin, if they can be switched.
    pub(crate) fn logical(&self, planned: usize) -> Option<i32> {
        self.bound[self.planned[planned].bound? as usize].logical
    }

    /// The own hooks of a planned method.
    fn bound(&self, planned: &Planned) -> Option<&Bound> {
        planned.bound.map(|place| &*self.bound[place as usize])
    }

    /// The own hooks of a planned method that lie with its body: a hook may run instead of that.
    pub(crate) fn of_body(&self, planned: &Planned) -> Option<&Bound> {
        let mut bound = self.bound(planned)?;
        while let Some(around) = &bound.around {
            bound = around.inner.as_deref()?;
        }
        Some(bound)
    }

    /// Whether the kick-off of a method, by its index, calls something. Except in async methods, the call that says
    /// what is left out of texts is in the state machine.
    pub(crate) fn begins_apart(&self, place: usize, sort: Sort) -> bool {
        let bound = self.bound(&self.planned[place]);
        bound.is_some_and(|bound| !bound.is_empty())
            && (sort == Sort::Async || self.held(place).is_none())
    }

    /// Whether a method has hooks where it completes, and that is not known.
    fn lacks_completion(&self, planned: &Planned, method: u32) -> bool {
        let ends = self.of_body(planned).is_some_and(Bound::ends_elsewhere);
        let by_runtime = || {
            let machine = self.machines.of(method);
            machine.is_some_and(|machine| machine.sort == Sort::ByRuntime)
        };
        ends && !self.completions.contains_key(&method) && !by_runtime()
    }

    /// The call by which a planned method, by its index, says what is left out of texts, if it calls nothing else and
    /// there is room.
    pub(crate) fn held(&self, place: usize) -> Option<Snippet> {
        let none = Snippet::default();
        let planned = &self.planned[place];
        let Some(bound) = planned.bound.map(|place| &self.bound[place as usize]) else {
            return Some(none);
        };
        let mut held = none;
        for call in bound.all() {
            let [mask, how, _] = &*call.operands else {
                return None;
            };
            let code = match (&mask.source, call.role == Role::Hold) {
                (Source::Text(table), true) => none.op_u32(op::LDSTR, self.imports.text(table)?),
                (_, true) => none.op(op::LDNULL),
                _ => return None,
            };
            let Source::Int(how) = how.source else {
                return None;
            };
            let code = code.op_u32(op::LDC_I4, how as u32);
            held = held.then(code.hook(planned.id, self.imports.method(call)?))?;
        }
        // What goes behind it has the room that it always had.
        (held.len() <= Snippet::HELD).then_some(held)
    }

    /// The points of a method at which something is called.
    pub(crate) fn points(&self, planned: &Planned) -> PointsOf<'_> {
        let place = (planned.ty, planned.index);
        let start = (self.points).partition_point(|call| (call.ty, call.index) < place);
        let end = (self.points).partition_point(|call| (call.ty, call.index) <= place);
        let all = &self.points[start..end];
        let (own, in_machine) = all.split_at(all.partition_point(|call| call.inner == 0));
        PointsOf { own, in_machine }
    }

    /// What goes around points of a method that is open; `extra` is the number of other new locals.
    fn around(&self, opened: &Opened<'_>, extra: u32, calls: &[Redirected]) -> Attempt<Around> {
        let inner = calls.first().map_or(0, |call| call.inner);
        let takes_line = |call: &Redirected| {
            let placed = self.all[call.redirect as usize].placed();
            placed.is_some_and(|placed| placed.passed.contains(&Passed::Line))
        };
        let lines = match &self.pdb {
            Some(pdb) if calls.iter().any(takes_line) => pdb.lines(opened.method),
            _ => Vec::new(),
        };
        let machine = (inner != 0).then(|| self.image.metadata.owner_of_method(inner));
        let method = points::Method {
            image: self.image,
            imports: &self.imports,
            tokens: &self.redirects,
            redirects: &self.all,
            body: &opened.body,
            locals: points::count_of_locals(opened.locals) + extra,
            lines: &lines,
            field_of_this: (machine.flatten())
                .and_then(|machine| scan::machine::field_of_this(self.image, machine)),
        };
        Ok(method.around(calls)?.ok_or(Reason::Unsupported)?)
    }

    /// What goes around the points in a method of a state machine, of a method by its place in the plan.
    pub(crate) fn around_inner(
        &self,
        opened: &Opened<'_>,
        place: usize,
    ) -> Attempt<Option<Around>> {
        let calls = self.points(&self.planned[place]).in_machine;
        let start = calls.partition_point(|call| call.inner < opened.method);
        let end = calls.partition_point(|call| call.inner <= opened.method);
        match &calls[start..end] {
            [] => Ok(None),
            calls => self.around(opened, 0, calls).map(Some),
        }
    }

    /// The methods of a state machine, by their rows, that have hooks where the call ends, or are needed for them.
    pub(crate) fn completing(&self, kickoff: u32) -> Vec<u32> {
        let completion = self.completions.get(&kickoff);
        completion.map_or(Vec::new(), |c| c.methods().collect())
    }

    /// What goes around the points in a method of a state machine, and its hooks where the call ends.
    pub(crate) fn around_ends(
        &self,
        opened: &Opened<'_>,
        place: usize,
        kickoff: u32,
    ) -> Attempt<Option<Inner>> {
        let around = self.around_inner(opened, place)?;
        let completion = self.completions.get(&kickoff);
        let is_met = |c: &&Completion| c.methods().any(|method| method == opened.method);
        let Some(completion) = completion.filter(is_met) else {
            return Ok(around.map(|around| Inner { around, own: None }));
        };
        let mut inner = Inner {
            around: around.unwrap_or_default(),
            own: None,
        };
        let method = self.open_any(kickoff)?;
        let this = self.this_type(place)?;
        let of_kickoff = own::Method {
            is_zeroed: rewrite::zeroes_locals(&opened.body),
            ..self.as_own(&method, place, &this)?
        };
        let exception = self.tokens.as_ref().map_err(|reason| *reason)?.exception;
        let named = (&self.imports, exception);
        completion
            .inner(opened.method, named, &of_kickoff, opened.locals, &mut inner)
            .ok_or(Reason::StateMachine)?;
        Ok(Some(inner))
    }

    /// What own hooks name.
    pub(crate) fn imports(&self) -> &Imports {
        &self.imports
    }

    /// The type of `this` of a planned method, by its place, as signatures spell it.
    pub(crate) fn this_type(&self, place: usize) -> Result<Vec<u8>> {
        let owner = self.planned[place].ty + 1;
        let is_value = around::is_value_type(self.image, owner)?;
        Ok(around::this_type(self.image, owner, is_value))
    }

    /// A method that is open as own hooks see it, from its beginning on.
    pub(crate) fn as_own<'m>(
        &self,
        opened: &Opened<'m>,
        place: usize,
        this: &'m [u8],
    ) -> Result<own::Method<'m>>
    where
        'a: 'm,
    {
        Ok(own::Method {
            code: opened.body.code,
            start: 0,
            signature: self.image.metadata.blobs.get(opened.signature)?,
            locals: opened.locals,
            this: (opened.flags & method_flag::STATIC == 0).then_some(this),
            id: self.planned[place].id,
            line: self.line(opened.method),
            is_raw: false,
            is_zeroed: rewrite::zeroes_locals(&opened.body),
            runs: &[],
            result: None,
            more_locals: 0,
            ends: own::Ends::Here,
        })
    }

    /// The names of all methods that are planned, if they are numbered.
    pub fn symbol_names(&self) -> Result<Option<SymbolNames<'_, 'i, 'a>>> {
        let Some(numbers) = &self.numbers else {
            return Ok(None);
        };
        let image = self.image;
        let row = |p: &Planned| {
            let positions = image.metadata.method_positions(p.ty + 1)?;
            image.metadata.method_at(positions.start + p.index)
        };
        SymbolNames::of(&image.metadata, numbers, self.planned.iter().map(row)).map(Some)
    }

    /// Records a woven method.
    pub(crate) fn record(
        &self,
        ty: &mut WovenType,
        id: u32,
        line: u32,
        opened: &Opened<'_>,
        descriptors: &mut Descriptors,
    ) -> Result<()> {
        let numbers = self.numbers.as_ref().and_then(|numbers| {
            Some((
                numbers.name(opened.name)?,
                numbers.descriptor(opened.method, opened.signature)?,
            ))
        });
        if let Some((name, descriptor)) = numbers {
            ty.add_numbered(NumberedMethod {
                id,
                line,
                name,
                descriptor,
            });
            return Ok(());
        }
        let name = self.image.metadata.strings.text(opened.name)?;
        let descriptor = descriptors.get(&self.image.metadata, opened.method, opened.signature);
        ty.add(id, line, &name, |text| text.push_str(descriptor));
        Ok(())
    }

    /// Ranges of about so many methods for [`Weaver::part`]. The last ones are smaller, so that all threads end at about
    /// the same time.
    pub fn parts(&self, methods: usize) -> Vec<Range<usize>> {
        /// A part is at most one of so many equal shares of the rest, unless it is small.
        const SHARE: usize = 8;
        const SMALL: usize = 128;
        let mut parts: Vec<Range<usize>> = Vec::new();
        for of_type in self.planned.chunk_by(|a, b| a.ty == b.ty) {
            let start = parts.last().map_or(0, |part| part.end);
            let left = |part: &Range<usize>| self.planned.len() - part.start;
            let is_full =
                |part: &Range<usize>| part.len() >= methods.min(SMALL.max(left(part) / SHARE));
            match parts.last_mut() {
                Some(part) if !is_full(part) => part.end += of_type.len(),
                _ => parts.push(start..start + of_type.len()),
            }
        }
        parts
    }

    /// Weaves a part of the plan without its state machines. Shows `each` the outcome of each type, which it may take.
    pub fn part(
        &self,
        methods: Range<usize>,
        scratch: &mut Scratch,
        each: &mut dyn FnMut(&mut WovenType),
    ) -> Result<Part> {
        scratch.begin_bodies(methods.len());
        scratch.descriptors.begin();
        let mut part = Part::default();
        let mut ty = WovenType::default();
        let mut first = methods.start;
        for of_type in self.planned[methods].chunk_by(|a, b| a.ty == b.ty) {
            self.weave_type(of_type, first, &mut part, &mut ty, scratch)?;
            each(&mut ty);
            first += of_type.len();
        }
        part.bodies = scratch.take_bodies();
        part.signatures.close();
        part.tokens.locals.shrink_to_fit();
        part.tokens.fields.shrink_to_fit();
        Ok(part)
    }

    fn weave_type(
        &self,
        planned: &[Planned],
        first: usize,
        part: &mut Part,
        ty: &mut WovenType,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let image = self.image;
        let number = planned[0].ty;
        ty.begin(number, |name| {
            image
                .metadata
                .types()
                .put_name(&image.metadata, number + 1, name)
        })?;
        // The first document that a method names.
        let mut document = 0;
        let this = match around::is_value_type(image, number + 1)? {
            true => None,
            false => Some(ConstructorCalls::of(image, number + 1)),
        };
        let in_machine = self.machines.has_type(number + 1);
        let positions = image.metadata.method_positions(number + 1)?;
        for (place, planned) in (first..).zip(planned) {
            let method = image.metadata.method_at(positions.start + planned.index)?;
            if !self.points(planned).in_machine.is_empty() {
                part.pointed.push((place, method));
                if planned.advice == Advice::default() {
                    continue;
                }
            }
            let woven = scratch.bodies.list.len();
            let outcome = match &self.tokens {
                Ok(_) if in_machine => Err(Reason::InStateMachine.into()),
                Ok(tokens) => {
                    let of = OfType {
                        row: number + 1,
                        constructors: this.as_ref(),
                        tokens,
                    };
                    self.weave_planned(PlannedRow { place, method }, of, part, ty, scratch)
                }
                Err(reason) => Err((*reason).into()),
            };
            match outcome {
                Ok(Some(named)) if document == 0 => document = named,
                Ok(_) => {}
                Err(Unwoven::Left(reason)) => {
                    part.left.push(method);
                    if let Some(split) = self.splits.get(&method) {
                        scratch.bodies.list.truncate(woven);
                        let inner = split.layers[1..].iter().map(|layer| layer.method);
                        for method in inner.chain([split.body]) {
                            scratch.add_new_body(method, &around::NO_BODY);
                        }
                    }
                    ty.left.push(self.left(place, method, reason));
                }
                Err(Unwoven::Failed(e)) => return Err(self.failed(e, ty, method)),
            }
        }
        self.set_file(ty, document);
        Ok(())
    }

    /// Weaves a method as what it is; the document that it names, or `None` where its state machine is woven later.
    fn weave_planned(
        &self,
        row: PlannedRow,
        of: OfType<'_, '_, '_>,
        part: &mut Part,
        ty: &mut WovenType,
        scratch: &mut Scratch,
    ) -> Attempt<Option<u32>> {
        let PlannedRow { place, method } = row;
        let planned = &self.planned[place];
        let machine = match self.machines.of(method) {
            // Its kick-off is counted, which is an ordinary method.
            Some(_) if planned.advice == Advice::COUNT => None,
            // Or of an image whose machines are not known.
            _ if self.lacks_completion(planned, method) => {
                return Err(Reason::StateMachine.into());
            }
            None if self.logical(place).is_some() => return Err(Reason::StateMachine.into()),
            machine => machine,
        };
        let Some(machine) = machine else {
            let what = What::Method(row);
            return self.weave_method(what, of, part, ty, scratch).map(Some);
        };
        // A call that would be summed up is recorded: it goes over threads.
        let has_pair = has_pair(planned);
        let what = match has_pair {
            true => What::Kickoff(row),
            false => What::Method(row),
        };
        // The runtime suspends the method itself.
        let has_kickoff = machine.sort != Sort::ByRuntime;
        let named = match has_kickoff {
            true if self.begins_apart(place, machine.sort) => {
                self.weave_method(what, of, part, ty, scratch)?
            }
            true => 0,
            false => self.weave_around(row, of, part, scratch)?,
        };
        let completes = self.completions.contains_key(&method);
        if has_pair || completes || !has_kickoff {
            part.machines.push(PlannedMachine {
                machine,
                planned: place,
            });
            return Ok(None);
        }
        Ok(Some(named))
    }

    /// Names a type's source file: a document's row, or 0.
    pub(crate) fn set_file(&self, ty: &mut WovenType, document: u32) {
        if let (1.., Some(pdb)) = (document, &self.pdb) {
            ty.set_file(|text| pdb.put_document_name(document, text));
        }
    }

    /// An error with the method that it is about.
    pub(crate) fn failed(&self, e: Error, ty: &WovenType, method: u32) -> Error {
        let label = self.image.metadata.method_label(method);
        e.in_method(format!("{}.{label}", ty.name()))
    }

    /// A planned method that is left unwoven.
    pub(crate) fn left(&self, place: usize, method: u32, reason: Reason) -> Skipped {
        let planned = &self.planned[place];
        Skipped {
            ty: planned.ty,
            index: planned.index,
            method: self.image.metadata.method_label(method),
            reason,
            asked: false,
        }
    }

    /// Weaves a method into a part; returns the document of its first line.
    fn weave_method(
        &self,
        what: What,
        of: OfType<'_, '_, '_>,
        part: &mut Part,
        ty: &mut WovenType,
        scratch: &mut Scratch,
    ) -> Attempt<u32> {
        let (What::Method(row) | What::Kickoff(row)) = what;
        let PlannedRow { place, method } = row;
        let opened = self.open(method)?;
        let planned = match what {
            What::Method(..) => self.planned[place],
            What::Kickoff(..) => Planned {
                advice: Advice::OWN,
                ..self.planned[place]
            },
        };
        let split = self.splits.get(&method);
        let rewritten = match split {
            Some(split) => self.weave_split(&opened, split, &planned, of, part, scratch)?,
            None => {
                let hooks = BodyHooks {
                    planned: &planned,
                    bound: self.bound(&planned),
                };
                Some(self.weave_body(&opened, method, hooks, of, part, scratch)?)
            }
        };
        let named = match rewritten {
            Some(new) => self.move_lines(place, &opened, &new, scratch, &mut part.pdb),
            None => self.first_line(method),
        };
        if let Some(split) = split {
            self.weave_layers(split, &opened, &planned, of, part, scratch)?;
        }
        if let What::Method(..) = what
            && planned.advice != Advice::default()
        {
            let descriptors = &mut scratch.descriptors;
            self.record(ty, planned.id, named.line, &opened, descriptors)?;
        }
        Ok(named.document)
    }

    /// Weaves a method with hooks instead of its body; returns its new body, if that is not the old one.
    fn weave_split(
        &self,
        opened: &Opened<'_>,
        split: &Split,
        planned: &Planned,
        of: OfType<'_, '_, '_>,
        part: &mut Part,
        scratch: &mut Scratch,
    ) -> Attempt<Option<Rewritten>> {
        // A jump is to a method of the same signature, which the body has not any more.
        let mut jumps = false;
        let walked = (scratch.rewrite).walk(&opened.body, |insn, _| {
            jumps |= insn.opcode == op::JMP;
        });
        if walked.is_err() {
            return Err(Reason::UnreadableBody.into());
        }
        if jumps {
            return Err(Reason::Unsupported.into());
        }
        let pair = planned.advice.without(Advice::OWN);
        let inner = split.inner.as_deref();
        let is_plain = pair == Advice::default() && self.points(planned).own.is_empty();
        let rewritten = match is_plain && inner.is_none() {
            true => {
                let start = scratch.next_body();
                scratch.bodies.bytes.extend_from_slice(opened.bytes);
                scratch.add_body(split.body, 0, start);
                if !self.machines.is_empty() {
                    let fields = TokenPlaces::of_fields(&scratch.bodies.bytes[start..])?.fields;
                    part.tokens
                        .fields
                        .extend(fields.iter().map(|at| at + start as u32));
                }
                None
            }
            false => {
                let own = match inner {
                    Some(_) => Advice::OWN,
                    None => Advice::default(),
                };
                let planned = Planned {
                    advice: pair.with(own),
                    ..*planned
                };
                let hooks = BodyHooks {
                    planned: &planned,
                    bound: inner,
                };
                Some(self.weave_body(opened, split.body, hooks, of, part, scratch)?)
            }
        };
        Ok(rewritten)
    }

    /// Weaves what calls the hooks instead of a body.
    fn weave_layers(
        &self,
        split: &Split,
        opened: &Opened<'_>,
        planned: &Planned,
        of: OfType<'_, '_, '_>,
        part: &mut Part,
        scratch: &mut Scratch,
    ) -> Attempt<()> {
        for layer in &split.layers {
            self.weave_layer(layer, opened, planned, of, part, scratch)?;
            let row = self
                .image
                .metadata
                .tables
                .row(table::METHOD_DEF, opened.method)?;
            let by_runtime = row.get(column::method_def::IMPL_FLAGS) & impl_flag::ASYNC != 0;
            if layer.method == opened.method && by_runtime {
                scratch.unsuspend();
            }
        }
        if self.pdb.is_some() {
            part.pdb.move_body(opened.method, split.body);
        }
        Ok(())
    }

    /// Weaves what calls the hooks instead of a body that the runtime suspends. [`Joiner`](crate::cil::weave::join::Joiner) does the rest.
    fn weave_around(
        &self,
        PlannedRow { place, method }: PlannedRow,
        of: OfType<'_, '_, '_>,
        part: &mut Part,
        scratch: &mut Scratch,
    ) -> Attempt<u32> {
        if let Some(split) = self.splits.get(&method) {
            let opened = self.open_any(method)?;
            let planned = &self.planned[place];
            self.weave_layers(split, &opened, planned, of, part, scratch)?;
        }
        Ok(0)
    }

    /// Appends the body of a method as it is for the method that a hook runs instead, if there is one.
    pub(crate) fn keep_body(&self, method: u32, scratch: &mut Scratch) -> Attempt<()> {
        let to = self.method_of_body(method);
        if to != method {
            let opened = self.open_any(method)?;
            scratch.add_new_body(to, opened.bytes);
        }
        Ok(())
    }

    /// The method that has the body of another one in the end: a hook may run instead of it.
    pub(crate) fn method_of_body(&self, method: u32) -> u32 {
        self.splits.get(&method).map_or(method, |split| split.body)
    }

    /// Weaves what calls a hook instead of a body, with the hooks outside of that.
    fn weave_layer(
        &self,
        layer: &Layer,
        opened: &Opened<'_>,
        planned: &Planned,
        of: OfType<'_, '_, '_>,
        part: &mut Part,
        scratch: &mut Scratch,
    ) -> Attempt<()> {
        let locals = match &*layer.locals {
            [] => 0,
            blob => self.signatures(part).stand_alone_sig(blob)?,
        };
        let mut plain = Vec::new();
        layer.put_body(locals, &mut plain);
        let old_len = opened.old_len(layer.method);
        let Some(bound) = layer.bound.as_deref() else {
            let start = scratch.next_body();
            scratch.bodies.bytes.extend_from_slice(&plain);
            scratch.add_body(layer.method, old_len, start);
            if locals != 0 {
                part.tokens.locals.push((start + body::LOCALS) as u32);
            }
            return Ok(());
        };
        let plain = Opened {
            locals: &layer.locals,
            origin: Origin::Made,
            body: Body::parse(&plain, 0)?,
            ..*opened
        };
        let planned = Planned {
            advice: Advice::OWN,
            ..*planned
        };
        let hooks = BodyHooks {
            planned: &planned,
            bound: Some(bound),
        };
        self.weave_body(&plain, layer.method, hooks, of, part, scratch)?;
        Ok(())
    }

    /// Gives a part's signatures tokens.
    fn signatures<'p>(&self, part: &'p mut Part) -> PartSignatures<'p> {
        PartSignatures {
            signatures: &mut part.signatures,
            rows: self.image.metadata.tables.rows(table::STAND_ALONE_SIG),
        }
    }

    /// Makes the code of own hooks for a body; whether those at the end are in it.
    fn make_own(
        &self,
        code: &mut own::Own,
        bound: &Bound,
        OwnAt { opened, id, start }: OwnAt<'_, '_>,
        of: OfType<'_, '_, '_>,
        shape: &MethodInfo<'_>,
    ) -> Attempt<bool> {
        let this_type = around::this_type(self.image, of.row, of.constructors.is_none());
        let ends = match bound.ends_elsewhere() {
            true => own::Ends::Elsewhere(
                (self.completions.get(&opened.method)).map_or(own::Times::Any, Completion::times),
            ),
            false => own::Ends::Here,
        };
        let method = own::Method {
            code: opened.body.code,
            start,
            signature: self.image.metadata.blobs.get(opened.signature)?,
            locals: opened.locals,
            this: (opened.flags & method_flag::STATIC == 0).then_some(&*this_type),
            id,
            line: self.line(opened.method),
            is_raw: shape.constructor.is_some() && start == 0,
            is_zeroed: rewrite::zeroes_locals(&opened.body),
            runs: &[],
            result: None,
            more_locals: 0,
            ends,
        };
        code.make(&self.imports, bound, &method)?;
        Ok(method.ends == own::Ends::Here)
    }

    /// Weaves a body, which becomes that of the method `to`.
    fn weave_body(
        &self,
        opened: &Opened<'_>,
        to: u32,
        BodyHooks { planned, bound }: BodyHooks<'_>,
        of: OfType<'_, '_, '_>,
        part: &mut Part,
        scratch: &mut Scratch,
    ) -> Attempt<Rewritten> {
        let is_constructor = opened.flags & method_flag::STATIC == 0
            && self.image.metadata.strings.is(opened.name, b".ctor");
        let shape = MethodInfo {
            constructor: (of.constructors.filter(|_| is_constructor)).map(|c| c as &dyn Calls),
            ..opened.info()
        };
        let body = &opened.body;
        let rewrite = &mut scratch.rewrite;
        let mut recipe = ordinary::recipe(body, &shape, planned, of.tokens, rewrite)?;
        let mut own_code = std::mem::take(&mut scratch.own);
        let own = match bound {
            Some(bound) => {
                let at = OwnAt::of(opened, planned.id, recipe.start);
                let ends_here = self.make_own(&mut own_code, bound, at, of, &shape)?;
                recipe.extra = own_code.extra();
                if recipe.error.is_empty() && ends_here && !bound.exception.is_empty() {
                    // The exception lies there for the recorded pair.
                    recipe.error = Snippet::default().op(op::POP);
                }
                Some(own_code.code())
            }
            None => None,
        };
        // What calls a hook instead of the body has none of its points.
        let points = match opened.origin {
            Origin::Made => &[],
            _ => self.points(planned).own,
        };
        let mut around = match points {
            [] => None,
            calls => Some(self.around(opened, recipe.extra.1, calls)?),
        };
        if let (Some(_), Some(packed)) = (own, own_code.packed())
            && let Some(completion) = self.completions.get(&opened.method)
        {
            completion.start(packed, around.get_or_insert_default());
        }
        let mut locals = Vec::new();
        if let Some(around) = &around {
            locals.extend_from_slice(recipe.extra.0);
            locals.extend_from_slice(&around.locals.0);
            recipe.extra = (&locals, recipe.extra.1 + around.locals.1);
            recipe.points = Some(&around.points);
        }
        let has_all = planned.advice.has(Advice::ALL) && own.is_none() && around.is_none();
        let old_len = opened.old_len(to);
        let frame = match opened.origin {
            Origin::Input(at) if has_all => {
                let asked = (planned.id, self.pdb.is_some());
                let frame = rewrite.frame(body, &recipe, asked, &mut self.signatures(part))?;
                frame.map(|frame| (at, frame))
            }
            _ => None,
        };
        let has_handler = !recipe.error.is_empty();
        let apart = bound.is_some_and(|b| {
            b.switched().is_some() && !(b.starts_off() && body.code.len() <= MOST_INLINED)
        });
        let notes_fields = !self.machines.is_empty();
        let rewritten = match frame {
            Some((at, frame)) => {
                scratch.add_framed(at, to, old_len, frame, notes_fields);
                frame.rewritten()
            }
            None => {
                let start = scratch.next_body();
                let how = (&recipe, own.unwrap_or_default());
                let Scratch {
                    rewrite, bodies, ..
                } = &mut *scratch;
                let signatures = &mut self.signatures(part);
                let rewritten = rewrite.rewrite_with(body, how, signatures, &mut bodies.bytes)?;
                scratch.add_body(to, old_len, start);
                if has_handler {
                    scratch.has_handler(apart);
                }
                let is_made = opened.origin == Origin::Made;
                if rewritten.locals != body.locals || is_made && rewritten.locals != 0 {
                    part.tokens
                        .locals
                        .push((rewritten.start + body::LOCALS) as u32);
                }
                if notes_fields {
                    let fields = scratch.rewrite.fields(&rewritten);
                    part.tokens.fields.extend(fields.map(|at| at as u32));
                }
                rewritten
            }
        };
        scratch.own = own_code;
        part.tail_calls += u32::from(rewritten.drops_tail_call);
        Ok(rewritten)
    }

    /// Appends the new body of a method that gets only what goes around its points, and hooks at its end.
    pub(crate) fn weave_inner(
        &self,
        opened: &Opened<'_>,
        around: &Around,
        own: Option<rewrite::Own<'_>>,
        signatures: &mut dyn Signatures,
        scratch: &mut Scratch,
    ) -> Attempt<Rewritten> {
        let tokens = self.tokens.as_ref().map_err(|reason| *reason)?;
        let shape = opened.info();
        let body = &opened.body;
        let planned = Planned::bare(0, 0);
        let mut recipe = ordinary::recipe(body, &shape, &planned, tokens, &mut scratch.rewrite)?;
        recipe.extra = around.extra();
        recipe.points = Some(&around.points);
        if own.is_some_and(|own| own.error_len() > 0) {
            recipe.error = Snippet::default().op(op::POP);
        }
        let Scratch {
            rewrite, bodies, ..
        } = scratch;
        let how = (&recipe, own.unwrap_or_default());
        rewrite.rewrite_with(body, how, signatures, &mut bodies.bytes)
    }

    /// Moves a method's debugging information; returns its first line.
    pub(crate) fn move_lines(
        &self,
        place: usize,
        opened: &Opened<'_>,
        new: &Rewritten,
        scratch: &Scratch,
        edits: &mut pdb::Edits,
    ) -> FirstLine {
        let Some(pdb) = &self.pdb else {
            return FirstLine::default();
        };
        let (method, old_len) = (opened.method, opened.body.code.len() as u32);
        let layout = scratch.rewrite.layout();
        edits.method(pdb, (place as u32, method), layout, old_len, new);
        self.first_line(method)
    }

    /// The first source line of a method, or 0.
    pub(crate) fn line(&self, method: u32) -> u32 {
        self.first_line(method).line
    }

    /// The first source line of a method: of an async method or iterator it is in its state machine.
    fn first_line(&self, method: u32) -> FirstLine {
        let Some(pdb) = &self.pdb else {
            return FirstLine::default();
        };
        let in_machine = || {
            let machine = self.machines.of(method).filter(|machine| machine.ty != 0)?;
            let (row, _) = machines::methods(self.image, machine.ty)
                .find(|(_, name)| name.rsplit(|&b| b == b'.').next() == Some(b"MoveNext"))?;
            pdb.first_line(row)
        };
        pdb.first_line(method)
            .or_else(in_machine)
            .unwrap_or_default()
    }

    /// A method's body and what of its tables weaving needs; not of one that the runtime suspends.
    pub(crate) fn open(&self, method: u32) -> Attempt<Opened<'_>> {
        let row = self.image.metadata.tables.row(table::METHOD_DEF, method)?;
        if has_il(&row) && row.get(column::method_def::IMPL_FLAGS) & impl_flag::ASYNC != 0 {
            return Err(Reason::RuntimeAsync.into());
        }
        self.open_any(method)
    }

    /// The same, of any method.
    pub(crate) fn open_any(&self, method: u32) -> Attempt<Opened<'_>> {
        use column::method_def::{FLAGS, NAME, RVA, SIGNATURE};
        let metadata = &self.image.metadata;
        let row = metadata.tables.row(table::METHOD_DEF, method)?;
        if !has_il(&row) {
            return Err(Reason::NoBody.into());
        }
        let Ok(Read { body, bytes, at }) = self.old.body(row.get(RVA)) else {
            return Err(Reason::UnreadableBody.into());
        };
        let locals = match body.locals {
            0 => &[][..],
            locals => {
                let row = metadata.tables.row(token_table(locals), token_row(locals));
                match row.and_then(|row| metadata.blobs.get(row.get(0))) {
                    Ok(blob) if token_table(locals) == table::STAND_ALONE_SIG => blob,
                    _ => return Err(Reason::UnreadableBody.into()),
                }
            }
        };
        Ok(Opened {
            method,
            flags: row.get(FLAGS),
            name: row.get(NAME),
            signature: row.get(SIGNATURE),
            result: MethodSignature::parse(metadata.blobs.get(row.get(SIGNATURE))?)?.returns,
            locals,
            origin: match at {
                Some(at) => Origin::Input(at + body.code_offset),
                None => Origin::Redirected,
            },
            bytes,
            body,
        })
    }

    /// Checks the methods that are not planned, which joining may need, while other threads weave.
    pub fn look_ahead(&self) {
        if !self.machines.is_empty() {
            self.names_readable_fields();
        }
    }

    /// Whether all fields can be found that unplanned methods name.
    pub(crate) fn names_readable_fields(&self) -> bool {
        *self.unplanned_readable.get_or_init(|| {
            let methods = self.image.metadata.tables.rows(table::METHOD_DEF);
            let mut planned = vec![false; methods as usize + 1];
            for of_type in self.planned.chunk_by(|a, b| a.ty == b.ty) {
                let Ok(positions) = self.image.metadata.method_positions(of_type[0].ty + 1) else {
                    return false;
                };
                for p in of_type {
                    if let Ok(method) = self.image.metadata.method_at(positions.start + p.index) {
                        planned[method as usize] = true;
                    }
                }
            }
            let unplanned = (1..=methods).filter(|&method| !planned[method as usize]);
            tokens::is_possible(self.image, unplanned)
        })
    }
}

impl Scratch {
    /// Makes room for the bodies of about so many methods; drops those of a part that failed.
    pub(crate) fn begin_bodies(&mut self, methods: usize) {
        /// What bodies that are written at once take in many programs, in relation to all.
        const USUAL: usize = 64;
        let Bodies {
            list,
            bytes,
            frames,
            fields,
        } = &mut self.bodies;
        list.clear();
        bytes.clear();
        frames.clear();
        fields.clear();
        list.reserve_exact(methods);
        bytes.reserve(methods * USUAL);
        frames.reserve_exact(methods);
        fields.reserve(methods);
    }

    /// The bodies, without spare memory: parts wait until the last one is woven.
    pub(crate) fn take_bodies(&mut self) -> Bodies {
        let mut bodies = std::mem::take(&mut self.bodies);
        bodies.bytes.shrink_to_fit();
        bodies.frames.shrink_to_fit();
        bodies.fields.shrink_to_fit();
        bodies
    }

    /// Where the next body begins.
    pub(crate) fn next_body(&mut self) -> usize {
        let bytes = &mut self.bodies.bytes;
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.len()
    }

    /// Adds the new body of a method (its row, and the length of its old body), which begins at `start` and ends here.
    pub(crate) fn add_body(&mut self, method: u32, old_len: u32, start: usize) {
        self.bodies.list.push(NewBody {
            method,
            content: Content::Bytes(start as u32),
            len: (self.bodies.bytes.len() - start) as u32,
            old_len,
            at: 0,
            has_handler: false,
            apart: false,
            unmarked: false,
            unsuspended: false,
        });
    }

    /// The method whose body was added last has a handler. `apart`: the JIT is not to inline it ([`MOST_INLINED`]).
    fn has_handler(&mut self, apart: bool) {
        if let Some(body) = self.bodies.list.last_mut() {
            body.has_handler = true;
            body.apart = apart;
        }
    }

    /// The runtime does not suspend the method whose body was added last.
    fn unsuspend(&mut self) {
        if let Some(body) = self.bodies.list.last_mut() {
            body.unsuspended = true;
        }
    }

    /// Adds the body of a method that is new.
    pub(crate) fn add_new_body(&mut self, method: u32, body: &[u8]) {
        let start = self.next_body();
        self.bodies.bytes.extend_from_slice(body);
        self.bodies.list.push(NewBody {
            method,
            content: Content::Bytes(start as u32),
            len: body.len() as u32,
            old_len: 0,
            at: 0,
            has_handler: false,
            apart: false,
            unmarked: false,
            unsuspended: false,
        });
    }

    /// Adds the body of a method, a frame around the code at `from` that was just read; `notes_fields`: its fields may move.
    fn add_framed(
        &mut self,
        from: usize,
        method: u32,
        old_len: u32,
        frame: Frame,
        notes_fields: bool,
    ) {
        let bodies = &mut self.bodies;
        if notes_fields {
            bodies.fields.extend(self.rewrite.old_fields());
        }
        bodies.list.push(NewBody {
            method,
            content: Content::Framed(bodies.frames.len() as u32),
            len: frame.size() as u32,
            old_len,
            at: 0,
            has_handler: true,
            apart: false,
            unmarked: false,
            unsuspended: false,
        });
        bodies.frames.push(Framed {
            frame,
            from: from as u32,
            fields_end: bodies.fields.len() as u32,
        });
    }
}

/// A method to be woven.
pub(crate) struct Opened<'a> {
    /// The `MethodDef` row.
    pub(crate) method: u32,
    pub(crate) flags: u32,
    /// Its name and its signature, as the table has them.
    pub(crate) name: u32,
    pub(crate) signature: u32,
    /// The return type.
    pub(crate) result: &'a [u8],
    pub(crate) locals: &'a [u8],
    origin: Origin,
    pub(crate) body: Body<'a>,
    /// All of the body, or the method's old body where that was made.
    bytes: &'a [u8],
}

/// Where the code of a body is from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The input, where it lies here.
    Input(usize),
    /// The input, with calls redirected.
    Redirected,
    /// It was made.
    Made,
}

impl Opened<'_> {
    /// What hooks need to know of it; nothing of a constructor.
    pub(crate) fn info(&self) -> MethodInfo<'_> {
        MethodInfo {
            result: self.result,
            locals: self.locals,
            constructor: None,
        }
    }

    /// Bytes of the old body of the method that gets it.
    pub(crate) fn old_len(&self, to: u32) -> u32 {
        match to == self.method {
            true => self.bytes.len() as u32,
            false => 0,
        }
    }
}

/// Whether calls of a planned method are recorded as a pair of hooks.
pub(crate) fn has_pair(planned: &Planned) -> bool {
    planned.advice.as_pair().only(Advice::ALL) != Advice::default()
}

/// Whether hooks call the hook library, by themselves or by adapters.
fn needs_guard(bound: &Bound) -> bool {
    let mut calls = [&bound.enter, &bound.exit, &bound.exception]
        .into_iter()
        .flatten();
    bound.keep.duration || calls.any(|call| call.adapter.is_some())
}

/// How many values an operand is made of.
fn count(operand: &Operand) -> usize {
    match &operand.source {
        Source::Args(operands) => 1 + operands.len(),
        _ => 1,
    }
}

/// What hooks need of the assembly.
struct Imported {
    /// The hooks of the library, or why there are no hooks at all.
    tokens: std::result::Result<Tokens, Reason>,
    imports: Imports,
    adapters: Vec<Adapter>,
    redirects: Vec<Token>,
    splits: Splits,
    completions: Completions,
}

impl Imported {
    fn nothing_but(tokens: std::result::Result<Tokens, Reason>) -> Imported {
        Imported {
            tokens,
            imports: Imports::default(),
            adapters: Vec::new(),
            redirects: Vec::new(),
            splits: Splits::default(),
            completions: Completions::default(),
        }
    }
}

/// Imports what hooks name, and adds their adapters, the methods that are called instead of others, and what bodies become.
fn import(
    (image, machines): (&Image<'_>, &Machines),
    methods: &Methods,
    redirects: Redirects<'_>,
    line: &dyn Fn(u32) -> u32,
    additions: &mut Additions,
) -> Result<Imported> {
    let of_calls = redirects::bounds(redirects.all);
    let own = || {
        let of_methods = methods.with_own().map(|with| &**with.bound);
        let all = of_methods.chain(of_calls.iter().map(|bound| &**bound));
        all.flat_map(Bound::layers)
    };
    let advice = (methods.planned.iter()).fold(Advice::default(), |all, p| all.with(p.advice));
    let has_pairs = advice.as_pair().only(Advice::ALL) != Advice::default();
    let needs = Needs {
        advice: advice.with(redirects.advice()),
        logical: has_pairs && !machines.is_empty(),
        by_runtime: has_pairs && machines.has_by_runtime(),
        switched: own().any(|bound| bound.logical.is_some()),
        follows: redirects.follows(),
        guard: own().any(needs_guard),
    };
    let references = match image.refusal() {
        Some(reason) => Err(reason),
        None => settle(references::add(image, needs, additions))?,
    };
    let references = match references {
        Ok(references) => references,
        Err(reason) => {
            return Ok(Imported {
                redirects: vec![Err(reason); redirects.all.len()],
                ..Imported::nothing_but(Err(reason))
            });
        }
    };
    if own().next().is_none() && redirects.all.is_empty() {
        return Ok(Imported::nothing_but(Ok(references.tokens)));
    }
    check_operands(image, own())?;
    let mut importer = Importer::new(image, &references, additions)?;
    let mut adapters = adapters::add(image, own(), &mut importer)?;
    for bound in own() {
        importer.bound(bound)?;
    }
    let hooks = &references.tokens;
    let redirected = redirects::add((image, hooks), redirects, &mut importer, &mut adapters)?;
    let splits = around::add(image, methods, line, &mut importer, &mut adapters)?;
    let completions = completion::add(image, methods, machines, &mut importer)?;
    Ok(Imported {
        tokens: Ok(references.tokens),
        imports: importer.finish(),
        adapters,
        redirects: redirected,
        splits,
        completions,
    })
}

/// Refuses own hooks that take too many values: signatures are shared, and a small file can have many long ones.
fn check_operands<'b>(image: &Image<'_>, own: impl Iterator<Item = &'b Bound>) -> Result<()> {
    let most = image.bytes.len() + (1 << 20);
    let mut operands = 0;
    for bound in own {
        let around = bound.around.as_ref().map(|around| &around.call);
        let calls = [&bound.enter, &bound.exit, &bound.exception];
        operands += (calls.into_iter().flatten().chain(around))
            .flat_map(|call| &call.operands)
            .map(count)
            .sum::<usize>();
        if operands > most {
            return Err(Error::new(Kind::NotDone, "own hooks take too many values"));
        }
    }
    Ok(())
}
