#!/usr/bin/env python3
"""Runs real .NET programs woven whole: the same output as unwoven, and traces that are balanced.

    programs_dotnet.py [--everyday | --full | --everything] [--only NAME]...

Names: roslyn (the C# compiler, on CoreCLR 8.0), framework (CoreCLR 8.0's own assemblies but for CoreLib, used by a
program), mcs (Mono's compiler, on Mono), fsharp (an F# program on both, and the F# compiler), bodies (Newtonsoft.Json of the
.NET SDK, with a hook instead of each body), roslyn_bodies (the C# compiler, likewise). `--everyday` (the default) leaves out
those of the C# compiler, which are slow.
Each program runs unwoven, woven with tracing off, in a small ring, and with everything recorded.
"""

import json
import os
import re
import shutil

import changing
import check_dotnet
import check_own_hooks
import corpora
import dotnet
import sdk
from lib import ROOT, WORK, fresh, main, run
from programs import balanced, compare, environment, weave

# All but CoreLib: what the hooks themselves are made of.
ALL_BUT_CORELIB = """version = 1
[[aspect]]
name = "the framework"
match = { artifact = "!System.Private.CoreLib", min-size = 0, kind = ["method", "constructor", "static-init", "accessor", "bridge", "synthetic", "lambda", "async"] }
"""


def sources(folder):
    """Sources for a compiler: this tree's own, and 400 classes made up."""
    made = fresh(folder / "made")
    for i in range(400):
        methods = "\n".join(
            f"""    public static int M{n}(int x, string s) {{
        int sum = {i};
        for (int i = 0; i < x; i++) {{ try {{ sum += s.Length / (i - {n}); }} catch (System.DivideByZeroException) {{ sum -= {n}; }} finally {{ sum ^= i; }} }}
        System.Func<int, int> f = y => y + sum;
        switch (x % 3) {{ case 0: return f(sum); case 1: return C{(i + 1) % 400}.M{(n + 1) % 12}(x - 1, s + "a"); default: return new System.Collections.Generic.List<int> {{ x, sum }}.Count; }}
    }}"""
            for n in range(12)
        )
        (made / f"C{i}.cs").write_text(f"namespace Made {{\npublic class C{i} : System.IComparable<C{i}> {{\n    public int P {{ get; set; }}\n"
                                       f"    public int CompareTo(C{i} other) => P.CompareTo(other.P);\n{methods}\n}}\n}}\n")
    return sorted(made.glob("*.cs"))


def same_files(score, name, one, two):
    """Whether two folders hold the same files."""
    files = [{p.name: p.read_bytes() for p in sorted(d.iterdir())} for d in (one, two)]
    score.check(name, files[0] == files[1] and files[0], f"{ {n: len(b) for n, b in files[0].items()} }")


def roslyn(score, folder):
    """Roslyn's own assemblies woven: the same bytes of the same sources."""
    plain, woven = folder / "plain", folder / "woven"
    shutil.copytree(dotnet.compiler().parent, plain)
    weave(plain, woven)
    if not (woven / "Weave.Runtime.dll").exists():
        score.check("roslyn: the hook library is beside the woven assemblies", False)
        return
    large = sources(folder)
    modern = [ROOT / "samples" / "csharp" / "src", ROOT / "tests" / "oracle" / "ReadAll.cs", ROOT / "tests" / "dotnet" / "Csc.cs"]
    libraries = ["-r:" + str(dotnet.roslyn() / name) for name in dotnet.COMPILER]
    jobs = {
        "sample": ["-target:exe", "-main:Shop.Program", "-nullable", *sorted(modern[0].glob("*.cs"))],
        "reader": ["-target:exe", "-unsafe", modern[1]],
        "csc": ["-target:exe", *libraries, modern[2]],
    }

    def compiled(which, out, arguments, env=None):
        fresh(out)
        done = run([*dotnet.host("core8"), (plain if which == "plain" else woven) / "csc.dll", "-nologo", "-deterministic", "-debug:portable",
                    f"-out:{out / 'out.dll'}", f"-pathmap:{out}=/out", *arguments], check=False, env=env)
        if done.returncode != 0:
            print(f"{which}: exit {done.returncode} {(done.stdout + done.stderr)[-1500:]}")

    def both(how, arguments, env):
        compiled("plain", folder / "out-plain", arguments)
        compiled("woven", folder / "out-woven", arguments, env)
        same_files(score, f"roslyn: the same bytes, {how}", folder / "out-plain", folder / "out-woven")

    both("400 classes, tracing off", ["-target:library", *large], environment("off"))
    both("the sample, in a ring", jobs["sample"], environment(folder / "ring.wtrace", WEAVE_TRACE_LIMIT="64m"))
    (folder / "ring.wtrace").unlink(missing_ok=True)
    both("the second reader, tracing off", jobs["reader"], environment("off"))
    trace = folder / "roslyn.wtrace"
    both("one source, traced", jobs["csc"], environment(trace))
    balanced(score, "roslyn", trace, 100_000)


def framework(score, folder):
    """A program on a runtime whose own assemblies are woven."""
    [group] = check_dotnet.sets("--full", ["core8"])
    rules = folder / "rules.toml"
    rules.write_text(ALL_BUT_CORELIB)
    out = folder / "assemblies"
    run([check_dotnet.weave_binary(), "-q", "--rules", rules, group.root, out])
    replaced = {n: out / n for n in group.names if (out / n).exists()}
    score.check("framework: all assemblies are written", len(replaced) == len(group.names), f"{len(replaced)} of {len(group.names)}")
    homes = {"plain": dotnet.fetch() / "core8", "woven": check_dotnet.patched(check_dotnet.host("core8"), "framework-woven", replaced)}
    app = folder / "app"
    app.mkdir()
    run([*dotnet.csc(), "-nologo", "-deterministic", f"-out:{app / 'Framework.dll'}", ROOT / "tests" / "programs" / "Framework.cs"])
    shutil.copy(check_dotnet.RUNTIME, app)
    # The compiler as another program on it.
    shutil.copytree(dotnet.compiler().parent, folder / "csc")
    shutil.copy(check_dotnet.RUNTIME, folder / "csc")
    config = dotnet.host("core8")[1:]
    compare(score, "framework", folder, lambda which: [homes[which] / "dotnet", *config, app / "Framework.dll"], 100_000)
    for which, env in (("plain", None), ("woven", environment("off"))):
        run([homes[which] / "dotnet", *config, folder / "csc" / "csc.dll", "-nologo", "-deterministic", "-target:exe", "-nostdlib",
             *(f"-r:{p}" for p in sorted(dotnet.framework("core31").glob("System*.dll")) if not p.name.endswith("Native.dll")),
             f"-out:{fresh(folder / f'out-{which}') / 'out.dll'}", "-langversion:12", "-unsafe", ROOT / "tests" / "oracle" / "PrepareAll.cs"], env=env)
    same_files(score, "framework: the compiler on it makes the same bytes", folder / "out-plain", folder / "out-woven")


def mcs(score, folder):
    """Mono's compiler, woven, on Mono: the same assembly but for its identity."""
    plain, woven = folder / "plain", folder / "woven"
    plain.mkdir()
    shutil.copy(dotnet.mono_libraries() / "4.5" / "mcs.exe", plain)
    weave(plain, woven)
    # Each class refers to the next: where that is not there, the compiler tells so. In the copies each refers to itself.
    large = sources(folder)[:150]

    def compiled(which, what, env=None):
        out = fresh(folder / f"out-{which}") / "out.dll"
        done = run(["mono", (plain if which == "plain" else woven) / "mcs.exe", "-nologo", "-target:library", f"-out:{out}", *what], check=False, env=env)
        told = re.sub(r"\{[0-9A-F-]{36}\}|time stamp.*", "", run(["monodis", out]).stdout) if out.exists() else ""
        return done.returncode, done.stdout.replace(f"out-{which}", "out") + done.stderr, told

    linked = folder / "linked"
    linked.mkdir()
    for path in large:
        text = path.read_text()
        number = int(path.stem[1:])
        (linked / path.name).write_text(text.replace(f"C{(number + 1) % 400}.M", f"C{number}.M"))
    good = sorted(linked.glob("*.cs"))
    for how, what, env in (("tracing off", good, environment("off")), ("errors, tracing off", large, environment("off"))):
        before, after = compiled("plain", what), compiled("woven", what, env)
        score.check(f"mcs: the same, {how}", before == after and (before[0] == 0) == (what is good), f"exit {after[0]}, {len(after[1])} characters told, {len(after[2])} disassembled")
        if before != after:
            print(f"unwoven: exit {before[0]} {before[1][-600:]}\nwoven: exit {after[0]} {after[1][-1500:]}")
    trace = folder / "mcs.wtrace"
    compiled("woven", good[:1], environment(trace))
    balanced(score, "mcs", trace, 50_000)


def fsharp(score, folder):
    """An F# program, and the F# compiler with its library, woven: the same output, the same debugging information."""
    compiler = folder / "plain"
    compiler.mkdir()
    dotnet.fsc(compiler)
    weave(compiler, folder / "woven")
    source = ROOT / "tests" / "programs" / "Functional.fs"

    def compiled(which, out, env=None, options=("--debug:portable",)):
        """Makes the program with the compiler that is woven or not; what beside the image, whose identity is random, it made."""
        fresh(out)
        done = run([*dotnet.host("core8"), folder / which / "fsc.dll", f"-o:{out / 'Functional.dll'}", "--target:exe", "--noframework", "--nologo", "--nowin32manifest",
                    "--simpleresolution", "--deterministic+", f"-r:{compiler / 'FSharp.Core.dll'}", *dotnet.fsharp_references(), *options, source],
                   check=False, env=env)
        pdb = out / "Functional.pdb"
        return done.returncode, done.stdout, pdb.read_bytes() if pdb.exists() else b"", (out / "Functional.dll").stat().st_size if done.returncode == 0 else 0

    plain = compiled("plain", folder / "by-plain")
    score.check("fsharp: the compiler, woven, makes the same", plain[0] == 0 and plain == compiled("woven", folder / "by-woven", environment("off")), f"exit {plain[0]}, {plain[3]} bytes")
    compiled("plain", folder / "by-debug", options=("--debug:embedded", "--optimize-", "--tailcalls-"))
    for how in ("by-plain", "by-debug"):
        shutil.copy(compiler / "FSharp.Core.dll", folder / how)
        weave(folder / how, folder / f"{how}-woven")
        places = {"plain": folder / how, "woven": folder / f"{how}-woven"}
        compare(score, f"fsharp {how}", folder, lambda which: [*dotnet.host("core8"), places[which] / "Functional.dll"], 5_000)
    # Mono's stack traces have no lines of portable PDBs unless it is told to look for them, and count instructions.
    said = [run(["mono", folder / name / "Functional.dll"], env=environment("off")).stdout for name in ("by-plain", "by-plain-woven")]
    said = [re.sub(r" \[0x[0-9a-f]*\] in .*", "", text) for text in said]
    score.check("fsharp on Mono: the same output", said[0] == said[1] and said[0], f"{len(said[0])} characters")


def around(score, name, plain, woven, library):
    """A folder with a hook instead of each body that can have one, which only proceeds."""
    rules = woven.with_suffix(".toml")
    rules.write_text("\n".join(changing.around_dotnet(library)))
    done = run([check_dotnet.weave_binary(), "--json", "--rules", rules, plain, woven], check=False)
    told = json.loads(done.stdout) if done.returncode == 0 else {"methods": 0, "left": done.stderr[-600:]}
    score.check(f"{name}: every body that may is run by a hook", told["methods"] > 1_000, f"{told['methods']} methods, left {told['left']}")


def roslyn_bodies(score, folder):
    """The C# compiler with a hook instead of each body: the same bytes as unwoven."""
    library = check_own_hooks.library(folder, "Same")
    plain, woven = folder / "plain", folder / "woven"
    shutil.copytree(dotnet.compiler().parent, plain)
    around(score, "roslyn", plain, woven, library)
    large = sources(folder)[:100]
    linked = fresh(folder / "linked")
    for path in large:
        number = int(path.stem[1:])
        (linked / path.name).write_text(path.read_text().replace(f"C{(number + 1) % 400}.M", f"C{number}.M"))
    jobs = {"100 classes": ["-target:library", *sorted(linked.glob("*.cs"))], "the second reader": ["-target:exe", "-unsafe", ROOT / "tests" / "oracle" / "ReadAll.cs"]}
    for how, arguments in jobs.items():
        for which, home in (("plain", plain), ("woven", woven)):
            out = fresh(folder / f"out-{which}")
            done = run([*dotnet.host("core8"), home / "csc.dll", "-nologo", "-deterministic", "-debug:portable", f"-out:{out / 'out.dll'}", f"-pathmap:{out}=/out", *arguments],
                       check=False, env=environment("off"))
            if done.returncode != 0:
                print(f"{which}: exit {done.returncode} {(done.stdout + done.stderr)[-1500:]}")
        same_files(score, f"roslyn with hooks in the places of bodies: the same bytes, {how}", folder / "out-plain", folder / "out-woven")


def bodies(score, folder):
    """An assembly with a hook instead of each body: the same output as unwoven."""
    library = check_own_hooks.library(folder, "Same")
    found = sdk.find()
    [newtonsoft] = sorted((found.dotnet.parent / "sdk").glob("*/Newtonsoft.Json.dll"))
    app = fresh(folder / "json")
    shutil.copy(newtonsoft, app)
    framework = found.framework()
    run([*dotnet.csc(), "-nologo", "-nostdlib", "-deterministic", "-debug:portable", f"-out:{app / 'Json.dll'}", f"-r:{newtonsoft}",
         *(f"-r:{path}" for path in sorted(framework.glob("*.dll")) if path.name.startswith(("System.", "Microsoft.CSharp", "netstandard", "mscorlib"))),
         ROOT / "tests" / "programs" / "Json.cs"])
    around(score, "Newtonsoft.Json", app, folder / "json-woven", library)
    command = check_dotnet.host("sdk").command
    before, after = (run([*command, where / "Json.dll"], check=False, env=environment("off")) for where in (app, folder / "json-woven"))
    same = before.returncode == after.returncode == 0 and before.stdout == after.stdout and len(before.stdout) > 1_500
    score.check("Newtonsoft.Json with hooks in the places of bodies: the same output", same, f"{len(before.stdout)} characters")
    if not same:
        print(f"unwoven: exit {before.returncode} {before.stderr[-1500:]}\nwoven: exit {after.returncode} {after.stderr[-3000:]}")


EVERY = {f.__name__: f for f in (roslyn, roslyn_bodies, framework, mcs, fsharp, bodies)}
SLOW = {"roslyn", "roslyn_bodies"}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, SLOW, "programs of .NET"))
