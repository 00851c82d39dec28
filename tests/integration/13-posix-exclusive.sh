#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The same on an exclusive mount, where the kernel writes back when it likes.
# timeout: 240
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/posix-cases.sh"

start_posix_cluster 1
mount_calf mnt --exclusive
export POSIX_CASES_NO_HOLES=yes # the kernel alone knows what it has not written yet: everything is data
posix_cases exclusive "$MNT" ""
posix_cases direct "$MNT" "" --direct --only "$FILE_CASES,$CACHE_CASES"
