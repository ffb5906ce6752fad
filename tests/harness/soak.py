#!/usr/bin/env python3
"""Lets programs with a hook library run for long while their host does to them what hosts do.

    soak.py java [--jdk VERSION] [--minutes N] [--rest R] [--seed S]
    soak.py dotnet               [--minutes N] [--rest R] [--seed S]
    soak.py hosts [--only java|dotnet]

By turns: threads that are interrupted or stopped while the file grows, code that comes late, a trace that is cut off, a nearly full
disk, `kill -9`, and a collector that comes and goes (asked to stop, or killed) while the program lives or is killed, too. Every
program's output must be right, whatever the trace has and lost must be what the program recorded, and `weave report` must read
every trace. After each round it rests R times as long as the round took.

`hosts` is the short form: woven programs on both libraries, each kind of host once (hosts.py).
"""

import argparse
import collections
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import hosts
import lib
from test_collect import RECORDS, collect, dotnet_writer, finish, java_writer, report, start, trace_of

# Parts of the names of the tests of the libraries' own suites.
JAVA = ["interrupts", "truncated", "late code", "disk full", "block", "first hook", "losses at", "web application",
        "stack overflow", "waves", "kill -9", "no memory"]
DOTNET = ["interrupted", "loaded", "symbols", "disk_full", "block", "killed_at", "deep", "waves", "exit_with", "truncated", "file_size",
          "few_descriptors"]
OWN = ["a collector", "a collector", "a collector", "a nearly full disk"]


def collected(writer, folder, chance):
    """A program beside a collector that comes and goes; now and then the program is killed."""
    traces, out = folder / "traces", folder / "out"
    traces.mkdir()
    policy = chance.choice(["block", "block", "drop"])
    process = start(writer, traces, policy, limit=chance.choice(["512k", "1m", "8m"]))
    killed = chance.random() < 0.2
    end = time.monotonic() + chance.uniform(0.3, 2)
    while process.poll() is None:
        if killed and time.monotonic() > end:
            process.kill()
            break
        collector = collect(traces, out, "--rotate", "4m", *chance.choice([(), ("--compress",)]))
        time.sleep(chance.uniform(0.05, 1))
        collector.send_signal(chance.choice([signal.SIGKILL, signal.SIGTERM]))
        collector.communicate()
    out_text, err = process.communicate()
    assert err == "" and (killed or out_text == "done\n"), f"the program said {out_text!r} {err!r}"
    made = traces / "t.wtrace"
    if killed and not (made.exists() and made.read_bytes().startswith(b"WTRACE")):
        return  # killed before it was a trace
    finish(collect(traces / "t.wtrace", out), "the last collector")
    if not any(out.iterdir()):
        assert killed
        return
    trace = trace_of(out)
    assert trace["missing_segments"] == 0, trace
    if not killed:
        assert trace["records"] + trace["lost_records"] == RECORDS, trace
        assert policy == "drop" or trace["lost_records"] == 0, trace


def nearly_full(writer, folder, chance):
    """The disk ends while the trace grows."""
    disk = folder / "disk"
    disk.mkdir()
    size = chance.choice(["3m", "9m", "30m"])
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(disk)], check=True)
    try:
        process = start(writer, disk, chance.choice(["ring", "drop"]), limit="1g")
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0 and out == "done\n" and err.count("\n") <= 1, f"{process.returncode}: {out} {err}"
        trace = report(disk / "t.wtrace")["traces"][0]
        assert trace["records"] + trace["lost_records"] == RECORDS, trace
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def suite(command, case):
    environment = {**os.environ, "WEAVE": str(lib.weave_binary())}
    run = subprocess.run([*command, case], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    assert run.returncode == 0 and "NOT RUN" not in run.stdout, run.stdout


def java(scratch, version):
    jdks = {v: j for v, j in lib.jdks().items() if v >= 17}
    home, jar = jdks[version or min(jdks)], lib.ROOT / "runtime/java/weave-runtime.jar"
    sources = [str(p) for p in (lib.ROOT / "runtime/java/test").glob("*.java")]
    subprocess.run([home / "bin/javac", "--release", "17", "-nowarn", "-cp", jar, "-d", scratch, *sources], check=True,
                   stderr=subprocess.DEVNULL)
    writer = java_writer(scratch)
    writer[0] = str(home / "bin/java")
    return JAVA, writer, [writer[0], "-cp", f"{jar}{os.pathsep}{scratch}", "Suite", scratch]


def dotnet(scratch, _):
    folder = lib.ROOT / "runtime/dotnet"
    (scratch / "symbols").write_text("WSYM and so on")
    compile_it = '. ./hosts.sh; compile Programs.exe -nowarn:SYSLIB0006 -res:"$out/symbols",Weave.Symbols test/Programs.cs'
    subprocess.run(["sh", "-ec", compile_it], cwd=folder, env={**os.environ, "out": str(scratch)}, check=True)
    return DOTNET, dotnet_writer(scratch), [sys.executable, folder / "test/suite.py", scratch, "run8"]


def short(only):
    score = lib.Score()
    hosts.judge(score, lib.fresh(lib.WORK / "hosts"), only)
    return score.finish("hostile hosts")


def run():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", choices=["java", "dotnet", "hosts"])
    parser.add_argument("--only", choices=["java", "dotnet"])
    parser.add_argument("--jdk", type=int)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rest", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.library == "hosts":
        return short(arguments.only)
    chance = random.Random(arguments.seed)
    held, failed = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        cases, writer, command = {"java": java, "dotnet": dotnet}[arguments.library](pathlib.Path(scratch), arguments.jdk)
        end = time.monotonic() + 60 * arguments.minutes
        bag = []
        while time.monotonic() < end or not held:
            # Each case once before any comes again.
            bag = bag or chance.sample([*cases, *OWN], len(cases) + len(OWN))
            case, began = bag.pop(), time.monotonic()
            try:
                with tempfile.TemporaryDirectory() as folder:
                    if case in OWN:
                        {"a collector": collected, "a nearly full disk": nearly_full}[case](writer, pathlib.Path(folder), chance)
                    else:
                        suite(command, case)
                held[case] += 1
            except AssertionError as wrong:
                failed[case] += 1
                print(f"{time.strftime('%H:%M:%S')} {case}: FAILED: {wrong}", flush=True)
            time.sleep(arguments.rest * (time.monotonic() - began))
    for case in sorted(held | failed):
        print(f"{case:<20} {held[case]:4} held, {failed[case]} failed")
    print(f"{held.total()} rounds held, {failed.total()} failed, in {arguments.minutes:g} minutes")
    return 1 if failed else 0


if __name__ == "__main__":
    lib.main(run)
