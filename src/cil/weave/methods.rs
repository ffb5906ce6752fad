//! What is woven of an assembly.

use crate::aspect::bind::call::Bound;
use crate::aspect::bind::site::Redirect;
use crate::aspect::plan::{Plan, Planned, Redirected};
use std::sync::Arc;

/// What is woven: a plan with its ids.
#[derive(Clone, Debug, Default)]
pub struct Methods {
    /// The methods, ascending by type and index.
    pub planned: Vec<Planned>,
    /// The own hooks that they have by their numbers.
    pub bound: Vec<Arc<Bound>>,
    /// What is called instead of methods, and at points.
    pub redirects: Vec<Arc<Redirect>>,
    /// The calls that are redirected and the points, in the order of their methods.
    pub calls: Vec<Redirected>,
    /// The ids of those that are recorded, as in [`Plan::call_ids`].
    pub call_ids: Vec<u32>,
}

impl From<Vec<Planned>> for Methods {
    fn from(planned: Vec<Planned>) -> Methods {
        Methods {
            planned,
            ..Methods::default()
        }
    }
}

impl From<Plan> for Methods {
    fn from(plan: Plan) -> Methods {
        Methods {
            planned: plan.methods,
            bound: plan.bound,
            redirects: plan.redirects,
            calls: plan.calls,
            call_ids: plan.call_ids,
        }
    }
}

impl Methods {
    /// The methods with own hooks, and these.
    pub(crate) fn with_own(&self) -> impl Iterator<Item = WithOwn<'_>> + Clone {
        self.planned.iter().filter_map(|planned| {
            let bound = &self.bound[planned.bound? as usize];
            Some(WithOwn { planned, bound })
        })
    }

    /// Adds the methods that have points, if no rule weaves them.
    pub(crate) fn add_pointed(&mut self, points: &[Redirected]) {
        let planned = &mut self.planned;
        let first = planned.len();
        for point in points.chunk_by(|a, b| (a.ty, a.index) == (b.ty, b.index)) {
            let place = (point[0].ty, point[0].index);
            let known = planned[..first].binary_search_by_key(&place, |p| (p.ty, p.index));
            if known.is_err() {
                planned.push(Planned::bare(place.0, place.1));
            }
        }
        planned.sort_by_key(|p| (p.ty, p.index));
    }
}

/// A method with own hooks.
#[derive(Clone, Copy)]
pub(crate) struct WithOwn<'m> {
    pub planned: &'m Planned,
    pub bound: &'m Arc<Bound>,
}
