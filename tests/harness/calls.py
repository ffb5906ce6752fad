#!/usr/bin/env python3
"""Own hooks at calls: a program whose calls of the platform are replaced or surrounded, and whole libraries with a hook at each such call.

    calls.py [--only NAME]...

Names: program, points, points-dex, points-dotnet, points-roslyn, records, dex, dotnet, dotnet-records, dotnet-follows, suite, libraries, points-libraries, points-some, points-suite, roslyn. `program`: tests/programs/calls in Java on the oldest and the newest JDK; the lines that it prints are in
expected.txt. `records`: another whose calls are recorded: what it prints and what the trace has are in expected_recorded.txt. `dex`: the same but for hooks that convert, made a jar again by enjarify. `dotnet`: one in C# on CoreCLR and Mono, compiled with and without optimisation; expected_dotnet.txt.
`dotnet-follows`: one whose calls give tasks, on CoreCLR 10 as well.
`suite`: each call of a method of `java.**` in commons-codec, its tests and what they use goes through a method that calls a
hook first. The same tests must pass as unwoven, and HotSpot must verify all classes. `roslyn`: the same with each call of `System.**` in the C#
compiler, which must make the same assembly of the same sources; every method must compile as unwoven (slow: not among the everyday ones).
"""

import functools
import json
import os
import re
import shutil
import sys

import changing
import check_corpora
import check_dex
import check_dotnet
import corpora
import dotnet
from hooks import dotnet_hosts
from lib import ROOT, WORK, fresh, judges, main, oldest_jdk, run, weave_binary
from suites import CODEC, JUNIT, verdicts

sys.path.insert(0, str(ROOT / "runtime/dotnet/test"))
import reader

SOURCES = ROOT / "tests" / "programs" / "calls"
POINTS = ROOT / "tests" / "programs" / "points"
ENVIRONMENT = {**os.environ, "WEAVE_TRACE": "off"}
#: Methods may be recorded as well.
PAIRS = ([], ["--rules", "pack:all"])
#: Of several compilers, old and new.
POINTED = [
    "com.google.guava:guava:33.4.8-jre", "org.apache.commons:commons-lang3:3.17.0", "org.apache.groovy:groovy:4.0.27", "org.eclipse.jdt:ecj:3.42.0",
    "org.jetbrains.kotlin:kotlin-stdlib:2.2.0", "org.jetbrains.kotlinx:kotlinx-coroutines-core-jvm:1.10.2", "org.scala-lang:scala3-library_3:3.7.1",
    "org.clojure:clojure:1.12.1", "xalan:xalan:2.5.1", "jython:jython:2.1", "ant:ant:1.5",
]
#: Of today's compiler, of Kotlin's, and of one that made subroutines.
POINTED_EVERYDAY = [name for name in POINTED if name.startswith(("com.google.guava", "org.jetbrains.kotlinx", "jython"))]


def jar(folder, name, sources):
    """Sources as a jar."""
    bin_, out = oldest_jdk() / "bin", fresh(folder / name)
    run([bin_ / "javac", "-g", "--release", "8", "-Xlint:-options", "-d", out, *sources])
    run([bin_ / "jar", "cf", folder / f"{name}.jar", "-C", out, "."])
    return folder / f"{name}.jar"


def program(score, folder):
    app = jar(folder, "app", sorted((SOURCES / "java/app").glob("*.java")))
    library = jar(folder, "hooks", sorted((SOURCES / "java/acme").glob("Audit.java")))
    (folder / "weave.toml").write_text((SOURCES / "rules.toml").read_text().replace("LIBRARY", library.name))
    woven, expected = folder / "woven.jar", (SOURCES / "expected.txt").read_text()
    for version, home, more in [(*judge, more) for judge in judges().items() for more in PAIRS]:
        run([weave_binary(), "-q", "--strict", "--rules", folder / "weave.toml", *more, app, woven])
        java = [home / "bin" / "java", "-Xverify:all", "-cp", woven]
        done = run([*java, "app.Calls"], check=False, env=ENVIRONMENT)
        lambdas = run([*java, "app.Lambdas"], check=False, env=ENVIRONMENT)
        told = [line for line in done.stderr.splitlines() if "acme.Audit.bad failed" in line]
        good = done.returncode == lambdas.returncode == 0 and done.stdout + lambdas.stdout == expected and len(told) == 1
        score.check(f"program on {version}{' with the recorded pair' if more else ''}: the same lines", good, f"{len(expected.splitlines())} lines")
        if not good:
            print(f"exit {done.returncode}\n{done.stdout}\n{done.stderr[-1500:]}")
    run([weave_binary(), "-q", "--strict", "--rules", folder / "weave.toml", app, woven])
    again = folder / "again.jar"
    run([weave_binary(), "-q", "--rules", folder / "weave.toml", app, again])
    score.check("program: the same bytes once more", woven.read_bytes() == again.read_bytes(), "")
    told = run([weave_binary(), "plan", "--summary", "--rules", folder / "weave.toml", app]).stdout
    score.check("program: what is left is told", len(re.findall(r"\d left: a call of", told)) == 3, told[-300:])


def points(score, folder):
    """Hooks at each kind of point: fields, new objects, exceptions, lines, locks."""
    app = jar(folder, "app", [POINTS / "java/app/Points.java"])
    library = jar(folder, "hooks", [POINTS / "java/acme/Watch.java"])
    (folder / "weave.toml").write_text(points_rules("rules.toml", "java/app/Points.java", library.name))
    woven, expected = folder / "woven.jar", (POINTS / "expected.txt").read_text()
    for version, home, more in [(*judge, more) for judge in judges().items() for more in PAIRS]:
        run([weave_binary(), "-q", "--strict", "--rules", folder / "weave.toml", *more, app, woven])
        done = run([home / "bin" / "java", "-Xverify:all", "-cp", woven, "app.Points"], check=False, env=ENVIRONMENT)
        told = [line for line in done.stderr.splitlines() if "acme.Watch.bad failed" in line]
        good = done.returncode == 0 and done.stdout == expected and len(told) == 1
        score.check(f"points on {version}{' with the recorded pair' if more else ''}: the same lines", good, f"{len(expected.splitlines())} lines")
        if not good:
            print(f"exit {done.returncode}\n{done.stdout}\n{done.stderr[-2500:]}")
    run([weave_binary(), "-q", "--strict", "--rules", folder / "weave.toml", app, woven])
    again = folder / "again.jar"
    run([weave_binary(), "-q", "--rules", folder / "weave.toml", app, again])
    score.check("points: the same bytes once more", woven.read_bytes() == again.read_bytes(), "")
    told = run([weave_binary(), "plan", "--summary", "--rules", folder / "weave.toml", app]).stdout
    reasons = ("object is not initialised yet", "only its own class may set a final field", "created across a branch")
    score.check("points: what is left is told", all(re.search(rf"\d left: .*{reason}", told) for reason in reasons), "")


#: Points, a hook in front of them, and why there is none.
REFUSED_POINTS_OF_DOTNET = [
    ('{ throw = "System.Exception" }', "Acme.Watch.Caught(exception, this)", "the state machine of this method does not keep `this`"),
    ('{ catch = "**" }', "Acme.Watch.Caught(exception, this)", "a static method has no `this`"),
    ("{ monitor-enter = true }", "Acme.Watch.Getting(target)", "a lock in .NET is a call"),
]
def points_dex(score, folder):
    """The same in a dex file, translated back to classes: the lines that classes print."""
    java = oldest_jdk() / "bin" / "java"
    library = jar(folder, "hooks", [POINTS / "java/acme/Watch.java"])
    app = jar(folder, "app", [POINTS / "java/app/Points.java"])
    for name, classes in (("app", app), ("hooks", library)):
        check_dex.to_dex(classes, folder / f"{name}.dex")
    text = points_rules("rules.toml", "java/app/Points.java", "LIBRARY")
    for more in PAIRS:
        lines = {}
        for kind, source, hooks in (("jar", app, library.name), ("dex", folder / "app.dex", "hooks.dex")):
            (folder / "weave.toml").write_text(text.replace("LIBRARY", hooks))
            woven = folder / f"woven.{kind}"
            run([weave_binary(), "-q", "--strict", "--rules", folder / "weave.toml", *more, source, woven])
            path = [woven]
            if kind == "dex":
                verified = run([weave_binary(), "verify", woven], check=False)
                score.check("points-dex: weave verify", verified.returncode == 0, verified.stdout[-300:])
                runtime = folder / "weave-runtime.jar"
                run([weave_binary(), "runtime", runtime])
                path = [check_dex.translated(woven, folder / "translated.jar"), library, runtime]
            done = run([java, "-Xverify:all", "-cp", os.pathsep.join(map(str, path)), "app.Points"], check=False, env=ENVIRONMENT)
            lines[kind] = (done.returncode, done.stdout, done.stderr)
        # The registers of a dex file let an object be made across a branch.
        lines["dex"] = (lines["dex"][0], re.sub(r"  .*chosen\n", "", lines["dex"][1]), lines["dex"][2])
        score.check(f"points-dex{' with the recorded pair' if more else ''}: the same lines as of classes", lines["dex"] == lines["jar"] and lines["jar"][0] == 0,
                    f"{len(lines['jar'][1].splitlines())} lines")
        if lines["dex"] != lines["jar"]:
            print(*lines["jar"], "---", *lines["dex"], sep="\n")


def points_dotnet(score, folder):
    """The same in C#, on CoreCLR and Mono, compiled with and without optimisation."""
    api, sources = dotnet.mono_libraries() / "4.7.2-api", POINTS / "dotnet"
    base = [*dotnet.csc(), "-nologo", "-nostdlib", f"-r:{api / 'mscorlib.dll'}", f"-r:{api / 'System.dll'}"]
    run([*base, "-optimize", "-target:library", f"-out:{folder / 'hooks.dll'}", sources / "Watch.cs"])
    (folder / "weave.toml").write_text(points_rules_dotnet("hooks.dll"))
    expected = (POINTS / "expected_dotnet.txt").read_text()
    hosts = dotnet_hosts()
    for how, more in [(how, more) for how in ("-optimize-", "-optimize") for more in PAIRS]:
        plain, woven = fresh(folder / "plain"), fresh(folder / "woven")
        run([*base, how, "-unsafe", "-debug:portable", f"-out:{plain / 'app.exe'}", *(sources / f"{name}.cs" for name in ("Points", "Later", "Parts"))])
        run([weave_binary(), "-q", "--strict", "--rules", folder / "weave.toml", *more, plain / "app.exe", woven / "app.exe"])
        config = '{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "10.0.0"}}}'
        (woven / "app.runtimeconfig.json").write_text(config)
        for name, host in hosts.items():
            done = run([*host, woven / "app.exe"], check=False, env=ENVIRONMENT)
            told = [line for line in done.stderr.splitlines() if "Acme.Watch.Bad failed" in line]
            good = done.returncode == 0 and done.stdout == expected and len(told) == 1
            score.check(f"points {how} on {name}{' with the recorded pair' if more else ''}: the same lines", good, f"{len(expected.splitlines())} lines")
            if not good:
                print(f"exit {done.returncode}\n{done.stdout}\n{done.stderr[-2500:]}")
        verified = run([weave_binary(), "verify", woven / "app.exe"], check=False)
        score.check(f"points {how}: weave verify", verified.returncode == 0, verified.stdout[-300:])
    # Symbols inside the assembly say the same; without any, lines are left.
    for how, plain in (("embedded", fresh(folder / "embedded")), ("none", fresh(folder / "none"))):
        symbols = ["-debug:embedded"] if how == "embedded" else []
        run([*base, "-optimize", "-unsafe", *symbols, f"-out:{plain / 'app.exe'}", *(sources / f"{name}.cs" for name in ("Points", "Later", "Parts"))])
        woven = fresh(folder / "woven")
        told = run([weave_binary(), "--rules", folder / "weave.toml", plain / "app.exe", woven / "app.exe"]).stderr
        done = run([*dotnet.host("core8"), woven / "app.exe"], check=False, env=ENVIRONMENT)
        lines = [line for line in done.stdout.splitlines() if line.startswith("  line ")]
        has_told = [f"aspect `{name}` matched only points that are left unchanged: there is no portable PDB" in told for name in ("lines", "lines that wait")]
        good = done.stdout == expected if how == "embedded" else lines == ["  line False App.Points.Guarded()"] and all(has_told)
        score.check(f"points of lines with symbols {how}", done.returncode == 0 and good, told[-700:] + "".join(line + "\n" for line in lines))
    for at, hook, why in REFUSED_POINTS_OF_DOTNET:
        (folder / "refused.toml").write_text(f'version = 1\n[[library]]\npath = "hooks.dll"\n[[aspect]]\nname = "no"\nmatch = {{ type = "App.Later" }}\nat = {at}\nbefore = "{hook}"\n')
        done = run([weave_binary(), "--rules", folder / "refused.toml", folder / "plain/app.exe", folder / "refused.exe"], check=False)
        score.check(f"points of .NET: {why}", done.returncode != 0 and why in done.stderr and "refused.toml:" in done.stderr, done.stderr[-500:])
    told = run([weave_binary(), "plan", "--summary", "--rules", folder / "weave.toml", folder / "plain/app.exe"]).stdout
    reasons = ("depends on a type parameter", "its value is a struct", "a field whose address is taken", "only its own class may set a final field")
    score.check("points of .NET: what is left is told", all(re.search(rf"\d left: .*{reason}", told) for reason in reasons), "")


def line_of(source, text):
    """The number of the line of a source that has a text."""
    return next(str(n) for n, line in enumerate((POINTS / source).read_text().splitlines(), 1) if text in line)


def points_rules(rules, source, library):
    """Rules with the line that they name."""
    return (POINTS / rules).read_text().replace("LIBRARY", library).replace("LINE", line_of(source, "sum += i"))


def points_rules_dotnet(library):
    """The same of .NET."""
    rules = (POINTS / "dotnet.toml").read_text().replace("LIBRARY", library)
    for name, source, text in (("LINE1", "Points", "sum += i"), ("LINE2", "Later", "a line that waits"), ("LINE3", "Points", "Count = 100")):
        rules = rules.replace(name, line_of(f"dotnet/{source}.cs", text))
    return rules


def recorded(trace, *more):
    """The calls of a trace in their order, a line each: what is called, its values, how it ended."""
    told = json.loads(run([weave_binary(), "report", trace, *more, "--calls", "--limit", "1000", "--json"]).stdout)
    calls = sorted(told["calls"], key=lambda call: call["start_ns"])
    lines = [" ".join([call["label"], *(f"{name}={json.dumps(value)}" for name, value in sorted(call["values"].items())), call["outcome"]]) for call in calls]
    return re.sub(r"@[0-9a-f]+", "@..", "".join(line + "\n" for line in lines))


def records(score, folder):
    """Calls of the platform that are recorded: the trace has them under the names of what is called."""
    app = jar(folder, "app", [SOURCES / "java/app/Recorded.java"])
    library = jar(folder, "hooks", [SOURCES / "java/acme/Audit.java"])
    (folder / "weave.toml").write_text((SOURCES / "recorded.toml").read_text().replace("LIBRARY", library.name))
    woven, expected = folder / "woven.jar", (SOURCES / "expected_recorded.txt").read_text()
    for version, home, more in [(*judge, more) for judge in judges().items() for more in PAIRS]:
        run([weave_binary(), "-q", "--strict", "--rules", folder / "weave.toml", *more, app, woven])
        trace = folder / f"run-{version}-{len(more)}.wtrace"
        done = run([home / "bin" / "java", "-Xverify:all", "-cp", woven, "app.Recorded"], check=False, env={**ENVIRONMENT, "WEAVE_TRACE": str(trace)})
        lines = recorded(trace) if trace.exists() else ""
        if more:
            lines = "".join(line for line in lines.splitlines(True) if not line.startswith("app."))
        good = done.returncode == 0 and done.stdout + lines == expected
        score.check(f"records on {version}{' with the recorded pair' if more else ''}: the same lines", good, f"{len(expected.splitlines())} lines")
        if not good:
            print(f"exit {done.returncode}\n{done.stdout}{lines}\n{done.stderr[-1500:]}")


def dex(score, folder):
    java = oldest_jdk() / "bin" / "java"
    library = jar(folder, "hooks", [SOURCES / "java/acme/Audit.java"])
    runtime = folder / "weave-runtime.jar"
    run([weave_binary(), "runtime", runtime])
    # Those whose hooks take and return what the calls do, or lie around them.
    for main_class, rules, without in (("Calls", "rules.toml", "sleep|pow"), ("Recorded", "recorded.toml", "none")):
        app = jar(folder, "app", [SOURCES / f"java/app/{main_class}.java"])
        for name, classes in (("app", app), ("hooks", library)):
            check_dex.to_dex(classes, folder / f"{name}.dex")
        head, *aspects = (SOURCES / rules).read_text().split("[[aspect]]")
        text = "[[aspect]]".join([head, *(a for a in aspects if not re.search(rf'name = "({without})"', a))])
        lines = {}
        for kind, source, hooks in (("jar", app, library.name), ("dex", folder / "app.dex", "hooks.dex")):
            (folder / "weave.toml").write_text(text.replace("LIBRARY", hooks))
            woven = folder / f"woven.{kind}"
            run([weave_binary(), "-q", "--strict", "--rules", folder / "weave.toml", source, woven])
            path = [woven]
            if kind == "dex":
                verified = run([weave_binary(), "verify", woven], check=False)
                score.check(f"dex of {main_class}: weave verify", verified.returncode == 0, verified.stdout[-300:])
                path = [check_dex.translated(woven, folder / f"{main_class}.translated.jar"), library, runtime]
            trace = folder / f"{main_class}.{kind}.wtrace"
            done = run([java, "-Xverify:all", "-cp", os.pathsep.join(map(str, path)), f"app.{main_class}"], check=False,
                       env={**ENVIRONMENT, "WEAVE_TRACE": str(trace)})
            calls = recorded(trace, "--symbols", f"{woven}.wsym") if trace.exists() else ""
            lines[kind] = (done.returncode, done.stdout + calls, done.stderr)
        score.check(f"dex of {main_class}: the same lines as of classes", lines["dex"] == lines["jar"] and lines["jar"][0] == 0,
                    f"{len(lines['jar'][1].splitlines())} lines")
        if lines["dex"] != lines["jar"]:
            print(*lines["dex"], sep="\n")


def dotnet_(score, folder):
    api, sources = dotnet.mono_libraries() / "4.7.2-api", SOURCES / "dotnet"
    base = [*dotnet.csc(), "-nologo", "-nostdlib", f"-r:{api / 'mscorlib.dll'}"]
    run([*base, "-optimize", "-target:library", f"-out:{folder / 'hooks.dll'}", sources / "Audit.cs"])
    (folder / "weave.toml").write_text((SOURCES / "dotnet.toml").read_text().replace("LIBRARY", "hooks.dll"))
    expected = (SOURCES / "expected_dotnet.txt").read_text()
    for how, more in [(how, more) for how in ("-optimize-", "-optimize") for more in PAIRS]:
        plain, woven = fresh(folder / "plain"), fresh(folder / "woven")
        run([*base, how, "-unsafe", "-debug:portable", f"-out:{plain / 'app.exe'}", sources / "Calls.cs"])
        run([weave_binary(), "-q", "--strict", "--rules", folder / "weave.toml", *more, plain / "app.exe", woven / "app.exe"])
        for name, host in {"CoreCLR 8": dotnet.host("core8"), "Mono": ["mono"]}.items():
            done = run([*host, woven / "app.exe"], check=False, env=ENVIRONMENT)
            told = [line for line in done.stderr.splitlines() if "Acme.Audit.Bad failed" in line]
            good = done.returncode == 0 and done.stdout == expected and len(told) == 1
            score.check(f"dotnet {how} on {name}{' with the recorded pair' if more else ''}: the same lines", good, f"{len(expected.splitlines())} lines")
            if not good:
                print(f"exit {done.returncode}\n{done.stdout}\n{done.stderr[-2500:]}")
        verified = run([weave_binary(), "verify", woven / "app.exe"], check=False)
        score.check(f"dotnet {how}: weave verify", verified.returncode == 0, verified.stdout[-300:])


def dotnet_records(score, folder):
    """The same in C#, on CoreCLR and Mono."""
    api, sources = dotnet.mono_libraries() / "4.7.2-api", SOURCES / "dotnet"
    base = [*dotnet.csc(), "-nologo", "-nostdlib", f"-r:{api / 'mscorlib.dll'}"]
    run([*base, "-optimize", "-target:library", f"-out:{folder / 'hooks.dll'}", sources / "Audit.cs"])
    (folder / "weave.toml").write_text((SOURCES / "dotnet_recorded.toml").read_text().replace("LIBRARY", "hooks.dll"))
    expected = (SOURCES / "expected_dotnet_recorded.txt").read_text()
    for how, more in [(how, more) for how in ("-optimize-", "-optimize") for more in PAIRS]:
        plain, woven = fresh(folder / "plain"), fresh(folder / "woven")
        run([*base, how, "-unsafe", "-debug:portable", f"-out:{plain / 'app.exe'}", sources / "Recorded.cs"])
        run([weave_binary(), "-q", "--strict", "--rules", folder / "weave.toml", *more, plain / "app.exe", woven / "app.exe"])
        for name, host in {"CoreCLR 8": dotnet.host("core8"), "Mono": ["mono"]}.items():
            trace = folder / f"run{how}-{len(more)}-{name.replace(' ', '')}.wtrace"
            done = run([*host, woven / "app.exe"], check=False, env={**ENVIRONMENT, "WEAVE_TRACE": str(trace)})
            lines = recorded(trace) if trace.exists() else ""
            if more:
                lines = "".join(line for line in lines.splitlines(True) if not line.startswith("App."))
            good = done.returncode == 0 and done.stdout + lines == expected
            score.check(f"records {how} on {name}{' with the recorded pair' if more else ''}: the same lines", good, f"{len(expected.splitlines())} lines")
            if not good:
                print(f"exit {done.returncode}\n{done.stdout}{lines}\n{done.stderr[-2500:]}")
        verified = run([weave_binary(), "verify", woven / "app.exe"], check=False)
        score.check(f"records {how}: weave verify", verified.returncode == 0, verified.stdout[-300:])


def steps(trace):
    """What happens in a trace of one thread, in order: a line each, with values, of calls in pieces whether they go on."""
    trace = reader.Trace(trace)
    names = reader.Names(trace.symbols())
    lines = []
    for thread in trace.threads.values():
        for event, given in thread.valued():
            what = {reader.ENTER: "enter", reader.EXIT: "exit", reader.ERROR: "error"}.get(event.kind, event.kind)
            flags = event.logical and {0: "again", reader.FIRST: "first", reader.LAST: "last"}[event.logical[0]]
            thrown = event.thrown and ": ".join(part for part in event.thrown if part)
            values = [f"{names.values[event.id][value.number]}={value.value}" for value in given]
            lines.append(" ".join(filter(None, [what, names.methods[event.id], flags, *values, thrown])))
    return re.sub(r"@[0-9a-f]+", "@..", "".join(line + "\n" for line in lines))


def dotnet_follows(score, folder):
    """Recorded calls that give tasks end when these are complete, on CoreCLR and Mono."""
    api, sources = dotnet.mono_libraries() / "4.7.2-api", SOURCES / "dotnet"
    base = [*dotnet.csc(), "-nologo", "-nostdlib", f"-r:{api / 'mscorlib.dll'}", f"-r:{api / 'System.dll'}"]
    run([*base, "-optimize", "-target:library", f"-out:{folder / 'hooks.dll'}", sources / "Audit.cs"])
    (folder / "weave.toml").write_text((SOURCES / "dotnet_followed.toml").read_text().replace("LIBRARY", "hooks.dll"))
    expected = (SOURCES / "expected_dotnet_followed.txt").read_text()
    hosts = dotnet_hosts()
    for how in ("-optimize-", "-optimize"):
        plain, woven = fresh(folder / "plain"), fresh(folder / "woven")
        run([*base, how, "-unsafe", "-debug:portable", f"-out:{plain / 'app.exe'}", sources / "Followed.cs"])
        run([weave_binary(), "-q", "--strict", "--rules", folder / "weave.toml", plain / "app.exe", woven / "app.exe"])
        for name, host in hosts.items():
            if name == "CoreCLR 10":
                config = '{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "10.0.0"}}}'
                (woven / "app.runtimeconfig.json").write_text(config)
            trace = folder / f"run{how}-{name.replace(' ', '')}.wtrace"
            done = run([*host, woven / "app.exe"], check=False, env={**ENVIRONMENT, "WEAVE_TRACE": str(trace)})
            lines = steps(trace) + recorded(trace, "--filter", "App.Store.**") if trace.exists() else ""
            good = done.returncode == 0 and done.stdout + lines == expected
            score.check(f"follows {how} on {name}: the same lines", good, f"{len(expected.splitlines())} lines")
            if not good:
                print(f"exit {done.returncode}\n{done.stdout}{lines}\n{done.stderr[-2500:]}")
        verified = run([weave_binary(), "verify", woven / "app.exe"], check=False)
        score.check(f"follows {how}: weave verify", verified.returncode == 0, verified.stdout[-300:])


CODEC_PACKAGES = [part for p in ("binary", "net") for part in ("--select-package", f"org.apache.commons.codec.{p}")]


def codec():
    """The folder of commons-codec, its tests and what they use."""
    common = [f"org.junit.jupiter:junit-jupiter:{JUNIT}", "org.junit.platform:junit-platform-console:1.10.2",
              "org.mockito:mockito-core:5.14.2", "org.mockito:mockito-junit-jupiter:5.14.2"]
    return corpora.resolved("commons-codec", [*CODEC, *common], JUNIT)


@functools.cache
def of_codec(home):
    """What its tests say unwoven: the same for each way of weaving it."""
    return verdicts(home, codec(), WORK / "codec-reports", CODEC_PACKAGES, dict(os.environ))


def suite(score, folder):
    plain = codec()
    check_corpora.library(folder, "Each")
    (folder / "weave.toml").write_text(changing.each_call("each.jar", "java.**"))
    told = run([weave_binary(), "--rules", folder / "weave.toml", plain, folder / "woven"]).stderr
    calls = re.search(r"redirected ([\d,]+) calls", told)
    score.check("suite: calls are redirected", bool(calls) and int(calls[1].replace(",", "")) > 20_000, told[-400:])
    for version, home in sorted(judges().items()):
        before = of_codec(home)
        after = verdicts(home, folder / "woven", folder / "reports", CODEC_PACKAGES, ENVIRONMENT)
        differ = {test: (what, after.get(test)) for test, what in before.items() if after.get(test) != what}
        score.check(f"suite on {version}: the same tests pass", not differ and sum(v == "passed" for v in before.values()) > 700,
                    f"{len(before)} tests, {dict(list(differ.items())[:5])}")


def libraries(score, folder):
    """Each call in guava and commons-lang3, of the JDK or not, has hooks around it; no class fails to link that did not unwoven."""
    jars = corpora.maven(["com.google.guava:guava:33.4.8-jre", "org.apache.commons:commons-lang3:3.17.0"])
    check_corpora.library(folder, "Each")
    (folder / "weave.toml").write_text(changing.each_call("each.jar", "**"))
    plain, woven = fresh(folder / "plain"), fresh(folder / "woven")
    calls = 0
    for path in jars:
        shutil.copy(path, plain)
        told = run([weave_binary(), "--json", "--rules", folder / "weave.toml", path, woven / path.name]).stdout
        calls += json.loads(told)["calls"]
    names = [path.name for path in jars]
    score.check("libraries: calls are redirected", calls > 20_000, f"{calls} calls")
    check_corpora.oracle_classes()
    for version, home in sorted(judges().items()):
        before, _ = check_corpora.link(home, plain, names, False, [plain / name for name in names], plain)
        after, linked = check_corpora.link(home, woven, names, False, [woven / name for name in names], plain)
        new = {key: told for key, told in after.items() if key not in before}
        score.check(f"libraries: JDK {version} verifies all classes", not new and linked > 3_000,
                    f"{linked} classes, {len(before)} fail unwoven, newly {list(new.items())[:3]}")


def every_point(folder):
    """Rules with a hook at every point of each kind, lines as far as they go."""
    jar(folder, "every", [POINTS / "java/acme/Every.java"])
    lines = (f'[[aspect]]\nname = "line {n}"\nat = {{ line = {n} }}\nbefore = "acme.Every.point(null, type)"\n' for n in range(60, 120))
    (folder / "weave.toml").write_text((POINTS / "every.toml").read_text().replace("LIBRARY", "every.jar") + "".join(lines))


def points_libraries(score, folder):
    """Every point in whole libraries has hooks."""
    points_in("points-libraries", POINTED, 400_000, score, folder)


def points_some(score, folder):
    """The same in some of them."""
    points_in("points-some", POINTED_EVERYDAY, 60_000, score, folder)


def points_in(name, libraries, at_least, score, folder):
    """Every point in libraries has hooks; no class fails to link that did not unwoven."""
    jars = corpora.maven(libraries)
    every_point(folder)
    plain, woven = fresh(folder / "plain"), fresh(folder / "woven")
    count, left = 0, {}
    for path in jars:
        shutil.copy(path, plain)
        told = json.loads(run([weave_binary(), "--json", "--rules", folder / "weave.toml", path, woven / path.name]).stdout)
        count += told["points"]
        for reason, n in told["left"].items():
            left[reason] = left.get(reason, 0) + n
    names = [path.name for path in jars]
    score.check(f"{name}: hooks at points", count > at_least, f"{count} hooks, left {left}")
    check_corpora.oracle_classes()
    for version, home in sorted(judges().items()):
        before, _ = check_corpora.link(home, plain, names, False, [plain / name for name in names], plain)
        after, linked = check_corpora.link(home, woven, names, False, [woven / name for name in names], plain)
        new = {key: told for key, told in after.items() if key not in before}
        score.check(f"{name}: JDK {version} verifies all classes", not new and linked > at_least // 40,
                    f"{linked} classes, {len(before)} fail unwoven, newly {len(new)}: {list(new.items())[:3]}")


def points_suite(score, folder):
    """The same in commons-codec, its tests and what they use: the same tests pass."""
    plain = codec()
    every_point(folder)
    told = run([weave_binary(), "--rules", folder / "weave.toml", plain, folder / "woven"]).stderr
    for version, home in sorted(judges().items()):
        before = of_codec(home)
        after = verdicts(home, folder / "woven", folder / "reports", CODEC_PACKAGES, ENVIRONMENT)
        differ = {test: (what, after.get(test)) for test, what in before.items() if after.get(test) != what}
        score.check(f"points-suite on {version}: the same tests pass", not differ and sum(v == "passed" for v in before.values()) > 700,
                    f"{len(before)} tests, {told.splitlines()[-1:]} {dict(list(differ.items())[:5])}")


EACH_SYSTEM_CALL = """version = 1
[[library]]
path = "each.dll"
[[aspect]]
name = "each"
at = { call = { type = "System.**" } }
before = "Acme.Each.Call(method)"
"""


def in_compiler(score, folder, name, hooks, rules, sources, told_as, at_least):
    """The C# compiler with hooks in it makes the same assembly of these sources, and every method of it compiles as unwoven."""
    api = dotnet.mono_libraries() / "4.7.2-api"
    run([*dotnet.csc(), "-nologo", "-nostdlib", "-optimize", "-target:library", f"-r:{api / 'mscorlib.dll'}",
         f"-out:{folder / hooks.with_suffix('.dll').name.lower()}", hooks])
    (folder / "weave.toml").write_text(rules)
    plain, woven = folder / "plain", folder / "woven"
    shutil.copytree(dotnet.compiler().parent, plain)
    told = run([weave_binary(), "--rules", folder / "weave.toml", plain, woven]).stderr
    found = re.search(told_as, told)
    score.check(f"{name}: there are hooks", bool(found) and int(found[1].replace(",", "")) > at_least, told[-400:])
    made = {}
    for which in (plain, woven):
        out = fresh(folder / f"out-{which.name}") / "out.exe"
        done = run([*dotnet.host("core8"), which / "csc.dll", "-nologo", "-deterministic", "-nostdlib", f"-r:{api / 'mscorlib.dll'}", f"-out:{out}",
                    *sources], check=False, env=ENVIRONMENT)
        made[which.name] = out.read_bytes() if out.exists() else done.stdout[-500:] + done.stderr[-1500:]
    score.check(f"{name}: the same assembly", isinstance(made["woven"], bytes) and made["plain"] == made["woven"],
                f"{len(made['woven'])} bytes" if isinstance(made["woven"], bytes) else made["woven"])
    group = check_dotnet.Set(name, plain, list(dotnet.COMPILER), check_dotnet.host("core8"))
    group.woven, group.told = woven, {name: {"methods": 1} for name in dotnet.COMPILER}
    check_dotnet.jit(score, group, check_dotnet.QUICK, "quickly")


def roslyn(score, folder):
    sources = [SOURCES / "dotnet" / "Calls.cs", SOURCES / "dotnet" / "Audit.cs"]
    in_compiler(score, folder, "roslyn", SOURCES / "dotnet" / "Each.cs", EACH_SYSTEM_CALL, sources, r"redirected ([\d,]+) calls", 9_000)


EVERY_POINT_OF_DOTNET = """version = 1
[[library]]
path = "every.dll"
[[aspect]]
name = "new"
at = { new = { type = "**" } }
before = "Acme.Every.Point(null, type)"
after = ["Acme.Every.Point(result, null)", "Acme.Every.Point(result, signature)"]
[[aspect]]
name = "get"
at = { field-get = { name = "*" } }
before = "Acme.Every.Point(target?, field)"
after = ["Acme.Every.Value(result)", "Acme.Every.Point(target?, method)"]
[[aspect]]
name = "set"
at = { field-set = { name = "*" } }
before = "Acme.Every.Point(target?, signature)"
after = ["Acme.Every.Value(value)", "Acme.Every.Point(target?, type)"]
[[aspect]]
name = "throw"
at = { throw = "System.Exception" }
before = "Acme.Every.Point(exception, method)"
[[aspect]]
name = "throw of some"
at = { throw = "System.InvalidOperationException" }
before = "Acme.Every.Point(exception, null)"
[[aspect]]
name = "catch"
at = { catch = "**" }
before = "Acme.Every.Point(exception, null)"
"""


def points_roslyn(score, folder):
    """Every point in the C# compiler has hooks."""
    sources = [SOURCES / "dotnet" / "Calls.cs"]
    in_compiler(score, folder, "points-roslyn", POINTS / "dotnet" / "Every.cs", EVERY_POINT_OF_DOTNET, sources, r"put ([\d,]+) hooks", 100_000)


EVERY = {"program": program, "points": points, "points-dex": points_dex, "points-dotnet": points_dotnet, "points-roslyn": points_roslyn, "records": records, "dex": dex, "dotnet": dotnet_, "dotnet-records": dotnet_records, "dotnet-follows": dotnet_follows, "suite": suite, "libraries": libraries, "points-libraries": points_libraries, "points-some": points_some, "points-suite": points_suite, "roslyn": roslyn}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, {"roslyn", "points-roslyn", "points-suite", "points-libraries"}, "calls"))
