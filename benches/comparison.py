#!/usr/bin/env python3
"""Builds gson with four kinds of weaving: none, Weave's plug-in, Byte Buddy's and AspectJ's; with a like advice. By Maven, and by Gradle
with freefair's plug-in for AspectJ.

    benches/comparison.py [--rounds N] [--only maven|gradle]

Each round runs all kinds, one after another: a clean build, one without changes, and one after an edit of one class. Told of each is
the CPU time of the whole Maven or Gradle process (without a daemon) and of what it started, and the time of the clock, medians with the least
and the most. And whether the classes are right: those of a build without changes are the ones of before, those after the edit are the
ones of a clean build of the same sources, and a program that uses them prints what it prints unwoven, and sees as many ends of calls
as beginnings.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "harness"))

import gradle_dist
import gson
import lib
from builds import packages, same_folders, write

WORK = lib.WORK / "bench comparison"
LOCAL = lib.CORPORA / "m2"
BUDDY, ASPECTJ, ASPECTJ_PLUGIN = "1.15.11", "1.9.22.1", "1.14"
CALLS = """package probe;
public class Calls {
    public static long begun, ended;
    public static void enter() { begun++; }
    public static void leave() { ended++; }
}
"""
ADVICE = """package probe;
import net.bytebuddy.asm.Advice;
public class Probe {
    @Advice.OnMethodEnter static void enter() { Calls.enter(); }
    @Advice.OnMethodExit(onThrowable = Throwable.class) static void exit() { Calls.leave(); }
}
"""
PLUGIN = """package probe;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.build.Plugin;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.dynamic.DynamicType;
import static net.bytebuddy.matcher.ElementMatchers.*;
public class ProbePlugin implements Plugin {
    public boolean matches(TypeDescription type) { return type.getName().startsWith("com.google.gson."); }
    public DynamicType.Builder<?> apply(DynamicType.Builder<?> builder, TypeDescription type, ClassFileLocator locator) {
        return builder.visit(Advice.to(Probe.class).on(isMethod().and(not(isAbstract())).and(not(isNative())).and(not(isTypeInitializer()))));
    }
    public void close() { }
}
"""
ASPECT = """package probe;
public aspect Traced {
    pointcut calls(): within(com.google.gson..*) && execution(* *(..));
    before(): calls() { Calls.enter(); }
    after(): calls() { Calls.leave(); }
}
"""
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.bench</groupId><artifactId>gson</artifactId><version>1.0</version>
  <repositories><repository><id>weave</id><url>{repository}</url></repository></repositories>
  <pluginRepositories><pluginRepository><id>weave</id><url>{repository}</url></pluginRepository></pluginRepositories>
  <properties><maven.compiler.source>8</maven.compiler.source><maven.compiler.target>8</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
  <dependencies>
    <dependency><groupId>com.google.errorprone</groupId><artifactId>error_prone_annotations</artifactId><version>{errors}</version></dependency>
    {needs}
  </dependencies>
  <build><plugins>
    <plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.1</version></plugin>
    <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.13.0</version></plugin>
    {plugin}
  </plugins></build>
</project>
"""
PROBE = "<dependency><groupId>org.bench</groupId><artifactId>comparison-probe</artifactId><version>1.0</version></dependency>"
#: What each kind adds to a pom: dependencies, and the plug-in.
KINDS = {
    "none": ("", ""),
    "Weave": ("<dependency><groupId>dev.weave</groupId><artifactId>weave-runtime</artifactId><version>{version}</version></dependency>",
              "<plugin><groupId>dev.weave</groupId><artifactId>weave-maven-plugin</artifactId><version>{version}</version><executions>"
              "<execution><goals><goal>weave</goal></goals></execution></executions></plugin>"),
    "Byte Buddy": (PROBE, "<plugin><groupId>net.bytebuddy</groupId><artifactId>byte-buddy-maven-plugin</artifactId><version>{buddy}</version>"
                   "<executions><execution><goals><goal>transform</goal></goals></execution></executions><configuration><transformations>"
                   "<transformation><plugin>probe.ProbePlugin</plugin><groupId>org.bench</groupId><artifactId>comparison-probe</artifactId>"
                   "<version>1.0</version></transformation></transformations></configuration></plugin>"),
    "AspectJ": (PROBE + "<dependency><groupId>org.aspectj</groupId><artifactId>aspectjrt</artifactId><version>{aspectj}</version></dependency>",
                "<plugin><groupId>dev.aspectj</groupId><artifactId>aspectj-maven-plugin</artifactId><version>{aspectj_plugin}</version>"
                "<dependencies><dependency><groupId>org.aspectj</groupId><artifactId>aspectjtools</artifactId><version>{aspectj}</version>"
                "</dependency></dependencies><executions><execution><phase>process-classes</phase><goals><goal>compile</goal></goals>"
                "</execution></executions><configuration><complianceLevel>1.8</complianceLevel><source>1.8</source><target>1.8</target>"
                "<aspectLibraries><aspectLibrary><groupId>org.bench</groupId><artifactId>comparison-probe</artifactId></aspectLibrary>"
                "</aspectLibraries><forceAjcCompile>true</forceAjcCompile><sources/><weaveDirectories><weaveDirectory>"
                "${{project.build.outputDirectory}}</weaveDirectory></weaveDirectories></configuration></plugin>"),
}


FREEFAIR, BUDDY_GRADLE = "8.4", "net.bytebuddy.byte-buddy-gradle-plugin"
SETTINGS = """pluginManagement {{ repositories {{ maven {{ url = uri('{local}') }}; maven {{ url = uri('{repository}') }} }} }}
dependencyResolutionManagement {{ repositories {{ maven {{ url = uri('{local}') }}; maven {{ url = uri('{repository}') }} }} }}
rootProject.name = 'gson'
"""
CLASS_PATH = """buildscript {{ repositories {{ maven {{ url = uri('{local}') }}; maven {{ url = uri('{repository}') }} }}
  dependencies {{ {needs} }} }}
"""
#: What each kind adds to a build script of Gradle: in front of the plug-ins, plug-ins, and what follows.
GRADLE = {
    "none": ("", "id 'java'", ""),
    "Weave": ("", "id 'java'; id 'dev.weave' version '{version}'", ""),
    "Byte Buddy": ("classpath 'net.bytebuddy:byte-buddy-gradle-plugin:{buddy}'; classpath 'org.bench:comparison-probe:1.0'", "id 'java'",
                   f"apply plugin: '{BUDDY_GRADLE}'\ndependencies {{{{ implementation 'org.bench:comparison-probe:1.0' }}}}\n"
                   "byteBuddy {{ transformation {{ plugin = probe.ProbePlugin }} }}\n"),
    "AspectJ": ("classpath 'io.freefair.gradle:aspectj-plugin:{freefair}'", "id 'java'",
                # It takes the compiler of the version that its library has on the class path.
                "apply plugin: 'io.freefair.aspectj.post-compile-weaving'\n"
                "dependencies {{ aspect 'org.bench:comparison-probe:1.0'; implementation 'org.aspectj:aspectjrt:{aspectj}' }}\n"),
}


def jar_of(*names):
    return gson.jar_of(LOCAL, *names)


def probe(jdk, repository):
    """What Byte Buddy's and AspectJ's plug-ins put into the classes."""
    folder = WORK / "probe"
    for name, text in (("Calls", CALLS), ("Probe", ADVICE), ("ProbePlugin", PLUGIN)):
        write(folder / f"probe/{name}.java", text)
    write(folder / "probe/Traced.aj", ASPECT)
    buddy = jar_of("net.bytebuddy", "byte-buddy", BUDDY)
    out = folder / "out"
    lib.run([jdk / "bin/javac", "-nowarn", "--release", "8", "-cp", buddy, "-d", out, *sorted((folder / "probe").glob("*.java"))])
    path = os.pathsep.join(map(str, (out, jar_of("org.aspectj", "aspectjrt", ASPECTJ))))
    lib.run([jdk / "bin/java", "-cp", jar_of("org.aspectj", "aspectjtools", ASPECTJ), "org.aspectj.tools.ajc.Main", "-8", "-nowarn", "-cp", path,
             "-d", out, folder / "probe/Traced.aj"])
    lib.run([jdk / "bin/jar", "cf", folder / "probe.jar", "-C", out, "."])
    needs = (f"<dependencies><dependency><groupId>net.bytebuddy</groupId><artifactId>byte-buddy</artifactId><version>{BUDDY}</version>"
             "<scope>provided</scope></dependency></dependencies>")
    packages.Repository(repository.root, "1.0").add("comparison-probe", "An advice", {".jar": folder / "probe.jar"}, group="org.bench",
                                                    dependencies=needs)


class Project:
    """A project of Maven."""

    tool, woven = "Maven", "target/weave/main/woven/gson"
    built, unwoven = "target", "target/classes"

    def __init__(self, kind, repository, version):
        self.kind, self.folder = kind, WORK / self.tool / kind.lower()
        self.describe(repository, version)
        self.sources = gson.Sources(self.folder, LOCAL)
        self.figures = {}

    def describe(self, repository, version):
        fill = {"version": version, "buddy": BUDDY, "aspectj": ASPECTJ, "aspectj_plugin": ASPECTJ_PLUGIN}
        needs, plugin = (text.format(**fill) for text in KINDS[self.kind])
        write(self.folder / "pom.xml", POM.format(repository=repository.root.as_uri(), errors=gson.ERRORS[2], needs=needs, plugin=plugin))

    @property
    def classes(self):
        """What the build hands on."""
        return self.folder / (self.woven if self.kind == "Weave" else self.unwoven)

    def command(self, offline):
        return ["mvn", "-B", *(["-o"] if offline else []), "-f", str(self.folder / "pom.xml"), f"-Dmaven.repo.local={LOCAL}", "test-compile"]

    def build(self, what, offline=True):
        begun, cpu = time.monotonic(), lib.cpu()
        told = subprocess.run(self.command(offline), text=True, capture_output=True, env={**os.environ, "GRADLE_USER_HOME": str(WORK / "home")})
        if told.returncode:
            raise RuntimeError(told.stdout[-3000:] + told.stderr[-2000:])
        if what:
            wall = (time.monotonic() - begun, lib.cpu() - cpu)
            self.figures.setdefault(what, []).append(wall)
            # As it goes: a bench that is ended early has told what it saw.
            print(f"#    {self.tool}, {self.kind}, {what}: CPU {wall[1]:.2f} s, clock {wall[0]:.2f} s", flush=True)

    def copy(self, name):
        there = WORK / "copies" / f"{self.tool} {self.kind} {name}"
        shutil.rmtree(there, ignore_errors=True)
        # What a plug-in notes of its own build is no class.
        shutil.copytree(self.classes, there, ignore=shutil.ignore_patterns("builddef.lst", "*.wsym"))
        return there

    def clean(self):
        shutil.rmtree(self.folder / self.built, ignore_errors=True)


class GradleProject(Project):
    """The same for Gradle."""

    tool, woven = "Gradle", "build/weave/classes/main"
    built, unwoven = "build", "build/classes/java/main"

    def describe(self, repository, version):
        fill = {"version": version, "buddy": BUDDY, "aspectj": ASPECTJ, "freefair": FREEFAIR, "local": LOCAL.as_uri(),
                "repository": repository.root.as_uri()}
        needs, plugins, more = (text.format(**fill) for text in GRADLE[self.kind])
        write(self.folder / "settings.gradle", SETTINGS.format(**fill))
        write(self.folder / "build.gradle", (CLASS_PATH.format(needs=needs, **fill) if needs else "") + f"plugins {{ {plugins} }}\n"
              + f"dependencies {{ implementation '{':'.join(gson.ERRORS)}' }}\n"
              # The hook of incremental compilation is in no jar of the registry.
              + "tasks.withType(JavaCompile).configureEach { options.incremental = false; options.release = 8 }\n" + more)

    def command(self, offline):
        return [str(gradle_dist.installation("8.4") / "bin/gradle"), "-p", str(self.folder), "--no-daemon", "--offline", "--console=plain", "classes"]


def calls_of(project, jdk, library):
    """What a program prints that uses the classes, and the calls that were seen to begin and to end."""
    probe_jar = WORK / "probe/probe.jar"
    more = {"Weave": [library], "Byte Buddy": [probe_jar], "AspectJ": [probe_jar, jar_of("org.aspectj", "aspectjrt", ASPECTJ)]}
    printed, calls = gson.use(jdk, [WORK / "use/out", project.classes, *more.get(project.kind, [])], WORK / "use.wtrace")
    if project.kind == "Weave":
        report = json.loads(lib.run([lib.weave_binary(), "report", WORK / "use.wtrace", "--json"]).stdout)
        seen = sum(method["calls"] for method in report["methods"])
        calls = (seen, seen - sum(method["running"] for method in report["methods"]))
    return printed, calls


def compare(score, projects, rounds, jdk):
    """Builds projects of all kinds in turns, tells what that took, and looks at what came of it."""
    for project in projects:
        project.build(None, offline=False)
    plain = projects[0].classes
    expected, _ = gson.use(jdk, [gson.compile_use(jdk, WORK / "use", plain), plain], WORK / "use.wtrace")
    right = {project.kind: {"no change: the same classes": True, "one class: as a clean build's": True} for project in projects}
    for number in range(rounds):
        for what in ("clean", "no change", "one class", "clean again"):
            for project in projects:
                if what == "one class":
                    project.sources.edit(number + 5)
                if what.startswith("clean"):
                    project.clean()
                before = project.copied if what in ("no change", "clean again") else None
                project.build(what)
                same = before is None or same_folders(before, project.copy("after"))
                right[project.kind]["no change: the same classes" if what == "no change" else "one class: as a clean build's"] &= same
                project.copied = project.copy("before")
    for project in projects:
        for what, values in project.figures.items():
            walls, cpus = zip(*values)
            print(f"     {project.tool}, {project.kind}, {what}: " + ", ".join(
                f"{name} {statistics.median(all):.2f} s ({min(all):.2f} to {max(all):.2f})" for name, all in (("CPU", cpus), ("clock", walls))), flush=True)
    for project in projects:
        printed, calls = calls_of(project, jdk, WORK / "runtime.jar")
        is_right = {**right[project.kind], "the program prints the same": printed == expected}
        print(f"     {project.tool}, {project.kind}: {is_right}, calls begun and ended: {calls}", flush=True)
        if project.kind in ("none", "Weave"):
            score.check(f"{project.tool}, {project.kind}: what is built without changes and after an edit is right", all(is_right.values()), is_right)
            score.check(f"{project.tool}, {project.kind}: calls", calls is None if project.kind == "none" else calls[0] == calls[1] > 100, calls)


def body():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--only", choices=("maven", "gradle"))
    args = options.parse_args()
    lib.fresh(WORK)
    program, jdk = lib.weave_binary(), lib.oldest_jdk()
    repository = packages.make(program, WORK / "packages")
    for made in ("dev/weave", "org/bench"):
        shutil.rmtree(LOCAL / made, ignore_errors=True)
    version = packages.version(program)
    # Gradle looks into the local repository alone, and for what each artifact needs, too.
    for artifact in (f"net.bytebuddy:byte-buddy-gradle-plugin:{BUDDY}", f"io.freefair.gradle:aspectj-plugin:{FREEFAIR}", ":".join(gson.ERRORS),
                     f"org.aspectj:aspectjtools:{ASPECTJ}", f"org.aspectj:aspectjrt:{ASPECTJ}"):
        lib.run(["mvn", "-q", "-B", f"-Dmaven.repo.local={LOCAL}", "org.apache.maven.plugins:maven-dependency-plugin:2.8:get", f"-Dartifact={artifact}"])
    probe(jdk, repository)
    lib.run([program, "runtime", WORK / "runtime.jar"])
    score = lib.Score()
    try:
        for tool in (Project, GradleProject):
            if args.only in (None, tool.tool.lower()):
                compare(score, [tool(kind, repository, version) for kind in KINDS], args.rounds, jdk)
    finally:
        for made in ("dev/weave", "org/bench"):
            shutil.rmtree(LOCAL / made, ignore_errors=True)
    return score.finish("builds with other weavers")


if __name__ == "__main__":
    lib.main(body)
