#!/bin/sh
# Builds the sample: build.sh FOLDER makes notes.apk in it, unsigned and aligned, with two dex files, and a library that is
# none. Needs a JDK, Maven (for Android's API and dx), aapt and zipalign.
set -eu
mkdir -p "$1"
to=$(cd "$1" && pwd)
cd "$(dirname "$0")"
bin=${JAVA_HOME:+$JAVA_HOME/bin/}
maven() {
    path=$HOME/.m2/repository/$(echo "$1" | tr . /)/$2/$3/$2-$3.jar
    [ -r "$path" ] || mvn -q -B dependency:get -Dtransitive=false -Dartifact="$1:$2:$3" >&2
    echo "$path"
}
android=$(maven com.google.android android 4.1.1.4)
dx=$(maven com.jakewharton.android.repackaged dalvik-dx 9.0.0_r3)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

"${bin}javac" --release 8 -Xlint:all,-options,-classfile -Werror -g -cp "$android" -d "$out/classes" src/notes/*.java
mkdir -p "$out/second/notes" "$out/apk/lib/arm64-v8a" "$out/apk/assets"
mv "$out/classes/notes/Note.class" "$out/classes/notes/LostNoteException.class" "$out/second/notes"
"${bin}java" -cp "$dx" com.android.dx.command.Main --dex --min-sdk-version=21 --output="$out/apk/classes.dex" "$out/classes"
"${bin}java" -cp "$dx" com.android.dx.command.Main --dex --min-sdk-version=21 --output="$out/apk/classes2.dex" "$out/second"
head -c 20000 /dev/zero >"$out/apk/lib/arm64-v8a/libnotes.so"
echo "a note" >"$out/apk/assets/welcome.txt"
aapt package -f -M AndroidManifest.xml -S res -I "$android" -F "$out/base.apk" -0 arsc -0 so "$out/apk" >/dev/null
rm -f "$to/notes.apk"
zipalign -p 4 "$out/base.apk" "$to/notes.apk"
