#!/usr/bin/env python3
"""Draws the icon of the NuGet packages: threads that go over and under each other. Writes packaging/icon.png."""
import struct
import zlib
from pathlib import Path

SIZE, THREADS = 128, 4
BACK, WARP, WEFT = (27, 38, 59), (119, 191, 163), (239, 171, 77)


def colour(x, y):
    """The colour of a pixel: each crossing shows the one of its two threads that is on top."""
    step = SIZE // THREADS
    across, down = step // 6 <= x % step < step - step // 6, step // 6 <= y % step < step - step // 6
    over = (x // step + y // step) % 2 == 0
    if across and (over or not down):
        return WARP
    return WEFT if down else BACK


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png():
    rows = b"".join(b"\0" + bytes(part for x in range(SIZE) for part in colour(x, y)) for y in range(SIZE))
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


if __name__ == "__main__":
    (Path(__file__).parent / "icon.png").write_bytes(png())
