//! What becomes of methods with hooks of one's own.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::bind::call::{
    Adapter, Around, Bound, Call, Convert, Dest, Hook, Keep, Operand, Proceed, Role, Source,
};
use crate::aspect::bind::functional::Function;
use crate::aspect::bind::ty::{Named, Prim, Signature, Ty};
use crate::aspect::joinpoint::{Method, Type, Visitor};
use crate::aspect::plan::{Plan, Planned};
use crate::cil::image::Image;
use crate::cil::metadata::flags::impl_flag;
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::tables::{token, token_row};
use crate::cil::pdb::{Pdb, Source as Debugging};
use crate::cil::testing::{SHAPES, Whole, text, whole};
use crate::cil::{Assembly, scan, weave};
use std::fmt::Write;
use std::sync::Arc;

const LIBRARY: &str = "Acme.Hooks, Version=1.2.3.4, Culture=neutral, PublicKeyToken=null";
const CORE: &str = "mscorlib, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089";

const INT: Ty = Ty::Prim(Prim::I32);
const LONG: Ty = Ty::Prim(Prim::I64);
const DOUBLE: Ty = Ty::Prim(Prim::F64);
/// The type parameter of a generic hook, and of a method.
const OWN: Ty = Ty::Param {
    of_method: true,
    index: 0,
};

fn named(name: &str, scope: &str) -> Ty {
    Ty::Named(Arc::new(Named {
        name: name.into(),
        scope: scope.into(),
        value: false,
        by_ref_like: false,
        args: Box::default(),
    }))
}

fn object() -> Ty {
    named("System.Object", "")
}

fn string() -> Ty {
    named("System.String", "")
}

fn exception() -> Ty {
    named("System.Exception", CORE)
}

fn operand(source: Source, from: Ty, convert: Convert, to: Ty) -> Operand {
    Operand {
        source,
        from,
        convert,
        to,
    }
}

fn same(source: Source, ty: Ty) -> Operand {
    operand(source, ty.clone(), Convert::Same, ty)
}

/// A call of `Acme.Log.NAME` whose parameters are what the operands become.
fn call(name: &str, operands: Vec<Operand>, result: Ty, dest: Dest) -> Call {
    Call {
        role: Role::Hook,
        hook: Arc::new(Hook {
            owner: named("Acme.Log", LIBRARY),
            owner_is_interface: false,
            name: name.into(),
            parameters: operands.iter().map(|o| o.to.clone()).collect(),
            result,
            generics: 0,
            links: Box::default(),
        }),
        generics: Box::default(),
        operands: operands.into(),
        dest,
        given: None,
        adapter: None,
    }
}

fn adapted(guard: bool, recursion: bool, call: Call) -> Call {
    let adapter = Adapter {
        class: "".into(),
        guard,
        recursion,
        change: None,
    };
    Call {
        adapter: Some(adapter),
        ..call
    }
}

/// A call of the generic hook `T Acme.Log.Seen<T>(T)`.
fn generic(source: Source, ty: &Ty, dest: Dest) -> Call {
    let seen = call("Seen", vec![same(source, OWN)], OWN, dest);
    let hook = Hook {
        generics: 1,
        ..(*seen.hook).clone()
    };
    let seen = Call {
        hook: Arc::new(hook),
        generics: [ty.clone()].into(),
        ..seen
    };
    adapted(true, true, seen)
}

/// Binds hooks for a method, which it is shown with its type's name, its own and its signature.
type Bind<'b> = &'b dyn Fn(&str, &str, &Signature) -> Option<Bound>;

struct Planner<'b> {
    bind: Bind<'b>,
    advice: Advice,
    ty: String,
    types: u32,
    plan: Plan,
}

impl Visitor for Planner<'_> {
    fn enter_type(&mut self, ty: &Type<'_>) -> bool {
        ty.name.clone_into(&mut self.ty);
        self.types += 1;
        true
    }

    fn method(&mut self, index: u32, method: &Method<'_>) {
        let Some(signature) = method.details.signature().filter(|_| method.has_body) else {
            return;
        };
        let Some(bound) = (self.bind)(&self.ty, method.name, &signature) else {
            return;
        };
        let place = self.plan.bound.len() as u32;
        self.plan.bound.push(Arc::new(bound));
        self.plan.methods.push(Planned {
            ty: self.types - 1,
            index,
            id: 0x0102_0300 + place,
            advice: self.advice.with(Advice::OWN),
            bound: Some(place),
        });
    }
}

/// Weaves an assembly in parts of so many methods; also returns why methods are left.
fn woven(
    (bytes, pdb): (&[u8], Option<&[u8]>),
    advice: Advice,
    methods: usize,
    bind: Bind<'_>,
) -> (Whole, Vec<(String, Reason)>) {
    let image = Image::parse(bytes).unwrap();
    let mut planner = Planner {
        bind,
        advice,
        ty: String::new(),
        types: 0,
        plan: Plan::default(),
    };
    scan(&image, &mut planner).unwrap();
    let source = Debugging::of(&image, pdb);
    let (woven, types) = weave(Assembly::of(&image, &source), planner.plan, None, methods).unwrap();
    let left = types.into_iter().flat_map(|ty| ty.left);
    let left = left.map(|left| (left.method, left.reason)).collect();
    (whole(woven.write(Arc::default()).unwrap()).unwrap(), left)
}

/// The code and the locals of a method.
fn shown(image: &Image<'_>, number: u32) -> String {
    let tables = &image.metadata.tables;
    let row = tables.row(table::METHOD_DEF, number).unwrap();
    let (_, body) = image.body(row.get(column::method_def::RVA)).unwrap();
    let mut shown = image.metadata.method_label(number);
    let _ = write!(shown, "\n{}", text(&body));
    if body.locals != 0 {
        let row = tables.row(table::STAND_ALONE_SIG, token_row(body.locals));
        let blob = image.metadata.blobs.get(row.unwrap().get(0)).unwrap();
        let _ = writeln!(shown, "locals {blob:02x?}");
    }
    shown
}

/// The same of the methods of some names.
fn shown_methods(bytes: &[u8], names: &[&str]) -> String {
    let image = Image::parse(bytes).unwrap();
    let rows = 1..=image.metadata.tables.rows(table::METHOD_DEF);
    let is_wanted = |row: &u32| {
        let label = image.metadata.method_label(*row);
        names.iter().any(|name| label.starts_with(name))
    };
    rows.filter(is_wanted)
        .map(|row| shown(&image, row))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn values_are_converted_and_kept() {
    let bind = |_: &str, method: &str, signature: &Signature| match method {
        "Guarded" => Some(Bound {
            enter: [call(
                "Begin",
                vec![same(Source::Arg(0), string())],
                LONG,
                Dest::State(0),
            )]
            .into(),
            exit: [call(
                "End",
                vec![
                    same(Source::State(0), LONG),
                    operand(Source::Result, INT, Convert::Box, object()),
                    operand(
                        Source::Duration,
                        LONG,
                        Convert::Widen(Prim::I64, Prim::F64),
                        DOUBLE,
                    ),
                ],
                Ty::Void,
                Dest::Drop,
            )]
            .into(),
            exception: [call(
                "Failed",
                vec![same(Source::Exception, exception()), same(Source::Id, INT)],
                string(),
                Dest::Drop,
            )]
            .into(),
            keep: Keep {
                states: [LONG].into(),
                duration: true,
                ..Keep::default()
            },
            ..Bound::default()
        }),
        "Sum" => {
            let types: Vec<&Ty> = signature.parameters.iter().map(|p| &p.ty).collect();
            let arguments = vec![
                operand(Source::Arg(0), types[0].clone(), Convert::LoadBox, object()),
                same(Source::Zero, object()),
                operand(Source::Arg(2), types[2].clone(), Convert::Same, object()),
            ];
            let array = Ty::Array(Arc::new(object()));
            let take = |operands| call("Take", operands, Ty::Void, Dest::Drop);
            Some(Bound {
                enter: [
                    take(vec![same(Source::Args(arguments.into()), array)]),
                    take(vec![
                        operand(Source::Arg(0), types[0].clone(), Convert::Load, INT),
                        same(Source::Arg(0), types[0].clone()),
                        same(Source::Text("it's \u{e9}".into()), string()),
                        same(Source::Int(7), LONG),
                        same(Source::Double(0.5), Ty::Prim(Prim::F32)),
                        same(Source::Zero, types[3].clone()),
                        same(Source::Zero, Ty::ByRef(Arc::new(INT))),
                        same(Source::Line, INT),
                    ]),
                ]
                .into(),
                ..Bound::default()
            })
        }
        _ => None,
    };
    let (out, left) = woven((SHAPES, None), Advice::default(), 99, &bind);
    assert_eq!(left, []);
    insta::assert_snapshot!(shown_methods(&out.image, &["Guarded(", "Sum("]), @r#"
    Sum(System.Int32&, System.Int32*, System.Int32[,], System.Collections.Generic.List<System.Collections.Generic.KeyValuePair<System.String,T[]>>)System.Int32
    fat maxstack 8 init locals 11000009
       0 ldc.i4.3
       1 newarr 0100000d
       6 dup
       7 ldc.i4.0
       8 ldarg.0
       9 dup
      10 brtrue 22
      15 pop
      16 ldnull
      17 br 28
      22 ldind.i4
      23 box 01000030
      28 stelem.ref
      29 dup
      30 ldc.i4.1
      31 ldnull
      32 stelem.ref
      33 dup
      34 ldc.i4.2
      35 ldarg.2
      36 stelem.ref
      37 call 0a000044
      42 ldarg.0
      43 dup
      44 brtrue 56
      49 pop
      50 ldc.i4.0
      51 br 57
      56 ldind.i4
      57 ldarg.0
      58 ldstr 7000001c
      63 ldc.i4.7
      64 conv.i8
      65 ldc.r4 3f000000
      70 ldnull
      71 ldloca.s 00
      73 initobj 01000030
      79 ldloca.s 00
      81 ldc.i4.0
      82 call 0a000045
      87 ldarg.0
      88 ldind.i4
      89 ldarg.1
      90 ldind.i4
      91 add
      92 ldarg.2
      93 ldc.i4.0
      94 ldc.i4.0
      95 call 0a000022
     100 add
     101 ldarg.3
     102 callvirt 0a000023
     107 add
     108 ldsfld 0a000024
     113 ldc.i4.3
     114 ldelem.u1
     115 add
     116 ldsfld 0a000025
     121 ldc.i4.0
     122 ldelem.i8
     123 conv.i4
     124 add
     125 ret
    locals [07, 03, 08, 08, 12, 80, 95]

    Guarded(System.String)System.Int32
    fat maxstack 4 init locals 1100000a
       0 call 0a000046
       5 stloc.2
       6 ldarg.0
       7 call 0a000047
      12 stloc.1
      13 ldarg.0
      14 call 0a00002d
      19 stloc.0
      20 leave.s 68
      22 isinst 01000031
      27 dup
      28 brtrue.s 34
      30 pop
      31 ldc.i4.0
      32 br.s 50
      34 callvirt 0a00002e
      39 callvirt 0a00002f
      44 ldc.i4.3
      45 cgt
      47 ldc.i4.0
      48 cgt.un
      50 endfilter
      52 pop
      53 ldc.i4.m1
      54 stloc.0
      55 leave.s 68
      57 ldstr 70000017
      62 call 0a000030
      67 endfinally
      68 ldloc.0
      69 stloc.3
      70 leave.s 100
      72 isinst 01000025
      77 stloc.s 04
      79 ldc.i4.0
      80 endfilter
      82 throw
      83 ldloc.s 04
      85 pop
      86 ldloc.s 04
      88 ldc.i4 01020301
      93 call 0a000049
      98 pop
      99 endfinally
     100 ldloc.1
     101 ldloc.3
     102 box 01000030
     107 call 0a000046
     112 ldloc.2
     113 sub
     114 conv.r8
     115 call 0a000048
     120 ldloc.3
     121 ret
    try 13..22 filter 22 52..57
    try 13..57 finally 57..68
    try 13..72 filter 72 82..83
    try 13..83 fault 83..100
    locals [07, 05, 08, 0a, 0a, 08, 12, 80, 95]
    "#);
}

#[test]
fn arguments_that_code_may_change_are_known() {
    // ldarga.s 1; pop; ldarg.2; starg 3; ret
    let code = [0x0f, 1, 0x26, 0x04, 0xfe, 0x0b, 3, 0, 0x2a];
    let known = super::overwritten(&code, 4);
    assert_eq!(known, Some(vec![false, true, false, true]));
    assert_eq!(super::overwritten(&code, 3), None);
    assert_eq!(super::overwritten(&code[..6], 4), None);
}

#[test]
fn constructors_have_hooks_behind_the_call_of_another_one() {
    let bind = |ty: &str, method: &str, signature: &Signature| {
        let is_meant = ty == "Acme.Shapes.Point" || ty == "Acme.Shapes.Shape`1";
        (is_meant && (method == ".ctor" || method == "CompareTo")).then(|| {
            let this = signature.this.clone().unwrap();
            let this = match &this {
                Ty::ByRef(_) => operand(Source::This, this.clone(), Convert::LoadBox, object()),
                _ => operand(Source::This, this.clone(), Convert::Same, object()),
            };
            let arguments = (0..).zip(&signature.parameters);
            let arguments = arguments.map(|(n, p)| match &p.ty {
                ty if ty.is_reference() => {
                    operand(Source::Arg(n), ty.clone(), Convert::Same, object())
                }
                ty => operand(Source::Arg(n), ty.clone(), Convert::Box, object()),
            });
            let operands: Vec<Operand> = [this].into_iter().chain(arguments).collect();
            let seen = |operands| call("Seen", operands, Ty::Void, Dest::Drop);
            Bound {
                enter: [seen(operands.clone())].into(),
                exit: [seen(operands)].into(),
                ..Bound::default()
            }
        })
    };
    let (out, left) = woven((SHAPES, None), Advice::ENTER, 99, &bind);
    assert_eq!(left, []);
    insta::assert_snapshot!(
        shown_methods(&out.image, &[".ctor(T)", "CompareTo(", ".ctor(System.Int32, System.Int32)"]),
        @r#"
    .ctor(T)System.Void
    fat maxstack 8 init locals 11000009
       0 ldarg.0
       1 ldstr 7000000d
       6 stfld 0a000018
      11 ldarg.0
      12 call 0a000019
      17 ldarg.0
      18 ldarg.1
      19 box 1b00000f
      24 call 0a00004b
      29 ldc.i4 01020300
      34 call 0a000044
      39 ldarg.0
      40 ldarg.1
      41 stfld 0a00001a
      46 br.s 48
      48 ldarg.0
      49 ldarg.1
      50 box 1b00000f
      55 call 0a00004b
      60 ret
    locals [07, 01, 12, 80, 95]

    CompareTo(Acme.Shapes.Shape<T>)System.Int32
    fat maxstack 3 init locals 1100000a
       0 ldarg.0
       1 ldarg.1
       2 call 0a00004b
       7 ldc.i4 01020301
      12 call 0a000044
      17 ldarg.0
      18 callvirt 0a000020
      23 stloc.0
      24 ldloca.s 00
      26 ldarg.1
      27 callvirt 0a000020
      32 call 0a000021
      37 stloc.1
      38 br.s 40
      40 ldarg.0
      41 ldarg.1
      42 call 0a00004b
      47 ldloc.1
      48 ret
    locals [07, 03, 0d, 08, 12, 80, 95]

    .ctor(System.Int32, System.Int32)System.Void
    fat maxstack 8 init locals 11000009
       0 ldarg.0
       1 dup
       2 brtrue 14
       7 pop
       8 ldnull
       9 br 24
      14 ldobj 02000005
      19 box 02000005
      24 ldarg.1
      25 box 01000030
      30 ldarg.2
      31 box 01000030
      36 call 0a00004c
      41 ldc.i4 01020302
      46 call 0a000044
      51 ldarg.0
      52 ldarg.1
      53 stfld 04000008
      58 ldarg.0
      59 ldarg.2
      60 stfld 04000009
      65 br.s 67
      67 ldarg.0
      68 dup
      69 brtrue 81
      74 pop
      75 ldnull
      76 br 91
      81 ldobj 02000005
      86 box 02000005
      91 ldarg.1
      92 box 01000030
      97 ldarg.2
      98 box 01000030
     103 call 0a00004c
     108 ret
    locals [07, 01, 12, 80, 95]
    "#
    );
}

/// Generic hooks and others, by adapters of all kinds.
fn mixed(_: &str, _: &str, signature: &Signature) -> Option<Bound> {
    let first = (signature.parameters.first())
        .filter(|p| matches!(p.ty, Ty::Param { .. } | Ty::Prim(_)) || p.ty.is_reference());
    let first = first.map(|p| generic(Source::Arg(0), &p.ty, Dest::Drop));
    let plain = call("Plain", vec![same(Source::Id, INT)], Ty::Void, Dest::Drop);
    Some(Bound {
        enter: first.into_iter().chain([plain.clone()]).collect(),
        exit: [
            adapted(true, false, plain.clone()),
            adapted(false, true, plain.clone()),
        ]
        .into(),
        exception: [adapted(true, true, plain)].into(),
        keep: Keep::default(),
        ..Bound::default()
    })
}

#[test]
fn adapters_are_methods_of_a_type_behind_all_others() {
    let (out, _) = woven((SHAPES, None), Advice::ALL, 99, &mixed);
    let before = Image::parse(SHAPES).unwrap();
    let image = Image::parse(&out.image).unwrap();
    let tables = &image.metadata.tables;
    let types = tables.rows(table::TYPE_DEF);
    assert_eq!(types, before.metadata.tables.rows(table::TYPE_DEF) + 1);
    let mut name = String::new();
    let all = image.metadata.types();
    all.put_name(&image.metadata, types, &mut name).unwrap();
    assert_eq!(name, "<Weave>");
    // The state machines of SHAPES get fields, which move those behind.
    let row = tables.row(table::TYPE_DEF, types).unwrap();
    let fields = tables.rows(table::FIELD);
    assert!(fields > before.metadata.tables.rows(table::FIELD));
    assert_eq!(row.get(column::type_def::FIELD_LIST), fields + 1);
    let methods = image.metadata.method_positions(types).unwrap();
    assert_eq!(
        methods.start,
        before.metadata.tables.rows(table::METHOD_DEF) + 1
    );
    let shown: Vec<String> = methods.map(|row| shown(&image, row)).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    Acme.Log.Plain (flag)(System.Int32)System.Void
    fat maxstack 2 init
       0 call 0a00004d
       5 brtrue.s 8
       7 ret
       8 ldarg.0
       9 call 0a00004f
      14 leave 25
      19 call 0a00004e
      24 endfinally
      25 ret
    try 8..19 finally 19..25

    Acme.Log.Plain (guard)(System.Int32)System.Void
    fat maxstack 2 init
       0 ldarg.0
       1 call 0a00004f
       6 leave 26
      11 ldstr 7000001c
      16 call 0a000050
      21 leave 26
      26 ret
    try 0..11 catch 01000025 11..26

    Acme.Log.Plain(System.Int32)System.Void
    fat maxstack 2 init
       0 call 0a00004d
       5 brtrue.s 8
       7 ret
       8 ldarg.0
       9 call 0a00004f
      14 leave 40
      19 ldstr 7000001c
      24 call 0a000050
      29 leave 40
      34 call 0a00004e
      39 endfinally
      40 ret
    try 8..19 catch 01000025 19..34
    try 8..34 finally 34..40

    Acme.Log.Seen(T0)T0
    fat maxstack 2 init locals 11000009
       0 call 0a00004d
       5 brtrue.s 9
       7 ldloc.0
       8 ret
       9 ldarg.0
      10 call 2b000004
      15 stloc.0
      16 leave 42
      21 ldstr 7000003a
      26 call 0a000050
      31 leave 42
      36 call 0a00004e
      41 endfinally
      42 ldloc.0
      43 ret
    try 9..21 catch 01000025 21..36
    try 9..36 finally 36..42
    locals [07, 01, 1e, 00]
    "#);
    // Sorted by owner (II.22.20).
    let owners = tables.iter(table::GENERIC_PARAM);
    let owners: Vec<u32> = owners
        .map(|row| row.get(column::generic_param::OWNER))
        .collect();
    assert!(owners.is_sorted());
    assert_eq!(image.refusal(), Some(Reason::AlreadyWoven));
}

#[test]
fn parts_do_not_show() {
    let make = |methods| woven((SHAPES, None), Advice::ALL, methods, &mixed).0.image;
    let whole = make(usize::MAX);
    assert!(make(1) == whole && make(5) == whole);
}

#[test]
fn what_needs_no_hook_library_does_not_name_it() {
    let bind = |_: &str, _: &str, _: &Signature| {
        let plain = call("Plain", vec![], Ty::Void, Dest::Drop);
        Some(Bound {
            enter: [plain].into(),
            ..Bound::default()
        })
    };
    let (out, _) = woven((SHAPES, None), Advice::default(), 99, &bind);
    let image = Image::parse(&out.image).unwrap();
    let names = image.metadata.tables.iter(table::ASSEMBLY_REF);
    let names: Vec<_> = names
        .map(|row| row.get(column::assembly_ref::NAME))
        .map(|name| image.metadata.strings.text(name).unwrap())
        .collect();
    assert!(names.iter().any(|name| name == "Acme.Hooks"), "{names:?}");
    assert!(
        !names.iter().any(|name| name == "Weave.Runtime"),
        "{names:?}"
    );
    // It is woven all the same.
    assert_eq!(image.refusal(), Some(Reason::AlreadyWoven));
}

#[test]
fn a_hook_may_be_of_the_assembly_itself() {
    let scope = "shapes, Version=0.0.0.0, Culture=neutral, PublicKeyToken=708275ba6fe63377";
    let bind = |_: &str, method: &str, _: &Signature| {
        let call = call(
            "Guarded",
            vec![same(Source::Zero, string())],
            INT,
            Dest::Drop,
        );
        let hook = Hook {
            owner: named("Acme.Shapes.Steps", scope),
            ..(*call.hook).clone()
        };
        (method == "get_Why").then(|| Bound {
            enter: [Call {
                hook: Arc::new(hook),
                ..call
            }]
            .into(),
            ..Bound::default()
        })
    };
    let (out, left) = woven((SHAPES, None), Advice::default(), 99, &bind);
    assert_eq!(left, []);
    let image = Image::parse(&out.image).unwrap();
    let rows = 1..=image.metadata.tables.rows(table::METHOD_DEF);
    let guarded = rows
        .into_iter()
        .find(|&row| image.metadata.method_label(row).starts_with("Guarded("))
        .unwrap();
    let called = format!("call {:08x}", token(table::METHOD_DEF, guarded));
    let shown = shown_methods(&out.image, &["get_Why("]);
    assert!(shown.contains(&called), "{shown}");
}

#[test]
fn the_pdb_has_a_row_for_each_adapter() {
    let image = include_bytes!("../../../../tests/dotnet/fixtures/steps-debug.dll");
    let pdb = include_bytes!("../../../../tests/dotnet/fixtures/steps-debug.pdb");
    let (out, _) = woven((image, Some(pdb)), Advice::ALL, 99, &mixed);
    let rows = |bytes: &[u8], table| {
        let metadata = crate::cil::metadata::Metadata::parse(bytes).unwrap();
        metadata.tables.rows(table)
    };
    let methods = |bytes: &[u8]| {
        let image = Image::parse(bytes).unwrap();
        image.metadata.tables.rows(table::METHOD_DEF)
    };
    let information = table::METHOD_DEBUG_INFORMATION;
    assert_eq!(rows(pdb, information), methods(image));
    let after = out.pdb.unwrap();
    assert!(methods(&out.image) > methods(image));
    assert_eq!(rows(&after, information), methods(&out.image));
}

#[test]
fn what_has_no_name_leaves_the_method() {
    let bind = |_: &str, method: &str, _: &Signature| {
        let opaque = Ty::Opaque("method*".into());
        let call = call(
            "Take",
            vec![same(Source::Zero, opaque)],
            Ty::Void,
            Dest::Drop,
        );
        (method == "Guarded").then(|| Bound {
            enter: [call].into(),
            ..Bound::default()
        })
    };
    let image = Image::parse(SHAPES).unwrap();
    let (out, left) = woven((SHAPES, None), Advice::default(), 99, &bind);
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].1, Reason::Unsupported);
    drop((image, out));
}

/// A hook instead of a body: `Acme.Log.Around(Func<R>)`, or `Around(Action)`.
fn around(signature: &Signature, inner: Option<Arc<Bound>>) -> Bound {
    let result = signature.result.clone();
    let (name, args): (&str, Vec<Ty>) = match &result {
        Ty::Void => ("System.Action", vec![]),
        result => ("System.Func`1", vec![result.clone()]),
    };
    let ty = Ty::Named(Arc::new(Named {
        name: name.into(),
        scope: CORE.into(),
        value: false,
        by_ref_like: false,
        args: args.into(),
    }));
    let proceed = Proceed {
        ty: ty.clone(),
        function: Function {
            name: "Invoke".into(),
            parameters: Box::default(),
            result: result.clone(),
        },
        takes_arguments: false,
    };
    let operand = same(Source::Proceed(Arc::new(proceed)), ty);
    let mut call = call("Around", vec![operand], result.clone(), Dest::Drop);
    if result != Ty::Void {
        call.dest = Dest::Returned;
        call.given = Some((Convert::Same, result));
    }
    Bound {
        around: Some(Box::new(Around { call, inner })),
        ..Bound::default()
    }
}

#[test]
fn a_state_is_zero_where_its_hook_did_not_run() {
    let date = Ty::Named(Arc::new(Named {
        name: "System.DateTime".into(),
        scope: CORE.into(),
        value: true,
        by_ref_like: false,
        args: Box::default(),
    }));
    let bind = |_: &str, method: &str, _: &Signature| {
        let skip = Dest::SkipWhen { exits: 1 };
        let skip = Call {
            given: Some((Convert::Same, INT)),
            ..call("Off", vec![], Ty::Prim(Prim::Bool), skip)
        };
        let begin = |ty: &Ty, n| call("Begin", vec![], ty.clone(), Dest::State(n));
        let states = vec![
            same(Source::State(0), LONG),
            same(Source::State(1), date.clone()),
        ];
        (method == "Guarded").then(|| Bound {
            enter: [skip, begin(&LONG, 0), begin(&date, 1)].into(),
            exit: [call("End", states, Ty::Void, Dest::Drop)].into(),
            keep: Keep {
                states: [LONG, date.clone()].into(),
                ..Keep::default()
            },
            ..Bound::default()
        })
    };
    let first = |bytes: &[u8]| {
        let (out, left) = woven((bytes, None), Advice::default(), 99, &bind);
        assert_eq!(left, []);
        let shown = shown_methods(&out.image, &["Guarded("]);
        let code: Vec<String> = (shown.lines().skip(1))
            .map(|line| {
                line.split_whitespace()
                    .skip(1)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        (code[0].contains("init locals"), code[1..].to_vec())
    };
    let (zeroes, code) = first(SHAPES);
    assert!(zeroes && code[0].starts_with("call "), "{code:?}");
    // `SkipLocalsInit`: the header's flag is off.
    let mut bytes = SHAPES.to_vec();
    let image = Image::parse(SHAPES).unwrap();
    for row in image.metadata.tables.iter(table::METHOD_DEF) {
        if let Ok((at, body)) = image.body(row.get(column::method_def::RVA))
            && body.init_locals
        {
            bytes[at] &= !0x10;
        }
    }
    let (zeroes, code) = first(&bytes);
    assert!(!zeroes, "{code:?}");
    let set = ["ldc.i4.0", "conv.i8", "stloc.1", "ldloca.s 02", "initobj"];
    let is_set = |(line, set): (&String, &&str)| line.starts_with(set);
    assert!(code.iter().zip(&set).all(is_set), "{code:?}");
}

/// What gives a part of a value has a result, which is kept.
#[test]
fn only_a_call_that_records_is_left_out_where_a_reference_is_null() {
    let tests = |bytes: &[u8]| -> usize {
        let image = Image::parse(bytes).unwrap();
        let rows = image.metadata.tables.iter(table::METHOD_DEF);
        let bodies = rows.filter_map(|row| image.body(row.get(column::method_def::RVA)).ok());
        let tests = bodies.map(|(_, body)| text(&body).matches("brfalse").count());
        tests.sum()
    };
    let added = |role: Role| {
        let bind = |_: &str, _: &str, signature: &Signature| {
            let (n, ty) = (0..).zip(&signature.parameters).find_map(|(n, p)| {
                let Ty::ByRef(inner) = &p.ty else {
                    return None;
                };
                matches!(**inner, Ty::Prim(_)).then(|| (n, p.ty.clone()))
            })?;
            let (result, dest) = match role {
                Role::Value => (Ty::Void, Dest::Drop),
                _ => (object(), Dest::State(0)),
            };
            let value = operand(Source::Arg(n), ty, Convert::LoadBox, object());
            Some(Bound {
                enter: [Call {
                    role,
                    ..call("First", vec![value], result, dest)
                }]
                .into(),
                keep: Keep {
                    states: [object()].into(),
                    ..Keep::default()
                },
                ..Bound::default()
            })
        };
        let (out, _) = woven((SHAPES, None), Advice::default(), 99, &bind);
        tests(&out.image) - tests(SHAPES)
    };
    assert!(added(Role::Value) > 0);
    assert_eq!(added(Role::Part), 0);
}

#[test]
fn sorted_tables_stay_so_whatever_the_header_says() {
    /// The tables that are sorted (II.24.2.6).
    const SORTED: u64 = 0x1600_3301_FA00;
    let generic: &[u8] = include_bytes!("../../../../tests/dotnet/fixtures/generic.dll");
    let bind = |_: &str, method: &str, signature: &Signature| {
        let values = signature.parameters.iter().map(|p| &p.ty);
        let is_kept = |ty: &Ty| !matches!(ty, Ty::ByRef(_) | Ty::Opaque(_)) && !is_ref_struct(ty);
        let fits = !method.starts_with('.')
            && !matches!(signature.this, Some(Ty::ByRef(_)))
            && values.chain([&signature.result]).all(is_kept);
        fits.then(|| around(signature, None))
    };
    for bytes in [SHAPES, generic] {
        let sorted = SORTED.to_le_bytes();
        let at = bytes.windows(8).position(|eight| eight == sorted).unwrap();
        let mut unsaid = bytes.to_vec();
        unsaid[at..at + 8].fill(0);
        let [said, unsaid] = [bytes, &unsaid].map(|bytes| {
            let (out, _) = woven((bytes, None), Advice::default(), 99, &bind);
            out.image
        });
        let image = Image::parse(&unsaid).unwrap();
        let tables = &image.metadata.tables;
        let of_said = Image::parse(&said).unwrap();
        for table in (0..64).filter(|table| SORTED >> table & 1 == 1) {
            let rows = tables.table_bytes(table);
            assert!(
                rows == of_said.metadata.tables.table_bytes(table),
                "{table:#x}"
            );
        }
        let owners = tables.iter(table::GENERIC_PARAM);
        assert!(owners.is_sorted_by_key(|row| row.get(column::generic_param::OWNER)));
    }
}

/// The rows of methods whose type has a name that ends so.
fn methods_of(image: &Image<'_>, end: &str) -> Vec<u32> {
    let types = image.metadata.types();
    let rows = 1..=image.metadata.tables.rows(table::METHOD_DEF);
    rows.filter(|&row| {
        let owner = image.metadata.owner_of_method(row).unwrap();
        let name = types.name(token(table::TYPE_DEF, owner)).unwrap();
        name.ends_with(end)
    })
    .collect()
}

#[test]
fn bodies_move_as_they_are_with_all_that_belongs_to_them() {
    let steps: &[u8] = include_bytes!("../../../../tests/dotnet/fixtures/steps-debug.dll");
    let pdb: &[u8] = include_bytes!("../../../../tests/dotnet/fixtures/steps-debug.pdb");
    let generic: &[u8] = include_bytes!("../../../../tests/dotnet/fixtures/generic.dll");
    for (bytes, pdb) in [(SHAPES, None), (generic, None), (steps, Some(pdb))] {
        let image = Image::parse(bytes).unwrap();
        let twice = |_: &str, method: &str, signature: &Signature| {
            let values = signature.parameters.iter().map(|p| &p.ty);
            let by_reference =
                |ty: &Ty| matches!(ty, Ty::ByRef(_) | Ty::Opaque(_)) || is_ref_struct(ty);
            let of_struct = matches!(signature.this, Some(Ty::ByRef(_)));
            let refused = of_struct
                || method.starts_with('.')
                || values.chain([&signature.result]).any(by_reference);
            let inner = || Some(Arc::new(around(signature, None)));
            (!refused).then(|| around(signature, inner()))
        };
        let (out, left) = woven((bytes, pdb), Advice::default(), 3, &twice);
        let new = Image::parse(&out.image).unwrap();
        let verdict = crate::cil::verify::verify(&out.image);
        assert!(verdict.failures.is_empty(), "{:?}", verdict.failures);
        let code = |image: &Image<'_>, row: u32| {
            let row = image.metadata.tables.row(table::METHOD_DEF, row).unwrap();
            let (_, body) = image.body(row.get(column::method_def::RVA)).ok()?;
            Some((
                body.code.to_vec(),
                body.locals,
                body.clauses().map(Result::unwrap).collect::<Vec<_>>(),
            ))
        };
        let name = |image: &Image<'_>, row: u32| {
            let row = image.metadata.tables.row(table::METHOD_DEF, row).unwrap();
            let name = image
                .metadata
                .strings
                .text(row.get(column::method_def::NAME));
            name.unwrap().into_owned()
        };
        let points = |bytes: &Option<Vec<u8>>, row: u32| {
            bytes
                .as_ref()
                .map_or(vec![], |bytes| Pdb::parse(bytes).unwrap().places(row))
        };
        let before = pdb.map(<[u8]>::to_vec);
        let bodies: Vec<u32> = methods_of(&new, "<Weave>")
            .into_iter()
            .filter(|&row| !name(&new, row).contains(" ("))
            .collect();
        let mut moved = 0;
        for row in 1..=image.metadata.tables.rows(table::METHOD_DEF) {
            if code(&image, row) == code(&new, row) {
                continue;
            }
            // Another method may have the same code, but none the same lines.
            let has_moved = |body: &&u32| {
                name(&new, **body) == name(&image, row)
                    && code(&new, **body) == code(&image, row)
                    && points(&out.pdb, **body) == points(&before, row)
            };
            assert!(
                bodies.iter().any(|body| has_moved(&body)),
                "{}",
                name(&image, row)
            );
            assert!(points(&out.pdb, row).is_empty());
            moved += 1;
        }
        assert_eq!(moved, bodies.len() - left.len());
        assert!(moved > 0);
    }
}

fn is_ref_struct(ty: &Ty) -> bool {
    matches!(ty, Ty::Named(named) if named.by_ref_like)
}

/// Whether the JIT may inline a method's body, once hooks of this owner are around it.
fn is_inlined(owner: &str, role: Role, says: i32) -> Vec<(String, bool)> {
    let hook = |name: &str, operands, result, dest| {
        let call = call(name, operands, result, dest);
        let hook = Hook {
            owner: named(owner, LIBRARY),
            ..(*call.hook).clone()
        };
        Call {
            role,
            hook: Arc::new(hook),
            ..call
        }
    };
    let bind = |_: &str, method: &str, _: &Signature| {
        ["Adder", "Guarded"].contains(&method).then(|| Bound {
            enter: [hook(
                "Enter",
                vec![same(Source::Int(says), INT), same(Source::Id, INT)],
                INT,
                Dest::State(0),
            )]
            .into(),
            exit: [hook(
                "Exit",
                vec![same(Source::State(0), INT), same(Source::Id, INT)],
                Ty::Void,
                Dest::Drop,
            )]
            .into(),
            exception: [hook(
                "Error",
                vec![
                    same(Source::Exception, exception()),
                    same(Source::State(0), INT),
                    same(Source::Id, INT),
                ],
                Ty::Void,
                Dest::Drop,
            )]
            .into(),
            keep: Keep {
                states: [INT].into(),
                ..Keep::default()
            },
            ..Bound::default()
        })
    };
    let (written, left) = woven((SHAPES, None), Advice::default(), usize::MAX, &bind);
    assert_eq!(left, []);
    let image = Image::parse(&written.image).unwrap();
    let tables = &image.metadata.tables;
    let rows = (1..).zip(tables.iter(table::METHOD_DEF));
    rows.map(|(number, row)| {
        let flags = row.get(column::method_def::IMPL_FLAGS);
        let label = image.metadata.method_label(number);
        (label, flags & impl_flag::NO_INLINING == 0)
    })
    .collect()
}

/// Large methods, and those that start on, are marked `NoInlining`.
#[test]
fn of_what_can_be_switched_small_methods_that_start_off_are_inlined() {
    const INFO: i32 = 1 << 4;
    const DEBUG: i32 = 2 << 4;
    let plain = is_inlined("Acme.Log", Role::Hook, INFO);
    let lost = |says| {
        let switched = is_inlined("Weave.Runtime.Switched", Role::Switch, says);
        let pairs = plain.iter().zip(switched);
        pairs
            .filter(|((_, before), (_, after))| *before && !after)
            .map(|((label, _), _)| label.split('(').next().unwrap_or(label).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(lost(INFO), ["Adder", "Guarded"]);
    assert_eq!(lost(DEBUG), ["Guarded"]);
}

/// The rows of methods that are marked `AggressiveInlining`.
fn forced(bytes: &[u8]) -> Vec<u32> {
    let image = Image::parse(bytes).unwrap();
    let rows = (1..).zip(image.metadata.tables.iter(table::METHOD_DEF));
    let marked = |row: &crate::cil::metadata::tables::Row<'_>| {
        row.get(column::method_def::IMPL_FLAGS) & impl_flag::AGGRESSIVE_INLINING != 0
    };
    rows.filter(|(_, row)| marked(row))
        .map(|(number, _)| number)
        .collect()
}

/// Methods with handlers that are marked in each other lose the mark, others keep it.
#[test]
fn what_is_marked_to_be_inlined_stays_so_within_bounds() {
    let image = Image::parse(SHAPES).unwrap();
    let tables = &image.metadata.tables;
    let format = tables.format(table::METHOD_DEF);
    let rows = tables.table_bytes(table::METHOD_DEF);
    let at = rows.as_ptr() as usize - SHAPES.as_ptr() as usize;
    let column = usize::from(format.offsets[column::method_def::IMPL_FLAGS]);
    let mut bytes = SHAPES.to_vec();
    for row in 0..tables.rows(table::METHOD_DEF) as usize {
        bytes[at + row * format.row_size() + column + 1] |= 1;
    }
    let all = forced(&bytes);
    let of = |advice| {
        let (written, _) = woven((&bytes, None), advice, usize::MAX, &|_, _, _| {
            Some(Bound::default())
        });
        forced(&written.image)
    };
    assert_eq!(of(Advice::ENTER), all, "without handlers");
    let kept = of(Advice::ALL);
    assert!(kept.len() < all.len(), "none lost the mark");
    assert!(
        2 * kept.len() > all.len(),
        "{} of {}",
        kept.len(),
        all.len()
    );
    assert_eq!(of(Advice::ALL), kept, "the same again");
}
