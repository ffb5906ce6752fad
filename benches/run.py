#!/usr/bin/env python3
"""Measures the weaver against its goals, both sides in one go, alternating; medians of several rounds.

    benches/run.py [--rounds N] [--only peer|floor|small|memory|linear|growth]...

peer: all of JDK 17, jar to jar, against ASM with as many threads: 8 times faster, no larger output
floor: within 1.25 of inflating, deflating what changed, and copying the same bytes
small: a jar of one class under 20 ms; memory: peak under the input's size + 200 MB
linear: time over three sizes; growth: class bytes, at most + 10 %, beside ASM's

What the hooks cost when they run is measured by runtime/java/bench.sh.
Rules: every method that ASM's side weaves (all but static initialisers). The weaver leaves those that hooks run on, 1.5 %.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "harness"))

import corpora
from lib import CORPORA, JOBS, WORK, Score, fresh, judges, main, oldest_jdk, run, weave_binary

RULES = """version = 1
[[aspect]]
name = "what ASM's side weaves"
match = { type = "**", min-size = 0, kind = ["method", "constructor", "accessor", "bridge", "synthetic", "lambda", "async"] }
"""


def timed(command, target):
    """Seconds of wall clock and the peak memory in MB of one run, which makes a file that is not there yet: deleting the
    old one would be no small part."""
    target.unlink(missing_ok=True)
    with open(os.devnull, "w") as nowhere:
        begun = time.perf_counter()
        child = subprocess.Popen([str(c) for c in command], stdout=nowhere, stderr=subprocess.PIPE)
        told = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begun
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"exit {child.returncode} of {command}: {told.decode()[-800:]}")
    return seconds, usage.ru_maxrss / 1024


def medians(rounds, **sides):
    """Runs the sides by turns; `{name: (median seconds, highest peak MB)}`."""
    found = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            found[name].append(side())
    return {n: (statistics.median(s for s, _ in f), max(m for _, m in f)) for n, f in found.items()}


def asm():
    """The class path of ASM 9 from Debian's libasm-java, or the Maven registry."""
    installed = [pathlib.Path("/usr/share/java") / f"asm{part}.jar" for part in ("", "-tree", "-analysis", "-commons")]
    if all(p.exists() for p in installed):
        return installed
    return corpora.maven([f"org.ow2.asm:asm{part}:9.8" for part in ("", "-tree", "-analysis", "-commons")])


def class_bytes(path):
    with zipfile.ZipFile(path) as jar:
        return sum(m.file_size for m in jar.infolist() if m.filename.endswith(".class") and "weave/runtime/" not in m.filename)


def part_of(source, target, share):
    """The first `share` of a jar's classes."""
    with zipfile.ZipFile(source) as jar, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        members = jar.infolist()
        for member in members[: int(len(members) * share)]:
            out.writestr(member, jar.read(member), zipfile.ZIP_DEFLATED)
    return target


def body():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument("--only", action="append", default=[], choices=["peer", "floor", "small", "memory", "linear", "growth"])
    args = args.parse_args()
    wanted = lambda name: not args.only or name in args.only
    folder, score, weave = fresh(WORK / "bench"), Score(), weave_binary()
    version, home = min(judges().items())
    CORPORA.mkdir(parents=True, exist_ok=True)
    jar = corpora.jdk_jar(version, home)
    rules = folder / "rules.toml"
    rules.write_text(RULES)
    woven, peer_out = folder / "weave.jar", folder / "asm.jar"
    class_path = os.pathsep.join(str(p) for p in [folder / "peer", *asm()])
    run([oldest_jdk() / "bin" / "javac", "-d", folder / "peer", "-cp", class_path, ROOT / "benches/peers/asm/AsmPeer.java"])

    def weaver(source=jar, target=woven):
        return lambda: timed([weave, "-q", "--jobs", JOBS, "--rules", rules, source, target], target)

    def peer():
        return timed([home / "bin" / "java", "-Xmx3g", "-cp", class_path, "AsmPeer", JOBS, jar, peer_out], peer_out)

    size = jar.stat().st_size / 1e6
    print(f"     {jar.name}: {size:.1f} MB, {JOBS} threads, {args.rounds} rounds", flush=True)
    if wanted("peer") or wanted("growth") or wanted("memory"):
        found = medians(args.rounds, weave=weaver(), asm=peer)
        mine, theirs = found["weave"], found["asm"]
        if wanted("peer"):
            ratio = theirs[0] / mine[0]
            score.check("8 times faster than ASM", ratio >= 8, f"{mine[0]:.3f} s against {theirs[0]:.3f} s: {ratio:.1f} times")
            sizes = woven.stat().st_size, peer_out.stat().st_size
            score.check("no larger output than ASM's", sizes[0] <= sizes[1], f"{sizes[0]} against {sizes[1]} bytes")
        if wanted("memory"):
            limit = jar.stat().st_size / 2**20 + 200
            score.check("peak memory under the input's size + 200 MB", mine[1] < limit, f"{mine[1]:.0f} of {limit:.0f} MB; ASM {theirs[1]:.0f} MB")
        if wanted("growth"):
            before = class_bytes(jar)
            grown = [100 * (class_bytes(p) / before - 1) for p in (woven, peer_out)]
            score.check("classes grow by at most 10 %", grown[0] <= 10, f"{grown[0]:.1f} %, ASM {grown[1]:.1f} %")
    if wanted("floor"):
        weaver()()
        built = run(["cargo", "bench", "--bench", "floor", "--no-run", "--message-format=json"], cwd=ROOT).stdout
        floor = next(m["executable"] for m in map(json.loads, built.splitlines()) if m.get("executable") and m["target"]["name"] == "floor")

        def below():
            # It prepares what it deflates before its clock starts, so its own time counts.
            (folder / "floor.out").unlink(missing_ok=True)
            done = run([floor, jar, woven, folder / "floor.out"], env={**os.environ, "RAYON_NUM_THREADS": str(JOBS)})
            return float(done.stdout), 0

        found = medians(args.rounds, weave=weaver(target=folder / "again.jar"), floor=below)
        ratio = found["weave"][0] / found["floor"][0]
        score.check("within 1.25 of inflating, deflating and copying", ratio <= 1.25, f"{found['weave'][0]:.3f} s against {found['floor'][0]:.3f} s: {ratio:.2f}")
    if wanted("small"):
        small = folder / "small.jar"
        with zipfile.ZipFile(jar) as source, zipfile.ZipFile(small, "w", zipfile.ZIP_DEFLATED) as out:
            out.writestr("java/util/Optional.class", source.read("java.base/java/util/Optional.class"))
        found = medians(20, weave=weaver(small, folder / "small-out.jar"))
        score.check("a small jar in under 20 ms", found["weave"][0] < 0.020, f"{1000 * found['weave'][0]:.1f} ms")
    if wanted("linear"):
        speeds = []
        for share in (0.25, 0.5, 1):
            source = part_of(jar, folder / f"part-{share}.jar", share)
            megabytes = source.stat().st_size / 1e6
            seconds, _ = medians(args.rounds, weave=weaver(source, folder / "part-out.jar"))["weave"]
            speeds.append(megabytes / seconds)
            print(f"     {megabytes:.1f} MB in {seconds:.3f} s: {speeds[-1]:.1f} MB/s", flush=True)
        score.check("time grows as the input does", max(speeds) / min(speeds) < 1.35, f"{min(speeds):.1f} to {max(speeds):.1f} MB/s")
    return score.finish("benches")


if __name__ == "__main__":
    main(body)
