#!/usr/bin/env python3
"""Async methods that the runtime suspends: one program compiled with state machines and with runtime async, woven and run.
Both must record the same calls, with the same parents and outcomes.

    python3 tests/harness/runtime_async.py [--everyday | --full]

With --full also as native programs: there the one with state machines must record the same, and the other one, too, once it runs
unwoven. That of .NET 10 does not: ILC takes such methods for ordinary ones, and its library's Await throws NotImplementedException.

Needs the .NET SDK 10 (see sdk.py) and weave (a release build, or WEAVE); --full also the packages of ILCompiler, and gcc.
"""
import argparse
import collections
import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess

import corpora
import hooks
import lib
import sampling
import sdk

WORK = lib.WORK / "runtime_async"
SOURCE = lib.ROOT / "tests" / "dotnet" / "runtime_async" / "Program.cs"
LATER = lib.ROOT / "tests" / "programs" / "hooks" / "later"
SAMPLED = lib.ROOT / "tests" / "programs" / "sampling" / "dotnet" / "Pieces.cs"
RULES = 'version = 1\n\n[[aspect]]\nname = "app"\nmatch = { type = "**", kind = ["method", "constructor", "lambda", "async"], min-size = 0 }\n'
PROJECT = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net10.0</TargetFramework>
    <ImplicitUsings>enable</ImplicitUsings>
    <EnablePreviewFeatures>true</EnablePreviewFeatures>
    <Features>{features}</Features>
    <NoWarn>$(NoWarn);CS1998;SYSLIB5007</NoWarn>
    <UseAppHost>false</UseAppHost>
    <GenerateDependencyFile>false</GenerateDependencyFile>
  </PropertyGroup>
</Project>
"""
NATIVE = """  <PropertyGroup><PublishAot>true</PublishAot><InvariantGlobalization>true</InvariantGlobalization></PropertyGroup>
  <ItemGroup><Reference Include="Weave.Runtime" HintPath="{hooks}" /></ItemGroup>
  <Target Name="Weave" AfterTargets="CoreCompile" Condition="'$(Woven)' == 'true'">
    <Exec Command="&quot;{weave}&quot; --strict --no-runtime --rules &quot;$(MSBuildProjectDirectory)/rules.toml&quot; &quot;@(IntermediateAssembly)&quot; &quot;@(IntermediateAssembly)&quot;" />
  </Target>
</Project>
"""
# No package is needed, so no feed is asked.
NUGET = "<configuration><packageSources><clear /></packageSources></configuration>\n"
FORMS = {"machines": "", "runtime": "runtime-async=on"}


def call(command, env, **options):
    return subprocess.run([str(part) for part in command], env=env, text=True, capture_output=True, timeout=3600, **options)


def build(name, features, configuration, env, *sources):
    """The folder with the program, as the compiler leaves it."""
    folder = lib.fresh(WORK / f"{name}-{configuration}")
    (folder / "app.csproj").write_text(PROJECT.format(features=features))
    (folder / "nuget.config").write_text(NUGET)
    for source in sources or [SOURCE]:
        shutil.copy(source, folder)
    built = call(["dotnet", "build", "-c", configuration, "-v:q", folder / "app.csproj"], env)
    if built.returncode != 0:
        raise RuntimeError(built.stdout + built.stderr)
    return folder / "bin" / configuration / "net10.0"


def woven(folder, weave, name="woven", rules=RULES):
    """A woven copy of a program."""
    (folder / "rules.toml").write_text(rules)
    out = lib.fresh(folder.parent / name)
    shutil.copytree(folder, out, dirs_exist_ok=True)
    done = lib.run([weave, folder / "app.dll", out / "app.dll", "--strict", "--rules", folder / "rules.toml"], check=False)
    return out, done


def native(name, features, is_woven, found, env, weave):
    """The folder with the program as ILC makes it."""
    folder = lib.fresh(WORK / f"native-{name}-{'woven' if is_woven else 'plain'}")
    hooks = lib.ROOT / "runtime/dotnet/net8.0/Weave.Runtime.dll"
    project = PROJECT.format(features=features).removesuffix("</Project>\n") + NATIVE.format(hooks=hooks, weave=weave)
    (folder / "app.csproj").write_text(project)
    (folder / "nuget.config").write_text(found.config())
    (folder / "rules.toml").write_text(RULES)
    shutil.copy(SOURCE, folder / "Program.cs")
    built = call(["dotnet", "publish", "-c", "Release", "--use-current-runtime", "-v:q", "-o", folder / "out", f"-p:Woven={str(is_woven).lower()}",
                  folder / "app.csproj"], env)
    if built.returncode != 0:
        raise RuntimeError(built.stdout + built.stderr)
    return folder / "out"


def check_native(score, found, env, weave, machines):
    """The same as native programs; `machines`: the calls of the one with state machines on CoreCLR."""
    for form, features in FORMS.items():
        ends = {}
        for is_woven in (False, True):
            out = native(form, features, is_woven, found, env, weave)
            ran = call([out / "app"], env, cwd=out)
            thrown = re.search(r"Unhandled exception\. (\S+):", ran.stderr)
            ends[is_woven] = (ran.returncode, ran.stdout.strip(), thrown and thrown[1])
        unwoven = ends[False]
        if form == "machines" or unwoven[2] != "System.NotImplementedException":
            score.check(f"native, {form}: the program does what it did", ends[True] == unwoven == (0, "ok", None), str(ends))
            score.counts(f"native, {form}: calls, parents and outcomes", calls(rows(weave, out)), machines)
        else:
            score.check(f"native, {form}: does not run unwoven", ends[True][0] != 0, str(ends))


def rows(weave, folder):
    """The calls of a program's traces, as `weave export` has them."""
    text = lib.run([weave, "export", "--to", "csv", folder]).stdout
    return list(csv.DictReader(io.StringIO(text)))


def calls(rows):
    """How often each method was called by which with which outcome. The parent of a logical call is what ran its first piece."""
    by_id = {(row["pid"], row["id"]): row for row in rows if row["id"]}
    name = lambda row: f'{row["type"]}.{row["method"]}' if row else ""
    found, first = collections.Counter(), {}
    for row in sorted(rows, key=lambda row: int(row["start_ns"])):
        parent = by_id.get((row["pid"], row["parent"]))
        if row["kind"] == "logical":
            continue
        if row["logical"]:
            if row["logical"] not in first:
                first[row["logical"]] = name(parent)
            continue
        found[name(row), name(parent), row["outcome"]] += 1
    for row in rows:
        if row["kind"] == "logical":
            found[name(row), first.get(row["logical"], ""), row["outcome"], row["exception_type"]] += 1
    return found


def report(weave, folder):
    """What `weave report` says of each method: calls and errors."""
    text = lib.run([weave, "report", "--json", folder]).stdout
    return {m["label"]: (m["calls"], m["errors"], m["running"]) for m in json.loads(text)["methods"]}


def check_sampled(score, env, weave):
    """Trees of sampled calls are whole, on whatever threads they go on."""
    # The runtime's own async methods cannot record values.
    rules = "".join(line for line in sampling.RULES.splitlines(keepends=True) if not line.startswith("record"))
    host = ["env", *(f"{name}={value}" for name, value in env.items()), "dotnet"]
    for form, features in FORMS.items():
        plain = build(f"sampled-{form}", features, "Release", env, SAMPLED)
        out, done = woven(plain, weave, rules=rules)
        score.check(f"sampled, {form}: all methods are woven", done.returncode == 0, done.stderr)
        trace = out / "t.wtrace"
        sampling.in_pieces(score, f"sampled, {form}", [*host, out / "app.dll"], trace, sampling.unwoven([*host, plain / "app.dll"]))


def check_hooks(score, env, weave):
    """Own hooks: the same lines with machines and without, also beside recorded calls."""
    for form, features in FORMS.items():
        plain = build(f"hooks-{form}", features, "Release", env, *sorted(LATER.glob("*.cs")))
        for what, pair in hooks.PAIRS.items():
            rules = hooks.later_rules(None, pair)
            out, done = woven(plain, weave, f"hooks-{form}-{what}", rules)
            score.check(f"own hooks, {form}, {what}: all methods are woven", done.returncode == 0, done.stderr)
            ran = call(["dotnet", out / "app.dll"], env, cwd=out)
            hooks.compare(score, f"own hooks, {form}, {what}", "Later", ran, hooks.later_lines("net"))


def check(score, scope):
    """The checks, each told to the score."""
    sdk_found = sdk.find()
    env, weave = sdk_found.environment(WORK / "packages", DOTNET_RuntimeAsync=1), lib.weave_binary()
    WORK.mkdir(parents=True, exist_ok=True)
    check_sampled(score, env, weave)
    check_hooks(score, env, weave)
    for configuration in ["Release", "Debug"]:
        found = {}
        for form, features in FORMS.items():
            what = f"{configuration}, {form}"
            out, done = woven(build(form, features, configuration, env), weave)
            score.check(f"{what}: all methods are woven", done.returncode == 0, done.stderr)
            switched, done = woven(out.parent / "net10.0", weave, "switched", RULES + 'level = "info"\n')
            score.check(f"{what}: all methods are woven that can be switched", done.returncode == 0, done.stderr)
            verified = lib.run([weave, "verify", out / "app.dll"], check=False)
            score.check(f"{what}: verified", verified.returncode == 0, verified.stdout + verified.stderr)
            # Tiers: none, and each method optimised at once.
            for tiers in ["1", "0"]:
                for trace in out.glob("*.wtrace"):
                    trace.unlink()
                ran = call(["dotnet", out / "app.dll"], {**env, "DOTNET_TieredCompilation": tiers}, cwd=out)
                good = ran.returncode == 0 and ran.stdout.strip() == "ok"
                score.check(f"{what}, tiers {tiers}: the program does what it did", good, ran.stdout + ran.stderr)
                found[form, tiers] = (calls(rows(weave, out)), report(weave, out))
            # Switched on all is as it is otherwise; off there is nothing.
            for level in "info", "error":
                for trace in switched.glob("*.wtrace"):
                    trace.unlink()
                ran = call(["dotnet", switched / "app.dll"], {**env, "WEAVE_LEVEL": level}, cwd=switched)
                good = ran.returncode == 0 and ran.stdout.strip() == "ok"
                score.check(f"{what}, level {level}: the program does what it did", good, ran.stdout + ran.stderr)
                wanted = found[form, "1"][0] if level == "info" else collections.Counter()
                score.counts(f"{what}, level {level}: calls, parents and outcomes", calls(rows(weave, switched)), wanted)
        for tiers in ["1", "0"]:
            (machines, machine_report), (runtime, runtime_report) = found["machines", tiers], found["runtime", tiers]
            what = f"{configuration}, tiers {tiers}"
            score.counts(f"{what}: calls, parents and outcomes", runtime, machines)
            score.check(f"{what}: enough was seen", len(machines) > 30, str(len(machines)))
            score.check(f"{what}: same report", machine_report == runtime_report)
        if scope == "--full" and configuration == "Release":
            check_native(score, sdk_found, env, weave, found["machines", "0"][0])


def body():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    corpora.add_scopes(options)
    score = lib.Score()
    check(score, options.parse_args().scope)
    return score.finish("runtime async")


if __name__ == "__main__":
    lib.main(body)
