#!/usr/bin/env python3
"""The Gradle plug-in in real builds: what is woven, when, and what is told when it cannot be.

    python3 tests/harness/gradle.py [--gradle DIR]

DIR is a Gradle installation; without it one is made from the registry (gradle_dist.py) and kept in the cache. Needs a release
build, a JDK 17 and Maven.
"""
import argparse
import re
import shutil
import subprocess
from pathlib import Path

import builds
import gradle_dist
import lib
from builds import PLACE, packages, same_folders, write

WORK = lib.WORK / "gradle"

KOTLIN = "1.9.22"
#: What Kotlin's plug-in consists of and fetches.
KOTLIN_PARTS = [f"org.jetbrains.kotlin:kotlin-{part}" for part in (
    "gradle-plugin", "build-tools-impl", "compiler-embeddable", "stdlib", "scripting-compiler-embeddable")]
KOTLIN_PARTS += ["org.jetbrains.kotlin:kotlin-gradle-plugin:jar:gradle82",
                 "org.jetbrains.kotlin.jvm:org.jetbrains.kotlin.jvm.gradle.plugin:pom"]

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

    def run(self, folder, *arguments):
        self.call([self.gradle / "bin/gradle", "-p", folder, "--offline", "--console=plain", "--build-cache", *arguments],
                  GRADLE_USER_HOME=str(WORK / "home"), WEAVE_TRACE=str(WORK / "run.wtrace"))
        print(f"# gradle {' '.join(arguments)}: {self.status}", flush=True)

    def task(self, name, outcome=""):
        """Whether a task ended like that: UP-TO-DATE, FROM-CACHE, or by doing its work."""
        return re.search(rf"^> Task {re.escape(name)}{' ' + outcome if outcome else ''}$", self.output, re.M) is not None


def project(folder, repository, version, language="", dependency="", kotlin=""):
    cache = WORK / "build cache"
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


def java(gradle, repository, version, program):
    first = WORK / PLACE / "first"
    project(first, repository, version)
    gradle.run(first, ":app:run", ":app:check2", ":app:wovenJar", "--warning-mode=all")
    gradle.check("a first build runs woven: sources, another project, tests, a dependency, a file",
                 gradle.status == 0 and gradle.has("^total 6 left 91 dep 2$", "^checked 3$"))
    gradle.run(first, ":app:run")
    traced = subprocess.run([str(program), "report", str(WORK / "run.wtrace")], text=True, capture_output=True).stdout
    gradle.check("the run is traced: main, the other project, the dependency",
                 all(name in traced for name in ("shop.Main.main", "shop.Orders.total", "shop.Stock.left", "dep.Dep.twice")))
    woven = first / "core/build/weave/classes/main"
    raw = first / "core/build/classes/java/main"
    gradle.check("the compiler's output stays as it is", b"weave/runtime" not in (raw / "shop/Orders.class").read_bytes()
                 and b"weave/runtime" in (woven / "shop/Orders.class").read_bytes())
    by_hand = WORK / "by hand/main"
    shutil.rmtree(by_hand.parent, ignore_errors=True)
    by_hand.parent.mkdir(parents=True)
    subprocess.run([str(program), "-q", "--no-runtime", "--rules", str(first / "weave.toml"), str(raw), str(by_hand)], check=True)
    gradle.check("woven classes are those of the command line, byte for byte", same_folders(woven, by_hand))

    gradle.run(first, ":app:run", ":app:wovenJar")
    gradle.check("nothing changed: up to date", gradle.task(":core:weaveClasses", "UP-TO-DATE")
                 and gradle.task(":app:weaveClasses", "UP-TO-DATE") and gradle.task(":app:wovenJar", "UP-TO-DATE"))
    write(first / "core/src/main/java/shop/Orders.java", ORDERS % 2)
    gradle.run(first, ":app:run")
    gradle.check("one class changed: its project is woven, the other is not", gradle.has("^total 12 ")
                 and gradle.task(":core:weaveClasses") and gradle.task(":app:weaveClasses", "UP-TO-DATE"))
    (first / "core/src/main/java/shop/Stock.java").rename(first / "core/src/main/java/shop/Stock.txt")
    gradle.run(first, ":core:classes")
    gradle.check("a class removed: its woven one goes",
                 gradle.status == 0 and not (woven / "shop/Stock.class").exists() and (woven / "shop/Orders.class").exists())
    (first / "core/src/main/java/shop/Stock.txt").rename(first / "core/src/main/java/shop/Stock.java")
    write(first / "core/src/main/java/shop/Orders.java", ORDERS % 1)

    gradle.run(first, "clean", ":app:run", ":app:wovenJar")
    gradle.check("clean, then from the cache", gradle.status == 0 and gradle.task(":core:weaveClasses", "FROM-CACHE")
                 and gradle.task(":app:weaveClasses", "FROM-CACHE") and gradle.task(":app:wovenJar", "FROM-CACHE"))
    second = WORK / PLACE / "elsewhere/second"
    project(second, repository, version)
    gradle.run(second, ":app:run", ":app:wovenJar", "--parallel")
    gradle.check("a second checkout, in parallel: from the cache", gradle.has("^total 6 ")
                 and gradle.task(":core:weaveClasses", "FROM-CACHE") and gradle.task(":app:weaveClasses", "FROM-CACHE")
                 and gradle.task(":app:wovenJar", "FROM-CACHE"))
    gradle.run(second, ":app:run", "--configuration-cache", "--warning-mode=fail")
    gradle.check("the configuration cache is stored, without a deprecation", gradle.status == 0 and gradle.has("entry stored"))
    gradle.run(second, ":app:run", "--configuration-cache")
    gradle.check("and used again", gradle.has("Reusing configuration cache", "^total 6 ")
                 and gradle.task(":core:weaveClasses", "UP-TO-DATE"))

    third = WORK / PLACE / "third"
    project(third, repository, version)
    write(third / "build.gradle", f"subprojects {{ layout.buildDirectory = new File('{WORK}/built elsewhere', name) }}\n")
    sources = sorted(third.rglob("*"))
    gradle.run(third, ":app:run", "--project-cache-dir", str(WORK / "project cache"))
    gradle.check("a build folder elsewhere: nothing is written beside the sources", gradle.has("^total 6 ") and sorted(third.rglob("*")) == sources
                 and b"weave/runtime" in (WORK / "built elsewhere/core/weave/classes/main/shop/Orders.class").read_bytes())

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
    gradle.run(second, ":app:run", f"-Pweave.executable={program}")
    gradle.check("a program of one's own", gradle.status == 0 and gradle.has("^total 6 "))


def groovy(gradle, repository, version):
    folder = WORK / PLACE / "groovy"
    jar = next((gradle.gradle / "lib").glob("groovy-3*.jar"))
    tools = f"tasks.withType(GroovyCompile) {{ groovyClasspath = fileTree('{gradle.gradle}/lib') {{ include 'groovy*.jar' }} }}"
    project(folder, repository, version, "id 'groovy';", f"api files('{jar}')", tools)
    write(folder / "core/src/main/groovy/shop/Prices.groovy",
          "package shop\n@groovy.transform.CompileStatic\nclass Prices { static int of(int n) { int m = n * 3; return m + 1 } }\n")
    write(folder / "app/src/main/java/shop/Main.java", MAIN.replace("Orders.total(4)", "Prices.of(4)"))
    gradle.run(folder, ":app:run")
    woven = folder / "core/build/weave/classes/main/shop"
    gradle.check("Groovy and Java in one source set", gradle.has("^total 13 left 91") and all(
        b"weave/runtime" in (woven / name).read_bytes() for name in ("Prices.class", "Orders.class")))
    gradle.run(folder, ":app:run")
    gradle.check("up to date with Groovy", gradle.task(":core:weaveClasses", "UP-TO-DATE"))


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
    write(folder / "app/src/main/java/shop/Main.java", MAIN.replace("Orders.total(4)", "Prices.of(4)"))
    gradle.run(folder, ":app:run")
    woven = folder / "core/build/weave/classes/main/shop"
    gradle.check("Kotlin and Java in one source set", gradle.has("^total 13 left 91") and all(
        b"weave/runtime" in (woven / name).read_bytes() for name in ("Prices.class", "Orders.class")))
    gradle.run(folder, ":app:run")
    gradle.check("up to date with Kotlin", gradle.task(":core:weaveClasses", "UP-TO-DATE"))


def body():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--gradle", type=Path)
    args = options.parse_args()
    gradle = Gradle((args.gradle or gradle_dist.installation("8.4")).resolve())
    program = lib.weave_binary()
    lib.fresh(WORK)
    repository = packages.make(program, WORK / "packages")
    sample_dependency(repository)
    try:
        java(gradle, repository, packages.version(program), program)
        groovy(gradle, repository, packages.version(program))
        kotlin(gradle, repository, packages.version(program))
    finally:
        # The daemon of this run's own home.
        gradle.run(WORK, "--stop")
    return gradle.score.finish("Gradle")


if __name__ == "__main__":
    lib.main(body)
