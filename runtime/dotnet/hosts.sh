# Compiles programs against the hook library and runs them on each host: Mono, CoreCLR 3.1 and CoreCLR 8.0. Sourced by
# test.sh and bench.sh, in runtime/dotnet; needs `out`, a folder. One binary runs on all: it refers to mscorlib, as Mono's has it.
tools=../../tests/dotnet
mono_lib=$(dirname "$(readlink -f "$(command -v mono)")")/../lib/mono

compile() { # NAME SOURCES
    name=$1
    shift
    cp Weave.Runtime.dll "$out"
    "$tools/csc" -nologo -nostdlib -optimize -debug- -warnaserror -out:"$out/$name" -r:"$mono_lib/4.5-api/mscorlib.dll" \
        -r:"$mono_lib/4.5-api/System.dll" -r:"$mono_lib/4.5-api/System.Core.dll" -r:"$mono_lib/4.5/Facades/netstandard.dll" -r:Weave.Runtime.dll "$@"
}
