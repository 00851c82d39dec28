# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Network namespaces for scenarios without Docker whose parts talk over veth pairs. Sourced by cluster.sh.
#
# The bridge has a namespace of its own ("switch"). In the host's it would pass the host's packet filter once Docker
# has loaded br_netfilter, and Docker's rules drop what they do not know. So nothing of it is visible on the host,
# the subnet cannot collide with anybody's, and removing the namespaces removes everything.

NETNS_SUBNET=10.213.0

netns_address() { # PART
    case $1 in
    master) echo $NETNS_SUBNET.2 ;;
    client) echo $NETNS_SUBNET.3 ;;
    client*) echo $NETNS_SUBNET.$((100 + ${1#client})) ;;
    chunkserver*) echo $NETNS_SUBNET.$((10 + ${1#chunkserver})) ;;
    esac
}

netns_make() {
    local part switch=$PREFIX-switch
    ip netns add "$switch"
    ip -n "$switch" link add calf type bridge stp_state 0 forward_delay 0
    ip -n "$switch" link set dev calf up
    while read -r part; do
        ip netns add "$PREFIX-$part"
        ip -n "$PREFIX-$part" link set dev lo up
        ip -n "$PREFIX-$part" link add eth0 type veth peer name "$part" netns "$switch"
        ip -n "$switch" link set dev "$part" master calf up
        ip -n "$PREFIX-$part" addr add "$(netns_address "$part")/24" dev eth0
        ip -n "$PREFIX-$part" link set dev eth0 up
    done < <(scenario_parts)
}

# The namespaces of the scenario in hand, whatever its configuration says.
netns_list() {
    local path name
    for path in /run/netns/"$PREFIX"-*; do
        [ -e "$path" ] || continue
        name=${path##*/}
        [[ ${name#"$PREFIX"-} =~ ^(master|client[0-9]*|switch|chunkserver[0-9]+)$ ]] && echo "$name"
    done
    return 0
}

netns_remove() {
    local name failed=0
    while read -r name; do
        ip netns del "$name" || failed=1
    done < <(netns_list)
    # iproute2 mounts the directory on itself with the first namespace and leaves it so after the last.
    if [ -d /run/netns ] && [ -z "$(ls -A /run/netns)" ] && is_mount /run/netns; then
        umount /run/netns 2>/dev/null || true
    fi
    return $failed
}

# A process in the part's network namespace. `ip netns exec` would give it a mount namespace, too, and then the mount
# that the client makes would be seen by nobody else.
netns_command() { # PART; prints what goes before the command, a word a line
    printf '%s\n' nsenter "--net=/run/netns/$PREFIX-$1" --
}
