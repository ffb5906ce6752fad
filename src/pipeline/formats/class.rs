//! One class: prefilter, scan, match; then, with its ids, weave.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::bind::call::Call;
use crate::aspect::bind::ty::Ty;
use crate::aspect::joinpoint::Visitor;
use crate::aspect::plan::{LeftCall, Plan, Planned};
use crate::aspect::pointcut::{ArtifactMatcher, GENERATED};
use crate::aspect::serial::may_have_default_number;
use crate::aspect::woven::WovenType;
use crate::error::Result;
use crate::jvm;
use crate::pipeline::context::Context;
use crate::pipeline::formats::plan::{Scanned, plan};
use crate::pipeline::ledger::Ledger;
use crate::pipeline::ledger::touched::Touched;
use crate::pipeline::library::layout::Unseen;
use crate::pipeline::own;
use crate::pipeline::own::{Code, Generated, MadeClass, Needs};
use std::borrow::Cow;

/// A class that some rule matches.
pub(crate) struct PlannedClass<'a> {
    class: jvm::Class<'a>,
    plan: Plan,
    /// What runs its bodies.
    seats: jvm::Seats,
}

/// The result for a class that some rule matches.
pub(crate) struct TouchedClass {
    /// The new class file, if anything was woven.
    pub(crate) bytes: Option<Vec<u8>>,
    /// It may call the hook library: sections of Android's trace alone do not.
    pub(crate) needs_library: bool,
    /// What its own hooks need.
    pub(crate) needs: Needs,
    /// The classes through which it calls hooks.
    pub(crate) generated: Generated,
    pub(crate) ty: Touched,
}

/// Plans a class. `None`: no rule has anything to say about it.
pub(crate) fn plan_class<'a>(
    cx: &Context<'_>,
    matcher: &ArtifactMatcher<'_>,
    bytes: &'a [u8],
    unseen: Unseen,
) -> Result<Option<PlannedClass<'a>>> {
    if !matcher.bytes_may_match(bytes) {
        return Ok(None);
    }
    let class = jvm::Class::parse(bytes)?;
    if class.is_module() {
        return Ok(None);
    }
    let base_of = |_: u32, type_name: &str| (cx.id_base)(type_name, 0);
    let scan = |visitor: &mut dyn Visitor| jvm::scan(&class, visitor);
    // Beside the class: there the same loader finds it, in the same module, and it may name what the class may.
    let name = class.name();
    let package = &name[..name.rfind('/').map_or(0, |slash| slash + 1)];
    let adapters = format!("{package}{GENERATED}");
    let scanned = Scanned {
        adapters: &adapters,
        platform: cx.classes_on,
        code: Code::Class,
        first: 0,
    };
    let mut plan = plan(cx, matcher, &base_of, scanned, scan)?;
    leave_unseen(cx, &class, &mut plan, unseen)?;
    leave_hidden(cx, &class, &mut plan)?;
    if !may_have_default_number(cx.hierarchy, &name) {
        plan.not_numbered.insert(0);
    }
    let is_touched = !plan.is_empty() || !plan.matched.is_empty();
    let seats = match cx.own {
        Some(own) => jvm::Seats::copying(&class, &plan, &|call| own.hook_body(call)),
        None => jvm::Seats::default(),
    };
    Ok(is_touched.then_some(PlannedClass { class, plan, seats }))
}

impl PlannedClass<'_> {
    /// Gives its methods ids that no other method has.
    pub(crate) fn claim(&mut self, ledger: &mut Ledger<'_>) -> Result<()> {
        let PlannedClass { class, plan, .. } = self;
        let name = |_| Ok(class.name().into_owned());
        ledger.claim(plan, name, |_, index| class.describe(index))
    }

    /// Gives its bodies places in what runs those of its artifact, which lies under `root` beside it.
    pub(crate) fn seat(&mut self, runners: &mut jvm::Runners, root: &str) {
        runners.seat(root, &self.class, &self.plan, &mut self.seats);
    }

    pub(crate) fn name(&self) -> Cow<'_, str> {
        self.class.name()
    }

    /// Weaves it, in a module with these names of libraries. `None`: no rule matches it.
    pub(crate) fn weave(
        self,
        cx: &Context<'_>,
        scratch: &mut jvm::Scratch,
        relocation: Option<&jvm::Relocation>,
    ) -> Result<Option<TouchedClass>> {
        let PlannedClass {
            class,
            mut plan,
            seats,
        } = self;
        let woven = jvm::weave_seated(&class, &plan, &seats, scratch)?;
        plan.leave_calls(&woven.calls_left, |_, index| class.describe(index))?;
        if plan.methods.is_empty() && woven.bytes.is_none() {
            if plan.skipped.is_empty() {
                return Ok(None);
            }
            let unwoven = WovenType::new(0, &class.name(), "", 0);
            let mut ty = Touched::new(unwoven, std::mem::take(&mut plan.skipped));
            ty.explain(&[], &plan);
            return Ok(Some(TouchedClass {
                bytes: None,
                needs_library: false,
                needs: Needs::default(),
                generated: Generated::default(),
                ty,
            }));
        }
        let mut bytes = woven.bytes;
        if let (Some(woven), Some(relocation)) = (&bytes, relocation) {
            // The class's own constants say what it meant before.
            bytes = Some(relocation.class(woven, class.pool.count())?);
        }
        let (needs, mut generated) = match bytes {
            Some(_) => (Needs::of(&plan), own::generated(&plan)),
            None => Default::default(),
        };
        let runners = woven.runners.into_iter();
        generated.extend(runners.map(|(name, runner)| ((*name).into(), MadeClass::Runner(runner))));
        let (values, roots, switched) = (plan.values(), plan.root_ids(), plan.switched_ids());
        let mut ty = Touched::new(woven.ty, std::mem::take(&mut plan.skipped));
        ty.note_values(&values);
        ty.note_roots(&roots);
        ty.note_switched(&switched);
        ty.note_calls(&plan, |index| class.describe(index))?;
        if cx.explain {
            ty.explain(&plan.methods, &plan);
        }
        let calls = |p: &Planned| p.advice.only(Advice::LIBRARY) != Advice::default();
        Ok(Some(TouchedClass {
            needs_library: bytes.is_some()
                && (plan.methods.iter().any(calls) || needs.calls_library()),
            needs,
            generated,
            bytes,
            ty,
        }))
    }
}

/// Leaves what would call hooks that the class does not see.
fn leave_unseen(
    cx: &Context<'_>,
    class: &jvm::Class<'_>,
    plan: &mut Plan,
    unseen: Unseen,
) -> Result<()> {
    let all = match unseen {
        Unseen::Nothing => return Ok(()),
        Unseen::Own => false,
        // Otherwise it is somewhere else.
        Unseen::Library => cx.runtime,
    };
    let reason = Reason::LibraryUnseen;
    let describe = |_, index| class.describe(index);
    let embeds = |calls: &mut dyn Iterator<Item = &Call>| cx.own.is_some_and(|o| o.embeds(calls));
    let leaves = |plan: &Plan, planned: &Planned| {
        let bound = plan.bound(planned);
        all || bound.is_some_and(|bound| embeds(&mut bound.all()))
    };
    plan.leave_methods(reason, leaves, describe)?;
    let left = plan.calls.iter().filter(|call| {
        let redirect = &plan.redirects[call.redirect as usize];
        all || embeds(&mut redirect.calls())
    });
    let left: Vec<_> = LeftCall::all(left.copied(), reason).collect();
    plan.leave_calls(&left, describe)
}

/// Leaves what would name the class in a descriptor, where that means another class: its bytes are defined hidden.
fn leave_hidden(cx: &Context<'_>, class: &jvm::Class<'_>, plan: &mut Plan) -> Result<()> {
    let name = class.name();
    if !cx.hierarchy.defined_hidden.contains(&*name) {
        return Ok(());
    }
    let own = Ty::class(&name);
    let reason = Reason::DefinedHidden;
    let describe = |_, index| class.describe(index);
    let names = |call: &Call| {
        call.hook.parameters.contains(&own) || call.hook.links.iter().any(|link| link.owner == own)
    };
    let leaves = |plan: &Plan, planned: &Planned| {
        let bound = plan.bound(planned);
        bound.is_some_and(|bound| bound.around.is_some() || bound.all().any(names))
    };
    plan.leave_methods(reason, leaves, describe)?;
    let left = plan.calls.iter().filter(|call| {
        let redirect = &plan.redirects[call.redirect as usize];
        let callee = &redirect.callee;
        callee.result == own || callee.taken().contains(&own) || redirect.calls().any(names)
    });
    let left: Vec<_> = LeftCall::all(left.copied(), reason).collect();
    plan.leave_calls(&left, describe)
}
