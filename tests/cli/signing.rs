//! Signing anew what was woven.

use crate::support::{World, weave};
use crate::tree::root;

fn key(name: &str) -> String {
    root().join("tests/keys").join(name).display().to_string()
}

#[test]
fn a_signed_jar_is_signed_anew_by_the_key_that_is_given() {
    let world = World::with_jar();
    let (rsa, certificate, store) = (key("rsa.pem"), key("rsa-cert.pem"), key("store.p12"));
    let rule = "version = 1\n[[aspect]]\nmatch = { type = \"com.acme.Fib\" }\n";
    world.write("fib.toml", rule);
    let of_key = ["--rules", "fib.toml", "--key", &rsa, "--cert", &certificate];
    world.wove(&[&["app.jar", "a.jar"], &of_key[..]].concat());
    let of_store = [
        "--ks",
        &store,
        "--ks-pass",
        "pass:secret",
        "--ks-key-alias",
        "ec",
    ];
    let ran = world.wove(&[&["a.jar", "b.jar"], &of_store[..]].concat());
    // No word of the signature that was removed.
    assert!(!ran.err.contains("signature"), "{}", ran.err);
    for jar in ["a.jar", "b.jar"] {
        let verified = world.tool("jarsigner", &["-verify", jar]).out;
        assert!(verified.contains("jar verified."), "{verified}");
    }
    let names = world.names("b.jar");
    assert!(names.iter().any(|n| n == "META-INF/CERT.EC"));
    assert!(!names.iter().any(|n| n == "META-INF/CERT.RSA"));
    // The same again is the same.
    world.wove(&[&["app.jar", "c.jar"], &of_key[..]].concat());
    assert_eq!(world.read("a.jar"), world.read("c.jar"));
}

#[test]
fn keys_that_do_not_serve_are_told_before_anything_is_written() {
    let world = World::with_jar();
    let failed = |args: &[&str]| {
        let ran = weave(&world.at("."), &[&["app.jar", "out.jar"], args].concat());
        assert_eq!(ran.status, 2, "{}", ran.err);
        assert!(!world.at("out.jar").exists());
        ran.err.replace(&key(""), "")
    };
    let (store, rsa, ec) = (key("store.p12"), key("rsa.pem"), key("ec-cert.pem"));
    let errors = [
        failed(&["--ks", &store]),
        failed(&["--ks", &store, "--ks-pass", "secret"]),
        failed(&["--ks", &store, "--ks-pass", "pass:secret"]),
        failed(&["--key", &rsa, "--cert", &ec]),
    ];
    insta::assert_snapshot!(errors.concat(), @"
    error: the key store store.p12 needs a password: --ks-pass env:NAME, file:PATH or pass:TEXT
    error: --ks-pass takes env:NAME, file:PATH or pass:TEXT
    error: store.p12: the key store holds several keys: name one of ec, release
    error: rsa.pem: the certificate is not that of the key
    ");
}

/// Signed jars of one package, of which a rule means one.
fn signed_jars(world: &World, folder: &str) {
    std::fs::create_dir_all(world.at(folder)).unwrap();
    for (jar, class) in [
        ("fib.jar", "Fib"),
        ("main.jar", "Main"),
        ("other.jar", "Other"),
    ] {
        world.write("Other.java", "package other; public class Other {}");
        world.tool("javac", &["-d", "classes", "Other.java"]);
        let (jar, package) = (
            format!("{folder}/{jar}"),
            if class == "Other" {
                "other"
            } else {
                "com/acme"
            },
        );
        world.tool(
            "jar",
            &[
                "cf",
                &jar,
                "-C",
                "classes",
                &format!("{package}/{class}.class"),
            ],
        );
        let store = key("store.p12");
        let args = ["-keystore", &store, "-storepass", "secret", &jar, "ec"];
        world.tool("jarsigner", &args);
    }
    let rule = "version = 1\n[[aspect]]\nmatch = { type = \"com.acme.Fib\" }\n";
    world.write("fib.toml", rule);
}

/// The JVM refuses a package of which some classes are signed and others are not.
#[test]
fn jars_that_share_a_package_with_one_that_was_signed_lose_their_signature_too() {
    let world = World::new();
    signed_jars(&world, "in");
    let ran = world.wove(&["in", "out", "--rules", "fib.toml"]);
    insta::assert_snapshot!(ran.err, @r"
    warning: in/fib.jar: its signature no longer fits and was removed; sign it again if it must be signed
    warning: in/main.jar: its signature was removed, since it has classes of the package com.acme as fib.jar has, whose signature no longer fits
    wove 1 method of 1 class in 1 artifact -> out
    ");
    let run = |lib: &str| {
        let path = format!("{lib}/fib.jar:{lib}/main.jar:{lib}/other.jar");
        let ran = world.tool("java", &["-cp", &path, "com.acme.Main"]);
        assert_eq!(ran.out, crate::support::PRINTED);
        world.assert_traced();
    };
    run("out");
    assert_eq!(world.read("in/other.jar"), world.read("out/other.jar"));
    let verified = world.tool("jarsigner", &["-verify", "out/main.jar"]).out;
    assert!(verified.contains("jar is unsigned"), "{verified}");
    world.wove(&["in", "in", "--rules", "fib.toml"]);
    run("in");
    assert_eq!(world.read("in/main.jar"), world.read("out/main.jar"));
}

#[test]
fn nested_jars_that_share_a_package_with_one_that_was_signed_are_told() {
    let world = World::new();
    signed_jars(&world, "WEB-INF/lib");
    world.write("WEB-INF/web.xml", "<web-app/>");
    world.tool("jar", &["cf", "app.war", "WEB-INF"]);
    let ran = world.wove(&["app.war", "out.war", "--rules", "fib.toml"]);
    insta::assert_snapshot!(ran.err, @r"
    warning: app.war!/WEB-INF/lib/fib.jar: its signature no longer fits and was removed; sign it again if it must be signed
    warning: app.war!/WEB-INF/lib/main.jar is signed and has classes of the package com.acme as WEB-INF/lib/fib.jar has, whose signature was removed: one class loader refuses to load both; remove META-INF/*.SF from it
    wove 1 method of 1 class in 1 artifact -> out.war
    ");
}
