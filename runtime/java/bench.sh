#!/bin/sh
# What a pair of hooks costs, on the same JDKs as test.sh. The traces go to the folder WEAVE_BENCH_DIR or a temporary one.
# OpenTelemetry, for comparison, is asked of Maven.
set -eu
cd "$(dirname "$0")"
. ./jdks.sh
out=$(mktemp -d ${WEAVE_BENCH_DIR:+-p "$WEAVE_BENCH_DIR"})
trap 'rm -rf "$out"' EXIT

otel=1.44.1
mvn -q -B dependency:get -Dartifact=io.opentelemetry:opentelemetry-sdk-trace:$otel
peers=
for name in api context sdk-trace sdk-common; do
    peers=$peers:$HOME/.m2/repository/io/opentelemetry/opentelemetry-$name/$otel/opentelemetry-$name-$otel.jar
done
peers=$peers:$HOME/.m2/repository/io/opentelemetry/opentelemetry-api-incubator/$otel-alpha/opentelemetry-api-incubator-$otel-alpha.jar

"$jdk/bin/javac" --release 17 -cp "weave-runtime.jar$peers" -d "$out/bench" bench/*.java
uptime
for home in "$jdk" $jdk_new; do
    bench() {
        "$home/bin/java" -cp "$PWD/weave-runtime.jar:$out/bench$peers" "$@"
        rm -f "$out"/*.wtrace
    }
    bench -Dweave.trace="$out/" -Dweave.trace.limit=64m HooksBench 1 2000
    bench -Dweave.trace="$out/" -Dweave.trace.limit=64m HooksBench 2 2000
    bench -Dweave.trace="$out/" -Dweave.trace.limit=64m ValuesBench 1000
    bench -Dweave.trace=off HooksBench 1 2000
    bench -Dweave.trace="$out/" -Dweave.trace.limit=64m SwitchBench 1000
    echo "the default set-up, first fill"
    bench -Dweave.trace="$out/" DefaultBench 40
    echo "after the wrap"
    bench -Dweave.trace="$out/" -Dweave.trace.limit=128m DefaultBench 80
    echo "stalls, a fresh file of 1 GB and the ring after it"
    for threads in 1 8; do
        bench -Dweave.trace="$out/" -Dweave.trace.limit=1g StallBench $threads 65
        bench -Dweave.trace=off StallBench $threads 65
    done
done
