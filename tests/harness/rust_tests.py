#!/usr/bin/env python3
"""Lints Weave and runs cargo's tests; they and the release build share the crates that either has compiled.

    rust_tests.py [--no-run] [cargo's arguments]

The profile `bench` is the release build's but for Weave itself, which has no optimisation and all checks; the folder is one
of its own, so that the program of the release build stays. clippy compiles what it lints: once for both. WEAVE_WITHOUT names
a program of tests that does not run."""

import json
import os
import re
import shutil
import subprocess
import sys

import lib

RELEASE = lib.TARGET / "release"
FOLDER = lib.TARGET / "tests"
BUILT = FOLDER / "release"


def copy_crates(source, target):
    """What one build has compiled of other crates, where the other has compiled nothing yet."""
    own = re.compile(rf"(lib)?({'|'.join(targets())})-[0-9a-f]+")
    leave = lambda _, names: [name for name in names if own.match(name)]
    for part in ("deps", "build", ".fingerprint"):
        if (source / part).is_dir() and not (target / part).is_dir():
            shutil.copytree(source / part, target / part, ignore=leave)


def targets():
    """The names of this tree's own crates."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    said = json.loads(subprocess.run(command, cwd=lib.ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return {target["name"] for package in said["packages"] for target in package["targets"]}


def cargo(*arguments, **more):
    """Runs `cargo test`, compiled by clippy, which refuses what it warns of."""
    environment = dict(os.environ, RUSTC_WORKSPACE_WRAPPER="clippy-driver", CLIPPY_ARGS="-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__")
    command = ["cargo", "test", "--profile", "bench", "--target-dir", FOLDER, *arguments]
    return subprocess.run(command, cwd=lib.ROOT, env=environment, **more)


def programs():
    """The programs of cargo's tests by name (`weave` for the library's own), and the command's own under `weave.bin`."""
    copy_crates(RELEASE, BUILT)
    built = cargo("--no-run", "--quiet", "--message-format=json", check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for message in map(json.loads, built.splitlines()):
        if message.get("executable"):
            name, kind, test = message["target"]["name"], message["target"]["kind"][0], message["profile"]["test"]
            if test and kind in ("lib", "test"):
                found[name] = message["executable"]
            elif kind == "bin" and not test:
                found[f"{name}.bin"] = message["executable"]
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
    copy_crates(RELEASE, BUILT)
    status = cargo("--no-run", "--all-targets", "--quiet").returncode
    copy_crates(BUILT, RELEASE)
    if "--no-run" not in arguments:
        status = status or cargo("--no-fail-fast", *chosen(os.environ.get("WEAVE_WITHOUT")), *arguments).returncode
    sys.exit(status)
