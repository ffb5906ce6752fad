"""A Gradle that runs builds, made of what the registry has.

The registry has no installation, but a jar with all of Gradle's classes to compile plug-ins against. An installation is that
jar, a few libraries that it leaves out, and for each of Gradle's modules a jar that says what belongs to it: here these say
where the one jar is. From 8.10 on the jar has no command line: a class of our own takes its place, which runs builds one after
another in its own process (`bin/builds`).
"""
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packaging"))

import lib  # noqa: E402
import packages  # noqa: E402

#: Counts up when what is made changes: older ones are not taken then.
RECIPE = 2
#: What the program starts with; the modules that these need are its core, all others are plug-ins.
START = ["core", "launcher", "gradle-cli-main", "worker-main", "worker-processes", "tooling-api", "bootstrap", "daemon-services"]
#: Modules that Gradle asks for, whose classes are in no jar.
ABSENT = ["installation-beacon", "java-compiler-plugin", "instrumentation-agent", "gradle-cli", "daemon-main"]
#: The libraries that are left out: group, and the beginning of the file's name.
LIBRARIES = [("org.codehaus.groovy", "groovy"), ("org.jetbrains.kotlin", "kotlin-stdlib"), ("org.jetbrains.kotlin", "kotlin-reflect"),
             ("org.jetbrains.kotlin", "kotlin-stdlib-jdk7"), ("org.jetbrains.kotlin", "kotlin-stdlib-jdk8"), ("org.apache.ant", "ant"),
             ("org.apache.ant", "ant-launcher")]
#: Parts of Groovy that builds can do without.
UNUSED = {"groovy-docgenerator", "groovy-swing", "groovy-test-junit5", "groovy-testng"}
#: In the jar, this makes Gradle load builds and plug-ins with its own classes, in one loader.
FLAT = "META-INF/.gradle-runtime-shaded"
BEACON = "package org.gradle.internal.installation.beacon;\npublic class InstallationBeacon { }\n"
COMPILE = """package org.gradle.internal.compiler.java;
import java.util.*;
import java.util.function.*;
import javax.annotation.processing.Processor;
import javax.tools.JavaCompiler.CompilationTask;
/** Compiles, and does not say which class comes from which source: builds that use it say `incremental = false`. */
public class IncrementalCompileTask implements CompilationTask {
    private final CompilationTask task;
    public IncrementalCompileTask(CompilationTask task, Function<java.io.File, Optional<String>> relativize, Consumer<String> backup,
            Consumer<Map<String, Set<String>>> sources, BiConsumer<String, String> visible, BiConsumer<String, String> hidden) {
        this.task = task;
    }
    public void addModules(Iterable<String> names) { task.addModules(names); }
    public void setProcessors(Iterable<? extends Processor> processors) { task.setProcessors(processors); }
    public void setLocale(Locale locale) { task.setLocale(locale); }
    public Boolean call() { return task.call(); }
}
"""
SHARED = """package harness;
import java.util.*;
import org.gradle.initialization.GradleApiSpecProvider;
/** Plug-ins in Kotlin share Gradle's own Kotlin library, as the Kotlin DSL has it, which is not here. */
public class SharedKotlin extends GradleApiSpecProvider.SpecAdapter implements GradleApiSpecProvider {
    public Spec get() { return this; }
    public Set<String> getExportedPackages() { return Collections.singleton("kotlin"); }
}
"""
OPENED = ["java.util", "java.lang", "java.lang.invoke", "java.nio.charset", "java.net", "java.util.concurrent",
          "java.util.concurrent.atomic"]


def listed(text, key):
    found = re.search(rf"^{key}=(.*)$", text, re.M)
    return [item.strip() for item in found[1].split(",") if item.strip()] if found else []


def manifest(class_path):
    """A manifest whose lines have 70 bytes at most."""
    line = "Class-Path: " + " ".join(class_path) if class_path else ""
    pieces = [line[i:i + 69] for i in range(0, len(line), 69)]
    return "Manifest-Version: 1.0\n" + "\n ".join(pieces) + "\n\n"


def write_jar(path, members):
    with zipfile.ZipFile(path, "w") as jar:
        for name, content in members.items():
            jar.writestr(name, content)


class Modules:
    """What the jar says of Gradle's modules."""

    def __init__(self, jar):
        self.needs, self.files = {}, set()
        for name in jar.namelist():
            module = re.fullmatch(r"gradle-([a-z0-9-]+)-classpath\.properties", name)
            if module:
                text = jar.read(name).decode()
                self.needs[module[1]] = [p.removeprefix("gradle-") for p in listed(text, "projects")]
                self.files |= set(listed(text, "runtime"))
        self.plugins = set()
        for name in ("gradle-plugins.properties", "gradle-implementation-plugins.properties"):
            self.plugins |= {p.removeprefix("gradle-") for p in listed(jar.read(name).decode(), "plugins")}

    def core(self):
        found, waiting = set(), list(START)
        while waiting:
            module = waiting.pop()
            if module in self.needs and module not in found:
                found.add(module)
                waiting += self.needs[module]
        return found


def libraries(modules):
    """The libraries that the registry has by themselves: group, name, version."""
    for file in sorted(modules.files):
        parts = re.fullmatch(r"([a-z0-9-]+?)-(\d.*)\.jar", file)
        if not parts or parts[1] in UNUSED:
            continue
        for group, name in LIBRARIES:
            if parts[1] == name or (name == "groovy" and parts[1].startswith("groovy-")):
                yield group, parts[1], parts[2]


def make(version, home):
    fat = packages.fetch("dev.gradleplugins", "gradle-api", version)
    (home / "lib/plugins").mkdir(parents=True)
    (home / "bin").mkdir()
    everything, classes = f"gradle-all-{version}.jar", f"gradle-classes-{version}.jar"
    with zipfile.ZipFile(fat) as jar:
        modules = Modules(jar)
        written = {FLAT}
        with zipfile.ZipFile(home / "lib" / everything, "w") as copy, zipfile.ZipFile(home / "lib" / classes, "w") as bare:
            for name in jar.namelist():
                if name not in written:
                    written.add(name)
                    content = jar.read(name)
                    copy.writestr(name, content)
                    if name.endswith(".class"):
                        bare.writestr(name, content)
    for group, name, number in libraries(modules):
        shutil.copy(packages.fetch(group, name, number), home / "lib")
    real = [everything] + sorted(p.name for p in (home / "lib").glob("*.jar") if p.name not in (everything, classes))
    core = modules.core()
    wanted = {m for m in set(modules.needs) | modules.plugins if "kotlin-dsl" not in m} | set(ABSENT)
    for module in wanted:
        needs = [f"gradle-{m}" for m in modules.needs.get(module, []) if m in wanted]
        holds = real if module in core else []
        text = f"projects={','.join(needs)}\nruntime={','.join(holds)}\n"
        if module in ("language-groovy", "scala"):
            # Their compilers get a loader of their own, with this module's jar. Services must not be seen twice: classes alone.
            holds = [f"../{classes}"]
        members = {"META-INF/MANIFEST.MF": manifest(holds), f"gradle-{module}-classpath.properties": text}
        in_lib = module in core or (module in ABSENT and module != "java-compiler-plugin")
        write_jar(home / "lib" / ("" if in_lib else "plugins") / f"gradle-{module}-{version}.jar", members)
    for file in modules.files:
        if not (home / "lib" / file).exists() and not file.startswith("kotlin"):
            write_jar(home / "lib" / file, {"META-INF/MANIFEST.MF": manifest([])})
    add_class(home / "lib" / f"gradle-installation-beacon-{version}.jar", "InstallationBeacon", BEACON)
    add_class(home / "lib/plugins" / f"gradle-java-compiler-plugin-{version}.jar", "IncrementalCompileTask", COMPILE)
    core = home / "lib" / f"gradle-core-{version}.jar"
    add_class(core, "SharedKotlin", SHARED, home / "lib" / everything)
    with zipfile.ZipFile(core, "a") as jar:
        jar.writestr("META-INF/services/org.gradle.initialization.GradleApiSpecProvider", "harness.SharedKotlin\n")
    with zipfile.ZipFile(fat) as jar:
        if "org/gradle/launcher/Main.class" in jar.namelist():
            start(version, home, "gradle", "org.gradle.launcher.GradleMain")
        else:
            text = (Path(__file__).parent / "GradleBuilds.java").read_text()
            add_class(home / "lib" / f"gradle-launcher-{version}.jar", "GradleBuilds", text, home / "lib" / everything)
            start(version, home, "builds", "harness.GradleBuilds")


def add_class(jar, name, text, path=""):
    """Classes that are in no jar of the registry."""
    with tempfile.TemporaryDirectory() as work:
        source = Path(work) / f"{name}.java"
        source.write_text(text)
        subprocess.run(["javac", "-cp", str(path), "-d", work, str(source)], check=True)
        subprocess.run(["jar", "--update", "--file", str(jar), "-C", work, Path(text.split()[1].rstrip(";").replace(".", "/")).parts[0]], check=True)


def start(version, home, name, main):
    """The command, without the agent that is in no jar."""
    flags = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    flags += [f"--add-exports=jdk.compiler/com.sun.tools.javac.{p}=ALL-UNNAMED" for p in ("api", "util")]
    flags += ["--add-opens=java.prefs/java.util.prefs=ALL-UNNAMED", "-Xmx512m", "-XX:MaxMetaspaceSize=384m", "-Dfile.encoding=UTF-8",
              "-Duser.country=US", "-Duser.language=en", "-Duser.variant", "-Dorg.gradle.appname=gradle"]
    path = ":".join(f'"$home"/lib/gradle-{module}-{version}.jar' for module in ("launcher", "installation-beacon"))
    script = home / "bin" / name
    script.write_text("#!/bin/sh\nhome=$(cd \"$(dirname \"$0\")/..\" && pwd)\nexec \"${JAVA_HOME:+$JAVA_HOME/bin/}java\" "
                      + " ".join(flags) + f" -cp {path} {main}"
                      + " -Dorg.gradle.internal.instrumentation.agent=false \"$@\"\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def installation(version):
    """The folder of an installation, which is made if it is not there."""
    home = lib.CORPORA / f"gradle-{version}-{RECIPE}"
    if not home.is_dir():
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as work:
            make(version, Path(work) / "gradle")
            os.rename(Path(work) / "gradle", home)
    return home


if __name__ == "__main__":
    print(installation(sys.argv[1] if len(sys.argv) > 1 else "8.4"))
