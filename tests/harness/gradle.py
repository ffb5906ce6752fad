#!/usr/bin/env python3
"""The Gradle plug-in in real builds: what is woven, when, and what is told when it cannot be.

    python3 tests/harness/gradle.py [--gradle DIR]

DIR is a Gradle installation; without it those of several versions are made from the registry (gradle_dist.py) and kept in the cache:
everything is run on the first, and what users do every day on the others (WEAVE_GRADLES names the versions). Needs a release build, a
JDK 17 and Maven.
"""
import argparse
import os
import re
import shutil
import subprocess
from pathlib import Path

import builds
import gradle_dist
import lib
from builds import PLACE, packages, same_folders, write

WORK = lib.WORK / "gradle"

#: The versions of Gradle; the first runs everything.
VERSIONS = os.environ.get("WEAVE_GRADLES", "8.4 7.6.4 8.11.1").split()
KOTLIN = "1.9.22"
#: What Kotlin's plug-in consists of and fetches.
KOTLIN_PARTS = [f"org.jetbrains.kotlin:kotlin-{part}" for part in (
    "gradle-plugin", "build-tools-impl", "compiler-embeddable", "stdlib", "scripting-compiler-embeddable")]
KOTLIN_PARTS += ["org.jetbrains.kotlin:kotlin-gradle-plugin:jar:gradle82",
                 "org.jetbrains.kotlin.jvm:org.jetbrains.kotlin.jvm.gradle.plugin:pom"]
#: The Scala compiler, and what Gradle 8.4 runs it by.
SCALA, ZINC = "2.13.12", "1.9.3"
SCALA_PARTS = [f"org.scala-lang:scala-compiler:{SCALA}", f"org.scala-sbt:compiler-bridge_2.13:{ZINC}:jar:sources"]

SETTINGS = """
pluginManagement {{ repositories {{ mavenLocal(); maven {{ url = uri('{repository}') }} }} }}
dependencyResolutionManagement {{ repositories {{ mavenLocal(); maven {{ url = uri('{repository}') }} }} }}
buildCache {{ local {{ directory = new File('{cache}') }} }}
rootProject.name = 'shop'
include 'core', 'app'
"""
CORE = """
plugins {{ id 'java-library'; id 'dev.weave' version '{version}'; {language} }}
{kotlin}
dependencies {{ {dependency} }}
// The hook of incremental compilation is in no jar of the registry.
tasks.withType(JavaCompile).configureEach {{ options.incremental = false }}
"""
APP = """
// The plug-in may come before Java's.
plugins {{ id 'dev.weave' version '{version}'; id 'application' }}
dependencies {{ implementation project(':core'); implementation 'org.sample:dep:1.0' }}
weave {{ dependencies('org.sample:*') }}
application {{ mainClass = 'shop.Main' }}
tasks.withType(JavaCompile).configureEach {{ options.incremental = false }}
// Else each jar has its time in it.
tasks.withType(Jar).configureEach {{ preserveFileTimestamps = false; reproducibleFileOrder = true }}
tasks.register('check2', JavaExec) {{ classpath = sourceSets.test.runtimeClasspath; mainClass = 'shop.Check' }}
tasks.register('wovenJar', dev.weave.gradle.WeaveFiles) {{
    input = tasks.named('jar').flatMap {{ it.archiveFile }}
    output = layout.buildDirectory.file('woven.jar')
}}
"""
#: Another plug-in that weaves, in place.
WOVEN_TWICE = """
def rules = rootProject.file('weave.toml').path
tasks.named('compileJava') {{
    def classes = destinationDirectory
    doLast {{
        def made = classes.get().asFile.path
        assert ['{program}', '-q', '--no-runtime', '--rules', rules, made, made].execute().waitFor() == 0
    }}
}}
"""
RULES = 'version = 1\n\n[[aspect]]\nname = "shop"\nmatch = { type = ["shop.**", "dep.**"], method = "*" }\n'
ORDERS = """package shop;
public class Orders { public static int total(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i * %s; return sum; } }
"""
STOCK = "package shop;\npublic class Stock { public static int left(int n) { return Math.max(0, 100 - n * n); } }\n"
MAIN = """package shop;
public class Main { public static void main(String[] args) {
    System.out.println("total " + Orders.total(4) + " left " + Stock.left(3) + " dep " + dep.Dep.twice(Orders.total(2))); } }
"""
CHECK = """package shop;
public class Check { public static void main(String[] args) { System.out.println("checked " + Orders.total(3)); } }
"""
DEP = "package dep;\npublic class Dep { public static int twice(int n) { int m = n; m += n; return m; } }\n"


class Gradle(builds.Builds):
    def __init__(self, home):
        super().__init__()
        self.gradle = home

    #: Where woven programs write their traces; nothing leaves that to the plug-in.
    trace = str(WORK / "run.wtrace")

    def run(self, folder, *arguments):
        named = {"WEAVE_TRACE": self.trace} if self.trace else {}
        self.call([self.gradle / "bin/gradle", "-p", folder, "--offline", "--console=plain", "--build-cache", *arguments],
                  GRADLE_USER_HOME=str(WORK / "home"), **named)
        print(f"# gradle {' '.join(arguments)}: {self.status}", flush=True)

    def stop(self):
        """Ends the daemon of this run's own home."""
        self.run(WORK, "--stop")

    def task(self, name, outcome=""):
        """Whether a task ended like that: UP-TO-DATE, FROM-CACHE, or by doing its work."""
        return re.search(rf"^> Task {re.escape(name)}{' ' + outcome if outcome else ''}$", self.output, re.M) is not None


class Kept(Gradle):
    """A Gradle without a command line: one process that runs builds one after another."""

    def __init__(self, home):
        super().__init__(home)
        environment = dict(os.environ, GRADLE_USER_HOME=str(WORK / "home"), WEAVE_TRACE=str(WORK / "run.wtrace"))
        self.process = subprocess.Popen(["nice", home / "bin/builds"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, encoding="utf-8", errors="replace", env=environment)

    def call(self, command, **environment):
        self.ask(self.process, command[1:])

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def project(folder, repository, version, language="", dependency="", kotlin="", cache="build cache"):
    cache = WORK / cache
    write(folder / "settings.gradle", SETTINGS.format(repository=repository.root.as_uri(), cache=cache))
    write(folder / "core/build.gradle", CORE.format(version=version, language=language, dependency=dependency, kotlin=kotlin))
    write(folder / "app/build.gradle", APP.format(version=version))
    write(folder / "weave.toml", RULES)
    write(folder / "core/src/main/java/shop/Orders.java", ORDERS % 1)
    write(folder / "core/src/main/java/shop/Stock.java", STOCK)
    write(folder / "app/src/main/java/shop/Main.java", MAIN)
    write(folder / "app/src/test/java/shop/Check.java", CHECK)


def sample_dependency(repository):
    """A jar that nobody of the build compiles."""
    folder = WORK / "dep"
    write(folder / "dep/Dep.java", DEP)
    lib_jar = folder / "dep.jar"
    subprocess.run(["javac", "-d", str(folder), str(folder / "dep/Dep.java")], check=True)
    subprocess.run(["jar", "cf", str(lib_jar), "-C", str(folder), "dep/Dep.class"], check=True)
    plain = packages.Repository(repository.root, "1.0")
    plain.add("dep", "A dependency", {".jar": lib_jar}, group="org.sample")


def traced(gradle, folder, program):
    """Whether a run's trace names what was called. On a busy machine a short run may end before it has all names."""
    for _ in range(3):
        for trace in WORK.glob("run*.wtrace"):
            trace.unlink()
        gradle.run(folder, ":app:run")
        told = lib.run([program, "report", WORK / "run.wtrace"], check=False).stdout
        if all(name in told for name in ("shop.Main.main", "shop.Orders.total", "shop.Stock.left", "dep.Dep.twice")):
            return True
    print(told)
    return False


def everyday(gradle, first, program, version):
    """What users do every day, in a project that is there."""
    gradle.run(first, ":app:run", ":app:check2", ":app:wovenJar", "--warning-mode=all")
    gradle.check("a first build runs woven: sources, another project, tests, a dependency, a file",
                 gradle.status == 0 and gradle.task(":core:weaveClasses") and gradle.has("^total 6 left 91 dep 2$", "^checked 3$"))
    gradle.check("the run is traced: main, the other project, the dependency", traced(gradle, first, program))
    woven = first / "core/build/weave/classes/main"
    raw = first / "core/build/classes/java/main"
    gradle.check("the compiler's output stays as it is", b"weave/runtime" not in (raw / "shop/Orders.class").read_bytes()
                 and b"weave/runtime" in (woven / "shop/Orders.class").read_bytes())
    by_hand = lib.fresh(WORK / "by hand") / "main"
    subprocess.run([str(program), "-q", "--no-runtime", "--rules", str(first / "weave.toml"), str(raw), str(by_hand)], check=True)
    gradle.check("woven classes are those of the command line, byte for byte", same_folders(woven, by_hand))

    gradle.run(first, ":app:run", ":app:wovenJar")
    gradle.check("nothing changed: up to date", gradle.task(":core:weaveClasses", "UP-TO-DATE")
                 and gradle.task(":app:weaveClasses", "UP-TO-DATE") and gradle.task(":app:wovenJar", "UP-TO-DATE"))
    write(first / "core/src/main/java/shop/Orders.java", ORDERS % 2)
    gradle.run(first, ":app:run")
    gradle.check("one class changed: its project is woven, the other is not", gradle.has("^total 12 ")
                 and gradle.task(":core:weaveClasses") and gradle.task(":app:weaveClasses", "UP-TO-DATE"))
    write(first / "core/src/main/java/shop/Orders.java", ORDERS % 1)
    gradle.run(first, "clean", ":app:run", ":app:wovenJar")
    gradle.check("clean, then from the cache", gradle.status == 0 and gradle.task(":core:weaveClasses", "FROM-CACHE")
                 and gradle.task(":app:weaveClasses", "FROM-CACHE") and gradle.task(":app:wovenJar", "FROM-CACHE"))
    gradle.run(first, ":app:run", ":app:check2", "--configuration-cache", "--warning-mode=fail")
    gradle.check("the configuration cache is stored, without a deprecation", gradle.status == 0 and gradle.has("entry stored"))
    gradle.run(first, ":app:run", ":app:check2", "--configuration-cache")
    gradle.check("and used again", gradle.has("Reusing configuration cache", "^total 6 ", "^checked 3$")
                 and gradle.task(":core:weaveClasses", "UP-TO-DATE"))
    isolated = ["--warning-mode=fail", "-Dorg.gradle.unsafe.isolated-projects=true"]
    gradle.run(first, ":app:run", ":app:check2", *isolated)
    gradle.check("projects that are configured apart from each other, without a problem",
                 gradle.status == 0 and gradle.has("^total 6 ", "^checked 3$") and not gradle.has("problems? (was|were) found"))
    gradle.run(first, ":app:run", ":app:check2", *isolated)
    gradle.check("and from their cache", gradle.status == 0 and gradle.has("^total 6 ", "Reusing configuration cache|entry reused"))


def java(gradle, repository, version, program):
    first = WORK / PLACE / "first"
    project(first, repository, version)
    everyday(gradle, first, program, version)
    jar, by_hand = first / "app/build/libs/app.jar", WORK / "by hand/woven.jar"
    subprocess.run([str(program), "-q", "--rules", str(first / "weave.toml"), str(jar), str(by_hand)], check=True)
    gradle.check("a woven file is the command line's, byte for byte", (first / "app/build/woven.jar").read_bytes() == by_hand.read_bytes())
    woven = first / "core/build/weave/classes/main"
    stock = woven / "shop/Stock.class"
    before = stock.stat().st_mtime_ns
    write(first / "core/src/main/java/shop/Orders.java", ORDERS % 3)
    gradle.run(first, ":core:classes")
    by_hand = lib.fresh(WORK / "by hand") / "main"
    raw = first / "core/build/classes/java/main"
    subprocess.run([str(program), "-q", "--no-runtime", "--rules", str(first / "weave.toml"), str(raw), str(by_hand)], check=True)
    gradle.check("one class changed: the others are left untouched, and all are as if woven anew",
                 stock.stat().st_mtime_ns == before and same_folders(woven, by_hand))
    (first / "core/src/main/java/shop/Stock.java").rename(first / "core/src/main/java/shop/Stock.txt")
    gradle.run(first, ":core:classes")
    gradle.check("a class removed: its woven one goes",
                 gradle.status == 0 and not stock.exists() and (woven / "shop/Orders.class").exists())

    second = WORK / PLACE / "elsewhere/second"
    project(second, repository, version)
    gradle.run(second, ":app:run", ":app:wovenJar", "--parallel")
    gradle.check("a second checkout, in parallel: from the cache", gradle.has("^total 6 ")
                 and gradle.task(":core:weaveClasses", "FROM-CACHE") and gradle.task(":app:weaveClasses", "FROM-CACHE")
                 and gradle.task(":app:wovenJar", "FROM-CACHE"))

    third = WORK / PLACE / "third"
    project(third, repository, version)
    write(third / "build.gradle", f"subprojects {{ layout.buildDirectory = new File('{WORK}/built elsewhere', name) }}\n")
    asked = "weave { dependencies('org.sample:*') }\n"
    app = (third / "app/build.gradle").read_text(encoding="utf-8").replace(asked, "")
    write(third / "app/build.gradle", app.replace("; id 'application' }\n", f" }}\n{asked}apply plugin: 'application'\n"))
    sources = sorted(third.rglob("*"))
    gradle.run(third, ":app:run", "--project-cache-dir", str(WORK / "project cache"))
    gradle.check("a build folder elsewhere: nothing is written beside the sources", gradle.has("^total 6 ") and sorted(third.rglob("*")) == sources
                 and b"weave/runtime" in (WORK / "built elsewhere/core/weave/classes/main/shop/Orders.class").read_bytes())

    gradle.check("dependencies that are named before Java's plug-in is applied", asked in (third / "app/build.gradle").read_text(encoding="utf-8")
                 and traced(gradle, third, program))

    write(second / "weave.toml", RULES.replace('"*"', '"left"'))
    gradle.run(second, ":app:run", "--configuration-cache")
    orders = second / "core/build/weave/classes/main/shop/Orders.class"
    gradle.check("rules changed: woven by the new ones", gradle.task(":core:weaveClasses") and gradle.has("^total 6 ")
                 and b"weave/runtime" not in orders.read_bytes())
    write(second / "weave.toml", RULES.replace("method", "metod"))
    gradle.run(second, ":core:classes")
    gradle.check("wrong rules: the message names file, line and column",
                 gradle.status != 0 and gradle.has(r"weave\.toml:5:\d+", "did you mean `method`"))
    (second / "weave.toml").unlink()
    gradle.run(second, ":core:classes")
    gradle.check("no rules: the message says what to do", gradle.status != 0 and gradle.has("put a weave.toml beside"))
    other = WORK / "other version"
    write(other, "#!/bin/sh\necho weave 0.0.1\n")
    other.chmod(0o755)
    write(second / "weave.toml", RULES)
    gradle.run(second, ":core:classes", f"-Pweave.executable={other}", "--rerun-tasks")
    gradle.check("a program of another version: told", gradle.status != 0
                 and gradle.has(f"needs weave {re.escape(version)}, and .* is weave 0.0.1"))
    write(WORK / "no program", "no program\n")
    gradle.run(second, ":core:classes", f"-Pweave.executable={WORK / 'no program'}", "--rerun-tasks")
    gradle.check("no program at all: told", gradle.status != 0 and gradle.has("cannot be run from .*: is it a program for this platform"))
    gradle.run(second, ":app:run", f"-Pweave.executable={program}")
    gradle.check("a program of one's own", gradle.status == 0 and gradle.has("^total 6 "))
    gradle.run(second, ":core:classes", "--rerun-tasks", "-Dos.arch=riscv64")
    gradle.check("no program for this platform: the message says what to do",
                 gradle.status != 0 and gradle.has(r"There is no weave for \w+ on riscv64: build one .*-Pweave\.executable"))
    bare = packages.Repository(WORK / "without the program", version)
    shutil.copytree(repository.root, bare.root, ignore=shutil.ignore_patterns("*.exe"))
    project(second, bare, version)
    gradle.run(second, ":core:classes", "--rerun-tasks")
    gradle.check("the program is in no repository: the message says what to do", gradle.status != 0
                 and gradle.has(rf"dev\.weave:weave:{re.escape(version)}:.*@exe is in no repository of the project: add the one"))
    project(second, repository, version, kotlin=WOVEN_TWICE.format(program=program))
    gradle.run(second, ":core:classes")
    gradle.check("woven by another: told", gradle.status != 0 and gradle.has("methods in .* were woven before, and not by this task.*gradle clean"))


def told(gradle, repository, version):
    """What is told of rules that mean nothing, once; and where traces go that nobody named a place for."""
    folder = WORK / PLACE / "told"
    project(folder, repository, version)
    app = (folder / "app/build.gradle").read_text(encoding="utf-8").replace("weave { dependencies('org.sample:*') }\n", "")
    write(folder / "app/build.gradle", app)
    aspect = '\n[[aspect]]\nname = "%s"\nmatch = { type = "%s", method = "*" }\n'
    rules = 'version = 1\n' + aspect % ("orders", "shop.Orders") + aspect % ("main", "shop.Main")
    write(folder / "weave.toml", rules + aspect % ("nobody", "shop.Nobody"))
    gradle.run(folder, "classes", "--no-build-cache")
    idle = [line for line in gradle.output.splitlines() if "WV0120" in line]
    gradle.check("an aspect that is idle in all projects: a warning, once, with its place; the others none", gradle.status == 0
                 and len(idle) == 1 and re.search(r"weave\.toml:11:1: aspect `nobody` matched no method", idle[0]), idle)
    gradle.run(folder, "classes", "--no-build-cache")
    gradle.check("nothing was woven: nothing is told again", gradle.status == 0 and not gradle.has("WV0120"))
    write(folder / "app/src/main/java/shop/Main.java", MAIN + "class Other { }\n")
    gradle.run(folder, ":app:classes", "--no-build-cache", "--configuration-cache")
    again = gradle.output.count("WV0120") == 1 and gradle.has("aspect `nobody`") and not gradle.task(":core:weaveClasses")
    write(folder / "app/src/main/java/shop/Main.java", MAIN)
    gradle.run(folder, ":app:classes", "--no-build-cache", "--configuration-cache")
    gradle.check("one project woven anew: what the others have counts, also from the configuration cache",
                 again and gradle.has("Reusing configuration cache") and gradle.output.count("WV0120") == 1)
    write(folder / "weave.toml", rules)
    gradle.run(folder, "classes", "--no-build-cache")
    gradle.check("each aspect means one project: no warning", gradle.status == 0 and not gradle.has("WV0120|warning"))

    gradle.stop()
    gradle.trace = None
    before = {path for path in folder.rglob("*") if "build" not in path.relative_to(folder).parts}
    # A Gradle made of one jar runs no suite, so its task says where the tests' trace would go.
    write(folder / "app/build.gradle", app + """tasks.named('test') {
    def tells = { println "tests trace to ${it.environment['WEAVE_TRACE']}"; throw new StopExecutionException() }
    actions = [actions[0], tells as Action]
}
""")
    gradle.run(folder, ":app:run", ":app:test")
    after = {path for path in folder.rglob("*") if "build" not in path.relative_to(folder).parts and ".gradle" not in path.parts}
    traces = sorted((folder / "app/build/weave/traces").glob("*.wtrace"))
    gradle.check("traces of run and test go to the build folder, and nothing else is written", gradle.status == 0 and len(traces) == 1
                 and gradle.has(f"tests trace to {re.escape(str(folder / 'app/build/weave/traces'))}/")
                 and not [path for path in after - before if path.suffix == ".wtrace"], traces)
    gradle.run(folder, "clean")
    gradle.check("clean takes them", gradle.status == 0 and not (folder / "app/build").exists())
    gradle.run(folder, ":app:run", "--configuration-cache")
    gradle.stop()
    del gradle.trace
    trace = Path(gradle.trace)
    trace.unlink(missing_ok=True)
    gradle.run(folder, ":app:run", "--configuration-cache")
    gradle.check("a build from the configuration cache has its own environment", gradle.status == 0
                 and gradle.has("Reusing configuration cache") and trace.exists())


def fat(gradle, repository, version, program):
    """A jar with all that a program needs, as many builds write it."""
    folder = WORK / PLACE / "fat"
    project(folder, repository, version)
    app = (folder / "app/build.gradle").read_text(encoding="utf-8")
    write(folder / "app/build.gradle", app + """tasks.register('fat', Jar) {
    archiveClassifier = 'fat'
    manifest { attributes 'Main-Class': 'shop.Main' }
    duplicatesStrategy = DuplicatesStrategy.EXCLUDE
    dependsOn configurations.runtimeClasspath
    from sourceSets.main.output
    from { weave.woven(configurations.runtimeClasspath).collect { it.directory ? it : zipTree(it) } }
}
""")
    gradle.run(folder, ":app:fat")
    if gradle.status:
        gradle.check("a fat jar is made", False)
        return
    trace = WORK / "fat.wtrace"
    ran = lib.run(["java", f"-Dweave.trace={trace}", "-jar", folder / "app/build/libs/app-fat.jar"]).stdout
    named = lib.run([program, "report", trace]).stdout
    gradle.check("a fat jar: the methods of all projects and of a dependency have names", gradle.status == 0 and "total 6 left 91" in ran and all(
        name in named for name in ("shop.Main.main", "shop.Orders.total", "shop.Stock.left", "dep.Dep.twice")), named)


def libraries(gradle, repository, version, name="libraries"):
    """A library of own hooks is an input, of tasks and of the transform."""
    folder = WORK / PLACE / name
    project(folder, repository, version, cache=f"build cache of {name}")
    write(folder / "weave.toml", builds.OWN_RULES.format(types='["shop.Orders", "dep.**"]'))
    for cache in ([], ["--configuration-cache"]):
        builds.own_library(folder, "began")
        gradle.run(folder, ":app:run", *cache)
        first = gradle.status == 0 and gradle.has("^began total$", "^began twice$")
        gradle.run(folder, ":app:run", *cache)
        again = gradle.task(":core:weaveClasses", "UP-TO-DATE") and gradle.has("^began total$")
        gradle.check(f"own hooks run, and what has not changed is up to date {' '.join(cache)}", first and again)
        builds.own_library(folder, "started")
        gradle.run(folder, ":app:run", *cache)
        gradle.check(f"another library: all that calls it is woven anew {' '.join(cache)}", gradle.task(":core:weaveClasses")
                     and gradle.has("^started total$", "^started twice$") and not gradle.has("^began"))
    rules = (folder / "weave.toml").read_text(encoding="utf-8")
    write(folder / "team.toml", rules.replace("shop.Orders", "shop.Stock"))
    write(folder / "weave.toml", rules.replace("version = 1", 'version = 1\ninclude = ["team.toml"]'))
    gradle.run(folder, ":app:run", *cache)
    included = gradle.has("Reusing configuration cache", "^started total$", "^started left$")
    write(folder / "team.toml", rules)
    gradle.run(folder, ":app:run", *cache)
    gradle.check("an edit of rules, and of what they include: woven by the new ones, from the configuration cache", included
                 and gradle.has("Reusing configuration cache", "^started total$") and not gradle.has("^started left$"))


#: A library of own hooks that another project makes, rules that a task writes, and a source set of one's own.
WIRED = """
plugins {{ id 'java'; id 'dev.weave' version '{version}' }}
sourceSets {{ other {{ runtimeClasspath += sourceSets.main.output }} }}
dependencies {{ weaveHooks project(':core'); implementation 'org.sample:dep:1.0'; otherImplementation 'org.sample:dep:1.0' }}
def made = tasks.register('rules') {{
    def written = layout.buildDirectory.file('made/weave.toml')
    outputs.file(written)
    doLast {{ written.get().asFile.text = '''{rules}''' }}
}}
weave {{ rules.from(made); dependencies('org.sample:*') }}
tasks.withType(JavaCompile).configureEach {{ options.incremental = false }}
tasks.register('go', JavaExec) {{ classpath = sourceSets.other.runtimeClasspath; mainClass = 'shop.Main' }}
"""
WIRED_RULES = """version = 1
[[library]]
path = "../../../core/build/libs/core.jar"
[[aspect]]
name = "main"
match = { type = "shop.**", method = "main" }
enter = "acme.Log.began(method)"
[[aspect]]
name = "dep"
match = { type = "dep.**", method = "*" }
enter = "acme.Log.began(method)"
[[aspect]]
name = "nobody"
match = { type = "shop.Nobody", method = "*" }
"""
LOG = 'package acme;\npublic class Log { public static void began(String method) { System.out.println("began " + method); } }\n'


def wired(gradle, repository, version):
    """What one task needs of others is built first, and class paths keep what build scripts put there."""
    folder = WORK / PLACE / "wired"
    project(folder, repository, version)
    shutil.rmtree(folder / "core/src")
    write(folder / "core/src/main/java/acme/Log.java", LOG)
    write(folder / "core/build.gradle", "plugins { id 'java-library' }\ntasks.withType(JavaCompile).configureEach { options.incremental = false }\n")
    write(folder / "app/build.gradle", WIRED.format(version=version, rules=WIRED_RULES))
    (folder / "app/src/test/java/shop/Check.java").unlink()
    write(folder / "app/src/main/java/shop/Main.java", "package shop;\npublic class Main { public static void main(String[] args) {"
          ' System.out.println("twice " + dep.Dep.twice(1)); } }\n')
    gradle.run(folder, ":app:go")
    gradle.check("rules that a task writes, with a library that another project makes", gradle.status == 0 and gradle.task(":app:rules")
                 and gradle.task(":core:jar") and gradle.has("^began main$"))
    gradle.check("a source set of one's own has the woven classes, the hook library and woven dependencies",
                 gradle.has("^began twice$", "^twice 2$"))
    gradle.check("an aspect that is idle in dependencies, too, is warned of; one that means them is not",
                 gradle.output.count("WV0120") == 1 and gradle.has("aspect `nobody` matched no method.*WV0120"))


def beside_java(gradle, folder, language, prices):
    """Runs a project in which a class of Java's calls one of another language, and looks at both."""
    write(folder / "app/src/main/java/shop/Main.java", MAIN.replace("Orders.total(4)", "Prices.of(4)"))
    gradle.run(folder, ":app:run")
    woven = folder / "core/build/weave/classes/main/shop"
    gradle.check(f"{language} and Java in one source set", gradle.has("^total 13 left 91") and all(
        b"weave/runtime" in (woven / name).read_bytes() for name in (prices, "Orders.class")))
    gradle.run(folder, ":app:run")
    gradle.check(f"up to date with {language}", gradle.task(":core:weaveClasses", "UP-TO-DATE"))


def groovy(gradle, repository, version):
    folder = WORK / PLACE / "groovy"
    jar = next((gradle.gradle / "lib").glob("groovy-3*.jar"))
    tools = f"tasks.withType(GroovyCompile) {{ groovyClasspath = fileTree('{gradle.gradle}/lib') {{ include 'groovy*.jar' }} }}"
    project(folder, repository, version, "id 'groovy';", f"api files('{jar}')", tools)
    write(folder / "core/src/main/groovy/shop/Prices.groovy",
          "package shop\n@groovy.transform.CompileStatic\nclass Prices { static int of(int n) { int m = n * 3; return m + 1 } }\n")
    beside_java(gradle, folder, "Groovy", "Prices.class")


def fetch_kotlin():
    """Puts Kotlin's plug-in into the local repository, unless it is there."""
    local = Path.home() / ".m2/repository/org/jetbrains/kotlin/jvm/org.jetbrains.kotlin.jvm.gradle.plugin" / KOTLIN
    if local.is_dir():
        return
    for part in KOTLIN_PARTS:
        group, name, *kind = part.split(":")
        coordinates = ":".join([group, name, KOTLIN, *kind])
        packages.run("mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get", f"-Dartifact={coordinates}")


def kotlin(gradle, repository, version):
    fetch_kotlin()
    folder = WORK / PLACE / "kotlin"
    project(folder, repository, version, f"id 'org.jetbrains.kotlin.jvm' version '{KOTLIN}'")
    write(folder / "core/src/main/kotlin/shop/Prices.kt",
          "package shop\nobject Prices { @JvmStatic fun of(n: Int): Int { var m = n * 3; m += 1; return m } }\n")
    beside_java(gradle, folder, "Kotlin", "Prices.class")
    # What is inlined is copied out of class files: of this project's tests, and of another project, which is woven, too.
    write(folder / "core/src/main/kotlin/shop/Timed.kt", "package shop\ninternal fun hidden() = 5\nclass Timed { inline fun <T> timed(f: () -> T): T"
          " { val t = System.nanoTime(); val r = f(); if (t == 0L) println(t); return r } }\n"
          "inline fun <reified T> kind(n: Int = 2, crossinline f: () -> T): String"
          " { val r = Runnable { f() }; for (i in 1..n) r.run(); return T::class.java.simpleName }\n")
    write(folder / "core/src/test/kotlin/shop/Uses.kt", "package shop\nfun uses() = Timed().timed { hidden() }\n")
    app = (folder / "app/build.gradle").read_text(encoding="utf-8")
    write(folder / "app/build.gradle", app.replace("id 'application'", f"id 'application'; id 'org.jetbrains.kotlin.jvm' version '{KOTLIN}'"))
    write(folder / "app/src/main/kotlin/shop/Inlines.kt", "package shop\nobject Inlines { @JvmStatic fun four() = Timed().timed { 4 }\n"
          "    @JvmStatic fun kinds() = kind { 3 } + kind(1) { \"text\" } }\n")
    write(folder / "app/src/main/java/shop/Main.java", MAIN.replace("Orders.total(4)", "Inlines.four() + Inlines.kinds()"))
    gradle.run(folder, ":app:run", ":core:compileTestKotlin")
    gradle.check("Kotlin's inline functions: others compile against woven projects, and run; tests use what is internal",
                 gradle.status == 0 and gradle.has("^total 4IntegerString left 91"))


def fetch_scala():
    """Fetches Scala's compiler; answers the folder of jars that Gradle runs it by, as Maven finds them."""
    for part in SCALA_PARTS:
        group, name, number, *_ = part.split(":")
        if not list((Path.home() / ".m2/repository" / group.replace(".", "/") / name / number).glob("*.jar")):
            packages.run("mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get", f"-Dartifact={part}")
    zinc = lib.CORPORA / f"zinc-{ZINC}"
    if not zinc.is_dir():
        needs = (f"<dependencies><dependency><groupId>org.scala-sbt</groupId><artifactId>zinc_2.13</artifactId><version>{ZINC}</version>"
                 "</dependency></dependencies>")
        made = lib.fresh(WORK / "zinc")
        write(made / "pom.xml", packages.pom("org.sample", "zinc", "1.0", "pom", "What zinc needs", needs))
        packages.run("mvn", "-q", "-B", "-f", made / "pom.xml", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies",
                     f"-DoutputDirectory={made / 'jars'}")
        os.replace(made / "jars", zinc)
    return zinc


def scala(gradle, repository, version):
    zinc = fetch_scala()
    folder = WORK / PLACE / "scala"
    project(folder, repository, version, "id 'scala';", f"api 'org.scala-lang:scala-library:{SCALA}'; zinc fileTree('{zinc}')")
    write(folder / "core/src/main/scala/shop/Prices.scala",
          "package shop\nobject Prices { def of(n: Int): Int = { var m = n * 3; m += 1; m } }\n")
    beside_java(gradle, folder, "Scala", "Prices$.class")


def opened(home):
    return (Gradle if (home / "bin/gradle").exists() else Kept)(home)


def body():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--gradle", type=Path)
    args = options.parse_args()
    first, *others = [args.gradle.resolve()] if args.gradle else [gradle_dist.installation(number).resolve() for number in VERSIONS]
    program = lib.weave_binary()
    lib.fresh(WORK)
    repository = packages.make(program, WORK / "packages")
    version = packages.version(program)
    sample_dependency(repository)
    gradle = opened(first)
    try:
        java(gradle, repository, version, program)
        told(gradle, repository, version)
        fat(gradle, repository, version, program)
        libraries(gradle, repository, version)
        wired(gradle, repository, version)
        groovy(gradle, repository, version)
        kotlin(gradle, repository, version)
        scala(gradle, repository, version)
    finally:
        gradle.stop()
    for home in others:
        other = opened(home)
        other.score = gradle.score
        print(f"# {home.name}", flush=True)
        folder = WORK / PLACE / home.name
        project(folder, repository, version, cache=f"build cache of {home.name}")
        try:
            everyday(other, folder, program, version)
            libraries(other, repository, version, f"libraries of {home.name}")
        finally:
            other.stop()
    return gradle.score.finish("Gradle")


if __name__ == "__main__":
    lib.main(body)
