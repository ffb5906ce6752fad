//! Where what weaving adds lies: programs whose classes have loaders and modules of their own run woven, with hooks that take their types.

use crate::support::World;

const APP: &str = r#"
package shop;

public class App {
    public int stock = 5;

    public int stock() {
        return stock;
    }

    public String order(App other) {
        return "ordered " + other.stock() * 2;
    }

    public static void main(String[] args) {
        System.out.println(new App().order(new App()));
    }
}
"#;

/// Makes the application's loader, as Spring Boot's launchers do: its parent sees the root alone.
const LAUNCHER: &str = r#"
package start;

import java.net.URL;
import java.net.URLClassLoader;

public class Launch {
    public static void main(String[] args) throws Exception {
        URL root = Launch.class.getProtectionDomain().getCodeSource().getLocation();
        URL[] path = { new URL("jar:" + root + "!/" + args[0] + "/classes/") };
        URLClassLoader loader = new URLClassLoader(path, Launch.class.getClassLoader());
        loader.loadClass("shop.App").getMethod("main", String[].class).invoke(null, (Object) new String[0]);
    }
}
"#;

const HOOKS: &str = r#"
package th;

public class H {
    public static void seen(shop.App app) {
        System.out.println("seen " + app.stock);
    }

    public static void called(Object target) {
        System.out.println("called " + target.getClass().getSimpleName());
    }
}
"#;

/// A hook of a method that takes the program's own type, and one at a call.
const RULES: &str = r#"version = 1

[[library]]
path = "th.jar"

[[aspect]]
name = "order"
match = { type = "shop.App", method = "order" }
enter = "th.H.seen(this)"

[[aspect]]
name = "stock"
at = { call = { type = "**", method = ["stock", "loadClass"] } }
before = "th.H.called(target)"
"#;

/// What the program prints with these rules.
const PRINTED: &str = "seen 5\ncalled App\nordered 10\n";

fn compile(world: &World, sources: &[(&str, &str)], class_path: &str, target: &str) {
    let mut args = vec![
        "--release",
        "8",
        "-Xlint:-options",
        "-cp",
        class_path,
        "-d",
        target,
    ];
    for (name, source) in sources {
        world.write(name, source);
        args.push(name);
    }
    world.tool("javac", &args);
}

/// `app.jar` with the application in `inside`, and a launcher at the root; the hooks; the rules.
fn launched(inside: &str) -> World {
    let world = World::new();
    let classes = format!("fat/{inside}/classes");
    compile(&world, &[("s/App.java", APP)], ".", &classes);
    compile(&world, &[("s/Launch.java", LAUNCHER)], ".", "fat");
    compile(&world, &[("s/H.java", HOOKS)], &classes, "th");
    world.tool("jar", &["cf", "th.jar", "-C", "th", "."]);
    world.tool("jar", &["cfe", "app.jar", "start.Launch", "-C", "fat", "."]);
    world.write("weave.toml", RULES);
    world
}

fn printed(world: &World, jar: &str, inside: &str) -> String {
    world.tool("java", &["-jar", jar, inside]).out
}

#[test]
fn a_boot_jar_has_own_hooks_where_they_see_the_application() {
    let world = launched("BOOT-INF");
    let told = world.wove(&["app.jar", "out.jar"]);
    assert_eq!(printed(&world, "out.jar", "BOOT-INF"), PRINTED);
    let names = world.names("out.jar");
    assert!(names.contains(&"BOOT-INF/classes/th/H.class".to_owned()));
    assert!(!names.contains(&"th/H.class".to_owned()));
    world.wove(&["verify", "out.jar"]);
    let beside = |name: &&String| name.starts_with("BOOT-INF/classes/shop/weave$hooks$");
    assert_eq!(names.iter().filter(beside).count(), 3, "{names:?}");
    // The launcher does not see them: its call stays, and that is said.
    let why = "the hooks are in the application, which the loader of this class does not see";
    assert!(
        told.err.contains(why) || told.out.contains(why),
        "{}{}",
        told.out,
        told.err
    );
    assert_eq!(world.weave(&["app.jar", "no.jar", "--strict"]).status, 1);
    // What was woven is woven no more, with the same rules.
    world.wove(&["out.jar", "again.jar"]);
    assert_eq!(printed(&world, "again.jar", "BOOT-INF"), PRINTED);
}

#[test]
fn what_would_not_find_its_hook_is_not_written() {
    let world = launched("BOOT-INF");
    // The hook lies at the root, where the launcher's loader finds it, and not what it takes.
    world.tool("jar", &["uf", "app.jar", "-C", "th", "."]);
    world.write(
        "weave.toml",
        RULES.replace("\"th.jar\"", "\"th.jar\"\nembed = false"),
    );
    let told = world.weave(&["app.jar", "out.jar"]);
    assert_eq!(told.status, 1, "{told:?}");
    let why = "woven code would not find these classes, so nothing is written: out.jar!/th/H.class: th/H needs shop/App, which is not visible to its class loader";
    assert!(told.err.contains(why), "{told:?}");
    assert!(!world.at("out.jar").exists());
    // The same in a folder.
    std::fs::create_dir_all(world.at("home/lib")).unwrap();
    std::fs::rename(world.at("app.jar"), world.at("home/lib/app.jar")).unwrap();
    let told = world.weave(&["home", "out"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("th/H needs shop/App"), "{told:?}");
    assert!(!world.at("out").exists());
}

#[test]
fn a_war_that_starts_itself_starts_woven() {
    let world = launched("WEB-INF");
    world.wove(&["app.jar", "out.war"]);
    assert_eq!(printed(&world, "out.war", "WEB-INF"), PRINTED);
    // The launcher sees nothing of WEB-INF.
    world.wove(&["app.jar", "all.war", "--rules", "pack:all"]);
    assert_eq!(printed(&world, "all.war", "WEB-INF"), "ordered 10\n");
}

#[test]
fn an_exploded_web_application_in_a_folder_has_the_library_inside() {
    let world = launched("WEB-INF");
    std::fs::create_dir_all(world.at("home/webapps/x/WEB-INF/lib")).unwrap();
    world.tool(
        "jar",
        &[
            "cf",
            "home/webapps/x/WEB-INF/lib/a.jar",
            "-C",
            "fat/WEB-INF/classes",
            ".",
        ],
    );
    world.write("home/webapps/x/index.html", "hi");
    world.wove(&["home", "out"]);
    let inside = "out/webapps/x/WEB-INF";
    let files = world.files("out");
    assert!(
        !files.contains(&"weave-runtime.jar".to_owned()),
        "{files:?}"
    );
    let path = format!("{inside}/classes:{inside}/lib/a.jar");
    assert_eq!(world.tool("java", &["-cp", &path, "shop.App"]).out, PRINTED);
}

#[test]
fn an_exploded_boot_application_starts_with_and_without_its_launcher() {
    let world = launched("BOOT-INF");
    world.wove(&["fat", "out"]);
    let path = "out/BOOT-INF/classes";
    assert_eq!(world.tool("java", &["-cp", path, "shop.App"]).out, PRINTED);
    world.wove(&["fat", "all", "--rules", "pack:all"]);
    let path = "all/BOOT-INF/classes";
    assert_eq!(
        world.tool("java", &["-cp", path, "shop.App"]).out,
        "ordered 10\n"
    );
}

#[test]
fn calls_of_plug_ins_go_through_their_own_jars() {
    let world = World::new();
    let plug = "package plug; public class Plug implements Runnable { public void run() { System.out.println(new Util().name()); } }";
    let util = "package plug; public class Util { public String name() { return \"util\"; } }";
    let host = r#"
        import java.io.File;
        import java.net.*;
        public class Host {
            public static void main(String[] args) throws Exception {
                URL[] path = { new File(args[0]).toURI().toURL() };
                URLClassLoader loader = new URLClassLoader(path, Host.class.getClassLoader());
                ((Runnable) loader.loadClass("plug.Plug").getDeclaredConstructor().newInstance()).run();
            }
        }"#;
    compile(
        &world,
        &[("s/Plug.java", plug), ("s/Util.java", util)],
        ".",
        "p",
    );
    compile(&world, &[("s/Host.java", host)], ".", "h");
    std::fs::create_dir_all(world.at("lib/plugins")).unwrap();
    world.tool("jar", &["cfe", "lib/app.jar", "Host", "-C", "h", "."]);
    world.tool("jar", &["cf", "lib/plugins/plug.jar", "-C", "p", "."]);
    world.write(
        "weave.toml",
        "version = 1\n[[aspect]]\nname = \"c\"\nat = { call = { type = \"**\", method = [\"name\", \"run\"] } }\nrecord = [\"target\"]\n",
    );
    world.wove(&["lib", "out"]);
    let ran = world.tool("java", &["-jar", "out/app.jar", "out/plugins/plug.jar"]);
    assert_eq!(ran.out, "util\n");
    let report = world.wove(&["report", "run.wtrace", "--json"]).out;
    assert!(report.contains("\"plug.Util.name()\""), "{report}");
}

#[test]
fn named_modules_keep_what_they_export_to_one_another() {
    let world = World::new();
    world.write("m/a/module-info.java", "module a { exports a.p to b; }");
    world.write(
        "m/a/a/p/Db.java",
        "package a.p; public class Db { public String query() { return \"rows\"; } }",
    );
    world.write("m/b/module-info.java", "module b { requires a; }");
    world.write("m/b/b/Main.java", "package b; public class Main { public static void main(String[] x) { System.out.println(new a.p.Db().query()); } }");
    world.tool(
        "javac",
        &["-d", "mods", "--module-source-path", "m", "--module", "a,b"],
    );
    let hook = "package hk; public class H { public static void see(Object o) { System.out.println(\"seen\"); } }";
    compile(&world, &[("s/H.java", hook)], ".", "hk");
    std::fs::create_dir_all(world.at("lib")).unwrap();
    for module in ["a", "b"] {
        world.tool(
            "jar",
            &[
                "cf",
                &format!("lib/{module}.jar"),
                "-C",
                &format!("mods/{module}"),
                ".",
            ],
        );
    }
    world.write(
        "weave.toml",
        "version = 1\n[[library]]\npath = \"hk\"\n[[aspect]]\nname = \"c\"\nat = { call = { type = \"a.p.Db\", method = \"query\" } }\nbefore = \"hk.H.see(target)\"\n",
    );
    world.wove(&["lib", "out"]);
    let run = ["-p", "out", "-m", "b/b.Main"];
    assert_eq!(world.tool("java", &run).out, "seen\nrows\n");
    // The hooks need no more than the base module: the library stays a module that `jlink` takes.
    world.tool(
        "jlink",
        &["-p", "out", "--add-modules", "b", "--output", "image"],
    );
    let image = std::process::Command::new(world.at("image/bin/java"))
        .args(["-m", "b/b.Main"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&image.stdout), "seen\nrows\n");
}

#[test]
fn what_woven_code_does_not_see_is_told() {
    let world = launched("WEB-INF");
    std::fs::create_dir_all(world.at("home/WEB-INF/lib")).unwrap();
    let jar = [
        "cf",
        "home/WEB-INF/lib/a.jar",
        "-C",
        "fat/WEB-INF/classes",
        ".",
    ];
    world.tool("jar", &jar);
    world.wove(&["home", "out"]);
    world.wove(&["verify", "out"]);
    let refused = |what: &str| {
        let told = world.weave(&["verify", "out"]);
        assert_eq!(told.status, 1, "{}{}", told.out, told.err);
        assert!(told.out.contains(what), "{}", told.out);
    };
    // A class of one's own hooks goes where the application's loader does not look, and what it names stays.
    std::fs::create_dir_all(world.at("out/th")).unwrap();
    std::fs::rename(
        world.at("out/WEB-INF/classes/th/H.class"),
        world.at("out/th/H.class"),
    )
    .unwrap();
    refused("th/H needs shop/App, which is not visible to its class loader");
    std::fs::rename(
        world.at("out/th/H.class"),
        world.at("out/WEB-INF/classes/th/H.class"),
    )
    .unwrap();
    world.wove(&["verify", "out"]);
    // The hook library lies at the top of a server, which no application sees.
    std::fs::remove_dir_all(world.at("out/WEB-INF/classes/weave")).unwrap();
    world.wove(&["runtime", "out/weave-runtime.jar"]);
    refused("needs weave/runtime/Guard, which is not visible to its class loader");
    // What was made for a call is gone.
    let names = world.names("out/WEB-INF/lib/a.jar");
    let made = names
        .iter()
        .find(|name| name.contains("weave$hooks$call_"))
        .unwrap();
    world.tool("jar", &["xf", "out/WEB-INF/lib/a.jar"]);
    let kept = ["cf", "out/WEB-INF/lib/a.jar", "shop/App.class"];
    world.tool("jar", &kept);
    refused(&format!(
        "needs {}, which is missing",
        made.trim_end_matches(".class")
    ));
}
