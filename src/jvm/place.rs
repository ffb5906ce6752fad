//! What is put in front of points and behind them.
//!
//! ```text
//!     [spill; reload]; arguments; invokestatic; point; arguments; invokestatic
//! ```
//!
//! The operands of a point are on the stack. If hooks need more of them than the top, they go to new local variables
//! and back. No branch leads in between, so these are in no frame.

use crate::aspect::advice::Reason;
use crate::aspect::bind::made;
use crate::aspect::bind::site::{Passed, Placed, Redirect, Where};
use crate::aspect::bind::ty::Language;
use crate::aspect::joinpoint::LineStart;
use crate::aspect::plan::Redirected;
use crate::aspect::point::PointKind;
use crate::bytes::modified_utf8;
use crate::edit::ByPc;
use crate::error::Result;
use crate::jvm::class::{Class, Code, MethodInfo, flag};
use crate::jvm::emit::{self, Kind, Snippet};
use crate::jvm::frames::FullFrame;
use crate::jvm::insn::{self, op};
use crate::jvm::points;
use crate::jvm::pool::{Additions, tag};
use crate::jvm::scan::signature_of;
use std::cell::OnceCell;

/// How many constants these calls in one method add at most: those of each method that is called, and of its class; three names; and
/// lines that no instruction holds.
pub fn constants_needed(calls: &[(Redirected, &Redirect)]) -> usize {
    let mut called: Vec<u32> = calls.iter().map(|(call, _)| call.redirect).collect();
    called.sort_unstable();
    called.dedup();
    let takes_line = |redirect: &Redirect| {
        let passed = redirect
            .placed()
            .into_iter()
            .flat_map(|placed| &placed.passed);
        passed.into_iter().any(|passed| *passed == Passed::Line)
    };
    let lines = calls.iter().filter(|(_, redirect)| takes_line(redirect));
    6 * called.len() + 6 + lines.count()
}

/// What a method gets at calls and points.
#[derive(Default)]
pub struct Edits {
    /// What replaces instructions.
    pub instead: Vec<Instead>,
    /// What is inserted, by the instructions in front of which it goes.
    pub at: ByPc<Insertion>,
    /// How many local variables there are more.
    pub locals: u16,
    /// Where branches in it meet; none where classes have no frames.
    pub joins: Vec<Join>,
}

/// What replaces instructions, as long as they are; `nop`s fill it up.
pub struct Instead {
    pub at: u32,
    pub len: u32,
    pub opcode: u8,
    pub constant: u16,
}

/// A place in inserted code that has a frame.
pub struct Join {
    /// The instruction in front of which it lies, and how far behind the start of [`Insertion::before`].
    pub at: u32,
    pub offset: u32,
    pub frame: FullFrame,
}

/// What goes in front of an instruction.
#[derive(Default)]
pub struct Insertion {
    /// What the point above has behind it: branches to the instruction do not run it.
    pub behind: Snippet,
    /// What runs however the instruction is reached.
    pub before: Snippet,
    /// Exceptions of `behind` are caught where those of the instruction are: it holds a lock.
    pub is_held: bool,
}

impl Join {
    /// Its frame, at the instruction.
    pub fn frame(&self) -> FullFrame {
        FullFrame {
            pc: self.at,
            ..self.frame.clone()
        }
    }
}

impl Edits {
    /// Replaces instructions of a method's new code; `moved` tells where one is.
    pub fn patch(&self, code: &mut [u8], moved: impl Fn(u32) -> u32) {
        for one in &self.instead {
            let code = &mut code[moved(one.at) as usize..][..one.len as usize];
            code.fill(op::NOP);
            code[0] = one.opcode;
            code[1..3].copy_from_slice(&one.constant.to_be_bytes());
        }
    }

    /// How long that is which branches to an instruction do not run.
    pub fn behind(&self, pc: u32) -> u32 {
        self.at.get(pc).map_or(0, |one| one.behind.len())
    }

    /// How many more words the stack has at most.
    pub fn deepest(&self) -> u32 {
        let each = |(_, one): (u32, &Insertion)| one.behind.deepest().max(one.before.deepest());
        self.at.iter().map(each).max().unwrap_or_default()
    }
}

/// A method that gets something at its points.
pub struct Method<'m, 'a> {
    class: &'m Class<'a>,
    method: &'m MethodInfo,
    code: Code<'a>,
    lines: Vec<LineStart>,
    with_this: OnceCell<points::FramesWithThis>,
}

impl<'m, 'a> Method<'m, 'a> {
    pub fn new(class: &'m Class<'a>, method: &'m MethodInfo, code: Code<'a>) -> Result<Self> {
        Ok(Method {
            class,
            method,
            code,
            lines: points::lines(class, &code)?,
            with_this: OnceCell::new(),
        })
    }

    /// Why one of these cannot be called where it is planned.
    pub fn refuses(&self, call: Redirected, placed: &Placed) -> Result<Option<Reason>> {
        let insn = insn::at(self.code.insns, call.at)?;
        if placed.when == Where::After && (call.at + insn.len) as usize >= self.code.insns.len() {
            return Ok(Some(Reason::Unsupported));
        }
        if !placed.passed.contains(&Passed::This) || self.method.access & flag::STATIC != 0 {
            return Ok(None);
        }
        if points::overwrites_this(self.method, &self.code)? {
            return Ok(Some(Reason::Unsupported));
        }
        if !self.frames_with_this()?.at(call.at) {
            return Ok(Some(Reason::Unsupported));
        }
        Ok(
            match points::initialisation(self.class, self.method, &self.code)? {
                Err(reason) => Some(reason),
                Ok(Some(known)) if !known.is_initialised(call.at) => Some(Reason::Uninitialised),
                Ok(_) => None,
            },
        )
    }

    fn frames_with_this(&self) -> Result<&points::FramesWithThis> {
        if let Some(known) = self.with_this.get() {
            return Ok(known);
        }
        let known = points::frames_with_this(self.class, self.method, &self.code)?;
        Ok(self.with_this.get_or_init(|| known))
    }

    /// Adds what is put around its points.
    pub fn put(
        &self,
        calls: &[(Redirected, &Redirect)],
        additions: &mut Additions,
        all: &mut Edits,
    ) -> Result<()> {
        for same in calls.chunk_by(|a, b| a.0.at == b.0.at) {
            let at = same[0].0.at;
            let mut before = Snippet::default();
            let mut behind = Snippet::default();
            let mut saved = Saved {
                base: self.code.max_locals,
                kinds: vec![],
                from: usize::MAX,
                words: 0,
            };
            let mut is_held = false;
            let mut replacing = None;
            for (_, redirect) in same {
                let Some(placed) = redirect.placed() else {
                    continue;
                };
                saved.of(placed);
                let constant = match placed.when {
                    Where::Replace => 0,
                    _ => called(self.class, redirect, additions),
                };
                match placed.when {
                    Where::Replace => replacing = Some(placed),
                    Where::Before => {
                        let only_top = saved.is_top(placed);
                        if only_top {
                            saved.dup(&mut before);
                        } else {
                            saved.save(placed, &mut before);
                            saved.load(placed, &mut before);
                        }
                        self.call(at, placed, constant, &mut before, additions);
                    }
                    Where::After => {
                        saved.save(placed, &mut before);
                        is_held |= placed.point.kind == PointKind::MonitorEnter;
                        self.behind(at, (placed, constant), &saved, &mut behind, additions);
                        let result = emit::words(&placed.point.result);
                        all.locals = all.locals.max((saved.words + result) as u16);
                    }
                }
            }
            if let Some(placed) = replacing {
                self.more(at, placed, &mut before, additions);
            }
            all.locals = all.locals.max(saved.words as u16);
            match behind.is_empty() {
                true => saved.forget(&mut before),
                false => saved.forget(&mut behind),
            }
            let len = insn::at(self.code.insns, at)?.len;
            if !before.is_empty() {
                all.at.entry(at).before.append(&before);
            }
            if !behind.is_empty() {
                let next = all.at.entry(at + len);
                next.behind.append(&behind);
                next.is_held = is_held;
            }
        }
        Ok(())
    }

    /// Behind a point: its result stays where it is.
    fn behind(
        &self,
        at: u32,
        (placed, constant): (&Placed, u16),
        saved: &Saved,
        out: &mut Snippet,
        additions: &mut Additions,
    ) {
        let result = Kind::of(&placed.point.result);
        let takes_result = placed.passed.contains(&Passed::Result);
        let takes_more = placed.passed.iter().any(|p| matches!(p, Passed::Stack(_)));
        match result.filter(|_| takes_result) {
            None => {
                saved.load(placed, out);
                self.call(at, placed, constant, out, additions);
            }
            Some(kind) if !takes_more => {
                dup(kind, out);
                self.call(at, placed, constant, out, additions);
            }
            Some(kind) => {
                let slot = saved.base + saved.words as u16;
                out.store(kind, slot);
                saved.load(placed, out);
                out.load(kind, slot);
                self.call(at, placed, constant, out, additions);
                out.load(kind, slot);
                if kind == Kind::REFERENCE {
                    out.forget(slot);
                }
            }
        }
    }

    /// The call, where what the point takes and gives is on the stack.
    fn call(
        &self,
        at: u32,
        placed: &Placed,
        constant: u16,
        out: &mut Snippet,
        additions: &mut Additions,
    ) {
        self.more(at, placed, out, additions);
        let words = (placed.passed.iter()).map(|passed| match passed {
            Passed::Stack(n) => emit::words(&placed.point.takes[usize::from(*n)]),
            Passed::Result => emit::words(&placed.point.result),
            _ => 1,
        });
        out.call(constant, words.sum(), 0);
    }

    /// What is passed that is not of the point.
    fn more(&self, at: u32, placed: &Placed, out: &mut Snippet, additions: &mut Additions) {
        for passed in &placed.passed {
            let text = match passed {
                Passed::Stack(_) | Passed::Result => continue,
                Passed::This => {
                    out.load(Kind::REFERENCE, 0);
                    continue;
                }
                Passed::Line => {
                    let line = LineStart::line_at(&self.lines, at);
                    out.int(line as i32, additions);
                    continue;
                }
                Passed::Type => self.class.name().replace('/', "."),
                Passed::Method => {
                    let name = self.class.pool.text(self.method.name);
                    name.map_or(String::new(), |name| name.into_owned())
                }
                Passed::Signature => self.signature(),
            };
            out.string(&text, additions);
        }
    }

    fn signature(&self) -> String {
        let signature = signature_of(self.class, self.method);
        let parameters = signature.map_or(vec![], |signature| {
            let types = signature.parameters.iter();
            types.map(|p| p.ty.shown(Language::Java)).collect()
        });
        format!("({})", parameters.join(", "))
    }
}

/// What of a point's values lies in local variables, too.
struct Saved {
    /// The first of these variables.
    base: u16,
    kinds: Vec<Kind>,
    /// The values from here on.
    from: usize,
    words: u32,
}

impl Saved {
    /// All calls at one point that need its values are of one kind of point.
    fn of(&mut self, placed: &Placed) {
        let takes = placed.point.takes.iter();
        if self.from == usize::MAX {
            self.kinds = takes.filter_map(Kind::of).collect();
        }
    }

    fn is_top(&self, placed: &Placed) -> bool {
        placed.values().eq([self.kinds.len().wrapping_sub(1)]) && self.from == usize::MAX
    }

    fn dup(&self, out: &mut Snippet) {
        if let Some(kind) = self.kinds.last() {
            dup(*kind, out);
        }
    }

    fn slot(&self, n: usize) -> u16 {
        let words = self.kinds[..n].iter().map(|kind| kind.words() as u16);
        self.base + words.sum::<u16>()
    }

    /// Keeps what a call needs.
    fn save(&mut self, placed: &Placed, out: &mut Snippet) {
        let Some(from) = placed.values_to_keep(self.from) else {
            return;
        };
        for n in (from..self.kinds.len()).rev() {
            out.store(self.kinds[n], self.slot(n));
        }
        for n in from..self.kinds.len() {
            out.load(self.kinds[n], self.slot(n));
        }
        self.from = from;
        self.words = self.kinds.iter().map(|kind| kind.words()).sum();
    }

    /// The variables hold these values no longer than the stack does.
    fn forget(&self, out: &mut Snippet) {
        for n in self.from..self.kinds.len() {
            if self.kinds[n] == Kind::REFERENCE {
                out.forget(self.slot(n));
            }
        }
    }

    fn load(&self, placed: &Placed, out: &mut Snippet) {
        for n in placed.values() {
            out.load(self.kinds[n], self.slot(n));
        }
    }
}

fn dup(kind: Kind, out: &mut Snippet) {
    match kind.words() {
        1 => out.op(op::DUP, 1, 2),
        _ => out.op(op::DUP2, 2, 4),
    }
}

/// The name of the class that looks whether an exception is what a hook is about.
pub fn test_class(redirect: &Redirect) -> Option<String> {
    Some(made::looks(redirect)?.class)
}

/// The constant of what is called at a point that a hook does not replace.
fn called(class: &Class<'_>, redirect: &Redirect, additions: &mut Additions) -> u16 {
    let (owner, takes) = match (made::looks(redirect), redirect.class()) {
        (Some(looks), _) => (modified_utf8(&looks.class), looks.made.takes),
        (None, own) => (
            own.map_or_else(Vec::new, |own| modified_utf8(own)),
            redirect.callee.taken(),
        ),
    };
    let descriptor = emit::descriptor(&takes, &redirect.callee.result);
    let owner = additions.class(&class.pool, &owner);
    additions.shared_method(tag::METHODREF, owner, b"call", &descriptor)
}
