#!/usr/bin/env python3
"""Runs real programs that were woven as dex files: the same output as unwoven, and traces that are balanced.

    programs_dex.py [--everyday | --full | --everything] [--only NAME]...

Names: rhino, jython, numbers; all but jython are run every day. dx makes a dex file of each one's jar, which is woven with every method;
enjarify makes a jar of that again, and of the unwoven one, and a JVM runs both, verifying all of it. The same with own hooks in
every method that take all there is (tests/programs/hooks): what they get at a method's end is what they got at its start. The same
with a hook instead of each body, which runs it. Classes keep the numbers by which serialization knows them.
"""

import os
import re
import shutil
import zipfile

import changing
import check_corpora
import check_dex
import corpora
from lib import ROOT, Missing, fresh, main, oldest_jdk, run, weave_binary
from programs import balanced, environment

PROGRAMS = ROOT / "tests" / "programs"
RULES = """version = 1
[[aspect]]
match = { type = "**", min-size = 0, kind = ["method", "constructor", "accessor", "bridge", "synthetic", "lambda", "static-init"] }
"""

OWN = """
[[library]]
path = "own.dex"
"""
OWN_HOOKS = """
enter = "acme.All.begin(this?, args)"
exit = "acme.All.end(this?, args, result?, state, duration)"
exception = "acme.All.failed(this?, args, exception, state, duration)"
"""


def compare(score, name, folder, library, arguments, at_least):
    """Takes a library through dx, weave and enjarify, and runs it with `arguments` both ways."""
    java, weave = oldest_jdk() / "bin" / "java", weave_binary()
    (jar,) = corpora.maven([library])
    plain, woven, owned = folder / "plain.dex", folder / "woven.dex", folder / "owned.dex"
    check_dex.to_dex(jar, plain)
    hooks = fresh(folder / "hooks")
    run([java.with_name("javac"), "--release", "8", "-Xlint:-options", "-d", hooks, PROGRAMS / "hooks/java/acme/All.java"])
    check_dex.to_dex(hooks, folder / "own.dex")
    rules, own_rules = folder / "all.toml", folder / "own.toml"
    rules.write_text(RULES)
    own_rules.write_text(RULES.replace("[[aspect]]", f"{OWN}[[aspect]]{OWN_HOOKS}"))
    check_corpora.library(folder, "Same")
    check_dex.to_dex(folder / "same.jar", folder / "same.dex")
    around_rules, around = folder / "around.toml", folder / "around.dex"
    around_rules.write_text("\n".join([*changing.around("same.dex"), "advice = ['enter', 'exit', 'exception']"]))
    for by, out in ((rules, woven), (own_rules, owned), (around_rules, around)):
        run([weave, "-q", "--strict", "--rules", by, plain, out])
        verified = run([weave, "verify", out], check=False)
        score.check(f"{name}: weave verify of {out.stem}", verified.returncode == 0, verified.stdout[-300:])
    runtime = folder / "weave-runtime.jar"
    run([weave, "runtime", runtime])
    # For what is no class there is no place in dex files.
    rest = folder / "rest.jar"
    with zipfile.ZipFile(jar) as source, zipfile.ZipFile(rest, "w") as out:
        for member in source.namelist():
            if not member.endswith((".class", "/", "MANIFEST.MF")):
                out.writestr(member, source.read(member))
    jars = {w: check_dex.translated(w, w.with_suffix(".jar")) for w in (plain, woven, owned, around)}

    def ran(which, env):
        path = os.pathsep.join(map(str, [jars[which], rest, runtime, hooks, folder / "same.jar"]))
        # enjarify's frames are far larger than they need be.
        return run([java, "-Xverify:all", "-Xss64m", "-cp", path, *arguments], check=False, env=env, cwd=folder)

    before = ran(plain, dict(os.environ))
    trace = folder / f"{name}.wtrace"
    bodies = folder / f"{name}-bodies.wtrace"
    off = environment("off")
    for which, how, env in ((woven, "tracing off", off), (woven, "traced", environment(trace)),
                            (around, "hooks in the places of bodies, traced", environment(bodies)), (owned, "own hooks", off)):
        after = ran(which, env)
        same = (before.returncode, before.stdout) == (after.returncode, after.stdout) and before.returncode == 0
        good = same and len(before.stdout.splitlines()) >= 8
        score.check(f"{name}: the same output, {how}", good, f"{len(before.stdout)} characters, exit {after.returncode}")
        if not good:
            print(f"unwoven: {before.stdout[-600:]}{before.stderr[-900:]}\nwoven:   {after.stdout[-600:]}{after.stderr[-900:]}")
    asks = asks_numbers(folder)
    with_library = [jars[around], rest, runtime, folder / "same.jar", asks]
    keeps_numbers(score, name, jar, f"{jar}{os.pathsep}{asks}", os.pathsep.join(map(str, with_library)))
    told = re.search(r"own hooks: (\d+) begun, (\d+) ended, (\d+) failed, (\d+) wrong", after.stderr)
    begun, ended, failed, wrong = map(int, told.groups()) if told else (0, 0, 0, 0)
    # `System.exit` never returns.
    good = begun >= at_least and wrong == 0 and 0 <= begun - ended - failed < 100
    score.check(f"{name}: own hooks get at the end what they got at the start", good, told and told[0])
    # The names lie in the map beside the dex file, where a program does not look.
    balanced(score, name, trace, at_least, named=False)
    balanced(score, f"{name}, bodies", bodies, at_least, named=False)


def rhino(score, folder):
    """JavaScript, interpreted: what it would compile, enjarify never sees."""
    arguments = ["org.mozilla.javascript.tools.shell.Main", "-opt", "-1", PROGRAMS / "script.js"]
    compare(score, "rhino", folder, "rhino:js:1.5R4.1", arguments, 10_000)


def jython(score, folder):
    """Python, which compiles what it runs to classes of its own."""
    arguments = [f"-Dpython.home={folder}", "-Dpython.cachedir.skip=true", "org.python.util.jython", PROGRAMS / "script.py2"]
    compare(score, "jython", folder, "jython:jython:2.1", arguments, 10_000)


def numbers(score, folder):
    """What serialization knows classes by: a hook instead of each body changes no number and no other constant."""
    java, weave = oldest_jdk() / "bin" / "java", weave_binary()
    plain, dex, woven = folder / "app.jar", folder / "app.dex", folder / "woven.dex"
    run([java.with_name("jar"), "--create", "--file", plain, "-C", asks_numbers(folder), "."])
    check_dex.to_dex(plain, dex)
    check_corpora.library(folder, "Same")
    check_dex.to_dex(folder / "same.jar", folder / "same.dex")
    rules = folder / "around.toml"
    rules.write_text("\n".join(changing.around("same.dex")))
    told = run([weave, "-v", "--rules", rules, dex, woven])
    score.check("numbers: a method that cannot be woven so is told", "its default number would change" in told.stdout + told.stderr)
    after = check_dex.class_path(score, "numbers", woven, folder / "same.jar")
    fields, same = keeps_numbers(score, "numbers", plain, plain, after)
    needless = fields & {f"app.Numbers${name}" for name in ("Stated", "Wrong", "Color", "Plain")}
    score.check("numbers: who needs no field has none", not needless, needless)
    score.check("numbers: constants keep their values", same)


def asks_numbers(folder):
    """The program that tells what serialization knows the classes of a jar by."""
    javac, classes = oldest_jdk() / "bin" / "javac", fresh(folder / "numbers")
    run([javac, "--release", "8", "-Xlint:-options", "-d", classes, PROGRAMS / "serials/app/Numbers.java"])
    return classes


def keeps_numbers(score, name, jar, before, after):
    """Judges the numbers of a jar's classes on two class paths, the second translated: the classes that have a field for it then, and
    whether the program says the same of its own."""
    def told(path):
        ran = run([oldest_jdk() / "bin" / "java", "-Xverify:all", "-Xss64m", "-cp", path, "app.Numbers", jar], env=environment("off"))
        first, *lines = ran.stdout.splitlines()
        return first, {line.split()[0]: line.split()[1:] for line in lines}

    (first, had), (second, has) = told(before), told(after)
    # enjarify leaves out of a class some of what its number follows from: only one that is written down stays.
    fields = {ty for ty, (_, field) in has.items() if field == "true" and had[ty][1] == "false"}
    changed = {ty: (had[ty], has[ty]) for ty in fields if had[ty][0] != has[ty][0]}
    score.check(f"{name}: classes keep the numbers that serialization computes", not changed and len(fields) >= 4, changed or f"{len(fields)} classes")
    return fields, first == second


EVERY = {f.__name__: f for f in (rhino, jython, numbers)}
SLOW = {"jython"}


def body():
    if not shutil.which("enjarify"):
        raise Missing("enjarify: install it (tests/setup.sh)")
    return corpora.run_chosen(__doc__, EVERY, SLOW, "dex programs")


if __name__ == "__main__":
    main(body)
