#!/usr/bin/env python3
"""Woven classes before the tools that instrument them again, and libraries' own test suites on woven code.

    suites.py [--everyday | --full | --everything] [--only NAME]...

Names: advice, commons_codec_binary, commons_codec, commons_collections, commons_io, commons_io_mocks,
commons_lang, guava, kafka. `--everyday` (the default) runs
the first two. `advice`: Byte Buddy puts its advice into every method of a woven library, as an agent would, and HotSpot
verifies the result; the same where they have own hooks and recorded values. The others are suites: everything on the class path is woven, JUnit and Mockito too, whose mocks are made
by advice in the classes of the JDK and of the library. The same tests must pass, on each JDK, with `pack:all` and
with the default pack, and two with own hooks that take everything and values of everything (tracing is off). A test that differs is run again: what differs once
is told, what differs twice is a fault.
"""

import os
import xml.etree.ElementTree as xml

import changing
import check_corpora
import corpora
from lib import fresh, judges, main, oldest_jdk, run, weave_binary
from programs import PROGRAMS, class_path, environment

JUNIT = "5.10.2"
# Advice of the class that is instrumented later, not of the library: a version of its own.
BYTE_BUDDY = "net.bytebuddy:byte-buddy:1.15.4"
OWN = "own hooks and values"
AROUND = "a hook instead of each body"


def advice(score, folder):
    """Byte Buddy's advice in every method and constructor of a woven library: no class is refused that was not unwoven, and
    HotSpot verifies what comes out."""
    buddy, plain = corpora.maven([BYTE_BUDDY, "commons-io:commons-io:2.18.0"])
    wovens = {"woven": "pack:all", OWN: check_corpora.own_rules(folder)}
    for which, rules in wovens.items():
        run([weave_binary(), "-q", "--rules", rules, plain, folder / f"{which}.jar"])
    home = oldest_jdk()
    run([home / "bin" / "javac", "-cp", buddy, "-d", folder / "classes", PROGRAMS / "Advised.java"])
    check_corpora.oracle_classes()
    for how in ("COPIED", "KEPT"):
        def put(which, jar):
            command = [home / "bin" / "java", "-cp", class_path([folder / "classes", buddy]), "Advised", how, jar]
            return run([*command, folder / f"{how}-{which}.jar"]).stdout.splitlines()

        before = put("plain", plain)
        for which in wovens:
            woven = folder / f"{which}.jar"
            told, what = put(which, woven), f"advice, arguments {how.lower()}, {which}"
            advised = int(told[-1].split()[1])
            # Adapters of own hooks lie beside the classes that call them, and are advised like these.
            same = before == told if which == "woven" else before[:-1] == told[:-1] and before[-1].split()[2:] == told[-1].split()[2:]
            score.check(f"{what}: no class is refused", same and advised > 300, told[-1])
            if before != told:
                print(*told[:10], sep="\n")
            for version, judge in sorted(judges().items()):
                failing, linked = check_corpora.link(judge, folder, [f"{how}-{which}.jar"], False, [woven], folder)
                score.check(f"{what}: JDK {version} verifies", not failing and linked >= advised, f"{linked} classes, {list(failing.items())[:3]}")


def verdicts(home, jars, out, selected, env):
    """The outcome of each test."""
    run([home / "bin" / "java", "-Xmx2g", "-cp", class_path(sorted(jars.glob("*.jar"))), "org.junit.platform.console.ConsoleLauncher", "execute",
         "--details=none", "--disable-banner", "--reports-dir", fresh(out), *selected], check=False, env=env, cwd=out)
    found = {}
    for report in out.glob("TEST-*.xml"):
        for case in xml.parse(report).getroot().iter("testcase"):
            found[case.get("classname"), case.get("name")] = next((c.tag for c in case if c.tag in ("failure", "error", "skipped")), "passed")
    return found


def suite(score, folder, name, coordinates, packages, at_least, own=False, around=None):
    """The tests of some packages, unwoven and woven, on each JDK and with both packs; or with own hooks and values as well, or with hooks
    in the places of the bodies of some types."""
    common = [f"org.junit.jupiter:junit-jupiter:{JUNIT}", "org.junit.platform:junit-platform-console:1.10.2",
              "org.mockito:mockito-core:5.14.2", "org.mockito:mockito-junit-jupiter:5.14.2"]
    plain = corpora.resolved(name, [*coordinates, *common], JUNIT)
    packs = {"all": "pack:all", "default": "pack:default"}
    if own:
        packs[OWN] = check_corpora.own_rules(folder)
    if around:
        check_corpora.library(folder, "Same")
        packs[AROUND] = folder / "around.toml"
        packs[AROUND].write_text("\n".join(changing.around("same.jar", around)))
    for pack, rules in packs.items():
        run([weave_binary(), "-q", "--rules", rules, plain, folder / pack])
    every = [part for p in packages for part in ("--select-class" if p.endswith("Test") else "--select-package", p)]
    off = environment("off")
    for version, home in sorted(judges().items()):
        before = verdicts(home, plain, folder / "reports", every, dict(os.environ))
        passed = sum(v == "passed" for v in before.values())
        for pack in packs:
            after = verdicts(home, folder / pack, folder / "reports", every, off)
            differ = {k for k in before if before[k] != after.get(k)}
            again = [part for c in sorted({k[0] for k in differ}) for part in ("--select-class", c)]
            if again:
                one = verdicts(home, plain, folder / "reports", again, dict(os.environ))
                two = verdicts(home, folder / pack, folder / "reports", again, off)
                twice = {k: (one.get(k), two.get(k)) for k in differ if one.get(k) != two.get(k)}
            else:
                twice = {}
            score.check(
                f"{name} on {version}, {pack if pack in (OWN, AROUND) else packs[pack]}: the same tests pass", not twice and passed >= at_least,
                f"{passed} of {len(before)} pass; {len(differ)} differed once, twice: {dict(list(twice.items())[:5])}",
            )


IO = ["commons-io:commons-io:2.18.0", "commons-io:commons-io:2.18.0:tests", "org.apache.commons:commons-lang3:3.17.0",
      "com.google.jimfs:jimfs:1.3.0", "org.junit-pioneer:junit-pioneer:1.9.1", "commons-codec:commons-codec:1.17.1"]


def commons_io(score, folder):
    """commons-io, whose tests use Mockito."""
    suite(score, folder, "commons-io", IO, [f"org.apache.commons.io.{p}" for p in ("input", "output", "function")], 2000)


def commons_io_mocks(score, folder):
    """The tests that do, without loops over bytes that would record millions of calls."""
    tests = ("input.CloseShieldReaderTest", "input.ProxyInputStreamTest", "input.TeeInputStreamTest", "input.TeeReaderTest",
          "output.CloseShieldWriterTest", "output.ProxyCollectionWriterTest", "output.TeeOutputStreamTest", "output.TeeWriterTest")
    suite(score, folder, "commons-io", IO, [f"org.apache.commons.io.{t}" for t in tests], 80, own=True)


def kafka(score, folder):
    """Kafka's clients, whose tests use Mockito."""
    suite(score, folder, "kafka-clients",
          ["org.apache.kafka:kafka-clients:3.9.0", "org.apache.kafka:kafka-clients:3.9.0:test", "org.hamcrest:hamcrest:2.2",
           "com.fasterxml.jackson.core:jackson-databind:2.16.2", "com.fasterxml.jackson.datatype:jackson-datatype-jdk8:2.16.2",
           "org.bitbucket.b_c:jose4j:0.9.4", "org.bouncycastle:bcpkix-jdk18on:1.78.1", "org.slf4j:slf4j-nop:1.7.36"],
          ["org.apache.kafka.clients.producer.internals", "org.apache.kafka.common.metrics", "org.apache.kafka.common.record"], 500)


def guava(score, folder):
    """Guava under the suites that its own test library makes: a hook instead of each body, and one in front of each call of the JDK."""
    plain = corpora.resolved("guava-testlib", ["com.google.guava:guava-testlib:33.4.8-jre"], JUNIT)
    check_corpora.library(folder, "Same")
    check_corpora.library(folder, "Each")
    run([oldest_jdk() / "bin" / "javac", "-cp", class_path(sorted(plain.glob("*.jar"))), "-d", folder / "classes", PROGRAMS / "GuavaSuites.java"])
    wovens = {"around": "\n".join(changing.around("same.jar", "com.google.common.**")), "calls": changing.each_call("each.jar", "java.**")}
    for which, rules in wovens.items():
        (folder / f"{which}.toml").write_text(rules)
        run([weave_binary(), "-q", "--rules", folder / f"{which}.toml", plain, folder / which])
    for version, home in sorted(judges().items()):
        def told(jars):
            # A body behind a hook needs more stack, and some tests go deep.
            command = [home / "bin" / "java", "-Xss4m", "-cp", class_path([folder / "classes", *sorted(jars.glob("*.jar"))]), "GuavaSuites"]
            return run(command, env=environment("off")).stdout.splitlines()

        before = told(plain)
        for which in wovens:
            after = told(folder / which)
            differ = [line for line in after if line not in before] + [line for line in before if line not in after]
            score.check(f"guava on {version}, {which}: the same tests pass", not differ and int(before[-1].split()[1]) > 20_000, f"{before[-1]}, {differ[:5]}")


def commons_lang(score, folder):
    """commons-lang3: reflection, whose tests look at their own classes. Its builders' tests leave something behind in a process."""
    suite(score, folder, "commons-lang3",
          ["org.apache.commons:commons-lang3:3.17.0", "org.apache.commons:commons-lang3:3.17.0:tests", "org.easymock:easymock:5.4.0",
           "org.hamcrest:hamcrest:2.2", "org.junit-pioneer:junit-pioneer:1.9.1", "org.apache.commons:commons-text:1.12.0"],
          [f"org.apache.commons.lang3.{p}" for p in ("event", "exception", "function", "math", "mutable", "reflect", "stream", "text", "tuple")], 1000,
          around="org.apache.commons.lang3.**")


def commons_collections(score, folder):
    """commons-collections4: deep hierarchies of generic classes, and their serial forms."""
    suite(score, folder, "commons-collections4",
          ["org.apache.commons:commons-collections4:4.5.0", "org.apache.commons:commons-collections4:4.5.0:tests", "org.easymock:easymock:5.4.0",
           "org.hamcrest:hamcrest:2.2", "org.apache.commons:commons-lang3:3.17.0", "commons-codec:commons-codec:1.17.1"],
          [f"org.apache.commons.collections4.{p}" for p in ("bag", "bidimap", "functors", "iterators", "list", "multimap", "set", "trie")], 2500)


CODEC = ["commons-codec:commons-codec:1.17.1", "commons-codec:commons-codec:1.17.1:tests", "org.hamcrest:hamcrest:2.2",
         "org.apache.commons:commons-lang3:3.17.0", "commons-io:commons-io:2.18.0"]


def commons_codec(score, folder):
    """commons-codec: loops over bytes and characters."""
    suite(score, folder, "commons-codec", CODEC, ["org.apache.commons.codec"], 1000)


def commons_codec_binary(score, folder):
    """The part of it that takes seconds."""
    suite(score, folder, "commons-codec", CODEC, ["org.apache.commons.codec.binary", "org.apache.commons.codec.net"], 700, own=True)


EVERY = {f.__name__: f for f in (advice, commons_codec_binary, commons_codec, commons_collections, commons_io, commons_io_mocks, commons_lang, guava, kafka)}
SLOW = {"commons_codec", "commons_collections", "commons_io", "commons_io_mocks", "commons_lang", "guava", "kafka"}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, SLOW, "suites"))
