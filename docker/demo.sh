#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The main job from nothing: installs what is missing, builds, sweeps four deployments and prints the percentage table
# (`sudo make demo`). Whatever it started is taken down at the end, also after an error or Ctrl-C; scenarios that were
# up before are measured and left alone, and so is a dockerd.
#
# usage: demo.sh [OPTION of `iobench sweep`...]        for instance --rounds 6, or --state DIR for clusters of its own
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SCENARIOS=bare,bare-net,docker-host,docker-bridge
WITHOUT_DOCKER=bare,bare-net
STATE=/run/calf
# RAM disks of a scenario, as cluster.sh makes them if not told otherwise.
RAM_DISKS=2
# The quick preset's files, prepared and written, fit with goal 1.
LEAST_MIB=512
child=
docker_before=
started=()

say() { printf 'demo: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# The sweep takes --state itself; what is noted before and taken down after must be the same clusters.
take_state() { # OPTION...
    while [ $# -gt 1 ]; do
        [ "$1" != --state ] || STATE=$2
        shift
    done
}

docker_answers() { timeout 10 docker info >/dev/null 2>&1; }

# Runs before anything is started: what is up now is not ours.
note_what_is_up() {
    local name
    for name in ${SCENARIOS//,/ }; do
        [[ $(docker/cluster.sh status "$name" --state "$STATE") == *" up "* ]] || started+=("$name")
    done
    docker_before=$(tests/setup.sh started-docker)
}

finish() {
    local status=$? name
    trap '' INT TERM
    trap - EXIT
    if [ -n "$child" ]; then
        kill -TERM "$child" 2>/dev/null || true
        wait "$child" || true
    fi
    for name in "${started[@]}"; do
        docker/cluster.sh down "$name" --state "$STATE" 2>&1 | grep -v 'already down' >&2 || true
    done
    [ "$(tests/setup.sh started-docker)" = "$docker_before" ] || tests/setup.sh stop-docker || true
    exit $status
}

# On a small machine the RAM disks are smaller than cluster.sh makes them by default; a tenth is left for headers.
fit_ram_disks() { # SCENARIOS
    local fits_mib names disks
    IFS=, read -r -a names <<<"$1"
    disks=$((RAM_DISKS * ${#names[@]}))
    fits_mib=$(awk -v n=$disks '/^MemAvailable:/ { print int($2 / 1024 * 0.6 * 0.9 / n) }' /proc/meminfo)
    [ "$fits_mib" -ge $LEAST_MIB ] || die "not enough memory: $disks RAM disks of $LEAST_MIB MiB need about" \
        "$((LEAST_MIB * disks * 100 / 54)) MiB available"
    [ "$fits_mib" -ge 1024 ] || export CALF_SIZE=${fits_mib}m
}

# In the background, so that a signal is answered at once and not when the sweep is done.
run_sweep() { # SCENARIOS [OPTION...]
    local status=0
    build/release/bin/iobench sweep --up --scenarios "$1" --preset quick "${@:2}" &
    child=$!
    wait $child || status=$?
    child=
    return $status
}

main() {
    local scenarios=$SCENARIOS without='' status=0
    [ "$(id -u)" = 0 ] || die "this needs root, to mount and to make networks: sudo make demo"
    take_state "$@"
    note_what_is_up
    trap finish EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    tests/setup.sh demo
    make --no-print-directory -j"$(nproc)"
    if ! docker_answers; then
        scenarios=$WITHOUT_DOCKER
        without="the docker-* scenarios are left out: $({ docker/cluster.sh doctor || true; } | sed -n 's/^FAIL *Docker[^:]*: //p')"
        say "$without"
    fi
    fit_ram_disks "$scenarios"
    run_sweep "$scenarios" "$@" || status=$?
    # Once more, for the table has scrolled the first one away.
    [ -z "$without" ] || say "$without"
    return $status
}

main "$@"
