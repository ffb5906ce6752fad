"""Runs a command several times, after runs that are not counted: `measure.py SKIPPED COUNTED TARGET COMMAND...`. Each run makes
TARGET, which is not there when it begins: deleting it would be no small part. Prints a line for each that counts: its
seconds of wall clock and its peak memory in KB.

A process of its own, which is small: Linux counts the memory of the one that starts a command towards the command's peak.
"""

import os
import sys
import time


def run(target, command):
    try:
        os.unlink(target)
    except FileNotFoundError:
        pass
    begun = time.perf_counter()
    nowhere = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=[nowhere])
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - begun
    if status != 0:
        sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)
    return seconds, usage.ru_maxrss


skipped, counted, target, *command = sys.argv[1:]
for _ in range(int(skipped)):
    run(target, command)
for _ in range(int(counted)):
    print(*run(target, command))
