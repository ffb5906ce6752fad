#!/bin/sh
# Builds the hooks as a dex file and lays their rules beside it: build.sh FOLDER makes hooks.dex and hooks.toml there. Needs a JDK
# and Maven (for dx).
set -eu
to=$(cd "$1" && pwd)
cd "$(dirname "$0")"
bin=${JAVA_HOME:+$JAVA_HOME/bin/}
dx=$HOME/.m2/repository/com/jakewharton/android/repackaged/dalvik-dx/9.0.0_r3/dalvik-dx-9.0.0_r3.jar
[ -r "$dx" ] || mvn -q -B dependency:get -Dtransitive=false -Dartifact=com.jakewharton.android.repackaged:dalvik-dx:9.0.0_r3 >&2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"${bin}javac" --release 8 -Xlint:all,-options -Werror -d "$out/classes" audit/*.java
"${bin}java" -cp "$dx" com.android.dx.command.Main --dex --min-sdk-version=21 --output="$out/classes.dex" "$out/classes"
mv "$out/classes.dex" "$to/hooks.dex"
cp hooks.toml "$to"
