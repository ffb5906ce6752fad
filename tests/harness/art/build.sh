#!/usr/bin/env bash
# Builds the judge: ART's own verifiers, of Debian's package, behind a command of ours.
#
#     build.sh android-all.jar OUT_FOLDER
#
# Needs Debian 12 on amd64 and root, for the packages; the headers are those of the package's source.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
android=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
version=11.0.0+r48-5
libraries=/usr/lib/x86_64-linux-gnu/android
export DEBIAN_FRONTEND=noninteractive
cd "$out"

[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || { echo "ART's judge is for Debian on amd64" >&2; exit 1; }
# A list of the sources that go with the packages, for this folder alone.
mkdir -p lists/partial
: > sources.list
for list in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
    if [ -f "$list" ]; then
        case $list in
            *.sources) sed 's/^Types:.*/Types: deb-src/' "$list" > debian.sources; rm -f sources.list; break ;;
            *) sed -n 's/^deb /deb-src /p' "$list" > sources.list ;;
        esac
    fi
done
list=$out/$( [ -f sources.list ] && echo sources.list || echo debian.sources )
sources=(-o Dir::Etc::sourcelist="$list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$out/lists")

apt-get install -qq -y --no-install-recommends "android-libart=$version" clang g++ dpkg-dev xz-utils \
    android-libbacktrace-dev android-libcutils-dev android-libnativehelper-dev android-libziparchive-dev \
    android-libbase-dev android-libnativebridge android-libnativeloader liblz4-dev zlib1g-dev libsmali-java libasm-java \
    libguava-java >/dev/null
if [ ! -d source ]; then
    apt-get "${sources[@]}" update -qq
    apt-get "${sources[@]}" source -qq android-platform-art="$version" >/dev/null
    mv "android-platform-art-${version%-*}" source
    rm -f android-platform-art_*
fi

jars=$(printf '/usr/share/java/%s.jar:' asm asm-tree dexlib2 guava smali-util)
mkdir -p boot classes
rm -f boot/*.dex
javac -nowarn -d classes -cp "$jars" "$here/BootClassPath.java" 2>&1 | grep -v '^Note:' >&2 || true
java -Xmx2g -cp "classes:$jars" BootClassPath "$android" "$here/mirrors.txt" boot >/dev/null

# How ART lays out its objects follows from what it was compiled with (debian/libart.mk, debian/rules).
defines=(NDEBUG _FILE_OFFSET_BITS=64 _LARGEFILE_SOURCE=1 __STDC_CONSTANT_MACROS __STDC_FORMAT_MACROS
    ART_BASE_ADDRESS=0x60000000 ART_BASE_ADDRESS_MAX_DELTA=0x1000000 ART_BASE_ADDRESS_MIN_DELTA=-0x1000000
    ART_DEFAULT_COMPACT_DEX_LEVEL=fast ART_DEFAULT_GC_TYPE_IS_CMS ART_ENABLE_ADDRESS_SANITIZER=1
    ART_ENABLE_CODEGEN_x86_64 ART_FRAME_SIZE_LIMIT=1736 ART_READ_BARRIER_TYPE_IS_BAKER=1 ART_USE_READ_BARRIER=1
    ART_STACK_OVERFLOW_GAP_arm=8192 ART_STACK_OVERFLOW_GAP_arm64=8192 ART_STACK_OVERFLOW_GAP_x86=8192
    ART_STACK_OVERFLOW_GAP_x86_64=8192 BUILDING_LIBART=1 IMT_SIZE=43 USE_D8_DESUGAR=1)
headers=(. cmdline libartbase libartbase/arch libartpalette/include libdexfile libdexfile/external/include libelffile
    libnativebridge/include libnativeloader/include libprofile runtime sigchainlib)
cd source
mkdir -p debian/out
clang++ -std=gnu++17 -O1 -w -fno-omit-frame-pointer -fno-rtti -fno-exceptions -fno-strict-aliasing \
    "${defines[@]/#/-D}" -I/usr/include/android -I/usr/include/android/nativehelper "${headers[@]/#/-I}" \
    -o ../judge "$here/judge.cc" -L"$libraries" -Wl,-rpath="$libraries" -Wl,--no-as-needed \
    -l:libsigchain.so.0 -l:libart.so.0 -l:libdexfile_support.so.0 -l:libnativebridge.so -l:libnativeloader.so \
    -lbacktrace -lbase -lziparchive -llog -llz4 -lz -ldl -lpthread
