#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A chunkserver that is drained gets no new chunks, its copies move off while files are read and written, and then it is said
# that it may be stopped; nothing is lost when it is. Undone, it gets chunks again. A new chunkserver gets its share, and
# then nothing moves any more. `calf check` names a bad copy, `calf file` shows files of thousands of chunks.
# timeout: 120
. "$(dirname "$0")/lib.sh"

requires root fuse perl
[ -z "$PLAIN" ] || skip "about chunkservers"
CHUNKSERVER_BYTES=$((96 << 20))
start_master --geometry small --repair-after 2
for number in 1 2; do
    start_chunkserver $number --scrub 0
done
mount_calf

# The geometry is chosen once, with --init.
restart_again_without_geometry() {
    mapfile -d '' -t command < <(grep -zvx -e --geometry -e small "$TEST_DIR/parts/master.command")
    printf '%s\0' "${command[@]}" >"$TEST_DIR/parts/master.command"
    restart_master
}

settled() {
    [ "$(status_number repair_queue)" -eq 0 ] && [ "$(status_number copies_running)" -eq 0 ] &&
        [ "$(status_number chunks_below_goal)" -eq 0 ]
}
# One number of a server in `calf servers --json`.
server_number() { # server_number ID NAME
    calf servers --json | perl -0777 -ne 'for (/\{[^{}]*\}/g) { print $1 if /"id": '"$1"',/ && /"'"$2"'": (\w+)/ }'
}

step "a file of 1000 chunks"
head -c $((1000 * 65536)) /dev/urandom >"$TEST_DIR/large"
cp "$TEST_DIR/large" "$MNT/large"
sync "$MNT/large"
assert_eq "$(calf file "$MNT/large" --json | grep -c '"index"')" 1000 "chunks shown"
assert_eq "$(calf file "$MNT/large" | grep -c valid)" 1000 "copies shown"

step "an empty chunkserver comes and gets its share"
start_chunkserver 3 --scrub 0
share() { [ "$(server_number 3 chunks)" -ge 230 ] && settled; }
wait_for "chunks move to the new one" 60 share
even() { calf status >/dev/null && grep -q 'filled evenly' "$TEST_DIR/master.log"; }
wait_for "it settles" 60 even
made=$(status_number copies_made)

step "drain"
assert_fails 2 calf servers drain 9 2>"$TEST_DIR/error"
grep -q 'no such chunkserver' "$TEST_DIR/error" || fail "drain of a server that is not there: $(cat "$TEST_DIR/error")"
mkdir "$MNT/ledger"
start_job writer perl "$ROOT/tests/integration/ledger.pl" work "$MNT/ledger" "$TEST_DIR/ledger" "$TEST_DIR/stop" 7
assert_eq "$(status_number copies_made)" "$made" "copies made after it had settled"
calf servers drain 1 | grep -q 'being emptied' || fail "calf servers drain says nothing"
drained() { calf servers | grep -q 'drained: may be stopped'; }
wait_for "server 1 is drained" 60 drained
touch "$TEST_DIR/stop"
job_status writer 60 || fail "the writer: $(cat "$TEST_DIR/job-writer.log")"
head -c 1000000 /dev/urandom >"$TEST_DIR/new"
cp "$TEST_DIR/new" "$MNT/new"
assert_eq "$(server_number 1 to_move)" 0 "chunks that a new file has on the drained server"
empty() { [ "$(server_number 1 chunks)" -eq 0 ]; }
wait_for "what moved off is deleted there" 20 empty
kill9 chunkserver-1
dd if="$MNT/large" bs=1M iflag=direct status=none | cmp - "$TEST_DIR/large" || fail "the large file differs after the drain"
cmp "$MNT/new" "$TEST_DIR/new" || fail "the new file differs"
perl "$ROOT/tests/integration/ledger.pl" verify "$MNT/ledger" "$TEST_DIR/ledger" || fail "what was acknowledged is not there"

step "the drain outlives the master, and is undone"
restart_part chunkserver-1
kill9 master
restart_again_without_geometry
wait_for "all are back" 30 servers_are 3
calf servers | grep -q 'drained: may be stopped' || fail "the master forgot the drain"
calf servers undrain 1 >/dev/null
has_chunks() { [ "$(server_number 1 chunks)" -gt 0 ]; }
wait_for "server 1 has chunks again" 40 has_chunks

step "calf check names a bad copy"
calf goal set 2 "$MNT/new"
wait_for "two copies" 30 settled
calf check "$MNT/new" | grep -q ' 32 copies of chunks, 0 bad' || fail "calf check: $(calf check "$MNT/new")"
read -r id server < <(calf file "$MNT/new" --json | perl -0777 -ne '/"id": (\d+).*?"server": (\d+)/s and print "$1 $2\n"')
file=$(find "$TEST_DIR/store-$server/chunks" -name "$(printf '%016x' "$id")")
kill -STOP "$(part_pid master)" # so that it is not mended before it is looked at
printf '\252' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") - 100)) conv=notrunc status=none
kill -CONT "$(part_pid master)"
assert_fails 1 calf check "$MNT/new" >"$TEST_DIR/check"
grep -q "chunk 0: the copy on chunkserver $server at 127.0.0.1:[0-9]* is damaged" "$TEST_DIR/check" ||
    fail "calf check: $(cat "$TEST_DIR/check")"
good_again() { calf check "$MNT/new" >/dev/null; }
wait_for "it is replaced" 20 good_again
