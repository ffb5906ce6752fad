use super::*;

fn shown(name: &str, text: &str) -> String {
    match import(name, text, Source::of(text), false) {
        Ok(imported) => {
            let mut out = imported.text;
            for note in imported.notes {
                let lost = if note.lost { " lost" } else { "" };
                out.push_str(&format!("{}{lost}: {}\n", note.line, note.text));
            }
            out
        }
        Err(e) => format!("error: {e}"),
    }
}

#[test]
fn integrations_of_datadog() {
    let text = r#"[
  {
    "name": "AdoNet",
    "method_replacements": [
      { "caller": {},
        "target": { "assembly": "System.Data", "type": "System.Data.Common.DbCommand", "method": "ExecuteReaderAsync",
          "signature_types": ["System.Threading.Tasks.Task`1<System.Data.Common.DbDataReader>", "System.Threading.CancellationToken", "_"],
          "minimum_major": 4, "minimum_minor": 0, "minimum_patch": 0,
          "maximum_major": 4, "maximum_minor": 65535, "maximum_patch": 65535 },
        "wrapper": { "action": "CallTargetModification" } },
      { "caller": { "assembly": "App" },
        "target": { "assembly": "System.Data", "type": "A.B", "method": "C" },
        "wrapper": { "action": "InsertFirst" } },
      { "target": { "assembly": "System.Data" } }
    ]
  },
  { "name": "nothing" }
]"#;
    insta::assert_snapshot!(shown("integrations.json", text));
    insta::assert_snapshot!(shown("integrations.json", "[\n{ \"name\":\n 3 }]"));
}

#[test]
fn an_aop_xml_of_aspectj() {
    let text = r#"<?xml version="1.0"?>
<!DOCTYPE aspectj PUBLIC "-//AspectJ//DTD//EN" "https://eclipse.dev/aspectj/dtd/aspectj.dtd">
<aspectj>
  <!-- <aspect name="not.This"/> -->
  <aspects>
    <aspect name="com.acme.Logging"/>
    <concrete-aspect name="com.acme.Tracing" extends="com.acme.AbstractTracing">
      <pointcut name="services" expression="execution(* com.acme..*Service.*(..)) &amp;&amp; !quiet()"/>
      <pointcut name="quiet" expression="within(com.acme.gen..*)"/>
      <pointcut name="deep" expression='cflow(services())'/>
    </concrete-aspect>
  </aspects>
  <weaver options="-verbose">
    <include within="com.acme..*"/>
    <exclude within="com.acme.Main"/>
  </weaver>
</aspectj>"#;
    insta::assert_snapshot!(shown("aop.xml", text));
    insta::assert_snapshot!(shown("aop.xml", "<aspectj>\n</weaver>"));
    insta::assert_snapshot!(shown("aop.xml", "<aspectj name='a"));
}

#[test]
fn probes_of_btrace() {
    let text = r##"
import org.openjdk.btrace.core.annotations.*;
@BTrace public class Probes {
    // @OnMethod(clazz = "not.This", method = "f")
    @OnMethod(clazz = "java.io.File", method = "<init>")
    public static void files(@Self Object self, String name) { println("@OnMethod(clazz=\"x\")"); }
    @OnMethod(clazz = "/javax\\.swing\\..*/", method = "/(get|set).*/", location = @Location(Kind.RETURN), type = "void (java.lang.String)")
    public static void swing() { }
    @OnMethod(clazz = "+java.lang.Runnable", method = "#", enableAt = @Level(">=2"))
    public static void run() { }
    @OnMethod(clazz = "a.B", method = "g", enableAt = @Level("<=5"), location = @Location(Kind.RETURN))
    public static void general() { }
    @OnMethod(clazz = "@com.acme.Timed", method = "f", location = @Location(value = Kind.ERROR))
    public static void failed() { }
    @OnMethod(clazz = "a.B", method = "f", location = @Location(value = Kind.LINE, line = 3))
    public static void line() { }
    @OnMethod(clazz = "a.B", location = @Location(value = Kind.LINE, line = -1), enableAt = @Level("1"))
    public static void lines(@ProbeMethodName String method, int line) { }
    @OnMethod(clazz = "a.C")
    public static void all() { }
    @OnMethod(clazz = "a.D", method = "f") @Sampled(kind = Sampled.Sampler.Const, mean = 20)
    public static void sampled(@Duration long d) { }
    @OnMethod(clazz = "a.D", method = "g")
    @Sampled(kind = Sampled.Sampler.Adaptive, mean = 1000000)
    public static void adaptive() { }
    @OnMethod(clazz = "a.D", method = "h") @Sampled(kind = Sampled.Sampler.Adaptive)
    public static void every() { }
    @OnTimer(1000) public static void timer() { }
}"##;
    insta::assert_snapshot!(shown("Probes.java", text));
}

#[test]
fn methods_that_opentelemetry_includes() {
    let text = "# settings\notel.service.name=shop\notel.instrumentation.methods.include=com.acme.Orders[place, cancel]; \\\n  com.acme.Stock$Shelf[left];wrong\notel.instrumentation.jdbc.enabled=false\n";
    insta::assert_snapshot!(shown("otel.properties", text));
    insta::assert_snapshot!(shown("list", "a.B[c]"));
    insta::assert_snapshot!(shown(
        "run.sh",
        "export OTEL_INSTRUMENTATION_METHODS_INCLUDE=\"a.B[c]\""
    ));
}

#[test]
fn settings_of_opentelemetry_in_yaml() {
    let text = r#"file_format: "1.0"
instrumentation/development:
  dotnet:
    no_code:
      targets:
        - target:   # a method
            assembly:
              name: Shop.Orders
            type: Shop.Orders
            method: Place
            signature:
              return_type: System.Threading.Tasks.Task<System.Int32>
              parameter_types:
              - System.String
              - 'System.Int32'
          span:
            name: Placing
        - target: { type: x }
"#;
    insta::assert_snapshot!(shown("config.yaml", text));
    let text = text.replace(
        "        - target: { type: x }\n",
        "        - target:\n            type: Shop.Stock\n",
    );
    insta::assert_snapshot!(shown("config.yaml", &text));
    let java = "instrumentation/development:\n  java:\n    methods:\n      include:\n        - class: com.acme.Orders\n          methods:\n            - name: place\n            - cancel\n";
    insta::assert_snapshot!(shown("config.yaml", java));
}

#[test]
fn nothing_panics() {
    let seeds = [
        "[{\"name\":\"a\",\"method_replacements\":[{\"target\":{\"type\":\"a\",\"method\":\"b\",\"signature_types\":[\"A`1<_>\"]}}]}]",
        "<aspectj><aspects><concrete-aspect name='a'><pointcut name='b' expression='execution(* a..b.c(..)) || !within(d+)'/></concrete-aspect></aspects></aspectj>",
        "@OnMethod(clazz=\"+a\", method=\"/b/\", location=@Location(Kind.RETURN)) void c() {}",
        "a.ü[c,d];e[f]\\\nx=y",
        "instrumentation/development:\n  java:\n    methods:\n      include:\n      - class: 'ä'\n        methods: [a, b]\n",
    ];
    let all = [
        Source::Datadog,
        Source::Aspectj,
        Source::Btrace,
        Source::Methods,
        Source::OtelYaml,
    ];
    for (seed, own) in seeds.into_iter().zip(all) {
        for end in (0..=seed.len()).filter(|&i| seed.is_char_boundary(i)) {
            let _ = import("x", &seed[end..], own, true);
            for source in all {
                let _ = import("x", &seed[..end], source, false);
            }
        }
    }
}

#[test]
fn one_method_that_no_rule_can_say_leaves_the_others() {
    let text = r#"[
  { "name": "Cache",
    "method_replacements": [
      { "target": { "type": "Shop.Cache", "method": "Put", "signature_types": ["System.Void", "System.Func`1[!!0]", "T"] } },
      { "target": { "type": "Shop.Cache", "method": "Odd", "signature_types": ["System.Void", "a b("] } },
      { "target": { "type": "Shop.Cache", "method": "Get" } }
    ] }
]"#;
    insta::assert_snapshot!(shown("integrations.json", text));
}

#[test]
fn advice_and_operators_that_are_said_in_xml() {
    let text = r#"<aspectj>
  <aspects>
    <concrete-aspect name="com.acme.Watch">
      <before pointcut="execution(* com.acme.Orders.place(..))
          AND !within(com.acme.gen..*)" invokeClass="com.acme.Log" invokeMethod="placing()"/>
      <after pointcut="execution(* com.acme.Stock.*(..))" invokeClass="com.acme.Log" invokeMethod="left()"/>
      <around pointcut="execution(* com.acme.Bank.pay(..)) AND args(sum)" invokeClass="com.acme.Log" invokeMethod="pay(int sum)"/>
    </concrete-aspect>
  </aspects>
</aspectj>"#;
    insta::assert_snapshot!(shown("aop.xml", text));
    let empty = "<aspectj><weaver options=\"-verbose\"/></aspectj>";
    insta::assert_snapshot!(shown("aop.xml", empty));
}

#[test]
fn probes_over_several_lines_are_told_in_one() {
    let text = r#"@BTrace public class Probes {
    @OnMethod(clazz = "com.acme.Orders", method = "place",
              location = @Location(
                  value = Kind.CALL,
                  clazz = "/.*/"))
    public static void called() {}
    @Sampled(kind = Sampled.Sampler.Adaptive)
    @OnMethod(clazz = "com.acme.Stock", method = "left")
    public static void left() {}
}"#;
    insta::assert_snapshot!(shown("Probes.java", text));
}

#[test]
fn lists_of_methods_where_programs_are_started() {
    let text = r#"FROM scratch
# -Ddd.trace.methods=com.acme.Not[this]
ENV OTEL_INSTRUMENTATION_METHODS_INCLUDE=com.acme.Orders[place]  # and why
CMD ["java", "-Dotel.instrumentation.methods.include=com.acme.A[b];com.acme.C[d, e]", "-jar", "app.jar"]
RUN java -Dother=1 -Ddd.trace.methods='com.acme.D[e];com.acme.F$G[*]' -jar app.jar
RUN java \
    -Dotel.instrumentation.methods.include=com.acme.H[i];wrong;\
com.acme.J[k] -jar app.jar
"#;
    insta::assert_snapshot!(shown("Dockerfile", text));
    let kubernetes = "env:\n- name: OTEL_SERVICE_NAME\n  value: shop\n- name: OTEL_INSTRUMENTATION_METHODS_INCLUDE\n  value: \"com.acme.Orders[place];com.acme.Stock[left]\"\n";
    insta::assert_snapshot!(shown("deployment.yaml", kubernetes));
    insta::assert_snapshot!(shown(
        "build.gradle.kts",
        r#"jvmArgs("-Dotel.instrumentation.methods.include=com.acme.A\$B[c]")"#
    ));
}

#[test]
fn yaml_that_no_method_is_named_by_is_passed_over() {
    let text = r#"file_format: "1.0"
tracer_provider: { processors: [] }
note: |
  several: lines
  - of text
instrumentation/development:
  dotnet:
    no_code:
      targets:
        - target:
            type: Shop.Orders
            method: Place
            signature:
              return_type: System.Void
              parameter_types: ["System.String", 'System.Int32', '!!0']
          span:
            attributes:
              - name: all
                value: ["a, b", [1], true]
        - target: { type: Shop.Stock }
"#;
    insta::assert_snapshot!(shown("config.yaml", text));
    insta::assert_snapshot!(shown(
        "config.yaml",
        "instrumentation/development:\n  a: [1,\n    2]\n"
    ));
}

/// What an import made of a text, and how many things it left out.
fn made(name: &str, text: &str) -> (String, usize) {
    let imported = import(name, text, Source::of(text), false).unwrap();
    let lost = imported.notes.iter().filter(|note| note.lost).count();
    (shown(name, text), lost)
}

#[test]
fn call_targets_of_datadog() {
    let target = |more: &str| {
        format!(
            r#"{{
    "IntegrationName": "Shop",
    "AssemblyName": "Shop.Data",
    "TargetTypeName": "Shop.Data.Store`1",
    "TargetMethodName": "LoadAsync",
    "TargetReturnType": "System.Threading.Tasks.Task`1[!0]",
    "TargetParameterTypes": ["System.String", "System.Int32&", "_"],
    "MinimumVersion": {{ "Item1": 2, "Item2": 1, "Item3": 0 }},
    "MaximumVersion": {{ "Item1": 3, "Item2": 65535, "Item3": 65535 }},
    "InstrumentationTypeName": "Tool.ShopIntegration",
    "IntegrationKind": 0,
    "IsAdoNetIntegration": false,
    "InstrumentationCategory": 1{more}
  }}"#
        )
    };
    let one = target("");
    let all = [
        one.clone(),
        one.clone(),
        one.replace("LoadAsync", "SaveAsync")
            .replace("\"Shop\"", "\"Other\""),
        one.replace("LoadAsync", "Derived")
            .replace("Kind\": 0", "Kind\": 1"),
        one.replace("LoadAsync", "Implemented")
            .replace("Kind\": 0", "Kind\": 2"),
        one.replace("LoadAsync", "Checked")
            .replace("Category\": 1", "Category\": 4"),
        one.replace("LoadAsync", "Unknown")
            .replace("Kind\": 0", "Kind\": 7"),
        one.replace("\"LoadAsync\"", "\"\""),
    ];
    let (told, lost) = made(
        "supported_calltargets.g.json",
        &format!("[\n  {}\n]", all.join(",\n  ")),
    );
    assert_eq!(lost, 2, "{told}");
    insta::assert_snapshot!(told);
}

/// What a rule cannot say is counted.
#[test]
fn a_caller_of_datadog_is_counted() {
    let text = r#"[{ "name": "n", "method_replacements": [
  { "caller": { "assembly": "App" }, "target": { "type": "A.B", "method": "C" } },
  { "caller": {}, "target": { "type": "A.B", "method": "D" } } ] }]"#;
    let (told, lost) = made("integrations.json", text);
    assert_eq!(lost, 1, "{told}");
    assert!(told.contains("2 lost: `caller` of `A.B.C`"), "{told}");
}

/// The parameters of a handler that have no annotation are those of the method.
#[test]
fn handlers_of_btrace_choose_overloads() {
    let text = r#"
import java.util.Map;
import com.acme.*;
@BTrace public class Probes {
    @OnMethod(clazz = "a.B", method = "f")
    public static void strings(@Self Object self, @ProbeMethodName(fqn = true) String name, final String a, int[] b, Map.Entry<String, List<Integer>> c) { }
    @OnMethod(clazz = "a.B", method = "g", location = @Location(Kind.RETURN))
    static void returned(@Duration long took, AnyType a, Object b, Order... c, @Return Map d) { }
    @OnMethod(clazz = "a.B", method = "h")
    static void all(@Self Object self, AnyType[] arguments) { }
    @OnMethod(clazz = "a.B", method = "i", location = @Location(Kind.ERROR))
    static void failed(@Self Object self, Throwable cause) { }
    @OnMethod(clazz = "a.B", method = "j", type = "void (int)")
    static void typed(long other) { }
    @OnMethod(clazz = "a.B", method = "k")
    static void any(@Self Object self) { }
}"#;
    let (told, lost) = made("Probes.java", text);
    assert_eq!(lost, 0, "{told}");
    let rules: Vec<_> = (told.lines())
        .filter(|line| line.starts_with("match"))
        .collect();
    assert_eq!(
        rules,
        [
            r#"match = { type = "a.B", method = "f", params = ["String", "int[]", "java.util.Map.Entry"] }"#,
            r#"match = { type = "a.B", method = "g", returns = "java.util.Map", params = ["*", "*", "Order[]"] }"#,
            r#"match = { type = "a.B", method = "h" }"#,
            r#"match = { type = "a.B", method = "i" }"#,
            r#"match = { type = "a.B", method = "j", returns = "void", params = "int" }"#,
            r#"match = { type = "a.B", method = "k" }"#,
        ]
    );
}

/// A type of a pointcut without a package has none; in a rule it would be in any.
#[test]
fn types_of_aspectj_without_a_package() {
    let said = |expression: &str| {
        let text = format!(
            "<aspectj><aspects><concrete-aspect name='a'><pointcut name='b' expression='{expression}'/></concrete-aspect></aspects></aspectj>"
        );
        let (told, lost) = made("aop.xml", &text);
        assert_eq!(lost, 0, "{told}");
        told
    };
    let told = said("within(D*)");
    assert!(
        told.contains(r#"{ type = "re:D[^.]*" }"#) && told.contains(r#"{ type = "D*.**" }"#),
        "{told}"
    );
    let told = said("within(Orders)");
    assert!(
        told.contains(r#"{ type = "re:Orders" }"#) && told.contains(r#"{ type = "Orders.**" }"#),
        "{told}"
    );
    let told = said("execution(* *Service.f(String))");
    assert!(
        told.contains(r#"{ type = "re:[^.]*Service", method = "f", params = ["String"] }"#),
        "{told}"
    );
    let told = said("within(*Service)");
    assert!(told.contains("nested"), "{told}");
    // With a package, or for any type, all is as it was.
    assert!(said("execution(* *.f(..))").contains(r#"{ method = "f" }"#));
    assert!(said("within(*..D*)").contains(r#"{ type = "*.**.D*" }"#));
}

#[test]
fn lists_of_methods_in_yaml_over_several_lines() {
    for mark in [">-", ">", "|", "|-", "|2+"] {
        let text = format!(
            "instrumentation/development:\n  java:\n    methods:\n      include: {mark}\n        com.acme.Orders[place];\n        com.acme.Stock[left];wrong\n  other: 1\n"
        );
        let (told, lost) = made("config.yaml", &text);
        assert_eq!(lost, 1, "{mark}: {told}");
        for line in [
            "# Line 5\n",
            "# Line 6\n",
            r#"match = { type = "com.acme.Stock", method = "left" }"#,
            "6 lost: `wrong` is not of the form",
        ] {
            assert!(told.contains(line), "{mark}: {told}");
        }
    }
    // Names, and elements of lists.
    let text = "instrumentation/development:\n  java:\n    methods:\n      include:\n        - class: >-\n            com.acme.Orders\n          methods:\n            - >-\n              place\n            - name: cancel\n";
    let (told, lost) = made("config.yaml", text);
    assert_eq!(lost, 0, "{told}");
    assert!(
        told.contains(r#"{ type = "com.acme.Orders", method = ["place", "cancel"] }"#),
        "{told}"
    );
    // What names methods in a way that is not read is counted.
    let text = "instrumentation/development:\n  java:\n    methods:\n      include: *others\n";
    assert_eq!(made("config.yaml", text).1, 1);
}

#[test]
fn annotations_that_datadog_and_opentelemetry_trace() {
    let text = "dd.trace.annotations=com.acme.Timed; com.acme.Outer$Traced;not one\ndd.trace.methods=com.acme.Orders[place]\n";
    let (told, lost) = made("dd.properties", text);
    assert_eq!(lost, 1, "{told}");
    for line in [
        r#"match = { annotation = ["com.acme.Timed", "com.acme.Outer$Traced"] }"#,
        r#"match = { type = "com.acme.Orders", method = "place" }"#,
        "1 lost: `not one` is no name of an annotation",
    ] {
        assert!(told.contains(line), "{told}");
    }
    for (name, text) in [
        ("run.sh", "export DD_TRACE_ANNOTATIONS=\"com.acme.Timed\"\n"),
        (
            "run.sh",
            "java -Ddd.trace.annotations=com.acme.Timed -jar app.jar\n",
        ),
        (
            "app.properties",
            "otel.instrumentation.external-annotations.include=com.acme.Timed\n",
        ),
        (
            "run.sh",
            "export OTEL_INSTRUMENTATION_EXTERNAL_ANNOTATIONS_INCLUDE=com.acme.Timed\n",
        ),
        (
            "deployment.yaml",
            "env:\n- name: DD_TRACE_ANNOTATIONS\n  value: \"com.acme.Timed\"\n",
        ),
    ] {
        let (told, lost) = made(name, text);
        assert_eq!(lost, 0, "{text}: {told}");
        assert!(
            told.contains(r#"match = { annotation = "com.acme.Timed" }"#),
            "{text}: {told}"
        );
    }
}

#[test]
fn a_script_of_parentheses_takes_linear_time() {
    // Three times as long and quadratic, these took minutes; the guard is only against that.
    let start = std::time::Instant::now();
    for one in ["@OnMethod(", "@OnMethod ", "@OnMethod(@A(", "@A()"] {
        let text = format!(
            "@OnMethod(clazz=\"a.B\", method=\"c\") void d() {{}}\n{}",
            one.repeat(30_000)
        );
        let imported = import("a.java", &text, Source::Btrace, false).unwrap();
        assert!(imported.rules >= 1, "{one}");
    }
    assert!(start.elapsed().as_secs() < 60);
}

/// Calls of other methods are taken where they are made, with the values that a script takes.
#[test]
fn scripts_and_pointcuts_name_calls() {
    let text = r#"
import java.sql.Statement;
@BTrace public class Probes {
    @OnMethod(clazz = "com.acme.Orders", method = "place", location = @Location(value = Kind.CALL, clazz = "java.sql.Statement", method = "/execute.*/", where = Where.AFTER))
    static void queried(@Self Object self, @TargetInstance Object statement, @Duration long took, String sql, @Return Object answer) { }
    @OnMethod(clazz = "a.B", method = "g", location = @Location(Kind.RETURN))
    static void returned(@Self Object self, @Duration long took, String name, @Return Object answer) { }
    @OnMethod(clazz = "a.B", method = "h")
    static void all(AnyType[] arguments) { }
    @OnMethod(clazz = "a.B", method = "i", location = @Location(value = Kind.CALL, clazz = "+java.sql.Statement"))
    static void subtypes() { }
}"#;
    let (told, lost) = made("Probes.java", text);
    assert_eq!(lost, 1, "{told}");
    let said = |start: &str| -> Vec<String> {
        let lines = told.lines().filter(|line| line.starts_with(start));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(
        said("at"),
        [
            r#"at = { call = { type = "java.sql.Statement", method = "re:execute.*", params = ["String"] } }"#
        ]
    );
    assert_eq!(
        said("record"),
        [
            r#"record = ["statement = target?", "sql = arg(0)", "answer = result?"]"#,
            r#"record = ["self = this?", "name = arg(0)", "answer = result?"]"#,
            r#"record = ["arguments = args"]"#,
        ]
    );

    let text = r#"<aspectj><aspects><concrete-aspect name="W">
  <pointcut name="deletions" expression="call(boolean java.io.File.delete()) &amp;&amp; withincode(* com.acme.Shop.close(..))"/>
  <pointcut name="typed" expression="execution(* com.acme.Bank.pay(..)) &amp;&amp; args(int, ..)"/>
  <pointcut name="objects" expression="execution(* pay(..)) &amp;&amp; this(com.acme.Bank)"/>
  <pointcut name="never" expression="call(* f()) &amp;&amp; execution(* g())"/>
  <pointcut name="made" expression="call(com.acme.Bank.new(..))"/>
  <before pointcut="call(* com.acme.Bank.pay(..)) AND args(sum, ..) AND target(bank)" invokeClass="com.acme.Log" invokeMethod="paying(com.acme.Bank bank, int sum)"/>
  <before pointcut="execution(* com.acme.Bank.pay(..))" invokeClass="com.acme.Log" invokeMethod="seen(org.aspectj.lang.JoinPoint point)"/>
</concrete-aspect></aspects></aspectj>"#;
    let (told, lost) = made("aop.xml", text);
    assert_eq!(lost, 2, "{told}");
    for line in [
        r#"at = { call = { type = "java.io.File", method = "delete", params = [] } }"#,
        r#"    { type = "com.acme.Shop", method = "close" },"#,
        r#"    { type = "com.acme.Bank", method = "pay", params = ["int", ".."] },"#,
        r#"    { method = "pay", extends = "com.acme.Bank" },"#,
        r#"at = { call = { type = "com.acme.Bank", method = "pay", params = ["*", ".."] } }"#,
        r#"before = "com.acme.Log.paying(target, arg(0))""#,
        "is not imported (no operand is a `org.aspectj.lang.JoinPoint`)",
        "5 lost: a point in a method and the execution of a method are never the same",
        "6 lost: fields, new objects and handlers are not recorded",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
}

/// At other points there is nothing to record: the hook is the script's or the aspect's method.
#[test]
fn scripts_and_aspects_have_hooks_at_points() {
    let text = r#"
package acme;
import java.io.IOException;
@BTrace public class Points {
    @OnMethod(clazz = "a.B", method = "f", location = @Location(value = Kind.LINE, line = 3))
    static void line(@ProbeMethodName String method, int line) { }
    @OnMethod(clazz = "a.B", method = "f", location = @Location(value = Kind.FIELD_SET, clazz = "a.Order", field = "state"))
    static void set(@Self Object self, @TargetInstance Object order, @TargetMethodOrField String field, Object value) { }
    @OnMethod(clazz = "a.B", method = "f", location = @Location(value = Kind.FIELD_GET, field = "/.*/", where = Where.AFTER))
    static void got(@Return Object value) { }
    @OnMethod(clazz = "a.B", method = "f", location = @Location(value = Kind.NEW, clazz = "a.Order", where = Where.AFTER))
    static void made(@Return Object order) { }
    @OnMethod(clazz = "a.B", method = "f", location = @Location(Kind.THROW))
    static void thrown(IOException e) { }
    @OnMethod(clazz = "a.B", method = "f", location = @Location(Kind.CATCH))
    static void caught(Throwable e) { }
    @OnMethod(clazz = "a.B", method = "f", location = @Location(Kind.SYNC_ENTRY))
    static void locked(Object lock) { }
    @OnMethod(clazz = "a.B", method = "f", location = @Location(Kind.SYNC_EXIT))
    static void took(@Duration long time) { }
    @OnMethod(clazz = "a.B", method = "f", location = @Location(Kind.ARRAY_GET))
    static void array() { }
}"#;
    let (told, lost) = made("Points.java", text);
    assert_eq!(lost, 2, "{told}");
    let rules = [
        ("line = 3", "before", "line(method, line)"),
        (
            r#"field-set = { type = "a.Order", name = "state" }"#,
            "before",
            "set(this?, target?, field, value)",
        ),
        (r#"field-get = { type = "**" }"#, "after", "got(value)"),
        (r#"new = { type = "a.Order" }"#, "after", "made(result)"),
        (
            r#"throw = "java.io.IOException""#,
            "before",
            "thrown(exception)",
        ),
        (r#"catch = "**""#, "before", "caught(exception)"),
        ("monitor-enter = true", "before", "locked(target)"),
    ];
    let mut rest = &*told;
    for (at, when, call) in rules {
        // btrace looks for a line in all methods.
        let method = if at == "line = 3" {
            ""
        } else {
            ", method = \"f\""
        };
        let rule = format!(
            "at = {{ {at} }}\nmatch = {{ type = \"a.B\"{method} }}\n{when} = \"acme.Points.{call}\"\n"
        );
        let place = rest.find(&rule);
        rest = &rest[place.unwrap_or_else(|| panic!("{rule}{told}"))..];
    }
    assert!(told.contains("`monitor-exit` has no value for `time`"));

    let text = r#"<aspectj><aspects><concrete-aspect name="W">
  <before pointcut="set(* a.Order.state) AND args(now) AND target(order)" invokeClass="acme.Log" invokeMethod="set(a.Order order, Object now)"/>
  <after pointcut="get(* a.Order.*) AND within(a.B)" invokeClass="acme.Log" invokeMethod="got()"/>
  <before pointcut="call(a.Order.new(int)) AND args(n)" invokeClass="acme.Log" invokeMethod="making(int n)"/>
  <before pointcut="handler(java.io.IOException) AND args(e)" invokeClass="acme.Log" invokeMethod="caught(java.io.IOException e)"/>
  <pointcut name="fields" expression="get(* a.Order.state)"/>
</concrete-aspect></aspects></aspectj>"#;
    let (told, lost) = made("aop.xml", text);
    assert_eq!(lost, 1, "{told}");
    for line in [
        r#"at = { field-set = { type = "a.Order", name = "state" } }"#,
        r#"before = "acme.Log.set(target, value)""#,
        r#"at = { field-get = { type = "a.Order" } }"#,
        r#"after = "acme.Log.got()""#,
        r#"at = { new = { type = "a.Order", params = ["int"] } }"#,
        r#"before = "acme.Log.making(arg(0))""#,
        r#"at = { catch = "java.io.IOException" }"#,
        r#"before = "acme.Log.caught(exception)""#,
        "6 lost: fields, new objects and handlers are not recorded",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
}

/// Values are asked for; what rules say themselves stays.
#[test]
fn values_are_recorded_where_they_are_asked_for() {
    let imported = import("list", "a.B[c]", Source::Methods, true).unwrap();
    assert!(
        imported.text.contains(r#"record = ["args?", "result?"]"#),
        "{}",
        imported.text
    );
    assert!(!shown("list", "a.B[c]").contains("record"));
}
