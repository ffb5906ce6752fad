#!/usr/bin/env python3
"""Sampled calls: a program does what it did, and of its outermost sampled calls the right ones are in the trace, each with all below it.

    sampling.py [--only NAME]...

Names: java, dex, dotnet. The programs are in tests/programs/sampling: they make requests in several threads, of which a line of the input asks for so many;
each makes known calls. `weave control` switches them between the lines, and while they run. Java runs on the oldest and the newest JDK; dex files are
made by dx, woven, and made a jar again by enjarify; C# runs on CoreCLR 8, Mono and CoreCLR 10. Traces are read by check_trace.py.
"""

import json
import os
import subprocess
import time
from collections import Counter

import check_dex
import check_trace
import corpora
import dotnet
import hooks
from lib import ROOT, fresh, judges, main, oldest_jdk, run, weave_binary

SOURCES = ROOT / "tests" / "programs" / "sampling"
METHODS = ("order", "report", "load", "fails", "rare")
ALWAYS = """[[aspect]]
name = "always"
match = { type = "app.**", method = ["main", "serve", "audit", "shared", "Main", "Serve", "Audit", "Shared"] }
"""
RULES = f"""version = 1
{ALWAYS}
[[aspect]]
name = "requests"
match = {{ type = "app.**", method = ["order", "report", "load", "fails", "shared", "Order", "Report", "Load", "Fails", "Shared"] }}
sample = "1/10"
record = "arg(0)?"
[[aspect]]
name = "rare"
match = {{ type = "app.**", method = ["rare", "Rare"] }}
sample = "1/1000"
"""
SECOND = f"""version = 1
{ALWAYS}
[[aspect]]
name = "requests"
match = {{ type = "app.**", method = ["order", "report", "load", "fails", "rare", "Order", "Report", "Load", "Fails", "Rare"] }}
sample = "20/s"
"""
# The calls that each request makes, by its outermost sampled one.
ORDER = Counter(order=3, load=4, fails=3, audit=4)
REPORT = Counter(report=1, load=2, rare=1, shared=1, audit=2)
BOTH = ORDER + REPORT
REQUESTS = 1_234  # not a multiple of 20
# What is asked for, and what then becomes of the calls of the aspects requests and rare: S sampled, r recorded, s summed up, c counted, - nothing.
STEPS = (
    ([], "SS"),
    (["--mode", "record"], "rr"),
    (["--mode", "rules"], "SS"),
    (["--level", "error"], "--"),
    (["--reset", "--disable", "rare"], "S-"),
    (["--mode", "aggregate"], "s-"),
    (["--enable", "rare", "--mode", "count"], "cc"),
    (["--mode", "auto"], "SS"),
    (["--mode", "off"], "--"),
    (["--reset"], "SS"),
)
LOAD = (["--mode", "record"], ["--level", "error"], ["--mode", "aggregate"], ["--reset"], ["--disable", "rare"], ["--mode", "count"],
        ["--disable", "requests"], ["--mode", "rules"], ["--mode", "off"], ["--reset"])


def control(trace, *options):
    return run([weave_binary(), "control", *options, trace], check=False)


class Program:
    """A program that runs, and what it said to each line."""

    def __init__(self, command, trace, environment=None):
        trace.unlink(missing_ok=True)
        self.trace, self.said = trace, []
        settings = {**os.environ, "WEAVE_TRACE": str(trace), "WEAVE_TRACE_SEED": "1", **(environment or {})}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=settings)
        self.threads = int(self.process.stdout.readline())

    def requests(self, n):
        self.process.stdin.write(f"{n}\n")
        self.process.stdin.flush()
        self.said.append(self.process.stdout.readline())

    def known(self):
        """Waits until the library knows what can be switched, which it finds out behind the first calls."""
        for _ in range(600):
            if "requests" in control(self.trace).stdout:
                return
            time.sleep(0.05)

    def end(self):
        self.process.stdin.close()
        return self.process.wait()


def names(trace):
    return {method: symbol[1].lower() for method, symbol in trace.symbols.items()}


def named(trace, calls):
    by_name = names(trace)
    return Counter({by_name[method]: n for method, n in calls.items()})


def trees(trace):
    """Of each thread, by its name, the outermost sampled calls: (method, weight, what is in it by name)."""
    by_name, found = names(trace), {name: [] for name in trace.threads.values()}
    for thread, method, weight, within in trace.trees:
        found[trace.threads[thread]].append((by_name[method], weight, named(trace, within)))
    return found


def whole(method, within, without=()):
    calls = {"order": ORDER, "report": REPORT}.get(method)
    return calls and within == Counter({name: n for name, n in calls.items() if name not in without})


def times(calls, n, only=None):
    return Counter({name: n * one for name, one in calls.items() if only is None or name in only})


def judge(score, name, command, trace, plain):
    """Each step has threads of its own, of which each has its share of trees."""
    # Without a rate `auto` decides nothing, however fast the machine is.
    program = Program(command, trace, {"WEAVE_TRACE_RATE": "off"})
    refused = []
    for options, _ in STEPS:
        # In .NET nothing takes a request before the first call that can be switched.
        done = control(trace, *options) if options else None
        if done and done.returncode:
            refused.append(done.stderr)
        program.requests(REQUESTS)
        program.known()
    listing, listed = json.loads(control(trace, "--json").stdout), control(trace).stdout
    status = program.end()
    score.check(f"{name}: the same output", status == 0 and program.said == plain, f"{program.said} for {plain}")
    score.check(f"{name}: each request was taken", not refused, "".join(refused))
    shown = {one["aspect"]: one.get("sample") for one in listing["aspects"]}
    score.check(f"{name}: what is sampled is told", shown == {"requests": "1/10", "rare": "1/1000"} and "on by level, sampled 1/10 " in listed, listed)
    read = check_trace.read(trace)
    score.check(f"{name}: the trace is sound", not read.problems, "; ".join(read.problems[:3]))
    by_thread = trees(read)
    wanted = {"r": Counter(), "s": Counter(), "c": Counter()}
    requests, wrong = program.threads * REQUESTS, []
    for step, (_, becomes) in enumerate(STEPS):
        for thread in range(program.threads):
            found = by_thread[f"step {step}.{thread}"]
            sampled = becomes[0] == "S"
            share = (REQUESTS // 10, -(-REQUESTS // 10)) if sampled else (0,)
            without = ("rare",) if becomes[1] == "-" else ()
            strange = [one for one in found if one[1] != 10 or not whole(one[0], one[2], without)]
            turns = Counter(one[0] for one in found)
            if len(found) not in share or strange or sampled and min(turns["order"], turns["report"]) * 4 < len(found):
                wrong.append(f"step {step}, thread {thread}: {len(found)} trees, {turns}, {strange[:2]}")
        wanted["r"] += times(BOTH, requests // 2, ("audit", "shared")) + Counter(audit=requests, serve=requests)
        for what, methods in zip(becomes, (METHODS[:-1], METHODS[-1:])):
            if what in wanted:
                wanted[what] += times(BOTH, requests // 2, methods)
    score.check(f"{name}: one of ten requests of each thread, and each whole", not wrong, "; ".join(wrong[:3]))
    in_trees = sum((one[2] for found in by_thread.values() for one in found), Counter())
    wanted["r"] += Counter({method: in_trees[method] for method in METHODS})
    recorded = named(read, read.calls)
    del recorded["main"]
    summed = Counter({method: n for method, n in named(read, {method: one.calls for method, one in read.sums.items()}).items() if n})
    for what, word, found in (("r", "recorded", recorded), ("s", "summed up", summed), ("c", "counted", named(read, read.counts))):
        score.check(f"{name}: as often {word} as is right", found == wanted[what], f"{found} for {wanted[what]}")
    values = Counter()
    for (method, _), n in read.values.items():
        values[names(read)[method]] += n
    # What two aspects take is always recorded.
    of_values = {method: recorded[method] for method in (*METHODS[:-1], "shared")}
    score.check(f"{name}: values of what is recorded", values == of_values, f"{values} for {of_values}")
    reported(score, name, read, trace)
    estimated(score, name, command, trace)
    under_load(score, name, command, trace)


def reported(score, name, read, trace):
    """The report counts each call for all that it stands for."""
    made, recorded = named(read, read.calls) + named(read, read.counts), named(read, read.calls)
    made += named(read, {method: one.calls for method, one in read.sums.items()})
    by_name = names(read)
    for _, _, weight, within in read.trees:
        made += Counter({by_name[method]: (weight - 1) * n for method, n in within.items() if by_name[method] in METHODS})
    rows = json.loads(run([weave_binary(), "report", "--json", trace]).stdout)["methods"]
    told = Counter({row["method"].lower(): row["calls"] for row in rows})
    score.check(f"{name}: the report counts calls for what they stand for", told == made, f"{told} for {made}")
    behind = {row["method"].lower(): row.get("estimated_from") for row in rows}
    # One that passed nothing over stands for itself alone.
    scaled = {by_name[method] for _, _, weight, within in read.trees if weight > 1 for method in within}
    wanted = {method: recorded[method] if method in METHODS and method in scaled else None for method in recorded}
    score.check(f"{name}: the report says what is estimated, and from how many", behind == wanted, f"{behind} for {wanted}")


def estimated(score, name, command, trace):
    """Reports count each recorded call for those that it stands for, and say from how many."""
    program = Program(command, trace)
    for _ in range(2):
        program.requests(REQUESTS)
    program.end()
    recorded = check_trace.read(trace)
    recorded = named(recorded, recorded.calls)
    told = run([weave_binary(), "report", "--json", trace], check=False)
    methods = {method["method"].lower(): method for method in json.loads(told.stdout)["methods"]}
    of = {method: (methods[method]["calls"], methods[method].get("estimated_from")) for method in METHODS}
    score.check(f"{name}: a report counts calls for those that they stand for", of == {m: (10 * recorded[m], recorded[m]) for m in METHODS}, f"{of} for {recorded}")
    requests, found = 2 * program.threads * REQUESTS, of["order"][0] // 3 + of["report"][0]
    score.check(f"{name}: so it knows how many outermost ones there were", abs(found - requests) <= 2 * program.threads * 10, f"{found} of {requests}")
    known = {"shared": requests // 2, "audit": (ORDER["audit"] + REPORT["audit"]) * requests // 2 + requests}
    exact = {method: (methods[method]["calls"], methods[method].get("estimated_from")) for method in known}
    score.check(f"{name}: what is not sampled it counts as it is", exact == {method: (n, None) for method, n in known.items()}, f"{exact} for {known}")


def under_load(score, name, command, trace):
    """It is switched while its threads run. Pairs and trees stay whole, and in the end each thread is as free as in the beginning."""
    program = Program(command, trace, {"WEAVE_TRACE_LIMIT": "1g"})
    program.requests(20)
    program.known()
    refused = []
    for options in LOAD:
        switching = subprocess.Popen([weave_binary(), "control", *options, trace], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while switching.poll() is None:
            program.requests(20)
        refused += [switching.stderr.read()] if switching.returncode else []
    last = len(program.said)
    program.requests(REQUESTS)
    status = program.end()
    read = check_trace.read(trace)
    score.check(f"{name}, under load: the trace is sound", status == 0 and not read.problems and not refused, f"{last} lines; {read.problems[:3]}; {refused}")
    by_thread = trees(read)
    # What another aspect's outermost call is where the one around it is off.
    strange = [one for found in by_thread.values() for one in found if one[1] != (1_000 if one[0] == "rare" else 10)]
    score.check(f"{name}, under load: weights", not strange, f"{sum(map(len, by_thread.values()))} trees; {strange[:3]}")
    found = [by_thread[f"step {last}.{thread}"] for thread in range(program.threads)]
    free = all(len(one) in (123, 124) and all(whole(method, within) for method, _, within in one) for one in found)
    score.check(f"{name}, under load: threads are free behind it", free, f"{[len(one) for one in found]} trees of {REQUESTS}")
    summed = {method: one.calls - one.ended() for method, one in read.sums.items()}
    score.check(f"{name}, under load: each sum has ended", not any(summed.values()), f"{summed}")


def by_the_second(score, name, command, trace):
    """At most twenty a second, with all below them, and they stand for all but those behind the last."""
    began = time.monotonic()
    program = Program(command, trace)
    for _ in range(20):
        program.requests(REQUESTS)
    status, took = program.end(), time.monotonic() - began
    read = check_trace.read(trace)
    score.check(f"{name}, by the second: the trace is sound", status == 0 and not read.problems, f"{read.problems[:3]}")
    found = [one for thread in trees(read).values() for one in thread]
    score.check(f"{name}, by the second: so many and no more", 1 <= len(found) <= 1 + 20 * took, f"{len(found)} in {took:.1f} s")
    score.check(f"{name}, by the second: each whole", all(whole(method, within) for method, _, within in found), f"{found[:2]}")
    made, weights = 20 * program.threads * REQUESTS, sum(weight for _, weight, _ in found)
    score.check(f"{name}, by the second: they stand for no more than there were", len(found) <= weights <= made, f"{weights} of {made}")
    calls = named(read, read.calls)
    outside = {method: calls[method] - sum(within[method] for _, _, within in found) for method in METHODS}
    reported(score, f"{name}, by the second", read, trace)
    score.check(f"{name}, by the second: nothing outside of them", not any(outside.values()), f"{outside}")


def in_pieces(score, name, command, trace, plain):
    """Async methods and an iterator: one of ten that begin outermost in a thread, whole, on whatever threads it goes on."""
    program = Program(command, trace)
    refused = []
    for options in ([], ["--mode", "record"], ["--level", "error"], ["--reset"]):
        done = control(trace, *options) if options else None
        refused += [done.stderr] if done and done.returncode else []
        program.requests(REQUESTS)
        program.known()
    status = program.end()
    score.check(f"{name}: the same output", status == 0 and program.said == plain[:4] and not refused, f"{program.said} for {plain[:4]}, {refused}")
    read = check_trace.read(trace)
    score.check(f"{name}: the trace is sound", not read.problems, "; ".join(read.problems[:3]))
    by_thread = trees(read)
    share, wrong = (REQUESTS // 10, -(-REQUESTS // 10)), []
    for step in range(4):
        for thread in range(program.threads):
            found = by_thread[f"step {step}.{thread}"]
            strange = [one for one in found if one[1] != 10 or not whole(one[0], one[2])]
            if len(found) not in (share if step in (0, 3) else (0,)) or strange:
                wrong.append(f"step {step}, thread {thread}: {len(found)} trees, {strange[:2]}")
    found = sum(map(len, by_thread.values()))
    strays = [thread for thread, of in by_thread.items() if of and not thread.startswith("step ")]
    score.check(f"{name}: one of ten requests of each thread, and each whole", not wrong and not strays and read.stray, f"{wrong[:3]}, {strays}, {read.stray}")
    # Beside what is in trees, all calls of the step in which all are recorded.
    all_of = times(BOTH, program.threads * REQUESTS // 2, METHODS)
    within = sum((one[2] for of in by_thread.values() for one in of), Counter())
    rows = {row["method"].lower(): row for row in json.loads(run([weave_binary(), "report", "--json", trace]).stdout)["methods"]}
    told = {method: rows[method]["calls"] for method in METHODS}
    score.check(f"{name}: the report counts calls for what they stand for", told == {m: all_of[m] + 10 * within[m] for m in METHODS}, f"{told}, {found} trees")
    exact = (rows["shared"]["calls"], rows["shared"].get("estimated_from"))
    score.check(f"{name}: what is not sampled it counts as it is", exact == (4 * program.threads * REQUESTS // 2, None), f"{exact}")


def classes(folder):
    out = fresh(folder / "classes")
    run([oldest_jdk() / "bin/javac", "-g", "--release", "8", "-Xlint:-options", "-encoding", "UTF-8", "-d", out, SOURCES / "java/app/Requests.java"])
    app = folder / "app.jar"
    run([oldest_jdk() / "bin/jar", "cf", app, "-C", out, "."])
    return app


def unwoven(command):
    asked = "".join(f"{REQUESTS}\n" for _ in STEPS)
    told = subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout
    return told.splitlines(keepends=True)[1:]


def java(score, folder):
    app = classes(folder)
    rules = folder / "weave.toml"
    for text, woven in ((RULES, folder / "woven.jar"), (SECOND, folder / "second.jar")):
        rules.write_text(text)
        run([weave_binary(), "-q", "--strict", "--rules", rules, app, woven])
    for version, home in judges().items():
        start = [home / "bin/java", "-Xverify:all", "-cp"]
        judge(score, f"java on {version}", [*start, folder / "woven.jar", "app.Requests"], folder / "t.wtrace", unwoven([*start, app, "app.Requests"]))
        by_the_second(score, f"java on {version}", [*start, folder / "second.jar", "app.Requests"], folder / "second.wtrace")


def dex(score, folder):
    app, woven, rules = classes(folder), folder / "woven.dex", folder / "weave.toml"
    java = oldest_jdk() / "bin/java"
    check_dex.to_dex(app, folder / "app.dex")
    rules.write_text(RULES)
    run([weave_binary(), "-q", "--strict", "--rules", rules, folder / "app.dex", woven])
    path = check_dex.class_path(score, "dex", woven)
    judge(score, "dex", [java, "-Xverify:all", "-cp", path, "app.Requests"], folder / "t.wtrace", unwoven([java, "-cp", app, "app.Requests"]))


def dotnet_(score, folder):
    mono = dotnet.mono_libraries() / "4.7.2-api"
    plain, woven, second = (fresh(folder / name) for name in ("plain", "woven", "second"))
    run([*dotnet.csc(), "-nologo", "-nostdlib", f"-r:{mono / 'mscorlib.dll'}", f"-r:{mono / 'System.dll'}",
         "-optimize", "-debug:portable", f"-out:{plain / 'app.exe'}", SOURCES / "dotnet/Requests.cs"])
    run([*dotnet.csc(), "-nologo", "-nostdlib", f"-r:{mono / 'mscorlib.dll'}", f"-r:{mono / 'System.dll'}",
         "-optimize", "-debug:portable", f"-out:{plain / 'pieces.exe'}", SOURCES / "dotnet/Pieces.cs"])
    rules = folder / "weave.toml"
    for text, out, app in ((RULES, woven, "app.exe"), (RULES, woven, "pieces.exe"), (SECOND, second, "app.exe")):
        rules.write_text(text)
        run([weave_binary(), "-q", "--strict", "--rules", rules, plain / app, out / app])
    hosts = hooks.dotnet_hosts()
    for name, host in hosts.items():
        if name == "CoreCLR 10":
            for out in plain, woven, second:
                for app in "app", "pieces":
                    (out / f"{app}.runtimeconfig.json").write_text('{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "10.0.0"}}}')
        in_pieces(score, f"pieces on {name}", [*host, woven / "pieces.exe"], folder / "pieces.wtrace", unwoven([*host, plain / "pieces.exe"]))
        judge(score, f"dotnet on {name}", [*host, woven / "app.exe"], folder / "t.wtrace", unwoven([*host, plain / "app.exe"]))
        by_the_second(score, f"dotnet on {name}", [*host, second / "app.exe"], folder / "second.wtrace")


EVERY = {"java": java, "dex": dex, "dotnet": dotnet_}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, set(), "sampling"))
