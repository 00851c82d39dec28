#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every test of iobench does on a real mount what its name says, with every engine: IOzone's modes 0 to 12, appending, names. The
# bytes are looked at twice: by iobench's --verify, and here, from outside, by what the stamps in the files say.
# timeout: 180
. "$(dirname "$0")/lib.sh"

requires root fuse jq perl
IOBENCH=$BIN/iobench
[ -x "$IOBENCH" ] || fail "no iobench in $BIN (run make)"
json() { jq -r "$2" "$1/results.json" || fail "$1/results.json does not parse"; }

start_cluster 2
CACHE=cold DIRECT=direct
[ -z "$PLAIN" ] || CACHE=warm

number=0
sweep() { # sweep option...: a sweep that must succeed without a failed or marked sample; $OUT is its result
    number=$((number + 1))
    OUT=$TEST_DIR/result-$number
    "$IOBENCH" sweep "$MNT" --rounds 1 --verify --out "$OUT" "$@" >"$TEST_DIR/stdout" 2>"$TEST_DIR/stderr" ||
        fail "iobench sweep $*: $(json "$OUT" '[.samples[] | .error // empty] | unique | join("; ")') $(tail -n 1 "$TEST_DIR/stderr")"
    assert_eq "$(json "$OUT" '[.samples[] | select(.failed or .mark) | [.test, .block_bytes, .mark // .error]]')" "[]" \
        "failed or marked samples of $*"
}

# What a file of iobench holds: "sectors wrong-offset files generations", by the stamp that each 512 bytes begin with.
stamps() { # stamps FILE [FIRST-SECTOR [COUNT]]
    perl -e '
        my ($path, $first, $count) = @ARGV;
        open my $file, "<:raw", $path or die "$path: $!";
        seek $file, $first * 512, 0;
        my ($sectors, $wrong, %files, %generations) = (0, 0);
        while ($sectors < $count && read($file, my $sector, 512) == 512) {
            my ($offset, $number, $generation) = unpack "QLL", $sector;
            $wrong++ if $offset != ($first + $sectors) * 512;
            $files{$number}++; $generations{$generation}++; $sectors++;
        }
        print join " ", $sectors, $wrong, scalar(keys %files), scalar(keys %generations);' "$1" "${2:-0}" "${3:-1000000000}"
}
kept() { echo "$MNT"/iobench.*/"$1"; }
forget() { rm -rf "${MNT:?}"/iobench.*; }

step "modes 0 to 12 of IOzone, and what it does not have, with the bytes compared"
sweep --cache "$CACHE" --tests iozone,append --block 4k,64k --threads 2 --size 512k --read-percent 60 --stride 5 --seed 5
assert_eq "$(json "$OUT" '[.samples[].test] | unique | length')" 19 "tests"
assert_eq "$(json "$OUT" '[.samples[] | .bytes == 1048576 and .operations == .bytes / .block_bytes] | all')" true "bytes of all"
# Of the 256 operations of 4 KiB; the 16 of 64 KiB are too few to say anything.
assert_eq "$(json "$OUT" '[.samples[] | select(.test == "mixed" and .block_bytes == 4096) | .read_operations / .operations | . > 0.5 and . < 0.7] | all')" \
    true "share of reads in mixed"
assert_eq "$(json "$OUT" '[.samples[] | .latency_ns | .min <= .p50 and .p50 <= .p99 and .p99 <= .p9999 and .p9999 <= .max] | all')" \
    true "latencies in order"
assert_eq "$(json "$OUT" '[.samples[] | .worker_per_s | .min > 0 and .min <= .mean and .mean <= .max] | all')" true "workers' rates"
assert_eq "$(json "$OUT" '[.samples[] | select(.test | test("write|append")) | .fsync_ns > 0 and .close_ns > 0] | all')" true \
    "fsync and close"

step "what they leave in their files, seen from outside"
for kind in write append fwrite vector-write; do
    sweep --cache "$CACHE" --tests $kind --block 4k --threads 1 --size 256k --keep
    assert_eq "$(stamps "$(kept w.0)")" "512 0 1 1" "$kind: sectors, wrong ones, files, generations"
    forget
done
for kind in rewrite random-write frewrite vector-rewrite; do # after the reading of an older content
    sweep --cache "$CACHE" --tests read,$kind --block 4k --threads 1 --size 256k --keep
    assert_eq "$(stamps "$(kept f.0)")" "512 0 1 1" "$kind: all of the new generation"
    forget
done
sweep --cache "$CACHE" --tests record-rewrite --block 4k --threads 1 --size 256k --keep
assert_eq "$(stamps "$(kept f.0)")" "512 0 1 2" "record-rewrite: two generations"
assert_eq "$(stamps "$(kept f.0)" 8)" "504 0 1 1" "record-rewrite: only the first record is new"
forget
sweep --cache "$CACHE" --tests mixed --block 4k --threads 1 --size 256k --keep
assert_eq "$(stamps "$(kept f.0)")" "512 0 1 2" "mixed: some records are new"
forget
sweep --cache "$CACHE" --tests write --block 4k --threads 3 --size 64k --shared --keep
assert_eq "$(stamps "$(kept w.0)") $(stat -c %s "$(kept w.0)")" "384 0 1 1 $((3 * 65536))" "a shared file, whole"
forget

step "a flipped byte is found, with file, offset, expected and found"
flip() { # whenever the file is whole, whatever is in it
    exec perl -e '
        use Time::HiRes "sleep";
        for (;;) {
            sleep 0.005;
            my ($path) = glob "$ARGV[0]/iobench.7.*/f.0";
            next if !$path;
            open my $file, "+<:raw", $path or next;
            next if -s $file != 1048576;
            seek $file, 777777, 0;
            print $file "\xff\xff";
        }' "$MNT"
}
start_job flip flip
status=0
"$IOBENCH" sweep "$MNT" --rounds 6 --cache "$CACHE" --tests read,random-read --block 4k --threads 1 --size 1m \
    --verify --seed 7 --out "$TEST_DIR/flip" >/dev/null 2>&1 || status=$?
assert_eq $status 1 "exit status of a sweep that read wrong data"
signal_part job-flip KILL
json "$TEST_DIR/flip" '.samples[] | .error // empty' | grep -qE 'f\.0: wrong data at 77777[78]: expected 0x.., found 0xff' ||
    fail "how it is reported: $(json "$TEST_DIR/flip" '.samples[] | .error // empty' | head -n 1)"
assert_eq "$(ls -A "$MNT")" "" "what is left"

step "every engine, in threads and processes, with each durability"
sweep --cache "$CACHE" --tests article,mixed,append --block 4k,64k --threads 2 --size 256k --engine vectored --processes
sweep --cache "$CACHE" --tests article,mixed --block 4k --threads 2 --size 256k --engine mmap --msync sync
sweep --cache $DIRECT --tests article,mixed --block 4k --threads 2 --size 256k --engine libaio --depth 8 --shared
sweep --cache "$CACHE" --tests article --block 4k --threads 1 --size 128k --engine stdio
for sync in none dsync sync; do
    sweep --cache "$CACHE" --tests write,random-write --block 4k --threads 1 --size 64k --sync $sync
done
if [ -z "$PLAIN" ]; then
    sweep --cache $DIRECT --tests article,append,rewrite --block 4k,1024k --threads 2 --size 2m --engine calf
    assert_eq "$(json "$OUT" '[.samples[] | select(.served.write_bytes > 0 or .served.read_bytes > 0)] | length')" 12 \
        "samples that the chunkservers saw"
fi

step "names"
sweep --cache "$CACHE" --tests metadata --threads 1,3 --files 50
assert_eq "$(json "$OUT" '[.samples[] | .bytes == 0 and .block_bytes == 0] | all')" true "bytes of names"
assert_eq "$(json "$OUT" '[.samples[] | select(.test != "readdir") | .operations == .threads * 50] | all')" true "operations"
assert_eq "$(ls -A "$MNT")" "" "what is left"

step "time, rate and series"
sweep --cache "$CACHE" --tests read --block 4k --threads 2 --size 1m --duration 2 --warm-up 1 --rate 2000 --interval 500
rate=$(json "$OUT" '.samples[0] | .operations / .elapsed_ns * 1e9 | floor')
[ "$rate" -ge 1700 ] && [ "$rate" -le 2100 ] || fail "2000 operations a second were asked for, $rate were made"
assert_eq "$(json "$OUT" '.samples[0] | ([.intervals[][1]] | add) == .operations and (.intervals | length) >= 3')" true \
    "the pieces of the series add up"
assert_eq "$(json "$OUT" '.samples[0] | .intervals[-1][1] < .operations')" true "pieces are not cumulative"
[ "$(json "$OUT" '.samples[0].warm_up_bytes')" -gt 0 ] || fail "there was no warm-up"

step "what cannot be done is refused before the run, with the reason"
refused() { # refused TEXT option...
    local text=$1
    shift
    assert_fails 2 "$IOBENCH" sweep "$MNT" --out "$TEST_DIR/refused" "$@" >"$TEST_DIR/stdout" 2>"$TEST_DIR/stderr"
    tail -n 1 "$TEST_DIR/stderr" | grep -qF -- "$text" || fail "no '$text' in: $(cat "$TEST_DIR/stderr")"
    [ ! -e "$TEST_DIR/refused" ] || fail "a refused sweep left a result"
}
refused "the engine mmap (test write) has no O_DIRECT" --engine mmap --cache direct --tests write
refused "has one request in flight at a time" --depth 4
refused "--warm-up needs --duration" --warm-up 1
refused "there is no CPU 1023" --cpus 1023
refused "no such node" --numa-node 999
refused "--sync dsync: the engine mmap" --engine mmap --sync dsync
refused "nobody could say" --tests append --shared
mkdir "$TEST_DIR/plain"
assert_fails 2 "$IOBENCH" sweep "$TEST_DIR/plain" --engine calf --tests read --cache direct --out "$TEST_DIR/refused" \
    >/dev/null 2>"$TEST_DIR/stderr"
grep -q 'it needs a calf mount' "$TEST_DIR/stderr" || fail "no reason in: $(cat "$TEST_DIR/stderr")"
dd if=/dev/zero of="$TEST_DIR/disk" bs=1M count=0 seek=64 status=none
mkfs.ext4 -q -b 4096 "$TEST_DIR/disk" 2>/dev/null
mkdir "$TEST_DIR/ext4"
mount -o loop "$TEST_DIR/disk" "$TEST_DIR/ext4"
assert_fails 2 "$IOBENCH" sweep "$TEST_DIR/ext4" --block 128 --cache direct --size 64k --out "$TEST_DIR/refused" \
    >/dev/null 2>"$TEST_DIR/stderr"
grep -q 'refuses O_DIRECT with blocks of 128' "$TEST_DIR/stderr" || fail "no reason in: $(cat "$TEST_DIR/stderr")"
assert_eq "$(ls -A "$MNT")" "" "what is left"
