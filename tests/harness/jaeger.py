#!/usr/bin/env python3
"""`weave export --to otlp` into Jaeger, which is built from the Go module proxy (tests/jaeger): what its API tells is what an
independent reader finds in the trace.

    jaeger.py [TRACE...]      by default the traces that sample.py and sample_dotnet.py left
"""

import json
import os
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter

import check_trace
from lib import ROOT, SAMPLES, WORK, Missing, Score, fresh, main, run, weave_binary
from otlp import PATIENCE, free_ports, go_binary, names, until

# Where it listens: none of its usual ports, and nothing but this machine.
LISTENS = ("collector.otlp.http.host-port", "collector.otlp.grpc.host-port", "query.http-server.host-port", "query.grpc-server.host-port",
           "admin.http.host-port", "collector.http-server.host-port", "collector.grpc-server.host-port", "http-server.host-port")
# Its agent's ports of UDP: any that are free.
AGENT = ("processor.jaeger-binary.server-host-port", "processor.jaeger-compact.server-host-port", "processor.zipkin-compact.server-host-port")


class Jaeger:
    """Jaeger with everything in one process, and its traces in memory."""

    def __init__(self, folder):
        binary = go_binary(ROOT / "tests" / "jaeger", "github.com/jaegertracing/jaeger/cmd/all-in-one")
        ports = free_ports(len(LISTENS))
        self.http, self.grpc, self.query = ports[:3]
        self.log = folder / "jaeger.log"
        command = [binary, *(f"--{listens}=127.0.0.1:{port}" for listens, port in zip(LISTENS, ports)), *(f"--{listens}=127.0.0.1:0" for listens in AGENT)]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")} | {"SPAN_STORAGE_TYPE": "memory", "OTEL_TRACES_SAMPLER": "always_off"}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        until("Jaeger", self.listens)

    def listens(self):
        if self.process.poll() is not None:
            raise RuntimeError("Jaeger ended: " + self.log.read_text()[-2000:])
        try:
            return self.ask("services") is not None
        except (urllib.error.URLError, ConnectionError):
            return False

    def ask(self, what):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.query}/api/{what}", timeout=60) as answer:
            return json.load(answer)["data"] or []

    def spans(self, service):
        """All spans of a service, each once."""
        traces = self.ask(f"traces?service={service}&limit=100000&lookback=custom&start=0&end=9000000000000000")
        return {(s["traceID"], s["spanID"]): s for trace in traces for s in trace["spans"]}

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


def tags(of, key):
    return {tag["key"]: tag["value"] for tag in of[key]}


def check(score, jaeger, trace, number, protocol):
    what, service = f"{trace.parent.name}-{trace.stem}, {protocol}", f"shop-{number}-{protocol[:4]}"
    expected = check_trace.read(trace)
    port = jaeger.grpc if protocol == "grpc" else jaeger.http
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    run([weave_binary(), "export", trace, "--to", "otlp", "--endpoint", f"http://127.0.0.1:{port}", "--protocol", protocol, "--signals", "traces",
         "--min", "0", "--depth", "1000000", "--service", service], env=environment)
    whole = sum(names(expected, expected.calls).values()) + len(expected.logical)
    # Jaeger answers before what it took can be asked for.
    until("all spans", lambda: len(jaeger.spans(service)) >= whole)
    spans = jaeger.spans(service)
    on_threads = [s for s in spans.values() if "thread.id" in tags(s, "tags")]
    score.counts(f"{what}: calls", Counter(check_trace.folded(tags(s, "tags")["code.function.name"]) for s in on_threads), names(expected, expected.calls))
    score.check(f"{what}: logical calls", len(spans) - len(on_threads) == len(expected.logical), f"{len(spans) - len(on_threads)} of {len(expected.logical)}")
    parents = [(s, spans.get((r["traceID"], r["spanID"]))) for s in spans.values() for r in s["references"] if r["refType"] == "CHILD_OF"]
    inside = all(p and p["startTime"] <= s["startTime"] for s, p in parents)
    score.check(f"{what}: parents are there, and began before", inside and bool(parents), f"{len(parents)} parents")
    failed = [s for s in on_threads if tags(s, "tags").get("error") is True]
    score.check(f"{what}: exceptions", len(failed) == sum(expected.errors.values()), f"{len(failed)} of {sum(expected.errors.values())}")
    events = [tags(event, "fields") for s in failed for event in s["logs"]]
    found = {(e["exception.type"], e.get("exception.message", "")) for e in events}
    score.check(f"{what}: exceptions by type and message", found == set(expected.exceptions), str(found ^ set(expected.exceptions))[:300])


def body():
    left = sorted(SAMPLES.glob("*/shop.wtrace"))
    traces = [pathlib.Path(t) for t in sys.argv[1:]] or left
    if not traces:
        raise Missing("traces to export: run sample.py and sample_dotnet.py first, or name some")
    score = Score()
    jaeger = Jaeger(fresh(WORK / "jaeger"))
    for number, trace in enumerate(traces):
        for protocol in ("http/protobuf", "grpc"):
            check(score, jaeger, trace, number, protocol)
    jaeger.stop()
    return score.finish("Jaeger")


if __name__ == "__main__":
    main(body)
