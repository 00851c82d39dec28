#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `ls -l` of a directory of thousands asks the master for many files at a time, attributes and extended attributes too, while the mount is
# alone; what it says is right from the first moment when another mount has come and changed something.
# timeout: 60
. "$(dirname "$0")/lib.sh"

requires root fuse perl strace
[ -z "$PLAIN" ] || skip "about requests to the master"
FILES=3000
start_master
start_chunkserver 1
mount_calf
mkdir "$MNT/d"
perl -e 'for my $i (1 .. $ARGV[1]) { open(my $f, ">", "$ARGV[0]/a-file-with-the-number-$i") or die "$!\n"; print $f "x" x ($i % 3); }' "$MNT/d" $FILES
setfattr -n user.colour -v blue "$MNT/d/a-file-with-the-number-7"
# A new mount: nothing is known to its kernel.
unmount_calf mnt
mount_calf mnt

step "requests for $FILES files"
strace -qq -e trace=none true 2>/dev/null || skip "this machine does not let processes be traced"
start_part tracer strace -f -qq -e trace=sendto,sendmsg -o "$TEST_DIR/sends" -p "$(part_pid mount-mnt)"
wait_for "strace sees the mount" 10 grep -q "^TracerPid:[[:space:]]*[1-9]" "/proc/$(part_pid mount-mnt)/status"
ls -l "$MNT/d" >"$TEST_DIR/listing"
stop_part tracer
sends=$(grep -c send "$TEST_DIR/sends")
echo "$sends requests"
[ "$sends" -le $((FILES / 10)) ] || fail "$sends requests for $FILES files"
assert_eq "$(awk 'NR > 1 { n[$5]++ } END { print n[0], n[1], n[2] }' "$TEST_DIR/listing")" "1000 1000 1000" "files of each size"
assert_eq "$(getfattr -d --absolute-names "$MNT/d/a-file-with-the-number-7" | grep -c 'user.colour="blue"')" 1 "an extended attribute"
assert_eq "$(getfattr -d --absolute-names "$MNT/d/a-file-with-the-number-8")" "" "what has none"
setfattr -n user.colour -v red "$MNT/d/a-file-with-the-number-8"
assert_eq "$(getfattr -n user.colour --only-values --absolute-names "$MNT/d/a-file-with-the-number-8")" red "one that was set just now"

step "another mount changes them"
ls -l "$MNT/d" >/dev/null
mount_calf second
for i in 10 500 2999; do
    echo "longer than before" >"$MNT/d/a-file-with-the-number-$i"
    chmod 600 "$MNT/d/a-file-with-the-number-$i"
    setfattr -n user.colour -v green "$MNT/d/a-file-with-the-number-$i"
done
rm "$MNT/d/a-file-with-the-number-100"
mkdir "$MNT/d/new"
MNT=$TEST_DIR/mnt
assert_eq "$(ls -l "$MNT/d" | awk '$1 == "-rw-------" && $5 == 19 { n++ } END { print n }')" 3 "changed files in the listing"
assert_eq "$(ls -l "$MNT/d" | awk 'NR > 1' | wc -l)" $FILES "names"
assert_eq "$(getfattr -n user.colour --only-values --absolute-names "$MNT/d/a-file-with-the-number-500")" green "an attribute set elsewhere"
