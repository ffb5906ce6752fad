//! Own hooks of .NET bound by hand: each method's take all that it has. They are those of tests/dotnet/own/All.cs; the methods in turn have
//! them with the recorded pair or alone, called by adapters of three kinds or themselves.

use ::weave::internals::aspect::advice::Advice;
use ::weave::internals::aspect::bind::call::{
    Adapter, Bound, Call, Convert, Dest, Hook, Keep, Operand, Role, Source,
};
use ::weave::internals::aspect::bind::ty::{Named, Prim, Signature, Ty};
use ::weave::internals::aspect::joinpoint::{Kinds, Method, Type, Visitor};
use ::weave::internals::aspect::plan::{Plan, Planned};
use std::sync::Arc;

const SCOPE: &str = "All, Version=0.0.0.0, Culture=neutral, PublicKeyToken=null";
const CORE: &str = "mscorlib, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089";

fn class(name: &str, scope: &str) -> Ty {
    Ty::Named(Arc::new(Named {
        name: name.into(),
        scope: scope.into(),
        value: false,
        by_ref_like: false,
        args: Box::default(),
    }))
}

fn object() -> Ty {
    class("System.Object", "")
}

fn objects() -> Ty {
    Ty::Array(Arc::new(object()))
}

fn exception() -> Ty {
    class("System.Exception", CORE)
}

const LONG: Ty = Ty::Prim(Prim::I64);

/// The type parameter of a generic hook.
const OWN: Ty = Ty::Param {
    of_method: true,
    index: 0,
};

fn hook(name: &str, parameters: &[Ty], result: Ty) -> Arc<Hook> {
    Arc::new(Hook {
        owner: class("Acme.All", SCOPE),
        owner_is_interface: false,
        name: name.into(),
        parameters: parameters.into(),
        generics: u16::from(result == OWN),
        result,
        links: Box::default(),
    })
}

/// A value as it is.
fn same(source: Source, ty: Ty) -> Operand {
    Operand {
        source,
        from: ty.clone(),
        convert: Convert::Same,
        to: ty,
    }
}

fn can_be_object(ty: &Ty) -> bool {
    match ty {
        Ty::Void | Ty::ByRef(_) | Ty::Pointer(_) | Ty::Opaque(_) => false,
        Ty::Named(named) => !named.by_ref_like,
        Ty::Prim(_) | Ty::Array(_) | Ty::Param { .. } => true,
    }
}

/// A value as an object, or null where it cannot be one.
fn boxed(source: Source, ty: &Ty) -> Operand {
    let convert = match ty {
        Ty::ByRef(inner) if can_be_object(inner) => Convert::LoadBox,
        ty if !can_be_object(ty) => return same(Source::Zero, object()),
        ty if ty.is_reference() => Convert::Same,
        _ => Convert::Box,
    };
    Operand {
        source,
        from: ty.clone(),
        convert,
        to: object(),
    }
}

/// Hooks that take everything that a method has.
fn everything(signature: &Signature, number: usize) -> Bound {
    let adapter = match number % 4 {
        0 => None,
        kind => Some(Adapter {
            class: "".into(),
            guard: kind != 2,
            recursion: kind != 1,
            change: None,
        }),
    };
    let call = |hook: Arc<Hook>, operands: Vec<Operand>, dest| Call {
        role: Role::Hook,
        hook,
        generics: Box::default(),
        operands: operands.into(),
        dest,
        given: None,
        adapter: adapter.clone(),
    };
    // A value as it is, to a hook that takes any type.
    let generic = |source: Source, ty: &Ty, dest| Call {
        generics: [ty.clone()].into(),
        ..call(
            hook("One", &[OWN], OWN),
            vec![same(source, ty.clone())],
            dest,
        )
    };
    let this = || match &signature.this {
        Some(ty) => boxed(Source::This, ty),
        None => same(Source::Zero, object()),
    };
    let args = |at_enter: bool| {
        let each = (0..).zip(&signature.parameters).map(|(n, p)| match p.out {
            true if at_enter => same(Source::Zero, object()),
            _ => boxed(Source::Arg(n), &p.ty),
        });
        same(Source::Args(each.collect()), objects())
    };
    let at_end = |seen| {
        let state = same(Source::State(0), object());
        let duration = same(Source::Duration, LONG);
        vec![state, this(), args(false), seen, duration]
    };

    let mut states = vec![object()];
    let begin = hook("Begin", &[object(), objects()], object());
    let mut enter = vec![call(begin, vec![this(), args(true)], Dest::State(0))];
    let mut exit = Vec::new();
    if let Some(first) = signature.parameters.first()
        && can_be_object(&first.ty)
    {
        enter.push(generic(Source::Arg(0), &first.ty, Dest::State(1)));
        states.push(first.ty.clone());
    }
    if can_be_object(&signature.result) {
        exit.push(generic(Source::Result, &signature.result, Dest::Drop));
    }
    let end = [object(), object(), objects(), object(), LONG];
    let result = boxed(Source::Result, &signature.result);
    exit.push(call(
        hook("End", &end, Ty::Void),
        at_end(result),
        Dest::Drop,
    ));
    let failed = [object(), object(), objects(), exception(), LONG];
    let thrown = same(Source::Exception, exception());
    let failed = call(
        hook("Failed", &failed, Ty::Void),
        at_end(thrown),
        Dest::Drop,
    );
    Bound {
        enter: enter.into(),
        exit: exit.into(),
        exception: [failed].into(),
        keep: Keep {
            args: (0..signature.parameters.len() as u16).collect(),
            this: signature.this.is_some(),
            states: states.into(),
            duration: true,
        },
        ..Bound::default()
    }
}

/// Plans every method but those with state machines.
#[derive(Default)]
pub struct Planner {
    pub plan: Plan,
    types: u32,
    /// Methods whose signature cannot be read.
    pub without_signature: u32,
}

impl Visitor for Planner {
    fn enter_type(&mut self, _: &Type<'_>) -> bool {
        self.types += 1;
        true
    }

    fn method(&mut self, index: u32, method: &Method<'_>) {
        if !method.has_body || method.kinds.intersects(Kinds::ASYNC) {
            return;
        }
        let Some(signature) = method.details.signature() else {
            self.without_signature += 1;
            return;
        };
        let number = self.plan.methods.len();
        self.plan
            .bound
            .push(Arc::new(everything(&signature, number)));
        self.plan.methods.push(Planned {
            ty: self.types - 1,
            index,
            id: number as u32 + 1,
            advice: match number % 2 {
                0 => Advice::OWN,
                _ => Advice::OWN.with(Advice::ALL),
            },
            bound: Some(number as u32),
        });
    }
}
