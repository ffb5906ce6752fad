"""Runs a command; prints its seconds of wall clock and its peak memory in KB on the last line of standard output.

A process of its own, which is small: Linux counts the memory of the one that starts a command towards the command's peak.
"""

import os
import sys
import time

begun = time.perf_counter()
nowhere = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[nowhere])
_, status, usage = os.wait4(child, 0)
print(time.perf_counter() - begun, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)
