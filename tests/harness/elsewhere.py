#!/usr/bin/env python3
"""Runs cargo's tests as on a machine that is set up otherwise: the newest JDK instead of the default one, a user without
root, folders with a space and letters beyond ASCII, Turkish, another time zone, and files that nobody else can read.

    elsewhere.py [--everyday | --full | --everything]

Everyday (the default) these are the tests of the command and of the library's face; else the parts' own tests, too.
The tree is copied, with what cargo has built of the crates it uses; only Weave itself is built again."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import corpora
import lib

# Its time is 12:45 hours ahead of UTC.
ZONE = "Pacific/Chatham"
LOCALE = "tr_TR.UTF-8"
# What `nobody` is on most systems: all that counts is that it is not root.
USER = 65534
# They read the sources or call pure functions, which is the same everywhere.
SAME_EVERYWHERE = ("architecture", "dependencies", "fuzz")


def targets(scope):
    """Cargo's options for the tests that what is around them could change."""
    files = sorted(path.stem for path in (lib.ROOT / "tests").glob("*.rs")) + ["cli"]
    parts = [] if scope == "--everyday" else ["--lib"]
    return [*parts, *(f"--test={name}" for name in files if name not in SAME_EVERYWHERE)]


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


def copy_crates(to):
    """What cargo built of other crates, so that it need not be built again."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or lib.ROOT / "target") / "debug"
    own = ("weave-", "libweave-", "architecture-", "cli-", "container-", "dex-", "jvm-", "floor-", "dependencies-", "trace_format-")
    for part in ("deps", "build", ".fingerprint"):
        if (target / part).is_dir():
            shutil.copytree(
                target / part, to / "debug" / part,
                ignore=lambda _, names: [n for n in names if n.startswith(own)],
            )


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
    chosen = targets(args.parse_args().scope)
    version, jdk = other_jdk()
    with tempfile.TemporaryDirectory(prefix="weave-elsewhere-") as outer:
        outer = pathlib.Path(outer)
        outer.chmod(0o755)
        tree = outer / "Weave için ölçü"
        temporary = outer / "geçici dosyalar"
        temporary.mkdir()
        copy_tree(tree)
        copy_crates(tree / "target")
        make_locale(outer / "locale")
        env = dict(os.environ, CARGO_TARGET_DIR=str(tree / "target"))
        subprocess.run(["cargo", "test", "--quiet", "--no-run", *chosen], cwd=tree, env=env, check=True)
        env.update(
            JAVA_HOME=str(jdk),
            PATH=f"{jdk}/bin:{env['PATH']}",
            LOCPATH=str(outer / "locale"),
            LC_ALL=LOCALE,
            TZ=ZONE,
            TMPDIR=str(temporary),
            INSTA_UPDATE="no",
            INSTA_WORKSPACE_ROOT=str(tree),
        )
        who = "this user"
        if os.geteuid() == 0:
            for path in [tree, temporary]:
                subprocess.run(["chown", "-R", f"{USER}:{USER}", path], check=True)
            host = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
            host = next(line.split()[1] for line in host.splitlines() if line.startswith("host: "))
            runner = f"CARGO_TARGET_{host.upper().replace('-', '_')}_RUNNER"
            env[runner] = f"setpriv --reuid={USER} --regid={USER} --clear-groups"
            who = f"user {USER}"
        print(f"cargo's tests with JDK {version}, {LOCALE}, {ZONE}, as {who}, in {tree.name!r}", flush=True)
        return subprocess.run(["cargo", "test", "--no-fail-fast", *chosen], cwd=tree, env=env, umask=0o077).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except lib.Missing as missing:
        print(f"FAILED: missing: {missing}", file=sys.stderr)
        sys.exit(1)
