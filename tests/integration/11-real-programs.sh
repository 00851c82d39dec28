#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real programs on a mount of a private cluster leave what they leave on a tmpfs.
# timeout: 480
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/real-programs.sh"

requires root fuse tar git make sqlite3 fio objcopy
CHUNKSERVER_BYTES=$((768 << 20))
start_cluster 2
real_programs "$MNT"
