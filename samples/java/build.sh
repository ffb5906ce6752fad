#!/bin/sh
# Builds the sample into the jar that is named: build.sh OUT.jar. From JDK 21 on with a switch on a sealed type.
set -eu
jar=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")"
bin=${JAVA_HOME:+$JAVA_HOME/bin/}
version=$("${bin}javac" -version 2>&1 | sed 's/javac \([0-9]*\).*/\1/')
release=17
[ "$version" -lt 21 ] || release=21
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"${bin}javac" --release $release -Xlint:all -Werror -g -d "$out" src/shop/*.java src-$release/shop/*.java
"${bin}jar" --create --file "$jar" --main-class shop.Main -C "$out" .
