#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What compose.yaml and stack.yaml need of a host: RAM disks that outlive containers, and a directory in which a mount made
# by a container is seen by the host. cluster.sh does all of this by itself; this is for orchestrators.
#
#   host_disks.sh make DIR [--chunkservers N] [--size BYTES]    DIR/master, DIR/ram1.., DIR/mnt/calf (default 2 of 512m)
#   host_disks.sh remove DIR                                    unmounts and removes them, with everything in them
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

# The user of the daemons in compose.yaml and stack.yaml.
OWNER=65532:65532
CHUNKSERVERS=2
SIZE=512m

die() { printf 'host_disks.sh: %s\n' "$*" >&2; exit 1; }
usage() { printf 'host_disks.sh: %s (usage: host_disks.sh make|remove DIR [--chunkservers N] [--size BYTES])\n' "$*" >&2; exit 2; }

is_mount() { awk -v at="$1" '$5 == at { found = 1 } END { exit !found }' /proc/self/mountinfo; }

# The size, with room for headers and checksums.
disk_options() {
    local number=${SIZE%[kmgKMG]} unit=${SIZE##*[0-9]}
    [[ $SIZE =~ ^[1-9][0-9]{0,8}[kmgKMG]$ ]] || usage "--size is a number with k, m or g, not '$SIZE'"
    case ${unit,,} in m) number=$((number * 1024)) ;; g) number=$((number * 1048576)) ;; esac
    echo "size=$((number * 108 / 100 + 4096))k,mode=0700,uid=${OWNER%:*},gid=${OWNER#*:}"
}

make_disks() { # DIR
    local i options
    options=$(disk_options)
    mkdir -p "$1/master" "$1/mnt/calf"
    chown "$OWNER" "$1/master"
    chmod 700 "$1/master"
    # A peer group of its own, so that what is mounted below in a container appears here, once.
    if ! is_mount "$1/mnt"; then
        mount --bind "$1/mnt" "$1/mnt"
        mount --make-private "$1/mnt"
        mount --make-shared "$1/mnt"
    fi
    for ((i = 1; i <= CHUNKSERVERS; i++)); do
        mkdir -p "$1/ram$i"
        is_mount "$1/ram$i" || mount -t tmpfs -o "$options" "calf-ram$i" "$1/ram$i"
    done
}

remove_disks() { # DIR
    local path
    [ -d "$1" ] || return 0
    # A mount whose client is gone answers nobody, so it is not asked (-c).
    while read -r path; do
        timeout 10 umount -c "$path" 2>/dev/null || umount -c -l "$path"
    done < <(awk -v at="$1/" 'index($5, at) == 1 { print $5 }' /proc/self/mountinfo | tac)
    ! grep -qF " $1/" /proc/self/mountinfo || die "something below $1 is still mounted"
    rm -rf --one-file-system -- "${1:?}/master" "${1:?}/mnt" "${1:?}"/ram[0-9]*
    rmdir "$1" 2>/dev/null || true
}

main() {
    local command=${1:-} dir=${2:-}
    [ $# -ge 2 ] || usage "a command and a directory are needed"
    shift 2
    while [ $# -gt 0 ]; do
        case $1 in
        --chunkservers) CHUNKSERVERS=${2:-}; shift ;;
        --size) SIZE=${2:-}; shift ;;
        *) usage "there is no option $1" ;;
        esac
        shift || usage "a value is missing"
    done
    [[ $CHUNKSERVERS =~ ^[1-9][0-9]?$ ]] || usage "--chunkservers is a number, not '$CHUNKSERVERS'"
    [ "$(id -u)" = 0 ] || die "this needs root, to mount: run it with sudo"
    dir=$(realpath -m -- "$dir")
    case $command in
    make) make_disks "$dir" ;;
    remove) remove_disks "$dir" ;;
    *) usage "there is no command '$command'" ;;
    esac
}

main "$@"
