#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A bit that flipped in a chunk file, with one copy of the chunk: the reader of that place gets EIO and never wrong data, the
# rest of the file can be read, and `calf status` counts it.
# timeout: 120
. "$(dirname "$0")/lib.sh"

requires root fuse perl
start_cluster 1

BLOCK=4096
SIZE=$((40 * BLOCK + 1234)) # the last block is not a whole one
perl -e 'for my $block (0 .. 40) { my $mark = sprintf("<block %04d of the file> ", $block); print $mark x (4096 / length $mark),
    "-" x (4096 % length $mark) }' | head -c $SIZE >"$TEST_DIR/expected"
cp "$TEST_DIR/expected" "$MNT/file"
sed 's/block/BLOCK/g' "$TEST_DIR/expected" >"$MNT/other"
sync "$MNT/file" "$MNT/other"

# What a read of one block past the page cache gives: "same", "WRONG DATA" or the error's text.
read_block() { # read_block FILE NUMBER [dd option]
    local status=0
    # shellcheck disable=SC2086
    dd if="$1" of="$TEST_DIR/block" bs=$BLOCK skip="$2" count=1 ${3:-} status=none 2>"$TEST_DIR/error" || status=$?
    if [ $status -ne 0 ]; then
        sed 's/.*: //' "$TEST_DIR/error" | tail -n 1
    elif dd if="$TEST_DIR/expected" bs=$BLOCK skip="$2" count=1 status=none | cmp -s - "$TEST_DIR/block"; then
        echo same
    else
        echo 'WRONG DATA'
    fi
}

forget_cached() { dd of="$1" oflag=nocache conv=notrunc,fdatasync count=0 status=none; }

# Where a text stands in the files of the store: "FILE OFFSET" of its first place.
find_in_store() {
    local found
    found=$(grep -rabo -m 1 -- "$1" "$TEST_DIR/store-1" | head -n 1) || true
    [ -n "$found" ] || fail "'$1' is in no chunk file"
    echo "$found" | sed 's/^\(.*\):\([0-9]*\):.*$/\1 \2/'
}

flip_bit() { # flip_bit FILE OFFSET BIT
    perl -e 'open(F, "+<", $ARGV[0]) or die $!; binmode F; sysseek(F, $ARGV[1], 0); sysread(F, my $c, 1);
        sysseek(F, $ARGV[1], 0); syswrite(F, chr(ord($c) ^ (1 << $ARGV[2]))) == 1 or die $!' "$@"
}

for block in 0 7 40; do
    step "a bit of block $block"
    counted=$(status_number damaged_blocks)
    assert_eq "$(read_block "$MNT/file" $block iflag=direct)" same "block $block before the flip"
    if [ -z "$PLAIN" ]; then
        read -r chunk offset < <(find_in_store "$(printf '<block %04d of the file>' $block)")
        flip_bit "$chunk" $((offset + block)) $((block % 8))
    fi
    forget_cached "$MNT/file"
    expected='Input/output error'
    [ -z "$PLAIN" ] || expected=same
    assert_eq "$(read_block "$MNT/file" $block iflag=direct)" "$expected" "direct read of the flipped block $block"
    assert_eq "$(read_block "$MNT/file" $block)" "$expected" "buffered read of the flipped block $block"
    assert_eq "$(read_block "$MNT/file" $block)" "$expected" "second buffered read of block $block"
    if [ -z "$PLAIN" ]; then
        counted_more() { [ "$(status_number damaged_blocks)" -gt "$counted" ]; }
        wait_for "calf status counts the damaged block" 15 counted_more
    fi
    for neighbour in 3 20 39; do
        assert_eq "$(read_block "$MNT/file" $neighbour iflag=direct)" same "block $neighbour, which is sound"
    done
done

step "whole files"
sed 's/block/BLOCK/g' "$TEST_DIR/expected" | cmp - "$MNT/other" || fail "the other file, which is sound, differs"
if [ -z "$PLAIN" ]; then
    if cat "$MNT/file" >"$TEST_DIR/read" 2>/dev/null; then
        fail "the file is read as a whole without an error"
    fi
    cmp -n "$(stat -c %s "$TEST_DIR/read")" "$TEST_DIR/read" "$TEST_DIR/expected" || fail "wrong data before the error"
fi

step "written anew, it is sound again"
rm "$MNT/file"
cp "$TEST_DIR/expected" "$MNT/file"
forget_cached "$MNT/file"
cmp "$MNT/file" "$TEST_DIR/expected" || fail "the new file differs"
