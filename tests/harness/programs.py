#!/usr/bin/env python3
"""Runs real programs woven whole: the same output as unwoven, and traces that are balanced.

    programs.py [--everyday | --full | --everything] [--only NAME]...

Names: javac, ecj, groovy, clojure, kotlinc, coroutines, boot, requests, hibernate, junit, modules, debugger. `--everyday` (the default) leaves out the slow ones;
the other two are the same here.
Everything is woven with `pack:all`. Each program runs unwoven, woven with tracing off or in a small ring, and woven with
everything recorded, which is what `check_trace.py` then judges.
"""

import filecmp
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
import xml.etree.ElementTree as xml
import zipfile
from collections import Counter

import check_trace
import corpora
import otlp
from lib import CORPORA, ROOT, WORK, fresh, judges, main, oldest_jdk, run, weave_binary

PROGRAMS = ROOT / "tests" / "programs"
LIST = corpora.entries("maven.txt")


def library(prefix):
    """An artifact of the list, by how its coordinates begin."""
    return corpora.maven([next(line for line in LIST if line.startswith(prefix))])[0]


def weave(source, target):
    run([weave_binary(), "-q", "--rules", "pack:all", source, target])
    return target


def folder_of(path, jars):
    """A folder with copies of jars."""
    fresh(path)
    for jar in jars:
        shutil.copy(jar, path)
    return path


def environment(trace, **more):
    """The environment of a woven program; `trace` is a path or `off`."""
    return {**os.environ, "WEAVE_TRACE": str(trace), "WEAVE_TRACE_LIMIT": "8g", **more}


def same_tree(one, two):
    """Whether two folders hold the same files; and how many."""
    files = [sorted(p.relative_to(d) for d2 in [d] for p in d2.rglob("*") if p.is_file()) for d in (one, two)]
    if files[0] != files[1]:
        return False, len(files[0])
    return all(filecmp.cmp(one / f, two / f, shallow=False) for f in files[0]), len(files[0])


# What `System.exit` is called in, and what daemon threads are in: some tens of calls on each of some tens of threads.
MOST_OPEN = 1_000
#: Larger traces are read by `weave report`: check_trace.py takes a microsecond a record.
MOST_BYTES = int(os.environ.get("WEAVE_MOST_BYTES") or 1 << 62)


def balanced(score, name, trace, at_least, named=True):
    """The trace is there, holds a program's worth of calls, and they pair up.

    Calls may be open at the end: `System.exit` never returns, and daemon threads are cut off.
    """
    if not trace.exists():
        return score.check(f"{name}: a trace is written", False)
    if trace.stat().st_size > MOST_BYTES:
        return whole(score, name, trace, at_least)
    found = check_trace.read(trace, running=True, named=named, most_open=MOST_OPEN)
    calls, left = sum(found.calls.values()), sum(map(len, found.open.values()))
    score.check(
        f"{name}: the trace is balanced",
        not found.problems and calls >= at_least and sum(found.exits.values()) + sum(found.errors.values()) == calls - left,
        f"{calls} calls, {sum(found.errors.values())} left by exceptions, {left} open at the end,"
        f" {len(found.calls)} methods, {found.problems[:3] or 'no problem'}",
    )
    trace.unlink()


def whole(score, name, trace, at_least):
    """What `weave report` says of a trace that is too large to be read in Python."""
    told = json.loads(run([weave_binary(), "report", "--json", trace]).stdout)
    (one,), methods = told["traces"], told["methods"]
    calls, left, cut = (sum(row[what] for row in methods) for what in ("calls", "running", "cut"))
    wrong = {what: one[what] for what in ("lost_records", "overwritten_chunks", "missing_segments", "hook_failures") if one[what]}
    score.check(f"{name}: the trace is whole", not wrong and not cut and calls >= at_least and left <= MOST_OPEN and not told["unreadable"],
                f"{calls} calls, {left} open at the end, {cut} cut off, {len(methods)} methods, {wrong or 'no problem'}")
    trace.unlink()


def compare(score, name, folder, command, at_least, cwd=None):
    """Runs `command(unwoven or woven)` both ways: the same output and exit status; then with a trace."""
    plain = run(command("plain"), check=False, cwd=cwd)
    off = run(command("woven"), check=False, cwd=cwd, env=environment("off"))
    trace = folder / f"{name}.wtrace"
    traced = run(command("woven"), check=False, cwd=cwd, env=environment(trace))
    for how, done in (("tracing off", off), ("traced", traced)):
        same = (plain.returncode, plain.stdout) == (done.returncode, done.stdout) and plain.returncode == 0
        score.check(f"{name}: the same output, {how}", same, f"{len(plain.stdout)} characters, exit {done.returncode}")
        if not same:
            print(f"unwoven: exit {plain.returncode} {plain.stdout[-600:]}{plain.stderr[-900:]}")
            print(f"woven:   exit {done.returncode} {done.stdout[-600:]}{done.stderr[-1500:]}")
    balanced(score, name, trace, at_least)


#: Which of the five libraries are compiled, by the last names of their packages; without it all are.
SOME = os.environ.get("WEAVE_SOURCES", "")


def sources():
    """A large source tree without dependencies: 1,800 files of five libraries' sources."""
    tree = WORK / "sources"
    if not (tree / ".done").exists():
        fresh(tree)
        for name in ("commons-codec:commons-codec", "commons-io:commons-io", "org.apache.commons:commons-collections4",
                     "org.apache.commons:commons-lang3", "org.apache.commons:commons-math3"):
            jar = corpora.maven([line for line in LIST if line.startswith(name) and line.endswith("sources")])[0]
            with zipfile.ZipFile(jar) as archive:
                archive.extractall(tree, [n for n in archive.namelist() if n.endswith(".java")])
        (tree / ".done").touch()
    every = sorted(str(p.relative_to(tree)) for p in tree.rglob("*.java") if p.name not in ("package-info.java", "module-info.java"))
    if SOME:
        every = [path for path in every if pathlib.Path(path).parts[3] in SOME.split()]
    listed = WORK / "sources.list"
    listed.write_text("\n".join(every) + "\n")
    return tree, listed, len(every)


def compiles(score, name, folder, command, at_least):
    """A compiler makes the same class files of the large tree, and of a part while recording; a trace is kept of one file, of so many calls."""
    tree, listed, count = sources()

    def compiled(which, out, what, env=None):
        fresh(out)
        done = run([*command(which), "-d", out, *what], check=False, cwd=tree, env=env)
        if done.returncode != 0:
            print(f"{which}: exit {done.returncode} {(done.stdout + done.stderr)[-1500:]}")
        return done.returncode

    def same(how, what, wanted, env):
        compiled("plain", folder / "out-plain", what)
        compiled("woven", folder / "out-woven", what, env)
        same, files = same_tree(folder / "out-plain", folder / "out-woven")
        score.check(f"{name}: the same class files, tracing {how}", same and files >= wanted, f"{files} of {wanted} sources")

    same("off", [f"@{listed}"], count, environment("off"))
    # A part of the tree is billions of calls' worth already.
    part = sorted(p.relative_to(tree) for p in (tree / PART).rglob("*.java") if p.name != "package-info.java")
    same("in a ring", part, len(part), environment(folder / "ring.wtrace", WEAVE_TRACE_LIMIT="64m"))
    (folder / "ring.wtrace").unlink(missing_ok=True)
    trace = folder / f"{name}.wtrace"
    compiled("woven", folder / "out-small", [SMALL], environment(trace))
    balanced(score, name, trace, at_least)


# Sources of the tree that need no others of it.
PART = pathlib.Path("org") / "apache" / "commons" / "codec"
# A file that asks for no other: javac makes some 100,000 calls and more for it, ecj 52,000.
SMALL = ROOT / "samples" / "java" / "src" / "shop" / "Document.java"


def javac(score, folder):
    """The JDKs' own compiler, module jdk.compiler patched with its woven self."""
    for version, home in sorted(judges().items()):
        corpora.jdk_jar(version, home)
        classes = CORPORA / f"jdk{version}" / "jdk.compiler"
        jar = folder / f"jdk.compiler-{version}.jar"
        with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as out:
            for path in sorted(p for p in classes.rglob("*") if p.is_file()):
                out.write(path, path.relative_to(classes))
        woven = weave(jar, folder / f"woven-{version}.jar")

        def command(which):
            patch = ["--patch-module", f"jdk.compiler={woven}"] if which == "woven" else []
            main_class = "jdk.compiler/com.sun.tools.javac.Main"
            return [home / "bin" / "java", *patch, "-m", main_class, "--release", "11", "-nowarn", "-proc:none", "-g", "-encoding", "UTF-8"]

        compiles(score, f"javac {version}", folder, command, 100_000)


def ecj(score, folder):
    """Eclipse's compiler, a signed jar."""
    plain = library("org.eclipse.jdt:ecj")
    woven = weave(plain, folder / "ecj.jar")

    def command(which):
        jar = woven if which == "woven" else plain
        return [oldest_jdk() / "bin" / "java", "-jar", jar, "--release", "11", "-nowarn", "-proc:none", "-g", "-encoding", "UTF-8"]

    compiles(score, "ecj", folder, command, 40_000)


def class_path(jars):
    return os.pathsep.join(str(j) for j in jars)


def groovy(score, folder):
    """Groovy, one jar, on each JDK."""
    plain = library("org.apache.groovy:groovy:")
    woven = weave(plain, folder / "groovy.jar")
    for version, home in sorted(judges().items()):
        compare(
            score, f"groovy on {version}", folder,
            lambda which: [home / "bin" / "java", "-cp", woven if which == "woven" else plain, "groovy.ui.GroovyMain", PROGRAMS / "script.groovy"],
            100_000,
        )


def clojure(score, folder):
    """Clojure, a folder of jars woven in one call, on each JDK."""
    jars = [library("org.clojure:clojure:"), library("org.clojure:spec.alpha"), library("org.clojure:core.specs.alpha")]
    folder_of(folder / "plain", jars)
    weave(folder / "plain", folder / "woven")
    for version, home in sorted(judges().items()):
        compare(
            score, f"clojure on {version}", folder,
            lambda which: [home / "bin" / "java", "-cp", f"{folder / which}/*", "clojure.main", PROGRAMS / "script.clj"],
            100_000,
        )


KOTLINC = ("org.jetbrains.kotlin:kotlin-compiler-embeddable", "org.jetbrains.kotlin:kotlin-stdlib", "org.jetbrains.kotlin:kotlin-script-runtime",
           "org.jetbrains.kotlin:kotlin-reflect", "org.jetbrains.kotlinx:kotlinx-coroutines-core-jvm", "org.jetbrains.intellij.deps:trove4j",
           "org.jetbrains:annotations")


def kotlinc(score, folder):
    """The Kotlin compiler, a folder of jars."""
    folder_of(folder / "plain", [library(n) for n in KOTLINC])
    weave(folder / "plain", folder / "woven")
    trace = folder / "kotlinc.wtrace"
    standard = library("org.jetbrains.kotlin:kotlin-stdlib")

    def compiled(which, out, env=None):
        done = run(
            [oldest_jdk() / "bin" / "java", "-cp", f"{folder / which}/*", "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler",
             "-no-stdlib", "-no-reflect", "-cp", standard, "-d", fresh(out), PROGRAMS / "Shapes.kt"],
            check=False, env=env,
        )
        if done.returncode != 0:
            print(f"{which}: exit {done.returncode} {(done.stdout + done.stderr)[-1500:]}")

    compiled("plain", folder / "out-plain")
    compiled("woven", folder / "out-woven", environment(trace))
    same, files = same_tree(folder / "out-plain", folder / "out-woven")
    score.check("kotlinc: the same class files", same and files >= 4, f"{files} files")
    balanced(score, "kotlinc", trace, 100_000)


def made_of_suspending(owner, name, descriptor):
    """Whether the Kotlin compiler makes such a method of suspending code: what makes and what resumes a continuation.
    Its classes of continuations have numbers for names; those of the library take continuations, too."""
    numbered = re.search(r"\$\d+$", owner) or owner.startswith("kotlin/coroutines/jvm/internal/")
    return name == "invokeSuspend" or name in ("<init>", "create") and numbered and "Lkotlin/coroutines/Continuation;)" in descriptor


def coroutines(score, folder):
    """A Kotlin program with coroutines and its libraries, on each JDK: with pack:kotlin the trace is without what the compiler made."""
    libraries = [library("org.jetbrains.kotlin:kotlin-stdlib:"), library("org.jetbrains.kotlinx:kotlinx-coroutines-core-jvm")]
    plain = folder_of(folder / "plain", libraries)
    run([oldest_jdk() / "bin" / "java", "-cp", class_path([library(n) for n in KOTLINC]), "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler",
         "-no-stdlib", "-no-reflect", "-cp", class_path(libraries), "-d", plain / "coroutines.jar", PROGRAMS / "Coroutines.kt"])
    for pack in ("kotlin", "default"):
        run([weave_binary(), "-q", "--rules", f"pack:{pack}", plain, folder / pack])
    # The same, of a level.
    rules = folder / "switched.toml"
    rules.write_text((ROOT / "rules/kotlin.toml").read_text().replace('name = "kotlin"\n', 'name = "kotlin"\nlevel = "info"\n'))
    run([weave_binary(), "-q", "--rules", rules, plain, folder / "switched"])
    noise = {}
    for version, home in sorted(judges().items()):
        command = [home / "bin" / "java", "-cp"]
        before = run([*command, f"{plain}/*", "CoroutinesKt"], check=False)
        for pack in ("kotlin", "default"):
            trace = folder / f"{pack}.wtrace"
            after = run([*command, f"{folder / pack}/*", "CoroutinesKt"], check=False, env=environment(trace))
            name = f"coroutines on {version}, pack:{pack}"
            same = (before.returncode, before.stdout) == (after.returncode, after.stdout) and before.returncode == 0 and "slow" not in before.stdout
            score.check(f"{name}: the same output", same, "" if same else f"{before.stdout[-600:]}{after.stdout[-600:]}{after.stderr[-1500:]}")
            found = check_trace.read(trace, running=True)
            seen = {found.symbols[m] for m in found.calls}
            noise[pack] = sorted(m for m in seen if made_of_suspending(*m))
            balanced(score, name, trace, 1_000)
            if pack == "kotlin":
                score.check(f"{name}: no continuation is recorded", not noise[pack], f"{len(noise[pack])}: {noise[pack][:3]}")
                missing = {"sum", "forwards", "fails", "shared", "piped", "first", "deep"} - {m for o, m, _ in seen if o == "CoroutinesKt"}
                score.check(f"{name}: suspend functions are recorded", not missing, f"missing {sorted(missing)}")
        for level in "info", "error":
            trace = fresh(folder / "traces") / "switched.wtrace"
            after = run([*command, f"{folder / 'switched'}/*", "CoroutinesKt"], check=False, env={**environment(trace), "WEAVE_LEVEL": level})
            name = f"coroutines on {version}, level {level}"
            score.check(f"{name}: the same output", (after.returncode, after.stdout) == (0, before.stdout), after.stdout[-600:] + after.stderr[-1500:])
            found = check_trace.read(trace, running=True)
            seen = {m for o, m, _ in (found.symbols[m] for m in found.calls) if o == "CoroutinesKt"}
            wanted = {"sum", "forwards", "fails", "shared", "piped", "first", "deep"}
            score.check(f"{name}: suspend functions are switched", not found.problems and (wanted <= seen if level == "info" else not found.calls),
                        f"{len(found.calls)} methods; {found.problems[:3]}")
    score.check("coroutines: pack:default does record continuations", len(noise["default"]) > 20, f"{len(noise['default'])}")


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def ask(url, data=None, whole=lambda body: True):
    """The body of an HTTP answer, asking until there is one that is whole; only a server that hangs is given up."""
    told = 0, "nothing was asked"
    for _ in range(1_000):
        try:
            request = urllib.request.Request(url, data, {"Content-Type": "application/json"} if data else {})
            with urllib.request.urlopen(request, timeout=120) as answer:
                told = answer.status, answer.read().decode()
            if whole(told[1]):
                return told
        except (OSError, urllib.error.URLError) as refused:
            told = 0, str(refused)
        time.sleep(0.3)
    return told


SPANS = json.dumps([
    {"traceId": "000000000000000a", "id": f"{n:016x}", "name": f"call {n}", "timestamp": 1700000000000000 + n,
     "duration": 100 * n, "localEndpoint": {"serviceName": "shop"}, "tags": {"n": str(n)}}
    for n in range(1, 40)
]).encode()


# Questions of one connection, of which each tenth is a wrong one that a controller answers by an exception.
REQUESTS = 1000
CONTROLLER = "zipkin2.server.internal.ZipkinQueryApiV2"
# The server's own code, and where requests begin.
ROOTS = f"""version = 1
[[aspect]]
name = "server"
match = {{ type = "zipkin2.**", kind = ["method", "constructor", "lambda"] }}
[[aspect]]
name = "requests"
match = {{ type = "{CONTROLLER}", method = "get*" }}
root = true
"""


def busy(port):
    """Asks a server very often; how many answers of each status."""
    statuses = Counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    for n in range(REQUESTS):
        connection.request("GET", "/api/v2/trace/no-hex" if n % 10 == 0 else "/api/v2/services")
        answer = connection.getresponse()
        answer.read()
        statuses[answer.status] += 1
    connection.close()
    return statuses


def served(jar, folder, env, more=None):
    """What a Zipkin server answers to the same questions, then ended by a signal; `more` asks before that."""
    port = free_port()
    command = [oldest_jdk() / "bin" / "java", "-Xmx512m", "-jar", jar, "--armeria.ports[0].ip=127.0.0.1",
               f"--armeria.ports[0].port={port}", "--armeria.ports[0].protocols[0]=http"]
    with open(folder / "server.log", "w") as log:
        server = subprocess.Popen([str(c) for c in command], stdout=log, stderr=log, env=env, cwd=folder)
    try:
        base = f"http://127.0.0.1:{port}"
        answers = [ask(f"{base}/health")]
        answers.append(ask(f"{base}/api/v2/spans", SPANS))
        # The server stores them in its own time.
        answers.append(ask(f"{base}/api/v2/trace/000000000000000a", whole=lambda body: body.count('"id":') == 39))
        answers.append(ask(f"{base}/api/v2/services"))
        if more:
            more(port)
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            status = server.wait(600)
        except subprocess.TimeoutExpired:
            server.kill()
            status = "killed"
    answers.append(("exit", status))
    return answers


def boot(score, folder):
    """A Spring Boot fat jar: Zipkin's server, with its memory as the store."""
    plain = library("io.zipkin:zipkin-server")
    woven = weave(plain, folder / "zipkin.jar")
    trace = folder / "boot.wtrace"
    before = served(plain, folder, dict(os.environ))
    after = served(woven, folder, environment(trace))
    good = before == after and before[0][0] == 200 and '"call 39"' in str(before[2][1]).replace("\\", "")
    score.check("boot: the server gives the same answers", good, f"{[status for status, _ in after]}")
    if not good:
        print(f"unwoven: {str(before)[:800]}\nwoven: {str(after)[:800]}\n{(folder / 'server.log').read_text()[-2500:]}")
    balanced(score, "boot", trace, 100_000)


def requests(score, folder):
    """Each request of a Spring Boot server is a trace of its own at a real Collector, with the controller's method as its root."""
    rules, trace = folder / "roots.toml", folder / "requests.wtrace"
    rules.write_text(ROOTS)
    woven = folder / "zipkin.jar"
    run([weave_binary(), "-q", "--rules", rules, library("io.zipkin:zipkin-server"), woven])
    statuses = Counter()
    served(woven, folder, environment(trace), lambda port: statuses.update(busy(port)))
    found = check_trace.read(trace, running=True, most_open=MOST_OPEN)
    asked = {name: n for name, n in found.named(found.calls).items() if name in (f"{CONTROLLER}.getServiceNames", f"{CONTROLLER}.getTrace")}
    failed = found.named(found.errors)
    sent = []
    # As the rules say, and as the command does.
    for how, more in (("rules", []), ("command", ["--root", f"{CONTROLLER}.get*"])):
        collector = otlp.Collector(fresh(folder / f"collector-{how}"))
        otlp.export(trace, collector, "http/protobuf", *more, "--min", "0", "--depth", "1000", "--signals", "traces", "-q")
        collector.stop()
        sent.append(collector.spans())
    spans, named = sent
    places = [{(span["traceId"], span["spanId"], span.get("parentSpanId"), span["kind"]) for span in some} for some in sent]
    score.check("requests: the rules' roots are those that --root names", places[0] == places[1] and len(places[0]) == len(spans), f"{len(spans)} and {len(named)} spans")
    roots = [span for span in spans if not span.get("parentSpanId")]
    names = Counter(span["name"] for span in roots)
    traces = {span["traceId"] for span in spans}
    # Beside those of one connection: one for the names of services, and some until the spans are stored.
    right = statuses == {200: REQUESTS - REQUESTS // 10, 400: REQUESTS // 10} and asked.get(f"{CONTROLLER}.getServiceNames") == REQUESTS - REQUESTS // 10 + 1
    score.check(f"requests: {REQUESTS} requests and more are that many traces", right and sum(asked.values()) > REQUESTS and len(traces) == len(roots) == sum(asked.values()),
                f"{sum(asked.values())} calls, {len(roots)} roots, {len(traces)} traces of {len(spans)} spans, answers {dict(statuses)}")
    score.check("requests: each has its controller's method as its root, a server's", names == Counter(asked) and all(span["kind"] == 2 for span in roots), str(names))
    ids = {span["spanId"]: span for span in spans}
    children = [span for span in spans if span.get("parentSpanId")]
    inside = all(
        (around := ids.get(span["parentSpanId"])) and around["traceId"] == span["traceId"]
        and int(around["startTimeUnixNano"]) <= int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) <= int(around["endTimeUnixNano"])
        for span in children if "weave.logical_call" not in otlp.attributes(span))
    score.check("requests: children lie in parents of their trace", children and inside, f"{len(children)} children")
    wrong = Counter(span["name"] for span in roots if span.get("status", {}).get("code") == 2)
    score.check("requests: requests that failed have the status, and their exception once", wrong == Counter({n: failed[n] for n in asked if failed.get(n)}) and wrong.total() == statuses[400]
                and all(sum(len(s.get("events", [])) for s in of) == 1 for of in by_trace(spans, {r["traceId"] for r in roots if r.get("status", {}).get("code") == 2})), str(wrong))
    resource = spans[0]["resource"]
    score.check("requests: the resource follows the conventions", resource["telemetry.sdk.language"] == "java" and len(resource["service.instance.id"]) == 36, str(resource)[:300])


def by_trace(spans, traces):
    """The spans of each of these traces."""
    groups = {trace: [] for trace in traces}
    for span in spans:
        if span["traceId"] in groups:
            groups[span["traceId"]].append(span)
    return groups.values()


def junit(score, folder):
    """A library's own tests on the woven library."""
    plain, tests = library("org.apache.commons:commons-math3:3.6.1"), None
    tests = corpora.maven([line for line in LIST if line.startswith("org.apache.commons:commons-math3") and line.endswith("tests")])[0]
    woven = weave(plain, folder / plain.name)
    console = library("org.junit.platform:junit-platform-console-standalone")
    beside = [tests, library("junit:junit"), library("org.hamcrest:hamcrest-core")]

    def results(which, env=None, packages=("linear", "complex", "geometry", "fraction", "genetics", "special")):
        out = fresh(folder / f"reports-{which}")
        select = [part for p in packages for part in ("--select-package", f"org.apache.commons.math3.{p}")]
        run([oldest_jdk() / "bin" / "java", "-jar", console, "execute", "--class-path",
             class_path([woven if which == "woven" else plain, *beside]), *select,
             "--include-classname", ".*Test", "--details=none", "--reports-dir", out], check=False, env=env)
        found = {}
        for case in xml.parse(out / "TEST-junit-vintage.xml").getroot().iter("testcase"):
            verdict = next((c.tag for c in case if c.tag in ("failure", "error", "skipped")), "passed")
            found[case.get("classname"), case.get("name")] = verdict
        return found

    before = results("plain")
    passed = sum(v == "passed" for v in before.values())
    after = results("woven", environment("off"))
    different = {k: (before.get(k), after.get(k)) for k in before.keys() | after.keys() if before.get(k) != after.get(k)}
    score.check("junit: the same tests pass on the woven library", not different and passed > 1000,
                f"{passed} of {len(before)} pass; different: {dict(list(different.items())[:5])}")
    trace = folder / "junit.wtrace"
    recorded = results("woven", environment(trace), ("complex", "fraction"))
    score.check("junit: tests pass while recorded", recorded and all(before.get(k) == v for k, v in recorded.items()), f"{len(recorded)} tests")
    balanced(score, "junit", trace, 10_000)


def modules(score, folder):
    """A modular program and modular libraries on the module path, woven in one call, on each JDK."""
    jars = [library("com.fasterxml.jackson.core:jackson-core"), library("com.fasterxml.jackson.core:jackson-annotations"),
            library("com.fasterxml.jackson.core:jackson-databind"), library("info.picocli:picocli")]
    folder_of(folder / "plain", jars)
    home = oldest_jdk()
    run([home / "bin" / "javac", "--release", "17", "-p", folder / "plain", "-d", folder / "classes", "--module-source-path",
         PROGRAMS / "modular" / "src", "-m", "desk"])
    run([home / "bin" / "jar", "--create", "--file", folder / "plain" / "desk.jar", "--main-class", "desk.Main", "-C", folder / "classes" / "desk", "."])
    weave(folder / "plain", folder / "woven")
    for version, home in sorted(judges().items()):
        compare(
            score, f"modules on {version}", folder,
            lambda which: [home / "bin" / "java", "-p", folder / which, "-m", "desk/desk.Main", "--times", "3"],
            10_000,
        )
    # A modular jar woven alone: its hook library is inside.
    alone = folder / "alone"
    folder_of(alone, [folder / "plain" / j.name for j in jars])
    weave(folder / "plain" / "desk.jar", alone / "desk.jar")
    compare(
        score, "a module woven alone", folder,
        lambda which: [oldest_jdk() / "bin" / "java", "-p", alone if which == "woven" else folder / "plain", "-m", "desk/desk.Main"],
        2,
    )


def debugger(score, folder):
    """What a debugger sees, line by line and variable by variable, of a program and a library woven whole, on each JDK."""
    tree, _, _ = sources()
    home = oldest_jdk()
    part = sorted(p for p in (tree / PART).rglob("*.java") if p.name != "package-info.java")
    run([home / "bin" / "javac", "-g", "--release", "11", "-nowarn", "-encoding", "UTF-8", "-proc:none", "-d", folder / "classes", PROGRAMS / "Debugged.java", *part])
    run([home / "bin" / "jar", "--create", "--file", folder / "plain.jar", "-C", folder / "classes", "."])
    rules = folder / "rules.toml"
    # Every method, also what a trace is usually without.
    rules.write_text('version = 1\n[[aspect]]\nname = "everything"\nmatch = { type = "**", min-size = 0, kind = '
                     '["method", "constructor", "accessor", "bridge", "synthetic", "lambda", "async", "static-init"] }\n')
    run([weave_binary(), "-q", "--rules", rules, folder / "plain.jar", folder / "woven.jar"])
    run([home / "bin" / "javac", "-d", folder / "oracle", ROOT / "tests" / "oracle" / "Debugger.java"])
    for version, home in sorted(judges().items()):
        for how in ("breakpoints", "steps"):
            seen = {}
            for which in ("plain", "woven"):
                seen[which] = run(
                    [home / "bin" / "java", "-cp", folder / "oracle", "Debugger", how, home, folder / f"{which}.jar", "Debugged",
                     "Debugged", "org.apache.commons.codec"],
                    env=environment(folder / "debugged.wtrace"),
                ).stdout.splitlines()
            plain, woven = seen["plain"], seen["woven"]
            good = plain == woven and len(plain) > 200 and plain[-1].startswith("exit 0 ")
            score.check(f"debugger on {version}: the same {how}", good, plain[-1])
            for number, (a, b) in enumerate(zip(plain, woven)):
                if a != b:
                    print(f"     stop {number}, after {plain[number - 1] if number else 'nothing'}:\n     unwoven {a}\n     woven   {b}")
                    break
    calls = json.loads(run([weave_binary(), "report", "--json", folder / "debugged.wtrace"]).stdout)
    score.check("debugger: what was stopped was recorded, too", "recurs" in json.dumps(calls), f"{len(calls)} keys")


HIBERNATE = ["org.hibernate.orm:hibernate-core:7.0.3.Final", "com.h2database:h2:2.3.232"]


def stock(folder):
    """A program of entities with Hibernate and H2, everything woven in one call: the folders `plain` and `woven`."""
    plain = folder_of(folder / "plain", sorted(corpora.resolved("hibernate", HIBERNATE).glob("*.jar")))
    bin = oldest_jdk() / "bin"
    run([bin / "javac", "-cp", f"{plain}/*", "-d", folder / "classes", *sorted((PROGRAMS / "hibernate").glob("*.java"))])
    run([bin / "jar", "--create", "--file", plain / "stock.jar", "-C", folder / "classes", "."])
    weave(plain, folder / "woven")


def hibernate(score, folder):
    """Entities with lazy parts, by proxies and by Hibernate's own enhancer at work on woven classes, on each JDK."""
    stock(folder)
    for version, home in sorted(judges().items()):
        for how in ("proxies", "enhanced"):
            compare(
                score, f"hibernate on {version}, {how}", folder,
                lambda which: [home / "bin" / "java", "-cp", f"{folder / which}/*", "stock.Main", how, "find"],
                100_000,
            )
            # The parser of queries alone makes 80 million calls.
            done = [run([home / "bin" / "java", "-cp", f"{folder / which}/*", "stock.Main", how, "query"], check=False,
                        env=environment(folder / "ring.wtrace", WEAVE_TRACE_LIMIT="64m")) for which in ("plain", "woven")]
            same = done[0].stdout == done[1].stdout and done[0].returncode == done[1].returncode == 0
            score.check(f"hibernate on {version}, {how}: the same output, in a ring", same and "supplier 3 115 item 34" in done[0].stdout,
                        "" if same else (done[1].stdout + done[1].stderr)[-1500:])
            (folder / "ring.wtrace").unlink(missing_ok=True)


EVERY = {f.__name__: f for f in (groovy, clojure, modules, junit, debugger, boot, requests, javac, ecj, kotlinc, coroutines, hibernate)}
SLOW = {"groovy", "kotlinc", "boot", "requests", "coroutines", "ecj", "hibernate", "junit"}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, SLOW, "programs"))
