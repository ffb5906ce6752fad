#!/usr/bin/env python3
"""Tests the runner (tests/run.py): what runs side by side and what must not, what waits, and what is told of failures."""

import contextlib
import io
import json
import os
import sys
from unittest import mock

from lib import ROOT, WORK, Score, fresh, main

sys.path.insert(0, str(ROOT / "tests"))
import run as runner  # noqa: E402

# Each waits until the other has begun.
MEET = "touch {0}; for i in $(seq 6000); do [ ! -e {1} ] || exit 0; sleep 0.1; done; exit 1"
# No other may be in here.
ALONE = "mkdir {0} && sleep 0.3 && rmdir {0}"


def outcome(folder, tests, *arguments):
    """The runner's status, what it printed, and its verdicts."""
    out = io.StringIO()
    # In its own folders, and with nothing built: WEAVE names what stands for the release build.
    with (
        mock.patch.multiple(runner, TESTS=tests, ROOT=folder, CACHE=folder, LOGS=folder / "logs", LAST=folder / "last.json",
                            BY_NAME={test.name: test for test in tests}),
        mock.patch.dict(os.environ, {"WEAVE": "true"}), mock.patch.object(sys, "argv", ["run.py", *arguments]),
        contextlib.redirect_stdout(out),
    ):
        status = runner.main()
    return status, out.getvalue(), json.loads((folder / "last.json").read_text())


def test(name, command, needs=(), **more):
    return runner.Test(name, more.pop("step", "step"), command, 1, needs, **more)


def body():
    score, folder = Score(), fresh(WORK / "run")
    place = lambda name: fresh(folder / name)

    def check(name, good, told):
        score.check(name, good, "" if good else told)


    # Each can begin once all that it waits for have ended.
    waits = {one.name: set(runner.first(one, set(runner.BY_NAME))) for one in runner.TESTS}
    ended = set()
    while ready := {name for name in waits if name not in ended and waits[name] <= ended}:
        ended |= ready
    check("no test of the table waits for itself", ended == set(waits), str(set(waits) - ended))

    status, told, _ = outcome(place("meet"), [test("one", MEET.format("a", "b")), test("two", MEET.format("b", "a"))], "--jobs", "2")
    check("independent tests run side by side", status == 0 and told.endswith("2 passed, 0 failed\n"), told[-200:])
    for how, holds in (("of one name", ("place",)), ("alone", ("machine",))):
        both = [test(name, ALONE.format("held"), holds=holds) for name in ("one", "two")]
        status, told, _ = outcome(place("held"), both, "--jobs", "4")
        check(f"tests that hold something {how} do not", status == 0, told[-300:])

    last = "marker of the last line"
    tests = [test("good", "echo 7 passed, 0 failed", step="first"), test("bad", f"echo FAIL reason; echo {last}; exit 3"),
             test("release", "false", runs="needed"), test("needy", "touch ran", ("release",)), test("full", "false", runs="full")]
    with mock.patch.object(runner, "with_needed", lambda chosen: [*chosen, tests[2]]):
        where = place("told")
        status, told, verdicts = outcome(where, tests)
    check("a failure is told with its log's end", status == 1 and last in told and "FAIL reason" in told, told[-300:])
    score.check("a test is not run if what it needs failed", "needy: not run, since `release` failed" in told and not (where / "ran").exists())
    check("verdicts are kept", verdicts == {"good": True, "bad": False, "needy": False, "release": False}, str(verdicts))
    check("the end counts", told.endswith("1 passed, 3 failed\n") and "7 checks" in told, told[-60:])
    _, told, _ = outcome(where, [tests[0], test("bad", "true"), test("needy", "true")], "--failed")
    check("--failed runs those that failed", told.endswith("2 passed, 0 failed\n") and "good" not in told, told[-60:])
    _, told, _ = outcome(where, tests, "--only", "first")
    check("--only takes a step", told.endswith("1 passed, 0 failed\n") and "good" in told, told[-60:])
    _, told, _ = outcome(where, [tests[0], test("bad", "true")], "--without", "good")
    check("--without leaves a test out", told.endswith("1 passed, 0 failed\n") and "good" not in told, told[-60:])

    tests = [test("setup", "echo cannot install go; exit 1", runs="needed"), test("good", "true", ("setup",)), test("bad", "false", ("setup",))]
    status, told, verdicts = outcome(where, tests, "--only", "good")
    check("what cannot be installed is no failure of tests that do without", status == 0 and verdicts["good"], told)
    status, told, _ = outcome(where, tests, "--only", "bad")
    check("else it is told", status == 1 and "cannot install go" in told, told)

    with mock.patch.object(runner, "LIMIT", 1):
        status, told, _ = outcome(where, [test("hangs", "sleep 600")])
    check("what hangs is killed, and told", status == 1 and "longer than 1 s" in told, told)

    names = [test.name for test in runner.TESTS]
    score.check("names are told apart", len(names) == len(set(names)), f"{len(names)} tests")
    strange = {need for test in runner.TESTS for need in test.needs} - runner.NEEDS.keys() - {"cargo", "cc", "java"}
    score.check("needs are known", not strange, str(strange or ""))
    scripts = {word for test in runner.TESTS for word in test.command.split() if "/" in word and "{" not in word and "." in word}
    lacking = sorted(word for word in scripts if not (ROOT / word).exists())
    score.check("each command's script is there", not lacking and len(scripts) > 20, f"{lacking or len(scripts)}")
    return score.finish("runner")


if __name__ == "__main__":
    main(body)
