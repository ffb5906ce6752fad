"""Writes traces of any size (`docs/trace-format.md`), with times that a test chooses."""

import struct
from array import array

CHUNK = 65_536
ORIGIN = 1_795_269_713_000_000_000
ENTER, EXIT, ERROR = 1, 2, 3


class MadeTrace:
    """A trace under way: `call` adds an enter, exit or error of a method, so many nanoseconds after the one before."""

    def __init__(self, path, command, pid=4711):
        self.file = path.open("wb")
        self.time, self.serial, self.segment, self.command, self.pid = 0, 0, 0, command.encode(), pid
        self.words, self.escapes, self.began = array("Q"), b"", 0
        self.file.write(bytes(CHUNK))

    def call(self, kind, delta, method):
        self.time += delta
        self.words.append(method << 32 | delta << 2 | kind)
        if len(self.words) >= (CHUNK - 32) // 8 - 2:
            self.flush()

    def sampled(self, method, weight):
        """The next call is the outermost of a sampled tree, and stands for so many: a SAMPLED escape."""
        self.words.extend((method << 32 | 1 << 8 | 13 << 2, weight))

    def cpu(self, thread, used):
        """The CPU time that a thread has used so far, in nanoseconds: a CPU escape."""
        self.escapes += struct.pack("<3Q", thread << 32 | 2 << 8 | 11 << 2, self.time, used)

    def flush(self, thread=1, name=""):
        """The chunk so far, as one of this thread, whose name it may tell."""
        self.serial += 1
        chunk = struct.pack("<4sIQIIQ", b"WCHK", 1, self.serial, thread, self.segment, self.began)
        self.began = self.time
        if name:
            text = name.encode().ljust(-len(name) % 8 + len(name), b"\0")
            chunk += struct.pack("<QII", thread << 32 | 1 + len(text) // 8 << 8 | 3 << 2, 0, len(name)) + text
        chunk += self.escapes + self.words.tobytes()
        self.escapes = b""
        self.file.write(chunk.ljust(CHUNK, b"\0"))
        self.segment += 1
        self.words = array("Q")

    def close(self):
        if self.words:
            self.flush()
        header = struct.pack("<8sHHIQQIIQ", b"WTRACE\r\n", 1, 0, CHUNK, ORIGIN, self.pid, 0, 3, 1 << 40)
        header += bytes(24) + struct.pack("<QI", self.time, len(self.command)) + self.command
        self.file.seek(0)
        self.file.write(header)
        self.file.close()


def deep_calls(path, count):
    """A trace of so many calls, up to 12 deep, of 60 methods; durations from 50 ns to milliseconds."""
    trace, depth, state = MadeTrace(path, "made/up program"), [], 1
    for _ in range(count):
        state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) & (1 << 64) - 1
        draw = state >> 33
        while depth and (len(depth) == 12 or draw & 3 == 0):
            trace.call(EXIT, 50 + draw % 97, depth.pop())
            draw >>= 2
        depth.append(1 + draw % 5 + 5 * len(depth))
        trace.call(ENTER, 20 + draw % 41, depth[-1])
        if draw % 5_000 == 0:
            trace.call(EXIT, 2_000_000, depth.pop())
    while depth:
        trace.call(EXIT, 100, depth.pop())
    trace.close()
