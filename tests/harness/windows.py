#!/usr/bin/env python3
"""Programs of Windows, woven here and run by Wine: what they print and how they end is what they do unwoven, and their traces are whole.

    python3 tests/harness/windows.py

Needs a build of weave, the .NET SDK 10 with the packages of win-x64 (see sdk.py), and Wine for 64 bits (Debian: wine64). .NET 8 for Windows comes
with pip. Wine is not Windows: docs/msbuild.md says what this shows and what not.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess

import check_trace
import counts
import dotnet
import lib
from builds import write
from msbuild_sdk import Shop

SOURCES = lib.ROOT / "tests/programs/windows"
PROPERTIES = """<AssemblyName>App</AssemblyName><InvariantGlobalization>true</InvariantGlobalization>"""
OF_WINDOWS = """<RuntimeIdentifier>win-x64</RuntimeIdentifier><SelfContained>true</SelfContained>
<DisableTransitiveFrameworkReferenceDownloads>true</DisableTransitiveFrameworkReferenceDownloads>"""
RULES = """version = 1
[[library]]
path = "Hooks/bin/Release/netstandard2.0/Hooks.dll"
[[aspect]]
name = "shop"
match = { type = "Shop.**", method = "*" }
exclude = { method = "Noise" }
[[aspect]]
name = "noise"
match = { type = "Shop.**", method = "Noise" }
level = "debug"
[[aspect]]
name = "values"
match = { type = "Shop.**", method = ["Greet", "Divided"] }
record = ["arg(0)", "result"]
[[aspect]]
name = "own"
match = { type = "Shop.**", method = "Divided" }
enter = "Acme.Log.Began(method, args)"
exception = "Acme.Log.Failed(exception)"
"""


def wine():
    """The command that runs a program of Windows."""
    places = [shutil.which("wine64"), shutil.which("wine"), "/usr/lib/wine/wine64"]
    found = next((place for place in places if place and os.access(place, os.X_OK)), None)
    if not found:
        raise lib.Missing("Wine is not here, which runs programs of Windows (Debian: wine64)")
    return found


class Windows:
    """Runs programs with a Windows of their own."""

    def __init__(self, folder):
        self.wine, self.folder = wine(), folder
        self.environment = {**os.environ, "WINEPREFIX": str(folder / "wine"), "WINEDEBUG": "-all", "WINEARCH": "win64", "DOTNET_NOLOGO": "1",
                            # Nothing of these is asked for.
                            "WINEDLLOVERRIDES": "mshtml=;winedbg.exe=d",
                            # Else what is beyond ASCII is lost on the way.
                            "LC_ALL": "C.UTF-8"}

    def start(self, program, *arguments, cwd, prefix=(), **settings):
        """Starts a program: a command, or the beginning of one."""
        return subprocess.Popen([*prefix, self.wine, *program, *arguments], cwd=cwd, env={**self.environment, **settings}, text=True, encoding="utf-8",
                                errors="replace", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def run(self, program, *arguments, **more):
        """Runs a program to its end: its exit status, what it printed, and its error stream."""
        process = self.start(program, *arguments, **more)
        try:
            out, err = process.communicate(timeout=600)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, "", "it hangs"
        return process.returncode, out.replace("\r", ""), err.replace("\r", "")

    def end(self):
        """Ends the server that outlives programs."""
        server = pathlib.Path(self.wine).with_name("wineserver")
        subprocess.run([server if server.exists() else "/usr/lib/wine/wineserver64", "-k"], env=self.environment, capture_output=True)


def names(program, trace):
    return lib.run([program, "report", "--limit", "0", trace], check=False).stdout


def published(shop, framework):
    """The commands of the program, unwoven and woven: with .NET 10 self-contained, with .NET 8 for a runtime that is there."""
    whole = framework == "net10.0"
    app = shop.project(f"App-{framework}", items='<ProjectReference Include="../Hooks/Hooks.csproj" />',
                       properties=PROPERTIES + (OF_WINDOWS if whole else "<UseAppHost>false</UseAppHost>"))
    write(app, app.read_text().replace("net10.0", framework))
    shutil.copy(SOURCES / "Program.cs", app.parent)
    made = {}
    for woven in (True, False):
        # Wine's .NET starts from no folder with letters beyond ASCII, woven or not.
        out = shop.folder.parent / f"{'woven' if woven else 'plain'} program of {framework}"
        shop.run("publish", app, "-c", "Release", "-o", out, f"-p:WeaveEnabled={str(woven).lower()}")
        shop.check(f"{framework}: published {'woven' if woven else 'unwoven'} for Windows", shop.status == 0 and shop.woven(out / "App.dll") == woven)
        made[woven] = [str(out / "App.exe")] if whole else [str(dotnet.windows()), str(out / "App.dll")]
    return made


def hooks(shop):
    """The library of own hooks, of which both programs know."""
    project = shop.project("Hooks", "Library", ours=False)
    write(project, project.read_text().replace("net10.0", "netstandard2.0"))
    shutil.copy(SOURCES / "Log.cs", project.parent)
    write(shop.folder / "weave.toml", RULES)
    shop.run("build", project, "-c", "Release")


def plain_run(score, system, shop, made):
    """All that it does, beside what it does unwoven: what it prints has the number of all exceptions, caught or not."""
    home = lib.fresh(shop.folder / "a folder")
    expected = system.run(made[False], cwd=home)
    got = system.run(made[True], cwd=home, WEAVE_TRACE="run.wtrace")
    detail = f"{str(expected)[:600]} and {str(got)[:600]}"
    score.check("the output and the exit status are those of the unwoven program", expected[0] == 3 and got[:2] == expected[:2], detail)
    score.check("own hooks ran", got[2] == "own hook: DivideByZeroException after 1\n", got[2])
    told = names(shop.program, home / "run.wtrace")
    score.check("values, async methods, exceptions and threads are in the trace", all(name in told for name in (
        "Shop.Program.Greet", "Shop.Program.Later", "Shop.Program.Slowly", "Shop.Program.Divided", "Shop.Program.Work")) and "nothing lost" in told, told)
    read = check_trace.read(home / "run.wtrace")
    score.check("the trace is sound", not read.problems, "; ".join(read.problems[:3]))
    calls = {}
    for method, count in counts.recorded(read).items():
        calls[read.symbols[method][1]] = count
    known = {name: calls.get(name) for name in ("Greet", "Work", "Divided", "Later")}
    score.check("each call is recorded once", known == {"Greet": 1, "Work": 800, "Divided": 2, "Later": 20}, str(known))
    values = [json.loads(values) for (method, values) in read.values if read.symbols[method][1] == "Greet"]
    score.check("with its values", values == [{"arg(0)": "Grüße", "result": "GRÜßE!"}], str(values))


def grown(score, system, shop, made):
    """A trace that grows beyond its first maps: every call is in it, and nothing was thrown for it."""
    home = lib.fresh(shop.folder / "grown")
    calls = 300_000
    expected = system.run(made[False], "grow", str(calls), cwd=home)
    got = system.run(made[True], "grow", str(calls), cwd=home, WEAVE_TRACE="run.wtrace")
    score.check("a trace that grows: the program does what it did", expected[0] == 0 and got == expected, f"{expected} and {got}")
    trace = home / "run.wtrace"
    read = read_whole(score, "a trace that grows", trace)
    work = [n for method, n in counts.recorded(read).items() if read.symbols[method][1] == "Work"]
    score.check("a trace that grows: each call is in it", work == [calls] and trace.stat().st_size > 4 << 20, f"{work} {trace.stat().st_size}")


def places(score, system, shop, made):
    """Traces in folders with blanks, with a path of 300 characters, and on a disk that is full."""
    long = lib.fresh(shop.folder / "long")
    while len(str(long)) < 300:
        long = long / "a folder of a long name"
    long.mkdir(parents=True)
    for what, folder in (("a path with blanks and letters beyond ASCII", lib.fresh(shop.folder / "Ä folder")), ("a path of 300 characters", long)):
        trace = folder / "run %p.wtrace"
        status, out, _ = system.run(made[True], cwd=shop.folder, WEAVE_TRACE=f"Z:{trace}".replace("/", "\\"))
        files = list(folder.glob("*.wtrace"))
        score.check(f"{what}: the trace is there", status == 3 and "sum " in out and len(files) == 1
                    and "Shop.Program.Work" in names(shop.program, files[0]), f"{status} {files}")
    disk = lib.fresh(shop.folder / "disk")
    prefix = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs -o size=128k none "$0" && exec "$@"', str(disk))
    status, out, err = system.run(made[True], cwd=shop.folder, prefix=prefix, WEAVE_TRACE=f"Z:{disk}/run.wtrace".replace("/", "\\"))
    score.check("a full disk: the program does what it did, and the library says so", status == 3 and "sum " in out and "weave: " in err, f"{status} {out} {err}")


def controlled(score, system, shop, made):
    """`weave control` of this machine switches a program of Windows while it runs."""
    home = lib.fresh(shop.folder / "control")
    trace = home / "run.wtrace"
    process = system.start(made[True], "rounds", cwd=home, WEAVE_TRACE="run.wtrace")
    told, refused = [], ""

    def rounds(n):
        process.stdin.write(f"{n}\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    told.append(rounds(10))
    while not check_trace.read(trace, running=True).switched:
        assert process.poll() is None, "the program has ended"
    for options in (("--level", "debug"), ("--disable", "noise")):
        done = lib.run([shop.program, "control", *options, trace], check=False)
        refused += done.stderr if done.returncode else ""
        told.append(rounds(100))
    process.communicate(timeout=120)
    found = {read: n for read, n in counts.recorded(read_whole(score, "switched while it runs", trace)).items()}
    symbols = check_trace.read(trace).symbols
    noise = sum(n for method, n in found.items() if symbols[method][1] == "Noise")
    score.check("control: what is off is not recorded, and what is on is", not refused and noise == 100 and [t.split(" ")[0] for t in told] == ["round"] * 3,
                f"{noise} {told} {refused}")


def read_whole(score, what, trace):
    read = check_trace.read(trace)
    score.check(f"{what}: the trace is sound", not read.problems, "; ".join(read.problems[:3]))
    return read


def killed(score, system, shop, made):
    """A process that is ended in the midst of it leaves what it had done."""
    home = lib.fresh(shop.folder / "killed")
    process = system.start(made[True], "busy", cwd=home, WEAVE_TRACE="run.wtrace")
    ready = process.stdout.readline().strip() == "ready"
    # The program itself, and not what started it.
    for one in pathlib.Path("/proc").iterdir():
        try:
            if one.name.isdigit() and b"App.exe" in (one / "cmdline").read_bytes() and os.getpgid(int(one.name)) == process.pid:
                os.kill(int(one.name), signal.SIGKILL)
        except (OSError, ValueError):
            continue
    process.communicate(timeout=120)
    told = names(shop.program, home / "run.wtrace")
    work = counts.recorded(check_trace.read(home / "run.wtrace"))
    score.check("a killed process: its calls are in the trace", ready and "Shop.Program.Work" in told and max(work.values()) > 50000, told)


def body():
    folder = lib.fresh(lib.WORK / "windows")
    score = lib.Score()
    system = Windows(folder)
    shop = Shop(score, folder)
    hooks(shop)
    programs = {framework: published(shop, framework) for framework in ("net10.0", "net8.0")}
    if score.failed:
        return score.finish("programs of Windows")
    try:
        for framework, made in programs.items():
            print(f"# {framework}", flush=True)
            for part in (plain_run, grown, places, controlled, killed) if framework == "net10.0" else (plain_run, grown):
                part(score, system, shop, made)
    finally:
        system.end()
    return score.finish("programs of Windows")


if __name__ == "__main__":
    lib.main(body)
