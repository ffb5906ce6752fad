#!/usr/bin/env python3
"""The Maven plug-in in real builds of several modules: what is woven, when, and what is told when it cannot be.

    python3 tests/harness/maven.py

Needs a release build, a JDK 17 and Maven, which fetches its own plug-ins into a local repository that is kept in the cache.
"""
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml
import zipfile

import builds
import lib
from builds import PLACE, packages, same_folders, write

WORK = lib.WORK / "maven"
LOCAL = lib.CORPORA / "m2"

PLUGINS = {"maven-clean-plugin": "3.3.2", "maven-resources-plugin": "3.3.1", "maven-compiler-plugin": "3.13.0", "maven-surefire-plugin": "3.2.5",
           "maven-jar-plugin": "3.4.1"}
PARENT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.shop</groupId><artifactId>shop</artifactId><version>1.0</version><packaging>pom</packaging>
  <modules><module>core</module><module>app</module></modules>
  <properties>
    <maven.compiler.release>8</maven.compiler.release><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
    <project.build.outputTimestamp>2020-01-01T00:00:00Z</project.build.outputTimestamp>
  </properties>
  <repositories><repository><id>weave</id><url>{repository}</url></repository></repositories>
  <pluginRepositories><pluginRepository><id>weave</id><url>{repository}</url></pluginRepository></pluginRepositories>
  <dependencies>
    <dependency><groupId>dev.weave</groupId><artifactId>weave-runtime</artifactId><version>{version}</version><scope>runtime</scope></dependency>
    <dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version><scope>test</scope></dependency>
  </dependencies>
  <build><pluginManagement><plugins>{plugins}</plugins></pluginManagement><plugins>
    <plugin><groupId>dev.weave</groupId><artifactId>weave-maven-plugin</artifactId><version>{version}</version>
      <executions><execution><goals><goal>weave</goal><goal>weave-tests</goal></goals></execution></executions></plugin>
  </plugins></build>
</project>
"""
MODULE = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <parent><groupId>org.shop</groupId><artifactId>shop</artifactId><version>1.0</version></parent>
  <artifactId>{name}</artifactId>
  {more}
</project>
"""
APP = """<dependencies>
    <dependency><groupId>org.shop</groupId><artifactId>core</artifactId><version>1.0</version></dependency>
    <dependency><groupId>org.sample</groupId><artifactId>dep</artifactId><version>1.0</version></dependency>
  </dependencies>
  <build><plugins><plugin><groupId>dev.weave</groupId><artifactId>weave-maven-plugin</artifactId><executions><execution>
    <id>dependencies</id><goals><goal>weave-dependencies</goal></goals>
    <configuration><dependencies><dependency>org.sample:*</dependency></dependencies></configuration>
  </execution></executions></plugin></plugins></build>"""
RULES = 'version = 1\n\n[[aspect]]\nname = "shop"\nmatch = { type = ["shop.**", "dep.**"], method = "*" }\n'
ORDERS = """package shop;
public class Orders { public static int total(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i * %s; return sum; } }
"""
STOCK = "package shop;\npublic class Stock { public static int left(int n) { return Math.max(0, 100 - n * n); } }\n"
MAIN = """package shop;
public class Main { public static int sum() { return Orders.total(4) + Stock.left(3) + dep.Dep.twice(Orders.total(2)); } }
"""
TEST = """package shop;
public class MainTest { @org.junit.Test public void sums() { System.out.println("the sum is " + Main.sum()); } }
"""
STARTS = """package shop;
public class StartsTest {
    public static void main(String[] a) { new MainTest().sums(); }
    @org.junit.Test public void starts() throws Exception {
        String path = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        Process process = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-cp", path, "shop.StartsTest").inheritIO().start();
        org.junit.Assert.assertEquals(0, process.waitFor());
    }
}
"""
DEP = "package dep;\npublic class Dep { public static int twice(int n) { int m = n; m += n; return m; } }\n"
HOOKED = b"weave/runtime"


def pins():
    return "".join(f"<plugin><artifactId>{name}</artifactId><version>{number}</version></plugin>" for name, number in PLUGINS.items())


def project(folder, repository, version):
    write(folder / "pom.xml", PARENT.format(repository=repository.root.as_uri(), version=version, plugins=pins()))
    write(folder / "core/pom.xml", MODULE.format(name="core", more=""))
    write(folder / "app/pom.xml", MODULE.format(name="app", more=APP))
    write(folder / "weave.toml", RULES)
    write(folder / "core/src/main/java/shop/Orders.java", ORDERS % 1)
    write(folder / "core/src/main/java/shop/Stock.java", STOCK)
    write(folder / "app/src/main/java/shop/Main.java", MAIN)
    write(folder / "app/src/test/java/shop/MainTest.java", TEST)


def sample_dependency(repository):
    """A jar that nobody of the build compiles."""
    folder = WORK / "dep"
    write(folder / "dep/Dep.java", DEP)
    subprocess.run(["javac", "--release", "8", "-nowarn", "-d", str(folder), str(folder / "dep/Dep.java")], check=True, stderr=subprocess.DEVNULL)
    jar = folder / "dep.jar"
    subprocess.run(["jar", "cf", str(jar), "-C", str(folder), "dep/Dep.class"], check=True)
    packages.Repository(repository.root, "1.0").add("dep", "A dependency", {".jar": jar}, group="org.sample")


class Maven(builds.Builds):
    """Most builds run in one process, since a JVM that begins takes longer than what it builds. Some need `mvn` itself: those
    with a network, with options for the JVM, or whose tests run in Maven's own process."""

    kept = None

    @staticmethod
    def arguments(folder, *arguments, offline=True):
        # The batch mode's lines have no colours; a build without a network is the usual one.
        mode = ["-o"] if offline else []
        return ["-B", "-f", str(folder / "pom.xml"), f"-Dmaven.repo.local={LOCAL}", *mode, *arguments]

    def command(self, folder, *arguments, **more):
        return ["mvn", *self.arguments(folder, *arguments, **more)]

    def begin(self, folder, *arguments):
        return subprocess.Popen(self.prefix + self.command(folder, *arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                errors="replace")

    #: Where woven programs write their traces; nothing leaves that to the plug-in.
    trace = str(WORK / "run.wtrace")

    def run(self, folder, *arguments, offline=True, options=""):
        if offline and not options and self.trace == Maven.trace and "-DforkCount=0" not in arguments:
            self.kept = self.kept or self.start()
            self.ask(self.kept, [folder, *self.arguments(folder, *arguments)])
        else:
            named = {"WEAVE_TRACE": self.trace} if self.trace else {}
            self.call(self.command(folder, *arguments, offline=offline), **named,
                      MAVEN_OPTS=f"{os.environ.get('MAVEN_OPTS', '')} {options}".strip())
        print(f"# mvn {' '.join(arguments)}: {self.status}", flush=True)

    def start(self):
        """The process: Maven's launcher and libraries, with another class in front of its command."""
        home = pathlib.Path(shutil.which("mvn")).resolve().parents[1]
        made, configuration = lib.fresh(WORK / "builds"), WORK / "builds.conf"
        lib.run(["javac", "--release", "8", "-nowarn", "-cp", f"{home}/lib/*:{home}/boot/*", "-d", made, lib.ROOT / "tests/harness/MavenBuilds.java"])
        given = (home / "bin/m2.conf").read_text()
        configuration.write_text(re.sub("(?m)^main is .*$", "main is harness.MavenBuilds from plexus.core", given) + f"\nload {made}\n")
        [worlds] = home.glob("boot/plexus-classworlds*.jar")
        command = ["java", f"-Dclassworlds.conf={configuration}", f"-Dmaven.home={home}", "-Dfile.encoding=UTF-8", "-cp", worlds,
                   "org.codehaus.plexus.classworlds.launcher.Launcher"]
        return subprocess.Popen([*self.prefix, *map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                encoding="utf-8", errors="replace", env=dict(os.environ, WEAVE_TRACE=self.trace))

    def stop(self):
        if self.kept:
            self.kept.stdin.close()
            self.kept.wait()

    def module(self, name):
        """What was told of one module."""
        part = re.search(rf"^\[INFO\] -+< org\.shop:{name} >.*?(?=^\[INFO\] -+<|\Z)", self.output, re.M | re.S)
        return part[0] if part else ""

    def up_to_date(self, name):
        return "Nothing to weave - all classes" in self.module(name) and "Wove" not in self.module(name)


def by_hand(program, rules, unwoven, name):
    folder = lib.fresh(WORK / "by hand") / name
    subprocess.run([str(program), "-q", "--no-runtime", "--rules", str(rules), str(unwoven), str(folder)], check=True)
    return folder


OTHERS = """<plugin><groupId>net.bytebuddy</groupId><artifactId>byte-buddy-maven-plugin</artifactId><version>1.14.13</version>
    <executions><execution><goals><goal>transform</goal></goals></execution></executions>
    <configuration><transformations><transformation><plugin>net.bytebuddy.build.ToStringPlugin</plugin></transformation></transformations>
    </configuration></plugin>
  <plugin><groupId>org.codehaus.mojo</groupId><artifactId>animal-sniffer-maven-plugin</artifactId><version>1.23</version>
    <executions><execution><phase>process-classes</phase><goals><goal>check</goal></goals></execution></executions>
    <configuration><signature><groupId>org.codehaus.mojo.signature</groupId><artifactId>java18</artifactId><version>1.0</version></signature>
    <annotations/></configuration></plugin>
  """
SHADE = """<plugin><groupId>org.apache.maven.plugins</groupId><artifactId>maven-shade-plugin</artifactId><version>3.5.2</version>
    <executions><execution><phase>package</phase><goals><goal>shade</goal></goals></execution></executions></plugin>"""


def beside_others(maven, repository, version, program):
    """Plug-ins that read classes in the same phase, and what packs all into one jar."""
    folder = WORK / PLACE / "beside others"
    project(folder, repository, version)
    # In whatever order poms name them: a child's plug-ins come behind a parent's.
    core = (folder / "core/pom.xml").read_text(encoding="utf-8")
    write(folder / "core/pom.xml", core.replace("</project>", f"<build><plugins>{OTHERS}</plugins></build></project>"))
    app = (folder / "app/pom.xml").read_text(encoding="utf-8")
    write(folder / "app/pom.xml", app.replace("</plugins></build>", SHADE + "</plugins></build>"))
    maven.run(folder, "package", offline=False)
    first = maven.status == 0 and maven.has("the sum is 99", "Checking unresolved references", "Wove .*core.target.classes")
    # As plug-ins do that write a resource in each build.
    write(folder / "core/src/main/resources/stamp.txt", "second")
    maven.run(folder, "package")
    with zipfile.ZipFile(folder / "core/target/core-1.0.jar") as packed:
        stamped = "stamp.txt" in packed.namelist()
    maven.check("beside animal-sniffer and Byte Buddy, which come behind it: a second build without clean weaves nothing anew, and packs a new"
                " resource", first and stamped and maven.status == 0 and maven.up_to_date("core")
                and maven.has("the sum is 99", "Checking unresolved references"))
    write(folder / "core/src/main/java/shop/Orders.java", ORDERS % 2)
    maven.run(folder, "package")
    maven.check("and one after a change", maven.status == 0 and maven.has("the sum is 107", "Wove .*core.target.classes"))

    jar = folder / "app/target/app-1.0.jar"
    trace = WORK / "shaded.wtrace"
    write(WORK / "shaded/Start.java", "public class Start { public static void main(String[] a) throws Exception {"
          " System.out.println(shop.Main.sum()); Thread.sleep(500); } }\n")
    lib.run(["javac", "--release", "8", "-nowarn", "-cp", jar, "-d", WORK / "shaded", WORK / "shaded/Start.java"])
    subprocess.run(["java", f"-Dweave.trace={trace}", "-cp", f"{jar}:{WORK / 'shaded'}", "Start"], check=True, stdout=subprocess.DEVNULL)
    told = lib.run([program, "report", trace]).stdout
    maven.check("a shaded jar: the methods of all modules have names", all(
        name in told for name in ("shop.Main.sum", "shop.Orders.total", "shop.Stock.left")), told)


def told(maven, repository, version):
    """What is told of rules that mean nothing, once; and where traces go that nobody named a place for."""
    folder = WORK / PLACE / "told"
    project(folder, repository, version)
    app = (folder / "app/pom.xml").read_text(encoding="utf-8")
    write(folder / "app/pom.xml", re.sub(r"<build>.*</build>", "", app, flags=re.S))
    aspect = '\n[[aspect]]\nname = "%s"\nmatch = { type = "%s", method = "*" }\n'
    write(folder / "weave.toml", "version = 1\n" + aspect % ("orders", "shop.Orders") + aspect % ("tests", "shop.MainTest")
          + aspect % ("nobody", "shop.Nobody"))
    maven.trace = None
    maven.run(folder, "package", "-T2", offline=False)
    idle = [line for line in maven.output.splitlines() if "WV0120" in line]
    maven.check("an aspect that is idle in all modules: a warning, once, with its place; the others none", maven.status == 0 and len(idle) == 1
                and re.search(r"weave\.toml:\[11,1\] aspect `nobody` matched no method", idle[0]), idle)
    traces = [path.relative_to(folder).parts[:-1] for path in folder.rglob("*.wtrace")]
    maven.check("traces of tests go to the build folder", set(traces) == {("app", "target", "weave", "traces")}, traces)
    maven.run(folder, "package")
    maven.check("nothing was woven: nothing is told again", maven.status == 0 and not maven.has("WV0120"))
    write(folder / "core/src/main/java/shop/Orders.java", ORDERS % 2)
    maven.run(folder, "test-compile")
    maven.check("one module woven anew: what the others have counts", maven.status == 0 and maven.output.count("WV0120") == 1
                and maven.has("aspect `nobody`"))
    maven.run(folder / "core", "test-compile", "-Dweave.strict=true")
    maven.check("a module alone, by rules that others have, too: no warning", maven.status == 0 and maven.has("Wove")
                and not maven.has("WV0120"))
    maven.run(folder, "test", "-Dweave.trace=elsewhere.wtrace")
    maven.check("a place that the user names", maven.status == 0 and (folder / "app/elsewhere.wtrace").exists())
    pom = (folder / "app/pom.xml").read_text(encoding="utf-8")
    (folder / "app/data").mkdir()
    write(folder / "app/pom.xml", pom.replace("</project>", "<build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId><configuration>"
          "<workingDirectory>${project.basedir}/data</workingDirectory></configuration></plugin></plugins></build></project>"))
    write(folder / "app/src/test/java/shop/StartsTest.java", STARTS)
    before = len(list((folder / "app/target").rglob("*.wtrace")))
    maven.run(folder, "test")
    maven.check("tests with a working directory of their own, and a process that they start: traces go to the build folder, too",
                maven.status == 0 and len(list((folder / "app/target").rglob("*.wtrace"))) == before + 2
                and not list((folder / "app/data").rglob("*")))
    (folder / "app/src/test/java/shop/StartsTest.java").unlink()
    before = len(list((folder / "app/target").rglob("*.wtrace")))
    maven.run(folder, "test", "-DforkCount=0")
    maven.check("tests in Maven's own process: their trace goes there, too", maven.status == 0 and maven.has("the sum is")
                and len(list((folder / "app/target").rglob("*.wtrace"))) == before + 1)
    write(folder / "app/pom.xml", pom.replace("</project>", "<build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId><configuration>"
          "<systemPropertyVariables><weave.trace>named.wtrace</weave.trace></systemPropertyVariables></configuration></plugin></plugins></build></project>"))
    maven.run(folder, "test")
    maven.check("or the pom", maven.status == 0 and (folder / "app/named.wtrace").exists())
    maven.run(folder, "clean")
    maven.check("clean takes the others", not (folder / "app/target").exists())
    del maven.trace


BOOT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.shop</groupId><artifactId>forked</artifactId><version>1.0</version>
  <properties><maven.compiler.release>17</maven.compiler.release><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
  <repositories><repository><id>weave</id><url>{repository}</url></repository></repositories>
  <pluginRepositories><pluginRepository><id>weave</id><url>{repository}</url></pluginRepository></pluginRepositories>
  <dependencies>
    <dependency><groupId>dev.weave</groupId><artifactId>weave-runtime</artifactId><version>{version}</version><scope>runtime</scope></dependency>
  </dependencies>
  <build><pluginManagement><plugins>{plugins}</plugins></pluginManagement><plugins>
    <plugin><groupId>dev.weave</groupId><artifactId>weave-maven-plugin</artifactId><version>{version}</version>
      <executions><execution><goals><goal>weave</goal></goals></execution></executions></plugin>
    <plugin><groupId>org.springframework.boot</groupId><artifactId>spring-boot-maven-plugin</artifactId><version>4.0.3</version>
      <configuration><mainClass>shop.Start</mainClass></configuration></plugin>
  </plugins></build>
</project>
"""
START = """package shop;
public class Start { public static void main(String[] a) {
    System.out.println("runs from " + Start.class.getProtectionDomain().getCodeSource().getLocation().getPath()); } }
"""


def forked(maven, repository, version):
    """A goal that forks a lifecycle to run the program works on a copy of the project."""
    folder = WORK / PLACE / "forked"
    write(folder / "pom.xml", BOOT.format(repository=repository.root.as_uri(), version=version, plugins=pins()))
    write(folder / "weave.toml", RULES)
    write(folder / "src/main/java/shop/Start.java", START)
    maven.run(folder, "spring-boot:run", offline=False)
    maven.check("spring-boot:run runs woven classes", maven.status == 0 and maven.has("Wove", "^runs from .*target/weave/main/woven/forked/$"))


def libraries(maven, repository, version):
    """A library of own hooks is an input of all goals."""
    folder = WORK / PLACE / "libraries"
    project(folder, repository, version)
    write(folder / "weave.toml", builds.OWN_RULES.format(types='["shop.Orders", "dep.**"]'))
    builds.own_library(folder, "began")
    maven.run(folder, "package", offline=False)
    first = maven.status == 0 and maven.has("began total$", "began twice$")
    maven.run(folder, "package")
    maven.check("own hooks run, and what has not changed is up to date", first and maven.up_to_date("core") and maven.has("began total$"))
    builds.own_library(folder, "started")
    maven.run(folder, "package")
    maven.check("another library: all that calls it is woven anew", maven.status == 0 and maven.has("Wove .*core.target.classes")
                and maven.has("started total$", "started twice$") and not maven.has("began"))


def fetched(maven, repository, version):
    """The repository where checksums must be right, and a build without a network after all was fetched."""
    folder = WORK / PLACE / "fetched"
    project(folder, repository, version)
    pom = (folder / "pom.xml").read_text(encoding="utf-8")
    strict = "</url><releases><checksumPolicy>fail</checksumPolicy></releases>"
    write(folder / "pom.xml", pom.replace("</url>", strict))
    shutil.rmtree(LOCAL / "dev/weave", ignore_errors=True)
    maven.run(folder, "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:go-offline", "-pl", "core", offline=False)
    there = list((LOCAL / "dev/weave/weave").rglob("*.exe"))
    maven.check("go-offline fetches the program, and every checksum is right", maven.status == 0 and there and not maven.has("[Cc]hecksum"))
    repository.root.rename(repository.root.with_name("gone"))
    maven.run(folder, "package", "-pl", "core")
    repository.root.with_name("gone").rename(repository.root)
    maven.check("then a build needs no repository", maven.status == 0 and maven.has("Wove"))


def body():
    program = lib.weave_binary()
    lib.fresh(WORK)
    repository = packages.make(program, WORK / "packages")
    sample_dependency(repository)
    version = packages.version(program)
    # What an earlier run brought is of another build of the same version.
    for group in ("dev/weave", "org/sample", "org/shop"):
        shutil.rmtree(LOCAL / group, ignore_errors=True)
    maven = Maven()
    with zipfile.ZipFile(repository.root / f"dev/weave/weave-maven-plugin/{version}/weave-maven-plugin-{version}.jar") as plugin:
        mapped = xml.fromstring(plugin.read("META-INF/m2e/lifecycle-mapping-metadata.xml"))
        goals = xml.fromstring(plugin.read("META-INF/maven/plugin.xml")).findall("mojos/mojo/goal")
    maven.check("Eclipse is told what to do with each goal", goals and sorted(goal.text for goal in goals)
                == sorted(goal.text for goal in mapped.findall("pluginExecutions/pluginExecution/pluginExecutionFilter/goals/goal"))
                and len(mapped.findall("pluginExecutions/pluginExecution/action/*")) == len(mapped.findall("pluginExecutions/pluginExecution")))
    first = WORK / PLACE / "first"
    project(first, repository, version)
    cache = f"-Dweave.cache={WORK / 'cache of jars'}"

    maven.run(first, "clean", "package", cache, offline=False)
    maven.check("a first build runs woven: modules, tests, a dependency", maven.status == 0 and maven.has("the sum is 99"))
    traced = subprocess.run([str(program), "report", str(WORK / "run.wtrace")], text=True, capture_output=True).stdout
    maven.check("the tests are traced: themselves, both modules, the dependency", all(
        name in traced for name in ("shop.MainTest.sums", "shop.Main.sum", "shop.Orders.total", "shop.Stock.left", "dep.Dep.twice")))
    unwoven = first / "core/target/classes"
    classes = first / "core/target/weave/main/woven/core"
    maven.check("woven classes are those of the command line, byte for byte, and the compiler's stay as they are",
                HOOKED not in (unwoven / "shop/Orders.class").read_bytes()
                and same_folders(classes, by_hand(program, first / "weave.toml", unwoven, "core")))
    jar = (first / "core/target/core-1.0.jar").read_bytes()

    maven.run(first, "package", cache)
    maven.check("nothing changed: up to date", maven.up_to_date("core") and maven.up_to_date("app")
                and maven.has("Nothing to weave - all dependencies") and maven.has("the sum is 99"))
    write(first / "core/src/main/java/shop/Orders.java", ORDERS % 2)
    maven.run(first, "test", cache)
    maven.check("one class changed: its module is woven anew, and no hook is twice", maven.has("the sum is 107", "Wove .*core.target.classes")
                and same_folders(classes, by_hand(program, first / "weave.toml", unwoven, "core")))
    write(first / "core/src/main/java/shop/Orders.java", ORDERS % 1)
    maven.run(first, "test", cache, "-Dmaven.compiler.useIncrementalCompilation=false")
    maven.check("one class compiled alone: the others keep their hooks", maven.has("the sum is 99")
                and same_folders(classes, by_hand(program, first / "weave.toml", unwoven, "core")))
    (first / "core/src/main/java/shop/Extra.java").write_text("package shop;\nclass Extra { int f(int a) { return a * a; } }\n")
    maven.run(first, "test-compile", cache)
    there = (classes / "shop/Extra.class").exists()
    (first / "core/src/main/java/shop/Extra.java").unlink()
    (unwoven / "shop/Extra.class").unlink()
    maven.run(first, "test-compile", cache)
    maven.check("a class added and removed: the map goes with it", there and maven.status == 0
                and not (classes / "shop/Extra.class").exists()
                and same_folders(classes, by_hand(program, first / "weave.toml", unwoven, "core")))

    write(first / "weave.toml", RULES.replace('"*"', '"left"'))
    maven.run(first, "test", cache)
    maven.check("rules changed: woven by the new ones without a compiler's run", maven.has("the sum is 99", "Wove .*core.target.classes")
                and HOOKED not in (classes / "shop/Orders.class").read_bytes() and HOOKED in (classes / "shop/Stock.class").read_bytes())
    write(first / "weave.toml", 'version = 1\n[[aspect]]\nmatch = { extends = "shop.Base", method = "*" }\n')
    write(first / "core/src/main/java/shop/Base.java", "package shop;\npublic class Base { }\n")
    write(first / "app/src/main/java/shop/Leaf.java", "package shop;\nclass Leaf extends Base { int f(int a) { return a * a + 1; } }\n")
    maven.run(first, "test-compile", cache)
    maven.check("base types are looked up in other modules", maven.status == 0 and HOOKED in (first / "app/target/weave/main/woven/app/shop/Leaf.class").read_bytes()
                and HOOKED not in (first / "app/target/weave/main/woven/app/shop/Main.class").read_bytes())
    (first / "core/src/main/java/shop/Base.java").unlink()
    (first / "app/src/main/java/shop/Leaf.java").unlink()
    write(first / "weave.toml", RULES.replace("method", "metod"))
    maven.run(first, "test-compile", cache)
    maven.check("wrong rules: the message names file, line and column",
                maven.status != 0 and maven.has(r"weave\.toml:\[5,\d+\] .*did you mean `method`"))
    (first / "weave.toml").unlink()
    maven.run(first, "test-compile", cache)
    maven.check("no rules: the message says what to do", maven.status != 0 and maven.has(r"put a weave\.toml beside pom\.xml"))
    write(first / "weave.toml", RULES)
    maven.run(first, "test-compile", cache)
    (first / "weave.toml").unlink()
    maven.run(first, "package", cache, "-Dweave.skip=true")
    with zipfile.ZipFile(first / "core/target/core-1.0.jar") as packed:
        maven.check("skip: what is packed is the compiler's, and no rules are asked for", maven.status == 0 and maven.has("weave is skipped")
                    and not [name for name in packed.namelist() if "weave" in name or HOOKED in packed.read(name)])
    write(first / "weave.toml", RULES)
    maven.run(first, "package", cache)
    with zipfile.ZipFile(first / "core/target/core-1.0.jar") as packed:
        maven.check("and no longer: what is packed is woven again", maven.status == 0 and HOOKED in packed.read("shop/Orders.class"))
    maven.run(first, "clean", "package", cache)
    maven.check("clean, then the same jar again", maven.has("the sum is 99")
                and (first / "core/target/core-1.0.jar").read_bytes() == jar)

    entries = sorted((WORK / "cache of jars").rglob("*.woven"))
    second = WORK / PLACE / "elsewhere/second"
    project(second, repository, version)
    maven.run(second, "package", "-T2", cache)
    maven.check("a second checkout, in parallel: the same jar, the dependency from the cache", maven.has("the sum is 99")
                and (second / "core/target/core-1.0.jar").read_bytes() == jar and entries
                and sorted((WORK / "cache of jars").rglob("*.woven")) == entries)

    compiled = second / "core/target/classes"
    subprocess.run([str(program), "-q", "--no-runtime", "--rules", str(second / "weave.toml"), str(compiled), str(compiled)], check=True)
    maven.run(second, "test-compile", cache)
    maven.check("woven by another: told", maven.status != 0 and maven.has("were woven before this goal: by another.*mvn clean"))
    other = WORK / "other version"
    write(other, "#!/bin/sh\necho weave 0.0.1\n")
    other.chmod(0o755)
    maven.run(second, "clean", "test-compile", cache, f"-Dweave.executable={other}")
    maven.check("a program of another version: told", maven.status != 0
                and maven.has(f"needs weave {re.escape(version)}, and .* is weave 0.0.1"))
    maven.run(second, "test", cache, f"-Dweave.executable={program}")
    maven.check("a program of one's own", maven.has("the sum is 99", "Wove"))
    maven.run(second, "clean", "test-compile", cache, options="-Dos.arch=riscv64")
    maven.check("no program for this platform: the message says what to do", maven.status != 0
                and maven.has(r"There is no weave for \w+ on riscv64: build one .*-Dweave\.executable"))
    there, aside = LOCAL / "dev/weave/weave", WORK / "the program aside"
    there.rename(aside)
    maven.run(second, "clean", "test-compile", cache)
    shutil.rmtree(there, ignore_errors=True)
    aside.rename(there)
    maven.check("the program is in no repository: told", maven.status != 0
                and maven.has(rf"dev\.weave:weave:exe:\S+:{re.escape(version)}"))
    maven.run(second, "test-compile", cache)
    write(second / "core/src/main/java/shop/Orders.java", ORDERS % 2)
    with (second / "core/target/weave/main/lock").open("r+b") as lock:
        # As an IDE does that builds beside the command line.
        fcntl.lockf(lock, fcntl.LOCK_EX)
        waits = maven.begin(second, "test-compile", cache)
        waiting = next((line for line in waits.stdout if "another build weaves" in line), "")
        fcntl.lockf(lock, fcntl.LOCK_UN)
    rest, _ = waits.communicate()
    maven.check("two builds at once: the second says so, and waits", "an IDE perhaps: waiting for it" in waiting and waits.returncode == 0
                and "Wove" in rest, rest[-2000:] if waits.returncode else "")
    write(second / "core/src/main/java/shop/Orders.java", ORDERS % 1)
    lib.run(["javac", "--release", "8", "-nowarn", "-d", second / "core/target/classes", second / "core/src/main/java/shop/Orders.java"])
    raw = HOOKED not in (second / "core/target/classes/shop/Orders.class").read_bytes()
    maven.run(second, "test-compile", cache)
    maven.check("an IDE compiled anew: the next build weaves that", raw and maven.status == 0 and maven.has("Wove .*core.target.classes")
                and HOOKED in (second / "core/target/weave/main/woven/core/shop/Orders.class").read_bytes())
    pom = second / "pom.xml"
    pom.write_text(re.sub(r"\s*<dependency><groupId>dev\.weave.*", "", pom.read_text(encoding="utf-8")), encoding="utf-8")
    maven.run(second, "clean", "test-compile", cache)
    maven.check("no hook library: told", maven.status != 0 and maven.has(f"add the dependency dev.weave:weave-runtime:{re.escape(version)} to core"))
    beside_others(maven, repository, version, program)
    told(maven, repository, version)
    libraries(maven, repository, version)
    forked(maven, repository, version)
    fetched(maven, repository, version)
    maven.stop()
    return maven.score.finish("Maven")


if __name__ == "__main__":
    lib.main(body)
