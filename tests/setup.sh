#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages that building, testing and the demo need, and sees that Docker runs. Quick when all is
# there. Without Docker it says so in one line and goes on: only the container scenarios need it.
#
# usage: setup.sh [check]      everything (the default)
#        setup.sh demo         what building and the demo need, without the tests' tools
#        setup.sh stop-docker  end the dockerd that an earlier setup.sh started by hand, if it did
#        setup.sh started-docker   print which that was: the same before and after means that none was started between
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
. "$here/../docker/cluster_process.sh"

BUILD_PACKAGES=(gcc libc6-dev make pkg-config git libfuse3-dev libnng-dev libmbedtls-dev libxxhash-dev libaio-dev
    liburing-dev libjansson-dev libjs-chart.js iproute2)
CHECK_PACKAGES=(docker-compose clang perl libcmocka-dev shellcheck fio sqlite3 jq attr acl strace
    chromium python3-minimal fonts-liberation)
DOCKER_PACKAGES=(docker.io iptables)
# "pid start-time" of a dockerd that was started here, on a machine without systemd.
DOCKERD_RECORD=${CALF_DOCKERD_RECORD:-/run/calf-dockerd.started}
DOCKERD_LOG=/var/log/calf-dockerd.log

say() { printf 'setup.sh: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Prints those of the packages that are not installed.
packages_missing() { # PACKAGE...
    local installed name
    # It fails when it does not know one of them.
    installed=$({ dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true; } |
        sed -n 's/ installed$//p')
    for name in "$@"; do
        grep -qxF -e "$name" <<<"$installed" || echo "$name"
    done
}

UPDATED=no
packages_install() { # PACKAGE...; false with apt's last line said when it does not work
    local log
    log=$(mktemp)
    if [ $UPDATED = no ]; then
        apt-get update -qq -o DPkg::Lock::Timeout=120 >"$log" 2>&1 || say "apt-get update: $(tail -n 1 "$log")"
        UPDATED=yes
    fi
    if ! DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        -o DPkg::Lock::Timeout=120 "$@" >"$log" 2>&1 </dev/null; then
        say "apt-get install $*: $(grep '^E:' "$log" | tail -n 1)"
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

install_needed() { # PACKAGE...
    local missing
    mapfile -t missing < <(packages_missing "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    say "installing ${missing[*]}"
    packages_install "${missing[@]}"
}

docker_answers() { timeout 10 docker info >/dev/null 2>&1; }

# What a dockerd that was killed left behind: it refuses to start, or waits for nobody, as long as another process has
# the pid in such a file.
remove_stale_pid() { # FILE PROGRAM
    local pid
    [ -s "$1" ] || return 0
    pid=$(tr -dc 0-9 <"$1")
    [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ] || rm -f "$1"
}

start_dockerd() {
    local pid
    if [ -d /run/systemd/system ]; then
        systemctl start docker 2>/dev/null || return 1
        pid=$$
    else
        remove_stale_pid /run/docker.pid dockerd
        remove_stale_pid /run/docker/containerd/containerd.pid containerd
        # One that runs and does not answer is not helped by another.
        [ ! -s /run/docker.pid ] || return 1
        setsid dockerd >"$DOCKERD_LOG" 2>&1 </dev/null &
        pid=$!
        echo "$pid $(process_start_time $pid)" >"$DOCKERD_RECORD"
    fi
    for _ in $(seq 120); do
        docker_answers && return 0
        [ -n "$(process_start_time $pid)" ] || return 1
        sleep 0.5
    done
    return 1
}

setup_docker() {
    local packages=("${DOCKER_PACKAGES[@]}")
    # Where the kernel has AppArmor, Docker needs its tool to load a profile.
    ! grep -qs Y /sys/module/apparmor/parameters/enabled || packages+=(apparmor)
    if ! command -v dockerd >/dev/null || ! command -v docker >/dev/null || ! command -v iptables >/dev/null; then
        if ! install_needed "${packages[@]}"; then
            say "Docker cannot be installed, so the docker-* scenarios are left out"
            return
        fi
    fi
    if docker_answers; then return; fi
    # A dockerd of this machine is not the one that is asked for.
    if [ -n "${DOCKER_HOST:-}" ]; then
        say "Docker does not answer at DOCKER_HOST=$DOCKER_HOST, so the docker-* scenarios are left out"
        return
    fi
    if ! start_dockerd; then
        say "Docker does not start, so the docker-* scenarios are left out:" \
            "$(tail -n 1 "$DOCKERD_LOG" 2>/dev/null || echo 'see journalctl -u docker')"
    fi
}

# Its interface and mounts go, too; dockerd leaves them behind and makes them again when it starts.
stop_docker() {
    local pid start
    [ -e "$DOCKERD_RECORD" ] || return 0
    read -r pid start <"$DOCKERD_RECORD" || true
    if [ -n "${start:-}" ] && [ "$(process_start_time "$pid")" = "$start" ]; then
        kill "$pid"
        for _ in $(seq 200); do
            [ "$(process_start_time "$pid")" = "$start" ] || break
            sleep 0.1
        done
        [ "$(process_start_time "$pid")" != "$start" ] || die "dockerd (pid $pid) does not end"
        ip link del docker0 2>/dev/null || true
        umount /run/docker/netns/default 2>/dev/null || true
        umount /var/lib/docker 2>/dev/null || true
    fi
    rm -f "$DOCKERD_RECORD"
}

main() {
    local what=${1:-check}
    case $what in check | demo | stop-docker | started-docker) ;; *)
        say "usage: setup.sh [check | demo | stop-docker | started-docker]"
        exit 2 ;;
    esac
    if [ "$what" = started-docker ]; then
        [ ! -e "$DOCKERD_RECORD" ] || cat "$DOCKERD_RECORD"
        return
    fi
    [ "$(id -u)" = 0 ] || die "this needs root, to install packages: run it with sudo"
    if [ "$what" = stop-docker ]; then
        stop_docker
        return
    fi
    if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
        install_needed "${BUILD_PACKAGES[@]}" || die "without these packages nothing can be built"
        if [ "$what" = check ]; then
            install_needed "${CHECK_PACKAGES[@]}" || die "without these packages the tests cannot run"
        fi
    else
        say "this is no Debian; what is needed is the like of: ${BUILD_PACKAGES[*]} ${CHECK_PACKAGES[*]}"
    fi
    setup_docker
}

main "$@"
