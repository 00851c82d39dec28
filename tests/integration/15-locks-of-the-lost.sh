#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Locks survive a master that is killed; those of a client that is killed end with its session, also for somebody who waits.
# timeout: 120
. "$(dirname "$0")/lib.sh"

requires root fuse python3
[ -z "$PLAIN" ] || skip "there is nothing to kill on a tmpfs"
start_master --session-timeout 3
start_chunkserver 1
mount_calf mnt
A=$MNT
mount_calf second
B=$MNT
: >"$A/f"

# Takes the lock, says so, and writes a line whenever it is told to, until it is told to end.
cat >"$TEST_DIR/hold.py" <<'END'
import fcntl, sys
f = open(sys.argv[1], 'r+b', buffering=0)
fcntl.lockf(f, fcntl.LOCK_EX)
print('locked', flush=True)
for line in sys.stdin:
    try:
        f.write(b'x')
        print('written', flush=True)
    except OSError as e:
        print('error', e.errno, flush=True)
END
try_lock() { python3 -c 'import fcntl, sys; fcntl.lockf(open(sys.argv[1], "r+b"), fcntl.LOCK_EX | fcntl.LOCK_NB)' "$1" 2>/dev/null; }
said() { grep -q "$2" "$TEST_DIR/job-$1.log"; }

step "a restarted master knows the lock"
: >"$TEST_DIR/commands"
start_job holder bash -c "tail -f -n +1 '$TEST_DIR/commands' | python3 '$TEST_DIR/hold.py' '$A/f'"
wait_for "the lock is held" 30 said holder locked
kill9 master
restart_master
wait_for "both mounts answer" 20 stat "$A/f" "$B/f"
if try_lock "$B/f"; then fail "the other mount got a lock that is held"; fi
echo go >>"$TEST_DIR/commands"
wait_for "the holder goes on" 30 said holder written

step "a killed client's locks end with its session, for one who waits"
start_job waiter python3 -c 'import fcntl, sys; fcntl.lockf(open(sys.argv[1], "r+b"), fcntl.LOCK_EX); print("locked", flush=True)' "$B/f"
wait_for "the waiter waits" 30 grep -q "python3" "/proc/$(part_pid job-waiter)/cmdline"
if said waiter locked; then fail "the waiter got a lock that is held"; fi
kill9 mount-mnt
umount -l "$A"
wait_for "the waiter gets the lock" 20 said waiter locked
job_status waiter 10 || fail "the waiter failed"
