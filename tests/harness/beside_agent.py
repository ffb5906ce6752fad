#!/usr/bin/env python3
"""Runs the shop of ../shared/design/requests/jvm (two processes, PostgreSQL, Redis) unwoven, with OpenTelemetry's agent, and woven by
`pack:requests-jvm` and `pack:context`: 1,020 requests each, sixty of each of seventeen kinds, one after the other.

    beside_agent.py [--rounds N] [--form jar | flat] [--petclinic FOLDER]

The shop is a Boot jar, then a flat class path of its classes and libraries. With --petclinic it is Spring's PetClinic instead, from the sources in a
folder (no package registry has them): one process with H2, 27 requests a round (pages, forms, an error, files, what is not there).

Spans are compared as a Collector got them, by service, kind, name, status and parent, then by attributes: each difference is printed with
how often each side has it. No request may be lost, and none may have another's spans below it. What each way costs is printed: CPU time of both processes to
the first answer and for the requests, and memory behind them.
"""

import argparse
import collections
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
import zipfile

import corpora
import databases
import otlp
import spans as programs
from lib import ROOT, WORK, Missing, Score, fresh, judges, main, run, weave_binary

SHOP = ROOT.parent / "shared" / "design" / "requests" / "jvm" / "shop"
AGENT = "io.opentelemetry.javaagent:opentelemetry-javaagent:2.33.1:jar:"
REDIS = 6399
#: What differs between two processes of one program.
OF_THE_RUN = ("url.full", "server.port", "network.peer.port", "thread.name", "client.port", "user_agent.original")
#: Tomcat writes it into links, as nobody sends its cookie.
SESSION = re.compile(rb";jsessionid=[0-9A-F]+")
KINDS = ("orders", "db", "cache", "rest", "apache", "later", "pool", "async", "future", "virtual", "parallel", "redislater", "fail", "badsql", "log", "price", "nothere")


def path(kind, number):
    if kind in ("badsql", "nothere"):
        return f"/{kind}"
    return f"/{kind}/" + ("abc" if kind == "price" else f"k{number}" if kind in ("cache", "redislater") else str(number))


def ask(port, where, form=None):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{where}", form and form.encode(), timeout=60) as answer:
            return answer.status, SESSION.sub(b"", answer.read())
    except urllib.error.HTTPError as failed:
        return failed.code, b""


class Shop:
    """Two processes, PostgreSQL and Redis."""

    sides, ready = ("back", "front"), "/log/0"

    @staticmethod
    def settings(database, back):
        return [f"--spring.datasource.url=jdbc:postgresql://127.0.0.1:{database}/shop", *([f"--prices.base=http://127.0.0.1:{back}"] if back else [])]

    @staticmethod
    def requests(number):
        return [(path(kind, number), None) for kind in KINDS]

    @staticmethod
    @contextlib.contextmanager
    def servers():
        """Gives PostgreSQL's port."""
        if not shutil.which("redis-server"):
            raise Missing("redis-server (the Debian package redis-server)")
        with databases.postgres() as port:
            person = ["psql", "-q", "-h", "127.0.0.1", "-p", port, "-U", "weave", "-d", "postgres", "-c"]
            run([*person, "CREATE ROLE shop SUPERUSER LOGIN"])
            run([*person, "CREATE DATABASE shop OWNER shop"])
            person[person.index("postgres")] = "shop"
            run([*person, "CREATE TABLE orders (id serial PRIMARY KEY, customer int, item text, cents int, state text, touched int DEFAULT 0);"
                          "INSERT INTO orders (customer, item, cents, state) SELECT n % 100, 'item ' || n, n, 'open' FROM generate_series(1, 1000) n;"
                          "ALTER TABLE orders OWNER TO shop"])
            redis = subprocess.Popen(["redis-server", "--port", str(REDIS), "--save", "", "--bind", "127.0.0.1"], stdout=subprocess.DEVNULL)
            try:
                yield port
            finally:
                redis.terminate()
                redis.wait()


class PetClinic:
    """One process with a database in it. Forms are answered by a redirect, which is followed."""

    sides, ready = ("clinic",), "/owners/find"
    PAGES = ("/", "/owners/find", "/owners?lastName=", "/owners?lastName=&page=2", "/owners?lastName=Davis", "/owners?lastName=Franklin", "/owners?lastName=nobody",
             "/owners/1", "/owners/1/edit", "/owners/1/pets/new", "/owners/1/pets/1/edit", "/owners/6/pets/7/visits/new", "/owners/999", "/vets.html", "/vets.html?page=2",
             "/vets", "/oups", "/not/here", "/resources/css/petclinic.css", "/resources/images/pets.png", "/webjars/bootstrap/dist/js/bootstrap.bundle.min.js",
             "/resources/none.css", "/actuator/health")

    @staticmethod
    def settings(database, back):
        return ["--spring.datasource.generate-unique-name=false"]

    @classmethod
    def requests(cls, number):
        owner = f"firstName=Ann&lastName=Other{number}&address=Main+Street+1&city=Springfield&telephone=5551234567"
        return [*((page, None) for page in cls.PAGES), ("/owners/new", owner), ("/owners/new", "firstName=Ann"), ("/owners/1/edit", owner),
                ("/owners/2/pets/new", f"name=Rex{number}&birthDate=2020-01-02&type=dog"), ("/owners/6/pets/7/visits/new", "date=2024-01-02&description=well")]

    @staticmethod
    @contextlib.contextmanager
    def servers():
        yield None


def used(process):
    """Seconds of CPU, and resident megabytes."""
    fields = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()
    pages = int(open(f"/proc/{process.pid}/statm").read().split()[1])
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def flat(jar, folder):
    """A Boot jar's classes and libraries as a folder, and what starts them."""
    with zipfile.ZipFile(jar) as archive:
        archive.extractall(folder)
        start = re.search(r"Start-Class: (\S+)", archive.read("META-INF/MANIFEST.MF").decode())[1]
    return folder / "BOOT-INF", start


def on_class_path(folder, start):
    """Java's arguments for a flat form."""
    return ["-cp", f"{folder / 'classes'}:{folder / 'lib'}/*", start]


def running(kind, java, program, log, settings, environment):
    """A program that answers, however loaded the machine is; and its port."""
    port = databases.free_port()
    with log.open("w") as out:
        process = subprocess.Popen([java, "-Xmx400m", *program, f"--server.port={port}", *settings], stdout=out, stderr=out, env=environment)
    for _ in range(6000):
        with contextlib.suppress(OSError):
            ask(port, kind.ready)
            return process, port
        if process.poll() is not None:
            break
        time.sleep(0.2)
    process.kill()
    raise RuntimeError(f"the program does not start: {log}")


def way(name, kind, java, program, agent, folder, database, rounds):
    """Runs the requests one way: the answers, the spans and what it cost."""
    folder = fresh(folder / name)
    collector = otlp.Collector(fresh(folder / "collector"))
    started = []
    for side in kind.sides:
        environment, options = dict(os.environ), []
        if name == "agent":
            options = [f"-javaagent:{agent}"]
            environment |= {"OTEL_SERVICE_NAME": side, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint("http/protobuf"),
                            "OTEL_SEMCONV_STABILITY_OPT_IN": "database,code", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}
        environment["WEAVE_TRACE"] = str(folder / f"{side}.wtrace")
        settings = kind.settings(database, started[0][1] if started else None)
        started.append(running(kind, java, [*options, *program], folder / f"{side}.log", settings, environment))
    processes = [process for process, _ in started]
    first = [used(process)[0] for process in processes]
    port, answers = started[-1][1], []
    for number in range(1, rounds + 1):
        answers += [ask(port, *request) for request in kind.requests(number)]
    time.sleep(8)  # the agent sends every five seconds
    costs = [used(process) for process in processes]
    for process in processes:
        process.send_signal(signal.SIGTERM)
        process.wait()
    if name == "woven":
        for side in kind.sides:
            otlp.export(folder / f"{side}.wtrace", collector, "http/protobuf", "--service", side)
    time.sleep(1)
    collector.stop()
    found = collector.spans() if name != "plain" else []
    cpu = [cost - begin for (cost, _), begin in zip(costs, first)]
    print(f"     {name:6} CPU to the first answer {sum(first):6.2f} s, of {len(answers)} requests {sum(cpu):6.2f} s, memory {sum(mb for _, mb in costs):5.0f} MB, {len(found)} spans")
    return answers, found


def named(span):
    return f"{span['resource'].get('service.name')} {programs.KINDS[span['kind']]} {span['name']}"


def shown(all_):
    """Spans by what they are, and below what."""
    by_id = {(span["traceId"], span["spanId"]): span for span in all_}
    out = collections.Counter()
    for span in all_:
        parent = by_id.get((span["traceId"], span.get("parentSpanId", "")))
        failed = " ERROR" if span.get("status", {}).get("code") == 2 else ""
        above = named(parent) if parent else "(lost)" if span.get("parentSpanId") else "-"
        out[f"{named(span)}{failed}  below  {above}"] += 1
    return out


def attributes(all_):
    """How often spans of a service and kind have an attribute with a value; of a number, or what differs from run to run, with any."""
    out = collections.Counter()
    for span in all_:
        for key, value in otlp.attributes(span).items():
            exact = key not in OF_THE_RUN and not str(value).isdigit()
            value = re.sub("(?<=;jsessionid=)[0-9A-F]+", "N", str(value))
            out[f"{span['resource'].get('service.name')} {programs.KINDS[span['kind']]} {key}" + (f" = {value}" if exact else "")] += 1
    return out


def compare(score, label, found):
    """Judges what the woven shop sent by what the agent sent."""
    differ = [number for number, (ours, theirs) in enumerate(zip(found["woven"][0], found["plain"][0], strict=True)) if ours != theirs]
    score.check(f"{label}: it answers as unwoven", not differ, f"{len(found['woven'][0])} answers, these differ: {differ}")
    for told in shown, attributes:
        agent, ours = told(found["agent"][1]), told(found["woven"][1])
        for what in sorted(set(agent) | set(ours)):
            if agent[what] != ours[what]:
                print(f"     agent {agent[what]:5}  woven {ours[what]:5}  {what}")
    agent, ours = (collections.Counter((s["resource"].get("service.name"), s["name"]) for s in found[name][1] if s["kind"] == 2) for name in ("agent", "woven"))
    score.check(f"{label}: each request is a span, as with the agent", agent == ours, str((agent - ours, ours - agent)))
    lost = [what for what in shown(found["woven"][1]) if what.endswith("(lost)")]
    score.check(f"{label}: no span's parent is lost", not lost, str(lost[:5]))


def body():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--rounds", type=int, default=60)
    parse.add_argument("--form", action="append", choices=("jar", "flat"))
    parse.add_argument("--petclinic", type=pathlib.Path)
    args = parse.parse_args()
    score, folder = Score(), fresh(WORK / "beside-agent")
    kind, source = (PetClinic, args.petclinic) if args.petclinic else (Shop, SHOP)
    if not source.exists():
        raise Missing(str(source))
    shutil.copytree(source, folder / "source", ignore=shutil.ignore_patterns(".git", "target"))
    run(["mvn", "-q", "-B", "-f", folder / "source/pom.xml", "package", "-Dmaven.test.skip", "-Dcheckstyle.skip", "-Dspring-javaformat.skip"])
    (jar,) = (folder / "source/target").glob("*.jar")
    (agent,) = corpora.maven([AGENT])
    rules = ["--rules", "pack:requests-jvm", "--rules", "pack:context"]
    for form in args.form or ("jar", "flat"):
        if form == "jar":
            run([weave_binary(), "-q", *rules, jar, folder / "woven.jar"])
            plain, woven = ["-jar", jar], ["-jar", folder / "woven.jar"]
        else:
            unpacked, start = flat(jar, folder / "flat")
            run([weave_binary(), "-q", *rules, unpacked, folder / "woven"])
            plain, woven = on_class_path(unpacked, start), on_class_path(folder / "woven", start)
        for version, home in judges().items():
            found, there = {}, fresh(folder / f"{form}-{version}")
            with kind.servers() as database:
                for name, program in (("plain", plain), ("agent", plain), ("woven", woven)):
                    found[name] = way(name, kind, home / "bin/java", program, agent, there, database, args.rounds)
            compare(score, f"{form} on JDK {version}", found)
    return score.finish("beside the agent")


if __name__ == "__main__":
    main(body)
