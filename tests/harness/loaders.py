#!/usr/bin/env python3
"""Runs woven programs under class loaders that do not follow the class path: OSGi, JBoss Modules, plug-ins of pf4j.

    loaders.py [--only NAME]...

Names: felix, equinox, jboss, pf4j. Each runs unwoven and woven, on the oldest and the newest JDK: the same output, and a trace that
has the program's methods by their names.
"""

import json
import os
import shutil

import corpora
from lib import ROOT, WORK, fresh, judges, main, oldest_jdk, run, weave_binary

PROGRAMS = ROOT / "tests" / "programs" / "loaders"
FELIX = "org.apache.felix:org.apache.felix.main:7.0.5:jar:"
GOGO = ["org.apache.felix:org.apache.felix.gogo.runtime:1.1.6:jar:", "org.apache.felix:org.apache.felix.gogo.command:1.1.2:jar:"]
EQUINOX = "org.eclipse.platform:org.eclipse.osgi:3.18.500:jar:"
JBOSS = "org.jboss.modules:jboss-modules:2.1.0.Final:jar:"
PF4J = ["org.pf4j:pf4j:3.11.0:jar:", "org.slf4j:slf4j-api:2.0.9:jar:", "org.slf4j:slf4j-simple:2.0.9:jar:"]


def jar(folder, sources, target, class_path=(), manifest=()):
    """Compiles sources of a folder into a jar."""
    bin = oldest_jdk() / "bin"
    classes = fresh(folder / "classes")
    path = os.pathsep.join(map(str, class_path))
    run([bin / "javac", "--release", "8", "-Xlint:-options", "-cp", path, "-d", classes, *sources])
    (folder / "manifest").write_text("".join(f"{line}\n" for line in manifest))
    target.parent.mkdir(parents=True, exist_ok=True)
    run([bin / "jar", "cfm", target, folder / "manifest", "-C", classes, "."])
    return target


def weave(source, target):
    run([weave_binary(), "-q", "--rules", "pack:all", source, target])
    return target


def compare(score, name, folder, command, plain, woven, methods, newest=99):
    """Runs a command (given a folder and the Java launcher) with both folders; the trace must name the methods."""
    for version, home in judges().items():
        if version > newest:
            continue
        here = fresh(folder / f"run{version}")
        trace = here / "run.wtrace"
        before = run(command(home / "bin" / "java", plain, here), check=False)
        after = run(command(home / "bin" / "java", woven, here), check=False, env={**os.environ, "WEAVE_TRACE": str(trace)})
        good = before.returncode == after.returncode == 0 and before.stdout == after.stdout and "weave: " not in after.stderr
        score.check(f"{name} on {version}: the same output", good, (after.stdout + after.stderr)[-1500:] if not good else before.stdout.strip()[:60])
        traces = sorted(here.glob("*.wtrace"))
        report = json.loads(run([weave_binary(), "report", "--json", *traces]).stdout) if traces else {"methods": []}
        names = {f"{m['type']}.{m['method']}".replace("/", ".") for m in report["methods"]}
        missing = sorted(set(methods) - names)
        score.check(f"{name} on {version}: recorded by name", not missing, f"missing {missing} of {sorted(names)[:20]}" if missing else f"{len(names)} methods")
        unnamed = [n for n in map(str, names) if "[0x" in n]
        score.check(f"{name} on {version}: nothing without a name", not unnamed, f"{unnamed[:5]}")


def bundles(folder, framework):
    """Bundles of our own, one with a fragment, and two of Felix."""
    source, target = PROGRAMS / "osgi", fresh(folder / "bundle")
    head = ["Bundle-ManifestVersion: 2"]
    util = jar(folder, [source / "Util.java"], target / "a-util.jar", [], [*head, "Bundle-SymbolicName: acme.util", "Export-Package: acme.util"])
    jar(folder, [source / "Extra.java"], target / "b-extra.jar", [],
        [*head, "Bundle-SymbolicName: acme.extra", "Fragment-Host: acme.hello"])
    for gogo in corpora.maven(GOGO):
        shutil.copy(gogo, target)
    jar(folder, [source / "Activator.java"], target / "z-hello.jar", [framework, util],
        [*head, "Bundle-SymbolicName: acme.hello", "Bundle-Activator: acme.hello.Activator", "Import-Package: org.osgi.framework,acme.util"])
    return target


CALLED = ["acme.hello.Activator.start", "acme.util.Util.squares", "acme.hello.extra.Extra.name", "org.apache.felix.gogo.runtime.activator.Activator.start"]


def felix(score, folder):
    (framework,) = corpora.maven([FELIX])
    plain = bundles(folder, framework)
    woven = weave(plain, folder / "woven")

    def command(java, bundle, here):
        return [java, f"-Dfelix.auto.deploy.dir={bundle}", "-Dfelix.auto.deploy.action=install,start", "-jar", framework, fresh(here / "cache")]

    compare(score, "felix", folder, command, plain, woven, CALLED)


def equinox(score, folder):
    (framework,) = corpora.maven([EQUINOX])
    plain = bundles(folder, framework)
    woven = weave(plain, folder / "woven")
    launcher = jar(folder, [PROGRAMS / "osgi" / "Launcher.java"], folder / "launcher.jar", [framework])

    def command(java, bundle, here):
        return [java, "-cp", f"{launcher}:{framework}", "Launcher", bundle, fresh(here / "cache")]

    compare(score, "equinox", folder, command, plain, woven, CALLED)

    # The library on the framework's own class path, once for all: nothing of it among the bundles.
    outside = folder / "weave-runtime.jar"
    shutil.move(woven / "weave-runtime.jar", outside)

    def shared(java, bundle, here):
        setting = "org.osgi.framework.system.packages.extra=weave.runtime"
        return [java, "-cp", f"{launcher}:{framework}:{outside}", "Launcher", bundle, fresh(here / "cache"), setting,
                "org.osgi.framework.bundle.parent=app"]

    compare(score, "equinox, library outside", folder, shared, plain, woven, CALLED)


def jboss(score, folder):
    (modules,) = corpora.maven([JBOSS])
    plain = folder / "modules"
    home = plain / "acme" / "app" / "main"
    jar(folder, [PROGRAMS / "jboss" / "Main.java"], home / "app.jar")
    shutil.copy(PROGRAMS / "jboss" / "module.xml", home)
    woven = weave(plain, folder / "woven")

    # It sets a security policy, which JDK 24 and later refuse, woven or not.
    def command(java, mods, _):
        library = woven / "weave-runtime.jar"
        return [java, "-Djboss.modules.system.pkgs=weave.runtime", "-cp", f"{modules}:{library}", "org.jboss.modules.Main", "-mp", mods, "acme.app"]

    compare(score, "jboss", folder, command, plain, woven, ["acme.app.Main.sum"], newest=23)


def pf4j(score, folder):
    path = corpora.maven(PF4J)
    host = jar(folder, [PROGRAMS / "pf4j" / "Host.java"], folder / "host.jar", path)
    plain = folder / "plugins"
    about = ["Plugin-Id: greeter", "Plugin-Version: 1.0.0", "Plugin-Class: acme.greeter.Greeter"]
    jar(folder, [PROGRAMS / "pf4j" / "Greeter.java"], plain / "greeter.jar", path, about)
    woven = weave(plain, folder / "woven")

    def command(java, plugins, _):
        return [java, "-cp", ":".join(map(str, [host, *path])), "Host", plugins]

    compare(score, "pf4j", folder, command, plain, woven, ["acme.greeter.Greeter.start", "acme.greeter.Greeter.count"])


EVERY = {f.__name__: f for f in (felix, equinox, jboss, pf4j)}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, set(), "loaders"))
