//! What becomes of methods with hooks of one's own.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::bind::call::{Adapter, Bound, Call, Convert, Dest, Hook, Keep, Operand, Source};
use crate::aspect::bind::ty::{Named, Prim, Signature, Ty};
use crate::aspect::joinpoint::{Method, Type, Visitor};
use crate::aspect::plan::{Plan, Planned};
use crate::cil::image::Image;
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::tables::{token, token_row};
use crate::cil::pdb::Source as Debugging;
use crate::cil::testing::{SHAPES, Whole, text, whole};
use crate::cil::{scan, weave};
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
        hook: Arc::new(Hook {
            owner: named("Acme.Log", LIBRARY),
            owner_is_interface: false,
            name: name.into(),
            parameters: operands.iter().map(|o| o.to.clone()).collect(),
            result,
            generics: 0,
        }),
        generics: Box::default(),
        operands: operands.into(),
        dest,
        adapter: None,
    }
}

fn adapted(guard: bool, recursion: bool, call: Call) -> Call {
    let adapter = Adapter {
        class: "".into(),
        guard,
        recursion,
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
    let (woven, types) = weave((&image, &source), planner.plan, None, methods).unwrap();
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
    insta::assert_snapshot!(shown_methods(&out.image, &["Guarded(", "Sum("]), @"");
}

#[test]
fn arguments_are_those_of_the_start() {
    // Structs whose methods are called have their address taken; so has what a closure stores.
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
    let image = Image::parse(&out.image).unwrap();
    let _ = image;
    insta::assert_snapshot!(
        shown_methods(&out.image, &[".ctor(T)", "CompareTo(", ".ctor(System.Int32, System.Int32)"]),
        @""
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
    insta::assert_snapshot!(shown.join("\n"), @"");
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
