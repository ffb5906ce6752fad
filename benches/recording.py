#!/usr/bin/env python3
"""What recording costs a program of many tiny calls that is woven whole, by mode: CPU as a multiple of the unwoven run's.

    benches/recording.py [--only math|kafka]... [--modes MODE[,MODE..]] [--rounds N]

math: the test suite of commons-math 3.6.1; kafka: `org.apache.kafka.common.utils` of kafka-clients' tests. Modes: those of the rules'
`mode`, `tuned` (what `weave tune` makes of the recorded run), and `off` (no trace). The library and its tests are woven with each method that
has code, and run with the default settings. Goals: auto 1.5, tuned 1.2. With `aggregate` among the modes, the ten slowest methods (by total
time) of those behind it are compared with its own: it has all calls, while the ring keeps the last of those that are recorded. Methods whose calls
take less than 100 ns there on average are left out: that is little more than the hooks themselves take.
"""

import argparse
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "harness"))

import corpora
from lib import WORK, cpu, fresh, main, oldest_jdk, run, weave_binary
from suites import JUNIT

GOALS = {"auto": 1.5, "tuned": 1.2}
RULES = """version = 1
[[aspect]]
name = "whole"
match = {{ type = "**", kind = ["method", "constructor", "accessor", "bridge", "synthetic", "lambda"] }}
{mode}
"""
#: The artifacts, those of them that are woven, and which tests run.
PROGRAMS = {
    "math": (["org.apache.commons:commons-math3:3.6.1", "org.apache.commons:commons-math3:3.6.1:tests", "junit:junit:4.13.2",
              f"org.junit.vintage:junit-vintage-engine:{JUNIT}"],
             "commons-math3*", ["--select-package", "org.apache.commons.math3"]),
    "kafka": (["org.apache.kafka:kafka-clients:3.9.0", "org.apache.kafka:kafka-clients:3.9.0:test", "org.hamcrest:hamcrest:2.2",
               "com.fasterxml.jackson.core:jackson-databind:2.16.2", "com.fasterxml.jackson.datatype:jackson-datatype-jdk8:2.16.2",
               "org.bitbucket.b_c:jose4j:0.9.4", "org.slf4j:slf4j-nop:1.7.36", f"org.junit.jupiter:junit-jupiter:{JUNIT}",
               "org.mockito:mockito-core:5.14.2", "org.mockito:mockito-junit-jupiter:5.14.2"],
              "kafka-clients*", ["--select-package", "org.apache.kafka.common.utils"]),
}


def suite(jars, select, out, trace):
    """Seconds of CPU of a suite's run."""
    before = cpu()
    done = run([oldest_jdk() / "bin" / "java", "-Xmx2g", "-cp", ":".join(map(str, sorted(jars.glob("*.jar")))),
                "org.junit.platform.console.ConsoleLauncher", "execute", "--details=none", "--disable-banner", "--include-classname", ".*Test",
                "--reports-dir", fresh(out), *select], check=False, env={**os.environ, "WEAVE_TRACE": str(trace)}, cwd=out)
    told = [line.strip("[] ") for line in done.stdout.splitlines() if "tests successful" in line]
    return cpu() - before, told[0] if told else done.stdout[-500:] + done.stderr[-500:]


def slowest(trace, shortest=0):
    """The ten methods of the report that take the most time, of those whose calls take so many nanoseconds."""
    rows = json.loads(run([weave_binary(), "report", "--json", "--limit", "0", "--sort", "total", trace]).stdout)["methods"]
    return [row["label"] for row in rows if row["total_ns"] >= shortest * row["calls"]][:10]


def measure(name, modes, rounds, folder):
    coordinates, woven, select = PROGRAMS[name]
    plain = corpora.resolved(f"recording-{name}", [*coordinates, "org.junit.platform:junit-platform-console:1.10.2"], JUNIT)
    jars = {"unwoven": plain}

    def weave(mode, rules):
        (folder / f"{mode}.toml").write_text(rules)
        out = fresh(folder / mode)
        for jar in plain.glob("*.jar"):
            if jar.match(woven):
                run([weave_binary(), "-q", "--rules", folder / f"{mode}.toml", jar, out / jar.name])
            else:
                (out / jar.name).symlink_to(jar)
        jars[mode] = out

    for mode in modes:
        if mode != "tuned":
            weave(mode, RULES.format(mode="" if mode == "off" else f'mode = "{mode}"'))
    used, full = {}, None
    for turn in range(rounds):
        for mode in ["unwoven", *modes]:
            trace = folder / f"{mode}.wtrace"
            trace.unlink(missing_ok=True)
            if mode == "tuned" and mode not in jars:
                rules = folder / "tune.toml"
                rules.write_text(RULES.format(mode=""))
                run([weave_binary(), "tune", folder / "record.wtrace", "--write", rules])
                weave(mode, rules.read_text())
            seconds, told = suite(jars[mode], select, folder / "reports", "off" if mode in ("unwoven", "off") else trace)
            used.setdefault(mode, []).append(seconds)
            ratio = min(used[mode]) / min(used["unwoven"])
            goal = f" (goal {GOALS[mode]})" if mode in GOALS else ""
            print(f"{name}, {mode}: {seconds:.1f} s of CPU, {ratio:.2f} times{goal}; {told}", flush=True)
            if trace.exists():
                if mode == "aggregate":
                    full = slowest(trace, shortest=100)
                elif full:
                    missing = [method for method in full if method not in slowest(trace)]
                    print(f"{name}, {mode}: {10 - len(missing)} of the ten slowest methods of all calls; missing: {missing}", flush=True)


def body():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=PROGRAMS)
    parser.add_argument("--modes", default="off,record,aggregate,count,auto,tuned")
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    for name in args.only or PROGRAMS:
        measure(name, args.modes.split(","), args.rounds, fresh(WORK / f"recording-{name}"))
    return 0


if __name__ == "__main__":
    main(body)
