#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Requests by io_uring: real work gives the right bytes, locks wait and are interrupted as ever, and a mount that is killed, told to end
# or unmounted while it is busy leaves nothing behind. The kernel's parameter is set for this script and set back after it.
# timeout: 240
. "$(dirname "$0")/lib.sh"

requires root fuse fio python3
[ -z "$PLAIN" ] || skip "there is nothing of FUSE in a tmpfs"
PARAMETER=/sys/module/fuse/parameters/enable_uring
[ -w $PARAMETER ] || skip "the kernel has no FUSE over io_uring"
BEFORE=$(cat $PARAMETER)
cleanup_script() { echo "$BEFORE" >$PARAMETER; }
echo 1 >$PARAMETER

log_says() { grep -q "$2" "$TEST_DIR/mount-$1.log"; }

mount_by_uring() { # mount_by_uring NAME
    mount_calf "$1"
    wait_for "it says how requests come" 5 log_says "$1" "requests come"
    log_says "$1" "requests come by io_uring" || skip "io_uring is not to be had: $(grep 'requests come' "$TEST_DIR/mount-$1.log")"
}

start_master
start_chunkserver 1
start_chunkserver 2
mount_by_uring mnt

step "trees, four programs at once"
mkdir "$TEST_DIR/tree"
cp -a "$ROOT/client" "$ROOT/common" "$ROOT/tests" "$TEST_DIR/tree/"
for i in 1 2 3 4; do start_job "copy-$i" cp -a "$TEST_DIR/tree" "$MNT/tree-$i"; done
for i in 1 2 3 4; do job_status "copy-$i" 60 || fail "copy $i"; done
for i in 1 4; do assert_same_tree "$MNT/tree-$i" "$TEST_DIR/tree"; done
for i in 2 3; do start_job "remove-$i" rm -r "$MNT/tree-$i"; done
for i in 2 3; do job_status "remove-$i" 60 || fail "removal $i"; done

step "verified blocks of all sizes, direct and buffered"
for direct in 1 0; do
    fio --name=v --directory="$MNT" --numjobs=2 --size=12m --rw=randwrite --bssplit=4k/40:64k/30:516k/10:1m/20 --direct=$direct \
        --ioengine=psync --verify=crc32c --verify_fatal=1 --verify_state_save=0 --randrepeat=0 >"$TEST_DIR/fio" 2>&1 || fail "fio: $(tail -n 5 "$TEST_DIR/fio")"
done

step "mapped files, blocks that are not aligned, long attributes, long directories"
timeout 60 python3 - "$MNT" <<'END' || fail "special cases"
import mmap, os, sys
at = sys.argv[1]
data = os.urandom(3 << 20)
with open(at + '/mapped', 'w+b') as f:
    f.write(data)
    f.flush()
    m = mmap.mmap(f.fileno(), len(data))
    assert m[:] == data
    m[1000000:1000010] = b'0123456789'
    m.flush()
    m.close()
data = data[:1000000] + b'0123456789' + data[1000010:]
fd = os.open(at + '/mapped', os.O_RDWR | os.O_DIRECT)
memory = mmap.mmap(-1, 1 << 20)
for offset, size in ((512, 1 << 20), (1536, 4096), ((3 << 20) - 512, 1024), (4096, 1 << 20), (0, 512), (1 << 20, (1 << 20) - 512)):
    n = os.preadv(fd, [memoryview(memory)[:size]], offset)
    assert memory[:n] == data[offset:offset + size], (offset, size, n)
memory[:] = data[:1 << 20]
assert os.pwritev(fd, [memory], 1 << 20) == 1 << 20
assert open(at + '/mapped', 'rb').read() == data[:1 << 20] + data[:1 << 20] + data[2 << 20:]
for size in (0, 1, 4096, 60000):
    os.setxattr(at + '/mapped', 'user.long', data[:size])
    assert os.getxattr(at + '/mapped', 'user.long') == data[:size]
assert sorted(os.listxattr(at + '/mapped')) == ['user.long']
name = 'n' * 200
os.mkdir(at + '/many')
for i in range(1000):
    os.close(os.open('%s/many/%s%d' % (at, name, i), os.O_CREAT | os.O_WRONLY))
assert sorted(os.listdir(at + '/many')) == sorted(name + str(i) for i in range(1000))
END

step "many wait for a lock, one of them is interrupted, and everything else goes on"
cat >"$TEST_DIR/locks.py" <<'END'
import errno, fcntl, os, signal, sys, threading
at, count = sys.argv[1], int(sys.argv[2])
held = open(at + '/lock', 'w')
fcntl.flock(held, fcntl.LOCK_EX)
taken = []
def take():
    f = open(at + '/lock')
    fcntl.flock(f, fcntl.LOCK_SH)
    taken.append(f)
threads = [threading.Thread(target=take, daemon=True) for _ in range(count)]
for t in threads:
    t.start()
class Rung(Exception):
    pass
def ring(*_):
    raise Rung
signal.signal(signal.SIGALRM, ring)
for _ in range(3):
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        fcntl.flock(open(at + '/lock'), fcntl.LOCK_SH)
        sys.exit('a lock that is held was given')
    except Rung:
        pass
assert not taken
for i in range(50): # of every kind, while they wait
    name = '%s/beside-%d' % (at, i)
    with open(name, 'w') as f:
        f.write('x' * 5000)
    assert len(open(name).read()) == 5000
    os.unlink(name)
print('waiting', flush=True)
if len(sys.argv) > 3:
    signal.pause()
fcntl.flock(held, fcntl.LOCK_UN)
for t in threads:
    t.join()
assert len(taken) == count
END
# A signal may come at any moment, also before the client has taken the request.
cat >"$TEST_DIR/signals.py" <<'END'
import fcntl, random, signal, sys
class Rung(Exception):
    pass
def ring(*_):
    signal.setitimer(signal.ITIMER_REAL, 0)
    raise Rung
held, wanted = open(sys.argv[1] + '/lock', 'w'), open(sys.argv[1] + '/lock')
fcntl.flock(held, fcntl.LOCK_EX)
signal.signal(signal.SIGALRM, ring)
for i in range(300):
    try:
        # Again later, since the first may come before the call is made. One that comes during it must end it.
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.00002, 0.0006), 0.02)
        fcntl.flock(wanted, fcntl.LOCK_SH)
        sys.exit('a lock that is held was given')
    except Rung:
        pass
END
timeout 20 python3 "$TEST_DIR/signals.py" "$MNT" || fail "signals at any moment"
timeout 60 python3 "$TEST_DIR/locks.py" "$MNT" 400 || fail "400 that wait for a lock"

step "told to end while programs wait for locks and others read and write"
start_job waiting python3 "$TEST_DIR/locks.py" "$MNT" 40 stay
wait_for "40 wait" 30 grep -q waiting "$TEST_DIR/job-waiting.log"
busy() { exec fio --name=b --directory="$1" --numjobs=3 --size=8m --rw=randrw --bs=16k --direct=1 --time_based --runtime=60 >"$TEST_DIR/busy.$2" 2>&1; }
start_job busy-1 busy "$MNT" 1
wait_for "fio works" 20 test -s "$MNT/b.2.0"
stop_part mount-mnt
if is_mounted "$MNT"; then fail "still mounted after SIGTERM"; fi
job_status busy-1 30 || true
signal_part job-waiting TERM
job_status waiting 20 || true

step "killed while it is busy"
mount_by_uring second
start_job busy-2 busy "$MNT" 2
wait_for "fio works" 20 test -s "$MNT/b.2.0"
kill9 mount-second
job_status busy-2 30 || true
if stat "$MNT/lock" 2>/dev/null; then fail "a mount that is dead answers"; fi
umount "$MNT" || fail "the dead mount cannot be unmounted"

step "unmounted while a file is open, and while nobody cares"
mount_by_uring third
exec 7<"$MNT/mapped"
if umount "$MNT" 2>/dev/null; then fail "a busy mount was unmounted"; fi
umount -l "$MNT"
assert_eq "$(wc -c <&7)" $((3 << 20)) "bytes of a file that is open, after umount -l"
exec 7<&-
wait_for "calf-mount ends with the last file" 20 part_is_gone mount-third
mount_by_uring fourth
assert_same_tree "$MNT/tree-1" "$TEST_DIR/tree"
unmount_calf fourth

step "not if it is not wanted"
mount_calf fifth --uring off
wait_for "it says so" 5 log_says fifth "requests come by /dev/fuse (--uring off)"
cmp "$MNT/tree-1/client/fuse_uring.c" "$ROOT/client/fuse_uring.c"
unmount_calf fifth
