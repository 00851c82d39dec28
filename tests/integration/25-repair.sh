#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Goal 2 on three chunkservers. One is killed for good in the middle of a load: no operation fails, and all chunks have two copies
# again by themselves (the time is printed). A flipped bit in a copy: the reader gets right data at once, and the copy is
# replaced. A damaged header: reported, made anew elsewhere or in its place, then gone. The goal of files that are there is raised and lowered.
# timeout: 150
. "$(dirname "$0")/lib.sh"

requires root fuse perl fio
[ -z "$PLAIN" ] || skip "about chunkservers"
CHUNKSERVER_BYTES=$((224 << 20))
start_master --repair-after 2
for number in 1 2 3; do
    start_chunkserver $number --scrub 64m
done
mount_calf
calf goal set 2 "$MNT"

is_whole() { # every chunk has its copies, and nothing waits
    [ "$(status_number chunks_below_goal)" -eq 0 ] && [ "$(status_number repair_queue)" -eq 0 ] &&
        [ "$(status_number copies_running)" -eq 0 ] && [ "$(status_number damaged_copies)" -eq 0 ]
}
copies_of() { calf file "$1" --json | grep -c '"state": "valid"'; }
forget_cached() { dd of="$1" oflag=nocache conv=notrunc,fdatasync count=0 status=none; }

step "one of three is killed for good in the middle of a load"
head -c $((20 << 20)) /dev/urandom >"$TEST_DIR/expected"
for i in 1 2 3; do cp "$TEST_DIR/expected" "$MNT/cold$i"; done
mkdir "$MNT/ledger" "$MNT/fio"
start_job writer perl "$ROOT/tests/integration/ledger.pl" work "$MNT/ledger" "$TEST_DIR/ledger" "$TEST_DIR/stop" 7
start_job fio fio --name=load --directory="$MNT/fio" --rw=randrw --bs=64k --size=16m --numjobs=2 --time_based --runtime=8 \
    --verify=xxhash --verify_backlog=64 --verify_state_save=0 --ioengine=psync --fallocate=none --group_reporting --minimal
fio_is_writing() { [ "$(stat -c %s "$MNT/fio/load.0.0" 2>/dev/null || echo 0)" -gt 0 ]; }
wait_for "the load has begun" 20 fio_is_writing
sleep 1
kill9 chunkserver-3
killed=$(date +%s%N)
loses_copies() { [ "$(status_number servers_connected)" -eq 2 ]; }
wait_for "the master misses it" 20 loses_copies
wait_for "all chunks have two copies again" 60 is_whole
printf 'full redundancy %s s after the kill\n' "$((($(date +%s%N) - killed) / 1000000000))"
touch "$TEST_DIR/stop"
job_status fio 60 || fail "fio: $(tail -n 3 "$TEST_DIR/job-fio.log")"
job_status writer 60 || fail "the writer: $(cat "$TEST_DIR/job-writer.log")"
perl "$ROOT/tests/integration/ledger.pl" verify "$MNT/ledger" "$TEST_DIR/ledger" || fail "what was acknowledged is not there"
wait_for "all chunks have two copies again" 30 is_whole
for i in 1 2 3; do
    forget_cached "$MNT/cold$i"
    cmp "$MNT/cold$i" "$TEST_DIR/expected" || fail "cold$i differs"
    assert_eq "$(copies_of "$MNT/cold$i")" 2 "valid copies of cold$i"
done

step "a new chunkserver takes the dead one's place; a bit flips in one copy"
perl -e 'printf("<block %07d>", $_) . print "x" x 4081 for 0 .. 1023' >"$TEST_DIR/marked"
cp "$TEST_DIR/marked" "$MNT/marked"
sync "$MNT/marked"
wait_for "all chunks have two copies" 20 is_whole
chunk=$(printf '%016x' "$(calf file "$MNT/marked" --json | sed -n 's/.*"id": \([0-9]*\),.*/\1/p' | head -n 1)")
file=$(find "$TEST_DIR/store-1/chunks" -name "$chunk")
[ -n "$file" ] || fail "chunk $chunk is not on chunkserver 1"
place=$(grep -abo -m 1 -- '<block 0000100>' "$file" | cut -d: -f1 | head -n 1)
inode=$(stat -c %i "$file")
printf '\377' | dd of="$file" bs=1 seek=$((place + 100)) conv=notrunc status=none
forget_cached "$MNT/marked"
begin=$(date +%s%N)
cmp "$MNT/marked" "$TEST_DIR/marked" || fail "wrong data after a bit flipped"
took=$((($(date +%s%N) - begin) / 1000000))
[ $took -lt "$(slowed 3000)" ] || fail "the reader waited $took ms"
is_replaced() { [ "$(stat -c %i "$file" 2>/dev/null)" != "$inode" ] && is_whole; }
wait_for "the damaged copy is replaced" 30 is_replaced
kill9 chunkserver-2 # so that what was replaced is what is read
forget_cached "$MNT/marked"
cmp "$MNT/marked" "$TEST_DIR/marked" || fail "the copy that was made anew differs"
restart_part chunkserver-2
wait_for "it is back" 20 servers_are 2
wait_for "all chunks have two copies" 30 is_whole

step "a bit flips where nobody reads: scrubbing finds it"
file=$(find "$TEST_DIR/store-2/chunks" -name "$chunk")
inode=$(stat -c %i "$file")
place=$(grep -abo -m 1 -- '<block 0000200>' "$file" | cut -d: -f1 | head -n 1)
printf '\377' | dd of="$file" bs=1 seek=$((place + 100)) conv=notrunc status=none
wait_for "the damaged copy is found and replaced" 60 is_replaced

step "a damaged header"
inode=$(stat -c %i "$file")
kill9 chunkserver-2
printf 'broken' | dd of="$file" bs=1 seek=20 conv=notrunc status=none
restart_part chunkserver-2
wait_for "the damaged copy is made anew" 40 is_replaced
[ -z "$(ls -A "$TEST_DIR/store-2/quarantine")" ] || fail "the damaged file is still there"
cmp "$MNT/marked" "$TEST_DIR/marked" || fail "wrong data after a header was damaged"

step "goals of files that are there"
calf goal set 1 "$MNT/marked"
has_copies() { [ "$(copies_of "$1")" -eq "$2" ] && is_whole; }
wait_for "one copy of two goes" 20 has_copies "$MNT/marked" 1
cmp "$MNT/marked" "$TEST_DIR/marked" || fail "wrong data with one copy"
calf goal set 2 "$MNT/marked"
wait_for "there are two again" 20 has_copies "$MNT/marked" 2
