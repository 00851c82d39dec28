#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Cold is cold, and direct is direct: pages that another process holds, a cache that answers in place of the cluster and one that
# puts requests together are noticed, and no ratio is taken. What is done outside of the clock is named and stays outside.
# timeout: 150
. "$(dirname "$0")/lib.sh"

requires root fuse jq perl script
[ "$(uname -m)" = x86_64 ] || skip "the helpers call mmap and setxattr by their numbers on x86-64"
[ -z "$PLAIN" ] || skip "a tmpfs is never cold"
IOBENCH=$BIN/iobench
[ -x "$IOBENCH" ] || fail "no iobench in $BIN (run make)"
json() { jq -r "$2" "$1/results.json" || fail "$1/results.json does not parse"; }
marks() { json "$1" '[.samples[].mark // "none"] | unique | join(" ")'; }

# Waits for a test file of SIZE below DIR, does something to it, and holds on: each job gets what is in $_.
with_file() { # with_file DIR SIZE CODE
    exec perl -e '
        use Time::HiRes "sleep";
        my ($dir, $size, $code) = @ARGV;
        my $path;
        until ($path and -s $path and -s $path == $size) { sleep 0.01; ($path) = glob "$dir/iobench.*/f.0" }
        $_ = $path;
        eval $code; die $@ if $@;' "$@"
}
start_cluster 2

step "a file that was read before is dropped: the chunkservers serve it again"
start_job reader with_file "$MNT" 4194304 'for (1 .. 200) { open my $f, "<:raw", $_ or last; 1 while read $f, my $b, 1 << 20; close $f; sleep 0.01 }'
"$IOBENCH" sweep "$MNT" --tests read,random-read --block 64k --threads 1 --size 4m --rounds 2 --out "$TEST_DIR/read" >/dev/null 2>&1 ||
    fail "a sweep beside a reader"
signal_part job-reader KILL
assert_eq "$(json "$TEST_DIR/read" '[.samples[] | .mark != null or .served.read_bytes >= 0.95 * .bytes] | all')" true \
    "each sample is marked, or was served by the cluster"

step "pages that another process has locked in memory: marked"
start_job locker with_file "$MNT" 4194304 '
    open my $f, "<:raw", $_ or die; my $at = syscall 9, 0, 4194304, 1, 1, fileno $f, 0;
    die "mmap" if $at == -1; die "mlock" if syscall(149, $at, 4194304) != 0; sleep 600'
"$IOBENCH" sweep "$MNT" --tests read,random-read --block 4k --threads 1 --size 4m --rounds 4 --out "$TEST_DIR/locked" \
    >"$TEST_DIR/stdout" 2>"$TEST_DIR/stderr" || fail "a sweep with locked pages: $(tail -n 1 "$TEST_DIR/stderr")"
signal_part job-locker KILL
assert_eq "$(json "$TEST_DIR/locked" '[.samples[] | select(.round == 3) | .mark] | unique | join(" ")')" cache-not-cold "mark"
grep -q 'runs are marked: no ratio' "$TEST_DIR/stderr" || fail "the sweep does not say that runs are marked"
grep -A 6 '^block thr' "$TEST_DIR/locked/table.txt" | grep -q marked || fail "the table shows a figure of a marked cell"

step "no page is cached, and yet the cluster did not serve: marked"
# A disk that claims to be a cluster: its counters are planted, the page cache is real.
dd if=/dev/zero of="$TEST_DIR/disk" bs=1M count=0 seek=64 status=none
mkfs.ext4 -q -b 4096 "$TEST_DIR/disk" 2>/dev/null
mkdir "$TEST_DIR/ext4"
mount -o loop "$TEST_DIR/disk" "$TEST_DIR/ext4"
plant() { # plant READ-BYTES-PER-TICK READ-REQUESTS-PER-TICK: counts up every tenth of a second
    exec perl -e '
        use Time::HiRes "sleep";
        my ($dir, $bytes, $requests) = @ARGV;
        for my $n (0 .. 6000) {
            my $text = sprintf "{\"read_bytes\":%d,\"read_requests\":%d,\"write_bytes\":%d,\"write_requests\":%d,\"servers\":1}",
                $n * $bytes, $n * $requests, $n * 1e9, $n * 1e6;
            my ($path, $name) = ("$dir\0", "user.calf.counters\0");
            die "setxattr: $!" if syscall(188, $path, $name, $text, length $text, 0) != 0;
            sleep 0.1;
        }' "$TEST_DIR/ext4" "$@"
}
planted() { [ -n "$(getfattr -n user.calf.counters "$TEST_DIR/ext4" 2>/dev/null)" ] || perl -e '
    my ($p, $n, $v) = ("$ARGV[0]\0", "user.calf.counters\0", "\0" x 256);
    exit(syscall(191, $p, $n, $v, 256) > 0 ? 0 : 1)' "$TEST_DIR/ext4"; }
disk_sweep() { # disk_sweep NAME option...
    local name=$1
    shift
    "$IOBENCH" sweep "$TEST_DIR/ext4" --tests random-read --block 4k --threads 1 --size 1m --rounds 1 --rate 128 \
        --out "$TEST_DIR/$name" "$@" >/dev/null 2>&1 || fail "the sweep $name"
}
start_job counters plant 0 0
wait_for "counters are planted" 10 planted
disk_sweep warm-as-cold --cache cold
signal_part job-counters KILL
assert_eq "$(marks "$TEST_DIR/warm-as-cold")" served-bytes "mark"

step "direct reads that a cache puts together or answers: marked by the number of requests"
start_job counters plant 81920 1 # 20 ticks: 1.6 MB for 1 MiB that is read, 20 requests for 256 operations
disk_sweep direct --cache direct
signal_part job-counters KILL
assert_eq "$(marks "$TEST_DIR/direct")" served-requests "mark"
start_job counters plant 81920 100 # the same bytes with enough requests
disk_sweep honest --cache direct
signal_part job-counters KILL
assert_eq "$(marks "$TEST_DIR/honest")" none "mark"

step "phases have names, dropping caches is outside of the clock, units are named, progress is on stderr alone"
TERM=xterm script -qec "stty cols 200; '$IOBENCH' sweep '$MNT' --tests write,read --block 64k --threads 1 --size 4m --rounds 2 \
    --out '$TEST_DIR/phases' 2>'$TEST_DIR/not-a-terminal'" /dev/null >"$TEST_DIR/stdout" </dev/null || fail "the sweep on a terminal"
grep -q 'ETA' "$TEST_DIR/stdout" && fail "progress on stdout"
TERM=xterm script -qec "stty cols 200; '$IOBENCH' sweep '$MNT' --tests write,read --block 64k --threads 1 --size 4m --rounds 2 \
    --out '$TEST_DIR/shown' >'$TEST_DIR/table'" /dev/null >"$TEST_DIR/terminal" </dev/null || fail "the sweep on a terminal"
for phase in preparing 'dropping caches' running removing; do
    grep -q "$phase" "$TEST_DIR/terminal" || fail "the phase '$phase' is not named"
done
grep -qE 'ETA -|ETA [0-9]*:-' "$TEST_DIR/terminal" && fail "a negative ETA"
grep -q 'MB/s = 10^6 bytes a second' "$TEST_DIR/table" || fail "the unit of the rates is not named"
assert_eq "$(json "$TEST_DIR/shown" '[.samples[] | .latency_ns.min > 0 and .first_done_ns <= .elapsed_ns] | all')" true \
    "latencies above 0, first done before last done"
