#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fsx of xfstests on calf: 1,000,000 operations for each of five seeds, over one and two copies, buffered with mmap, O_DIRECT, and
# AIO; small chunks, so that its file lies in more than four of them. Built elsewhere; nothing of it is in this tree.
#
#     tests/campaign/fsx.sh FSX [OPERATIONS of a seed]
FSX=$(realpath "${1:?fsx.sh: where is the program fsx?}")
OPERATIONS=${2:-1000000}
. "$(dirname "$0")/../integration/lib.sh"

requires root fuse
[ -x "$FSX" ] || fail "$FSX: no such program"
CHUNKSERVER_BYTES=$((128 << 20))
start_master --geometry small
for number in 1 2; do start_chunkserver $number; done
mount_calf mnt
mkdir "$MNT/one" "$MNT/two" "$TEST_DIR/fsx"
calf goal set 2 "$MNT/two" >/dev/null

each=$((OPERATIONS / 6))
for seed in 1 2 3 4 5; do
    for copies in one two; do
        step "seed $seed, $copies: buffered and mapped"
        "$FSX" -q -S $seed -N $each -l 300000 -o 70000 -P "$TEST_DIR/fsx" "$MNT/$copies/buffered" || fail "buffered"
        step "seed $seed, $copies: O_DIRECT"
        "$FSX" -q -S $seed -N $each -l 300000 -o 65536 -Z -r 4096 -w 4096 -t 4096 -R -W -P "$TEST_DIR/fsx" \
            "$MNT/$copies/direct" || fail "direct"
        step "seed $seed, $copies: AIO"
        "$FSX" -q -S $seed -N $each -l 300000 -o 65536 -A -Z -r 4096 -w 4096 -t 4096 -R -W -P "$TEST_DIR/fsx" \
            "$MNT/$copies/aio" || fail "AIO"
    done
done
echo "$((each * 30)) operations, no difference"
