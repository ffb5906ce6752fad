#!/usr/bin/env python3
"""Runs cargo's tests as on a machine that is set up otherwise: the newest JDK instead of the default one, a user without
root, folders with a space and letters beyond ASCII, Turkish, another time zone, and files that nobody else can read.

    elsewhere.py [--everyday | --full | --everything]

Everyday (the default) these are the tests of the command and of the library's face; else the parts' own tests, too.
The tree is copied, with the programs that rust_tests.py has built. The command is the release build, which users have."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import corpora
import lib
import rust_tests

# Its time is 12:45 hours ahead of UTC.
ZONE = "Pacific/Chatham"
LOCALE = "tr_TR.UTF-8"
# What `nobody` is on most systems: all that counts is that it is not root.
USER = 65534
# They read the sources or call pure functions, which is the same everywhere.
SAME_EVERYWHERE = ("architecture", "dependencies", "fuzz")


def chosen(scope, built):
    """The names of the programs that what is around them could change; `weave` has the parts' own tests."""
    files = [path.stem for path in (lib.ROOT / "tests").glob("*.rs")] + ["cli"]
    everywhere = SAME_EVERYWHERE if scope != "--everyday" else (*SAME_EVERYWHERE, "weave")
    return sorted(name for name in built if name in (*files, "weave") and name not in everywhere)


def copy_tree(to):
    """The files that git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=lib.ROOT, check=True, capture_output=True,
    ).stdout
    for name in filter(None, listed.split(b"\0")):
        source = lib.ROOT / os.fsdecode(name)
        if source.is_file():
            target = to / os.fsdecode(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def other_jdk():
    """The newest JDK, which must not be the one that the other tests run on."""
    default = os.environ.get("JAVA_HOME") or pathlib.Path(shutil.which("java") or "").resolve().parents[1]
    default = pathlib.Path(default).resolve()
    found = lib.jdks()
    version = max(found)
    if found[version] == default:
        raise lib.Missing("a second JDK: install another, or name its folder in WEAVE_JDKS")
    return version, found[version]


def make_locale(folder):
    folder.mkdir()
    made = subprocess.run(["localedef", "-i", "tr_TR", "-f", "UTF-8", folder / LOCALE], capture_output=True, text=True)
    if made.returncode:
        raise lib.Missing(f"the sources of {LOCALE} (Debian's package `locales`): {made.stderr.strip()}")


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    corpora.add_scopes(args)
    scope = args.parse_args().scope
    version, jdk = other_jdk()
    built = rust_tests.programs()
    with tempfile.TemporaryDirectory(prefix="weave-elsewhere-") as outer:
        outer = pathlib.Path(outer)
        outer.chmod(0o755)
        tree = outer / "Weave için ölçü"
        temporary = outer / "geçici dosyalar"
        programs = outer / "bin"
        for folder in (temporary, programs):
            folder.mkdir()
        copy_tree(tree)
        tests = chosen(scope, built)
        for name in tests:
            shutil.copy2(built[name], programs / name)
        command = programs / "command" / "weave"
        command.parent.mkdir()
        shutil.copy2(lib.weave_binary(), command)
        make_locale(outer / "locale")
        env = {name: value for name, value in os.environ.items() if not name.startswith("CARGO")}
        env.update(
            CARGO_MANIFEST_DIR=str(tree),
            CARGO_TARGET_TMPDIR=str(temporary),
            WEAVE_TESTED=str(command),
            JAVA_HOME=str(jdk),
            WEAVE_JAVAC="\n".join(lib.javac_options(jdk / "bin" / "javac", programs)),
            PATH=f"{jdk}/bin:{env['PATH']}",
            LOCPATH=str(outer / "locale"),
            LC_ALL=LOCALE,
            TZ=ZONE,
            TMPDIR=str(temporary),
            INSTA_UPDATE="no",
            INSTA_WORKSPACE_ROOT=str(tree),
        )
        who, runner = "this user", []
        if os.geteuid() == 0:
            for path in (tree, temporary):
                subprocess.run(["chown", "-R", f"{USER}:{USER}", path], check=True)
            who, runner = f"user {USER}", ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        print(f"cargo's tests with JDK {version}, {LOCALE}, {ZONE}, as {who}, in {tree.name!r}", flush=True)
        failed = [name for name in tests if subprocess.run([*runner, programs / name], cwd=tree, env=env, umask=0o077).returncode]
        return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except lib.Missing as missing:
        print(f"FAILED: missing: {missing}", file=sys.stderr)
        sys.exit(1)
