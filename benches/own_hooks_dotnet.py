#!/usr/bin/env python3
"""What an own hook and a recorded value cost on .NET, in one run: two arguments at the start and the result at the end, beside the same calls
by hand, a hand-written decorator and AspectInjector's advice; a hook around that only proceeds, beside a delegate by hand; and a pair of hooks
that records a string of 40 characters, beside the pair alone.

    own_hooks_dotnet.py [--slices N] [--warm N]

Each way has a copy of one class. Calls are timed in turns, in short slices, so that the least of them ran undisturbed. The trace is a ring.
The goal: at most 2 ns beyond the calls by hand, 10 with the flag against recursion; a string at most 60 ns beyond the pair, and no allocation;
a hook around at most the delegate by hand.
Needs the .NET SDK 10 with AspectInjector's package in reach (see tests/harness/sdk.py) and a release build.
"""

import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "harness"))
import lib
import msbuild_sdk
from builds import write

SOURCES = lib.ROOT / "benches" / "own" / "dotnet"
COPIES = ["Woven", "Flagged", "Bare", "Injected", "Decoratee", "Pair", "Recorded", "WovenAround"]
WAYS = {"without": "Work", "by hand": "ByHand", "weave": "Woven", "weave, flag": "Flagged", "weave, guard = false": "Bare", "decorator": "Decorated",
        "AspectInjector": "Injected", "the pair": "Pair", "the pair and a string": "Recorded", "around by hand": "AroundByHand", "around, weave": "WovenAround"}
LOOP = """
    private static readonly {ty} Of{ty} = new();

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Run{ty}()
    {{
        int sum = 0;
        for (int i = 0; i < Calls; i++)
        {{
            sum += Of{ty}.Do(i, Text);
        }}
        return sum;
    }}
"""
RULES = """version = 1

[[library]]
path = "Hooks.dll"
embed = false

[[aspect]]
name = "guarded"
match = { type = "Bench.Woven", method = "Do" }
enter = "Bench.Log.Begin(n, text)"
exit = "Bench.Log.End(result)"

[[aspect]]
name = "flagged"
match = { type = "Bench.Flagged", method = "Do" }
enter = "Bench.Log.BeginFlagged(n, text)"
exit = "Bench.Log.End(result)"

[[aspect]]
name = "bare"
match = { type = "Bench.Bare", method = "Do" }
enter = "Bench.Log.Begin(n, text)"
exit = "Bench.Log.End(result)"
guard = false

[[aspect]]
name = "pair"
match = { type = "Bench.Pair", method = "Do" }

[[aspect]]
name = "recorded"
match = { type = "Bench.Recorded", method = "Do" }
record = ["text"]

[[aspect]]
name = "around"
match = { type = "Bench.WovenAround", method = "Do" }
around = "Bench.Log.Around(proceed)"
"""


def body():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--slices", type=int, default=2000)
    options.add_argument("--warm", type=int, default=1000)
    args = options.parse_args()
    folder = lib.fresh(lib.WORK / "own-hooks-dotnet")
    shop = msbuild_sdk.Shop(lib.Score(), folder)
    (shop.folder / "weave.toml").unlink()
    hooks = shop.project("Hooks", "Library", ours=False)
    write(hooks.parent / "Log.cs", (SOURCES / "Log.cs").read_text())
    bench = shop.project("Bench", items=msbuild_sdk.reference("AspectInjector", "2.7.3") + '<ProjectReference Include="../Hooks/Hooks.csproj" />', ours=False)
    work = (SOURCES / "Work.cs").read_text()
    for name in ("Work", *COPIES):
        text = re.sub(r"\bWork\b", name, work)
        write(bench.parent / f"{name}.cs", text.replace("    public int Do", "    [Logged]\n    public int Do") if name == "Injected" else text)
    write(bench.parent / "Peers.cs", (SOURCES / "Peers.cs").read_text())
    program = (SOURCES / "Program.cs").read_text()
    for mark, text in (("/*NAMES*/", ", ".join(f'"{name}"' for name in WAYS)), ("/*WAYS*/", ", ".join(f"Run{ty}" for ty in WAYS.values())),
                       ("/*LOOPS*/\n", "".join(LOOP.format(ty=ty) for ty in WAYS.values()))):
        program = program.replace(mark, text)
    write(bench.parent / "Program.cs", program)
    if not shop.run("build", bench, "-c", "Release"):
        raise RuntimeError(shop.output[-3000:])
    built, woven = bench.parent / "bin/Release/net10.0", folder / "woven"
    write(built / "weave.toml", RULES)
    lib.run([shop.program, "-q", "--strict", "--rules", built / "weave.toml", built, woven])
    trace = folder / "bench.wtrace"
    shop.call([shop.sdk.dotnet, woven / "Bench.dll", args.slices, args.warm], WEAVE_TRACE=trace, WEAVE_TRACE_LIMIT="16m", WEAVE_TRACE_POLICY="ring")
    print(shop.output, end="")
    recorded = lib.run([shop.program, "report", "--calls", "--where", "text=*orders*", "--limit", "1", trace], check=False).stdout
    if shop.status or 'text="select name' not in recorded:
        print(recorded)
        return 1
    return 0


if __name__ == "__main__":
    lib.main(body)
