#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A directory of a million files: made, listed, looked at, deleted, each through the mount; what a file takes in the master's memory, and how
# long the master takes to start with them, from its snapshot and from its journal alone.
#
#     tests/campaign/million-files.sh [COUNT] [FILE]      FILE gets the figures
#
# timeout: 7200
COUNT=${1:-1000000}
SUMMARY=$(realpath -m "${2:-/dev/null}")
. "$(dirname "$0")/../integration/lib.sh"

requires root fuse python3
CHUNKSERVER_BYTES=$((64 << 20))
start_cluster 1
mkdir "$MNT/d"

# make | stat | delete: four processes, each every fourth name.
cat >"$TEST_DIR/many.py" <<'END'
import os, sys
what, where, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
children = []
for part in range(4):
    pid = os.fork()
    if pid == 0:
        os.chdir(where)
        for i in range(part, count, 4):
            name = 'file-%07d.txt' % i
            if what == 'make':
                os.mknod(name, 0o100644)
            elif what == 'stat':
                os.stat(name)
            else:
                os.unlink(name)
        os._exit(0)
    children.append(pid)
sys.exit(any(os.waitpid(pid, 0)[1] for pid in children))
END

resident() { awk '/^RssAnon/ { print $2 * 1024 }' "/proc/$(part_pid master)/status"; }
say() { echo "$*" | tee -a "$TEST_DIR/figures"; }
timed() { # timed LABEL command...
    local label=$1 begin
    shift
    begin=$(date +%s%N)
    "$@" || fail "$label failed"
    say "$label: $((($(date +%s%N) - begin) / 1000000)) ms"
}
restarted() {
    kill9 master
    restart_master
    wait_for "the mount answers" 60 stat "$MNT/d"
}
journal_start() { # the master's own line: how long it read
    grep -o 'snapshot up to record.*' "$TEST_DIR/master.log" | tail -n 1
}
list() { [ "$(ls -f "$MNT/d" | wc -l)" -eq $((COUNT + 2)) ]; }

say "$COUNT files in one directory, $(nproc) cores, $(date -u +%Y-%m-%d), $("$BIN/calf-master" --version)"
before=$(resident)
timed "make" python3 "$TEST_DIR/many.py" make "$MNT/d" "$COUNT"
after=$(resident)
say "memory of the master: $(((after - before) / COUNT)) bytes a file ($before before, $after after)"
timed "list" list
timed "stat" python3 "$TEST_DIR/many.py" stat "$MNT/d" "$COUNT"
timed "restart, until the mount answers" restarted
say "  $(journal_start)"
stop_part master
restart_master
timed "restart again" restarted
say "  $(journal_start)"
assert_eq "$(ls -f "$MNT/d" | wc -l)" $((COUNT + 2)) "names after the restarts"
timed "delete" python3 "$TEST_DIR/many.py" delete "$MNT/d" "$COUNT"
assert_eq "$(ls -f "$MNT/d" | wc -l)" 2 "names left"
rmdir "$MNT/d"
cp "$TEST_DIR/figures" "$SUMMARY"
