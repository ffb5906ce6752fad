//! Hooks of one's own where an async method completes, and where an enumeration ends.
//!
//! ```text
//!     kick-off     enter hooks; [array of what the hooks at the end read; stloc a]; ..; [dup; ldloc a; stfld weave$kept]; call Start
//!     MoveNext     ..; [stloc r]; exit hooks; [ldloc r]; call SetResult
//!                  ..; stloc e; exception hooks; ldloc e; call SetException
//! ```
//!
//! The array lies in a field of the state machine, beside the variables of the method's author.
//!
//! An iterator's kick-off gives it to the object that it makes, and `GetEnumerator` to another such object. `MoveNext` and `Dispose` have
//! the hooks at their ends, as ordinary methods do; `MoveNext` of an async iterator has them where it gives no further element. The
//! array's last element sees to it that they run once a call, whichever of them comes first, however often the object is enumerated.

use crate::aspect::bind::call::{Bound, Call, Operand, Source};
use crate::aspect::bind::ty::{Ty, in_machine};
use crate::cil::il::insn::{self, op};
use crate::cil::image::Image;
use crate::cil::machines::{Machine, Machines, Sort};
use crate::cil::metadata::heaps::{compressed, put_compressed};
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature::{element, kind};
use crate::cil::metadata::tables::{decode, encode, token, token_row, token_table};
use crate::cil::rewrite::Snippet;
use crate::cil::weave::code::Code;
use crate::cil::weave::import::{Importer, Imports};
use crate::cil::weave::methods::{Methods, WithOwn};
use crate::cil::weave::ordinary::Tokens;
use crate::cil::weave::own::{self, Ends, Method, Own, Piece, Times};
use crate::cil::weave::points::{Around, count_of_locals};
use crate::cil::weave::state_machine;
use crate::cil::weave::tokens;
use crate::error::Result;
use rustc_hash::FxHashMap;

/// Async methods and iterators with hooks at their ends, by the `MethodDef` rows of their kick-offs.
pub(crate) type Completions = FxHashMap<u32, Completion>;

/// What a method of a state machine gets.
#[derive(Default)]
pub(crate) struct Inner {
    /// What goes around its points.
    pub around: Around,
    /// The hooks at its end.
    pub own: Option<Own>,
}

pub(crate) struct Completion {
    /// The methods of the machine that have the hooks, by their rows. The first is `MoveNext`.
    pieces: Vec<(u32, Piece)>,
    /// Where `MoveNext` of an iterator calls `Dispose`.
    disposed: Vec<u32>,
    /// Where `GetEnumerator` has made another object: its row, and the instruction behind that.
    again: Option<(u32, u32)>,
    /// The kick-off's call by which the machine starts, or what is behind the one that makes an iterator's.
    start: u32,
    /// What lies on the stack there refers to the variable that has the machine, a class.
    is_class: bool,
    /// The field that keeps what hooks read, as the kick-off and as the machine name it.
    field: Option<[u32; 2]>,
    /// The hooks, as the machine's type parameters name types.
    bound: Bound,
    /// What the task gives, as the machine's signatures spell it.
    result: Vec<u8>,
    /// The calls in `MoveNext` that report its end to the builder, and whether it ends by an exception.
    ends: Vec<(u32, bool)>,
}

/// The field's name; no compiler makes such a name.
const FIELD_NAME: &str = "weave$kept";
/// Public (II.23.1.5), since the kick-off of another type names it, too.
const FIELD_FLAGS: u32 = 6;
/// The field's signature: an `object[]`.
const FIELD_SIGNATURE: [u8; 3] = [kind::FIELD, element::SZARRAY, element::OBJECT];

/// The hooks that lie with a method's body, if some of them stand where it completes.
fn completing(bound: &Bound) -> Option<&Bound> {
    let innermost = bound.layers().find(|layer| layer.around.is_none())?;
    innermost.ends_elsewhere().then_some(innermost)
}

/// Finds where the planned methods with such hooks complete, and adds what these need.
pub(crate) fn add(
    image: &Image<'_>,
    methods: &Methods,
    machines: &Machines,
    importer: &mut Importer<'_, '_>,
) -> Result<Completions> {
    let mut all = Completions::default();
    let mut moves_fields = None;
    for WithOwn { planned, bound } in methods.with_own() {
        let Some(bound) = completing(bound) else {
            continue;
        };
        let positions = image.metadata.method_positions(planned.ty + 1)?;
        let method = image.metadata.method_at(positions.start + planned.index)?;
        let machine = (machines.of(method)).filter(|m| m.sort != Sort::ByRuntime && m.ty != 0);
        let Some(machine) = machine else {
            continue;
        };
        let moves_fields = *moves_fields.get_or_insert_with(|| {
            let rows = image.metadata.tables.rows(table::METHOD_DEF);
            importer.additions().takes_fields() && tokens::is_possible(image, 1..=rows)
        });
        if moves_fields && let Some(completion) = of_method(image, machine, bound, importer)? {
            all.insert(method, completion);
        }
    }
    Ok(all)
}

fn of_method(
    image: &Image<'_>,
    machine: Machine,
    bound: &Bound,
    importer: &mut Importer<'_, '_>,
) -> Result<Option<Completion>> {
    let metadata = &image.metadata;
    let kickoff = metadata.tables.row(table::METHOD_DEF, machine.kickoff)?;
    let Ok((_, body)) = image.body(kickoff.get(column::method_def::RVA)) else {
        return Ok(None);
    };
    let none = Snippet::default();
    let tokens = Tokens::default();
    let logical = state_machine::Weaver::new(image, machine, ((0, None), none), &tokens);
    let started = match machine.sort {
        Sort::Async => started(image, body.code, machine.ty)?,
        _ => (logical.made_by(body.code)).map(|(end, parent)| (end, Named::Parent(parent))),
    };
    let Some((start, named)) = started else {
        return Ok(None);
    };
    let Some(Pieces {
        pieces,
        disposed,
        ends,
    }) = pieces(image, &logical, machine)?
    else {
        return Ok(None);
    };
    let signature = importer.signature_of(machine.kickoff)?;
    let owner = metadata.owner_of_method(machine.kickoff).unwrap_or(0);
    let of_type = type_parameters(image, owner);
    let of_machine = type_parameters(image, machine.ty);
    if of_machine != of_type + u32::from(signature.generics) {
        return Ok(None);
    }
    let awaited = match &signature.result {
        Ty::Named(task) if task.args.len() == 1 && machine.sort == Sort::Async => {
            task.args[0].clone()
        }
        _ => Ty::Void,
    };
    let seen = seen_by_machine(bound, of_type as u16);
    let awaited = in_machine(&awaited, of_type as u16);
    importer.bound(&seen)?;
    importer.ty(&awaited)?;
    let slots = own::slots(&seen);
    for (_, ty) in own::slots(bound).iter().chain(&slots) {
        let ty = match ty {
            Ty::ByRef(inner) => inner,
            ty => ty,
        };
        importer.token(ty)?;
    }
    let mut result = Vec::new();
    if importer.imports().put_type(&awaited, &mut result).is_none() {
        return Ok(None);
    }
    let field = match slots.is_empty() && machine.sort == Sort::Async {
        true => None,
        false => {
            importer.object()?;
            let of_machine = match of_machine {
                0 => encode(
                    &coded::MEMBER_REF_PARENT,
                    token(table::TYPE_DEF, machine.ty),
                ),
                count => parent(&logical.own_instance(count)?, importer)?,
            };
            let of_kickoff = match named {
                Named::Type(ty) => parent(ty, importer)?,
                Named::Parent(parent) => Some(parent),
            };
            let (Some(of_machine), Some(of_kickoff)) = (of_machine, of_kickoff) else {
                return Ok(None);
            };
            let additions = importer.additions();
            additions.field(machine.ty, FIELD_FLAGS, FIELD_NAME, &FIELD_SIGNATURE);
            Some([field(of_kickoff, importer)?, field(of_machine, importer)?])
        }
    };
    Ok(Some(Completion {
        again: logical.made_again(),
        disposed,
        pieces,
        start,
        is_class: matches!(named, Named::Type(ty) if !is_value(ty)),
        field,
        bound: seen,
        result,
        ends,
    }))
}

/// A machine's type as its kick-off names it: in a signature, or as the parent of its constructor.
pub(crate) enum Named<'a> {
    Type(&'a [u8]),
    Parent(u32),
}

/// The parts of a state machine that get hooks at the end, as in [`Completion`].
#[derive(Default)]
struct Pieces {
    pieces: Vec<(u32, Piece)>,
    disposed: Vec<u32>,
    ends: Vec<(u32, bool)>,
}

fn pieces(
    image: &Image<'_>,
    logical: &state_machine::Weaver<'_, '_>,
    machine: Machine,
) -> Result<Option<Pieces>> {
    let Some(move_next) = logical.move_next() else {
        return Ok(None);
    };
    let row = image.metadata.tables.row(table::METHOD_DEF, move_next)?;
    let Ok((_, body)) = image.body(row.get(column::method_def::RVA)) else {
        return Ok(None);
    };
    let piece = match machine.sort {
        Sort::Iterator => {
            let mut pieces = vec![(move_next, Piece::Moves)];
            pieces.extend(logical.dispose().map(|method| (method, Piece::Disposes)));
            let disposed = logical.disposed_by(body.code);
            return Ok(disposed.map(|disposed| Pieces {
                pieces,
                disposed,
                ..Pieces::default()
            }));
        }
        Sort::AsyncIterator => Piece::Stops,
        _ => Piece::Completes,
    };
    let ends = logical.ends(body.code);
    let ends = ends.filter(|ends| ends.iter().any(|(_, fails)| *fails));
    Ok(ends.map(|ends| Pieces {
        pieces: vec![(move_next, piece)],
        ends,
        ..Pieces::default()
    }))
}

fn type_parameters(image: &Image<'_>, ty: u32) -> u32 {
    use column::generic_param::OWNER;
    let tables = &image.metadata.tables;
    // TypeOrMethodDef: one bit, 0 for types.
    tables
        .with_key(table::GENERIC_PARAM, OWNER, ty << 1)
        .count() as u32
}

/// The call by which a kick-off starts its machine, and the machine's type as it names that.
fn started<'a>(image: &Image<'a>, code: &[u8], machine: u32) -> Result<Option<(u32, Named<'a>)>> {
    use column::method_spec::INSTANTIATION;
    /// What a `MethodSpec`'s blob begins with: one type argument.
    const INSTANCE: [u8; 2] = [0x0a, 1];
    let metadata = &image.metadata;
    let mut pc = 0;
    while (pc as usize) < code.len() {
        let Ok(insn) = insn::at(code, pc) else {
            return Ok(None);
        };
        if insn.opcode == op::CALL && token_table(insn.token(code)) == table::METHOD_SPEC {
            let row = metadata
                .tables
                .row(table::METHOD_SPEC, token_row(insn.token(code)))?;
            let blob = metadata.blobs.get(row.get(INSTANTIATION))?;
            if let Some(ty) = blob.strip_prefix(&INSTANCE)
                && definition(ty) == Some(token(table::TYPE_DEF, machine))
            {
                return Ok(Some((pc, Named::Type(ty))));
            }
        }
        pc = insn.end();
    }
    Ok(None)
}

/// The type that a signature names, of a generic one its definition.
fn definition(ty: &[u8]) -> Option<u32> {
    let named = match ty {
        [element::GENERICINST, rest @ ..] => rest,
        ty => ty,
    };
    match named {
        [element::CLASS | element::VALUETYPE, rest @ ..] => {
            decode(&coded::TYPE_DEF_OR_REF, compressed(rest)?.0).ok()
        }
        _ => None,
    }
}

fn is_value(ty: &[u8]) -> bool {
    matches!(
        ty,
        [element::VALUETYPE, ..] | [element::GENERICINST, element::VALUETYPE, ..]
    )
}

/// A type as the parent of members, a coded `MemberRefParent`.
fn parent(ty: &[u8], importer: &mut Importer<'_, '_>) -> Result<Option<u32>> {
    let named = match ty {
        [element::GENERICINST, ..] => {
            let additions = importer.additions();
            let blob = additions.blob(ty);
            Some(additions.row(table::TYPE_SPEC, &[blob])?)
        }
        ty => definition(ty),
    };
    Ok(named.and_then(|named| encode(&coded::MEMBER_REF_PARENT, named)))
}

/// The field by a reference, so that it has the same token wherever it comes to lie.
fn field(parent: u32, importer: &mut Importer<'_, '_>) -> Result<u32> {
    let additions = importer.additions();
    let name = additions.string(FIELD_NAME);
    let signature = additions.blob(&FIELD_SIGNATURE);
    additions.row(table::MEMBER_REF, &[parent, name, signature])
}

/// The hooks at the end, with types as the machine names them.
fn seen_by_machine(bound: &Bound, of_type: u16) -> Bound {
    let ty = |ty: &Ty| in_machine(ty, of_type);
    let call = |call: &Call| Call {
        generics: call.generics.iter().map(ty).collect(),
        operands: (call.operands.iter())
            .map(|operand| seen_operand(operand, of_type))
            .collect(),
        given: (call.given.as_ref()).map(|(convert, to)| (*convert, ty(to))),
        ..call.clone()
    };
    let mut keep = bound.keep.clone();
    keep.states = keep.states.iter().map(ty).collect();
    Bound {
        exit: bound.exit.iter().map(call).collect(),
        exception: bound.exception.iter().map(call).collect(),
        keep,
        later: true,
        ..Bound::default()
    }
}

fn seen_operand(operand: &Operand, of_type: u16) -> Operand {
    let source = match &operand.source {
        Source::Args(all) => {
            let all = all.iter().map(|operand| seen_operand(operand, of_type));
            Source::Args(all.collect())
        }
        source => source.clone(),
    };
    Operand {
        source,
        from: in_machine(&operand.from, of_type),
        to: in_machine(&operand.to, of_type),
        ..operand.clone()
    }
}

impl Completion {
    /// Puts the array that a local of the kick-off has into the machine, in front of the call that starts it.
    pub fn start(&self, local: u32, around: &mut Around) {
        let Some([field, _]) = self.field else {
            return;
        };
        let mut code = Code::default();
        code.op(op::DUP);
        if self.is_class {
            code.op(op::LDIND_REF);
        }
        code.load_local(local);
        code.op_u32(op::STFLD, field);
        let point = around.points.at.entry(self.start);
        point.before.extend_from_slice(code.as_bytes());
        around.points.max_stack = around.points.max_stack.max(2);
    }

    /// How often its hooks run.
    pub fn times(&self) -> Times {
        match self.pieces[0].1 {
            Piece::Completes => Times::Any,
            _ => Times::Once,
        }
    }

    /// The methods of the machine that get something, by their rows. The first is `MoveNext`.
    pub fn methods(&self) -> impl Iterator<Item = u32> {
        let pieces = self.pieces.iter().map(|(method, _)| *method);
        pieces.chain(self.again.map(|(method, _)| method))
    }

    /// Puts what a method of the machine gets into `inner`, if it gets something. `locals` are its own, `kickoff` is what is known of
    /// the method that its author wrote.
    pub fn inner(
        &self,
        method: u32,
        (imports, exception): (&Imports, u32),
        kickoff: &Method<'_>,
        locals: &[u8],
        inner: &mut Inner,
    ) -> Option<()> {
        if let (Some((row, at)), Some([_, field])) = (self.again, self.field)
            && row == method
        {
            self.keeps(at, field, inner);
        }
        let Some((_, piece)) = self.pieces.iter().find(|(row, _)| *row == method) else {
            return Some(());
        };
        let around = &mut inner.around;
        let field = self.field.map_or(0, |[_, field]| field);
        const BOOLEAN: [u8; 1] = [element::BOOLEAN];
        const VOID: [u8; 1] = [element::VOID];
        let of_method = Method {
            code: &[],
            locals,
            result: Some(match piece {
                Piece::Completes | Piece::Stops => &self.result,
                Piece::Moves => &BOOLEAN,
                Piece::Disposes => &VOID,
            }),
            more_locals: around.locals.1,
            ends: Ends::InMachine(field, *piece),
            runs: &[],
            ..*kickoff
        };
        let mut own = Own::default();
        own.make(imports, &self.bound, &of_method).ok()?;
        let (types, count) = own.extra();
        around.locals.0.extend_from_slice(types);
        around.locals.1 += count;
        match piece {
            Piece::Completes | Piece::Stops => self.end(&own, exception, locals, around),
            Piece::Moves => {
                self.waits(field, around);
                inner.own = Some(own);
                Some(())
            }
            Piece::Disposes => {
                inner.own = Some(own);
                Some(())
            }
        }
    }

    /// The object that `GetEnumerator` has made has the array, too.
    fn keeps(&self, at: u32, field: u32, inner: &mut Inner) {
        let mut code = Code::default();
        code.op(op::DUP);
        code.load_argument(0);
        code.op_u32(op::LDFLD, field);
        code.op_u32(op::STFLD, field);
        let points = &mut inner.around.points;
        points
            .at
            .entry(at)
            .before
            .extend_from_slice(code.as_bytes());
        points.max_stack = points.max_stack.max(2);
    }

    /// Where `MoveNext` fails, some compilers' call `Dispose`: its hooks wait for those of the exception.
    fn waits(&self, field: u32, around: &mut Around) {
        let last = own::slots(&self.bound).len() as i32;
        for &pc in &self.disposed {
            let mut code = Code::default();
            code.load_argument(0);
            code.op_u32(op::LDFLD, field);
            let over = code.branch(op::BRFALSE);
            code.load_argument(0);
            code.op_u32(op::LDFLD, field);
            code.int(last);
            code.load_argument(0);
            code.op(op::STELEM_REF);
            code.land(over);
            let point = around.points.at.entry(pc);
            point.before.extend_from_slice(code.as_bytes());
            around.points.max_stack = around.points.max_stack.max(3);
        }
    }

    /// Puts the hooks in front of the calls by which `MoveNext` ends that has a builder.
    fn end(&self, own: &Own, exception: u32, locals: &[u8], around: &mut Around) -> Option<()> {
        let has_result = self.result != [element::VOID];
        let result = count_of_locals(locals) + around.locals.1;
        let thrown = result + u32::from(has_result);
        if has_result {
            around.locals.0.extend_from_slice(&self.result);
        }
        around.locals.0.push(element::CLASS);
        let exception = encode(&coded::TYPE_DEF_OR_REF, exception)?;
        put_compressed(&mut around.locals.0, exception);
        around.locals.1 += 1 + u32::from(has_result);
        let made = own.code();
        for &(pc, fails) in &self.ends {
            // Values are recorded as long as the call runs.
            let ((values, hooks), local) = match fails {
                true => (made.error, Some(thrown)),
                false => (made.exit, has_result.then_some(result)),
            };
            let keeping = |hooks: &[u8]| {
                let mut code = Code::default();
                if let Some(local) = local.filter(|_| !hooks.is_empty()) {
                    code.store_local(local);
                    code.bytes(hooks);
                    code.load_local(local);
                } else {
                    code.bytes(hooks);
                }
                code
            };
            let (values, hooks) = (keeping(values), keeping(hooks));
            let point = around.points.at.entry(pc);
            point.ahead.extend_from_slice(values.as_bytes());
            point.before.extend_from_slice(hooks.as_bytes());
        }
        around.points.max_stack = around.points.max_stack.max(made.max_stack);
        Some(())
    }
}
