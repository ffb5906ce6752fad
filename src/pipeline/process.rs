//! One class, on any thread: prefilter, scan, match, weave.

use crate::aspect::advice::Advice;
use crate::aspect::plan::{Planned, Planner, Skipped};
use crate::aspect::pointcut::{ArtifactMatcher, Hierarchy, Matcher};
use crate::aspect::woven::WovenType;
use crate::cil;
use crate::container::apk::identity::Identity;
use crate::container::zip::Codec;
use crate::error::Result;
use crate::jvm;
use crate::pipeline::ids::IdBase;
use crate::pipeline::layout::Layout;
use std::cell::RefCell;

/// What an artifact runs on, as far as hooks differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    /// A JVM.
    Java,
    /// Android, with its own trace.
    Android,
    /// .NET.
    DotNet,
}

/// What every step of a job needs and none changes.
#[derive(Clone, Copy)]
pub(crate) struct Context<'j> {
    pub(crate) matcher: &'j Matcher,
    pub(crate) hierarchy: &'j Hierarchy,
    pub(crate) id_base: IdBase,
    /// Where the classes run: on Android, if they lie in an aar.
    pub(crate) classes_on: Platform,
    /// Collect what is skipped, too.
    pub(crate) explain: bool,
    /// Nothing is written: leave out what costs only for the output.
    pub(crate) dry: bool,
    pub(crate) runtime: bool,
    /// Who signs the output anew: that old signatures go is then no news.
    pub(crate) identity: Option<&'j Identity>,
}

impl Context<'_> {
    /// The same for what lies in an archive or folder of this layout.
    pub(crate) fn inside(&self, layout: Layout) -> Self {
        let mut inside = *self;
        if layout == Layout::Aar {
            inside.classes_on = Platform::Android;
        }
        inside
    }
}

/// Largest class that is read. Real ones stay far below, and a member that claims more would only cost memory.
pub(crate) const MAX_CLASS: u64 = 64 << 20;

/// A type that the rules have something to say about.
#[derive(Default)]
pub(crate) struct Touched {
    /// What was woven, and which methods were meant but are left as they were.
    pub(crate) woven: WovenType,
    /// The advice of each woven method; only when explaining.
    pub(crate) advice: Vec<Advice>,
}

/// A class file that the rules have something to say about.
pub(crate) struct TouchedClass {
    /// The new class file, if anything was woven.
    pub(crate) bytes: Option<Vec<u8>>,
    /// It may call the hook library: sections of Android's trace alone do not.
    pub(crate) needs_library: bool,
    pub(crate) ty: Touched,
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

/// Buffers that a thread uses for one class after the other.
pub(crate) struct Worker {
    pub(crate) codec: Codec,
    pub(crate) scratch: jvm::Scratch,
    pub(crate) cil_scratch: cil::Scratch,
    pub(crate) bytes: Vec<u8>,
}

thread_local! {
    static WORKER: RefCell<Worker> = RefCell::new(Worker {
        codec: Codec::new(),
        scratch: jvm::Scratch::default(),
        cil_scratch: cil::Scratch::default(),
        bytes: Vec::new(),
    });
}

/// Largest read buffer that a thread keeps.
const KEEP_BUFFER: usize = 4 << 20;

/// Runs with this thread's buffers. Must not be nested, nor wait for other threads' work.
pub(crate) fn with_worker<R>(f: impl FnOnce(&mut Worker) -> R) -> R {
    WORKER.with_borrow_mut(|worker| {
        let result = f(worker);
        if worker.bytes.capacity() > KEEP_BUFFER {
            worker.bytes = Vec::new();
        }
        result
    })
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
    let mut planner = Planner::new(matcher, &base_of, cx.explain);
    if cx.classes_on == Platform::Android {
        planner = planner.on_android();
    }
    jvm::scan(&class, &mut planner)?;
    let plan = planner.plan;
    if plan.methods.is_empty() {
        if plan.skipped.is_empty() {
            return Ok(None);
        }
        let unwoven = WovenType::new(0, &class.name(), "", 0);
        let ty = Touched::new(unwoven, plan.skipped);
        return Ok(Some(TouchedClass {
            bytes: None,
            needs_library: false,
            ty,
        }));
    }
    let woven = jvm::weave(&class, &plan, scratch)?;
    let mut ty = Touched::new(woven.ty, plan.skipped);
    if cx.explain {
        ty.explain(&plan.methods);
    }
    let calls = |p: &Planned| p.advice.only(Advice::ALL) != Advice::default();
    Ok(Some(TouchedClass {
        needs_library: woven.bytes.is_some() && plan.methods.iter().any(calls),
        bytes: woven.bytes,
        ty,
    }))
}
