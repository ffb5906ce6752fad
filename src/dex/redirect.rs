//! Redirected calls: each is replaced by a call of another method. This makes the calls and the classes of these
//! methods.
//!
//! A call is replaced in place: `invoke-static` takes the same registers. The method that is called instead calls the
//! original one, and is woven with its hooks like any other.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::settle;
use crate::aspect::bind::made::{self, Made};
use crate::aspect::bind::site::{Goal, Passed};
use crate::aspect::bind::ty::Ty;
use crate::aspect::plan::{LeftCall, Plan, Planned, Redirected};
use crate::bytes::modified_utf8;
use crate::dex::format::class::{ClassDef, Members, flag};
use crate::dex::format::code_item::{self, Code};
use crate::dex::format::file::{Dex, File};
use crate::dex::format::lookup;
use crate::dex::format::opcodes::op;
use crate::dex::format::order;
use crate::dex::hooks::made::{Named, put_made};
use crate::dex::hooks::own::{Method, class_of, descriptor, goals, parameters_of, wanted};
use crate::dex::ids::class_checksums;
use crate::dex::ids::{self, Added, Ids, Wanted, Wants};
use crate::dex::lower::own_frame::Names;
use crate::dex::place;
use crate::dex::weave::{Run, Scratch};
use crate::dex::write::file as new_file;
use crate::error::{Error, Kind, Result};
use rustc_hash::FxHashMap;
use std::ops::Range;

const OBJECT: &[u8] = b"Ljava/lang/Object;";

/// A dex file with redirected calls.
pub struct WithRedirects {
    /// None: all calls stay.
    pub bytes: Option<Vec<u8>>,
    /// The calls that stay as they are, and why.
    pub left: Vec<LeftCall>,
    /// The number of the type that has each redirect's method; they lie behind all others.
    pub types: Vec<Option<u32>>,
}

/// Redirects the planned calls of a dex file.
pub fn redirect(
    dex: &Dex<'_>,
    plan: &Plan,
    scratch: &mut Scratch,
    run: Run<'_>,
) -> Result<WithRedirects> {
    let mut out = WithRedirects {
        bytes: None,
        left: Vec::new(),
        types: vec![None; plan.redirects.len()],
    };
    let left = |reason| LeftCall::all(plan.calls.iter().copied(), reason).collect();
    let [file] = &dex.files[..] else {
        out.left = left(Reason::Unsupported);
        return Ok(out);
    };
    order::check(file)?;
    let has_points = plan
        .redirects
        .iter()
        .any(|redirect| redirect.placed().is_some());
    let names = match has_points {
        true => names_of(file, plan)?,
        false => vec![],
    };
    let methods = methods_of(plan);
    let parameters = parameters_of(&methods);
    let wanted: Vec<Wanted<'_>> = wanted(&methods, &parameters).collect();
    let tested: Vec<Vec<u8>> = (plan.redirects.iter())
        .filter_map(|redirect| Some(descriptor(made::looks(redirect)?.ty)))
        .collect();
    let mut types: Vec<&[u8]> = vec![OBJECT];
    types.extend(tested.iter().map(Vec::as_slice));
    let wants = Wants {
        methods: &wanted,
        types: &types,
        strings: &names,
        ..Wants::default()
    };
    let Some(mut added) = ids::add(file, wants)? else {
        out.left = left(Reason::PoolFull);
        return Ok(out);
    };
    // Where other strings move, instructions may become longer.
    let is_wider = added
        .ids
        .remap
        .strings
        .last()
        .is_some_and(|&new| new > 0xffff);
    if has_points && is_wider {
        out.left = left(Reason::PoolFull);
        return Ok(out);
    }
    let called = add_classes(file, plan, &mut added, &mut out.types);
    added.ids.changed = class_checksums::without(file, &added.ids)?;
    scratch.copy_all(file, &added.ids, run)?;
    let mut bytes = Vec::new();
    new_file::write(file, &added.ids, scratch.bodies(), &mut bytes)?;
    new_file::seal(&mut bytes, &[0]);
    patch(&mut bytes, plan, &called)?;
    new_file::seal(&mut bytes, &[0]);
    if has_points {
        bytes = around_points(&bytes, plan, &called, scratch, run, &mut out.left)?;
    }
    out.bytes = Some(bytes);
    Ok(out)
}

/// What is called: the hook, or a method of a generated class, what looks at an exception for that, and what that calls.
fn methods_of(plan: &Plan) -> Vec<Method> {
    let mut methods = Vec::new();
    for redirect in &plan.redirects {
        let class = match redirect.goal() {
            Goal::Class(class) => class,
            Goal::Hook(replace) => {
                methods.push(Method::of_hook(&replace.call.hook));
                continue;
            }
        };
        let made = made::redirected(redirect);
        let class = Ty::class(class);
        methods.push(Method::of(&class, "call", &made.takes, made.gives));
        if let Some(looks) = made::looks(redirect) {
            let class = Ty::class(&looks.class);
            methods.push(Method::of(&class, "call", &looks.made.takes, &Ty::Void));
        }
        methods.extend(goals(&made));
    }
    methods
}

/// Adds the generated classes, and says which type each redirect has. What is called for each redirect; methods are added in
/// the order of [`methods_of`].
fn add_classes(
    file: &File<'_>,
    plan: &Plan,
    added: &mut Added,
    types: &mut [Option<u32>],
) -> Vec<u32> {
    let mut called = Vec::with_capacity(plan.redirects.len());
    let mut next = 0;
    let mut tested = added.types[1..].iter().copied();
    // Points of different methods may be served by the same class.
    let mut known: FxHashMap<&str, u32> = FxHashMap::default();
    let count = file.classes.len() as u32;
    let above = added.types[0];
    for (redirect, ty) in plan.redirects.iter().zip(types) {
        let own = next;
        let Some(class) = redirect.class() else {
            called.push(added.methods[own]);
            next += 1;
            continue;
        };
        let (looks, made) = (made::looks(redirect), made::redirected(redirect));
        let first = own + usize::from(looks.is_some());
        next = first + 1 + goals(&made).len();
        let mut names = Names::default();
        if let Some(looks) = &looks {
            let ty = tested.next().expect("one for each that is looked for");
            names.types.insert(looks.ty.clone(), ty);
        }
        if let Some(&known) = known.get(&**class) {
            called.push(known);
            continue;
        }
        let mut add = |place: usize, made: &Made<'_>, goals: Range<usize>| {
            let mut code = Vec::new();
            let named = Named {
                goals: &added.methods[goals],
                names: &names,
                guard: None,
            };
            put_made(made, &named, &mut code);
            let class = class_of(added.classes[place], above, added.methods[place], code);
            added.ids.classes.push(class);
        };
        if let Some(looks) = &looks {
            add(first, &looks.made, own..own + 1);
        }
        add(own, &made, first + 1..next);
        *ty = Some(count + added.ids.classes.len() as u32 - 1);
        known.insert(class, added.methods[first]);
        called.push(added.methods[first]);
    }
    called
}

/// The names of methods that are passed at points.
fn names_of(file: &File<'_>, plan: &Plan) -> Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    let texts = [Passed::Type, Passed::Method, Passed::Signature];
    each_method(file, plan, |calls, method| {
        for (name, text) in method.names.iter().zip(texts) {
            let is_passed = |call: &Redirected| {
                let placed = plan.redirects[call.redirect as usize].placed();
                placed.is_some_and(|placed| placed.passed.contains(&text))
            };
            if calls.iter().any(is_passed) {
                names.push(modified_utf8(name));
            }
        }
        Ok(())
    })?;
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// Shows the methods that get something at their points, with all that is planned for them.
fn each_method<'a>(
    file: &File<'a>,
    plan: &Plan,
    mut each: impl FnMut(&[Redirected], place::Method<'a>) -> Result<()>,
) -> Result<()> {
    let is_placed = |call: &Redirected| plan.redirects[call.redirect as usize].placed().is_some();
    for calls in plan.calls.chunk_by(|a, b| a.ty == b.ty) {
        let class = ClassDef::read(&file.classes[calls[0].ty as usize]);
        let mut members = Members::read(file, class.data)?;
        let mut calls = calls.chunk_by(|a, b| a.index == b.index).peekable();
        let mut index = 0;
        while let Some(method) = members.next()? {
            let calls = calls.next_if(|calls| calls[0].index == index);
            index += 1;
            let Some(calls) = calls.filter(|calls| calls.iter().any(is_placed)) else {
                continue;
            };
            let code = Code::read(file.bytes, method.code as usize)?;
            let is_static = method.access & flag::STATIC != 0;
            each(calls, place::Method::new(file, method.id, code, is_static)?)?;
        }
    }
    Ok(())
}

/// The file with what lies around points. A method that cannot have it gets nothing there.
fn around_points(
    bytes: &[u8],
    plan: &Plan,
    called: &[u32],
    scratch: &mut Scratch,
    run: Run<'_>,
    left: &mut Vec<LeftCall>,
) -> Result<Vec<u8>> {
    let dex = Dex::parse(bytes)?;
    let file = &dex.files[0];
    let mut methods = Vec::new();
    let mut insertions = Vec::new();
    let mut kept = Vec::new();
    each_method(file, plan, |calls, method| {
        let mut wanted: Vec<(Redirected, place::Wanted<'_>)> = Vec::new();
        for call in calls {
            let redirect = call.redirect as usize;
            let Some(placed) = plan.redirects[redirect].placed() else {
                continue;
            };
            match settle(method.caught(call.at, placed))? {
                Err(reason) => left.push(LeftCall {
                    call: *call,
                    reason,
                }),
                Ok(caught) => wanted.push((
                    *call,
                    place::Wanted {
                        at: call.at,
                        placed,
                        called: called[redirect],
                        caught,
                    },
                )),
            }
        }
        wanted.sort_by_key(|one| one.1.at);
        let (calls, wanted): (Vec<_>, Vec<_>) = wanted.into_iter().unzip();
        let Some(first) = calls.first() else {
            return Ok(());
        };
        let string = |text: &str| {
            let found = lookup::find_string(file, &modified_utf8(text))?;
            found.ok_or_else(|| Error::new(Kind::NotDone, "a string of a point was not added"))
        };
        match method.insertions(&wanted, string)? {
            Err(reason) => left.extend(LeftCall::all(calls, reason)),
            Ok(found) => {
                methods.push(Planned {
                    ty: first.ty,
                    index: first.index,
                    id: 0,
                    advice: Advice::default(),
                    bound: None,
                });
                insertions.push(found);
                kept.push(calls);
            }
        }
        Ok(())
    })?;
    let mut ids = Ids::none(file);
    let outcomes = scratch.copy_with_points(file, &ids, &methods, &insertions, run)?;
    for (calls, outcome) in kept.into_iter().zip(outcomes) {
        if let Some(reason) = outcome {
            left.extend(LeftCall::all(calls, reason));
        }
    }
    ids.changed = class_checksums::without(file, &ids)?;
    let mut out = Vec::new();
    new_file::write(file, &ids, scratch.bodies(), &mut out)?;
    new_file::seal(&mut out, &[0]);
    Ok(out)
}

/// Replaces the planned calls.
fn patch(bytes: &mut [u8], plan: &Plan, called: &[u32]) -> Result<()> {
    let mut places = Vec::with_capacity(plan.calls.len());
    {
        let dex = Dex::parse(bytes)?;
        let file = &dex.files[0];
        for calls in plan.calls.chunk_by(|a, b| a.ty == b.ty) {
            let class = ClassDef::read(&file.classes[calls[0].ty as usize]);
            let mut members = Members::read(file, class.data)?;
            let mut calls = calls.iter().peekable();
            let mut index = 0;
            while let Some(method) = members.next()? {
                while let Some(call) = calls.next_if(|call| call.index == index) {
                    if plan.redirects[call.redirect as usize].placed().is_some() {
                        continue;
                    }
                    let code = Code::read(file.bytes, method.code as usize)?;
                    let at = code.offset + code_item::HEADER + 2 * call.at as usize;
                    places.push((at, called[call.redirect as usize]));
                }
                index += 1;
            }
        }
    }
    for (at, method) in places {
        bytes[at] = match bytes[at] {
            op::INVOKE_VIRTUAL_RANGE..=op::INVOKE_INTERFACE_RANGE => op::INVOKE_STATIC_RANGE,
            _ => op::INVOKE_STATIC,
        };
        bytes[at + 2..at + 4].copy_from_slice(&(method as u16).to_le_bytes());
    }
    Ok(())
}
