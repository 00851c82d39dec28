#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cluster.sh after a crash: parts killed, the script itself killed or interrupted in the middle of `up`, a dead mount,
# a busy mount. After each, `up` and `down` work and leave nothing.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

cluster_requires bare

step "the client is killed: the mount is dead, up clears it and starts anew"
cluster up bare >/dev/null
kill -KILL "$(part_pid_of bare client)"
wait_for "the mount is dead" 10 grep -q broken <(cluster status bare)
cluster up bare >/dev/null
round_trip bare

step "every part is killed: down clears what is left"
for part in client chunkserver1 chunkserver2 master; do
    kill -KILL "$(part_pid_of bare $part)"
done
cluster down bare
assert_nothing_left bare

step "a stopped client (its mount hangs): down does not"
cluster up bare >/dev/null
kill -STOP "$(part_pid_of bare client)"
cluster down bare
assert_nothing_left bare

step "a mount in use is detached"
cluster up bare >/dev/null
(cd "$(mount_of bare)" && exec sleep 300) &
holder=$!
cluster down bare
kill $holder
wait $holder || true
assert_nothing_left bare

# up_in_the_middle SIGNAL PAUSE: sends SIGNAL to an `up` PAUSE seconds after it began.
up_in_the_middle() {
    local pid
    # Job control: without it the shell lets background commands ignore SIGINT.
    set -m
    "$CLUSTER" up "$scenario" --state "$STATE" >"$TEST_DIR/up.output" 2>&1 &
    pid=$!
    set +m
    sleep "$2"
    kill -s "$1" -- "-$pid" 2>/dev/null || true
    status=0
    wait $pid || status=$?
}

# An `up` that is ended between a part's start and its record: the `mv` that completes the record takes its time, and so
# does the `ls` that finds the records, so that one changes while the other looks.
slow_records() { # SIGNAL group|script
    mkdir -p "$TEST_DIR/slow"
    printf '#!/bin/sh\ntouch %q\nsleep 0.7\nexec /bin/mv "$@"\n' "$TEST_DIR/record-begun" >"$TEST_DIR/slow/mv"
    printf '#!/bin/sh\n/bin/ls "$@"\nsleep 1\n' >"$TEST_DIR/slow/ls"
    chmod +x "$TEST_DIR/slow/mv" "$TEST_DIR/slow/ls"
    rm -f "$TEST_DIR/record-begun"
    set -m
    PATH=$TEST_DIR/slow:$PATH "$CLUSTER" up bare --state "$STATE" >"$TEST_DIR/up.output" 2>&1 &
    pid=$!
    set +m
    wait_for "the record of the first part" 10 test -e "$TEST_DIR/record-begun"
    if [ "$2" = group ]; then kill -s "$1" -- "-$pid"; else kill -s "$1" "$pid"; fi
    status=0
    wait $pid || status=$?
}
step "Ctrl-C between a part's start and its record"
slow_records INT group
assert_eq $status 130 "status of an interrupted up"
sleep 1
assert_nothing_left bare
step "the script alone is killed between a part's start and its record"
slow_records KILL script
PATH=$TEST_DIR/slow:$PATH cluster down bare
sleep 1
assert_nothing_left bare

# SCENARIO PAUSE... : an `up` is ended at each of these moments, once by Ctrl-C and once by kill -9.
interrupted_ups() {
    local pause
    scenario=$1
    shift
    for pause in "$@"; do
        # What an `up` that was killed has left is not the next one's before that has come to it.
        cluster down "$scenario" >/dev/null 2>&1
        step "$scenario: Ctrl-C $pause s after up began"
        up_in_the_middle INT "$pause"
        [ $status -eq 0 ] || assert_nothing_left "$scenario"
        step "$scenario: kill -9 $pause s after up began"
        up_in_the_middle KILL "$pause"
    done
    cluster up "$scenario" >/dev/null 2>&1 || fail "$scenario: up after a crash in the middle"
    round_trip "$scenario"
    step "$scenario: down after kill -9"
    kill -KILL "$(part_pid_of "$scenario" master)"
    cluster down "$scenario"
    assert_nothing_left "$scenario"
}
interrupted_ups bare 0.2 0.6
interrupted_ups bare-net 0.4 0.9
! docker info >/dev/null 2>&1 || interrupted_ups docker-bridge 1 3

step "two ups at once: one starts it, the other finds it up"
"$CLUSTER" up bare --state "$STATE" >"$TEST_DIR/up.1" 2>&1 &
first=$!
"$CLUSTER" up bare --state "$STATE" >"$TEST_DIR/up.2" 2>&1 &
second=$!
wait $first || fail "the first up"
wait $second || fail "the second up"
grep -q 'already up' "$TEST_DIR/up.1" "$TEST_DIR/up.2" || fail "neither up waited for the other"
round_trip bare
cluster down bare
assert_nothing_left bare
