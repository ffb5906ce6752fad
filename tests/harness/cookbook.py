#!/usr/bin/env python3
"""The aspects of docs/cookbook.md, as they stand there: woven into a program in Java, in dex and in C#, which prints the same lines.

    cookbook.py [--only NAME]...

Names: java, dex, dotnet. Rules and hooks are the page's blocks; the program and its lines are in tests/programs/cookbook. Java runs on the
newest JDK, dex files are made a jar again by enjarify, C# runs on CoreCLR 8, and on CoreCLR 10 where there is an SDK.
"""

import os
import re
import shutil

import check_dex
import corpora
import dotnet
import hooks
from lib import ROOT, fresh, judges, main, oldest_jdk, run, weave_binary

PAGE = ROOT / "docs" / "cookbook.md"
PROGRAM = ROOT / "tests" / "programs" / "cookbook"
IMPORTS = {
    "java": "package hooks;\nimport java.util.*;\nimport java.util.concurrent.*;\nimport java.util.function.*;\n",
    "csharp": "using System;\nusing System.Collections.Generic;\nusing System.Threading;\nnamespace Hooks\n{\n",
}
ENVIRONMENT = {**os.environ, "WEAVE_TRACE": "off"}


def recipes():
    """The page's recipes: of each its blocks by language."""
    found = []
    for part in re.split(r"^## ", PAGE.read_text(), flags=re.M)[1:]:
        blocks = re.findall(r"^```(\w+)\n(.*?)^```", part, re.M | re.S)
        found.append({language: [text for name, text in blocks if name == language] for language in ("toml", "java", "csharp")})
    return found


def upper(names):
    """Dotted names as .NET writes them."""
    return ".".join(name[:1].upper() + name[1:] for name in names.removeprefix("com.").split("."))


def as_dotnet(rule):
    """A rule with Java's names, as the page tells its readers to write it for .NET."""
    rule = re.sub(r"(?<=\")com\.acme\.[\w*.]+|\bhooks\.\w+\.\w+(?=\()", lambda found: upper(found[0]), rule)
    rule = re.sub(r"(?<=method = \")\w+", lambda found: upper(found[0]), rule)
    return rule.replace('"AdminOnly"', '"AdminOnlyAttribute"')


def rules(folder, platform, library):
    chosen = [recipe["toml"][0] if platform == "java" else recipe["toml"][1] if len(recipe["toml"]) > 1 else as_dotnet(recipe["toml"][0])
              for recipe in recipes()]
    path = folder / "weave.toml"
    path.write_text("\n".join([f'version = 1\n[[library]]\npath = "{library}"\n', *chosen]))
    return path


def plain(line):
    """A line with names as Java and C# both have them."""
    return re.sub(r"\b(com\.)?acme\.", "", line.lower())


def compare(score, name, done):
    expected = (PROGRAM / "expected.txt").read_text().lower().splitlines()
    ours = [plain(line) for line in done.stdout.splitlines()]
    score.check(f"{name}: each recipe does what it says", done.returncode == 0 and ours == expected and not done.stderr, f"{len(recipes())} recipes")
    for line in sorted(set(ours) ^ set(expected)):
        print(f"{'not expected' if line in ours else 'missing'}: {line}")
    if done.returncode or done.stderr:
        print(f"exit {done.returncode}: {done.stderr[-1500:]}")


def classes(folder):
    """The program and the page's hooks, as jars."""
    sources = fresh(folder / "hooks-src")
    for recipe in recipes():
        (text,) = recipe["java"]
        name = re.search(r"class (\w+)", text)[1]
        (sources / f"{name}.java").write_text(IMPORTS["java"] + text)
    made = {}
    for name, files in (("hooks", sources.glob("*.java")), ("app", (PROGRAM / "java").rglob("*.java"))):
        out = fresh(folder / name)
        run([oldest_jdk() / "bin/javac", "-g", "--release", "8", "-Xlint:-options", "-d", out, *sorted(files)])
        made[name] = folder / f"{name}.jar"
        run([oldest_jdk() / "bin/jar", "cf", made[name], "-C", out, "."])
    return made["app"], made["hooks"]


def java(score, folder):
    app, library = classes(folder)
    woven = folder / "woven.jar"
    run([weave_binary(), "-q", "--strict", "--rules", rules(folder, "java", library.name), app, woven])
    newest = list(judges().values())[-1]
    compare(score, "java", run([newest / "bin/java", "-Xverify:all", "-cp", woven, "com.acme.Recipes"], check=False, env=ENVIRONMENT))


def dex(score, folder):
    app, library = classes(folder)
    for name, jar in (("app", app), ("hooks", library)):
        check_dex.to_dex(jar, folder / f"{name}.dex")
    woven = folder / "woven.dex"
    run([weave_binary(), "-q", "--strict", "--rules", rules(folder, "java", "hooks.dex"), folder / "app.dex", woven])
    path = check_dex.class_path(score, "dex", woven, library)
    compare(score, "dex", run([oldest_jdk() / "bin/java", "-Xverify:all", "-cp", path, "com.acme.Recipes"], check=False, env=ENVIRONMENT))


def dotnet_(score, folder):
    mono, before, woven = dotnet.mono_libraries(), fresh(folder / "plain"), fresh(folder / "woven")
    parts = [text for recipe in recipes() for text in recipe["csharp"]]
    (folder / "Hooks.cs").write_text(IMPORTS["csharp"] + "\n".join(parts) + "}\n")
    references = [f"-r:{mono / '4.7.2-api' / name}.dll" for name in ("mscorlib", "System", "System.Core")]
    base = [*dotnet.csc(), "-nologo", "-nostdlib", "-optimize", *references]
    run([*base, "-target:library", f"-out:{before / 'Hooks.dll'}", folder / "Hooks.cs"])
    run([*base, "-debug:portable", f"-out:{before / 'app.exe'}", PROGRAM / "dotnet/Recipes.cs"])
    shutil.copy(before / "Hooks.dll", folder)
    run([weave_binary(), "-q", "--strict", "--rules", rules(folder, "dotnet", "Hooks.dll"), before / "app.exe", woven / "app.exe"])
    compare(score, "dotnet on CoreCLR 8", run([*dotnet.host("core8"), woven / "app.exe"], check=False, env=ENVIRONMENT))
    if host := hooks.net10():
        (woven / "app.runtimeconfig.json").write_text('{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "10.0.0"}}}')
        compare(score, "dotnet on CoreCLR 10", run([*host, "exec", woven / "app.exe"], check=False, env=ENVIRONMENT))


EVERY = {"java": java, "dex": dex, "dotnet": dotnet_}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, set(), "cookbook"))
