"""Projects of the .NET SDK with the package Weave.MSBuild: each program is a set-up, built, changed and run as a user would."""

import os
import re
import shutil
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
            for old in self.cache.glob("weave.*"):
                shutil.rmtree(old)
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
        return SYMBOLS in path.read_bytes()

    def state(self, path):
        return path.stat().st_mtime_ns, path.read_bytes()

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
    printed, told = shop.ran(shop.sdk.dotnet, dll)
    shop.check("the run is right and traced", "the sum is 10" in printed and "Shop.Program.Sum" in told)
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
    failed = [not built("-warnaserror") for _ in range(2)]
    shop.check("-warnaserror fails each time", failed == [True, True] and shop.has(r"error WV0120"))
    warned = [built() and shop.has(r"weave\.toml\(3,1\): warning WV0120") for _ in range(2)]
    shop.check("a warning comes with each build", warned == [True, True])
    shop.check("NoWarn silences it", built("-p:NoWarn=WV0120") and not shop.has("WV0120"))
    write(rules, RULES)
    built()
    shutil.rmtree(obj / "weave")
    shop.check("what we had kept is gone: one error says what to do", not built() and shop.has("error WV0206.*--no-incremental") and len(shop.weave_errors()) == 1)
    shop.check("and that helps", built("--no-incremental") and shop.woven(bin_dll) and not shop.woven(kept))
    rules.unlink()
    shop.check("rules taken away: the compiler's comes back", built() and not shop.woven(bin_dll) and shop.has("is not woven"))


def tests(score, folder):
    """dotnet test, with a woven library that another project tests."""
    shop = Shop(score, folder)
    core = shop.project("Core", "Library")
    write(core.parent / "Orders.cs", ORDERS % 1)
    items = reference("xunit", "2.9.3") + reference("xunit.runner.visualstudio", "3.1.5") + reference("Microsoft.NET.Test.Sdk", "17.14.1")
    suite = shop.project("Suite", "Library", items + '<ProjectReference Include="../Core/Core.csproj" />', "<IsTestProject>true</IsTestProject>", ours=False)
    write(suite.parent / "OrdersTest.cs", "public class OrdersTest { [Xunit.Fact] public void Totals() { Xunit.Assert.Equal(6, Shop.Orders.Total(4)); } }\n")
    _, told = shop.ran(shop.sdk.dotnet, "test", suite, "-v", "q")
    shop.check("dotnet test runs the woven library, and the hook library comes with it", shop.has("Passed!.*Passed: +1") and "Shop.Orders.Total" in told
               and not shop.has("Suite is not woven"))


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
        app = shop.app(properties="<InvariantGlobalization>true</InvariantGlobalization>")
        for turn, off in (("woven", False), ("off", True), ("woven again", False)):
            more = ("-p:WeaveEnabled=false",) if off else ()
            printed, told = published(shop, app, name, *FORMS[name], *more)
            right = ("Shop.Program.Sum" in told) != off
            shop.check(f"{name}, {turn}", shop.status == 0 and "the sum is 10" in printed and right)
    return program


#: Set-ups by name.
EVERY = {"door": door, "states": states, "tests": tests, **{name: form(name) for name in FORMS}}
#: Those of --full alone.
SLOW = {"framework-dependent", "self-contained", "trimmed", "ReadyToRun"}
