#!/bin/sh
# Builds the hooks and lays their rules beside them: build.sh FOLDER makes hooks.jar and hooks.toml there.
set -eu
to=$(cd "$1" && pwd)
cd "$(dirname "$0")"
bin=${JAVA_HOME:+$JAVA_HOME/bin/}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"${bin}javac" --release 8 -Xlint:all,-options -Werror -d "$out" audit/*.java
"${bin}jar" --create --file "$to/hooks.jar" -C "$out" .
cp hooks.toml "$to"
