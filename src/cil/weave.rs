//! From a plan to a woven assembly: the planned methods' new bodies, and what they need in tables.
//!
//! [`Weaver::part`] weaves a part of the plan, on any thread: ordinary methods, whose bodies name nothing new but a
//! signature of locals. A [`Joiner`] gives these their tokens, part by part, so that they come out as if one thread
//! had woven all, and then weaves state machines, which need rows of several tables.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::plan::{Plan, Planned, Skipped};
use crate::aspect::woven::{NumberedMethod, WovenType};
use crate::cil::body::{self, Body};
use crate::cil::calls::ConstructorCalls;
use crate::cil::hooks;
use crate::cil::image::{Image, impl_flag, method_flag};
use crate::cil::join::{Joiner, Woven};
use crate::cil::lower::{self, Calls, Shape, Tokens};
use crate::cil::machines::{Machine, Machines};
use crate::cil::metadata::additions::Additions;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature::{Descriptors, MethodSignature};
use crate::cil::metadata::tables::{decode, token, token_row, token_table};
use crate::cil::output::{Bodies, Content, Framed, NewBody};
use crate::cil::pdb::{self, Pdb};
use crate::cil::renumber::{self, TokenPlaces};
use crate::cil::rewrite::{self, Frame, Rewritten};
use crate::cil::scan::has_il;
use crate::cil::signatures::Signatures;
use crate::cil::symbol_names::{SymbolNames, SymbolNumbers};
use crate::error::{Error, Kind, Result};
use std::ops::Range;
use std::sync::OnceLock;

/// Reusable buffers for weaving; one a thread.
#[derive(Default)]
pub struct Scratch {
    pub(super) rewrite: rewrite::Scratch,
    /// The new bodies of the part under way.
    pub(super) bodies: Bodies,
    pub(super) descriptors: Descriptors,
}

/// What weaving an image's methods needs and no thread changes.
pub struct Weaver<'w, 'i, 'a> {
    pub(super) image: &'i Image<'a>,
    pub(super) planned: &'w [Planned],
    pub(super) source: &'i pdb::Source<'i>,
    pub(super) pdb: Option<(Pdb<'i>, pdb::Places)>,
    machines: Machines,
    /// See [`Weaver::names_readable_fields`].
    unplanned_readable: OnceLock<bool>,
    numbers: Option<SymbolNumbers>,
    /// The hooks, or why there are none.
    pub(super) tokens: std::result::Result<Tokens, Reason>,
    /// What the hooks need.
    pub(super) additions: Additions,
}

/// The methods of some types, woven.
#[derive(Default)]
pub struct Part {
    pub(super) bodies: Bodies,
    /// The signatures that were asked for, in order.
    pub(super) signatures: Signatures,
    /// Where in the bytes tokens lie that may change.
    pub(super) tokens: TokenPlaces,
    pub(super) pdb: pdb::Edits,
    pub(super) machines: Vec<PlannedMachine>,
    /// The other methods that stay as they were: `MethodDef` rows.
    pub(super) left: Vec<u32>,
    /// Methods with tail calls that are none any more.
    pub(super) tail_calls: u32,
}

/// A method with a state machine: [`Joiner::finish`] weaves it.
#[derive(Clone, Copy)]
pub(super) struct PlannedMachine {
    pub(super) machine: Machine,
    /// Its place in the plan.
    pub(super) planned: usize,
}

/// The signatures of a part get tokens behind the image's own, until it is joined.
struct PartSignatures<'p> {
    signatures: &'p mut Signatures,
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

/// Weaves the planned methods on one thread; `source` is the image's debugging information.
pub fn weave<'i, 'a>(
    image: &'i Image<'a>,
    source: &'i pdb::Source<'i>,
    plan: &Plan,
    scratch: &mut Scratch,
) -> Result<Woven<'i, 'a>> {
    weave_in_parts(image, source, plan, usize::MAX, scratch)
}

/// The same in parts of so many methods.
pub(super) fn weave_in_parts<'i, 'a>(
    image: &'i Image<'a>,
    source: &'i pdb::Source<'i>,
    plan: &Plan,
    methods: usize,
    scratch: &mut Scratch,
) -> Result<Woven<'i, 'a>> {
    let weaver = Weaver::new(image, source, plan, Machines::read(image))?;
    let parts = weaver.parts(methods).into_iter();
    let mut ordinary = Vec::new();
    let mut keep = |ty: &mut WovenType| ordinary.push(std::mem::take(ty));
    let parts = parts.map(|part| weaver.part(part, scratch, &mut keep));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let mut joiner = weaver.joiner();
    for part in parts {
        joiner.add(part)?;
    }
    let mut woven = joiner.finish(scratch)?;
    let machines = std::mem::replace(&mut woven.types, ordinary);
    for ty in machines {
        let place = woven.types.binary_search_by_key(&ty.ty, |other| other.ty);
        woven.types[place.expect("its part has it")].merge(ty);
    }
    Ok(woven)
}

impl<'w, 'i, 'a> Weaver<'w, 'i, 'a> {
    /// Prepares a weave; `source` is the image's debugging information, `machines` its state machines.
    pub fn new(
        image: &'i Image<'a>,
        source: &'i pdb::Source<'i>,
        plan: &'w Plan,
        machines: Machines,
    ) -> Result<Weaver<'w, 'i, 'a>> {
        let mut additions = Additions::new(&image.metadata);
        let advice = plan
            .methods
            .iter()
            .fold(Advice::default(), |all, p| all.with(p.advice));
        let tokens = match image.refusal() {
            Some(reason) => Err(reason),
            None => {
                let logical = !machines.is_empty();
                hooks::add(image, advice, logical, &mut additions)?
            }
        };
        Ok(Weaver {
            image,
            planned: &plan.methods,
            source,
            pdb: source.pdb().map(|pdb| {
                let places = pdb::Places::of(&pdb);
                (pdb, places)
            }),
            machines,
            unplanned_readable: OnceLock::new(),
            numbers: None,
            tokens,
            additions,
        })
    }

    /// Methods are to be told of by [`WovenType::numbered`] with these numbers, and [`Weaver::symbol_names`] has their names:
    /// most of a program's symbols are the same names over and over.
    pub fn number_names(&mut self, numbers: SymbolNumbers) {
        self.numbers = Some(numbers);
    }

    /// The names of all methods that are planned, if they are numbered.
    pub fn symbol_names(&self) -> Result<Option<SymbolNames<'_, 'i, 'a>>> {
        let Some(numbers) = &self.numbers else {
            return Ok(None);
        };
        let image = self.image;
        let row = |p: &Planned| {
            let positions = image.method_positions(p.ty + 1)?;
            image.method_at(positions.start + p.index)
        };
        SymbolNames::of(image, numbers, self.planned.iter().map(row)).map(Some)
    }

    /// Tells of a woven method.
    pub(super) fn tell(
        &self,
        ty: &mut WovenType,
        (id, line): (u32, u32),
        opened: &Opened<'_>,
        descriptors: &mut Descriptors,
    ) -> Result<()> {
        let numbers = self.numbers.as_ref().and_then(|numbers| {
            Some((
                numbers.name(opened.name)?,
                numbers.signature(opened.signature)?,
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
        let descriptor = descriptors.get(self.image, opened.signature);
        ty.add(id, line, &name, |text| text.push_str(descriptor));
        Ok(())
    }

    /// The plan in parts of about so many methods, each a range of them for [`Weaver::part`]. The last ones are smaller,
    /// so that threads which take them in this order end at about the same time.
    pub fn parts(&self, methods: usize) -> Vec<Range<usize>> {
        /// Of what is left, a part is at most this share, if it is not small anyway.
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

    /// Weaves a part of the plan but for its state machines: of these [`Woven::types`] tells. `each` is shown what came of
    /// each type, and may take it.
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
            self.weave_type(of_type, first, (&mut part, &mut ty), scratch)?;
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
        (part, ty): (&mut Part, &mut WovenType),
        scratch: &mut Scratch,
    ) -> Result<()> {
        let image = self.image;
        let number = planned[0].ty;
        ty.begin(number, |name| {
            image.types().put_name(image, number + 1, name)
        })?;
        // The first that a method names.
        let mut document = 0;
        let this = match is_value_type(image, number + 1)? {
            true => None,
            false => Some(ConstructorCalls::of(image, number + 1)),
        };
        let in_machine = self.machines.has_type(number + 1);
        let positions = image.method_positions(number + 1)?;
        for (place, planned) in (first..).zip(planned) {
            let method = image.method_at(positions.start + planned.index)?;
            image.prefetch_behind(method);
            let outcome = match &self.tokens {
                Ok(_) if in_machine => Ok(Err(Reason::InStateMachine)),
                Ok(tokens) => match self.machines.of(method) {
                    Some(machine) => {
                        part.machines.push(PlannedMachine {
                            machine,
                            planned: place,
                        });
                        continue;
                    }
                    None => {
                        let woven = self.weave_method(
                            (place, method),
                            this.as_ref(),
                            tokens,
                            (part, ty),
                            scratch,
                        );
                        woven.map(|woven| {
                            woven.map(|named| {
                                if document == 0 {
                                    document = named;
                                }
                            })
                        })
                    }
                },
                Err(reason) => Ok(Err(*reason)),
            };
            let outcome = outcome.map_err(|e| {
                let label = image.method_label(method);
                e.in_method(format!("{}.{label}", ty.name()))
            })?;
            if let Err(reason) = outcome {
                part.left.push(method);
                ty.left.push(self.left(place, method, reason));
            }
        }
        self.set_file(ty, document);
        Ok(())
    }

    /// Names a type's source file: a document's row, or 0.
    pub(super) fn set_file(&self, ty: &mut WovenType, document: u32) {
        if let (1.., Some((pdb, _))) = (document, &self.pdb) {
            ty.set_file(|text| pdb.put_document_name(document, text));
        }
    }

    /// A planned method that stays as it was.
    pub(super) fn left(&self, place: usize, method: u32, reason: Reason) -> Skipped {
        let planned = &self.planned[place];
        Skipped {
            ty: planned.ty,
            index: planned.index,
            method: self.image.method_label(method),
            reason,
        }
    }

    /// Weaves a method into a part; returns the document of its first line.
    fn weave_method(
        &self,
        (place, method): (usize, u32),
        this: Option<&ConstructorCalls<'_, '_>>,
        tokens: &Tokens,
        (part, ty): (&mut Part, &mut WovenType),
        scratch: &mut Scratch,
    ) -> Result<Result<u32, Reason>> {
        let opened = match self.open(method)? {
            Ok(opened) => opened,
            Err(reason) => return Ok(Err(reason)),
        };
        let planned = &self.planned[place];
        let is_constructor = opened.flags & method_flag::STATIC == 0
            && self.image.metadata.strings.is(opened.name, b".ctor");
        let shape = Shape {
            result: opened.result,
            locals: opened.locals,
            constructor: this.filter(|_| is_constructor).map(|c| c as &dyn Calls),
            hooks: &[],
        };
        let mut signatures = PartSignatures {
            signatures: &mut part.signatures,
            rows: self.image.metadata.tables.rows(table::STAND_ALONE_SIG),
        };
        let body = &opened.body;
        let rewrite = &mut scratch.rewrite;
        let recipe = match lower::recipe(body, &shape, planned, tokens, rewrite) {
            Ok(recipe) => recipe,
            Err(reason) => return Ok(Err(reason)),
        };
        let has_all = planned.advice.has(Advice::ALL);
        let frame = match has_all {
            true => {
                let asked = (planned.id, self.pdb.is_some());
                rewrite.frame(body, &recipe, asked, &mut signatures)?
            }
            false => None,
        };
        let notes_fields = !self.machines.is_empty();
        let rewritten = match frame {
            Some(frame) => {
                scratch.add_framed(&opened, frame, notes_fields);
                frame.rewritten()
            }
            None => {
                let start = scratch.next_body();
                let Scratch {
                    rewrite, bodies, ..
                } = &mut *scratch;
                let outcome = rewrite.rewrite(body, &recipe, &mut signatures, &mut bodies.bytes)?;
                let rewritten = match outcome {
                    Ok(rewritten) => rewritten,
                    Err(reason) => return Ok(Err(reason)),
                };
                scratch.add_body(&opened, start);
                if rewritten.locals != body.locals {
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
        part.tail_calls += u32::from(rewritten.drops_tail_call);
        let (document, line) = self.move_lines(place, &opened, &rewritten, scratch, &mut part.pdb);
        let told = (planned.id, line);
        self.tell(ty, told, &opened, &mut scratch.descriptors)?;
        Ok(Ok(document))
    }

    /// Moves what the PDB says of a method; returns its first line behind its document.
    pub(super) fn move_lines(
        &self,
        place: usize,
        opened: &Opened<'_>,
        new: &Rewritten,
        scratch: &Scratch,
        edits: &mut pdb::Edits,
    ) -> (u32, u32) {
        let Some((pdb, places)) = &self.pdb else {
            return (0, 0);
        };
        let (method, old_len) = (opened.method, opened.body.code.len() as u32);
        let layout = scratch.rewrite.layout();
        edits.method((pdb, places), (place as u32, method), layout, old_len, new);
        pdb.first_line(method).unwrap_or_default()
    }

    /// A method's body and what of its tables weaving needs.
    pub(super) fn open(&self, method: u32) -> Result<Result<Opened<'a>, Reason>> {
        use column::method_def::{FLAGS, IMPL_FLAGS, NAME, RVA, SIGNATURE};
        let metadata = &self.image.metadata;
        let row = metadata.tables.row(table::METHOD_DEF, method)?;
        if !has_il(&row) {
            return Ok(Err(Reason::NoBody));
        }
        if row.get(IMPL_FLAGS) & impl_flag::ASYNC != 0 {
            return Ok(Err(Reason::RuntimeAsync));
        }
        let Ok((at, body)) = self.image.body(row.get(RVA)) else {
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
            name: row.get(NAME),
            signature: row.get(SIGNATURE),
            result: MethodSignature::parse(metadata.blobs.get(row.get(SIGNATURE))?)?.returns,
            locals,
            code_at: at + body.code_offset,
            body,
        }))
    }

    /// What puts the parts together.
    pub fn joiner(&self) -> Joiner<'_, 'w, 'i, 'a> {
        Joiner::new(self)
    }

    /// Reads what joining may ask of the methods that are not planned: any thread can do so meanwhile.
    pub fn look_ahead(&self) {
        if !self.machines.is_empty() {
            self.names_readable_fields();
        }
    }

    /// Whether all fields can be found that code of methods names that are not planned.
    pub(super) fn names_readable_fields(&self) -> bool {
        *self.unplanned_readable.get_or_init(|| {
            let methods = self.image.metadata.tables.rows(table::METHOD_DEF);
            let mut planned = vec![false; methods as usize + 1];
            for of_type in self.planned.chunk_by(|a, b| a.ty == b.ty) {
                let Ok(positions) = self.image.method_positions(of_type[0].ty + 1) else {
                    return false;
                };
                for p in of_type {
                    if let Ok(method) = self.image.method_at(positions.start + p.index) {
                        planned[method as usize] = true;
                    }
                }
            }
            let unplanned = (1..=methods).filter(|&method| !planned[method as usize]);
            renumber::is_possible(self.image, unplanned)
        })
    }
}

impl Scratch {
    /// Begins with the bodies of about so many methods; there may be some of a part that failed.
    pub(super) fn begin_bodies(&mut self, methods: usize) {
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

    /// The bodies, in as much memory as they take: parts wait until the last one is woven.
    pub(super) fn take_bodies(&mut self) -> Bodies {
        let mut bodies = std::mem::take(&mut self.bodies);
        bodies.bytes.shrink_to_fit();
        bodies.frames.shrink_to_fit();
        bodies.fields.shrink_to_fit();
        bodies
    }

    /// Where the next body begins.
    pub(super) fn next_body(&mut self) -> usize {
        let bytes = &mut self.bodies.bytes;
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.len()
    }

    /// Adds the new body of a method, which begins at `start` and ends here.
    pub(super) fn add_body(&mut self, opened: &Opened<'_>, start: usize) {
        self.bodies.list.push(NewBody {
            method: opened.method,
            content: Content::Bytes(start as u32),
            len: (self.bodies.bytes.len() - start) as u32,
            old_len: opened.body.len as u32,
            at: 0,
        });
    }

    /// Adds the new body of a method that was just read, a frame around the old code; `notes_fields`: its fields may move.
    fn add_framed(&mut self, opened: &Opened<'_>, frame: Frame, notes_fields: bool) {
        let bodies = &mut self.bodies;
        if notes_fields {
            bodies.fields.extend(self.rewrite.old_fields());
        }
        bodies.list.push(NewBody {
            method: opened.method,
            content: Content::Framed(bodies.frames.len() as u32),
            len: frame.size() as u32,
            old_len: opened.body.len as u32,
            at: 0,
        });
        bodies.frames.push(Framed {
            frame,
            from: opened.code_at as u32,
            fields_end: bodies.fields.len() as u32,
        });
    }
}

/// A method to be woven.
pub(super) struct Opened<'a> {
    /// The `MethodDef` row.
    pub(super) method: u32,
    pub(super) flags: u32,
    /// Its name and its signature, as the table has them.
    pub(super) name: u32,
    pub(super) signature: u32,
    /// The return type.
    pub(super) result: &'a [u8],
    pub(super) locals: &'a [u8],
    /// Where the code lies in the input.
    code_at: usize,
    pub(super) body: Body<'a>,
}

/// Whether a type (a `TypeDef` row) is a value type, whose constructors call no other.
fn is_value_type(image: &Image<'_>, ty: u32) -> Result<bool> {
    let row = image.metadata.tables.row(table::TYPE_DEF, ty)?;
    let base = decode(&coded::TYPE_DEF_OR_REF, row.get(column::type_def::EXTENDS))?;
    Ok(image.is_type_named(base, b"System", b"ValueType")
        || image.is_type_named(base, b"System", b"Enum"))
}
