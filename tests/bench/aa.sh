#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does iobench see differences where there are none, and does it see one that is there? Two clusters of the scenario bare stand side
# by side and are compared over 200 short cells in 10 rounds: what is called faster or slower may not be more than the 99% bound of
# a binomial distribution with 5%. Then the very same samples with the second one's times multiplied by 1/0.9: three quarters of the
# cells must be called slower, and nine tenths of the intervals must contain 90%.
# The parts of both clusters and the workers are held on fixed cores, and the page cache is left out, since which core the scheduler
# takes is most of the noise of a short run. About a quarter of an hour on two cores; what was interrupted goes on when this is
# called again with the same --out.
# usage: aa.sh [--out DIR] [option of iobench sweep, e.g. --rounds N, --tests LIST, --block LIST, --threads LIST, --size BYTES...]
#        aa.sh --judge DIR     only judges a result that is there
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
iobench=${CALF_BIN:-$top/build/release/bin}/iobench
cluster=$top/docker/cluster.sh
say() { printf 'aa.sh: %s\n' "$*" >&2; }
command -v jq >/dev/null || { say "jq is not installed"; exit 1; }
[ -x "$iobench" ] || { say "there is no $iobench: run make"; exit 1; }

# The smallest count that a binomial variable of N draws at 5% does not exceed with 99%.
bound() { # N
    awk -v n="$1" 'BEGIN {
        log_p = n * log(0.95)
        for (k = 0; k <= n; k++) {
            sum += exp(log_p)
            if (sum >= 0.99) { print k; exit }
            log_p += log((n - k) / (k + 1) * 0.05 / 0.95)
        }
    }'
}

# Figures of the second deployment's cells: "N SLOWER FASTER CONTAIN", the last one being how many intervals contain PERCENT.
count() { # RESULT PERCENT
    "$iobench" compare --json "$1" | jq -r --argjson at "$2" '
        [.cells[].deployments[1] | select(.throughput)] |
        [length, ([.[] | select(.verdict == "slower")] | length), ([.[] | select(.verdict == "faster")] | length),
         ([.[] | select(.throughput.interval and .throughput.low_percent <= $at and .throughput.high_percent >= $at)] | length)] |
        join(" ")'
}

judge() { # RESULT
    local cells slower faster contain limit failed=0 scaled=$1/scaled.json
    read -r cells slower faster contain < <(count "$1" 100)
    limit=$(bound "$cells")
    echo "no difference: of $cells cells $slower are called slower and $faster faster; at most $limit may be"
    echo "no difference: $contain of $cells intervals contain 100%"
    [ $((slower + faster)) -le "$limit" ] || failed=1
    # A test's hook: the same samples as if the second deployment had taken 1/0.9 of the time.
    jq -c 'del(.fnv1a64) | .samples |= map(if .scenario == 1 then .elapsed_ns = (.elapsed_ns / 0.9 | round) else . end)' \
        "$1/results.json" >"$scaled"
    read -r cells slower faster contain < <(count "$scaled" 90)
    echo "90%: of $cells cells $slower are called slower, $faster faster; at least $(((cells * 75 + 99) / 100)) must be slower"
    echo "90%: $contain of $cells intervals contain 90%; at least $(((cells * 90 + 99) / 100)) must"
    [ $((slower * 100)) -ge $((cells * 75)) ] || failed=1
    [ $((contain * 100)) -ge $((cells * 90)) ] || failed=1
    rm -f "$scaled"
    [ "$cells" -ge 200 ] || echo "only $cells cells: 200 are needed for a judgement that counts"
    [ $failed -eq 0 ] && echo "A/A: good" || echo "A/A: NOT good"
    return $failed
}

out='' more=()
while [ $# -gt 0 ]; do
    case $1 in
    --judge) judge "${2:?--judge needs a result directory}" && exit || exit ;;
    --out) out=${2:?--out needs a directory} && shift 2 ;;
    -h | --help) sed -n '3,12s/^# //p' "$0" && exit ;;
    *) more+=("$1") && shift ;;
    esac
done
# The command line is part of the result; a path of this machine says nothing to others.
[ -n "$out" ] || { cd "$top" && out=results/aa; }
[ "$(id -u)" -eq 0 ] || { say "this mounts file systems: run it as root"; exit 1; }

states=(/run/calf-aa-one /run/calf-aa-two)
clean_up() {
    local state
    for state in "${states[@]}"; do
        "$cluster" down bare --state "$state" >&2 || true
        rmdir "$state" 2>/dev/null || true
    done
}
trap clean_up EXIT
trap 'exit 130' INT TERM
cpus=(--cpus "master=1,chunkserver=1,client=0")
[ "$(nproc)" -gt 1 ] || cpus=()
port=7600
for state in "${states[@]}"; do
    CALF_PORT_BASE=$port "$cluster" up bare --chunkservers 2 --size 256m --state "$state" "${cpus[@]}" >&2
    port=$((port + 500))
done
resume=()
[ ! -e "$out/results.json" ] || resume=(--resume)
"$iobench" sweep --scenarios "one=${states[0]}/bare/mnt,two=${states[1]}/bare/mnt" --label aa --rounds 10 --block 4k-2048k \
    --threads 2,3,4,6,8 --size 16m --cache direct --cpus 0 "${more[@]}" "${resume[@]}" --out "$out" >/dev/null
judge "$out"
