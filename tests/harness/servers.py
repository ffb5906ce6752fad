#!/usr/bin/env python3
"""Loads woven servers with 1,000 virtual threads and kills them in the middle: the answers were right, the trace is whole.

    servers.py [--only NAME]...

Names: jetty, tomcat. Server and libraries are woven with `pack:all` and run on the newest JDK (21 or newer), a virtual thread
for each request. 1,000 virtual threads of another process ask, each on its own connection; nothing is answered before all are inside
at once. After 2,000 answers the server gets `kill -9`. No answer may be wrong and no connection lost before that; the trace must have
a call for each answer, its records must pair up, and `weave report` must read it and count the same.
"""

import json
import queue
import subprocess
import threading

import check_trace
import corpora
from lib import Missing, judges, main, run, weave_binary
from programs import PROGRAMS, class_path, environment

JETTY = "org.eclipse.jetty:jetty-server:12.0.22"
TOMCAT = "org.apache.tomcat.embed:tomcat-embed-core:11.0.8"
NOP = "org.slf4j:slf4j-nop:2.0.17"
CLIENTS, ENOUGH = 1000, 2000
# Seconds; what is waited for takes a hundredth of it.
PATIENCE = 600


class Program:
    """A running program whose lines can be waited for."""

    def __init__(self, command, folder, name, **options):
        self.log = folder / f"{name}.log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=log, text=True, **options)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put("")

    def line(self):
        """The next line; empty at the end of the output, or where none comes."""
        try:
            return self.lines.get(timeout=PATIENCE)
        except queue.Empty:
            return ""


def loaded(score, name, folder, main_class, home, jars, arguments, trace):
    """Runs a server under load until it is killed; answers how many answers the clients had."""
    path = class_path(sorted(jars.glob("*.jar")))
    server = Program([home / "bin" / "java", "-Xmx1g", "-cp", path, main_class, *arguments], folder, "server", env=environment(trace), cwd=folder)
    load = None
    try:
        port = server.line()
        if not score.check(f"{name}: the server starts", port.isdigit(), "" if port.isdigit() else server.log.read_text()[-2000:]):
            return 0
        plain = folder / "plain" / "servers.jar"
        load = Program([home / "bin" / "java", "-cp", plain, "servers.Load", port, CLIENTS, ENOUGH], folder, "load")
        enough = load.line()
        running = server.process.poll() is None
        server.process.kill()
        told = load.line().split()
    finally:
        for program in (server, load):
            if program:
                program.process.kill()
                program.process.wait()
    found = dict(zip(told[::2], map(int, told[1::2])))
    good = running and enough == "enough" and found.get("wrong") == found.get("early") == 0 and found.get("cut") == CLIENTS
    score.check(f"{name}: the answers are right until it is killed", good, f"{found}{'' if good else load.log.read_text()[-1500:]}")
    return found.get("right", 0)


def served(score, folder, name, library, main_class, arguments):
    newest = max(judges())
    if newest < 21:
        raise Missing("a JDK with virtual threads, 21 or newer (WEAVE_JDKS names it)")
    home = judges()[newest]
    jars = corpora.resolved(name, [library, NOP])
    plain, woven, trace = folder / "plain", folder / "woven", folder / "server.wtrace"
    plain.mkdir()
    run([home / "bin" / "javac", "--release", "21", "-cp", class_path(sorted(jars.glob("*.jar"))), "-d", folder / "classes",
         PROGRAMS / "servers" / "Work.java", PROGRAMS / "servers" / "Load.java", PROGRAMS / "servers" / f"{main_class}.java"])
    run([home / "bin" / "jar", "--create", "--file", plain / "servers.jar", "-C", folder / "classes", "."])
    for path in jars.glob("*.jar"):
        (plain / path.name).symlink_to(path)
    run([weave_binary(), "-q", "--rules", "pack:all", plain, woven])
    right = loaded(score, name, folder, f"servers.{main_class}", home, woven, arguments, trace)

    found = check_trace.read(trace, running=True)
    score.check(f"{name}: the records pair up", not found.problems and not found.orderly, f"{sum(found.calls.values())} calls, {found.problems[:3] or 'no problem'}")
    calls, exits, thrown = (found.named(c)["servers.Work." + m] for c, m in ((found.calls, "late"), (found.exits, "late"), (found.errors, "row")))
    score.check(f"{name}: each answer is in the trace", ENOUGH <= right <= exits <= calls <= right + CLIENTS and thrown > 0, f"{right} answers; {calls} calls, {exits} ended, {thrown} with an exception")
    open_late = sum(found.symbols[m][1] == "late" for stack in found.open.values() for m in stack)
    score.check(f"{name}: open calls are open questions", open_late == calls - exits <= CLIENTS, f"{open_late} calls are open")
    told = json.loads(run([weave_binary(), "report", "--json", "--limit", "0", trace]).stdout)
    rows = {f"{m['type']}.{m['method']}".replace("/", "."): m for m in told["methods"]}
    counted = rows.get("servers.Work.late", {}).get("calls"), rows.get("servers.Work.row", {}).get("errors")
    score.check(f"{name}: weave report counts the same", counted == (calls, thrown), f"{counted}")
    trace.unlink()


def jetty(score, folder):
    served(score, folder, "jetty", JETTY, "JettyServer", [])


def tomcat(score, folder):
    served(score, folder, "tomcat", TOMCAT, "TomcatServer", [folder / "base"])


EVERY = {f.__name__: f for f in (jetty, tomcat)}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, {"tomcat"}, "servers"))
