#!/usr/bin/env python3
"""Measures the weaver against its goals, both sides in one go, alternating; medians of several rounds.

    benches/run.py [--rounds N] [--only peer|floor|small|memory|linear|growth|assembly|dex]...

peer: all of JDK 17, jar to jar, against ASM with as many threads: 6 times faster, no larger classes
floor: within 1.25 of inflating, deflating what changed, and copying the same bytes
small: a jar of one class under 20 ms; memory: peak under the input's size + 200 MB
assembly: Microsoft.CodeAnalysis.CSharp.dll on all threads against Mono.Cecil on Mono or CoreCLR 8.0, whichever is faster: 32 times;
    against reading, hashing (XXH3 on both sides) and writing the same bytes: at most 5; peak memory under 4 times the file
dex: a dex file of 10.8 MB, every method with three hooks, through the command: 45 times faster than a program with dexlib2, which
    adds one; within 8 times of reading, checksumming and writing the same bytes, which the bench's own process does; growth at
    most 12 %. On all cores; one is told beside it
linear: time over three sizes; growth: class bytes, at most + 10 %, beside ASM's

A peer's time is that of its whole process: a virtual machine starts and its JIT warms up in it, as in a build that runs
the peer once. ASM's side weaves on as many threads as ours, but packs the jar on one, as the JDK's ZipOutputStream does; ours packs
on all. Mono.Cecil has one thread, so the ratio of the weaver's one thread stands beside. What misses a goal is FAILED.

What the hooks cost when they run is measured by runtime/java/bench.sh.
Rules: every method that ASM's side weaves (all but static initialisers). The weaver leaves those that hooks run on, 1.5 %.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tarfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "harness"))

import corpora
import dotnet
from lib import CORPORA, JOBS, WORK, Missing, Score, fresh, judges, main, oldest_jdk, run, weave_binary

RULES = """version = 1
[[aspect]]
name = "what ASM's side weaves"
match = { type = "**", min-size = 0, kind = ["method", "constructor", "accessor", "bridge", "synthetic", "lambda", "async"] }
"""


def timed(command, target, skipped=0, counted=1):
    """Seconds of wall clock and the peak memory in MB of each run that counts, which makes a file that is not there yet.
    Runs that are `skipped` come first: what takes milliseconds would pay for the memory and the caches that another side
    has left."""
    measure = [sys.executable, "-I", "-S", ROOT / "benches" / "measure.py", skipped, counted, target]
    done = subprocess.run([str(c) for c in [*measure, *command]], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"exit {done.returncode} of {command}: {done.stderr[-800:]}")
    runs = [line.split() for line in done.stdout.splitlines()]
    return [(float(seconds), int(peak) / 1024) for seconds, peak in runs]


def medians(rounds, **sides):
    """Runs the sides by turns; `{name: (median seconds, highest peak MB)}`. A side gives what it measured in its turn."""
    found = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            found[name] += side()
    return {n: (statistics.median(s for s, _ in f), max(m for _, m in f)) for n, f in found.items()}


def asm():
    """The class path of ASM 9 from Debian's libasm-java, or the Maven registry."""
    installed = [pathlib.Path("/usr/share/java") / f"asm{part}.jar" for part in ("", "-tree", "-analysis", "-commons")]
    if all(p.exists() for p in installed):
        return installed
    return corpora.maven([f"org.ow2.asm:asm{part}:9.8" for part in ("", "-tree", "-analysis", "-commons")])


def dex_file():
    """The first dex of the apk in the npm package appium-uiautomator2-server."""
    folder = CORPORA / "dex"
    dex = folder / "classes.dex"
    if not dex.exists():
        folder.mkdir(parents=True, exist_ok=True)
        run(["npm", "pack", "--silent", "appium-uiautomator2-server@10.6.6"], cwd=folder)
        with tarfile.open(next(folder.glob("*.tgz"))) as package:
            name = next(n for n in package.getnames() if n.endswith("-v10.6.6.apk"))
            with zipfile.ZipFile(package.extractfile(name)) as apk:
                dex.write_bytes(apk.read("classes.dex"))
    return dex


def dex(score, folder, rounds):
    """A dex file through the command, against a program with dexlib2 (Debian's libsmali-java), both as whole processes, and
    against the floor under the backend."""
    source, home = dex_file(), oldest_jdk()
    built = run(["cargo", "bench", "--profile", "release", "--bench", "dex", "--no-run", "--message-format=json"], cwd=ROOT).stdout
    bench = next(m["executable"] for m in map(json.loads, built.splitlines()) if m.get("executable") and m["target"]["name"] == "dex")
    jars = [pathlib.Path("/usr/share/java") / f"{name}.jar" for name in ("dexlib2", "guava", "jsr305")]
    class_path = os.pathsep.join(map(str, [folder / "dexlib2", *jars]))
    run([home / "bin" / "javac", "-d", folder / "dexlib2", "-cp", class_path, ROOT / "benches/peers/dexlib2/DexlibPeer.java"])
    rules, woven = folder / "dex.toml", folder / "dex" / "classes.dex"
    rules.write_text(DEX_RULES)
    woven.parent.mkdir()

    # Both sides alike: one run that is not counted, then three.
    def weaver(*options):
        return lambda: timed([weave_binary(), "-q", *options, "--rules", rules, source, woven], woven, skipped=1, counted=3)

    def peer():
        command = [home / "bin" / "java", "-Xmx3g", "-cp", class_path, "DexlibPeer", source, folder / "peer.dex"]
        return timed(command, folder / "peer.dex", skipped=1, counted=3)

    def bare():
        return [(float(run([bench, source, folder / "floor.dex", "3"]).stdout.split()[2]), 0)]

    found = medians(rounds, weave=weaver(), alone=weaver("--jobs", 1), peer=peer, floor=bare)
    methods, refused, inside = run([home / "bin" / "java", "-Xmx3g", "-cp", class_path, "DexlibPeer", source, folder / "peer.dex"]).stdout.split()
    mine, alone, theirs, below = (found[name][0] for name in ("weave", "alone", "peer", "floor"))
    told = f"{1000 * mine:.0f} ms, one thread {1000 * alone:.0f} ms"
    score.check("dex: 45 times faster than dexlib2", theirs / mine >= 45, f"{told}; {theirs:.2f} s, of which {inside} in its code: {theirs / mine:.1f} times, with one thread {theirs / alone:.1f}; it refused {refused} of {methods} methods")
    score.check("dex: within 8 of reading, checksumming and writing", mine / below <= 8, f"{told}; {1000 * below:.1f} ms: {mine / below:.1f}, with one thread {alone / below:.1f}")
    weave, one, floor, growth, a_method, *hooks = map(float, run([bench, source, folder / "weave.dex", str(3 * rounds)]).stdout.split())
    print(f"     the backend alone, inside one process: {1000 * weave:.1f} ms, on one core {1000 * one:.1f} ms, floor {1000 * floor:.1f} ms", flush=True)
    enter, leave, fail = hooks
    score.check("dex: grows by at most 12 %", growth <= 12, f"{growth:.1f} %: {a_method} bytes a method; {enter} with the enter hook alone, {leave} with that at the exit, {fail} with that for exceptions")


def packed_classes(path):
    """Bytes that the classes of a jar take in it, without the hook library."""
    with zipfile.ZipFile(path) as jar:
        return sum(i.compress_size for i in jar.infolist() if i.filename.endswith(".class") and not i.filename.startswith("weave/runtime/"))


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


def floor():
    """The bench's own program."""
    built = run(["cargo", "bench", "--profile", "release", "--bench", "floor", "--no-run", "--message-format=json"], cwd=ROOT).stdout
    return next(m["executable"] for m in map(json.loads, built.splitlines()) if m.get("executable") and m["target"]["name"] == "floor")


# What has a body, as dexlib2's side takes it.
DEX_RULES = RULES.replace("ASM's", "dexlib2's").replace('"async"', '"async", "static-init"')

# What the Cecil peer weaves: what has a body and is no constructor.
ASSEMBLY_RULES = RULES.replace("ASM's", "Cecil's").replace('"constructor", ', "")


def assembly(score, folder, rounds):
    """One large assembly, against Mono.Cecil and the floor."""
    source, hooks = dotnet.roslyn() / "Microsoft.CodeAnalysis.CSharp.dll", ROOT / "runtime" / "dotnet" / "Weave.Runtime.dll"
    cecil = max((dotnet.mono_libraries() / "gac" / "Mono.Cecil").glob("*/Mono.Cecil.dll"), key=lambda p: [int(n) for n in p.parent.name.split("_")[0].split(".")], default=None)
    if not cecil:
        raise Missing("Mono.Cecil in Mono's assembly cache (Debian: libmono-cecil-private-cil)")
    shutil.copy(cecil, folder)
    peer = folder / "CecilPeer.exe"
    run(["mcs", "-nologo", "-optimize", f"-out:{peer}", f"-r:{cecil}", ROOT / "benches/peers/cecil/CecilPeer.cs"])
    rules = folder / "assembly.toml"
    rules.write_text(ASSEMBLY_RULES)
    below, woven = floor(), folder / "assembly.dll"
    given = [peer, source, folder / "cecil.dll", hooks, dotnet.framework("core8")]

    def weaver(*options):
        # A run of milliseconds tells little on a shared machine: so many as take about as long as one of Cecil.
        return lambda: timed([weave_binary(), "-q", *options, "--rules", rules, source, woven], woven, skipped=1, counted=30)

    def cecil_on(*host):
        return lambda: timed([*host, *given], folder / "cecil.dll", skipped=1, counted=2)

    def bare():
        return [(float(run([below, source, folder / "floor.dll"]).stdout), 0) for _ in range(6)][1:]

    found = medians(
        rounds,
        weave=weaver(),
        alone=weaver("--jobs", 1),
        mono=cecil_on("mono"),
        coreclr=cecil_on(*dotnet.host("core8")),
        floor=bare,
    )
    mine, theirs = found["weave"], min(found["mono"], found["coreclr"])
    size = source.stat().st_size
    told = f"{1000 * mine[0]:.0f} ms for {size / 1e6:.1f} MB, one thread {1000 * found['alone'][0]:.0f} ms"
    ratio = theirs[0] / mine[0]
    score.check("an assembly 32 times faster than Cecil", ratio >= 32, f"{told}; Mono {found['mono'][0]:.2f} s, CoreCLR {found['coreclr'][0]:.2f} s: {ratio:.0f} times, with one thread {theirs[0] / found['alone'][0]:.0f}")
    ratio = mine[0] / found["floor"][0]
    score.check("an assembly within 5 of reading, hashing and writing", ratio <= 5, f"{told}; {1000 * found['floor'][0]:.1f} ms: {ratio:.1f}")
    limit = 4 * size / 2**20
    score.check("an assembly's peak memory under 4 times its size", mine[1] < limit, f"{mine[1]:.1f} of {limit:.1f} MB, one thread {found['alone'][1]:.1f} MB; Cecil {theirs[1]:.0f} MB")


def body():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--rounds", type=int, default=5)
    names = ["peer", "floor", "small", "memory", "linear", "growth", "assembly", "dex"]
    args.add_argument("--only", action="append", default=[], choices=names)
    args = args.parse_args()
    wanted = lambda name: not args.only or name in args.only
    folder, score = fresh(WORK / "bench"), Score()
    if wanted("assembly"):
        assembly(score, folder, args.rounds)
    CORPORA.mkdir(parents=True, exist_ok=True)
    if wanted("dex"):
        dex(score, folder, args.rounds)
    if args.only and set(args.only) <= {"assembly", "dex"}:
        return score.finish("benches")
    weave = weave_binary()
    version, home = min(judges().items())
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
            score.check("6 times faster than ASM", ratio >= 6, f"{mine[0]:.3f} s against {theirs[0]:.3f} s, which packs on one thread: {ratio:.1f} times")
            sizes = [packed_classes(p) for p in (woven, peer_out)]
            all_ = [p.stat().st_size for p in (woven, peer_out)]
            score.check("classes packed no larger than ASM's", sizes[0] <= sizes[1],
                        f"{sizes[0]} against {sizes[1]} bytes; the jars {all_[0]} (with names and hook library) against {all_[1]}")
        if wanted("memory"):
            limit = jar.stat().st_size / 2**20 + 200
            score.check("peak memory under the input's size + 200 MB", mine[1] < limit, f"{mine[1]:.0f} of {limit:.0f} MB; ASM {theirs[1]:.0f} MB")
        if wanted("growth"):
            before = class_bytes(jar)
            grown = [100 * (class_bytes(p) / before - 1) for p in (woven, peer_out)]
            score.check("classes grow by at most 10 %", grown[0] <= 10, f"{grown[0]:.1f} %, ASM {grown[1]:.1f} %")
    if wanted("floor"):
        weaver()()
        bare = floor()

        def below():
            # It prepares what it deflates before its clock starts, so its own time counts.
            (folder / "floor.out").unlink(missing_ok=True)
            done = run([bare, jar, woven, folder / "floor.out"], env={**os.environ, "RAYON_NUM_THREADS": str(JOBS)})
            return [(float(done.stdout), 0)]

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
