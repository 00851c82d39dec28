#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of the master at random moments while programs write, and restart: they see no error, and everything whose close,
# fsync or other call had returned is there. The same for both journal modes, and after a new mount.
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
