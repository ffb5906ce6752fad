//! Types that the rules have something to say about.

use crate::aspect::advice::Advice;
use crate::aspect::plan::{Plan, Planned, Skipped};
use crate::aspect::woven::WovenType;
use rustc_hash::FxHashMap;

/// A type that the rules have something to say about.
#[derive(Default)]
pub(crate) struct Touched {
    /// What was woven, and which methods were meant but are left as they were.
    pub(crate) woven: WovenType,
    /// The advice of each woven method; only when explaining.
    pub(crate) advice: Vec<Advice>,
}

impl Touched {
    pub(crate) fn new(mut woven: WovenType, skipped: Vec<Skipped>) -> Touched {
        woven.left.extend(skipped);
        Touched {
            woven,
            advice: Vec::new(),
        }
    }

    /// Notes which advice each method got.
    pub(crate) fn explain(&mut self, planned: &[Planned]) {
        let mut planned = planned.iter();
        let advice = self.woven.methods().map(|method| {
            let same = planned.find(|p| p.id == method.id);
            same.map_or(Advice::ALL, |p| p.advice)
        });
        self.advice = advice.collect();
    }
}

/// Adds what the plan of an artifact left out to what came of its types, ascending, and, when explaining, the advice.
pub(crate) fn complete(types: &mut Vec<Touched>, plan: Plan, explain: bool) {
    let mut skipped: FxHashMap<u32, Vec<Skipped>> = FxHashMap::default();
    for method in plan.skipped {
        skipped.entry(method.ty).or_default().push(method);
    }
    for ty in types.iter_mut() {
        let number = ty.woven.ty;
        ty.woven
            .left
            .extend(skipped.remove(&number).unwrap_or_default());
        if explain {
            let start = plan.methods.partition_point(|m| m.ty < number);
            let end = plan.methods.partition_point(|m| m.ty <= number);
            ty.explain(&plan.methods[start..end]);
        }
    }
    for (number, name) in plan.skipped_types {
        if let Some(left) = skipped.remove(&number) {
            types.push(Touched::new(WovenType::new(number, &name, "", 0), left));
        }
    }
    types.sort_by_key(|ty| ty.woven.ty);
}
