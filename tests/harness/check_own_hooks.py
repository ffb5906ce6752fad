#!/usr/bin/env python3
"""Weaves assemblies with own hooks that take everything, and has CoreCLR's JIT and Mono's verifier judge them.

    check_own_hooks.py [--everyday | --full | --everything] [--only SET]...

Sets are those of check_dotnet.py. Every method but those with state machines gets hooks that take `this`, all arguments, result, exception, state and duration, by adapters or not
(examples/own_hooks.rs), then records all that can be recorded of it and of the calls that give tasks, then gets hooks that may change all that a hook can change of it, and then one instead of its body that only proceeds; none may fail to compile or to verify that
did not fail unwoven.
"""

import argparse
import contextlib
import json
import os
import pathlib
from concurrent.futures import ThreadPoolExecutor

import changing
import check_dotnet
import corpora
import dotnet
import sdk
from check_dotnet import Set, assemblies, listed, sets
from lib import JOBS, ROOT, WORK, Score, cpu, fresh, main, run, weave_binary

EVERYDAY = {
    "roslyn": ["CommandLine.dll", "Azure.Core.dll", "System.Composition.Hosting.dll"],
    "fsharp": ["FSharp.Core.dll"],
    "core8": ["System.Linq.dll", "System.Collections.dll", "System.Text.Json.dll", "Microsoft.VisualBasic.Core.dll"],
    "core31": ["System.Linq.Expressions.dll"],
    "sdk": ["System.Linq.dll", "System.Net.Http.dll"],
    "mono": ["4.5/System.Core.dll", "4.5/mcs.exe"],
}


VALUES = """version = 1
[[aspect]]
name = "everything"
match = { type = "**", method = "*", min-size = 0, kind = ["method", "constructor", "static-init", "accessor", "bridge", "synthetic", "lambda", "async"] }
record = ["this?", "args?", "arg(0)?", "arg(1)?", "result?", "exception?"]
mask = ["password=*"]
"""

# Most calls that give tasks, which are followed, among others that are not.
TASKS = """version = 1
[[aspect]]
name = "tasks"
at = { call = { type = "**", method = ["*Async*", "*Task*", "Delay", "Run", "Start*", "When*", "FromResult", "Wait*"] } }
record = ["target?", "args?", "result?", "said = string(result?)", "exception?"]
mask = ["password=*"]
"""

# Mono's verifier refuses instances over arrays of generic types, and over private types of a type two levels up, in code of Mono's own
# compiler, too.
check_dotnet.UNVERIFIABLE += (
    "Error: Invalid generic method instantiation of method .<Weave>::Acme.All.One",
    "Error: Invalid generic method instantiation of method Acme.All::One",
    "Not Verifiable: Method <Weave>:Acme.All.One",
    "Not Verifiable: Method Acme.All:One",
    "Error: Invalid generic type instantiation of type .<Weave>Closure",
    "Error: Invalid generic type instantiation of type System.Func`1",
    "Error: Could not load type .<Weave>",
)


def newest(scope):
    """The set of the SDK's own runtime."""
    root = sdk.find().framework()
    return Set("sdk", root, EVERYDAY["sdk"] if scope == "--everyday" else assemblies(root), check_dotnet.host("sdk"))


def example():
    """The weaver that binds by hand."""
    run(["cargo", "build", "-q", *([] if os.environ.get("WEAVE_DEBUG") else ["--release"]), "--example", "own_hooks"], cwd=ROOT)
    return ROOT / "target" / ("debug" if os.environ.get("WEAVE_DEBUG") else "release") / "examples" / "own_hooks"


def library(folder, name):
    """The hooks, for all runtimes."""
    api = dotnet.mono_libraries() / "4.7.2-api"
    made = folder / f"{name}.dll"
    run([*dotnet.csc(), "-nologo", "-nostdlib", "-optimize", "-target:library", f"-r:{api / 'mscorlib.dll'}", f"-out:{made}",
         ROOT / f"tests/dotnet/own/{name}.cs"])
    return made


def program(score, folder):
    """A program with what only .NET has, on each runtime: by-ref, structs, generics, hooks of its own."""
    api, sources = dotnet.mono_libraries() / "4.7.2-api", ROOT / "tests/dotnet/own"
    plain, woven = fresh(folder / "plain"), fresh(folder / "woven")
    base = [*dotnet.csc(), "-nologo", "-nostdlib", "-unsafe", f"-r:{api / 'mscorlib.dll'}"]
    run([*base, "-optimize", "-target:library", f"-out:{folder / 'hooks.dll'}", sources / "Hooks.cs"])
    (folder / "weave.toml").write_text((sources / "rules.toml").read_text().replace("LIBRARY", "hooks.dll"))
    for how in ([], ["-optimize"]):
        run([*base, *how, "-debug:portable", f"-out:{plain / 'app.exe'}", sources / "Program.cs"])
        run([weave_binary(), "-q", "--strict", "--rules", folder / "weave.toml", plain / "app.exe", woven / "app.exe"])
        hosts = {"CoreCLR 8": dotnet.host("core8"), "CoreCLR 10": check_dotnet.host("sdk").command, "Mono": ["mono"]}
        for name, host in hosts.items():
            done = run([*host, woven / "app.exe"], check=False, env={**os.environ, "WEAVE_TRACE": "off"})
            expected = (sources / "expected.txt").read_text()
            good = done.returncode == 0 and done.stdout == expected and not done.stderr
            score.check(f"program {' '.join(how) or 'not optimised'} on {name}", good, f"{len(expected.splitlines())} lines")
            if not good:
                print(f"exit {done.returncode}\n{done.stdout}\n{done.stderr[-2000:]}")


def weave_all(score, group, weaver):
    """Weaves a set, once on its own and once more for the same bytes."""
    used = cpu()
    pairs = [(group.root / name, group.woven / name) for name in group.names]
    for _, to in pairs:
        to.parent.mkdir(parents=True, exist_ok=True)
    told = run([weaver, listed(f"own-{group.name}", [f"{a}\t{b}" for a, b in pairs])]).stdout.splitlines()
    methods, left, failed = 0, {}, []
    for (source, _), line in zip(pairs, told):
        path, count, rest = line.split("\t")
        name = str(pathlib.Path(path).relative_to(group.root))
        if count == "error":
            failed.append(f"{name}: {rest}")
            continue
        methods += int(count)
        for entry in rest.split():
            why, n = entry.rsplit("=", 1)
            left[why] = left.get(why, 0) + int(n)
        group.told[name] = {"methods": int(count)}
    print(*[f"     {f}" for f in failed], sep="\n", end="\n" if failed else "")
    # Constructors that call another one in no place that hooks can begin behind.
    unexpected = 10_000 * sum(n for why, n in left.items() if why in ("unsupported", "code-too-large")) > methods
    score.check(f"{group.name}: own hooks are woven", not failed and len(told) == len(pairs) and not unexpected,
                f"{methods} methods of {len(group.told)} assemblies, left {left} ({cpu() - used:.0f} s of CPU)")


def weave_rules(score, group, rules, what):
    """Weaves a set by rules."""
    used = cpu()

    def one(name):
        return run([weave_binary(), "--json", "--no-runtime", "--rules", rules, group.root / name, group.woven / name], check=False)

    with ThreadPoolExecutor(JOBS) as pool:
        done = dict(zip(group.names, pool.map(one, group.names)))
    failed = [f"{name}: exit {ran.returncode} {ran.stderr.strip()[:400]}" for name, ran in done.items() if ran.returncode]
    group.told = {name: json.loads(ran.stdout) for name, ran in done.items() if not ran.returncode}
    print(*[f"     {f}" for f in failed], sep="\n", end="\n" if failed else "")
    left = {}
    for told in group.told.values():
        for why, n in told["left"].items():
            left[why] = left.get(why, 0) + n
    methods = sum(told["methods"] + told["calls"] for told in group.told.values())
    unexpected = 10_000 * sum(n for why, n in left.items() if why in ("unsupported", "code-too-large")) > methods
    score.check(f"{group.name}: {what}", not failed and methods and not unexpected,
                f"{methods} methods of {len(group.told)} assemblies, left {left} ({cpu() - used:.0f} s of CPU)")


def judged(score, group, what):
    """Nothing fails that did not fail unwoven."""
    group.told = {name: {"methods": told["methods"] + told.get("calls", 0)} for name, told in group.told.items()}
    group.told = {name: told for name, told in group.told.items() if told["methods"]}
    if group.host:
        check_dotnet.jit(score, group, check_dotnet.QUICK, f"quickly, {what}")
    else:
        check_dotnet.mono(score, group, what)


#: What the judge is told of hooks around bodies.
AROUND = "with hooks in the places of bodies"


@contextlib.contextmanager
def errors_alone():
    """Mono's verifier tells errors alone, not what is merely not verifiable."""
    before = check_dotnet.UNVERIFIABLE
    check_dotnet.UNVERIFIABLE = (*before, "Not Verifiable: ")
    try:
        yield
    finally:
        check_dotnet.UNVERIFIABLE = before


def body():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    corpora.add_scopes(args)
    args.add_argument("--only", action="append", default=[], choices=sorted(EVERYDAY))
    args = args.parse_args()
    score, weaver = Score(), example()
    fresh(WORK / "dotnet")
    if not args.only:
        program(score, fresh(WORK / "dotnet" / "program"))
    beside = fresh(WORK / "dotnet" / "own")
    check_dotnet.BESIDE = [library(beside, "All"), library(beside, "Same")]
    values = listed("values", VALUES.splitlines())
    tasks = listed("tasks", TASKS.splitlines())
    changes = listed("changes", changing.rules(beside / "Same.dll", changing.DOTNET))
    around = listed("around", changing.around_dotnet(beside / "Same.dll"))
    named = [name for name in args.only if name != "sdk"]
    chosen = sets(args.scope, named) if named or not args.only else []
    if not args.only or "sdk" in args.only:
        chosen.append(newest(args.scope))
    ways = [
        ("with own hooks", lambda group: weave_all(score, group, weaver)),
        ("with values", lambda group: weave_rules(score, group, values, "all values are recorded")),
        ("with calls that give tasks", lambda group: weave_rules(score, group, tasks, "calls that give tasks are recorded until these are complete")),
        ("with hooks that may change", lambda group: weave_rules(score, group, changes, "all that may change is changed")),
        (AROUND, lambda group: weave_rules(score, group, around, "every body that may is run by a hook")),
    ]
    for turn, group in enumerate(chosen):
        if args.scope == "--everyday":
            group.names = EVERYDAY[group.name]
        for number, (what, weave) in enumerate(ways):
            # Where time is short, each way on half of the sets.
            if args.scope == "--everyday" and not args.only and (number + turn) % 2:
                continue
            weave(group)
            # A body that has moved is not verifiable where it calls `base.M()`, or if it was not before: by another name.
            with errors_alone() if what == AROUND else contextlib.nullcontext():
                judged(score, group, what)
    return score.finish("own hooks")


if __name__ == "__main__":
    main(body)
