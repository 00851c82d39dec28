#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test suite in layers, each with a budget of minutes (tests/README.md). Noisy output goes to build/check/LAYER.log
# and is shown when the layer fails. The last line is "N passed, N failed, N skipped": unit tests (each run of a cmocka
# case), integration scripts, and a layer without tests of its own (lint, builds) when it fails.
# Exit status 1: something failed, or was skipped without standing in tests/expected-skips.
#
# usage: check.sh [LAYER...]        the layers are in the table LAYERS below; none means all
set -u

cd "$(dirname "$0")/.." || exit 2
export LC_ALL=C
out=build/check
mkdir -p $out
jobs=$(nproc)

# name                budget (s)  function
LAYERS='
lint                  60          run_lint
build-gcc             120          build_gcc
build-clang           120          build_clang
unit                  60          unit_release
unit-asan             270         unit_asan
unit-tsan             150         unit_tsan
fuzz                  300         run_fuzz
sim                   180         run_sim
integration-host      720         integration_host
integration-asan      90          integration_asan
integration-containers 640        integration_containers
'

now_ms() { date +%s%3N; }
tenths() { printf '%d.%d' $(($1 / 1000)) $(($1 % 1000 / 100)); }

unit_programs() { # unit_programs OUT
    local source
    for source in tests/unit/test_*.c; do
        echo "$1/tests/$(basename "$source" .c)"
    done
}

# A compiler's warning fails the layer, and so does a linker's.
build_without_warnings() { # build_without_warnings OUT [make argument...]
    local folder=$1 log
    shift
    log=$(mktemp) || return 1
    # What was compiled without -Werror may have warned unseen.
    [ -f "$folder/.werror" ] || rm -rf "$folder"
    mkdir -p "$folder"
    touch "$folder/.werror"
    # shellcheck disable=SC2046
    make -j"$jobs" "$@" CFLAGS=-Werror all $(unit_programs "$folder") 2>&1 | tee "$log"
    if [ "${PIPESTATUS[0]}" -ne 0 ] || grep -n 'warning:' "$log"; then
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

run_lint() { tests/lint.sh; }
build_gcc() { build_without_warnings build/release; }
build_clang() { build_without_warnings build/clang CC=clang OUT=build/clang; }

# The sanitizers' shadow memory does not get on with every kernel's address randomization.
plain_addresses() {
    if setarch "$(uname -m)" -R true 2>/dev/null; then
        setarch "$(uname -m)" -R "$@"
    else
        "$@"
    fi
}

unit_under() { # unit_under MODE [PROGRAM NAME to leave out...]
    local -a programs
    mapfile -t programs < <(unit_programs "build/$1" | grep -vxF -f <(printf "build/$1/tests/test_%s\n" "${@:2}"))
    make -j"$jobs" MODE="$1" "${programs[@]}" >$out/build-"$1".log 2>&1 ||
        { tail -n 40 $out/build-"$1".log; return 1; }
    plain_addresses tests/run-unit.sh "${programs[@]}"
}
unit_release() { unit_under release; }
unit_asan() { unit_under asan; }
# Tests of pure functions start no thread: the thread sanitizer would only make them slow.
NO_THREADS=(access_pattern axis believable checksum compare compare_command csv_import directory histogram json_scan
    mount_table options plan result_file statistics sweep_adaptive sweep_options table units wire wire_hostile xattrs)
unit_tsan() { unit_under tsan "${NO_THREADS[@]}"; }

run_fuzz() { make -j"$jobs" fuzz; }

run_sim() { tests/sim/run-sim.sh; }

# Scripts 10 to 49 need no container, 50 to 69 are about deployments.
integration_host() { tests/integration/run.sh 1 2 3 4; }
# A few of the host scripts, locks, damage and two mounts among them; all of them are `make integration-sanitized`.
integration_asan() { tests/integration/sanitized.sh asan 15 22 31; }
integration_containers() { tests/integration/run.sh 5 6; }

# Reads the last "KIND: N passed, N failed, N skipped" of a log; prints "PASSED FAILED SKIPPED".
read_counts() {
    sed -n 's/^[a-z]*: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped.*/\1 \2 \3/p' "$1" | tail -n 1
}

total_passed=0 total_failed=0 total_skipped=0 table=''

run_layer() { # run_layer NAME BUDGET FUNCTION
    local name=$1 budget=$2 log=$out/$1.log start took status passed failed skipped word
    echo "== $name (budget $budget s)"
    start=$(now_ms)
    case $name in
    unit* | fuzz | sim | integration*)
        "$3" </dev/null 2>&1 | tee "$log"
        status=${PIPESTATUS[0]} ;;
    *)
        "$3" </dev/null >"$log" 2>&1
        status=$?
        [ $status -eq 0 ] || tail -n 60 "$log" ;;
    esac
    took=$(($(now_ms) - start))
    read -r passed failed skipped < <(read_counts "$log"; echo "0 0 0")
    [ $status -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
    word=ok
    [ $took -le $((budget * 1000)) ] || word='over budget'
    [ "$failed" -eq 0 ] || word=FAILED
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    total_skipped=$((total_skipped + skipped))
    table+=$(printf '%-24s %-12s %6d %6d %7d %8s s %6d s' "$name" "$word" "$passed" "$failed" "$skipped" \
        "$(tenths $took)" "$budget")$'\n'
}

# tests/expected-skips: "NAME REASON", the reason being an extended regular expression.
skip_is_expected() { # skip_is_expected NAME REASON
    local name reason
    while read -r name reason; do
        case $name in '' | '#'*) continue ;; esac
        if [ "$name" = "$1" ] && [[ $2 =~ ^($reason)$ ]]; then
            return 0
        fi
    done <tests/expected-skips
    return 1
}

list_unexpected_skips() {
    local line name
    for line in "${skips[@]}"; do
        line=${line#SKIP }
        name=${line%%: *}
        skip_is_expected "$name" "${line#*: }" || echo "unexpected skip: $line"
    done
}

start=$(now_ms)
ran=0 budgets=0 skips=()
while read -r name budget function; do
    [ -n "$name" ] || continue
    if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then
        continue
    fi
    run_layer "$name" "$budget" "$function"
    mapfile -t -O ${#skips[@]} skips < <(grep '^SKIP [a-z]*/' "$out/$name.log")
    ran=$((ran + 1))
    budgets=$((budgets + budget))
done <<<"$LAYERS"
if [ $ran -eq 0 ]; then
    echo "check.sh: no such layer: $* (they are:$(awk 'NF { printf " %s", $1 }' <<<"$LAYERS"))" >&2
    exit 2
fi

unexpected=$(list_unexpected_skips)
echo
printf '%-24s %-12s %6s %6s %7s %10s %8s\n' layer result passed failed skipped time budget
printf '%s' "$table"
printf '%-24s %-12s %6s %6s %7s %8s s %6d s\n' all '' $total_passed $total_failed $total_skipped \
    "$(tenths $(($(now_ms) - start)))" $budgets
[ -z "$unexpected" ] || printf '%s\n' "$unexpected"
echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
[ $total_failed -eq 0 ] && [ -z "$unexpected" ]
