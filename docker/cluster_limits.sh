# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Which cores a part may use (--cpus) and how much memory (--memory). Containers have options for both; a host process
# is started by taskset and in a memory cgroup of its own (version 1 or 2). Sourced by cluster.sh.

# What each option says for a part or a kind of part ("all", if no name stood before it).
declare -A CPUS_OF=() MEMORY_OF=()

# "master=0,chunkserver=1-2,4,client=3" into NAME_OF[master]=0 NAME_OF[chunkserver]=1-2,4 NAME_OF[client]=3.
limits_split() { # OPTION LIST ARRAY VALUE-PATTERN
    local item name=all value items
    local -n of=$3
    of=()
    [ -n "$2" ] || return 0
    IFS=, read -r -a items <<<"$2"
    for item in "${items[@]}"; do
        value=${item#*=}
        [ "$value" = "$item" ] || name=${item%%=*}
        [[ $name =~ ^(all|master|(chunkserver|client)[0-9]{0,2})$ ]] ||
            usage_error "$1: there is no part '$name', but: master, chunkserver, chunkserver1, client, client2, ..."
        [[ $value =~ $4 ]] || usage_error "$1: '$item' is not understood; an example: $5"
        of[$name]=${of[$name]:+${of[$name]},}$value
    done
}

# After CPUS and MEMORY are known: from the command line, or from the configuration of what runs.
limits_parse() {
    limits_split --cpus "$CPUS" CPUS_OF '^[0-9]{1,4}(-[0-9]{1,4})?$' master=0,chunkserver=1,client=0-1
    limits_split --memory "$MEMORY" MEMORY_OF '^[0-9]{1,9}[kmgKMG]?$' master=512m,client=1g
}

# The value for a part: its own, that of its kind, or that of all.
limit_of() { # PART ARRAY
    local -n values=$2
    echo "${values[$1]:-${values[${1%%[0-9]*}]:-${values[all]:-}}}"
}

memory_bytes_of() { # PART
    local value
    value=$(limit_of "$1" MEMORY_OF)
    [ -z "$value" ] || size_to_bytes "$value"
}

limits_container_options() { # PART; an option a line
    local cpus bytes
    cpus=$(limit_of "$1" CPUS_OF)
    bytes=$(memory_bytes_of "$1")
    [ -z "$cpus" ] || printf '%s\n' --cpuset-cpus "$cpus"
    [ -z "$bytes" ] || printf '%s\n' --memory "$bytes" --memory-swap "$bytes"
}

# What goes before the command of a host process, a word a line. Its cgroup is there (cgroup_make).
limits_command() { # PART
    local cpus
    cpus=$(limit_of "$1" CPUS_OF)
    # The shell joins and then becomes the program.
    # shellcheck disable=SC2016
    [ -z "$(limit_of "$1" MEMORY_OF)" ] || printf '%s\n' sh -c 'echo $$ >"$0" && exec "$@"' "$(cgroup_of "$1")/cgroup.procs"
    [ -z "$cpus" ] || printf '%s\n' taskset -c "$cpus"
}

# Where memory cgroups are made: version 2 with the memory controller, or version 1's hierarchy. Empty: nowhere.
cgroup_root() {
    if grep -qsw memory /sys/fs/cgroup/cgroup.controllers; then
        echo /sys/fs/cgroup
    elif [ -e /sys/fs/cgroup/memory/cgroup.procs ]; then
        echo /sys/fs/cgroup/memory
    fi
}

cgroup_of() { # PART
    echo "$(cgroup_root)/$PREFIX-$1"
}

# Makes the cgroup of a host process that has a memory limit.
cgroup_make() { # PART
    local bytes group
    bytes=$(memory_bytes_of "$1")
    [ -n "$bytes" ] || return 0
    group=$(cgroup_of "$1")
    mkdir -p "$group"
    if [ -e "$group/memory.limit_in_bytes" ]; then
        echo "$bytes" >"$group/memory.limit_in_bytes"
        return
    fi
    # Below the root only what its parent hands on can be set.
    [ -e "$group/memory.max" ] || echo +memory >"$(cgroup_root)/cgroup.subtree_control"
    echo "$bytes" >"$group/memory.max"
    [ ! -e "$group/memory.swap.max" ] || echo 0 >"$group/memory.swap.max"
}

# After the processes have ended.
limits_remove() {
    local group
    for group in "$(cgroup_of '')"*; do
        [[ ${group##*"$PREFIX-"} =~ ^(master|client[0-9]*|chunkserver[0-9]+)$ ]] || continue
        rmdir "$group" 2>/dev/null || true
    done
}

problem_cpus() {
    local name list most range
    most=$(sed 's/.*[-,]//' /sys/devices/system/cpu/online)
    for name in "${!CPUS_OF[@]}"; do
        list=${CPUS_OF[$name]}
        for range in ${list//,/ }; do
            if [ "${range#*-}" -gt "$most" ] || [ "${range%-*}" -gt "${range#*-}" ]; then
                PROBLEM="--cpus: '$range' of $name: this machine has cores 0 to $most"
                return
            fi
        done
    done
}

# Less than a RAM disk may hold would end its chunkserver when it fills.
problem_memory_limits() {
    local part bytes wanted
    while read -r part; do
        bytes=$(memory_bytes_of "$part")
        [ -n "$bytes" ] || continue
        wanted=$((64 << 20))
        [[ $STORE$part != ramchunkserver* ]] || wanted=$((wanted + $(ram_disk_bytes)))
        if [ "$bytes" -lt $wanted ]; then
            PROBLEM="--memory: $part needs $((wanted >> 20)) MiB at least"
        elif [ "$(part_place "$part")" != container ] && [ -z "$(cgroup_root)" ]; then
            PROBLEM="--memory: there is no memory cgroup for host processes: mount one, or leave out --memory"
        fi
    done < <(scenario_parts)
}
