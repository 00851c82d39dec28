#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Daemons go away and come back under a mount that stays: requests wait and go on, open files stay usable, also those
# that were unlinked meanwhile, and no new mount is needed.
# timeout: 150
. "$(dirname "$0")/lib.sh"

requires root fuse perl
start_cluster 2

step "open files over a restart of the master"
head -c 300000 /dev/urandom >"$TEST_DIR/pattern"
cp "$TEST_DIR/pattern" "$MNT/plain"
cp "$TEST_DIR/pattern" "$MNT/unlinked"
exec 5<"$MNT/plain" 6<"$MNT/unlinked" 7>"$MNT/growing"
head -c 100000 "$TEST_DIR/pattern" >&7
rm "$MNT/unlinked"
stop_part master
restart_master
cmp - "$TEST_DIR/pattern" <&5 || fail "the open file differs"
cmp - "$TEST_DIR/pattern" <&6 || fail "the open file that was unlinked differs"
tail -c +100001 "$TEST_DIR/pattern" >&7
exec 5<&- 6<&- 7>&-
cmp "$MNT/growing" "$TEST_DIR/pattern" || fail "the file that was being written differs"
assert_eq "$(ls "$MNT")" $'growing\nplain' "the directory"

step "requests wait while the master is away"
names_come() { echo waiting >"$MNT/waited"; ls "$MNT"; }
stop_part master
start_job waiter names_come
sleep 3 # the length of the outage
[ -n "$PLAIN" ] || part_runs job-waiter || fail "a request did not wait for the master: $(cat "$TEST_DIR/job-waiter.log")"
restart_master
job_status waiter 20 || fail "the request that waited failed: $(cat "$TEST_DIR/job-waiter.log")"
assert_eq "$(cat "$MNT/waited")" waiting "what the waiting request wrote"

step "everything goes away and comes back"
kill9 master
kill9 chunkserver-1
kill9 chunkserver-2
start_job all sh -c "cat '$MNT/plain' >'$TEST_DIR/read' && cp '$TEST_DIR/pattern' '$MNT/after'"
restart_part chunkserver-2
restart_part chunkserver-1
sleep 1 # chunkservers are up long before their master
restart_master
job_status all 40 || fail "requests during the outage failed: $(cat "$TEST_DIR/job-all.log")"
cmp "$TEST_DIR/read" "$TEST_DIR/pattern"
cmp "$MNT/after" "$TEST_DIR/pattern"

step "nothing idle costs"
# Below 0.5% of a core over three seconds for all daemons and the mount together: 1.5 ticks of 10 ms; be generous for noise.
ticks() {
    local part total=0
    for part in master chunkserver-1 chunkserver-2 mount-mnt; do
        total=$((total + $(sed 's/.*) //' "/proc/$(part_pid $part)/stat" | awk '{ print $12 + $13 }')))
    done
    echo $total
}
if [ -z "$PLAIN" ]; then
    wait_for "both chunkservers are connected" 20 servers_are 2
    sleep 1
    before=$(ticks)
    sleep 4
    used=$(($(ticks) - before))
    [ $used -le 4 ] || fail "the idle cluster used $used ticks of 10 ms in 4 s, more than 1% of a core"
fi
