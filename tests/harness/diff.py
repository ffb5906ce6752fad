#!/usr/bin/env python3
"""`weave diff` over twenty runs a side of a real program on the JVM: equal, with one method that does more in each call, and with
one that does much more.

    diff.py [PERCENT [PERCENT]]      how much more "much" is: 1,000 by default, far beyond what a busy machine does to a run; and how
                                     much "more" is: 100 by default. Five percent are found on a machine that is the same for both
                                     sides; cargo's tests show that by simulation

The runs of all sides take turns, so that what happens to the machine meanwhile happens to both. The JVM interprets: when its
compiler is done with a method depends on what the others do.
"""

import json
import os
import random
import sys

from lib import WORK, Score, fresh, main, oldest_jdk, run, weave_binary

SOURCE = """
public class Work {
    static long parse(long seed) { for (int i = 0; i < 900; i++) seed = seed * 31 + (seed >>> 7); return seed; }
    static long price(long seed, int more) {
        for (int i = 0; i < 1_000; i++) seed = seed * 33 + (seed >>> 5);
        for (int i = 0; i < more; i++) seed = seed * 33 + (seed >>> 5);
        return seed;
    }
    static long store(long seed) { for (int i = 0; i < 600; i++) seed = seed * 37 + (seed >>> 3); return seed; }
    static long refund(long seed) { for (int i = 0; i < 600; i++) seed = seed * 41 + (seed >>> 3); return seed; }
    public static void main(String[] a) {
        long sum = 1;
        for (int i = 0; i < CALLS; i++) {
            sum = price(parse(sum), Integer.parseInt(a[0]));
            sum = a.length > 1 ? refund(sum) : store(sum);
        }
        System.out.println(sum == 0 ? "zero" : "done");
    }
}"""
RUNS = 20
LOOPS = 1_000
SPLITS = 25
CALLS = 3_000
# One false alarm in a thousand runs of this test, where the machine favours no side.
LEVEL = "0.001"


def diff(*arguments):
    return run([weave_binary(), "diff", *arguments], check=False)


def methods(told):
    return {m["method"]: m for m in told["methods"]}


def body():
    score, folder, home = Score(), fresh(WORK / "diff"), oldest_jdk()
    (folder / "Work.java").write_text(SOURCE.replace("CALLS", str(CALLS)))
    run([home / "bin" / "javac", "-d", folder / "classes", folder / "Work.java"])
    run([home / "bin" / "jar", "cfe", folder / "work.jar", "Work", "-C", folder / "classes", "."])
    run([weave_binary(), "-q", folder / "work.jar", folder / "woven.jar"])
    much, more = (int(LOOPS * float(percent) / 100) for percent in (sys.argv[1:] + ["1000", "100"][len(sys.argv) - 1 :]))

    def go(side, number, *arguments):
        trace = folder / side / f"{number}.wtrace"
        trace.parent.mkdir(exist_ok=True)
        run([home / "bin" / "java", "-Xint", "-jar", folder / "woven.jar", *arguments], env={**os.environ, "WEAVE_TRACE": str(trace)})

    sides = [("before", 0), ("more", more), ("equal", 0), ("slower", much)]
    for number in range(RUNS):
        for side, loops in sides if number % 2 else reversed(sides):
            go(side, number, loops)
    go("other", 0, 0, "refund")
    before = folder / "before"

    done = diff(before, folder / "equal", "--level", LEVEL, "--format", "json", "--fail-on", "self>+0%", "--fail-on", "calls>+0")
    told = json.loads(done.stdout)
    differ = [m["label"] for m in told["methods"] if m["differs"]]
    least = min(m["p"] for m in told["methods"] if m["p"] is not None)
    score.check("equal programs do not differ", not differ and told["test"]["enough_runs"], f"{differ} least p {least:.3g}")
    broken = [one for limit in told["limits"] for one in limit["broken"]]
    score.check("equal programs break no limit", done.returncode == 0 and not broken, str(broken))
    calls = {name: (m["before"]["calls"], m["after"]["calls"]) for name, m in methods(told).items()}
    score.check("calls are counted a run", calls == {"main": (1, 1)} | {name: (CALLS, CALLS) for name in ("parse", "price", "store")}, str(calls))

    equal = sorted(before.iterdir()) + sorted((folder / "equal").iterdir())
    chance, wrong = random.Random(7), []
    for _ in range(SPLITS):
        chance.shuffle(equal)
        told = json.loads(diff("--before", *equal[:RUNS], "--after", *equal[RUNS:], "--level", LEVEL, "--format", "json").stdout)
        wrong += [[m["method"] for m in told["methods"] if m["differs"]]]
    # By chance one split of a thousand differs at this level: one of these in forty runs, three in a million.
    wrong = [split for split in wrong if split]
    score.check(f"chance alone differs in random splits of {2 * RUNS} equal runs", len(wrong) < 3, f"{len(wrong)} of {SPLITS}: {wrong}")

    least_more = more * 100 / LOOPS * 0.6
    done = diff(before, folder / "more", "--level", LEVEL, "--format", "json", "--fail-on", f"p50>+{least_more:g}%")
    told = json.loads(done.stdout)
    differ = [m["method"] for m in told["methods"] if m["differs"]]
    tests = methods(told)["price"]["tests"]
    least = min(told["methods"], key=lambda m: m["tests"].get("p50", 1))["method"]
    # Others may differ as well: what runs before it changes how well a processor guesses the branches of a method.
    score.check("more in each call of one method is found by its median", "price" in differ and least == "price" and tests["p50"] <= float(LEVEL) and told["test"]["pairs"] == RUNS, f"{differ} {({name: f'{p:.2g}' for name, p in tests.items()})}")
    broken = {one["label"].split(".")[-1].split("(")[0] for limit in told["limits"] for one in limit["broken"]}
    # `main` is around it.
    score.check(f"p50>+{least_more:g}% fails on it", done.returncode == 1 and "price" in broken and broken <= {"price", "main"}, str(broken))

    flame = folder / "slower.svg"
    done = diff(before, folder / "slower", "--level", LEVEL, "--format", "json", "--fail-on", "self>+50%", "--flame", flame)
    told = json.loads(done.stdout)
    differ = [m["method"] for m in told["methods"] if m["differs"]]
    price = methods(told)["price"]
    score.check("the method that does more is named, before all others", "price" in differ and told["methods"][0] is price, f"{differ} {price['self_change_percent']:+.1f}%, p {price['p']:.3g}")
    broken = {one["label"].split(".")[-1].split("(")[0] for limit in told["limits"] for one in limit["broken"]}
    # What is around the method may become slower with it: HotSpot compiles beside it.
    score.check("its limit is broken", done.returncode == 1 and "price" in broken and broken <= {"price", "main", "all methods"}, str(broken))
    score.check("the differential flame graph has it", "Work.price" in flame.read_text())
    text = diff(before, folder / "slower", "--level", LEVEL).stdout
    score.check("the table says so", f" at level {LEVEL}" in text and [l for l in text.splitlines() if "Work.price" in l][0].count("*") == 1, text.splitlines()[2])
    text = diff(before, folder / "slower", "--level", LEVEL, "--format", "markdown").stdout
    score.check("so does Markdown", "**Work.price(long, int)**" in text and "| method |" in text)
    one = diff(next(before.iterdir()), next((folder / "slower").iterdir()))
    score.check("one run a side is not tested", one.returncode == 0 and "no test of significance" in one.stdout)

    told = methods(json.loads(diff(before, folder / "other", "--format", "json").stdout))
    score.check("what is new and what is gone", told["refund"]["before"] is None and told["store"]["after"] is None and told["parse"]["before"] is not None)
    return score.finish("weave diff")


if __name__ == "__main__":
    main(body)
