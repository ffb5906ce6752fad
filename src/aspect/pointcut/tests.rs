//! Verdicts over hand-made types, and that the prefilters never lie.

use super::*;
use crate::aspect::bind::ty::Signature;
use crate::aspect::joinpoint::{Access, EachName, MethodDetails, Owner, TypeDetails};
use crate::aspect::pattern::Names;
use proptest::prelude::*;

/// A type and a method at once, described in full.
#[derive(Clone)]
struct Fake {
    ty: String,
    type_access: Access,
    type_annotations: Vec<String>,
    supertypes: Vec<String>,
    platform: Option<&'static str>,
    method: String,
    access: Access,
    kinds: Kinds,
    has_body: bool,
    size: u32,
    trivial: bool,
    annotations: Vec<String>,
    parameters: Vec<String>,
    returns: String,
}

fn fake(ty: &str, method: &str) -> Fake {
    Fake {
        ty: ty.into(),
        type_access: Access::Public,
        type_annotations: vec![],
        supertypes: vec!["java/lang/Object".into()],
        platform: None,
        method: method.into(),
        access: Access::Public,
        kinds: Kinds::METHOD,
        has_body: true,
        size: 20,
        trivial: false,
        annotations: vec![],
        parameters: vec![],
        returns: "void".into(),
    }
}

struct OfType<'f>(&'f Fake);

impl TypeDetails for OfType<'_> {
    fn owner(&self) -> Option<Owner> {
        None
    }
    fn annotations(&self, each: EachName<'_>) {
        self.0.type_annotations.iter().for_each(|name| each(name));
    }
    fn supertypes(&self, each: EachName<'_>) {
        self.0.supertypes.iter().for_each(|name| each(name));
    }
    fn platform(&self) -> Option<String> {
        self.0.platform.map(str::to_owned)
    }
}

impl MethodDetails for OfType<'_> {
    fn annotations(&self, each: EachName<'_>) {
        self.0.annotations.iter().for_each(|name| each(name));
    }
    fn parameters(&self, each: EachName<'_>) {
        self.0.parameters.iter().for_each(|name| each(name));
    }
    fn returns(&self, each: EachName<'_>) {
        each(&self.0.returns);
    }
    fn signature(&self) -> Option<Signature> {
        None
    }
}

impl Fake {
    fn verdict(&self, matcher: &ArtifactMatcher<'_>) -> Verdict {
        self.verdict_noting(matcher, &mut Matched::default())
    }

    fn verdict_noting(&self, matcher: &ArtifactMatcher<'_>, matched: &mut Matched) -> Verdict {
        let details = OfType(self);
        matcher
            .for_type(&Type {
                name: &self.ty,
                access: self.type_access,
                details: &details,
            })
            .map_or(Verdict::Unmatched, |ty| {
                let method = Method {
                    name: &self.method,
                    descriptor: "",
                    access: self.access,
                    kinds: self.kinds,
                    has_body: self.has_body,
                    size: self.size,
                    trivial: self.trivial,
                    details: &details,
                };
                ty.method(&method, matched)
            })
    }
}

fn matcher(aspects: &[&str]) -> Matcher {
    let mut text = String::from("version = 1\n");
    for aspect in aspects {
        text.push_str("[[aspect]]\n");
        text.push_str(aspect);
        text.push('\n');
    }
    Matcher::new(Rules::parse("test.toml", &text).unwrap_or_else(|e| panic!("{e}")))
}

fn verdict(aspects: &[&str], fake: &Fake) -> Verdict {
    fake.verdict(&matcher(aspects).for_artifact("app.jar", None, &Hierarchy::default()))
}

const ALL: Verdict = Verdict::Weave(Advice::ALL);

#[test]
fn all_keys_of_a_table_must_hold() {
    let mut f = fake("com/acme/Orders", "place");
    f.parameters = vec!["int".into(), "java/lang/String".into()];
    f.returns = "java/util/List".into();
    let rule = "match = { type = 'com.acme.*', method = 'place*', params = 'int, ..', returns = 'List', access = 'public' }";
    assert_eq!(verdict(&[rule], &f), ALL);
    for change in [
        (|f: &mut Fake| f.ty = "org/Orders".into()) as fn(&mut Fake),
        |f| f.method = "get".into(),
        |f| f.parameters.clear(),
        |f| f.returns = "void".into(),
        |f| f.access = Access::Private,
    ] {
        let mut other = f.clone();
        change(&mut other);
        assert_eq!(verdict(&[rule], &other), Verdict::Unmatched);
    }
}

#[test]
fn names_that_debuggers_show_match_as_the_compilers_do() {
    let mut lambda = fake("Acme.Shop+<>c__DisplayClass0_0", "<Place>b__0_1");
    lambda.kinds = Kinds::LAMBDA;
    let local = fake("Acme.Shop", "<<Main>$>g__Add|0_0");
    let hash = "0".repeat(64);
    let in_file = fake(&format!("Acme.<Shop>F{hash}__Cart"), "Add");
    let rule = |ty: &str, method: &str| {
        format!("match = {{ type = '{ty}', method = '{method}', kind = ['method', 'lambda'] }}")
    };
    for (fake, ty, method) in [
        (&lambda, "Acme.Shop", "Place.AnonymousMethod"),
        (&lambda, "Shop", "AnonymousMethod"),
        (&lambda, "Acme.*", "*.AnonymousMethod"),
        (&lambda, "Acme.Shop+<>c__DisplayClass0_0", "<Place>b__0_1"),
        (&lambda, "**", "<Place>*"),
        (&local, "Shop", "Main.Add"),
        (&local, "Shop", "Add"),
        (&local, "Shop", "<<Main>$>g__Add|0_0"),
        (&in_file, "Acme.Cart", "Add"),
        (&in_file, "Cart", "Add"),
    ] {
        assert_eq!(verdict(&[&rule(ty, method)], fake), ALL, "{ty} {method}");
    }
    for (fake, ty, method) in [
        (&lambda, "!Acme.Shop", "*"),
        (&lambda, "Acme.Shop", "!AnonymousMethod"),
        (&lambda, "Acme.Shop", "Place"),
        (&local, "Shop", "!Add"),
        (&in_file, "!Cart", "Add"),
    ] {
        let found = verdict(&[&rule(ty, method)], fake);
        assert_eq!(found, Verdict::Unmatched, "{ty} {method}");
    }
    // The name that is shown stands nowhere in the file.
    let rules = rule("Acme.Shop", "Place.AnonymousMethod");
    let matcher = matcher(&[&rules]);
    let hierarchy = Hierarchy::default();
    let matcher = matcher.for_artifact("app.dll", None, &hierarchy);
    assert!(matcher.bytes_may_match(b"Acme\0Shop\0<>c__DisplayClass0_0\0<Place>b__0_1"));
}

#[test]
fn aspects_add_up() {
    let f = fake("A", "m");
    let enter = "match = { type = 'A' }\nadvice = 'enter'";
    let error = "match = { method = 'm' }\nadvice = 'exception'";
    let excluded = "match = { method = 'm' }\nexclude = { type = 'A' }";
    assert_eq!(
        verdict(&[enter, error, excluded], &f),
        Verdict::Weave(Advice::ENTER.with(Advice::EXCEPTION))
    );
    assert_eq!(verdict(&[excluded], &f), Verdict::Skip(Reason::Excluded));
    assert_eq!(
        verdict(
            &[
                "match = [{ type = 'B' }, { type = 'A' }]\nexclude = [{ method = 'n' }, { method = 'o' }]"
            ],
            &f
        ),
        ALL
    );
}

#[test]
fn what_is_skipped_unless_named() {
    let any = "match = { type = '**' }";
    let mut f = fake("A", "m");
    f.trivial = true;
    f.size = 1;
    assert_eq!(verdict(&[any], &f), Verdict::Skip(Reason::Trivial));
    assert_eq!(verdict(&["match = { min-size = 0 }"], &f), ALL);
    assert_eq!(
        verdict(&["match = { min-size = 2 }"], &f),
        Verdict::Skip(Reason::Small)
    );
    assert_eq!(
        verdict(&["match = { kind = 'accessor' }"], &f),
        Verdict::Unmatched
    );
    f.kinds = Kinds::METHOD.with(Kinds::ACCESSOR);
    assert_eq!(verdict(&["match = { kind = 'accessor' }"], &f), ALL);
    assert_eq!(
        verdict(&["match = { kind = 'method' }"], &f),
        Verdict::Skip(Reason::Trivial)
    );
    f = fake("A", "m");
    f.kinds = Kinds::SYNTHETIC.with(Kinds::LAMBDA);
    assert_eq!(verdict(&[any], &f), Verdict::Skip(Reason::Kind));
    assert_eq!(verdict(&["match = { kind = 'lambda' }"], &f), ALL);
    assert_eq!(
        verdict(&["match = { kind = 'method' }"], &f),
        Verdict::Skip(Reason::Kind)
    );
    assert_eq!(
        verdict(
            &["match = { kind = ['lambda', 'method'] }\nexclude = { kind = 'synthetic' }"],
            &f
        ),
        Verdict::Skip(Reason::Excluded)
    );
    f.has_body = false;
    assert_eq!(verdict(&[any], &f), Verdict::Skip(Reason::NoBody));
    for own in [
        "weave/runtime/Hooks",
        "weave/hooks/begin_1f2e3d4c",
        "com/acme/weave$hooks$begin_1f2e3d4c",
        "weave$hooks$begin_1f2e3d4c",
        "Weave.Runtime.Hooks",
    ] {
        assert_eq!(verdict(&[any], &fake(own, "enter")), Verdict::Unmatched);
    }
}

#[test]
fn annotations_of_the_method_and_of_its_type() {
    let with = "match = { annotation = '**.Traced' }";
    let without = "match = { annotation = '!**.Traced' }";
    let mut f = fake("A", "m");
    assert_eq!(verdict(&[with], &f), Verdict::Unmatched);
    assert_eq!(verdict(&[without], &f), ALL);
    f.annotations = vec!["java/lang/Deprecated".into(), "com/acme/Traced".into()];
    assert_eq!(verdict(&[with], &f), ALL);
    f.type_annotations = std::mem::take(&mut f.annotations);
    assert_eq!(verdict(&[with], &f), ALL);
    assert_eq!(verdict(&[without], &f), Verdict::Unmatched);
    assert_eq!(
        verdict(
            &["match = { type = '**' }\nexclude = { annotation = 'Traced' }"],
            &f
        ),
        Verdict::Skip(Reason::Excluded)
    );
}

#[test]
fn extends_is_transitive_proper_and_safe_from_cycles() {
    let mut hierarchy = Hierarchy::default();
    for (name, supertypes) in [
        ("a/Base", vec!["a/Root", "a/Loop"]),
        ("a/Loop", vec!["a/Base", "a/Loop"]),
    ] {
        let supertypes = supertypes.into_iter().map(Into::into).collect();
        hierarchy.supertypes.insert(name.into(), supertypes);
    }
    let mut f = fake("a/Type", "m");
    f.supertypes = vec!["a/Base".into()];
    for (rule, expected) in [
        ("match = { extends = 'a.Root' }", ALL),
        ("match = { extends = 'Base' }", ALL),
        ("match = { extends = 'a.Type' }", Verdict::Unmatched),
        ("match = { extends = '!a.Root' }", Verdict::Unmatched),
        ("match = { extends = '!a.Other' }", ALL),
    ] {
        let matcher = matcher(&[rule]);
        assert!(matcher.needs_hierarchy());
        let artifact = matcher.for_artifact("a.jar", None, &hierarchy);
        assert_eq!(f.verdict(&artifact), expected, "{rule}");
    }
    assert!(!matcher(&["match = { type = 'A' }"]).needs_hierarchy());
}

#[test]
fn what_auto_takes_by_names_and_kinds() {
    let takes = |rest: &str, method, kinds| {
        let aspect = format!("mode = 'auto'\n{rest}");
        matcher(&[&aspect]).takes("com/acme/Dao", method, kinds)
    };
    let (method, lambda) = (Kinds::METHOD, Kinds::LAMBDA);
    for (rest, expected) in [
        ("match = { type = 'com.acme.**' }", true),
        ("match = { type = 'com.acme.**', method = '*' }", true),
        ("match = { type = 'com.other.**' }", false),
        (
            "match = { type = 'com.acme.**', kind = 'constructor' }",
            false,
        ),
        (
            "match = { type = 'com.acme.**', annotation = 'Traced' }",
            false,
        ),
        (
            "match = { type = '**' }\nexclude = { method = 'query' }",
            false,
        ),
        (
            "match = { type = '**' }\nexclude = { method = 'find' }",
            true,
        ),
        (
            "match = { type = '**' }\nexclude = { kind = 'lambda' }",
            true,
        ),
        ("match = { type = '**' }\nexclude = { type = 'Dao' }", false),
        // They ask for short methods, and leave none.
        ("match = { type = '**', min-size = 0 }", false),
        ("match = { type = '**', method = 'query' }", false),
    ] {
        assert_eq!(takes(rest, "query", method), expected, "{rest}");
    }
    assert!(!takes(
        "match = { type = '**' }\nexclude = { kind = 'lambda' }",
        "query",
        lambda
    ));
}

#[test]
fn types_by_the_runtime_that_they_are_for() {
    let aspect = ["match = { type = 'A', platform = '>=9, <17' }"];
    let of = |platform| Fake {
        platform,
        ..fake("A", "m")
    };
    assert_eq!(verdict(&aspect, &of(Some("9.0"))), ALL);
    assert_eq!(verdict(&aspect, &of(Some("8.0"))), Verdict::Unmatched);
    assert_eq!(verdict(&aspect, &of(Some("17"))), Verdict::Unmatched);
    assert_eq!(verdict(&aspect, &of(None)), Verdict::Unmatched);
    let older = ["match = { type = 'A' }\nexclude = { platform = '>=9' }"];
    assert_eq!(verdict(&older, &of(Some("8.0"))), ALL);
    let excluded = Verdict::Skip(Reason::Excluded);
    assert_eq!(verdict(&older, &of(Some("9.0"))), excluded);
}

#[test]
fn artifacts_by_name_and_version() {
    let none = Hierarchy::default();
    let left = |rule: &str, name: &str, version| {
        !matcher(&[rule])
            .for_artifact(name, version, &none)
            .is_empty()
    };
    for name in [
        "guava.jar",
        "guava-31.1-jre.jar",
        "app.jar!/lib/guava-31.1.jar",
        "guava",
    ] {
        assert!(left("match = { artifact = 'guava' }", name, None), "{name}");
    }
    assert!(left(
        "match = { artifact = 'guava-31*' }",
        "guava-31.1-jre.jar",
        None
    ));
    assert!(left(
        "match = { artifact = 'Acme.Core' }",
        "Acme.Core.dll",
        None
    ));
    assert!(!left(
        "match = { artifact = 'guava' }",
        "guava-testlib-31.jar",
        None
    ));
    assert!(!left(
        "match = { artifact = '!guava' }",
        "guava-31.1.jar",
        None
    ));
    let range = "match = { artifact = 'a', version = '>=1, <2' }";
    assert!(left(range, "a.jar", Some("1.5")));
    assert!(!left(range, "a.jar", Some("2.0")));
    assert!(!left(range, "a.jar", None));
    // An exclude for one artifact leaves the others alone.
    let rule = "match = { type = '**' }\nexclude = { artifact = 'b' }";
    let matcher = matcher(&[rule]);
    for (name, expected) in [("a.jar", ALL), ("b.jar", Verdict::Skip(Reason::Excluded))] {
        let artifact = matcher.for_artifact(name, None, &none);
        assert_eq!(fake("A", "m").verdict(&artifact), expected);
    }
}

#[test]
fn idle_aspects_are_named_with_the_reason() {
    let matcher = matcher(&[
        "name = 'works'\nmatch = { type = 'A' }",
        "name = 'mistyped'\nmatch = { type = 'Aa' }",
        "name = 'trivial'\nmatch = { method = 'get' }",
    ]);
    let none = Hierarchy::default();
    let artifact = matcher.for_artifact("a.jar", None, &none);
    let mut matched = Matched::default();
    fake("A", "m").verdict_noting(&artifact, &mut matched);
    let mut getter = fake("A", "get");
    getter.trivial = true;
    getter.verdict_noting(&artifact, &mut matched);
    let idle: Vec<_> = (matcher.idle(&matched).into_iter())
        .map(|idle| (idle.aspect, idle.reasons))
        .collect();
    let expected = [("mistyped", vec![]), ("trivial", vec![Reason::Trivial])];
    assert_eq!(
        idle,
        expected.map(|(name, reasons)| (name.to_owned(), reasons))
    );
}

#[test]
fn of_one_rule_for_several_versions_one_is_enough() {
    let rule = |range, method| {
        format!(
            "name = 'send'\nmatch = {{ artifact = 'a', version = '{range}', method = '{method}' }}"
        )
    };
    let rules = [rule("<2", "m"), rule(">=2", "n")];
    let matcher = matcher(&rules.each_ref().map(String::as_str));
    let none = Hierarchy::default();
    let idle = |version, method| {
        let artifact = matcher.for_artifact("a.jar", Some(version), &none);
        let mut matched = Matched::default();
        fake("A", method).verdict_noting(&artifact, &mut matched);
        matcher.idle(&matched).len()
    };
    assert_eq!(idle("1.0", "m"), 0);
    assert_eq!(idle("2.0", "n"), 0);
    assert_eq!(idle("1.0", "n"), 2, "none of them found what it means");
}

#[test]
fn the_path_tells_what_cannot_match() {
    let none = Hierarchy::default();
    let matcher = matcher(&["match = { type = ['com.acme.**', '**.Orders', 'Item'] }"]);
    let artifact = matcher.for_artifact("a.jar", None, &none);
    for (path, expected) in [
        ("com/acme/A.class", true),
        ("BOOT-INF/classes/com/acme/sub/A.class", true),
        ("META-INF/versions/9/com/acme/A$B.class", true),
        ("com/acmecorp/A.class", false),
        ("org/Orders.class", true),
        ("org/Orders$Item.class", true),
        ("org/BackOrders.class", false),
        ("META-INF/MANIFEST.MF", true),
    ] {
        assert_eq!(artifact.path_may_match(path), expected, "{path}");
    }
    let empty = Matcher::new(Rules::default());
    assert!(
        !empty
            .for_artifact("a", None, &none)
            .path_may_match("A.class")
    );
}

#[test]
fn the_bytes_tell_what_cannot_match() {
    let none = Hierarchy::default();
    let matcher = matcher(&[
        "match = { type = 'com.acme.Orders', method = 'place*' }",
        "match = { type = 'Billing', method = 'charge' }",
    ]);
    let artifact = matcher.for_artifact("a.jar", None, &none);
    assert!(artifact.bytes_may_match(b"..com/acme/Orders..placeOrder.."));
    assert!(!artifact.bytes_may_match(b"..com/acme/Orders..cancel.."));
    assert!(!artifact.bytes_may_match(b"..com/acme/Other..placeOrder.."));
}

/// A pattern that has a good chance to match the name.
fn blurred(name: &str, choices: &[u8]) -> String {
    let parts: Vec<&str> = name.split(['/', '+', '.', '$']).collect();
    let mut out = String::new();
    for (i, part) in parts.iter().enumerate() {
        let choice = choices[i % choices.len()];
        if i > 0 && !out.ends_with("**") {
            out.push(['.', '/', '$', '+'][usize::from(choice) % 4]);
        }
        let (first, rest) = part.split_at(part.len().min(1));
        match choice / 4 {
            0 => out.push('*'),
            1 => out += "**",
            2 => out += &format!("{first}*"),
            3 => out += &format!("?{rest}"),
            4 => out += &format!("*{rest}"),
            5 => out += &format!("{part}**"),
            6 => out += "**.",
            7 => out = (*part).to_owned(),
            8 => out = format!("**.{part}"),
            9 => out = format!("**{rest}"),
            _ => out += part,
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn prefilters_never_hide_a_match(
        choices in prop::collection::vec(prop::collection::vec(0u8..60, 1..5), 1..3),
        not in prop::option::of("![abc]{1,3}\\*"),
        name in "[abc$]{1,4}([/$+.][abc$]{1,4}(`1)?){0,3}",
        method in "[abc]{1,5}",
        annotation in "[ab]/[abc]{1,4}",
        with in (any::<bool>(), any::<bool>()),
        front in prop::sample::select(vec!["", "WEB-INF/classes/", "META-INF/versions/9/", "a/", "$/"]),
    ) {
        let list = |key: &str, values: &[String]| format!("{key} = {}, ", serde_json::to_string(values).unwrap());
        let mut types: Vec<String> = choices.iter().map(|c| blurred(&name, c)).collect();
        types.extend(not);
        let mut keys = list("type", &types);
        if with.0 {
            keys += &list("method", &[blurred(&method, &choices[0]), "c*".into()]);
        }
        if with.1 {
            keys += &list("annotation", &[blurred(&annotation, &choices[0])]);
        }
        let text = format!("version = 1\n[[aspect]]\nmatch = {{ {} }}", keys.trim_end_matches(", "));
        // A pattern that is refused cannot hide anything.
        let Ok(rules) = Rules::parse("t", &text) else { return Ok(()) };
        let matcher = Matcher::new(rules);
        let none = Hierarchy::default();
        let artifact = matcher.for_artifact("t", None, &none);
        let mut f = fake(&name, &method);
        f.annotations = vec![annotation.clone()];
        if f.verdict(&artifact) != Verdict::Unmatched {
            let path = format!("{front}{name}.class");
            prop_assert!(artifact.path_may_match(&path), "{} {}", text, path);
            // As the JVM and dex store it, and as .NET does.
            let rest = format!("\0{method}\0{annotation}");
            prop_assert!(artifact.bytes_may_match(format!("{name}{rest}").as_bytes()), "{} {}", text, name);
            let apart = name.replace(['/', '.', '+'], "\0");
            prop_assert!(artifact.bytes_may_match(format!("{apart}{rest}").as_bytes()), "{} {}", text, name);
        }
    }
}

#[test]
fn rules_are_about_original_names_where_a_mapping_is_given() {
    let mapping = "com.acme.Order -> a.a:
com.acme.Orders -> a.b:
    void place(com.acme.Order,int) -> a
    com.acme.Order find() -> a
com.acme.Base -> a.c:
com.acme.NoTrace -> a.d:
";
    let matcher = |rule: &str| {
        let text = format!("version = 1\n[[aspect]]\n{rule}\n");
        let mapping = crate::mapping::Mapping::parse(mapping.into()).unwrap();
        Matcher::new(Rules::parse("test", &text).unwrap()).with_mapping(mapping)
    };
    let mut place = fake("a/b", "a");
    place.parameters = vec!["a/a".into(), "int".into()];
    place.supertypes = vec!["a/e".into()];
    let supertypes = [("a/e".into(), Box::from(["a/c".into()]))];
    let hierarchy = Hierarchy::of(supertypes.into_iter().collect());
    let verdict = |rule: &str, fake: &Fake, descriptor: &str| {
        let matcher = matcher(rule);
        let artifact = matcher.for_artifact("app.jar", None, &hierarchy);
        // Nothing of what rules name is in the bytes.
        assert!(artifact.bytes_may_match(b"a/b") && artifact.path_may_match("a/b.class"));
        let details = OfType(fake);
        let ty = Type {
            name: &fake.ty,
            access: fake.type_access,
            details: &details,
        };
        let Some(ty) = artifact.for_type(&ty) else {
            return Verdict::Unmatched;
        };
        let method = Method {
            name: &fake.method,
            descriptor,
            access: fake.access,
            kinds: fake.kinds,
            has_body: fake.has_body,
            size: fake.size,
            trivial: fake.trivial,
            details: &details,
        };
        ty.method(&method, &mut Matched::default())
    };
    let place_is = |rule: &str| verdict(rule, &place, "(La/a;I)V");
    let weave = Verdict::Weave(Advice::ALL);
    assert_eq!(
        place_is("match = { type = \"com.acme.Orders\", method = \"place\" }"),
        weave
    );
    assert_eq!(
        place_is("match = { params = [\"com.acme.Order\", \"int\"] }"),
        weave
    );
    assert_eq!(place_is("match = { extends = \"com.acme.Base\" }"), weave);
    for rule in [
        "type = \"a.b\"",
        "method = \"a\"",
        "method = \"find\"",
        "extends = \"a.c\"",
    ] {
        assert_eq!(
            place_is(&format!("match = {{ {rule} }}")),
            Verdict::Unmatched,
            "{rule}"
        );
    }
    let mut find = fake("a/b", "a");
    find.returns = "a/a".into();
    find.annotations = vec!["a/d".into()];
    let find_is = |rule: &str| verdict(rule, &find, "()La/a;");
    assert_eq!(
        find_is("match = { method = \"find\", returns = \"com.acme.Order\" }"),
        weave
    );
    assert_eq!(
        find_is("match = { type = \"**\" }\nexclude = { annotation = \"com.acme.NoTrace\" }"),
        Verdict::Skip(Reason::Excluded)
    );
}

#[test]
fn names_of_methods_are_asked_for_where_a_rule_has_one() {
    let asks = |aspect: &str| {
        let matcher = matcher(&[aspect]);
        let hierarchy = Hierarchy::default();
        let artifact = matcher.for_artifact("app.dll", None, &hierarchy);
        artifact.asks_names()
    };
    assert!(!asks("match = { type = 'A', min-size = 0 }"));
    assert!(asks("match = { type = 'A', method = 'run' }"));
    assert!(asks(
        "match = { type = 'A' }\nexclude = { method = 'toString' }"
    ));
    // For another artifact.
    assert!(!asks("match = { artifact = 'b.dll', method = 'run' }"));
}

#[test]
fn a_chain_of_types_is_walked_once() {
    let name = |n: u32| format!("a/T{n}");
    let chain = (0..20_000).map(|n| (name(n).into(), Box::from([name(n + 1).into()])));
    let hierarchy = Hierarchy::of(chain.collect());
    let asked = std::cell::Cell::new(0u64);
    let hits = hierarchy.hits(|ty, hits| {
        asked.set(asked.get() + 1);
        let mut base = NameSet::default();
        base.add("a.T20000", Names::Types).unwrap();
        Name::with(ty, |ty| base.count(hits, ty));
    });
    assert_eq!((hits.len(), asked.get()), (20_001, 20_001));
    let matcher = matcher(&["match = { extends = 'a.T20000' }"]);
    let artifact = matcher.for_artifact("a.jar", None, &hierarchy);
    let mut f = fake("a/T0", "m");
    for n in 0..20_000 {
        f.supertypes = vec![name(n + 1)];
        assert_eq!(f.verdict(&artifact), ALL);
    }
    assert_eq!(hierarchy.hits.lock().unwrap().len(), 1);
}

#[test]
fn what_rules_about_calls_may_mean_is_of_the_artifact() {
    let matcher = matcher(&[
        "at = { call = { type = \"a.B\", method = \"m*\" } }\nrecord = [\"result\"]",
        "at = { call = { extends = \"c.D\", params = \"int\" } }\nmatch = { artifact = \"other.jar\" }\nrecord = [\"result\"]",
    ]);
    let above = [("c/E".into(), Box::from([Box::from("c/D")]))];
    let hierarchy = Hierarchy::of(above.into_iter().collect());
    let says = |artifact, ty, name| {
        let rules = matcher.for_artifact(artifact, None, &hierarchy);
        (rules.may_be_named(name), rules.may_mean(ty, name, "()V"))
    };
    assert_eq!(says("app.jar", "a/B", "many"), (true, true));
    assert_eq!(says("app.jar", "a/C", "many"), (true, false));
    assert_eq!(says("app.jar", "a/B", "few"), (false, false));
    // The second rule is about another artifact; what it says of parameters is asked of each call.
    assert_eq!(says("app.jar", "c/E", "few"), (false, false));
    assert_eq!(says("other.jar", "c/E", "few"), (true, true));
    assert_eq!(says("other.jar", "a/B", "few"), (true, false));
}
