#!/usr/bin/env python3
"""Calls that are summed up: tables by `mode = "aggregate"` and by records of one deterministic program agree.

    aggregates.py [--only NAME]...

Names: java, dex, dotnet. The programs are those of counts.py, woven three times: recorded, summed up, and with some methods recorded and all
others summed up. Calls and errors are the same in all of them. No two runs take equally long: so times are judged by what no load can change.
Within a run, own times add up to the time of the outermost calls, whichever of the calls are recorded; a method that calls no other has all of
its time as its own; what is in the report is what is in the trace. Traces are read by check_trace.py.
"""

import csv
import io
import json
from collections import Counter

import check_trace
import corpora
import counts
from lib import main, run, weave_binary

RULES = {
    "record": counts.RULES["record"],
    "aggregate": f'version = 1\n[[aspect]]\n{counts.ALL}mode = "aggregate"\n',
    "both": f'version = 1\n[[aspect]]\n{counts.ALL}mode = "aggregate"\n[[aspect]]\nname = "some"\n{counts.SOME}',
}
# Methods that call no other; of the programs in tests/programs/counts.
COLUMNS = ("calls", "errors", "self_ns", "duration_ns", "min_ns", "max_ns")
LEAVES = ("tiny", "get", "set", "fails", "Tiny", "Fails")


def summed(trace, what):
    return Counter({method: n for method, one in trace.sums.items() if (n := what(one))})


def errors(trace):
    found = trace.errors + summed(trace, lambda one: one.errors)
    return Counter({method: n for method, n in found.items() if method not in logical(trace)})


def logical(trace):
    """Methods that run in pieces: they are recorded in any mode."""
    return {call.method for call in trace.logical.values()}


def judge(score, name, plain, runs):
    """Judges the runs of one host: what each printed, and its trace."""
    traces = {}
    for mode, (done, path) in runs.items():
        score.check(f"{name}, {mode}: the same output", done.returncode == 0 and done.stdout == plain.stdout, done.stderr[-1500:])
        traces[mode] = check_trace.read(path)
        score.check(f"{name}, {mode}: the trace is sound", not traces[mode].problems, "; ".join(traces[mode].problems[:3]))
    wanted, failed = counts.recorded(traces["record"]), errors(traces["record"])
    for mode in ("aggregate", "both"):
        trace = traces[mode]
        calls = summed(trace, lambda one: one.calls)
        ended = summed(trace, lambda one: one.ended())
        others = counts.recorded(trace)
        score.check(f"{name}, {mode}: as many calls as recorded", calls + others == wanted and len(wanted) > 12,
                    f"{len(calls)} methods summed up, {len(others)} recorded; not the same: {(calls + others - wanted) + (wanted - calls - others)}")
        score.check(f"{name}, {mode}: each call ended", ended == calls, f"{(calls - ended)}")
        score.check(f"{name}, {mode}: as many errors", errors(trace) == failed, f"{failed.total()} errors")
        score.check(f"{name}, {mode}: either recorded or summed up", calls and not calls.keys() & others.keys() and not trace.counts)
        strange = [trace.symbols[m][1] for m, one in trace.sums.items()
                   if one.own > one.total and trace.symbols[m][1] in LEAVES or trace.symbols[m][1] in LEAVES and one.own != one.total]
        score.check(f"{name}, {mode}: all time of a method that calls none is its own", not strange, ", ".join(strange))
    roots = {method: traces["record"].calls[method] for method in traces["record"].roots}
    if traces["record"].roots == roots:
        for mode, trace in traces.items():
            own = trace.own.total() + summed(trace, lambda one: one.own).total()
            total = sum(trace.total[method] + (trace.sums[method].total if method in trace.sums else 0) for method in roots)
            score.check(f"{name}, {mode}: own times add up to the time of outermost calls", own == total,
                        f"{own:,} and {total:,} ns, of {len(roots)} methods")
    whole = traces["aggregate"]
    score.check(f"{name}: what is summed up is not recorded", not whole.calls.keys() - logical(whole), f"{len(logical(whole))} in pieces")
    report = json.loads(run([weave_binary(), "report", "--json", runs["both"][1]]).stdout)
    both, strange, rows = traces["both"], [], Counter()
    by_name = {}
    for method, one in both.sums.items():
        owner, method_name, descriptor = both.symbols[method]
        by_name[owner, method_name, descriptor] = (one.calls, one.errors, one.own, one.total, one.min, one.max)
    for method in both.calls.keys() - logical(both):
        by_name[both.symbols[method]] = (both.calls[method], both.errors[method], both.own[method], both.total[method], None, None)
    for row in report["methods"]:
        key = row["type"], row["method"], row["descriptor"]
        if key not in by_name:
            continue
        rows["summed up" if "aggregated" in row else "recorded"] += 1
        calls, failed, own, total, least, most = by_name[key]
        same = (row["calls"], row["errors"], row["self_ns"], row["total_ns"]) == (calls, failed, own, total)
        if not same or least is not None and (row["min_ns"], row["max_ns"], row["aggregated"]) != (least, most, calls):
            strange.append(row["label"])
    score.check(f"{name}: the report has what the trace has, own times of recorded callers too", not strange and len(rows) == 2,
                ", ".join(strange[:3]) or f"{rows}")
    exported = csv.DictReader(io.StringIO(run([weave_binary(), "export", "--quiet", "--to", "csv", runs["both"][1]]).stdout))
    found, own = {}, 0
    for row in exported:
        own += int(row["self_ns"] or 0) if row["kind"] != "logical" else 0
        if row["kind"] == "aggregated":
            found[row["type"], row["method"], row["descriptor"]] = tuple(int(row[column]) for column in COLUMNS)
    wanted = {both.symbols[m]: (one.calls, one.errors, one.own, one.total, one.min, one.max) for m, one in both.sums.items() if one.calls}
    score.check(f"{name}: an export has what the trace has", sorted(found.values()) == sorted(wanted.values()) and wanted,
                f"{len(found)} methods, {len(wanted)} in the trace")
    score.check(f"{name}: its own times add up to the report's", own == sum(row["self_ns"] or 0 for row in report["methods"]), f"{own:,} ns")
    return traces


if __name__ == "__main__":
    counts.RULES, counts.judge = RULES, judge
    main(lambda: corpora.run_chosen(__doc__, counts.EVERY, set(), "aggregates"))
