#!/usr/bin/env python3
"""Recorded values: the same rules on the same program in Java, in dex and in C# record the same values.

    values.py [--only NAME]...

Names: java, dex, dotnet. The program is in tests/programs/values, with the values that all of them record. Traces are read by the reader
that was written from the format page alone (runtime/dotnet/test/reader.py). Java runs on the oldest and the newest JDK, there with virtual
threads as well; dex files are made by dx, woven, and made a jar again by enjarify; C# runs on CoreCLR 8, Mono and CoreCLR 10.
"""

import csv
import json
import os
import sys
from collections import Counter

import check_dex
import check_trace
import corpora
import dotnet
import hooks
from lib import ROOT, fresh, judges, main, oldest_jdk, run, weave_binary

sys.path.insert(0, str(ROOT / "runtime/dotnet/test"))
import reader

SOURCES = ROOT / "tests" / "programs" / "values"
RULES = SOURCES / "rules.toml"
#: What Java calls it, by what C# does.
JAVA = {".ctor": "<init>", "ToString": "toString"}
VIRTUAL = 300


def environment(trace):
    trace.unlink(missing_ok=True)
    return {**os.environ, "WEAVE_TRACE": str(trace)}


def shown(trace):
    """The calls of a trace with their values, thread by thread: a line when one begins, a line when it ends."""
    trace = reader.Trace(trace)
    names = reader.Names(trace.symbols())
    lines = []
    for _, thread in sorted(trace.threads.items()):
        for event, recorded in thread.valued():
            what = {reader.ENTER: "enter", reader.EXIT: "exit", reader.ERROR: "error"}.get(event.kind, event.kind)
            values = names.values.get(event.id, [])
            name = names.methods[event.id]
            marks = [f"{values[v.number]}={v.value}{' cut' * v.cut}{' masked' * v.masked}" for v in recorded]
            lines.append(" ".join([what, JAVA.get(name, name), *marks]).replace("Values+Order.ToString", "Values$Order.toString"))
    assert names.versions == {2}, names.versions
    return lines


def compare(score, name, done, plain, trace):
    score.check(f"{name}: the same output", done.returncode == 0 and done.stdout == plain.stdout, done.stderr[-1500:])
    ours = shown(trace)
    expected = (SOURCES / "expected.txt").read_text().splitlines()
    score.check(f"{name}: the same values", ours == expected, f"{len(ours)} lines")
    exported(score, name, trace)
    if ours != expected:
        first = next((i for i, (a, b) in enumerate(zip(ours, expected)) if a != b), min(len(ours), len(expected)))
        print(f"from line {first + 1} on:\n" + "\n".join(ours[first:first + 4]) + "\nexpected:\n" + "\n".join(expected[first:first + 4]))


def exported(score, name, trace):
    """What `weave export` says of the calls' values, by another reader of traces."""
    table, wanted, found = trace.with_suffix(".csv"), Counter(), Counter()
    run([weave_binary(), "export", "-q", trace, "--to", "csv", "-o", table])
    for (_, values), n in check_trace.read(trace, named=False).values.items():
        wanted[values] += n
    with table.open(newline="") as file:
        found.update(json.dumps(json.loads(row["values"])) for row in csv.DictReader(file) if row["values"] and row["kind"] != "logical")
    score.check(f"{name}: the same values in a table", found == wanted and bool(found), f"{sum(found.values())} of {sum(wanted.values())} calls")


def classes(folder):
    out = fresh(folder / "classes")
    run([oldest_jdk() / "bin/javac", "-g", "--release", "8", "-Xlint:-options", "-encoding", "UTF-8", "-d", out, SOURCES / "java/app/Values.java"])
    jar = folder / "app.jar"
    run([oldest_jdk() / "bin/jar", "cf", jar, "-C", out, "."])
    return jar


def java(score, folder):
    app, woven, trace = classes(folder), folder / "woven.jar", folder / "run.wtrace"
    run([weave_binary(), "-q", "--strict", "--rules", RULES, app, woven])
    for version, home in judges().items():
        start = [home / "bin/java", "-Xverify:all", "-Dfile.encoding=UTF-8", "-cp"]
        plain = run([*start, app, "app.Values"])
        done = run([*start, woven, "app.Values"], check=False, env=environment(trace))
        compare(score, f"java on {version}", done, plain, trace)
        if int(str(version).split(".")[0]) >= 21:
            run([*start, woven, "app.Values", str(VIRTUAL)], env=environment(trace))
            threads = {}
            for line in shown(trace):
                what, _, *values = line.split(" ", 2)
                threads.setdefault(values[0] if values else "", []).append(what)
            wanted = {f"s='virtual {i}' times=1": ["enter"] * 20 for i in range(VIRTUAL)}
            wanted.update({f"result='virtual {i}'": ["exit"] * 20 for i in range(VIRTUAL)})
            score.check(f"java on {version}: {VIRTUAL} virtual threads", threads == wanted, f"{len(threads)} of {len(wanted)}")


def dex(score, folder):
    app, trace = classes(folder), folder / "run.wtrace"
    java = oldest_jdk() / "bin/java"
    check_dex.to_dex(app, folder / "app.dex")
    woven = folder / "woven.dex"
    run([weave_binary(), "-q", "--strict", "--rules", RULES, folder / "app.dex", woven])
    path = check_dex.class_path(score, "dex", woven)
    plain = run([java, "-cp", app, "app.Values"])
    done = run([java, "-Xverify:all", "-cp", path, "app.Values"], check=False, env=environment(trace))
    compare(score, "dex", done, plain, trace)


def dotnet_(score, folder):
    mono = dotnet.mono_libraries()
    plain, woven, trace = fresh(folder / "plain"), fresh(folder / "woven"), folder / "run.wtrace"
    run([*dotnet.csc(), "-nologo", "-nostdlib", f"-r:{mono / '4.7.2-api' / 'mscorlib.dll'}", f"-r:{mono / '4.7.2-api' / 'System.dll'}",
         "-optimize", "-debug:portable", f"-out:{plain / 'app.exe'}", SOURCES / "dotnet/Values.cs"])
    run([weave_binary(), "-q", "--strict", "--rules", RULES, plain / "app.exe", woven / "app.exe"])
    hosts = {"CoreCLR 8": dotnet.host("core8"), "Mono": ["mono"]}
    if host := hooks.net10():
        hosts["CoreCLR 10"] = [*host, "exec"]
        config = '{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "10.0.0"}}}'
    for name, host in hosts.items():
        if name == "CoreCLR 10":
            for out in (plain, woven):
                (out / "app.runtimeconfig.json").write_text(config)
        unwoven = run([*host, plain / "app.exe"])
        done = run([*host, woven / "app.exe"], check=False, env=environment(trace))
        compare(score, f"dotnet on {name}", done, unwoven, trace)


EVERY = {"java": java, "dex": dex, "dotnet": dotnet_}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, set(), "values"))
