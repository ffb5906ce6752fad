#!/bin/sh
# Builds weave-runtime.jar, the hook library that the weave binary embeds. The jar is kept in the tree, so that building
# weave needs no JDK. `build.sh --check` builds it beside the tree and fails if the one in the tree does not hold the same
# classes, byte for byte.
# The bytes are those of JDK 17's compiler.
set -eu
cd "$(dirname "$0")"
javac=${JAVA_HOME:+$JAVA_HOME/bin/}javac
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

"$javac" --release 8 -Xlint:all,-options -Werror -g:source,lines -d "$out/classes" src/weave/runtime/*.java
"$javac" --release 9 -Xlint:all,-options -Werror -g:source --patch-module weave.runtime="$out/classes" \
    -d "$out/classes/META-INF/versions/9" src/module-info.java

if [ "${1:-}" = --check ]; then
    if python3 pack.py "$out/classes" weave-runtime.jar --check; then
        echo "weave-runtime.jar is built from this tree"
    else
        echo "weave-runtime.jar is not what this tree builds: run runtime/java/build.sh and commit the jar" >&2
        exit 1
    fi
else
    python3 pack.py "$out/classes" weave-runtime.jar
    echo "weave-runtime.jar: $(wc -c <weave-runtime.jar) bytes"
fi
