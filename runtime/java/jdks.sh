# Sets jdk and jdk_new (maybe empty), the homes of the two JDKs to run on. Sourced by test.sh and bench.sh.
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
jdk=$("$java" -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java.home = //p')
jdk_new=${WEAVE_JDK_NEW:-}
if [ -z "$jdk_new" ]; then
    best=17
    IFS_was=$IFS
    IFS=:
    for home in ${WEAVE_JDKS:-} /usr/lib/jvm/*; do
        [ -x "$home/bin/javac" ] && [ -r "$home/release" ] || continue
        version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$home/release")
        if [ "${version:-0}" -gt "$best" ]; then
            best=$version
            jdk_new=$home
        fi
    done
    IFS=$IFS_was
fi
[ -n "$jdk_new" ] || echo "no newer JDK found (WEAVE_JDK_NEW): virtual threads are not covered" >&2
