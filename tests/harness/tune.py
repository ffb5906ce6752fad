#!/usr/bin/env python3
"""`weave tune`, in a circle: weave, run, tune, weave with the rules that it wrote, run. What is left is what it said, and nothing else changed.

    tune.py [--only NAME]...

Names: java (HotSpot, the oldest and the newest), dotnet (CoreCLR 8 and Mono). The programs are in tests/programs/tune.
"""

import json
import os

import check_trace
import corpora
import dotnet
from lib import ROOT, fresh, judges, main, run, weave_binary

SOURCES = ROOT / "tests" / "programs" / "tune"
RULES = """# What we trace.
version = 1

[[aspect]]
name  = "all"   # of it
match = { type = "**", kind = ["method", "constructor", "lambda"] }
exclude = { annotation = "NoTrace" }  # said in the code

# For another time.
[[aspect]]
name = "elsewhere"
match = { type = "org.other.**" }
"""
#: Machines differ in how fast they are, and how busy: a tiny method stays far below this, and the slow one above.
OPTIONS = ["--below", "10us", "--pair-cost", "50ns"]


def records(trace):
    return sum(sum(counts.values()) for counts in (trace.calls, trace.exits, trace.errors))


def methods(trace):
    return {(owner.replace("/", "."), name, descriptor)
            for method, n in trace.calls.items() if n for owner, name, descriptor in [trace.symbols[method]]}


def named(trace, method):
    owner, name, descriptor = trace.symbols[method]
    return owner.replace("/", "."), name, descriptor


def circle(score, what, folder, weave, execute, out, stay):
    """`weave(rules, name)` weaves into a place of that name, `execute(name, trace)` runs it and gives what it printed. `out` are the
    methods to leave out, `stay` some that stay, by type, name and descriptor."""
    binary = weave_binary()
    rules = folder / "weave.toml"
    rules.write_text(RULES)
    weave(rules, "first")
    printed = execute("first", folder / "first.wtrace")
    first = check_trace.read(folder / "first.wtrace")
    tune = [binary, "tune", folder / "first.wtrace", *OPTIONS]

    before = rules.read_bytes()
    failed = run([*tune, "--rate", "1/s", "--write", rules], check=False)
    score.check(f"{what}: a target out of reach is status 1, and nothing is written",
                failed.returncode == 1 and "records a second, not 1;" in failed.stderr and rules.read_bytes() == before, failed.stderr.strip())
    told = json.loads(run([*tune, "--json", "--write", rules]).stdout)
    tuned = rules.read_bytes()
    left_out = {(m["type"].replace("/", "."), m["method"], m["descriptor"]) for m in told["methods"]}
    score.check(f"{what}: the tiny methods are left out, and no others", left_out == out, str(sorted(left_out ^ out)))
    score.check(f"{what}: it knows how many records there are", told["before"]["records"] == records(first), str(told["before"]["records"]))

    again = run([*tune, "--write", rules])
    score.check(f"{what}: once more changes nothing", rules.read_bytes() == tuned and "already" in again.stdout, again.stdout.splitlines()[-1])
    other = folder / "other.toml"
    other.write_text(RULES)
    run([*tune, "--write", other])
    score.check(f"{what}: the same traces, the same bytes", other.read_bytes() == tuned)
    lines = tuned.decode().splitlines()
    gone = [line for line in RULES.splitlines() if line not in lines]
    score.check(f"{what}: the user's lines stay, but for the one that becomes a list",
                gone == ['exclude = { annotation = "NoTrace" }  # said in the code'] and "]  # said in the code" in lines, str(gone))

    weave(rules, "second")
    same = execute("second", folder / "second.wtrace")
    score.check(f"{what}: the program does the same", printed == same and printed, same.strip()[-300:])
    second = check_trace.read(folder / "second.wtrace")
    score.check(f"{what}: as many records are left as it said", records(second) == told["after"]["records"] > 0,
                f"{records(first)}, then {records(second)}, told {told['after']['records']}")
    score.check(f"{what}: all other methods are there", methods(second) == methods(first) - out and methods(second) >= stay,
                str(sorted((methods(first) - out ^ methods(second)) | (stay - methods(second)))))
    score.check(f"{what}: a whole, balanced trace", not second.problems and second.orderly, str(second.problems))
    # Counted instead: as often as they were recorded, and the rest as it was.
    counting = folder / "counting.toml"
    counting.write_text(RULES)
    told = json.loads(run([*tune, "--json", "--count", "--write", counting]).stdout)
    weave(counting, "third")
    same = execute("third", folder / "third.wtrace")
    third = check_trace.read(folder / "third.wtrace")
    score.check(f"{what}: the program does the same where methods are counted", printed == same and told["written"]["counted"] == len(out), same.strip()[-300:])
    recorded = {method: n for method, n in first.calls.items() if n and named(first, method) in out}
    score.check(f"{what}: they are counted as often as they were recorded", third.counts == recorded and len(recorded) == len(out),
                f"{sum(third.counts.values())} and {sum(recorded.values())} calls")
    score.check(f"{what}: the rest is recorded as without them", third.calls == second.calls and not third.problems, str(third.problems))

    plan = json.loads(run([binary, "plan", "--details", "--json", "--rules", rules, folder / "in"]).stdout)
    excluded = sum(1 for c in plan["classes"] for m in c["left"] if m["reason"] == "excluded")
    score.check(f"{what}: the plan shows them as left out", excluded == len(out), str(excluded))


def java(score, place):
    out = {
        ("Tuned", "mix", "(I)I"),
        ("Tuned", "mix", "([Ljava/lang/String;[I)I"),
        ("Tuned$Cell", "<init>", "(I)V"),
        ("Tuned$Cell", "twice", "()I"),
        ("Tuned", "lambda$main$0", "(I)I"),
    }
    stay = {
        ("Tuned", "mix", "(J)I"),
        ("Tuned", "risky", "(I)I"),
        ("Tuned", "work", "(I)I"),
        ("shop.Tuned", "mix", "(I)I"),
    }
    for version, home in sorted(judges().items()):
        folder = fresh(place / str(version))
        sources = sorted(SOURCES.rglob("*.java"))
        run([home / "bin" / "javac", "--release", "17", "-g", "-d", folder / "in", *sources])

        def weave(rules, name):
            run([weave_binary(), "-q", "--strict", "--allow-idle", "--rules", rules, folder / "in", folder / name])

        def execute(name, trace):
            environment = {**os.environ, "WEAVE_TRACE": str(trace)}
            return run([home / "bin" / "java", "-cp", folder / name, "Tuned"], env=environment).stdout

        circle(score, f"JDK {version}", folder, weave, execute, out, stay)


def dotnet_(score, place):
    grid = "(System.Collections.Generic.Dictionary<T,System.Collections.Generic.List<System.Int32>>, System.Int32[,])System.Int32"
    out = {
        ("Shop.Program", "Mix", "(System.Int32)System.Int32"),
        ("Shop.Program", "Add", "(System.Int32)System.Int32"),
        ("Shop.Pair`1", ".ctor", "(T)System.Void"),
        ("Shop.Pair`1", "Sum", grid),
        ("Shop.Pair`1+Inner", "Twice", "(System.Int32&)System.Int32"),
        ("Shop.Program+<>c", "<Main>b__7_0", "(System.Int32)System.Int32"),
    }
    stay = {
        ("Shop.Program", "Mix", "(System.Int64)System.Int32"),
        ("Shop.Program", "<Place>g__Add|5_0", "(System.Int32)System.Int32"),
        ("Shop.Program", "Risky", "(System.Int32)System.Int32"),
        ("Shop.Program", "Work", "(System.Int32)System.Int32"),
    }
    mono = dotnet.mono_libraries()
    for name, host in {"CoreCLR 8": dotnet.host("core8"), "Mono": ["mono"]}.items():
        folder = fresh(place / name.replace(" ", "-"))
        (folder / "in").mkdir()
        run([*dotnet.csc(), "-nologo", "-optimize", "-nostdlib", f"-r:{mono / '4.7.2-api' / 'mscorlib.dll'}",
             f"-r:{mono / '4.7.2-api' / 'System.dll'}", f"-out:{folder / 'in' / 'app.exe'}", SOURCES / "Tuned.cs"])

        def weave(rules, to):
            run([weave_binary(), "-q", "--strict", "--allow-idle", "--rules", rules, folder / "in", folder / to])

        def execute(to, trace):
            environment = {**os.environ, "WEAVE_TRACE": str(trace)}
            return run([*host, folder / to / "app.exe"], env=environment).stdout

        circle(score, name, folder, weave, execute, out, stay)


EVERY = {"java": java, "dotnet": dotnet_}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, set(), "tune"))
