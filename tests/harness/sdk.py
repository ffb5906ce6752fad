"""A .NET SDK for tests, and the folder of NuGet packages that goes with it.

WEAVE_SDK names an unpacked one (a folder with `dotnet` and `packages`); else it is the SDK on the PATH, with the sources of packages
that this machine has; else `../shared/dotnet` beside the checkout, unpacked into the cache once.
"""

import os
import pathlib
import re
import shutil
import subprocess

import lib

#: The oldest SDK that the tests are for.
MAJOR = 10
ARCHIVES = lib.ROOT.parent / "shared/dotnet"
CONFIG = """<configuration>
  <packageSources>{sources}</packageSources>
  <packageSourceMapping><clear /></packageSourceMapping>
</configuration>
"""


def major(dotnet):
    """The major version of an SDK; 0 if it does not run."""
    done = subprocess.run([dotnet, "--version"], text=True, capture_output=True, cwd=lib.ROOT, env=variables(dotnet))
    number = done.stdout.strip().split(".")[0]
    return int(number) if done.returncode == 0 and number.isdigit() else 0


def variables(dotnet):
    """What an SDK needs to run alone: no first-run words, English; of the servers that outlive a build only the compiler's, as
    users have it: it ends by itself."""
    home = pathlib.Path(dotnet).resolve().parent
    environment = {
        **os.environ, "DOTNET_ROOT": str(home), "PATH": f"{home}{os.pathsep}{os.environ.get('PATH', '')}",
        "DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1", "DOTNET_CLI_UI_LANGUAGE": "en",
        "DOTNET_CLI_WORKLOAD_UPDATE_NOTIFY_DISABLE": "true", "DOTNET_GENERATE_ASPNET_CERTIFICATE": "false",
        "DOTNET_ADD_GLOBAL_TOOLS_TO_PATH": "false", "DOTNET_SKIP_FIRST_TIME_EXPERIENCE": "1",
        "MSBUILDDISABLENODEREUSE": "1", "DOTNET_CLI_USE_MSBUILD_SERVER": "0",
    }
    environment.pop("MSBUILD_EXE_PATH", None)
    if not has_icu():
        environment["DOTNET_SYSTEM_GLOBALIZATION_INVARIANT"] = "1"
    return environment


def has_icu():
    """Whether the library for other languages is here, which the SDK asks for on Linux."""
    if not shutil.which("ldconfig"):
        return True
    return "libicuuc" in subprocess.run(["ldconfig", "-p"], text=True, capture_output=True).stdout


class Sdk:
    """An SDK: `dotnet`, the environment of its commands, and where packages come from."""

    def __init__(self, dotnet, feed, number):
        self.dotnet, self.feed, self.major = pathlib.Path(dotnet).resolve(), feed, number

    def environment(self, packages, **more):
        """The environment of commands; `packages` is the folder that NuGet unpacks packages into."""
        return {**variables(self.dotnet), "NUGET_PACKAGES": str(packages), **{name: str(value) for name, value in more.items()}}

    def framework(self, name="Microsoft.NETCore.App"):
        """The folder of a framework's assemblies, or (`sdk`) of the SDK's own; of several, the newest."""
        parent = self.dotnet.parent / ("sdk" if name == "sdk" else f"shared/{name}")
        numbers = lambda path: [int(n) for n in re.findall(r"\d+", path.name)]
        found = sorted((path for path in parent.glob(f"{self.major}.*") if path.is_dir()), key=numbers)
        if not found:
            raise lib.Missing(f"the .NET SDK has no {name} {self.major} in {parent}")
        return found[-1]

    def config(self, *folders):
        """The text of a nuget.config for these folders of packages and the SDK's own."""
        sources = [folder for folder in (*folders, self.feed) if folder]
        named = "".join(f'<add key="source{i}" value="{source}" />' for i, source in enumerate(sources))
        # A folder that goes with the SDK has all that tests need: no other source is asked.
        return CONFIG.format(sources=f"<clear />{named}" if self.feed else named)


def unpacked(folder):
    folder = pathlib.Path(folder).resolve()
    dotnet = folder / "dotnet/dotnet"
    number = major(dotnet) if dotnet.is_file() else 0
    return Sdk(dotnet, folder / "packages", number) if number >= MAJOR else None


def unpack(folder):
    """Unpacks the archives, unless it has seen the same ones: the script reads all of them to find that out, which takes a second."""
    files = sorted(path for path in ARCHIVES.iterdir() if path.is_file())
    now = "".join(f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}\n" for path in files)
    seen = folder.with_name(f"{folder.name}.seen")
    if not (folder.is_dir() and seen.is_file() and seen.read_text() == now):
        seen.unlink(missing_ok=True)
        lib.run([ARCHIVES / "unpack.sh", folder])
        seen.write_text(now)


def find():
    """The SDK that tests use."""
    named = os.environ.get("WEAVE_SDK")
    if named:
        found = unpacked(named)
        if not found:
            raise lib.Missing(f"WEAVE_SDK: there is no .NET SDK {MAJOR} in {named}")
        return found
    on_path = shutil.which("dotnet")
    number = major(on_path) if on_path else 0
    if number >= MAJOR:
        return Sdk(on_path, None, number)
    if (ARCHIVES / "unpack.sh").is_file():
        with lib.locked("sdk"):
            unpack(lib.CACHE / "sdk")
        found = unpacked(lib.CACHE / "sdk")
        if found:
            return found
    raise lib.Missing(f"no .NET SDK {MAJOR} or newer: install one (https://dotnet.microsoft.com/download), "
                      "or name an unpacked one in WEAVE_SDK")


if __name__ == "__main__":
    lib.main(lambda: print(find().dotnet))
