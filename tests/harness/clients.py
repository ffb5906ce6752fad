#!/usr/bin/env python3
"""The rules packs that record HTTP requests, with real clients and a real server on loopback: each request has its method, host and path, and
no query.

    clients.py [--only NAME]...

Names: java (java.net.http, OkHttp 4, Apache HttpClient 4 and 5, on each JDK), dotnet (HttpClient, on the .NET SDK's runtime). The
programs are in tests/programs/http. Only they are woven, not the clients.
"""

import collections
import contextlib
import http.server
import json
import os
import re
import shutil
import sys
import threading

import corpora
import sdk
import values
from lib import ROOT, fresh, judges, main, oldest_jdk, run, weave_binary

sys.path.insert(0, str(ROOT / "runtime/dotnet/test"))
import reader

SOURCES = ROOT / "tests" / "programs" / "http"
CLIENTS = ["com.squareup.okhttp3:okhttp:4.12.0", "org.apache.httpcomponents:httpclient:4.5.14",
           "org.apache.httpcomponents.client5:httpclient5:5.4.4", "org.slf4j:slf4j-nop:1.7.36"]
HOST = "host='127.0.0.1'"
#: What is recorded when a request begins and when its answer is there, and how often.
JAVA = {
    f"method='GET' {HOST} path='/java'": 4, f"method='POST' {HOST} path='/missing'": 1, f"method='GET' {HOST} path='/refused'": 1,
    f"method='GET' {HOST} path='/okhttp'": 3, f"method='PUT' {HOST} path='/apache4'": 1, f"method='GET' {HOST} path='/apache4'": 1,
    f"method='GET' {HOST} path='/apart4***' masked": 1, f"method='DELETE' {HOST} path='/apache5***' masked": 1,
    f"method='GET' {HOST} path='/apart5***' masked": 1, "status=200": 5, "status=404": 1,
}
DOTNET = {
    "base=null url='START/string***' masked": 3, "base=null url=START/uri*** masked": 1, "base=null url='START/post'": 1,
    "method='PUT' url='START/put***' masked": 1, "method='GET' url='START/missing'": 1, "base=START url='relative***' masked": 1,
    "status=NotFound": 1, "base=null url='START/held'": 1, "base=null url='START/release'": 1, "base=null url='START/never'": 1,
    "base=null url='START/missing***' masked": 1, "text='given, complete: False'": 1, "text='answered'": 1,
    "text='to be cancelled, complete: False'": 1, "text='cancelled'": 1, "text='failed: NotFound'": 1, "text='value tasks'": 1,
    "complete=true": 1, "complete=false": 1,
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.split("?")[0]
        self.server.paths[path] += 1
        if path == "/held":
            self.server.released.wait()
            self.server.released.clear()
        elif path == "/release":
            self.server.released.set()
        elif path == "/never":
            self.server.over.wait()
            self.close_connection = True
            return
        body = b"hello"
        self.send_response(404 if self.path.startswith("/missing") else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving():
    """A server on a port of its own."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.paths, server.released, server.over = collections.Counter(), threading.Event(), threading.Event()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


def recorded(trace):
    found = collections.Counter()
    for line in values.shown(trace):
        _, _, *value = line.split(" ", 2)
        found.update(value)
    return found


def compare(score, name, done, plain, trace, wanted):
    score.check(f"{name}: the same output", done.returncode == 0 and done.stdout == plain.stdout, done.stdout[-300:] + done.stderr[-800:])
    found = recorded(trace)
    score.check(f"{name}: each request with what it was", found == wanted, f"{len(found)} rows" if found == wanted else dict(found))
    score.check(f"{name}: no secret in the trace", b"s3cret" not in trace.read_bytes() and "s3cret".encode("utf-16-le") not in trace.read_bytes())
    score.check(f"{name}: no chain fails", "failed" not in done.stderr, done.stderr[-500:])
    column = "host" if any("host=" in row for row in wanted) else "url"
    table = run([weave_binary(), "report", trace, "--by", column]).stdout
    slowest = run([weave_binary(), "report", trace, "--calls"]).stdout
    score.check(f"{name}: reports have it", re.search(r"127\.0\.0\.1", table) and "127.0.0.1" in slowest, table[-400:])


def java(score, folder):
    jars = corpora.resolved("http-clients", CLIENTS)
    libraries = fresh(folder / "libraries")
    for jar in jars.glob("*.jar"):
        if not jar.name.startswith(("junit", "opentest4j", "apiguardian", "slf4j-api-2")):
            shutil.copy(jar, libraries)
    classes, app, woven, trace = fresh(folder / "classes"), folder / "shop.jar", folder / "woven.jar", folder / "run.wtrace"
    run([oldest_jdk() / "bin/javac", "--release", "11", "-cp", f"{libraries}/*", "-d", classes, SOURCES / "java/Shop.java"])
    run([oldest_jdk() / "bin/jar", "cf", app, "-C", classes, "."])
    run([weave_binary(), "-q", "--strict", "--rules", "pack:httpclient", app, woven])
    with serving() as server:
        port = str(server.server_address[1])
        for version, home in judges().items():
            path = lambda jar: os.pathsep.join([str(jar), f"{libraries}/*"])
            plain = run([home / "bin/java", "-cp", path(app), "Shop", port])
            done = run([home / "bin/java", "-Xverify:all", "-cp", path(woven), "Shop", port], check=False, env=values.environment(trace))
            compare(score, f"java on {version}", done, plain, trace, JAVA)
        runs = 2 * len(judges())
        score.check("the server saw them", server.paths["/okhttp"] == 3 * runs and server.paths["/apart5"] == runs, dict(server.paths))


def ended(trace):
    """Of a trace's calls, by what they were called with: whether they run in pieces, when they began and ended, how, and with what exception."""
    trace = reader.Trace(trace)
    names, calls = reader.Names(trace.symbols()), {}
    thrown = {event.time: event.thrown for thread in trace.threads.values() for event in thread.all() if event.thrown}
    for thread in trace.threads.values():
        for event, recorded in thread.valued():
            if event.kind == reader.ENTER and recorded:
                value, steps = recorded[-1].value.strip("'"), []
                if event.logical:
                    steps = [step for step in trace.calls[event.logical[1]] if step.what in ("end", "fail")]
                last = steps[0] if steps else None
                calls[value] = (bool(event.logical), event.time, last and last.time, last and last.what, last and (thrown.get(last.time) or ("",))[0])
    return calls


def until_complete(score, name, trace, start):
    """Requests end when their answers are there: behind what the program did before."""
    calls = ended(trace)
    held, never, failed = (calls.get(f"{start}/{path}", (False, 0, 0, None, None)) for path in ("held", "never", "missing***"))
    mark = lambda text: calls[text][1]
    between = held[1] <= mark("given, complete: False") <= (held[2] or 0)
    score.check(f"{name}: a request ends when its answer is there", held[0] and held[3] == "end" and between, held)
    between = never[1] <= mark("to be cancelled, complete: False") <= (never[2] or 0)
    score.check(f"{name}: one that is cancelled fails then",
                between and never[3:] == ("fail", "System.Threading.Tasks.TaskCanceledException"), never)
    score.check(f"{name}: one that fails does", failed[3:] == ("fail", "(unknown exception)"), failed)
    given = [calls[complete][0] for complete in ("true", "false")]
    score.check(f"{name}: calls that give value tasks end when they return", given == [False, False], given)
    shown = run([weave_binary(), "report", trace, "--calls", "--json", "--where", "url=*/held"]).stdout
    (row,) = json.loads(shown)["calls"]
    score.check(f"{name}: reports have the time that it took", row["outcome"] == "exit" and row["total_ns"] == held[2] - held[1], row)


def dotnet(score, folder):
    kit = sdk.find()
    project = fresh(folder / "shop")
    (project / "Shop.csproj").write_text(
        '<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><OutputType>Exe</OutputType>'
        f"<TargetFramework>net{kit.major}.0</TargetFramework></PropertyGroup></Project>\n")
    shutil.copy(SOURCES / "dotnet/Shop.cs", project)
    (project / "nuget.config").write_text(kit.config())
    plain, woven, trace = folder / "plain", folder / "woven", folder / "run.wtrace"
    run([kit.dotnet, "build", "-v", "q", "-o", plain], cwd=project, env=kit.environment(folder / "packages"))
    run([weave_binary(), "-q", "--strict", "--rules", "pack:http-net", "--rules", SOURCES / "dotnet/marks.toml", plain, woven])
    with serving() as server:
        port = str(server.server_address[1])
        ran = run([kit.dotnet, "exec", plain / "Shop.dll", port])
        done = run([kit.dotnet, "exec", woven / "Shop.dll", port], check=False, env=values.environment(trace))
        wanted = {row.replace("START", f"http://127.0.0.1:{port}"): count for row, count in DOTNET.items()}
        compare(score, f"HttpClient on .NET {kit.major}", done, ran, trace, wanted)
        until_complete(score, f"HttpClient on .NET {kit.major}", trace, f"http://127.0.0.1:{port}")


EVERY = {"java": java, "dotnet": dotnet}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, set(), "clients"))
