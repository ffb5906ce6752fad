"""Hosts that do to a woven program what hosts do. Each program runs as it is and woven: it prints the same, ends as it did, and says at most a line."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import check_trace
import control
import dotnet
from lib import ROOT, fresh, oldest_jdk, run, weave_binary

#: Bytes of a trace's header: the number of the last request that was taken, and what a request must know.
REQUEST_AT, NONCE_AT = 8_268, 8_272
PATIENCE = 120
FEW, MANY = 100, 4_000


class Program:
    """A program that makes as many rounds of calls as a line of its input asks for, and prints what they came to."""

    def __init__(self, command, trace, limit="", **settings):
        """`limit`: options of the shell's `ulimit`."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("WEAVE_")}
        environment |= {"WEAVE_TRACE": str(trace), **settings}
        self.trace, self.told = pathlib.Path(trace), []
        limited = ["sh", "-c", f'ulimit {limit}; exec "$@"', "sh"] if limit else []
        self.process = subprocess.Popen([*limited, *map(str, command)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.told.append(self.process.stdout.readline())

    def rounds(self, n):
        try:
            self.process.stdin.write(f"{n}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # its end says why
        self.told.append(self.process.stdout.readline())

    def end(self):
        """Its exit status, what it printed, and what it said on the error stream."""
        try:
            if self.process.poll() is not None:
                self.process.stdin = None
            rest, err = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "hangs", self.told, ""
        return self.process.returncode, [*self.told, *rest.splitlines(keepends=True)], err

    def header(self):
        with self.trace.open("rb") as file:
            return file.read(NONCE_AT + 16)

    def requests(self):
        """The file that the library looks for."""
        return pathlib.Path(f"{self.trace}.{self.header()[NONCE_AT:NONCE_AT + 8].hex()}.control")

    def request(self, number, state):
        """A request as `weave control` writes it."""
        header = self.header()
        origin, pid = struct.unpack_from("<QQ", header, 16)
        return f"weave control 2\nto {pid} {origin}\nnonce {header[NONCE_AT:NONCE_AT + 16].hex()}\nnumber {number}\n{state}".encode()

    def put(self, request, owner=None):
        """Puts it in place as a whole, another user's if one is named."""
        new = self.trace.with_suffix(".new")
        new.write_bytes(request)
        if owner:
            os.chown(new, owner, -1)
        new.rename(self.requests())

    def taken(self):
        return struct.unpack_from("<I", self.header(), REQUEST_AT)[0]

    def until(self, holds, pause):
        end = time.monotonic() + PATIENCE
        while not holds() and time.monotonic() < end and self.process.poll() is None:
            time.sleep(pause)
        return holds()

    def can_be_switched(self):
        return self.until(lambda: self.trace.exists() and list(check_trace.read(self.trace, running=True).switched), 0.1)


class Hosts:
    """The hosts of one program on one platform."""

    def __init__(self, score, name, folder, plain, woven):
        self.score, self.name, self.folder, self.plain, self.woven = score, name, fresh(folder), plain, woven
        self.known = {}

    def unwoven(self, *asked):
        if asked not in self.known:
            told = run(self.plain, input="".join(f"{n}\n" for n in asked)).stdout
            self.known[asked] = told.splitlines(keepends=True)
        return self.known[asked]

    def start(self, name="t.wtrace", **more):
        return Program(self.woven, fresh(self.folder / "run") / name, **more)

    def lives(self, what, program, *asked, lines=1):
        """The program ends as it does unwoven; returns what the library said."""
        status, told, err = program.end()
        ours = all(line.startswith("weave: ") for line in err.splitlines())
        self.score.check(f"{self.name}: {what}", status == 0 and told == self.unwoven(*asked) and ours and err.count("\n") <= lines,
                         err.strip() if status == 0 else f"{status}: {err[-600:]}")
        return err

    def truncated(self):
        program = self.start(WEAVE_TRACE_LIMIT="32m")
        program.rounds(FEW)
        os.truncate(program.trace, 0)
        program.rounds(MANY)
        os.truncate(program.trace, check_trace.CHUNK * 3 // 2)
        program.rounds(MANY)
        self.lives("a trace that is cut off twice", program, FEW, MANY, MANY)

    def file_size(self):
        program = self.start(limit="-f 2048", DOTNET_EnableWriteXorExecute="0")  # its memory for code is a file
        program.rounds(MANY)
        err = self.lives("a limit on the size of files", program, MANY)
        read = json.loads(run([weave_binary(), "report", "--json", program.trace]).stdout)["traces"][0]
        self.score.check(f"{self.name}: the limit is told, and the trace is one", "cannot grow" in err and read["lost_records"] > 0, str(read["records"]))

    def few_files(self, most):
        for settings in {"WEAVE_TRACE": "off"}, {}:
            program = self.start(limit=f"-n {most}", **settings)
            program.rounds(FEW)
            self.lives(f"{most} open files, {'off' if settings else 'with a trace'}", program, FEW)

    def pipe(self):
        run_folder = fresh(self.folder / "run")
        os.mkfifo(run_folder / "pipe")
        program = Program(self.woven, run_folder / "pipe")
        program.rounds(FEW)
        err = self.lives("a pipe instead of the trace", program, FEW)
        self.score.check(f"{self.name}: it is told", "not a regular file" in err)

    def requests(self):
        """What is no request of the owner's neither switches nor blocks, and the owner's comes through all the same."""
        program = self.start()
        program.can_be_switched()
        bad = {
            "bytes that are no text": program.request(1, "mode off\nenable ") + b"\xff" * 59_000,
            "a word of a later version": program.request(1, "level error\nmode most"),
            "another nonce": program.request(1, "mode off\n").replace(b"nonce ", b"nonce f"),
            "too many bytes": program.request(1, "mode off\ndisable " + "x" * 60_000),
        }
        for request in bad.values():
            program.put(request)
            time.sleep(0.6)  # it looks twice a second
        # A pipe blocks who opens it.
        os.mkfifo(self.folder / "run/pipe")
        (self.folder / "run/pipe").rename(program.requests())
        time.sleep(0.6)
        if os.getuid() == 0:
            program.put(program.request(1, "mode off\n"), owner=4711)
            time.sleep(0.6)
        program.rounds(FEW)
        untaken = program.taken()
        done = run([weave_binary(), "control", "--mode", "off", program.trace], check=False)
        program.rounds(FEW)
        self.lives("requests of strangers", program, FEW, FEW, lines=0)
        changes = check_trace.read(program.trace).changes
        self.score.check(f"{self.name}: they switched nothing, and the owner did", untaken == 0 and done.returncode == 0
                         and [("mode off" in said) for _, said in changes] == [False, True], f"{untaken} {done.stderr} {changes}")

    def two_controllers(self):
        """Of two that switch at once, each finds all that it asked for in the trace."""
        program, each, failed = self.start(), 8, []
        program.can_be_switched()

        def ask(*options):
            for number in range(each):
                done = run([weave_binary(), "control", *options[number % 2], program.trace], check=False)
                failed.extend([done.stderr] if done.returncode else [])

        others = threading.Thread(target=ask, args=(("--enable", "noise"), ("--disable", "noise")))
        others.start()
        ask(("--level", "debug"), ("--level", "error"))
        others.join()
        program.rounds(FEW)
        self.lives("two controllers at once", program, FEW, lines=0)
        said = [said for _, said in check_trace.read(program.trace).changes]
        parts = {"levels": "level ", "names": "able noise"}
        of = {what: [[line for line in state.split("\n") if part in line] for state in said] for what, part in parts.items()}
        changed = {what: sum(a != b for a, b in zip(lines, lines[1:])) for what, lines in of.items()}
        self.score.check(f"{self.name}: none of their requests is lost", not failed and changed == dict.fromkeys(parts, each)
                         and len(said) == 1 + 2 * each, f"{changed} {len(said)} {failed}")

    def switches(self, number=1_200):
        """More changes than the trace has room for, each with a long text: all readers take such a trace, and the report tells them."""
        program = self.start()
        program.can_be_switched()
        # A text has 2,000 bytes at most: of the longest in UTF-8 that takes the fewest characters.
        names = "".join(f"disable {'界' * 70}{n}\n" for n in range(8))
        for n in range(1, number):
            program.put(program.request(n, f"level {('debug', 'error')[n % 2]}\nmode {('record', 'off')[n % 2]}\n{names}"))
            if not program.until(lambda: program.taken() == n, 0.005):
                break
        program.rounds(FEW)
        self.lives("switched more often than there is room for", program, FEW, lines=0)
        self.untold(program.trace, number - 1)

    def untold(self, trace, number):
        read = check_trace.read(trace)
        told = len(read.changes) - 1
        self.score.check(f"{self.name}: all that is not told one by one is counted", not read.problems and read.untold
                         and told + read.untold[0] == number, f"{told} told, {read.untold}; {read.problems[:2]}")
        report = run([weave_binary(), "report", trace]).stdout
        self.score.check(f"{self.name}: the report has it", f"and {number - 8:,} more times" in report, report[:300])
        calls = sum(row["calls"] for row in json.loads(run([weave_binary(), "report", "--json", trace]).stdout)["methods"])
        rows = run([weave_binary(), "export", "--to", "csv", trace, "-o", "-"]).stdout.splitlines()
        chrome = json.loads(run([weave_binary(), "export", "--to", "chrome", trace, "-o", "-"]).stdout)
        self.score.check(f"{self.name}: so have exports", calls > 0 and len(rows) > 1 and chrome["traceEvents"], f"{calls} calls, {len(rows)} rows")

    def all(self, files):
        """`files`: so many open ones must do."""
        self.truncated()
        self.file_size()
        self.few_files(files)
        self.pipe()
        self.requests()
        self.two_controllers()


def java(score, folder):
    app = control.classes(folder)
    (folder / "weave.toml").write_text(control.RULES)
    run([weave_binary(), "-q", "--rules", folder / "weave.toml", app, folder / "woven.jar"])
    start = [oldest_jdk() / "bin/java", "-cp"]
    return [("java", [*start, app, "app.Rounds"], [*start, folder / "woven.jar", "app.Rounds"], 40, True)]


def dotnet_(score, folder):
    """With each of the two libraries. The one for .NET Standard brings two assemblies, which are two descriptors each."""
    plain, woven = control.assembly(folder)
    newer = shutil.copytree(woven, folder / "net8.0")
    shutil.copy(ROOT / "runtime/dotnet/net8.0/Weave.Runtime.dll", newer)
    host = dotnet.host("core8")
    start = [*host, plain / "app.exe"]
    return [("dotnet, netstandard2.0", start, [*host, woven / "app.exe"], 46, False), ("dotnet, net8.0", start, [*host, newer / "app.exe"], 42, True)]


def judge(score, folder, only=None):
    """`only`: one of `java` and `dotnet`."""
    programs = []
    for name, program in {"java": java, "dotnet": dotnet_}.items():
        if only in (None, name):
            programs += program(score, fresh(folder / name))

    def one(program):
        name, plain, woven, files, twice = program
        hosts = Hosts(score, name, folder / name.replace(", ", "-") / "hosts", plain, woven)
        hosts.all(files)
        if twice:
            hosts.switches()

    # They wait most of the time.
    with ThreadPoolExecutor(len(programs)) as pool:
        list(pool.map(one, programs))
