#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docker-bridge at goal 2 under load: the main processes of master and chunkservers are killed, a chunkserver loses its network for
# a while; no operation fails, nothing written is lost, and who comes back is who it was. A killed client leaves a dead mount, which
# the next up clears.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

cluster_requires docker-bridge
requires perl
scenario=docker-bridge
cluster up $scenario --chunkservers 3 --goal 2 --size 256m >/dev/null
mnt=$(mount_of $scenario)
prefix=$(prefix_of $scenario)

# Writes a file, reads an earlier one back, for ever; every file is noted when it is whole. Any failure ends it with status 1.
load() {
    local i=0 sum
    while [ ! -e "$TEST_DIR/enough" ]; do
        i=$((i + 1))
        head -c $((50000 + RANDOM * 20)) /dev/urandom >"$TEST_DIR/source"
        cp "$TEST_DIR/source" "$mnt/f.$((i % 40)).new" && sync "$mnt/f.$((i % 40)).new" &&
            mv "$mnt/f.$((i % 40)).new" "$mnt/f.$((i % 40))" || return 1
        sum=$(md5sum <"$TEST_DIR/source")
        echo "f.$((i % 40)) $sum" >>"$TEST_DIR/ledger"
        [ "$(md5sum <"$mnt/f.$((i % 40))")" = "$sum" ] || return 1
    done
}

ids() { cluster admin $scenario -- servers --json | jq -r '.servers | map(.id) | sort | join(" ")'; }
connected() { cluster admin $scenario -- servers --json | jq '[.servers[] | select(.online)] | length'; }
all_connected() { [ "$(connected)" = 3 ]; }
container_pid() { docker inspect --format '{{.State.Pid}}' "$prefix-$1"; }
ledger_lines() { wc -l <"$TEST_DIR/ledger"; }
more_than() { [ "$(ledger_lines)" -gt "$1" ]; }
work_goes_on() { # that the load has done two files more
    wait_for "the load goes on after $1" 60 more_than $(($(ledger_lines) + 2))
    part_runs job-load || fail "the load ended after $1: $(tail -n 3 "$TEST_DIR/job-load.log")"
}

before=$(ids)
: >"$TEST_DIR/ledger"
start_job load load
wait_for "the load runs" 30 more_than 2
for part in master chunkserver1; do
    step "kill -9 of $part"
    old=$(container_pid $part)
    kill -KILL "$old"
    started_again() { local pid; pid=$(container_pid "$part"); [ "$pid" != 0 ] && [ "$pid" != "$old" ]; }
    wait_for "Docker starts $part again" 30 started_again
    work_goes_on "kill -9 of $part"
    wait_for "all are connected" 30 all_connected
done
assert_eq "$(ids)" "$before" "ids of the chunkservers"

step "a chunkserver without its network"
docker network disconnect "$prefix" "$prefix-chunkserver3"
work_goes_on "the loss of a network"
docker network connect "$prefix" "$prefix-chunkserver3"
wait_for "all are connected again" 60 all_connected
assert_eq "$(ids)" "$before" "ids of the chunkservers"
touch "$TEST_DIR/enough"
job_status load 60 || fail "an operation failed: $(tail -n 3 "$TEST_DIR/job-load.log")"

step "nothing is lost"
echo 3 >/proc/sys/vm/drop_caches
tac "$TEST_DIR/ledger" | sort -u -s -k1,1 | while read -r name sum; do
    [ "$(md5sum <"$mnt/$name")" = "$sum" ] || fail "$name has another content"
done

step "kill -9 of the client: the next up clears the dead mount"
kill -KILL "$(container_pid client)"
wait_for "the mount is dead" 10 grep -q broken <(cluster status $scenario)
cluster up $scenario --chunkservers 3 --goal 2 --size 256m >/dev/null 2>&1
round_trip $scenario
cluster down $scenario
assert_nothing_left $scenario
