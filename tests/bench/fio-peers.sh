#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# calf (scenario bare) against MooseFS with the same fio jobs, both mounted in one run, interleaved round by round.
# usage: fio-peers.sh [--rounds N] [--out DIR]     prints medians in MB/s (10^6 bytes) and the ratio of each pair of rounds
# The raw samples (one line each: round, system, cache, test, block, jobs, bytes per second) go to OUT/samples.tsv.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
rounds=3
out=
while [ $# -gt 0 ]; do
    case $1 in
    --rounds) rounds=$2 && shift 2 ;;
    --out) out=$2 && shift 2 ;;
    *) echo "usage: $0 [--rounds N] [--out DIR]" >&2 && exit 2 ;;
    esac
done
out=${out:-$top/results/fio-peers-$(date -u +%Y%m%dT%H%M%SZ)}
[ "$(id -u)" -eq 0 ] || { echo "fio-peers.sh: must run as root (sudo make bench-fio-peers)" >&2; exit 1; }
mkdir -p "$out"
samples=$out/samples.tsv
state=/run/calf-peers

clean_up() {
    "$top/docker/cluster.sh" down bare --state "$state" >/dev/null 2>&1 || true
    "$here/moosefs.sh" down || true
}
trap clean_up EXIT
trap 'exit 130' INT TERM

"$here/moosefs.sh" down
moosefs=$("$here/moosefs.sh" up 2 3g)
"$top/docker/cluster.sh" up bare --chunkservers 2 --size 3g --state "$state" >&2
declare -A mount=([calf]=$state/bare/mnt [moosefs]=$moosefs)

# Bytes a job moves: small enough for slow cells, large enough for a second or so in fast ones.
bytes_for() {
    case $1 in
    4k) echo 24m ;;
    64k) echo 128m ;;
    *) echo 256m ;;
    esac
}

# One cell of one system: prints bytes per second over all jobs, from first start to last end, fsync inside.
run_cell() {
    local system=$1 cache=$2 test=$3 block=$4 jobs=$5 direct=0
    [ "$cache" = direct ] && direct=1
    echo 1 >/proc/sys/vm/drop_caches
    fio --name=job --directory="${mount[$system]}" --filename_format="peer-$block.\$jobnum" --size="$(bytes_for "$block")" \
        --rw="$test" --bs="$block" --numjobs="$jobs" --direct=$direct --ioengine=psync --end_fsync=1 --invalidate=1 \
        --group_reporting --randrepeat=1 --output-format=json 2>>"$out/fio.log" |
        jq -r '.jobs[0] | (.read.bw_bytes + .write.bw_bytes)'
}

printf 'round\tsystem\tcache\ttest\tblock\tjobs\tbytes_per_s\n' >"$samples"
for round in $(seq "$rounds"); do
    for cache in direct buffered; do
        for block in 4k 64k 1m; do
            for jobs in 1 4; do
                for test in write read randwrite randread; do
                    order="calf moosefs"
                    [ $((round % 2)) -eq 0 ] && order="moosefs calf"
                    for system in $order; do
                        rate=$(run_cell "$system" "$cache" "$test" "$block" "$jobs") || rate=failed
                        printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$round" "$system" "$cache" "$test" "$block" "$jobs" \
                            "${rate:-failed}" >>"$samples"
                    done
                    printf '\rround %s/%s %s %s %s x %s   ' "$round" "$rounds" "$cache" "$test" "$block" "$jobs" >&2
                done
                rm -f "${mount[calf]}"/peer-* "${mount[moosefs]}"/peer-*
            done
        done
    done
done
printf '\n' >&2

awk -F '\t' '
function median(list, n,   i, j, t) {
    for (i = 2; i <= n; i++) for (j = i; j > 1 && list[j] < list[j - 1]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
NR == 1 || $7 == "failed" { next }
{ cell = $3 "\t" $4 "\t" $5 "\t" $6; if (!(cell in seen)) { seen[cell] = 1; order[++cells] = cell }
  rate[cell, $2, $1] = $7; if ($1 > rounds) rounds = $1 }
END {
    printf "| cache | test | block | jobs | calf MB/s | MooseFS MB/s | calf / MooseFS (median of pairs) |\n|---|---|---|---|---|---|---|\n"
    for (c = 1; c <= cells; c++) {
        cell = order[c]; n = 0
        for (r = 1; r <= rounds; r++) if ((cell, "calf", r) in rate && (cell, "moosefs", r) in rate) {
            n++; a[n] = rate[cell, "calf", r]; b[n] = rate[cell, "moosefs", r]; q[n] = a[n] / b[n] }
        if (!n) continue
        split(cell, f, "\t"); ratio = median(q, n)
        printf "| %s | %s | %s | %s | %.0f | %.0f | %.2f |\n", f[1], f[2], f[3], f[4], median(a, n) / 1e6, median(b, n) / 1e6, ratio
        sum[f[1]] += log(ratio); count[f[1]]++
    }
    for (k in sum) printf "geometric mean, %s: %.2f\n", k, exp(sum[k] / count[k])
}' "$samples" | tee "$out/table.md"
echo "raw samples: $samples"
