//! Redirected calls: each is replaced by a call of another method. This makes the calls; [`instead`](super::instead) makes
//! the classes of these methods.
//!
//! A call is replaced in place: `invokestatic` takes the same words from the stack, and the extra bytes of an
//! `invokeinterface` become `nop`. So nothing in the method moves.

use crate::aspect::advice::Reason;
use crate::aspect::attempt::Attempt;
use crate::aspect::bind::site::{Goal, Placed, Redirect, Where};
use crate::aspect::plan::{LeftCall, Plan, Redirected};
use crate::aspect::point::PointKind;
use crate::bytes::modified_utf8;
use crate::error::Result;
use crate::jvm::class::{Class, Code, MethodInfo};
use crate::jvm::emit;
use crate::jvm::insn::{self, op};
use crate::jvm::lower;
use crate::jvm::place::{self, Edits, Instead};
use crate::jvm::pool::{self, Additions, tag};
use crate::jvm::{nulls, points, references};
use std::sync::Arc;

/// Most constants that a redirected call adds: those of a method, its class's two, and those that make a function of it.
const MAX_ADDITIONS: u16 = 8;

/// The redirected calls and points of a class, one method after another.
pub struct Calls<'c, 'a> {
    class: &'c Class<'a>,
    redirects: &'c [Arc<Redirect>],
    references: references::Added,
    /// The calls that stay as they are, and why.
    pub left: Vec<LeftCall>,
}

/// How far a class's calls were when a method's turn came.
pub struct Mark {
    additions: pool::Mark,
    references: references::Mark,
    left: usize,
}

impl<'c, 'a> Calls<'c, 'a> {
    pub fn new(class: &'c Class<'a>, plan: &'c Plan) -> Calls<'c, 'a> {
        Calls {
            class,
            redirects: &plan.redirects,
            references: references::Added::default(),
            left: Vec::new(),
        }
    }

    fn redirect(&self, call: &Redirected) -> &'c Redirect {
        &self.redirects[call.redirect as usize]
    }

    fn placed(&self, call: &Redirected) -> Option<&'c Placed> {
        self.redirect(call).placed()
    }

    pub fn mark(&self, additions: &Additions) -> Mark {
        Mark {
            additions: additions.mark(),
            references: self.references.mark(),
            left: self.left.len(),
        }
    }

    pub fn rollback(&mut self, mark: &Mark, additions: &mut Additions) {
        additions.rollback(mark.additions);
        self.references.rollback(mark.references);
        self.left.truncate(mark.left);
    }

    /// The calls of a method that can be put where they are planned; the others are noted. `stays`: why the method gets no
    /// other code.
    pub fn kept(
        &mut self,
        method: &MethodInfo,
        code: Code<'a>,
        stays: Option<Reason>,
        calls: &[Redirected],
    ) -> Result<Vec<Redirected>> {
        if let Some(reason @ Reason::Inlined) = stays {
            self.left
                .extend(LeftCall::all(calls.iter().copied(), reason));
            return Ok(Vec::new());
        }
        if !calls.iter().any(|call| self.placed(call).is_some()) {
            return Ok(calls.to_vec());
        }
        let at = place::Method::new(self.class, method, code)?;
        let mut kept = Vec::new();
        for call in calls {
            let reason = match (self.placed(call), stays) {
                (None, _) => None,
                (Some(_), Some(reason)) => Some(reason),
                (Some(placed), None) => at.refuses(*call, placed)?,
            };
            match reason {
                Some(reason) => self.left.push(LeftCall {
                    call: *call,
                    reason,
                }),
                None => kept.push(*call),
            }
        }
        Ok(kept)
    }

    /// Leaves a method's points; returns the other calls.
    pub fn leave_points(&mut self, calls: Vec<Redirected>, reason: Reason) -> Vec<Redirected> {
        let is_point = |call: &Redirected| self.placed(call).is_some();
        let (points, others): (Vec<_>, Vec<_>) = calls.into_iter().partition(is_point);
        self.left.extend(LeftCall::all(points, reason));
        others
    }

    /// What a method gets at these calls. `looks`: tests for null, where there is room. Without them a call of null fails in
    /// another place than before.
    pub fn edits(
        &mut self,
        method: &MethodInfo,
        code: Code<'a>,
        calls: &[Redirected],
        looks: bool,
        additions: &mut Additions,
    ) -> Attempt<Edits> {
        let mut edits = Edits::default();
        let all = self.instead(&code, calls, additions, &mut edits)?;
        let points: Vec<(Redirected, &Redirect)> = (all.iter())
            .filter(|(_, redirect)| redirect.placed().is_some())
            .copied()
            .collect();
        let looks = looks && all.iter().any(|(_, redirect)| nulls::may_fail(redirect));
        if points.is_empty() && !looks {
            return Ok(edits);
        }
        let most = place::constants_needed(&points) + usize::from(lower::MAX_ADDITIONS);
        if usize::from(additions.room()) < most {
            return Err(Reason::PoolFull.into());
        }
        if !points.is_empty() {
            place::Method::new(self.class, method, code)?.put(&points, additions, &mut edits)?;
        }
        if looks {
            nulls::put(self.class, method, &code, &all, additions, &mut edits)?;
        }
        Ok(edits)
    }

    /// Puts what replaces instructions. Returns the calls for which there was room.
    fn instead(
        &mut self,
        code: &Code<'a>,
        calls: &[Redirected],
        additions: &mut Additions,
        edits: &mut Edits,
    ) -> Result<Vec<(Redirected, &'c Redirect)>> {
        let class = self.class;
        let mut kept = Vec::with_capacity(calls.len());
        let mut made: Option<Vec<points::New>> = None;
        for call in calls {
            let redirect = self.redirect(call);
            let insn = insn::at(code.insns, call.at)?;
            let is_reference = insn.opcode == op::INVOKEDYNAMIC && redirect.placed().is_none();
            let mut instead = Instead {
                at: call.at,
                len: insn.len,
                opcode: op::INVOKESTATIC,
                constant: 0,
            };
            if additions.room() < MAX_ADDITIONS {
                self.left.push(LeftCall {
                    call: *call,
                    reason: Reason::PoolFull,
                });
                continue;
            }
            match redirect.placed() {
                Some(placed) if placed.when != Where::Replace => {
                    kept.push((*call, redirect));
                    continue;
                }
                Some(placed) if placed.point.kind == PointKind::New => {
                    let made = match &mut made {
                        Some(made) => made,
                        None => made.insert(points::new_objects(class, code)?),
                    };
                    let place = made.binary_search_by_key(&call.at, |made| made.called);
                    let Ok(place) = place else {
                        continue;
                    };
                    // `new` and `dup`
                    edits.instead.push(Instead {
                        at: made[place].made,
                        len: 4,
                        opcode: op::NOP,
                        constant: 0,
                    });
                }
                _ => {}
            }
            instead.constant = called(class, redirect, additions);
            if is_reference {
                let at = call.at as usize;
                let dynamic = u16::from_be_bytes([code.insns[at + 1], code.insns[at + 2]]);
                instead.opcode = op::INVOKEDYNAMIC;
                let put = (self.references).put(class, dynamic, instead.constant, additions)?;
                let Some(dynamic) = put else {
                    self.left.push(LeftCall {
                        call: *call,
                        reason: Reason::PoolFull,
                    });
                    continue;
                };
                instead.constant = dynamic;
            }
            edits.instead.push(instead);
            kept.push((*call, redirect));
        }
        Ok(kept)
    }

    /// Puts what the calls need besides methods into the class file, which ends with `rest`.
    pub fn finish(self, rest: &mut Vec<u8>) -> Vec<LeftCall> {
        self.references.finish(self.class, rest);
        self.left
    }
}

/// The constant of the method that is called instead.
fn called(class: &Class<'_>, redirect: &Redirect, additions: &mut Additions) -> u16 {
    let (owner, name, descriptor) = match redirect.goal() {
        Goal::Hook(replace) => {
            let hook = &replace.call.hook;
            (
                emit::class_name(&hook.owner),
                &*hook.name,
                emit::descriptor(&hook.parameters, &hook.result),
            )
        }
        Goal::Class(class) => (
            modified_utf8(class),
            "call",
            emit::descriptor(&redirect.callee.taken(), &redirect.callee.result),
        ),
    };
    let owner = additions.class(&class.pool, &owner);
    additions.shared_method(tag::METHODREF, owner, &modified_utf8(name), &descriptor)
}
