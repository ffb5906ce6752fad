//! What weaving makes of compiled methods that are suspended, and of what a PDB says of them. The
//! assemblies are `tests/dotnet/fixtures`.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::bind::call::Bound;
use crate::aspect::everything::everything;
use crate::aspect::joinpoint::{Kinds, Method, Visitor};
use crate::aspect::plan::{Plan, Planned};
use crate::cil::il::insn::{self, Form, op};
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::tables::{token_row, token_table};
use crate::cil::pdb::{Format, Pdb, Source};
use crate::cil::scan::Survey;
use crate::cil::testing::{SHAPES, Whole, whole};
use crate::cil::warning::Warning;
use crate::cil::weave::methods::Methods;
use crate::cil::{Assembly, Image, scan, weave};
use proptest::prelude::*;
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

const DEBUG: &[u8] = include_bytes!("../../../../tests/dotnet/fixtures/steps-debug.dll");
const DEBUG_PDB: &[u8] = include_bytes!("../../../../tests/dotnet/fixtures/steps-debug.pdb");
const RELEASE: &[u8] = include_bytes!("../../../../tests/dotnet/fixtures/steps-release.dll");

/// Plans every method with a body but constructors.
fn plan_of(scan: impl FnOnce(&mut dyn Visitor)) -> Plan {
    let mut ids = 1..;
    let id = |_, _, method: &Method<'_>| {
        let is_new = method.kinds.intersects(Kinds::CONSTRUCTOR);
        (!is_new).then(|| ids.next()).flatten()
    };
    everything(Advice::ALL, id, scan)
}

fn plan(image: &Image<'_>) -> Plan {
    plan_of(|visitor| scan(image, visitor).unwrap())
}

fn weave_all(bytes: &[u8], pdb: Option<&[u8]>, mut told: impl FnMut(&str)) -> Whole {
    let image = Image::parse(bytes).unwrap();
    let plan = plan(&image);
    let source = Source::of(&image, pdb);
    let (woven, types) = weave(
        Assembly::of(&image, &source),
        plan.methods,
        None,
        usize::MAX,
    )
    .unwrap();
    for ty in &types {
        for method in ty.methods() {
            let (name, file) = (ty.name(), ty.file());
            told(&format!("{name}.{} {file}:{}", method.name, method.line));
        }
        for left in &ty.left {
            assert_eq!(left.reason, Reason::InStateMachine, "{}", left.method);
        }
    }
    whole(woven.write(Arc::default()).unwrap()).unwrap()
}

/// The names of the hooks that methods call, in order, a line for each method that calls any.
fn hooks(image: &Image<'_>) -> String {
    let metadata = &image.metadata;
    let tables = &metadata.tables;
    let class = |wanted: &[u8]| {
        let found = tables.iter(table::TYPE_REF).position(|row| {
            let name = metadata.strings.get(row.get(column::type_ref::NAME));
            name.is_ok_and(|name| name == wanted)
        });
        // MemberRefParent: three bits, 1 for TypeRef.
        found.map(|place| (place as u32 + 1) << 3 | 1)
    };
    let classes = [(class(b"Hooks"), ""), (class(b"Switched"), "Switched.")];
    assert!(classes[0].0.is_some(), "a reference to the hooks");
    let mut told = String::new();
    for ty in 1..=tables.rows(table::TYPE_DEF) {
        let row = tables.row(table::TYPE_DEF, ty).unwrap();
        let type_name = metadata.strings.text(row.get(column::type_def::NAME));
        let type_name = type_name.unwrap();
        for position in image.metadata.method_positions(ty).unwrap() {
            let row = tables.row(table::METHOD_DEF, position).unwrap();
            let rva = row.get(column::method_def::RVA);
            let mut names = vec![];
            let (_, body) = match rva {
                0 => continue,
                rva => image.body(rva).unwrap(),
            };
            for token in insn::tokens(body.code) {
                let token = token.unwrap().token;
                if token_table(token) != table::MEMBER_REF {
                    continue;
                }
                let row = tables.row(table::MEMBER_REF, token_row(token)).unwrap();
                let of = Some(row.get(column::member_ref::CLASS));
                if let Some((_, class)) = classes.iter().find(|(class, _)| *class == of) {
                    let name = metadata.strings.text(row.get(column::member_ref::NAME));
                    names.push(format!("{class}{}", name.unwrap()));
                }
            }
            if !names.is_empty() {
                let name = metadata.strings.text(row.get(column::method_def::NAME));
                let name = name.unwrap();
                writeln!(told, "{type_name}.{name}: {}", names.join(" ")).unwrap();
            }
        }
    }
    told
}

#[test]
fn classes_of_debug_builds_and_structs_of_release_builds_have_hooks() {
    let debug = weave_all(DEBUG, Some(DEBUG_PDB), |_| ());
    let debug = hooks(&Image::parse(&debug.image).unwrap());
    let release = weave_all(RELEASE, None, |_| ());
    assert_eq!(hooks(&Image::parse(&release.image).unwrap()), debug);
    insta::assert_snapshot!(debug, @r"
    Steps`1.Repeat: Begin
    Steps`1.Count: Begin
    Plain.One: Begin
    Plain.Line: Enter Error Exit
    <Count>d__5.MoveNext: Resume Suspend Fail End Suspend
    <Generic>d__2`1.MoveNext: Resume Suspend Fail End
    <Repeat>d__4.System.IDisposable.Dispose: Fail End
    <Repeat>d__4.MoveNext: Resume Fail Moved
    <Tells>d__3.MoveNext: Resume Suspend Fail End
    <Twice>d__1.MoveNext: Resume Suspend Suspend Fail End
    <One>d__0.System.IDisposable.Dispose: End
    <One>d__0.MoveNext: Resume Fail Moved
    ");
}

#[test]
fn calls_that_can_be_switched_say_so_where_they_begin() {
    let image = Image::parse(DEBUG).unwrap();
    let plan = plan(&image);
    let methods = Methods {
        planned: (plan.methods.into_iter())
            .map(|planned| Planned {
                bound: Some(0),
                ..planned
            })
            .collect(),
        bound: vec![Arc::new(Bound {
            logical: Some(0x10),
            ..Bound::default()
        })],
        ..Methods::default()
    };
    let source = Source::of(&image, None);
    let (woven, types) = weave(Assembly::of(&image, &source), methods, None, usize::MAX).unwrap();
    // What has no machine runs in no pieces.
    let left = types.iter().flat_map(|ty| &ty.left);
    let mut left: Vec<_> = left
        .filter(|left| left.reason == Reason::StateMachine)
        .collect();
    assert_eq!(
        left.pop().map(|left| &*left.method),
        Some("Line(System.String)System.Int32")
    );
    assert!(left.is_empty());
    let woven = whole(woven.write(Arc::default()).unwrap()).unwrap();
    insta::assert_snapshot!(hooks(&Image::parse(&woven.image).unwrap()), @r"
    Steps`1.Repeat: Switched.Begin
    Steps`1.Count: Switched.Begin
    Plain.One: Switched.Begin
    <Count>d__5.MoveNext: Switched.Resume Suspend Fail End Suspend
    <Generic>d__2`1.MoveNext: Switched.Resume Suspend Fail End
    <Repeat>d__4.System.IDisposable.Dispose: Fail End
    <Repeat>d__4.MoveNext: Switched.Resume Fail Moved
    <Tells>d__3.MoveNext: Switched.Resume Suspend Fail End
    <Twice>d__1.MoveNext: Switched.Resume Suspend Suspend Fail End
    <One>d__0.System.IDisposable.Dispose: End
    <One>d__0.MoveNext: Switched.Resume Fail Moved
    ");
}

#[test]
fn methods_have_their_lines() {
    let mut told = String::new();
    let written = weave_all(DEBUG, Some(DEBUG_PDB), |line| {
        told.push_str(line);
        told.push('\n');
    });
    assert_eq!(written.warnings, []);
    insta::assert_snapshot!(told, @r"
    Steps`1.Twice /src/steps.cs:13
    Steps`1.Generic /src/steps.cs:19
    Steps`1.Tells /src/steps.cs:25
    Steps`1.Repeat /src/steps.cs:33
    Steps`1.Count /src/steps.cs:46
    Plain.One /src/steps.cs:58
    Plain.Line /src/steps.cs:63
    ");
}

/// The field is the machine's last, and tokens of fields behind it have moved.
#[test]
fn the_field_goes_into_its_type() {
    let written = weave_all(RELEASE, None, |_| ());
    let (old, new) = (
        Image::parse(RELEASE).unwrap(),
        Image::parse(&written.image).unwrap(),
    );
    let names = |image: &Image<'_>| -> Vec<String> {
        let strings = &image.metadata.strings;
        image
            .metadata
            .tables
            .iter(table::FIELD)
            .map(|row| {
                strings
                    .text(row.get(column::field::NAME))
                    .unwrap()
                    .into_owned()
            })
            .collect()
    };
    let (before, after) = (names(&old), names(&new));
    let kept: Vec<_> = after
        .iter()
        .filter(|n| *n != "weave$call")
        .cloned()
        .collect();
    assert_eq!(kept, before);
    assert_eq!(after.len() - before.len(), 6);
    // What code names is what it named.
    let fields = |image: &Image<'_>, names: &[String]| -> Vec<String> {
        let mut found = vec![];
        for row in image.metadata.tables.iter(table::METHOD_DEF) {
            let rva = row.get(column::method_def::RVA);
            if rva == 0 {
                continue;
            }
            let (_, body) = image.body(rva).unwrap();
            for token in insn::tokens(body.code) {
                let token = token.unwrap().token;
                if token_table(token) == table::FIELD {
                    let name = &names[token_row(token) as usize - 1];
                    if name != "weave$call" {
                        found.push(name.clone());
                    }
                }
            }
        }
        found
    };
    assert_eq!(fields(&new, &after), fields(&old, &before));
}

/// For each method its points: old ones lie at the same instructions as before, on the same lines.
#[test]
fn sequence_points_stay_with_their_instructions() {
    for (image, pdb) in [(DEBUG, Some(DEBUG_PDB)), (RELEASE, None)] {
        let written = weave_all(image, pdb, |_| ());
        let (old, new) = (
            Image::parse(image).unwrap(),
            Image::parse(&written.image).unwrap(),
        );
        let new_source = Source::of(&new, written.pdb.as_deref());
        let old_source = Source::of(&old, pdb);
        assert_eq!(new_source.warning(), None);
        assert_eq!(new_source.is_embedded(), pdb.is_none());
        let (old_pdb, new_pdb) = (old_source.pdb().unwrap(), new_source.pdb().unwrap());
        assert_ne!(old_pdb.id(), new_pdb.id());
        let methods = old.metadata.tables.rows(table::METHOD_DEF);
        let mut compared = 0;
        for method in 1..=methods {
            let code = |image: &Image<'_>| {
                let row = image.metadata.tables.row(table::METHOD_DEF, method);
                let rva = row.unwrap().get(column::method_def::RVA);
                image.body(rva).unwrap().1.code.to_vec()
            };
            let points = |pdb: &Pdb<'_>| pdb.places(method);
            let (before, after) = (points(&old_pdb), points(&new_pdb));
            if before.is_empty() {
                assert_eq!(after, before);
                continue;
            }
            let (old_code, new_code) = (code(&old), code(&new));
            let extra = after.len() - before.len();
            assert!(extra <= 1);
            for (a, b) in before.iter().zip(&after) {
                assert_eq!(a.1, b.1, "lines of method {method}");
                assert!(b.0 < new_code.len() as u32);
                let was = insn::at(&old_code, a.0).unwrap();
                let is = insn::at(&new_code, b.0).unwrap();
                // Unless something was put in front of it, or it was a return or a branch.
                if was.form == Form::Plain {
                    assert!(is.opcode == was.opcode || is.opcode == op::LDC_I4);
                }
                compared += 1;
            }
            assert!(after.windows(2).all(|w| w[0].0 < w[1].0));
        }
        assert!(compared > 20);
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let again = |bytes, pdb| {
        let (a, b) = (weave_all(bytes, pdb, |_| ()), weave_all(bytes, pdb, |_| ()));
        assert!(a.image == b.image && a.pdb == b.pdb);
    };
    again(DEBUG, Some(DEBUG_PDB));
    again(RELEASE, None);
}

#[test]
fn debugging_information_that_is_of_no_use_is_told_and_unlinked() {
    let windows = b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0";
    let mono = 0x45e8_2623_fd7f_a614_u64.to_le_bytes();
    let mut other = DEBUG_PDB.to_vec();
    let id = Pdb::parse(DEBUG_PDB).unwrap().id().to_vec();
    let at = other.windows(20).position(|w| w == id).unwrap();
    other[at] ^= 1;
    for (pdb, warning) in [
        (None, None),
        (Some(&windows[..]), Some(Warning::WindowsPdb)),
        (Some(&mono), Some(Warning::MonoSymbols)),
        (Some(&other), Some(Warning::OtherPdb)),
    ] {
        let written = weave_all(DEBUG, pdb, |_| ());
        assert_eq!(written.warnings, Vec::from_iter(warning));
        assert!(written.pdb.is_none());
        // The old PDB is no longer this image's.
        let image = Image::parse(&written.image).unwrap();
        assert!(!Pdb::parse(DEBUG_PDB).unwrap().is_of(&image));
    }
    let cut = weave_all(DEBUG, Some(&DEBUG_PDB[..100]), |_| ());
    assert!(matches!(cut.warnings[..], [Warning::UnreadablePdb(_)]));
    assert_eq!(Format::of(DEBUG_PDB), Format::Portable);
    assert_eq!(Format::of(b"BS"), Format::Unknown);
}

/// Whoever weaves which part: tokens, bodies, debugging information and names come out the same.
#[test]
fn parts_come_out_as_if_one_had_woven_all() {
    for (bytes, pdb) in [(DEBUG, Some(DEBUG_PDB)), (RELEASE, None), (SHAPES, None)] {
        let image = Image::parse(bytes).unwrap();
        let plan = plan(&image);
        let source = Source::of(&image, pdb);
        let of = |methods| {
            let (woven, types) = weave(
                Assembly::of(&image, &source),
                plan.methods.clone(),
                None,
                methods,
            )
            .unwrap();
            let types: Vec<_> = (types.iter())
                .map(|ty| {
                    let methods = ty.methods().map(|m| format!("{m:?}")).collect::<Vec<_>>();
                    (
                        ty.name().to_owned(),
                        ty.file().to_owned(),
                        methods,
                        ty.left.clone(),
                    )
                })
                .collect();
            let written = whole(woven.write(Arc::default()).unwrap()).unwrap();
            (types, written.image, written.pdb)
        };
        let all = of(usize::MAX);
        for methods in [1, 2, 7] {
            assert!(of(methods) == all, "parts of {methods}");
        }
        // The types that a scan shows in parts are those that it shows at once.
        let survey = Survey::read(&image);
        let mut parts = survey.parts(2).into_iter();
        assert!(parts.len() > 2);
        let shown = plan_of(|visitor| {
            parts
                .try_for_each(|part| survey.scan(part, visitor))
                .unwrap()
        });
        assert_eq!(shown.methods, plan.methods);
    }
}

/// What is woven of an image, and what is left for which reason.
fn outcomes(bytes: &[u8]) -> (Vec<String>, Vec<(String, Reason)>, Whole) {
    let image = Image::parse(bytes).unwrap();
    let plan = plan(&image);
    let source = Source::of(&image, None);
    let (woven, types) = weave(
        Assembly::of(&image, &source),
        plan.methods,
        None,
        usize::MAX,
    )
    .unwrap();
    let names = types
        .iter()
        .flat_map(|ty| ty.methods().map(|m| m.name.to_string()));
    let names = names.collect();
    let left = types.iter().flat_map(|ty| &ty.left);
    let left = left
        .filter(|l| l.reason != Reason::InStateMachine)
        .map(|l| (l.method.clone(), l.reason))
        .collect();
    let symbols = Arc::new(b"symbols".to_vec());
    let written = woven.write(symbols).unwrap();
    (names, left, whole(written).unwrap())
}

/// The offset in the file of the code of the `nth` method that is called so.
fn code_of(bytes: &[u8], name: &str, nth: usize) -> Range<usize> {
    let image = Image::parse(bytes).unwrap();
    let metadata = &image.metadata;
    let mut rows = metadata.tables.iter(table::METHOD_DEF).filter(|row| {
        let found = metadata.strings.text(row.get(column::method_def::NAME));
        found.unwrap() == name
    });
    let rva = rows.nth(nth).unwrap().get(column::method_def::RVA);
    let code = image.body(rva).unwrap().1.code;
    let start = code.as_ptr() as usize - bytes.as_ptr() as usize;
    start..start + code.len()
}

/// A body that cannot be read may name fields, which would get other numbers: machines get none.
#[test]
fn unreadable_bodies_leave_machines_alone() {
    let code = code_of(DEBUG, ".ctor", 0);
    // An opcode that does not exist, and a header that does not.
    for (at, byte) in [(code.start, 0x24), (code.start - 1, 0)] {
        let mut bytes = DEBUG.to_vec();
        bytes[at] = byte;
        let (woven, left, written) = outcomes(&bytes);
        assert_eq!(woven, ["Line"]);
        assert_eq!(left.len(), 6);
        assert!(
            left.iter()
                .all(|(_, reason)| *reason == Reason::StateMachine)
        );
        let fields = |bytes: &[u8]| {
            let image = Image::parse(bytes).unwrap();
            image.metadata.tables.rows(table::FIELD)
        };
        assert_eq!(fields(&written.image), fields(DEBUG));
    }
}

/// A machine whose `MoveNext` cannot be rewritten gets no field; others do.
#[test]
fn machines_that_are_left_get_no_field() {
    let mut bytes = DEBUG.to_vec();
    // `jmp` in the iterator of `Plain.One`, which has no end that can be told then.
    let start = code_of(DEBUG, "MoveNext", 5).start;
    bytes[start..start + 5].copy_from_slice(&[0x27, 1, 0, 0, 6]);
    let (woven, left, written) = outcomes(&bytes);
    assert_eq!((woven.len(), left.len()), (6, 1), "{left:?}");
    assert_eq!(left[0].1, Reason::JumpsAway);
    let fields = |bytes: &[u8]| {
        let image = Image::parse(bytes).unwrap();
        image.metadata.tables.rows(table::FIELD)
    };
    assert_eq!(fields(&written.image), fields(DEBUG) + 5);
}

proptest! {
    /// Whatever a PDB holds, the code is woven; a PDB that is written can be read.
    #[test]
    fn damaged_debugging_information_is_no_reason_to_fail(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in 0usize..200,
    ) {
        let mut pdb = DEBUG_PDB.to_vec();
        for (at, byte) in damage {
            let at = at.index(pdb.len());
            pdb[at] = byte;
        }
        pdb.truncate(pdb.len() - if cut < 100 { 0 } else { cut });
        let image = Image::parse(DEBUG).unwrap();
        let plan = plan(&image);
        let source = Source::of(&image, Some(&pdb));
        let (woven, _) = weave(Assembly::of(&image, &source), plan.methods, None, usize::MAX).unwrap();
        if let Ok(written) = woven.write(Arc::default()) {
            let written = whole(written).unwrap();
            let image = Image::parse(&written.image).unwrap();
            if let Some(pdb) = written.pdb {
                prop_assert!(Pdb::parse(&pdb).unwrap().is_of(&image));
            }
        }
    }
}
