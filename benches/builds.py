#!/usr/bin/env python3
"""Measures the Maven and Gradle plug-ins beside Byte Buddy's, on one project of 2,000 classes with a like advice.

    benches/builds.py [--rounds N] [--only maven|gradle]

full: the goal or task alone, all classes woven anew: at least 5 times faster than Byte Buddy's
no change: what the plug-in adds to a build in which nothing changed: at most 50 ms

Times are those of the build tools' own clocks (Maven: between the goal's line and the next; Gradle: a warm daemon, less the same build
up to date); of each, the median of the rounds. On a machine that does something else, they say little. What misses a goal is FAILED.
"""
import argparse
import datetime
import pathlib
import re
import shutil
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "harness"))

import builds
import gradle_dist
import lib
from builds import packages, write

WORK = lib.WORK / "bench builds"
LOCAL = lib.CORPORA / "m2"
BUDDY = "1.15.11"
CLASSES = 2000
METHODS = 12

RULES = 'version = 1\n\n[[aspect]]\nname = "app"\nmatch = { type = "app.**", kind = "method" }\n'
PROBE = """package probe;
import net.bytebuddy.asm.Advice;
public class Probe {
    @Advice.OnMethodEnter static void enter() { Calls.enter(1); }
    @Advice.OnMethodExit(onThrowable = Throwable.class) static void exit(@Advice.Thrown Throwable thrown) {
        if (thrown == null) Calls.exit(1); else Calls.error(thrown, 1);
    }
}
"""
CALLS = """package probe;
public class Calls { public static void enter(int id) {} public static void exit(int id) {} public static void error(Throwable t, int id) {} }
"""
PLUGIN = """package probe;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.build.Plugin;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.dynamic.DynamicType;
import static net.bytebuddy.matcher.ElementMatchers.*;
public class ProbePlugin implements Plugin {
    public boolean matches(TypeDescription type) { return type.getName().startsWith("app."); }
    public DynamicType.Builder<?> apply(DynamicType.Builder<?> builder, TypeDescription type, ClassFileLocator locator) {
        return builder.visit(Advice.to(Probe.class).on(isMethod().and(not(isAbstract())).and(not(isNative())).and(not(isTypeInitializer()))));
    }
    public void close() { }
}
"""
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.bench</groupId><artifactId>bench</artifactId><version>1.0</version>
  <repositories><repository><id>weave</id><url>{repository}</url></repository></repositories>
  <pluginRepositories><pluginRepository><id>weave</id><url>{repository}</url></pluginRepository></pluginRepositories>
  <dependencies>
    <dependency><groupId>dev.weave</groupId><artifactId>weave-runtime</artifactId><version>{version}</version></dependency>
    <dependency><groupId>org.bench</groupId><artifactId>probe</artifactId><version>1.0</version></dependency>
  </dependencies>
  <build><plugins>
    <plugin><groupId>dev.weave</groupId><artifactId>weave-maven-plugin</artifactId><version>{version}</version></plugin>
    <plugin><groupId>net.bytebuddy</groupId><artifactId>byte-buddy-maven-plugin</artifactId><version>{buddy}</version>
      <configuration><transformations><transformation><plugin>probe.ProbePlugin</plugin>
        <groupId>org.bench</groupId><artifactId>probe</artifactId><version>1.0</version></transformation></transformations></configuration></plugin>
  </plugins></build>
</project>
"""
SETTINGS = """pluginManagement {{ repositories {{ maven {{ url = uri('{local}') }}; maven {{ url = uri('{repository}') }} }} }}
dependencyResolutionManagement {{ repositories {{ maven {{ url = uri('{local}') }}; maven {{ url = uri('{repository}') }} }} }}
rootProject.name = 'bench'
"""
GRADLE = """{plugins}
apply plugin: 'java'
tasks.withType(JavaCompile).configureEach {{ options.incremental = false }}
{more}
"""
BUDDY_PLUGINS = """buildscript {{ repositories {{ maven {{ url = uri('{local}') }}; maven {{ url = uri('{repository}') }} }}
  dependencies {{ classpath 'net.bytebuddy:byte-buddy-gradle-plugin:{buddy}'; classpath 'org.bench:probe:1.0' }} }}
"""
BUDDY_MORE = """apply plugin: 'net.bytebuddy.byte-buddy-gradle-plugin'
dependencies { implementation 'org.bench:probe:1.0' }
byteBuddy { transformation { plugin = probe.ProbePlugin } }
"""


def source(number):
    """A class of ordinary methods."""
    body = "".join(f"""
    public static int m{i}(int n, String s) {{
        int sum = n; for (int i = 0; i < s.length(); i++) {{ sum += s.charAt(i) * {i + 1}; if (sum > {number + i}) sum -= n; }}
        try {{ return Integer.parseInt(s) + sum; }} catch (NumberFormatException e) {{ return sum; }} }}""" for i in range(METHODS))
    return f"package app.p{number % 50};\npublic class C{number} {{{body}\n}}\n"


def compiled(jdk):
    """The project's sources and classes."""
    sources, classes = WORK / "sources", WORK / "classes"
    names = []
    for number in range(CLASSES):
        path = sources / f"app/p{number % 50}/C{number}.java"
        write(path, source(number))
        names.append(f'"{path}"')
    write(WORK / "names", "\n".join(names).replace("\\", "/"))
    lib.run([jdk / "bin/javac", "--release", "8", "-nowarn", "-d", classes, f"@{WORK / 'names'}"])
    return sources, classes


def probe(jdk, repository, buddy):
    """What Byte Buddy's plug-ins run."""
    folder = WORK / "probe"
    for name, text in (("Probe", PROBE), ("Calls", CALLS), ("ProbePlugin", PLUGIN)):
        write(folder / f"probe/{name}.java", text)
    lib.run([jdk / "bin/javac", "-nowarn", "--release", "8", "-cp", buddy, "-d", folder / "out", *sorted((folder / "probe").glob("*.java"))])
    lib.run([jdk / "bin/jar", "cf", folder / "probe.jar", "-C", folder / "out", "."])
    needs = (f"<dependencies><dependency><groupId>net.bytebuddy</groupId><artifactId>byte-buddy</artifactId><version>{BUDDY}</version>"
             "</dependency></dependencies>")
    packages.Repository(repository.root, "1.0").add("probe", "An advice", {".jar": folder / "probe.jar"}, group="org.bench", dependencies=needs)


class Maven(builds.Builds):
    def goal(self, folder, goal, *arguments, offline=True):
        """Milliseconds between the goal's line and the end."""
        mode = ["-o"] if offline else []
        stamps = ["-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS"]
        self.call(["mvn", "-B", *mode, "-f", folder / "pom.xml", f"-Dmaven.repo.local={LOCAL}", *stamps, goal, *arguments])
        if self.status:
            raise RuntimeError(self.output[-3000:])
        lines = re.findall(r"^(\d\d:\d\d:\d\d\.\d{3}) \[INFO\] (.*)$", re.sub(r"\x1b\[[0-9;]*m", "", self.output), re.M)
        begin = next(i for i, (_, text) in enumerate(lines) if text.startswith("--- "))
        end = next(i for i, (_, text) in enumerate(lines) if i > begin and text.startswith("-----"))
        first, last = (datetime.datetime.strptime(lines[i][0], "%H:%M:%S.%f") for i in (begin, end))
        return (last - first).total_seconds() * 1000 % 86_400_000


def median(values):
    return statistics.median(values)


def compare(score, tool, ours, theirs, added):
    ratio = median(theirs) / max(median(ours), 1)
    score.check(f"{tool}, full: at least 5 times faster than Byte Buddy's", ratio >= 5,
                f"{median(ours):.0f} ms to {median(theirs):.0f} ms, {ratio:.1f} times")
    score.check(f"{tool}, no change: at most 50 ms", median(added) <= 50,
                f"{median(added):.0f} ms ({', '.join(f'{value:.0f}' for value in sorted(added))})")


def maven(score, rounds, repository, version, classes):
    tool = Maven()
    folder = WORK / "maven"
    write(folder / "pom.xml", POM.format(repository=repository.root.as_uri(), version=version, buddy=BUDDY))
    write(folder / "weave.toml", RULES)
    target = folder / "target"
    weave, buddy = "dev.weave:weave-maven-plugin:weave", "net.bytebuddy:byte-buddy-maven-plugin:transform"

    def fresh():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(classes, target / "classes")

    ours, theirs, added = [], [], []
    for number in range(rounds + 1):
        fresh()
        theirs.append(tool.goal(folder, buddy, offline=number > 0))
        fresh()
        ours.append(tool.goal(folder, weave, offline=number > 0))
        added.append(tool.goal(folder, weave))
        if "Nothing to weave" not in tool.output:
            raise RuntimeError(tool.output[-3000:])
    # The first round fetched what it needs.
    compare(score, "Maven", ours[1:], theirs[1:], added[1:])


class Gradle(builds.Builds):
    def __init__(self):
        super().__init__()
        self.home = gradle_dist.installation("8.4")

    def time(self, folder, *tasks):
        begun = time.monotonic()
        self.call([self.home / "bin/gradle", "-p", folder, "--offline", "--console=plain", *tasks], GRADLE_USER_HOME=str(WORK / "home"))
        if self.status:
            raise RuntimeError(self.output[-3000:])
        return (time.monotonic() - begun) * 1000


def gradle(score, rounds, repository, version, sources):
    tool = Gradle()
    fill = {"local": LOCAL.as_uri(), "repository": repository.root.as_uri(), "buddy": BUDDY, "version": version}
    kinds = {"plain": ("", ""), "weave": (f"plugins {{ id 'dev.weave' version '{version}' }}", ""), "buddy": (BUDDY_PLUGINS.format(**fill), BUDDY_MORE)}
    for kind, (plugins, more) in kinds.items():
        folder = WORK / "gradle" / kind
        write(folder / "settings.gradle", SETTINGS.format(**fill))
        write(folder / "build.gradle", GRADLE.format(plugins=plugins, more=more))
        write(folder / "weave.toml", RULES)
        shutil.copytree(sources, folder / "src/main/java")
    folders = {kind: WORK / "gradle" / kind for kind in kinds}
    try:
        for folder in folders.values():
            tool.time(folder, "classes")
            tool.time(folder, "classes")
        ours, theirs, added = [], [], []
        for _ in range(rounds):
            idle = {kind: tool.time(folder, "classes") for kind, folder in folders.items()}
            ours.append(tool.time(folders["weave"], "classes", "weaveClasses", "--rerun") - idle["weave"])
            theirs.append(tool.time(folders["buddy"], "classes", "byteBuddy", "--rerun") - idle["buddy"])
            added.append(idle["weave"] - idle["plain"])
        compare(score, "Gradle", ours, theirs, added)
    finally:
        tool.call([tool.home / "bin/gradle", "-p", WORK, "--stop"], GRADLE_USER_HOME=str(WORK / "home"))


def body():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--only", choices=("maven", "gradle"))
    args = options.parse_args()
    lib.fresh(WORK)
    program = lib.weave_binary()
    jdk = lib.oldest_jdk()
    repository = packages.make(program, WORK / "packages")
    shutil.rmtree(LOCAL / "dev/weave", ignore_errors=True)
    shutil.rmtree(LOCAL / "org/bench", ignore_errors=True)
    version = packages.version(program)
    for artifact in ("byte-buddy", "byte-buddy-gradle-plugin"):
        lib.run(["mvn", "-q", "-B", f"-Dmaven.repo.local={LOCAL}", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get",
                 f"-Dartifact=net.bytebuddy:{artifact}:{BUDDY}"])
    probe(jdk, repository, LOCAL / f"net/bytebuddy/byte-buddy/{BUDDY}/byte-buddy-{BUDDY}.jar")
    sources, classes = compiled(jdk)
    score = lib.Score()
    print(f"{CLASSES} classes, {CLASSES * METHODS} methods")
    if args.only != "gradle":
        maven(score, args.rounds, repository, version, classes)
    if args.only != "maven":
        gradle(score, args.rounds, repository, version, sources)
    return score.finish("plug-ins of build tools")


if __name__ == "__main__":
    lib.main(body)
