#!/usr/bin/env python3
"""The NuGet packages in real builds of MSBuild: a solution of classic projects on Mono's xbuild (`classic`), and projects of the
.NET SDK (all others).

    python3 tests/harness/msbuild.py [--everyday | --full] [--without NAME].. [NAME]..

Needs a release build, Mono, and an SDK (see sdk.py).
"""
import argparse
import os
import shutil
import time
import zipfile

import builds
import lib
import msbuild_sdk
from builds import PLACE, packages, write

RULES = 'version = 1\n\n[[aspect]]\nname = "shop"\nmatch = { type = ["Shop.**", "Dep.**"], method = "*" }\n'
CLASSIC = """<?xml version="1.0" encoding="utf-8"?>
<Project ToolsVersion="4.0" DefaultTargets="Build" xmlns="http://schemas.microsoft.com/developer/msbuild/2003">
  <Import Project="..\\packages\\Weave.MSBuild.{version}\\build\\Weave.MSBuild.props" />
  <PropertyGroup>
    <Configuration Condition="'$(Configuration)' == ''">Release</Configuration>
    <ProjectGuid>{guid}</ProjectGuid>
    <OutputType>{kind}</OutputType>
    <RootNamespace>Shop</RootNamespace>
    <AssemblyName>{name}</AssemblyName>
    <TargetFrameworkVersion>v4.7.2</TargetFrameworkVersion>
    <OutputPath>bin\\</OutputPath>
    <DebugSymbols>{debug}</DebugSymbols>
    {properties}
  </PropertyGroup>
  <ItemGroup>
    <Compile Include="*.cs" />
    <Reference Include="System" />
    {hooks}
    {items}
  </ItemGroup>
  <Import Project="$(MSBuildBinPath)\\Microsoft.CSharp.targets" />
  <Import Project="..\\packages\\Weave.MSBuild.{version}\\build\\Weave.MSBuild.targets" />
</Project>
"""
HOOKS = """<Reference Include="Weave.Runtime">
      <HintPath>..\\packages\\Weave.Runtime.{version}\\lib\\netstandard2.0\\Weave.Runtime.dll</HintPath><Private>True</Private>
    </Reference>"""
USES = """<ProjectReference Include="..\\core\\Core.csproj"><Project>{guid}</Project><Name>Core</Name></ProjectReference>
    <Reference Include="Dep"><HintPath>..\\lib\\Dep.dll</HintPath><Private>True</Private></Reference>"""
GUIDS = {"Core": "{7D7E8B55-0E0A-4C6B-8E59-5F1C0B7A0001}", "App": "{7D7E8B55-0E0A-4C6B-8E59-5F1C0B7A0002}"}
SOLUTION = """
Microsoft Visual Studio Solution File, Format Version 12.00
# Visual Studio 14
Project("{{FAE04EC0-301F-11D3-BF4B-00C04F79EFBC}}") = "Core", "core\\Core.csproj", "{Core}"
EndProject
Project("{{FAE04EC0-301F-11D3-BF4B-00C04F79EFBC}}") = "App", "app\\App.csproj", "{App}"
EndProject
Global
	GlobalSection(SolutionConfigurationPlatforms) = preSolution
		Release|Any CPU = Release|Any CPU
	EndGlobalSection
	GlobalSection(ProjectConfigurationPlatforms) = postSolution
		{Core}.Release|Any CPU.ActiveCfg = Release|Any CPU
		{Core}.Release|Any CPU.Build.0 = Release|Any CPU
		{App}.Release|Any CPU.ActiveCfg = Release|Any CPU
		{App}.Release|Any CPU.Build.0 = Release|Any CPU
	EndGlobalSection
EndGlobal
"""
ORDERS = """namespace Shop { public static class Orders {
    public static int Total(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i * %s; return sum; }
} }
"""
MAIN = """namespace Shop { public static class Program {
    public static int Sum() { return Orders.Total(4) + Dep.Doubles.Of(Orders.Total(2)); }
    public static void Main() { System.Console.WriteLine("the sum is " + Sum()); }
} }
"""
DEP = "namespace Dep { public static class Doubles { public static int Of(int n) { int m = n; m += n; return m; } } }\n"
#: The version that Mono's compiler gives an assembly is 0.0.0.0, and each compilation has an MVID of its own.
HOOKED = "Weave.Runtime".encode()


def packages_folder(folder, made):
    """What NuGet makes of packages for classic projects: a folder for each."""
    for path in made:
        target = folder / "packages" / path.stem
        with zipfile.ZipFile(path) as package:
            package.extractall(target)


def solution(folder, made, version, key):
    hooks = HOOKS.format(version=version)
    common = {"version": version, "hooks": hooks, "debug": "false"}
    signed = "<SignAssembly>true</SignAssembly><AssemblyOriginatorKeyFile>key.snk</AssemblyOriginatorKeyFile>"
    write(folder / "Shop.sln", SOLUTION.format(**GUIDS))
    write(folder / "core/Core.csproj", CLASSIC.format(name="Core", kind="Library", guid=GUIDS["Core"], properties=signed, items="", **common))
    write(folder / "app/App.csproj", CLASSIC.format(name="App", kind="Exe", guid=GUIDS["App"], items=USES.format(guid=GUIDS["Core"]),
                                                    properties="<WeaveReferences>true</WeaveReferences>", **common))
    write(folder / "core/Orders.cs", ORDERS % 1)
    write(folder / "app/Program.cs", MAIN)
    write(folder / "weave.toml", RULES)
    write(folder / "lib/Dep.cs", DEP)
    shutil.copy(key, folder / "core/key.snk")
    lib.run(["mcs", "-target:library", f"-out:{folder / 'lib/Dep.dll'}", folder / "lib/Dep.cs"])
    packages_folder(folder, made)


class XBuild(builds.Builds):
    def __init__(self, work):
        super().__init__()
        self.work = work

    def run(self, folder, *arguments):
        # The oldest file systems have seconds; what changed is younger than what was made of it.
        time.sleep(1.1)
        self.call(["xbuild", "/nologo", "/p:Configuration=Release", *arguments, folder / "Shop.sln"])
        print(f"# xbuild {' '.join(arguments)}: {self.status}", flush=True)

    def app(self, folder):
        """Runs what was built; its output is the last one."""
        self.call(["mono", folder / "app/bin/App.exe"], WEAVE_TRACE=str(self.work / "run.wtrace"))
        return self.output

    def wove(self, name):
        """Whether the program was run for a file."""
        return any("--message-format msbuild" in line and f"{name}" in line for line in self.output.splitlines())


OWN_RULES = RULES.replace("[[aspect]]", "[[library]]\npath = 'lib/own hooks.dll'\n\n[[aspect]]") + 'enter = "Acme.Log.Began(method)"\n'


def own_hooks(score, folder, parameter):
    """Builds with a library of own hooks; what the program prints then."""
    source, library = folder / "lib/Log.cs", folder / "lib/own hooks.dll"
    write(source, 'namespace Acme { public static class Log { public static void Began(%s method) { System.Console.WriteLine("began " + method); } } }'
          % parameter)
    lib.run(["mcs", "-target:library", f"-out:{library}", source])
    (folder / "app/bin").mkdir(exist_ok=True)
    shutil.copy(library, folder / "app/bin")
    score.run(folder)
    built, woven = score.output, score.status
    printed = score.app(folder) if woven == 0 else ""
    score.output, score.status = built, woven
    return printed


def classic(sum_of_all, work, program, made, version):
    score = XBuild(work)
    score.score = sum_of_all
    key = work / "key.snk"
    lib.run(["sn", "-k", key])
    first = work / PLACE / "first"
    solution(first, made, version, key)
    score.run(first)
    built, log = score.status, score.output
    score.check("a solution of classic projects builds and runs woven", built == 0 and "the sum is 8" in score.app(first))
    if built:
        print(log)
    traced = lib.run([program, "report", work / "run.wtrace"], check=False).stdout
    score.check("the run is traced: the program, the other project, what is copied beside it",
                all(name in traced for name in ("Shop.Program.Sum", "Shop.Orders.Total", "Dep.Doubles.Of")))
    core, app = first / "core", first / "app"
    unwoven = core / "obj/Release/weave/unwoven/Core.dll"
    by_hand = lib.fresh(work / "by hand") / "Core.dll"
    lib.run([program, "-q", "--no-runtime", "--rules", first / "weave.toml", "--key", core / "key.snk", unwoven, by_hand])
    score.check("the woven assembly is the command line's, byte for byte",
                HOOKED not in unwoven.read_bytes() and by_hand.read_bytes() == (core / "bin/Core.dll").read_bytes()
                == (core / "obj/Release/Core.dll").read_bytes())
    score.check("it is signed by the project's key, and the hook library lies beside it",
                "is strongnamed" in lib.run(["sn", "-vf", core / "bin/Core.dll"], check=False).stdout
                and (core / "bin/Weave.Runtime.dll").is_file() and (app / "bin/Weave.Runtime.dll").is_file())
    score.check("what was made before stays: the library of the other project is not woven twice",
                (app / "bin/Core.dll").read_bytes() == (core / "bin/Core.dll").read_bytes()
                and HOOKED in (app / "bin/Dep.dll").read_bytes() and HOOKED not in (first / "lib/Dep.dll").read_bytes())

    before = (app / "bin/App.exe").stat().st_mtime_ns
    score.run(first)
    score.check("nothing changed: nothing is woven", score.status == 0 and not score.wove(".dll") and not score.wove(".exe")
                and (app / "bin/App.exe").stat().st_mtime_ns == before)
    write(app / "Program.cs", MAIN.replace("the sum", "their sum"))
    score.run(first)
    score.check("one project changed: it is woven, the other is not",
                score.wove("App.exe") and not score.wove("Core.dll") and "their sum is 8" in score.app(first))
    write(first / "weave.toml", RULES.replace('"*"', '"Sum"'))
    score.run(first)
    score.check("rules changed: woven by the new ones, from what the compiler made", score.status == 0
                and HOOKED not in (core / "bin/Core.dll").read_bytes() and HOOKED in (app / "bin/App.exe").read_bytes()
                and "their sum is 8" in score.app(first))
    write(first / "weave.toml", RULES)
    score.run(first, "/p:WeaveStrict=true")
    score.check("options changed: woven with them", score.wove("--strict") and HOOKED in (core / "bin/Core.dll").read_bytes())
    kept = work / "kept assemblies"
    score.run(first, f'/p:WeaveArguments=--cache "{kept}"')
    score.check("further arguments: what is woven goes to a cache", score.status == 0 and list(kept.glob("*.woven")))
    write(first / "weave.toml", RULES.replace("method", "metod"))
    score.run(first)
    score.check("wrong rules: the message is MSBuild's, with file, line and column", score.status != 0
                and score.has(r"weave\.toml\(5,\d+\): error WV0003: .*did you mean `method`"))
    write(first / "weave.toml", OWN_RULES)
    bound = [own_hooks(score, first, parameter) for parameter in ("string", "object")]
    score.check("a library of own hooks changed: bound anew", all("began Sum" in told and "weave: hook" not in told for told in bound)
                and score.wove("App.exe"), bound)
    (first / "weave.toml").unlink()
    score.run(first, "/p:WeaveEnabled=true")
    score.check("no rules where they are asked for: told", score.status != 0 and score.has("put a weave.toml beside the project"))
    write(first / "weave.toml", RULES)
    score.run(first, "/p:WeaveProgram=/bin/false")
    score.check("a program of another version: told", score.status != 0 and score.has(f"needs weave {version}, and /bin/false"))
    score.run(first, f"/p:WeaveProgram={program}")
    score.check("a program of one's own", score.status == 0 and score.wove(str(program)) and "their sum is 8" in score.app(first))
    project = (core / "Core.csproj").read_text(encoding="utf-8")
    write(core / "Core.csproj", project.replace(HOOKS.format(version=version), ""))
    write(core / "Orders.cs", ORDERS % 2)
    score.run(first)
    score.check("no hook library: told", score.status != 0 and score.has("let Core reference the package Weave.Runtime"))
    write(core / "Core.csproj", project)
    score.run(first)
    woven = score.status == 0 and HOOKED in (core / "bin/Core.dll").read_bytes()
    score.run(first, "/p:WeaveEnabled=false")
    score.check("switched off: the compiler's, without a compiler's run", woven and score.status == 0
                and HOOKED not in (core / "bin/Core.dll").read_bytes() and not score.has("mcs.exe"))
    score.run(first)
    score.check("on again", score.status == 0 and "their sum is 16" in score.app(first) and HOOKED in (core / "bin/Core.dll").read_bytes())
    score.run(first, "/t:Clean")
    left = [p for p in (core / "obj").rglob("*") if p.is_file() and p.parts[-2] in ("weave", "woven", "unwoven")]
    score.check("clean leaves nothing of ours", score.status == 0 and not left, str(left) if left else "")

    second = work / PLACE / "elsewhere/second"
    solution(second, made, version, key)
    for folder in (second / "core", second / "app"):
        for path in folder.iterdir():
            path.chmod(0o444)
    score.run(second, f"/p:BaseIntermediateOutputPath={work / 'objects elsewhere'}/", "/t:Core")
    score.check("read-only sources, a folder for intermediate files elsewhere", score.status == 0
                and not (second / "core/obj").exists() and HOOKED in (second / "core/bin/Core.dll").read_bytes())
    debug = second / "core/Core.csproj"
    debug.chmod(0o644)
    write(debug, debug.read_text(encoding="utf-8").replace("<DebugSymbols>false", "<DebugType>full</DebugType><DebugSymbols>true"))
    score.run(second)
    score.check("Mono's own debugging information goes, since it does not fit", score.status == 0
                and score.has("warning WV0106") and not (second / "core/bin/Core.dll.mdb").exists())


def classic_projects(score, folder):
    for tool in ("xbuild", "mcs", "sn"):
        if not shutil.which(tool):
            raise lib.Missing(f"{tool} is not on the PATH: install Mono (mono-complete)")
    program = lib.weave_binary()
    made = packages.make_nuget(program, {packages.classifier(): program}, folder / "packages")
    classic(score, folder, program, made, packages.version(program))


#: Every program by name; each is given the score and an empty folder.
EVERY = {"classic": classic_projects, **msbuild_sdk.EVERY}


def body():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--everyday", dest="scope", action="store_const", const="--everyday")
    options.add_argument("--full", dest="scope", action="store_const", const="--full")
    options.add_argument("--without", action="append", default=[], choices=EVERY)
    options.add_argument("only", nargs="*", metavar="NAME", help=", ".join(EVERY))
    args = options.parse_args()
    unknown = [name for name in args.only if name not in EVERY]
    if unknown:
        raise lib.Missing(f"there is no {', '.join(unknown)}: there are {', '.join(EVERY)}")
    args.scope = args.scope or "--everyday"
    # Where all classes' names would be translated, messages are, too.
    os.environ["LC_ALL"] = "C.UTF-8"
    every = {name: program for name, program in EVERY.items() if name not in args.without}
    score = lib.Score()
    lib.run_programs(score, args, every, msbuild_sdk.SLOW)
    return score.finish("builds with MSBuild")


if __name__ == "__main__":
    lib.main(body)
