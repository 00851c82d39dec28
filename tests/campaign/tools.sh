#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Debian's tools that write and check: fio --verify, stress-ng --hdd --verify, dbench, bonnie++, fs_mark, each on one copy and
# on two. TOOLS_SECONDS: how long each runs (default 60).
. "$(dirname "$0")/../integration/lib.sh"

requires root fuse fio stress-ng dbench bonnie++ fs_mark
SECONDS_EACH=${TOOLS_SECONDS:-60}
CHUNKSERVER_BYTES=$((1200 << 20))
start_cluster 3
for copies in 1 2; do
    at=$MNT/$copies
    mkdir "$at"
    calf goal set $copies "$at" >/dev/null
    step "$copies: fio"
    fio --name=verify --directory="$at" --rw=randrw --bs=4k-128k --size=64m --numjobs=4 --verify=xxhash --verify_backlog=128 --verify_state_save=0 \
        --time_based --runtime="$SECONDS_EACH" --minimal >"$TEST_DIR/fio.log" 2>&1 || { cat "$TEST_DIR/fio.log"; fail fio; }
    step "$copies: stress-ng"
    stress-ng --hdd 4 --hdd-bytes 32m --verify --temp-path "$at" --timeout "${SECONDS_EACH}s" 2>&1 | tail -n 5
    [ "${PIPESTATUS[0]}" -eq 0 ] || fail stress-ng
    step "$copies: dbench"
    dbench -D "$at" -t "$SECONDS_EACH" 8 | tail -n 3
    [ "${PIPESTATUS[0]}" -eq 0 ] || fail dbench
    step "$copies: bonnie++"
    bonnie++ -q -d "$at" -u root -s 256m -r 128m -n 4 || fail bonnie++
    step "$copies: fs_mark"
    fs_mark -d "$at" -n 500 -s 16384 -t 4 | tail -n 3
    [ "${PIPESTATUS[0]}" -eq 0 ] || fail fs_mark
    rm -rf "$at"
done
