//! The copy of a hook's body, for one method: the same instructions with other variables, constants and offsets.
//!
//! In front of the hook's own parameters the copy takes what it calls the body with, so the variables of the hook lie behind that.

use super::{Constant, Frame, HookBody, Item};
use crate::aspect::bind::ty::Ty;
use crate::edit::Layout;
use crate::error::Result;
use crate::jvm::class::Class;
use crate::jvm::emit::{self, Kind, Snippet};
use crate::jvm::frames::{FullFrame, VerificationType, item, put_spelt, verification_type};
use crate::jvm::insn::{self, Form, Insn, op};
use crate::jvm::made::{cast, gives};
use crate::jvm::pool::{Additions, tag};

/// What is called where the hook calls `proceed`.
pub struct Target<'t> {
    /// `invokestatic`, or `invokespecial` for a private method of an object.
    pub opcode: u8,
    pub method: u16,
    /// What it takes, `this` first.
    pub takes: &'t [Ty],
    pub has_this: bool,
    pub result: &'t Ty,
}

/// The code of a copy.
pub struct Copied {
    pub out: Snippet,
    pub max_locals: u16,
    pub tries: Vec<[u16; 4]>,
    /// The contents of its StackMapTable, if it has frames.
    pub frames: Option<Vec<u8>>,
}

impl HookBody {
    /// What the copy takes in front of the hook's own parameters.
    fn kept<'t>(&self, target: &Target<'t>) -> &'t [Ty] {
        match self.proceed.takes_arguments {
            true => &target.takes[..usize::from(target.has_this)],
            false => target.takes,
        }
    }

    pub fn descriptor(&self, target: &Target<'_>) -> Vec<u8> {
        let own = self.hook.parameters.iter().enumerate();
        let own = own.filter(|(n, _)| *n != self.parameter).map(|(_, ty)| ty);
        let parameters: Vec<Ty> = self.kept(target).iter().chain(own).cloned().collect();
        emit::descriptor(&parameters, &self.hook.result)
    }

    /// The copy that calls this. Constants go to the additions of the class.
    pub fn copy(
        &self,
        target: &Target<'_>,
        class: &Class<'_>,
        additions: &mut Additions,
    ) -> Result<Copied> {
        let kept = self.kept(target);
        let words = kept.iter().map(emit::words).sum::<u32>() as u16;
        let mut copying = Copying {
            body: self,
            target,
            kept,
            words,
            class,
            additions,
        };
        // Lengths do not depend on where branches lead to: first where all lies, then the code.
        let same: Vec<u32> = (0..=self.insns.len() as u32).collect();
        let (_, pcs) = copying.code(&same)?;
        let (code, _) = copying.code(&pcs)?;
        let mut tries = Vec::new();
        for one in &self.tries {
            let [start, end, handler] =
                [one.start, one.end, one.handler].map(|pc| pcs[pc as usize] as u16);
            let caught = one.caught.as_ref();
            let caught = caught.map_or(0, |class| copying.constant(class));
            // It may have covered a load of `proceed` alone.
            if start < end {
                tries.push([start, end, handler, caught]);
            }
        }
        let frames = copying.frames(&pcs)?;
        let mut out = Snippet::default();
        out.raw(&code);
        let taken: u32 = target.takes.iter().map(emit::words).sum();
        out.restart(u32::from(self.max_stack) + taken.max(2));
        let spilt: u32 = self.taken().map(Kind::words).sum();
        Ok(Copied {
            out,
            max_locals: copying.slot(self.max_locals) + spilt as u16,
            tries,
            frames,
        })
    }
}

/// A copy under way.
struct Copying<'c, 'a> {
    body: &'c HookBody,
    target: &'c Target<'c>,
    /// What is in front of the hook's own parameters, and how many words that is.
    kept: &'c [Ty],
    words: u16,
    class: &'c Class<'a>,
    additions: &'c mut Additions,
}

impl Copying<'_, '_> {
    /// The variable that one of the hook's is now.
    fn slot(&self, slot: u16) -> u16 {
        slot + self.words - u16::from(slot > self.body.slot)
    }

    fn constant(&mut self, constant: &Constant) -> u16 {
        let pool = &self.class.pool;
        let additions = &mut *self.additions;
        match constant {
            Constant::Class(name) => additions.class(pool, name),
            Constant::String(text) => {
                let text = additions.shared_utf8(text);
                additions.shared(tag::STRING, &text.to_be_bytes())
            }
            Constant::Number(tag, data) => additions.shared(*tag, data),
            Constant::Member {
                tag,
                owner,
                name,
                descriptor,
            } => {
                let owner = additions.class(pool, owner);
                additions.shared_method(*tag, owner, name, descriptor)
            }
        }
    }

    /// The code, where each old pc is now at one of `known`; and where each is.
    fn code(&mut self, known: &[u32]) -> Result<(Vec<u8>, Vec<u32>)> {
        let body = self.body;
        let mut out = Vec::new();
        let mut pcs = Vec::with_capacity(body.insns.len() + 1);
        while pcs.len() < body.insns.len() {
            let insn = insn::at(&body.insns, pcs.len() as u32)?;
            pcs.resize(pcs.len() + insn.len as usize, out.len() as u32);
            self.put(insn, known, &mut out)?;
        }
        pcs.push(out.len() as u32);
        Ok((out, pcs))
    }

    fn put(&mut self, insn: Insn, known: &[u32], out: &mut Vec<u8>) -> Result<()> {
        let body = self.body;
        let code = &*body.insns;
        let (at, end) = (insn.pc as usize, (insn.pc + insn.len) as usize);
        let new_pc = out.len() as u32;
        let mut piece = Snippet::default();
        if body.loads.contains(&insn.pc) {
            return Ok(());
        }
        if body.runs.contains(&insn.pc) {
            self.run(&mut piece);
        } else if let Some(constant) = body.operands.get(&insn.pc) {
            let constant = self.constant(constant);
            match insn.opcode {
                op::LDC | op::LDC_W => piece.ldc(constant),
                opcode => {
                    piece.indexed(opcode, constant, 0, 0);
                    piece.raw(&code[at + 3..end]);
                }
            }
        } else if let Some(local) = insn::store(code, insn) {
            piece.store(Kind::at(local.kind), self.slot(local.slot as u16));
        } else if let Some(local) = insn::load(code, insn) {
            piece.load(Kind::at(local.kind), self.slot(local.slot as u16));
        } else if insn.opcode == op::IINC {
            // Variables have one byte: that is asked before.
            piece.raw(&[op::IINC, self.slot(code[at + 1].into()) as u8, code[at + 2]]);
        } else if insn.form == Form::Branch {
            let to = known[insn::branch_target(code, insn)? as usize];
            piece.indexed(insn.opcode, (to as i32 - new_pc as i32) as u16, 0, 0);
        } else if insn.form == Form::Switch {
            insn::put_switch(out, code, insn, new_pc, |pc| known[pc as usize]);
        } else {
            piece.raw(&code[at..end]);
        }
        out.extend_from_slice(piece.bytes());
        Ok(())
    }

    /// The call in place of one of `proceed`. What that takes lies on the stack.
    fn run(&mut self, out: &mut Snippet) {
        let function = &self.body.proceed.function;
        let mut slot = self.slot(self.body.max_locals);
        let mut given = Vec::new();
        for kind in self.body.taken() {
            given.push((kind, slot));
            slot += kind.words() as u16;
        }
        for &(kind, slot) in given.iter().rev() {
            out.store(kind, slot);
        }
        let mut slot = 0;
        for kind in self.kept.iter().filter_map(Kind::of) {
            out.load(kind, slot);
            slot += kind.words() as u16;
        }
        let taken = &self.target.takes[self.kept.len()..];
        for (n, (kind, slot)) in given.into_iter().enumerate() {
            out.load(kind, slot);
            cast(out, &function.parameters[n], &taken[n], self.additions);
        }
        out.indexed(self.target.opcode, self.target.method, 0, 0);
        gives(out, self.target.result, &function.result, self.additions);
    }

    fn frames(&mut self, pcs: &[u32]) -> Result<Option<Vec<u8>>> {
        let body = self.body;
        if body.frames.is_empty() {
            return Ok(None);
        }
        let kept: Vec<VerificationType> = (self.kept.iter())
            .map(|ty| verification_type(ty, self.class, self.additions))
            .collect();
        let frames: Vec<FullFrame> = (body.frames.iter())
            .map(|frame| self.frame(frame, &kept, pcs))
            .collect();
        let mut out = Vec::new();
        let frames = frames.iter().map(|frame| (frame.pc, frame));
        put_spelt(&mut out, frames, &Layout::default(), &[], true)?;
        Ok(Some(out))
    }

    fn frame(&mut self, frame: &Frame, kept: &[VerificationType], pcs: &[u32]) -> FullFrame {
        let mut item = |one: &Item| match one {
            Item::Plain(tag) => (*tag, 0),
            Item::Object(class) => (item::OBJECT, self.constant(class)),
            Item::New(pc) => (item::UNINITIALIZED, pcs[*pc as usize] as u16),
        };
        let own: Vec<VerificationType> = frame.locals.iter().map(&mut item).collect();
        FullFrame {
            pc: pcs[frame.pc as usize],
            locals: [kept, &own].concat(),
            stack: frame.stack.iter().map(&mut item).collect(),
        }
    }
}
