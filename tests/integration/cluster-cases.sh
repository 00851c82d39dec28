# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the scripts about docker/cluster.sh share. Source lib.sh first, then this. Everything happens under a state
# directory and on ports of the script's own, so that a cluster of somebody else stands undisturbed.
# It sets STATE (for --state) and SIZE, and takes every scenario down at the end.

CLUSTER=$ROOT/docker/cluster.sh
STATE=$TEST_DIR/state
export CALF_SIZE=128m
export CALF_BIN=$BIN
CALF_PORT_BASE=$((10000 + RANDOM % 90 * 100))
export CALF_PORT_BASE

cluster() { "$CLUSTER" "$1" --state "$STATE" "${@:2}"; }

cleanup_script() {
    cluster down --all || true
}

cluster_requires() { # cluster_requires SCENARIO...: root, FUSE, programs, and Docker for the container scenarios
    requires root fuse ip ss jq
    [ -x "$BIN/calf-mount" ] || fail "no programs in $BIN (run make)"
    case "$*" in *docker*) requires docker ;; esac
}

mount_of() { echo "$STATE/$1/mnt"; }

scenario_is() { # scenario_is SCENARIO up|down|broken
    [ "$(cluster status "$1" --json | jq -r .state)" = "$2" ]
}

assert_state() { # assert_state SCENARIO up|down|broken
    assert_eq "$(cluster status "$1" --json | jq -r .state)" "$2" "state of $1"
}

# The name of a part's container or namespace begins with it.
prefix_of() { # prefix_of SCENARIO
    echo "calf-$1-$(printf '%s' "$STATE" | sha256sum | cut -c 1-4)"
}

# From the pids file, which `up`, `restart` and `status` write.
part_pid_of() { # part_pid_of SCENARIO PART
    sed -n "s/^$2 //p" "$STATE/$1/pids"
}

# Writes through the mount and reads back with the caches dropped, several blocks and a name of its own.
round_trip() { # round_trip SCENARIO
    local mnt name
    mnt=$(mount_of "$1")
    name=$mnt/round-trip.$RANDOM
    head -c 3000000 /dev/urandom >"$TEST_DIR/data"
    cp "$TEST_DIR/data" "$name"
    sync "$name"
    echo 3 >/proc/sys/vm/drop_caches
    cmp "$TEST_DIR/data" "$name" || fail "$1: what was read is not what was written"
    rm "$name"
    [ ! -e "$name" ] || fail "$1: a removed file is still there"
}

# Of /proc/PID/cmdline names, those of our programs; a grep for a name has that name in its own command line.
calf_only() {
    local file
    while read -r file; do
        if grep -qs '^calf' "${file%cmdline}comm"; then echo "$file"; fi
    done
}

# Nothing of a scenario that is down may be left: directory, mounts, processes, namespaces, containers, networks.
assert_nothing_left() { # assert_nothing_left SCENARIO
    local prefix left
    prefix=$(prefix_of "$1")
    [ ! -e "$STATE/$1" ] || fail "$1: $STATE/$1 is left: $(ls -A "$STATE/$1")"
    [ ! -e "$STATE/$1.lock" ] || fail "$1: the lock file is left"
    left=$(grep -F -e "$STATE/$1/" -e "$prefix-" /proc/self/mountinfo || true)
    [ -z "$left" ] || fail "$1: left mounted: $left"
    left=$(grep -lszF -e "$STATE/$1/" /proc/[0-9]*/cmdline | grep -v /self/ | calf_only || true)
    [ -z "$left" ] || fail "$1: left running: $left"
    left=$(ip netns list | grep -F -e "$prefix-" || true)
    [ -z "$left" ] || fail "$1: left namespaces: $left"
    if docker info >/dev/null 2>&1; then
        left=$(docker ps -aq --filter "label=calf.home=$STATE/$1"; docker network ls -q --filter "name=$prefix")
        [ -z "$left" ] || fail "$1: left in Docker: $left"
    fi
}

# The life of a scenario: up, used, up again, down, down again.
lifecycle() { # lifecycle SCENARIO
    local output part hash
    step "up"
    output=$(cluster up "$1" --chunkservers 2)
    assert_eq "$output" "$(mount_of "$1")" "what up prints"
    round_trip "$1"

    step "status tells the parts, and the pids file names living processes"
    cluster status --json >"$TEST_DIR/all.json"
    jq -c --arg name "$1" '.[] | select(.scenario == $name)' "$TEST_DIR/all.json" >"$TEST_DIR/one.json"
    cluster status "$1" --json | jq -c . | cmp - "$TEST_DIR/one.json" || fail "status of one and of all differ"
    hash=$(cd "$BIN" && sha256sum calf-master calf-chunkserver calf-mount calf iobench | sha256sum | cut -d ' ' -f 1)
    assert_eq "$(jq -r '[.state, .binary_sha256, .parts[].part] | join(" ")' "$TEST_DIR/one.json")" \
        "up $hash master chunkserver1 chunkserver2 client" "state, hash of the programs, parts"
    for part in master chunkserver1 chunkserver2 client; do
        output=$(jq -r --arg part "$part" '.parts[] | select(.part == $part) | .pid' "$TEST_DIR/one.json")
        assert_eq "$output" "$(part_pid_of "$1" "$part")" "pid of $part"
        grep -q '^calf' "/proc/$output/comm" || fail "$part: pid $output is another program"
    done
    cluster admin "$1" -- status >/dev/null || fail "admin cannot ask the master"

    step "up again says so and changes nothing"
    echo kept >"$(mount_of "$1")/kept"
    output=$(cluster up "$1" 2>&1 >/dev/null)
    [[ $output == *"already up"* ]] || fail "up again said: $output"
    assert_eq "$(cat "$(mount_of "$1")/kept")" kept "file from before"

    step "down, and down again"
    cluster down "$1"
    assert_nothing_left "$1"
    output=$(cluster down "$1" 2>&1)
    [[ $output == *"already down"* ]] || fail "down again said: $output"
    assert_state "$1" down
}
