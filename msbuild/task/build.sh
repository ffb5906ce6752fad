#!/bin/sh
# Builds Weave.MSBuild.dll, the tasks of the MSBuild package. It is kept in the tree, so that packing needs no .NET; `build.sh --check`
# fails if the one in the tree is not what the sources give. Compiler and signatures are those of runtime/dotnet.
set -eu
cd "$(dirname "$0")"
csc=../../tests/dotnet/csc
ref=../../runtime/dotnet/ref
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

"$csc" -nologo -nostdlib -target:library -deterministic -refonly -unsafe -runtimemetadataversion:v4.0.30319 \
    -publicsign -keyfile:$ref/netstandard.pub -nowarn:0660,0661 -out:"$out/netstandard.dll" "$ref"/System*.cs ref/netstandard.cs $ref/Version.cs
"$csc" -nologo -nostdlib -target:library -deterministic -refonly -publicsign -keyfile:ref/framework.pub \
    -r:"$out/netstandard.dll" -out:"$out/Microsoft.Build.Framework.dll" ref/framework.cs
"$csc" -nologo -nostdlib -langversion:7.3 -target:library -deterministic -optimize -debug- -warnaserror -w:4 \
    -r:"$out/netstandard.dll" -r:"$out/Microsoft.Build.Framework.dll" -pathmap:"$PWD=/weave" -out:"$out/Weave.MSBuild.dll" Say.cs Idle.cs

if [ "${1:-}" = --check ]; then
    if cmp -s "$out/Weave.MSBuild.dll" Weave.MSBuild.dll; then
        echo "Weave.MSBuild.dll is built from this tree"
    else
        echo "Weave.MSBuild.dll is not what this tree builds: run msbuild/task/build.sh and commit it" >&2
        exit 1
    fi
else
    cp "$out/Weave.MSBuild.dll" Weave.MSBuild.dll
    chmod 644 Weave.MSBuild.dll
    echo "Weave.MSBuild.dll: $(wc -c <Weave.MSBuild.dll) bytes"
fi
