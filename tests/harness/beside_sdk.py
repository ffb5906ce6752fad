#!/usr/bin/env python3
"""Runs the shop of ../shared/design/requests/dotnet (two processes of ASP.NET Core 10, PostgreSQL, Redis, gRPC) unwoven, with OpenTelemetry's SDK
in its code, and woven by `pack:requests-net` and `pack:redis-net`: rounds of twelve kinds of requests, one after the other.

    beside_sdk.py [--rounds N] [--native]

Spans are compared as a Collector got them, by service, kind, name, status and parent, and by their attributes: each difference is printed with how
often each side has it. No request may be lost, and none may have another's spans below it. `--native` publishes the shop by NativeAOT, too: there
libraries are not woven, and Dapper and EF Core are left out.
"""

import argparse
import collections
import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

import databases
import otlp
import sdk
import spans as programs
from beside_agent import named, shown
from lib import ROOT, WORK, Missing, Score, fresh, main, run, weave_binary

SHOP = ROOT.parent / "shared" / "design" / "requests" / "dotnet" / "shop"
KINDS = ("hello", "price/7", "orders/7", "fan", "post", "boom", "redis/k", "rpc/bob", "nothing", "hello?token=geheim", "dapper", "ef")
#: Of the program's own, and what no two runs share.
OTHER = re.compile(r"^(thread\.|code\.|weave\.|db\.npgsql\.|network\.peer\.)")
PORT = re.compile(r"(?<=127\.0\.0\.1:)\d+|(?<=localhost:)\d+")
#: Into the shop's build, without a line in its project.
TARGETS = """<Project>
  <ItemGroup><Reference Include="{runtime}" /></ItemGroup>
  <Target Name="WeaveShop" AfterTargets="CoreCompile">
    <Exec Command="&quot;{program}&quot; -q --no-runtime --rules pack:requests-net &quot;@(IntermediateAssembly)&quot; &quot;@(IntermediateAssembly)&quot;" />
  </Target>
</Project>
"""


def ask(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as failed:
        return failed.code, ""


def started(command, folder, side, port, environment):
    """A shop that answers, however loaded the machine is."""
    log = (folder / f"{side}.log").open("w")
    process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env={**environment, "SHOP_PORT": str(port), "OTEL_SERVICE_NAME": side})
    for _ in range(6000):
        with contextlib.suppress(OSError):
            ask(port, "hello")
            return process
        if process.poll() is not None:
            break
        time.sleep(0.1)
    process.kill()
    raise RuntimeError(f"the shop does not start: {log.name}")


def used(process):
    """Seconds of CPU, and resident megabytes."""
    fields = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()
    pages = int(open(f"/proc/{process.pid}/statm").read().split()[1])
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def pair_of_ports():
    """A free port whose next one is free as well: gRPC listens there."""
    while True:
        port = databases.free_port()
        with contextlib.suppress(OSError), contextlib.closing(__import__("socket").socket()) as next_one:
            next_one.bind(("127.0.0.1", int(port) + 1))
            return int(port)


def way(name, command, folder, environment, kinds, rounds):
    """Runs the requests one way: the answers and the spans."""
    folder = fresh(folder / name)
    collector = otlp.Collector(fresh(folder / "collector"))
    if name.startswith("sdk"):
        environment = {**environment, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint("http/protobuf"), "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
                       "OTEL_METRIC_EXPORT_INTERVAL": "600000"}
    back = pair_of_ports()
    environment |= {"SHOP_PEER": f"http://127.0.0.1:{back}", "SHOP_PEER_RPC": f"http://127.0.0.1:{back + 1}", "SHOP_BACKGROUND": "0", "SHOP_QUIET": "1"}
    processes, ports = [], [back]
    for side in ("back", "front"):
        ports += [pair_of_ports()] if side == "front" else []
        processes.append(started(command, folder, side, ports[-1], {**environment, "WEAVE_TRACE": str(folder / f"{side}.wtrace")}))
    first = [used(process)[0] for process in processes]
    answers = [ask(ports[-1], kind) for _ in range(rounds) for kind in kinds]
    costs = [used(process) for process in processes]
    for process, port in zip(processes, ports):
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    if name.startswith("woven"):
        for side in ("back", "front"):
            otlp.export(folder / f"{side}.wtrace", collector, "http/protobuf", "--service", side)
    time.sleep(1)
    collector.stop()
    found = collector.spans() if not name.startswith("plain") else []
    cpu = sum(cost for cost, _ in costs) - sum(first)
    print(f"     {name:12} CPU to the first answer {sum(first):5.2f} s, of {len(answers)} requests {cpu:5.2f} s, memory {sum(mb for _, mb in costs):4.0f} MB, {len(found)} spans")
    return answers, found


def attributes(all_):
    """What spans of a name say, and how often."""
    out = collections.Counter()
    for span in all_:
        for key, value in otlp.attributes(span).items():
            if not OTHER.match(key):
                value = "N" if key == "server.port" else PORT.sub("N", str(value))
                out[f"{named(span)}: {key}={value}"] += 1
    return out


def differ(score, name, theirs, ours):
    for what, of in (("spans", shown), ("attributes", attributes)):
        sdk_, woven = of(theirs), of(ours)
        for one in sorted(set(sdk_) | set(woven)):
            if sdk_[one] != woven[one]:
                print(f"     {what}: sdk {sdk_[one]:4}  woven {woven[one]:4}  {one}")
    entries = lambda all_: collections.Counter((named(s), s.get("status", {}).get("code", 0)) for s in all_ if s["kind"] == 2)
    score.check(f"{name}: each request is a span, as with the SDK", entries(theirs) == entries(ours) and ours,
                str((entries(theirs) - entries(ours), entries(ours) - entries(theirs))))
    of_kind = lambda all_, key: collections.Counter(named(s) for s in all_ if s["kind"] == 3 and key in otlp.attributes(s))
    score.check(f"{name}: each HTTP call is one", of_kind(theirs, "http.request.method") == of_kind(ours, "http.request.method"), str(of_kind(ours, "http.request.method")))
    postgres = lambda all_: sum(otlp.attributes(s).get("db.system.name") == "postgresql" for s in all_)
    score.check(f"{name}: and each SQL statement of PostgreSQL", postgres(theirs) == postgres(ours) > 0, f"{postgres(theirs)} {postgres(ours)}")
    lost = [what for what in shown(ours) if what.endswith("(lost)")]
    score.check(f"{name}: no span's parent is lost", not lost, str(lost[:5]))


@contextlib.contextmanager
def servers():
    """PostgreSQL with the shop's table, and Redis: the settings of the shop."""
    with databases.postgres() as port, programs.redis_server() as redis:
        run(["psql", "-q", "-h", "127.0.0.1", "-p", port, "-U", "weave", "-d", "postgres", "-c",
             "CREATE TABLE orders (id int PRIMARY KEY, name text); INSERT INTO orders SELECT n, 'order ' || n FROM generate_series(1, 10) n"])
        yield {"SHOP_PG": f"Host=127.0.0.1;Port={port};Username=weave;Database=postgres", "SHOP_REDIS": f"127.0.0.1:{redis},abortConnect=false"}


def builds(found, folder, source, native):
    """The commands of the shop: as it is, with the SDK, and woven."""
    environment = found.environment(folder / "packages")
    options = ["-c", "Release", "--nologo", "-v", "q"]
    if not native:
        for name, more in (("plain", []), ("sdk", ["-p:Otel=true"])):
            run([found.dotnet, "publish", source / "Shop.csproj", *options, "-o", folder / name, *more], env=environment)
        run([weave_binary(), "-q", "--rules", "pack:requests-net", "--rules", "pack:redis-net", folder / "plain", fresh(folder / "woven")])
        return {name: [found.dotnet, folder / name / "Shop.dll"] for name in ("plain", "sdk", "woven")}
    run([weave_binary(), "runtime", "--framework", "net8.0", folder / "Weave.Runtime.dll"])
    (folder / "weave.targets").write_text(TARGETS.format(runtime=folder / "Weave.Runtime.dll", program=weave_binary()))
    ways = {"plain native": [], "sdk native": ["-p:Otel=true"], "woven native": [f"-p:CustomAfterMicrosoftCommonTargets={folder / 'weave.targets'}"]}
    for name, more in ways.items():
        shutil.rmtree(source / "obj", ignore_errors=True)
        run([found.dotnet, "publish", source / "Shop.csproj", *options, "-r", "linux-x64", "-p:Aot=true", "-o", folder / name, *more], env=environment)
        print(f"     {name}: {(folder / name / 'Shop').stat().st_size} bytes")
    return {name: [folder / name / "Shop"] for name in ways}


def body():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--rounds", type=int, default=20)
    parse.add_argument("--native", action="store_true")
    args = parse.parse_args()
    score, folder = Score(), fresh(WORK / "beside-sdk")
    if not SHOP.exists():
        raise Missing("../shared/design/requests/dotnet/shop")
    found = sdk.find()
    source = folder / "shop"
    shutil.copytree(SHOP, source)
    (source / "nuget.config").write_text(found.config())
    for native in (False, True) if args.native else (False,):
        kinds = [kind for kind in KINDS if not native or kind not in ("dapper", "ef")]
        commands = builds(found, folder, source, native)
        with servers() as settings:
            environment = {**found.environment(folder / "packages"), **settings}
            ways = {name: way(name, command, folder / "runs", environment, kinds, args.rounds) for name, command in commands.items()}
        plain, theirs, ours = ways.values()
        name = "NativeAOT" if native else "CoreCLR"
        score.check(f"{name}: it answers as unwoven", ours[0] == plain[0], str([one for one in zip(ours[0], plain[0]) if one[0] != one[1]][:3]))
        differ(score, name, theirs[1], ours[1])
    return score.finish("beside the SDK")


if __name__ == "__main__":
    main(body)
