#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cluster.sh: the life of the scenario bare, a part that is started again, and two scenarios side by side.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

cluster_requires bare
lifecycle bare

step "goal, number and size of chunkservers are what was asked for"
cluster up bare --chunkservers 3 --size 64m --goal 2 >/dev/null
assert_eq "$(cluster status bare --json | jq -c '[.chunkservers, .size_bytes, .goal]')" '[3,67108864,2]' "configuration"
round_trip bare

step "bare-net beside it"
cluster up bare-net >/dev/null
round_trip bare-net
round_trip bare
cluster down bare-net
assert_nothing_left bare-net
round_trip bare

step "a chunkserver that was killed is started again with what it had"
echo before >"$(mount_of bare)/before"
kill -KILL "$(part_pid_of bare chunkserver1)"
wait_for "bare is broken" 10 grep -q broken <(cluster status bare)
cluster restart bare chunkserver1
assert_state bare up
assert_eq "$(cat "$(mount_of bare)/before")" before "file from before"
cluster down --all
assert_nothing_left bare
