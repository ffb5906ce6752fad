//! The work on one body: layout, locals, code, clauses.

use super::emit::{LONG, SHORT, Slots, put_catch, put_handlers, put_load, put_store};
use super::frame::Frame;
use super::recipe::{Exit, Own, Points, Recipe, Rewritten, Signatures, Snippet};
use super::walk::Scratch;
use crate::aspect::advice::Reason;
use crate::aspect::attempt::{Attempt, Unwoven};
use crate::bytes::put_le_u32;
use crate::cil::il::body::{self, Body, ClauseKind};
use crate::cil::il::insn::{self, Form, op};
use crate::cil::metadata::heaps::{compressed, put_compressed};
use crate::cil::metadata::schema::coded;
use crate::cil::metadata::signature::{element, kind, without_modifiers};
use crate::cil::metadata::tables;
use crate::edit::{Layout, Place};
use crate::error::Result;

/// Most locals of a method (III.1.3.2: indices 0 to 65,534).
const MAX_LOCALS: u32 = 65_535;
/// Largest code that is woven; far above what any JIT takes.
const MAX_CODE: u32 = 1 << 30;

impl Scratch {
    /// The new body as a frame around the code that [`Scratch::walk`] has read, if that is all that changes; nothing is
    /// written yet. The recipe's hooks are all three, called with this id. `maps`: fill [`Scratch::layout`].
    pub fn frame(
        &mut self,
        body: &Body<'_>,
        recipe: &Recipe<'_>,
        (id, maps): (u32, bool),
        signatures: &mut dyn Signatures,
    ) -> Result<Option<Frame>> {
        let lowering = Lowering::new(self, body, (recipe, Own::default()));
        lowering.frame(id, maps, self, signatures)
    }

    /// Appends the new body for the code that [`Scratch::walk`] has read, or says why there can be none;
    /// then `out` is as it was. Positions in `out` and addresses are the same modulo four.
    pub fn rewrite(
        &mut self,
        body: &Body<'_>,
        recipe: &Recipe<'_>,
        signatures: &mut dyn Signatures,
        out: &mut Vec<u8>,
    ) -> Attempt<Rewritten> {
        self.rewrite_with(body, (recipe, Own::default()), signatures, out)
    }

    /// The same with hooks of one's own.
    pub fn rewrite_with(
        &mut self,
        body: &Body<'_>,
        (recipe, own): (&Recipe<'_>, Own<'_>),
        signatures: &mut dyn Signatures,
        out: &mut Vec<u8>,
    ) -> Attempt<Rewritten> {
        let mark = out.len();
        let outcome = Lowering::new(self, body, (recipe, own)).run(self, signatures, out);
        if outcome.is_err() {
            out.truncate(mark);
        }
        outcome
    }
}

/// One body and what was decided before its layout.
pub(super) struct Lowering<'j, 'b> {
    body: &'j Body<'b>,
    recipe: &'j Recipe<'j>,
    own: Own<'j>,
    /// There are handlers.
    protects: bool,
    /// Some `ret` of the woven part becomes a `leave`, or a branch where there are no handlers.
    leaves: bool,
    /// The method returns a value.
    has_result: bool,
}

impl<'j, 'b> Lowering<'j, 'b> {
    pub(super) fn new(
        scratch: &Scratch,
        body: &'j Body<'b>,
        (recipe, own): (&'j Recipe<'j>, Own<'j>),
    ) -> Lowering<'j, 'b> {
        debug_assert!(own.error_len() == 0 || !recipe.error.is_empty());
        let throws = scratch.last_unsafe.is_some_and(|pc| pc >= recipe.start);
        let protects =
            !recipe.error.is_empty() && (throws || matches!(recipe.exit, Exit::OfResult(_)));
        let returns = scratch.returns.last();
        let has_one_end = protects || own.exit_len() > 0;
        Lowering {
            body,
            recipe,
            own,
            protects,
            leaves: has_one_end && returns.is_some_and(|r| r.pc >= recipe.start),
            has_result: !is_void(recipe.result),
        }
    }

    pub(super) fn run(
        &self,
        scratch: &mut Scratch,
        signatures: &mut dyn Signatures,
        out: &mut Vec<u8>,
    ) -> Attempt<Rewritten> {
        let (body, recipe) = (self.body, self.recipe);
        let watches_end =
            self.protects || self.own.exit_len() > 0 || !self.exit_before_return().is_empty();
        if watches_end && scratch.jumps > 0 {
            return Err(Reason::JumpsAway.into());
        }
        // A branch from in front of the woven part would run what belongs to the point above.
        let is_met = |points: &Points| {
            let point = points.at.get(recipe.start);
            recipe.start > 0 && point.is_some_and(|point| !point.behind.is_empty())
        };
        if recipe.points.is_some_and(is_met) {
            return Err(Reason::Unsupported.into());
        }
        if body.code.is_empty()
            || recipe.start as usize >= body.code.len()
            || body.has_unknown_sections()
            || scratch.clauses.len() + 2 > body::MAX_CLAUSES
        {
            return Err(Reason::Unsupported.into());
        }
        let slots = if self.protects || recipe.extra.1 > 0 || self.own.keeps {
            self.add_locals(scratch, signatures)?
        } else {
            Slots {
                signature: body.locals,
                ..Slots::default()
            }
        };
        let locals = slots.signature;
        let Some(max_stack) = self.max_stack() else {
            return Err(Reason::Unsupported.into());
        };

        self.place(scratch);
        if !self.fit(slots, scratch) {
            return Err(Reason::CodeTooLarge.into());
        }
        self.move_clauses(slots, scratch);
        let code_len = self.end(slots, scratch) + self.epilogue_len(slots);

        let clauses = &scratch.clauses;
        let start;
        if body::fits_tiny(code_len as usize, max_stack, locals, clauses.len()) {
            start = out.len();
            body::put_tiny_header(out, code_len as usize);
        } else {
            out.resize(out.len().next_multiple_of(4), 0);
            start = out.len();
            let has_clauses = !clauses.is_empty();
            let init = body.init_locals || locals != 0 && zeroes_locals(body);
            body::put_fat_header(out, code_len as usize, max_stack, init, locals, has_clauses);
        }
        let code_start = out.len();
        self.put_code(scratch, slots, out);
        self.patch(scratch, watches_end, &mut out[code_start..]);
        self.put_tail(slots, out);
        debug_assert_eq!(out.len() - code_start, code_len as usize);
        if !clauses.is_empty() {
            out.resize(out.len().next_multiple_of(4), 0);
            body::put_clauses(out, clauses);
        }
        Ok(Rewritten {
            start,
            code_start,
            woven_from: recipe.start,
            locals,
            code_len,
            own_end: scratch.layout.start(body.code.len() as u32),
            drops_tail_call: watches_end
                && (scratch.tails.last()).is_some_and(|(first, _)| *first >= recipe.start),
        })
    }

    /// The same as a frame, if that is all that changes; else [`Lowering::run`] decides.
    pub(super) fn frame(
        &self,
        id: u32,
        maps: bool,
        scratch: &mut Scratch,
        signatures: &mut dyn Signatures,
    ) -> Result<Option<Frame>> {
        let (body, recipe) = (self.body, self.recipe);
        let returns_at_end = match scratch.returns[..] {
            [only] => only.pc as usize + 1 == body.code.len(),
            _ => false,
        };
        if !returns_at_end
            || !self.leaves
            || recipe.start > 0
            || !recipe.before.is_empty()
            || !scratch.clauses.is_empty()
            || !scratch.tails.is_empty()
            || scratch.jumps > 0
            || body.has_unknown_sections()
            || body.code.len() > Frame::MOST
        {
            return Ok(None);
        }
        let Some(max_stack) = self.max_stack() else {
            return Ok(None);
        };
        let slots = match self.add_locals(scratch, signatures) {
            Ok(slots) => slots,
            Err(Unwoven::Left(_)) => return Ok(None),
            Err(Unwoven::Failed(e)) => return Err(e),
        };
        if maps {
            self.place(scratch);
            self.fit(slots, scratch);
        }
        Ok(Some(Frame {
            id,
            old_len: body.code.len() as u32,
            slots,
            has_result: self.has_result,
            max_stack,
            init_locals: zeroes_locals(body),
        }))
    }

    /// The hook in front of each `ret`.
    fn exit_before_return(&self) -> Snippet {
        match self.recipe.exit {
            Exit::Always(exit) if !self.protects && self.own.exit_len() == 0 => exit,
            _ => Snippet::default(),
        }
    }

    /// The locals' signature with ours behind the method's own: slots that debuggers know stay.
    fn add_locals(&self, scratch: &mut Scratch, signatures: &mut dyn Signatures) -> Attempt<Slots> {
        let old = self.recipe.locals;
        let (count, types) = match old.split_first() {
            None => (0, old),
            Some((&kind::LOCALS, rest)) => match compressed(rest) {
                Some((count, len)) => (count, &rest[len..]),
                None => return Err(Reason::Unsupported.into()),
            },
            Some(_) => return Err(Reason::Unsupported.into()),
        };
        let (extra, more) = self.recipe.extra;
        let exception = tables::encode(&coded::TYPE_DEF_OR_REF, self.recipe.exception);
        let (Some(exception), true) = (exception, count < MAX_LOCALS - 1 - more) else {
            return Err(Reason::Unsupported.into());
        };
        let keeps_result = u32::from((self.leaves || self.own.keeps) && self.has_result);
        let blob = &mut scratch.signature;
        blob.clear();
        blob.push(kind::LOCALS);
        let count = count + more;
        put_compressed(blob, count + keeps_result + 1);
        blob.extend_from_slice(types);
        blob.extend_from_slice(extra);
        if keeps_result != 0 {
            blob.extend_from_slice(self.recipe.result);
        }
        blob.push(element::CLASS);
        put_compressed(blob, exception);
        Ok(Slots {
            signature: signatures.stand_alone_sig(blob)?,
            result: count,
            exception: count + keeps_result,
        })
    }

    /// A sufficient depth of the stack; in front of single instructions it may be full.
    fn max_stack(&self) -> Option<u16> {
        let old = u32::from(self.body.max_stack);
        // An exception, an address and an id.
        let mut depth = old.max(3).max(self.own.max_stack);
        if !self.recipe.before.is_empty() {
            // A copy, an address and an id.
            depth = depth.max(old + 3);
        }
        if let Some(points) = self.recipe.points {
            depth = depth.max(old + points.max_stack);
        }
        // A tiny header means eight, whatever the code needs.
        if self.body.tiny {
            depth = depth.max(8);
        }
        u16::try_from(depth).ok()
    }

    /// Puts the snippets into the layout, and the leaves at their shortest.
    fn place(&self, scratch: &mut Scratch) {
        let Scratch {
            layout, returns, ..
        } = scratch;
        let recipe = self.recipe;
        layout.clear();
        if !self.own.first.is_empty() {
            layout.insert(0, Place::Prologue, self.own.first.len() as u32);
        }
        let enter = self.own.enter.len() as u32 + recipe.enter.len();
        if enter > 0 {
            layout.insert(recipe.start, Place::Prologue, enter);
        }
        for (pc, point) in recipe.points.iter().flat_map(|points| points.at.iter()) {
            for (place, code) in [
                (Place::Prologue, &point.behind),
                (Place::Before, &point.ahead),
                (Place::Before, &point.before),
            ] {
                if !code.is_empty() {
                    layout.insert(pc, place, code.len() as u32);
                }
            }
        }
        for (pc, snippet) in recipe.before {
            layout.insert(*pc, Place::Before, snippet.len());
        }
        let exit = self.exit_before_return().len();
        returns.retain(|r| r.pc >= recipe.start);
        if exit > 0 {
            for r in returns.iter() {
                layout.insert(r.pc, Place::Before, exit);
            }
        }
    }

    /// Solves the layout, widening branches and leaves until all reach; `false` if the code is too large.
    fn fit(&self, slots: Slots, scratch: &mut Scratch) -> bool {
        let store = self.result_len(slots);
        if self.leaves {
            for r in &scratch.returns {
                scratch.layout.grow(r.pc, store + SHORT - 1);
            }
        }
        loop {
            scratch.layout.solve(|_, _| 0);
            let end = self.end(slots, scratch);
            if end > MAX_CODE {
                return false;
            }
            // Growth moves other places, so solve the layout again before looking at them.
            let mut grown = false;
            if self.leaves {
                let layout = &mut scratch.layout;
                for r in scratch.returns.iter_mut().filter(|r| !r.far) {
                    if end - (layout.insn(r.pc) + store + SHORT) > i8::MAX as u32 {
                        r.far = true;
                        grown = true;
                        layout.grow(r.pc, store + LONG - 1);
                    }
                }
            }
            if grown {
                continue;
            }
            // Code this short has no branch that does not reach.
            if end <= i8::MAX as u32 {
                return true;
            }
            // The growth of all the code.
            let old = self.body.code.len() as u32;
            let growth = scratch.layout.start(old) - old;
            let Scratch {
                layout, branches, ..
            } = &mut *scratch;
            let mut far = Vec::new();
            for b in branches {
                if b.insn.form != Form::ShortBranch
                    || b.widened
                    || b.target.abs_diff(b.insn.pc + SHORT) + growth <= i8::MAX as u32
                {
                    continue;
                }
                let from = layout.insn(b.insn.pc) + SHORT;
                let delta = self.landing(layout, b.insn.pc, b.target) as i32 - from as i32;
                if i8::try_from(delta).is_err() {
                    b.widened = true;
                    far.push(b.insn.pc);
                }
            }
            if far.is_empty() {
                return true;
            }
            for pc in far {
                layout.grow(pc, LONG - SHORT);
            }
        }
    }

    /// Where a branch lands: one from in front of the woven part runs the enter hook.
    fn landing(&self, layout: &Layout, from: u32, target: u32) -> u32 {
        if target == self.recipe.start && from < target {
            layout.start(target)
        } else {
            layout.target(target)
        }
    }

    /// Where the handlers end, or, without them, the method's own code.
    fn end(&self, slots: Slots, scratch: &Scratch) -> u32 {
        let own = scratch.layout.start(self.body.code.len() as u32);
        match (self.protects, self.own.catches) {
            (false, _) => own,
            (true, false) => own + slots.filter_len() + slots.fault_len(self.error_len()),
            (true, true) => own + slots.catch_len(self.error_len()) + self.own.ends.len() as u32,
        }
    }

    /// Bytes that run when an exception leaves the method, behind the load of it.
    fn error_len(&self) -> u32 {
        self.recipe.error.len() + self.own.error_len()
    }

    fn epilogue_len(&self, slots: Slots) -> u32 {
        if !self.leaves {
            return 0;
        }
        let load = self.result_len(slots);
        match self.recipe.exit {
            Exit::Always(exit) => exit.len() + self.own.exit_len() + load + 1,
            Exit::OfResult(exit) => load + exit.len() + self.own.exit_len() + load + 1,
        }
    }

    /// Bytes of a store or load of the result.
    fn result_len(&self, slots: Slots) -> u32 {
        slots.result_len(self.has_result)
    }

    /// Moves the clauses, and adds ours at the end.
    fn move_clauses(&self, slots: Slots, scratch: &mut Scratch) {
        let layout = &scratch.layout;
        for c in &mut scratch.clauses {
            c.try_start = layout.target(c.try_start);
            // An empty range stays one, even where code is inserted.
            c.try_end = layout.start(c.try_end).max(c.try_start);
            c.handler_start = layout.target(c.handler_start);
            c.handler_end = layout.start(c.handler_end).max(c.handler_start);
            if c.kind == ClauseKind::Filter {
                c.class_or_filter = layout.target(c.class_or_filter);
            }
        }
        if !self.protects {
            return;
        }
        let filter = layout.start(self.body.code.len() as u32);
        let try_start = layout.target(self.recipe.start);
        if self.own.catches {
            let class = self.recipe.exception;
            let ours = slots.catch_clause(try_start, filter, self.error_len(), class);
            scratch.clauses.push(ours);
            return;
        }
        let ours = slots.clauses(try_start, filter, self.error_len());
        scratch.clauses.extend_from_slice(&ours);
    }

    /// Appends the method's own code with what goes in between; branches still have their old offsets.
    fn put_code(&self, scratch: &Scratch, slots: Slots, out: &mut Vec<u8>) {
        let (layout, recipe) = (&scratch.layout, self.recipe);
        let old = self.body.code;
        let base = out.len();
        let end = self.end(slots, scratch);
        let exit = self.exit_before_return();
        let mut before = self.recipe.before.iter().peekable();
        let mut returns = scratch.returns.iter().peekable();
        let mut copied = 0usize;
        for change in layout.changes() {
            let pc = change.pc as usize;
            out.extend_from_slice(&old[copied..pc]);
            copied = pc;
            let point = recipe.points.and_then(|points| points.at.get(change.pc));
            let behind = point.map_or(&[][..], |point| &point.behind);
            out.extend_from_slice(behind);
            let prologue = change.prologue - behind.len() as u32;
            if prologue > 0 && change.pc == self.recipe.start {
                out.extend_from_slice(self.own.enter);
                out.extend_from_slice(self.recipe.enter.bytes());
            } else if prologue > 0 {
                out.extend_from_slice(self.own.first);
            }
            out.extend_from_slice(point.map_or(&[][..], |point| &point.ahead));
            while let Some((_, snippet)) = before.next_if(|(at, _)| *at == change.pc) {
                out.extend_from_slice(snippet.bytes());
            }
            if let Some(point) = point {
                out.extend_from_slice(&point.before);
            }
            let returning = returns.next_if(|r| r.pc == change.pc);
            if returning.is_some() {
                out.extend_from_slice(exit.bytes());
            }
            if !change.resized {
                continue;
            }
            debug_assert_eq!(out.len() - base, layout.insn(change.pc) as usize);
            if let Some(r) = returning {
                if self.has_result {
                    put_store(out, slots.result);
                }
                let at = (out.len() - base) as u32;
                let (short, long) = match self.protects {
                    true => (op::LEAVE_S, op::LEAVE),
                    false => (op::BR_S, op::BR),
                };
                if r.far {
                    out.push(long as u8);
                    out.extend_from_slice(&(end - at - LONG).to_le_bytes());
                } else {
                    out.extend_from_slice(&[short as u8, (end - at - SHORT) as u8]);
                }
                copied = pc + 1;
            } else {
                let long = insn::long_form(u16::from(old[pc]));
                out.extend_from_slice(&[long as u8, 0, 0, 0, 0]);
                copied = pc + SHORT as usize;
            }
        }
        out.extend_from_slice(&old[copied..]);
    }

    /// Gives branches their new offsets, and takes `tail.` off calls that no longer are.
    fn patch(&self, scratch: &Scratch, watches_end: bool, code: &mut [u8]) {
        let layout = &scratch.layout;
        for b in &scratch.branches {
            let at = layout.insn(b.insn.pc);
            let to = self.landing(layout, b.insn.pc, b.target);
            let operand = at as usize + 1;
            if b.insn.form == Form::ShortBranch && !b.widened {
                code[operand] = (to as i32 - (at + SHORT) as i32) as u8;
            } else {
                put_le_u32(code, operand, to.wrapping_sub(at + LONG));
            }
        }
        for switch in &scratch.switches {
            let at = layout.insn(switch.pc);
            let behind = at + switch.len;
            let mut operand = at as usize + 5;
            // `walk` has read these targets.
            let _ = insn::switch_targets(self.body.code, *switch, |target| {
                let to = self.landing(layout, switch.pc, target);
                put_le_u32(code, operand, to.wrapping_sub(behind));
                operand += 4;
            });
        }
        if watches_end {
            let is_woven = |(first, _): &&(u32, u32)| *first >= self.recipe.start;
            for &(first, pc) in scratch.tails.iter().filter(is_woven) {
                // Other prefixes stay with their call.
                let at = layout.insn(first) as usize;
                let prefixes = &mut code[at..at + (pc - first) as usize + 2];
                prefixes.rotate_right(2);
                prefixes[..2].fill(op::NOP as u8);
            }
        }
    }

    /// Appends the handlers and the common way out.
    fn put_tail(&self, slots: Slots, out: &mut Vec<u8>) {
        let (exception, error) = (self.recipe.exception, self.recipe.error);
        match (self.protects, self.own.catches) {
            (false, _) => {}
            (true, false) => put_handlers(slots, exception, error, self.own.error, out),
            (true, true) => {
                put_catch(slots, error, self.own.error, out);
                out.extend_from_slice(self.own.ends);
            }
        }
        if !self.leaves {
            return;
        }
        let load = |out: &mut Vec<u8>| {
            if self.has_result {
                put_load(out, slots.result);
            }
        };
        match self.recipe.exit {
            Exit::Always(exit) => {
                out.extend_from_slice(self.own.exit.0);
                out.extend_from_slice(exit.bytes());
                out.extend_from_slice(self.own.exit.1);
            }
            Exit::OfResult(exit) => {
                out.extend_from_slice(self.own.exit.0);
                load(out);
                out.extend_from_slice(exit.bytes());
                out.extend_from_slice(self.own.exit.1);
            }
        }
        load(out);
        out.push(op::RET as u8);
    }
}

/// Whether locals are null or zero where a woven body begins. One that had no locals initialises ours, as verifiers demand
/// (III.1.8.1.1). That would also clear what `localloc` reserves, so bodies with one keep their flag.
pub fn zeroes_locals(body: &Body<'_>) -> bool {
    body.init_locals || body.locals == 0 && !reserves(body.code)
}

/// Whether walked code has a `localloc`. Most code does not even have its two bytes.
fn reserves(code: &[u8]) -> bool {
    let wanted = op::LOCALLOC.to_be_bytes();
    if !code.windows(2).any(|bytes| bytes == wanted) {
        return false;
    }
    let mut pc = 0;
    while (pc as usize) < code.len()
        && let Ok(insn) = insn::at(code, pc)
    {
        if insn.opcode == op::LOCALLOC {
            return true;
        }
        pc = insn.end();
    }
    false
}

/// Whether a return type is `void`; `modreq(IsExternalInit) void` is (II.23.2.11).
fn is_void(result: &[u8]) -> bool {
    result.is_empty() || without_modifiers(result).first() == Some(&element::VOID)
}
