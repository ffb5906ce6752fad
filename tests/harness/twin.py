#!/usr/bin/env python3
"""Weaves all of a JDK's modules and starts that JVM: an exploded image (`modules/NAME` in place of `lib/modules`), verified whole.

    twin.py [--jdk FOLDER]

Each rule set weaves java.base by itself, which then contains the hook library, and the other modules beside it. With every class verified,
also those of the boot loader, a program that uses much of the platform must print what it prints on the JDK unwoven, and javac must write
the same bytes. The JDK must have `jmods`: the image's own java.base names the packages of all modules in code that jlink makes.
"""

import argparse
import os
import pathlib
import shutil

from lib import ROOT, WORK, Missing, Score, fresh, jdks, main, run, weave_binary

PROGRAM = ROOT / "tests" / "programs" / "twin" / "Platform.java"
PAIR = 'match = { type = "**" }\n'
#: What is woven into java.base, and into the other modules. Values are the platform's own objects, which hooks cannot take while it starts.
RULES = {
    "every method": (PAIR, PAIR),
    "values but in java.base": (PAIR, f'{PAIR}record = ["this?", "args?", "result?"]\n'),
    "counted": (f'{PAIR}mode = "count"\n',) * 2,
}
#: jlink's image says of each module which others it was built with; what is woven has another hash.
HASHES = b"ModuleHashes"
VERIFIED = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+BytecodeVerificationLocal", "-XX:+BytecodeVerificationRemote")


def with_modules(wanted):
    """The JDK to weave: the one that is named, else the oldest that has jmods."""
    homes = [pathlib.Path(wanted)] if wanted else [home for _, home in sorted(jdks().items())]
    for home in homes:
        if (home / "jmods" / "java.base.jmod").exists():
            return home
    raise Missing("a JDK with the folder jmods (Debian's openjdk-17-jdk)")


def extracted(home, folder):
    """The classes of all modules, as a folder each, and java.base by itself."""
    bin = home / "bin"
    others = folder / "modules"
    run([bin / "jimage", "extract", "--dir", others, home / "lib" / "modules"])
    shutil.rmtree(others / "java.base")
    run([bin / "jmod", "extract", "--dir", folder / "jmod", home / "jmods" / "java.base.jmod"])
    (folder / "base").mkdir()
    (folder / "jmod" / "classes").rename(folder / "base" / "java.base")
    # They would require the hook library, which no module of the boot loader can.
    descriptors = {path.parent.name: path.read_bytes() for path in others.glob("*/module-info.class")}
    for name in descriptors:
        (others / name / "module-info.class").unlink()
    return folder / "base" / "java.base", others, descriptors


def image(home, folder):
    """A copy of the JDK without its modules."""
    for part in ("bin", "conf", "lib", "release"):
        source = home / part
        if source.is_dir():
            shutil.copytree(source, folder / part, symlinks=False, ignore=shutil.ignore_patterns("modules", "*.jsa", "src.zip"))
        else:
            shutil.copy2(source, folder / part)
    return folder


def lay(base, others, descriptors, target):
    """Lays woven modules into an image."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(others, target) if others.exists() else target.mkdir()
    for name, descriptor in descriptors.items():
        (target / name).mkdir(exist_ok=True)
        (target / name / "module-info.class").write_bytes(descriptor)
    shutil.copytree(base, target / "java.base")
    info = target / "java.base" / "module-info.class"
    info.write_bytes(info.read_bytes().replace(HASHES, HASHES[:-1] + b"_"))


def body(home, score, folder):
    base, others, descriptors = extracted(home, fresh(folder / "in"))
    twin = image(home, fresh(folder / "jdk"))
    classes = fresh(folder / "classes")
    run([home / "bin" / "javac", "-d", classes, PROGRAM])
    command = ["-cp", classes, PROGRAM.stem]
    before = run([home / "bin" / "java", *command]).stdout
    expected = {path.name: path.read_bytes() for path in classes.iterdir()}
    readers = ",".join([*descriptors, "ALL-UNNAMED"])
    for name, rules in RULES.items():
        files = [folder / "base.toml", folder / "others.toml"]
        for file, rule in zip(files, rules):
            file.write_text(f"version = 1\n[[aspect]]\n{rule}")
        woven = fresh(folder / "woven")
        told = run([weave_binary(), "--rules", files[0], base, woven / "java.base"]).stderr
        run([weave_binary(), "-q", "--no-runtime", "--rules", files[1], others, woven / "others"])
        lay(woven / "java.base", woven / "others", descriptors, twin / "modules")
        options = [*VERIFIED, f"--add-exports=java.base/weave.runtime={readers}"]
        after = run([twin / "bin" / "java", *options, *command], check=False)
        score.check(f"{name}: the JVM starts, and its platform does what it did", after.returncode == 0 and after.stdout == before,
                    (after.stdout + after.stderr)[-2000:] if after.stdout != before else told.strip().splitlines()[-1])
        again = fresh(folder / "again")
        own = [f"-J{option}" for option in options]
        compiled = run([twin / "bin" / "javac", *own, "-d", again, PROGRAM], check=False)
        same = {path.name: path.read_bytes() for path in again.iterdir()} == expected
        score.check(f"{name}: javac writes the same bytes", compiled.returncode == 0 and same, compiled.stderr[-1000:] if not same else f"{len(expected)} classes")


def whole():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--jdk", help="the JDK to weave (the oldest that has jmods)")
    home = with_modules(parse.parse_args().jdk)
    score = Score()
    body(home, score, fresh(WORK / "twin"))
    return score.finish("twin")


if __name__ == "__main__":
    main(whole)
