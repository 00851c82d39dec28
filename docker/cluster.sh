#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034  # what is set here is used in the files sourced below
#
# Starts and stops calf clusters in each deployment ("scenario") on this machine. Run it with --help.
#
# This file is the command line and the order of events; the rest lies in the files it sources:
#   cluster_state.sh      the state directory, lock, configuration, mounts, memory
#   cluster_process.sh    host processes: start, find again, end
#   cluster_limits.sh     which cores and how much memory a part may use
#   cluster_netns.sh      network namespaces of bare-net
#   cluster_docker.sh     image, network and containers
#   cluster_scenarios.sh  what each scenario is made of, and the command line of each part
#   cluster_checks.sh     what must hold before anything is started, and `doctor`
#   cluster_status.sh     what is running, as text and JSON
#
# Names used throughout: a part is one process of a cluster (master, chunkserver1.., client, client2..). STATE is the directory
# of all scenarios, HOME_DIR that of the one in hand, PREFIX what its containers, networks and namespaces are called.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

HERE=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
BIN=$(realpath -m -- "${CALF_BIN:-$HERE/../build/release/bin}")
DEFAULT_STATE=/run/calf
STATE=$DEFAULT_STATE
PORT_BASE=${CALF_PORT_BASE:-7100}
WAIT_S=${CALF_WAIT_S:-30}
CHUNKSERVERS=2
SIZE=${CALF_SIZE:-1g}
GOAL=1
# How long a part has for a good end before it is killed.
GRACE_S=5
EXCLUSIVE=no
CLIENTS=1
STORE=ram
DISK=${CALF_DISK:-/var/lib/calf}
CPUS=
MEMORY=
ALL=no
JSON=no
# Whether an `up` is between its first and its last step.
UP_RUNS=no
ARGUMENTS=()

# One line for whoever reads; everything but results goes to standard error.
say() { printf 'cluster.sh: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
usage_error() { say "$* (see cluster.sh --help)"; exit 2; }

for part_file in state process limits netns docker scenarios checks status; do
    # shellcheck source=/dev/null
    . "$HERE/cluster_$part_file.sh"
done

print_usage() {
    cat <<'USAGE'
Starts and stops calf clusters on this machine, one per scenario.

  cluster.sh up SCENARIO [--chunkservers N] [--size BYTES of each] [--goal N] [--exclusive] [--clients N]
                [--store ram|disk] [--disk DIR] [--cpus LIST] [--memory LIST] [--state DIR]
  cluster.sh down SCENARIO | --all [--state DIR]
  cluster.sh status [SCENARIO] [--json] [--state DIR]
  cluster.sh doctor                             check what each scenario needs and say how to mend it
  cluster.sh admin SCENARIO -- COMMAND...       run `calf COMMAND...` against the scenario's master
  cluster.sh logs SCENARIO [PART]               the last lines of each part's log
  cluster.sh scenarios                          their names
  cluster.sh restart SCENARIO PART              start a part again that was killed (or stop it first)

Scenarios:
  bare              host processes, loopback
  bare-net          host processes, each in its own network namespace, on a bridge
  docker-host       containers on the host's network
  docker-bridge     containers on a Docker bridge network of their own
  bare-shm          host processes; chunkservers and clients share memory for data
  docker-shm        containers on a bridge network; chunkservers and clients share memory for data
  docker-published  containers on a bridge with published ports, the client a host process

`up` returns when the mount answers; the mount is DIR/SCENARIO/mnt. Options of `up`:
  --chunkservers N  how many chunkservers (1 to 32; default 2)
  --size BYTES      RAM disk of each, with k, m or g (default $CALF_SIZE or 1g); at most 60% of the memory available in all
  --goal N          copies of each chunk (default 1)
  --exclusive       the only writing mount, with the kernel's write-back cache
  --clients N       so many mounts (1 to 32; default 1), each with a client of its own: mnt, mnt2, mnt3, ...
  --store ram|disk  chunks on a RAM disk each, or in a directory of --disk, durable: the journal is synced always
  --disk DIR        where directories of --store disk are made (default $CALF_DISK or /var/lib/calf)
  --cpus LIST       cores of the parts: master=0,chunkserver=1,client=0-1; also chunkserver2=...; without a name: of all
  --memory LIST     memory of the parts: master=512m,client=1g; without a name: of each; what a RAM disk holds counts, too
  --state DIR       where state and mounts live (default /run/calf)

Environment: CALF_BIN (where the programs are; default build/release/bin), CALF_PORT_BASE (first port of `bare`;
each scenario takes the next hundred; default 7100), CALF_SIZE (see --size), CALF_WAIT_S (seconds to wait for a part;
default 30).
Exit status: 0 done, 1 failed, 2 wrong usage.
USAGE
}

# The value of an option, or a usage error when the command line ends.
option_value() { # OPTION COUNT-LEFT VALUE
    if [ "$2" -lt 2 ] || [ -z "$3" ] || [[ $3 == --* ]]; then usage_error "$1 needs a value"; fi
    printf '%s' "$3"
}

number_within() { # NAME VALUE LOW HIGH
    if ! [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then
        usage_error "$1 is a number from $3 to $4, not '$2'"
    fi
}

# Bytes of a size such as 512m.
size_to_bytes() {
    local value=${1,,} shift_bits=0
    [[ $value =~ ^([0-9]{1,15})([kmg]?)$ ]] || usage_error "a size is a number with k, m or g, not '$1'"
    case ${BASH_REMATCH[2]} in
    k) shift_bits=10 ;;
    m) shift_bits=20 ;;
    g) shift_bits=30 ;;
    esac
    if [ ${#BASH_REMATCH[1]} -gt 9 ] && [ $shift_bits -gt 0 ]; then usage_error "size '$1' is too large"; fi
    printf '%s' $((10#${BASH_REMATCH[1]} << shift_bits))
}

parse_options() {
    while [ $# -gt 0 ]; do
        case $1 in
        --chunkservers) CHUNKSERVERS=$(option_value "$1" $# "${2:-}"); shift ;;
        --size) SIZE=$(option_value "$1" $# "${2:-}"); shift ;;
        --goal) GOAL=$(option_value "$1" $# "${2:-}"); shift ;;
        --clients) CLIENTS=$(option_value "$1" $# "${2:-}"); shift ;;
        --store) STORE=$(option_value "$1" $# "${2:-}"); shift ;;
        --disk) DISK=$(option_value "$1" $# "${2:-}"); shift ;;
        --cpus) CPUS=$(option_value "$1" $# "${2:-}"); shift ;;
        --memory) MEMORY=$(option_value "$1" $# "${2:-}"); shift ;;
        --state) STATE=$(option_value "$1" $# "${2:-}"); shift ;;
        --exclusive) EXCLUSIVE=yes ;;
        --all) ALL=yes ;;
        --json) JSON=yes ;;
        --help | -h) print_usage; exit 0 ;;
        --) shift; ARGUMENTS+=("$@"); break ;;
        -*) usage_error "there is no option $1" ;;
        *) ARGUMENTS+=("$1") ;;
        esac
        shift
    done
    number_within --chunkservers "$CHUNKSERVERS" 1 32
    number_within --goal "$GOAL" 1 "$CHUNKSERVERS"
    number_within --clients "$CLIENTS" 1 32
    [[ $STORE =~ ^(ram|disk)$ ]] || usage_error "--store is ram or disk, not '$STORE'"
    [ "$EXCLUSIVE$CLIENTS" = yes1 ] || [ "$EXCLUSIVE" = no ] || usage_error "--exclusive means one mount: leave out --clients"
    limits_parse
    number_within CALF_PORT_BASE "$PORT_BASE" 1 60000
    number_within CALF_WAIT_S "$WAIT_S" 1 3600
    SIZE_BYTES=$(size_to_bytes "$SIZE")
    [ "$SIZE_BYTES" -ge $((1 << 20)) ] || usage_error "--size is at least 1m"
    STATE=$(realpath -m -- "$STATE")
    DISK=$(realpath -m -- "$DISK")
    # Docker's --mount and mountinfo both have characters of their own; none of them is needed here.
    [[ $STATE =~ ^/[A-Za-z0-9_./-]+$ ]] || usage_error "--state takes letters, digits, and _ . - /, not '$STATE'"
    [[ $DISK =~ ^/[A-Za-z0-9_./-]+$ ]] || usage_error "--disk takes letters, digits, and _ . - /, not '$DISK'"
}

# Called when `up` ends before its last step, by an error or a signal: everything it made goes again.
up_failed() {
    local status=$? logs
    trap '' INT TERM
    trap - EXIT
    UP_RUNS=no
    case $status in
    130 | 143) say "interrupted; taking $SCENARIO down again" ;;
    *)
        logs=$(show_logs 8)
        [ -z "$logs" ] || printf 'what the parts of %s said last:\n%s\n' "$SCENARIO" "$logs" >&2
        ;;
    esac
    # Nothing in it is worth a slow end, and whoever interrupted may lose patience.
    GRACE_S=1
    scenario_remove || true
    state_unlock
    exit "$status"
}

# What a signal does while `up` runs: the EXIT trap takes everything down again.
up_traps() {
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# Everything up to a running master, then the chunkservers, then the mount.
up_start_parts() {
    local i part
    master_make_cluster
    part_start master
    wait_for "the master to answer" master_answers
    for ((i = 1; i <= CHUNKSERVERS; i++)); do
        part_start "chunkserver$i"
    done
    wait_for "$CHUNKSERVERS chunkservers to register" chunkservers_registered
    while read -r part; do part_start "$part"; done < <(client_parts)
    wait_for "the mount to answer" mounts_answer
    mounts_raise_read_ahead
    [ "$GOAL" = 1 ] || cluster_admin goal set "$GOAL" "$MOUNT" >/dev/null || die "could not set goal $GOAL on $MOUNT"
}

command_up() {
    scenario_select "${1:-}"
    check_for_up
    state_lock
    # The subshells keep what an earlier run had configured away from what this one was asked for.
    case $(config_load; containers_look; scenario_state) in
    up)
        say "$SCENARIO is already up"
        echo "$MOUNT"
        return
        ;;
    broken)
        say "$SCENARIO is not whole (what an earlier run left); starting it anew"
        (config_load; scenario_remove) || die "could not clear what is left of $SCENARIO"
        ;;
    esac
    require memory
    check_ports_free
    UP_RUNS=yes
    trap up_failed EXIT
    up_traps
    state_make
    network_make
    up_start_parts
    pids_write
    config_set state up
    UP_RUNS=no
    trap - INT TERM
    trap state_unlock EXIT
    echo "$MOUNT"
}

command_down() {
    local name failed=0
    local names=("$@")
    require root
    [ "$ALL" = no ] || names=("${SCENARIOS[@]}")
    [ ${#names[@]} -gt 0 ] || usage_error "down needs a scenario or --all"
    for name in "${names[@]}"; do
        scenario_select "$name"
        state_lock
        config_load
        if ! scenario_exists; then
            [ "$ALL" = yes ] || say "$SCENARIO is already down"
        elif scenario_remove; then
            say "$SCENARIO is down"
        else
            failed=1
        fi
        state_unlock
    done
    return $failed
}

command_admin() {
    scenario_select "${1:-}"
    shift
    [ $# -gt 0 ] || usage_error "admin needs a command for calf"
    config_load
    [ -e "$HOME_DIR/config" ] || die "$SCENARIO is down; start it with: cluster.sh up $SCENARIO"
    cluster_admin "$@"
}

command_logs() {
    scenario_select "${1:-}"
    config_load
    [ -e "$HOME_DIR/config" ] || die "$SCENARIO is down"
    show_logs 40 "${2:-}"
}

command_restart() {
    scenario_select "$1"
    require root
    state_lock
    config_load
    [ -e "$HOME_DIR/config" ] || die "$SCENARIO is down; start it with: cluster.sh up $SCENARIO"
    scenario_parts | grep -qx -e "$2" || usage_error "$SCENARIO has no part '$2', but: $(scenario_parts | xargs)"
    part_restart "$2"
    pids_write
}

main() {
    local command=${1:-}
    [ $# -gt 0 ] || { print_usage >&2; exit 2; }
    shift
    parse_options "$@"
    set -- "${ARGUMENTS[@]}"
    case $command in
    up) [ $# -eq 1 ] || usage_error "up takes one scenario"; command_up "$@" ;;
    down) command_down "$@" ;;
    status) [ $# -le 1 ] || usage_error "status takes one scenario at most"; command_status "$@" ;;
    doctor) command_doctor ;;
    admin) command_admin "$@" ;;
    logs) command_logs "$@" ;;
    scenarios) printf '%s\n' "${SCENARIOS[@]}" ;;
    restart) [ $# -eq 2 ] || usage_error "restart takes a scenario and a part"; command_restart "$@" ;;
    --help | -h | help) print_usage ;;
    *) usage_error "there is no command '$command'" ;;
    esac
}

main "$@"
