#!/usr/bin/env python3
"""The judges judged: what is broken on purpose must be told, by each judge and on each JDK."""

import os
import struct
import sys
import zipfile

import check_corpora
import check_trace
from lib import ROOT, WORK, Score, fresh, judges, main, oldest_jdk, run


def compiled(folder, package, options):
    """A class `Broken` whose method returns an int, its last instruction made to return a reference."""
    source = folder / "Broken.java"
    source.write_text(f"package {package}; public class Broken {{ static int one() {{ return 1; }} }}")
    run([oldest_jdk() / "bin" / "javac", *options, "-d", folder / "out", source])
    good = (folder / "out" / package.replace(".", "/") / "Broken.class").read_bytes()
    # iconst_1 ireturn, JVMS 6.5; areturn is 0xb0.
    assert good.count(b"\x04\xac") == 1
    return good, good.replace(b"\x04\xac", b"\x04\xb0")


def jar(path, members):
    with zipfile.ZipFile(path, "w") as out:
        for name, data in members.items():
            out.writestr(name, data)


def linking(score):
    folder = fresh(WORK / "broken")
    check_corpora.oracle_classes()
    good, bad = compiled(folder, "acme", ["--release", "8"])
    jar(folder / "nested.jar", {"acme/Broken.class": bad})
    jar(
        folder / "plain.jar",
        {
            "acme/Broken.class": good,
            "META-INF/versions/9/acme/Broken.class": bad,
            "lib/nested.jar": (folder / "nested.jar").read_bytes(),
        },
    )
    own_good, own_bad = compiled(folder, "java.util", ["--patch-module", f"java.base={folder}"])
    jar(folder / "own.jar", {"java.base/java/util/Broken.class": own_bad})
    jar(folder / "own-good.jar", {"java.base/java/util/Broken.class": own_good})
    for version, home in judges().items():
        told, linked = check_corpora.link(home, folder, ["plain.jar"], False, [], folder)
        kinds = {member: kind for (_, member), (kind, _) in told.items()}
        expected = {"META-INF/versions/9/acme/Broken": "VerifyError", "lib/nested.jar!/acme/Broken": "VerifyError"}
        score.check(f"JDK {version} tells a broken class", kinds == expected and linked == 1, str(kinds))
        told, linked = check_corpora.link(home, folder, ["own.jar"], True, [], folder)
        kinds = [kind for kind, _ in told.values()]
        score.check(f"JDK {version} tells a broken class in java.util", kinds == ["VerifyError"] and linked == 0, str(kinds))
        told, linked = check_corpora.link(home, folder, ["own-good.jar"], True, [], folder)
        score.check(f"JDK {version} links a good class in java.util", not told and linked == 1, str(told))


def header():
    """A trace's header chunk."""
    head = struct.pack("<8sHHIQQIIQQQQQI", b"WTRACE\r\n", 1, 0, 65536, 0, 7, 0, 1, 1 << 20, 0, 0, 0, 0, 0)
    return head.ljust(65536, b"\0")


def chunk(thread, segment, words, serial=1, clock=0):
    data = struct.pack("<4sIQIIQ", b"WCHK", 1, serial, thread, segment, clock)
    return (data + b"".join(struct.pack("<Q", w) for w in words)).ljust(65536, b"\0")


def enter(method):
    return method << 32 | 5 << 2 | 1


def leave(method):
    return method << 32 | 5 << 2 | 2


def logical(call, flags, record):
    """A record of a logical call."""
    return [check_trace.LOGICAL << 2 | 1 << 8 | flags << 32, call, record]


def tracing(score):
    path = fresh(WORK / "traces") / "t.wtrace"

    def problems(*chunks):
        path.write_bytes(header() + b"".join(chunks))
        # But for the last check: these traces have no symbols.
        return check_trace.read(path, named=False).problems

    score.check("a balanced trace is balanced", problems(chunk(1, 0, [enter(1), enter(2), leave(2), leave(1)])) == [])
    score.check("an exit of another method is told", problems(chunk(1, 0, [enter(1), leave(2)])) != [])
    score.check("a missing exit is told", problems(chunk(1, 0, [enter(1), enter(2), leave(2)])) != [])
    score.check("a missing segment is told", problems(chunk(1, 1, [enter(1), leave(1)])) != [])
    score.check(
        "segments are read in their own order",
        problems(chunk(1, 1, [leave(1)], 1), chunk(1, 0, [enter(1)], 2)) == [],
    )
    one, two = logical(7, check_trace.FIRST, enter(1)), logical(7, check_trace.LAST, leave(1))
    whole = [chunk(1, 0, [*one, leave(1)], 1), chunk(2, 0, [*logical(7, 0, enter(1)), *two], 2, 5000)]
    score.check("a logical call on two threads is well", problems(*whole) == [], str(problems(*whole)))
    for what, broken in (
        ("a piece that overlaps another", [
            chunk(1, 0, [*one, leave(1) | 0x3FFFFFF0 << 2], 1), chunk(2, 0, [*logical(7, 0, enter(1)), *two], 2, 9_000_000)]),
        ("two ends", [chunk(1, 0, [*one, *two, *logical(7, 0, enter(1)), *two])]),
        ("a call that never begins", [chunk(1, 0, [*logical(7, 0, enter(1)), *two])]),
        ("a piece that ends as another call's", [chunk(1, 0, [*one, *logical(8, check_trace.LAST, leave(1))])]),
        ("a piece after the end", [chunk(1, 0, [*one, *two, *logical(7, 0, enter(1)), leave(1)])]),
    ):
        score.check(f"{what} is told", problems(*broken) != [])
    path.write_bytes(header() + chunk(1, 0, [enter(1), enter(2), enter(3)]))
    left = [check_trace.read(path, running=True, named=False, most_open=n).problems for n in (3, 2)]
    score.check("more open calls than there may be are told", left == [[], ["3 calls never left, of at most 2 that may be open at the end"]], str(left))
    lost = 5 << 2 | 1 << 8
    score.check("lost records are told", problems(chunk(1, 0, [enter(1), leave(1), lost, 3])) != [])
    path.write_bytes(header() + chunk(1, 0, [enter(1), leave(1)]))
    told = check_trace.read(path).problems
    score.check("methods without symbols are told", told == ["1 method ids have no name"], str(told))


#: What a program of Linux needs to look like weave to the packages' judge.
SAYS = '#include <stdio.h>\nint main(void) { puts("%s"); return 0; }\n'


def packing(score):
    """The judge of packages: it takes a program that starts on any Linux, and no other."""
    folder = fresh(WORK / "static")

    def judged(name, says, *options):
        source = folder / f"{name}.c"
        source.write_text(SAYS % says)
        run(["cc", *options, "-o", folder / name, source])
        done = run([sys.executable, ROOT / "packaging" / "packages.py", "--check-static", folder / name], check=False)
        return done.returncode, done.stderr

    status, told = judged("static", "weave 0.0.0", "-static")
    score.check("a static program is taken", status == 0, told)
    status, told = judged("dynamic", "weave 0.0.0")
    score.check("a dynamic program is refused, with what it needs", status != 0 and "is not static: it needs" in told and "libc.so" in told, told)
    status, told = judged("pie", "weave 0.0.0", "-static-pie")
    score.check("a static program at any address is taken", status == 0, told)
    status, told = judged("other", "something else", "-static")
    # Only root sees it start.
    score.check("a static program that is no weave is refused", (status != 0 and "does not start" in told) == (os.geteuid() == 0), told)


def body():
    score = Score()
    tracing(score)
    packing(score)
    linking(score)
    return score.finish("oracles")


if __name__ == "__main__":
    main(body)
