#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two mounts of one cluster: what is written and closed on one is what an open on the other sees (contents, sizes, names,
# times), and records appended from both are all there, whole.
# timeout: 150
. "$(dirname "$0")/lib.sh"

requires root fuse perl
start_cluster 2
A=$MNT
echo before >"$A/lone"
keep_asking() { # keeps the names fresh in the kernel's cache of the first mount
    while [ -e "$A" ] && [ ! -e "$TEST_DIR/enough" ]; do stat "$A/lone" "$A/none" >/dev/null 2>&1 || true; done
}
start_job asker keep_asking
mount_calf second
B=$MNT

step "what a mount believed while it was alone"
mv "$B/lone" "$B/none"
if cat "$A/lone" >/dev/null 2>&1; then fail "the old name can still be opened"; fi
assert_eq "$(cat "$A/none")" before "the new name is not seen"
: >"$TEST_DIR/enough"
job_status asker 10 || fail "asking failed"
PATTERN=$TEST_DIR/pattern
head -c 3000000 /dev/urandom >"$PATTERN"

step "written on one, read on the other, back and forth"
for i in $(seq 30); do
    if [ $((i % 2)) -eq 0 ]; then from=$A to=$B; else from=$B to=$A; fi
    # The same length as before every third time: a changed size gives nothing away.
    length=$((i % 3 == 0 ? 5000 : i * 7001))
    head -c $((i + length)) "$PATTERN" | tail -c $length >"$from/file"
    head -c $((i + length)) "$PATTERN" | tail -c $length | cmp - "$to/file" || fail "round $i: stale contents"
    assert_eq "$(stat -c %s "$to/file")" "$length" "round $i: size"
    printf 'inplace %04d' $i | dd of="$to/file" bs=1 seek=100 conv=notrunc status=none
    assert_eq "$(dd if="$from/file" bs=1 skip=100 count=12 status=none)" "$(printf 'inplace %04d' $i)" "round $i: overwritten in place"
    printf 'tail %04d' $i >>"$to/file"
    assert_eq "$(tail -c 9 "$from/file")" "$(printf 'tail %04d' $i)" "round $i: appended"
    truncate -s 4097 "$to/file"
    assert_eq "$(wc -c <"$from/file")" 4097 "round $i: cut"
done

step "names"
for i in $(seq 30); do
    echo $i >"$A/name-$i"
    assert_eq "$(cat "$B/name-$i")" $i "created on the other"
    mv "$B/name-$i" "$B/moved-$i"
    assert_eq "$(cat "$A/moved-$i")" $i "renamed on the other"
    if cat "$A/name-$i" >/dev/null 2>&1; then fail "the old name can still be opened"; fi
    echo new-$i >"$A/replacing"
    mv "$A/replacing" "$A/moved-$i"
    assert_eq "$(cat "$B/moved-$i")" new-$i "replaced by rename on the other"
    rm "$B/moved-$i"
    if cat "$A/moved-$i" >/dev/null 2>&1; then fail "the removed name can still be opened"; fi
done
mkdir "$A/dir"
: >"$B/dir/x"
assert_eq "$(ls "$A/dir")" x "created in a directory of the other mount"
mv "$B/dir" "$B/dir2"
: >"$A/dir2/y"
assert_eq "$(ls "$B/dir2" | tr '\n' ' ')" 'x y ' "created under the new name"
: >"$A/dir2/z" && chmod 600 "$B/dir2/z" && touch -d '2001-01-01 UTC' "$B/dir2/z"
sleep 1.1 # attributes may be as old as their caches allow; a second is what the mounts promise
assert_eq "$(stat -c '%a %Y' "$A/dir2/z")" '600 978307200' "mode and time set on the other"
rm -r "$B/dir2"

step "appends from both lose nothing"
: >"$A/log"
append() { # append FILE WRITER COUNT: opened once, or for every tenth record anew
    perl -e 'use Fcntl; my ($path, $writer, $count) = @ARGV; my $file;
        for my $n (1 .. $count) {
            if ($n % 10 == 1) { close $file or die "close: $!" if $file; sysopen($file, $path, O_WRONLY | O_APPEND) or die "open: $!" }
            my $record = sprintf("%s %05d %s\n", $writer, $n, "x" x ($n * 7 % 300));
            syswrite($file, $record) == length $record or die "write: $!";
        }
        close $file or die "close: $!"' "$@"
}
for writer in 1 2 3; do
    start_job "a$writer" append "$A/log" "a$writer" 300
    start_job "b$writer" append "$B/log" "b$writer" 300
done
for writer in a1 a2 a3 b1 b2 b3; do
    job_status $writer 90 || fail "appender $writer: $(cat "$TEST_DIR/job-$writer.log")"
done
cmp "$A/log" "$B/log" || fail "the two mounts show different logs"
perl -e 'for my $w (qw(a1 a2 a3 b1 b2 b3)) { printf "%s %05d %s\n", $w, $_, "x" x ($_ * 7 % 300) for 1 .. 300 }' |
    sort >"$TEST_DIR/log.expected"
sort "$A/log" | cmp - "$TEST_DIR/log.expected" || {
    sort "$A/log" | diff - "$TEST_DIR/log.expected" | cut -c1-100 | head -n 5
    fail "records are missing, doubled or torn"
}

step "parts of one file written from both"
truncate -s 2000000 "$A/shared"
write_part() { # write_part MOUNT PARITY: every other piece of 10,000 bytes
    local piece
    for piece in $(seq "$2" 2 199); do
        dd if="$PATTERN" of="$1/shared" bs=10000 skip="$piece" seek="$piece" count=1 conv=notrunc status=none || exit 1
    done
}
start_job even write_part "$A" 0
start_job odd write_part "$B" 1
job_status even 60 || fail "writer of the even pieces"
job_status odd 60 || fail "writer of the odd pieces"
head -c 2000000 "$PATTERN" | cmp - "$A/shared" || fail "the shared file differs on the first mount"
head -c 2000000 "$PATTERN" | cmp - "$B/shared" || fail "the shared file differs on the second mount"
