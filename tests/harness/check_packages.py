#!/usr/bin/env python3
"""Weaves the assemblies of the packages that lie beside the .NET SDK, and has CoreCLR's JIT judge every body.

    check_packages.py [--only RULES]... [--package NAME]... [--least N]

RULES: values (all that can be recorded), later (own hooks where async methods and iterators are called and where they end), around (a hook instead
of each body that may have one), points (hooks at every call, and at every line). Of each package the newest version counts, in the
folder for the newest framework. `--package` takes packages whose names begin so; `--least` leaves out assemblies below so many bytes.
No body may fail to compile that did not fail unwoven. Needs the SDK (see sdk.py).
"""

import argparse
import re
import zipfile

import changing
import check_dotnet
import check_own_hooks
import sdk
from lib import WORK, Score, fresh, main

FRAMEWORKS = ("net10.0", "net9.0", "net8.0", "net7.0", "net6.0", "net5.0", "netcoreapp3.1", "netstandard2.1", "netstandard2.0", "net462")

LATER = """version = 1
[[library]]
path = "{all}"
[[aspect]]
name = "async"
match = {{ type = "**", kind = "async", min-size = 0 }}
enter = "Acme.All.Begin(this?, args?)"
exit = "Acme.All.End(state, this?, args?, result?, duration)"
exception = "Acme.All.Failed(state, this?, args?, exception, duration)"
{pair}
"""

POINTS = """version = 1
[[library]]
path = "{all}"
[[aspect]]
name = "calls"
at = {{ call = {{ type = "**" }} }}
before = "Acme.All.Begin(target?, args?)"
[[aspect]]
name = "lines"
at = {{ line = true }}
before = "Acme.All.Begin(this?, args?)"
"""


def version(name):
    """A package's name and its version, as something that sorts."""
    found = re.fullmatch(r"(.+?)\.(\d+(?:\.\d+)*)(-.*)?\.nupkg", name)
    numbers = tuple(int(part) for part in found[2].split("."))
    return found[1], (numbers, found[3] is None, found[3] or "")


def unpacked(folder, prefixes):
    """A flat folder with all packages' assemblies, and the names of those whose packages begin so."""
    newest, taken = {}, set()
    for path in sdk.find().feed.glob("*.nupkg"):
        name, number = version(path.name)
        if number > newest.get(name, (((), False, ""), None))[0]:
            newest[name] = (number, path)
    for name, (_, path) in sorted(newest.items()):
        with zipfile.ZipFile(path) as package:
            entries = [re.fullmatch(r"lib/([^/]+)/([^/]+\.dll)", entry) for entry in package.namelist()]
            there = {entry[1].lower(): [] for entry in entries if entry}
            for entry in filter(None, entries):
                there[entry[1].lower()].append(entry)
            best = next((there[framework] for framework in FRAMEWORKS if framework in there), [])
            for entry in best:
                (folder / entry[2]).write_bytes(package.read(entry[0]))
                if not prefixes or any(name.startswith(prefix.lower()) for prefix in prefixes):
                    taken.add(entry[2])
    return taken


def body():
    every = ("values", "later", "around", "points")
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--only", action="append", default=[], choices=every)
    args.add_argument("--package", action="append", default=[])
    args.add_argument("--least", type=int, default=0)
    args = args.parse_args()
    score = Score()
    fresh(WORK / "dotnet")
    beside = fresh(WORK / "dotnet" / "own")
    check_dotnet.BESIDE = [check_own_hooks.library(beside, "All"), check_own_hooks.library(beside, "Same")]
    root = fresh(WORK / "dotnet" / "packages")
    taken = unpacked(root, args.package)
    names = [name for name in check_dotnet.assemblies(root) if name in taken and (root / name).stat().st_size >= args.least]
    # With ASP.NET Core, which many of them refer to.
    group = check_dotnet.Set("nuget", root, names, check_dotnet.host("sdk", "Microsoft.AspNetCore.App"))
    print(f"     {len(names)} assemblies, {sum((root / name).stat().st_size for name in names) >> 20} MiB")
    pair = 'advice = ["enter", "exit", "exception"]'
    rules = {
        "values": [("values", check_own_hooks.VALUES.splitlines())],
        "later": [("later", LATER.format(all=beside / "All.dll", pair="").splitlines()),
                  ("later and recorded", LATER.format(all=beside / "All.dll", pair=pair).splitlines())],
        "around": [("around", changing.around_dotnet(beside / "Same.dll"))],
        "points": [("points", POINTS.format(all=beside / "All.dll").splitlines())],
    }
    for which in args.only or every:
        for what, lines in rules[which]:
            check_own_hooks.weave_rules(score, group, check_dotnet.listed(which, lines), f"woven with {what}")
            check_own_hooks.judged(score, group, f"with {what}")
    return score.finish("packages")


if __name__ == "__main__":
    main(body)
