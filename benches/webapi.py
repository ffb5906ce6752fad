#!/usr/bin/env python3
"""A web API of ASP.NET Core, published self-contained and woven whole with its framework: answers a second, by mode, as a part of the
unwoven program's.

    benches/webapi.py [--modes MODE[,MODE..]] [--seconds N] [--connections N]

Modes: those of the rules' `mode`, and `off` (no trace). Printed are the rate in the first ten seconds, in the rest and in the last ten; and which
methods the report has on top. Goals: auto at least 0.7 in the last ten seconds, and 0.4 in the first minute. The client runs on the same machine.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
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


def rates(program, environment, connections, seconds, folder):
    """The answers of each second, and what the program printed."""
    load = fresh(folder / "load")
    home = judges()[max(judges())]
    run([home / "bin" / "javac", "-d", load, SOURCES / "Load.java"])
    served = subprocess.Popen([program, "--urls", "http://127.0.0.1:0"], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        first = served.stdout.readline()
        port = first.strip().rsplit(":", 1)[1]
        told = run([home / "bin" / "java", "-XX:TieredStopAtLevel=1", "-cp", load, "Load", port, "/forecasts", connections, seconds]).stdout
        return [int(line) for line in told.split()]
    finally:
        served.send_signal(signal.SIGTERM)
        served.wait(60)


def body():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", default="off,record,auto")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--connections", type=int, default=16)
    args = parser.parse_args()
    found, folder = sdk.find(), fresh(WORK / "webapi")
    shutil.copytree(SOURCES, folder / "project")
    (folder / "nuget.config").write_text(found.config())
    environment = found.environment(CACHE / "nuget")
    run([found.dotnet, "publish", folder / "project" / "Webapi.csproj", "-c", "Release", "-r", "linux-x64", "--self-contained", "-o",
         folder / "unwoven"], env=environment)
    usual = None
    for mode in ["unwoven", *args.modes.split(",")]:
        trace, env = folder / f"{mode}.wtrace", {**environment}
        if mode != "unwoven":
            rules = folder / f"{mode}.toml"
            rules.write_text(RULES.format(mode="" if mode == "off" else f'mode = "{mode}"'))
            told = run([weave_binary(), "--rules", rules, folder / "unwoven", folder / mode]).stderr.splitlines()
            print(*told[-1:])
            shutil.copymode(folder / "unwoven" / "Webapi", folder / mode / "Webapi")
            env["WEAVE_TRACE"] = "off" if mode == "off" else str(trace)
        all_ = rates(folder / mode / "Webapi", env, args.connections, args.seconds, folder)
        parts = {"first ten seconds": all_[:10], "then": all_[10:], "last ten": all_[-10:]}
        means = {name: sum(part) / max(1, len(part)) for name, part in parts.items()}
        usual = usual or means
        print(f"{mode}: " + ", ".join(f"{name} {mean:,.0f} a second ({mean / usual[name]:.2f})" for name, mean in means.items()), flush=True)
        if trace.exists():
            rows = json.loads(run([weave_binary(), "report", "--json", "--limit", "10", "--sort", "total", trace]).stdout)["methods"]
            print(*(f"     {row['method']}" for row in rows), sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    main(body)
