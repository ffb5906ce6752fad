//! What is put in front of points and behind them.
//!
//! ```text
//!     [move-object vS, target]; arguments; invoke-static; point; arguments; invoke-static
//! ```
//!
//! Registers of the method that can be listed are passed as they are. Others, and constants, are put into free ones behind the frame.

use crate::aspect::advice::Reason;
use crate::aspect::attempt::Attempt;
use crate::aspect::bind::site::{Passed, Placed, Where};
use crate::aspect::bind::ty::{Language, Ty};
use crate::aspect::joinpoint::LineStart;
use crate::aspect::point::PointKind;
use crate::bytes::mutf8;
use crate::dex::analysis::caught::{Caught, Handlers};
use crate::dex::format::code_item::Code;
use crate::dex::format::debug_lines;
use crate::dex::format::file::{File, MethodId};
use crate::dex::format::insn::{self, Insn};
use crate::dex::format::opcodes::op;
use crate::dex::lower::insertions::Insertions;
use crate::dex::lower::registers::{self, Width, move_result, width};
use crate::dex::points;
use crate::error::Result;

/// Eight bits name a register that gets a constant.
const MOST_REGISTERS: u32 = 256;

/// What is called at a point.
pub struct Wanted<'w> {
    pub at: u32,
    pub placed: &'w Placed,
    /// The method's index.
    pub called: u32,
    /// Where what it throws goes.
    pub caught: Caught,
}

/// A method that gets something at its points.
pub struct Method<'a> {
    code: Code<'a>,
    is_static: bool,
    /// `type`, `method` and `signature`, as operands have them.
    pub names: [String; 3],
    lines: Vec<LineStart>,
    /// Where its object is initialised; none: everywhere.
    initialised: Option<std::result::Result<Vec<(u32, u32)>, Reason>>,
    handlers: Handlers<'a>,
    /// Where constructors are called, and where the objects are made for them.
    made: Vec<(u32, u32)>,
}

/// What goes into a register that is passed.
enum Operand<'t> {
    Register(Width, u32),
    Number(u32),
    Text(&'t str),
}

impl<'a> Method<'a> {
    /// A method of the file, by its index.
    pub fn new(file: &File<'a>, id: u32, code: Code<'a>, is_static: bool) -> Result<Self> {
        let MethodId { class, proto, name } = file.method(id)?;
        let name = mutf8(file.string(name)?).into_owned();
        let is_constructor = name == "<init>";
        let mut descriptor = String::new();
        file.proto_descriptor(proto, &mut descriptor)?;
        let mut rest = descriptor.strip_prefix('(').unwrap_or_default();
        let mut types = Vec::new();
        while let Some((ty, behind)) = Ty::of_descriptor(rest) {
            types.push(ty.shown(Language::Java));
            rest = behind;
        }
        Ok(Method {
            code,
            is_static,
            names: [
                file.type_name(class)?.replace('/', "."),
                name,
                format!("({})", types.join(", ")),
            ],
            lines: debug_lines::lines(file.bytes, &code)?,
            initialised: match is_constructor {
                true => Some(points::initialised(&code)?),
                false => None,
            },
            handlers: Handlers::new(code)?,
            made: points::new_objects(file, &code)?,
        })
    }

    /// Where what a call at a point throws goes, or why it cannot be called there.
    pub fn caught(&self, at: u32, placed: &Placed) -> Attempt<Caught> {
        let insn = insn::at(self.code.insns, at)?;
        let is_behind = is_behind(placed, insn);
        if is_behind {
            let next = insn::at(self.code.insns, insn.end());
            if !next.is_ok_and(|next| !next.is_payload) {
                return Err(Reason::Unsupported.into());
            }
        }
        if placed.point.kind == PointKind::Line && self.handlers.is_one(insn) {
            return Err(Reason::Unsupported.into());
        }
        if placed.passed.contains(&Passed::This) {
            if self.is_static || insn::writes(self.code.insns, self.code.locals())? {
                return Err(Reason::Unsupported.into());
            }
            match &self.initialised {
                Some(Err(reason)) => return Err((*reason).into()),
                Some(Ok(ranges)) if !points::is_within(ranges, at) => {
                    return Err(Reason::Uninitialised.into());
                }
                _ => {}
            }
        }
        match is_behind {
            true => self.handlers.behind(insn),
            false => self.handlers.before(at),
        }
    }

    /// What is put around its points, which come in the order in which it is put there. `string` gives a string's index.
    pub fn insertions(
        &self,
        wanted: &[Wanted<'_>],
        string: impl Fn(&str) -> Result<u32>,
    ) -> Result<std::result::Result<Insertions, Reason>> {
        let mut all = Insertions::default();
        let saved = u32::from(self.code.registers);
        for same in wanted.chunk_by(|a, b| a.at == b.at) {
            let insn = insn::at(self.code.insns, same[0].at)?;
            let (mut before, mut behind) = (Vec::new(), Vec::new());
            let mut replaces = false;
            let mut replaced = Vec::new();
            let mut is_saved = false;
            let (mut caught, mut behind_caught) = (Caught::Here, Caught::Here);
            for one in same {
                let placed = one.placed;
                // The target, where what is read comes into its register.
                let asks = placed.when == Where::After && placed.passed.contains(&Passed::Stack(0));
                let asks = asks && placed.point.kind == PointKind::FieldGet;
                if asks && placed.point.has_target && insn.written().contains(&insn.b) && !is_saved
                {
                    registers::put_move(&mut before, Width::Object, saved, insn.b);
                    is_saved = true;
                    all.registers = all.registers.max(1);
                }
                let (out, goes) = match is_behind(placed, insn) {
                    true => (&mut behind, &mut behind_caught),
                    false => (&mut before, &mut caught),
                };
                *goes = one.caught;
                let operands = self.operands(insn, placed, asks && is_saved);
                self.call(one.called, &operands, &mut all, &string, out)?;
                if placed.when == Where::Replace {
                    replaces = true;
                    if let Some(opcode) = move_result(&placed.point.result) {
                        registers::put_one(out, opcode, self.result(insn, placed));
                    }
                    if placed.point.kind == PointKind::New {
                        let made = self.made.binary_search_by_key(&insn.pc, |made| made.0);
                        replaced.extend(made.map(|place| self.made[place].1));
                    }
                }
            }
            for pc in replaced {
                all.at.entry(pc).replaces = true;
            }
            if !before.is_empty() {
                let at = all.at.entry(insn.pc);
                at.before = before;
                at.caught = caught;
                at.replaces |= replaces;
            }
            if !behind.is_empty() {
                let at = all.at.entry(insn.end());
                at.behind = behind;
                at.behind_caught = behind_caught;
            }
        }
        Ok(match saved + all.registers <= MOST_REGISTERS {
            true => Ok(all),
            false => Err(Reason::Unsupported),
        })
    }

    /// The register of what a point gives.
    fn result(&self, insn: Insn, placed: &Placed) -> u32 {
        match placed.point.kind {
            // The object, which its constructor is called on.
            PointKind::New => insn::arguments(self.code.insns, insn)
                .next()
                .unwrap_or_default(),
            _ => insn.a,
        }
    }

    /// The register of what a point takes.
    fn taken(&self, insn: Insn, placed: &Placed, n: u16) -> u32 {
        let point = &placed.point;
        match point.kind {
            PointKind::New => {
                let words = point.takes[..usize::from(n)].iter().map(width);
                let place = 1 + words.map(Width::words).sum::<u32>();
                let mut all = insn::arguments(self.code.insns, insn);
                all.nth(place as usize).unwrap_or_default()
            }
            PointKind::FieldGet | PointKind::FieldSet if point.has_target && n == 0 => insn.b,
            // A value that is set, an exception, a lock.
            _ => insn.a,
        }
    }

    fn operands(&self, insn: Insn, placed: &Placed, is_saved: bool) -> Vec<Operand<'_>> {
        let point = &placed.point;
        let [ty, method, signature] = &self.names;
        let each = placed.passed.iter().map(|passed| match passed {
            Passed::Stack(0) if is_saved => {
                Operand::Register(Width::Object, u32::from(self.code.registers))
            }
            Passed::Stack(n) => Operand::Register(
                width(&point.takes[usize::from(*n)]),
                self.taken(insn, placed, *n),
            ),
            Passed::Result => Operand::Register(width(&point.result), self.result(insn, placed)),
            Passed::This => Operand::Register(Width::Object, self.code.locals()),
            Passed::Line => Operand::Number(LineStart::line_at(&self.lines, insn.pc)),
            Passed::Type => Operand::Text(ty),
            Passed::Method => Operand::Text(method),
            Passed::Signature => Operand::Text(signature),
        });
        each.collect()
    }

    fn call(
        &self,
        called: u32,
        operands: &[Operand<'_>],
        all: &mut Insertions,
        string: &impl Fn(&str) -> Result<u32>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let mut list = Vec::new();
        let mut words = 0;
        let mut is_listed = true;
        for operand in operands {
            match operand {
                Operand::Register(width, register) => {
                    list.extend(*register..register + width.words());
                    words += width.words();
                }
                _ => {
                    is_listed = false;
                    words += 1;
                }
            }
        }
        all.outs = all.outs.max(words);
        let is_range = list.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        if is_listed && (registers::can_be_listed(&list) || is_range) {
            registers::put_invoke_static(out, called as u16, &list);
            return Ok(());
        }
        // The first is for a target that is kept.
        let first = u32::from(self.code.registers) + 1;
        all.registers = all.registers.max(1 + words);
        let mut to = first;
        for operand in operands {
            match operand {
                Operand::Register(width, register) => {
                    registers::put_move(out, *width, to, *register);
                    to += width.words();
                    continue;
                }
                Operand::Number(number) => registers::put_const(out, to, *number),
                Operand::Text(text) => registers::put_const_string(out, to, string(text)?),
            }
            to += 1;
        }
        let list: Vec<u32> = (first..to).collect();
        registers::put_invoke_static(out, called as u16, &list);
        Ok(())
    }
}

/// What a point's call lies behind: what is caught is there behind the first instruction of its handler.
fn is_behind(placed: &Placed, insn: Insn) -> bool {
    placed.when == Where::After || insn.opcode == op::MOVE_EXCEPTION
}
