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
import os
import re
import shutil
import threading

import corpora
import sdk
import values
from lib import ROOT, fresh, judges, main, oldest_jdk, run, weave_binary

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
    "method='PUT' url='START/put***' masked": 1, "method='GET' url='START/missing'": 1, "base=START/ url='relative***' masked": 1,
    "status=NotFound": 1,
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.paths[self.path.split("?")[0]] += 1
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
    server.paths = collections.Counter()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
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
    run([weave_binary(), "-q", "--strict", "--rules", "pack:http-net", plain, woven])
    with serving() as server:
        port = str(server.server_address[1])
        ran = run([kit.dotnet, "exec", plain / "Shop.dll", port])
        done = run([kit.dotnet, "exec", woven / "Shop.dll", port], check=False, env=values.environment(trace))
        wanted = {row.replace("START", f"http://127.0.0.1:{port}"): count for row, count in DOTNET.items()}
        compare(score, f"HttpClient on .NET {kit.major}", done, ran, trace, wanted)


EVERY = {"java": java, "dotnet": dotnet}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, set(), "clients"))
