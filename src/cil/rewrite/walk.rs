//! A walk over the old code, which collects what the new code depends on.

use super::recipe::Rewritten;
use crate::cil::il::body::{Body, Clause};
use crate::cil::il::insn::{self, Form, Insn, op, quick};
use crate::cil::metadata::schema::table;
use crate::cil::metadata::tables::token_table;
use crate::edit::Layout;
use crate::error::Result;

/// A branch of the old code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Branch {
    pub(super) insn: Insn,
    pub(super) target: u32,
    pub(super) widened: bool,
}

/// A `ret` that becomes a `leave`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Return {
    pub(super) pc: u32,
    pub(super) far: bool,
}

/// Reusable memory; what [`Scratch::walk`] found in the code.
#[derive(Default)]
pub struct Scratch {
    pub(super) layout: Layout,
    pub(super) branches: Vec<Branch>,
    pub(super) switches: Vec<Insn>,
    pub(super) returns: Vec<Return>,
    /// The `tail.` prefixes, behind where the prefixes of their calls begin.
    pub(super) tails: Vec<(u32, u32)>,
    /// How many `jmp`s there are.
    pub(super) jumps: u32,
    /// The last instruction that can throw.
    pub(super) last_unsafe: Option<u32>,
    /// The instructions that name rows of `Field`, and where their tokens lie; behind the first `named`, anything.
    fields: Vec<(u32, u32)>,
    named: usize,
    pub(super) clauses: Vec<Clause>,
    pub(super) signature: Vec<u8>,
}

/// No pc.
const NONE: u32 = u32::MAX;

impl Scratch {
    /// The map from the old code to the new one, after [`Scratch::rewrite`].
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Where in the old code the tokens of fields lie, after [`Scratch::walk`].
    pub fn old_fields(&self) -> impl Iterator<Item = u32> + '_ {
        self.fields[..self.named].iter().map(|&(_, at)| at)
    }

    /// Where in the output the tokens of fields lie that the old code named, after [`Scratch::rewrite`].
    pub fn fields(&self, new: &Rewritten) -> impl Iterator<Item = usize> + '_ {
        let start = new.code_start;
        let place = move |&(pc, at)| start + (self.layout.insn(pc) + (at - pc)) as usize;
        self.fields[..self.named].iter().map(place)
    }

    fn clear(&mut self) {
        self.branches.clear();
        self.switches.clear();
        self.returns.clear();
        self.tails.clear();
        self.clauses.clear();
        self.jumps = 0;
        self.last_unsafe = None;
        self.named = 0;
    }

    /// Reads the code; shows `each` every instruction with a token, and where its prefixes begin.
    pub fn walk(&mut self, body: &Body<'_>, mut each: impl FnMut(Insn, u32)) -> Result<()> {
        self.clear();
        let code = body.code;
        let mut pc = 0;
        let mut prefixes = None;
        // A token takes five bytes with its opcode.
        let mut fields = 0;
        if self.fields.len() < code.len() / 5 + 1 {
            self.fields.resize(code.len() / 5 + 1, (0, 0));
        }
        // Processors cannot predict which instruction throws or names a field, so there is no branch on it.
        let mut last_unsafe = NONE;
        while let Some(&first) = code.get(pc as usize) {
            let known = insn::quick(first);
            // Most are passed over by their length. Half are one byte long, but to foresee which goes wrong too often.
            let end = pc + u32::from(known & quick::LENGTH);
            if known != 0 && end as usize <= code.len() {
                let throws = known & (quick::UNSAFE | quick::TOKEN) != 0;
                last_unsafe = if throws { pc } else { last_unsafe };
                if known & quick::TOKEN != 0 {
                    let insn = Insn {
                        pc,
                        len: end - pc,
                        opcode: u16::from(first),
                        form: Form::Token,
                    };
                    self.fields[fields] = (pc, end - 4);
                    fields += usize::from(code[end as usize - 1] == table::FIELD);
                    self.jumps += u32::from(insn.opcode == op::JMP);
                    each(insn, prefixes.unwrap_or(pc));
                }
                prefixes = None;
                pc = end;
                continue;
            }
            let insn = insn::at(code, pc)?;
            if matches!(insn.form, Form::Token | Form::TokenPrefix) {
                if token_table(insn.token(code)) == table::FIELD {
                    self.fields[fields] = (pc, insn.end() - 4);
                    fields += 1;
                }
                each(insn, prefixes.unwrap_or(pc));
            }
            if self.collect(code, insn)? {
                last_unsafe = pc;
            }
            if insn.opcode == op::TAIL {
                self.tails.push((prefixes.unwrap_or(pc), pc));
            }
            match insn.form {
                Form::Prefix | Form::TokenPrefix => _ = prefixes.get_or_insert(pc),
                _ => prefixes = None,
            }
            pc = insn.end();
        }
        self.named = fields;
        self.last_unsafe = (last_unsafe != NONE).then_some(last_unsafe);
        for clause in body.clauses() {
            self.clauses.push(clause?);
        }
        Ok(())
    }

    /// Keeps an instruction that the new code depends on. Returns whether it can throw.
    fn collect(&mut self, code: &[u8], insn: Insn) -> Result<bool> {
        let pc = insn.pc;
        // A loop may be stopped from outside: it counts as throwing.
        let mut loops = false;
        match insn.form {
            Form::Safe | Form::Prefix | Form::TokenPrefix => {}
            Form::Plain | Form::Token => return Ok(true),
            Form::ShortBranch | Form::Branch => {
                let target = insn::branch_target(code, insn)?;
                loops = target <= pc;
                self.branches.push(Branch {
                    insn,
                    target,
                    widened: false,
                });
            }
            Form::Switch => {
                insn::switch_targets(code, insn, |target| loops |= target <= pc)?;
                self.switches.push(insn);
            }
            Form::Return => self.returns.push(Return { pc, far: false }),
            Form::Invalid => unreachable!("insn::at refuses them"),
        }
        Ok(loops)
    }

    /// Whether no branch and no clause crosses `pc`, so that what begins there can become a block of
    /// its own. Branches to it may come from above.
    pub fn divides(&self, code: &[u8], pc: u32) -> bool {
        let crosses = |from: u32, to: u32| if from < pc { to > pc } else { to < pc };
        if self.branches.iter().any(|b| crosses(b.insn.pc, b.target)) {
            return false;
        }
        let mut crossing = false;
        for switch in &self.switches {
            let from = switch.pc;
            let read = insn::switch_targets(code, *switch, |to| crossing |= crosses(from, to));
            crossing |= read.is_err();
        }
        !crossing
            && self.clauses.iter().all(|c| {
                let (first, last) = (
                    c.try_start.min(c.handler_start),
                    c.try_end.max(c.handler_end),
                );
                last <= pc || first >= pc
            })
    }

    /// Whether anything branches to `pc`, after [`Scratch::walk`].
    pub fn branches_to(&self, code: &[u8], pc: u32) -> bool {
        let mut found = self.branches.iter().any(|b| b.target == pc);
        for switch in &self.switches {
            let read = insn::switch_targets(code, *switch, |to| found |= to == pc);
            found |= read.is_err();
        }
        found
    }

    /// Where the first clause's code begins.
    pub fn first_clause(&self) -> Option<u32> {
        self.clauses
            .iter()
            .map(|c| c.try_start.min(c.handler_start))
            .min()
    }

    /// The targets of the branches before `pc`, switches left out, in order.
    pub fn branches_before(&self, pc: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.branches
            .iter()
            .map(|b| (b.insn.pc, b.target))
            .take_while(move |(from, _)| *from < pc)
    }

    /// Whether a `switch` lies before `pc`.
    pub fn switch_before(&self, pc: u32) -> bool {
        self.switches.first().is_some_and(|s| s.pc < pc)
    }
}
