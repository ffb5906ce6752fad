#!/usr/bin/env python3
"""Makes the packages of build tools from a checkout: a Maven repository with the program, the hook library and the plug-ins
for Gradle and Maven, and NuGet packages for MSBuild.

    python3 packaging/packages.py [--static | --as-built | --program [CLASSIFIER=]FILE..] [--only maven|nuget] [OUT]

Without --program a program for this platform is packed; a release names the programs of all. On Linux it is built with musl, so that it
starts on any Linux; --static says that it must be so. Where Rust's target or a C compiler for musl are missing, and on other systems, it
is target/release/weave, which on Linux needs the glibc of this machine; --as-built takes that one. OUT is target/packages.
Needs a JDK (javac, jar) and Maven, which fetches what the plug-ins are compiled against; for NuGet alone, neither.
"""
import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

import nuget
from maven_plugin import descriptor as maven_plugin_xml

ROOT = Path(__file__).resolve().parent.parent
GROUP = "dev.weave"
PLUGIN = "dev.weave"
MAVEN_PLUGIN = "weave-maven-plugin"
GRADLE_API = ("dev.gradleplugins", "gradle-api", "7.6.4")
GROOVY = [("org.codehaus.groovy", name, "3.0.13") for name in ("groovy", "groovy-json")]
#: The oldest Maven that the plug-in is for.
MAVEN = "3.6.3"
MAVEN_API = [("org.apache.maven", f"maven-{part}", MAVEN) for part in ("plugin-api", "core", "model", "artifact")]
MAVEN_API += [("org.apache.maven.resolver", "maven-resolver-api", "1.4.1"), ("org.codehaus.plexus", "plexus-utils", "3.2.1")]
#: Reads what the program answers.
GSON = ("com.google.code.gson", "gson", "2.8.9")
#: The system and processor of each platform, as profiles of Maven name them.
SYSTEMS = {"linux-x86_64": ("<name>linux</name>", "amd64"), "linux-aarch_64": ("<name>linux</name>", "aarch64"),
           "osx-x86_64": ("<family>mac</family>", "x86_64"), "osx-aarch_64": ("<family>mac</family>", "aarch64"),
           "windows-x86_64": ("<family>windows</family>", "amd64")}
URL = "https://www.apache.org/licenses/LICENSE-2.0"


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], text=True, capture_output=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done.stdout


def version(program):
    return run(program, "--version").split()[1]


def classifier():
    system = {"Linux": "linux", "Darwin": "osx", "Windows": "windows"}[platform.system()]
    machine = {"x86_64": "x86_64", "AMD64": "x86_64", "aarch64": "aarch_64", "arm64": "aarch_64"}[platform.machine()]
    return f"{system}-{machine}"


def fetch(group, artifact, number, extension="jar"):
    """The path of an artifact of the registry in the local repository."""
    local = Path(os.environ.get("MAVEN_LOCAL", Path.home() / ".m2/repository"))
    path = local / group.replace(".", "/") / artifact / number / f"{artifact}-{number}.{extension}"
    if not path.is_file():
        run("mvn", "-q", "-B", f"-Dmaven.repo.local={local}", "org.apache.maven.plugins:maven-dependency-plugin:2.8:get",
            f"-Dartifact={group}:{artifact}:{number}:{extension}", "-Dtransitive=false")
    return path


def pom(group, artifact, number, packaging, about, dependencies=""):
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>{group}</groupId>
  <artifactId>{artifact}</artifactId>
  <version>{number}</version>
  <packaging>{packaging}</packaging>
  <name>{escape(about)}</name>
  <licenses><license><name>Apache-2.0</name><url>{URL}</url></license><license><name>MIT</name></license></licenses>
  {dependencies}
</project>
"""


class Repository:
    """A Maven repository in a folder."""

    def __init__(self, root, number):
        self.root, self.number = root, number

    def add(self, artifact, about, files, packaging="jar", group=GROUP, dependencies=""):
        """Adds an artifact; `files` are paths by what follows the version in their names (`.jar`, `-linux-x86_64.exe`)."""
        folder = self.root / group.replace(".", "/") / artifact / self.number
        folder.mkdir(parents=True, exist_ok=True)
        stem = f"{artifact}-{self.number}"
        (folder / f"{stem}.pom").write_text(pom(group, artifact, self.number, packaging, about, dependencies))
        for suffix, path in files.items():
            shutil.copyfile(path, folder / f"{stem}{suffix}")
        for suffix in [".pom", *files]:
            add_checksums(folder / f"{stem}{suffix}")


def add_checksums(path):
    """Writes the checksums beside a file: Maven warns where there are none, and stops where it shall."""
    content = path.read_bytes()
    for name in ("md5", "sha1", "sha256", "sha512"):
        Path(f"{path}.{name}").write_text(hashlib.new(name, content).hexdigest())


def dependency(group, artifact, number, more=""):
    return (f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{number}</version>{more}</dependency>")


def maven_needs(number, platforms):
    """What the Maven plug-in needs. The program is among it, so that what fetches all that a build needs fetches it, too."""
    profiles = []
    for name in sorted(platforms):
        system, processor = SYSTEMS[name]
        program = dependency(GROUP, "weave", number, f"<classifier>{name}</classifier><type>exe</type>")
        profiles.append(f"""<profile><id>{name}</id><activation><os>{system}<arch>{processor}</arch></os></activation>
    <dependencies>{program}</dependencies></profile>""")
    return f"<dependencies>{dependency(*GSON)}</dependencies>\n  <profiles>{''.join(profiles)}</profiles>"


def compiled(work, name, api):
    """The classes of a plug-in, which run on Java 8."""
    classes = work / name
    classes.mkdir()
    # What both plug-ins have in common.
    sources = sorted(path for part in (name, "plugins") for path in (ROOT / part / "src/main/java").rglob("*.java"))
    path = os.pathsep.join(str(fetch(*artifact)) for artifact in api)
    # Declarations of what no registry has stay out of the jar.
    declared = sorted((ROOT / name / "src/android/java").rglob("*.java"))
    if declared:
        stubs = work / f"{name} declarations"
        stubs.mkdir()
        run("javac", "-nowarn", "-Xlint:-options", "--release", "8", "-cp", path, "-d", stubs, *declared)
        path += os.pathsep + str(stubs)
    run("javac", "-nowarn", "-Xlint:-options", "-encoding", "UTF-8", "--release", "8", "-cp", path, "-d", classes, *sources)
    return classes


def packed(work, name, classes):
    """A jar, the same bytes each time."""
    jar = work / f"{name}.jar"
    run("jar", "--create", "--file", jar, "--date=2020-01-01T00:00:00Z", "-C", classes, ".")
    return jar


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def gradle_plugin(work, number):
    classes = compiled(work, "gradle", [GRADLE_API, *GROOVY])
    write(classes / "dev/weave/gradle/version.properties", f"version={number}\n")
    write(classes / f"META-INF/gradle-plugins/{PLUGIN}.properties", "implementation-class=dev.weave.gradle.WeavePlugin\n")
    return packed(work, "gradle", classes)


def maven_plugin(work, number):
    classes = compiled(work, "maven", [*MAVEN_API, GSON])
    write(classes / "META-INF/maven/plugin.xml", maven_plugin_xml(GROUP, MAVEN_PLUGIN, number))
    shutil.copytree(ROOT / "maven/src/main/resources", classes, dirs_exist_ok=True)
    return packed(work, "maven", classes)


def make_maven(program, programs, out):
    """Makes the Maven repository; `program` runs here, `programs` are what is packed, by classifier."""
    number = version(program)
    repository = Repository(out / "maven", number)
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        run(program, "runtime", work / "runtime.jar")
        files = {f"-{name}.exe": path for name, path in sorted(programs.items())}
        repository.add("weave", "Weave: the program", files, packaging="pom")
        repository.add("weave-runtime", "Weave: the hook library", {".jar": work / "runtime.jar"})
        repository.add("weave-gradle-plugin", "Weave: the Gradle plug-in", {".jar": gradle_plugin(work, number)})
        repository.add(MAVEN_PLUGIN, "Weave: the Maven plug-in", {".jar": maven_plugin(work, number)}, "maven-plugin",
                       dependencies=maven_needs(number, programs))
        plugin = f"<dependencies>{dependency(GROUP, 'weave-gradle-plugin', number)}</dependencies>"
        repository.add(f"{PLUGIN}.gradle.plugin", "Weave: the Gradle plug-in's id", {}, "pom", PLUGIN, plugin)
    return repository


def make(program, out):
    """The Maven repository for this platform."""
    return make_maven(program, {classifier(): program}, out)


def sources():
    """Where the sources are, and which they are, as a release names them (WEAVE_REPOSITORY, WEAVE_COMMIT)."""
    return os.environ.get("WEAVE_REPOSITORY", ""), os.environ.get("WEAVE_COMMIT", "")


def needs_of(program):
    """The interpreter and libraries that a program of Linux asks for; none if it is static."""
    told = run("readelf", "--program-headers", "--dynamic", "--wide", program)
    return re.findall(r"Requesting program interpreter: ([^]]+)|\(NEEDED\).*\[(.+)\]", told)


def check_static(program):
    """Ends if a program does not start where nothing else is."""
    needs = needs_of(program)
    if needs:
        sys.exit(f"{program} is not static: it needs {needs}")
    if os.geteuid() != 0:
        # Only root may give a process a root folder of its own.
        return
    with tempfile.TemporaryDirectory() as root:
        shutil.copy(program, Path(root) / "weave")
        try:
            told = subprocess.run(["/weave", "--version"], text=True, capture_output=True, preexec_fn=lambda: os.chroot(root), cwd=root)
            why = told.stderr if told.returncode or not told.stdout.startswith("weave ") else None
        except OSError as e:
            why = e
    if why is not None:
        sys.exit(f"{program} does not start in an empty folder: {why}")


def static_program(must):
    """Builds the program for any Linux of this processor. None: it cannot be built here, and need not."""
    target = f"{platform.machine()}-unknown-linux-musl"
    rust = shutil.which("rustc")
    installed = rust and (Path(run(rust, "--print", "sysroot").strip()) / "lib/rustlib" / target).is_dir()
    if not installed or not shutil.which("musl-gcc"):
        why = f"a static program needs Rust's target and a C compiler for musl: rustup target add {target}, and Debian's package musl-tools"
        if must:
            sys.exit(why)
        print(f"note: {why}", file=sys.stderr)
        return None
    run("cargo", "build", "--release", "--target", target, cwd=ROOT)
    built = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / target / "release/weave"
    check_static(built)
    return built


def make_nuget(program, programs, out):
    with tempfile.TemporaryDirectory() as work:
        library = Path(work) / "Weave.Runtime.dll"
        run(program, "runtime", library)
        return nuget.make(ROOT, out / "nuget", version(program), programs, library, *sources())


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    name = "weave.exe" if platform.system() == "Windows" else "weave"
    options.add_argument("--program", action="append", default=[])
    options.add_argument("--only", choices=("maven", "nuget"))
    options.add_argument("out", type=Path, nargs="?", default=ROOT / "target/packages")
    options.add_argument("--check-static", type=Path, help="only look whether this program is static, so that it starts on any Linux; root sees it start")
    options.add_argument("--static", action="store_true")
    options.add_argument("--as-built", action="store_true")
    args = options.parse_args()
    if args.check_static:
        check_static(args.check_static.resolve())
        sys.exit(0)
    if args.static and (args.program or args.as_built or platform.system() != "Linux"):
        sys.exit("--static builds a program for Linux, on Linux; --program and --as-built name one that is there")
    own = None
    if platform.system() == "Linux" and not args.program and not args.as_built:
        own = static_program(args.static)
    own = own or Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "release" / name
    named = [p.rpartition("=") for p in args.program] or [("", "", own)]
    programs = {platform_name or classifier(): Path(path).resolve() for platform_name, _, path in named}
    unknown = sorted(set(programs) - set(nuget.FOLDERS))
    if unknown:
        sys.exit(f"no platform is named {', '.join(unknown)}: there are {', '.join(nuget.FOLDERS)}")
    if classifier() not in programs:
        sys.exit(f"a program for this platform is needed, too: --program {classifier()}=FILE")
    program = programs[classifier()]
    for name, path in sorted(programs.items()):
        if name.startswith("linux") and shutil.which("readelf") and needs_of(path):
            print(f"note: the program for {name} needs a glibc as new as that of the machine that built it; --static packs one that needs none", file=sys.stderr)
    for what, maker in (("maven", make_maven), ("nuget", make_nuget)):
        if args.only in (None, what):
            maker(program, programs, args.out)
    for path in sorted(args.out.rglob("*")):
        if path.is_file():
            print(path.relative_to(args.out))


if __name__ == "__main__":
    main()
