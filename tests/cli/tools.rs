//! The commands around the main job: plan, verify, init, runtime.

use crate::jdk::jdk;
use crate::support::{self, DEX, STEPS, World};

#[test]
fn plan_tells_what_and_why_not() {
    let world = World::with_jar();
    insta::assert_snapshot!(world.wove(&["plan", "app.jar", "--details"]).out);
    insta::assert_snapshot!(world.wove(&["plan", "app.jar"]).out, @r"
      methods  classes     left  artifact
            3        2        2  app.jar

    rules: pack:default
    3 methods of 2 classes in 1 artifact would be woven
            3 by aspect `default`
            2 left: empty or a trivial accessor (name it with min-size = 0)
    --details lists every method, --filter TEXT those whose names contain it
    ");
    let filtered = world.wove(&["plan", "app.jar", "--filter", "Fib"]).out;
    assert!(
        filtered.contains("+ of(int)") && !filtered.contains("Main"),
        "{filtered}"
    );
    insta::assert_snapshot!(world.wove(&["plan", "app.jar", "--summary", "--filter", "Fib"]).out, @r"
    rules: pack:default
    1 method of 1 class in 1 artifact would be woven
            1 by aspect `default`
            1 left: empty or a trivial accessor (name it with min-size = 0)
    ");
    let json = world.wove(&["plan", "app.jar", "--json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["methods"], 3);
    assert_eq!(json["left"]["trivial"], 2);
    assert!(
        json["classes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|c| c["type"] == "com/acme/Fib")
    );
    assert_eq!(
        std::fs::read_dir(world.path()).unwrap().count(),
        2,
        "nothing is written"
    );
}

#[test]
fn plan_tells_where_traces_begin() {
    let world = World::with_jar();
    world.write("steps.dll", STEPS);
    world.write("classes.dex", DEX);
    for (file, ty, method) in [
        ("app.jar", "com.acme.Main", "main"),
        ("steps.dll", "Plain", "*"),
        ("classes.dex", "fix.Everything", "poly"),
    ] {
        let rules = format!(
            "version = 1
[[aspect]]
name = \"all\"
match = {{ type = \"**\" }}
[[aspect]]
name = \"requests\"
match = {{ type = \"{ty}\", method = \"{method}\" }}
root = true
"
        );
        world.write("weave.toml", &rules);
        let json = world.wove(&["plan", file, "--json"]).out;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let classes = json["classes"].as_array().unwrap().iter();
        let woven: Vec<_> = classes
            .flat_map(|class| class["woven"].as_array().unwrap())
            .collect();
        let by_requests = |method: &serde_json::Value| {
            let aspects = method["aspects"].as_array().unwrap();
            aspects.iter().any(|aspect| aspect == "requests")
        };
        let roots = woven.iter().filter(|method| by_requests(method)).count();
        assert!(roots > 0 && roots < woven.len(), "{file}: {json}");
        for method in woven {
            assert_eq!(method["root"], by_requests(method), "{file}: {method}");
        }
        let text = world.wove(&["plan", file, "--details"]).out;
        let marked = text.lines().filter(|line| line.contains("  root  by "));
        assert_eq!(marked.count(), roots, "{text}");
    }
}

#[test]
fn plan_tells_levels() {
    let world = World::with_jar();
    let rules = |all: &str, level: &str| {
        format!(
            "version = 1
[[aspect]]
name = \"all\"
match = {{ type = \"com.acme.*\" }}
{all}
[[aspect]]
name = \"numbers\"
match = {{ type = \"com.acme.Fib\" }}
{level}
"
        )
    };
    world.write("weave.toml", rules("", "level = \"debug\""));
    let told = world.wove(&["plan", "app.jar"]).out;
    assert!(told.contains("3 by aspect `all`\n"), "{told}");
    assert!(
        told.contains("1 by aspect `numbers`, level debug\n"),
        "{told}"
    );
    assert!(told.contains("1 of them cannot be switched"), "{told}");
    let json = world.wove(&["plan", "app.jar", "--json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["aspects"][1]["level"], "debug");
    let auto = "mode = \"auto\"";
    world.write("weave.toml", rules(auto, "level = \"debug\""));
    let told = world.wove(&["plan", "app.jar", "--details"]).out;
    assert!(told.contains("[switched]"), "{told}");
    assert!(
        told.contains("2 by aspect `all`, level info, auto\n"),
        "{told}"
    );
    let short = "- fail(int): short, so auto leaves it to its callers (min-size = 0 takes it)";
    assert!(told.contains(short), "{told}");
    assert!(!told.contains("cannot be switched"), "{told}");
    world.write(
        "weave.toml",
        rules("sample = \"1/100\"", "sample = \"10/s\""),
    );
    let told = world.wove(&["plan", "app.jar"]).out;
    let all = "3 by aspect `all`, level info, sampled 1/100\n";
    let numbers = "1 by aspect `numbers`, level info, sampled 10/s\n";
    assert!(told.contains(all) && told.contains(numbers), "{told}");
    let json = world.wove(&["plan", "app.jar", "--json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["aspects"][0]["sample"], "1/100");
    world.write("weave.toml", rules("", ""));
    let json = world.wove(&["plan", "app.jar", "--json"]).out;
    assert!(
        !json.contains("level") && !json.contains("sample"),
        "{json}"
    );
}

/// Several aspects can take a method, and one can take what another leaves out.
#[test]
fn plan_tells_which_aspect_took_what() {
    let world = World::with_jar();
    let rules = "version = 1
[[aspect]]
name = \"numbers\"
match = { type = \"com.acme.Fib\" }
advice = \"enter\"
[[aspect]]
name = \"all\"
match = { type = \"com.acme.*\" }
exclude = { method = \"fail\" }
[[aspect]]
name = \"failures\"
match = { method = \"fail\" }
advice = \"exception\"
[[aspect]]
name = \"nobody\"
match = { type = \"org.other.*\" }
";
    world.write("weave.toml", rules);
    insta::assert_snapshot!(world.wove(&["plan", "app.jar", "--details"]).out, @r"
    app.jar
      com.acme.Fib
        + of(int)  by numbers, all
        - <init>(): empty or a trivial accessor (name it with min-size = 0)  by numbers, all
      com.acme.Main
        + main(String[])  by all
        + fail(int)  [exception]  by failures
        - <init>(): empty or a trivial accessor (name it with min-size = 0)  by all

    warning: aspect `nobody` matched no method
    rules: weave.toml
    3 methods of 2 classes in 1 artifact would be woven
            1 by aspect `numbers`
            2 by aspect `all`
            1 by aspect `failures`
            2 left: empty or a trivial accessor (name it with min-size = 0)
    ");
    let json = |args: &[&str]| -> serde_json::Value {
        let planned = world.wove(&[&["plan"], args, &["--json"]].concat());
        serde_json::from_str(&planned.out).unwrap()
    };
    let planned = json(&["app.jar", "--filter", "Fib"]);
    insta::assert_snapshot!(planned["aspects"], @r#"[{"aspect":"numbers","methods":1,"left":1},{"aspect":"all","methods":1,"left":1},{"aspect":"failures","methods":0,"left":0},{"aspect":"nobody","methods":0,"left":0}]"#);
    let fib = &planned["classes"][0];
    insta::assert_snapshot!(fib["woven"][0]["aspects"], @r#"["numbers","all"]"#);
    insta::assert_snapshot!(fib["left"][0]["aspects"], @r#"["numbers","all"]"#);

    // The other formats, and what cannot be woven, have theirs as well.
    let rules = "version = 1
[[aspect]]
name = \"sections\"
match = { type = \"**\" }
hooks = \"android-trace\"
[[aspect]]
name = \"all\"
match = { type = \"**\", min-size = 0 }
";
    world.write("weave.toml", rules);
    world.write("steps.dll", STEPS);
    world.write("classes.dex", DEX);
    for (file, sections) in [("steps.dll", false), ("classes.dex", true)] {
        let planned = json(&[file]);
        let classes = planned["classes"].as_array().unwrap();
        let of = |key: &'static str| {
            let methods = classes.iter().flat_map(move |c| c[key].as_array().unwrap());
            methods.collect::<Vec<_>>()
        };
        let woven = of("woven");
        assert_eq!(woven.len() as u64, planned["methods"], "{file}");
        assert_eq!(
            planned["aspects"][1]["methods"], planned["methods"],
            "{file}"
        );
        for method in woven {
            let aspects = method["aspects"].to_string();
            assert!(aspects.contains("\"all\""), "{file}: {method}");
            assert_eq!(
                aspects.contains("sections"),
                method["advice"].to_string().contains("android-trace"),
                "{file}: {method}"
            );
        }
        let left = of("left");
        assert!(
            left.iter().all(|method| method["aspects"][0].is_string()),
            "{file}: {left:?}"
        );
        let by_sections = planned["aspects"][0]["methods"].as_u64().unwrap();
        assert_eq!(by_sections > 0, sections, "{file}");
    }
}

/// `weave` alone, a command that is misspelt, and help answer as other tools' do.
#[test]
fn commands_are_listed_and_near_words_found() {
    let world = World::with_jar();
    let told = |args: &[&str], status: i32| {
        let ran = world.weave(args);
        assert_eq!(ran.status, status, "{args:?}: {}{}", ran.out, ran.err);
        ran.out + &ran.err
    };
    let alone = told(&[], 2);
    for command in ["plan", "report", "export", "init"] {
        assert!(
            alone.contains(&format!("\n  {command} ")),
            "{command}: {alone}"
        );
    }
    assert!(!alone.contains("error:"), "{alone}");
    for (args, near) in [
        (&["repot", "x"][..], "report"),
        (&["exprot", "run.wtrace", "--to", "csv"], "export"),
        (&["Plan"], "plan"),
        (&["help", "colect"], "collect"),
    ] {
        let told = told(args, 2);
        assert!(told.contains(&format!("did you mean `{near}`?")), "{told}");
    }
    let told_of = told(&["frobnicate"], 2);
    assert!(told_of.contains("commands are plan, report, "), "{told_of}");
    assert!(told(&["help", "plan"], 0).contains("Usage: weave plan "));
    assert!(told(&["help"], 0).contains("Examples:"));

    // A file decides: the main form is `weave IN OUT`. What is near to no command is a file that is missing.
    world.write("repot", world.read("app.jar"));
    assert!(told(&["repot", "out.jar"], 0).contains("wove 3 methods"));
    assert!(told(&["nowhere", "out.jar"], 1).contains("cannot read nowhere"));
    assert!(told(&["./report", "out.jar"], 1).contains("cannot read ./report"));
}

#[test]
fn verify_finds_what_does_not_hold() {
    let world = World::with_jar();
    world.wove(&["app.jar", "out.jar"]);
    let ran = world.wove(&["verify", "out.jar"]);
    assert!(ran.out.ends_with("all hold together\n"), "{}", ran.out);

    // A branch into the middle of an instruction: `if_icmpge` (0xa2) of Fib.of.
    let mut class = world.read("classes/com/acme/Fib.class");
    let at = class
        .windows(3)
        .position(|w| w == [0x1a, 0x05, 0xa2])
        .unwrap();
    class[at + 4] = 1;
    world.write("Fib.class", &class);
    let ran = world.weave(&["verify", "Fib.class"]);
    assert_eq!(ran.status, 1);
    insta::assert_snapshot!(ran.out, @r"
    Fib.class: of(I)I: branch to 3, inside an instruction (at byte 0x138)
    2 methods in 1 class verified: 1 failure
    ");
    let ran = world.weave(&["verify", "Fib.class", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["failures"][0]["method"], "of(I)I");
    assert_eq!(json["failures"][0]["offset"], at + 2);
}

/// HotSpot refuses such classes when it loads them (JVMS 4.1, 4.5, 4.6).
#[test]
fn verify_finds_members_and_interfaces_that_are_declared_twice() {
    let world = World::new();
    let source = r#"
interface Face1 {}
interface Face2 {}
public class Twice implements Face1, Face2 {
    int field1;
    int field2;
    static int method1(int n) { return n; }
    static int method2(int n) { return n + 1; }
    public static void main(String[] args) { System.out.println("loaded"); }
}
"#;
    world.write("Twice.java", source);
    world.tool("javac", &["-d", ".", "Twice.java"]);
    let class = world.read("Twice.class");
    assert_eq!(world.tool("java", &["Twice"]).out, "loaded\n");
    world.wove(&["verify", "Twice.class"]);
    for (first, second, told, word) in [
        ("Face1", "Face2", "the interface Face1", "interface"),
        ("field1", "field2", "the field field1 of type I", "field"),
        ("method1", "method2", "method1(I)I: the method", "method"),
    ] {
        // The text of one name becomes the other's: the pool has it twice.
        let mut twice = class.clone();
        let at = (twice.windows(second.len())).position(|w| w == second.as_bytes());
        twice[at.unwrap()..][..first.len()].copy_from_slice(first.as_bytes());
        world.write("Twice.class", &twice);
        let ran = world.weave(&["verify", "Twice.class"]);
        let expected = format!("{told} is declared twice");
        assert!(ran.status == 1 && ran.out.contains(&expected), "{ran:?}");
        let java = jdk("java").arg("Twice").current_dir(world.path()).output();
        let java = support::ran(java.unwrap());
        let refusal = format!("ClassFormatError: Duplicate {word} name");
        assert!(java.status == 1 && java.err.contains(&refusal), "{java:?}");
    }
}

#[test]
fn init_writes_rules_that_weave_and_never_overwrites() {
    let world = World::with_jar();
    world.wove(&["init"]);
    world.wove(&["plan", "app.jar"]);
    world.write("weave.toml", "mine");
    let ran = world.weave(&["init"]);
    assert_eq!(ran.status, 2);
    insta::assert_snapshot!(ran.err, @"error: weave.toml is there already: remove it first, or name another file");
    assert_eq!(world.read("weave.toml"), b"mine");
}

/// The rules fit the build beside them, and weave says what to add to it.
#[test]
fn init_fits_the_build_that_it_finds() {
    let world = World::new();
    let init = |folder: &str| {
        let ran = world.wove(&["init", &format!("{folder}/weave.toml")]);
        let written = String::from_utf8(world.read(&format!("{folder}/weave.toml"))).unwrap();
        (ran.err, written)
    };
    world.write("gradle/build.gradle", "plugins { id 'java' }\n");
    let (told, rules) = init("gradle");
    insta::assert_snapshot!(told, @r"
    wrote gradle/weave.toml

    Add to gradle/build.gradle:

        plugins {
            id 'dev.weave' version '0.1.0'
        }
    ");
    assert!(rules.contains("com.acme.Orders"), "{rules}");

    world.write("kotlin/build.gradle.kts", "plugins { java }\n");
    let (told, _) = init("kotlin");
    assert!(
        told.contains("        id(\"dev.weave\") version \"0.1.0\"\n"),
        "{told}"
    );

    world.write("maven/pom.xml", "<project/>\n");
    insta::assert_snapshot!(init("maven").0, @r"
    wrote maven/weave.toml

    Add to maven/pom.xml under <build><plugins>:

        <plugin>
          <groupId>dev.weave</groupId><artifactId>weave-maven-plugin</artifactId><version>0.1.0</version>
          <executions><execution><goals><goal>weave</goal></goals></execution></executions>
        </plugin>

    Add to maven/pom.xml under <dependencies>:

        <dependency>
          <groupId>dev.weave</groupId><artifactId>weave-runtime</artifactId><version>0.1.0</version><scope>runtime</scope>
        </dependency>
    ");

    world.write("dotnet/Shop.csproj", "<Project/>\n");
    world.write(
        "dotnet/Tests.fsproj",
        "<Project><!-- Weave.MSBuild --></Project>\n",
    );
    let (told, rules) = init("dotnet");
    insta::assert_snapshot!(told, @r#"
    wrote dotnet/weave.toml

    Add to dotnet/Shop.csproj under <Project>:

        <ItemGroup>
          <PackageReference Include="Weave.MSBuild" Version="0.1.0" />
        </ItemGroup>

    dotnet/Tests.fsproj names Weave.MSBuild already.
    "#);
    assert!(rules.contains("Acme.Shop.Orders"), "{rules}");
    world.write("dotnet/steps.dll", STEPS);
    world.wove(&["plan", "dotnet/steps.dll"]);

    // One file is for all projects. Beside a build for the JVM, the rules are those of both.
    world.write("all/Directory.Build.props", "<Project/>\n");
    world.write("all/Shop.csproj", "<Project/>\n");
    world.write("all/pom.xml", "<project/>\n");
    let (told, rules) = init("all");
    let added: Vec<_> = (told.lines())
        .filter(|line| line.starts_with("Add to"))
        .collect();
    assert_eq!(
        added,
        [
            "Add to all/Directory.Build.props under <Project>:",
            "Add to all/pom.xml under <build><plugins>:",
            "Add to all/pom.xml under <dependencies>:",
        ]
    );
    assert!(rules.contains("com.acme.Orders"), "{rules}");

    // The root of a build whose projects lie below.
    world.write("roots/Shop.slnx", "<Solution/>\n");
    world.write("roots/settings.gradle.kts", "\n");
    let (told, _) = init("roots");
    for line in [
        "Add to a new Directory.Build.props beside the solution under <Project>:",
        "Add to the build script of each project:",
        "        id(\"dev.weave\") version \"0.1.0\"",
    ] {
        assert!(told.contains(line), "{told}");
    }

    // No build: what to do with the program itself.
    let ran = world.wove(&["init"]);
    insta::assert_snapshot!(ran.err, @r"
    wrote weave.toml

    Next: weave plan INPUT shows what it takes; weave INPUT OUTPUT weaves.
    ");
    let shown = world.wove(&["init", "-"]);
    assert!(shown.out.starts_with("# weave.toml"), "{}", shown.out);
}

/// Where one file has the versions of all packages, a reference with a version of its own fails each restore.
#[test]
fn init_knows_central_package_management() {
    let world = World::new();
    let central = "<Project><PropertyGroup>\n<ManagePackageVersionsCentrally> True </ManagePackageVersionsCentrally></PropertyGroup></Project>\n";
    let init = |folder: &str| world.wove(&["init", &format!("{folder}/weave.toml")]).err;
    world.write("all/Directory.Packages.props", central);
    world.write("all/Directory.Build.props", "<Project/>\n");
    world.write("all/Shop.csproj", "<Project/>\n");
    world.write("all/Shop.slnx", "<Solution/>\n");
    insta::assert_snapshot!(init("all"), @r#"
    wrote all/weave.toml

    Add to all/Directory.Packages.props under <Project>:

        <ItemGroup>
          <GlobalPackageReference Include="Weave.MSBuild" Version="0.1.0" />
        </ItemGroup>
    "#);

    // One project below it.
    world.write("all/src/Shop/Shop.csproj", "<Project/>\n");
    let told = init("all/src/Shop");
    let props = world.at("all/Directory.Packages.props");
    let versions = format!(
        "Add to {} under <Project>:\n\n    <ItemGroup>\n      <PackageVersion Include=\"Weave.MSBuild\" Version=\"0.1.0\" />",
        props.display()
    );
    assert!(told.contains(&versions), "{told}");
    assert!(
        told.contains("      <PackageReference Include=\"Weave.MSBuild\" />\n"),
        "{told}"
    );

    // The file alone means nothing.
    world.write("off/Directory.Packages.props", "<Project/>\n");
    world.write("off/Shop.csproj", "<Project/>\n");
    let told = init("off");
    assert!(
        told.contains("<PackageReference Include=\"Weave.MSBuild\" Version="),
        "{told}"
    );
}

#[test]
fn packs_are_listed_and_printed() {
    let world = World::with_jar();
    let told = world.wove(&["packs"]).out;
    assert!(told.lines().count() > 5, "{told}");
    for line in told.lines() {
        let (name, about) = line.split_once(' ').unwrap();
        assert!(about.trim().len() > 20 && line.len() < 200, "{line}");
        let text = world.wove(&["packs", name]).out;
        world.write("one.toml", &text);
        let planned = world.weave(&["plan", "app.jar", "--rules", "one.toml"]);
        // Activities are .NET's.
        let status = if text.contains("\n[[spans]]") { 2 } else { 0 };
        assert_eq!(planned.status, status, "{name}: {}", planned.err);
        assert_eq!(
            text,
            world
                .wove(&["packs", name.strip_prefix("pack:").unwrap()])
                .out
        );
    }
    assert!(told.contains("pack:jdbc          SQL of programs that use JDBC: each statement that runs, with its text\n"), "{told}");
    let ran = world.weave(&["packs", "jdcb"]);
    assert_eq!(ran.status, 2);
    insta::assert_snapshot!(ran.err, @"error: no rules pack is named `jdcb`; did you mean `jdbc`?");
}

#[test]
fn init_speaks_of_csharp_in_a_dotnet_project() {
    let world = World::with_jar();
    world.write("Shop.csproj", "<Project />");
    world.wove(&["init"]);
    let rules = String::from_utf8(world.read("weave.toml")).unwrap();
    assert!(rules.contains("Acme.Shop.Orders") && rules.contains("GeneratedCode"));
    world.wove(&["plan", "app.jar"]);
}

#[test]
fn an_obfuscated_jar_is_woven_and_reported_by_its_original_names() {
    let world = World::with_jar();
    let mapping = "org.shop.Fibonacci -> com.acme.Fib:\n    int compute(int) -> of\n";
    world.write("mapping.txt", mapping);
    let rule = "version = 1\n[[aspect]]\nmatch = { type = \"org.shop.*\", method = \"compute\" }\n";
    world.write("shop.toml", rule);
    let rules = ["--rules", "shop.toml", "--mapping", "mapping.txt"];
    let planned = world.wove(&[&["plan", "app.jar", "--summary"], &rules[..]].concat());
    let wove = world.wove(&[&["app.jar", "out.jar"], &rules[..]].concat());
    world.tool("java", &["-jar", "out.jar"]);
    let report = |args: &[&str]| {
        let told = world.wove(&[&["report", "run.wtrace", "--json"], args].concat());
        let json: serde_json::Value = serde_json::from_str(&told.out).unwrap();
        json["methods"][0]["label"].as_str().unwrap().to_owned()
    };
    let told = [
        planned.out,
        wove.err,
        report(&[]),
        report(&["--mapping", "mapping.txt"]),
    ];
    insta::assert_snapshot!(told.join("\n"), @"
    rules: shop.toml
    1 method of 1 class in 1 artifact would be woven
            1 by aspect `aspect 1`

    wove 1 method of 1 class in 1 artifact -> out.jar

    com.acme.Fib.of(int)
    org.shop.Fibonacci.compute(int)
    ");
}
