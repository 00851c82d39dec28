#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs unit test programs (cmocka), a few at a time: one line each with its number of tests and its time, output only of
# those that fail. The last line, "unit: N passed, N failed, N skipped in S s", is what check.sh adds up.
#
# usage: run-unit.sh PROGRAM...
# UNIT_TIMEOUT: seconds for one program (default 120). UNIT_JOBS: how many at a time (default: as many as processors; most
# of them wait most of the time). A test that skips prints "SKIP: reason" beforehand.
set -u

[ $# -gt 0 ] || { echo "run-unit.sh: no program given (usage: run-unit.sh PROGRAM...)" >&2; exit 2; }

limit=${UNIT_TIMEOUT:-120}
jobs=${UNIT_JOBS:-$(nproc)}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export CMOCKA_MESSAGE_OUTPUT=STDOUT
# A finding of a sanitizer ends the program with a status of its own, so that no failing assertion hides it.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:exitcode=86}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-exitcode=66:second_deadlock_stack=1}

# Of an output, "RUN OK SKIPPED": the summary that cmocka prints after each group names tests again, so it is left out.
count_results() { # count_results OUTPUT
    awk '/^\[==========\].*Running/ { summary = 0 }
         /^\[==========\].*run\.$/ { summary = 1 }
         summary { next }
         /^\[ RUN      \]/ { run++ }
         /^\[       OK \]/ { ok++ }
         /^\[  SKIPPED \]/ { skipped++ }
         END { print run + 0, ok + 0, skipped + 0 }' "$1"
}

# "SKIP unit/PROGRAM/TEST: reason" for each skipped test.
list_skips() { # list_skips PROGRAM OUTPUT
    awk -v program="$1" '
        /^\[==========\].*run\.$/ { exit }
        /^\[ RUN      \]/ { reason = "no reason given" }
        /^SKIP: / { reason = substr($0, 7) }
        /^\[  SKIPPED \]/ { print "SKIP unit/" program "/" $NF ": " reason }' "$2"
}

seconds() { # milliseconds as "1.2"
    printf '%d.%d' $(($1 / 1000)) $(($1 % 1000 / 100))
}

now_ms() { date +%s%3N; }

# Leaves output, and "STATUS MILLISECONDS", in $work/NUMBER and $work/NUMBER.status.
run_program() { # run_program NUMBER PROGRAM
    local start status
    start=$(now_ms)
    # To files of their own: a test may have turned its standard error elsewhere when something is found.
    ASAN_OPTIONS=$ASAN_OPTIONS:log_path=$work/$1.finding TSAN_OPTIONS=$TSAN_OPTIONS:log_path=$work/$1.finding \
        timeout --kill-after=5 "$limit" "$2" </dev/null >"$work/$1" 2>&1
    status=$?
    echo "$status $(($(now_ms) - start))" >"$work/$1.status"
}

total_passed=0 total_failed=0 total_skipped=0

report() { # report NUMBER PROGRAM
    local output=$work/$1 name=${2##*/} status took run ok skipped failed word=pass
    read -r status took <"$work/$1.status"
    read -r run ok skipped < <(count_results "$output")
    failed=$((run - ok - skipped))
    # A crash, a sanitizer's finding or a failed group set-up counts even when no single test is to blame.
    [ "$status" -eq 0 ] || [ $failed -gt 0 ] || failed=1
    if [ "$run" -eq 0 ]; then
        failed=1
        echo "no test ran" >>"$output"
    fi
    [ $failed -eq 0 ] || word=FAIL
    printf '%s  %-32s %4d tests %7s s\n' $word "$name" "$run" "$(seconds "$took")"
    list_skips "$name" "$output"
    if [ $word = FAIL ]; then
        if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
            echo "$name: not done within $limit s" >>"$output"
        fi
        sed 's/^/    /' "$output" "$output".finding.* 2>/dev/null
        echo "    exit status $status; run it alone: $2"
    fi
    total_passed=$((total_passed + ok))
    total_failed=$((total_failed + failed))
    total_skipped=$((total_skipped + skipped))
}

begin=$(now_ms)
programs=("$@")
for ((i = 0; i < ${#programs[@]}; i++)); do
    while [ "$(jobs -pr | wc -l)" -ge "$jobs" ]; do
        wait -n
    done
    run_program $i "${programs[i]}" &
done
wait
for ((i = 0; i < ${#programs[@]}; i++)); do
    report $i "${programs[i]}"
done
echo "unit: $total_passed passed, $total_failed failed, $total_skipped skipped in $(seconds $(($(now_ms) - begin))) s"
[ $total_failed -eq 0 ]
