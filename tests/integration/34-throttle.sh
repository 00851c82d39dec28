#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A deployment that really is slower is called slower: of two mounts of one cluster the second one's client is stopped for four
# fifths of the time. The verdict, the sentence and the exit status of --fail-below say so; the other way round it is faster.
# timeout: 120
. "$(dirname "$0")/lib.sh"

requires root fuse jq perl
[ -z "$PLAIN" ] || skip "a plain tmpfs has no client to slow down"
start_cluster 2
FIRST=$MNT
mount_calf second

step "a sweep while one client is stopped four fifths of the time"
throttle() { # PID
    exec perl -e '$SIG{TERM} = sub { kill CONT => $ARGV[0]; exit 0 };
        while (kill STOP => $ARGV[0]) { select undef, undef, undef, 0.016; kill CONT => $ARGV[0]; select undef, undef, undef, 0.004 }' "$1"
}
start_job throttle throttle "$(part_pid mount-second)"
"$BIN/iobench" sweep --scenarios "free=$FIRST,throttled=$MNT" --tests random-read,random-write --block 4k --threads 1 --size 2m \
    --rounds 8 --seed 3 --out "$TEST_DIR/result" >"$TEST_DIR/stdout" 2>"$TEST_DIR/stderr" ||
    fail "the sweep: $(tail -n 3 "$TEST_DIR/stderr")"
signal_part job-throttle TERM
"$BIN/iobench" compare --json "$TEST_DIR/result" >"$TEST_DIR/comparison"
assert_eq "$(jq -r '[.cells[].deployments[1].verdict] | join(" ")' "$TEST_DIR/comparison")" "slower slower" "verdicts"

step "--fail-below, and the other way round"
assert_fails 3 "$BIN/iobench" compare "$TEST_DIR/result" --fail-below 90 >/dev/null 2>"$TEST_DIR/stderr"
grep -q '^iobench compare: throttled is at .*% of free, below 90%$' "$TEST_DIR/stderr" || fail "the reason: $(cat "$TEST_DIR/stderr")"
"$BIN/iobench" compare --json --baseline throttled "$TEST_DIR/result" >"$TEST_DIR/comparison"
assert_eq "$(jq -r '[.cells[].deployments[0].verdict] | join(" ")' "$TEST_DIR/comparison")" "faster faster" "verdicts from the other side"
"$BIN/iobench" compare "$TEST_DIR/result" --baseline throttled --fail-below 100 >/dev/null || fail "--fail-below refuses what is faster"
tr -s '\n ' ' ' <"$TEST_DIR/result/table.txt" | grep -q 'throttled reached [0-9.]*% of the throughput of free [^:]*: slower' || fail "the table has no sentence about it"
