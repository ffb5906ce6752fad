#!/usr/bin/env python3
"""Runs the tests of the tree: independent ones side by side, with a log, a verdict and a time each.

    tests/run.py                 the everyday part
    tests/run.py --ci            what a change must pass: the everyday part and what only CI runs (.ci/run)
    tests/run.py --full          all programs and suites, most of the corpora
    tests/run.py --everything    the corpora's largest artifacts, too
    tests/run.py --quick         fmt, and cargo's tests with clippy's lints: Rust and a JDK
    tests/run.py --only NAME     this test or step, again for more; also of those that the chosen part leaves out
    tests/run.py --without NAME  all but this test or step, again for more
    tests/run.py --failed        those that did not pass the last time
    tests/run.py --list          the tests: step, name, usual seconds, what they need; runs nothing
    tests/run.py --jobs N        so many at a time (two more than cores: most tests wait now and then)

A test that needs the release build gets it built first; WEAVE names another program. Logs are in .cache/logs.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache"
LOGS = CACHE / "logs"
LAST = CACHE / "last-run.json"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
#: A test that takes so many seconds hangs.
LIMIT = 2400
SAMPLES = ("sample", "sample_dotnet")
#: If one of these fails, what waits for it runs all the same: it says itself what it lacks.
SOFT = (*SAMPLES, "cargo", "compiled", "setup")
SCOPES = ("--everyday", "--full", "--everything")
#: What `needs` may name beside programs of the PATH, and what a machine without it is told.
NEEDS = {
    "release": "the release build",
    "setup": "programs of the PATH (tests/setup.sh)",
    "sdk": "a .NET SDK 10: on the PATH, in WEAVE_SDK, or as ../shared/dotnet",
    "jdks": "two JDKs: 17 and a newer one (WEAVE_JDKS names their folders)",
    "tests": "the programs of cargo's tests, which `compiled` builds",
    "samples": "the traces of sample and sample_dotnet",
}


@dataclass
class Test:
    """A command that passes or fails. `{scope}` and `{short}` in it become the part's option."""

    name: str
    step: str
    command: str
    #: Seconds of CPU on the everyday run: the longest begin first.
    seconds: int
    needs: tuple = ("release", "setup")
    #: What no two tests may use at a time; "machine" is for a test that runs alone.
    holds: tuple = ()
    #: Which runs have it: everyday (all have), ci (--ci, --full), brief (--ci; a part of another test's full form), full.
    runs: str = "everyday"
    environment: dict = field(default_factory=dict)
    #: Its long form measures time: it runs alone then.
    timed: bool = False
    #: The environment of all runs but --full and --everything.
    brief: dict = field(default_factory=dict)
    #: The environment of such a run where another test runs as well, by that one's name.
    beside: dict = field(default_factory=dict)


#: How HotSpot runs long programs in all runs but --full: it links and verifies the same, and does not compile a second time.
QUICK = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}

#: Each test on one of the hosts in turns.
TURNS = {"WEAVE_IN_TURNS": "1"}
#: Java programs on the newest JDK alone.
NEWEST = {"WEAVE_JUDGES": "newest"}
#: `weave report` reads large traces, and not the reader in Python.
LARGE = {"WEAVE_MOST_BYTES": str(64 << 20)}
#: And on the newest JDK alone; compilers compile two libraries of five.
BRIEF = {**QUICK, **LARGE, **NEWEST, "WEAVE_SOURCES": "codec lang3"}


def script(name, step, seconds, arguments="", needs=(), **more):
    """A script of tests/harness that needs the release build."""
    file = more.pop("file", name)
    command = f"python3 tests/harness/{file}.py {arguments}".strip()
    return Test(name, step, command, seconds, ("release", "setup", *needs), **more)


CLIPPY_FUZZ = "cargo clippy --quiet --manifest-path fuzz/Cargo.toml --no-default-features --target-dir target -- -D warnings"
FUZZ = {"CARGO_PROFILE_DEV_OPT_LEVEL": "2", "WEAVE_FUZZ_ROUNDS": "200000"}

TESTS = [
    Test("setup", "setup", "tests/setup.sh", 0, (), runs="needed"),
    Test("release", "release", "cargo build --release --quiet", 0, ("cargo", "cc"), ("release",), runs="needed"),
    Test("compiled", "cargo", "python3 tests/harness/rust_tests.py --no-run", 0, ("cargo", "cc"), ("tests",), runs="needed"),
    Test("sdk", "unpack", "python3 tests/harness/sdk.py", 0, (), runs="needed"),
    Test("fmt", "fmt", "cargo fmt --all --check", 2, ("cargo",)),
    # `elsewhere` has the command's tests, too.
    Test("cargo", "cargo", "python3 tests/harness/rust_tests.py", 150, ("cargo", "cc", "java", "setup", "tests"), ("tests",),
         beside={"elsewhere": {"WEAVE_WITHOUT": "cli"}}),
    Test("elsewhere", "elsewhere", "python3 tests/harness/elsewhere.py {scope}", 174, ("release", "setup", "tests", "jdks")),
    Test("java", "runtime", "runtime/java/test.sh", 252, ("release", "setup", "jdks"), brief={**TURNS, "WEAVE_SECONDS": "1", "WEAVE_SWITCHES": "40"}),
    Test("net", "runtime", "runtime/dotnet/test.sh", 173, ("release", "setup"), brief={**TURNS, "WEAVE_HOSTS": "mono net8", "WEAVE_SWITCHES": "100"}),
    Test("test_run", "oracles", "python3 tests/harness/test_run.py", 1, ()),
    Test("test_oracles", "oracles", "python3 tests/harness/test_oracles.py", 5, ("setup", "jdks")),
    Test("test_oracles_dotnet", "oracles", "python3 tests/harness/test_oracles_dotnet.py", 23, ("setup",)),
    script("sample", "sample", 10),
    script("sample_dotnet", "sample", 11),
    script("exports", "sample", 20, "{scope}", needs=("samples",)),
    script("otlp", "sample", 17, "{scope}", needs=("samples",), timed=True),
    script("top", "sample", 4),
    script("page", "sample", 19, needs=("samples",)),
    script("hooks", "sample", 26, needs=("jdks",), brief=NEWEST),
    script("calls", "sample", 128, "{scope}", needs=("jdks",), brief=NEWEST),
    script("chains", "sample", 20, needs=("jdks",), brief=NEWEST),
    script("spans", "sample", 86, needs=("jdks",), brief={**NEWEST, "WEAVE_LOG4NET": "newest", "WEAVE_KAFKA": "newest", "WEAVE_NATIVE": "no"}),
    Test("rabbit", "sample", "tests/setup.sh --rabbit && python3 tests/harness/spans.py --only rabbit", 30, ("release", "setup", "sdk"), runs="full"),
    script("cookbook", "sample", 12, needs=("jdks",), brief=NEWEST),
    script("tutorial", "sample", 7, needs=("jdks",)),
    script("values", "sample", 9, needs=("jdks",), brief=NEWEST),
    script("masks", "sample", 28, needs=("jdks",), brief=NEWEST),
    script("counts", "sample", 19, needs=("jdks",), brief=NEWEST),
    script("aggregates", "sample", 21, needs=("jdks",), brief=NEWEST),
    script("control", "sample", 72, needs=("jdks",), brief=NEWEST),
    script("soak", "sample", 19, "hosts", needs=("jdks",)),
    script("sampling", "sample", 68, needs=("jdks",), brief=NEWEST),
    script("diff", "sample", 33),
    script("tune", "sample", 8, needs=("jdks",), brief=NEWEST),
    script("sample_android", "android", 24),
    script("check_dex", "android", 50, "{scope}"),
    script("check_art", "android", 150, "{scope}"),
    script("programs_dex", "android", 37, "{scope}"),
    script("check_dotnet", "dotnet", 53, "{scope}"),
    script("check_own_hooks", "dotnet", 136, "{scope}"),
    script("programs_dotnet", "dotnet", 82, "{scope}", brief=LARGE),
    script("msbuild", "sdk", 185, "{short}", needs=("sdk",)),
    script("adonet", "sdk", 6, "--only adonet", needs=("sdk",), file="databases"),
    script("clients_dotnet", "sdk", 5, "--only dotnet", needs=("sdk",), file="clients"),
    script("runtime_async", "sdk", 47, "{scope}", needs=("sdk",)),
    script("check_corpora", "corpora", 142, "{scope}", needs=("jdks",)),
    script("programs", "programs", 121, "{scope}", needs=("jdks",), brief=BRIEF),
    script("jdbc", "programs", 6, "--only jdbc", needs=("jdks",), file="databases", brief=QUICK),
    script("clients_java", "programs", 5, "--only java", needs=("jdks",), file="clients", brief=QUICK),
    script("loaders", "programs", 20, needs=("jdks",), brief={**QUICK, **NEWEST}),
    script("layouts", "programs", 49, "{scope}", needs=("jdks",), brief={**QUICK, **NEWEST}),
    script("gradle", "builds", 81, needs=("jdks",), runs="ci", brief={**QUICK, "WEAVE_GRADLES": "8.4 8.11.1"}),
    script("maven", "builds", 131, needs=("jdks",), runs="ci", brief=QUICK),
    script("twin", "programs", 130, needs=("jdks",), runs="full"),
    script("real_builds", "builds", 120, needs=("jdks",), runs="full"),
    script("aot", "builds", 56, needs=("sdk",), runs="ci"),
    script("suites", "more", 41, "{scope}", needs=("jdks",), runs="ci", brief={**QUICK, **NEWEST}),
    script("servers", "more", 20, "{scope}", needs=("jdks",), runs="ci"),
    script("large_programs", "more", 25, "--only coroutines", needs=("jdks",), file="programs", runs="brief", brief=BRIEF),
    script("test_collect", "more", 11, runs="ci"),
    # The targets of fuzz/ over many seeded inputs, optimised, with checks of overflow; `cargo` runs 2,000 each.
    Test("fuzz", "more", "cargo test --quiet --test fuzz", 600, ("cargo", "cc", "setup"), ("debug",), "full", FUZZ),
    # The targets are linted with tests/fuzz.rs; what is left is a line each.
    Test("clippy_fuzz", "more", CLIPPY_FUZZ, 100, ("cargo", "cc"), ("debug",), "full"),
    script("jaeger", "more", 60, needs=("jdks", "samples"), runs="full"),
    Test("windows", "sdk", "tests/setup.sh --windows && python3 tests/harness/windows.py", 60, ("release", "setup", "sdk"), runs="full"),
    script("agents", "more", 60, needs=("jdks",), runs="full"),
    script("beside_agent", "more", 300, needs=("jdks",), runs="full"),
]
BY_NAME = {test.name: test for test in TESTS}


def arguments():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, add_help=True)
    part = parse.add_mutually_exclusive_group()
    for name in (*SCOPES, "--ci", "--quick"):
        part.add_argument(name, action="store_const", dest="part", const=name, default="--everyday", help=argparse.SUPPRESS)
    parse.add_argument("--only", action="append", default=[], metavar="NAME", help=argparse.SUPPRESS)
    parse.add_argument("--without", action="append", default=[], metavar="NAME", help=argparse.SUPPRESS)
    parse.add_argument("--failed", action="store_true", help=argparse.SUPPRESS)
    parse.add_argument("--list", action="store_true", help=argparse.SUPPRESS)
    parse.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 2, metavar="N", help=argparse.SUPPRESS)
    args = parse.parse_args()
    known = {test.name for test in TESTS} | {test.step for test in TESTS}
    for name in args.only + args.without:
        name in known or parse.error(f"no test or step {name}: --list names them")
    args.jobs > 0 or parse.error("--jobs needs a number from 1 on")
    return args


def chosen(args):
    """The tests of this run, without what only others need."""
    named = lambda test, names: test.name in names or test.step in names
    if args.failed:
        last = json.loads(LAST.read_text()) if LAST.exists() else {}
        tests = [test for test in TESTS if last.get(test.name) is False]
    elif args.only:
        tests = [test for test in TESTS if named(test, args.only)]
    elif args.part == "--quick":
        tests = [BY_NAME[name] for name in ("fmt", "cargo")]
    else:
        runs = {"--everyday": ("everyday",), "--ci": ("everyday", "ci", "brief")}.get(args.part, ("everyday", "ci", "full"))
        tests = [test for test in TESTS if test.runs in runs]
    return [test for test in tests if not named(test, args.without)]


def with_needed(tests):
    """These tests and those that they need first."""
    wanted = {test.name for test in tests}
    if not os.environ.get("WEAVE") and any("release" in test.needs for test in tests):
        wanted.add("release")
    for need, name in (("setup", "setup"), ("sdk", "sdk"), ("tests", "compiled")):
        if any(need in test.needs for test in tests):
            wanted.add(name)
    if any("samples" in test.needs for test in tests):
        wanted.update(SAMPLES)
    return [test for test in TESTS if test.name in wanted]


def first(test, running):
    """The tests of this run that must have ended before this one begins."""
    # `cargo` names a program here, and a test as well.
    names = [need for need in test.needs if need in running and BY_NAME[need].runs == "needed"]
    if "tests" in test.needs and "compiled" in running:
        names.append("compiled")
    # It takes over the crates that the release build has compiled, and most tests wait for that one.
    if test.name == "compiled" and "release" in running:
        names.append("release")
    if "samples" in test.needs:
        names.extend(SAMPLES)
    # A program that setup may bring.
    if "setup" in running and test.name != "setup" and any(not in_place(need) for need in test.needs):
        names.append("setup")
    return names


def in_place(need):
    return need in NEEDS or bool(shutil.which(need))


class Run:
    """A test that was started."""

    def __init__(self, test, scope, names):
        self.test, self.began, self.killed = test, time.monotonic(), False
        self.log = LOGS / f"{test.name}.log"
        command = test.command.format(scope=scope, short="--full" if scope != "--everyday" else scope)
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", **test.environment}
        if scope == "--everyday":
            environment.update(test.brief)
            for other in names.intersection(test.beside):
                environment.update(test.beside[other])
        # No two tests write into the same folder.
        work = pathlib.Path(os.environ.get("WEAVE_WORK") or CACHE / "work").resolve()
        environment["WEAVE_WORK"], environment["WEAVE_SAMPLES"] = str(work / test.name), str(work / "samples")
        if "release" in test.needs:
            environment.setdefault("WEAVE", str(TARGET.resolve() / "release/weave"))
        # The everyday run looks at the same cases of each property, so that what fails is of the change.
        if scope == "--everyday":
            environment.setdefault("PROPTEST_RNG_SEED", "20")
        with self.log.open("w") as out:
            self.process = subprocess.Popen(["bash", "-c", command], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=subprocess.STDOUT, start_new_session=True)

    def ended(self):
        """Whether it has ended, with its verdict and times."""
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        self.wall = time.monotonic() - self.began
        if not pid:
            if self.wall > LIMIT and not self.killed:
                self.killed = True
                self.kill()
                with self.log.open("a") as out:
                    out.write(f"\nFAIL killed: it took longer than {LIMIT} s\n")
            return False
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu, self.passed = usage.ru_utime + usage.ru_stime, self.process.returncode == 0
        return True

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run_all(tests, args, scope):
    """Runs the tests; answers by name how each ended: a Run, or the name of what it waited for in vain."""
    done, running, waiting = {}, [], sorted(tests, key=urgency)
    names = {test.name for test in tests}
    before = {test.name: first(test, names) for test in tests}
    try:
        while waiting or running:
            for test in list(waiting):
                broken = next((n for n in before[test.name] if n in done and n not in SOFT and not has_passed(done[n])), None)
                if broken:
                    done[test.name] = broken
                    waiting.remove(test)
                    print(f"FAIL {test.name}: not run, since `{broken}` failed", flush=True)
            test = next_of(waiting, running, done, before) if len(running) < args.jobs else None
            if test:
                waiting.remove(test)
                running.append(Run(test, scope, names))
            else:
                time.sleep(0.2)
            for run in list(running):
                if run.ended():
                    running.remove(run)
                    done[run.test.name] = run
                    mark = "ok  " if run.passed else "FAIL"
                    print(f"{mark} {run.test.name:20} {run.wall:5.0f} s {run.cpu:5.0f} s of CPU{counted(run.log)}", flush=True)
    finally:
        for run in running:
            run.kill()
    return done


def urgency(test):
    """What others wait for comes first, then the longest; last come those that run alone."""
    return ("machine" in test.holds, test.runs != "needed" and test.name not in SAMPLES, -test.seconds)


def next_of(waiting, running, done, before):
    """The first test that can begin now, if any can."""
    held = {name for run in running for name in run.test.holds}
    for test in waiting:
        free = not running if "machine" in test.holds else not held.intersection((*test.holds, "machine"))
        if free and all(name in done for name in before[test.name]):
            return test
    return None


def has_passed(outcome):
    return isinstance(outcome, Run) and outcome.passed


def counted(log):
    """How many checks a log tells of."""
    found = re.findall(r"\b(\d+) passed[,;] (\d+) failed", log.read_text(errors="replace"))
    return f"  {sum(int(passed) for passed, _ in found)} checks" if found else ""


WRONG = re.compile(r"^FAIL|FAILED|FAIL |panicked|^Traceback|^error")


def tell(name, log):
    """What failed in a log, and its end."""
    lines = log.read_text(errors="replace").splitlines()
    near, shown = set(), []
    for number, line in enumerate(lines):
        if WRONG.search(line):
            near.update(range(number - 2, number + 8))
    end = range(len(lines) - 25, len(lines))
    shown = sorted(n for n in near.union(end) if 0 <= n < len(lines))
    print(f"\n== {name}: {log.relative_to(ROOT)}")
    for number in shown[-80:]:
        print(lines[number][:300])


def show(tests):
    for test in tests:
        if test.runs != "needed":
            runs = {"everyday": "", "ci": "  (--ci, --full)", "brief": "  (--ci)", "full": "  (--full)"}[test.runs]
            print(f"{test.step:10} {test.name:20} {test.seconds:4} s  {', '.join(test.needs)}{runs}")


def main():
    args = arguments()
    scope = args.part if args.part in SCOPES else "--everyday"
    if args.list:
        show(TESTS)
        return 0
    tests = chosen(args)
    if not tests:
        print("no test is chosen")
        return 0 if args.failed else 2
    LOGS.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    every = with_needed(tests)
    for test in every:
        if test.timed and scope != "--everyday":
            test.holds = ("machine",)
    done = run_all(every, args, scope)
    # Where programs cannot be installed, the tests that need them fail, and no other.
    lacking = done.pop("setup", None)
    verdicts = {name: has_passed(run) for name, run in done.items()}
    last = json.loads(LAST.read_text()) if LAST.exists() else {}
    LAST.write_text(json.dumps({**last, **verdicts}, indent=1))
    failed = [name for name, passed in verdicts.items() if not passed]
    if failed and lacking and not lacking.passed:
        tell("setup", lacking.log)
    for name in failed:
        if isinstance(done[name], Run):
            tell(name, done[name].log)
    used = sum(run.cpu for run in done.values() if isinstance(run, Run))
    print(f"\n{time.monotonic() - began:.0f} s, {used:.0f} s of CPU" + (f"; failed: {' '.join(failed)}" if failed else ""))
    print(f"{len(done) - len(failed)} passed, {len(failed)} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
