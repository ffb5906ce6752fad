//! Random bodies run as they are and woven: what they do must be the same, and each enter must
//! have exactly one exit or error, each beginning of a section exactly one end.

use super::tests::{HOOKS, LEAF, LEAVE};
use super::*;
use crate::aspect::bind::call::{Bound, Call, Convert, Dest, Keep, Operand, Source};
use crate::aspect::bind::ty::{Prim, Ty};
use crate::dex::analysis::own_fields::OwnFields;
use crate::dex::format::code_item::{Handler, Try};
use crate::dex::format::insn::{Insn, units};
use crate::dex::format::opcodes::THROW;
use crate::dex::testing::{Body, as_object, call as own_call, object, same};
use proptest::prelude::*;
use std::sync::Arc;

const MOVE_16: u8 = 0x03;
const MOVE_WIDE_16: u8 = 0x06;

const ID: u32 = 0x0bad_1dea;
/// The name of the section.
const SECTION: u32 = 500;
/// The method that stands for the other constructor.
const INIT: u32 = 60;
/// What is thrown where a hook cannot be called.
const FAILURE: u64 = 999_999;
/// The types of handlers: one that catches every second exception, and `Throwable`.
const SOMETIMES: u32 = 5;
const THROWABLE: u32 = 9;

#[derive(Clone, Debug, PartialEq)]
enum Event {
    Call(u32, Vec<u64>),
    Enter(u64),
    Exit(u64),
    Error(u64, u64),
    Begin(u64),
    End,
    /// One of one's own hooks: which, and what it gets. What an array holds follows it.
    Own(u32, Vec<u64>),
    /// A hook that could not be called, which, where, and whether some handler protects the call.
    Failed(u32, u32, bool),
    Returned(Vec<u64>),
    Threw(u64),
    /// Still running when the patience was over.
    Endless,
}

/// A small generator of numbers, the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A body, and what its method is.
struct Program {
    item: Vec<u8>,
    shorty: Vec<u8>,
    is_constructor: bool,
}

fn call(out: &mut Vec<u8>, plain: u8, method: u32, registers: &[u32]) {
    let at = units(out);
    registers::put_invoke_static(out, method as u16, registers);
    let as_it_is = insn::unit(out, at);
    // The ranges lie six opcodes further on.
    let opcode = plain as u16 + ((as_it_is & 0xff) - u16::from(op::INVOKE_STATIC));
    insn::set_unit(out, at, as_it_is & 0xff00 | opcode);
}

fn program(seed: u64) -> Program {
    let mut random = Random(seed);
    let is_constructor = random.chance(25);
    let mut shorty = vec![[b'V', b'I', b'J', b'L'][random.below(4) as usize]];
    if is_constructor {
        shorty[0] = b'V';
    }
    let mut ins = u32::from(is_constructor);
    let most = if random.chance(20) { 18 } else { 4 };
    for _ in 0..random.below(most) {
        let letter = [b'I', b'J', b'L'][random.below(3) as usize];
        ins += Width::of(letter).words();
        shorty.push(letter);
    }
    let locals = match random.below(4) {
        0 => 0,
        1 => random.below(20) as u32,
        _ => random.below(4) as u32,
    };
    let width = match shorty[0] {
        b'V' => 0,
        letter => Width::of(letter).words(),
    };
    // A value must fit somewhere to be returned or thrown.
    let locals = locals.max((width + 1).saturating_sub(ins));
    let registers = locals + ins;
    let mut code = vec![];
    // All locals hold something from the start.
    let mut fresh = 1000;
    let mut put_number = |code: &mut Vec<u8>, register: u32| {
        fresh += 1;
        code.extend_from_slice(&(u16::from(op::CONST_16) | (register as u16) << 8).to_le_bytes());
        code.extend_from_slice(&(fresh as u16).to_le_bytes());
    };
    for register in 0..locals {
        put_number(&mut code, register);
    }
    if is_constructor {
        call(&mut code, op::INVOKE_DIRECT, INIT, &[locals]);
    }
    // Branches go to where blocks begin, and to the start.
    let mut starts = vec![if is_constructor { units(&code) } else { 0 }];
    let mut handlers = vec![];
    let mut branches: Vec<(u32, u8)> = vec![];
    let mut switch = None;
    let any = |random: &mut Random| random.below(u64::from(registers)) as u32;
    let blocks = 1 + random.below(6);
    for block in 0..blocks {
        starts.push(units(&code));
        // Some blocks are handlers, which are reached in no other way.
        if block > 0 && random.chance(30) {
            starts.pop();
            handlers.push(units(&code));
            registers::put_one(&mut code, op::MOVE_EXCEPTION, any(&mut random));
        }
        for _ in 0..random.below(5) {
            match random.below(6) {
                0 => put_number(&mut code, any(&mut random)),
                1 => {
                    let (to, from) = (any(&mut random), any(&mut random));
                    registers::put_move(&mut code, Width::Single, to, from);
                }
                2 => {
                    branches.push((units(&code), op::IF_EQZ));
                    registers::put_one(&mut code, op::IF_EQZ, any(&mut random));
                    code.extend_from_slice(&[0, 0]);
                }
                3 if switch.is_none() && random.chance(40) => {
                    switch = Some(units(&code));
                    registers::put_one(&mut code, op::PACKED_SWITCH, any(&mut random));
                    code.extend_from_slice(&[0; 4]);
                }
                _ => {
                    let first = any(&mut random);
                    let count = random.below(3).min(u64::from(registers - first)) as u32;
                    let passed: Vec<u32> = (first..first + count).collect();
                    // A range holds consecutive registers; a list holds those below 16.
                    if passed.iter().all(|r| *r < 16) || passed.iter().all(|r| *r >= 16) {
                        let method = random.below(50) as u32;
                        call(&mut code, op::INVOKE_STATIC, method, &passed);
                    }
                }
            }
        }
        let last = block + 1 == blocks;
        match random.below(4) {
            0 => {
                branches.push((units(&code), op::GOTO_16));
                code.extend_from_slice(&[op::GOTO_16, 0, 0, 0]);
            }
            1 => registers::put_one(&mut code, op::THROW, any(&mut random)),
            _ => match width {
                0 => code.extend_from_slice(&[op::RETURN_VOID, 0]),
                _ => {
                    let register = random.below(u64::from(registers + 1 - width)) as u32;
                    let opcode = match shorty[0] {
                        b'J' => op::RETURN_WIDE,
                        b'L' => op::RETURN_OBJECT,
                        _ => op::RETURN,
                    };
                    registers::put_one(&mut code, opcode, register);
                }
            },
        }
        if !last && random.chance(4) {
            // Far away.
            let far = [100, 200, 33_000][random.below(3) as usize];
            code.resize(code.len() + 2 * far, 0);
        }
    }
    for &(pc, opcode) in &branches {
        let near = |t: &&u32| **t != pc && (i64::from(**t) - i64::from(pc)).abs() < 32_700;
        let reached: Vec<&u32> = starts.iter().filter(near).collect();
        if reached.is_empty() && opcode == op::GOTO_16 {
            insn::set_unit(&mut code, pc, u16::from(op::THROW));
            continue;
        }
        // An `if` that reaches nothing goes on.
        let to = match reached.len() {
            0 => pc + 2,
            n => *reached[random.below(n as u64) as usize],
        };
        insn::set_unit(&mut code, pc + 1, to.wrapping_sub(pc) as u16);
    }
    let end = units(&code);
    if let Some(pc) = switch {
        if units(&code) % 2 == 1 {
            code.extend_from_slice(&[0, 0]);
        }
        let payload = units(&code);
        insn::set_wide(&mut code, pc + 1, payload - pc);
        let cases = 1 + random.below(3) as u16;
        for unit in [insn::PACKED_SWITCH_PAYLOAD, cases, 0, 0] {
            code.extend_from_slice(&unit.to_le_bytes());
        }
        for _ in 0..cases {
            let to = starts[random.below(starts.len() as u64) as usize];
            code.extend_from_slice(&to.wrapping_sub(pc).to_le_bytes());
        }
    }
    let insns: Vec<u16> = code
        .chunks_exact(2)
        .map(|u| u16::from_le_bytes([u[0], u[1]]))
        .collect();
    let mut body = Body::new(registers as u16, ins as u16, &insns);
    if !handlers.is_empty() {
        let borders: Vec<u32> = insn::each(&code)
            .map(|i| i.unwrap().pc)
            .filter(|pc| *pc >= starts[0] && *pc < end)
            .chain([end])
            .collect();
        let mut from = 0;
        for _ in 0..random.below(4) {
            let room = borders.len() - from;
            if room < 2 {
                break;
            }
            let start = from + random.below(room as u64 - 1) as usize;
            let stop = start + 1 + random.below((borders.len() - start - 1) as u64) as usize;
            if borders[stop] - borders[start] > 0xffff {
                break;
            }
            let mut list: Vec<Handler> = vec![];
            let one = |random: &mut Random| handlers[random.below(handlers.len() as u64) as usize];
            if random.chance(60) {
                list.push((Some(SOMETIMES), one(&mut random)));
            }
            match random.below(3) {
                0 => list.push((None, one(&mut random))),
                1 => list.push((Some(THROWABLE), one(&mut random))),
                _ => {}
            }
            if !list.is_empty() {
                body = body.try_at(borders[start], borders[stop], &list);
            }
            from = stop;
        }
    }
    Program {
        item: body.bytes(),
        shorty,
        is_constructor,
    }
}

fn is_inserted(insn: Insn) -> bool {
    is_hook(insn)
        || is_call(insn) && insn.index() >= OWN
        || matches!(
            insn.opcode,
            op::CONST_STRING | op::NEW_ARRAY | op::APUT_OBJECT
        )
}

fn is_call(insn: Insn) -> bool {
    matches!(insn.opcode, op::INVOKE_STATIC | op::INVOKE_STATIC_RANGE)
}

/// The first of one's own hooks.
const OWN: u32 = 200;
/// `System.nanoTime()`.
const TIME: u32 = 300;
/// What makes boxes.
const BOXES: u32 = 310;
/// From this number on values are arrays.
const ARRAYS: u64 = 1 << 40;
/// What one of one's own hooks returns, and the upper half of it.
const RETURNED: u64 = 80_000;
/// The upper half of a time, and of a widened number.
const UPPER: u64 = 77;

/// What boxes make of a value.
fn boxed(words: &[u64]) -> u64 {
    words.iter().fold(1 << 36, |all, word| all ^ (word << 8))
}

fn is_hook(insn: Insn) -> bool {
    (HOOKS.enter..=LEAF).contains(&insn.index())
}

/// Runs a body. What branches decide and what calls throw is drawn from `seed`, in the order in
/// which the method's own code asks. The hook that is called as number `failing` cannot be called.
fn run(item: &[u8], seed: u64, failing: usize) -> Vec<Event> {
    let code = Code::read(item, 0).unwrap();
    let tries: Vec<Try> = code.tries().map(Result::unwrap).collect();
    let mut random = Random(seed);
    let mut asked = 0;
    let mut events = vec![];
    let mut registers = vec![0u64; usize::from(code.registers)];
    for (i, r) in registers[code.locals() as usize..].iter_mut().enumerate() {
        *r = 500 + i as u64;
    }
    let mut pc = 0;
    let mut exception = None;
    let mut steps = 0;
    let mut hooks = 0;
    let mut result = [0; 2];
    let mut clock = 0;
    let mut arrays: Vec<Vec<u64>> = vec![];
    'run: loop {
        let insn = insn::at(code.insns, pc).unwrap();
        assert!(!insn.is_payload, "runs into data at {pc}");
        // A loop that asks nothing has no end.
        steps += 1;
        let asks = match insn.opcode {
            op::IF_EQZ | op::IF_NEZ | op::PACKED_SWITCH => true,
            _ => insn.op().has(THROW) && insn.opcode != op::THROW && !is_inserted(insn),
        };
        if asks {
            asked += 1;
            steps = 0;
        }
        if asked > 40 || steps > 200_000 {
            events.push(Event::Endless);
            return events;
        }
        let (a, b) = (insn.a as usize, insn.b as usize);
        let passed: Vec<u64> = match insn.op().index {
            crate::dex::format::opcodes::Index::Method => insn::arguments(code.insns, insn)
                .map(|r| registers[r as usize])
                .collect(),
            _ => vec![],
        };
        let mut next = insn.end();
        let mut thrown = None;
        match insn.opcode {
            op::NOP => {}
            op::CONST_4 | op::CONST_16 | op::CONST => registers[a] = insn.value as u32 as u64,
            op::CONST_WIDE_16..=op::CONST_WIDE_HIGH16 => {
                let value = insn.value as u64;
                registers[a..a + 2].copy_from_slice(&[value & 0xffff_ffff, value >> 32]);
            }
            op::MOVE_RESULT | op::MOVE_RESULT_OBJECT => registers[a] = result[0],
            op::MOVE_RESULT_WIDE => registers[a..a + 2].copy_from_slice(&result),
            op::INT_TO_LONG => {
                let value = registers[b];
                registers[a..a + 2].copy_from_slice(&[value, UPPER]);
            }
            op::SUB_LONG => {
                let other = insn.c as usize;
                assert_eq!([registers[b + 1], registers[other + 1]], [UPPER; 2]);
                let value = registers[b] - registers[other];
                registers[a..a + 2].copy_from_slice(&[value, UPPER]);
            }
            op::NEW_ARRAY => {
                let size = registers[b] as usize;
                registers[a] = ARRAYS + arrays.len() as u64;
                arrays.push(vec![0; size]);
            }
            op::APUT_OBJECT => {
                let array = (registers[b] - ARRAYS) as usize;
                arrays[array][registers[insn.c as usize] as usize] = registers[a];
            }
            op::CONST_STRING => registers[a] = insn.index().into(),
            op::MOVE..=MOVE_16 | op::MOVE_OBJECT..=op::MOVE_OBJECT_16 => {
                registers[a] = registers[b];
            }
            op::MOVE_WIDE..=MOVE_WIDE_16 => {
                let pair = [registers[b], registers[b + 1]];
                registers[a..a + 2].copy_from_slice(&pair);
            }
            op::MOVE_EXCEPTION => registers[a] = exception.take().expect("an exception"),
            op::GOTO | op::GOTO_16 | op::GOTO_32 => next = insn.target(code.insns).unwrap(),
            op::IF_EQZ | op::IF_NEZ => {
                if random.chance(50) == (insn.opcode == op::IF_EQZ) {
                    next = insn.target(code.insns).unwrap();
                }
            }
            op::PACKED_SWITCH => {
                let mut all = vec![next];
                insn::switch_targets(code.insns, insn, |t| all.push(t)).unwrap();
                next = all[random.below(all.len() as u64) as usize];
            }
            op::INVOKE_STATIC | op::INVOKE_STATIC_RANGE if insn.index() >= OWN => {
                assert!(passed.len() <= usize::from(code.outs));
                match insn.index() {
                    TIME => {
                        clock += 10;
                        result = [clock, UPPER];
                    }
                    BOXES.. => result[0] = boxed(&passed),
                    hook if hooks == failing => {
                        let protected = crate::dex::analysis::flow::find(&tries, pc).is_some();
                        events.push(Event::Failed(hook, pc, protected));
                        thrown = Some(FAILURE);
                    }
                    hook => {
                        let mut seen = vec![];
                        for value in passed {
                            seen.push(value);
                            if value >= ARRAYS {
                                seen.extend(&arrays[(value - ARRAYS) as usize]);
                            }
                        }
                        events.push(Event::Own(hook, seen));
                        let value = RETURNED + u64::from(hook);
                        result = [value, value + 1];
                    }
                }
                hooks += usize::from(insn.index() < TIME);
            }
            op::INVOKE_STATIC | op::INVOKE_STATIC_RANGE if is_hook(insn) => {
                assert!(passed.len() <= usize::from(code.outs));
                if hooks == failing {
                    let protected = crate::dex::analysis::flow::find(&tries, pc).is_some();
                    events.push(Event::Failed(insn.index(), pc, protected));
                    thrown = Some(FAILURE);
                } else {
                    if insn.index() == LEAF {
                        events.push(Event::Enter(passed[0]));
                    }
                    events.push(match insn.index() - HOOKS.enter {
                        0 => Event::Enter(passed[0]),
                        1 | 6 => Event::Exit(passed[0]),
                        2 => Event::Error(passed[0], passed[1]),
                        3 => Event::Begin(passed[0]),
                        4 => Event::End,
                        _ if passed[0] == 0 => Event::Exit(passed[1]),
                        _ => Event::Error(passed[0], passed[1]),
                    });
                    if insn.index() == LEAVE && passed[0] != 0 {
                        thrown = Some(passed[0]);
                    }
                }
                hooks += 1;
            }
            op::INVOKE_STATIC
            | op::INVOKE_STATIC_RANGE
            | op::INVOKE_DIRECT
            | op::INVOKE_DIRECT_RANGE => {
                events.push(Event::Call(insn.index(), passed));
                if random.chance(25) {
                    thrown = Some(1_000_000 + asked);
                }
            }
            op::THROW => thrown = Some(registers[a]),
            op::RETURN_VOID => {
                events.push(Event::Returned(vec![]));
                return events;
            }
            op::RETURN | op::RETURN_OBJECT => {
                events.push(Event::Returned(vec![registers[a]]));
                return events;
            }
            op::RETURN_WIDE => {
                events.push(Event::Returned(vec![registers[a], registers[a + 1]]));
                return events;
            }
            _ => panic!("{}", insn.op().name),
        }
        if let Some(thrown) = thrown {
            if let Some(t) = crate::dex::analysis::flow::find(&tries, pc) {
                let mut list = code.list(t.list).unwrap();
                while let Some((ty, handler)) = list.next_handler().unwrap() {
                    if ty != Some(SOMETIMES) || thrown % 2 == 0 {
                        exception = Some(thrown);
                        pc = handler;
                        continue 'run;
                    }
                }
            }
            events.push(Event::Threw(thrown));
            return events;
        }
        pc = next;
    }
}

fn check(seed: u64, decisions: u64, advice: Advice) {
    let program = program(seed);
    let code = Code::read(&program.item, 0).unwrap();
    let method = MethodInfo {
        shorty: &program.shorty,
        is_static: !program.is_constructor,
        is_constructor: program.is_constructor,
        throwable: Some(THROWABLE),
        returns_apart: seed.is_multiple_of(3),
        section: SECTION,
        own: OwnFields::NONE,
        hooks: None,
        points: None,
    };
    let planned = Planned {
        ty: 0,
        index: 0,
        id: ID,
        advice,
        bound: None,
    };
    let mut out = vec![];
    let map = Remap::identity([1000; 5]);
    let mut scratch = Scratch::default();
    lower(&code, method, &planned, HOOKS, &map, &mut scratch, &mut out).unwrap();
    let woven = Code::read(&out, 0).unwrap();
    assert_eq!(woven.size().unwrap(), out.len());

    let of_hook = |e: &Event| {
        matches!(
            e,
            Event::Enter(_) | Event::Exit(_) | Event::Error(..) | Event::Begin(_) | Event::End
        )
    };
    let mut insns = insn::each(woven.insns).map(Result::unwrap);
    let is_leaf = insns.any(|i| !i.is_payload && is_call(i) && i.index() == LEAF);
    let id = u64::from(ID);
    let begin = Event::Begin(SECTION.into());
    // Our handlers come last; there are none in code that cannot throw.
    let tails = scratch.layout.start(units(code.insns));
    let mut handlers = vec![];
    for t in woven.tries() {
        let mut list = woven.list(t.unwrap().list).unwrap();
        while let Some((_, pc)) = list.next_handler().unwrap() {
            handlers.push(pc);
        }
    }
    let handler = handlers.into_iter().filter(|pc| *pc >= tails).min();
    for seed in decisions..decisions + 4 {
        let before = run(&program.item, seed, usize::MAX);
        let after = run(&out, seed, usize::MAX);
        let own: Vec<Event> = after.iter().filter(|e| !of_hook(e)).cloned().collect();
        assert_eq!(before, own, "the same as before");
        let last = after.last().unwrap();
        let at_start = match program.is_constructor {
            true => 1,
            false => 0,
        };
        // What is thrown in front of the enter hook is not the method's.
        let entered =
            !(program.is_constructor && own.len() == 2 && matches!(last, Event::Threw(_)))
                || after.len() > 2;
        let all = match last {
            Event::Returned(_) => {
                vec![Event::Enter(id), begin.clone(), Event::End, Event::Exit(id)]
            }
            Event::Threw(t) => {
                vec![
                    Event::Enter(id),
                    begin.clone(),
                    Event::End,
                    Event::Error(*t, id),
                ]
            }
            _ => vec![Event::Enter(id), begin.clone()],
        };
        let advised = |e: &Event| {
            advice.has(match e {
                Event::Enter(_) => Advice::ENTER,
                Event::Exit(_) => Advice::EXIT,
                Event::Error(..) => Advice::EXCEPTION,
                _ => Advice::SECTION,
            })
        };
        let expected: Vec<Event> = all.into_iter().filter(|e| entered && advised(e)).collect();
        let hooks: Vec<Event> = after.iter().filter(|e| of_hook(e)).cloned().collect();
        assert_eq!(hooks, expected, "{last:?}");
        let begins = |e: &Event| matches!(e, Event::Enter(_) | Event::Begin(_));
        let first = after.iter().position(begins);
        let enters = advice.only(Advice::ENTER.with(Advice::SECTION)) != Advice::default();
        assert_eq!(first, (entered && enters).then_some(at_start));
        // The last two of a method that returns are the last hook and the return.
        if let [.., hook, Event::Returned(_)] = &after[..] {
            assert!(expected.is_empty() || of_hook(hook));
        }
        let calls = match is_leaf {
            true => {
                // Nothing comes between, and nothing else ends it.
                assert!(
                    own.len() <= 1 + usize::from(program.is_constructor),
                    "{own:?}"
                );
                hooks.len() / 2
            }
            false => hooks.len(),
        };
        for failing in 0..calls {
            check_failure(&run(&out, seed, failing), advice, handler);
        }
    }
}

/// A hook cannot be called: where some handler protects the call, the others are called in pairs all the same.
fn check_failure(events: &[Event], advice: Advice, handler: Option<u32>) {
    let count = |is: fn(&Event) -> bool| events.iter().filter(|e| is(e)).count();
    let ended = !matches!(events.last(), Some(Event::Endless));
    let failed = events.iter().position(|e| matches!(e, Event::Failed(..)));
    let Some(&Event::Failed(hook, pc, protected)) = failed.map(|at| &events[at]) else {
        panic!("no hook failed in {events:?}");
    };
    let entered = count(|e| matches!(e, Event::Enter(_)));
    if !protected {
        assert_eq!(events.last(), Some(&Event::Threw(FAILURE)));
        // The first hook, those of handlers and the one of both ways, and those of code that cannot throw.
        let is_hook = |e: &Event| !matches!(e, Event::Call(..));
        let first = events.iter().position(is_hook) == failed;
        let shared = hook == LEAVE;
        let usual = first || shared || handler.is_none_or(|handler| pc >= handler);
        assert!(usual || !advice.has(Advice::EXCEPTION), "{events:?}");
        return;
    }
    assert!(ended);
    assert_ne!(hook, LEAVE, "what it throws again would come back");
    if advice.has(Advice::ALL) {
        let left = count(|e| matches!(e, Event::Exit(_) | Event::Error(..)));
        assert_eq!(entered, left, "{events:?}");
    }
    if advice.has(Advice::SECTION) {
        let (begun, ends) = (
            count(|e| matches!(e, Event::Begin(_))),
            count(|e| matches!(e, Event::End)),
        );
        assert_eq!(begun, ends, "{events:?}");
    }
}

/// Own hooks by their numbers, which are their names, too: some of those that take all that there is.
fn own_hooks(program: &Program, choice: u32) -> Bound {
    let long = Ty::Prim(Prim::I64);
    let of = |letter: &u8| match letter {
        b'I' => Ty::Prim(Prim::I32),
        b'J' => Ty::Prim(Prim::I64),
        _ => object(),
    };
    let types: Vec<Ty> = program.shorty[1..].iter().map(of).collect();
    let each = || (0u16..).zip(&types).map(|(n, ty)| (Source::Arg(n), ty));
    let this = || {
        let this = program.is_constructor.then_some(Source::This);
        same(this.unwrap_or(Source::Zero), &object())
    };
    let all = || -> Vec<Operand> {
        let args = each().map(|(source, ty)| same(source, ty));
        std::iter::once(this()).chain(args).collect()
    };
    let array = || {
        let elements = each().map(|(source, ty)| as_object(source, ty)).collect();
        same(Source::Args(elements), &Ty::Array(Arc::new(object())))
    };
    let wider = || {
        let first = each().find(|(_, ty)| **ty == Ty::Prim(Prim::I32));
        first.map(|(source, ty)| Operand {
            convert: Convert::Widen(Prim::I32, Prim::I64),
            to: Ty::Prim(Prim::I64),
            ..same(source, ty)
        })
    };
    let result = || match program.shorty[0] {
        b'V' => None,
        letter => Some((Source::Result, of(&letter))),
    };
    let states = [long.clone(), object()];
    let state = |n: u16| same(Source::State(n), &states[usize::from(n)]);
    let duration = same(Source::Duration, &long);
    let thrown = same(Source::Exception, &Ty::class("java/lang/Throwable"));
    let hook = |number: u32, operands: Vec<Operand>, ty: &Ty, dest| {
        let call = own_call(&number.to_string(), operands, ty.clone(), dest, false);
        (choice >> (number - OWN) & 1 == 1 || dest != Dest::Drop).then_some(call)
    };
    let with = |parts: [Vec<Operand>; 3]| parts.concat();
    let enter = [
        hook(OWN, all(), &states[0], Dest::State(0)),
        hook(OWN + 1, vec![array()], &states[1], Dest::State(1)),
        hook(
            OWN + 2,
            with([vec![array()], wider().into_iter().collect(), vec![this()]]),
            &Ty::Void,
            Dest::Drop,
        ),
    ];
    let seen = result().map(|(source, ty)| same(source, &ty));
    let as_one = result().map(|(source, ty)| as_object(source, &ty));
    let exit = [
        hook(OWN + 3, seen.into_iter().collect(), &Ty::Void, Dest::Drop),
        hook(
            OWN + 4,
            with([vec![state(0)], all(), vec![duration.clone()]]),
            &Ty::Void,
            Dest::Drop,
        ),
        hook(
            OWN + 5,
            with([as_one.into_iter().collect(), vec![array()], vec![state(1)]]),
            &Ty::Void,
            Dest::Drop,
        ),
    ];
    let exception = [
        hook(
            OWN + 6,
            vec![thrown.clone(), state(1)],
            &Ty::Void,
            Dest::Drop,
        ),
        hook(
            OWN + 7,
            with([all(), vec![thrown, duration], wider().into_iter().collect()]),
            &Ty::Void,
            Dest::Drop,
        ),
        hook(
            OWN + 8,
            vec![as_object(Source::Duration, &long), array()],
            &Ty::Void,
            Dest::Drop,
        ),
    ];
    let some = |calls: [Option<Call>; 3]| calls.into_iter().flatten().collect();
    Bound {
        enter: some(enter),
        exit: some(exit),
        exception: some(exception),
        keep: Keep {
            args: (0..types.len() as u16).collect(),
            this: program.is_constructor,
            states: states.into(),
            duration: true,
        },
        ..Bound::default()
    }
}

/// What a hook gets, as far as it is known: times are not.
fn expected(program: &Program, call: &Call, end: Option<&Event>) -> Vec<Option<u64>> {
    let mut at = 500 + u64::from(program.is_constructor);
    let args: Vec<Vec<u64>> = program.shorty[1..]
        .iter()
        .map(|letter| {
            let first = at;
            at += u64::from(Width::of(*letter).words());
            (first..at).collect()
        })
        .collect();
    let mut all = vec![];
    for operand in &call.operands {
        let plain: Vec<Option<u64>> = match (&operand.source, end) {
            (Source::This, _) => vec![Some(500)],
            (Source::Zero, _) => vec![Some(0)],
            (Source::Arg(n), _) => args[usize::from(*n)].iter().copied().map(Some).collect(),
            (Source::Args(elements), _) => {
                let boxed = |(arg, element): (&Vec<u64>, &Operand)| match element.convert {
                    Convert::Box => boxed(arg),
                    _ => arg[0],
                };
                let elements = args.iter().zip(elements).map(boxed).map(Some);
                std::iter::once(None).chain(elements).collect()
            }
            (Source::State(0), _) => {
                let value = RETURNED + u64::from(OWN);
                vec![Some(value), Some(value + 1)]
            }
            (Source::State(_), _) => vec![Some(RETURNED + u64::from(OWN) + 1)],
            (Source::Result, Some(Event::Returned(value))) => {
                value.iter().copied().map(Some).collect()
            }
            (Source::Exception, Some(Event::Threw(thrown))) => vec![Some(*thrown)],
            (Source::Duration, _) if operand.convert == Convert::Box => vec![None],
            (Source::Duration, _) => vec![None, Some(UPPER)],
            (source, end) => panic!("{source:?} {end:?}"),
        };
        match operand.convert {
            Convert::Widen(..) => all.extend([plain[0], Some(UPPER)]),
            Convert::Box if operand.source == Source::Result => {
                let words: Vec<u64> = plain.into_iter().flatten().collect();
                all.push(Some(boxed(&words)));
            }
            _ => all.extend(plain),
        }
    }
    all
}

/// Own hooks run in order, around the pair, and see the values.
fn check_own(seed: u64, decisions: u64, advice: Advice, choice: u32) {
    let program = program(seed);
    let code = Code::read(&program.item, 0).unwrap();
    let bound = own_hooks(&program, choice);
    let mut names = own_frame::Names {
        nano_time: TIME,
        objects: 7,
        ..own_frame::Names::default()
    };
    for call in own::calls(&bound) {
        let number = call.hook.name.parse().unwrap();
        names.hooks.insert(Arc::clone(&call.hook), number);
    }
    for (n, index) in (0..).zip(&mut names.boxes) {
        *index = BOXES + n;
    }
    let method = MethodInfo {
        shorty: &program.shorty,
        is_static: !program.is_constructor,
        is_constructor: program.is_constructor,
        throwable: Some(THROWABLE),
        returns_apart: seed.is_multiple_of(3),
        section: SECTION,
        own: OwnFields::NONE,
        hooks: Some(own_frame::Own {
            bound: &bound,
            names: &names,
            line: 12,
            id: ID,
        }),
        points: None,
    };
    let planned = Planned {
        ty: 0,
        index: 0,
        id: ID,
        advice: advice.with(Advice::OWN),
        bound: Some(0),
    };
    let mut out = vec![];
    let map = Remap::identity([1000; 5]);
    let mut scratch = Scratch::default();
    lower(&code, method, &planned, HOOKS, &map, &mut scratch, &mut out).unwrap();
    let woven = Code::read(&out, 0).unwrap();
    assert_eq!(woven.size().unwrap(), out.len());
    let is_plain = |e: &&Event| {
        matches!(
            e,
            Event::Call(..) | Event::Returned(_) | Event::Threw(_) | Event::Endless
        )
    };
    let is_own = |e: &&Event| matches!(e, Event::Own(..));
    for seed in decisions..decisions + 4 {
        let before = run(&program.item, seed, usize::MAX);
        let after = run(&out, seed, usize::MAX);
        let plain: Vec<&Event> = after.iter().filter(is_plain).collect();
        assert_eq!(
            before.iter().collect::<Vec<_>>(),
            plain,
            "the same as before"
        );
        // What is thrown in front of the enter hook is not the method's.
        if program.is_constructor && matches!(after[..], [Event::Call(..), Event::Threw(_)]) {
            continue;
        }
        let end = after.last();
        let at_end = match end {
            Some(Event::Returned(_)) => &bound.exit[..],
            Some(Event::Threw(_)) => &bound.exception[..],
            _ => &[],
        };
        let own: Vec<&Event> = after.iter().filter(is_own).collect();
        let calls: Vec<&Call> = bound.enter.iter().chain(at_end).collect();
        assert_eq!(own.len(), calls.len(), "{after:?}");
        for (event, call) in own.iter().zip(&calls) {
            let Event::Own(number, seen) = event else {
                unreachable!("filtered")
            };
            assert_eq!(number.to_string(), *call.hook.name);
            let expected = expected(&program, call, end);
            assert_eq!(seen.len(), expected.len(), "{event:?} {expected:?}");
            for (value, known) in seen.iter().zip(&expected) {
                assert!(
                    known.is_none_or(|known| known == *value),
                    "{event:?} {expected:?}"
                );
            }
        }
        // Own hooks lie outside of all others, and those at the start in front of the body.
        let hooks: Vec<usize> = (0..after.len()).filter(|i| is_own(&&after[*i])).collect();
        let first = usize::from(program.is_constructor);
        let entered: Vec<usize> = (first..first + bound.enter.len()).collect();
        let ended: Vec<usize> = (after.len() - 1 - at_end.len()..after.len() - 1).collect();
        assert_eq!(hooks, [entered, ended].concat(), "{after:?}");
        // What one of them throws is the end.
        let order: Vec<&Event> = (after.iter()).filter(|e| !is_plain(e)).collect();
        for (failing, _) in order.iter().enumerate().filter(|(_, e)| is_own(e)) {
            let failed = run(&out, seed, failing);
            let [.., Event::Failed(_, _, protected), Event::Threw(FAILURE)] = failed[..] else {
                panic!("{failed:?}");
            };
            assert!(!protected, "{failed:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]
    #[test]
    fn own_hooks_see_the_values_around_the_pair(
        seed: u64,
        decisions: u64,
        hooks in 0u8..16,
        choice in 0u32..512,
    ) {
        check_own(seed, decisions, Advice(hooks.into()), choice);
    }

    #[test]
    fn woven_bodies_do_the_same_and_enter_and_leave_once(seed: u64, decisions: u64) {
        check(seed, decisions, Advice::ALL);
    }

    #[test]
    fn sections_are_balanced_with_and_without_hooks(seed: u64, decisions: u64, hooks in 0u8..8) {
        check(seed, decisions, Advice::SECTION.with(Advice(hooks.into())));
    }
}
