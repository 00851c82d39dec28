# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the numbered scripts share: a private cluster of host processes, waiting, comparing, cleaning up.
# A script sources it first. It then has:
#   $TEST_DIR   a fresh directory; kept when the script fails
#   $ROOT       the source tree        $BIN   the programs (build/release/bin, or $CALF_BIN)
# A script ends with status 0 (pass), 77 (skip, by `requires` or `skip`), or anything else (fail).
# With CALF_TEST_PLAIN=1 every "mount" is a plain tmpfs and no daemon is started: this tries the checks themselves.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BIN=${CALF_BIN:-$ROOT/build/release/bin}
BIN=$(cd "$BIN" 2>/dev/null && pwd || echo "$BIN")
PLAIN=${CALF_TEST_PLAIN:-}
SCRIPT_NAME=$(basename "$0" .sh)
export LC_ALL=C TZ=UTC
umask 022

# --- what went wrong -------------------------------------------------------------------------------------------------

fail() {
    local depth=1 place=""
    while [ $depth -lt ${#FUNCNAME[@]} ]; do
        place+=" ${BASH_SOURCE[$depth]##*/}:${BASH_LINENO[$((depth - 1))]}"
        depth=$((depth + 1))
    done
    echo "FAIL: $*  (at$place)" >&2
    exit 1
}

skip() {
    echo "SKIP: $*"
    exit 77
}

# A step's name, so that the output of a failing script says how far it came.
step() { echo "--- $*"; }

assert_eq() { # assert_eq ACTUAL EXPECTED [what]
    [ "$1" = "$2" ] || fail "${3:-value}: got '$1', expected '$2'"
}

assert_fails() { # assert_fails STATUS command...: the command must end with exactly this status
    local expected=$1 status=0
    shift
    "$@" || status=$?
    [ $status -eq "$expected" ] || fail "'$*' ended with status $status, expected $expected"
}

# Both trees hold the same names with the same types, modes, owners, link counts, sizes, modification times, link targets
# and contents. The top directories themselves are compared only by what is in them. TREE_TIMES=no leaves out the times.
assert_same_tree() { # assert_same_tree ACTUAL EXPECTED
    list_tree "$1" >"$TEST_DIR/tree.actual"
    list_tree "$2" >"$TEST_DIR/tree.expected"
    if ! cmp -s "$TEST_DIR/tree.actual" "$TEST_DIR/tree.expected"; then
        diff "$TEST_DIR/tree.actual" "$TEST_DIR/tree.expected" | head -n 20 >&2 || true
        fail "trees $1 and $2 differ in names, types, modes, owners, sizes, times or link targets"
    fi
    diff -r --no-dereference "$1" "$2" >"$TEST_DIR/tree.diff" 2>&1 ||
        { head -n 20 "$TEST_DIR/tree.diff" >&2; fail "contents of $1 and $2 differ"; }
}

# Sizes and link counts of directories are the file system's own affair.
list_tree() {
    local times=' %T@'
    [ "${TREE_TIMES:-yes}" = yes ] || times=''
    (cd "$1" && find . -mindepth 1 \( -type d -printf '%P %y %m %U:%G\n' \) -o \
        \( -type l -printf '%P %y %U:%G -> %l\n' \) -o -printf "%P %y %m %U:%G %n %s$times\n" | sort)
}

# Runs a function in a fresh directory of the mount and in one on tmpfs: what it prints (error texts too), its exit
# status and the tree it leaves must be the same.
same_as_tmpfs() { # same_as_tmpfs FUNCTION [keep]
    local at
    REFERENCE=${REFERENCE:-$TEST_DIR/tmpfs}
    if ! is_mounted "$REFERENCE"; then
        mkdir -p "$REFERENCE"
        mount -t tmpfs -o size=768m calf-test "$REFERENCE"
    fi
    step "$1"
    for at in "$REFERENCE" "$MNT"; do
        mkdir "$at/$1"
        (cd "$at/$1" && set +e && "$1"; echo "status $?") >"$TEST_DIR/outcome.${at##*/}" 2>&1 || true
    done
    diff "$TEST_DIR/outcome.${MNT##*/}" "$TEST_DIR/outcome.${REFERENCE##*/}" ||
        fail "$1: prints something else on the mount (<) than on tmpfs (>)"
    TREE_TIMES=no assert_same_tree "$MNT/$1" "$REFERENCE/$1"
    if [ "${2:-}" != keep ]; then
        rm -rf "${MNT:?}/$1" "${REFERENCE:?}/$1" || fail "$1: cannot be removed"
    fi
}

# --- what the machine must have --------------------------------------------------------------------------------------

# requires root | fuse | docker | COMMAND...: skips with the reason when one is missing.
requires() {
    local need
    for need in "$@"; do
        case $need in
        root) [ "$(id -u)" -eq 0 ] || skip "needs root" ;;
        fuse)
            [ -c /dev/fuse ] || skip "there is no /dev/fuse"
            grep -qw fuse /proc/filesystems || skip "the kernel has no FUSE" ;;
        docker)
            command -v docker >/dev/null || skip "docker is not installed"
            docker info >/dev/null 2>&1 || skip "the Docker daemon does not answer" ;;
        *) command -v "$need" >/dev/null || skip "$need is not installed" ;;
        esac
    done
}

# --- waiting ---------------------------------------------------------------------------------------------------------

# A limit on time, in whatever unit, for the programs at hand: with sanitizers they are slower (CALF_TIME_FACTOR).
slowed() { echo $(($1 * ${CALF_TIME_FACTOR:-1})); }

# Polls until the command succeeds; fails when it has not within SECONDS. Never a bare sleep.
wait_for() { # wait_for "description" SECONDS command...
    local what=$1 limit begin=$SECONDS
    limit=$(slowed "$2")
    shift 2
    [[ $1 != assert_* ]] || fail "wait_for $1: what fails does not come back to be asked again"
    until "$@" >/dev/null 2>&1; do
        [ $((SECONDS - begin)) -lt "$limit" ] || fail "not within $limit s: $what"
        sleep 0.05
    done
}

# The same while PART starts: that it ended ends the waiting.
wait_for_start() { # wait_for_start PART "description" SECONDS command...
    local part=$1 what=$2 limit begin=$SECONDS
    limit=$(slowed "$3")
    shift 3
    until "$@" >/dev/null 2>&1; do
        part_runs "$part" || fail "$part ended by itself: $(tail -n 1 "$TEST_DIR/$part.log")"
        [ $((SECONDS - begin)) -lt "$limit" ] || fail "not within $limit s: $what"
        sleep 0.05
    done
}

# --- processes: every one is recorded and ended by its pid -----------------------------------------------------------

# A pid alone may have been given away meanwhile; with its start time it names one process for ever.
process_start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# Runs a command in the background as PART: its output in $TEST_DIR/PART.log, its pid in $TEST_DIR/parts/PART.pid.
start_part() { # start_part PART command...
    local part=$1 pid
    shift
    printf '%s\0' "$@" >"$TEST_DIR/parts/$part.command"
    "$@" </dev/null >>"$TEST_DIR/$part.log" 2>&1 &
    pid=$!
    echo "$pid $(process_start_time $pid)" >"$TEST_DIR/parts/$part.pid"
}

# Background work of the script itself: a part named job-NAME, which the clean-up kills before it unmounts.
start_job() { # start_job NAME command-or-function...
    local name=$1
    shift
    # In a process group of its own, so that what a function of the script starts ends with it.
    set -m
    start_part "job-$name" "$@"
    set +m
}

# Waits for a job and returns its exit status; fails if it takes longer than SECONDS.
job_status() { # job_status NAME SECONDS
    local pid status=0
    wait_for "job $1 ends" "$2" part_is_gone "job-$1"
    pid=$(part_pid "job-$1")
    wait "$pid" || status=$?
    return $status
}

part_pid() { cut -d' ' -f1 "$TEST_DIR/parts/$1.pid"; }

part_runs() {
    local pid started
    [ -f "$TEST_DIR/parts/$1.pid" ] || return 1
    read -r pid started <"$TEST_DIR/parts/$1.pid" || return 1
    [ -n "$started" ] && [ "$(process_start_time "$pid")" = "$started" ] &&
        ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null
}

part_is_gone() { ! part_runs "$1"; }

signal_part() { # signal_part PART SIGNAL
    if part_runs "$1"; then
        kill -"$2" "$(part_pid "$1")" 2>/dev/null || true
    fi
}

# Ends a part in good order; fails if it does not end.
stop_part() {
    [ -z "$PLAIN" ] || return 0
    signal_part "$1" TERM
    wait_for "$1 ends after SIGTERM" 20 part_is_gone "$1"
}

kill9() {
    [ -z "$PLAIN" ] || return 0
    signal_part "$1" KILL
    wait_for "$1 is gone" 10 part_is_gone "$1"
}

# Starts PART again with the command line it had, a master without --init (its data is there by now).
restart_part() {
    local command
    [ -z "$PLAIN" ] || return 0
    mapfile -d '' -t command <"$TEST_DIR/parts/$1.command"
    if [ "$1" = master ]; then
        mapfile -d '' -t command < <(printf '%s\0' "${command[@]}" | grep -zvx -- --init)
    fi
    start_part "$1" "${command[@]}"
}

# From its next restart on, PART gets these options too.
add_options() { # add_options PART option...
    local part=$1
    shift
    [ -n "$PLAIN" ] || printf '%s\0' "$@" >>"$TEST_DIR/parts/$part.command"
}

# --- a private cluster -----------------------------------------------------------------------------------------------

port_is_free() { ! grep -qis ":$(printf '%04X' "$1") " /proc/net/tcp /proc/net/tcp6; }

# A port that nobody has, below the range from which the kernel gives them out: it can still be used after a restart.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        if port_is_free $port && ! grep -qsx $port "$TEST_DIR/ports"; then
            echo $port >>"$TEST_DIR/ports"
            echo $port
            return
        fi
    done
}

port_answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# shellcheck disable=SC2120
start_master() { # start_master [option...]: sets $MASTER and $CONTROL (HOST:PORT)
    [ -x "$BIN/calf-master" ] || [ -n "$PLAIN" ] || fail "no programs in $BIN (run make)"
    MASTER=127.0.0.1:$(free_port)
    CONTROL=127.0.0.1:$(free_port)
    mkdir -p "$TEST_DIR/master-data"
    [ -z "$PLAIN" ] || return 0
    start_part master "$BIN/calf-master" --data "$TEST_DIR/master-data" --init --listen "$MASTER" \
        --control "$CONTROL" "$@"
    wait_for_start master "the master listens" 10 port_answers "${MASTER#*:}"
}

restart_master() {
    restart_part master
    [ -n "$PLAIN" ] || wait_for_start master "the master listens" 20 port_answers "${MASTER#*:}"
}

# A RAM disk of its own for each store, a little larger than what the chunkserver is told (headers, checksums).
start_chunkserver() { # start_chunkserver NUMBER [option...]; $CHUNKSERVER_BYTES: its size, default 512 MiB
    local number=$1 store=$TEST_DIR/store-$1 bytes=${CHUNKSERVER_BYTES:-$((512 << 20))}
    shift
    mkdir -p "$store"
    [ -z "$PLAIN" ] || return 0
    mount -t tmpfs -o "size=$((bytes + bytes / 10 + (16 << 20)))" calf-test "$store"
    start_part "chunkserver-$number" "$BIN/calf-chunkserver" --store "$store" --size "$bytes" --master "$CONTROL" \
        --listen "127.0.0.1:$(free_port)" "${SHM[@]}" "$@"
    wait_for_start "chunkserver-$number" "chunkserver $number is registered" 15 servers_are "$number"
}

servers_are() { [ "$(status_number servers_connected)" -ge "$1" ]; } # at least N are connected

# The administration's command line on this cluster.
calf() { "$BIN/calf" --master "$CONTROL" "$@"; }

# One number of `calf status --json`; -1 when there is no answer.
status_number() {
    local value
    [ -z "$PLAIN" ] || { echo 0; return; }
    value=$(calf status --json 2>/dev/null | tr ',{}' '\n\n\n' | sed -n "s/^ *\"$1\": *\([0-9][0-9]*\) *$/\1/p" | head -n 1)
    echo "${value:--1}"
}

# Mounts the cluster at $TEST_DIR/NAME, the default name being "mnt", and sets $MNT.
mount_calf() { # mount_calf [NAME [option...]]
    local name=${1:-mnt}
    [ $# -eq 0 ] || shift
    MNT=$TEST_DIR/$name
    mkdir -p "$MNT"
    if [ -n "$PLAIN" ]; then
        if [ -z "${PLAIN_FIRST:-}" ]; then
            mount -t tmpfs calf-test "$MNT"
            PLAIN_FIRST=$MNT
        else
            mount --bind "$PLAIN_FIRST" "$MNT"
        fi
        return 0
    fi
    start_part "mount-$name" "$BIN/calf-mount" --master "$MASTER" "$MNT" -f "${SHM[@]}" "$@"
    wait_for_start "mount-$name" "the mount $name answers" 15 mount_answers "$MNT"
}

mount_answers() { is_mounted "$1" && timeout 5 stat -f "$1"; }

is_mounted() { awk -v at="$1" '$5 == at { found = 1 } END { exit !found }' /proc/self/mountinfo; }

unmount_calf() { # unmount_calf [NAME]
    local name=${1:-mnt}
    umount "$TEST_DIR/$name" || fail "cannot unmount $name"
    [ -n "$PLAIN" ] || wait_for "calf-mount of $name ends" 15 part_is_gone "mount-$name"
}

# The usual cluster: one master, N chunkservers (2 if not given), one mount at $MNT.
start_cluster() {
    local number
    requires root fuse
    start_master
    for number in $(seq "${1:-2}"); do
        start_chunkserver "$number"
    done
    mount_calf mnt
}

# --- the end ---------------------------------------------------------------------------------------------------------

# Unmounts what is mounted below DIR (and has the given file system type), deepest first. A mount whose daemon is dead or
# stuck goes lazily.
unmount_below() { # unmount_below DIR [TYPE]
    local at
    while read -r at; do
        timeout 10 umount "$at" 2>/dev/null || umount -l "$at" 2>/dev/null || true
    done < <(awk -v dir="$1/" -v type="${2:-}" 'index($5, dir) == 1 && index($0, " - " type) { print $5 }' \
        /proc/self/mountinfo | sort -r)
}

# Ends all recorded parts below DIR: SIGTERM, and SIGKILL for those that have not gone after ten seconds.
end_parts_below() {
    local file part deadline
    for file in "$1"/parts/*.pid; do
        [ -f "$file" ] || continue
        part=$(basename "$file" .pid)
        signal_part "$part" TERM
    done
    deadline=$((SECONDS + 10))
    for file in "$1"/parts/*.pid; do
        [ -f "$file" ] || continue
        part=$(basename "$file" .pid)
        while part_runs "$part" && [ $SECONDS -lt $deadline ]; do
            sleep 0.05
        done
        signal_part "$part" KILL
    done
}

# The script's own background work goes first: it stands on the mounts.
end_jobs() {
    local file
    for file in "$TEST_DIR"/parts/job-*.pid; do
        if [ -f "$file" ] && part_runs "$(basename "$file" .pid)"; then
            kill -KILL -- "-$(cut -d' ' -f1 "$file")" 2>/dev/null
        fi
    done
}

cleanup() {
    local status=$?
    trap - EXIT INT TERM
    set +e
    if declare -F cleanup_script >/dev/null; then
        cleanup_script
    fi
    cd /
    end_jobs
    unmount_below "$TEST_DIR" fuse
    end_parts_below "$TEST_DIR"
    unmount_below "$TEST_DIR"
    if [ -n "${OWN_TEST_DIR:-}" ]; then
        if [ $status -eq 0 ] || [ $status -eq 77 ]; then
            rm -rf --one-file-system "$TEST_DIR"
        else
            echo "kept: $TEST_DIR" >&2
        fi
    fi
    exit $status
}

# run.sh makes the directory and keeps it; a script that is run by hand makes its own.
if [ -z "${TEST_DIR:-}" ]; then
    TEST_DIR=$(mktemp -d "${TMPDIR:-/tmp}/calf.$SCRIPT_NAME.XXXXXX")
    OWN_TEST_DIR=yes
fi
mkdir -p "$TEST_DIR/parts"
# With CALF_TEST_SHM=1 chunkservers and mounts share memory, in whatever script.
SHM=()
if [ -n "${CALF_TEST_SHM:-}" ]; then
    mkdir -p "$TEST_DIR/shm"
    SHM=(--shm "$TEST_DIR/shm")
fi
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
