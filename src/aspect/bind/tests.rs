use super::binder::{AtPoint, Binder, Home, Subject};
use super::call::{Bound, ConstantValue, Convert, Dest, LinkKind, Proceed, Source};
use super::catalog::{Catalog, Given, HookMethod, HookType, Member, MemberType};
use super::functional::{Function, Interface};
use super::misfit;
use super::site::{Passed, Redirect, Where};
use super::ty::{Language, Named, Parameter, Prim, Signature, Target, Ty};
use crate::aspect::joinpoint::Callee;
use crate::aspect::joinpoint::{Access, CallHow};
use crate::aspect::point::{Point, PointKind};
use crate::aspect::pointcut::{Hierarchy, Matcher};
use crate::aspect::rules::Rules;
use std::sync::Arc;

fn home<'a>(artifact: &'a str, adapters: &'a str) -> Home<'a> {
    Home { artifact, adapters }
}

/// A signature of descriptors; names of parameters behind them: `(I n, J)V`.
pub(super) fn signature(this: Option<&str>, text: &str) -> Signature {
    let (parameters, result) = text[1..].split_once(')').unwrap();
    let ty = |descriptor: &str| Ty::of_descriptor(descriptor).unwrap().0;
    Signature {
        this: this.map(Ty::class),
        parameters: (parameters.split(',').map(str::trim))
            .filter(|parameter| !parameter.is_empty())
            .map(|parameter| {
                let (descriptor, name) = parameter.split_once(' ').unwrap_or((parameter, ""));
                Parameter {
                    name: (!name.is_empty()).then(|| name.into()),
                    ty: ty(descriptor),
                    out: false,
                }
            })
            .collect(),
        result: ty(result),
        generics: 0,
        variadic: false,
    }
}

const STRING: &str = "Ljava/lang/String;";
const OBJECT: &str = "Ljava/lang/Object;";

fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    let methods = [
        ("begin", format!("({OBJECT}, {STRING}){OBJECT}"), true),
        ("end", format!("({OBJECT}, {OBJECT}, J)V"), true),
        (
            "failed",
            format!("({OBJECT}, Ljava/lang/Throwable;)V"),
            true,
        ),
        ("all", format!("([{OBJECT})V"), true),
        ("mark", "()V".into(), true),
        ("over", "(I)V".into(), true),
        ("over", "(J)V".into(), true),
        ("over", format!("({OBJECT})V"), true),
        ("both", format!("(I, {OBJECT})V"), true),
        ("both", format!("({OBJECT}, I)V"), true),
        ("narrow", "(B, S, F, Z)V".into(), true),
        ("hidden", "()V".into(), false),
        ("base", "(La/Base;)V".into(), true),
        ("clean", format!("({STRING}){STRING}"), true),
        ("more", "(I)I".into(), true),
        ("off", "(I)Z".into(), true),
        ("number", "(Ljava/lang/Throwable;)I".into(), true),
        (
            "retry",
            format!("(Ljava/util/function/Supplier;, I){OBJECT}"),
            true,
        ),
        (
            "over",
            "(Ljava/util/function/BooleanSupplier;)Z".into(),
            true,
        ),
        (
            "over",
            format!("(Ljava/util/function/Supplier;){OBJECT}"),
            true,
        ),
        ("over", "(Ljava/lang/Runnable;)V".into(), true),
        (
            "next",
            "(Ljava/util/function/ToIntBiFunction;)I".into(),
            true,
        ),
        ("pair", "(La/Pair;)I".into(), true),
        ("list", "(Ljava/util/List;)I".into(), true),
        (
            "narrowed",
            format!("(Ljava/util/function/Supplier;){STRING}"),
            true,
        ),
        (
            "translate",
            "(Ljava/lang/Throwable;)Ljava/lang/RuntimeException;".into(),
            true,
        ),
    ];
    let ty = HookType {
        of_objects: Vec::new(),
        ty: Ty::class("acme/Sql$Log"),
        is_interface: false,
        is_public: true,
        methods: (methods.into_iter())
            .map(|(name, text, is_public)| HookMethod {
                name: name.into(),
                is_public,
                signature: signature(None, &text),
            })
            .collect(),
    };
    catalog.add("acme/Sql$Log".into(), ty);
    let values = ["Z", "C", "I", "J", "F", "D", STRING, OBJECT];
    let method = |name: &str, value: &str| HookMethod {
        name: name.into(),
        is_public: true,
        signature: signature(None, &format!("({value}, I, I, {STRING}, I)V")),
    };
    let of_switched = |value: &&str| HookMethod {
        signature: signature(None, &format!("({value}, I, I, {STRING}, I, I)V")),
        ..method("value", value)
    };
    let hold = HookMethod {
        name: "hold".into(),
        is_public: true,
        signature: signature(None, &format!("({STRING}, I, I)V")),
    };
    let first = HookMethod {
        name: "first".into(),
        is_public: true,
        signature: signature(None, &format!("({OBJECT}, {OBJECT}){OBJECT}")),
    };
    let overloads = values.iter().map(|value| method("value", value));
    let overloads = overloads.chain(values.iter().map(of_switched));
    let ty = HookType {
        of_objects: Vec::new(),
        ty: Ty::class("weave/runtime/Values"),
        is_interface: false,
        is_public: true,
        methods: (overloads.chain([method("text", OBJECT)]))
            .chain([hold, first])
            .collect(),
    };
    catalog.add("weave/runtime/Values".into(), ty);
    catalog.add("weave/runtime/Switched".into(), switched());
    for (name, is_public, members) in [
        ("app/Db", true, vec![("base", "La/Base;"), ("rows", "I")]),
        (
            "a/Base",
            true,
            vec![("uri", "Ljava/net/URI;"), ("forget", "V")],
        ),
        ("a/Secret", false, vec![("open", "I")]),
    ] {
        let ty = MemberType {
            ty: Ty::class(name),
            is_interface: false,
            access: match is_public {
                true => Access::Public,
                false => Access::Package,
            },
            is_said: false,
            extends: Vec::new(),
            generic: Vec::new(),
            members: (members.into_iter())
                .map(|(name, ty)| Member {
                    name: name.into(),
                    access: Access::Public,
                    is_field: false,
                    parameters: Box::default(),
                    result: Given::Type(Ty::of_descriptor(ty).unwrap().0),
                })
                .collect(),
        };
        catalog.add_members(name.into(), ty);
    }
    let open = |name: &str, parameters: &[&str], result: &str| Member {
        name: name.into(),
        access: Access::Public,
        is_field: parameters == ["field"],
        parameters: (parameters.iter())
            .filter(|name| **name != "field")
            .map(|ty| Ty::of_descriptor(ty).unwrap().0)
            .collect(),
        result: Given::Type(Ty::of_descriptor(result).unwrap().0),
    };
    let limited = |access, member| Member { access, ..member };
    let request = MemberType {
        ty: Ty::class("app/Request"),
        is_interface: false,
        access: Access::Public,
        is_said: false,
        extends: Vec::new(),
        generic: Vec::new(),
        members: vec![
            open("header", &[STRING], STRING),
            open("at", &["I"], STRING),
            open("at", &["J"], "I"),
            open("any", &[OBJECT, "D"], OBJECT),
            open("port", &[], "I"),
            open("path", &["field"], STRING),
            limited(Access::Package, open("inside", &["field"], "I")),
            limited(Access::Private, open("secret", &["field"], "I")),
            limited(Access::Protected, open("below", &[], "I")),
        ],
    };
    let far = MemberType {
        ty: Ty::class("lib/Far"),
        members: vec![limited(Access::Package, open("inside", &["field"], "I"))],
        ..request.clone()
    };
    catalog.add_members("app/Request".into(), request);
    catalog.add_members("lib/Far".into(), far);
    for said in Rules::platform_types() {
        catalog.say(&said, |name| name.replace('.', "/"));
    }
    let pair = Interface {
        is_public: true,
        open: ["one", "two"]
            .map(|name| Function::new(name, &signature(None, "()V")))
            .into(),
        given: vec![],
    };
    catalog.add_interface("a/Pair".into(), pair);
    catalog
}

/// The hook library's, for calls that can be switched.
fn switched() -> HookType {
    let methods = [
        ("enter", "(I, I)I"),
        ("decide", "(I, I)I"),
        ("begin", "(I, I)V"),
        ("exit", "(I, I)V"),
        ("error", "(Ljava/lang/Throwable;, I, I)V"),
    ];
    HookType {
        of_objects: Vec::new(),
        ty: Ty::class("weave/runtime/Switched"),
        is_interface: false,
        is_public: true,
        methods: methods
            .map(|(name, text)| HookMethod {
                name: name.into(),
                is_public: true,
                signature: signature(None, text),
            })
            .into(),
    }
}

/// Binds the aspects of rules for a method of `app.Db`; an error as it is shown.
pub(super) fn bind(aspects: &str, method: &Signature) -> Result<Bound, String> {
    bind_named("query", aspects, method)
}

fn bind_named(name: &str, aspects: &str, method: &Signature) -> Result<Bound, String> {
    bind_switched(name, aspects, method, None)
}

fn bind_switched(
    name: &str,
    aspects: &str,
    method: &Signature,
    switched: Option<i32>,
) -> Result<Bound, String> {
    let text = aspects.replace("[[aspect]]", "[[aspect]]\nmatch = { type = \"**\" }");
    let rules = Rules::parse("weave.toml", &format!("version = 1\n{text}")).unwrap();
    let matcher = Matcher::new(rules);
    let types = [("app/Db", "a/Base"), ("app/List", "lib/List")];
    let hierarchy = Hierarchy::of(
        types
            .map(|(ty, above)| (ty.into(), [above.into()].into()))
            .into_iter()
            .collect(),
    );
    let catalog = catalog();
    let binder = Binder {
        catalog: &catalog,
        hierarchy: &hierarchy,
        target: Target::Jvm,
        may_reach: &|hook| *hook.name != *"mark",
    };
    let count = matcher.aspects().len() as u32;
    let meets: Vec<_> = (0..count).filter_map(|n| matcher.own_hooks(n)).collect();
    let subject = Subject {
        keeps_body: (name == "old").then_some("it is old"),
        switched,
        ..Subject::new("app/Db", name, method, home("app.jar", "weave/hooks/"))
    };
    binder
        .bind(&meets, &subject)
        .map_err(|misfits| misfit::error(&misfits, false).unwrap().message().to_owned())
}

fn query() -> Signature {
    signature(Some("app/Db"), &format!("({STRING} sql, I n)Z"))
}

/// One enter hook.
fn enter(call: &str) -> Result<Bound, String> {
    bind(&format!("[[aspect]]\nenter = \"{call}\""), &query())
}

fn sources(bound: &Bound) -> Vec<(Source, Convert)> {
    let operands = bound.enter[0].operands.iter();
    operands.map(|o| (o.source.clone(), o.convert)).collect()
}

#[test]
fn chains_are_calls_in_front_of_the_hook() {
    let bound = enter("acme.Sql.Log.begin(this.base().uri().getHost(), sql.trim())").unwrap();
    let links = |call: usize| -> Vec<String> {
        let links = bound.enter[call].hook.links.iter();
        links
            .map(|link| format!("{}.{}", link.owner.name().unwrap(), link.name))
            .collect()
    };
    assert_eq!(
        links(0),
        ["app/Db.base", "a/Base.uri", "java/net/URI.getHost"]
    );
    assert_eq!(links(1), ["java/lang/String.trim"]);
    assert_eq!(bound.enter.len(), 3);
    let adapter = |call: usize| {
        let adapter = bound.enter[call].adapter.as_ref().unwrap();
        (adapter.guard, adapter.recursion)
    };
    // What a string does, nobody else does.
    assert_eq!((adapter(0), adapter(1)), ((true, true), (true, false)));
    assert_eq!(
        bound.keep.states[..],
        [Ty::class("java/lang/String"), Ty::class("java/lang/String")]
    );
    let shown: Vec<String> = bound.shown().iter().map(|call| call.to_string()).collect();
    assert_eq!(
        shown,
        [
            "enter: acme.Sql$Log.begin(Object, String) gets this.base().uri().getHost(), arg(0).trim()"
        ]
    );
}

/// A method that gets a request, and another object.
fn serve() -> Signature {
    signature(
        Some("app/Db"),
        &format!("(Lapp/Request;, Llib/Far;, {OBJECT}){STRING}"),
    )
}

fn recorded(values: &str) -> Result<Bound, String> {
    bind(&format!("[[aspect]]\nrecord = [{values}]"), &serve())
}

fn shown_of(bound: &Bound) -> Vec<String> {
    bound.shown().iter().map(ToString::to_string).collect()
}

#[test]
fn constants_are_values_and_arguments_of_links() {
    let bound = recorded(
        "\"a = 'x'\", \"b = 3\", \"c = 5_000_000_000\", \"d = true\", \"e = null\", \"f = 1.5\"",
    )
    .unwrap();
    let taken: Vec<String> = (bound.enter.iter())
        .map(|call| call.hook.parameters[0].shown(Language::Java))
        .collect();
    assert_eq!(
        taken,
        ["String", "int", "long", "boolean", "Object", "double"]
    );
    let links = |value: &str| {
        let bound = recorded(&format!("\"v = {value}\"")).unwrap();
        bound.enter[0].hook.links.last().unwrap().clone()
    };
    let link = links("arg(0).header('a b')");
    assert_eq!(link.arguments()[0].value, ConstantValue::Text("a b".into()));
    // The overload that fits best.
    assert_eq!(links("arg(0).at(1)").result, Ty::class("java/lang/String"));
    assert_eq!(
        links("arg(0).at(5_000_000_000)").result,
        Ty::Prim(Prim::I32)
    );
    let link = links("arg(0).any(true, 2)");
    assert_eq!(link.arguments()[0].boxed, Some(Prim::Bool));
    assert_eq!(
        link.arguments()[1].value,
        ConstantValue::Double(2f64.to_bits())
    );
    let wrong = recorded("\"v = arg(0).header(1)\"").unwrap_err();
    assert!(
        wrong.contains("no `header` of an `app.Request` takes these constants"),
        "{wrong}"
    );
    assert!(wrong.contains("there is header(String)"), "{wrong}");
    // Two that differ in constants alone are two adapters.
    let bound = recorded("\"a = arg(0).header('a')\", \"b = arg(0).header('b')\"").unwrap();
    let class = |n: usize| bound.enter[n].adapter.as_ref().unwrap().class.clone();
    assert_ne!(class(0), class(1));
}

#[test]
fn values_are_made_of_calls_and_of_the_first_that_is_there() {
    let bound = recorded(
        "\"a = acme.Sql.Log.clean(acme.Sql.Log.clean(arg(0).header('h')))\", \"b = first(arg(0).port(), 'none')\", \
         \"c = acme.Sql.Log.clean(first(arg(0).path, 'x'))\"",
    )
    .unwrap();
    assert_eq!(
        shown_of(&bound),
        [
            "record: a gets acme.Sql$Log.clean(String)",
            "record: b gets first(arg(0).port(), 'none') ",
            "record: c gets acme.Sql$Log.clean(String)",
        ]
        .map(str::trim)
    );
    // What a chain of a number does not reach is null: it is an object in the chain.
    let port = bound
        .enter
        .iter()
        .find(|call| *call.hook.name == *"port()")
        .unwrap();
    assert_eq!(port.hook.result, Ty::class(&OBJECT[1..OBJECT.len() - 1]));
    // All of a type: that type.
    let cast = bound
        .enter
        .iter()
        .find(|call| call.hook.name.starts_with("(java"))
        .unwrap();
    assert_eq!(cast.hook.result, Ty::class("java/lang/String"));
    let hook = enter("acme.Sql.Log.begin(this, first(sql.trim(), 'x'))").unwrap();
    assert_eq!(
        shown_of(&hook),
        [
            "enter: acme.Sql$Log.begin(Object, String) gets this, first(arg(0).trim(), 'x').(java.lang.String)"
        ]
    );
    let wrong = recorded("\"v = acme.Sql.Log.clean(acme.Sql.Log.mark())\"").unwrap_err();
    assert!(wrong.starts_with("`mark` returns nothing"), "{wrong}");
}

#[test]
fn what_is_read_at_the_end_is_read_whichever_way_the_call_ends() {
    let bound = recorded("\"status = end(arg(0).port())\"").unwrap();
    assert_eq!(
        (
            bound.enters().behind.len(),
            bound.exits().front.len(),
            bound.exceptions().front.len()
        ),
        (0, 2, 2)
    );
    assert_eq!(bound.values[..], ["status".into()], "one value");
    assert_eq!(bound.keep.args[..], [0]);
    // Its other parts are read at the start.
    let bound = recorded("\"host = first(arg(0).header('a'), end(arg(0).path))\"").unwrap();
    assert_eq!(
        (
            bound.enters().behind.len(),
            bound.exits().front.len(),
            bound.exceptions().front.len()
        ),
        (1, 3, 3)
    );
    assert_eq!(bound.lasting().iter().filter(|lasts| **lasts).count(), 1);
    let bound = recorded("\"v = acme.Sql.Log.clean(result)\"").unwrap();
    assert_eq!(
        (bound.exits().front.len(), bound.exceptions().front.len()),
        (2, 0)
    );
    let wrong = recorded("\"v = first(result, exception)\"").unwrap_err();
    assert!(
        wrong.contains("`result` and `exception` never have values together"),
        "{wrong}"
    );
    let wrong = bind(
        "[[aspect]]\nexit = \"acme.Sql.Log.failed(end(arg(0)))\"",
        &serve(),
    )
    .unwrap_err();
    assert!(
        wrong.contains("`end(..)` is only for recorded values"),
        "{wrong}"
    );
}

#[test]
fn fields_are_read_where_they_can_be_seen() {
    let link = |value: &str| {
        let bound = recorded(&format!("\"v = {value}\""))?;
        let call = &bound.enter[0];
        let class = call.adapter.as_ref().unwrap().class.to_string();
        Ok::<_, String>((call.hook.links.last().unwrap().kind.clone(), class))
    };
    let (kind, class) = link("arg(0).path").unwrap();
    assert_eq!(kind, LinkKind::Field);
    assert!(class.starts_with("weave/hooks/"), "{class}");
    // Of the package of the method that matches: there the adapter goes.
    for near in ["arg(0).inside", "arg(0).below()"] {
        let (_, class) = link(near).unwrap();
        assert!(class.starts_with("app/weave$hooks$"), "{near}: {class}");
    }
    let wrong = |value: &str| link(value).unwrap_err();
    assert!(wrong("arg(0).secret").contains("`secret` of `app.Request` is private"));
    assert!(wrong("arg(1).inside").contains("`inside` of `lib.Far` is of its package alone"));
    let missing = wrong("arg(0).port");
    assert!(
        missing.contains("has no field `port`") && missing.contains("a method is `port()`"),
        "{missing}"
    );
}

#[test]
fn an_object_is_taken_as_another_type() {
    let chain = |value: &str| {
        let bound = recorded(&format!("\"v = {value}\""))?;
        Ok::<_, String>(bound.enter[0].hook.name.to_string())
    };
    assert_eq!(
        chain("((app.Request)arg(2)).port()").unwrap(),
        "(app.Request).port()"
    );
    assert_eq!(
        chain("((Request)arg(2)).path").unwrap(),
        "(app.Request).path"
    );
    assert_eq!(
        chain("((java.util.List)arg(2)).size()").unwrap(),
        "(java.util.List).size()"
    );
    let wrong = |value: &str| chain(value).unwrap_err();
    assert!(wrong("((Nobody)arg(2)).port()").contains("the type `Nobody` is unknown"));
    assert!(wrong("((app.Request)arg(0).port()).port()").contains("is no object"));
    assert!(wrong("((a.Secret)arg(2)).open()").contains("`a.Secret` is not public"));
}

#[test]
fn chains_are_evaluated_where_their_values_are() {
    let bound = bind(
        "[[aspect]]\nrecord = [\"rows = this.rows()\", \"why = exception.getMessage()\"]",
        &query(),
    )
    .unwrap();
    assert_eq!(
        (bound.enter.len(), bound.exit.len(), bound.exception.len()),
        (2, 0, 2)
    );
    assert_eq!(bound.enters().behind.len(), 2, "a value and what gives it");
    let shown: Vec<String> = bound.shown().iter().map(|call| call.to_string()).collect();
    assert_eq!(
        shown,
        [
            "record: rows gets this.rows()",
            "record: why gets exception.getMessage()"
        ]
    );
    let bound = bind(
        "[[aspect]]\nexit = \"acme.Sql.Log.end(arg(0).length(), null, 1)\"",
        &query(),
    )
    .unwrap();
    assert_eq!(bound.keep.args[..], [0], "as it was at the start");
}

#[test]
fn links_that_do_not_exist_are_errors_at_their_places() {
    let wrong = |chain: &str| enter(&format!("acme.Sql.Log.over({chain})")).unwrap_err();
    insta::assert_snapshot!(wrong("this.base().uri().getHots()"));
    insta::assert_snapshot!(wrong("this.base().nobody()"));
    let first = |chain: &str| wrong(chain).lines().next().unwrap_or_default().to_owned();
    assert_eq!(first("this.rows().size()"), "an `int` has no members");
    assert_eq!(first("this.rows"), "an `app.Db` has no field `rows`");
    assert_eq!(
        first("this.base().forget()"),
        "`forget()` of an `a.Base` returns nothing"
    );
    let hidden = |text: &str| {
        let rule = "[[aspect]]\nenter = \"acme.Sql.Log.over(arg(0).open())\"";
        let e = bind(rule, &signature(None, text)).unwrap_err();
        e.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        hidden("(La/Secret;)V"),
        "`open()` is of `a.Secret`, which is not public"
    );
    assert_eq!(
        hidden("(La/Nobody;)V"),
        "the members of an `a.Nobody` are unknown"
    );
}

#[test]
fn operands_are_what_rules_name() {
    let bound = enter("acme.Sql.Log.begin(this, sql)").unwrap();
    assert_eq!(
        sources(&bound),
        [
            (Source::This, Convert::Same),
            (Source::Arg(0), Convert::Same)
        ]
    );
    assert_eq!(bound.enter[0].dest, Dest::Drop, "nobody asks for the state");
    assert_eq!(bound.keep, super::call::Keep::default());
    let bound = enter("acme.Sql.Log.begin(arg(1), method)").unwrap();
    assert_eq!(
        sources(&bound),
        [
            (Source::Arg(1), Convert::Box),
            (Source::Text("query".into()), Convert::Same)
        ]
    );
    let bound = enter("acme.Sql.Log.begin(signature, type)").unwrap();
    assert_eq!(sources(&bound)[0].0, Source::Text("(String, int)".into()));
    assert_eq!(sources(&bound)[1].0, Source::Text("app.Db".into()));
    let bound = enter("acme.Sql.Log.begin(arg(7)?, null)").unwrap();
    assert_eq!(sources(&bound)[0].0, Source::Zero);
    let bound = enter("acme.Sql$Log.narrow(1, 2, 3, true)").unwrap();
    let constants: Vec<Source> = sources(&bound).into_iter().map(|(s, _)| s).collect();
    assert_eq!(
        constants,
        [
            Source::Int(1),
            Source::Int(2),
            Source::Double(3.0),
            Source::Int(1)
        ]
    );
    let bound = enter("acme.Sql.Log.all(args)").unwrap();
    let [(Source::Args(elements), _)] = &*sources(&bound) else {
        panic!("all arguments");
    };
    let how: Vec<Convert> = elements.iter().map(|e| e.convert).collect();
    assert_eq!(how, [Convert::Same, Convert::Box]);
}

#[test]
fn states_and_values_of_the_start_are_kept_for_hooks_at_the_end() {
    let bound = bind(
        "[[aspect]]
enter = [\"acme.Sql.Log.mark()\", \"acme.Sql.Log.begin(null, sql)\"]
exit = \"acme.Sql.Log.end(state, result, duration)\"
exception = \"acme.Sql.Log.failed(this, exception)\"
[[aspect]]
enter = \"acme.Sql.Log.begin(this, sql)\"
exit = [\"acme.Sql.Log.over(arg(1))\", \"acme.Sql.Log.end(state, arg(0), 5)\"]",
        &query(),
    )
    .unwrap();
    let dests: Vec<Dest> = bound.enter.iter().map(|call| call.dest).collect();
    assert_eq!(dests, [Dest::Drop, Dest::State(0), Dest::State(1)]);
    let names: Vec<&str> = bound.exit.iter().map(|call| &*call.hook.name).collect();
    assert_eq!(names, ["over", "end", "end"], "aspects nest");
    assert_eq!(bound.exit[1].operands[0].source, Source::State(1));
    assert_eq!(bound.exit[2].operands[0].source, Source::State(0));
    assert_eq!(bound.exit[2].operands[1].convert, Convert::Box);
    assert_eq!(&*bound.keep.args, [0, 1]);
    assert!(bound.keep.this && bound.keep.duration);
    assert_eq!(bound.keep.states.len(), 2);
}

#[test]
fn overloads_are_chosen_operand_by_operand() {
    let chosen = |call: &str| enter(call).map(|bound| bound.enter[0].hook.parameters.to_vec());
    assert_eq!(
        chosen("acme.Sql.Log.over(n)"),
        Ok(vec![Ty::Prim(Prim::I32)])
    );
    assert_eq!(
        chosen("acme.Sql.Log.over(sql)"),
        Ok(vec![Ty::class("java/lang/Object")])
    );
    assert_eq!(
        chosen("acme.Sql.Log.over(3_000_000_000)"),
        Ok(vec![Ty::Prim(Prim::I64)])
    );
    let several = chosen("acme.Sql.Log.both(n, n)").unwrap_err();
    assert!(
        several.contains("several `acme.Sql.Log.both` fit equally well"),
        "{several}"
    );
}

#[test]
fn guards_are_adapters_that_are_named_by_what_is_in_them() {
    let guarded = enter("acme.Sql.Log.mark()").unwrap();
    let adapter = guarded.enter[0].adapter.clone().unwrap();
    assert!(adapter.guard && !adapter.recursion && adapter.class.starts_with("weave/hooks/mark_"));
    let bare = |call: &str| {
        let rules = format!("[[aspect]]\nenter = \"{call}\"\nguard = false");
        bind(&rules, &query()).unwrap().enter[0].adapter.clone()
    };
    assert_eq!(bare("acme.Sql.Log.mark()"), None, "it is called itself");
    let flagged = bare("acme.Sql.Log.over(n)").unwrap();
    assert!(!flagged.guard && flagged.recursion);
    let other = enter("acme.Sql.Log.over(n)").unwrap();
    let other = other.enter[0].adapter.clone().unwrap().class;
    assert!(other != adapter.class && other != flagged.class);
}

#[test]
fn what_does_not_fit_is_said_at_its_place() {
    insta::assert_snapshot!(enter("acme.Sql.Log.begin(this, n)").unwrap_err());
    insta::assert_snapshot!(enter("acme.Sql.begin(this)").unwrap_err());
    let said = |call: &str| enter(call).unwrap_err().lines().next().unwrap().to_owned();
    assert_eq!(
        said("acme.Sql.Log.nothing()"),
        "`acme.Sql.Log` has no static method `nothing`"
    );
    assert_eq!(
        said("acme.Sql.Log.hidden()"),
        "`acme.Sql.Log.hidden` is not public"
    );
    assert_eq!(said("acme.Sql.Log.over(arg(2))"), "there is no `arg(2)`");
    assert_eq!(
        said("acme.Sql.Log.over(size)"),
        "no parameter is named `size`"
    );
    assert_eq!(
        said("acme.Sql.Log.over(result)"),
        "`result` has no value at enter"
    );
    assert_eq!(
        said("acme.Sql.Log.over(duration)"),
        "`duration` has no value at enter"
    );
    assert_eq!(
        said("acme.Sql.Log.over()"),
        "no `acme.Sql.Log.over` takes ()"
    );
    assert_eq!(
        said("acme.Sql.Log.narrow(1000, 2, 3, true)"),
        "no `acme.Sql.Log.narrow` takes (int, int, int, boolean)"
    );
    let exit = |rules: &str, method: &Signature| {
        let said = bind(&format!("[[aspect]]\n{rules}"), method).unwrap_err();
        said.lines().next().unwrap().to_owned()
    };
    assert_eq!(
        exit("exit = \"acme.Sql.Log.over(state)\"", &query()),
        "`state` has no value: no `enter` of `aspect 1` returns one"
    );
    let void = signature(None, "(La/Base; base, Lapp/List; list)V");
    assert_eq!(
        exit("exit = \"acme.Sql.Log.over(result)\"", &void),
        "a method without a result has no `result`"
    );
    assert_eq!(
        exit("enter = \"acme.Sql.Log.over(this)\"", &void),
        "a static method has no `this`"
    );
    assert_eq!(
        exit("enter = \"acme.Sql.Log.base(list)\"", &void),
        "it is unknown whether an `app.List` is an `a.Base`"
    );
    assert!(bind("[[aspect]]\nenter = \"acme.Sql.Log.base(base)\"", &void).is_ok());
    assert!(bind("[[aspect]]\nenter = \"acme.Sql.Log.base(this?)\"", &void).is_ok());
    assert!(
        enter("acme.Sql.Log.base(this)").is_ok(),
        "app.Db extends a.Base"
    );
}

#[test]
fn an_enter_hook_that_does_not_fit_is_the_only_error_about_its_state() {
    let said = bind(
        "[[aspect]]
enter = \"acme.Sql.Log.begin(this, n)\"
exit = \"acme.Sql.Log.end(state, result, duration)\"",
        &query(),
    );
    assert_eq!(said.unwrap_err().matches("error:").count(), 0);
}

#[test]
fn recorded_values_come_right_in_front_of_the_pair() {
    let rules = "[[aspect]]
enter = \"acme.Sql.Log.mark()\"
exit = \"acme.Sql.Log.over(0)\"
record = [\"sql\", \"count = n\", \"string(this)\", \"result\", \"arg(7)?\"]
limit = 7
[[aspect]]
enter = \"acme.Sql.Log.mark()\"
exit = \"acme.Sql.Log.mark()\"
record = \"exception\"";
    let bound = bind(rules, &query()).unwrap();
    let names: Vec<&str> = bound.values.iter().map(|name| &**name).collect();
    assert_eq!(
        names,
        ["sql", "count", "string(this)", "result", "exception"]
    );
    let called = |calls: &[super::call::Call]| -> Vec<String> {
        let shown = |call: &super::call::Call| {
            let value = call.operands.first().map(|o| o.source.to_string());
            format!("{} {}", call.hook.name, value.unwrap_or_default())
        };
        calls.iter().map(shown).collect()
    };
    assert_eq!(
        called(&bound.enter),
        [
            "mark ",
            "mark ",
            "value arg(0)",
            "value arg(1)",
            "text this"
        ]
    );
    assert_eq!(called(bound.exits().front), ["value result"]);
    assert_eq!(called(bound.exits().behind), ["mark ", "over 0"]);
    assert_eq!(called(bound.exceptions().front), ["value exception"]);
    assert!(bound.exceptions().behind.is_empty());
    // The number of the value, the flag of the end; the limit; no mask; the id.
    let last = &bound.exits().front[0];
    let rest: Vec<&Source> = last.operands[1..].iter().map(|o| &o.source).collect();
    let place = 3 << 16 | 4 << 8;
    assert_eq!(
        rest,
        [
            &Source::Int(place),
            &Source::Int(7),
            &Source::Zero,
            &Source::Id
        ]
    );
    assert!(last.adapter.is_none(), "the hook library throws nothing");
    let shown: Vec<String> = bound.shown().iter().map(ToString::to_string).collect();
    assert_eq!(
        shown[4..],
        [
            "record: sql gets arg(0)",
            "record: count gets arg(1)",
            "record: string(this) gets this",
            "record: result gets result",
            "record: exception gets exception"
        ]
    );
}

#[test]
fn what_is_left_out_of_texts_is_told_first() {
    let texts = |rules: &str| -> Vec<String> {
        let bound = bind(&format!("[[aspect]]\n{rules}"), &query()).unwrap();
        assert_eq!(bound.enters().behind.len(), bound.enter.len());
        let shown = |call: &super::call::Call| {
            let how: Vec<&Source> = call.operands.iter().map(|o| &o.source).collect();
            match how[..] {
                [mask, Source::Int(how), Source::Id] => {
                    format!("{} {} {how}", call.hook.name, mask != &Source::Zero)
                }
                _ => call.hook.name.to_string(),
            }
        };
        bound.enter.iter().map(shown).collect()
    };
    // A value at the start tells the mask.
    assert_eq!(texts("record = ['sql']\nmask = 'a*'"), ["value"]);
    assert_eq!(texts("record = ['result']\nmask = 'a*'"), ["hold true 0"]);
    assert_eq!(texts("mask = 'a*'"), ["hold true 0"]);
    // Unless what it is made of runs code of the program's.
    assert_eq!(
        texts("record = ['sql.trim()']\nmask = 'a*'"),
        ["hold true 0", "trim()", "value"]
    );
    assert_eq!(
        texts("record = ['sql']\nmask = 'a*'\nmessages = false"),
        ["hold false 1", "value"]
    );
    assert_eq!(texts("messages = false"), ["hold false 1"]);
    // The same of two aspects is told once.
    assert_eq!(
        texts("mask = 'a*'\n[[aspect]]\nrecord = ['result']\nmask = 'a*'"),
        ["hold true 0"]
    );
    let bound = bind("[[aspect]]\nmask = 'a*'\nmessages = false", &query()).unwrap();
    let shown: Vec<String> = bound.shown().iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["texts: masked, no messages"]);
}

#[test]
fn a_call_that_can_be_switched_ends_as_it_was_decided() {
    let called = |calls: &[super::call::Call]| -> Vec<String> {
        let shown = |call: &super::call::Call| {
            let operands: Vec<String> =
                (call.operands.iter().map(|o| o.source.to_string())).collect();
            format!("{}({})", call.hook.name, operands.join(", "))
        };
        calls.iter().map(shown).collect()
    };
    let plain = bind_switched("query", "[[aspect]]", &query(), Some(0x12)).unwrap();
    assert_eq!(called(&plain.enter), ["enter(18, id)"]);
    assert_eq!(plain.enter[0].dest, Dest::State(0));
    assert_eq!(called(&plain.exit), ["exit(state, id)"]);
    assert_eq!(called(&plain.exception), ["error(exception, state, id)"]);
    assert_eq!(plain.keep.states[..], [Ty::Prim(Prim::I32)]);
    assert_eq!(plain.switched(), Some(0x12));
    assert!(plain.shown().is_empty());
    // A hook of the aspect's own is called whatever is on; a value is of the call.
    let rules = "[[aspect]]
level = \"info\"
enter = \"acme.Sql.Log.mark()\"
exit = \"acme.Sql.Log.mark()\"
record = [\"sql\", \"result\"]";
    let bound = bind_switched("query", rules, &query(), Some(0x10)).unwrap();
    assert_eq!(
        called(&bound.enter),
        [
            "mark()",
            "decide(16, id)",
            "value(arg(0), 0, 128, nothing, id, state)",
            "begin(state, id)"
        ]
    );
    assert_eq!(
        called(&bound.exit),
        [
            "value(result, 66560, 128, nothing, id, state)",
            "exit(state, id)",
            "mark()"
        ]
    );
    assert_eq!(bound.enters().behind.len(), 3);
    let shown: Vec<String> = bound.shown().iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "enter: acme.Sql$Log.mark()",
            "exit: acme.Sql$Log.mark()",
            "record: sql gets arg(0)",
            "record: result gets result"
        ]
    );
}

#[test]
fn what_a_call_returns_is_recorded() {
    let bound = bind(
        "[[aspect]]\nrecord = \"row = acme.Sql.Log.begin(this, sql)\"",
        &query(),
    )
    .unwrap();
    assert_eq!(bound.enter[0].dest, Dest::State(0));
    assert!(bound.enter[0].adapter.is_some(), "it is guarded");
    assert_eq!(bound.enter[1].operands[0].source, Source::State(0));
    assert_eq!(
        bound.shown()[0].to_string(),
        "record: row gets acme.Sql$Log.begin(Object, String)"
    );
    let said = |record: &str, method: &Signature| {
        let said = bind(&format!("[[aspect]]\nrecord = \"{record}\""), method).unwrap_err();
        said.lines().next().unwrap().to_owned()
    };
    assert_eq!(
        said("acme.Sql.Log.mark()", &query()),
        "`mark` returns nothing"
    );
    let late = bind(
        "[[aspect]]\nrecord = \"acme.Sql.Log.begin(result, sql)\"",
        &query(),
    );
    assert_eq!(
        late.unwrap().exits().front.len(),
        2,
        "when its operands are known"
    );
    assert_eq!(
        said("result", &signature(None, "()V")),
        "a method without a result has no `result`"
    );
    assert_eq!(said("name", &query()), "no parameter is named `name`");
}

#[test]
fn an_async_method_of_dotnet_records_what_it_is_called_with() {
    let hierarchy = Hierarchy::default();
    let (mut catalog, base) = (Catalog::default(), Ty::class("System.Object"));
    let value = |ty: Ty| Parameter {
        name: Some("key".into()),
        ty,
        out: false,
    };
    let int = || Ty::Prim(Prim::I32);
    let parameters = [
        base.clone(),
        int(),
        int(),
        Ty::class("System.String"),
        int(),
    ];
    let method = |name: &str, parameters: &[Ty], result| HookMethod {
        name: name.into(),
        is_public: true,
        signature: Signature {
            this: None,
            parameters: parameters.iter().cloned().map(value).collect(),
            result,
            generics: 0,
            variadic: false,
        },
    };
    let with_state = [&parameters[..], &[int()]].concat();
    let values = [&parameters[..], &with_state];
    let values = values.map(|parameters| method("Value", parameters, Ty::Void));
    let calls = [
        method("Decide", &[int(), int()], int()),
        method("Pass", &[int(), int()], Ty::Void),
    ];
    for (name, methods) in [
        ("Weave.Runtime.Values", values.to_vec()),
        ("Weave.Runtime.Switched", calls.to_vec()),
    ] {
        let ty = HookType {
            of_objects: Vec::new(),
            ty: Ty::class(name),
            is_interface: false,
            is_public: true,
            methods,
        };
        catalog.add(name.into(), ty);
    }
    let raw = Parameter {
        name: Some("raw".into()),
        ty: Ty::Pointer(Arc::new(int())),
        out: false,
    };
    let bound_as = |record: &str, returns: &str, switched: Option<i32>| {
        let rules =
            format!("version = 1\n[[aspect]]\nmatch = {{ type = \"**\" }}\nrecord = \"{record}\"");
        let matcher = Matcher::new(Rules::parse("weave.toml", &rules).unwrap());
        let own = matcher.own_hooks(0).unwrap();
        let signature = Signature {
            this: None,
            parameters: [value(base.clone()), raw.clone()].into(),
            result: Ty::class(returns),
            generics: 0,
            variadic: false,
        };
        let subject = Subject {
            is_async: true,
            switched,
            ..Subject::new("App.Db", "Query", &signature, home("App.dll", ""))
        };
        let binder = Binder {
            catalog: &catalog,
            hierarchy: &hierarchy,
            target: Target::DotNet,
            may_reach: &|_| true,
        };
        let bound = binder.bind(&[own], &subject);
        bound.map_err(|wrong| wrong[0].title.clone())
    };
    let bound = |record: &str, returns: &str| bound_as(record, returns, None);
    let task = "System.Threading.Tasks.Task";
    assert_eq!(bound("key", task).unwrap().enter.len(), 1);
    let switched = |record: &str, returns: &str| {
        let bound = bound_as(record, returns, Some(0x10)).unwrap();
        let first = bound.all().next().map(|call| &call.operands[0].source);
        assert!(first.is_none_or(|says| *says == Source::Int(bound.logical.unwrap())));
        let names = bound.all().map(|call| call.hook.name.to_string());
        (bound.logical, names.collect::<Vec<_>>().join(" "))
    };
    // Its values are in front of its first piece: it is decided there, once.
    assert_eq!(
        switched("key", task),
        (Some(0x50), "Decide Value Pass".to_owned())
    );
    assert_eq!(switched("raw?", task), (Some(0x10), String::new()));
    let iterator = "System.Collections.Generic.IEnumerable";
    assert_eq!(switched("key?", iterator), (Some(0x10), String::new()));
    assert_eq!(
        bound("raw", task).unwrap_err(),
        "an `int*` cannot be recorded"
    );
    assert!(bound("raw?", task).unwrap().enter.is_empty());
    assert_eq!(
        bound("result", task).unwrap_err(),
        "a method without a result has no `result`"
    );
    assert_eq!(
        bound("key", "System.Collections.Generic.IEnumerable").unwrap_err(),
        "values of iterators and suspend functions are not recorded yet"
    );
    // What cannot be recorded is left out where the rule says so.
    let iterator = "System.Collections.Generic.IEnumerable";
    for (record, returns) in [("result?", task), ("key?", iterator), ("result?", iterator)] {
        let bound = bound(record, returns).unwrap();
        assert!(bound.enter.is_empty() && bound.exit.is_empty(), "{record}");
    }
}

#[test]
fn hooks_of_an_async_method_of_dotnet_stand_where_it_begins_and_completes() {
    let (text, int) = (Ty::class("System.String"), Ty::Prim(Prim::I32));
    let exception = Ty::class("System.Exception");
    let unnamed = |ty: &Ty| Parameter {
        name: None,
        ty: ty.clone(),
        out: false,
    };
    let method = |name: &str, parameters: &[Ty], result: &Ty| HookMethod {
        name: name.into(),
        is_public: true,
        signature: Signature {
            this: None,
            parameters: parameters.iter().map(unnamed).collect(),
            result: result.clone(),
            generics: 0,
            variadic: false,
        },
    };
    let methods = vec![
        method("Begin", std::slice::from_ref(&text), &text),
        method("End", &[text.clone(), int.clone(), int.clone()], &Ty::Void),
        method("More", std::slice::from_ref(&int), &int),
        method("Failed", std::slice::from_ref(&exception), &int),
        method("Off", std::slice::from_ref(&text), &Ty::Prim(Prim::Bool)),
    ];
    let mut catalog = Catalog::default();
    let ty = HookType {
        of_objects: Vec::new(),
        ty: Ty::class("Acme.Late"),
        is_interface: false,
        is_public: true,
        methods,
    };
    catalog.add("Acme.Late".into(), ty);
    let hierarchy = Hierarchy::default();
    let task = |name: &str, args: &[Ty]| {
        Ty::Named(Arc::new(Named {
            name: name.into(),
            scope: "System.Runtime".into(),
            value: name.contains("ValueTask"),
            by_ref_like: false,
            args: args.into(),
        }))
    };
    let bound = |hooks: &str, returns: &Ty| {
        let rules = format!("version = 1\n[[aspect]]\nmatch = {{ type = \"**\" }}\n{hooks}");
        let matcher = Matcher::new(Rules::parse("weave.toml", &rules).unwrap());
        let own = matcher.own_hooks(0).unwrap();
        let signature = Signature {
            this: None,
            parameters: [unnamed(&int)].into(),
            result: returns.clone(),
            generics: 0,
            variadic: false,
        };
        let subject = Subject {
            is_async: true,
            ..Subject::new("App.Db", "Query", &signature, home("App.dll", ""))
        };
        let binder = Binder {
            catalog: &catalog,
            hierarchy: &hierarchy,
            target: Target::DotNet,
            may_reach: &|_| true,
        };
        let bound = binder.bind(&[own], &subject);
        bound.map_err(|wrong| wrong[0].title.clone())
    };
    let all = "enter = \"Acme.Late.Begin(method)\"\nexit = [\"result = Acme.Late.More(result)\", \"Acme.Late.End(state, result, arg(0))\"]";
    for name in [
        "System.Threading.Tasks.Task`1",
        "System.Threading.Tasks.ValueTask`1",
    ] {
        let bound = bound(all, &task(name, std::slice::from_ref(&int))).unwrap();
        assert!(bound.ends_elsewhere());
        // What the task gives, not the task.
        assert_eq!(bound.exit[0].given.as_ref().unwrap().1, int);
        assert_eq!(bound.exit[1].operands[1].from, int);
    }
    let plain = task("System.Threading.Tasks.Task", &[]);
    assert_eq!(
        bound("exit = \"Acme.Late.More(result)\"", &plain).unwrap_err(),
        "a method without a result has no `result`"
    );
    let of_int = task("System.Threading.Tasks.Task`1", std::slice::from_ref(&int));
    let stream = task(
        "System.Collections.Generic.IAsyncEnumerable`1",
        std::slice::from_ref(&int),
    );
    let enter = "enter = \"Acme.Late.Begin(method)\"";
    assert!(!bound(enter, &stream).unwrap().ends_elsewhere());
    let exit = "exit = \"Acme.Late.More(arg(0))\"";
    assert!(bound(exit, &stream).unwrap().ends_elsewhere());
    for (hooks, returns, said) in [
        (
            "enter = \"skip when Acme.Late.Off(method)\"",
            &of_int,
            "only `around` can skip the body of an async method or iterator",
        ),
        (
            "exception = \"result = Acme.Late.Failed(exception)\"",
            &of_int,
            "a hook cannot end an exception of an async method or iterator",
        ),
        (
            "exit = \"Acme.Late.More(result)\"\nguard = false",
            &of_int,
            "`guard = false` is not possible at the end of an async method or iterator",
        ),
        (
            "exit = \"Acme.Late.More(arg(0))\"\naround = \"Acme.Late.Begin(proceed)\"",
            &of_int,
            "a hook at the end of an async method or iterator cannot surround an `around`",
        ),
        (
            "exit = \"Acme.Late.More(result)\"",
            &stream,
            "a method without a result has no `result`",
        ),
    ] {
        assert_eq!(bound(hooks, returns).unwrap_err(), said);
    }
}

#[test]
fn dotnet_spellings_and_nested_types_are_found() {
    let names: Vec<String> = super::catalog::spellings("a.B.C").collect();
    assert_eq!(
        names,
        ["a/B/C", "a/B$C", "a$B$C", "a.B.C", "a.B+C", "a+B+C"]
    );
    let object = Arc::new(Ty::class("System.Object"));
    assert_eq!(Ty::Array(object).shown(Language::CSharp), "object[]");
}

/// Binds aspects of calls for a call of a method of `java.util.Map`; an error as it is shown.
fn bind_call(aspects: &str, how: CallHow, text: &str) -> Result<Redirect, String> {
    let at = "[[aspect]]\nat = { call = { type = \"Map\" } }";
    let text_of_rules = format!("version = 1\n{}", aspects.replace("[[aspect]]", at));
    let matcher = Matcher::new(Rules::parse("weave.toml", &text_of_rules).unwrap());
    let (catalog, hierarchy) = (catalog(), Hierarchy::default());
    let binder = Binder {
        catalog: &catalog,
        hierarchy: &hierarchy,
        target: Target::Jvm,
        may_reach: &|_| false,
    };
    let meets: Vec<_> = (0..matcher.aspects().len() as u32)
        .filter_map(|n| matcher.own_hooks(n))
        .collect();
    let of = signature(None, text);
    let callee = Callee {
        owner: Ty::class("java/util/Map"),
        owner_is_interface: true,
        name: "get".into(),
        how,
        parameters: of.parameters.iter().map(|p| p.ty.clone()).collect(),
        result: of.result,
        reference: 0,
    };
    let signature = callee.signature();
    let subject = Subject {
        is_call: true,
        ..Subject::new(
            "java/util/Map",
            "get",
            &signature,
            home("app.jar", "weave/hooks/"),
        )
    };
    binder
        .bind_call(&meets, &subject, text, &callee)
        .map_err(|misfits| misfit::error(&misfits, false).unwrap().message().to_owned())
}

#[test]
fn a_call_is_replaced_by_the_hook_itself_where_that_takes_and_returns_the_same() {
    let text = format!("({STRING}){OBJECT}");
    let direct = bind_call(
        "[[aspect]]\nreplace = \"acme.Sql.Log.begin(target, args..)\"",
        CallHow::Interface,
        &text,
    )
    .unwrap();
    assert_eq!(direct.class(), None);
    let shown: Vec<String> = direct.shown().iter().map(|call| call.to_string()).collect();
    assert_eq!(
        shown,
        ["replace: acme.Sql$Log.begin(Object, String) gets target, arg(0)"]
    );
    // In another order, or with another result, by way of a method that converts.
    for (replace, text) in [
        ("acme.Sql.Log.begin(arg(0), method)", text.as_str()),
        ("acme.Sql.Log.mark()", "()V"),
        ("acme.Sql.Log.begin(target, 'a')", "()V"),
    ] {
        let aspect = format!("[[aspect]]\nreplace = \"{replace}\"");
        let bound = bind_call(&aspect, CallHow::Interface, text).unwrap();
        assert!(
            bound.class().unwrap().starts_with("weave/hooks/call_get_"),
            "{replace}"
        );
    }
}

#[test]
fn hooks_around_a_call_take_its_target_and_arguments() {
    let bound = bind_call(
        "[[aspect]]
before = \"acme.Sql.Log.begin(target, type)\"
after = \"acme.Sql.Log.end(state, result, duration)\"",
        CallHow::Interface,
        &format!("({STRING}){OBJECT}"),
    )
    .unwrap();
    let around = bound.bound().unwrap();
    assert_eq!(
        around.enter[0].operands[0].source,
        Source::Arg(0),
        "the first of the method in its place"
    );
    assert_eq!(around.exit[0].operands[1].source, Source::Result);
    let whens: Vec<&str> = bound.shown().iter().map(|call| call.when).collect();
    assert_eq!(whens, ["before", "after"]);
    let fixed = bind_call(
        "[[aspect]]\nbefore = \"acme.Sql.Log.begin(target?, arg(0))\"",
        CallHow::Static,
        &format!("({STRING}){OBJECT}"),
    )
    .unwrap();
    let operands = &fixed.bound().unwrap().enter[0].operands;
    assert_eq!(
        (&operands[0].source, &operands[1].source),
        (&Source::Zero, &Source::Arg(0))
    );
}

#[test]
fn calls_that_do_not_fit_are_told_at_the_rule() {
    let wrong = |aspect: &str, how, text: &str| {
        bind_call(&format!("[[aspect]]\n{aspect}"), how, text).unwrap_err()
    };
    let virtually = CallHow::Interface;
    assert_eq!(
        wrong("before = \"acme.Sql.Log.all(this)\"", virtually, "()V"),
        "`this` of the calling method is not supported at calls yet
 --> weave.toml:4:28
  |
4 | before = \"acme.Sql.Log.all(this)\"
  |                            ^^^^ of java.util.Map.get()
  |
  = help: at a call there are `target`, `args`, `arg(n)`, `result`, `method`, `type`, `signature`, `caller`, `line`"
    );
    assert_eq!(
        wrong("replace = \"acme.Sql.Log.mark()\"", virtually, "()I"),
        "`acme.Sql.Log.mark` returns nothing
 --> weave.toml:4:12
  |
4 | replace = \"acme.Sql.Log.mark()\"
  |            ^^^^^^^^^^^^^^^^^ where an `int` is expected, of java.util.Map.get()
  |
  = help: let it return an `int`"
    );
    let first = |aspect: &str, how| wrong(aspect, how, "()V").lines().next().unwrap().to_owned();
    assert_eq!(
        first("after = \"acme.Sql.Log.over(target)\"", CallHow::Static),
        "a static method has no `target`"
    );
    assert_eq!(
        first("before = \"acme.Sql.Log.over(result)\"", virtually),
        "`result` has no value in front of the call"
    );
    let twice = "replace = \"acme.Sql.Log.mark()\"\n[[aspect]]\nreplace = \"acme.Sql.Log.mark()\"";
    assert_eq!(first(twice, virtually), "two aspects replace the same call");
    let target = enter("acme.Sql.Log.all(target)").unwrap_err();
    assert!(
        target.starts_with("`target` is only available at calls"),
        "{target}"
    );
}

/// What two aspects change in a method: where each result goes, and how.
#[test]
fn hooks_change_what_a_method_has() {
    let text = signature(None, &format!("({STRING} sql, J n, {OBJECT} o){STRING}"));
    let bound = bind(
        "[[aspect]]
enter = [\"arg(0) = acme.Sql.Log.clean(sql)\", \"n = acme.Sql.Log.more(1)\", \"arg(2) = acme.Sql.Log.more(2)\", \"arg(3)? = acme.Sql.Log.more(3)\"]
exit = [\"acme.Sql.Log.mark()\", \"result = acme.Sql.Log.clean(result)\"]
[[aspect]]
enter = [\"return acme.Sql.Log.clean(arg(0)) unless null\", \"skip when acme.Sql.Log.off(1)\"]
exit = \"acme.Sql.Log.mark()\"
exception = [\"throw acme.Sql.Log.translate(exception)\", \"result = acme.Sql.Log.clean('x')\"]",
        &text,
    )
    .unwrap();
    let of = |calls: &[super::call::Call]| -> Vec<(Dest, Option<Convert>)> {
        let convert = |call: &super::call::Call| call.given.as_ref().map(|(how, _)| *how);
        calls
            .iter()
            .map(|call| (call.dest, convert(call)))
            .collect()
    };
    let same = Some(Convert::Same);
    assert_eq!(
        of(&bound.enter),
        [
            (Dest::Arg(0), same),
            (Dest::Arg(1), Some(Convert::Widen(Prim::I32, Prim::I64))),
            (Dest::Arg(2), Some(Convert::Box)),
            // The exit hooks of both aspects run where the body does not.
            (Dest::ReturnUnlessNull { exits: 3 }, same),
            (Dest::SkipWhen { exits: 3 }, same),
        ]
    );
    assert_eq!(
        of(&bound.exit),
        [(Dest::Drop, None), (Dest::Drop, None), (Dest::Result, same)]
    );
    assert_eq!(
        of(&bound.exception),
        [(Dest::Throw, same), (Dest::Ends { exits: 2 }, same)]
    );
    assert_eq!(bound.last_exits(2)[1].dest, Dest::Result);
    // Guarded, a hook falls back on what was there.
    let old: Vec<Source> = [&bound.enter[0], &bound.exit[2], &bound.exception[1]]
        .map(|call| call.operands.last().unwrap().source.clone())
        .into();
    assert_eq!(old, [Source::Arg(0), Source::Result, Source::Exception]);
    let change = bound.enter[1].adapter.clone().unwrap().change.unwrap();
    let long = Ty::Prim(Prim::I64);
    assert_eq!(
        (&change.to, &change.old, change.throws),
        (&long, &long, false)
    );
    assert!(
        bound.exception[1]
            .adapter
            .clone()
            .unwrap()
            .change
            .unwrap()
            .throws
    );
    let shown: Vec<String> = bound.shown().iter().map(|call| call.to_string()).collect();
    assert_eq!(
        shown,
        [
            "enter: arg(0) = acme.Sql$Log.clean(String) gets arg(0)",
            "enter: arg(1) = acme.Sql$Log.more(int) gets 1",
            "enter: arg(2) = acme.Sql$Log.more(int) gets 2",
            "enter: return acme.Sql$Log.clean(String) unless null gets arg(0)",
            "enter: skip when acme.Sql$Log.off(int) gets 1",
            "exit: acme.Sql$Log.mark()",
            "exit: acme.Sql$Log.mark()",
            "exit: result = acme.Sql$Log.clean(String) gets result",
            "exception: throw acme.Sql$Log.translate(java.lang.Throwable) gets exception",
            "exception: result = acme.Sql$Log.clean(String) gets 'x'",
        ]
    );
    let open = bind(
        "[[aspect]]\nguard = false\nexit = \"result = acme.Sql.Log.clean(result)\"",
        &text,
    );
    let adapter = open.unwrap().exit[0].adapter.clone().unwrap();
    assert!(!adapter.guard && adapter.recursion && adapter.change.is_some());
}

#[test]
fn what_cannot_be_changed_is_said_at_its_place() {
    let said = |rule: &str, method: &Signature| {
        let said = bind(&format!("[[aspect]]\n{rule}"), method).unwrap_err();
        said.lines().next().unwrap().to_owned()
    };
    insta::assert_snapshot!(enter("arg(0) = acme.Sql.Log.more(n)").unwrap_err());
    insta::assert_snapshot!(enter("return acme.Sql.Log.clean(sql) unless null").unwrap_err());
    assert_eq!(
        said("enter = \"arg(2) = acme.Sql.Log.more(1)\"", &query()),
        "there is no `arg(2)`"
    );
    assert_eq!(
        said("enter = \"skip when acme.Sql.Log.more(1)\"", &query()),
        "`acme.Sql.Log.more` returns an `int`"
    );
    assert_eq!(
        said("enter = \"n = acme.Sql.Log.over(1)\"", &query()),
        "`acme.Sql.Log.over` returns nothing"
    );
    assert_eq!(
        said(
            "exception = \"throw acme.Sql.Log.number(exception)\"",
            &query()
        ),
        "`acme.Sql.Log.number` returns an `int`"
    );
    let void = signature(None, "()V");
    assert_eq!(
        said(
            "enter = \"return acme.Sql.Log.clean('') unless null\"",
            &void
        ),
        "a method without a result returns nothing"
    );
    assert_eq!(
        said("exit = \"result = acme.Sql.Log.clean('')\"", &void),
        "a method without a result has no `result`"
    );
    assert_eq!(
        said("exception = \"result = acme.Sql.Log.clean('')\"", &void),
        "a method without a result has no `result`"
    );
    let nothing = bind(
        "[[aspect]]\nexit = \"result? = acme.Sql.Log.clean('')\"",
        &void,
    );
    assert!(nothing.unwrap().exit.is_empty());
}

/// Binds an aspect of calls for a call of a method of .NET that gives what `result` says.
fn bind_dotnet_call(aspect: &str, result: Ty) -> Redirect {
    let at = "at = { call = { type = \"App.Store\" } }";
    let rules = format!("version = 1\n[[aspect]]\n{at}\n{aspect}\n");
    let matcher = Matcher::new(Rules::parse("weave.toml", &rules).unwrap());
    let (mut catalog, hierarchy) = (Catalog::default(), Hierarchy::default());
    let named = |ty: Ty| Parameter {
        name: None,
        ty,
        out: false,
    };
    let records = |name: &str, value: Ty, generics: u16| {
        let int = || named(Ty::Prim(Prim::I32));
        let parameters = [
            named(value),
            int(),
            int(),
            named(Ty::class("System.String")),
            int(),
        ];
        HookMethod {
            name: name.into(),
            is_public: true,
            signature: Signature {
                this: None,
                parameters: parameters.into(),
                result: Ty::Void,
                generics,
                variadic: false,
            },
        }
    };
    let parameter = Ty::Param {
        index: 0,
        of_method: true,
    };
    catalog.add(
        "Weave.Runtime.Values".into(),
        HookType {
            of_objects: Vec::new(),
            ty: Ty::class("Weave.Runtime.Values"),
            is_interface: false,
            is_public: true,
            methods: vec![
                records("Value", Ty::class("System.Object"), 0),
                records("Text", Ty::class("System.Object"), 0),
                records("Later", task_of("netstandard", Some(parameter.clone())), 1),
                records("LaterText", task_of("netstandard", Some(parameter)), 1),
            ],
        },
    );
    let binder = Binder {
        catalog: &catalog,
        hierarchy: &hierarchy,
        target: Target::DotNet,
        may_reach: &|_| false,
    };
    let own = matcher.own_hooks(0).unwrap();
    let callee = Callee {
        owner: Ty::class("App.Store"),
        owner_is_interface: false,
        name: "Get".into(),
        how: CallHow::Virtual,
        parameters: [Ty::class("System.String")].into(),
        result,
        reference: 0,
    };
    let signature = callee.signature();
    let subject = Subject {
        is_call: true,
        ..Subject::new("App.Store", "Get", &signature, home("App.dll", "<Weave>/"))
    };
    let bound = binder.bind_call(&[own], &subject, "(string)", &callee);
    bound.unwrap_or_else(|wrong| panic!("{}", wrong[0].title))
}

fn task_of(scope: &str, result: Option<Ty>) -> Ty {
    let name = match result {
        Some(_) => "System.Threading.Tasks.Task`1",
        None => "System.Threading.Tasks.Task",
    };
    Ty::Named(Arc::new(Named {
        name: name.into(),
        scope: format!("{scope}, Version=4.0.0.0, Culture=neutral, PublicKeyToken=null").into(),
        value: false,
        by_ref_like: false,
        args: result.into_iter().collect(),
    }))
}

#[test]
fn a_call_that_gives_a_task_is_followed() {
    let text = || Some(Ty::class("System.String"));
    let values = |bound: &Redirect| -> Vec<String> {
        let recorded = bound.bound().unwrap();
        (recorded.enter.iter().chain(&recorded.exit))
            .map(|call| call.hook.name.to_string())
            .collect()
    };
    let record = "record = [\"arg(0)\", \"result\", \"string(result)\"]";
    let followed = bind_dotnet_call(record, task_of("System.Runtime", text()));
    assert!(followed.follows());
    assert_eq!(values(&followed), ["Value", "Later", "LaterText"]);
    let later = followed.bound().unwrap().exit[0].generics.to_vec();
    assert_eq!(later, [Ty::class("System.String")]);
    let plain = bind_dotnet_call(record, task_of("mscorlib", None));
    assert!(plain.follows(), "a task without a result");
    assert_eq!(values(&plain), ["Value", "Value", "Text"]);
    // It ends when it returns: as the rule says, without its whole pair, or what it gives is no task that the hook library knows.
    for (aspect, result) in [
        (
            "completion = false\nrecord = \"result\"",
            task_of("mscorlib", text()),
        ),
        (
            "advice = [\"enter\", \"exit\"]",
            task_of("mscorlib", text()),
        ),
        ("record = \"result\"", task_of("App.Tasks", text())),
        (
            "record = \"result\"",
            Ty::class("System.Threading.Tasks.ValueTask"),
        ),
        ("record = \"result\"", Ty::class("System.String")),
    ] {
        let bound = bind_dotnet_call(aspect, result);
        assert!(!bound.follows(), "{aspect}");
        let is_later = |value: &String| value.starts_with("Later");
        assert!(!values(&bound).iter().any(is_later), "{aspect}");
    }
}

#[test]
fn a_context_goes_with_an_object_and_no_value() {
    for (context, call) in [
        ("take = \"result\"", format!("({STRING})I")),
        ("take = \"result\"", format!("({STRING})V")),
        ("give = \"arg(0)\"", format!("(J){OBJECT}")),
        ("give = \"string(arg(0))\"", format!("({STRING}){OBJECT}")),
    ] {
        let aspect = format!("[[aspect]]\ncontext = {{ {context} }}");
        let wrong = bind_call(&aspect, CallHow::Interface, &call).unwrap_err();
        let told = "this is a value without identity, which carries no context";
        assert!(wrong.contains(told), "{context}: {wrong}");
    }
}

#[test]
fn what_takes_no_context_in_dotnet_is_told_at_its_place() {
    let named = |name: &str, value: bool, args: &[Ty]| {
        Ty::Named(Arc::new(Named {
            name: name.into(),
            scope: "System.Runtime".into(),
            value,
            by_ref_like: false,
            args: args.into(),
        }))
    };
    let item = Ty::class("App.Item");
    let order = named("App.Order", true, &[]);
    let task = named(
        "System.Threading.Tasks.Task`1",
        false,
        std::slice::from_ref(&item),
    );
    let later = named(
        "System.Threading.Tasks.ValueTask`1",
        true,
        std::slice::from_ref(&item),
    );
    let told = |rule: &str, parameter: &Ty, result: &Ty| {
        let rules = format!("version = 1\n[[aspect]]\n{rule}\n");
        let matcher = Matcher::new(Rules::parse("weave.toml", &rules).unwrap());
        let own = matcher.own_hooks(0).unwrap();
        let signature = Signature {
            this: None,
            parameters: [Parameter {
                name: Some("item".into()),
                ty: parameter.clone(),
                out: false,
            }]
            .into(),
            result: result.clone(),
            generics: 0,
            variadic: false,
        };
        let subject = Subject {
            is_async: own.hooks.at.is_none() && rule.contains("Later"),
            is_call: own.hooks.at.is_some(),
            span: matcher.span(0).map(|rule| &**rule),
            switched: matcher.span(0).map(|_| 0),
            ..Subject::new("App.Queue", "Work", &signature, home("App.dll", ""))
        };
        let (catalog, hierarchy) = (Catalog::default(), Hierarchy::default());
        let binder = Binder {
            catalog: &catalog,
            hierarchy: &hierarchy,
            target: Target::DotNet,
            may_reach: &|_| true,
        };
        let wrong = binder.bind(&[own], &subject).unwrap_err();
        (
            wrong[0].title.clone(),
            rules[wrong[0].span.clone()].to_owned(),
        )
    };
    let value = "this is a value without identity, which carries no context";
    let at = |context: &str| {
        format!("at = {{ call = {{ type = \"App.Queue\" }} }}\ncontext = {{ {context} }}")
    };
    let by_ref = |ty: &Ty| Ty::ByRef(Arc::new(ty.clone()));
    for (context, parameter, result) in [
        ("give = \"arg(0)\"", &order, &Ty::Void),
        ("give = \"item\"", &order, &Ty::Void),
        ("take = \"arg(0)\"", &by_ref(&order), &Ty::Void),
        ("take = \"result\"", &item, &later),
    ] {
        let place = context.split('"').nth(1).unwrap();
        let found = told(&at(context), parameter, result);
        assert_eq!(found, (value.to_owned(), place.to_owned()), "{context}");
    }
    let found = told(&at("take = \"result\""), &item, &task);
    let wanted = "the context would go with this task, not with the object that it gives later";
    assert_eq!(found, (wanted.to_owned(), "result".to_owned()));
    let rule =
        "match = { type = \"App.Queue\", method = \"Later\" }\ncontext = { take = \"arg(0)\" }";
    let found = told(rule, &item, &task);
    let wanted = "an async method or iterator takes a context only with `span`";
    assert_eq!(found, (wanted.to_owned(), "arg(0)".to_owned()));
    let rule = "match = { type = \"App.Queue\", method = \"Later\" }\nspan = \"consumer\"\n\
                context = { extract = \"result.Header(name)\", link = true }";
    let found = told(rule, &item, &task);
    let wanted = "the result of a task cannot bring a link";
    assert_eq!(found, (wanted.to_owned(), "result.Header(name)".to_owned()));
}

#[test]
fn what_comes_in_at_the_end_is_a_link_of_what_the_method_returns() {
    let wrong = |extract: &str, link: bool, result: &str| {
        let text = format!(
            "version = 1\n[[aspect]]\nmatch = {{ type = \"**\" }}\nspan = \"consumer\"\n\
             context = {{ extract = \"{extract}\", link = {link} }}\n"
        );
        let matcher = Matcher::new(Rules::parse("weave.toml", &text).unwrap());
        let own = matcher.own_hooks(0).unwrap();
        let method = signature(Some("app/Db"), &format!("(Lapp/Request; request){result}"));
        let subject = Subject {
            span: matcher.span(0).map(|rule| &**rule),
            switched: Some(0),
            ..Subject::new("app/Db", "next", &method, home("app.jar", "weave/hooks/"))
        };
        let (catalog, hierarchy) = (catalog(), Hierarchy::default());
        let binder = Binder {
            catalog: &catalog,
            hierarchy: &hierarchy,
            target: Target::Jvm,
            may_reach: &|_| true,
        };
        let wrong = binder.bind(&[own], &subject).unwrap_err();
        assert_eq!(text[wrong[0].span.clone()], *extract);
        wrong[0].title.clone()
    };
    let request = "Lapp/Request;";
    assert_eq!(
        wrong("result.header(name)", false, request),
        "the parent of a span is known when it begins"
    );
    assert_eq!(
        wrong("exception.header(name)", true, request),
        "`extract` reads values of the method's begin, or of its return"
    );
}

#[test]
fn java_gives_nothing_by_out() {
    let method = signature(Some("app/Db"), "(Lapp/Request; request)V");
    for member in ["header(out)", "any('a', out)"] {
        let aspect = format!("[[aspect]]\nenter = \"acme.Sql.Log.over(request.{member})\"");
        let told = bind(&aspect, &method).unwrap_err();
        assert!(told.contains("takes these constants"), "{told}");
    }
}

/// Programs that were woven before calls were followed keep their names and ids.
#[test]
fn a_recorded_call_that_is_not_followed_keeps_its_class_and_its_id() {
    let identity = |bound: &Redirect| bound.identity().unwrap();
    let java = bind_call(
        "[[aspect]]\nrecord = \"result\"",
        CallHow::Interface,
        &format!("({STRING}){OBJECT}"),
    )
    .unwrap();
    let class = |bound: &Redirect| bound.class().cloned().unwrap();
    assert_eq!(&*class(&java), "weave/hooks/call_get_e2a5fd8e74d88404");
    assert_eq!(
        identity(&java),
        r#"RecordedCall { advice: Advice(7), name: ["java/util/Map", "get", "(Ljava/lang/String;)Ljava/lang/Object;"] } ["result"]"#
    );
    let given = bind_dotnet_call(
        "record = \"arg(0)\"\ncompletion = false",
        task_of("mscorlib", None),
    );
    assert_eq!(&*class(&given), "<Weave>/call_Get_6d091e55bf0ee91d");
    assert_eq!(
        identity(&given),
        r#"RecordedCall { advice: Advice(7), name: ["App.Store", "Get", "(string)"] } ["arg(0)"]"#
    );
    // One that is followed is another row of the trace.
    let followed = bind_dotnet_call("record = \"arg(0)\"", task_of("mscorlib", None));
    assert_ne!(class(&followed), class(&given));
    assert_eq!(identity(&followed), format!("{} follows", identity(&given)));
}

/// What `around` calls, and how its result becomes that of a method.
fn around(call: &str, method: &Signature) -> Result<(String, Option<Convert>), String> {
    let bound = bind(&format!("[[aspect]]\naround = \"{call}\""), method)?;
    let around = bound.around.as_ref().unwrap();
    assert!(around.inner.is_none() && !bound.has_own_hooks() && around.call.adapter.is_none());
    let convert = around.call.given.as_ref().map(|(convert, _)| *convert);
    Ok((bound.shown()[0].to_string(), convert))
}

#[test]
fn what_runs_a_body_is_of_the_type_that_the_hook_takes() {
    let told = |call: &str, method: &Signature| around(call, method).unwrap();
    let of = |text: &str| signature(None, text);
    let retry = "around: acme.Sql$Log.retry(java.util.function.Supplier, int) gets proceed, 3";
    for (result, convert) in [
        ("I", Some(Convert::Cast)),
        (STRING, Some(Convert::Cast)),
        (OBJECT, Some(Convert::Same)),
        ("V", None),
    ] {
        let method = of(&format!("({STRING}){result}"));
        assert_eq!(
            told("acme.Sql.Log.retry(proceed, 3)", &method),
            (retry.into(), convert)
        );
    }
    for (result, ty) in [
        ("Z", "java.util.function.BooleanSupplier"),
        ("J", "java.util.function.Supplier"),
        ("[I", "java.util.function.Supplier"),
        ("V", "java.lang.Runnable"),
    ] {
        let (shown, _) = told("acme.Sql.Log.over(proceed)", &of(&format!("(I){result}")));
        assert_eq!(
            shown,
            format!("around: acme.Sql$Log.over({ty}) gets proceed")
        );
    }
    let takes = |method: &Signature| {
        let bound = bind(
            "[[aspect]]\naround = \"acme.Sql.Log.next(proceed)\"",
            method,
        )
        .ok()?;
        match &bound.around.as_ref().unwrap().call.operands[0].source {
            Source::Proceed(proceed) => Some(proceed.takes_arguments),
            _ => None,
        }
    };
    assert_eq!(takes(&of(&format!("(I, {STRING})I"))), Some(true));
    assert_eq!(takes(&of("(I)I")), None);
    assert_eq!(takes(&of(&format!("(I, {STRING})J"))), None);
}

#[test]
fn a_body_that_no_hook_can_stand_for_is_an_error_at_the_rule() {
    let wrong = |call: &str| around(call, &query()).unwrap_err();
    assert_eq!(
        wrong("acme.Sql.Log.pair(proceed)"),
        "`a.Pair` is no interface with one method
 --> weave.toml:4:29
  |
4 | around = \"acme.Sql.Log.pair(proceed)\"
  |                             ^^^^^^^ of app.Db.query(String, int)
  |
  = help: `java.util.function.Supplier`, `java.lang.Runnable`, or one of your own"
    );
    let first = |text: String| text.lines().next().unwrap_or_default().to_owned();
    let wrong = |call: &str| first(wrong(call));
    assert_eq!(
        wrong("acme.Sql.Log.list(proceed)"),
        "nothing says which method a `java.util.List` has"
    );
    assert_eq!(
        wrong("acme.Sql.Log.next(proceed)"),
        "`java.util.function.ToIntBiFunction` is `int applyAsInt(Object, Object)`, which does not run the method"
    );
    assert_eq!(
        wrong("acme.Sql.Log.narrowed(proceed)"),
        "`acme.Sql.Log.narrowed` returns a `String`"
    );
    assert_eq!(
        wrong("acme.Sql.Log.begin(result, method)"),
        "`result` has no value at around"
    );
    assert_eq!(
        wrong("acme.Sql.Log.begin(state, method)"),
        "`state` is not available in `around`"
    );
    assert_eq!(
        wrong("acme.Sql.Log.begin(this.a(), method)"),
        "`around` does not take chains yet"
    );
    assert_eq!(
        first(enter("acme.Sql.Log.retry(proceed, 3)").unwrap_err()),
        "`proceed` is only available in `around`"
    );
    let named = |name: &str, method: &Signature| {
        let aspect = "[[aspect]]\naround = \"acme.Sql.Log.retry(proceed, 3)\"";
        first(bind_named(name, aspect, method).unwrap_err())
    };
    assert_eq!(
        named("<init>", &query()),
        "a constructor cannot have `around`"
    );
    assert_eq!(
        named("<clinit>", &query()),
        "a static initialiser cannot have `around`"
    );
    assert_eq!(named("old", &query()), "it is old");
    let words =
        |count: usize| signature(None, &format!("({}){OBJECT}", vec!["J"; count].join(", ")));
    assert!(around("acme.Sql.Log.retry(proceed, 3)", &words(126)).is_ok());
    assert_eq!(
        named("wide", &words(127)),
        "`proceed` keeps at most 253 words of arguments"
    );
    // Where the rule says so, it passes over them.
    for (name, method) in [("<init>", query()), ("old", query()), ("wide", words(127))] {
        let aspect = "[[aspect]]\naround = \"acme.Sql.Log.retry(proceed?, 3)\"\nexit = \"acme.Sql.Log.mark()\"";
        let bound = bind_named(name, aspect, &method).unwrap();
        assert!(bound.around.is_none() && bound.exit.len() == 1, "{name}");
    }
    assert!(around("acme.Sql.Log.retry(proceed?, 3)", &query()).is_ok());
}

#[test]
fn hooks_nest_around_a_body_in_the_order_of_the_file() {
    let aspects = "[[aspect]]
enter = \"acme.Sql.Log.begin(this, method)\"
around = \"acme.Sql.Log.over(proceed)\"
exit = \"acme.Sql.Log.end(state, result, duration)\"
record = \"sql\"
[[aspect]]
enter = \"arg(0) = acme.Sql.Log.clean(arg(0))\"
[[aspect]]
around = \"acme.Sql.Log.over(proceed)\"
[[aspect]]
exit = \"acme.Sql.Log.all(args)\"
record = \"result\"
";
    let bound = bind(aspects, &query()).unwrap();
    let whens: Vec<&str> = bound.shown().iter().map(|call| call.when).collect();
    let inside = ["enter", "around", "exit", "record", "record"];
    assert_eq!(
        whens,
        [&["enter", "around"][..], &inside, &["exit"]].concat()
    );
    let values: Vec<&str> = bound.values.iter().map(|name| &**name).collect();
    assert_eq!(values, ["sql", "result"]);
    let around = bound.around.as_ref().unwrap();
    let second = around.inner.as_ref().unwrap();
    let body = second.around.as_ref().unwrap().inner.as_ref().unwrap();
    assert_eq!(
        (
            bound.enters().behind.len(),
            second.enters().behind.len(),
            body.enters().behind.len()
        ),
        (0, 0, 1)
    );
    assert_eq!((body.exits().front.len(), body.exit.len()), (1, 2));
    assert_eq!((second.enter.len(), second.exit.len()), (1, 0));
    assert!(bound.keep.duration && !body.keep.duration);
}

/// What a hook `Acme.Log.Run` with these type parameters, this first parameter and this result gets around a method of .NET, and how
/// its result becomes the method's.
fn delegate(
    generics: u16,
    (proceed, gives): (&Ty, &Ty),
    method: &Signature,
) -> Result<(Proceed, Option<Convert>), String> {
    let mut catalog = Catalog::default();
    let own = |parameters: &[Ty], result: Ty| Interface {
        is_public: true,
        open: vec![Function {
            name: "Invoke".into(),
            parameters: parameters.into(),
            result,
        }],
        given: vec![],
    };
    let of_type = Ty::Param {
        of_method: false,
        index: 0,
    };
    catalog.add_interface("Acme.Body`1".into(), own(&[], of_type));
    let hidden = Interface {
        is_public: false,
        ..own(&[], Ty::Void)
    };
    catalog.add_interface("Acme.Hidden".into(), hidden);
    let parameter = Parameter {
        name: None,
        ty: proceed.clone(),
        out: false,
    };
    let run = HookMethod {
        name: "Run".into(),
        is_public: true,
        signature: Signature {
            this: None,
            parameters: [parameter].into(),
            result: gives.clone(),
            generics,
            variadic: false,
        },
    };
    let log = HookType {
        of_objects: Vec::new(),
        ty: Ty::class("Acme.Log"),
        is_interface: false,
        is_public: true,
        methods: vec![run],
    };
    catalog.add("Acme.Log".into(), log);
    let rules =
        "version = 1\n[[aspect]]\nmatch = { type = \"**\" }\naround = \"Acme.Log.Run(proceed)\"";
    let matcher = Matcher::new(Rules::parse("weave.toml", rules).unwrap());
    let hierarchy = Hierarchy::of([("Acme.Log".into(), [].into())].into_iter().collect());
    let binder = Binder {
        catalog: &catalog,
        hierarchy: &hierarchy,
        target: Target::DotNet,
        may_reach: &|_| false,
    };
    let own = matcher.own_hooks(0).unwrap();
    let subject = Subject::new("App.Db", "Query", method, home("App.dll", ""));
    let bound = binder.bind(&[own], &subject);
    let bound = bound.map_err(|wrong| wrong[0].title.clone())?;
    let call = &bound.around.as_ref().unwrap().call;
    let Source::Proceed(proceed) = &call.operands[0].source else {
        panic!("{:?}", call.operands);
    };
    Ok((
        (**proceed).clone(),
        call.given.as_ref().map(|(how, _)| *how),
    ))
}

#[test]
fn a_delegate_runs_a_body_of_dotnet() {
    let named = |name: &str, args: &[Ty]| {
        Ty::Named(Arc::new(Named {
            name: name.into(),
            scope: "".into(),
            value: false,
            by_ref_like: false,
            args: args.into(),
        }))
    };
    let method = |parameters: &[&Ty], result: &Ty| Signature {
        this: None,
        parameters: (parameters.iter())
            .map(|ty| Parameter {
                name: None,
                ty: (*ty).clone(),
                out: false,
            })
            .collect(),
        result: result.clone(),
        generics: 0,
        variadic: false,
    };
    let (int, long) = (Ty::Prim(Prim::I32), Ty::Prim(Prim::I64));
    let (object, string) = (Ty::class("System.Object"), Ty::class("System.String"));
    let of_method = Ty::Param {
        of_method: true,
        index: 0,
    };
    let func = |args: &[Ty]| named(&format!("System.Func`{}", args.len()), args);
    let point = Ty::Named(Arc::new(Named {
        name: "App.Point".into(),
        scope: "".into(),
        value: true,
        by_ref_like: false,
        args: Box::default(),
    }));

    // The type argument is what the body gives; of a method without a result an object.
    let generic = (&func(std::slice::from_ref(&of_method)), &of_method);
    for (result, inferred) in [
        (&int, &int),
        (&string, &string),
        (&point, &point),
        (&Ty::Void, &object),
    ] {
        let (proceed, given) = delegate(1, generic, &method(&[&long], result)).unwrap();
        assert_eq!(proceed.ty, func(std::slice::from_ref(inferred)));
        assert_eq!(proceed.function.result, *inferred);
        assert!(!proceed.takes_arguments);
        let same = (*result != Ty::Void).then_some(Convert::Same);
        assert_eq!(given, same);
    }
    // One's own, generic or not; objects are cast.
    let body = named("Acme.Body`1", std::slice::from_ref(&object));
    for (result, given) in [
        (&int, Some(Convert::Cast)),
        (&point, Some(Convert::Cast)),
        (&object, Some(Convert::Same)),
        (&Ty::Void, None),
    ] {
        let found = delegate(0, (&body, &object), &method(&[], result)).unwrap();
        assert_eq!((found.0.function.result, found.1), (object.clone(), given));
    }
    // With arguments.
    let adds = func(&[int.clone(), long.clone(), int.clone()]);
    let found = delegate(0, (&adds, &int), &method(&[&int, &long], &int)).unwrap();
    assert!(found.0.takes_arguments);

    let wrong = |proceed: &Ty, result: &Ty| {
        delegate(0, (proceed, &Ty::Void), &method(&[&int], result)).unwrap_err()
    };
    assert_eq!(
        wrong(&func(std::slice::from_ref(&long)), &int),
        "`System.Func<long>` is `long Invoke()`, which does not run the method"
    );
    assert_eq!(
        wrong(&Ty::class("Acme.Log"), &int),
        "`Acme.Log` is no delegate"
    );
    assert_eq!(
        wrong(&Ty::class("Acme.Hidden"), &Ty::Void),
        "`Acme.Hidden` is not public"
    );
    assert_eq!(
        wrong(&Ty::class("Acme.Gone"), &int),
        "nothing says which method an `Acme.Gone` has"
    );
}

/// Binds an aspect of points where a static method sets a field, a `String` of `acme.Order`; an error as it is shown.
fn bind_set(aspect: &str, is_static: bool) -> Result<Vec<Redirect>, String> {
    let at = "at = { field-set = { type = \"acme.Order\", name = \"state\" } }";
    let text = format!("version = 1\n[[aspect]]\n{at}\n{aspect}");
    let matcher = Matcher::new(Rules::parse("weave.toml", &text).unwrap());
    let (catalog, hierarchy) = (catalog(), Hierarchy::default());
    let binder = Binder {
        catalog: &catalog,
        hierarchy: &hierarchy,
        target: Target::Jvm,
        may_reach: &|_| false,
    };
    let own = matcher.own_hooks(0).unwrap();
    let owner = Ty::class("acme/Order");
    let target = (!is_static).then(|| owner.clone());
    let point = Point {
        kind: PointKind::FieldSet,
        owner,
        name: "state".into(),
        has_target: target.is_some(),
        takes: (target.into_iter())
            .chain([Ty::class("java/lang/String")])
            .collect(),
        result: Ty::Void,
        is_tested: false,
        reference: 0,
    };
    let at = AtPoint {
        point: &point,
        when: Where::Before,
        passed: &[],
        lacks_this: None,
        this: None,
        thrown: None,
        caller: Some("app.Main.main"),
        shown: "field-set in app.Main.main",
    };
    binder
        .bind_point(own, &at, home("app.jar", "weave/hooks/"))
        .map_err(|misfits| misfit::error(&misfits, false).unwrap().message().to_owned())
}

#[test]
fn at_a_point_only_what_hooks_ask_for_is_passed() {
    let passed = |aspect: &str, is_static| {
        let all = bind_set(aspect, is_static).unwrap();
        let each = all.into_iter().map(|redirect| {
            let placed = redirect.placed().unwrap();
            (placed.when, placed.passed.to_vec())
        });
        each.collect::<Vec<_>>()
    };
    use Passed::{Line, Method, Stack, Type};
    let begin = "acme.Sql.Log.begin";
    assert_eq!(
        passed(
            &format!("before = \"{begin}(value, method)\"\nafter = \"{begin}(target, type)\""),
            false
        ),
        [
            (Where::Before, vec![Stack(1), Method]),
            (Where::After, vec![Stack(0), Type]),
        ]
    );
    // All of a point that is replaced is on the stack.
    assert_eq!(
        passed("replace = \"acme.Sql.Log.over(line)\"", false),
        [(Where::Replace, vec![Stack(0), Stack(1), Line])]
    );
    assert_eq!(
        passed(&format!("before = \"{begin}(target?, field)\""), true),
        [(Where::Before, vec![])]
    );
}

#[test]
fn what_a_point_has_not_is_an_error_with_its_place() {
    let told = |hook: &str, is_static| {
        let aspect = format!("before = \"acme.Sql.Log.over({hook})\"");
        let told = bind_set(&aspect, is_static).unwrap_err();
        let mut lines = told.lines();
        let title = lines.next().unwrap().to_owned();
        let caret = told.lines().find(|line| line.contains('^')).unwrap();
        (title, caret.trim_start_matches([' ', '|']).to_owned())
    };
    for (hook, is_static, title) in [
        ("target", true, "a static field has no `target`"),
        ("this", false, "a static method has no `this`"),
        ("arg(0)", false, "a point of `field-set` has no arguments"),
        (
            "result",
            false,
            "`result` has no value in front of a point of `field-set`",
        ),
        (
            "other",
            false,
            "`other` has no value in front of a point of `field-set`",
        ),
        (
            "duration",
            false,
            "`duration` is not available at points other than calls",
        ),
        (
            "id",
            false,
            "`id` is not available at points other than calls",
        ),
    ] {
        let (said, caret) = told(hook, is_static);
        assert_eq!(said, title);
        assert_eq!(
            caret,
            format!("{} at field-set in app.Main.main", "^".repeat(hook.len()))
        );
    }
}
