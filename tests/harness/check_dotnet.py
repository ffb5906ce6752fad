#!/usr/bin/env python3
"""Weaves assemblies and has CoreCLR's JIT, System.Reflection.Metadata and Mono's verifier judge them.

    check_dotnet.py [--everyday | --full | --everything] [--only SET]... [ASSEMBLY...]

Sets: roslyn (Roslyn and other libraries of one npm package), fsharp (the F# compiler and library of another), core8 and core31 (the runtimes' own assemblies,
ReadyToRun), mono (Mono's class libraries); with --full or by name those of the .NET SDK (see sdk.py): core10 and aspnet10 (its frameworks) and
roslyn10 (its compilers). For every assembly:
- rules that match nothing give the same bytes;
- `pack:all` weaves every method that has code, or says why not, and weaves again into the same bytes;
- a second reader finds it whole, PDB included, and nothing changed that weaving need not change (ReadAll);
- on CoreCLR, no method fails to compile that did not fail unwoven (PrepareAll; the runtimes' own assemblies in a
  copy of the runtime);
- Mono's verifier, which knows types, and Mono's JIT tell of no method that they did not tell of unwoven.
"""

import argparse
import filecmp
import hashlib
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import corpora
import dotnet
import sdk
from lib import CACHE, JOBS, ROOT, WORK, Score, cpu, fresh, main, run, weave_binary

RUNTIME = ROOT / "runtime" / "dotnet" / "Weave.Runtime.dll"
WOVEN = WORK / "dotnet" / "woven"
SHOWN = 30
# Assemblies that woven ones refer to beside the hook library.
BESIDE = []
NOTHING = 'version = 1\n[[aspect]]\nname = "nothing"\nmatch = { type = "no.such.Type" }\n'

# The quick part: large ones, ones with all that C# has, and odd ones (netmodules, facades, Visual Basic's library).
EVERYDAY = {
    "roslyn": ["Microsoft.CodeAnalysis.CSharp.dll", "Humanizer.dll", "CommandLine.dll", "Azure.Core.dll", "Azure.Generator.dll", "System.Composition.Hosting.dll"],
    "fsharp": ["FSharp.Core.dll"],
    "core8": ["System.Private.CoreLib.dll", "System.Linq.dll", "System.Collections.dll", "System.Net.Http.dll", "System.Text.Json.dll", "System.Private.Uri.dll",
              "System.Threading.Channels.dll", "System.Runtime.dll", "Microsoft.VisualBasic.Core.dll", "System.Reflection.Metadata.dll"],
    "core31": ["System.Private.CoreLib.dll", "System.Net.Http.dll", "System.Linq.Expressions.dll", "Microsoft.CSharp.dll"],
    "mono": ["4.5/mscorlib.dll", "4.5/System.dll", "4.5/System.Core.dll", "4.5/mcs.exe", "4.5/Mono.CSharp.dll", "4.0/mscorlib.dll", "4.5-api/mscorlib.dll",
             "4.5/Facades/netstandard.dll"],
}


#: Roslyn's own assemblies, which have analyzers, too.
COMPILERS = ("Microsoft.CodeAnalysis.dll", "Microsoft.CodeAnalysis.CSharp.dll", "Microsoft.CodeAnalysis.VisualBasic.dll")
#: Of the .NET SDK: too much for every day.
SDK = ("core10", "aspnet10", "roslyn10")


class Host:
    """A runtime that judges: its version, the folder to copy it from and what of that, its own assemblies, and how a command begins."""

    def __init__(self, version, home, parts, framework, command):
        self.version, self.home, self.parts, self.framework, self.command = version, home, parts, framework, command


def host(name, shared="Microsoft.NETCore.App"):
    """The runtime of this name: core8, core31, or the .NET SDK's, with a framework of it."""
    if name != "sdk":
        command = dotnet.host(name)
        return Host({"core8": "8.0", "core31": "3.1"}[name], dotnet.fetch() / name, [""], dotnet.framework(name), command)
    found = sdk.find()
    home, framework = found.dotnet.parent, found.framework(shared)
    config = listed("sdk.runtimeconfig", [json.dumps({"runtimeOptions": {
        "framework": {"name": framework.parent.name, "version": framework.name},
        "configProperties": {"System.Globalization.Invariant": True},
    }})]).rename(WORK / "dotnet/sdk.runtimeconfig.json")
    parts = ["dotnet", f"host/fxr/{framework.name}", str(framework.relative_to(home))]
    return Host(framework.name, home, parts, framework, [str(found.dotnet), "exec", "--runtimeconfig", str(config)])


class Set:
    """Assemblies of one folder, and what runs them."""

    def __init__(self, name, root, names, host):
        self.name, self.root, self.names, self.host = name, root, names, host
        self.woven = WOVEN / name
        self.told = {}  # name -> what `weave --json` said


def assemblies(root):
    """The assemblies under a folder, symbolic links and native libraries left out."""
    found = []
    for path in sorted(root.rglob("*")):
        if path.suffix in (".dll", ".exe", ".netmodule") and path.is_file() and not path.is_symlink():
            with open(path, "rb") as file:
                if file.read(2) == b"MZ":
                    found.append(str(path.relative_to(root)))
    return found


def sets(scope, only):
    """The sets of a scope, or those of it that are named."""
    roots = {
        "roslyn": (dotnet.roslyn(), "core8"),
        "fsharp": (dotnet.fsharp(), "core8"),
        "core8": (dotnet.framework("core8"), "core8"),
        "core31": (dotnet.framework("core31"), "core31"),
        "mono": (dotnet.mono_libraries(), None),
    }
    if any(name in SDK for name in only) if only else scope != "--everyday":
        found = sdk.find()
        folders = (found.framework(), found.framework("Microsoft.AspNetCore.App"), found.framework("sdk") / "Roslyn/bincore")
        roots |= {name: (folder, "sdk") for name, folder in zip(SDK, folders)}
    chosen = []
    for name, (root, host_name) in roots.items():
        if only and name not in only:
            continue
        names = EVERYDAY[name] if scope == "--everyday" and name in EVERYDAY else assemblies(root)
        if scope == "--full" and name == "mono":
            # The reference assemblies of fifteen versions hold the same bodies, of a throw each.
            names = [n for n in names if "-api/" not in n]
        chosen.append(Set(name, root, names, host(host_name) if host_name else None))
    return chosen


def listed(name, lines):
    path = WORK / "dotnet" / f"{name}.list"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def parts_of(root, names):
    """The names dealt out to as many processes as there are cores, the biggest first."""
    biggest = sorted(names, key=lambda n: -(root / n).stat().st_size)
    return [biggest[i::JOBS] for i in range(JOBS) if biggest[i::JOBS]]


def weave_all(score, chosen):
    """Weaves everything, three times."""
    weave, nothing = weave_binary(), listed("nothing", NOTHING.splitlines())
    different, failed, unsteady = [], [], []

    def one(job):
        group, name = job
        source, target = group.root / name, group.woven / name
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = [p for p in (source.with_suffix(".pdb"),) if p.exists()]
        done = run([weave, "-q", "--rules", nothing, source, target], check=False)
        if done.returncode != 0 or not target.exists() or not filecmp.cmp(source, target, shallow=False):
            different.append(f"{group.name}/{name}: exit {done.returncode} {done.stderr.strip()[:300]}")
        for pdb in beside:
            if not target.with_suffix(".pdb").exists() or not filecmp.cmp(pdb, target.with_suffix(".pdb"), shallow=False):
                different.append(f"{group.name}/{name}: its PDB")
        again = target.with_name(target.name + ".again")
        done = run([weave, "--rules", "pack:all", "--json", source, again], check=False)
        if done.returncode == 0 and again.exists():
            again.replace(target)
            done = run([weave, "--rules", "pack:all", "--json", "--jobs", "1", source, again], check=False)
            if not again.exists() or not filecmp.cmp(again, target, shallow=False):
                unsteady.append(f"{group.name}/{name}")
            again.unlink(missing_ok=True)
            # The PDB and the rest go by the target's name: made once more, in place.
            done = run([weave, "--rules", "pack:all", "--json", source, target], check=False)
        if done.returncode != 0 or not target.exists():
            failed.append(f"{group.name}/{name}: exit {done.returncode} {done.stderr.strip()[:400]}")
            target.unlink(missing_ok=True)
            return
        group.told[name] = json.loads(done.stdout)

    jobs = [(group, name) for group in chosen for name in group.names]
    used = cpu()
    with ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(one, jobs))
    for what, wrong in (("rules that match nothing give the same bytes", different), ("pack:all weaves", failed), ("twice the same bytes", unsteady)):
        print(*[f"     {w}" for w in sorted(wrong)[:SHOWN]], sep="\n", end="\n" if wrong else "")
        score.check(what, not wrong, f"{len(jobs)} assemblies, {len(wrong)} not ({cpu() - used:.0f} s of CPU)")


def read(root, names, woven=None):
    """What ReadAll says: `({name: problems before}, {name: problems after}, {name: differences}, counts before, counts woven)`."""
    command = [*dotnet.host("core8"), dotnet.oracle("ReadAll"), "--root", root]
    if woven:
        command += ["--woven", woven]
    found = {"before": {}, "after": {}, "compared": {}, "count": {}, "woven": {}}
    parts = parts_of(root, names)

    def part(number):
        return run([*command, "--list", listed(f"read-{number}", parts[number])]).stdout.splitlines()

    with ThreadPoolExecutor() as pool:
        for mine, out in zip(parts, pool.map(part, range(len(parts)))):
            if not out or out[-1] != f"read {len(mine)}":
                raise RuntimeError(f"ReadAll did not finish: {out[-3:]}")
            for line in out[:-1]:
                name, kind, *rest = line.split("\t")
                if kind in ("count", "woven"):
                    found[kind][name] = tuple(int(n) for n in rest)
                else:
                    found[kind].setdefault(name, []).append(rest[0])
    return tuple(found.values())


def unmarked(told):
    """What is different, but for methods that are not marked AggressiveInlining any more (docs/dotnet.md)."""
    woven, unwoven = "only woven: ", "only unwoven: "
    now = {t.removeprefix(woven) for t in told if t.startswith(woven)}
    plain = lambda t: t.removeprefix(unwoven).replace(" AggressiveInlining ", " IL ", 1)
    gone = [t for t in told if t.startswith(unwoven) and " AggressiveInlining " in t and plain(t) in now]
    taken = {woven + plain(t) for t in gone} | set(gone)
    return [t for t in told if t not in taken]


def second_reader(score, group):
    """The output holds together, all else is as before, and the counts fit what the weaver told."""
    used = cpu()
    names = list(group.told)
    before, after, compared, counts, woven = read(group.root, names, group.woven)
    # A PDB that the reader cannot read to its end unwoven (F#'s compiler has a method too large for it) is not judged.
    unread = {name for name, told in before.items() if any(p.startswith("PDB: ") for p in told)}
    new = [f"{n}: {p}" for n, told in after.items() for p in told
           if p not in before.get(n, []) and not (n in unread and ": a sequence point at " in p)]
    print(*[f"     {n[:500]}" for n in new[:SHOWN]], sep="\n", end="\n" if new else "")
    score.check(f"{group.name}: the second reader finds them whole", not new and len(woven) == len(names),
                f"{len(woven)} assemblies, {len(new)} new problems ({cpu() - used:.0f} s of CPU)")
    changes = [f"{n}: {p}" for n, told in compared.items() for p in unmarked(told)]
    print(*[f"     {c[:500]}" for c in changes[:SHOWN]], sep="\n", end="\n" if changes else "")
    score.check(f"{group.name}: nothing else changed", not changes, f"{len(changes)} differences in {len(names)} assemblies")
    wrong, reasons, methods, hooked = [], {}, 0, 0
    for name, report in group.told.items():
        left = sum(n for reason, n in report["left"].items() if reason != "no-body")
        for reason, n in report["left"].items():
            reasons[reason] = reasons.get(reason, 0) + n
        types, bodies, _, _, steps, reference = counts[name]
        methods += bodies
        hooked += woven[name][2]
        # A state machine's own methods are part of the method that it was made of, whether or not that is woven.
        told = report["methods"] + left
        # Bodies of reference assemblies are never run.
        fits = told == 0 if reference else bodies - steps <= told <= bodies
        if not fits or woven[name][2] < report["methods"] or woven[name][:2] != (types, bodies):
            wrong.append(f"     {name}: {bodies} methods with code, {steps} of state machines; weave tells {report['methods']} woven,"
                         f" {report['left']} left; {woven[name][2]} call hooks")
    print(*wrong[:SHOWN], sep="\n", end="\n" if wrong else "")
    compilers = [n for n in names if pathlib.PurePath(n).name in COMPILERS]
    if compilers:
        taken = [n for n in compilers if "build-tool" in group.told[n]["left"]]
        score.check(f"{group.name}: the compilers are not taken for what they load", not taken, ", ".join(taken or compilers))
    growth = 100 * (sum(w[3] for w in woven.values()) / max(1, sum(c[3] for c in counts.values())) - 1)
    score.check(f"{group.name}: every method with code is woven or left with a reason", not wrong,
                f"{methods} methods, {hooked} call hooks; left: {reasons}; bodies grow by {growth:.0f} %")


def prepare(command, names, settings, label):
    """What PrepareAll says: `({(assembly, token): (kind, message, name)}, prepared, unjudged)`; a JIT's crash is a failure like others."""
    env = {**os.environ, "WEAVE_TRACE": "off", **{f"{prefix}_{k}": v for k, v in settings.items() for prefix in ("COMPlus", "DOTNET")}}

    def part(job):
        number, mine = job
        listing = listed(f"prepare-{label}-{number}", mine)
        progress, skip = listing.with_suffix(".progress"), listing.with_suffix(".skip")
        skip.write_text("")
        crashed = {}
        while True:
            done = subprocess.run([str(c) for c in [*command, "--list", listing, "--progress", progress, "--skip", skip]],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", env=env)
            out = done.stdout.splitlines()
            if done.returncode == 0 and out and out[-1].startswith("prepared "):
                return out, crashed
            at = progress.read_bytes() if progress.exists() else b""
            place = tuple(int.from_bytes(at[i : i + 4], "little") for i in (0, 4))
            if len(at) != 8 or place[1] == 0 or place in crashed or len(crashed) > 20:
                raise RuntimeError(f"PrepareAll did not finish: exit {done.returncode} {out[-2:]} {done.stderr[-1500:]}")
            crashed[place] = (mine[place[0]], f"exit {done.returncode}: {done.stderr[:300]}")
            skip.write_text("".join(f"{a} {t}\n" for a, t in crashed))

    failing, prepared, unjudged = {}, 0, 0
    # The biggest first, so that the parts end together.
    parts = [names[i::JOBS] for i in range(JOBS) if names[i::JOBS]]
    with ThreadPoolExecutor() as pool:
        for out, crashed in pool.map(part, enumerate(parts)):
            last = out[-1].split()
            prepared, unjudged = prepared + int(last[1]), unjudged + int(last[3])
            for line in out[:-1]:
                fields = line.split("\t", 4)
                if len(fields) == 5 and fields[3] != "unjudged":
                    name, method, token, kind, message = fields
                    failing[pathlib.Path(name).name if "/" not in name else name, token] = (kind, message, method)
            for (_, token), (name, message) in crashed.items():
                failing[name, f"{token:08x}"] = ("crash", message, "?")
    return failing, prepared, unjudged


# Natively compiled code is left aside, so that the JIT sees every body.
QUICK = {"ReadyToRun": "0", "TieredPGO": "0", "TieredCompilation": "1"}
OPTIMISED = {"ReadyToRun": "0", "TieredCompilation": "0"}


def patched(runtime, label, replaced=None):
    """A copy of a runtime, with assemblies in place of its own ones."""
    home = fresh(WORK / "dotnet" / label)
    for part in runtime.parts:
        source, target = runtime.home / part, home / part
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True, copy_function=link)
        else:
            link(source, target)
    folder = home / runtime.framework.relative_to(runtime.home)
    for name, path in (replaced or {}).items():
        (folder / name).unlink(missing_ok=True)
        shutil.copy(path, folder / name)
    return home


def link(source, target):
    """The same file, or a copy where it lies on another disk."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def app(name, label):
    """A copy of an oracle's assembly with the hook library beside it."""
    folder = fresh(WORK / "dotnet" / label)
    shutil.copy(dotnet.oracle(name), folder)
    for path in [RUNTIME, *BESIDE]:
        shutil.copy(path, folder)
    return folder / f"{name}.dll"


def jit(score, group, settings, how):
    """No method fails to compile that did not fail unwoven."""
    used = cpu()
    own = group.root == group.host.framework
    names = [n for n in group.told if "/" not in n or not own]
    if own:
        # Another CoreLib calls hooks before anything can be loaded: no runtime starts on it.
        names = [n for n in names if n != "System.Private.CoreLib.dll"]
    names.sort(key=lambda n: -(group.root / n).stat().st_size)
    judge, config = app("PrepareAll", f"judge-{group.name}"), group.host.command[1:]

    folders = sorted({(group.root / name).parent for name in names}, key=lambda folder: (folder != group.root, folder))

    def command(which):
        if not own:
            return [*group.host.command, judge, *(part for folder in folders for part in ("--resolve", folder))]
        replaced = {n: group.woven / n for n in names} if which == "woven" else {}
        return [patched(group.host, f"{group.name}-{which}", replaced) / "dotnet", *config, judge, "--own"]

    def paths(which):
        return names if own else [str((group.root if which == "plain" else group.woven) / n) for n in names]

    def relative(failing, which):
        base = f"{group.root if which == 'plain' else group.woven}/"
        return {(name.removeprefix(base), token): told for (name, token), told in failing.items()}

    mark = hashlib.sha256((ROOT / "tests/oracle/PrepareAll.cs").read_bytes() + json.dumps([settings, names, dotnet.PACKAGES, group.host.version]).encode()).hexdigest()[:16]
    known = dotnet.HOME / "judged" / f"{group.name}-{mark}.json"
    if known.exists():
        rows, prepared_before, _ = json.loads(known.read_text())
        before = {(n, t): tuple(told) for n, t, *told in rows}
    else:
        before, prepared_before, _ = prepare(command("plain"), paths("plain"), settings, f"{group.name}-plain")
        before = relative(before, "plain")
        known.parent.mkdir(parents=True, exist_ok=True)
        known.write_text(json.dumps([[[n, t, *told] for (n, t), told in before.items()], prepared_before, 0]))
    after, prepared, unjudged = prepare(command("woven"), paths("woven"), settings, f"{group.name}-woven")
    after = relative(after, "woven")
    # A type that cannot be loaded fails once unwoven, and with each body that was moved into its `<Weave>` woven: in the same words.
    words = {(name, kind, message) for (name, _), (kind, message, _) in before.items()}
    new = {(name, token): (kind, message, method) for (name, token), (kind, message, method) in after.items()
           if ((name, token) not in before or before[name, token][0] != kind)
           and not ("+<Weave>" in method and ((name, kind, message) in words or is_absent(name, message)))}
    for (name, token), (kind, message, method) in sorted(new.items())[:SHOWN]:
        print(f"     {name}: {method} {token}: {kind}: {message[:400]}")
    score.check(f"{group.name}: CoreCLR {group.host.version} compiles every method, {how}", not new and prepared >= prepared_before > 0,
                f"{prepared} methods, {prepared_before} unwoven, {unjudged} unjudged; {len(before)} fail unwoven, {len(new)} newly"
                f" ({cpu() - used:.0f} s of CPU)")


def is_absent(name, message):
    """Whether it says that another assembly lacks a type. A static method that names it is not compiled; an instance method is, and throws when it is run."""
    found = re.match(r"Could not load type '[^']+' from assembly '([^,']+),", message)
    return bool(found) and found[1] not in (pathlib.Path(name).stem, "Weave.Runtime")


def filled(path, folder):
    """The assembly, with sections that take as much room in the file as in memory: Mono's verifier knows no others."""
    image = path.read_bytes()
    header = struct.unpack_from("<I", image, 0x3C)[0]
    count, optional = struct.unpack_from("<H", image, header + 6)[0], struct.unpack_from("<H", image, header + 20)[0]
    headers = [header + 24 + optional + 40 * i for i in range(count)]
    told = [struct.unpack_from("<IIII", image, at + 8) for at in headers]
    if all(raw >= virtual for virtual, _, raw, _ in told):
        return path
    align = struct.unpack_from("<I", image, header + 24 + 36)[0]
    first = min(pointer for _, _, raw, pointer in told if raw)
    out = bytearray(image[:first])
    for at, (virtual, address, raw, pointer) in zip(headers, told):
        size = -(-max(virtual, raw) // align) * align
        struct.pack_into("<IIII", out, at + 8, virtual, address, size, len(out))
        out += image[pointer : pointer + raw].ljust(size, b"\0") if raw else bytes(size)
    # Of the same name, which is the assembly's, and beside what lies beside it.
    target = folder / hashlib.sha256(str(path).encode()).hexdigest()[:16] / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    for other in path.parent.glob("*.dll"):
        link = target.with_name(other.name)
        if other != path and not link.exists():
            link.symlink_to(other.resolve())
    target.unlink(missing_ok=True)
    target.write_bytes(out)
    return target


# What Mono's verifier says of any local of ours in code that it knew to be unverifiable or that had no locals; what follows about the
# same method counts.
UNVERIFIABLE = ("Not Verifiable: Unmanaged pointer is not a verifiable type",)


def complaints(path, search):
    """What Mono's verifier and JIT say of an assembly: `{(judge, method): the first word of it}`."""
    env = {**os.environ, "MONO_PATH": os.pathsep.join(str(s) for s in search), "WEAVE_TRACE": "off", "LC_ALL": "C.UTF-8"}
    found = {}
    done = run(["peverify", filled(path, WORK / "dotnet" / "filled")], check=False, env=env)
    if done.returncode < 0:
        found["peverify", "-"] = f"signal {-done.returncode}"
    method = "-"
    for line in done.stdout.splitlines():
        if line.startswith("In method: "):
            method = line[len("In method: "):]
        elif line.startswith(UNVERIFIABLE):
            continue
        elif line.startswith(("Error: ", "Not Verifiable: ")):
            found.setdefault(("peverify", method), line[:200])
        elif line.startswith("FAIL"):
            found.setdefault(("peverify", "metadata"), line[:300])
    done = run(["mono", "--compile-all", path], check=False, env=env)
    if done.returncode < 0:
        found["JIT", "-"] = f"signal {-done.returncode}: {done.stderr[:300]}"
    for line in (done.stdout + done.stderr).splitlines():
        if line.startswith("Compilation of ") and " failed with exception" in line:
            method, told = line[len("Compilation of "):].split(" failed with exception ", 1)
            found.setdefault(("JIT", method), told[:200])
    return found


def mono(score, group, what="woven"):
    """Mono's verifier and JIT tell of no method that they did not tell of unwoven."""
    used = cpu()

    def one(name):
        # Its own folder's assemblies go before the installed ones, woven or not, and the hook library is found.
        search = [RUNTIME.parent, *(path.parent for path in BESIDE)]
        before = complaints(group.root / name, search)
        after = complaints(group.woven / name, search)
        return before, {key: told for key, told in after.items() if key not in before}

    new, known = {}, 0
    with ThreadPoolExecutor(JOBS) as pool:
        for name, (before, fresh_ones) in zip(group.told, pool.map(one, group.told)):
            known += len(before)
            new.update({(name, *key): told for key, told in fresh_ones.items()})
    for (name, judge, method), told in sorted(new.items())[:SHOWN]:
        print(f"     {name}: {judge}: {method}: {told}")
    score.check(f"{group.name}: Mono's verifier and JIT accept every method, {what}", not new,
                f"{len(group.told)} assemblies; {known} complaints unwoven, {len(new)} new ({cpu() - used:.0f} s of CPU)")


def body():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    corpora.add_scopes(args)
    args.add_argument("--only", action="append", default=[], choices=sorted([*EVERYDAY, *SDK]))
    args.add_argument("assembly", nargs="*", type=pathlib.Path, help="these assemblies only, for CoreCLR 8.0")
    args = args.parse_args()
    score, begun = Score(), time.monotonic()
    fresh(WORK / "dotnet")
    if args.assembly:
        paths = [p.resolve() for p in args.assembly]
        root = pathlib.Path(os.path.commonpath([p.parent for p in paths]))
        chosen = [Set("given", root, [str(p.relative_to(root)) for p in paths], host("core8"))]
    else:
        chosen = sets(args.scope, args.only)
    print(f"     {sum(len(s.names) for s in chosen)} assemblies in {os.path.relpath(CACHE, ROOT)} and Mono's folder", flush=True)
    weave_all(score, chosen)
    for group in chosen:
        if not group.told:
            continue
        second_reader(score, group)
        if group.host:
            jit(score, group, QUICK, "quickly")
            if args.scope != "--everyday":
                jit(score, group, OPTIMISED, "optimised")
        else:
            mono(score, group)
    print(f"     {time.monotonic() - begun:.0f} s", flush=True)
    return score.finish("assemblies")


if __name__ == "__main__":
    main(body)
