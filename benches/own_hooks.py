#!/usr/bin/env python3
"""What an own hook costs: two arguments at the start, the result at the end, beside the same calls by hand, Byte Buddy's advice and
AspectJ's, in one run; and a hook around that only proceeds, beside a lambda by hand, Byte Buddy's delegation and AspectJ's.

    own_hooks.py [--slices N]

Each way has a copy of one class. Calls are timed in turns, in short slices, so that the least of them ran undisturbed. The goal: at most 2 ns
beyond the calls by hand, 10 with the flag against recursion.
"""

import argparse
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "harness"))
import corpora
from lib import ROOT, WORK, fresh, judges, main, oldest_jdk, run, weave_binary

SOURCES = ROOT / "benches" / "own"
BYTE_BUDDY = "net.bytebuddy:byte-buddy:1.15.11"
ASPECTJ = ["org.aspectj:aspectjtools:1.9.22.1", "org.aspectj:aspectjrt:1.9.22.1"]
COPIES = ["Woven", "Flagged", "Bare", "ByteBuddyInlined", "ByteBuddyDelegated", "AspectJ", "WovenAround", "ByteBuddyAround", "AspectJAround"]
WAYS = {"plain": "Work", "byHand": "ByHand", "woven": "Woven", "flagged": "Flagged", "bare": "Bare", "inlined": "ByteBuddyInlined",
        "delegated": "ByteBuddyDelegated", "aspectj": "AspectJ", "aroundByHand": "AroundByHand", "wovenAround": "WovenAround",
        "buddyAround": "ByteBuddyAround", "aspectjAround": "AspectJAround"}
LOOP = """
    private static final {ty} {name} = new {ty}();

    private static int {way}() {{
        int sum = 0;
        for (int i = 0; i < CALLS; i++) {{
            sum += {name}.work(i, "text");
        }}
        return sum;
    }}
"""
RULES = """version = 1

[[library]]
path = "log.jar"
embed = false

[[aspect]]
name = "guarded"
match = {{ type = "bench.Woven", method = "work" }}
enter = "bench.Log.begin(n, text)"
exit = "bench.Log.end(result)"

[[aspect]]
name = "flagged"
match = {{ type = "bench.Flagged", method = "work" }}
enter = "bench.Log.beginFlagged(n, text)"
exit = "bench.Log.end(result)"

[[aspect]]
name = "bare"
match = {{ type = "bench.Bare", method = "work" }}
enter = "bench.Log.begin(n, text)"
exit = "bench.Log.end(result)"
guard = false

[[aspect]]
name = "around"
match = {{ type = "bench.WovenAround", method = "work" }}
around = "bench.Log.around(proceed)"
"""


def body():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slices", type=int, default=3000)
    slices = parser.parse_args().slices
    folder = fresh(WORK / "own-hooks")
    sources, classes = fresh(folder / "src"), fresh(folder / "classes")
    work = (SOURCES / "Work.java").read_text()
    for name in ("Work", "Log", "ByHand", "AroundByHand", "Peers"):
        shutil.copy(SOURCES / f"{name}.java", sources)
    for name in COPIES:
        (sources / f"{name}.java").write_text(re.sub(r"\bWork\b", name, work))
    loops = "".join(LOOP.format(ty=ty, name=f"{way.upper()}", way=way) for way, ty in WAYS.items())
    (sources / "Bench.java").write_text((SOURCES / "Bench.java").read_text().replace("    // LOOPS\n", loops.strip("\n") + "\n"))
    (buddy,), aspectj = corpora.maven([BYTE_BUDDY]), corpora.maven(ASPECTJ)
    bin = oldest_jdk() / "bin"
    run([bin / "javac", "-g", "--release", "17", "-cp", buddy, "-d", classes, *sources.glob("*.java")])
    run([bin / "jar", "cf", folder / "log.jar", "-C", classes, "bench/Log.class"])
    # Byte Buddy and AspectJ change their own copies; what weave changes comes out beside.
    run([bin / "java", "-cp", f"{classes}:{buddy}", "bench.Peers", classes])
    one = fresh(folder / "aspectj")
    path = ":".join(map(str, aspectj))
    alone = fresh(folder / "alone")
    (alone / "bench").mkdir()
    for name in ("AspectJ", "AspectJAround"):
        shutil.move(classes / "bench" / f"{name}.class", alone / "bench")
    run([bin / "java", "-cp", path, "org.aspectj.tools.ajc.Main", "-17", "-proceedOnError", "-cp", f"{classes}:{path}", "-inpath", alone, "-d", one,
         SOURCES / "Aspect.aj"])
    shutil.copytree(one, classes, dirs_exist_ok=True)
    rules = folder / "weave.toml"
    rules.write_text(RULES.format())
    woven = folder / "woven"
    run([weave_binary(), "-q", "--strict", "--rules", rules, classes, woven])
    for home in judges().values():
        print(run([home / "bin" / "java", "-Dweave.trace=off", "-cp", f"{woven}:{path}", "bench.Bench", slices]).stdout, end="", flush=True)
    return 0


if __name__ == "__main__":
    main(body)
