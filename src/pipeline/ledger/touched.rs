//! Types that some rule matches.

use crate::aspect::advice::Advice;
use crate::aspect::bind::call::{Bound, ShownCall};
use crate::aspect::bind::site::Redirect;
use crate::aspect::joinpoint::Described;
use crate::aspect::plan::{Plan, Planned, Redirected, RootId, Skipped, SwitchedId};
use crate::aspect::woven::WovenType;
use crate::error::Result;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A type that some rule matches.
#[derive(Default)]
pub(crate) struct Touched {
    /// What was woven, and which matched methods are left unwoven.
    pub(crate) woven: WovenType,
    /// The names of the values that woven methods record.
    pub(crate) values: Vec<(u32, Arc<Bound>)>,
    /// The woven methods whose calls begin a trace.
    pub(crate) roots: Vec<RootId>,
    /// The woven methods that can be switched, and by which aspects.
    pub(crate) switched: Vec<SwitchedId>,
    /// What its methods call instead of others.
    pub(crate) calls: Vec<TouchedCall>,
    /// Why each woven method has what hooks; only when explaining.
    pub(crate) advice: Vec<Explained>,
    /// The aspects of each method that is left; only when explaining.
    pub(crate) left_by: Vec<Vec<u32>>,
}

/// What a method calls instead of another, and how often.
pub(crate) struct TouchedCall {
    /// Name and descriptor of the method that calls.
    pub(crate) method: String,
    pub(crate) redirect: Arc<Redirect>,
    /// Its id, if it is recorded; else 0.
    pub(crate) id: u32,
    pub(crate) times: u64,
}

/// These calls of a plan, which are of one type. `describe` gives a method's name and descriptor.
pub(crate) fn touched_calls(
    calls: &[Redirected],
    plan: &Plan,
    describe: impl Fn(u32) -> Result<Described>,
) -> Result<Vec<TouchedCall>> {
    let mut counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for call in calls {
        *counts.entry((call.index, call.redirect)).or_default() += 1;
    }
    let told = counts.into_iter().map(|((index, redirect), times)| {
        Ok(TouchedCall {
            method: describe(index)?.to_string(),
            redirect: Arc::clone(&plan.redirects[redirect as usize]),
            id: plan.call_id(redirect),
            times,
        })
    });
    told.collect()
}

/// The advice of a woven method, its aspects, whether it is a root, and its own hooks.
#[derive(Clone, Debug)]
pub(crate) struct Explained {
    pub(crate) advice: Advice,
    pub(crate) aspects: Vec<u32>,
    pub(crate) root: bool,
    pub(crate) hooks: Vec<ShownCall>,
}

impl Touched {
    pub(crate) fn new(mut woven: WovenType, skipped: Vec<Skipped>) -> Touched {
        woven.left.extend(skipped);
        Touched {
            woven,
            ..Touched::default()
        }
    }

    /// Notes which of its woven methods record values.
    pub(crate) fn note_values(&mut self, values: &FxHashMap<u32, Arc<Bound>>) {
        if !values.is_empty() {
            let woven = self.woven.methods().filter_map(|method| {
                let bound = values.get(&method.id)?;
                Some((method.id, Arc::clone(bound)))
            });
            self.values = woven.collect();
        }
    }

    /// Notes which of its woven methods begin a trace; the ids ascend.
    pub(crate) fn note_roots(&mut self, ids: &[RootId]) {
        if !ids.is_empty() {
            let roots = self.woven.methods().filter_map(|method| {
                let found = ids.binary_search_by_key(&method.id, |root| root.id);
                Some(ids[found.ok()?].clone())
            });
            self.roots = roots.collect();
        }
    }

    /// Notes which of its woven methods can be switched; the ids ascend.
    pub(crate) fn note_switched(&mut self, ids: &[SwitchedId]) {
        if !ids.is_empty() {
            let switched = self.woven.methods().filter_map(|method| {
                let found = ids.binary_search_by_key(&method.id, |switched| switched.id);
                Some(ids[found.ok()?].clone())
            });
            self.switched = switched.collect();
        }
    }

    /// Notes the calls that are redirected. `describe` gives a method's name and descriptor.
    pub(crate) fn note_calls(
        &mut self,
        plan: &Plan,
        describe: impl Fn(u32) -> Result<Described>,
    ) -> Result<()> {
        self.calls = touched_calls(&plan.calls, plan, describe)?;
        Ok(())
    }

    /// Notes which advice each method got, and from which aspects.
    pub(crate) fn explain(&mut self, planned: &[Planned], plan: &Plan) {
        let Plan {
            meant,
            bound,
            roots,
            ..
        } = plan;
        let aspects = |ty: u32, index: u32| {
            let place = meant.binary_search_by_key(&(ty, index), |m| (m.ty, m.index));
            place.map_or(vec![], |place| meant[place].aspects.clone())
        };
        let mut planned = planned.iter();
        let advice = self.woven.methods().map(|method| {
            let same = planned.find(|p| p.id == method.id);
            let bound = same.and_then(|p| Some(&bound[p.bound? as usize]));
            let hooks = bound.map(|bound| bound.shown());
            let switched = bound.and_then(|bound| bound.switched());
            let advice = same.map_or(Advice::ALL, |p| p.advice);
            Explained {
                advice: {
                    let own = match hooks.as_deref() {
                        Some(&[]) => Advice::OWN,
                        _ => Advice::default(),
                    };
                    let advice = advice.without(own);
                    match switched {
                        Some(says) => {
                            let rest = advice.without(Advice::LIBRARY);
                            rest.with(Advice::of_switched(says))
                        }
                        None => advice,
                    }
                },
                aspects: same.map_or(vec![], |p| aspects(p.ty, p.index)),
                root: same.is_some_and(|p| {
                    (roots.binary_search_by_key(&p.place(), |root| root.place)).is_ok()
                }),
                hooks: hooks.unwrap_or_default(),
            }
        });
        self.advice = advice.collect();
        let left = self.woven.left.iter();
        self.left_by = left.map(|left| aspects(left.ty, left.index)).collect();
    }
}

/// Adds what the plan of an artifact left out to the results of its types, ascending, and, when explaining, the advice.
pub(crate) fn complete(types: &mut Vec<Touched>, mut plan: Plan, explain: bool) {
    let mut skipped: FxHashMap<u32, Vec<Skipped>> = FxHashMap::default();
    for method in std::mem::take(&mut plan.skipped) {
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
            ty.explain(&plan.methods[start..end], &plan);
        }
    }
    for (number, name) in std::mem::take(&mut plan.skipped_types) {
        if let Some(left) = skipped.remove(&number) {
            let mut ty = Touched::new(WovenType::new(number, &name, "", 0), left);
            ty.explain(&[], &plan);
            types.push(ty);
        }
    }
    types.sort_by_key(|ty| ty.woven.ty);
}
