//! Adapters: methods that call a hook, so that what it throws does not reach the program, or that it does not call itself.
//! They are static methods of a type of their own behind all others, so no row of another type moves.
//!
//! ```text
//!     call Guard.Begin; brtrue GO; [ldloc r]; ret          only with the flag against recursion
//! GO: .try { .try {
//!         ldarg..; call hook; [stloc r]; leave END
//!     } catch Exception { ldstr hook; call Guard.Failed; leave END } }       only with the guard
//!     finally { call Guard.End; endfinally }                                 only with the flag
//! END: [ldloc r]; ret
//! ```
//!
//! Where a hook changes a value, the adapter takes the old one as its last argument, and `r` begins with that. Where it ends an exception,
//! the adapter takes a pointer to where the value goes instead, and `r` says whether it went there.

use crate::aspect::bind::call::{Bound, Change, Constant, ConstantValue, Hook, Link, LinkKind};
use crate::aspect::bind::made::{self, Step, Test};
use crate::aspect::bind::ty::{Prim, Ty};
use crate::cil::il::body::{self, Clause, ClauseKind};
use crate::cil::il::insn::op;
use crate::cil::image::Image;
use crate::cil::metadata::heaps::put_compressed;
use crate::cil::metadata::schema::{coded, table};
use crate::cil::metadata::signature::kind;
use crate::cil::metadata::tables::{encode, token_row};
use crate::cil::weave::code::Code;
use crate::cil::weave::import::{Importer, Imports, Way};
use crate::cil::weave::own;
use crate::error::Result;
use std::sync::Arc;

/// The type that has the adapters. Its name is one that no language can write.
pub(crate) const TYPE: &str = "<Weave>";

/// A method to be added with its body.
pub(crate) struct Adapter {
    /// The `MethodDef` row.
    pub method: u32,
    pub body: Vec<u8>,
}

/// What is adapted: a hook, and how.
struct Wanted {
    hook: Arc<Hook>,
    way: Way,
    /// Of the hook.
    sort_key: String,
}

/// The adapters that methods' hooks need, each once, in an order that does not depend on theirs.
fn wanted<'b>(all: impl Iterator<Item = &'b Bound>) -> Vec<Wanted> {
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut known: rustc_hash::FxHashSet<(Arc<Hook>, Way)> = Default::default();
    for bound in all {
        for call in [&bound.enter, &bound.exit, &bound.exception]
            .into_iter()
            .flatten()
        {
            if let Some(way) = Way::of(call)
                && known.insert((Arc::clone(&call.hook), way.clone()))
            {
                wanted.push(Wanted {
                    hook: Arc::clone(&call.hook),
                    way,
                    sort_key: sort_key(&call.hook),
                });
            }
        }
    }
    wanted.sort_by_cached_key(|Wanted { sort_key, way, .. }| {
        let change = way.change.as_ref();
        let change = change.map(|change| format!("{change:?}"));
        (sort_key.clone(), way.guard, way.recursion, change)
    });
    wanted
}

/// All that tells hooks apart, as text.
fn sort_key(hook: &Hook) -> String {
    let Hook {
        owner,
        owner_is_interface: _,
        name,
        parameters,
        result,
        generics,
        links,
    } = hook;
    format!("{owner:?}.{name}({parameters:?}){result:?}{generics}{links:?}")
}

/// Adds the adapters that hooks need: the type, its methods, and how calls name them.
pub(crate) fn add<'b>(
    image: &Image<'_>,
    all: impl Iterator<Item = &'b Bound>,
    importer: &mut Importer<'_, '_>,
) -> Result<Vec<Adapter>> {
    let wanted = wanted(all);
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut adapters = accessors(image, &wanted, importer)?;
    let mut is_first = true;
    for Wanted { way, hook, .. } in &wanted {
        importer.guard(way)?;
        let change = way.change.as_ref();
        let found = match hook.links.is_empty() {
            true => {
                (importer.for_adapter(hook, change)?).map(|(method, blob)| (vec![method], blob))
            }
            false => importer.for_chain(hook)?,
        };
        let Some((methods, signature)) = found else {
            continue;
        };
        if std::mem::take(&mut is_first) {
            add_type(image, importer)?;
        }
        let text = Arc::from(made::told(hook));
        importer.text(&text)?;
        let body = body(hook, (&methods, way), &text, importer)?;
        let method = add_method(image, hook, (way, &text), &signature, importer)?;
        importer.add_method(hook, Some(way.clone()), method);
        adapters.push(Adapter {
            method: token_row(method),
            body,
        });
    }
    Ok(adapters)
}

/// The type, nested in another one, whose methods ask for what that alone sees.
const NESTED: &str = "<Weave>Members";

/// Adds the methods that ask for private members, each in a type nested in the one that has the member.
fn accessors(
    image: &Image<'_>,
    wanted: &[Wanted],
    importer: &mut Importer<'_, '_>,
) -> Result<Vec<Adapter>> {
    /// Nested and of the assembly, abstract, sealed, initialised at any time (II.23.1.15).
    const FLAGS: u32 = 5 | 0x80 | 0x100 | 0x10_0000;
    let mut links: Vec<(u32, String, (&Link, u16))> = Vec::new();
    let all = wanted.iter().flat_map(|Wanted { hook, .. }| {
        let links = hook.links.iter();
        links.map(|link| (link, hook.generics))
    });
    for (link, generics) in all {
        if let Ty::Named(owner) = &link.owner
            && link.is_private
            && let Some(ty) = importer.own_type(owner)
        {
            let key = format!("{link:?}{generics}");
            links.push((token_row(ty), key, (link, generics)));
        }
    }
    links.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    links.dedup_by(|a, b| (a.0, &a.1) == (b.0, &b.1));
    let mut all = Vec::new();
    // Lists of methods by way of pointers are of code that runs in no debugger's process: no library has them.
    if image.metadata.tables.rows(table::METHOD_PTR) > 0 {
        return Ok(all);
    }
    let mut last = 0;
    for (number, (owner, _, (link, generics))) in links.into_iter().enumerate() {
        importer.constants(link)?;
        let (Some(member), Some(signature)) =
            (importer.member(link)?, importer.accessor(link, generics)?)
        else {
            continue;
        };
        if owner != last {
            last = owner;
            let ty = add_type_of(image, (FLAGS, NESTED), importer)?;
            let columns = [token_row(ty), owner];
            importer.additions().row(table::NESTED_CLASS, &columns)?;
        }
        let method = add_row(
            image,
            &format!("{}{number}", link.name),
            &signature,
            importer,
        )?;
        add_parameters(method, generics, importer)?;
        importer.add_accessor(link, generics, method);
        all.push(Adapter {
            method: token_row(method),
            body: accessor(link, member, importer.imports()),
        });
    }
    Ok(all)
}

/// The body of a method that asks an object for a member.
fn accessor(link: &Link, member: u32, imports: &Imports) -> Vec<u8> {
    let mut code = Code::default();
    match link.owner.is_reference() {
        true => code.load_argument(0),
        false => code.bytes(&[op::LDARGA_S as u8, 0]),
    }
    put_member(link, member, 0, imports, &mut code);
    code.op(op::RET);
    let max_stack = 2 + link.arguments().len() as u16;
    finished(&code, (max_stack, 0), &[])
}

/// Adds the type, behind whose methods nothing else comes.
pub(crate) fn add_type(image: &Image<'_>, importer: &mut Importer<'_, '_>) -> Result<()> {
    /// Not public, abstract, sealed, initialised at any time (II.23.1.15).
    const FLAGS: u32 = 0x80 | 0x100 | 0x10_0000;
    add_type_of(image, (FLAGS, TYPE), importer).map(drop)
}

/// Adds a type without fields, whose methods come next; returns its token.
fn add_type_of(
    image: &Image<'_>,
    (flags, name): (u32, &str),
    importer: &mut Importer<'_, '_>,
) -> Result<u32> {
    let object = importer.object()?;
    let extends = encode(&coded::TYPE_DEF_OR_REF, object).expect("it is a TypeRef");
    let tables = &image.metadata.tables;
    // Lists may go by way of pointers.
    let fields = match tables.rows(table::FIELD_PTR) {
        0 => tables.rows(table::FIELD) + 1,
        pointers => pointers + 1,
    };
    let additions = importer.additions();
    let methods = match tables.rows(table::METHOD_PTR) {
        0 => additions.count(table::METHOD_DEF) + 1,
        pointers => pointers + 1,
    };
    let name = additions.string(name);
    additions.row(table::TYPE_DEF, &[flags, name, 0, extends, fields, methods])
}

/// Adds the method of an adapter; returns its token.
fn add_method(
    image: &Image<'_>,
    hook: &Hook,
    (way, told): (&Way, &str),
    signature: &[u8],
    importer: &mut Importer<'_, '_>,
) -> Result<u32> {
    // One hook may be called in several ways, and no two methods of a type are of one name and signature.
    let mut name = match (way.guard, way.recursion) {
        (true, true) => told.to_owned(),
        (true, false) => format!("{told} (guard)"),
        (false, _) => format!("{told} (flag)"),
    };
    match &way.change {
        None => {}
        Some(change) if change.throws => name.push_str(" (ends)"),
        Some(_) => name.push_str(" (change)"),
    }
    let token = add_row(image, &name, signature, importer)?;
    add_parameters(token, hook.generics, importer)?;
    Ok(token)
}

/// Adds the type parameters of a method.
fn add_parameters(method: u32, count: u16, importer: &mut Importer<'_, '_>) -> Result<()> {
    let additions = importer.additions();
    let owner = encode(&coded::TYPE_OR_METHOD_DEF, method).expect("methods have type parameters");
    for number in 0..u32::from(count) {
        let name = additions.string(&format!("T{number}"));
        additions.row(table::GENERIC_PARAM, &[number, 0, owner, name])?;
    }
    Ok(())
}

/// Adds a static method to the type; returns its token.
pub(crate) fn add_row(
    image: &Image<'_>,
    name: &str,
    signature: &[u8],
    importer: &mut Importer<'_, '_>,
) -> Result<u32> {
    /// Of the assembly, static, hidden by signature (II.23.1.10).
    const FLAGS: u32 = 3 | 0x10 | 0x80;
    let tables = &image.metadata.tables;
    let parameters = match tables.rows(table::PARAM_PTR) {
        0 => tables.rows(table::PARAM) + 1,
        pointers => pointers + 1,
    };
    let has_pointers = tables.rows(table::METHOD_PTR) > 0;
    let additions = importer.additions();
    let name = additions.string(name);
    let signature = additions.blob(signature);
    let token = additions.row(
        table::METHOD_DEF,
        &[0, 0, FLAGS, name, signature, parameters],
    )?;
    if has_pointers {
        additions.row(table::METHOD_PTR, &[token_row(token)])?;
    }
    Ok(token)
}

/// The length of `leave`.
const LEAVE: u32 = 5;

/// The code of a chain's links takes so much.
fn links_len(hook: &Hook, tokens: &[u32], imports: &Imports) -> u32 {
    let mut code = Code::default();
    put_links(hook, (tokens, imports), u32::MAX / 2, &mut code);
    code.len()
}

/// Appends the links of a chain, from the first argument on. A null leaves it for `end`.
fn put_links(hook: &Hook, (tokens, imports): (&[u32], &Imports), end: u32, code: &mut Code) {
    let leave_if_null = |code: &mut Code| {
        code.bytes(&[op::BRTRUE_S as u8, LEAVE as u8]);
        code.op_u32(op::LEAVE, end.wrapping_sub(code.len() + LEAVE));
    };
    let mut from = &hook.parameters[0];
    // The link at hand, and the next local of a struct that a link gives or of an `out`.
    let (mut place, mut local) = (0, 1);
    for step in made::chain(hook) {
        match step {
            Step::Load(argument) => code.load_argument(argument as u32),
            Step::Unless(Test::HasArgument(argument)) => {
                code.load_argument(argument as u32);
                leave_if_null(code);
            }
            Step::Unless(test) => {
                if place == 0 {
                    code.load_argument(0);
                }
                // What is of another type becomes null, and leaves it at the next link.
                if test == Test::NotNull {
                    code.op(op::DUP);
                    leave_if_null(code);
                }
            }
            Step::Box(_) => code.op_u32(op::BOX, tokens[place]),
            Step::Ask(link) => {
                let out = local + u32::from(place > 0 && !from.is_reference());
                match (from.is_reference() || link.kind == LinkKind::Cast, place) {
                    (true, _) => {}
                    (false, 0) if link.is_private => code.load_argument(0),
                    (false, 0) => code.bytes(&[op::LDARGA_S as u8, 0]),
                    (false, _) if link.is_private => {}
                    (false, _) => {
                        code.store_local(local);
                        code.load_local_address(local);
                    }
                }
                match link.kind {
                    LinkKind::Cast => code.op_u32(op::ISINST, tokens[place]),
                    _ if link.is_private => code.op_u32(op::CALL, tokens[place]),
                    _ => put_member(link, tokens[place], out, imports, code),
                }
                if link.kind.out().is_some() {
                    code.op(op::POP);
                    code.load_local(out);
                }
            }
            _ => {}
        }
        if matches!(step, Step::Box(_) | Step::Ask(_)) {
            let link = &hook.links[place];
            local += u32::from(place > 0 && !from.is_reference());
            local += u32::from(link.kind.out().is_some());
            from = &link.result;
            place += 1;
        }
    }
}

/// Appends what a link asks the object or the address on the stack for. What its method gives by `out` goes to the local `out`.
fn put_member(link: &Link, token: u32, out: u32, imports: &Imports, code: &mut Code) {
    for constant in link.arguments() {
        match constant.value {
            ConstantValue::Out => code.load_local_address(out),
            _ => put_constant(constant, imports, code),
        }
    }
    if link.kind == LinkKind::Length {
        code.op(op::LDLEN);
        return code.op(op::CONV_I4);
    }
    let opcode = match (&link.kind, link.owner.is_reference()) {
        (LinkKind::Field, _) => op::LDFLD,
        (_, true) => op::CALLVIRT,
        (_, false) => op::CALL,
    };
    code.op_u32(opcode, token);
}

fn put_constant(constant: &Constant, imports: &Imports, code: &mut Code) {
    let pushed = constant.pushed();
    let is_wide = matches!(pushed, Ty::Prim(Prim::I64 | Prim::U64));
    match &constant.value {
        ConstantValue::Text(text) => {
            code.op_u32(op::LDSTR, imports.text(text).expect("it was imported"));
        }
        ConstantValue::Null | ConstantValue::Out => code.op(op::LDNULL),
        ConstantValue::Taken(n) => code.load_argument(1 + u32::from(*n)),
        ConstantValue::Int(n) if is_wide => code.long((*n).into()),
        ConstantValue::Int(n) => code.int(*n),
        ConstantValue::Long(n) => code.long(*n),
        ConstantValue::Double(bits) => match pushed {
            Ty::Prim(Prim::F32) => code.float(f64::from_bits(*bits) as f32),
            _ => code.double(f64::from_bits(*bits)),
        },
    }
    if let Some(prim) = constant.boxed {
        let token = imports.type_token(&Ty::Prim(prim));
        code.op_u32(op::BOX, token.expect("it was imported"));
    }
}

fn body(
    hook: &Hook,
    (methods, way): (&[u32], &Way),
    told: &str,
    importer: &mut Importer<'_, '_>,
) -> Result<Vec<u8>> {
    let change = way.change.as_ref();
    // Of an adapter that puts the value behind a pointer: whether it did.
    let points = change.is_some_and(|change| change.throws);
    let gives = match change {
        _ if points => &Ty::Prim(Prim::Bool),
        Some(change) => &change.to,
        None => &hook.result,
    };
    let has_result = *gives != Ty::Void;
    let locals = kept(hook, has_result.then_some(gives), importer)?;
    let imports = importer.imports();
    let guard = imports.guard;
    let result = |code: &mut Code| {
        if has_result {
            code.load_local(0);
        }
        code.op(op::RET);
    };
    let mut code = Code::default();
    if change.is_some() && !points {
        code.load_argument(hook.parameters.len() as u32);
        code.store_local(0);
    }
    if way.recursion {
        code.op_u32(op::CALL, guard.begin);
        // Over the return.
        code.bytes(&[op::BRTRUE_S as u8, 1 + u8::from(has_result)]);
        result(&mut code);
    }
    let start = code.len();
    const CATCH: u32 = 5 + 5 + LEAVE;
    const FINALLY: u32 = 5 + 1;
    let handlers = if way.guard { CATCH } else { 0 } + if way.recursion { FINALLY } else { 0 };
    if hook.links.is_empty() {
        put_hook((hook, methods[0]), change, imports, &mut code);
    } else {
        let len = links_len(hook, methods, imports);
        let store = u32::from(has_result) + LEAVE;
        let end = start + len + store + handlers;
        put_links(hook, (methods, imports), end, &mut code);
    }
    if has_result {
        code.store_local(0);
    }
    let tried = code.len() + LEAVE;
    let caught = tried + if way.guard { CATCH } else { 0 };
    let end = caught + if way.recursion { FINALLY } else { 0 };
    let leave = |code: &mut Code| code.op_u32(op::LEAVE, end - (code.len() + LEAVE));
    leave(&mut code);
    let mut clauses = Vec::new();
    if way.guard {
        let text = imports.text(told).expect("it was imported");
        code.op_u32(op::LDSTR, text);
        code.op_u32(op::CALL, guard.failed);
        leave(&mut code);
        clauses.push(Clause {
            kind: ClauseKind::Catch,
            try_start: start,
            try_end: tried,
            handler_start: tried,
            handler_end: caught,
            class_or_filter: importer.exception(),
        });
    }
    if way.recursion {
        code.op_u32(op::CALL, guard.end);
        code.op(op::ENDFINALLY);
        clauses.push(Clause {
            kind: ClauseKind::Finally,
            try_start: start,
            try_end: caught,
            handler_start: caught,
            handler_end: end,
            class_or_filter: 0,
        });
    }
    debug_assert_eq!(code.len(), end);
    result(&mut code);

    let constants = hook.links.iter().map(|link| link.arguments().len()).max();
    let max_stack = (hook.parameters.len() as u16).max(2)
        + u16::from(points)
        + constants.unwrap_or_default() as u16;
    Ok(finished(&code, (max_stack, locals), &clauses))
}

/// The locals of an adapter: the result, structs that links are asked of, and what methods give by `out`. A token, or 0.
fn kept(hook: &Hook, result: Option<&Ty>, importer: &mut Importer<'_, '_>) -> Result<u32> {
    let mut kept: Vec<&Ty> = result.into_iter().collect();
    for (place, link) in hook.links.iter().enumerate() {
        let from = place
            .checked_sub(1)
            .map(|before| &hook.links[before].result);
        kept.extend(from.filter(|ty| !ty.is_reference()));
        kept.extend(link.kind.out().map(|_| &link.result));
    }
    if kept.is_empty() {
        return Ok(0);
    }
    let mut blob = vec![kind::LOCALS];
    put_compressed(&mut blob, kept.len() as u32);
    for ty in kept {
        let put = importer.imports().put_type(ty, &mut blob);
        put.expect("it is in a signature that was written");
    }
    importer.additions().stand_alone_sig(&blob)
}

/// Calls the hook, converts its result, and returns or stores it.
fn put_hook(
    (hook, method): (&Hook, u32),
    change: Option<&Change>,
    imports: &Imports,
    code: &mut Code,
) {
    let old = hook.parameters.len() as u32;
    let points = change.is_some_and(|change| change.throws);
    if points {
        code.load_argument(old);
    }
    for argument in 0..old {
        code.load_argument(argument);
    }
    code.op_u32(op::CALL, method);
    let Some(change) = change else {
        return;
    };
    let put = own::convert(imports, &hook.result, change.convert, code);
    put.expect("it was imported");
    if points {
        match change.to.is_reference() {
            true => code.op(op::STIND_REF),
            false => {
                let token = imports.type_token(&change.to);
                code.op_u32(op::STOBJ, token.expect("it was imported"));
            }
        }
        code.int(1);
    }
}

/// The body of that code.
pub(crate) fn finished(
    code: &Code,
    (max_stack, locals): (u16, u32),
    clauses: &[Clause],
) -> Vec<u8> {
    let mut out = Vec::new();
    let has_clauses = !clauses.is_empty();
    let len = code.len() as usize;
    body::put_fat_header(&mut out, len, max_stack, true, locals, has_clauses);
    out.extend_from_slice(code.as_bytes());
    if has_clauses {
        out.resize(out.len().next_multiple_of(4), 0);
        body::put_clauses(&mut out, clauses);
    }
    out
}
