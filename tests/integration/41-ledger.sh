#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two copies of each chunk on three chunkservers, programs working on two mounts and writing down what succeeded, and kill -9
# of a client, a chunkserver or the master at random moments, each restarted: nothing that was acknowledged is lost or wrong,
# and no program sees an error but where its own mount was killed.
#
# LEDGER_ROUNDS: how often (default 10). LEDGER_SEED: the choices (default 1); round N alone is repeated by LEDGER_FIRST=N.
# timeout: 600
. "$(dirname "$0")/lib.sh"

requires root fuse perl
ROUNDS=${LEDGER_ROUNDS:-10} SEED=${LEDGER_SEED:-1} FIRST=${LEDGER_FIRST:-1}
LEDGER=$ROOT/tests/integration/ledger.pl
export CHUNKSERVER_BYTES=$((192 << 20))
start_master
for number in 1 2 3; do start_chunkserver $number; done
mount_calf a
A=$MNT
mount_calf b
B=$MNT
[ -n "$PLAIN" ] || calf goal set 2 "$B" >/dev/null || fail "goal set"

start_worker() { # start_worker NAME DIR SEED: its ledger is $TEST_DIR/ledger-NAME
    mkdir "$2"
    rm -f "$TEST_DIR/job-$1.log"
    start_job "$1" perl "$LEDGER" work "$2" "$TEST_DIR/ledger-$1" "$TEST_DIR/stop" "$3"
}

works() { [ -s "$TEST_DIR/ledger-$1" ]; }

# The mount is dead for whoever uses it; a new one takes its place.
kill_client() {
    kill9 mount-a
    umount -l "$A"
    mount_calf a
}

verify() { # verify NAME DIR...
    local name=$1 at
    shift
    for at in "$@"; do
        perl "$LEDGER" verify "$at" "$TEST_DIR/ledger-$name" >"$TEST_DIR/verified" ||
            { cat "$TEST_DIR/verified"; fail "round $round: what was acknowledged to $name is not there ($at)"; }
    done
}

one_round() {
    local victim pause status=0
    RANDOM=$((SEED * 1000 + round))
    case $((RANDOM % 8)) in
    0 | 1 | 2) victim=master ;;
    3 | 4) victim=client ;;
    *) victim=chunkserver-$((RANDOM % 3 + 1)) ;;
    esac
    pause=0.$((RANDOM % 900 + 100))
    rm -f "$TEST_DIR/stop" "$TEST_DIR"/ledger-*
    start_worker a "$A/a$round" $((SEED * 100000 + round * 2))
    start_worker b "$B/b$round" $((SEED * 100000 + round * 2 + 1))
    wait_for "both workers work" 20 works a
    wait_for "both workers work" 20 works b
    sleep "$pause" # the moment is random; nothing is waited for
    case $victim in
    client) kill_client ;;
    master) kill9 master; restart_master ;;
    *) kill9 "$victim"; restart_part "$victim" ;;
    esac
    sleep "0.$((RANDOM % 900 + 100))"
    touch "$TEST_DIR/stop"
    job_status b 90 || fail "round $round, $victim killed: $(cat "$TEST_DIR/job-b.log")"
    job_status a 90 || status=$?
    [ $status = 0 ] || [ $victim = client ] || fail "round $round, $victim killed: $(cat "$TEST_DIR/job-a.log")"
    # Each through the mount that did not write it, and through the one that did.
    verify a "$B/a$round" "$A/a$round"
    verify b "$A/b$round" "$B/b$round"
    printf 'round %d: %s killed after %s s; %s; %s\n' "$round" $victim "$pause" "$(cat "$TEST_DIR/verified")" \
        "$(status_number servers_connected) servers"
    rm -rf "$B/a$round" "$B/b$round"
}
for ((round = FIRST; round < FIRST + ROUNDS; round++)); do one_round; done
wait_for "all chunkservers are back" 30 servers_are 3
