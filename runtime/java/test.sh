#!/bin/sh
# Tests the hook library as it is packed in weave-runtime.jar, on the JDK of the path (or JAVA_HOME) and on a newer one:
# WEAVE_JDK_NEW, or the newest of WEAVE_JDKS and of those installed (WEAVE_ONE_JDK=1 makes do without). The arguments:
# part of the name of the tests to run, and how many seconds those take that may be longer (WEAVE_SECONDS, or 3);
# WEAVE_SWITCHES, how often the test under load switches (1,000); WEAVE_IN_TURNS=1 runs each test on one of the JDKs, half
# of them on each. The program WEAVE must read the traces: unless it is set,
# it is built.
set -eu
cd "$(dirname "$0")"
# Tests mount small disks to fill: without the right to mount they run in a namespace of this user's own. Without either they fail.
unshare --mount true 2>/dev/null || exec unshare --user --map-root-user --mount ./test.sh "$@"
. ./jdks.sh
[ -n "$jdk_new" ] || [ -n "${WEAVE_ONE_JDK:-}" ] || exit 1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

if [ -z "${WEAVE:-}" ]; then
    cargo build -q --manifest-path ../../Cargo.toml
    export WEAVE="${CARGO_TARGET_DIR:-$PWD/../../target}/debug/weave"
fi
sh build.sh --check
"$jdk/bin/javac" -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC --release 17 -Xlint:all,-serial -Werror -cp weave-runtime.jar -d "$out/test" test/*.java \
    bench/Modest.java # it goes by the library's insides, and bench.sh runs rarely
status=0
turn=0
for home in "$jdk" $jdk_new; do
    echo "== $("$home/bin/java" -version 2>&1 | head -n 1)"
    [ -z "${WEAVE_IN_TURNS:-}" ] || [ -z "$jdk_new" ] || export WEAVE_TURN="$turn/2"
    turn=$((turn + 1))
    "$home/bin/java" -cp "$PWD/weave-runtime.jar:$out/test" Suite "$out" "${1:-}" "${2:-${WEAVE_SECONDS:-3}}" || status=1
done
exit $status
