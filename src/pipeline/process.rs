//! One class, on any thread: prefilter, scan, match, weave.

use crate::aspect::plan::{IdOf, Planner, Skipped};
use crate::aspect::pointcut::{ArtifactMatcher, Hierarchy, Matcher};
use crate::container::zip::Codec;
use crate::error::Result;
use crate::jvm;
use crate::aspect::plan::Advice;
use std::cell::RefCell;

/// What every step of a job needs and none changes.
pub(crate) struct Context<'j> {
    pub(crate) matcher: &'j Matcher,
    pub(crate) hierarchy: &'j Hierarchy,
    pub(crate) id_of: IdOf<'j>,
    /// Collect what is skipped, too.
    pub(crate) explain: bool,
    /// Nothing is written: leave out what costs only for the output.
    pub(crate) dry: bool,
    pub(crate) runtime: bool,
}

/// Largest class that is read. Real ones stay far below, and a member that claims more would only cost memory.
pub(crate) const MAX_CLASS: u64 = 64 << 20;

/// A class that the rules have something to say about.
pub(crate) struct Touched {
    pub(crate) woven: jvm::Woven,
    /// Methods that the rules matched but left out; only when explaining.
    pub(crate) skipped: Vec<Skipped>,
    /// The advice of each woven method; only when explaining.
    pub(crate) advice: Vec<Advice>,
}

/// Buffers that a thread uses for one class after the other.
pub(crate) struct Worker {
    pub(crate) codec: Codec,
    pub(crate) scratch: jvm::Scratch,
    pub(crate) bytes: Vec<u8>,
}

thread_local! {
    static WORKER: RefCell<Worker> = RefCell::new(Worker {
        codec: Codec::new(),
        scratch: jvm::Scratch::default(),
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

/// Weaves a class. `None`: no rule has anything to say about it. `moved` gives other ids to methods,
/// as pairs (id that the plan will have, id to have) in the order of the methods.
pub(crate) fn weave_class(
    cx: &Context<'_>,
    matcher: &ArtifactMatcher<'_>,
    bytes: &[u8],
    scratch: &mut jvm::Scratch,
    moved: &[(u32, u32)],
) -> Result<Option<Touched>> {
    if !matcher.bytes_may_match(bytes) {
        return Ok(None);
    }
    let class = jvm::Class::parse(bytes)?;
    if class.is_module() {
        return Ok(None);
    }
    let mut planner = Planner::new(matcher, cx.id_of, cx.explain);
    jvm::scan(&class, &mut planner)?;
    let mut plan = planner.plan;
    if plan.methods.is_empty() {
        if plan.skipped.is_empty() {
            return Ok(None);
        }
        return Ok(Some(Touched {
            woven: jvm::Woven {
                bytes: None,
                type_name: class.name().into_owned(),
                file: String::new(),
                methods: Vec::new(),
                left: Vec::new(),
            },
            skipped: plan.skipped,
            advice: Vec::new(),
        }));
    }
    let mut moved = moved.iter().peekable();
    for planned in &mut plan.methods {
        if let Some((_, to)) = moved.next_if(|(from, _)| *from == planned.id) {
            planned.id = *to;
        }
    }
    let woven = jvm::weave(&class, &plan, scratch)?;
    let mut advice = Vec::new();
    if cx.explain {
        let mut planned = plan.methods.iter();
        advice.extend(woven.methods.iter().map(|method| {
            planned
                .find(|p| p.id == method.id)
                .map_or(Advice::ALL, |p| p.advice)
        }));
    }
    Ok(Some(Touched {
        woven,
        skipped: plan.skipped,
        advice,
    }))
}
