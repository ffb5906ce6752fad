//! Small bodies woven, instruction by instruction.

use super::*;
use crate::aspect::attempt::settle;
use crate::aspect::bind::call::{Bound, Dest, Keep, Source};
use crate::aspect::bind::ty::{Prim, Ty};
use crate::dex::analysis::caught::Caught;
use crate::dex::analysis::own_fields::OwnFields;
use crate::dex::lower::insertions::{Insertion, Insertions};
use crate::dex::testing::{Body, as_object, call as own_call, object, same, show};
use crate::edit::ByPc;
use std::sync::Arc;

pub(super) const LEAVE: u32 = 105;
pub(super) const LEAF: u32 = 106;
pub(super) const HOOKS: Hooks = Hooks {
    enter: 100,
    exit: 101,
    error: 102,
    begin: 103,
    end: 104,
    count: 107,
    start: 108,
    stop: 109,
    failed: 110,
    finish: Some(111),
    moment: Some(112),
    leave: Some(LEAVE),
    leaf: Some(LEAF),
    base: 0,
};

fn method(shorty: &str) -> MethodInfo<'_> {
    MethodInfo {
        shorty: shorty.as_bytes(),
        is_static: true,
        is_constructor: false,
        throwable: Some(9),
        returns_apart: false,
        section: 500,
        own: OwnFields::NONE,
        hooks: None,
        points: None,
    }
}

const CONSTRUCTOR: MethodInfo<'static> = MethodInfo {
    shorty: b"V",
    is_static: false,
    is_constructor: true,
    throwable: Some(9),
    returns_apart: false,
    section: 500,
    own: OwnFields::NONE,
    hooks: None,
    points: None,
};

fn map() -> Remap {
    Remap::identity([1000; 5])
}

fn lowered(body: &Body, method: MethodInfo<'_>, advice: Advice) -> Result<Vec<u8>, Reason> {
    lowered_by(HOOKS, body, method, advice)
}

fn lowered_by(
    hooks: Hooks,
    body: &Body,
    method: MethodInfo<'_>,
    advice: Advice,
) -> Result<Vec<u8>, Reason> {
    let bytes = body.bytes();
    let code = Code::read(&bytes, 0).unwrap();
    let planned = Planned {
        ty: 0,
        index: 0,
        id: 0x12345678,
        advice,
        bound: None,
    };
    let mut out = vec![];
    let mut scratch = Scratch::default();
    let outcome = lower(
        &code,
        method,
        &planned,
        hooks,
        &map(),
        &mut scratch,
        &mut out,
    );
    settle(outcome).unwrap().map(|()| out)
}

fn woven(body: &Body, method: MethodInfo<'_>) -> String {
    show(&lowered(body, method, Advice::ALL).unwrap())
}

#[test]
fn without_advice_nothing_changes() {
    let body = Body::new(2, 1, &[0x0071, 1, 0, 0x000e, 0x010d, 0x0127]).try_at(
        0,
        3,
        &[(Some(4), 4), (None, 4)],
    );
    assert_eq!(
        lowered(&body, method("VI"), Advice::default()).unwrap(),
        body.bytes()
    );
}

#[test]
fn this_keeps_its_register() {
    let instance = |shorty| MethodInfo {
        is_static: false,
        ..method(shorty)
    };
    // invoke-static {v0}; return-void. v0 is `this`, and there is nothing else.
    let only = Body::new(1, 1, &[0x1071, 1, 0, 0x000e]);
    insta::assert_snapshot!(woven(&only, instance("V")), @"
    registers 3 ins 1 outs 2
       0 const v0, #0x12345678
       3 invoke-static v0, @100
       6 invoke-static v2, @1
       9 const/4 v1, #0x0
      10 invoke-static v1, v0, @105
      13 return-void
      14 move-exception v1
      15 goto -> 10
    try 6..9 all -> 14
    ");
    // invoke-static {v1}; move-result v0; return v0. The only local is returned.
    let local = Body::new(2, 1, &[0x1071, 1, 1, 0x000a, 0x000f]);
    insta::assert_snapshot!(woven(&local, instance("I")), @"
    registers 4 ins 1 outs 2
       0 const v1, #0x12345678
       3 invoke-static v1, @100
       6 invoke-static v3, @1
       9 move-result v0
      10 const/4 v2, #0x0
      11 invoke-static v2, v1, @105
      14 return v0
      15 move-exception v2
      16 const/4 v0, #0x0
      17 goto -> 11
    try 6..10 all -> 15
    ");
    // invoke-static {v1}; return-object v1: it is returned itself, and still is `this` in the handler.
    let itself = Body::new(2, 1, &[0x1071, 1, 1, 0x0111]);
    insta::assert_snapshot!(woven(&itself, instance("L")), @"
    registers 3 ins 1 outs 2
       0 const v1, #0x12345678
       3 invoke-static v1, @100
       6 invoke-static v2, @1
       9 const/4 v0, #0x0
      10 invoke-static v0, v1, @105
      13 return-object v2
      14 move-exception v0
      15 goto -> 10
    try 6..9 all -> 14
    ");
    // The same where something else came into its register before.
    let other = Body::new(2, 1, &[0x1071, 1, 1, 0x010c, 0x0111]);
    insta::assert_snapshot!(woven(&other, instance("L")), @"
    registers 3 ins 1 outs 2
       0 const v1, #0x12345678
       3 invoke-static v1, @100
       6 invoke-static v2, @1
       9 move-result-object v2
      10 const/4 v0, #0x0
      11 invoke-static v0, v1, @105
      14 return-object v2
      15 move-exception v0
      16 const/4 v2, #0x0
      17 goto -> 11
    try 6..10 all -> 15
    ");
    // Exception hook alone.
    let alone = lowered(&only, instance("V"), Advice::EXCEPTION).unwrap();
    insta::assert_snapshot!(show(&alone), @"
    registers 3 ins 1 outs 2
       0 const v0, #0x12345678
       3 invoke-static v2, @1
       6 return-void
       7 move-exception v1
       8 invoke-static v1, v0, @102
      11 throw v1
    try 3..7 all -> 7
    ");
}

#[test]
fn the_id_lives_between_locals_and_arguments() {
    // add-int v0, v1, v2; invoke-static {v0}; return v0
    let body = Body::new(3, 2, &[0x0090, 0x0201, 0x1071, 1, 0, 0x000f]);
    insta::assert_snapshot!(woven(&body, method("III")), @"
    registers 4 ins 2 outs 2
       0 const v1, #0x12345678
       3 invoke-static v1, @100
       6 add-int v0, v2, v3
       8 invoke-static v0, @1
      11 const/4 v2, #0x0
      12 invoke-static v2, v1, @105
      15 return v0
      16 move-exception v2
      17 const/4 v0, #0x0
      18 goto -> 12
    try 6..11 all -> 16
    ");
}

#[test]
fn what_cannot_throw_gets_no_handler() {
    // neg-int v0, v0; if-eqz v0, -1; return-void
    let body = Body::new(1, 1, &[0x007b, 0x0038, 0xffff, 0x000e]);
    insta::assert_snapshot!(woven(&body, method("VI")), @"
    registers 2 ins 1 outs 1
       0 const v0, #0x12345678
       3 invoke-static v0, @100
       6 neg-int v1, v1
       7 if-eqz v1, -> 6
       9 invoke-static v0, @101
      12 return-void
    ");
}

#[test]
fn enter_and_exit_are_one_call_where_nothing_takes_time() {
    insta::assert_snapshot!(woven(&Body::new(0, 0, &[0x000e]), method("V")), @"
    registers 1 ins 0 outs 1
       0 const v0, #0x12345678
       3 invoke-static v0, @106
       6 return-void
    ");
    // if-eqz v1, +3; return v0; return v1
    let two = || Body::new(2, 1, &[0x0138, 3, 0x000f, 0x010f]);
    insta::assert_snapshot!(woven(&two(), method("II")), @"
    registers 2 ins 1 outs 1
       0 const v0, #0x12345678
       3 invoke-static v0, @106
       6 if-eqz v1, -> 9
       8 return v0
       9 return v1
    ");
    // A dex file without room for the hook, and advice that is not the whole.
    let hooks = Hooks {
        leaf: None,
        ..HOOKS
    };
    let calls = |hooks, advice| {
        let bytes = lowered_by(hooks, &two(), method("II"), advice).unwrap();
        let code = Code::read(&bytes, 0).unwrap();
        let insns = insn::each(code.insns).map(Result::unwrap);
        let calls = insns.filter(|i| i.opcode == op::INVOKE_STATIC);
        calls.map(|i| i.index()).collect::<Vec<_>>()
    };
    assert_eq!(calls(HOOKS, Advice::ALL), [LEAF]);
    assert_eq!(calls(hooks, Advice::ALL), [100, 101]);
    assert_eq!(calls(HOOKS, Advice::ENTER.with(Advice::EXIT)), [100, 101]);
    assert_eq!(calls(HOOKS, Advice::ENTER), [100]);
    assert_eq!(calls(HOOKS, Advice::COUNT), [107]);
    assert_eq!(calls(HOOKS, Advice::AGGREGATE), [112]);
    let apart = Hooks {
        moment: None,
        ..HOOKS
    };
    assert_eq!(calls(apart, Advice::AGGREGATE), [108, 109]);
    assert_eq!(
        calls(HOOKS, Advice::COUNT.with(Advice::SECTION))[..2],
        [107, 103]
    );
    let all = Advice::ALL.with(Advice::SECTION);
    assert_eq!(calls(HOOKS, all), [100, 103, 104, 101]);
}

#[test]
fn what_loops_or_is_long_is_no_leaf() {
    let is_leaf = |units: &[u16]| {
        let text = woven(&Body::new(1, 1, units), method("VI"));
        assert_ne!(text.contains("@106"), text.contains("@101"), "{text}");
        text.contains("@106")
    };
    let long = |nops: usize| [vec![0; nops], vec![0x000e]].concat();
    assert!(is_leaf(&long(23)));
    assert!(!is_leaf(&long(24)));
    // if-eqz v0, +2; nop; return-void: forwards. And back to a nop, to itself.
    assert!(is_leaf(&[0x0038, 3, 0, 0x000e]));
    assert!(!is_leaf(&[0, 0x0038, 0xffff, 0x000e]));
    assert!(!is_leaf(&[0, 0x0038, 0, 0x000e]));
    // goto +2; return-void; goto -1
    assert!(!is_leaf(&[0x0228, 0x000e, 0xff28]));
    // neg-int v0, v0; packed-switch v0, +5; return-void; nop: its one case goes to the return, or to the start.
    let switch = |low, high| {
        let code = [0x007b, 0x002b, 5, 0, 0x000e, 0];
        [&code[..], &[0x0100, 1, 0, 0, low, high]].concat()
    };
    assert!(is_leaf(&switch(3, 0)));
    assert!(!is_leaf(&switch(0xffff, 0xffff)));
}

/// What goes around points, each a call of a method that takes nothing.
fn pointed(body: &Body, registers: u32, at: &[(u32, Option<Caught>, Option<Caught>)]) -> String {
    let call = |caught: Option<Caught>, method| {
        let mut out = vec![];
        if caught.is_some() {
            registers::put_invoke_static(&mut out, method, &[]);
        }
        out
    };
    let mut all = ByPc::default();
    for &(pc, behind, before) in at {
        *all.entry(pc) = Insertion {
            behind: call(behind, 7),
            before: call(before, 8),
            behind_caught: behind.unwrap_or_default(),
            caught: before.unwrap_or_default(),
            replaces: false,
        };
    }
    let points = Insertions {
        at: all,
        registers,
        outs: 0,
    };
    let method = MethodInfo {
        points: Some(&points),
        ..method("II")
    };
    show(&lowered(body, method, Advice::default()).unwrap())
}

#[test]
fn what_stands_at_points_is_in_the_tries_of_what_it_belongs_to() {
    // sget v0, 5; goto +1; invoke-static {}; return v0; move-exception v0; return v1
    let code = [0x0060, 5, 0x0128, 0x0071, 1, 0, 0x000f, 0x000d, 0x010f];
    let body = Body::new(2, 1, &code).try_at(0, 6, &[(None, 7)]);
    // Behind the last and in front of the first, too.
    let (here, nowhere) = (Some(Caught::Here), Some(Caught::Nowhere));
    let all_here = [(0, None, here), (2, here, None), (6, here, None)];
    insta::assert_snapshot!(pointed(&body, 0, &all_here), @"
    registers 2 ins 1 outs 0
       0 invoke-static @8
       3 sget v0, @5
       5 invoke-static @7
       8 goto -> 9
       9 invoke-static @1
      12 invoke-static @7
      15 return v0
      16 move-exception v0
      17 return v1
    try 0..15 all -> 16
    ");
    // Arguments are moved down where the frame grows, and no branch leads in front of that.
    let apart = [(2, nowhere, nowhere), (6, nowhere, None)];
    insta::assert_snapshot!(pointed(&body, 2, &apart), @"
    registers 4 ins 1 outs 0
       0 move v1, v3
       1 sget v0, @5
       3 invoke-static @7
       6 invoke-static @8
       9 goto -> 10
      10 invoke-static @1
      13 invoke-static @7
      16 return v0
      17 move-exception v0
      18 return v1
    try 1..3 all -> 17
    try 9..13 all -> 17
    ");
    let below = Body::new(2, 1, &code).try_at(2, 6, &[(None, 7)]);
    insta::assert_snapshot!(pointed(&below, 0, &[(2, Some(Caught::Below), None)]), @"
    registers 2 ins 1 outs 0
       0 sget v0, @5
       2 invoke-static @7
       5 goto -> 6
       6 invoke-static @1
       9 return v0
      10 move-exception v0
      11 return v1
    try 2..9 all -> 10
    ");
}

#[test]
fn constructors_whose_own_code_is_a_leaf() {
    // invoke-direct {v1}; iput v0, v1; return-void
    let body = Body::new(2, 1, &[0x1070, 1, 1, 0x1059, 0, 0x000e]);
    let own = OwnFields::FIRST;
    insta::assert_snapshot!(woven(&body, MethodInfo { own, ..CONSTRUCTOR }), @"
    registers 3 ins 1 outs 1
       0 const v1, #0x12345678
       3 invoke-direct v2, @1
       6 invoke-static v1, @106
       9 iput v0, v2, @0
      11 return-void
    ");
    // Another one's code, which can throw, is not within.
    let body = Body::new(2, 1, &[0x1070, 1, 1, 0x000e]);
    insta::assert_snapshot!(woven(&body, CONSTRUCTOR), @"
    registers 3 ins 1 outs 1
       0 const v1, #0x12345678
       3 invoke-direct v2, @1
       6 invoke-static v1, @106
       9 return-void
    ");
}

#[test]
fn returns_go_to_the_last_one_or_to_one_at_the_end() {
    // if-eqz v1, +3; return v0; return v1
    let last = Body::new(2, 1, &[0x0138, 3, 0x000f, 0x010f]);
    let both = Advice::ENTER.with(Advice::EXIT);
    insta::assert_snapshot!(show(&lowered(&last, method("II"), both).unwrap()), @"
    registers 3 ins 1 outs 1
       0 const v1, #0x12345678
       3 invoke-static v1, @100
       6 if-eqz v2, -> 9
       8 goto -> 13
       9 invoke-static v1, @101
      12 return v2
      13 move v2, v0
      14 goto -> 9
    ");
    // if-eqz v1, +3; return v1; throw v0
    let end = Body::new(2, 1, &[0x0138, 3, 0x010f, 0x0027]);
    insta::assert_snapshot!(woven(&end, method("II")), @"
    registers 3 ins 1 outs 2
       0 const v1, #0x12345678
       3 invoke-static v1, @100
       6 if-eqz v2, -> 9
       8 goto -> 10
       9 throw v0
      10 const/4 v0, #0x0
      11 invoke-static v0, v1, @105
      14 return v2
      15 move-exception v0
      16 const/4 v2, #0x0
      17 goto -> 11
    try 6..10 all -> 15
    ");
}

#[test]
fn a_loop_to_the_start_enters_once() {
    // invoke-static {}; if-eqz v0, -3; return-void
    let body = Body::new(1, 1, &[0x0071, 1, 0, 0x0038, 0xfffd, 0x000e]);
    insta::assert_snapshot!(woven(&body, method("VI")), @"
    registers 2 ins 1 outs 2
       0 const v0, #0x12345678
       3 invoke-static v0, @100
       6 invoke-static @1
       9 if-eqz v1, -> 6
      11 const/4 v1, #0x0
      12 invoke-static v1, v0, @105
      15 return-void
      16 move-exception v1
      17 goto -> 12
    try 6..11 all -> 16
    ");
}

#[test]
fn a_pair_leaves_by_two_calls_unless_that_takes_a_try() {
    // invoke-static {}; return-wide v0; move-exception v2; goto -2
    let body = || Body::new(3, 1, &[0x0071, 1, 0, 0x0010, 0x020d, 0xfe28]);
    insta::assert_snapshot!(woven(&body(), method("JI")), @"
    registers 4 ins 1 outs 2
       0 const v2, #0x12345678
       3 invoke-static v2, @100
       6 invoke-static @1
       9 goto -> 12
      10 move-exception v3
      11 goto -> 9
      12 invoke-static v2, @101
      15 return-wide v0
      16 move-exception v0
      17 invoke-static v0, v2, @102
      20 throw v0
    try 6..16 all -> 16
    ");
    insta::assert_snapshot!(woven(&body().try_at(0, 4, &[(Some(5), 4)]), method("JI")), @"
    registers 4 ins 1 outs 2
       0 const v2, #0x12345678
       3 invoke-static v2, @100
       6 invoke-static @1
       9 goto -> 12
      10 move-exception v3
      11 goto -> 9
      12 const/4 v3, #0x0
      13 invoke-static v3, v2, @105
      16 return-wide v0
      17 move-exception v3
      18 const-wide/16 v0, #0x0
      20 goto -> 13
    try 6..10 @5 -> 10 all -> 17
    ");
}

#[test]
fn one_call_needs_a_register_more() {
    // invoke-static {}; return v0
    let body = |ins| Body::new(1, ins, &[0x0071, 1, 0, 0x000f]);
    insta::assert_snapshot!(woven(&body(0), method("I")), @"
    registers 3 ins 0 outs 2
       0 const v1, #0x12345678
       3 invoke-static v1, @100
       6 invoke-static @1
       9 const/4 v2, #0x0
      10 invoke-static v2, v1, @105
      13 return v0
      14 move-exception v2
      15 const/4 v0, #0x0
      16 goto -> 10
    try 6..9 all -> 14
    ");
    insta::assert_snapshot!(woven(&body(1), method("II")), @"
    registers 2 ins 1 outs 2
       0 const v0, #0x12345678
       3 invoke-static v0, @100
       6 invoke-static @1
       9 invoke-static v0, @101
      12 return v1
      13 move-exception v1
      14 invoke-static v1, v0, @102
      17 throw v1
    try 6..13 all -> 13
    ");
}

#[test]
fn returned_values_are_moved_in_front_of_the_null() {
    // if-eqz v1, +6; invoke-static {}; return-object v0; return-object v1
    let body = Body::new(2, 1, &[0x0138, 6, 0x0071, 1, 0, 0x0011, 0x0111]);
    insta::assert_snapshot!(woven(&body, method("LL")), @"
    registers 3 ins 1 outs 2
       0 const v1, #0x12345678
       3 invoke-static v1, @100
       6 if-eqz v2, -> 12
       8 invoke-static @1
      11 goto -> 17
      12 const/4 v0, #0x0
      13 invoke-static v0, v1, @105
      16 return-object v2
      17 move-object v2, v0
      18 goto -> 12
      19 move-exception v0
      20 const/4 v2, #0x0
      21 goto -> 13
    try 6..12 all -> 19
    ");
}

#[test]
fn hooks_of_one_kind_stay_apart() {
    // invoke-static {}; return-void
    let body = Body::new(1, 0, &[0x0071, 1, 0, 0x000e]);
    for advice in [Advice::EXIT, Advice::EXCEPTION, BOTH] {
        let shown = show(&lowered(&body, method("V"), advice).unwrap());
        assert!(!shown.contains("@105"), "{shown}");
    }
}

#[test]
fn own_handlers_come_first_and_exit_hooks_stay_outside() {
    // invoke-static {}; return-void; move-exception v0; return-void
    let body =
        Body::new(1, 0, &[0x0071, 1, 0, 0x000e, 0x000d, 0x000e]).try_at(0, 4, &[(Some(5), 4)]);
    insta::assert_snapshot!(woven(&body, method("V")), @"
    registers 2 ins 0 outs 2
       0 const v1, #0x12345678
       3 invoke-static v1, @100
       6 invoke-static @1
       9 goto -> 11
      10 move-exception v0
      11 const/4 v0, #0x0
      12 invoke-static v0, v1, @105
      15 return-void
      16 move-exception v0
      17 goto -> 12
    try 6..10 @5 -> 10 all -> 16
    ");
}

#[test]
fn who_catches_throwable_needs_no_other_handler() {
    let body =
        Body::new(1, 0, &[0x0071, 1, 0, 0x000e, 0x000d, 0x000e]).try_at(0, 3, &[(Some(9), 4)]);
    insta::assert_snapshot!(woven(&body, method("V")), @"
    registers 2 ins 0 outs 1
       0 const v1, #0x12345678
       3 invoke-static v1, @100
       6 invoke-static @1
       9 goto -> 11
      10 move-exception v0
      11 invoke-static v1, @101
      14 return-void
    try 6..9 @9 -> 10
    ");
}

#[test]
fn constructors_enter_behind_the_call() {
    // invoke-direct {v1}; invoke-virtual {v1}; return-void
    let body = Body::new(2, 1, &[0x1070, 1, 1, 0x106e, 2, 1, 0x000e]);
    insta::assert_snapshot!(woven(&body, CONSTRUCTOR), @"
    registers 3 ins 1 outs 2
       0 const v1, #0x12345678
       3 invoke-direct v2, @1
       6 invoke-static v1, @100
       9 invoke-virtual v2, @2
      12 const/4 v0, #0x0
      13 invoke-static v0, v1, @105
      16 return-void
      17 move-exception v0
      18 goto -> 13
    try 9..12 all -> 17
    ");
}

#[test]
fn large_frames_take_dead_registers() {
    // invoke-static {v17}; return-wide v0
    let body = Body::new(18, 1, &[0x0177, 1, 17, 0x0010]);
    insta::assert_snapshot!(woven(&body, method("JI")), @"
    registers 18 ins 1 outs 2
       0 const v0, #0x12345678
       3 invoke-static v0, @100
       6 invoke-static/range v17, @1
       9 const/4 v2, #0x0
      10 const v3, #0x12345678
      13 invoke-static v2, v3, @105
      16 return-wide v0
      17 move-exception v2
      18 const-wide/16 v0, #0x0
      20 goto -> 10
    try 6..9 all -> 17
    ");
}

#[test]
fn arguments_are_moved_where_no_local_is_free() {
    // invoke-static {v2, v3}; return-void
    let body = Body::new(17, 17, &[0x0277, 1, 2, 0x000e]);
    let method = MethodInfo {
        shorty: b"VIJLDIIIIIIIIIII",
        ..CONSTRUCTOR
    };
    let method = MethodInfo {
        is_constructor: false,
        is_static: true,
        ..method
    };
    insta::assert_snapshot!(woven(&body, method), @"
    registers 18 ins 17 outs 2
       0 move v0, v1
       1 move-wide v1, v2
       2 move-object v3, v4
       3 move-wide v4, v5
       4 move v6, v7
       5 move v7, v8
       6 move v8, v9
       7 move v9, v10
       8 move v10, v11
       9 move v11, v12
      10 move v12, v13
      11 move v13, v14
      12 move v14, v15
      13 move/from16 v15, v16
      15 move/from16 v16, v17
      17 const v17, #0x12345678
      20 invoke-static/range v17, @100
      23 invoke-static/range v2, v3, @1
      26 const/4 v0, #0x0
      27 const v1, #0x12345678
      30 invoke-static v0, v1, @105
      33 return-void
      34 move-exception v0
      35 goto -> 27
    try 23..26 all -> 34
    ");
}

const BOTH: Advice = Advice::ALL.with(Advice::SECTION);

#[test]
fn sections_lie_within_the_hooks() {
    // if-eqz v1, +6; invoke-static {v0}; return v0; return v1
    let body = Body::new(2, 1, &[0x0138, 6, 0x1071, 1, 0, 0x000f, 0x010f]);
    let both = lowered(&body, method("II"), BOTH).unwrap();
    insta::assert_snapshot!(show(&both), @"
    registers 3 ins 1 outs 2
       0 const v1, #0x12345678
       3 invoke-static v1, @100
       6 const-string v0, @500
       8 invoke-static v0, @103
      11 const/4 v0, #0x0
      12 if-eqz v2, -> 18
      14 invoke-static v0, @1
      17 goto -> 25
      18 invoke-static @104
      21 invoke-static v1, @101
      24 return v2
      25 move v2, v0
      26 goto -> 18
      27 move-exception v0
      28 invoke-static @104
      31 invoke-static v0, v1, @102
      34 throw v0
      35 move-exception v0
      36 const v1, #0x12345678
      39 invoke-static v0, v1, @102
      42 throw v0
    try 6..12 all -> 35
    try 12..21 all -> 27
    try 21..25 all -> 35
    ");
    let alone = lowered(&body, method("II"), Advice::SECTION).unwrap();
    insta::assert_snapshot!(show(&alone), @"
    registers 2 ins 1 outs 1
       0 const-string v0, @500
       2 invoke-static v0, @103
       5 const/4 v0, #0x0
       6 if-eqz v1, -> 12
       8 invoke-static v0, @1
      11 goto -> 16
      12 invoke-static @104
      15 return v1
      16 move v1, v0
      17 goto -> 12
      18 move-exception v0
      19 invoke-static @104
      22 throw v0
    try 6..15 all -> 18
    ");
}

#[test]
fn sections_of_constructors_take_a_register_and_give_it_back() {
    // invoke-direct {v1}; invoke-virtual {v1}; return-void
    let body = Body::new(2, 1, &[0x1070, 1, 1, 0x106e, 2, 1, 0x000e]);
    let both = lowered(&body, CONSTRUCTOR, BOTH).unwrap();
    insta::assert_snapshot!(show(&both), @"
    registers 3 ins 1 outs 2
       0 const v1, #0x12345678
       3 invoke-direct v2, @1
       6 invoke-static v1, @100
       9 const-string v1, @500
      11 invoke-static v1, @103
      14 const v1, #0x12345678
      17 invoke-virtual v2, @2
      20 invoke-static @104
      23 invoke-static v1, @101
      26 return-void
      27 move-exception v0
      28 invoke-static @104
      31 invoke-static v0, v1, @102
      34 throw v0
      35 move-exception v0
      36 const v1, #0x12345678
      39 invoke-static v0, v1, @102
      42 throw v0
    try 9..17 all -> 35
    try 17..23 all -> 27
    try 23..27 all -> 35
    ");
    let alone = lowered(&body, CONSTRUCTOR, Advice::SECTION).unwrap();
    insta::assert_snapshot!(show(&alone), @"
    registers 3 ins 1 outs 1
       0 invoke-direct v2, @1
       3 const-string v1, @500
       5 invoke-static v1, @103
       8 invoke-virtual v2, @2
      11 invoke-static @104
      14 return-void
      15 move-exception v0
      16 invoke-static @104
      19 throw v0
    try 8..14 all -> 15
    ");
}

#[test]
fn sections_of_the_largest_frames_have_their_name_moved() {
    // invoke-direct/range {v299}; return-void
    let body = Body::new(300, 1, &[0x0176, 1, 299, 0x000e]);
    let alone = lowered(&body, CONSTRUCTOR, Advice::SECTION).unwrap();
    insta::assert_snapshot!(show(&alone), @"
    registers 301 ins 1 outs 1
       0 move-object/16 v299, v300
       3 const-string v0, @500
       5 move-object/16 v300, v0
       8 invoke-direct/range v299, @1
      11 invoke-static/range v300, @103
      14 invoke-static @104
      17 return-void
    ");
    let both = lowered(&body, CONSTRUCTOR, BOTH);
    assert_eq!(both, Err(Reason::Unsupported));
}

#[test]
fn sections_have_jumbo_names_where_they_must() {
    let method = MethodInfo {
        section: 0x1_0000,
        ..method("V")
    };
    let body = Body::new(1, 0, &[0x000e]);
    let alone = lowered(&body, method, Advice::SECTION).unwrap();
    insta::assert_snapshot!(show(&alone), @"
    registers 1 ins 0 outs 1
       0 const-string/jumbo v0, @65536
       3 invoke-static v0, @103
       6 const/4 v0, #0x0
       7 invoke-static @104
      10 return-void
    ");
}

#[test]
fn what_holds_a_monitor_gets_its_own_handler() {
    // monitor-enter v0; invoke-static {}; monitor-exit v0; invoke-static {}; return-void
    let body = Body::new(2, 1, &[0x011d, 0x0071, 1, 0, 0x011e, 0x0071, 1, 0, 0x000e]);
    insta::assert_snapshot!(woven(&body, method("VL")), @"
    registers 3 ins 1 outs 2
       0 const v1, #0x12345678
       3 invoke-static v1, @100
       6 monitor-enter v2
       7 invoke-static @1
      10 monitor-exit v2
      11 invoke-static @1
      14 invoke-static v1, @101
      17 return-void
      18 move-exception v0
      19 invoke-static v0, v1, @102
      22 throw v0
      23 move-exception v0
      24 invoke-static v0, v1, @102
      27 throw v0
    try 6..7 all -> 18
    try 7..11 all -> 23
    try 11..18 all -> 18
    ");
}

#[test]
fn switches_and_arrays_find_their_data() {
    // packed-switch v0; fill-array-data v0; return-void; payloads
    let body = Body::new(
        2,
        1,
        &[
            0x012b, 8, 0, 0x0026, 13, 0, 0x000e, 0, 0x0100, 1, 0, 0, 6, 0, 0, 0, 0x0300, 1, 1, 0, 7,
        ],
    );
    insta::assert_snapshot!(woven(&body, method("VI")), @"
    registers 3 ins 1 outs 2
       0 const v1, #0x12345678
       3 invoke-static v1, @100
       6 packed-switch v2, -> 14 -> 12
       9 fill-array-data v0, -> 22
      12 goto -> 27
      13 nop
      14 payload of 6 units
      20 nop
      21 nop
      22 payload of 5 units
      27 const/4 v0, #0x0
      28 invoke-static v0, v1, @105
      31 return-void
      32 move-exception v0
      33 goto -> 28
    try 6..27 all -> 32
    ");
}

#[test]
fn strings_become_jumbo() {
    // const-string v0, 5; goto -2
    let body = Body::new(1, 0, &[0x001a, 5, 0xfe28]);
    let bytes = body.bytes();
    let code = Code::read(&bytes, 0).unwrap();
    let mut map = map();
    map.strings[5] = 0x12345;
    map.strings[999] = 0x20000;
    let planned = Planned {
        ty: 0,
        index: 0,
        id: 1,
        advice: Advice::default(),
        bound: None,
    };
    let mut out = vec![];
    lower(
        &code,
        method("V"),
        &planned,
        HOOKS,
        &map,
        &mut Scratch::default(),
        &mut out,
    )
    .unwrap();
    insta::assert_snapshot!(show(&out), @"
    registers 1 ins 0 outs 0
       0 const-string/jumbo v0, @74565
       3 goto -> 0
    ");
}

#[test]
fn what_uses_own_fields_alone_gets_no_handler() {
    // invoke-direct {v1}; iput v0, v1; return-void
    let body = Body::new(2, 1, &[0x1070, 1, 1, 0x1059, 0, 0x000e]);
    let handlers = |own| {
        let bytes = lowered(&body, MethodInfo { own, ..CONSTRUCTOR }, Advice::ALL).unwrap();
        Code::read(&bytes, 0).unwrap().try_count()
    };
    assert_eq!(handlers(OwnFields::NONE), 1);
    assert_eq!(handlers(OwnFields::FIRST), 0);
}

#[test]
fn returns_that_stay_apart_have_hooks_of_their_own() {
    let apart = MethodInfo {
        returns_apart: true,
        ..method("LLL")
    };
    // invoke-static {}; if-eqz v1; return-object v1; return-object v2.
    let body = Body::new(3, 2, &[0x0071, 1, 0, 0x0138, 3, 0x0111, 0x0211]);
    insta::assert_snapshot!(woven(&body, apart), @"
    registers 4 ins 2 outs 2
       0 const v1, #0x12345678
       3 invoke-static v1, @100
       6 invoke-static @1
       9 if-eqz v2, -> 12
      11 goto -> 16
      12 invoke-static v1, @101
      15 return-object v3
      16 invoke-static v1, @101
      19 return-object v2
      20 move-exception v0
      21 invoke-static v0, v1, @102
      24 throw v0
    try 6..20 all -> 20
    ");
    let section = lowered(&body, apart, Advice::ALL.with(Advice::SECTION));
    insta::assert_snapshot!(show(&section.unwrap()), @"
    registers 4 ins 2 outs 2
       0 const v1, #0x12345678
       3 invoke-static v1, @100
       6 const-string v0, @500
       8 invoke-static v0, @103
      11 const/4 v0, #0x0
      12 invoke-static @1
      15 if-eqz v2, -> 18
      17 goto -> 25
      18 invoke-static @104
      21 invoke-static v1, @101
      24 return-object v3
      25 invoke-static @104
      28 invoke-static v1, @101
      31 return-object v2
      32 move-exception v0
      33 invoke-static @104
      36 invoke-static v0, v1, @102
      39 throw v0
      40 move-exception v0
      41 const v1, #0x12345678
      44 invoke-static v0, v1, @102
      47 throw v0
    try 6..12 all -> 40
    try 12..21 all -> 32
    try 21..25 all -> 40
    try 25..28 all -> 32
    try 28..32 all -> 40
    ");
}

/// Lowers with own hooks, which are numbered by their names.
fn lowered_own(body: &Body, method: MethodInfo<'_>, advice: Advice, bound: &Bound) -> String {
    let bytes = body.bytes();
    let code = Code::read(&bytes, 0).unwrap();
    let mut names = own_frame::Names {
        boxes: [310, 311, 312, 313, 314, 315, 316, 317],
        nano_time: 300,
        objects: 50,
        ..own_frame::Names::default()
    };
    for call in own::calls(bound) {
        let number = call.hook.name.parse().unwrap();
        names.hooks.insert(call.hook.clone(), number);
    }
    let hooks = Some(own_frame::Own {
        bound,
        names: &names,
        line: 12,
        id: 0x1234_5678,
    });
    let planned = Planned {
        ty: 0,
        index: 0,
        id: 0x1234_5678,
        advice: advice.with(Advice::OWN),
        bound: Some(0),
    };
    let mut out = vec![];
    let method = MethodInfo { hooks, ..method };
    let mut scratch = Scratch::default();
    let lowered = lower(
        &code,
        method,
        &planned,
        HOOKS,
        &map(),
        &mut scratch,
        &mut out,
    );
    settle(lowered).unwrap().unwrap();
    show(&out)
}

/// A state from the first argument, which a hook at each end gets with the argument: 200, 201, 202.
fn with_state() -> Bound {
    let int = Ty::Prim(Prim::I32);
    let arg = || same(Source::Arg(0), &int);
    let state = || same(Source::State(0), &object());
    let thrown = same(Source::Exception, &object());
    let hook = |name, operands, ty, dest| own_call(name, operands, ty, dest, false);
    Bound {
        enter: [hook("200", vec![arg()], object(), Dest::State(0))].into(),
        exit: [hook("201", vec![state(), arg()], Ty::Void, Dest::Drop)].into(),
        exception: [hook(
            "202",
            vec![thrown, state(), arg()],
            Ty::Void,
            Dest::Drop,
        )]
        .into(),
        keep: Keep {
            args: [0].into(),
            states: [object()].into(),
            ..Keep::default()
        },
        ..Bound::default()
    }
}

#[test]
fn what_own_hooks_need_lies_between_locals_and_arguments() {
    // add-int/lit8 v1, v1, 1; invoke-static {v1}; return-void
    let body = Body::new(2, 1, &[0x01d8, 0x0101, 0x1071, 1, 1, 0x000e]);
    insta::assert_snapshot!(lowered_own(&body, method("VI"), Advice::default(), &with_state()), @"
    registers 4 ins 1 outs 3
       0 move v2, v3
       1 invoke-static v2, @200
       4 move-result-object v1
       5 add-int/lit8 v3, v3, #0x1
       7 invoke-static v3, @1
      10 invoke-static v1, v2, @201
      13 return-void
      14 move-exception v0
      15 invoke-static v0, v1, v2, @202
      18 throw v0
    try 5..10 all -> 14
    ");
    // The pair lies within, and only its exit hook is protected.
    insta::assert_snapshot!(lowered_own(&body, method("VI"), Advice::ALL, &with_state()), @"
    registers 5 ins 1 outs 3
       0 move v3, v4
       1 invoke-static v3, @200
       4 move-result-object v2
       5 const v1, #0x12345678
       8 invoke-static v1, @100
      11 add-int/lit8 v4, v4, #0x1
      13 invoke-static v4, @1
      16 const v1, #0x12345678
      19 invoke-static v1, @101
      22 invoke-static v2, v3, @201
      25 return-void
      26 move-exception v0
      27 const v1, #0x12345678
      30 invoke-static v0, v1, @102
      33 invoke-static v0, v2, v3, @202
      36 throw v0
    try 11..22 all -> 26
    ");
}

#[test]
fn own_hooks_of_large_frames_take_the_arguments_as_they_came_in() {
    // invoke-static {v15}; return-void
    let body = Body::new(16, 1, &[0x1071, 1, 15, 0x000e]);
    insta::assert_snapshot!(lowered_own(&body, method("VI"), Advice::default(), &with_state()), @"
    registers 22 ins 1 outs 3
       0 invoke-static/range v21, @200
       3 move-result-object v20
       4 move/from16 v15, v21
       6 invoke-static v15, @1
       9 invoke-static/range v20, v21, @201
      12 return-void
      13 move-exception v4
      14 move-object/from16 v16, v4
      16 move-object/from16 v17, v20
      18 move/from16 v18, v21
      20 invoke-static/range v16, v17, v18, @202
      23 throw v4
    try 6..9 all -> 13
    ");
}

#[test]
fn what_is_returned_as_less_than_an_int_is_narrowed_for_own_hooks() {
    for (letter, prim) in [("Z", Prim::Bool), ("B", Prim::I8), ("C", Prim::Char)] {
        let of = Ty::Prim(prim);
        let operands = vec![same(Source::Result, &of), as_object(Source::Result, &of)];
        let bound = Bound {
            exit: [own_call("201", operands, Ty::Void, Dest::Drop, false)].into(),
            ..Bound::default()
        };
        // return v0
        let body = Body::new(1, 1, &[0x000f]);
        let told = lowered_own(
            &body,
            method(&format!("{letter}I")),
            Advice::default(),
            &bound,
        );
        match letter {
            "Z" => insta::assert_snapshot!(told, @"
            registers 5 ins 1 outs 2
               0 const/4 v2, #0x1
               1 if-nez v4, -> 4
               3 const/4 v2, #0x0
               4 const/4 v0, #0x1
               5 if-nez v4, -> 8
               7 const/4 v0, #0x0
               8 invoke-static v0, @310
              11 move-result-object v3
              12 invoke-static v2, v3, @201
              15 return v4
            "),
            "B" => assert_eq!(told.matches("int-to-byte").count(), 2, "{told}"),
            _ => assert_eq!(told.matches("int-to-char").count(), 2, "{told}"),
        }
    }
}

#[test]
fn arrays_for_own_hooks_of_constructors_are_made_where_registers_are_free() {
    let elements = vec![as_object(Source::Arg(0), &Ty::Prim(Prim::I64))];
    let array = same(
        Source::Args(elements.into()),
        &Ty::Array(Arc::new(object())),
    );
    let this = same(Source::This, &object());
    let bound = Bound {
        enter: [own_call(
            "200",
            vec![this, array],
            Ty::Void,
            Dest::Drop,
            false,
        )]
        .into(),
        ..Bound::default()
    };
    // invoke-direct {v13}; return-void
    let body = Body::new(16, 3, &[0x1070, 1, 13, 0x000e]);
    let constructor = MethodInfo {
        shorty: b"VJ",
        ..CONSTRUCTOR
    };
    insta::assert_snapshot!(lowered_own(&body, constructor, Advice::default(), &bound), @"
    registers 23 ins 3 outs 2
       0 const/4 v0, #0x1
       1 new-array v2, v0, @50
       3 invoke-static/range v21, v22, @315
       6 move-result-object v1
       7 const/4 v0, #0x0
       8 aput-object v1, v2, v0
      10 move-object/from16 v19, v2
      12 const/4 v0, #0x0
      13 const/4 v1, #0x0
      14 const/4 v2, #0x0
      15 const/4 v3, #0x0
      16 move-object/from16 v13, v20
      18 move-wide/from16 v14, v21
      20 invoke-direct v13, @1
      23 move-object/from16 v16, v20
      25 move-object/from16 v17, v19
      27 invoke-static/range v16, v17, @200
      30 return-void
    ");
}
