#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# pjdfstest (its system calls as POSIX has them) as root in a mount of calf; built elsewhere, nothing of it is in this tree.
#
#     tests/campaign/pjdfstest.sh DIR [FILE]      DIR holds its built program and its tests; FILE gets the summary
#
# Prints each assertion that fails and a summary; status 1 if one failed. PJDFSTEST_JOBS: how many of its scripts at a time (4; they
# sleep a good deal of the time, and each works in names of its own).
# timeout: 7200
SUITE=$(realpath "${1:?pjdfstest.sh: where is the built pjdfstest? (pjdfstest.sh DIR [SUMMARY-FILE])}")
SUMMARY=$(realpath -m "${2:-/dev/null}")
. "$(dirname "$0")/../integration/lib.sh"

requires root fuse prove
[ -x "$SUITE/pjdfstest" ] || fail "$SUITE: there is no program pjdfstest in it (build it first)"
CHUNKSERVER_BYTES=$((256 << 20))
start_cluster 1
mkdir "$MNT/work"
status=0
(cd "$MNT/work" && prove -j "${PJDFSTEST_JOBS:-4}" -r "$SUITE/tests") >"$TEST_DIR/prove.log" 2>&1 || status=$?
{
    echo "pjdfstest on calf, $(date -u +%Y-%m-%d), kernel $(uname -r), $("$BIN/calf-mount" --version)"
    grep -E 'Failed test|Failed tests:|^Files=|^Result:|^  Non-zero|\(Wstat' "$TEST_DIR/prove.log" || true
} | tee "$SUMMARY"
[ $status -eq 0 ] || exit 1
