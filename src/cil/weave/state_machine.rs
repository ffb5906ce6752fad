//! Async methods and iterators: the hooks of a logical call go into the state machine that the compiler made
//! of the method. `docs/dotnet.md`, "Async and iterators", says what is recorded when.
//!
//! The method that its author wrote (the *kick-off*) names its state machine in an attribute. The call's
//! number lives in a field of the machine, which goes wherever the call goes: it is copied to the heap with
//! the machine, and on whichever thread the machine runs, its number is there.

use crate::aspect::advice::Reason;
use crate::aspect::attempt::Attempt;
use crate::cil::il::body::Body;
use crate::cil::il::insn::{self, Insn, op};
use crate::cil::image::Image;
use crate::cil::machines::{Machine, Sort, methods};
use crate::cil::metadata::additions::Additions;
use crate::cil::metadata::heaps::{compressed, put_compressed};
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature::{element, kind};
use crate::cil::metadata::tables::{decode, encode, token, token_row, token_table};
use crate::cil::rewrite::{Exit, Own, Recipe, Rewritten, Scratch, Snippet};
use crate::cil::weave::ordinary::{MethodInfo, Tokens};
use crate::cil::weave::points::Around;
use crate::error::Result;

/// A type's methods by name; names of explicit implementations have the interface's in front.
fn method_named(image: &Image<'_>, ty: u32, wanted: &[u8]) -> Option<u32> {
    methods(image, ty)
        .find(|(_, name)| {
            let simple = name.rsplit(|&b| b == b'.').next();
            simple == Some(wanted)
        })
        .map(|(method, _)| method)
}

/// What a method of a state machine gets beside the hooks of its call.
pub(crate) struct Gets<'g> {
    pub shape: &'g MethodInfo<'g>,
    /// What goes around its points.
    pub around: Option<&'g Around>,
    /// Hooks at its end.
    pub own: Option<Own<'g>>,
}

/// A method of a machine, or its kick-off.
pub(crate) struct MachineMethod {
    /// The `MethodDef` row.
    pub(crate) method: u32,
    role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// `MoveNext` of an async method or async iterator.
    AsyncMoveNext,
    /// `MoveNext` of an iterator.
    MoveNext,
    /// `Dispose` of an iterator.
    Dispose,
    /// The method itself, which makes the machine.
    Kickoff,
}

impl MachineMethod {
    /// Whether the machine cannot be woven without this part.
    pub(crate) fn is_needed(&self) -> bool {
        matches!(self.role, Role::AsyncMoveNext | Role::MoveNext)
    }
}

/// What the methods of a machine share.
pub(crate) struct Weaver<'w, 'a> {
    image: &'w Image<'a>,
    tokens: &'w Tokens,
    machine: Machine,
    id: u32,
    /// What the rules say of a switched call, for the hook at its begin.
    says: Option<i32>,
    /// The call that says what is left out of texts, wherever the machine begins to run.
    held: Snippet,
    /// The field with the call's number, as code of the machine names it.
    field: u32,
    /// The machine is generic: its field is another one in each instantiation.
    generic: bool,
}

/// The name of the field; no compiler makes such a name.
const FIELD_NAME: &str = "weave$call";
/// Public (II.23.1.5), since the kick-off of another type names it, too.
const FIELD_FLAGS: u32 = 6;
/// The field's signature: an `int64`.
const FIELD_SIGNATURE: [u8; 2] = [kind::FIELD, element::I8];

impl<'w, 'a> Weaver<'w, 'a> {
    /// For one machine; it has no field yet.
    pub(crate) fn new(
        image: &'w Image<'a>,
        machine: Machine,
        ((id, says), held): ((u32, Option<i32>), Snippet),
        tokens: &'w Tokens,
    ) -> Weaver<'w, 'a> {
        Weaver {
            held,
            image,
            tokens,
            machine,
            id,
            says,
            field: 0,
            generic: false,
        }
    }

    /// The row of the machine's `MoveNext`.
    pub(crate) fn move_next(&self) -> Option<u32> {
        method_named(self.image, self.machine.ty, b"MoveNext")
    }

    /// The row of an iterator's `Dispose`.
    pub(crate) fn dispose(&self) -> Option<u32> {
        method_named(self.image, self.machine.ty, b"Dispose")
    }

    /// Behind the first instruction in code that makes a machine, and its type (a coded `MemberRefParent`).
    pub(crate) fn made_by(&self, code: &[u8]) -> Option<(u32, u32)> {
        let mut pc = 0;
        while (pc as usize) < code.len() {
            let insn = insn::at(code, pc).ok()?;
            if insn.opcode == op::NEWOBJ && self.makes_machine(insn.token(code)) {
                let tables = &self.image.metadata.tables;
                let constructor = insn.token(code);
                let parent = match token_table(constructor) {
                    table::METHOD_DEF => {
                        let ty = token(table::TYPE_DEF, self.machine.ty);
                        encode(&coded::MEMBER_REF_PARENT, ty)?
                    }
                    table => {
                        let row = tables.row(table, token_row(constructor)).ok()?;
                        row.get(column::member_ref::CLASS)
                    }
                };
                return Some((insn.end(), parent));
            }
            pc = insn.end();
        }
        None
    }

    /// The method of the machine that makes another one, for another enumeration, and where that is made.
    pub(crate) fn made_again(&self) -> Option<(u32, u32)> {
        let again: [&[u8]; 2] = [b"GetEnumerator", b"GetAsyncEnumerator"];
        methods(self.image, self.machine.ty)
            .filter(|(_, name)| {
                let simple = name.rsplit(|&b| b == b'.').next();
                simple.is_some_and(|simple| again.contains(&simple))
            })
            .find_map(|(method, _)| {
                let body = self.body(method)?;
                Some((method, self.made_by(body.code)?.0))
            })
    }

    /// Where an iterator's `MoveNext` calls `Dispose`.
    pub(crate) fn disposed_by(&self, code: &[u8]) -> Option<Vec<u32>> {
        let mut calls = Vec::new();
        let mut pc = 0;
        while (pc as usize) < code.len() {
            let insn = insn::at(code, pc).ok()?;
            let is_call = matches!(insn.opcode, op::CALL | op::CALLVIRT);
            if is_call && self.disposes(insn.token(code)) {
                calls.push(pc);
            }
            pc = insn.end();
        }
        Some(calls)
    }

    /// Whether a token is `Dispose` of the machine.
    fn disposes(&self, method: u32) -> bool {
        let metadata = &self.image.metadata;
        let column = match token_table(method) {
            table::METHOD_DEF => column::method_def::NAME,
            table::MEMBER_REF => column::member_ref::NAME,
            _ => return false,
        };
        let row = metadata.tables.row(token_table(method), token_row(method));
        let name = row.and_then(|row| metadata.strings.get(row.get(column)));
        self.makes_machine(method)
            && name.is_ok_and(|name| name.rsplit(|&b| b == b'.').next() == Some(b"Dispose"))
    }

    fn body(&self, method: u32) -> Option<Body<'a>> {
        let row = (self.image.metadata.tables).row(table::METHOD_DEF, method);
        let (_, body) = (self.image.body(row.ok()?.get(column::method_def::RVA))).ok()?;
        Some(body)
    }

    /// The calls in `MoveNext` of an async method or iterator that report its end to the builder, and whether it ends
    /// by an exception; none if the code cannot be read.
    pub(crate) fn ends(&self, code: &[u8]) -> Option<Vec<(u32, bool)>> {
        let builders = self.builders();
        let mut ends = Vec::new();
        let mut pc = 0;
        while (pc as usize) < code.len() {
            let insn = insn::at(code, pc).ok()?;
            if matches!(insn.opcode, op::CALL | op::CALLVIRT) {
                match self.builder_call(insn.token(code), &builders) {
                    Some(b"SetResult") if self.machine.sort == Sort::AsyncIterator => {
                        // What is given to SetResult is pushed by the instruction in front of it.
                        match code[..pc as usize].last().copied().map(u16::from) {
                            Some(op::LDC_I4_0) => ends.push((pc, false)),
                            Some(op::LDC_I4_1) => {}
                            _ => return None,
                        }
                    }
                    Some(b"SetResult") => ends.push((pc, false)),
                    Some(b"SetException") => ends.push((pc, true)),
                    _ => {}
                }
            }
            pc = insn.end();
        }
        Some(ends)
    }

    /// Whether the machine's `MoveNext` looks like one of this kind.
    pub(crate) fn knows(&self, body: &Body<'_>, result: &[u8]) -> bool {
        if self.machine.sort == Sort::Iterator {
            return result == [element::BOOLEAN];
        }
        // A method that never returns has no SetResult.
        let builders = self.builders();
        insn::tokens(body.code)
            .map_while(Result::ok)
            .any(|token| self.builder_call(token.token, &builders) == Some(b"SetException"))
    }

    pub(crate) fn add_field(&mut self, additions: &mut Additions) -> Result<()> {
        let (image, machine) = (self.image, self.machine);
        let added = additions.field(machine.ty, FIELD_FLAGS, FIELD_NAME, &FIELD_SIGNATURE);
        let parameters = image
            .metadata
            .tables
            .with_key(
                table::GENERIC_PARAM,
                column::generic_param::OWNER,
                // TypeOrMethodDef: one bit, 0 for types.
                machine.ty << 1,
            )
            .count() as u32;
        self.generic = parameters > 0;
        self.field = if parameters == 0 {
            added
        } else {
            let own = additions.blob(&self.own_instance(parameters)?);
            let own = additions.row(table::TYPE_SPEC, &[own])?;
            let parent = encode(&coded::MEMBER_REF_PARENT, own).expect("a TypeSpec has members");
            field_reference(parent, additions)?
        };
        Ok(())
    }

    /// The signature of the machine's type as its own methods see it (II.23.2.12).
    pub(crate) fn own_instance(&self, parameters: u32) -> Result<Vec<u8>> {
        let metadata = &self.image.metadata;
        let row = metadata.tables.row(table::TYPE_DEF, self.machine.ty)?;
        let base = decode(&coded::TYPE_DEF_OR_REF, row.get(column::type_def::EXTENDS))?;
        let sort = match metadata.is_type_named(base, b"System", b"ValueType") {
            true => element::VALUETYPE,
            false => element::CLASS,
        };
        let definition = token(table::TYPE_DEF, self.machine.ty);
        let coded = encode(&coded::TYPE_DEF_OR_REF, definition).expect("a TypeDef");
        let mut own = vec![element::GENERICINST, sort];
        put_compressed(&mut own, coded);
        put_compressed(&mut own, parameters);
        for parameter in 0..parameters {
            own.push(element::VAR);
            put_compressed(&mut own, parameter);
        }
        Ok(own)
    }

    /// The methods to weave, the most important first.
    pub(crate) fn methods(image: &Image<'_>, machine: Machine) -> Vec<MachineMethod> {
        let mut methods = Vec::new();
        let mut add = |role, method: Option<u32>| {
            methods.extend(method.map(|method| MachineMethod { method, role }));
        };
        let named = |name| method_named(image, machine.ty, name);
        match machine.sort {
            Sort::Async => add(Role::AsyncMoveNext, named(b"MoveNext")),
            Sort::AsyncIterator => {
                add(Role::AsyncMoveNext, named(b"MoveNext"));
                add(Role::Kickoff, Some(machine.kickoff));
            }
            Sort::ByRuntime => {}
            Sort::Iterator => {
                add(Role::MoveNext, named(b"MoveNext"));
                add(Role::Dispose, named(b"Dispose"));
                add(Role::Kickoff, Some(machine.kickoff));
            }
        }
        methods
    }

    /// `ldarg.0; ldflda field; ldc id; call hook`, behind what is given.
    fn on_this(&self, first: Snippet, hook: u32) -> Snippet {
        first
            .op(op::LDARG_0)
            .op_u32(op::LDFLDA, self.field)
            .hook(self.id, hook)
    }

    fn behind_held(&self, code: Snippet) -> Attempt<Snippet> {
        let all = self.held.then(code);
        all.ok_or_else(|| Reason::StateMachine.into())
    }

    /// Whether `MoveNext` of an iterator calls `Dispose` where it fails.
    fn move_next_disposes(&self) -> bool {
        let body = self.move_next().and_then(|method| self.body(method));
        let calls = body.and_then(|body| self.disposed_by(body.code));
        calls.is_some_and(|calls| !calls.is_empty())
    }

    /// `call` unless `MoveNext` runs, which is about to say that it fails, or `otherwise`: `ldarg.0; ldfld field; 2; rem; 1; beq`. The
    /// number of a call that runs is odd, that of one that has ended is -1.
    fn unless_running(&self, call: Snippet, otherwise: Snippet) -> Attempt<Snippet> {
        const BRANCH: u32 = 2;
        let number = Snippet::default()
            .op(op::LDARG_0)
            .op_u32(op::LDFLD, self.field)
            .op(op::LDC_I4_2)
            .op(op::CONV_I8)
            .op(op::REM)
            .op(op::LDC_I4_1)
            .op(op::CONV_I8);
        let (len, instead) = (call.len() as u16, otherwise.len());
        let all = match instead {
            0 => number.op(op::BEQ_S).op(len).then(call),
            _ => {
                let to_call = number.op(op::BNE_UN_S).op((instead + BRANCH) as u16);
                let instead = to_call.then(otherwise);
                instead.and_then(|code| code.op(op::BR_S).op(len).then(call))
            }
        };
        all.ok_or_else(|| Reason::StateMachine.into())
    }

    /// The object is enumerated again by another call, behind the hook that ends this one.
    fn again(&self, end: Snippet) -> Snippet {
        let zero = end.op(op::LDARG_0).op(op::LDC_I4_0).op(op::CONV_I8);
        zero.op_u32(op::STFLD, self.field)
    }

    /// Appends a part's new body, or returns the reason why there is none; then `out` is unchanged.
    pub(crate) fn weave(
        &self,
        part: &MachineMethod,
        body: &Body<'_>,
        Gets { shape, around, own }: Gets<'_>,
        additions: &mut Additions,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Attempt<Rewritten> {
        let mut calls = Vec::new();
        let walked = scratch.walk(body, |insn, start| match insn.opcode {
            op::CALL | op::CALLVIRT | op::NEWOBJ => calls.push((insn, start)),
            _ => {}
        });
        if walked.is_err() {
            return Err(Reason::UnreadableBody.into());
        }
        let none = Snippet::default();
        let hook = |token| self.on_this(none, token);
        let resume = || {
            let this = none.op(op::LDARG_0).op_u32(op::LDFLDA, self.field);
            self.tokens.resume(this, self.id, self.says)
        };
        let (mut enter, mut exit, mut error) = (none, Exit::Always(none), none);
        let mut before = Vec::new();
        match part.role {
            Role::AsyncMoveNext => {
                before = self.at_builder_calls(body.code, &calls);
                let resume = resume();
                match state_is_read(body.code, scratch) {
                    Some(pc) => {
                        before.insert(0, (pc, resume));
                        enter = self.held;
                    }
                    None => enter = self.behind_held(resume)?,
                }
            }
            Role::MoveNext => {
                enter = self.behind_held(resume())?;
                // No branch on the result: coverlet would count it.
                exit = Exit::OfResult(hook(self.tokens.moved));
                error = hook(self.tokens.fail);
            }
            Role::Dispose => {
                let (end, fail) = (self.again(hook(self.tokens.end)), hook(self.tokens.fail));
                let waits = self.move_next_disposes();
                exit = Exit::Always(match waits {
                    true => self.unless_running(end, none)?,
                    false => end,
                });
                error = match waits {
                    true => self.unless_running(fail, none.op(op::POP))?,
                    false => fail,
                };
            }
            Role::Kickoff => before.push(self.begin(body.code, &calls, additions)?),
        }
        let recipe = Recipe {
            start: 0,
            enter,
            exit,
            error,
            exception: self.tokens.exception,
            before: &before,
            points: around.map(|around| &around.points),
            result: shape.result,
            locals: shape.locals,
            extra: around.map_or((&[], 0), Around::extra),
        };
        scratch.rewrite_with(body, (&recipe, own.unwrap_or_default()), additions, out)
    }

    /// The hooks before the calls that report to the builder that an async method waits or ends.
    fn at_builder_calls(&self, code: &[u8], calls: &[(Insn, u32)]) -> Vec<(u32, Snippet)> {
        let builders = self.builders();
        let none = Snippet::default();
        let hook = |insn: Insn, start: u32| {
            let end = self.on_this(none, self.tokens.end);
            let suspend = self.on_this(none, self.tokens.suspend);
            Some(match self.builder_call(insn.token(code), &builders)? {
                b"AwaitUnsafeOnCompleted" | b"AwaitOnCompleted" => suspend,
                b"SetException" => {
                    let fail = self.on_this(none.op(op::DUP), self.tokens.fail);
                    match self.machine.sort {
                        Sort::AsyncIterator => self.again(fail),
                        _ => fail,
                    }
                }
                b"SetResult" if self.machine.sort == Sort::AsyncIterator => {
                    // What is given to SetResult is pushed by the instruction in front of it.
                    match code[..start as usize].last().copied().map(u16::from) {
                        Some(op::LDC_I4_0) => self.again(end),
                        Some(op::LDC_I4_1) => suspend,
                        _ => return None,
                    }
                }
                b"SetResult" => end,
                _ => return None,
            })
        };
        (calls.iter())
            .filter_map(|&(insn, start)| Some((start, hook(insn, start)?)))
            .collect()
    }

    /// The hook behind the instruction by which the kick-off makes the machine.
    fn begin(
        &self,
        code: &[u8],
        calls: &[(Insn, u32)],
        additions: &mut Additions,
    ) -> Attempt<(u32, Snippet)> {
        let made = calls
            .iter()
            .find(|(insn, _)| insn.opcode == op::NEWOBJ && self.makes_machine(insn.token(code)));
        let &(made, _) = made.ok_or(Reason::StateMachine)?;
        let field = self.field_beside(made.token(code), additions)?;
        let of_machine = Snippet::default().op(op::DUP).op_u32(op::LDFLDA, field);
        let begin = self.tokens.begin(of_machine, self.id, self.says);
        Ok((made.end(), self.behind_held(begin)?))
    }

    /// Signatures of the types of the fields that learn of the machine's end: builder and promise.
    fn builders(&self) -> Vec<&'a [u8]> {
        let metadata = &self.image.metadata;
        let tables = &metadata.tables;
        let list = |ty| {
            let row = tables.row(table::TYPE_DEF, ty);
            row.map(|row| row.get(column::type_def::FIELD_LIST))
        };
        let all = tables.rows(table::FIELD) + 1;
        let first = list(self.machine.ty).unwrap_or(all);
        let end = list(self.machine.ty + 1).unwrap_or(all);
        let names: &[&[u8]] = match self.machine.sort {
            // The promise says all that its builder's `Complete` says.
            Sort::AsyncIterator => &[b"<>t__builder", b"<>v__promiseOfValueOrEnd"],
            _ => &[b"<>t__builder", b"$Builder", b"$builder"],
        };
        (first..end)
            .filter_map(|field| {
                let row = tables.row(table::FIELD, field).ok()?;
                let name = metadata.strings.get(row.get(column::field::NAME)).ok()?;
                let signature = metadata.blobs.get(row.get(column::field::SIGNATURE)).ok()?;
                let ty = signature.strip_prefix(&[kind::FIELD])?;
                names.contains(&name).then_some(ty)
            })
            .collect()
    }

    /// The name of the method that a token stands for, if it is one of these types.
    fn builder_call(&self, token: u32, types: &[&[u8]]) -> Option<&'a [u8]> {
        let metadata = &self.image.metadata;
        let tables = &metadata.tables;
        match token_table(token) {
            table::METHOD_SPEC => {
                let row = tables.row(table::METHOD_SPEC, token_row(token)).ok()?;
                let method = row.get(column::method_spec::METHOD);
                self.builder_call(decode(&coded::METHOD_DEF_OR_REF, method).ok()?, types)
            }
            table::MEMBER_REF => {
                let row = tables.row(table::MEMBER_REF, token_row(token)).ok()?;
                let class = row.get(column::member_ref::CLASS);
                let class = decode(&coded::MEMBER_REF_PARENT, class).ok()?;
                self.is_one_of(class, types)
                    .then(|| metadata.strings.get(row.get(column::member_ref::NAME)).ok())?
            }
            table::METHOD_DEF => {
                let row = tables.row(table::METHOD_DEF, token_row(token)).ok()?;
                let owner = self.image.metadata.owner_of_method(token_row(token))?;
                let class = u32::from(table::TYPE_DEF) << 24 | owner;
                self.is_one_of(class, types)
                    .then(|| metadata.strings.get(row.get(column::method_def::NAME)).ok())?
            }
            _ => None,
        }
    }

    /// Whether a type token means one of these types, given as signatures.
    fn is_one_of(&self, class: u32, types: &[&[u8]]) -> bool {
        if token_table(class) == table::TYPE_SPEC {
            return (self.type_spec(class)).is_ok_and(|signature| types.contains(&signature));
        }
        types.iter().any(|ty| match ty {
            [element::VALUETYPE | element::CLASS, rest @ ..] => {
                let coded = compressed(rest).map_or(0, |(coded, _)| coded);
                decode(&coded::TYPE_DEF_OR_REF, coded).is_ok_and(|ty| ty == class)
            }
            _ => false,
        })
    }

    /// The signature of a `TypeSpec`.
    fn type_spec(&self, token: u32) -> Result<&'a [u8]> {
        let metadata = &self.image.metadata;
        let row = (metadata.tables).row(table::TYPE_SPEC, token_row(token))?;
        metadata.blobs.get(row.get(column::type_spec::SIGNATURE))
    }

    /// Whether a token is a method of the machine: behind `newobj` a constructor.
    fn makes_machine(&self, token: u32) -> bool {
        let tables = &self.image.metadata.tables;
        match token_table(token) {
            table::METHOD_DEF => {
                self.image.metadata.owner_of_method(token_row(token)) == Some(self.machine.ty)
            }
            table::MEMBER_REF => tables
                .row(table::MEMBER_REF, token_row(token))
                .and_then(|row| {
                    decode(
                        &coded::MEMBER_REF_PARENT,
                        row.get(column::member_ref::CLASS),
                    )
                })
                .is_ok_and(|class| self.instantiates_machine(class)),
            _ => false,
        }
    }

    /// Whether a `TypeSpec` is an instantiation of the machine.
    fn instantiates_machine(&self, class: u32) -> bool {
        match self.type_spec(class) {
            Ok([element::GENERICINST, _, rest @ ..]) if token_table(class) == table::TYPE_SPEC => {
                let coded = compressed(rest).map_or(0, |(coded, _)| coded);
                decode(&coded::TYPE_DEF_OR_REF, coded)
                    .is_ok_and(|ty| ty == token(table::TYPE_DEF, self.machine.ty))
            }
            _ => false,
        }
    }

    /// The field of the machine that a constructor makes: of a generic one, in the constructor's
    /// instantiation.
    fn field_beside(&self, constructor: u32, additions: &mut Additions) -> Result<u32> {
        if !self.generic {
            return Ok(self.field);
        }
        let row = self
            .image
            .metadata
            .tables
            .row(table::MEMBER_REF, token_row(constructor))?;
        field_reference(row.get(column::member_ref::CLASS), additions)
    }
}

/// Behind the instructions by which `MoveNext` of C# and Visual Basic reads its state, if nothing branches there: coverlet
/// knows an async method by them, and takes the branches on the state for the author's otherwise.
fn state_is_read(code: &[u8], scratch: &Scratch) -> Option<u32> {
    const LDARG_0: u8 = op::LDARG_0 as u8;
    const STLOC_0: u8 = op::STLOC_0 as u8;
    const LDFLD: u8 = op::LDFLD as u8;
    const END: u32 = 7;
    let [LDARG_0, LDFLD, _, _, _, _, STLOC_0, _, ..] = *code else {
        return None;
    };
    (!scratch.branches_to(code, END)).then_some(END)
}

/// A reference to the field in an instantiation (a coded `MemberRefParent`).
fn field_reference(parent: u32, additions: &mut Additions) -> Result<u32> {
    let name = additions.string(FIELD_NAME);
    let signature = additions.blob(&FIELD_SIGNATURE);
    additions.row(table::MEMBER_REF, &[parent, name, signature])
}

#[cfg(test)]
mod tests;
