# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What is running, as text and as JSON. Nothing in it needs quoting: names, paths and addresses of a scenario are made
# of letters, digits and _ . / : - only (parse_options sees to the state directory). Sourced by cluster.sh.

# Writes the pids anew; a container that Docker restarted has another one.
pids_write() {
    local part pid
    containers_look
    while read -r part; do
        pid=$(part_pid "$part")
        [ -z "$pid" ] || echo "$part $pid"
    done < <(scenario_parts) >"$HOME_DIR/pids.new"
    mv "$HOME_DIR/pids.new" "$HOME_DIR/pids"
}

status_text() { # STATE
    local part at
    printf '%-16s %s' "$SCENARIO" "$1"
    if [ "$1" = down ]; then
        echo
        return
    fi
    printf '  %s\n' "$MOUNT"
    while read -r part; do
        at=$(part_address "$part")
        printf '  %-14s pid %-8s %s\n' "$part" "$(part_pid "$part")" "${at:-$(mount_of "$part")}"
    done < <(scenario_parts)
}

json_string_or_null() {
    if [ -n "$1" ]; then printf '"%s"' "$1"; else printf null; fi
}

status_json_part() { # PART
    local pid container=
    pid=$(part_pid "$1")
    [ "$(part_place "$1")" != container ] || container=$PREFIX-$1
    printf '{"part": "%s", "pid": %s, "container": %s, "address": %s' "$1" "${pid:-null}" \
        "$(json_string_or_null "$container")" "$(json_string_or_null "$(part_address "$1")")"
    [[ $1 != client* ]] || printf ', "mount": "%s"' "$(mount_of "$1")"
    printf '}'
}

status_json() { # STATE
    local part separator=
    printf '{"scenario": "%s", "state": "%s", "mount": "%s", "daemons": "%s", "client": "%s", "network": "%s"' \
        "$SCENARIO" "$1" "$MOUNT" "$DAEMONS" "$CLIENT" "$NETWORK"
    if [ "$1" != down ]; then
        printf ', "chunkservers": %s, "size_bytes": %s, "goal": %s, "exclusive": %s, "control": "%s"' \
            "$CHUNKSERVERS" "$SIZE_BYTES" "$GOAL" "$([ "$EXCLUSIVE" = yes ] && echo true || echo false)" \
            "$(control_address)"
        printf ', "clients": %s, "store": "%s", "journal_sync": "%s", "cpus": %s, "memory": %s' "$CLIENTS" "$STORE" \
            "$(journal_sync)" "$(json_string_or_null "$CPUS")" "$(json_string_or_null "$MEMORY")"
        printf ', "image": %s, "binary_sha256": %s, "parts": [' \
            "$(json_string_or_null "$IMAGE")" "$(json_string_or_null "${CONFIG[binary_sha256]:-}")"
        while read -r part; do
            printf '%s%s' "$separator" "$(status_json_part "$part")"
            separator=', '
        done < <(scenario_parts)
        printf ']'
    fi
    printf '}'
}

# One object for one scenario, an array for all.
command_status() { # [SCENARIO]
    local names=("$@") name separator=
    [ $# -gt 0 ] || names=("${SCENARIOS[@]}")
    [ "$JSON$#" != yes0 ] || printf '['
    for name in "${names[@]}"; do
        printf '%s' "$separator"
        (status_one "$name")
        [ "$JSON" = no ] || separator=$',\n '
    done
    [ "$JSON$#" != yes0 ] || printf ']'
    [ "$JSON" = no ] || echo
}

# In a subshell, for it takes over the configuration of the scenario.
status_one() { # SCENARIO
    local state
    scenario_select "$1"
    config_load
    containers_look
    state=$(scenario_state)
    if [ "$state" = broken ] && scenario_uses_docker && ! docker_usable; then
        say "what runs of $SCENARIO is not known, since Docker does not answer (see cluster.sh doctor)"
    fi
    if [ "$state" = up ] && [ -w "$HOME_DIR" ] && [ "$LOCK_HELD" = no ]; then pids_write; fi
    if [ "$JSON" = yes ]; then status_json "$state"; else status_text "$state"; fi
}
