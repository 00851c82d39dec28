#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Daemons go away and come back under a mount that stays: requests wait and go on, open files stay usable, also those
# that were unlinked meanwhile, renames onto one name in their hundreds see no error, and no new mount is needed.
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

step "many renames onto one name while servers leave"
# Each writes a file and moves it onto the one name, as mv -f and every careful editor do; a reader finds it whole at any time.
renames() { # renames WHO
    perl -e 'my ($dir, $who, $stop, $count) = @ARGV;
        until (-e $stop) {
            open(my $f, ">", "$dir/new.$who") or die "open: $!\n"; print $f "$who " x 500; close($f) or die "close: $!\n";
            rename("$dir/new.$who", "$dir/name") or die "rename: $!\n";
            open($f, "<", "$dir/name") or die "open for reading: $!\n"; my $all = join "", <$f>;
            $all =~ /^(\w) (\1 ){499}$/ or die "not whole: " . length($all) . " bytes\n";
            open($f, ">>", "$count.$who"); print $f "."; close $f;
        }' "$MNT/renames" "$1" "$TEST_DIR/stop-renames" "$TEST_DIR/renamed"
}
renamed() { stat -c %s "$TEST_DIR/renamed.$1" 2>/dev/null || echo 0; }
all_renamed_beyond() { for who in a b c; do [ "$(renamed $who)" -gt "$1" ] || return 1; done; }
mkdir "$MNT/renames"
for who in a b c; do start_job "renames-$who" renames $who; done
wait_for "the renames go" 20 all_renamed_beyond 20
for part in master chunkserver-1 chunkserver-2; do
    kill9 $part
    if [ $part = master ]; then restart_master; else restart_part $part; fi
    most=0
    for who in a b c; do [ "$(renamed $who)" -le $most ] || most=$(renamed $who); done
    wait_for "all renames go on after $part left" 40 all_renamed_beyond $((most + 10))
done
touch "$TEST_DIR/stop-renames"
for who in a b c; do job_status "renames-$who" 20 || fail "renames of $who: $(cat "$TEST_DIR/job-renames-$who.log")"; done
assert_eq "$(ls "$MNT/renames")" name "what is left in the directory"

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
    [ $used -le "$(slowed 4)" ] || fail "the idle cluster used $used ticks of 10 ms in 4 s, more than 1% of a core"
fi
