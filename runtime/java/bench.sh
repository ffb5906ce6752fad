#!/bin/sh
# What a pair of hooks costs, on the same JDKs as test.sh. The traces go to the folder WEAVE_BENCH_DIR or a temporary one.
set -eu
cd "$(dirname "$0")"
. ./jdks.sh
out=$(mktemp -d ${WEAVE_BENCH_DIR:+-p "$WEAVE_BENCH_DIR"})
trap 'rm -rf "$out"' EXIT

"$jdk/bin/javac" --release 17 -cp weave-runtime.jar -d "$out/bench" bench/*.java
for home in "$jdk" $jdk_new; do
    bench() {
        "$home/bin/java" -cp "$PWD/weave-runtime.jar:$out/bench" "$@"
        rm -f "$out"/*.wtrace
    }
    bench -Dweave.trace="$out/" -Dweave.trace.limit=64m HooksBench 1 2000
    bench -Dweave.trace="$out/" -Dweave.trace.limit=64m HooksBench 2 2000
    bench -Dweave.trace=off HooksBench 1 2000
done
