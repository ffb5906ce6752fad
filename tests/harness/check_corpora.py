#!/usr/bin/env python3
"""Weaves corpora and has HotSpot judge every class.

    check_corpora.py [--everyday | --full | --everything] [ARTIFACT...]

For every artifact:
- rules that match nothing give the same bytes;
- `pack:all` weaves every method that has code, or says why not;
- on each judging JDK, no class fails to link that did not fail unwoven;
- of one artifact HotSpot's C1 compiles each method that it compiles unwoven;
- `weave verify` accepts it, unwoven and woven;
- with own hooks that take everything (tests/jvm/acme/All.java) instead, the same methods are woven but for `suspend` functions and those
  whose code would be too large, `weave verify` accepts them, and no class fails to link either. The JDKs have none: java.base sees no library;
- nor does one with hooks that may change all that a hook can change (tests/jvm/acme/Same.java);
- nor one with a hook instead of each body, which runs it.
"""

import argparse
import filecmp
import hashlib
import json
import os
import pathlib
import time
from concurrent.futures import ThreadPoolExecutor

import changing
import corpora
from lib import CORPORA, JOBS, ROOT, WORK, Score, cpu, fresh, judges, main, oldest_jdk, run, weave_binary

ORACLE = ROOT / "tests" / "oracle"
# HotSpot's verifier for all loaders; its log lines would mix with what the oracle prints. What is linked hardly runs: the
# second compiler and the parallel collector would cost a third more (JDK 25: 2.9 to 2.0 s of CPU for 6,800 classes).
VERIFY = ["-Xverify:all", "-Xlog:disable", "-Xmx3g", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
OPENS = [
    part
    for package in ("loader", "access", "module")
    for part in ("--add-opens", f"java.base/jdk.internal.{package}=ALL-UNNAMED")
]
# In how many more orders classes are linked that fail by another error when woven.
ORDERS = 4
# How many findings of a kind are printed.
SHOWN = 40
PAIR = """version = 1
[[aspect]]
name = "everything"
match = { type = "**", method = "*", min-size = 0, kind = ["method", "constructor", "static-init", "accessor", "bridge", "synthetic", "lambda"] }
exclude = { kind = "async" }
"""
OWN = PAIR + """enter = "acme.All.begin(this?, args)"
exit = "acme.All.end(state, this?, args, result?, duration)"
exception = "acme.All.failed(state, this?, args, exception, duration)"
record = ["this?", "args", "arg(0)?", "arg(1)?", "result?", "exception"]
mask = ["password=*"]
[[library]]
path = "all.jar"
"""
NOTHING = 'version = 1\n[[aspect]]\nname = "nothing"\nmatch = { type = "no.such.Type" }\n'


def oracle_classes():
    """The oracles, compiled."""
    out, boot = fresh(WORK / "oracle"), fresh(WORK / "oracle-boot")
    run([oldest_jdk() / "bin" / "javac", "-d", boot, *sorted((ORACLE / "boot").rglob("*.java"))])
    run([oldest_jdk() / "bin" / "javac", "-cp", boot, "-d", out, *sorted(ORACLE.glob("*.java"))])
    return out


#: Of the artifacts of at most so many bytes the largest one is compiled, so many of its classes.
COMPILED, COMPILED_CLASSES = 2_000_000, 200


def compiled(home, jar):
    """The methods of a jar that HotSpot's C1 refuses to compile, and how many it compiles."""
    command = [home / "bin" / "java", "-XX:+UnlockDiagnosticVMOptions", "-XX:+WhiteBoxAPI", f"-Xbootclasspath/a:{WORK / 'oracle-boot'}",
               "-XX:-BackgroundCompilation", "-XX:-DontCompileHugeMethods", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", WORK / "oracle", "CompileAll"]
    *refused, last = (line for line in run([*command, "1", COMPILED_CLASSES, jar]).stdout.splitlines() if not line.startswith("WB error"))
    return set(refused), int(last.split()[1])


def compiles(score, version, home, root, folder, names, how):
    """C1 compiles each woven method whose unwoven one it compiles. What it refuses stays interpreted, with no word of it. Compilers before
    Java 5 left the handlers of `synchronized` blocks uncovered; with a hook around them C1 sees a lock that is not given up."""
    fits = lambda jar: jar.suffix == ".jar" and jar.stat().st_size <= COMPILED and not changing.old_types(jar)[0]
    fitting = [name for name in names if fits(root / name)]
    if not fitting:
        return
    name, used = max(fitting, key=lambda name: (root / name).stat().st_size), cpu()
    (before, _), (after, methods) = compiled(home, root / name), compiled(home, folder / name)
    news = sorted(after - before)
    score.check(f"JDK {version} compiles {name}{how}", not news and methods > 0, f"{methods} methods, {len(news)} refused: {news[:3]} ({cpu() - used:.0f} s of CPU)")


def link(home, root, artifacts, jdk, fallback, sized, order=0):
    """What LinkAll says: `{(artifact, class): (kind, message)}` and how many classes were linked.

    Many artifacts are dealt out to as many processes as there are cores, each linking on one thread: HotSpot 17 is
    not safe against many threads failing to find the same class ("refcount has gone to zero"). Which of two missing
    classes a class fails for can depend on what was linked before: the sizes under `sized`, not the artifacts' own,
    decide who links what, so that woven and unwoven ones are dealt out alike.
    """
    command = [home / "bin" / "java", *VERIFY, *(OPENS if jdk else []), "-cp", WORK / "oracle", "LinkAll"]
    if fallback:
        around = WORK / "fallback.list"
        around.write_text("\n".join(str(p) for p in fallback) + "\n")
        command += ["--fallback", around, "--threads", 1]
    command += (["--jdk"] if jdk else []) + ["--root", root, "--order", order]
    biggest = sorted(artifacts, key=lambda a: -(sized / a).stat().st_size)
    parts = [biggest[i :: JOBS] for i in range(JOBS) if biggest[i :: JOBS]]

    def part(number):
        listed = WORK / f"link-{number}.list"
        listed.write_text("\n".join(parts[number]) + "\n")
        return run(command + ["--list", listed], cwd=WORK).stdout.splitlines()

    failing, linked = {}, 0
    with ThreadPoolExecutor() as pool:
        for out in pool.map(part, range(len(parts))):
            if not out or not out[-1].startswith("linked "):
                raise RuntimeError(f"LinkAll did not finish: {out[-3:]}")
            linked += int(out[-1].split()[1])
            for line in out[:-1]:
                artifact, member, kind, message = line.split("\t", 3)
                failing[artifact, member] = (kind, message)
    return failing, linked


def link_unwoven(version, home, root, artifacts, jdk, fallback):
    """The same for the unwoven artifacts, remembered beside the corpora."""
    mark = hashlib.sha256((home / "release").read_bytes() + (ORACLE / "LinkAll.java").read_bytes())
    for path in [root / a for a in artifacts] + list(fallback):
        mark.update(f"{path} {path.stat().st_size}\n".encode())
    known = CORPORA / "linked" / f"{version}-{mark.hexdigest()[:16]}.json"
    if known.exists():
        rows, linked = json.loads(known.read_text())
        return {(a, m): (k, t) for a, m, k, t in rows}, linked
    failing, linked = link(home, root, artifacts, jdk, fallback, root)
    known.parent.mkdir(parents=True, exist_ok=True)
    partial = known.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps([[[a, m, k, t] for (a, m), (k, t) in failing.items()], linked]))
    partial.rename(known)
    return failing, linked


def judge(score, version, home, root, woven, artifacts, jdk, fallback, how=""):
    """No class fails that did not fail unwoven, and none fails by another error.

    A class that lacks several others may name another of them: HotSpot verifies methods in the order in which their
    names lie in memory, and the first error counts. So messages are not compared, kinds of errors are. Where
    kinds differ, both sides are linked in other orders, which move names, until they agree.
    """
    what = f"JDK {version} links {'its own classes' if jdk else f'{len(artifacts)} artifacts'}{how}"
    used = cpu()
    before, linked_before = link_unwoven(version, home, root, artifacts, jdk, fallback)
    after, linked = link(home, woven, artifacts, jdk, fallback, root)
    new = {key: told for key, told in after.items() if key not in before}
    other = {key: told for key, told in after.items() if key in before and before[key][0] != told[0]}
    for order in range(1, ORDERS + 1):
        if other:
            some = sorted({artifact for artifact, _ in other})
            here, _ = link(home, root, some, jdk, fallback, root, order)
            there, _ = link(home, woven, some, jdk, fallback, root, order)
            other = {key: told for key, told in other.items() if key not in here or here[key][0] != there.get(key, [""])[0]}
    for (artifact, member), (kind, message) in [*sorted(new.items())[:SHOWN], *sorted(other.items())[:SHOWN]]:
        was = f"{before[artifact, member][0]} became " if (artifact, member) in before else ""
        print(f"     {artifact}!/{member}: {was}{kind}: {message[:600]}")
    score.check(
        what,
        not new and not other and linked >= linked_before > 0,
        f"{linked} classes linked, {linked_before} unwoven; {len(before)} fail unwoven, {len(new)} newly,"
        f" {len(other)} by another error ({cpu() - used:.0f} s of CPU)",
    )


def count(root, artifacts):
    """What Methods says: `{artifact: (classes, methods, hooked, class bytes)}`."""
    listed = WORK / "count.list"
    listed.write_text("\n".join(artifacts) + "\n")
    java = oldest_jdk() / "bin" / "java"
    out = run([java, "-Xshare:auto", "-cp", WORK / "oracle", "Methods", "--root", root, "--list", listed]).stdout
    rows = (line.split("\t") for line in out.splitlines())
    return {row[0]: tuple(int(n) for n in row[1:]) for row in rows}


def library(folder, name):
    """Hooks, as a jar beside the rules."""
    classes, home = fresh(folder / "own-library"), oldest_jdk()
    run([home / "bin" / "javac", "--release", "8", "-Xlint:-options", "-d", classes, ROOT / "tests" / "jvm" / "acme" / f"{name}.java"])
    run([home / "bin" / "jar", "cf", folder / f"{name.lower()}.jar", "-C", classes, "."])


def own_rules(folder):
    """Rules with own hooks and values that take everything, and their library beside them."""
    library(folder, "All")
    rules = folder / "own.toml"
    rules.write_text(OWN)
    return rules


def woven_by(weave, rules, source, target):
    """What weaving by rules tells; none if it failed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    done = run([weave, "--rules", rules, "--json", source, target], check=False)
    if done.returncode != 0 or not target.exists():
        print(f"     {source.name}: exit {done.returncode} {done.stderr.strip()[:300]}")
        return None
    return json.loads(done.stdout)


def changes(weave, score, root, names, paths, judging):
    """The same with hooks that may change all that a hook can change."""
    folder, rules = fresh(WORK / "changing"), WORK / "changing.toml"
    library(WORK, "Same")
    rules.write_text("\n".join(changing.rules("same.jar", changing.JAVA)))
    woven, failed, refused, methods, used = [], [], [], 0, cpu()
    for name in names:
        target = folder / name
        report = woven_by(weave, rules, root / name, target)
        if report is None:
            failed.append(name)
            continue
        if not report["methods"]:
            continue
        woven.append(name)
        methods += report["methods"]
        done = run([weave, "verify", target], check=False)
        if done.returncode != 0:
            refused.append(name)
            print(f"     {name}, hooks that may change: {(done.stdout + done.stderr).strip()[-400:]}")
    score.check("hooks that may change all that can change are woven", not failed and methods, f"{methods} methods ({cpu() - used:.0f} s of CPU)")
    score.check("weave verify accepts them, too", not refused, f"{len(woven)} artifacts")
    for version, home in sorted(judging.items()):
        if woven:
            judge(score, version, home, root, folder, woven, False, paths, " with hooks that may change")
            compiles(score, version, home, root, folder, woven, " with hooks that may change")


def arounds(weave, score, root, names, paths, judging):
    """The same with a hook instead of each body, which runs it."""
    folder, rules = fresh(WORK / "around"), WORK / "around.toml"
    library(WORK, "Same")
    woven, failed, refused, methods, left, used = [], [], [], 0, {}, cpu()
    for number, name in enumerate(names):
        old, has_others = changing.old_types(root / name)
        if not has_others:
            continue
        # In turns one that is copied into the classes, and one that gets an object.
        rules.write_text("\n".join(changing.around("same.jar", but=old, hook=("proceed", "held")[number % 2])))
        target = folder / name
        report = woven_by(weave, rules, root / name, target)
        if report is None:
            failed.append(name)
            continue
        if not report["methods"]:
            continue
        woven.append(name)
        methods += report["methods"]
        for reason, count in report["left"].items():
            left[reason] = left.get(reason, 0) + count
        done = run([weave, "verify", target], check=False)
        if done.returncode != 0:
            refused.append(name)
            print(f"     {name}, around: {(done.stdout + done.stderr).strip()[-400:]}")
    score.check("a hook instead of each body", not failed and methods, f"{methods} methods; left {left} ({cpu() - used:.0f} s of CPU)")
    score.check("weave verify accepts these, too", not refused, f"{len(woven)} artifacts")
    for version, home in sorted(judging.items()):
        if woven:
            judge(score, version, home, root, folder, woven, False, paths, " with hooks in the places of bodies")
            compiles(score, version, home, root, folder, woven, " with hooks in the places of bodies")


def own_hooks(weave, score, root, names, paths, judging):
    """The same with own hooks that take everything."""
    folder, rules, twin = fresh(WORK / "own"), own_rules(WORK), WORK / "pair.toml"
    twin.write_text(PAIR)
    failed, refused, different, methods, used = [], [], [], 0, cpu()
    for name in names:
        target = folder / name
        report = woven_by(weave, rules, root / name, target)
        if report is None:
            failed.append(name)
            continue
        pair = json.loads(run([weave, "--rules", twin, "--json", root / name, WORK / "pair.jar"]).stdout)
        methods += report["methods"]
        large = report["left"].get("code-too-large", 0) - pair["left"].get("code-too-large", 0)
        if report["methods"] + large != pair["methods"]:
            different.append(name)
            print(f"     {name}: {pair['methods']} methods with the pair, {report['methods']} with own hooks; left {report['left']}")
        done = run([weave, "verify", target], check=False)
        if done.returncode != 0:
            refused.append(name)
            print(f"     {name}, own hooks: {(done.stdout + done.stderr).strip()[-400:]}")
    score.check("own hooks that take everything are woven", not failed, f"{methods} methods ({cpu() - used:.0f} s of CPU)")
    score.check("in all methods that get the pair, but for those that become too large", not different, f"{len(names)} artifacts")
    score.check("weave verify accepts them", not refused, f"{len(names) - len(failed)} artifacts")
    woven = [name for name in names if name not in failed]
    for version, home in sorted(judging.items()):
        if woven:
            judge(score, version, home, root, folder, woven, False, paths, " with own hooks")
            compiles(score, version, home, root, folder, woven, " with own hooks")


def body():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    corpora.add_scopes(args)
    args.add_argument("artifact", nargs="*", type=pathlib.Path, help="these jars only, no JDK")
    args = args.parse_args()
    weave, judging, score = weave_binary(), judges(), Score()
    fresh(WORK / "woven")
    oracle_classes()
    start = time.monotonic()

    if args.artifact:
        paths, own = [p.resolve() for p in args.artifact], {}
    else:
        CORPORA.mkdir(parents=True, exist_ok=True)
        # Each JDK judges the libraries; of the JDKs' own modules the newest one's, where time is short.
        of_own = sorted(judging)[-1:] if args.scope == "--everyday" else judging
        own = {version: corpora.jdk_jar(version, judging[version]) for version in of_own}
        paths = corpora.of_scope(args.scope)
    root = CORPORA if not args.artifact else pathlib.Path(os.path.commonpath([p.parent for p in paths]))
    names = [str(p.relative_to(root)) for p in paths]
    every = names + [p.name for p in own.values()]
    print(f"     corpora ready after {time.monotonic() - start:.0f} s: {len(every)} artifacts", flush=True)

    nothing = WORK / "nothing.toml"
    nothing.write_text(NOTHING)
    different, failed, refused, told = [], [], [], {}
    seconds, used = 0.0, cpu()

    def verified(path, name, what):
        done = run([weave, "verify", path], check=False)
        if done.returncode != 0:
            refused.append(name)
            print(f"     {name}, {what}: {(done.stdout + done.stderr).strip()[-400:]}")

    for name in every:
        source, target = root / name, WORK / "woven" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        done = run([weave, "-q", "--rules", nothing, source, target], check=False)
        if done.returncode != 0 or not target.exists() or not filecmp.cmp(source, target, shallow=False):
            different.append(name)
            print(f"     {name}: exit {done.returncode} {done.stderr.strip()[:300]}")
        begun = time.monotonic()
        done = run([weave, "--rules", "pack:all", "--json", source, target], check=False)
        seconds += time.monotonic() - begun
        if done.returncode != 0 or not target.exists():
            failed.append(name)
            print(f"     {name}: exit {done.returncode} {done.stderr.strip()[:300]}")
            continue
        told[name] = json.loads(done.stdout)
        verified(source, name, "unwoven")
        verified(target, name, "woven")
    score.check("rules that match nothing give the same bytes", not different, f"{len(every)} artifacts")
    score.check("pack:all weaves", not failed, f"{len(every)} artifacts in {seconds:.1f} s (with the above {cpu() - used:.0f} s of CPU)")
    score.check("weave verify accepts input and output", not refused, f"{len(every) - len(failed)} artifacts")

    woven = [name for name in names if name in told]
    before, after = count(root, list(told)), count(WORK / "woven", list(told))
    wrong, reasons = [], {}
    for name, report in told.items():
        counted = report["left"]
        # Abstract and native methods have no code, and are not among those counted here.
        skipped = sum(n for reason, n in counted.items() if reason != "no-body")
        for reason, n in counted.items():
            reasons[reason] = reasons.get(reason, 0) + n
        woven_here = report["methods"]
        if before[name][1] != woven_here + skipped or after[name][2] != woven_here or before[name][:2] != after[name][:2]:
            wrong.append(
                f"     {name}: {before[name][0]} classes, {before[name][1]} methods with code; weave tells {woven_here}"
                f" woven, {counted} left; in the output {after[name][0]} classes, {after[name][1]} methods with code,"
                f" {after[name][2]} call Hooks.enter"
            )
    print(*wrong[:SHOWN], sep="\n", end="\n" if wrong else "")
    methods = sum(c[1] for c in before.values())
    hooked = sum(c[2] for c in after.values())
    growth = 100 * (sum(c[3] for c in after.values()) / max(1, sum(c[3] for c in before.values())) - 1)
    score.check(
        "every method with code is woven or skipped with a reason",
        not wrong,
        f"{sum(c[0] for c in before.values())} classes, {methods} methods, {hooked} woven;"
        f" skipped: {reasons}; classes grow by {growth:.1f} %",
    )

    for version, home in sorted(judging.items()):
        if version in own and own[version].name in told:
            judge(score, version, home, root, WORK / "woven", [own[version].name], True, [])
        if woven:
            judge(score, version, home, root, WORK / "woven", woven, False, paths)
            compiles(score, version, home, root, WORK / "woven", woven, "")
    for turn, kind in enumerate((own_hooks, changes, arounds)):
        # Each JDK has judged the pair; where time is short, one of them judges each kind of own hooks.
        some = dict([sorted(judging.items())[turn % len(judging)]]) if args.scope == "--everyday" else judging
        kind(weave, score, root, woven, paths, some)
    return score.finish("corpora")


if __name__ == "__main__":
    main(body)
