#!/bin/sh
# Builds Weave.Runtime.dll, the hook library that the weave binary embeds. It is kept in the tree, so that building weave
# needs no .NET; `build.sh --check` builds it beside the tree and fails if the one in the tree is not the same, byte for
# byte. The compiler is that of tests/dotnet.
# The library refers to netstandard 2.0 and nothing else: ref/netstandard.cs declares what it uses of that.
# weave.snk is the key of its strong name, which is an identity and no secret.
set -eu
cd "$(dirname "$0")"
csc=../../tests/dotnet/csc
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

"$csc" -nologo -nostdlib -target:library -deterministic -refonly -unsafe -runtimemetadataversion:v4.0.30319 \
    -publicsign -keyfile:ref/netstandard.pub -nowarn:0660,0661 -out:"$out/netstandard.dll" ref/netstandard.cs
"$csc" -nologo -nostdlib -langversion:7.3 -target:library -deterministic -optimize -debug- -unsafe -warnaserror -w:4 \
    -keyfile:weave.snk -r:"$out/netstandard.dll" -pathmap:"$PWD=/weave" -out:"$out/Weave.Runtime.dll" src/*.cs

if [ "${1:-}" = --check ]; then
    if cmp -s "$out/Weave.Runtime.dll" Weave.Runtime.dll; then
        echo "Weave.Runtime.dll is built from this tree"
    else
        echo "Weave.Runtime.dll is not what this tree builds: run runtime/dotnet/build.sh and commit it" >&2
        exit 1
    fi
else
    cp "$out/Weave.Runtime.dll" Weave.Runtime.dll
    chmod 644 Weave.Runtime.dll
    echo "Weave.Runtime.dll: $(wc -c <Weave.Runtime.dll) bytes"
fi
