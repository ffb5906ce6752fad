#!/usr/bin/env python3
"""Own hooks: the same rules on the same program in Java, in dex and in C# give the same lines.

    hooks.py [--only NAME]...

Names: java, dex, dotnet. The program and the library of hooks are in tests/programs/hooks, with the lines that all of them print. Java
runs on the oldest and the newest JDK; dex files are made by dx, woven, and made a jar again by enjarify; C# runs on CoreCLR 8,
Mono and, where there is an SDK, CoreCLR 10.
"""

import os
import shutil

import check_dex
import corpora
import dotnet
import sdk
from lib import ROOT, Missing, fresh, judges, main, oldest_jdk, run, weave_binary

SOURCES = ROOT / "tests" / "programs" / "hooks"
DX = "com.jakewharton.android.repackaged:dalvik-dx:9.0.0_r3"
ENVIRONMENT = {**os.environ, "WEAVE_TRACE": "off"}
#: JVMS 4.3.3 allows so many words of arguments.
MOST = 255


def lines():
    return (SOURCES / "expected.txt").read_text()


def many(language):
    """A class with a method of as many arguments as the JVM allows."""
    parameters = ", ".join(f"int a{i}" for i in range(MOST))
    arguments = ", ".join(str(i) for i in range(MOST))
    body = (f"    public static int many({parameters}) {{ return a0 + a{MOST - 1}; }}\n"
            f"    public static void main(STRING[] args) {{ Cases.say(\"\" + many({arguments})); }}\n")
    if language == "java":
        return f"package app;\npublic class Many {{\n{body.replace('STRING', 'String')}}}\n"
    return f"namespace app {{\npublic static class Many {{\n{body.replace('STRING', 'string')}}}\n}}\n"


def rules(folder, library):
    path = folder / "weave.toml"
    path.write_text((SOURCES / "rules.toml").read_text().replace("LIBRARY", library))
    return path


def compare(score, name, done, expected):
    good = done.returncode == 0 and done.stdout == expected
    score.check(f"{name}: the same lines", good, f"{len(expected.splitlines())} lines")
    if not good:
        ours, theirs = done.stdout.splitlines(), expected.splitlines()
        first = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
        print(f"exit {done.returncode}; from line {first + 1} on:\n" + "\n".join(ours[first:first + 4]) + "\nexpected:\n"
              + "\n".join(theirs[first:first + 4]) + f"\n{done.stderr[-1500:]}")
    told = [line for line in done.stderr.splitlines() if "acme.Log.bad" in line]
    score.check(f"{name}: the first failure of a hook is told", len(told) == 1, done.stderr[-300:])


def classes(folder):
    """Program and library as jars, with debug information."""
    javac, jar = oldest_jdk() / "bin" / "javac", oldest_jdk() / "bin" / "jar"
    (folder / "Many.java").write_text(many("java"))
    made = {}
    for name, sources in (("hooks", [SOURCES / "java/acme/Log.java"]),
                          ("app", [*sorted((SOURCES / "java/app").glob("*.java")), folder / "Many.java"])):
        out = fresh(folder / name)
        run([javac, "-g", "--release", "8", "-Xlint:-options", "-d", out, *sources])
        made[name] = folder / f"{name}.jar"
        run([jar, "cf", made[name], "-C", out, "."])
    return made["app"], made["hooks"]


def java(score, folder):
    app, library = classes(folder)
    woven = folder / "woven.jar"
    run([weave_binary(), "-q", "--strict", "--rules", rules(folder, library.name), app, woven])
    for version, home in judges().items():
        done = run([home / "bin" / "java", "-Xverify:all", "-cp", woven, "app.Cases"], check=False, env=ENVIRONMENT)
        compare(score, f"java on {version}", done, lines())


def dex(score, folder):
    app, library = classes(folder)
    java = oldest_jdk() / "bin" / "java"
    (dx,) = corpora.maven([DX])
    for name, jar in (("app", app), ("hooks", library)):
        run([java, "-cp", dx, "com.android.dx.command.Main", "--dex", "--min-sdk-version=26", f"--output={folder / name}.dex", jar])
    woven = folder / "woven.dex"
    run([weave_binary(), "-q", "--strict", "--rules", rules(folder, "hooks.dex"), folder / "app.dex", woven])
    verified = run([weave_binary(), "verify", woven], check=False)
    score.check("dex: weave verify", verified.returncode == 0, verified.stdout[-300:])
    runtime = folder / "weave-runtime.jar"
    run([weave_binary(), "runtime", runtime])
    jar = check_dex.translated(woven, folder / "woven.jar")
    path = os.pathsep.join(map(str, [jar, library, runtime]))
    done = run([java, "-Xverify:all", "-cp", path, "app.Cases"], check=False, env=ENVIRONMENT)
    compare(score, "dex", done, lines())


def net10():
    """The beginning of a command line of CoreCLR 10; none where there is no SDK."""
    try:
        found = sdk.find()
    except Missing:
        return None
    return [found.dotnet]


def dotnet_(score, folder):
    mono = dotnet.mono_libraries()
    (folder / "Many.cs").write_text(many("csharp"))
    plain = fresh(folder / "plain")
    base = [*dotnet.csc(), "-nologo", "-nostdlib", f"-r:{mono / '4.7.2-api' / 'mscorlib.dll'}", f"-r:{mono / '4.7.2-api' / 'System.dll'}"]
    run([*base, "-optimize", "-target:library", f"-out:{plain / 'hooks.dll'}", SOURCES / "dotnet/Log.cs"])
    run([*base, "-optimize", "-debug:portable", f"-out:{plain / 'app.exe'}", SOURCES / "dotnet/Cases.cs", folder / "Many.cs"])
    woven = fresh(folder / "woven")
    shutil.copy(plain / "hooks.dll", folder)
    run([weave_binary(), "-q", "--strict", "--rules", rules(folder, "hooks.dll"), plain / "app.exe", woven / "app.exe"])
    hosts = {"CoreCLR 8": dotnet.host("core8"), "Mono": ["mono"]}
    for name, host in hosts.items():
        done = run([*host, woven / "app.exe"], check=False, env=ENVIRONMENT)
        compare(score, f"dotnet on {name}", done, lines())
    if host := net10():
        config = woven / "app.runtimeconfig.json"
        config.write_text('{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "10.0.0"}}}')
        done = run([*host, "exec", woven / "app.exe"], check=False, env=ENVIRONMENT)
        compare(score, "dotnet on CoreCLR 10", done, lines())


EVERY = {"java": java, "dex": dex, "dotnet": dotnet_}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, set(), "hooks"))
