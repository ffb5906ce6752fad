#!/usr/bin/env python3
"""Has the verifiers of Android's own runtime judge apks, woven and not.

    check_art.py [--everyday | --full | --everything]

The judge is ART 11 as Debian packages it (art/build.sh), which loads the dex files of an apk, links their classes and verifies
their methods: as dex2oat does, and as a device does, where nothing is left for later. The apks are made of the dex files
of check_dex.py, of those in tests/dex, and of generated methods. What is refused woven must have been refused unwoven,
with each choice of advice, sections of Android's trace, methods that can be switched and own hooks that take everything, may change it,
stand instead of each body, or at points in it, among it (everyday: of the apks, twelve choices, of those that are not small every fourth, as a device judges; of small dex files, not
by itself what another choice has at once).

What it cannot see: hooks that are well typed and wrong, and what other versions of ART think.
"""

import argparse
import hashlib
import itertools
import random
import re
import shutil
import zipfile
from collections import defaultdict

import chains
import changing
import check_corpora
import check_dex
import corpora
from lib import CORPORA, ROOT, WORK, Missing, Score, fresh, locked, main, oldest_jdk, run, weave_binary

RECIPE = ROOT / "tests" / "harness" / "art"
ANDROID = "org.robolectric:android-all:11-robolectric-6757853"
MODES = {"dex2oat": [], "device": ["device"]}
EVERY_METHOD = """match = { type = "**", min-size = 0, kind = ["method", "constructor", "accessor", "bridge", "synthetic", "lambda", "static-init", "async"] }
"""
HOOKS = ("enter", "exit", "exception")
CHOICES = {
    "+".join(chosen): [f"advice = [{', '.join(map(repr, chosen))}]"]
    for n in (3, 2, 1)
    for chosen in itertools.combinations(HOOKS, n)
}
CHOICES["sections"] = ['hooks = "android-trace"']
CHOICES["sections within hooks"] = ['hooks = "android-trace"', ""]
# Hooks of tests/dex/hooks.
OWN = [
    'enter = "acme.All.begin(this?, args)"',
    'exit = "acme.All.end(this?, args, result?, state, duration)"',
    'exception = "acme.All.failed(this?, args, exception, state, duration)"',
]
NARROW = [
    'enter = "acme.All.start(signature, id, line)"',
    'exit = "acme.All.returned(state, result?, duration)"',
    'exception = "acme.All.thrown(exception, state)"',
]
VALUES = 'record = ["this?", "args", "arg(0)?", "arg(1)?", "result?", "exception"]'
# They do not fit methods that go on after they have returned.
OWN.append("exclude = { kind = 'async' }")
NARROW.append("exclude = { kind = 'async' }")
CHOICES["own hooks"] = ["\n".join(OWN)]
CHOICES["own hooks without a guard"] = ["\n".join([*NARROW, "guard = false"])]
CHOICES["own hooks around the pair and sections"] = [
    "\n".join([*OWN, "advice = ['enter', 'exit', 'exception']"]), "\n".join([*NARROW, VALUES]), 'hooks = "android-trace"'
]
#: Rules of changing.py.
CHANGING = "own hooks that may change everything"
CHOICES[CHANGING] = []
CHOICES["own hooks at every call"] = [
    'at = { call = { type = "**" } }\nbefore = "acme.All.start(signature, 1, 2)"\nafter = "acme.All.returned(state, result?, duration)"'
]
#: Each kind of point: in front of it, and behind it.
POINTS = {
    **dict.fromkeys(("field-get", "field-set", "new"), '{ type = "**" }'), "throw": "'java.lang.Throwable'", "catch": "'**'",
    "monitor-enter": "true", "monitor-exit": "true",
}
#: A large dex file has no room for all of them at once.
POINTED = {
    f"own hooks at every {kind}": f'at = {{ {kind} = {of} }}\nbefore = "acme.All.start(signature, line, 2)"'
    + ('\nafter = ["acme.All.returned(1, target?, 2)", "acme.All.returned(1, result?, 2)"]' if kind not in ("throw", "catch") else "")
    for kind, of in POINTS.items()
}
CHOICES |= {choice: [aspect] for choice, aspect in POINTED.items()}
CHOICES["own hooks at every point"] = list(POINTED.values())
#: Which lines does not matter: what stands there does.
CHOICES["own hooks at lines"] = [f'at = {{ line = {line} }}\nbefore = "acme.All.start(signature, line, 2)"' for line in range(40, 140)]
CHOICES["every call recorded"] = ['at = { call = { type = "**" } }\nrecord = ["target?", "args", "arg(0)?", "result?", "exception"]']
AROUND, AROUND_HOOKS = "around that only proceeds", "around that only proceeds, own hooks, the pair and sections in the bodies"
CHOICES[AROUND] = []
#: A large dex file has no room for all of them at once: by the last letters of names.
AROUND_PARTS = {f"{AROUND}, {letters}": f"re:.*[{letters}]" for letters in ("a-ds", "e-mA-M", "n-r0-9", "t-zN-Z$_")}
CHOICES |= dict.fromkeys(AROUND_PARTS, [])
CHOICES[AROUND_HOOKS] = CHOICES["own hooks around the pair and sections"]
CHOICES["switched"] = ['level = "info"']
CHOICES["switched with values and sections"] = [f"level = 'debug'\n{VALUES}\nexclude = {{ kind = 'async' }}", 'hooks = "android-trace"']
CHOICES_EVERYDAY = [AROUND, AROUND_HOOKS, CHANGING, "switched", "switched with values and sections", "own hooks at every call", "own hooks at every point", "own hooks at lines", "every call recorded", "enter+exit+exception", "sections within hooks", "own hooks around the pair and sections"]
#: What one choice has at once where there is room, by itself. The small dex files have it.
PARTS = (*POINTED, *AROUND_PARTS)
GENERATED, GENERATED_EVERYDAY = 4000, 400
#: Bytes of dex files that take most of the time.
LARGE = 100_000
SHOWN = 20


@locked("art")
def judge():
    """The judge and its boot class path, built once for each state of its recipe."""
    parts = sorted(p for p in RECIPE.iterdir() if p.is_file())
    mark = hashlib.sha256(b"".join(p.read_bytes() for p in parts)).hexdigest()[:16]
    folder = CORPORA / "art" / mark
    if not (folder / "judge").exists():
        (android,) = corpora.maven([ANDROID])
        partial = CORPORA / "art" / "partial"
        shutil.rmtree(partial, ignore_errors=True)
        home = oldest_jdk() / "bin"
        built = run(["bash", "-c", f"PATH={home}:$PATH exec {RECIPE / 'build.sh'} {android} {partial}"], check=False)
        if built.returncode:
            raise Missing(f"ART's judge cannot be built: {built.stderr.strip()[-600:]}")
        shutil.rmtree(partial / "source")
        partial.rename(folder)
    return folder / "judge", ":".join(map(str, sorted((folder / "boot").glob("*.dex"))))


class Verdict:
    """What the judge says of an apk: what is wrong, each finding by what it is about, and how much was judged."""

    def __init__(self, apk, mode):
        command, boot = judge()
        told = run([command, boot, apk, *MODES[mode]], check=False)
        lines = [line.split("\t") for line in told.stdout.splitlines()]
        if told.returncode or not lines or lines[-1][0] != "total":
            raise RuntimeError(f"ART's judge on {apk.name}: exit {told.returncode} {told.stderr[-500:]}")
        self.classes, self.methods = map(int, lines.pop()[1:])
        self.findings = {(line[0], line[1] if len(line) > 2 or line[0] == "locks" else ""): line[-1] for line in lines}

    def refused(self):
        return {name for kind, name in self.findings if kind in ("hard", "file")}


def apk_of(path, dexes):
    """An apk of dex files, aligned so that ART need not copy them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as out:
        for i, dex in enumerate(dexes):
            info = zipfile.ZipInfo(f"classes{i + 1 if i else ''}.dex")
            at = out.fp.tell() + 30 + len(info.filename)
            if -at % 4:
                info.extra = b"\0" * (-at % 4)
            out.writestr(info, dex.read_bytes())
    return path


def woven(apk, choice, folder):
    """An apk woven by one choice of advice."""
    rules = folder / "rules.toml"
    texts = [f"[[aspect]]\nname = 'aspect{i}'\n{line}\n{EVERY_METHOD}" for i, line in enumerate(CHOICES[choice])]
    if "own" in choice:
        texts.insert(0, "[[library]]\npath = 'hooks.dex'\n")
    lines = ["version = 1", *texts]
    if choice == CHANGING:
        lines = changing.rules("same.dex", changing.JAVA)
    elif choice in (AROUND, AROUND_HOOKS):
        lines = changing.around("same.dex") + texts
    elif choice in AROUND_PARTS:
        lines = changing.around("same.dex", methods=AROUND_PARTS[choice])
    rules.write_text("\n".join(lines))
    out = folder / f"woven-{apk.name}"
    run([weave_binary(), "-q", "--rules", rules, apk, out])
    return out


def compare(score, apk, choices, folder, modes=tuple(MODES)):
    """Judges an apk as it is, and woven by each of some choices."""
    plain = {mode: Verdict(apk, mode) for mode in modes}
    for choice in choices:
        after = woven(apk, choice, folder)
        wrong = []
        for mode in modes:
            found = Verdict(after, mode)
            new = found.findings.keys() - plain[mode].findings.keys()
            wrong += [f"{mode}: {kind} {name}: {found.findings[kind, name][:600]}" for kind, name in sorted(new)]
            if found.classes < plain[mode].classes:
                wrong.append(f"{mode}: {found.classes} classes, {plain[mode].classes} before")
        if "own" in choice or "around" in choice:
            told = run([weave_binary(), "verify", after], check=False)
            wrong += [f"weave verify: {told.stdout[-600:]}{told.stderr[-300:]}"] if told.returncode else []
        for line in wrong[:SHOWN]:
            print(f"     {line}")
        detail = f"{plain['device'].classes} classes, {plain['device'].methods} methods, {len(plain['device'].refused())} classes refused unwoven"
        score.check(f"{apk.stem}: {choice}", not wrong, detail)
        after.unlink()


def apps():
    """The dex files of check_dex.py by the apk that they are from, in the order of their numbers."""
    found = defaultdict(list)
    for path in check_dex.fetch().glob("*.dex"):
        name, number = re.fullmatch(r"(.*)-classes(\d*)", path.stem).groups()
        found[name].append((int(number or 1), path))
    return {name: [path for _, path in sorted(parts)] for name, parts in sorted(found.items())}


# Types that generated methods take and return: a register of each holds what `MAKE` makes.
MAKE = {
    "I": ["invoke-static {{}}, LGen;->number()I", "move-result {v}"],
    "Z": ["const/4 {v}, 0x1"],
    "F": ["const/high16 {v}, 0x3f800000"],
    "J": ["const-wide/16 {v}, 0x7"],
    "D": ["const-wide/high16 {v}, 0x3ff0000000000000L"],
    "Ljava/lang/String;": ['const-string {v}, "text"'],
    "Ljava/lang/Object;": ["sget-object {v}, LGen;->lock:Ljava/lang/Object;"],
    "Ljava/lang/Runnable;": ["new-instance {v}, LGen$A;", "invoke-direct {{{v}}}, LGen$A;-><init>()V"],
    "[Ljava/lang/Runnable;": ["const/4 {v}, 0x2", "new-array {v}, {v}, [LGen$A;"],
    "[[Ljava/lang/Runnable;": ["const/4 {v}, 0x2", "new-array {v}, {v}, [[LGen$A;"],
    "[Ljava/lang/Cloneable;": ["const/4 {v}, 0x2", "new-array {v}, {v}, [[I"],
    "[Ljava/io/Serializable;": ["const/4 {v}, 0x2", "new-array {v}, {v}, [Ljava/lang/String;"],
    "[LGen$Base;": ["const/4 {v}, 0x2", "new-array {v}, {v}, [LGen$A;"],
    "[Ljava/lang/Object;": ["const/4 {v}, 0x2", "new-array {v}, {v}, [[I"],
}
# Another value of the same type, of another class.
OTHER = {
    "Ljava/lang/Runnable;": ["new-instance {v}, LGen$B;", "invoke-direct {{{v}}}, LGen$B;-><init>()V"],
    "[Ljava/lang/Runnable;": ["const/4 {v}, 0x2", "new-array {v}, {v}, [LGen$B;"],
    "[[Ljava/lang/Runnable;": ["const/4 {v}, 0x2", "new-array {v}, {v}, [[LGen$B;"],
    "[Ljava/lang/Cloneable;": ["const/4 {v}, 0x2", "new-array {v}, {v}, [[J"],
    "[Ljava/io/Serializable;": ["const/4 {v}, 0x2", "new-array {v}, {v}, [Ljava/lang/Integer;"],
    "[LGen$Base;": ["const/4 {v}, 0x2", "new-array {v}, {v}, [LGen$B;"],
    "[Ljava/lang/Object;": ["const/4 {v}, 0x2", "new-array {v}, {v}, [LGen$B;"],
}


def give(rng, ty, lines):
    """Appends a return of some value."""
    wide = ty in ("J", "D")
    v = rng.choice(["v0", "v2"]) if wide else rng.choice(["v0", "v1", "v2", "v3"])
    if ty.startswith(("L", "[")) and rng.random() < 0.15:
        make = ["const/4 {v}, 0x0"]
    else:
        make = rng.choice([MAKE[ty], OTHER.get(ty, MAKE[ty])])
    lines += [line.format(v=v) for line in make]
    lines.append(f"return{'-wide' if wide else '-object' if ty.startswith(('L', '[')) else ''} {v}")


def method(rng, number):
    """The smali of a method that verifies: some ways, of which each returns or throws."""
    ty = rng.choice(["V", *MAKE])
    is_static, parameters = rng.random() < 0.5, [rng.choice(list(MAKE)) for _ in range(rng.randrange(5))]
    if rng.random() < 0.1:
        parameters += ["I"] * 12
    words = sum(2 if p in ("J", "D") else 1 for p in parameters) + (not is_static)
    locals_ = rng.choice([4, 5, 6, 12, 16, 40, 300]) if rng.random() < 0.4 else 4
    lines, tries = [], []
    for way in range(rng.randrange(1, 5)):
        caught, locked = rng.random() < 0.4, rng.random() < 0.25
        lines += ["invoke-static {}, LGen;->number()I", "move-result v0", f"if-eqz v0, :way{way}"]
        if locked:
            lines += ["sget-object v3, LGen;->lock:Ljava/lang/Object;", "monitor-enter v3", f":locked{way}"]
        if caught and not locked:
            lines.append(f":from{way}")
        for _ in range(rng.randrange(3)):
            lines += ["invoke-static {}, LGen;->number()I", "move-result v1"]
        if rng.random() < 0.2:
            lines += [f":loop{way}", "invoke-static {}, LGen;->number()I", "move-result v1", f"if-gtz v1, :loop{way}"]
        if locked:
            lines += ["monitor-exit v3", f":unlocked{way}", ".catchall {:locked%d .. :unlocked%d} :unlock%d" % (way, way, way)]
            tries += [f":unlock{way}", "move-exception v2", f":again{way}", "monitor-exit v3", f":done{way}",
                      ".catchall {:again%d .. :done%d} :unlock%d" % (way, way, way), "throw v2"]
        if rng.random() < 0.15:
            lines += ["new-instance v0, Ljava/lang/RuntimeException;", "invoke-direct {v0}, Ljava/lang/RuntimeException;-><init>()V", "throw v0"]
        elif ty == "V":
            lines.append("return-void")
        else:
            give(rng, ty, lines)
        if caught and not locked:
            kind = rng.choice([".catchall", ".catch Ljava/lang/IllegalStateException;", ".catch Ljava/lang/Throwable;"])
            lines += [f":to{way}", "%s {:from%d .. :to%d} :caught%d" % (kind, way, way, way)]
            tries += [f":caught{way}", "move-exception v2"]
            if rng.random() < 0.5 or ty == "V":
                tries.append("throw v2")
            else:
                give(rng, ty, tries)
        lines.append(f":way{way}")
    if ty == "V":
        lines.append("return-void")
    else:
        give(rng, ty, lines)
    head = f".method public {'static ' if is_static else ''}m{number}({''.join(parameters)}){ty}"
    return "\n".join([head, f"    .registers {locals_ + words}", *(f"    {line}" for line in lines + tries), ".end method", ""])


def generate(folder, count):
    """A dex file of generated methods."""
    rng, smali = random.Random(15), fresh(folder / "smali")
    super_call = "    .registers 1\n    invoke-direct {{p0}}, {}-><init>()V\n    return-void\n.end method\n"
    constructor = ".method public constructor <init>()V\n" + super_call
    run_method = ".method public run()V\n    .registers 1\n    return-void\n.end method\n"
    for name, base, more in (("Gen$Base", "Ljava/lang/Object;", ""), ("Gen$A", "LGen$Base;", run_method), ("Gen$B", "LGen$Base;", run_method)):
        interface = ".implements Ljava/lang/Runnable;\n" if more else ""
        (smali / f"{name}.smali").write_text(f".class public L{name};\n.super {base}\n{interface}{constructor.format(base)}{more}")
    number = ".method public static number()I\n    .registers 2\n    invoke-static {}, Ljava/lang/System;->nanoTime()J\n    move-result-wide v0\n    long-to-int v0, v0\n    return v0\n.end method\n"
    methods = "\n".join(method(rng, n) for n in range(count))
    (smali / "Gen.smali").write_text(
        f".class public LGen;\n.super Ljava/lang/Object;\n.field public static lock:Ljava/lang/Object;\n{constructor.format('Ljava/lang/Object;')}{number}{methods}"
    )
    run(["smali", "assemble", "-a", "26", "-o", folder / "generated.dex", smali])
    return folder / "generated.dex"


# What generated methods with points do. v0 holds an int, v1 a string, v2 an object, v4 a lock, v5 a Points$F, v6 a long.
STEPS = [
    ["sget-object v1, LPoints;->text:Ljava/lang/String;"],
    ["sput-object v2, LPoints;->lock:Ljava/lang/Object;"],
    ["iget-object v2, v5, LPoints$F;->object:Ljava/lang/Object;"],
    ["iget-object v5, v5, LPoints$F;->next:LPoints$F;"],
    ["iget v0, v5, LPoints$F;->number:I"],
    ["iget-wide v6, v5, LPoints$F;->wide:J"],
    ["iput-wide v6, v5, LPoints$F;->wide:J"],
    ["iput-object v1, v5, LPoints$F;->text:Ljava/lang/String;"],
    ["new-instance v2, LPoints$F;", "const/4 v0, 0x3", "invoke-direct {v2, v0, v6, v7, v1}, LPoints$F;-><init>(IJLjava/lang/String;)V"],
    ["new-instance v2, LPoints$F;", "move-object v8, v2", "invoke-direct/range {v8}, LPoints$F;-><init>()V"],
    ["new-instance v2, LPoints$F;", "if-eqz v0, :{n}", "const/4 v0, 0x1", ":{n}", "invoke-direct {v2}, LPoints$F;-><init>()V"],
    ["invoke-static {}, LPoints;->number()I", "move-result v0"],
    ["instance-of v0, v2, Ljava/lang/String;", "if-eqz v0, :{n}", "check-cast v2, Ljava/lang/String;", ":{n}"],
    ["const/4 v0, 0x5"],
    ["add-int/2addr v0, v0"],
    ["if-gtz v0, :{n}", "iget v0, v5, LPoints$F;->number:I", ":{n}"],
]
# What leaves another type behind, at the end of a try, and what sets it right.
LEAVES = [
    (["sget-object v1, LPoints;->lock:Ljava/lang/Object;"], 'const-string v1, "a"'),
    (["iget-object v1, v5, LPoints$F;->object:Ljava/lang/Object;"], 'const-string v1, "b"'),
    (["iget v1, v5, LPoints$F;->number:I"], 'const-string v1, "c"'),
    (["const/4 v1, 0x7"], 'const-string v1, "d"'),
    (["iget-wide v0, v5, LPoints$F;->wide:J"], 'const-string v1, "e"'),
    (["iget v6, v5, LPoints$F;->number:I"], "const-wide/16 v6, 0x2"),
]
# What handlers need.
NEEDS = [
    ["invoke-virtual {v1}, Ljava/lang/String;->length()I", "move-result v0"],
    ["iput-object v1, v5, LPoints$F;->text:Ljava/lang/String;"],
    ["iput-wide v6, v5, LPoints$F;->wide:J"],
    ["add-int/2addr v0, v0"],
]


def pointed(rng, number):
    """The smali of a method with points in tries, in front of them and behind them, and where a lock is held."""
    parameters, lines, handlers = rng.choice(["", "Ljava/lang/String;", "IJLjava/lang/Object;"]), [], []
    labels = map("l{}".format, itertools.count())

    def step(steps):
        n = next(labels)
        for one in steps:
            if rng.random() < 0.5:
                lines.append(f".line {rng.randrange(40, 140)}")
            lines.append(one.replace("{n}", n))

    for _ in range(rng.randrange(1, 5)):
        way, is_locked, is_caught = next(labels), rng.random() < 0.35, rng.random() < 0.6
        needed = 'const/4 v0, 0x1' if rng.random() < 0.5 else "const/4 v0, 0x0"
        lines += ["const/4 v0, 0x0", 'const-string v1, "s"', needed]
        if is_locked:
            step(["sget-object v4, LPoints;->lock:Ljava/lang/Object;", "monitor-enter v4"])
            lines.append(f":{way}locked")
        elif is_caught:
            lines.append(f":{way}from")
        for _ in range(rng.randrange(1, 5)):
            step(rng.choice(STEPS))
        if is_locked:
            step(["monitor-exit v4"])
            lines += [f":{way}unlocked", f".catchall {{:{way}locked .. :{way}unlocked}} :{way}unlock"]
            handlers += [f":{way}unlock", ".line 77", "move-exception v3", f":{way}again", ".line 78", "monitor-exit v4", f":{way}done",
                         f".catchall {{:{way}again .. :{way}done}} :{way}unlock", "throw v3"]
        elif is_caught:
            leaves, again = rng.choice(LEAVES)
            step(leaves)
            step(["nop"])
            lines += [f":{way}to", f".catch Ljava/lang/{rng.choice(['Exception', 'RuntimeException'])}; {{:{way}from .. :{way}to}} :{way}caught"]
            if leaves[0].startswith("iget-wide v0"):
                lines.append("const/4 v0, 0x0")
            lines += [again, f":{way}on"]
            handlers += [f":{way}caught", ".line 79", "move-exception v3"]
            # A pair at v0 or v6 is not there where a handler begins.
            for one in rng.sample(NEEDS, rng.randrange(len(NEEDS))):
                handlers += one
            handlers += ["const/4 v0, 0x0", 'const-string v1, "h"', "sget-object v2, LPoints;->lock:Ljava/lang/Object;", "const-wide/16 v6, 0x4", f"goto/32 :{way}on"]
    head = f".method public static p{number}({parameters})V"
    start = ["const/4 v0, 0x0", 'const-string v1, ""', "sget-object v2, LPoints;->lock:Ljava/lang/Object;", "sget-object v5, LPoints;->f:LPoints$F;", "const-wide/16 v6, 0x1"]
    words = sum(2 if p == "J" else 1 for p in re.findall(r"L[^;]*;|.", parameters))
    body = "\n".join(f"    {line}" for line in [*start, *lines, "return-void", *handlers])
    return f"{head}\n    .registers {rng.choice([9, 9, 12, 20, 40]) + words}\n{body}\n.end method\n"


def generate_pointed(folder, count):
    """A dex file of generated methods with points."""
    rng, smali = random.Random(32), fresh(folder / "pointed")
    super_call = "    invoke-direct {p0}, Ljava/lang/Object;-><init>()V\n    return-void\n.end method\n"
    fields = {"object": "Ljava/lang/Object;", "next": "LPoints$F;", "number": "I", "wide": "J", "text": "Ljava/lang/String;"}
    constructors = "".join(f".method public constructor <init>({of})V\n    .registers {n}\n{super_call}" for of, n in (("", 1), ("IJLjava/lang/String;", 5)))
    declared = "".join(f".field public {name}:{ty}\n" for name, ty in fields.items())
    (smali / "F.smali").write_text(f".class public LPoints$F;\n.super Ljava/lang/Object;\n{declared}{constructors}")
    number = ".method public static number()I\n    .registers 1\n    const/4 v0, 0x4\n    return v0\n.end method\n"
    statics = {"lock": "Ljava/lang/Object;", "text": "Ljava/lang/String;", "f": "LPoints$F;"}
    declared = "".join(f".field public static {name}:{ty}\n" for name, ty in statics.items())
    methods = "\n".join(pointed(rng, n) for n in range(count))
    (smali / "Points.smali").write_text(f".class public LPoints;\n.super Ljava/lang/Object;\n{declared}{number}{methods}")
    run(["smali", "assemble", "-a", "26", "-o", folder / "pointed.dex", smali])
    return folder / "pointed.dex"


def judged(score, folder):
    """The judge itself: what is broken is refused, what is sound is not."""
    tests = ROOT / "tests" / "dex"
    for mode in MODES:
        verdict = Verdict(apk_of(folder / "refused.apk", [tests / "refused.dex"]), mode)
        (why,) = verdict.findings.values()
        # The methods that `weave verify` refuses; one argument is left for the device.
        found = set(re.findall(r"Refused\.(\w+)\(\S*\): \[0x", why))
        source = (tests / "refused" / "Refused.smali").read_text()
        expected = {m for m in re.findall(r"\.method public static (\w+)", source) if not m.startswith("fine")}
        if mode == "dex2oat":
            expected.remove("passed")
        score.check(f"the judge refuses what is broken ({mode})", found == expected, str(found ^ expected))
        verdict = Verdict(apk_of(folder / "returns.apk", [tests / "returns.dex"]), mode)
        score.check(f"the judge accepts what is sound ({mode})", not verdict.findings, str(verdict.findings))


def values(score, folder):
    """What reads the values of chains.py's programs: fields, casts, constants, static methods."""
    for program in chains.PROGRAMS:
        there = fresh(folder / program)
        dexes = {}
        for name, jar in zip(("app", "hooks"), chains.classes(there, program)):
            dexes[name] = there / f"{name}.dex"
            check_dex.to_dex(jar, dexes[name])
        rules, woven = chains.rules(there, program, "hooks.dex", chains.JAVA), there / "woven.dex"
        run([weave_binary(), "-q", "--strict", "--rules", rules, dexes["app"], woven])
        apk = apk_of(there / "app.apk", [woven, dexes["hooks"], ROOT / "runtime/java/weave-runtime.dex"])
        for mode in MODES:
            verdict = Verdict(apk, mode)
            good = not verdict.findings and verdict.methods > 0
            score.check(f"values of {program} ({mode})", good, str(verdict.findings) or f"{verdict.methods} methods")


def of_large(dexes, number):
    """Every fourth choice, where the dex files are not small: their neighbours have the rest."""
    return CHOICES_EVERYDAY[number % 4::4] if sum(dex.stat().st_size for dex in dexes) > LARGE else CHOICES_EVERYDAY


def body():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    corpora.add_scopes(args)
    everyday = args.parse_args().scope == "--everyday"
    lacking = [tool for tool in ("smali", "dexdump") if not shutil.which(tool)]
    if lacking:
        raise Missing(f"{', '.join(lacking)}: install them (tests/setup.sh)")
    score, folder = Score(), fresh(WORK / "art")
    judged(score, folder)
    values(score, folder)
    tests = ROOT / "tests" / "dex"
    run(["smali", "assemble", "-a", "26", "-o", folder / "hooks.dex", tests / "hooks"])
    check_corpora.library(folder, "Same")
    check_dex.to_dex(folder / "same.jar", folder / "same.dex")
    small = {name: [tests / f"{name}.dex"] for name in ("returns", "verify", "everything")}
    small["generated"] = [generate(folder, GENERATED_EVERYDAY if everyday else GENERATED)]
    points = [choice for choice in CHOICES_EVERYDAY if "at every point" in choice or "at lines" in choice] if everyday else [*POINTED, "own hooks at every point", "own hooks at lines"]
    pointed = generate_pointed(folder, GENERATED_EVERYDAY if everyday else GENERATED)
    for name, dex in (("pointed", pointed), ("points", tests / "points.dex")):
        compare(score, apk_of(folder / f"{name}.apk", [dex]), points, folder)
    for name, dexes in small.items():
        chosen = [choice for choice in CHOICES if not (everyday and choice in PARTS)]
        # The device is the stricter one; the other has judged what is generated.
        modes = ("device",) if everyday and name != "generated" else tuple(MODES)
        compare(score, apk_of(folder / f"{name}.apk", dexes), chosen, folder, modes)
    for number, (name, dexes) in enumerate(apps().items()):
        modes, chosen = (("device",), of_large(dexes, number)) if everyday else (tuple(MODES), CHOICES)
        compare(score, apk_of(folder / f"{name}.apk", dexes), chosen, folder, modes)
    return score.finish("apks before ART's verifiers")


if __name__ == "__main__":
    main(body)
