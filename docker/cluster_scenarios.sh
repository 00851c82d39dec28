# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
#
# What each scenario is made of, and the command line of each part. Sourced by cluster.sh.
#
# A scenario is three choices: where the daemons run, where the clients run (host, netns or container), and which
# network lies between them (loopback, switch, host, bridge or published). A new scenario is a line in scenario_select
# and, if it brings a new choice, one case in the function that turns this choice into a command: start_in_*,
# network_make, part_host, listen_host. Besides, chunkservers and clients may share memory through a directory (SHARED).

SCENARIOS=(bare bare-net docker-host docker-bridge docker-published bare-shm docker-shm)
PROGRAMS=(calf-master calf-chunkserver calf-mount calf iobench)
IMAGE=
# Ports of a scenario, from its PORT on: master, control, then ten further the chunkservers.
PORTS_PER_SCENARIO=100
# What calf-mount sets by itself on the host.
READ_AHEAD_KIB=1024

# Sets everything that follows from a scenario's name.
scenario_select() { # NAME
    local number
    SHARED=no
    case $1 in
    bare) number=0 DAEMONS=host CLIENT=host NETWORK=loopback ;;
    bare-net) number=1 DAEMONS=netns CLIENT=netns NETWORK=switch ;;
    docker-host) number=2 DAEMONS=container CLIENT=container NETWORK=host ;;
    docker-bridge) number=3 DAEMONS=container CLIENT=container NETWORK=bridge ;;
    docker-published) number=4 DAEMONS=container CLIENT=host NETWORK=published ;;
    bare-shm) number=5 DAEMONS=host CLIENT=host NETWORK=loopback SHARED=yes ;;
    docker-shm) number=6 DAEMONS=container CLIENT=container NETWORK=bridge SHARED=yes ;;
    '') usage_error "which scenario? There are: ${SCENARIOS[*]}" ;;
    *) usage_error "there is no scenario '$1', but: ${SCENARIOS[*]}" ;;
    esac
    SCENARIO=$1
    PORT=$((PORT_BASE + number * PORTS_PER_SCENARIO))
    HOME_DIR=$STATE/$SCENARIO
    MOUNT=$HOME_DIR/mnt
    PREFIX=calf-$SCENARIO
    # Two clusters of one scenario may stand side by side under two state directories.
    if [ "$STATE" != "$DEFAULT_STATE" ]; then
        PREFIX+=-$(printf '%s' "$STATE" | sha256sum | cut -c 1-4)
    fi
}

scenario_parts() {
    local i
    echo master
    for ((i = 1; i <= CHUNKSERVERS; i++)); do echo "chunkserver$i"; done
    client_parts
}

# client, client2, client3, ...: one mount each.
client_parts() {
    local i
    echo client
    for ((i = 2; i <= CLIENTS; i++)); do echo "client$i"; done
}

# Where a client mounts: mnt, mnt2, mnt3, ...
mount_of() { # PART
    echo "$HOME_DIR/mnt${1#client}"
}

# The host under which the others reach a part.
part_host() { # PART
    case $NETWORK in
    loopback | host) echo 127.0.0.1 ;;
    switch) netns_address "$1" ;;
    bridge) echo "$PREFIX-$1" ;;
    published) echo "${CONFIG[gateway]}" ;;
    esac
}

# What a part listens on: its own address and no other. A container's address is not known before it runs; there,
# "any" is the container's own network.
listen_host() { # PART
    case $NETWORK in
    bridge | published) echo 0.0.0.0 ;;
    *) part_host "$1" ;;
    esac
}

part_port() { # PART
    case $1 in
    master) echo "$PORT" ;;
    control) echo $((PORT + 1)) ;;
    chunkserver*) echo $((PORT + 9 + ${1#chunkserver})) ;;
    esac
}

# HOST:PORT of a part for the others, or nothing for the client, which listens nowhere.
part_address() { # PART
    [[ $1 == client* ]] || echo "$(part_host "$1"):$(part_port "$1")"
}

control_address() {
    echo "$(part_host master):$(part_port control)"
}

part_directory() { # PART
    case $1 in
    master) if [ "$STORE" = disk ]; then echo "$DISK_HOME/master"; else echo "$HOME_DIR/master"; fi ;;
    chunkserver*)
        if [ "$STORE" = disk ]; then
            echo "$DISK_HOME/disk${1#chunkserver}"
        else
            echo "$HOME_DIR/ram${1#chunkserver}"
        fi
        ;;
    esac
}

# Where the chunkservers' sockets for sharing memory are, if the scenario has them.
shared_directory() {
    [ "$SHARED" = no ] || echo "$HOME_DIR/shm"
}

# Chunks that are to outlive a power loss deserve metadata that does, too.
journal_sync() {
    if [ "$STORE" = disk ]; then echo always; else echo interval; fi
}

# Sets COMMAND to the program and arguments of a part: the same in every scenario, but for the addresses.
part_command() { # PART
    local directory
    directory=$(part_directory "$1")
    case $1 in
    master)
        COMMAND=(calf-master --data "$directory" --listen "$(listen_host master):$(part_port master)"
            --control "$(listen_host master):$(part_port control)" --journal-sync "$(journal_sync)")
        ;;
    chunkserver*)
        COMMAND=(calf-chunkserver --store "$directory" --size "$SIZE_BYTES" --master "$(control_address)"
            --listen "$(listen_host "$1"):$(part_port "$1")" --advertise "$(part_address "$1")")
        [ "$STORE" = ram ] || COMMAND+=(--store-kind "$STORE")
        [ "$SHARED" = no ] || COMMAND+=(--shm "$(shared_directory)")
        ;;
    client*)
        COMMAND=(calf-mount --master "$(part_address master)")
        [ "$EXCLUSIVE" = no ] || COMMAND+=(--exclusive)
        [ "$SHARED" = no ] || COMMAND+=(--shm "$(shared_directory)")
        COMMAND+=("$(mount_of "$1")" -f)
        ;;
    esac
}

# Makes the cluster's first state with a master of the host that ends at once. The master that stays is started without
# --init in every scenario, since Docker starts it again with the very same command line.
master_make_cluster() {
    process_start init "$BIN/calf-master" --data "$(part_directory master)" --init --listen 127.0.0.1:0 --control 127.0.0.1:0
    wait_for "the first state of the master" master_has_state
    processes_end init
    if [ "$DAEMONS" = container ]; then chown -R "$CONTAINER_USER" "$(part_directory master)"; fi
}

# A snapshot has its name when it is whole. A master that has ended by itself has said why.
master_has_state() {
    if compgen -G "$(part_directory master)/snapshot.*" | grep -qv '\.tmp$'; then return 0; fi
    [ -n "$(process_pid init)" ] || { cat "$HOME_DIR/log/init.log" >&2; die "the master could not make its first state"; }
    return 1
}

part_place() { # PART; prints host, netns or container
    if [[ $1 == client* ]]; then echo "$CLIENT"; else echo "$DAEMONS"; fi
}

part_start() { # PART
    part_command "$1"
    "start_in_$(part_place "$1")" "$1" "${COMMAND[@]}"
}

start_in_host() { # PART PROGRAM ARGUMENTS...
    local limits
    cgroup_make "$1" || die "could not make the memory cgroup of $1"
    mapfile -t limits < <(limits_command "$1")
    process_start "$1" "${limits[@]}" "$BIN/$2" "${@:3}"
}

start_in_netns() { # PART PROGRAM ARGUMENTS...
    local enter
    cgroup_make "$1" || die "could not make the memory cgroup of $1"
    mapfile -t enter < <(limits_command "$1"; netns_command "$1")
    process_start "$1" "${enter[@]}" "$BIN/$2" "${@:3}"
}

start_in_container() { # PART PROGRAM ARGUMENTS...
    container_start "$@"
}

# For containers, as of the last containers_look.
part_pid() { # PART
    case $(part_place "$1") in
    container) echo "${CONTAINER_PIDS[$1]:-}" ;;
    *) process_pid "$1" ;;
    esac
}

# True when a part was started and has ended again (a container that Docker keeps restarting counts, too). For
# containers, as of the last containers_look.
part_ended() { # PART
    case $(part_place "$1") in
    container) [[ ${CONTAINER_STATES[$1]:-} =~ ^(exited|dead|restarting)$ ]] ;;
    *) [ -e "$HOME_DIR/procs/$1" ] && [ -z "$(process_pid "$1")" ] ;;
    esac
}

# Starts a part that has ended, with the data it had, and waits until it is there again; one that runs is ended first.
part_restart() { # PART
    [[ $1 != client* ]] || ! is_fuse_mount "$(mount_of "$1")" || unmount "$(mount_of "$1")" || true
    if [ "$(part_place "$1")" = container ]; then
        docker_must "restart $PREFIX-$1" restart -t "$GRACE_S" "$PREFIX-$1"
    else
        processes_end "$1" || die "$1 cannot be ended"
        part_start "$1"
    fi
    case $1 in
    master) wait_for "the master to answer" master_answers "$1" ;;
    chunkserver*) wait_for "$1 to register" chunkservers_registered "$1" ;;
    client*)
        wait_for "the mount to answer" mounts_answer "$1"
        mounts_raise_read_ahead
        ;;
    esac
}

# What a scenario needs before its first part starts.
network_make() {
    [ "$NETWORK" != switch ] || netns_make
    ! scenario_uses_docker || image_make
    case $NETWORK in
    bridge) docker_network_make ;;
    published)
        docker_network_make
        CONFIG[gateway]=$(docker_network_gateway)
        config_set gateway "${CONFIG[gateway]}"
        ;;
    esac
}

# Runs `calf` where it reaches the master's control address.
cluster_admin() { # COMMAND...
    local enter=() control
    control=$(control_address)
    case $NETWORK in
    switch) mapfile -t enter < <(netns_command client) ;;
    bridge) control=$(container_address master):$(part_port control) ;;
    esac
    "${enter[@]}" "$BIN/calf" --master "$control" "$@"
}

master_answers() {
    cluster_admin status >/dev/null 2>&1
}

# As many chunkservers as run are known to the master. After containers_look.
chunkservers_registered() {
    local part running=0
    while read -r part; do
        [[ $part != chunkserver* ]] || [ -z "$(part_pid "$part")" ] || running=$((running + 1))
    done < <(scenario_parts)
    [ "$(cluster_admin servers --json 2>/dev/null | grep -o '"online": *true' | wc -l)" -ge $running ]
}

mount_answers() { # MOUNT
    is_fuse_mount "$1" && timeout -k 1 5 stat "$1" >/dev/null 2>&1
}

mounts_answer() {
    local part
    while read -r part; do
        mount_answers "$(mount_of "$part")" || return 1
    done < <(client_parts)
}

is_fuse_mount() { # DIRECTORY
    awk -v at="$1" '$5 == at { type = $0; sub(/^.* - /, "", type); last = type } END { exit last !~ /^fuse/ }' \
        /proc/self/mountinfo
}

# calf-mount raises the kernel's read-ahead for its mount where it may; in a container, sysfs is read-only. Done from
# here, or sequential reads would differ between deployments for no reason of theirs.
mounts_raise_read_ahead() {
    local device part
    [ "$CLIENT" = container ] || return 0
    while read -r part; do
        device=$(mountpoint -d "$(mount_of "$part")")
        echo "$READ_AHEAD_KIB" >"/sys/class/bdi/$device/read_ahead_kb" ||
            say "the read-ahead of $(mount_of "$part") stays as it is: /sys/class/bdi/$device cannot be written"
    done < <(client_parts)
}

# Waits until FUNCTION holds. When one of the parts (all, if none is named) has ended, this ends the wait, too.
wait_for() { # WHAT FUNCTION [PART...]
    local deadline=$((SECONDS + WAIT_S)) what=$1 function=$2 part parts
    shift 2
    parts=("$@")
    [ $# -gt 0 ] || mapfile -t parts < <(scenario_parts)
    while :; do
        containers_look
        for part in "${parts[@]}"; do
            if part_ended "$part"; then die "$part of $SCENARIO ended while waiting for $what"; fi
        done
        ! "$function" || return 0
        [ $SECONDS -lt $deadline ] || die "waited $WAIT_S seconds for $what, in vain"
        sleep 0.1
    done
}

# Whether anything of a scenario is there, whole or not.
scenario_exists() {
    [ -e "$HOME_DIR" ] || [ -n "$(netns_list)" ] || scenario_has_containers
}

# up, down (nothing is there) or broken (something is, but not all of it works). After config_load, containers_look.
scenario_state() {
    if ! scenario_exists; then
        echo down
    elif [ "${CONFIG[state]:-}" = up ] && scenario_is_whole && mounts_answer; then
        echo up
    else
        echo broken
    fi
}

scenario_is_whole() {
    local part
    while read -r part; do
        [ -n "$(part_pid "$part")" ] || return 1
    done < <(scenario_parts)
}

# Whether any of its choices is a container.
scenario_uses_docker() {
    [ "$DAEMONS" = container ] || [ "$CLIENT" = container ]
}

scenario_has_containers() {
    scenario_uses_docker && [ -n "$(container_list)$(docker_network_list)" ]
}

# Takes everything of a scenario away, whatever state it is in: the mount first, so that what was written leaves the
# kernel while the cluster still runs.
scenario_remove() {
    local failed=0 parts clients=() path part
    while read -r path; do
        ! is_fuse_mount "$path" || unmount "$path" || true
    done < <(state_mounts)
    mapfile -t parts < <(cd "$HOME_DIR/procs" 2>/dev/null && ls)
    for part in "${parts[@]}"; do
        [[ $part != client* ]] || clients+=("$part")
    done
    [ ${#clients[@]} -eq 0 ] || processes_end "${clients[@]}" || failed=1
    [ ${#parts[@]} -eq 0 ] || processes_end "${parts[@]}" || failed=1
    if scenario_uses_docker; then containers_remove || failed=1; fi
    if [ "$NETWORK" = switch ]; then netns_remove || failed=1; fi
    limits_remove
    [ $failed = 0 ] || return 1
    state_remove
}

# The last COUNT lines of each part's log, or of one part's.
show_logs() { # COUNT [PART]
    local part
    while read -r part; do
        [ -z "${2:-}" ] || [ "$part" = "$2" ] || continue
        case $(part_place "$part") in
        container)
            docker inspect "$PREFIX-$part" >/dev/null 2>&1 || continue
            echo "--- $part (docker logs $PREFIX-$part)"
            docker logs --tail "$1" "$PREFIX-$part" 2>&1
            ;;
        *)
            [ -e "$HOME_DIR/log/$part.log" ] || continue
            echo "--- $part ($HOME_DIR/log/$part.log)"
            tail -n "$1" "$HOME_DIR/log/$part.log"
            ;;
        esac
    done < <(scenario_parts)
}
