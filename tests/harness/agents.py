#!/usr/bin/env python3
"""Runs woven programs with agents that instrument them once more, on each JDK.

    agents.py [--only NAME]...

Names: opentelemetry, jacoco.
- opentelemetry: its agent instruments Hibernate and H2, woven with `pack:all`. The output, the spans, the classes that it
  transforms and what it warns of are the same as unwoven.
- jacoco: its agent and its Ant task with the excludes that docs/jvm.md names. No class of `weave.runtime` is counted, and
  each method, branch and line is covered as it is unwoven; once more with own hooks and recorded values. Instructions are
  where hooks have no handler.
"""

import re
import xml.etree.ElementTree as xml

import check_corpora
import corpora
from lib import judges, main, oldest_jdk, run, weave_binary
from programs import PART, PROGRAMS, class_path, environment, sources, stock

OPENTELEMETRY = "io.opentelemetry.javaagent:opentelemetry-javaagent:2.20.1"
JACOCO = ["org.jacoco:org.jacoco.agent:0.8.13:jar:runtime", "org.jacoco:org.jacoco.ant:0.8.13:jar:nodeps"]
ANT = ["org.apache.ant:ant:1.10.15:jar:", "org.apache.ant:ant-launcher:1.10.15:jar:"]


def opentelemetry(score, folder):
    stock(folder)
    (agent,) = corpora.maven([f"{OPENTELEMETRY}:jar:"])
    settings = ["-Dotel.traces.exporter=logging", "-Dotel.metrics.exporter=none", "-Dotel.logs.exporter=none", "-Dotel.javaagent.debug=true"]
    for version, home in sorted(judges().items()):
        seen = {}
        for which in ("plain", "woven"):
            done = run([home / "bin" / "java", f"-javaagent:{agent}", *settings, "-cp", f"{folder / which}/*", "stock.Main", "enhanced", "query"],
                       check=False, env=environment(folder / "ring.wtrace", WEAVE_TRACE_LIMIT="64m"))
            log = done.stderr.splitlines()
            seen[which] = {
                "output": (done.returncode, done.stdout),
                "spans": sorted(found[1] for line in log if (found := re.search(r"LoggingSpanExporter - ('.*?') :", line))),
                # Lambdas are numbered as they come. Which classes of the JDK are loaded is a matter of timing, too.
                "transformed": sorted({found[1] for line in log if (found := re.search(r"Transformed ((org\.hibernate|org\.h2|stock)\.[\w.$]+)", line))
                                       and "Lambda" not in found[1]}),
                "warnings": sorted(re.sub(r"^\[.*?\] ", "", line) for line in log if re.search(r"\b(WARN|ERROR|Failed|Error|Exception)\b", line)),
            }
        plain, woven = seen["plain"], seen["woven"]
        name = f"opentelemetry on {version}"
        good = plain["output"] == woven["output"] and plain["output"][0] == 0 and "weave: " not in done.stderr
        score.check(f"{name}: the same output", good, "" if good else f"{woven['output']} {done.stderr[-1500:]}")
        score.check(f"{name}: the same spans", plain["spans"] == woven["spans"] and len(woven["spans"]) > 20, f"{len(woven['spans'])}")
        differ = sorted(set(plain["transformed"]) ^ set(woven["transformed"]))
        score.check(f"{name}: the same classes are transformed", not differ and len(woven["transformed"]) > 10, f"{len(woven['transformed'])}; {differ[:5]}")
        score.check(f"{name}: the same warnings", plain["warnings"] == woven["warnings"], f"{woven['warnings'][:3]}")
        (folder / "ring.wtrace").unlink(missing_ok=True)


#: The packages of what a woven jar has beside the program.
INSIDE = ("weave/runtime", "weave/hooks", "acme")


def jacoco(score, folder):
    """A jar, woven alone, so that the hook library is inside; once more with own hooks and values, whose library and adapters are inside as well."""
    tree, _, _ = sources()
    bin = oldest_jdk() / "bin"
    part = sorted(p for p in (tree / PART).rglob("*.java") if p.name != "package-info.java")
    run([bin / "javac", "-g", "--release", "11", "-nowarn", "-encoding", "UTF-8", "-proc:none", "-d", folder / "classes", PROGRAMS / "Debugged.java", *part])
    run([bin / "jar", "--create", "--file", folder / "plain.jar", "-C", folder / "classes", "."])
    straight = folder / "straight.toml"
    straight.write_text('version = 1\n[[aspect]]\nmatch = { type = "**", method = "*" }\nadvice = ["enter", "exit"]\n')
    ways = {"woven": "pack:default", "own hooks and values": check_corpora.own_rules(folder), "no handlers": straight}
    for which, rules in ways.items():
        run([weave_binary(), "-q", "--rules", rules, folder / "plain.jar", folder / f"{which}.jar"])
    agent, task = corpora.maven(JACOCO)
    ant = class_path([*corpora.maven(ANT), task])

    def covered(home, which, excluded):
        """Exit status and output, and for each class its counters."""
        data, report = folder / f"{which}.exec", folder / f"{which}.xml"
        data.unlink(missing_ok=True)
        option = ",excludes=weave.runtime.*:weave.hooks.*:acme.*" if excluded else ""
        done = run([home / "bin" / "java", f"-javaagent:{agent}=destfile={data}{option}", "-cp", folder / f"{which}.jar", "Debugged"],
                   check=False, env=environment(folder / "jacoco.wtrace"))
        (folder / "jacoco.wtrace").unlink(missing_ok=True)
        excludes = 'excludes="weave/runtime/**,weave/hooks/**,acme/**"' if excluded else ""
        (folder / "build.xml").write_text(
            '<project xmlns:jacoco="antlib:org.jacoco.ant" default="report"><target name="report"><jacoco:report>'
            f'<executiondata><file file="{data}"/></executiondata><structure name="woven"><classfiles>'
            f'<zipfileset src="{folder / f"{which}.jar"}" includes="**/*.class" {excludes}/></classfiles></structure>'
            f'<xml destfile="{report}"/></jacoco:report></target></project>'
        )
        run([bin / "java", "-cp", ant, "org.apache.tools.ant.Main", "-q", "-f", folder / "build.xml"])
        # The report names a document type that is not there.
        root = xml.fromstring(re.sub(r"<!DOCTYPE.*?>", "", report.read_text()))
        classes = {c.get("name") for c in root.iter("class")}
        methods = {(c.get("name"), m.get("name"), m.get("desc")): {k.get("type"): (k.get("missed"), k.get("covered")) for k in m.findall("counter")}
                   for c in root.iter("class") for m in c.findall("method")}
        lines = {(f.get("name"), n.get("nr")): (n.get("ci") != "0", n.get("mb"), n.get("cb"))
                 for package in root.iter("package") if package.get("name") not in INSIDE
                 for f in package.findall("sourcefile") for n in f.findall("line")}
        return (done.returncode, done.stdout, done.stderr), classes, methods, lines

    for version, home in sorted(judges().items()):
        before, classes, methods, lines = covered(home, "plain", True)
        for which in ways:
            after, woven, woven_methods, woven_lines = covered(home, which, True)
            _, whole, _, _ = covered(home, which, False)
            name = f"jacoco on {version}, {which}"
            score.check(f"{name}: the same output", before == after and before[0] == 0, "" if before == after else f"{before} {after}"[-1500:])
            counted = {c for c in whole if c.rpartition("/")[0] in INSIDE}
            score.check(f"{name}: the hook library is counted only without the excludes", counted and woven == whole - counted == classes,
                        f"{len(counted)} classes of it without them, {len(woven)} classes with them")
            for kind in ("METHOD", "BRANCH"):
                differ = {m: (c.get(kind), woven_methods.get(m, {}).get(kind)) for m, c in methods.items() if c.get(kind) != woven_methods.get(m, {}).get(kind)}
                score.check(f"{name}: the same {kind.lower()} counts", not differ and len(methods) > 500, f"{len(methods)} methods; {list(differ.items())[:3]}")
            # A handler runs only where an exception leaves a method.
            full = {m for m, c in methods.items() if c["INSTRUCTION"][0] == "0"}
            still = {m for m in full if woven_methods[m]["INSTRUCTION"][0] == "0"}
            score.check(f"{name}: whose instructions were all covered, has them all covered without handlers alone",
                        (still == full) == (which == "no handlers") and len(full) > 10, f"{len(still)} of {len(full)}")
            differ = {line: (c, woven_lines.get(line)) for line, c in lines.items() if c != woven_lines.get(line)}
            hit = sum(c for c, _, _ in lines.values())
            score.check(f"{name}: the same lines are covered", not differ and hit > 50, f"{hit} of {len(lines)}; {list(differ.items())[:3]}")
            # What JaCoCo leaves out since the compiler made it, known by its very instructions.
            more = [m for m in woven_methods if m not in methods]
            lines_more = [line for line in woven_lines if line not in lines]
            score.check(f"{name}: hardly more is counted", all(m[1] == "<init>" for m in more) and len(lines_more) < len(lines) / 100, f"{more[:3]}, {lines_more[:3]}")


EVERY = {f.__name__: f for f in (opentelemetry, jacoco)}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, set(), "agents"))
