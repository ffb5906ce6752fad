#!/usr/bin/env python3
"""Requests (`span`, `context`, `entry`): which spans a program's requests have, over its threads and from process to process, judged by a
Collector.

    spans.py [--only NAME]...

Names: java, dex, dotnet, boot, logs, aspnet, drivers, messages, kafka, native, rabbit, stores. The program is tests/programs/requests. Its spans as a Collector got them, a tree for each trace, are in expected.txt; of the many
requests at once each must have just the tree that it has alone. Java runs on the oldest and the newest JDK, with tasks that are lambdas and with
tasks of classes of their own; dex files are made by dx, woven, and made a jar again by enjarify. `dotnet`: a program of its own in C#, on CoreCLR and Mono. `boot`: two processes of a Spring Boot jar
that is woven whole by the packs alone; `aspnet`: ASP.NET Core and HttpClient as pack:requests-net hears them, on CoreCLR 10;
`stores`: PostgreSQL and Redis (Jedis) on the JVM, which must be there;
`messages`: log4net and the activities of a library on .NET (`WEAVE_LOG4NET=newest`: one version alone);
`native`: the C# program as a native and a trimmed one (`WEAVE_NATIVE=no`: not);
`kafka`: messages by Confluent.Kafka (`WEAVE_KAFKA=newest`: one version alone);
`rabbit`: two processes on .NET with a RabbitMQ between them (by `--only rabbit` alone);
`drivers`: databases on .NET, by what they tell themselves and by the packs for those that are silent. In `boot` a request is one trace, from the one to the other and over threads.
"""

import argparse
import collections
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

import check_dex
import clients
import corpora
import databases
import dotnet
import layouts
import otlp
import sdk
import values
from lib import ROOT, Missing, Score, fresh, judges, main, oldest_jdk, run, run_programs, weave_binary
from servers import Program

SOURCES = ROOT / "tests" / "programs" / "requests"
KINDS = {1: "internal", 2: "server", 3: "client", 4: "producer", 5: "consumer"}
#: What differs from run to run, or says where a span was made.
OWN = ("thread.", "code.", "weave.")


def line(span, names):
    """A span in a line: kind, name, how it failed, what rules recorded, and the spans that it links to, by their names."""
    told = {k: v for k, v in otlp.attributes(span).items() if not k.startswith(OWN)}
    status = "" if span.get("status", {}).get("code") != 2 else " ERROR"
    shown = " ".join(f"{k}={v}" for k, v in sorted(told.items()))
    links = [names.get((one["traceId"], one["spanId"]), f"{one['spanId']} {one.get('traceState')} {one.get('flags', 0)}") for one in span.get("links", [])]
    return f"{KINDS[span['kind']]} {span['name']}{status} {{{shown}}}" + "".join(f" -> {one}" for one in links)


def trees(spans):
    """The traces as text, each with its root's line first; what has no parent here is a root."""
    below = collections.defaultdict(list)
    for span in spans:
        below[span["traceId"], span.get("parentSpanId", "")].append(span)
    ids = {(span["traceId"], span["spanId"]): span["name"] for span in spans}

    def tree(span, depth):
        inner = sorted(below[span["traceId"], span["spanId"]], key=lambda s: (s["name"], int(s["startTimeUnixNano"])))
        return ["  " * depth + line(span, ids), *(text for one in inner for text in tree(one, depth + 1))]

    roots = [span for span in spans if (span["traceId"], span.get("parentSpanId", "")) not in ids]
    def came_in(span):
        """What a root's parent in another process is."""
        remote = span.get("flags", 0) & 0x300 == 0x300
        return f"{span['traceId']} {span['parentSpanId']} {remote}: " if span.get("parentSpanId") else ""

    return [(span, came_in(span) + "\n".join(tree(span, 0))) for span in sorted(roots, key=lambda s: int(s["startTimeUnixNano"]))]


def collected(trace, folder, *options):
    """The spans of a trace, as a Collector got them."""
    collector = otlp.Collector(fresh(folder / "collector"))
    otlp.export(trace, collector, "http/protobuf", "--service", "requests", *options)
    collector.stop()
    return collector.spans()


def judged(score, name, trace, folder, wanted="expected.txt", count=0, kinds=9, without=()):
    """What a Collector got of a trace: ids are sound, and the trees are the expected ones."""
    checked = run([sys.executable, ROOT / "tests/harness/check_trace.py", trace], check=False)
    score.check(f"{name}: the trace is sound", checked.returncode == 0, checked.stdout[-300:] + checked.stderr[-300:])
    spans = collected(trace, folder, "--min", "0")
    ids = collections.Counter(span["spanId"] for span in spans)
    score.check(f"{name}: each span comes once", spans and max(ids.values()) == 1, f"{len(spans)} spans")
    told = [otlp.attributes(event) for span in spans for event in span.get("events", []) if span["name"] == "SELECT broken"]
    stacks = [event.get("exception.stacktrace", "") for event in told]
    score.check(f"{name}: what a query failed with has its stack trace", stacks and all("Pool" in stack for stack in stacks), str([event for event, stack in zip(told, stacks) if "Pool" not in stack] or told)[:600])
    all_ = trees(spans)
    text = [text for _, text in all_]
    count = count or REQUESTS
    alone = text[:-count]
    expected = (SOURCES / wanted).read_text().strip().split("\n\n")
    expected = [t for t in expected if not any(one in t for one in without)]
    (folder / f"{name}.txt").write_text("\n\n".join(alone) + "\n")
    score.check(f"{name}: the spans of each request", alone == expected, f"{len(alone)} trees, see {folder / f'{name}.txt'}")
    for one in [t for t in alone if t not in expected][:5]:
        print("not expected:", one)
    shapes = collections.Counter(text[-count:])
    known = {t.replace("/7", "/many", 1) for t in expected}
    odd = [shape for shape in shapes if shape not in known]
    score.check(f"{name}: of {count} requests at once none has what is another's", not odd and len(shapes) == kinds, "\n".join(odd[:3]) or str(len(shapes)))
    return all_


#: At once, as the program's argument says.
REQUESTS = 300
DOTNET_REQUESTS = 330


IN = {
    "b3": ["b3", "463ac35c9f6413ad48485a3953bb6124-a2fb4a1d1a96d312-1"],
    "b3multi": ["X-B3-TraceId", "463ac35c9f6413ad48485a3953bb6124", "X-B3-SpanId", "a2fb4a1d1a96d312", "X-B3-Sampled", "1"],
    "jaeger": ["uber-trace-id", "463ac35c9f6413ad48485a3953bb6124:a2fb4a1d1a96d312:0:1"],
    "xray": ["X-Amzn-Trace-Id", "Root=1-463ac35c-9f6413ad48485a3953bb6124;Parent=a2fb4a1d1a96d312;Sampled=1"],
}


def exchanged(score, name, command, folder, environment=None):
    """A request comes in by other headers than W3C's, and asks another service by the same: one trace of one parent."""
    trace = folder / "run.wtrace"
    for propagators, headers in IN.items():
        lines = "\r\n".join(f"{key}: {value}" for key, value in zip(headers[::2], headers[1::2]))
        arguments = [] if environment else [0, *headers]
        environ = {**(environment or {}), **values.environment(trace), "OTEL_PROPAGATORS": propagators, "ASKED_WITH": lines}
        done = run([*command, *arguments], check=False, env=environ)
        spans = collected(trace, folder, "--min", "0") if done.returncode == 0 else []
        ids = {span["spanId"]: span for span in spans}
        entries = [span for span in spans if KINDS[span["kind"]] == "server"]
        parents = {KINDS[ids[span["parentSpanId"]]["kind"]] if span["parentSpanId"] in ids else span["parentSpanId"] for span in entries}
        score.check(
            f"{name}: {propagators} comes in, and goes out",
            len(entries) == 2 and parents == {"a2fb4a1d1a96d312", "client"} and {span["traceId"] for span in spans} == {"463ac35c9f6413ad48485a3953bb6124"},
            done.stdout + done.stderr[-600:] + str(parents),
        )


def classes(folder, tasks):
    """The program, with its tasks as lambdas or as objects."""
    bin_, out = oldest_jdk() / "bin", fresh(folder / tasks)
    sources = [*(SOURCES / "java/app").glob("*.java"), SOURCES / "java" / tasks / "Tasks.java"]
    run([bin_ / "javac", "-g", "--release", "8", "-Xlint:-options", "-d", out, *sources])
    run([bin_ / "jar", "cf", folder / f"{tasks}.jar", "-C", out, "."])
    return folder / f"{tasks}.jar"


def java(score, folder):
    plain = None
    for tasks in ("lambdas", "objects"):
        app, woven = classes(folder, tasks), folder / "woven.jar"
        run([weave_binary(), "-q", "--strict", "--rules", SOURCES / "rules.toml", app, woven])
        plain = plain or run([oldest_jdk() / "bin/java", "-cp", app, "app.Requests", REQUESTS]).stdout
        for version, home in judges().items():
            name, trace = f"{tasks} on {version}", folder / "run.wtrace"
            done = run([home / "bin/java", "-Xverify:all", "-cp", woven, "app.Requests", REQUESTS], check=False, env=values.environment(trace))
            score.check(f"{name}: it does what it did", (done.returncode, done.stdout) == (0, plain), done.stdout + done.stderr[-600:])
            judged(score, name, trace, folder)
        if tasks == "objects":
            exchanged(score, "java", [oldest_jdk() / "bin/java", "-cp", woven, "app.Requests"], folder)


def dex(score, folder):
    app, trace, woven = classes(folder, "objects"), folder / "run.wtrace", folder / "woven.dex"
    check_dex.to_dex(app, folder / "app.dex")
    run([weave_binary(), "-q", "--strict", "--rules", SOURCES / "rules.toml", folder / "app.dex", woven])
    path = check_dex.class_path(score, "dex", woven)
    done = run([oldest_jdk() / "bin/java", "-Xverify:all", "-cp", path, "app.Requests", REQUESTS], check=False, env=values.environment(trace))
    score.check("dex: it runs", done.returncode == 0, done.stdout + done.stderr[-600:])
    judged(score, "dex", trace, folder)
    exchanged(score, "dex", [oldest_jdk() / "bin/java", "-cp", path, "app.Requests"], folder)


def dotnet_(score, folder):
    """The same in C#: over tasks, awaits, threads, pools and timers."""
    mono = dotnet.mono_libraries()
    plain, woven, trace = fresh(folder / "plain"), fresh(folder / "woven"), folder / "run.wtrace"
    base = [*dotnet.csc(), "-nologo", "-nostdlib", *(f"-r:{mono / '4.7.2-api' / name}" for name in ("mscorlib.dll", "System.dll", "System.Core.dll"))]
    run([*base, "-optimize", "-debug:portable", f"-out:{plain / 'app.exe'}", SOURCES / "dotnet/Requests.cs"])
    run([weave_binary(), "-q", "--strict", "--rules", SOURCES / "rules_dotnet.toml", plain / "app.exe", woven / "app.exe"])
    for name, host in {"CoreCLR 8": dotnet.host("core8"), "Mono": ["mono"]}.items():
        args = [DOTNET_REQUESTS, *(["no timer"] if name == "Mono" else [])]
        ran = run([*host, plain / "app.exe", *args])
        done = run([*host, woven / "app.exe", *args], check=False, env=values.environment(trace))
        score.check(f"{name}: it does what it did", (done.returncode, done.stdout) == (0, ran.stdout), done.stdout + done.stderr[-600:])
        judged(score, name, trace, folder, "expected_dotnet.txt", DOTNET_REQUESTS, 11, ["/timer/"] if name == "Mono" else [])
        exchanged(score, name, [*host, woven / "app.exe"], folder)



H2 = "com.h2database:h2:2.2.224:jar:"
ASKED = ("orders", "rest", "template", "apache5", "apache4", "deferred", "callable", "later", "refused", "broken", "async", "pool", "future", "thread", "many", "fail", "nothing")


def ask(port, path):
    """What a server answers: a status and a text."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=otlp.PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, ""


def served(java_, jar, folder, name, *options):
    """A shop that is started, and its port."""
    home = fresh(folder / name)
    command = [java_, *options, "-jar", jar, "--server.port=0", "--server.address=127.0.0.1", "--spring.main.banner-mode=off", "--logging.level.root=off"]
    shop = Program(command, home, "shop", env=values.environment(home / "run.wtrace"), cwd=home)
    return shop, shop.line()


def http_clients():
    """Apache HttpClient 4 and 5, and what they stand on; the server has the rest."""
    return [jar for jar in sorted(corpora.resolved("http-clients", clients.CLIENTS).glob("*.jar")) if jar.name.startswith(("http", "commons-codec", "commons-logging"))]


def boot(score, folder):
    """Two processes of one Spring Boot jar, with all that lies in it woven by the packs alone."""
    java_ = judges()[max(judges())] / "bin/java"
    files, manifest = layouts.boot_files(folder, "boot35", [SOURCES / "spring/App.java"], [*corpora.maven([H2]), *http_clients()])
    plain = layouts.zipped(folder / "shop.jar", files, manifest)
    woven = folder / "woven.jar"
    run([weave_binary(), "-q", "--rules", "pack:requests-jvm", "--rules", "pack:context", plain, woven])
    answers = {}
    for what, jar in (("plain", plain), ("woven", woven)):
        back, port = served(java_, jar, folder, f"{what}-back")
        front, shop = served(java_, jar, folder, f"{what}-front", f"-Dprices=http://127.0.0.1:{port}")
        try:
            answers[what] = [ask(shop, f"{path}/7") for path in ASKED]
        finally:
            for process in (front.process, back.process):
                process.terminate()
                process.wait()
    score.check("boot: it answers as unwoven", answers["plain"] == answers["woven"] and answers["plain"][0][0] == 200, str(answers["woven"])[:200])
    logs = "".join((folder / f"woven-{side}/shop.log").read_text() for side in ("front", "back"))
    score.check("boot: no hook failed", "weave" not in logs, logs[-600:])
    collector = otlp.Collector(fresh(folder / "collector"))
    for side in ("front", "back"):
        otlp.export(folder / f"woven-{side}/run.wtrace", collector, "http/protobuf", "--service", side)
    collector.stop()
    spans = collector.spans()
    for span in spans:
        span["name"] = f"{span['resource']['service.name']}: {span['name']}"
    ports = re.compile(r"127\.0\.0\.1:\d+|server.port=\d+|user_agent.original=.*?(?= [\w.]+=|\})")
    text = sorted(ports.sub("..", text) for _, text in trees(spans))
    (folder / "boot.txt").write_text("\n\n".join(text) + "\n")
    expected = (SOURCES / "expected_boot.txt").read_text().strip().split("\n\n")
    score.check("boot: one trace a request, over threads and processes", text == expected, f"{len(text)} trees, see {folder / 'boot.txt'}")
    score.check("boot: no secret is told", "geheim" not in json.dumps(spans), "")
    told = json.loads(run([weave_binary(), "report", folder / "woven-front/run.wtrace", "--requests", "--json"]).stdout)
    found = {row["name"]: row for row in told["requests"]}
    many = found.get("GET /many/{id}", {})
    score.check("boot: the report's requests", len(found) >= len(ASKED) and (many.get("repeated") or {}).get("times") == 6, str(many)[:300])


LOGGERS = ("ch.qos.logback:logback-classic:1.5.20:jar:", "ch.qos.logback:logback-core:1.5.20:jar:", "org.slf4j:slf4j-api:2.0.17:jar:",
           "org.apache.logging.log4j:log4j-api:2.24.3:jar:", "org.apache.logging.log4j:log4j-core:2.24.3:jar:")


def logs(score, folder):
    """What Logback and Log4j 2 write of a request, at once and on another thread, has its ids; the program's own context is as it was."""
    source, app, woven = SOURCES / "logs", fresh(folder / "app"), fresh(folder / "woven")
    jars = corpora.maven(LOGGERS)
    path = lambda *parts: ":".join(str(part) for part in parts)
    run([oldest_jdk() / "bin/javac", "--release", "11", "-cp", path(*jars), "-d", app, source / "app/Logs.java"])
    plain = fresh(folder / "plain")
    for jar in jars:
        shutil.copy(jar, plain)
    run([oldest_jdk() / "bin/jar", "cf", plain / "app.jar", "-C", app, "."])
    run([weave_binary(), "-q", "--strict", "--rules", source / "rules.toml", "--rules", "pack:logs-jvm", plain, woven])
    for version, home in judges().items():
        trace = folder / f"run-{version}.wtrace"
        start = lambda folder, **more: run([home / "bin/java", "-Xverify:all", "-cp", path(f"{folder}/*", source), "app.Logs"], check=False, **more)
        was, done = start(plain), start(woven, env=values.environment(trace))
        score.check(f"logs on {version}: it runs", was.returncode == done.returncode == 0 and not done.stderr, done.stdout[-300:] + done.stderr[-600:])
        ids = {span["traceId"]: span["spanId"] for span in collected(trace, folder)}
        score.check(f"logs on {version}: each request is a span", len(ids) == 3, str(ids))
        wanted = was.stdout
        for number in (1, 2, 3):
            id_ = f"{number:032x}"
            told = (f"[{id_}] [{ids.get(id_)}] [01] request {number}\n", f"[its own] [{ids.get(id_)}] [01] request {number}\n")
            wanted = wanted.replace(f"[] [] [] request {number}\n", told[0]).replace(f"[its own] [] [] request {number}\n", told[1])
        found, wanted = sorted(done.stdout.splitlines()), sorted(wanted.splitlines())
        score.check(f"logs on {version}: lines of requests have their ids, others none", found == wanted and len(found) == 21,
                    "\n".join(sorted(set(found) ^ set(wanted))[:8]) or str(len(found)))


def aspnet(score, folder):
    """A server that nothing is woven in but its entry point and a method: what ASP.NET Core and HttpClient tell of themselves."""
    found = sdk.find()
    plain, woven, trace = folder / "plain", fresh(folder / "woven"), folder / "run.wtrace"
    source = fresh(folder / "source")
    for file in (SOURCES / "aspnet").iterdir():
        shutil.copy(file, source)
    environment = found.environment(folder / "packages")
    run([found.dotnet, "build", source / "web.csproj", "-c", "Release", "-o", plain, "--nologo", "-v", "q"], env=environment)
    run([weave_binary(), "-q", "--rules", SOURCES / "aspnet/rules.toml", plain, woven])
    ran = run([found.dotnet, plain / "web.dll"], env=environment)
    done = run([found.dotnet, woven / "web.dll"], check=False, env={**environment, **values.environment(trace)})
    score.check("aspnet: it answers as unwoven", (done.returncode, done.stdout) == (0, ran.stdout), done.stdout + done.stderr[-600:])
    checked = run([sys.executable, ROOT / "tests/harness/check_trace.py", trace], check=False)
    score.check("aspnet: the trace is sound", checked.returncode == 0, checked.stdout[-300:] + checked.stderr[-300:])
    spans = collected(trace, folder, "--min", "0")
    port = re.compile(r"127\.0\.0\.1:\d+|server.port=\d+")
    text = [port.sub("..", text) for _, text in trees(spans)]
    (folder / "aspnet.txt").write_text("\n\n".join(text) + "\n")
    expected = (SOURCES / "expected_aspnet.txt").read_text().strip().split("\n\n")
    score.check("aspnet: the spans of each request", text == expected, f"{len(text)} trees, see {folder / 'aspnet.txt'}")
    score.check("aspnet: no secret is told", b"geheim" not in trace.read_bytes(), "")
    trace.rename(folder / "first.wtrace")
    exchanged(score, "aspnet", [found.dotnet, woven / "web.dll"], folder, environment)
    told = json.loads(run([weave_binary(), "report", folder / "first.wtrace", "--requests", "--json"]).stdout)
    names = {row["name"]: row["errors"] for row in told["requests"]}
    score.check("aspnet: the report's requests", names == {"GET /orders/{id:int}": 0, "GET /price/{id:int}": 0, "GET /boom": 1, "GET": 0}, str(names))


#: Versions of StackExchange.Redis whose commands `pack:redis-net` takes alike; the program is run with the last, and built with the first as well.
REDIS = ("2.6.96", "3.4.35")


@contextlib.contextmanager
def redis_server():
    """A Redis with nothing in it; gives its port."""
    if not shutil.which("redis-server"):
        raise Missing("redis-server (the Debian package redis-server)")
    port = databases.free_port()
    with subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--bind", "127.0.0.1"], stdout=subprocess.DEVNULL) as server:
        try:
            yield port
        finally:
            server.terminate()


def drivers(score, folder):
    """Drivers of databases on .NET, those that speak and those that are silent: Redis and PostgreSQL are there, of others no server."""
    found = sdk.find()
    environment = found.environment(folder / "packages")
    with databases.postgres() as postgres, redis_server() as redis:
        for version in REDIS:
            plain, woven, trace = fresh(folder / f"plain-{version}"), fresh(folder / f"woven-{version}"), folder / "run.wtrace"
            source = fresh(folder / "source")
            for file in (SOURCES / "drivers").iterdir():
                shutil.copy(file, source)
            (source / "nuget.config").write_text(found.config())
            run([found.dotnet, "build", source / "drivers.csproj", "-c", "Release", "-o", plain, "--nologo", "-v", "q", f"-p:Redis={version}"], env=environment)
            run([weave_binary(), "-q", "--rules", SOURCES / "drivers/rules.toml", plain, woven])
            ran = run([found.dotnet, plain / "drivers.dll", redis, postgres], env=environment)
            trace.unlink(missing_ok=True)
            # The second run finds what the first has left.
            done = run([found.dotnet, woven / "drivers.dll", redis, postgres], check=False, env={**environment, **values.environment(trace)})
            name = f"drivers, StackExchange.Redis {version}"
            score.check(f"{name}: it does what it did", (done.returncode, done.stdout, done.stderr) == (0, ran.stdout, ran.stderr), done.stdout + done.stderr[-600:])
            checked = run([sys.executable, ROOT / "tests/harness/check_trace.py", trace], check=False)
            score.check(f"{name}: the trace is sound", checked.returncode == 0, checked.stdout[-300:] + checked.stderr[-300:])
            port = re.compile(r" ?server.port=\d+| ?db.npgsql[^ }]+")
            text = [port.sub("", text) for _, text in trees(collected(trace, folder, "--min", "0"))]
            (folder / "drivers.txt").write_text("\n\n".join(text) + "\n")
            expected = (SOURCES / "expected_drivers.txt").read_text().strip().split("\n\n")
            score.check(f"{name}: the spans of each request", text == expected, f"{len(text)} trees, see {folder / 'drivers.txt'}")
            score.check(f"{name}: no secret is told", b"geheim" not in trace.read_bytes(), "")


#: Versions of log4net whose events `pack:logs-net` takes alike: the last alone where it is to be short.
LOG4NET = ("2.0.12", "3.5.0")[-1 if os.environ.get("WEAVE_LOG4NET") == "newest" else 0:]


def messages(score, folder):
    """On .NET: what log4net writes has the ids of its request, a library's activity is below the span that a message has come from, and its
    links are in the trace."""
    found = sdk.find()
    environment = found.environment(folder / "packages")
    for version in LOG4NET:
        plain, woven, trace, source = fresh(folder / f"plain-{version}"), fresh(folder / f"woven-{version}"), folder / "run.wtrace", fresh(folder / "source")
        for file in (SOURCES / "messages").iterdir():
            shutil.copy(file, source)
        (source / "nuget.config").write_text(found.config())
        run([found.dotnet, "build", source / "messages.csproj", "-c", "Release", "-o", plain, "--nologo", "-v", "q", f"-p:Log4net={version}"], env=environment)
        run([weave_binary(), "-q", "--rules", SOURCES / "messages/rules.toml", plain, woven])
        was = run([found.dotnet, plain / "messages.dll"], env=environment)
        trace.unlink(missing_ok=True)
        done = run([found.dotnet, woven / "messages.dll"], check=False, env={**environment, **values.environment(trace)})
        name = f"messages, log4net {version}"
        score.check(f"{name}: it runs", done.returncode == 0 and not done.stderr, done.stdout[-300:] + done.stderr[-600:])
        checked = run([sys.executable, ROOT / "tests/harness/check_trace.py", trace], check=False)
        score.check(f"{name}: the trace is sound", checked.returncode == 0, checked.stdout[-300:] + checked.stderr[-300:])
        spans = collected(trace, folder, "--min", "0")
        text = [text for _, text in trees(spans)]
        (folder / "messages.txt").write_text("\n\n".join(text) + "\n")
        expected = (SOURCES / "expected_messages.txt").read_text().strip().split("\n\n")
        score.check(f"{name}: spans, their parents and links", text == expected, f"{len(text)} trees, see {folder / 'messages.txt'}")
        states = sorted(link.get("traceState", "") for span in spans for link in span.get("links", []))
        score.check(f"{name}: a link has its tracestate", states == ["", "vendor=1"], str(states))
        # What unwoven has no ids has those of the span that it was logged in.
        within = {"request 1": "handle 1", "task 1": "handle 1", "request 2": "handle 2", "task 2": "handle 2", "item": "inner", "behind": "put", "batch": "received"}
        ids = {span["name"]: span for span in spans}
        wanted = []
        for one in was.stdout.splitlines():
            head, message = one.rsplit("] ", 1)
            span = ids.get(within.get(message))
            own = head.split("]")[0][1:]
            wanted.append(f"[{span['traceId'] if own == '(null)' else own}] [{span['spanId']}] [{span['flags'] & 255:02x}] {message}" if span else one)
        found_lines = done.stdout.splitlines()
        score.check(f"{name}: lines of requests have their ids, others none", sorted(found_lines) == sorted(wanted) and len(wanted) == 18,
                    "\n".join(sorted(set(found_lines) ^ set(wanted))[:8]) or str(len(wanted)))


STORES = ("org.postgresql:postgresql:42.7.4:jar:", "com.zaxxer:HikariCP:5.1.0:jar:", "org.slf4j:slf4j-api:1.7.36:jar:", "org.slf4j:slf4j-nop:1.7.36:jar:",
          "org.apache.commons:commons-pool2:2.12.0:jar:", "org.json:json:20240303:jar:", "com.google.code.gson:gson:2.11.0:jar:")
#: Versions of Jedis whose commands `pack:requests-jvm` takes alike.
JEDIS = ("4.4.8", "5.2.0")


def stores(score, folder):
    """Databases on the JVM by their own drivers, woven by the pack alone: which server and database a span goes to."""
    java_ = judges()[max(judges())] / "bin/java"
    with databases.postgres() as postgres, redis_server() as redis:
        for version in JEDIS:
            plain, woven, app, trace = fresh(folder / "plain"), fresh(folder / "woven"), fresh(folder / "app"), folder / "run.wtrace"
            for jar in corpora.maven([*STORES, f"redis.clients:jedis:{version}:jar:"]):
                shutil.copy(jar, plain)
            run([oldest_jdk() / "bin/javac", "--release", "11", "-cp", f"{plain}/*", "-d", app, SOURCES / "stores/Stores.java"])
            run([oldest_jdk() / "bin/jar", "cf", plain / "app.jar", "-C", app, "."])
            run([weave_binary(), "-q", "--rules", "pack:requests-jvm", plain, woven])
            start = lambda path, **more: run([java_, "-Xverify:all", "-cp", f"{path}/*", "app.Stores", postgres, redis], check=False, **more)
            trace.unlink(missing_ok=True)
            was, done = start(plain), start(woven, env=values.environment(trace))
            name = f"stores, Jedis {version}"
            score.check(f"{name}: it does what it did", (done.returncode, done.stdout, done.stderr) == (0, was.stdout, was.stderr), done.stdout + done.stderr[-600:])
            port = {f"{postgres} ": "5432 ", f"={postgres}": "=5432", f":{redis}": ":6379", f"={redis}": "=6379"}
            text = "\n\n".join(text for _, text in trees(collected(trace, folder, "--min", "0")))
            for one, other in port.items():
                text = text.replace(one, other)
            (folder / "stores.txt").write_text(text + "\n")
            score.check(f"{name}: the spans", text + "\n" == (SOURCES / "expected_stores.txt").read_text(), f"see {folder / 'stores.txt'}")
            score.check(f"{name}: no secret is told", b"geheim" not in trace.read_bytes() and "geheim".encode("utf-16-le") not in trace.read_bytes(), "")


#: Versions of Confluent.Kafka whose messages `pack:kafka-net` takes alike; the newest alone where it is to be short.
KAFKA = ("1.9.3", "2.14.0", "2.15.1", "2.16.0")[-1 if os.environ.get("WEAVE_KAFKA") == "newest" else 0:]


def kafka(score, folder):
    """Messages by Confluent.Kafka, over the broker that librdkafka has in the process: who sends them, who gets them, in one trace."""
    found = sdk.find()
    environment = found.environment(folder / "packages")
    for version in KAFKA:
        plain, woven, trace, source = fresh(folder / f"plain-{version}"), fresh(folder / f"woven-{version}"), folder / "run.wtrace", fresh(folder / "source")
        for file in (SOURCES / "kafka").iterdir():
            shutil.copy(file, source)
        (source / "nuget.config").write_text(found.config())
        run([found.dotnet, "build", source / "kafka.csproj", "-c", "Release", "-o", plain, "--nologo", "-v", "q", f"-p:Kafka={version}"], env=environment)
        native = plain / "runtimes/linux-x64/native"
        shutil.copy(native / "centos8-librdkafka.so", native / "librdkafka.so")  # the other needs libsasl2.so.3
        run([weave_binary(), "-q", "--rules", SOURCES / "kafka/rules.toml", plain, woven])
        was = run([found.dotnet, plain / "kafka.dll"], env=environment)
        trace.unlink(missing_ok=True)
        done = run([found.dotnet, woven / "kafka.dll"], check=False, env={**environment, **values.environment(trace)})
        name = f"Confluent.Kafka {version}"
        score.check(f"{name}: it does what it did", (done.returncode, done.stdout, done.stderr) == (0, was.stdout, was.stderr), done.stdout + done.stderr[-600:])
        checked = run([sys.executable, ROOT / "tests/harness/check_trace.py", trace], check=False)
        score.check(f"{name}: the trace is sound", checked.returncode == 0, checked.stdout[-300:] + checked.stderr[-300:])
        # The partitions' messages come in any order.
        text = [text for _, text in trees(collected(trace, folder, "--min", "0"))]
        text = text[:8] + sorted(text[8:])
        (folder / "kafka.txt").write_text("\n\n".join(text) + "\n")
        expected = (SOURCES / "expected_kafka.txt").read_text().strip().split("\n\n")
        score.check(f"{name}: messages, and who sent what came", text == expected, f"{len(text)} trees, see {folder / 'kafka.txt'}")
        score.check(f"{name}: no secret is told", b"geheim" not in trace.read_bytes(), "")


def rabbit(score, folder):
    """RabbitMQ between two processes on .NET, by what its client tells itself: each order is one trace, from who sends it to who handles it."""
    found = sdk.find()
    environment = found.environment(folder / "packages")
    plain, woven, source = fresh(folder / "plain"), fresh(folder / "woven"), fresh(folder / "source")
    for file in (SOURCES / "rabbit").iterdir():
        shutil.copy(file, source)
    (source / "nuget.config").write_text(found.config())
    run([found.dotnet, "build", source / "rabbit.csproj", "-c", "Release", "-o", plain, "--nologo", "-v", "q"], env=environment)
    run([weave_binary(), "-q", "--rules", SOURCES / "rabbit/rules.toml", plain, woven])
    traces = {what: folder / f"{what}.wtrace" for what in ("send", "receive")}
    with databases.rabbitmq() as port:
        start = lambda path, what, **more: run([found.dotnet, path / "rabbit.dll", what, str(port)], check=False, env={**environment, **more})
        was = [start(plain, what) for what in traces]
        done = [start(woven, what, **values.environment(trace)) for what, trace in traces.items()]
    told = lambda all_: [(one.returncode, one.stdout, one.stderr) for one in all_]
    score.check("rabbit: both do what they did", told(done) == told(was) and was[1].stdout, str(told(done)))
    collector = otlp.Collector(fresh(folder / "collector"))
    for what, trace in traces.items():
        checked = run([sys.executable, ROOT / "tests/harness/check_trace.py", trace], check=False)
        score.check(f"rabbit: the trace of {what} is sound", checked.returncode == 0, checked.stdout[-300:] + checked.stderr[-300:])
        otlp.export(trace, collector, "http/protobuf", "--min", "0", "--service", what)
    collector.stop()
    own = re.compile(r" ?[\w.]+\.port=\d+")
    text = [own.sub("", text) for _, text in trees(collector.spans())]
    (folder / "rabbit.txt").write_text("\n\n".join(text) + "\n")
    expected = (SOURCES / "expected_rabbit.txt").read_text().strip().split("\n\n")
    score.check("rabbit: an order is one trace over both", text == expected, f"{len(text)} trees, see {folder / 'rabbit.txt'}")


#: How the program of `dotnet` is published, with the hook library for .NET 8.
PUBLISHED = ("PublishAot", "PublishTrimmed") if os.environ.get("WEAVE_NATIVE") != "no" else ()


def native(score, folder):
    """The program of `dotnet` as a native and as a trimmed one: its requests have the spans, parents and links that they have on CoreCLR."""
    found = sdk.find()
    environment = found.environment(folder / "packages")
    for how in PUBLISHED:
        source, out, trace = fresh(folder / "source"), folder / how, folder / "run.wtrace"
        shutil.copy(SOURCES / "native.csproj", source)
        shutil.copy(SOURCES / "dotnet/Requests.cs", source)
        (source / "nuget.config").write_text(found.config())
        run([weave_binary(), "runtime", "--framework", "net8.0", source / "Weave.Runtime.dll"])
        properties = [f"-p:{how}=true", f"-p:Weave={weave_binary()}", f"-p:Rules={SOURCES / 'rules_dotnet.toml'}"]
        run([found.dotnet, "publish", source / "native.csproj", "-c", "Release", "-r", "linux-x64", "--self-contained", "--nologo", "-v", "q", "-o", out, *properties], env=environment)
        trace.unlink(missing_ok=True)
        done = run([out / "requests", str(DOTNET_REQUESTS)], check=False, env={**environment, **values.environment(trace)})
        score.check(f"{how}: it runs", done.returncode == 0 and not done.stderr, done.stdout[-300:] + done.stderr[-600:])
        judged(score, how, trace, folder, "expected_dotnet.txt", DOTNET_REQUESTS, 11)


EVERY = {"java": java, "dex": dex, "dotnet": dotnet_, "boot": boot, "logs": logs, "aspnet": aspnet, "drivers": drivers, "messages": messages, "kafka": kafka, "native": native, "rabbit": rabbit,
         "stores": stores}


def body():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--only", action="append", default=[], choices=sorted(EVERY))
    args = parse.parse_args()
    args.scope = "--everyday"
    score = Score()
    run_programs(score, args, EVERY, {"rabbit"})
    return score.finish("requests")


if __name__ == "__main__":
    main(body)
