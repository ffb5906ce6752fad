//! Entries and what they mean, by the patterns' own code.

use super::*;
use crate::aspect::pattern::name::Name;
use crate::aspect::pattern::params::Params;
use crate::aspect::pattern::{NameSet, Names};

fn symbol(ty: &str, method: &str, descriptor: &str) -> Symbol {
    Symbol {
        artifact: "".into(),
        type_name: ty.into(),
        method: method.into(),
        descriptor: descriptor.into(),
        file: "".into(),
        line: 0,
        root: false,
    }
}

/// The first one's entry among all of them.
fn entry(symbols: &[Symbol]) -> Entry {
    let parts: Vec<_> = symbols.iter().map(|s| Parts::of(s).unwrap()).collect();
    parts[0].entry(parts[1..].iter())
}

fn has(patterns: &[&str], names: Names, name: &str) -> bool {
    let mut set = NameSet::default();
    for pattern in patterns {
        set.add(pattern, names).unwrap();
    }
    match names {
        Names::Methods => set.has_flat(name),
        _ => Name::with(name, |name| set.has(name)),
    }
}

/// Whether an entry means a method of these parameters, as formats spell them.
fn means(entry: &Entry, ty: &str, method: &str, params: &[&str]) -> bool {
    let list = Params::parse(&entry.params).unwrap();
    let mut state = list.start();
    for ty in params {
        list.next(&mut state, ty);
    }
    let methods: Vec<&str> = entry.method.iter().map(|m| &**m).collect();
    has(&[&entry.ty], Names::Types, ty)
        && has(&methods, Names::Methods, method)
        && list.is_match(state)
}

#[test]
fn methods_of_the_jvm() {
    let of = entry(&[symbol(
        "com/acme/Outer$Inner",
        "put",
        "(I[[JLjava/util/Map$Entry;LTop;)V",
    )]);
    assert_eq!(of.ty, "com.acme.Outer$Inner");
    assert_eq!(of.method, ["put"]);
    assert_eq!(of.params, "int, long[][], java.util.Map$Entry, re:Top");
    assert_eq!(of.returns, None);
    let params = ["int", "long[][]", "java/util/Map$Entry", "Top"];
    assert!(means(&of, "com/acme/Outer$Inner", "put", &params));
    assert!(!means(&of, "com/acme/Outer$Inner", "put", &params[..3]));
    assert!(!means(&of, "com/acme/Outer$Inner", "puts", &params));
    assert!(!means(&of, "org/com/acme/Outer$Inner", "put", &params));
    let elsewhere = ["int", "long[][]", "java/util/Map$Entry", "acme/Top"];
    assert!(!means(&of, "com/acme/Outer$Inner", "put", &elsewhere));
}

#[test]
fn a_type_without_a_package_is_no_other() {
    let of = entry(&[symbol("Orders", "<init>", "()V")]);
    assert!(means(&of, "Orders", "<init>", &[]));
    assert!(!means(&of, "com/acme/Orders", "<init>", &[]));
    assert!(!means(&of, "Orders$Inner", "<init>", &[]));
    assert!(!means(&of, "Orders", "<init>", &["int"]));
}

#[test]
fn methods_of_dotnet() {
    let descriptor = "(System.Collections.Generic.Dictionary<T, System.Int32>, System.Int32[,], System.Int32*, System.String&)T";
    let of = entry(&[symbol("Acme.Pair`1+Inner", ".ctor", descriptor)]);
    let params = [
        "System.Collections.Generic.Dictionary<T, System.Int32>",
        "System.Int32[,]",
        "System.Int32*",
        "System.String&",
    ];
    assert!(means(&of, "Acme.Pair`1+Inner", ".ctor", &params));
    assert!(!means(&of, "Acme.Pair`2+Inner", ".ctor", &params));
    for (place, other) in [
        (0, "System.Collections.Generic.Dictionary<T, System.Int64>"),
        (1, "System.Int32[]"),
        (2, "System.Int32"),
        (2, "System.Int32**"),
        (3, "System.String"),
    ] {
        let mut params = params;
        params[place] = other;
        assert!(
            !means(&of, "Acme.Pair`1+Inner", ".ctor", &params),
            "{other}"
        );
    }
}

#[test]
fn names_that_are_no_patterns() {
    for (ty, method) in [
        ("Shop+<>c", "<Place>b__0_1"),
        ("<Shop>Fabc__Cart", "Add"),
        ("a/B", "is it (really) so?"),
        ("a/B", "!not"),
        ("a/B", "re:x"),
        ("a/B$", "lambda$place$0"),
        ("a/Odd..Name", "m"),
        ("a/B!", "m"),
        ("Program", "<<Main>$>g__Add|0_0"),
        ("it", "star*"),
    ] {
        let of = entry(&[symbol(ty, method, "()V")]);
        assert!(means(&of, ty, method, &[]), "{of:?}");
        assert!(!means(&of, &format!("z/{ty}"), method, &[]), "{of:?}");
        assert!(!means(&of, ty, &format!("{method}x"), &[]), "{of:?}");
    }
}

#[test]
fn what_else_would_be_meant_is_told_apart() {
    let get = |returns: &str| symbol("a/B", "get", &format!("(I){returns}"));
    let of = entry(&[get("La/T;"), get("Ljava/lang/Object;")]);
    assert_eq!(of.returns.as_deref(), Some("a.T"));
    let add = |method: &str| symbol("Acme.Shop", method, "(System.Int32)System.Int32");
    let of = entry(&[add("Add"), add("<Place>g__Add|0_0"), add("<Put>g__Add|1_0")]);
    assert_eq!(of.method, ["Add", "!*<*"]);
    let of = entry(&[add("<Place>g__Add|0_0"), add("Add")]);
    assert_eq!(of.method, ["<Place>g__Add|0_0"]);
    let of = entry(&[add("Add"), add("<Place>g__Other|0_0")]);
    assert_eq!(of.method, ["Add"]);
}

#[test]
fn what_is_not_known_whole_has_no_entry() {
    for (ty, method, descriptor) in [
        ("a/B", "m", "?"),
        ("a/B", "?", "()V"),
        ("", "m", "()V"),
        ("a/B", "m", &format!("({})V", "I".repeat(128))),
    ] {
        assert!(Parts::of(&symbol(ty, method, descriptor)).is_none());
    }
}
