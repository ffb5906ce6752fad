//! The methods that a method with `around` hooks is split into, and the hooks of each.

use super::call::{Bound, Call, Dest, Operand, Proceed, Source};
use crate::aspect::advice::Advice;
use crate::aspect::plan::Planned;
use std::sync::Arc;

/// What the name of a method with a body begins with.
pub const BODY: &str = "weave$body$";

/// What one of these methods is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The method itself, which calls the outermost hook.
    Whole,
    /// A method between it and the body, which calls the n-th hook; `n` is 2 or more.
    Between(usize),
    /// The body.
    Body,
}

impl Part {
    /// What stands in front of the method's name where names may have any letters (JVM, dex).
    pub fn prefix(self) -> String {
        match self {
            Part::Whole => String::new(),
            Part::Between(n) => format!("weave$around{n}$"),
            Part::Body => BODY.to_owned(),
        }
    }
}

/// One of these methods.
#[derive(Clone, Debug)]
pub struct Layer<'b> {
    pub part: Part,
    /// The hooks that are woven into it.
    pub hooks: Option<Arc<Bound>>,
    /// The `around` hook, which is called instead of the next layer; none in the body.
    pub call: Option<&'b Call>,
}

/// The layers of a method, from the outside in: the method itself, and with an `around` hook also its body.
pub fn layers(bound: &Arc<Bound>) -> Vec<Layer<'_>> {
    let mut all = Vec::new();
    let mut hooks = Some(bound);
    loop {
        let around = hooks.and_then(|hooks| hooks.around.as_deref());
        all.push(Layer {
            part: match (all.len(), around) {
                (0, _) => Part::Whole,
                (n, Some(_)) => Part::Between(n + 1),
                (_, None) => Part::Body,
            },
            hooks: hooks.cloned(),
            call: around.map(|around| &around.call),
        });
        match around {
            Some(around) => hooks = around.inner.as_ref(),
            None => return all,
        }
    }
}

impl<'b> Layer<'b> {
    /// What runs the method that follows, each once.
    pub fn proceeds(&self) -> Vec<&'b Arc<Proceed>> {
        let mut all: Vec<&'b Arc<Proceed>> = Vec::new();
        for operand in self.call.iter().flat_map(|call| &call.operands) {
            if let Source::Proceed(proceed) = &operand.source
                && !all.contains(&proceed)
            {
                all.push(proceed);
            }
        }
        all
    }

    /// When hooks run here of a planned method: the recorded pair lies with the body.
    pub fn advice_of(&self, planned: &Planned) -> Advice {
        let own = match self
            .hooks
            .as_ref()
            .is_some_and(|hooks| hooks.has_own_hooks())
        {
            true => Advice::OWN,
            false => Advice::default(),
        };
        match self.part {
            Part::Body => planned.advice.without(Advice::OWN).with(own),
            Part::Whole | Part::Between(_) => own,
        }
    }

    /// The hooks of a part that is static and takes `this` as its first argument.
    pub fn hooks_taking_this(&self) -> Option<Arc<Bound>> {
        let hooks = self.hooks.as_deref()?;
        Some(Arc::new(taking_this(hooks)))
    }
}

/// The same hooks of a static method whose first argument is `this`.
fn taking_this(bound: &Bound) -> Bound {
    fn shift(operand: &mut Operand) {
        match &mut operand.source {
            Source::Arg(n) => *n += 1,
            Source::Args(elements) => elements.iter_mut().for_each(shift),
            this @ Source::This => *this = Source::Arg(0),
            _ => {}
        }
    }
    let mut bound = bound.clone();
    bound.around = None;
    let calls = (bound.enter.iter_mut().chain(&mut bound.exit)).chain(&mut bound.exception);
    for call in calls {
        call.operands.iter_mut().for_each(shift);
        if let Dest::Arg(n) = &mut call.dest {
            *n += 1;
        }
    }
    let this = bound.keep.this.then_some(0);
    let args = bound.keep.args.iter().map(|n| n + 1);
    bound.keep.args = this.into_iter().chain(args).collect();
    bound.keep.this = false;
    bound
}

#[cfg(test)]
mod tests {
    use super::super::call::{Around, Hook, Keep, Role};
    use super::super::ty::Ty;
    use super::*;

    fn call(name: &str, sources: &[Source]) -> Call {
        let object = Ty::class("java/lang/Object");
        Call {
            role: Role::Hook,
            hook: Arc::new(Hook {
                owner: Ty::class("acme/Log"),
                owner_is_interface: false,
                name: name.into(),
                parameters: sources.iter().map(|_| object.clone()).collect(),
                result: Ty::Void,
                generics: 0,
                links: Box::default(),
            }),
            generics: Box::default(),
            operands: (sources.iter())
                .map(|source| Operand {
                    source: source.clone(),
                    from: object.clone(),
                    convert: super::super::call::Convert::Same,
                    to: object.clone(),
                })
                .collect(),
            dest: Dest::Drop,
            given: None,
            adapter: None,
        }
    }

    fn around(name: &str, enter: Vec<Call>, inner: Option<Bound>) -> Bound {
        Bound {
            enter: enter.into(),
            around: Some(Box::new(Around {
                call: call(name, &[]),
                inner: inner.map(Arc::new),
            })),
            ..Bound::default()
        }
    }

    #[test]
    fn each_hook_instead_of_the_body_has_a_method_of_its_own() {
        let body = Bound {
            enter: [call("d", &[])].into(),
            ..Bound::default()
        };
        let inner = around("c", vec![call("b", &[])], Some(body));
        let whole = Arc::new(around("a", vec![], Some(inner)));
        let planned = Planned {
            advice: Advice::ALL.with(Advice::OWN),
            ..Planned::bare(0, 0)
        };
        let name = |call: &Call| call.hook.name.to_string();
        let told: Vec<_> = layers(&whole)
            .iter()
            .map(|layer| {
                let enter = layer.hooks.iter().flat_map(|hooks| &hooks.enter);
                let enter: Vec<String> = enter.map(name).collect();
                let advice = layer.advice_of(&planned);
                (layer.part, layer.call.map(name), enter.concat(), advice)
            })
            .collect();
        let called = |name: &str| Some(name.to_owned());
        assert_eq!(
            told,
            [
                (Part::Whole, called("a"), String::new(), Advice::default()),
                (Part::Between(2), called("c"), "b".into(), Advice::OWN),
                (Part::Body, None, "d".into(), planned.advice),
            ]
        );
        let bare = Arc::new(around("a", vec![], None));
        let parts: Vec<Part> = layers(&bare).iter().map(|layer| layer.part).collect();
        assert_eq!(parts, [Part::Whole, Part::Body]);
        assert!(layers(&bare)[1].hooks.is_none());
    }

    #[test]
    fn a_static_body_has_its_object_as_the_first_argument() {
        let all = Source::Args([].into());
        let mut enter = call("e", &[Source::This, Source::Arg(0), all.clone()]);
        enter.dest = Dest::Arg(1);
        let bound = Bound {
            enter: [enter].into(),
            keep: Keep {
                args: [1].into(),
                this: true,
                ..Keep::default()
            },
            ..Bound::default()
        };
        let bound = taking_this(&bound);
        let sources: Vec<&Source> = (bound.enter[0].operands.iter())
            .map(|operand| &operand.source)
            .collect();
        assert_eq!(sources, [&Source::Arg(0), &Source::Arg(1), &all]);
        assert_eq!(bound.enter[0].dest, Dest::Arg(2));
        assert_eq!((&*bound.keep.args, bound.keep.this), (&[0, 2][..], false));
    }
}
