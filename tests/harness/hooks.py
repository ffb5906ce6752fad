#!/usr/bin/env python3
"""Own hooks: the same rules on the same program in Java, in dex and in C# give the same lines.

    hooks.py [--only NAME]...

Names: java, copies, dex, dotnet, later, odd. The program and the library of hooks are in tests/programs/hooks, with the lines that all of them print. Java
runs on the oldest and the newest JDK; dex files are made by dx, woven, and made a jar again by enjarify; C# runs on CoreCLR 8,
Mono and, where there is an SDK, CoreCLR 10. `later`: hooks of async methods and iterators of .NET; runtime_async.py has them on CoreCLR 10.
`copies`: on the JVM a hook that is copied into a class does what one does that gets an object for `proceed`, and loads no class for it.
`odd`: hooks and values that take all, at what .NET can neither box nor read, on CoreCLR 10.
"""

import difflib
import json
import os
import re
import shutil
import zipfile

import check_dex
import corpora
import dotnet
import sdk
from lib import ROOT, Missing, fresh, judges, main, oldest_jdk, run, weave_binary

SOURCES = ROOT / "tests" / "programs" / "hooks"
ENVIRONMENT = {**os.environ, "WEAVE_TRACE": "off"}
#: JVMS 4.3.3 allows so many words of arguments.
MOST = 255


#: What only .NET has the like of.
DOTNET_ALONE = {"Bodies"}
#: Programs: the rules, the lines that all platforms print, and the hooks that fail.
PROGRAMS = {
    "Cases": ("rules.toml", "expected.txt", ["acme.Log.bad"]),
    "Changes": ("changes.toml", "changes.txt", [f"acme.Alter.bad{what}" for what in ("Text", "Number", "Fallback", "Throw", "Off")]),
    "Around": ("around.toml", "around.txt", []),
    "Bodies": ("bodies.toml", "bodies.txt", []),
    "Later": ("later/rules.toml", "later/expected.txt", ["acme.Late.Bad"]),
    "Odd": (None, "odd/expected.txt", []),
}
#: Programs of their own.
APART = {"Later", "Odd"}
#: Methods with own hooks alone, and with recorded calls beside.
PAIRS = {"alone": "", "recorded": 'advice = ["enter", "exit", "exception"]'}


def many(language):
    """A class with a method of as many arguments as the JVM allows."""
    parameters = ", ".join(f"int a{i}" for i in range(MOST))
    arguments = ", ".join(str(i) for i in range(MOST))
    body = (f"    public static int many({parameters}) {{ return a0 + a{MOST - 1}; }}\n"
            f"    public static void main(STRING[] args) {{ Cases.say(\"\" + many({arguments})); }}\n")
    if language == "java":
        return f"package app;\npublic class Many {{\n{body.replace('STRING', 'String')}}}\n"
    return f"namespace app {{\npublic static class Many {{\n{body.replace('STRING', 'string')}}}\n}}\n"


def rules(folder, program, library):
    path = folder / "weave.toml"
    path.write_text((SOURCES / PROGRAMS[program][0]).read_text().replace("LIBRARY", library))
    return path


def compare(score, name, program, done, expected=None):
    name, expected = f"{program}, {name}", expected or (SOURCES / PROGRAMS[program][1]).read_text()
    good = done.returncode == 0 and done.stdout == expected
    score.check(f"{name}: the same lines", good, f"{len(expected.splitlines())} lines")
    if not good:
        ours, theirs = done.stdout.splitlines(), expected.splitlines()
        first = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
        print(f"exit {done.returncode}; from line {first + 1} on:\n" + "\n".join(ours[first:first + 4]) + "\nexpected:\n"
              + "\n".join(theirs[first:first + 4]) + f"\n{done.stderr[-1500:]}")
    told = [hook for line in done.stderr.splitlines() for hook in PROGRAMS[program][2] if f" {hook} " in line]
    score.check(f"{name}: the first failure of each hook is told", sorted(told) == sorted(PROGRAMS[program][2]), done.stderr[-300:])


def classes(folder):
    """Program and library as jars, with debug information."""
    javac, jar = oldest_jdk() / "bin" / "javac", oldest_jdk() / "bin" / "jar"
    (folder / "Many.java").write_text(many("java"))
    made = {}
    for name, sources in (("hooks", [SOURCES / "java/acme/Log.java", SOURCES / "java/acme/Alter.java", SOURCES / "java/acme/Round.java"]),
                          ("app", [*sorted((SOURCES / "java/app").glob("*.java")), folder / "Many.java"])):
        out = fresh(folder / name)
        run([javac, "-g", "--release", "8", "-Xlint:-options", "-d", out, *sources])
        made[name] = folder / f"{name}.jar"
        run([jar, "cf", made[name], "-C", out, "."])
    return made["app"], made["hooks"]


def java(score, folder):
    app, library = classes(folder)
    for program in [name for name in PROGRAMS if name not in DOTNET_ALONE | APART]:
        woven = folder / f"{program}.jar"
        run([weave_binary(), "-q", "--strict", "--rules", rules(folder, program, library.name), app, woven])
        for version, home in judges().items():
            done = run([home / "bin" / "java", "-Xverify:all", "-cp", woven, f"app.{program}"], check=False, env=ENVIRONMENT)
            compare(score, f"java on {version}", program, done)


def copies(score, folder):
    """Hooks that are copied, and the same ones where their `synchronized` forbids it."""
    home, sources = oldest_jdk() / "bin", SOURCES / "copies"
    text = (sources / "acme/Copied.java").read_text()
    hooks = {"copied": text, "kept": re.sub(r"public static (?!final|synchronized)", "public static synchronized ", text)}
    compiled = {}
    for name, source in {**hooks, "app": (sources / "app/Copies.java").read_text()}.items():
        file = fresh(folder / "source" / name) / ("Copies.java" if name == "app" else "Copied.java")
        file.write_text(source)
        compiled[name] = fresh(folder / name)
        run([home / "javac", "-g", "--release", "8", "-Xlint:-options", "-d", compiled[name], file])
    app = folder / "app.jar"
    run([home / "jar", "cf", app, "-C", compiled["app"], "."])

    def woven(name, rules, library):
        path, jar = folder / f"{name}.toml", folder / f"{name}.jar"
        path.write_text(rules.replace("LIBRARY", str(compiled[library])))
        run([weave_binary(), "-q", "--strict", "--rules", path, app, jar])
        listed = run([home / "javap", "-p", "-cp", jar, "app.Copies", "app.Runs"]).stdout
        with zipfile.ZipFile(jar) as members:
            runners = sum("weave$hooks$proceed$" in member for member in members.namelist())
        return jar, listed.count("weave$hook"), runners

    rules = (sources / "weave.toml").read_text()
    copied, kept = (woven(name, rules, name) for name in ("copied", "kept"))
    # Of the three around `both` the one in between cannot be.
    score.check("hooks that do no more than call `proceed` are copied", copied[1:] == (22, 1), f"{copied[1:]}")
    score.check("those of a lock are not", kept[1] == 0 and kept[2] > 1, f"{kept[1:]}")
    for version, java in judges().items():
        ours, theirs = (run([java / "bin" / "java", "-Xverify:all", "-cp", jar, "app.Copies"], check=False, env=ENVIRONMENT)
                        for jar, *_ in (copied, kept))
        same = ours.returncode == theirs.returncode == 0 and ours.stdout == theirs.stdout
        score.check(f"copies on {version}: the same lines", same, f"{len(theirs.stdout.splitlines())} lines")
        if not same:
            print("".join(difflib.unified_diff(theirs.stdout.splitlines(True), ours.stdout.splitlines(True), "kept", "copied")), ours.stderr[-1500:], theirs.stderr[-1500:])
        trace = ["at weave$body$fails line", "at weave$hook$fails none", "at fails line", "at main line"]
        score.check(f"copies on {version}: the copy has a frame without a line", ours.stderr.splitlines() == trace, ours.stderr)
    conditions(score, folder, text, compiled["copied"])


def conditions(score, folder, hooks, library):
    """A method for each hook: which are copied; and no class is loaded for one that is."""
    bin = oldest_jdk() / "bin"
    refused = re.findall(r"public static (?:synchronized )?Object (\w+)", hooks[hooks.index("class Refused"):])
    all = {name: f"Refused.{name}(proceed{', arg(0), arg(1)' if name == 'joined' else ''})" for name in refused}
    all |= {"late": "Counted.late(proceed)", "same": "same(proceed)", "fallback": "fallback(proceed)"}
    methods = "".join(f"    public static String {name}(String a, String b) {{ return a + b + a.length(); }}\n" for name in all)
    main = "    public static void main(String[] args) { System.out.println(fallback(\"a\", \"b\")); }\n"
    source, app, rules = folder / "One.java", folder / "one.jar", folder / "one.toml"
    source.write_text(f"package app;\npublic class One {{\n{methods}{main}}}\n")
    run([bin / "javac", "--release", "8", "-Xlint:-options", "-d", fresh(folder / "one"), source])
    run([bin / "jar", "cf", app, "-C", folder / "one", "."])
    lines = ["version = 1", "[[library]]", f"path = '{library}'"]
    for name, call in all.items():
        lines += ["[[aspect]]", f"name = '{name}'", f"match = {{ type = 'app.One', method = '{name}' }}", f"around = 'acme.Copied.{call}'"]
    rules.write_text("\n".join(lines))
    jar = folder / "one-woven.jar"
    run([weave_binary(), "-q", "--strict", "--rules", rules, app, jar])
    listed = run([bin / "javap", "-p", "-cp", jar, "app.One"]).stdout
    copied = sorted(re.findall(r"weave\$hook\$(\w+)", listed))
    score.check(f"of {', '.join(all)} two are copied", copied == ["fallback", "same"], ", ".join(copied))
    log = folder / "loaded.log"
    done = run([bin / "java", f"-Xlog:class+load:file={log}", "-cp", jar, "app.One"])
    loaded = [line for line in log.read_text().splitlines() if " acme." in line or " weave" in line or "weave$" in line or "app.One$" in line]
    score.check("a copied hook loads no class", done.stdout == "ab1\n" and not loaded, "; ".join(loaded)[:300])


def dex(score, folder):
    app, library = classes(folder)
    java = oldest_jdk() / "bin" / "java"
    for name, jar in (("app", app), ("hooks", library)):
        check_dex.to_dex(jar, folder / f"{name}.dex")
    runtime = folder / "weave-runtime.jar"
    run([weave_binary(), "runtime", runtime])
    for program in [name for name in PROGRAMS if name not in DOTNET_ALONE | APART]:
        woven = folder / f"{program}.dex"
        run([weave_binary(), "-q", "--strict", "--rules", rules(folder, program, "hooks.dex"), folder / "app.dex", woven])
        verified = run([weave_binary(), "verify", woven], check=False)
        score.check(f"{program}, dex: weave verify", verified.returncode == 0, verified.stdout[-300:])
        jar = check_dex.translated(woven, folder / f"{program}.jar", runs=True)
        path = os.pathsep.join(map(str, [jar, library, runtime]))
        done = run([java, "-Xverify:all", "-cp", path, f"app.{program}"], check=False, env=ENVIRONMENT)
        compare(score, "dex", program, done)


def sdk10():
    """A .NET SDK, if there is one."""
    try:
        return sdk.find()
    except Missing:
        return None


def net10():
    """The beginning of a command line of CoreCLR 10; none where there is no SDK."""
    found = sdk10()
    return found and [found.dotnet]


def dotnet_hosts():
    """The beginnings of command lines that run a program of .NET, by runtime. WEAVE_JUDGES=newest leaves CoreCLR 8 out where
    there is a newer one."""
    hosts = {"CoreCLR 8": dotnet.host("core8"), "Mono": ["mono"]}
    if host := net10():
        hosts["CoreCLR 10"] = [*host, "exec"]
        if os.environ.get("WEAVE_JUDGES") == "newest":
            del hosts["CoreCLR 8"]
    return hosts


def dotnet_(score, folder):
    mono = dotnet.mono_libraries()
    (folder / "Many.cs").write_text(many("csharp"))
    plain = fresh(folder / "plain")
    base = [*dotnet.csc(), "-nologo", "-nostdlib", f"-r:{mono / '4.7.2-api' / 'mscorlib.dll'}", f"-r:{mono / '4.7.2-api' / 'System.dll'}"]
    run([*base, "-optimize", "-target:library", f"-out:{plain / 'hooks.dll'}", *(SOURCES / f"dotnet/{name}.cs" for name in ("Log", "Alter", "Round"))])
    run([*base, "-optimize", "-unsafe", "-debug:portable", f"-out:{plain / 'app.exe'}", *(SOURCES / f"dotnet/{name}.cs" for name in ("Cases", "Changes", "Around", "Bodies")), folder / "Many.cs"])
    shutil.copy(plain / "hooks.dll", folder)
    for program in [name for name in PROGRAMS if name not in APART]:
        # One program has both, and an argument chooses.
        which = [] if program == "Cases" else [program]
        woven = fresh(folder / f"woven-{program}")
        run([weave_binary(), "-q", "--strict", "--rules", rules(folder, program, "hooks.dll"), plain / "app.exe", woven / "app.exe"])
        hosts = {"CoreCLR 8": dotnet.host("core8"), "Mono": ["mono"]}
        for name, host in hosts.items():
            done = run([*host, woven / "app.exe", *which], check=False, env=ENVIRONMENT)
            compare(score, f"dotnet on {name}", program, done)
        if host := net10():
            config = woven / "app.runtimeconfig.json"
            config.write_text('{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "10.0.0"}}}')
            done = run([*host, "exec", woven / "app.exe", *which], check=False, env=ENVIRONMENT)
            compare(score, "dotnet on CoreCLR 10", program, done)


def later_rules(library, pair):
    """The rules of what goes on after it has returned; without a library its hooks are in the program."""
    text = (SOURCES / PROGRAMS["Later"][0]).read_text().replace("PAIR\n", f"{pair}\n")
    return text.replace("LIBRARY", library) if library else text.replace('[[library]]\npath = "LIBRARY"\n', "")


def later_lines(platform):
    """The lines that the program prints; some only where there are value tasks."""
    lines = (SOURCES / PROGRAMS["Later"][1]).read_text().splitlines(keepends=True)
    return "".join(line.removeprefix("net: ") for line in lines if platform == "net" or not line.startswith("net: "))


def later(score, folder):
    """Async methods and iterators: their machines are structs in release builds, and classes in debug builds."""
    mono, plain = dotnet.mono_libraries(), fresh(folder / "plain")
    references = [f"-r:{mono / '4.7.2-api' / name}.dll" for name in ("mscorlib", "System", "System.Core")]
    base = [*dotnet.csc(), "-nologo", "-nostdlib", "-nowarn:1998", *references]
    run([*base, "-optimize", "-target:library", f"-out:{plain / 'hooks.dll'}", SOURCES / "later/Hooks.cs"])
    shutil.copy(plain / "hooks.dll", folder)
    for configuration, options in {"release": ["-optimize"], "debug": []}.items():
        app = plain / f"{configuration}.exe"
        run([*base, *options, "-debug:portable", f"-r:{plain / 'hooks.dll'}", f"-out:{app}", *(SOURCES / f"later/{name}.cs" for name in ("Program", "Enumerated"))])
        for what, pair in PAIRS.items():
            woven = fresh(folder / f"{configuration}-{what}")
            (folder / "weave.toml").write_text(later_rules("hooks.dll", pair))
            run([weave_binary(), "-q", "--strict", "--rules", folder / "weave.toml", app, woven / "app.exe"])
            shutil.copy(plain / "hooks.dll", woven)
            for name, host in {"CoreCLR 8": dotnet.host("core8"), "Mono": ["mono"]}.items():
                done = run([*host, woven / "app.exe"], check=False, env=ENVIRONMENT)
                compare(score, f"{configuration}, {what}, on {name}", "Later", done, later_lines("framework"))


#: Rules that change nothing, and how often methods of the program are in the trace then: calls, and those that fail.
ODD = {
    "hooks that take all": ("match = { type = '**', min-size = 0 }\nenter = 'acme.Any.Enter(this?, args?)'\nexit = 'acme.Any.Exit(state, result?)'\n"
                            "exception = 'acme.Any.Failed(state, exception)'", {}),
    "the first argument and the result": ("match = { type = 'app.Odd', method = ['Find', 'Left*', 'Generic'], min-size = 0 }\n"
                                          "enter = 'acme.Any.One(arg(0)?)'\nexit = 'acme.Any.One(result?)'", {}),
    "around": ("match = { type = 'app.**', min-size = 0 }\naround = 'acme.Any.Around(proceed?)'", {}),
    "values": ("match = { type = 'app.**', min-size = 0 }\nrecord = ['args?', 'result?']",
               {"Take": (1, 0), "Make": (2, 1), "Find": (2, 0), "Numbers": (3, 0), "Cleans": (3, 1), "Stream": (1, 0), "Swap": (1, 0)}),
    "fields": ("at = { field-get = { type = 'app.Derived', name = '*' } }\nafter = 'acme.Any.One(value?)'", {}),
    "calls": ("at = { call = { type = 'app.**', method = ['Make', 'Take', 'Sum*', 'Find'] } }\nafter = 'acme.Any.One(result?)'", {}),
    "values of calls": ("at = { call = { type = 'app.**', method = 'Make' } }\nrecord = ['result?']", {}),
}


def odd(score, folder):
    """What cannot be boxed, or read, or named from elsewhere, is passed over: the program prints what it prints unwoven."""
    found = sdk10()
    if not found:
        print("     odd: not run, since there is no .NET SDK")
        return
    environment, framework = {**found.environment(folder), **ENVIRONMENT}, found.framework()
    # The names of the variables that say where the runtime is win.
    environment.update({name: value for name, value in found.environment(folder).items() if name.startswith("DOTNET")})
    base = [found.dotnet, "exec", found.framework("sdk") / "Roslyn/bincore/csc.dll", "-nologo", "-nostdlib", "-unsafe", "-optimize+",
            "-langversion:preview", *(f"-r:{path}" for path in sorted(framework.glob("System*.dll")))]
    plain, library = fresh(folder / "plain"), folder / "hooks.dll"
    for out, kind, more in (("Wire.dll", "library", []), ("app.dll", "exe", [f"-r:{plain / 'Wire.dll'}"])):
        source = SOURCES / "odd" / out.replace("app", "Odd").replace(".dll", ".cs")
        run([*base, f"-target:{kind}", *more, f"-out:{plain / out}", source], env=environment)
    run([*base, "-target:library", f"-out:{library}", SOURCES / "odd/Hooks.cs"], env=environment)
    config = json.dumps({"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": f"{found.major}.0.0"}}})
    (plain / "app.runtimeconfig.json").write_text(config)
    runs = lambda place, **more: run([found.dotnet, "exec", place / "app.dll"], check=False, env={**environment, **more})
    compare(score, "unwoven", "Odd", runs(plain))
    for what, (rule, counted) in ODD.items():
        # One without a library has the first line alone.
        text = "version = 1\n[[library]]\npath = 'hooks.dll'\n" if "acme." in rule else "version = 1\n"
        (folder / "weave.toml").write_text(f"{text}[[aspect]]\nname = 'any'\n{rule}\n")
        for given in ("both", "one beside the other"):
            woven = fresh(folder / "woven")
            inputs = (plain, woven) if given == "both" else (plain / "app.dll", woven / "app.dll")
            done = run([weave_binary(), "-q", "--rules", folder / "weave.toml", *inputs], check=False)
            score.check(f"Odd, {what}, {given}: woven", done.returncode == 0, done.stderr[-400:])
            for path in (plain / "Wire.dll", plain / "app.runtimeconfig.json", library):
                if not (woven / path.name).exists():
                    shutil.copy(path, woven)
            trace = folder / "t.wtrace"
            compare(score, f"{what}, {given}", "Odd", runs(woven, WEAVE_TRACE=str(trace) if counted else "off"))
            if counted:
                said = json.loads(run([weave_binary(), "report", "--json", trace]).stdout)["methods"]
                methods = {method["method"]: (method["calls"], method["errors"]) for method in said if "Odd" in method["label"]}
                wrong = {name: methods.get(name) for name in counted if methods.get(name) != counted[name]}
                score.check(f"Odd, {what}, {given}: each call is in the trace", not wrong, str(wrong))
                trace.unlink()


EVERY = {"java": java, "copies": copies, "dex": dex, "dotnet": dotnet_, "later": later, "odd": odd}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, set(), "hooks"))
