#!/bin/sh
# What a pair of hooks costs on each host. The traces go to the folder WEAVE_BENCH_DIR or a temporary one.
set -eu
cd "$(dirname "$0")"
out=$(mktemp -d ${WEAVE_BENCH_DIR:+-p "$WEAVE_BENCH_DIR"})
trap 'rm -rf "$out"' EXIT
. ./hosts.sh

python3 test/maps.py "$out/map" 4713
compile HooksBench.exe -res:"$out/map",Weave.Symbols bench/HooksBench.cs
for host in run8 run31 mono; do
    run="$tools/$host"
    [ "$host" = mono ] && run=mono
    bench() { # WEAVE_TRACE THREADS
        BENCH_HOST=$host WEAVE_TRACE=$1 WEAVE_TRACE_LIMIT=64m $run "$out/HooksBench.exe" "$2" 1000
        rm -f "$out"/*.wtrace
    }
    bench "$out/" 1
    bench "$out/" 2
    bench off 1
done

# How long a woven call stops its thread at worst, switched off and on: one thread, eight.
compile StallBench.exe bench/StallBench.cs
for threads in 1 8; do
    for trace in off "$out/stall.wtrace"; do
        echo "$trace: $(WEAVE_TRACE=$trace "$tools/run8" "$out/StallBench.exe" $threads 100000000)"
        rm -f "$out"/*.wtrace
    done
done
