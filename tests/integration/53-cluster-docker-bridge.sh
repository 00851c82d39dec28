#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cluster.sh: the life of the scenario docker-bridge.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

cluster_requires docker-bridge
lifecycle docker-bridge

step "up with a goal, and files of the mount are seen on the host alone by their path"
cluster up docker-bridge --goal 2 >/dev/null
round_trip docker-bridge
[[ $(stat -f -c %T "$(mount_of docker-bridge)") == fuse* ]] || fail "the mount is no FUSE mount"

step "Docker restarts a chunkserver whose main process is killed, with the same data"
echo before >"$(mount_of docker-bridge)/before"
old=$(part_pid_of docker-bridge chunkserver1)
kill -KILL "$old"
chunkserver_is_back() {
    local pid
    cluster status docker-bridge
    pid=$(part_pid_of docker-bridge chunkserver1)
    [ -n "$pid" ] && [ "$pid" != "$old" ]
}
wait_for "Docker starts it again" 20 chunkserver_is_back
wait_for "the file is readable" 20 grep -qx before "$(mount_of docker-bridge)/before"
grep -q '^calf' "/proc/$(part_pid_of docker-bridge chunkserver1)/comm" || fail "the pids file names another program"

step "a client that was killed leaves a dead mount, which the next up clears"
kill -KILL "$(part_pid_of docker-bridge client)"
wait_for "the mount is dead" 10 grep -q broken <(cluster status docker-bridge)
cluster up docker-bridge >/dev/null
round_trip docker-bridge
cluster down docker-bridge
assert_nothing_left docker-bridge
