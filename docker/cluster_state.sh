# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
#
# The state directory of a scenario: lock, configuration, RAM disks, mounts. Sourced by cluster.sh.
#
#   STATE/SCENARIO/mnt          the mount (mnt2, mnt3, ... with --clients)
#   STATE/SCENARIO/master       the master's data
#   STATE/SCENARIO/ramN         RAM disk of chunkserver N (a tmpfs of this host in every scenario)
#   DISK/PREFIX/{master,diskN}  instead of these two with --store disk
#   STATE/SCENARIO/log/PART.log what a host process printed (containers: docker logs)
#   STATE/SCENARIO/procs/PART   "pid start-time" of a host process, so that a recycled pid is never taken for it
#   STATE/SCENARIO/pids         "part pid" a line, for whoever accounts CPU time
#   STATE/SCENARIO/config       key=value; state=up is written last
#   STATE/SCENARIO.lock         held by flock while a command changes the scenario; removed when it ends

LOCK_HELD=no
# Whether the state directory is ours to remove when it is empty.
STATE_MADE=no

# Takes the scenario's lock. The file is removed by its holder, so whoever waited for a removed one tries again.
state_lock() {
    local lock=$STATE/$SCENARIO.lock
    if [ "$STATE" = "$DEFAULT_STATE" ] || [ ! -e "$STATE" ]; then STATE_MADE=yes; fi
    while :; do
        mkdir -p "$STATE"
        # Another command may remove the directory in between.
        { exec 9>"$lock"; } 2>/dev/null || continue
        flock -w 180 9 || die "another cluster.sh has been busy with $SCENARIO for three minutes ($lock)"
        [ "$lock" -ef /proc/self/fd/9 ] && break
    done
    LOCK_HELD=yes
    trap state_unlock EXIT
}

state_unlock() {
    [ "$LOCK_HELD" = yes ] || return 0
    LOCK_HELD=no
    rm -f "$STATE/$SCENARIO.lock"
    exec 9>&-
    if [ $STATE_MADE = yes ]; then rmdir "$STATE" 2>/dev/null || true; fi
}

config_set() { # KEY VALUE
    printf '%s=%s\n' "$1" "$2" >>"$HOME_DIR/config"
}

# What is in the scenario's configuration; empty when there is none.
declare -A CONFIG=()

# Takes over what a running scenario was started with, if there is one.
config_load() {
    local key value
    CONFIG=()
    [ -e "$HOME_DIR/config" ] || return 0
    while IFS='=' read -r key value; do
        [ -z "$key" ] || CONFIG[$key]=$value
    done <"$HOME_DIR/config"
    CHUNKSERVERS=${CONFIG[chunkservers]:-$CHUNKSERVERS}
    SIZE_BYTES=${CONFIG[size_bytes]:-$SIZE_BYTES}
    GOAL=${CONFIG[goal]:-$GOAL}
    EXCLUSIVE=${CONFIG[exclusive]:-$EXCLUSIVE}
    CLIENTS=${CONFIG[clients]:-$CLIENTS}
    STORE=${CONFIG[store]:-$STORE}
    DISK_HOME=${CONFIG[disk_home]:-}
    CPUS=${CONFIG[cpus]:-$CPUS}
    MEMORY=${CONFIG[memory]:-$MEMORY}
    PORT=${CONFIG[port]:-$PORT}
    IMAGE=${CONFIG[image]:-$IMAGE}
    limits_parse
}

# One hash for the programs: what runs on the host and what is in the image.
programs_hash() {
    (cd "$BIN" && sha256sum "${PROGRAMS[@]}" | sha256sum | cut -d ' ' -f 1)
}

# Directories, RAM disks and configuration of a new scenario. Memory is counted and taken under one lock for the whole
# machine, so that two scenarios started together cannot both be granted the same memory.
state_make() {
    local i hash part
    hash=$(programs_hash)
    IMAGE=calf:${hash:0:12}
    mkdir -p "$HOME_DIR"/{log,procs}
    while read -r part; do mkdir "$(mount_of "$part")"; done < <(client_parts)
    config_set scenario "$SCENARIO"
    config_set chunkservers "$CHUNKSERVERS"
    config_set size_bytes "$SIZE_BYTES"
    config_set goal "$GOAL"
    config_set exclusive "$EXCLUSIVE"
    config_set clients "$CLIENTS"
    config_set store "$STORE"
    config_set cpus "$CPUS"
    config_set memory "$MEMORY"
    DISK_HOME=
    if [ "$STORE" = disk ]; then
        DISK_HOME=$DISK/$PREFIX
        config_set disk_home "$DISK_HOME"
        disk_take
    fi
    config_set port "$PORT"
    config_set binary_sha256 "$hash"
    ! scenario_uses_docker || config_set image "$IMAGE"
    [ "$SHARED" = no ] || shared_make
    mkdir "$(part_directory master)"
    chmod 700 "$(part_directory master)"
    exec 8<"$HERE/cluster.sh"
    flock 8
    require memory
    [ "$CLIENT" != container ] || state_share
    for ((i = 1; i <= CHUNKSERVERS; i++)); do
        "${STORE}_disk_make" "$i"
    done
    exec 8<&-
}

# Sockets are made in it by the chunkservers and looked up by the clients, which are root without any right over others' files.
shared_make() {
    mkdir -m 750 "$(shared_directory)"
    if [ "$DAEMONS" = container ]; then chown "${CONTAINER_USER%:*}:0" "$(shared_directory)"; fi
}

# The directory of a scenario's stores. Nobody else's may be there.
disk_take() {
    if [ -e "$DISK_HOME" ] && [ ! -e "$DISK_HOME/calf-scenario" ]; then
        die "$DISK_HOME is there and not of this script: remove it, or choose another directory with --disk"
    fi
    rm -rf --one-file-system -- "$DISK_HOME"
    mkdir -p "$DISK_HOME"
    echo "$HOME_DIR" >"$DISK_HOME/calf-scenario"
}

disk_disk_make() { # NUMBER
    mkdir -m 700 "$DISK_HOME/disk$1"
    [ "$DAEMONS" != container ] || chown "$CONTAINER_USER" "$DISK_HOME/disk$1"
}

# A mount made inside the client's container appears here when the directory is a shared mount. It is a peer group of
# its own: as a member of the root's group, the mount would appear twice, in here and underneath.
state_share() {
    mount --bind "$HOME_DIR" "$HOME_DIR"
    mount --make-private "$HOME_DIR"
    mount --make-shared "$HOME_DIR"
}

# The size with room for what a chunk file holds besides its data.
ram_disk_bytes() {
    echo $((SIZE_BYTES + SIZE_BYTES * 8 / 100 + (4 << 20)))
}

ram_disk_make() { # NUMBER
    local options owner
    options=size=$(ram_disk_bytes),mode=0700
    [ "$DAEMONS" != container ] || options+=,uid=${CONTAINER_USER%:*},gid=${CONTAINER_USER#*:}
    mkdir -p "$HOME_DIR/ram$1"
    mount -t tmpfs -o "$options" "$PREFIX-ram$1" "$HOME_DIR/ram$1"
}

# KiB that the RAM disks of all scenarios on this machine may grow to, and that they hold by now.
ram_disks_kib() {
    local pledged=0 used=0 path size
    while read -r path size; do
        pledged=$((pledged + size))
        used=$((used + $(df -k --output=used "$path" | tail -n 1)))
    done < <(awk '$3 == "tmpfs" && $1 ~ /^calf-.*-ram[0-9]+$/ && match($4, /size=[0-9]+k/) {
        print $2, substr($4, RSTART + 5, RLENGTH - 6) }' /proc/self/mounts)
    echo "$pledged $used"
}

# Unmounts one directory; a mount that is busy is detached, which always works. Neither asks the file system for the
# path first (-c): its server may be dead or waiting for a dead master.
unmount() { # DIRECTORY
    timeout 10 umount -c "$1" 2>/dev/null || umount -c -l "$1" 2>/dev/null || ! is_mount "$1"
}

is_mount() { # DIRECTORY
    awk -v at="$1" '$5 == at { found = 1 } END { exit !found }' /proc/self/mountinfo
}

# Every mount at or below the scenario's directory, the innermost first.
state_mounts() {
    awk -v at="$HOME_DIR" '$5 == at || index($5, at "/") == 1 { print $5 }' /proc/self/mountinfo | tac
}

# Takes mounts and files of the scenario away. Nothing is removed while anything is mounted below: what lies behind a
# mount is somebody's data.
state_remove() {
    local path
    while read -r path; do
        unmount "$path" || true
    done < <(state_mounts)
    if [ -n "$(state_mounts)" ]; then
        say "$(state_mounts | head -n 1) cannot be unmounted; unmount it, then run: cluster.sh down $SCENARIO"
        return 1
    fi
    if [ -n "${CONFIG[disk_home]:-}" ] && [ -e "${CONFIG[disk_home]}/calf-scenario" ]; then
        rm -rf --one-file-system -- "${CONFIG[disk_home]}"
        rmdir "${CONFIG[disk_home]%/*}" 2>/dev/null || true
    fi
    rm -rf --one-file-system -- "$HOME_DIR"
}
