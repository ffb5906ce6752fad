#!/usr/bin/env python3
"""The judges of .NET judged: what is broken on purpose must be told, by each judge."""

import hashlib
import os
import pathlib
import shutil
import struct
import sys

import check_dotnet
import dotnet
from lib import ROOT, WORK, Score, fresh, main, run

# A method a fault; which judge tells it.
BROKEN = """
.assembly extern mscorlib { .ver 4:0:0:0 .publickeytoken = (B7 7A 5C 56 19 34 E0 89) }
.assembly '%s' {}
.module '%s.dll'
.class public Broken extends [mscorlib]System.Object {
  .method public static int32 Underflow() cil managed { .maxstack 2
    add
    ret }
  .method public static int32 Type() cil managed { .maxstack 2
    ldstr "x"
    ret }
  .method public static void Leave() cil managed { .maxstack 2
    .try { ret } catch [mscorlib]System.Exception { pop leave E }
    E: ret }
  .method public static void Absent() cil managed { .maxstack 2
    call void [mscorlib]System.Object::NoSuch()
    ret }
  .method public static void Deep() cil managed { .maxstack 1 .locals init (int32)
    ldc.i4.1 ldc.i4.1 ldc.i4.1 add add stloc.0
    ret }
  .method public static void Order() cil managed { .maxstack 2 .locals init (int32)
    A: nop
    B: nop leave E
    C: pop leave E
    D: pop leave E
    E: ret
    .try A to C catch [mscorlib]System.Exception handler C to D
    .try B to C catch [mscorlib]System.ArgumentException handler D to E }
  .method public static void Fine() cil managed { .maxstack 1
    ret }
  .method public static void Generic<T>(!!T x) cil managed { .maxstack 1
    ldarg.0 pop pop
    ret }
}
"""

# What has everything that a PDB and the tables tell of.
SOURCE = """
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading.Tasks;

[assembly: System.Reflection.AssemblyTitle("whole")]

namespace Whole
{
    public interface IShape<out T> where T : class { T Name { get; } event Action Changed; }

    [StructLayout(LayoutKind.Explicit, Size = 16)]
    public struct Pair { [FieldOffset(0)] public int A; [FieldOffset(8)] public long B; }

    public class Shape : IShape<string>
    {
        private const string Prefix = "shape";
        private static readonly byte[] Table = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };
        public string Name { get; set; }
        public event Action Changed;
        [DllImport("c", EntryPoint = "getpid")] public static extern int Pid([MarshalAs(UnmanagedType.LPStr)] string unused);

        public int Sum(int to = 3)
        {
            int sum = 0;
            for (int i = 0; i < to; i++)
            {
                const int step = 2;
                int square = i * i;
                try { sum += square / (i - 1) + step; }
                catch (DivideByZeroException e) when (e.Message != null) { sum++; Changed?.Invoke(); }
                finally { sum += Table[i]; }
            }
            return sum;
        }

        public async Task<int> Later(int n)
        {
            int before = n;
            await Task.Delay(1);
            Func<int> both = () => before + Prefix.Length;
            return both();
        }

        public IEnumerable<int> Count(int n) { for (int i = 0; i < n; i++) { yield return i; } }
    }
}
"""


def jit(score, folder):
    (folder / "broken.il").write_text(BROKEN % ("Broken", "Broken"))
    run(["ilasm", "-dll", f"-output:{folder / 'Broken.dll'}", folder / "broken.il"])
    # The same in place of an assembly of the runtime.
    (folder / "own.il").write_text(BROKEN % ("System.AppContext", "System.AppContext"))
    run(["ilasm", "-dll", f"-output:{folder / 'own.dll'}", folder / "own.il"])
    expected = {("Underflow", "InvalidProgramException"), ("Leave", "InvalidProgramException"), ("Absent", "MissingMethodException"),
                ("Deep", "InvalidProgramException"),
                ("Order", "InvalidProgramException"), ("Generic", "InvalidProgramException")}
    for runtime in ("core8", "core31"):
        judge = check_dotnet.app("PrepareAll", f"judge-broken-{runtime}")
        told, prepared, _ = check_dotnet.prepare([*dotnet.host(runtime), judge], [str(folder / "Broken.dll")], check_dotnet.QUICK, "broken")
        kinds = {(method.split("::")[1], kind) for kind, _, method in told.values()}
        score.check(f"{runtime} tells broken methods", kinds == expected and prepared == 2, f"{sorted(kinds)}, {prepared} compiled")
        home = check_dotnet.patched(check_dotnet.host(runtime), f"broken-{runtime}", {"System.AppContext.dll": folder / "own.dll"})
        command = [home / "dotnet", *dotnet.host(runtime)[1:], judge, "--own"]
        told, prepared, _ = check_dotnet.prepare(command, ["System.AppContext.dll"], check_dotnet.QUICK, "own")
        kinds = {(method.split("::")[1], kind) for kind, _, method in told.values()}
        score.check(f"{runtime} tells broken methods of its own assembly", kinds == expected, str(sorted(kinds)))
    # A runtime that dies on the second assembly's method 6000007, until that is left out.
    dies = folder / "dies.py"
    dies.write_text("""
import os, sys
args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if "1 100663303" in open(args["--skip"]).read():
    print("prepared 5 unjudged 0 bodies 6")
else:
    open(args["--progress"], "wb").write(bytes([1, 0, 0, 0, 7, 0, 0, 6]))
    os.abort()
""")
    names = ["one", "two", "three", "four", "five", "six"]
    known = check_dotnet.JOBS
    check_dotnet.JOBS = 1
    try:
        told, prepared, _ = check_dotnet.prepare([sys.executable, dies], names, {}, "dies")
    finally:
        check_dotnet.JOBS = known
    score.check("a JIT that crashes is told", set(told) == {("two", "06000007")} and prepared == 5, str(told))
    expected = {("peverify", f"Broken::{m}()") for m in ("Underflow", "Type", "Leave", "Absent", "Deep")}
    told = check_dotnet.complaints(folder / "Broken.dll", [folder])
    score.check("Mono's verifier tells broken methods", expected <= set(told) and ("peverify", "Broken::Fine()") not in told, str(sorted(told)))
    expected = {("JIT", f"Broken:{m} ()") for m in ("Underflow", "Type", "Absent")}
    score.check("Mono's JIT tells broken methods", expected <= set(told) and ("JIT", "Broken:Fine ()") not in told, "")
    problems = check_dotnet.read(folder, ["Broken.dll"])[0].get("Broken.dll", [])
    names = {p.split("::")[1].split("Method")[0] for p in problems if "::" in p}
    score.check("the second reader tells broken methods", names == {"Underflow", "Deep", "Order", "Generic"}, str(problems))


def section_of(image, rva):
    """The file offset of an RVA."""
    header = struct.unpack_from("<I", image, 0x3C)[0]
    count, optional = struct.unpack_from("<H", image, header + 6)[0], struct.unpack_from("<H", image, header + 20)[0]
    for i in range(count):
        at = header + 24 + optional + 40 * i
        size, base, raw, pointer = struct.unpack_from("<IIII", image, at + 8)
        if base <= rva < base + max(size, raw):
            return rva - base + pointer
    raise ValueError(hex(rva))


def streams(data, root):
    """`{name: (offset, size)}` of the metadata streams (ECMA-335 II.24.2.1)."""
    length = struct.unpack_from("<I", data, root + 12)[0]
    count, at = struct.unpack_from("<H", data, root + 18 + length)[0], root + 20 + length
    found = {}
    for _ in range(count):
        offset, size = struct.unpack_from("<II", data, at)
        end = data.index(b"\0", at + 8)
        found[data[at + 8 : end].decode()] = (root + offset, size)
        at += 8 + (end - at - 8) // 4 * 4 + 4
    return found


def metadata_of(image):
    """The file offset of an assembly's metadata root."""
    header = struct.unpack_from("<I", image, 0x3C)[0]
    optional = header + 24
    directories = optional + (96 if struct.unpack_from("<H", image, optional)[0] == 0x10B else 112)
    cor = section_of(image, struct.unpack_from("<I", image, directories + 14 * 8)[0])
    return section_of(image, struct.unpack_from("<I", image, cor + 8)[0])


def mutants(score, folder):
    """Each byte of an assembly's tables and of its PDB's, changed: the reader has to tell."""
    source = folder / "Whole.cs"
    source.write_text(SOURCE)
    plain = folder / "plain"
    plain.mkdir()
    # The same bytes in every checkout: how many changes are not told depends on the lengths of paths.
    run([*dotnet.csc(), "-nologo", "-deterministic", f"-pathmap:{folder}=/src", "-debug:portable", "-target:library",
         f"-out:{plain / 'whole.dll'}", source])
    image, pdb = (plain / "whole.dll").read_bytes(), (plain / "whole.pdb").read_bytes()
    checksum = hashlib.sha256(pdb.replace(pdb[identity(pdb) : identity(pdb) + 20], bytes(20), 1)).digest()
    assert image.count(checksum) == 1, "the checksum in the assembly is made otherwise"
    untouched = check_dotnet.read(plain, ["whole.dll"])
    score.check("the second reader finds a compiler's output whole", not untouched[0] and untouched[3]["whole.dll"][:2] == (9, 22), str(untouched))

    def survivors(what, offsets, change):
        """How many changed bytes are not told."""
        before, after = fresh(folder / f"{what}-before"), fresh(folder / f"{what}-after")
        names = []
        for offset in offsets:
            for bit in (0x01, 0x40):
                name = f"{offset:06x}-{bit:02x}.dll"
                names.append(name)
                os.link(plain / "whole.dll", before / name)
                os.link(plain / "whole.pdb", before / pathlib.Path(name).with_suffix(".pdb"))
                new_image, new_pdb = change(offset, bit)
                (after / name).write_bytes(new_image)
                (after / name).with_suffix(".pdb").write_bytes(new_pdb)
        _, problems, differences, _, _ = check_dotnet.read(before, names, after)
        return [n for n in names if n not in problems and n not in differences], len(names)

    def in_image(offset, bit):
        data = bytearray(image)
        data[offset] ^= bit
        return bytes(data), pdb

    def in_pdb(offset, bit):
        data = bytearray(pdb)
        data[offset] ^= bit
        at = identity(pdb)
        blank = bytes(data[:at]) + bytes(20) + bytes(data[at + 20 :])
        # The checksum is made to fit: it is not what shall tell.
        return image.replace(checksum, hashlib.sha256(blank).digest()), bytes(data)

    found = streams(image, metadata_of(image))
    offset, size = found["#~"]
    # Behind the header: the first row is the module's, whose MVID weaving may change.
    alive, count = survivors("tables", range(offset + 24, offset + size, 4), in_image)
    # Not told, 17 of 942: the module's generation, MVID and edit-and-continue id, which weaving may change or nobody reads;
    # base type and lists of `<Module>`, which has neither; namespaces of nested types; a flag of the assembly; padding.
    score.check("changed bytes of tables are told", len(alive) <= count * 0.02, f"{count - len(alive)} of {count}; not {alive[:20]}")
    # Around the division in `Sum`, opcode 0x5b.
    body = image.index(b"\x5b", section_of(image, 0x2050))
    alive, count = survivors("code", range(body - 20, body + 60), in_image)
    score.check("changed bytes of code are told", not alive, f"{count - len(alive)} of {count}; not {alive[:20]}")
    found = streams(pdb, 0)
    offset, size = found["#~"]
    alive, count = survivors("pdb", range(offset + 24, offset + size, 2), in_pdb)
    # Not told, 65 of 476: which tables are sorted; the document of methods without sequence
    # points; attributes of locals and the like, which mean something to debuggers alone.
    score.check("changed bytes of a PDB's tables are told", len(alive) <= count * 0.14, f"{count - len(alive)} of {count}; not {alive[:20]}")
    offset, size = found["#Blob"]
    alive, count = survivors("pdb-blob", range(offset + 1, offset + size, size // 200), in_pdb)
    # Not told, 4 of 406: bits in the names of imported namespaces, which are for debuggers' expressions.
    score.check("changed bytes of a PDB's blobs are told", len(alive) <= count * 0.015, f"{count - len(alive)} of {count}; not {alive[:20]}")
    offset, _ = found["#Pdb"]
    alive, count = survivors("pdb-head", range(offset, offset + 20, 3), lambda o, b: (image, in_pdb(o, b)[1]))
    score.check("another PDB's id is told", not alive, str(alive))


def identity(pdb):
    """The offset of a PDB's id."""
    return streams(pdb, 0)["#Pdb"][0]


def body():
    score, folder = Score(), fresh(WORK / "dotnet" / "broken")
    jit(score, folder)
    mutants(score, folder)
    shutil.rmtree(folder)
    return score.finish("oracles of .NET")


if __name__ == "__main__":
    main(body)
