//! Signing anew what was woven.

use crate::support::{World, weave};
use std::path::Path;

fn key(name: &str) -> String {
    let keys = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keys");
    keys.join(name).display().to_string()
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
