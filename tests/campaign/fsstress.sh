#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fsstress of xfstests on calf: 8 processes, 20,000 operations each, then the tree must be the same, by hash, after unmounting
# and mounting again. Built elsewhere; nothing of it is in this tree.
#
#     tests/campaign/fsstress.sh FSSTRESS
FSSTRESS=$(realpath "${1:?fsstress.sh: where is the program fsstress?}")
. "$(dirname "$0")/../integration/lib.sh"

requires root fuse
[ -x "$FSSTRESS" ] || fail "$FSSTRESS: no such program"
CHUNKSERVER_BYTES=$((1500 << 20))
start_cluster 2
mkdir "$MNT/work"
"$FSSTRESS" -d "$MNT/work" -p 8 -n 20000 -s 1 || fail "fsstress"

hashes() { # names, types, modes, sizes, targets, and the hash of each file
    list_tree "$MNT/work"
    (cd "$MNT/work" && find . -type f -print0 | sort -z | xargs -0 -r sha256sum)
}
sync
hashes >"$TEST_DIR/before"
unmount_calf mnt
mount_calf mnt
hashes >"$TEST_DIR/after"
cmp "$TEST_DIR/before" "$TEST_DIR/after" || fail "the tree is another one after mounting again"
[ "$(wc -l <"$TEST_DIR/before")" -gt 100 ] || fail "fsstress left no tree to compare"
echo "$(wc -l <"$TEST_DIR/before") lines of names and hashes, the same after mounting again"
