#!/bin/sh
# Builds Weave.Runtime.dll, the hook library, for .NET Standard 2.0, which the weave binary embeds, and for .NET 8, which the
# NuGet package has beside it. Both are kept in the tree, so that building weave needs no .NET, and so are their symbols, with the
# sources in them, and what editors show of the public members; `build.sh --check` builds all that
# beside the tree and fails if one in the tree is not the same, byte for byte. The compiler is that of tests/dotnet.
# The library refers to nothing but what ref/ declares: for .NET Standard as one assembly, for .NET 8 each file as one.
# weave.snk is the key of its strong name, which is an identity and no secret.
set -eu
cd "$(dirname "$0")"
csc=../../tests/dotnet/csc
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

reference() { # KEY ASSEMBLY OPTIONS SOURCES
    key=$1 made=$2
    shift 2
    "$csc" -nologo -nostdlib -target:library -deterministic -refonly -unsafe -runtimemetadataversion:v4.0.30319 \
        -publicsign -keyfile:"ref/$key.pub" -nowarn:0660,0661 -out:"$made" "$@" ref/Version.cs
}

library() { # FOLDER OPTIONS SOURCES
    folder=$1
    shift
    "$csc" -nologo -nostdlib -langversion:7.3 -target:library -deterministic -optimize -debug:portable -embed -unsafe -warnaserror -w:4 \
        -keyfile:weave.snk -pathmap:"$PWD=/weave" -doc:"$out/$folder/documents.xml" -nowarn:1573 -out:"$out/$folder/Weave.Runtime.dll" "$@" src/*.cs
}

mkdir "$out/netstandard2.0" "$out/net8.0"
reference netstandard "$out/netstandard2.0/netstandard.dll" ref/System*.cs
library netstandard2.0 -r:"$out/netstandard2.0/netstandard.dll" src/netstandard2.0/*.cs

core=$out/net8.0/System.Runtime.dll
reference net8.0 "$core" -define:NET8_0_OR_GREATER ref/System.Runtime.cs
references=-r:$core
for name in System.Collections System.Console System.Data.Common System.IO.FileSystem.DriveInfo System.IO.MemoryMappedFiles \
    System.Runtime.InteropServices System.Threading \
    System.Threading.Thread System.Threading.ThreadPool; do
    reference net8.0 "$out/net8.0/$name.dll" -define:NET8_0_OR_GREATER -r:"$core" "ref/$name.cs"
    references="$references -r:$out/net8.0/$name.dll"
done
# It has the key of .NET Standard.
activities=$out/net8.0/System.Diagnostics.DiagnosticSource.dll
reference netstandard "$activities" -define:NET8_0_OR_GREATER -r:"$core" ref/System.Diagnostics/DiagnosticSource.cs
library net8.0 $references -r:"$activities" src/net8.0/*.cs

# The compiler lists all members: those of public types that are public themselves count.
names() { sed -n "s/^ *public $1/\\1/p" src/*.cs | sort -u | tr '\n' '|' | sed 's/|$//'; }
awk -v names="Weave[.]Runtime[.]($(names 'static class \([A-Za-z]*\).*'))([.]($(names 'static [A-Za-z]* \([A-Za-z]*\)(.*'))[(\"]|\")" '
    /<member / { kept = $0 ~ names; inside = 1 }
    !inside || kept { print }
    /<\/member>/ { inside = 0 }' "$out/netstandard2.0/documents.xml" >"$out/netstandard2.0/Weave.Runtime.xml"

status=0
for made in netstandard2.0/Weave.Runtime.dll netstandard2.0/Weave.Runtime.pdb netstandard2.0/Weave.Runtime.xml net8.0/Weave.Runtime.dll \
    net8.0/Weave.Runtime.pdb; do
    # The one that is embedded lies where it always did.
    kept=${made#netstandard2.0/}
    if [ "${1:-}" != --check ]; then
        mkdir -p "$(dirname "$kept")"
        cp "$out/$made" "$kept"
        chmod 644 "$kept"
        echo "$kept: $(wc -c <"$kept") bytes"
    elif cmp -s "$out/$made" "$kept"; then
        echo "$kept is built from this tree"
    else
        echo "$kept is not what this tree builds: run runtime/dotnet/build.sh and commit it" >&2
        status=1
    fi
done
exit $status
