//! Plans for tests and benches: every method with a body.

use super::advice::Advice;
use super::joinpoint::{Method, Type, Visitor};
use super::plan::{Plan, Planned};

struct Everything<F> {
    advice: Advice,
    id: F,
    types: u32,
    planned: Vec<Planned>,
}

impl<F: FnMut(u32, u32, &Method<'_>) -> Option<u32>> Visitor for Everything<F> {
    fn enter_type(&mut self, _: &Type<'_>) -> bool {
        self.types += 1;
        true
    }
    fn method(&mut self, index: u32, method: &Method<'_>) {
        let ty = self.types - 1;
        if method.has_body
            && let Some(id) = (self.id)(ty, index, method)
        {
            self.planned.push(Planned {
                ty,
                index,
                id,
                advice: self.advice,
                bound: None,
            });
        }
    }
}

/// Plans `advice` for the methods that `scan` shows, have a body, and get an `id` for their type's number and their own.
pub fn everything(
    advice: Advice,
    id: impl FnMut(u32, u32, &Method<'_>) -> Option<u32>,
    scan: impl FnOnce(&mut dyn Visitor),
) -> Plan {
    let mut all = Everything {
        advice,
        id,
        types: 0,
        planned: Vec::new(),
    };
    scan(&mut all);
    Plan::new(all.planned)
}
