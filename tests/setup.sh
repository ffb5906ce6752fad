#!/usr/bin/env bash
# Installs what the tests need and the machine lacks, with apt-get, and says what. What cannot be had (no root, another
# system) is named, and the step that needs it fails with its own word.
set -u
declare -A packages=(
    [go]=golang-go
    [openssl]=openssl
    [tmux]=tmux
    [mvn]=maven
    [javac]=openjdk-17-jdk-headless
    [gcc]=gcc
    [python3]=python3
    [redis-server]=redis-server
    [mono]=mono-complete
    [npm]=npm
    [aapt]=aapt
    [apksigner]=apksigner
    [baksmali]=libsmali-java
    [chromium]=chromium
    [dexdump]=dexdump
    [enjarify]=enjarify
    [zipalign]=zipalign
)
# apt-get, once no other holds its locks. Its own option for that waits for dpkg's lock, not for that of the lists.
apt() {
    local told status tries=0
    while :; do
        told=$(DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -qq "$@" 2>&1)
        status=$?
        case $told in *"Could not get lock"* | *"Unable to lock"*) ;; *) break ;; esac
        [ $((tries += 1)) -le 200 ] || break
        [ "$tries" -gt 1 ] || echo "waiting for another apt"
        sleep 3
    done
    [ "$status" = 0 ] || echo "$told" >&2
    return $status
}
lacking=
for tool in "${!packages[@]}"; do
    command -v "$tool" >/dev/null 2>&1 || lacking="$lacking ${packages[$tool]}"
done
# The .NET runtimes are fetched with pip.
python3 -m pip --version >/dev/null 2>&1 || lacking="$lacking python3-pip"
# What native programs of .NET are linked with.
[ -e /usr/include/zlib.h ] || lacking="$lacking zlib1g-dev"
# flamegraph.pl, on no PATH.
[ -e /usr/share/perl5/Devel/NYTProf/flamegraph.pl ] || lacking="$lacking libdevel-nytprof-perl"
# On no PATH, either.
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || lacking="$lacking postgresql"
# What runs programs of Windows: for one test of the long form alone.
[ "${1:-}" != --windows ] || [ -e /usr/lib/wine/wine64 ] || command -v wine64 >/dev/null 2>&1 || lacking="$lacking wine64"
# A broker, for one part of the long form.
[ "${1:-}" != --rabbit ] || ls /usr/lib/rabbitmq/lib/*/sbin/rabbitmq-server >/dev/null 2>&1 || lacking="$lacking rabbitmq-server"
# What the tests under another locale are made from.
[ -e /usr/share/i18n/locales/tr_TR ] || lacking="$lacking locales"
[ -n "$lacking" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing$lacking"
    apt update && apt install -y --no-install-recommends $lacking && exit 0
fi
echo "cannot install$lacking: install it, or choose tests that do without (./test.sh --list)" >&2
exit 1
