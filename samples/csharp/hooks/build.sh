#!/bin/sh
# Builds the hooks and lays their rules beside them: build.sh FOLDER makes Audit.dll and hooks.toml there.
set -eu
to=$(cd "$1" && pwd)
cd "$(dirname "$0")"
../../../tests/dotnet/csc -nologo -target:library -langversion:12 -nullable -warnaserror -deterministic -debug- -out:"$to/Audit.dll" ./*.cs
cp hooks.toml "$to"
