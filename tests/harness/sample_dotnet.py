#!/usr/bin/env python3
"""samples/csharp, woven with its own rules: what its trace must show, call by call, on CoreCLR 8.0."""

import json
import os
import re
import shutil
from collections import Counter

import check_trace
import dotnet
from lib import ROOT, SAMPLES, Score, fresh, main, run, weave_binary

SAMPLE = ROOT / "samples" / "csharp"
MS = 1_000_000

# Methods that run from their begin to their end: how often each is called, and how often an exception leaves it.
CALLS = Counter({
    "Program.Lines": 1,
    "Program.Counting": 1,
    "Program.Generics": 1,
    "Program.Zero": 1,
    "Program.Spans": 1,
    "Program.Filtered": 3,
    "Program.IsKnown": 1,
    "Program.Risky": 3,
    "Program.Locked": 1,
    # A thread's body, three times, and what it calls.
    "Program.Locked.Add": 3,
    "Program.Locked.Twice": 3,
    "Program.Members": 1,
    "Program.Finalized": 1,
    "Program.Leave": 1,
    "Order..ctor": 4,
    "Order.Deconstruct": 1,
    "Order.get_Name": 2,
    "Order.get_Count": 3,
    "Order.get_Price": 5,
    "Till..ctor": 1,
    "Till.set_Name": 1,
    "Till.set_Total": 2,
    "Till.get_Total": 4,
    "Till.Spin": 2,
    "IPlace.Describe": 1,
    "Stock..ctor": 2,
    "Stock.set_Place": 1,
    "Stock.get_Place": 2,
    "Stock.TryTake": 1,
    "Stock.set_Item": 2,
    "Stock.get_Item": 2,
    "Leftover..ctor": 1,
    "Leftover.Finalize": 1,
    "Numbers.Sum": 2,
    "Pair`2..ctor": 5,
    "Pair`2.Swap": 2,
    "Pair`2.Map": 1,
    "Pair`2.ToString": 3,
    "Words..ctor": 1,
    "Words.GetEnumerator": 1,
    "Words.MoveNext": 5,
    "Words.get_Current": 14,
    "Words.set_Current": 6,
    "Words.Largest": 1,
})
ERRORS = Counter({"Program.Risky": 2})
# Async methods and iterators: calls, and how often each fails. An iterator that nobody asks for a value never begins.
LOGICAL = Counter({
    "Program.Main": 1,
    "Program.RefusedAsync": 1,
    "Program.CancelledAsync": 1,
    "Program.ParallelAsync": 1,
    "Program.CachedAsync": 1,
    "Program.BackgroundAsync": 1,
    "Program.Notify": 1,
    "Program.TicksAsync": 1,
    "Till.PayAsync": 3,
    "Till.BankAsync": 3,
    "Till.WaitAsync": 1,
    "Till.WatchAsync": 1,
    "Till.DeliverAsync": 3,
    "Till.WorkAsync": 1,
    "Stock.CountAsync": 2,
    "Numbers.Upto": 4,
    "Numbers.TicksAsync": 2,
})
FAILED = Counter({"Till.PayAsync": 1, "Till.BankAsync": 1, "Till.WaitAsync": 1, "Till.WatchAsync": 1, "Numbers.Upto": 1})
# The enumerator that is never disposed of.
UNENDED = Counter({"Numbers.Upto": 1})
EXCEPTIONS = Counter({
    ("System.InvalidOperationException", "nothing cannot be paid"): 1,
    ("System.Threading.Tasks.TaskCanceledException", "A task was canceled."): 2,
    ("System.ArgumentOutOfRangeException", None): 1,
    ("System.InvalidOperationException", "known"): 1,
    ("System.ArgumentException", "two"): 1,
})


def spelled(trace, method):
    """`Type.Method` of the sources."""
    owner, name, _ = trace.symbols[method]
    owner = owner.removeprefix("Shop.").replace("/", "+").split("+")
    local = re.fullmatch(r"<(\w+)>g__(\w+)\|.*", name)
    if local:
        return f"{owner[0]}.{local[1]}.{local[2]}"
    if re.match(r"<\w*>b__", name):
        return f"{owner[0]}.lambda"
    return f"{owner[0]}.{name}"


def named(trace, counts):
    result = Counter()
    for method, n in counts.items():
        result[spelled(trace, method)] += n
    return +result


def logical(score, what, trace):
    """What the trace tells of async methods and iterators."""
    by_name = {}
    for call in trace.logical.values():
        by_name.setdefault(spelled(trace, call.method), []).append(call)
    score.counts(f"{what}: logical calls", Counter({k: len(v) for k, v in by_name.items()}), LOGICAL)
    failed = Counter({k: sum(c.ended[0][1] == "error" for c in v if c.ended) for k, v in by_name.items()})
    score.counts(f"{what}: logical calls that fail", +failed, FAILED)
    unended = Counter({k: sum(not c.ended for c in v) for k, v in by_name.items()})
    score.counts(f"{what}: logical calls that are never ended", +unended, UNENDED)
    if set(by_name) != set(LOGICAL) or unended != +unended and +unended != UNENDED:
        return
    for name, least in (("Till.BankAsync", 80), ("Till.DeliverAsync", 100), ("Till.WaitAsync", 20)):
        calls = by_name[name]
        told = [(round(c.lasted() / MS), round(c.running() / MS)) for c in calls]
        # Timers may be early by a tick of the system's coarse clock (4 ms, on some systems 10), which .NET counts by; the wait begins
        # before the piece ends.
        score.check(f"{what}: {name} lasts its wait and runs a part of it", all(l >= least - 10 and l - r >= 0.5 * least for l, r in told), f"(lasted, ran) ms: {told}")
    (work,) = by_name["Till.WorkAsync"]
    lasted, running = work.lasted() / MS, work.running() / MS
    score.check(f"{what}: Till.WorkAsync works 60 ms and waits 60 ms", running >= 59 and lasted - running >= 36 and len(work.pieces) == 2, f"{running:.0f} of {lasted:.0f} ms, {len(work.pieces)} pieces")
    delivered = by_name["Till.DeliverAsync"]
    last_begin, first_end = max(c.begin() for c in delivered), min(c.ended[0][0] for c in delivered)
    score.check(f"{what}: three deliveries wait at the same time", last_begin < first_end, f"{(first_end - last_begin) / MS:.0f} ms together")
    outer, inner = sorted(by_name["Till.PayAsync"], key=check_trace.Call.begin), sorted(by_name["Till.BankAsync"], key=check_trace.Call.begin)
    nested = all(o.begin() <= i.begin() and i.ended[0][0] <= o.ended[0][0] for o, i in zip(outer, inner))
    score.check(f"{what}: the bank's part is within the payment", nested)
    cached = sorted(by_name["Stock.CountAsync"], key=check_trace.Call.begin)
    pieces = [len(c.pieces) for c in cached]
    score.check(f"{what}: what is there at once runs in one piece", pieces == [2, 1], str(pieces))
    # A piece a value and one that says that there is no more; one value and one disposal; two values and one disposal.
    pieces = sorted(len(c.pieces) for c in by_name["Numbers.Upto"])
    score.check(f"{what}: iterators run in a piece a value", pieces == [1, 1, 2, 5], str(pieces))


HOOKED = ["audit: Risky: InvalidOperationException: known", "audit: Risky: ArgumentException: two", "audit: one tea: taken, 4 left"]
#: What the trace has of orders and deliveries, in the order of their calls.
RECORDED = {
    "Shop.Order..ctor": [
        {"name": "tea", "count": 3, "cents": 250}, {"name": "cake", "count": 1, "cents": 480}, {"name": "nothing", "count": 0, "cents": 100},
        {"name": "jam", "count": 2, "cents": 120}],
    "Shop.Till.DeliverAsync": [{"number": 1}, {"number": 2}, {"number": 3}],
}


def hooked(score, what, folder, plain, host, printed):
    """The shop with hooks of its own and recorded values."""
    run([SAMPLE / "hooks/build.sh", folder])
    woven, path = folder / "hooked", folder / "hooked.wtrace"
    run([weave_binary(), "-q", "--strict", "--rules", folder / "hooks.toml", plain / "shop.dll", woven / "shop.dll"])
    ran = run([*host, woven / "shop.dll"], check=False, env={**os.environ, "WEAVE_TRACE": str(path)})
    score.check(f"{what} with own hooks: the same output", ran.stdout == printed and ran.returncode == 0, ran.stderr[:2000])
    score.check(f"{what} with own hooks: what they say", ran.stderr.splitlines() == HOOKED, "" if ran.stderr.splitlines() == HOOKED else ran.stderr[:2000])
    told = json.loads(run([weave_binary(), "report", "--json", "--calls", path]).stdout)
    found = {}
    for call in sorted(told["calls"], key=lambda call: call["start_ns"]):
        found.setdefault(f"{call['type']}.{call['method']}", []).append(call["values"])
    score.check(f"{what} with own hooks: recorded values", found == RECORDED, str(found))


def body():
    score = Score()
    folder, what = fresh(SAMPLES / "csharp"), "the C# sample"
    plain, woven = folder / "plain", folder / "woven"
    for path in (plain, woven):
        path.mkdir()
    run([SAMPLE / "build.sh", plain / "shop.dll"])
    run([weave_binary(), "-q", "--strict", "--rules", SAMPLE / "weave.toml", plain / "shop.dll", woven / "shop.dll"])
    trace = folder / "shop.wtrace"
    host = dotnet.host("core8")
    before = run([*host, plain / "shop.dll"])
    after = run([*host, woven / "shop.dll"], check=False, env={**os.environ, "WEAVE_TRACE": str(trace)})
    same = before.stdout == after.stdout and after.returncode == 0
    score.check(f"{what}: the same output, stack traces with lines in it", same and before.stdout.count(":line ") == 3, "" if same else f"{after.stdout}\n{after.stderr[:2000]}")
    hooked(score, what, folder, plain, host, before.stdout)
    # Embedded symbols, and none.
    for options, lines in ((["-debug:embedded"], 3), (["-debug-"], 0)):
        other = fresh(folder / "other")
        run([SAMPLE / "build.sh", other / "shop.dll", *options])
        before = run([*host, other / "shop.dll"])
        run([weave_binary(), "-q", "--strict", "--rules", SAMPLE / "weave.toml", other / "shop.dll", other / "shop.dll"])
        after = run([*host, other / "shop.dll"], check=False, env={**os.environ, "WEAVE_TRACE": "off"})
        score.check(f"{what}, {options[0]}, woven in place: the same output", before.stdout == after.stdout and before.stdout.count(":line ") == lines, f"{after.stdout[-500:]}{after.stderr[-500:]}" if before.stdout != after.stdout else "")
    if not trace.exists():
        score.check(f"{what}: a trace is written", False, after.stderr[-500:])
        return score.finish("samples/csharp")
    # The enumerator that is left open is not running: only finished pieces are there.
    found = check_trace.read(trace)
    score.check(f"{what}: a whole, balanced trace", not found.problems and found.orderly, str(found.problems[:5]))
    whole = Counter(found.calls)
    whole.subtract(found.pieces)
    counted = named(found, whole)
    lambdas = counted.pop("Program.lambda", 0)
    score.counts(f"{what}: calls", counted, CALLS)
    score.check(f"{what}: lambdas", lambdas >= 6, str(lambdas))
    failed = Counter(found.errors)
    failed.subtract(Counter({c.method: 0 for c in found.logical.values()}))
    for call in found.logical.values():
        failed[call.method] = 0
    score.counts(f"{what}: exceptions that leave methods", named(found, +failed), ERRORS)
    thrown = Counter()
    for (kind, message), n in found.exceptions.items():
        thrown[kind, None if kind == "System.ArgumentOutOfRangeException" else message] += n
    score.counts(f"{what}: exceptions by type and message", thrown, EXCEPTIONS)
    logical(score, what, found)
    names = set(found.threads.values())
    score.check(f"{what}: threads", {"clerk 1", "clerk 2", "clerk 3"} <= names, str(sorted(names)))
    told = json.loads(run([weave_binary(), "report", "--json", trace]).stdout)
    calls = sum(m["calls"] for m in told["methods"])
    score.check(f"{what}: weave report tells as many calls", calls >= sum(CALLS.values()), str(calls))
    # The trace stays: exports.py reads it.
    for path in (plain, woven, other):
        shutil.rmtree(path)
    return score.finish("samples/csharp")


if __name__ == "__main__":
    main(body)
