#!/usr/bin/env python3
"""Switched calls: a program that `weave control` switches while it runs does what it did, and its trace has whole calls of what was on.

    control.py [--only NAME]...

Names: java, dex, dotnet. The programs are in tests/programs/control: they make calls in rounds, in several threads, of which a line of the input
asks for so many. Java runs on the oldest and the newest JDK; dex files are made by dx, woven, and made a jar again by enjarify; C# runs on CoreCLR 8,
Mono and CoreCLR 10. Traces are read by check_trace.py.
"""

import itertools
import json
import os
import subprocess

import check_dex
import check_trace
import corpora
import counts
import dotnet
import hooks
from lib import ROOT, fresh, judges, main, oldest_jdk, run, weave_binary

SOURCES = ROOT / "tests" / "programs" / "control"
RULES = """version = 1
[[aspect]]
name = "all"
match = { type = "app.**", method = ["main", "round", "Main", "Round"] }
level = "error"
[[aspect]]
name = "sql"
match = { type = "app.**", method = ["query", "fails", "Query", "Fails", "Later"] }
level = "info"
record = "arg(0)?"
[[aspect]]
name = "noise"
match = { type = "app.**", method = ["noise", "Noise", "Items"] }
level = "debug"
[[aspect]]
name = "sums"
match = { type = "app.**", method = ["summed", "Summed", "Soon"] }
mode = "aggregate"
level = "info"
[[aspect]]
name = "counts"
match = { type = "app.**", method = ["counted", "Counted", "Tally"] }
mode = "count"
level = "info"
"""
# The program itself decides how much it records of the methods that are called in rounds.
AUTO = RULES[: RULES.index("[[aspect]]\nname = \"sql\"")] + """[[aspect]]
name = "often"
match = { type = "app.**", method = ["query", "fails", "noise", "summed", "counted", "Query", "Fails", "Noise", "Summed", "Counted", "Later", "Soon", "Tally", "Items"] }
mode = "auto"
"""
ROUNDS = 500
MANY = 8_000
METHODS = ("query", "fails", "noise", "summed", "counted")
# Methods of .NET that run in pieces, and the one of these which is switched like each. What would be summed up is recorded.
PIECES = {"later": "query", "items": "noise", "soon": "summed", "tally": "counted"}
# What is asked for, and what each method's calls then are: r recorded, s summed up, c counted, - nothing.
STEPS = (
    ([], "rr-sc"),
    (["--level", "debug"], "rrrsc"),
    (["--level", "error"], "-----"),
    (["--enable", "noise", "--enable", "sums"], "--rs-"),
    (["--level", "info", "--disable", "sql"], "--rsc"),
    (["--reset"], "rr-sc"),
    (["--mode", "off"], "-----"),
    (["--level", "debug", "--mode", "aggregate"], "sssss"),
    (["--mode", "count"], "ccccc"),
    (["--mode", "record"], "rrrrr"),
    (["--mode", "rules"], "rrrsc"),
)


def judge(score, name, command, trace, plain, pieces=()):
    methods = (*METHODS, *pieces)
    trace.unlink(missing_ok=True)
    environment = {**os.environ, "WEAVE_TRACE": str(trace)}
    wanted = {"r": dict.fromkeys(methods, 0), "s": dict.fromkeys(methods, 0), "c": dict.fromkeys(methods, 0)}
    told, refused = [], []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:

        def rounds(n):
            process.stdin.write(f"{n}\n")
            process.stdin.flush()
            return process.stdout.readline()

        told.append(process.stdout.readline())
        while not list(check_trace.read(trace).switched):
            assert process.poll() is None, "the program has ended"
        for options, becomes in STEPS:
            done = run([weave_binary(), "control", "--json", *options, trace], check=False)
            if done.returncode:
                refused.append(done.stderr)
            state = json.loads(done.stdout or '{"aspects": []}')
            told.append(rounds(ROUNDS))
            for method in methods:
                what = becomes[METHODS.index(PIECES.get(method, method))]
                what = "r" if what == "s" and method in pieces else what
                if what != "-":
                    wanted[what][method] += ROUNDS * int(told[0])
        unknown = run([weave_binary(), "control", "--enable", "sqk", trace], check=False)
        process.stdin.close()
        status = process.wait()
    score.check(f"{name}: the same output", status == 0 and told == plain, f"{told} for {plain}")
    score.check(f"{name}: each request was taken", not refused and len(state["aspects"]) == 5, "".join(refused))
    score.check(f"{name}: what is no aspect", unknown.returncode == 2 and "did you mean `sql`" in unknown.stderr, unknown.stderr)
    late = run([weave_binary(), "control", "--level", "debug", trace], check=False)
    score.check(f"{name}: a process that has ended", late.returncode == 1 and "has ended" in late.stderr, late.stderr)
    read = check_trace.read(trace)
    score.check(f"{name}: the trace is sound", not read.problems, "; ".join(read.problems[:3]))
    ids = {symbol[1].lower(): method for method, symbol in read.symbols.items()}
    found = {"r": counts.recorded(read), "s": {method: one.calls for method, one in read.sums.items()}, "c": read.counts}
    for what, word in (("r", "recorded"), ("s", "summed up"), ("c", "counted")):
        calls = {method: found[what].get(ids[method], 0) for method in methods}
        score.check(f"{name}: as often {word} as was on", calls == wanted[what], f"{sum(calls.values())} calls; {calls}")
    # The first argument of these is in the trace wherever the call is.
    values = {method: sum(n for (of, _), n in read.values.items() if of == ids[method]) for method in ("query", "fails", *(method for method in pieces if method == "later"))}
    score.check(f"{name}: values", values == {method: wanted["r"][method] for method in values}, f"{values}")
    score.check(f"{name}: changes", len(read.changes) == len(STEPS), f"{len(read.changes)}")
    report = run([weave_binary(), "report", trace]).stdout
    score.check(f"{name}: the report says so", "off from the start, which was at level info: noise" in report and "switched while it ran" in report)


def auto(score, name, command, trace, pieces=()):
    methods = (*METHODS, *pieces)
    """A program that is woven by AUTO: calls are recorded, then summed up, then counted, and none is missing or there twice."""
    trace.unlink(missing_ok=True)
    environment = {**os.environ, "WEAVE_TRACE": str(trace), "WEAVE_TRACE_RATE": "1k"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        threads, asked = int(process.stdout.readline()), 0
        while asked < 100 and (asked < 3 or not is_decided(check_trace.read(trace), pieces)):
            process.stdin.write(f"{MANY}\n")
            process.stdin.flush()
            asked += bool(process.stdout.readline())
        process.stdin.close()
        status = process.wait()
    read = check_trace.read(trace)
    score.check(f"{name}, auto: the trace is sound", status == 0 and not read.problems and read.decided, f"{len(read.decided)} decided; {read.problems[:3]}")
    ids = {symbol[1].lower(): method for method, symbol in read.symbols.items()}
    recorded = counts.recorded(read)
    calls = {}
    for method in methods:
        of = ids[method]
        calls[method] = recorded.get(of, 0) + (read.sums[of].calls if of in read.sums else 0) + read.counts.get(of, 0)
    # What is called so often that even counting it is too dear is left out.
    made = threads * asked * MANY
    whole = all(calls[method] <= made if ids[method] in read.left_out else calls[method] == made for method in methods)
    score.check(f"{name}, auto: no call is missing", whole, f"{calls} of {made}; {len(read.left_out)} left out")
    table = json.loads(run([weave_binary(), "report", "--json", trace]).stdout)["methods"]
    told = {row["method"].lower(): row["calls"] for row in table}
    score.check(f"{name}, auto: the report adds them up", all(told[method] == calls[method] for method in methods), f"{told}")
    report = run([weave_binary(), "report", trace]).stdout
    score.check(f"{name}, auto: the report says so", "only summed up from" in report, report[:400])
    if pieces:
        counted = [method for method in pieces if read.counts.get(ids[method], 0) and ids[method] not in read.sums]
        score.check(f"{name}, auto: what runs in pieces is counted", counted, f"{counted}")


#: Rules that take all of the class with short methods, and those that ask for them in two ways.
GLUE = """version = 1
[[aspect]]
match = {{ type = ["app.**", "App.**"]{asks} }}
mode = "auto"
"""


def short(score, name, artifact, folder):
    """Of short methods `auto` leaves those whose time is that of what they call; rules that ask for them get them."""
    rules = folder / "short.toml"

    def told(asks):
        rules.write_text(GLUE.format(asks=asks))
        plan = json.loads(run([weave_binary(), "plan", "--json", "--details", "--rules", rules, artifact]).stdout)
        glue = next(one for one in plan["classes"] if one["type"].rsplit("/")[-1].rsplit(".")[-1] == "Glue")
        methods = lambda key: {one["method"].split("(")[0].lower() for one in glue[key]}
        short = {one["method"].split("(")[0].lower() for one in glue["left"] if one["reason"] == "short"}
        return methods("woven"), short - {".ctor"}

    woven, left = told("")
    good = len(left) == 3 and all(one.startswith("left") for one in left) and all(one.startswith("stays") for one in woven) and len(woven) >= 7
    score.check(f"{name}: short methods are left to their callers", good, f"left {left}, woven {woven}")
    for asks in (", min-size = 0", ', method = ["left*", "Left*"]'):
        woven, left = told(asks)
        score.check(f"{name}: short methods that rules ask for ({asks[2:]})", not left and sum(one.startswith("left") for one in woven) == 3, f"left {left}")


def is_decided(trace, pieces):
    """Something is, and of what runs in pieces something, too."""
    ids = {method for method, symbol in trace.symbols.items() if symbol[1].lower() in pieces}
    return trace.decided and (not pieces or not ids.isdisjoint(trace.decided))


def storm(score, name, command, trace, pieces):
    """Switched as fast as it goes while calls are made: each is there whole or not at all."""
    trace.unlink(missing_ok=True)
    environment = {**os.environ, "WEAVE_TRACE": str(trace)}
    modes, switches = itertools.cycle(("off", "record", "count", "record", "off", "count")), 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        threads = int(process.stdout.readline())
        while not list(check_trace.read(trace).switched):
            assert process.poll() is None, "the program has ended"
        process.stdin.write(f"{MANY}\n" * 5)
        process.stdin.close()
        while process.poll() is None and switches < 300:
            switches += run([weave_binary(), "control", "--level", "debug", "--mode", next(modes), trace], check=False).returncode == 0
        status = process.wait()
    read = check_trace.read(trace)
    ids = {symbol[1].lower(): method for method, symbol in read.symbols.items()}
    recorded, made = counts.recorded(read), 5 * threads * MANY
    calls = {method: (recorded.get(ids[method], 0), read.counts.get(ids[method], 0)) for method in (*METHODS, *pieces)}
    score.check(f"{name}, storm: the trace is sound", status == 0 and not read.problems, "; ".join(read.problems[:3]))
    score.check(f"{name}, storm: no call is there twice", all(sum(both) <= made for both in calls.values()), f"{calls} of {made}; {switches} switches")
    unended = [call for call in read.logical.values() if len(call.ended) != 1]
    score.check(f"{name}, storm: what began ends", len(read.changes) > 2 and not unended, f"{len(read.logical)} logical calls")


def classes(folder):
    out = fresh(folder / "classes")
    run([oldest_jdk() / "bin/javac", "-g", "--release", "8", "-Xlint:-options", "-encoding", "UTF-8", "-d", out, *(SOURCES / "java/app").glob("*.java")])
    app = folder / "app.jar"
    run([oldest_jdk() / "bin/jar", "cf", app, "-C", out, "."])
    return app


def unwoven(command):
    asked = "".join(f"{ROUNDS}\n" for _ in STEPS)
    told = subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout
    return told.splitlines(keepends=True)


def java(score, folder):
    app = classes(folder)
    short(score, "java", app, folder)
    rules = folder / "weave.toml"
    rules.write_text(RULES)
    run([weave_binary(), "-q", "--strict", "--rules", rules, app, folder / "woven.jar"])
    for version, home in judges().items():
        start = [home / "bin/java", "-Xverify:all", "-cp"]
        judge(score, f"java on {version}", [*start, folder / "woven.jar", "app.Rounds"], folder / "t.wtrace", unwoven([*start, app, "app.Rounds"]))
    rules.write_text(AUTO)
    run([weave_binary(), "-q", "--strict", "--rules", rules, app, folder / "auto.jar"])
    for version, home in judges().items():
        auto(score, f"java on {version}", [home / "bin/java", "-cp", folder / "auto.jar", "app.Rounds"], folder / "auto.wtrace")


def dex(score, folder):
    app, woven, rules = classes(folder), folder / "woven.dex", folder / "weave.toml"
    java = oldest_jdk() / "bin/java"
    check_dex.to_dex(app, folder / "app.dex")
    short(score, "dex", folder / "app.dex", folder)
    rules.write_text(RULES)
    run([weave_binary(), "-q", "--strict", "--rules", rules, folder / "app.dex", woven])
    path = check_dex.class_path(score, "dex", woven)
    judge(score, "dex", [java, "-Xverify:all", "-cp", path, "app.Rounds"], folder / "t.wtrace", unwoven([java, "-cp", app, "app.Rounds"]))


def assembly(folder):
    """The program as it is and woven, in a folder each."""
    mono = dotnet.mono_libraries() / "4.7.2-api"
    plain, woven = fresh(folder / "plain"), fresh(folder / "woven")
    run([*dotnet.csc(), "-nologo", "-nostdlib", f"-r:{mono / 'mscorlib.dll'}", f"-r:{mono / 'System.dll'}",
         "-optimize", "-debug:portable", f"-out:{plain / 'app.exe'}", SOURCES / "dotnet/Rounds.cs", SOURCES / "dotnet/Glue.cs"])
    rules = folder / "weave.toml"
    rules.write_text(RULES)
    run([weave_binary(), "-q", "--strict", "--rules", rules, plain / "app.exe", woven / "app.exe"])
    return plain, woven


def dotnet_(score, folder):
    plain, woven = assembly(folder)
    short(score, "dotnet", plain / "app.exe", folder)
    rules = folder / "weave.toml"
    hosts = hooks.dotnet_hosts()
    for name, host in hosts.items():
        if name == "CoreCLR 10":
            for out in plain, woven:
                (out / "app.runtimeconfig.json").write_text('{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "10.0.0"}}}')
        judge(score, f"dotnet on {name}", [*host, woven / "app.exe"], folder / "t.wtrace", unwoven([*host, plain / "app.exe"]), PIECES)
        storm(score, f"dotnet on {name}", [*host, woven / "app.exe"], folder / "storm.wtrace", PIECES)
    decides = fresh(folder / "decides")
    rules.write_text(AUTO)
    run([weave_binary(), "-q", "--strict", "--rules", rules, plain / "app.exe", decides / "app.exe"])
    for name, host in hosts.items():
        if name == "CoreCLR 10":
            (decides / "app.runtimeconfig.json").write_text((plain / "app.runtimeconfig.json").read_text())
        auto(score, f"dotnet on {name}", [*host, decides / "app.exe"], folder / "auto.wtrace", PIECES)


EVERY = {"java": java, "dex": dex, "dotnet": dotnet_}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, set(), "control"))
