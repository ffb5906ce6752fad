"""What the test scripts share: where things are, running commands, keeping score."""

import collections
import contextlib
import fcntl
import hashlib
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
CORPORA = pathlib.Path(os.environ.get("WEAVE_CORPORA") or CACHE / "corpora").resolve()
WORK = pathlib.Path(os.environ.get("WEAVE_WORK") or CACHE / "work").resolve()
# Where the samples leave the traces that other scripts read.
SAMPLES = pathlib.Path(os.environ.get("WEAVE_SAMPLES") or WORK / "sample").resolve()
JOBS = os.cpu_count() or 1
# Where cargo builds.
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")


class Missing(Exception):
    """Something that a test needs is not there. Never a reason to pass."""


def weave_binary():
    """The release build of this tree, or what WEAVE names."""
    named = os.environ.get("WEAVE")
    path = pathlib.Path(named) if named else TARGET / "release" / "weave"
    if not path.is_file():
        raise Missing(f"{path} is missing: run `cargo build --release`")
    return path.resolve()


def jdks():
    """The JDKs found here, by feature version, `{17: path, 25: path}`.

    WEAVE_JDKS (folders separated by `:`) goes before the usual places.
    """
    named = [pathlib.Path(p) for p in os.environ.get("WEAVE_JDKS", "").split(os.pathsep) if p]
    home = [pathlib.Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    java = shutil.which("java")
    on_path = [pathlib.Path(java).resolve().parents[1]] if java else []
    usual = sorted(pathlib.Path("/usr/lib/jvm").glob("*")) + sorted((CACHE / "jdk").glob("*"))
    found = {}
    for home in named + home + on_path + usual:
        release = home / "release"
        if not (home / "bin" / "javac").exists() or not release.exists():
            continue
        for line in release.read_text().splitlines():
            if line.startswith("JAVA_VERSION="):
                version = int(line.split('"')[1].split(".")[0].split("-")[0])
                found.setdefault(version, home.resolve())
    return found


def oldest_jdk():
    """The oldest JDK from 17 on: what most things are compiled with and run on."""
    usable = [v for v in jdks() if v >= 17]
    if not usable:
        raise Missing("no JDK 17 or newer: install one, or name it in WEAVE_JDKS")
    return jdks()[min(usable)]


def judges():
    """The JDKs that judge: the oldest and the newest from 17 on. WEAVE_ONE_JDK allows a single one; WEAVE_JUDGES=newest
    leaves the oldest out."""
    usable = sorted(v for v in jdks() if v >= 17)
    if len(usable) < 2 and not os.environ.get("WEAVE_ONE_JDK"):
        raise Missing(
            f"two JDKs are needed, 17 and a newer one; found {usable or 'none'}"
            " (WEAVE_JDKS names their folders; WEAVE_ONE_JDK=1 makes do with one)"
        )
    chosen = usable[-1:] if os.environ.get("WEAVE_JUDGES") == "newest" else usable[:1] + usable[-1:]
    return {v: jdks()[v] for v in chosen}


#: Options of javac, which runs for a second: for HotSpot to compile it twice takes longer than it saves.
JAVAC = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"]


def javac_options(javac, into=None):
    """What a JDK's compiler is run with. An archive of its classes, loaded and verified (JEP 350), saves a third of its CPU; it is made once.
    `into`: a folder that it is copied to, for a user who cannot read the cache."""
    javac = pathlib.Path(shutil.which(javac) or javac).resolve()
    folder = CACHE / "javac"
    archive = folder / f"{hashlib.sha256(str(javac).encode()).hexdigest()[:16]}.jsa"
    if not archive.exists():
        with locked("javac"), tempfile.TemporaryDirectory() as out:
            if not archive.exists():
                folder.mkdir(exist_ok=True)
                made, source = folder / "new.jsa", ROOT / "tests/programs/counts/java/app/Counts.java"
                done = subprocess.run([javac, *JAVAC, f"-J-XX:ArchiveClassesAtExit={made}", "-d", out, source], capture_output=True)
                # Other JVMs have none.
                made.replace(archive) if done.returncode == 0 and made.exists() else archive.touch()
    if not archive.stat().st_size:
        return JAVAC
    return [*JAVAC, f"-J-XX:SharedArchiveFile={shutil.copy(archive, into) if into else archive}"]


def run(command, check=True, **options):
    """Runs a command to its end; its output is text. A failure says what it wrote."""
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    command = [str(c) for c in command]
    if pathlib.Path(command[0]).name == "javac":
        command[1:1] = javac_options(command[0])
    done = subprocess.run(command, text=True, errors="replace", **options)
    if check and done.returncode != 0:
        tail = ((done.stdout or "") + (done.stderr or ""))[-3000:]
        raise RuntimeError(f"exit {done.returncode} of {' '.join(command)[:400]}\n{tail}")
    return done


def fresh(path):
    """An empty folder at `path`."""
    path = pathlib.Path(path)
    if path.exists():
        shutil.rmtree(path)
    path.mkdir(parents=True)
    return path


LOCKS = collections.defaultdict(threading.RLock)
HELD = collections.Counter()


@contextlib.contextmanager
def locked(name):
    """One thread of one process of this tree at a time is in here: for what several scripts bring into the same cache."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with LOCKS[name], (CACHE / f".{name}.lock").open("w") as lock:
        # A lock of another open file of this process would be waited for, too.
        if not HELD[name]:
            fcntl.flock(lock, fcntl.LOCK_EX)
        HELD[name] += 1
        try:
            yield
        finally:
            HELD[name] -= 1


def cpu():
    """Seconds of CPU that this process and what it has run to its end took: what counts on a busy machine."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


class Score:
    """Counts named checks and prints each as it is decided."""

    def __init__(self):
        self.passed, self.failed, self.start = 0, [], time.monotonic()

    def check(self, name, good, detail=""):
        if good:
            self.passed += 1
        else:
            self.failed.append(name)
        mark = "ok  " if good else "FAIL"
        print(f"{mark} {name}{': ' if detail else ''}{detail}", flush=True)
        return good

    def counts(self, name, found, expected):
        """Checks that two Counters are the same; told are those that differ, else the sum."""
        wrong = {k: (found[k], expected[k]) for k in found.keys() | expected.keys() if found[k] != expected[k]}
        return self.check(name, not wrong, f"(found, expected): {wrong}" if wrong else f"{sum(expected.values())}")

    def finish(self, what):
        """What failed, the closing line, and the exit status."""
        for name in self.failed:
            print(f"failed: {name}")
        print(f"\n{what}: {time.monotonic() - self.start:.0f} s, {cpu():.0f} s of CPU")
        print(f"{self.passed} passed, {len(self.failed)} failed", flush=True)
        return 1 if self.failed or not self.passed else 0


def run_programs(score, args, every, slow):
    """Runs the programs that were chosen, or those of the scope; each is given the score and a folder."""
    for name, program in every.items():
        if name in args.only or not args.only and not (args.scope == "--everyday" and name in slow):
            begun, used = time.monotonic(), cpu()
            try:
                program(score, fresh(WORK / "programs" / name))
            except RuntimeError as failure:
                score.check(name, False, str(failure))
            print(f"     {name}: {time.monotonic() - begun:.0f} s, {cpu() - used:.0f} s of CPU", flush=True)


def main(body):
    """Runs a script's body; what is missing is told in one line."""
    try:
        sys.exit(body())
    except Missing as missing:
        print(f"FAIL missing: {missing}", file=sys.stderr)
        sys.exit(1)
