#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Shared memory between clients and chunkservers on one machine: the life of bare-shm and docker-shm, reads without a message, kill -9 of a
# chunkserver, TCP where it is not possible with one line that says so, and damage found as ever.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

cluster_requires bare-shm
requires perl getfattr

# What the mount's counters say.
counter() { # counter MOUNT NAME
    getfattr --only-values --absolute-names -n user.calf.counters "$1" | jq -r ".$2"
}

goes_by() { [ "$(counter "$1" transport)" = "$2" ]; } # goes_by MOUNT TRANSPORT

read_direct() { dd if="$1" of=/dev/null bs=64k iflag=direct status=none; }

# What is the same in and out of containers.
shares_memory() { # shares_memory SCENARIO
    local mnt before requests
    mnt=$(mount_of "$1")
    cluster up "$1" >/dev/null
    round_trip "$1"
    head -c 2000000 /dev/urandom >"$TEST_DIR/kept"
    cp "$TEST_DIR/kept" "$mnt/kept"
    assert_eq "$(counter "$mnt" transport)" shm "$1: how the mount reaches the chunkservers"
    servers_tell() { cluster admin "$1" -- servers --json | grep -q '"shm_clients": [1-9]'; }
    wait_for "calf servers tells it, too" 10 servers_tell "$1"
    step "$1: what is read without a message is counted"
    before=$(counter "$mnt" read_bytes) requests=$(counter "$mnt" read_requests)
    read_direct "$mnt/kept"
    assert_eq $(($(counter "$mnt" read_bytes) - before)) $((489 * 4096)) "bytes read of 2000000, in whole blocks"
    assert_eq $(($(counter "$mnt" read_requests) - requests)) 31 "requests"
    step "$1: a chunkserver is killed and comes back"
    kill -KILL "$(part_pid_of "$1" chunkserver1)"
    [[ $1 == docker* ]] || cluster restart "$1" chunkserver1
    cmp "$TEST_DIR/kept" "$mnt/kept" || fail "$1: what was read after the kill differs"
    dd if="$mnt/kept" bs=64k iflag=direct status=none | cmp - "$TEST_DIR/kept" || fail "$1: read past the cache, it differs"
    shares_again() { read_direct "$mnt/kept" && dd if=/dev/zero of="$mnt/more" bs=4k count=1 status=none && goes_by "$mnt" shm; }
    wait_for "$1: memory is shared again" 20 shares_again
}

shares_memory bare-shm
step "bare-shm: a client that is killed leaves nothing that the next one stumbles over"
kill -KILL "$(part_pid_of bare-shm client)"
cluster up bare-shm >/dev/null
cmp "$TEST_DIR/kept" "$(mount_of bare-shm)/kept" 2>/dev/null || cp "$TEST_DIR/kept" "$(mount_of bare-shm)/kept"
assert_eq "$(counter "$(mount_of bare-shm)" transport)" shm "the new client"
cluster down bare-shm
assert_nothing_left bare-shm

if docker info >/dev/null 2>&1; then
    shares_memory docker-shm
    assert_eq "$(docker inspect --format '{{.HostConfig.ReadonlyRootfs}} {{.Config.User}} {{.HostConfig.IpcMode}}' \
        "$(prefix_of docker-shm)-chunkserver1")" "true 65532:65532 private" "read-only root, user and IPC name space"
    cluster down docker-shm
    assert_nothing_left docker-shm
fi

step "TCP where no chunkserver has a socket, and one line that says why"
mkdir "$TEST_DIR/nobody"
start_cluster 1
unmount_calf mnt
mount_calf mnt --shm "$TEST_DIR/nobody"
cp "$TEST_DIR/kept" "$MNT/kept"
sync "$MNT/kept"
dd if="$MNT/kept" bs=64k iflag=direct status=none | cmp - "$TEST_DIR/kept" || fail "over TCP, it differs"
assert_eq "$(counter "$MNT" transport)" tcp "how the mount reaches the chunkserver"
assert_eq "$(grep -c "no shared memory at $TEST_DIR/nobody/1.sock: No such file or directory; using TCP" "$TEST_DIR/mount-mnt.log")" 1 \
    "lines that say so"
assert_fails 2 "$BIN/calf-mount" --shm "$TEST_DIR/none" "$MNT"
assert_fails 2 "$BIN/calf-chunkserver" --shm "$TEST_DIR/none" --store "$TEST_DIR" --size 1m --master :1

step "a bit that flipped in a chunk file is found as over TCP"
stop_part mount-mnt
env -u TEST_DIR CALF_TEST_SHM=1 bash "$(dirname "$0")/22-bit-flip.sh" || fail "22-bit-flip with shared memory"
