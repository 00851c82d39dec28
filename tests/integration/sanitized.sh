#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The host scripts with programs that look for faults while they run: all of them with the address and undefined behaviour sanitizers,
# the most concurrent ones also with the thread sanitizer. A finding of any program fails its script (run.sh).
#
# usage: sanitized.sh [asan | tsan [PATTERN...]]        default: both, with the scripts named below
#
# Containers use the static release build, so scripts about deployments are not among them.
set -u

cd "$(dirname "$0")/../.." || exit 2
# 32 and 36 look at files and at the release's programs.
ASAN_SCRIPTS='1 2 30 31 33 34 35 4'
TSAN_SCRIPTS='10 11 12 13 14 15 20 21 24 25 26 31 41 42'

# The sanitizers' shadow memory does not get on with every kernel's address randomization.
plain_addresses() {
    if setarch "$(uname -m)" -R true 2>/dev/null; then
        setarch "$(uname -m)" -R "$@"
    else
        "$@"
    fi
}

run_with() { # run_with MODE FACTOR PATTERN...
    local mode=$1 factor=$2
    shift 2
    make -s -j"$(nproc)" MODE="$mode" all || return 1
    echo "== $mode"
    CALF_BIN=build/$mode/bin CALF_TIME_FACTOR=$factor plain_addresses tests/integration/run.sh "$@"
}

what=${1:-both} failed=0
[ $# -eq 0 ] || shift
case $what in
both) ;;
asan) [ $# -eq 0 ] || ASAN_SCRIPTS=$* ;;
tsan) [ $# -eq 0 ] || TSAN_SCRIPTS=$* ;;
*)
    echo "usage: sanitized.sh [asan | tsan [PATTERN...]]" >&2
    exit 2 ;;
esac
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1} TSAN_OPTIONS=${TSAN_OPTIONS:-second_deadlock_stack=1}
# shellcheck disable=SC2086
[ "$what" = tsan ] || run_with asan 4 $ASAN_SCRIPTS || failed=1
# shellcheck disable=SC2086
[ "$what" = asan ] || run_with tsan 6 $TSAN_SCRIPTS || failed=1
exit $failed
