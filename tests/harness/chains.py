#!/usr/bin/env python3
"""Chains in operands (`arg(0).boss().name()`), and what else values are made of (`first(..)`, `end(..)`, fields, casts): the same rules on the
same program in Java, in dex and in C# give the same lines and values.

    chains.py [--only NAME]...

Names: java, dex, dotnet, generic (members of generic types, which .NET alone has; tests/programs/generic). The programs are in tests/programs/chains and language, with what all of them print and record. Java runs on the oldest and the
newest JDK; dex files are made by dx, woven, and made a jar again by enjarify; C# runs on CoreCLR 8, Mono and CoreCLR 10.
"""

import os
import shutil

import check_dex
import corpora
import dotnet
import hooks
import values
from lib import ROOT, fresh, judges, main, oldest_jdk, run, weave_binary

PROGRAMS = {"chains": "Chains", "language": "Language"}
JAVA = {"HOST": "getHost()", "LENGTH": "length()", "MESSAGE": "getMessage()", "TRIM": "trim()", "PATH": "path()", "PEER": "peer()", "POINT": "inner.twice()", "LONG": "length"}
DOTNET = {"HOST": "Host", "LENGTH": "Length", "MESSAGE": "Message", "TRIM": "Trim()", "PATH": "ownPath", "PEER": "ownPeer", "POINT": "point.twice().size", "LONG": "Length"}


def sources(program):
    return ROOT / "tests" / "programs" / program


def rules(folder, program, library, words):
    text = (sources(program) / "rules.toml").read_text().replace("LIBRARY", library)
    for name, word in words.items():
        text = text.replace(name, word)
    path = folder / "weave.toml"
    path.write_text(text)
    return path


def compare(score, program, name, done, trace):
    name = f"{name}, {program}"
    told = [line for line in done.stderr.splitlines() if "fails() failed" in line]
    score.check(f"{name}: the first failure of a chain is told", len(told) == (program == "chains"), done.stderr[-600:])
    ours = done.stdout.splitlines() + (values.shown(trace) if done.returncode == 0 else [])
    expected = (sources(program) / "expected.txt").read_text().splitlines()
    score.check(f"{name}: the same lines and values", ours == expected, f"{len(ours)} lines")
    for line in set(ours) - set(expected):
        print("not expected:", line)


def classes(folder, program):
    javac, jar = oldest_jdk() / "bin" / "javac", oldest_jdk() / "bin" / "jar"
    made = {}
    for name, package in (("app", "app"), ("hooks", "acme")):
        out = fresh(folder / name)
        run([javac, "-g", "--release", "8", "-Xlint:-options", "-d", out, *(sources(program) / "java" / package).glob("*.java")])
        made[name] = folder / f"{name}.jar"
        run([jar, "cf", made[name], "-C", out, "."])
    return made["app"], made["hooks"]


def java(score, folder, program):
    app, library = classes(folder, program)
    woven, trace = folder / "woven.jar", folder / "run.wtrace"
    run([weave_binary(), "-q", "--strict", "--rules", rules(folder, program, library.name, JAVA), app, woven])
    for version, home in judges().items():
        command = [home / "bin/java", "-Xverify:all", "-cp", woven, f"app.{PROGRAMS[program]}"]
        done = run(command, check=False, env=values.environment(trace))
        compare(score, program, f"java on {version}", done, trace)


def dex(score, folder, program):
    app, library = classes(folder, program)
    java, trace = oldest_jdk() / "bin/java", folder / "run.wtrace"
    for name, jar in (("app", app), ("hooks", library)):
        check_dex.to_dex(jar, folder / f"{name}.dex")
    woven = folder / "woven.dex"
    run([weave_binary(), "-q", "--strict", "--rules", rules(folder, program, "hooks.dex", JAVA), folder / "app.dex", woven])
    path = check_dex.class_path(score, "dex", woven, library)
    done = run([java, "-Xverify:all", "-cp", path, f"app.{PROGRAMS[program]}"], check=False, env=values.environment(trace))
    compare(score, program, "dex", done, trace)


def dotnet_(score, folder, program):
    mono, there = dotnet.mono_libraries(), sources(program) / "dotnet"
    plain, woven, trace = fresh(folder / "plain"), fresh(folder / "woven"), folder / "run.wtrace"
    main_class = there / f"{PROGRAMS[program]}.cs"
    hooked = [source for source in there.glob("*.cs") if source != main_class]
    base = [*dotnet.csc(), "-nologo", "-nostdlib", f"-r:{mono / '4.7.2-api' / 'mscorlib.dll'}", f"-r:{mono / '4.7.2-api' / 'System.dll'}"]
    run([*base, "-optimize", "-target:library", f"-out:{plain / 'hooks.dll'}", *hooked])
    run([*base, "-optimize", "-debug:portable", f"-out:{plain / 'app.exe'}", main_class])
    shutil.copy(plain / "hooks.dll", folder)
    run([weave_binary(), "-q", "--strict", "--rules", rules(folder, program, "hooks.dll", DOTNET), plain / "app.exe", woven / "app.exe"])
    hosts = hooks.dotnet_hosts()
    for name, host in hosts.items():
        if name == "CoreCLR 10":
            config = '{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "10.0.0"}}}'
            (woven / "app.runtimeconfig.json").write_text(config)
        done = run([*host, woven / "app.exe"], check=False, env=values.environment(trace))
        compare(score, program, f"dotnet on {name}", done, trace)


def of_each(check):
    """Runs a check for each program, in a folder of its own."""

    def run_all(score, folder):
        for program in PROGRAMS:
            check(score, fresh(folder / program), program)

    return run_all


def generic(score, folder):
    """Members of generic types of .NET: public, inherited and private ones, over types and over type parameters."""
    there, mono = sources("generic"), dotnet.mono_libraries()
    plain, woven = fresh(folder / "plain"), fresh(folder / "woven")
    base = [*dotnet.csc(), "-nologo", "-nostdlib", f"-r:{mono / '4.7.2-api' / 'mscorlib.dll'}"]
    run([*base, "-target:library", f"-out:{plain / 'Lib.dll'}", there / "Lib.cs"])
    run([*base, "-target:library", f"-out:{folder / 'hooks.dll'}", there / "Hooks.cs"])
    run([*base, "-optimize", f"-r:{plain / 'Lib.dll'}", f"-out:{plain / 'app.exe'}", there / "App.cs"])
    run([weave_binary(), "-q", "--strict", "--rules", rules(folder, "generic", "hooks.dll", {}), plain, woven])
    shutil.copy(folder / "hooks.dll", woven)
    expected = (there / "expected.txt").read_text()
    for name, host in {"CoreCLR 8": dotnet.host("core8"), "Mono": ["mono"]}.items():
        done = run([*host, woven / "app.exe"], check=False, env={**os.environ, "WEAVE_TRACE": "off"})
        good = done.returncode == 0 and done.stdout == expected
        score.check(f"generic types on {name}: the lines of the hooks", good, "" if good else (done.stdout + done.stderr)[-900:])


EVERY = {name: of_each(check) for name, check in (("java", java), ("dex", dex), ("dotnet", dotnet_))} | {"generic": generic}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, set(), "chains"))
