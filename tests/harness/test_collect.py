#!/usr/bin/env python3
"""`weave collect` with real writers: programs on .NET and on the JVM, under `block` and `drop`, while the collector is
stopped, killed with -9 and started again. Every record is in what was collected, or counted as lost; under `block` with a
collector that lives none is lost.

    test_collect.py [dotnet] [java]
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import dotnet
from lib import ROOT, jdks, main, oldest_jdk, weave_binary

CSHARP = """
using System; using System.Threading; using Weave.Runtime;
static class Writer {
    static void Calls(int n) { for (int i = 0; i < n; i++) { Hooks.Enter(1); Hooks.Enter(2); Hooks.Exit(2); Hooks.Exit(1); } }
    static void Main(string[] a) {
        int phases = int.Parse(a[1]);
        for (int phase = 0; phase < phases; phase++) {
            if (phase > 0) Console.ReadLine();
            var all = new Thread[3];
            for (int i = 0; i < 3; i++) { all[i] = new Thread(() => Calls(int.Parse(a[0]) / phases)); all[i].Start(); }
            foreach (Thread t in all) t.Join();
        }
        Console.WriteLine("done");
    }
}"""
JAVA = """
import weave.runtime.Hooks;
public class Writer {
    static void calls(int n) { for (int i = 0; i < n; i++) { Hooks.enter(1); Hooks.enter(2); Hooks.exit(2); Hooks.exit(1); } }
    public static void main(String[] a) throws Exception {
        int phases = Integer.parseInt(a[1]);
        java.io.BufferedReader in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (int phase = 0; phase < phases; phase++) {
            if (phase > 0) in.readLine();
            Thread[] all = new Thread[3];
            for (int i = 0; i < 3; i++) { all[i] = new Thread(() -> calls(Integer.parseInt(a[0]) / phases)); all[i].start(); }
            for (Thread t : all) t.join();
        }
        System.out.println("done");
    }
}"""
CALLS = 400_000
RECORDS = 3 * 4 * CALLS
# A writer of several phases waits for a line before each but the first: so it is there when its collector is killed.
PHASES = 8


def dotnet_writer(folder):
    (folder / "Writer.cs").write_text(CSHARP)
    library = ROOT / "runtime/dotnet/Weave.Runtime.dll"
    shutil.copy(library, folder)
    mono = dotnet.mono_libraries()
    references = [mono / "4.5-api/mscorlib.dll", mono / "4.5/Facades/netstandard.dll", library]
    dotnet.run([*dotnet.csc(), "-nologo", "-nostdlib", "-optimize", *(f"-r:{r}" for r in references),
                f"-out:{folder / 'Writer.exe'}", str(folder / "Writer.cs")])
    return [*dotnet.host("core8"), str(folder / "Writer.exe"), str(CALLS)]


def java_writer(folder):
    home = oldest_jdk()
    jar = ROOT / "runtime/java/weave-runtime.jar"
    (folder / "Writer.java").write_text(JAVA)
    subprocess.run([home / "bin/javac", "-cp", jar, "-d", folder, folder / "Writer.java"], check=True)
    return [str(home / "bin/java"), "-cp", f"{folder}{os.pathsep}{jar}", "Writer", str(CALLS)]


# How long a process is waited for, in seconds, and a writer for its collector: only what hangs takes so long.
PATIENCE = 600


def start(command, traces, policy, limit="1m", patience=PATIENCE * 1000, phases=1):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEAVE_TRACE")}
    environment |= {"WEAVE_TRACE": str(traces / "t.wtrace"), "WEAVE_TRACE_LIMIT": limit,
                    "WEAVE_TRACE_POLICY": policy, "WEAVE_TRACE_BLOCK": str(patience)}
    return subprocess.Popen([*command, str(phases)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def go_on(writer):
    writer.stdin.write("\n")
    writer.stdin.flush()


def collect(traces, out, *options):
    return subprocess.Popen([weave_binary(), "collect", traces, "-o", out, *options], stderr=subprocess.PIPE, text=True)


def finish(process, what):
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, f"{what}: exit {process.returncode}: {out} {err[-2000:]}"
    return err


def stop(collector):
    collector.send_signal(signal.SIGTERM)
    return finish(collector, "the collector")


def report(*paths):
    done = subprocess.run([weave_binary(), "report", *paths, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def trace_of(out):
    traces = report(out)["traces"]
    assert len(traces) == 1, f"the parts of one process are one trace: {[t['file'] for t in traces]}"
    return traces[0]


def taken(out):
    """How many bytes a collector has written. A part changes its name while it is looked at: then it is not counted, and the next look sees it."""
    total = 0
    for path in out.glob("*") if out.exists() else ():
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            pass
    return total


def until_taken(collector, writer, out, least):
    """Waits until a collector that runs has written so much, or the writer has ended; whether it has."""
    for _ in range(PATIENCE * 50):
        assert collector.poll() is None, f"the collector ended: {collector.communicate()[1][-2000:]}"
        if taken(out) >= least:
            return True
        if writer.poll() is not None:
            return False
        time.sleep(0.02)
    raise AssertionError(f"the collector took {taken(out)} of {least} bytes in {PATIENCE} s")


def check_collected(writer, folder, options):
    """A collector that lives: nothing is lost, although the limit is a fraction of what is recorded."""
    traces, out = folder / "traces", folder / "out"
    traces.mkdir()
    collector = collect(traces, out, "--rotate", "8m", *options)
    finish(start(writer, traces, "block"), "the writer")
    said = stop(collector)
    assert "ended:" in said, said
    trace = trace_of(out)
    assert (trace["records"], trace["lost_records"], trace["missing_segments"]) == (RECORDS, 0, 0), trace
    parts = sorted(p.name for p in out.iterdir())
    assert len(parts) > 3 and all(p.endswith(".wtrace.zst" if options else ".wtrace") for p in parts), parts
    assert (traces / "t.wtrace").stat().st_size <= 1 << 20
    left = report(traces)["traces"][0]
    assert left["records"] == 0 and any("were collected" in n for n in left["notes"]), left
    return f"{len(parts)} parts"


def check_killed(writer, folder):
    """The collector is killed again and again: what is collected twice or not at all would show."""
    traces, out = folder / "traces", folder / "out"
    traces.mkdir()
    process = start(writer, traces, "block", phases=PHASES)
    # Each takes a part of a phase, so that most are killed while the writer is at work.
    for phase in range(PHASES - 1):
        # Counted before the writer goes on: later, most of the phase may be taken already, and so much never comes.
        least = taken(out) + RECORDS * 8 // PHASES // 2
        if phase > 0:
            go_on(process)
        collector = collect(traces, out, "--rotate", "4m")
        assert until_taken(collector, process, out, least), "the writer ended"
        collector.kill()
        collector.communicate()
    collector = collect(traces, out, "--rotate", "4m")
    go_on(process)
    finish(process, "the writer")
    stop(collector)
    collector = collect(traces / "t.wtrace", out)
    finish(collector, "the last collector")
    trace = trace_of(out)
    assert (trace["records"], trace["lost_records"], trace["missing_segments"]) == (RECORDS, 0, 0), trace
    return f"killed {PHASES - 1} times"


def check_dead(writer, folder):
    """A collector that dies frees its writer after the patience; what is lost is counted. A ring cannot be collected from."""
    traces, out = folder / "traces", folder / "out"
    traces.mkdir()
    collector = collect(traces, out)
    process = start(writer, traces, "block", patience=500, phases=2)
    assert until_taken(collector, process, out, RECORDS * 8 // 16), "the writer ended"
    collector.kill()
    collector.communicate()
    go_on(process)
    finish(process, "the writer")
    finish(collect(traces / "t.wtrace", out), "the last collector")
    trace = trace_of(out)
    assert trace["records"] + trace["lost_records"] == RECORDS and trace["lost_records"] > 0, trace
    lost = trace["lost_records"]
    shutil.rmtree(out)
    (traces / "t.wtrace").unlink()
    finish(start(writer, traces, "ring"), "the writer")
    said = finish(collect(traces / "t.wtrace", out), "the collector of a ring")
    assert "ring: cannot be taken from" in said, said
    trace = trace_of(out)
    assert trace["records"] + trace["lost_records"] == RECORDS, trace
    return f"{lost} lost"


def check_drop(writer, folder):
    traces, out = folder / "traces", folder / "out"
    traces.mkdir()
    process = start(writer, traces, "drop")
    collector = collect(traces, out, "--remove")
    finish(process, "the writer")
    stop(collector)
    assert not (traces / "t.wtrace").exists(), "--remove"
    trace = trace_of(out)
    assert trace["records"] + trace["lost_records"] == RECORDS, trace
    return f"{trace['lost_records']} lost"


def check_two(writer, folder):
    """Two collectors in one folder: the second finds parts there that the first has open, and leaves them alone."""
    out = folder / "out"
    sources = [folder / "one", folder / "two"]
    collectors, writers = [], []
    for source in sources:
        source.mkdir()
        writers.append(start(writer, source, "block"))
        wait_for(lambda: (source / "t.wtrace").exists())
        seen = len(list(out.glob("*"))) if out.exists() else 0
        collectors.append(collect(source, out, "--compress", "--rotate", "8m"))
        wait_for(lambda: out.exists() and len(list(out.glob("*"))) > seen)
    for process in writers:
        finish(process, "a writer")
    for collector in collectors:
        stop(collector)
    traces = report(out)["traces"]
    assert [(t["records"], t["lost_records"], t["missing_segments"]) for t in traces] == [(RECORDS, 0, 0)] * 2, traces
    return f"{len(list(out.iterdir()))} parts of two"


def wait_for(condition):
    for _ in range(PATIENCE * 50):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it never happened")


def run():
    wanted = sys.argv[1:] or ["dotnet", "java"]
    checks = [
        ("collected", lambda w, f: check_collected(w, f, ())),
        ("compressed", lambda w, f: check_collected(w, f, ("--compress",))),
        ("two in a folder", check_two),
        ("collector killed", check_killed),
        ("collector dead", check_dead),
        ("drop", check_drop),
    ]
    failed = 0
    for name in wanted:
        with tempfile.TemporaryDirectory() as scratch:
            writer = {"dotnet": dotnet_writer, "java": java_writer}[name](pathlib.Path(scratch))
            for what, check in checks:
                with tempfile.TemporaryDirectory() as folder:
                    try:
                        print(f"{name:<8} {what:<20} ok ({check(writer, pathlib.Path(folder))})", flush=True)
                    except AssertionError as wrong:
                        failed += 1
                        print(f"{name:<8} {what:<20} FAILED: {wrong}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    main(run)
