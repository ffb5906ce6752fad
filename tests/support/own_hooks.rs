//! Own hooks bound by hand: each method's take all that it has.
#![allow(dead_code)]

use std::sync::Arc;
use weave::internals::aspect::bind::call::{
    Adapter, Around, Bound, Call, Convert, Dest, Hook, Keep, Operand, Proceed, Role, Source,
};
use weave::internals::aspect::bind::functional::Function;
use weave::internals::aspect::bind::ty::{Prim, Signature, Ty};
use weave::internals::aspect::joinpoint::{Method, Type, Visitor};
use weave::internals::aspect::plan::Plan;

/// The class of the hooks that take everything: `begin(Object, Object[])Object`, `end(Object, Object, Object[], Object, long)`,
/// `failed(Object, Object, Object[], Throwable, long)`.
pub const OWNER: &str = "acme/All";

pub fn object() -> Ty {
    Ty::class("java/lang/Object")
}

pub fn hook(name: &str, parameters: &[Ty], result: Ty) -> Arc<Hook> {
    Arc::new(Hook {
        owner: Ty::class(OWNER),
        owner_is_interface: false,
        name: name.into(),
        parameters: parameters.into(),
        result,
        generics: 0,
        links: Box::default(),
    })
}

/// A value as an object.
pub fn boxed(source: Source, from: Ty) -> Operand {
    let convert = match from {
        Ty::Prim(_) => Convert::Box,
        _ => Convert::Same,
    };
    Operand {
        source,
        from,
        convert,
        to: object(),
    }
}

/// A value as it is.
pub fn same(source: Source, ty: Ty) -> Operand {
    Operand {
        source,
        from: ty.clone(),
        convert: Convert::Same,
        to: ty,
    }
}

/// The adapter of a hook, by a name that goes with it.
pub fn adapter(hook: &Hook, guard: bool, recursion: bool) -> Adapter {
    let name = &hook.name;
    Adapter {
        class: format!("weave/hooks/{name}_{guard}_{recursion}").into(),
        guard,
        recursion,
        change: None,
    }
}

/// The signatures of a class's methods.
struct Signatures(Vec<Option<Signature>>);

impl Visitor for Signatures {
    fn enter_type(&mut self, _: &Type<'_>) -> bool {
        true
    }
    fn method(&mut self, _: u32, method: &Method<'_>) {
        self.0.push(method.details.signature());
    }
}

/// Gives the planned methods of a class own hooks, made of their indices and signatures.
pub fn bind(
    plan: &mut Plan,
    scan: impl FnOnce(&mut dyn Visitor),
    mut bound: impl FnMut(u32, &Signature) -> Bound,
) {
    let mut signatures = Signatures(Vec::new());
    scan(&mut signatures);
    for planned in &mut plan.methods {
        if let Some(Some(signature)) = signatures.0.get(planned.index as usize) {
            planned.bound = Some(plan.bound.len() as u32);
            plan.bound.push(Arc::new(bound(planned.index, signature)));
        }
    }
}

/// All calls of a method's own hooks.
pub fn calls(bound: &Bound) -> impl Iterator<Item = &Call> {
    (bound.enter.iter().chain(&bound.exit)).chain(&bound.exception)
}

/// A hook instead of a body, which has these hooks itself: `around(Supplier)Object`.
pub fn around(signature: &Signature, inner: Bound) -> Bound {
    let ty = Ty::class("java/util/function/Supplier");
    let proceed = Proceed {
        ty: ty.clone(),
        function: Function {
            name: "get".into(),
            parameters: [].into(),
            result: object(),
        },
        takes_arguments: false,
    };
    let result = signature.result.clone();
    let (dest, given) = match result {
        Ty::Void => (Dest::Drop, None),
        result => (Dest::Returned, Some((Convert::Cast, result))),
    };
    let call = Call {
        role: Role::Hook,
        hook: hook("around", std::slice::from_ref(&ty), object()),
        generics: [].into(),
        operands: [same(Source::Proceed(Arc::new(proceed)), ty)].into(),
        dest,
        given,
        adapter: None,
    };
    let outer = inner.clone();
    Bound {
        around: Some(Box::new(Around {
            call,
            inner: Some(Arc::new(inner)),
        })),
        ..outer
    }
}

/// Which hooks, and how they are called.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// None: the hooks are called themselves. Else whether the adapters keep a thread's hooks apart.
    pub guarded: Option<bool>,
    /// Hooks with what `begin` gives, and all else that must live.
    pub keeps: bool,
}

/// Hooks that take everything.
pub fn everything(signature: &Signature, style: Style) -> Bound {
    let array = Ty::Array(Arc::new(object()));
    let throwable = Ty::class("java/lang/Throwable");
    let long = Ty::Prim(Prim::I64);
    let arguments = || {
        let each = signature.parameters.iter().enumerate();
        let each = each.map(|(n, p)| boxed(Source::Arg(n as u16), p.ty.clone()));
        same(Source::Args(each.collect()), array.clone())
    };
    let this = || match &signature.this {
        Some(ty) => boxed(Source::This, ty.clone()),
        None => same(Source::Zero, object()),
    };
    let call = |hook: Arc<Hook>, operands: Vec<Operand>, dest| Call {
        role: Role::Hook,
        adapter: (style.guarded).map(|recursion| adapter(&hook, true, recursion)),
        hook,
        generics: [].into(),
        operands: operands.into(),
        dest,
        given: None,
    };
    let begin = hook("begin", &[object(), array.clone()], object());
    let enter = call(
        begin,
        vec![this(), arguments()],
        if style.keeps {
            Dest::State(0)
        } else {
            Dest::Drop
        },
    );
    let result = match &signature.result {
        Ty::Void => same(Source::Zero, object()),
        ty => boxed(Source::Result, ty.clone()),
    };
    let (exit, exception) = if style.keeps {
        let end = hook(
            "end",
            &[object(), object(), array.clone(), object(), long.clone()],
            Ty::Void,
        );
        let failed = hook(
            "failed",
            &[
                object(),
                object(),
                array.clone(),
                throwable.clone(),
                long.clone(),
            ],
            Ty::Void,
        );
        let kept = |seen: Operand| {
            vec![
                same(Source::State(0), object()),
                this(),
                arguments(),
                seen,
                same(Source::Duration, long.clone()),
            ]
        };
        (
            call(end, kept(result), Dest::Drop),
            call(failed, kept(same(Source::Exception, throwable)), Dest::Drop),
        )
    } else {
        let end = hook("end", &[object()], object());
        let failed = hook("failed", std::slice::from_ref(&throwable), long.clone());
        (
            call(end, vec![result], Dest::Drop),
            call(failed, vec![same(Source::Exception, throwable)], Dest::Drop),
        )
    };
    Bound {
        enter: [enter].into(),
        exit: [exit].into(),
        exception: [exception].into(),
        keep: match style.keeps {
            true => Keep {
                args: (0..signature.parameters.len() as u16).collect(),
                this: signature.this.is_some(),
                states: [object()].into(),
                duration: true,
            },
            false => Keep::default(),
        },
        ..Bound::default()
    }
}
