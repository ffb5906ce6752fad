#!/usr/bin/env bash
# All tests of the tree, the everyday ones by default (about twenty minutes on two cores).
#
#   ./test.sh                all of it, with a part of the corpora and of the programs
#   ./test.sh --full         all programs and suites, most of the corpora (about an hour)
#   ./test.sh --everything   the corpora's largest artifacts, too
#   ./test.sh --quick        fmt, clippy and cargo's tests: Rust and a JDK
#   ./test.sh --only NAME    one of: fmt clippy cargo elsewhere runtime oracles sample android dotnet sdk corpora programs more
#   ./test.sh --without NAME all but this one; again for more
#
# Needs cargo and a JDK, 17; all but --quick also python3 with pip, Maven, npm, Mono, Go, tmux, Chromium, a .NET SDK 10 (step sdk; on
# the PATH, or named by WEAVE_SDK) and a newer JDK (WEAVE_JDKS names the JDKs' folders). As root on Debian it installs what it lacks of these, but for the newer JDK (tests/setup.sh). --full also
# needs apt-get and dpkg. The corpora go to .cache/ (or WEAVE_CORPORA). What is missing is a failure; nothing is
# skipped silently.
set -u
cd "$(dirname "$0")"
steps="fmt clippy cargo elsewhere runtime oracles sample android dotnet sdk corpora programs"
scope=--everyday chosen=
while [ $# -gt 0 ]; do
    case $1 in
        --full | --everything) scope=$1 ;;
        --quick) steps="fmt clippy cargo" chosen=1 ;;
        --only)
            [ $# -gt 1 ] || { echo "--only needs a name" >&2; exit 2; }
            case " $steps more " in *" $2 "*) ;; *) echo "no step $2 among: $steps" >&2; exit 2 ;; esac
            steps=$2 chosen=1
            shift
            ;;
        --without)
            [ $# -gt 1 ] || { echo "--without needs a name" >&2; exit 2; }
            case " $steps " in *" $2 "*) ;; *) echo "no step $2 among: $steps" >&2; exit 2 ;; esac
            steps=" $steps "
            steps=${steps/ $2 / }
            shift
            ;;
        -h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) echo "unknown option $1 (see --help)" >&2; exit 2 ;;
    esac
    shift
done

[ "$scope" = --everyday ] || [ -n "$chosen" ] || steps="$steps more"

# The fuzz targets are a workspace of their own, which nothing else compiles.
lint() { cargo clippy --quiet "$@" -- -D warnings; }
release() { cargo build --release --quiet; }
# The targets of fuzz/ over many seeded inputs, optimised, with checks of overflow; `cargo test` runs 2,000 each.
fuzz() { CARGO_PROFILE_DEV_OPT_LEVEL=2 WEAVE_FUZZ_ROUNDS=200000 cargo test --quiet --test fuzz; }
# Runs two commands, whether or not the first fails.
both() {
    local first=() status=0
    while [ "$1" != -- ]; do first+=("$1"); shift; done
    shift
    "${first[@]}" || status=1
    "$@" || status=1
    return $status
}
step() {
    case $1 in
        fmt) cargo fmt --all --check ;;
        clippy) lint --all-targets && lint --manifest-path fuzz/Cargo.toml --no-default-features --target-dir target ;;
        cargo) cargo test --no-fail-fast ;;
        elsewhere) python3 tests/harness/elsewhere.py ;;
        runtime) ./runtime/java/test.sh && ./runtime/dotnet/test.sh ;;
        oracles) both python3 tests/harness/test_oracles.py -- python3 tests/harness/test_oracles_dotnet.py ;;
        sample) release && both python3 tests/harness/sample.py -- both python3 tests/harness/sample_dotnet.py -- both python3 tests/harness/exports.py -- both python3 tests/harness/otlp.py "$scope" -- both python3 tests/harness/top.py -- both python3 tests/harness/page.py -- both python3 tests/harness/hooks.py -- both python3 tests/harness/calls.py $scope -- both python3 tests/harness/chains.py -- both python3 tests/harness/values.py -- both python3 tests/harness/counts.py -- both python3 tests/harness/aggregates.py -- both python3 tests/harness/control.py -- both python3 tests/harness/sampling.py -- both python3 tests/harness/diff.py -- python3 tests/harness/tune.py ;;
        android) release && both python3 tests/harness/sample_android.py -- both python3 tests/harness/check_dex.py $scope -- both python3 tests/harness/check_art.py $scope -- python3 tests/harness/programs_dex.py $scope ;;
        dotnet) release && both python3 tests/harness/check_dotnet.py $scope -- both python3 tests/harness/check_own_hooks.py $scope -- python3 tests/harness/programs_dotnet.py $scope ;;
        sdk) release && both python3 tests/harness/msbuild.py "$([ "$scope" = --everyday ] && echo --everyday || echo --full)" -- both python3 tests/harness/databases.py --only adonet -- both python3 tests/harness/clients.py --only dotnet -- python3 tests/harness/runtime_async.py $scope ;;
        corpora) release && python3 tests/harness/check_corpora.py $scope ;;
        programs) release && both python3 tests/harness/programs.py $scope -- both python3 tests/harness/databases.py --only jdbc -- both python3 tests/harness/clients.py --only java -- both python3 tests/harness/layouts.py $scope -- python3 tests/harness/loaders.py ;;
        more) release && both fuzz -- both python3 tests/harness/suites.py $scope -- both python3 tests/harness/servers.py -- both python3 tests/harness/jaeger.py -- both python3 tests/harness/aot.py -- python3 tests/harness/agents.py ;;
    esac
}

# The everyday run looks at the same cases of each property, so that what fails is of the change; the others look for more.
[ "$scope" != --everyday ] || export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED-20}

# Rust alone is enough for the first two steps.
case $steps in fmt | clippy) ;; *) tests/setup.sh || exit 1 ;; esac
[ "$scope" = --everyday ] || apt-get update -qq || { echo "FAILED: apt-get update" >&2; exit 1; }

# The java on the PATH is what everyday tests run on: it must be there, and a missing one be told at once.
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
command -v "$java" >/dev/null 2>&1 || { echo "FAILED: no java on the PATH nor in JAVA_HOME: a JDK, 17, is needed" >&2; exit 1; }

failed=
for name in $steps; do
    printf '\n== %s\n' "$name"
    SECONDS=0
    step "$name" || failed="$failed $name"
    printf '== %s: %s s\n' "$name" "$SECONDS"
done
if [ -n "$failed" ]; then
    printf '\nFAILED:%s\n' "$failed"
    exit 1
fi
printf '\nall passed: %s\n' "$steps"
