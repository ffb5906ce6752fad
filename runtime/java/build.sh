#!/bin/sh
# Builds weave-runtime.jar, the hook library that the weave binary embeds. The jar is kept in the tree, so that building
# weave needs no JDK. `build.sh --check` builds it beside the tree and fails if the one in the tree does not hold the same
# classes, byte for byte.
# The bytes are those of JDK 17's compiler.
# weave-runtime.dex is the same for Android: the classes converted by dx, which is asked of Maven where neither WEAVE_DX
# names its jar nor Maven has it.
set -eu
cd "$(dirname "$0")"
javac=${JAVA_HOME:+$JAVA_HOME/bin/}javac
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# All are class files of Java 8. Those that use more of the platform than Java 8 has come first: ref declares what JDK 17 lacks.
java8="-source 8 -target 8 -Xlint:all,-options -Werror -g:source,lines"
"$javac" $java8 -d "$out/ref" $(find ref -name '*.java')
"$javac" $java8 -d "$out/classes" src/weave/runtime/Java9.java
"$javac" $java8 -Xbootclasspath/p:"$out/ref" -d "$out/classes" src/weave/runtime/Java22.java
"$javac" --release 8 -Xlint:all,-options -Werror -g:source,lines -cp "$out/classes" -d "$out/classes" \
    $(ls src/weave/runtime/*.java | grep -v 'Java[0-9A-Z][a-z0-9]*\.java')
"$javac" --release 11 -Xlint:all -Werror -g:source,lines -cp "$out/classes" -d "$out/classes" src/weave/runtime/JavaNet.java
"$javac" --release 9 -Xlint:all,-options -Werror -g:source --patch-module weave.runtime="$out/classes" \
    -d "$out/classes/META-INF/versions/9" src/module-info.java

dx=${WEAVE_DX:-$HOME/.m2/repository/com/jakewharton/android/repackaged/dalvik-dx/9.0.0_r3/dalvik-dx-9.0.0_r3.jar}
[ -r "$dx" ] || mvn -q -B dependency:get -Dtransitive=false \
    -Dartifact=com.jakewharton.android.repackaged:dalvik-dx:9.0.0_r3
mkdir "$out/dex"
cp -r "$out/classes/weave" "$out/dex"
rm "$out/dex/weave/runtime/Java22.class" "$out"/dex/weave/runtime/JavaNet*.class # no Android has them
"${javac%javac}java" -cp "$dx" com.android.dx.command.Main --dex --min-sdk-version=21 \
    --output="$out/weave-runtime.dex" "$out/dex"

if [ "${1:-}" = --check ]; then
    if python3 pack.py "$out/classes" weave-runtime.jar --check && cmp -s "$out/weave-runtime.dex" weave-runtime.dex; then
        echo "weave-runtime.jar and weave-runtime.dex are built from this tree"
    else
        echo "weave-runtime.jar or .dex is not what this tree builds: run runtime/java/build.sh and commit both" >&2
        exit 1
    fi
else
    python3 pack.py "$out/classes" weave-runtime.jar
    cp "$out/weave-runtime.dex" weave-runtime.dex
    echo "weave-runtime.jar: $(wc -c <weave-runtime.jar) bytes, weave-runtime.dex: $(wc -c <weave-runtime.dex) bytes"
fi
