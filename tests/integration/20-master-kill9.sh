#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of the master at random moments while programs write, and restart: they see no error, and everything whose close,
# fsync or other call had returned is there. The same for both journal modes, and after a new mount. So is it with a master that starts
# elsewhere from a copy of the data.
# timeout: 240
. "$(dirname "$0")/lib.sh"

requires root fuse perl
ROUNDS=${ROUNDS:-4}
WORKERS=2

ledger_lines() { cat "$TEST_DIR"/ledger-*-"$1" 2>/dev/null | wc -l; }
ledger_grows_beyond() { [ "$(ledger_lines "$1")" -gt "$2" ]; }

run_mode() {
    local mode=$1 round worker lines
    step "journal mode $mode"
    for worker in $(seq $WORKERS); do
        mkdir "$MNT/$worker-$mode"
        start_job "worker-$worker-$mode" perl "$ROOT/tests/integration/ledger.pl" work "$MNT/$worker-$mode" \
            "$TEST_DIR/ledger-$worker-$mode" "$TEST_DIR/stop-$mode" $((RANDOM + worker))
    done
    for round in $(seq "$ROUNDS"); do
        lines=$(ledger_lines "$mode")
        wait_for "the workers get on before kill $round" 30 ledger_grows_beyond "$mode" $((lines + 50))
        sleep "0.$((RANDOM % 900 + 100))" # a random moment
        kill9 master
        restart_master
        lines=$(ledger_lines "$mode")
        wait_for "the workers go on after kill $round" 30 ledger_grows_beyond "$mode" $((lines + 20))
    done
    touch "$TEST_DIR/stop-$mode"
    for worker in $(seq $WORKERS); do
        job_status "worker-$worker-$mode" 60 || fail "worker $worker saw an error: $(cat "$TEST_DIR/job-worker-$worker-$mode.log")"
    done
    verify_mode "$mode"
    step "after one more kill, with a new mount"
    kill9 master
    restart_master
    if [ -z "$PLAIN" ]; then
        unmount_calf mnt
        mount_calf mnt
    fi
    verify_mode "$mode"
}

verify_mode() {
    local worker
    for worker in $(seq $WORKERS); do
        perl "$ROOT/tests/integration/ledger.pl" verify "$MNT/$worker-$1" "$TEST_DIR/ledger-$worker-$1" ||
            fail "worker $worker: what was acknowledged is not there"
    done
}

start_cluster 2
run_mode interval
stop_part master
add_options master --journal-sync always
restart_master
run_mode always

[ -n "$PLAIN" ] && exit 0
step "a master from a copy of the data of one that runs"
mkdir "$MNT/before"
touch "$MNT"/before/{1..50}
start_job names sh -c "i=0; while [ ! -e '$TEST_DIR/stop-names' ]; do : >'$MNT/'during.\$i; i=\$((i + 1)); done"
names_come() { [ -e "$MNT/during.20" ]; }
wait_for "names are made meanwhile" 20 names_come
cp -r "$TEST_DIR/master-data" "$TEST_DIR/copied"
touch "$TEST_DIR/stop-names"
job_status names 20
copy=127.0.0.1:$(free_port)
start_part copy "$BIN/calf-master" --data "$TEST_DIR/copied" --listen "$copy" --control "127.0.0.1:$(free_port)"
wait_for_start copy "it listens" 10 port_answers "${copy#*:}"
first=$MASTER
MASTER=$copy mount_calf from-copy
assert_eq "$(find "$MNT/before" -type f | wc -l) $(find "$MNT" -name 'during.1?' | wc -l)" "50 10" "the names that had been there"
umount "$MNT"
stop_part copy

step "a master elsewhere takes over: the data moved, the address kept"
MASTER=$first MNT=$TEST_DIR/mnt
head -c 3000000 /dev/urandom >"$TEST_DIR/expected"
cp "$TEST_DIR/expected" "$MNT/file"
exec 5<"$MNT/file"
kill9 master
cp -r "$TEST_DIR/master-data" "$TEST_DIR/elsewhere"
rm -r "$TEST_DIR/master-data"
mapfile -d '' -t command <"$TEST_DIR/parts/master.command"
mapfile -d '' -t command < <(printf '%s\0' "${command[@]}" | sed -z "s,$TEST_DIR/master-data,$TEST_DIR/elsewhere," | grep -zvx -- --init)
start_part master "${command[@]}"
cmp - "$TEST_DIR/expected" <&5 || fail "the open file differs"
exec 5<&-
echo more >"$MNT/after"
verify_mode always
