#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# iobench sweep over deployments with several mounts each: it starts and stops them, spreads the workers, and its result and table tell
# CPU time and memory of each part and how far the mounts lay apart.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

cluster_requires bare docker-published
export CALF_CLUSTER_SH=$CLUSTER
"$BIN/iobench" sweep --up --state "$STATE" --scenarios bare,docker-published --clients 3 --cluster-size 128m --rounds 1 \
    --block 64k --threads 6 --tests write,random-read --size 4m --out "$TEST_DIR/result" >"$TEST_DIR/table" 2>"$TEST_DIR/progress" ||
    fail "the sweep: $(tail -n 3 "$TEST_DIR/progress")"
assert_nothing_left bare
assert_nothing_left docker-published

step "results"
json=$TEST_DIR/result/results.json
assert_eq "$(jq -c '[.clients, (.samples | length), ([.samples[].instances.count] | unique)]' "$json")" '[3,4,[3]]' \
    "clients, samples, mounts of each sample"
assert_eq "$(jq '[.samples[] | select(.part_cpu_ns.clients > 0 and .part_cpu_ns.chunkservers > 0 and .memory_kib.clients > 1000 and
    .memory_kib.chunkservers > 1000 and .memory_kib.master > 1000)] | length' "$json")" 4 "samples with CPU time and memory of the parts"
assert_eq "$(jq '[.samples[] | select(.scenario == 1) | .memory_kib.charged > 0] | all' "$json")" true "cgroups of the containers"
assert_eq "$(jq '[.samples[] | (.cpu_ns.cluster - .part_cpu_ns.master - .part_cpu_ns.chunkservers - .part_cpu_ns.clients) | fabs < 10]
    | all' "$json")" true "parts add up to the cluster"

step "the table"
grep -q '^Who used it: CPU seconds per GiB' "$TEST_DIR/table" || fail "no CPU time of the parts"
grep -q '^Memory of the parts, MiB' "$TEST_DIR/table" || fail "no memory of the parts"
grep -q 'docker-published: up to 3 mounts at once' "$TEST_DIR/table" || fail "no spread of the mounts"

step "mounts that are not there are refused"
cluster up bare --clients 2 >/dev/null
assert_fails 2 "$BIN/iobench" sweep --state "$STATE" --scenarios bare --clients 3 --out "$TEST_DIR/none" 2>"$TEST_DIR/stderr"
grep -q "no calf mount at .*mnt3" "$TEST_DIR/stderr" || fail "$(cat "$TEST_DIR/stderr")"
cluster down bare
