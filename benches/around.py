#!/usr/bin/env python3
"""What hooks around all methods of a library cost: Jackson, with a hook that only proceeds, unwoven, woven, and by AspectJ, in one run.

    around.py [--rounds N] [--slices N]

Prints for each JDK how many classes a JVM loads more, the CPU time of a start (a JVM that writes and reads one object) and that of a slice
of work in a warm JVM, each as a ratio to unwoven. Rounds go through all of them, one after another; each figure is the least of its runs.
The goals: a start 1.2, a run 1.7.
"""

import argparse
import pathlib
import resource
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "harness"))
import corpora
from lib import ROOT, WORK, fresh, judges, main, oldest_jdk, run, weave_binary

SOURCES = ROOT / "benches" / "around"
JACKSON = [f"com.fasterxml.jackson.core:jackson-{part}:2.16.2" for part in ("core", "annotations", "databind")]
ASPECTJ = ["org.aspectj:aspectjtools:1.9.22.1", "org.aspectj:aspectjrt:1.9.22.1"]
RULES = """version = 1

[[library]]
path = "log.jar"
embed = false

[[aspect]]
name = "around"
match = { type = "com.fasterxml.jackson.**" }
around = "bench.Log.around(proceed?)"
"""


def made(folder):
    """The class paths of the ways."""
    jars, tools = corpora.maven(JACKSON), corpora.maven(ASPECTJ)
    bin = oldest_jdk() / "bin"
    classes, log = fresh(folder / "classes"), fresh(folder / "log")
    path = ":".join(map(str, jars))
    run([bin / "javac", "-g", "--release", "17", "-cp", path, "-d", classes, *SOURCES.glob("*.java")])
    (log / "bench").mkdir()
    shutil.move(classes / "bench" / "Log.class", log / "bench")
    run([bin / "jar", "cf", folder / "log.jar", "-C", log, "."])
    plain = fresh(folder / "plain")
    for jar in jars:
        shutil.copy(jar, plain)
    rules = folder / "weave.toml"
    rules.write_text(RULES)
    woven, aspectj = folder / "woven", fresh(folder / "aspectj")
    shutil.rmtree(woven, ignore_errors=True)
    run([weave_binary(), "-q", "--strict", "--rules", rules, plain, woven])
    ajc = ":".join(map(str, tools))
    run([bin / "java", "-cp", ajc, "org.aspectj.tools.ajc.Main", "-17", "-nowarn", "-proceedOnError", "-cp", f"{path}:{ajc}",
         "-inpath", path, "-d", aspectj, SOURCES / "Around.aj"], check=False)
    return {"unwoven": f"{plain}/*:{classes}", "woven": f"{woven}/*:{classes}:{folder / 'log.jar'}", "AspectJ": f"{aspectj}:{classes}:{tools[1]}"}


def once(home, path, slices):
    """How many classes it loaded, the CPU seconds of the process, and those of its slices."""
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = run([home / "bin" / "java", "-Xshare:auto", "-Dweave.trace=off", "-cp", path, "bench.Bench", slices]).stdout.splitlines()
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = [line.split() for line in lines]
    classes = next(int(n) for what, n in told if what == "classes")
    seconds = ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime
    return classes, seconds, [int(n) / 1e9 for what, n in told if what == "slice"]


def body():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--slices", type=int, default=40)
    options = parser.parse_args()
    ways = made(fresh(WORK / "around"))
    for version, home in judges().items():
        classes, starts, slices = {}, {way: [] for way in ways}, {way: [] for way in ways}
        for _ in range(options.rounds):
            for way, path in ways.items():
                classes[way], seconds, _ = once(home, path, 0)
                starts[way].append(seconds)
        for _ in range(max(1, options.rounds // 3)):
            for way, path in ways.items():
                slices[way] += once(home, path, options.slices)[2]
        start, slice = (min(of["unwoven"]) for of in (starts, slices))
        print(f"JDK {version}: unwoven {classes['unwoven']:,} classes, start {start:.2f} s of CPU, slice {slice * 1000:.0f} ms")
        for way in ways:
            if way != "unwoven":
                more = classes[way] - classes["unwoven"]
                print(f"    {way}: {more:,} classes more, start {min(starts[way]) / start:.2f} times, run {min(slices[way]) / slice:.2f} times", flush=True)
    return 0


if __name__ == "__main__":
    main(body)
