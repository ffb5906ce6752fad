//! Async methods that the runtime suspends, without a state machine (`MethodImplOptions.Async`): the hooks of a logical
//! call go into the method itself. `docs/dotnet.md`, "Runtime async", says what is recorded when.
//!
//! The call's number lives in a local, which the runtime keeps while the method is suspended. In front of each call of
//! `AsyncHelpers.Await` a hook asks whether what is awaited is complete; where it is not, the method is about to be
//! suspended. Behind that call, and where an exception out of it is handled, the call goes on.

use crate::aspect::advice::Reason;
use crate::aspect::attempt::Attempt;
use crate::aspect::bind::call::Bound;
use crate::cil::il::body::{Body, ClauseKind};
use crate::cil::il::insn::{Insn, op};
use crate::cil::image::Image;
use crate::cil::metadata::additions::Additions;
use crate::cil::metadata::heaps::{compressed, put_compressed};
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature::{MethodSignature, element, kind, without_modifiers};
use crate::cil::metadata::tables::{decode, encode, token_row, token_table};
use crate::cil::rewrite::{self, Exit, Recipe, Rewritten, Scratch, Snippet};
use crate::cil::weave::import::Imports;
use crate::cil::weave::ordinary::{MethodInfo, Tokens};
use crate::cil::weave::own::{Method, Own};
use crate::error::Result;

/// How woven code asks whether something is complete.
#[derive(Clone, Copy)]
enum Completion {
    /// A task: its `get_IsCompleted`.
    Task(u32),
    /// A value with such a method.
    Value(u32),
    /// A value: its `GetAwaiter`, and that one's `get_IsCompleted`.
    Awaiter(u32, u32),
    /// It is not: the method was asked before.
    Never,
}

/// What is known of a type that is awaited.
#[derive(Clone)]
struct Awaited {
    completion: Completion,
    /// The types of the locals that asking takes.
    locals: Vec<Vec<u8>>,
}

/// The members by which an image's methods ask, each referred to once.
#[derive(Default)]
pub(crate) struct Members {
    of: Vec<(Vec<u8>, Awaited)>,
}

/// Weaves one method.
pub(crate) struct Weaver<'w, 'i, 'a> {
    pub(crate) image: &'i Image<'a>,
    pub(crate) tokens: &'w Tokens,
    pub(crate) id: u32,
    /// What a call that can be switched says where it begins.
    pub(crate) says: Option<i32>,
    /// The call that says what is left out of texts, at its begin.
    pub(crate) held: Snippet,
    /// Its calls are recorded.
    pub(crate) has_pair: bool,
}

/// The hooks of a logical call where the method begins, where it returns, and where an exception leaves it.
struct Pair {
    enter: Snippet,
    exit: Snippet,
    error: Snippet,
}

/// What makes the code of a method's own hooks.
pub(crate) struct OwnHooks<'o> {
    pub own: &'o mut Own,
    pub imports: &'o Imports,
    pub bound: &'o Bound,
    pub method: Method<'o>,
}

/// The locals that the weaver adds in front of those of its handlers.
struct Locals {
    /// The number of the method's own.
    own: u32,
    types: Vec<Vec<u8>>,
}

impl Locals {
    /// The number of a local of this type; what is awaited is asked before anything else is, so one will do.
    fn of(&mut self, ty: &[u8]) -> u32 {
        let place = self.types.iter().position(|t| t == ty);
        let place = place.unwrap_or_else(|| {
            self.types.push(ty.to_vec());
            self.types.len() - 1
        });
        self.own + place as u32
    }
}

/// What a method of such a return type leaves on the stack where it returns.
pub(crate) fn result(returns: &[u8]) -> Option<&[u8]> {
    match without_modifiers(returns) {
        [element::CLASS | element::VALUETYPE, ..] => Some(&[element::VOID]),
        [element::GENERICINST, _, rest @ ..] => {
            let (_, len) = compressed(rest)?;
            match &rest[len..] {
                [1, of @ ..] => Some(of),
                _ => None,
            }
        }
        _ => None,
    }
}

impl<'a> Weaver<'_, '_, 'a> {
    /// Appends the new body, or returns the reason why there is none; then `out` is unchanged.
    pub(crate) fn weave(
        &self,
        body: &Body<'_>,
        (shape, hooks): (&MethodInfo<'_>, Option<OwnHooks<'_>>),
        (additions, members): (&mut Additions, &mut Members),
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Attempt<Rewritten> {
        let mut calls = Vec::new();
        let walked = scratch.walk(body, |insn, start| {
            if insn.opcode == op::CALL {
                calls.push((insn, start));
            }
        });
        if walked.is_err() {
            return Err(Reason::UnreadableBody.into());
        }
        let result = result(shape.result).ok_or(Reason::RuntimeAsync)?;
        let mut locals = Locals {
            own: local_count(shape.locals).ok_or(Reason::UnreadableBody)?,
            types: Vec::new(),
        };
        let mut before = Vec::new();
        let (mut enter, mut exit, mut error) = <[Snippet; 3]>::default().into();
        if self.has_pair {
            locals.types.push(vec![element::I8]);
            before = self.before(body, &calls, &mut locals, additions, members)?;
            Pair { enter, exit, error } = self.pair(&locals)?;
        }
        let mut extra = locals.types.concat();
        let mut count = locals.types.len() as u32;
        let mut code = rewrite::Own::default();
        if let Some(hooks) = hooks {
            let method = Method {
                result: Some(result),
                more_locals: count,
                ..hooks.method
            };
            hooks.own.make(hooks.imports, hooks.bound, &method)?;
            let (types, more) = hooks.own.extra();
            extra.extend_from_slice(types);
            count += more;
            if error.is_empty() && !hooks.bound.exception.is_empty() {
                // The exception lies there for the recorded pair.
                error = Snippet::default().op(op::POP);
            }
            code = hooks.own.code();
        }
        let recipe = Recipe {
            start: 0,
            enter,
            exit: Exit::Always(exit),
            error,
            exception: self.tokens.exception,
            before: &before,
            points: None,
            result,
            locals: shape.locals,
            extra: (&extra, count),
        };
        scratch.rewrite_with(body, (&recipe, code), additions, out)
    }

    /// The hooks of the logical call.
    fn pair(&self, locals: &Locals) -> Attempt<Pair> {
        let none = Snippet::default();
        let tokens = self.tokens;
        let enter = none.op(op::LDC_I4_0).op(op::CONV_I8);
        let enter = enter.local(op::STLOC, locals.own);
        let resumed = tokens.resume(enter.local(op::LDLOCA, locals.own), self.id, self.says);
        Ok(Pair {
            enter: self.held.then(resumed).ok_or(Reason::RuntimeAsync)?,
            exit: self.on_call(none, locals, tokens.end),
            // What was awaited may have thrown it: then the call goes on first.
            error: self.on_call(
                self.on_call(none, locals, tokens.awaited),
                locals,
                tokens.fail,
            ),
        })
    }

    /// `ldloca call; ldc id; call hook`, behind what is given.
    fn on_call(&self, first: Snippet, locals: &Locals, hook: u32) -> Snippet {
        first.local(op::LDLOCA, locals.own).hook(self.id, hook)
    }

    /// The hooks around awaits, and where what they throw is handled.
    fn before(
        &self,
        body: &Body<'_>,
        calls: &[(Insn, u32)],
        locals: &mut Locals,
        additions: &mut Additions,
        members: &mut Members,
    ) -> Attempt<Vec<(u32, Snippet)>> {
        let goes_on = self.on_call(Snippet::default(), locals, self.tokens.awaited);
        let (mut asks, mut resumes) = (Vec::new(), Vec::new());
        for &(insn, start) in calls {
            let Some(awaited) = self.awaited(insn.token(body.code), additions, members)? else {
                continue;
            };
            asks.push((start, self.ask(&awaited, locals)));
            resumes.push(insn.end());
        }
        for clause in body.clauses() {
            let clause = clause?;
            let protected = clause.try_start..clause.try_end;
            if asks.iter().any(|(at, _)| protected.contains(at)) {
                resumes.push(match clause.kind {
                    ClauseKind::Filter => clause.class_or_filter,
                    _ => clause.handler_start,
                });
            }
        }
        resumes.sort_unstable();
        resumes.dedup();
        // In front of one instruction a call goes on before it is suspended again.
        let mut before: Vec<_> = resumes.into_iter().map(|at| (at, goes_on)).collect();
        before.append(&mut asks);
        before.sort_by_key(|(at, _)| *at);
        Ok(before)
    }

    /// The hook in front of an await, with what is awaited on the stack.
    fn ask(&self, awaited: &Awaited, locals: &mut Locals) -> Snippet {
        let none = Snippet::default();
        let slots: Vec<u32> = awaited.locals.iter().map(|ty| locals.of(ty)).collect();
        let asked = match (awaited.completion, &slots[..]) {
            (Completion::Task(completed), _) => none.op(op::DUP).op_u32(op::CALLVIRT, completed),
            (Completion::Value(completed), &[value]) => none
                .local(op::STLOC, value)
                .local(op::LDLOCA, value)
                .op_u32(op::CALL, completed),
            (Completion::Awaiter(awaiter, completed), &[value, waits]) => none
                .local(op::STLOC, value)
                .local(op::LDLOCA, value)
                .op_u32(op::CALL, awaiter)
                .local(op::STLOC, waits)
                .local(op::LDLOCA, waits)
                .op_u32(op::CALL, completed),
            _ => return self.on_call(none, locals, self.tokens.suspend),
        };
        let asked = self.on_call(asked, locals, self.tokens.await_);
        match slots.first() {
            Some(&value) => asked.local(op::LDLOC, value),
            None => asked,
        }
    }

    /// What a call awaits, if it is one of `AsyncHelpers.Await`.
    fn awaited(
        &self,
        token: u32,
        additions: &mut Additions,
        members: &mut Members,
    ) -> Attempt<Option<Awaited>> {
        let metadata = &self.image.metadata;
        let tables = &metadata.tables;
        let (method, instance) = match token_table(token) {
            table::METHOD_SPEC => {
                use column::method_spec::{INSTANTIATION, METHOD};
                let row = tables.row(table::METHOD_SPEC, token_row(token))?;
                let method = decode(&coded::METHOD_DEF_OR_REF, row.get(METHOD))?;
                (method, metadata.blobs.get(row.get(INSTANTIATION))?)
            }
            _ => (token, &[][..]),
        };
        if token_table(method) != table::MEMBER_REF {
            return Ok(None);
        }
        let row = tables.row(table::MEMBER_REF, token_row(method))?;
        let class = decode(
            &coded::MEMBER_REF_PARENT,
            row.get(column::member_ref::CLASS),
        )?;
        let name = metadata.strings.get(row.get(column::member_ref::NAME))?;
        if token_table(class) != table::TYPE_REF
            || !metadata.is_type_named(class, b"System.Runtime.CompilerServices", b"AsyncHelpers")
        {
            return Ok(None);
        }
        match name {
            b"AwaitAwaiter" | b"UnsafeAwaitAwaiter" => {
                return Ok(Some(Awaited {
                    completion: Completion::Never,
                    locals: Vec::new(),
                }));
            }
            b"Await" => {}
            _ => return Ok(None),
        }
        let signature = metadata.blobs.get(row.get(column::member_ref::SIGNATURE))?;
        let parameter = without_modifiers(MethodSignature::parse(signature)?.parameters);
        let ty = instantiated(parameter, instance).ok_or(Reason::RuntimeAsync)?;
        if let Some((_, known)) = members.of.iter().find(|(of, _)| *of == ty) {
            return Ok(Some(known.clone()));
        }
        let awaited = self.members(&ty, additions)?.ok_or(Reason::RuntimeAsync)?;
        members.of.push((ty, awaited.clone()));
        Ok(Some(awaited))
    }

    /// The members of a type that tell whether it is complete; `None` for a type that is not known.
    fn members(&self, ty: &[u8], additions: &mut Additions) -> Result<Option<Awaited>> {
        use column::type_ref::{NAME, NAMESPACE, RESOLUTION_SCOPE};
        let metadata = &self.image.metadata;
        let coded = match ty {
            [element::GENERICINST, _, rest @ ..] | [_, rest @ ..] => compressed(rest),
            [] => None,
        };
        let Some(token) = coded.and_then(|(c, _)| decode(&coded::TYPE_DEF_OR_REF, c).ok()) else {
            return Ok(None);
        };
        if token_table(token) != table::TYPE_REF {
            return Ok(None);
        }
        let row = metadata.tables.row(table::TYPE_REF, token_row(token))?;
        let own = parent(ty, token, additions)?;
        let is_completed = [kind::HAS_THIS, 0, element::BOOLEAN];
        let is_task = |name: &[u8]| name == b"Task" || name == b"Task`1";
        let is_value = |name: &[u8]| name == b"ValueTask" || name == b"ValueTask`1";
        let awaiter = match metadata.strings.get(row.get(NAME))? {
            name if is_task(name) => {
                let task = match name {
                    b"Task" => token,
                    _ => {
                        let name = additions.string("Task");
                        let columns = [row.get(RESOLUTION_SCOPE), name, row.get(NAMESPACE)];
                        additions.row(table::TYPE_REF, &columns)?
                    }
                };
                let parent = encode(&coded::MEMBER_REF_PARENT, task).expect("a TypeRef");
                let completed = member(parent, "get_IsCompleted", &is_completed, additions)?;
                return Ok(Some(Awaited {
                    completion: Completion::Task(completed),
                    locals: Vec::new(),
                }));
            }
            name if is_value(name) => {
                let completed = member(own, "get_IsCompleted", &is_completed, additions)?;
                return Ok(Some(Awaited {
                    completion: Completion::Value(completed),
                    locals: vec![ty.to_vec()],
                }));
            }
            b"ConfiguredTaskAwaitable" | b"ConfiguredTaskAwaitable`1" => "ConfiguredTaskAwaiter",
            b"ConfiguredValueTaskAwaitable" | b"ConfiguredValueTaskAwaitable`1" => {
                "ConfiguredValueTaskAwaiter"
            }
            _ => return Ok(None),
        };
        let scope = encode(&coded::RESOLUTION_SCOPE, token).expect("a TypeRef");
        let name = additions.string(awaiter);
        let nested = additions.row(table::TYPE_REF, &[scope, name, 0])?;
        let coded = encode(&coded::TYPE_DEF_OR_REF, nested).expect("a TypeRef");
        // The awaiter has the type argument of what it is nested in: once as that one's own signature says it.
        let of = |argument: &[u8]| {
            let mut of = Vec::new();
            if !argument.is_empty() {
                of.push(element::GENERICINST);
            }
            of.push(element::VALUETYPE);
            put_compressed(&mut of, coded);
            if !argument.is_empty() {
                of.push(1);
            }
            of.extend_from_slice(argument);
            of
        };
        let argument = argument(ty).unwrap_or_default();
        let (inside, waits) = match argument {
            [] => (of(&[]), of(&[])),
            _ => (of(&[element::VAR, 0]), of(argument)),
        };
        let mut signature = vec![kind::HAS_THIS, 0];
        signature.extend_from_slice(&inside);
        let get = member(own, "GetAwaiter", &signature, additions)?;
        let on = parent(&waits, nested, additions)?;
        let completed = member(on, "get_IsCompleted", &is_completed, additions)?;
        Ok(Some(Awaited {
            completion: Completion::Awaiter(get, completed),
            locals: vec![ty.to_vec(), waits],
        }))
    }
}

/// A type as the parent of members (a coded `MemberRefParent`): `token` is its `TypeRef`.
fn parent(ty: &[u8], token: u32, additions: &mut Additions) -> Result<u32> {
    let of = match ty {
        [element::GENERICINST, ..] => {
            let blob = additions.blob(ty);
            additions.row(table::TYPE_SPEC, &[blob])?
        }
        _ => token,
    };
    Ok(encode(&coded::MEMBER_REF_PARENT, of).expect("a type has members"))
}

fn member(parent: u32, name: &str, signature: &[u8], additions: &mut Additions) -> Result<u32> {
    let name = additions.string(name);
    let signature = additions.blob(signature);
    additions.row(table::MEMBER_REF, &[parent, name, signature])
}

/// The only type argument of an instantiated type.
fn argument(ty: &[u8]) -> Option<&[u8]> {
    let [element::GENERICINST, _, rest @ ..] = ty else {
        return None;
    };
    let (_, len) = compressed(rest)?;
    rest[len..].strip_prefix(&[1])
}

/// A parameter's type in an instantiation (II.23.2.15) of a method with one type parameter.
fn instantiated(parameter: &[u8], instance: &[u8]) -> Option<Vec<u8>> {
    /// What a `MethodSpec`'s blob begins with.
    const GENERIC_METHOD: u8 = 0x0a;
    match argument(parameter) {
        Some([element::MVAR, 0]) => {
            let argument = instance.strip_prefix(&[GENERIC_METHOD, 1])?;
            let mut ty = parameter[..parameter.len() - 2].to_vec();
            ty.extend_from_slice(argument);
            Some(ty)
        }
        Some(_) => None,
        None => Some(parameter.to_vec()),
    }
}

/// How many locals a signature has.
fn local_count(signature: &[u8]) -> Option<u32> {
    match signature {
        [] => Some(0),
        [kind::LOCALS, rest @ ..] => compressed(rest).map(|(count, _)| count),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_methods_leave_on_the_stack() {
        let task = [element::CLASS, 0x11];
        assert_eq!(result(&task), Some(&[element::VOID][..]));
        let of_int = [element::GENERICINST, element::CLASS, 0x15, 1, element::I4];
        assert_eq!(result(&of_int), Some(&[element::I4][..]));
        assert_eq!(result(&[element::I4]), None);
        assert_eq!(
            result(&[element::GENERICINST, element::CLASS, 0x15, 2, 8, 8]),
            None
        );
    }

    #[test]
    fn awaited_types_are_instantiated() {
        let open = [
            element::GENERICINST,
            element::VALUETYPE,
            0x15,
            1,
            element::MVAR,
            0,
        ];
        let closed = [
            element::GENERICINST,
            element::VALUETYPE,
            0x15,
            1,
            element::STRING,
        ];
        assert_eq!(
            instantiated(&open, &[0x0a, 1, element::STRING]).unwrap(),
            closed
        );
        assert_eq!(instantiated(&open, &[]), None);
        let task = [element::CLASS, 0x11];
        assert_eq!(instantiated(&task, &[]).unwrap(), task);
    }
}
