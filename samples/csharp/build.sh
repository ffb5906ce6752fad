#!/bin/sh
# Builds the sample into the assembly that is named, its PDB beside it: build.sh OUT.dll [OPTIONS OF CSC].
set -eu
dll=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
cd "$(dirname "$0")"
exec ../../tests/dotnet/csc -nologo -target:exe -langversion:12 -nullable -warnaserror -deterministic -debug:portable \
    -pathmap:"$PWD"=/samples/csharp -out:"$dll" "$@" src/*.cs
