//! Ids are unique over a job, stable between jobs, and the same with any number of threads.

use crate::apks::archive;
use crate::support::{DEX, PRINTED, STEPS, STEPS_PDB, World};
use std::collections::BTreeSet;
use weave::internals::aspect::pointcut::Matcher;
use weave::internals::aspect::rules::Rules;
use weave::internals::pipeline::{Job, Outcome, run};

#[test]
fn the_same_class_in_two_jars_has_two_ids() {
    let world = World::with_jar();
    std::fs::create_dir(world.at("in")).unwrap();
    for name in ["in/a.jar", "in/b.jar"] {
        std::fs::copy(world.at("app.jar"), world.at(name)).unwrap();
    }
    world.wove(&["in", "out"]);
    let symbols = world.symbols("out.wsym");
    assert_eq!(symbols.len(), 6);
    // The first one has the ids that it has alone.
    world.wove(&["app.jar", "a.jar"]);
    for (id, symbol) in world.symbols("a.jar.wsym").iter() {
        assert_eq!(symbols.get(id).unwrap().name(), symbol.name());
        assert_eq!(&*symbols.get(id).unwrap().artifact, "a.jar");
    }
}

#[test]
fn known_maps_keep_their_methods_ids() {
    let world = World::with_jar();
    world.wove(&["app.jar", "a.jar"]);
    world.wove(&["app.jar", "b.jar", "--known-symbols", "a.jar.wsym"]);
    let ids =
        |name: &str| -> BTreeSet<u32> { world.symbols(name).iter().map(|(id, _)| id).collect() };
    assert_eq!(ids("a.jar.wsym"), ids("b.jar.wsym"));
}

/// One base for all types and files, so that they collide.
fn weak(_: &str, attempt: u32) -> u32 {
    1 + attempt
}

fn weave_weakly(world: &World, input: &str, output: &str, threads: usize) -> Outcome {
    let job = Job {
        input: world.at(input),
        output: Some(world.at(output)),
        matcher: Matcher::new(Rules::default_pack()),
        runtime: true,
        effort: Default::default(),
        strict: false,
        references: vec![],
        symbols: None,
        known_symbols: vec![],
        cache: None,
        identity: None,
        key: None,
        threads: Some(threads),
        explain: false,
        id_base: weak,
    };
    run(&job, &|_, _| {}).unwrap()
}

#[test]
fn collisions_are_resolved_and_the_program_runs() {
    let world = World::with_jar();
    let weave = |output: &str, threads| weave_weakly(&world, "app.jar", output, threads);
    assert_eq!(weave("out.jar", 1).methods, 3);
    weave("out8.jar", 8);
    assert_eq!(world.read("out.jar"), world.read("out8.jar"));
    let ids: BTreeSet<u32> = world
        .symbols("out.jar.wsym")
        .iter()
        .map(|(id, _)| id)
        .collect();
    assert_eq!(ids.len(), 3);
    assert_eq!(world.tool("java", &["-jar", "out.jar"]).out, PRINTED);
    // The ids in the bytecode are those of the map: the trace names every method.
    let report = world.wove(&["report", "run.wtrace"]).out;
    for name in [
        "com.acme.Fib.of",
        "com.acme.Main.main",
        "com.acme.Main.fail",
    ] {
        assert!(report.contains(name), "{report}");
    }
}

/// The methods of a dex file have ids behind one base, which move together.
#[test]
fn the_same_dex_twice_has_two_bases() {
    let world = World::new();
    let dex = DEX;
    world.write(
        "app.apk",
        archive(&[("classes.dex", dex), ("classes2.dex", dex)]),
    );
    let outcome = weave_weakly(&world, "app.apk", "out.apk", 1);
    weave_weakly(&world, "app.apk", "out8.apk", 8);
    assert_eq!(world.read("out.apk"), world.read("out8.apk"));
    let symbols = world.symbols("out.apk.wsym");
    assert_eq!(symbols.len() as u64, outcome.methods);
    let mut named: Vec<(String, u32)> = (symbols.iter())
        .map(|(id, symbol)| (format!("{}{}", symbol.name(), symbol.descriptor), id))
        .collect();
    named.sort_unstable();
    let shifts: BTreeSet<u32> = (named.chunks(2))
        .map(|both| {
            assert_eq!(both[0].0, both[1].0);
            both[1].1 - both[0].1
        })
        .collect();
    assert_eq!(shifts.len(), 1, "{named:?}");
}

/// Ids and maps depend on what is inside, not on where it lies: each machine of a build gives its folder a name of its own.
#[test]
fn the_same_input_gives_the_same_bytes_wherever_it_lies() {
    let world = World::with_jar();
    let dex = DEX;
    let apk = archive(&[("AndroidManifest.xml", b"x"), ("classes.dex", dex)]);
    let jar = world.read("app.jar");
    let war = archive(&[
        ("WEB-INF/web.xml", b"<web-app/>"),
        ("WEB-INF/lib/app.jar", &jar),
    ]);
    let dll = STEPS;
    let pdb = STEPS_PDB;
    let class = world.read("classes/com/acme/Fib.class");
    let inputs: [(&str, &[u8]); 6] = [
        ("app.jar", &jar),
        ("app.war", &war),
        ("app.apk", &apk),
        ("app.dex", dex),
        ("App.class", &class),
        ("App.dll", dll),
    ];
    for (name, bytes) in inputs {
        let suffix = name.rsplit_once('.').unwrap().1;
        let there = format!("some where/else.{suffix}");
        world.write(name, bytes);
        world.write(&there, bytes);
        let (a, b) = (format!("out.{suffix}"), format!("some where/zz-1.{suffix}"));
        world.wove(&[name, &a, "--no-runtime"]);
        world.wove(&[&there, &b, "--no-runtime"]);
        assert!(
            world.read(&a) != bytes && world.read(&a) == world.read(&b),
            "{name}"
        );
        assert_eq!(
            world.read(&format!("{a}.wsym")),
            world.read(&format!("{b}.wsym"))
        );
    }
    for folder in ["package", "some where/zz"] {
        for (name, bytes) in inputs {
            world.write(&format!("{folder}/lib/{name}"), bytes);
        }
        world.write(&format!("{folder}/steps.dll"), dll);
        world.write(&format!("{folder}/steps.pdb"), pdb);
        world.write(&format!("{folder}/com/acme/Fib.class"), &class);
    }
    world.wove(&["package", "out"]);
    world.wove(&["some where/zz", "some where/woven"]);
    assert!(world.files("out").len() > 10);
    assert_eq!(world.files("out"), world.files("some where/woven"));
    for name in world.files("out") {
        let there = world.read(&format!("some where/woven/{name}"));
        assert!(world.read(&format!("out/{name}")) == there, "{name}");
    }
    assert_eq!(world.read("out.wsym"), world.read("some where/woven.wsym"));
}

/// Weaves that know nothing of one another give an id to two methods. Whoever sees both maps says so.
#[test]
fn ids_that_collide_are_told_where_maps_meet() {
    let world = World::new();
    std::fs::create_dir(world.at("lib")).unwrap();
    for class in ["Fib", "Main"] {
        let jar = format!("{class}.jar");
        let path = format!("com/acme/{class}.class");
        world.tool("jar", &["cf", &jar, "-C", "classes", &path]);
        weave_weakly(&world, &jar, &format!("lib/{jar}"), 1);
    }
    let said = "the id 0x00000002 stands for com.acme.Fib.of(int)";
    let other = "and for com.acme.Main.main(String[])";
    let ran = world.wove(&["lib", "out"]);
    assert!(
        ran.err.contains(said) && ran.err.contains(other),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("--known-symbols"), "{}", ran.err);
    let known = [
        "--known-symbols",
        "lib/Fib.jar.wsym",
        "--known-symbols",
        "lib/Main.jar.wsym",
    ];
    let ran = world.wove(&[&["Fib.jar", "again.jar"], &known[..]].concat());
    assert!(ran.err.contains(said), "{}", ran.err);
    // Neither alone is wrong, and woven in one go they are apart.
    let ran = world.wove(&[&["Fib.jar", "again.jar"], &known[..2]].concat());
    assert!(!ran.err.contains("stands for"), "{}", ran.err);
}
