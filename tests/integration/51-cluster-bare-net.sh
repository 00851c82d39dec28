#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cluster.sh: the life of the scenario bare-net.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

cluster_requires bare-net
lifecycle bare-net

step "each part has a network of its own, and the host has none of it"
cluster up bare-net >/dev/null
prefix=$(prefix_of bare-net)
assert_eq "$(ip netns list | grep -c "^$prefix-")" 5 "namespaces"
for part in master chunkserver1 chunkserver2 client; do
    [ "$(readlink "/proc/$(part_pid_of bare-net $part)/ns/net")" != "$(readlink /proc/self/ns/net)" ] ||
        fail "$part runs in the host's network"
    assert_eq "$(readlink "/proc/$(part_pid_of bare-net $part)/ns/mnt")" "$(readlink /proc/self/ns/mnt)" \
        "mount namespace of $part"
done
[ -z "$(ip -o addr show | grep -F 10.213.0. || true)" ] || fail "an address of the cluster is visible on the host"
cluster down bare-net
assert_nothing_left bare-net
