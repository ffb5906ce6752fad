#!/usr/bin/env python3
"""Builds gson with Maven and four kinds of weaving: none, Weave's plug-in, Byte Buddy's and AspectJ's; with a like advice.

    benches/comparison.py [--rounds N]

Each round runs all kinds, one after another: a clean build, one without changes, and one after an edit of one class. Told of each is
the CPU time of the whole Maven process and of what it started, and the time of the clock, medians with the least and the most; and
whether the classes are right: those of a build without changes are the ones of before, those after the edit are the ones of a clean
build of the same sources, and a program that uses them prints what it prints unwoven and sees as many ends of calls as beginnings.
"""
import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "harness"))

import lib
from builds import packages, same_folders, write

WORK = lib.WORK / "bench comparison"
LOCAL = lib.CORPORA / "m2"
GSON, ERRORS, BUDDY, ASPECTJ, ASPECTJ_PLUGIN = "2.11.0", "2.27.0", "1.15.11", "1.9.22.1", "1.14"
RULES = 'version = 1\n\n[[aspect]]\nname = "gson"\nmatch = { type = "com.google.gson.**", kind = "method" }\nmin-size = 0\n'
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
MAIN = """package use;
import com.google.gson.*;
public class Use { public static void main(String[] args) throws Exception {
    Gson gson = new GsonBuilder().setPrettyPrinting().create();
    JsonElement read = JsonParser.parseString("{\\"a\\":[1,2.5,null,true],\\"b\\":{\\"c\\":\\"text\\"}}");
    System.out.println(gson.toJson(read));
    try { JsonParser.parseString("{"); } catch (JsonParseException e) { System.out.println(e.getClass()); }
    try { Class<?> calls = Class.forName("probe.Calls");
        System.err.println("calls " + calls.getField("begun").get(null) + " " + calls.getField("ended").get(null));
    } catch (ClassNotFoundException e) { }
} }
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


def jar_of(group, name, version, classifier=""):
    """An artifact in the local repository, which fetches it if it is not there."""
    suffix = f"-{classifier}" if classifier else ""
    path = LOCAL / group.replace(".", "/") / name / version / f"{name}-{version}{suffix}.jar"
    if not path.is_file():
        lib.run(["mvn", "-q", "-B", f"-Dmaven.repo.local={LOCAL}", "org.apache.maven.plugins:maven-dependency-plugin:2.8:get",
                 f"-Dartifact={group}:{name}:{version}:jar" + (f":{classifier}" if classifier else ""), "-Dtransitive=false"])
    return path


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
    def __init__(self, kind, repository, version):
        self.kind, self.folder = kind, WORK / kind.lower()
        fill = {"version": version, "buddy": BUDDY, "aspectj": ASPECTJ, "aspectj_plugin": ASPECTJ_PLUGIN}
        needs, plugin = (text.format(**fill) for text in KINDS[kind])
        write(self.folder / "pom.xml", POM.format(repository=repository.root.as_uri(), errors=ERRORS, needs=needs, plugin=plugin))
        write(self.folder / "weave.toml", RULES)
        with zipfile.ZipFile(jar_of("com.google.code.gson", "gson", GSON, "sources")) as sources:
            for name in sources.namelist():
                if name.startswith("com/") and name.endswith(".java"):
                    write(self.folder / "src/main/java" / name, sources.read(name).decode())
        self.edited = self.folder / "src/main/java/com/google/gson/JsonNull.java"
        self.text = self.edited.read_text(encoding="utf-8")
        self.figures = {}

    @property
    def classes(self):
        """What the build hands on."""
        return self.folder / ("target/weave/main/woven/gson" if self.kind == "Weave" else "target/classes")

    def build(self, what, offline=True):
        begun, cpu = time.monotonic(), lib.cpu()
        told = subprocess.run(["mvn", "-B", *(["-o"] if offline else []), "-f", str(self.folder / "pom.xml"), f"-Dmaven.repo.local={LOCAL}",
                               "test-compile"], text=True, capture_output=True)
        if told.returncode:
            raise RuntimeError(told.stdout[-3000:])
        if what:
            wall = (time.monotonic() - begun, lib.cpu() - cpu)
            self.figures.setdefault(what, []).append(wall)

    def edit(self, number):
        body = f"public int hashCode() {{\n    int more = {number}; if (more > 9) more--;"
        write(self.edited, re.sub(r"public int hashCode\(\) \{", body, self.text, count=1))

    def copy(self, name):
        there = WORK / "copies" / f"{self.kind} {name}"
        shutil.rmtree(there, ignore_errors=True)
        # What a plug-in notes of its own build is no class.
        shutil.copytree(self.classes, there, ignore=shutil.ignore_patterns("builddef.lst", "*.wsym"))
        return there

    def clean(self):
        shutil.rmtree(self.folder / "target", ignore_errors=True)


def use(jdk, folders):
    """What a program prints that uses the classes, and the beginnings and ends of calls that were seen."""
    path = os.pathsep.join(str(folder) for folder in folders)
    told = subprocess.run([jdk / "bin/java", "-cp", path, "use.Use"], text=True, capture_output=True,
                          env={**os.environ, "WEAVE_TRACE": str(WORK / "use.wtrace")})
    seen = re.search(r"calls (\d+) (\d+)", told.stderr)
    return told.stdout, tuple(map(int, seen.groups())) if seen else None


def correct(project, jdk, library, expected):
    """What is right of a kind's classes, each with yes or no."""
    project.edit(0)
    project.clean()
    project.build(None)
    full = project.copy("full")
    project.build(None)
    unchanged = same_folders(full, project.copy("no change"))
    project.edit(50)
    project.build(None)
    edited = project.copy("edited")
    project.clean()
    project.build(None)
    anew = same_folders(edited, project.copy("anew"))
    use_classes = WORK / "use/out"
    more = {"Weave": [library], "Byte Buddy": [WORK / "probe.jar"], "AspectJ": [WORK / "probe.jar", jar_of("org.aspectj", "aspectjrt", ASPECTJ)]}
    printed, calls = use(jdk, [use_classes, edited, *more.get(project.kind, [])])
    if project.kind == "Weave":
        report = lib.run([lib.weave_binary(), "report", WORK / "use.wtrace", "--json"]).stdout
        seen = [int(n) for n in re.findall(r'"calls":\s*(\d+)', report)]
        calls = (sum(seen), sum(seen)) if seen else None
    return {"no change: the same classes": unchanged, "one class: as a clean build's": anew, "the program prints the same": printed == expected,
            "calls": calls}


def body():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3)
    rounds = options.parse_args().rounds
    lib.fresh(WORK)
    program, jdk = lib.weave_binary(), lib.oldest_jdk()
    repository = packages.make(program, WORK / "packages")
    for made in ("dev/weave", "org/bench"):
        shutil.rmtree(LOCAL / made, ignore_errors=True)
    version = packages.version(program)
    probe(jdk, repository)
    shutil.copyfile(WORK / "probe/probe.jar", WORK / "probe.jar")
    lib.run([program, "runtime", WORK / "runtime.jar"])
    projects = [Project(kind, repository, version) for kind in KINDS]
    for project in projects:
        project.build(None, offline=False)
    write(WORK / "use/Use.java", MAIN)
    plain = projects[0].classes
    lib.run([jdk / "bin/javac", "-cp", plain, "-d", WORK / "use/out", WORK / "use/Use.java"])
    expected, _ = use(jdk, [WORK / "use/out", plain])
    score = lib.Score()
    for number in range(rounds):
        for project in projects:
            project.edit(2 * number)
            project.clean()
            project.build("clean")
        for project in projects:
            project.build("no change")
        for project in projects:
            project.edit(2 * number + 1)
            project.build("one class")
    for project in projects:
        for what, values in project.figures.items():
            walls, cpus = zip(*values)
            print(f"     {project.kind}, {what}: " + ", ".join(
                f"{name} {statistics.median(all):.2f} s ({min(all):.2f} to {max(all):.2f})" for name, all in (("CPU", cpus), ("clock", walls))), flush=True)
    for project in projects:
        right = correct(project, jdk, WORK / "runtime.jar", expected)
        print(f"     {project.kind}: {right}", flush=True)
        if project.kind in ("none", "Weave"):
            calls = right.pop("calls")
            score.check(f"{project.kind}: what is built without changes and after an edit is right", all(right.values()), right)
            score.check(f"{project.kind}: calls", (calls is None) == (project.kind == "none"), calls)
    for made in ("dev/weave", "org/bench"):
        shutil.rmtree(LOCAL / made, ignore_errors=True)
    return score.finish("builds with other weavers")


if __name__ == "__main__":
    lib.main(body)
