# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Host processes: started detached from the terminal, known by pid and start time, ended by TERM and then KILL.
# Sourced by cluster.sh.

# Start time of a process in clock ticks since boot, or nothing when it is gone (or a zombie, which nobody may have
# collected on a machine without init).
process_start_time() { # PID
    local line fields
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 0
    # The name in parentheses may hold spaces; what follows it is fixed.
    read -r -a fields <<<"${line##*) }"
    [ "${fields[0]}" = Z ] || [ "${fields[0]}" = X ] || echo "${fields[19]}"
}

# Runs COMMAND in its own session with its output in the part's log. The process writes its own record before it becomes
# the program, and keeps the scenario's lock until then, so that neither a crash nor an interrupt of ours leaves a program
# without a record: whoever removes the scenario either sees the record or waits for it.
process_start() { # PART COMMAND...
    local part=$1 self interrupted=
    shift
    if [ "$UP_RUNS" = yes ]; then trap 'interrupted=130' INT; trap 'interrupted=143' TERM; fi
    (
        self=$BASHPID
        printf '%s %s\n' "$self" "$(process_start_time "$self")" >"$HOME_DIR/procs/$part.new"
        mv "$HOME_DIR/procs/$part.new" "$HOME_DIR/procs/$part"
        cd /
        exec setsid "$@" 9>&-
    ) </dev/null >>"$HOME_DIR/log/$part.log" 2>&1 &
    while [ ! -e "$HOME_DIR/procs/$part" ] && [ -n "$(process_start_time $!)" ]; do sleep 0.01; done
    if [ "$UP_RUNS" = yes ]; then up_traps; fi
    [ -z "$interrupted" ] || exit "$interrupted"
}

# The pid of a part that runs as a host process, or nothing when it does not run any more.
process_pid() { # PART
    local pid start
    [ -e "$HOME_DIR/procs/$1" ] || return 0
    read -r pid start <"$HOME_DIR/procs/$1" || return 0
    if [ -n "$start" ] && [ "$(process_start_time "$pid")" = "$start" ]; then echo "$pid"; fi
}

process_signal() { # SIGNAL PART
    local pid
    pid=$(process_pid "$2")
    [ -z "$pid" ] || kill -s "$1" "$pid" 2>/dev/null || true
}

# True when none of the parts runs any more; waits up to SECONDS for it.
processes_gone() { # SECONDS PART...
    local tries=$(($1 * 20)) part left
    shift
    while :; do
        left=
        for part in "$@"; do left+=$(process_pid "$part"); done
        [ -n "$left" ] || return 0
        [ $((tries--)) -gt 0 ] || return 1
        sleep 0.05
    done
}

# Ends the parts, all at once, and does not return before they are gone.
processes_end() { # PART...
    local part
    for part in "$@"; do process_signal TERM "$part"; done
    # One that was stopped would not hear it.
    for part in "$@"; do process_signal CONT "$part"; done
    if ! processes_gone "$GRACE_S" "$@"; then
        for part in "$@"; do process_signal KILL "$part"; done
        if ! processes_gone 5 "$@"; then
            say "of $SCENARIO, some of $* survive SIGKILL; see ps"
            return 1
        fi
    fi
    for part in "$@"; do rm -f "$HOME_DIR/procs/$part"; done
}
