#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All chunkservers are away for 20 s: writers and readers wait and finish. For longer than the limit: EIO in bounded time, the log names
# the address, and the same mount works again when they are back. One that is told to end takes no write of a new file with it. A chunkserver that
# announces an address where nobody is, or belongs to another cluster: said in one line. A mount without a master ends after its wait.
# timeout: 150
. "$(dirname "$0")/lib.sh"

requires root fuse perl
[ -z "$PLAIN" ] || skip "about chunkservers"
start_master
start_chunkserver 1
start_chunkserver 2
mount_calf mnt
FAST=$TEST_DIR/fast
mount_calf fast --retry 4
MNT=$TEST_DIR/mnt
head -c $((4 << 20)) /dev/urandom >"$TEST_DIR/expected"
calf goal set 2 "$MNT"
cp "$TEST_DIR/expected" "$MNT/file"
sync "$MNT/file"
forget_cached() { dd of="$1" oflag=nocache conv=notrunc,fdatasync count=0 status=none; }

step "away for 20 s"
kill9 chunkserver-1
kill9 chunkserver-2
away=$SECONDS
forget_cached "$MNT/file"
start_job reader cmp "$MNT/file" "$TEST_DIR/expected"
start_job writer dd if="$TEST_DIR/expected" of="$MNT/new" bs=1M conv=fsync

step "longer than the limit, and metadata meanwhile"
begin=$(date +%s)
assert_fails 1 dd if=/dev/zero of="$FAST/file" bs=4k count=1 conv=notrunc,fsync 2>"$TEST_DIR/error"
grep -Eq 'Input/output error|Connection timed out' "$TEST_DIR/error" || fail "$(cat "$TEST_DIR/error")"
took=$(($(date +%s) - begin))
[ $took -ge 3 ] && [ $took -le "$(slowed 15)" ] || fail "with a limit of 4 s it failed after $took s"
mkdir "$FAST/d" && : >"$FAST/d/f" && ls -l "$FAST/d" >/dev/null
grep -q '127.0.0.1:[0-9]*' "$TEST_DIR/mount-fast.log" || fail "the log names no address"
until [ $((SECONDS - away)) -ge 20 ]; do
    part_runs job-reader || fail "the reader gave up: $(cat "$TEST_DIR/job-reader.log")"
    part_runs job-writer || fail "the writer gave up: $(cat "$TEST_DIR/job-writer.log")"
    sleep 0.2 # time going by is what is tested
done
restart_part chunkserver-1
restart_part chunkserver-2
job_status reader 20 || fail "the reader: $(cat "$TEST_DIR/job-reader.log")"
job_status writer 20 || fail "the writer: $(cat "$TEST_DIR/job-writer.log")"
cmp "$MNT/new" "$TEST_DIR/expected" || fail "what was written meanwhile differs"
cp "$TEST_DIR/expected" "$FAST/after" || fail "the mount that had failed does not work again"
cmp "$FAST/after" "$TEST_DIR/expected" || fail "what it wrote differs"

step "an address where nobody is"
nobody=$(free_port)
start_part chunkserver-9 "$BIN/calf-chunkserver" --store "$(mkdir -p "$TEST_DIR/store-9" && echo "$TEST_DIR/store-9")" \
    --size 64m --master "$CONTROL" --listen "127.0.0.1:$(free_port)" --advertise "127.0.0.1:$nobody"
wait_for "it is registered" 15 servers_are 3
# Whatever the placement says, some of these have a copy there: they are written elsewhere, or fail in bounded time.
begin=$(date +%s)
for i in 1 2 3 4 5 6; do
    timeout "$(slowed 30)" cp "$TEST_DIR/expected" "$FAST/n$i" || [ $? -ne 124 ] || fail "a write hangs"
done
[ $(($(date +%s) - begin)) -lt "$(slowed 60)" ] || fail "writes took $(($(date +%s) - begin)) s"
grep -q "127.0.0.1:$nobody" "$TEST_DIR"/mount-*.log "$TEST_DIR"/chunkserver-*.log || fail "no log names the address"
stop_part chunkserver-9

step "one that is told to end is away at once: nothing new is placed there"
stop_part chunkserver-1
assert_eq "$(status_number servers_connected)" 1 "connected"
mkdir "$FAST/elsewhere"
calf goal set 1 "$FAST/elsewhere"
for i in 1 2 3 4 5 6; do
    timeout "$(slowed 4)" cp "$TEST_DIR/expected" "$FAST/elsewhere/$i" || fail "file $i was not written: status $?"
done
restart_part chunkserver-1
wait_for "it is back" 15 servers_are 2

step "a chunkserver of another cluster"
mkdir "$TEST_DIR/other" "$TEST_DIR/other-store"
other=127.0.0.1:$(free_port)
start_part other "$BIN/calf-master" --data "$TEST_DIR/other" --init --listen "127.0.0.1:$(free_port)" --control "$other"
start_part stray "$BIN/calf-chunkserver" --store "$TEST_DIR/other-store" --size 64m --master "$other" --listen "127.0.0.1:$(free_port)"
joined() { grep -q registered "$TEST_DIR/stray.log"; }
wait_for "it joins the other cluster" 20 joined
stop_part stray
assert_fails 1 timeout "$(slowed 20)" "$BIN/calf-chunkserver" --store "$TEST_DIR/other-store" --size 64m --master "$CONTROL" \
    --listen "127.0.0.1:$(free_port)" 2>"$TEST_DIR/error"
grep -q 'belongs to another cluster' "$TEST_DIR/error" || fail "no reason: $(cat "$TEST_DIR/error")"

step "a mount without a master"
mkdir "$TEST_DIR/never"
begin=$(date +%s)
assert_fails 1 timeout "$(slowed 20)" "$BIN/calf-mount" --master "127.0.0.1:$(free_port)" --wait 2 "$TEST_DIR/never" -f 2>"$TEST_DIR/error"
[ $(($(date +%s) - begin)) -le "$(slowed 10)" ] || fail "it waited for $(($(date +%s) - begin)) s"
grep -q 'within 2 s' "$TEST_DIR/error" || fail "no clear line: $(cat "$TEST_DIR/error")"
