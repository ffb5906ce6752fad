//! One class, on any thread: prefilter, scan, match, weave.

use crate::aspect::advice::Advice;
use crate::aspect::plan::{Planned, Planner, Skipped};
use crate::aspect::pointcut::{ArtifactMatcher, Hierarchy, Matcher};
use crate::aspect::woven::WovenType;
use crate::container::zip::Codec;
use crate::error::Result;
use crate::jvm;
use crate::pipeline::ids::IdBase;
use std::cell::RefCell;

/// What every step of a job needs and none changes.
pub(crate) struct Context<'j> {
    pub(crate) matcher: &'j Matcher,
    pub(crate) hierarchy: &'j Hierarchy,
    pub(crate) id_base: IdBase,
    /// Collect what is skipped, too.
    pub(crate) explain: bool,
    /// Nothing is written: leave out what costs only for the output.
    pub(crate) dry: bool,
    pub(crate) runtime: bool,
}

/// Largest class that is read. Real ones stay far below, and a member that claims more would only cost memory.
pub(crate) const MAX_CLASS: u64 = 64 << 20;

/// A type that the rules have something to say about. All its names are in one string: of
/// 200,000 methods none should cost an allocation.
#[derive(Default)]
pub(crate) struct Touched {
    text: String,
    type_name: usize,
    file: usize,
    methods: Vec<MethodEntry>,
    /// Methods that were meant but are left as they were.
    pub(crate) left: Vec<Skipped>,
    /// The advice of each woven method; only when explaining.
    pub(crate) advice: Vec<Advice>,
}

struct MethodEntry {
    id: u32,
    line: u32,
    start: u32,
    name: u32,
    descriptor: u32,
}

/// A class file that the rules have something to say about.
pub(crate) struct TouchedClass {
    /// The new class file, if anything was woven.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) ty: Touched,
}

/// A woven method of a [`Touched`] type.
pub(crate) struct WovenMethod<'t> {
    pub(crate) id: u32,
    pub(crate) line: u32,
    pub(crate) name: &'t str,
    pub(crate) descriptor: &'t str,
}

impl Touched {
    pub(crate) fn new(ty: WovenType<'_>, skipped: Vec<Skipped>) -> Touched {
        let mut text = String::with_capacity(64 + ty.methods.len() * 48);
        text.push_str(&ty.name);
        text.push_str(&ty.file);
        let mut methods = Vec::with_capacity(ty.methods.len());
        for m in &ty.methods {
            let start = text.len() as u32;
            text.push_str(&m.name);
            let name = text.len() as u32 - start;
            text.push_str(&m.descriptor);
            let descriptor = text.len() as u32 - start - name;
            methods.push(MethodEntry {
                id: m.id,
                line: m.line,
                start,
                name,
                descriptor,
            });
        }
        let mut left = ty.left;
        left.extend(skipped);
        Touched {
            type_name: ty.name.len(),
            file: ty.file.len(),
            text,
            methods,
            left,
            advice: Vec::new(),
        }
    }

    /// Notes which advice each method got.
    pub(crate) fn explain(&mut self, planned: &[Planned]) {
        let mut planned = planned.iter();
        let advice = self.methods.iter().map(|method| {
            let same = planned.find(|p| p.id == method.id);
            same.map_or(Advice::ALL, |p| p.advice)
        });
        self.advice = advice.collect();
    }

    /// Full name in its format's spelling.
    pub(crate) fn type_name(&self) -> &str {
        &self.text[..self.type_name]
    }

    /// Source file name, or empty.
    pub(crate) fn file(&self) -> &str {
        &self.text[self.type_name..self.type_name + self.file]
    }

    /// The methods that got hooks.
    pub(crate) fn methods(&self) -> impl ExactSizeIterator<Item = WovenMethod<'_>> {
        self.methods.iter().map(|m| {
            let (start, name) = (m.start as usize, m.name as usize);
            let end = start + name + m.descriptor as usize;
            WovenMethod {
                id: m.id,
                line: m.line,
                name: &self.text[start..start + name],
                descriptor: &self.text[start + name..end],
            }
        })
    }
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
    jvm::scan(&class, &mut planner)?;
    let plan = planner.plan;
    if plan.methods.is_empty() {
        if plan.skipped.is_empty() {
            return Ok(None);
        }
        let unwoven = WovenType {
            name: class.name(),
            ..WovenType::default()
        };
        let ty = Touched::new(unwoven, plan.skipped);
        return Ok(Some(TouchedClass { bytes: None, ty }));
    }
    let woven = jvm::weave(&class, &plan, scratch)?;
    let mut ty = Touched::new(woven.ty, plan.skipped);
    if cx.explain {
        ty.explain(&plan.methods);
    }
    Ok(Some(TouchedClass {
        bytes: woven.bytes,
        ty,
    }))
}
