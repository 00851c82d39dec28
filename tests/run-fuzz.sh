#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs libFuzzer programs, as many at a time as there are processors: a line each with its runs and its coverage, output
# only of those with a finding. The last line, "fuzz: N passed, N failed, N skipped in S s", is what check.sh adds up.
# What a program found lies in build/fuzz/findings; run the program with that file as its argument to see it again.
# The inputs that reached something new are kept in build/fuzz/corpus and are where the next run begins.
#
# usage: run-fuzz.sh PROGRAM...
# FUZZ_SECONDS: time of each (default 60). FUZZ_SEED: libFuzzer's seed (default 1; the corpus matters more).
set -u

[ $# -gt 0 ] || { echo "run-fuzz.sh: no program given (usage: run-fuzz.sh PROGRAM...)" >&2; exit 2; }
cd "$(dirname "$0")/.." || exit 2

seconds=${FUZZ_SECONDS:-60}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# Targets that need files have them in memory.
export TMPDIR=/dev/shm
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}

run_program() { # run_program PROGRAM
    local name=${1##*/}
    mkdir -p "build/fuzz/corpus/$name" build/fuzz/findings
    timeout --kill-after=5 $((seconds * 2 + 60)) "$1" -max_total_time="$seconds" -seed="${FUZZ_SEED:-1}" -timeout=10 \
        -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="build/fuzz/findings/$name." \
        "build/fuzz/corpus/$name" >"$work/$name" 2>&1 </dev/null
    echo $? >"$work/$name.status"
}

start=$SECONDS passed=0 failed=0
for program in "$@"; do
    while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    run_program "$program" &
done
wait
for program in "$@"; do
    name=${program##*/}
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name")
    cover=$(grep -o 'cov: [0-9]*' "$work/$name" | tail -n 1)
    # A program that ran nothing has shown nothing.
    if [ "$(cat "$work/$name.status")" = 0 ] && [ "${runs:-0}" -gt 1000 ]; then
        passed=$((passed + 1))
        printf 'pass  %-24s %9d runs, %s edges\n' "$name" "$runs" "${cover:-cov: 0}"
    else
        failed=$((failed + 1))
        printf 'FAIL  %s (exit status %s, %s runs)\n' "$name" "$(cat "$work/$name.status")" "${runs:-0}"
        tail -n 60 "$work/$name" | sed 's/^/    /'
    fi
done
echo "fuzz: $passed passed, $failed failed, 0 skipped in $((SECONDS - start)) s"
[ $failed -eq 0 ]
