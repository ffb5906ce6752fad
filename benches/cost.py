#!/usr/bin/env python3
"""What weaving whole costs real programs, the table of docs/cost.md: CPU as a multiple of the unwoven program's, which runs in turns with the
woven ones.

    benches/cost.py [--only h2|tiny|boot|webapi]... [--modes MODE[,MODE..]] [--rounds N] [--busy N] [--compiled]

h2: the database H2, asked for a while by one thread, whose CPU time in the second half counts (steady). tiny: calls of a few nanoseconds,
whose whole run counts. boot: a web application of Spring Boot with all its libraries, of whose process the CPU until it answers counts
("start"), and that of 600 requests behind 3,000 others ("warm"). webapi: the web API of ASP.NET Core 10 that webapi.py measures, by its rate.
Modes: `off` (woven as without rules, no trace), `level` (woven with levels, all of them off), `auto`, `within` (`auto` with `overhead = "5%"`),
`tuned` (h2 and tiny: `auto`, without what an earlier run left out: `weave tune --from-auto`), and `record`.
Each turn runs all of them on each JDK; what counts is the median of the turns. With --busy so many processes run beside, which do nothing
but take CPU, and the JVMs go on one core with them. With --compiled a thread waits for the JVM's compilers: on a busy machine they are far
behind otherwise, and the figures are those of code that is not compiled yet. The whole table: --modes off,level,auto,within,tuned,record,
once alone and once with --busy 4.
"""

import argparse
import http.client
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "harness"), str(ROOT / "benches")]

import corpora
import webapi
from layouts import BOOT
from servers import Program
from lib import WORK, fresh, judges, main, oldest_jdk, run, weave_binary

ASPECT = '[[aspect]]\nname = "whole"\nmatch = {{ type = "{types}", method = "*" }}\n'
#: Rules of a mode; `off` is woven as without rules.
MODES = {
    "off": None,
    "record": None,
    "auto": ASPECT + 'mode = "auto"\n',
    "within": ASPECT + 'mode = "auto"\noverhead = "5%"\n',
    "tuned": ASPECT + 'mode = "auto"\n',
    "level": ASPECT + 'level = "debug"\n',
}
GOALS = {"off": 1.05, "level": 1.05, "auto": 1.5, "tuned": 1.5}
#: Of each program the class that runs, its rounds, and which types are woven.
PROGRAMS = {"h2": ("Steady", "1500", "org.h2.**"), "tiny": ("Tiny", "6000", "Tiny**")}
EVERY = [*PROGRAMS, "boot", "webapi"]
WARM_UP, REQUESTS = 3_000, 600


def woven(mode, types, source, out, folder):
    """Weaves a jar or a folder of jars, as a mode says."""
    rules = []
    if MODES[mode]:
        (folder / f"{mode}.toml").write_text("version = 1\n" + MODES[mode].format(types=types))
        rules = ["--rules", folder / f"{mode}.toml"]
    run([weave_binary(), "-q", *rules, source, out])


def prepared_boot(modes, folder):
    """The folder of jars of the unwoven application and of each mode."""
    starter, version = BOOT["boot35"]
    libraries = corpora.resolved("boot35", [f"org.springframework.boot:spring-boot-starter-{starter}:{version}"])
    plain = fresh(folder / "unwoven")
    for jar in libraries.glob("*.jar"):
        (plain / jar.name).write_bytes(jar.read_bytes())
    run([oldest_jdk() / "bin" / "javac", "-parameters", "-cp", f"{plain}/*", "-d", folder / "classes", ROOT / "benches/cost/boot/Boot.java"])
    run([oldest_jdk() / "bin" / "jar", "cf", plain / "boot.jar", "-C", folder / "classes", "."])
    modes = [mode for mode in modes if mode != "tuned"]
    for mode in modes:
        woven(mode, "**", plain, folder / mode, folder)
    return {mode: folder / mode for mode in ("unwoven", *modes)}


def jvm(home, args):
    """The start of a JVM's command."""
    prefix = ["taskset", "-c", "0"] if args.busy else []
    return [*prefix, home / "bin" / "java", "-Xmx300m", "-XX:+UseSerialGC", *(["-XX:-BackgroundCompilation"] if args.compiled else [])]


def asked(jars, start, place, folder):
    """Runs the application; the CPU of its start and of the requests, in milliseconds, and an answer."""
    command = [*start, f"-Dweave.trace={place}", "-Dweave.trace.limit=256m", "-Dserver.port=0",
               "-Dspring.main.banner-mode=off", "-Dlogging.level.root=off", "-cp", f"{jars}/*", "boot.Boot"]
    program = Program(command, folder, jars.name, env={**os.environ, "WEAVE_LEVEL": ""})
    try:
        client = http.client.HTTPConnection("127.0.0.1", int(program.line()), timeout=60)

        def get(path):
            client.request("GET", path)
            return client.getresponse().read().decode()

        start = int(get("/cpu"))
        for i in range(WARM_UP):
            get(f"/items/{i % 50}")
        before = int(get("/cpu"))
        for i in range(REQUESTS):
            answer = get(f"/items/{i % 50}")
        return start, int(get("/cpu")) - before, answer
    finally:
        program.process.kill()
        program.process.wait()


def measure_boot(modes, args, folder):
    places = prepared_boot(modes, folder)
    used, told = {}, set()
    for _ in range(args.rounds):
        for version, home in judges().items():
            for mode, jars in places.items():
                trace = folder / f"{mode}.wtrace"
                trace.unlink(missing_ok=True)
                *cpu, answer = asked(jars, jvm(home, args), "off" if mode in ("unwoven", "off") else trace, folder)
                told.add(answer)
                for part, ms in zip(("start", "warm"), cpu):
                    used.setdefault((version, part, mode), []).append(ms)
                    show(f"boot, {part}", version, mode, used[version, part, mode], used[version, part, "unwoven"])
    return differs("boot", told)


def show(name, version, mode, all_ms, unwoven):
    ratio = statistics.median(all_ms) / statistics.median(unwoven)
    goal = f" (goal {GOALS[mode]})" if mode in GOALS else ""
    print(f"{name}, JDK {version}, {mode}: {all_ms[-1]} ms; median of {len(all_ms)} {ratio:.2f} times{goal}", flush=True)


def differs(name, told):
    if len(told) > 1:
        print(f"FAIL {name}: the woven programs gave other results: {told}")
        return 1
    return 0


def prepared(name, modes, args, folder):
    """The class path of the unwoven program and of each mode."""
    program, _, types = PROGRAMS[name]
    run([oldest_jdk() / "bin" / "javac", "-d", folder / "classes", ROOT / "benches" / "cost" / f"{program}.java"])
    own = folder / "program.jar"
    run([oldest_jdk() / "bin" / "jar", "cf", own, "-C", folder / "classes", "."])
    jar = next(corpora.resolved("cost-h2", ["com.h2database:h2:2.3.232"]).glob("h2-*.jar")) if name == "h2" else own
    paths = {"unwoven": [jar, own]}
    for mode in modes:
        out = fresh(folder / mode) / "woven.jar"
        woven(mode, types, jar, out, folder)
        paths[mode] = [out, own]
        if mode == "tuned":
            execute(name, mode, paths[mode], jvm(oldest_jdk(), args), folder)
            run([weave_binary(), "tune", "--from-auto", "--write", folder / "tuned.toml", folder / "tuned.wtrace"])
            run([weave_binary(), "-q", "--rules", folder / "tuned.toml", jar, fresh(folder / mode) / "woven.jar"])
    return paths


def execute(name, mode, path, start, folder):
    """Runs a program, woven as a mode says."""
    program, length, _ = PROGRAMS[name]
    trace = folder / f"{mode}.wtrace"
    trace.unlink(missing_ok=True)
    place = "off" if mode in ("unwoven", "off") else trace
    return run([*start, f"-Dweave.trace={place}", "-Dweave.trace.limit=256m", "-cp", ":".join(map(str, path)), program, length])


def measure(name, modes, args, folder):
    paths = prepared(name, modes, args, folder)
    used, told = {}, set()
    for _ in range(args.rounds):
        for version, home in judges().items():
            for mode, path in paths.items():
                done = execute(name, mode, path, jvm(home, args), folder)
                ms, result = done.stdout.split()
                used.setdefault((version, mode), []).append(int(ms))
                told.add(result)
                show(name, version, mode, used[version, mode], used[version, "unwoven"])
    return differs(name, told)


def body():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=EVERY)
    parser.add_argument("--modes", default="off,level,auto")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--compiled", action="store_true")
    args = parser.parse_args()
    beside = ["taskset", "-c", "0", sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(beside) for _ in range(args.busy)]
    try:
        modes, failed = args.modes.split(","), 0
        for name in args.only or EVERY:
            if name == "webapi":
                failed += webapi.measure([mode for mode in modes if mode != "tuned"], args.rounds, 20, 16)
                continue
            folder = fresh(WORK / f"cost-{name}")
            failed += (measure_boot(modes, args, folder) if name == "boot" else measure(name, modes, args, folder))
        return failed
    finally:
        for other in others:
            other.kill()
            other.wait()


if __name__ == "__main__":
    main(body)
