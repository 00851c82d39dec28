#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# iobench sweep --workers: three workers in three containers, each with a mount of its own, run every cell together; their figures
# are merged. One that is killed in the middle fails its cell by name, the sweep goes on, and nothing of the others stays.
# timeout: 180
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

cluster_requires docker-bridge
cluster up docker-bridge --clients 3 --chunkservers 2 --size 96m >/dev/null

WORKERS=() ADDRESSES=()
number=0
for name in client client2 client3; do
    number=$((number + 1))
    container=$(prefix_of docker-bridge)-$name
    address=$(docker inspect --format '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$container"):7171
    docker exec -d "$container" /bin/iobench worker --listen "$address"
    mount=$STATE/docker-bridge/mnt
    [ $number -eq 1 ] || mount+=$number
    WORKERS+=("$container")
    ADDRESSES+=("$address=$mount")
done
LIST=$(IFS=,; echo "${ADDRESSES[*]}")

sweep() { # sweep NAME option...
    local name=$1
    shift
    ${SWEEP_EXEC:-} "$BIN/iobench" sweep --scenarios "three=$STATE/docker-bridge/mnt" --workers "$LIST" --threads 2 --size 4m "$@" \
        --out "$TEST_DIR/$name" >"$TEST_DIR/$name.table" 2>"$TEST_DIR/$name.progress"
}

nothing_stays() { # but for what is given
    assert_eq "$(find "$STATE/docker-bridge/mnt" -name 'iobench.*' -type d | wc -l)" "$1" "test directories that stay"
}

step "together"
sweep good --tests write,random-read --block 64k --rounds 2 || fail "the sweep: $(tail -n 3 "$TEST_DIR/good.progress")"
json=$TEST_DIR/good/results.json
assert_eq "$(jq -c '[.complete, (.samples | length), ([.samples[].bytes] | unique), ([.samples[].operations] | unique)]' "$json")" \
    '[true,4,[25165824],[384]]' "complete, samples, bytes and operations of six threads"
assert_eq "$(jq '[.samples[] | .failed or (.mark != null)] | any' "$json")" false "failed or marked samples"
assert_eq "$(jq '[.samples[] | .instances.count == 3 and .worker_per_s.min <= .worker_per_s.mean and
    .worker_per_s.mean <= .worker_per_s.max and .machine_per_s.min <= .machine_per_s.max and
    .machine_per_s.max < 3 * .bytes * 1e9 / .elapsed_ns and .latency_ns.p50 > 0] | all' "$json")" true "least and most of workers and machines"
assert_eq "$(jq '[.samples[] | select(.test == "write") | .served.write_bytes >= .bytes] | all' "$json")" true "served bytes"
assert_eq "$(jq '[.machines[].environment | .cpus > 0 and .kernel != ""] | length' "$json")" 3 "machines that are disclosed"
assert_eq "$(jq -r '.scenarios[0].fs_type' "$json")" fuse.calf "what the workers found"
nothing_stays 0

step "one is killed in the middle"
sweep killed --tests random-read --replacement --duration 3 --block 64k,128k,256k --rounds 1 &
sweep_pid=$!
is_running() { [ -s "$TEST_DIR/killed/results.json" ] && [ "$(jq '.samples | length' "$TEST_DIR/killed/results.json")" -ge 1 ]; }
wait_for "the first cell is over" 60 is_running
pid=$(docker top "${WORKERS[1]}" -eo pid,args | awk '/iobench worker/ { print $1 }')
kill -9 "$pid"
status=0
wait $sweep_pid || status=$?
assert_eq $status 1 "exit status with a lost worker"
json=$TEST_DIR/killed/results.json
assert_eq "$(jq -c '[.complete, (.samples | length), ([.samples[] | select(.failed)] | length)]' "$json")" '[true,3,1]' \
    "complete, samples, failed ones"
lost=${ADDRESSES[1]%%=*}
jq -r '.samples[] | select(.failed) | .error' "$json" | grep -qF "worker $lost" || fail "the failed cell does not name $lost"
assert_eq "$(jq -c '[.samples[2].mark, .samples[2].instances.count, .samples[2].bytes > 0]' "$json")" '["worker-missing",2,true]' \
    "the cell after it"
nothing_stays 1

step "a worker that is not there is refused"
assert_fails 2 sweep missing --tests read --block 64k --rounds 1
grep -qF "worker $lost: nobody answers" "$TEST_DIR/missing.progress" || fail "$(tail -n 2 "$TEST_DIR/missing.progress")"

step "Ctrl-C on the leader: the workers remove their files"
docker exec -d "${WORKERS[1]}" /bin/iobench worker --listen "$lost"
SWEEP_EXEC='exec' sweep interrupted --tests random-read --replacement --duration 20 --block 64k --rounds 2 &
sweep_pid=$!
wait_for "a sweep is under way" 60 test -s "$TEST_DIR/interrupted/results.json"
kill -INT $sweep_pid
status=0
wait $sweep_pid || status=$?
assert_eq $status 1 "exit status of an interrupted sweep"
jq -e '.complete == false' "$TEST_DIR/interrupted/results.json" >/dev/null || fail "an interrupted sweep calls itself complete"
nothing_stays 1
cluster down docker-bridge
