//! A plan of every method, made of all that a scan tells.

use weave::internals::aspect::advice::Advice;
use weave::internals::aspect::joinpoint::{Method, Type, Visitor};
use weave::internals::aspect::plan::{Plan, Planned};

/// Plans every method, each with other hooks.
pub struct Everything {
    hooks: Advice,
    types: u32,
    methods: Vec<Planned>,
}

impl Everything {
    /// With any of these hooks, which are the lowest bits.
    pub fn with(hooks: Advice) -> Everything {
        Everything {
            hooks,
            types: 0,
            methods: Vec::new(),
        }
    }

    pub fn plan(self) -> Plan {
        Plan::new(self.methods)
    }
}

impl Visitor for Everything {
    fn enter_type(&mut self, ty: &Type<'_>) -> bool {
        self.types += 1;
        ty.details.annotations(&mut |_| ());
        ty.details.supertypes(&mut |_| ());
        let _ = ty.details.owner();
        true
    }
    fn method(&mut self, index: u32, method: &Method<'_>) {
        method.details.annotations(&mut |_| ());
        method.details.parameters(&mut |_| ());
        method.details.returns(&mut |_| ());
        let _ = (method.details.signature(), method.details.is_callable());
        self.methods.push(Planned {
            ty: self.types - 1,
            index,
            id: self.methods.len() as u32 + 1,
            advice: Advice(1 + (index % u32::from(self.hooks.0)) as u16),
            bound: None,
        });
    }
}
