//! One class, on any thread: prefilter, scan, match, weave.

use crate::aspect::advice::Advice;
use crate::aspect::joinpoint::Visitor;
use crate::aspect::plan::Planned;
use crate::aspect::pointcut::ArtifactMatcher;
use crate::aspect::woven::WovenType;
use crate::error::Result;
use crate::jvm;
use crate::pipeline::context::Context;
use crate::pipeline::formats::plan::plan;
use crate::pipeline::ledger::Ledger;
use crate::pipeline::ledger::touched::Touched;

/// A class file that the rules have something to say about.
pub(crate) struct TouchedClass {
    /// The new class file, if anything was woven.
    pub(crate) bytes: Option<Vec<u8>>,
    /// It may call the hook library: sections of Android's trace alone do not.
    pub(crate) needs_library: bool,
    pub(crate) ty: Touched,
}

/// Weaves a class. `None`: no rule has anything to say about it. `attempt` chooses its ids.
pub(crate) fn weave_class(
    cx: &Context<'_>,
    matcher: &ArtifactMatcher<'_>,
    bytes: &[u8],
    scratch: &mut jvm::Scratch,
    attempt: u32,
) -> Result<Option<TouchedClass>> {
    if !matcher.bytes_may_match(bytes) {
        return Ok(None);
    }
    let class = jvm::Class::parse(bytes)?;
    if class.is_module() {
        return Ok(None);
    }
    let base_of = |_: u32, type_name: &str| (cx.id_base)(type_name, attempt);
    let scan = |visitor: &mut dyn Visitor| jvm::scan(&class, visitor);
    let plan = plan(cx, matcher, &base_of, (cx.classes_on, 0), scan)?;
    if plan.methods.is_empty() {
        if plan.skipped.is_empty() {
            return Ok(None);
        }
        let unwoven = WovenType::new(0, &class.name(), "", 0);
        let mut ty = Touched::new(unwoven, plan.skipped);
        ty.explain(&[], &plan.meant);
        return Ok(Some(TouchedClass {
            bytes: None,
            needs_library: false,
            ty,
        }));
    }
    let woven = jvm::weave(&class, &plan, scratch)?;
    let mut ty = Touched::new(woven.ty, plan.skipped);
    if cx.explain {
        ty.explain(&plan.methods, &plan.meant);
    }
    let calls = |p: &Planned| p.advice.only(Advice::ALL) != Advice::default();
    Ok(Some(TouchedClass {
        needs_library: woven.bytes.is_some() && plan.methods.iter().any(calls),
        bytes: woven.bytes,
        ty,
    }))
}

/// A woven class, packed or not.
pub(crate) trait WovenClass: Sized {
    fn ty(&self) -> &Touched;
    fn needs_library(&self) -> bool;

    /// Claims the ids of the class and records it. Where some id is taken, `again` weaves the class with the ids of
    /// another attempt.
    fn settle(
        self,
        ledger: &mut Ledger<'_>,
        artifact: &str,
        again: impl FnOnce(u32) -> Result<Option<Self>>,
    ) -> Result<Option<Self>> {
        let settled = match ledger.claim_ids(self.ty()) {
            0 => Some(self),
            attempt => again(attempt)?,
        };
        if let Some(class) = &settled {
            ledger.record(artifact, class.ty());
            ledger.needs_library |= class.needs_library();
        }
        Ok(settled)
    }
}

impl WovenClass for TouchedClass {
    fn ty(&self) -> &Touched {
        &self.ty
    }

    fn needs_library(&self) -> bool {
        self.needs_library
    }
}
