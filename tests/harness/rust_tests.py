#!/usr/bin/env python3
"""Lints Weave and runs cargo's tests, with the crates that the release build has compiled.

    rust_tests.py [--no-run] [cargo's arguments]

The profile `bench` is the release build's but for Weave itself, which has no optimisation and all checks; the folder is one
of its own, so that the program of the release build stays. clippy compiles what it lints: once for both. WEAVE_WITHOUT names
a program of tests that does not run."""

import json
import os
import shutil
import subprocess
import sys

import lib

RELEASE = lib.TARGET / "release"
FOLDER = lib.TARGET / "tests"
BUILT = FOLDER / "release"


def copy_crates():
    """The crates that the release build compiled, at the first time."""
    for part in ("deps", "build", ".fingerprint"):
        if (RELEASE / part).is_dir() and not (BUILT / part).is_dir():
            shutil.copytree(RELEASE / part, BUILT / part)


def default_javac():
    """The compiler of the tests' JDK (tests/support/jdk.rs)."""
    home = os.environ.get("JAVA_HOME")
    return os.path.join(home, "bin", "javac") if home else "javac"


def cargo(*arguments, **more):
    """Runs `cargo test`, compiled by clippy, which refuses what it warns of."""
    environment = dict(os.environ, RUSTC_WORKSPACE_WRAPPER="clippy-driver", CLIPPY_ARGS="-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
                       WEAVE_JAVAC="\n".join(lib.javac_options(default_javac())))
    command = ["cargo", "test", "--profile", "bench", "--target-dir", FOLDER, *arguments]
    return subprocess.run(command, cwd=lib.ROOT, env=environment, **more)


def programs():
    """The programs of cargo's tests by name (`weave` for the library's own)."""
    copy_crates()
    built = cargo("--no-run", "--quiet", "--message-format=json", check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for message in map(json.loads, built.splitlines()):
        if message.get("executable"):
            name, kind, test = message["target"]["name"], message["target"]["kind"][0], message["profile"]["test"]
            if test and kind in ("lib", "test"):
                found[name] = message["executable"]
    return found


def chosen(without):
    """Cargo's options for all tests but those of a program."""
    if not without:
        return []
    names = [path.stem for path in (lib.ROOT / "tests").glob("*.rs")] + ["cli"]
    without in names or sys.exit(f"WEAVE_WITHOUT: no tests/{without}")
    return ["--lib", "--bins", *(f"--test={name}" for name in sorted(names) if name != without)]


if __name__ == "__main__":
    arguments = sys.argv[1:]
    copy_crates()
    status = cargo("--no-run", "--all-targets", "--quiet").returncode
    if "--no-run" not in arguments:
        status = status or cargo("--no-fail-fast", *chosen(os.environ.get("WEAVE_WITHOUT")), *arguments).returncode
    sys.exit(status)
