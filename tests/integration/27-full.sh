#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A full cluster: ENOSPC at once from write or fsync, with the first error kept; metadata, reads and deletes go on, on that file and
# on others; space comes back after a delete. While one chunkserver is full, what is free on another is used.
# timeout: 120
. "$(dirname "$0")/lib.sh"

requires root fuse perl cc
[ -z "$PLAIN" ] || skip "about chunkservers"
CHUNKSERVER_BYTES=$((48 << 20))
start_master --geometry small
start_chunkserver 1
start_chunkserver 2
mount_calf

free_bytes() { stat -f -c '%a %S' "$MNT" | { read -r blocks size; echo $((blocks * size)); }; }

step "until it is full"
head -c $((8 << 20)) /dev/urandom >"$TEST_DIR/expected"
cp "$TEST_DIR/expected" "$MNT/kept"
begin=$(date +%s)
for i in 1 2 3 4; do
    start_job filler$i dd if=/dev/zero of="$MNT/fill$i" bs=256k count=1000 conv=fsync
done
soon=$(slowed 5)
# Writers that meet the end may not take every thread that serves the mount.
while part_runs job-filler1 || part_runs job-filler2 || part_runs job-filler3 || part_runs job-filler4; do
    timeout "$soon" mkdir "$MNT/meanwhile" && timeout "$soon" ls "$MNT" >/dev/null && timeout "$soon" rmdir "$MNT/meanwhile" ||
        fail "metadata waits for writers that find no space"
done
for i in 1 2 3 4; do
    if job_status filler$i 40; then
        fail "250 MiB fit into 96"
    fi
    grep -q 'No space left on device' "$TEST_DIR/job-filler$i.log" || fail "not ENOSPC: $(cat "$TEST_DIR/job-filler$i.log")"
done
[ $(($(date +%s) - begin)) -lt "$(slowed 40)" ] || fail "it took $(($(date +%s) - begin)) s to say that it is full"
[ "$(free_bytes)" -lt $((4 << 20)) ] || fail "ENOSPC with $(free_bytes) bytes free"

step "full is said at once, by write or fsync or close"
dd if=/dev/zero of="$MNT/rest" bs=64k count=1000 conv=fsync 2>/dev/null || true
begin=$(date +%s%N)
assert_fails 1 dd if=/dev/zero of="$MNT/more" bs=256k count=40 conv=fsync 2>"$TEST_DIR/error"
grep -q 'No space left on device' "$TEST_DIR/error" || fail "not ENOSPC: $(cat "$TEST_DIR/error")"
took=$((($(date +%s%N) - begin) / 1000000))
[ $took -lt "$(slowed 5000)" ] || fail "ENOSPC took $took ms"

# Not after half a minute for each chunk that was tried, and not as EIO from close.
cc -O1 -o "$TEST_DIR/full_writer" "$ROOT/tests/tools/full_writer.c" || fail "full_writer cannot be built"
every_way_is_full() { # every_way_is_full MOUNT
    mkdir "$1/ways"
    "$TEST_DIR/full_writer" "$1/ways" $((64 << 20)) >"$TEST_DIR/ways" || fail "full, and: $(grep -v ^ok "$TEST_DIR/ways")"
    cat "$TEST_DIR/ways"
    assert_eq "$(grep -c ^ok "$TEST_DIR/ways")" 5 "ways to write"
    while read -r took; do
        [ "$took" -lt 5000 ] || fail "a call on a full cluster took $took ms"
    done < <(sed -n 's/.*longest call \([0-9]*\) ms$/\1/p' "$TEST_DIR/ways")
    rmdir "$1/ways"
}
step "in every way to write"
every_way_is_full "$MNT"

step "everything else goes on"
begin=$(date +%s)
mkdir "$MNT/d"
for i in $(seq 50); do : >"$MNT/d/$i"; done
mv "$MNT/d/1" "$MNT/d/one"
ln "$MNT/d/one" "$MNT/d/link"
ls -l "$MNT/d" >/dev/null
dd if="$MNT/kept" bs=1M iflag=direct status=none | cmp - "$TEST_DIR/expected" || fail "what was there differs"
dd if="$TEST_DIR/expected" of="$MNT/kept" bs=1M conv=notrunc,fsync status=none # in place: needs no space
rm -r "$MNT/d"
[ $(($(date +%s) - begin)) -lt "$(slowed 20)" ] || fail "metadata and reads took $(($(date +%s) - begin)) s"

step "space comes back"
rm "$MNT"/fill* "$MNT/more" "$MNT/rest"
there_is_room() { [ "$(free_bytes)" -gt $((70 << 20)) ]; }
wait_for "the space of what was deleted is free" 20 there_is_room
cp "$TEST_DIR/expected" "$MNT/again"
sync "$MNT/again"
cmp "$MNT/again" "$TEST_DIR/expected" || fail "what is written afterwards differs"

step "one is full, the other is not"
rm "$MNT/again"
calf servers drain 2 >/dev/null
drained() { calf servers | grep -q 'may be stopped'; }
wait_for "server 2 is empty" 30 drained
assert_fails 1 dd if=/dev/zero of="$MNT/fill" bs=256k count=1000 conv=fsync 2>/dev/null
calf servers undrain 2 >/dev/null
dd if=/dev/urandom of="$TEST_DIR/big" bs=1M count=20 status=none
cp "$TEST_DIR/big" "$MNT/big" || fail "ENOSPC with $(free_bytes) bytes free on the other"
sync "$MNT/big"
cmp "$MNT/big" "$TEST_DIR/big" || fail "what went to the other differs"
calf goal set 3 "$MNT/big" # of two servers
grows() { grep -q 'no chunkserver with room' "$TEST_DIR/master.log"; }
wait_for "the log says why a copy is missing" 30 grows

step "full, on an exclusive mount"
unmount_calf mnt
mount_calf alone --exclusive
every_way_is_full "$MNT"
