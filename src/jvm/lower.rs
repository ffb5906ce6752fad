//! From advice to instructions: one method's Code attribute with hooks.
//!
//! ```text
//!     ldc id; invokestatic enter                      at the start (constructors: behind super())
//!     ...                                             the method's own code
//!     ldc id; invokestatic exit; xreturn              before each return
//!     dup; ldc id; invokestatic error; athrow         a catch-all handler at the end
//! ```
//!
//! One range protects everything behind the enter hook, exit hooks included: if the call of an exit hook exhausts the
//! stack, the handler still reports the method's end. The handler comes last in the table, below the method's own.
//!
//! A section of Android's trace lies within the hooks: it begins behind enter, and ends in front of exit and error. Own
//! hooks ([`own`]) lie outside of them: in front of enter, and behind exit and error.

mod branches;
mod constants;
mod own;

pub use constants::{Constants, MAX_ADDITIONS, constants};

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::Attempt;
use crate::aspect::bind::call::{Bound, Call, Proceed};
use crate::aspect::bind::site::Replacement;
use crate::aspect::bind::ty::Ty;
use crate::aspect::plan::Planned;
use crate::edit::{Layout, Place};
use crate::error::{Error, Result};
use crate::jvm::android_trace;
use crate::jvm::attributes::{first_line, put_lines, put_type_annotations, put_variables};
use crate::jvm::class::{Class, Code, MethodInfo, attributes, flag};
use crate::jvm::constructor::{self, Initialisation};
use crate::jvm::emit::Snippet;
use crate::jvm::frames::{self, FullFrame, HandlerFrame, HandlerLocals, VerificationType};
use crate::jvm::insn::{self, Form, Insn, op};
use crate::jvm::parameters::{self, Kept, Parameter};
use crate::jvm::place::{Edits, Join};
use crate::jvm::pool::{Additions, Known, tag};
use crate::jvm::signature::{method_words, return_type};
use crate::jvm::stores::stores_keep;
use branches::{
    Branch, Island, Reach, patch_branches, put_islands, put_spelt_frames, put_wide_branch,
};
pub use own::Maker;
use own::{Facts, Own, Put};

/// Largest code (JVMS 4.7.3).
pub const MAX_CODE: u32 = 65_535;

/// Most entries of an exception table (JVMS 4.7.3).
const MAX_TRIES: usize = 65_535;

/// Most constants for the types of a method's parameters: a name and a class for each of at most 255
/// (JVMS 4.3.3).
const MAX_PARAMETER_CONSTANTS: u16 = 2 * 255;

/// Reusable memory.
#[derive(Default)]
pub struct Scratch {
    layout: Layout,
    branches: Vec<Branch>,
    switches: Vec<Insn>,
    returns: Vec<u32>,
    islands: Vec<Island>,
    /// Islands that control reaches from above begin with a `goto` around them.
    bypassed: Vec<u32>,
    /// The method's frames, spelt out once the first island is needed, or where they list what is kept for own hooks.
    frames: Vec<FullFrame>,
    /// Those of inserted code in front of the method's own, by new pcs.
    joins: Vec<FullFrame>,
    snippets: Snippets,
}

/// What is inserted.
#[derive(Default)]
struct Snippets {
    /// At the start of a constructor, in front of its call of another one.
    early: Snippet,
    /// At the start.
    enter: Snippet,
    /// Before each return.
    exit: Snippet,
    /// How much of that is not own hooks.
    exit_pair: u32,
    /// The handler's code; empty for none.
    handler: Snippet,
    /// Where hooks at the start that leave the body out go on, from the first instruction on.
    joins: Vec<u32>,
    /// What else is caught in the handler: from, to, and where; from its first instruction on.
    caught: Vec<[u32; 3]>,
}

/// Facts of a body besides the lists in [`Scratch`].
struct Walked {
    /// No instruction stores into a parameter's variable.
    keeps_parameters: bool,
    /// Some branch leads to pc 0.
    loops_to_start: bool,
}

/// Attributes of Code that are needed before it is written.
#[derive(Clone, Copy, Default)]
struct Tables<'a> {
    stack_map: &'a [u8],
    has_stack_map: bool,
}

/// One method and its hooks.
struct Lowering<'j, 'a> {
    class: &'j Class<'a>,
    method: &'j MethodInfo,
    code: Code<'a>,
    tables: Tables<'a>,
    descriptor: &'a [u8],
    is_constructor: bool,
    constants: Constants,
    id: u32,
    advice: Advice,
    bound: Option<&'j Bound>,
    edits: &'j Edits,
    /// It gets hooks, not these edits alone.
    is_hooked: bool,
}

/// What is known of a body before anything is inserted.
struct Body<'b, 'a> {
    walked: Walked,
    /// A constructor's.
    initialisation: Option<&'b Initialisation>,
    /// `this`, where there is one, and the parameters.
    parameters: &'b [Parameter<'a>],
    own: Option<&'b Own<'b>>,
}

/// What a method gets.
pub struct Wanted<'w> {
    /// Its hooks, if it has some.
    pub planned: Option<&'w Planned>,
    /// Its own hooks.
    pub bound: Option<&'w Bound>,
    pub constants: Constants,
    /// What it gets at calls and points.
    pub edits: &'w Edits,
}

/// Our handler in the new code.
struct Handler {
    pc: u32,
    /// The ranges that it protects.
    guards: Vec<(u32, u32)>,
    /// What is caught in it: from, to, and where.
    caught: Vec<[u32; 3]>,
    /// Its frames, which classes before version 50 have not (JVMS 4.10): where it begins, and where it catches.
    frames: Vec<HandlerFrame>,
}

impl Handler {
    /// Unreachable code in front of it.
    fn unreached(&self) -> &'static [u8] {
        (self.frames.first()).map_or(&[], |frame| frame.locals.unreached())
    }
}

/// Appends the woven Code attribute of a method, or says why it cannot be woven; then `out` is as it
/// was. Returns the first source line, or 0.
pub fn lower(
    class: &Class<'_>,
    method: &MethodInfo,
    wanted: &Wanted<'_>,
    additions: &mut Additions,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Attempt<u16> {
    let code = class.code(method)?.ok_or(Reason::NoBody)?;
    let advice = wanted.planned.map_or(Advice::default(), |p| p.advice);
    let section = match advice.has(Advice::SECTION) {
        true => Some(android_trace::name(class, method)?),
        false => None,
    };
    if let Some(section) = &section
        && android_trace::begins(class, code.insns, section)
            .map_err(|e| e.offset_by(code.offset))?
    {
        return Err(Reason::AlreadyWoven.into());
    }
    let (out_mark, additions_mark) = (out.len(), additions.mark());
    let lowering = Lowering {
        class,
        method,
        code,
        tables: tables(class, &code)?,
        descriptor: class.pool.utf8(method.descriptor)?,
        // At points nothing depends on that.
        is_constructor: wanted.planned.is_some() && class.pool.utf8(method.name)? == b"<init>",
        constants: wanted.constants.of(advice),
        id: wanted.planned.map_or(0, |planned| planned.id),
        advice: advice.as_pair(),
        bound: wanted.bound,
        edits: wanted.edits,
        is_hooked: wanted.planned.is_some(),
    };
    let outcome = lowering.run(section, additions, scratch, out);
    if outcome.is_err() {
        out.truncate(out_mark);
        additions.rollback(additions_mark);
    }
    outcome
}

/// How many constants a method of these own hooks adds at most, besides [`MAX_ADDITIONS`].
pub fn constants_needed(bound: Option<&Bound>) -> usize {
    bound.map_or(0, own::constants_needed)
}

/// Appends the call of a hook in place of a method, in the one method of a class, which has the same parameters; its result
/// is converted. Returns the method's number of variables.
pub fn put_replacement(
    class: &Class<'_>,
    replace: &Replacement,
    additions: &mut Additions,
    out: &mut Snippet,
) -> Attempt<u16> {
    let at_start = AtStart {
        class,
        method: &class.methods[0],
        id: 0,
        line: 0,
    };
    at_start.put(&[], additions, out, |own, put| {
        own.put_call(&replace.call, true, put)?;
        put.convert(&replace.result, replace.convert);
        Ok(())
    })
}

/// A method whose arguments are as they were at the start.
pub struct AtStart<'s, 'a> {
    pub class: &'s Class<'a>,
    pub method: &'s MethodInfo,
    pub id: u32,
    /// Its first source line, or 0.
    pub line: u16,
}

impl<'a> AtStart<'_, 'a> {
    /// Appends the call of a hook in place of the body, and the return of its result. Returns how many variables it takes.
    /// `proceeds`: see [`Put::proceeds`].
    pub fn put_around(
        &self,
        call: &Call,
        proceeds: &[(Proceed, Maker)],
        additions: &mut Additions,
        out: &mut Snippet,
    ) -> Attempt<u16> {
        let descriptor = self.class.pool.text(self.method.descriptor)?;
        let result = descriptor.rsplit_once(')').map_or("", |(_, result)| result);
        let (result, _) = Ty::of_descriptor(result).ok_or(Reason::Unsupported)?;
        self.put(proceeds, additions, out, |own, put| {
            own.put_around(call, &result, put)
        })
    }

    fn put(
        &self,
        proceeds: &[(Proceed, Maker)],
        additions: &mut Additions,
        out: &mut Snippet,
        code: impl FnOnce(&Own<'_>, &mut Put<'_, 'a>) -> Attempt<()>,
    ) -> Attempt<u16> {
        let is_static = self.method.access & flag::STATIC != 0;
        let descriptor = self.class.pool.utf8(self.method.descriptor)?;
        let parameters = parameters::parameters(self.class, descriptor, is_static)?;
        let bound = Bound::default();
        let facts = Facts {
            class: self.class,
            bound: &bound,
            is_static,
            max_locals: parameters.iter().map(|p| p.words() as u16).sum(),
            insns: &[],
            initialisation: None,
            parameters: &parameters,
            frames_keep: true,
            result: b'V',
        };
        let own = Own::new(&facts, additions)?;
        let mut put = Put {
            class: self.class,
            additions,
            out,
            id: self.id,
            line: self.line,
            proceeds,
        };
        code(&own, &mut put)?;
        Ok(own.max_locals)
    }
}

/// How many constants a call in place of a body adds at most.
pub fn constants_of_around(call: &Call) -> usize {
    own::of_call(call)
}

fn tables<'a>(class: &Class<'a>, code: &Code<'a>) -> Result<Tables<'a>> {
    let mut tables = Tables::default();
    attributes(class.bytes, code.attributes, |a| {
        if class.pool.which(a.name) == Some(Known::StackMapTable) {
            tables.stack_map = a.data;
            tables.has_stack_map = true;
        }
        Ok(())
    })?;
    Ok(tables)
}

impl<'a> Lowering<'_, 'a> {
    /// Builds what is inserted.
    fn build_snippets(
        &self,
        section: Option<Vec<u8>>,
        own: Option<&Own<'_>>,
        additions: &mut Additions,
        snippets: &mut Snippets,
    ) -> Attempt<()> {
        let Snippets {
            early,
            enter,
            exit,
            exit_pair,
            handler,
            joins,
            caught,
        } = snippets;
        joins.clear();
        caught.clear();
        for snippet in [&mut *early, &mut *enter, &mut *exit, &mut *handler] {
            snippet.clear();
        }
        let line = match own {
            Some(_) => first_line(self.class, &self.code)?,
            None => 0,
        };
        if let Some(own) = own {
            own.put_early(early);
            let into = &mut self.put_into(enter, line, additions);
            *joins = own.put(&own.schedule.start, true, into)?.joins;
        }
        let constants = self.constants;
        let advice = self.advice;
        if section.is_some() {
            exit.call(constants.end_section, 0, 0);
            handler.call(constants.end_section, 0, 0);
        }
        if let Some(own) = own {
            let (of_exit, of_exception) = (&own.schedule.exit[0], &own.schedule.exception[0]);
            own.put(of_exit, false, &mut self.put_into(exit, line, additions))?;
            let into = &mut self.put_into(handler, line, additions);
            own.put(of_exception, false, into)?;
        }
        if advice.only(Advice::LIBRARY) != Advice::default() {
            let id = match own {
                Some(_) => additions.shared(tag::INTEGER, &self.id.to_be_bytes()),
                None => additions.integer(self.id),
            };
            if advice.has(Advice::ENTER) {
                enter.ldc(id);
                enter.call(constants.enter, 1, 0);
            }
            if advice.has(Advice::COUNT) {
                enter.ldc(id);
                enter.call(constants.count, 1, 0);
            }
            if advice.has(Advice::EXIT) {
                exit.ldc(id);
                exit.call(constants.exit, 1, 0);
            }
            if advice.has(Advice::EXCEPTION) {
                handler.op(op::DUP, 1, 2);
                handler.ldc(id);
                handler.call(constants.error, 2, 0);
            }
        }
        if let Some(section) = section {
            let text = additions.utf8_bytes(&section);
            let name = additions.named(tag::STRING, text);
            enter.ldc(name);
            enter.call(constants.begin_section, 1, 0);
        }
        *exit_pair = exit.len();
        let mut has_ended = false;
        if let Some(own) = own {
            let (of_exit, of_exception) = (&own.schedule.exit[1], &own.schedule.exception[1]);
            own.put(of_exit, false, &mut self.put_into(exit, line, additions))?;
            let into = &mut self.put_into(handler, line, additions);
            let ways = own.put(of_exception, false, into)?;
            *caught = ways.goes_on;
            has_ended = ways.ends;
        }
        if !handler.is_empty() && !has_ended {
            handler.op(op::ATHROW, 1, 0);
        }
        Ok(())
    }

    fn put_into<'p>(
        &'p self,
        out: &'p mut Snippet,
        line: u16,
        additions: &'p mut Additions,
    ) -> Put<'p, 'a> {
        Put {
            class: self.class,
            additions,
            out,
            id: self.id,
            line,
            proceeds: &[],
        }
    }

    fn run(
        &self,
        section: Option<Vec<u8>>,
        additions: &mut Additions,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Attempt<u16> {
        let in_code = |e: Error| e.offset_by(self.code.offset);
        let is_static = self.method.access & flag::STATIC != 0;
        let (argument_words, _) = method_words(self.descriptor).ok_or(Reason::Unsupported)?;
        let parameter_words = argument_words + u32::from(!is_static);

        let walked = walk(self.code.insns, parameter_words, scratch).map_err(in_code)?;
        let initialisation = match self.is_constructor {
            true => Some(
                constructor::analyse(self.class, &self.code, self.tables.stack_map)
                    .map_err(|unwoven| unwoven.map_error(in_code))?,
            ),
            false => None,
        };
        let initialisation = initialisation.as_ref();
        let entries: &[u32] = initialisation.map_or(&[0], |i| &i.behind);
        let parameters = parameters::parameters(self.class, self.descriptor, is_static)?;
        let own = match self.bound {
            Some(bound) => {
                Some(self.own(bound, is_static, initialisation, &parameters, additions)?)
            }
            None => None,
        };
        let body = Body {
            walked,
            initialisation,
            parameters: &parameters,
            own: own.as_ref(),
        };
        self.build_snippets(section, body.own, additions, &mut scratch.snippets)?;
        self.place(entries, scratch);
        let adds_frames =
            !(scratch.snippets.joins.is_empty() && scratch.snippets.caught.is_empty());
        let lists = body.own.filter(|own| !own.kept.is_empty() || adds_frames);
        if (lists.is_some() || !self.edits.joins.is_empty()) && self.tables.has_stack_map {
            scratch.frames = self.expand_frames(&parameters, additions)?;
        }
        let mut met: Vec<FullFrame> = self.edits.joins.iter().map(Join::frame).collect();
        if let Some(own) = lists {
            own.list_all(&mut scratch.frames, initialisation)?;
            own.list_all(&mut met, initialisation)?;
        }
        if let Some(own) = body.own {
            self.join(own, &parameters, additions, scratch)?;
        }
        self.fit(entries, &parameters, additions, scratch)?;
        for (join, mut frame) in self.edits.joins.iter().zip(met) {
            frame.pc = scratch.layout.target(join.at) + join.offset;
            scratch.joins.push(frame);
        }
        let handler = match scratch.snippets.handler.len() {
            0 => None,
            _ => Some(self.handler(&body, scratch, additions)?),
        };
        // Between a call of another constructor and what lies behind it, hooks are of the call's line.
        let is_behind = (entries.iter()).any(|&pc| self.edits.behind(pc) > 0);
        let met_again = is_behind
            || match self.is_constructor {
                true => self.is_target(entries, scratch).map_err(in_code)?,
                false => body.walked.loops_to_start,
            };
        let early = if met_again { &[] } else { entries };
        self.put(&body, entries, early, handler.as_ref(), scratch, out)
    }

    /// Makes the frames of inserted code in front of the method's own: the parameters and what is kept.
    fn join(
        &self,
        own: &Own<'_>,
        parameters: &[Parameter<'a>],
        additions: &mut Additions,
        scratch: &mut Scratch,
    ) -> Attempt<()> {
        if self.class.major < 50 || scratch.snippets.joins.is_empty() {
            return Ok(());
        }
        let mut locals = self.listed(parameters, additions);
        own.list(&mut locals, own.kept.len())
            .ok_or(Reason::Unsupported)?;
        // The first instruction may have one already.
        let met = scratch.frames.first().is_some_and(|frame| frame.pc == 0);
        let end = scratch.snippets.enter.len();
        for &pc in &scratch.snippets.joins {
            if pc < end || !met {
                scratch.joins.push(FullFrame {
                    pc,
                    locals: locals.clone(),
                    stack: Vec::new(),
                });
            }
        }
        Ok(())
    }

    /// How many local variables the method has with those of its edits.
    fn max_locals(&self) -> Attempt<u16> {
        let all = self.code.max_locals.checked_add(self.edits.locals);
        Ok(all.ok_or(Reason::CodeTooLarge)?)
    }

    /// What the last frame lists behind the parameters; none where a frame does not list these.
    fn frames_keep(&self, parameters: &[Parameter<'a>]) -> Result<Option<Kept>> {
        let all = self.edits.joins.iter();
        if !all.map(|join| &join.frame).all(|f| lists(f, parameters)) {
            return Ok(None);
        }
        let stack_map = self.tables.stack_map;
        parameters::frames_keep(self.class, stack_map, parameters, self.is_constructor)
    }

    /// Gives the values of own hooks their places.
    fn own<'o>(
        &'o self,
        bound: &'o Bound,
        is_static: bool,
        initialisation: Option<&'o Initialisation>,
        parameters: &'o [Parameter<'a>],
        additions: &mut Additions,
    ) -> Attempt<Own<'o>> {
        let kept = self.frames_keep(parameters)?;
        let facts = Facts {
            class: self.class,
            bound,
            is_static,
            max_locals: self.max_locals()?,
            insns: self.code.insns,
            initialisation,
            parameters,
            frames_keep: kept.is_some(),
            result: return_type(self.descriptor)
                .first()
                .copied()
                .unwrap_or(b'V'),
        };
        let own = Own::new(&facts, additions)?;
        // Code that nothing reaches may call the other constructor without the hooks behind it.
        if own.kept.len() > own.early && initialisation.is_some_and(|i| i.has_dead_frames) {
            return Err(Reason::Unsupported.into());
        }
        Ok(own)
    }

    /// Places the handler behind the code, which is laid out.
    fn handler(
        &self,
        body: &Body<'_, 'a>,
        scratch: &Scratch,
        additions: &mut Additions,
    ) -> Attempt<Handler> {
        let layout = &scratch.layout;
        let end = layout.start(self.code.insns.len() as u32);
        let mut handler = Handler {
            pc: end,
            guards: match body.initialisation {
                None => vec![(layout.target(0), end)],
                Some(initialisation) => (initialisation.ranges.iter())
                    .map(|&(start, end)| (self.entered(layout, start), layout.start(end)))
                    .filter(|(start, end)| start < end)
                    .collect(),
            },
            caught: Vec::new(),
            frames: Vec::new(),
        };
        let frame = |pc, locals| HandlerFrame {
            pc,
            throwable: self.constants.throwable,
            locals,
        };
        if self.class.major >= 50 {
            let locals = self.handler_locals(body, scratch, additions)?;
            handler.pc += locals.unreached().len() as u32;
            handler.frames.push(frame(handler.pc, locals));
        }
        for caught in &scratch.snippets.caught {
            let caught = caught.map(|pc| handler.pc + pc);
            if let Some(first) = handler.frames.first() {
                let locals = first.locals.clone();
                handler.frames.push(frame(caught[2], locals));
            }
            handler.caught.push(caught);
        }
        Ok(handler)
    }

    /// Appends the attribute, unless it is too large. Returns the first source line, or 0. Lines at `early` begin in front of
    /// the hook.
    fn put(
        &self,
        body: &Body<'_, 'a>,
        entries: &[u32],
        early: &[u32],
        handler: Option<&Handler>,
        scratch: &Scratch,
        out: &mut Vec<u8>,
    ) -> Attempt<u16> {
        let end = scratch.layout.start(self.code.insns.len() as u32);
        let new_len = handler.map_or(end, |h| h.pc + scratch.snippets.handler.len());
        if new_len > MAX_CODE {
            return Err(Reason::CodeTooLarge.into());
        }
        let split = match body.own {
            Some(own) => self.split(own, entries, handler, scratch)?,
            None => None,
        };
        let tries = match &split {
            Some(split) => split.rows.len(),
            None => {
                let ours = handler.map_or(0, |h| h.guards.len() + h.caught.len());
                self.code.exceptions.len() / 8 + ours
            }
        };
        let max_stack = self.max_stack(body, handler, scratch);
        if tries > MAX_TRIES || max_stack > 65_535 {
            return Err(Reason::Unsupported.into());
        }
        let max_locals = match body.own {
            Some(own) => own.max_locals,
            None => self.max_locals()?,
        };
        let name = &self.class.bytes[start_of(self.method)..][..2];
        let attribute = begin_attribute(u16::from_be_bytes([name[0], name[1]]), out);
        out.extend_from_slice(&(max_stack as u16).to_be_bytes());
        out.extend_from_slice(&max_locals.to_be_bytes());
        out.extend_from_slice(&new_len.to_be_bytes());
        self.put_code(entries, scratch, out);
        out.extend_from_slice(handler.map_or(&[], Handler::unreached));
        if handler.is_some() {
            out.extend_from_slice(scratch.snippets.handler.bytes());
        }
        match &split {
            Some(split) => split.put(out),
            None => self.put_exceptions(&scratch.layout, handler, out),
        }
        let frames = handler.map_or(&[][..], |h| &h.frames);
        let line = self.put_attributes(scratch, frames, early, split.as_ref(), out)?;
        end_attribute(attribute, out);
        Ok(line)
    }

    fn max_stack(&self, body: &Body<'_, 'a>, handler: Option<&Handler>, scratch: &Scratch) -> u32 {
        let old = u32::from(self.code.max_stack) + self.edits.deepest();
        let Snippets {
            early,
            enter,
            exit,
            handler: handling,
            ..
        } = &scratch.snippets;
        if !self.is_hooked {
            return old;
        }
        if body.own.is_none() {
            // The exception, a copy of it, and the id.
            return (old + 1).max(if handler.is_some() { 3 } else { 0 });
        }
        // In front of a method's code the stack is empty; behind a call that had `this` it is not full.
        let at_entry = match self.is_constructor {
            true => old.saturating_sub(1),
            false => 0,
        };
        let handled = handler.map_or(0, |_| 1 + handling.deepest());
        (old + exit.deepest())
            .max(at_entry + enter.deepest())
            .max(early.deepest())
            .max(handled)
    }

    /// The exception table where hooks lie in ranges that must not protect them; `None` where there are none.
    ///
    /// What an exit hook throws reaches neither a handler of the method's own nor its exception hooks: that call is over. Nor does
    /// the pair's error hook run once the pair has its exit.
    fn split(
        &self,
        own: &Own<'_>,
        entries: &[u32],
        handler: Option<&Handler>,
        scratch: &Scratch,
    ) -> Attempt<Option<Split>> {
        const PAIR: Advice = Advice::EXIT.with(Advice::EXCEPTION);
        let layout = &scratch.layout;
        let throws = own.has_exit() && own.exit_may_throw();
        let is_over = throws || own.has_exit() && self.advice.has(PAIR);
        let enter_throws = self.is_constructor && own.enter_may_throw();
        if !(throws || is_over && handler.is_some() || enter_throws) {
            return Ok(None);
        }
        let others = scratch.snippets.exit.len() - scratch.snippets.exit_pair;
        let exits = |behind: u32| {
            let gap = move |&pc: &u32| {
                let end = match behind {
                    0 => layout.insn(pc),
                    _ => layout.start(pc + behind),
                };
                (layout.insn(pc) - others, end)
            };
            scratch.returns.iter().map(gap)
        };
        let mut theirs: Vec<(u32, u32)> = Vec::new();
        if throws {
            theirs.extend(exits(0));
        }
        if enter_throws {
            theirs.extend(
                entries
                    .iter()
                    .map(|&pc| (layout.start(pc), self.entered(layout, pc))),
            );
            theirs.sort_unstable();
        }
        let mut split = Split::default();
        for entry in self.code.exceptions.chunks_exact(8) {
            let field = |i: usize| u32::from(u16::from_be_bytes([entry[i], entry[i + 1]]));
            let range = (self.range_start(layout, field(0)), layout.start(field(2)));
            let handler = (layout.target(field(4)), field(6));
            split.add(range, &theirs, handler)?;
        }
        if let Some(handler) = handler {
            let ours: Vec<(u32, u32)> = if is_over { exits(1).collect() } else { vec![] };
            for &range in &handler.guards {
                split.add(range, &ours, (handler.pc, 0))?;
            }
            for &[from, to, pc] in &handler.caught {
                split.add((from, to), &[], (pc, 0))?;
            }
        }
        Ok(Some(split))
    }

    /// The locals of the handler's frame, in the shortest form: the parameters, where that is sound.
    fn handler_locals(
        &self,
        body: &Body<'_, 'a>,
        scratch: &Scratch,
        additions: &mut Additions,
    ) -> Attempt<HandlerLocals> {
        let (parameters, is_constructor) = (body.parameters, self.is_constructor);
        let stack_map = self.tables.stack_map;
        let kept = self.frames_keep(parameters)?;
        let is_sound = kept.is_some()
            && (body.walked.keeps_parameters
                || stores_keep(
                    self.class,
                    &self.code,
                    self.descriptor,
                    stack_map,
                    parameters,
                    is_constructor,
                )
                .map_err(|e| e.offset_by(self.code.offset))?);
        if let Some(own) = body.own
            && !(is_sound && own.kept.is_empty())
        {
            let is_listed = |n: usize| is_sound || kept.is_some() && own.is_untouched(n);
            return self.own_handler_locals(own, parameters, is_listed, additions);
        }
        let Some(kept) = kept.filter(|_| is_sound) else {
            return Ok(HandlerLocals::Listed(vec![]));
        };
        let short = kept.more == 0 || !parameters.is_empty();
        if short
            && kept.initialised
            && scratch.joins.is_empty()
            && scratch.snippets.caught.is_empty()
            && kept.more <= HandlerLocals::MAX_DROPPED
            && scratch.islands.is_empty()
        {
            return Ok(HandlerLocals::Last(kept.more));
        }
        if additions.room() < MAX_PARAMETER_CONSTANTS {
            return match body.own {
                None => Ok(HandlerLocals::Listed(vec![])),
                Some(_) => Err(Reason::PoolFull.into()),
            };
        }
        Ok(HandlerLocals::Listed(self.listed(parameters, additions)))
    }

    /// The same with what is kept for own hooks behind the parameters that can be listed.
    fn own_handler_locals(
        &self,
        own: &Own<'_>,
        parameters: &[Parameter<'a>],
        is_listed: impl Fn(usize) -> bool,
        additions: &mut Additions,
    ) -> Attempt<HandlerLocals> {
        if additions.room() < MAX_PARAMETER_CONSTANTS {
            return Err(Reason::PoolFull.into());
        }
        let mut locals: Vec<VerificationType> = Vec::new();
        for (n, parameter) in parameters.iter().enumerate() {
            if is_listed(n) {
                locals.push(own::parameter_type(parameter, self.class, additions));
            } else {
                let unknown = (frames::item::TOP, 0);
                locals.resize(locals.len() + parameter.words(), unknown);
            }
        }
        while own.kept.is_empty() && locals.last().is_some_and(|l| l.0 == frames::item::TOP) {
            locals.pop();
        }
        own.list(&mut locals, own.kept.len())
            .ok_or(Reason::Unsupported)?;
        Ok(HandlerLocals::Listed(locals))
    }

    /// Parameters as verification types.
    fn listed(
        &self,
        parameters: &[Parameter<'a>],
        additions: &mut Additions,
    ) -> Vec<frames::VerificationType> {
        parameters
            .iter()
            .map(|p| own::parameter_type(p, self.class, additions))
            .collect()
    }

    /// Whether a branch leads to one of these pcs: a breakpoint there must stop each time round, not only when the enter
    /// hook runs.
    fn is_target(&self, entries: &[u32], scratch: &Scratch) -> Result<bool> {
        let mut found = scratch.branches.iter().any(|b| entries.contains(&b.target));
        for switch in &scratch.switches {
            insn::switch_targets(self.code.insns, *switch, |target| {
                found |= entries.contains(&target);
            })?;
        }
        Ok(found)
    }

    /// Puts hooks and switches into the layout.
    fn place(&self, entries: &[u32], scratch: &mut Scratch) {
        scratch.layout.clear();
        scratch.islands.clear();
        scratch.bypassed.clear();
        scratch.frames.clear();
        scratch.joins.clear();
        let Snippets {
            early, enter, exit, ..
        } = &scratch.snippets;
        if !early.is_empty() {
            scratch.layout.insert(0, Place::Prologue, early.len());
        }
        if !enter.is_empty() {
            for &pc in entries {
                scratch.layout.insert(pc, Place::Prologue, enter.len());
            }
        }
        if !exit.is_empty() {
            for &pc in &scratch.returns {
                scratch.layout.insert(pc, Place::Before, exit.len());
            }
        }
        for (pc, one) in self.edits.at.iter() {
            for (place, snippet) in [(Place::Prologue, &one.behind), (Place::Before, &one.before)] {
                if !snippet.is_empty() {
                    scratch.layout.insert(pc, place, snippet.len());
                }
            }
        }
        for switch in &scratch.switches {
            scratch.layout.movable(switch.pc);
        }
    }

    /// Appends the new code, without the handler.
    fn put_code(&self, entries: &[u32], scratch: &Scratch, out: &mut Vec<u8>) {
        let layout = &scratch.layout;
        let old = self.code.insns;
        let base = out.len();
        let mut copied = 0usize;
        let mut switches = scratch.switches.iter().peekable();
        for change in layout.changes() {
            let pc = change.pc as usize;
            out.extend_from_slice(&old[copied..pc]);
            copied = pc;
            let here = self.edits.at.get(change.pc);
            if change.prologue > self.edits.behind(change.pc) {
                if entries.contains(&change.pc) {
                    out.extend_from_slice(scratch.snippets.enter.bytes());
                } else if change.pc == 0 {
                    // No island lies there.
                    out.extend_from_slice(scratch.snippets.early.bytes());
                } else {
                    put_islands(change.pc, change.prologue, scratch, out);
                }
            }
            let mut before = 0;
            if let Some(here) = here {
                out.extend_from_slice(here.behind.bytes());
                out.extend_from_slice(here.before.bytes());
                before = here.before.len();
            }
            if change.before > before {
                out.extend_from_slice(scratch.snippets.exit.bytes());
            }
            if change.resized {
                debug_assert_eq!(out.len() - base, layout.insn(change.pc) as usize);
                if let Some(switch) = switches.next_if(|s| s.pc == change.pc) {
                    insn::put_switch(out, old, *switch, layout.insn(switch.pc), |t| {
                        layout.target(t)
                    });
                    copied = (switch.pc + switch.len) as usize;
                } else {
                    put_wide_branch(scratch, change.pc, out);
                    copied = pc + 3;
                }
            }
        }
        out.extend_from_slice(&old[copied..]);
        patch_branches(scratch, &mut out[base..]);
        self.edits.patch(&mut out[base..], |pc| layout.insn(pc));
    }

    /// Where what is caught begins to be. What runs at a point is of the point's code.
    fn range_start(&self, layout: &Layout, pc: u32) -> u32 {
        match self.edits.at.get(pc) {
            None => layout.insn(pc),
            Some(one) if one.is_held => self.entered(layout, pc),
            Some(_) => layout.target(pc),
        }
    }

    /// Where code begins behind the hooks at an entry.
    fn entered(&self, layout: &Layout, pc: u32) -> u32 {
        layout.target(pc) - self.edits.behind(pc)
    }

    /// Appends the exception table. A range that begins at a return leaves its exit hook out.
    fn put_exceptions(&self, layout: &Layout, handler: Option<&Handler>, out: &mut Vec<u8>) {
        let (ours, guards) = handler.map_or((0, &[][..]), |h| (h.pc, &h.guards));
        let caught = handler.map_or(&[][..], |h| &h.caught);
        let count = self.code.exceptions.len() / 8 + guards.len() + caught.len();
        out.extend_from_slice(&(count as u16).to_be_bytes());
        for entry in self.code.exceptions.chunks_exact(8) {
            let field = |i: usize| u32::from(u16::from_be_bytes([entry[i], entry[i + 1]]));
            for new in [
                self.range_start(layout, field(0)),
                layout.start(field(2)),
                layout.target(field(4)),
            ] {
                out.extend_from_slice(&(new as u16).to_be_bytes());
            }
            out.extend_from_slice(&entry[6..]);
        }
        for &(start, end) in guards {
            for pc in [start, end, ours, 0] {
                out.extend_from_slice(&(pc as u16).to_be_bytes());
            }
        }
        for &[from, to, pc] in caught {
            for pc in [from, to, pc, 0] {
                out.extend_from_slice(&(pc as u16).to_be_bytes());
            }
        }
    }

    /// Appends the attributes of Code: moves those that hold pcs, and drops unknown ones, which may hold pcs, too.
    fn put_attributes(
        &self,
        scratch: &Scratch,
        handlers: &[HandlerFrame],
        early: &[u32],
        split: Option<&Split>,
        out: &mut Vec<u8>,
    ) -> Result<u16> {
        let count_at = out.len();
        out.extend_from_slice(&[0, 0]);
        let mut count = 0u16;
        let mut line = 0;
        let is_spelt = !scratch.joins.is_empty() || handlers.len() > 1;
        attributes(self.class.bytes, self.code.attributes, |a| {
            let Some(known) = self.class.pool.which(a.name) else {
                return Ok(());
            };
            let start = begin_attribute(a.name, out);
            let layout = &scratch.layout;
            let put = match known {
                Known::StackMapTable => {
                    if scratch.frames.is_empty() && !is_spelt {
                        frames::relocate(out, a.data, layout, handlers.first())
                    } else {
                        let compact = self.bound.is_some() || !self.edits.at.is_empty();
                        put_spelt_frames(scratch, handlers, compact, out)
                    }
                }
                Known::LineNumberTable => put_lines(out, a.data, layout, early).map(|first| {
                    if line == 0 {
                        line = first;
                    }
                }),
                Known::LocalVariableTable | Known::LocalVariableTypeTable => {
                    put_variables(out, a.data, layout)
                }
                Known::RuntimeVisibleTypeAnnotations | Known::RuntimeInvisibleTypeAnnotations => {
                    let places = split.map(|split| &*split.places);
                    put_type_annotations(out, a.data, layout, places)
                }
                _ => {
                    out.truncate(start);
                    return Ok(());
                }
            };
            put.map_err(|e| e.offset_by(a.offset()))?;
            end_attribute(start, out);
            count += 1;
            Ok(())
        })?;
        if !self.tables.has_stack_map && (is_spelt || !handlers.is_empty()) {
            let start = begin_attribute(self.constants.stack_map_table, out);
            match is_spelt {
                false => frames::relocate(out, &[], &scratch.layout, handlers.first())?,
                true => put_spelt_frames(scratch, handlers, true, out)?,
            }
            end_attribute(start, out);
            count += 1;
        }
        out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
        Ok(line)
    }
}

/// An exception table whose ranges have gaps.
#[derive(Default)]
struct Split {
    /// Start, end, handler, type.
    rows: Vec<[u16; 4]>,
    /// Where each entry of the old table begins.
    places: Vec<u16>,
}

impl Split {
    /// Adds an entry, in as many parts as the gaps, which ascend, leave of its range.
    fn add(
        &mut self,
        (start, end): (u32, u32),
        gaps: &[(u32, u32)],
        (handler, ty): (u32, u32),
    ) -> Attempt<()> {
        self.places.push(self.rows.len() as u16);
        let mut at = start;
        let first = gaps.partition_point(|gap| gap.1 <= start);
        let touched = gaps[first..].iter().take_while(|gap| gap.0 < end);
        for (from, to) in touched.copied().chain([(end, end)]) {
            if at < from {
                self.rows.push([at, from, handler, ty].map(|n| n as u16));
            }
            at = at.max(to);
            if self.rows.len() > MAX_TRIES {
                return Err(Reason::Unsupported.into());
            }
        }
        Ok(())
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.rows.len() as u16).to_be_bytes());
        for n in self.rows.as_flattened() {
            out.extend_from_slice(&n.to_be_bytes());
        }
    }
}

/// Appends an attribute's head; returns where it is.
fn begin_attribute(name: u16, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&name.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    start
}

/// Fills in the length of the attribute at `start`, which ends here.
fn end_attribute(start: usize, out: &mut [u8]) {
    let len = (out.len() - start - 6) as u32;
    out[start + 2..start + 6].copy_from_slice(&len.to_be_bytes());
}

/// Whether a frame lists the parameters, as far as tags tell.
fn lists(frame: &FullFrame, parameters: &[Parameter<'_>]) -> bool {
    let same = |(n, p): (usize, &Parameter<'_>)| {
        let tag = frame.locals.get(n).map(|local| local.0);
        tag == Some(p.tag) || n == 0 && tag == Some(frames::item::UNINITIALIZED_THIS)
    };
    parameters.iter().enumerate().all(same)
}

/// Advice that takes a handler.
const HANDLED: Advice = Advice::EXCEPTION
    .with(Advice::SECTION)
    .with(Advice::AGGREGATE);

fn start_of(method: &MethodInfo) -> usize {
    method.code.as_ref().expect("a method with code").start
}

/// Collects branches, switches and returns.
fn walk(code: &[u8], parameter_words: u32, scratch: &mut Scratch) -> Result<Walked> {
    scratch.branches.clear();
    scratch.switches.clear();
    scratch.returns.clear();
    let mut walked = Walked {
        keeps_parameters: true,
        loops_to_start: false,
    };
    let len = code.len() as u32;
    let mut pc = 0;
    while pc < len {
        let insn = insn::at(code, pc)?;
        let at = pc as usize;
        match insn.form {
            Form::Plain => {}
            Form::Store | Form::StoreN | Form::Wide => {
                let stored = insn::store(code, insn);
                walked.keeps_parameters &= stored.is_none_or(|local| local.slot >= parameter_words);
            }
            Form::Branch | Form::WideBranch => {
                let target = insn::branch_target(code, insn)?;
                walked.loops_to_start |= target == 0;
                scratch.branches.push(Branch {
                    insn,
                    target,
                    reach: Reach::Same,
                });
            }
            Form::Switch => {
                insn::switch_targets(code, insn, |target| walked.loops_to_start |= target == 0)?;
                scratch.switches.push(insn);
            }
            Form::Return => scratch.returns.push(pc),
            Form::Invalid => {
                return Err(Error::malformed(
                    at,
                    format!("{:#04x} is not an instruction", insn.opcode),
                ));
            }
        }
        pc += insn.len;
    }
    Ok(walked)
}
