#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the numbered integration scripts one after the other, each in a fresh directory and with a time limit. After each
# it looks for what the script left behind (mounts below its directory, processes that carry its mark) and ends that by
# pid: leaving something is a failure too, and so is a sanitizer's finding in a daemon's log. The last line is
# "integration: N passed, N failed, N skipped in S s".
#
# usage: run.sh [PATTERN...]        PATTERN: part of a script's name, e.g. 10-basics or 5; none means all
# A script's time limit is 180 s, or what its line "# timeout: SECONDS" says. CALF_BIN: other programs than the release's.
# CALF_TIME_FACTOR multiplies the limits (sanitizers, see sanitized.sh). CALF_KEEP=1 keeps all directories.
set -u

here=$(cd "$(dirname "$0")" && pwd)
export LC_ALL=C
keep=${CALF_KEEP:-}
factor=${CALF_TIME_FACTOR:-1}
passed=0 failed=0 skipped=0

now_ms() { date +%s%3N; }
seconds() { printf '%d.%d' $(($1 / 1000)) $(($1 % 1000 / 100)); }

wanted() { # does a script's name match one of the patterns?
    local name=$1 pattern
    shift
    [ $# -gt 0 ] || return 0
    for pattern in "$@"; do
        case $name in "$pattern"* | *"-$pattern"*) return 0 ;; esac
    done
    return 1
}

# Processes with the mark of this run in their environment: whatever the script started and did not end.
left_processes() {
    local dir
    for dir in /proc/[0-9]*; do
        if grep -qzxF "CALF_TEST_MARK=$1" "$dir/environ" 2>/dev/null; then
            echo "${dir#/proc/}"
        fi
    done
}

left_mounts() { awk -v dir="$1/" 'index($5, dir) == 1 { print $5 }' /proc/self/mountinfo | sort -r; }

# Ends what was left. Prints one line for each; nothing printed means that nothing was left.
end_what_was_left() { # end_what_was_left MARK DIR
    local pid at
    for pid in $(left_processes "$1"); do
        echo "left running: $pid $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | cut -c1-200)"
        kill -KILL "$pid" 2>/dev/null
    done
    left_mounts "$2" | while read -r at; do
        echo "left mounted: $at"
        timeout 10 umount "$at" 2>/dev/null || umount -l "$at"
    done
}

# What no program may write: a sanitizer's finding or a failed CHECK. A script may not notice. Sanitizers write files of their own,
# for the output of many a program goes elsewhere.
found_in_logs() { # found_in_logs DIR
    grep -aEH 'AddressSanitizer|LeakSanitizer|ThreadSanitizer|runtime error:|CHECK failed' "$1"/*.log "$1"/sanitizer.* 2>/dev/null |
        head -n 5
}

sanitizer_options() { # sanitizer_options DIR: NAME=VALUE, a line each
    local name
    for name in ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS; do
        echo "$name=${!name:+${!name}:}log_path=$1/sanitizer"
    done
}

show_failure() { # show_failure DIR NAME
    local log
    tail -n 60 "$1.output" | sed 's/^/    /'
    for log in "$1"/*.log "$1"/sanitizer.*; do
        if [ -s "$log" ]; then
            echo "    -- last lines of ${log##*/}"
            tail -n 15 "$log" | cut -c1-400 | sed 's/^/    /'
        fi
    done
    mv "$1.output" "$1/output"
    echo "    kept: $1 (output, logs); again: tests/integration/run.sh $2"
}

run_script() {
    local script=$1 name dir limit start took status left mark sanitizers
    name=$(basename "$script" .sh)
    dir=$(mktemp -d "${TMPDIR:-/tmp}/calf.$name.XXXXXX") || exit 1
    mark=$dir
    limit=$(sed -n 's/^# timeout: \([0-9][0-9]*\)$/\1/p' "$script" | head -n 1)
    limit=$((${limit:-180} * factor))
    start=$(now_ms)
    mapfile -t sanitizers < <(sanitizer_options "$dir")
    env "${sanitizers[@]}" CALF_TEST_MARK="$mark" TEST_DIR="$dir" timeout --kill-after=20 "$limit" bash "$script" \
        </dev/null >"$dir.output" 2>&1
    status=$?
    took=$(seconds $(($(now_ms) - start)))
    [ $status -ne 124 ] && [ $status -ne 137 ] || echo "FAIL: not done within $limit s" >>"$dir.output"
    left=$(end_what_was_left "$mark" "$dir"; found_in_logs "$dir")
    if [ -n "$left" ]; then
        echo "$left" >>"$dir.output"
        [ $status -ne 0 ] || status=1
    fi
    if [ $status -eq 0 ]; then
        passed=$((passed + 1))
        printf 'pass  %-32s %7s s\n' "$name" "$took"
    elif [ $status -eq 77 ]; then
        skipped=$((skipped + 1))
        printf 'skip  %-32s %7s s\n' "$name" "$took"
        echo "SKIP integration/$name: $(sed -n 's/^SKIP: //p' "$dir.output" | tail -n 1)"
    else
        failed=$((failed + 1))
        printf 'FAIL  %-32s %7s s\n' "$name" "$took"
        show_failure "$dir" "$name"
        return
    fi
    if [ -n "$keep" ]; then
        mv "$dir.output" "$dir/output"
    else
        rm -rf --one-file-system "$dir" "$dir.output"
    fi
}

begin=$(now_ms)
count=0
for script in "$here"/[0-9][0-9]-*.sh; do
    if wanted "$(basename "$script" .sh)" "$@"; then
        run_script "$script"
        count=$((count + 1))
    fi
done
if [ $count -eq 0 ]; then
    echo "run.sh: no script matches '$*' (they are tests/integration/NN-NAME.sh)" >&2
    exit 2
fi
echo "integration: $passed passed, $failed failed, $skipped skipped in $(seconds $(($(now_ms) - begin))) s"
[ $failed -eq 0 ]
