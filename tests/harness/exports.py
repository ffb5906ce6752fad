#!/usr/bin/env python3
"""`weave export`: the samples' traces, read back by the tools that the formats are for.

    exports.py [--full] [TRACE...]      by default the traces that sample.py and sample_dotnet.py left; --full: Spark, too

DuckDB, pyarrow, pandas, polars, Spark and Perfetto's own definitions come from PyPI, speedscope from npm; they are kept in `.cache/readers`. speedscope
runs in Chromium. flamegraph.pl is the copy in Debian's libdevel-nytprof-perl.
"""

import base64
import csv
import hashlib
import json
import os
import pathlib
import sys
import tarfile
from collections import Counter

import browser
import check_trace
import dotnet
from lib import CACHE, SAMPLES, WORK, Missing, Score, fresh, locked, main, run, weave_binary

READERS = CACHE / "readers"
PACKAGES = ["duckdb==2.0.0", "pyarrow==26.0.1", "pandas==3.1.1", "polars==2.1.0", "perfetto==0.59.1", "protobuf==7.36.2"]
SPARK = ["pyspark==4.3.0"]
SPEEDSCOPE = ("speedscope@1.25.0", "2831f1e0d26df914b477e522d78b8485511495a6af81a0b88158f8b48f9e0d03")
FLAMEGRAPH = pathlib.Path("/usr/share/perl5/Devel/NYTProf/flamegraph.pl")
FULL = any(scope in sys.argv for scope in ("--full", "--everything"))
FORMATS = ("perfetto", "chrome", "speedscope", "folded", "csv", "parquet")


@locked("readers")
def readers():
    """Has pip install the readers, once."""
    for folder, packages in [("polars", PACKAGES)] + [("pyspark", SPARK)] * FULL:
        if not (READERS / folder).is_dir():
            done = run([sys.executable, "-m", "pip", "install", "-q", "--upgrade", "--target", READERS, *packages], check=False)
            if done.returncode != 0:
                raise Missing(f"readers of exports: pip says {done.stderr[-300:]}")
    sys.path.insert(0, str(READERS))


@locked("readers")
def speedscope_page():
    """speedscope's own page, brought by npm once."""
    folder = READERS / "speedscope"
    page = folder / "package" / "dist" / "release" / "index.html"
    if not page.exists():
        package, wanted = SPEEDSCOPE
        archive = dotnet.download("npm", package, fresh(folder))
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != wanted:
            raise Missing(f"{package} is another one: {found}")
        with tarfile.open(archive) as files:
            files.extractall(folder, filter="data")
    return page


class Expected:
    """What an independent reader finds in a trace."""

    def __init__(self, path):
        trace = check_trace.read(path)
        self.origin = int.from_bytes(pathlib.Path(path).read_bytes()[16:24], "little")
        self.calls = self.names(trace, trace.calls)
        # An outcome counts calls that were left by an exception, whole or piece.
        self.errors = sum(trace.errors.values())
        self.logical = len(trace.logical)
        self.threads = set(trace.threads.values())
        self.exceptions = set(trace.exceptions)
        self.values = Counter()
        for (method, values), n in trace.values.items():
            (name,) = trace.named({method: 1})
            self.values[f"{name} {values}"] += n

    @staticmethod
    def names(trace, counts):
        return Counter({name: n for name, n in trace.named(counts).items() if n})


def plain(label):
    """`shop.Order.pay(Ledger)` without its parameters, as the trace's own reader names methods."""
    return check_trace.folded(label.split("(")[0].rstrip())


def perfetto(score, what, path, expected):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2

    trace = perfetto_trace_pb2.Trace()
    trace.ParseFromString(path.read_bytes())
    names, clocks, open_slices, tracks, faults = {}, {}, {}, {}, []
    calls, errors, flows = Counter(), 0, Counter()
    thread_names, logical_tracks = set(), set()
    snapshot, *packets = trace.packet
    told = {clock.clock_id: clock.timestamp for clock in snapshot.clock_snapshot.clocks}
    primary = snapshot.clock_snapshot.primary_trace_clock
    wall = told.pop(primary, None)
    own = next(iter(told), None)
    score.check(f"{what}: a clock whose zero is the trace's origin", primary == 1 and wall == expected.origin and told == {own: 0} and own >= 128, str(snapshot)[:300])
    for packet in packets:
        sequence, event = packet.trusted_packet_sequence_id, packet.track_event
        if packet.sequence_flags & 1:
            names[sequence] = {}
            if packet.trace_packet_defaults.timestamp_clock_id != own:
                faults.append(f"sequence {sequence} has another clock")
        elif sequence not in names:
            faults.append(f"sequence {sequence} begins without its state cleared")
        for name in packet.interned_data.event_names:
            names[sequence]["name", name.iid] = name.name
        for name in packet.interned_data.debug_annotation_names:
            names[sequence]["annotation", name.iid] = name.name
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            tracks[descriptor.uuid] = descriptor
            if descriptor.HasField("thread"):
                thread_names.add(descriptor.thread.thread_name)
            # A program that ran for a second has samples of its process, too.
            elif not descriptor.HasField("process") and not descriptor.HasField("counter"):
                logical_tracks.add(descriptor.uuid)
            continue
        if packet.timestamp < clocks.get(sequence, 0):
            faults.append(f"sequence {sequence} steps back to {packet.timestamp}")
        clocks[sequence] = packet.timestamp
        if event.track_uuid not in tracks:
            faults.append(f"an event on track {event.track_uuid} before its descriptor")
        if event.type == event.TYPE_COUNTER:
            continue
        stack = open_slices.setdefault(event.track_uuid, [])
        if event.type == event.TYPE_SLICE_BEGIN:
            name = names[sequence].get(("name", event.name_iid))
            stack.append(name)
            if name is None:
                faults.append(f"name {event.name_iid} is not interned in sequence {sequence}")
            elif event.track_uuid not in logical_tracks:
                calls[plain(name)] += 1
            flows.update(event.flow_ids)
        elif not stack:
            faults.append("an end without a begin")
        else:
            stack.pop()
            annotations = {names[sequence]["annotation", a.name_iid]: a.string_value for a in event.debug_annotations}
            if event.track_uuid not in logical_tracks:
                errors += annotations.get("outcome") == "error"
    left = sum(map(len, open_slices.values()))
    score.check(f"{what}: Perfetto's rules hold", not faults and not left, f"{faults[:3]} {left} open" if faults or left else f"{len(trace.packet)} packets")
    score.counts(f"{what}: calls", calls, expected.calls)
    score.check(f"{what}: exceptions", errors == expected.errors, f"{errors} of {expected.errors}")
    score.check(f"{what}: threads", expected.threads <= thread_names, str(sorted(expected.threads - thread_names)))
    score.check(f"{what}: logical calls and their flows", len(logical_tracks) == expected.logical == len(flows) or not flows and not expected.logical, f"{len(logical_tracks)} tracks, {len(flows)} flows, {expected.logical} calls")


def chrome(score, what, path, expected):
    events = json.loads(path.read_text())["traceEvents"]
    calls = Counter(plain(e["name"]) for e in events if e["ph"] == "X")
    score.counts(f"{what}: calls", calls, expected.calls)
    begun, ended = (sum(e["ph"] == phase for e in events) for phase in "be")
    score.check(f"{what}: logical calls", begun == ended == expected.logical, f"{begun} of {expected.logical}")
    found = {(e["args"]["exception.type"], e["args"]["exception.message"]) for e in events if "exception.type" in e.get("args", {})}
    score.check(f"{what}: exceptions", found == expected.exceptions, str(found ^ expected.exceptions)[:300])


def speedscope(score, what, path, expected):
    file = json.loads(path.read_text())
    frames, calls, faults = file["shared"]["frames"], Counter(), 0
    for profile in file["profiles"]:
        stack, last = [], profile["startValue"]
        for event in profile["events"]:
            faults += event["at"] < last
            last = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
                calls[plain(frames[event["frame"]]["name"])] += 1
            else:
                faults += stack.pop() != event["frame"]
        faults += bool(stack) or last > profile["endValue"]
    score.check(f"{what}: times and nesting", not faults, f"{len(file['profiles'])} profiles")
    score.counts(f"{what}: calls", calls, expected.calls)


def speedscope_itself(score, what, path, window):
    """speedscope's importer and views: all profiles are there, and its table has the first one's frames."""
    file = json.loads(path.read_text())
    script = path.with_suffix(".js")
    script.write_text(f"speedscope.loadFileFromBase64({json.dumps(path.name)}, '{base64.b64encode(path.read_bytes()).decode()}')")
    page = window.new_page()
    errors = []
    page.on("pageerror", lambda e: errors.append(str(e)))
    page.goto(f"{speedscope_page().as_uri()}#localProfilePath={script}")
    page.wait_for_function("document.title !== 'speedscope'", timeout=600_000)
    page.get_by_text("Sandwich").click()
    page.wait_for_function("document.body.innerText.includes('Symbol Name')", timeout=600_000)
    words = page.locator("body").inner_text()
    shown = [p for p in file["profiles"] if p["name"] in words]
    numbered = f"(1/{len(file['profiles'])})" in words or len(file["profiles"]) == 1
    score.check(f"{what}: speedscope has all profiles", len(shown) == 1 and numbered, f"{len(file['profiles'])}, {shown and shown[0]['name']}")
    frames = {file["shared"]["frames"][e["frame"]]["name"] for e in shown[0]["events"]}
    rows = {row.split("\t")[-1].strip() for row in page.locator("tr").all_inner_texts()}
    score.check(f"{what}: its table has the frames", len(frames & rows) >= min(len(frames), 10), f"{len(frames & rows)} of {len(frames)}")
    score.check(f"{what}: speedscope does not complain", not errors, str(errors)[:200])
    page.close()


def flamegraph(score, what, path):
    """Brendan Gregg's script draws it, and the widths that it tells are the sums of the lines."""
    if not FLAMEGRAPH.exists():
        raise Missing(f"{FLAMEGRAPH}: tests/setup.sh installs it")
    done = run(["perl", FLAMEGRAPH, "--countname", "ns", "--minwidth", "0", path])
    whole = sum(int(line.rsplit(" ", 1)[1]) for line in path.read_text().splitlines())
    roots = Counter()
    for line in path.read_text().splitlines():
        roots[line.split(";")[0].rsplit(" ", 1)[0] if ";" not in line else line.split(";")[0]] += int(line.rsplit(" ", 1)[1])
    told = f"all ({whole:,} ns, 100%)"
    root, most = roots.most_common(1)[0]
    score.check(f"{what}: flamegraph.pl draws it", told in done.stdout and f"({most:,} ns," in done.stdout and not done.stderr, f"{told}, {root} {done.stderr[:200]}")


def folded(score, what, path, expected):
    del expected
    lines = [line.rsplit(" ", 1) for line in path.read_text().splitlines()]
    score.check(f"{what}: each line is a stack and a number", bool(lines) and all(stack and number.isdigit() for stack, number in lines), f"{len(lines)} stacks")


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def table(score, what, path, expected):
    rows = rows_of(path)
    calls = Counter(check_trace.folded(f"{r['type']}.{r['method']}") for r in rows if r["kind"] != "logical")
    score.counts(f"{what}: calls", calls, expected.calls)
    values = Counter()
    for row in rows:
        if row["values"] and row["kind"] != "logical":
            name = check_trace.folded(f"{row['type']}.{row['method']}")
            values[f"{name} {json.dumps(json.loads(row['values']))}"] += 1
    if values or expected.values:
        score.counts(f"{what}: values", values, expected.values)
    by_id = {r["id"]: r for r in rows if r["id"]}

    def inside(row):
        parent = by_id[row["parent"]]
        start, end = int(row["start_ns"]), int(row["start_ns"]) + int(row["duration_ns"])
        return int(parent["start_ns"]) <= start and end <= int(parent["start_ns"]) + int(parent["duration_ns"]) and int(parent["depth"]) + 1 == int(row["depth"])

    score.check(f"{what}: calls lie in their parents", all(inside(r) for r in rows if r["parent"] and r["kind"] != "logical"), f"{sum(bool(r['parent']) for r in rows)} parents")
    errors = sum(r["outcome"] == "error" for r in rows if r["kind"] != "logical")
    score.check(f"{what}: exceptions", errors == expected.errors, f"{errors} of {expected.errors}")


def parquet(score, what, path, expected):
    import duckdb
    from pyarrow import parquet as arrow

    of_arrow = arrow.read_table(path)
    query = f"select type || '.' || method, count(*) from '{path}' where kind <> 'logical' group by all"
    calls = Counter()
    for name, count in duckdb.sql(query).fetchall():
        calls[check_trace.folded(name)] += count
    score.counts(f"{what}: calls, by DuckDB", calls, expected.calls)
    logical = duckdb.sql(f"select count(*) from '{path}' where kind = 'logical'").fetchall()[0][0]
    score.check(f"{what}: logical calls", logical == expected.logical, f"{logical} of {expected.logical}")
    rows = rows_of(path.with_suffix(".csv"))
    wanted = [list(r.values()) for r in rows]
    # The CSV has no time as a date, and nothing for nothing.
    words = lambda cells: ["" if cell is None else str(cell) for cell in cells]
    by_duckdb = duckdb.sql(f"select * exclude (start_time) from '{path}'").fetchall()
    score.check(f"{what}: DuckDB reads the rows of the CSV", [words(r) for r in by_duckdb] == wanted, f"{len(by_duckdb)} rows")
    columns = [of_arrow[name] for name in of_arrow.column_names if name != "start_time"]
    same = [words(r) for r in zip(*(column.to_pylist() for column in columns))] == wanted
    score.check(f"{what}: pyarrow reads the rows of the CSV", same and bool(wanted), f"{of_arrow.num_rows} rows")
    micros = [int(row["start_unix_ns"]) // 1000 for row in rows]
    own = [name for (name,) in duckdb.sql(f"select epoch_us(start_time) from '{path}'").fetchall()]
    score.check(f"{what}: the time as a date, by DuckDB", own == micros)
    data_frames(score, what, path, micros)


def data_frames(score, what, path, micros):
    """What data frames make of the times."""
    import pandas
    import polars

    by_pandas = pandas.read_parquet(path)["start_time"].astype("datetime64[us, UTC]").astype("int64")
    score.check(f"{what}: by pandas", list(by_pandas) == micros)
    by_polars = polars.read_parquet(path)["start_time"].dt.epoch("us")
    score.check(f"{what}: by polars", by_polars.to_list() == micros)
    if FULL:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        from pyspark.sql import SparkSession, functions

        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
        times = spark.read.parquet(str(path)).select(functions.unix_micros("start_time")).collect()
        score.check(f"{what}: by Spark", [row[0] for row in times] == micros)


CHECKS = dict(zip(FORMATS, (perfetto, chrome, speedscope, folded, table, parquet)))


def body():
    readers()
    left = sorted(SAMPLES.glob("*/shop.wtrace"))
    traces = [pathlib.Path(t) for t in sys.argv[1:] if not t.startswith("--")] or left
    if not traces:
        raise Missing("traces to export: run sample.py and sample_dotnet.py first, or name some")
    score, folder = Score(), fresh(WORK / "exports")
    with browser.playwright() as driver:
        window = browser.start(driver)
        judge(score, folder, traces, window)
        window.close()
    return score.finish("exports")


def judge(score, folder, traces, window):
    for trace in traces:
        name = f"{trace.parent.name}-{trace.stem}"
        expected = Expected(trace)
        for form in reversed(FORMATS):
            out = folder / f"{name}.{form}"
            run([weave_binary(), "export", "-q", trace, "--to", form, "-o", out])
        for form, check in CHECKS.items():
            check(score, f"{name}, {form}", folder / f"{name}.{form}", expected)
        speedscope_itself(score, f"{name}, speedscope", folder / f"{name}.speedscope", window)
        flamegraph(score, f"{name}, folded", folder / f"{name}.folded")


if __name__ == "__main__":
    main(body)
