//! Where a constructor's `this` becomes initialised (JVMS 4.10.2.4).
//!
//! Hooks cover the body after the call to `super(...)` or `this(...)`. That call is found by
//! following `uninitializedThis` through local variables and the stack from the method's start:
//! `super(new Parent())` has two calls of one `<init>`, `aload_0; astore_1; aload_1; invokespecial` is
//! legal, and Groovy's constructors choose between several such calls with a switch.

use crate::aspect::advice::Reason;
use crate::error::Result;
use crate::jvm::class::{Class, Code};
use crate::jvm::frames;
use crate::jvm::insn::{self, Form, Insn, op};
use crate::jvm::signature::{method_words, type_words};
use rustc_hash::FxHashMap;

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Initialisation {
    /// The pcs right behind each call that initialises `this`, ascending.
    pub behind: Vec<u32>,
    /// The ranges `start..end` of pcs where `this` is initialised.
    pub ranges: Vec<(u32, u32)>,
}

/// Which words of the locals and the stack hold `uninitializedThis`.
#[derive(Clone, PartialEq, Eq)]
struct State {
    locals: Vec<bool>,
    stack: Vec<bool>,
}

impl State {
    /// Keeps what holds in both; `None` where the stacks do not fit, else whether it changed.
    fn merge(&mut self, other: &State) -> Option<bool> {
        if self.stack.len() != other.stack.len() {
            return None;
        }
        let before = self.clone();
        for (mine, theirs) in self.locals.iter_mut().zip(&other.locals) {
            *mine &= theirs;
        }
        for (mine, theirs) in self.stack.iter_mut().zip(&other.stack) {
            *mine &= theirs;
        }
        Some(*self != before)
    }

    fn pop(&mut self, words: usize) -> Option<()> {
        let left = self.stack.len().checked_sub(words)?;
        self.stack.truncate(left);
        Some(())
    }

    fn push(&mut self, words: usize) {
        self.stack.resize(self.stack.len() + words, false);
    }

    /// Takes the top `n` words and puts a copy of them below the `under` words beneath.
    fn dup(&mut self, n: usize, under: usize) -> Option<()> {
        let top = self.stack.len().checked_sub(n)?;
        let at = top.checked_sub(under)?;
        for i in 0..n {
            let word = self.stack[top + 2 * i];
            self.stack.insert(at + i, word);
        }
        Some(())
    }

    fn load(&mut self, slot: usize) -> Option<()> {
        let word = *self.locals.get(slot)?;
        self.stack.push(word);
        Some(())
    }

    fn store(&mut self, slot: usize) -> Option<()> {
        let word = self.stack.pop()?;
        *self.locals.get_mut(slot)? = word;
        Some(())
    }
}

/// Most words of locals and stack, over all instructions, that are followed.
const MAX_STATE: usize = 64 << 20;

/// What an instruction does to the flow.
enum Step {
    /// Control goes on behind it.
    Next,
    /// It initialises `this`.
    Initialises,
}

/// Finds the calls that initialise `this` in a constructor, given the contents of its StackMapTable
/// (or nothing).
pub fn analyse(
    class: &Class<'_>,
    code: &Code<'_>,
    stack_map: &[u8],
) -> Result<Result<Initialisation, Reason>> {
    if code.max_locals == 0 {
        return Ok(Err(Reason::Unsupported));
    }
    let mut start = State {
        locals: vec![false; usize::from(code.max_locals)],
        stack: Vec::new(),
    };
    start.locals[0] = true;
    let found = match straight(class, code, stack_map, start.clone())? {
        Some(found) => found,
        None => match general(class, code, stack_map, start)? {
            Some(found) => found,
            None => return Ok(Err(Reason::Unsupported)),
        },
    };
    Ok(if found.behind.is_empty() {
        Err(Reason::NoSuperCall)
    } else {
        Ok(found)
    })
}

/// The ordinary constructor: no branch and no handler before the call.
fn straight(
    class: &Class<'_>,
    code: &Code<'_>,
    stack_map: &[u8],
    mut state: State,
) -> Result<Option<Initialisation>> {
    let first_try = code
        .exceptions
        .chunks_exact(8)
        .map(|e| u32::from(u16::from_be_bytes([e[0], e[1]])))
        .min()
        .unwrap_or(u32::MAX);
    let mut later_uninitialised = false;
    if !stack_map.is_empty() {
        frames::pcs(stack_map, |_, uninitialised| {
            later_uninitialised |= uninitialised
        })?;
    }
    if later_uninitialised {
        return Ok(None);
    }
    let len = code.insns.len() as u32;
    let mut pc = 0;
    while pc < len {
        let insn = insn::at(code.insns, pc)?;
        if pc >= first_try
            || insn.form != Form::Plain && insn.form != Form::StoreN && insn.form != Form::Store
        {
            return Ok(None);
        }
        pc += insn.len;
        match step(class, code, insn, &mut state)? {
            Some(Step::Next) if !insn::ends_flow(insn.opcode) => {}
            Some(Step::Initialises) if pc < len && first_try >= pc => {
                return Ok(Some(Initialisation {
                    behind: vec![pc],
                    ranges: vec![(pc, len)],
                }));
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// Any constructor: all paths in which `this` is not initialised yet, to a fixpoint.
/// `None` where the code makes no sense.
fn general(
    class: &Class<'_>,
    code: &Code<'_>,
    stack_map: &[u8],
    start: State,
) -> Result<Option<Initialisation>> {
    let len = code.insns.len() as u32;
    // A state for every instruction: hostile code could ask for gigabytes. Real constructors stay
    // far below this.
    if code.insns.len() * (usize::from(code.max_locals) + usize::from(code.max_stack)) > MAX_STATE {
        return Ok(None);
    }
    let mut states: FxHashMap<u32, State> = FxHashMap::default();
    states.insert(0, start);
    let mut work = vec![0u32];
    let mut behind = Vec::new();
    // pc -> end, of instructions reached while `this` is uninitialised
    let mut raw: FxHashMap<u32, u32> = FxHashMap::default();
    while let Some(pc) = work.pop() {
        let insn = insn::at(code.insns, pc)?;
        let before = states[&pc].clone();
        let mut state = before.clone();
        raw.insert(pc, pc + insn.len);
        let mut targets: Vec<u32> = Vec::new();
        match insn.form {
            Form::Branch | Form::WideBranch => {
                if matches!(insn.opcode, op::JSR | op::JSR_W) {
                    return Ok(None);
                }
                targets.push(insn::branch_target(code.insns, insn)?);
            }
            Form::Switch => insn::switch_targets(code.insns, insn, |t| targets.push(t))?,
            _ => {}
        }
        let next = pc + insn.len;
        match step(class, code, insn, &mut state)? {
            None => return Ok(None),
            Some(_) if state.stack.len() > usize::from(code.max_stack) => return Ok(None),
            Some(Step::Initialises) => behind.push(next),
            Some(Step::Next) => {
                if !insn::ends_flow(insn.opcode) {
                    targets.push(next);
                }
            }
        }
        let mut flow = |target: u32, state: &State| -> Option<()> {
            if target >= len {
                return None;
            }
            match states.get_mut(&target) {
                None => {
                    states.insert(target, state.clone());
                    work.push(target);
                }
                Some(known) => {
                    if known.merge(state)? {
                        work.push(target);
                    }
                }
            }
            Some(())
        };
        for target in targets {
            if flow(target, &state).is_none() {
                return Ok(None);
            }
        }
        for entry in code.exceptions.chunks_exact(8) {
            let field = |i: usize| u32::from(u16::from_be_bytes([entry[i], entry[i + 1]]));
            if (field(0)..field(2)).contains(&pc) {
                // The exception may come before or after a store.
                let mut caught = State {
                    locals: before.locals.clone(),
                    stack: vec![false],
                };
                for (mine, theirs) in caught.locals.iter_mut().zip(&state.locals) {
                    *mine &= theirs;
                }
                if flow(field(4), &caught).is_none() {
                    return Ok(None);
                }
            }
        }
    }
    let mut raw: Vec<(u32, u32)> = raw.into_iter().collect();
    if !stack_map.is_empty() {
        add_dead_frames(stack_map, len, &mut raw)?;
    }
    raw.sort_unstable();
    behind.sort_unstable();
    behind.dedup();
    for &pc in &behind {
        // Hostile code may jump into the middle of an instruction and find another one there.
        if pc == len || insn::opcode_above(code.insns, pc)?.is_none() {
            return Ok(None);
        }
    }
    // What is not uninitialised is initialised.
    let mut ranges = Vec::new();
    let mut at = 0;
    for (start, end) in raw {
        if at < start {
            ranges.push((at, start));
        }
        at = at.max(end);
    }
    if at < len {
        ranges.push((at, len));
    }
    Ok(Some(Initialisation { behind, ranges }))
}

/// Code that no path reaches still must verify against its frame: where that lists
/// `uninitializedThis`, no handler may cover it.
fn add_dead_frames(stack_map: &[u8], len: u32, raw: &mut Vec<(u32, u32)>) -> Result<()> {
    let mut all = Vec::new();
    frames::pcs(stack_map, |pc, uninitialised| all.push((pc, uninitialised)))?;
    let reached: rustc_hash::FxHashSet<u32> = raw.iter().map(|&(pc, _)| pc).collect();
    for (i, &(pc, uninitialised)) in all.iter().enumerate() {
        if uninitialised && !reached.contains(&pc) {
            raw.push((pc, all.get(i + 1).map_or(len, |next| next.0)));
        }
    }
    Ok(())
}

/// Follows one instruction; `None` where the stack or the locals do not allow it.
fn step(class: &Class<'_>, code: &Code<'_>, insn: Insn, state: &mut State) -> Result<Option<Step>> {
    let pc = insn.pc as usize;
    let byte = |i: usize| code.insns[pc + i];
    let index = || u16::from_be_bytes([byte(1), byte(2)]);
    let member_words = |index| -> Result<Option<(u32, u32, bool)>> {
        let (_, name, descriptor) = class.pool.member(index)?;
        Ok(match descriptor.first() {
            Some(b'(') => {
                method_words(descriptor).map(|(args, ret)| (args, ret, name == b"<init>"))
            }
            _ => Some((type_words(descriptor), 0, false)),
        })
    };
    let done = match insn.opcode {
        op::ALOAD => state.load(usize::from(byte(1))),
        op::ALOAD_0..=op::ALOAD_3 => state.load(usize::from(insn.opcode - op::ALOAD_0)),
        op::ASTORE => state.store(usize::from(byte(1))),
        op::ASTORE_0..=op::ASTORE_3 => state.store(usize::from(insn.opcode - op::ASTORE_0)),
        54..=57 => clobber(state, insn.opcode - 54, usize::from(byte(1))),
        59..=74 => clobber(
            state,
            (insn.opcode - 59) / 4,
            usize::from((insn.opcode - 59) % 4),
        ),
        op::WIDE => {
            let slot = usize::from(u16::from_be_bytes([byte(2), byte(3)]));
            match byte(1) {
                op::ALOAD => state.load(slot),
                op::ASTORE => state.store(slot),
                opcode @ 54..=57 => clobber(state, opcode - 54, slot),
                opcode => {
                    state.push(usize::from(
                        insn::stack_effect(opcode).map_or(0, |(_, push)| push),
                    ));
                    Some(())
                }
            }
        }
        op::DUP => state.dup(1, 0),
        op::DUP_X1 => state.dup(1, 1),
        op::DUP_X2 => state.dup(1, 2),
        op::DUP2 => state.dup(2, 0),
        op::DUP2_X1 => state.dup(2, 1),
        op::DUP2_X2 => state.dup(2, 2),
        op::SWAP => match state.stack.len() {
            n @ 2.. => {
                state.stack.swap(n - 1, n - 2);
                Some(())
            }
            _ => None,
        },
        op::GETSTATIC..=op::PUTFIELD => member_words(index())?.and_then(|(words, ..)| {
            let words = words as usize;
            if insn.opcode >= op::GETFIELD {
                // The object; a field of the class itself may be set before super() (JVMS 4.10.1.9).
                let below = if insn.opcode == op::PUTFIELD {
                    words
                } else {
                    0
                };
                state.pop(below + 1)?;
            } else if insn.opcode == op::PUTSTATIC {
                state.pop(words)?;
            }
            if matches!(insn.opcode, op::GETSTATIC | op::GETFIELD) {
                state.push(words);
            }
            Some(())
        }),
        op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC => match member_words(index())? {
            None => None,
            Some((args, returns, is_init)) => {
                let has_receiver = !matches!(insn.opcode, op::INVOKESTATIC | op::INVOKEDYNAMIC);
                let receiver = state.stack.len().checked_sub(args as usize + 1);
                if has_receiver
                    && is_init
                    && insn.opcode == op::INVOKESPECIAL
                    && receiver.is_some_and(|at| state.stack[at])
                {
                    return Ok(Some(Step::Initialises));
                }
                state
                    .pop(args as usize + usize::from(has_receiver))
                    .map(|()| state.push(returns as usize))
            }
        },
        op::MULTIANEWARRAY => state.pop(usize::from(byte(3))).map(|()| state.push(1)),
        opcode => insn::stack_effect(opcode).and_then(|(pop, push)| {
            state
                .pop(usize::from(pop))
                .map(|()| state.push(usize::from(push)))
        }),
    };
    Ok(done.map(|()| Step::Next))
}

/// A store of int, long, float or double (`kind` 0 to 3), which ends what its slots held.
fn clobber(state: &mut State, kind: u8, slot: usize) -> Option<()> {
    let words = if kind % 2 == 1 { 2 } else { 1 };
    state.pop(words)?;
    for slot in slot..slot + words {
        *state.locals.get_mut(slot)? = false;
    }
    Some(())
}
