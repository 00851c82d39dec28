#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cluster.sh where it must refuse: one line that says what is wrong and how to mend it, the right status, nothing made.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

cluster_requires bare

# refused STATUS PATTERN COMMAND...: the command ends so, with one line on standard error that matches.
refused() {
    local expected=$1 pattern=$2 status=0
    shift 2
    step "refused: $*"
    "$@" >"$TEST_DIR/stdout" 2>"$TEST_DIR/stderr" </dev/null || status=$?
    assert_eq $status "$expected" "status"
    assert_eq "$(wc -l <"$TEST_DIR/stderr")" 1 "lines in: $(cat "$TEST_DIR/stderr")"
    grep -qE -e "$pattern" "$TEST_DIR/stderr" || fail "no '$pattern' in: $(cat "$TEST_DIR/stderr")"
    assert_nothing_left bare
    assert_nothing_left docker-host
}

refused 2 "no scenario 'bara'" "$CLUSTER" up bara --state "$STATE"
refused 2 "which scenario" "$CLUSTER" down '' --state "$STATE"
refused 2 "no option --privileged" "$CLUSTER" up bare --privileged --state "$STATE"
refused 2 "no command 'start'" "$CLUSTER" start bare --state "$STATE"
refused 2 "needs a value" "$CLUSTER" up bare --size --state "$STATE"
refused 2 "size is a number" "$CLUSTER" up bare --size 12q --state "$STATE"
refused 2 "from 1 to 32" "$CLUSTER" up bare --chunkservers 0 --state "$STATE"
refused 2 "from 1 to 2, not '3'" "$CLUSTER" up bare --goal 3 --state "$STATE"
refused 2 "up takes one scenario" "$CLUSTER" up bare bare-net --state "$STATE"
refused 1 "is down; start it" "$CLUSTER" restart bare master --state "$STATE"

refused 1 "not enough memory.*--size" "$CLUSTER" up bare --size 1000g --state "$STATE"
refused 1 "run make" env CALF_BIN="$TEST_DIR/nowhere" "$CLUSTER" up bare --state "$STATE"

# Nobody may read the tree if it lies in root's home, so nobody gets a copy.
chmod 755 "$TEST_DIR"
cp -r "$ROOT/docker" "$TEST_DIR/docker"
refused 1 "needs root.*sudo" setpriv --reuid=65534 --regid=65534 --clear-groups "$TEST_DIR/docker/cluster.sh" \
    up bare --state "$STATE"

: >"$TEST_DIR/no-device"
# shellcheck disable=SC2016
refused 1 "no /dev/fuse.*modprobe" unshare --mount sh -c 'mount --bind "$1" /dev/fuse && "$2" up bare --state "$3"' - \
    "$TEST_DIR/no-device" "$CLUSTER" "$STATE"

step "Docker not installed, not running, elsewhere"
mkdir "$TEST_DIR/path"
ln -s /usr/bin/* "$TEST_DIR/path/"
ln -sf /usr/sbin/* "$TEST_DIR/path/"
rm -f "$TEST_DIR/path"/docker*
refused 1 "not installed: apt-get install docker.io" env PATH="$TEST_DIR/path" "$CLUSTER" up docker-host --state "$STATE"
if command -v docker >/dev/null; then
    refused 1 "does not answer.*systemctl start docker" env DOCKER_HOST="unix://$TEST_DIR/no.sock" "$CLUSTER" up docker-host --state "$STATE"
    refused 1 "unset DOCKER_HOST" env DOCKER_HOST=tcp://127.0.0.1:9 "$CLUSTER" up docker-host --state "$STATE"
fi

step "a port in use: by whom, and how to take another"
cluster up bare >/dev/null
pid=$(part_pid_of bare master)
status=0
"$CLUSTER" up bare --state "$TEST_DIR/second" 2>"$TEST_DIR/stderr" || status=$?
assert_eq $status 1 "status"
grep -q "port $CALF_PORT_BASE .*calf-master (pid $pid).*CALF_PORT_BASE" "$TEST_DIR/stderr" || fail "$(cat "$TEST_DIR/stderr")"
[ ! -e "$TEST_DIR/second" ] || fail "the refused up left its state directory"
cluster down bare

step "enough memory for one is not enough for two, and one that is up is up whatever it has"
available_mib=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
cluster up bare --chunkservers 1 --size $((available_mib * 32 / 100))m >/dev/null
status=0
cluster up bare-net --chunkservers 1 --size $((available_mib * 32 / 100))m 2>"$TEST_DIR/stderr" || status=$?
assert_eq $status 1 "status of the second"
grep -q 'not enough memory.* of other scenarios' "$TEST_DIR/stderr" || fail "$(cat "$TEST_DIR/stderr")"
cluster up bare --size 1000g 2>&1 | grep -q 'already up' || fail "the first is not found up"
cluster down bare

step "a program that does not start: what it said is shown, and nothing stays"
mkdir "$TEST_DIR/bin"
cp "$BIN"/calf* "$BIN/iobench" "$TEST_DIR/bin/"
printf '#!/bin/sh\necho the store is on fire >&2\nexit 1\n' >"$TEST_DIR/bin/calf-chunkserver"
assert_fails 1 env CALF_BIN="$TEST_DIR/bin" "$CLUSTER" up bare --state "$STATE" 2>"$TEST_DIR/stderr"
grep -q 'the store is on fire' "$TEST_DIR/stderr" || fail "the log of the part that failed is not shown"
grep -q 'chunkserver1 of bare ended' "$TEST_DIR/stderr" || fail "the part that failed is not named"
assert_nothing_left bare

step "doctor names what is missing"
cluster doctor >"$TEST_DIR/doctor" || true
grep -q '^ok    root' "$TEST_DIR/doctor" || fail "doctor: $(cat "$TEST_DIR/doctor")"
assert_fails 1 env DOCKER_HOST="unix://$TEST_DIR/no.sock" "$CLUSTER" doctor >"$TEST_DIR/doctor"
grep -q '^FAIL  Docker' "$TEST_DIR/doctor" || fail "doctor: $(cat "$TEST_DIR/doctor")"
