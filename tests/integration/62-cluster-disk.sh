#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cluster.sh up --store disk: chunks and journal on a disk, kept through kill -9 of everything that keeps them; in host
# processes and in containers. Nothing stays after down.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

cluster_requires bare docker-bridge
DISK=$(mktemp -d /var/tmp/calf-test.XXXXXX)
cleanup_script() {
    cluster down --all || true
    rm -rf --one-file-system "$DISK"
}

for scenario in bare docker-bridge; do
    step "$scenario on a disk"
    cluster up $scenario --store disk --disk "$DISK/stores" --goal 2 >/dev/null
    assert_eq "$(cluster status $scenario --json | jq -r '.store + " " + .journal_sync')" "disk always" "store and journal"
    round_trip $scenario
    home=$DISK/stores/$(prefix_of $scenario)
    [ -z "$(grep -F "$STATE/$scenario/ram" /proc/self/mountinfo || true)" ] || fail "there is a RAM disk"
    head -c 3000000 /dev/urandom >"$TEST_DIR/kept"
    cp "$TEST_DIR/kept" "$(mount_of $scenario)/kept"
    sync "$(mount_of $scenario)/kept"
    [ "$(du -sk "$home/disk1" | cut -f 1)" -ge 2900 ] || fail "the file is not in $home/disk1"

    step "$scenario: master and chunkservers killed: all is there when they are back"
    for part in master chunkserver1 chunkserver2; do
        kill -KILL "$(part_pid_of $scenario $part)"
    done
    if [ $scenario = bare ]; then
        # The first waits for chunkservers, the second for one only.
        for part in master chunkserver1 chunkserver2; do cluster restart bare $part; done
    fi
    wait_for "$scenario is up again" 30 scenario_is $scenario up
    echo 3 >/proc/sys/vm/drop_caches
    cmp "$TEST_DIR/kept" "$(mount_of $scenario)/kept" || fail "$scenario: the file has changed"
    round_trip $scenario
    cluster down $scenario
    assert_nothing_left $scenario
    [ ! -e "$DISK/stores" ] || fail "left on the disk: $(ls -R "$DISK/stores")"
done

step "a directory of somebody else is not touched"
mkdir -p "$DISK/stores/$(prefix_of bare)/precious"
assert_fails 1 cluster up bare --store disk --disk "$DISK/stores" 2>"$TEST_DIR/stderr"
grep -q "not of this script" "$TEST_DIR/stderr" || fail "$(cat "$TEST_DIR/stderr")"
[ -e "$DISK/stores/$(prefix_of bare)/precious" ] || fail "it was removed"
