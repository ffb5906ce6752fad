#!/usr/bin/env python3
"""Chains in operands (`arg(0).boss().name()`): the same rules on the same program in Java, in dex and in C# give the same lines and values.

    chains.py [--only NAME]...

Names: java, dex, dotnet. The program is in tests/programs/chains, with what all of them print and record. Java runs on the oldest and the
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

SOURCES = ROOT / "tests" / "programs" / "chains"
JAVA = {"HOST": "getHost()", "LENGTH": "length()", "MESSAGE": "getMessage()"}
DOTNET = {"HOST": "Host", "LENGTH": "Length", "MESSAGE": "Message"}


def rules(folder, library, words):
    text = (SOURCES / "rules.toml").read_text().replace("LIBRARY", library)
    for name, word in words.items():
        text = text.replace(name, word)
    path = folder / "weave.toml"
    path.write_text(text)
    return path


def compare(score, name, done, trace):
    told = [line for line in done.stderr.splitlines() if "fails() failed" in line]
    score.check(f"{name}: the first failure of a chain is told", len(told) == 1, done.stderr[-600:])
    ours = done.stdout.splitlines() + (values.shown(trace) if done.returncode == 0 else [])
    expected = (SOURCES / "expected.txt").read_text().splitlines()
    score.check(f"{name}: the same lines and values", ours == expected, f"{len(ours)} lines")
    for line in set(ours) - set(expected):
        print("not expected:", line)


def classes(folder):
    javac, jar = oldest_jdk() / "bin" / "javac", oldest_jdk() / "bin" / "jar"
    made = {}
    for name, package in (("app", "app"), ("hooks", "acme")):
        out = fresh(folder / name)
        run([javac, "-g", "--release", "8", "-Xlint:-options", "-d", out, *(SOURCES / "java" / package).glob("*.java")])
        made[name] = folder / f"{name}.jar"
        run([jar, "cf", made[name], "-C", out, "."])
    return made["app"], made["hooks"]


def java(score, folder):
    app, library = classes(folder)
    woven, trace = folder / "woven.jar", folder / "run.wtrace"
    run([weave_binary(), "-q", "--strict", "--rules", rules(folder, library.name, JAVA), app, woven])
    for version, home in judges().items():
        done = run([home / "bin/java", "-Xverify:all", "-cp", woven, "app.Chains"], check=False, env=values.environment(trace))
        compare(score, f"java on {version}", done, trace)


def dex(score, folder):
    app, library = classes(folder)
    java, trace = oldest_jdk() / "bin/java", folder / "run.wtrace"
    for name, jar in (("app", app), ("hooks", library)):
        check_dex.to_dex(jar, folder / f"{name}.dex")
    woven = folder / "woven.dex"
    run([weave_binary(), "-q", "--strict", "--rules", rules(folder, "hooks.dex", JAVA), folder / "app.dex", woven])
    path = check_dex.class_path(score, "dex", woven, library)
    done = run([java, "-Xverify:all", "-cp", path, "app.Chains"], check=False, env=values.environment(trace))
    compare(score, "dex", done, trace)


def dotnet_(score, folder):
    mono = dotnet.mono_libraries()
    plain, woven, trace = fresh(folder / "plain"), fresh(folder / "woven"), folder / "run.wtrace"
    base = [*dotnet.csc(), "-nologo", "-nostdlib", f"-r:{mono / '4.7.2-api' / 'mscorlib.dll'}", f"-r:{mono / '4.7.2-api' / 'System.dll'}"]
    run([*base, "-optimize", "-target:library", f"-out:{plain / 'hooks.dll'}", SOURCES / "dotnet/Log.cs"])
    run([*base, "-optimize", "-debug:portable", f"-out:{plain / 'app.exe'}", SOURCES / "dotnet/Chains.cs"])
    shutil.copy(plain / "hooks.dll", folder)
    run([weave_binary(), "-q", "--strict", "--rules", rules(folder, "hooks.dll", DOTNET), plain / "app.exe", woven / "app.exe"])
    hosts = {"CoreCLR 8": dotnet.host("core8"), "Mono": ["mono"]}
    if host := hooks.net10():
        hosts["CoreCLR 10"] = [*host, "exec"]
    for name, host in hosts.items():
        if name == "CoreCLR 10":
            config = '{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "10.0.0"}}}'
            (woven / "app.runtimeconfig.json").write_text(config)
        done = run([*host, woven / "app.exe"], check=False, env=values.environment(trace))
        compare(score, f"dotnet on {name}", done, trace)


EVERY = {"java": java, "dex": dex, "dotnet": dotnet_}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, set(), "chains"))
