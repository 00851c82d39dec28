#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Up and down again and again leave nothing: mounts, processes, networks, namespaces, containers, files. CYCLES (2 in the
# suite, 20 by `make cycles`) of each of SCENARIOS.
# timeout: 3600
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

# shellcheck disable=SC2086
cluster_requires ${SCENARIOS:=bare-net docker-published}
export CALF_SIZE=64m

# Everything that a cycle might leave, counted; cluster names are random enough that others do not disturb it.
everything() {
    grep -cF "$STATE" /proc/self/mountinfo || true
    ip netns list | grep -cF "calf-" || true
    { find /sys/fs/cgroup -maxdepth 2 -name "calf-*-$(printf '%s' "$STATE" | sha256sum | cut -c 1-4)-*" 2>/dev/null || true; } | wc -l
    { ls -A "$STATE" 2>/dev/null || true; } | wc -l
}

before=$(everything)
for scenario in $SCENARIOS; do
    for ((cycle = 1; cycle <= ${CYCLES:-2}; cycle++)); do
        cluster up "$scenario" >/dev/null 2>"$TEST_DIR/up" || fail "$scenario, cycle $cycle: $(tail -n 2 "$TEST_DIR/up")"
        echo "$cycle" >"$(mount_of "$scenario")/cycle"
        cluster down "$scenario" 2>/dev/null || fail "$scenario, cycle $cycle: down"
        assert_nothing_left "$scenario"
    done
    step "$scenario: ${CYCLES:-2} cycles"
done
assert_eq "$(everything)" "$before" "what is left"
