//! What to weave in an artifact, or in a part of it.

use crate::aspect::joinpoint::Visitor;
use crate::aspect::plan::{BaseOf, Plan, Planner};
use crate::aspect::pointcut::ArtifactMatcher;
use crate::error::Result;
use crate::pipeline::context::{Context, Platform};

/// Scans what begins with the type `first`, and decides what to weave. `base_of` gives the ids.
pub(crate) fn plan(
    cx: &Context<'_>,
    matcher: &ArtifactMatcher<'_>,
    base_of: BaseOf<'_>,
    (platform, first): (Platform, u32),
    scan: impl FnOnce(&mut dyn Visitor) -> Result<()>,
) -> Result<Plan> {
    let mut planner = Planner::new(matcher, base_of, cx.explain).starting_at(first);
    if platform == Platform::Android {
        planner = planner.on_android();
    }
    scan(&mut planner)?;
    Ok(planner.plan)
}
