"""What the tests of build tools share: running a build, what it told, and keeping score."""

import filecmp
import os
import re
import signal
import subprocess
import sys

import lib

sys.path.insert(0, str(lib.ROOT / "packaging"))

import packages  # noqa: E402,F401

# No two scripts write to the local repository of Maven at a time.
packages.fetch = lib.locked("corpora")(packages.fetch)

#: Spaces and letters beyond ASCII, for every path.
PLACE = "my büilds"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def same_folders(a, b):
    """Whether two folders hold the same files with the same bytes."""
    compared = filecmp.dircmp(a, b)
    if compared.left_only or compared.right_only or compared.funny_files:
        return False
    _, wrong, errors = filecmp.cmpfiles(a, b, compared.common_files, shallow=False)
    return not wrong and not errors and all(same_folders(a / d, b / d) for d in compared.common_dirs)


#: Rules with a library of one's own beside them.
OWN_RULES = """version = 1
[[library]]
path = "own hooks.jar"
[[aspect]]
match = {{ type = {types}, method = "*" }}
enter = "acme.Log.began(method)"
"""


def own_library(folder, word):
    """Writes the library of OWN_RULES: what its hook says begins with a word."""
    made = lib.fresh(lib.WORK / "own library")
    write(made / "acme/Log.java", 'package acme;\npublic class Log { public static void began(String method) {'
          f' System.out.println("{word} " + method); }} }}\n')
    subprocess.run(["javac", "--release", "8", "-nowarn", "-d", str(made), str(made / "acme/Log.java")], check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["jar", "cf", str(folder / "own hooks.jar"), "-C", str(made), "acme/Log.class"], check=True)


class Builds:
    """Runs builds one after another, and keeps the last one's output."""

    #: What each command begins with.
    prefix = ["nice"]
    #: After so many seconds a command hangs, however busy the machine is.
    limit = 3600

    def __init__(self):
        self.score = lib.Score()
        self.output, self.status = "", 0

    def call(self, command, **environment):
        command = self.prefix + [str(c) for c in command]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              env=dict(os.environ, **environment), start_new_session=True) as process:
            try:
                self.output, _ = process.communicate(timeout=self.limit)
            except BaseException as ended:
                # What it has started holds its output, too.
                os.killpg(process.pid, signal.SIGKILL)
                self.output, _ = process.communicate()
                if not isinstance(ended, subprocess.TimeoutExpired):
                    raise
                self.output += f"\nit was ended after {self.limit} s\n"
        self.status = process.returncode

    def ask(self, process, words):
        """Has a process that runs builds one after another run one (GradleBuilds.java, MavenBuilds.java)."""
        print("\t".join(map(str, words)), file=process.stdin, flush=True)
        told = []
        for line in process.stdout:
            if line.startswith("BUILD ENDED "):
                self.output, self.status = "".join(told), int(line.split()[2])
                return
            told.append(line)
        raise RuntimeError("the process of the builds ended:\n" + "".join(told[-40:]))

    def has(self, *lines):
        """Whether the last build told all of this (regular expressions)."""
        return all(re.search(line, self.output, re.M) for line in lines)

    def check(self, what, holds, detail=""):
        if not self.score.check(what, bool(holds), detail):
            print("\n".join("    | " + line for line in self.output.splitlines()[-40:]), flush=True)
