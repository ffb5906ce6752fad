//! Own hooks: what a user of the command notices. Which values they see is shown by `tests/harness/hooks.py`.

use crate::support::World;
use crate::tree::root;
use std::fs;

const LOG: &str = r#"
package acme;

public final class Log {
    public static Object begin(String method, Object argument) {
        System.out.println("> " + method + " " + argument);
        return method;
    }

    public static void end(Object state, Object result) {
        System.out.println("< " + state + " " + result);
    }

    public static void bad(String method) {
        throw new IllegalStateException("no");
    }
}
"#;

const RULES: &str = r#"version = 1

[[library]]
path = "hooks.jar"

[[aspect]]
name = "log"
match = { type = "com.acme.Main", method = "fail" }
enter = "acme.Log.begin(method, arg(0))"
exception = "acme.Log.end(state, exception)"
"#;

/// What the program prints with these rules.
const PRINTED: &str = "fib 13
> fail 2
> fail 1
> fail 0
< fail java.lang.IllegalStateException: deep
< fail java.lang.IllegalStateException: deep
< fail java.lang.IllegalStateException: deep
caught deep at line 16
";

/// Rules about calls that it makes.
const AT_CALLS: &str = r#"version = 1

[[library]]
path = "hooks.jar"

[[aspect]]
name = "printed"
at = { call = { type = "java.io.PrintStream", method = "println" } }
before = "acme.Log.begin(method, arg(0))"
"#;

/// A hook instead of a body.
const ROUND: &str = r#"
package acme;

public final class Round {
    public static <T> T run(String method, java.util.function.Supplier<T> proceed) {
        System.out.println("> " + method);
        try {
            return proceed.get();
        } finally {
            System.out.println("< " + method);
        }
    }
}
"#;

/// The program as a jar, and a library of hooks beside it.
fn world() -> World {
    let world = World::with_jar();
    world.write("src/acme/Log.java", LOG);
    let options = ["--release", "8", "-Xlint:-options", "-d", "hooks"];
    world.tool("javac", &[&options[..], &["src/acme/Log.java"]].concat());
    world.tool("jar", &["cf", "hooks.jar", "-C", "hooks", "."]);
    world.write("weave.toml", RULES);
    world
}

fn printed(world: &World, class_path: &str) -> String {
    world
        .tool("java", &["-cp", class_path, "com.acme.Main"])
        .out
}

#[test]
fn a_woven_jar_carries_the_hooks_and_calls_them() {
    let world = world();
    world.wove(&["app.jar", "out.jar"]);
    assert_eq!(printed(&world, "out.jar"), PRINTED);
    assert!(
        !world.at("run.wtrace").exists(),
        "nothing is recorded unless the aspect says so"
    );
    world.wove(&["app.jar", "again.jar"]);
    assert_eq!(world.read("out.jar"), world.read("again.jar"));
    world.wove(&["app.jar", "one.jar", "--jobs", "1"]);
    assert_eq!(world.read("out.jar"), world.read("one.jar"));
    // With `advice` the calls are recorded as well.
    world.write(
        "weave.toml",
        format!("{RULES}advice = [\"enter\", \"exit\", \"exception\"]\n"),
    );
    world.wove(&["app.jar", "both.jar"]);
    assert_eq!(printed(&world, "both.jar"), PRINTED);
    let report = world.wove(&["report", "run.wtrace", "--json"]).out;
    assert!(report.contains("com.acme.Main.fail(int)"), "{report}");
}

#[test]
fn folders_and_libraries_of_all_kinds() {
    let world = world();
    world.wove(&["classes", "out"]);
    assert_eq!(printed(&world, "out"), PRINTED);
    assert!(world.files("out").contains(&"acme/Log.class".to_owned()));
    world.write("weave.toml", RULES.replace("hooks.jar", "hooks"));
    world.wove(&["app.jar", "folder.jar"]);
    assert_eq!(printed(&world, "folder.jar"), PRINTED);
    // What is there already is not embedded.
    let there = RULES.replace(
        "path = \"hooks.jar\"",
        "path = \"hooks.jar\"\nembed = false",
    );
    world.write("weave.toml", there);
    world.wove(&["app.jar", "bare.jar"]);
    assert!(
        !world
            .names("bare.jar")
            .contains(&"acme/Log.class".to_owned())
    );
    assert_eq!(
        printed(&world, "bare.jar:hooks.jar").replace(';', ":"),
        PRINTED
    );
    // The hooks may be in the input itself, which then needs no library.
    world.tool("jar", &["uf", "app.jar", "-C", "hooks", "."]);
    world.write(
        "weave.toml",
        RULES.replace("[[library]]\npath = \"hooks.jar\"\n", ""),
    );
    world.wove(&["app.jar", "own.jar"]);
    assert_eq!(printed(&world, "own.jar"), PRINTED);
}

#[test]
fn a_bundle_of_jars_shares_one_library_jar() {
    let world = world();
    world.write("lib/app.jar", world.read("app.jar"));
    world.wove(&["lib", "out"]);
    assert_eq!(world.files("out"), ["app.jar", "weave-runtime.jar"]);
    assert_eq!(printed(&world, "out/app.jar"), PRINTED);
    // Without the hook library in the output, what the hooks need lies in each jar, and the library on the class path.
    world.wove(&["lib", "bare", "--no-runtime"]);
    world.wove(&["runtime", "weave-runtime.jar"]);
    assert_eq!(printed(&world, "bare/app.jar:weave-runtime.jar"), PRINTED);
}

#[test]
fn a_named_module_gets_the_packages_of_its_hooks() {
    let world = world();
    world.write("module-info.java", "module com.acme { exports com.acme; }");
    let options = ["-d", "classes", "--patch-module", "com.acme=classes"];
    world.tool("javac", &[&options[..], &["module-info.java"]].concat());
    let entry = [
        "--create",
        "--file",
        "app.jar",
        "--main-class",
        "com.acme.Main",
    ];
    world.tool("jar", &[&entry[..], &["-C", "classes", "."]].concat());
    world.wove(&["app.jar", "out.jar"]);
    let ran = world.tool("java", &["-p", "out.jar", "-m", "com.acme"]);
    assert_eq!(ran.out, PRINTED);
}

#[test]
fn named_modules_in_a_folder_share_the_library_jar() {
    let world = world();
    let lib = "package com.lib; public class Lib { public static int twice(int n) { int m = n; m += n; return m; } }";
    world.write("lib-src/com/lib/Lib.java", lib);
    world.write(
        "lib-src/module-info.java",
        "module com.lib { exports com.lib; }",
    );
    let sources = ["lib-src/com/lib/Lib.java", "lib-src/module-info.java"];
    world.tool("javac", &[&["-d", "lib-classes"], &sources[..]].concat());
    let main = "package com.start; public class Start { public static void main(String[] args) throws Exception { System.out.println(com.lib.Lib.twice(4)); com.acme.Main.main(args); } }";
    world.write("start-src/com/start/Start.java", main);
    world.write(
        "start-src/module-info.java",
        "module com.start { requires com.lib; requires com.acme; }",
    );
    world.write("module-info.java", "module com.acme { exports com.acme; }");
    let options = ["-d", "classes", "--patch-module", "com.acme=classes"];
    world.tool("javac", &[&options[..], &["module-info.java"]].concat());
    let path = "lib-classes:classes";
    let sources = [
        "start-src/com/start/Start.java",
        "start-src/module-info.java",
    ];
    world.tool(
        "javac",
        &[&["-p", path, "-d", "start-classes"], &sources[..]].concat(),
    );
    std::fs::create_dir_all(world.at("in")).unwrap();
    for (jar, classes) in [
        ("lib", "lib-classes"),
        ("acme", "classes"),
        ("start", "start-classes"),
    ] {
        let jar = format!("in/{jar}.jar");
        world.tool("jar", &["cf", &jar, "-C", classes, "."]);
    }
    let rules = RULES.replace(
        "\"com.acme.Main\", method = \"fail\"",
        "[\"com.acme.Main\", \"com.lib.Lib\"], method = [\"fail\", \"twice\"]",
    );
    world.write("weave.toml", rules);
    world.wove(&["in", "out"]);
    let expected = format!("> twice 4\n8\n{PRINTED}");
    let ran = world.tool("java", &["-p", "out", "-m", "com.start/com.start.Start"]);
    assert_eq!(ran.out, expected);
    let ran = world.tool("java", &["-cp", "out/*", "com.start.Start"]);
    assert_eq!(ran.out, expected);
}

/// Modules that a build weaves one by one share a library of own hooks that is a module, by a descriptor or by its manifest.
#[test]
fn named_modules_require_the_module_of_their_hooks() {
    let world = world();
    world.write("module-info.java", "module com.acme { exports com.acme; }");
    let options = ["-d", "classes", "--patch-module", "com.acme=classes"];
    world.tool("javac", &[&options[..], &["module-info.java"]].concat());
    world.tool("jar", &["cf", "app.jar", "-C", "classes", "."]);
    let lib = "package com.lib; public class Lib { public static int twice(int n) { int m = n; m += n; return m; } }";
    world.write("lib-src/com/lib/Lib.java", lib);
    let start = "package com.lib; public class Start { public static void main(String[] args) throws Exception { System.out.println(Lib.twice(4)); com.acme.Main.main(args); } }";
    world.write("lib-src/com/lib/Start.java", start);
    world.write(
        "lib-src/module-info.java",
        "module com.lib { requires com.acme; }",
    );
    let sources = [
        "lib-src/com/lib/Lib.java",
        "lib-src/com/lib/Start.java",
        "lib-src/module-info.java",
    ];
    world.tool(
        "javac",
        &[&["-p", "app.jar", "-d", "lib-classes"], &sources[..]].concat(),
    );
    let rules = RULES
        .replace(
            "\"com.acme.Main\", method = \"fail\"",
            "[\"com.acme.Main\", \"com.lib.Lib\"], method = [\"fail\", \"twice\"]",
        )
        .replace(
            "path = \"hooks.jar\"",
            "path = \"hooks.jar\"\nembed = false",
        );
    world.write("weave.toml", rules);
    world.wove(&["runtime", "weave-runtime.jar"]);
    world.write("named.mf", "Automatic-Module-Name: acme.hooks\n");
    world.write(
        "hooks-src/module-info.java",
        "module acme.hooks { exports acme; }",
    );
    for by_manifest in [true, false] {
        match by_manifest {
            true => world.tool("jar", &["ufm", "hooks.jar", "named.mf"]),
            false => {
                world.tool(
                    "javac",
                    &[
                        "-d",
                        "hooks",
                        "--patch-module",
                        "acme.hooks=hooks",
                        "hooks-src/module-info.java",
                    ],
                );
                world.tool("jar", &["cf", "hooks.jar", "-C", "hooks", "."])
            }
        };
        world.wove(&["app.jar", "woven.jar", "--no-runtime"]);
        world.wove(&["lib-classes", "lib-woven", "--no-runtime"]);
        let path = "woven.jar:lib-woven:hooks.jar:weave-runtime.jar";
        let ran = world.tool("java", &["-p", path, "-m", "com.lib/com.lib.Start"]);
        assert_eq!(ran.out, format!("> twice 4\n8\n{PRINTED}"), "{by_manifest}");
        assert_eq!(ran.err, "");
    }
}

#[test]
fn a_hook_that_does_not_fit_is_an_error_at_the_rule_and_nothing_is_written() {
    let world = world();
    world.write("weave.toml", RULES.replace("arg(0)", "arg(1)"));
    world.write("out.jar", "before");
    let ran = world.weave(&["app.jar", "out.jar"]);
    assert_eq!(ran.status, 2);
    insta::assert_snapshot!(ran.err, @r#"
    error: there is no `arg(1)`
     --> weave.toml:9:33
      |
    9 | enter = "acme.Log.begin(method, arg(1))"
      |                                 ^^^^^^ of 1 argument in com.acme.Main.fail(int)
      |
      = help: `?` behind it makes it null or zero there
    "#);
    assert_eq!(world.read("out.jar"), b"before");
    let ran = world.weave(&["app.jar", "out.jar", "--message-format", "msbuild"]);
    let first = "weave.toml(9,33): error WV0003: there is no `arg(1)`: of 1 argument in com.acme.Main.fail(int)";
    assert!(ran.err.starts_with(first), "{}", ran.err);
    // A folder is not touched either, and a plan says the same.
    assert_eq!(world.weave(&["classes", "out"]).status, 2);
    assert!(!world.at("out").exists());
    assert_eq!(world.weave(&["plan", "app.jar"]).status, 2);
}

#[test]
fn activities_are_refused_where_there_are_none() {
    let world = world();
    let rules = "version = 1\n[[spans]]\nsource = \"Npgsql\"\n";
    world.write("weave.toml", rules);
    let ran = world.weave(&["app.jar", "out.jar"]);
    assert_eq!(ran.status, 2);
    insta::assert_snapshot!(ran.err, @r"
    error: `[[spans]]` names sources of activities, which .NET alone has
     --> weave.toml:2:1
      |
    2 | [[spans]]
      | ^^^^^^^^^ there are none in app.jar
      |
      = help: the JVM's libraries are recorded by rules with `span`, as in `pack:requests-jvm`; give assemblies a rules file of their own
    ");
    assert_eq!(world.weave(&["plan", "classes"]).status, 2);
}

#[test]
fn a_class_file_alone_has_no_place_for_adapters() {
    let world = world();
    let class = "classes/com/acme/Main.class";
    let ran = world.weave(&[class, "out/com/acme/Main.class", "--rules", "weave.toml"]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("weave its folder or jar"), "{}", ran.err);
    assert!(!world.at("out/com/acme/Main.class").exists());
}

#[test]
fn wrong_libraries_and_keys_are_told_by_line_and_column() {
    let world = world();
    let said = |rules: String| {
        world.write("weave.toml", rules);
        let ran = world.weave(&["app.jar", "out.jar", "--message-format", "msbuild"]);
        assert_eq!(ran.status, 2, "{}", ran.err);
        ran.err.lines().next().unwrap_or_default().to_owned()
    };
    let missing = said(RULES.replace("hooks.jar", "no.jar"));
    assert!(
        missing.starts_with("weave.toml(4,8): error WV0003: "),
        "{missing}"
    );
    let text = said(RULES.replace(
        "enter = \"acme.Log.begin(method, arg(0))\"",
        "enter = \"begin()\"",
    ));
    assert!(
        text.starts_with("weave.toml(9,10): error WV0003: bad call in `enter`"),
        "{text}"
    );
    let guard = said(RULES.replace("enter = \"acme.Log.begin(method, arg(0))\"\nexception = \"acme.Log.end(state, exception)\"", "guard = false"));
    assert!(guard.contains("`guard` is about own hooks"), "{guard}");
    world.write("notes.txt", "hello");
    let text = said(RULES.replace("hooks.jar", "notes.txt"));
    assert!(text.contains("no library of hooks"), "{text}");
}

#[test]
fn what_a_hook_throws_stays_away_from_the_program() {
    let world = world();
    let bad = RULES.replace("acme.Log.begin(method, arg(0))", "acme.Log.bad(method)");
    let bad = bad.replace("exception = \"acme.Log.end(state, exception)\"\n", "");
    world.write("weave.toml", &bad);
    world.wove(&["app.jar", "out.jar"]);
    let ran = world.tool("java", &["-cp", "out.jar", "com.acme.Main"]);
    assert_eq!(ran.out, crate::support::PRINTED);
    assert_eq!(
        ran.err.matches("hook acme.Log.bad failed").count(),
        1,
        "{}",
        ran.err
    );
    world.write("weave.toml", format!("{bad}guard = false\n"));
    world.wove(&["app.jar", "bare.jar"]);
    let ran = world.tool("java", &["-cp", "bare.jar", "com.acme.Main"]);
    assert_eq!(ran.out, "fib 13\ncaught no at line 15\n");
}

#[test]
fn a_plan_shows_the_calls_as_they_are_bound() {
    let world = world();
    let plan = world.wove(&["plan", "app.jar", "--details"]).out;
    insta::assert_snapshot!(plan, @r"
    app.jar
      com.acme.Main
        + fail(int)  [own]
            enter: acme.Log.begin(String, Object) gets 'fail', arg(0) boxed
            exception: acme.Log.end(Object, Object) gets state, exception

    rules: weave.toml
    1 method of 1 class in 1 artifact would be woven
            1 by aspect `log`
    ");
    let plan = world.wove(&["plan", "app.jar", "--json"]).out;
    let json: serde_json::Value = serde_json::from_str(&plan).unwrap();
    let hooks = &json["classes"][0]["woven"][0]["hooks"];
    assert_eq!(hooks[0]["hook"], "acme.Log.begin(String, Object)");
    assert_eq!(
        hooks[0]["operands"],
        serde_json::json!(["'fail'", "arg(0) boxed"])
    );
    assert_eq!(hooks[1]["when"], "exception");
    assert_eq!(hooks[1]["guard"], true);
}

#[test]
fn a_hook_stands_in_the_place_of_a_body() {
    let world = world();
    world.write("src/acme/Round.java", ROUND);
    world.tool(
        "javac",
        &[
            "--release",
            "8",
            "-Xlint:-options",
            "-d",
            "hooks",
            "src/acme/Round.java",
        ],
    );
    world.tool("jar", &["cf", "hooks.jar", "-C", "hooks", "."]);
    let start = &RULES[..RULES.find("enter").unwrap()];
    let rules = format!(
        "{start}around = \"acme.Round.run(method, proceed)\"\nadvice = [\"enter\", \"exit\", \"exception\"]\n"
    );
    world.write("weave.toml", &rules);
    let plan = world.wove(&["plan", "app.jar", "--details"]).out;
    let shown = "around: acme.Round.run(String, java.util.function.Supplier) gets 'fail', proceed";
    assert!(plan.contains(shown), "{plan}");
    world.wove(&["app.jar", "out.jar"]);
    // The line is that of the body.
    let around = "fib 13
> fail
> fail
> fail
< fail
< fail
< fail
caught deep at line 16
";
    assert_eq!(printed(&world, "out.jar"), around);
    let report = world.wove(&["report", "run.wtrace", "--json"]).out;
    assert!(report.contains("com.acme.Main.fail(int)"), "{report}");
    // Its own twice is once too often.
    let again = world.wove(&["out.jar", "again.jar"]);
    assert_eq!(
        world.read("out.jar"),
        world.read("again.jar"),
        "{}",
        again.err
    );
    // With nothing but hooks there is nothing of the library to see: the body says that it is one.
    world.write(
        "weave.toml",
        rules.replace("advice = [\"enter\", \"exit\", \"exception\"]\n", ""),
    );
    world.wove(&["app.jar", "bare.jar"]);
    world.weave(&["bare.jar", "again.jar"]);
    assert_eq!(printed(&world, "again.jar"), around);
    // Constructors are not left out.
    world.write(
        "weave.toml",
        rules.replace("method = \"fail\"", "kind = \"constructor\", min-size = 0"),
    );
    let ran = world.weave(&["app.jar", "none.jar"]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.err.contains("a constructor cannot have `around`"),
        "{}",
        ran.err
    );
    assert!(!world.at("none.jar").exists());
}

#[test]
fn a_depfile_lists_the_libraries() {
    let world = world();
    world.wove(&["app.jar", "out.jar", "--depfile", "out.d"]);
    let list = String::from_utf8(world.read("out.d")).unwrap();
    assert!(list.contains("hooks.jar"), "{list}");
    assert_eq!(
        world.weave(&["app.jar", "hooks.jar"]).status,
        2,
        "an output onto a library"
    );
}

#[test]
fn calls_of_the_platform_have_hooks() {
    let world = world();
    world.write("weave.toml", AT_CALLS);
    let plan = world.wove(&["plan", "app.jar", "--details"]).out;
    assert!(
        plan.contains("calls java.io.PrintStream.println(String)"),
        "{plan}"
    );
    assert!(
        plan.contains("before: acme.Log.begin(String, Object) gets 'println', arg(0)"),
        "{plan}"
    );
    assert!(
        plan.contains("0 methods of 1 class in 1 artifact would be woven"),
        "{plan}"
    );
    let told = world.wove(&["app.jar", "out.jar"]).err;
    assert!(told.contains("redirected 2 calls"), "{told}");
    assert_eq!(
        printed(&world, "out.jar"),
        "> println fib 13\nfib 13\n> println caught deep at line 16\ncaught deep at line 16\n"
    );
    // A second job takes the jar from the cache: it writes the same bytes and prints the same.
    for out in ["cached.jar", "hit.jar"] {
        let told = world.wove(&["app.jar", out, "--cache", "cache"]).err;
        assert!(told.contains("redirected 2 calls"), "{told}");
        assert_eq!(world.read(out), world.read("out.jar"));
    }
    // What is redirected already has no such calls any more.
    let again = world.wove(&["out.jar", "again.jar"]).err;
    assert!(again.contains("matched no call"), "{again}");
    // Nothing is written where a hook does not fit.
    world.write(
        "weave.toml",
        AT_CALLS.replace("method, arg(0)", "method, this"),
    );
    let ran = world.weave(&["app.jar", "no.jar"]);
    assert_eq!(ran.status, 2);
    assert!(!world.at("no.jar").exists());
    let refused = ran.err;
    assert!(
        refused.contains("`this` of the calling method is not supported at calls yet"),
        "{refused}"
    );
}

/// What calls of the platform are recorded.
const RECORDED: &str = r#"version = 1

[[aspect]]
name = "recorded"
at = { call = { type = "java.io.PrintStream", method = "println" } }
record = ["line = arg(0)", "into = target"]
"#;

/// Runs the program: what it prints, and the rows of its trace (method, calls).
fn recorded(world: &World, class_path: &str) -> (String, Vec<(String, u64)>) {
    let _ = std::fs::remove_file(world.at("run.wtrace"));
    let printed = printed(world, class_path);
    let report = world.wove(&["report", "run.wtrace", "--json"]).out;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let methods = report["methods"].as_array().unwrap();
    let row = |method: &serde_json::Value| {
        assert_eq!(method["artifact"], serde_json::Value::Null);
        let label = method["label"].as_str().unwrap().to_owned();
        (label, method["calls"].as_u64().unwrap())
    };
    (printed, methods.iter().map(row).collect())
}

#[test]
fn calls_of_the_platform_are_rows_of_the_trace() {
    let row = ("java.io.PrintStream.println(String)".to_owned(), 2);
    let world = world();
    world.write("weave.toml", RECORDED);
    let plan = world.wove(&["plan", "app.jar", "--details"]).out;
    assert!(
        plan.contains("println(String), 2 times  [enter, exit, exception]"),
        "{plan}"
    );
    world.wove(&["app.jar", "out.jar"]);
    let (out, rows) = recorded(&world, "out.jar");
    assert_eq!(out, printed(&world, "app.jar"));
    assert_eq!(rows, std::slice::from_ref(&row));
    let by = world.wove(&["report", "run.wtrace", "--by", "line"]).out;
    assert!(by.contains("\"caught deep at line 16\""), "{by}");
    // The same bytes on one thread, and of a cache.
    world.wove(&["app.jar", "one.jar", "--jobs", "1"]);
    assert_eq!(world.read("one.jar"), world.read("out.jar"));
    for out in ["cached.jar", "hit.jar"] {
        world.wove(&["app.jar", out, "--cache", "cache"]);
        assert_eq!(world.read(out), world.read("out.jar"));
    }
    // One id, though two jars make such calls, and in one of them other hooks do more.
    for name in ["lib/a.jar", "lib/b.jar"] {
        world.write(name, world.read("app.jar"));
    }
    let only_b = "[[aspect]]\nmatch = { artifact = \"b.jar\" }";
    let more = AT_CALLS.replace("[[aspect]]", only_b);
    let more = more.strip_prefix("version = 1").unwrap();
    world.write("weave.toml", format!("{RECORDED}{more}"));
    world.wove(&["lib", "out"]);
    let (plain, rows) = recorded(&world, "out/a.jar");
    assert_eq!((plain, rows), (out, vec![row.clone()]));
    let (more, rows) = recorded(&world, "out/b.jar");
    assert!(more.starts_with("> println fib 13\nfib 13\n"), "{more}");
    assert_eq!(rows, std::slice::from_ref(&row));
    let plan = world.wove(&["plan", "lib", "--json"]).out;
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    let classes = plan["classes"].as_array().unwrap();
    let calls = classes
        .iter()
        .flat_map(|class| class["calls"].as_array().unwrap());
    let ids: Vec<u64> = calls.map(|call| call["id"].as_u64().unwrap()).collect();
    assert!(
        ids.len() > 1 && ids.iter().all(|id| *id == ids[0]),
        "{ids:?}"
    );
    // Jars in an archive, which has what they need.
    world.tool("jar", &["cf0", "outer.zip", "-C", ".", "lib"]);
    world.wove(&["outer.zip", "nested.zip"]);
    world.tool("jar", &["xf", "nested.zip"]);
    assert_eq!(recorded(&world, "lib/a.jar:nested.zip").1, [row]);
}

/// Hooks at each kind of point, of a dex file as a library.
const POINTS_OF_DEX: &str = r#"version = 1

[[library]]
path = "hooks.dex"

[[aspect]]
name = "got"
at = { field-get = { type = "**" } }
before = "acme.All.start(signature, line, 2)"
after = "acme.All.returned(1, target?, 2)"

[[aspect]]
name = "set"
at = { field-set = { type = "**" } }
before = "acme.All.returned(1, value, 2)"

[[aspect]]
name = "made"
at = { new = { type = "**" } }
before = "acme.All.start(method, line, 2)"
after = "acme.All.returned(1, result, 2)"

[[aspect]]
name = "thrown"
at = { throw = "java.lang.RuntimeException" }
before = "acme.All.thrown(exception, 1)"

[[aspect]]
name = "caught"
at = { catch = "**" }
before = "acme.All.thrown(exception, 1)"

[[aspect]]
name = "locked"
at = { monitor-enter = true }
before = "acme.All.returned(1, target, 2)"
after = "acme.All.returned(1, target, 2)"

[[aspect]]
name = "given up"
at = { monitor-exit = true }
before = "acme.All.returned(1, target, 2)"
after = "acme.All.returned(1, target, 2)"

[[aspect]]
name = "line"
at = { line = 60 }
before = "acme.All.returned(1, this, 2)"

[[aspect]]
name = "of a result"
at = { line = 62 }
before = "acme.All.returned(1, this, 2)"
"#;

/// A dex file with points, and its library.
fn world_of_points(rules: &str) -> World {
    let world = World::new();
    for name in ["points.dex", "hooks.dex"] {
        let path = root().join("tests/dex").join(name);
        world.write(name, std::fs::read(path).unwrap());
    }
    world.write("weave.toml", rules);
    world
}

#[test]
fn points_of_dex_files_get_hooks_or_a_reason() {
    let world = world_of_points(POINTS_OF_DEX);
    let plan = world.wove(&["plan", "points.dex", "--details"]).out;
    for told in [
        // In front of `super(..)` there is no object to pass, and that call makes none.
        "<init>(String) sets Points.text\n",
        "<init>(String) makes Base\n",
        "made(boolean, String) makes Points, 2 times",
        "open(String) catches java.lang.Exception",
        "locks(Object, Object) takes a lock, 2 times",
        "locks(Object, Object) gives up a lock, 2 times\n        before",
        "lines() has the line, 2 times",
        "29 hooks at points",
        "5 left: a point is left unchanged: no handler would release the lock that is held there",
        // A line that begins between a call and its result.
        "1 left: its code has a shape that cannot be woven soundly",
        "1 left: a point where the object is not initialised yet is left unchanged",
    ] {
        assert!(plan.contains(told), "{told}: {plan}");
    }
    world.wove(&["points.dex", "out.dex"]);
    let verified = world.wove(&["verify", "out.dex"]).out;
    assert!(verified.contains("all hold together"), "{verified}");
    world.wove(&["points.dex", "one.dex", "--jobs", "1"]);
    assert_eq!(world.read("out.dex"), world.read("one.dex"));
    // What is asked for and has no place fails.
    let strict = world.weave(&["points.dex", "strict.dex", "--strict"]);
    assert_eq!(strict.status, 1, "{}", strict.err);
}

#[test]
fn an_object_of_a_dex_file_is_replaced_where_it_is_made_in_one_go() {
    let rules = r#"version = 1

[[library]]
path = "hooks.dex"

[[aspect]]
name = "instead"
match = { method = "made" }
at = { new = { type = "Points" } }
replace = "acme.All.REPLACED(arg(0))"
"#;
    let refused = world_of_points(&rules.replace("REPLACED", "text"));
    let ran = refused.weave(&["points.dex", "out.dex"]);
    assert_eq!(ran.status, 2);
    let told = "`acme.All.text` returns a `String`";
    assert!(ran.err.contains(told), "{}", ran.err);
    assert!(ran.err.contains("weave.toml:10:12"), "{}", ran.err);
    let world = world_of_points(&rules.replace("REPLACED", "points"));
    let plan = world.wove(&["plan", "points.dex"]).out;
    assert!(plan.contains("1 hook at points"), "{plan}");
    let left = "1 left: an object is left unchanged: it is created across a branch, or never used";
    assert!(plan.contains(left), "{plan}");
    world.wove(&["points.dex", "out.dex"]);
    let verified = world.wove(&["verify", "out.dex"]).out;
    assert!(verified.contains("all hold together"), "{verified}");
}

/// The mask of a recorded value holds for messages of exceptions, too; switches leave messages and names out.
#[test]
fn masks_hold_for_messages() {
    let world = World::new();
    world.write(
        "src/Login.java",
        "public class Login {
    static void in(String line) { throw new IllegalStateException(\"bad \" + line + \" here\"); }
    public static void main(String[] args) {
        for (int i = 0; i < 3; i++) try { in(\"password=HUSH\"); } catch (IllegalStateException e) { System.out.println(e.getMessage()); }
    }
}",
    );
    world.write(
        "weave.toml",
        "version = 1\n[[aspect]]\nmatch = { type = \"Login\", method = \"in\" }\nrecord = [\"arg(0)\"]\nmask = [\"password=*\"]\n",
    );
    world.tool("javac", &["-d", "app", "src/Login.java"]);
    world.tool("jar", &["cfe", "login.jar", "Login", "-C", "app", "."]);
    world.wove(&["login.jar", "out.jar"]);
    let run = |more: &[&str]| {
        let ran = world.tool("java", &[more, &["-jar", "out.jar"]].concat());
        assert_eq!(ran.out, "bad password=HUSH here\n".repeat(3));
        let report = world
            .wove(&["report", "--json", "--exceptions", "run.wtrace"])
            .out;
        fs::remove_file(world.at("run.wtrace")).unwrap();
        assert!(!report.contains("HUSH"), "{report}");
        report
    };
    let masked = run(&[]);
    assert!(masked.contains("\"bad ***"), "{masked}");
    let none = run(&["-Dweave.trace.messages=off", "-Dweave.trace.command=off"]);
    assert!(
        !none.contains("bad") && none.contains("IllegalStateException"),
        "{none}"
    );
    assert!(!none.contains("out.jar"), "{none}");
}

/// What weaves a program of one file, `src/Main.java`, with hooks in it.
fn world_of(source: &str) -> World {
    let world = World::new();
    world.write("src/Main.java", source);
    let options = ["--release", "17", "-g", "-d", "classes", "src/Main.java"];
    world.tool("javac", &options);
    world.tool("jar", &["cf", "app.jar", "-C", "classes", "."]);
    world
}

/// Calls of the same method in classes of all kinds.
const DELETES: &str = r#"
import java.io.File;
import java.util.AbstractList;
import java.util.TimerTask;

public class Main {
    static File file() { return new File("/there/is/no/such"); }
    static class Job extends TimerTask { public void run() { file().delete(); } }
    static class Numbers extends AbstractList<Integer> {
        public Integer get(int i) { file().delete(); removeRange(0, 0); return i; }
        public int size() { return 1; }
    }
    static class Fault extends IllegalStateException { void tell() { file().delete(); } }
    static class Own extends File {
        Own() { super("/there/is/no/such"); }
        public boolean delete() { return super.delete(); }
    }
    enum Color { RED { void paint() { file().delete(); } }; abstract void paint(); }
    record Point(int x) { Point { file().delete(); } }
    static class Ui extends lib.Base { void show() { file().delete(); other(); new lib.Base().open(); } }
    public static void main(String[] args) {
        new Job().run();
        new Numbers().get(0);
        new Fault().tell();
        new Own().delete();
        Color.RED.paint();
        new Point(1);
        new Ui().show();
    }
}
"#;

#[test]
fn what_a_class_of_the_platform_is_below_keeps_no_call() {
    let world = World::new();
    let base =
        "package lib; public class Base { protected void other() { } public void open() { } }";
    world.write("lib/lib/Base.java", base);
    world.write("src/Main.java", DELETES);
    world.write(
        "src/H.java",
        "public class H { public static boolean delete(java.io.File f) { System.out.println(\"no\"); return false; } public static void saw(String m) { } }",
    );
    world.tool(
        "javac",
        &["--release", "17", "-d", "base", "lib/lib/Base.java"],
    );
    let options = ["--release", "17", "-cp", "base", "-d", "classes"];
    let sources = ["src/Main.java", "src/H.java"];
    world.tool("javac", &[&options[..], &sources].concat());
    world.tool("jar", &["cf", "app.jar", "-C", "classes", "."]);
    let rules = |at: &str, hook: &str| {
        format!("version = 1\n[[aspect]]\nname = \"a\"\nat = {{ call = {{ {at} }} }}\n{hook}\n")
    };
    // A call that is replaced needs no proof; that of what a class overrides itself is another one.
    let deletes = "type = \"java.io.File\", method = \"delete\"";
    world.write(
        "weave.toml",
        rules(deletes, "replace = \"H.delete(target)\""),
    );
    let told = world.wove(&["--strict", "app.jar", "out.jar"]).err;
    assert!(
        told.contains("redirected 6 calls (1 left: 1 call of super)"),
        "{told}"
    );
    let ran = world.tool("java", &["-cp", "out.jar:base", "Main"]).out;
    assert_eq!(ran, "no\n".repeat(6));
    // Hooks beside the call need it: the platform is known, what a library has is not.
    let saw = "before = \"H.saw(method)\"";
    world.write("weave.toml", rules(deletes, saw));
    let told = world.wove(&["--strict", "app.jar", "out.jar"]).err;
    assert!(told.contains("redirected 6 calls (1 left"), "{told}");
    world.write("weave.toml", rules("type = \"lib.Base\"", saw));
    let told = world.wove(&["app.jar", "out.jar"]).err;
    assert!(
        told.contains(
            "warning: app.jar: in Main$Ui.show() a call is left unchanged: a superclass is unknown"
        ),
        "{told}"
    );
    assert!(told.contains("1 left: 1 call of unknown"), "{told}");
    assert_eq!(world.weave(&["--strict", "app.jar", "no.jar"]).status, 1);
    assert!(!world.at("no.jar").exists());
    let told = world
        .wove(&["app.jar", "out.jar", "--reference", "base"])
        .err;
    assert!(told.contains("redirected 1 call ->"), "{told}");
    // What a rule names and cannot have is told, and fails.
    let range = "type = \"Main.Numbers\", method = \"removeRange\"";
    world.write("weave.toml", rules(range, saw));
    let told = world.weave(&["--strict", "app.jar", "no.jar"]);
    assert_eq!(told.status, 1, "{}", told.err);
    assert!(
        told.err
            .contains("in Main$Numbers.get(int) a call of a member that is not public"),
        "{}",
        told.err
    );
    world.write("weave.toml", rules("method = \"removeRange\"", saw));
    world.wove(&["--strict", "app.jar", "out.jar"]);
}

#[test]
fn calls_are_found_by_what_their_type_is_below() {
    let world = world_of(
        r#"
import java.util.concurrent.*;
public class Main {
    static class Pool extends ThreadPoolExecutor {
        Pool() { super(1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>()); }
    }
    public static class H {
        public static void run(Executor executor, Runnable task) { System.out.println("handed over"); executor.execute(task); }
    }
    public static void main(String[] args) throws Exception {
        Pool pool = new Pool();
        pool.execute(() -> { });
        ExecutorService service = pool;
        service.execute(() -> { });
        pool.shutdown();
    }
}
"#,
    );
    world.write(
        "weave.toml",
        "version = 1
[[aspect]]
at = { call = { extends = \"java.util.concurrent.Executor\", method = \"execute\" } }
match = { method = \"main\" }
replace = \"Main.H.run(target, args..)\"
",
    );
    let told = world.wove(&["--strict", "app.jar", "out.jar"]).err;
    assert!(told.contains("redirected 2 calls"), "{told}");
    let ran = world.tool("java", &["-cp", "out.jar", "Main"]).out;
    assert_eq!(ran, "handed over\nhanded over\n");
}

const ACCOUNT: &str = r#"
import java.util.List;
public class Main {
    static class Account {
        private boolean frozen;
        String owner = "bob";
        void freeze(boolean frozen) { this.frozen = frozen; }
        void close() { }
        String owner() { return owner; }
        List<String> names(List<String> names) { return names.size() > 1 ? names : null; }
    }
    public static class Session {
        static String user = "eve";
        public static String user() { return user; }
        static void login(String name) { if (name.isEmpty()) throw new IllegalArgumentException(); user = name; }
        String of() { return user; }
    }
    public static class H {
        public static void deny(String method) { throw new SecurityException(method); }
        public static void saw(Object value) { }
        public static void all(String what, Object... values) { System.out.println(what + java.util.Arrays.toString(values)); }
        public static <T> T same(T value) { return value; }
        public static Object odd(Object value) { return 12; }
        public static Object around(java.util.function.Supplier<Object> body) { return body.get(); }
        String helper(String text) { return text.isEmpty() ? text : text + text; }
    }
    static void attempt(Runnable run) { try { run.run(); System.out.println("ran"); } catch (SecurityException e) { System.out.println(e.getMessage()); } }
    public static void main(String[] args) {
        Account account = new Account();
        attempt(() -> account.freeze(true));
        attempt(account::close);
        attempt(() -> account.owner());
        Session.login("bob");
        attempt(() -> System.out.println(account.names(List.of("a", "b"))));
    }
}
"#;

fn aspect(lines: &str) -> String {
    format!("version = 1\n[[aspect]]\nname = \"a\"\n{lines}\n")
}

#[test]
fn hooks_that_decide_take_what_is_trivial() {
    let world = world_of(ACCOUNT);
    let account = "match = { type = \"Main.Account\", kind = \"method\" }";
    let ran = |out: &str| {
        world
            .tool("java", &["-Xverify:all", "-cp", out, "Main"])
            .out
    };
    let deny = "enter = \"Main.H.deny(method)\"";
    world.write(
        "weave.toml",
        aspect(&format!("{account}\n{deny}\nguard = false")),
    );
    world.wove(&["app.jar", "out.jar"]);
    assert!(ran("out.jar").starts_with("freeze\nclose\nowner\nnames\n"));
    // What only looks on leaves it out, and says so.
    world.write("weave.toml", aspect(&format!("{account}\n{deny}")));
    let told = world.wove(&["app.jar", "out.jar"]).err;
    assert!(
        told.contains("wove 1 method") && told.contains("(3 left: 3 trivial)"),
        "{told}"
    );
    // What a generic hook gives is cast; where that fails, the value stays.
    for hook in ["same", "odd"] {
        let changes = format!("exit = \"result? = Main.H.{hook}(result?)\"");
        world.write("weave.toml", aspect(&format!("{account}\n{changes}")));
        let told = world.wove(&["app.jar", "out.jar"]).err;
        assert!(told.contains("wove"), "{told}");
        assert_eq!(ran("out.jar"), "ran\nran\nran\n[a, b]\nran\n");
    }
    // A hook that takes any number of objects gets what is left.
    let all = "enter = \"Main.H.all(method, arg(0)?, 'x', 3)\"";
    world.write(
        "weave.toml",
        aspect(&format!(
            "match = {{ method = \"freeze\", min-size = 0 }}\n{all}"
        )),
    );
    world.wove(&["app.jar", "out.jar"]);
    assert!(ran("out.jar").starts_with("freeze[true, x, 3]\nran\n"));
    let unguarded = "enter = \"arg(0)? = Main.H.same(arg(0)?)\"\nguard = false";
    world.write(
        "weave.toml",
        aspect(&format!("match = {{ method = \"names\" }}\n{unguarded}")),
    );
    world.wove(&["app.jar", "out.jar"]);
    assert_eq!(ran("out.jar"), "ran\nran\nran\n[a, b]\nran\n");
}

#[test]
fn what_is_said_in_vain_is_told() {
    let world = world_of(ACCOUNT);
    let told = |lines: &str| {
        world.write("weave.toml", aspect(lines));
        world.wove(&["app.jar", "out.jar"]).err
    };
    let names = told(
        "match = { type = \"Main.Account\" }\nenter = \"Main.H.saw(nmaes?)\"\nrecord = [\"names?\", \"ownr?\"]",
    );
    assert!(
        names.contains("no method that it takes has a parameter `nmaes`")
            && names.contains("no method that it takes has a parameter `ownr`")
            && !names.contains("parameter `names`"),
        "{names}"
    );
    let around = told(
        "match = { type = \"Main.Account\", kind = \"constructor\", min-size = 0 }\naround = \"Main.H.around(proceed?)\"",
    );
    assert!(
        around.contains("`proceed?` skips every method that it matches"),
        "{around}"
    );
    let some = told(
        "match = { type = \"Main.Account\", min-size = 0 }\naround = \"Main.H.around(proceed?)\"",
    );
    assert!(!some.contains("skips every"), "{some}");
    // A type that gives values is woven but for what gives them; one that has hooks is not, and that is told.
    let all = "match = { type = \"Main.*\", min-size = 0 }\n";
    let values = told(&format!("{all}record = [\"user = Main.Session.user()\"]"));
    assert!(values.contains("1 left: 1 hook type"), "{values}");
    let hooks = told(&format!("{all}enter = \"Main.H.saw(this?)\""));
    assert!(hooks.contains("hook type"), "{hooks}");
    let said = |rules: &str| {
        world.write("weave.toml", aspect(rules));
        let ran = world.weave(&["app.jar", "no.jar"]);
        assert_eq!(ran.status, 2, "{}", ran.err);
        ran.err
    };
    let all = "match = { type = \"Main.Account\" }\n";
    let near = said(&format!("{all}enter = \"Main.H.sav(this?)\""));
    assert!(near.contains("did you mean `saw`?"), "{near}");
    let instance = said(&format!("{all}enter = \"Main.H.helper('x')\""));
    assert!(
        instance.contains("`Main.H.helper` is an instance method"),
        "{instance}"
    );
    let ty = said(&format!("{all}enter = \"Main.HH.saw(this?)\""));
    assert!(ty.contains("did you mean `Main.H`?"), "{ty}");
}
