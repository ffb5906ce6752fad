#!/usr/bin/env python3
"""The test suites of real .NET projects, built by their own project files and woven whole, tests too.

    suites_dotnet.py [--everyday | --full | --everything] [--only NAME]...

Names: serilog, giraffe (F#), polly (async). Each is built and run twice with the .NET SDK (see sdk.py): as it is, and with the package
Weave.MSBuild in every project and rules that take every method. What fails in the woven run must fail in the other, too. A test
that fails in the woven run alone is run again in both: what fails twice is a fault. For Polly, what coverlet.collector counts is
the same, too. `--everyday` (the default) runs none but giraffe.

WEAVE_DOTNET_SUITES names a folder with the sources: serilog (commit 60935b4d of serilog/serilog), giraffe (18e1be3 of
giraffe-fsharp/Giraffe), polly (173d6d1d of App-vNext/Polly). Packages come from where the SDK has them.
"""

import os
import pathlib
import re
import shutil
import xml.etree.ElementTree as xml

import corpora
import lib
from builds import write
from msbuild_sdk import Shop, reference

RULES = 'version = 1\n\n[[aspect]]\nname = "all"\nmatch = { type = "**", min-size = 0 }\n'
TRX = "{http://microsoft.com/schemas/VisualStudio/TeamTest/2010}"
#: What every project is given: one target framework, no analyzers, and packages of the versions that go with the SDK.
TARGETS = """<Project>
  <PropertyGroup>
    <TreatWarningsAsErrors>false</TreatWarningsAsErrors>
    <EnablePackageValidation>false</EnablePackageValidation>
  </PropertyGroup>
  <ItemGroup>
{items}
  </ItemGroup>
</Project>
"""


class Suite:
    """One project's sources, and what its builds need to be given."""

    def __init__(self, name, tests, libraries, remove=(), stand_ins=None, versions=None, tested=None, central=False, edits=None, known=()):
        self.name, self.tests, self.libraries = name, tests, libraries
        self.remove, self.versions, self.tested, self.central = remove, versions or {}, tested or {}, central
        #: Source of an assembly in a package's place: (name, version): text.
        self.stand_ins = stand_ins or {}
        #: What the packages' versions ask for: (file, text): new text.
        self.edits = edits or {}
        #: Tests that fail woven for a reason of their own.
        self.known = known

    def items(self, ours):
        """Packages to remove, to update, and to add: `ours` in every project, `tested` in the test project."""
        kind = "PackageVersion" if self.central else "PackageReference"
        lines = [f'<PackageReference Remove="{name}" />' for name in self.remove]
        lines += [f'<{kind} Update="{name}" Version="{version}" />' for name, version in self.versions.items()]
        only = f" Condition=\"'$(MSBuildProjectName)' == '{pathlib.PurePath(self.tests).stem}'\""
        lines += [f'<ProjectReference Include="$(MSBuildThisFileDirectory){name}/{name}.csproj"{only} />' for name, _ in self.stand_ins]
        added = [(name, version, only) for name, version in self.tested.items()] + [(name, version, "") for name, version in ours.items()]
        for name, version, condition in added:
            if self.central:
                lines += [f'<PackageVersion Remove="{name}" />', f'<PackageVersion Include="{name}" Version="{version}" />']
                lines.append(f'<PackageReference Include="{name}"{condition} />')
            else:
                lines.append(reference(name, version).replace(" />", f"{condition} />"))
        return "\n".join("    " + line for line in lines)

    def copy(self, shop, which, ours):
        """The sources in a folder of their own, with our items in all projects."""
        named = os.environ.get("WEAVE_DOTNET_SUITES")
        source = pathlib.Path(named or "") / self.name
        if not named or not (source / self.tests).is_file():
            raise lib.Missing(f"the sources of {self.name}: WEAVE_DOTNET_SUITES names a folder with them (see suites_dotnet.py)")
        target = shop.folder / which / self.name
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(".git", "bin", "obj", "artifacts"))
        for config in target.glob("[Nn]u[Gg]et.[Cc]onfig"):
            config.unlink()
        for (path, old), new in self.edits.items():
            text = (target / path).read_text(encoding="utf-8-sig")
            if old not in text:
                raise lib.Missing(f"`{old}` in {path} of {self.name}: take the commit that suites_dotnet.py names")
            write(target / path, text.replace(old, new))
        for (name, version), text in self.stand_ins.items():
            write(target / name / f"{name}.csproj", STAND_IN.format(version=version))
            write(target / name / f"{name}.cs", text)
            for nothing in ("Directory.Build.props", "Directory.Build.targets", "Directory.Packages.props"):
                write(target / name / nothing, "<Project />\n")
        write(target / "suite.targets", TARGETS.format(items=self.items(ours)))
        last = target / "Directory.Build.targets"
        text = last.read_text(encoding="utf-8-sig") if last.is_file() else "<Project></Project>"
        head, end = text.rsplit("</Project>", 1)
        write(last, f'{head}<Import Project="$(MSBuildThisFileDirectory)suite.targets" /></Project>{end}')
        return target


STAND_IN = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup><TargetFramework>net10.0</TargetFramework><Version>{version}</Version><AssemblyVersion>1.0.0.0</AssemblyVersion></PropertyGroup>
</Project>
"""
#: Shouldly asks it whether to show differences on a desktop; it does not go with the SDK's packages.
DIFF_ENGINE = "namespace DiffEngine { public static class DiffRunner { public static bool Disabled => true; } }\n"
#: What FSharp.SystemTextJson 1.3 has, and 0.16 has otherwise.
JSON_OPTIONS = """JsonFSharpOptions
            .Default()
            .WithUnionTagNamingPolicy(System.Text.Json.JsonNamingPolicy.CamelCase)"""
JSON_OPTIONS_0_16 = "JsonFSharpOptions(unionTagNamingPolicy = System.Text.Json.JsonNamingPolicy.CamelCase)"
#: One target framework for all projects, and no look at a registry's list of faults.
BUILD = ["-c", "Release", "-p:TargetFrameworks=net10.0", "-p:NuGetAudit=false"]


class Run:
    """A suite as it is, or woven: built once, run as often as asked."""

    def __init__(self, shop, suite, which, ours):
        self.shop, self.suite, self.which = shop, suite, which
        self.root = suite.copy(shop, which, ours)
        self.project = self.root / suite.tests
        self.traces = shop.folder.parent / "traces" / which

    def build(self):
        return self.shop.run("build", self.project, *BUILD)

    def assembly(self, name):
        """What lies beside the tests, where they run."""
        found = [path for path in self.root.rglob(f"{name}.dll") if {"bin", "artifacts"} & set(path.parts) and "obj" not in path.parts
                 and (path.parent / f"{pathlib.PurePath(self.suite.tests).stem}.dll").is_file() and not {"ref", "refint"} & set(path.parts)]
        return found[0] if found else self.root / f"no {name}.dll"

    def verdicts(self, *more):
        """The outcomes of each test by name: of all that have it."""
        out, traces = lib.fresh(self.shop.folder.parent / "results" / self.which), lib.fresh(self.traces)
        self.shop.run("test", self.project, *BUILD, "--no-build", "--logger", "trx;LogFileName=all.trx", "--results-directory", out, *more,
                      WEAVE_TRACE=traces / "%p.wtrace", WEAVE_TRACE_LIMIT="64m")
        found = {}
        for path in out.rglob("*.trx"):
            for result in xml.parse(path).getroot().iter(f"{TRX}UnitTestResult"):
                found.setdefault(result.get("testName"), []).append(result.get("outcome"))
        return found


    def coverage(self, name):
        """What coverlet counts of an assembly: lines and branches that ran, of all."""
        self.verdicts("--collect", "XPlat Code Coverage")
        counts = [0, 0, 0, 0]
        for path in sorted((self.shop.folder.parent / "results" / self.which).glob("*/coverage.cobertura.xml")):
            for package in xml.parse(path).getroot().iter("package"):
                # A class's own lines: those of its methods are among them.
                for line in package.iterfind("classes/class/lines/line") if package.get("name") == name else []:
                    ran, of = re.search(r"\((\d+)/(\d+)\)", line.get("condition-coverage") or "(0/0)").groups()
                    counts = [a + b for a, b in zip(counts, (int(line.get("hits")) > 0, 1, int(ran), int(of)))]
        return counts


def count(verdicts, outcome):
    return sum(each.count(outcome) for each in verdicts.values())


def told(verdicts):
    return ", ".join(f"{count(verdicts, outcome)} {outcome.lower()}" for outcome in ("Passed", "Failed", "NotExecuted"))


def failed(verdicts):
    return {name: each.count("Failed") for name, each in verdicts.items() if "Failed" in each}


def worse(before, after):
    """Tests that failed more often after than before, and those that are gone."""
    was, now = failed(before), failed(after)
    return {name for name in now if now[name] > was.get(name, 0)} | {name for name in before if len(after.get(name, [])) < len(before[name])}


def compare(score, folder, suite, at_least):
    """The tests unwoven and woven; gives both runs."""
    shop = Shop(score, folder)
    write(shop.folder / "woven/weave.toml", RULES)
    plain, woven = Run(shop, suite, "plain", {}), Run(shop, suite, "woven", {"Weave.MSBuild": shop.version})
    for run in (plain, woven):
        shop.check(f"{suite.name} {run.which}: builds", run.build())
    names = [*suite.libraries, pathlib.PurePath(suite.tests).stem]
    shop.check(f"{suite.name}: woven, and the tests too", all(shop.woven(woven.assembly(name)) and not shop.woven(plain.assembly(name)) for name in names),
               ", ".join(names))
    before, after = plain.verdicts(), woven.verdicts()
    shop.check(f"{suite.name}: its tests run", count(before, "Passed") >= at_least, told(before))
    traces = sorted(woven.traces.glob("*.wtrace"))
    report = lib.run([shop.program, "report", "--limit", "5", *traces], check=False) if traces else None
    shop.check(f"{suite.name}: the woven run is traced", report and report.returncode == 0, f"{len(traces)} files")
    once = worse(before, after)
    twice = once and worse(plain.verdicts(), woven.verdicts()) & once
    new = {name for name in twice if not any(re.search(pattern, name) for pattern in suite.known)}
    shop.check(f"{suite.name}: nothing newly failing", not new and bool(after),
               f"unwoven {told(before)}; woven {told(after)}; differed once {sorted(once)[:5]}, twice {sorted(twice)[:5]}")
    return plain, woven


def serilog(score, folder):
    """Logging: reflection, strong names, nullable annotations."""
    compare(score, folder, Suite(
        "serilog", "test/Serilog.Tests/Serilog.Tests.csproj", ["Serilog"],
        versions={"Microsoft.NET.Test.Sdk": "17.14.1", "Newtonsoft.Json": "13.0.4", "xunit": "2.9.3", "xunit.runner.visualstudio": "3.1.5",
                  "PolySharp": "1.16.0", "System.ServiceModel.Http": "10.1.0", "System.ServiceModel.Primitives": "10.1.0"},
        # It compares the bytes of two methods' IL, and takes a byte of a method's number for an opcode.
        known=[r"MethodOverloadConventionTests\.ILoggerDefaultMethodsShouldBeInSyncWithLogger\("]), 800)


def giraffe(score, folder):
    """F#: closures, tasks, printf formats, on ASP.NET Core."""
    compare(score, folder, Suite(
        "giraffe", "tests/Giraffe.Tests/Giraffe.Tests.fsproj", ["Giraffe"],
        remove=["FSharp.Analyzers.Build", "G-Research.FSharp.Analyzers", "Ionide.Analyzers", "Ionide.KeepAChangelog.Tasks", "Microsoft.SourceLink.GitHub",
                "System.Text.Json", "FsCheck.Xunit.v3", "xunit.v3"],
        versions={"Microsoft.NET.Test.Sdk": "17.14.1", "FsCheck": "3.5.0", "NSubstitute": "6.1.0", "FSharp.SystemTextJson": "0.16.6",
                  "Microsoft.IO.RecyclableMemoryStream": "3.0.1", "Giraffe.ViewEngine": "1.4.0", "Microsoft.AspNetCore.TestHost": "10.0.15"},
        tested={"xunit": "2.9.3", "FsCheck.Xunit": "3.5.0"},
        edits={("src/Giraffe/Json.fs", "JsonFSharpOptions.Default()"): "JsonFSharpOptions()",
               ("tests/Giraffe.Tests/HttpHandlerTests.fs", JSON_OPTIONS): JSON_OPTIONS_0_16}), 400)


def polly(score, folder):
    """Resilience: async state machines nearly everywhere."""
    plain, woven = compare(score, folder, Suite(
        "polly", "test/Polly.Core.Tests/Polly.Core.Tests.csproj", ["Polly.Core", "Polly.Testing", "Polly.TestUtils"], central=True,
        remove=["Microsoft.CodeAnalysis.PublicApiAnalyzers", "Microsoft.CodeAnalysis.BannedApiAnalyzers", "SonarAnalyzer.CSharp", "StyleCop.Analyzers",
                "coverlet.msbuild", "GitHubActionsTestLogger", "JunitXml.TestLogger", "ReportGenerator"],
        versions={"FsCheck.Xunit": "3.5.0", "Microsoft.Extensions.TimeProvider.Testing": "10.11.0", "Microsoft.NET.Test.Sdk": "17.14.1", "MinVer": "8.0.0",
                  "NSubstitute": "6.1.0", "xunit.runner.visualstudio": "3.1.5"},
        stand_ins={("DiffEngine", "11.3.0"): DIFF_ENGINE}, tested={"coverlet.collector": "6.0.4"}), 700)
    before, after = plain.coverage("Polly.Core"), woven.coverage("Polly.Core")
    figures = "lines {} of {}, branches {} of {}"
    score.check("polly: coverlet's lines are the same", before[1] > 1000 and before[:2] == after[:2], f"unwoven {figures.format(*before)}; woven {figures.format(*after)}")
    score.check("polly: coverlet's branches are the same", before[2:] == after[2:])


EVERY = {f.__name__: f for f in (giraffe, serilog, polly)}
SLOW = {"serilog", "polly"}


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C.UTF-8"
    lib.main(lambda: corpora.run_chosen(__doc__, EVERY, SLOW, "suites of .NET projects"))
