#!/usr/bin/env python3
"""A web API of ASP.NET Core, published self-contained and woven whole with its framework: answers a second, by mode, as a part of the
unwoven program's.

    benches/webapi.py [--modes MODE[,MODE..]] [--seconds N] [--connections N] [--rounds N]

Each round runs the unwoven program and all modes in turns; what is printed last is the median of the rounds. Modes: those of the rules' `mode`;
`off` (no trace); `within` (`auto` with `overhead = "5%"`); `level` (woven with levels, all off while a trace is written); `own`: `auto`, but the
application's own types are summed up whatever that takes. Printed are the rate in the first ten seconds, in the rest and in the last ten; the CPU
of an answer, the first ones included, which says more on a busy machine; how long the endpoint takes by its own stopwatch; which methods the
report has on top; and the places of the application's own methods in it, by total and by own time.
Goals of auto: at least 0.7 in the last ten seconds, 0.4 from the tenth to the sixtieth. Goals of own: of each of the endpoint's calls the time is known,
the mean is near that of the stopwatch, and by own time the endpoint is the first of the application. The client runs on the same machine.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = ROOT / "benches" / "webapi"
sys.path.insert(0, str(ROOT / "tests" / "harness"))

import sdk
from lib import CACHE, WORK, fresh, judges, main, run, weave_binary

RULES = """version = 1
[[aspect]]
name = "whole"
match = {{ type = "**", kind = ["method", "constructor", "accessor", "bridge", "synthetic", "lambda", "async"] }}
{mode}
"""
# What is to stay known, however often it is called.
OWN = """exclude = { type = "Forecast*" }
[[aspect]]
name = "application"
match = { type = "Forecast*" }
mode = "aggregate"
"""
#: What the rules say in modes that are not just that word.
SAYS = {
    "off": "",
    "level": 'level = "debug"',
    "own": f'mode = "auto"\n{OWN}',
    "within": 'mode = "auto"\noverhead = "5%"',
}


def cpu(process):
    """The CPU that a process has taken, in seconds."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rates(program, environment, connections, seconds, folder):
    """The answers of each second, the CPU of all of them, in seconds, and what the program printed."""
    load = fresh(folder / "load")
    home = judges()[max(judges())]
    run([home / "bin" / "javac", "-d", load, SOURCES / "Load.java"])
    served = subprocess.Popen([program, "--urls", "http://127.0.0.1:0"], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        first = served.stdout.readline()
        port = first.strip().rsplit(":", 1)[1]
        before = cpu(served)
        told = run([home / "bin" / "java", "-XX:TieredStopAtLevel=1", "-cp", load, "Load", port, "/forecasts", connections, seconds]).stdout
        used = cpu(served) - before
    finally:
        served.send_signal(signal.SIGTERM)
        served.wait(60)
    return [int(line) for line in told.split()], used, served.stdout.read().strip()


def places(methods):
    """The endpoint and the application's methods that it calls, and where they stand among all methods and among the application's."""
    orders = {by: sorted(methods, key=lambda row: -(row[f"{by}_ns"] or 0)) for by in ("total", "self")}
    own = [row for row in orders["total"] if row["artifact"] == "Webapi.dll" and row["type"].startswith("Forecast")]
    for row in own:
        at = {by: ([r["label"] for r in all_].index(row["label"]) + 1, [r["label"] for r in all_ if r["artifact"] == "Webapi.dll"].index(row["label"]) + 1)
              for by, all_ in orders.items()}
        timed = row["calls"] - (row.get("counted") or 0)
        mean = f"{row['total_ns'] / timed:,.0f} ns" if timed else "unknown"
        where = ", ".join(f"{by} {all_} ({among} of the application)" for by, (all_, among) in at.items())
        yield f"     {row['label']}: {where}; {row['calls']:,} calls, {timed:,} with a time, mean {mean}"


def prepared(modes, found, environment, folder):
    """Publishes the program and weaves it as each mode says."""
    shutil.copytree(SOURCES, folder / "project")
    (folder / "nuget.config").write_text(found.config())
    run([found.dotnet, "publish", folder / "project" / "Webapi.csproj", "-c", "Release", "-r", "linux-x64", "--self-contained", "-o",
         folder / "unwoven"], env=environment)
    for mode in modes:
        rules = folder / f"{mode}.toml"
        rules.write_text(RULES.format(mode=SAYS.get(mode, f'mode = "{mode}"')))
        told = run([weave_binary(), "--rules", rules, folder / "unwoven", folder / mode]).stderr.splitlines()
        print(*told[-1:])
        shutil.copymode(folder / "unwoven" / "Webapi", folder / mode / "Webapi")


def measure(modes, rounds, seconds, connections):
    found, folder = sdk.find(), fresh(WORK / "webapi")
    environment = found.environment(CACHE / "nuget")
    prepared(modes, found, environment, folder)
    means = {}
    for _ in range(rounds):
        for mode in ("unwoven", *modes):
            trace, env = folder / f"{mode}.wtrace", {**environment}
            trace.unlink(missing_ok=True)
            if mode != "unwoven":
                env["WEAVE_TRACE"] = "off" if mode == "off" else str(trace)
            all_, used, watched = rates(folder / mode / "Webapi", env, connections, seconds, folder)
            for part, of in {"first ten seconds": all_[:10], "then": all_[10:], "last ten": all_[-10:]}.items():
                means.setdefault((mode, part), []).append(sum(of) / max(1, len(of)))
                ratio = statistics.median(means[mode, part]) / statistics.median(means["unwoven", part])
                print(f"webapi, CoreCLR 10, {mode}, {part}: {means[mode, part][-1]:,.0f} a second; median of {len(means[mode, part])} {ratio:.2f} times", flush=True)
            means.setdefault((mode, "CPU"), []).append(used / max(1, sum(all_)))
            ratio = statistics.median(means[mode, "CPU"]) / statistics.median(means["unwoven", "CPU"])
            print(f"webapi, CoreCLR 10, {mode}, CPU: {1e6 * means[mode, 'CPU'][-1]:.1f} µs an answer; median of {len(means[mode, 'CPU'])} {ratio:.2f} times")
            print(f"     {watched}", flush=True)
            if trace.exists():
                rows = json.loads(run([weave_binary(), "report", "--json", "--sort", "total", trace]).stdout)["methods"]
                print(*(f"     {row['label']}" for row in rows[:10]), *places(rows), sep="\n", flush=True)
    return 0


def body():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", default="off,record,auto")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    return measure(args.modes.split(","), args.rounds, args.seconds, args.connections)


if __name__ == "__main__":
    main(body)
