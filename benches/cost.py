#!/usr/bin/env python3
"""What weaving whole costs real programs on the JVM: CPU as a multiple of the unwoven program's, which runs in turns with the woven ones.

    benches/cost.py [--only h2|tiny]... [--modes MODE[,MODE..]] [--rounds N] [--busy N]

h2: the database H2, asked for a while by one thread, whose CPU time in the second half counts (steady). tiny: calls of a few nanoseconds,
whose whole run counts. Modes: `off` (woven as without rules, no trace), `level` (woven with levels, all of them off), `auto`, and `record`.
Each turn runs all of them on each JDK; what counts is the median of the turns. With --busy so many processes run beside, which do nothing
but take CPU, and all of it goes on one core. The web API of ASP.NET Core has a bench of its own, webapi.py. Its figures: docs/cost.md.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "harness"))

import corpora
from lib import WORK, fresh, judges, main, oldest_jdk, run, weave_binary

ASPECT = '[[aspect]]\nname = "whole"\nmatch = {{ type = "{types}", method = "*" }}\n'
#: Rules of a mode; `off` is woven as without rules.
MODES = {
    "off": None,
    "record": None,
    "auto": ASPECT + 'mode = "auto"\n',
    "level": ASPECT + 'level = "debug"\n',
}
GOALS = {"off": 1.05, "auto": 1.5}
#: Of each program the class that runs, its rounds, and which types are woven.
PROGRAMS = {"h2": ("Steady", "1500", "org.h2.**"), "tiny": ("Tiny", "6000", "Tiny**")}


def prepared(name, modes, folder):
    """The class path of the unwoven program and of each mode."""
    program, _, types = PROGRAMS[name]
    run([oldest_jdk() / "bin" / "javac", "-d", folder / "classes", ROOT / "benches" / "cost" / f"{program}.java"])
    own = folder / "program.jar"
    run([oldest_jdk() / "bin" / "jar", "cf", own, "-C", folder / "classes", "."])
    jar = next(corpora.resolved("cost-h2", ["com.h2database:h2:2.3.232"]).glob("h2-*.jar")) if name == "h2" else own
    paths = {"unwoven": [jar, own]}
    for mode in modes:
        rules = []
        if MODES[mode]:
            (folder / f"{mode}.toml").write_text("version = 1\n" + MODES[mode].format(types=types))
            rules = ["--rules", folder / f"{mode}.toml"]
        out = fresh(folder / mode) / "woven.jar"
        run([weave_binary(), "-q", *rules, jar, out])
        paths[mode] = [out, own]
    return paths


def measure(name, modes, rounds, busy, folder):
    program, length, _ = PROGRAMS[name]
    paths = prepared(name, modes, folder)
    used, told = {}, set()
    for _ in range(rounds):
        for version, home in judges().items():
            for mode, path in paths.items():
                trace = folder / f"{mode}.wtrace"
                trace.unlink(missing_ok=True)
                place = "off" if mode in ("unwoven", "off") else trace
                command = ["taskset", "-c", "0"] if busy else []
                done = run([*command, home / "bin" / "java", "-Xmx300m", "-XX:+UseSerialGC", f"-Dweave.trace={place}", "-Dweave.trace.limit=256m",
                            "-cp", ":".join(map(str, path)), program, length])
                ms, result = done.stdout.split()
                used.setdefault((version, mode), []).append(int(ms))
                told.add(result)
                all_ms = used[version, mode]
                ratio = statistics.median(all_ms) / statistics.median(used[version, "unwoven"])
                goal = f" (goal {GOALS[mode]})" if mode in GOALS else ""
                print(f"{name}, JDK {version}, {mode}: {ms} ms; median of {len(all_ms)} {ratio:.2f} times{goal}", flush=True)
    if len(told) > 1:
        print(f"FAIL {name}: the woven programs gave other results: {told}")
        return 1
    return 0


def body():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=PROGRAMS)
    parser.add_argument("--modes", default="off,level,auto")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--busy", type=int, default=0)
    args = parser.parse_args()
    beside = ["taskset", "-c", "0", sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(beside) for _ in range(args.busy)]
    try:
        return sum(measure(name, args.modes.split(","), args.rounds, args.busy, fresh(WORK / f"cost-{name}")) for name in args.only or PROGRAMS)
    finally:
        for other in others:
            other.kill()
            other.wait()


if __name__ == "__main__":
    main(body)
