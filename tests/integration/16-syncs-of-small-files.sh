#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How often a disk is synced for a small file that is written, fsynced and closed, counted at the system calls of the daemons: with a
# journal that is synced always, one sync for each answer that must not be lost (its name, its chunk's place, its length); several
# programs share them. With the default journal a sync a second or so, however many files. Chunks in RAM cost none; chunks on a disk five
# each: the file that is made, its name in two directories, and for the data what is about to change and what has.
# timeout: 60
. "$(dirname "$0")/lib.sh"

requires root fuse perl strace
[ -z "$PLAIN" ] || skip "about daemons"
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # strace has the daemons, and then nobody else can look for leaks
FILES=60

# Makes files one after another; each is synced before its close.
small_files() { # small_files DIR COUNT
    perl -MIO::Handle -e 'my ($dir, $count) = @ARGV; mkdir $dir or die "mkdir: $!\n";
        for my $i (1 .. $count) {
            open(my $f, ">", "$dir/$i") or die "open: $!\n"; syswrite($f, "x" x 3000) == 3000 or die "write: $!\n";
            $f->sync or die "fsync: $!\n"; close($f) or die "close: $!\n";
        }' "$1" "$2"
}

# What PART syncs from now until `counted`.
count_syncs() { # count_syncs PART
    start_part "strace-$1" strace -f -qq -e trace=fsync,fdatasync,sync_file_range,syncfs,sync -o "$TEST_DIR/syncs.$1" -p "$(part_pid "$1")"
    wait_for "strace sees $1" 10 grep -q "^TracerPid:[[:space:]]*[1-9]" "/proc/$(part_pid "$1")/status"
}
counted() { # counted PART: prints how many
    stop_part "strace-$1"
    grep -c '= 0$' "$TEST_DIR/syncs.$1" || true
}

strace -qq -e trace=none true 2>/dev/null || skip "this machine does not let processes be traced"

step "a new cluster's directory is synced in the one above"
mkdir "$TEST_DIR/above"
strace -f -qq -y -e trace=fsync -o "$TEST_DIR/syncs.init" "$BIN/calf-master" --data "$TEST_DIR/above/data" --init --init-only 2>/dev/null ||
    fail "no new cluster"
grep -q "<$TEST_DIR/above>) *= 0" "$TEST_DIR/syncs.init" || fail "not synced: $TEST_DIR/above"
grep -q "<$TEST_DIR/above/data>) *= 0" "$TEST_DIR/syncs.init" || fail "not synced: $TEST_DIR/above/data"
rm -r "$TEST_DIR/above"

start_master --journal-sync always
mkdir "$TEST_DIR/disk"
start_part chunkserver-disk "$BIN/calf-chunkserver" --store "$TEST_DIR/disk" --store-kind disk --size 256m --master "$CONTROL" \
    --listen "127.0.0.1:$(free_port)"
wait_for_start chunkserver-disk "the chunkserver on a disk is registered" 15 servers_are 1
mount_calf

step "chunks on a disk"
count_syncs chunkserver-disk
small_files "$MNT/disk" $FILES
syncs=$(counted chunkserver-disk)
echo "$syncs syncs of the chunkserver for $FILES files"
[ "$syncs" -ge $FILES ] || fail "$syncs syncs for $FILES files: something was acknowledged that was not on the disk"
[ "$syncs" -le $((5 * FILES + 10)) ] || fail "$syncs syncs for $FILES files, more than five each"
rm -r "$MNT/disk"
start_chunkserver 2
calf servers drain 1 >/dev/null
drained() { calf servers | grep -q 'may be stopped'; }
wait_for "the chunkserver on a disk is empty" 20 drained

step "one program, journal synced always"
count_syncs master
count_syncs chunkserver-2
small_files "$MNT/one" $FILES
syncs=$(counted master)
chunk_syncs=$(counted chunkserver-2)
echo "$syncs syncs of the journal for $FILES files"
[ "$syncs" -ge $FILES ] || fail "$syncs syncs for $FILES files: something was acknowledged that was not on the disk"
[ "$syncs" -le $((3 * FILES + 10)) ] || fail "$syncs syncs for $FILES files, more than three each"
assert_eq "$chunk_syncs" 0 "syncs of a chunkserver in RAM"

step "four programs share them"
count_syncs master
for i in 1 2 3 4; do start_job "files$i" small_files "$MNT/shared$i" $FILES; done
for i in 1 2 3 4; do job_status "files$i" 30 || fail "a writer: $(cat "$TEST_DIR/job-files$i.log")"; done
syncs=$(counted master)
echo "$syncs syncs of the journal for $((4 * FILES)) files"
[ "$syncs" -lt $((11 * FILES)) ] || fail "$syncs syncs for $((4 * FILES)) files of four programs: nothing is shared"

step "journal synced each second"
stop_part master
add_options master --journal-sync interval
restart_master
small_files "$MNT/first" 1 # the mount is back
count_syncs master
begin=$(date +%s%N)
small_files "$MNT/quick" $((4 * FILES))
took=$((($(date +%s%N) - begin) / 1000000))
syncs=$(counted master)
echo "$syncs syncs of the journal for $((4 * FILES)) files in $took ms"
[ "$syncs" -le $((took / 400 + 2)) ] || fail "$syncs syncs in $took ms"
