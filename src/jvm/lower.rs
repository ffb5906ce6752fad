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

mod branches;
mod constants;

pub use constants::{Constants, MAX_ADDITIONS, constants};

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
use crate::jvm::stores::stores_keep;
use branches::{
    Branch, Island, Reach, patch_branches, put_frames_with_islands, put_islands, put_wide_branch,
};

/// Largest code (JVMS 4.7.3).
const MAX_CODE: u32 = 65_535;

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
    /// Two constants and two calls; or a handler of two calls, a constant, `dup` and `athrow`.
    const MAX: usize = 12;

    /// Appends an instruction without operands.
    fn op(mut self, opcode: u8) -> Snippet {
        self.push(&[opcode]);
        self
    }

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
    descriptor: &'a [u8],
    is_constructor: bool,
    constants: Constants,
    /// At the start.
    enter: Snippet,
    /// Before each return.
    exit: Snippet,
    /// The handler's code; empty for none.
    handler: Snippet,
}

/// Our handler in the new code.
struct Handler {
    pc: u32,
    /// The ranges that it protects.
    guards: Vec<(u32, u32)>,
    /// Its frame, which classes before version 50 have not (JVMS 4.10).
    frame: Option<HandlerFrame>,
}

impl Handler {
    /// Unreachable code in front of it.
    fn unreached(&self) -> &'static [u8] {
        (self.frame.as_ref()).map_or(&[], |frame| frame.locals.unreached())
    }
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
    let mut lowering = Lowering {
        class,
        method,
        code,
        tables: tables(class, &code)?,
        descriptor: class.pool.utf8(method.descriptor)?,
        is_constructor: class.pool.utf8(method.name)? == b"<init>",
        constants,
        enter: Snippet::default(),
        exit: Snippet::default(),
        handler: Snippet::default(),
    };
    lowering.build_snippets(planned, section, additions);
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
    /// Builds what is inserted.
    fn build_snippets(
        &mut self,
        planned: &Planned,
        section: Option<Vec<u8>>,
        additions: &mut Additions,
    ) {
        let constants = self.constants;
        let mut enter = Snippet::default();
        let (mut exit, mut handler) = (Snippet::default(), Snippet::default());
        if section.is_some() {
            exit = exit.call(constants.end_section);
            handler = handler.call(constants.end_section);
        }
        if planned.advice.only(Advice::ALL) != Advice::default() {
            let id = additions.integer(planned.id);
            if planned.advice.has(Advice::ENTER) {
                enter = enter.ldc(id).call(constants.enter);
            }
            if planned.advice.has(Advice::EXIT) {
                exit = exit.ldc(id).call(constants.exit);
            }
            if planned.advice.has(Advice::EXCEPTION) {
                handler = handler.op(op::DUP).ldc(id).call(constants.error);
            }
        }
        if let Some(section) = section {
            let text = additions.utf8_bytes(&section);
            let name = additions.named(tag::STRING, text);
            enter = enter.ldc(name).call(constants.begin_section);
        }
        if handler.len() > 0 {
            handler = handler.op(op::ATHROW);
        }
        (self.enter, self.exit, self.handler) = (enter, exit, handler);
    }

    fn run(
        &self,
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
        let entries: &[u32] = initialisation.as_ref().map_or(&[0], |i| &i.behind);
        self.place(entries, scratch);
        let parameters = parameters::parameters(self.class, self.descriptor, is_static)?;
        self.fit(entries, &parameters, additions, scratch)?;
        let handler = match self.handler.len() {
            0 => None,
            _ => {
                let protected = initialisation.as_ref().map(|i| &*i.ranges);
                let keeps = walked.keeps_parameters;
                Some(self.handler(protected, &parameters, keeps, scratch, additions)?)
            }
        };
        let met_again = match self.is_constructor {
            true => self.is_target(entries, scratch).map_err(in_code)?,
            false => walked.loops_to_start,
        };
        let early = if met_again { &[] } else { entries };
        self.put(entries, early, handler.as_ref(), scratch, out)
    }

    /// Places the handler behind the code, which is laid out.
    fn handler(
        &self,
        initialised: Option<&[(u32, u32)]>,
        parameters: &[Parameter<'a>],
        keeps_parameters: bool,
        scratch: &Scratch,
        additions: &mut Additions,
    ) -> Result<Handler> {
        let layout = &scratch.layout;
        let end = layout.start(self.code.insns.len() as u32);
        let mut handler = Handler {
            pc: end,
            guards: match initialised {
                None => vec![(layout.target(0), end)],
                Some(ranges) => ranges
                    .iter()
                    .map(|&(start, end)| (layout.target(start), layout.start(end)))
                    .filter(|(start, end)| start < end)
                    .collect(),
            },
            frame: None,
        };
        if self.class.major >= 50 {
            let locals = self.handler_locals(parameters, keeps_parameters, scratch, additions)?;
            handler.pc += locals.unreached().len() as u32;
            handler.frame = Some(HandlerFrame {
                pc: handler.pc,
                throwable: self.constants.throwable,
                locals,
            });
        }
        Ok(handler)
    }

    /// Appends the attribute, unless it is too large. Returns the first source line, or 0. Lines at `early` begin in front of
    /// the hook.
    fn put(
        &self,
        entries: &[u32],
        early: &[u32],
        handler: Option<&Handler>,
        scratch: &Scratch,
        out: &mut Vec<u8>,
    ) -> Attempt<u16> {
        let end = scratch.layout.start(self.code.insns.len() as u32);
        let new_len = handler.map_or(end, |h| h.pc + self.handler.len());
        if new_len > MAX_CODE {
            return Err(Reason::CodeTooLarge.into());
        }
        let tries = self.code.exceptions.len() / 8 + handler.map_or(0, |h| h.guards.len());
        let max_stack = u32::from(self.code.max_stack) + 1;
        // The exception, a copy of it, and the id.
        let max_stack = max_stack.max(if handler.is_some() { 3 } else { 0 });
        if tries > 65_535 || max_stack > 65_535 {
            return Err(Reason::Unsupported.into());
        }
        let name = &self.class.bytes[start_of(self.method)..][..2];
        let attribute = begin_attribute(u16::from_be_bytes([name[0], name[1]]), out);
        out.extend_from_slice(&(max_stack as u16).to_be_bytes());
        out.extend_from_slice(&self.code.max_locals.to_be_bytes());
        out.extend_from_slice(&new_len.to_be_bytes());
        self.put_code(entries, scratch, out);
        out.extend_from_slice(handler.map_or(&[], Handler::unreached));
        out.extend_from_slice(self.handler.bytes());
        self.put_exceptions(&scratch.layout, handler, out);
        let frame = handler.and_then(|h| h.frame.as_ref());
        let line = self.put_attributes(scratch, frame, early, out)?;
        end_attribute(attribute, out);
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
        let is_constructor = self.is_constructor;
        let stack_map = self.tables.stack_map;
        let kept = parameters::frames_keep(self.class, stack_map, parameters, is_constructor)?;
        let Some(kept) = kept else {
            return none;
        };
        if !keeps_parameters
            && !stores_keep(
                self.class,
                &self.code,
                self.descriptor,
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
                    put_islands(change.pc, change.prologue, scratch, out);
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
                    put_wide_branch(scratch, change.pc, out);
                    copied = pc + 3;
                }
            }
        }
        out.extend_from_slice(&old[copied..]);
        patch_branches(scratch, &mut out[base..]);
    }

    /// Appends the exception table. A range that begins at a return leaves its exit hook out.
    fn put_exceptions(&self, layout: &Layout, handler: Option<&Handler>, out: &mut Vec<u8>) {
        let (ours, guards) = handler.map_or((0, &[][..]), |h| (h.pc, &h.guards));
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
            for pc in [start, end, ours, 0] {
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
            let start = begin_attribute(a.name, out);
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
            end_attribute(start, out);
            count += 1;
            Ok(())
        })?;
        if !self.tables.has_stack_map && needs_frame.is_some() {
            let start = begin_attribute(self.constants.stack_map_table, out);
            frames::relocate(out, &[], &scratch.layout, needs_frame)?;
            end_attribute(start, out);
            count += 1;
        }
        out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
        Ok(line)
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

/// Advice that takes a handler.
const HANDLED: Advice = Advice::EXCEPTION.with(Advice::SECTION);

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
                walked.keeps_parameters &= stored.is_none_or(|(_, slot)| slot >= parameter_words);
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
