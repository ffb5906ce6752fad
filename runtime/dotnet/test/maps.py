"""Symbols maps of methods that can be switched, as weave writes them."""

import struct
import sys
import zlib

SPECIAL = 3 + (1 << 20)  # has the same place as 3 in a table by 20 bits


def switched(aspects=((2, "noise"), (1, "sql")), methods=((2, [1]), (3, [0]), (4, [1]), (5, [0]), (6, [0, 1]), (SPECIAL, [1]))):
    """Aspects with their flags, and methods with the aspects that switch them: noise is debug, sql is info. 1 cannot be switched."""

    def number(n):
        return bytes([n & 0x7F | 0x80]) + number(n >> 7) if n > 0x7F else bytes([n])

    plain = b"\x01\x03app\x02\x01T\x00" + b"".join(b"\x03\x01\x01m\x00\x00" for _ in range(6))
    switches, last = b"\x0b" + number(len(aspects)), 0
    for flags, name, *slower in aspects:
        switches += number(flags) + b"".join(map(number, slower)) + number(len(name)) + name.encode()
    for method, by in methods:
        switches += b"\x0c" + number(method - last) + number(1) + number(len(by)) + bytes(by)
        last = method
    out = struct.pack("<4sHHII", b"WSYM", 4, 0, 6, 2)
    for raw, level in (plain, 9), (switches, 0):
        packer = zlib.compressobj(level, zlib.DEFLATED, -15)
        packed = packer.compress(raw) + packer.flush()
        out += struct.pack("<III", len(raw), zlib.crc32(raw), len(packed)) + packed
    return out


if __name__ == "__main__":
    # Into a file: one method of that id, of an aspect of level debug, and the next, of one of level info.
    with open(sys.argv[1], "wb") as file:
        file.write(switched(((2, "off"), (1, "on")), ((int(sys.argv[2]), [0]), (int(sys.argv[2]) + 1, [1]))))
