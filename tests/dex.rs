//! Dex files through the library's face: woven whole, at the limits of the format, and hostile ones.
//!
//! `dex/everything.dex` is assembled from `dex/smali` (`smali assemble --api 29`); it has every section but those of
//! containers, every type of encoded value, and all kinds of debug info.

#[path = "support/dex_file.rs"]
mod dex_file;

use dex_file::DexFile;
use weave::internals::aspect::advice::{Advice, Reason};
use weave::internals::aspect::joinpoint::{Method, Type, Visitor};
use weave::internals::aspect::plan::{Plan, Planned};
use weave::internals::dex::{Dex, Scratch, Woven, one_by_one, scan, verify, weave};
use weave::internals::error::Result;

const EVERYTHING: &[u8] = include_bytes!("dex/everything.dex");

/// Plans all advice for every method with a body, and writes down what it is shown.
#[derive(Default)]
struct Everything {
    types: u32,
    planned: Vec<Planned>,
    seen: Vec<String>,
}

impl Visitor for Everything {
    fn enter_type(&mut self, ty: &Type<'_>) -> bool {
        let mut line = format!("{:?} {}", ty.access, ty.name);
        ty.details
            .supertypes(&mut |name| line += &format!(" < {name}"));
        ty.details
            .annotations(&mut |name| line += &format!(" @{name}"));
        self.seen.push(line);
        self.types += 1;
        true
    }
    fn method(&mut self, index: u32, method: &Method<'_>) {
        let mut line = format!(
            "  {index} {:?} {}{} {:?} {}{}",
            method.access,
            method.name,
            method.descriptor,
            method.kinds.0,
            method.size,
            if method.trivial { " trivial" } else { "" }
        );
        method
            .details
            .annotations(&mut |name| line += &format!(" @{name}"));
        method
            .details
            .parameters(&mut |name| line += &format!(" {name}"));
        method
            .details
            .returns(&mut |name| line += &format!(" -> {name}"));
        self.seen.push(line);
        if method.has_body {
            self.planned.push(Planned {
                ty: self.types - 1,
                index,
                id: 0x5eed_0000 + self.planned.len() as u32,
                advice: Advice::ALL,
                bound: None,
            });
        }
    }
}

fn scanned(dex: &Dex<'_>) -> Result<Everything> {
    let mut seen = Everything::default();
    scan(dex, &mut seen)?;
    Ok(seen)
}

/// Scans and weaves all methods.
fn woven(dex: &Dex<'_>) -> Result<Woven> {
    weave(
        dex,
        &Plan::new(scanned(dex)?.planned),
        &mut Scratch::default(),
        &one_by_one,
    )
}

fn outcome(bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    Ok(woven(&Dex::parse(bytes)?)?.bytes)
}

fn left(woven: &Woven) -> Vec<(String, Reason)> {
    let all = woven.types.iter().flat_map(|ty| &ty.left);
    all.map(|l| (l.method.clone(), l.reason)).collect()
}

#[test]
fn types_and_methods_are_shown_as_rules_see_them() {
    let seen = scanned(&Dex::parse(EVERYTHING).unwrap()).unwrap().seen;
    insta::assert_snapshot!(seen.join("\n"), @"
    Public fix/Everything < java/lang/Object < java/lang/Runnable < java/util/concurrent/Callable @fix/Marker
      0 Package <clinit>()V 4 2 trivial -> void
      1 Public <init>(J)V 2 12 long -> void
      2 Public bootstrap(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/invoke/MethodType;Ljava/lang/invoke/MethodType;I)Ljava/lang/invoke/CallSite; 1 4 trivial java/lang/invoke/MethodHandles$Lookup java/lang/String java/lang/invoke/MethodType java/lang/invoke/MethodType int -> java/lang/invoke/CallSite
      3 Public poly(Ljava/lang/invoke/MethodHandle;I)V 1 10 java/lang/invoke/MethodHandle int -> void
      4 Public run(I)I 1 56 @fix/Marker int -> int
      5 Public call()Ljava/lang/Object; 1 18 -> java/lang/Object
      6 Public nothing()V 1 0 -> void
      7 Public run()V 1 16 -> void
    Public fix/Marker < java/lang/Object < java/lang/annotation/Annotation
      0 Public value()I 1 0 -> int
    ");
}

#[test]
fn every_method_is_woven_once() {
    let dex = Dex::parse(EVERYTHING).unwrap();
    let first = woven(&dex).unwrap();
    assert_eq!(left(&first), []);
    let methods: Vec<_> = first
        .types
        .iter()
        .flat_map(|ty| {
            ty.methods().map(|m| {
                let (file, name) = (ty.file(), ty.name());
                format!(
                    "{:#x} {file} {name} {}{} :{}",
                    m.id, m.name, m.descriptor, m.line
                )
            })
        })
        .collect();
    insta::assert_snapshot!(methods.join("\n"), @"
    0x5eed0000 Everything.java fix/Everything <clinit>()V :0
    0x5eed0001 Everything.java fix/Everything <init>(J)V :10
    0x5eed0002 Everything.java fix/Everything bootstrap(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/invoke/MethodType;Ljava/lang/invoke/MethodType;I)Ljava/lang/invoke/CallSite; :0
    0x5eed0003 Everything.java fix/Everything poly(Ljava/lang/invoke/MethodHandle;I)V :0
    0x5eed0004 Everything.java fix/Everything run(I)I :20
    0x5eed0005 Everything.java fix/Everything call()Ljava/lang/Object; :0
    0x5eed0006 Everything.java fix/Everything run()V :0
    ");
    let new = first.bytes.unwrap();
    assert_eq!(
        outcome(EVERYTHING).unwrap().as_ref(),
        Some(&new),
        "the same bytes each time"
    );

    let again = Dex::parse(&new).unwrap();
    let names = |dex: &Dex<'_>| -> Vec<String> {
        let seen = scanned(dex).unwrap().seen;
        let name = |line: &String| line.trim().split(' ').nth(2).map(str::to_owned);
        seen.iter().filter_map(name).collect()
    };
    assert_eq!(names(&dex), names(&again));
    let second = woven(&again).unwrap();
    assert!(second.bytes.is_none());
    assert_eq!(left(&second).len(), methods.len());
    assert!(
        left(&second)
            .iter()
            .all(|(_, reason)| *reason == Reason::AlreadyWoven)
    );
}

/// Weaves all methods with this advice.
fn woven_with(bytes: &[u8], advice: Advice) -> Woven {
    let dex = Dex::parse(bytes).unwrap();
    let mut planned = scanned(&dex).unwrap().planned;
    planned.iter_mut().for_each(|p| p.advice = advice);
    weave(
        &dex,
        &Plan::new(planned),
        &mut Scratch::default(),
        &one_by_one,
    )
    .unwrap()
}

#[test]
fn sections_are_put_in_once() {
    for advice in [Advice::SECTION, Advice::SECTION.with(Advice::ALL)] {
        let first = woven_with(EVERYTHING, advice);
        assert_eq!(left(&first), []);
        let new = first.bytes.unwrap();
        let verdict = verify(&new);
        assert!(verdict.failures.is_empty(), "{:?}", verdict.failures);
        let second = woven_with(&new, Advice::SECTION);
        assert!(second.bytes.is_none());
        let again = left(&second);
        assert_eq!(again.len(), 7);
        assert!(again.iter().all(|(_, why)| *why == Reason::AlreadyWoven));
    }
    // Hooks come around sections that are there.
    let sections = woven_with(EVERYTHING, Advice::SECTION).bytes.unwrap();
    let both = woven_with(&sections, Advice::ALL);
    assert_eq!(left(&both), []);
    assert!(verify(&both.bytes.unwrap()).failures.is_empty());
}

#[test]
fn without_a_plan_nothing_is_written() {
    let dex = Dex::parse(EVERYTHING).unwrap();
    let woven = weave(&dex, &Plan::default(), &mut Scratch::default(), &one_by_one).unwrap();
    assert!(woven.bytes.is_none() && woven.types.is_empty());
}

#[test]
fn a_plan_of_another_file_is_refused() {
    let dex = Dex::parse(EVERYTHING).unwrap();
    for (ty, index) in [(0, 1000), (1000, 0)] {
        let plan = Plan::new(vec![Planned {
            ty,
            index,
            id: 1,
            advice: Advice::ALL,
            bound: None,
        }]);
        let e = weave(&dex, &plan, &mut Scratch::default(), &one_by_one)
            .err()
            .unwrap();
        assert_eq!(e.to_string(), "the plan is of another dex file");
    }
}

/// `const-string v0, <string>; return-void`.
fn loads(string: u32) -> Vec<u16> {
    vec![0x001a, u16::try_from(string).unwrap(), 0x000e]
}

#[test]
fn a_string_that_is_moved_beyond_16_bits_becomes_jumbo() {
    let mut file = DexFile {
        strings: 0x1_0000 - 4,
        methods: 0,
        code: vec![],
    };
    file.code = loads(file.last_string());
    let bytes = file.bytes();
    let new = outcome(&bytes).unwrap().unwrap();
    // Enter, exit, error, leave and leaf, their class, I, VI, VLI, Throwable: all sort in front of it but none behind.
    let moved = 0x1_0000u32 - 1 + 10;
    let mut jumbo = vec![0x1b, 0x00];
    jumbo.extend_from_slice(&moved.to_le_bytes());
    assert!(new.windows(6).any(|w| w == jumbo));
    assert_eq!(scanned(&Dex::parse(&new).unwrap()).unwrap().types, 1);
}

#[test]
fn what_does_not_fit_the_tables_is_left_with_a_word() {
    let with = |methods| {
        DexFile {
            strings: 0x1_0000,
            methods,
            code: vec![0x000e],
        }
        .bytes()
    };
    // The file's own hooks are left out first.
    for (methods, own) in [(0x1_0000 - 11, true), (0x1_0000 - 10, false)] {
        let bytes = with(methods);
        let dex = Dex::parse(&bytes).unwrap();
        let plan = Plan::new(scanned(&dex).unwrap().planned);
        let new = weave(
            &dex,
            &plan,
            &mut Scratch::default().near_from(1),
            &one_by_one,
        )
        .unwrap();
        let new = new.bytes.unwrap();
        let classes = scanned(&Dex::parse(&new).unwrap()).unwrap().types;
        assert_eq!(classes, 1 + u32::from(own));
        assert!(new.windows(7).any(|w| w == b"\x05leave\0"));
    }
    // Then the hooks that stand for two others.
    for (room, shorter) in [(6, [true, true]), (5, [true, false]), (4, [false, false])] {
        let bytes = with(0x1_0000 - room);
        let new = woven(&Dex::parse(&bytes).unwrap()).unwrap().bytes.unwrap();
        let names = |name: &[u8]| new.windows(name.len()).any(|w| w == name);
        assert_eq!([names(b"\x05leave\0"), names(b"\x04leaf\0")], shorter);
    }
    let bytes = with(0x1_0000 - 3);
    let full = woven(&Dex::parse(&bytes).unwrap()).unwrap();
    assert!(full.bytes.is_none());
    assert_eq!(left(&full), [("m()V".to_owned(), Reason::PoolFull)]);
}

/// Names that are asked for as often as there are classes and methods: what a fuzzer found to take minutes.
#[test]
fn lists_that_all_classes_share_are_told_so_often_and_no_more() {
    let mut bytes = DexFile {
        strings: 0,
        methods: 0,
        code: vec![0x000e],
    }
    .bytes();
    let put = |bytes: &mut Vec<u8>, at: usize, value: usize| {
        bytes[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes());
    };
    // 3,000 times the class, with 3,000 times `Object` among its interfaces.
    let count = 3_000;
    let row_at = u32::from_le_bytes(bytes[0x64..0x68].try_into().unwrap()) as usize;
    let list_at = bytes.len().next_multiple_of(4);
    bytes.resize(list_at + 4, 0);
    put(&mut bytes, list_at, count);
    (0..count).for_each(|_| bytes.extend_from_slice(&[1, 0]));
    put(&mut bytes, row_at + 12, list_at);
    let row = bytes[row_at..row_at + 32].to_vec();
    let table_at = bytes.len();
    (0..count).for_each(|_| bytes.extend_from_slice(&row));
    put(&mut bytes, 0x60, count);
    put(&mut bytes, 0x64, table_at);
    let len = bytes.len();
    put(&mut bytes, 0x20, len);
    insta::assert_snapshot!(scanned(&Dex::parse(&bytes).unwrap()).err().unwrap(), @"annotations, interfaces or parameters are shared out of proportion (at byte 0x178)");
}

#[test]
fn what_is_cut_off_is_an_error() {
    for len in 0..EVERYTHING.len() {
        let e = outcome(&EVERYTHING[..len]).unwrap_err();
        assert_eq!(e.exit_status(), 3, "{e}");
    }
}

#[test]
fn no_changed_byte_makes_it_panic_or_grow() {
    let mut bytes = EVERYTHING.to_vec();
    for at in 8..bytes.len() {
        let old = bytes[at];
        for new in [0, 0xff, old.wrapping_add(1)] {
            bytes[at] = new;
            if let Ok(Some(out)) = outcome(&bytes) {
                assert!(out.len() < 3 * EVERYTHING.len());
                Dex::parse(&out).expect("what was written reads again");
            }
        }
        bytes[at] = old;
    }
}

/// The message for a file in which some bytes are others.
fn message(changes: &[(usize, &[u8])]) -> String {
    let mut bytes = EVERYTHING.to_vec();
    for &(at, new) in changes {
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    outcome(&bytes)
        .err()
        .map_or("no error".to_owned(), |e| e.to_string())
}

#[test]
fn what_lies_is_told_with_its_place() {
    insta::assert_snapshot!(message(&[(0, b"dey")]), @"not a dex file: the magic is wrong (at byte 0x0)");
    insta::assert_snapshot!(message(&[(4, b"036")]), @"dex version 036 is not among 035 and 037 to 041");
    insta::assert_snapshot!(message(&[(0x20, &[0, 0x10])]), @"the header says 4096 bytes, 2624 are there (at byte 0x20)");
    insta::assert_snapshot!(message(&[(0x24, &[0x78])]), @"a header of 120 bytes, 112 wanted (at byte 0x24)");
    insta::assert_snapshot!(message(&[(0x28, &[0x12, 0x34, 0x56, 0x78])]), @"the dex file is not little-endian");
    insta::assert_snapshot!(message(&[(0x2c, &[1])]), @"the dex file is statically linked");
    insta::assert_snapshot!(message(&[(0x38, &[0xff, 0xff, 0xff])]), @"16777215 string_ids exceed the file (at byte 0x70)");
    insta::assert_snapshot!(message(&[(0x40, &[0xff])]), @"type 21 does not come after the one in front of it (at byte 0x1d0)");
    insta::assert_snapshot!(message(&[(0x40, &[0, 0, 1])]), @"65536 type_ids exceed the file (at byte 0x17c)");
    // The first string's data, a class's type, and its class data.
    insta::assert_snapshot!(message(&[(0x70, &[0xff, 0xff])]), @"1 bytes wanted, 0 left (at byte 0xffff)");
    insta::assert_snapshot!(message(&[(744, &[0xff])]), @"type index 255 of a table of 21 (at byte 0x0)");
    insta::assert_snapshot!(message(&[(744 + 24, &[0xff, 0xff])]), @"1 bytes wanted, 0 left (at byte 0xffff)");
}
