#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# calf beside MooseFS (Debian's packages) and beside the bounds of what is possible here, in interleaved rounds, one table:
#   moosefs    the baseline            calf       scenario bare, TCP
#   calf-shm   scenario bare-shm       calf-excl  bare with an exclusive mount (the kernel's write-back cache); cold runs only
#   echo       a FUSE file system that fetches its bytes by messages over TCP from a program that keeps and checks nothing
#   null       a FUSE file system that answers from its own memory
# All have two servers (or one program) on this host and RAM disks or memory. Data with O_DIRECT and with cold caches, and names.
# What was interrupted goes on when this is called again with the same --out; other options go to iobench sweep.
# usage: peers.sh [--goal N] [--only direct|cold|names] [--out DIR] [option of iobench sweep...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
bin=${CALF_BIN:-$top/build/release/bin}
cluster=$top/docker/cluster.sh
state=/run/calf-bench-peers
out='' goal=1 only='direct cold names' more=()
say() { printf 'peers.sh: %s\n' "$*" >&2; }
need() { [ $# -ge 2 ] || { say "$1 needs a value (usage: see the head of this file)"; exit 2; }; }
while [ $# -gt 0 ]; do
    case $1 in
    --goal) need "$@" && goal=$2 && shift 2 ;;
    --only) need "$@" && only=${2//,/ } && shift 2 ;;
    --out) need "$@" && out=$2 && shift 2 ;;
    -h | --help) sed -n '3,10s/^# //p' "$0" && exit ;;
    *) more+=("$1") && shift ;;
    esac
done
[ "$(id -u)" -eq 0 ] || { say "this mounts file systems: run it as root (sudo make bench-peers)"; exit 1; }
[ -x "$bin/bound-fs" ] || { say "there is no $bin/bound-fs: run make bench-peers"; exit 1; }
# The command line is part of the result; a path of this machine says nothing to others.
[ -n "$out" ] || { cd "$top" && out=results/peers; }
bounds=()

clean_up() {
    local name pid
    for name in tcp exclusive shm; do
        "$cluster" down --all --state "$state/$name" >/dev/null 2>&1 || true
    done
    for name in null echo; do
        umount "$state/$name" 2>/dev/null || true
    done
    for pid in "${bounds[@]}"; do kill "$pid" 2>/dev/null || true; done
    "$here/moosefs.sh" down || true
    rm -rf --one-file-system "$state"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

bound_up() { # bound_up NAME arguments after the mount point...
    local name=$1
    shift
    mkdir -p "$state/$name"
    "$bin/bound-fs" "$name" "$state/$name" "$@" &
    bounds+=($!)
    for _ in $(seq 100); do
        mountpoint -q "$state/$name" && break
        sleep 0.05
    done
    # The kernel's read-ahead as calf-mount sets it.
    echo 1024 >"/sys/class/bdi/$(mountpoint -d "$state/$name")/read_ahead_kb"
}

mkdir -p "$state"
"$here/moosefs.sh" down
# Larger than the others: MooseFS gives back the space of a deleted file only minutes later.
moosefs=$("$here/moosefs.sh" up 2 3500m)
[ "$goal" -eq 1 ] || ip netns exec calf-peer-mfs mfssetsclass "$goal" "$moosefs" >/dev/null
CALF_PORT_BASE=7600 "$cluster" up bare --chunkservers 2 --size 1500m --goal "$goal" --state "$state/tcp" >&2
CALF_PORT_BASE=8100 "$cluster" up bare --chunkservers 2 --size 1500m --goal "$goal" --exclusive --state "$state/exclusive" >&2
CALF_PORT_BASE=8600 "$cluster" up bare-shm --chunkservers 2 --size 1500m --goal "$goal" --state "$state/shm" >&2
"$bin/bound-fs" serve 9190 &
bounds+=($!)
bound_up echo 9190
bound_up null

calf=calf=$state/tcp/bare/mnt,calf-shm=$state/shm/bare-shm/mnt
data=(--block "4k,64k,1024k" --threads "1,4,16" --preset quick --rounds 5)
sweep() { # sweep NAME SCENARIOS options...
    local name=$1 scenarios=$2 resume=()
    shift 2
    case " $only " in *" $name "*) ;; *) return 0 ;; esac
    [ ! -e "$out/$name/results.json" ] || resume=(--resume)
    if ! jq -e .complete "$out/$name/results.json" >/dev/null 2>&1; then
        "$bin/iobench" sweep --scenarios "$scenarios" --label "peers-$name" --out "$out/$name" "$@" "${more[@]}" "${resume[@]}" >/dev/null
    fi
    "$bin/iobench" compare "$out/$name"
}
sweep direct "moosefs=$moosefs,$calf,echo=$state/echo,null=$state/null" "${data[@]}" --cache direct
sweep cold "moosefs=$moosefs,$calf,calf-excl=$state/exclusive/bare/mnt,echo=$state/echo,null=$state/null" "${data[@]}" --cache cold
sweep names "moosefs=$moosefs,calf=$state/tcp/bare/mnt" --preset quick --tests metadata --threads 1,8 --files 500 --rounds 5
