#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ctrl-C at 20 random points of a sweep: every file parses, no test file stays, the exit status is 1; going on gives a result of
# the same shape as that of a sweep that nobody interrupted.
# timeout: 180
. "$(dirname "$0")/lib.sh"

requires root jq
IOBENCH=$BIN/iobench
INTERRUPTS=20 RESUME_EVERY=5

for name in one two; do
    mkdir "$TEST_DIR/$name"
    mount -t tmpfs -o size=32m calf-test "$TEST_DIR/$name"
done

sweep() { # sweep OUT option...
    exec "$IOBENCH" sweep --scenarios "one=$TEST_DIR/one,two=$TEST_DIR/two" --cache warm --tests write,random-read,create --files 200 \
        --block 4k,64k --threads 1,2 --size 1m --rounds 2 --seed 9 --out "$TEST_DIR/$1" "${@:2}" >"$TEST_DIR/$1.out" 2>"$TEST_DIR/$1.err"
}

# What every sample is of and has, whatever its figures: two results of one plan have the same.
shape() {
    jq -cS '[.complete, .rounds_planned, ([.samples[] | [.scenario, .round, .position, .test, .block_bytes, .threads, .bytes,
        .operations, (keys | map(select(. != "pressure_ns" and . != "read_operations")))]] | sort)]' "$TEST_DIR/$1/results.json"
}

step "nobody interrupts"
begin=$(date +%s%N)
(sweep whole) || fail "the sweep: $(tail -n 2 "$TEST_DIR/whole.err")"
took_ms=$((($(date +%s%N) - begin) / 1000000))
shape whole >"$TEST_DIR/shape.whole"

step "interrupted at random points"
hits=0 attempt=0
while [ $hits -lt $INTERRUPTS ]; do
    attempt=$((attempt + 1))
    [ $attempt -le $((3 * INTERRUPTS)) ] || fail "only $hits of $attempt interrupts came before the end"
    out=cut.$attempt
    start_job "$out" sweep "$out"
    # A point in time, not a condition: it is to be anywhere.
    sleep "$(awk -v ms=$took_ms -v r=$RANDOM 'BEGIN { print (0.03 * 1000 + r / 32768 * ms * 0.9) / 1000 }')"
    signal_part "job-$out" INT
    status=0
    job_status "$out" 30 || status=$?
    assert_eq "$(find "$TEST_DIR/one" "$TEST_DIR/two" -mindepth 1)" "" "test files after interrupt $attempt"
    [ $status -ne 0 ] || continue # it was through already
    assert_eq $status 1 "exit status of interrupt $attempt"
    if [ ! -e "$TEST_DIR/$out/results.json" ]; then
        grep -q 'interrupted before the first run' "$TEST_DIR/$out.err" || fail "no result, and: $(cat "$TEST_DIR/$out.err")"
        continue
    fi
    hits=$((hits + 1))
    jq -e '.complete == false' "$TEST_DIR/$out/results.json" >/dev/null || fail "interrupt $attempt: a result that is called complete"
    "$IOBENCH" compare "$TEST_DIR/$out" >"$TEST_DIR/table" || fail "interrupt $attempt: the result is refused"
    cmp "$TEST_DIR/table" "$TEST_DIR/$out/table.txt" || fail "interrupt $attempt: another table"
    assert_eq "$(wc -l <"$TEST_DIR/$out/samples.csv")" $(($(jq '.samples | length' "$TEST_DIR/$out/results.json") + 1)) \
        "rows of samples.csv after interrupt $attempt"
    [ $((hits % RESUME_EVERY)) -eq 0 ] || continue
    (sweep "$out" --resume) || fail "going on after interrupt $attempt: $(tail -n 2 "$TEST_DIR/$out.err")"
    shape "$out" >"$TEST_DIR/shape"
    cmp "$TEST_DIR/shape" "$TEST_DIR/shape.whole" || fail "interrupt $attempt: going on gave a result of another shape"
done
echo "$hits interrupts in $attempt sweeps of $took_ms ms"
