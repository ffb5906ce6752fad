//! What a JVM program sees of itself stays as it was: numbers of classes, callers, how long objects live, hidden classes.

use crate::class_file::{ClassFile, Code};
use crate::support::World;
use std::sync::OnceLock;

const HOOKS: &str = r#"
package hk;

import java.util.function.*;

public final class H {
    public static <T> T held(Supplier<T> proceed) {
        return java.util.Objects.requireNonNull(proceed).get();
    }

    public static <T> T around(Supplier<T> proceed) {
        return proceed.get();
    }

    public static int around(IntSupplier proceed) {
        return proceed.getAsInt();
    }

    public static void around(Runnable proceed) {
        proceed.run();
    }

    public static void see(Object target) {
    }

    public static void call(String method) {
    }
}
"#;

/// `app.jar` of these sources, whose first class has `main`, and `hooks.jar`.
fn world(sources: &[(&str, &str)]) -> World {
    let world = World::new();
    let mut args = vec!["-g", "-d", "app"];
    for (name, source) in sources {
        world.write(name, source);
        args.push(name);
    }
    world.tool("javac", &args);
    let main = sources[0].0.trim_end_matches(".java").replace('/', ".");
    world.tool("jar", &["cfe", "app.jar", &main, "-C", "app", "."]);
    with_hooks(world)
}

fn with_hooks(world: World) -> World {
    static JAR: OnceLock<Vec<u8>> = OnceLock::new();
    let jar = JAR.get_or_init(|| {
        world.write("hk/H.java", HOOKS);
        let options = ["--release", "8", "-Xlint:-options", "-d", "hooks"];
        world.tool("javac", &[&options[..], &["hk/H.java"]].concat());
        world.tool("jar", &["cf", "hooks.jar", "-C", "hooks", "."]);
        world.read("hooks.jar")
    });
    world.write("hooks.jar", jar);
    world
}

/// Rules with the library and one aspect of these lines.
fn rules(world: &World, lines: &str) {
    let start = "version = 1\n\n[[library]]\npath = \"hooks.jar\"\n\n[[aspect]]\nname = \"a\"\n";
    world.write("weave.toml", format!("{start}{lines}\n"));
}

fn printed(world: &World, jar: &str) -> String {
    let args = ["-Xint", "-Xlog:disable", "-jar", jar];
    world.tool("java", &args).out
}

const NUMBERS: &str = r#"
import java.io.*;

public class Numbers {
    interface Named extends Serializable { default String name() { return "n" + hashCode(); } }
    static class Account implements Serializable { int cents = 7; public synchronized int get() { return cents + 1; } }
    static class Stated implements Serializable { static final long serialVersionUID = 5; synchronized int get() { return hashCode(); } }
    static class Wrong implements Serializable { final long serialVersionUID = 5; synchronized int get() { return hashCode(); } }
    static class Outside implements Externalizable {
        public Outside() { }
        synchronized int get() { return hashCode(); }
        public void writeExternal(ObjectOutput out) { }
        public void readExternal(ObjectInput in) { }
    }
    static class Plain { synchronized int get() { return hashCode(); } }
    enum Color { RED { synchronized int get() { return hashCode(); } }; synchronized int get() { return hashCode(); } }
    record Pair(int a) implements Serializable { synchronized int get() { return a + hashCode(); } }
    static class Hidden implements Serializable { private synchronized int get() { return hashCode(); } int more() { return get() + 1; } }

    public static void main(String[] args) throws Exception {
        for (Class<?> type : Numbers.class.getDeclaredClasses()) {
            ObjectStreamClass of = ObjectStreamClass.lookupAny(type);
            System.out.println(type.getName() + " " + of.getSerialVersionUID());
        }
        System.out.println(new Account().get());
    }
}
"#;

#[test]
fn around_keeps_the_number_by_which_serialization_knows_a_class() {
    let world = world(&[("Numbers.java", NUMBERS)]);
    // A body that a copy of the hook calls is private, one that an object runs is not: of `Hidden` that of `more`.
    for (hook, numbered) in [
        ("around", &["Account", "Outside"][..]),
        ("held", &["Account", "Outside", "Hidden"]),
    ] {
        let rule = "match = { type = \"Numbers$*\", kind = \"method\", min-size = 0 }";
        rules(
            &world,
            &format!("{rule}\naround = \"hk.H.{hook}(proceed)\""),
        );
        let told = world.wove(&["app.jar", "out.jar", "-v"]);
        assert_eq!(printed(&world, "out.jar"), printed(&world, "app.jar"));
        let why = "its default number would change";
        assert!(told.out.contains(why) || told.err.contains(why), "{told:?}");
        // What no number is asked of, or has one anyway, has no field more.
        let has_field = |class: &str| {
            let name = format!("Numbers${class}.class");
            let bytes = world.member("out.jar", &name);
            memchr::memmem::find(&bytes, b"serialVersionUID").is_some()
        };
        let with: Vec<&str> = [
            "Account", "Outside", "Plain", "Color", "Pair", "Hidden", "Named",
        ]
        .into_iter()
        .filter(|class| has_field(class))
        .collect();
        assert_eq!(with, numbered, "{hook}");
        world.wove(&["verify", "out.jar"]);
    }
}

const CALLERS: &str = r#"
import java.util.logging.*;

public class Callers {
    static final Logger LOG = Logger.getLogger("x");

    static class Own extends Logger {
        Own() { super("own", null); }
    }

    public static class Walks {
        public static String caller() {
            return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE).getCallerClass().getName();
        }
    }

    public static class Traces {
        public static String caller() {
            return new Throwable().getStackTrace()[1].getClassName();
        }
    }

    public static class Deaf {
        public static String caller() {
            return "nobody";
        }
    }

    public static void main(String[] args) {
        Handler shows = new Handler() {
            public void publish(LogRecord r) {
                System.out.println(r.getSourceClassName() + "." + r.getSourceMethodName() + " " + r.getMessage());
            }
            public void flush() { }
            public void close() { }
        };
        Own own = new Own();
        for (Logger log : new Logger[] { LOG, own }) {
            log.setUseParentHandlers(false);
            log.addHandler(shows);
        }
        LOG.info("hi");
        LOG.log(Level.WARNING, "w {0}", 1);
        own.warning("own");
        System.getLogger("x").log(System.Logger.Level.INFO, "sys");
        System.out.println(Walks.caller() + " " + Traces.caller() + " " + Deaf.caller());
        System.out.println(Thread.currentThread().getStackTrace()[1].getMethodName());
    }
}
"#;

#[test]
fn what_looks_at_its_caller_sees_the_program() {
    let world = world(&[("Callers.java", CALLERS)]);
    let at = "at = { call = { type = \"**\", method = [\"info\", \"warning\", \"log\", \"caller\", \"getStackTrace\"] } }";
    for hooks in ["record = [\"result?\"]", "before = \"hk.H.call(method)\""] {
        rules(&world, &format!("{at}\n{hooks}"));
        let told = world.wove(&["app.jar", "out.jar"]);
        assert_eq!(printed(&world, "out.jar"), printed(&world, "app.jar"));
        let plan = world.wove(&["plan", "app.jar", "--details"]).out;
        let why = "a call of a method that looks at its caller is left unchanged";
        assert!(plan.contains(why), "{plan}");
        // `Deaf.caller`, and the trace of a throwable, which was taken when that was made.
        assert!(told.err.contains("redirected 2 calls"), "{told:?}");
    }
}

const LIVES: &str = r#"
import java.lang.ref.WeakReference;

public class Lives {
    static WeakReference<Object> made;

    static Object make() {
        Object o = new Object();
        made = new WeakReference<>(o);
        return o;
    }

    static boolean gone() {
        for (int i = 0; i < 20 && made.get() != null; i++)
            System.gc();
        return made.get() == null;
    }

    public static class Box {
        public Object in;
        public Box(Object in) { }
    }

    public boolean taken(int a, Object o, long b) {
        o = null;
        return gone();
    }

    public static boolean given(Object o) {
        o = null;
        return gone();
    }

    static boolean boxed() {
        Box box = new Box(make());
        return gone();
    }

    static boolean set() {
        Box box = new Box(null);
        box.in = make();
        box.in = null;
        return gone();
    }

    public static void main(String[] args) {
        System.out.println(given(make()) + " " + new Lives().taken(1, make(), 2) + " " + boxed() + " " + set());
    }
}
"#;

#[test]
fn arguments_live_no_longer_than_before() {
    let world = world(&[("Lives.java", LIVES)]);
    assert_eq!(printed(&world, "app.jar"), "true true true true\n");
    let calls = "at = { call = { type = \"Lives\", method = [\"given\", \"taken\"] } }";
    for lines in [
        &format!("{calls}\nbefore = \"hk.H.call(method)\"")[..],
        &format!("{calls}\nrecord = [\"result\"]"),
        &format!("{calls}\nbefore = \"hk.H.see(arg(0)?)\""),
        "at = { new = { type = \"Lives.Box\" } }\nbefore = \"hk.H.see(arg(0))\"",
        "at = { field-set = { type = \"Lives.Box\", name = \"in\" } }\nbefore = \"hk.H.see(target)\"\nafter = \"hk.H.see(value)\"",
    ] {
        rules(&world, lines);
        world.wove(&["app.jar", "out.jar"]);
        assert_eq!(
            printed(&world, "out.jar"),
            "true true true true\n",
            "{lines}"
        );
    }
}

const DEFINES: &str = r#"
package t;

import java.lang.invoke.MethodHandles;
import java.util.function.IntUnaryOperator;

public class Defines {
    public static void main(String[] args) throws Throwable {
        byte[] bytes = Defines.class.getResourceAsStream("Template.class").readAllBytes();
        MethodHandles.Lookup lookup = MethodHandles.lookup().defineHiddenClass(bytes, true);
        IntUnaryOperator template = (IntUnaryOperator) lookup.lookupClass().getDeclaredConstructor().newInstance();
        System.out.println(template.applyAsInt(3) + " " + template.applyAsInt(4));
    }
}
"#;

const TEMPLATE: &str = r#"
package t;

import java.util.function.IntUnaryOperator;

public class Template implements IntUnaryOperator {
    public int calls;

    public int applyAsInt(int x) {
        calls += 1;
        return step(x) + this.calls;
    }

    public int step(int x) {
        return x * 2;
    }
}
"#;

#[test]
fn a_class_that_is_defined_hidden_does_not_name_itself() {
    let world = world(&[("t/Defines.java", DEFINES), ("t/Template.java", TEMPLATE)]);
    let call = "at = { call = { type = \"t.Template\", method = \"step\" } }";
    for (lines, leaves) in [
        (
            "match = { type = \"t.Template\", kind = \"method\", min-size = 0 }\naround = \"hk.H.around(proceed)\"",
            true,
        ),
        (
            "match = { type = \"t.Template\", kind = \"method\", min-size = 0 }\nenter = \"hk.H.see(this)\"",
            false,
        ),
        (
            "at = { field-get = { type = \"t.Template\", name = \"calls\" } }\nbefore = \"hk.H.see(target)\"",
            true,
        ),
        (&format!("{call}\nbefore = \"hk.H.see(target)\""), true),
        (&format!("{call}\nrecord = [\"result\"]"), true),
    ] {
        rules(&world, lines);
        let told = world.wove(&["app.jar", "out.jar", "-v"]);
        assert_eq!(printed(&world, "out.jar"), "7 10\n", "{lines}");
        let why = "the program may define its class as a hidden class";
        let said = told.out.contains(why) || told.err.contains(why);
        assert_eq!(said, leaves, "{lines}: {told:?}");
    }
}

#[test]
fn points_whose_frames_have_dropped_this_do_not_take_it() {
    // Dead code as ASM leaves it: `nop; athrow` under a frame without locals; and reachable code whose frame drops `this`.
    let mut dead = ClassFile::new("Dead", "java/lang/Object", 52);
    let class = dead.class("java/lang/Throwable");
    let mut code = Code::new(1, 2, vec![27, 172, 0, 191]);
    code.stack_map = Some(vec![0, 1, 255, 0, 2, 0, 0, 0, 1, 7, class.0, class.1]);
    dead.method(1, "run", "(I)I", code);
    let mut live = ClassFile::new("Live", "java/lang/Object", 52);
    let made = live.class("java/lang/Error");
    let init = live.method_ref("java/lang/Error", "<init>", "()V");
    // 0: iload_1; 1: ifgt 6; 4: iconst_0; 5: ireturn; 6: new Error; dup; <init>; pop; iconst_2; ireturn
    let insns = vec![
        27, 157, 0, 5, 3, 172, 187, made.0, made.1, 89, 183, init.0, init.1, 87, 5, 172,
    ];
    let mut code = Code::new(2, 2, insns);
    // [top, int] at 6
    code.stack_map = Some(vec![0, 1, 255, 0, 6, 0, 2, 0, 1, 0, 0]);
    live.method(1, "run", "(I)I", code);
    for (name, mut class) in [("Dead", dead), ("Live", live)] {
        let object = class.method_ref("java/lang/Object", "<init>", "()V");
        let insns = vec![42, 183, object.0, object.1, 177];
        class.method(1, "<init>", "()V", Code::new(1, 1, insns));
        let world = with_hooks(World::new());
        world.write(&format!("app/{name}.class"), class.finish());
        let main = format!(
            "public class Main {{ public static void main(String[] args) {{ System.out.println(new {name}().run(2)); }} }}"
        );
        world.write("Main.java", main);
        world.tool("javac", &["-cp", "app", "-d", "app", "Main.java"]);
        world.tool("jar", &["cfe", "app.jar", "Main", "-C", "app", "."]);
        assert_eq!(printed(&world, "app.jar"), "2\n", "{name}");
        for at in [
            "at = { throw = \"java.lang.Throwable\" }\nbefore",
            "at = { line = true }\nbefore",
            "at = { new = { type = \"**\" } }\nafter",
        ] {
            rules(&world, &format!("{at} = \"hk.H.see(this?)\""));
            world.wove(&["app.jar", "out.jar"]);
            assert_eq!(printed(&world, "out.jar"), "2\n", "{name}: {at}");
            world.wove(&["verify", "out.jar"]);
        }
    }
}

/// Jumps of more than 32 kB, which need wide instructions where they are and where they arise.
#[test]
fn a_large_method_has_hooks_at_its_points_and_ends() {
    const SETS: usize = 4_150;
    let source = format!(
        "public class Large {{ static int n; public static void main(String[] args) {{
            for (int i = 0; i < 2; i++) {{ {} }}
            System.out.println(n);
        }} }}",
        "n = n + 1;\n".repeat(SETS)
    );
    let world = world(&[("Large.java", &source)]);
    let points = "at = { field-set = { name = \"n\" } }\nbefore = \"hk.H.call(method)\"";
    let pair = "[[aspect]]\nname = \"pair\"\nmatch = { type = \"Large\", method = \"*\" }\n";
    for lines in [points.to_owned(), format!("{points}\n{pair}")] {
        rules(&world, &lines);
        let told = world.wove(&["app.jar", "out.jar"]);
        assert!(told.err.contains("put 4,150 hooks"), "{}", told.err);
        assert_eq!(printed(&world, "out.jar"), "8300\n", "{lines}");
        world.wove(&["verify", "out.jar"]);
    }
}

const NULLS: &str = r#"
import java.util.*;
import java.util.function.*;

public class Nulls {
    static String kept;
    String own;
    int[][] cells = new int[2][];

    interface Takes { long take(int a, long b, Object c, double d); }

    static String none() { return null; }

    void go() { own.length(); }

    Nulls() { }

    Nulls(int n) { this(); own = none(); }

    Nulls(String s) { this(s.length()); }

    static long loop(Takes takes, int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            double half = i / 2.0;
            Object more = i > 1 ? "s" : (Object) i;
            sum += takes.take(i, sum, more, half) + (more.hashCode() & 0);
            if (i == 2)
                takes = null;
        }
        return sum;
    }

    static String caught(Map<String, List<String>> map, String key) {
        try {
            List<String> found = map.get(key);
            String first = found.get(0);
            return "got " + first.trim();
        } catch (NullPointerException e) {
            return "caught " + e.getMessage() + " at " + e.getStackTrace()[0];
        } finally {
            map = null;
        }
    }

    static void said(Runnable runs) {
        try {
            runs.run();
            System.out.println("fine");
        } catch (NullPointerException e) {
            System.out.println(e.getMessage() + " at " + e.getStackTrace()[0]);
        }
    }

    public static void main(String[] args) {
        String city = args.length > 5 ? args[0] : null;
        List<String> names = args.length > 5 ? List.of() : null;
        said(() -> kept.length());
        said(() -> none().trim().length());
        said(() -> new Nulls().go());
        said(() -> new Nulls(1).go());
        said(() -> new Nulls((String) null));
        said(() -> new Nulls().cells[1].clone());
        said(() -> loop((a, b, c, d) -> a + b, 2));
        said(() -> loop((a, b, c, d) -> a + b, 5));
        said(() -> System.out.println(city.charAt(3) + city.length()));
        said(() -> names.add("x"));
        said(() -> System.out.println(new StringBuilder("a").append(names.size()).append(1.5).append(2L)));
        System.out.println(caught(new HashMap<>(), "a") + " " + caught(Map.of("a", List.of(" b ")), "a"));
        System.out.println(caught(null, "a"));
    }
}
"#;

#[test]
fn a_call_of_null_fails_where_it_stands() {
    let world = world(&[("Nulls.java", NULLS)]);
    let expected = printed(&world, "app.jar");
    let because = "Cannot invoke \"String.charAt(int)\" because \"city\" is null at Nulls.";
    assert!(expected.contains(because), "{expected}");
    let at = "at = { call = { type = \"**\", method = \"*\" } }";
    for lines in [
        format!("{at}\nrecord = [\"result?\"]"),
        format!("{at}\nbefore = \"hk.H.see(target?)\"\nafter = \"hk.H.see(result?)\""),
    ] {
        rules(&world, &lines);
        let told = world.wove(&["app.jar", "out.jar"]);
        assert!(told.err.contains("redirected"), "{told:?}");
        assert_eq!(printed(&world, "out.jar"), expected, "{lines}");
        world.wove(&["verify", "out.jar"]);
    }
    // Hooks of the methods, too, and what lies around lines.
    let start = "version = 1\n\n[[library]]\npath = \"hooks.jar\"\n";
    let all = format!(
        "{start}\n[[aspect]]\nname = \"a\"\n{at}\nrecord = [\"result?\"]\n\n[[aspect]]\nname = \"b\"\nat = {{ line = true }}\nbefore = \"hk.H.see(this?)\"\n\n[[aspect]]\nname = \"c\"\nmatch = {{ type = \"**\", min-size = 0 }}\nrecord = [\"args\"]\n"
    );
    world.write("weave.toml", all);
    world.wove(&["app.jar", "out.jar"]);
    assert_eq!(printed(&world, "out.jar"), expected);
}
