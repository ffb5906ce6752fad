#!/usr/bin/env python3
"""Builds of published programs with the plug-ins: gson by several versions of Maven and by Gradle, and projects in Kotlin that use each other.

    python3 tests/harness/real_builds.py

Of each: what is built runs as it does unwoven and is traced, a build without changes does nothing, and after an edit of one class all is
as if built anew. Needs a release build, a JDK 17 and Maven.
"""
import json
import re
import shutil
import subprocess

import gradle as by_gradle
import gradle_dist
import gson
import lib
from builds import Builds, packages, same_folders, write
from maven import LOCAL, PLUGINS

WORK = lib.WORK / "real builds"
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.sample</groupId><artifactId>gson</artifactId><version>1.0</version>
  <repositories><repository><id>weave</id><url>{repository}</url></repository></repositories>
  <pluginRepositories><pluginRepository><id>weave</id><url>{repository}</url></pluginRepository></pluginRepositories>
  <properties><maven.compiler.release>8</maven.compiler.release><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
  <dependencies>
    <dependency><groupId>dev.weave</groupId><artifactId>weave-runtime</artifactId><version>{version}</version><scope>runtime</scope></dependency>
    <dependency><groupId>{errors[0]}</groupId><artifactId>{errors[1]}</artifactId><version>{errors[2]}</version></dependency>
  </dependencies>
  <build><pluginManagement><plugins>{plugins}</plugins></pluginManagement><plugins>
    <plugin><groupId>dev.weave</groupId><artifactId>weave-maven-plugin</artifactId><version>{version}</version>
      <executions><execution><goals><goal>weave</goal></goals></execution></executions></plugin>
  </plugins></build>
</project>
"""
GRADLE = """
plugins {{ id 'java-library'; id 'dev.weave' version '{version}' }}
dependencies {{ compileOnly files('{errors}') }}
// The hook of incremental compilation is in no jar of the registry.
tasks.withType(JavaCompile).configureEach {{ options.incremental = false; options.release = 8 }}
"""
SETTINGS = """
pluginManagement {{ repositories {{ mavenLocal(); maven {{ url = uri('{repository}') }} }} }}
dependencyResolutionManagement {{ repositories {{ mavenLocal(); maven {{ url = uri('{repository}') }} }} }}
rootProject.name = '{name}'
"""
#: The Mavens, besides the one on the PATH.
MAVENS = ("3.9.11", "4.0.0-rc-5")
COROUTINES = ("org.jetbrains.kotlinx", "kotlinx-coroutines-core-jvm", "1.7.3")
KOTLIN = """
plugins {{ id 'java-library'; id 'org.jetbrains.kotlin.jvm' version '{kotlin}'; id 'dev.weave' version '{version}' }}
dependencies {{ {more} }}
tasks.withType(JavaCompile).configureEach {{ options.incremental = false }}
"""
STOCK = """package stock
import kotlinx.coroutines.*
internal fun secret(n: Int): Int { var m = n; if (m > 1) m += 40; return m }
class Stock(private val names: List<String>) {
    inline fun <T> each(make: (String) -> T): List<T> { val all = mutableListOf<T>(); for (name in all()) all.add(make(name)); return all }
    fun all(): List<String> { if (names.isEmpty()) return listOf("none"); return names }
    suspend fun count(name: String): Int { delay(5); yield(); return if (name.length > 3) name.length else secret(2) }
}
inline fun <reified T> kind(of: Any): String = if (of is T) T::class.java.simpleName else "other"
"""
ORDERS = """package orders
import kotlinx.coroutines.*
import stock.*
object Orders {
    @JvmStatic fun main(args: Array<String>) = runBlocking {
        val stock = Stock(listOf("nut", "screw"))
        val counts = stock.each { async(Dispatchers.Default) { stock.count(it) } }.awaitAll()
        println("counts $counts ${kind<String>("x")} ${total(counts)}")
    }
    fun total(counts: List<Int>): Int { var sum = 0; for (c in counts) sum += c; return sum }
}
"""
SECRETS = "package stock\nclass Secrets { fun told() = Stock(listOf()).each { secret(it.length) } }\n"


def calls(program, trace):
    """The names of methods in a trace, with the numbers of their calls."""
    told = json.loads(lib.run([program, "report", trace, "--json"]).stdout)
    return {method["label"]: method["calls"] for method in told["methods"]}


def judge(score, how, program, jdk, woven, plain, library):
    """What gson does woven: what it does unwoven, and each call is in the trace."""
    out = gson.compile_use(jdk, WORK / "use", plain)
    expected, _ = gson.use(jdk, [out, plain], WORK / "use.wtrace")
    printed, _ = gson.use(jdk, [out, woven, library], WORK / "use.wtrace")
    seen = calls(program, WORK / "use.wtrace")
    parsed = sum(count for name, count in seen.items() if "JsonParser.parseString" in name)
    score.check(f"{how}: gson runs as it does unwoven, and its calls are in the trace",
                printed == expected and "JsonSyntaxException" in printed and parsed == 2 and len(seen) > 50, (len(seen), parsed))


def maven_of(version):
    """The command of a Maven from the registry."""
    home = lib.CORPORA / f"apache-maven-{version}"
    if not home.is_dir():
        packed = gson.jar_of(LOCAL, "org.apache.maven", "apache-maven", version, "bin", "zip")
        unpacked = lib.fresh(WORK / "unpacked")
        shutil.unpack_archive(packed, unpacked)
        (unpacked / home.name / "bin/mvn").chmod(0o755)
        shutil.move(unpacked / home.name, home)
    return home / "bin/mvn"


def gson_by_maven(score, repository, version, program, jdk, library, how, mvn):
    folder = WORK / f"gson by {how}"
    sources = gson.Sources(folder, LOCAL)
    plugins = "".join(f"<plugin><artifactId>{name}</artifactId><version>{number}</version></plugin>" for name, number in PLUGINS.items())
    write(folder / "pom.xml", POM.format(repository=repository.root.as_uri(), version=version, errors=gson.ERRORS, plugins=plugins))
    tool = Builds()
    tool.score = score

    def build(*goals):
        tool.call([mvn, "-B", "-f", folder / "pom.xml", f"-Dmaven.repo.local={LOCAL}", *goals])
        return tool.status == 0

    woven = folder / "target/weave/main/woven/gson"
    copy = WORK / "copy"

    def kept():
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(woven, copy)

    tool.check(f"{how}: gson is built and woven", build("package") and tool.has("Wove "))
    judge(score, how, program, jdk, woven, folder / "target/classes", library)
    kept()
    tool.check(f"{how}: a build without changes weaves nothing", build("package") and tool.has("Nothing to weave") and same_folders(copy, woven))
    sources.edit(5)
    edited = build("package")
    kept()
    tool.check(f"{how}: after an edit of one class, all is as if built anew", edited and build("clean", "package") and same_folders(copy, woven))


def gson_by_gradle(gradle, repository, version, program, jdk, library):
    folder = WORK / "gson by gradle"
    sources = gson.Sources(folder, LOCAL)
    write(folder / "settings.gradle", SETTINGS.format(repository=repository.root.as_uri(), name="gson"))
    write(folder / "build.gradle", GRADLE.format(version=version, errors=gson.jar_of(LOCAL, *gson.ERRORS)))
    woven, copy = folder / "build/weave/classes/main", WORK / "copy"
    gradle.run(folder, "jar", "--no-build-cache", "--configuration-cache")
    gradle.check("Gradle: gson is built and woven", gradle.status == 0 and gradle.task(":weaveClasses"))
    judge(gradle.score, "Gradle", program, jdk, woven, folder / "build/classes/java/main", library)
    gradle.run(folder, "jar", "--no-build-cache", "--configuration-cache")
    gradle.check("Gradle: a build without changes does nothing", gradle.task(":weaveClasses", "UP-TO-DATE") and gradle.task(":jar", "UP-TO-DATE")
                 and gradle.has("Reusing configuration cache"))
    sources.edit(5)
    gradle.run(folder, "jar", "--no-build-cache", "--configuration-cache")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(woven, copy)
    gradle.run(folder, "clean", "jar", "--no-build-cache")
    gradle.check("Gradle: after an edit of one class, all is as if built anew", gradle.status == 0 and same_folders(copy, woven))


def kotlin(gradle, repository, version, program, jdk):
    """Coroutines, inline functions with and without reified types, and tests that use what is internal."""
    by_gradle.fetch_kotlin()
    folder = WORK / "kotlin"
    coroutines = gson.jar_of(LOCAL, *COROUTINES)
    write(folder / "settings.gradle", SETTINGS.format(repository=repository.root.as_uri(), name="shop") + "include 'stock', 'orders'\n")
    write(folder / "weave.toml", 'version = 1\n\n[[aspect]]\nname = "shop"\nmatch = { type = ["stock.**", "orders.**"], method = "*" }\n')
    fill = {"kotlin": by_gradle.KOTLIN, "version": version}
    write(folder / "stock/build.gradle", KOTLIN.format(more=f"api files('{coroutines}')", **fill))
    write(folder / "stock/src/main/kotlin/stock/Stock.kt", STOCK)
    write(folder / "stock/src/test/kotlin/stock/Secrets.kt", SECRETS)
    write(folder / "orders/build.gradle", KOTLIN.format(more="implementation project(':stock')", **fill)
          + "tasks.register('run', JavaExec) { classpath = sourceSets.main.runtimeClasspath; mainClass = 'orders.Orders' }\n")
    write(folder / "orders/src/main/kotlin/orders/Orders.kt", ORDERS)
    gradle.trace = str(WORK / "kotlin.wtrace")
    gradle.run(folder, ":orders:run", ":stock:compileTestKotlin", "--no-build-cache")
    gradle.check("Kotlin: coroutines, inline functions of another woven project, and tests of what is internal",
                 gradle.status == 0 and gradle.has(r"^counts \[42, 5\] String 47$"))
    if gradle.status == 0:
        seen = calls(program, WORK / "kotlin.wtrace")
        counted = sum(count for name, count in seen.items() if re.search(r"Stock\.count", name))
        gradle.check("Kotlin: suspend functions are in the trace, each time that they are entered", counted >= 2, seen)
    gradle.run(folder, ":orders:run", "--no-build-cache")
    gradle.check("Kotlin: a build without changes weaves nothing", gradle.task(":stock:weaveClasses", "UP-TO-DATE")
                 and gradle.task(":orders:weaveClasses", "UP-TO-DATE") and gradle.task(":orders:compileKotlin", "UP-TO-DATE"))
    write(folder / "stock/src/main/kotlin/stock/Stock.kt", STOCK.replace("+= 40", "+= 60"))
    gradle.run(folder, ":orders:run", "--no-build-cache")
    gradle.check("Kotlin: an edit of one file is woven, and runs", gradle.task(":stock:weaveClasses") and gradle.has(r"^counts \[62, 5\] String 67$"))


def body():
    lib.fresh(WORK)
    lib.fresh(by_gradle.WORK)
    program, jdk = lib.weave_binary(), lib.oldest_jdk()
    repository = packages.make(program, WORK / "packages")
    shutil.rmtree(LOCAL / "dev/weave", ignore_errors=True)
    version = packages.version(program)
    library = WORK / "runtime.jar"
    subprocess.run([str(program), "runtime", str(library)], check=True)
    gradle = by_gradle.opened(gradle_dist.installation(by_gradle.VERSIONS[0]).resolve())
    try:
        for number in MAVENS:
            gson_by_maven(gradle.score, repository, version, program, jdk, library, f"Maven {number}", maven_of(number))
        gson_by_gradle(gradle, repository, version, program, jdk, library)
        kotlin(gradle, repository, version, program, jdk)
    finally:
        gradle.stop()
        shutil.rmtree(LOCAL / "dev/weave", ignore_errors=True)
    return gradle.score.finish("builds of published programs")


if __name__ == "__main__":
    lib.main(body)
