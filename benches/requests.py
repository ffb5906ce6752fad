#!/usr/bin/env python3
"""What requests cost: a server unwoven, with OpenTelemetry's agent or SDK, and woven by the packs with an exporter beside, in turns.

    benches/requests.py [--rounds N] [--requests N] [--only jvm | aot | dotnet]...

jvm     the shop of ../shared/design/requests/jvm on the newest JDK: two processes, PostgreSQL and Redis. Each request is a SELECT, then one is a call
        of the second process over HTTP
aot     the same with an AOT cache of JDK 25, to the first answer alone; the agent has none, since the JDK does not use one with an agent
dotnet  the shop of ../shared/design/requests/dotnet on CoreCLR: GET /hello of one process

Printed are medians of the rounds, and how much of the machine others used meanwhile. CPU is that of the processes, so it holds on a busy machine as far
as caches allow. Goals: docs/requests.md.
"""

import argparse
import dataclasses
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "harness"))

import beside_agent
import beside_sdk
import corpora
import otlp
import sdk
from beside_agent import used
from lib import WORK, Missing, fresh, judges, main, run, weave_binary

PACKS = ["--rules", "pack:requests-jvm", "--rules", "pack:context"]


@dataclasses.dataclass
class Cost:
    """Of one run. Seconds of CPU, megabytes."""

    first: float
    request: float
    memory: float
    exporter: float
    exporter_memory: float


class Exporter:
    """`weave export --follow` of a program that runs; its cost once the program has ended."""

    def __init__(self, trace, collector):
        otlp.until("the trace", trace.exists)
        command = [weave_binary(), "export", trace, "--to", "otlp", "--follow", "--endpoint", collector.endpoint("http/protobuf"), "--protocol", "http/protobuf"]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def end(self):
        _, _, usage = os.wait4(self.process.pid, 0)
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


def jvm_processes(name, java, program, agent, folder, database, collector):
    """The two processes of the shop, with the port of the first."""
    started = []
    for side in beside_agent.Shop.sides:
        environment = dict(os.environ) | {"WEAVE_TRACE": str(folder / f"{side}.wtrace")}
        options = []
        if name == "agent":
            options = [f"-javaagent:{agent}"]
            environment |= {"OTEL_SERVICE_NAME": side, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint("http/protobuf"), "OTEL_LOGS_EXPORTER": "none"}
        settings = beside_agent.Shop.settings(database, started[0][1] if started else None)
        started.append(beside_agent.running(beside_agent.Shop, java, [*options, *program], folder / f"{side}.log", settings, environment))
    return [process for process, _ in started], started[-1][1]


def dotnet_process(command, folder, environment):
    port = beside_sdk.pair_of_ports()
    environment = {**environment, "WEAVE_TRACE": str(folder / "front.wtrace"), "SHOP_BACKGROUND": "0", "SHOP_QUIET": "1",
                   "SHOP_PEER": f"http://127.0.0.1:{port}", "SHOP_PEER_RPC": f"http://127.0.0.1:{port + 1}"}
    return [beside_sdk.started(command, folder, "front", port, environment)], port


def ended(processes):
    for process in processes:
        process.send_signal(signal.SIGTERM)
        process.wait()


def measured(name, begin, paths, folder):
    """Starts the processes, asks for each path, and says what that cost. A path that is not answered by 200 is an error."""
    folder = fresh(folder / name)
    collector = otlp.Collector(fresh(folder / "collector"))
    processes, port = begin(folder, collector)
    exporters = [Exporter(trace, collector) for trace in sorted(folder.glob("*.wtrace"))]
    first = sum(used(process)[0] for process in processes)
    for path in paths:
        status, _ = beside_agent.ask(port, path)
        if status != 200:
            raise RuntimeError(f"{name}: {path} is answered by {status}")
    if name in ("agent", "sdk"):
        time.sleep(6)  # they send every five seconds
    costs = [used(process) for process in processes]
    ended(processes)
    sent = [exporter.end() for exporter in exporters]
    collector.stop()
    cpu = sum(cpu for cpu, _ in costs) - first
    if name != "plain" and paths and not collector.spans():
        raise RuntimeError(f"{name}: no span came")
    return Cost(first, cpu / max(1, len(paths)), sum(mb for _, mb in costs), sum(cpu for cpu, _ in sent) / max(1, len(paths)), sum(mb for _, mb in sent))


def told(what, costs):
    """The medians of each way, and what they are of the unwoven program's."""
    median = lambda of: statistics.median(getattr(cost, of) for cost in costs[name])
    plain = {}
    for name in costs:
        now = {field.name: median(field.name) for field in dataclasses.fields(Cost)}
        plain = plain or now
        with_exporter = now["request"] + now["exporter"]
        print(f"{what}, {name:6}: first answer {now['first']:6.2f} s of CPU ({now['first'] / plain['first']:.2f})", end="")
        if now["request"]:
            print(f", a request {now['request'] * 1e3:.2f} ms ({now['request'] / plain['request']:.2f}; with the exporter {with_exporter / plain['request']:.2f}), "
                  f"memory {now['memory']:.0f} MB ({now['memory'] - plain['memory']:+.0f}), exporter {now['exporter_memory']:.0f} MB", end="")
        print(flush=True)


def in_turns(what, ways, paths, rounds, folder):
    costs = {name: [] for name in ways}
    for _ in range(rounds):
        for name, begin in ways.items():
            begun, idle = time.monotonic(), idle_time()
            costs[name].append(measured(name, begin, paths, folder))
            busy = 1 - (idle_time() - idle) / ((time.monotonic() - begun) * os.cpu_count())
            print(f"     {what}, {name}: {costs[name][-1]}, {100 * busy:.0f}% of the machine in use", flush=True)
    told(what, costs)


def idle_time():
    """Seconds that the machine's cores have been idle, together."""
    return float(pathlib.Path("/proc/uptime").read_text().split()[1])


def shop(folder):
    if not beside_agent.SHOP.exists():
        raise Missing(str(beside_agent.SHOP))
    shutil.copytree(beside_agent.SHOP, folder / "source")
    run(["mvn", "-q", "-B", "-f", folder / "source/pom.xml", "package", "-DskipTests"])
    return folder / "source/target/shop.jar"


def jvm(folder, args):
    jar = shop(folder)
    (agent,) = corpora.maven([beside_agent.AGENT])
    java = judges()[max(judges())] / "bin/java"
    run([weave_binary(), "-q", *PACKS, jar, folder / "woven.jar"])
    programs = {"plain": jar, "agent": jar, "woven": folder / "woven.jar"}
    paths = [f"/{kind}/{number % 90 + 1}" for number in range(args.requests // 2) for kind in ("orders", "rest")]
    with beside_agent.Shop.servers() as database:
        ways = {name: lambda there, collector, name=name, program=program: jvm_processes(name, java, ["-jar", program], agent, there, database, collector)
                for name, program in programs.items()}
        in_turns("JVM", ways, paths, args.rounds, folder)


def aot(folder, args):
    """The jar as its own tool lays it out: the cache takes no jars in jars."""
    jar = shop(folder)
    java = judges()[max(judges())] / "bin/java"
    run([java, "-Djarmode=tools", "-jar", jar, "extract", "--destination", folder / "plain-jars"])
    run([weave_binary(), "-q", *PACKS, folder / "plain-jars", folder / "woven-jars"])
    with beside_agent.Shop.servers() as database:
        ways = {}
        for name in ("plain", "woven"):
            program, cache = ["-jar", folder / f"{name}-jars/shop.jar"], folder / f"{name}.aot"
            there = fresh(folder / f"training-{name}")
            training, port = beside_agent.running(beside_agent.Shop, java, [f"-XX:AOTCacheOutput={cache}", *program], there / "shop.log",
                                                  beside_agent.Shop.settings(database, None), dict(os.environ) | {"WEAVE_TRACE": "off"})
            for kind in ("orders", "cache"):
                beside_agent.ask(port, f"/{kind}/1")
            ended([training])
            if not cache.exists():
                raise RuntimeError(f"the JDK wrote no cache: {there / 'shop.log'}")
            for label, options in ((name, []), (f"{name} with AOT", [f"-XX:AOTCache={cache}", "-XX:AOTMode=on"])):
                ways[label] = lambda there, collector, all_=[*options, *program]: jvm_first(java, all_, there, database)
        in_turns("JVM with AOT cache", ways, [], args.rounds, folder)


def jvm_first(java, program, folder, database):
    process, port = beside_agent.running(beside_agent.Shop, java, program, folder / "shop.log", beside_agent.Shop.settings(database, None),
                                         dict(os.environ) | {"WEAVE_TRACE": str(folder / "shop.wtrace")})
    return [process], port


def dotnet(folder, args):
    found = sdk.find()
    source = folder / "source"
    shutil.copytree(beside_sdk.SHOP, source)
    (source / "nuget.config").write_text(found.config())
    commands = beside_sdk.builds(found, folder, source, False)
    with beside_sdk.servers() as settings:
        environment = {**found.environment(folder / "packages"), **settings}
        def begin(name, command, there, collector):
            sent = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint("http/protobuf"), "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"} if name == "sdk" else {}
            return dotnet_process(command, there, environment | sent)
        ways = {name: lambda there, collector, name=name, command=command: begin(name, command, there, collector) for name, command in commands.items()}
        in_turns(".NET", ways, ["/hello"] * args.requests, args.rounds, folder / "runs")


EVERY = {"jvm": jvm, "aot": aot, "dotnet": dotnet}


def body():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--only", action="append", choices=EVERY, default=[])
    args = parser.parse_args()
    for name in args.only or EVERY:
        EVERY[name](fresh(WORK / "bench-requests" / name), args)
    return 0


if __name__ == "__main__":
    main(body)
