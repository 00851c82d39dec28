#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does iobench measure what fio and IOzone measure? Pairs of one run each, one right after the other in an order that changes, on
# tmpfs, ext4 and a calf mount: the same sizes, the same rule for random blocks (each once, as fio does; drawn with replacement,
# as IOzone does), fsync inside. Prints the tables of `iobench compare` (the other tool is the baseline) and percentiles beside fio's.
#
# usage: tester.sh [--rounds N] [--out DIR] [--places LIST] [--pairs LIST] [--blocks LIST] [--threads LIST] [--tests LIST] [--total BYTES]
#   places: tmpfs ext4 calf       pairs: psync libaio mmap iozone        total: MiB that all workers move together
# What was measured is kept in OUT (build/tester), one line a run; called again, it goes on where it was. IOzone is Debian's
# (non-free), fetched into OUT, not installed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
bin=${CALF_BIN:-$top/build/release/bin}
rounds=6 out=$top/build/tester places='tmpfs ext4 calf' pairs='psync libaio mmap iozone' blocks='4k 64k' threads='1 4 16'
tests='write read random-read random-write' total=192
while [ $# -gt 0 ]; do
    case $1 in
    --rounds) rounds=$2 ;; --out) out=$2 ;; --total) total=$2 ;;
    --places) places=${2//,/ } ;; --pairs) pairs=${2//,/ } ;; --blocks) blocks=${2//,/ } ;;
    --threads) threads=${2//,/ } ;; --tests) tests=${2//,/ } ;;
    *) sed -n '8,9s/^# *//p' "$0" >&2 && exit 2 ;;
    esac
    shift 2
done
[ "$(id -u)" -eq 0 ] || { echo "tester.sh: must run as root (sudo make bench-tester)" >&2; exit 1; }
for need in fio jq mkfs.ext4; do
    command -v $need >/dev/null || { echo "tester.sh: $need is not installed" >&2; exit 1; }
done
mkdir -p "$out"
rows=$out/runs.tsv log=$out/log
work=$(mktemp -d /tmp/calf.tester.XXXXXX)
state=/run/calf-tester

clean_up() {
    trap - EXIT INT TERM
    [ -z "${calf_up:-}" ] || CALF_BIN=$bin "$top/docker/cluster.sh" down bare --state "$state" >>"$log" 2>&1 || true
    for at in "$work"/*/; do
        mountpoint -q "$at" && umount "$at"
    done
    rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

fetch_iozone() {
    iozone=$out/iozone3/usr/bin/iozone
    [ ! -x "$iozone" ] || return 0
    mkdir -p "$out/apt/partial" "$out/iozone3"
    echo "deb http://deb.debian.org/debian $(. /etc/os-release && echo "$VERSION_CODENAME") non-free" >"$out/iozone.list"
    (cd "$out/apt" && apt-get -qq -o Dir::Etc::SourceList="$out/iozone.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$out/apt" update && apt-get -qq -o Dir::Etc::SourceList="$out/iozone.list" \
        -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$out/apt" -o APT::Sandbox::User=root download iozone3) >>"$log" 2>&1
    dpkg-deb -x "$out"/apt/iozone3_*.deb "$out/iozone3"
}

place_up() { # place_up PLACE: sets $at and $cold
    at=$work/$1 cold=cold
    case $1 in
    tmpfs) mkdir -p "$at" && cold=warm
        mountpoint -q "$at" || mount -t tmpfs -o "size=$((2 * total + 64))m" calf-tester "$at" ;;
    ext4) mkdir -p "$at"
        truncate -s $((2 * total + 256))m "$work/disk.img" && mkfs.ext4 -q -F "$work/disk.img" && mount -o loop "$work/disk.img" "$at" ;;
    calf) calf_up=yes
        "$top/docker/cluster.sh" up bare --chunkservers 2 --size "$((total + 128))m" --state "$state" >>"$log" 2>&1
        at=$state/bare/mnt ;;
    esac
}

drop() { # the page cache of the given files
    local file
    for file; do dd if="$file" iflag=nocache count=0 status=none; done
}

# Each prints "bytes elapsed_ns p50_ns p99_ns"; 0 where the tool does not say.
run_iobench() { # run_iobench PAIR TEST BLOCK THREADS MIB
    local result=$work/result engine=sync cache=$cold more=()
    case $1 in
    libaio) engine=libaio cache=direct && more=(--depth 8) ;;
    mmap) engine=mmap ;;
    iozone) more=(--replacement) ;;
    esac
    rm -rf "$result"
    "$bin/iobench" sweep "$at" --cache "$cache" --engine $engine --tests "$2" --block "$3" --threads "$4" --size "$5m" --rounds 1 \
        --out "$result" "${more[@]}" >>"$log" 2>&1 || return 1
    template=$result
    jq -r '.samples[0] | select((.failed or .mark) | not) | "\(.bytes) \(.elapsed_ns) \(.latency_ns.p50) \(.latency_ns.p99)"' \
        "$result/results.json"
}

run_fio() {
    local rw=${2/random-/rand} direct=0 depth=1 file files=() i
    case $1 in libaio) direct=1 depth=8 ;; esac
    for i in $(seq 0 $(($4 - 1))); do files+=("$at/fio.$i"); done
    case $2 in
    write) rm -f "${files[@]}" ;;
    *) for file in "${files[@]}"; do
            [ "$(stat -c %s "$file" 2>/dev/null)" = $(($5 << 20)) ] || dd if=/dev/urandom of="$file" bs=1M count="$5" status=none
        done
        sync -d "${files[@]}"
        [ "$cold" = warm ] || drop "${files[@]}" ;;
    esac
    # shellcheck disable=SC2016
    fio --name=job --directory="$at" --filename_format='fio.$jobnum' --size="$5m" --rw="$rw" --bs="$3" --numjobs="$4" --thread \
        --ioengine="$1" --direct=$direct --iodepth=$depth --fallocate=none --end_fsync=1 --invalidate=0 --group_reporting \
        --output-format=json 2>>"$log" | jq -r --arg rw "$2" '.jobs[0] | if ($rw | test("write")) then .write else .read end |
            "\(.io_bytes) \(.io_bytes / .bw_bytes * 1e9 | floor) \(.clat_ns.percentile["50.000000"]) \(.clat_ns.percentile["99.000000"])"'
}

run_iozone() {
    local files=() i rate mode phrase
    for i in $(seq 0 $(($4 - 1))); do files+=("$at/ioz.$i"); done
    ioz() { "$iozone" -T -x -e -c -w -+n -t "$threads_now" -r "${block_now}" -s "$size_now" -F "${files[@]}" "$@" 2>>"$log"; }
    local threads_now=$4 block_now=$3 size_now=$5m
    case $2 in
    write) mode=0 phrase='initial writers' ;;
    read) mode=1 phrase='readers' ;;
    random-read) mode=2 phrase='random readers' ;;
    random-write) mode=2 phrase='random writers' ;;
    esac
    if [ "$mode" = 0 ]; then
        rm -f "${files[@]}"
    else
        [ -f "${files[-1]}" ] && [ "$(stat -c %s "${files[-1]}")" = $(($5 << 20)) ] || ioz -i 0 >>"$log"
        [ "$cold" = warm ] || drop "${files[@]}"
    fi
    # All bytes by the time of the slowest worker: what a whole-window rate is, without the start of the threads.
    rate=$(ioz -i $mode | tee -a "$log" | awk -v phrase="$phrase" -v n="$4" '
        /sees throughput for/ { ours = index($0, " " phrase) > 0 } ours && /Min throughput per/ { print $(NF - 1) * n; exit }')
    [ -n "$rate" ] || return 1
    awk -v kib="$rate" -v bytes=$(($4 * $5 << 20)) 'BEGIN { printf "%d %d 0 0\n", bytes, bytes / (kib * 1024) * 1e9 }'
}

has() { awk -F '\t' -v key="$1" '$1 FS $2 FS $3 FS $4 FS $5 FS $6 FS $7 == key { found = 1 } END { exit !found }' "$rows"; }

one_run() { # one_run ROUND PLACE PAIR TOOL TEST BLOCK THREADS
    local key figures size=$((total / $7))
    key=$(printf '%s\t%s\t%s\t%s\t%s\t%s\t%s' "$@")
    ! has "$key" || return 0
    [ $size -le 64 ] || size=64
    case $4 in
    iobench) figures=$(run_iobench "$3" "$5" "$6" "$7" $size || true) ;;
    *) if [ "$3" = iozone ]; then
            figures=$(run_iozone "$3" "$5" "$6" "$7" $size || true)
        else
            figures=$(run_fio "$3" "$5" "$6" "$7" $size || true)
        fi ;;
    esac
    [ -n "$figures" ] || { echo "tester.sh: no figures: $*" | tee -a "$log" >&2; return 0; }
    printf '%s\t%s\n' "$key" "${figures// /$'\t'}" >>"$rows"
}

touch "$rows"
case " $pairs " in *' iozone '*) fetch_iozone ;; esac
for place in $places; do
    place_up "$place"
    for round in $(seq 0 $((rounds - 1))); do
        for pair in $pairs; do
            for block in $blocks; do
                for n in $threads; do
                    for kind in $tests; do
                        printf '\r%s round %s/%s %s %s x%s %s    ' "$place" $((round + 1)) "$rounds" "$pair" "$block" "$n" "$kind" >&2
                        order='other iobench'
                        [ $(((round + RANDOM) % 2)) -eq 0 ] || order='iobench other'
                        for tool in $order; do
                            one_run "$round" "$place" "$pair" "$tool" "$kind" "$block" "$n"
                        done
                    done
                    rm -f "$at"/fio.* "$at"/ioz.*
                done
            done
        done
    done
    [ "$place" != ext4 ] || umount "$at"
done
printf '\n' >&2

# A result as iobench writes it, so that its own statistics judge: pairs by round.
"$bin/iobench" sweep "$work" --cache warm --tests write --block 4k --threads 1 --size 4k --rounds 1 --out "$work/empty" >/dev/null 2>&1
for place in $places; do
    for pair in $pairs; do
        dir=$out/$place-$pair
        mkdir -p "$dir"
        jq -R -s --slurpfile base "$work/empty/results.json" --arg place "$place" --arg pair "$pair" '
            def bytes: if endswith("k") then rtrimstr("k") | tonumber * 1024 else rtrimstr("m") | tonumber * 1048576 end;
            ($base[0]) as $b | [split("\n")[] | select(. != "") | split("\t") | select(.[1] == $place and .[2] == $pair)] as $runs |
            ($runs | map(.[4]) | unique) as $tests | ($runs | map(.[5] | bytes) | unique) as $blocks |
            $b | del(.fnv1a64) | .label = "\($place), \($pair)" | .preset = "" | .command_line = "tests/bench/tester.sh" |
            .scenarios = [($b.scenarios[0] + {name: (if $pair == "iozone" then "iozone" else "fio-" + $pair end)}),
                          ($b.scenarios[0] + {name: "iobench"})] |
            .tests = $tests | .block_bytes = $blocks | .file_bytes_by_block = [$blocks[] | 0] | .file_bytes = 0 |
            .threads = ($runs | map(.[6] | tonumber) | unique) | .rounds_planned = ($runs | map(.[0] | tonumber) | max + 1) |
            .samples = [$runs[] | $b.samples[0] + {scenario: (if .[3] == "iobench" then 1 else 0 end), round: (.[0] | tonumber),
                test: .[4], block_bytes: (.[5] | bytes), threads: (.[6] | tonumber), bytes: (.[7] | tonumber),
                operations: ((.[7] | tonumber) / (.[5] | bytes) | floor), elapsed_ns: (.[8] | tonumber),
                latency_ns: ($b.samples[0].latency_ns + {p50: (.[9] | tonumber), p99: (.[10] | tonumber)}),
                cpu_ns: ($b.samples[0].cpu_ns | map_values(0))} | del(.intervals, .served, .worker_per_s)]' "$rows" >"$dir/results.json"
        echo "== $place, $pair: iobench as a percentage of $([ "$pair" = iozone ] && echo IOzone || echo "fio's $pair") =="
        "$bin/iobench" compare "$dir" | tee "$dir/table.txt" | sed -n '/every cell with its interval/,/^How to read/p;/^In a sentence/,$p' |
            grep -v '^How to read'
        [ "$pair" = iozone ] || awk -F '\t' -v place="$place" -v pair="$pair" '
            function median(list, n,   i, j, t) {
                for (i = 2; i <= n; i++) for (j = i; j > 1 && list[j] < list[j - 1]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
                return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
            }
            $2 == place && $3 == pair { k = $5 " " $6 " x" $7; keys[k]; p50[k, $1, $4] = $10; p99[k, $1, $4] = $11; if ($1 > last) last = $1 }
            END {
                for (k in keys) {
                    n = 0
                    for (r = 0; r <= last; r++)
                        if ((k, r, "iobench") in p50 && p50[k, r, "other"] > 0 && p99[k, r, "other"] > 0) {
                            a[++n] = p50[k, r, "iobench"] / p50[k, r, "other"]; b[n] = p99[k, r, "iobench"] / p99[k, r, "other"]
                        }
                    if (n) printf "  %-24s p50 %.3f  p99 %.3f of fio, medians of %d pairs\n", k, median(a, n), median(b, n), n
                }
            }' "$rows" | sort
    done
done
