//! Calls of other methods in the places of calls, and the classes that these methods are in.
//!
//! A call is redirected where it stands: `invoke-static` takes the same registers. The method that is called instead calls the
//! other; it is woven with its hooks like any other then.

use crate::aspect::advice::Reason;
use crate::aspect::bind::site::{Redirect, Replacement};
use crate::aspect::bind::ty::Ty;
use crate::aspect::joinpoint::CallHow;
use crate::aspect::plan::{Plan, Redirected};
use crate::bytes::modified_utf8;
use crate::dex::format::class::{ClassDef, Members, flag};
use crate::dex::format::code_item::{self, Code};
use crate::dex::format::file::Dex;
use crate::dex::format::insn;
use crate::dex::format::opcodes::op;
use crate::dex::format::order;
use crate::dex::ids::class_checksums;
use crate::dex::ids::{self, NewClass, Wanted, Wants};
use crate::dex::lower::registers::{self, Width};
use crate::dex::weave::{Run, Scratch};
use crate::dex::write::file as new_file;
use crate::error::Result;

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
    // What is called: the hook, or a method of a class of its own and what that calls.
    let mut methods = Vec::new();
    for redirect in &plan.redirects {
        let callee = &redirect.callee;
        match (&redirect.class, &redirect.replace) {
            (Some(class), _) => {
                methods.push(Method::new(
                    &Ty::class(class),
                    "call",
                    &callee.taken(),
                    &callee.result,
                ));
            }
            (None, None) => continue,
            (None, Some(_)) => {}
        }
        methods.push(match &redirect.replace {
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
    let wants = Wants {
        methods: &wanted,
        types: &[OBJECT],
        ..Wants::default()
    };
    let Some(mut added) = ids::add(file, wants)? else {
        out.left = left(Reason::PoolFull);
        return Ok(out);
    };
    let mut called = Vec::with_capacity(plan.redirects.len());
    let mut next = 0;
    let count = file.classes.len() as u32;
    for (redirect, ty) in plan.redirects.iter().zip(&mut out.types) {
        called.push(added.methods[next]);
        if redirect.class.is_none() {
            next += 1;
            continue;
        }
        let mut code = Vec::new();
        put_method(redirect, added.methods[next + 1], &mut code);
        *ty = Some(count + added.ids.classes.len() as u32);
        added.ids.classes.push(NewClass {
            ty: added.classes[next],
            access: flag::PUBLIC | flag::FINAL | flag::SYNTHETIC,
            superclass: added.types[0],
            methods: vec![(
                added.methods[next],
                flag::PUBLIC | flag::STATIC | flag::SYNTHETIC,
                0,
            )],
            code,
            ..NewClass::default()
        });
        next += 2;
    }
    added.ids.changed = class_checksums::without(file, &added.ids)?;
    scratch.copy_all(file, &added.ids, run)?;
    let mut bytes = Vec::new();
    new_file::write(file, &added.ids, scratch.bodies(), &mut bytes)?;
    new_file::seal(&mut bytes, &[0]);
    patch(&mut bytes, plan, &called)?;
    new_file::seal(&mut bytes, &[0]);
    out.bytes = Some(bytes);
    Ok(out)
}

/// Puts other calls in the places of the planned ones.
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
    let ins: u32 = (callee.taken().iter())
        .map(|ty| Width::of(descriptor(ty)[0]).words())
        .sum();
    let locals = width.map_or(0, |width| width.words());
    let mut code = Vec::new();
    let opcode = match callee.how {
        _ if redirect.replace.is_some() => op::INVOKE_STATIC_RANGE,
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
