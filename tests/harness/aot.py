#!/usr/bin/env python3
"""A program of the .NET SDK with the hook library of the package Weave.Runtime: published native and trimmed, with all warnings
as errors, it runs, writes a trace, and is at most 340 KB larger than without. Where rules have `[[spans]]`, it hears its own activities
and those of HttpClient.

    python3 tests/harness/aot.py

Needs a build of weave, the .NET SDK 10 with the packages of ILCompiler in reach (see sdk.py), gcc and zlib's headers.
"""
import shutil

import builds
import lib
import sdk
from builds import packages, write

WORK = lib.WORK / "aot"
MOST = 340 << 10
PROJECT = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <TargetFramework>net10.0</TargetFramework><OutputType>Exe</OutputType>
    <ImplicitUsings>enable</ImplicitUsings><TreatWarningsAsErrors>true</TreatWarningsAsErrors><TrimmerSingleWarn>false</TrimmerSingleWarn><{how}>true</{how}>
  </PropertyGroup>
  <ItemGroup Condition="'$(Woven)' == 'true'"><PackageReference Include="Weave.Runtime" Version="{version}" /></ItemGroup>
  <Target Name="Weave" AfterTargets="CoreCompile" Condition="'$(Woven)' == 'true'">
    <Exec Command="&quot;{program}&quot; --no-runtime --rules &quot;$(MSBuildProjectDirectory)/weave.toml&quot; &quot;@(IntermediateAssembly)&quot; &quot;@(IntermediateAssembly)&quot;" />
  </Target>
</Project>
"""
PROGRAM = """namespace Shop { public static class Program {
    public static int Total(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i; return sum; }
    public static void Main() { System.Console.WriteLine("the sum is " + (Total(4) + Total(3))); }
} }
"""
HEARD = """using System.Diagnostics;
using System.Net;
using System.Net.Sockets;

namespace Shop { public static class Program {
    private static readonly ActivitySource Source = new ActivitySource("Shop.Orders");

    private static void Serve(TcpListener listener) {
        using var socket = listener.AcceptTcpClient();
        using var stream = socket.GetStream();
        var asked = new byte[4096];
        int length = stream.Read(asked);
        bool isTraced = System.Text.Encoding.ASCII.GetString(asked, 0, length).Contains("traceparent: 00-");
        string told = isTraced ? "traced" : "orphan";
        stream.Write(System.Text.Encoding.ASCII.GetBytes("HTTP/1.1 200 OK\\r\\nContent-Length: 6\\r\\nConnection: close\\r\\n\\r\\n" + told));
    }

    public static void Main() {
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        var server = new Thread(() => Serve(listener));
        server.Start();
        using (Activity order = Source.StartActivity("place order", ActivityKind.Server)) {
            order?.SetTag("order.id", 7);
            using var client = new HttpClient();
            int port = ((IPEndPoint)listener.LocalEndpoint).Port;
            Console.WriteLine(client.GetStringAsync("http://127.0.0.1:" + port + "/?token=geheim").Result);
        }
        server.Join();
    }
} }
"""
HEARD_RULES = 'version = 1\n\n[[spans]]\nsource = ["Shop.*", "System.Net.Http"]\n'
RULES = 'version = 1\n\n[[aspect]]\nname = "shop"\nmatch = { type = "Shop.**", method = "*" }\n'


def publish(score, folder, found, program, source, version, how, woven, text=PROGRAM, rules=RULES):
    """Publishes into a folder of its own; returns the program's path."""
    write(folder / "Hello.csproj", PROJECT.format(version=version, program=program, how=how))
    write(folder / "Program.cs", text)
    write(folder / "weave.toml", rules)
    write(folder / "nuget.config", found.config(source))
    score.call([found.dotnet, "publish", folder / "Hello.csproj", "-c", "Release", "--use-current-runtime", "--self-contained", "--nologo",
                "-o", folder / "out", f"-p:Woven={str(woven).lower()}"], **found.environment(WORK / "nuget"))
    return folder / "out/Hello"


def started(score, name, how, said, *build):
    """A program that is published without a warning, and says this; gives it and its trace, if it was built."""
    hello = publish(score, lib.fresh(WORK / name), *build[:4], how, *build[4:])
    score.check(f"{name}: no warning", score.status == 0 and not score.has(r"warning "))
    if score.status:
        return None
    trace = WORK / f"{name}.wtrace"
    trace.unlink(missing_ok=True)
    score.call([hello], WEAVE_TRACE=str(trace))
    score.check(f"{name}: says '{said}'", score.status == 0 and score.output == f"{said}\n")
    return hello, trace


def native(score, found, program, source, version):
    """A native program, woven and not: what it costs."""
    sizes = {}
    for woven in (False, True):
        name = f"PublishAot {'woven' if woven else 'plain'}"
        done = started(score, name, "PublishAot", "the sum is 9", found, program, source, version, woven)
        if not done:
            return
        hello, trace = done
        sizes[woven] = hello.stat().st_size
        if woven:
            told = lib.run([program, "report", trace], check=False).stdout
            score.check(f"{name}: is traced, with names", all(m in told for m in ("Shop.Program.Main()", "Shop.Program.Total(Int32)", "nothing lost")), told)
    more = sizes[True] - sizes[False]
    score.check(f"a native program grows by at most {MOST >> 10} KB", more <= MOST, f"{more} bytes")


def heard(score, found, program, source, version, how):
    """A program whose activities become spans, and those of HttpClient below them."""
    name = f"{how} with spans"
    # It says so where the server got its context.
    done = started(score, name, how, "traced", found, program, source, version, True, HEARD, HEARD_RULES)
    if not done:
        return
    _, trace = done
    told = lib.run([program, "report", trace, "--requests"], check=False).stdout
    score.check(f"{name}: the request and its call", "place order  (client" in told and "nothing lost" in told, told)
    csv = lib.run([program, "export", "--to", "csv", trace], check=False).stdout
    score.check(f"{name}: with their values", "order.id" in csv and "http.response.status_code" in csv and "geheim" not in csv, csv)


def published(score, program, source, version):
    """The checks; `score` is a `Builds`, `source` the folder of our packages."""
    found = sdk.find()
    native(score, found, program, source, version)
    for how in ("PublishAot", "PublishTrimmed"):
        heard(score, found, program, source, version, how)


def body():
    if not shutil.which("gcc"):
        raise lib.Missing("gcc is not on the PATH, which links native programs (Debian: gcc, zlib1g-dev)")
    score = builds.Builds()
    program = lib.weave_binary()
    lib.fresh(WORK)
    made = packages.make_nuget(program, {packages.classifier(): program}, WORK / "packages")
    published(score, program, made[0].parent, packages.version(program))
    return score.score.finish("native and trimmed programs")


if __name__ == "__main__":
    lib.main(body)
