#!/usr/bin/env python3
"""Measures reports and exports of a large trace: CPU time, wall clock, anonymous memory at its peak.

    benches/trace.py [--rounds N] [--requests N] [--only table|page|perfetto|parquet]... [--weave BINARY]...

The trace is of a Java program that this makes: 400 methods in 16 layers, four threads, an exception now and then. With the
default of 604,000 requests a thread it has 133 million records, 1.07 GB. It stays in a folder outside the tree. Several binaries
take turns.

Goals for 1 GB: the table in 2 s and 200 MB beyond the mapped file; Perfetto and Parquet at 100 MB of trace a second.
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
THREADS, LAYERS, METHODS = 4, 16, 25


def method(layer, number, draw):
    """One method: it calls the next layers, depending on a cheap generator of numbers."""
    body = []
    for k in range(draw.choice([1, 1, 1, 2, 2]) if layer < LAYERS - 1 else 0):
        to = min(LAYERS - 1, draw.choice([layer + 1, layer + 1, layer + 1, layer + 2]))
        call = f"s = Layer{to}.work{draw.randrange(METHODS)}(s, n + {k});"
        body.append(f"if ((s >>> 33 & {draw.choice([1, 3, 3])}) == 0) {call}" if k else call)
    body += [f"s = s * 6364136223846793005L + {draw.randrange(1, 1 << 30)}L;" for _ in range(draw.randrange(1, 4))]
    if layer == LAYERS - 1 and number % 5 == 0:
        body.append('if ((s >>> 40 & 0xfff) == 0) throw new IllegalStateException("odd state " + (s >>> 60));')
    if layer % 5 == 2 and number % 3 == 0:
        body = ["try {", *body, "} catch (IllegalStateException e) { s ^= e.getMessage().length(); }"]
    return "\n".join([f"static long work{number}(long s, int n) {{", *body, "return s; }"])


def program():
    draw = random.Random(7)
    layers = [
        "final class Layer%d {\n%s\n}" % (layer, "\n".join(method(layer, m, draw) for m in range(METHODS))) for layer in range(LAYERS)
    ]
    cases = "\n".join(f"case {m}: s = Layer0.work{m}(s, i); break;" for m in range(METHODS))
    main = f"""public final class Main {{
static long request(long s, int i) {{
    try {{ switch ((int) ((s >>> 35) % {METHODS})) {{ {cases} }} }} catch (IllegalStateException e) {{ s++; }}
    return s;
}}
static void loop(long s, int count) {{
    for (int i = 0; i < count; i++) s = request(s, i);
    if (s == 42) System.out.println(s);
}}
public static void main(String[] args) throws Exception {{
    int count = Integer.parseInt(args[0]);
    Thread[] threads = new Thread[{THREADS}];
    for (int i = 0; i < threads.length; i++) {{
        long seed = i * 7919L + 1;
        threads[i] = new Thread(() -> loop(seed, count), "worker-" + i);
        threads[i].start();
    }}
    for (Thread thread : threads) thread.join();
}}
}}"""
    return "\n".join([*layers, main])


def make(folder, weave, requests):
    """A trace of so many requests a thread, unless it is there."""
    trace = folder / f"{requests}.wtrace"
    if trace.exists():
        return trace
    source, classes = folder / "Main.java", folder / "classes"
    source.write_text(program())

    def run(*command, **more):
        subprocess.run([str(c) for c in command], check=True, **more)

    run("javac", "-d", classes, source)
    run("jar", "cfe", folder / "app.jar", "Main", "-C", classes, ".")
    run(weave, folder / "app.jar", folder / "woven.jar", "--rules", "pack:all", stdout=subprocess.DEVNULL)
    records = folder / "records"
    records.mkdir(exist_ok=True)
    for old in records.glob("*.wtrace"):
        old.unlink()
    env = os.environ | {"WEAVE_TRACE_LIMIT": "8g"}
    run("java", "-jar", folder / "woven.jar", requests, env=env, cwd=records)
    (written,) = records.glob("*.wtrace")
    return written.rename(trace)


def anonymous(pid):
    """Kilobytes of anonymous memory of a process."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("RssAnon:")), 0)


def measured(command):
    """Seconds of CPU, seconds of wall clock, megabytes."""
    began, peak = time.monotonic(), 0
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL)
    while True:
        done, status, used = os.wait4(process.pid, os.WNOHANG)
        if done:
            break
        peak = max(peak, anonymous(process.pid))
        time.sleep(0.01)
    if status != 0:
        raise SystemExit(f"{command}: status {status}")
    return used.ru_utime + used.ru_stime, time.monotonic() - began, peak / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=604_000)
    parser.add_argument("--only", action="append", choices=["table", "page", "perfetto", "parquet"])
    parser.add_argument("--weave", action="append", type=pathlib.Path)
    args = parser.parse_args()
    binaries = args.weave or [ROOT / "target" / "release" / "weave"]
    folder = pathlib.Path(tempfile.gettempdir()) / "weave-large-trace"
    folder.mkdir(exist_ok=True)
    trace, out = make(folder, binaries[0], args.requests), folder / "out"
    size = trace.stat().st_size / 1e6
    print(f"{size:.0f} MB of trace")
    commands = {
        "table": ["report", trace, "--no-pager"],
        "page": ["report", trace, "--html", out],
        "perfetto": ["export", trace, "--to", "perfetto", "-q", "-o", out],
        "parquet": ["export", trace, "--to", "parquet", "-q", "-o", out],
    }
    found = {}
    for _ in range(args.rounds):
        for what in args.only or commands:
            for binary in binaries:
                found.setdefault((what, binary), []).append(measured([binary, *commands[what]]))
    for (what, binary), runs in found.items():
        cpu, wall, memory = (sorted(column) for column in zip(*runs))
        print(
            f"{what:9} {cpu[len(cpu) // 2]:6.2f} s of CPU ({cpu[0]:.2f} to {cpu[-1]:.2f}), {wall[len(wall) // 2]:6.2f} s, "
            f"{size / wall[len(wall) // 2]:5.0f} MB/s, {memory[-1]:4.0f} MB  {binary}"
        )


if __name__ == "__main__":
    sys.exit(main())
