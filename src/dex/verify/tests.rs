//! Woven methods hold, and each way to break them that a rewriter could find is seen.

use super::*;
use crate::aspect::advice::Advice;
use crate::aspect::everything::everything;
use crate::aspect::joinpoint::Method;
use crate::aspect::plan::Plan;
use crate::dex::format::insn::{self, Insn};
use crate::dex::format::opcodes::op;
use crate::dex::weave::{Scratch, one_by_one, weave};

const SHAPES: &[u8] = include_bytes!("../../../tests/dex/verify.dex");

fn plan(dex: &Dex<'_>, advice: Advice) -> Plan {
    // The first is far from the others, so that none of those fits four bits.
    let mut first = 0x1234_5600;
    let id = |_, index, _: &Method<'_>| Some(std::mem::replace(&mut first, 0x1234_5700) + index);
    everything(advice, id, |v| crate::dex::scan(dex, v).unwrap())
}

/// The file woven with the library's hooks, or with its own, which get ids of 16 bits.
fn woven(own: bool) -> Vec<u8> {
    let dex = Dex::parse(SHAPES).unwrap();
    let plan = plan(&dex, Advice::ALL);
    let mut scratch = Scratch::default().near_from(if own { 1 } else { usize::MAX });
    let woven = weave(&dex, &plan, &mut scratch, &one_by_one).unwrap();
    assert!(woven.types.iter().all(|t| t.left.is_empty()));
    woven.bytes.unwrap()
}

/// A method of the woven file under the knife.
struct Patient {
    bytes: Vec<u8>,
    /// Offset of the code item.
    item: usize,
    units: usize,
}

impl Patient {
    fn new(method: &str, own: bool) -> Patient {
        let bytes = woven(own);
        let mut item = 0;
        {
            let dex = Dex::parse(&bytes).unwrap();
            let file = &dex.files[0];
            for row in file.classes {
                let mut members = Members::read(file, ClassDef::read(row).data).unwrap();
                while let Some(m) = members.next().unwrap() {
                    if file.method_label(m.id) == format!("Shapes.{method}") {
                        item = m.code as usize;
                    }
                }
            }
        }
        assert_ne!(item, 0, "{method}");
        let units = Code::read(&bytes, item).unwrap().insns.len() / 2;
        Patient { bytes, item, units }
    }

    fn insns(&mut self) -> &mut [u8] {
        let from = self.item + 16;
        &mut self.bytes[from..from + 2 * self.units]
    }

    /// The nth instruction of a name.
    fn find(&mut self, name: &str, nth: usize) -> Insn {
        insn::each(self.insns())
            .map(Result::unwrap)
            .filter(|i| i.op().name == name && !i.is_payload)
            .nth(nth)
            .unwrap_or_else(|| panic!("no {name} {nth}"))
    }

    /// The first instruction that loads the id.
    fn find_id(&mut self) -> Insn {
        insn::each(self.insns())
            .map(Result::unwrap)
            .find(|i| matches!(i.opcode, op::CONST | op::CONST_16))
            .expect("methods with hooks have one")
    }

    fn unit(&mut self, pc: u32) -> u16 {
        insn::unit(self.insns(), pc)
    }

    fn set(&mut self, pc: u32, units: &[u16]) {
        for (at, unit) in (pc..).zip(units) {
            insn::set_unit(self.insns(), at, *unit);
        }
    }

    /// Overwrites 16 bits of the code item's header or tries.
    fn set_at(&mut self, offset: usize, value: u16) {
        let at = self.item + offset;
        self.bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }

    /// Calls a hook with the id, which is in `register`.
    fn call(&mut self, pc: u32, hook: &[u8], register: u16) {
        let index = {
            let dex = Dex::parse(&self.bytes).unwrap();
            let file = &dex.files[0];
            let name = |id: &u32| file.string(file.method(*id).unwrap().name).unwrap();
            (0..file.methods.len() as u32).find(|id| name(id) == hook)
        };
        let call = u16::from(op::INVOKE_STATIC) | 1 << 12;
        self.set(pc, &[call, index.unwrap() as u16, register]);
    }

    fn tries(&self) -> usize {
        (16 + 2 * self.units).next_multiple_of(4)
    }

    fn diagnosis(&self) -> String {
        let verdict = verify(&self.bytes);
        let told: Vec<String> = verdict
            .failures
            .iter()
            .map(|e| e.message().into())
            .collect();
        told.join("; ")
    }
}

#[test]
fn what_was_not_touched_and_what_was_woven_holds() {
    for (bytes, methods) in [(SHAPES, 15), (&woven(false), 15), (&woven(true), 20)] {
        let verdict = verify(bytes);
        assert_eq!(verdict.methods, methods);
        assert_eq!(verdict.failures.len(), 0, "{:?}", verdict.failures);
    }
}

/// Breaks a method and gives what is said of it. With hooks of the file's own the same is said, of other places.
fn broken(method: &str, how: impl Fn(&mut Patient)) -> String {
    let [library, own] = [false, true].map(|own| {
        let mut patient = Patient::new(method, own);
        how(&mut patient);
        patient.diagnosis()
    });
    let words = |told: &str| told.replace(|c: char| c.is_ascii_digit(), "");
    assert_eq!(words(&own), words(&library));
    library
}

const TEXT: &str = "text(I)Ljava/lang/String;";
const MANY: &str = "many(ILjava/lang/String;JDIIIIIIIIIII)J";
const CHOOSE: &str = "choose(ILjava/lang/String;)Ljava/lang/String;";
const LOCKED: &str = "locked(Ljava/lang/Object;I)V";
const UNGUARDED: &str = "unguarded(Ljava/lang/Object;I)V";
const CAUGHT: &str = "caught(I)Ljava/lang/String;";
const DATA: &str = "data(I)[I";
const NEW: &str = "<init>(I)V";
const GET: &str = "get()I";

#[test]
fn arguments_moved_by_the_wrong_variant() {
    insta::assert_snapshot!(broken(MANY, |p| {
        let object = p.find("move-object", 0);
        let unit = p.unit(object.pc);
        p.set(object.pc, &[unit & 0xff00 | u16::from(op::MOVE)]);
    }), @"move at 1: v2 holds java/lang/String, a single value is wanted");
    insta::assert_snapshot!(broken(MANY, |p| {
        let wide = p.find("move-wide", 0);
        let unit = p.unit(wide.pc);
        p.set(wide.pc, &[unit & 0xff00 | u16::from(op::MOVE)]);
    }), @"move at 2: v3 holds a long, a single value is wanted");
    // Moved the wrong way round, the second lands on the first's other half.
    insta::assert_snapshot!(broken(MANY, |p| {
        let wide = p.find("move-wide", 1);
        p.set(wide.pc, &[u16::from(op::MOVE_WIDE) | 3 << 8 | 5 << 12]);
    }), @"return-wide at 33: v2 holds a long whose upper half is lost");
}

#[test]
fn an_uninitialised_this_is_passed() {
    insta::assert_snapshot!(broken(NEW, |p| {
        let call = p.find("invoke-direct", 0);
        p.set(call.pc, &[0, 0, 0]);
    }), @"invoke-virtual at 11: v2 holds an uninitialised this, Shapes is wanted");
    insta::assert_snapshot!(broken(NEW, |p| {
        let call = p.find("invoke-direct", 0);
        p.set(call.pc, &[0, 0, 0]);
        let (touch, end) = (p.find("invoke-virtual", 0), p.find("iput", 0));
        p.set(touch.pc, &[0, 0, 0]);
        p.set(end.pc, &[0, 0]);
    }), @"return-void at 18: returns without having called another constructor");
    insta::assert_snapshot!(broken("fresh()Ljava/lang/Object;", |p| {
        let call = p.find("invoke-direct", 0);
        p.set(call.pc, &[0, 0, 0]);
    }), @"return-object at 15: v0 holds an uninitialised object, java/lang/Object is wanted");
}

#[test]
fn registers_that_hold_something_else() {
    // The id is loaded over the value that is returned.
    insta::assert_snapshot!(broken(TEXT, |p| {
        let result = p.find("move-result-object", 0);
        p.set(result.pc, &[0x1012]);
    }), @"return-object at 14: v0 holds a constant, java/lang/String is wanted");
    // The id's register is an argument's.
    insta::assert_snapshot!(broken("touch()V", |p| {
        let id = p.find_id();
        let opcode = p.unit(id.pc) & 0xff;
        p.set(id.pc, &[opcode | 2 << 8]);
    }), @"invoke-static at 3: v1 holds nothing, int is wanted");
    // The id is loaded on one path only.
    insta::assert_snapshot!(broken("loop(I)V", |p| {
        let id = p.find_id();
        p.set(id.pc, &[0; 3][..id.len as usize]);
    }), @"invoke-static at 3: v1 holds nothing, int is wanted");
    // One half of a pair is overwritten.
    insta::assert_snapshot!(broken("wide(JI)J", |p| {
        let exit = p.find("return-wide", 0).pc - 3;
        p.set(exit, &[0x0112, 0, 0]);
    }), @"return-wide at 14: v0 holds a long whose upper half is lost");
    // The exception and the id are passed the wrong way round.
    insta::assert_snapshot!(broken(TEXT, |p| {
        let leave = p.find("return-object", 0).pc - 1;
        let list = p.unit(leave);
        p.set(leave, &[list >> 4 & 15 | (list & 15) << 4]);
    }), @"invoke-static at 11: v1 holds a constant, java/lang/Throwable is wanted");
    // An id is thrown.
    insta::assert_snapshot!(broken(UNGUARDED, |p| {
        let throw = p.find("throw", 0).pc;
        let id = p.unit(throw - 1) >> 4 & 15;
        p.set(throw, &[u16::from(op::THROW) | id << 8]);
    }), @"throw at 22: v1 holds a constant, a reference is wanted");
}

#[test]
fn frames_that_are_too_small() {
    insta::assert_snapshot!(broken(TEXT, |p| p.set_at(4, 1)), @"invoke-static at 11: 2 words are passed, 1 are declared");
    insta::assert_snapshot!(broken(TEXT, |p| p.set_at(0, 2)), @"invoke-static at 6: v2 of 2 registers");
    insta::assert_snapshot!(broken(TEXT, |p| p.set_at(0, 4)), @"invoke-static at 6: v2 holds nothing, int is wanted");
    insta::assert_snapshot!(broken(TEXT, |p| p.set_at(2, 0)), @"1 words of arguments come in, 0 are declared");
}

#[test]
fn results_and_exceptions_out_of_place() {
    insta::assert_snapshot!(broken(TEXT, |p| {
        let result = p.find("move-result-object", 0).pc;
        // Between a call and its result comes what is passed to a hook.
        let (unit, null) = (p.unit(result), p.unit(result + 1));
        p.set(result, &[null, unit]);
    }), @"move-result-object at 10: no result right in front of it");
    insta::assert_snapshot!(broken(CAUGHT, |p| {
        let to = p.find("goto", 0).pc;
        p.set(to, &[0]);
    }), @"nop at 10: control falls into a move-exception");
    insta::assert_snapshot!(broken(CAUGHT, |p| {
        let (goto, handler) = (p.find("goto", 0).pc, p.find("move-exception", 1).pc);
        p.set(goto, &[u16::from(op::GOTO) | ((handler - goto) as u16) << 8]);
    }), @"goto at 10: branches to 19, to a move-exception");
    insta::assert_snapshot!(broken(CAUGHT, |p| {
        let string = p.find("const-string", 0).pc;
        p.set(string, &[0x000d, 0]);
    }), @"move-exception at 11: control falls into a move-exception");
    insta::assert_snapshot!(broken("loop(I)V", |p| {
        let (back, id) = (p.find("if-nez", 0).pc, p.find_id());
        p.set(back + 1, &[(id.end() as u16 - 1).wrapping_sub(back as u16)]);
    }), @"if-nez at 11: branches to 2, inside an instruction or data");
}

#[test]
fn monitors_out_of_balance() {
    // The call in the synchronized block throws into a handler that does not catch all.
    insta::assert_snapshot!(broken(UNGUARDED, |p| {
        // The second try's handler becomes the first's, where no monitor is held.
        let list = p.tries() + 6;
        let first = u16::from_le_bytes([p.bytes[p.item + list], p.bytes[p.item + list + 1]]);
        p.set_at(list + 8, first);
    }), @"control comes to 18 with 0 and with 1 monitors held");
    insta::assert_snapshot!(broken(LOCKED, |p| {
        let exit = p.find("monitor-exit", 0).pc;
        p.set(exit, &[0]);
    }), @"return-void at 19: returns while a monitor is held");
    insta::assert_snapshot!(broken(LOCKED, |p| {
        let enter = p.find("monitor-enter", 0).pc;
        p.set(enter, &[0]);
    }), @"monitor-exit at 10: no monitor is held");
    // The list of the block catches one type only.
    insta::assert_snapshot!(broken(UNGUARDED, |p| {
        let at = p.tries() + 8 + 6;
        let list = u16::from_le_bytes([p.bytes[p.item + at], p.bytes[p.item + at + 1]]);
        let lists = p.item + p.tries() + 8 * 3;
        let pc = p.bytes[lists + usize::from(list) + 1];
        // One typed handler instead of a catch-all takes the byte behind it, too.
        let throwable = {
            let dex = Dex::parse(&p.bytes).unwrap();
            (0..dex.files[0].types.len() as u32)
                .find(|t| dex.files[0].type_name(*t).unwrap() == "java/lang/RuntimeException")
                .unwrap()
        };
        let at = lists + usize::from(list);
        p.bytes[at..at + 3].copy_from_slice(&[1, throwable as u8, pc]);
    }), @"invoke-static at 7: throws while a monitor is held, in a try that does not catch all");
}

#[test]
fn tries_that_lie() {
    insta::assert_snapshot!(broken(CAUGHT, |p| {
        let second = p.tries() + 8;
        p.set_at(second, 0);
    }), @"try 0..3 is not in order or not within the code");
    insta::assert_snapshot!(broken(CAUGHT, |p| {
        let first = p.tries() + 4;
        p.set_at(first, 200);
    }), @"try 6..206 is not in order or not within the code");
    insta::assert_snapshot!(broken(CAUGHT, |p| {
        let first = p.tries();
        p.set_at(first, 7);
    }), @"try 11..14 is not in order or not within the code");
    insta::assert_snapshot!(broken(CAUGHT, |p| {
        let list = p.tries() + 6;
        p.set_at(list, 2);
    }), @"a try's handlers begin nowhere in the list of handlers");
}

#[test]
fn branches_and_data_astray() {
    insta::assert_snapshot!(broken(DATA, |p| {
        let switch = p.find("packed-switch", 0).pc;
        let to = p.unit(switch + 1);
        p.set(switch + 1, &[to + 1]);
    }), @"no payload at 19 for the switch");
    insta::assert_snapshot!(broken(DATA, |p| {
        let fill = p.find("fill-array-data", 0).pc;
        p.set(fill + 1, &[0xfff0]);
    }), @"branch to 65534, outside the code");
    insta::assert_snapshot!(broken(DATA, |p| {
        let switch = p.find("packed-switch", 0);
        let payload = insn::switch_payload(p.insns(), switch).unwrap();
        p.set(payload.targets, &[4]);
    }), @"return-object at 42: v0 holds different things on different paths, int[] is wanted");
    insta::assert_snapshot!(broken(DATA, |p| {
        let goto = p.find("goto", 1).pc;
        p.set(goto, &[0]);
    }), @"nop at 18: control runs into data");
    insta::assert_snapshot!(broken(DATA, |p| {
        let goto = p.find("goto", 0).pc;
        p.set(goto, &[u16::from(op::GOTO)]);
    }), @"goto at 10: branches to itself");
    // A payload moves by one unit, into data that nobody uses.
    insta::assert_snapshot!(broken(DATA, |p| {
        let fill = p.find("fill-array-data", 0);
        let payload = fill.target(p.insns()).unwrap();
        let mut units: Vec<u16> = (payload..payload + 6).map(|pc| p.unit(pc)).collect();
        units.insert(0, 0);
        units.resize(14, 0);
        p.set(payload, &units);
        let to = p.unit(fill.pc + 1);
        p.set(fill.pc + 1, &[to + 1]);
    }), @"fill-array-data at 14: the payload at 25 is not aligned");
    insta::assert_snapshot!(broken(TEXT, |p| {
        let back = p.find("goto", 0).pc;
        p.set(back, &[0]);
    }), @"nop at 17: control falls off the end of the code");
}

#[test]
fn indexes_and_hooks_astray() {
    insta::assert_snapshot!(broken(TEXT, |p| {
        let call = p.find("invoke-static", 1).pc;
        p.set(call + 1, &[0x7fff]);
    }), @"invoke-static at 6: index 32767 of a table of 23");
    // A hook is called that takes something else.
    insta::assert_snapshot!(broken(TEXT, |p| {
        let (enter, leave) = (p.find("invoke-static", 0).pc, p.find("invoke-static", 2).pc);
        let index = p.unit(leave + 1);
        p.set(enter + 1, &[index]);
    }), @"invoke-static at 3: v1 holds a constant, java/lang/Throwable is wanted");
    insta::assert_snapshot!(broken(TEXT, |p| {
        let exit = p.find("return-object", 0).pc - 3;
        p.set(exit, &[u16::from(op::INVOKE_STATIC)]);
    }), @"invoke-static at 11: too few arguments");
    insta::assert_snapshot!(broken("loop(I)V", |p| {
        let call = p.find("invoke-static", 1).pc;
        let unit = p.unit(call);
        p.set(call, &[unit & 0xff00 | u16::from(op::INVOKE_VIRTUAL)]);
    }), @"invoke-virtual at 6: the method is static");
    insta::assert_snapshot!(broken(TEXT, |p| {
        let end = p.find("return-object", 0).pc;
        p.set(end, &[u16::from(op::RETURN_VOID)]);
    }), @"return-void at 14: the method returns java/lang/String");
}

#[test]
fn hooks_that_do_not_pair() {
    // A loop's head is the first instruction: its branch goes to the enter hook, or in front of it.
    for front in [true, false] {
        assert_eq!(
            broken("loop(I)V", |p| {
                let (back, enter) = (p.find("if-nez", 0).pc, p.find("invoke-static", 0).pc);
                let to = if front { 0 } else { enter };
                p.set(back + 1, &[(to as u16).wrapping_sub(back as u16)]);
            }),
            "invoke-static at 3: the enter hook is called again"
        );
    }
    // The method's own try begins in front of the enter hook.
    insta::assert_snapshot!(broken(CAUGHT, |p| {
        let first = p.tries();
        let behind = p.find("invoke-static", 0).end() as u16;
        let end = behind + u16::from_le_bytes([p.bytes[p.item + first + 4], p.bytes[p.item + first + 5]]);
        p.set_at(first, 0);
        p.set_at(first + 4, end);
    }), @"invoke-static at 15: the hook is called before the enter hook");
    // A branch passes the exit hook by.
    insta::assert_snapshot!(broken(CHOOSE, |p| {
        let (branch, end) = (p.find("if-eqz", 0).pc, p.find("return-object", 0).pc);
        p.set(branch + 1, &[(end - branch) as u16]);
    }), @"return-object at 17: returns without the exit hook");
    // What was at the end goes there once more.
    insta::assert_snapshot!(broken(CHOOSE, |p| {
        let end = p.find("return-object", 0).pc;
        p.set(end, &[u16::from(op::GOTO) | 0xfd00]);
    }), @"invoke-static at 14: an exit or exception hook is called again");
}

#[test]
fn both_ways_out_meet_in_one_call() {
    // The handler gives the register that is returned nothing.
    insta::assert_snapshot!(broken(TEXT, |p| {
        let handler = p.find("move-exception", 0).pc;
        p.set(handler + 1, &[0]);
    }), @"return-object at 14: v0 holds different things on different paths, java/lang/String is wanted");
    // A return brings no null.
    insta::assert_snapshot!(broken(TEXT, |p| {
        let end = p.find("return-object", 0).pc;
        p.set(end - 4, &[0]);
    }), @"invoke-static at 11: v2 holds an int, java/lang/Throwable is wanted");
    // The handler goes behind the call.
    insta::assert_snapshot!(broken(TEXT, |p| {
        let (back, end) = (p.find("goto", 0).pc, p.find("return-object", 0).pc);
        p.set(back, &[u16::from(op::GOTO) | (end.wrapping_sub(back) as u16) << 8]);
    }), @"return-object at 14: returns without the exit hook");
    // The handler protects the call: what is thrown again comes back to it.
    insta::assert_snapshot!(broken(TEXT, |p| {
        let (first, end) = (p.tries(), p.find("return-object", 0).pc);
        p.set_at(first + 4, end as u16 - 6);
    }), @"invoke-static at 11: an exit or exception hook is called again");
    // A handler comes to it while a monitor is held.
    insta::assert_snapshot!(broken(UNGUARDED, |p| {
        let (handler, end) = (p.find("move-exception", 1).pc, p.find("return-void", 0).pc);
        let to = (end - 3).wrapping_sub(handler + 1);
        p.set(handler + 1, &[u16::from(op::GOTO) | (to as u16) << 8]);
    }), @"control comes to 14 with 0 and with 1 monitors held");
}

#[test]
fn a_whole_call_in_one_hook() {
    // Its code is left as it is, behind the hook.
    for own in [false, true] {
        let mut patient = Patient::new(GET, own);
        let hook = patient.find("invoke-static", 0).pc;
        assert_eq!(patient.find("iget", 0).pc, hook + 3);
    }
    for (hook, told) in [
        (
            &b"exit"[..],
            "invoke-static at 6: an exit or exception hook is called again",
        ),
        (b"leaf", ""),
    ] {
        assert_eq!(
            broken(GET, |p| {
                let leaf = p.find("invoke-static", 0).pc;
                p.call(leaf + 3, hook, 0);
                p.set(leaf + 6, &[0]);
            }),
            told
        );
    }
    // The exit hook in front of it.
    insta::assert_snapshot!(broken(GET, |p| {
        let leaf = p.find("invoke-static", 0).pc;
        p.call(leaf, b"exit", 0);
        p.call(leaf + 3, b"leaf", 0);
        p.set(leaf + 6, &[0]);
    }), @"invoke-static at 3: the hook is called before the enter hook");
    // A branch goes to the hook again.
    insta::assert_snapshot!(broken(GET, |p| {
        let leaf = p.find("invoke-static", 0).pc;
        p.set(leaf + 6, &[3u16.wrapping_sub(8)]);
    }), @"invoke-static at 3: the leaf hook is called beside another hook");
    // An enter hook in front of it, in a constructor.
    insta::assert_snapshot!(broken(NEW, |p| {
        let touch = p.find("invoke-virtual", 0).pc;
        p.call(touch, b"leaf", 1);
    }), @"invoke-static at 11: the leaf hook is called beside another hook");
    // An exit hook on one of two ways.
    insta::assert_snapshot!(broken("<init>()V", |p| {
        let end = p.find("return-void", 0).pc - 3;
        p.call(end, b"exit", 1);
    }), @"invoke-static at 9: the hook is called before the enter hook");
}

/// What `verify` says of a file, a method a line.
fn refused(bytes: &[u8]) -> String {
    let failures = verify(bytes).failures;
    let lines: Vec<String> = failures
        .iter()
        .map(|e| format!("{}: {}", e.method().unwrap_or_default(), e.message()))
        .collect();
    lines.join("\n")
}

/// ART's own verifier refuses the same methods (tests/harness/check_art.py).
#[test]
fn returned_and_passed_references_have_their_type() {
    insta::assert_snapshot!(refused(include_bytes!("../../../tests/dex/refused.dex")), @"
    Refused.exceptionAsError()Ljava/lang/Error;: return-object at 5: v0 holds Refused, java/lang/Error is wanted
    Refused.exceptionAsOther()LOther;: return-object at 5: v0 holds Refused, Other is wanted
    Refused.exceptionAsString()Ljava/lang/String;: return-object at 5: v0 holds Refused, java/lang/String is wanted
    Refused.intsAsOther([I)LOther;: return-object at 0: v0 holds int[], Other is wanted
    Refused.intsAsTasks([[I)[Ljava/lang/Runnable;: return-object at 0: v0 holds int[][], java/lang/Runnable[] is wanted
    Refused.listAsOther(Ljava/util/ArrayList;)LOther;: return-object at 0: v0 holds java/util/ArrayList, Other is wanted
    Refused.metArrays(Z)[Ljava/lang/Runnable;: return-object at 8: v1 holds java/lang/Object[], java/lang/Runnable[] is wanted
    Refused.objectsAsTasks([Ljava/lang/Object;)[Ljava/lang/Runnable;: return-object at 0: v0 holds java/lang/Object[], java/lang/Runnable[] is wanted
    Refused.otherAsException(LOther;)Ljava/lang/RuntimeException;: return-object at 0: v0 holds Other, java/lang/RuntimeException is wanted
    Refused.othersAsTasks([LOther;)[Ljava/lang/Runnable;: return-object at 0: v0 holds Other[], java/lang/Runnable[] is wanted
    Refused.passed([Ljava/lang/Object;)V: invoke-static at 3: v0 holds java/lang/Object[], Other[] is wanted
    ");
}

#[test]
fn arrays_that_do_not_meet_are_returned_apart() {
    let returns = include_bytes!("../../../tests/dex/returns.dex");
    let dex = Dex::parse(returns).unwrap();
    for bits in 0..16 {
        let each = [
            Advice::ENTER,
            Advice::EXIT,
            Advice::EXCEPTION,
            Advice::SECTION,
        ];
        let with = (0..4).filter(|i| bits >> i & 1 == 1).map(|i| each[i]);
        let advice = with.fold(Advice::default(), Advice::with);
        let plan = plan(&dex, advice);
        let woven = weave(&dex, &plan, &mut Scratch::default(), &one_by_one).unwrap();
        assert_eq!(refused(&woven.bytes.unwrap()), "", "{advice:?}");
    }
}

/// As ART's own verifier of files does, which `dexdump` asks.
#[test]
fn members_and_classes_are_declared_once() {
    let sample: &[u8] = include_bytes!("../../../tests/dex/everything.dex");
    assert_eq!(refused(sample), "");
    let dex = Dex::parse(sample).unwrap();
    let file = &dex.files[0];
    let broken = |at: usize, byte: u8| {
        let mut bytes = sample.to_vec();
        assert!(bytes[at] < 0x80 && byte < 0x80, "one byte each");
        bytes[at] = byte;
        refused(&bytes)
    };
    let mut tried = 0;
    for row in file.classes {
        let class = ClassDef::read(row);
        if class.data == 0 {
            continue;
        }
        let mut members = Members::read(file, class.data).unwrap();
        if members.direct == 0 || members.virtuals == 0 {
            continue;
        }
        let at = members.head.end;
        let first = members.next().unwrap().unwrap().id;
        for _ in 1..members.direct {
            members.next().unwrap();
        }
        let first_virtual = members.start + members.len();
        let id = members.next().unwrap().unwrap().id;
        if first >= 0x80 || id >= 0x80 {
            continue;
        }
        let told = broken(first_virtual, first as u8);
        assert!(
            told.contains(": a method is both direct and virtual"),
            "{told}"
        );
        // A method of another class.
        let other = (0..0x80).find(|i| u16_at(&file.methods[*i], 0) != class.ty as u16);
        let told = broken(at, other.unwrap() as u8);
        assert!(
            told.contains("is not of the class that declares it"),
            "{told}"
        );
        tried += 1;
    }
    assert!(tried > 0);
    // The type of the second class is that of the first, too.
    let classes = u32_at(sample, 0x64) as usize;
    let mut bytes = sample.to_vec();
    bytes.copy_within(classes..classes + 4, classes + 32);
    let told = refused(&bytes);
    assert!(told.contains("is defined twice"), "{told}");
}

#[test]
fn no_bytes_panic() {
    // Every byte of the file, changed in two ways.
    let good = woven(true);
    for at in 0..good.len() {
        for by in [1, 0x80] {
            let mut bad = good.clone();
            bad[at] ^= by;
            verify(&bad);
        }
    }
}
