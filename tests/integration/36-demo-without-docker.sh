#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The demo where Docker does not answer: it says why the container scenarios are missing, first and last, measures the others, leaves
# nothing, and does not end a dockerd that somebody else had set up.
# timeout: 120
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

cluster_requires bare bare-net

step "a dockerd that was there before"
start_part somebody sleep 600
export CALF_DOCKERD_RECORD=$TEST_DIR/dockerd.started
cat "$TEST_DIR/parts/somebody.pid" >"$CALF_DOCKERD_RECORD"

step "the demo, short"
export DOCKER_HOST=unix://$TEST_DIR/nobody.sock
status=0
"$ROOT/docker/demo.sh" --state "$STATE" --out "$TEST_DIR/result" --tests write --block 64k --threads 1 --size 1m --rounds 1 \
    >"$TEST_DIR/demo.out" 2>"$TEST_DIR/demo.err" || status=$?
assert_eq $status 0 "the demo's status"
missing="demo: the docker-\* scenarios are left out: Docker does not answer at unix://$TEST_DIR/nobody.sock"
assert_eq "$(grep -c "^$missing" "$TEST_DIR/demo.err")" 2 "times that it says what is missing"
assert_eq "$(grep -c "^setup.sh: Docker does not answer at DOCKER_HOST=" "$TEST_DIR/demo.err")" 1 "what the set-up says"
assert_eq "$(sed -n 's/^deployment  \([a-z-]*\).*/\1/p' "$TEST_DIR/demo.out" | xargs)" "bare bare-net" "what was measured"
[ "$(wc -l <"$TEST_DIR/result/samples.csv")" -ge 3 ] || fail "no samples"

step "nothing is left, and the other's dockerd is there"
for name in bare bare-net; do assert_nothing_left $name; done
part_runs somebody || fail "the demo ended a dockerd that it had not started"
assert_eq "$(cat "$CALF_DOCKERD_RECORD")" "$(cat "$TEST_DIR/parts/somebody.pid")" "the record of that dockerd"
