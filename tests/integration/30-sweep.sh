#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# iobench sweeps are honest: what is not the expected mount is refused, a result says where it was measured, a failed
# worker leaves no figure and a status, and what was interrupted is a whole file and can be gone on with.
# timeout: 240
. "$(dirname "$0")/lib.sh"

requires root fuse jq
IOBENCH=$BIN/iobench
[ -x "$IOBENCH" ] || fail "no iobench in $BIN (run make)"

json() { jq -r "$2" "$1/results.json" || fail "$1/results.json does not parse"; }

refused() { # refused TEXT option...: status 2, one last line that holds the text, no result
    local text=$1
    shift
    assert_fails 2 "$IOBENCH" sweep --out "$TEST_DIR/refused" "$@" >"$TEST_DIR/stdout" 2>"$TEST_DIR/stderr"
    tail -n 1 "$TEST_DIR/stderr" | grep -qF -- "$text" || fail "no '$text' in: $(cat "$TEST_DIR/stderr")"
    [ ! -e "$TEST_DIR/refused/results.json" ] || fail "a refused sweep left a result"
}

step "what is not mounted is refused, and nothing is written there"
mkdir -p "$TEST_DIR/state/bare/mnt" "$TEST_DIR/plain"
refused "no calf mount at $TEST_DIR/state/bare/mnt" --scenarios bare --state "$TEST_DIR/state"
mount -t tmpfs calf-test "$TEST_DIR/state/bare/mnt"
refused "no calf mount at $TEST_DIR/state/bare/mnt" --scenarios "bare,plain=$TEST_DIR/plain" --state "$TEST_DIR/state"
umount "$TEST_DIR/state/bare/mnt"
refused "$TEST_DIR/missing" --scenarios "one=$TEST_DIR/missing"
refused "same device" --scenarios "one=$TEST_DIR/plain,two=$TEST_DIR/state" --cache warm
assert_eq "$(find "$TEST_DIR/plain" "$TEST_DIR/state/bare/mnt" -mindepth 1)" "" "what was written there"
refused write-only "$TEST_DIR/plain" --tests write-only
refused 3x "$TEST_DIR/plain" --block 3x

step "two deployments, measured and compared"
start_cluster 2
FIRST=$MNT
if [ -n "$PLAIN" ]; then
    SECOND=$TEST_DIR/second TYPE=tmpfs CACHE=warm
    mkdir "$SECOND"
    mount -t tmpfs calf-test "$SECOND"
else
    TYPE=fuse.calf CACHE=cold
    mount_calf second
    SECOND=$MNT
fi
PAIR=(--scenarios "first=$FIRST,second=$SECOND" --cache "$CACHE")

OUT=$TEST_DIR/result
"$IOBENCH" sweep "${PAIR[@]}" --tests write,read,random-write,random-read --block 4k,64k --threads 1,2 --size 2m \
    --rounds 2 --out "$OUT" >"$TEST_DIR/stdout" 2>"$TEST_DIR/stderr" || fail "the sweep: $(tail -n 3 "$TEST_DIR/stderr")"
assert_eq "$(json "$OUT" '[.complete, .cache, .rounds_planned] | join(" ")')" "true $CACHE 2" "complete, cache, rounds"
assert_eq "$(json "$OUT" '[.scenarios[].fs_type] | join(" ")')" "$TYPE $TYPE" "file system types"
assert_eq "$(json "$OUT" '[.scenarios[].directory] | join(" ")')" "$FIRST $SECOND" "directories"
assert_eq "$(json "$OUT" '.scenarios[0].device')" "$(awk -v at="$FIRST" '$5 == at { print $3 }' /proc/self/mountinfo)" "device"
assert_eq "$(json "$OUT" '.iobench_sha256')" "$(sha256sum "$IOBENCH" | cut -d' ' -f1)" "hash of iobench"
json "$OUT" .environment.kernel | grep -qF "$(uname -r)" || fail "the kernel is not recorded"
[ "$(json "$OUT" '.environment.cpu_model | length')" -gt 0 ] || fail "the CPU is not recorded"
assert_eq "$(json "$OUT" .environment.cpus)" "$(nproc --all)" "number of CPUs"
if [ -z "$PLAIN" ]; then
    assert_eq "$(json "$OUT" '[.scenarios[].journal_mode] | join(" ")')" "interval interval" "journal mode"
    assert_eq "$(json "$OUT" '.scenarios[0].binary_sha256')" "$(sha256sum "$BIN/calf-mount" | cut -d' ' -f1)" "hash of calf-mount"
    [ -n "$(json "$OUT" '.scenarios[0].mount_source')" ] || fail "the mount source is not recorded"
fi
assert_eq "$(json "$OUT" '[.samples[] | select(.failed or .mark)] | length')" 0 "failed or marked samples"
assert_eq "$(json "$OUT" '.samples | length')" $((2 * 16 * 2)) "samples: 2 deployments, 16 cells, 2 rounds"
assert_eq "$(json "$OUT" '[.samples[] | .bytes == .threads * 2097152] | all')" true "bytes of each sample"
"$IOBENCH" compare "$OUT" | cmp - "$OUT/table.txt" || fail "compare does not reproduce the table of the result"
for file in samples.csv table.md; do
    [ -s "$OUT/$file" ] || fail "$file is missing"
done
assert_eq "$(ls -A "$FIRST")" "" "test files that were left"

step "a failed worker leaves no figure"
status=0
# Writes beyond 1 MiB fail with EFBIG. (An ignored signal stays ignored in the program.)
(trap '' XFSZ; ulimit -f 1024; exec "$IOBENCH" sweep "${PAIR[@]}" --tests write --block 64k --threads 1,2 --size 2m \
    --rounds 1 --out "$TEST_DIR/failed") >"$TEST_DIR/stdout" 2>"$TEST_DIR/stderr" || status=$?
assert_eq $status 1 "exit status with failed workers"
assert_eq "$(json "$TEST_DIR/failed" '[.samples[].failed] | all')" true "all samples failed"
assert_eq "$(json "$TEST_DIR/failed" '[.samples[] | select(.error | contains("File too large"))] | length')" 4 "reasons"
grep -A 12 '^Rates' "$TEST_DIR/failed/table.txt" | grep -q failed || fail "the table does not say that cells failed"

step "an interrupted sweep is a whole result, and goes on"
long_sweep() { # 64 runs of about a second each at most
    exec "$IOBENCH" sweep "${PAIR[@]}" --tests write,random-write --block 4k --threads 1,2 --size 4m --rounds 8 --seed 5 \
        --out "$TEST_DIR/long" "$@"
}
samples_are_saved() { [ "$(jq '.samples | length' "$TEST_DIR/long/results.json")" -ge "$1" ]; }
has_started() { compgen -G "$FIRST/iobench.*/*" || compgen -G "$SECOND/iobench.*/*"; }
start_job long long_sweep
wait_for "the sweep has started" 30 has_started
signal_part job-long INT
status=0
job_status long 40 || status=$?
assert_eq $status 1 "exit status after an interrupt"
assert_eq "$(json "$TEST_DIR/long" .complete)" false "complete"
assert_eq "$(find "$FIRST" "$SECOND" -name 'iobench*')" "" "test files after an interrupt"
start_job killed long_sweep --resume
wait_for "the sweep has started again" 30 has_started
signal_part job-killed KILL
wait_for "it is gone" 10 part_is_gone job-killed
json "$TEST_DIR/long" .complete >/dev/null # still a whole file
long_sweep_done() { (long_sweep --resume) >"$TEST_DIR/stdout" 2>"$TEST_DIR/stderr"; }
long_sweep_done || fail "going on after a kill: $(tail -n 3 "$TEST_DIR/stderr")"
assert_eq "$(json "$TEST_DIR/long" '[.complete, (.samples | length)] | join(" ")')" "true 64" "complete, samples"
assert_eq "$(find "$FIRST" "$SECOND" -name 'iobench*')" "" "test files that were left"

step "rounds are added until the intervals are narrow or there are enough, also when going on"
adaptive() { # adaptive OPTION...
    "$IOBENCH" sweep "${PAIR[@]}" --tests read --block 64k --threads 1 --size 1m --seed 7 --out "$TEST_DIR/adaptive" "$@" \
        >"$TEST_DIR/stdout" 2>"$TEST_DIR/stderr" || fail "an adaptive sweep: $(tail -n 3 "$TEST_DIR/stderr")"
}
rounds() { json "$TEST_DIR/adaptive" '[.complete, .rounds_planned, (.samples | length)] | join(" ")'; }
adaptive --rounds 2 --until-width 0.01% --max-rounds 3
assert_eq "$(rounds)" "true 3 6" "complete, rounds and samples up to the cap"
adaptive --resume --max-rounds 8
assert_eq "$(rounds)" "true 8 16" "the same after going on"
# Without an interval nothing is narrow: six rounds are the least.
rm -r "$TEST_DIR/adaptive"
adaptive --rounds 2 --until-width 100% --max-rounds 20
grep -q '^after 5 rounds 0 of 1 intervals' "$TEST_DIR/stderr" || fail "five rounds have an interval: $(cat "$TEST_DIR/stderr")"

step "clusters that --up starts are large enough for the plan"
printf '#!/bin/sh\necho "$@" >>"%s"\nexit 2\n' "$TEST_DIR/asked" >"$TEST_DIR/cluster.sh"
chmod +x "$TEST_DIR/cluster.sh"
asked() { # asked OPTION...: the --size that cluster.sh was called with
    rm -f "$TEST_DIR/asked"
    CALF_CLUSTER_SH=$TEST_DIR/cluster.sh "$IOBENCH" sweep --up --scenarios bare --state "$TEST_DIR/none" --out "$TEST_DIR/unused" "$@" \
        2>/dev/null && fail "a sweep without its cluster"
    sed -n '/^up /s/.*--size //p' "$TEST_DIR/asked"
}
assert_eq "$(asked --preset quick)" "" "size of chunkservers for little"
assert_eq "$(asked --preset article)" $((1152 << 20)) "size of chunkservers for 2 GiB of data and what belongs to it"
assert_eq "$(asked --preset article --cluster-size 1g)" $((1 << 30)) "size of chunkservers that was asked for"

step "a deployment that dies in the middle fails its cells, and only those"
if [ -z "$PLAIN" ]; then
    die_sweep() {
        exec "$IOBENCH" sweep "${PAIR[@]}" --tests write --block 4k --threads 2 --size 8m --rounds 6 --out "$TEST_DIR/died"
    }
    start_job died die_sweep
    wait_for "the sweep has started" 30 has_started
    kill9 mount-second
    status=0
    job_status died 60 || status=$?
    assert_eq $status 1 "exit status after the client was killed"
    [ "$(json "$TEST_DIR/died" '[.samples[] | select(.scenario == 1 and .failed)] | length')" -gt 0 ] ||
        fail "no sample of the dead deployment is marked as failed"
    assert_eq "$(json "$TEST_DIR/died" '[.samples[] | select(.scenario == 0 and .failed)] | length')" 0 \
        "failed samples of the other deployment"
fi
