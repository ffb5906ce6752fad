#!/usr/bin/env python3
"""Runs each of Programs.cs in a process of its own, on one host, and reads what it leaves.

    suite.py FOLDER HOST [PART OF A NAME]     FOLDER has Programs.exe; HOST is mono, run31 or run8; or net8 or net10,
                                              CoreCLR 8 or that of the .NET SDK on the PATH with the library for .NET 8
"""

import ctypes
import gc
import inspect
import json
import mmap
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from resource import RLIMIT_FSIZE, RLIMIT_NOFILE, setrlimit

import maps
import reader
from reader import CHUNK, ENTER, ERROR

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parents[2] / "tests" / "harness"))
import dotnet as toolchain  # noqa: E402

MANY = 600_000
#: How often it is switched under load.
SWITCHES = int(os.environ.get("WEAVE_SWITCHES") or 1_000)
#: Which of how many hosts that share the tests among them this one is.
TURN, TURNS = map(int, os.environ.get("WEAVE_TURN", "0/1").split("/"))
BUILT, HOST = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
if HOST.startswith("net"):
    BUILT = BUILT / "net8.0"
MONO = HOST == "mono"


class NotRun(Exception):
    """What this machine or this host cannot do."""


def equal(expected, actual, what):
    assert expected == actual, f"{what}: expected {expected}, found {actual}"


def sdk_host():
    """The same as `toolchain.host` for the newest runtime of the .NET SDK on the PATH."""
    config = BUILT / "net10.runtimeconfig.json"
    if not config.exists():
        config.write_text(json.dumps({"runtimeOptions": {
            "framework": {"name": "Microsoft.NETCore.App", "version": "10.0.0"}, "rollForward": "LatestMajor",
            "configProperties": {"System.Globalization.Invariant": True},
        }}))
    return ["dotnet", "exec", "--runtimeconfig", str(config)]


def start(folder, program, **settings):
    """Starts a program; settings are environment variables, `properties` those of its runtimeconfig.json."""
    properties = settings.pop("properties", None)
    limits = settings.pop("limits", {})
    assembly = str(BUILT / settings.pop("assembly", "Programs.exe"))
    if MONO:
        command = ["mono", assembly]
    else:
        command = sdk_host() if HOST == "net10" else toolchain.host({"run8": "core8", "net8": "core8", "run31": "core31"}[HOST])
        if properties:
            config = json.loads(pathlib.Path(command[-1]).read_text())
            config["runtimeOptions"]["configProperties"].update(properties)
            (folder / "own.runtimeconfig.json").write_text(json.dumps(config))
            command[-1] = str(folder / "own.runtimeconfig.json")
        command = [*command, assembly]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEAVE_TRACE")}
    environment["WEAVE_TRACE"] = str(folder / "t.wtrace")
    environment.update({k: str(v) for k, v in settings.items() if v is not None})
    if settings.get("WEAVE_TRACE", "") is None:
        del environment["WEAVE_TRACE"]
    return subprocess.Popen(
        [*command, program], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: [setrlimit(what, (most, most)) for what, most in limits.items()],
    )


def finish(folder, program, **settings):
    """Runs a program to its end; returns what it says on the error stream."""
    process = start(folder, program, **settings)
    try:
        out, err = process.communicate(timeout=200)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("the program hangs") from None
    assert process.returncode == 0 and out.endswith("done\n"), f"exit {process.returncode}: {out} {err[-3000:]}"
    return err


def run(folder, program, **settings):
    """Runs a program that has nothing to complain about."""
    equal("", finish(folder, program, **settings), "error stream")
    return reader.Trace(folder / "t.wtrace")


def again(folder):
    (folder / "t.wtrace").unlink()


def signed(word):
    return word - (1 << 32) if word >> 31 else word


def test_tool_of_the_build(folder):
    """Who runs the program only to ask it something finds no trace, unless one is asked for."""
    equal("", finish(folder, "One", assembly="ef.exe", WEAVE_TRACE=None), "error stream")
    equal([], list(folder.glob("*.wtrace")), "traces")
    equal("", finish(folder, "One", WEAVE_TRACE=None), "error stream")
    equal(1, len(list(folder.glob("weave-*.wtrace"))), "traces of the program itself")
    equal("", finish(folder, "One", assembly="ef.exe"), "error stream")
    assert (folder / "t.wtrace").is_file(), "a trace was asked for"


def test_threads(folder):
    t = run(folder, "Threads")
    t.all_balanced()
    equal(2 * 300_000 + 2_000, t.events(), "records")
    equal(3, len(t.threads), "threads")
    equal(300_000, t.named("α").events(), "records of the thread α")
    equal(2, t.named("b" * 200).flags, "flags of a background thread")
    equal(2_000, t.named("main").events(), "records of main")
    equal(3, t.flags, "flags: ended, all symbols")
    assert "Programs.exe" in t.command and "Threads" in t.command, t.command
    equal((0, 0, 0), (t.lost, t.failures, t.overwritten), "nothing lost")
    last = t.named("main").all()[-1].time
    assert 0 <= t.end - last < 3_000_000_000, f"end {t.end}, last record {last}"


def test_own_hooks_that_fail(folder):
    err = finish(folder, "OwnHooksFail").splitlines()
    behind = "; the program runs on, and this hook's next failures are not shown"
    equal(f"weave: hook Acme.Sql.Begin failed: System.ArgumentException: why{behind}", err[0], "the first")
    equal(f"weave: hook Acme.Sql.End failed: Programs+Silent{behind}", err[1], "one that cannot say why")
    equal(f"weave: hook Acme.Sql.Long failed: System.Exception: {'x' * 982}...{behind}", err[2], "a long one")
    equal("weave: further lines are not shown here (WEAVE_LOG names a file for them)", err[-1], "the last")
    size = len("\n".join(err[:-1]))
    assert (32 << 10) - 200 < size < 32 << 10, f"{size} bytes on the error stream"
    t = reader.Trace(folder / "t.wtrace")
    equal((1 + 3 + 2 + 2000, 0), (t.failures, t.lost), "failures, lost records")


def test_own_hooks_that_fail_without_a_trace(folder):
    equal("", finish(folder, "OwnHooksFail", WEAVE_TRACE="off", WEAVE_LOG="log.txt"), "error stream")
    equal(1000, len((folder / "log.txt").read_text().splitlines()), "each hook once, and no more than so many")
    assert not (folder / "t.wtrace").exists()


def test_error_stream_that_nobody_reads(folder):
    process = start(folder, "OwnHooksFail")
    try:
        process.wait(timeout=100)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("the program waits for who reads its error stream") from None
    equal((0, "done\n"), (process.returncode, process.stdout.read()), "how it ended")
    process.communicate()


def test_own_hooks_that_nest(folder):
    err = finish(folder, "OwnHooksNest").splitlines()
    assert len(err) == 1 and err[0].startswith("weave: hook Acme.Nested failed: System.Exception: inside;"), err
    assert not (folder / "t.wtrace").exists(), "own hooks start a trace"


def test_samples_of_the_process(folder):
    # So seldom that none comes by chance between the last record and the end.
    for seconds in 1, 5, 25:
        t = run(folder, "Busy", WEAVE_TRACE_SAMPLE=300, SECONDS=seconds)
        if len(t.samples) >= 3:
            break
        again(folder)  # the thread that takes them had no turn: the machine is busy
    t.all_balanced()
    equal(1, len(t.threads), "the library's own thread is none of the program's")
    samples = sorted(t.samples, key=lambda s: s[0])
    assert len(samples) >= 3, f"{len(samples)} samples"
    told = {1, 2, 3, 5, 7} | ({8, 9, 10} if HOST != "mono" else set()) | ({6} if HOST not in ("run31", "mono") else set())
    for time, values in samples:
        assert told <= set(values), f"metrics {sorted(values)}"
        assert values[2] > 10_000_000 and values[3] < values[2] and values[7] >= 2, values
    (from_, first), (to, last) = samples[0], samples[-1]
    assert from_ < to
    ended = max(event.time for thread in t.threads.values() for event in thread.all())
    assert to >= ended, f"the last sample is of the process's end: {to} of {ended}"
    for grows in sorted({1, 5, 6, 9, 10} & told):
        assert all(a[grows] <= b[grows] for (_, a), (_, b) in zip(samples, samples[1:])), f"metric {grows} shrinks"
        assert first[grows] < last[grows], f"metric {grows} does not grow: {samples}"
    equal(set(t.threads), set(t.cpu), "threads with CPU time")
    (times,) = t.cpu.values()
    used = [cpu for _, cpu in times]
    assert used[0] > 1_000_000 and all(a < b for a, b in zip(used, used[1:])), f"CPU time of main: {times}"
    assert {at for at, _ in times} <= {at for at, _ in samples}, f"beside samples: {times}"
    again(folder)
    off = run(folder, "Busy", WEAVE_TRACE_SAMPLE="off")
    equal(([], {}), (off.samples, off.cpu), "samples when off")


def test_exceptions(folder):
    t = run(folder, "Exceptions")
    t.all_balanced()
    main = t.named("main")
    errors = [e for e in main.all() if e.kind == ERROR]
    described = [(e.id, *e.thrown) for e in errors if e.thrown]
    name, number = "System.ApplicationException", "Programs+Generic`1[System.Int32]"
    long = ("ä€𝄞" * 400).encode()[:999].decode()
    equal(
        [(1, name, "a"), (1, name, long), (1, name, "a"), (1, number, ""),
         (1, "Programs+Unruly", "recorded"), (1, "Programs+Unruly", "")],
        described, "descriptions",
    )
    equal(5 + 2 + 2 + 2 + 1 + 1 + 1, len(errors), "errors")
    assert all(e.id != 77 for e in main.all()), "what Message calls is not recorded"
    equal(0, t.lost, "lost")


def test_unhandled(folder):
    process = start(folder, "Unhandled")
    out, err = process.communicate(timeout=200)
    assert process.returncode != 0 and "the end" in err + out and "weave: " not in err, f"exit {process.returncode}: {out} {err[-3000:]}"
    t = reader.Trace(folder / "t.wtrace")
    found = [(e.kind, e.id, e.thrown) for e in t.named("main").all()]
    equal([(ENTER, 1, None), (ENTER, 2, None), ("unhandled", 0, ("System.ApplicationException", "the end"))], found, "records")
    equal((3, 0), (t.flags, t.lost), "flags: ended, all symbols; lost")


def test_gap(folder):
    t = run(folder, "Gap")
    t.all_balanced()
    all = t.named("main").all()
    assert 1_200_000_000 <= all[1].time - all[0].time < 4_000_000_000
    equal([(2, ["resume", "suspend", "resume", "end"])], t.steps(), "the logical call")
    assert 2_400_000_000 <= all[-1].time - all[2].time < 8_000_000_000


def test_ring(folder):
    t = run(folder, "Many", WEAVE_TRACE_LIMIT="512k")
    assert t.size <= 512 << 10 and t.overwritten > 50
    equal(MANY, t.events() + t.lost, "recorded and overwritten")
    numbers = sorted(t.named("main").segments)
    equal(len(numbers), numbers[-1] - numbers[0] + 1, "the newest segments")
    equal(1, t.named("main").all()[-1].id, "the last record")
    equal(t.lost, t.lost_overwritten, "lost, and overwritten of these")
    # The smallest file: maps may have one of its chunks.
    again(folder)
    t = run(folder, "Many", WEAVE_TRACE_LIMIT="256k")
    equal(262_144, t.size, "size")
    equal(MANY, t.events() + t.lost, "recorded and overwritten")
    assert t.events() > 2_000, f"the newest are kept: {t.events()}"


def test_drop(folder):
    t = run(folder, "Many", WEAVE_TRACE_LIMIT="512k", WEAVE_TRACE_POLICY="drop")
    equal(1, t.policy, "policy")
    equal(MANY, t.events() + t.lost, "recorded and lost")
    equal(t.lost, t.lost_in_threads(), "LOST escapes against the header")
    assert t.events() > 45_000 and t.overwritten == 0, "the oldest records are kept"
    equal([1, 2, -3], [signed(e.id) for e in t.named("main").all()[:3]], "the first records")
    # More threads than chunks.
    again(folder)
    t = run(folder, "Crowd", WEAVE_TRACE_LIMIT="256k", WEAVE_TRACE_POLICY="drop", WEAVE_TRACE_SAMPLE="off")
    equal(8 * 600, t.events() + t.lost, "recorded and lost")
    assert t.events() in (2 * 600, 3 * 600), f"records of those that found a chunk, which one may have found for the map: {t.events()}"
    equal(0, t.lost_overwritten, "of these overwritten")


def test_block_alone(folder):
    began = time.monotonic()
    finish(folder, "Many", WEAVE_TRACE_LIMIT="512k", WEAVE_TRACE_POLICY="block", WEAVE_TRACE_BLOCK=700)
    took = time.monotonic() - began
    # Once a chunk would be 40 s and more.
    assert 0.7 <= took < 30, f"waited once: {took}"
    t = reader.Trace(folder / "t.wtrace")
    equal(MANY, t.events() + t.lost, "recorded and lost")
    assert t.lost > 0 and t.policy == 2


def ends(chunk):
    at = 32
    while at < CHUNK:
        (word,) = struct.unpack_from("<Q", chunk, at)
        if word == 6 << 2 or word == 0:
            return word != 0
        at += 8 if word & 3 else 8 + 8 * (word >> 8 & 0xFFFFFF)
    return False


def test_block_consumed(folder):
    """This process is the consumer: it copies each chunk that ends with an END escape and gives it back."""
    path = folder / "t.wtrace"
    process = start(folder, "Many", WEAVE_TRACE_LIMIT="512k", WEAVE_TRACE_POLICY="block", WEAVE_TRACE_BLOCK=20000)
    copies, began = [], time.monotonic()
    while process.poll() is None and time.monotonic() - began < 120:
        time.sleep(0.002)
        if not path.exists() or path.stat().st_size < 512 << 10:
            continue
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
            for at in range(CHUNK, len(shared), CHUNK):
                copy = shared[at : at + CHUNK]
                if copy[:8] == b"WCHK\1\0\0\0" and ends(copy):
                    copies.append(copy)
                    shared[at : at + 4] = b"WFRE"
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err
    t = reader.Trace(path)
    equal(0, t.lost, "lost")
    assert len(copies) > 60, f"consumed {len(copies)}"
    for copy in copies:
        t.chunk(copy)
    equal(MANY, t.events(), "records")
    t.all_balanced()


class Disk:
    """A small disk of its own."""

    def __init__(self, folder, options):
        self.path = folder / "disk"
        self.path.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", options, "none", str(self.path)]
        try:
            done = subprocess.run(mount, stdout=subprocess.PIPE, stderr=subprocess.PIPE).returncode
        except FileNotFoundError:
            done = 1
        if done:
            raise RuntimeError("a small disk cannot be mounted (test.sh makes a namespace for it)")

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", str(self.path)], check=True)


def test_disk_full(folder):
    with Disk(folder, "size=2m") as disk:
        for policy in ("ring", "drop", "block"):
            err = finish(
                folder, "Many", WEAVE_TRACE=disk / "t.wtrace", WEAVE_TRACE_POLICY=policy, WEAVE_TRACE_BLOCK=100,
                WEAVE_TRACE_LIMIT="1g",
            )
            t = reader.Trace(disk / "t.wtrace")
            equal(MANY, t.events() + t.lost, f"recorded and lost, {policy}")
            assert t.size > 1 << 20 and t.lost > 0, f"it used what there was: {t.size}"
            assert re.fullmatch(r"weave: the trace cannot grow: .*\n", err), err
            (disk / "t.wtrace").unlink()
        # Another line does not take its place.
        err = finish(folder, "Many", WEAVE_TRACE=disk / "t.wtrace", WEAVE_TRACE_POLICY="some", WEAVE_TRACE_LIMIT="1g")
        assert re.fullmatch(r"weave: weave.trace.policy: .*\nweave: the trace cannot grow: .*\n", err), err
        (disk / "t.wtrace").unlink()
        (disk / "fill").write_bytes(bytes((2 << 20) - 8_192))
        err = finish(folder, "Many", WEAVE_TRACE=disk / "t.wtrace", WEAVE_TRACE_LIMIT="1g")
        assert re.fullmatch(r"weave: cannot write the trace .*; the program runs on without it\n", err), err
        err = "" if MONO else finish(folder, "Many", WEAVE_TRACE=disk / "t.wtrace")
        assert MONO or "there is room for 4096 bytes (half of the free room of the file system)" in err, err
        assert not (disk / "t.wtrace").exists(), "no empty file is left"


GONE = "weave: the trace cannot grow: the file was moved or changed by somebody else; what finds no room in it is counted as lost\n"


def test_truncated(folder):
    for settings in ({}, {"LIMIT": "1m"}, {"LIMIT": "1m", "POLICY": "drop"}, {"LIMIT": "1m", "POLICY": "block", "BLOCK": 100}):
        err = finish(folder, "Truncated", **{f"WEAVE_TRACE_{k}": v for k, v in settings.items()})
        # A program that asks for no more room before it ends has nothing to tell of.
        assert err in ("", GONE), f"error stream, {settings}: {err}"
        again(folder)


# With the switch on, CoreCLR keeps its code in a file of 2 GB, and does not start under such a limit.
LIMITED = {"DOTNET_EnableWriteXorExecute": 0}


def test_file_size_limit(folder):
    for most, policy in ((3 << 20, "ring"), (3 << 20, "drop"), (200_000, "block")):
        err = finish(folder, "Many", WEAVE_TRACE_POLICY=policy, WEAVE_TRACE_BLOCK=100, WEAVE_TRACE_LIMIT="1g", **LIMITED, limits={RLIMIT_FSIZE: most})
        equal("weave: the trace cannot grow: file too large (ulimit -f); what finds no room in it is counted as lost\n", err, "error stream")
        t = reader.Trace(folder / "t.wtrace")
        equal(MANY, t.events() + t.lost, f"recorded and lost, {policy}")
        assert most - CHUNK < t.size <= most and t.lost > 0, f"it used what there was: {t.size}"
        again(folder)
    err = finish(folder, "Many", WEAVE_TRACE_LIMIT="1g", **LIMITED, limits={RLIMIT_FSIZE: 100_000})
    assert re.fullmatch(r"weave: cannot write the trace .*; the program runs on without it\n", err), err


def test_few_descriptors(folder):
    # The host's own, and a few for the assemblies that the program and the library are; the trace needs more than that.
    few = 40
    equal("", finish(folder, "One", limits={RLIMIT_NOFILE: few}, WEAVE_TRACE="off"), "error stream, off")
    err = finish(folder, "One", limits={RLIMIT_NOFILE: few})
    if not MONO:  # which has few files open
        equal("weave: no trace is written: the process may open too few files (ulimit -n); the program runs on without it\n", err, "error stream")
        equal([], traces(folder), "traces")
    run(folder, "One", limits={RLIMIT_NOFILE: 80})


def test_last_errors(folder):
    err = finish(folder, "LastErrors")
    assert re.fullmatch("weave: hook Acme.Last failed: .*\n", err), err
    again(folder)
    finish(folder, "LastErrors", WEAVE_TRACE="off")
    finish(folder, "LastErrors", WEAVE_TRACE_LIMIT="256k")


def test_context_stays(folder):
    run(folder, "ContextStays")


def test_log(folder):
    said = finish(folder, "One", WEAVE_TRACE_POLICY="some")
    assert re.fullmatch("weave: weave.trace.policy: .*\n", said), said
    again(folder)
    for value, file in (("stderr", None), ("off", None), ("log-%p.txt", "log-*.txt"), (folder / "pipe", None)):
        if value == folder / "pipe":
            os.mkfifo(value)
        for _ in range(2):
            err = finish(folder, "One", WEAVE_TRACE_POLICY="some", WEAVE_LOG=value)
            equal(said if value == "stderr" else "", err, f"error stream, {value}")
            again(folder)
        if file:
            equal([said, said], [log.read_text() for log in folder.glob(file)], "the files")
            equal({0o600}, {log.stat().st_mode & 0o777 for log in folder.glob(file)}, "modes")
    for _ in range(2):
        equal("", finish(folder, "OwnHooksFail", WEAVE_LOG="all.txt", WEAVE_TRACE="off"), "error stream")
    equal(2000, (folder / "all.txt").read_text().count("weave: hook "), "lines of both runs")


def test_activities_that_are_not_heard(folder):
    said = finish(folder, "Listens")
    told = re.fullmatch("weave: activities of libraries are not recorded: .*net8.0 Weave.Runtime.dll\\)\n", said)
    assert (bool(told), said) == ((True, said) if HOST == "run8" else (False, "")), said


DRIVERS = r"""
SELECT orders select * from orders where id = ?
SELECT - (SELECT ?)
INSERT shop.orders INSERT INTO shop.orders VALUES (?)
SELECT - select * from a join b on a.x = b.x
DELETE a delete from a where x in (select x from a)
- - 
- - ?
- - ? ?
- - xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
True
127.0.0.1 41271
host 1433
localhost 6379
::1 6379
::1 -
db -
db 5432
localhost -
localhost -
- -
- -
- -
/run/redis.sock -
- -
- -
127.0.0.1 81 -
GET PING - -
done
"""


def test_drivers(folder):
    process = start(folder, "Drivers")
    out, err = process.communicate(timeout=200)
    equal((0, "", DRIVERS.lstrip()), (process.returncode, err, out), "what rules record of drivers")


def test_read_only(folder):
    with Disk(folder, "ro,size=1m") as disk:
        err = finish(folder, "Many", WEAVE_TRACE=disk, WEAVE_TRACE_LIMIT="1g")
        assert re.fullmatch(r"weave: cannot write the trace .*/weave-\d+.wtrace: .*; the program runs on without it\n", err), err
    (folder / "file").write_bytes(b"x")
    err = finish(folder, "One", WEAVE_TRACE=folder / "file/x/t.wtrace")
    assert re.fullmatch(r"weave: cannot write the trace .*\n", err), err


def test_no_file(folder):
    # What is no file is not written to, nor beside.
    os.mkfifo(folder / "fifo")
    for device in ("/dev/null", str(folder / "fifo")):
        err = finish(folder, "One", WEAVE_TRACE=device)
        equal(f"weave: no trace is written: {device} is not a regular file; WEAVE_TRACE=off does without a trace and without this line\n",
              err, "message")
        assert not pathlib.Path(device + "-2").exists(), f"nothing beside {device}"


def test_grows_beside(folder):
    # The library's own thread has chunks ready again each time one is full: the thread that records grows the file never.
    process = start(folder, "Ahead", WEAVE_TRACE_SAMPLE="off")
    out, err = process.communicate(timeout=200)
    equal((0, "", "ahead 8\ndone\n"), (process.returncode, err, out), "exit, error stream, output")
    assert reader.Trace(folder / "t.wtrace").size > 50 * CHUNK


def traces(folder):
    return sorted(folder.glob("*.wtrace"))


def test_paths(folder):
    # Missing parents, the number of the process, and no file is overwritten.
    finish(folder, "One", WEAVE_TRACE="a/b/x-%p.wtrace")
    (only,) = traces(folder / "a/b")
    equal(f"x-{reader.Trace(only).pid}.wtrace", only.name, "name")
    run(folder, "One")
    first = (folder / "t.wtrace").read_bytes()
    equal("", finish(folder, "One"), "error stream: nothing is wrong")
    equal("t.wtrace exists, so this run records to t-2.wtrace (%p or %t in WEAVE_TRACE keep runs apart)",
          reader.Trace(folder / "t-2.wtrace").notes, "the trace's own notes")
    equal(first, (folder / "t.wtrace").read_bytes(), "the first file is as it was")
    equal(6, reader.Trace(folder / "t-2.wtrace").events(), "records of the second file")
    # The default, and a folder.
    home = folder / "home"
    home.mkdir()
    finish(home, "One", WEAVE_TRACE=None)
    (only,) = traces(home)
    equal(f"weave-{reader.Trace(only).pid}.wtrace", only.name, "the default name")
    finish(home, "One", WEAVE_TRACE=f"{home}/sub/")
    equal(1, len(traces(home / "sub")), "files in the folder")
    only.unlink()
    finish(home, "Nothing", WEAVE_TRACE=None)
    equal([], traces(home), "a program without hooks leaves no file")


def test_patterns(folder):
    finish(folder, "One", WEAVE_TRACE="x-%h-%t-%p-100%%-%q.wtrace")
    (only,) = traces(folder)
    host = re.sub(r"[^A-Za-z0-9._-]", "_", os.uname().nodename)
    assert re.fullmatch(rf"x-{re.escape(host)}-\d{{8}}-\d{{6}}-{reader.Trace(only).pid}-100%-%q\.wtrace", only.name), only.name


def test_keep(folder):
    home = folder / "traces"
    names = []
    (folder / "traces").mkdir()
    other = home / "run-notes.wtrace"
    other.write_bytes(b"no trace")
    alive = start(folder, "Killed", WEAVE_TRACE=home / "run-%p.wtrace")
    equal("done\n", alive.stdout.readline(), "output")
    (kept,) = set(traces(home)) - {other}
    os.utime(kept, (1, 1))
    for _ in range(5):
        equal("", finish(folder, "One", WEAVE_TRACE=home / "run-%p.wtrace", WEAVE_TRACE_KEEP=3), "error stream")
        (new,) = set(traces(home)) - {other, kept, *names}
        names.append(new)
        time.sleep(0.02)
    # The oldest is being written: it stays, and counts.
    equal({other, kept, *names[3:]}, set(traces(home)), "what is left")
    killed(alive)
    finish(folder, "One", WEAVE_TRACE=home / "run-%p.wtrace", WEAVE_TRACE_KEEP=3)
    assert not kept.exists(), "its process is gone"
    for i in range(3):
        finish(folder, "One", WEAVE_TRACE=home / "same.wtrace", WEAVE_TRACE_KEEP=2)
        time.sleep(0.02)
    # The name of one that was deleted is free again.
    equal(2, len(list(home.glob("same*"))), "traces of one name")
    err = finish(folder, "One", WEAVE_TRACE_KEEP="some")
    equal('weave: weave.trace.keep: "some" is not a number of traces; all is used\n', err, "message")


def attributes_changed(folder):
    """Begins to look at a folder; what that returns tells the files there that were made, and those whose mode was changed."""
    libc = ctypes.CDLL(None)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    created, changed = 0x100, 0x4
    assert libc.inotify_add_watch(watch, str(folder).encode(), created | changed) >= 0

    def told():
        files = {created: [], changed: []}
        at, events = 0, os.read(watch, 1 << 16)
        os.close(watch)
        while at < len(events):
            _, what, _, length = struct.unpack_from("iIII", events, at)
            files[what & (created | changed)].append(events[at + 16 : at + 16 + length].rstrip(b"\0").decode())
            at += 16 + length
        return files[created], files[changed]

    return told


def test_modes(folder):
    # A mode that is changed behind the creation would leave a moment to others.
    told = attributes_changed(folder)
    finish(folder, "One", WEAVE_TRACE_POLICY="some", WEAVE_LOG="log.txt", WEAVE_TRACE=folder / "b.wtrace")
    equal((["b.wtrace", "log.txt"], []), tuple(map(sorted, told())), "made, and changed")
    (folder / "b.wtrace").unlink()
    finish(folder, "One", WEAVE_TRACE=folder / "a/b/t.wtrace")
    equal(["0o700", "0o700", "0o600"],
          [oct((folder / p).stat().st_mode & 0o777) for p in ("a", "a/b", "a/b/t.wtrace")], "modes")


def test_default_limit(folder):
    if MONO:
        raise NotRun("Mono does not tell how much room such a disk has")
    with Disk(folder, "size=8m") as disk:
        err = finish(folder, "One", WEAVE_TRACE=disk / "t.wtrace")
        equal("", err, "error stream: nothing is wrong")
        equal("the trace's limit is 4 MiB: half of the free room of the file system (WEAVE_TRACE_LIMIT sets another)",
              reader.Trace(disk / "t.wtrace").notes, "the trace's own notes")
        equal(2, reader.Trace(disk / "t.wtrace").limit_by, "who set it")
        (disk / "t.wtrace").unlink()
        equal("", finish(folder, "One", WEAVE_TRACE=disk / "t.wtrace", WEAVE_TRACE_LIMIT="6m"), "an explicit limit stands")
        equal(0, reader.Trace(disk / "t.wtrace").limit_by, "who set it")
    finish(folder, "One", WEAVE_TRACE_LIMIT=None)
    equal(1, reader.Trace(folder / "t.wtrace").limit_by, "who set it")


def test_containers(folder):
    none, mib = (1 << 63) - 1, 1 << 20
    groups = {
        "unlimited": ("0::/a/b", {"a/b/memory.max": "max"}, none),
        "left above": ("0::/a/b", {"a/memory.max": 256 * mib, "a/memory.current": 56 * mib, "a/b/memory.max": "max"}, 50 * mib),
        "a quarter": ("0::/a/b", {"a/memory.max": 256 * mib, "a/b/memory.max": 64 * mib, "a/b/memory.current": 0}, 16 * mib),
        "all used": ("0::/a", {"a/memory.max": 64 * mib, "a/memory.current": 65 * mib}, 0),
        "a colon": ("0::/a:b", {"a:b/memory.max": 64 * mib}, 16 * mib),
        "root": ("0::/", {"memory.max": 64 * mib}, 16 * mib),
        "v1": ("12:cpu,cpuacct:/x\n5:memory:/docker/abc", {"memory/docker/abc/memory.limit_in_bytes": 128 * mib,
               "memory/docker/abc/memory.usage_in_bytes": 28 * mib}, 25 * mib),
        "v1, from inside": ("5:hugetlb,memory:/docker/abc", {"memory/memory.limit_in_bytes": 128 * mib}, 32 * mib),
        "v1, unlimited": ("5:memory:/docker/abc", {"memory/memory.limit_in_bytes": 9223372036854771712}, none),
        "another controller": ("5:memoryless:/a", {"memory/memory.limit_in_bytes": 128 * mib}, none),
    }
    for name, (cgroup, files, _) in groups.items():
        for path, text in {"proc/self/cgroup": cgroup, **{f"sys/fs/cgroup/{p}": t for p, t in files.items()}}.items():
            file = folder / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text}\n")
    process = start(folder, "Container", ROOTS=";".join(str(folder / n) for n in groups))
    out, err = process.communicate(timeout=200)
    equal((0, ""), (process.returncode, err), "exit, error stream")
    equal({n: g[2] for n, g in groups.items()}, dict(zip(groups, map(int, out.split()[:-1]))), "limits")


def test_unload(folder):
    if MONO:
        raise NotRun("Mono's load contexts cannot be unloaded")
    copy = folder / "copy" / "Weave.Runtime.dll"
    copy.parent.mkdir()
    shutil.copy(BUILT / "Weave.Runtime.dll", copy)
    t = run(folder, "Unload", COPY=copy, LATE=resource(folder, "late", b"WSYM of a plug-in"))
    t.all_balanced()
    equal(2 * 2 * 100_000, t.events(), "records")
    equal({7: 2 * 100_000}, t.counts, "counts")
    assert b"WSYM of a plug-in" in t.symbols(), t.symbols()
    equal(0, t.flags, "it neither ended in an orderly way nor knows of all symbols")


def test_thread_numbers(folder):
    t = run(folder, "HighNumbers")
    t.all_balanced()
    equal([1, (1 << 31) - 1, 1 << 31, (1 << 31) + 1], sorted(t.threads), "numbers of threads")
    equal(4 * 6, t.events(), "records")


def test_properties(folder):
    if MONO:
        raise NotRun("Mono has no runtimeconfig.json")
    finish(folder, "One", WEAVE_TRACE="off", properties={"weave.trace": str(folder / "property.wtrace")})
    assert (folder / "property.wtrace").exists(), "the property wins"
    finish(folder, "NoThreadLeft", properties={"weave.trace": "off"})
    equal(1, len(traces(folder)), "files")


def test_settings(folder):
    err = finish(folder, "Many", WEAVE_TRACE_POLICY="sometimes", WEAVE_TRACE_LIMIT="1M")
    equal('weave: weave.trace.policy: "sometimes" is not ring, drop or block; ring is used\n', err, "message")
    equal(1 << 20, reader.Trace(folder / "t.wtrace").size, "size")
    for limit in ("128k", "0", "262143"):
        again(folder)
        err = finish(folder, "Many", WEAVE_TRACE_LIMIT=limit)
        equal(f'weave: weave.trace.limit: "{limit}" is below the least, 256k; 256k is used\n', err, "message")
        t = reader.Trace(folder / "t.wtrace")
        assert t.size == 262_144 and t.events() > 2_000, f"{t.size} bytes, records: {t.events()}"
    for limit in ("many", "-1", "k", "99999999999g"):
        again(folder)
        err = finish(folder, "One", WEAVE_TRACE_LIMIT=limit)
        equal(f'weave: weave.trace.limit: "{limit}" is not a size such as 512m; 1g is used\n', err, "message")


def test_propagators(folder):
    cases = {}
    for line in (pathlib.Path(__file__).resolve().parents[3] / "tests/programs/requests/propagators.txt").read_text().splitlines():
        if not line.startswith("#"):
            setting, given, sent = re.split(r" \|(?: |$)", line)
            cases.setdefault(setting, []).append((given, sent))
    for setting, own in cases.items():
        (folder / "cases").write_text("".join(given + "\n" for given, _ in own))
        wrong = 'weave: OTEL_PROPAGATORS: "zipkin" is not tracecontext, baggage, b3, b3multi, jaeger, xray or none; it is left out\n'
        process = start(folder, "Propagators", OTEL_PROPAGATORS=None if setting == "default" else setting)
        out, err = process.communicate(timeout=200)
        equal(wrong if "zipkin" in setting else "", err, "error stream")
        equal("".join(sent + "\n" for _, sent in own) + "done\n", out, setting)
        again(folder)


def test_queued(folder):
    """Links are values of the number 65,534, so many for a span at most; one of what came in has its ids."""
    t = run(folder, "GoWithObjects")
    links = {}
    for thread in t.threads.values():
        for _, _, method, value in thread.values:
            if value.number == 65_534:
                links.setdefault(method, []).append(value.value.strip("'"))
    equal({10, 11}, set(links), "spans with links")
    equal(["00-4bf92f3577b34da6a300000000000000-00f067aa0ba902b7-01"], links[10], "of what came in")
    equal(3 * 128, len(links[11]), "as many as there may be")
    equal(links[10][0], links[11][0], "what came in, and what was taken")


def test_sampler(folder):
    """Roots are drawn by their trace's id, in this process and in any other, and what came in goes by its sender."""
    given = "traceparent=00-4bf92f3577b34da6a300000000000000-00f067aa0ba902b7-0"
    for sampler, argument, count, sampled, not_sampled, message in (
        ("parentbased_traceidratio", 0.25, 250, "1", "0", ""),
        ("PARENTBASED_TRACEIDRATIO", 0, 0, "1", "0", ""),
        ("parentbased_always_off", None, 0, "1", "0", ""),
        ("always_off", None, 0, "0", "0", ""),
        ("always_on", None, 1000, "1", "1", ""),
        ("traceidratio", 0.9, 900, "0", "0", ""),
        ("traceidratio", "1e3", 1000, "1", "1", 'weave: OTEL_TRACES_SAMPLER_ARG: "1e3" is not a number from 0 to 1; 1 is used\n'),
        ("jaeger_remote", None, 1000, "1", "0", 'weave: OTEL_TRACES_SAMPLER: "jaeger_remote" is not always_on, always_off or traceidratio, nor '
         "parentbased_ and one of these; parentbased_always_on is used\n"),
    ):
        (folder / "cases").write_text(f"{given}1\n{given}0\n")
        process = start(folder, "Sampler", OTEL_TRACES_SAMPLER=sampler, OTEL_TRACES_SAMPLER_ARG=argument)
        out, err = process.communicate(timeout=200)
        equal(message, err, "error stream")
        taken, *came, _ = out.splitlines()
        assert abs(int(taken.split()[0]) - count) < 80 and taken.endswith(" sound"), f"{sampler}: {taken}"
        equal([sampled, not_sampled], came, sampler)
        again(folder)


def test_off(folder):
    equal("", finish(folder, "NoThreadLeft", WEAVE_TRACE="OFF"), "error stream")
    equal([], traces(folder), "no file")


def started(folder, program):
    process = start(folder, program)
    equal("done\n", process.stdout.readline(), "output")
    return process


def killed(process):
    process.kill()
    process.communicate()


def test_killed_at_rest(folder):
    killed(started(folder, "Killed"))
    t = reader.Trace(folder / "t.wtrace")
    equal(12_345 * 6, t.named("other").events(), "records of the other thread")
    equal(34_567 * 6 + 1, t.named("main").events(), "records of main")
    equal(1, t.balanced(t.named("main")), "open calls")
    equal(0, t.flags & 1, "ended in an orderly way")


def test_killed_at_work(folder):
    for i in range(3):
        process = started(folder, "KilledAtWork")
        time.sleep(0.02 + 0.037 * i)
        killed(process)
        t = reader.Trace(folder / "t.wtrace")
        assert t.events() > 600
        assert 1 <= t.balanced(t.named("main")) <= 4
        # Cut off anywhere, whole words are still what they were.
        torn = folder / "torn.wtrace"
        data = (folder / "t.wtrace").read_bytes()
        for cut in (CHUNK + 32, 2 * CHUNK - 8, 2 * CHUNK + 4_096):
            torn.write_bytes(data[:cut] + bytes(-cut % CHUNK))
            assert reader.Trace(torn).events() <= t.events()
        again(folder)


def counts(n):
    return {1: n, 2: n, (-3) & 0xFFFFFFFF: n}


def test_counts(folder):
    expected = counts(100_000 + 8 * 5_000 + 300 * 10)
    expected.update({id << 16: 8 * min(id, 3) for id in range(1, 6001)})
    for sample in 1000, "off":
        t = run(folder, "Counts", WEAVE_TRACE_SAMPLE=sample)
        t.all_balanced()
        equal(expected, t.counts, "counts")
        equal((600 + 2, 0, 0), (t.events(), t.lost, t.failures), "records, lost, failures")
        again(folder)
    finish(folder, "Counts", WEAVE_TRACE="off")
    assert not traces(folder), "a file though tracing is off"


def sums(t, times, rounds, more=()):
    """The sums are those of so many calls of `Summed`, of so many rounds; and no nanosecond is nobody's, or counted twice."""
    fourths, thirds = sum((n + 3) // 4 for n in rounds), sum((n + 2) // 3 for n in rounds)
    expected = {1: sum(rounds), 2: sum(rounds) + fourths, 5: fourths + thirds, 6: 20 * times, 10: times, **dict(more)}
    equal(expected, {method: one[0] for method, one in t.sums.items()}, "calls")
    equal(expected, {method: one[6] for method, one in t.sums.items()}, "calls that ended")
    equal({5: thirds}, {method: one[1] for method, one in t.sums.items() if one[1]}, "errors")
    equal(t.sums[10][2], sum(one[3] for one in t.sums.values()) + sum(thread.own() for thread in t.threads.values()), "own times")


def test_sums(folder):
    rounds = [20_000, *[1_000] * 8, *[12] * 100]
    for sample in 1000, "off":
        t = run(folder, "Sums", WEAVE_TRACE_SAMPLE=sample)
        t.all_balanced()
        sums(t, len(rounds), rounds, [(7, 65_535), (10, len(rounds) + 1)])
        equal({11: sum(rounds), 7: 70_000 - 65_535}, t.counts, "counts")
        records = sum((n + 3) // 4 * 4 for n in rounds) + 2
        equal((records, 0, 0), (t.events(), t.lost, t.failures), "records, lost, failures")
        again(folder)
    finish(folder, "Sums", WEAVE_TRACE="off")
    assert not traces(folder), "a file though tracing is off"


def test_sums_and_a_kill(folder):
    process = started(folder, "SumsAndStays")
    for _ in range(5000):
        one = reader.Trace(folder / "t.wtrace").sums.get(10)
        if one and one[6] == 2:
            break
        time.sleep(0.01)
    killed(process)
    t = reader.Trace(folder / "t.wtrace")
    sums(t, 2, [1_200, 120])
    equal(0, t.flags & 1, "ended in an orderly way")


def test_counts_in_a_ring(folder):
    for policy in "ring", "drop":
        t = run(folder, "CountsAndMany", WEAVE_TRACE_LIMIT="512k", WEAVE_TRACE_POLICY=policy)
        equal(MANY, t.events() + t.lost, "recorded, and lost or overwritten")
        assert t.lost > 0, "the trace is not full"
        equal(counts(1_000 + 100 * 10), t.counts, f"counts under {policy}")
        again(folder)


def test_counts_and_a_kill(folder):
    process = started(folder, "CountsAndStays")
    # What was counted is in the trace while the process runs, though nothing else happens in it.
    for _ in range(5000):
        if reader.Trace(folder / "t.wtrace").counts == counts(12_345 + 100):
            break
        time.sleep(0.01)
    killed(process)
    t = reader.Trace(folder / "t.wtrace")
    equal(counts(12_345 + 100), t.counts, "counts")
    equal(0, t.flags & 1, "ended in an orderly way")


def test_exit_with_threads_at_work(folder):
    t = run(folder, "Exits")
    equal(3, t.flags, "flags")
    main = t.named("main")
    assert t.balanced(main) == 0 and main.events() in (600, 606), main.events()


def test_short_threads(folder):
    t = run(folder, "ShortThreads")
    t.all_balanced()
    equal(5_000, len(t.threads), "threads")
    equal(5_000 * 12, t.events(), "records")
    # Chunks of the dead are used again, and up to 8 MiB are ready ahead of need; without that it were 320.
    assert t.size <= 16 << 20, f"size: {t.size}"
    assert all(x.name.startswith("Thread ") for x in t.threads.values()), "names"


def test_waves_ring(folder):
    t = run(folder, "Waves", WEAVE_TRACE_LIMIT="1m")
    equal(1_000 * 1_200, t.events() + t.lost, "recorded, overwritten and lost")
    assert t.failures == 0 and t.overwritten > 0


def test_pool(folder):
    t = run(folder, "Pool")
    t.all_balanced()
    equal(20_000 * 60, t.events(), "records")


def test_interrupted(folder):
    t = run(folder, "Interrupted")
    t.all_balanced()
    equal(1_200_000, t.events(), "records")


def test_deep(folder):
    if MONO:
        raise NotRun("Mono lets the stack end where it says that there is enough of it")
    t = run(folder, "Deep")
    for thread in t.threads.values():
        equal(0, t.balanced(thread) if thread.lost == 0 else 0, "open calls")
    equal(t.lost, t.lost_in_threads(), "LOST escapes against the header")
    # Each thread's 20 exceptions, three deep: recorded, or counted as lost.
    assert t.events() + t.lost > 5 * 20 * 600


def test_small_stacks(folder):
    if MONO:
        raise NotRun("Mono says of every stack that there is enough of it")
    process = start(folder, "SmallStacks")
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0 and not err, f"exit {process.returncode}: {out} {err[-3000:]}"
    # The program throws one exception in each thread, and three methods throw it on.
    thrown = int(re.search(r"first chance (\d+)", out)[1])
    equal(6 * 4, thrown, "exceptions that the program's own handler saw")
    t = reader.Trace(folder / "t.wtrace")
    each = 2_000 * 6 + 6
    equal(6 * each + 6, t.events() + t.lost, "recorded and lost")
    equal((3 * each, 0), (t.short, t.failed), "for want of stack, for other reasons")
    for i in (3, 4, 5):
        small = t.named(f"small{i}")
        equal((0, each), (t.balanced(small), small.events()), "a small thread that finds a trace is recorded")


def test_short_recursion(folder):
    if MONO:
        raise NotRun("Mono says of every stack that there is enough of it")
    process = start(folder, "ShortRecursion")
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0 and not err, f"exit {process.returncode}: {out} {err[-3000:]}"
    depth, took, thrown = map(int, re.search(r"depth (\d+) took (\d+) first chance (\d+)", out).groups())
    assert depth > 20_000, depth
    equal(3, thrown, "exceptions that the program's own handler saw")
    t = reader.Trace(folder / "t.wtrace")
    equal(12 + 2 * depth, t.events() + t.lost, "recorded and lost")
    deep = t.named("deep")
    equal((0, 0), (t.lost, t.balanced(deep)), "lost, open calls")
    equal({"System.InsufficientExecutionStackException"}, {e.thrown[0] for e in deep.all() if e.thrown}, "described")


def test_woven_host(folder):
    t = run(folder, "WovenHost", WEAVE_TRACE_POLICY="x", WEAVE_TRACE_LIMIT="300k")
    t.all_balanced()
    equal(6_000, t.events(), "records")
    equal(1, len(t.threads), "threads")


def test_logical(folder):
    t = run(folder, "Logical")
    t.all_balanced()
    equal(
        [
            (11, ["resume", "suspend", "resume", "suspend", "resume", "end"]),
            (12, ["begin", "resume", "suspend", "fail"]),
            (13, ["begin", "resume", "suspend"]),
            (14, ["begin", "end"]),
            (15, ["resume", "fail"]),
            (17, ["begin", "resume", "end"]),
            (18, ["resume", "suspend", "resume", "end"]),
        ],
        t.steps(), "what the calls did",
    )
    call = next(steps for steps in t.calls.values() if steps[0].id == 11)
    equal(3, len({s.thread for s in call}), "threads of the first call")
    thrown = [e.thrown for e in t.named("main").all() if e.thrown]
    name = "System.ApplicationException"
    equal([(name, "between"), (name, "inside")], thrown, "exceptions")
    first = [e.logical[0] for x in t.threads.values() for e in x.all() if e.kind == 1 and e.logical]
    equal([0, 0, 0, 1, 1, 1, 1, 1, 1], sorted(first), "first pieces")


def test_many_logical(folder):
    t = run(folder, "ManyLogical")
    t.all_balanced()
    equal(80_000, len(t.calls), "calls")
    equal(320_000, t.events(), "records")
    for policy in ("ring", "drop"):
        again(folder)
        t = run(folder, "ManyLogical", WEAVE_TRACE_LIMIT="512k", WEAVE_TRACE_POLICY=policy)
        equal(320_000, t.events() + t.lost, f"recorded and lost, {policy}")


def test_awaits(folder):
    t = run(folder, "Awaits")
    t.all_balanced()
    equal([(31, ["resume", "suspend"] * 10 + ["resume", "end"])] * 50, t.steps(), "what the calls did")


def test_follows(folder):
    t = run(folder, "Follows")
    t.all_balanced()
    equal(
        [
            (41, ["resume", "suspend", "end"]),
            (42, ["resume", "end"]),
            (43, ["resume", "end"]),
            (44, ["resume", "suspend", "fail"]),
            (45, ["resume", "suspend", "fail"]),
            (46, ["resume", "fail"]),
            (47, ["resume", "fail"]),
            (48, ["resume", "suspend", "resume", "end"]),
            (49, ["resume", "end"]),
            (50, ["resume", "fail"]),
            (51, ["resume", "suspend", "end"]),
        ],
        t.steps(), "what the calls did",
    )
    ends = {steps[0].id: next(s.thread for s in steps if s.what in ("end", "fail")) for steps in t.calls.values()}
    names = {id: t.threads[thread].name for id, thread in ends.items()}
    equal({41: "completes", 44: "fails", 45: "cancels", 48: "gives"}, {id: names[id] for id in (41, 44, 45, 48)}, "where they ended")
    values = [(e.id, v.value) for x in t.threads.values() for e, recorded in x.valued() for v in recorded]
    equal([(48, "'given'"), (49, "7")], sorted(values), "results")


def test_unobserved(folder):
    run(folder, "Unobserved")


def test_many_followed(folder):
    t = run(folder, "ManyFollowed")
    t.all_balanced()
    equal(20_000, len(t.calls), "calls")
    equal({1}, {sum(s.what == "end" for s in steps) for steps in t.calls.values()}, "how often they ended")
    equal(set(), {s.what for steps in t.calls.values() for s in steps} - {"resume", "suspend", "end"}, "what else they did")
    values = sum(len(recorded) for x in t.threads.values() for _, recorded in x.valued())
    equal(10_000, values, "results")


def test_values(folder):
    """Each value is in front of its record, wherever chunks end."""
    t = run(folder, "ManyValues")
    t.all_balanced()
    calls = iter(t.named("main").valued())
    for i in range(40_000):
        text = chr(ord("a") + i % 26) * min(i % 140, 128)
        begun = [reader.Value(0, ascii(text), i % 140 > 128, False, False), reader.Value(1, str(i), False, False, False)]
        equal(begun, next(calls)[1], f"values in front of enter {i}")
        equal([reader.Value(2, ("false", "true")[i % 2], False, False, True)], next(calls)[1], f"values in front of exit {i}")
    equal((0, 0), (t.lost, t.failures), "nothing lost")


def test_woven_collections(folder):
    """What a value's text is asked of may be woven, and record values itself."""
    t = run(folder, "WovenCollection")
    t.all_balanced()
    values = [(call.id, [value.value for value in recorded]) for call, recorded in t.named("main").valued() if recorded]
    # A URI is what it was made of.
    equal([(5, ["System.Collections.Immutable.Woven(3)"]), (5, ["http://a.example"])], values, "values")


def test_locked_collections(folder):
    """A value's text waits for no lock that the program has, and asks no collection of the program's."""
    t = run(folder, "LockedCollections")
    t.all_balanced()
    equal(3, sum(thread.name != "main" for thread in t.threads.values() if any(recorded for _, recorded in thread.valued())), "threads with values")


def test_masked_arrays(folder):
    """What masks hide of arrays is the same as of strings, however little of them is made a text."""
    t = run(folder, "MaskedArrays")
    values = [recorded[0] for _, recorded in t.named("main").valued() if recorded]
    wanted = [("a" * 20, False), ("a" * 18 + "**", True), ("***bc" + "d" * 15, True), ("a" * 20, True), ("[***, b, " + "c" * 11, True)]
    equal([reader.Value(0, text, True, masked, False) for text, masked in wanted], values, "values")


def test_aborts(folder):
    if not MONO:
        raise NotRun("CoreCLR aborts no thread")
    t = run(folder, "Aborts")
    equal(0, t.lost, "lost")
    equal(6_000, t.named("main").events(), "records of main")
    assert len(t.threads) > 30, "most threads live long enough to record something"
    for thread in t.threads.values():
        assert thread.whole()


def resource(folder, name, data, text="public class C { }", references=()):
    """An assembly with a symbols map."""
    (folder / "map").write_bytes(data)
    source = folder / f"{name}.cs"
    source.write_text(text)
    core = toolchain.mono_libraries() / "4.5-api/mscorlib.dll"
    toolchain.run([*toolchain.csc(), "-nologo", "-nostdlib", "-target:library", *(f"-r:{r}" for r in (core, *references)),
                   f"-res:{folder / 'map'},Weave.Symbols", f"-out:{folder / name}.dll", str(source)])
    return folder / f"{name}.dll"


def test_symbols(folder):
    # That of the program itself (Programs.exe has one), and one that comes late.
    late = os.urandom(200_001)
    path = resource(folder, "late", late)
    t = run(folder, "LateSymbols", LATE=path)
    equal([b"WSYM and so on", late], t.symbols(), "maps")
    equal(3, t.flags, "flags")
    # The ring leaves them alone; what is too big for the limit is left out and the flag says so.
    again(folder)
    t = run(folder, "LateSymbols", LATE=path, WEAVE_TRACE_LIMIT="640k")
    equal((2, 3), (len(t.symbols()), t.flags), "maps, flags")
    again(folder)
    t = run(folder, "LateSymbols", LATE=path, WEAVE_TRACE_LIMIT="256k")
    equal((1, 1), (len(t.symbols()), t.flags), "maps, flags")
    again(folder)
    t = run(folder, "Many", WEAVE_TRACE_LIMIT="512k")
    assert t.overwritten > 0
    equal([b"WSYM and so on"], t.symbols(), "kept in the ring")


def test_loaded_while_the_loader_is_at_work(folder):
    # The struct's library is loaded while the class is laid out, for which Mono holds a lock.
    inner = resource(folder, "inner", b"the struct's", "public struct S { public int N; }")
    outer = resource(folder, "outer", b"the class's", "public class C { public S Field; }", [inner])
    t = run(folder, "LoadWithinALoad", LATE=outer)
    equal([b"WSYM and so on", b"the class's", b"the struct's"], t.symbols(), "maps")
    equal(3, t.flags, "flags")


class SwitchedProcess:
    """A program that makes switched calls, and the requests that it gets."""

    def __init__(self, folder, program="SwitchedCalls", symbols=None, seed="1", **settings):
        self.trace, self.number = folder / "t.wtrace", 0
        settings |= {"WEAVE_TRACE_SEED": seed} if seed else {}
        self.process = start(folder, program, LATE=resource(folder, "late", symbols or maps.switched()), **settings)
        equal("ready\n", self.process.stdout.readline(), "output")
        self.wait(lambda: reader.Trace(self.trace).changes)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.process.kill()
        self.process.communicate()

    def wait(self, holds):
        for _ in range(12_000):
            if holds():
                return
            assert self.process.poll() is None, f"the program has ended: {self.process.communicate()}"
            time.sleep(0.005)
        raise AssertionError("nothing came of it")

    def tell(self, *lines):
        for line in lines:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            rounds = int(self.process.stdout.readline())
        return rounds

    def request(self, state):
        """Has this state taken."""
        self.request_number(self.number + 1, state)

    def request_number(self, number, state):
        self.number = number
        self.put(self.text(number, state))
        self.wait(self.taken)

    def head(self):
        with open(self.trace, "rb") as file:
            return file.read(8288)

    def nonce(self):
        return self.head()[8272:8288].hex()

    def text(self, number, state):
        origin = struct.unpack_from("<Q", self.head(), 16)[0]
        return f"weave control 2\nto {self.process.pid} {origin}\nnonce {self.nonce()}\nnumber {number}\n{state}\n".encode()

    def requests(self):
        return pathlib.Path(f"{self.trace}.{self.nonce()[:16]}.control")

    def put(self, request):
        new = self.trace.with_name("new")
        new.write_bytes(request)
        new.replace(self.requests())

    def refuses(self, why):
        """What lies there now is seen and not taken; then a good one is."""
        time.sleep(0.2)  # the library looks every 20 ms by now: under load this asks for less, and never fails
        assert self.taken(), why
        self.requests().unlink(missing_ok=True)
        self.request("level debug")

    def taken(self):
        return struct.unpack_from("<I", self.head(), 8268)[0] == self.number

    def end(self):
        out, err = self.process.communicate(timeout=60)
        equal((0, "done\n"), (self.process.returncode, out), f"exit, output; {err}")
        t = reader.Trace(self.trace)
        t.all_balanced()
        equal((0, 0), (t.lost, t.failures), "lost, failures")
        assert not self.requests().exists(), "the request is gone with the process"
        return t


def enters(t, method):
    """How many calls of a method are in the trace one by one."""
    return sum(e.kind == ENTER and e.id == method for thread in t.threads.values() for e in thread.all())


SPECIAL = maps.SPECIAL
SWITCHED = (2, 3, 5, 6, SPECIAL)


def test_switched_modes(folder):
    states = ("level info\nmode rules", "level debug\nmode rules", "level error\nmode rules", "level debug\nmode off",
              "level error\nenable sql", "level debug\ndisable sql", "level debug\nmode count", "level debug\nmode aggregate",
              "level debug\nmode record", "level info\nmode rules")
    recorded, summed, counted = (dict.fromkeys(SWITCHED, 0) for _ in range(3))
    with SwitchedProcess(folder) as p:
        for i, state in enumerate(states):
            if i > 0:
                p.request(state)
            p.tell("round 1000")
            n, off = 4_000, "off" in state
            sql = not off and "disable" not in state and ("enable" in state or "error" not in state)
            noise = not off and "debug" in state
            by_rules = "rules" in state or "later" in state or "able" in state
            to = counted if "count" in state else summed if "aggregate" in state else recorded
            to[2] += 2 * n * sql
            to[3] += n * noise
            to[SPECIAL] += n * sql
            (summed if by_rules else to)[5] += n * noise
            (counted if by_rules else to)[6] += n * (sql or noise)
        t = p.end()
    equal(1 + 4_000 * len(states), enters(t, 1), "calls that cannot be switched")
    equal(recorded, {method: enters(t, method) for method in SWITCHED}, "recorded")
    equal(summed, {method: t.sums.get(method, [0])[0] for method in SWITCHED}, "summed up")
    equal(counted, {method: t.counts.get(method, 0) for method in SWITCHED}, "counted")
    assert all(one[0] == one[6] for one in t.sums.values()), "what began has ended"
    equal((1, len(states) - 1), (t.controlled, t.request), "requests")
    equal(len(states), len(t.changes), "changes")
    equal("level info\nmode rules\n", t.changes[0][1], "what it began with")
    equal("level error\nmode rules\nenable sql\n", t.changes[4][1], "the fourth change")
    assert all(a < b for (a, _), (b, _) in zip(t.changes, t.changes[1:])), "times ascend"


def test_switched_while_calls_are_open(folder):
    with SwitchedProcess(folder) as p:
        p.tell("enter 2")  # on: recorded, and its end, though it is off then
        p.request("level error")
        p.tell("enter 2", "enter 3")  # off, one within itself
        p.request("level debug")
        p.tell("error 3", "enter 3", "exit 3", "exit 2", "exit 2")
        p.request("level error")
        p.tell("enter 4")  # off, with nothing open around it
        p.request("level info")
        p.tell("enter 4")
        p.request("level error")
        p.tell("exit 4", "exit 4")  # recorded; began off
        p.request("level debug\nmode aggregate")
        p.tell("enter 3")  # summed up, and so it ends
        p.request("level debug\nmode count")
        p.tell("enter 2")
        p.request("level debug\nmode rules")
        p.tell("exit 2", "exit 3")
        p.request("level debug\nmode record")
        p.tell("enter 5", "error 5")  # as if it were not summed up
        t = p.end()
    events = t.named("main").all()[2:]
    equal("+2 +3 -3 -2 +4 -4 +5 !5", " ".join("_+-!"[e.kind] + str(e.id) for e in events), "records")
    equal("System.ApplicationException", events[7].thrown[0], "the exception")
    equal((1, 1), (t.sums[3][6], t.counts[2]), "summed up, counted")


def test_switched_values(folder):
    with SwitchedProcess(folder) as p:
        p.tell("decide 2", "value 2 a 0", "value 2 b 2")  # on
        p.request("level error")
        p.tell("begin 2", "decide 2", "value 2 c 0", "begin 2")  # off
        p.request("level info")
        p.tell("exit 2", "exit 2")
        p.request("level info\nmode aggregate")
        p.tell("decide 2", "value 2 d 0", "begin 2", "exit 2")
        p.request("level info\nmode count")
        p.tell("decide 2", "value 2 e 0", "begin 2", "exit 2")
        t = p.end()
    calls = [("_+-!"[e.kind], [v.value for v in values]) for e, values in t.named("main").valued() if e.id == 2]
    equal([("+", ["'a'", "'b'"]), ("-", [])], calls, "calls with their values")
    equal(2, len(t.named("main").values), "values")
    equal((1, 1), (t.sums[2][6], t.counts[2]), "summed up, counted")


def test_switched_often_under_load(folder):
    states = ("level debug", "level error", "level debug\ndisable sql", "level debug\nmode off", "level error\nenable noise",
              "level debug\nmode count", "level info", "level debug\nmode aggregate", "level debug\nmode record")
    with SwitchedProcess(folder, WEAVE_TRACE_LIMIT="3g") as p:
        p.tell("run")
        for i in range(SWITCHES):
            p.request(states[i % len(states)])
        p.request("level debug\nmode rules")
        rounds = p.tell("stop", "round 10") + 40
        t = p.end()
    equal(1 + rounds, enters(t, 1), "calls that cannot be switched")
    for method, most in (2, 2 * rounds), (3, rounds), (5, rounds), (6, rounds), (SPECIAL, rounds):
        calls = enters(t, method) + t.counts.get(method, 0) + t.sums.get(method, [0])[0]
        assert 40 < calls < most, f"{calls} of {most} calls of {method}"
    assert all(one[0] == one[6] for one in t.sums.values()), "what began has ended"


def test_switched_in_code_that_comes_late(folder):
    # Its own level counts before its map is read, and names behind that.
    later = resource(folder, "later", maps.switched(((2, "plug-in"),), ((8, [0]),)))
    with SwitchedProcess(folder, PLAIN_FIRST="1") as p:
        p.tell("enter 8", "exit 8")
        p.request("level info\nenable plug-in")
        p.tell("enter 8", "exit 8", f"load {later}")

        def read():
            p.tell("enter 8", "exit 8")
            return enters(reader.Trace(p.trace), 8)

        p.wait(read)
        p.request("level debug\ndisable plug-in")
        before = enters(reader.Trace(p.trace), 8)
        p.tell("enter 8", "exit 8", "enter 3", "exit 3")
        t = p.end()
    equal((before, 1), (enters(t, 8), enters(t, 3)), "calls")


AUTO = maps.switched(((1 | 16, "hot", 1000), (1, "sql")), ((2, [1]), (6, [1]), (20, [0]), (21, [0]), (22, [0]), (-7 & 0xFFFFFFFF, [0])))


def test_auto_goes_down(folder):
    with SwitchedProcess(folder, symbols=AUTO, WEAVE_TRACE_RATE="1k") as p:
        p.tell("until 20 2 paced")
        p.tell("slowly 22 20")
        p.tell("until 20 0")
        calls = p.tell("until 20 0")
        other = p.tell("until -7 2 paced", "until -7 0") - calls
        p.tell("enter 2", "exit 2", "enter 6", "exit 6")
        t = p.end()
    equal(calls, enters(t, 20) + t.sums[20][0] + t.counts[20], "calls, recorded, summed up or counted")
    equal(20, enters(t, 22), "calls that last are recorded")
    equal((1, 1), (enters(t, 2), t.counts[6]), "what is not auto is as the rules say")
    equal(other, enters(t, -7 & 0xFFFFFFFF) + t.sums[-7 & 0xFFFFFFFF][0] + t.counts[-7 & 0xFFFFFFFF], "of an id with the highest bit")
    equal([(1, [20]), (2, [20]), (1, [-7 & 0xFFFFFFFF]), (2, [-7 & 0xFFFFFFFF])], [one[1:] for one in t.decisions], "decisions")
    assert t.sums[20][0] == t.sums[20][6]


def sign(event):
    """Of an enter, an exit or an error, or of what a logical call does without."""
    return "_+-!"[event.kind] if event.kind in (1, 2, 3) else "_"


def test_switched_logical_calls(folder):
    with SwitchedProcess(folder) as p:
        p.tell("starts 2", "suspend 2", "begins 2", "begins 3", "resume 3", "suspend 3")  # 3 is off
        p.request("level debug\nmode off")
        # What began goes on, and what did not does not; nor does what begins now.
        p.tell("resume 3", "end 3", "resume 2", "suspend 2", "end 2", "resume 2", "end 2", "starts 2", "suspend 2", "resume 2", "fail 2", "begins 2", "end 2")
        p.request("level debug\nmode count")
        p.tell("starts 2", "suspend 2", "resume 2", "end 2", "begins 3", "resume 3", "suspend 3", "resume 3", "end 3")
        p.request("level debug\nmode aggregate")
        p.tell("starts 5", "suspend 5", "resume 5", "fail 5")
        p.request("level debug\nmode rules")
        p.tell("begins 5", "resume 5", "end 5", "starts 6", "end 6")
        t = p.end()
    events = t.named("main").all()[2:]
    equal("+2 -2 _2 +2 -2 _2 +2 -2 +5 -5 +5 !5 _5 +5 -5", " ".join(f"{sign(e)}{e.id}" for e in events), "records")
    equal((1, 1, 1), (t.counts[2], t.counts[3], t.counts[6]), "counted")
    assert 5 not in t.sums, "logical calls are not summed up"


def test_values_go_with_logical_calls(folder):
    with SwitchedProcess(folder) as p:
        p.tell("decide 2 decided", "value 2 a 0", "pass 2", "starts 2 decided", "suspend 2")
        p.tell("decide 3 decided", "value 3 a 0", "pass 3", "starts 3 decided", "suspend 3", "end 3")
        # What is switched in between decides about neither.
        p.tell("decide 2 decided", "value 2 b 0", "decide 3 decided", "value 3 b 0")
        p.request("level debug\nmode off")
        p.tell("pass 2", "starts 2 decided", "end 2", "end 2")
        p.request("level debug\nmode rules")
        p.tell("pass 3", "starts 3 decided", "end 3", "decide 5 decided", "value 5 c 0", "pass 5", "starts 5 decided", "end 5")
        p.request("level debug\nmode record")
        p.tell("starts 2 decided", "end 2")  # nothing was passed
        t = p.end()
    calls = [(f"{sign(e)}{e.id}", [v.value for v in values]) for e, values in t.named("main").valued() if e.id != 1]
    equal([("+2", ["'a'"]), ("-2", []), ("+2", ["'b'"]), ("-2", []), ("_2", []), ("+5", ["'c'"]), ("-5", [])], calls, "calls with their values")


def test_auto_counts_logical_calls(folder):
    with SwitchedProcess(folder, symbols=AUTO, WEAVE_TRACE_RATE="1k") as p:
        p.tell("starts 21", "suspend 21")
        calls = p.tell("pieces 20")
        p.tell("resume 21", "end 21", "pieces 20")
        t = p.end()
    equal([(2, [20])], [one[1:] for one in t.decisions][:1], "decisions")
    equal(calls + 1, enters(t, 20) // 2 + t.counts[20], "calls, recorded or counted")
    equal(2, enters(t, 21), "pieces of a call that is seldom")


def test_auto_keeps_what_the_ring_has(folder):
    # The rate is more than any thread writes.
    with SwitchedProcess(folder, symbols=AUTO, WEAVE_TRACE_RATE="50m", WEAVE_TRACE_LIMIT="1m") as p:
        p.tell("until 20 2")


def test_auto_begins_again(folder):
    with SwitchedProcess(folder, symbols=AUTO, WEAVE_TRACE_RATE=1000) as p:
        p.tell("until 20 2 paced")
        p.request("level info\nmode rules\nreset")
        p.tell("until 20 1 paced", "until 20 2 paced")
        p.request("level info\nmode record")
        p.tell("enter 20", "exit 20")
        p.request("level info\nmode auto")
        p.tell("until 6 1 paced", "until 6 2 paced")
        t = p.end()
    equal([1, 3, 1, 1], [what for _, what, _ in t.decisions], "decisions")
    equal([6], t.decisions[3][2], "not only what the rules left to the library")
    equal("level info\nmode auto\n", t.changes[-1][1], "the last change")
    assert t.sums[6][0] > 0


def test_auto_tells_slow_calls(folder):
    with SwitchedProcess(folder, symbols=AUTO, WEAVE_TRACE_RATE=1000, WEAVE_TRACE_LIMIT="3g") as p:
        calls = p.tell("until 20 2 paced")
        p.request("level info\nmode aggregate")
        p.tell("enter 20", "sleep 20", "exit 20", "enter 21", "error 21", "enter 2", "sleep 20", "error 2")
        t = p.end()
    main = next(number for number, thread in t.threads.items() if thread.name == "main")
    told = [call for call in t.slow if call[4] or call[3] >= 20_000_000]
    equal([(main, 20, 0), (main, 21, 1)], [(who, method, failed) for who, method, _, _, failed in told], "calls that are told")
    assert all(0 < start <= start + took <= t.end and took <= t.sums[method][5] for _, method, start, took, _ in t.slow), t.slow
    assert all(took >= 1_000_000 or failed for _, _, _, took, failed in t.slow), t.slow
    equal((calls + 1, 1, 1, 1), (enters(t, 20) + t.sums[20][0], t.sums[21][0], t.sums[21][1], t.sums[2][1]), "they are in the sums")


def test_auto_tells_so_many_calls_a_second(folder):
    with SwitchedProcess(folder, symbols=AUTO, WEAVE_TRACE_RATE=1000) as p:
        p.request("level info\nmode aggregate")
        p.tell("failing 21 200000")
        t = p.end()
    told = sum(method == 21 for _, method, *_ in t.slow)
    assert 1_000 <= told <= 1_000 * (t.end // 1_000_000_000 + 2), f"{told} of 200000 calls are told by themselves"
    equal((200_000, 200_000), t.sums[21][:2], "all calls, and those that failed, are in the sums")


def test_auto_within_the_rate(folder):
    for rate in "1000M", "off":
        with SwitchedProcess(folder, symbols=AUTO, WEAVE_TRACE_RATE=rate) as p:
            for _ in range(200):
                p.tell("slowly 22 1")
            t = p.end()
        equal([], t.decisions, "decisions")
        equal(200_000, enters(t, 20), "calls")
        again(folder)


def test_auto_within_what_a_rule_allows(folder):
    symbols = maps.switched(((1 | 16 | 128, "hot", 1000, 10), (1, "sql")), ((2, [1]), (20, [0])))
    with SwitchedProcess(folder, symbols=symbols, WEAVE_TRACE_RATE="off") as p:
        p.tell("until 20 2")  # summed up, then counted: without the rule nothing is decided
        t = p.end()
    equal([20], sorted({method for _, _, methods in t.decisions for method in methods}), "what was decided about")


def test_auto_counts_straight_line_code(folder):
    with SwitchedProcess(folder, symbols=maps.switched(((1 | 16, "hot", 1000),), ((29, [0]),))) as p:
        calls = 0
        while not any(what == 4 for _, what, _ in reader.Trace(p.trace).decisions):
            p.tell("calls 29 5000000")
            calls += 5_000_000
        t = p.end()
    equal((0, [(4, [29])]), (enters(t, 29), [(what, methods) for _, what, methods in t.decisions]), "records and decisions")
    assert 29 not in t.sums and 0 < t.counts[29] <= calls, f"{t.counts[29]} of {calls} calls counted"


SAMPLED = maps.switched(((1 | 32, "tenth", 10), (1 | 32, "third", 3), (1 | 32 | 64, "twice", 2), (1, "sql")), ((2, [3]), (30, [0]), (31, [1]), (32, [2]), (34, [0]), (35, [1])))


def sampled(thread, method):
    """For how many calls each outermost sampled call of a method stands."""
    return [weight for (number, place), weight in thread.weights.items() if thread.segments[number][place].id == method]


def taken(t, method):
    return [weight for thread in t.threads.values() for weight in sampled(thread, method)]


def test_sampled_trees(folder):
    n = 1_003
    with SwitchedProcess(folder, symbols=SAMPLED) as p:
        p.tell(f"trees {n}")
        t = p.end()
    threads = [thread for thread in t.threads.values() if any(e.id == 2 for e in thread.all())]
    equal(4, len(threads), "threads")
    phases = set()
    for thread in threads:
        trees, stack = [], []
        for e, values in thread.valued():
            if e.kind == ENTER:
                stack.append(e.id)
                if stack == [1, 30]:
                    trees.append([])
            if 30 in stack:
                trees[-1].append("_+-!"[e.kind] + str(e.id) + "".join(f" {v.value}" for v in values))
            if e.kind != ENTER:
                stack.pop()
        firsts = [int(tree[0].split()[1]) for tree in trees]
        phases.add(firsts[0])
        equal(list(range(n // 10)), [i // 10 for i in firsts if i < n // 10 * 10], "one of ten is taken")
        for i, tree in zip(firsts, trees):
            equal(f"+30 {i},+31,+30,-30,!31,+2,-2,{'-!'[i % 3 == 0]}30 {i}", ",".join(tree), "with all below")
        equal(([10] * len(trees), []), (sampled(thread, 30), sampled(thread, 31)), "it stands for ten; those below for themselves")
        equal((n, n), tuple(sum(e.kind == ENTER and e.id == method for e in thread.all()) for method in (1, 2)), "calls that are not sampled")
        equal(2 * len(trees), len(thread.values), "values")
    assert len(phases) > 1, "threads do not begin at the same call"


def test_sampled_anew_in_each_process(folder):
    """Each process takes other calls, unless a seed says which."""
    drawn = []
    for seed in "1", "1", "2", None, None:
        (folder / "t.wtrace").unlink(missing_ok=True)
        with SwitchedProcess(folder, symbols=SAMPLED, seed=seed) as p:
            p.tell("trees 503")
            threads = p.end().threads
        drawn.append({number: which for number, thread in threads.items()
                      if (which := [v.value for e, values in thread.valued() for v in values if (e.kind, e.id) == (ENTER, 30)])})
    for one, other, same in (0, 1, True), (0, 2, False), (3, 4, False):
        both = drawn[one].keys() & drawn[other].keys()
        assert len(both) >= 3, f"threads {both}"
        equal([same] * len(both), [drawn[one][number] == drawn[other][number] for number in sorted(both)], f"the same calls, {one} and {other}")


def test_sampled_in_short_threads_and_in_turns(folder):
    with SwitchedProcess(folder, symbols=SAMPLED) as p:
        p.tell("shortly 30 1000")
        p.tell("turns 30 1000 31")
        t = p.end()
    main = t.named("main")
    short = len(taken(t, 30)) - len(sampled(main, 30))
    assert 95 <= short <= 105, f"{short} of 1,000 threads"
    tenth, third = (len(sampled(main, method)) for method in (30, 31))
    assert 60 <= tenth <= 140 and 270 <= third <= 400, f"{tenth} of 1,000 are a tenth, {third} a third"


def test_sampled_by_the_second(folder):
    with SwitchedProcess(folder, symbols=SAMPLED) as p:
        began = time.monotonic()
        for _ in range(6):
            calls = p.tell("until 32 1")
        p.tell("together 32 10000")
        calls = 40_000 + p.tell("until 32 1")
        took = time.monotonic() - began
        t = p.end()
    weights = taken(t, 32)
    equal(calls, sum(weights), "calls for which those that were taken stand")
    assert enters(t, 32) == len(weights) <= 2 * (took + 1) + 1, f"{weights} in {took} s"


def test_sampled_and_switched(folder):
    with SwitchedProcess(folder, symbols=SAMPLED) as p:
        p.tell("enter 34")  # taken
        p.request("level error")
        p.tell("calls 31 1", "calls 2 1")  # off, though below it
        p.request("level info")
        p.tell("enter 31", "exit 31")
        p.request("level error")
        p.tell("exit 34", "calls 34 5")
        p.request("level info")
        p.tell("enter 35", "enter 31", "calls 2 1")  # not taken
        p.request("level info\nmode record")
        p.tell("enter 31", "exit 31", "exit 31", "error 35", "enter 35")
        p.request("level info")
        p.tell("enter 34", "exit 34", "exit 35")  # the latter is recorded, and not sampled
        p.tell("decide 35", "begin 35", "exit 35", "decide 34", "begin 34", "error 34")
        for mode in "aggregate", "count", "record", "auto":
            p.request(f"level info\nmode {mode}")
            p.tell("calls 30 100", "enter 30", "sleep 5", "exit 30")
        p.tell("calls 33 100")
        t = p.end()
    main = t.named("main")
    events = [" ".join(("_+-!"[e.kind] + str(e.id), *(f"of {w}" for where, w in main.weights.items() if where == (number, place))))
              for number, segment in sorted(main.segments.items()) for place, e in enumerate(segment) if e.id not in (1, 30, 33)]
    equal("+34 of 1,+31,-31,-34,+2,-2,+31,-31,+35,+34 of 1,-34,-35,+34 of 1,!34", ",".join(events), "records")
    assert 101 + 10 <= enters(t, 30) <= 101 + 11, f"{enters(t, 30)}: all of them, and a tenth"
    equal((101, 101, []), (t.sums[30][0], t.counts[30], t.slow), "summed up, counted, told by themselves")
    equal(10, enters(t, 33), "before the map is read its code says it")


def test_sampling_takes_no_memory(folder):
    with SwitchedProcess(folder, symbols=SAMPLED) as p:
        bytes_ = p.tell("allocated 20000")
        pieces = p.tell("allocated-pieces 20000")
        p.end()
    assert bytes_ < 20_000 and pieces < 20_000, f"{bytes_} bytes for 20,000 trees, {pieces} for 20,000 requests"


def shown(thread, without=()):
    """What a thread has recorded, and behind what a sampled call begins with, for how many it stands."""
    return " ".join(sign(e) + str(e.id) + "".join(f":{w}" for where, w in thread.weights.items() if where == (number, place))
                    for number, segment in sorted(thread.segments.items()) for place, e in enumerate(segment) if e.id not in without)


def test_sampled_logical_calls(folder):
    with SwitchedProcess(folder, symbols=SAMPLED) as p:
        # One that is taken decides while a piece of it runs; in between its thread is free.
        p.tell("starts 34", "calls 35 1", "suspend 34", "calls 35 1", "resume 34", "calls 35 1", "calls 2 1", "end 34", "calls 35 1")
        p.tell("calls 2 1")
        # So does one that is passed over, whatever begins below it, and wherever that goes on.
        p.tell("starts 35", "calls 34 1", "starts 34", "suspend 34", "begins 34", "suspend 35", "resume 34", "calls 34 1", "end 34", "resume 34", "end 34")
        p.tell("resume 35", "calls 34 1", "fail 35", "calls 2 1")
        # Pieces within others: each end leaves what was there before.
        p.tell("starts 34", "suspend 34", "starts 35", "resume 34", "calls 35 1", "suspend 34", "calls 34 1", "end 35", "end 34", "calls 2 1")
        p.tell("enter 34", "starts 35", "suspend 35", "exit 34", "enter 35", "resume 35", "calls 35 1", "end 35", "calls 34 1", "exit 35", "calls 2 1")
        # What begins and does not run yet, and what ends so.
        p.tell("begins 34", "calls 35 1", "resume 34", "calls 35 1", "suspend 34", "end 34", "begins 34", "fail 34", "begins 35", "resume 35", "suspend 35", "end 35")
        # Decided in front of values.
        for method in 34, 35:
            p.tell(f"decide {method} decided", f"value {method} a 0", f"pass {method}", f"starts {method} decided", "calls 34 1", f"end {method}")
        t = p.end()
    expected = [
        "+34:1 +35 -35 -34 +34:1 +35 -35 +2 -2 -34 +2 -2", "+2 -2", "+34:1 -34 +34:1 +35 -35 -34 _34:1 +2 -2",
        "+34:1 +35:1 -35 -34 +35:1 +35 -35 -35 +2 -2", "_34:1 +34:1 +35 -35 -34 _34:1 _34:1 _34:1", "+34:1 +34 -34 -34",
    ]
    equal(" ".join(expected), shown(t.named("main"), (1, 3)), "records")
    equal(["'a'"], [v.value for _, values in t.named("main").valued() for v in values], "values")
    assert all(steps[-1].what in ("end", "fail") for steps in t.calls.values()), t.steps()


def test_sampled_logical_calls_have_the_weight_of_their_tree(folder):
    with SwitchedProcess(folder, symbols=SAMPLED) as p:
        p.tell("taken 30", "starts 31", "starts 34", "suspend 34", "suspend 31", "suspend 30", "calls 34 1", "taken 31")
        # The one of ten goes on within the one of three, and the one that it has begun within that.
        p.tell("resume 30", "resume 34", "calls 30 1", "end 34", "calls 30 1", "end 30", "starts 34", "end 34", "end 31", "calls 34 1", "end 31")
        t = p.end()
    expected = "+30:10 +31:10 +34:10 -34 -31 -30 +34:1 -34 +31:3 +30:10 +34:10 +30 -30 -34 +30 -30 -30 +34:3 -34 -31 +34:1 -34 _31:10"
    equal(expected, shown(t.named("main"), (1, 3)), "records")


def test_sampled_logical_calls_and_switches(folder):
    with SwitchedProcess(folder, symbols=SAMPLED) as p:
        p.tell("starts 34", "suspend 34", "starts 35", "suspend 35")
        p.request("level error")
        # What began goes on; what is off decides nothing.
        p.tell("resume 34", "calls 35 1", "end 34", "starts 34", "calls 34 1", "end 34")
        p.request("level info\nmode record")
        p.tell("resume 35", "calls 34 1", "starts 35", "suspend 35", "end 35", "suspend 35")  # all is recorded, and stands for itself
        p.request("level info\nmode count")
        p.tell("starts 35", "suspend 35", "resume 35", "end 35", "begins 34", "resume 34", "end 34")
        p.request("level info\nmode aggregate")
        p.tell("starts 35", "end 35")
        p.request("level info\nmode auto")
        p.tell("resume 35", "calls 34 1", "end 35", "calls 34 1", "starts 34", "end 34")
        t = p.end()
    main = t.named("main")
    equal("+34:1 -34 +34:1 -34 +34 -34 +35 -35 _35 +35 -35 +34:1 -34 +34:1 -34", shown(main, (1, 3)), "records")
    equal((1, 1), (t.counts[34], t.counts[35]), "counted")


def test_sampled_requests(folder):
    n = 1_003
    with SwitchedProcess(folder, symbols=SAMPLED) as p:
        p.tell(f"requests {n}")
        p.tell("calls 34 1")
        t = p.end()
    begin = [thread for thread in t.threads.values() if any(e.id == 1 for e in thread.all()) and thread.name != "main"]
    equal([n] * 4, [sum(e.kind == ENTER and e.id == 1 for e in thread.all()) for thread in begin], "calls around them")
    equal([4 * n, 4 * n], [sum(e.id == method and e.kind == kind for thread in begin for e in thread.all()) for method, kind in ((2, 1), (1, 2))], "all")
    first = "+30:10 +31 -31 +31:10 +34 -34 -31 +2 -2 -30"
    second = "+30:10 +31 -31 +31:10 +34 -34 -31 +31 -31 {}30"
    of_each, seen = [], 0
    for thread in begin:
        text = shown(thread, (1,)).replace("+2 -2 -30", "$").replace("+2 -2", "").split()
        trees = " ".join(text).replace("$", "+2 -2 -30").split(" +30")
        of_each.append(len(trees))
        equal({first}, {tree if tree.startswith("+") else "+30" + tree for tree in trees}, "before it waits")
    assert all(each in (n // 10, n // 10 + 1) for each in of_each), of_each
    for thread in t.threads.values():
        text = shown(thread)
        if thread not in begin and "+30" in text:
            trees = ["+30" + tree for tree in text.replace("+30", "$").split("$")[1:]]
            seen += len(trees)
            equal(set(), {tree.strip() for tree in trees} - {second.format("-"), second.format("!")}, "behind that")
    equal(sum(of_each), seen, "each goes on")
    steps = t.steps()
    taken = sum(of_each)
    equal({(30, ("resume", "suspend", "resume", "end")), (30, ("resume", "suspend", "resume", "fail")), (31, ("resume", "suspend", "resume", "end"))},
          {(method, tuple(what)) for method, what in steps}, "what they did")
    equal((taken, taken), tuple(sum(method == of for method, _ in steps) for of in (30, 31)), "calls")
    equal("+34:1 -34", shown(t.named("main"), (1, 3)), "the thread is free")


def test_switched_by_strangers(folder):
    """What is no request of the owner's changes nothing, blocks nothing, and does not lock the owner out."""
    with SwitchedProcess(folder) as p:
        p.request("level debug")
        # No UTF-8, behind words that are known.
        p.put(p.text(2, "level error\nmode off") + b"mode " + b"\xff" * 59_000)
        p.refuses("bytes that are no text")
        for state in ("level error\nmode a later one", "level most", "level error\nand more", "level error\nenable"):
            p.put(p.text(p.number + 1, state))
            p.refuses(state)
        p.put(p.text(p.number + 1, "level error").replace(b"nonce ", b"nonce 0"))
        p.refuses("another nonce")
        p.put(p.text(p.number + 1, "level error\ndisable " + "x" * 60_000))
        p.refuses("too long")
        # A link, a pipe, another user's.
        elsewhere = folder / "elsewhere"
        elsewhere.write_bytes(p.text(p.number + 1, "level error"))
        p.requests().unlink()
        p.requests().symlink_to(elsewhere)
        p.refuses("a link")
        os.mkfifo(folder / "pipe")
        (folder / "pipe").replace(p.requests())
        p.refuses("a pipe")
        if os.geteuid() == 0:
            elsewhere.write_bytes(p.text(p.number + 1, "level error"))
            os.chown(elsewhere, 4711, -1)
            elsewhere.replace(p.requests())
            p.refuses("another user's")
        # A long one is told in few words.
        p.request("level debug\n" + "enable a name of thirty bytes or so\nenable 2\n" * 3 + "disable " + "x" * 59_000)
        # Numbers begin again.
        p.request_number(2**31 - 1, "level debug")
        p.request("level error")  # 2147483648
        p.request_number(2**32 - 1, "level debug")
        p.request_number(1, "level info")
        p.tell("round 10")
        t = p.end()
    equal((41, 0), (enters(t, 1), enters(t, 3)), "calls that cannot be switched, of level debug")
    equal("level debug\nmode rules\nenable a name of thirty bytes or so\nenable 2\nmore 1\n", t.changes[-5][1], "a long one")
    assert not any("mode off" in text for _, text in t.changes), "nothing of what was refused"


def test_level_at_the_start(folder):
    with SwitchedProcess(folder, WEAVE_LEVEL="DEBUG") as p:
        p.tell("round 10")
        t = p.end()
    equal(41, enters(t, 3), "calls of an aspect of level debug")
    equal("level debug\nmode rules\n", t.changes[0][1], "what it began with")
    again(folder)
    # A request for another process says nothing.
    with SwitchedProcess(folder, WEAVE_LEVEL="all") as p:
        p.put(p.text(1, "level error").replace(b"to ", b"to 9"))
        p.tell("round 10")
        p.request("level info")
        t = p.end()
    equal((80, 0, 1), (enters(t, 2), enters(t, 3), t.request), "calls of level info, of level debug; requests")
    again(folder)
    equal("", finish(folder, "SwitchedOff", WEAVE_TRACE="off"), "error stream")
    assert not (folder / "t.wtrace").exists()


def has_turn(name, test):
    """Whether a test is one of this host's. What some host cannot run has no turn."""
    return "NotRun(" in inspect.getsource(test) or zlib.crc32(name.encode()) % TURNS == TURN


def main():
    # What the tests read is in no cycles, and looking for some among millions of records takes as long as reading them.
    gc.disable()
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    passed = failed = not_run = 0
    for name, test in inspect.getmembers(sys.modules[__name__], inspect.isfunction):
        if not name.startswith("test_") or only not in name or not has_turn(name, test):
            continue
        folder = pathlib.Path(tempfile.mkdtemp(dir=BUILT))
        began, verdict = time.monotonic(), "ok"
        try:
            test(folder)
            passed += 1
        except NotRun as why:
            not_run += 1
            verdict = f"NOT RUN: {why}"
        except Exception:
            failed += 1
            verdict = "FAILED"
            traceback.print_exc(file=sys.stdout)
        print(f"{name[5:].replace('_', ' '):<32} {verdict} ({(time.monotonic() - began) * 1000:.0f} ms)", flush=True)
        shutil.rmtree(folder)
    print(f"{HOST}: {passed} passed, {failed} failed, {not_run} not run")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
