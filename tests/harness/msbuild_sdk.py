"""Projects of the .NET SDK with the package Weave.MSBuild: each program is a set-up, built, changed and run as a user would."""

import json
import os
import queue
import re
import shutil
import signal
import subprocess
import threading
import xml.etree.ElementTree as xml
import zipfile

import builds
import lib
import sdk
from builds import PLACE, packages, write

RULES = 'version = 1\n\n[[aspect]]\nname = "shop"\nmatch = { type = "Shop.**", method = "*" }\n'
#: With the packages that the tests use.
RULES_ALL = RULES.replace('"Shop.**"', '["Shop.**", "Humanizer.**", "Newtonsoft.Json.**"]')
PROJECT = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup><TargetFramework>net10.0</TargetFramework><OutputType>{kind}</OutputType>{properties}</PropertyGroup>
  <ItemGroup>{items}</ItemGroup>
</Project>
"""
ORDERS = """namespace Shop { public static class Orders {
    public static int Total(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i * %s; return sum; }
} }
"""
MAIN = """namespace Shop { public static class Program {
    public static int Sum(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i; return sum; }
    public static void Main() { System.Console.WriteLine("the sum is " + (Sum(5)%s)); }
} }
"""
#: What the symbols of a woven assembly are called in it.
SYMBOLS = b"Weave.Symbols"
RID = "linux-x64"


def reference(name, version):
    return f'<PackageReference Include="{name}" Version="{version}" />'


def private(reference):
    """A reference that stays with the project, as GlobalPackageReference makes them."""
    return reference.replace(" />", ' PrivateAssets="all" />')


class Shop(builds.Builds):
    """A folder of projects that take their packages from the SDK's folder and from a feed with ours."""

    made = None

    def __init__(self, score, folder):
        super().__init__()
        self.score, self.folder = score, folder / PLACE
        self.sdk, self.program = sdk.find(), lib.weave_binary()
        self.version = packages.version(self.program)
        # Unpacked once, but for ours, which change while their version does not.
        self.cache = lib.CACHE / "nuget"
        if Shop.made is None:
            Shop.made = packages.make_nuget(self.program, {packages.classifier(): self.program}, lib.fresh(lib.WORK / "feed"))
            for path in Shop.made:
                name = path.name.lower().removesuffix(f".{self.version}.nupkg")
                unpacked = self.cache / name / self.version / path.name.lower()
                if not unpacked.is_file() or unpacked.read_bytes() != path.read_bytes():
                    shutil.rmtree(self.cache / name, ignore_errors=True)
        self.ours = reference("Weave.MSBuild", self.version)
        write(self.folder / "nuget.config", self.sdk.config(Shop.made[0].parent, self.folder.parent / "feed"))
        (self.folder.parent / "feed").mkdir()
        # Nothing above counts.
        for name in ("Directory.Build.props", "Directory.Build.targets", "Directory.Packages.props"):
            write(self.folder / name, "<Project />\n")
        write(self.folder / "weave.toml", RULES)

    def project(self, name, kind="Exe", items="", properties="", ours=True):
        path = self.folder / name / f"{name}.csproj"
        write(path, PROJECT.format(kind=kind, properties=properties, items=(self.ours if ours else "") + items))
        return path

    def app(self, items="", properties="", more=""):
        path = self.project("App", items=items, properties=properties)
        write(path.parent / "Program.cs", MAIN % more)
        return path

    def run(self, command, *arguments, **environment):
        """dotnet COMMAND; the environment has no server that outlives it."""
        self.call([self.sdk.dotnet, command, *arguments], **environment)
        self.built = self.output
        print(f"# dotnet {command} {' '.join(str(a) for a in arguments)}: {self.status}", flush=True)
        return self.status == 0

    def call(self, command, **environment):
        more = {"WEAVE_TRACE": self.folder.parent / "traces/%p.wtrace", **environment}
        done = self.sdk.environment(self.cache, **more)
        super().call(command, **done)

    def ran(self, *command):
        """What a program printed, and the names in its trace."""
        traces = lib.fresh(self.folder.parent / "traces")
        self.call(command)
        printed, files = self.output, sorted(traces.glob("*.wtrace"))
        told = lib.run([self.program, "report", "--limit", "0", *files], check=False).stdout if files else ""
        self.output += told
        return printed, told

    def woven(self, path):
        return path.is_file() and SYMBOLS in path.read_bytes()

    def state(self, path):
        return (path.stat().st_mtime_ns, path.read_bytes()) if path.is_file() else None

    def weave_errors(self):
        """Each error line of the last build, once."""
        return sorted({line.split(" [")[0].strip() for line in self.output.splitlines() if re.search(r"\berror\b.*:", line)})


def door(score, folder):
    """What a new user does."""
    shop = Shop(score, folder)
    app = shop.project("App", ours=False)
    write(app.parent / "Program.cs", MAIN % "")
    (shop.folder / "weave.toml").unlink()
    shop.run("add", app, "package", "Weave.MSBuild", "--version", shop.version)
    shop.check("dotnet add package: a plain reference", shop.ours in re.sub(r"\s+/>", " />", app.read_text()))
    dll = app.parent / "bin/Debug/net10.0/App.dll"
    shop.run("build", app)
    shop.check("without rules: one line says what to do", shop.status == 0 and shop.has(r"App is not woven: put a weave\.toml") and not shop.woven(dll))
    shop.run("build", app, "-p:WeaveEnabled=true")
    shop.check("asked for without rules: an error", shop.status != 0 and shop.has("error WV0201"))
    write(shop.folder / "weave.toml", RULES)
    shop.run("build", app)
    shop.check("dotnet build weaves", shop.status == 0 and shop.woven(dll) and (dll.parent / "Weave.Runtime.dll").is_file()
               and "Weave.Runtime" in dll.with_suffix(".deps.json").read_text() and not shop.has("warning"))
    shop.check("a line says what was woven", shop.has(r"^ *weave: App\.dll is woven \(methods: 2\)$"))
    printed, told = shop.ran(shop.sdk.dotnet, dll)
    shop.check("the run is right and traced", "the sum is 10" in printed and "Shop.Program.Sum" in told)
    kept = app.parent / "obj/Debug/net10.0/weave"
    by_hand = lib.fresh(folder / "by hand") / "App.dll"
    lib.run([shop.program, "-q", "--no-runtime", "--rules", shop.folder / "weave.toml", "--reference", f"@{kept / 'references.txt'}",
             kept / "unwoven/App.dll", by_hand])
    shop.check("the woven assembly is the command's, byte for byte", by_hand.read_bytes() == dll.read_bytes() and not shop.woven(kept / "unwoven/App.dll"))
    before = shop.state(dll), (app.parent / "obj/Debug/net10.0/weave/stamp").stat().st_mtime_ns
    shop.run("build", app)
    shop.check("nothing changed: nothing runs", before == (shop.state(dll), (app.parent / "obj/Debug/net10.0/weave/stamp").stat().st_mtime_ns))
    printed, told = shop.ran(shop.sdk.dotnet, "run", "--project", app)
    shop.check("dotnet run", "the sum is 10" in printed and "Shop.Program.Sum" in told)
    out = folder / "published"
    shop.run("publish", app, "-c", "Debug", "--no-build", "-o", out)
    shop.check("dotnet publish --no-build takes the woven one", shop.status == 0 and shop.woven(out / "App.dll"))
    shop.run("clean", app)
    left = [p for p in (app.parent / "obj").rglob("weave/**/*") if p.is_file()]
    shop.check("dotnet clean leaves nothing of ours", shop.status == 0 and not left, str(left) if left else "")
    shop.run("build", app, "-p:WeaveEnabled=false")
    shop.check("switched off at once: the compiler's", shop.status == 0 and not shop.woven(dll))
    shop.run("publish", app, "-c", "Debug", "--no-build", "-o", folder / "unwoven")
    shop.check("what was built unwoven is not published as woven", shop.status != 0 and shop.has("error WV0207"))


def states(score, folder):
    """What is the compiler's is known, whatever times files have."""
    shop = Shop(score, folder)
    app = shop.app()
    obj = app.parent / "obj/Debug/net10.0"
    dll, kept, bin_dll = obj / "App.dll", obj / "weave/unwoven/App.dll", app.parent / "bin/Debug/net10.0/App.dll"

    def built(*arguments):
        shop.run("build", app, "--no-restore", *arguments)
        return shop.status == 0

    shop.run("restore", app)
    built()
    first = dll.read_bytes()
    dll.touch()
    shop.check("a touched file is not the compiler's", built() and dll.read_bytes() == first and not shop.woven(kept))
    shop.check("off: the compiler's comes back", built("-p:WeaveEnabled=false") and not shop.woven(dll) and not shop.woven(bin_dll)
               and shop.ran(shop.sdk.dotnet, bin_dll)[1] == "")
    dll.touch()
    shop.check("off again, touched", built("-p:WeaveEnabled=false") and not shop.woven(dll))
    shop.check("on: the same as before", built() and dll.read_bytes() == first and bin_dll.read_bytes() == first and not shop.woven(kept))
    shop.check("Release beside Debug", built("-c", "Release") and shop.woven(app.parent / "bin/Release/net10.0/App.dll") and dll.read_bytes() == first)

    rules = shop.folder / "weave.toml"
    stamp = rules.stat()
    write(rules, RULES.replace('"*"', '"Sum"'))
    os.utime(rules, (stamp.st_atime - 90000, stamp.st_mtime - 90000))
    shop.check("other rules with an older time", built() and dll.read_bytes() != first
               and "Program.Main" not in shop.ran(shop.sdk.dotnet, bin_dll)[1] and "Shop.Program.Sum" in shop.output)
    write(rules, RULES)
    os.utime(rules, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    shop.check("and those of before", built() and dll.read_bytes() == first)
    before = shop.state(bin_dll)
    os.utime(rules)
    shop.check("the same rules with a younger time: nothing runs", built() and shop.state(bin_dll) == before)
    shop.check("other options", built("-p:WeaveArguments=--jobs 1") and shop.woven(dll))

    source = app.parent / "Program.cs"
    write(source, (MAIN % "").replace("the sum", "their sum"))
    shop.check("another source", built() and "their sum is 10" in shop.ran(shop.sdk.dotnet, bin_dll)[0] and "Shop.Program.Sum" in shop.output)
    write(source, MAIN % " +")
    shop.check("a source that the compiler refuses", not built() and not shop.has("WV0"))
    write(source, MAIN % "")
    write(rules, RULES.replace("method", "metod"))
    shop.check("wrong rules: one error at its place", not built() and len(shop.weave_errors()) == 1
               and shop.has(r"weave\.toml\(5,\d+\): error WV0003: .*did you mean `method`") and shop.has(r"^ +1 Error\(s\)"))
    shop.check("and the unwoven one is not shipped", "their sum" in shop.ran(shop.sdk.dotnet, bin_dll)[0])
    write(rules, RULES)
    shop.check("right again: woven", built() and shop.woven(bin_dll) and "the sum is 10" in shop.ran(shop.sdk.dotnet, bin_dll)[0])
    write(rules, RULES.replace("Shop", "Shap"))
    shop.check("rules of several projects that take nothing of this one: a message", built("-warnaserror")
               and shop.has(r"weave: App\.dll: no rule matches a method of it") and not shop.has("WV0120"))
    write(rules, RULES)
    rules = app.parent / "weave.toml"
    write(rules, RULES.replace("Shop", "Shap"))
    failed = [not built("-warnaserror") for _ in range(2)]
    shop.check("-warnaserror fails each time", failed == [True, True] and shop.has(r"error WV0120"))
    every = "-p:MSBuildTreatWarningsAsErrors=true"
    shop.check("all of MSBuild's warnings as errors, and one left out", not built(every) and shop.has("error WV0120")
               and built(every, "-p:MSBuildWarningsNotAsErrors=WV0120") and shop.has("warning WV0120"))
    warned = [built() and shop.has(r"weave\.toml\(3,1\): warning WV0120") for _ in range(2)]
    shop.check("a warning comes with each build", warned == [True, True])
    shop.check("NoWarn silences it", built("-p:NoWarn=WV0120") and not shop.has("WV0120"))
    rules.unlink()
    rules = shop.folder / "weave.toml"
    built()
    shutil.rmtree(obj / "weave")
    shop.check("what we had kept is gone: one error says what to do", not built() and shop.has("error WV0206.*--no-incremental") and len(shop.weave_errors()) == 1)
    shop.check("and that helps", built("--no-incremental") and shop.woven(bin_dll) and not shop.woven(kept))
    rules.unlink()
    shop.check("rules taken away: the compiler's comes back", built() and not shop.woven(bin_dll) and shop.has("is not woven"))


OWN_RULES = RULES.replace("[[aspect]]", """[[library]]
path = "Hooks/bin/Debug/net10.0/Hooks.dll"
[[aspect]]""") + 'enter = "Acme.Log.Began(method)"\n'
OWN_HOOK = """namespace Acme { public static class Log {
    public static void Began(%s method) { System.Console.WriteLine("%s " + method); }
} }
"""


def own_hooks(score, folder):
    """A library of own hooks is an input: another one weaves anew, also where the compiler has nothing to do."""
    shop = Shop(score, folder)
    hooks = shop.project("Hooks", "Library", ours=False)
    write(hooks.parent / "Log.cs", OWN_HOOK % ("string", "began"))
    app = shop.app(items='<ProjectReference Include="../Hooks/Hooks.csproj" />')
    # The project's own rules include those of all projects and a pack, of which it does without most.
    write(app.parent / "weave.toml", 'version = 1\ninclude = ["../team.toml", "pack:http-net"]\n')
    write(shop.folder / "team.toml", OWN_RULES + '[[aspect]]\nname = "another project"\nmatch = { type = "Elsewhere.**" }\n')
    dll, stamp = app.parent / "bin/Debug/net10.0/App.dll", app.parent / "obj/Debug/net10.0/weave/stamp"
    shop.run("build", app)
    shop.check("what is meant for others needs no warning", shop.status == 0 and not shop.has("WV0120"))
    shop.check("own hooks run", "began Sum" in shop.ran(shop.sdk.dotnet, dll)[0])
    for watched in evaluated(shop, app):
        shop.check("who watches the rules watches what they include", {str(app.parent / "weave.toml"), str(shop.folder / "team.toml")} <=
                   {os.path.normpath(path) for path in watched}, str(watched))
    before = shop.state(dll), shop.state(stamp)
    shop.run("build", app)
    shop.check("nothing changed: nothing runs", shop.status == 0 and before == (shop.state(dll), shop.state(stamp)))
    write(hooks.parent / "Log.cs", OWN_HOOK % ("object", "started"))
    shop.run("build", app)
    shop.check("another hook: it is bound anew", shop.status == 0 and shop.state(dll) != before[0]
               and "started Sum" in shop.ran(shop.sdk.dotnet, dll)[0] and not shop.has("weave: hook"))
    write(hooks.parent / "Log.cs", OWN_HOOK % ("int", "began"))
    shop.run("build", app)
    shop.check("a hook that no longer fits: an error at the rule", shop.status != 0 and shop.has(r"team\.toml\(8,\d+\): error WV"))
    write(hooks.parent / "Log.cs", OWN_HOOK % ("string", "began"))
    write(shop.folder / "team.toml", OWN_RULES.replace('"*"', '"Main"'))
    shop.run("build", app)
    printed = shop.ran(shop.sdk.dotnet, dll)[0]
    shop.check("another included file: woven anew", shop.status == 0 and "began Main" in printed and "began Sum" not in printed)


def shared_rules(*types):
    """Rules of a team: an aspect about each."""
    return "version = 1\n" + "".join(f'[[aspect]]\nname = "about {one}"\nmatch = {{ type = "{one}.**" }}\n' for one in types)


def solution(shop, *projects):
    """A solution of projects; a library in the namespace of each one's name that is not there yet."""
    for name in projects:
        if not (shop.folder / name).exists():
            path = shop.project(name, "Library")
            write(path.parent / "Own.cs", (ORDERS % 1).replace("namespace Shop", f"namespace {name}"))
    write(shop.folder / "Shop.slnx", "<Solution>" + "".join(f'<Project Path="{name}/{name}.csproj" />' for name in projects) + "</Solution>\n")
    return shop.folder / "Shop.slnx"


def idle(shop):
    """The aspects of which the last build warned, each once."""
    told = re.findall(r"weave\.toml\((\d+),1\): warning WV0120: aspect `about (\w+)` matched no method, in each project of the solution", shop.output)
    number = re.search(r"^ +(\d+) Warning\(s\)", shop.output, re.M)
    # The summary has each again.
    return sorted({name for _, name in told}) if number and 2 * int(number[1]) == len(told) else f"{number and number[0]}: {told}"


def shared(score, folder):
    """An aspect of rules that projects share is warned of once, if no project of the solution uses it."""
    shop = Shop(score, folder)
    every = solution(shop, "First", "Second")
    rules = shop.folder / "weave.toml"
    write(rules, shared_rules("First", "Second", "Nowhere"))
    shop.run("build", every)
    shop.check("told once, and not of those that some project uses", shop.status == 0 and idle(shop) == ["Nowhere"], str(idle(shop)))
    write(shop.folder / "Second/More.cs", "namespace Second { public static class More { } }\n")
    before = shop.state(shop.folder / "First/obj/Debug/net10.0/First.dll")
    shop.run("build", every, "--no-restore")
    shop.check("where one alone is woven anew, too", shop.status == 0 and idle(shop) == ["Nowhere"]
               and before == shop.state(shop.folder / "First/obj/Debug/net10.0/First.dll"), str(idle(shop)))


def shared_forms(score, folder):
    """The same with projects of other forms, options and a project alone."""
    shop = Shop(score, folder)
    every = solution(shop, "First", "Second", "Plain", "Off", "Quiet")
    rules, first = shop.folder / "weave.toml", shop.folder / "First/First.csproj"
    write(first, first.read_text().replace("<TargetFramework>net10.0</TargetFramework>", "<TargetFrameworks>net10.0;netstandard2.0</TargetFrameworks>"))
    shop.project("Plain", "Library", ours=False)
    shop.project("Off", "Library", properties="<WeaveEnabled>false</WeaveEnabled>")
    shop.project("Quiet", "Library", properties="<NoWarn>$(NoWarn);WV0120</NoWarn>")
    second = shop.project("Second", "Library", '<ProjectReference Include="../First/First.csproj" /><ProjectReference Include="../Quiet/Quiet.csproj" />')
    # One project's own, which is told as ever.
    write(second.parent / "weave.toml", 'version = 1\ninclude = ["../weave.toml"]\n[[aspect]]\nname = "own"\nmatch = { type = "Own.**" }\n')
    write(rules, shared_rules("First", "Plain", "Quiet", "Off", "Nowhere"))
    for more in ((), ("-m:1",), ("-c", "Release"), ("-graph",)):
        shop.run("build", every, *more)
        own = r"Second.weave\.toml\(3,1\): warning WV0120: aspect `own` matched no method$|Second.weave\.toml\(3,1\): warning WV0120: aspect `own` matched no method \["
        lines = [line for line in shop.output.splitlines() if "WV0120" in line]
        shared_ones = sorted({re.search(r"`about (\w+)`", line)[1] for line in lines if "`about" in line})
        shop.check(f"several frameworks, no package, off, silenced {' '.join(more)}", shop.status == 0 and shared_ones == ["Nowhere", "Off", "Plain"]
                   and shop.has(own) and len(lines) == 2 * 4, str(lines))
    shop.run("build", every, "--no-restore", "-warnaserror")
    shop.check("-warnaserror fails for it", shop.status != 0 and shop.has("error WV0120: aspect `about Nowhere`"))
    shop.run("build", every, "--no-restore", "-p:NoWarn=WV0120")
    shop.check("silenced everywhere", shop.status == 0 and not shop.has("WV0120"))
    (second.parent / "weave.toml").unlink()
    shop.run("build", second, "--no-restore")
    shop.check("a project alone says nothing of shared rules", shop.status == 0 and not shop.has("WV0120"))
    write(rules, shared_rules("First", "Second", "Quiet"))
    shop.run("build", every, "--no-restore")
    shop.check("all are used: nothing", shop.status == 0 and not shop.has("WV0120"))
    write(rules, shared_rules("First", "Nowhere"))
    write(shop.folder / "Off/Directory.Build.props", "<Project><PropertyGroup><BaseIntermediateOutputPath>elsewhere/</BaseIntermediateOutputPath></PropertyGroup></Project>\n")
    shutil.rmtree(shop.folder / "Off/obj")
    shop.run("build", every)
    shop.check("what a project does is not known: nothing is said", shop.status == 0 and not shop.has("WV0120"))
    shop.run("clean", every)
    left = [path for path in shop.folder.glob("*/obj/weave/*")]
    shop.check("clean leaves nothing of it", shop.status == 0 and not left, str(left))


EMBEDDED = OWN_RULES.replace('Hooks.dll"', 'Hooks.dll"\nembed = true')


def embedded(score, folder):
    """A library of own hooks that no project references comes beside the application, with it to where that is published, and into packages."""
    shop = Shop(score, folder)
    hooks = shop.project("Hooks", "Library", ours=False)
    write(hooks.parent / "Log.cs", OWN_HOOK % ("string", "began"))
    shop.run("build", hooks)
    app = shop.app()
    write(shop.folder / "weave.toml", EMBEDDED)
    bin_folder = app.parent / "bin/Debug/net10.0"
    shop.run("build", app)
    shop.check("own hooks run", shop.status == 0 and "began Sum" in shop.ran(shop.sdk.dotnet, bin_folder / "App.dll")[0])
    before = shop.state(bin_folder / "App.dll"), shop.state(bin_folder / "App.deps.json")
    shop.run("publish", app, "--no-build", "-c", "Debug", "-o", folder / "published")
    after = shop.state(bin_folder / "App.dll"), shop.state(bin_folder / "App.deps.json")
    shop.check("published without a build", shop.status == 0 and before == after
               and "began Sum" in shop.ran(shop.sdk.dotnet, folder / "published/App.dll")[0])
    write(shop.folder / "weave.toml", RULES)
    shop.run("build", app)
    shop.check("it goes with its rule", shop.status == 0 and not (bin_folder / "Hooks.dll").exists()
               and shop.ran(shop.sdk.dotnet, bin_folder / "App.dll")[0] == "the sum is 10\n")
    write(shop.folder / "weave.toml", EMBEDDED)
    core = shop.project("Core", "Library")
    write(core.parent / "Orders.cs", ORDERS % 1)
    shop.run("pack", core, "-o", folder / "feed")
    with zipfile.ZipFile(folder / "feed/Core.1.0.0.nupkg") as package:
        shop.check("it is in the package", "lib/net10.0/Hooks.dll" in package.namelist(), str(package.namelist()))


def tests(score, folder):
    """dotnet test, with a woven library that another project tests."""
    shop = Shop(score, folder)
    # Who uses the library hears nothing of the package: the hook library comes all the same.
    core = shop.project("Core", "Library", items=private(shop.ours), ours=False)
    write(core.parent / "Orders.cs", ORDERS % 1)
    items = reference("xunit", "2.9.3") + reference("xunit.runner.visualstudio", "3.1.5") + reference("Microsoft.NET.Test.Sdk", "17.14.1")
    suite = shop.project("Suite", "Library", items + '<ProjectReference Include="../Core/Core.csproj" />', "<IsTestProject>true</IsTestProject>", ours=False)
    write(suite.parent / "OrdersTest.cs", "public class OrdersTest { [Xunit.Fact] public void Totals() { Xunit.Assert.Equal(6, Shop.Orders.Total(4)); } }\n")
    _, told = shop.ran(shop.sdk.dotnet, "test", suite, "-v", "q")
    shop.check("dotnet test runs the woven library, and the hook library comes with it", shop.has("Passed!.*Passed: +1") and "Shop.Orders.Total" in told
               and not shop.has("Suite is not woven"))


#: All that a compiler makes a state machine of, with branches that run and some that do not.
COUNTED = """using System; using System.Collections.Generic; using System.Threading.Tasks;
namespace Shop {
    public static class Lists {
        public static IEnumerable<int> Up(int n) { for (int i = 0; i < n; i++) yield return i; }
        public static IEnumerable<int> Even(IEnumerable<int> all) {
            try { foreach (int i in all) { if (i % 2 == 0) yield return i; else if (i > 100) yield break; } }
            finally { if (all is null) Console.WriteLine(); }
        }
        public static IEnumerable<T> None<T>() { yield break; }
        public static IEnumerator<string> Two(bool more) { yield return "a"; if (more) yield return "b"; }
        public static IEnumerable<int> Never(int n) { if (n > 0) yield return n; }
    }
    public static class Tasks {
        public static async Task<int> Sum(int n) { int sum = 0; for (int i = 0; i < n; i++) { await Task.Yield(); sum += i > 100 ? 1 : i; } return sum; }
        public static async ValueTask Tried(bool fails) {
            try { await Task.Delay(1); if (fails) throw new InvalidOperationException(); } catch (InvalidOperationException) when (fails) { await Task.Yield(); }
            finally { await Task.CompletedTask; }
        }
        public static async IAsyncEnumerable<int> Slowly(int n) { for (int i = 0; i < n; i++) { await Task.Yield(); if (i != 7) yield return i; } }
        public static async Task<int> All() { int sum = 0; await foreach (int i in Slowly(3)) sum += i; await using (new Held()) { sum++; } return sum; }
        class Held : IAsyncDisposable { public ValueTask DisposeAsync() => default; }
    }
    public static class Plain {
        public static int Of(string s) { switch (s) { case "a": return 1; case "b": return 2; default: return s?.Length ?? 0; } }
        public static int Caught(int n) { try { return 4 / n; } catch (DivideByZeroException) { return n == 0 ? -1 : -2; } finally { GC.KeepAlive(n); } }
        public static Func<int, int> Made(int k) => i => i > k ? i : k;
    }
}
"""
COUNTED_TEST = """using System.Linq; using System.Threading.Tasks; using Shop; using Xunit;
public class CountedTest {
    [Fact] public void Iterators() { Assert.Equal(2, Lists.Even(Lists.Up(4)).Sum()); Assert.Empty(Lists.None<int>()); var two = Lists.Two(false); while (two.MoveNext()) { } }
    [Fact] public async Task Asynchronous() { Assert.Equal(3, await Tasks.Sum(3)); await Tasks.Tried(true); Assert.Equal(4, await Tasks.All()); }
    [Fact] public void Ordinary() { Assert.Equal(1, Plain.Of("a")); Assert.Equal(-1, Plain.Caught(0)); Assert.Equal(5, Plain.Made(2)(5)); }
}
"""


def counted(path):
    """What a report of coverlet's says: the rates of all, and of each method its rates, hits and branches."""
    root = xml.parse(path).getroot()
    rates = lambda of: (of.get("line-rate"), of.get("branch-rate"))
    lines = lambda of: [tuple(sorted(line.attrib.items())) for line in of.iterfind("lines/line")]
    methods = {(c.get("name"), m.get("name"), m.get("signature")): (rates(m), lines(m)) for c in root.iter("class") for m in c.iter("method")}
    return {"all": rates(root), **methods}


def coverage(score, folder):
    """coverlet's rates of woven code are those of unwoven code: by its collector and by its targets, Debug and Release."""
    shop = Shop(score, folder)
    core = shop.project("Core", "Library")
    write(core.parent / "Counted.cs", COUNTED)
    tools = {"collector": (reference("coverlet.collector", "6.0.4"), ("--collect", "XPlat Code Coverage")),
             "targets": (reference("coverlet.msbuild", "10.0.1"), ("-p:CollectCoverage=true", "-p:CoverletOutputFormat=cobertura"))}
    for tool, (package, asked) in tools.items():
        items = reference("xunit", "2.9.3") + reference("xunit.runner.visualstudio", "3.1.5") + reference("Microsoft.NET.Test.Sdk", "17.14.1")
        suite = shop.project("Suite", "Library", items + package + '<ProjectReference Include="../Core/Core.csproj" />', "<IsTestProject>true</IsTestProject>", ours=False)
        write(suite.parent / "CountedTest.cs", COUNTED_TEST)
        for configuration in ("Debug", "Release"):
            found = {}
            for woven in (False, True):
                out = lib.fresh(folder / "results")
                (suite.parent / "coverage.cobertura.xml").unlink(missing_ok=True)
                shop.run("test", suite, "-c", configuration, f"-p:WeaveEnabled={str(woven).lower()}", "--results-directory", out, *asked)
                right = shop.has("Passed!.*Passed: +3") and shop.woven(core.parent / f"bin/{configuration}/net10.0/Core.dll") == woven
                reports = [*out.rglob("coverage.cobertura.xml"), *suite.parent.glob("coverage.cobertura.xml")]
                found[woven] = counted(reports[0]) if right and reports else {}
            differ = {name: (found[False].get(name), now) for name, now in found[True].items() if found[False].get(name) != now}
            same = len(found[True]) > 10 and found[True].keys() == found[False].keys() and not differ
            shop.check(f"coverlet's {tool}, {configuration}: the same lines and branches", same, f"rates {found[True].get('all')}" if same else str(differ)[:3000])


def published(shop, app, name, *arguments):
    """Publishes, runs, and gives what was printed and traced."""
    out = shop.folder.parent / "published" / name
    shop.run("publish", app, "-o", out, *arguments)
    if shop.status:
        return "", ""
    program = out / "App"
    return shop.ran(program) if program.exists() else shop.ran(shop.sdk.dotnet, out / "App.dll")


FORMS = {
    "framework-dependent": (),
    "self-contained": ("-r", RID, "--self-contained"),
    "single-file": ("-r", RID, "--self-contained", "-p:PublishSingleFile=true"),
    "trimmed": ("-r", RID, "--self-contained", "-p:PublishTrimmed=true"),
    "ReadyToRun": ("-r", RID, "--self-contained", "-p:PublishReadyToRun=true"),
    "NativeAOT": ("-r", RID, "-p:PublishAot=true"),
}


def form(name):
    """A publish: woven, off, and woven again, into one folder."""
    def program(score, folder):
        shop = Shop(score, folder)
        shop.ours = private(shop.ours)
        app = shop.app(properties="<InvariantGlobalization>true</InvariantGlobalization>")
        if name == "trimmed":
            # The linker drops the hook library where weaving is off: what lists a program's files is made anew where it is on again.
            published(shop, app, "not trimmed", *FORMS["self-contained"])
        for turn, off in (("woven", False), ("off", True), ("woven again", False))[1 if name == "trimmed" else 0:]:
            more = ("-p:WeaveEnabled=false",) if off else ()
            printed, told = published(shop, app, name, *FORMS[name], *more)
            right = ("Shop.Program.Sum" in told) != off
            shop.check(f"{name}, {turn}", shop.status == 0 and "the sum is 10" in printed and right)
    return program


#: Calls of the packages, and which file of one runs.
USES = """
        + (Newtonsoft.Json.JsonConvert.ToString(5).Length - 1))); System.Console.WriteLine((
            Humanizer.InflectorExtensions.Pluralize("order") + " "
            + System.Reflection.CustomAttributeExtensions.GetCustomAttribute<System.Reflection.AssemblyFileVersionAttribute>(
                typeof(Newtonsoft.Json.JsonConvert).Assembly)?.Version"""
JSON, HUMANIZER = "Newtonsoft.Json", reference("Humanizer.Core", "3.0.10")
RESOURCES = """<root><resheader name="resmimetype"><value>text/microsoft-resx</value></resheader>
  <resheader name="version"><value>2.0</value></resheader>
  <resheader name="reader"><value>System.Resources.ResXResourceReader, System.Windows.Forms</value></resheader>
  <resheader name="writer"><value>System.Resources.ResXResourceWriter, System.Windows.Forms</value></resheader>
  <data name="Word"><value>%s</value></data></root>
"""


def uses_packages(shop, json, more=""):
    write(shop.folder / "weave.toml", RULES_ALL)
    properties = "<WeaveReferences>true</WeaveReferences><SatelliteResourceLanguages>de</SatelliteResourceLanguages><InvariantGlobalization>true</InvariantGlobalization>"
    return shop.app(reference(JSON, json) + HUMANIZER + more, properties, USES)


#: One aspect that only the project has, one that only a package has, and one that nothing has.
PARTS = "".join(f"""[[aspect]]\nname = "{name}"\nmatch = {{ type = "{name}" }}\n"""
                for name in ("Shop.Program", "Newtonsoft.Json.JsonConvert", "Shop.Nowhere"))


def packages_change(score, folder):
    """WeaveReferences, and another, an added and a removed package."""
    shop = Shop(score, folder)
    core = shop.project("Core", "Library")
    write(core.parent / "Orders.cs", ORDERS % 1)
    write(core.parent / "Texts.resx", RESOURCES % "order")
    write(core.parent / "Texts.de.resx", RESOURCES % "Bestellung")
    # A project with another language's texts, and a package with a native library.
    more = '<ProjectReference Include="../Core/Core.csproj" />' + reference("Microsoft.Data.Sqlite", "10.0.15")
    app = uses_packages(shop, "13.0.3", more)
    out = app.parent / "bin/Debug/net10.0"

    def runs(file_version):
        shop.run("build", app)
        printed, told = shop.ran(shop.sdk.dotnet, out / "App.dll")
        return f"orders {file_version}" in printed and all(n in told for n in ("Shop.Program.Sum", "Newtonsoft.Json.JsonConvert", "Humanizer.Inflect"))

    right = runs("13.0.3")
    said = shop.built
    shop.check("packages are woven", right and shop.woven(out / "Newtonsoft.Json.dll"))
    shop.check("what is not woven is there: other languages, native libraries, another project's own", (out / "de/Core.resources.dll").is_file()
               and list(out.rglob("libe_sqlite3.so")) and (out / "Core.dll").read_bytes() == (core.parent / "bin/Debug/net10.0/Core.dll").read_bytes())
    warned = [line for line in set(said.splitlines()) if "warning" in line and "WV0102" in line]
    shop.check("signatures that go are told once for all packages", len(warned) == 2 and all("Humanizer.dll, " in line for line in warned), str(len(warned)))
    ours = app.parent / "obj/Debug/net10.0/weave"
    records = [ours / "options", ours / "references.list", ours / "references.stamp", out / "Newtonsoft.Json.dll"]
    before = [shop.state(path) for path in records]
    shop.run("build", app)
    changed = [path.name for path, state in zip(records, before) if shop.state(path) != state]
    shop.check("nothing changed: nothing runs", not changed, ", ".join(changed))
    uses_packages(shop, "13.0.1", more)
    shop.check("an older package", runs("13.0.1"))
    uses_packages(shop, "13.0.4", more + reference("Serilog", "4.4.0"))
    shop.check("a newer one, and one more", runs("13.0.4") and (out / "Serilog.dll").is_file())
    uses_packages(shop, "13.0.4", more)
    shop.check("one less", runs("13.0.4"))
    shop.run("build", app, "-p:WeaveEnabled=false")
    _, told = shop.ran(shop.sdk.dotnet, out / "App.dll")
    shop.check("off: the packages' own", shop.status == 0 and not told and not shop.woven(out / "Newtonsoft.Json.dll"))
    write(app.parent / "weave.toml", "version = 1\n" + PARTS)
    shop.run("build", app)
    idle = {line.strip() for line in shop.built.splitlines() if "WV0120" in line}
    shop.check("an aspect is idle if neither the project nor a package has it", shop.status == 0 and len(idle) == 1
               and "Shop.Nowhere" in idle.pop())


def packages_form(name):
    """A publish with the packages woven, off, and woven again."""
    def program(score, folder):
        shop = Shop(score, folder)
        app = uses_packages(shop, "13.0.3")
        for turn, off in (("woven", False), ("off", True), ("woven again", False)):
            more = ("-p:WeaveEnabled=false",) if off else ()
            printed, told = published(shop, app, name, *FORMS[name], *more)
            right = all((n in told) != off for n in ("Shop.Program.Sum", "Newtonsoft.Json.JsonConvert", "Humanizer.Inflect"))
            shop.check(f"{name} with packages, {turn}", shop.status == 0 and "the sum is 10" in printed and "orders" in printed and right)
            if name == "ReadyToRun":
                made = folder / "published" / name / "Newtonsoft.Json.dll"
                il = app.parent / "obj/Release/net10.0/linux-x64/weave/references/woven/Newtonsoft.Json.dll"
                shop.check("native code is made of the woven package", off or made.stat().st_size > 1.5 * il.stat().st_size)
    return program


def libraries(score, folder):
    """A woven library's package needs the hook library alone, and its user hears nothing of us."""
    shop = Shop(score, folder)
    properties = "<TargetFrameworks>net10.0;netstandard2.0</TargetFrameworks><Version>1.2.3</Version>"
    core = shop.project("Core", "Library", properties=properties)
    write(core, core.read_text().replace("<TargetFramework>net10.0</TargetFramework>", ""))
    write(core.parent / "Orders.cs", ORDERS % 1)

    def packed(*arguments):
        feed = lib.fresh(folder / "feed")
        shutil.rmtree(shop.cache / "core", ignore_errors=True)
        shop.run("pack", core, "-o", feed, *arguments)
        if shop.status:
            return ""
        with zipfile.ZipFile(feed / "Core.1.2.3.nupkg") as package:
            return package.read("Core.nuspec").decode()

    needs = re.findall(r'<dependency id="([^"]*)" version="([^"]*)"', packed())
    shop.check("the package needs the hook library alone", needs == [("Weave.Runtime", shop.version)] * 2, str(needs))
    write(shop.folder / "App/weave.toml", RULES)
    app = shop.project("App", items=reference("Core", "1.2.3"), ours=False)
    write(app.parent / "Program.cs", MAIN % "+ Orders.Total(4)")
    write(app.parent / "nuget.config", shop.sdk.config(Shop.made[0].parent, folder / "feed"))
    shop.run("build", app, "-p:WeaveEnabled=true")
    quiet = shop.status == 0 and not shop.has("weave:|WV0") and not (app.parent / "obj/Debug/net10.0/weave").exists()
    listed = (app.parent / "obj/project.assets.json").read_text()
    printed, told = shop.ran(shop.sdk.dotnet, app.parent / "bin/Debug/net10.0/App.dll")
    shop.check("its user hears nothing, downloads no program, and runs traced", quiet and "Weave.MSBuild" not in listed
               and "the sum is 16" in printed and "Shop.Orders.Total" in told and "Program" not in told)
    write(core, core.read_text().replace("<PackageReference Include=\"Weave.MSBuild\"", "<PackageReference PrivateAssets=\"all\" Include=\"Weave.MSBuild\""))
    needs = re.findall(r'<dependency id="([^"]*)" version="([^"]*)"', packed())
    shop.check("PrivateAssets=all: the same", needs == [("Weave.Runtime", shop.version)] * 2, str(needs))
    write(core, core.read_text().replace("</ItemGroup>", private(reference("Weave.Runtime", shop.version)) + "</ItemGroup>"))
    needs = re.findall(r'<dependency id="([^"]*)" version="([^"]*)"', packed())
    shop.check("also where the hook library has it, too", needs == [("Weave.Runtime", shop.version)] * 2, str(needs))


#: A version that is nowhere.
OVERRIDDEN = """<Project>
  <PropertyGroup>
    <ManagePackageVersionsCentrally>true</ManagePackageVersionsCentrally>
    <CentralPackageTransitivePinningEnabled>true</CentralPackageTransitivePinningEnabled>
  </PropertyGroup>
  <ItemGroup><PackageVersion Include="Weave.MSBuild" Version="0.0.1" /></ItemGroup>
</Project>
"""


def central(score, folder):
    """GlobalPackageReference, central versions and lock files."""
    shop = Shop(score, folder)
    write(shop.folder / "Directory.Packages.props", """<Project>
  <PropertyGroup><ManagePackageVersionsCentrally>true</ManagePackageVersionsCentrally></PropertyGroup>
  <ItemGroup><GlobalPackageReference Include="Weave.MSBuild" Version="%s" /><PackageVersion Include="Newtonsoft.Json" Version="13.0.3" /></ItemGroup>
</Project>
""" % shop.version)
    core = shop.project("Core", "Library", ours=False)
    write(core.parent / "Orders.cs", ORDERS % 1)
    items = '<ProjectReference Include="../Core/Core.csproj" /><PackageReference Include="Newtonsoft.Json" />'
    app = shop.project("App", items=items, properties="<RestorePackagesWithLockFile>true</RestorePackagesWithLockFile>", ours=False)
    write(app.parent / "Program.cs", MAIN % "+ Orders.Total(4)")
    shop.run("build", app)
    printed, told = shop.ran(shop.sdk.dotnet, app.parent / "bin/Debug/net10.0/App.dll")
    shop.check("GlobalPackageReference weaves all projects", shop.status == 0 and "the sum is 16" in printed
               and all(n in told for n in ("Shop.Program.Sum", "Shop.Orders.Total")))
    printed, told = published(shop, app, "central")
    shop.check("and is published with the hook library", "the sum is 16" in printed and "Shop.Orders.Total" in told)
    shop.run("restore", app, "--locked-mode")
    shop.check("and locks", shop.status == 0 and "Weave.Runtime" in (app.parent / "packages.lock.json").read_text())
    write(shop.folder / "Directory.Packages.props", OVERRIDDEN)
    core = shop.project("Core", "Library", private(shop.ours.replace("Version=", "VersionOverride=")), ours=False)
    app = shop.project("App", items='<ProjectReference Include="../Core/Core.csproj" />', ours=False)
    (app.parent / "packages.lock.json").unlink()
    printed, told = published(shop, app, "overridden")
    shop.check("VersionOverride of one project, with transitive versions pinned", "the sum is 16" in printed and "Shop.Orders.Total" in told)


#: How tools write a reference that stays with its project.
PRIVATE = 'PrivateAssets="all" IncludeAssets="runtime; build; native; contentfiles; analyzers; buildtransitive"'
#: What keeps the hook library from the project itself.
WITHOUT_HOOKS = ('IncludeAssets="build"', 'ExcludeAssets="runtime"')
#: Lists that keep the hook library from who uses a library; whether that builds.
LISTS = {"compile;runtime": True, "Build, Runtime,Compile": True, "runtime": False}


def references(score, folder):
    """However a reference is written, the hook library goes where the woven assembly goes, or the build fails by name."""
    shop = Shop(score, folder)
    ours = shop.ours.replace(" />", f" {PRIVATE} />")
    core = shop.project("Core", "Library", ours, ours=False)
    write(core.parent / "Orders.cs", ORDERS % 1)
    uses = shop.project("Uses", "Exe", '<ProjectReference Include="../Core/Core.csproj" />', ours=False)
    write(uses.parent / "Program.cs", "System.Console.WriteLine(Shop.Orders.Total(5));\n")
    app = shop.project("App", "Exe", ours, ours=False)
    write(app.parent / "Program.cs", MAIN % "")
    for path, expected in ((uses, "Shop.Orders.Total"), (app, "Shop.Program.Sum")):
        out = folder / "published" / path.stem
        shop.run("publish", path, "-o", out, "-r", RID, "--self-contained", "-p:PublishSingleFile=true")
        printed, told = shop.ran(out / path.stem)
        shop.check(f"{path.stem}, {PRIVATE}: published as one file", shop.status == 0 and "10" in printed and expected in told)
    for more in WITHOUT_HOOKS:
        app = shop.project("App", "Exe", shop.ours.replace(" />", f" {more} />"), ours=False)
        shop.run("build", app)
        shop.check(f"{more}: the build fails by name", shop.status != 0 and shop.has("error WV0204: .*Weave.Runtime") and len(shop.weave_errors()) == 1)
    for assets, builds_it in LISTS.items():
        shop.project("Core", "Library", shop.ours.replace(" />", f' PrivateAssets="{assets}" />'), ours=False)
        shop.run("build", uses)
        if builds_it:
            built = shop.status == 0
            printed, told = shop.ran(shop.sdk.dotnet, uses.parent / "bin/Debug/net10.0/Uses.dll")
            shop.check(f"PrivateAssets={assets}: the program that uses the library runs traced", built and "10" in printed and "Shop.Orders.Total" in told)
        else:
            shop.check(f"PrivateAssets={assets}: the library's build fails by name", shop.status != 0
                       and shop.has("error WV0204: .*Core.*PrivateAssets=") and len(shop.weave_errors()) == 1)


WEB = """var builder = WebApplication.CreateBuilder(args);
builder.Services.AddOpenApi();
var app = builder.Build();
app.MapOpenApi();
app.MapGet("/", () => Shop.Orders.Total(4));
app.Run();
"""


def design_tools(score, folder):
    """A tool of the build that runs the program leaves no trace among the sources."""
    shop = Shop(score, folder)
    items = reference("Microsoft.AspNetCore.OpenApi", "10.0.15") + private(reference("Microsoft.Extensions.ApiDescription.Server", "10.0.15"))
    app = shop.project("App", items=items, properties="<ImplicitUsings>enable</ImplicitUsings><NoWarn>NU1603</NoWarn>")
    write(app, app.read_text().replace('Sdk="Microsoft.NET.Sdk"', 'Sdk="Microsoft.NET.Sdk.Web"'))
    write(app.parent / "Program.cs", WEB)
    write(app.parent / "Orders.cs", ORDERS % 1)
    write(shop.folder / "weave.toml", RULES.replace('"Shop.**"', '"**"'))
    shop.run("build", app, WEAVE_TRACE="")
    made = [path.name for path in (app.parent / "obj").rglob("*.json") if path.name == "App.json"]
    shop.check("the document is made, and no trace", shop.status == 0 and made and not list(folder.rglob("*.wtrace")), str(made))


GENERATOR = """using Microsoft.CodeAnalysis;
namespace Shop { [Generator] public class Names : ISourceGenerator {
    public void Initialize(GeneratorInitializationContext context) { }
    public void Execute(GeneratorExecutionContext context) { context.AddSource("made.g.cs", "namespace Made { public static class Here { public const int Number = " + Number(7) + "; } }"); }
    static int Number(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i; return sum; }
} }
"""
TASK = """namespace Shop { public class Count : Microsoft.Build.Utilities.Task {
    public override bool Execute() { Log.LogMessage(Microsoft.Build.Framework.MessageImportance.High, "the task says " + Number(7)); return true; }
    static int Number(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i; return sum; }
} }
"""


def hosted(score, folder):
    """A source generator and a task of MSBuild in the solution that uses them."""
    shop = Shop(score, folder)
    sdk_folder = next((shop.sdk.dotnet.parent / "sdk").glob("*/Roslyn/bincore/Microsoft.CodeAnalysis.dll")).parents[2]
    roslyn = sdk_folder / "Roslyn/bincore"

    def of(path):
        return f'<Reference Include="{path.stem}" HintPath="{path}" Private="false" />'

    made = shop.project("Made", "Library", of(roslyn / "Microsoft.CodeAnalysis.dll"), "<NoWarn>RS1035;RS1036;RS1042;RS2008;CS0618</NoWarn>")
    write(made.parent / "Names.cs", GENERATOR)
    task = shop.project("Job", "Library", of(sdk_folder / "Microsoft.Build.Framework.dll") + of(sdk_folder / "Microsoft.Build.Utilities.Core.dll"))
    write(task.parent / "Count.cs", TASK)
    references = ('<ProjectReference Include="../Made/Made.csproj" OutputItemType="Analyzer" ReferenceOutputAssembly="false" />'
                  '<ProjectReference Include="../Job/Job.csproj" ReferenceOutputAssembly="false" />')
    app = shop.app(references, more="+ Made.Here.Number")
    run_task = ('<UsingTask TaskName="Shop.Count" AssemblyFile="../Job/bin/Debug/net10.0/Job.dll" />'
                '<Target Name="Count" AfterTargets="Build"><Count /></Target></Project>')
    write(app, app.read_text().replace("</Project>", run_task))
    shop.run("build", app)
    told = shop.output
    shop.check("both do their work", shop.status == 0 and not shop.has("CS8032|CS8785|warning") and shop.has("the task says 21"))
    for name in ("Made", "Job"):
        shop.check(f"{name} stays as it is, with one message", not shop.woven(shop.folder / name / f"bin/Debug/net10.0/{name}.dll")
                   and told.count(f"{name}.dll is left unwoven") == 1)
    printed, traced = shop.ran(shop.sdk.dotnet, app.parent / "bin/Debug/net10.0/App.dll")
    shop.check("and what they made is woven", "the sum is 31" in printed and "Shop.Program.Sum" in traced)


ASPECT = """using AspectInjector.Broker;
[Aspect(Scope.Global)] [Injection(typeof(Count))] public class Count : System.Attribute {
    public static int Calls;
    [Advice(Kind.Before)] public void Before() { Calls++; }
}
namespace Shop { public static class Program {
    [Count] public static int Sum(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i; return sum; }
    public static void Main() { int all = Sum(5) + Sum(6) + Sum(7); System.Console.WriteLine("advice " + Count.Calls + " of " + all); }
} }
"""


def beside(shop, app, tool):
    """Another tool that works on the compiler's assembly, beside ours: each of both once, whatever is built."""
    obj = app.parent / "obj/Debug/net10.0/App.dll"
    rules = shop.folder / "weave.toml"

    def right(what, woven=True):
        printed, told = shop.ran(shop.sdk.dotnet, app.parent / "bin/Debug/net10.0/App.dll")
        shop.check(f"{tool} beside us, {what}", "advice 3 of 46" in printed and ("Shop.Program.Sum" in told) == woven)

    shop.run("build", app)
    right("first build")
    for turn in ("nothing changed", "touched", "again", "another source"):
        if turn == "touched":
            obj.touch()
        if turn == "another source":
            write(app.parent / "More.cs", "namespace Shop { public static class More { public static int One() => 1; } }\n")
        shop.run("build", app, "--no-restore")
        right(turn)
    shop.run("build", app, "--no-restore", "-p:WeaveEnabled=false")
    right("off", woven=False)
    shop.run("build", app, "--no-restore")
    right("on")
    write(rules, RULES.replace('"*"', '["Sum", "Main"]'))
    shop.run("build", app, "--no-restore")
    right("other rules")
    out = shop.folder.parent / "published"
    shop.run("publish", app, "-c", "Debug", "--no-restore", "-o", out)
    printed, told = shop.ran(shop.sdk.dotnet, out / "App.dll")
    shop.check(f"{tool} beside us, published", "advice 3 of 46" in printed and "Shop.Program.Sum" in told)


def aspect_injector(score, folder):
    """A tool that runs after the compiler's target."""
    shop = Shop(score, folder)
    app = shop.project("App", items=reference("AspectInjector", "2.7.3"))
    write(app.parent / "Program.cs", ASPECT)
    beside(shop, app, "AspectInjector")


FODY = "6.9.3"
#: A weaver for Fody: what AspectInjector's advice does.
COUNTING = """using System.Collections.Generic; using System.Linq; using Fody; using Mono.Cecil.Cil;
public class ModuleWeaver : BaseModuleWeaver {
    public override void Execute() {
        var calls = ModuleDefinition.GetType("Count").Fields.Single(f => f.Name == "Calls");
        foreach (var method in ModuleDefinition.GetType("Shop.Program").Methods.Where(m => m.Name == "Sum")) {
            var il = method.Body.GetILProcessor(); var first = method.Body.Instructions[0];
            foreach (var insn in new[] { il.Create(OpCodes.Ldsfld, calls), il.Create(OpCodes.Ldc_I4_1), il.Create(OpCodes.Add), il.Create(OpCodes.Stsfld, calls) })
                il.InsertBefore(first, insn);
        }
    }
    public override IEnumerable<string> GetAssembliesForScanning() { yield return "System.Runtime"; }
}
"""


def fody(score, folder):
    """A tool that runs within the compiler's target, with a weaver of the solution."""
    shop = Shop(score, folder)
    tools = '<WeaverFiles Include="$(MSBuildThisFileDirectory)../Counting/bin/Debug/netstandard2.0/Counting.Fody.dll" />'
    app = shop.project("App", items=reference("Fody", FODY) + tools + '<ProjectReference Include="../Counting/Counting.csproj" ReferenceOutputAssembly="false" />')
    write(app.parent / "Program.cs", ASPECT.replace("using AspectInjector.Broker;\n[Aspect(Scope.Global)] [Injection(typeof(Count))] ", "")
          .replace("    [Advice(Kind.Before)] public void Before() { Calls++; }\n", ""))
    write(app.parent / "FodyWeavers.xml", "<Weavers><Counting /></Weavers>\n")
    helpers = shop.cache / f"fody/{FODY}/tasks/netstandard2.0"
    references = "".join(f'<Reference Include="{name}" HintPath="{helpers / name}.dll" Private="false" />' for name in ("FodyHelpers", "Mono.Cecil"))
    counting = shop.project("Counting", "Library", references, "<AssemblyName>Counting.Fody</AssemblyName>", ours=False)
    write(counting, counting.read_text().replace("net10.0", "netstandard2.0"))
    write(counting.parent / "ModuleWeaver.cs", COUNTING)
    shop.run("restore", app)
    beside(shop, app, "Fody")


def evaluated(shop, project, *arguments):
    """The paths that a project watches, and those that Visual Studio asks about before it builds."""
    shop.run("msbuild", project, "-getItem:Watch", "-getItem:UpToDateCheckInput", *arguments)
    items = json.loads(shop.output)["Items"] if shop.status == 0 else {}
    return [{item["FullPath"] for item in items.get(kind, [])} for kind in ("Watch", "UpToDateCheckInput")]


def editors(score, folder):
    """What editors, `dotnet watch` and WPF's markup compiler ask of a project."""
    shop = Shop(score, folder)
    app = shop.app()
    shop.run("restore", app)
    rules = str(shop.folder / "weave.toml")
    shop.check("Watch and UpToDateCheckInput have the rules", all(rules in found for found in evaluated(shop, app)))
    other = str(app.parent / "other.toml")
    write(app.parent / "other.toml", RULES)
    found = evaluated(shop, app, "-p:WeaveRules=pack:all%3Bother.toml")
    shop.check("those that are named, and no packs", all(other in files and rules not in files and not any("pack" in f for f in files) for files in found))
    write(app.parent / "other.toml", RULES.replace("Shop.**", "No.Type.Of.Ours"))
    shop.run("build", app, "-p:WeaveRules=other.toml%3Bpack:all")
    woven = shop.woven(app.parent / "bin/Debug/net10.0/App.dll")
    shop.check("they are two rules files, not one, in the weave too", shop.status == 0 and woven)
    many = shop.project("Many", "Library", properties="<TargetFrameworks>net10.0;netstandard2.0</TargetFrameworks>")
    write(many, many.read_text().replace("<TargetFramework>net10.0</TargetFramework>", ""))
    shop.run("restore", many)
    shop.check("of each framework", all(rules in found for framework in ("net10.0", "netstandard2.0")
                                        for found in evaluated(shop, many, f"-p:TargetFramework={framework}")))
    (shop.folder / "weave.toml").unlink()
    shop.check("without rules: nothing of ours", not any("toml" in path for found in evaluated(shop, many, "-p:TargetFramework=net10.0") for path in found))
    write(shop.folder / "weave.toml", RULES)

    # WPF compiles a project of another name into the same obj, for what markup refers to, and then the real one.
    shop.run("build", app)
    obj = app.parent / "obj/Debug/net10.0"
    dll, records = app.parent / "bin/Debug/net10.0/App.dll", [obj / f"weave/{name}" for name in ("kept", "stamp", "laid", "options")]
    temporary = app.parent / "App_x1y2z3_wpftmp.csproj"
    text = app.read_text().replace("<OutputType>", "<AssemblyName>App</AssemblyName><EnableDefaultCompileItems>false</EnableDefaultCompileItems><OutputType>")
    write(temporary, text.replace("<ItemGroup>", '<ItemGroup><Compile Include="Program.cs" />'))
    for path in (app.parent / "obj").glob("App.csproj.nuget.g.*"):
        shutil.copy(path, path.with_name(path.name.replace("App.csproj", temporary.name)))
    write(app.parent / "Program.cs", (MAIN % "").replace("the sum", "their sum"))
    before = [shop.state(path) for path in records]
    shop.run("msbuild", temporary, "-t:Compile")
    shop.check("_wpftmp: compiled and left alone", shop.status == 0 and (obj / "App.dll").is_file() and not shop.woven(obj / "App.dll")
               and before == [shop.state(path) for path in records] and not shop.has("weave"))
    for off in (True, False):
        shop.run("msbuild", temporary, "-t:Rebuild" if off else "-t:Compile", f"-p:WeaveEnabled={str(not off).lower()}")
        shop.run("build", app, "--no-restore")
        printed, told = shop.ran(shop.sdk.dotnet, dll)
        shop.check(f"and the real one after it is woven{' (WPF rebuilt, off)' if off else ''}", shop.status == 0 and shop.woven(dll)
                   and "their sum is 10" in printed and "Shop.Program.Sum" in told)


FSHARP = """namespace Shop
module Orders =
    let total (n: int) = Seq.sum (seq { for i in 0 .. n - 1 -> i })
    let later (n: int) = task {
        do! System.Threading.Tasks.Task.Yield()
        return total n }
module Program =
    [<EntryPoint>]
    let main _ =
        printfn "the sum is %d" (Orders.later(5).Result)
        0
"""
VB = """Namespace Shop
    Public Module Program
        Public Async Function Sum(n As Integer) As System.Threading.Tasks.Task(Of Integer)
            Await System.Threading.Tasks.Task.Yield()
            Return Enumerable.Range(0, n).Sum()
        End Function
        Public Sub Main()
            System.Console.WriteLine("the sum is " & Sum(5).Result)
        End Sub
    End Module
End Namespace
"""


def languages(score, folder):
    """F# and Visual Basic: built, nothing changed, off and on."""
    shop = Shop(score, folder)
    for kind, text, more, name in (("fsproj", FSHARP, '<Compile Include="Program.fs" />', "Orders"), ("vbproj", VB, "", "Sum")):
        app = shop.folder / kind / f"App.{kind}"
        write(app, PROJECT.format(kind="Exe", items=shop.ours + more, properties="<RootNamespace></RootNamespace>"))
        write(app.parent / f"Program.{kind[:2]}", text)
        dll = app.parent / "bin/Debug/net10.0/App.dll"
        for turn, arguments, woven in (("built", (), True), ("nothing changed", ("--no-restore",), True),
                                       ("off", ("-p:WeaveEnabled=false",), False), ("on", (), True)):
            shop.run("build", app, *arguments)
            printed, told = shop.ran(shop.sdk.dotnet, dll)
            shop.check(f"{kind}, {turn}", shop.status == 0 and "the sum is 10" in printed and (f"Shop.{name}" in told or f"Program.{name}" in told) == woven)


def other_user(score, folder):
    """A folder of packages that belongs to another user: the program there cannot be run nor be made to."""
    if os.getuid() != 0 or not shutil.which("setpriv"):
        raise lib.Missing("another user's folder of packages needs root and setpriv: leave it out with --without other-user")
    shop = Shop(score, folder)
    app = shop.app()
    shop.run("restore", app)
    program = next((shop.cache / "weave.msbuild").glob("*/tools/linux_x64/weave"))
    os.chmod(program, 0o744)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 65534, 65534)
    shop.prefix = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]
    shop.run("build", app, "--no-restore", HOME=folder, DOTNET_CLI_HOME=folder, TMPDIR=folder)
    shop.check("a copy of the program runs", shop.status == 0 and shop.woven(app.parent / "bin/Debug/net10.0/App.dll"))


def watch(score, folder):
    """dotnet watch builds and runs again when rules change."""
    shop = Shop(score, folder)
    app = shop.app()
    shop.run("build", app)
    traces = lib.fresh(folder / "traces")
    environment = {**os.environ, **shop.sdk.environment(shop.cache, WEAVE_TRACE=traces / "%p.wtrace", DOTNET_WATCH_SUPPRESS_EMOJIS="1")}
    command = [str(shop.sdk.dotnet), "watch", "--non-interactive", "--project", str(app), "run"]
    lines = queue.Queue()
    process = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    threading.Thread(target=lambda: [lines.put(line) for line in process.stdout], daemon=True).start()

    def wait_for(text):
        try:
            while text not in (line := lines.get(timeout=3600)):
                shop.output += line
            return True
        except queue.Empty:
            return False

    try:
        shop.output = ""
        first = wait_for("the sum is 10") and wait_for("Waiting for a file to change")
        write(shop.folder / "weave.toml", RULES.replace('"*"', '"Sum"'))
        again = wait_for("the sum is 10") and wait_for("Waiting for a file to change")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)
    told = [lib.run([shop.program, "report", "--limit", "0", path]).stdout for path in sorted(traces.iterdir(), key=lambda p: p.stat().st_mtime_ns)]
    shop.check("dotnet watch runs woven", first and told and "Program.Main" in told[0])
    shop.check("and again by other rules", again and len(told) == 2 and "Program.Main" not in told[1] and "Program.Sum" in told[1])


def tool(score, folder):
    """The command as a tool of .NET, installed and run without installing."""
    shop = Shop(score, folder)
    home = folder / "home"
    shop.run("tool", "install", "Weave.Tool", "--tool-path", folder / "tools", "--configfile", shop.folder / "nuget.config", DOTNET_CLI_HOME=home)
    shop.check("dotnet tool install", shop.status == 0)
    shop.call([folder / "tools/weave", "--version"])
    shop.check("the command runs", shop.status == 0 and shop.output.strip() == f"weave {shop.version}")
    shop.call([folder / "tools/weave", "nothing.wtrace"])
    shop.check("its exit status is the program's", shop.status == 2)
    shop.run("dnx", "--yes", f"Weave.Tool@{shop.version}", "--configfile", shop.folder / "nuget.config", "--", "--version", DOTNET_CLI_HOME=home)
    shop.check("dnx", shop.status == 0 and shop.has(f"^weave {re.escape(shop.version)}$"))


#: Reads the symbols of an assembly as debuggers do: by what the assembly says of them.
DEBUGGER = """using System; using System.IO; using System.Linq; using System.Reflection.Metadata; using System.Reflection.PortableExecutable;
string dll = args[0], pdb = args[1];
using var image = new PEReader(File.OpenRead(dll));
bool found = image.TryOpenAssociatedPortablePdb(dll, _ => File.OpenRead(pdb), out var provider, out _);
Console.WriteLine("fits " + found);
if (!found) return;
var reader = provider!.GetMetadataReader();
var all = image.GetMetadataReader();
foreach (var handle in all.MethodDefinitions) {
    var method = all.GetMethodDefinition(handle);
    var points = reader.GetMethodDebugInformation(handle).GetSequencePoints().Where(p => !p.IsHidden).ToList();
    if (all.GetString(method.Name) == "Moved" && points.Count > 0)
        Console.WriteLine(reader.GetString(reader.GetDocument(points[0].Document).Name) + " " + points[0].StartLine);
}
// The sources lie in it (0E8A571B-6926-466E-B4AD-8AB04611F5FE).
Console.WriteLine("sources " + reader.CustomDebugInformation.Count(h => reader.GetGuid(reader.GetCustomDebugInformation(h).Kind) == new Guid("0E8A571B-6926-466E-B4AD-8AB04611F5FE"))
    + " of " + reader.Documents.Count);
"""


def symbols(score, folder):
    """The hook library's symbols fit it and hold its sources, and editors find what its public members are for."""
    shop = Shop(score, folder)
    app = shop.project("App", ours=False)
    write(app.parent / "Program.cs", DEBUGGER)
    shop.run("build", app)
    runtime = shop.made[0]
    with zipfile.ZipFile(runtime) as package, zipfile.ZipFile(runtime.with_suffix(".snupkg")) as beside:
        package.extractall(folder / "package")
        beside.extractall(folder / "symbols")
        about = beside.read("Weave.Runtime.nuspec").decode()
        kinds = {path.rsplit(".", 1)[-1] for path in beside.namelist()}
    shop.check("a package of symbols, with nothing but symbols", '<packageType name="SymbolsPackage" />' in about and kinds == {"pdb", "nuspec", "rels", "xml"}
               and f"<version>{shop.version}<" in about, str(kinds))
    for framework in ("netstandard2.0", "net8.0"):
        dll, pdb = folder / f"package/lib/{framework}/Weave.Runtime.dll", folder / f"symbols/lib/{framework}/Weave.Runtime.pdb"
        shop.call([shop.sdk.dotnet, app.parent / "bin/Debug/net10.0/App.dll", dll, pdb])
        count = re.search(r"sources (\d+) of (\d+)", shop.output)
        shop.check(f"{framework}: they fit and hold the sources", shop.has("fits True", r"^/weave/src/LogicalCalls\.cs \d+$") and count and count[1] == count[2] != "0")
        told = {m.get("name"): "".join(m.itertext()).strip() for m in xml.parse(dll.with_suffix(".xml")).getroot().iter("member")}
        hooks = {name for name in told if name.startswith("M:Weave.Runtime.Hooks.")}
        shop.check(f"{framework}: all public members are described, and no others", len(hooks) >= 11 and all(told.values())
                   and not any(re.search(r"Lane|\.busy", name) for name in told), f"{len(told)}")


def described(score, folder):
    """What a package says of itself, and that its tasks are what the sources give."""
    shop = Shop(score, folder)
    shop.call(["sh", lib.ROOT / "msbuild/task/build.sh", "--check"])
    shop.check("the tasks are built from this tree", shop.status == 0)
    for path in shop.made:
        with zipfile.ZipFile(path) as package:
            names = package.namelist()
            about = package.read(next(n for n in names if n.endswith(".nuspec"))).decode()
        has = all(part in about for part in ("<readme>README.md<", "<icon>icon.png<", '<license type="expression">MIT OR Apache-2.0<', "<description>"))
        shop.check(f"{path.name} has a readme, an icon and a licence", has and {"README.md", "icon.png"} <= set(names))


#: Set-ups by name.
EVERY = {"door": door, "states": states, "own-hooks": own_hooks, "shared": shared, "shared-forms": shared_forms, "embedded": embedded, "tests": tests, "coverage": coverage, **{name: form(name) for name in FORMS},
         "packages": packages_change, **{f"packages-{name}": packages_form(name) for name in FORMS},
         "libraries": libraries, "central": central, "references": references, "design-tools": design_tools, "hosted": hosted, "aspect-injector": aspect_injector, "fody": fody, "editors": editors, "languages": languages,
         "other-user": other_user, "tool": tool, "watch": watch, "described": described, "symbols": symbols}
#: Those of --full alone.
SLOW = {*EVERY} - {"door", "states", "own-hooks", "shared", "embedded", "tests", "described"}
