#!/usr/bin/env python3
"""Measures Weave.MSBuild beside AspectInjector on one project of the .NET SDK, at build and per call.

    benches/aspect_injector.py [--rounds N] [--classes N] [--slices N]

The project is built in four copies: as it is, with Weave.MSBuild, and with AspectInjector by an advice before and after each method,
which knows of no exception, and by one around it, which does. Rounds go through all of them, one after another.
build: the project compiled and woven anew (Rebuild); told are the tool's targets by MSBuild's own clock, and the CPU time of the whole
  build less that of the round's plain one. At least 5 times faster than AspectInjector's faster one. Beside it the compiler's task
no change: CPU time of a build without changes, less that of the plain one
call: CPU time of the process for a call of a small method that is not put into its caller, less that of a plain one, with
  two clock readings in each advice, as a pair of hooks has them; and woven with tracing off. The program's first slices are not counted

CPU time grows little where other programs run; told is the median of the rounds, and behind it the least and the most.
Needs the .NET SDK 10 with AspectInjector's package in reach (see tests/harness/sdk.py) and a release build.
"""
import argparse
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "harness"))

import lib
import msbuild_sdk
from builds import write

METHODS = 12
RULES = 'version = 1\n\n[[aspect]]\nname = "app"\nmatch = { type = "App.**", kind = "method", min-size = 0 }\n'
INJECTED = msbuild_sdk.reference("AspectInjector", "2.7.3")
ADVICE = """using System; using System.Diagnostics; using AspectInjector.Broker;
[Aspect(Scope.Global)] [Injection(typeof(Watched))]
public class Watched : Attribute {
    static long spent;
    %s
}
"""
BEFORE_AFTER = """[Advice(Kind.Before)] public void Before([Argument(Source.Name)] string name) { spent -= Stopwatch.GetTimestamp(); }
    [Advice(Kind.After)] public void After([Argument(Source.Name)] string name) { spent += Stopwatch.GetTimestamp(); }"""
AROUND = """[Advice(Kind.Around)] public object Around([Argument(Source.Name)] string name, [Argument(Source.Arguments)] object[] all, [Argument(Source.Target)] Func<object[], object> target) {
        spent -= Stopwatch.GetTimestamp();
        try { return target(all); } catch (Exception) { spent++; throw; } finally { spent += Stopwatch.GetTimestamp(); } }"""
PROGRAM = """using System; using System.Runtime.CompilerServices;
namespace App { %s public static class Step {
    [MethodImpl(MethodImplOptions.NoInlining)] public static int Of(int n, int k) { return (n ^ k) * 31 + (n >> 3); } } }
public static class Program {
    public static void Main(string[] arguments) {
        const int Calls = 1000000;
        int n = 1;
        for (int slice = 0; slice < int.Parse(arguments[0]); slice++) {
            var begun = Environment.CpuUsage.TotalTime;
            for (int i = 0; i < Calls; i++) n = App.Step.Of(n, i);
            Console.WriteLine((Environment.CpuUsage.TotalTime - begun).TotalMilliseconds * 1e6 / Calls);
        }
        GC.KeepAlive(n);
    }
}
"""
KINDS = ("plain", "weave", "before and after", "around")
#: The targets of each tool, as MSBuild's summary of times has them.
TARGETS = {"weave": r"_?Weave\w+", "before and after": r"_?(?:InjectAspects|AspectInjector\w*|_ASI\w*)", "around": r"_?(?:InjectAspects|AspectInjector\w*|_ASI\w*)"}


def source(number, attribute):
    """A class of ordinary methods."""
    body = "".join(f"""
        public static int M{i}(int n, string s) {{
            int sum = n; for (int i = 0; i < s.Length; i++) {{ sum += s[i] * {i + 1}; if (sum > {number + i}) sum -= n; }}
            try {{ return int.Parse(s) + sum; }} catch (FormatException) {{ return sum; }} }}""" for i in range(METHODS))
    return f"using System;\nnamespace App.P{number % 50} {{ {attribute} public static class C{number} {{{body}\n}} }}\n"


class Figures:
    """What the rounds told, by name."""

    def __init__(self):
        self.values = {}

    def add(self, name, value):
        self.values.setdefault(name, []).append(value)

    def median(self, name):
        return statistics.median(self.values[name])

    def told(self, name, unit):
        values = self.values[name]
        return f"{self.median(name):.1f} {unit} ({min(values):.1f} to {max(values):.1f})"


def build(shop, project, *arguments):
    """Milliseconds of CPU that a build took."""
    begun = lib.cpu()
    if not shop.run("build", project, "-c", "Release", "--no-restore", "-m:1", "-clp:PerformanceSummary", *arguments):
        raise RuntimeError(shop.output[-3000:])
    return (lib.cpu() - begun) * 1000


def summary(shop, what, name):
    """Milliseconds of the tasks or targets of these names in the last build."""
    part = re.search(rf"^{what} Performance Summary:\n((?: +\d+ ms .*\n)*)", shop.built, re.M)
    return sum(int(took) for took, of in re.findall(r"^ +(\d+) ms +(\S+)", part[1] if part else "", re.M) if re.fullmatch(name, of))


def body():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--classes", type=int, default=250)
    options.add_argument("--slices", type=int, default=12)
    args = options.parse_args()
    score, figures = lib.Score(), Figures()
    folder = lib.fresh(lib.WORK / "bench aspect_injector")
    shop = msbuild_sdk.Shop(score, folder)
    write(shop.folder / "weave.toml", RULES)
    projects = {}
    for kind in KINDS:
        injected = kind in ("before and after", "around")
        attribute = "[Watched]" if injected else ""
        path = shop.project(kind.replace(" ", ""), items=INJECTED if injected else "", ours=kind == "weave")
        for number in range(args.classes):
            write(path.parent / f"C{number}.cs", source(number, attribute))
        write(path.parent / "Program.cs", PROGRAM % attribute)
        if injected:
            write(path.parent / "Watched.cs", ADVICE % (AROUND if kind == "around" else BEFORE_AFTER))
        if not shop.run("restore", path):
            raise RuntimeError(shop.output[-3000:])
        projects[kind] = path
    for number in range(-1, args.rounds):
        spent, idle = {}, {}
        for kind, path in projects.items():
            spent[kind] = build(shop, path, "-t:Rebuild")
            if number >= 0:
                figures.add(f"{kind}: compiler", summary(shop, "Task", "Csc"))
                if kind != "plain":
                    figures.add(f"{kind}: targets", summary(shop, "Target", TARGETS[kind]))
        for kind, path in projects.items():
            idle[kind] = build(shop, path)
        for kind in KINDS[1:] if number >= 0 else ():
            figures.add(f"{kind}: CPU", spent[kind] - spent["plain"])
            figures.add(f"{kind}: no change", idle[kind] - idle["plain"])
    for number in range(args.rounds):
        costs = {}
        for kind in (*KINDS, "weave, off"):
            path = projects[kind.split(",")[0]]
            trace = "off" if kind == "weave, off" else folder / "bench.wtrace"
            shop.call([shop.sdk.dotnet, path.parent / f"bin/Release/net10.0/{path.stem}.dll", args.slices], WEAVE_TRACE=trace, WEAVE_TRACE_LIMIT="64m")
            if shop.status:
                raise RuntimeError(shop.output[-3000:])
            slices = [float(line) for line in shop.output.splitlines()]
            costs[kind] = statistics.median(slices[len(slices) // 3:])
            (folder / "bench.wtrace").unlink(missing_ok=True)
        for kind, cost in costs.items():
            figures.add(f"{kind}: call", cost - (costs["plain"] if kind != "plain" else 0))
    print(f"{args.classes} classes, {args.classes * METHODS} methods; plain: the compiler {figures.told('plain: compiler', 'ms')}, a call {figures.told('plain: call', 'ns')}")
    for kind in KINDS[1:]:
        print(f"     {kind}: targets {figures.told(f'{kind}: targets', 'ms')}, CPU {figures.told(f'{kind}: CPU', 'ms')}, "
              f"no change {figures.told(f'{kind}: no change', 'ms')}, a call {figures.told(f'{kind}: call', 'ns')}")
    print(f"     weave, off: a call {figures.told('weave, off: call', 'ns')}")
    for what in ("targets", "CPU"):
        # A difference of whole builds may be lost in their noise, and come out below nothing.
        ours, theirs = f"weave: {what}", min((f"{kind}: {what}" for kind in KINDS[2:]), key=figures.median)
        score.check(f"build, {what}: at least 5 times faster than AspectInjector's", figures.median(theirs) >= 5 * figures.median(ours),
                    f"{figures.told(ours, 'ms')} to {figures.told(theirs, 'ms')}")
    return score.finish("AspectInjector beside Weave.MSBuild")


if __name__ == "__main__":
    lib.main(body)
