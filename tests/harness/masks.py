#!/usr/bin/env python3
"""Secrets in messages, names of threads, values and the command line: which of them a trace has, by rules and settings.

    masks.py [--only NAME]...

Names: java, dex, dotnet. The program is in tests/programs/secrets, in Java and in C#; a secret is a word that begins with SECRET, or a card's
number. Each world below runs it woven with some rules, and names exactly the secrets that the trace may have then. What the program prints must
stay the same, but for what its messages print where they are asked for. Java runs on the newest JDK; dex files, which have the same hook library,
are made by dx, woven with rules alone, and made a jar again by enjarify; C# runs on CoreCLR 8 and Mono.
"""

import json
import os
import re
import struct

import check_dex
import corpora
import dotnet
from lib import ROOT, fresh, judges, main, oldest_jdk, run, weave_binary

SOURCES = ROOT / "tests" / "programs" / "secrets"
CARD = 4111222233334444
RECORD = """
[[aspect]]
name = "query"
match = { type = "app.Secrets", method = "query", params = "*" }
record = ["arg(0)", "result"]
[[aspect]]
name = "pay"
match = { type = "app.Secrets", method = "pay" }
record = ["arg(0)", "arg(1)", "arg(2)", "arg(3)"]
"""
ALL = """version = 1
[[aspect]]
name = "all"
match = { type = "app.Secrets", kind = ["method", "constructor", "lambda", "synthetic", "async"] }
"""
#: Of an aspect alone: it records values at the end of calls only.
RESULT = """
[[aspect]]
name = "query"
match = { type = "app.Secrets", method = "query", params = "*" }
record = ["result"]
mask = ["password=*"]
"""
ITEMS = """version = 1
[[aspect]]
name = "items"
match = { type = "app.Secrets", method = ["items", "later"] }
"""
MASK = "[trace]\nmask = ['password=*', 'pin=*', 're:\\d{16}']\n"
#: A character array that no mask looks at is a list of characters, and bytes are numbers.
EVERYTHING = {"THREAD", "QUERY", "RESULT", "BUILDER", "CARD", "COMMAND"}

#: Rules, what the program is told to do, settings; the secrets that the trace has, and whether messages are asked for.
WORLDS = {
    "nothing is masked": (ALL + RECORD, "all", {}, EVERYTHING, True),
    "a mask of an aspect, before any value": (ALL + RESULT, "all", {}, {"COMMAND", "THREAD"}, True),
    "a mask of an aspect that is off": (ALL + RESULT + 'level = "debug"\n', "all", {}, {"COMMAND", "THREAD"}, True),
    "masks of values": (
        RECORD.replace("\n[[aspect]]\nname = \"query\"", "version = 1\n[[aspect]]\nname = \"query\"", 1)
        + "mask = ['pin=*', 're:\\d{16}']\n", "all", {}, {"THREAD", "QUERY", "RESULT", "COMMAND"}, True),
    "masks of all texts": (ALL + RECORD + MASK, "all", {}, set(), True),
    "masks of all texts, of methods that are counted and summed up": (
        ALL + 'mode = "aggregate"\n' + MASK + ITEMS.replace("version = 1", "") + 'mode = "count"\n', "all", {}, set(), False),
    "masks of all texts, of methods that are off": (
        ALL + 'level = "debug"\n' + MASK + RECORD, "all", {}, set(), True),
    "no texts": (
        ALL + "[trace]\nmessages = false\nthread-names = false\ncommand-line = false\n", "all", {}, set(), False),
    "no messages of an aspect": (ALL + "messages = false\n", "all", {}, {"THREAD", "COMMAND"}, False),
    "the user's masks": (ALL + RECORD, "all", {"WEAVE_TRACE_MASK": "password=*; pin=*; re:[0-9]{16}"}, set(), True),
    "the user's mask of the command line": (
        ALL + RECORD, "all", {"WEAVE_TRACE_MASK": "password=SECRETCOMMAND"}, EVERYTHING - {"COMMAND"} | {"PIN", "BYTES"}, True),
    "a mask of the user's that is none": (ALL + RECORD, "all", {"WEAVE_TRACE_MASK": "re:(a"}, set(), True),
    "messages that are not masked": (ITEMS, "items", {}, {"ITEM", "COMMAND"}, True),
    "a mask without values": (ITEMS + "mask = 'password=*'\n", "items", {}, set(), True),
    "a mask without values, later": (ITEMS + "mask = 'password=*'\n", "later", {}, set(), True),
    "no messages": (ITEMS + "messages = false\n", "items", {}, {"COMMAND"}, False),
    "no messages, later": (ITEMS + "messages = false\n", "later", {}, {"COMMAND"}, False),
    "masks of all texts, items": (ITEMS + MASK, "items", {}, set(), True),
}

#: Masks that rules and the setting both take, and texts: weave compiles the ones, the hook libraries the others.
PATTERNS = [
    ["re:a|ab|abc", "re:key=[^;]+"],
    [r"re:(?i)token=\w{2,4}?x*", "x.y*z", r"re:[^a-z\s]{3,}"],
    [r"re:(?s:<.*?>)|\x41[\d-]+", r"re:\$\w*\$[^$]*(\$\w*\$)?", r"re:[^\x00-\x7f]+"],
    [r"re:'([^'\\]|''|\\(?s:.))*'?", r"re:(a+)+b{0,2}[]x]|(?i:q(?-i:R))s|[a-c-]{2}\."],
    [r"re:\S+@\S+(\.\S+)*", r"re:(x|y|){3}z", r"re:\W\D\w\+"],
]
ECHOED = ["xabcd key=größe€;x", "TOKEN=abcdxx token=a x.y123z x.yz 12-34 A1-2", "<a\nb> $$ body $t$x $1, $2 Ärger", "it's 'a''b' 'c\\'d' open 'e",
          "aaabx aab] Qrs qRS qRs a-b. --. abc.", "bob@acme.org xyxz z xyyyz -a_+", "nothing to see", "é" * 40]


def secrets(trace):
    """The secrets in a trace: messages and names are UTF-8, values UTF-16 in whole words, numbers 64 bits."""
    data = trace.read_bytes()
    texts = data.decode("latin-1"), data.decode("utf-16-le", errors="replace")
    found = {name for text in texts for name in re.findall("SECRET([A-Z]+)", text)}
    if struct.pack("<q", CARD) in data or any(str(CARD) in text for text in texts):
        found.add("CARD")
    return found


def worlds(score, name, weave, start, folder, chosen=WORLDS):
    printed = {part: run([*start, part]).stdout.splitlines() for part in ("all", "items", "later")}
    for of in chosen:
        world(score, name, of, weave, printed, folder)


def world(score, name, of, weave, plain, folder):
    """`weave` weaves with rules and says what runs that; `plain` is what the program printed as it was."""
    rules, part, settings, expected, asks = WORLDS[of]
    said, trace = folder / "rules.toml", folder / "run.wtrace"
    said.write_text(rules)
    trace.unlink(missing_ok=True)
    arguments = [part, "password=SECRETCOMMAND"]
    done = run([*weave(said), *arguments], check=False, env={**os.environ, **settings, "WEAVE_TRACE": str(trace)})
    printed = done.stdout.splitlines()
    asked = printed.count("asked")
    same = done.returncode == 0 and [line for line in printed if line != "asked"] == plain[part]
    score.check(f"{name}: {of}: the same output", same, done.stdout[-500:] + done.stderr[-1000:])
    score.check(f"{name}: {of}: messages are {'asked for' if asks else 'let be'}", (asked > 0) == asks, f"{asked} times")
    found = secrets(trace)
    score.check(f"{name}: {of}: {', '.join(sorted(expected)) or 'nothing'} is told", found == expected, f"found {sorted(found)}")
    if "re:(" in settings.get("WEAVE_TRACE_MASK", ""):
        lines = [line for line in done.stderr.splitlines() if "weave.trace.mask" in line]
        score.check(f"{name}: {of}: one line says so", len(lines) == 1 and "all texts are masked" in lines[0], done.stderr[-500:])


def messages(trace):
    report = json.loads(run([weave_binary(), "report", "--json", "--calls", trace]).stdout)
    return [call["exception_message"] for call in sorted(report["calls"], key=lambda call: call["start_ns"])]


def compiled(score, name, weave, folder):
    """The hook library and weave make the same of a mask."""
    rules, trace = folder / "rules.toml", folder / "run.wtrace"
    plain = "version = 1\n[[aspect]]\nname = 'echo'\nmatch = { type = 'app.Secrets', method = 'echo' }\n"
    for patterns in PATTERNS:
        found = []
        for mask, setting in ((patterns, ""), ([], ";".join(pattern.replace(";", r"\;") for pattern in patterns))):
            rules.write_text(plain + (f"mask = {json.dumps(mask)}\n" if mask else ""))
            trace.unlink(missing_ok=True)
            run([*weave(rules), "echo", *ECHOED], env={**os.environ, "WEAVE_TRACE": str(trace), "WEAVE_TRACE_MASK": setting})
            found.append(messages(trace))
        score.check(f"{name}: {patterns}", found[0] == found[1] and len(found[0]) == len(ECHOED) and "***" in str(found), f"{found[0]}, by the library {found[1]}")


def classes(folder):
    out = fresh(folder / "classes")
    run([oldest_jdk() / "bin/javac", "-g", "--release", "8", "-Xlint:-options", "-d", out, SOURCES / "java/app/Secrets.java"])
    jar = folder / "app.jar"
    run([oldest_jdk() / "bin/jar", "cf", jar, "-C", out, "."])
    return jar


def java(score, folder):
    app, woven = classes(folder), folder / "woven.jar"
    version, home = list(judges().items())[-1]
    start = [home / "bin/java", "-Xverify:all", "-cp"]

    def weave(rules):
        run([weave_binary(), "-q", "--strict", "--rules", rules, app, woven])
        return [*start, woven, "app.Secrets"]

    worlds(score, f"java on {version}", weave, [*start, app, "app.Secrets"], folder)
    compiled(score, f"java on {version}", weave, folder)


def dex(score, folder):
    app, woven = classes(folder), folder / "woven.dex"
    start = [oldest_jdk() / "bin/java", "-Xverify:all", "-cp"]
    check_dex.to_dex(app, folder / "app.dex")

    def weave(rules):
        run([weave_binary(), "-q", "--strict", "--rules", rules, folder / "app.dex", woven])
        return [*start, check_dex.class_path(score, "dex", woven), "app.Secrets"]

    chosen = [of for of, (_, part, settings, *_) in WORLDS.items() if not settings and part != "later"]
    worlds(score, "dex", weave, [*start, app, "app.Secrets"], folder, chosen)


def dotnet_(score, folder):
    mono = dotnet.mono_libraries()
    plain, woven = fresh(folder / "plain"), fresh(folder / "woven")
    run([*dotnet.csc(), "-nologo", "-nostdlib", f"-r:{mono / '4.7.2-api' / 'mscorlib.dll'}", f"-r:{mono / '4.7.2-api' / 'System.dll'}",
         "-optimize", "-debug:portable", f"-out:{plain / 'app.exe'}", SOURCES / "dotnet/Secrets.cs"])
    for name, host in {"CoreCLR 8": dotnet.host("core8"), "Mono": ["mono"]}.items():

        def weave(rules):
            run([weave_binary(), "-q", "--strict", "--rules", rules, plain / "app.exe", woven / "app.exe"])
            return [*host, woven / "app.exe"]

        worlds(score, f"dotnet on {name}", weave, [*host, plain / "app.exe"], folder)
    compiled(score, f"dotnet on {name}", weave, folder)


EVERY = {"java": java, "dex": dex, "dotnet": dotnet_}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, set(), "masks"))
