#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The article's question, answered on this machine: its block sizes (4k to 2048k), threads (1 to 16) and tests, on bare, bare-net,
# docker-host and docker-bridge, six rounds or more. Half an hour on two cores; what was interrupted, or stopped after --minutes,
# goes on when this is called again with the same --out.
# With --published: the article's own set-up, seven chunkservers with published ports and the client on the host, against bare.
# usage: article.sh [--published] [--out DIR] [--minutes N] [--dry-run] [option of iobench sweep...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
iobench=${CALF_BIN:-$top/build/release/bin}/iobench
export CALF_CLUSTER_SH=${CALF_CLUSTER_SH:-$top/docker/cluster.sh}

scenarios=bare,bare-net,docker-host,docker-bridge
label=article
# 16 workers with 64 MiB each, prepared and being written, are 2 GiB in every scenario.
chunkservers=2 size=1200m
out='' minutes='' dry=no more=()
say() { printf 'article.sh: %s\n' "$*" >&2; }
need() { [ $# -ge 2 ] || { say "$1 needs a value (usage: see the head of this file)"; exit 2; }; }
while [ $# -gt 0 ]; do
    case $1 in
    --published) scenarios=bare,docker-published label=article-setup chunkservers=7 size=360m && shift ;;
    --out) need "$@" && out=$2 && shift 2 ;;
    --minutes) need "$@" && minutes=$2 && shift 2 ;;
    --dry-run) dry=yes more+=("$1") && shift ;;
    -h | --help) sed -n '3,8s/^# //p' "$0" && exit ;;
    *) more+=("$1") && shift ;;
    esac
done
# The command line is part of the result; a path of this machine says nothing to others.
[ -n "$out" ] || { cd "$top" && out=results/$label; }
[ -x "$iobench" ] || { say "there is no $iobench: run make"; exit 1; }

command=("$iobench" sweep --up --scenarios "$scenarios" --preset article --label "$label" --chunkservers "$chunkservers"
    --cluster-size "$size" --out "$out" "${more[@]}")
if [ -e "$out/results.json" ]; then
    if [ $dry = no ] && jq -e .complete "$out/results.json" >/dev/null 2>&1; then
        say "$out is complete: choose another --out, or see it with 'iobench compare $out'"
        exit 2
    fi
    command+=(--resume)
fi
if [ $dry = yes ]; then
    exec "${command[@]}"
fi
[ "$(id -u)" -eq 0 ] || { say "this mounts file systems and starts containers: run it as root"; exit 1; }
say "${command[*]}"
status=0
if [ -n "$minutes" ]; then
    timeout --foreground --signal=INT --kill-after=300 "${minutes}m" "${command[@]}" || status=$?
    # timeout says 124 when it was the one that ended the sweep: that is what was asked for.
    [ $status -ne 124 ] || say "stopped after $minutes minutes; the same command goes on"
else
    "${command[@]}" || status=$?
fi
exit $status
