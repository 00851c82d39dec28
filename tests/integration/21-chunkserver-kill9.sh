#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of a chunkserver and restart on its RAM disk, with one copy of each chunk: reads wait and go on, what was
# written before is there, and writing goes on.
# timeout: 120
. "$(dirname "$0")/lib.sh"

requires root fuse perl
start_cluster 2

FILES=24
step "write $FILES files of 3 MiB"
mkdir "$MNT/d" "$TEST_DIR/expected"
for i in $(seq $FILES); do
    head -c $(((3 << 20) + i)) /dev/urandom >"$TEST_DIR/expected/$i"
    cp "$TEST_DIR/expected/$i" "$MNT/d/$i"
done

# Reads all files again and again past the page cache; ends with an error at the first wrong byte.
read_all() {
    local i round=0
    while [ ! -e "$TEST_DIR/stop" ]; do
        for i in $(seq $FILES); do
            dd if="$MNT/d/$i" bs=1M iflag=direct status=none | cmp - "$TEST_DIR/expected/$i" || exit 1
        done
        round=$((round + 1))
        echo $round >"$TEST_DIR/rounds"
    done
}
rounds() { cat "$TEST_DIR/rounds" 2>/dev/null || echo 0; }
rounds_are_beyond() { [ "$(rounds)" -gt "$1" ]; }

mkdir "$MNT/w"
start_job reader read_all
start_job writer perl "$ROOT/tests/integration/ledger.pl" work "$MNT/w" "$TEST_DIR/ledger" "$TEST_DIR/stop" 7
wait_for "the reader gets through once" 30 rounds_are_beyond 0

for part in chunkserver-1 chunkserver-2 chunkserver-1; do
    step "kill -9 of $part"
    kill9 $part
    sleep "0.$((RANDOM % 900 + 100))" # readers run into it
    restart_part $part
    before=$(rounds)
    wait_for "reads go on after the restart of $part" 40 rounds_are_beyond $((before + 1))
done
touch "$TEST_DIR/stop"
job_status reader 60 || fail "the reader: $(cat "$TEST_DIR/job-reader.log")"
job_status writer 60 || fail "the writer: $(cat "$TEST_DIR/job-writer.log")"
perl "$ROOT/tests/integration/ledger.pl" verify "$MNT/w" "$TEST_DIR/ledger" || fail "what was acknowledged is not there"

step "both at once, and a new mount"
kill9 chunkserver-1
kill9 chunkserver-2
restart_part chunkserver-1
restart_part chunkserver-2
if [ -z "$PLAIN" ]; then
    unmount_calf mnt
    mount_calf mnt
fi
diff -r "$MNT/d" "$TEST_DIR/expected" || fail "contents differ after the restart of both"
