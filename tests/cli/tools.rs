//! The commands around the main job: plan, verify, init, runtime.

use crate::support::World;

#[test]
fn plan_tells_what_and_why_not() {
    let world = World::with_jar();
    insta::assert_snapshot!(world.wove(&["plan", "app.jar", "--details"]).out);
    insta::assert_snapshot!(world.wove(&["plan", "app.jar"]).out, @r"
      methods  classes     left  artifact
            3        2        2  app.jar

    rules: pack:default
    3 methods of 2 classes in 1 artifact would be woven
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

    wove 1 method of 1 class in 1 artifact -> out.jar

    com.acme.Fib.of(int)
    org.shop.Fibonacci.compute(int)
    ");
}
