#!/bin/sh
# Tests the hook library as it is in the tree, on Mono, CoreCLR 3.1 and CoreCLR 8.0, and the one for .NET 8 on CoreCLR 8.0 and
# on that of the .NET SDK, if one is on the PATH. An argument is part of the name of the tests to run; WEAVE_HOSTS, some of
# `run8 run31 mono net8 net10`; WEAVE_SWITCHES, how often the test under load switches (1,000); WEAVE_IN_TURNS=1 runs each
# test on every other host.
set -eu
cd "$(dirname "$0")"
# Tests mount small disks to fill: without the right to mount they run in a namespace of this user's own. Without either they fail.
unshare --mount true 2>/dev/null || exec unshare --user --map-root-user --mount ./test.sh "$@"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
. ./hosts.sh

sh build.sh --check
printf 'WSYM and so on' >"$out/symbols"
compile Programs.exe -nowarn:SYSLIB0006 -res:"$out/symbols",Weave.Symbols test/Programs.cs
# The same under the name of a tool that runs programs while they are built.
compile ef.exe -nowarn:SYSLIB0006 -res:"$out/symbols",Weave.Symbols test/Programs.cs
mkdir "$out/net8.0"
cp "$out/Programs.exe" "$out/ef.exe" net8.0/Weave.Runtime.dll "$out/net8.0"
failed=0
turn=0
sdk=net10
command -v dotnet >/dev/null 2>&1 || { sdk= && echo "no .NET SDK is on the PATH: the newest CoreCLR is NOT TRIED"; }
for host in ${WEAVE_HOSTS:-run8 run31 mono net8 $sdk}; do
    echo "== $host"
    [ -z "${WEAVE_IN_TURNS:-}" ] || export WEAVE_TURN="$((turn % 2))/2"
    turn=$((turn + 1))
    python3 test/suite.py "$out" "$host" "${1:-}" || failed=1
done
exit $failed
