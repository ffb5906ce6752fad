#!/usr/bin/env bash
# All tests of the tree, the everyday part by default. tests/run.py runs them; its options work here, too.
#
#   ./test.sh                the everyday part: a part of the corpora and of the programs
#   ./test.sh --quick        fmt, and cargo's tests with clippy's lints: needs Rust, a C compiler and a JDK 17
#   ./test.sh --only NAME    one test or step, again for more (--list names them)
#   ./test.sh --without NAME all but this one, again for more
#   ./test.sh --failed       those that did not pass the last time
#   ./test.sh --list         the tests: step, name, usual seconds of CPU, what each needs
#   ./test.sh --full         all programs and suites, most of the corpora (hours)
#   ./test.sh --everything   the corpora's largest artifacts, too
#
# Who installs what:
# - Rust (rustup.rs) and two JDKs, 17 and a newer one, are yours. WEAVE_JDKS names folders of JDKs that lie elsewhere.
# - As root on Debian, tests/setup.sh installs the other programs that the chosen tests need. Without root it names
#   them and the tests that need them fail; install them, or choose tests that do without.
# - The .NET SDK 10 is the one on the PATH, the unpacked one that WEAVE_SDK names, or ../shared/dotnet. Without any:
#   ./test.sh --without sdk
# - Corpora and packages come from Maven, PyPI, npm and Go into .cache/ (WEAVE_CORPORA names another folder for corpora).
# What is missing is a failure. Nothing is skipped silently.
command -v python3 >/dev/null 2>&1 || { echo "FAILED: python3 is missing" >&2; exit 1; }
case " $* " in *" -h "* | *" --help "*) sed -n '2,21s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
exec python3 "$(dirname "$0")/tests/run.py" "$@"
