//! What becomes of small bodies by their recipes.

use super::*;
use crate::aspect::attempt::{Attempt, Unwoven};
use crate::cil::il::body::{self, Clause, ClauseKind};
use crate::cil::metadata::heaps::put_compressed;
use crate::cil::rewrite::{Frame, Rewritten, Signatures};
use crate::cil::testing::{Blobs, difference, text};

use proptest::prelude::*;

/// Appends the woven body of a method, or says why it cannot be woven; then `out` is as it was.
/// Positions in `out` and addresses are the same modulo four. Afterwards [`Scratch::layout`] maps old pcs.
fn lower(
    body: &Body<'_>,
    shape: &MethodInfo<'_>,
    planned: &Planned,
    tokens: &Tokens,
    signatures: &mut dyn Signatures,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Attempt<Rewritten> {
    let recipe = recipe(body, shape, planned, tokens, scratch)?;
    scratch.rewrite(body, &recipe, signatures, out)
}

const TOKENS: Tokens = Tokens {
    enter: 0x0a00_0001,
    exit: 0x0a00_0002,
    error: 0x0a00_0003,
    exception: 0x0100_0001,
    count: 0x0a00_0004,
    start: 0,
    stop: 0,
    failed: 0,
    begin: 0,
    resume: 0,
    suspend: 0,
    moved: 0,
    end: 0,
    fail: 0,
    await_: 0,
    awaited: 0,
    follow: 0,
    begin_switched: 0,
    resume_switched: 0,
};
const VOID: &[u8] = &[1];
const INT32: &[u8] = &[8];

/// Says that 0x0a000010 is the base type's constructor without arguments.
struct Base;

impl Calls for Base {
    fn initialises_this(&self, token: u32) -> bool {
        token == 0x0a00_0010
    }
    fn stack_effect(&self, _: u16, token: u32) -> Option<(u32, u32)> {
        (token == 0x0a00_0010).then_some((1, 0))
    }
}

/// Says that the calls in [`any_code`] initialise `this`.
struct Always;

impl Calls for Always {
    fn initialises_this(&self, _: u32) -> bool {
        true
    }
    fn stack_effect(&self, _: u16, _: u32) -> Option<(u32, u32)> {
        Some((0, 0))
    }
}

fn fat(code: &[u8], locals: u32, clauses: &[Clause]) -> Vec<u8> {
    let mut out = vec![];
    body::put_fat_header(&mut out, code.len(), 2, true, locals, !clauses.is_empty());
    out.extend_from_slice(code);
    if !clauses.is_empty() {
        out.resize(out.len().next_multiple_of(4), 0);
        body::put_clauses(&mut out, clauses);
    }
    out
}

fn tiny(code: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    body::put_tiny_header(&mut out, code.len());
    out.extend_from_slice(code);
    out
}

fn shape(result: &'static [u8]) -> MethodInfo<'static> {
    MethodInfo {
        result,
        locals: &[],
        constructor: None,
    }
}

fn weave(bytes: &[u8], shape: &MethodInfo<'_>, advice: Advice) -> Result<String, Reason> {
    let planned = Planned {
        ty: 0,
        index: 0,
        id: 0x0102_0304,
        advice,
        bound: None,
    };
    let body = Body::parse(bytes, 0).unwrap();
    let mut blobs = Blobs::default();
    let mut scratch = Scratch::default();
    let mut out = vec![0xcc];
    let lowered = lower(
        &body,
        shape,
        &planned,
        &TOKENS,
        &mut blobs,
        &mut scratch,
        &mut out,
    );
    let lowered = match lowered {
        Ok(lowered) => lowered,
        Err(Unwoven::Left(reason)) => {
            assert_eq!(out, [0xcc]);
            return Err(reason);
        }
        Err(Unwoven::Failed(e)) => panic!("{e}"),
    };
    let woven = Body::parse(&out[lowered.start..], lowered.start as u32).unwrap();
    assert_eq!(lowered.start + woven.len, out.len());
    let mut s = text(&woven);
    for blob in blobs.0 {
        s.push_str(&format!("signature {blob:02x?}\n"));
    }
    Ok(s)
}

const CALL: [u8; 5] = [0x28, 0x20, 0, 0, 0x0a];

fn code(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

#[test]
fn locals_are_initialised_where_there_were_none() {
    let header = |old: &[u8]| {
        let woven = weave(old, &shape(VOID), Advice::ALL).unwrap();
        woven.lines().next().unwrap().to_owned()
    };
    let calls = tiny(&code(&[&CALL, &[0x2a]]));
    assert_eq!(header(&calls), "fat maxstack 8 init locals 11000001");
    let token = tiny(&code(&[&[0x02, 0x7b, 0xfe, 0x0f, 0, 4, 0x26, 0x2a]]));
    assert_eq!(header(&token), "fat maxstack 8 init locals 11000001");
    // What it reserves on the stack is not to be cleared: `localloc` without the flag (SkipLocalsInit).
    let reserves = tiny(&code(&[&[0x1f, 64, 0xfe, 0x0f, 0x26], &CALL, &[0x2a]]));
    assert_eq!(header(&reserves), "fat maxstack 8 locals 11000001");
    // Locals that were not initialised stay so.
    let mut skips = fat(&code(&[&CALL, &[0x2a]]), 0x1100_0007, &[]);
    skips[0] &= !0x10;
    let locals = MethodInfo {
        locals: &[7, 1, 8],
        ..shape(VOID)
    };
    let woven = weave(&skips, &locals, Advice::ALL).unwrap();
    assert!(
        woven.starts_with("fat maxstack 3 locals 11000001"),
        "{woven}"
    );
}

#[test]
fn a_result_waits_in_a_local() {
    let old = tiny(&code(&[&[0x02], &CALL, &[0x2a]]));
    insta::assert_snapshot!(weave(&old, &shape(INT32), Advice::ALL).unwrap(), @r"
    fat maxstack 8 init locals 11000001
       0 ldc.i4 01020304
       5 call 0a000001
      10 ldarg.0
      11 call 0a000020
      16 stloc.0
      17 leave.s 41
      19 isinst 01000001
      24 stloc.1
      25 ldc.i4.0
      26 endfilter
      28 throw
      29 ldloc.1
      30 ldc.i4 01020304
      35 call 0a000003
      40 endfinally
      41 ldc.i4 01020304
      46 call 0a000002
      51 ldloc.0
      52 ret
    try 10..19 filter 19 28..29
    try 10..29 fault 29..41
    signature [07, 02, 08, 12, 05]
    ");
}

#[test]
fn nothing_returned_needs_no_local() {
    let old = tiny(&code(&[&CALL, &[0x2a]]));
    insta::assert_snapshot!(weave(&old, &shape(VOID), Advice::ALL).unwrap(), @r"
    fat maxstack 8 init locals 11000001
       0 ldc.i4 01020304
       5 call 0a000001
      10 call 0a000020
      15 leave.s 39
      17 isinst 01000001
      22 stloc.0
      23 ldc.i4.0
      24 endfilter
      26 throw
      27 ldloc.0
      28 ldc.i4 01020304
      33 call 0a000003
      38 endfinally
      39 ldc.i4 01020304
      44 call 0a000002
      49 ret
    try 10..17 filter 17 26..27
    try 10..27 fault 27..39
    signature [07, 01, 12, 05]
    ");
    // An init setter: `modreq(IsExternalInit) void`.
    let modified = weave(&old, &shape(&[0x1f, 0x80, 0x91, 0x01]), Advice::ALL);
    assert_eq!(modified, weave(&old, &shape(VOID), Advice::ALL));
}

#[test]
fn what_cannot_throw_gets_no_handler() {
    let old = tiny(&[0x17, 0x2a]);
    insta::assert_snapshot!(weave(&old, &shape(INT32), Advice::ALL).unwrap(), @r"
    tiny maxstack 8
       0 ldc.i4 01020304
       5 call 0a000001
      10 ldc.i4.1
      11 ldc.i4 01020304
      16 call 0a000002
      21 ret
    ");
}

#[test]
fn advice_that_does_not_watch_exceptions_gets_no_handler() {
    // Two returns, reached by a branch.
    let old = tiny(&code(&[&[0x02, 0x2d, 0x06], &CALL, &[0x2a, 0x2a]]));
    insta::assert_snapshot!(weave(&old, &shape(VOID), Advice::ENTER.with(Advice::EXIT)).unwrap(), @r"
    tiny maxstack 8
       0 ldc.i4 01020304
       5 call 0a000001
      10 ldarg.0
      11 brtrue.s 29
      13 call 0a000020
      18 ldc.i4 01020304
      23 call 0a000002
      28 ret
      29 ldc.i4 01020304
      34 call 0a000002
      39 ret
    ");
    insta::assert_snapshot!(weave(&old, &shape(VOID), Advice::ENTER).unwrap(), @r"
    tiny maxstack 8
       0 ldc.i4 01020304
       5 call 0a000001
      10 ldarg.0
      11 brtrue.s 19
      13 call 0a000020
      18 ret
      19 ret
    ");
    insta::assert_snapshot!(weave(&old, &shape(VOID), Advice::EXCEPTION).unwrap(), @r"
    fat maxstack 8 init locals 11000001
       0 ldarg.0
       1 brtrue.s 10
       3 call 0a000020
       8 leave.s 34
      10 leave.s 34
      12 isinst 01000001
      17 stloc.0
      18 ldc.i4.0
      19 endfilter
      21 throw
      22 ldloc.0
      23 ldc.i4 01020304
      28 call 0a000003
      33 endfinally
      34 ret
    try 0..12 filter 12 21..22
    try 0..22 fault 22..34
    signature [07, 01, 12, 05]
    ");
}

#[test]
fn a_loop_to_the_start_stays_behind_the_enter_hook() {
    let old = tiny(&code(&[&CALL, &[0x2b, 0xf9]]));
    insta::assert_snapshot!(weave(&old, &shape(VOID), Advice::ALL).unwrap(), @r"
    fat maxstack 8 init locals 11000001
       0 ldc.i4 01020304
       5 call 0a000001
      10 call 0a000020
      15 br.s 10
      17 isinst 01000001
      22 stloc.0
      23 ldc.i4.0
      24 endfilter
      26 throw
      27 ldloc.0
      28 ldc.i4 01020304
      33 call 0a000003
      38 endfinally
    try 10..17 filter 17 26..27
    try 10..27 fault 27..39
    signature [07, 01, 12, 05]
    ");
}

#[test]
fn own_clauses_come_first_and_move() {
    // .try { call; leave.s 8 } finally { endfinally } ret, protected by a catch from its start, too.
    let bytes = code(&[&CALL, &[0xde, 0x01, 0xdc, 0x2a]]);
    let clause = |kind, pcs: [u32; 4], class_or_filter| Clause {
        kind,
        try_start: pcs[0],
        try_end: pcs[1],
        handler_start: pcs[2],
        handler_end: pcs[3],
        class_or_filter,
    };
    let old = fat(
        &bytes,
        0x1100_0009,
        &[clause(ClauseKind::Finally, [0, 7, 7, 8], 0)],
    );
    let shape = MethodInfo {
        locals: &[7, 1, 0x45, 0x10, 0x08],
        ..shape(VOID)
    };
    insta::assert_snapshot!(weave(&old, &shape, Advice::ALL).unwrap(), @r"
    fat maxstack 3 init locals 11000001
       0 ldc.i4 01020304
       5 call 0a000001
      10 call 0a000020
      15 leave.s 18
      17 endfinally
      18 leave.s 42
      20 isinst 01000001
      25 stloc.1
      26 ldc.i4.0
      27 endfilter
      29 throw
      30 ldloc.1
      31 ldc.i4 01020304
      36 call 0a000003
      41 endfinally
      42 ldc.i4 01020304
      47 call 0a000002
      52 ret
    try 10..17 finally 17..18
    try 10..20 filter 20 29..30
    try 10..30 fault 30..42
    signature [07, 02, 45, 10, 08, 12, 05]
    ");
}

#[test]
fn pinned_locals_and_modified_results_stay_as_they_are() {
    let old = fat(&code(&[&CALL, &[0x2a]]), 0x1100_0009, &[]);
    let shape = MethodInfo {
        // ref readonly int: modreq(InAttribute) int32&; one pinned local.
        result: &[0x1f, 0x05, 0x10, 0x08],
        locals: &[7, 1, 0x45, 0x10, 0x08],
        ..shape(VOID)
    };
    insta::assert_snapshot!(weave(&old, &shape, Advice::ALL).unwrap(), @r"
    fat maxstack 3 init locals 11000001
       0 ldc.i4 01020304
       5 call 0a000001
      10 call 0a000020
      15 stloc.1
      16 leave.s 40
      18 isinst 01000001
      23 stloc.2
      24 ldc.i4.0
      25 endfilter
      27 throw
      28 ldloc.2
      29 ldc.i4 01020304
      34 call 0a000003
      39 endfinally
      40 ldc.i4 01020304
      45 call 0a000002
      50 ldloc.1
      51 ret
    try 10..18 filter 18 27..28
    try 10..28 fault 28..40
    signature [07, 03, 45, 10, 08, 1f, 05, 10, 08, 12, 05]
    ");
}

#[test]
fn constructors_begin_behind_the_base_call() {
    let base = [0x02, 0x28, 0x10, 0, 0, 0x0a];
    let shape = MethodInfo {
        constructor: Some(&Base),
        ..shape(VOID)
    };
    let plain = tiny(&code(&[&base, &CALL, &[0x2a]]));
    insta::assert_snapshot!(weave(&plain, &shape, Advice::ALL).unwrap(), @r"
    fat maxstack 8 init locals 11000001
       0 ldarg.0
       1 call 0a000010
       6 ldc.i4 01020304
      11 call 0a000001
      16 call 0a000020
      21 leave.s 45
      23 isinst 01000001
      28 stloc.0
      29 ldc.i4.0
      30 endfilter
      32 throw
      33 ldloc.0
      34 ldc.i4 01020304
      39 call 0a000003
      44 endfinally
      45 ldc.i4 01020304
      50 call 0a000002
      55 ret
    try 16..23 filter 23 32..33
    try 16..33 fault 33..45
    signature [07, 01, 12, 05]
    ");
    // Empty behind it: nothing to protect.
    let empty = tiny(&code(&[&base, &[0x2a]]));
    insta::assert_snapshot!(weave(&empty, &shape, Advice::ALL).unwrap(), @r"
    tiny maxstack 8
       0 ldarg.0
       1 call 0a000010
       6 ldc.i4 01020304
      11 call 0a000001
      16 ldc.i4 01020304
      21 call 0a000002
      26 ret
    ");
    // Two base calls: what begins behind both is reached from both.
    let both = tiny(&code(&[
        &[0x03, 0x2d, 0x08],
        &base,
        &[0x2b, 0x06],
        &base,
        &CALL,
        &[0x2a],
    ]));
    insta::assert_snapshot!(weave(&both, &shape, Advice::ALL).unwrap(), @r"
    fat maxstack 8 init locals 11000001
       0 ldarg.1
       1 brtrue.s 11
       3 ldarg.0
       4 call 0a000010
       9 br.s 17
      11 ldarg.0
      12 call 0a000010
      17 ldc.i4 01020304
      22 call 0a000001
      27 call 0a000020
      32 leave.s 56
      34 isinst 01000001
      39 stloc.0
      40 ldc.i4.0
      41 endfilter
      43 throw
      44 ldloc.0
      45 ldc.i4 01020304
      50 call 0a000003
      55 endfinally
      56 ldc.i4 01020304
      61 call 0a000002
      66 ret
    try 27..34 filter 34 43..44
    try 27..44 fault 44..56
    signature [07, 01, 12, 05]
    ");
    // One that is jumped over, or with a value left on the stack: all of the method.
    let past = tiny(&code(&[
        &[0x03, 0x2d, 0x07],
        &base,
        &[0x00],
        &CALL,
        &[0x2a],
    ]));
    assert!(
        weave(&past, &shape, Advice::ALL)
            .unwrap()
            .contains("   0 ldc.i4 01020304")
    );
    let full = tiny(&code(&[&[0x17], &base, &[0x26], &CALL, &[0x2a]]));
    assert!(
        weave(&full, &shape, Advice::ALL)
            .unwrap()
            .contains("   0 ldc.i4 01020304")
    );
}

#[test]
fn short_branches_widen_until_they_reach() {
    // 0: br.s over 120 bytes with a return among them: with a leave instead it is too far.
    let mut bytes = code(&[&[0x02, 0x2d, 0x7f]]);
    for _ in 0..12 {
        bytes.extend_from_slice(&CALL);
        bytes.extend_from_slice(&CALL);
    }
    bytes.extend_from_slice(&[0x2a, 0, 0, 0, 0, 0, 0, 0x2a]);
    let woven = weave(&fat(&bytes, 0, &[]), &shape(VOID), Advice::ALL).unwrap();
    assert!(woven.contains("brtrue 1"), "{woven}");
    assert!(woven.contains("leave.s"), "{woven}");
}

#[test]
fn a_branch_behind_one_that_widens_stays_short() {
    let calls = |count| CALL.repeat(count);
    let woven = weave(
        &fat(
            &code(&[
                &calls(40),
                // One over 127 bytes with returns among them, one over a return alone.
                &[0x02, 0x2d, 0x7f, 0x02, 0x2d, 0x01, 0x2a],
                &calls(24),
                &[0, 0, 0x2a, 0x2a],
            ]),
            0,
            &[],
        ),
        &shape(VOID),
        Advice::ALL,
    )
    .unwrap();
    let branches = |of| woven.matches(of).count();
    assert_eq!(
        (branches("brtrue "), branches("brtrue.s ")),
        (1, 1),
        "{woven}"
    );
}

#[test]
fn tail_calls_become_calls_and_jumps_are_left() {
    let old = tiny(&code(&[&[0xfe, 0x14], &CALL, &[0x2a]]));
    let woven = weave(&old, &shape(VOID), Advice::ALL).unwrap();
    assert!(!woven.contains("tail."), "{woven}");
    let enter = weave(&old, &shape(VOID), Advice::ENTER).unwrap();
    assert!(enter.contains("tail."), "{enter}");
    // ldarga.s 0; constrained. T, tail. in each order; callvirt; ret. What stays is in front of its call.
    let (constrained, tail) = ([0xfe, 0x16, 1, 0, 0, 0x1b], [0xfe, 0x14]);
    let callvirt = [0x6f, 1, 0, 0, 0x0a, 0x2a];
    for prefixes in [[&constrained[..], &tail], [&tail, &constrained]] {
        let old = code(&[&[0x0f, 0], prefixes[0], prefixes[1], &callvirt]);
        let woven = weave(&tiny(&old), &shape(VOID), Advice::ALL).unwrap();
        let lines: Vec<&str> = woven
            .lines()
            .map(|line| {
                line.trim_start_matches([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
            })
            .collect();
        let kept = ["nop", "nop", "constrained. 1b000001", "callvirt 0a000001"];
        assert!(lines.windows(4).any(|four| four == kept), "{woven}");
    }
    let jump = tiny(&[0x27, 1, 0, 0, 6]);
    assert_eq!(
        weave(&jump, &shape(VOID), Advice::ALL),
        Err(Reason::JumpsAway)
    );
    assert!(weave(&jump, &shape(VOID), Advice::ENTER).is_ok());
}

#[test]
fn switches_are_aimed_anew() {
    // ldarg.0; switch (12, 13); ret; ret
    let bytes = [0x02, 0x45, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x2a, 0x2a];
    let woven = weave(
        &fat(&bytes, 0, &[]),
        &shape(VOID),
        Advice::ENTER.with(Advice::EXIT),
    )
    .unwrap();
    assert!(woven.contains("  11 switch 24 35\n"), "{woven}");
}

#[test]
fn what_cannot_be_read_is_left() {
    assert_eq!(
        weave(&tiny(&[0x24, 0x2a]), &shape(VOID), Advice::ALL),
        Err(Reason::UnreadableBody)
    );
    assert_eq!(
        weave(&tiny(&[]), &shape(VOID), Advice::ALL),
        Err(Reason::Unsupported)
    );
    assert_eq!(
        weave(&tiny(&[0x2b, 0x7f]), &shape(VOID), Advice::ALL),
        Err(Reason::UnreadableBody)
    );
}

#[test]
fn locals_are_counted_on() {
    for (count, before, after) in [
        (3, vec![3], vec![5]),
        (126, vec![126], vec![0x80, 0x80]),
        (254, vec![0x80, 0xfe], vec![0x81, 0x00]),
    ] {
        let types = vec![8; count];
        let locals = code(&[&[7], &before, &types]);
        let shape = MethodInfo {
            locals: &locals,
            ..shape(INT32)
        };
        let old = fat(&code(&[&CALL, &[0x2a]]), 0x1100_0001, &[]);
        let woven = weave(&old, &shape, Advice::ALL).unwrap();
        // The result, then the exception.
        let expected = code(&[&[7], &after, &types, &[8, 0x12, 0x05]]);
        assert!(woven.contains(&format!("{expected:02x?}")), "{woven}");
    }
}

/// Bodies of all sorts of instructions, with branches to random ones among them.
fn any_code() -> impl Strategy<Value = (Vec<u8>, Vec<u32>)> {
    prop::collection::vec((any::<u8>(), any::<u16>()), 1..200).prop_map(|picks| {
        let mut code = vec![];
        let mut starts = vec![];
        let mut branches = vec![];
        for (pick, random) in picks {
            starts.push(code.len() as u32);
            match pick % 8 {
                0 | 1 => {
                    branches.push((code.len(), random));
                    code.extend_from_slice(if pick % 2 == 0 {
                        &[0x2d, 0]
                    } else {
                        &[0x39, 0, 0, 0, 0]
                    });
                }
                2 => {
                    branches.push((code.len(), random));
                    code.extend_from_slice(&[0x45, 1, 0, 0, 0, 0, 0, 0, 0]);
                }
                3 => code.push(0x2a),
                4 => code.extend_from_slice(&[0xfe, 0x14, 0x28, 0x20, 0, 0, 0x0a]),
                5 => code.push(0x00),
                _ => code.extend_from_slice(&CALL),
            }
        }
        for (at, random) in branches {
            let to = starts[random as usize % starts.len()] as i32;
            match code[at] {
                0x2d => {
                    // A target that is near enough, or the next instruction.
                    let delta = to - (at as i32 + 2);
                    let near = i8::try_from(delta).unwrap_or(0);
                    if at + 2 < code.len() || near < 0 {
                        code[at + 1] = near as u8;
                    } else {
                        code[at + 1] = 0xfe;
                    }
                }
                0x39 => code[at + 1..at + 5].copy_from_slice(&(to - (at as i32 + 5)).to_le_bytes()),
                _ => code[at + 5..at + 9].copy_from_slice(&(to - (at as i32 + 9)).to_le_bytes()),
            }
        }
        (code, starts)
    })
}

proptest! {
    #[test]
    fn everything_leads_to_where_it_led(
        (code, starts) in any_code(),
        advice in 0u8..8,
        returns_value: bool,
        is_constructor: bool,
        pcs: [usize; 4],
    ) {
        let mut pcs = pcs.map(|i| starts[i % starts.len()]);
        pcs.sort_unstable();
        let clause = Clause {
            kind: ClauseKind::Catch,
            try_start: pcs[0],
            try_end: pcs[1],
            handler_start: pcs[2],
            handler_end: pcs[3],
            class_or_filter: 0x0100_0001,
        };
        let bytes = fat(&code, 0, &[clause]);
        let body = Body::parse(&bytes, 0).unwrap();
        let shape = MethodInfo {
            // The calls in `any_code` are calls of the base type's constructor, too.
            constructor: is_constructor.then_some(&Always as &dyn Calls),
            ..shape(if returns_value { INT32 } else { VOID })
        };
        let planned = Planned { ty: 0, index: 0, id: 1, advice: Advice(u16::from(advice)), bound: None, };
        let (mut blobs, mut scratch, mut out) = (Blobs::default(), Scratch::default(), vec![]);
        let lowered = lower(&body, &shape, &planned, &TOKENS, &mut blobs, &mut scratch, &mut out);
        let lowered = lowered.unwrap();
        let woven = Body::parse(&out[lowered.start..], lowered.start as u32).unwrap();
        prop_assert_eq!(woven.len, out.len() - lowered.start);
        prop_assert_eq!(difference(&body, &woven, scratch.layout(), lowered.woven_from), Ok(()));
    }
}

#[test]
fn large_code_is_written_at_once() {
    let is_framed = |len: usize| {
        let mut long = vec![0; len];
        long[..5].copy_from_slice(&CALL);
        long[len - 1] = 0x2a;
        let bytes = fat(&long, 0, &[]);
        let body = Body::parse(&bytes, 0).unwrap();
        let planned = Planned {
            ty: 0,
            index: 0,
            id: 1,
            advice: Advice::ALL,
            bound: None,
        };
        let mut scratch = Scratch::default();
        let recipe = recipe(&body, &shape(VOID), &planned, &TOKENS, &mut scratch).unwrap();
        let frame = scratch.frame(&body, &recipe, (1, false), &mut Blobs::default());
        frame.unwrap().is_some()
    };
    assert!(is_framed(Frame::MOST));
    // Such a body may lie in any number of windows.
    assert!(!is_framed(Frame::MOST + 1));
}

proptest! {
    #[test]
    fn a_frame_says_what_would_be_written(
        (code, starts) in any_code(),
        has_one_end in prop::bool::weighted(0.9),
        (tiny_header, init, max_stack) in (any::<bool>(), any::<bool>(), 0u16..20),
        returns_value: bool,
        locals in 0u32..400,
    ) {
        let (mut code, mut starts) = (code, starts);
        if has_one_end {
            for &start in &starts {
                match code[start as usize] {
                    0x2a => code[start as usize] = 0,
                    0xfe => code[start as usize..][..2].fill(0),
                    _ => {}
                }
            }
            starts.push(code.len() as u32);
            code.push(0x2a);
        }
        // Of what was left as it came, some ends but once, too.
        let ends: Vec<u32> = starts.into_iter().filter(|&at| [0x2a, 0xfe].contains(&code[at as usize])).collect();
        let ends_once = ends == [code.len() as u32 - 1];
        let mut bytes = vec![];
        if tiny_header && code.len() < 64 {
            bytes = tiny(&code);
        } else {
            body::put_fat_header(&mut bytes, code.len(), max_stack, init, 0x1100_0007, false);
            bytes.extend_from_slice(&code);
        }
        let body = Body::parse(&bytes, 0).unwrap();
        let mut signature = vec![7];
        put_compressed(&mut signature, locals);
        signature.extend(std::iter::repeat_n(0x08, locals as usize));
        let shape = MethodInfo {
            locals: if body.tiny { &[] } else { &signature },
            ..shape(if returns_value { INT32 } else { VOID })
        };
        let planned = Planned { ty: 0, index: 0, id: 0x0102_0304, advice: Advice::ALL, bound: None, };
        let (mut blobs, mut scratch, mut out) = (Blobs::default(), Scratch::default(), vec![]);
        let recipe = recipe(&body, &shape, &planned, &TOKENS, &mut scratch).unwrap();
        let frame = scratch.frame(&body, &recipe, (planned.id, true), &mut blobs).unwrap();
        prop_assert!(frame.is_none() || ends_once);
        // Without a call or a loop nothing throws, and there are no handlers.
        let has_call = code.windows(5).any(|bytes| bytes == CALL);
        prop_assert!(frame.is_some() || !ends_once || !has_call);
        if let Some(frame) = frame {
            let mapped = scratch.layout().start(code.len() as u32);
            let mut framed = vec![0xcc; frame.size()];
            frame.put(body.code, &TOKENS.hooks(), &mut framed);
            let mut others = Blobs::default();
            let rewritten = scratch.rewrite(&body, &recipe, &mut others, &mut out);
            let rewritten = rewritten.unwrap();
            prop_assert_eq!(blobs.0, others.0);
            prop_assert_eq!(&framed, &out);
            prop_assert_eq!(mapped, scratch.layout().start(code.len() as u32));
            prop_assert_eq!(format!("{:?}", frame.rewritten()), format!("{rewritten:?}"));
            let fields: Vec<usize> = scratch.fields(&rewritten).collect();
            let old: Vec<usize> = scratch.old_fields().map(|at| Frame::CODE + at as usize).collect();
            prop_assert_eq!(fields, old);
        }
    }
}
