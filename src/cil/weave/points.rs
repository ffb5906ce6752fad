//! What is put in front of points and behind them.
//!
//! ```text
//!     [stloc..; ldloc..]; arguments; call; point; [dup; stloc]; arguments; call
//! ```
//!
//! The operands of a point are on the stack. If hooks need more of them than the top, they go to new locals and back.
//! If an exception may be of another type than the hook's, its type is tested first: `dup; isinst; brfalse`.

use crate::aspect::advice::Reason;
use crate::aspect::bind::call::{Convert, Operand, Source};
use crate::aspect::bind::site::{Passed, Placed, Redirect, Where};
use crate::aspect::bind::ty::{Language, Ty};
use crate::aspect::joinpoint::LineStart;
use crate::aspect::plan::Redirected;
use crate::aspect::point::PointKind;
use crate::cil::il::body::Body;
use crate::cil::il::insn::{self, Form, Insn, op};
use crate::cil::image::Image;
use crate::cil::metadata::heaps::compressed;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::tables::{decode, token, token_row, token_table};
use crate::cil::rewrite::Points;
use crate::cil::scan::{sites, types};
use crate::cil::weave::code::Code;
use crate::cil::weave::import::{Importer, Imports};
use crate::error::Result;
use std::sync::Arc;

/// What hooks can be told of the method that has a point, and of the point.
struct Told {
    names: [String; 3],
    line: u32,
}

/// The hook that a point calls, and the names and the line that it can ask for.
#[derive(Clone, Copy)]
struct Called<'t> {
    /// Its token.
    method: u32,
    told: &'t Told,
}

/// What goes around the points of a method, and the types of the locals that it takes, with their number.
#[derive(Default)]
pub(crate) struct Around {
    pub points: Points,
    pub locals: (Vec<u8>, u32),
}

impl Around {
    pub fn extra(&self) -> (&[u8], u32) {
        (&self.locals.0, self.locals.1)
    }
}

/// Type, name and parameters of a method, as hooks get them.
fn names(image: &Image<'_>, ty: u32, index: u32) -> Result<[String; 3]> {
    let metadata = &image.metadata;
    let positions = metadata.method_positions(ty + 1)?;
    let method = metadata.method_at(positions.start + index)?;
    let row = metadata.tables.row(table::METHOD_DEF, method)?;
    let name = metadata.strings.text(row.get(column::method_def::NAME))?;
    let signature = types::signature(image, method, row.get(column::method_def::SIGNATURE));
    let parameters: Vec<String> = signature.map_or(vec![], |signature| {
        let parameters = signature.parameters.iter();
        parameters.map(|p| p.ty.shown(Language::CSharp)).collect()
    });
    let of_type = metadata.types().name(token(table::TYPE_DEF, ty + 1));
    Ok([
        of_type.unwrap_or_default().to_owned(),
        name.into_owned(),
        format!("({})", parameters.join(", ")),
    ])
}

/// Which of these names something is.
fn name_of(passed: Passed) -> Option<usize> {
    match passed {
        Passed::Type => Some(0),
        Passed::Method => Some(1),
        Passed::Signature => Some(2),
        _ => None,
    }
}

/// Imports what a point's static method names. Whether it can be called: the exception that it is about must have a name.
pub(crate) fn import(placed: &Placed, importer: &mut Importer<'_, '_>) -> Result<bool> {
    for ty in placed.point.takes.iter().chain([&placed.point.result]) {
        importer.ty(ty)?;
    }
    if placed.point.kind == PointKind::FieldGet {
        importer.token(&placed.point.result)?;
    }
    Ok(match &placed.test {
        Some(test) => importer.exception_named(test),
        None => true,
    })
}

/// Whether the code of a point's method names a type of the assembly that only another type sees: to box a value of it, or as a type
/// argument.
pub(crate) fn names_hidden(
    image: &Image<'_>,
    redirect: &Redirect,
    importer: &Importer<'_, '_>,
) -> bool {
    let is_hidden = |ty: &Ty| is_hidden(image, ty, importer);
    let boxes = |operand: &Operand| boxes(operand, &is_hidden);
    redirect
        .calls()
        .any(|call| call.generics.iter().any(is_hidden) || call.operands.iter().any(boxes))
}

fn boxes(operand: &Operand, is_hidden: &dyn Fn(&Ty) -> bool) -> bool {
    match (&operand.source, operand.convert) {
        (Source::Args(all), _) => all.iter().any(|operand| boxes(operand, is_hidden)),
        (_, Convert::Box | Convert::Load | Convert::LoadBox) => is_hidden(&operand.from),
        _ => false,
    }
}

fn is_hidden(image: &Image<'_>, ty: &Ty, importer: &Importer<'_, '_>) -> bool {
    match ty {
        Ty::Named(named) => {
            let own = importer.own_type(named);
            let is_hidden_there = || {
                let structs = image.structs.as_ref();
                structs.is_some_and(|structs| structs.is_hidden(&named.name))
            };
            own.map_or_else(is_hidden_there, |ty| !sites::is_type_visible(image, ty))
                || (named.args.iter()).any(|ty| is_hidden(image, ty, importer))
        }
        Ty::Array(inner) | Ty::ByRef(inner) | Ty::Pointer(inner) => {
            is_hidden(image, inner, importer)
        }
        _ => false,
    }
}

/// Imports the names that are passed at points.
pub(crate) fn import_names<'c>(
    image: &Image<'_>,
    calls: impl Iterator<Item = &'c Redirected>,
    all: &[Arc<Redirect>],
    importer: &mut Importer<'_, '_>,
) -> Result<()> {
    for call in calls {
        let placed = all[call.redirect as usize].placed();
        let passed = placed.map_or(&[][..], |placed| &placed.passed);
        if !passed.iter().any(|one| name_of(*one).is_some()) {
            continue;
        }
        let names = names(image, call.ty, call.index)?;
        for name in passed.iter().filter_map(|one| name_of(*one)) {
            importer.text(&names[name].as_str().into())?;
        }
    }
    Ok(())
}

/// The instruction of a point behind its prefixes.
pub(crate) fn instruction(code: &[u8], at: u32) -> Result<Insn> {
    let mut insn = insn::at(code, at)?;
    while matches!(insn.form, Form::Prefix | Form::TokenPrefix)
        && (insn.end() as usize) < code.len()
    {
        insn = insn::at(code, insn.end())?;
    }
    Ok(insn)
}

/// Whether code stores into its first argument.
pub(crate) fn overwrites_this(code: &[u8]) -> Result<bool> {
    let mut pc = 0;
    while (pc as usize) < code.len() {
        let insn = insn::at(code, pc)?;
        let operand = &code[pc as usize..insn.end() as usize];
        let is_first = match insn.opcode {
            op::STARG_S | op::LDARGA_S => operand[1] == 0,
            op::STARG | op::LDARGA => operand[2..4] == [0, 0],
            _ => false,
        };
        if is_first {
            return Ok(true);
        }
        pc = insn.end();
    }
    Ok(false)
}

/// How many locals a signature has.
pub(crate) fn count_of_locals(locals: &[u8]) -> u32 {
    let count = locals.get(1..).and_then(compressed);
    count.map_or(0, |(count, _)| count)
}

/// What a method gets around its points.
pub(crate) struct Method<'m, 'i, 'a> {
    pub image: &'i Image<'a>,
    pub imports: &'m Imports,
    /// What is called, by the numbers of what is called instead.
    pub tokens: &'m [std::result::Result<u32, Reason>],
    pub redirects: &'m [Arc<Redirect>],
    pub body: &'m Body<'a>,
    /// The number of the first new local.
    pub locals: u32,
    /// Where its lines begin, as far as hooks ask for them.
    pub lines: &'m [LineStart],
    /// The field that keeps `this`, in a state machine.
    pub field_of_this: Option<u32>,
}

impl Method<'_, '_, '_> {
    /// What goes around the points of the one method that has them; `None` where something cannot be written.
    pub fn around(&self, calls: &[Redirected]) -> Result<Option<Around>> {
        let mut all = Around {
            points: Points::default(),
            locals: (Vec::new(), 0),
        };
        let takes_names = |call: &&Redirected| {
            let placed = self.redirects[call.redirect as usize].placed();
            placed.is_some_and(|placed| placed.passed.iter().any(|one| name_of(*one).is_some()))
        };
        let mut told = Told {
            names: match calls.iter().find(takes_names) {
                Some(call) => names(self.image, call.ty, call.index)?,
                None => Default::default(),
            },
            line: 0,
        };
        for same in calls.chunk_by(|a, b| a.at == b.at) {
            told.line = LineStart::line_at(self.lines, same[0].at);
            if self.at(same, &told, &mut all)?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(all))
    }

    fn at(&self, calls: &[Redirected], told: &Told, all: &mut Around) -> Result<Option<()>> {
        let insn = instruction(self.body.code, calls[0].at)?;
        let (mut before, mut behind) = (Code::default(), Code::default());
        let mut saved = Saved {
            first: None,
            from: usize::MAX,
        };
        let mut extras = None;
        for call in calls {
            let redirect = &self.redirects[call.redirect as usize];
            let Some(placed) = redirect.placed() else {
                continue;
            };
            let method = match self.tokens.get(call.redirect as usize) {
                Some(Ok(method)) => *method,
                _ => return Ok(None),
            };
            let called = Called { method, told };
            let passed = placed.passed.len() as u32;
            all.points.max_stack = all.points.max_stack.max(passed + 4);
            let put = match placed.when {
                Where::Replace => {
                    extras = Some(placed);
                    Some(())
                }
                Where::Before => self.before(placed, called, &mut saved, &mut before, all),
                Where::After => {
                    saved.save(self, placed, &mut before, all);
                    self.behind(placed, insn.opcode, called, &saved, &mut behind, all)
                }
            };
            if put.is_none() {
                return Ok(None);
            }
        }
        if let Some(placed) = extras
            && self.more(placed, told, &mut before).is_none()
        {
            return Ok(None);
        }
        for (pc, code, is_behind) in [(calls[0].at, before, false), (insn.end(), behind, true)] {
            if code.len() > 0 {
                let point = all.points.at.entry(pc);
                let into = match is_behind {
                    true => &mut point.behind,
                    false => &mut point.before,
                };
                into.extend_from_slice(code.as_bytes());
            }
        }
        Ok(Some(()))
    }

    fn before(
        &self,
        placed: &Placed,
        Called { method, told }: Called<'_>,
        saved: &mut Saved,
        code: &mut Code,
        all: &mut Around,
    ) -> Option<()> {
        if let Some(test) = &placed.test {
            let ty = self.imports.type_token(test)?;
            code.op(op::DUP);
            code.op_u32(op::ISINST, ty);
            let other = code.branch(op::BRFALSE);
            code.op(op::DUP);
            code.op_u32(op::CASTCLASS, ty);
            self.more(placed, told, code)?;
            code.op_u32(op::CALL, method);
            code.land(other);
            return Some(());
        }
        let top = placed.point.takes.len().wrapping_sub(1);
        match saved.from == usize::MAX && placed.values().eq([top]) {
            true => code.op(op::DUP),
            false => {
                saved.save(self, placed, code, all)?;
                saved.load(placed, code);
            }
        }
        self.more(placed, told, code)?;
        code.op_u32(op::CALL, method);
        Some(())
    }

    fn behind(
        &self,
        placed: &Placed,
        opcode: u16,
        Called { method, told }: Called<'_>,
        saved: &Saved,
        code: &mut Code,
        all: &mut Around,
    ) -> Option<()> {
        if placed.passed.contains(&Passed::Result) {
            code.op(op::DUP);
            if matches!(opcode, op::LDFLDA | op::LDSFLDA) {
                code.op_u32(op::LDOBJ, self.imports.type_token(&placed.point.result)?);
            }
            if let Some(ty) = self.unknown(placed) {
                code.op_u32(op::BOX, ty);
            }
            if placed.values().next().is_some() {
                let local = self.local(&placed.point.result, all)?;
                code.store_local(local);
                saved.load(placed, code);
                code.load_local(local);
            }
        } else {
            saved.load(placed, code);
        }
        self.more(placed, told, code)?;
        code.op_u32(op::CALL, method);
        Some(())
    }

    /// The type of a new object that may be a struct or not: to box an object changes nothing.
    fn unknown(&self, placed: &Placed) -> Option<u32> {
        let named = placed.point.reference;
        if placed.point.kind != PointKind::New || token_table(named) != table::MEMBER_REF {
            return None;
        }
        let row = (self.image.metadata.tables).row(table::MEMBER_REF, token_row(named));
        let parent = row.ok()?.get(column::member_ref::CLASS);
        let parent = decode(&coded::MEMBER_REF_PARENT, parent).ok()?;
        (token_table(parent) == table::TYPE_REF).then_some(parent)
    }

    /// A new local.
    fn local(&self, ty: &Ty, all: &mut Around) -> Option<u32> {
        // What nobody asks for has no type, and nothing lies in its local.
        let object = Ty::class("System.Object");
        let ty = match ty {
            Ty::Opaque(_) => &object,
            ty => ty,
        };
        self.imports.put_type(ty, &mut all.locals.0)?;
        all.locals.1 += 1;
        Some(self.locals + all.locals.1 - 1)
    }

    /// What is passed that is not of the point.
    fn more(&self, placed: &Placed, told: &Told, code: &mut Code) -> Option<()> {
        for passed in &placed.passed {
            match (passed, name_of(*passed)) {
                (_, Some(name)) => code.op_u32(op::LDSTR, self.imports.text(&told.names[name])?),
                (Passed::This, _) => {
                    code.load_argument(0);
                    if let Some(field) = self.field_of_this {
                        code.op_u32(op::LDFLD, field);
                    }
                }
                (Passed::Line, _) => code.int(told.line as i32),
                _ => {}
            }
        }
        Some(())
    }
}

/// What of a point's values lies in locals, too.
struct Saved {
    /// The local of the first value.
    first: Option<u32>,
    /// The values from here on are there.
    from: usize,
}

impl Saved {
    fn save(
        &mut self,
        method: &Method<'_, '_, '_>,
        placed: &Placed,
        code: &mut Code,
        all: &mut Around,
    ) -> Option<()> {
        let Some(from) = placed.values_to_keep(self.from) else {
            return Some(());
        };
        let takes = &placed.point.takes;
        let first = match self.first {
            Some(first) => first,
            None => {
                let first = method.locals + all.locals.1;
                for ty in takes {
                    method.local(ty, all)?;
                }
                first
            }
        };
        self.first = Some(first);
        for n in (from..takes.len()).rev() {
            code.store_local(first + n as u32);
        }
        for n in from..takes.len() {
            code.load_local(first + n as u32);
        }
        self.from = from;
        Some(())
    }

    fn load(&self, placed: &Placed, code: &mut Code) {
        for n in placed.values() {
            code.load_local(self.first.unwrap_or_default() + n as u32);
        }
    }
}
