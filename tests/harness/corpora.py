#!/usr/bin/env python3
"""Brings the corpora into `.cache/corpora` (or WEAVE_CORPORA), by the ordinary clients.

    corpora.py [--everyday | --full | --everything] [--count]

- `jdk<N>.jar`: the classes of the JDKs found on this machine (`jimage extract`)
- `maven/*.jar`: tests/corpora/maven.txt, with `mvn dependency:copy`
- `resolved/<name>/*.jar`: artifacts with their dependencies, with `mvn dependency:copy-dependencies`, for the scripts that ask
- `debian/<package>/*.jar`: tests/corpora/debian.txt, with `apt-get download` (not everyday)

Nothing is installed. What is there already is not fetched again.
"""

import argparse
import os
import pathlib
import struct
import subprocess
import zipfile
from collections import Counter

from lib import CORPORA, ROOT, Missing, Score, fresh, judges, locked, main, run, run_programs

LISTS = ROOT / "tests" / "corpora"


def entries(name):
    """The entries of a list file."""
    lines = (LISTS / name).read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


@locked("corpora")
def jdk_jar(version, home):
    """All classes of a JDK as one deflated jar, `module/package/Class.class`, in a fixed order."""
    jar = CORPORA / f"jdk{version}.jar"
    stamp = CORPORA / f"jdk{version}.from"
    release = (home / "release").read_text()
    if jar.exists() and stamp.exists() and stamp.read_text() == release:
        return jar
    folder = fresh(CORPORA / f"jdk{version}")
    run([home / "bin" / "jimage", "extract", "--dir", folder, home / "lib" / "modules"])
    partial = jar.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as out:
        for path in sorted(folder.rglob("*.class")):
            member = zipfile.ZipInfo(path.relative_to(folder).as_posix(), (2020, 1, 1, 0, 0, 0))
            out.writestr(member, path.read_bytes(), zipfile.ZIP_DEFLATED)
    partial.rename(jar)
    stamp.write_text(release)
    return jar


@locked("corpora")
def maven(wanted):
    """Copies artifacts of the Maven registry into `maven/`; answers their paths."""
    folder = CORPORA / "maven"
    folder.mkdir(parents=True, exist_ok=True)
    paths, items = [], []
    for line in wanted:
        group, artifact, version, kind, classifier = (line.split(":") + ["jar", ""])[:5] if line.count(":") < 4 else line.split(":")
        name = f"{artifact}-{version}{'-' + classifier if classifier else ''}.{kind}"
        path = folder / name
        paths.append(path)
        if not path.exists():
            items.append(
                f"<artifactItem><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
                f"<version>{version}</version><type>{kind}</type>"
                + (f"<classifier>{classifier}</classifier>" if classifier else "")
                + f"<destFileName>{name}</destFileName></artifactItem>"
            )
    if items:
        pom = fresh(CORPORA / "pom") / "pom.xml"
        pom.write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>corpora</groupId>"
            "<artifactId>corpora</artifactId><version>1</version><packaging>pom</packaging>"
            "<build><plugins><plugin><groupId>org.apache.maven.plugins</groupId>"
            "<artifactId>maven-dependency-plugin</artifactId><version>3.6.1</version><configuration>"
            f"<outputDirectory>{folder}</outputDirectory><artifactItems>{''.join(items)}</artifactItems>"
            "</configuration></plugin></plugins></build></project>"
        )
        run(["mvn", "-q", "-B", "-f", pom, "dependency:copy"])
    missing = [p.name for p in paths if not p.exists()]
    if missing:
        raise Missing(f"the Maven client did not bring {', '.join(missing)}")
    return paths


@locked("corpora")
def resolved(name, coordinates, junit="5.10.2"):
    """Artifacts (`group:artifact:version[:classifier]`) with what they depend on; answers the folder. Each part of JUnit
    has the version that is named."""
    folder = CORPORA / "resolved" / name
    stamp, wanted = folder / ".done", "\n".join([junit, *coordinates])
    if not stamp.exists() or stamp.read_text() != wanted:
        def element(line):
            group, artifact, version, *classifier = line.split(":")
            more = f"<classifier>{classifier[0]}</classifier>" if classifier else ""
            return f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>{more}</dependency>"

        pom = fresh(CORPORA / f"pom-{name}") / "pom.xml"
        pom.write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>corpora</groupId><artifactId>resolved</artifactId><version>1</version>"
            "<dependencyManagement><dependencies><dependency><groupId>org.junit</groupId><artifactId>junit-bom</artifactId>"
            f"<version>{junit}</version><type>pom</type><scope>import</scope></dependency></dependencies></dependencyManagement>"
            f"<dependencies>{''.join(map(element, coordinates))}</dependencies></project>"
        )
        run(["mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", f"-DoutputDirectory={fresh(folder)}"])
        stamp.write_text(wanted)
    return folder


@locked("corpora")
def debian(packages):
    """Downloads and unpacks Debian packages; answers the jars in them, symbolic links left out."""
    jars = []
    for package in packages:
        folder = CORPORA / "debian" / package
        if not (folder / ".done").exists():
            scratch = fresh(CORPORA / "deb" / package)
            # apt's unprivileged download user may not reach this folder: the warning it then gives is harmless.
            subprocess.run(["apt-get", "-qq", "download", package], cwd=scratch, check=True, stderr=subprocess.DEVNULL)
            fresh(folder)
            unpacked = scratch / "root"
            run(["dpkg", "-x", next(scratch.glob("*.deb")), unpacked])
            for jar in sorted(unpacked.rglob("*.jar")):
                if jar.is_symlink() or not jar.is_file():
                    continue
                target = folder / jar.name
                if not target.exists():
                    jar.rename(target)
            run(["rm", "-r", scratch])
            (folder / ".done").touch()
        jars += sorted(folder.glob("*.jar"))
    return jars


EVERYDAY = [
    "ant:ant:1.5",
    "bsh:bsh:1.3.0",
    "jython:jython:2.1",
    "rhino:js:1.5R4.1",
    "xalan:xalan:2.5.1",
    "com.google.guava:guava:33.4.8-jre",
    "org.apache.groovy:groovy:4.0.27",
    "org.clojure:clojure:1.12.1",
    "org.jetbrains.kotlin:kotlin-stdlib:2.2.0",
    "org.scala-lang:scala3-library_3:3.7.1",
    "org.eclipse.jdt:ecj:3.42.0",
]


def is_code(path):
    """Whether an artifact of the list holds classes (sources do not)."""
    return not path.name.endswith("-sources.jar")


# A third of all classes, most of them twice: only `everything` has them judged. programs.py runs both of Maven's.
LARGEST = ("org.jetbrains.kotlin:kotlin-compiler-embeddable:", "io.zipkin:zipkin-server:", "kotlin")


def of_scope(scope):
    """The artifacts of a scope (`--everyday`, `--full`, `--everything`), without the JDKs."""
    if scope == "--everyday":
        return maven(EVERYDAY)
    skip = () if scope == "--everything" else LARGEST
    libraries = [line for line in entries("maven.txt") if not line.startswith(tuple(s for s in skip if ":" in s))]
    return [p for p in maven(libraries) if is_code(p)] + debian([p for p in entries("debian.txt") if p not in skip])


def add_scopes(args):
    """The options that choose a scope, `scope` being its option."""
    group = args.add_mutually_exclusive_group()
    helps = ("the quick part (the default)", "most of it", "all there is")
    for name, told in zip(("--everyday", "--full", "--everything"), helps):
        group.add_argument(name, action="store_const", dest="scope", const=name, default="--everyday", help=told)


def run_chosen(doc, every, slow, what):
    """The body of a script that runs programs: all, those of a scope, or those that `--only` names."""
    args = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_scopes(args)
    args.add_argument("--only", action="append", choices=sorted(every), default=[])
    args = args.parse_args()
    score = Score()
    run_programs(score, args, every, slow)
    return score.finish(what)


def class_versions(path):
    """How many classes of each major version an artifact holds, nested jars included."""
    counts = Counter()
    with zipfile.ZipFile(path) as jar:
        for member in jar.infolist():
            if member.filename.endswith(".class"):
                with jar.open(member) as data:
                    head = data.read(8)
                if head[:4] == b"\xca\xfe\xba\xbe":
                    counts[struct.unpack(">H", head[6:8])[0]] += 1
            elif member.filename.endswith(".jar"):
                with jar.open(member) as data:
                    try:
                        counts += class_versions(data)
                    except zipfile.BadZipFile:
                        pass
    return counts


def body():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_scopes(args)
    args.add_argument("--count", action="store_true", help="count classes by major version")
    args = args.parse_args()
    CORPORA.mkdir(parents=True, exist_ok=True)
    paths = [jdk_jar(v, home) for v, home in sorted(judges().items())]
    paths += of_scope(args.scope)
    print(f"{len(paths)} artifacts in {os.path.relpath(CORPORA)}")
    if args.count:
        total = Counter()
        for path in paths:
            total += class_versions(pathlib.Path(path))
        for version, count in sorted(total.items()):
            print(f"version {version}: {count} classes")
        print(f"in all: {sum(total.values())} classes")
    return 0


if __name__ == "__main__":
    main(body)
