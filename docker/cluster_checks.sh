# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
#
# What must hold before anything is started. Each problem_* sets PROBLEM to one line, what is wrong and how to mend it,
# or leaves it empty when all is well; `up` stops at the first, `doctor` shows them all. Sourced by cluster.sh.

PROBLEM=

problem_root() {
    [ "$(id -u)" = 0 ] || PROBLEM="this needs root, to mount and to make networks: run it with sudo"
}

# Opening the device loads the kernel's module where it is one.
problem_fuse() {
    if [ ! -c /dev/fuse ]; then
        PROBLEM="there is no /dev/fuse: run modprobe fuse (or mknod /dev/fuse c 10 229)"
    elif ! (: <>/dev/fuse) 2>/dev/null; then
        PROBLEM="/dev/fuse cannot be opened: run modprobe fuse, as root"
    fi
}

problem_programs() {
    local name
    for name in "${PROGRAMS[@]}"; do
        if [ ! -x "$BIN/$name" ]; then
            PROBLEM="$BIN/$name is missing: run make (or set CALF_BIN)"
            return
        fi
    done
}

# A dynamically linked program finds no loader in an image made from nothing.
problem_static() {
    local name
    for name in "${PROGRAMS[@]}"; do
        if [ -e "$BIN/$name" ] && ldd "$BIN/$name" >/dev/null 2>&1; then
            PROBLEM="$BIN/$name is not linked statically, so it cannot run in the image: build it with MODE=release"
            return
        fi
    done
}

problem_ip() {
    if ! command -v ip >/dev/null || ! command -v ss >/dev/null; then
        PROBLEM="the commands ip and ss are missing: apt-get install iproute2"
    fi
}

problem_netns() {
    [ -e /proc/self/ns/net ] || PROBLEM="the kernel has no network namespaces: use one with CONFIG_NET_NS"
}

docker_usable() {
    timeout 10 docker info >/dev/null 2>&1
}

# Docker's own message decides, since each cause has another mend. Sets DOCKER_SECURITY when all is well.
problem_docker() {
    local info
    if ! command -v docker >/dev/null; then
        PROBLEM="Docker is not installed: apt-get install docker.io iptables"
    elif [[ ${DOCKER_HOST:-unix://} != unix://* ]]; then
        PROBLEM="DOCKER_HOST is $DOCKER_HOST, but RAM disks and mount are on this machine: unset DOCKER_HOST"
    elif info=$(timeout 10 docker info --format '{{json .SecurityOptions}}' 2>&1) && [[ $info != *rror* ]]; then
        DOCKER_SECURITY=$info
        if [[ $info == *name=rootless* ]]; then
            PROBLEM="this Docker is rootless and cannot hand a mount to the host: use the system's Docker"
        fi
    elif [[ $info == *ermission*denied* ]]; then
        PROBLEM="no right to use Docker: run this with sudo"
    else
        PROBLEM="Docker does not answer${DOCKER_HOST:+ at $DOCKER_HOST}: systemctl start docker (without systemd: dockerd &)"
    fi
}

# Refused when the RAM disks of all scenarios, with the ones asked for now, exceed 60% of what is available to them:
# free memory and what they hold already.
problem_memory() {
    local pledged used available wanted limit
    [ "$STORE" = ram ] || return 0
    read -r pledged used < <(ram_disks_kib)
    available=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
    wanted=$(($(ram_disk_bytes) * CHUNKSERVERS / 1024))
    limit=$(((available + used) * 60 / 100))
    if [ $((pledged + wanted)) -gt $limit ]; then
        PROBLEM="not enough memory: $CHUNKSERVERS RAM disks of $((wanted / CHUNKSERVERS / 1024)) MiB beside "
        PROBLEM+="$((pledged / 1024)) MiB of other scenarios exceed 60% of the $(((available + used) / 1024)) MiB "
        PROBLEM+="available: use a smaller --size, or take a scenario down"
    fi
}

# Stops with the line of the first problem.
require() { # PROBLEM...
    local name
    for name in "$@"; do
        PROBLEM=
        "problem_$name"
        [ -z "$PROBLEM" ] || die "$PROBLEM"
    done
}

check_for_up() {
    require root fuse programs ip
    [ "$NETWORK" != switch ] || require netns
    if scenario_uses_docker; then require static docker; fi
    require cpus memory_limits disk
}

# The directory of --store disk must lie on something that keeps what it is given, and take O_DIRECT.
problem_disk() {
    local at=$DISK type free wanted
    [ "$STORE" = disk ] || return 0
    while [ ! -d "$at" ]; do at=$(dirname "$at"); done
    read -r type free < <(stat -f -c '%T %a %S' "$at" | awk '{ print $1, int($2 * $3 / 1024) }')
    wanted=$(($(ram_disk_bytes) * CHUNKSERVERS / 1024))
    case $type in
    tmpfs | ramfs) PROBLEM="--store disk: $DISK lies on $type, which keeps nothing: choose a directory on a disk with --disk" ;;
    *)
        if [ "$free" -lt "$wanted" ]; then
            PROBLEM="--store disk: $at has $((free / 1024)) MiB free, $CHUNKSERVERS stores need $((wanted / 1024)): "
            PROBLEM+="use a smaller --size, or another directory with --disk"
        fi
        ;;
    esac
}

# Scenarios on the host's network: nobody else may listen where the parts will.
check_ports_free() {
    local part port taken
    case $NETWORK in loopback | host) ;; *) return 0 ;; esac
    while read -r part; do
        port=$(part_port "$part")
        [ -n "$port" ] || continue
        taken=$(ss -Hltnp "sport = :$port" | head -n 1)
        [ -z "$taken" ] || die "port $port ($part of $SCENARIO) is in use by $(listener_name "$taken"):" \
            "end that, or set CALF_PORT_BASE (now $PORT_BASE)"
    done < <(scenario_parts; echo control)
}

listener_name() { # LINE of ss
    if [[ $1 =~ \(\(\"([^\"]*)\",pid=([0-9]+) ]]; then
        echo "${BASH_REMATCH[1]} (pid ${BASH_REMATCH[2]})"
    else
        echo "another program"
    fi
}

doctor_line() { # WHAT PROBLEM
    PROBLEM=
    "problem_$2"
    if [ -z "$PROBLEM" ]; then
        printf 'ok    %s\n' "$1"
    else
        printf 'FAIL  %s: %s\n' "$1" "$PROBLEM"
        DOCTOR_FAILED=1
    fi
}

# Idle cores of a virtual machine that halt at once make every wake-up dear; the operator's choice, so only told. The
# parameter counts only where the haltpoll driver is in use.
doctor_idle_cores() {
    local file=/sys/module/haltpoll/parameters/guest_halt_poll_ns driver value=0 mend="boot with cpuidle_haltpoll.force=1"
    grep -q '^flags.* hypervisor' /proc/cpuinfo || return 0
    driver=$(cat /sys/devices/system/cpu/cpuidle/current_driver 2>/dev/null || true)
    if [ "$driver" = haltpoll ]; then
        value=$(cat $file)
        mend="echo 200000 >$file"
    fi
    if [ "$value" != 0 ]; then
        echo "ok    idle cores poll up to $value ns before they halt ($file)"
    else
        echo "note  idle cores halt at once, so small blocks measure the hypervisor's wake-up;" \
            "to let them poll first: $mend"
    fi
}

# FUSE over io_uring spares a part of each small request; the operator's choice, too.
doctor_io_uring() {
    local file=/sys/module/fuse/parameters/enable_uring
    if [ ! -e $file ]; then
        echo "note  this kernel has no FUSE over io_uring (6.14 and CONFIG_FUSE_IO_URING): requests come by /dev/fuse"
    elif [ "$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null)" = 2 ]; then
        echo "note  io_uring is forbidden here, so requests come by /dev/fuse; to allow it: sysctl kernel.io_uring_disabled=0"
    elif [ "$(cat $file)" = Y ]; then
        echo "ok    FUSE over io_uring is offered ($file); mounts made from now on use it (in containers not with Docker 25 and newer)"
    else
        echo "note  FUSE over io_uring is off, which small requests would gain from; for mounts made after it: echo 1 >$file"
    fi
}

command_doctor() {
    DOCTOR_FAILED=0
    doctor_line "root" root
    doctor_line "/dev/fuse" fuse
    doctor_line "programs" programs
    doctor_line "iproute2" ip
    doctor_line "network namespaces (bare-net)" netns
    doctor_line "memory for $CHUNKSERVERS chunkservers of $((SIZE_BYTES >> 20)) MiB" memory
    doctor_line "Docker (docker-*)" docker
    doctor_line "static programs (docker-*)" static
    if grep -qs Y /sys/module/apparmor/parameters/enabled; then
        echo "note  AppArmor is on: the client's container is started with apparmor=unconfined, or it could not mount"
    fi
    doctor_idle_cores
    doctor_io_uring
    return $DOCTOR_FAILED
}
