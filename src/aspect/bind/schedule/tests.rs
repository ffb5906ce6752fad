use super::{Schedule, Step, Steps};
use crate::aspect::bind::call::{Bound, Call, Dest, Operand};
use crate::aspect::bind::tests::{bind, signature};
use crate::aspect::bind::ty::Language;

/// Steps as lines of text; those of a test are indented.
fn put(steps: &Steps<'_>, indent: &str, out: &mut String) {
    let taken = |operands: &[Operand]| {
        let sources: Vec<String> = operands.iter().map(|o| o.source.to_string()).collect();
        sources.join(", ")
    };
    for step in steps {
        let line = match step {
            Step::Call(call) => format!("call {}({})", call.hook.name, taken(&call.operands)),
            Step::Drop(_) => "drop".into(),
            Step::Store(call, var) => format!("store {var:?}, {:?}", call.conversion()),
            Step::Give(_) => "give".into(),
            Step::ZeroState(n, ty) => format!("zero state {n}: {}", ty.shown(Language::Java)),
            Step::ZeroResult(ty) => format!("zero result: {}", ty.shown(Language::Java)),
            Step::If(test, ..) => format!("if {test:?}"),
            step => format!("{step:?}").to_lowercase(),
        };
        *out += &format!("{indent}{line}\n");
        if let Step::If(_, _, then) = step {
            put(then, &format!("{indent}    "), out);
        }
    }
}

fn shown(bound: &Bound) -> String {
    let schedule = Schedule::of(bound).expect("every call means something where it stands");
    let mut out = String::new();
    for (place, steps) in [
        ("start", &schedule.start),
        ("exit, in front of the pair", &schedule.exit[0]),
        ("exit", &schedule.exit[1]),
        ("exception, in front of the pair", &schedule.exception[0]),
        ("exception", &schedule.exception[1]),
    ] {
        out += &format!("{place}:\n");
        put(steps, "    ", &mut out);
    }
    out
}

#[test]
fn hooks_that_change_nothing_keep_a_state_and_the_time() {
    let method = signature(
        Some("a/B"),
        "(Ljava/lang/String; sql, J n)Ljava/lang/String;",
    );
    let bound = bind(
        "[[aspect]]
record = [\"arg(0)\", \"result\", \"exception\"]
enter = \"acme.Sql.Log.begin(sql, method)\"
exit = \"acme.Sql.Log.end(state, sql, duration)\"
exception = \"acme.Sql.Log.failed(state, exception)\"",
        &method,
    );
    insta::assert_snapshot!(shown(&bound.unwrap()));
}

#[test]
fn hooks_that_change_something_test_return_and_go_on() {
    let method = signature(None, "(Ljava/lang/String; sql, J n)Ljava/lang/String;");
    let bound = bind(
        "[[aspect]]
enter = [\"acme.Sql.Log.begin(sql, method)\", \"arg(0) = acme.Sql.Log.clean(sql)\"]
exit = [\"acme.Sql.Log.end(state, sql, 1)\", \"result = acme.Sql.Log.clean(result)\"]
exception = \"result = acme.Sql.Log.clean('around')\"
[[aspect]]
enter = [\"return acme.Sql.Log.clean(arg(0)) unless null\", \"skip when acme.Sql.Log.off(1)\"]
exit = \"acme.Sql.Log.mark()\"
exception = [\"throw acme.Sql.Log.translate(exception)\", \"result = acme.Sql.Log.clean('x')\"]",
        &method,
    );
    insta::assert_snapshot!(shown(&bound.unwrap()));
}

#[test]
fn without_an_adapter_what_a_hook_throws_is_not_caught() {
    let method = signature(None, "(Ljava/lang/String; sql)Ljava/lang/String;");
    let bound = bind(
        "[[aspect]]
exception = \"acme.Sql.Log.mark()\"
[[aspect]]
exception = \"result = acme.Sql.Log.clean('x')\"
guard = false",
        &method,
    );
    insta::assert_snapshot!(shown(&bound.unwrap()));
}

#[test]
fn a_call_means_nothing_at_some_places() {
    let bound = bind(
        "[[aspect]]
exit = \"acme.Sql.Log.mark()\"",
        &signature(None, "()I"),
    )
    .unwrap();
    let with = |dest| Call {
        dest,
        ..bound.exit[0].clone()
    };
    let at_start = |dest| Bound {
        enter: Box::new([with(dest)]),
        ..Bound::default()
    };
    assert!(Schedule::of(&at_start(Dest::Drop)).is_some());
    assert!(Schedule::of(&at_start(Dest::Result)).is_none());
    assert!(Schedule::of(&at_start(Dest::Ends { exits: 0 })).is_none());
    let at_exit = |dest| Bound {
        exit: Box::new([with(dest)]),
        ..Bound::default()
    };
    assert!(Schedule::of(&at_exit(Dest::Result)).is_some());
    assert!(Schedule::of(&at_exit(Dest::Throw)).is_none());
    assert!(Schedule::of(&at_exit(Dest::SkipWhen { exits: 0 })).is_none());
}
