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
use crate::jvm::insn::{self, Form, Insn, op};
use crate::jvm::simulation::{State, Step, keep_common, step};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Initialisation {
    /// The pcs right behind each call that initialises `this`, ascending.
    pub behind: Vec<u32>,
    /// The ranges `start..end` of pcs where `this` is initialised.
    pub ranges: Vec<(u32, u32)>,
    /// Control comes straight to the one call, with `this` in its own variable unless that is stored into.
    pub straight: bool,
    /// Code that nothing reaches has an uninitialised `this` by its frames.
    pub has_dead_frames: bool,
}

impl Initialisation {
    /// Whether `this` is initialised at a pc.
    pub fn is_initialised(&self, pc: u32) -> bool {
        let behind = self.ranges.partition_point(|&(start, _)| start <= pc);
        behind.checked_sub(1).is_some_and(|i| pc < self.ranges[i].1)
    }
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
        None => {
            let mut paths = Paths::new(class, code, start)?;
            paths.follow()?;
            paths.initialisation(stack_map)?
        }
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
                    straight: true,
                    has_dead_frames: false,
                }));
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// All paths of any constructor in which `this` is not initialised yet.
struct Paths<'p, 'a> {
    class: &'p Class<'a>,
    code: &'p Code<'a>,
    /// What holds in front of each instruction.
    states: FxHashMap<u32, State<bool>>,
    /// Instructions to follow, since what holds in front of them changed.
    work: Vec<u32>,
    /// The pcs behind calls that initialise `this`.
    behind: Vec<u32>,
    /// pc -> end, of instructions reached while `this` is uninitialised
    raw: FxHashMap<u32, u32>,
}

impl<'p, 'a> Paths<'p, 'a> {
    fn new(class: &'p Class<'a>, code: &'p Code<'a>, start: State<bool>) -> Attempt<Self> {
        // A state for every instruction: hostile code could ask for gigabytes. Real constructors stay
        // far below this.
        let words = usize::from(code.max_locals) + usize::from(code.max_stack);
        if code.insns.len() * words > MAX_STATE {
            return Err(Reason::Unsupported.into());
        }
        Ok(Paths {
            class,
            code,
            states: FxHashMap::from_iter([(0, start)]),
            work: vec![0],
            behind: Vec::new(),
            raw: FxHashMap::default(),
        })
    }

    /// Follows them to a fixpoint; fails on nonsense code.
    fn follow(&mut self) -> Attempt<()> {
        while let Some(pc) = self.work.pop() {
            let insn = insn::at(self.code.insns, pc)?;
            let before = self.states[&pc].clone();
            let mut after = before.clone();
            let next = pc + insn.len;
            self.raw.insert(pc, next);
            let mut targets = self.targets(insn)?;
            let step = step(self.class, self.code, insn, &mut after, &mut |_, _| {})?;
            if after.stack.len() > usize::from(self.code.max_stack) {
                return Err(Reason::Unsupported.into());
            }
            match step.ok_or(Reason::Unsupported)? {
                Step::Initialises => self.behind.push(next),
                Step::Next if insn::ends_flow(insn.opcode) => {}
                Step::Next => targets.push(next),
            }
            for target in targets {
                self.flow(target, &after)?;
            }
            self.throw(pc, &before, &after)?;
        }
        Ok(())
    }

    /// Where an instruction branches to.
    fn targets(&self, insn: Insn) -> Attempt<Vec<u32>> {
        let mut targets = Vec::new();
        match insn.form {
            _ if matches!(insn.opcode, op::JSR | op::JSR_W) => {
                return Err(Reason::Unsupported.into());
            }
            Form::Branch | Form::WideBranch => {
                targets.push(insn::branch_target(self.code.insns, insn)?);
            }
            Form::Switch => insn::switch_targets(self.code.insns, insn, |t| targets.push(t))?,
            _ => {}
        }
        Ok(targets)
    }

    /// Control reaches `target` with this state.
    fn flow(&mut self, target: u32, state: &State<bool>) -> Attempt<()> {
        if target as usize >= self.code.insns.len() {
            return Err(Reason::Unsupported.into());
        }
        let changed = match self.states.entry(target) {
            Entry::Vacant(unknown) => {
                unknown.insert(state.clone());
                true
            }
            Entry::Occupied(known) => {
                let merged = known.into_mut().merge(state);
                merged.ok_or(Reason::Unsupported)?
            }
        };
        if changed {
            self.work.push(target);
        }
        Ok(())
    }

    /// The instruction at `pc` may throw, before or after it stores.
    fn throw(&mut self, pc: u32, before: &State<bool>, after: &State<bool>) -> Attempt<()> {
        for entry in self.code.exceptions.chunks_exact(8) {
            let field = |i: usize| u32::from(u16::from_be_bytes([entry[i], entry[i + 1]]));
            if (field(0)..field(2)).contains(&pc) {
                let mut caught = State {
                    locals: before.locals.clone(),
                    stack: vec![false],
                };
                for (mine, theirs) in caught.locals.iter_mut().zip(&after.locals) {
                    keep_common(mine, *theirs);
                }
                self.flow(field(4), &caught)?;
            }
        }
        Ok(())
    }

    /// What they show.
    fn initialisation(self, stack_map: &[u8]) -> Attempt<Initialisation> {
        let len = self.code.insns.len() as u32;
        let mut behind = self.behind;
        behind.sort_unstable();
        behind.dedup();
        let mut raw: Vec<(u32, u32)> = self.raw.into_iter().collect();
        let reached = raw.len();
        if !stack_map.is_empty() {
            add_dead_frames(stack_map, len, &mut raw)?;
        }
        let has_dead_frames = raw.len() > reached;
        raw.sort_unstable();
        for &pc in &behind {
            // Hostile code may jump into the middle of an instruction.
            if pc == len || insn::opcode_above(self.code.insns, pc)?.is_none() {
                return Err(Reason::Unsupported.into());
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
        Ok(Initialisation {
            behind,
            ranges,
            straight: false,
            has_dead_frames,
        })
    }
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
