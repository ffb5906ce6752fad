#!/usr/bin/env python3
"""Runs docs/tutorial.md as it stands: writes its files, runs its commands in their order, and finds in what they print the names that the page shows."""

import os
import re
import subprocess

from lib import ROOT, WORK, Score, fresh, main, weave_binary

PAGE = ROOT / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.M | re.S)
#: What is the same in each run: names with their parameters, and texts of the program.
NAMES = re.compile(r"[\w.]+\([\w, ]*\)|Voucher\[.*|REFUSED.*")


def judge():
    score, folder = Score(), fresh(WORK / "tutorial")
    tools = fresh(folder / "bin")
    (tools / "weave").symlink_to(weave_binary())
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEAVE_")}
    environment |= {"WEAVE_SOURCES": str(ROOT), "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    work, told = fresh(folder / "work"), ""
    for language, name, text in BLOCK.findall(PAGE.read_text()):
        if name:
            (work / name).parent.mkdir(exist_ok=True)
            (work / name).write_text(text)
        elif language == "sh":
            done = subprocess.run(["bash", "-euxc", text], cwd=work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            told = done.stdout
            score.check(text.strip().splitlines()[-1], done.returncode == 0, "" if done.returncode == 0 else told[-1500:])
        else:
            wanted = NAMES.findall(text)
            missing = [name for name in wanted if name not in told]
            score.check(f"it shows {', '.join(wanted)}", wanted and not missing, f"{missing} in {told[-1500:]}" if missing else "")
    return score.finish("tutorial")


if __name__ == "__main__":
    main(judge)
