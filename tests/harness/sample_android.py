#!/usr/bin/env python3
"""samples/android: an apk woven by its own rules, judged by Android's tools, and run on the JVM by way of enjarify.

What its trace must show is written down here, call by call. Its baseline profile must name the same methods after as
before.
"""

import json
import os
import shutil
import struct
import zipfile
import zlib
from collections import Counter

import check_trace
from lib import ROOT, WORK, Missing, Score, fresh, main, oldest_jdk, run, weave_binary

SAMPLE = ROOT / "samples" / "android"
KEYS = ROOT / "tests" / "keys"
SIGN = ["--key", KEYS / "rsa.pem", "--cert", KEYS / "rsa-cert.pem"]
TOOLS = ("aapt", "apksigner", "baksmali", "dexdump", "enjarify", "zipalign")
PROFILE = "assets/dexopt/baseline.prof"
PAGE = 16_384
# Stands for Android's own trace on the JVM.
TRACE_CLASS = ROOT / "tests" / "harness" / "android" / "os" / "Trace.java"
# Written by two threads: 20 notes; a 21st is refused by its constructor.
NOTES = 20
# `weight` is called once by `work`, and by each round of `average`.
WEIGHTS = 1 + 39

CALLS = Counter({
    "Desk.main": 1,
    "Desk.work": 1,
    "Desk.write": 2,
    "Desk.average": 1,
    "Desk$1.<init>": 2,
    "Desk$1.run": 2,
    "Notebook.<init>": 1,
    "Notebook.add": NOTES,
    "Notebook.size": 1,
    "Notebook.weight": WEIGHTS,
    "Notebook.find": 1,
    "Notebook.get": 3,
    "Notebook.count": 3,
    # Hooks are behind `this(..)`, where the 21st never gets.
    "Note.<init>(ILjava/lang/String;)V": NOTES,
    "Note.<init>(ILjava/lang/String;Z)V": NOTES + 1,
    "Note.<clinit>": 1,
    "Note.kinds": 1,
    "Note.kindName": 4,
    "Note.weight": NOTES * WEIGHTS,
    "Note.toString": 1,
    "LostNoteException.<init>": 2,
})
# Nothing of theirs takes time: one hook tells of the whole call. (No section fits into that.)
LEAVES = {"Desk$1.<init>", "LostNoteException.<init>", "Notebook.count"}
ERRORS = Counter({"Note.<init>(ILjava/lang/String;Z)V": 1, "Notebook.get": 2})
EXCEPTIONS = Counter({
    ("java.lang.IllegalArgumentException", "a note has no number -1"): 1,
    ("notes.LostNoteException", "note 3 is lost"): 1,
    ("notes.LostNoteException", "note 4 is lost"): 1,
})


def named(trace, counts):
    """Counts by the names used above."""
    result = Counter()
    for method, n in counts.items():
        owner, name, descriptor = trace.symbols[method]
        owner = owner.replace("/", ".").removeprefix("notes.")
        if owner == "Note" and name == "<init>":
            name += descriptor
        result[f"{owner}.{name}"] += n
    return result


def method_names(dex):
    """The methods of a dex file in the order of its table: class, name, and shape."""
    def table(at):
        return struct.unpack_from("<II", dex, at)

    def string(i):
        at = struct.unpack_from("<I", dex, table(0x38)[1] + 4 * i)[0]
        while dex[at] & 0x80:
            at += 1
        at += 1
        return dex[at:dex.index(0, at)]

    def ty(i):
        return string(struct.unpack_from("<I", dex, table(0x40)[1] + 4 * i)[0])

    count, at = table(0x58)
    names = []
    for i in range(count):
        owner, proto, name = struct.unpack_from("<HHI", dex, at + 8 * i)
        _, returns, params = struct.unpack_from("<III", dex, table(0x48)[1] + 12 * proto)
        types = struct.unpack_from(f"<{struct.unpack_from('<I', dex, params)[0]}H", dex, params + 4) if params else ()
        names.append((ty(owner), string(name), tuple(ty(t) for t in types), ty(returns)))
    return names


def make_profile(dexes):
    """A profile of version 010 for dex files: of the methods every second is hot, every third used at start."""
    heads, bodies = b"", b""
    for name, dex in dexes.items():
        count = len(method_names(dex))
        hot = range(0, count, 2)
        region = b"".join(struct.pack("<HH", 2 if i else 0, 0) for i in hot)
        heads += struct.pack("<HHIII", len(name), 1, len(region), zlib.crc32(dex), count) + name.encode()
        bits = sum(1 << i for i in range(0, count, 3)) | sum(1 << count + i for i in range(1, count, 3))
        bodies += region + struct.pack("<H", 1) + bits.to_bytes((2 * count + 7) // 8, "little")
    body = heads + bodies
    data = zlib.compress(body)
    return b"pro\x00010\0" + struct.pack("<BII", len(dexes), len(body), len(data)) + data


def profiled(profile, dexes):
    """The methods that a profile names, by dex file and use. Fails where it is not one for these dex files."""
    count, size, packed = struct.unpack_from("<BII", profile, 8)
    body = zlib.decompress(profile[17:])
    assert len(profile) == 17 + packed and len(body) == size
    at, heads, found = 0, [], set()
    for _ in range(count):
        key, types, region, checksum, methods = struct.unpack_from("<HHIII", body, at)
        name = body[at + 16:at + 16 + key].decode()
        names = method_names(dexes[name])
        assert checksum == zlib.crc32(dexes[name]) and methods == len(names), name
        heads.append((name, types, region, names))
        at += 16 + key
    for name, types, region, names in heads:
        method = 0
        for i in range(region // 4):
            delta, caches = struct.unpack_from("<HH", body, at + 4 * i)
            assert caches == 0
            method += delta
            found.add((name, "hot", names[method]))
        at += region + 2 * types
        length = (2 * len(names) + 7) // 8
        bits = int.from_bytes(body[at:at + length], "little")
        at += length
        for i in range(2 * len(names)):
            if bits >> i & 1:
                found.add((name, "start" if i < len(names) else "after", names[i % len(names)]))
    assert at == len(body)
    return found


def dexes_of(apk):
    with zipfile.ZipFile(apk) as archive:
        return {n: archive.read(n) for n in archive.namelist() if n.endswith(".dex")}


def data_offset(path, info):
    with open(path, "rb") as file:
        file.seek(info.header_offset + 26)
        name, extra = struct.unpack("<HH", file.read(4))
    return info.header_offset + 30 + name + extra


def build(folder):
    """The sample with a baseline profile."""
    run(["sh", SAMPLE / "build.sh", folder])
    apk = folder / "notes.apk"
    with zipfile.ZipFile(apk, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(PROFILE, make_profile(dexes_of(apk)))
    run(["zipalign", "-f", "-p", "4", apk, folder / "aligned.apk"])
    (folder / "aligned.apk").rename(apk)
    return apk


def to_jars(dexes, folder):
    """Dex files as jars, on the same order of class path."""
    jars = []
    for name, dex in sorted(dexes.items()):
        path = folder / name
        path.write_bytes(dex)
        jar = folder / f"{name}.jar"
        # enjarify runs with the system's Python, whose module it is.
        path_first = os.pathsep.join(["/usr/bin", os.environ["PATH"]])
        told = run(["enjarify", "-f", "-o", jar, path], env={**os.environ, "PATH": path_first}).stdout
        if "0 classes had errors" not in told:
            raise RuntimeError(f"enjarify {name}: {told}")
        jars.append(jar)
    return jars


def judged(score, what, apk, folder):
    """What Android's tools say of a woven apk."""
    verified = run(["apksigner", "verify", "--verbose", "--min-sdk-version", "21", apk], check=False).stdout
    for scheme in ("v1 scheme (JAR signing)", "v2 scheme (APK Signature Scheme v2)", "v3 scheme (APK Signature Scheme v3)"):
        good = f"Verified using {scheme}: true" in verified
        score.check(f"{what}: apksigner: {scheme}", good, "" if good else verified[:300])
    aligned = run(["zipalign", "-c", "-p", "4", apk], check=False)
    score.check(f"{what}: zipalign", aligned.returncode == 0, aligned.stdout[-200:])
    with zipfile.ZipFile(apk) as archive:
        libraries = [i for i in archive.infolist() if i.filename.endswith(".so")]
    offsets = [data_offset(apk, i) % PAGE for i in libraries]
    score.check(f"{what}: native libraries at pages of 16 KiB", offsets == [0], str(offsets))
    badging = [run(["aapt", "dump", "badging", a]).stdout for a in (folder / "notes.apk", apk)]
    score.check(f"{what}: aapt tells the same", badging[0] == badging[1])
    for name, dex in dexes_of(apk).items():
        path = folder / name
        path.write_bytes(dex)
        dumped = run(["dexdump", path], check=False)
        score.check(f"{what}: dexdump {name}", dumped.returncode == 0, dumped.stderr[-200:])
        smali = run(["baksmali", "disassemble", path, "-o", fresh(folder / "smali")], check=False)
        score.check(f"{what}: baksmali {name}", smali.returncode == 0, smali.stderr[-200:])
    if not score.check(f"{what}: weave verify", run([weave_binary(), "verify", apk], check=False).returncode == 0):
        print(run([weave_binary(), "verify", apk], check=False).stdout[-2000:])


def traced(score, what, command, path, printed, env=None, leaves=True):
    """Runs a woven program and compares its trace with what it must show."""
    ran = run(command, env={**os.environ, "WEAVE_TRACE": str(path), **(env or {})})
    score.check(f"{what}: the same output", ran.stdout == printed, ran.stderr[:300])
    trace = check_trace.read(path)
    score.check(f"{what}: a whole, balanced trace", not trace.problems and trace.orderly, str(trace.problems))
    for name, found, expected in (
        ("calls", named(trace, trace.calls), CALLS),
        ("exceptions that leave methods", named(trace, trace.errors), ERRORS),
        ("exceptions by type and message", trace.exceptions, EXCEPTIONS),
        ("returns", named(trace, trace.exits), CALLS - ERRORS),
    ):
        score.counts(f"{what}: {name}", found, expected)
    told = json.loads(run([weave_binary(), "report", "--json", path]).stdout)
    calls = sum(m["calls"] for m in told["methods"])
    score.check(f"{what}: weave report tells the same calls", calls == sum(CALLS.values()), str(calls))
    instant = {f"{m['type']}.{m['method']}".removeprefix("notes/") for m in told["methods"] if m["max_ns"] == 0}
    score.check(f"{what}: which calls take no time", instant & LEAVES == (LEAVES if leaves else set()), str(instant))


HOOKED = ["audit: note 3: notes.Notebook.get: note 3 is lost", "audit: note 4: notes.Notebook.get: note 4 is lost",
          "audit: note 5: n5", "audit: 40 rounds from 2.5: 3843.0"]
RECORDED = [("error", {"number": 3}), ("error", {"number": 4}), ("exit", {"number": 5, "note": "n5"})]


def hooked(score, weave, apk, folder, command, printed):
    """The app with hooks of its own, in a dex file, and recorded values."""
    what = "own hooks"
    run(["sh", SAMPLE / "hooks/build.sh", folder])
    woven, trace = folder / "hooked.apk", folder / "hooked.wtrace"
    run([weave, "-q", "--strict", "--rules", folder / "hooks.toml", *SIGN, apk, woven])
    judged(score, what, woven, folder)
    jars = to_jars(dexes_of(woven), fresh(folder / "jars"))
    path = os.pathsep.join(map(str, [woven, *jars]))
    ran = run([*command, path, "notes.Desk"], env={**os.environ, "WEAVE_TRACE": str(trace)})
    score.check(f"{what}: the same output", ran.stdout == printed)
    score.check(f"{what}: what they say", ran.stderr.splitlines() == HOOKED, "" if ran.stderr.splitlines() == HOOKED else ran.stderr[:2000])
    told = json.loads(run([weave, "report", "--json", "--calls", trace]).stdout)
    calls = sorted(told["calls"], key=lambda call: call["start_ns"])
    found = [(call["outcome"], call["values"]) for call in calls]
    score.check(f"{what}: recorded values", found == RECORDED, str(found))


def sections(score, weave, apk, folder, command, printed):
    """Weaves sections of Android's own trace, by themselves and within the hooks, and counts them."""
    rules = folder / "sections.toml"
    rules.write_text((SAMPLE / "weave.toml").read_text().replace('"notes"', '"sections"') + 'hooks = "android-trace"\n')
    stand_in = fresh(folder / "trace")
    run([oldest_jdk() / "bin" / "javac", "-d", stand_in, TRACE_CLASS])
    expected = Counter({"open": 0})
    for name, n in CALLS.items():
        expected[f"notes.{name.partition('(')[0]}"] += n
    for what, hooks in (("sections", []), ("sections within hooks", ["--rules", SAMPLE / "weave.toml"])):
        woven, told = folder / "sections.apk", folder / "sections.txt"
        run([weave, "-q", "--strict", "--rules", rules, *hooks, *SIGN, apk, woven])
        judged(score, what, woven, folder)
        dexes = dexes_of(woven)
        score.check(f"{what}: the hook library only for hooks", ("classes3.dex" in dexes) == bool(hooks))
        jars = to_jars(dexes, fresh(folder / "jars"))
        path = os.pathsep.join(map(str, [stand_in, woven, *jars]))
        env = {"SECTIONS": str(told)}
        if hooks:
            traced(score, what, [*command, path, "notes.Desk"], folder / "sections.wtrace", printed, env, leaves=False)
        else:
            ran = run([*command, path, "notes.Desk"], env={**os.environ, **env})
            score.check(f"{what}: the same output", ran.stdout == printed, ran.stderr[:300])
        lines = (line.split(" ", 1) for line in told.read_text().splitlines())
        found = Counter({name: int(count) for count, name in lines})
        same = found.items() == expected.items()
        score.check(f"{what}: each call has one, with its end", same, str(found.items() ^ expected.items()))
        run([weave, "-q", "--rules", rules, *hooks, woven, folder / "twice.apk"])
        score.check(f"{what}: woven again: identical", (folder / "twice.apk").read_bytes() == woven.read_bytes())


def body():
    lacking = [tool for tool in TOOLS if not shutil.which(tool)]
    if lacking:
        raise Missing(f"{', '.join(lacking)}: install them (tests/setup.sh)")
    score = Score()
    folder = fresh(WORK / "sample-android")
    apk, weave = build(folder), weave_binary()
    java = oldest_jdk() / "bin" / "java"
    # enjarify gives each method a stack of 300 words, so that frames take 40 times what they need.
    run_desk = [java, "-Xverify:all", "-Xss16m", "-cp"]
    plain = to_jars(dexes_of(apk), fresh(folder / "plain"))
    printed = run([*run_desk, os.pathsep.join(map(str, plain)), "notes.Desk"]).stdout
    score.check("the sample runs", len(printed.splitlines()) == 8)

    rules = ["-q", "--strict", "--rules", SAMPLE / "weave.toml"]
    woven = folder / "woven.apk"
    run([weave, *rules, *SIGN, apk, woven])
    judged(score, "woven.apk", woven, folder)
    again = folder / "again.apk"
    run([weave, *rules, *SIGN, "--jobs", "1", apk, again])
    score.check("the same apk each time", woven.read_bytes() == again.read_bytes())
    before, after = dexes_of(apk), dexes_of(woven)
    score.check("the hook library is the next dex file", sorted(after) == [*sorted(before), "classes3.dex"], str(sorted(after)))
    with zipfile.ZipFile(apk) as old, zipfile.ZipFile(woven) as new:
        profiles = profiled(old.read(PROFILE), before), profiled(new.read(PROFILE), after)
    score.check("the profile names the same methods", profiles[0] == profiles[1], f"{len(profiles[0])}")
    jars = to_jars(after, fresh(folder / "jars"))
    path = os.pathsep.join(map(str, [woven, *jars]))
    traced(score, "woven.apk on the JVM", [*run_desk, path, "notes.Desk"], folder / "apk.wtrace", printed)

    # A dex file by itself: the hook library comes beside it, and the map is given to the reader.
    alone = folder / "alone.dex"
    run([weave, *rules, folder / "plain" / "classes.dex", alone])
    jars = to_jars({"alone.dex": alone.read_bytes()}, fresh(folder / "alone"))
    run([weave, "runtime", folder / "weave-runtime.jar"])
    path = os.pathsep.join(map(str, [*jars, folder / "weave-runtime.jar", plain[1]]))
    trace = folder / "alone.wtrace"
    ran = run([*run_desk, path, "notes.Desk"], env={**os.environ, "WEAVE_TRACE": str(trace)})
    score.check("a dex file alone: the same output", ran.stdout == printed, ran.stderr[:300])
    told = run([weave, "report", trace, "--symbols", f"{alone}.wsym", "--json"]).stdout
    calls = sum(m["calls"] for m in json.loads(told)["methods"])
    expected = sum(n for name, n in CALLS.items() if not name.startswith(("Note.", "Lost")))
    score.check("a dex file alone: the calls of its classes", calls == expected, f"{calls}, {expected}")

    sections(score, weave, apk, folder, run_desk, printed)
    hooked(score, weave, apk, folder, run_desk, printed)

    # What no rule means stays as it is, signature and all.
    none = folder / "none.toml"
    none.write_text('version = 1\n[[aspect]]\nmatch = { type = "no.such.Type" }\n')
    run([weave, "-q", "--rules", none, woven, folder / "same.apk"])
    score.check("nothing matches: identical", (folder / "same.apk").read_bytes() == woven.read_bytes())
    # Woven already: nothing to do.
    run([weave, "-q", "--rules", SAMPLE / "weave.toml", woven, folder / "twice.apk"])
    score.check("woven again: identical", (folder / "twice.apk").read_bytes() == woven.read_bytes())
    # Without a key the old signature goes, and it is said.
    told = run([weave, "--rules", "pack:all", woven, folder / "unsigned.apk"]).stderr
    gone = run(["apksigner", "verify", folder / "unsigned.apk"], check=False).returncode != 0
    score.check("no key: the signature goes with a word", gone and "its signature" in told, told[:300])
    return score.finish("samples/android")


if __name__ == "__main__":
    main(body)
