#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs unit test programs (cmocka) one after the other: one line each with its number of tests and its time, output
# only of those that fail. The last line, "unit: N passed, N failed, N skipped in S s", is what check.sh adds up.
#
# usage: run-unit.sh PROGRAM...
# UNIT_TIMEOUT: seconds for one program (default 120). A test that skips prints "SKIP: reason" beforehand.
set -u

[ $# -gt 0 ] || { echo "run-unit.sh: no program given (usage: run-unit.sh PROGRAM...)" >&2; exit 2; }

limit=${UNIT_TIMEOUT:-120}
output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT
export CMOCKA_MESSAGE_OUTPUT=STDOUT
# A finding of a sanitizer ends the program with a status of its own, so that no failing assertion hides it.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:exitcode=86}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-exitcode=66:second_deadlock_stack=1}

# Prints "RUN OK SKIPPED": the summary that cmocka prints after each group names tests again, so it is left out.
count_results() {
    awk '/^\[==========\].*Running/ { summary = 0 }
         /^\[==========\].*run\.$/ { summary = 1 }
         summary { next }
         /^\[ RUN      \]/ { run++ }
         /^\[       OK \]/ { ok++ }
         /^\[  SKIPPED \]/ { skipped++ }
         END { print run + 0, ok + 0, skipped + 0 }' "$output"
}

# "SKIP unit/PROGRAM/TEST: reason" for each skipped test.
list_skips() {
    awk -v program="$1" '
        /^\[==========\].*run\.$/ { exit }
        /^\[ RUN      \]/ { reason = "no reason given" }
        /^SKIP: / { reason = substr($0, 7) }
        /^\[  SKIPPED \]/ { print "SKIP unit/" program "/" $NF ": " reason }' "$output"
}

seconds() { # milliseconds as "1.2"
    printf '%d.%d' $(($1 / 1000)) $(($1 % 1000 / 100))
}

now_ms() { date +%s%3N; }

total_passed=0 total_failed=0 total_skipped=0
begin=$(now_ms)
for program in "$@"; do
    name=${program##*/}
    start=$(now_ms)
    timeout --kill-after=5 "$limit" "$program" </dev/null >"$output" 2>&1
    status=$?
    took=$(($(now_ms) - start))
    read -r run ok skipped < <(count_results)
    failed=$((run - ok - skipped))
    # A crash, a sanitizer's finding or a failed group set-up counts even when no single test is to blame.
    [ $status -eq 0 ] || [ $failed -gt 0 ] || failed=1
    if [ $failed -gt 0 ]; then
        word=FAIL
    elif [ "$run" -eq 0 ]; then
        word=FAIL failed=1
        echo "no test ran" >>"$output"
    else
        word=pass
    fi
    printf '%s  %-32s %4d tests %7s s\n' $word "$name" "$run" "$(seconds $took)"
    list_skips "$name"
    if [ $word = FAIL ]; then
        if [ $status -eq 124 ] || [ $status -eq 137 ]; then
            echo "$name: not done within $limit s" >>"$output"
        fi
        sed 's/^/    /' "$output"
        echo "    exit status $status; run it alone: $program"
    fi
    total_passed=$((total_passed + ok))
    total_failed=$((total_failed + failed))
    total_skipped=$((total_skipped + skipped))
done
echo "unit: $total_passed passed, $total_failed failed, $total_skipped skipped in $(seconds $(($(now_ms) - begin))) s"
[ $total_failed -eq 0 ]
