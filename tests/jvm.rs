//! Class files that no compiler writes, but that are legal: woven, verified and run by HotSpot.
//!
//! Each class has `static int run(int)`. It is run unwoven and woven for the arguments 0 to 3; the
//! results must be the same, and every enter must have its exit or error.

#[path = "support/class_file.rs"]
mod class_file;
#[path = "../src/aspect/everything.rs"]
mod everything;
#[path = "support/jdk.rs"]
mod jdk;
#[path = "support/own_hooks.rs"]
mod own_hooks;
#[path = "support/tree.rs"]
mod tree;

use jdk::jdk;

use class_file::{ClassFile, Code};
use everything::everything;
use own_hooks::{Style, everything as everything_of, same};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use weave::internals::aspect::advice::{Advice, Reason};
use weave::internals::aspect::bind::call::{Bound, Call, Dest, Hook, Keep, Operand, Role, Source};
use weave::internals::aspect::bind::reach::{LibraryType, Reach};
use weave::internals::aspect::bind::ty::{Prim, Signature, Ty};
use weave::internals::aspect::{advice, joinpoint, plan};
use weave::internals::jvm::{
    Class, NEWEST_MAJOR, Scratch, adapter, library_type, scan, serial, weave,
};

/// The woven class, and the methods left with their reasons.
fn woven(bytes: &[u8]) -> (Option<Vec<u8>>, Vec<(String, Reason)>) {
    woven_with(bytes, Advice::ALL, None, Path::new(""))
}

/// Runs all classes of a folder; returns standard output and the calls that hooks counted.
fn run(classes: &Path) -> (String, BTreeMap<String, u32>) {
    let out = jdk("java")
        .args(["-Xverify:all", "-cp"])
        .arg(harness())
        .arg("Run")
        .arg(classes)
        .output()
        .expect("a JDK is installed");
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{err}");
    assert!(err.ends_with("verdict: \n"), "{err}");
    let calls = err
        .lines()
        .filter_map(|l| l.split_once(": ")?.1.strip_suffix(" calls").map(|n| (l, n)))
        .map(|(l, n)| (l.split(':').next().unwrap().to_owned(), n.parse().unwrap()))
        .collect();
    (String::from_utf8(out.stdout).unwrap(), calls)
}

/// The folder of the harness, compiled once.
fn harness() -> &'static Path {
    static HARNESS: OnceLock<PathBuf> = OnceLock::new();
    HARNESS.get_or_init(|| {
        let folder = std::env::var_os("CARGO_TARGET_TMPDIR");
        let folder = folder.map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from);
        let out = folder.join("jvm-harness");
        let sources = tree::root().join("tests/jvm");
        let status = jdk("javac")
            .arg("-d")
            .arg(&out)
            .args([
                sources.join("Run.java"),
                sources.join("acme/All.java"),
                sources.join("weave/runtime/Guard.java"),
                sources.join("weave/runtime/Hooks.java"),
            ])
            .status()
            .expect("a JDK is installed");
        assert!(status.success());
        out
    })
}

/// Weaves all classes, runs both sides, compares; returns the calls of each class.
fn judge(classes: &[(&str, Vec<u8>)]) -> BTreeMap<String, u32> {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old"), dir.path().join("new"));
    for folder in [&old, &new] {
        std::fs::create_dir(folder).unwrap();
    }
    for (name, bytes) in classes {
        std::fs::write(old.join(format!("{name}.class")), bytes).unwrap();
        let (woven, left) = woven(bytes);
        assert_eq!(left, [], "{name}");
        std::fs::write(new.join(format!("{name}.class")), woven.unwrap()).unwrap();
    }
    let (expected, _) = run(&old);
    let (actual, calls) = run(&new);
    assert_eq!(actual, expected);
    assert!(
        !expected.contains("Error"),
        "the inputs themselves must verify: {expected}"
    );
    for (i, style) in STYLES.into_iter().enumerate() {
        let is_paired = i % 2 == 0;
        let pair = if is_paired {
            Advice::ALL
        } else {
            Advice::default()
        };
        let bind: Bind<'_> = &|s| everything_of(s, style);
        for (name, bytes) in classes {
            let (bytes, left) = woven_with(bytes, pair.with(Advice::OWN), Some(bind), &new);
            assert_eq!(left, [], "{name}");
            std::fs::write(new.join(format!("{name}.class")), bytes.unwrap()).unwrap();
        }
        let (actual, own) = run(&new);
        assert_eq!(actual, expected, "{style:?}");
        assert!(own.values().all(|&n| (n > 0) == is_paired), "{own:?}");
    }
    calls
}

/// Hooks that are called themselves, and by adapters; that keep everything, and nothing.
const STYLES: [Style; 4] = {
    [
        Style {
            guarded: None,
            keeps: true,
        },
        Style {
            guarded: None,
            keeps: false,
        },
        Style {
            guarded: Some(false),
            keeps: true,
        },
        Style {
            guarded: Some(true),
            keeps: true,
        },
    ]
};

/// Makes own hooks of a method's signature.
type Bind<'b> = &'b dyn Fn(&Signature) -> Bound;

/// The class woven with advice and own hooks, whose adapters go into a folder; and the methods left with their reasons.
fn woven_with(
    bytes: &[u8],
    advice: Advice,
    bind: Option<Bind<'_>>,
    adapters: &Path,
) -> (Option<Vec<u8>>, Vec<(String, Reason)>) {
    let class = Class::parse(bytes).unwrap();
    let id = |_, index, _: &joinpoint::Method<'_>| Some(0x5eed_0000 + index);
    let mut plan = everything(advice, id, |visitor| scan(&class, visitor).unwrap());
    if let Some(bind) = bind {
        own_hooks::bind(
            &mut plan,
            |visitor| scan(&class, visitor).unwrap(),
            |_, signature| bind(signature),
        );
        for call in plan.bound.iter().flat_map(|bound| own_hooks::calls(bound)) {
            if let Some(made) = &call.adapter {
                let path = adapters.join(format!("{}.class", made.class));
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, adapter(&call.hook, made)).unwrap();
            }
        }
    }
    let woven = weave(&class, &plan, &mut Scratch::default()).unwrap();
    let left = woven.ty.left.into_iter().map(|l| (l.method, l.reason));
    (woven.bytes, left.collect())
}

const OLD: u16 = 49;
const FRAMES: u16 = 51;

/// `run` with this code; arguments as for [`Code::new`].
fn with_run(
    name: &str,
    version: u16,
    max_stack: u16,
    max_locals: u16,
    insns: Vec<u8>,
) -> ClassFile {
    let mut c = ClassFile::new(name, "java/lang/Object", version);
    c.method(9, "run", "(I)I", Code::new(max_stack, max_locals, insns));
    c
}

/// `iload_0; ireturn`, and a constructor that `run` calls with its argument.
fn with_constructor(
    name: &str,
    superclass: &str,
    version: u16,
    code: impl FnOnce(&mut ClassFile) -> Code,
) -> ClassFile {
    let mut c = ClassFile::new(name, superclass, version);
    let code = code(&mut c);
    c.method(1, "<init>", "(I)V", code);
    let (class, init) = (c.class(name), c.method_ref(name, "<init>", "(I)V"));
    let (ch, cl, ih, il) = (class.0, class.1, init.0, init.1);
    // new C; dup; iload_0; invokespecial <init>; pop; iload_0; ireturn
    let insns = vec![187, ch, cl, 89, 26, 183, ih, il, 87, 26, 172];
    c.method(9, "run", "(I)I", Code::new(3, 1, insns));
    c
}

#[test]
fn a_branch_to_the_first_instruction_does_not_enter_again() {
    // iinc 0 -1; iload_0; ifgt 0; iload_0; ireturn
    let insns = vec![132, 0, 0xff, 26, 157, 0xff, 0xfc, 26, 172];
    let old = with_run("OldLoop", OLD, 1, 1, insns.clone());
    let mut new = ClassFile::new("NewLoop", "java/lang/Object", FRAMES);
    let mut code = Code::new(1, 1, insns);
    code.stack_map = Some(vec![0, 1, 0]); // same_frame at 0
    new.method(9, "run", "(I)I", code);
    let calls = judge(&[("OldLoop", old.finish()), ("NewLoop", new.finish())]);
    assert_eq!(
        calls,
        BTreeMap::from([("NewLoop".into(), 4), ("OldLoop".into(), 4)])
    );
}

#[test]
fn constructors_are_entered_behind_the_right_call() {
    // aload_0; astore_2; aload_2; invokespecial Object.<init>; return
    let copied = with_constructor("Copied", "java/lang/Object", OLD, |c| {
        let (h, l) = c.method_ref("java/lang/Object", "<init>", "()V");
        Code::new(1, 3, vec![42, 77, 44, 183, h, l, 177])
    });
    // super(new Exception()): two calls of one <init>'s owner
    let nested = with_constructor("Nested", "java/lang/Exception", OLD, |c| {
        let (ch, cl) = c.class("java/lang/Exception");
        let (h, l) = c.method_ref("java/lang/Exception", "<init>", "()V");
        let (sh, sl) = c.method_ref("java/lang/Exception", "<init>", "(Ljava/lang/Throwable;)V");
        Code::new(3, 2, vec![42, 187, ch, cl, 89, 183, h, l, 183, sh, sl, 177])
    });
    // if (arg == 0) super() else super(), then the same end
    // 0: iload_1; 1: ifeq 11; 4: aload_0; 5: invokespecial; 8: goto 15; 11: aload_0; 12: invokespecial; 15: return
    let two_sites = |c: &mut ClassFile| {
        let (h, l) = c.method_ref("java/lang/Object", "<init>", "()V");
        Code::new(
            1,
            2,
            vec![27, 153, 0, 10, 42, 183, h, l, 167, 0, 7, 42, 183, h, l, 177],
        )
    };
    let old = with_constructor("OldSites", "java/lang/Object", OLD, two_sites);
    let new = with_constructor("NewSites", "java/lang/Object", FRAMES, |c| {
        let mut code = two_sites(c);
        let (h, l) = c.class("NewSites");
        // full frame at 11: [uninitializedThis, int] []; full frame at 15: [NewSites, int] []
        code.stack_map = Some(vec![
            0, 2, 255, 0, 11, 0, 2, 6, 1, 0, 0, 255, 0, 3, 0, 2, 7, h, l, 1, 0, 0,
        ]);
        code
    });
    // super(); a loop whose head is the instruction behind it
    // 0: aload_0; 1: invokespecial; 4: iinc 1 -1; 7: iload_1; 8: ifgt 4; 11: return
    let looped = with_constructor("Looped", "java/lang/Object", OLD, |c| {
        let (h, l) = c.method_ref("java/lang/Object", "<init>", "()V");
        Code::new(
            1,
            2,
            vec![42, 183, h, l, 132, 1, 0xff, 27, 157, 0xff, 0xfc, 177],
        )
    });
    let calls = judge(&[
        ("Copied", copied.finish()),
        ("Nested", nested.finish()),
        ("OldSites", old.finish()),
        ("NewSites", new.finish()),
        ("Looped", looped.finish()),
    ]);
    // run and the constructor, four times
    assert!(
        calls.len() == 5 && calls.values().all(|&n| n == 8),
        "{calls:?}"
    );
}

#[test]
fn a_constructor_that_only_throws_is_left() {
    let mut c = ClassFile::new("Thrower", "java/lang/Object", OLD);
    c.method(1, "<init>", "()V", Code::new(1, 1, vec![1, 191]));
    let (bytes, left) = woven(&c.finish());
    assert!(bytes.is_none());
    assert_eq!(left, [("<init>()V".to_owned(), Reason::NoSuperCall)]);
}

#[test]
fn old_and_rare_instructions_survive() {
    // 0: jsr 5; 3: iload_0; 4: ireturn; 5: astore_1; 6: iinc 0 1; 9: ret 1
    let jsr = with_run(
        "Jsr",
        48,
        1,
        2,
        vec![168, 0, 5, 26, 172, 76, 132, 0, 1, 169, 1],
    );
    // two words of junk under the returned value
    let junk = with_run("Junk", OLD, 3, 1, vec![4, 5, 26, 172]);
    // iload_0; wide istore 300; wide iinc 300 1000; wide iload 300; ireturn
    let wide = with_run(
        "Wide",
        OLD,
        1,
        301,
        vec![
            26, 196, 54, 1, 44, 196, 132, 1, 44, 3, 0xe8, 196, 21, 1, 44, 172,
        ],
    );
    // 0: iload_0; 1: tableswitch 0..1 -> 24, 26, default 28; 24: iconst_4; ireturn; ...
    let mut table = vec![26, 170, 0, 0];
    for word in [27i32, 0, 1, 23, 25] {
        table.extend_from_slice(&word.to_be_bytes());
    }
    table.extend_from_slice(&[7, 172, 6, 172, 5, 172]);
    let table = with_run("Table", OLD, 1, 1, table);
    // 0: nop; 1: iload_0; 2: lookupswitch 1 -> 28, 3 -> 30, default 32 (one byte of padding)
    let mut lookup = vec![0, 26, 171, 0];
    for word in [30i32, 2, 1, 26, 3, 28] {
        lookup.extend_from_slice(&word.to_be_bytes());
    }
    lookup.extend_from_slice(&[7, 172, 6, 172, 5, 172]);
    let lookup = with_run("Lookup", OLD, 1, 1, lookup);
    judge(&[
        ("Jsr", jsr.finish()),
        ("Junk", junk.finish()),
        ("Wide", wide.finish()),
        ("Table", table.finish()),
        ("Lookup", lookup.finish()),
    ]);
}

#[test]
fn handlers_at_odd_places_keep_their_meaning() {
    // A try that begins at pc 0; its handler is a lone areturn.
    // get: 0: new Exception; 3: dup; 4: invokespecial; 7: athrow; 8: areturn   [0,8) -> 8 any
    let mut c = ClassFile::new("Caught", "java/lang/Object", OLD);
    let (ch, cl) = c.class("java/lang/Exception");
    let (h, l) = c.method_ref("java/lang/Exception", "<init>", "()V");
    let mut code = Code::new(2, 0, vec![187, ch, cl, 89, 183, h, l, 191, 176]);
    code.exceptions = vec![(0, 8, 8, 0)];
    c.method(9, "get", "()Ljava/lang/Throwable;", code);
    let (gh, gl) = c.method_ref("Caught", "get", "()Ljava/lang/Throwable;");
    // invokestatic get; pop; iload_0; ireturn
    c.method(
        9,
        "run",
        "(I)I",
        Code::new(1, 1, vec![184, gh, gl, 87, 26, 172]),
    );

    // A handler that the method's first instructions fall into: a division by zero lands there and is
    // tried again with another divisor.
    // 0: aconst_null; 1: pop; 2: iinc 0 1; 5: bipush 12; 7: iload_0; 8: iconst_2; 9: isub; 10: idiv; 11: ireturn
    let mut d = ClassFile::new("Again", "java/lang/Object", OLD);
    let mut code = Code::new(3, 1, vec![1, 87, 132, 0, 1, 16, 12, 26, 5, 100, 108, 172]);
    code.exceptions = vec![(5, 11, 1, 0)];
    d.method(9, "run", "(I)I", code);

    // An exception that leaves run from a callee.
    let mut e = ClassFile::new("Leaves", "java/lang/Object", OLD);
    // div: iconst_1; iload_0; idiv; ireturn
    e.method(9, "div", "(I)I", Code::new(2, 1, vec![4, 26, 108, 172]));
    let (dh, dl) = e.method_ref("Leaves", "div", "(I)I");
    e.method(
        9,
        "run",
        "(I)I",
        Code::new(1, 1, vec![26, 184, dh, dl, 172]),
    );
    let calls = judge(&[
        ("Caught", c.finish()),
        ("Again", d.finish()),
        ("Leaves", e.finish()),
    ]);
    assert_eq!(calls["Caught"], 8);
    assert_eq!(calls["Again"], 4);
    assert_eq!(calls["Leaves"], 8);
}

/// `run` whose first branch reaches just as far as 16 bits allow, over returns whose hooks push it
/// out of reach; and a `goto` back over all of it.
fn far(name: &str, version: u16) -> ClassFile {
    let mut insns = vec![26, 153, 0x7f, 0xff]; // iload_0; ifeq 1 + 32767
    let target = 1 + 32_767usize;
    let mut frames: Vec<usize> = vec![];
    // iload_0; iconst_1; if_icmpne over; iload_0; ireturn; over: a frame, and a return to push
    insns.extend_from_slice(&[26, 4, 160, 0, 5, 26, 172]);
    frames.push(insns.len());
    insns.resize(16_000, 0);
    // The same in the middle: an island's place.
    insns.extend_from_slice(&[26, 5, 160, 0, 5, 26, 172]);
    frames.push(insns.len());
    insns.resize(target - 2, 0);
    insns.extend_from_slice(&[26, 172]); // iload_0; ireturn
    frames.push(target);
    assert_eq!(insns.len(), target);
    // the target: iinc 0 7; goto 4, far back
    insns.extend_from_slice(&[132, 0, 7]);
    let back = 4i32 - insns.len() as i32;
    frames.insert(0, 4);
    insns.push(167);
    insns.extend_from_slice(&(back as i16).to_be_bytes());
    let mut c = ClassFile::new(name, "java/lang/Object", version);
    let mut code = Code::new(2, 1, insns);
    if version >= FRAMES {
        let mut map = (frames.len() as u16).to_be_bytes().to_vec();
        let mut next = 0;
        for pc in frames {
            map.push(251);
            map.extend_from_slice(&((pc - next) as u16).to_be_bytes());
            next = pc + 1;
        }
        code.stack_map = Some(map);
    }
    c.method(9, "run", "(I)I", code);
    c
}

#[test]
fn branches_out_of_reach_are_widened() {
    judge(&[
        ("FarOld", far("FarOld", OLD).finish()),
        ("FarNew", far("FarNew", FRAMES).finish()),
    ]);
}

#[test]
fn what_exceeds_a_limit_is_left_with_its_reason() {
    // 65,533 nops and a return fit; hooks do not.
    let mut insns = vec![0; 65_533];
    insns.extend_from_slice(&[3, 172]);
    let mut c = with_run("Large", OLD, 1, 1, insns);
    c.method(9, "small", "()V", Code::new(0, 0, vec![177]));
    let (bytes, left) = woven(&c.finish());
    assert!(bytes.is_some(), "the other method is woven");
    assert_eq!(left, [("run(I)I".to_owned(), Reason::CodeTooLarge)]);

    let mut c = with_run("Full", OLD, 1, 1, vec![26, 172]);
    c.fill_pool(65_530);
    let (bytes, left) = woven(&c.finish());
    assert!(bytes.is_none());
    assert_eq!(left, [("run(I)I".to_owned(), Reason::PoolFull)]);
}

#[test]
fn a_class_is_woven_once_and_only_if_its_version_is_known() {
    let once = woven(&with_run("Once", OLD, 1, 1, vec![26, 172]).finish())
        .0
        .unwrap();
    let (again, left) = woven(&once);
    assert!(again.is_none());
    assert_eq!(left, [("run(I)I".to_owned(), Reason::AlreadyWoven)]);
    // Own hooks that are called by adapters show, too.
    let dir = tempfile::tempdir().unwrap();
    let bind: Bind<'_> = &|s| everything_of(s, STYLES[2]);
    let own = |bytes: &[u8]| woven_with(bytes, Advice::OWN, Some(bind), dir.path());
    let once = own(&with_run("Own", OLD, 1, 1, vec![26, 172]).finish()).0;
    let (again, left) = own(&once.unwrap());
    assert!(again.is_none());
    assert_eq!(left, [("run(I)I".to_owned(), Reason::AlreadyWoven)]);
    let newest = with_run("Newest", NEWEST_MAJOR, 1, 1, vec![26, 172]);
    assert!(woven(&newest.finish()).0.is_some());
    let (bytes, left) = woven(&with_run("Next", NEWEST_MAJOR + 1, 1, 1, vec![26, 172]).finish());
    assert!(bytes.is_none());
    assert_eq!(left, [("run(I)I".to_owned(), Reason::NewerVersion)]);
}

#[test]
fn classes_that_the_hooks_run_on_are_left() {
    let class = |name| with_run(name, 61, 1, 1, vec![26, 172]).finish();
    let (bytes, left) = woven(&class("java/lang/ThreadLocal$ThreadLocalMap"));
    assert!(bytes.is_none());
    assert_eq!(left, [("run(I)I".to_owned(), Reason::Foundation)]);
    assert!(woven(&class("java/util/ArrayList")).0.is_some());
}

/// The locals of each full frame of a class, by method, as a debugger would print them.
fn full_frames(bytes: &[u8]) -> Vec<(String, Vec<String>)> {
    use cafebabe::attributes::{AttributeData, StackMapEntry, VerificationType};
    let class = cafebabe::parse_class(bytes).unwrap();
    let mut found = vec![];
    for method in &class.methods {
        let codes = method.attributes.iter().filter_map(|a| match &a.data {
            AttributeData::Code(code) => Some(code),
            _ => None,
        });
        for map in codes.flat_map(|c| &c.attributes) {
            let AttributeData::StackMapTable(entries) = &map.data else {
                continue;
            };
            for entry in entries {
                if let StackMapEntry::FullFrame { locals, .. } = entry {
                    let told = |local: &VerificationType<'_>| match local {
                        VerificationType::Object { class_name } => class_name.to_string(),
                        other => format!("{other:?}"),
                    };
                    let told = locals.iter().map(told).collect();
                    found.push((method.name.to_string(), told));
                }
            }
        }
    }
    found
}

#[test]
fn full_frames_list_the_parameters() {
    // What Byte Buddy, for one, demands of a class that it instruments.
    let fields = with_constructor("Fields", "java/lang/Object", FRAMES, |c| {
        let (h, l) = c.method_ref("java/lang/Object", "<init>", "()V");
        Code::new(1, 2, vec![42, 183, h, l, 177])
    });
    // Locals behind the parameter when the method ends: 1 to 9.
    // For each three: iload_0; istore ...; iload_0; ifeq over; nop; over: a frame that appends them. iload_0; ireturn
    let grown = |n: u8| {
        let mut insns = vec![];
        let mut map = vec![];
        let (mut count, mut next) = (0u16, 0);
        for first in (1..=n).step_by(3) {
            let slots = first..=n.min(first + 2);
            map.push(251 + slots.len() as u8);
            for slot in slots.clone() {
                insns.extend_from_slice(&[26, 54, slot]);
            }
            insns.extend_from_slice(&[26, 153, 0, 4, 0]);
            map.extend_from_slice(&(insns.len() as u16 - next).to_be_bytes());
            map.extend(slots.map(|_| 1));
            next = insns.len() as u16 + 1;
            count += 1;
        }
        insns.extend_from_slice(&[26, 172]);
        let mut code = Code::new(1, 1 + u16::from(n), insns);
        code.stack_map = Some([&count.to_be_bytes()[..], &map].concat());
        let name = format!("Grown{n}");
        let mut c = ClassFile::new(&name, "java/lang/Object", FRAMES);
        c.method(9, "run", "(I)I", code);
        (name, c.finish())
    };
    // take(CharSequence s): s = "text"; s.length() -- the verifier must know anyway that a String is one.
    // take(Exception e): e = new Error(), never used as an Exception: legal, and no frame may say otherwise.
    let store = |name: &str, used: bool| {
        let mut c = ClassFile::new(name, "java/lang/Object", FRAMES);
        let (sh, sl) = c.string("text");
        let ty = match used {
            true => "Ljava/lang/CharSequence;",
            false => "Ljava/lang/Exception;",
        };
        let mut insns = vec![19, sh, sl, 75]; // ldc_w; astore_0
        if used {
            let (h, l) = c.interface_method_ref("java/lang/CharSequence", "length", "()I");
            insns.extend_from_slice(&[42, 185, h, l, 1, 0, 172]);
        } else {
            insns.extend_from_slice(&[7, 172]);
        }
        c.method(9, "take", &format!("({ty})I"), Code::new(1, 1, insns));
        let (h, l) = c.method_ref(name, "take", &format!("({ty})I"));
        c.method(9, "run", "(I)I", Code::new(1, 1, vec![1, 184, h, l, 172]));
        c.finish()
    };
    let sizes: Vec<_> = (1..=10).map(grown).collect();
    let mut classes = vec![
        ("Fields", fields.finish()),
        ("Used", store("Used", true)),
        ("Unused", store("Unused", false)),
    ];
    classes.extend(sizes.iter().map(|(n, b)| (n.as_str(), b.clone())));
    judge(&classes);
    let of = |name: &str| {
        let (_, bytes) = classes.iter().find(|(n, _)| *n == name).unwrap();
        full_frames(&woven(bytes).0.unwrap())
    };
    let init = (
        "<init>".to_owned(),
        vec!["Fields".to_owned(), "Integer".to_owned()],
    );
    assert_eq!(of("Fields"), [init]);
    assert_eq!(of("Used"), []);
    assert_eq!(of("Unused"), [("take".to_owned(), vec![])]);
    for n in 1..=9 {
        assert_eq!(of(&format!("Grown{n}")), []);
    }
    assert_eq!(
        of("Grown10"),
        [("run".to_owned(), vec!["Integer".to_owned()])]
    );
}

#[test]
fn frames_before_the_super_call_do_not_hide_the_parameters() {
    // What kotlinc makes of default arguments: the last frame, or the only one, lies where `this` is uninitialised.
    // 0: iload_1; 1: ifne 6; 4: iconst_5; 5: istore_1; 6: aload_0; 7: invokespecial; 10: return
    let defaults = |c: &mut ClassFile, map: &[u8]| {
        let (h, l) = c.method_ref("java/lang/Object", "<init>", "()V");
        let mut code = Code::new(1, 3, vec![27, 154, 0, 5, 8, 60, 42, 183, h, l, 177]);
        code.stack_map = Some(map.to_vec());
        code
    };
    let same = with_constructor("Same", "java/lang/Object", FRAMES, |c| {
        defaults(c, &[0, 1, 6])
    });
    let full = with_constructor("Full", "java/lang/Object", FRAMES, |c| {
        // full frame at 6: [uninitializedThis, int] []
        defaults(c, &[0, 1, 255, 0, 6, 0, 2, 6, 1, 0, 0])
    });
    // One more local in front of the call, which the handler's frame is without.
    // 0: iload_1; 1: istore_2; 2: iload_1; 3: ifne 7; 6: nop; 7: aload_0; 8: invokespecial; 11: return
    let appended = with_constructor("Appended", "java/lang/Object", FRAMES, |c| {
        let (h, l) = c.method_ref("java/lang/Object", "<init>", "()V");
        let mut code = Code::new(1, 3, vec![27, 61, 27, 154, 0, 4, 0, 42, 183, h, l, 177]);
        code.stack_map = Some(vec![0, 1, 252, 0, 7, 1]);
        code
    });
    // A frame behind the call, too: the handler's goes on from that one.
    // 0: iload_1; 1: ifne 6; 4: iconst_5; 5: istore_1; 6: aload_0; 7: invokespecial; 10: iload_1; 11: ifne 15; 14: nop; 15: return
    let behind = with_constructor("Behind", "java/lang/Object", FRAMES, |c| {
        let (h, l) = c.method_ref("java/lang/Object", "<init>", "()V");
        let (ch, cl) = c.class("Behind");
        let mut code = Code::new(
            1,
            2,
            vec![27, 154, 0, 5, 8, 60, 42, 183, h, l, 27, 154, 0, 4, 0, 177],
        );
        // same frame at 6; full frame at 15: [Behind, int] []
        code.stack_map = Some(vec![0, 2, 6, 255, 0, 8, 0, 2, 7, ch, cl, 1, 0, 0]);
        code
    });
    // <init>(CharSequence s) { if (s == null) s = "text"; super(); s.length(); }: a String is stored before `this` is there.
    let object = {
        let descriptor = "(Ljava/lang/CharSequence;)V";
        let mut c = ClassFile::new("Stored", "java/lang/Object", FRAMES);
        let (sh, sl) = c.string("text");
        let (h, l) = c.method_ref("java/lang/Object", "<init>", "()V");
        let (ih, il) = c.interface_method_ref("java/lang/CharSequence", "length", "()I");
        // 0: aload_1; 1: ifnonnull 8; 4: ldc_w; 7: astore_1; 8: aload_0; 9: invokespecial; 12: aload_1; 13: invokeinterface; ...
        let insns = [
            &[43, 199, 0, 7, 19, sh, sl, 76, 42, 183, h, l][..],
            &[43, 185, ih, il, 1, 0, 87, 177],
        ]
        .concat();
        let mut code = Code::new(1, 2, insns);
        code.stack_map = Some(vec![0, 1, 8]);
        c.method(1, "<init>", descriptor, code);
        let (ch, cl) = c.class("Stored");
        let (h, l) = c.method_ref("Stored", "<init>", descriptor);
        // new Stored; dup; aconst_null; invokespecial <init>; pop; iload_0; ireturn
        let insns = vec![187, ch, cl, 89, 1, 183, h, l, 87, 26, 172];
        c.method(9, "run", "(I)I", Code::new(3, 1, insns));
        c
    };
    let classes = [
        ("Same", same.finish()),
        ("Full", full.finish()),
        ("Appended", appended.finish()),
        ("Behind", behind.finish()),
        ("Stored", object.finish()),
    ];
    judge(&classes);
    let of = |name: &str| -> Vec<Vec<String>> {
        let (_, bytes) = classes.iter().find(|(n, _)| *n == name).unwrap();
        let frames = full_frames(&woven(bytes).0.unwrap());
        frames.into_iter().map(|(_, locals)| locals).collect()
    };
    let listed = |name: &str| vec![name.to_owned(), "Integer".to_owned()];
    assert_eq!(of("Same"), [listed("Same")]);
    let before = vec!["UninitializedThis".to_owned(), "Integer".to_owned()];
    assert_eq!(of("Full"), [before, listed("Full")]);
    assert_eq!(of("Appended"), [listed("Appended")]);
    assert_eq!(of("Behind"), [listed("Behind")]);
    let stored = ["Stored", "java/lang/CharSequence"].map(str::to_owned);
    assert_eq!(of("Stored"), [stored]);
}

#[test]
fn templates_that_agents_copy_are_left() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    // Byte Buddy's annotations, as far as a compiler asks.
    let advice = write(
        "Advice.java",
        "package net.bytebuddy.asm; public class Advice { public @interface OnMethodEnter {} public @interface OnMethodExit {} }",
    );
    let template = write(
        "Timing.java",
        "import net.bytebuddy.asm.Advice; class Timing {\n\
         @Advice.OnMethodEnter static long start() { return System.nanoTime(); }\n\
         @Advice.OnMethodExit static void end(long start) { System.out.println(start); }\n\
         static long other() { return System.nanoTime(); } }",
    );
    let status = jdk("javac")
        .arg("-d")
        .arg(dir.path())
        .args([&advice, &template])
        .status()
        .expect("a JDK is installed");
    assert!(status.success());
    let (bytes, left) = woven(&std::fs::read(dir.path().join("Timing.class")).unwrap());
    assert!(bytes.is_some(), "the other methods are woven");
    let expected = ["start()J", "end(J)V"].map(|m| (m.to_owned(), Reason::Template));
    assert_eq!(left, expected);
}

/// Compiles a source of `tests/jvm`, and reads its classes.
fn compiled(source: &str, options: &[&str]) -> Vec<(String, Vec<u8>)> {
    let dir = tempfile::tempdir().unwrap();
    let status = jdk("javac")
        .args(options)
        .arg("-d")
        .arg(dir.path())
        .arg(tree::root().join("tests/jvm").join(source))
        .status()
        .expect("a JDK is installed");
    assert!(status.success());
    let mut classes: Vec<(String, Vec<u8>)> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    classes.sort();
    classes
}

#[test]
fn own_hooks_see_what_was_there_at_the_start_in_all_shapes_that_javac_makes() {
    for options in [&["--release", "11", "-g"][..], &["--release", "17"]] {
        let classes = compiled("Shapes.java", options);
        assert!(classes.len() > 5);
        // Abstract methods of nested types are left: their classes are taken as they are.
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        std::fs::create_dir(&old).unwrap();
        std::fs::create_dir(&new).unwrap();
        for (name, bytes) in &classes {
            std::fs::write(old.join(format!("{name}.class")), bytes).unwrap();
        }
        let (expected, _) = run(&old);
        for style in STYLES {
            for (name, bytes) in &classes {
                let bind: Bind<'_> = &|s| everything_of(s, style);
                let (woven, left) =
                    woven_with(bytes, Advice::OWN.with(Advice::ALL), Some(bind), &new);
                assert_eq!(left, [], "{name}");
                std::fs::write(
                    new.join(format!("{name}.class")),
                    woven.as_ref().unwrap_or(bytes),
                )
                .unwrap();
            }
            assert_eq!(run(&new).0, expected, "{style:?}");
        }
    }
}

/// A class that is `acme.Bad`: its hooks throw, or print.
const BAD: &str = "package acme; public class Bad {\n\
    public static void exit(int n) { System.out.print(\"exit \"); if (n == 0) throw new IllegalStateException(\"hook\"); }\n\
    public static void exception(Throwable t) { System.out.print(\"exception \"); }\n\
    public static long enter(int n) { if (n == 3) throw new IllegalStateException(\"early\"); return n; } }";

#[test]
fn what_an_exit_hook_throws_is_caught_by_nobody_unless_it_is_guarded() {
    let classes = compiled("Tried.java", &["--release", "11", "-g"]);
    let dir = tempfile::tempdir().unwrap();
    let new = dir.path().join("new");
    std::fs::create_dir(&new).unwrap();
    let source = dir.path().join("Bad.java");
    std::fs::write(&source, BAD).unwrap();
    assert!(
        jdk("javac")
            .arg("-d")
            .arg(&new)
            .arg(source)
            .status()
            .unwrap()
            .success()
    );
    let told = |guarded: Option<bool>| {
        let call = |name: &str, operand: Operand, result: Ty| {
            let hook = Arc::new(Hook {
                owner: Ty::class("acme/Bad"),
                owner_is_interface: false,
                name: name.into(),
                parameters: [operand.to.clone()].into(),
                result,
                generics: 0,
                links: Box::default(),
            });
            Call {
                role: Role::Hook,
                adapter: guarded.map(|recursion| own_hooks::adapter(&hook, true, recursion)),
                hook,
                generics: [].into(),
                operands: [operand].into(),
                dest: Dest::Drop,
                given: None,
            }
        };
        let number = || same(Source::Arg(0), Ty::Prim(Prim::I32));
        let thrown = || same(Source::Exception, Ty::class("java/lang/Throwable"));
        let bind = |signature: &Signature| match signature.parameters.len() {
            // Of `called` alone.
            2 => Bound {
                enter: [call("enter", number(), Ty::Prim(Prim::I64))].into(),
                exit: [call("exit", number(), Ty::Void)].into(),
                exception: [call("exception", thrown(), Ty::Void)].into(),
                keep: Keep {
                    args: [0].into(),
                    ..Keep::default()
                },
                ..Bound::default()
            },
            _ => Bound::default(),
        };
        for (name, bytes) in &classes {
            let (woven, _) = woven_with(bytes, Advice::OWN.with(Advice::ALL), Some(&bind), &new);
            let path = new.join(format!("{name}.class"));
            std::fs::write(path, woven.as_ref().unwrap_or(bytes)).unwrap();
        }
        let mut java = jdk("java");
        let out = java.args(["-Xverify:all", "-cp"]).arg(harness());
        let out = out.arg("Run").arg(&new).output().unwrap();
        let err = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(err.ends_with("verdict: \n"), "{err}");
        (String::from_utf8(out.stdout).unwrap(), err)
    };
    let (direct, _) = told(None);
    let expected = [
        "exit hook",
        "exception aother body",
        "exit a",
        "early",
        "Tried 0 0 0 0",
    ];
    assert_eq!(direct.lines().collect::<Vec<_>>(), expected);
    let (guarded, err) = told(Some(false));
    let expected = [
        "exit ",
        "exception aother body",
        "exit a",
        "exit a",
        "Tried 0 0 0 0",
    ];
    assert_eq!(guarded.lines().collect::<Vec<_>>(), expected);
    for hook in ["enter", "exit"] {
        let failed = format!("hook acme.Bad.{hook} failed: java.lang.IllegalStateException");
        assert_eq!(err.matches(&failed).count(), 1, "{err}");
    }
}

#[test]
fn own_hooks_that_do_not_fit_the_limits_are_left() {
    let style = STYLES[0];
    let bind: Bind<'_> = &|s| everything_of(s, style);
    let left =
        |class: ClassFile| woven_with(&class.finish(), Advice::OWN, Some(bind), Path::new("")).1;
    let code = vec![26, 172];
    let full = with_run("Locals", OLD, 1, 65_532, code.clone());
    assert_eq!(left(full), [("run(I)I".to_owned(), Reason::Unsupported)]);
    let room = with_run("Room", OLD, 1, 65_520, code.clone());
    assert_eq!(left(room), []);
    let mut pool = with_run("Pool", OLD, 1, 1, code);
    pool.fill_pool(65_300);
    assert_eq!(left(pool), [("run(I)I".to_owned(), Reason::PoolFull)]);
    let mut insns = vec![0; 65_480];
    insns.extend_from_slice(&[26, 172]);
    let long = with_run("Long", OLD, 1, 1, insns);
    assert_eq!(left(long), [("run(I)I".to_owned(), Reason::CodeTooLarge)]);
}

/// A library of hooks whose reach is asked for: `whole` ones reach nothing woven.
const LIBRARY: &str = r#"package acme;
import java.util.*;
import java.util.concurrent.atomic.*;
public class Reaches {
    static final AtomicLong COUNT = new AtomicLong();
    static class Base { long twice() { return 2 * more(); } long more() { return 1; } }
    static final class Deep extends Base { @Override long more() { return COUNT.get() + Wide.ONE; } }
    static class Wide { static final long ONE = Long.parseLong("1"); private static int own() { return 1; } }
    enum Kind { A, B; static final Kind LAST = B; }
    static class Oops extends RuntimeException { Oops(String why) { super(why); } }
    public static long whole1(String text, int n) { COUNT.incrementAndGet(); return new Deep().twice() + text.length() + n; }
    public static String whole2(int n, String s) { StringBuilder b = new StringBuilder(); return b.append(n).append(s).toString() + n + s; }
    public static Object whole3(Object o, long d) { if (o == null) throw new Oops("n"); Objects.requireNonNull(o); return o.getClass() == String.class ? Kind.LAST.name() : System.nanoTime() - d; }
    public static int whole4(int[] all) { int[] c = all.clone(); System.arraycopy(all, 0, c, 0, 1); return Wide.own() + Math.max(c[0], 1); }
    public static void part1(Object o) { System.out.println(o); }
    public static String part2(Object o) { return "it is " + o; }
    public static int part3(Map<String, String> m) { return m.size(); }
    public static Object part4(Runnable r) { return (Runnable) () -> r.run(); }
    public static void part5(Object o) { o.hashCode(); }
    public static Object part6(String name) throws Exception { return Class.forName(name); }
    public static String part7(Object o) { return String.valueOf(o); }
    public static native void part8();
    public static long part9(Open o) { return o.more(); }
    public static long part10() { return Late.N; }
    static class Late { static final long N = new ArrayList<String>().size(); }
    static class Open { long more() { return 1; } }
}
"#;

/// Names and descriptors of a class's methods.
struct Names<'n>(&'n mut Vec<(String, String)>);

impl joinpoint::Visitor for Names<'_> {
    fn enter_type(&mut self, _: &joinpoint::Type<'_>) -> bool {
        true
    }
    fn method(&mut self, _: u32, method: &joinpoint::Method<'_>) {
        let (name, descriptor) = (method.name.to_owned(), method.descriptor.to_owned());
        self.0.push((name, descriptor));
    }
}

#[test]
fn hooks_that_stay_in_their_library_are_told_from_others() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("Reaches.java");
    std::fs::write(&source, LIBRARY).unwrap();
    for release in ["8", "17"] {
        let out = dir.path().join(release);
        let mut javac = jdk("javac");
        let javac = javac
            .args(["--release", release, "-Xlint:-options", "-d"])
            .arg(&out)
            .arg(&source);
        assert!(javac.status().expect("a JDK is installed").success());
        let mut types = FxHashMap::<Box<str>, LibraryType>::default();
        let mut hooks = vec![];
        for entry in std::fs::read_dir(out.join("acme")).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            let class = Class::parse(&bytes).unwrap();
            if class.name() == "acme/Reaches" {
                scan(&class, &mut Names(&mut hooks)).unwrap();
            }
            types.insert((&*class.name()).into(), library_type(&class).unwrap());
        }
        // The program has a subclass of a class of the library's.
        let open: Box<str> = "acme/Reaches$Open".into();
        let program = [("app/Opened", std::slice::from_ref(&open))];
        let reach = Reach::new(&types, program.into_iter());
        let mut told = BTreeMap::new();
        for (name, descriptor) in &hooks {
            if let Some(why) = reach.why("acme/Reaches", name, descriptor) {
                told.insert(name.as_str(), why);
            }
        }
        let parts: Vec<String> = (1..=10).map(|n| format!("part{n}")).collect();
        let mut expected: Vec<&str> = parts.iter().map(String::as_str).collect();
        expected.sort();
        let found: Vec<&str> = told
            .keys()
            .copied()
            .filter(|n| !n.starts_with('<') && !n.starts_with("lambda"))
            .collect();
        assert_eq!(found, expected, "{told:#?}");
        assert_eq!(
            told["part1"],
            "acme.Reaches.part1 calls java.io.PrintStream.println"
        );
        assert_eq!(
            told["part9"],
            "acme.Reaches.part9 calls acme.Reaches.Open.more, which app.Opened may override"
        );
        assert_eq!(
            told["part10"],
            "acme.Reaches.Late.<clinit> calls java.util.ArrayList.<init>"
        );
    }
}

/// Methods whose signatures are asked for.
const SIGNATURES: &str = "import java.util.*; public class Signatures<T> {\n\
    enum Kind { A; Kind() {} Kind(int weight) {} }\n\
    class Inner { Inner(long wide, String text) {} }\n\
    record Point(int x, double y) {}\n\
    interface Shape { int area(long scale, T_[] of); }\n\
    static class T_ {}\n\
    static void many(long a, int b, double c, T_ d, int[][] e, String... rest) {}\n\
    T same(T value) { int local = 1; Runnable r = () -> System.out.println(value + \"\" + local); return value; }\n\
    Object local(int captured) { class Local { Local(byte own) { own += captured; } } return new Local((byte) 1); }\n\
    Signatures(boolean b, char c, short s, float f) {} }";

#[test]
fn signatures_have_types_and_the_names_that_classes_give() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("Signatures.java");
    std::fs::write(&source, SIGNATURES).unwrap();
    let told = |options: &[&str]| {
        let out = dir.path().join(options.concat().replace(':', ""));
        let mut javac = jdk("javac");
        let javac = javac.args(options).arg("-d").arg(&out).arg(&source);
        assert!(javac.status().expect("a JDK is installed").success());
        let mut told = BTreeMap::new();
        for entry in std::fs::read_dir(out).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            let class = Class::parse(&bytes).unwrap();
            let mut methods = vec![];
            scan(&class, &mut Shown(&mut methods)).unwrap();
            for (name, shown) in methods {
                told.entry(format!("{}.{name}", class.name()))
                    .or_insert(vec![])
                    .push(shown);
            }
        }
        told
    };
    let named = told(&["-g"]);
    let of = |of: &BTreeMap<String, Vec<String>>, name: &str| of[name].join("; ");
    let many = "(J a, I b, D c, LSignatures$T_; d, [[I e, [LString; rest)V variadic";
    assert_eq!(of(&named, "Signatures.many"), many);
    assert_eq!(
        of(&named, "Signatures.same"),
        "LSignatures;.(LObject; value)LObject;"
    );
    assert_eq!(
        of(&named, "Signatures.<init>"),
        "LSignatures;.(Z b, C c, S s, F f)V"
    );
    assert_eq!(
        of(&named, "Signatures$Point.<init>"),
        "LSignatures$Point;.(I x, D y)V"
    );
    // No body, no variables.
    assert_eq!(
        of(&named, "Signatures$Shape.area"),
        "LSignatures$Shape;.(J, [LSignatures$T_;)I"
    );
    let listed = told(&["-g:none", "-parameters"]);
    assert_eq!(of(&listed, "Signatures.many"), many);
    assert_eq!(
        of(&listed, "Signatures$Shape.area"),
        "LSignatures$Shape;.(J scale, [LSignatures$T_; of)I"
    );
    // What the compiler adds counts, as in the descriptor.
    assert_eq!(
        of(&listed, "Signatures$Inner.<init>"),
        "LSignatures$Inner;.(LSignatures; this$0, J wide, LString; text)V"
    );
    assert_eq!(
        of(&listed, "Signatures$Kind.<init>"),
        "LSignatures$Kind;.(LString; $enum$name, I $enum$ordinal)V; \
         LSignatures$Kind;.(LString; $enum$name, I $enum$ordinal, I weight)V"
    );
    assert_eq!(
        of(&listed, "Signatures$1Local.<init>"),
        "LSignatures$1Local;.(LSignatures; this$0, B own, I val$captured)V"
    );
    let bare = told(&["-g:none"]);
    assert_eq!(
        of(&bare, "Signatures.many"),
        "(J, I, D, LSignatures$T_;, [[I, [LString;)V variadic"
    );
}

/// Names and signatures of a class's methods.
struct Shown<'n>(&'n mut Vec<(String, String)>);

impl joinpoint::Visitor for Shown<'_> {
    fn enter_type(&mut self, _: &joinpoint::Type<'_>) -> bool {
        true
    }
    fn method(&mut self, _: u32, method: &joinpoint::Method<'_>) {
        let signature = method.details.signature().unwrap();
        let of = |ty: &Ty| {
            let mut text = String::new();
            ty.put_descriptor(&mut text);
            text.replace("java/lang/", "")
        };
        let this = signature
            .this
            .map_or(String::new(), |ty| format!("{}.", of(&ty)));
        let parameters = signature.parameters.iter().map(|p| match &p.name {
            Some(name) => format!("{} {name}", of(&p.ty)),
            None => of(&p.ty),
        });
        let parameters = parameters.collect::<Vec<_>>().join(", ");
        let variadic = if signature.variadic { " variadic" } else { "" };
        let shown = format!("{this}({parameters}){}{variadic}", of(&signature.result));
        self.0.push((method.name.to_owned(), shown));
    }
}

#[test]
fn the_default_numbers_of_classes_are_those_that_the_jdk_computes() {
    let dir = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jvm/Numbers.java");
    let output = jdk("java")
        .args(["--add-opens", "java.base/java.io=ALL-UNNAMED"])
        .arg(source)
        .arg(dir.path())
        .output()
        .expect("a JDK is installed");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let told = String::from_utf8(output.stdout).unwrap();
    let mut wrong = Vec::new();
    for (i, line) in told.lines().enumerate() {
        let (number, name) = line.split_once(' ').unwrap();
        let bytes = std::fs::read(dir.path().join(format!("{i}.class"))).unwrap();
        let declared = serial::declared(&Class::parse(&bytes).unwrap()).unwrap();
        // Of interfaces, enums and records as of all others: what is not asked for is computed like the rest.
        if declared.default_number().to_string() != number {
            wrong.push(name.to_owned());
        }
    }
    assert_eq!(wrong, [""; 0]);
    let count = told.lines().count();
    assert!(count > 500, "{count} classes");
}
