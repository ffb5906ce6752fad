//! Methods that are called instead of others: static ones of the type that has the adapters, with the target as the first
//! argument.
//!
//! ```text
//!     [hooks]; ldarg..; callvirt callee; [stloc r; hooks; ldloc r]; ret
//! ```

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::settle;
use crate::aspect::bind::call::{Bound, Call, Dest, Keep};
use crate::aspect::bind::site::{Goal, Instead, Redirect, Replacement};
use crate::aspect::bind::ty::Ty;
use crate::aspect::joinpoint::{CallHow, Callee};
use crate::aspect::plan::{Planned, Redirected};
use crate::cil::il::body::{self, Body};
use crate::cil::il::insn::op;
use crate::cil::image::Image;
use crate::cil::metadata::additions::Additions;
use crate::cil::metadata::heaps::put_compressed;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature::{MethodSignature, element};
use crate::cil::metadata::tables::{decode, encode, token_row, token_table};
use crate::cil::rewrite::{self, Exit, Snippet};
use crate::cil::weave::adapters::{self, Adapter};
use crate::cil::weave::code::Code;
use crate::cil::weave::import::Importer;
use crate::cil::weave::ordinary::{self, MethodInfo};
use crate::cil::weave::own::{self, Method, Own, convert, signature_of_locals};
use crate::cil::weave::points;
use crate::error::Result;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What is called instead of methods, and the ids of those that are recorded.
#[derive(Clone, Copy)]
pub struct Redirects<'r> {
    pub all: &'r [Arc<Redirect>],
    pub ids: &'r [u32],
    /// The points at which they are called.
    pub points: &'r [Redirected],
}

impl Redirects<'_> {
    /// What hooks of the library they need.
    pub fn advice(&self) -> Advice {
        let each = self.all.iter().map(|redirect| redirect.advice());
        each.fold(Advice::default(), Advice::with)
            .without(Advice::OWN)
    }

    /// Whether one of them ends when a task does.
    pub fn follows(&self) -> bool {
        self.all.iter().any(|redirect| redirect.follows())
    }
}

/// Methods that the type with the adapters has at most: CoreCLR loads none with 65,536.
const MOST: usize = 60_000;

/// What a redirected call calls, or why it stays.
pub(crate) type Token = std::result::Result<u32, Reason>;

/// The hooks of redirected calls, as those of methods: replacements are calls at the start whose result is kept.
pub(crate) fn bounds(redirects: &[Arc<Redirect>]) -> Vec<Arc<Bound>> {
    let mut all = Vec::new();
    for redirect in redirects {
        all.extend(redirect.bound().cloned());
        all.extend(
            redirect
                .replace()
                .map(|replace| Arc::new(as_bound(replace))),
        );
    }
    all
}

fn as_bound(replace: &Replacement) -> Bound {
    let (dest, states) = match &replace.result {
        Ty::Void => (Dest::Drop, Box::default()),
        ty => (Dest::State(0), Box::from([ty.clone()])),
    };
    Bound {
        enter: Box::new([Call {
            dest,
            ..replace.call.clone()
        }]),
        keep: Keep {
            states,
            ..Keep::default()
        },
        ..Bound::default()
    }
}

/// Adds the methods that are called instead. What they name is imported already.
pub(crate) fn add(
    (image, hooks): (&Image<'_>, &ordinary::Tokens),
    redirects: Redirects<'_>,
    importer: &mut Importer<'_, '_>,
    all: &mut Vec<Adapter>,
) -> Result<Vec<Token>> {
    let mut known: FxHashMap<&str, u32> = FxHashMap::default();
    let mut tokens = Vec::with_capacity(redirects.all.len());
    for (place, redirect) in redirects.all.iter().enumerate() {
        if let Some(placed) = redirect.placed()
            && !points::import(placed, importer)?
        {
            tokens.push(Err(Reason::ExceptionUnnamed));
            continue;
        }
        if points::names_hidden(image, redirect, importer) {
            tokens.push(Err(match redirect.placed() {
                Some(_) => Reason::PointOfHidden,
                None => Reason::CallOfHidden,
            }));
            continue;
        }
        let name = match redirect.goal() {
            Goal::Class(name) => name,
            Goal::Hook(replace) => {
                let method = importer.imports().method(&replace.call);
                tokens.push(method.ok_or(Reason::Unsupported));
                continue;
            }
        };
        if let Some(&method) = known.get(&**name) {
            tokens.push(Ok(method));
            continue;
        }
        let planned = Planned {
            ty: 0,
            index: 0,
            id: redirects.ids.get(place).copied().unwrap_or_default(),
            advice: redirect.advice(),
            bound: None,
        };
        if all.len() >= MOST {
            tokens.push(Err(Reason::PoolFull));
            continue;
        }
        let Some(made) = make((image, hooks), (redirect, &planned), importer)? else {
            tokens.push(Err(Reason::Unsupported));
            continue;
        };
        if all.is_empty() {
            adapters::add_type(image, importer)?;
        }
        let simple = name.rsplit('/').next().unwrap_or(name);
        let method = adapters::add_row(image, simple, &made.signature, importer)?;
        known.insert(name, method);
        tokens.push(Ok(method));
        all.push(Adapter {
            method: token_row(method),
            body: made.body,
        });
    }
    let stand = |point: &&Redirected| tokens[point.redirect as usize].is_ok();
    let points = redirects.points.iter().filter(stand);
    points::import_names(image, points, redirects.all, importer)?;
    Ok(tokens)
}

struct Made {
    signature: Vec<u8>,
    body: Vec<u8>,
}

/// What a method that is called instead takes and gives: the target is its first argument.
struct Shape<'a> {
    signature: Vec<u8>,
    arguments: u32,
    original: MethodSignature<'a>,
}

impl<'a> Shape<'a> {
    fn of(image: &'a Image<'_>, callee: &Callee) -> Result<Shape<'a>> {
        let metadata = &image.metadata;
        let token = callee.reference;
        let row = metadata.tables.row(token_table(token), token_row(token))?;
        let (blob, owner) = match token_table(token) {
            table::METHOD_DEF => {
                let owner = metadata
                    .owner_of_method(token_row(token))
                    .unwrap_or_default();
                let owner = u32::from(table::TYPE_DEF) << 24 | owner;
                (row.get(column::method_def::SIGNATURE), owner)
            }
            _ => {
                let parent = row.get(column::member_ref::CLASS);
                let owner = decode(&coded::MEMBER_REF_PARENT, parent)?;
                (row.get(column::member_ref::SIGNATURE), owner)
            }
        };
        let original = MethodSignature::parse(metadata.blobs.get(blob)?)?;
        let has_target = callee.has_target();
        let arguments = original.count + u32::from(has_target);
        let mut signature = vec![0];
        put_compressed(&mut signature, arguments);
        signature.extend_from_slice(original.returns);
        if has_target {
            match callee.owner.name() {
                Some("System.String") => signature.push(element::STRING),
                Some("System.Object") => signature.push(element::OBJECT),
                _ => {
                    signature.push(element::CLASS);
                    let owner = encode(&coded::TYPE_DEF_OR_REF, owner).unwrap_or_default();
                    put_compressed(&mut signature, owner);
                }
            }
        }
        signature.extend_from_slice(original.parameters);
        Ok(Shape {
            signature,
            arguments,
            original,
        })
    }
}

/// Code under way, with what it needs of a frame.
#[derive(Default)]
struct Draft {
    code: Code,
    max_stack: u32,
    /// The types of the locals, and how many they are.
    locals: (Vec<u8>, u32),
}

impl Draft {
    /// Adds locals behind those that there are: the first one's number.
    fn add_locals(&mut self, types: &[u8], count: u32) -> u32 {
        let first = self.locals.1;
        self.locals.0.extend_from_slice(types);
        self.locals.1 += count;
        first
    }

    /// The call itself, or the hook that replaces it. `None` where something in it cannot be written.
    fn of(
        redirect: &Redirect,
        shape: &Shape<'_>,
        own: &mut Own,
        importer: &mut Importer<'_, '_>,
    ) -> Option<Draft> {
        let callee = &redirect.callee;
        let mut draft = Draft {
            max_stack: shape.arguments.max(1),
            ..Draft::default()
        };
        let Some(replace) = redirect.replace() else {
            for argument in 0..shape.arguments {
                draft.code.load_argument(argument);
            }
            let opcode = match callee.how {
                CallHow::Virtual => op::CALLVIRT,
                _ => op::CALL,
            };
            draft.code.op_u32(opcode, callee.reference);
            return Some(draft);
        };
        let imports = importer.imports();
        let method = method(&shape.signature, &[]);
        own.make(imports, &as_bound(replace), &method).ok()?;
        let hook = own.code();
        draft.code.bytes(hook.enter);
        draft.max_stack = draft.max_stack.max(hook.max_stack);
        let (types, count) = own.extra();
        draft.add_locals(types, count);
        if replace.result != Ty::Void && callee.result != Ty::Void {
            draft.code.load_local(0);
            convert(imports, &replace.result, replace.convert, &mut draft.code)?;
        }
        Some(draft)
    }

    /// The same with hooks around it. `None` where something in them cannot be written.
    fn between(
        mut self,
        bound: &Bound,
        shape: &Shape<'_>,
        own: &mut Own,
        importer: &mut Importer<'_, '_>,
    ) -> Option<Draft> {
        let before = signature_of_locals(&self.locals);
        let method = method(&shape.signature, &before);
        own.make(importer.imports(), bound, &method).ok()?;
        let hooks = own.code();
        let inner = std::mem::take(&mut self.code);
        let (types, count) = own.extra();
        self.add_locals(types, count);
        self.max_stack = self.max_stack.max(hooks.max_stack + 1);
        self.code.bytes(hooks.enter);
        self.code.bytes(inner.as_bytes());
        // Where hooks look for it.
        let has_result = !shape.original.is_void();
        let result = match has_result {
            true => self.add_locals(shape.original.returns, 1),
            false => 0,
        };
        if has_result {
            self.code.store_local(result);
        }
        self.code.bytes(hooks.exit.0);
        self.code.bytes(hooks.exit.1);
        if has_result {
            self.code.load_local(result);
        }
        Some(self)
    }

    /// The method, which returns behind the code.
    fn finish(mut self, signature: Vec<u8>, importer: &mut Importer<'_, '_>) -> Result<Made> {
        self.code.op(op::RET);
        let locals = match self.locals.1 {
            0 => 0,
            _ => {
                let blob = signature_of_locals(&self.locals);
                importer.additions().stand_alone_sig(&blob)?
            }
        };
        let stack = u16::try_from(self.max_stack + 1).unwrap_or(u16::MAX);
        let body = adapters::finished(&self.code, (stack, locals), &[]);
        Ok(Made { signature, body })
    }
}

/// `None` where something in it cannot be written.
fn make(
    (image, hooks): (&Image<'_>, &ordinary::Tokens),
    (redirect, planned): (&Redirect, &Planned),
    importer: &mut Importer<'_, '_>,
) -> Result<Option<Made>> {
    if redirect.placed().is_some() {
        return make_placed(redirect, importer);
    }
    let shape = Shape::of(image, &redirect.callee)?;
    let mut own = Own::default();
    let Some(mut draft) = Draft::of(redirect, &shape, &mut own, importer) else {
        return Ok(None);
    };
    if redirect.recorded().is_some() {
        draft.code.op(op::RET);
        if redirect.follows() && hooks.follow == 0 {
            return Ok(None);
        }
        let call = (redirect.follows()).then(|| draft.add_locals(&[element::I8], 1));
        let plain = Plain {
            signature: &shape.signature,
            code: draft.code.as_bytes(),
            max_stack: draft.max_stack,
            locals: &signature_of_locals(&draft.locals),
            call,
        };
        let bound = redirect.bound().map(|bound| &**bound);
        let body = plain.recorded((planned, hooks), bound, importer)?;
        return Ok(body.map(|body| Made {
            signature: shape.signature,
            body,
        }));
    }
    let draft = match redirect.bound() {
        None => Some(draft),
        Some(bound) => draft.between(bound, &shape, &mut own, importer),
    };
    draft
        .map(|draft| draft.finish(shape.signature, importer))
        .transpose()
}

/// The method of a point: it takes what the hooks ask for. `None` where something in it cannot be written.
fn make_placed(redirect: &Redirect, importer: &mut Importer<'_, '_>) -> Result<Option<Made>> {
    let callee = &redirect.callee;
    // Of a type of another assembly only the hook says whether it is a struct.
    let result = match redirect.replace() {
        Some(replace) if replace.result == callee.result => &replace.result,
        _ => &callee.result,
    };
    let taken = callee.taken();
    let mut blob = vec![0];
    put_compressed(&mut blob, taken.len() as u32);
    for ty in [result].into_iter().chain(&taken) {
        importer.ty(ty)?;
        if importer.imports().put_type(ty, &mut blob).is_none() {
            return Ok(None);
        }
    }
    let (bound, replaced) = match &redirect.instead {
        Instead::HooksAt { bound, .. } => (Arc::clone(bound), None),
        Instead::ReplaceAt { replace, .. } => (Arc::new(as_bound(replace)), Some(replace)),
        Instead::Hook(_) | Instead::Method { .. } | Instead::HookAt(..) => return Ok(None),
    };
    let mut own = Own::default();
    if own
        .make(importer.imports(), &bound, &method(&blob, &[]))
        .is_err()
    {
        return Ok(None);
    }
    let hooks = own.code();
    let mut draft = Draft {
        max_stack: hooks.max_stack.max(1),
        ..Draft::default()
    };
    draft.code.bytes(hooks.enter);
    let (types, count) = own.extra();
    draft.add_locals(types, count);
    if let Some(replace) = replaced
        && *result != Ty::Void
    {
        draft.code.load_local(0);
        let imports = importer.imports();
        let (from, to) = (&replace.result, replace.convert);
        if convert(imports, from, to, &mut draft.code).is_none() {
            return Ok(None);
        }
    }
    draft.finish(blob, importer).map(Some)
}

/// A method that makes a call, without hooks.
struct Plain<'p> {
    signature: &'p [u8],
    code: &'p [u8],
    max_stack: u32,
    locals: &'p [u8],
    /// The local of the logical call that it is, if it ends when a task does.
    call: Option<u32>,
}

impl Plain<'_> {
    /// Its body with the recorded pair, and own hooks around that, as any method gets them.
    fn recorded(
        &self,
        (planned, hooks): (&Planned, &ordinary::Tokens),
        bound: Option<&Bound>,
        importer: &mut Importer<'_, '_>,
    ) -> Result<Option<Vec<u8>>> {
        let locals = match self.locals {
            [] => 0,
            blob => importer.additions().stand_alone_sig(blob)?,
        };
        let mut plain = Vec::new();
        let stack = u16::try_from(self.max_stack + 1).unwrap_or(u16::MAX);
        body::put_fat_header(&mut plain, self.code.len(), stack, true, locals, false);
        plain.extend_from_slice(self.code);
        let plain = Body::parse(&plain, 0)?;
        let shape = MethodInfo {
            result: MethodSignature::parse(self.signature)?.returns,
            locals: self.locals,
            constructor: None,
        };
        let mut scratch = rewrite::Scratch::default();
        let Ok(mut recipe) = ordinary::recipe(&plain, &shape, planned, hooks, &mut scratch) else {
            return Ok(None);
        };
        if let Some(call) = self.call {
            let hook = |token| {
                Snippet::default()
                    .local(op::LDLOCA, call)
                    .hook(planned.id, token)
            };
            recipe.enter = hook(hooks.resume);
            recipe.exit = Exit::OfResult(hook(hooks.follow));
            recipe.error = hook(hooks.fail);
        }
        let mut own = Own::default();
        if let Some(bound) = bound {
            let method = Method {
                id: planned.id,
                ..method(self.signature, self.locals)
            };
            if own.make(importer.imports(), bound, &method).is_err() {
                return Ok(None);
            }
            recipe.extra = own.extra();
            if recipe.error.is_empty() && !bound.exception.is_empty() {
                // The exception lies there for the recorded pair.
                recipe.error = Snippet::default().op(op::POP);
            }
        }
        let own = bound.map_or_else(rewrite::Own::default, |_| own.code());
        let mut signatures = Signatures(importer.additions());
        let mut out = Vec::new();
        let made = scratch.rewrite_with(&plain, (&recipe, own), &mut signatures, &mut out);
        Ok(settle(made.map(|_| out))?.ok())
    }
}

struct Signatures<'s>(&'s mut Additions);

impl rewrite::Signatures for Signatures<'_> {
    fn stand_alone_sig(&mut self, blob: &[u8]) -> Result<u32> {
        self.0.stand_alone_sig(blob)
    }
}

/// The method as hooks see it: nothing in it overwrites its arguments.
fn method<'m>(signature: &'m [u8], locals: &'m [u8]) -> Method<'m> {
    Method {
        code: &[],
        start: 0,
        signature,
        locals,
        this: None,
        id: 0,
        line: 0,
        is_raw: false,
        is_zeroed: true,
        runs: &[],
        result: None,
        more_locals: 0,
        ends: own::Ends::Here,
    }
}
