#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cluster.sh up: several mounts, cores and memory of the parts, in host processes and in containers.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

cluster_requires bare docker-bridge

cores_of() { # SCENARIO PART
    sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$(part_pid_of "$1" "$2")/status"
}

# The limit of the memory cgroup that a process is in, whatever its version.
memory_limit_of() { # SCENARIO PART
    local pid group
    pid=$(part_pid_of "$1" "$2")
    group=$(sed -n 's/^[0-9]*:memory://p' "/proc/$pid/cgroup")
    if [ -n "$group" ]; then
        cat "/sys/fs/cgroup/memory$group/memory.limit_in_bytes"
    else
        cat "/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$pid/cgroup")/memory.max"
    fi
}

last=$(sed 's/.*[-,]//' /sys/devices/system/cpu/online)
for scenario in bare docker-bridge; do
    step "$scenario with three mounts, cores and memory given"
    cluster up $scenario --clients 3 --cpus "0,master=$last,client2=$last" --memory 512m,client=256m >/dev/null
    assert_eq "$(cluster status $scenario --json | jq -c '[.clients, [.parts[].mount | select(.) | sub(".*/"; "")]]')" \
        '[3,["mnt","mnt2","mnt3"]]' "mounts"
    echo "from the second" >"$STATE/$scenario/mnt2/file"
    assert_eq "$(cat "$STATE/$scenario/mnt/file" "$STATE/$scenario/mnt3/file" | sort -u)" "from the second" "the file elsewhere"
    assert_eq "$(stat -c %d "$STATE/$scenario"/mnt* | sort -u | wc -l)" 3 "different devices"
    assert_eq "$(for part in master chunkserver1 client client2; do cores_of $scenario $part; done | tr '\n' ' ')" \
        "$last 0 0 $last " "cores"
    assert_eq "$(for part in master chunkserver2 client3; do memory_limit_of $scenario $part; done | tr '\n' ' ')" \
        "$((512 << 20)) $((512 << 20)) $((256 << 20)) " "memory limits"

    step "$scenario: one of the clients killed: up starts it anew"
    kill -KILL "$(part_pid_of $scenario client3)"
    wait_for "$scenario is broken" 10 grep -q broken <(cluster status $scenario)
    cluster up $scenario --clients 2 >/dev/null 2>&1
    assert_state $scenario up
    [ ! -e "$STATE/$scenario/mnt3" ] || fail "the third mount is left"
    cluster down $scenario
    assert_nothing_left $scenario
done
left=$(find /sys/fs/cgroup -maxdepth 2 -name "$(prefix_of bare)-*" 2>/dev/null)
[ -z "$left" ] || fail "left cgroups: $left"

# refused STATUS PATTERN OPTION...
refused() {
    local expected=$1 pattern=$2 status=0
    shift 2
    cluster up bare "$@" 2>"$TEST_DIR/stderr" >/dev/null || status=$?
    assert_eq $status "$expected" "status of $*"
    assert_eq "$(wc -l <"$TEST_DIR/stderr")" 1 "lines in: $(cat "$TEST_DIR/stderr")"
    grep -qE -e "$pattern" "$TEST_DIR/stderr" || fail "no '$pattern' in: $(cat "$TEST_DIR/stderr")"
    assert_nothing_left bare
}
step "refusals"
refused 2 "from 1 to 32" --clients 0
refused 2 "exclusive means one mount" --clients 2 --exclusive
refused 2 "no part 'mastre'" --cpus mastre=0
refused 2 "'client=x' is not understood" --cpus client=x
refused 1 "cores 0 to $last" --cpus client=$((last + 1))
refused 1 "chunkserver[12] needs .* MiB at least" --memory chunkserver=100m
refused 2 "ram or disk" --store tape
refused 1 "lies on tmpfs.*--disk" --store disk --disk /dev/shm/calf
