#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MooseFS from Debian's packages as a peer: one master, N chunkservers on RAM disks, goal 1, one mount; all in a network
# namespace of their own, since a MooseFS chunkserver refuses a master on loopback. All its settings are the defaults but those
# that bring the space of deleted files back within minutes instead of a day: a RAM disk has no room to wait for it.
# usage: moosefs.sh up [N [BYTES_EACH]] | down         prints the mount point
set -euo pipefail

dir=/run/calf-peer-moosefs
namespace=calf-peer-mfs
address=10.214.0.1

die() {
    echo "moosefs.sh: $*" >&2
    exit 1
}

in_namespace() { ip netns exec "$namespace" "$@"; }

install_packages() {
    command -v mfsmaster >/dev/null && command -v mfsmount >/dev/null && return
    local codename list=/etc/apt/sources.list.d/calf-peer-moosefs.sources
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    # Newer MooseFS is in the same mirror's backports: the first stanza of the mirror, with that suite.
    awk 'BEGIN { RS = "" } NR == 1' /etc/apt/sources.list.d/debian.sources | sed -e '/^#/d' \
        -e "s/^Suites:.*/Suites: $codename-backports/" >"$list"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -t "$codename-backports" \
        moosefs-master moosefs-chunkserver moosefs-client >/dev/null || { rm -f "$list"; die "MooseFS cannot be installed"; }
    rm -f "$list"
}

make_network() {
    ip netns add "$namespace"
    ip -n "$namespace" link set lo up
    ip -n "$namespace" link add v0 type veth peer name v1
    ip -n "$namespace" addr add "$address/24" dev v0
    ip -n "$namespace" link set v0 up
    ip -n "$namespace" link set v1 up
}

start_master() {
    printf '* / rw,alldirs,maproot=0\n' >"$dir/etc/exports.cfg"
    : >"$dir/etc/topology.cfg"
    cat >"$dir/etc/master.cfg" <<EOF
DATA_PATH = $dir/master
EXPORTS_FILENAME = $dir/etc/exports.cfg
TOPOLOGY_FILENAME = $dir/etc/topology.cfg
MATOCS_LISTEN_HOST = $address
MATOCL_LISTEN_HOST = $address
MATOML_LISTEN_HOST = $address
CHUNKS_LOOP_MIN_TIME = 5
CHUNKS_SOFT_DEL_LIMIT = 1000
CHUNKS_HARD_DEL_LIMIT = 1000
EOF
    cp /var/lib/mfs/metadata.mfs.empty "$dir/master/metadata.mfs"
    chown -R mfs:mfs "$dir/master"
    in_namespace mfsmaster -c "$dir/etc/master.cfg" start >"$dir/master.log" 2>&1
}

start_chunkserver() {
    local i=$1 bytes=$2
    mkdir -p "$dir/cs$i" "$dir/ram$i"
    mount -t tmpfs -o "size=$bytes" tmpfs "$dir/ram$i"
    chown mfs:mfs "$dir/cs$i" "$dir/ram$i"
    echo "$dir/ram$i" >"$dir/etc/hdd$i.cfg"
    cat >"$dir/etc/cs$i.cfg" <<EOF
DATA_PATH = $dir/cs$i
HDD_CONF_FILENAME = $dir/etc/hdd$i.cfg
MASTER_HOST = $address
CSSERV_LISTEN_HOST = $address
CSSERV_LISTEN_PORT = $((9500 + i))
HDD_LEAVE_SPACE_DEFAULT = 64MiB
EOF
    in_namespace mfschunkserver -c "$dir/etc/cs$i.cfg" start >"$dir/cs$i.log" 2>&1
}

# Beside the mount, for iobench: whose CPU time it is, and how often its chunkservers called the kernel.
write_pids() {
    local i=0 file
    {
        echo "master $(<"$dir/master/.mfsmaster.lock")"
        for file in "$dir"/cs*/.mfschunkserver.lock; do
            i=$((i + 1))
            echo "chunkserver$i $(<"$file")"
        done
        ps -eo pid=,args= | awk -v mount="$dir/mnt" '$2 ~ /mfsmount$/ && $3 == mount { print "client", $1 }'
    } >"$dir/pids"
}

has_space() { [ "$(stat -f -c %b "$dir/mnt" 2>/dev/null || echo 0)" -gt 0 ]; }

up() {
    local count=$1 bytes=$2 i
    install_packages
    mkdir -p "$dir"/{etc,master,mnt}
    make_network
    start_master
    for i in $(seq "$count"); do start_chunkserver "$i" "$bytes"; done
    # The master takes a moment before it admits clients; the mount is tried until it does.
    for i in $(seq 60); do
        nsenter --net="/run/netns/$namespace" mfsmount "$dir/mnt" -H "$address" >"$dir/mount.log" 2>&1 && break
        sleep 0.5
    done
    for i in $(seq 120); do
        has_space && break
        sleep 0.5
    done
    has_space || die "no chunkserver registered, see $dir"
    in_namespace mfssetsclass 1 "$dir/mnt" >/dev/null
    in_namespace mfssettrashretention 0 "$dir/mnt" >/dev/null
    write_pids
    echo "$dir/mnt"
}

down() {
    local f
    umount -l "$dir/mnt" 2>/dev/null || true
    for f in "$dir"/etc/cs*.cfg; do
        [ -e "$f" ] && in_namespace mfschunkserver -c "$f" stop >/dev/null 2>&1 || true
    done
    [ -e "$dir/etc/master.cfg" ] && in_namespace mfsmaster -c "$dir/etc/master.cfg" stop >/dev/null 2>&1 || true
    for f in "$dir"/ram*; do umount -l "$f" 2>/dev/null || true; done
    ip netns del "$namespace" 2>/dev/null || true
    rm -rf "$dir"
}

[ "$(id -u)" -eq 0 ] || die "must run as root"
case ${1:-} in
up) up "${2:-2}" "${3:-2g}" ;;
down) down ;;
*)
    echo "usage: $0 up [N [BYTES_EACH]] | down" >&2
    exit 2
    ;;
esac
