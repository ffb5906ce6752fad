//! Redirected calls: each is replaced by a call of another method. This makes the calls and the classes of these
//! methods.
//!
//! A call is replaced in place: `invoke-static` takes the same registers. The method that is called instead calls the
//! original one, and is woven with its hooks like any other.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::settle;
use crate::aspect::bind::site::{Goal, Instead, Passed, Redirect, Replacement};
use crate::aspect::bind::ty::Ty;
use crate::aspect::joinpoint::CallHow;
use crate::aspect::plan::{Plan, Planned, Redirected};
use crate::bytes::modified_utf8;
use crate::dex::format::class::{ClassDef, Members, flag};
use crate::dex::format::code_item::{self, Code};
use crate::dex::format::file::{Dex, File};
use crate::dex::format::insn;
use crate::dex::format::lookup;
use crate::dex::format::opcodes::op;
use crate::dex::format::order;
use crate::dex::ids::class_checksums;
use crate::dex::ids::{self, Added, Ids, NewClass, Wanted, Wants};
use crate::dex::lower::registers::{self, Width};
use crate::dex::place;
use crate::dex::weave::{Run, Scratch};
use crate::dex::write::file as new_file;
use crate::error::Result;
use rustc_hash::FxHashMap;

const OBJECT: &[u8] = b"Ljava/lang/Object;";

/// A dex file with redirected calls.
pub struct WithRedirects {
    /// None: all calls stay.
    pub bytes: Option<Vec<u8>>,
    /// The calls that stay as they are, and why.
    pub left: Vec<(Redirected, Reason)>,
    /// The number of the type that has each redirect's method; they lie behind all others.
    pub types: Vec<Option<u32>>,
}

/// A method with its descriptors.
struct Method {
    class: Vec<u8>,
    name: Vec<u8>,
    parameters: Vec<Vec<u8>>,
    returns: Vec<u8>,
}

impl Method {
    fn new(class: &Ty, name: &str, parameters: &[Ty], returns: &Ty) -> Method {
        Method {
            class: descriptor(class),
            name: modified_utf8(name),
            parameters: parameters.iter().map(descriptor).collect(),
            returns: descriptor(returns),
        }
    }
}

fn descriptor(ty: &Ty) -> Vec<u8> {
    let mut text = String::new();
    ty.put_descriptor(&mut text);
    modified_utf8(&text)
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
    let left = |reason| plan.calls.iter().map(|&call| (call, reason)).collect();
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
    let parameters: Vec<Vec<&[u8]>> = (methods.iter())
        .map(|method| method.parameters.iter().map(Vec::as_slice).collect())
        .collect();
    let wanted: Vec<Wanted<'_>> = (methods.iter().zip(&parameters))
        .map(|(method, parameters)| Wanted {
            class: &method.class,
            name: &method.name,
            parameters,
            returns: &method.returns,
        })
        .collect();
    let tested: Vec<Vec<u8>> = (plan.redirects.iter())
        .filter_map(|redirect| Some(descriptor(&test_of(redirect)?.ty)))
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
        bytes = around_points(&bytes, plan, &called, (scratch, run), &mut out.left)?;
    }
    out.bytes = Some(bytes);
    Ok(out)
}

/// What is called: the hook, or a method of a generated class, what looks at an exception for that, and what that calls.
fn methods_of(plan: &Plan) -> Vec<Method> {
    let mut methods = Vec::new();
    for redirect in &plan.redirects {
        let callee = &redirect.callee;
        match redirect.goal() {
            Goal::Class(class) => {
                methods.push(Method::new(
                    &Ty::class(class),
                    "call",
                    &callee.taken(),
                    &callee.result,
                ));
                if let Some(test) = &test_of(redirect) {
                    let untested = test.untested.iter().collect::<Vec<_>>();
                    methods.push(Method {
                        class: descriptor(&Ty::class(&test.class)),
                        name: b"call".to_vec(),
                        parameters: untested.into_iter().map(descriptor).collect(),
                        returns: b"V".to_vec(),
                    });
                }
                if !calls_other(redirect) {
                    continue;
                }
            }
            Goal::Hook(_) => {}
        }
        methods.push(match redirect.replace() {
            Some(Replacement { call, .. }) => {
                let hook = &call.hook;
                Method::new(&hook.owner, &hook.name, &hook.parameters, &hook.result)
            }
            None => Method::new(
                &callee.owner,
                &callee.name,
                &callee.parameters,
                &callee.result,
            ),
        });
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
    let mut next_type = 1;
    // Points of different methods may be served by the same class.
    let mut made: FxHashMap<&str, u32> = FxHashMap::default();
    let count = file.classes.len() as u32;
    for (redirect, ty) in plan.redirects.iter().zip(types) {
        called.push(added.methods[next]);
        if redirect.class().is_none() {
            next += 1;
            continue;
        }
        let mut code = Vec::new();
        let goal = next;
        let first = redirect.class().and_then(|class| made.get(&**class));
        if let Some(&first) = first {
            let is_tested = test_of(redirect).is_some();
            *called.last_mut().expect("it was pushed") = first;
            next_type += usize::from(is_tested);
            next += 1 + usize::from(is_tested) + usize::from(calls_other(redirect));
            continue;
        }
        if test_of(redirect).is_some() {
            next += 1;
            let (this, test) = (added.methods[goal], added.methods[next]);
            *called.last_mut().expect("it was pushed") = test;
            let mut code = Vec::new();
            put_test(redirect, this, added.types[next_type], &mut code);
            next_type += 1;
            added.ids.classes.push(NewClass {
                ty: added.classes[next],
                access: flag::PUBLIC | flag::FINAL | flag::SYNTHETIC,
                superclass: added.types[0],
                methods: vec![(test, flag::PUBLIC | flag::STATIC | flag::SYNTHETIC, 0)],
                code,
                ..NewClass::default()
            });
        }
        if calls_other(redirect) {
            next += 1;
            put_method(redirect, added.methods[next], &mut code);
        } else {
            put_empty(redirect, &mut code);
        }
        if let Some(class) = redirect.class() {
            made.insert(class, *called.last().expect("it was pushed"));
        }
        *ty = Some(count + added.ids.classes.len() as u32);
        added.ids.classes.push(NewClass {
            ty: added.classes[goal],
            access: flag::PUBLIC | flag::FINAL | flag::SYNTHETIC,
            superclass: added.types[0],
            methods: vec![(
                added.methods[goal],
                flag::PUBLIC | flag::STATIC | flag::SYNTHETIC,
                0,
            )],
            code,
            ..NewClass::default()
        });
        next += 1;
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
    (scratch, run): (&mut Scratch, Run<'_>),
    left: &mut Vec<(Redirected, Reason)>,
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
                Err(reason) => left.push((*call, reason)),
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
            let found = lookup::find_string(file, &modified_utf8(text));
            found.ok().flatten().unwrap_or_default()
        };
        match method.insertions(&wanted, string)? {
            Err(reason) => left.extend(calls.into_iter().map(|call| (call, reason))),
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
    let outcomes = scratch.copy_with_points(file, &ids, (&methods, &insertions), run)?;
    for (calls, outcome) in kept.into_iter().zip(outcomes) {
        left.extend(
            outcome
                .into_iter()
                .flat_map(|reason| calls.iter().map(move |call| (*call, reason))),
        );
    }
    ids.changed = class_checksums::without(file, &ids)?;
    let mut out = Vec::new();
    new_file::write(file, &ids, scratch.bodies(), &mut out)?;
    new_file::seal(&mut out, &[0]);
    Ok(out)
}

/// What looks whether an exception is what a hook is about.
struct Test {
    class: String,
    ty: Ty,
    /// What it takes.
    untested: Vec<Ty>,
}

fn test_of(redirect: &Redirect) -> Option<Test> {
    let placed = redirect.placed()?;
    let mut untested = redirect.callee.taken();
    *untested.first_mut()? = placed.point.takes.first()?.clone();
    Some(Test {
        class: format!("{}_if", redirect.class()?),
        ty: placed.test.clone()?,
        untested,
    })
}

/// Appends the code item of what looks at an exception:
///
/// ```text
///        instance-of v0, vE, type; if-eqz v0, E; check-cast vE, type; invoke-static/range call
///     E: return-void
/// ```
fn put_test(redirect: &Redirect, goal: u32, ty: u32, out: &mut Vec<u8>) {
    let ins = words_of(redirect);
    let mut code = Vec::new();
    registers::put_field(&mut code, op::INSTANCE_OF, (0, 1), ty);
    registers::put_if(&mut code, op::IF_EQZ, 0, 7);
    registers::put_indexed(&mut code, op::CHECK_CAST, 1, ty);
    code.extend_from_slice(&[op::INVOKE_STATIC_RANGE, ins as u8]);
    code.extend_from_slice(&(goal as u16).to_le_bytes());
    code.extend_from_slice(&1u16.to_le_bytes());
    registers::put_one(&mut code, op::RETURN_VOID, 0);
    let counts = [(1 + ins) as u16, ins as u16, ins as u16, 0];
    code_item::put_header(out, counts, insn::units(&code));
    out.extend_from_slice(&code);
}

/// Appends the code item of a method that does nothing itself.
fn put_empty(redirect: &Redirect, out: &mut Vec<u8>) {
    let ins = words_of(redirect) as u16;
    let mut code = Vec::new();
    registers::put_one(&mut code, op::RETURN_VOID, 0);
    code_item::put_header(out, [ins, ins, 0, 0], insn::units(&code));
    out.extend_from_slice(&code);
}

/// Whether the method of a redirect's class calls another: at points only hooks do, unless they take its place.
fn calls_other(redirect: &Redirect) -> bool {
    !matches!(redirect.instead, Instead::HooksAt { .. })
}

/// The words that a redirect's method takes.
fn words_of(redirect: &Redirect) -> u32 {
    let taken = redirect.callee.taken();
    let words = taken.iter().map(|ty| Width::of(descriptor(ty)[0]).words());
    words.sum()
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

/// Appends the code item of a method that calls another with its own arguments.
fn put_method(redirect: &Redirect, goal: u32, out: &mut Vec<u8>) {
    let callee = &redirect.callee;
    let width = match &callee.result {
        Ty::Void => None,
        ty => Some(Width::of(descriptor(ty)[0])),
    };
    let ins = words_of(redirect);
    let locals = width.map_or(0, |width| width.words());
    let mut code = Vec::new();
    let opcode = match callee.how {
        _ if redirect.replace().is_some() => op::INVOKE_STATIC_RANGE,
        CallHow::Interface => op::INVOKE_INTERFACE_RANGE,
        CallHow::Virtual => op::INVOKE_VIRTUAL_RANGE,
        _ => op::INVOKE_STATIC_RANGE,
    };
    code.extend_from_slice(&[opcode, ins as u8]);
    code.extend_from_slice(&(goal as u16).to_le_bytes());
    code.extend_from_slice(&(locals as u16).to_le_bytes());
    if let Some(width) = width {
        let opcode = match width {
            Width::Single => op::MOVE_RESULT,
            Width::Wide => op::MOVE_RESULT_WIDE,
            Width::Object => op::MOVE_RESULT_OBJECT,
        };
        registers::put_one(&mut code, opcode, 0);
    }
    let opcode = match width {
        None => op::RETURN_VOID,
        Some(Width::Single) => op::RETURN,
        Some(Width::Wide) => op::RETURN_WIDE,
        Some(Width::Object) => op::RETURN_OBJECT,
    };
    registers::put_one(&mut code, opcode, 0);
    let counts = [(locals + ins) as u16, ins as u16, ins as u16, 0];
    code_item::put_header(out, counts, insn::units(&code));
    out.extend_from_slice(&code);
}
