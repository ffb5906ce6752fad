#!/usr/bin/env python3
"""Counted calls: a program that is counted counts each method as often as it records it where it is recorded.

    counts.py [--only NAME]...

Names: java, dex, dotnet. The programs are in tests/programs/counts. Each is woven three times: recorded, counted, and with some methods
recorded and all counted. Java runs on the oldest and the newest JDK, there with virtual threads as well; dex files are made by dx, woven,
and made a jar again by enjarify; C# runs on CoreCLR 8, Mono and CoreCLR 10. Traces are read by check_trace.py.
"""

import json
import os
from collections import Counter

import check_dex
import check_trace
import corpora
import dotnet
import hooks
from lib import ROOT, fresh, judges, main, oldest_jdk, run, weave_binary

SOURCES = ROOT / "tests" / "programs" / "counts"
ALL = 'match = { type = "app.**", min-size = 0, kind = ["method", "constructor", "accessor", "lambda", "async"] }\n'
SOME = 'match = { type = "app.**", method = ["work", "caught", "fact", "Work", "Caught", "Fact", "Later", "Several"] }\n'
RULES = {
    "record": f"version = 1\n[[aspect]]\n{ALL}",
    "count": f'version = 1\n[[aspect]]\n{ALL}mode = "count"\n',
    "both": f'version = 1\n[[aspect]]\n{ALL}mode = "count"\n[[aspect]]\nname = "some"\n{SOME}',
}
VIRTUAL = 200


def environment(trace):
    trace.unlink(missing_ok=True)
    return {**os.environ, "WEAVE_TRACE": str(trace)}


def weave(folder, app, woven):
    """Weaves by each of the rules; `woven` gives the name of the output."""
    for mode, text in RULES.items():
        rules = folder / f"{mode}.toml"
        rules.write_text(text)
        run([weave_binary(), "-q", "--strict", "--rules", rules, app, woven(mode)])


def recorded(trace):
    """Calls by id; those that run in pieces count once."""
    calls = trace.calls - trace.pieces
    calls.update(Counter(call.method for call in trace.logical.values()))
    return calls


def judge(score, name, plain, runs):
    """Judges the runs of one host: what each printed, and its trace."""
    traces = {}
    for mode, (done, path) in runs.items():
        score.check(f"{name}, {mode}: the same output", done.returncode == 0 and done.stdout == plain.stdout, done.stderr[-1500:])
        traces[mode] = check_trace.read(path)
        score.check(f"{name}, {mode}: the trace is sound", not traces[mode].problems, "; ".join(traces[mode].problems[:3]))
    wanted = recorded(traces["record"])
    shown = traces["record"].named(wanted).total()
    counted = traces["count"].counts
    score.check(f"{name}: as often counted as recorded", counted == wanted and len(wanted) > 12,
                f"{len(wanted)} methods, {shown} calls; not the same: {(counted - wanted) + (wanted - counted)}")
    score.check(f"{name}: what is counted is not recorded", not traces["count"].calls and not traces["record"].counts)
    some, rest = recorded(traces["both"]), traces["both"].counts
    score.check(f"{name}: what is recorded is not counted", some + rest == wanted and some and rest and not some.keys() & rest.keys(),
                f"{len(some)} methods recorded, {len(rest)} counted")
    report = json.loads(run([weave_binary(), "report", "--json", runs["both"][1]]).stdout)
    theirs, strange = Counter(), []
    for row in report["methods"]:
        theirs[check_trace.folded(f"{(row['type'] or '').replace('/', '.')}.{row['method']}")] += row["calls"]
        strange += [row["label"]] if (row["self_ns"] is None) != ("counted" in row) else []
    score.check(f"{name}: times of what is recorded alone", not strange, ", ".join(strange[:3]))
    score.check(f"{name}: the report's calls", theirs == traces["record"].named(wanted), f"{theirs.total()} calls")


def classes(folder):
    out = fresh(folder / "classes")
    run([oldest_jdk() / "bin/javac", "-g", "--release", "8", "-Xlint:-options", "-encoding", "UTF-8", "-d", out, SOURCES / "java/app/Counts.java"])
    jar = folder / "app.jar"
    run([oldest_jdk() / "bin/jar", "cf", jar, "-C", out, "."])
    return jar


def java(score, folder):
    app = classes(folder)
    weave(folder, app, lambda mode: folder / f"{mode}.jar")
    for version, home in judges().items():
        start = [home / "bin/java", "-Xverify:all", "-cp"]
        for what, arguments in ("", []), (f" with {VIRTUAL} virtual threads", [str(VIRTUAL)]):
            if arguments and int(str(version).split(".")[0]) < 21:
                continue
            plain, runs = run([*start, app, "app.Counts", *arguments]), {}
            for mode in RULES:
                trace = folder / f"{mode}.wtrace"
                runs[mode] = run([*start, folder / f"{mode}.jar", "app.Counts", *arguments], check=False, env=environment(trace)), trace
            judge(score, f"java on {version}{what}", plain, runs)


def dex(score, folder):
    app = classes(folder)
    java = oldest_jdk() / "bin/java"
    check_dex.to_dex(app, folder / "app.dex")
    weave(folder, folder / "app.dex", lambda mode: folder / f"{mode}.dex")
    plain, runs = run([java, "-cp", app, "app.Counts"]), {}
    for mode in RULES:
        woven, trace = folder / f"{mode}.dex", folder / f"{mode}.wtrace"
        path = check_dex.class_path(score, f"dex, {mode}", woven)
        runs[mode] = run([java, "-Xverify:all", "-cp", path, "app.Counts"], check=False, env=environment(trace)), trace
    judge(score, "dex", plain, runs)


def dotnet_(score, folder):
    mono = dotnet.mono_libraries() / "4.7.2-api"
    plain = fresh(folder / "plain")
    run([*dotnet.csc(), "-nologo", "-nostdlib", f"-r:{mono / 'mscorlib.dll'}", f"-r:{mono / 'System.dll'}",
         "-optimize", "-debug:portable", f"-out:{plain / 'app.exe'}", SOURCES / "dotnet/Counts.cs"])
    weave(folder, plain / "app.exe", lambda mode: fresh(folder / mode) / "app.exe")
    hosts = hooks.dotnet_hosts()
    config = '{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "10.0.0"}}}'
    for name, host in hosts.items():
        if name == "CoreCLR 10":
            for out in ("plain", *RULES):
                (folder / out / "app.runtimeconfig.json").write_text(config)
        unwoven, runs = run([*host, plain / "app.exe"]), {}
        for mode in RULES:
            trace = folder / f"{mode}.wtrace"
            runs[mode] = run([*host, folder / mode / "app.exe"], check=False, env=environment(trace)), trace
        judge(score, f"dotnet on {name}", unwoven, runs)


EVERY = {"java": java, "dex": dex, "dotnet": dotnet_}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, set(), "counts"))
