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
