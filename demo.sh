#!/usr/bin/env bash
# The main job on the sample: builds weave and samples/java, weaves the sample's jar by its rules, runs it,
# and shows what it did. Needs cargo and a JDK (17 or newer); what it makes is in .cache/demo.
set -eu
cd "$(dirname "$0")"
for tool in cargo javac java jar; do
    command -v "${JAVA_HOME:+$JAVA_HOME/bin/}$tool" >/dev/null 2>&1 || command -v $tool >/dev/null 2>&1 || {
        echo "$tool is missing: a demo needs Rust (rustup.rs) and a JDK, 17 or newer" >&2
        exit 1
    }
done
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
out=.cache/demo
mkdir -p $out
rm -f $out/*.wtrace
say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; "$@"; }

say cargo build --release
weave=${CARGO_TARGET_DIR:-target}/release/weave
say samples/java/build.sh $out/shop.jar
say "$weave" --rules samples/java/weave.toml $out/shop.jar $out/shop-woven.jar
say env WEAVE_TRACE=$out/shop.wtrace "$java" -jar $out/shop-woven.jar
say "$weave" report $out/shop.wtrace
