#!/usr/bin/env python3
"""Measures the Maven and Gradle plug-ins beside Byte Buddy's, on one project of 2,000 classes with a like advice.

    benches/builds.py [--rounds N] [--only maven|gradle]

full: the goal or task alone, all classes woven anew: at least 5 times faster than Byte Buddy's
no change: the goal or task in a build that compiles nothing anew, and with Gradle the whole build beside one with `java` alone: at
  most 50 ms
one changed: Gradle's task after one class of all changed

Each round runs all kinds of builds, one after another. Builds of Gradle without changes come five in a row for each project, and the
first is not counted: a daemon drops the plug-ins that the build before did not use. `empty` is a plug-in that does nothing: what
any costs. Times are those of the build tools' own clocks: of the goal or task alone,
from its beginning to its end. Beside that: the difference of whole builds with and without the plug-in, in CPU time, which grows
little where other programs run; and for Maven what the plug-in itself says. CPU of Gradle is the daemon's, without that of programs that it
starts. Told is the median of the rounds, and behind it the least and the most. Gradle's daemon is warm, Maven is a new process each
time. What misses a goal is FAILED. On a busy machine, `nice -n -18` (as root) lets builds wait for no other program.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import statistics
import sys

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
EMPTY = """package probe;
public class Empty implements org.gradle.api.Plugin<org.gradle.api.Project> { public void apply(org.gradle.api.Project project) { } }
"""
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.bench</groupId><artifactId>bench</artifactId><version>1.0</version>
  <repositories><repository><id>weave</id><url>{repository}</url></repository></repositories>
  <pluginRepositories><pluginRepository><id>weave</id><url>{repository}</url></pluginRepository></pluginRepositories>
  <properties><maven.compiler.release>8</maven.compiler.release><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
  <dependencies>
    <dependency><groupId>dev.weave</groupId><artifactId>weave-runtime</artifactId><version>{version}</version></dependency>
    <dependency><groupId>org.bench</groupId><artifactId>probe</artifactId><version>1.0</version></dependency>
  </dependencies>
  <build><plugins>
    <plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.1</version></plugin>
    <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.13.0</version></plugin>
    <plugin><groupId>dev.weave</groupId><artifactId>weave-maven-plugin</artifactId><version>{version}</version>{bound}</plugin>
    <plugin><groupId>net.bytebuddy</groupId><artifactId>byte-buddy-maven-plugin</artifactId><version>{buddy}</version>
      <configuration><transformations><transformation><plugin>probe.ProbePlugin</plugin>
        <groupId>org.bench</groupId><artifactId>probe</artifactId><version>1.0</version></transformation></transformations></configuration></plugin>
  </plugins></build>
</project>
"""
SETTINGS = """pluginManagement {{ repositories {{ maven {{ url = uri('{local}') }}; maven {{ url = uri('{repository}') }} }} }}
dependencyResolutionManagement {{ repositories {{ maven {{ url = uri('{local}') }}; maven {{ url = uri('{repository}') }} }} }}
rootProject.name = 'bench'
// No listeners where builds are kept in the configuration cache.
if (startParameter.projectProperties.containsKey('kept')) return
def cpu = {{ java.lang.management.ManagementFactory.operatingSystemMXBean.processCpuTime }}
def tell = {{ name, begun -> println "@ $name ${{System.nanoTime() - begun[0]}} ${{cpu() - begun[1]}}" }}
def build = [System.nanoTime(), cpu()], tasks = [:]
gradle.taskGraph.beforeTask {{ tasks[it.name] = [System.nanoTime(), cpu()] }}
gradle.taskGraph.afterTask {{ tell(it.name, tasks[it.name]) }}
gradle.buildFinished {{ tell('build', build) }}
"""
GRADLE = """{plugins}
tasks.withType(JavaCompile).configureEach {{ options.incremental = false }}
{more}
"""
BUDDY_PLUGINS = """buildscript {{ repositories {{ maven {{ url = uri('{local}') }}; maven {{ url = uri('{repository}') }} }}
  dependencies {{ classpath 'net.bytebuddy:byte-buddy-gradle-plugin:{buddy}'; classpath 'org.bench:probe:1.0' }} }}
plugins {{ id 'java' }}
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


class Figures:
    """What the rounds told, by name."""

    def __init__(self):
        self.values = {}

    def add(self, name, value):
        self.values.setdefault(name, []).append(value)

    def median(self, name):
        return statistics.median(self.values[name])

    def told(self, name):
        values = self.values[name]
        return f"{self.median(name):.0f} ms ({min(values):.0f} to {max(values):.0f})"

    def less(self, name, other):
        """The differences of two, round by round, as a further one."""
        self.values[f"{name} less {other}"] = [a - b for a, b in zip(self.values[name], self.values[other])]
        return f"{name} less {other}"


def compare(score, tool, figures, unchanged):
    for what in ("full", "full, CPU"):
        ours, theirs = f"weave, {what}", f"Byte Buddy, {what}"
        if ours in figures.values:
            ratio = figures.median(theirs) / max(figures.median(ours), 1)
            detail = f"{figures.told(ours)} to {figures.told(theirs)}, {ratio:.1f} times"
            if what == "full":
                score.check(f"{tool}, full: at least 5 times faster than Byte Buddy's", ratio >= 5, detail)
            else:
                print(f"     {tool}, {what}: {detail}")
    goals, more = unchanged
    for name in goals:
        score.check(f"{tool}, no change: {name}: at most 50 ms", figures.median(name) <= 50, figures.told(name))
    for name in more:
        print(f"     {tool}, {'' if 'changed' in name else 'no change: '}{name}: {figures.told(name)}")


class Maven(builds.Builds):
    prefix = []

    def build(self, folder, *goals, offline=True):
        """Runs a build; answers the CPU time that it took, in milliseconds."""
        mode = ["-o"] if offline else []
        log = {"showDateTime": "true", "dateTimeFormat": "HH:mm:ss.SSS", "log.dev.weave.maven": "debug"}
        begun = lib.cpu()
        self.call(["mvn", "-B", *mode, "-f", folder / "pom.xml", f"-Dmaven.repo.local={LOCAL}",
                   *(f"-Dorg.slf4j.simpleLogger.{key}={value}" for key, value in log.items()), *goals])
        if self.status:
            raise RuntimeError(self.output[-3000:])
        return (lib.cpu() - begun) * 1000

    def goal(self, name):
        """Milliseconds between a goal's line in the last build and the next goal's, or the end."""
        lines = re.findall(r"^(\d\d:\d\d:\d\d\.\d{3}) \[INFO\] (---.*)$", re.sub(r"\x1b\[[0-9;]*m", "", self.output), re.M)
        begin = next(i for i, (_, text) in enumerate(lines) if text.startswith("--- ") and f":{name} " in text)
        first, last = (datetime.datetime.strptime(lines[i][0], "%H:%M:%S.%f") for i in (begin, begin + 1))
        return (last - first).total_seconds() * 1000 % 86_400_000

    def own(self):
        """Milliseconds that the plug-in needed to find out that nothing changed, as it says itself."""
        return float(re.search(r"looked at all classes in (\d+) us", self.output)[1]) / 1000


def maven(score, rounds, repository, version, sources, classes):
    tool = Maven()
    folders = {kind: WORK / "maven" / kind for kind in ("plain", "weave", "alone")}
    for kind, folder in folders.items():
        bound = "<executions><execution><goals><goal>weave</goal></goals></execution></executions>" if kind == "weave" else ""
        write(folder / "pom.xml", POM.format(repository=repository.root.as_uri(), version=version, buddy=BUDDY, bound=bound))
        write(folder / "weave.toml", RULES)
        if kind != "alone":
            shutil.copytree(sources, folder / "src/main/java")
            tool.build(folder, "test-compile", offline=False)
    target = folders["alone"] / "target"

    def full(goal, offline=True):
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(classes, target / "classes")
        return tool.build(folders["alone"], goal, offline=offline), tool.goal(goal.rpartition(":")[2])

    goals = {"Byte Buddy": "net.bytebuddy:byte-buddy-maven-plugin:transform", "weave": "dev.weave:weave-maven-plugin:weave"}
    for goal in goals.values():
        # Fetches what it needs.
        full(goal, offline=False)
    figures = Figures()
    for _ in range(rounds):
        for name, goal in goals.items():
            cpu, wall = full(goal)
            figures.add(f"{name}, full", wall)
            figures.add(f"{name}, full, CPU", cpu)
    for _ in range(3 * rounds):
        figures.add("CPU without", tool.build(folders["plain"], "test-compile"))
        figures.add("CPU with", tool.build(folders["weave"], "test-compile"))
        if "Nothing to weave" not in tool.output or "Nothing to compile" not in tool.output:
            raise RuntimeError(tool.output[-3000:])
        figures.add("the goal", tool.goal("weave"))
        figures.add("as the plug-in says", tool.own())
    compare(score, "Maven", figures, (["the goal"], ["as the plug-in says", figures.less("CPU with", "CPU without"), "CPU without"]))


class Gradle(builds.Builds):
    prefix = []

    def __init__(self):
        super().__init__()
        self.home = gradle_dist.installation("8.4")

    def build(self, folder, *tasks):
        self.call([self.home / "bin/gradle", "-p", folder, "--offline", "--console=plain", *tasks], GRADLE_USER_HOME=str(WORK / "home"))
        if self.status:
            raise RuntimeError(self.output[-3000:])

    def kept(self, folder, *tasks):
        """Runs a build by the configuration cache; answers the milliseconds that it took, as Gradle's own log of operations has it."""
        self.build(folder, "--configuration-cache", "-Pkept", f"-Dorg.gradle.internal.operations.trace={WORK / 'operations'}", *tasks)
        if "Reusing configuration cache" not in self.output:
            return None
        lines = [json.loads(line) for line in (WORK / "operations-log.txt").read_text().splitlines()]
        begun = next(line for line in lines if line.get("displayName") == "Run build")
        return next(line["endTime"] for line in lines if "endTime" in line and line["id"] == begun["id"]) - begun["startTime"]

    def told(self, name):
        """Milliseconds of a task or of the whole build, and of CPU, as the last build told them."""
        wall, cpu = re.search(rf"^@ {name} (\d+) (\d+)$", self.output, re.M).groups()
        return int(wall) / 1e6, int(cpu) / 1e6


def empty_plugin(repository):
    """What any plug-in costs."""
    folder = WORK / "empty"
    write(folder / "probe/Empty.java", EMPTY)
    path = os.pathsep.join(str(packages.fetch(*artifact)) for artifact in (packages.GRADLE_API, packages.GROOVY))
    lib.run(["javac", "-nowarn", "--release", "8", "-cp", path, "-d", folder / "out", folder / "probe/Empty.java"])
    write(folder / "out/META-INF/gradle-plugins/org.bench.empty.properties", "implementation-class=probe.Empty\n")
    lib.run(["jar", "cf", folder / "empty.jar", "-C", folder / "out", "."])
    made = packages.Repository(repository.root, "1.0")
    made.add("empty", "A plug-in that does nothing", {".jar": folder / "empty.jar"}, group="org.bench")
    needs = "<dependencies><dependency><groupId>org.bench</groupId><artifactId>empty</artifactId><version>1.0</version></dependency></dependencies>"
    made.add("org.bench.empty.gradle.plugin", "Its id", {}, "pom", "org.bench.empty", needs)


def gradle(score, rounds, repository, version, sources):
    tool = Gradle()
    empty_plugin(repository)
    fill = {"local": LOCAL.as_uri(), "repository": repository.root.as_uri(), "buddy": BUDDY, "version": version}
    kinds = {"plain": ("plugins { id 'java' }", ""), "weave": (f"plugins {{ id 'java'; id 'dev.weave' version '{version}' }}", ""),
             "empty": ("plugins { id 'java'; id 'org.bench.empty' version '1.0' }", ""),
             "buddy": (BUDDY_PLUGINS.format(**fill), BUDDY_MORE)}
    folders = {kind: WORK / "gradle" / kind for kind in kinds}
    for kind, (plugins, more) in kinds.items():
        folder = folders[kind]
        write(folder / "settings.gradle", SETTINGS.format(**fill))
        write(folder / "build.gradle", GRADLE.format(plugins=plugins, more=more))
        write(folder / "weave.toml", RULES)
        shutil.copytree(sources, folder / "src/main/java")
    figures = Figures()
    try:
        for folder in folders.values():
            tool.build(folder, "classes")
        # The first rounds warm the daemon up.
        for number in range(-2, rounds):
            for name, kind, task in (("Byte Buddy", "buddy", "byteBuddy"), ("weave", "weave", "weaveClasses")):
                # Classes that are there already would not be written anew.
                shutil.rmtree(folders[kind] / "build/weave", ignore_errors=True)
                tool.build(folders[kind], "classes", task, "--rerun")
                wall, cpu = tool.told(task)
                if number >= 0:
                    figures.add(f"{name}, full", wall)
                    figures.add(f"{name}, full, CPU", cpu)
        for number in range(-1, rounds):
            for kind, folder in folders.items():
                for turn in range(5):
                    tool.build(folder, "classes")
                    if kind == "weave" and not tool.has("^> Task :weaveClasses UP-TO-DATE$"):
                        raise RuntimeError(tool.output[-3000:])
                    if number >= 0 and turn > 0:
                        wall, cpu = tool.told("build")
                        figures.add(f"build of {kind}", wall)
                        figures.add(f"CPU of {kind}", cpu)
                        if kind == "weave":
                            figures.add("the task", tool.told("weaveClasses")[0])
                for turn in range(5):
                    # Byte Buddy's cannot be kept.
                    took = tool.kept(folder, "classes") if kind != "buddy" else None
                    if took is not None and number >= 0 and turn > 0:
                        figures.add(f"build of {kind} by the configuration cache", took)
        changed = folders["weave"] / "src/main/java/app/p7/C7.java"
        text = changed.read_text()
        for number in range(-1, 2 * rounds):
            write(changed, text.replace("sum -= n", f"sum -= n + {number + 2}"))
            tool.build(folders["weave"], "classes")
            if number >= 0:
                figures.add("one of all changed: the task", tool.told("weaveClasses")[0])
        less = [figures.less(f"{what} of {kind}{how}", f"{what} of plain{how}") for kind in ("weave", "empty", "buddy")
                for what, how in (("build", ""), ("CPU", ""), ("build", " by the configuration cache")) if kind != "buddy" or not how]
        compare(score, "Gradle", figures, (["the task", less[0], less[2]], ["build of plain", less[1], *less[3:], "one of all changed: the task"]))
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
        maven(score, args.rounds, repository, version, sources, classes)
    if args.only != "maven":
        gradle(score, args.rounds, repository, version, sources)
    return score.finish("plug-ins of build tools")


if __name__ == "__main__":
    lib.main(body)
