//! What to weave in an artifact, or in a part of it.

use crate::aspect::bind::binder::{Binder, Home};
use crate::aspect::bind::call::Hook;
use crate::aspect::bind::ty::Target;
use crate::aspect::joinpoint::Visitor;
use crate::aspect::plan::{self, BaseOf, Plan, Planner};
use crate::aspect::pointcut::ArtifactMatcher;
use crate::error::Result;
use crate::pipeline::context::{Context, Platform};
use crate::pipeline::own::Code;

/// What names of adapters begin with that lie in the file of their callers anyway, all in one package (dex, .NET).
pub(crate) const ADAPTERS: &str = "weave/hooks/";

/// What is scanned.
#[derive(Clone, Copy)]
pub(crate) struct Scanned<'s> {
    pub(crate) platform: Platform,
    pub(crate) code: Code,
    /// The number of the first type.
    pub(crate) first: u32,
    /// What names of adapters begin with.
    pub(crate) adapters: &'s str,
}

/// Scans some types, and decides what to weave. `base_of` gives the ids.
pub(crate) fn plan(
    cx: &Context<'_>,
    matcher: &ArtifactMatcher<'_>,
    base_of: BaseOf<'_>,
    scanned: Scanned<'_>,
    scan: impl FnOnce(&mut dyn Visitor) -> Result<()>,
) -> Result<Plan> {
    let may_reach = |hook: &Hook| cx.own.is_none_or(|own| own.may_reach(scanned.code, hook));
    let mut planner = Planner::new(matcher, base_of, cx.explain).starting_at(scanned.first);
    if scanned.platform == Platform::Android {
        planner = planner.on_android();
    }
    if let Some(own) = cx.own {
        planner = planner.with_own(plan::Own {
            binder: Binder {
                catalog: own.catalogs.of(scanned.code),
                hierarchy: cx.hierarchy,
                may_reach: &may_reach,
                target: match scanned.code {
                    Code::Class => Target::Jvm,
                    Code::Dex => Target::Dex,
                    Code::Assembly => Target::DotNet,
                },
            },
            home: Home {
                artifact: matcher.artifact(),
                adapters: scanned.adapters,
            },
        });
    }
    scan(&mut planner)?;
    if let Some(own) = cx.own {
        own.complain(std::mem::take(&mut planner.misfits));
        if scanned.code != Code::Assembly {
            own.refuse_sources(matcher.matcher(), matcher.artifact());
        }
    }
    Ok(planner.plan)
}
