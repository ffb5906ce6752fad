#!/usr/bin/env python3
"""Runs woven programs whose classes have loaders of their own, with own hooks, hooks at calls and chains in each.

    layouts.py [--everyday | --full] [--only NAME]...

Names: boot4, boot4_exploded, boot35, quarkus, felix, tomcat (a war and an exploded web application in a server's folder), jetty, ear
(packed and exploded, with the loaders that servers make). Servers are asked over HTTP. Each is woven with `pack:all`, with a hook that takes the program's own type, with recorded calls and with a chain over a
type of the program: the answer is the unwoven one, the hook is called, and the values are in the trace. `weave verify` finds nothing that
woven code does not see. Plug-in loaders, named modules and `jlink` are in `tests/cli/layouts.rs`.
"""

import os
import re
import urllib.request
import zipfile

import corpora
from lib import ROOT, fresh, judges, main, oldest_jdk, run, weave_binary
from loaders import jar
from servers import Program

SOURCES = ROOT / "tests" / "programs" / "layouts"
BOOT = {"boot4": ("webmvc", "4.0.7"), "boot35": ("web", "3.5.8")}
TOMCAT = "org.apache.tomcat.embed:tomcat-embed-core:11.0.8"
JETTY = [f"org.eclipse.jetty.ee10:jetty-ee10-{part}:12.0.14" for part in ("webapp", "annotations")]
RUNNER = "io.quarkus:quarkus-bootstrap-runner:3.33.2"
FELIX = "org.apache.felix:org.apache.felix.framework:7.0.5:jar:"

OWN = """version = 1

[[library]]
path = "th.jar"

[[aspect]]
name = "own"
match = { type = "shop.Stock", method = "twice", min-size = 0 }
enter = "th.Hooks.twice(this)"

[[aspect]]
name = "calls"
at = { call = { type = "shop.Stock", method = "twice" } }
record = ["doubled = result"]
"""
CHAIN = """version = 1

[[aspect]]
name = "chain"
match = { type = "shop.Stock", method = "twice", min-size = 0 }
record = ["again = this.twice()"]
"""


def compile(folder, sources, class_path):
    """Compiles sources into a folder of classes."""
    path = os.pathsep.join(map(str, class_path))
    run([oldest_jdk() / "bin" / "javac", "--release", "17", "-parameters", "-cp", path, "-d", fresh(folder), *sources])
    return folder


def hooks(folder, stock):
    """The hooks' library and the rules that call it, in a folder."""
    jar(folder / "th", [SOURCES / "Hooks.java"], folder / "th.jar", [stock])
    (folder / "own.toml").write_text(OWN)
    (folder / "chain.toml").write_text(CHAIN)


def zipped(target, files, manifest=""):
    """An archive of files by their names, with their folders, which Spring Boot's loader asks for; nothing is compressed."""
    folders = sorted({name[: i + 1] for name, _ in files for i, c in enumerate(name) if c == "/"})
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w") as out:
        if manifest:
            out.writestr("META-INF/MANIFEST.MF", manifest)
        for name in folders:
            out.writestr(name, b"")
        for name, path in files:
            out.write(path, name)
    return target


def tree(folder, prefix=""):
    """The files below a folder, by their names in an archive."""
    return [(prefix + p.relative_to(folder).as_posix(), p) for p in sorted(folder.rglob("*")) if p.is_file()]


def asked(command, folder, trace):
    """Starts a server that tells its port, asks it, ends it; answers what it said and printed."""
    env = {**os.environ, "WEAVE_TRACE": str(trace)}
    server = Program(command, folder, "server", env=env, cwd=folder)
    try:
        while (line := server.line()) and not line.startswith("port "):
            pass
        if not line:
            return "", (folder / "server.log").read_text()[-2000:]
        with urllib.request.urlopen(f"http://127.0.0.1:{line[5:]}/order/12") as answer:
            said = answer.read().decode()
        server.process.terminate()
        server.process.wait()
        printed = []
        while line := server.line():
            printed.append(line)
        return said, "\n".join(printed)
    except OSError as refused:
        return str(refused), (folder / "server.log").read_text()[-2000:]
    finally:
        server.process.kill()
        server.process.wait()


def told(command, folder, trace):
    """Runs a program; answers the line that it ends with, and what else it printed."""
    done = run(command, check=False, env={**os.environ, "WEAVE_TRACE": str(trace)}, cwd=folder)
    lines = done.stdout.strip().splitlines()
    return (lines[-1] if lines else ""), "\n".join(lines[:-1]) + done.stderr


def values(folder, name, woven):
    """The values of a name in the traces of a folder. The map beside the output names what a framework that ends takes with it."""
    traces = sorted(folder.glob("*.wtrace"))
    symbols = woven.parent / f"{woven.name}.wsym"
    command = [weave_binary(), "report", *traces, "--by", name, "--color", "never", "--symbols", symbols]
    shown = run(command, check=False).stdout if traces else ""
    return set(re.findall(r"\b\d+\b", shown.partition("lost")[2]))


def judge(score, name, folder, plain, command, ask=told):
    """Weaves `plain` by each set of rules, and runs what comes of it on each JDK. `command` is given the launcher and the input."""
    for rules, wanted in (("pack:all", None), ("own.toml", "doubled"), ("chain.toml", "again")):
        woven = folder / f"woven-{rules.split('.')[0].replace(':', '-')}" / plain.name
        woven.parent.mkdir()
        run([weave_binary(), "-q", "--rules", rules, plain, woven], cwd=folder)
        seen = run([weave_binary(), "verify", woven], check=False)
        unseen = [line for line in seen.stdout.splitlines() if " needs " in line]
        score.check(f"{name}, {rules}: woven code sees what it calls", not unseen, "\n".join(unseen[:5]))
        for version, home in judges().items():
            here = fresh(folder / f"run-{rules.split('.')[0].replace(':', '-')}-{version}")
            said, printed = ask(command(home / "bin" / "java", woven, here), here, here / "run.wtrace")
            good = said == "ordered 24" and "weave: hook" not in printed and (rules != "own.toml" or "seen 12" in printed)
            score.check(f"{name}, {rules} on {version}: the same answer", good, said if good else f"{said}: {printed[-1500:]}")
            if wanted:
                found = values(here, wanted, woven)
                score.check(f"{name}, {rules} on {version}: the value is recorded", "24" in found, "" if "24" in found else f"{found}")


def boot_files(folder, release, sources=None, more=()):
    """The files of a Spring Boot application: `shop.App`, Spring, further jars, the launcher."""
    starter, version = BOOT[release]
    libraries = corpora.resolved(release, [f"org.springframework.boot:spring-boot-starter-{starter}:{version}"])
    (loader,) = corpora.maven([f"org.springframework.boot:spring-boot-loader:{version}:jar:"])
    jars = [*sorted(libraries.glob("*.jar")), *more]
    classes = compile(folder / "classes", sources or [*(SOURCES / "boot").glob("*.java"), SOURCES / "Stock.java"], jars)
    if not sources:
        hooks(folder, classes)
    launcher = fresh(folder / "loader")
    with zipfile.ZipFile(loader) as packed:
        packed.extractall(launcher, [n for n in packed.namelist() if n.endswith(".class")])
    inside = tree(classes, "BOOT-INF/classes/") + [(f"BOOT-INF/lib/{j.name}", j) for j in jars]
    manifest = (
        "Manifest-Version: 1.0\nMain-Class: org.springframework.boot.loader.launch.JarLauncher\nStart-Class: shop.App\n"
        "Spring-Boot-Classes: BOOT-INF/classes/\nSpring-Boot-Lib: BOOT-INF/lib/\n\n"
    )
    return tree(launcher) + inside, manifest


def boot(score, folder, release):
    files, manifest = boot_files(folder, release)
    packed = zipped(folder / "shop.jar", files, manifest)
    judge(score, release, folder, packed, lambda java, jar, _: [java, "-jar", jar, "--server.port=0", "--server.address=127.0.0.1", "--spring.main.banner-mode=off"], asked)


def boot4(score, folder):
    boot(score, folder, "boot4")


def boot35(score, folder):
    boot(score, folder, "boot35")


def boot4_exploded(score, folder):
    files, manifest = boot_files(folder, "boot4")
    packed = zipped(folder / "shop.jar", files, manifest)
    plain = fresh(folder / "shop")
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(plain)
    launcher = "org.springframework.boot.loader.launch.JarLauncher"
    judge(score, "boot4 exploded", folder, plain, lambda java, home, _: [java, "-cp", home, launcher, "--server.port=0", "--server.address=127.0.0.1", "--spring.main.banner-mode=off"], asked)


def quarkus(score, folder):
    runner = corpora.resolved("quarkus-runner", [RUNNER])
    plain = fresh(folder / "quarkus-app")
    for part in ("lib/boot", "lib/main", "app", "quarkus"):
        (plain / part).mkdir(parents=True)
    for path in sorted(runner.glob("*.jar")):
        (plain / "lib" / "boot" / path.name).write_bytes(path.read_bytes())
    boot_jars = sorted((plain / "lib" / "boot").glob("*.jar"))
    stock = jar(folder / "s", [SOURCES / "Stock.java"], plain / "lib" / "main" / "stock.jar")
    jar(folder / "m", [SOURCES / "Main.java"], plain / "app" / "app.jar", [stock])
    path = "".join(f" lib/boot/{j.name} \n" for j in boot_jars)
    manifest = f"Manifest-Version: 1.0\nMain-Class: io.quarkus.bootstrap.runner.QuarkusEntryPoint\nClass-Path:{path}\n"
    zipped(plain / "quarkus-run.jar", [], manifest)
    index = compile(folder / "index", [SOURCES / "quarkus" / "Index.java"], boot_jars)
    run([oldest_jdk() / "bin" / "java", "-cp", os.pathsep.join(map(str, [index, *boot_jars])), "Index", plain])
    # The application has an index of its classes, so hooks lie outside of it and take what is known there.
    hooks(folder, stock)
    (folder / "own.toml").write_text(OWN.replace("th.Hooks.twice(this)", "th.Hooks.count(this.count())"))
    outside = "package th; public final class Hooks { public static void count(int n) { System.out.println(\"seen \" + n); } }"
    (folder / "Hooks.java").write_text(outside)
    jar(folder / "th", [folder / "Hooks.java"], folder / "th.jar")
    judge(score, "quarkus", folder, plain, lambda java, home, _: [java, "-jar", home / "quarkus-run.jar"])


def felix(score, folder):
    (framework,) = corpora.maven([FELIX])
    plain = fresh(folder / "bundles")
    head = ["Bundle-ManifestVersion: 2"]
    jar(folder / "m", [SOURCES / "Main.java", SOURCES / "Stock.java"], plain / "main.jar", [], [*head, "Bundle-SymbolicName: shop.main", "Export-Package: shop"])
    launcher = compile(folder / "launcher", [SOURCES / "osgi" / "Framework.java"], [framework])
    hooks(folder, plain / "main.jar")
    path = os.pathsep.join(map(str, [launcher, framework]))
    judge(score, "felix", folder, plain, lambda java, home, here: [java, "-cp", path, "Framework", home, here / "cache"])


def tomcat(score, folder):
    jars = sorted(corpora.resolved("layouts-tomcat", [TOMCAT]).glob("*.jar"))
    classes = compile(folder / "classes", [SOURCES / "web" / "Hello.java", SOURCES / "Stock.java"], jars)
    server = compile(folder / "server", [SOURCES / "web" / "Tomcat.java"], jars)
    hooks(folder, classes)
    path = os.pathsep.join(map(str, [server, *jars]))
    war = zipped(folder / "shop.war", tree(classes, "WEB-INF/classes/"), "Manifest-Version: 1.0\n\n")
    judge(score, "tomcat, war", folder, war, lambda java, app, here: [java, "-cp", path, "Tomcat", app, here], asked)

    exploded = fresh(folder / "exploded")
    hooks(exploded, classes)
    plain = exploded / "home"
    zipped(plain / "webapps" / "shop" / "WEB-INF" / "lib" / "shop.jar", tree(classes))
    judge(score, "tomcat, exploded", exploded, plain, lambda java, home, here: [java, "-cp", path, "Tomcat", home / "webapps" / "shop", here], asked)


def jetty(score, folder):
    jars = sorted(corpora.resolved("layouts-jetty", JETTY).glob("*.jar"))
    classes = compile(folder / "classes", [SOURCES / "web" / "Hello.java", SOURCES / "Stock.java"], jars)
    server = compile(folder / "server", [SOURCES / "web" / "Jetty.java"], jars)
    hooks(folder, classes)
    path = os.pathsep.join(map(str, [server, *jars]))
    war = zipped(folder / "shop.war", tree(classes, "WEB-INF/classes/"), "Manifest-Version: 1.0\n\n")
    judge(score, "jetty, war", folder, war, lambda java, app, here: [java, "-cp", path, "Jetty", app, here], asked)


def ear(score, folder):
    server = compile(folder / "server", [SOURCES / "ear" / "Ear.java"], [])
    stock = jar(folder / "s", [SOURCES / "Stock.java"], folder / "parts" / "lib" / "stock.jar")
    main_class = compile(folder / "m", [SOURCES / "Main.java"], [stock])
    zipped(folder / "parts" / "web.war", tree(main_class, "WEB-INF/classes/"), "Manifest-Version: 1.0\n\n")
    description = folder / "parts" / "META-INF" / "application.xml"
    description.parent.mkdir()
    description.write_text("<application><module><web><web-uri>web.war</web-uri><context-root>/</context-root></web></module></application>")
    hooks(folder, stock)
    command = lambda java, app, here: [java, "-cp", server, "Ear", app, here]
    judge(score, "ear", folder, zipped(folder / "shop.ear", tree(folder / "parts")), command)
    exploded = fresh(folder / "exploded")
    hooks(exploded, stock)
    judge(score, "ear, exploded", exploded, (folder / "parts").rename(exploded / "shop"), command)


EVERY = {f.__name__: f for f in (felix, ear, quarkus, boot4, tomcat, jetty, boot4_exploded, boot35)}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, {"tomcat", "jetty", "boot4_exploded", "boot35"}, "layouts"))
