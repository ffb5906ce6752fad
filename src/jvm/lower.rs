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
//! A section of Android's trace lies within the hooks: it begins behind enter, and ends in front of exit and error.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::Attempt;
use crate::aspect::plan::Planned;
use crate::edit::{Layout, Place};
use crate::error::{Error, Result};
use crate::jvm::android_trace;
use crate::jvm::attributes::{put_lines, put_type_annotations, put_variables};
use crate::jvm::class::{Class, Code, MethodInfo, attributes, flag};
use crate::jvm::constructor;
use crate::jvm::frames::{self, FullFrame, HandlerFrame, HandlerLocals};
use crate::jvm::insn::{self, Form, Insn, op};
use crate::jvm::parameters::{self, Parameter};
use crate::jvm::pool::{Additions, Known, tag};
use crate::jvm::signature::method_words;

/// Largest code (JVMS 4.7.3).
const MAX_CODE: u32 = 65_535;

/// Constants that all hooks of a class share; 0 where no advice needs them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Constants {
    /// `Methodref` of the enter hook.
    pub enter: u16,
    /// `Methodref` of the exit hook.
    pub exit: u16,
    /// `Methodref` of the error hook.
    pub error: u16,
    /// `Methodref` of `beginSection`.
    pub begin_section: u16,
    /// `Methodref` of `endSection`.
    pub end_section: u16,
    /// `Class` of `java/lang/Throwable`.
    pub throwable: u16,
    /// `Utf8` of `StackMapTable`.
    pub stack_map_table: u16,
}

/// A branch of the old code.
#[derive(Clone, Copy, Debug)]
struct Branch {
    insn: Insn,
    target: u32,
    reach: Reach,
}

/// How a branch gets to its target in the new code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// As it did.
    Same,
    /// `goto` and `jsr` became `goto_w` and `jsr_w`.
    Wide,
    /// `if` became its opposite around a `goto_w`; for code without frames.
    Inverted,
    /// `if` branches to an island nearby, `offset` bytes into the insertion at `at`.
    Island { at: u32, offset: u32 },
}

/// A `goto_w` in front of an instruction that has a frame, within reach of an `if` whose target is not. The frame of the
/// target fits it, too.
#[derive(Clone, Copy, Debug)]
struct Island {
    at: u32,
    offset: u32,
    target: u32,
}

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
    /// The method's frames, spelt out once the first island is needed.
    frames: Vec<FullFrame>,
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

/// Instructions to insert: calls of static methods, with a constant or without.
#[derive(Default)]
struct Snippet([u8; Snippet::MAX], usize);

impl Snippet {
    /// Two constants and two calls.
    const MAX: usize = 12;

    /// Appends `ldc constant`.
    fn ldc(mut self, constant: u16) -> Snippet {
        match constant.to_be_bytes() {
            [0, low] => self.push(&[op::LDC, low]),
            [high, low] => self.push(&[op::LDC_W, high, low]),
        }
        self
    }

    /// Appends `invokestatic method`.
    fn call(mut self, method: u16) -> Snippet {
        let [high, low] = method.to_be_bytes();
        self.push(&[op::INVOKESTATIC, high, low]);
        self
    }

    fn push(&mut self, bytes: &[u8]) {
        self.0[self.1..][..bytes.len()].copy_from_slice(bytes);
        self.1 += bytes.len();
    }

    fn bytes(&self) -> &[u8] {
        &self.0[..self.1]
    }

    fn len(&self) -> u32 {
        self.1 as u32
    }
}

/// One method and its hooks.
struct Lowering<'j, 'a> {
    class: &'j Class<'a>,
    method: &'j MethodInfo,
    code: Code<'a>,
    tables: Tables<'a>,
    advice: Advice,
    constants: Constants,
    /// At the start.
    enter: Snippet,
    /// Before each return.
    exit: Snippet,
    /// In the handler, with a copy of the exception on the stack.
    error: Snippet,
}

/// Appends the woven Code attribute of a method, or says why it cannot be woven; then `out` is as it
/// was. Returns the first source line, or 0.
pub fn lower(
    class: &Class<'_>,
    method: &MethodInfo,
    planned: &Planned,
    constants: Constants,
    additions: &mut Additions,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Attempt<u16> {
    let code = class.code(method)?.ok_or(Reason::NoBody)?;
    let section = match planned.advice.has(Advice::SECTION) {
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
    let mut enter = Snippet::default();
    let (mut exit, mut error) = (Snippet::default(), Snippet::default());
    if section.is_some() {
        exit = exit.call(constants.end_section);
    }
    if planned.advice.only(Advice::ALL) != Advice::default() {
        let id = additions.integer(planned.id);
        let hook = |snippet: Snippet, advice, method| match planned.advice.has(advice) {
            true => snippet.ldc(id).call(method),
            false => snippet,
        };
        enter = hook(enter, Advice::ENTER, constants.enter);
        exit = hook(exit, Advice::EXIT, constants.exit);
        error = hook(error, Advice::EXCEPTION, constants.error);
    }
    if let Some(section) = section {
        let text = additions.utf8_bytes(&section);
        let begin = constants.begin_section;
        enter = enter.ldc(additions.named(tag::STRING, text)).call(begin);
    }
    let lowering = Lowering {
        class,
        method,
        code,
        tables: tables(class, &code)?,
        advice: planned.advice,
        constants,
        enter,
        exit,
        error,
    };
    let outcome = lowering.run(additions, scratch, out);
    if outcome.is_err() {
        out.truncate(out_mark);
        additions.rollback(additions_mark);
    }
    outcome
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
    fn run(
        &self,
        additions: &mut Additions,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Attempt<u16> {
        let in_code = |e: Error| e.offset_by(self.code.offset);
        let name = self.class.pool.utf8(self.method.name)?;
        let descriptor = self.class.pool.utf8(self.method.descriptor)?;
        let is_static = self.method.access & flag::STATIC != 0;
        let is_constructor = name == b"<init>";
        let (argument_words, _) = method_words(descriptor).ok_or(Reason::Unsupported)?;
        let parameter_words = argument_words + u32::from(!is_static);

        let walked = walk(self.code.insns, parameter_words, scratch).map_err(in_code)?;
        let initialisation = if is_constructor {
            let found = constructor::analyse(self.class, &self.code, self.tables.stack_map);
            Some(found.map_err(|unwoven| unwoven.map_error(in_code))?)
        } else {
            None
        };

        let entries: &[u32] = initialisation.as_ref().map_or(&[0], |i| &i.behind);
        self.place(entries, scratch);
        let parameters = parameters::parameters(self.class, descriptor, is_static)?;
        self.fit(entries, &parameters, additions, scratch)?;
        let has_handler = self.advice.only(HANDLED) != Advice::default();
        // Class files before version 50 have no frames (JVMS 4.10).
        let locals = match has_handler && self.class.major >= 50 {
            true => Some(self.handler_locals(
                &parameters,
                walked.keeps_parameters,
                scratch,
                additions,
            )?),
            false => None,
        };
        let layout = &scratch.layout;
        let end = layout.start(self.code.insns.len() as u32);
        let unreached = locals.as_ref().map_or(&[][..], HandlerLocals::unreached);
        let handler = end + unreached.len() as u32;
        let new_len = handler + if has_handler { self.handler_len() } else { 0 };
        let guards: Vec<(u32, u32)> = match &initialisation {
            _ if !has_handler => vec![],
            None => vec![(layout.target(0), end)],
            Some(i) => i
                .ranges
                .iter()
                .map(|&(start, end)| (layout.target(start), layout.start(end)))
                .filter(|(start, end)| start < end)
                .collect(),
        };
        let own_entries = self.code.exceptions.len() / 8;
        let max_stack = u32::from(self.code.max_stack) + 1;
        // The exception, a copy of it, and the id.
        let max_stack = max_stack.max(if has_handler { 3 } else { 0 });
        if new_len > MAX_CODE {
            return Err(Reason::CodeTooLarge.into());
        }
        if own_entries + guards.len() > 65_535 || max_stack > 65_535 {
            return Err(Reason::Unsupported.into());
        }

        let start = out.len();
        out.extend_from_slice(&self.class.bytes[start_of(self.method)..][..2]);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&(max_stack as u16).to_be_bytes());
        out.extend_from_slice(&self.code.max_locals.to_be_bytes());
        out.extend_from_slice(&new_len.to_be_bytes());
        self.put_code(entries, scratch, out);
        out.extend_from_slice(unreached);
        if has_handler {
            self.put_handler(out);
        }
        self.put_exceptions(layout, &guards, handler, out);
        let handler_frame = locals.map(|locals| HandlerFrame {
            pc: handler,
            throwable: self.constants.throwable,
            locals,
        });
        let met_again = if is_constructor {
            self.is_target(entries, scratch).map_err(in_code)?
        } else {
            walked.loops_to_start
        };
        let early = if met_again { &[] } else { entries };
        let line = self.put_attributes(scratch, handler_frame.as_ref(), early, out)?;
        let len = (out.len() - start - 6) as u32;
        out[start + 2..start + 6].copy_from_slice(&len.to_be_bytes());
        Ok(line)
    }

    /// The locals of the handler's frame, in the shortest form: the parameters, where that is sound.
    fn handler_locals(
        &self,
        parameters: &[Parameter<'a>],
        keeps_parameters: bool,
        scratch: &Scratch,
        additions: &mut Additions,
    ) -> Result<HandlerLocals> {
        let none = Ok(HandlerLocals::Listed(vec![]));
        let is_constructor = self.class.pool.utf8(self.method.name)? == b"<init>";
        let stack_map = self.tables.stack_map;
        let kept = parameters::frames_keep(self.class, stack_map, parameters, is_constructor)?;
        let Some(kept) = kept else {
            return none;
        };
        if !keeps_parameters
            && !parameters::stores_keep(
                self.class,
                &self.code,
                self.class.pool.utf8(self.method.descriptor)?,
                stack_map,
                parameters,
                is_constructor,
            )
            .map_err(|e| e.offset_by(self.code.offset))?
        {
            return none;
        }
        let short = kept.more == 0 || !parameters.is_empty();
        if short
            && kept.initialised
            && kept.more <= HandlerLocals::MAX_DROPPED
            && scratch.islands.is_empty()
        {
            return Ok(HandlerLocals::Last(kept.more));
        }
        if additions.room() < MAX_PARAMETER_CONSTANTS {
            return none;
        }
        Ok(HandlerLocals::Listed(self.listed(parameters, additions)))
    }

    /// Parameters as verification types.
    fn listed(
        &self,
        parameters: &[Parameter<'a>],
        additions: &mut Additions,
    ) -> Vec<frames::VerificationType> {
        let class = |p: &Parameter<'a>, additions: &mut Additions| match p.ty {
            Some(_) => additions.class(&self.class.pool, p.name),
            None => 0,
        };
        parameters
            .iter()
            .map(|p| (p.tag, class(p, additions)))
            .collect()
    }

    fn handler_len(&self) -> u32 {
        let ends_section = self.advice.has(Advice::SECTION);
        let reports = self.advice.has(Advice::EXCEPTION);
        let end = if ends_section { CALL_LEN } else { 0 };
        let report = if reports { 1 + self.error.len() } else { 0 };
        report + end + 1
    }

    /// Appends the handler's code.
    fn put_handler(&self, out: &mut Vec<u8>) {
        if self.advice.has(Advice::SECTION) {
            let end = Snippet::default().call(self.constants.end_section);
            out.extend_from_slice(end.bytes());
        }
        if self.advice.has(Advice::EXCEPTION) {
            out.push(op::DUP);
            out.extend_from_slice(self.error.bytes());
        }
        out.push(op::ATHROW);
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
        if self.enter.len() > 0 {
            for &pc in entries {
                scratch.layout.insert(pc, Place::Prologue, self.enter.len());
            }
        }
        if self.exit.len() > 0 {
            for &pc in &scratch.returns {
                scratch.layout.insert(pc, Place::Before, self.exit.len());
            }
        }
        for switch in &scratch.switches {
            scratch.layout.movable(switch.pc);
        }
    }

    /// Solves the layout, widening branches until all reach their targets.
    fn fit(
        &self,
        entries: &[u32],
        parameters: &[Parameter<'a>],
        additions: &mut Additions,
        scratch: &mut Scratch,
    ) -> Attempt<()> {
        let len = self.code.insns.len() as u32;
        loop {
            scratch.layout.solve(insn::switch_growth);
            let new_len = scratch.layout.start(len);
            if new_len > MAX_CODE {
                return Err(Reason::CodeTooLarge.into());
            }
            if new_len <= i16::MAX as u32 {
                return Ok(());
            }
            let mut grown = false;
            for i in 0..scratch.branches.len() {
                let branch = scratch.branches[i];
                if self.reaches(branch, &scratch.layout) {
                    continue;
                }
                grown = true;
                let reach = match branch.reach {
                    // The island moved out of reach.
                    Reach::Island { .. } => return Err(Reason::CodeTooLarge.into()),
                    _ if matches!(branch.insn.opcode, op::GOTO | op::JSR) => {
                        scratch.layout.grow(branch.insn.pc, 2);
                        Reach::Wide
                    }
                    _ if !self.tables.has_stack_map => {
                        scratch.layout.grow(branch.insn.pc, 5);
                        Reach::Inverted
                    }
                    _ => {
                        if scratch.frames.is_empty() {
                            if additions.room() < MAX_PARAMETER_CONSTANTS {
                                return Err(Reason::PoolFull.into());
                            }
                            scratch.frames = (self.expand_frames(parameters, additions)?)
                                .ok_or(Reason::Unsupported)?;
                        }
                        (self.build_island(branch, entries, scratch)?).ok_or(Reason::Unsupported)?
                    }
                };
                scratch.branches[i].reach = reach;
            }
            if !grown {
                return Ok(());
            }
        }
    }

    fn reaches(&self, branch: Branch, layout: &Layout) -> bool {
        let from = layout.insn(branch.insn.pc) as i32;
        let to = match branch.reach {
            Reach::Same if branch.insn.form == Form::Branch => layout.target(branch.target),
            Reach::Island { at, offset } => layout.start(at) + offset,
            _ => return true,
        };
        i16::try_from(to as i32 - from).is_ok()
    }

    fn expand_frames(
        &self,
        parameters: &[Parameter<'a>],
        additions: &mut Additions,
    ) -> Result<Option<Vec<FullFrame>>> {
        let mut initial = self.listed(parameters, additions);
        if self.class.pool.utf8(self.method.name)? == b"<init>"
            && let Some(this) = initial.first_mut()
        {
            *this = (frames::item::UNINITIALIZED_THIS, 0);
        }
        frames::expand(self.tables.stack_map, initial)
    }

    /// Adds an island for a branch at the frame nearest to it; `None` where none is near, or the
    /// branch's target has no frame.
    fn build_island(
        &self,
        branch: Branch,
        entries: &[u32],
        scratch: &mut Scratch,
    ) -> Result<Option<Reach>> {
        let frames = &scratch.frames;
        if frames
            .binary_search_by_key(&branch.target, |f| f.pc)
            .is_err()
        {
            return Ok(None);
        }
        let nearest = frames
            .iter()
            .map(|f| f.pc)
            .filter(|pc| *pc != 0 && !entries.contains(pc))
            .min_by_key(|pc| pc.abs_diff(branch.insn.pc));
        let Some(at) = nearest else {
            return Ok(None);
        };
        let Some(above) = insn::opcode_above(self.code.insns, at)? else {
            return Ok(None);
        };
        let mut offset: u32 =
            scratch.islands.iter().filter(|i| i.at == at).count() as u32 * GOTO_W_LEN;
        if offset == 0 && !insn::ends_flow(above) {
            scratch.bypassed.push(at);
            scratch.layout.insert(at, Place::Prologue, GOTO_LEN);
        }
        if scratch.bypassed.contains(&at) {
            offset += GOTO_LEN;
        }
        scratch.layout.insert(at, Place::Prologue, GOTO_W_LEN);
        scratch.islands.push(Island {
            at,
            offset,
            target: branch.target,
        });
        Ok(Some(Reach::Island { at, offset }))
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
            if change.prologue > 0 {
                if entries.contains(&change.pc) {
                    out.extend_from_slice(self.enter.bytes());
                } else {
                    self.put_islands(change.pc, change.prologue, scratch, out);
                }
            }
            if change.before > 0 {
                out.extend_from_slice(self.exit.bytes());
            }
            if change.resized {
                debug_assert_eq!(out.len() - base, layout.insn(change.pc) as usize);
                if let Some(switch) = switches.next_if(|s| s.pc == change.pc) {
                    insn::put_switch(out, old, *switch, layout.insn(switch.pc), |t| {
                        layout.target(t)
                    });
                    copied = (switch.pc + switch.len) as usize;
                } else {
                    // A widened branch takes three bytes in the old code; its offset follows below.
                    let branch = scratch
                        .branches
                        .binary_search_by_key(&change.pc, |b| b.insn.pc)
                        .map(|i| scratch.branches[i])
                        .expect("only switches and branches are resized");
                    let far = match branch.insn.opcode {
                        op::JSR => op::JSR_W,
                        _ => op::GOTO_W,
                    };
                    if branch.reach == Reach::Inverted {
                        out.extend_from_slice(&[inverted(branch.insn.opcode), 0, 8]);
                    }
                    out.extend_from_slice(&[far, 0, 0, 0, 0]);
                    copied = pc + 3;
                }
            }
        }
        out.extend_from_slice(&old[copied..]);

        let code = &mut out[base..];
        for branch in &scratch.branches {
            let from = layout.insn(branch.insn.pc);
            let to = match branch.reach {
                Reach::Island { at, offset } => layout.start(at) + offset,
                _ => layout.target(branch.target),
            };
            let delta = to as i32 - from as i32;
            let from = from as usize;
            match branch.reach {
                Reach::Same if branch.insn.form == Form::WideBranch => {
                    put_i32(code, from + 1, delta)
                }
                Reach::Same | Reach::Island { .. } => {
                    code[from + 1..from + 3].copy_from_slice(&(delta as i16).to_be_bytes());
                }
                Reach::Wide => put_i32(code, from + 1, delta),
                Reach::Inverted => put_i32(code, from + 4, delta - 3),
            }
        }
    }

    fn put_islands(&self, at: u32, len: u32, scratch: &Scratch, out: &mut Vec<u8>) {
        let layout = &scratch.layout;
        if scratch.bypassed.contains(&at) {
            out.push(op::GOTO);
            out.extend_from_slice(&(len as u16).to_be_bytes());
        }
        for island in scratch.islands.iter().filter(|i| i.at == at) {
            let from = layout.start(at) + island.offset;
            let delta = layout.target(island.target) as i32 - from as i32;
            out.push(op::GOTO_W);
            out.extend_from_slice(&delta.to_be_bytes());
        }
    }

    /// Appends the exception table. A range that begins at a return leaves its exit hook out.
    fn put_exceptions(
        &self,
        layout: &Layout,
        guards: &[(u32, u32)],
        handler: u32,
        out: &mut Vec<u8>,
    ) {
        let count = self.code.exceptions.len() / 8 + guards.len();
        out.extend_from_slice(&(count as u16).to_be_bytes());
        for entry in self.code.exceptions.chunks_exact(8) {
            let field = |i: usize| u32::from(u16::from_be_bytes([entry[i], entry[i + 1]]));
            for new in [
                layout.insn(field(0)),
                layout.start(field(2)),
                layout.target(field(4)),
            ] {
                out.extend_from_slice(&(new as u16).to_be_bytes());
            }
            out.extend_from_slice(&entry[6..]);
        }
        for &(start, end) in guards {
            for pc in [start, end, handler, 0] {
                out.extend_from_slice(&(pc as u16).to_be_bytes());
            }
        }
    }

    /// Appends the attributes of Code: moves those that hold pcs, and drops unknown ones, which may hold pcs, too.
    fn put_attributes(
        &self,
        scratch: &Scratch,
        needs_frame: Option<&HandlerFrame>,
        early: &[u32],
        out: &mut Vec<u8>,
    ) -> Result<u16> {
        let count_at = out.len();
        out.extend_from_slice(&[0, 0]);
        let mut count = 0u16;
        let mut line = 0;
        attributes(self.class.bytes, self.code.attributes, |a| {
            let Some(known) = self.class.pool.which(a.name) else {
                return Ok(());
            };
            let start = out.len();
            out.extend_from_slice(&a.name.to_be_bytes());
            out.extend_from_slice(&[0; 4]);
            let layout = &scratch.layout;
            let put = match known {
                Known::StackMapTable => {
                    if scratch.islands.is_empty() {
                        frames::relocate(out, a.data, layout, needs_frame)
                    } else {
                        put_frames_with_islands(scratch, needs_frame, out)
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
                    put_type_annotations(out, a.data, layout)
                }
                _ => {
                    out.truncate(start);
                    return Ok(());
                }
            };
            put.map_err(|e| e.offset_by(a.offset()))?;
            let len = (out.len() - start - 6) as u32;
            out[start + 2..start + 6].copy_from_slice(&len.to_be_bytes());
            count += 1;
            Ok(())
        })?;
        if !self.tables.has_stack_map && needs_frame.is_some() {
            let start = out.len();
            out.extend_from_slice(&self.constants.stack_map_table.to_be_bytes());
            out.extend_from_slice(&[0; 4]);
            frames::relocate(out, &[], &scratch.layout, needs_frame)?;
            let len = (out.len() - start - 6) as u32;
            out[start + 2..start + 6].copy_from_slice(&len.to_be_bytes());
            count += 1;
        }
        out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
        Ok(line)
    }
}

fn put_frames_with_islands(
    scratch: &Scratch,
    handler: Option<&HandlerFrame>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let Scratch {
        layout,
        frames: own,
        islands,
        ..
    } = scratch;
    let mut all: Vec<(u32, &FullFrame)> = own.iter().map(|f| (layout.target(f.pc), f)).collect();
    for island in islands {
        let i = own
            .binary_search_by_key(&island.target, |f| f.pc)
            .expect("build_island checked it");
        all.push((layout.start(island.at) + island.offset, &own[i]));
    }
    all.sort_by_key(|&(pc, _)| pc);
    frames::put_full(out, all.into_iter(), layout, handler)
}

/// Advice that takes a handler.
const HANDLED: Advice = Advice::EXCEPTION.with(Advice::SECTION);

/// Length of `invokestatic`.
const CALL_LEN: u32 = 3;
const GOTO_LEN: u32 = 3;
const GOTO_W_LEN: u32 = 5;

fn start_of(method: &MethodInfo) -> usize {
    method.code.as_ref().expect("a method with code").start
}

fn put_i32(code: &mut [u8], at: usize, value: i32) {
    code[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// The opposite condition.
fn inverted(opcode: u8) -> u8 {
    match opcode {
        op::IFNULL => op::IFNONNULL,
        op::IFNONNULL => op::IFNULL,
        // ifeq, ifne; iflt, ifge; ...: odd opcodes and the even ones behind them
        opcode => {
            debug_assert!((op::IFEQ..=op::IF_ACMPNE).contains(&opcode));
            ((opcode + 1) ^ 1) - 1
        }
    }
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
        let mut store = |slot: u32| walked.keeps_parameters &= slot >= parameter_words;
        match insn.form {
            Form::Plain => {}
            Form::Store => store(u32::from(code[at + 1])),
            Form::StoreN => store(u32::from((insn.opcode - 59) % 4)),
            Form::Wide => {
                if (54..=58).contains(&code[at + 1]) {
                    store(u32::from(u16::from_be_bytes([code[at + 2], code[at + 3]])));
                }
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

/// Constants for the hooks of a class, as far as `advice` needs them; reuses existing ones.
pub fn constants(class: &Class<'_>, advice: Advice, additions: &mut Additions) -> Constants {
    let mut constants = Constants::default();
    if advice.only(Advice::ALL) != Advice::default() {
        hook_constants(class, advice, additions, &mut constants);
    }
    if advice.has(Advice::SECTION) {
        let trace = additions.utf8(android_trace::TRACE);
        let trace = additions.named(tag::CLASS, trace);
        let mut method = |(name, descriptor)| additions.method(trace, name, descriptor);
        constants.begin_section = method(android_trace::BEGIN);
        constants.end_section = method(android_trace::END);
    }
    if advice.only(HANDLED) != Advice::default() && class.major >= 50 {
        let name = class.pool.known(Known::Throwable);
        let known = (name != 0).then(|| class.pool.class_named(name)).flatten();
        constants.throwable = match known {
            Some(index) => index,
            None => {
                let name = if name == 0 {
                    additions.utf8("java/lang/Throwable")
                } else {
                    name
                };
                additions.named(tag::CLASS, name)
            }
        };
        constants.stack_map_table = match class.pool.known(Known::StackMapTable) {
            0 => additions.utf8("StackMapTable"),
            index => index,
        };
    }
    constants
}

fn hook_constants(
    class: &Class<'_>,
    advice: Advice,
    additions: &mut Additions,
    constants: &mut Constants,
) {
    let hooks_name = match class.pool.known(Known::Hooks) {
        0 => additions.utf8(crate::jvm::pool::HOOKS_CLASS),
        index => index,
    };
    let hooks = additions.named(tag::CLASS, hooks_name);
    let hook = |additions: &mut Additions, name: &str, descriptor: u16| {
        let name = additions.utf8(name);
        let pair = additions.pair(tag::NAME_AND_TYPE, name, descriptor);
        additions.pair(tag::METHODREF, hooks, pair)
    };
    if advice.has(Advice::ENTER) || advice.has(Advice::EXIT) {
        let int_void = match class.pool.known(Known::IntVoid) {
            0 => additions.utf8("(I)V"),
            index => index,
        };
        if advice.has(Advice::ENTER) {
            constants.enter = hook(additions, "enter", int_void);
        }
        if advice.has(Advice::EXIT) {
            constants.exit = hook(additions, "exit", int_void);
        }
    }
    if advice.has(Advice::EXCEPTION) {
        let descriptor = additions.utf8("(Ljava/lang/Throwable;I)V");
        constants.error = hook(additions, "error", descriptor);
    }
}

/// Most constants that one class and one of its methods add, islands aside: those of [`constants`], an id, a section's
/// name.
pub const MAX_ADDITIONS: u16 = 32;

/// Most constants for the types of a method's parameters: a name and a class for each of at most 255
/// (JVMS 4.3.3).
const MAX_PARAMETER_CONSTANTS: u16 = 2 * 255;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_has_an_opposite() {
        for (a, b) in [
            (153, 154),
            (155, 156),
            (157, 158),
            (159, 160),
            (161, 162),
            (163, 164),
            (165, 166),
            (198, 199),
        ] {
            assert_eq!(inverted(a), b);
            assert_eq!(inverted(b), a);
        }
    }
}
