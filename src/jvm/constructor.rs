//! Where a constructor's `this` becomes initialised (JVMS 4.10.2.4).
//!
//! Hooks cover the body after the call to `super(...)` or `this(...)`. That call is found by
//! following `uninitializedThis` through local variables and the stack from the method's start:
//! `super(new Parent())` has two calls of one `<init>`, `aload_0; astore_1; aload_1; invokespecial` is
//! legal, and Groovy's constructors choose between several such calls with a switch.

use crate::aspect::advice::Reason;
use crate::aspect::attempt::Attempt;
use crate::error::Result;
use crate::jvm::class::{Class, Code};
use crate::jvm::frames;
use crate::jvm::insn::{self, Form, op};
use crate::jvm::simulation::{State, Step, keep_common, step};
use rustc_hash::FxHashMap;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Initialisation {
    /// The pcs right behind each call that initialises `this`, ascending.
    pub behind: Vec<u32>,
    /// The ranges `start..end` of pcs where `this` is initialised.
    pub ranges: Vec<(u32, u32)>,
}

/// Most words of locals and stack over all instructions.
const MAX_STATE: usize = 64 << 20;

/// Finds the calls that initialise `this` in a constructor, given the contents of its StackMapTable
/// (or nothing).
pub fn analyse(class: &Class<'_>, code: &Code<'_>, stack_map: &[u8]) -> Attempt<Initialisation> {
    if code.max_locals == 0 {
        return Err(Reason::Unsupported.into());
    }
    let mut start = State {
        locals: vec![false; usize::from(code.max_locals)],
        stack: Vec::new(),
    };
    start.locals[0] = true;
    let found = match straight(class, code, stack_map, start.clone())? {
        Some(found) => found,
        None => general(class, code, stack_map, start)?.ok_or(Reason::Unsupported)?,
    };
    match found.behind.is_empty() {
        true => Err(Reason::NoSuperCall.into()),
        false => Ok(found),
    }
}

/// The ordinary constructor: no branch and no handler before the call.
fn straight(
    class: &Class<'_>,
    code: &Code<'_>,
    stack_map: &[u8],
    mut state: State<bool>,
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
        match step(class, code, insn, &mut state, &mut |_, _| {})? {
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
/// `None` for nonsense code.
fn general(
    class: &Class<'_>,
    code: &Code<'_>,
    stack_map: &[u8],
    start: State<bool>,
) -> Result<Option<Initialisation>> {
    let len = code.insns.len() as u32;
    // A state for every instruction: hostile code could ask for gigabytes. Real constructors stay
    // far below this.
    if code.insns.len() * (usize::from(code.max_locals) + usize::from(code.max_stack)) > MAX_STATE {
        return Ok(None);
    }
    let mut states: FxHashMap<u32, State<bool>> = FxHashMap::default();
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
        match step(class, code, insn, &mut state, &mut |_, _| {})? {
            None => return Ok(None),
            Some(_) if state.stack.len() > usize::from(code.max_stack) => return Ok(None),
            Some(Step::Initialises) => behind.push(next),
            Some(Step::Next) => {
                if !insn::ends_flow(insn.opcode) {
                    targets.push(next);
                }
            }
        }
        let mut flow = |target: u32, state: &State<bool>| -> Option<()> {
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
                    keep_common(mine, *theirs);
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
        // Hostile code may jump into the middle of an instruction.
        if pc == len || insn::opcode_above(code.insns, pc)?.is_none() {
            return Ok(None);
        }
    }
    // Elsewhere `this` is initialised.
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
