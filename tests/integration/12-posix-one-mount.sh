#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What POSIX promises of files, holes, names and mappings, on one mount of a cluster with small chunks: through the kernel's cache, and
# with O_DIRECT.
# timeout: 240
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/posix-cases.sh"

start_posix_cluster 2
mount_calf mnt
posix_cases cached "$MNT" ""
posix_cases direct "$MNT" "" --direct --only "$FILE_CASES,$CACHE_CASES"
[ -n "$PLAIN" ] || assert_eq "$(calf check --json "$MNT" | tr -d ' \n' | sed 's/.*"failed"://')" '[],"bad_copies":[]}' "files that cannot be read"

step "calf du: length, blocks written, copies"
mkdir "$MNT/du"
calf goal set 2 "$MNT/du"
truncate -s 10M "$MNT/du/sparse"
dd if=/dev/zero of="$MNT/du/sparse" bs=4096 seek=1000 count=3 conv=notrunc status=none
ln "$MNT/du/sparse" "$MNT/du/same"
assert_eq "$(calf du --json "$MNT/du" | tr -d ' \n')" \
    '{"files":1,"directories":1,"apparent_bytes":10485760,"used_bytes":12288,"stored_bytes":24576}' "du"
